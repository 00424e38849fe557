"""Conversion of arrays from the caller, before anything is known about them."""

from typing import Any

import numpy as np

from fastfs._types import Array

# Largest integer up to which float64 represents every integer.
_MOST_EXACT = 1 << 53


def as_values(values: Any) -> Array:
    """Return values as an array. A list that mixes strings with other things becomes an array of objects, not of
    strings.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "SU" or hasattr(values, "dtype"):
        return array
    objects = np.asarray(values, dtype=object)
    kind = str if array.dtype.kind == "U" else bytes
    return array if all(isinstance(value, kind) for value in objects.ravel()) else objects


def for_core(values: Any, dtype: Any = None) -> Array:
    """Return values as an array that the core can read without a copy: contiguous, aligned and at least 1-D."""
    array: Array = np.require(np.atleast_1d(values), dtype, ["C", "A", "E"])
    return array


def exact_floats(values: Array, name: str) -> Array:
    """Return numbers as float64, or raise ValueError for integers that float64 can't tell apart."""
    floats = values.astype(np.float64)
    is_wide = values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size > 0
    if is_wide and max(-int(values.min()), int(values.max())) > _MOST_EXACT:
        inexact = values[floats.astype(object) != values.astype(object)]
        if len(inexact):
            raise ValueError(
                f"{name} holds integers above 2^53, such as {inexact[0]}, which differ less than float64 can tell: "
                "subtract their minimum first"
            )
    return floats
