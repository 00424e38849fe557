"""Consensus: one ranking from the scores of several methods."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fastfs._inputs.entry import entry
from fastfs._machine.params import check_choice, rank_features
from fastfs._machine.results import DrawnResult, result_class
from fastfs._types import Array, Floats, Integers


@result_class
class ConsensusResult(DrawnResult):
    """Result of :func:`fastfs.consensus`.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Larger is better. "mean": the mean of 1 - (rank - 1) / (n_features - 1) over the methods, so 1 if a feature is
        first everywhere. "rra": minus the decimal logarithm of `pvalues`.
    ranking : ndarray of shape (n_features,)
        1 is best.
    pvalues : ndarray of shape (n_features,) or None
        "rra": of the hypothesis that the feature's ranks are those of independent random orders, corrected for the
        number of methods but not for that of features. Methods that look at the same data are not independent, so read
        it as a score.
    ranks : ndarray of shape (n_methods, n_features)
        Of each method, ties at their mean.
    names : list of str
        Of the methods.

    Examples
    --------
    >>> import fastfs
    >>> result = fastfs.consensus({"one": [3.0, 2.0, 1.0], "other": [2.0, 3.0, 0.0]})
    >>> result.scores.tolist(), result.ranking.tolist()
    ([0.75, 0.75, 0.0], [1, 2, 3])
    """

    scores: Floats
    ranking: Integers
    pvalues: Floats | None
    ranks: Floats
    names: list[str]

    _picture = "consensus"
    _columns: ClassVar = {"rank": "ranking", "score": "scores", "pvalue": "pvalues"}

    def _table(self) -> dict[str, Any]:
        by_method = zip(self.names, self.ranks, strict=True)
        return {**super()._table(), **{f"rank_{name}": ranks for name, ranks in by_method}}


@entry
def consensus(methods: Mapping[str, Any], *, method: str = "mean") -> ConsensusResult:
    """Aggregate the rankings of several methods.

    Parameters
    ----------
    methods : mapping of {str: array-like of shape (n_features,) or fitted estimator}
        Scores, larger being better, or estimators with ``ranking_`` or ``scores_``; two or more. Series and estimators
        that know the names of their features are matched by these, and the result has the order of the first of them.
    method : {"mean", "rra"}
        "mean": the mean rank (Borda's count). "rra": robust rank aggregation, which asks for features that are higher
        than chance in some of the methods, and forgives others that don't see them.

    Returns
    -------
    ConsensusResult

    Raises
    ------
    ValueError
        Fewer than two methods; scores of different lengths, of features with different names, or of different orders
        together with some without names; scores that aren't finite.
    TypeError
        `methods` isn't a mapping, or something in it has neither scores nor the shape of them.

    References
    ----------
    .. [1] R. Kolde, S. Laur, P. Adler, J. Vilo, "Robust rank aggregation for gene list integration and meta-analysis",
       Bioinformatics 28(4), 2012.

    Examples
    --------
    >>> import fastfs
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> fitted = {m.__class__.__name__: m.fit(X, y) for m in (fastfs.ReliefF(), fastfs.MultiSURF(), fastfs.IM4E())}
    >>> result = fastfs.consensus(fitted)
    >>> int(result.ranking.argmin()), result.ranks[:, 12].tolist()
    (12, [3.0, 1.0, 2.0])
    """
    check_choice("method", method, ("mean", "rra"))
    if not isinstance(methods, Mapping):
        raise TypeError(f"methods must be a mapping of names to scores or estimators; got {type(methods).__name__}")
    if len(methods) < 2:
        raise ValueError(f"methods must hold two methods or more; got {len(methods)}")
    names = [str(name) for name in methods]
    rows = [_rank_features(name, given) for name, given in methods.items()]
    for name, row in zip(names, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"all methods must score the same features; got {len(rows[0])} for {names[0]} and {len(row)} for {name}"
            )
    ranks = np.array(_in_one_order(methods, rows))
    n_methods, n_features = ranks.shape
    pvalues = None
    if method == "rra":
        from scipy.stats import beta

        ordered = np.sort(ranks / n_features, axis=0)
        place = np.arange(1, n_methods + 1)[:, None]
        # Under random orders, the k-th smallest of n uniform ranks is Beta(k, n - k + 1) distributed.
        rho = beta.cdf(ordered, place, n_methods + 1 - place).min(axis=0)
        pvalues = np.minimum(rho * n_methods, 1)
        scores = -np.log10(pvalues) + 0.0
    else:
        scores = 1 - (ranks.mean(axis=0) - 1) / max(n_features - 1, 1)
    return ConsensusResult(scores, rank_features(scores), pvalues, ranks, names)


def _in_one_order(methods: Mapping[str, Any], rows: list[Array]) -> list[Array]:
    """Return the ranks of each method with its features in the order of the first method that names them.

    Methods without names keep their order. Raise ValueError if a name repeats, the names differ, or orders differ
    while a method has no names.
    """
    named = {name: names for name, given in methods.items() if (names := _feature_names(given)) is not None}
    if not named:
        return rows
    first, order = next(iter(named.items()))
    places = {feature: place for place, feature in enumerate(order)}
    for name, features in named.items():
        unknown = [feature for feature in features if feature not in places]
        if repeated := [feature for feature, count in Counter(features).items() if count > 1]:
            raise ValueError(
                f"each method must name a feature once; got {repeated[0]!r} more than once from {name}: rename one"
            )
        if unknown:
            raise ValueError(
                f"all methods must name the same features; got {unknown[0]!r} from {name}, which {first} lacks: give "
                "all methods the same columns"
            )
        if features != order and len(named) < len(methods):
            unnamed = next(name for name in methods if name not in named)
            raise ValueError(
                f"{name} and {first} have their features in different orders, and {unnamed} names none: give "
                f"pandas.Series({unnamed}, names)"
            )
    return [
        row[np.argsort([places[feature] for feature in named[name]])] if name in named else row
        for name, row in zip(methods, rows, strict=True)
    ]


def _feature_names(scores_or_estimator: Any) -> list[Any] | None:
    """Return the feature names of a Series or of a fit; None if they are only numbers or missing."""
    names = (
        list(scores_or_estimator.index)
        if hasattr(scores_or_estimator, "to_frame")
        else getattr(scores_or_estimator, "feature_names_in_", None)
    )
    return None if names is None or list(names) == list(range(len(names))) else list(names)


def _rank_features(name: str, scores_or_estimator: Any) -> Array:
    """Return the rank of each feature, 1 for the best; ties share their mean rank.

    ProjSe, and a fit without scores, are ranked by `ranking_`. Raise TypeError for objects that aren't 1-D scores,
    ValueError for scores that aren't finite.
    """
    from scipy.stats import rankdata

    if hasattr(scores_or_estimator, "selected_") or (
        hasattr(scores_or_estimator, "ranking_") and not hasattr(scores_or_estimator, "scores_")
    ):
        values = -scores_or_estimator.ranking_  # ProjSe's order of choice isn't that of its scores
    else:
        values = getattr(scores_or_estimator, "scores_", scores_or_estimator)
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be scores or a fitted estimator; got {type(scores_or_estimator).__name__}"
        ) from None
    if values.ndim != 1 or len(values) == 0:
        raise TypeError(
            f"{name} must be scores of all features or a fitted estimator; got {type(scores_or_estimator).__name__}"
        )
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"the scores of {name} must be finite; got {values[bad]} for feature {bad}: leave it out of all methods"
        )
    ranks: Array = rankdata(-values)
    return ranks
