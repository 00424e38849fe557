"""Plain NumPy oracle of the scan of interactions: two least-squares fits for each pair."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, rankdata


def normal_scores(x):
    """Return the quantiles of the standard normal distribution at (rank - 1/2) / n."""
    return norm.ppf((rankdata(x) - 0.5) / len(x))


def target_columns(y, is_class):
    """Return the target as columns: indicators of all classes but the first, or the numbers."""
    if not is_class:
        return np.asarray(y, dtype=float)[:, None]
    classes = np.unique(y)
    return (np.asarray(y)[:, None] == classes[1:]).astype(float)


def residuals(columns, design):
    """Return what a linear model with these regressors leaves of the columns."""
    return columns - design @ np.linalg.lstsq(design, columns, rcond=None)[0]


def interaction(x, z, target, covariates=None):
    """Return F of the product of x and z, its effect, and the effect's standard error (NaN for several columns).

    All columns are standardised; `target` has a column for numbers and one less than there are classes for these. With
    more than one column F is that of the columns in the regression of the product on them.
    """
    n, k = target.shape
    covariates = np.empty((n, 0)) if covariates is None else np.asarray(covariates, dtype=float)
    x, z = (x - x.mean()) / x.std(), (z - z.mean()) / z.std()
    target = (target - target.mean(axis=0)) / target.std(axis=0)
    product = x * z
    scaled = covariates - covariates.mean(axis=0)
    scaled = scaled / np.maximum(scaled.std(axis=0), 1e-300)
    without = np.column_stack([np.ones(n), x, z, scaled])
    rank = np.linalg.matrix_rank(without)
    e = np.sum(residuals(product[:, None], without) ** 2)
    e_y = np.sum(residuals(product[:, None], np.column_stack([without, target])) ** 2)
    degrees = n - rank - k
    F = (e - e_y) / e_y * degrees / k
    if k > 1:
        return F, np.nan, np.nan
    full = np.column_stack([product, without])
    effect = np.linalg.lstsq(full, target[:, 0], rcond=None)[0][0]
    left = np.sum(residuals(target, full) ** 2)
    return F, effect, np.sqrt(left / degrees / e)


def scan(X, y, *, is_class=False, other=None, covariates=None, ranks=False):
    """Return a dict of the pairs with their F, effects and standard errors."""
    target = target_columns(y, is_class)
    tables = [np.apply_along_axis(normal_scores, 0, T) if ranks else T for T in (X, X if other is None else other)]
    p, p_other = tables[0].shape[1], tables[1].shape[1]
    pairs = [(i, j) for i in range(p) for j in range(p_other) if other is not None or i < j]
    return {(i, j): interaction(tables[0][:, i], tables[1][:, j], target, covariates) for i, j in pairs}


def step_down(strengths, of_labelings):
    """Return family-wise p-values of pairs, strongest first; of_labelings: the strengths of all pairs, a row each."""
    strengths, of_labelings = np.asarray(strengths), np.asarray(of_labelings)
    pvalues, largest = [], 0.0
    for k in range(len(strengths)):
        reached = np.count_nonzero(of_labelings[:, k:].max(axis=1) >= strengths[k] * (1 - 1e-9))
        largest = max(largest, (1 + reached) / (1 + len(of_labelings)))
        pvalues.append(largest)
    return pvalues


def follow(x, y, covariates=None):
    """Return a column without the line of its mean, divided by the likeliest deviation of which the log is a line.

    Both in turns, until the deviation is flat.
    """
    n = len(x)
    covariates = np.empty((n, 0)) if covariates is None else np.asarray(covariates, dtype=float)
    ones = np.column_stack([np.ones(n), covariates])
    t = residuals(np.asarray(y, dtype=float)[:, None], ones)[:, 0]
    t = t / t.std()
    z = np.asarray(x, dtype=float)
    for _ in range(20):
        e = residuals(z[:, None], np.column_stack([ones, y]))[:, 0]
        z = e / e.std()
        slope = brentq(lambda b, z=z: np.sum(t * z**2 * np.exp(-b * t)), -4, 4, xtol=1e-14)
        if abs(slope) < 1e-9:
            return z
        z = z * np.exp(-slope * t / 2)
    return z / z.std()


def change_of_correlation(x, z, y, covariates=None):
    """Return the slope of the product of two followed columns in y (in deviations), its error, and the correlation.

    The regression of the product has both columns and the covariates, too.
    """
    n = len(y)
    covariates = np.empty((n, 0)) if covariates is None else np.asarray(covariates, dtype=float)
    scaled = (y - y.mean()) / y.std()
    without = np.column_stack([np.ones(n), x, z, covariates])
    full = np.column_stack([scaled, without])
    product = x * z
    slope = np.linalg.lstsq(full, product, rcond=None)[0][0]
    left = np.sum(residuals(product[:, None], full) ** 2)
    error = np.sqrt(left / (n - full.shape[1]) / np.sum(residuals(scaled[:, None], without) ** 2))
    own = [residuals(one[:, None], np.column_stack([np.ones(n), covariates]))[:, 0] for one in (x, z)]
    return slope, error, np.corrcoef(*own)[0, 1]


def changes(X, y, covariates=None, ranks=False):
    """Return a dict of the pairs with their slopes, errors and correlations along y, and the followed columns."""
    table = np.apply_along_axis(normal_scores, 0, X) if ranks else X
    Z = np.column_stack([follow(column, y, covariates) for column in table.T])
    pairs = [(i, j) for i in range(X.shape[1]) for j in range(i)]
    return {(j, i): change_of_correlation(Z[:, j], Z[:, i], y, covariates) for i, j in pairs}, Z
