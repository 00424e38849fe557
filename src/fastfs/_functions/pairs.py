"""Arguments, checks and results that functions for pairs of columns share."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np

from fastfs._functions.options import Options, RandomCall, option_class, option_field
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.design import Design
from fastfs._inputs.labels import as_labels, encode_labels, require_classes
from fastfs._inputs.matrix import column_names
from fastfs._machine.errors import naming
from fastfs._machine.params import as_float, as_int, as_seed, some_of
from fastfs._machine.results import Result, result_class
from fastfs._machine.run import Run, warn
from fastfs._types import Array, Floats, Integers, Progress

_N_BEFORE_EARLY_END, _PVALUE_OF_EARLY_END = 99, 0.1


@option_class
class PairsFields:
    """Options of every function that finds pairs."""

    n_pairs: int = option_field(lambda name, value: as_int(name, value, low=1), default=1000)


@dataclass(kw_only=True)
class PairsOptions(PairsFields, Options):
    """Options of every function that finds pairs, as the core takes them."""


@option_class
class DesignCall(RandomCall):
    """Arguments of functions that test pairs by permutations of a target."""

    alpha: float | None = None
    blocks: Any = None
    groups: Any = None
    covariates: Any = None
    random_state: Any = 0

    def check_test(self, n_permutations: int, *design: str) -> None:
        """Raise ValueError for an `alpha` out of range, or a design or an `alpha` without permutations.

        `design` are the names of its fields.
        """
        if self.alpha is not None and not 0 < as_float("alpha", self.alpha) < 1:
            raise ValueError(f"alpha must lie between 0 and 1; got {self.alpha}")
        named = [name for name in (*design, "alpha") if getattr(self, name) is not None]
        if named and not n_permutations:
            raise ValueError(
                f"n_permutations must be above 0 with {' and '.join(named)}; got 0: give a number of permutations, "
                f"or leave {' and '.join(named)} out"
            )

    def read_design(
        self, target: Array, names: Array | None, n_permutations: int, run: Run, *, shuffled: bool = False
    ) -> tuple[Design, Array | None]:
        """Return the design of the test, and all its labelings, which are checked; without permutations, None for
        these.
        """
        design = Design(
            target,
            self.blocks,
            self.groups,
            self.covariates,
            names=names,
            n_permutations=n_permutations,
            seed=as_seed(self.random_state),
            shuffled=shuffled,
        )
        if not n_permutations:
            return design, None
        design.check_labelings()
        return design, design.all_labelings(run)


@option_class
class FeaturesCall(DesignCall):
    """Arguments of functions that test pairs of the features of a table."""

    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False)
    features: Any = None
    feature_names: Sequence[str] | None = None
    target_type: str = "auto"
    n_permutations: int | str = 999


@result_class
class PairsResult(Result):
    """Pairs of columns, the strongest first, with what the searches for pairs tell of them alike."""

    pairs: Integers
    statistics: Floats
    effects: Floats | None
    standard_errors: Floats | None
    degrees: Any
    pvalues_max: Floats | None
    pvalue: float | None
    null_maxima: Floats
    scores: Floats | None
    n_tested: int
    n_excluded_pairs: dict[str, int]
    excluded_pairs: Integers
    excluded_features: Integers
    classes: Array | None
    n_permutations: int
    n_distinct: int | float
    exact: bool
    resolution: float
    stopped: bool
    design: str
    feature_names: list[Any] | None

    _row = "pair"

    # The fields with an entry for each pair, and the columns of frames and files that hold them.
    _of_pairs: ClassVar[dict[str, str | None]] = {
        "statistics": "statistic",
        "effects": "effect",
        "standard_errors": "standard_error",
        "pvalues_max": "pvalue_max",
    }

    @property
    def columns(self) -> dict[str, Array]:
        """The values of the pairs, by the names of the columns that frames, files and networks have for them."""
        named = ((column, getattr(self, field)) for field, column in self._of_pairs.items() if column)
        return {column: values for column, values in named if values is not None}

    @property
    def names(self) -> Array | None:
        """The names of the pairs, in an array of shape (n_pairs, 2); None if the columns have no names."""
        return None if all(names is None for _, names in self._sides()) else self._named_pairs()

    def _sides(self) -> list[tuple[str, list[Any] | None]]:
        """Return the table, and the names of its columns, of the first and of the second columns of the pairs."""
        return [("X", self.feature_names)] * 2

    def _named_pairs(self) -> Array:
        """Return the pairs by name; columns without names are called by their numbers."""
        named = np.empty(self.pairs.shape, dtype=object)
        for side, (_, names) in enumerate(self._sides()):
            numbers = self.pairs[:, side].tolist()
            named[:, side] = numbers if names is None else [names[j] for j in numbers]
        return named

    def _table(self) -> dict[str, Any]:
        a, b = self._named_pairs().T
        return {"feature_a": a, "feature_b": b, **self.columns}

    def to_network(self) -> list[tuple[str, str, dict[str, float]]]:
        """Return the pairs as edges between features: `networkx.Graph(result.to_network())` is the network.

        Returns
        -------
        list of (str, str, dict)
            Both features and the values of `columns`. A name that several columns share, in X or in two tables, is
            followed by the column's table and number, such as "TP53 (X, 7)", so that each column is one node.

        Examples
        --------
        >>> import numpy as np
        >>> import fastfs
        >>> X = np.random.default_rng(0).normal(size=(40, 4))
        >>> result = fastfs.interaction_scan(X, X[:, 0] * X[:, 2], feature_names=list("abcd"), n_permutations=99)
        >>> a, b, values = result.to_network()[0]
        >>> a, b, values["pvalue_max"]
        ('a', 'c', 0.01)
        """
        named, tables = self._named_pairs(), [table for table, _ in self._sides()]
        columns = [
            [(str(name), tables[side], j) for name, j in zip(named[:, side], self.pairs[:, side].tolist(), strict=True)]
            for side in (0, 1)
        ]
        shared = Counter(name for name, *_ in {*columns[0], *columns[1]})
        nodes = [
            [name if shared[name] == 1 else f"{name} ({table}, {j})" for name, table, j in side] for side in columns
        ]
        rows = zip(*(values.tolist() for values in self.columns.values()), strict=True)
        return [(a, b, dict(zip(self.columns, row, strict=True))) for a, b, row in zip(*nodes, rows, strict=True)]


def excluded_numbers(core_result: dict[str, Any]) -> dict[str, int]:
    """Return the number of pairs that a scan left out, by reason."""
    reasons = {"copies": "n_copies", "product": "n_products", "samples": "n_few", "target": "n_explained"}
    return {reason: core_result[count] for reason, count in reasons.items() if count in core_result}


_Result = TypeVar("_Result", bound=PairsResult)


def limit_pairs(result: _Result, alpha: float | None) -> _Result:
    """Return the result with its pairs of p-values up to `alpha`, or all if `alpha` is None or there was no test.

    Warn if no p-value can be so small.
    """
    if alpha is None or result.pvalues_max is None:
        return result
    if alpha < result.resolution and not result.stopped:
        warn(
            [
                f"alpha is {alpha:g}, but no p-value of this test can be below {result.resolution:.2g}, so that no "
                "pair is listed: give more permutations, or a larger alpha"
            ]
        )
    n = int(np.count_nonzero(result.pvalues_max <= alpha))  # p-values don't fall along the pairs
    of_pairs = {field: getattr(result, field) for field in ("pairs", *result._of_pairs)}
    return replace(result, **{field: values[:n] for field, values in of_pairs.items() if values is not None})


def two_classes(what: str, y: Any, n_samples: int, n_columns: int) -> tuple[Array, Integers]:
    """Return the classes of y and the class of each sample; raise ValueError unless there are two.

    `what` begins the error message for more classes.
    """
    classes, labels = encode_labels(y, n_samples, n_columns)
    require_classes(classes)
    if len(classes) > 2:
        raise ValueError(
            f"{what} two classes; got {len(classes)}, {some_of(classes.tolist())}: give the samples of two"
        )
    return classes, labels


def holds_fractions(y: Any, n_samples: int, n_columns: int) -> bool:
    """Return True if y holds a number that isn't whole."""
    values = as_labels(y, n_samples, n_columns)
    if values.dtype.kind == "O" and all(isinstance(value, Real) for value in values):
        values = values.astype(np.float64)
    return values.dtype.kind == "f" and bool((values[np.isfinite(values)] % 1 != 0).any())


def naming_classes(classes: Array) -> Any:
    """Return a context in which errors of the core name classes as y does."""
    return naming({"class": lambda c: f"class {classes.tolist()[c]!r}"})


def chosen_columns(
    parameter: str, chosen: Any, n_columns: int, names: list[Any] | None, *, least: int = 2
) -> Integers | None:
    """Return the numbers of the columns to pair, or None for all; raise ValueError for fewer than `least`."""
    if chosen is None:
        return None
    numbers = column_numbers(parameter, chosen, n_columns, names)
    if len(numbers) < least:
        raise ValueError(f"{parameter} must name at least two columns, which make a pair; got {len(numbers)}")
    return numbers


def names_of(X: Any, given: Sequence[str] | None) -> list[Any] | None:
    """Return the given names of the columns of X, or those that X has, if any."""
    if isinstance(given, str):
        raise TypeError(f"feature_names must be a list of names; got the string {given!r}: give a list")
    return column_names(X) if given is None else list(given)


def require_names(names: list[Any] | None, n_columns: int) -> None:
    """Raise ValueError unless there is a name for each column of X, or no names."""
    if names is not None and len(names) != n_columns:
        raise ValueError(f"feature_names must have one name for each of the {n_columns} columns of X; got {len(names)}")


def compare_labelings(
    compare: Callable[[Array | None, Progress | None], dict[str, Any]],
    labelings: Array | None,
    progress: Progress | None,
    *,
    may_stop: bool,
) -> tuple[dict[str, Any], bool]:
    """Return the core's result for the labelings, and True if the first of them sufficed.

    With `may_stop` the test ends after _N_BEFORE_EARLY_END labelings if the p-value is then above
    _PVALUE_OF_EARLY_END: ten of them have reached the strongest pair. A smaller p-value comes from all labelings, and
    so isn't affected by the early end.
    """

    def part(begin: float, end: float) -> Progress | None:
        if progress is None:
            return None
        return lambda step, fraction: progress(step, begin + (end - begin) * fraction)

    if not may_stop or labelings is None:
        return compare(labelings, progress), False
    begin = _N_BEFORE_EARLY_END / len(labelings)
    core_result = compare(labelings[:_N_BEFORE_EARLY_END], part(0.0, begin))
    if (core_result["pvalues"][:1] > _PVALUE_OF_EARLY_END).any():
        return core_result, True
    return compare(labelings, part(begin, 1.0)), False


def names_in_lists(names: Sequence[Any] | None) -> dict[str, Callable[[int], str]]:
    """Return how warnings call columns that they list: by name, if columns have names."""
    return {} if names is None else {"column": lambda column: repr(names[column])}


def outcome_of_test(core_result: dict[str, Any], design: Design, *, exact: bool) -> dict[str, Any]:
    """Return the fields of a result that describe its permutation test; p-values are None without labelings."""
    n_labelings = len(core_result["null_maxima"])
    pvalues = core_result["pvalues"] if n_labelings else None
    return {
        "pvalues_max": pvalues,
        "pvalue": None if pvalues is None or not len(pvalues) else float(pvalues[0]),
        "null_maxima": core_result["null_maxima"],
        "n_permutations": n_labelings,
        "n_distinct": design.n_distinct,
        "exact": exact,
        "resolution": design.smallest_pvalue if exact else 1 / (1 + n_labelings),
        "design": design.description,
    }
