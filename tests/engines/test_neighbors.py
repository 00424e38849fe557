"""The nearest features, against all pairs by differences: the same indices, in the same order."""

import json

import numpy as np
import pytest
from scipy import sparse

import fastfs
from reference import neighbors as oracle


def assert_exact(X, k, **how):
    neighbors, distances = fastfs.nearest_features(X, k, **how)
    expected_neighbors, expected_distances = oracle.nearest_features(X, k)
    assert neighbors.dtype == np.int64
    assert distances.dtype == np.float64
    np.testing.assert_array_equal(neighbors, expected_neighbors)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-13, atol=0)  # sums in another order


def normal(n_samples, n_features, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def counts(n_samples, n_features, mean, seed=0):
    return np.random.default_rng(seed).poisson(mean, size=(n_samples, n_features)).astype(float)


# ------------------------------------------------------------------------------------------------------ sizes, layouts


@pytest.mark.parametrize(
    "n_samples, n_features, k",
    [
        (1, 2, 1),
        (1, 5, 4),
        (1, 500, 7),  # on a line: neighbours are nearer than products in float32 can tell
        (3, 50, 49),
        (8, 192, 30),
        (9, 193, 191),
        (100, 700, 30),
        (700, 385, 5),  # samples in several passes
        (33, 600, 250),  # more neighbours than a block has features
        (6, 1500, 1),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes(n_samples, n_features, k, dtype):
    assert_exact(normal(n_samples, n_features).astype(dtype), k)


def test_samples_that_are_compared_in_parts():
    """Columns of 16 MiB are compared at a time: 9000 samples of 250 features in float64 are more."""
    assert_exact(normal(9000, 250), 3)


@pytest.mark.parametrize("huge", [1e10, 1e60, -1e160, 1e300])
def test_one_huge_value_of_a_whole_row(huge):
    """A sentinel changes no distance, however large it is beside the rest."""
    rest = normal(20, 300)
    found = fastfs.nearest_features(np.vstack([rest[:7], np.full((1, 300), huge), rest[7:]]), 5)
    expected = fastfs.nearest_features(rest, 5)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
def test_dtypes(dtype):
    assert_exact((3 * normal(20, 300)).astype(dtype), 10)


def layouts(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    return {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "csr": sparse.csr_matrix(X),
        "csc": sparse.csc_array(X),
        "coo": sparse.coo_matrix(X),
        "int64 csr": sparse.csr_matrix((*csr64(X),), shape=X.shape),
    }


def csr64(X):
    m = sparse.csr_matrix(X)
    return m.data, m.indices.astype(np.int64), m.indptr.astype(np.int64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "backwards", "csr", "csc", "coo", "int64 csr"])
def test_layouts(layout, dtype):
    X = (normal(40, 450) * (np.random.default_rng(1).random((40, 450)) < 0.3)).astype(dtype)
    assert_exact(layouts(X)[layout], 20)


def test_sparse_entries_at_one_place_add_up():
    """Also such that cancel: 1e6 - 1e6 leaves nothing but rounding."""
    X = sparse.random(30, 400, 0.2, format="coo", random_state=np.random.default_rng(0))
    extra = sparse.random(30, 400, 0.1, format="coo", random_state=np.random.default_rng(1))
    large = 1e6 * np.ones(extra.nnz)
    rows = np.concatenate([X.row, extra.row, extra.row])
    cols = np.concatenate([X.col, extra.col, extra.col])
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=30))])
    data = np.concatenate([X.data, large, -large])[order]
    twice = sparse.csr_matrix((data, cols[order], indptr), shape=(30, 400))
    assert twice.nnz == X.nnz + 2 * extra.nnz
    neighbors, distances = fastfs.nearest_features(twice, 10)
    expected_neighbors, expected_distances = oracle.nearest_features(X, 10)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)
    assert np.mean(neighbors == expected_neighbors) > 0.99  # 1e6 + x - 1e6 has lost digits of x


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_many_copies_are_neighbors_of_each_other(form, shift):
    """More copies than a search keeps, of zeros and of other columns, among those that have none."""
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, size=(20, 900)) + shift
    kind = rng.permutation(900) % 6
    X[:, kind == 1] = 0.0
    X[:, kind == 2] = X[:, :1] + 1
    X[3, kind == 2] = -0.0
    X[:, kind == 3] = X[:, 5:6]
    assert_exact(form(X), 7)


# ----------------------------------------------------------------------------------------- what rounding could confuse

HARD = {
    "an offset that all share": lambda X: X + 1e7,
    "an offset of each feature": lambda X: X + 1e3 * X[:1],
    "large offsets of each feature": lambda X: X + 1e7 * X[:1],
    "all columns equal": lambda X: np.tile(X[:, :1], X.shape[1]),
    "all zero": lambda X: 0 * X,
    "constant columns": lambda X: np.tile(np.arange(X.shape[1]) % 3, (len(X), 1)).astype(float),
    "constant columns of inexact values": lambda X: np.tile(np.arange(X.shape[1]) % 3 * 0.1, (len(X), 1)),
    "50 copies of each": lambda X: np.repeat(X[:, : X.shape[1] // 50], 50, axis=1),
    "50 near copies of each": lambda X: np.repeat(X[:, : X.shape[1] // 50], 50, axis=1) + 1e-9 * X,
    "some copies": lambda X: X[:, np.random.default_rng(2).integers(0, X.shape[1], X.shape[1])],
    "a line": lambda X: X[:, :1] + np.linspace(0, 1e-5, X.shape[1]) * np.ones((len(X), 1)),
    "scales from 1e-30 to 1e30": lambda X: X * 10.0 ** np.random.default_rng(3).integers(-30, 30, X.shape[1]),
    "some 1e-45 times smaller": lambda X: np.where(np.arange(X.shape[1]) % 2, X, X * 1e-45),
    "half zero": lambda X: np.where(np.arange(X.shape[1]) % 2, X, 0.0),
    "bits": lambda X: (X[:12] > 0).astype(float),
    "genotypes": lambda X: np.clip(np.round(X[:10] + 1), 0, 2),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("k", [1, 20])
def test_hard(case, k):
    assert_exact(HARD[case](normal(50, 1000)), k)


@pytest.mark.parametrize("factor", [1e-200, 1e150])
def test_the_scale_of_the_data_does_not_matter(factor):
    X = normal(20, 300)
    power = 2.0 ** round(np.log2(factor))
    neighbors, distances = fastfs.nearest_features(X, 10)
    scaled_neighbors, scaled_distances = fastfs.nearest_features(power * X, 10)
    np.testing.assert_array_equal(scaled_neighbors, neighbors)
    np.testing.assert_array_equal(scaled_distances, power * distances)


@pytest.mark.parametrize("mean", [0.01, 0.3, 40, 3000])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix], ids=["dense", "csr", "csc"])
def test_counts(mean, form):
    """Products are exact for most of them, and ties are many."""
    X = counts(100, 900, mean)
    X[:, ::7] *= 1000
    assert_exact(form(X), 15)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_logarithms_of_counts(form):
    assert_exact(form(np.log1p(counts(100, 900, 0.1) * np.random.default_rng(1).random((100, 1)) * 30)), 15)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_integer_ties_go_to_the_lower_index(form):
    """All other unit columns are as far as sqrt 2."""
    neighbors, distances = fastfs.nearest_features(form(np.eye(400)), 3)
    assert set(distances.ravel()) == {np.sqrt(2)}
    np.testing.assert_array_equal(neighbors[0], [1, 2, 3])
    np.testing.assert_array_equal(neighbors[2], [0, 1, 3])
    np.testing.assert_array_equal(neighbors[399], [0, 1, 2])


def test_ties_within_rounding():
    """Sums of tenths in another order differ by rounding: distances agree, and who is nearest is open among equals."""
    X = np.round(normal(50, 1000)) / 10
    neighbors, distances = fastfs.nearest_features(X, 20)
    _, expected = oracle.nearest_features(X, 20)
    np.testing.assert_allclose(distances, expected, rtol=1e-14)
    own = np.sqrt(((X[:, :, None] - X[:, neighbors]) ** 2).sum(axis=0))
    np.testing.assert_allclose(distances, own, rtol=1e-14)
    assert all(len(set(row)) == 20 and i not in row for i, row in enumerate(neighbors))


def test_permuted_features_have_permuted_neighbors():
    X = normal(60, 800)
    order = np.random.default_rng(4).permutation(800)
    neighbors, distances = fastfs.nearest_features(X, 12)
    moved_neighbors, moved_distances = fastfs.nearest_features(X[:, order], 12)
    np.testing.assert_array_equal(order[moved_neighbors], neighbors[order])
    np.testing.assert_array_equal(moved_distances, distances[order])


# -------------------------------------------------------------------------------------------- threads, instruction sets


@pytest.mark.parametrize("case", ["normal", "copies", "csr"])
def test_any_number_of_threads(case):
    X = {
        "normal": lambda: normal(30, 1100),
        "copies": lambda: HARD["50 near copies of each"](normal(30, 1100)),
        "csr": lambda: sparse.csr_matrix(counts(80, 1100, 0.1)),
    }[case]()
    one = fastfs.nearest_features(X, 25, n_threads=1)
    for n_threads in (2, 3, 8):
        several = fastfs.nearest_features(X, 25, n_threads=n_threads)
        assert [a.tobytes() for a in several] == [a.tobytes() for a in one]


IN_A_PROCESS = """
import json, sys
import numpy as np
from scipy import sparse
import fastfs

rng = np.random.default_rng(0)
X = rng.normal(size=(130, 500))
cases = [X, X.astype("f"), X[:3] + 5, np.repeat(X[:, :5], 100, axis=1) + 1e-9 * X, sparse.csr_matrix(np.abs(X) > 2.5)]
found = [fastfs.nearest_features(x, 20) for x in cases]
print(json.dumps([fastfs.info()["isa"], [n.tolist() for n, _ in found], [d.tolist() for _, d in found]]))
"""


def test_instruction_sets_agree(python, isas):
    results = {}
    for name in isas:
        finished = python(IN_A_PROCESS, FASTFS_ISA=name)
        assert finished.returncode == 0, finished.stderr
        isa, *results[name] = json.loads(finished.stdout)
        assert isa == name
    for name in isas:
        assert results[name][0] == results["base"][0], name
        for distances, of_base in zip(results[name][1], results["base"][1], strict=True):
            np.testing.assert_allclose(distances, of_base, rtol=1e-13)


# -------------------------------------------------------------------------------------------------- bad input, one call


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_nan_and_infinity_are_named(bad, form):
    X = normal(5, 8)
    X[3, 6] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity.*row 3.*column 6"):
        fastfs.nearest_features(form(X), 2)


@pytest.mark.parametrize("k", [0, -1, 8, 1000])
def test_n_neighbors_out_of_range(k):
    with pytest.raises(ValueError, match=f"n_neighbors must be from 1 to the 7 other features; got {k}"):
        fastfs.nearest_features(normal(5, 8), k)


def test_other_bad_arguments():
    with pytest.raises(TypeError, match="n_neighbors must be an integer"):
        fastfs.nearest_features(normal(5, 8), 2.5)
    with pytest.raises(ValueError, match="2-D"):
        fastfs.nearest_features(np.ones(5), 1)
    with pytest.raises(ValueError, match="the number of features must be from 2 to 4e8; got 1"):
        fastfs.nearest_features(normal(5, 1), 1)


def test_distances_that_overflow():
    X = np.array([[1.7e308, -1.7e308, 0.0]] * 3)
    with pytest.raises(ValueError, match="too large: distances overflow"):
        fastfs.nearest_features(X, 2)


def test_memory_is_asked_for_first():
    with pytest.raises(MemoryError, match=r"the neighbours of 5000 features would need .* but the memory budget is"):
        fastfs.nearest_features(normal(5, 5000), 2000, max_memory="50M")


def test_progress_and_stop():
    X = normal(300, 20_000).astype("f")
    seen = []
    fastfs.nearest_features(X, 5, progress=lambda step, share: seen.append((step, share)))
    assert {step for step, _ in seen} <= {"starting", "nearest features"}
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert any(0 < share < 1 for share in shares)

    class Stop(Exception):
        pass

    def stop(step, share):
        raise Stop

    with pytest.raises(Stop):
        fastfs.nearest_features(X, 5, progress=stop)
