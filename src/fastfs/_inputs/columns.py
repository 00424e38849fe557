"""Selection of columns by a mask, by numbers or by names."""

import difflib
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.values import as_values


def column_numbers(
    name: str, columns: Any, n_features: int, names: Sequence[Any] | None = None
) -> npt.NDArray[np.int64]:
    """Return the numbers of the selected columns, ascending and unique; `names` holds the names of all columns, if any.

    `columns` and errors are as for `columns_in_order`; these call the parameter `name`.
    """
    return np.unique(columns_in_order(name, columns, n_features, names))


def columns_in_order(
    name: str, columns: Any, n_features: int, names: Sequence[Any] | None = None, table: str = "X"
) -> npt.NDArray[np.int64]:
    """Return the numbers of the selected columns in their order, repeated ones included.

    `columns` is a mask, or a list of numbers or of names. Raise ValueError for another shape, a name that is unknown or
    stands for several columns, or a number out of range, and TypeError for other values. Errors call the table `table`.
    """
    if not n_features:
        raise ValueError(f"{table} must have at least one feature; got none")
    try:
        values = as_values(columns)
    except ValueError:
        values = np.array(columns, dtype=object)  # lists of different lengths
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be a 1-D mask, or a list of column numbers or names; got {_shape_of(columns, values)}"
        )
    if values.dtype == bool:
        if len(values) != n_features:
            raise ValueError(f"{name} as a mask must have {n_features} values, one per feature; got {len(values)}")
        return np.flatnonzero(values)
    if values.dtype.kind in "OSUT":
        count = Counter(() if names is None else names)
        for column in values.tolist():
            if not isinstance(column, Hashable) or column not in count:
                close = difflib.get_close_matches(str(column), [str(one) for one in [*count][:1000]], 1)
                hint = f": did you mean {close[0]!r}?" if close else ""
                hint = hint if names else f": {table} has no names, so give numbers of columns"
                raise ValueError(f"{name} holds {column!r}, which isn't a column name of {table}{hint}")
            if count[column] > 1:
                raise ValueError(f"{name} holds {column!r}, the name of {count[column]} columns: give their numbers")
        known = {column: number for number, column in enumerate(() if names is None else names)}
        values = np.array([known[column] for column in values.tolist()], dtype=np.int64)
    if values.dtype.kind not in "iu" and values.size:
        advice = ": give values of samples as a 2-D table" if name == "given" and values.dtype.kind == "f" else ""
        raise TypeError(f"{name} must hold column numbers or names; got {values.tolist()[0]!r}{advice}")
    outside = values[(values < 0) | (values >= n_features)]
    if len(outside):
        raise ValueError(f"{name} must hold column numbers from 0 to {n_features - 1}; got {outside[0]}")
    return values.astype(np.int64)


def _shape_of(columns: Any, values: Any) -> str:
    """Return a name or a number that should have been a list, with that list, or the number of dimensions."""
    return f"{columns!r}: give [{columns!r}]" if isinstance(columns, str | int) else f"{values.ndim}-D"
