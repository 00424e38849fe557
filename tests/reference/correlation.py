"""Differential correlation in plain NumPy: the definition, pair by pair, with tables of all pairs."""

import numpy as np
from scipy.stats import rankdata

COPY = 1e-12


def fisher_z(r1, r2, n1, n2, factor=1.0):
    """DGCA: the difference of Fisher's transforms over its standard deviation."""
    return (np.arctanh(r1) - np.arctanh(r2)) / np.sqrt(factor / (n1 - 3) + factor / (n2 - 3))


def standardise(X, labels, correlation="pearson"):
    """Columns of mean 0 and mean square 1 in each class; NaN for those that are constant in one."""
    Z = np.empty(X.shape)
    for c in (0, 1):
        rows = X[labels == c].astype(float)
        if correlation == "spearman":
            rows = rankdata(rows, axis=0)
        constant = (rows == rows[0]).all(axis=0)
        rows = rows - rows.mean(axis=0)
        Z[labels == c] = np.where(constant, np.nan, rows / np.sqrt(np.mean(rows**2, axis=0) + constant))
    return Z


def statistics(Z, labels, correlation="pearson"):
    """Correlations in both classes and z of all pairs i < j; 0 where a correlation isn't defined or is 1."""
    i, j = np.triu_indices(Z.shape[1], 1)
    r, defined = [], np.ones(len(i), bool)
    for c in (0, 1):
        rows = Z[labels == c]
        rows = rows - rows.mean(axis=0)
        length = np.sqrt(np.sum(rows**2, axis=0))
        constant = length**2 <= 1e-24 * len(rows)
        R = (rows.T @ rows) / np.outer(length + constant, length + constant)
        r.append(np.clip(R[i, j], -1, 1))
        defined &= ~constant[i] & ~constant[j] & (np.abs(r[c]) <= 1 - COPY)
    n1, n2 = np.bincount(labels, minlength=2)
    if min(n1, n2) < 4:
        return np.array(r), np.zeros(len(i)), np.zeros(len(i), bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = fisher_z(*r, n1, n2, 1.06 if correlation == "spearman" else 1.0)
    return np.array(r), np.where(defined, z, 0.0), defined


def step_down(strength, null, tie=1e-9):
    """Westfall and Young's p-values of pairs by descending strength; null has a column for each, and maybe more."""
    u = np.maximum.accumulate(null[:, ::-1], axis=1)[:, ::-1][:, : len(strength)]
    reached = np.sum(u >= strength * (1 - tie), axis=0)
    return np.maximum.accumulate((1 + reached) / (1 + len(null)))


class DifferentialCorrelation:
    """All pairs of features that vary in both classes, in the order of their columns, under the true labels and others.

    `defined` tells which are no copies; of others, which `z` is 0, `null` may still have values.
    """

    def __init__(self, X, labels, labelings=(), correlation="pearson"):
        Z = standardise(X, labels, correlation)
        kept = np.flatnonzero(~np.isnan(Z).any(axis=0))
        r, self.z, self.defined = statistics(Z[:, kept], labels, correlation)
        self.correlations = r.T
        self.pairs = kept[np.array(np.triu_indices(len(kept), 1)).T]
        self.scores = np.zeros(X.shape[1])
        np.add.at(self.scores, self.pairs[:, 0], np.abs(self.z))
        np.add.at(self.scores, self.pairs[:, 1], np.abs(self.z))
        null = [np.abs(statistics(Z[:, kept], b, correlation)[1]) for b in labelings]
        self.null = np.array(null).reshape(-1, len(self.z))
        self.null_maxima = self.null.max(axis=1, initial=0.0)

    def pvalues(self, order):
        """Of the pairs in this order; those that aren't in it count as weaker."""
        others = np.setdiff1d(np.arange(len(self.z)), order)
        strength = np.abs(self.z[order])
        return step_down(strength, self.null[:, np.concatenate([order, others]).astype(int)])
