"""The stub of `fastfs._core` as pybind11-stubgen writes it; a test compares the committed one with it.

``python -m tests.project.stubs --write`` (or ``nox -s stubs``) regenerates src/fastfs/_core.pyi.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

COMMITTED = Path(__file__).parents[2] / "src" / "fastfs" / "_core.pyi"


def generate() -> str:
    """The stub of the installed module."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pybind11_stubgen", "fastfs._core", "-o", folder], check=True, capture_output=True
        )
        return (Path(folder) / "fastfs" / "_core.pyi").read_text()


if __name__ == "__main__":
    text = generate()
    if "--write" in sys.argv:
        COMMITTED.write_text(text)
    else:
        print(text, end="")
