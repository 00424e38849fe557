"""Statistics of groups of cells, from one pass over them, and what follows from these alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fastfs._inference.scorers import Labels, LabelScorer, Scorer
from fastfs._inputs.source import Source
from fastfs._inputs.streams import sum_groups
from fastfs._types import Array
from fastfs.tl._adata import CellMatrix


def group_means(X: Any, groups: Array, n_groups: int) -> Array:
    """Return the means of the genes in each group."""
    total = np.zeros((n_groups, X.shape[1]))
    for first, rows in Source.from_data(X).blocks():
        total += sum_groups(rows, groups[first : first + rows.shape[0]], n_groups)
    group_means: Array = total / np.bincount(groups)[:, None]
    return group_means


@dataclass(frozen=True)
class UnitSums:
    """Statistics of units of cells, from which an estimator fits any comparison of the units."""

    statistics: Any
    units: Array  # unit of each cell: its group, or the donor or sample that moves as a whole
    group_of_unit: Array

    @classmethod
    def read_units(cls, model: Any, source: CellMatrix, cells: Array, groups: Array, wholes: Array | None) -> UnitSums:
        """Read the cells, and keep the estimator's statistics of each unit."""
        units = groups if wholes is None else wholes
        group_of_unit = groups[np.unique(units, return_index=True)[1]]
        every = len(cells) == source.X.shape[0]
        statistics = model._sum_groups(source.X, units, len(group_of_unit), None if every else cells, source.genes)
        return cls(statistics, units, group_of_unit)

    def select_cells(self, kept: Array) -> UnitSums:
        """Return the statistics with the units of some of the cells."""
        return UnitSums(self.statistics, self.units[kept], self.group_of_unit)

    def means_of_groups(self) -> Array:
        """Return the means of the genes in each group."""
        if np.array_equal(self.group_of_unit, np.arange(len(self.group_of_unit))):
            means: Array = self.statistics.means
            return means
        sizes = np.bincount(self.units)
        parts = [self.group_of_unit == group for group in range(self.group_of_unit.max() + 1)]
        return np.array([np.average(self.statistics.means[part], axis=0, weights=sizes[part]) for part in parts])


class ModelOfSums(LabelScorer):
    """An estimator that fits from sums over units of cells, with the scores of all groups in one row if it has them."""

    def __init__(self, model: Any, sums: Any, ignores_names: bool) -> None:
        self.model, self.sums, self._ignores_names = model, sums, ignores_names

    def _make_scorer(self, _: Any, y: Any) -> tuple[Labels, Scorer]:
        """Return the groups as codes, and a function that yields (scores, largest score) of labelings of units from
        their sums.
        """
        names, labels = np.unique(y, return_inverse=True)
        units, first = np.unique(self.sums.units, return_index=True)

        def score_labelings(labelings: Sequence[Array]) -> Iterator[tuple[Array, float]]:
            of_unit = np.full(len(self.sums.group_of_unit), -1)
            for labeling in labelings:
                of_unit[units] = labeling[first]
                fitted = self.model._fit_groups(self.sums.statistics, of_unit, names)
                scores = np.array(getattr(fitted, "class_scores_", fitted.scores_), dtype=np.float64).reshape(-1)
                yield scores, float(scores.max())

        return labels, score_labelings

    def __sklearn_clone__(self) -> ModelOfSums:
        return ModelOfSums(clone(self.model), self.sums, self._ignores_names)
