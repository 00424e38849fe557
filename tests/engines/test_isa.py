"""Every instruction set that this machine has, and the environment variables. Each runs in a process of its own, for
the choice is made once a process."""

import json
import platform
from functools import cache

import mpmath
import numpy as np
import pytest

from reference import affinity as oracle
from reference import ikdr as ikdr_oracle
from reference import immigrate as immigrate_oracle
from reference import manifest as manifest_oracle
from reference import relief as relief_oracle
from reference.data import classes_that_differ, factor_model, repeated_columns
from reference.tolerance import SINGULAR, assert_close

ISAS = ["base", "avx2", "avx512", "neon"]
DTYPES = ["float32", "float64"]


def test_the_message_names_known_sets(isas):
    of_machine = ["base", "neon"] if platform.machine() in ("aarch64", "arm64") else ["base", "avx2", "avx512"]
    assert isas == of_machine[: len(isas)]


def test_a_set_of_other_machines_is_an_error(python):
    other = "avx2" if platform.machine() in ("aarch64", "arm64") else "neon"
    finished = python("import fastfs; fastfs.info()", FASTFS_ISA=other)
    assert finished.stderr.splitlines()[-1].startswith("ValueError: FASTFS_ISA must be one of base")


COMPUTE = """
import sys
import warnings
import numpy as np
import scipy.sparse
import fastfs
from fastfs._estimators import do_without_sklearn
do_without_sklearn()  # importing it would take half of the time

assert fastfs.info()["isa"] == sys.argv[3]
given = dict(np.load(sys.argv[1]))
results = {}
for dtype in ("float32", "float64"):
    X = given["X"].astype(dtype)
    results[f"rbf {dtype}"] = fastfs.affinity(X, sigma=3.0)
    results[f"sqeuclidean {dtype}"] = fastfs.affinity(X, kernel="sqeuclidean")
    # Sparse columns aren't shifted: the first row of the result is exp(-x^2 / 2), x^2 rounded once.
    row = scipy.sparse.csr_matrix(given[f"x {dtype}"])
    results[f"exp {dtype}"] = fastfs.affinity(row, sigma=1.0)[0]
results["manifest"] = fastfs.manifest_scores(given["X"], given["y"])
results["classes"] = fastfs.manifest_scores(given["X"][:, :90], np.arange(30) % 3)
# Every feature a landmark, and copies of a few features: what is drawn doesn't matter, see test_manifest_wide.py.
warnings.simplefilter("ignore", fastfs.DataWarning)
margins = {
    "relief": lambda X, y: fastfs.relief_scores(X, y),
    "relieff": lambda X, y: fastfs.relieff_scores(X, y),
    "multisurf": lambda X, y: fastfs.multisurf_scores(X, y),
    "im4e": lambda X, y: fastfs.im4e(X, y, sigma=1.0).weights,
    "immigrate": lambda X, y: fastfs.immigrate(X, y, sigma=1.0).W,
    "pairs": lambda X, y: fastfs.immigrate(X[:14], y[:14], prefilter=None, sigma=5.0).scores,
    "far": lambda X, y: fastfs.Immigrate(sigma=1.0).fit(X, y).expected_distance(3 * X[:9] + 1),
    "far by weights": lambda X, y: fastfs.IM4E(sigma=1.0).fit(X, y).expected_distance(3 * X[:9] + 1),
}
for dtype in ("float32", "float64"):
    for name, call in margins.items():
        results[f"margin {name} {dtype}"] = call(given["margins"].astype(dtype), given["margin labels"])
    fitted = fastfs.ikdr(given["margins"].astype(dtype), given["margin labels"])
    for name in ("A", "weights", "embedding", "history"):
        results[f"mixture {dtype} {name}"] = getattr(fitted, name)
    results[f"mixture {dtype} new"] = fitted.embed(3 * given["margins"][:9].astype(dtype) + 1)
for dtype in ("float32", "float64"):
    X, y = given["factors"].astype(dtype), given["factor labels"]
    results[f"landmarks {dtype}"] = fastfs.manifest_scores(X, y, accuracy="low_rank", rank=20)
    X, y = given["copies"].astype(dtype), given["copy labels"]
    results[f"one pass {dtype}"] = fastfs.manifest_scores(X, y, accuracy="low_rank_high", rank=50)
np.savez(sys.argv[2], **results)
"""


def arguments_of_exp(dtype):
    # From 0 to beyond where exp(-x^2 / 2) leaves the normal numbers; dense near 0, where most kernel values lie.
    largest = 14.0 if dtype == "float32" else 38.5
    x = np.concatenate([[0], np.geomspace(1e-12, 1, 300), np.linspace(0.01, largest, 1700)])
    return x.astype(dtype)[None]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 300)), np.repeat([0, 1], 15)
    given = {"X": X, "y": y} | {f"x {dtype}": arguments_of_exp(dtype) for dtype in ("float32", "float64")}
    # Values that float32 holds, so that both dtypes mean the same data.
    given["factors"], given["factor labels"] = factor_model(40, 80, 5)
    given["copies"], given["copy labels"] = repeated_columns(40, 400, 12)
    for name in ("factors", "copies"):
        given[name] = given[name].astype(np.float32).astype(float)
    X, given["margin labels"] = classes_that_differ(57, 61, 3)
    given["margins"] = X.astype(np.float32).astype(float)
    path = tmp_path_factory.mktemp("isa") / "given.npz"
    np.savez(path, **given)
    return path, given


@pytest.fixture(scope="module")
def computed(python, given, isas):
    """What each instruction set that the machine has makes of the given data."""
    path, _ = given
    results = {}
    for isa in isas:
        out = path.with_name(f"{isa}.npz")
        finished = python(COMPUTE, path, out, isa, FASTFS_ISA=isa)
        assert finished.returncode == 0, finished.stderr
        results[isa] = dict(np.load(out))
    return results


@pytest.fixture(params=ISAS)
def result(request, computed, isas):
    if request.param not in isas:
        pytest.skip(f"this machine has no {request.param}")
    return computed[request.param]


@cache
def exact_exp(dtype):
    """Compute exp(-t / 2) with mpmath's digits, where t is x^2 as the instruction sets round it."""
    x = arguments_of_exp(dtype)[0]
    return [mpmath.exp(-mpmath.mpf(float(v)) / 2) for v in x * x]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp(result, given, dtype):
    """exp is right to 2 units in the last place.

    Rounding of the last addition 0.5, of the term r + r^2 q (at most 0.42) and its parts below 0.7, argument reduction
    and polynomial below 0.3 together.
    """
    x = given[1][f"x {dtype}"][0]
    found, t = result[f"exp {dtype}"], x * x
    lowest = {"float32": 87, "float64": 708}[dtype]
    inside = t / 2 <= lowest
    exact = np.array(exact_exp(dtype))[inside]
    ulp = np.spacing(exact.astype(float).astype(dtype)).astype(float)
    error = np.array([float(abs(mpmath.mpf(float(f)) - e)) for f, e in zip(found[inside], exact, strict=True)]) / ulp
    assert error.max() <= 2
    assert found[0] == 1
    assert np.any(~inside)
    assert np.all(found[~inside] >= 0)
    assert np.all(found[~inside] <= np.exp(-lowest))


def distance_bound(X, eps):
    """(2 N + 8) eps (n_i + n_j): derived in test_affinity.py."""
    norms = ((X - X.mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
    return (2 * len(X) + 8) * eps * (norms[:, None] + norms)


def test_affinity(result, given):
    for name in DTYPES:
        X, eps = given[1]["X"].astype(name).astype(float), np.finfo(name).eps
        allowed = distance_bound(X, eps)
        assert np.all(np.abs(result[f"sqeuclidean {name}"] - oracle.sqeuclidean(X)) <= allowed)
        assert np.all(np.abs(result[f"rbf {name}"] - oracle.rbf(X, 3.0)) <= allowed / 18 + 4 * eps)
        for kernel in ("sqeuclidean", "rbf"):
            np.testing.assert_array_equal(result[f"{kernel} {name}"], result[f"{kernel} {name}"].T)


def test_manifest(result, given):
    exact = manifest_oracle.manifest(given[1]["X"], given[1]["y"]).scores
    assert np.abs(result["manifest"] - exact).max() <= 1e-9 * exact.max()


def test_classes(result, given):
    exact = manifest_oracle.manifest_classes(given[1]["X"][:, :90], np.arange(30) % 3).scores
    assert_close(result["classes"], exact, 1e-9)


def test_manifest_from_landmarks(result, given):
    X, y = given[1]["factors"], given[1]["factor labels"]
    expected, *_ = manifest_oracle.wide(X, y, lambda K: manifest_oracle.leading(K, 20))
    for dtype in DTYPES:
        assert_close(result[f"landmarks {dtype}"], expected, 1e-7)


def test_manifest_from_one_pass(result, given):
    exact = manifest_oracle.manifest(given[1]["copies"], given[1]["copy labels"], singular=True).scores
    for dtype in DTYPES:
        assert_close(result[f"one pass {dtype}"], exact, 3e-3)


MARGINS = {
    "relief": relief_oracle.relief,
    "relieff": relief_oracle.relieff,
    "multisurf": relief_oracle.multisurf,
    "im4e": lambda X, y: immigrate_oracle.im4e(X, y).scores,
    "immigrate": lambda X, y: immigrate_oracle.immigrate(X, y).weights,
    "pairs": lambda X, y: immigrate_oracle.immigrate(X[:14], y[:14], sigma=5.0).scores,
    "far": lambda X, y: immigrate_oracle.expected_distance(X, y, immigrate_oracle.immigrate(X, y), 3 * X[:9] + 1),
    "far by weights": lambda X, y: immigrate_oracle.expected_distance(X, y, immigrate_oracle.im4e(X, y), 3 * X[:9] + 1),
}


@pytest.mark.parametrize("name", MARGINS)
def test_margins(result, given, name):
    """As promised in test_relief.py and test_immigrate.py; distances relative to the largest."""
    exact = MARGINS[name](given[1]["margins"], given[1]["margin labels"])
    unit = np.abs(exact).max() if name.startswith("far") else 1
    for dtype, promised in (("float32", 1e-5), ("float64", 1e-10)):
        np.testing.assert_allclose(result[f"margin {name} {dtype}"], exact, rtol=0, atol=promised * unit)


@pytest.fixture(scope="module")
def mixture(given):
    """The problem of a mixture of kernels, scales of the features, and the least objective that the oracle finds."""
    X, y = given[1]["margins"], given[1]["margin labels"]
    Ks, deltas = ikdr_oracle.kernels(X)
    problem = ikdr_oracle.Problem(Ks, y, 0.1 / len(y), 0.1 / len(y))
    return problem, deltas, ikdr_oracle.solve(problem, ikdr_oracle.starts(problem, 3)[1])[2]


def test_mixtures_of_kernels(result, given, mixture):
    """As promised in test_ikdr.py, at the solution of each set; and as low as the oracle comes."""
    X, (problem, deltas, least) = given[1]["margins"], mixture
    far = ikdr_oracle.cross_kernels(X, 3 * X[:9] + 1, deltas)
    for dtype, promised in (("float32", 1e-6), ("float64", 1e-9)):
        found = {name: result[f"mixture {dtype} {name}"] for name in ("A", "weights", "embedding", "history", "new")}
        F = ikdr_oracle.objective(problem, found["A"], found["weights"])
        assert found["history"][-1] == pytest.approx(F, rel=promised)
        assert 1.01 * least >= F
        embedding = problem.kernel(found["weights"]) @ found["A"]
        np.testing.assert_allclose(found["embedding"], embedding, rtol=0, atol=promised)
        new = np.einsum("m,mij->ij", found["weights"], far) @ found["A"]
        np.testing.assert_allclose(found["new"], new, rtol=0, atol=promised)


def test_sets_agree_with_each_other(computed, isas):
    if len(isas) < 2:
        pytest.skip("this machine has one instruction set only")
    first, *others = computed.values()
    for other in others:
        for what in (name for name in first if name.startswith(("landmarks", "one pass"))):
            assert_close(other[what], first[what], {"l": 1e-7, "o": SINGULAR}[what[0]])
        for what in (name for name in first if not name.startswith(("landmarks", "one pass", "margin", "mixture"))):
            # Both are within the oracle's bound; the sums of 30 terms differ by their order and by contracted products.
            eps = np.finfo(first[what].dtype).eps
            np.testing.assert_allclose(other[what], first[what], rtol=4 * 68 * eps, atol=4 * 68 * eps, err_msg=what)


# -------------------------------------------------------------------------------------------------- the other variables

INFO = "import fastfs, json; print(json.dumps(fastfs.info()))"
CALL = "import fastfs; fastfs.affinity([[0.0] * 300], sigma=1.0)"


def info(python, **environment):
    finished = python(INFO, **environment)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


@pytest.mark.parametrize(
    "n, text, n_bytes",
    [(1, "123456789", 123456789), (3, "1.5G", 3 << 29), (1024, "2GiB", 2 << 30), (2, "7k", 7168)],
)
def test_number_of_threads_and_memory_budget(python, n, text, n_bytes):
    found = info(python, FASTFS_NUM_THREADS=str(n), FASTFS_MAX_MEMORY=text)
    assert (found["n_threads"], found["max_memory"]) == (n, n_bytes)


def test_empty_variables_count_as_unset(python):
    empty = info(python, FASTFS_ISA="", FASTFS_NUM_THREADS="", FASTFS_MAX_MEMORY="")
    plain = info(python)
    assert empty["isa"] == plain["isa"]
    assert empty["n_threads"] == plain["n_threads"]
    assert empty["max_memory"] > 1 << 20


def test_budget_is_honoured_by_small_calls_too(python):
    finished = python(CALL, FASTFS_MAX_MEMORY="1000")
    last = finished.stderr.splitlines()[-1]
    assert last.startswith("MemoryError: ")
    assert "is 1000 bytes" in last


UNUSABLE = {
    "FASTFS_NUM_THREADS": ["0", "-1", "two", "1025", "1.5", "99999999999999999999"],
    "FASTFS_MAX_MEMORY": ["0", "-1", "lots", "1Z", "4G4", "1e400", "nan"],
    "FASTFS_ISA": ["AVX2", "sse9", "avx2 "],
}
# A value that is refused isn't remembered, so one process can try many.
TRY = """
import os, sys
import fastfs
variable, *values = sys.argv[1:]
for value in values:
    os.environ[variable] = value
    for call in (fastfs.info, lambda: fastfs.affinity([[0.0] * 300], sigma=1.0)):
        try:
            call()
        except ValueError as error:
            print(error)
        else:
            print("taken:", value)
"""


@pytest.mark.parametrize("variable", UNUSABLE)
def test_unusable_values(python, variable):
    finished = python(TRY, variable, *UNUSABLE[variable], **{variable: "nothing"})
    lines = finished.stdout.splitlines()
    assert len(lines) == 2 * len(UNUSABLE[variable]), finished.stderr
    for value, line in zip(np.repeat(UNUSABLE[variable], 2), lines, strict=True):
        assert line.startswith(f"{variable} must be"), line
        assert f"'{value}'" in line
