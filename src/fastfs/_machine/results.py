"""Classes of results, with a printed form, a frame and a picture."""

import html
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from fastfs._docs import fill_shared
from fastfs._machine.params import check_choice, rank_features
from fastfs._types import Integers

_Class = TypeVar("_Class")

# Number of values of an array, a list or a dict that are shown, and of characters of a string.
_SHOWN, _LETTERS = 3, 80

# Number of rows and columns of a table that are shown, and of characters of a cell.
_ROWS, _WIDTH, _CELL = 10, 10, 24


@dataclass_transform(frozen_default=True)
def result_class(cls: type[_Class]) -> type[_Class]:
    """Make a class a frozen dataclass that prints as its base class says."""
    cls.__doc__ = fill_shared(cls.__doc__)
    return dataclass(frozen=True, repr=False)(cls)


class Brief:
    """Prints on a line: shapes and first values of arrays instead of thousands of numbers."""

    def __repr__(self) -> str:
        shown = [f"{f.name}={_brief(getattr(self, f.name))}" for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


class Result:
    """Prints its sizes, its single values and its best ten rows, also in notebooks, and becomes a frame."""

    # The columns of the frame, and the fields that hold them; what a row is; the columns that print, if not all do.
    _columns: ClassVar[dict[str, str]] = {}
    _row: ClassVar[str] = "feature"
    _printed: ClassVar[tuple[str, ...]] = ()

    def to_frame(self, library: str = "pandas", feature_names: Sequence[str] | None = None) -> Any:
        """Return a table of what the result says of each feature, in the order of X, or of each pair, the best first.

        Parameters
        ----------
        library : {"pandas", "polars"}
        feature_names : sequence of str, optional
            Names of all columns of X, for a column `name`; ValueError unless the result has a row for each feature.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame

        Examples
        --------
        >>> import fastfs
        >>> fastfs.consensus({"one": [3.0, 2.0, 1.0], "other": [2.0, 3.0, 0.0]}).to_frame()["score"].tolist()
        [0.75, 0.75, 0.0]
        """
        check_choice("library", library, ("pandas", "polars"))
        columns = {name: _plain(values) for name, values in self._table().items()}
        if feature_names is not None:
            numbers = columns.pop("feature", None)
            if not isinstance(numbers, np.ndarray):  # a report's are names
                raise ValueError(f"feature_names must be left out: {type(self).__name__} has no row for each feature")
            if isinstance(feature_names, str) or len(feature_names) != len(numbers):
                raise ValueError(f"feature_names must name all {len(numbers)} features; got {len(feature_names)} names")
            columns = {"feature": numbers, "name": [str(name) for name in feature_names], **columns}
        return importlib.import_module(library).DataFrame(columns)

    def _table(self) -> dict[str, Any]:
        """Return the columns of the frame, with a value for each row."""
        held = {column: getattr(self, field) for column, field in self._columns.items()}
        held = {column: values for column, values in held.items() if values is not None}
        n = len(next(iter(held.values())))
        return {self._row: np.arange(n), **held}

    def _best(self, table: dict[str, Any]) -> Integers:
        """Return the rows that print, the best first."""
        if "rank" in table:
            return np.argsort(table["rank"], kind="stable")[:_ROWS]
        if "score" in table:
            return np.argsort(rank_features(np.asarray(table["score"])), kind="stable")[:_ROWS]
        return np.arange(min(len(next(iter(table.values()))), _ROWS))

    def _shown(self) -> tuple[str, list[str], list[list[str]], str]:
        """Return the line above the table that prints, with short fields, its header and rows, and the line below.

        The table has the best rows and some columns; the line below says what is missing, and is empty if nothing is.
        """
        table = self._table()
        n = len(next(iter(table.values())))
        best = self._best(table)
        header = [name for name in self._printed or table if name in table][:_WIDTH]
        rows = [[_cell(table[name][row]) for name in header] for row in best.tolist()]
        single = [f"{f.name}={text}" for f in fields(self) if f.repr and (text := self._single(f.name))]  # type: ignore[arg-type]
        above = f"{type(self).__name__} of {n} {self._row}{'' if n == 1 else 's'}"
        more, all_columns = n - len(rows), "" if len(header) == len(table) else ", and all columns"
        below = f"{f'... and {more} more: ' if more else ''}to_frame() has all{all_columns}"
        below = below if more or all_columns else ""
        return f"{above}: {', '.join(single)}" if single else above, header, rows, below

    def _single(self, name: str) -> str:
        """Return a short form of a field that holds a value or a few; empty for others, None, and columns of the
        table.
        """
        value = getattr(self, name)
        if value is None or name in self._columns.values():
            return ""
        is_short = isinstance(value, bool | int | float | str | np.generic)
        if isinstance(value, list | tuple):
            is_short = len(value) <= 2 * _SHOWN and all(isinstance(v, bool | int | float | str) for v in value)
        return _brief(value) if is_short else ""

    def __repr__(self) -> str:
        above, header, rows, below = self._shown()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in (header, *rows)]
        return "\n".join([above, *(line.rstrip() for line in lines), *([below] if below else [])])

    def _repr_html_(self) -> str:
        above, header, rows, below = map(_escaped, self._shown())
        head = "".join(f"<th>{name}</th>" for name in header)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{above}</p>{table}{f'<p>{below}</p>' if below else ''}"


class DrawnResult(Result):
    """A result that a function of `fastfs.pl` draws."""

    # The function of fastfs.pl that draws it.
    _picture: ClassVar[str]

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        """Return what that function gets."""
        return self, {}

    def plot(self, *args: Any, **options: Any) -> Any:
        """Draw the result, by its function in ``fastfs.pl``.

        Parameters
        ----------
        *args, **options
            Arguments of that function.

        Returns
        -------
        matplotlib.axes.Axes or matplotlib.figure.Figure

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> import fastfs
        >>> result = fastfs.consensus({"one": [3.0, 2.0, 1.0], "other": [2.0, 3.0, 0.0]})
        >>> len(result.plot(top=2, ax=Figure().add_subplot()).get_yticklabels())
        2
        """
        draw = getattr(importlib.import_module("fastfs.pl"), self._picture)  # a room above, which calls need
        drawn, known = self._drawn()
        return draw(drawn, *args, **known | options)


class RankedResult(DrawnResult):
    """A result with scores, and perhaps a ranking, which are its picture."""

    _picture = "ranking"

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        return self.scores, {"ranks": getattr(self, "ranking", None)}  # type: ignore[attr-defined]


def _plain(values: Any) -> Any:
    """Return the values of a column; words as a list, because polars keeps arrays of objects as objects."""
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "OU" else values


def _cell(value: Any) -> str:
    """Return a value of a table as text."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _CELL else f"{text[: _CELL - 3]}..."


def _escaped(shown: Any) -> Any:
    """Return texts, or lists of them, for HTML."""
    return html.escape(shown) if isinstance(shown, str) else [_escaped(part) for part in shown]


def _brief(value: Any) -> str:
    """Return a short text for a value, such as the shape, the type and the first entries of an array."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4g}"
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        size = " x ".join(map(str, value.shape))
        return f"<{size} {value.dtype}{_first(value)}>"
    if isinstance(value, dict) and len(value) <= 2 * _SHOWN:
        return "{" + ", ".join(f"{key!r}: {_brief(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple) and len(value) <= 2 * _SHOWN:
        inner = ", ".join(map(_brief, value)) + "," * (isinstance(value, tuple) and len(value) == 1)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict | list | tuple):
        first = ", ".join(_brief(part) for part in islice(value, _SHOWN))
        return f"<{type(value).__name__} of {len(value)}: {first}, ...>"
    if hasattr(value, "shape"):  # a frame
        return f"<{type(value).__name__} of {' x '.join(map(str, value.shape))}>"
    text = repr(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."


def _first(array: Any) -> str:
    """Return the first values of a vector in Python's notation."""
    if array.ndim != 1 or array.dtype.names or not hasattr(array, "tolist"):
        return ""
    values = array[:_SHOWN].tolist()
    return f": {', '.join(map(_brief, values))}{', ...' if len(array) > _SHOWN else ''}"
