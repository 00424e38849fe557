"""IM4E and IMMIGRATE: weights of features, and of pairs of features, that enlarge margins between classes.

Arrays in, arrays out, without scikit-learn; the estimators, which also predict, are :class:`fastfs.IM4E` and
:class:`fastfs.Immigrate`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions import margin as _margin
from fastfs._functions.margin import Codes, Stage
from fastfs._inputs.checks import as_bool, as_float, as_int, as_not_negative, choose, some_of
from fastfs._inputs.matrix import as_floats, not_finite
from fastfs._machine.run import warn
from fastfs._types import Array, Progress

# sigma="auto" is this times the median distance to the nearest hit under the first weights. Of the factors from 0.1 to
# 8 these win most often against 1, on 19 or 20 data sets: see benchmarks/papers/immigrate.py.
AUTO_SIGMA = {"im4e": 2.0, "immigrate": 4.0}

# prefilter="auto" runs IM4E first on more features than this, and keeps as many at most: the time of a fit grows with
# their square. IM4E's threshold keeps 4731 of 20,000 random features of 200 samples, for which a fit took 180 s of one
# Zen 4 core; for 1000 it took 4 s.
PREFILTER_ABOVE = 1000


@dataclass(frozen=True)
class Im4eResult:
    """What IM4E found, as :func:`fastfs.im4e_scores` returns it.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
        Not negative, with sum 1; also as `scores`, the name that every method's result has.
    sigma : float
        Of the softmax.
    cost, objective : ndarray of shape (n_iter,)
        Of each step: the paper's cost after it (3.4, without lambda), and G, of which the cost is the part linear in
        the weights, before it. Neither has to fall.
    n_iter : int
    converged : bool
        Whether the cost changed by no more than `tol` in the end.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> result = fastfs.im4e_scores(X, X[:, 3] > 0)
    >>> int(result.weights.argmax()), len(result.cost) == result.n_iter
    (3, True)
    """

    weights: npt.NDArray[np.float64]
    sigma: float
    cost: npt.NDArray[np.float64]
    objective: npt.NDArray[np.float64]
    n_iter: int
    converged: bool

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The weights."""
        return self.weights


@dataclass(frozen=True)
class ImmigrateResult:
    """What IMMIGRATE found, as :func:`fastfs.immigrate_scores` returns it.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        A feature's share of W, sum_b W_ab^2, which add up to 1; 0 for features that W isn't of.
    features : ndarray of shape (n_kept,)
        The columns of X that W is of: all but the constant ones, or those that the prefilter kept.
    eigenvalues : ndarray of shape (rank,)
        Of W, largest magnitude first.
    eigenvectors : ndarray of shape (n_kept, rank)
        W = eigenvectors diag(eigenvalues) eigenvectors'. The entry of largest magnitude is positive.
    W : ndarray of shape (n_kept, n_kept) or None
        Symmetric, of Frobenius norm 1; None where features are so many that only its factors were made.
    sigma, cost, objective, n_iter, converged
        As of :class:`fastfs.Im4eResult`; the cost is tr(W Sigma) + sigma times the entropies.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> result = fastfs.immigrate_scores(X, X[:, 1] + X[:, 3] > 0)
    >>> pair = result.top_pairs(1)[0]
    >>> int(pair["a"]), int(pair["b"])
    (1, 3)
    """

    scores: npt.NDArray[np.float64]
    features: npt.NDArray[np.int64]
    eigenvalues: npt.NDArray[np.float64]
    eigenvectors: npt.NDArray[np.float64]
    W: npt.NDArray[np.float64] | None
    sigma: float
    cost: npt.NDArray[np.float64]
    objective: npt.NDArray[np.float64]
    n_iter: int
    converged: bool

    def top_pairs(self, n: int = 20, by: str = "weight") -> Array:
        """The strongest pairs of features.

        Parameters
        ----------
        n : int
            How many, if there are as many.
        by : {"weight", "residual"}
            |W_ab|, or what is left of it without the leading eigenpair of W.

        Returns
        -------
        ndarray with the fields a < b (columns of X), weight and residual, the strongest first.
        """
        vectors = np.ascontiguousarray(self.eigenvectors.T)
        return _margin.top_pairs(self.features, self.eigenvalues, vectors, n, by)


def im4e_scores(
    X: Any,
    y: Any,
    *,
    sigma: float | str = "auto",
    class_weight: Mapping[Any, float] | None = None,
    max_iter: int = 10,
    tol: float = 1e-4,
    scaling: str | None = "standard",
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Im4eResult:
    """Weigh features by IM4E, from soft neighbours of each sample.

    The function behind :class:`fastfs.IM4E`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X is made dense.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    sigma, class_weight, max_iter, tol, scaling, max_memory
        As for :class:`fastfs.IM4E`.
    n_threads : int
        0: all cores that this process may use.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    Im4eResult

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.IM4E`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> result = fastfs.im4e_scores(X, X[:, 3] > 0, sigma=0.5)
    >>> int(result.weights.argmax()), round(float(result.weights.sum()), 6)
    (3, 1.0)
    """
    options = iteration_options("im4e", sigma, max_iter, tol)
    _margin.as_scaling(scaling)
    data, budget, classes, codes = _margin.read(X, y, max_memory)
    options["class_factors"] = class_factors(class_weight, classes)
    stage = Stage(data, scaling, n_threads=n_threads, budget=budget, progress=progress)
    result, _, said = fit_im4e(stage, codes, classes, options)
    warn(said)
    return result


def immigrate_scores(
    X: Any,
    y: Any,
    *,
    sigma: float | str = "auto",
    max_iter: int = 10,
    tol: float = 1e-4,
    prefilter: str | None = "auto",
    clip: bool = False,
    smallest: float | str | None = None,
    negligible: float = 0.0,
    W0: npt.ArrayLike | None = None,
    scaling: str | None = "standard",
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> ImmigrateResult:
    """Weigh features and pairs of features by IMMIGRATE.

    The function behind :class:`fastfs.Immigrate`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X is made dense.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    sigma, max_iter, tol, prefilter, clip, smallest, negligible, W0, scaling, max_memory
        As for :class:`fastfs.Immigrate`.
    n_threads, progress
        As for :func:`fastfs.im4e_scores`.

    Returns
    -------
    ImmigrateResult

    Raises
    ------
    ValueError, TypeError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.Immigrate`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> result = fastfs.immigrate_scores(X, X[:, 1] + X[:, 3] > 0)
    >>> sorted(np.argsort(-result.scores)[:2].tolist()), result.W.shape
    ([1, 3], (5, 5))
    """
    options = immigrate_options(sigma, max_iter, tol, prefilter, clip, smallest, negligible)
    _margin.as_scaling(scaling)
    data, budget, classes, codes = _margin.read(X, y, max_memory)
    start = start_matrix(W0, data.shape[1], prefilter, clip)
    stage = Stage(data, scaling, n_threads=n_threads, budget=budget, progress=progress)
    result, _, _, said = fit_immigrate(stage, codes, classes, options, start)
    warn(said)
    return result


# ------------------------------------------------------------------------------------------------------- what is asked


def iteration_options(method: str, sigma: Any, max_iter: Any, tol: Any) -> dict[str, Any]:
    """The parameters that both methods have, checked, as the core takes them."""
    rule, value = "nearest", AUTO_SIGMA[method]
    if isinstance(sigma, str):
        choose("sigma", sigma, ("auto",), "a positive number")
    else:
        rule, value = "given", as_float("sigma", sigma)
        if not 0 < value < np.inf:
            raise ValueError(f"sigma must be 'auto' or a positive number, not {sigma!r}")
    return {
        "sigma_rule": rule,
        "sigma": value,
        "max_iter": as_int("max_iter", max_iter, low=1, high=1_000_000),
        "tol": as_not_negative("tol", tol),
    }


def immigrate_options(
    sigma: Any, max_iter: Any, tol: Any, prefilter: Any, clip: Any, smallest: Any, negligible: Any
) -> dict[str, Any]:
    """The same of IMMIGRATE; `prefilter`, and what depends on the data yet, is for `fit_immigrate`."""
    options = iteration_options("immigrate", sigma, max_iter, tol)
    options["prefilter"] = None if prefilter is None else choose("prefilter", prefilter, ("auto", "im4e"), "None")
    options["clip"] = as_bool("clip", clip)
    if isinstance(smallest, str):
        options["smallest"] = choose("smallest", smallest, ("auto",), "a number", "None")
    else:
        options["smallest"] = 0.0 if smallest is None else as_not_negative("smallest", smallest)
    options["negligible"] = as_not_negative("negligible", negligible)
    return options


def class_factors(class_weight: Any, classes: Array) -> npt.NDArray[np.float64] | None:
    """The factor of each class, 1 where none is given."""
    if class_weight is None:
        return None
    if not isinstance(class_weight, Mapping):
        raise TypeError(f"class_weight must be a dict of labels and factors, or None, not {class_weight!r}")
    places = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in places]
    if unknown:
        raise ValueError(
            f"class_weight has {some_of([*map(repr, unknown)])}, but the classes of y are "
            f"{some_of([*map(repr, places)])}: give a factor for some or all of these"
        )
    factors = np.ones(len(classes))
    for label, given in class_weight.items():
        factor = as_float("each factor of class_weight", given)
        if not 0 < factor < np.inf:
            raise ValueError(f"the factors of class_weight must be positive numbers, but that of {label} is {given!r}")
        factors[places[label]] = factor
    return factors


def start_matrix(W0: Any, n_features: int, prefilter: Any, clip: bool) -> npt.NDArray[np.float64] | None:
    """W0, checked."""
    if W0 is None:
        return None
    if prefilter == "im4e":
        raise ValueError("W0 and prefilter='im4e' exclude each other, because the prefilter makes the start: give one")
    W: npt.NDArray[np.float64] = np.ascontiguousarray(as_floats(np.asarray(W0), "W0"), dtype=np.float64)
    if W.shape != (n_features, n_features):
        raise ValueError(f"W0 must have the shape {(n_features, n_features)}, features x features, not {W.shape}")
    if said := not_finite(W, "W0"):
        raise ValueError(said)
    largest = np.abs(W).max(initial=0)
    if largest == 0:
        raise ValueError("W0 is zero, but needs a positive entry to start from")
    W = np.ldexp(W, -np.frexp(largest)[1])  # near 1, without another rounding
    off = np.abs(W - W.T)
    if off.max() > 1e-10:
        a, b = np.unravel_index(off.argmax(), off.shape)
        raise ValueError(
            f"W0 must be symmetric, but row {a}, column {b} and its mirror image differ by {off.max():.2g} of the "
            "largest entry"
        )
    W = (W + W.T) / 2
    if not clip and (least := np.linalg.eigvalsh(W)[0]) < -1e-10:
        raise ValueError(
            f"W0 must be positive semidefinite, but has a negative eigenvalue, {least:.2g} of the largest entry: take "
            "its part with positive eigenvalues, or clip=True"
        )
    return W


# --------------------------------------------------------------------------------------------------------------- fits


def fit_im4e(stage: Stage, codes: Codes, classes: Array, options: dict[str, Any]) -> tuple[Im4eResult, bool, list[str]]:
    """Return what was found, whether all distances were stored, and what is to be warned of."""
    found = stage.im4e(codes, len(classes), **options)
    result = Im4eResult(
        weights=found["weights"],
        sigma=found["sigma"],
        cost=found["cost"],
        objective=found["objective"],
        n_iter=len(found["cost"]),
        converged=found["converged"],
    )
    return result, found["stored"], _margin.messages(found["warnings"], classes, codes, method="im4e")


def fit_immigrate(
    stage: Stage, codes: Codes, classes: Array, options: dict[str, Any], W0: npt.NDArray[np.float64] | None
) -> tuple[ImmigrateResult, Im4eResult | None, bool, list[str]]:
    """The same of IMMIGRATE, and what IM4E found, if it ran before."""
    options = dict(options)
    prefilter = options.pop("prefilter")
    features = stage.used()
    most = len(features)
    if prefilter == "auto":
        prefilter = "im4e" if most > PREFILTER_ABOVE and W0 is None else None
        most = PREFILTER_ABOVE
    before = start = None
    said: list[str] = []
    if prefilter is not None:
        iteration = {name: options[name] for name in ("sigma_rule", "sigma", "max_iter", "tol")}
        if iteration["sigma_rule"] == "nearest":
            iteration["sigma"] = AUTO_SIGMA["im4e"]
        before, _, said = fit_im4e(stage, codes, classes, iteration | {"class_factors": None})
        # Equal weights must not fail to reach their own mean by rounding.
        features = np.flatnonzero(before.weights >= (1 - 1e-12) / len(features))
        strongest = np.argsort(-before.weights[features], kind="stable")[:most]
        features = features[np.sort(strongest)]
        start = before.weights[features]
    if options["smallest"] == "auto":
        options["smallest"] = 1 / len(features)
    chosen = features if prefilter is not None else None
    found = stage.immigrate(codes, len(classes), features=chosen, start=start, start_matrix=W0, **options)
    result = ImmigrateResult(
        scores=found["scores"],
        features=found["features"],
        eigenvalues=found["values"],
        eigenvectors=found["vectors"].T,
        W=found["W"],
        sigma=found["sigma"],
        cost=found["cost"],
        objective=found["objective"],
        n_iter=len(found["cost"]),
        converged=found["converged"],
    )
    said += [m for m in _margin.messages(found["warnings"], classes, codes, method="immigrate") if m not in said]
    return result, before, found["stored"], said


# -------------------------------------------------------------------------------------------------------- explanations

# Parts of as many samples at a time as fill 64 MB.
EXPLAINED_AT_ONCE = 1 << 23

FEATURE_PART = np.dtype([("feature", np.int64), ("part", np.float64)])
PAIR_PART = np.dtype([("a", np.int64), ("b", np.int64), ("part", np.float64)])


@dataclass(frozen=True)
class Explanation:
    """Why a sample is nearer to one class than to the nearest other, as ``explain`` of an estimator returns it.

    The margin, that is by how much the other class is farther off, is the sum of the parts of all features, and also of
    all pairs. Parts are positive where they speak for the class.

    Parameters
    ----------
    label, other : object
        The class, and the nearest other one.
    distance, other_distance : float
        The sample's expected distances to them.
    features : ndarray with the fields feature (column of X) and part
        The strongest, in order. With pairs, a feature's part is that of its pair with itself and half of the others.
    pairs : ndarray with the fields a <= b (columns of X) and part
        The strongest, in order; a = b is a feature by itself. Empty for IM4E, which has no pairs.
    n_features, n_pairs : int
        How many have parts.
    names : dict of int to str
        Of the features that are listed.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = fastfs.IM4E().fit(X, np.where(X[:, 1] > 0, "high", "low"))
    >>> found = model.explain([[0.0, 2.0, 0.0]])[0]
    >>> print(str(found).split(":")[0], found.names[int(found.features["feature"][0])])
    high, not low x1
    >>> bool(abs(found.features["part"].sum() - found.margin) < 1e-9)
    True
    """

    label: Any
    other: Any
    distance: float
    other_distance: float
    features: Array
    pairs: Array
    n_features: int
    n_pairs: int
    names: dict[int, str]

    @property
    def margin(self) -> float:
        """By how much the other class is farther off."""
        return self.other_distance - self.distance

    def __str__(self) -> str:
        lines = [
            f"{self.label}, not {self.other}: margin {self.margin:+.4g} "
            f"(expected distances {self.distance:.4g} and {self.other_distance:.4g})"
        ]
        for word, names, parts, n in self.tables():
            if n:
                lines.append(f"by {word[:-1]}:")
                lines += [f"{part:+10.4g}  {name}" for name, part in zip(names, parts, strict=True)]
            if n > len(parts):
                lines.append(f"{self.margin - parts.sum():+10.4g}  the other {n - len(parts)} {word}")
        return "\n".join(lines)

    def tables(self) -> Iterator[tuple[str, list[str], Array, int]]:
        """Of features and of pairs: the word, the names of those listed, their parts, and how many there are."""
        yield (
            "features",
            [self.names[j] for j in self.features["feature"].tolist()],
            self.features["part"],
            (self.n_features),
        )
        names = [
            f"{self.names[a]} alone" if a == b else f"{self.names[a]} x {self.names[b]}"
            for a, b in self.pairs[["a", "b"]].tolist()
        ]
        yield "pairs", names, self.pairs["part"], self.n_pairs


def explain(
    stage: Stage,
    codes: Codes,
    classes: Array,
    metric: Any,
    features: Codes,
    name_of: Callable[[int], str],
    X: Array,
    wanted: Codes,
    distances: Array,
    top: int,
) -> list[Explanation]:
    """Explain the rows of X, whose columns, as those of the stage, are the given features."""
    others = distances.copy()
    others[np.arange(len(X)), wanted] = np.inf
    nearest = others.argmin(axis=1)
    rows = max(1, EXPLAINED_AT_ONCE // len(features) ** (2 if metric.is_matrix else 1))
    found = []
    for begin in range(0, len(X), rows):
        part = slice(begin, begin + rows)
        parts = stage.explain(codes, len(classes), metric, X[part], wanted[part])
        for row, values in enumerate(parts, start=begin):
            pairs = np.empty(0, PAIR_PART)
            n_pairs = 0
            if metric.is_matrix:
                values, pairs, n_pairs = _pairs_of(values, features, top)
            strongest = np.argsort(-np.abs(values), kind="stable")[:top]
            listed = np.empty(len(strongest), FEATURE_PART)
            listed["feature"], listed["part"] = features[strongest], values[strongest]
            shown = {*listed["feature"].tolist(), *pairs["a"].tolist(), *pairs["b"].tolist()}
            found.append(
                Explanation(
                    label=classes[wanted[row]],
                    other=classes[nearest[row]],
                    distance=float(distances[row, wanted[row]]),
                    other_distance=float(distances[row, nearest[row]]),
                    features=listed,
                    pairs=pairs,
                    n_features=len(features),
                    n_pairs=n_pairs,
                    names={j: name_of(j) for j in sorted(shown)},
                )
            )
    return found


def _pairs_of(parts: Array, features: Codes, top: int) -> tuple[Array, Array, int]:
    """The parts of the features, the strongest pairs a <= b, and how many of these there are."""
    n = len(features)
    both = np.triu(parts) + np.tril(parts, -1).T
    flat = np.abs(both).ravel()
    strongest = np.argpartition(-flat, min(top, flat.size) - 1)[:top] if top else np.empty(0, np.int64)
    strongest = strongest[np.lexsort((strongest, -flat[strongest]))]
    strongest = strongest[strongest // n <= strongest % n]  # zeros below the diagonal are no pairs
    pairs = np.empty(len(strongest), PAIR_PART)
    pairs["a"], pairs["b"] = features[strongest // n], features[strongest % n]
    pairs["part"] = both.ravel()[strongest]
    return (parts.sum(axis=0) + parts.sum(axis=1)) / 2, pairs, n * (n + 1) // 2
