"""Designs of permutation tests: columns about the samples as the core takes them, and its warnings about them."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from fastfs._inputs.labels import is_missing
from fastfs._inputs.values import as_values, exact_floats, for_core
from fastfs._machine.errors import last_warnings
from fastfs._machine.params import some_of
from fastfs._machine.run import Run, load_core, warn
from fastfs._types import Array, Floats, Integers

# Level of significance: tests warn if none of their p-values can reach it.
SIGNIFICANT = 0.05


class Design:
    """Labels, blocks, groups and covariates of the samples, and the labelings that they allow.

    The units, which are samples or groups of samples, exchange their labels within pools: blocks, groups, or
    combinations of both.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels of any type, numbers (floats), or records of an event and a time.
    blocks : array-like of shape (n_samples,), optional
        Samples exchange labels within a block only: a batch, a stratum, a pair. Anything hashable.
    groups : array-like of shape (n_samples,), optional
        Samples that belong together, such as cells of one specimen. If each group has one label, groups move as wholes;
        otherwise samples exchange labels within their group, and `check_labelings` warns that specimens may hide in it.
    covariates : array-like or DataFrame of shape (n_samples, n_covariates), optional
        Numbers, or strings and categories, to which labels keep their relation.
    names : array-like of shape (n_samples,), optional
        Names of the labels in errors; default: y.
    ignores_names : bool
        True if the scores to test don't depend on the names of the classes.
    n_permutations : int
        Number of labelings to compare with the true one; all others if there are no more.
    seed : int
        Of labelings and subsamples.
    shuffled : bool
        True if all labelings are to come in a random order, not in one in which neighbors are alike.

    Attributes
    ----------
    n_labelings : int
        Number of labelings to compare with the true one.
    exact : bool
        True if these are all others, not draws.
    n_distinct : int or float
        The number of labelings that differ, the true one included; infinity from 10^6 on.
    smallest_pvalue : float
        The smallest p-value that all labelings together can give.
    description : str
        The design in a few words.
    weaknesses : list of str
        Parts of the design that contribute nothing, for warnings.
    hides_specimens : bool
        True if labels vary within groups, and several samples of such a group have one label: they may belong together.
    moving_groups : ndarray of shape (n_samples,) or None
        Group of each sample if the labels of whole groups are permuted, else None.
    moves_together : bool
        True if groups of several samples move as wholes.
    core : Design of the core
    unit_word : {"sample", "group", "block"}
        Samples that subsamples draw together.
    drawn_units : ndarray of shape (n_samples,)
        The number of the unit of each sample that subsamples draw together.
    strata : ndarray of shape (n_drawn_units,)
        The number of the combination of classes and block that each of these units belongs to.
    """

    def __init__(
        self,
        y: Any,
        blocks: Any = None,
        groups: Any = None,
        covariates: Any = None,
        *,
        names: Any = None,
        ignores_names: bool = True,
        n_permutations: int = 0,
        seed: int = 0,
        shuffled: bool = False,
    ) -> None:
        """Read the labels and the columns of a design, and prepare `n_permutations` labelings; set what is known of
        them.

        If these are all labelings, they come in random order with `shuffled`. `ignores_names` is False if exchanging
        the names of two classes changes the scores to test. With covariates, the core gets numbers and times
        themselves, otherwise only which of them are equal.
        """
        y = as_values(y)
        n = len(y)
        is_class = y.dtype.kind != "f" and y.dtype.names is None
        labels, self._kinds, called = _label_column(y, y if names is None else as_values(names), in_order=is_class)
        columns = read_column("blocks", blocks, n), read_column("groups", groups, n)
        Z = None if covariates is None else for_core(read_covariates(covariates, n))
        self._has_numbers = Z is not None and y.dtype.kind == "f"
        options = {
            "records": int(not is_class and not self._has_numbers),
            "keeps_names": int(not ignores_names),
            "n_permutations": n_permutations,
            "seed": seed,
            "shuffled": int(shuffled),
        }
        target = (None, None, for_core(y, np.float64)) if self._has_numbers else (labels, called, None)
        named = ((codes, None if codes is None else [repr(name) for name in distinct]) for distinct, codes in columns)
        times = events = None
        if Z is not None and {"event", "time"} <= set(y.dtype.names or ()):
            times, events = for_core(y["time"], np.float64), for_core(y["event"], np.int32)
        self.core = load_core(with_blas=False).Design(
            n, *target, *(part for column in named for part in column), Z, times, events, options, Run()
        )
        self._warnings = last_warnings()
        facts = self.core.facts()
        self.n_labelings: int = facts["n_labelings"]
        self.exact: bool = facts["exact"]
        self.n_distinct: int | float = facts["n_distinct"]
        if np.isfinite(self.n_distinct):
            self.n_distinct = int(self.n_distinct)
        self.smallest_pvalue: float = facts["smallest_pvalue"]
        self.description: str = facts["description"]
        self._confounded = facts["confounded"]
        self.weaknesses = [warning for warning in self._warnings if getattr(warning, "code", "") == "weakness"]
        self.hides_specimens: bool = facts["hides_specimens"]
        self.moving_groups: Integers | None = facts["units"] if facts["moves_groups"] else None
        self.moves_together: bool = facts["n_units"] < n
        self.unit_word: str = facts["drawn"]
        self.drawn_units: Integers = facts["drawn_units"]
        self.strata: Integers = facts["strata"]
        self._n_samples = n

    def check_labelings(self) -> None:
        """Raise ValueError if the true labeling is the only one, and warn of weaknesses of the design."""
        if self._confounded is not None:
            raise ValueError(self._confounded)
        warn(self._warnings)

    def labelings(self, first: int, count: int) -> Array:
        """Return the labelings first..first + count - 1, a row each: all others if `exact`, or draws."""
        labelings: Array = self.core.labelings(first, count, self._has_numbers, Run())
        return labelings if self._has_numbers else self._kinds[labelings]

    def all_labelings(self, run: Run) -> Array:
        """Return all labelings to compare with the true one, a row each, from the memory budget of a run."""
        shape = self.n_labelings, self._n_samples
        run.reserve_memory(8 * shape[0] * shape[1], f"{shape[0]} labelings", "give a smaller n_permutations")
        return self.labelings(0, self.n_labelings)

    def subsamples(self, first: int, count: int, *, halves: bool, fraction: float) -> list[Integers]:
        """Return the rows of the subsamples first..first + count - 1, ascending: 2 b and 2 b + 1 are disjoint halves,
        or each takes a fraction of every stratum.
        """
        return [
            np.flatnonzero(self.core.subsamples(halves, fraction, number, 1)[0])
            for number in range(first, first + count)
        ]

    def lonely_strata(self) -> tuple[list[int], int]:
        """Return the first row of each stratum of one unit, and the number of all strata."""
        alone = np.flatnonzero(np.bincount(self.strata)[self.strata] == 1)
        return [int(np.argmax(self.drawn_units == unit)) for unit in alone], int(self.strata.max()) + 1


def _label_column(y: Array, names: Array, *, in_order: bool) -> tuple[Integers, Array, list[str]]:
    """Return the number of each sample's label, the distinct labels, and their names: in sorted order if they can be
    sorted, else in the order of their first occurrence.
    """
    codes = number_values(y.tolist())[1]
    first = np.unique(codes, return_index=True)[1]
    if in_order:
        try:
            order = np.argsort(y[first], kind="stable")
        except TypeError:  # raised by labels of several types
            order = np.arange(len(first))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        codes, first = rank[codes], first[order]
    called = [name.item() if isinstance(name, np.generic) else name for name in (names[i] for i in first)]
    return codes, y[first], [repr(name) for name in called]


def design_of(
    columns: Mapping[str, Array], blocks: str | None, groups: str | None, covariates: Sequence[str]
) -> dict[str, Any]:
    """Return the design arguments of a test from named columns about the samples; blocks or groups without a name are
    None.

    Covariates become one table, left out if none is named, with numbers in columns that hold only such.
    """
    arguments: dict[str, Any] = {
        name: None if column is None else columns[column] for name, column in (("blocks", blocks), ("groups", groups))
    }
    if covariates:
        arguments["covariates"] = np.column_stack([_parse_numbers(columns[name]).astype(object) for name in covariates])
    return arguments


def nested_design(labels: Any, batch: Any = None, donors: Any = None, samples: Any = None) -> dict[str, Any]:
    """Return blocks and groups for cells in samples in donors in batches; each level can be missing.

    The largest units that have one label each move: donors, samples or cells. They move within the levels that hold
    them; if cells move, `groups` is left out.
    """
    around = [] if batch is None else [batch]
    for units in (donors, samples):
        if units is not None:
            if Design(labels, groups=units).moving_groups is not None:
                return {"blocks": _combine_columns(around), "groups": units}
            around.append(units)
    return {"blocks": _combine_columns(around)}


def _combine_columns(columns: Sequence[Any]) -> Any:
    """Return a column with one value for each combination of values in the columns."""
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)) or None


def _parse_numbers(column: Array) -> Array:
    """Return a column of text as numbers if all its values are numbers."""
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


def number_values(values: Sequence[Any]) -> tuple[list[Any], Integers]:
    """Return the distinct values in the order of their first occurrence, and the number of each value."""
    places: dict[Any, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(codes, dtype=np.int64)


def read_column(name: str, column: Any, n_samples: int) -> tuple[list[Any], Integers | None]:
    """Return the distinct values of a design column, and the number of each sample's value; [], None for None.

    Raise TypeError for a table, a word or values that aren't single, ValueError for missing values or another number
    than samples.
    """
    if column is None:
        return [], None
    if isinstance(column, str) or hasattr(column, "columns"):
        raise TypeError(f"{name} must be a 1-D array of one value for each sample; got {type(column).__name__}")
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if len(values) != n_samples:
        raise ValueError(f"{name} must have one value for each of the {n_samples} samples; got {len(values)}")
    try:
        values_and_numbers = number_values(values)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"{name} must be a 1-D array of strings or numbers; got values of the types {', '.join(kinds)}: give one "
            "value for each sample"
        ) from None
    _refuse_missing(name, [is_missing(value) for value in values])
    return values_and_numbers


def _refuse_missing(name: str, missing: Any) -> None:
    """Raise ValueError if a value of a design column is missing."""
    if len(rows := np.flatnonzero(missing)):
        raise ValueError(f"{name} must not have missing values; got some in {_describe_rows(rows)}, or fill the gaps")


def _describe_rows(numbers: Integers) -> str:
    """Name rows in an error, with the advice to drop their samples."""
    if len(numbers) == 1:
        return f"row {numbers[0]}: drop this sample"
    return f"the rows {some_of(numbers)}: drop these samples"


def read_covariates(covariates: Any, n_samples: int) -> Floats:
    """Return covariates, a table, a Series or an array, as numbers; raise an error for missing and infinite values.

    A column of categories or strings becomes a column of 0 and 1 for each value but the first. Raise ValueError for
    another number of rows, none or repeated columns, and TypeError for other values.
    """
    if hasattr(covariates, "to_frame"):
        covariates = covariates.to_frame()
    if hasattr(covariates, "column_names"):  # a table of Arrow
        covariates = covariates.to_pandas()
    if hasattr(covariates, "columns"):
        if len(set(covariates.columns)) < len(covariates.columns):
            raise ValueError("covariates must have unique column names: rename or drop some")
        categories = [hasattr(dtype, "categories") for dtype in covariates.dtypes]  # pandas; values may be numbers
        columns = [np.asarray(covariates[name], dtype=object) for name in covariates.columns]
    else:
        values = as_values(covariates)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2:
            raise ValueError(f"covariates must be a 2-D array of samples x covariates; got {values.ndim} dimensions")
        columns = list(values.T)
        categories = [False] * len(columns)
    if not columns:
        raise ValueError("covariates must have at least one column; got none: leave them out")
    if len(columns[0]) != n_samples:
        raise ValueError(f"covariates must have one row for each of the {n_samples} samples; got {len(columns[0])}")
    _refuse_missing("covariates", [any(map(is_missing, row)) for row in zip(*columns, strict=True)])
    numeric_columns = []
    for j, (column, is_category) in enumerate(zip(columns, categories, strict=True)):
        values = column.tolist()
        if not is_category and all(isinstance(value, Real | np.bool_) for value in values):
            numeric_columns.append(exact_floats(np.asarray(values), "covariates"))
        else:
            for value in values:
                if not is_category and not isinstance(value, Real | np.bool_ | str | bytes):
                    raise TypeError(
                        f"covariates must hold numbers or strings; got values of type "
                        f"{type(value).__name__} in column {j}: convert them"
                    )
            kinds, codes = number_values(values)
            numeric_columns += [(codes == kind).astype(np.float64) for kind in range(1, len(kinds))]
    numbers = np.column_stack(numeric_columns) if numeric_columns else np.zeros((n_samples, 1))
    if len(rows := np.flatnonzero(~np.isfinite(numbers).all(axis=1))):
        raise ValueError(f"covariates must be finite; got NaN or infinity in {_describe_rows(rows)}")
    return numbers
