"""Sparse matrices: what counts as one, and its index arrays."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from fastfs._inputs.values import for_core
from fastfs._types import Array


@runtime_checkable
class Sparse(Protocol):
    """Any container with the conversions of SciPy's sparse matrices and arrays, which needn't be imported.

    Generic functions (see `fastfs._inputs.storage`) register their case for sparse values by this type.
    """

    def tocsr(self) -> Any:
        """Return the values as CSR."""


def index_arrays(X: Any) -> tuple[Array, Array]:
    """Return indices and indptr of a CSR or CSC matrix in a dtype of the core; copy only if necessary."""
    index = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    return for_core(X.indices, index), for_core(X.indptr, index)
