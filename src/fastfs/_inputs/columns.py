"""Columns that a parameter names: by a mask, by numbers or by names."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._inputs.values import as_values


def column_numbers(
    name: str, columns: Any, n_features: int, names: Sequence[Any] | None = None
) -> npt.NDArray[np.int64]:
    """Return the numbers of columns in ascending order, each once; `names` are those of all columns, if they have any.

    Errors call the parameter `name`.
    """
    try:
        given = as_values(columns)
    except ValueError:
        given = np.array(columns, dtype=object)  # lists of different lengths, which are no names
    if given.ndim != 1:
        raise ValueError(f"{name} must be a 1-D mask, or a list of column numbers or names, not {given.ndim}-D")
    if given.dtype == bool:
        if len(given) != n_features:
            raise ValueError(f"{name} as a mask must have {n_features} values, one a feature, but has {len(given)}")
        return np.flatnonzero(given)
    if given.dtype.kind in "OSUT":
        count = Counter(() if names is None else names)
        for column in given.tolist():
            if not isinstance(column, Hashable) or column not in count:
                raise ValueError(f"{name} holds {column!r}, which isn't a column name of X")
            if count[column] > 1:
                raise ValueError(f"{name} holds {column!r}, the name of {count[column]} columns: give their numbers")
        known = {column: number for number, column in enumerate(() if names is None else names)}
        given = np.array([known[column] for column in given.tolist()], dtype=np.int64)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{name} must hold column numbers or names, not {given.tolist()[0]!r}")
    outside = given[(given < 0) | (given >= n_features)]
    if len(outside):
        raise ValueError(f"{name} must hold column numbers from 0 to {n_features - 1}, but holds {outside[0]}")
    return np.unique(given).astype(np.int64)
