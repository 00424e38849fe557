"""TuRF around any scorer."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from fastfs._estimators.selector import estimator_class
from fastfs._estimators.wrapper import _Wrapper
from fastfs._machine.errors import within
from fastfs._machine.params import as_float, as_int, count_selected
from fastfs._machine.run import as_progress
from fastfs._types import Progress


@estimator_class
class TuRF(_Wrapper):
    """Select features by TuRF: take out the worst ones, score those that are left again, and so on.

    Irrelevant features blur the distances of the RELIEF family. Each round scores the features that are left and takes
    out those with the lowest scores, so that the distances of the next round say more. Unlike scikit-learn's RFE it
    needs no model with coefficients: any estimator that has ``scores_`` once fitted will do.

    Parameters
    ----------
    estimator : estimator
        Such as :class:`fastfs.MultiSURF`, or :class:`fastfs.VLS` around it. It isn't changed. Its own
        `n_features_to_select` changes no score; with fewer features left than that, all of them are meant.
    <n_features_to_select>
    step : int or float
        Features to take out each round: a number, or a share of all features of X, in (0, 1). The last round takes out
        the number that is needed.
    verbose : bool or callable
        True prints the rounds on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        Features that were kept have their scores in the last round. Features that were removed have tiers below the
        smallest of these scores: lower by 1 % of their range for features of the last removal, by 2 % for features of
        the removal before, and so on. The scores that were measured are in `score_at_removal_`.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best: the features kept by score; then the others, from the last round to the first, by score.
    removed_at_ : ndarray of shape (n_features,), int64
        The 1-based round that took the feature out; 0: kept.
    score_at_removal_ : ndarray of shape (n_features,), float64
        The score that it had then; NaN: kept. Scores of different rounds rest on different distances.
    <columns>

    Raises
    ------
    ValueError
        `step` isn't a share in (0, 1), or would take out all features in one round; the estimator gives no ``scores_``,
        or scores that aren't finite; what the estimator raises, with the round.
    TypeError
        A parameter is of another type; X is an iterator.

    Notes
    -----
    The time of about 1 / (2 step) fits of the estimator to all features. Among equal scores, the feature with the
    highest column goes first.

    References
    ----------
    .. [1] J. H. Moore, B. C. White, "Tuning ReliefF for genome-wide genetic analysis", EvoBIO 2007.

    <exclusive_or_of_many>
    >>> selector = fastfs.TuRF(fastfs.MultiSURF(), n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True).tolist(), selector.removed_at_.max().item()
    ([0, 1], 10)
    """

    estimator: Any
    _: KW_ONLY
    n_features_to_select: int | float | str | None = None
    step: int | float = 0.1
    verbose: bool | Progress = False

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Score the features of X in rounds, each without the `step` features that scored lowest in the last.

        A removed feature scores below all that are kept, and the lower the earlier it went; its last score is in
        `score_at_removal_`.

        <fit_of_a_wrapper>
        """
        with self._all_or_nothing():
            X = self._prepare_table(X)
            n_features = X.shape[1]
            n_kept = count_selected(self.n_features_to_select, n_features)
            step = _n_to_remove(self.step, n_features)
            left = [*range(n_features, n_kept, -step), n_kept]  # features of each round
            report = as_progress(self.verbose)
            rounds = self._inner_rounds(X, y, fit_params)
            columns = np.arange(n_features)
            scores = np.empty(n_features)  # the last ones of each feature
            removed_at = np.zeros(n_features, dtype=np.int64)
            for number, n_next in enumerate([*left[1:], n_kept], 1):
                with within("round", number):
                    scores[columns] = rounds.score_columns(columns)
                order = columns[np.argsort(-scores[columns], kind="stable")]
                removed_at[order[n_next:]] = number
                columns = np.sort(order[:n_next])
                if report is not None:
                    report(f"round {number} of {len(left)}", sum(left[:number]) / sum(left))
            kept = removed_at == 0
            rounds_since = np.where(kept, 0, len(left) - removed_at)
            lowest, spread = scores[kept].min(), np.ptp(scores[kept])
            self.scores_ = np.where(kept, scores, lowest - 0.01 * (spread or 1.0) * rounds_since)
            self.ranking_ = np.empty(n_features, dtype=np.int64)
            self.ranking_[np.lexsort((-scores, rounds_since))] = np.arange(1, n_features + 1)
            self.removed_at_ = removed_at
            self.score_at_removal_ = np.where(kept, np.nan, scores)
        return self


def _n_to_remove(step: Any, n_features: int) -> int:
    """Return how many features to take out each round: `step`, or that share of all; raise ValueError for all."""
    if isinstance(step, float | np.floating):
        if not 0 < as_float("step", step) < 1:
            raise ValueError(f"step as a share of the features must lie between 0 and 1; got {step}")
        return max(1, int(step * n_features))
    number = as_int("step", step, low=1)
    if number >= n_features:
        raise ValueError(
            f"step must be below the number of features, {n_features}; got {number}, which would take out all of "
            "them in one round: give fewer, or a share such as 0.1"
        )
    return number
