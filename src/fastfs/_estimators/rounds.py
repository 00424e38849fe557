"""Rounds: scores of a table's columns, one set of columns after another."""

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Columns = npt.NDArray[np.int64]


class Rounds(Protocol):
    """Scorer of one table and one target, called with one set of columns after another."""

    def score_columns(self, columns: Columns) -> npt.NDArray[np.float64]:
        """Return a finite score for each of these columns (ascending), computed without all other columns."""


class RoundsMaker(ABC):
    """Base of estimators with rounds that are cheaper than fits.

    Work that doesn't depend on the columns is done once, and distances that change little from round to round are kept.
    """

    @abstractmethod
    def _make_rounds(self, X: Any, y: Any, **fit_params: Any) -> Rounds:
        """Return the rounds for a table and a target; the estimator may be changed."""
