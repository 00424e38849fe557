"""Scores the features of a matrix by IM4E through ctypes: no compiler, and nothing of fastfs's Python.

python score_ctypes.py libfastfs.so matrix.npy labels.npy
"""

import ctypes
import sys

import numpy as np

ABI_VERSION = 1  # FASTFS_ABI_VERSION of the fastfs.h that the structs below are copied from


class Matrix(ctypes.Structure):
    """fastfs_matrix; only its dense part is used here."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("dtype", ctypes.c_int32),
        ("storage", ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ("n_rows", "n_cols")),
        ("values", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("row_stride", "col_stride")),
    )


class Options(ctypes.Structure):
    """The start of fastfs_margin_options."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("scaling", ctypes.c_int32), ("keep", ctypes.c_int32))


SCALE_STANDARD = 2  # FASTFS_SCALE_STANDARD, Python's default for IM4E


class Result(ctypes.Structure):
    """fastfs_im4e_result up to its weights: a shorter struct is one of an older header, and stays valid."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        *((name, ctypes.c_int32) for name in ("stored", "converged")),
        ("n_iter", ctypes.c_int64),
        ("sigma", ctypes.c_double),
        ("weights", ctypes.POINTER(ctypes.c_double)),
    )


def im4e(library, X, labels):
    """Weights of the columns of X, for labels 0..n_classes - 1."""
    if library.fastfs_abi_version() != ABI_VERSION:
        raise ImportError("this libfastfs.so has another ABI than the structs above")
    library.fastfs_last_error.restype = ctypes.c_char_p
    X, labels = np.ascontiguousarray(X, float), np.ascontiguousarray(labels, np.int64)
    matrix = Matrix(ctypes.sizeof(Matrix), 64, 0, *X.shape, X.ctypes.data, X.shape[1], 1)
    result, fitted = Result(ctypes.sizeof(Result)), ctypes.c_void_p()
    margin, options = ctypes.c_void_p(), Options(ctypes.sizeof(Options), SCALE_STANDARD)
    status = library.fastfs_margin_new(ctypes.byref(matrix), ctypes.byref(options), None, ctypes.byref(margin))
    if status == 0:
        pointer, n_classes = ctypes.c_void_p(labels.ctypes.data), ctypes.c_int64(labels.max() + 1)
        status = library.fastfs_im4e(margin, pointer, n_classes, None, None, ctypes.byref(result), ctypes.byref(fitted))
    library.fastfs_margin_free(margin)
    if status != 0:
        raise ValueError(library.fastfs_last_error().decode())
    weights = np.ctypeslib.as_array(result.weights, (X.shape[1],)).copy()
    library.fastfs_fitted_free(fitted)  # and with it the array of the result
    return weights


if __name__ == "__main__":
    for weight in im4e(ctypes.CDLL(sys.argv[1]), *map(np.load, sys.argv[2:])):
        print(repr(float(weight)))
