"""RELIEF, ReliefF and MultiSURF in plain NumPy, from their definitions: the oracle of the tests.

`relief_terms` and so on give one row a target sample, whose mean are the scores, and beside it how far the nearest
decision was from a tie: the smallest gap between a neighbour taken and one left out, relative to the larger distance.
float32 kernels may decide otherwise where that gap is about their eps. An exact tie, which goes to the lowest row, is
no gap.
"""

from __future__ import annotations

import numpy as np

from reference.relief_family import tied


def scale(X, scaling):
    """The features that aren't constant, scaled, and their columns."""
    X = np.asarray(X, dtype=float)
    used = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    Z = X[:, used]
    if scaling == "range":
        Z = (Z - Z.min(axis=0)) / (Z.max(axis=0) - Z.min(axis=0))
    elif scaling == "standard":
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    else:
        assert scaling is None
    return Z, used


def spread(values, used, n_features):
    """Zero for constant features."""
    all_features = np.zeros((*np.shape(values)[:-1], n_features))
    all_features[..., used] = values
    return all_features


def nearest(distances, candidates, k):
    """The k candidates at the smallest distances, lowest first on ties, and the gap to the next one."""
    order = candidates[np.argsort(tied(distances[candidates]), kind="stable")]
    if len(order) <= k:
        return order, np.inf
    inner, outer = distances[order[k - 1]], distances[order[k]]
    return order[:k], np.inf if inner == outer else (outer - inner) / outer


def relief_terms(X, y, scaling="range"):
    """(miss - hit) of the nearest hit and miss in squares, and in absolute values: N x A each; and the gap.

    Zeros for a sample without hits.
    """
    Z, used = scale(X, scaling)
    D = np.abs(Z[:, None] - Z[None])
    distances = (D**2).sum(axis=2)
    y, n = np.asarray(y), len(Z)
    squares, absolute, gap = np.zeros(Z.shape), np.zeros(Z.shape), np.inf
    for i in range(n):
        hits, misses = np.flatnonzero((y == y[i]) & (np.arange(n) != i)), np.flatnonzero(y != y[i])
        if len(hits) == 0:
            continue
        for sign, candidates in ((-1, hits), (1, misses)):
            (j,), gap_i = nearest(distances[i], candidates, 1)
            gap = min(gap, gap_i)
            squares[i] += sign * D[i, j] ** 2
            absolute[i] += sign * D[i, j]
    n_features = np.shape(X)[1]
    return spread(squares, used, n_features), spread(absolute, used, n_features), gap


def relief(X, y, scaling="range"):
    return relief_terms(X, y, scaling)[0].mean(axis=0)


def relief_closed_form(X, y, scaling="range"):
    w = np.maximum(relief_terms(X, y, scaling)[1].sum(axis=0), 0)
    return w / np.linalg.norm(w) if w.any() else w


def relieff_terms(X, y, n_neighbors=10, scaling="range"):
    Z, used = scale(X, scaling)
    D = np.abs(Z[:, None] - Z[None])
    distances = D.sum(axis=2)
    y, n = np.asarray(y), len(Z)
    classes, counts = np.unique(y, return_counts=True)
    prior = dict(zip(classes.tolist(), counts / n, strict=True))
    terms, gap = np.zeros(Z.shape), np.inf
    for i in range(n):
        for c in classes.tolist():
            candidates = np.flatnonzero((y == c) & (np.arange(n) != i))
            if len(candidates) == 0:
                continue
            found, gap_i = nearest(distances[i], candidates, n_neighbors)
            gap = min(gap, gap_i)
            weight = -1 if c == y[i] else prior[c] / (1 - prior[y[i]])
            terms[i] += weight * D[i, found].mean(axis=0)
    return spread(terms, used, np.shape(X)[1]), gap


def relieff(X, y, n_neighbors=10, scaling="range"):
    return relieff_terms(X, y, n_neighbors, scaling)[0].mean(axis=0)


def multisurf_terms(X, y, scaling="range"):
    """Near: below the mean less half the standard deviation of the sample's distances to all others.

    With more than two classes, the mean over near misses of class c counts as often as c among them, squared, times the
    number of other classes, as in scikit-rebate.
    """
    Z, used = scale(X, scaling)
    D = np.abs(Z[:, None] - Z[None])
    distances = D.sum(axis=2)
    y, n = np.asarray(y), len(Z)
    terms, gap = np.zeros(Z.shape), np.inf
    for i in range(n):
        others = np.flatnonzero(np.arange(n) != i)
        d = distances[i, others]
        threshold = d.mean() - d.std() / 2
        if np.ptp(d) > 0:
            gap = min(gap, np.abs(d - threshold).min() / d.max())
        near = others[d < threshold]
        hits, misses = near[y[near] == y[i]], near[y[near] != y[i]]
        if len(hits):
            terms[i] -= D[i, hits].mean(axis=0)
        for c in np.unique(y[misses]):
            of_class = misses[y[misses] == c]
            share = len(of_class) / len(misses)
            terms[i] += (len(np.unique(y)) - 1) * share**2 * D[i, of_class].mean(axis=0)
    return spread(terms, used, np.shape(X)[1]), gap


def multisurf(X, y, scaling="range"):
    return multisurf_terms(X, y, scaling)[0].mean(axis=0)
