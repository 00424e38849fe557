"""DiSC's graph="lists": which neighbours it finds, that their affinities are exact, and that all is by feature."""

import json

import numpy as np
import pytest
from scipy import sparse

import fastfs
from covering import rotating
from reference import disc as oracle

HOW = {"n_components": 4, "n_neighbors": 12, "bandwidth_neighbors": 12, "n_vectors": 4, "n_differential": 1}

# Residuals of the eigenvectors are 1e-5 of the largest eigenvalue, unless LAPACK computes them all. That turns the
# space of the diffusion vectors by the residual over the gap, and moves a significance by about the square:
# `bench_neighbors` found 2e-6 at most, for residuals of 1e-4 and gaps of 1e-4.
TURNED = 1e-4

# Products with the graph of lists round vectors to single precision, 6e-8 of their entries, which significances of .02
# and up feel divided by themselves.
ROUNDED = 5e-6

pytestmark = pytest.mark.filterwarnings(
    "ignore:n_components cuts:fastfs.DataWarning",
    "ignore:the graph of .* falls apart:fastfs.DataWarning",
)


def modules(n, p, seed=0, dtype=np.float32):
    """25 factors, modules of 40 features that load on some of them, and noise."""
    rng = np.random.default_rng(seed)
    factors, X = rng.standard_normal((n, 25)), rng.standard_normal((n, p))
    for first in range(0, p, 40):
        loadings = rng.standard_normal(25) * (rng.random(25) < 0.2)
        size = min(40, p - first)
        X[:, first : first + size] += np.outer(factors @ loadings + rng.standard_normal(n), rng.uniform(0, 1.5, size))
    return X.astype(dtype)


def both(sets, **how):
    how = HOW | how
    return fastfs.disc(sets, graph="lists", **how), fastfs.disc(sets, graph="knn", **how)


def assert_same_graphs(found, exact, turned=ROUNDED):
    for ours, theirs in zip(found.graphs, exact.graphs, strict=True):
        np.testing.assert_array_equal(ours.indptr, theirs.indptr)
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        np.testing.assert_array_equal(ours.data, theirs.data)
    np.testing.assert_array_equal(found.bandwidths, exact.bandwidths)
    np.testing.assert_allclose(found.significance, exact.significance, rtol=0, atol=turned)
    if turned < TURNED:
        np.testing.assert_allclose(found.set_scores, exact.set_scores, rtol=0, atol=turned)
    np.testing.assert_array_equal(found.graph_recall, 1)


# ---------------------------------------------------------------------------------------------------- what is found


def test_modules():
    sets = [modules(60, 6000, s) for s in range(2)]
    found, exact = both(sets)
    assert found.graph == "lists"
    assert (found.graph_recall > 0.95).all()
    for s in range(2):
        share = (exact.graphs[s] > 0).multiply(found.graphs[s] > 0).nnz / exact.graphs[s].nnz
        assert abs(share - found.graph_recall[s]) < 0.02  # of 72,000 neighbours, and of a sixth of them
        # A bandwidth is the distance to the last neighbour: too far if one is missed, never too near.
        assert (found.bandwidths[s] >= exact.bandwidths[s]).all()
    assert exact.graph_recall is None
    np.testing.assert_allclose(found.significance, exact.significance, rtol=0, atol=0.03)


def test_noise_has_a_low_recall_that_is_said():
    sets = [np.random.default_rng(s).standard_normal((100, 6000)) for s in range(2)]
    with pytest.warns(
        fastfs.DataWarning, match=r"graph='lists' found only \d\d% of the nearest features in set 0, set 1"
    ):
        found = fastfs.disc(sets, graph="lists", **HOW)
    assert (found.graph_recall < 0.9).all()


@rotating(1, p=[13, 40, 120], dtype=[np.float32, np.float64])
def test_all_lists_are_probed(p, dtype):
    """Up to 128 features have 16 lists at most, and each probes 16: the graph is exact, and all is by feature."""
    assert_same_graphs(*both([modules(30, p, s, dtype) for s in range(2)], n_components=2))


@pytest.mark.parametrize("K", [498, 499])
def test_nearly_all_others_are_neighbors(K):
    sets = [modules(30, 500, s) for s in range(2)]
    assert_same_graphs(*both(sets, n_neighbors=K, bandwidth_neighbors=5), turned=TURNED)


# ------------------------------------------------------------------------------------- affinities, and who has which


def few_values(n, p, seed=0):
    return np.random.default_rng(seed).binomial(9, 0.5, (n, p)) / 10


CASES = {
    "copies": lambda s: np.repeat(modules(40, 300, s), 10, axis=1),
    "near copies": lambda s: np.repeat(modules(40, 300, s), 10, axis=1) + 1e-6 * modules(40, 3000, s + 2, np.float64),
    "constant features": lambda s: np.where(np.arange(3000) % 3 == 0, np.float32(2), modules(40, 3000, s)),
    "genotypes": lambda s: np.random.default_rng(s).binomial(2, 0.2, (40, 3000)).astype(np.float32),
    "ties beyond rounding": lambda s: few_values(6, 3000, s),
    "one sample": lambda s: modules(1, 3000, s),
    "an offset of each sample": lambda s: modules(40, 3000, s) + np.float32(1000) * np.arange(40, dtype="f")[:, None],
    "one feature in other units": lambda s: modules(40, 3000, s) * np.where(np.arange(3000) == 5, 1e6, 1),
}


@pytest.mark.filterwarnings("ignore:one sample only", "ignore:some features have", "ignore:graph='lists' found only")
@pytest.mark.parametrize("case", CASES)
def test_affinities_are_exact(case):
    """Each entry is half the sum of what one or both features give, with their own bandwidths."""
    sets = [CASES[case](s) for s in range(2)]
    found = fastfs.disc(sets, graph="lists", **HOW)
    for s, X in enumerate(sets):
        W = found.graphs[s].tocoo()
        off = W.row != W.col
        np.testing.assert_array_equal(W.data[~off], 1)
        assert (found.graphs[s] != found.graphs[s].T).nnz == 0
        assert np.bincount(W.row[off], minlength=X.shape[1]).min() >= HOW["n_neighbors"]
        columns = X.T.astype(float)
        D2 = ((columns[W.row[off]] - columns[W.col[off]]) ** 2).sum(axis=1)
        # The bandwidth of a feature that has copies only is 0, and so are all of its distances.
        eps2 = np.where(found.bandwidths[s] > 0, found.bandwidths[s], 1) ** 2
        one, other = (np.exp(-D2 / eps2[i]) for i in (W.row[off], W.col[off]))
        allowed = np.stack([one, other, one + other]) / 2
        assert np.abs(allowed - W.data[off]).min(axis=0).max() < 1e-12


def test_vectors_belong_to_the_graph_that_is_reported():
    """Rows of W stand list after list: all that is reported is by feature again."""
    sets = [modules(60, 3000, s) for s in range(2)]
    found = fastfs.disc(sets, graph="lists", **HOW)
    again = fastfs.disc(graphs=found.graphs, **{k: v for k, v in HOW.items() if "neighbors" not in k})
    np.testing.assert_allclose(found.significance, again.significance, rtol=0, atol=TURNED)
    for s in range(2):
        assert np.corrcoef(found.set_scores[s], again.set_scores[s])[0, 1] > 1 - TURNED
        np.testing.assert_allclose(found.eigenvalues[s], again.eigenvalues[s], rtol=0, atol=1e-5)
        P, g = oracle.random_walk(found.graphs[s].toarray())
        U, lam = found.diffusion[s], found.eigenvalues[s][1:]
        # The residuals are those of diag(g)^(1/2) P diag(g)^(-1/2).
        assert np.abs(P @ U - U * lam).max() < 1e-5 * np.sqrt(g.max() / g.min())


@pytest.mark.parametrize("scale", [1, 1e-12, 1e-100, 1e100])
def test_kernels_of_the_callers(scale):
    """Of any scale, also one that products in single precision don't hold."""
    import ctypes

    pointer = ctypes.POINTER(ctypes.c_double)
    kernel_type = ctypes.CFUNCTYPE(
        None, pointer, *[ctypes.c_int64] * 3, pointer, pointer, ctypes.c_double, ctypes.c_void_p
    )

    @kernel_type
    def by_norm(tile, ld, rows, columns, row_norms, column_norms, sigma, _):
        for a in range(rows):
            for b in range(columns):
                tile[a * ld + b] = scale * np.exp(-tile[a * ld + b] / sigma**2) / (row_norms[a] + column_norms[b])

    sets = [modules(30, 120, s) for s in range(2)]
    assert_same_graphs(*both(sets, n_components=2, kernel=by_norm))


def test_cuts():
    X = np.vstack([modules(30, 120, s) for s in range(2)])
    y = np.repeat([0, 1], 30)
    how = {"n_components": 2, "n_neighbors": 12, "bandwidth_neighbors": 12, "n_groups": 3, "n_differential": 1}
    found, exact = (fastfs.DiSC(graph=graph, **how).fit(X, y) for graph in ("lists", "knn"))
    assert found.graph_ == "lists"
    assert found.graph_recall_.tolist() == [1, 1]
    np.testing.assert_array_equal(found.groups_, exact.groups_)
    np.testing.assert_allclose(found.cuts(X, y), exact.cuts(X, y), rtol=1e-12)


def test_scaling():
    sets = [modules(40, 2000, s) * np.geomspace(1, 50, 2000, dtype="f") for s in range(2)]
    rows = np.vstack(sets).astype(float)
    scaled = [((X - rows.mean(axis=0)) / rows.std(axis=0)).astype("f") for X in sets]
    found = fastfs.disc(sets, graph="lists", scaling="standard", **HOW)
    np.testing.assert_allclose(
        found.significance, fastfs.disc(scaled, graph="lists", **HOW).significance, rtol=0, atol=1e-3
    )


# ------------------------------------------------------------------------------------------------------- the same bits


def test_any_number_of_threads_and_layout():
    sets = [modules(50, 2000, s) for s in range(2)]
    one = fastfs.disc(sets, graph="lists", n_threads=1, **HOW)
    for n_threads in (2, 3):
        several = fastfs.disc([np.asfortranarray(X) for X in sets], graph="lists", n_threads=n_threads, **HOW)
        for ours, theirs in zip(several.graphs, one.graphs, strict=True):
            assert (ours != theirs).nnz == 0
        np.testing.assert_array_equal(several.vectors, one.vectors)
        np.testing.assert_array_equal(several.graph_recall, one.graph_recall)


IN_A_PROCESS = """
import json, warnings
import numpy as np
import fastfs

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
found = []
for make in (lambda: rng.normal(size=(130, 3000)), lambda: rng.binomial(2, 0.3, size=(20, 3000)).astype("f")):
    r = fastfs.disc([make(), make()], graph="lists", n_components=3, n_vectors=3, n_neighbors=9, bandwidth_neighbors=9)
    found += [[W.indices.tolist() for W in r.graphs], r.bandwidths.tolist(), r.graph_recall.tolist()]
print(json.dumps([fastfs.info()["isa"], found]))
"""


def test_instruction_sets_agree(python, isas):
    results = {}
    for name in isas:
        finished = python(IN_A_PROCESS, FASTFS_ISA=name)
        assert finished.returncode == 0, finished.stderr
        isa, results[name] = json.loads(finished.stdout)
        assert isa == name
    for name in isas:
        for first in (0, 3):
            indices, bandwidths, recall = results[name][first : first + 3]
            assert indices == results["base"][first]
            np.testing.assert_allclose(bandwidths, results["base"][first + 1], rtol=1e-13)
            assert recall == results["base"][first + 2]


def test_the_seed_decides_the_lists():
    sets = [np.random.default_rng(s).standard_normal((60, 2500)) for s in range(2)]

    def graph(seed):
        with pytest.warns(fastfs.DataWarning, match="graph='lists' found only"):
            return fastfs.disc(sets, graph="lists", random_state=seed, **HOW).graphs[0]

    first = graph(0)
    assert (graph(0) != first).nnz == 0
    assert (graph(1) != first).nnz > 0


# ------------------------------------------------------------------------------------------------------------ refusals


def test_sparse_is_refused():
    sets = [sparse.csr_matrix(modules(20, 50, s)) for s in range(2)]
    with pytest.raises(ValueError, match="X of set 0 must be dense for graph='lists'; got a sparse X: make it dense"):
        fastfs.disc(sets, graph="lists", **HOW)


def test_equal_features():
    sets = [np.zeros((20, 3000), "f"), modules(20, 3000)]
    with pytest.raises(ValueError, match="features of set 0 must differ"):
        fastfs.disc(sets, graph="lists", **HOW)


def test_values_that_are_not_finite():
    sets = [modules(20, 300, s) for s in range(2)]
    sets[1][3, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fastfs.disc(sets, graph="lists", **HOW)


def test_a_small_budget():
    sets = [modules(60, 3000, s) for s in range(2)]
    with pytest.raises(MemoryError, match="DiSC of 3000 features"):
        fastfs.disc(sets, graph="lists", max_memory="3M", **HOW)


def test_knn_says_that_there_are_lists(monkeypatch):
    """Before it starts, and without taking them."""
    monkeypatch.setattr("fastfs._functions.disc.EXACT_AT_MOST", 119)
    sets = [modules(30, 120, s) for s in range(2)]
    with pytest.warns(fastfs.DataWarning, match="searches the nearest of 120 features exactly.* graph='lists' takes a"):
        found = fastfs.disc(sets, **HOW | {"n_components": 2})
    assert found.graph == "knn"
