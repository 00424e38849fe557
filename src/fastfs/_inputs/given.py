"""Columns that are given: what features add to them is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._inputs.columns import column_numbers
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.matrix import as_decoded, as_matrix, column_names, describe_not_finite
from fastfs._inputs.paths import open_path
from fastfs._inputs.source import as_stream
from fastfs._inputs.storage import add_columns, dense, take_columns
from fastfs._inputs.targets import Target
from fastfs._machine.run import Run
from fastfs._types import Floats, Integers


def is_table(given: Any) -> bool:
    """Return True for a table with rows of samples, False for a list of columns of X."""
    return hasattr(given, "columns") or len(np.shape(given)) == 2


@dataclass(frozen=True)
class Given:
    """Columns of X, by their numbers, or a table of numbers with the rows of X."""

    columns: Integers | None = None
    table: Floats | None = None

    @classmethod
    def read(cls, given: Any, n_features: int, names: Sequence[Any] | None, run: Run) -> "Given | None":
        """Return `given` as columns of X, from numbers or names, or as a table of values with the rows of X.

        None if it has no column. Raise ValueError if it names all columns of X, or a table isn't finite.
        """
        if given is None:
            return None
        if is_table(given):
            if np.shape(given)[1] == 0:
                return None
            table = np.asarray(dense(as_decoded(given, run, "given")), dtype=np.float64)
            if said := describe_not_finite(table, "given"):
                raise ValueError(said)
            return cls(table=table)
        columns = column_numbers("given", given, n_features, names)
        if len(columns) == n_features:
            raise ValueError(f"given must leave features to choose from; got all {n_features}: name fewer")
        return cls(columns=columns) if len(columns) else None

    @property
    def n(self) -> int:
        """Return the number of given columns."""
        if self.columns is not None:
            return len(self.columns)
        assert self.table is not None
        return int(self.table.shape[1])

    def rows(self, first: int, X: Any) -> Floats:
        """Return the given values of some rows, X, which begin at row `first` of all: from X, or from the table.

        Raise ValueError if the table has fewer rows.
        """
        if self.columns is not None:
            part = take_columns(X, self.columns)
            return np.asarray(dense(part), dtype=np.float64)
        assert self.table is not None
        end = first + X.shape[0]
        if end > len(self.table):
            raise ValueError(_misfit(len(self.table), "more"))
        return self.table[first:end]

    def take_rows(self, rows: Integers) -> "Given":
        """Return the given values of some rows."""
        return self if self.table is None else Given(table=self.table[rows])

    def check_rows(self, n_rows: int) -> None:
        """Raise ValueError for a table with another number of rows than X."""
        if self.table is not None and len(self.table) != n_rows:
            raise ValueError(_misfit(len(self.table), str(n_rows)))

    def add_to_features(self, X: Any, run: Run) -> Any:
        """Return X with the columns of the table behind its own, or unchanged if `given` names columns.

        Raise ValueError for another number of rows, genotypes, or values that don't fit the type of X.
        """
        self.check_rows(X.shape[0])
        if self.table is None:
            return X
        if isinstance(X, Genotypes):
            raise ValueError(
                "given must list columns of X where X holds genotypes; got a table: list columns, or keep the table "
                "and give X as numbers, np.asarray(X)"
            )
        with np.errstate(over="ignore"):
            table = self.table.astype(X.dtype)
        if said := describe_not_finite(table, "given"):
            raise ValueError(said)
        return add_columns(X, table, run)

    def append_to(self, target: Target, first: int, X: Any) -> Target:
        """Return a target of numbers for these rows: labels as columns of 0 and 1, numbers as they are, and the given
        values behind.
        """
        columns = [self.rows(first, X)]
        if target.labels is not None and target.classes is not None:
            columns.insert(0, (target.labels[:, None] == np.arange(len(target.classes))).astype(np.float64))
        if target.numbers is not None:
            columns.insert(0, np.asarray(dense(target.numbers), dtype=np.float64))
        return Target(numbers=np.ascontiguousarray(np.hstack(columns)))


def _misfit(n_given: int, n_samples: str) -> str:
    """Say that a given table has other rows than X, as in a fit of a part of the samples."""
    return (
        f"given and X must have the same rows; got {n_given} in given and {n_samples} in X: where parts of the samples "
        "are fitted, append the columns to X and give their numbers"
    )


def given_values(given: Any, X: Any, run: Run) -> Any:
    """Return the values of given columns of X, or of a table, n_samples x columns; None without.

    X can be a path or a stream; raise ValueError for a function, which doesn't know its columns.
    """
    if given is None:
        return None
    X = open_path(X)
    if is_table(given):
        table = Given.read(given, 0, None, run)
        return None if table is None else table.table
    source = as_stream(X)
    if source is not None:
        if source.shape[1] is None:
            raise ValueError(
                "X must say how many columns it has, for a test with given ones; got a function: give these as a table"
            )
        mask = np.zeros(source.shape[1], dtype=bool)
        mask[column_numbers("given", given, len(mask))] = True
        return np.asarray(dense(source.load_rows(run, columns=mask)), dtype=np.float64)
    data = as_matrix(X, run)
    columns = Given.read(given, data.shape[1], column_names(X), run)
    return None if columns is None else columns.rows(0, data)
