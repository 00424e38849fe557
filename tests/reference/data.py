"""Made-up data of known structure, the same in tests and benchmarks."""

from __future__ import annotations

import numpy as np


def factor_model(
    n_samples: int, n_features: int, seed: int, *, n_factors: int = 20, density: float = 0.1, changed: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """X = F L' + E, where the second class permutes a tenth of the rows of the loadings L among themselves.

    Factors F, noise E and the non-zero tenth of the loadings are N(0, 1). Every second sample is of class 1. Each
    feature keeps its distribution up to the variance; what changes is with whom it goes.
    """
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(n_features, n_factors)) * (rng.random((n_features, n_factors)) < density)
    moved = rng.permutation(n_features)[: round(changed * n_features)]
    loadings_of_second = loadings.copy()
    loadings_of_second[moved] = loadings[rng.permutation(moved)]
    y = np.arange(n_samples) % 2
    F = rng.normal(size=(n_samples, n_factors))
    X = np.where(y[:, None] == 1, F @ loadings_of_second.T, F @ loadings.T) + rng.normal(size=(n_samples, n_features))
    return X, y


def exclusive_or(n_samples: int = 50, n_features: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random bits; the label is the exclusive or of the first two features."""
    X = np.random.default_rng(seed).integers(0, 2, size=(n_samples, n_features)).astype(float)
    return X, X[:, 0] != X[:, 1]


def hypercube(
    n_samples: int = 50, n_features: int = 200, seed: int = 0, n_classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Clusters on the corners of a hypercube in the first 10 features, two of them a class; the others are noise."""
    from sklearn.datasets import make_classification  # here: the oracles need no scikit-learn

    return make_classification(
        n_samples=n_samples,
        n_features=n_features,
        n_informative=10,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=2,
        class_sep=1,
        shuffle=False,
        random_state=seed,
    )


def repeated_columns(
    n_samples: int, n_features: int, n_distinct: int, seed: int = 0, n_classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Features that are copies of a few, one of them constant: kernels of rank `n_distinct` exactly."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    distinct = rng.normal(size=(n_samples, n_distinct))
    distinct[:, 0] = 1.5
    distinct[y == 1, 1] = distinct[y == 1, 2] + 0.3 * rng.normal(size=np.sum(y == 1))
    # Each one at least once, the rest as it comes.
    copies = np.r_[np.arange(n_distinct), rng.integers(0, n_distinct, size=n_features - n_distinct)]
    return distinct[:, rng.permutation(copies)], y


def several_classes(
    n_samples: int = 60, n_features: int = 20, n_classes: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Class c ties feature c to the last one; otherwise noise, of full rank."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.normal(size=(n_samples, n_features))
    for c in range(min(n_classes, n_features - 1)):
        X[y == c, c] = 0.8 * X[y == c, -1] + 0.6 * X[y == c, c]
    return X, y


def classes_that_differ(n=60, n_features=12, n_classes=2, seed=0, dtype="float64"):
    """Classes that differ in the first feature and, by a product of signs, in the next two; units and offsets vary."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, n_features))
    X[:, 0] += y
    if n_features > 2:
        X[:, 1] = np.abs(X[:, 1]) * np.sign(X[:, 2]) * (1 - 2 * (y % 2))
    return (X * 2.0 ** rng.integers(-6, 6, n_features) + rng.normal(size=n_features)).astype(dtype), y
