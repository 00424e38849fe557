"""ManiFeSt from its formulas, in plain NumPy: the oracle that the core is compared with.

Equation numbers are those of Cohen, Shnitzer, Kluger and Talmon, "ManiFeSt: Manifold-based Feature Selection for Small
Data Sets", 2022 (arXiv 2207.08574). Four routes lead to the difference operator D:

* `geometric_mean` and `difference`, equations (2) and (3) as printed; both kernels must have full rank;
* `manifest_mp`, the same two equations in 50-digit arithmetic, for at most a dozen features;
* `pencil`, which needs no inverse of a kernel and is therefore the reference for singular ones;
* `spsd`, the paper's Algorithm 2, which at full rank agrees with them and below is another definition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .affinity import as_dense, custom, sqeuclidean


@dataclass
class Result:
    """What `manifest` returns: the scores and everything they were made from."""

    scores: np.ndarray
    sigma: tuple[float, float]
    M: np.ndarray
    D: np.ndarray
    K1: np.ndarray
    K2: np.ndarray


# --------------------------------------------------------------------------------------------------- kernels, eq. (1)


def distances(X: Any) -> np.ndarray:
    """Euclidean distances between the columns of X, the D_l of eq. (1), by differences."""
    return np.sqrt(sqeuclidean(X))


def sigma_rule(D: np.ndarray, rule: str = "median", factor: float = 0.5, percentile: float = 50.0) -> float:
    """The scale of one class from its distances: factor x median, or a percentile, over all ordered pairs i != j.

    Zero distances between duplicated features count. Only when the rule itself gives 0 although some distance is
    positive are the zeros left out (the core warns then).
    """

    def scale(pairs: np.ndarray) -> float:
        return factor * float(np.median(pairs)) if rule == "median" else float(np.percentile(pairs, percentile))

    pairs = D[~np.eye(len(D), dtype=bool)]
    sigma = scale(pairs)
    return sigma if sigma > 0 else scale(pairs[pairs > 0])


def rbf(D: np.ndarray, sigma: float) -> np.ndarray:
    """Eq. (1): K[i, j] = exp(-D[i, j]^2 / (2 sigma^2))."""
    return np.exp(-(D**2) / (2 * sigma**2))


def normalize(K: np.ndarray, times: int = 3) -> np.ndarray:
    """Symmetric normalisation, `times` times: K <- diag(q)^(-1/2) K diag(q)^(-1/2) with q = K 1, q anew each time."""
    for _ in range(times):
        q = K.sum(axis=1)
        K = K / np.sqrt(np.outer(q, q))
    return K


# -------------------------------------------------------------------------------------- operators, eqs. (2), (3), (4)


def spectral_function(A: np.ndarray, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """f(A) = V diag(f(w)) V' for a symmetric A = V diag(w) V'; the roots and the logarithm of eqs. (2) and (3)."""
    w, V = np.linalg.eigh((A + A.T) / 2)
    return (V * f(w)) @ V.T


def geometric_mean(K1: np.ndarray, K2: np.ndarray) -> np.ndarray:
    """Eq. (2): M = K1^(1/2) (K1^(-1/2) K2 K1^(-1/2))^(1/2) K1^(1/2)."""
    root = spectral_function(K1, np.sqrt)
    inverse_root = spectral_function(K1, lambda w: 1 / np.sqrt(w))
    return root @ spectral_function(inverse_root @ K2 @ inverse_root, np.sqrt) @ root


def difference(K1: np.ndarray, K2: np.ndarray) -> np.ndarray:
    """Eq. (3): D = M^(1/2) log(M^(-1/2) K1 M^(-1/2)) M^(1/2), M from eq. (2)."""
    M = geometric_mean(K1, K2)
    root = spectral_function(M, np.sqrt)
    inverse_root = spectral_function(M, lambda w: 1 / np.sqrt(w))
    return root @ spectral_function(inverse_root @ K1 @ inverse_root, np.log) @ root


def scores(D: np.ndarray) -> np.ndarray:
    """Eq. (4): r_j = sum_i |lam_i| P[j, i]^2 with D = P diag(lam) P'."""
    lam, P = np.linalg.eigh((D + D.T) / 2)
    return P**2 @ np.abs(lam)


def pencil(K1: np.ndarray, K2: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """M, D and the rank of K1 + K2, from the pencil (K1, K1 + K2); also right where the kernels are singular.

    S = K1 + K2 = V diag(w) V' is cut to its numerical range; on it Z' K1 Z = Y diag(mu) Y' with Z = V diag(w)^(-1/2).
    With W = V diag(w)^(1/2) Y the kernels are K1 = W diag(mu) W' and K2 = W diag(1 - mu) W', so that eqs. (2) and (3)
    act on each mu alone: M = W diag(sqrt(mu (1 - mu))) W' and D = W diag(h(mu)) W', where
    h(mu) = 1/2 sqrt(mu (1 - mu)) log(mu / (1 - mu)) and h(0) = h(1) = 0.
    """
    d = len(K1)
    w, V = np.linalg.eigh(K1 + K2)
    keep = w > d * np.finfo(float).eps * w.max()
    w, V = w[keep], V[:, keep]
    Z = V / np.sqrt(w)
    mu, Y = np.linalg.eigh(Z.T @ K1 @ Z)
    mu = np.clip(mu, 0, 1)
    W = V * np.sqrt(w) @ Y
    geometric = np.sqrt(mu * (1 - mu))
    h = np.zeros_like(mu)
    inside = (mu > 0) & (mu < 1)
    h[inside] = 0.5 * geometric[inside] * (np.log(mu[inside]) - np.log1p(-mu[inside]))
    return (W * geometric) @ W.T, (W * h) @ W.T, int(keep.sum())


def spd(K1: np.ndarray, K2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and D by eqs. (2) and (3), for K + 2 eps I in place of K, as the public program has it."""
    ridge = 2 * np.finfo(float).eps * np.eye(len(K1))
    return geometric_mean(K1 + ridge, K2 + ridge), difference(K1 + ridge, K2 + ridge)


def spsd(K1: np.ndarray, K2: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """M, D and the rank they are cut to by Algorithm 2 (appendix B), with the thresholds of the public program."""
    d, eps = len(K1), np.finfo(float).eps

    def leading(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w, G = np.linalg.eigh((K + K.T) / 2)
        order = [i for i in np.argsort(-np.abs(w)) if abs(w[i]) > w.max() * d * eps]
        return w[order], G[:, order]

    def root(A: np.ndarray) -> np.ndarray:
        return spectral_function(A, lambda w: np.sqrt(np.maximum(w, 0)))

    def inverse_root(A: np.ndarray) -> np.ndarray:
        return spectral_function(A, lambda w: 1 / np.sqrt(w))

    # Principal vectors of both ranges, and the kernels' cores seen from them.
    (w1, G1), (w2, G2) = leading(K1), leading(K2)
    k = min(len(w1), len(w2))
    w1, G1, w2, G2 = w1[:k], G1[:, :k], w2[:k], G2[:, :k]
    O2, s, O1t = np.linalg.svd(G2.T @ G1)
    s = np.clip(s, -1, 1)
    theta = np.arccos(s)
    U1, U2 = G1 @ O1t.T, G2 @ O2
    R1, R2 = O1t @ np.diag(w1) @ O1t.T, O2.T @ np.diag(w2) @ O2

    # M: the middle of the paths between the ranges and between the cores.
    P = root(R1) @ root(inverse_root(R1) @ R2 @ inverse_root(R1)) @ root(R1)
    with np.errstate(divide="ignore"):
        inverse_sin = np.where(np.abs(s - 1) <= s.max() * k * eps, 0, 1 / np.sin(theta))
    off = (np.eye(d) - U1 @ U1.T) @ U2 @ np.diag(inverse_sin)
    GM = U1 @ np.diag(np.cos(theta / 2)) + off @ np.diag(np.sin(theta / 2))
    M = GM @ P @ GM.T

    # D: the logarithm of K1 at M, in the range of K1, where the path from M ends.
    wM, GM = leading(M)
    k = min(k, len(wM))
    wM, GM, w1, G1 = wM[:k], GM[:, :k], w1[:k], G1[:, :k]
    O1, _, OMt = np.linalg.svd(G1.T @ GM)
    RM, R1 = OMt @ np.diag(wM) @ OMt.T, O1.T @ np.diag(w1) @ O1
    logarithm = spectral_function(
        inverse_root(RM) @ R1 @ inverse_root(RM), lambda e: np.log(np.maximum(e, e.max() * k * eps))
    )
    return M, G1 @ O1 @ root(RM) @ logarithm @ root(RM) @ (G1 @ O1).T, k


def manifest_mp(K1: np.ndarray, K2: np.ndarray, digits: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Scores and D from eqs. (2), (3) and (4) in `digits`-digit arithmetic, rounded to float64 at the end only."""
    import mpmath  # here, because the benchmarks use this module too and need no such package

    with mpmath.workdps(digits):

        def function(A: Any, f: Callable[[Any], Any]) -> Any:
            w, V = mpmath.eigsy((A + A.T) / 2)
            return V * mpmath.diag([f(x) for x in w]) * V.T

        def inverse_root(x: Any) -> Any:
            return 1 / mpmath.sqrt(x)

        A1, A2 = mpmath.matrix(K1.tolist()), mpmath.matrix(K2.tolist())
        root, inverse = function(A1, mpmath.sqrt), function(A1, inverse_root)
        M = root * function(inverse * A2 * inverse, mpmath.sqrt) * root  # eq. (2)
        root, inverse = function(M, mpmath.sqrt), function(M, inverse_root)
        D = root * function(inverse * A1 * inverse, mpmath.log) * root  # eq. (3)
        absolute = function(D, abs)  # eq. (4): r is the diagonal of |D|
        d = len(K1)
        r = np.array([float(absolute[i, i]) for i in range(d)])
        return r, np.array([[float(D[i, j]) for j in range(d)] for i in range(d)])


def singular_mp(K1: np.ndarray, K2: np.ndarray, digits: int = 80) -> np.ndarray:
    """Scores of the pencil in `digits`-digit arithmetic, where K1 or K2 alone is singular and K1 + K2 is not."""
    import mpmath

    with mpmath.workdps(digits):

        def function(A: Any, f: Callable[[Any], Any]) -> Any:
            w, V = mpmath.eigsy((A + A.T) / 2)
            return V * mpmath.diag([f(x) for x in w]) * V.T

        def weight(nu: Any) -> Any:
            return (
                0 if 1 - abs(nu) < mpmath.mpf(10) ** (-digits // 2) else mpmath.sqrt(1 - nu**2) * mpmath.atanh(nu) / 2
            )

        A1, A2 = mpmath.matrix(K1.tolist()), mpmath.matrix(K2.tolist())
        root, inverse = function(A1 + A2, mpmath.sqrt), function(A1 + A2, lambda x: 1 / mpmath.sqrt(x))
        absolute = function(root * function(inverse * (A1 - A2) * inverse, weight) * root, abs)
        return np.array([float(absolute[i, i]) for i in range(len(K1))])


# ------------------------------------------------------------------------------------------------ from data to scores


def kernels(
    X: Any,
    y: Any,
    *,
    sigma: str | tuple[float, float] = "median",
    sigma_factor: float = 0.5,
    sigma_percentile: float = 50.0,
    normalize: int = 0,
    kernel: Callable[..., np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """K1 and K2 of eq. (1), normalised if asked for, and the two scales; class 1 is the smaller label.

    `kernel`: f(D2, |x_i|^2, |x_j|^2, sigma), in place of the Gaussian one.
    """
    X, y = as_dense(X), np.asarray(y)
    D1, D2 = (distances(X[y == label]) for label in np.unique(y))
    if isinstance(sigma, str):
        s1, s2 = (sigma_rule(D, sigma, sigma_factor, sigma_percentile) for D in (D1, D2))
    else:
        s1, s2 = sigma
    if kernel is None:
        K1, K2 = rbf(D1, s1), rbf(D2, s2)
    else:
        K1, K2 = (custom(X[y == c], kernel, s) for c, s in zip(np.unique(y), (s1, s2), strict=True))
    return _normalize(K1, normalize), _normalize(K2, normalize), (s1, s2)


_normalize = normalize  # `kernels` and `manifest` take an argument of this name, like the public function they mirror


def manifest(X: Any, y: Any, *, singular: bool = False, **options: Any) -> Result:
    """Scores of `fastfs.manifest_scores(X, y, **options)`: eqs. (1) to (4) in order.

    ``singular=True`` takes D and M from `pencil`, which equations (2) and (3) cannot give for singular kernels.
    """
    K1, K2, sigma = kernels(X, y, **options)
    if singular:
        M, D, _ = pencil(K1, K2)
    else:
        M, D = geometric_mean(K1, K2), difference(K1, K2)
    return Result(scores=scores(D), sigma=sigma, M=M, D=D, K1=K1, K2=K2)


# ------------------------------------------------------------------------------------------------ more than two classes


@dataclass
class Classes:
    """What `manifest_classes` returns. A problem is a comparison of two kernels."""

    scores: np.ndarray  # (d,), the mean over the problems
    class_scores: np.ndarray  # (C, d), the mean over the problems that name the class
    sigma: np.ndarray  # (C, 2) for one-vs-rest with C > 2: the class and the rest; (C,) otherwise
    problems: list[Result]


def problems(y: Any, multiclass: str = "ovr") -> list[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
    """Of each problem the classes it names, and which samples are on its first and on its second side."""
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    C = len(classes)
    if multiclass == "ovr" and C > 2:
        return [((c,), labels == c, labels != c) for c in range(C)]
    return [((a, b), labels == a, labels == b) for a in range(C) for b in range(a + 1, C)]


def manifest_classes(X: Any, y: Any, *, multiclass: str = "ovr", sigma: Any = "median", **options: Any) -> Classes:
    """One-vs-rest: each class against all other samples; one-vs-one: all pairs. Each is `manifest` of two classes."""
    X = as_dense(X)
    one_vs_rest = multiclass == "ovr" and len(np.unique(y)) > 2
    results, named = [], []
    for which, first, second in problems(y, multiclass):
        rows = first | second
        scales = sigma if isinstance(sigma, str) else np.asarray(sigma)[which[0] if one_vs_rest else list(which)]
        results.append(manifest(X[rows], second[rows], sigma=scales, **options))
        named.append(which)
    r = np.array([result.scores for result in results])
    C = len(np.unique(y))
    class_scores = [np.mean([row for row, which in zip(r, named, strict=True) if c in which], axis=0) for c in range(C)]
    if one_vs_rest:
        scales = np.array([result.sigma for result in results])
    else:
        of_class = {
            c: s for res, which in zip(results, named, strict=True) for c, s in zip(which, res.sigma, strict=True)
        }
        scales = np.array([of_class[c] for c in range(C)])
    return Classes(r.mean(axis=0), np.array(class_scores), scales, results)


# ------------------------------------------------------------------------------------------ the scale, and other scores

# What sigma="grid" looks at: the rule, its value, and how often the kernels are normalised.
GRID = tuple(
    (rule, value, times)
    for times in (0, 3)
    for rule, values in (("median", (0.1, 0.2, 0.5, 1.0)), ("percentile", (5.0, 10.0, 30.0, 50.0, 70.0, 90.0, 95.0)))
    for value in values
)


def grid(X: Any, y: Any, **options: Any) -> list[Classes]:
    """`manifest_classes` for each entry of `GRID`."""
    found = []
    for rule, value, times in GRID:
        scale = {"sigma_factor": value} if rule == "median" else {"sigma_percentile": value}
        found.append(manifest_classes(X, y, sigma=rule, normalize=times, **scale, **options))
    return found


def average_ranks(a: np.ndarray) -> np.ndarray:
    """Ranks from 0; ties share the mean of theirs."""
    return np.array([np.sum(a < x) + (np.sum(a == x) - 1) / 2 for x in a])


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation: Pearson's of the ranks."""
    return float(np.corrcoef(average_ranks(a), average_ranks(b))[0, 1])


def top_overlap(a: np.ndarray, b: np.ndarray, k: int) -> float:
    """Share of the k best of a that are among the k best of b; ties go to the lower index."""
    best = [set(np.argsort(-r, kind="stable")[:k].tolist()) for r in (a, b)]
    return len(best[0] & best[1]) / k


def contrast(r: np.ndarray) -> float:
    """How far the best score stands out: the largest over the median."""
    return float(r.max() / np.median(r))


def min_max(r: Any) -> np.ndarray:
    """To [0, 1]; all equal: 0."""
    r = np.asarray(r, dtype=float)
    return (r - r.min()) / (r.max() - r.min()) if r.max() > r.min() else np.zeros_like(r)


def blend(r: Any, univariate: Any) -> np.ndarray:
    """ManiFeSt's scores and others', each brought to [0, 1], added."""
    return min_max(r) + min_max(univariate)


# ---------------------------------------------------------------------------------------------------- the wide form

# A kernel is modelled by k orthonormal columns G, their eigenvalues w, and its trace t:
# K ~ G diag(w) G' + delta (I - G G'). A `LowRank` is (G, w, t).
LowRank = tuple[np.ndarray, np.ndarray, float]


def shift(kernel: LowRank) -> float:
    """delta: what is left of the trace, spread evenly over the directions outside G."""
    G, w, t = kernel
    d, k = G.shape
    return max((t - w.sum()) / (d - k), 1e-12)


def dense_model(kernel: LowRank) -> np.ndarray:
    """The d x d matrix that a low-rank kernel stands for."""
    G, w, _ = kernel
    return (G * w) @ G.T + shift(kernel) * (np.eye(len(G)) - G @ G.T)


def joint_step(first: LowRank, second: LowRank) -> np.ndarray:
    """Scores of two low-rank kernels from 2k x 2k matrices: Q spans both ranges; off Q both kernels are delta_l I."""
    (G1, w1, _), (G2, w2, _) = first, second
    delta1, delta2 = shift(first), shift(second)
    R2 = G2 - G1 @ (G1.T @ G2)
    R2 -= G1 @ (G1.T @ R2)
    w, V = np.linalg.eigh(R2.T @ R2)
    keep = w > 1e-10
    Q = np.hstack([G1, R2 @ V[:, keep] / np.sqrt(w[keep])])
    A1, A2 = (
        (T * (values - delta)) @ T.T + delta * np.eye(Q.shape[1])
        for T, values, delta in ((Q.T @ G1, w1, delta1), (Q.T @ G2, w2, delta2))
    )
    lam, P = np.linalg.eigh(pencil(A1, A2)[1])
    outside = 0.5 * np.sqrt(delta1 * delta2) * abs(np.log(delta1 / delta2))
    return (Q @ P) ** 2 @ np.abs(lam) + outside * np.maximum(0, 1 - (Q**2).sum(axis=1))


def leading(K: np.ndarray, k: int) -> LowRank:
    """The best of all models of rank k: the leading eigenpairs themselves."""
    w, V = np.linalg.eigh((K + K.T) / 2)
    return V[:, : -k - 1 : -1], w[: -k - 1 : -1], float(np.trace(K))


def cut(F: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """F F' = G diag(w) G' + rest, with the k largest eigenvalues in w that are above rounding."""
    w, V = np.linalg.eigh(F.T @ F)
    keep = np.flatnonzero(w > 1e-12 * w.max())[::-1][:k]
    return F @ V[:, keep] / np.sqrt(w[keep]), w[keep]


def landmarks(K: np.ndarray, k: int, rng: np.random.Generator) -> LowRank:
    """accuracy="low_rank": K[:, I] K[I, I]^-1 K[I, :], 4k columns drawn by the rest of the diagonal, cut to rank k."""
    d = len(K)
    m = min(4 * k, d)
    t = float(np.trace(K))
    F, c, j = np.zeros((d, m)), np.diag(K).copy(), 0
    while j < m and c.sum() > 1e-10 * t:
        drawn = np.unique(rng.choice(d, size=min(32, m - j), p=c / c.sum()))
        G = K[:, drawn] - F[:, :j] @ F[drawn, :j].T
        block = (G[drawn] + G[drawn].T) / 2
        R = np.linalg.cholesky(block + 1e-12 * np.trace(block) * np.eye(len(drawn)))
        T = np.linalg.solve(R, G.T).T
        F[:, j : j + len(drawn)] = T
        c = np.maximum(c - (T**2).sum(axis=1), 0)
        j += len(drawn)
    return *cut(F[:, :j], k), t


def gaussian(K: np.ndarray, k: int, rng: np.random.Generator) -> LowRank:
    """accuracy="low_rank_high": K ~ Y (Omega' Y)^-1 Y', Y = K Omega for 2k random directions, cut to rank k."""
    d = len(K)
    Omega, _ = np.linalg.qr(rng.normal(size=(d, 2 * k)))
    Y = K @ Omega
    nu = 1e-6 * np.linalg.norm(Y)
    Y += nu * Omega
    core = Omega.T @ Y
    R = np.linalg.cholesky((core + core.T) / 2)
    G, w = cut(np.linalg.solve(R, Y.T).T, k)
    return G, np.maximum(w - nu, 1e-12), float(np.trace(K))


def wide(
    X: Any, y: Any, factorise: Callable[[np.ndarray], LowRank], **options: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores of two classes with both kernels replaced by their models, the models' M and D, and the kept traces.

    By the d x d matrices that the models stand for; `joint_step` gives the same scores.
    """
    K1, K2, _ = kernels(X, y, **options)
    models = factorise(K1), factorise(K2)
    M, D, _ = pencil(dense_model(models[0]), dense_model(models[1]))
    return scores(D), M, D, np.array([w.sum() / t for _, w, t in models])
