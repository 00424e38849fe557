"""The whole RELIEF family in plain NumPy, from its definitions: the oracle of the tests.

A core gives every ordered pair of samples a weight, and the score of feature a is ``W_a = sum_nj G_nja d_nja`` over the
full (N, N, A) array of differences: slow, but each definition is in one place.

    scores(X, y, core)   what a user asks for
    differences          d_nja: scaled numbers, categories, gaps
    distances_of         d_nj, NaN for a pair without shared features
    pair_weights         G_nja
    gap                  how far the nearest decision was from a tie

Distances are NaN where a pair has none, and on the diagonal: so it takes part in no mean and no comparison.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

# Distances that differ by a smaller share are equal: rounding of sums in float64 is below it.
TIE = 1e-10
# Radius cores: whose distances bound the neighbourhood, its dead band in standard deviations, and whether rows count
# more if they lie farther from the bound. SWRF's radius and dead band are options.
RADIUS = {"surf": ("all", 0.0, False), "multisurf": ("sample", 0.5, False), "swrf": (None, None, True)}
# Cores whose misses of each class count by the class's prior, in place of how many of them are near.
BY_CLASS = ("relieff", "murelief")


def scores(
    X,
    y,
    core,
    *,
    categorical=(),
    scaling="range",
    missing="error",
    ramp=None,
    target_type="class",
    sample_weight=None,
    targets=None,
    distances=None,
    **options,
):
    """One score a feature.

    Parameters
    ----------
    X : (N, A), NaN where missing; categories as numbers of any kind.
    y : labels; numbers; or records with fields ``event`` and ``time``, as `target_type` says.
    core : "relief", "relieff", "murelief", "surf", "multisurf", "swrf" or "rrelieff".
    categorical : mask or indices of columns.
    scaling : "range", "standard" or None, of columns of numbers.
    missing : "error", "ignore" or "class".
    ramp : None, "sd", or (t0, t1) in units of the scaled differences; for scores only.
    target_type : "class", "number" (RReliefF's rule for that core, otherwise same/different) or "survival" (RReliefF).
    sample_weight : (N,). Rows of weight 0 are dropped first.
    targets : the rows whose neighbours are used; None: all.
    distances : (N, N), in place of those of X.
    options : of `pair_weights`.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    chosen = np.ones(len(X), dtype=bool) if targets is None else mask(targets, len(X))
    kept = w > 0
    X, y, w, chosen = X[kept], y[kept], w[kept], chosen[kept]
    assert missing != "error" or not np.isnan(X).any()
    assert core == "rrelieff" or target_type != "survival"

    # A constant feature scores 0 and counts nowhere; so does one without known values.
    used = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T], dtype=bool)
    categories = mask(categorical, X.shape[1])[used]
    if missing == "class":
        assert target_type == "class"
    Z = scaled(X[:, used], categories, scaling, w)
    D = differences(Z, categories, y if missing == "class" else None, w)
    if core == "relief":
        D = D**2
    if distances is None:
        distances = distances_of(D)
    else:
        distances = np.asarray(distances, dtype=float)[np.ix_(kept, kept)]
    known = np.ones(Z.shape, dtype=bool) if missing == "class" else ~np.isnan(Z)
    G = pair_weights(core, distances, y, target_type=target_type, w=w, targets=chosen, known=known, **options)
    found = np.zeros(X.shape[1])
    found[used] = np.sum(G * np.nan_to_num(ramped(D, Z, categories, ramp, w)), axis=(0, 1))
    return found


def mask(places, n):
    places = np.asarray(places)
    chosen = np.zeros(n, dtype=bool)
    chosen[places if places.size else []] = True
    return chosen


# ---------------------------------------------------------------------------------------------------------- differences


def scaled(X, categories, scaling, w):
    """Columns of numbers are scaled by their known values."""
    Z = X.copy()
    for a in np.flatnonzero(~categories):
        known = ~np.isnan(X[:, a])
        if scaling == "range":
            Z[:, a] /= np.ptp(X[known, a])
        elif scaling == "standard":
            Z[:, a] /= spread_of(X[known, a], w[known])
        else:
            assert scaling is None
    return Z


def spread_of(x, w):
    """The population standard deviation."""
    return np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))


def differences(Z, categories, labels=None, w=None):
    """(N, N, A): |z - z'|, or 0 and 1 for categories; NaN if a value is missing.

    With labels, a missing value stands for the known ones of its class, by weight (all known ones if its class has
    none), and a difference for its expectation over both values, which are independent.
    """
    D = np.abs(Z[:, None] - Z[None])
    D[:, :, categories] = np.where(np.isnan(D[:, :, categories]), np.nan, D[:, :, categories] != 0)
    if labels is not None:
        for a in np.flatnonzero(np.isnan(Z).any(axis=0)):
            known = ~np.isnan(Z[:, a])
            P = np.eye(len(Z))  # P[n, i]: the probability that row n has the value of row i
            for n in np.flatnonzero(~known):
                donors = known & (labels == labels[n])
                donors = donors if donors.any() else known
                P[n] = np.where(donors, w, 0) / w[donors].sum()
            D[:, :, a] = P @ np.nan_to_num(D[:, :, a]) @ P.T
    return D


def ramped(D, Z, categories, ramp, w):
    """The differences that scores use, of columns of numbers."""
    D = D.copy()
    for a in np.flatnonzero(~categories) if ramp is not None else []:
        if ramp == "sd":
            known = ~np.isnan(Z[:, a])
            # In units of the scaled values, but it is the raw difference and the raw deviation that are compared.
            D[:, :, a] = np.where(D[:, :, a] > spread_of(Z[known, a], w[known]), 1, D[:, :, a])
        else:
            t0, t1 = ramp
            D[:, :, a] = np.clip((D[:, :, a] - t0) / (t1 - t0), 0, 1)
    return D


def distances_of(D, weights=None):
    """A times the (weighted) mean over the features that both rows have; NaN if there are none, and for a row itself.

    Multiplied before divided: so rounding keeps ties of categories, such as differences in 2 of 5 and in 4 of 10.
    """
    weights = np.ones(D.shape[2]) if weights is None else weights
    known = ~np.isnan(D)
    shared, total = np.sum(known * weights, axis=2), np.nansum(D * weights, axis=2)
    distances = np.where(known.all(axis=2), total, ratio(weights.sum() * total, shared))
    distances[shared == 0] = np.nan
    np.fill_diagonal(distances, np.nan)
    return distances


# ------------------------------------------------------------------------------------------------------------- targets


def groups_of(y, target_type, w, core):
    """Which group row j is in as seen from row n, (N, N); the group of n's hits, (N,); the number of groups.

    Groups are the classes; for RELIEF hits, 0, and misses, 1; so for numbers, where hits are nearer than a standard
    deviation: ddof 1, of repeated rows. RReliefF has one group.
    """
    no = np.zeros(len(y), dtype=int)
    if core == "rrelieff":
        return np.tile(no, (len(y), 1)), no, 1
    if target_type == "class":
        classes, codes = np.unique(y, return_inverse=True)
        if core == "relief":
            return (codes[:, None] != codes).astype(int), no, 2
        return np.tile(codes, (len(y), 1)), codes, len(classes)
    assert target_type == "number"
    y = y.astype(float)
    sd = np.sqrt(np.sum(w * (y - np.average(y, weights=w)) ** 2) / (w.sum() - 1))
    return np.where(np.abs(y[:, None] - y[None]) < sd, 0, 1), no, 2


def survival_below(event, time, w):
    """1 - Kaplan-Meier's survival, just after each sample's time."""
    u = np.empty(len(time))
    for n, t in enumerate(time):
        survival = 1.0
        for s in np.unique(time[event & (time <= t)]):
            survival *= 1 - w[event & (time == s)].sum() / w[time >= s].sum()
        u[n] = 1 - survival
    return u


def survival_difference(u, event):
    """E|U_n - U_j|: U is u for an event, and uniform on [u, 1] for a censored sample."""
    tau = np.empty((len(u), len(u)))
    for n in range(len(u)):
        for j in range(len(u)):
            if event[n] and event[j]:
                tau[n, j] = abs(u[n] - u[j])
            elif event[n] or event[j]:
                x, low = (u[n], u[j]) if event[n] else (u[j], u[n])
                tau[n, j] = (1 + low) / 2 - x if x <= low else ((x - low) ** 2 + (1 - x) ** 2) / (2 * (1 - low))
            else:
                low, high = sorted((u[n], u[j]))
                tau[n, j] = ((high - low) * (1 - low) / 2 + (1 - high) ** 2 / 3) / (1 - low)
    return tau


def target_differences(y, target_type, w):
    """RReliefF's tau."""
    if target_type == "survival":
        event, time = y["event"].astype(bool), y["time"].astype(float)
        return survival_difference(survival_below(event, time, w), event)
    assert target_type == "number"
    y = y.astype(float)
    return np.abs(y[:, None] - y[None]) / np.ptp(y)


# ---------------------------------------------------------------------------------------------------------------- cores


def pair_weights(
    core,
    distances,
    y,
    *,
    k=10,
    far=False,
    radius="all",
    dead_band=0.0,
    sigma=20.0,
    target_type="class",
    priors=None,
    w=None,
    targets=None,
    known=None,
    moments=None,
):
    """G, (N, N, A), or (N, N, 1) if nothing is missing: what each difference counts in the scores.

    Parameters
    ----------
    core, target_type : as for `scores`.
    distances : (N, N).
    y : as for `scores`.
    k : rows of each class or, for numbers, hits and misses: of relieff, murelief; rows of all: of rrelieff.
    far : add the far rows, with opposite sign: of surf, multisurf, swrf.
    radius, dead_band : of swrf.
    sigma : of rrelieff.
    priors : of relieff and murelief: None, the shares of the classes; "uniform"; a mapping; or an array, in order.
    w : weights of the rows, all positive.
    targets : mask of the rows used as targets.
    known : (N, A), False where a value is missing.
    moments : (mean, standard deviation) in place of those of the distances of all pairs.
    """
    y, n = np.asarray(y), len(distances)
    distances = np.array(distances, dtype=float)
    np.fill_diagonal(distances, np.nan)
    w = np.ones(n) if w is None else np.asarray(w, dtype=float)
    w_target = w if targets is None else np.where(mask(targets, n), w, 0)
    known = np.ones((n, 1)) if known is None or np.all(known) else np.asarray(known, dtype=float)
    if core == "rrelieff":
        return regression_weights(distances, target_differences(y, target_type, w), k, sigma, w, w_target, known)

    group, own, n_groups = groups_of(y, target_type, w, core)
    share = np.full(n_groups, 1 / n_groups)
    if target_type == "class" and core in BY_CLASS:
        share = class_shares(priors, y, w)
    G = np.zeros((n, n, known.shape[1]))
    for sign, taken, strength in rows(core, distances, group, own, w, k, far, radius, dead_band, moments):
        G += sign * side(taken, strength, group, own, share, core in BY_CLASS, known)
    return G * (w_target / w_target.sum())[:, None, None]


def class_shares(priors, y, w):
    classes = np.unique(y)
    if priors is None:
        return np.array([w[y == c].sum() for c in classes]) / w.sum()
    if isinstance(priors, str):
        assert priors == "uniform"
        return np.full(len(classes), 1 / len(classes))
    return np.array([priors[c] for c in classes.tolist()] if isinstance(priors, dict) else priors, dtype=float)


def rows(core, distances, group, own, w, k, far, radius, dead_band, moments):
    """The sides of a core: sign, and how much of each row's weight is taken, without and with its strength."""
    if core not in RADIUS:
        assert not far
        taken = np.zeros(distances.shape)
        for n, candidates, key in ranked(core, distances, group, w):
            if core == "relief":
                taken[n, candidates[np.argmin(key)]] = 1
            else:
                taken[n, candidates] = filled(key, w[candidates], k)
        if core == "relief":
            taken[~np.any(taken * (group == own[:, None]), axis=1)] = 0  # a target without hits has no part
        return [(1, taken, taken)]
    own_radius, own_band, graded = RADIUS[core]
    mean, sd = moments or moments_of(distances, w, own_radius or radius)
    band = dead_band if own_band is None else own_band
    found = []
    for sign in (1, -1) if far else (1,):
        bound = mean - sign * band * sd
        # NaN is neither near nor far, and neither is what is as far as the bound.
        taken = w * (sign * distances < sign * bound - TIE * (mean + band * sd))
        strength = np.nan_to_num(sigmoid(distances - bound, sd)) if graded else 1
        found.append((sign, taken, taken * strength))
    return found


def ranked(core, distances, group, w):
    """For each row and group the candidates and what they are ranked by, lowest first."""
    for n in range(len(distances)):
        for c in np.unique(group[n]):
            candidates = np.flatnonzero(~np.isnan(distances[n]) & (group[n] == c))
            key = distances[n, candidates]
            mean = 0.0
            if core == "murelief" and len(key):
                mean = np.average(key, weights=w[candidates])
                key = -np.abs(key - mean)
            if len(key):
                yield n, candidates, tied(key, mean)


def tied(key, mean=0.0):
    """Keys with those equal that differ by rounding: by less than TIE of them, or of the distances that they are from.

    With exact keys, such as `whole_distances`, it changes nothing.
    """
    order = np.argsort(key, kind="stable")
    key = key.copy()
    for before, place in itertools.pairwise(order):
        if key[place] - key[before] <= TIE * (abs(key[before]) + mean):
            key[place] = key[before]
    return key


def whole_distances(X, core):
    """Distances of whole numbers, scaled to their ranges: exact, as whole multiples of 1 over the product of ranges.

    In the place of `distances` of `scores`, where those of RELIEF are squared.
    """
    X = np.asarray(X).astype(int)
    ranges = np.ptp(X, axis=0)
    unit = math.lcm(*ranges[ranges > 0].tolist())
    D = np.abs(X[:, None] - X[None])[:, :, ranges > 0] * (unit // ranges[ranges > 0])
    found = np.sum(D**2 if core == "relief" else D, axis=2)
    assert found.max() < 2**53 / len(X)
    return found.astype(float)


def filled(key, w, k):
    """How much of each weight is taken, lowest key and then lowest row first, until k is reached: the last is cut."""
    order = np.argsort(key, kind="stable")
    before = np.cumsum(w[order]) - w[order]
    taken = np.zeros(len(w))
    taken[order] = np.clip(k - before, 0, w[order])
    return taken


def moments_of(distances, w, radius):
    """Mean and standard deviation (ddof 0) of all pairs, or of each row's: (N, 1).

    Centred at one of the distances, so that none is below the mean if all are equal.
    """
    pairs = np.where(np.isnan(distances), 0, w)
    if radius == "all":
        pairs = (pairs * w[:, None]).reshape(1, -1)
        distances = distances.reshape(1, -1)
    else:
        assert radius == "sample"
    moments = np.zeros((2, len(pairs), 1))
    for n in range(len(pairs)):
        there = pairs[n] > 0
        if there.any():
            d, v = distances[n, there], pairs[n, there]
            shift = np.average(d - d[0], weights=v)
            moments[:, n, 0] = d[0] + shift, np.sqrt(np.average((d - d[0] - shift) ** 2, weights=v))
    return moments


def sigmoid(offset, sd):
    """0 at the bound, towards 1 away from it."""
    return 2 / (1 + np.exp(-np.minimum(4 * np.abs(offset) / np.where(sd == 0, 1, sd), 50))) - 1


def side(taken, strength, group, own, share, by_class, known):
    """(N, N, A): -s/h for hits, and for misses s (C - 1) m_c / m^2, or by class s p_c / ((1 - p_own) m_c).

    h, m and m_c are weights of those rows taken that have the feature. A target without it has no part.
    """
    groups = np.arange(len(share))
    count = np.stack([(taken * (group == c)) @ known for c in groups], axis=1)  # N, groups, A
    hits = (groups == own[:, None])[:, :, None]
    misses = np.where(hits, 0, count)
    if by_class:
        of_miss = ratio((share / (1 - share[own])[:, None])[:, :, None], misses)
    else:
        of_miss = ratio((len(groups) - 1) * misses, misses.sum(axis=1, keepdims=True) ** 2)
    factor = np.where(hits, -ratio(1, count), of_miss)
    G = np.take_along_axis(factor, group[:, :, None], axis=1) * strength[:, :, None]
    return G * known[:, None] * known[None]


def ratio(a, b):
    """0 where b is."""
    return np.where(b == 0, 0, a / np.where(b == 0, 1, b))


def regression_weights(distances, tau, k, sigma, w, w_target, known):
    """RReliefF: o tau / P - o (1 - tau) / (Q - P), with P = sum o tau and Q = sum o over pairs that have the feature.

    The o of a target add up to its weight. A rank is the weight up to and including a row.
    """
    o = np.zeros(distances.shape)
    for n, candidates, key in ranked("rrelieff", distances, np.zeros(distances.shape), w):
        order = np.argsort(key, kind="stable")
        taken = filled(key, w[candidates], k)[order]
        influence = taken * np.exp(-((np.cumsum(taken) / sigma) ** 2))
        o[n, candidates[order]] = w_target[n] * influence / influence.sum()
    shared = known[:, None] * known[None]
    near, far = (o * tau)[:, :, None] * shared, (o * (1 - tau))[:, :, None] * shared
    assert near.any(), "the numbers of all neighbours are equal"
    return ratio(near, near.sum(axis=(0, 1))) - ratio(far, far.sum(axis=(0, 1)))


# ----------------------------------------------------------------------------------------------------------------- ties


def gap(core, distances, y, *, k=10, far=False, radius="all", dead_band=0.0, target_type="class", w=None, **_):
    """How far the nearest decision was from a tie, relative to the largest distance. An exact tie of ranks is none."""
    y, w = np.asarray(y), np.ones(len(distances)) if w is None else np.asarray(w, dtype=float)
    distances = np.array(distances, dtype=float)
    np.fill_diagonal(distances, np.nan)
    k, found = 1 if core == "relief" else k, [np.inf]
    if core in RADIUS:
        own_radius, own_band, _ = RADIUS[core]
        mean, sd = moments_of(distances, w, own_radius or radius)
        band = dead_band if own_band is None else own_band
        for bound in (mean - band * sd, mean + band * sd)[: 1 + far]:
            found += np.abs(distances - bound)[~np.isnan(distances) & (sd > 0)].tolist()
    else:
        group, _, _ = groups_of(y, target_type, w, core)
        for _, candidates, key in ranked(core, distances, group, w):
            order = np.argsort(key, kind="stable")
            n_taken = np.sum(np.cumsum(w[candidates][order]) < k) + 1
            steps = np.diff(key[order])[:n_taken]
            if core != "rrelieff" and np.all(w == 1):
                steps = steps[n_taken - 1 :]  # the order of those taken has no part
            found += steps[steps > 0].tolist()
    return min(found) / np.nanmax(distances)
