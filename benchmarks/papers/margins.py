"""Two margin methods before IMMIGRATE, in plain NumPy from their papers: Simba and LFE, for any number of classes.

R. Gilad-Bachrach, A. Navot, N. Tishby, "Margin based feature selection: theory and algorithms", ICML 2004 (Simba).
Y. Sun, D. Wu, "A RELIEF based feature extraction algorithm", SIAM International Conference on Data Mining 2008 (LFE).
"""

from __future__ import annotations

import numpy as np


def nearest(squares: np.ndarray, y: np.ndarray, n: int) -> tuple[int, int]:
    """Nearest hit and nearest miss of sample n by its squared distances to all samples; ties: the first."""
    hits = np.where((y == y[n]) & (np.arange(len(y)) != n), squares, np.inf)
    misses = np.where(y == y[n], np.inf, squares)
    return int(np.argmin(hits)), int(np.argmin(misses))


def simba(X: np.ndarray, y: np.ndarray, passes: int, rng: np.random.Generator) -> np.ndarray:
    """Weights w^2 over the largest: stochastic gradient ascent on the margins.

    Neighbors are those under the present weights: |z|_w = sqrt(sum_i w_i^2 z_i^2). The paper draws samples; here each
    comes once a pass, in random order.
    """
    w = np.ones(X.shape[1])
    for n in np.concatenate([rng.permutation(len(X)) for _ in range(passes)]):
        differences = (X - X[n]) ** 2
        hit, miss = nearest(differences @ w**2, y, n)
        step = np.zeros_like(w)
        for j, sign in ((miss, 0.5), (hit, -0.5)):
            length = np.sqrt(differences[j] @ w**2)
            if length > 0:  # a copy of the sample has no gradient
                step += sign * differences[j] / length
        w += step * w
    return np.asarray(w**2 / np.max(w**2))


def lfe(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """W that maximises the sum of d' W d over nearest misses less that over nearest hits.

    W is positive semidefinite and of Frobenius norm 1, neighbors are Euclidean. The maximum is the positive part of
    the matrix that the sum defines.
    """
    S = np.zeros((X.shape[1], X.shape[1]))
    for n in range(len(X)):
        differences = X - X[n]
        hit, miss = nearest((differences**2).sum(axis=1), y, n)
        S += np.outer(differences[miss], differences[miss]) - np.outer(differences[hit], differences[hit])
    values, vectors = np.linalg.eigh(S)
    W = (vectors * np.maximum(values, 0)) @ vectors.T
    norm = np.linalg.norm(W)
    return np.asarray(W / norm if norm > 0 else W)
