"""VLS around any scorer."""

import itertools
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fastfs._estimators.rounds import Columns, Rounds, RoundsMaker
from fastfs._estimators.selector import estimator_class
from fastfs._estimators.wrapper import _Wrapper
from fastfs._inputs.columns import column_numbers
from fastfs._machine.errors import within
from fastfs._machine.params import as_int, as_seed, check_choice, count_selected, rank_features, some_of
from fastfs._machine.run import as_progress
from fastfs._types import Progress

# Smallest subset by default and in later rounds of TuRF, since few features form few pairs.
FEWEST = 10


@estimator_class
class VLS(_Wrapper, RoundsMaker):
    """Select features by VLS (very large scale): score subsets of the features, and take each feature's best score.

    In a subset, fewer irrelevant features blur the distances of the RELIEF family. Features that matter only together
    must meet in one, so that there are many subsets, or such that all pairs meet.

    Parameters
    ----------
    estimator : estimator
        Any that has ``scores_`` once fitted, such as :class:`fastfs.MultiSURF`. It isn't changed. Its own
        `n_features_to_select` changes no score; in subsets with fewer features than that, all of them are meant.
    <n_features_to_select>
    n_subsets : int
        Number of random subsets. The features are dealt out to subsets until none is left, then dealt out again, so
        that all are in about the same number of subsets.
    subset_size : int or None
        Features of a subset, or the most that it may have with ``subsets="pairs"``; None: a fifth of all, but 10 at
        least. In :class:`fastfs.TuRF` its share of the features stays the same from round to round, but subsets don't
        become smaller than 10 features or, if it is less, than `subset_size`.
    subsets : None, "pairs" or list of array-like
        None: random ones. "pairs": unions of two groups each, out of ceil(2 n_features / subset_size) random groups, so
        that every pair of features meets. Or the subsets themselves, each a mask, column numbers or column names. With
        either, `n_subsets` isn't used.
    random_state : int, Generator, RandomState or None
        Seed of the subsets; the estimator has a separate one.
    verbose : bool or callable
        True prints the subsets on stderr once a fit takes over two seconds; a callable gets ``(step, fraction)``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,), float64
        The largest of the feature's scores in the subsets that hold it. That of noise is above its mean, too, and the
        more so the more subsets there are.
    ranking_ : ndarray of shape (n_features,), int64
        1 is best.
    subsets_ : list of ndarray
        Columns of each subset, ascending. Equal subsets are there, and scored, once.
    n_scored_ : ndarray of shape (n_features,), int64
        Number of subsets that hold the feature.
    pair_probability_ : float
        The probability that two features meet in a random subset, 1 with ``subsets="pairs"``, and NaN if the subsets
        were given. With q = `subset_size` a divisor of A = `n_features`, and `n_subsets` of A / q,
        1 - (1 - (q - 1) / (A - 1))^(n_subsets q / A).
    <columns>

    Raises
    ------
    ValueError
        A subset is larger than X, empty, or names columns that X hasn't; subsets leave features out; the estimator
        gives no ``scores_``, or scores that aren't finite; what the estimator raises, with the subset.
    TypeError
        A parameter is of another type; X is an iterator.

    Notes
    -----
    A fit to each subset. By default these have as many values together as eight fits to all features, with
    ``subsets="pairs"`` nine; what a fit costs apart from that comes on top of it. "pairs" is the better choice in
    :class:`fastfs.TuRF`, which takes out features that don't meet in one of its rounds. The other way round, TuRF runs
    in each subset, and gives the features that it takes out there a tier of TuRF's as score.

    References
    ----------
    .. [1] M. J. Eppstein, P. Haake, "Very large scale ReliefF for genome-wide association analysis", CIBCB 2008.

    <exclusive_or_of_many>
    >>> selector = fastfs.VLS(fastfs.MultiSURF(), n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    >>> len(selector.subsets_), set(selector.n_scored_.tolist()), round(selector.pair_probability_, 2)
    (40, {8}, 0.83)
    """

    estimator: Any
    _: KW_ONLY
    n_features_to_select: int | float | str | None = None
    n_subsets: int = 40
    subset_size: int | None = None
    subsets: Any = None
    random_state: Any = 0
    verbose: bool | Progress = False

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Score subsets of the features of X; each feature gets its highest score over the subsets that hold it.

        Sets `subsets_`, `n_scored_` and `pair_probability_`, too.

        <fit_of_a_wrapper>
        """
        with self._all_or_nothing():
            rounds = self._make_rounds(X, y, **fit_params)
            n_features = self.n_features_in_
            count_selected(self.n_features_to_select, n_features)  # a bad number is refused before the work
            self.scores_ = rounds.score_columns(np.arange(n_features))
            self.ranking_ = rank_features(self.scores_)
            self.subsets_ = rounds.subsets
            self.n_scored_ = np.bincount(np.concatenate(self.subsets_), minlength=n_features)
            self.pair_probability_ = rounds.pair_probability
        return self

    def _make_rounds(self, X: Any, y: Any, **fit_params: Any) -> "_SubsetRounds":
        X = self._prepare_table(X)
        return _SubsetRounds(self, self._inner_rounds(X, y, fit_params), X.shape[1])


class _SubsetRounds:
    """Rounds of a VLS, each with newly drawn subsets.

    Attributes
    ----------
    subsets : list of ndarray
        Subsets of the last round, as ascending positions among its columns.
    pair_probability : float
        Probability that two features met in a subset of the last round.
    """

    def __init__(self, vls: VLS, inner: Rounds, n_features: int) -> None:
        self._inner, self._report, self._draw_subsets = inner, as_progress(vls.verbose), _make_drawer(vls, n_features)
        self.subsets: list[Columns] = []
        self.pair_probability = np.nan

    def score_columns(self, columns: Columns) -> npt.NDArray[np.float64]:
        """Draw subsets of these columns, and return the highest score of each column over its subsets.

        Sets `subsets` (positions in `columns`, without repeats) and `pair_probability`. A column in none of the subsets
        scores -inf.
        """
        drawn, self.pair_probability = self._draw_subsets(columns)
        self.subsets = list({subset.tobytes(): subset for subset in drawn}.values())
        best = np.full(len(columns), -np.inf)
        for number, subset in enumerate(self.subsets):
            with within("subset", number):
                scores = self._inner.score_columns(columns[subset])
            best[subset] = np.maximum(best[subset], scores)
            if self._report is not None:
                self._report(f"subset {number + 1} of {len(self.subsets)}", (number + 1) / len(self.subsets))
        return best


def _make_drawer(vls: VLS, n_features: int) -> Callable[[Columns], tuple[list[Columns], float]]:
    """Return a function of some features that returns subsets of them, and the probability that a pair meets in one.

    The subsets are drawn, made to hold every pair for "pairs" (probability 1), or given (NaN). If all features fit into
    one, it is the only one. Raise ValueError for a `subset_size` above the number of features.
    """
    if hasattr(vls.subsets, "__iter__") and not isinstance(vls.subsets, str):
        given_subsets = _read_subsets(vls.subsets, n_features, getattr(vls, "feature_names_in_", None))
        return lambda columns: (
            [columns_left for subset in given_subsets if len(columns_left := _positions_in(subset, columns))],
            np.nan,
        )
    all_pairs = vls.subsets is not None and bool(
        check_choice("subsets", vls.subsets, ("pairs",), "None", "a list of subsets")
    )
    n_subsets = as_int("n_subsets", vls.n_subsets, low=1)
    if vls.subset_size is None:
        full_size = min(n_features, max(FEWEST, -(-n_features // 5)))
    else:
        full_size = as_int("subset_size", vls.subset_size, low=2 if all_pairs else 1)
        if full_size > n_features:
            raise ValueError(f"subset_size must be at most the {n_features} features of X; got {full_size}")
    rng = np.random.default_rng(as_seed(vls.random_state))

    def draw_subsets(columns: Columns) -> tuple[list[Columns], float]:
        """Return subsets of positions in `columns`, and the probability that a pair is in one of them."""
        n = len(columns)
        size = min(n, max(-(-full_size * n // n_features), min(full_size, FEWEST)))
        if size == n:
            return [np.arange(n)], 1.0
        if all_pairs:
            return union_subsets(n, size, rng), 1.0
        return deal_subsets(n, size, n_subsets, rng), pair_probability(n, size, n_subsets)

    return draw_subsets


def deal_subsets(n: int, size: int, n_subsets: int, rng: np.random.Generator) -> list[Columns]:
    """Return n_subsets sorted random subsets of `size` of n features; raise ValueError if these are too few for all.

    Each deal splits all features, and the first of a deal also fill up its last subset.
    """
    per_deal = -(-n // size)
    if n_subsets < per_deal:
        raise ValueError(
            f"n_subsets must be at least {per_deal}, for each of {n} features to be in a subset of {size}; got "
            f"{n_subsets}: give more, or a larger subset_size"
        )
    subsets: list[Columns] = []
    while len(subsets) < n_subsets:
        subsets += list(np.sort(np.resize(rng.permutation(n), (per_deal, size)), axis=1))
    return subsets[:n_subsets]


def pair_probability(n: int, size: int, n_subsets: int) -> float:
    """Return the probability that two features meet in one of the subsets of `deal_subsets`."""
    per_deal = -(-n // size)
    n_deals, rest = divmod(n_subsets, per_deal)
    filled = per_deal * size - n
    # Counts ordered pairs that share a subset. Two features that fill up the last subset are in the first one, too.
    in_subset = size * (size - 1)
    in_deal = per_deal * in_subset - filled * (filled - 1)
    total = n * (n - 1)
    return 1 - float((1 - in_deal / total) ** n_deals * (1 - rest * in_subset / total))


def union_subsets(n: int, size: int, rng: np.random.Generator) -> list[Columns]:
    """Return all unions of two random groups, each half as large as a subset, so that every pair of features meets."""
    groups = np.array_split(rng.permutation(n), -(-n // (size // 2)))
    return [np.sort(np.concatenate(two)) for two in itertools.combinations(groups, 2)]


def _positions_in(subset: Columns, columns: Columns) -> Columns:
    """Return the positions of the columns that belong to a subset."""
    return np.flatnonzero(np.isin(columns, subset))


def _read_subsets(subsets: Any, n_features: int, names: Any) -> list[Columns]:
    """Return the columns of each given subset; raise ValueError if one is empty, or if they don't hold all columns of
    X.
    """
    columns_of_subsets = [
        column_numbers(f"subsets[{k}]", subset, n_features, names) for k, subset in enumerate(subsets)
    ]
    for k, columns in enumerate(columns_of_subsets):
        if not len(columns):
            raise ValueError(f"subsets[{k}] is empty: leave it out, or name its columns")
    left_out = np.setdiff1d(np.arange(n_features), np.concatenate([*columns_of_subsets, np.empty(0, dtype=np.int64)]))
    if len(left_out):
        missing = left_out.tolist() if names is None else np.asarray(names)[left_out].tolist()
        raise ValueError(
            f"subsets must hold each feature of X; got subsets without {len(left_out)} of {n_features}, columns "
            f"{some_of(missing)}: add a subset of them, or drop them from X"
        )
    return columns_of_subsets
