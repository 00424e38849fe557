"""The nearest other columns of each column of X, written to be obvious: all pairs, float64, by differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.affinity import as_dense


def nearest_features(X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k least distances of each column to the others and whose they are; ties go to the lower index."""
    X = as_dense(X)
    d = X.shape[1]
    neighbors, distances = np.empty((d, k), dtype=np.int64), np.empty((d, k))
    for i in range(d):
        distance = np.sqrt(((X - X[:, [i]]) ** 2).sum(axis=0))
        others = np.delete(np.arange(d), i)
        neighbors[i] = others[np.argsort(distance[others], kind="stable")][:k]
        distances[i] = distance[neighbors[i]]
    return neighbors, distances
