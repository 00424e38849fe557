"""Tables with categorical columns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.columns import column_numbers
from fastfs._inputs.entry import entry
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.labels import mark_missing, sort_values
from fastfs._inputs.matrix import as_array, as_floats, column_describer, column_names, require_table
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.storage import with_columns
from fastfs._machine.params import as_int
from fastfs._machine.run import Run
from fastfs._types import Array

FROM_DTYPE, ALL = "from_dtype", "all"
# Largest code that is kept unchanged, and number of values that are checked together, so that they stay in a cache.
_MOST_CODES, _VALUES_AT_ONCE = 1 << 15, 1 << 16
_DECLARE = "convert it to numbers, drop it, or declare it in categorical_features"
# Types of columns that hold categories, as pandas, Arrow and Polars spell them.
_CATEGORIES = re.compile(
    r"(category|categorical|enum|dictionary|bool|boolean|object|str|string|large_string|utf8)\b", re.I
)


@dataclass(frozen=True)
class Table:
    """Table of numbers and codes.

    Parameters
    ----------
    values : ndarray or sparse matrix
        Values from `as_array`. Categories are codes 0, 1, ..., and missing values NaN.
    levels : ndarray of int64, optional
        Number of categories of each column, 0 for columns of numbers; None if all columns hold numbers.
    """

    values: Any
    levels: npt.NDArray[np.int64] | None = None


def as_categorical_features(name: str, columns: Any) -> Any:
    """Return None, "from_dtype", "all", or the mask, numbers or names of columns for `read_table`.

    Raise ValueError for other words.
    """
    if isinstance(columns, str) and columns not in (FROM_DTYPE, ALL):
        raise ValueError(
            f"{name} must be a mask, a list of column numbers or names, {FROM_DTYPE!r}, {ALL!r} or None; "
            f"got {columns!r}"
        )
    return columns


def encode_table(X: Any, categorical_features: Any, run: Run) -> Table:
    """Return X with its categories as codes; a copy is charged to the budget of the run.

    Without categorical columns X must hold numbers, and becomes a plain array, or stays sparse.
    """
    require_table(X)
    if hasattr(X, "to_pandas") and hasattr(X, "column_names"):  # a table of Arrow can't choose columns
        X = X.to_pandas()
    mask = None if categorical_features is None else _categorical_mask(with_columns(X), categorical_features)
    if mask is None or not mask.any():
        return Table(as_array(X, run, advice=_DECLARE))
    return _encode_table(X, mask, run)


@singledispatch
def _encode_table(X: Any, mask: npt.NDArray[np.bool_], run: Run) -> Table:
    """Return a table with the columns in `mask` as codes of categories, and the number of levels of each (0: a number).

    Columns of an array that hold codes already aren't copied. Missing categories become NaN.
    """
    X = with_columns(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        values = as_floats(as_array(X, run, advice=_DECLARE))
        levels = _levels_of_codes(values, mask)
        if levels is not None:
            return Table(values, levels)
    describe, numbers = column_describer(X), np.flatnonzero(~mask)
    dtype = _type_of_codes(X)
    if len(numbers):
        part = as_array(_take_columns(X, numbers), run, advice=_DECLARE, describe=lambda j: describe(numbers[j]))
        part = as_floats(part)
        dtype = part.dtype
    run.reserve_memory(
        X.shape[0] * X.shape[1] * np.dtype(dtype).itemsize, "a copy of X as floats", "give fewer features"
    )
    values, levels = np.empty(X.shape, dtype), np.zeros(X.shape[1], np.int64)
    if len(numbers):
        values[:, numbers] = part
    for column in np.flatnonzero(mask).tolist():
        codes, known = _encode_categories(np.asarray(_take_column(X, column)), describe(column))
        values[:, column], levels[column] = codes, max(1, len(known))
    return Table(values, levels)


@_encode_table.register(Sparse)
def _(X: Any, mask: npt.NDArray[np.bool_], run: Run) -> Table:
    return Table(X, mask.astype(np.int64))  # the core raises the error


@_encode_table.register(Genotypes)
def _(X: Genotypes, mask: npt.NDArray[np.bool_], run: Run) -> Table:
    return Table(as_array(X, run), np.where(mask, 3, 0))


def _levels_of_codes(values: Array, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | None:
    """Return the numbers of levels if the columns hold codes already: whole numbers from 0, some perhaps unused;
    else None.
    """
    rows = max(1, _VALUES_AT_ONCE // values.shape[1])
    low, high = np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf)
    for first in range(0, len(values), rows):
        part = values[first : first + rows]
        if not mask.all():
            part = np.where(mask, part, 0)
        with np.errstate(invalid="ignore"):  # casts of NaN and of values out of range
            whole = part.astype(np.int32) == part
        if not whole.all() and not (whole | np.isnan(part)).all():
            return None
        low = np.fmin(low, np.fmin.reduce(part, axis=0))
        high = np.fmax(high, np.fmax.reduce(part, axis=0))
    if np.any(low < 0) or np.any(high >= _MOST_CODES):
        return None
    return np.where(mask, np.where(np.isfinite(high), high, 0) + 1, 0).astype(np.int64)


@entry
def few_valued(X: Any, at_most: int = 10) -> npt.NDArray[np.bool_]:
    """Find columns that may hold codes of categories, because they have few distinct values.

    Which columns do hold categories is for you to say: a count of children is a number though it has few values.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    at_most : int
        Different values that a column may have; missing ones don't count.

    Returns
    -------
    ndarray of shape (n_features,), bool
        A mask for ``categorical_features`` of :class:`fastfs.ReliefF` and similar estimators.

    Raises
    ------
    ValueError, TypeError
        X isn't a table; a column holds values that can't be sorted; `at_most` isn't an integer of at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.column_stack([np.arange(30) % 3, np.arange(30) / 7])
    >>> fastfs.few_valued(X).tolist()
    [True, False]
    """
    at_most = as_int("at_most", at_most, low=1)
    require_table(X)
    return np.array([n <= at_most for n in _count_values(X)], dtype=bool)


@singledispatch
def _count_values(X: Any) -> Iterator[int]:
    """Return the number of distinct values of each column, without missing ones."""
    X = with_columns(X)
    describe = column_describer(X)
    columns = (np.asarray(_take_column(X, column)) for column in range(X.shape[1]))
    return (len(_encode_categories(values, describe(column))[1]) for column, values in enumerate(columns))


@_count_values.register(Sparse)
def _(X: Any) -> Iterator[int]:
    X = X.tocsc()
    if not X.has_canonical_format:  # entries at one place add up
        X = X.copy()
        X.sum_duplicates()
    stored = (X.data[begin:end] for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True))
    return (_n_different(values, X.shape[0]) for values in stored)


@_count_values.register(Genotypes)
def _(X: Genotypes) -> Iterator[int]:
    return _count_values(np.asarray(X))


def _n_different(stored: Array, n_rows: int) -> int:
    """Return the number of distinct values of a sparse column."""
    known = np.unique(stored[~np.isnan(stored)])
    return len(known) + int(len(stored) < n_rows and 0 not in known)


def _categorical_mask(X: Any, columns: Any) -> npt.NDArray[np.bool_]:
    """Return the mask of the columns of X that are declared categorical: by a mask, numbers, names, or a word.

    "all" stands for all columns, any other word for those with a type of categories; then raise ValueError unless X is
    a frame.
    """
    if isinstance(columns, str):
        if columns == ALL:
            return np.full(X.shape[1], True)
        if not hasattr(X, "dtypes"):
            raise ValueError(
                f"categorical_features={FROM_DTYPE!r} needs a DataFrame, which has a type per column; got "
                f"{type(X).__name__}: give a mask or a list of column numbers"
            )
        return np.array([_CATEGORIES.match(str(dtype)) is not None for dtype in X.dtypes], dtype=bool)
    n_features = X.shape[1]
    mask = np.zeros(n_features, dtype=bool)
    mask[column_numbers("categorical_features", columns, n_features, column_names(X))] = True
    return mask


def _type_of_codes(X: Any) -> Any:
    """Return the dtype for a table of categories only: as `as_floats` would choose, and float64 for words."""
    dtypes = X.dtypes if hasattr(X, "dtypes") else [X.dtype]
    return np.float32 if all(str(dtype).lower() in ("float16", "float32") for dtype in dtypes) else np.float64


def _take_columns(X: Any, columns: Array) -> Any:
    return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns.tolist()]


def _take_column(X: Any, column: int) -> Any:
    return X.iloc[:, column] if hasattr(X, "iloc") else X[:, column]


def _encode_categories(values: Array, described: str) -> tuple[npt.NDArray[np.float64], Array]:
    """Return the code of each value, NaN for missing values, and the distinct values in sorted order.

    Raise ValueError for infinity, and for values that can't be sorted.
    """
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = np.isinf(values).argmax()
        raise ValueError(f"X must not contain infinity; got it in row {row} of {described}: drop or replace it")
    present = ~mark_missing(values)
    known, numbers = sort_values(values[present], f"{described} of X must hold categories of one kind")
    codes = np.full(len(values), np.nan)
    codes[present] = numbers
    return codes, known
