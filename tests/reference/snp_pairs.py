"""Pairs of SNPs in plain NumPy: tables by counting, and the model without interaction by logistic regression.

Iterative proportional fitting, the usual way, is an independent check of that.
"""

import numpy as np

from reference.correlation import step_down


def tables(X, labels, pairs):
    """Samples by the genotypes (0, 1, 2) of both SNPs of each pair and by class, if they have both calls."""
    counts = np.empty((len(pairs), 3, 3, 2), np.int64)
    for c in (0, 1):
        of = [(X[labels == c] == g).astype(float) for g in range(3)]
        for a in range(3):
            for b in range(3):
                counts[:, a, b, c] = np.rint(of[a].T @ of[b])[tuple(np.transpose(pairs))]
    return counts


def log_likelihood(counts, expected):
    """Of counts (pairs x 3 x 3 x 2) given the shares that belong to expected counts."""
    n = expected.sum(axis=(1, 2, 3), keepdims=True)
    some = counts > 0
    terms = np.zeros(counts.shape)
    terms[some] = counts[some] * np.log((expected / n)[some])
    return terms.sum(axis=(1, 2, 3))


def proportional_fit(counts, rounds=20_000):
    """Iterative proportional fitting without a three-way term: slow if a fitted count tends to 0."""
    n = counts.astype(float)
    fitted = np.ones(n.shape)
    for _ in range(rounds):
        before = fitted
        for axis in (1, 2, 3):
            margin, now = n.sum(axis=axis, keepdims=True), fitted.sum(axis=axis, keepdims=True)
            fitted = fitted * np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
        if np.abs(fitted - before).max() < 1e-13 * n.max():
            break
    return fitted


def logistic_fit(counts, rounds=100):
    """Logistic regression of the class on both genotypes as factors, by Newton's method."""
    a, b = np.divmod(np.arange(9), 3)
    design = np.column_stack([a == 0, a == 1, a == 2, b == 1, b == 2]).astype(float)
    n, ones = counts.sum(axis=3).reshape(-1, 9).astype(float), counts[..., 1].reshape(-1, 9)

    def value(effects, at):
        odds = effects @ design.T
        return np.sum(ones[at] * odds - n[at] * np.logaddexp(0, odds), axis=1)

    effects, at = np.zeros((len(counts), 5)), np.arange(len(counts))
    for _ in range(rounds):
        share = 1 / (1 + np.exp(-(effects[at] @ design.T)))
        curvature = np.einsum("pk,ki,kj->pij", n[at] * share * (1 - share), design, design, optimize=True)
        gradient = (ones[at] - n[at] * share) @ design
        step = np.einsum("pij,pj->pi", np.linalg.pinv(curvature, rcond=1e-12, hermitian=True), gradient)
        gain, before = np.sum(step * gradient, axis=1), value(effects[at], at)
        for _ in range(40):
            if not (worse := value(effects[at] + step, at) < before).any():
                break
            step[worse] /= 2
        step[value(effects[at] + step, at) < before] = 0
        effects[at] += step
        if len(at := at[(gain > 1e-13) & step.any(axis=1)]) == 0:
            break
    share = 1 / (1 + np.exp(-(effects @ design.T)))
    return (n[..., None] * np.stack([1 - share, share], axis=2)).reshape(counts.shape)


def kirkwood(counts):
    """The superposition approximation, normalised, which has no three-way term."""
    n = counts / counts.sum(axis=(1, 2, 3), keepdims=True)
    two = np.prod([n.sum(axis=axis, keepdims=True) * np.ones(n.shape) for axis in (1, 2, 3)], axis=0)
    one = np.prod([n.sum(axis=axes, keepdims=True) * np.ones(n.shape) for axes in ((1, 2), (1, 3), (2, 3))], axis=0)
    shares = np.divide(two, one, out=np.zeros(n.shape), where=one > 0)
    return shares / shares.sum(axis=(1, 2, 3), keepdims=True) * counts.sum(axis=(1, 2, 3), keepdims=True)


def ratio(counts, expected):
    """G^2 of tables against fitted counts."""
    return np.maximum(0, 2 * (log_likelihood(counts, counts) - log_likelihood(counts, expected)))


def degrees(counts):
    r, s = ((counts.sum(axis=axes) > 0).sum(axis=1) for axes in ((2, 3), (1, 3)))
    return np.maximum(r - 1, 0) * np.maximum(s - 1, 0)


class SnpPairs:
    """All pairs of SNPs that vary, in the order of their columns, under the true labels and others."""

    def __init__(self, X, labels, labelings=()):
        X = np.asarray(X, float)
        varying = np.array([j for j in range(X.shape[1]) if len(np.unique(X[~np.isnan(X[:, j]), j])) > 1])
        self.pairs = varying[np.array(np.triu_indices(len(varying), 1)).T]
        self.tables = tables(X, labels, self.pairs)
        self.degrees = degrees(self.tables)
        self.statistic = self._statistics(self.tables)
        null = [self._statistics(tables(X, b, self.pairs)) for b in labelings]
        self.null = np.array(null).reshape(-1, len(self.pairs))
        self.null_maxima = self.null.max(axis=1, initial=0.0)

    def _statistics(self, counts):
        return np.where(degrees(counts) > 0, ratio(counts, logistic_fit(counts)), 0.0)

    def pvalues(self, order):
        """Of the pairs in this order; those that aren't in it count as weaker."""
        others = np.setdiff1d(np.arange(len(self.pairs)), order)
        return step_down(self.statistic[order], self.null[:, np.concatenate([order, others]).astype(int)])
