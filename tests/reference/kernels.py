"""C functions made of plain NumPy ones, as kernels of the caller's. Slow; right as long as NumPy is."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

_DOUBLES = ctypes.POINTER(ctypes.c_double)
_SIZE = ctypes.c_int64
SIGNATURE = ctypes.CFUNCTYPE(
    None, _DOUBLES, _SIZE, _SIZE, _SIZE, _DOUBLES, _DOUBLES, ctypes.c_double, ctypes.c_void_p
)  # that of fastfs_tile_kernel


def as_c_function(f: Callable[..., Any]) -> Any:
    """A kernel of f(D2, |x_i|^2, |x_j|^2, sigma), which takes and gives arrays."""

    def fill(tile, ld, n_rows, n_cols, row_norms, col_norms, sigma, user):
        # The last row may end before ld values do.
        values = np.ctypeslib.as_array(tile, ((n_rows - 1) * ld + n_cols,))
        values = np.lib.stride_tricks.as_strided(values, (n_rows, n_cols), (8 * ld, 8))
        rows = np.ctypeslib.as_array(row_norms, (n_rows,))[:, None]
        with np.errstate(all="ignore"):
            values[:] = f(values.copy(), rows, np.ctypeslib.as_array(col_norms, (n_cols,)), sigma)

    return SIGNATURE(fill)
