"""The RELIEF family against scikit-rebate 0.8.4, whose twelve cores have the same definitions but for a few quirks.

Two comparisons. As it is, scikit-rebate meets the reference with its quirks imitated: distances of mixed tables without
gaps multiply categories, and the radius of SURF and SWRF counts the zeros of the diagonal, or with gaps of half the
matrix. Given our distances without those zeros, it meets the definitions themselves, and so the library.

Both add to our scores of a star the constant of its far rows, which scikit-rebate counts by 1 - d, and take uniform
priors. Three classes with gaps are left out: there scikit-rebate's ReliefF weighs misses by how many have the feature.
"""

import numpy as np
import pytest

from reference import relief_family as reference
from reference.relief_library import fitted

skrebate = pytest.importorskip("skrebate")

CORES = {
    "ReliefF": ("relieff", {"k": 5}),
    "MuRelief": ("murelief", {"k": 5}),
    "SURF": ("surf", {}),
    "SURFstar": ("surf", {"far": True}),
    "MultiSURF": ("multisurf", {}),
    "MultiSURFstar": ("multisurf", {"far": True}),
    "SWRF": ("swrf", {}),
    "SWRFstar": ("swrf", {"far": True}),
    "MultiSWRF": ("swrf", {"radius": "sample"}),
    "MultiSWRFstar": ("swrf", {"radius": "sample", "far": True}),
    "MultiSWRFDB": ("swrf", {"radius": "sample", "dead_band": 0.5}),
    "MultiSWRFDBstar": ("swrf", {"radius": "sample", "dead_band": 0.5, "far": True}),
}
KINDS = ("genotypes", "numbers", "gaps", "mixed", "mixed with gaps", "numeric target", "three classes")
DECIDED = 1e-9  # of the largest distance: the nearest decision that rounding may not turn


def draw(kind, seed):
    """X, y, which columns are categories, whether the target is a number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 8))
    y = rng.permutation(np.arange(40) % (3 if kind == "three classes" else 2))
    X[:, :3] += 0.7 * y[:, None]
    categories = np.zeros(8, dtype=bool)
    if kind == "genotypes":
        X, categories[:] = np.clip(np.rint(X + 1), 0, 2), True
    if kind.startswith("mixed"):
        categories[::3] = True
        X[:, categories] = np.clip(np.rint(X[:, categories] + 1), 0, 2)
    if kind.endswith("gaps"):
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "numeric target":
        y = X[:, 0] - X[:, 4] + rng.normal(size=40)
    return X, y, categories


class Case:
    """A table on which a core's decisions are clear, and what the reference makes of it."""

    def __init__(self, kind, name):
        self.core, self.options = CORES[name]
        self.target_type = "number" if kind == "numeric target" else "class"
        self.ramp = "sd" if kind.startswith("mixed") else None
        for seed in range(200):
            self.X, self.y, self.categories = draw(kind, seed)
            Z = reference.scaled(self.X, self.categories, "range", np.ones(40))
            self.D = reference.differences(Z, self.categories)
            self.distances = reference.distances_of(self.D)
            gap = reference.gap(self.core, self.distances, self.y, target_type=self.target_type, **self.options)
            if gap > DECIDED:
                return
        raise AssertionError("every table has a decision on the edge")

    def common(self):
        common = {
            "categorical": self.categories,
            "missing": "ignore",
            "ramp": self.ramp,
            "target_type": self.target_type,
        }
        by_class = self.core in reference.BY_CLASS and self.target_type == "class"
        return common | ({"priors": "uniform"} if by_class else {})

    def far_constant(self, distances, moments=None):
        """What far rows add to each feature if they count by 1 - d."""
        if not self.options.get("far") or self.core == "surf":
            return 0.0
        w, known = np.ones(40), (~np.isnan(self.X)).astype(float)
        group, own, n_groups = reference.groups_of(self.y, self.target_type, w, self.core)
        options = {"radius": "all", "dead_band": 0.0, "k": None} | self.options | {"moments": moments}
        _, (_, taken, strength) = reference.rows(self.core, distances, group, own, w, **options)
        share = np.full(n_groups, 1 / n_groups)
        constants = [
            reference.side(taken, s, group, own, share, False, known).sum(axis=(0, 1)) / 40 for s in (taken, strength)
        ]
        return np.where(self.categories, constants[1], constants[0])  # of numbers it is 1 - s d

    def peer(self, name, distances=None):
        base = getattr(skrebate, name)

        class OurDistances(base):
            def _run_algorithm(self):
                if distances is not None:
                    self._distance_array, self.distarray_has_nan = distances, True
                return super()._run_algorithm()

        neighbors = {"n_neighbors": self.options["k"]} if "k" in self.options else {}
        label = {"number": "continuous", "class": "binary" if self.y.max() == 1 else "multiclass"}[self.target_type]
        model = OurDistances(
            n_features_to_select=2, label_type=label, categorical_features=np.flatnonzero(self.categories), **neighbors
        )
        return model.fit(self.X.copy(), self.y.copy()).feature_importances_


class StableNumPy:
    """NumPy for one of scikit-rebate's modules, so that its ranks give ties to the lowest row."""

    def __init__(self, argsort):
        self.argsort = argsort

    def __getattr__(self, name):
        return getattr(np, name)


@pytest.fixture(autouse=True)
def stable(monkeypatch):
    monkeypatch.setattr(skrebate.relieff, "np", StableNumPy(lambda a: np.argsort(a, kind="stable")))
    monkeypatch.setattr(skrebate.murelief, "np", StableNumPy(lambda a: np.argsort(-a, kind="stable")[::-1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CORES)
def test_its_definitions(name, kind):
    case = Case(kind, name)
    expected = fitted(case.X, case.y, case.core, **case.common(), **case.options).scores_
    assert np.ptp(expected) > 0.01
    found = case.peer(name, case.distances)
    np.testing.assert_allclose(expected + case.far_constant(case.distances), found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CORES)
def test_as_it_is(name, kind):
    case = Case(kind, name)
    distances, moments = case.distances, None
    if kind == "mixed":
        share = case.categories.mean()
        distances = reference.distances_of(case.D * np.where(case.categories, 1 / share, 1))
    if case.options.get("radius", "all") == "all" and case.core in ("surf", "swrf"):
        counted = np.tril(distances, -1) if np.isnan(case.X).any() else np.nan_to_num(distances)
        np.fill_diagonal(counted, 0)
        moments = counted.mean(), counted.std()
    expected = reference.scores(
        case.X, case.y, case.core, **case.common(), **case.options, distances=distances, moments=moments
    )
    np.testing.assert_allclose(expected + case.far_constant(distances, moments), case.peer(name), rtol=0, atol=1e-9)
