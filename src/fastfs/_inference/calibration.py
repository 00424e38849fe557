"""Scores under permuted labels as a scale for the true ones: moments, ties, step-down p-values, correlation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._types import Floats, Integers

# Scores that differ by less than this share are ties: a partition of the samples that comes back as itself may be
# summed in another order. So are those that differ by less than rounding leaves of the largest one: a feature without
# any relation to the others has scores around 1e-17 in place of 0.
TIE = 1e-9
ROUNDING = 1e-14


def reach(scores: Floats) -> Floats:
    """Return what another score must reach to be as large as each of these."""
    limits: Floats = scores - np.maximum(TIE * np.abs(scores), ROUNDING * np.abs(scores).max())
    return limits


@dataclass(frozen=True)
class Scale:
    """Centers and spreads of the features' scores; the spread of a score that never changes is infinite."""

    center: Floats
    spread: Floats

    def of(self, scores: Floats) -> Floats:
        found: Floats = (scores - self.center) / self.spread
        return found

    def reach(self, scores: Floats) -> Floats:
        """Return what another standardized score must reach to be as large as each of these scores."""
        z = self.of(scores)
        limits: Floats = z - np.maximum(TIE * np.abs(z), (scores - reach(scores)) / self.spread)
        return limits


class Moments:
    """Mean, standard deviation and skewness of each feature's scores, from rows that come one by one.

    Sums are taken about the first row, in the order of the rows.
    """

    def __init__(self, true: Floats) -> None:
        self.true = true
        self.n = 0
        self._sums = np.zeros((3, len(true)))
        self._largest = np.abs(true)

    def add(self, scores: Floats) -> None:
        if self.n == 0:
            self._about = scores
        self.n += 1
        power = difference = scores - self._about
        for total in self._sums:
            total += power
            power = power * difference
        np.maximum(self._largest, np.abs(scores), out=self._largest)

    def scale(self, *, with_true: bool) -> Scale:
        """Return means and standard deviations of the rows, and the true scores among them if asked for."""
        first, second, _ = self._sums
        n = self.n + with_true
        if with_true:
            difference = self.true - self._about
            first, second = first + difference, second + difference**2
        mean = first / n
        sd = np.sqrt(np.maximum(second / n - mean**2, 0))
        constant = sd <= np.maximum(TIE * self._largest, ROUNDING * np.abs(self.true).max())
        return Scale(self._about + mean, np.where(constant, np.inf, sd))

    def mean(self) -> Floats:
        """Return the means of the rows without the true scores."""
        found: Floats = self._about + self._sums[0] / self.n
        return found

    def skewness(self) -> Floats:
        """Return the skewness of the rows without the true scores; 0 for scores that never change."""
        first, second, third = self._sums / self.n
        spread = self.scale(with_true=False).spread
        found: Floats = (third - 3 * first * second + 2 * first**3) / spread**3
        return found


class StepDown:
    """Family-wise p-values of Westfall and Young: each feature against the largest of those that aren't above it."""

    def __init__(self, true: Floats, limits: Floats) -> None:
        self._order: Integers = np.argsort(-true, kind="stable")[::-1]
        self._limits = limits[self._order]
        self._counts = np.ones(len(true))  # the true scores reach themselves
        self._n = 1

    def add(self, scores: Floats) -> None:
        self._counts += np.maximum.accumulate(scores[self._order]) >= self._limits
        self._n += 1

    def pvalues(self) -> Floats:
        found = np.empty(len(self._counts))
        found[self._order] = np.maximum.accumulate((self._counts / self._n)[::-1])[::-1]
        return found


def mean_correlation(scores: Sequence[Floats | None], *, ranks: bool = True) -> float:
    """Mean of Spearman's correlation over all pairs, or of Pearson's, from the sum of the standardised ranks or scores.

    NaN if some scores are missing or all equal.
    """
    from scipy.stats import rankdata

    total: Any = 0.0
    for one in scores:
        if one is None or np.all(one == one[0]):
            return float("nan")
        values = rankdata(one) if ranks else one / np.abs(one).max()  # whose squares neither overflow nor vanish
        values = values - values.mean()
        total = total + values / np.linalg.norm(values)
    M = len(scores)
    return float((total @ total - M) / (M * (M - 1)))
