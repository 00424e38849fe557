"""The parts of CSR and CSC containers."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from fastfs._inputs.values import for_core
from fastfs._types import Array


def index_arrays(X: Any) -> tuple[Array, Array]:
    """Return indices and indptr of a CSR or CSC matrix as the core takes them; no copies if they are so."""
    index = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    return for_core(X.indices, index), for_core(X.indptr, index)


def check_structure(X: Any) -> None:
    """Refuse a CSR or CSC matrix whose indptr or indices point outside it; anything else passes.

    SciPy's indexing and conversions follow them anywhere, so this must come before the first of these.
    """
    if not hasattr(X, "tocsr") or X.format not in ("csr", "csc") or len(X.shape) != 2 or 0 in X.shape:
        return
    from fastfs import _core

    indices, indptr = index_arrays(X)
    values = np.empty(len(X.data), np.float32)  # in place of any dtype: the core only counts them
    _core.check_matrix(SimpleNamespace(format=X.format, shape=X.shape, data=values, indices=indices, indptr=indptr))
