"""Arguments, checks and results that functions for pairs of columns share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastfs._functions.options import Call, Options, option_class, option_field
from fastfs._inputs.columns import column_numbers
from fastfs._inputs.design import Design
from fastfs._inputs.labels import encode_labels, require_classes
from fastfs._machine.errors import naming
from fastfs._machine.params import as_int, as_seed, some_of
from fastfs._machine.run import Run
from fastfs._types import Array, Integers, Progress

_N_BEFORE_EARLY_END, _PVALUE_OF_EARLY_END = 99, 0.1


@option_class
class PairsFields:
    """Options of every function that finds pairs."""

    n_pairs: int = option_field(lambda name, value: as_int(name, value, low=1), default=1000)


@dataclass(kw_only=True)
class PairsOptions(PairsFields, Options):
    """Options of every function that finds pairs, as the core takes them."""


@option_class
class DesignCall(Call):
    """Arguments of functions that test pairs by permutations of a target."""

    blocks: Any = None
    groups: Any = None
    covariates: Any = None
    random_state: Any = 0

    def read_design(
        self, target: Array, names: Array | None, n_permutations: int, run: Run, *, shuffled: bool = False
    ) -> tuple[Design, Array | None]:
        """Return the design of the test, and all its labelings or, without permutations, None."""
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


def two_classes(what: str, y: Any, n_samples: int, n_columns: int) -> tuple[Array, Integers]:
    """Return the classes of y and the class of each sample; `what` begins the error message for more classes."""
    classes, labels = encode_labels(y, n_samples, n_columns)
    require_classes(classes)
    if len(classes) > 2:
        raise ValueError(
            f"{what} two classes; got {len(classes)}, {some_of(classes.tolist())}: give the samples of two"
        )
    return classes, labels


def naming_classes(classes: Array) -> Any:
    """Return a context in which errors of the core name classes as y does."""
    return naming({"class": lambda c: f"class {classes.tolist()[c]!r}"})


def chosen_columns(
    parameter: str, chosen: Any, n_columns: int, names: list[Any] | None, *, least: int = 2
) -> Integers | None:
    """Return the numbers of the columns to pair, at least `least`, or None for all columns."""
    if chosen is None:
        return None
    numbers = column_numbers(parameter, chosen, n_columns, names)
    if len(numbers) < least:
        raise ValueError(f"{parameter} must name at least two columns, which make a pair; got {len(numbers)}")
    return numbers


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


def require_permutations(**design: Any) -> None:
    """Raise ValueError if a design is given without permutations, where it has no effect."""
    if named := [name for name, column in design.items() if column is not None]:
        raise ValueError(
            f"n_permutations must be above 0 with {' and '.join(named)}; got 0: give a number of permutations, "
            "or leave the design out"
        )


def outcome_of_test(core_result: dict[str, Any], design: Design, *, exact: bool) -> dict[str, Any]:
    """Return the fields of a result that describe its permutation test."""
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
