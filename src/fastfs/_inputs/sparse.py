"""Checks of CSR and CSC containers."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from fastfs._inputs.values import for_core
from fastfs._types import Array


def index_arrays(X: Any) -> tuple[Array, Array]:
    """Return indices and indptr of a CSR or CSC matrix in a dtype of the core; copy only if necessary."""
    index = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    return for_core(X.indices, index), for_core(X.indptr, index)


def check_structure(X: Any) -> None:
    """Raise ValueError for a CSR or CSC matrix with indptr or indices outside of it; anything else passes.

    SciPy's indexing and conversions follow such indices anywhere, so this check must come before their first use.
    """
    if not hasattr(X, "tocsr") or X.format not in ("csr", "csc") or len(X.shape) != 2 or 0 in X.shape:
        return
    from fastfs import _core

    indices, indptr = index_arrays(X)
    values = np.empty(len(X.data), np.float32)  # stands for any dtype: the core only counts the values
    _core.check_matrix(SimpleNamespace(format=X.format, shape=X.shape, data=values, indices=indices, indptr=indptr))
