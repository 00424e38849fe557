"""Interactions: pairs of features with a product that says more about a target than both of them."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._functions.options import option_class, option_field, takes
from fastfs._functions.pairs import (
    FeaturesCall,
    PairsFields,
    PairsOptions,
    PairsResult,
    chosen_columns,
    compare_labelings,
    excluded_numbers,
    limit_pairs,
    names_of,
    outcome_of_test,
    require_names,
)
from fastfs._inputs.columns import columns_in_order
from fastfs._inputs.design import read_covariates
from fastfs._inputs.matrix import as_matrix, column_names
from fastfs._inputs.response import Response, martingale_residuals, read_response
from fastfs._inputs.values import as_values, for_core
from fastfs._machine.errors import last_warnings, naming, rename
from fastfs._machine.params import as_permutations, check_choice, one_of
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import load_core, warn
from fastfs._types import Array, Floats, Integers, Progress


@option_class
class InteractionFields(PairsFields):
    transform: str = option_field(one_of("none", "rank"), default="none")


@dataclass(kw_only=True)
class InteractionOptions(InteractionFields, PairsOptions): ...


@option_class
class InteractionCall(InteractionFields, FeaturesCall):
    with_table: Any = None
    pairs: Any = None


@result_class
class InteractionScan(PairsResult, DrawnResult):
    """Pairs of features found by :func:`fastfs.interaction_scan`, the strongest first.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        The columns of X, the lower one first, or a column of X and one of `with_table`.
    statistics : ndarray of shape (n_pairs,)
        F of the product of both columns, given both and the covariates, with `degrees` of freedom.
    effects, standard_errors : ndarray of shape (n_pairs,) or None
        The coefficient of the product in standard deviations of the target per product of standard deviations, and its
        standard error. Of two classes, the target is 1 for the second one; None for more classes.
    degrees : tuple of int
        Degrees of freedom of F.
    <test_of_pairs>
    scores : ndarray of shape (n_features,)
        The largest F of the pairs that a feature is in; 0 for features without pairs.
    table_scores : ndarray or None
        The same of the columns of `with_table`.
    n_excluded_pairs : dict of str to int
        Number of pairs left out, by reason: "copies" determine each other, given the covariates; of pairs with the
        reason "product" the product is a linear function of both, as of two-valued columns that never have all four
        combinations; the reason "target" means that it determines one of the features, or both determine it.
    excluded_pairs : ndarray of shape (at most 10, 2)
        The first of these pairs.
    excluded_features, excluded_table_features : ndarray
        Columns of X, and of `with_table`, that don't vary, or that the covariates determine.
    classes : ndarray or None
        The classes of the target, if it has any.
    target_type : {"class", "number", "survival"}
    transform : {"none", "rank"}
    feature_names, table_names : list or None
        Names of the columns of X and of `with_table`, if they were given or the tables have names.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> result = fastfs.interaction_scan(X, X[:, 1] * X[:, 4] > 0, n_permutations=99)  # an exclusive or of two signs
    >>> result.pairs[0].tolist(), result.pvalues_max[0].item(), result.n_tested
    ([1, 4], 0.01, 28)
    """

    degrees: tuple[int, int]
    scores: Floats
    table_scores: Floats | None
    excluded_table_features: Integers
    target_type: str
    transform: str
    table_names: list[Any] | None

    _picture = "pair_panels"

    def _sides(self) -> list[tuple[str, list[Any] | None]]:
        X = "X", self.feature_names
        return [X, X if self.table_scores is None else ("with_table", self.table_names)]


@takes(InteractionCall)
def interaction_scan(call: InteractionCall) -> InteractionScan:
    r"""Find the pairs of features that say more about a target together than each alone.

    Each pair has the textbook test of an interaction, the partial F of the product of both features, given both. All
    pairs are tested together by permutation. No table of all pairs is stored.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        A sparse X becomes a dense table inside the core.
    y : array-like of shape (n_samples,)
        Labels of classes, numbers, or records of an event and a time.
    with_table : array-like, DataFrame or sparse of shape (n_samples, n_others), optional
        Another table of the same samples: each column of X is paired with each of its columns, such as genes with
        probes. Default: pairs of columns of X.
    features : array-like, optional
        Take only pairs with these columns of X: a mask, column numbers or names. Default: all.
    pairs : array-like of shape (n, 2), optional
        Test these pairs only: two columns of X, or one of X and one of `with_table`, by number or name, such as the
        edges of a network. Default: all pairs.
    feature_names : sequence of str, optional
        Names of the columns of X. Default: those of a DataFrame.
    target_type : {"auto", "class", "number", "survival"}
        Kind of y. "auto": as for :class:`fastfs.ReliefF`. Times count by their martingale residuals under the model
        that all samples share a hazard.
    transform : {"none", "rank"}
        "rank": features count by the normal scores of their ranks. Choose it for heavy tails, where single samples
        would make products large.
    n_pairs : int
        How many of the strongest pairs to report.
    n_permutations : int or "auto"
        Labelings to compare with the true one; p-values can't be below 1 / (1 + n_permutations). If the design allows
        no more than that, all of them are taken. "auto": 999, but only 99 if ten of these have a pair as strong as the
        true labels. 0: no p-values.
    <alpha_of_pairs>
    blocks, groups, covariates : array-like, optional
        Which samples may exchange labels: those of the same block (batch, stratum, pair); samples of one group (donor)
        stay together if the group has one label, and exchange labels within it otherwise. Covariates are part of the
        model of each pair, and labels keep their relation to them.
    <draws_and_machine>

    Returns
    -------
    InteractionScan

    Raises
    ------
    ValueError
        y has one class; fewer than two features vary, given the covariates; too few samples for the degrees of freedom;
        X has NaN or infinity; the covariates determine the target; tables of different rows; the design allows no
        labeling but the true one; covariates with times; parameters out of range.
    TypeError
        A parameter has the wrong type.
    MemoryError
        The call needs more memory than `max_memory`: about 16 n_samples n_features bytes, and 8 n_samples
        n_permutations for the labelings.

    Warns
    -----
    fastfs.DataWarning
        Features that don't vary, or pairs without a test, were left out; the design is weak.

    Notes
    -----
    O(n_samples n_features^2) time, five products of all pairs, and one more for each covariate and each labeling; of c
    classes c - 1 for each labeling. Of two classes, F is that of the linear model of an indicator; of more, that of the
    indicators in the regression of the product on them, which is the same for two.

    p-values are family-wise under the hypothesis that the target has nothing to do with the features. If single
    features have strong effects, permuted labels lose these too: the error rate stays near the nominal one, with the
    exceptions that docs/pairs.md measures. A small p-value says that a product fits better than both features
    alone, on the scale of the values: another transform can turn an interaction into a sum.

    References
    ----------
    .. [1] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993: step-down p-values.
    .. [2] T. M. Therneau, P. M. Grambsch, T. R. Fleming, "Martingale-based residuals for survival models", Biometrika
       77, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 30))
    >>> y = X[:, 3] * X[:, 7] + rng.normal(size=100)  # neither feature alone says anything
    >>> result = fastfs.interaction_scan(X, y, n_permutations=99)
    >>> result.pairs[0].tolist(), result.pvalue, result.degrees
    ([3, 7], 0.01, (1, 96))
    """
    options = InteractionOptions.from_arguments(call)
    check_choice("target_type", call.target_type, ("auto", "class", "number", "survival"))
    n_permutations, may_stop = as_permutations(call.n_permutations, low=0)
    run = call.make_run()
    names = names_of(call.X, call.feature_names)
    table_names = None if call.with_table is None else column_names(call.with_table)
    X = as_matrix(call.X, run)
    require_names(names, X.shape[1])
    table = None if call.with_table is None else as_matrix(call.with_table, run, "with_table")
    if table is not None and table.shape[0] != X.shape[0]:
        raise ValueError(
            f"X and with_table must have the same rows; got {X.shape[0]} and {table.shape[0]}: give the same "
            "samples in the same order"
        )
    response = read_response(
        call.y, X.shape[0], X.shape[1], call.target_type, of_number="explain them with target_type='number'"
    )
    chosen = chosen_columns("features", call.features, X.shape[1], names, least=2 if table is None else 1)
    if call.pairs is not None and chosen is not None:
        raise ValueError("features must be left out with pairs: give the pairs of these features")
    target = target_values(response, call.covariates)
    call.check_test(n_permutations, "blocks", "groups")
    label_names = None if response.classes is None else response.classes[target]
    design, labelings = call.read_design(target, label_names, n_permutations, run)
    core_options = options.core_options() | {"n_classes": response.n_classes, "features": chosen}
    if call.pairs is not None:
        tables = [("X", X, names), ("X", X, names) if table is None else ("with_table", table, table_names)]
        first, second = _chosen_pairs(call.pairs, tables)
        core_options |= {"first_of_pairs": first, "second_of_pairs": second}
    if call.covariates is not None:
        core_options["covariates"] = for_core(read_covariates(call.covariates, X.shape[0]))
    permuted = "y_permutations" if response.classes is None else "label_permutations"

    def compare(labelings: Array | None, progress: Progress | None) -> dict[str, Any]:
        run.progress = progress
        with naming({"matrix": lambda number: ("X", "with_table")[number]}):
            compared: dict[str, Any] = load_core().interaction_scan(
                X, table, target, core_options | ({} if labelings is None else {permuted: labelings}), run
            )
        return compared

    core_result, stopped = compare_labelings(compare, labelings, call.progress, may_stop=may_stop and not design.exact)
    warn(_name_columns(last_warnings(), names, names if table is None else table_names))
    result = InteractionScan(
        **_fields_of_pairs(core_result, response, has_table=table is not None),
        transform=options.transform,
        stopped=stopped,
        feature_names=names,
        table_names=table_names,
        **outcome_of_test(core_result, design, exact=design.exact and labelings is not None),
    )
    return limit_pairs(result, call.alpha)


def _chosen_pairs(pairs: Any, tables: list[tuple[str, Any, list[Any] | None]]) -> tuple[Integers, Integers]:
    """Return the columns of chosen pairs in the first and in the second table, in ascending order and each pair once.

    `tables` has for both the name, the matrix and the names of its columns. Raise ValueError unless `pairs` has two
    columns, or if a pair of one table holds a column twice.
    """
    try:
        values = as_values(pairs)
    except ValueError:
        values = np.empty(0)  # pairs of different lengths
    if values.ndim != 2 or values.shape[1] != 2 or not len(values):
        raise ValueError(f"pairs must be a table of two columns, a pair in each row; got the shape {np.shape(values)}")
    columns = [
        columns_in_order("pairs", values[:, side], X.shape[1], names, table)
        for side, (table, X, names) in enumerate(tables)
    ]
    chosen = np.stack(columns, axis=1)
    if tables[0][0] == tables[1][0]:
        chosen = np.sort(chosen, axis=1)
        if (same := chosen[:, 0] == chosen[:, 1]).any():
            raise ValueError(f"pairs must be of two columns; got column {chosen[same.argmax(), 0]} with itself")
    first, second = np.unique(chosen, axis=0).T
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def _fields_of_pairs(core_result: dict[str, Any], response: Response, *, has_table: bool) -> dict[str, Any]:
    """Return the fields of a result that describe the pairs and their target.

    Effects are None with three classes or more, and scores of the second table without `has_table`.
    """
    has_effect = response.n_classes <= 2
    return {
        "pairs": core_result["pairs"],
        "statistics": core_result["statistics"],
        "effects": core_result["effects"] if has_effect else None,
        "standard_errors": core_result["errors"] if has_effect else None,
        "degrees": core_result["degrees"],
        "scores": core_result["scores"],
        "table_scores": core_result["other_scores"] if has_table else None,
        "n_tested": core_result["n_tested"],
        "n_excluded_pairs": excluded_numbers(core_result),
        "excluded_pairs": core_result["excluded"],
        "excluded_features": np.flatnonzero(core_result["constant"]),
        "excluded_table_features": np.flatnonzero(core_result["other_constant"]),
        "classes": response.classes,
        "target_type": response.kind,
    }


def target_values(response: Response, covariates: Any) -> Array:
    """Return the labels, the numbers, or the martingale residuals of times; raise ValueError for times with
    covariates.
    """
    if response.kind != "survival":
        return response.values
    if covariates is not None:
        raise ValueError(
            "y must hold classes or numbers with covariates; got events and times: give strata of the covariates as "
            "blocks"
        )
    return martingale_residuals(response.values)


def _name_columns(warnings: list[Warning], names: list[Any] | None, table_names: list[Any] | None) -> list[Warning]:
    """Return the warnings with names for columns of X and of `with_table`; the columns of a pair come in turns."""
    tables = {"constant": (names,), "constant_in_other": (table_names,), "untested_pairs": (names, table_names)}
    for warning in warnings:
        table = itertools.cycle(tables[warning.code])  # type: ignore[attr-defined]

        def name(column: int, table: Iterator[list[Any] | None] = table) -> str:
            names = next(table)
            return str(column) if names is None else repr(names[column])

        rename(warning, {"matrix": lambda number: ("X", "with_table")[number], "column": name})
    return warnings
