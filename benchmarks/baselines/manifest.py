"""The authors' published ManiFeSt algorithms in NumPy and SciPy: what `bench_manifest` compares with.

Written from the paper (Algorithm 2, and equations (1) to (4)) with the order of steps and the thresholds of the
authors' public program, but as a careful NumPy user would write it: every product with a diagonal matrix is a scaling
of columns, projectors are never formed, and all eigenproblems, singular values and products go through SciPy's BLAS and
LAPACK, the ones that fastfs calls too.

``as_published=True`` does all the d x d eigenproblems that the public program does: it works on the d x d operators and
also returns the eigenpairs of M and D, each computed anew. ``as_published=False`` is the least that the same algorithm
needs for the scores alone; it flatters the algorithm, and the benchmark prints both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import blas
from sklearn.metrics.pairwise import euclidean_distances

EPS = float(np.finfo(np.float64).eps)


def kernels(X: np.ndarray, y: np.ndarray, factor: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (1): RBF kernels between the features of each class, scale = factor x median distance of that class."""
    found = []
    for label in np.unique(y):
        D = euclidean_distances(X[y == label].T)
        sigma = factor * np.median(D[~np.eye(len(D), dtype=bool)])
        found.append(np.exp(-(D**2) / (2 * sigma**2)))
    return found[0], found[1]


def spsd_scores(X: np.ndarray, y: np.ndarray, factor: float = 0.5, *, as_published: bool = True) -> np.ndarray:
    """Scores by Algorithm 2 (geodesics of semi-definite matrices of fixed rank), the public program's default.

    As published: eigh of K1, K2, M, D and once more of M and D (d x d), two eigh and two SVD of size k. Least: eigh of
    K1 and K2, four eigh and two SVD of size k.
    """
    K1, K2 = kernels(X, y, factor)
    w1, G1 = _leading(K1)
    w2, G2 = _leading(K2)
    k = min(len(w1), len(w2))
    w1, G1, w2, G2 = w1[:k], G1[:, :k], w2[:k], G2[:, :k]

    # M: the middle of the path from K1 to K2, the subspaces and the k x k cores apart.
    GM, O1, O2 = _path(G1, G2, 0.5)
    R2 = _congruence(O2, w2)
    root, inverse_root = _congruence(O1, np.sqrt(w1)), _congruence(O1, 1 / np.sqrt(w1))
    e, V = _eigh(_dot(inverse_root, _dot(R2, inverse_root)))
    core = _dot(root, _dot(_dot(V * np.sqrt(np.maximum(e, 0)), V.T), root))
    if as_published:
        M = _dot(_dot(GM, core), GM.T)
        wM, GM = _leading(M)
    else:  # GM is orthonormal, so the eigenpairs of its k x k core are those of M
        wM, Om = _leading(core)
        GM = _dot(GM, Om)
    kept = min(k, len(wM))
    wM, GM, w1, G1 = wM[:kept], GM[:, :kept], w1[:kept], G1[:, :kept]

    # D: the logarithm of K1 seen from M, carried to the end of the path from M to K1.
    end, OM, O1 = _path(GM, G1, 1.0)
    root, inverse_root = _congruence(OM, np.sqrt(wM)), _congruence(OM, 1 / np.sqrt(wM))
    e, V = _eigh(_dot(inverse_root, _dot(_congruence(O1, w1), inverse_root)))
    e = np.maximum(e, e.max() * kept * EPS)
    E = _dot(root, _dot(_dot(V * np.log(e), V.T), root))
    if as_published:
        D = _dot(_dot(end, E), end.T)
        r = _row_sums(D)
        _eigh(M), _eigh(D)  # the public program's third result: the eigenpairs of both operators
        return r
    lam, Phi = _eigh(E)
    return _dot(_dot(G1, O1), Phi) ** 2 @ np.abs(lam)


def spd_scores(X: np.ndarray, y: np.ndarray, factor: float = 0.5, *, as_published: bool = True) -> np.ndarray:
    """Scores by eqs. (2) to (4) literally, K + 2 eps I in place of K: 7 eigh as published, 5 at least."""
    K1, K2 = kernels(X, y, factor)
    identity = np.eye(len(K1))
    K1, K2 = K1 + 2 * EPS * identity, K2 + 2 * EPS * identity

    w, V = _eigh(K1)
    root, inverse_root = _congruence(V.T, np.sqrt(w)), _congruence(V.T, 1 / np.sqrt(w))
    e, V = _eigh(_dot(inverse_root, _dot(K2, inverse_root)))
    M = _dot(root, _dot(_dot(V * np.sqrt(np.maximum(e, 0)), V.T), root))  # (2)

    w, V = _eigh(M)
    root, inverse_root = _congruence(V.T, np.sqrt(w)), _congruence(V.T, 1 / np.sqrt(w))
    e, V = _eigh(_dot(inverse_root, _dot(K1, inverse_root)))
    e = np.maximum(e, e.max() * len(e) * EPS)
    D = _dot(root, _dot(_dot(V * np.log(e), V.T), root))  # (3)
    r = _row_sums(D)  # (4)
    if as_published:
        _eigh(M), _eigh(D)
    return r


def _eigh(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    w, V = linalg.eigh(A, driver="evd", check_finite=False)
    return w, V


def _leading(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs above the program's rank threshold |w| > w_max n eps, the largest first."""
    w, V = _eigh(A)
    order = np.argsort(np.abs(w))[::-1]
    order = order[np.abs(w[order]) > w.max() * len(w) * EPS]
    return w[order], V[:, order]


def _path(G1: np.ndarray, G2: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The subspace a share p of the way from span(G1) to span(G2), and the rotations O1, O2 to principal vectors."""
    O2, s, O1t = linalg.svd(_dot(G2.T, G1), check_finite=False)
    s = np.clip(s, -1, 1)
    theta = np.arccos(s)
    U1, U2 = _dot(G1, O1t.T), _dot(G2, O2)
    inverse_sin = np.zeros_like(theta)
    apart = np.abs(s - 1) > s.max() * len(s) * EPS
    inverse_sin[apart] = 1 / np.sin(theta[apart])
    off = U2 - _dot(U1, _dot(U1.T, U2))
    return U1 * np.cos(p * theta) + off * (inverse_sin * np.sin(p * theta)), O1t.T, O2


def _congruence(Q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Q' diag(w) Q."""
    return _dot(Q.T * w, Q)


def _row_sums(D: np.ndarray) -> np.ndarray:
    """Eq. (4)."""
    lam, P = _eigh(D)
    return P**2 @ np.abs(lam)


def _dot(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B by SciPy's dgemm: NumPy wheels carry a BLAS of their own. Transposed views go in without a copy."""
    a, b = _fortran(A), _fortran(B)
    result: Any = blas.dgemm(1.0, a[0], b[0], trans_a=a[1], trans_b=b[1])
    return np.asarray(result)


def _fortran(A: np.ndarray) -> tuple[np.ndarray, bool]:
    return (A, False) if A.flags.f_contiguous else (A.T, True)
