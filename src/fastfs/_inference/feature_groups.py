"""Groups of features, which are tested as wholes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fastfs._inputs.columns import column_numbers
from fastfs._inputs.values import for_core
from fastfs._machine.params import some_of
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run, load_core, warn
from fastfs._types import Array, Floats, Integers


@result_class
class GroupsResult(DrawnResult):
    """Groups of features in a :class:`fastfs.PermutationResult`; all arrays have the shape (n_groups,).

    Parameters
    ----------
    names : list of str
        In the order in which they were given.
    sizes : ndarray of int64
        Numbers of features.
    maxima, sums : ndarray
        Largest score of the group's features, and their sum.
    pvalues, pvalues_of_sums : ndarray
        (1 + number of permutations with as large a maximum, or sum) / (1 + n_permutations).
    pvalues_adjusted, pvalues_adjusted_of_sums : ndarray
        The same for a false discovery rate among the groups, as `fdr` of :func:`fastfs.permutation_test` says.
    pvalues_max, pvalues_max_of_sums : ndarray
        Family-wise p-values of all groups, by step-down comparison of maxima, or sums, each standardized by its mean
        and standard deviation under permuted labels (or not, as `statistic` says), so that large groups don't win by
        their size. Choose one of the two before you look.
    features : list of ndarray of int64
        Columns of each group.

    Examples
    --------
    <permutation_example>
    >>> groups = {"even": range(0, X.shape[1], 2), "odd": range(1, X.shape[1], 2)}
    >>> result = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=99, feature_groups=groups)
    >>> result.feature_groups.names, result.feature_groups.pvalues.tolist()[1]
    (['even', 'odd'], 0.01)
    """

    _columns: ClassVar[dict[str, str]] = {
        "group": "names",
        "n_features": "sizes",
        "max_score": "maxima",
        "sum_of_scores": "sums",
        "pvalue": "pvalues",
        "pvalue_adjusted": "pvalues_adjusted",
        "pvalue_max": "pvalues_max",
        "pvalue_of_sum": "pvalues_of_sums",
        "pvalue_adjusted_of_sum": "pvalues_adjusted_of_sums",
        "pvalue_max_of_sum": "pvalues_max_of_sums",
    }
    _row: ClassVar[str] = "group"
    _picture = "ranking"

    names: list[str]
    sizes: Integers
    maxima: Floats
    sums: Floats
    pvalues: Floats
    pvalues_of_sums: Floats
    pvalues_adjusted: Floats
    pvalues_adjusted_of_sums: Floats
    pvalues_max: Floats
    pvalues_max_of_sums: Floats
    features: list[Integers]

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        title = "-log10 of the family-wise p-value of each group"
        return -np.log10(self.pvalues_max), {"feature_names": self.names, "title": title}

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table with a row for each group.

        Returns
        -------
        dict of lists
        """
        return {name: np.asarray(values).tolist() for name, values in self._table().items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each group, that of the smallest p-values first.

        Returns
        -------
        list of dicts
        """
        columns = self.columns()
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return sorted(rows, key=lambda row: (row["pvalue_max"], row["pvalue"]))

    def mask_features(self, chosen: Array, n_features: int) -> Array:
        """Return the mask of the features of some groups, which a mask of all groups tells.

        Parameters
        ----------
        chosen : ndarray of shape (n_groups,), bool
        n_features : int
            Number of all features.

        Returns
        -------
        ndarray of shape (n_features,), bool
        """
        mask = np.zeros(n_features, dtype=bool)
        for k in np.flatnonzero(chosen):
            mask[self.features[k]] = True
        return mask


def number_members(groups: Any, names: Sequence[Any]) -> dict[str, Integers]:
    """Return the column numbers of the features of each group by its name; `names` holds those of all columns.

    A warning names features that the table lacks; they are left out, and so are groups without others. Raise TypeError
    unless `groups` is a dict of lists of names, ValueError if the table has none of them.
    """
    if not isinstance(groups, Mapping):
        raise TypeError(f"feature_groups must be a dict of names and features; got {type(groups).__name__}")
    places = {name: j for j, name in enumerate(names)}
    members: dict[str, list[Any]] = {}
    for name, features in groups.items():
        is_list = isinstance(features, Iterable) and not isinstance(features, str)
        members[str(name)] = list(features) if is_list else []
        if not is_list or not all(isinstance(one, str) for one in members[str(name)]):
            raise TypeError(f"group {name!r} of feature_groups must be a list of names; got {str(features)[:40]}")
    numbers = {
        name: np.unique([places[one] for one in features if one in places]) for name, features in members.items()
    }
    kept = {name: columns.astype(np.int64) for name, columns in numbers.items() if len(columns)}
    if not kept:
        asked = list(dict.fromkeys(one for features in members.values() for one in features))
        raise ValueError(
            f"feature_groups must name features of the table, such as {some_of(list(names))}; got "
            f"{some_of(asked) if asked else 'none'}"
        )
    if lacking := list(dict.fromkeys(one for features in members.values() for one in features if one not in places)):
        n_groups = len(numbers) - len(kept)
        also = f", and {n_groups} {'group' if n_groups == 1 else 'groups'} without others" if n_groups else ""
        warn([f"features of feature_groups that the table lacks are left out: {some_of(lacking)}{also}"])
    return kept


class FeatureGroups:
    """Named groups of features, which may overlap."""

    def __init__(self, groups: Any, n_features: int, names: Any) -> None:
        """Read a dict of names and features: numbers, names or masks.

        Raise TypeError for other objects, ValueError for none, an empty group or unknown features.
        """
        if not isinstance(groups, Mapping):
            raise TypeError(f"feature_groups must be a dict of names and features; got {type(groups).__name__}")
        if not groups:
            raise ValueError("feature_groups must hold groups; got none: name some, or leave it out")
        self.names = [str(name) for name in groups]
        self.members: list[Integers] = []
        for name, features in groups.items():
            columns = column_numbers(f"group {name!r} of feature_groups", features, n_features, names)
            if not len(columns):
                raise ValueError(f"group {name!r} of feature_groups must hold features; got none: leave it out")
            self.members.append(columns)
        self._all = np.concatenate(self.members)
        self._begins = np.cumsum([0, *map(len, self.members[:-1])])

    def maxima(self, scores: Array) -> Array:
        """Return the largest score of each group."""
        found: Array = np.maximum.reduceat(scores[self._all], self._begins)
        return found

    def sums(self, scores: Array) -> Array:
        """Return the sum of scores of each group."""
        found: Array = np.add.reduceat(scores[self._all], self._begins)
        return found

    def make_nulls(self, design: Any, scores: Array, options: dict[str, Any], run: Run) -> list[tuple[Any, Any]]:
        """Return the core's nulls of maxima and sums, each with the function that makes its row of a row of scores."""
        nulls: list[tuple[Any, Any]] = []
        for of_groups in (self.maxima, self.sums):
            values = for_core(of_groups(scores), np.float64)
            nulls.append(
                (load_core(with_blas=False).Null(design, values, float(values.max()), "", options, run), of_groups)
            )
        return nulls

    def result(self, scores: Array, by_maxima: dict[str, Any], by_sums: dict[str, Any]) -> GroupsResult:
        """Return the result of the groups, from the scores of all features and the p-values of maxima and of sums."""
        return GroupsResult(
            names=self.names,
            sizes=np.array([len(columns) for columns in self.members]),
            maxima=self.maxima(scores),
            sums=self.sums(scores),
            pvalues=by_maxima["pvalues"],
            pvalues_of_sums=by_sums["pvalues"],
            pvalues_adjusted=by_maxima["pvalues_adjusted"],
            pvalues_adjusted_of_sums=by_sums["pvalues_adjusted"],
            pvalues_max=by_maxima["pvalues_max"],
            pvalues_max_of_sums=by_sums["pvalues_max"],
            features=self.members,
        )
