"""What the fixtures and the tests of this folder share."""

import os
import sysconfig
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def clean():
    """The environment without what would change how fastfs runs."""
    return {k: v for k, v in os.environ.items() if not k.startswith("FASTFS_")}


def python_flags():
    return [f"-I{sysconfig.get_paths()['include']}"]
