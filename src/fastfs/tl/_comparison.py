"""The comparison of each group of cells with the rest, or with another group: scores, p-values, means."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fastfs._inference.permutation import permutation_test
from fastfs._inputs.design import SIGNIFICANT
from fastfs._inputs.storage import stored_values
from fastfs._machine.errors import in_rows
from fastfs._machine.params import some_of
from fastfs._machine.run import DataWarning, Run, warn
from fastfs._types import Array
from fastfs.tl._adata import CellMatrix
from fastfs.tl._design import PermutationPlan
from fastfs.tl._sums import ModelOfSums, UnitSums, group_means

# Columns of `permutations` in `adata.uns`; `PermutationResult` explains them.
_TEST_FIELDS = ("pvalue", "n_permutations", "exact", "stopped", "n_distinct", "resolution", "design")

# Rank correlation between scores with and without labels above which a warning is issued.
_LABEL_FREE = 0.5

# Upper bound on the natural logarithm of a count in a cell.
_LARGEST_LOG = 30


def compare_groups(
    model: Any,
    source: CellMatrix,
    cells: Array,
    labels: Array,
    pairs: Sequence[tuple[str, str | None]],
    test: PermutationPlan,
) -> dict[str, Any]:
    """Return the fit of all groups ("whole"), and scores, p-values and means by the first group of pairs ("groups").

    If the model can serve all from sums over groups, X isn't needed; a method without scores by group is fitted once
    per pair. Warn of fits that did not converge, of weak tests, and of values that aren't logarithms.
    """
    names, numbers = np.unique(labels, return_inverse=True)
    # Sums over the groups serve all comparisons; only permutations need the cells. If the cells don't fit in memory,
    # sums over the donors or samples that move as wholes serve permutations too.
    serve = model._wants_sums(source.X, pairs[0][1] is None)
    run = Run.from_estimator(model)
    wholes = test.design.moving_groups(labels) if serve and test.n_permutations and source.is_large(run) else None
    X = None if wholes is not None or (serve and not test.n_permutations) else source.estimator_input(cells, run)
    sums = None
    if serve:
        with source.naming_cells(None):  # passes count cells as adata does
            sums = UnitSums.read_units(model, source, cells, numbers, wholes)
            means, fitted = sums.means_of_groups(), clone(model)._fit_groups(sums.statistics, sums.group_of_unit, names)
    else:
        with source.naming_cells(cells):
            means, fitted = group_means(X, numbers, len(names)), clone(model).fit(X, labels)
    if len(names) == 2 or (hasattr(fitted, "class_scores_") and pairs[0][1] is None):
        with source.naming_cells(cells):
            of_groups = _scores_by_group(fitted, X, labels, test, sums)
        results_of_pairs = [of_groups[group] for group, _ in pairs]
    else:
        sides = [
            np.where(names == group, 0, 1 if other is None else np.where(names == other, 1, -1))
            for group, other in pairs
        ]
        kept = [np.flatnonzero(of_group[numbers] >= 0) for of_group in sides]
        tasks = (
            (
                clone(model),
                X if X is None or len(selected) == len(cells) else X[selected],
                selected,
                of_group,
                numbers[selected],
                test.select_cells(selected),
                None if sums is None else sums.select_cells(selected),
            )
            for selected, of_group in zip(kept, sides, strict=True)
        )
        with source.naming_cells(cells):
            if X is None:  # comparing sums takes no time
                compared = [_compare_pair(*task) for task in tasks]
            else:
                from joblib import Parallel, delayed

                compared = Parallel()(delayed(_compare_pair)(*task) for task in tasks)
        results_of_pairs = [scores for scores, _ in compared]
        unfinished = [group for (group, _), (_, converged) in zip(pairs, compared, strict=True) if not converged]
        if unfinished:
            advice = "raise max_iter" if hasattr(model, "max_iter") else "their scores can be inexact"
            warn([f"{type(model).__name__} did not converge for {some_of(unfinished)}: {advice}"], ConvergenceWarning)
    if test.n_permutations:
        _warn_of_tests(
            type(model).__name__, dict(zip((group for group, _ in pairs), results_of_pairs, strict=True)), test.ranking
        )
    sizes = np.bincount(numbers)
    warn_of_changes(means, sizes, X)
    by_group = {}
    for (group, other), result_of_pair in zip(pairs, results_of_pairs, strict=True):
        ours = names == group
        theirs = ~ours if other is None else names == other
        both = [np.average(means[which], axis=0, weights=sizes[which]) for which in (ours, theirs)]
        by_group[group] = result_of_pair | dict(zip(("mean", "mean_rest"), both, strict=True))
    return {"whole": fitted, "groups": by_group}


def _warn_of_tests(estimator: str, results: dict[str, dict[str, Any]], ranking: str) -> None:
    """Warn of groups with few permutations, with rankings that don't need labels, and with genes that scanpy hides."""
    messages = []
    tests = {group: one["test"] for group, one in results.items()}
    few = {group: test for group, test in tests.items() if test["exact"] and test["resolution"] > SIGNIFICANT}
    free = {group: one["label_free"] for group, one in results.items() if one["label_free"] > _LABEL_FREE}
    free = {group: share for group, share in free.items() if group not in few}  # a labeling may exchange two groups
    if free and ranking == "score":
        messages.append(
            f"{estimator} ranks genes much as without groups for {some_of(list(free))}: its scores and their means "
            f"under permutations have a rank correlation of {max(free.values()):.2f} (label_free): rank by z instead"
        )
    if few:
        messages.append(
            f"the design allows only {min(test['n_distinct'] for test in few.values())} labelings for "
            f"{some_of(list(few))}, so no p-value is below {max(test['resolution'] for test in few.values()):.2g}"
        )
    # Genes that pvals_max finds but scanpy's table doesn't show.
    family_wise = {group: int(np.count_nonzero(one["pvals_max"] <= SIGNIFICANT)) for group, one in results.items()}
    hidden = [group for group, n in family_wise.items() if n and results[group]["pvals_adj"].min() > SIGNIFICANT]
    if hidden:
        test, n_genes = tests[hidden[0]], len(results[hidden[0]]["pvals_adj"])
        messages.append(
            f"pvals_adj, the p-value that scanpy shows, is above 0.05 for all genes of {some_of(hidden)}, because no "
            f"p-value of {test['n_permutations']} permutations is below {test['resolution']:.2g} and {n_genes} genes "
            f"are compared, but pvals_max is at most 0.05 for {sum(family_wise[group] for group in hidden)}: read the "
            "results by fastfs.get.df, or give more permutations"
        )
    warn(messages)


def _compare_pair(
    model: Any, X: Any, row_numbers: Array, of_group: Array, groups: Array, test: PermutationPlan, sums: UnitSums | None
) -> tuple[dict[str, Any], bool]:
    """Compare the cells of two sides; return scores and p-values, and True if the method converged.

    ``row_numbers`` are those of these cells among all that take part, for errors. ``of_group`` maps a group to 0 for
    the first side, 1 for the second and -1 for neither; ``groups`` has the group of each cell. The fit takes `sums` if
    they are given, otherwise X. Warnings are dropped.
    """
    sides = np.array(["group", "rest"])
    y = sides[of_group[groups]]
    with warnings.catch_warnings(record=True) as recorded, in_rows(row_numbers):
        warnings.simplefilter("always")
        if sums is None:
            fitted = model.fit(X, y)
        else:
            fitted = model._fit_groups(sums.statistics, of_group[sums.group_of_unit], sides)
        scores_of_groups = _scores_by_group(fitted, X, y, test, sums)["group"]
    # The fit of all groups together has issued warnings about the data.
    return scores_of_groups, not any(issubclass(w.category, ConvergenceWarning) for w in recorded)


def _split_table(columns: dict[str, list[Any]], names: list[str]) -> list[dict[str, list[Any]]]:
    """Split a table of feature groups into one for each row of scores, each with these names."""
    n = len(names)
    return [
        {name: values[begin : begin + n] for name, values in columns.items()} | {"group": names}
        for begin in range(0, len(columns["group"]), n)
    ]


def _scores_by_group(
    fitted: Any, X: Any, y: Array, test: PermutationPlan, sums: UnitSums | None
) -> dict[str, dict[str, Any]]:
    """Return scores and p-values of each group of y, to which the estimator has been fitted; without X, from sums.

    P-values are NaN without permutations, and scores become z if the ranking is by z. Groups share a row if the method
    has one for all.
    """
    names = fitted.classes_.tolist()
    scores = np.atleast_2d(getattr(fitted, "class_scores_", fitted.scores_))  # a single row if the groups share it
    z = pvalues = adjusted = largest = np.full(scores.shape, np.nan)
    of_all: dict[str, Any] = {"label_free": np.nan}
    sets: list[Array] | None = None
    if test.feature_groups is not None:  # those of the scores of each group of cells, one behind the other
        n_genes, members = scores.shape[1], test.feature_groups.values()
        sets = [columns + row * n_genes for row in range(len(scores)) for columns in members]
    tables: list[dict[str, list[Any]]] = []
    if test.n_permutations:
        model = clone(fitted).set_params(verbose=False)
        tested: Any = ModelByGroup(model) if hasattr(fitted, "class_scores_") else model
        if X is None:
            tested = ModelOfSums(model, sums, not hasattr(fitted, "class_scores_"))
        with warnings.catch_warnings():
            for category in (DataWarning, ConvergenceWarning):  # the fit has issued them
                warnings.simplefilter("ignore", category)
            tested_scores = permutation_test(
                tested,
                X,
                y,
                n_permutations=test.n_permutations,
                verbose=fitted.verbose,
                feature_groups=None if sets is None else {str(k): columns for k, columns in enumerate(sets)},
                **test.design.test_arguments(y),
            )
        pvalues, largest = tested_scores.pvalues.reshape(scores.shape), tested_scores.pvalues_max.reshape(scores.shape)
        adjusted = false_discovery_control(pvalues, axis=1)
        if test.feature_groups is not None and tested_scores.feature_groups is not None:
            tables = _split_table(tested_scores.feature_groups.columns(), list(test.feature_groups))
        z = tested_scores.z.reshape(scores.shape)
        if test.ranking == "z":
            scores = z
        of_all = {
            "label_free": tested_scores.label_free,
            "test": {name: getattr(tested_scores, name) for name in _TEST_FIELDS},
        }
    columns = {"scores": scores, "z": z, "pvals": pvalues, "pvals_adj": adjusted, "pvals_max": largest}
    return {
        name: of_all
        | ({"feature_groups": tables[row % len(tables)]} if tables else {})
        | {column: values[row % len(scores)] for column, values in columns.items()}
        for row, name in enumerate(names)
    }


class ModelByGroup:
    """An estimator that has the scores of each group, one group after another, for tests of each of them."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> ModelByGroup:
        self.scores_ = self.model.fit(X, y).class_scores_.reshape(-1)
        return self

    def __sklearn_clone__(self) -> ModelByGroup:
        return ModelByGroup(clone(self.model))


def warn_of_changes(means: Array, sizes: Array, X: Any) -> None:
    """Warn if X doesn't hold logarithms of counts, but values below 0, whole or large ones: fold changes then say
    nothing.
    """
    sums = means * sizes[:, None]
    if means.min() < 0:
        problem = (
            "means below 0, as after scaling, so they are NaN or meaningless: give the values before scaling as a layer"
        )
        problem += ", or as adata.raw"
    elif sums.any() and np.allclose(sums, np.rint(sums), rtol=1e-12, atol=1e-9):
        problem = "whole numbers: normalise and log counts first"
    elif (largest := _largest_value(means if X is None else X)) > _LARGEST_LOG:
        problem = f"values up to {largest:.4g}: call scanpy.pp.log1p first, or give a layer that holds logs"
    else:
        return
    warn([f"logfoldchanges need X as log1p values; got {problem}"])


def _largest_value(X: Any) -> float:
    """Return the largest value; missing values don't count."""
    values = stored_values(X)
    return float(np.nanmax(values)) if values.size else 0.0
