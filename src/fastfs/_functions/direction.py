"""Direction of features: in which classes they are high or low."""

from typing import Any

import numpy as np

from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.storage import by_columns, dense
from fastfs._inputs.targets import read_target
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run
from fastfs._types import Array, Floats, Integers

_BLOCK = 1 << 22  # values of X that are sorted together


@result_class
class Direction(DrawnResult):
    """Result of :func:`fastfs.direction`.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,) or None
        The rows of the other arrays; None if y holds numbers, with which these have one row.
    effects : ndarray of shape (n_classes, n_features)
        Cliff's delta of each class against the rest: the probability that a sample of the class has a larger value than
        one of the rest, less the probability of a smaller one; in [-1, 1]. With numbers Spearman's rank correlation. 0
        if there are no values to compare.
    median_differences : ndarray of shape (n_classes, n_features)
        Median in the class less the median of the rest, in the unit of the feature. With numbers, the samples with y
        above its median against the others. NaN if a side has no values.

    Examples
    --------
    >>> import fastfs
    >>> result = fastfs.direction([[1.0, 7], [2, 5], [3, 1], [4, 2]], ["a", "a", "b", "b"])
    >>> result.describe(), result.effects.tolist()
    (['high in b', 'high in a'], [[-1.0, 1.0], [1.0, -1.0]])
    """

    classes: Array | None
    effects: Floats
    median_differences: Floats

    _picture = "ranking"

    def _table(self) -> dict[str, Any]:
        return {"feature": np.arange(self.effects.shape[1]), **self.columns()}

    def _best(self, table: dict[str, Any]) -> Integers:
        return super()._best({"score": np.abs(table["effect"])})

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        return np.abs(self.columns()["effect"]), {"direction": self}

    def strongest(self) -> Integers:
        """Return the row with the largest effect of each feature; of two opposite ones the positive.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        # Rounding must not decide between two classes, which have opposite effects.
        sizes = np.round(np.abs(self.effects), 12) + 1e-13 * (self.effects > 0)
        rows: Integers = np.argmax(sizes, axis=0)
        return rows

    def columns(self) -> dict[str, list[Any]]:
        """Return columns of a table with a value for each feature: `describe()`, and the values of `strongest()`.

        Returns
        -------
        dict of str to list
        """
        rows = self.strongest()
        values = {
            "effect": self.effects,
            "median_difference": self.median_differences,
        }
        picked = {name: array[rows, np.arange(len(rows))].tolist() for name, array in values.items()}
        return {"direction": self.describe(), **picked}

    def describe(self) -> list[str]:
        """Return words for each feature, such as "high in case", or "falls" for numbers; empty without an effect.

        Returns
        -------
        list of str
        """
        rows = self.strongest()
        effects = self.effects[rows, np.arange(len(rows))].tolist()
        if self.classes is None:
            return ["rises" if effect > 0 else "falls" if effect < 0 else "" for effect in effects]
        names = [str(name) for name in self.classes.tolist()]
        return [
            f"{'high' if effect > 0 else 'low'} in {names[row]}" if effect else ""
            for row, effect in zip(rows.tolist(), effects, strict=True)
        ]


@entry
def direction(X: Any, y: Any, *, max_memory: int | str | None = None) -> Direction:
    """Return for each class whether a feature is high or low there.

    Scores have no sign. The direction is that of the feature by itself, also if a method found it by its relations to
    others: a feature that matters through an interaction alone has effects near 0.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features), or Genotypes
        May have missing values (NaN), which don't count.
    y : array-like of shape (n_samples,)
        Labels or numbers, told apart as by :meth:`fastfs.ProjSe.fit`.
    max_memory : int, str or None
        As for :func:`fastfs.affinity`.

    Returns
    -------
    Direction

    Raises
    ------
    ValueError
        Infinity in X; several columns of numbers in y; fewer than two classes; X and y of different lengths.

    References
    ----------
    .. [1] N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological Bulletin 114,
       1993.

    Examples
    --------
    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> best = fastfs.ProjSe(2).fit(X, y).selected_
    >>> result = fastfs.direction(X[:, best], y)
    >>> result.describe(), result.effects.round(1)[::2, 0].tolist()
    (['low in 2', 'low in 1'], [0.9, -1.0])
    """
    run = Run(0, max_memory)
    X = as_matrix(X, run)
    n_samples, n_features = X.shape
    target = read_target(y, X.shape, run)
    if target.classes is None and (target.numbers is None or target.numbers.shape[1] != 1):
        n = 0 if target.numbers is None else target.numbers.shape[1]
        raise ValueError(f"y must hold a label or one number for each sample; got {n} columns: give one at a time")
    if target.classes is None:
        numbers = np.asarray(dense(target.numbers), dtype=np.float64)[:, 0]
        members = (numbers > np.median(numbers))[None, :]
    else:
        numbers = None
        members = target.labels == np.arange(len(target.classes))[:, None]
    effects, differences = np.zeros((2, len(members), n_features))
    step = max(1, _BLOCK // max(1, n_samples))
    run.reserve_memory(64 * n_samples * min(step, n_features), "sorted columns of X", "give fewer samples")
    X = by_columns(X)
    for begin in range(0, n_features, step):
        columns = slice(begin, begin + step)
        block = np.asarray(dense(X[:, columns]), dtype=np.float64)
        if np.isinf(block).any():
            row, column = np.argwhere(np.isinf(block))[0].tolist()
            raise ValueError(f"X must not have infinity; got it in row {row}, column {begin + column}: replace it")
        missing = np.isnan(block)
        if numbers is None:
            effects[:, columns] = _dominance(block, missing, members)
        else:
            effects[0, columns] = _rank_correlations(block, missing, numbers)
        for row, inside in enumerate(members):
            differences[row, columns] = _medians(block[inside]) - _medians(block[~inside])
    return Direction(target.classes, effects, differences)


def _ranks(block: Floats) -> Floats:
    """Return ranks from 1 within each column, tied ones averaged; those of NaN are the last."""
    order = np.argsort(block, axis=0, kind="stable")
    ordered = np.take_along_axis(block, order, axis=0)
    places = np.arange(len(block))[:, None]
    begins, ends = np.ones((2, *block.shape), dtype=bool)
    begins[1:] = ends[:-1] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=0)
    last = np.minimum.accumulate(np.where(ends, places, len(block))[::-1], axis=0)[::-1]
    ranks = np.empty_like(block)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    return ranks


def _dominance(block: Floats, missing: Array, members: Array) -> Floats:
    """Return Cliff's delta of each class against the rest, from the rank sums of Mann and Whitney.

    It is 0 where a class or its rest has no value.
    """
    present = (~missing).astype(np.float64)
    sums = members.astype(np.float64) @ (_ranks(block) * present)
    inside = members.astype(np.float64) @ present
    pairs = inside * (present.sum(axis=0) - inside)
    wins = sums - inside * (inside + 1) / 2
    deltas: Floats = np.where(pairs > 0, 2 * wins / np.maximum(pairs, 1) - 1, 0.0)
    return deltas


def _rank_correlations(block: Floats, missing: Array, numbers: Floats) -> Floats:
    """Return Spearman's correlation of each column with numbers, over the samples that have both; 0 if undefined."""
    correlations = np.zeros(block.shape[1])
    is_gappy = missing.any(axis=0)
    parts = [(np.flatnonzero(~is_gappy), np.ones(len(block), dtype=bool))]
    parts += [(np.array([column]), ~missing[:, column]) for column in np.flatnonzero(is_gappy)]
    for columns, rows in parts:
        if rows.sum() < 2:
            continue
        ranks, others = _ranks(block[np.ix_(rows, columns)]), _ranks(numbers[rows, None])[:, 0]
        ranks -= ranks.mean(axis=0)
        others -= others.mean()
        norms = np.linalg.norm(ranks, axis=0) * np.linalg.norm(others)
        correlations[columns] = np.where(norms > 0, others @ ranks / np.where(norms > 0, norms, 1.0), 0.0)
    return np.clip(correlations, -1, 1)


def _medians(rows: Floats) -> Floats:
    """Return the median of each column without missing values; NaN without any other."""
    medians: Floats = np.median(rows, axis=0) if len(rows) else np.full(rows.shape[1], np.nan)
    for column in np.flatnonzero(np.isnan(medians)):
        present = rows[~np.isnan(rows[:, column]), column]
        medians[column] = np.median(present) if len(present) else np.nan
    return medians
