"""ReliefF and MultiSURF in plain NumPy, in float64, one sample after the other."""

from __future__ import annotations

import numpy as np


def scaled(X: np.ndarray) -> np.ndarray:
    """Every feature to [0, 1]; none may be constant."""
    Z = np.asarray(X, np.float64)
    return (Z - Z.min(axis=0)) / np.ptp(Z, axis=0)


def relieff(X: np.ndarray, y: np.ndarray, k: int = 10) -> np.ndarray:
    """k nearest hits and k nearest misses of each other class; every class needs more than k samples."""
    Z, n = scaled(X), len(X)
    shares = np.bincount(y) / n
    scores = np.zeros(Z.shape[1])
    for i in range(n):
        D = np.abs(Z - Z[i])
        order = np.argsort(D.sum(axis=1), kind="stable")
        order = order[order != i]
        for c in range(len(shares)):
            weight = -1.0 if c == y[i] else shares[c] / (1 - shares[y[i]])
            scores += weight * D[order[y[order] == c][:k]].mean(axis=0)
    return scores / n


def multisurf(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Two classes."""
    Z, n = scaled(X), len(X)
    scores = np.zeros(Z.shape[1])
    for i in range(n):
        D = np.abs(Z - Z[i])
        distances = D.sum(axis=1)
        others = np.delete(distances, i)
        near = distances < others.mean() - others.std() / 2
        near[i] = False
        for sign, some in ((-1.0, near & (y == y[i])), (1.0, near & (y != y[i]))):
            if some.any():
                scores += sign * (some / some.sum()) @ D
    return scores / n
