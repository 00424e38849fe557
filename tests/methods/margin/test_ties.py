"""Ties of whole numbers: counts, bits, genotypes and questionnaires have neighbours at equal distances.

Which of them count is told by the lowest row, and not by rounding: so scores don't depend on the order of columns, the
storage, the precision, the number of threads, the instruction set, or on whether the rows come in blocks.
"""

import pickle
from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fastfs
from covering import covering, pairwise, rotating, some
from fastfs.io import pack_genotypes
from reference import relief_family as reference
from reference.relief_library import prepared

pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")

N, P = 60, 23
# Of the largest score: rounding of the sums of scores, which are those of the table's type.
ROUNDING = {"float64": 1e-12, "float32": 1e-5}
TABLES = {
    "counts": lambda rng: rng.poisson(rng.uniform(0.3, 4, size=P), size=(N, P)),
    "rare counts": lambda rng: rng.poisson(0.15, size=(N, P)),
    "negative": lambda rng: rng.integers(-3, 4, size=(N, P)) * rng.integers(0, 2, size=(N, P)),
    "bits": lambda rng: rng.integers(0, 2, size=(N, P)),
    "genotypes": lambda rng: rng.binomial(2, rng.uniform(0.1, 0.5, size=P), size=(N, P)),
    "five answers": lambda rng: rng.integers(1, 6, size=(N, P)),
    "six answers": lambda rng: rng.integers(1, 7, size=(N, P)),
}
CORES = {
    "relief": ("relief", {}),
    "relieff": ("relieff", {"k": 5}),
    "murelief": ("murelief", {"k": 5}),
    "surf": ("surf", {"far": True}),
    "multisurf": ("multisurf", {"far": True}),
    "swrf": ("swrf", {"radius": "sample", "far": True}),
    "rrelieff": ("rrelieff", {"k": 7, "sigma": 3.0}),
}
SCALINGS = ("range", "standard", None)


@cache
def draw(table, seed):
    rng = np.random.default_rng([seed, *table.encode()])
    X = TABLES[table](rng).astype(float)
    X[:, 3] = 2  # constant
    return X, rng.permutation(np.arange(N) % 3), rng.normal(size=N), rng.permutation(P)


def scores(core, X, y, **options):
    estimator, of_fit = prepared(core, **options)
    return estimator.fit(X, y, **of_fit).scores_


def permuted(fit, X, columns):
    found = np.empty(X.shape[1])
    found[columns] = fit(X[:, columns])
    return found


def assert_rounding(found, expected, dtype="float64", what=""):
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING[dtype] * np.abs(expected).max(), err_msg=what)


@covering(name=CORES.keys(), table=some(2, 0, TABLES), scaling=SCALINGS)
def test_storage_precision_order_and_threads(name, table, scaling):
    core, options = CORES[name]
    for seed in range(2):
        X, classes, numbers, columns = draw(table, seed)
        fit = partial(scores, core, y=numbers if core == "rrelieff" else classes, scaling=scaling, **options)
        expected = fit(X)
        assert np.abs(expected).max() > 1e-3
        makes = {"C": np.ascontiguousarray, "Fortran": np.asfortranarray}
        if scaling != "standard":
            makes |= {"CSR": sp.csr_matrix, "CSC": sp.csc_matrix}
        for dtype in ROUNDING:
            for storage, make in makes.items():
                found = permuted(fit, make(X.astype(dtype)), columns)
                assert_rounding(found, expected, dtype, f"{storage}, {dtype}, seed {seed}")
            assert fit(X.astype(dtype), n_jobs=3).tobytes() == fit(X.astype(dtype), n_jobs=1).tobytes()


@settings(deadline=None)
@given(
    st.sampled_from(sorted(CORES)), st.sampled_from(sorted(TABLES)), st.integers(0, 2**32), st.sampled_from(SCALINGS)
)
def test_any_table(name, table, seed, scaling):
    core, options = CORES[name]
    X, classes, numbers, columns = draw.__wrapped__(table, seed)
    fit = partial(scores, core, y=numbers if core == "rrelieff" else classes, scaling=scaling, **options)
    expected = fit(X)
    assert_rounding(permuted(fit, X, columns), expected)
    assert_rounding(permuted(fit, X.astype(np.float32), columns), expected, "float32")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", CORES)
def test_exact_arithmetic(name, table):
    """The lowest row wins ties of distances that are whole multiples of one unit."""
    core, options = CORES[name]
    for seed in range(3):
        X, classes, numbers, _ = draw(table, seed)
        y = numbers if core == "rrelieff" else classes
        rule = {"target_type": "number"} if core == "rrelieff" else {}
        expected = reference.scores(X, y, core, distances=reference.whole_distances(X, core), **options, **rule)
        for dtype in ROUNDING:
            assert_rounding(scores(core, X.astype(dtype), y, **options), expected, dtype)


@rotating(1, name=CORES.keys(), table=["counts", "six answers"])
def test_weights_gaps_and_categories(name, table):
    core, options = CORES[name]
    X, classes, numbers, columns = draw(table, 4)
    y = numbers if core == "rrelieff" else classes
    rng = np.random.default_rng(5)
    given = {"sample_weight": rng.integers(1, 3, N).astype(float)}
    kinds = [(X, given)]
    if core != "relief":
        gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
        kinds += [(gaps, {"missing": "ignore"}), (gaps, {"missing": "ignore"} | given)]
        kinds += [] if core == "rrelieff" else [(gaps, {"missing": "class"})]
    for Z, more in kinds:
        fit = partial(scores, core, y=y, **options, **more)
        expected = fit(Z)
        assert_rounding(permuted(fit, Z, columns), expected)
        if more.get("missing") != "class":
            assert_rounding(permuted(fit, Z.astype(np.float32), columns), expected, "float32")
    if core != "relief":
        mixed = np.arange(P) % 2 == 0
        expected = scores(core, X, y, categorical=mixed, **options)
        found = np.empty(P)
        found[columns] = scores(core, X[:, columns].astype(np.float32), y, categorical=mixed[columns], **options)
        assert_rounding(found, expected, "float32")


@pytest.mark.parametrize("name", CORES)
def test_genotypes_in_two_bits(name):
    core, options = CORES[name]
    X, classes, numbers, columns = draw("genotypes", 1)
    for scaling in ("range", None):
        fit = partial(scores, core, y=numbers if core == "rrelieff" else classes, scaling=scaling, **options)
        found = permuted(lambda G, fit=fit: fit(pack_genotypes(G)), X, columns)
        assert_rounding(found, fit(X), "float32")


@covering(name=["relief", "relieff"], table=TABLES.keys(), scaling=SCALINGS)
def test_streams(name, table, scaling):
    """Blocks of rows, permuted columns and float32 have the neighbours of the table in memory."""
    core, options = CORES[name]
    X, classes, _, columns = draw(table, 2)
    fit = partial(scores, core, y=classes, scaling=scaling, n_targets=40, **options)
    expected = fit(X)

    def blocks(Z):
        return lambda: (Z[first : first + 17] for first in range(0, N, 17))

    for dtype in ROUNDING:
        found = np.empty(P)
        found[columns] = fit(blocks(X[:, columns].astype(dtype)))
        assert_rounding(found, expected, dtype)
    if core == "relieff" and scaling != "standard":
        assert_rounding(fit(blocks(sp.csr_matrix(X))), expected)


@rotating(1, name=[name for name in CORES if name != "rrelieff"], table=["counts", "six answers", "bits"])
def test_rounds(name, table):
    """TuRF subtracts distances: what is left of 0 is 0. VLS and IterativeRelief change features and their weights."""
    core, options = CORES[name]
    X, y, _, columns = draw(table, 3)
    estimator, _ = prepared(core, **options)
    wrappers = {"TuRF": lambda: fastfs.TuRF(estimator, step=4, n_features_to_select=3)}
    if core != "relief":
        wrappers["IterativeRelief"] = lambda: fastfs.IterativeRelief(estimator, n_iter=4)
    for what, make in wrappers.items():
        expected = make().fit(X, y).scores_
        # Weights are made of scores: those of float32 differ in their last digits, and so do distances.
        for dtype in ROUNDING if what == "TuRF" else ["float64"]:
            found = permuted(lambda Z, make=make: make().fit(Z, y).scores_, X.astype(dtype), columns)
            if what == "TuRF":  # a tier below the others for each round, in units of their spread
                kept = np.argsort(-expected)[:3]
                assert_rounding(found[kept], expected[kept], dtype, what)
            else:
                assert_rounding(found, expected, dtype, what)
    subsets = [np.sort(columns[first : first + 9]) for first in range(0, P - 9, 4)]
    vls = partial(fastfs.VLS, estimator)
    place = np.argsort(columns)
    expected = vls(subsets=[*subsets, np.arange(P)]).fit(X, y).scores_
    moved = [place[s] for s in (*subsets, np.arange(P))]
    found = permuted(lambda Z: vls(subsets=moved).fit(Z, y).scores_, X, columns)
    assert_rounding(found, expected)


def test_subtracted_distances_of_0():
    """Samples that agree in the features that are left are at distance 0, whatever was subtracted."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(80, 60)).astype(float)
    X[:, 40:] = rng.integers(0, 11, size=(80, 20))
    X[:, :4] = rng.integers(0, 2, size=(80, 4))
    y = rng.integers(0, 2, size=80)
    for columns in (np.arange(60), rng.permutation(60)):
        model = fastfs.TuRF(fastfs.ReliefF(n_neighbors=3), step=7, n_features_to_select=5).fit(X[:, columns], y)
        kept = model.get_support()
        alone = fastfs.relieff_scores(X[:, columns][:, kept], y, n_neighbors=3)
        assert_rounding(model.scores_[kept], alone)


IN_A_PROCESS = """
import pickle, sys, warnings
import fastfs
from fastfs._estimators import do_without_sklearn
do_without_sklearn()  # importing it would take half of the time
warnings.simplefilter("ignore", fastfs.DataWarning)
with open(sys.argv[1], "rb") as file:
    cases = pickle.load(file)
with open(sys.argv[2], "wb") as file:
    pickle.dump((fastfs.info()["isa"], [estimator.fit(X, y).scores_ for estimator, X, y in cases]), file)
"""


@pytest.fixture(scope="module")
def rotated():
    """Fits, and what they must give."""
    cases, expected = [], []
    for name, table, dtype in pairwise([CORES, TABLES, ROUNDING]):
        core, options = CORES[name]
        X, classes, numbers, _ = draw(table, 0)
        y = numbers if core == "rrelieff" else classes
        cases.append((prepared(core, **options)[0], X.astype(dtype), y))
        expected.append((scores(core, X, y, **options), dtype))
    return cases, expected


@pytest.mark.parametrize("isa", ["base", "avx2", "avx512", "neon"])
def test_instruction_sets(isa, isas, python, rotated, tmp_path):
    if isa not in isas:
        pytest.skip(f"this machine has no {isa}")
    cases, expected = rotated
    (tmp_path / "given").write_bytes(pickle.dumps(cases))
    finished = python(IN_A_PROCESS, tmp_path / "given", tmp_path / "found", FASTFS_ISA=isa)
    assert finished.returncode == 0, finished.stderr
    used, found = pickle.loads((tmp_path / "found").read_bytes())
    assert used == isa
    for here, (there, dtype) in zip(found, expected, strict=True):
        assert_rounding(here, there, dtype)


@pytest.mark.parametrize("name", CORES)
def test_blocks_of_rows(name):
    core, options = CORES[name]
    rng = np.random.default_rng(1)
    X, y = rng.poisson(2.0, size=(600, 12)).astype(float), rng.integers(0, 2, 600)
    y = y + rng.normal(size=600) if core == "rrelieff" else y
    for dtype in ROUNDING:
        estimator = prepared(core, **options)[0].set_params(max_memory="2900K")
        assert_rounding(estimator.fit(X.astype(dtype), y).scores_, scores(core, X, y, **options), dtype)
        assert estimator.algorithm_ == "blocks"


def test_equal_distances_are_no_neighbours_of_a_radius():
    """If all samples are equally far, none is nearer than the mean, in any precision and unit."""
    X = 7 * np.eye(9)
    X[:, 0] += np.arange(9) % 2 * 0
    for core in ("surf", "multisurf", "swrf"):
        for dtype in ROUNDING:
            for unit in (1, 3):
                assert not scores(core, (unit * X).astype(dtype), np.arange(9) % 2, scaling="standard").any()
