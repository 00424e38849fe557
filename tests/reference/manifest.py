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
