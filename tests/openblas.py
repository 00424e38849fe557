"""BLAS libraries that the tests link against."""

import importlib.util
from pathlib import Path


def library(wheel):
    """The library of ``scipy_openblas32`` or ``64``, which aren't imported: SciPy would call their routines then."""
    spec = importlib.util.find_spec(wheel)
    assert spec is not None
    (found,) = (Path(spec.origin).parent / "lib").glob("*.so")
    return found
