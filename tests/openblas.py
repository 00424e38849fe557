"""BLAS libraries that the tests link against."""

import importlib
from pathlib import Path


def library(wheel):
    """The library of ``scipy_openblas32`` or ``64``."""
    (found,) = Path(importlib.import_module(wheel).get_lib_dir()).glob("*.so")
    return found
