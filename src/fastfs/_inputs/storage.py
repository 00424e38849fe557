"""Operations that depend on the storage of a table: array, sparse matrix, or genotypes in two bits.

Each function here is generic: it has a case per storage, which Python chooses by the type of the values, so that no
caller asks what X is. The first case is that of arrays, and of anything that NumPy turns into one.
"""

import importlib
from collections.abc import Iterator, Sequence
from functools import singledispatch
from types import SimpleNamespace
from typing import Any

import numpy as np

from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.sparse import Sparse, index_arrays
from fastfs._inputs.values import as_values
from fastfs._machine.run import Run
from fastfs._types import Array


@singledispatch
def check_structure(X: Any) -> None:
    """Raise ValueError for a CSR or CSC matrix with indptr or indices outside of it; anything else passes.

    SciPy's indexing and conversions follow such indices anywhere, so this check must come before their first use.
    """


@check_structure.register(Sparse)
def _(X: Any) -> None:
    """Check a CSR or CSC matrix with values; other formats pass."""
    if X.format not in ("csr", "csc") or len(X.shape) != 2 or 0 in X.shape:
        return
    from fastfs import _core

    indices, indptr = index_arrays(X)
    values = np.empty(len(X.data), np.float32)  # stands for any dtype: the core only counts the values
    _core.check_matrix(SimpleNamespace(format=X.format, shape=X.shape, data=values, indices=indices, indptr=indptr))


@singledispatch
def refuse_sparse(X: Any, message: str, error: type[Exception] = ValueError) -> None:
    """Raise an error with this message if X is sparse."""


@refuse_sparse.register(Sparse)
def _(X: Any, message: str, error: type[Exception] = ValueError) -> None:
    raise error(message)


# --------------------------------------------------------------------------------------------------- parts of the table


@singledispatch
def take_rows(X: Any, rows: Array) -> Any:
    """Return some rows of a table, or elements of a target, with its type; a list becomes an array."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (X if hasattr(X, "dtype") or hasattr(X, "dtypes") else as_values(X))[rows]


@take_rows.register(Sparse)
def _(X: Any, rows: Array) -> Any:
    check_structure(X)
    return X.tocsr()[rows]


@singledispatch
def take_columns(X: Any, columns: Array) -> Any:
    """Return the given columns of values for the core; those of genotypes as an array, sparse ones as CSC."""
    return np.take(X, columns, axis=1)


@take_columns.register(Sparse)
def _(X: Any, columns: Array) -> Any:
    return X[:, columns].tocsc()


@singledispatch
def add_columns(X: Any, columns: Array, run: Run) -> Any:
    """Return a table with these columns behind its own, in its storage."""
    n_bytes = X.shape[0] * (X.shape[1] + columns.shape[1]) * X.dtype.itemsize
    run.reserve_memory(n_bytes, "a copy of X with the given columns", "give fewer features")
    return np.hstack([X, columns])


@add_columns.register(Sparse)
def _(X: Any, columns: Array, run: Run) -> Any:
    from scipy.sparse import csr_matrix, hstack

    return hstack([X, csr_matrix(columns)], format=X.format)


@take_columns.register(Genotypes)
def _(X: Genotypes, columns: Array) -> Any:
    return np.asarray(X[:, columns])


# The functions that stack frames of a package, and their options.
_STACKED_FRAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "pandas": ("concat", {"ignore_index": True}),
    "polars": ("concat", {"how": "vertical_relaxed"}),
    "pyarrow": ("concat_tables", {"promote_options": "permissive"}),
}


def stack_blocks(blocks: Sequence[Any]) -> Any:
    """Stack blocks of rows to one table; a single block isn't copied."""
    return blocks[0] if len(blocks) == 1 else _stack(blocks[0], blocks)


@singledispatch
def _stack(first: Any, blocks: Sequence[Any]) -> Any:
    """Stack several blocks; the first one determines the storage. Frames of one kind stay frames, with their names."""
    kinds = {type(block).__module__.partition(".")[0] for block in blocks}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if kind not in _STACKED_FRAMES:
        return np.concatenate(blocks)
    join, options = _STACKED_FRAMES[kind]
    return getattr(importlib.import_module(kind), join)(blocks, **options)


@_stack.register(Sparse)
def _(first: Any, blocks: Sequence[Any]) -> Any:
    from scipy.sparse import vstack

    return vstack(blocks, format="csr")


# ----------------------------------------------------------------------------------------------------- other storages


@singledispatch
def by_rows(X: Any) -> Any:
    """Return sparse values as CSR, and anything else unchanged."""
    return X


@by_rows.register(Sparse)
def _(X: Any) -> Any:
    return X.tocsr()


@singledispatch
def as_plain_array(X: Any) -> Any:
    """Return sparse values unchanged, and anything else as an array."""
    return np.asarray(X)


@as_plain_array.register(Sparse)
def _(X: Any) -> Any:
    return X


@singledispatch
def by_columns(X: Any) -> Any:
    """Return values for fast selection of columns: sparse ones as CSC, genotypes unchanged, others as an array."""
    return np.asarray(X)


@by_columns.register(Genotypes)
def _(X: Genotypes) -> Any:
    return X


@by_columns.register(Sparse)
def _(X: Any) -> Any:
    return X.tocsc()


@singledispatch
def with_columns(X: Any) -> Any:
    """Return a table in a form that allows selecting columns, without turning numbers into strings."""
    if hasattr(X, "dtypes"):
        return X
    values = np.asarray(X)
    return np.asarray(X, dtype=object) if values.dtype.kind in "SUT" else values


@with_columns.register(Genotypes)
def _(X: Genotypes) -> Any:
    return X


@with_columns.register(Sparse)
def _(X: Any) -> Any:
    return X if X.format in ("csr", "csc") else X.tocsc()


@singledispatch
def dense(X: Any) -> Any:
    """Return sparse values as an array, and anything else unchanged."""
    return X


@dense.register(Sparse)
def _(X: Any) -> Any:
    return X.toarray()


@singledispatch
def dense_blocks(X: Any, n_bytes: int) -> Iterator[tuple[int, Any]]:
    """Yield sparse rows as arrays of at most n_bytes, each with its first row, and anything else as one block."""
    yield 0, X


@dense_blocks.register(Sparse)
def _(X: Any, n_bytes: int) -> Iterator[tuple[int, Any]]:
    step = max(1, n_bytes // max(1, X.dtype.itemsize * X.shape[1]))
    X = X.tocsr()
    for begin in range(0, X.shape[0], step):
        yield begin, X[begin : begin + step].toarray()


# ------------------------------------------------------------------------------------------------------ stored values


@singledispatch
def stored_values(X: Any) -> Any:
    """Return the array that holds the values: X itself, those of a sparse X that aren't left out, or the bits."""
    return X


@stored_values.register(Sparse)
def _(X: Any) -> Any:
    return X.data


@stored_values.register(Genotypes)
def _(X: Genotypes) -> Any:
    return X.bits


@singledispatch
def stored_arrays(X: Any) -> tuple[Any, ...]:
    """Return the arrays that tell one table from another: values and, of a sparse X, their positions."""
    return (X,)


@stored_arrays.register(Sparse)
def _(X: Any) -> tuple[Any, ...]:
    return X.indptr, X.indices, X.data


@singledispatch
def stored_bytes(X: Any) -> int:
    """Return the bytes that X takes."""
    return int(np.asarray(X).nbytes)


@stored_bytes.register(Sparse)
def _(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


@stored_bytes.register(Genotypes)
def _(X: Genotypes) -> int:
    return int(X.bits.nbytes)


@singledispatch
def first_not_finite(X: Any) -> tuple[int, int] | None:
    """Return row and column of the first value, row by row, that isn't finite; None if all are finite."""
    if np.isfinite(_sum_of_values(X)):
        return None
    rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
    return (rows[0], np.flatnonzero(~np.isfinite(X[rows[0]]))[0]) if len(rows) else None


@first_not_finite.register(Sparse)
def _(X: Any) -> tuple[int, int] | None:
    if np.isfinite(_sum_of_values(X)):
        return None
    entries = X.tocoo()
    bad = ~np.isfinite(entries.data)
    return min(zip(entries.row[bad].tolist(), entries.col[bad].tolist(), strict=True), default=None)


@first_not_finite.register(Genotypes)
def _(X: Genotypes) -> tuple[int, int] | None:
    step, first_per_block = max(1, (1 << 22) // max(1, X.shape[0])), []
    for begin in range(0, X.shape[1], step):
        rows, columns = np.nonzero(np.isnan(np.asarray(X[:, begin : begin + step])))
        first_per_block += [(rows[0], begin + columns[0])] if len(rows) else []
    return min(first_per_block, default=None)


def _sum_of_values(X: Any) -> float:
    """Return the sum of all values, which is finite only if all of them are."""
    with np.errstate(all="ignore"):
        return float(X.sum(dtype=np.float64))
