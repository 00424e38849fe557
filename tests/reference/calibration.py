"""The oracle of csrc/inference/null.cpp in NumPy: moments of scores under permuted labels, ties, step-down p-values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._types import Floats, Integers

# Scores that differ by less than the share TIE are ties, because a permutation that gives an equal partition of the
# samples may sum it in another order. Scores that differ by less than ROUNDING times the largest score are ties too: a
# feature without any relation to other features has scores around 1e-17 instead of 0.
TIE = 1e-9
ROUNDING = 1e-14


def tie_limits(scores: Floats) -> Floats:
    """Return for each score the smallest value that counts as at least as large."""
    limits: Floats = scores - np.maximum(TIE * np.abs(scores), ROUNDING * np.abs(scores).max())
    return limits


@dataclass(frozen=True)
class Scale:
    """Centers and spreads of the features' scores; a score that never changes has an infinite spread."""

    center: Floats
    spread: Floats

    def standardize(self, scores: Floats) -> Floats:
        """Return the scores minus their centers, divided by their spreads."""
        standardized: Floats = (scores - self.center) / self.spread
        return standardized

    def standardized_limits(self, scores: Floats) -> Floats:
        """Return for each score the smallest standardized value that counts as at least as large."""
        z = self.standardize(scores)
        limits: Floats = z - np.maximum(TIE * np.abs(z), (scores - tie_limits(scores)) / self.spread)
        return limits


class Moments:
    """Mean, standard deviation and skewness of each feature's scores, from rows added one by one.

    Sums are taken about the first row, in the order of the rows.
    """

    def __init__(self, true: Floats) -> None:
        self.true = true
        self.n = 0
        self._sums = np.zeros((3, len(true)))
        self._largest = np.abs(true)

    def add_scores(self, scores: Floats) -> None:
        """Add the scores under one permutation."""
        if self.n == 0:
            self._about = scores
        self.n += 1
        power = difference = scores - self._about
        for total in self._sums:
            total += power
            power = power * difference
        np.maximum(self._largest, np.abs(scores), out=self._largest)

    def make_scale(self, *, with_true: bool) -> Scale:
        """Return the means and standard deviations of the rows, with the true scores as another row if asked for."""
        first, second, _ = self._sums
        n = self.n + with_true
        if with_true:
            difference = self.true - self._about
            first, second = first + difference, second + difference**2
        mean = first / n
        sd = np.sqrt(np.maximum(second / n - mean**2, 0))
        constant = sd <= np.maximum(TIE * self._largest, ROUNDING * np.abs(self.true).max())
        return Scale(self._about + mean, np.where(constant, np.inf, sd))

    def mean_scores(self) -> Floats:
        """Return the means of the rows, without the true scores."""
        means: Floats = self._about + self._sums[0] / self.n
        return means

    def score_skewness(self) -> Floats:
        """Return the skewness of the rows, without the true scores; 0 for scores that never change."""
        first, second, third = self._sums / self.n
        spread = self.make_scale(with_true=False).spread
        skewness: Floats = (third - 3 * first * second + 2 * first**3) / spread**3
        return skewness


class StepDown:
    """Family-wise p-values of Westfall and Young: each feature is compared with the largest of the features not
    above it.
    """

    def __init__(self, true: Floats, limits: Floats) -> None:
        self._order: Integers = np.argsort(-true, kind="stable")[::-1]
        self._limits = limits[self._order]
        self._counts = np.ones(len(true))  # the true scores reach themselves
        self._n = 1

    def add_scores(self, scores: Floats) -> None:
        """Count the features that the scores under one permutation reach."""
        self._counts += np.maximum.accumulate(scores[self._order]) >= self._limits
        self._n += 1

    def step_down_pvalues(self) -> Floats:
        """Return the p-value of each feature."""
        pvalues = np.empty(len(self._counts))
        pvalues[self._order] = np.maximum.accumulate((self._counts / self._n)[::-1])[::-1]
        return pvalues


def mean_correlation(scores: Sequence[Floats | None], *, ranks: bool = True) -> float:
    """Return the mean of Spearman's (or Pearson's) correlation over all pairs, from the sum of standardised ranks
    (scores).

    The result is NaN if some scores are missing or all equal.
    """
    from scipy.stats import rankdata

    total: Any = 0.0
    for one in scores:
        if one is None or np.all(one == one[0]):
            return float("nan")
        values = rankdata(one) if ranks else one / np.abs(one).max()  # scaled so that squares don't overflow or vanish
        values = values - values.mean()
        total = total + values / np.linalg.norm(values)
    M = len(scores)
    return float((total @ total - M) / (M * (M - 1)))
