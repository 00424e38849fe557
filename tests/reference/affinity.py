"""Affinities between the *columns* of X, written to be obvious: dense, float64, by differences.

No Gram matrix appears here on purpose: ``|a|^2 + |b|^2 - 2 a.b`` cancels, and cancellation is one of the things that
the core is tested for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse


def as_dense(X: Any) -> np.ndarray:
    """X as a dense float64 array; sparse input is filled up with its zeros."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def sqeuclidean(X: Any) -> np.ndarray:
    """D2[i, j] = sum_n (X[n, i] - X[n, j])^2."""
    X = as_dense(X)
    # One row of D2 at a time: a (d, d, N) array of differences would not fit for the sizes tests use.
    return np.array([((X - X[:, [i]]) ** 2).sum(axis=0) for i in range(X.shape[1])])


def rbf(X: Any, sigma: float) -> np.ndarray:
    """K[i, j] = exp(-D2[i, j] / (2 sigma^2)), eq. (1) for one class."""
    return np.exp(-sqeuclidean(X) / (2 * sigma**2))


def custom(X: Any, f: Callable[..., np.ndarray], sigma: float = 1.0) -> np.ndarray:
    """K[i, j] = f(D2[i, j], |x_i|^2, |x_j|^2, sigma), one pair after the other."""
    X = as_dense(X)
    D2, norms = sqeuclidean(X), [float((x**2).sum()) for x in X.T]
    return np.array([[f(D2[i, j], norms[i], norms[j], sigma) for j in range(len(D2))] for i in range(len(D2))])


def linear(X: Any) -> np.ndarray:
    """G[i, j] = sum_n X[n, i] X[n, j]."""
    X = as_dense(X)
    return X.T @ X
