"""I-KDR's experiments (Hosseini and Hammer 2019): 1-NN on the embedding, parameters chosen inside the training folds.

    FASTFS_TEST_DATA=folder python -m benchmarks.papers.ikdr [NAMES ...] [--quick] [--jobs 2]

`sonar`, `colon`, `colon_discrete`, `wine`, `srbct_khan`, `orl_faces32`, `news_pcmac`: accuracy against the number of
dimensions, with one kernel of all features and with one a feature, beside kernel PCA and kernel FDA on the same kernel
and 1-NN on the data themselves; what the dimensions are made of (I_p, H A). `yale`, `cns`, `dbworld`, `comp`: the same
with fewer dimensions and rivals, comp on every eighth message. `mkl`: MKL-TR, with a kernel of each feature;
`comp-features`: both methods that have one, of the 100 words with the largest F. Nothing is chosen in the others:
`settings`, what each option does; `stages`, one kernel of the best features, by I-KDR's scores and by others;
`classes`, `clusters` and `groups`, more than two classes; `selection`, the features in the hands of another classifier;
`starts`, the objective against that of random starts. The paper doesn't say how it scaled, or from which values it
chose lambda and mu; its width is the mean distance of the training samples. Colon is discretised in one of its sources
and not in others.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.cluster import FeatureAgglomeration
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import f_classif
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import fastfs
from benchmarks import harness
from benchmarks.papers import claims, protocol
from benchmarks.papers.protocol import read

LAMS = (0.1, 1.0, 10.0)
MUS = (0.0, 0.1)
WIDTHS = (1 / 3, 1.0)  # times the mean squared distance
MOST = 40  # dimensions
MOST_KERNELS = 100  # of MKL-TR, which takes minutes with thousands: those with the largest F in the training samples
REGULARISATION = (1e-3, 1e-2, 1e-1, 1.0)
NEW = {"yale": "papers/yale_faces32", "cns": "papers/cns", "dbworld": "papers/dbworld", "comp": "papers/news_comp"}


@dataclass
class Options:
    """Of the command line."""

    quick: bool = False
    jobs: int = 1


def width_of(X: np.ndarray, groups: Any) -> float:
    """The mean squared distance of samples, by z-scores of all features or of one."""
    n = len(X)
    return float(2 * n / (n - 1) * (1.0 if groups is None else X.var(axis=0).sum()))


class Training:
    """Training and test samples, scaled by the first; their kernels, and what has been computed from them."""

    def __init__(self, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> None:
        self.y, self.y_test = y[train], y[test]
        if scipy.sparse.issparse(X):
            weigh = TfidfTransformer(sublinear_tf=True).fit(X[train])
            self.X, self.X_test = weigh.transform(X[train]), weigh.transform(X[test])
        else:
            mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
            spread = np.where(spread > 0, spread, 1)
            self.X, self.X_test = (X[train] - mean) / spread, (X[test] - mean) / spread
        self.memory: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What has been computed before."""
        if key not in self.memory:
            self.memory[key] = compute()
        return self.memory[key]

    @property
    def widths(self) -> tuple[float, ...]:
        """To choose from."""
        return (1.0,) if self.sparse else WIDTHS

    def kernel(self, width: float) -> tuple[np.ndarray, np.ndarray]:
        """Centred: K and its rows for test samples, in the space whose origin is the training samples' mean."""
        similarity = (
            cosine_similarity if self.sparse else partial(rbf_kernel, gamma=1 / (width * width_of(self.X, "all")))
        )
        K, K_test = similarity(self.X), similarity(self.X_test, self.X)
        columns = K.mean(axis=0)
        return (
            K - columns - columns[:, None] + columns.mean(),
            K_test - columns - K_test.mean(axis=1, keepdims=True) + columns.mean(),
        )

    @property
    def sparse(self) -> bool:
        """Whether only the kernel of all features makes sense."""
        return scipy.sparse.issparse(self.X)


@dataclass(frozen=True)
class Fitted:
    """Embeddings of both parts, and what they are made of."""

    train: np.ndarray
    test: np.ndarray
    coefficients: np.ndarray | None = None
    n_features: int | None = None

    def accuracy(self, data: Training) -> float:
        """Of 1-NN."""
        nearest = KNeighborsClassifier(1).fit(self.train, data.y)
        return float(nearest.score(self.test, data.y_test))


def profile(data: Training, A: np.ndarray) -> np.ndarray:
    """H |A|, each column over its sum: the share of each class."""
    P = np.array([np.abs(A[data.y == c]).sum(axis=0) for c in np.unique(data.y)])
    return P / P.sum(axis=0)


def purity(data: Training, fitted: Fitted) -> float:
    """I_p."""
    return float("nan") if fitted.coefficients is None else float(profile(data, fitted.coefficients).max(axis=0).mean())


# ------------------------------------------------------------------------------------------------------------- methods

Fits = Callable[[Training, int], dict[Any, Fitted]]


def raw(data: Training, _: int) -> dict[Any, Fitted]:
    """The data themselves; cosine similarity is the distance of rows of length 1."""
    return {None: Fitted(data.X, data.X_test)}


def fit_ikdr(X: Any, y: np.ndarray, lams: tuple[float, ...], **options: Any) -> list[fastfs.IKDRResult]:
    """A path on one thread, without warnings of what the grids contain, whose extremes would take many turns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fastfs.ikdr_path(X, y, lams, n_threads=1, scaling=None, max_iter=15, **options)


def i_kdr(data: Training, k: int, groups: Any, columns: Any = slice(None)) -> dict[Any, Fitted]:
    """Every width, lambda and mu."""
    found = {}
    X, X_test = data.X[:, columns], data.X_test[:, columns]
    for width, mu in itertools.product(data.widths, MUS):
        kernel = {"kernel": cosine_similarity} if data.sparse else {"width": width * width_of(X, groups)}
        for result in fit_ikdr(X, data.y, LAMS, n_components=k, groups=groups, mu=mu, **kernel):
            n_features = None if groups is not None else int(np.count_nonzero(result.weights))
            test = result.embed(X_test, n_threads=1)
            found[width, mu, result.lam] = Fitted(result.embedding, test, result.A, n_features)
    return found


def one_kernel(data: Training, k: int) -> dict[Any, Fitted]:
    """Dimensionality reduction alone."""
    return i_kdr(data, k, "all")


def ranking(data: Training) -> np.ndarray:
    """The features by I-KDR's scores, the defaults throughout."""
    return np.asarray(
        data.once("ranking", lambda: np.argsort(-fit_ikdr(data.X, data.y, (0.1,))[0].scores, kind="stable"))
    )


def two_stages(data: Training, k: int) -> dict[Any, Fitted]:
    """One kernel of the best features."""
    found = {}
    for number in (n for n in (10, 20, 50) if n < data.X.shape[1]):
        for setting, fitted in i_kdr(data, k, "all", ranking(data)[:number]).items():
            found[number, *setting] = replace(fitted, n_features=number)
    return found


def kernel_a_feature(data: Training, k: int) -> dict[Any, Fitted]:
    """With selection of features."""
    return i_kdr(data, k, None)


def kernel_pca(data: Training, k: int) -> dict[Any, Fitted]:
    """The k leading axes of the centred kernel."""

    def axes(width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        K, K_test = data.kernel(width)
        n = len(K)
        values, vectors = scipy.linalg.eigh(K, subset_by_index=(n - min(MOST, n), n - 1))
        return K, K_test, vectors[:, ::-1] / np.sqrt(np.maximum(values[::-1], 1e-12))

    found = {}
    for width in data.widths:
        K, K_test, A = data.once(("pca", width), partial(axes, width))
        found[width] = Fitted(K @ A[:, :k], K_test @ A[:, :k], A[:, :k])
    return found


def fisher(data: Training, K: np.ndarray, share: float) -> np.ndarray:
    """Coefficients of the leading axes of between over within scatter, with a ridge of so much of the mean one."""
    H = (np.unique(data.y)[:, None] == data.y).astype(float)
    means = H.T @ (H / H.sum(axis=1, keepdims=True)) @ K  # each sample's class
    between, within = means.T @ means, (K - means).T @ (K - means)
    n, most = len(K), min(MOST, len(H) - 1)
    within += share * np.trace(within) / n * np.eye(n)
    return np.asarray(scipy.linalg.eigh(between, within, subset_by_index=(n - most, n - 1))[1][:, ::-1])


def kernel_fda(data: Training, k: int) -> dict[Any, Fitted]:
    """The k leading axes, or as many as there are: one less than classes."""
    found = {}
    for width in data.widths:
        K, K_test = data.once(("kernel", width), partial(data.kernel, width))
        for share in REGULARISATION:
            A = data.once(("fda", width, share), partial(fisher, data, K, share))[:, :k]
            found[width, share] = Fitted(K @ A, K_test @ A, A)
    return found


def trace_ratio(between: np.ndarray, within: np.ndarray, k: int) -> np.ndarray:
    """Orthonormal A with the largest tr(A' between A) / tr(A' within A), by Newton's iteration on the ratio."""
    A, ratio = np.eye(len(between), k), -np.inf
    for _ in range(50):
        new = np.sum(A * (between @ A)) / np.sum(A * (within @ A))
        if new <= ratio * (1 + 1e-9):
            break
        ratio = new
        n = len(between)
        A = scipy.linalg.eigh(between - ratio * within, subset_by_index=(n - k, n - 1))[1]
    return np.asarray(A)


def best_weights(between: np.ndarray, within: np.ndarray, ridge: float, weights: np.ndarray) -> np.ndarray:
    """Weights w on the simplex that raise |w' between|^2 / (|w' within|^2 + ridge), by exponentiated gradients."""

    def ratio_of(w: np.ndarray) -> float:
        return float(np.sum((w @ between) ** 2) / (np.sum((w @ within) ** 2) + ridge))

    ratio, step = ratio_of(weights), 1.0
    for _ in range(100):
        gradient = between @ (weights @ between) - ratio * within @ (weights @ within)
        new = weights * np.exp(step * gradient / np.abs(gradient).max())
        new /= new.sum()
        reached = ratio_of(new)
        if reached > ratio:
            gain, weights, ratio, step = reached / ratio - 1, new, reached, 1.5 * step
            if gain < 1e-4:
                break
        else:
            step /= 2
            if step < 1e-6:
                break
    return weights


def feature_kernels(X: np.ndarray, Z: np.ndarray, width: float) -> np.ndarray:
    """A Gaussian kernel of each feature, rows of X against those of Z; z-scores, so that one width serves all."""
    return np.asarray(np.exp(-((X.T[:, :, None] - Z.T[:, None, :]) ** 2) / (2 * width)))


def multiple_kernels(data: Training, k: int) -> dict[Any, Fitted]:
    """MKL-TR: weights of a kernel a feature and axes in turn, so that the trace ratio of the scatters grows.

    After Jiang and Chung, "A trace ratio maximization approach to multiple kernel-based dimensionality reduction",
    Neural Networks 49, 2014. The axes' coefficients are orthonormal, the within scatter has a ridge, as kernel FDA's.
    """
    H = (np.unique(data.y)[:, None] == data.y).astype(float)
    n = len(data.y)
    to_class = H.T @ (H / H.sum(axis=1, keepdims=True))  # each sample's class mean
    to_between, to_within = to_class - 1 / n, np.eye(n) - to_class
    columns = np.sort(best(data, "ANOVA", MOST_KERNELS)) if data.X.shape[1] > MOST_KERNELS else slice(None)
    X, X_test = data.X[:, columns], data.X_test[:, columns]
    found = {}
    for width in data.widths:
        kernels = data.once(("kernels", width), partial(feature_kernels, X, X, width))
        for share in (1e-3, 1e-1):
            weights = np.full(len(kernels), 1 / len(kernels))
            for _ in range(10):
                K = np.tensordot(weights, kernels, 1)
                ridge = share * np.sum((to_within @ K) ** 2) / n * np.eye(n)
                A = trace_ratio(K @ to_between @ K, K @ to_within @ K + ridge, min(k, n - 1))
                B = kernels @ A
                between = np.reshape(to_between @ B, (len(B), -1))
                within = np.reshape(to_within @ B, (len(B), -1))
                new = best_weights(between, within, float(np.sum(A * (ridge @ A))), weights)
                change = np.abs(new - weights).sum()
                weights = new
                if change < 1e-3:
                    break
            used = weights > 1e-3 * weights.max()
            test = feature_kernels(X_test[:, used], X[:, used], width)
            train = np.tensordot(weights[used], kernels[used], 1) @ A
            found[width, share] = Fitted(train, np.tensordot(weights[used], test, 1) @ A, A, int(used.sum()))
    return found


METHODS: dict[str, Fits] = {
    "I-KDR, one kernel": one_kernel,
    "I-KDR, features": kernel_a_feature,
    "I-KDR, 2 stages": two_stages,
    "kernel PCA": kernel_pca,
    "kernel FDA": kernel_fda,
    "MKL-TR": multiple_kernels,
    "1-NN on the data": raw,
}
OF_FEATURES = ("I-KDR, features", "I-KDR, 2 stages", "MKL-TR")  # which need columns with a kernel each


# ------------------------------------------------------------------------------------------------------------ protocol


@dataclass(frozen=True)
class Outcome:
    """One method on one fold."""

    curve: tuple[float, ...]  # test accuracy by number of dimensions, the rest chosen inside
    accuracy: float  # and with that number chosen inside, too
    k: int
    setting: Any
    purity: float
    n_features: int | None


def of_best_words(X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Training:
    """The same of sparse counts, by the words with the largest F in the training samples: their z-scored logarithms."""
    columns = np.sort(best(Training(X, y, train, test), "ANOVA", MOST_KERNELS))
    return Training(np.log1p(X[:, columns].toarray()), y, train, test)


def one_fold(
    X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, names: tuple[str, ...], ks: tuple[int, ...]
) -> dict[str, Outcome]:
    """All methods on one outer fold; three inner ones choose."""
    make = of_best_words if scipy.sparse.issparse(X) and set(names) <= set(OF_FEATURES) else Training
    inner = StratifiedKFold(3, shuffle=True, random_state=0).split(train, y[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with fewer samples than folds
        parts = [make(X, y, train[a], train[b]) for a, b in inner]
    whole = make(X, y, train, test)
    outcomes = {}
    for name in names:
        curve, best = [], (-1.0, 0, None, 0.0, 0.0, None)
        most = max(10, len(np.unique(y))) if name in OF_FEATURES else max(ks)
        fits = ks[:1] if METHODS[name] is raw else [k for k in ks if k <= most]
        for k in fits:
            tried = [{s: f.accuracy(p) for s, f in METHODS[name](p, k).items()} for p in parts]
            inside = {s: float(np.mean([t[s] for t in tried])) for s in tried[0]}
            chosen = max(inside, key=lambda s: inside[s])  # ties: the first
            fitted = METHODS[name](whole, k)[chosen]
            curve.append(fitted.accuracy(whole))
            if inside[chosen] > best[0] + 1e-12:
                best = inside[chosen], k, chosen, curve[-1], purity(whole, fitted), fitted.n_features
        outcomes[name] = Outcome(tuple(curve), best[3], best[1], best[2], best[4], best[5])
    return outcomes


def load(name: str) -> tuple[Any, np.ndarray]:
    """X and labels; colon on log2 values."""
    data = read(NEW.get(name, name))
    if name == "comp":  # every eighth message; the kernel of all takes 190 MB, and a fit minutes
        y = data["topic"] if "topic" in data else data["y"]
        parts = data["data"].astype(float), data["indices"].astype(np.int32), data["indptr"]
        return scipy.sparse.csr_matrix(parts, shape=tuple(data["shape"]))[::8], y[::8]
    if "indptr" in data:
        parts = data["data"].astype(float), data["indices"].astype(np.int32), data["indptr"]
        return scipy.sparse.csr_matrix(parts, shape=tuple(data["shape"])), data["y"]
    X = data["X"].astype(float)
    return np.log2(X) if name == "colon" else X, data["y"]


def experiment(name: str, options: Options) -> None:
    """The table of one data set; MKL-TR has an experiment of its own."""
    X, y = load(name)
    many = len(np.unique(y)) > 10
    only_one = scipy.sparse.issparse(X)
    names = tuple(m for m in METHODS if m != "MKL-TR" and not (only_one and m in OF_FEATURES))
    if name in NEW:
        names = tuple(
            m for m in names if m in ("I-KDR, one kernel", "I-KDR, features", "kernel FDA", "1-NN on the data")
        )
        if options.quick:
            names = tuple(m for m in names if m not in OF_FEATURES)
    ks: tuple[int, ...] = (2, 4, 10, 20, 40) if name in NEW else (*range(1, 11), 20, 40)
    if options.quick and name not in NEW:
        ks = (1, 2, 3, 4, 6, 8, 10)
    if many:
        ks = tuple(sorted({*ks, len(np.unique(y))}))
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    # A fit of an inner fold has two thirds of the training samples; a class can give one less than its third.
    smallest = 2 * min(len(train) for train, _ in folds) // 3 - len(np.unique(y))
    ks = tuple(k for k in ks if k <= smallest)
    if options.quick:
        folds = folds[:4]
    start = time.perf_counter()
    with harness.one_thread():
        found = joblib.Parallel(options.jobs)(joblib.delayed(one_fold)(X, y, a, b, names, ks) for a, b in folds)
    head = f"{name}: {X.shape[0]} x {X.shape[1]}, {len(np.unique(y))} classes; {len(folds)} of 10 folds, 3 inner ones"
    print(f"\n{head}\n{'-' * len(head)}")
    print("1-NN accuracy in % by number of dimensions, and with that number chosen, too (+- standard error)")
    print(f"{'':<18}" + "".join(f"{k:>7}" for k in ks) + f"{'chosen':>14}{'k':>5}{'I_p':>6}{'features':>10}")
    for method in names:
        outcomes = [f[method] for f in found]
        curve = [f"{protocol.percent(c)[0]:.1f}" for c in zip(*(o.curve for o in outcomes), strict=True)]
        curve += [""] * (len(ks) - len(curve))
        pure = np.mean([o.purity for o in outcomes])
        k = "" if METHODS[method] is raw else f"{np.median([o.k for o in outcomes]):g}"
        n_features = f"{np.median([o.n_features for o in outcomes]):g}" if outcomes[0].n_features is not None else ""
        protocol.keep(f"{name}: {method}", [100 * o.accuracy for o in outcomes])
        if not np.isnan(pure):
            protocol.keep(f"{name}: {method}, I_p", [o.purity for o in outcomes])
        if outcomes[0].n_features is not None:
            protocol.keep(f"{name}: {method}, features", [o.n_features for o in outcomes])
        print(
            f"{method:<18}" + "".join(f"{c:>7}" for c in curve) + f"{protocol.text([o.accuracy for o in outcomes]):>14}"
            f"{k:>5}{'' if np.isnan(pure) else f'{pure:.2f}':>6}{n_features:>10}"
        )
    largest = np.bincount(y).max() / len(y)
    print(f"largest class {100 * largest:.1f} %; {time.perf_counter() - start:.0f} s")
    if name in claims.DIMENSIONS:
        a, ip, fda, b, n, mkl = claims.DIMENSIONS[name]
        print(f"paper: one kernel {a} with I_p {ip}, kernel FDA {fda}; with {n} features {b}, MKL-TR {mkl}")
    if not many:
        shares(X, y)


def feature_by_feature(names: tuple[str, ...], data: str, options: Options) -> None:
    """Methods with a kernel of each feature; sonar with 2 or 10 dimensions, wider sets with 10, as they take long."""
    X, y = load(data)
    ks = (2, 10) if X.shape[1] <= MOST_KERNELS else (10,)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    with harness.one_thread():
        found = joblib.Parallel(options.jobs)(
            joblib.delayed(one_fold)(X, y, a, b, names, ks) for a, b in folds[: 2 if options.quick else None]
        )
    for name in names:
        outcomes = [f[name] for f in found]
        protocol.keep(f"{data}: {name}", [100 * o.accuracy for o in outcomes])
        protocol.keep(f"{data}: {name}, features", [o.n_features for o in outcomes])
        n_features = np.mean([o.n_features for o in outcomes])
        accuracy = protocol.text([o.accuracy for o in outcomes])
        print(f"{data:<10} {name}: 1-NN {accuracy} %, {n_features:.0f} features", flush=True)


def trace_ratios(_: str, options: Options) -> None:
    """MKL-TR alone."""
    for data in ("sonar", "colon", "dbworld", "cns", "yale")[: 1 if options.quick else None]:
        feature_by_feature(("MKL-TR",), data, options)


def comp_features(_: str, options: Options) -> None:
    """Both methods with a kernel of each word, of the 100 with the largest F: 28,299 kernels don't fit."""
    feature_by_feature(("I-KDR, features", "MKL-TR"), "comp", options)


def shares(X: Any, y: np.ndarray) -> None:
    """H A of fits to all samples."""
    everything = np.arange(len(y))
    data = Training(X, y, everything, everything[:1])
    k = len(np.unique(y))
    kernel: dict[str, Any] = {"kernel": cosine_similarity} if data.sparse else {}
    A = {
        "I-KDR": fit_ikdr(data.X, y, (0.1,), groups="all", **kernel)[0].A,
        "kernel PCA": kernel_pca(data, k)[1.0].coefficients,
        "kernel FDA": kernel_fda(data, k)[1.0, REGULARISATION[1]].coefficients,
    }
    print(f"H |A| on all samples, k = {k} and the defaults (kernel FDA: fewer dimensions than classes)")
    for name, coefficients in A.items():
        assert coefficients is not None
        P = profile(data, coefficients)
        samples = np.count_nonzero(np.abs(coefficients) > 1e-6 * np.abs(coefficients).max(axis=0), axis=0)
        rows = "; ".join(" ".join(f"{v:.2f}" for v in row) for row in P)
        print(f"  {name:<12} {rows}   samples a dimension: {' '.join(map(str, samples))}")


# ------------------------------------------------------------------------------------------------------------ settings

Variants = dict[str, dict[str, Any]]

# n_components: times the classes; width: times the mean squared distance; features: so many of the best.
VARIANTS: Variants = {
    "defaults": {},
    "k = 2C": {"n_components": 2},
    "k = 5C": {"n_components": 5},
    "lam / 10": {"lam": 0.01},
    "lam x 10": {"lam": 1.0},
    "lam x 100": {"lam": 10.0},
    "mu = 0": {"mu": 0.0},
    "mu x 10": {"mu": 1.0},
    "distance": {"interpretability": "distance"},
    "distance, mu x 100": {"interpretability": "distance", "mu": 10.0},
    "tau = zeta = 10": {"tau": 10.0, "zeta": 10.0},
    "width x 1/3": {"width": 1 / 3},
    "width x 3": {"width": 3.0},
    "width x 1/3, k = 5C": {"width": 1 / 3, "n_components": 5},
    "the same, lam x 10": {"width": 1 / 3, "n_components": 5, "lam": 1.0},
    "width x 1/3, k = 10C, lam x 100": {"width": 1 / 3, "n_components": 10, "lam": 10.0},
}
MANY = {"width": 1 / 3, "n_components": 5}
STAGES: Variants = {
    f"{number} best by {by}{', width x 1/3, k = 5C' if more else ''}": {"features": number, "by": by, **more}
    for number in (20, 50)
    for more in ({}, MANY)
    for by in ("I-KDR", "ANOVA", "chance")
}
CLASSES: Variants = {
    f"{what}{', lam / (C - 1)' if share else ''}": {"groups": groups, "lam_by_classes": share}
    for what, groups in {"a kernel a feature": None, "one kernel": "all"}.items()
    for share in (False, True)
}
GROUPS: Variants = {
    f"{what}{', lam / 10' if lam < 0.1 else ''}": {"groups": groups, "lam": lam}
    for what, groups in {"a kernel a pixel": None, "4 x 4 pixels": 4, "8 x 8 pixels": 8, "one kernel": "all"}.items()
    for lam in (0.1, 0.01)
} | {"one kernel, width x 1/3, k = 2C": {"groups": "all", "width": 1 / 3, "n_components": 2}}
CLUSTERS: Variants = {
    f"{what}{', lam / (C - 1)' if share else ''}": {"groups": groups, "lam_by_classes": share}
    for what, groups in {"a kernel a feature": None, "clusters of features": "clusters", "one kernel": "all"}.items()
    for share in (False, True)
} | {f"one kernel, width x 1/3, k = {k}C": {"groups": "all", "width": 1 / 3, "n_components": k} for k in (2, 5)}


def best(data: Training, by: str, number: int) -> np.ndarray:
    """The best features, by I-KDR at its defaults, by ANOVA, or drawn."""
    if by == "I-KDR":
        return ranking(data)[:number]
    if by == "chance":
        return np.random.default_rng(0).permutation(data.X.shape[1])[:number]
    return np.argsort(-anova(data), kind="stable")[:number]


def anova(data: Training) -> np.ndarray:
    """F of each feature."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return protocol.finite(f_classif(data.X, data.y)[0])


def clusters(X: np.ndarray) -> np.ndarray:
    """Groups of about 20 features that are alike, by Ward's method; constant ones with the first."""
    found = np.zeros(X.shape[1], dtype=int)
    varying = X.std(axis=0) > 0
    found[varying] = FeatureAgglomeration(X.shape[1] // 20).fit(X[:, varying]).labels_
    return found


def variant(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, groups: Any, options: dict[str, Any]
) -> tuple[float, ...]:
    """1-NN and a linear SVM on the embedding, the dimension with the largest share; I_p, features, samples."""
    data = Training(X, y, train, test)
    n_classes = len(np.unique(y))
    options = dict(options)
    lam = options.pop("lam", 0.1) / (n_classes - 1 if options.pop("lam_by_classes", False) else 1)
    groups = options.pop("groups", groups)
    if isinstance(groups, int):  # squares of so many pixels
        side = int(np.sqrt(X.shape[1]))
        row, column = np.divmod(np.arange(X.shape[1]), side)
        groups = row // groups * side + column // groups
    elif isinstance(groups, str) and groups == "clusters":
        groups = clusters(data.X)
    columns: Any = slice(None)
    if "features" in options:
        columns = best(data, options.pop("by"), options.pop("features"))
    X_train, X_test = data.X[:, columns], data.X_test[:, columns]
    if "n_components" in options:
        options["n_components"] = min(options["n_components"] * n_classes, len(train) // 2)
    if "width" in options:
        options["width"] *= width_of(X_train, groups)
    (found,) = fit_ikdr(X_train, data.y, (lam,), groups=groups, **options)
    new = found.embed(X_test, n_threads=1)
    near = KNeighborsClassifier(1).fit(found.embedding, data.y).score(new, data.y_test)
    spread = found.embedding.std(axis=0)
    spread = np.where(spread > 0, spread, 1)
    linear = SVC(kernel="linear", C=10.0).fit(found.embedding / spread, data.y).score(new / spread, data.y_test)
    main = found.classes[found.class_profile.argmax(axis=0)]
    largest = float(np.mean(main[new.argmax(axis=1)] == data.y_test))
    n_features = np.count_nonzero(found.feature_weights)
    return near, float(linear), largest, found.interpretability, n_features, len(found.support)


def compare(
    what: str, names: tuple[str, ...], groups: Any, variants: Variants, options: Options, most: int = 10
) -> None:
    """A table for each of the sets, and their mean; `most` folds of 10 (of 5 with rare classes)."""
    head = f"{what}: 1-NN / linear SVM on the embedding / class of the largest coordinate; I_p; features, samples. "
    head += "Means over folds, accuracies in %"
    print(f"\n{head}\n{'-' * len(head)}")
    table: dict[str, list[list[float]]] = {v: [] for v in variants}
    for name in names:
        X, y = load(name)
        if len(y) > 1000:
            X, y = thinned(X, y)
        if scipy.sparse.issparse(X):
            X = log_counts(X)
        folds = list(StratifiedKFold(10 if min(np.bincount(y)) >= 10 else 5, shuffle=True, random_state=0).split(X, y))
        folds = folds[:most]
        jobs = [(v, a, b) for v in variants for a, b in folds]
        with harness.one_thread():
            found = joblib.Parallel(options.jobs)(
                joblib.delayed(variant)(X, y, a, b, groups, variants[v]) for v, a, b in jobs
            )
        by_variant = np.asarray(found).reshape(len(variants), len(folds), -1).mean(axis=1)
        data = [Training(X, y, a, b) for a, b in folds]
        alone = np.mean([raw(d, 0)[None].accuracy(d) for d in data])
        print(f"{name}, {len(folds)} folds: 1-NN on the data {100 * alone:.1f}")
        for v, row in zip(variants, by_variant, strict=True):
            table[v].append(list(row))
            print(line(v, row), flush=True)
    if len(names) > 1:
        print("mean over these sets")
        for v, rows in table.items():
            print(line(v, np.mean(rows, axis=0)))


SETS = ("sonar", "wine", "wdbc", "colon", "colon_discrete", "srbct_khan", "glioma")


def thinned(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first 40 of each class."""
    kept = np.sort(np.concatenate([np.flatnonzero(y == c)[:40] for c in np.unique(y)]))
    return X[kept], y[kept]


def log_counts(X: scipy.sparse.csr_matrix) -> np.ndarray:
    """Of cells, per 10,000, of the genes that 20 of them have."""
    counts = X[:, np.asarray((X > 0).sum(axis=0)).ravel() >= 20].toarray()
    return np.log1p(1e4 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def settings(_: str, options: Options) -> None:
    """What each option does, with all others at their defaults: nothing is chosen."""
    for groups, what in (("all", "one kernel"), (None, "a kernel a feature")):
        compare(f"settings, {what}", ("sonar", "colon") if options.quick else SETS, groups, VARIANTS, options)


def stages(_: str, options: Options) -> None:
    """One kernel of the best features: whose choice matters how much?"""
    names = ("sonar", "colon") if options.quick else ("sonar", "colon", "colon_discrete", "srbct_khan", "glioma")
    compare("two stages", (*names, "lung_discrete"), "all", STAGES, options)


def classes(_: str, options: Options) -> None:
    """Three to ten classes: what keeps them apart weighs more, the more there are."""
    names = ("wine", "vertebral_3c", "user_knowledge", "srbct_khan", "glioma", "glass", "lung_discrete")
    many = () if options.quick else ("mnist_10x500", "fashion_10x200")
    compare("classes", (*names, *many), None, CLASSES, options, most=5)


def many(_: str, options: Options) -> None:
    """Seven to forty classes: kernels of features, of clusters of them, of all."""
    names = ("lung_discrete", "sc_pbmc68k_reduced", "sc_worm_neuron", "mnist_10x500", "fashion_10x200", "orl_faces32")
    compare("clusters", names[:2] if options.quick else names, None, CLUSTERS, options, most=5)


def squares(_: str, options: Options) -> None:
    """Forty classes: kernels of pixels, of squares of pixels, of all."""
    compare("many classes", ("orl_faces32",), None, GROUPS, options, most=1 if options.quick else 3)


def line(name: str, row: Any) -> str:
    """One variant."""
    accuracies = " / ".join(f"{100 * a:.1f}" for a in row[:3])
    return f"  {name:<42} {accuracies:<22} {row[3]:.2f} {row[4]:>7.1f} {row[5]:>6.1f}"


def ranked(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, numbers: tuple[int, ...]
) -> dict[str, list[float]]:
    """Accuracy of an RBF-SVM on the best features by I-KDR's scores, by ANOVA, and on those with weight."""
    data = Training(X, y, train, test)

    def judge(columns: np.ndarray) -> float:
        svm = SVC(C=10.0, gamma="scale").fit(data.X[:, columns], data.y)
        return float(svm.score(data.X_test[:, columns], data.y_test))

    (found,) = fit_ikdr(data.X, data.y, (0.1,))
    chosen = np.flatnonzero(found.weights)
    rankings = {"I-KDR": np.argsort(-found.scores, kind="stable"), "ANOVA": best(data, "ANOVA", data.X.shape[1])}
    result = {name: [judge(order[:n]) for n in (len(chosen), *numbers)] for name, order in rankings.items()}
    return result | {"features": [float(len(chosen))]}


def selection(_: str, options: Options) -> None:
    """The features, in the hands of another classifier."""
    numbers = (5, 10, 20, 50)
    print("\nfeatures: RBF-SVM (C = 10) on the best ones, 10 folds, accuracy in %; 'own': as many as have weight")
    print(f"{'':<16}{'':<8}{'own':>14}" + "".join(f"{n:>14}" for n in numbers))
    for name in (
        ("sonar", "colon") if options.quick else ("sonar", "wdbc", "colon", "colon_discrete", "srbct_khan", "glioma")
    ):
        X, y = load(name)
        folds = StratifiedKFold(10 if min(np.bincount(y)) >= 10 else 5, shuffle=True, random_state=0).split(X, y)
        kept = tuple(n for n in numbers if n <= X.shape[1])
        with harness.one_thread():
            found = joblib.Parallel(options.jobs)(joblib.delayed(ranked)(X, y, a, b, kept) for a, b in folds)
        for method in ("I-KDR", "ANOVA"):
            values = np.array([f[method] for f in found])
            row = "".join(f"{protocol.text(v.tolist()):>14}" for v in values.T)
            count = (
                f"   {np.mean([f['features'] for f in found]):.1f} features with weight" if method == "I-KDR" else ""
            )
            print(f"{name:<16}{method:<8}{row}{count}", flush=True)


def starts(_: str, options: Options) -> None:
    """The default start against the best of it and ten random ones, with more dimensions than classes."""
    print("\nF at the end over the best of 11 starts: four digits, 25 pictures each; median, largest of the draws")
    digits, labels = load_digits(return_X_y=True)
    for groups, lam, k in itertools.product(("all", None), (0.1, 1.0), (6, 8)):
        ratios = []
        for seed in range(4 if options.quick else 12):
            rng = np.random.default_rng(seed)
            kept = np.concatenate(
                [rng.permutation(np.flatnonzero(labels == c))[:25] for c in rng.choice(10, 4, replace=False)]
            )
            given = {"groups": groups, "n_components": k, "lam": lam, "n_threads": 1}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = fastfs.ikdr(digits[kept], labels[kept], **given).objective
                others = [
                    fastfs.ikdr(
                        digits[kept], labels[kept], start=rng.dirichlet(np.full(100, 0.05), k).T, **given
                    ).objective
                    for _ in range(10)
                ]
            ratios.append(ours / min(ours, *others))
        kind = "a kernel a feature" if groups is None else "one kernel"
        print(f"{kind:<20}lam {lam:<4g}k {k}: {np.median(ratios):.4f} {max(ratios):.4f}", flush=True)


EXPERIMENTS: dict[str, Callable[[str, Options], None]] = {
    **dict.fromkeys(
        ("sonar", "colon", "colon_discrete", "wine", "srbct_khan", "orl_faces32", "news_pcmac", *NEW), experiment
    ),
    "mkl": trace_ratios,
    "comp-features": comp_features,
    "settings": settings,
    "stages": stages,
    "classes": classes,
    "clusters": many,
    "groups": squares,
    "selection": selection,
    "starts": starts,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that were named, or all."""
    parser = argparse.ArgumentParser(description="I-KDR's experiments")
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer folds, numbers of dimensions and sets")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments, namespace=Options())
    harness.machine()
    for name in options.names or EXPERIMENTS:  # type: ignore[attr-defined]
        EXPERIMENTS[name](name, options)
    print("\nGli85 and XM2VTS aren't available to us: not repeated.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
