"""Values of matrices that come as arrays: dense, or in sparse parts."""

from collections.abc import Callable, Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.expand import Held
from fastfs._inputs.source import Source
from fastfs._inputs.sparse import Sparse
from fastfs.io._layout import Wanted


def as_float(values: np.ndarray, path: Path) -> np.ndarray:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"Array 'X' of '{path}' must hold real numbers; got {values.dtype}")
    return values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64, copy=False)


def csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray, path: Path) -> Any:
    """Return the three arrays of a sparse matrix as CSR; raise ValueError if they do not fit together."""
    from scipy.sparse import csr_array

    try:
        parts = (data, indices.astype(np.int64), indptr.astype(np.int64))
        matrix = csr_array(parts, shape=tuple(shape.tolist()))
    except (TypeError, ValueError) as error:  # TypeError: a shape that isn't a pair
        raise ValueError(
            f"The parts of the sparse matrix in '{path}' do not fit together: {error}; write it again"
        ) from error
    return as_csr_or_csc(matrix, path)


def loaded_or_source(stored: Any, wanted: Wanted, path: Path, load: Callable[[Any], Any]) -> Any:
    """Return the matrix in memory, or a `Source` that reads it from disk if it's too large.

    Raise MemoryError if what is loaded exceeds the budget.
    """
    held = Held(path, wanted.budget)
    if not hasattr(stored, "dtype"):
        held.add_stored(stored["indptr"])
    if wanted.most_bytes is None:
        held.add_stored(*([stored] if hasattr(stored, "dtype") else [stored["data"], stored["indices"]]))
    else:
        source = Source.from_data(stored)
        if (source.n_bytes or 0) > wanted.most_bytes:
            return source
    return load(stored)


@singledispatch
def as_matrix(X: Any, path: Path) -> Any:
    return as_float(np.asarray(X), path)


def as_csr_or_csc(matrix: Any, path: Path) -> Any:
    """Return a CSR or CSC matrix with its values as floats; raise ValueError for indices outside of it."""
    try:
        matrix.check_format()  # the constructors believe the indices
    except ValueError as error:
        raise ValueError(
            f"The parts of the sparse matrix in '{path}' do not fit together: {error}; write it again"
        ) from error
    data = as_float(matrix.data, path)
    return matrix if data is matrix.data else type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


as_matrix.register(Sparse, as_csr_or_csc)


def columns_of(X: Any, keep: Sequence[int]) -> Any:
    return X if len(keep) == X.shape[1] else X[:, keep]
