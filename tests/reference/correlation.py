"""Differential correlation in plain NumPy: the definition, pair by pair, with tables of all pairs."""

import numpy as np
from scipy.stats import rankdata, spearmanr

COPY = 1e-12


def fisher_z(r1, r2, n1, n2, factor=1.0):
    """DGCA: the difference of Fisher's transforms over its standard deviation."""
    return (np.arctanh(r1) - np.arctanh(r2)) / np.sqrt(factor / (n1 - 3) + factor / (n2 - 3))


def without_lines(X, labels, covariates, wholes):
    """Columns less their lines in covariates, by least squares with a mean for each class.

    Columns with ties keep theirs if labelings move their places.
    """
    model = np.column_stack([labels[:, None] == np.unique(labels), covariates])
    taken = np.array([wholes or not has_ties(column, labels) for column in X.T])
    return X - np.where(taken, model @ np.linalg.lstsq(model, X, rcond=None)[0], 0)


def standardise(X, labels, correlation="pearson"):
    """Columns of mean 0 and mean square 1 in each class; NaN if constant in one."""
    Z = np.empty(X.shape)
    for c in np.unique(labels):
        rows = X[labels == c].astype(float)
        if correlation == "spearman":
            rows = rankdata(rows, axis=0)
        constant = (rows == rows[0]).all(axis=0)
        rows = rows - rows.mean(axis=0)
        Z[labels == c] = np.where(constant, np.nan, rows / np.sqrt(np.mean(rows**2, axis=0) + constant))
    return Z


def random_bits(seed, n):
    """Numbers of xoshiro256++, seeded by splitmix64."""
    mask = (1 << 64) - 1

    def turn(x, k):
        return (x << k | x >> (64 - k)) & mask

    state, x = [], seed
    for _ in range(4):
        x = x + 0x9E3779B97F4A7C15 & mask
        z = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        state.append(z ^ z >> 31)
    found = []
    for _ in range(n):
        a, b, c, d = state
        found.append(turn(a + d & mask, 23) + a & mask)
        c, d = c ^ a, d ^ b
        state = [a ^ d, b ^ c, c ^ b << 17 & mask, turn(d, 45)]
    return found


def has_ties(column, labels):
    """Whether a fourth of a class, and at least two of its samples, share a value."""
    for c in np.unique(labels):
        values = column[labels == c]
        if np.unique(values, return_counts=True)[1].max() >= max(2, len(values) / 4):
            return True
    return False


def places(column, labels):
    """Places of the samples within their classes, from 0; ties take theirs at random."""
    classes = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    order = np.concatenate(classes)
    levels = np.concatenate([np.unique(column[rows], return_inverse=True)[1].ravel() for rows in classes])
    seed = 0
    for level in levels.tolist():
        seed = (seed ^ level) * 0x100000001B3 & (1 << 64) - 1
    bits = dict(zip(order.tolist(), random_bits(seed, len(order)), strict=True))
    level = dict(zip(order.tolist(), levels.tolist(), strict=True))
    found = np.empty(len(column), int)
    for rows in classes:
        for place, sample in enumerate(sorted(rows.tolist(), key=lambda i: (level[i], bits[i]))):
            found[sample] = place
    return found


class Moved:
    """Values under labelings, of which `other` is the one before; those of features with ties are drawn anew."""

    def __init__(self, X, Z, labels, wholes):
        self.Z, self.truth = Z, labels
        self.sizes = np.bincount(labels)
        self.tied = np.flatnonzero([not wholes and has_ties(column, labels) for column in np.asarray(X).T])
        self.places = {k: places(np.asarray(X)[:, k], labels) for k in self.tied}
        self.latent = Z.copy()
        n = self.sizes[labels]
        for k in self.tied:
            self.latent[:, k] = (2 * self.places[k] + 1 - n) * np.sqrt(3 / (n.astype(float) ** 2 - 1))

    def rows(self, labeling, other=None):
        moved = self.latent.copy()
        if other is not None and np.bincount(other, minlength=len(self.sizes)).min() >= 4:
            for c in range(len(self.sizes)):
                rows = self.latent[other == c]
                spread = np.sqrt(np.mean((rows - rows.mean(axis=0)) ** 2, axis=0))
                moved[self.truth == c] = (
                    rows.mean(axis=0) + np.where(spread > 1e-12, spread, 1) * self.latent[self.truth == c]
                )
        taken = self.true_classes(labeling)
        for k in self.tied:
            for c in range(len(self.sizes)):
                samples = np.flatnonzero(labeling == c)
                values = np.sort(self.Z[self.truth == taken[c], k])
                order = np.argsort(moved[samples, k], kind="stable")
                size = len(samples)
                moved[samples[order], k] = values[(2 * np.arange(size) + 1) * len(values) // (2 * size)]
        return moved

    def true_classes(self, labeling):
        """The true class of each class of a labeling, chosen so that many samples keep their class."""
        n_classes = len(self.sizes)
        shared = np.array([[np.sum((labeling == c) & (self.truth == t)) for t in range(n_classes)]
                           for c in range(n_classes)])  # fmt: skip
        if n_classes == 2:
            return (1, 0) if 2 * np.trace(shared) < len(labeling) else (0, 1)
        found = {}
        while len(found) < n_classes:
            c, t = np.unravel_index(shared.argmax(), shared.shape)
            found[c] = t
            shared[c], shared[:, t] = -1, -1
        return found


def limit(sizes, correlation):
    """Half the step from equal ranks to ranks of which two neighbours are exchanged, in the smallest class."""
    if correlation == "pearson":
        return 1 - COPY
    ranks = np.arange(min(sizes))
    exchanged = ranks.copy()
    exchanged[:2] = 1, 0
    return min((1 + spearmanr(ranks, exchanged).statistic) / 2, 1 - COPY)


def homogeneity(r, sizes, factor=1.0):
    """The chi-square of homogeneity of Fisher's transforms, which have the variances factor / (n - 3)."""
    transforms, weights = np.arctanh(r), (np.asarray(sizes, float)[:, None] - 3) / factor
    return np.sum(weights * (transforms - np.sum(weights * transforms, axis=0) / weights.sum()) ** 2, axis=0)


def statistics(Z, labels, correlation="pearson", n_classes=2):
    """Correlations in the classes, and z or chi-square, of pairs i < j; 0 where one isn't defined, and for copies."""
    i, j = np.triu_indices(Z.shape[1], 1)
    r, defined = [], np.ones(len(i), bool)
    for c in range(n_classes):
        rows = Z[labels == c]
        rows = rows - rows.mean(axis=0)
        length = np.sqrt(np.sum(rows**2, axis=0))
        constant = length**2 <= 1e-24 * len(rows)
        R = (rows.T @ rows) / np.outer(length + constant, length + constant)
        r.append(np.clip(R[i, j], -1, 1))
        defined &= ~constant[i] & ~constant[j]
    defined &= np.abs(np.sum(r, axis=0)) <= n_classes - COPY
    sizes = np.bincount(labels, minlength=n_classes)
    if sizes.min() < 4:
        return np.array(r), np.zeros(len(i)), np.zeros(len(i), bool)
    finite = np.clip(r, -limit(sizes, correlation), limit(sizes, correlation))
    factor = 1.06 if correlation == "spearman" else 1.0
    found = fisher_z(*finite, *sizes, factor) if n_classes == 2 else homogeneity(finite, sizes, factor)
    return np.array(r), np.where(defined, found, 0.0), defined


def step_down(strength, null, tie=1e-9):
    """Westfall and Young's p-values of pairs by descending strength; null has a column for each, and maybe more."""
    u = np.maximum.accumulate(null[:, ::-1], axis=1)[:, ::-1][:, : len(strength)]
    reached = np.sum(u >= strength * (1 - tie), axis=0)
    return np.maximum.accumulate((1 + reached) / (1 + len(null)))


class DifferentialCorrelation:
    """All pairs of features that vary in both classes, in the order of their columns, under the true labels and others.

    `defined` tells which are no copies; copies, whose `z` is 0, may have values in `null`.
    """

    def __init__(self, X, labels, labelings=(), correlation="pearson", wholes=False, covariates=None):
        rest = X if covariates is None else without_lines(X, labels, covariates, wholes)
        Z = standardise(rest, labels, correlation)
        kept = np.flatnonzero(~np.isnan(Z).any(axis=0))
        n_classes = int(np.max(labels)) + 1
        r, self.z, self.defined = statistics(Z[:, kept], labels, correlation, n_classes)
        self.correlations = r.T
        self.pairs = kept[np.array(np.triu_indices(len(kept), 1)).T]
        self.scores = np.zeros(X.shape[1])
        terms = np.abs(self.z) if n_classes == 2 else np.sqrt(self.z)
        np.add.at(self.scores, self.pairs[:, 0], terms)
        np.add.at(self.scores, self.pairs[:, 1], terms)
        null = []
        moved = Moved(np.asarray(X)[:, kept], Z[:, kept], labels, wholes)
        for b, other in zip(labelings, [None, *labelings], strict=False):
            null.append(np.abs(statistics(moved.rows(b, other), np.asarray(b), correlation, n_classes)[1]))
        self.null = np.array(null).reshape(-1, len(self.z))
        self.null_maxima = self.null.max(axis=1, initial=0.0)

    def pvalues(self, order):
        """Of the pairs in this order; those that aren't in it count as weaker."""
        others = np.setdiff1d(np.arange(len(self.z)), order)
        strength = np.abs(self.z[order])
        return step_down(strength, self.null[:, np.concatenate([order, others]).astype(int)])
