"""Shuffled-label twin: the ranking of a method under permuted labels, next to its true ranking."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fastfs._inference.permutation import silence_warnings
from fastfs._inference.scorers import make_scorer, require_finite
from fastfs._inference.stability import compare_selections
from fastfs._inputs.design import Design
from fastfs._inputs.entry import entry
from fastfs._inputs.values import as_values
from fastfs._machine.params import RANDOM_STATE, as_int, as_seed, rank_features
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import warn
from fastfs._types import Floats, Integers

# Largest number of draws until a labeling isn't the true one, which covariates may make far more likely than others.
_MAX_DRAWS = 100


@result_class
class TwinResult(DrawnResult):
    """Result of :func:`fastfs.shuffled_twin`.

    Parameters
    ----------
    scores, shuffled_scores : ndarray of shape (n_features,)
        Scores under the true and under the shuffled labels. Larger is better.
    ranking, shuffled_ranking : ndarray of shape (n_features,)
        Rankings by these scores; 1 is best.
    rank_correlation : float
        Spearman's, between the scores: near 1, the method ranks features much as without labels. NaN if all scores are
        equal.
    overlap : float
        How many features are among the `top` best under both labels; by chance, top^2 / n_features. Where several
        features share the last place, each counts in part.
    top : int
    design : str
        Units that were shuffled.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 40)) * np.exp(np.linspace(-1, 1, 40))  # variances differ
    >>> result = fastfs.shuffled_twin(fastfs.ManiFeSt(), X, np.arange(60) % 2)  # labels say nothing
    >>> result.rank_correlation > 0.5, result.design
    (True, '30 + 30 samples')
    """

    scores: Floats
    shuffled_scores: Floats
    ranking: Integers
    shuffled_ranking: Integers
    rank_correlation: float
    overlap: float
    top: int
    design: str

    _picture = "shuffled_twin"
    _columns: ClassVar = {
        "rank": "ranking",
        "score": "scores",
        "shuffled_rank": "shuffled_ranking",
        "shuffled_score": "shuffled_scores",
    }


@entry
def shuffled_twin(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    blocks: Any = None,
    groups: Any = None,
    covariates: Any = None,
    params: Mapping[str, Any] | None = None,
    top: int = 10,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
) -> TwinResult:
    """Score the features again with shuffled labels, to see what a ranking owes to the labels.

    If the best features stay the same, the method has found structure of X that has nothing to do with the labels.

    Parameters
    ----------
    estimator : estimator
        Any of this library, or another one that has ``scores_`` once fitted, larger being better. It isn't changed.
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, or what else the estimator takes.
    blocks, groups, covariates, params
        Limits of the shuffling, and arguments of ``fit``, as for :func:`fastfs.permutation_test`.
    top : int
        How many of the best features `overlap` compares.
    random_state : int, Generator, RandomState or None
        Of the shuffled labels; the estimator has another one.
    <rng>

    Returns
    -------
    TwinResult

    Raises
    ------
    ValueError
        y is None; X is an iterator; `top` is above the number of features; the design allows no other labels, or is
        none (see :func:`fastfs.permutation_test`); scores that aren't finite; what the estimator raises.

    Warns
    -----
    fastfs.DataWarning
        The design allows one other labeling only; what the estimator warns of under the true labels.

    Notes
    -----
    One labeling that isn't the true one, so `rank_correlation` varies with `random_state`; of many features, little.
    ``label_free`` of :func:`fastfs.permutation_test` compares the scores with their mean under all its labelings.

    A high correlation doesn't prove a ranking wrong: features that belong together may be related to the labels, too.
    It means that the ranking isn't evidence for that.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60) % 2
    >>> X[:, :3] += 2 * y[:, None]
    >>> result = fastfs.shuffled_twin(fastfs.ReliefF(), X, y, top=3)
    >>> np.flatnonzero(result.ranking <= 3).tolist(), result.overlap, abs(result.rank_correlation) < 0.5
    ([0, 1, 2], 0.0, True)
    """
    from sklearn.base import clone

    top = as_int("top", top, low=1)
    seed = as_seed(random_state)
    if y is None:
        raise ValueError("y must hold the samples' labels, which a twin shuffles; got None")
    if hasattr(X, "__next__"):
        raise ValueError(
            "X must be an array, since a twin reads it again; got an iterator, which can be read once: stack its blocks"
        )
    model = clone(estimator)
    labels, scorer = make_scorer(model, X, y, params)
    names = as_values(y).reshape(-1) if labels.dtype.kind == "i" else None
    design = Design(labels, blocks, groups, covariates, names=names, seed=seed)
    with silence_warnings():  # its warnings are about p-values
        design.check_labelings()
    if design.n_distinct == 2:
        warn(
            [
                f"only one other labeling is possible ({design.description}), which exchanges two classes and so "
                "hardly changes scores: a high rank correlation says nothing here"
            ]
        )
    draws = (design.labelings(number, 1)[0] for number in range(_MAX_DRAWS))
    shuffled = next((labeling for labeling in draws if not np.array_equal(labeling, labels)), None)
    if shuffled is None:
        raise ValueError(
            f"{_MAX_DRAWS} draws gave the true labels only: the covariates nearly determine them, so give fewer "
            "covariates"
        )
    ((scores, _),) = scorer([labels])
    with silence_warnings():
        ((shuffled_scores, _),) = scorer([shuffled])
    require_finite(estimator, scores)
    require_finite(estimator, shuffled_scores)
    if top > len(scores):
        raise ValueError(f"top must be at most {len(scores)}, the number of features; got {top}")
    return TwinResult(
        scores=scores,
        shuffled_scores=shuffled_scores,
        ranking=rank_features(scores),
        shuffled_ranking=rank_features(shuffled_scores),
        rank_correlation=compare_selections(len(scores), None, [scores, shuffled_scores])["relevance_correlation"],
        overlap=float(_among_the_best(scores, top) @ _among_the_best(shuffled_scores, top)),
        top=top,
        design=design.description,
    )


def _among_the_best(scores: Floats, top: int) -> Floats:
    """Return 1 for features among the best, and a share of 1 for features that tie for the last places."""
    limit = np.partition(scores, -top)[-top]
    tied = scores == limit
    share = (top - np.count_nonzero(scores > limit)) / np.count_nonzero(tied)
    shares: Floats = (scores > limit) + share * tied
    return shares
