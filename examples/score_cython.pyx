# cython: language_level=3
"""Scores the features of a matrix by ReliefF from a Cython extension.

    cython -3 score_cython.pyx
    cc -shared -fPIC score_cython.c $(python -m fastfs --cflags --libs) \\
        -I$(python -c "import sysconfig as s; print(s.get_path('include'))") \\
        -o score_cython$(python -c "import sysconfig as s; print(s.get_config_var('EXT_SUFFIX'))")
"""

import numpy as np

import fastfs
from fastfs.capi cimport (
    FASTFS_FLOAT64,
    FASTFS_OK,
    fastfs_fitted,
    fastfs_fitted_free,
    fastfs_last_error,
    fastfs_margin,
    fastfs_margin_free,
    fastfs_margin_new,
    fastfs_matrix,
    fastfs_matrix_init,
    fastfs_relief,
    fastfs_relief_options,
    fastfs_relief_options_init,
    fastfs_relief_result,
    fastfs_relief_result_init,
    fastfs_status,
)
from libc.stdint cimport int64_t


def relieff(const double[:, :] X, const int64_t[::1] labels, int64_t n_neighbors=10):
    """ReliefF scores of the columns of X (any strides); labels are 0..n_classes - 1."""
    cdef int64_t n_classes = int(np.max(labels)) + 1
    cdef fastfs_matrix matrix = fastfs_matrix_init()
    matrix.dtype = FASTFS_FLOAT64
    matrix.n_rows, matrix.n_cols = X.shape[0], X.shape[1]
    matrix.row_stride, matrix.col_stride = X.strides[0] // 8, X.strides[1] // 8
    matrix.values = &X[0, 0]
    cdef fastfs_relief_options options = fastfs_relief_options_init()
    options.n_neighbors = n_neighbors
    cdef fastfs_relief_result result = fastfs_relief_result_init()
    cdef fastfs_margin *margin = NULL
    cdef fastfs_fitted *fitted = NULL  # owns the arrays of result
    cdef fastfs_status status
    with nogil:
        status = fastfs_margin_new(&matrix, NULL, NULL, &margin)  # NULL: the defaults
        if status == FASTFS_OK:
            status = fastfs_relief(margin, &labels[0], n_classes, &options, NULL, &result, &fitted)
        fastfs_margin_free(margin)
    if status != FASTFS_OK:
        raise ValueError(fastfs_last_error().decode())
    try:
        return np.array(<double[:X.shape[1]]> result.scores)
    finally:
        fastfs_fitted_free(fitted)
