"""Iterative Relief around an estimator of the RELIEF family."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from fastfs._estimators.relief import _ReliefRounds
from fastfs._estimators.selector import estimator_class
from fastfs._estimators.wrapper import _Wrapper
from fastfs._machine.params import as_float, as_int, as_not_negative, count_selected, rank_features
from fastfs._machine.run import as_progress, warn
from fastfs._types import Progress


@estimator_class
class IterativeRelief(_Wrapper):
    """Select features by iterative Relief: let the scores of each round weigh the distances of the next.

    Irrelevant features blur the distances of the RELIEF family. Each round moves the weight of every feature towards
    its score. In contrast to :class:`fastfs.TuRF`, no feature is taken out for good.

    Parameters
    ----------
    estimator : estimator
        :class:`fastfs.ReliefF`, :class:`fastfs.MultiSURF` or any other of the RELIEF family but
        :class:`fastfs.Relief`. It isn't changed. Its own `n_features_to_select` changes no score.
    <n_features_to_select>
    n_iter : int
        The most rounds.
    rate : float
        How far the weights move in a round, in (0, 1]: with 1, they become the scores of the round, negative ones as 0,
        over the largest score.
    tol : float
        The last round is the one in which no weight moves by this or more.
    verbose : bool or callable
        True prints the rounds on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Scores of the last round: means of plain differences between samples that are near by weighted distances.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    weights_ : ndarray of shape (n_features,), float64
        Between 0 and 1, after the last round: all are 1 in the first, and `scores_` move them once more.
    n_iter_ : int
        Number of rounds.
    <columns>

    Raises
    ------
    ValueError
        A parameter out of range; custom distances, which can't be weighed by features; errors of the estimator.
    TypeError
        The estimator isn't one of the RELIEF family, or is :class:`fastfs.Relief`; a parameter is of another type; X is
        an iterator.

    Warns
    -----
    fastfs.DataWarning
        No feature scores above 0 in a round, which is then the last: the weights stay as they are. Warnings that the
        estimator warns of.

    Notes
    -----
    The time of `n_iter` fits of the estimator to all features.

    References
    ----------
    .. [1] B. Draper, C. Kaito, J. Bins, "Iterative Relief", CVPR Workshop 2003.
    .. [2] R. J. Urbanowicz, M. Meeker, W. La Cava, R. S. Olson, J. H. Moore, "Relief-based feature selection:
       Introduction and review", Journal of Biomedical Informatics 85, 2018.

    <exclusive_or_of_many>
    >>> selector = fastfs.IterativeRelief(fastfs.MultiSURF(), n_features_to_select=2, n_iter=20).fit(X, y)
    >>> selector.get_support(indices=True).tolist(), selector.weights_.argsort()[-2:].tolist()
    ([0, 1], [1, 0])
    """

    estimator: Any
    _: KW_ONLY
    n_features_to_select: int | float | str | None = None
    n_iter: int = 10
    rate: float = 0.1
    tol: float = 1e-4
    verbose: bool | Progress = False

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Score the features of X in rounds; the scores of a round move the weights in the distances of the next.

        The rounds end early if all weights move by less than `tol`, or, with a warning, if no score is above 0. Raise
        TypeError for an estimator that can't weigh features in its distances, ValueError for a `rate` not in (0, 1].
        Sets `scores_` and `ranking_` of the last round, `weights_` and `n_iter_`.

        <fit_of_a_wrapper>
        """
        with self._all_or_nothing():
            X = self._prepare_table(X)
            n_features = X.shape[1]
            count_selected(self.n_features_to_select, n_features)  # a bad number is refused before the work
            n_iter, tol = as_int("n_iter", self.n_iter, low=1), as_not_negative("tol", self.tol)
            rate = as_float("rate", self.rate)
            if not 0 < rate <= 1:
                raise ValueError(f"rate must be above 0 and at most 1; got {self.rate}")
            report = as_progress(self.verbose)
            rounds = self._inner_rounds(X, y, fit_params)
            if not isinstance(rounds, _ReliefRounds):
                raise TypeError(
                    "IterativeRelief needs an estimator that can weigh the features in its distances, but "
                    f"{type(self.estimator).__name__} can't: give one of the RELIEF family other than Relief, such as "
                    "MultiSURF()"
                )
            columns, weights = np.arange(n_features), np.ones(n_features)
            for number in range(1, n_iter + 1):
                scores = rounds.score_columns(columns, weights)
                if report is not None:
                    report(f"round {number} of {n_iter}", number / n_iter)
                best = scores.max()
                if best <= 0:
                    warn(
                        [
                            f"no feature scores above 0 in round {number}, so the weights stay as they were before it: "
                            "check y, or take another estimator"
                        ]
                    )
                    break
                moves = rate * (np.maximum(scores, 0) / best - weights)
                weights = weights + moves
                if np.abs(moves).max() < tol:
                    break
            self.scores_ = scores
            self.ranking_ = rank_features(scores)
            self.weights_ = weights
            self.n_iter_ = number
        return self
