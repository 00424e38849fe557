"""The RELIEF family of the library against its reference: every core on every kind of table.

Scores are within 1e-12 of the largest score in float64, and within 1e-5 in float32. Made-up data are drawn until no
decision about neighbours is closer than `DECIDED`; exact ties of ranks are no matter of rounding, and stay.

Elsewhere: that the reference is right, and priors and ties of its own (test_relief_reference.py); memory layouts, tiles
and chunks (test_relief.py); that sparse tables are not made dense, frames and bad input (test_relief_inputs.py).
"""

import pickle
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from covering import covering, rotating, turns
from fastfs._functions.relief_family import fit_relief, read_samples
from fastfs._machine.run import Run, load_core
from reference import relief_family as reference
from reference.relief_library import fitted, prepared

PROMISED = {"float64": 1e-12, "float32": 1e-5}
DECIDED = {"float64": 1e-11, "float32": 1e-5}  # of the largest distance
N = 40
CORES = {
    "relief": ("relief", {}),
    "relieff": ("relieff", {"k": 3}),
    "relieff all": ("relieff", {"k": 100}),
    "murelief": ("murelief", {"k": 3}),
    "surf": ("surf", {}),
    "surf far": ("surf", {"far": True}),
    "multisurf": ("multisurf", {}),
    "multisurf far": ("multisurf", {"far": True}),
    "swrf": ("swrf", {}),
    "swrf far": ("swrf", {"far": True, "radius": "all", "dead_band": 0.25}),
    "swrf sample far": ("swrf", {"far": True, "radius": "sample"}),
    "swrf dead band": ("swrf", {"radius": "sample", "dead_band": 0.5}),
    "rrelieff": ("rrelieff", {"k": 5, "sigma": 3.0}),
}
TABLES = ("numbers", "categories", "mixed", "gaps", "mixed gaps", "class", "mixed class", "CSR", "CSC")
# What a table can't have, or a method doesn't take.
IMPOSSIBLE = {("relief", table) for table in TABLES[1:]} | {("rrelieff", "class"), ("rrelieff", "mixed class")}
EVERY = [(name, table) for name in CORES for table in TABLES if (CORES[name][0], table) not in IMPOSSIBLE]

# Small classes, samples without neighbours, pairs without common features: messages of other tests.
pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")


@dataclass
class Case:
    """A table with its options, all drawn."""

    X: np.ndarray
    y: np.ndarray
    core: str
    options: dict
    container: type = np.asarray

    def expected(self):
        return reference.scores(self.X, self.y, self.core, **self.options)

    def found(self, dtype="float64", **more):
        return fitted(self.container(self.X.astype(dtype)), self.y, self.core, **self.options, **more).scores_

    def gap(self):
        """That of the reference."""
        o = dict(self.options)
        w = np.ones(len(self.X)) if "sample_weight" not in o else np.asarray(o.pop("sample_weight"), dtype=float)
        kept = w > 0
        X, y, w = self.X[kept], self.y[kept], w[kept]
        used = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T])
        categories = o.pop("categorical", np.zeros(X.shape[1], dtype=bool))[used]
        missing, ramp = o.pop("missing", "error"), o.pop("ramp", None)
        Z = reference.scaled(X[:, used], categories, o.pop("scaling", "range"), w)
        D = reference.differences(Z, categories, y if missing == "class" else None, w)
        found = np.inf
        if ramp == "sd":  # which jumps there
            sd = np.array([reference.spread_of(z[~np.isnan(z)], w[~np.isnan(z)]) for z in Z[:, ~categories].T])
            found = np.nanmin(np.abs(D[:, :, ~categories] - sd) / sd, initial=np.inf)
        distances = o.pop("distances", None)
        if distances is not None:
            distances = distances[np.ix_(kept, kept)]
        else:
            distances = reference.distances_of(D**2 if self.core == "relief" else D)
        return min(found, reference.gap(self.core, distances, y, w=w, **o))


def draw(name, table, seed, dtype="float64", n=N, n_features=9):
    """One of all that a user may ask of this core for such a table."""
    core, own = CORES[name]
    rng = np.random.default_rng([seed, list(CORES).index(name), TABLES.index(table)])
    options = dict(own)
    n_classes = int(rng.integers(2, 5))
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, n_features)) * rng.choice([0.1, 1, 30], size=n_features)
    X[:, 0] += 2 * y
    X[:, 5] = 2.5
    categories = np.zeros(n_features, dtype=bool)
    if table == "categories" or table.startswith("mixed"):
        categories[:] = table == "categories"
        categories[[1, 3, 4, 8]] = True
        for a, levels in zip(np.flatnonzero(categories), rng.permutation([2, 2, 3, 3, 4, 5, 9, 1, 12]), strict=False):
            X[:, a] = rng.integers(0, levels, n) * 1.5 - 3
        options["categorical"] = categories
    if table.endswith(("gaps", "class")):
        holes = rng.random(X.shape) < rng.choice([0.02, 0.1, 0.35], size=n_features)
        holes[np.arange(n), rng.integers(0, 5, n)] = False
        X[holes] = np.nan
        options["missing"] = "ignore" if table.endswith("gaps") else "class"
    if table in ("CSR", "CSC"):
        X[rng.random(X.shape) < np.linspace(0, 0.95, n_features)] = 0
        X[::2, 7:] *= -1
    container = {"CSR": sp.csr_matrix, "CSC": sp.csc_array}.get(table, np.asarray)
    X = X.astype(dtype).astype(float)

    if core == "rrelieff" and rng.random() < 0.5:
        y = np.zeros(n, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = rng.random(n) < 0.6, rng.integers(1, 20, n)
        y["event"][:2] = True
        options["target_type"] = "survival"
    elif core == "rrelieff" or (core != "relief" and not table.endswith("class") and rng.random() < 0.3):
        y = y + rng.normal(size=n)
        options["target_type"] = "number"
    elif core in reference.BY_CLASS and rng.random() < 0.5:
        shares = {c: (c + 1) / sum(range(n_classes + 1)) for c in range(n_classes)}
        options["priors"] = "uniform" if rng.random() < 0.5 else shares
    if rng.random() < 0.5:
        w = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else rng.uniform(0.5, 3, n)
        w[rng.choice(np.arange(2, n), 3, replace=False)] = 0
        options["sample_weight"] = w
    scalings = ["range", None] if table in ("CSR", "CSC") else ["range", "standard", None]
    options["scaling"] = scalings[rng.integers(len(scalings))]
    if core != "relief" and table not in ("CSR", "CSC", "class", "mixed class") and rng.random() < 0.3:
        options["ramp"] = "sd" if rng.random() < 0.5 else (0.05, 0.3)
    if core != "relief" and rng.random() < 0.15:
        places = rng.normal(size=(n, 3))
        options["distances"] = np.abs(places[:, None] - places[None]).sum(axis=2)
    return Case(X, y, core, options, container)


@cache
def decided(name, table, number, dtype="float64"):
    """The case of this number, and its scores."""
    for attempt in range(100):
        case = draw(name, table, number + 1000 * attempt, dtype)
        if case.gap() > DECIDED[dtype]:
            return case, case.expected()
    raise AssertionError("every table has a decision on the edge")


def assert_close(found, expected, relative, case):
    largest = np.abs(expected).max()
    assert largest > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * largest, err_msg=str(case.options))


# ---------------------------------------------------------------------------------------------------------- definitions


@pytest.mark.parametrize("name, table", EVERY)
def test_float64(name, table):
    case, expected = decided(name, table, 0)
    found = case.found(n_jobs=1)
    assert_close(found, expected, PROMISED["float64"], case)
    assert case.found(n_jobs=3).tobytes() == found.tobytes()


@pytest.mark.parametrize("name, table", EVERY[::2])
def test_float32(name, table):
    case, expected = decided(name, table, 1, "float32")
    assert_close(case.found("float32"), expected, PROMISED["float32"], case)


IN_A_PROCESS = """
import pickle, sys, warnings
import fastfs
from fastfs._estimators import do_without_sklearn
do_without_sklearn()  # importing it would take half of the time
warnings.simplefilter("ignore", fastfs.DataWarning)
with open(sys.argv[1], "rb") as file:
    cases = pickle.load(file)
found = [estimator.fit(X, y, **given).scores_ for estimator, X, y, given in cases]
with open(sys.argv[2], "wb") as file:
    pickle.dump((fastfs.info()["isa"], found), file)
"""


@pytest.fixture(scope="module")
def chosen():
    """Fits, their cases and dtypes, and what they must give."""
    chosen = [(dtype, *decided(*one, 0, dtype)) for one, dtype in turns(1, EVERY, PROMISED)]
    given = [
        (estimator, case.container(case.X.astype(dtype)), case.y, of_fit)
        for dtype, case, _ in chosen
        for estimator, of_fit in [prepared(case.core, **case.options)]
    ]
    return given, chosen


@pytest.mark.parametrize("isa", ["base", "avx2", "avx512", "neon"])
def test_instruction_sets(isa, isas, python, chosen, tmp_path):
    if isa not in isas:
        pytest.skip(f"this machine has no {isa}")
    given, chosen = chosen
    (tmp_path / "given").write_bytes(pickle.dumps(given))
    finished = python(IN_A_PROCESS, tmp_path / "given", tmp_path / "found", FASTFS_ISA=isa)
    assert finished.returncode == 0, finished.stderr
    used, found = pickle.loads((tmp_path / "found").read_bytes())
    assert used == isa
    for scores, (dtype, case, expected) in zip(found, chosen, strict=True):
        assert_close(scores, expected, PROMISED[dtype], case)


# --------------------------------------------------------------------------------------- blocks, threads, drawn targets

LARGE = [(name, table) for name, table in EVERY if table in ("numbers", "mixed", "mixed gaps", "mixed class", "CSR")]


def large(name, table, n, n_features):
    """Without distances and weights of zero, which would not leave all n samples."""
    for seed in range(100):
        case = draw(name, table, seed, n=n, n_features=n_features)
        if "distances" not in case.options and "sample_weight" not in case.options:
            return case
    raise AssertionError("all have them")


@pytest.mark.parametrize("name, table", LARGE[::4])
def test_blocks_of_rows(name, table):
    """Distances of 600 samples take 2.9 MB; those of blocks are the same, whose sums are taken in another order."""
    case = large(name, table, 600, 12)
    stored = fitted(case.container(case.X), case.y, case.core, **case.options, n_jobs=1)
    again = fitted(case.container(case.X), case.y, case.core, **case.options, n_jobs=3)
    assert stored.scores_.tobytes() == again.scores_.tobytes()
    blocks = [
        fitted(case.container(case.X), case.y, case.core, **case.options, n_jobs=n_jobs, max_memory="2900K")
        for n_jobs in (1, 3)
    ]
    assert [model.algorithm_ for model in (stored, *blocks)] == ["stored", "blocks", "blocks"]
    assert blocks[0].scores_.tobytes() == blocks[1].scores_.tobytes()
    unit = 1 if case.options["scaling"] == "range" else np.nanmax(case.X) - np.nanmin(case.X)
    np.testing.assert_allclose(blocks[0].scores_, stored.scores_, rtol=0, atol=1e-13 * unit)


@covering(
    name=[name for name in CORES if name not in ("relieff all", "swrf dead band")],
    table=["numbers", "mixed gaps"],
    weighted=[False, True],
)
def test_draws_of_targets(name, table, weighted):
    """60 draws: their mean is within 4.5 standard errors of the score, and they spread as far as the fit says."""
    if (CORES[name][0], table) in IMPOSSIBLE:
        pytest.skip("RELIEF takes numbers only")
    case = large(name, table, 120, 24)
    case.options["n_targets"] = 40
    if weighted:
        case.options["sample_weight"] = np.exp(0.7 * np.random.default_rng(1).normal(size=120))
    draws = [fitted(case.X, case.y, case.core, **case.options, random_state=seed) for seed in range(60)]
    spread = np.std([model.scores_ for model in draws], axis=0, ddof=1)
    said = np.mean([model.scores_se_ for model in draws], axis=0)
    varies = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in case.X.T])
    assert not spread[~varies].any()
    assert not said[~varies].any()
    assert 0.85 < np.median(said[varies] / spread[varies]) < 1.15
    case.options["n_targets"] = 1
    assert np.isnan(fitted(case.X, case.y, case.core, **case.options).scores_se_[varies]).all()
    del case.options["n_targets"]
    far = np.mean([model.scores_ for model in draws], axis=0)[varies] - case.found()[varies]
    assert np.abs(far / (said[varies] / np.sqrt(60))).max() < 4.5


# ------------------------------------------------------------------------------------------- stages with fewer columns


class Stage:
    """The library's stage, as TuRF and VLS use it."""

    def __init__(self, case, keep="manhattan", dtype="float64"):
        estimator, given = prepared(case.core, **case.options)
        self.options, run = estimator._OPTIONS.from_arguments(estimator), Run(0, None, None)
        weights = given.get("sample_weight")
        X = case.container(case.X.astype(dtype))
        self.samples = read_samples(X, case.y, weights, None, self.options, run)
        self.stage = self.samples.make_stage(self.options, run, keep)

    def use(self, columns, weights=None):
        self.stage.core_margin.use(np.asarray(columns, dtype=np.int64), weights, self.stage.run)

    def scores(self):
        return fit_relief(self.stage, self.samples, self.samples.response, self.options).result.scores


OF_STAGES = [(name, table) for name, table in EVERY if name in ("relieff", "multisurf", "swrf far", "rrelieff")]


def without_distances(name, table, number):
    case, _ = decided(name, table, number)
    case = Case(case.X, case.y, case.core, dict(case.options), case.container)
    case.options.pop("distances", None)
    return case


@pytest.mark.parametrize("name, table", OF_STAGES[::2])
def test_columns_that_are_subtracted(name, table):
    """One, then two more; and then those that come back, so that distances are computed again."""
    case = without_distances(name, table, 2)
    kept, computed = Stage(case), Stage(case, "none")
    for columns in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 4, 6, 7], [0, 2, 4, 6, 8]):
        for stage in (kept, computed):
            stage.use(columns)
        found, unused = kept.scores(), np.setdiff1d(np.arange(9), columns)
        assert not found[unused].any()
        assert_close(found, computed.scores(), 1e-12, case)
        part = dict(case.options)
        if "categorical" in part:
            part["categorical"] = part["categorical"][columns]
        expected = Case(case.X[:, columns], case.y, case.core, part).expected()
        assert_close(found[columns], expected, 1e-12, case)


@pytest.mark.parametrize("keep", ["manhattan", "none"])
def test_a_stage_that_lacks_memory_stays_as_it_is(keep):
    stage = Stage(without_distances("multisurf", "gaps", 2), keep)
    stage.use([0, 1, 2, 3, 4])
    before = stage.scores()
    with pytest.raises(MemoryError):
        stage.stage.core_margin.use(np.arange(3), None, Run(1, 100, None))
    assert stage.scores().tobytes() == before.tobytes()


@pytest.mark.parametrize("weighs", [False, True])
def test_a_stage_whose_call_is_canceled_stays_as_it_is(weighs):
    """A call sees that it is canceled at a report, of which there is one each 0.05 s; this one takes several times as
    long on fast machines, too."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(3000, 2000)), np.arange(3000) % 2
    some, weights = np.arange(450, 2000), rng.uniform(0.5, 2, 1550) if weighs else None

    def stage():
        return load_core().Margin(X, {"scaling": "range", "keep": "manhattan"}, Run(1))

    def use(stage, progress=None):
        stage.use(some, weights, Run(1, None, progress))

    def scores(stage):
        found = stage.relief(y, 2, {"method": "relieff", "n_neighbors": 5, "n_targets": 40}, Run(1))["scores"]
        return found / np.abs(found).max()

    changed = stage()
    before = scores(changed)
    use(changed)
    after = scores(changed)
    assert np.abs(before - after).max() > 0.01
    for number in (1, 2):
        tried, reports = stage(), []

        def cancel(step, share, number=number, reports=reports):
            reports.append(share)
            if len(reports) == number:
                raise InterruptedError

        try:
            use(tried, cancel)
        except InterruptedError:
            np.testing.assert_allclose(scores(tried), before, atol=1e-12)
        else:
            break  # it had ended before the report
        use(tried)
        np.testing.assert_allclose(scores(tried), after, atol=1e-12)
    assert number > 1


@rotating(1, case=OF_STAGES[1::2], keep=["manhattan", "none"])
def test_weights_of_features(case, keep):
    """They multiply differences in distances, not in scores; a feature of weight 0 is scored, too."""
    case = without_distances(*case, 3)
    stage, columns = Stage(case, keep), np.array([0, 1, 2, 4, 5, 6, 7, 8])
    weights = np.random.default_rng(4).uniform(0.2, 2, 8)
    weights[2] = 0
    stage.use(columns, weights)
    found = stage.scores()
    assert_close(found, weighted(case, columns, weights), 1e-12, case)
    plain = Stage(case, keep)
    plain.use(columns)
    assert np.abs(found - plain.scores()).max() > 1e-4 * np.abs(found).max()


def weighted(case, columns, weights):
    """The reference with weights of features."""
    o = {"missing": "error", "ramp": None, "categorical": np.zeros(9, dtype=bool), "target_type": "class"}
    o |= {"sample_weight": np.ones(N)} | case.options
    w, of_feature = o.pop("sample_weight"), np.zeros(9)
    of_feature[columns] = weights
    kept, scaling, missing, ramp = w > 0, o.pop("scaling"), o.pop("missing"), o.pop("ramp")
    X, y, w = case.X[kept], case.y[kept], w[kept]
    varies = [a for a in columns if len(np.unique(X[~np.isnan(X[:, a]), a])) > 1]
    categories = o.pop("categorical")[varies]
    Z = reference.scaled(X[:, varies], categories, scaling, w)
    D = reference.differences(Z, categories, y if missing == "class" else None, w)
    known = np.ones(Z.shape, dtype=bool) if missing == "class" else ~np.isnan(Z)
    G = reference.pair_weights(case.core, reference.distances_of(D, of_feature[varies]), y, w=w, known=known, **o)
    found = np.zeros(9)
    found[varies] = np.sum(G * np.nan_to_num(reference.ramped(D, Z, categories, ramp, w)), axis=(0, 1))
    return found
