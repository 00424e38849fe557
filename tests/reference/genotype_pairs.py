"""Plain NumPy oracle of pairs of SNPs as classes of genotypes: two least-squares fits on indicators for each pair."""

import numpy as np


def indicators(codes):
    """Return a column for each code that occurs."""
    return (codes[:, None] == np.unique(codes)).astype(float)


def fit(design, y):
    """Return the residual sum of squares, and the rank of the design."""
    scaled = design / np.maximum(np.abs(design).max(axis=0), 1e-300)
    effects, _, rank, _ = np.linalg.lstsq(scaled, y, rcond=1e-10)
    return np.sum((y - scaled @ effects) ** 2), rank


def interaction(g, h, y, covariates=None):
    """Return F times its first degrees of freedom, both degrees, the counts and the means of all two genotypes."""
    known = ~(np.isnan(g) | np.isnan(h))
    Z = np.empty((len(y), 0)) if covariates is None else np.asarray(covariates, float).reshape(len(y), -1)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    target = (y - y.mean()) / y.std()
    g, h, Z, target = g[known], h[known], Z[known], target[known]
    additive, rank_additive = fit(np.column_stack([indicators(g), indicators(h), Z]), target)
    full, rank_full = fit(np.column_stack([indicators(3 * g + h), Z]), target)
    degrees, rest = rank_full - rank_additive, known.sum() - rank_full
    counts, means = np.zeros((3, 3)), np.full((3, 3), np.nan)
    for a in range(3):
        for b in range(3):
            both = (g == a) & (h == b)
            counts[a, b] = both.sum()
            if both.any():
                means[a, b] = y[known][both].mean()
    statistic = (additive - full) / full * rest if degrees and rest > 0 else np.nan
    return statistic, degrees, rest, np.stack([counts, means], axis=2)


def scan(G, y, covariates=None):
    """Return a dict of the pairs of SNPs with what `interaction` tells of them, of pairs that have a test."""
    G = np.asarray(G, float)
    pairs = {(i, j): interaction(G[:, i], G[:, j], y, covariates) for j in range(G.shape[1]) for i in range(j)}
    return {pair: of for pair, of in pairs.items() if of[1] > 0 and of[2] >= 3}
