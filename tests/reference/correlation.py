"""Differential correlation in plain NumPy: the definition, pair by pair, with tables of all pairs."""

import numpy as np
from scipy.stats import rankdata, spearmanr

COPY = 1e-12


def fisher_z(r1, r2, n1, n2, factor=1.0):
    """DGCA: the difference of Fisher's transforms over its standard deviation."""
    return (np.arctanh(r1) - np.arctanh(r2)) / np.sqrt(factor / (n1 - 3) + factor / (n2 - 3))


def standardise(X, labels, correlation="pearson"):
    """Columns of mean 0 and mean square 1 in each class, or over both if of two values; NaN if constant in one."""
    Z = np.empty(X.shape)
    for c in (0, 1):
        rows = X[labels == c].astype(float)
        if correlation == "spearman":
            rows = rankdata(rows, axis=0)
        constant = (rows == rows[0]).all(axis=0)
        rows = rows - rows.mean(axis=0)
        Z[labels == c] = np.where(constant, np.nan, rows / np.sqrt(np.mean(rows**2, axis=0) + constant))
    all_rows = (X - X.mean(axis=0)) / np.where(two_valued(X), X.std(axis=0), 1)
    return np.where(two_valued(X) & ~np.isnan(Z), all_rows, Z)


def two_valued(X):
    return np.array([len(np.unique(column)) == 2 for column in np.asarray(X).T])


def with_chance(Z, truth, other, fixed):
    """Rows of each true class with the mean and the standard deviation of that class of another labeling."""
    if other is None or np.bincount(other, minlength=2).min() < 4:
        return Z
    found = Z.copy()
    for c in (0, 1):
        rows = Z[other == c]
        spread = np.sqrt(np.mean((rows - rows.mean(axis=0)) ** 2, axis=0))
        moved = rows.mean(axis=0) + np.where(spread > 1e-12, spread, 1) * Z[truth == c]
        found[truth == c] = np.where(fixed, Z[truth == c], moved)
    return found


def limit(n1, n2, correlation):
    """Half the step from equal ranks to ranks of which two neighbours are exchanged, in the smaller class."""
    if correlation == "pearson":
        return 1 - COPY
    ranks = np.arange(min(n1, n2))
    exchanged = ranks.copy()
    exchanged[:2] = 1, 0
    return min((1 + spearmanr(ranks, exchanged).statistic) / 2, 1 - COPY)


def statistics(Z, labels, correlation="pearson"):
    """Correlations in both classes and z of all pairs i < j; 0 where a correlation isn't defined, and for copies."""
    i, j = np.triu_indices(Z.shape[1], 1)
    r, defined = [], np.ones(len(i), bool)
    for c in (0, 1):
        rows = Z[labels == c]
        rows = rows - rows.mean(axis=0)
        length = np.sqrt(np.sum(rows**2, axis=0))
        constant = length**2 <= 1e-24 * len(rows)
        R = (rows.T @ rows) / np.outer(length + constant, length + constant)
        r.append(np.clip(R[i, j], -1, 1))
        defined &= ~constant[i] & ~constant[j]
    defined &= np.abs(r[0] + r[1]) <= 2 - COPY
    n1, n2 = np.bincount(labels, minlength=2)
    if min(n1, n2) < 4:
        return np.array(r), np.zeros(len(i)), np.zeros(len(i), bool)
    finite = np.clip(r, -limit(n1, n2, correlation), limit(n1, n2, correlation))
    return (
        np.array(r),
        np.where(defined, fisher_z(*finite, n1, n2, 1.06 if correlation == "spearman" else 1.0), 0.0),
        defined,
    )


def step_down(strength, null, tie=1e-9):
    """Westfall and Young's p-values of pairs by descending strength; null has a column for each, and maybe more."""
    u = np.maximum.accumulate(null[:, ::-1], axis=1)[:, ::-1][:, : len(strength)]
    reached = np.sum(u >= strength * (1 - tie), axis=0)
    return np.maximum.accumulate((1 + reached) / (1 + len(null)))


class DifferentialCorrelation:
    """All pairs of features that vary in both classes, in the order of their columns, under the true labels and others.

    `defined` tells which are no copies; copies, whose `z` is 0, may have values in `null`.
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
        null = []
        for b, other in zip(labelings, [None, *labelings], strict=False):
            rows = with_chance(Z[:, kept], labels, other, two_valued(X)[kept])
            null.append(np.abs(statistics(rows, np.asarray(b), correlation)[1]))
        self.null = np.array(null).reshape(-1, len(self.z))
        self.null_maxima = self.null.max(axis=1, initial=0.0)

    def pvalues(self, order):
        """Of the pairs in this order; those that aren't in it count as weaker."""
        others = np.setdiff1d(np.arange(len(self.z)), order)
        strength = np.abs(self.z[order])
        return step_down(strength, self.null[:, np.concatenate([order, others]).astype(int)])
