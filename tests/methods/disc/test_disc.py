"""DiSC against the plain oracle, its invariances, planted groups, graphs of every kind."""

import ctypes

import numpy as np
import pytest
from scipy import sparse

import fastfs
from covering import covering, rotating
from fastfs._core import DISC_MOST_SUMS as MOST_SUMS
from reference import disc as oracle
from reference.kernels import as_c_function

# Values of two computations that add up in another order, of singular values up to 1; the issue asks for 1e-10.
SIGMA = 1e-10
# Vectors feel rounding divided by the gaps between significances, which clusters keep above 1e-2 of their size.
SPACES = 1e-8

pytestmark = pytest.mark.filterwarnings(
    # Toy data and noise have flat tails and small gaps; what is said of them is tested apart.
    "ignore:n_components cuts:fastfs.DataWarning",
    "ignore:the significances have no clear step:fastfs.DataWarning",
    "ignore:the graph of .* falls apart:fastfs.DataWarning",
)


def two_sets(n=60, p=80, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, n, p))
    A[:, :12] += 2 * rng.normal(size=(n, 1))
    B[:, 20:30] += 2 * rng.normal(size=(n, 1))
    for X in (A, B):
        X[:, 40:55] += 2 * rng.normal(size=(n, 1))
    return [A.astype(dtype), B.astype(dtype)]


def three_sets(n=60, p=80):
    A, B = two_sets(n, p)
    C = np.random.default_rng(5).normal(size=(n + 7, p))
    C[:, 60:72] += 2 * np.random.default_rng(6).normal(size=(n + 7, 1))
    return [A, B, C]


def assert_same_spaces(sigma, V, expected_sigma, expected_V, tolerance=SPACES):
    """Projectors over clusters of significances, but for the last cluster, of which a part may be missing."""
    first = 0
    compared = 0
    for j in range(1, len(sigma)):
        if expected_sigma[j - 1] - expected_sigma[j] > 1e-2 * expected_sigma[0]:
            ours, theirs = V[:, first:j], expected_V[:, first:j]
            np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, rtol=0, atol=tolerance)
            first, compared = j, compared + j - first
    assert compared


def assert_agrees(found, expected, n_vectors):
    for s in range(len(expected.sigma)):
        sigma, V = found.significance[s], found.vectors[s]
        np.testing.assert_allclose(sigma, expected.sigma[s][:n_vectors], rtol=0, atol=SIGMA)
        assert_same_spaces(sigma, V, expected.sigma[s], expected.V[s])
        np.testing.assert_allclose(V.T @ V, np.eye(n_vectors), rtol=0, atol=1e-10)
        d = found.diffusion[s].shape[1]
        np.testing.assert_allclose(found.eigenvalues[s], expected.eigenvalues[s][: d + 1], rtol=0, atol=SIGMA)
        np.testing.assert_allclose(found.gap[s], -np.diff(expected.eigenvalues[s])[d], rtol=0, atol=SIGMA)
        np.testing.assert_allclose(np.linalg.norm(found.diffusion[s], axis=0), 1, rtol=1e-12)
        np.testing.assert_array_equal(found.trivial[s], oracle.is_trivial(expected.V[s][:, :n_vectors]))
        q, ratio = oracle.n_differential(expected.sigma[s], expected.V[s], n_vectors)
        assert found.n_differential[s] == q
        np.testing.assert_allclose(found.ratio[s], ratio, rtol=1e-8)
        scores = oracle.scores(expected.sigma[s], expected.V[s], n_vectors)
        np.testing.assert_allclose(found.set_scores[s], scores, rtol=0, atol=SPACES * expected.sigma[s][0] ** 2)
        real = ~found.trivial[s]
        assert found.statistic[s] == found.significance[s][real].max()
    np.testing.assert_array_equal(found.scores, found.set_scores.max(axis=0))


# -------------------------------------------------------------------------------------------------------------- oracle


@rotating(
    1,
    **{
        "d, density, constant, k": [
            (3, 1.0, "drop", 5),
            (3, 0.0, "drop", 5),
            (5, 0.5, "project", 10),
            (1, 1.0, "project", 79),
        ]
    },
    make=[two_sets, three_sets],
)
def test_dense_agrees_with_the_oracle(make, d, density, constant, k):
    sets = make()
    how = {"n_components": d, "density": density, "constant": constant, "bandwidth_neighbors": k, "n_vectors": 6}
    found = fastfs.disc(sets, graph="dense", **how)
    expected = oracle.disc([oracle.affinity(X, k) for X in sets], d, density, constant)
    assert_agrees(found, expected, 6)
    for X, eps in zip(sets, found.bandwidths, strict=True):
        np.testing.assert_allclose(eps, oracle.bandwidths(X, k), rtol=1e-10)
    assert found.graphs is None
    assert found.n_connected_components.tolist() == [1] * len(sets)


@pytest.mark.parametrize("K", [8, 20])
def test_nearest_neighbors_agree_with_the_oracle(K):
    sets = three_sets()
    found = fastfs.disc(sets, graph="knn", n_neighbors=K, n_components=3, bandwidth_neighbors=6, n_vectors=6)
    graphs = [oracle.affinity(X, 6, K) for X in sets]
    for W, expected in zip(found.graphs, graphs, strict=True):
        np.testing.assert_allclose(W.toarray(), expected, rtol=1e-10, atol=1e-14)
    assert_agrees(found, oracle.disc(graphs, 3), 6)


@pytest.mark.parametrize("K", [None, 12])
def test_too_large_for_lapack(K):
    """The sizes above go to LAPACK; here are those whose eigenvectors come from our own solver."""
    sets = three_sets(n=100, p=500)
    how = {"graph": "dense"} if K is None else {"n_neighbors": K}
    found = fastfs.disc(sets, n_components=[3, 5, 4], bandwidth_neighbors=8, n_vectors=6, **how)
    assert_agrees(found, oracle.disc([oracle.affinity(X, 8, K) for X in sets], [3, 5, 4]), 6)


def test_islands():
    """Eigenvalue 1 is repeated more often than a block of vectors is wide."""
    rng = np.random.default_rng(0)
    islands = rng.normal(size=(30, 480)) + 50 * np.repeat(rng.normal(size=(30, 8)), 60, axis=1)
    sets = [islands, rng.normal(size=(30, 480))]
    found = fastfs.disc(sets, graph="knn", n_neighbors=10, n_components=9, bandwidth_neighbors=5, n_vectors=4)
    assert found.n_connected_components[0] == 8
    graphs = [oracle.affinity(X, 5, 10) for X in sets]
    expected = oracle.disc(graphs, 9)
    for s in range(2):
        np.testing.assert_allclose(found.eigenvalues[s], expected.eigenvalues[s][:10], rtol=0, atol=SIGMA)
        np.testing.assert_allclose(found.significance[s], expected.sigma[s][:4], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.eigenvalues[0][:8], 1, rtol=0, atol=1e-12)


def test_as_many_neighbors_as_there_are_features_is_dense():
    sets = two_sets()
    options = {"n_components": 4, "bandwidth_neighbors": 7, "n_vectors": 5}
    dense = fastfs.disc(sets, graph="dense", **options)
    knn = fastfs.disc(sets, graph="knn", n_neighbors=79, **options)
    np.testing.assert_allclose(knn.significance, dense.significance, rtol=0, atol=1e-12)
    np.testing.assert_allclose(knn.scores, dense.scores, rtol=0, atol=1e-10)
    few = fastfs.disc(sets, graph="knn", n_neighbors=8, **options)
    assert np.abs(few.significance - dense.significance).max() > 0.1  # another method, as the documents say


def test_components_per_set():
    sets = three_sets()
    found = fastfs.disc(sets, graph="dense", n_components=[2, 4, 3], bandwidth_neighbors=5, n_vectors=5)
    assert [U.shape[1] for U in found.diffusion] == [2, 4, 3]
    assert_agrees(found, oracle.disc([oracle.affinity(X, 5) for X in sets], [2, 4, 3]), 5)


def test_two_sets_as_the_public_program_has_them():
    A, B, *_ = oracle.toy1(100, np.random.default_rng(3))
    found = fastfs.disc([A, B], graph="dense")
    for s, (sigma, V) in enumerate(oracle.public_algorithm([A, B])):
        np.testing.assert_allclose(found.significance[s], sigma[:10], rtol=0, atol=SIGMA)
        assert_same_spaces(found.significance[s], found.vectors[s], sigma, V, 1e-7)
        assert found.trivial[s].tolist() == [True] + 9 * [False]


@pytest.mark.parametrize("graph", ["dense", "knn"])
def test_vectors_are_orthogonal_to_the_diffusion_of_the_others(graph):
    found = fastfs.disc(three_sets(), graph=graph, n_components=4, bandwidth_neighbors=5)
    for s in range(3):
        for t in {0, 1, 2} - {s}:
            np.testing.assert_allclose(found.diffusion[t].T @ found.vectors[s], 0, atol=1e-12)


def test_float32():
    sets = two_sets(dtype=np.float32)
    found = fastfs.disc(sets, graph="dense", n_components=3, bandwidth_neighbors=5, n_vectors=6)
    expected = oracle.disc([oracle.affinity(X, 5) for X in sets], 3)
    for s in range(2):  # products in single precision, as many digits as the distances have
        np.testing.assert_allclose(found.significance[s], expected.sigma[s][:6], rtol=0, atol=1e-5)


FORMS = {
    "int64": lambda X: X,
    "int8": lambda X: X.astype(np.int8),
    "uint16": lambda X: X.astype(np.uint16),
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "object": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "Fortran order": lambda X: np.asfortranarray(X, dtype=float),
    "backwards": lambda X: X[::-1, ::-1].astype(float)[::-1, ::-1],
}


@rotating(1, form=FORMS.keys(), graph=["dense", "knn"])
def test_dtypes_and_layouts(form, graph):
    sets = [np.random.default_rng(s).poisson(6, (50, 70)) for s in range(2)]
    options = {"graph": graph, "n_components": 3, "bandwidth_neighbors": 5, "n_neighbors": 12, "n_vectors": 4}
    expected = fastfs.disc([X.astype(float) for X in sets], **options)
    found = fastfs.disc([FORMS[form](X) for X in sets], **options)
    # Whole numbers have exact products in single precision, too, but its exponentials don't come from there.
    np.testing.assert_allclose(found.significance, expected.significance, rtol=0, atol=1e-10)


@rotating(1, form=[sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.coo_matrix], graph=["dense", "knn"])
def test_sparse_input(form, graph):
    rng = np.random.default_rng(0)
    sets = [np.where(rng.random((50, 70)) < 0.4, rng.poisson(3, (50, 70)), 0).astype(float) for _ in range(2)]
    options = {"graph": graph, "n_components": 3, "bandwidth_neighbors": 5, "n_neighbors": 12, "n_vectors": 4}
    dense = fastfs.disc(sets, **options)
    found = fastfs.disc([form(X) for X in sets], **options)
    np.testing.assert_allclose(found.significance, dense.significance, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.scores, dense.scores, rtol=0, atol=1e-8)


def test_any_number_of_threads():
    sets = three_sets()
    for graph in ("dense", "knn"):
        options = {"graph": graph, "n_components": 4, "bandwidth_neighbors": 5, "n_neighbors": 12}
        one = fastfs.disc(sets, n_threads=1, **options)
        for n_threads in (2, 5):
            other = fastfs.disc(sets, n_threads=n_threads, **options)
            assert other.vectors.tobytes() == one.vectors.tobytes()
            assert other.significance.tobytes() == one.significance.tobytes()


def test_a_small_budget_makes_dense_graphs_twice():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(20, 900)) for _ in range(4)]
    options = {"graph": "dense", "n_components": 3, "n_vectors": 3, "n_threads": 1}
    roomy = fastfs.disc(sets, **options)
    tight = fastfs.disc(sets, max_memory="20M", **options)  # a graph takes 6.5 MB
    np.testing.assert_array_equal(tight.vectors, roomy.vectors)
    with pytest.raises(MemoryError, match=r"DiSC of 900 features.*knn"):
        fastfs.disc(sets, max_memory="5M", **options)


# ----------------------------------------------------------------------------------------------------------- the graph

NOISE = {"n_components": 3, "n_vectors": 3, "n_threads": 1}


@pytest.mark.parametrize("p", [31, 80, 2500, MOST_SUMS, MOST_SUMS + 1])
def test_the_graph_is_that_of_the_nearest_for_any_number_of_features(p):
    sets = [np.random.default_rng(s).normal(size=(20, p)) for s in range(2)]
    found, named = fastfs.disc(sets, **NOISE), fastfs.disc(sets, graph="knn", n_neighbors=30, **NOISE)
    assert found.graph == named.graph == "knn"
    assert all(np.diff(W.indptr).min() > 30 for W in found.graphs)
    np.testing.assert_array_equal(found.scores, named.scores)


@pytest.mark.filterwarnings("ignore:more neighbours")
def test_the_graph_does_not_follow_the_memory():
    sets = [np.random.default_rng(s).normal(size=(20, 2500)) for s in range(2)]
    roomy, tight = fastfs.disc(sets, **NOISE), fastfs.disc(sets, max_memory="40M", **NOISE)
    np.testing.assert_array_equal(tight.scores, roomy.scores)
    with pytest.raises(MemoryError, match="raise max_memory") as raised:
        fastfs.disc(sets, max_memory="5M", **NOISE)
    assert "knn" not in str(raised.value)
    with pytest.raises(MemoryError, match=r"take graph=.knn."):
        fastfs.disc(sets, graph="dense", max_memory="40M", **NOISE)


def test_graphs_of_the_caller_are_called_given():
    given = fastfs.disc(graphs=[oracle.affinity(X, 5) for X in two_sets()], n_components=3)
    assert given.graph == "given"


# ------------------------------------------------------------------------------------------------ what must not matter

SAME = {
    "rows in another order": lambda X: X[np.random.default_rng(9).permutation(len(X))],
    "rotated rows": lambda X: np.linalg.qr(np.random.default_rng(9).normal(size=(len(X), len(X))))[0] @ X,
    "all rows twice": lambda X: np.vstack([X, X]),
    "a constant added to each row": lambda X: X + np.arange(len(X))[:, None],
    "times a constant": lambda X: 1e-3 * X,
    "times a power of 2 near overflow": lambda X: 2.0**1000 * X,
    "times a power of 2 near underflow": lambda X: 2.0**-1000 * X,
}


@rotating(1, case=SAME.keys(), graph=["dense", "knn"])
def test_invariances_of_a_set(case, graph):
    A, B = two_sets()
    options = {"graph": graph, "n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 5}
    expected = fastfs.disc([A, B], **options)
    found = fastfs.disc([SAME[case](A), B], **options)
    np.testing.assert_allclose(found.significance, expected.significance, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.set_scores, expected.set_scores, rtol=0, atol=1e-10)


def test_permuted_features_permute_the_result():
    sets = two_sets()
    order = np.random.default_rng(1).permutation(80)
    for graph in ("dense", "knn"):
        options = {"graph": graph, "n_components": 3, "bandwidth_neighbors": 5, "n_neighbors": 12, "n_vectors": 5}
        expected = fastfs.disc(sets, **options)
        found = fastfs.disc([X[:, order] for X in sets], **options)
        np.testing.assert_allclose(found.significance, expected.significance, rtol=0, atol=1e-11)
        np.testing.assert_allclose(found.set_scores, expected.set_scores[:, order], rtol=0, atol=1e-9)


TIED = {
    "numbers": lambda rng, size: rng.normal(size=size),
    "counts": lambda rng, size: rng.poisson(2.0, size=size),
    "bits": lambda rng, size: rng.integers(0, 2, size=size),
    "answers": lambda rng, size: rng.integers(1, 7, size=size),
}


def tied_sets(kind, seed, n=40, p=70, n_copies=8):
    """Two sets whose last features are copies of others; which; and a permutation of the features."""
    rng = np.random.default_rng([seed, *kind.encode()])
    copied = rng.choice(p, n_copies, replace=False)
    sets = [TIED[kind](rng, (n, p)).astype(float) for _ in range(2)]
    for X, first in zip(sets, (0, 10), strict=True):
        X[:, first : first + 5] = X[:, [first]] + (rng.random((n, 5)) < 0.3)
    return [np.hstack([X, X[:, copied]]) for X in sets], copied, rng.permutation(p + n_copies)


@covering(kind=TIED.keys(), form=[np.asarray, np.float32, sparse.csr_matrix, sparse.csc_matrix], K=[4, 10, 77])
def test_copies_have_equal_scores(kind, form, K):
    """Of two copies both are among the nearest of a feature or none, in any order of the features."""
    options = {"graph": "knn", "n_components": 4, "bandwidth_neighbors": 6, "n_neighbors": K, "n_differential": 3}
    for seed in range(4):
        sets, copied, order = tied_sets(kind, seed)
        if form is np.float32:  # which rounds differences of numbers that tie in float64
            sets = [form(X) for X in sets]
        expected = fastfs.disc(sets, **options)
        found = fastfs.disc([form(X[:, order]) for X in sets], **options)
        tolerance = 1e-9 * expected.scores.max()
        np.testing.assert_allclose(expected.scores[70:], expected.scores[copied], rtol=0, atol=tolerance)
        np.testing.assert_allclose(found.significance, expected.significance, rtol=0, atol=1e-7)
        place = np.argsort(order)
        np.testing.assert_allclose(found.scores[place[70:]], found.scores[place[copied]], rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", TIED)
def test_ties_agree_with_the_oracle(kind):
    for seed in range(4):
        sets, _, _ = tied_sets(kind, seed)
        for K in (4, 10):
            options = {"graph": "knn", "n_components": 4, "bandwidth_neighbors": 12, "n_neighbors": K, "n_vectors": 4}
            found = fastfs.disc(sets, **options)
            expected = oracle.disc([oracle.affinity(X, k=12, n_neighbors=K) for X in sets], d=4)
            for s in range(2):
                np.testing.assert_allclose(found.significance[s], expected.sigma[s][:4], rtol=0, atol=SIGMA)


@pytest.mark.filterwarnings("ignore:an eigensolver gave up")
def test_more_ties_than_a_graph_holds():
    """1200 copies would have 1.4 million entries, so the lowest columns win; 900 are all neighbours of each other."""
    sets = [np.random.default_rng(s).normal(size=(20, 1300)) for s in range(2)]
    for X in sets:
        X[:, :1200] = X[:, [0]]
    options = {"graph": "knn", "n_components": 3, "bandwidth_neighbors": 5, "n_neighbors": 9}
    for first, n_entries in ((0, 9), (300, 899)):
        with pytest.warns(fastfs.DataWarning, match="5 copies or more"):
            found = fastfs.disc([X[:, first:] for X in sets], **options)
        assert np.isfinite(found.scores).all()
        assert n_entries < np.diff(found.graphs[0].indptr)[1199 - first] <= n_entries + 200
        if first > 0:
            np.testing.assert_allclose(found.scores[:900], found.scores[0], rtol=1e-7)


@pytest.mark.parametrize("graph", ["dense", "knn"])
def test_sets_in_another_order(graph):
    sets = three_sets()
    options = {"graph": graph, "n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 5}
    expected = fastfs.disc(sets, **options)
    order = [2, 0, 1]
    found = fastfs.disc([sets[s] for s in order], **options)
    np.testing.assert_allclose(found.significance, expected.significance[order], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.set_scores, expected.set_scores[order], rtol=0, atol=1e-9)


@pytest.mark.parametrize("graph", ["dense", "knn"])
def test_scaled_features_do_matter(graph):
    """DiSC compares columns with each other, so units count, unless they are scaled."""
    A, B = two_sets()
    options = {"graph": graph, "n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 5}
    units = np.where(np.arange(80) % 2, 1.0, 3.0)
    plain, moved = fastfs.disc([A, B], **options), fastfs.disc([A * units, B * units], **options)
    assert np.abs(plain.significance - moved.significance).max() > 0.01
    scaled = fastfs.disc([A, B], scaling="standard", **options)
    same = fastfs.disc([A * units + 5, B * units + 5], scaling="standard", **options)
    np.testing.assert_allclose(same.significance, scaled.significance, rtol=0, atol=1e-10)
    both = np.vstack([A, B])
    by_hand = [(X - both.mean(axis=0)) / both.std(axis=0) for X in (A, B)]
    np.testing.assert_allclose(fastfs.disc(by_hand, **options).significance, scaled.significance, rtol=0, atol=1e-10)
    assert plain.mean is None
    assert plain.scale is None


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, np.float32, lambda X: X[::-1, ::2]])
def test_scaling(form):
    """Means and standard deviations over all rows; a constant feature stays as it is but for its mean."""
    sets = [form(X + 100) for X in two_sets()]
    for X in sets:
        X[:, 4] = np.pi
    found = fastfs.disc(sets, scaling="standard", n_components=3, bandwidth_neighbors=5, n_vectors=5)
    both = np.vstack(sets).astype(float)
    scale = both.std(axis=0)
    scale[4] = 1
    np.testing.assert_allclose(found.mean, both.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.scale, scale, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------------- planted


def auc(scores, true):
    order = np.argsort(np.argsort(scores)) + 1.0
    n = true.sum()
    return (order[true].sum() - n * (n + 1) / 2) / (n * (~true).sum())


def test_toy_1_finds_the_planted_blocks():
    """Both directions; a mean over seeds, since random covariance blocks hold weakly loaded features."""
    found = []
    for seed in range(5):
        A, B, in_a, in_b = oracle.toy1(100, np.random.default_rng(seed))
        result = fastfs.disc([A, B], n_differential=2)
        found += [auc(result.set_scores[0], in_a), auc(result.set_scores[1], in_b)]
    assert np.mean(found) >= 0.93


def test_toy_2_splits_the_block():
    accuracies = []
    for seed in range(5):
        A, B, small, large = oracle.toy2(200, np.random.default_rng(seed))
        result = fastfs.disc([A, B], graph="dense", bandwidth_neighbors=80)
        first = np.flatnonzero(~result.trivial[1])[0]
        v = result.vectors[1][:, first]
        right = np.concatenate([v[small] > 0, v[large] < 0]).mean()
        accuracies.append(max(right, 1 - right))
        assert result.statistic[1] > 3 * result.statistic[0]  # A has nothing that B has not
    assert np.mean(accuracies) >= 0.95


def test_three_planted_sets():
    """Each set has a block of its own, which only it finds."""
    sets, own = oracle.toy3(200, np.random.default_rng(0))
    result = fastfs.disc(sets, n_components=10)
    for s in range(3):
        areas = [auc(result.set_scores[s], block) for block in own]
        assert areas[s] > 0.9, areas
        assert all(area < 0.65 for t, area in enumerate(areas) if t != s), areas


@pytest.mark.filterwarnings("ignore:the graph of .* is that of another set:fastfs.DataWarning")
def test_identical_sets_have_nothing_differential():
    A, _ = two_sets()
    found = fastfs.disc([A, A.copy()], n_components=5, bandwidth_neighbors=5)
    assert (found.statistic <= found.eigenvalues[0][5] - found.gap[0] + 1e-2 * found.eigenvalues[0][5]).all()
    np.testing.assert_array_equal(found.significance[0], found.significance[1])


# -------------------------------------------------------------------------------------------------- graphs and kernels


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, np.asarray])
def test_graphs_of_the_callers(form):
    graphs = [oracle.affinity(X, 6, 15) for X in two_sets()]
    found = fastfs.disc(graphs=[form(W) for W in graphs], n_components=3, n_vectors=6)
    assert_agrees(found, oracle.disc(graphs, 3), 6)
    assert found.bandwidths is None
    for W, expected in zip(found.graphs, graphs, strict=True):
        np.testing.assert_allclose(W.toarray(), expected, rtol=1e-15)


def test_zeros_that_are_stored_on_one_side():
    graphs = [sparse.csr_matrix(np.where(W > 0.1, W, 0)) for W in map(lambda X: oracle.affinity(X, 5), two_sets())]
    expected = fastfs.disc(graphs=graphs, n_components=3, n_vectors=4)
    W = graphs[0].tocoo()
    i, j = np.argwhere(graphs[0].toarray() == 0)[0]
    padded = sparse.csr_matrix((np.append(W.data, 0), (np.append(W.row, i), np.append(W.col, j))), shape=W.shape)
    assert padded.nnz == W.nnz + 1
    found = fastfs.disc(graphs=[padded, graphs[1]], n_components=3, n_vectors=4)
    np.testing.assert_array_equal(found.vectors, expected.vectors)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, bool, object])
def test_graphs_of_other_types(dtype):
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(2):
        W = np.triu(rng.random((60, 60)) < 0.3)
        graphs.append(W | W.T | np.eye(60, dtype=bool))
    given = [W.astype(dtype) for W in graphs]
    if dtype not in (np.float16, object):  # SciPy has no matrices of these
        given = [sparse.csr_matrix(W) for W in given]
    found = fastfs.disc(graphs=given, n_components=3, n_vectors=5)
    expected = oracle.disc([W.astype(float) for W in graphs], 3)
    for s in range(2):
        np.testing.assert_allclose(found.significance[s], expected.sigma[s][:5], rtol=0, atol=SIGMA)


@pytest.mark.parametrize("graph", ["dense", "knn"])
def test_kernels_of_the_callers(graph):
    """One for each set: exp(-D^2 / (2 sigma^2)) for the first, the adaptive one for the second."""
    numbers = ctypes.POINTER(ctypes.c_double)
    i64 = ctypes.c_int64

    @ctypes.CFUNCTYPE(None, numbers, i64, i64, i64, numbers, numbers, ctypes.c_double, ctypes.c_void_p)
    def gaussian(tile, ld, rows, cols, row_norms, col_norms, sigma, user):
        for a in range(rows):
            for b in range(cols):
                tile[a * ld + b] = np.exp(-tile[a * ld + b] / (2 * sigma**2))

    sets = two_sets(n=40, p=40)
    how = {"graph": graph, "n_neighbors": 12, "n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 4}
    found = fastfs.disc(sets, kernel=[gaussian, "adaptive"], **how)
    K = None if graph == "dense" else 12
    graphs = [
        oracle.affinity(sets[0], 5, K, kernel=lambda D2, sigma: np.exp(-D2 / (2 * sigma**2))),
        oracle.affinity(sets[1], 5, K),
    ]
    assert_agrees(found, oracle.disc(graphs, 3), 4)


@pytest.mark.parametrize("graph", ["dense", "knn"])
def test_kernels_that_are_not_symmetric(graph):
    kernel = as_c_function(lambda d2, n_i, n_j, sigma: np.where(n_i > n_j, 2.0, 1.0) / (1 + d2))
    how = {"graph": graph, "n_neighbors": 12, "n_components": 3, "bandwidth_neighbors": 5}
    with pytest.raises(
        ValueError, match=r"must be symmetric; got .* for .* \d+ and .*\d+, and .* if they are exchanged"
    ):
        fastfs.disc(two_sets(n=40, p=40), kernel=[kernel, "adaptive"], **how)


@pytest.mark.parametrize("huge", [1e100, 1e300])
def test_one_huge_value_of_a_whole_row(huge):
    """A sentinel changes no distance between features, however large it is beside the rest."""
    sets = two_sets(n=40, p=40)
    with_sentinel = [np.vstack([sets[0], np.full((1, 40), huge)]), sets[1]]
    how = {"graph": "dense", "n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 4}
    found, expected = fastfs.disc(with_sentinel, **how), fastfs.disc(sets, **how)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9)


def test_progress_and_stop():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(100, 1500)) for _ in range(2)]
    seen = []
    fastfs.disc(sets, n_components=5, progress=lambda step, share: seen.append((step, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert seen
    # Which of them are reported depends on the machine: a report is due each 0.05 s.
    steps = {"nearest features", "graph of the features", "diffusion vectors", "differential vectors"}
    assert {step for step, _ in seen} <= steps

    class Stop(Exception):
        pass

    def stop(step, share):
        raise Stop

    with pytest.raises(Stop):
        fastfs.disc(sets, n_components=5, progress=stop)


# ----------------------------------------------------------------------------------------------------------- real data


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_digits(load):
    """Ten sets: no vector is trivial, and all are there."""
    X, y = load("mnist_10x500")
    used = X[:, X.std(axis=0) > 0] / 255
    selector = fastfs.DiSC(bandwidth_neighbors=10, constant="drop").fit(used, y)
    assert not selector.trivial_.any()
    assert (selector.significance_ > 0).all()


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_single_cells(load):
    """Sparse counts, two types of neurons as sets, the genes that three cells of each have."""
    X, y = load("sc_worm_neuron")
    names, counts = np.unique(y, return_counts=True)
    chosen = names[np.argsort(counts)[-2:]]
    sets = [X[y == c][:200] for c in chosen]
    expressed = np.all([(A > 0).sum(axis=0) >= 3 for A in sets], axis=0).ravel()
    assert expressed.sum() > 1000
    sets = [A[:, expressed] for A in sets]
    found = fastfs.disc(sets, graph="knn", n_neighbors=15, bandwidth_neighbors=10, n_components=5, n_vectors=3)
    assert np.isfinite(found.scores).all()
    assert found.scores.max() > 0
    assert (np.diff(found.significance, axis=1) <= 1e-12).all()
