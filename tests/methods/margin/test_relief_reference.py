"""The reference of the RELIEF family: against the library, textbook loops, and what each definition promises."""

import itertools

import numpy as np
import pytest

import fastfs
from reference import relief_family as reference

pytestmark = pytest.mark.slow  # these check the oracle; the library is checked by test_relief_family

RADIUS_CORES = {
    "surf": ("surf", {}),
    "surf far": ("surf", {"far": True}),
    "multisurf": ("multisurf", {}),
    "multisurf far": ("multisurf", {"far": True}),
    "swrf": ("swrf", {}),
    "swrf far": ("swrf", {"far": True}),
    "swrf sample far": ("swrf", {"radius": "sample", "far": True}),
    "swrf dead band": ("swrf", {"radius": "sample", "dead_band": 0.5}),
    "swrf dead band far": ("swrf", {"radius": "sample", "dead_band": 0.5, "far": True}),
    "swrf all dead band far": ("swrf", {"radius": "all", "dead_band": 0.5, "far": True}),
}
CORES = RADIUS_CORES | {"relieff": ("relieff", {"k": 5}), "murelief": ("murelief", {"k": 5})}
TARGETS = ("two classes", "three classes", "numbers")


def draw(target="two classes", n=30, seed=0, missing=0.0):
    """X, y and how `scores` is told about y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7)) * np.arange(1, 8)
    X[rng.random(X.shape) < missing] = np.nan
    if target == "numbers":
        return X, np.nan_to_num(X[:, 2]) + rng.normal(size=n), {"target_type": "number"}
    y = rng.integers(0, {"two classes": 2, "three classes": 3}[target], n)
    return X, y, {}


def assert_same(found, expected, atol=1e-12):
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# ------------------------------------------------------------------------------------------------------- textbook loops


def textbook(X, y, core, copies=None, *, k=5, far=False, radius="all", dead_band=0.0, target_type="class"):
    """Sample by sample, feature by feature. Rows with the same number in `copies` are not neighbours of each other."""
    n_samples, n_features = X.shape
    copies = np.arange(n_samples) if copies is None else copies
    Z = X / (np.nanmax(X, axis=0) - np.nanmin(X, axis=0))
    difference = np.abs(Z[:, None] - Z)
    distance = np.full((n_samples, n_samples), np.nan)
    for n in range(n_samples):
        for j in np.flatnonzero(copies != copies[n]):
            both = ~np.isnan(difference[n, j])
            if both.any():
                distance[n, j] = difference[n, j, both].mean() * n_features
    if target_type == "number":
        labels = np.array([np.where(np.abs(y - y[n]) < y.std(ddof=1), 0, 1) for n in range(n_samples)])
        own, classes, priors = np.zeros(n_samples), [0, 1], [0.5, 0.5]
    else:
        labels, own, classes = np.array([y] * n_samples), y, np.unique(y).tolist()
        priors = [np.mean(y == c) for c in classes]

    radius = {"surf": "all", "multisurf": "sample"}.get(core, radius)
    dead_band = {"surf": 0, "multisurf": 0.5}.get(core, dead_band)
    total = np.zeros(n_features)
    for n in range(n_samples):
        others = np.flatnonzero(~np.isnan(distance[n])).tolist()
        d = distance[n]
        if core in ("relieff", "murelief"):
            near = []
            for c in classes:
                of_class = [j for j in others if labels[n, j] == c]
                middle = np.mean(d[of_class]) if of_class else 0
                key = d if core == "relieff" else -np.abs(d - middle)
                near += sorted(of_class, key=key.__getitem__)[:k]  # which is stable
            sides = [(1, near, None)]
        else:
            seen = d[others] if radius == "sample" else distance[~np.isnan(distance)]
            mean, sd = seen.mean(), seen.std()
            low, high = mean - dead_band * sd, mean + dead_band * sd
            sides = [(1, [j for j in others if d[j] < low], low)]
            sides += [(-1, [j for j in others if d[j] > high], high)] if far else []
        for sign, side, bound in sides:
            strength = {j: 2 / (1 + np.exp(-4 * abs(d[j] - bound) / sd)) - 1 if core == "swrf" else 1 for j in side}
            for a in range(n_features):
                values = {
                    c: [
                        strength[j] * difference[n, j, a]
                        for j in side
                        if labels[n, j] == c and difference[n, j, a] >= 0
                    ]
                    for c in classes
                }
                n_misses = sum(len(values[c]) for c in classes if c != own[n])
                for c, prior in zip(classes, priors, strict=True):
                    if not values[c]:
                        continue
                    if c == own[n]:
                        weight = -1
                    elif core in ("relieff", "murelief"):
                        weight = prior / (1 - priors[classes.index(own[n])])
                    else:
                        weight = (len(classes) - 1) * (len(values[c]) / n_misses) ** 2
                    total[a] += sign * weight * np.mean(values[c])
    return total / n_samples


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CORES)
def test_textbook(name, target, missing):
    core, options = CORES[name]
    X, y, of_target = draw(target, missing=missing)
    found = reference.scores(X, y, core, missing="ignore", **of_target, **options)
    assert_same(found, textbook(X, y, core, **of_target, **options))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CORES)
def test_integer_weights_are_repeated_rows(name, target, missing):
    """Rows of weight 0 are left out, as if they were not there: the first one has the largest values."""
    core, options = CORES[name]
    X, y, of_target = draw(target, n=24, missing=missing)
    X[0] = 100
    w = np.r_[0, np.random.default_rng(1).integers(1, 4, 23)]
    rows = np.repeat(np.arange(24), w)
    found = reference.scores(X, y, core, missing="ignore", sample_weight=w, **of_target, **options)
    assert_same(found, textbook(X[rows], y[rows], core, rows, **of_target, **options))
    plain = reference.scores(X[1:], y[1:], core, missing="ignore", **of_target, **options)
    assert np.abs(found - plain).max() > 1e-3


def test_integer_weights_in_relief():
    X, y, _ = draw()
    w = np.random.default_rng(1).integers(1, 4, len(X))
    terms = [reference.scores(X, y, "relief", targets=[n]) for n in range(len(X))]
    assert_same(reference.scores(X, y, "relief", sample_weight=w), np.average(terms, axis=0, weights=w))


@pytest.mark.parametrize("core", ["relieff", "murelief", "rrelieff"])
def test_unit_of_weights(core):
    """Twice the weight of each row, twice the neighbours; and thirds, of which the last one is cut."""
    X, y, of_target = draw("numbers" if core == "rrelieff" else "three classes")
    rank = {"sigma": 3.0} if core == "rrelieff" else {}
    expected = reference.scores(X, y, core, k=5, **rank, **of_target)
    twice = {name: 2 * value for name, value in rank.items()}
    assert_same(reference.scores(X, y, core, k=10, sample_weight=np.full(30, 2), **twice, **of_target), expected)
    G = reference.pair_weights(core, draw_distances(X), y, k=1, w=np.full(30, 0.75), **rank, **of_target)[:, :, 0]
    if core != "rrelieff":  # a whole row and a third of the next one
        for of_class in (np.sort(np.abs(G[n, y == c]))[-2:] for n in range(30) for c in range(3)):
            assert of_class[1] == pytest.approx(3 * of_class[0])


def draw_distances(X):
    Z = reference.scaled(X, np.zeros(X.shape[1], dtype=bool), "range", np.ones(len(X)))
    return reference.distances_of(reference.differences(Z, np.zeros(X.shape[1], dtype=bool)))


# -------------------------------------------------------------------------------------------------------------- library


@pytest.mark.parametrize("scaling", ["range", "standard", None])
@pytest.mark.parametrize("target", ["two classes", "three classes"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
def test_library(target, scaling, seed):
    X, y, _ = draw(target, 40, seed)
    tolerance = 1e-12 * (1 if scaling == "range" else np.ptp(X))
    for k in (1, 5, 100):
        expected = reference.scores(X, y, "relieff", k=k, scaling=scaling)
        assert_same(fastfs.relieff_scores(X, y, n_neighbors=k, scaling=scaling), expected, tolerance)
    expected = reference.scores(X, y, "multisurf", scaling=scaling)
    assert_same(fastfs.multisurf_scores(X, y, scaling=scaling), expected, tolerance)
    expected = reference.scores(X, y, "relief", scaling=scaling)
    assert_same(fastfs.relief_scores(X, y, scaling=scaling), expected, tolerance * np.ptp(X))


def test_library_with_ties():
    X = np.random.default_rng(0).integers(0, 4, size=(60, 6)).astype(float)
    y = np.random.default_rng(1).integers(0, 3, size=60)
    assert_same(fastfs.relieff_scores(X, y, scaling=None), reference.scores(X, y, "relieff", scaling=None))
    assert_same(fastfs.relief_scores(X, y, scaling=None), reference.scores(X, y, "relief", scaling=None))


# ------------------------------------------------------------------------------------------------------ what X may hold


def with_categories(seed=0, missing=0.1):
    """Columns 0, 2 and 4 are categories, of 2, 4 and 4 levels."""
    rng = np.random.default_rng(seed)
    X, y, _ = draw("three classes", 40, seed)
    for a, levels in ((0, 2), (2, 4), (4, 4)):
        X[:, a] = rng.integers(0, levels, 40)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


@pytest.mark.parametrize("missing", ["ignore", "class"])
@pytest.mark.parametrize("name", CORES)
def test_codes_and_labels_are_names(name, missing):
    core, options = CORES[name]
    X, y = with_categories()
    common = {"missing": missing} | options
    expected = reference.scores(X, y, core, categorical=[0, 2, 4], **common)
    other = X.copy()
    for a in (2, 4):
        other[:, a] = np.where(
            np.isnan(X[:, a]), np.nan, np.array([7.5, -3, 1e9, 0])[np.nan_to_num(X[:, a]).astype(int)]
        )
    mask = np.arange(7) % 2 == 0
    mask[6] = False
    assert_same(reference.scores(other, y, core, categorical=mask, **common), expected)
    # Two levels are the numbers 0 and 1.
    assert_same(reference.scores(X, y, core, categorical=[2, 4], **common), expected)
    assert_same(reference.scores(X, np.array(["z", "a", "m"])[y], core, categorical=[0, 2, 4], **common), expected)


@pytest.mark.parametrize("name", CORES)
def test_a_complete_table_has_nothing_missing(name):
    core, options = CORES[name]
    X, y = with_categories(missing=0)
    found = [
        reference.scores(X, y, core, categorical=[0, 2], missing=m, **options) for m in ("error", "ignore", "class")
    ]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    assert np.ptp(found[0]) > 1e-3


@pytest.mark.parametrize("missing", ["ignore", "class"])
@pytest.mark.parametrize("name", CORES)
def test_columns_that_say_nothing_count_nowhere(name, missing):
    core, options = CORES[name]
    X, y = with_categories()
    expected = reference.scores(X, y, core, categorical=[0, 2], missing=missing, **options)
    nothing = np.where(np.arange(40) % 3, 7.0, np.nan)  # constant where it is known
    more = np.c_[X, nothing, nothing, np.full(40, np.nan)]
    found = reference.scores(more, y, core, categorical=[0, 2, 8], missing=missing, **options)
    np.testing.assert_array_equal(found, np.r_[expected, 0, 0, 0])


def test_pairs_without_shared_features():
    """Rows 0 to 3 know the first half of the features, rows 4 to 7 the second: nobody has neighbours in the other."""
    X, y, _ = draw(n=16)
    X, y = X[:, :6], np.arange(16) % 2
    X[:4, 3:] = X[4:8, :3] = np.nan
    distances = draw_distances(X)
    assert np.isnan(distances[:4, 4:8]).all()
    assert np.isnan(distances).sum() == 2 * 16 + 16  # and the diagonal
    for core, options in CORES.values():
        G = reference.pair_weights(core, distances, y, known=~np.isnan(X), **options)
        assert not G[:4, 4:8].any()
        assert not G[4:8, :4].any()
        assert G.any()
        found = reference.scores(X, y, core, missing="ignore", **options)
        assert_same(found, textbook(X, y, core, **options))


def test_distances_keep_ties_of_categories():
    """1 of 3 and 2 of 6 features; 7 of 25, 14 of 50."""
    for n_differ, n_known in ((1, 3), (7, 25), (3, 49)):
        D = np.full((3, 3, 2 * n_known), np.nan)
        D[0, 1, :n_known] = np.arange(n_known) < n_differ
        D[0, 2] = np.arange(2 * n_known) < 2 * n_differ
        distances = reference.distances_of(D)
        assert distances[0, 1] == distances[0, 2] == 2 * n_differ


def test_missing_as_the_distribution_of_the_class():
    """Kononenko's 1 - q.q for categories, and for numbers E|x - Z| by sorted prefix sums."""
    X, y = with_categories()
    categories = np.arange(7) == 4
    D = reference.differences(X, categories, y, np.ones(40))
    assert not np.isnan(D).any()

    def q(n):
        if not np.isnan(X[n, 4]):
            return np.eye(4)[int(X[n, 4])]
        known = X[(y == y[n]) & ~np.isnan(X[:, 4]), 4].astype(int)
        return np.bincount(known, minlength=4) / len(known)

    gaps = np.flatnonzero(np.isnan(X[:, 4]))
    assert len(gaps) > 1
    for n in gaps:
        np.testing.assert_allclose(D[n, :, 4], [1 - q(n) @ q(j) for j in range(40)], rtol=0, atol=1e-12)
        np.testing.assert_allclose(D[:, n, 4], D[n, :, 4], rtol=0, atol=1e-12)

    n = np.flatnonzero(np.isnan(X[:, 3]))[0]
    for j in np.flatnonzero(~np.isnan(X[:, 3])):
        Z, x = np.sort(X[(y == y[n]) & ~np.isnan(X[:, 3]), 3]), X[j, 3]
        r = np.searchsorted(Z, x)
        expected = (x * (2 * r - len(Z)) + Z.sum() - 2 * Z[:r].sum()) / len(Z)
        assert D[n, j, 3] == pytest.approx(expected, abs=1e-12)


def test_missing_without_known_values_in_the_class():
    """All known values stand in."""
    X, y = with_categories(missing=0)
    X[y == 1, 4] = np.nan
    D = reference.differences(X, np.arange(7) == 4, y, np.ones(40))
    n, j = np.flatnonzero(y == 1)[0], np.flatnonzero(y != 1)[0]
    assert D[n, j, 4] == pytest.approx(1 - np.nanmean(X[:, 4] == X[j, 4]) * 40 / np.sum(y != 1))


def test_ramps():
    X, y = with_categories(missing=0)
    categories = np.arange(7) % 4 == 0
    Z = reference.scaled(X, categories, "range", np.ones(40))
    D = reference.differences(Z, categories)
    hong = reference.ramped(D, Z, categories, (0.1, 0.4), np.ones(40))
    sd = reference.ramped(D, Z, categories, "sd", np.ones(40))
    for n, j, a in np.random.default_rng(0).integers(0, (40, 40, 7), size=(300, 3)):
        raw = abs(X[n, a] - X[j, a])
        share = raw / np.ptp(X[:, a])
        if categories[a]:
            assert hong[n, j, a] == sd[n, j, a] == (raw > 0)
        else:
            expected = 0 if share < 0.1 else 1 if share > 0.4 else (share - 0.1) / 0.3
            assert hong[n, j, a] == pytest.approx(expected, abs=1e-12)
            assert sd[n, j, a] == pytest.approx(1 if raw > X[:, a].std() else share, abs=1e-12)
    # Distances don't use it.
    G = reference.pair_weights("multisurf", reference.distances_of(D), y)
    found = reference.scores(X, y, "multisurf", categorical=categories, ramp=(0.1, 0.4))
    assert_same(found, np.einsum("nj,nja->a", G[:, :, 0], hong))


# -------------------------------------------------------------------------------------------- neighbours, targets, ties


@pytest.mark.parametrize("name", CORES)
def test_targets_and_distances_of_ones_own(name):
    core, options = CORES[name]
    X, y, _ = draw("three classes")
    w = np.random.default_rng(0).random(30) + 0.5
    single = [reference.scores(X, y, core, targets=[n], sample_weight=w, **options) for n in range(30)]
    assert_same(reference.scores(X, y, core, sample_weight=w, **options), np.average(single, axis=0, weights=w))
    some = np.array([2, 3, 17])
    found = reference.scores(X, y, core, targets=some, sample_weight=w, **options)
    assert_same(found, np.average(np.array(single)[some], axis=0, weights=w[some]))
    assert_same(
        reference.scores(X, y, core, distances=draw_distances(X), **options), reference.scores(X, y, core, **options)
    )


@pytest.mark.parametrize("name", CORES)
def test_numeric_target_has_no_unit(name):
    core, options = CORES[name]
    X, y, of_target = draw("numbers")
    expected = reference.scores(X, y, core, **of_target, **options)
    for other in (3 * y + 5, -y):
        assert_same(reference.scores(X, other, core, **of_target, **options), expected)


@pytest.mark.parametrize("name", RADIUS_CORES)
@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_all_distances_equal(name, weight):
    """None is nearer or farther than the mean, whatever rounding does to a mean of many."""
    core, options = RADIUS_CORES[name]
    X, y = 0.1 * np.eye(11), np.arange(11) % 2
    w = np.full(11, weight)
    assert not reference.scores(X, y, core, scaling=None, sample_weight=w, **options).any()


def test_all_distances_equal_leaves_the_lowest_rows():
    y = np.arange(8) % 2
    G = reference.pair_weights("relieff", np.ones((8, 8)), y, k=2)[:, :, 0]
    assert np.flatnonzero(G[0]).tolist() == [1, 2, 3, 4]
    assert np.flatnonzero(G[7]).tolist() == [0, 1, 2, 3]


def test_gap():
    """Three samples on a line, at 0, 1 and 2.5: the nearest decision in units of 2.5."""
    distances = np.abs(np.subtract.outer([0, 1, 2.5], [0, 1, 2.5]))
    y = np.array([0, 1, 1])
    assert reference.gap("relieff", distances, y, k=1) == pytest.approx(1.5 / 2.5)  # from 0: 1 or 2.5
    assert reference.gap("relieff", distances, y, k=2) == np.inf
    assert reference.gap("rrelieff", distances, y, k=1) == pytest.approx(0.5 / 2.5)  # from 1: 1 or 1.5
    assert reference.gap("surf", distances, y) == pytest.approx((5 / 3 - 1.5) / 2.5)  # the mean is 5/3
    assert reference.gap("murelief", distances, np.zeros(3), k=1) == np.inf  # both as far from their mean


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CORES)
def test_duplicate_rows(name, target):
    """Of both classes, so that the nearest distances are 0 and tied."""
    core, options = CORES[name]
    X, y, of_target = draw(target, n=15)
    X, y = np.r_[X, X], np.r_[y, y[::-1]]
    assert_same(reference.scores(X, y, core, **of_target, **options), textbook(X, y, core, **of_target, **options))


@pytest.mark.parametrize("core", ["relieff", "murelief"])
@pytest.mark.parametrize("target", TARGETS)
def test_more_neighbours_than_there_are(core, target):
    X, y, of_target = draw(target)
    expected = textbook(X, y, core, k=30, **of_target)
    assert_same(reference.scores(X, y, core, k=30, **of_target), expected)
    assert_same(reference.scores(X, y, core, k=10**6, **of_target), expected)


@pytest.mark.parametrize("core", reference.BY_CLASS)
def test_priors(core):
    X, y, _ = draw("three classes")
    shares = np.bincount(y) / 30
    expected = reference.scores(X, y, core)
    assert_same(reference.scores(X, y, core, priors=shares), expected)
    assert_same(reference.scores(X, y, core, priors=dict(enumerate(shares))), expected)
    third = reference.scores(X, y, core, priors=[1 / 3] * 3)
    assert_same(reference.scores(X, y, core, priors="uniform"), third)
    assert np.abs(third - expected).max() > 1e-4


# ----------------------------------------------------------------------------------------------- numeric, survival time


def incremental(difference, distance, tau, k, sigma):
    """RReliefF as its paper has it, target by target; a pair without feature a adds nothing to a's three sums."""
    n_samples, n_features = len(tau), difference.shape[2]
    n_c, n_a, n_ca, m = (np.zeros(n_features) for _ in range(4))
    for n in range(n_samples):
        others = [j for j in range(n_samples) if j != n and not np.isnan(distance[n, j])]
        near = sorted(others, key=lambda j: distance[n, j])[:k]
        influence = [np.exp(-((rank / sigma) ** 2)) for rank in range(1, len(near) + 1)]
        for j, d1 in zip(near, influence, strict=True):
            d = d1 / sum(influence)
            for a in np.flatnonzero(~np.isnan(difference[n, j])):
                m[a] += d
                n_c[a] += tau[n, j] * d
                n_a[a] += difference[n, j, a] * d
                n_ca[a] += tau[n, j] * difference[n, j, a] * d
    return n_ca / n_c - (n_a - n_ca) / (m - n_c)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("k", [1, 5, 100])
@pytest.mark.parametrize("target_type", ["number", "survival"])
def test_rrelieff(target_type, k, missing):
    X, y, _ = draw("numbers", missing=missing)
    Z = X / (np.nanmax(X, axis=0) - np.nanmin(X, axis=0))
    tau = np.abs(y[:, None] - y) / np.ptp(y)
    if target_type == "survival":
        y, tau = censored(30)
    difference = np.abs(Z[:, None] - Z)
    distance = np.nanmean(difference, axis=2)
    found = reference.scores(X, y, "rrelieff", k=k, sigma=4.0, target_type=target_type, missing="ignore")
    assert_same(found, incremental(difference, distance, tau, k, 4.0))
    if target_type == "number":
        again = reference.scores(X, 5 - 3 * y, "rrelieff", k=k, sigma=4.0, target_type="number", missing="ignore")
        assert_same(again, found)
    same = reference.scores(
        X, y, "rrelieff", k=k, sigma=4.0, target_type=target_type, missing="ignore", sample_weight=np.ones(30)
    )
    np.testing.assert_array_equal(same, found)


def censored(n, seed=0):
    """Events and times, with ties, and E|U_n - U_j| by quadrature."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.6, np.ceil(rng.exponential(10, n))
    u = below(y, np.ones(n))
    return y, np.array([[quadrature(u[i], u[j], y["event"][i], y["event"][j]) for j in range(n)] for i in range(n)])


def below(y, w):
    """Redistribution to the right: a censored sample leaves its mass to those behind it."""
    order = np.lexsort((~y["event"], y["time"]))
    mass, u, total = w / w.sum(), np.zeros(len(y)), 0.0
    for position, n in enumerate(order):
        later = order[position + 1 :]
        if y["event"][n]:
            total += mass[n]
        elif len(later):
            mass[later] += mass[n] * w[later] / w[later].sum()
        u[n] = total
    # Samples of one time have one value, that of the last of them.
    return np.array([u[y["time"] == t].max() for t in y["time"]])


def quadrature(u, v, u_is_event, v_is_event):
    """The integral of F (1 - G) + G (1 - F) over [0, 1], of degree 2 between the places where F and G turn."""
    nodes, weights = np.polynomial.legendre.leggauss(3)

    def distribution(t, at, is_event):
        return (t > at).astype(float) if is_event else np.clip((t - at) / (1 - at), 0, 1)

    total, turns = 0.0, np.unique([0, u, v, 1])
    for low, high in itertools.pairwise(turns):
        t = (low + high) / 2 + (high - low) / 2 * nodes
        F, G = distribution(t, u, u_is_event), distribution(t, v, v_is_event)
        total += (high - low) / 2 * weights @ (F * (1 - G) + G * (1 - F))
    return total


@pytest.mark.parametrize("seed", range(4))
def test_survival_differences(seed):
    y, tau = censored(40, seed)
    w = np.ones(40)
    u = reference.survival_below(y["event"], y["time"], w)
    np.testing.assert_allclose(u, below(y, w), rtol=0, atol=1e-12)
    found = reference.target_differences(y, "survival", w)
    np.fill_diagonal(found, 0)  # a pair of a sample and itself is none
    np.fill_diagonal(tau, 0)
    np.testing.assert_allclose(found, tau, rtol=0, atol=1e-12)
    w = np.random.default_rng(seed).integers(1, 5, 40).astype(float)
    weighted = reference.survival_below(y["event"], y["time"], w)
    np.testing.assert_allclose(weighted, below(y, w), rtol=0, atol=1e-12)
    repeated = np.repeat(y, w.astype(int))
    again = reference.survival_below(repeated["event"], repeated["time"], np.ones(len(repeated)))
    np.testing.assert_allclose(np.repeat(weighted, w.astype(int)), again, rtol=0, atol=1e-12)


def test_kaplan_meier_by_hand():
    """At risk: 5, 4, 2; survival 4/5, 3/5, 3/10. A sample censored at an event's time is after it."""
    u = reference.survival_below(np.array([1, 1, 0, 1, 0], dtype=bool), np.array([1, 2, 2, 3, 4]), np.ones(5))
    np.testing.assert_allclose(u, [0.2, 0.4, 0.4, 0.7, 0.7], rtol=0, atol=1e-15)
