"""Which scores could be chance? MultiSURF on permuted labels: an @njit loop over calls of the C interface.

python score_numba.py matrix.npy labels.npy
"""

import ctypes
import sys
from pathlib import Path

import numba
import numpy as np

import fastfs

LIBRARY = ctypes.CDLL(str(next(Path(fastfs.get_include()).parent.glob("lib/libfastfs.*"))))
# Structs are records, as far as they are needed here, and pointers are addresses.
MATRIX = np.dtype("u8, i4, i4, i8, i8, u8, i8, i8")  # struct_size, dtype, storage, n_rows, n_cols, values, strides
STAGE = np.dtype("u8, i4, i4")  # struct_size, scaling, keep
OPTIONS = np.dtype("u8, i4, i4, i8")  # struct_size, method, closed_form, n_neighbors
RESULT = np.dtype("u8, i4, i4, u8")  # struct_size, stored, reserved, scores
P, I64 = ctypes.c_size_t, ctypes.c_int64
margin_new, relief = LIBRARY.fastfs_margin_new, LIBRARY.fastfs_relief
margin_new.argtypes, relief.argtypes = (P, P, P, P), (P, P, I64, P, P, P, P)
margin_free, fitted_free, last_error = LIBRARY.fastfs_margin_free, LIBRARY.fastfs_fitted_free, LIBRARY.fastfs_last_error
margin_free.argtypes, fitted_free.argtypes, last_error.restype = (P,), (P,), ctypes.c_char_p
memmove = ctypes.CDLL(None).memmove
memmove.argtypes, memmove.restype = (P, P, P), P


@numba.njit
def score(margin, labels, n_classes, options, result, fitted, scores):
    """Copies the scores of a fit from the memory that it owns."""
    status = relief(margin, labels.ctypes.data, n_classes, options, 0, result.ctypes.data, fitted.ctypes.data)
    if status == 0:
        memmove(scores.ctypes.data, result[0].f3, 8 * len(scores))
        fitted_free(fitted[0])
    return status


@numba.njit
def count_larger(margin, labels, n_classes, options, result, fitted, n_features, n_permutations, rng):
    """The scores of the labels, and for each feature how often those of permuted labels are as large."""
    true, scores, larger = np.empty(n_features), np.empty(n_features), np.zeros(n_features, np.int64)
    status = score(margin, labels, n_classes, options, result, fitted, true)
    for _ in range(n_permutations if status == 0 else 0):
        status = score(margin, rng.permutation(labels), n_classes, options, result, fitted, scores)
        larger += scores >= true
    return status, true, larger


def multisurf(X, labels, n_permutations=99, seed=0):
    """Scores of the columns of X, and their permutation p-values; labels are 0..n_classes - 1."""
    X, labels = np.ascontiguousarray(X, float), np.ascontiguousarray(labels, np.int64)
    matrix = np.array([(MATRIX.itemsize, 64, 0, *X.shape, X.ctypes.data, X.shape[1], 1)], MATRIX)
    stage = np.array([(STAGE.itemsize, 1, 1)], STAGE)  # ranges to [0, 1]; distances are kept
    options = np.array([(OPTIONS.itemsize, 2, 0, 10)], OPTIONS)
    result = np.array([(RESULT.itemsize, 0, 0, 0)], RESULT)
    handle, rng = np.zeros(1, np.uint64), np.random.default_rng(seed)
    status = margin_new(matrix.ctypes.data, stage.ctypes.data, 0, handle.ctypes.data)
    if status == 0:
        status, true, larger = count_larger(
            *(handle[0], labels, labels.max() + 1, options.ctypes.data, result, np.zeros(1, np.uint64)),
            *(X.shape[1], n_permutations, rng),
        )
        margin_free(int(handle[0]))
    if status:
        raise ValueError(last_error().decode())
    return true, (larger + 1) / (n_permutations + 1)


if __name__ == "__main__":
    for score, p in zip(*multisurf(*map(np.load, sys.argv[1:])), strict=True):
        print(f"{score:.6g}\t{p:.3g}")
