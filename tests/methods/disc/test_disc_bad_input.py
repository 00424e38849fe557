"""DiSC on input that isn't right: one sentence each, and nothing half done."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fastfs
from covering import together
from reference import disc as oracle

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 30, 40))
A[:, :8] += 2 * RNG.normal(size=(30, 1))
HOW = {"n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 4, "n_differential": 1}

quiet = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")


def with_value(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


BAD = {
    "one set": (lambda: fastfs.disc([A], **HOW), "two sets or more, which DiSC compares; got 1"),
    "other features": (lambda: fastfs.disc([A, B[:, :30]], **HOW), "same features; got 40 of set 0 and 30 of set 1"),
    "an empty set": (lambda: fastfs.disc([A, B[:0]], **HOW), "each set must have samples; got none in set 1"),
    "three features": (lambda: fastfs.disc([A[:, :3], B[:, :3]], **HOW), "set 0 must have from 4 to 4e8 .*; got 3"),
    "NaN": (
        lambda: fastfs.disc([A, with_value(B, 3, 7, np.nan)], **HOW),
        "set 1 must be finite; got NaN.*row 3, column 7",
    ),
    "infinity in CSR": (
        lambda: fastfs.disc([sparse.csr_matrix(with_value(A, 2, 5, np.inf)), B], **HOW),
        "set 0 must be finite; got NaN.*row 2, column 5",
    ),
    "NaN, scaled": (
        lambda: fastfs.disc([A, with_value(B, 3, 7, np.nan)], scaling="standard", **HOW),
        "set 1 must be finite; got NaN.*row 3, column 7",
    ),
    "no room": (
        lambda: fastfs.disc([A, B], **HOW | {"n_components": 39}),
        "^n_components must be at most 38 for 2 sets of 40 features",
    ),
    "no room for two others": (
        lambda: fastfs.disc([A, B, A + B], **HOW | {"n_components": 20}),
        "^n_components must be at most 19 for 3 sets of 40 features",
    ),
    "no components": (lambda: fastfs.disc([A, B], **HOW | {"n_components": 0}), "n_components must be at least 1"),
    "components of three sets": (
        lambda: fastfs.disc([A, B], **HOW | {"n_components": [3, 3, 3]}),
        "n_components must be one for all or 2, one for each set; got 3",
    ),
    "bandwidth": (
        lambda: fastfs.disc([A, B], **HOW | {"bandwidth_neighbors": 0}),
        "bandwidth_neighbors must be at least 1",
    ),
    "neighbors": (lambda: fastfs.disc([A, B], n_neighbors=0, **HOW), "n_neighbors must be at least 1"),
    "vectors": (lambda: fastfs.disc([A, B], n_vectors=0), "n_vectors must be at least 1"),
    "too many differential": (
        lambda: fastfs.disc([A, B], **HOW | {"n_differential": 5}),
        "n_differential must be from 1 to n_vectors = 4; got 5",
    ),
    "none differential": (lambda: fastfs.disc([A, B], **HOW | {"n_differential": 0}), "got 0"),
    "density": (lambda: fastfs.disc([A, B], density=1.5, **HOW), r"density must lie in \[0, 1\]; got 1.5"),
    "graph": (
        lambda: fastfs.disc([A, B], graph="hnsw", **HOW),
        "graph must be 'knn', 'dense' or 'lists'",
    ),
    "constant": (lambda: fastfs.disc([A, B], constant="keep", **HOW), "constant must be 'drop' or 'project'"),
    "kernel": (lambda: fastfs.disc([A, B], kernel="rbf", **HOW), "kernel must be 'adaptive' or a C function"),
    "scaling": (lambda: fastfs.disc([A, B], scaling="max", **HOW), "scaling must be 'standard' or None"),
    "scaled sparse": (
        lambda: fastfs.disc([sparse.csr_matrix(A), B], scaling="standard", **HOW),
        "X must be dense for scaling='standard'",
    ),
    "all equal": (
        lambda: fastfs.disc([A, np.tile(B[:, :1], 40)], **HOW),
        "features of set 1 must differ",
    ),
    "all equal, knn": (
        lambda: fastfs.disc([np.zeros_like(A), B], graph="knn", n_neighbors=6, **HOW),
        "features of set 0 must differ",
    ),
    "dense and wide": (
        lambda: fastfs.disc([np.zeros((2, 20_001), "f")] * 2, graph="dense", **HOW),
        "graph='dense' is for up to 20000 features; got 20001: choose graph='knn'",
    ),
    "too many sets": (
        lambda: fastfs.disc([A, B] * 20, **HOW | {"n_components": 1}),
        "^X must have at least 41 features for 40 sets; got 40: compare fewer sets",
    ),
    "1-D": (lambda: fastfs.disc([A[0], B[0]], **HOW), "2-D"),
    "words": (lambda: fastfs.disc([A.astype(str).tolist(), np.array([["a"] * 40])], **HOW), "numbers"),
    "max_memory": (lambda: fastfs.disc([A, B], max_memory="much", **HOW), "max_memory must be"),
    "random_state": (lambda: fastfs.disc([A, B], random_state=-1, **HOW), "random_state must be at least 0"),
}


@together
@pytest.mark.parametrize("case", BAD)
@quiet
def test_values(case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message) as raised:
        call()
    assert str(raised.value).count("\n") == 0


TYPES = {
    "neither": (lambda: fastfs.disc(), "sets or graphs must be given, and not both; got neither"),
    "both": (lambda: fastfs.disc([A, B], graphs=[np.eye(40)] * 2), "and not both; got both"),
    "a generator": (lambda: fastfs.disc(X for X in (A, B)), "sets must be a list of matrices"),
    "a dict": (lambda: fastfs.disc({"a": A, "b": B}), "sets must be a list of matrices, .*; got dict"),
    "a DataFrame": (lambda: fastfs.disc(pd.DataFrame(A)), "sets must be a list of matrices, .*; got DataFrame"),
    "one sparse matrix": (lambda: fastfs.disc(sparse.csr_matrix(A)), "sets must be a list of matrices"),
    "components": (lambda: fastfs.disc([A, B], n_components=2.5), "n_components must be an integer"),
    "density": (lambda: fastfs.disc([A, B], density="high"), "density must be a number"),
    "kernel": (lambda: fastfs.disc([A, B], kernel=np.exp), "must be a C function"),
    "progress": (lambda: fastfs.disc([A, B], progress=1), "progress must be a callable"),
}


@together
@pytest.mark.parametrize("case", TYPES)
def test_types(case):
    call, message = TYPES[case]
    with pytest.raises(TypeError, match=message):
        call()


def graph(change=None, p=20):
    W = oracle.affinity(A[:, :p], 3)
    if change is not None:
        change(W)
    return sparse.csr_matrix(W)


def set_value(W, i, j, value):
    W[i, j] = value


BAD_GRAPHS = {
    "not square": (lambda: graph()[:15], r"set 1 must be a square CSR matrix; got a CSR matrix of 15 x 20"),
    "other features": (lambda: graph(p=18), "same features"),
    "not symmetric": (
        lambda: graph(lambda W: set_value(W, 3, 5, 0.9)),
        "W of set 1 must be symmetric; got different values for column 3",
    ),
    "negative": (
        lambda: graph(lambda W: (set_value(W, 3, 5, -1), set_value(W, 5, 3, -1))),
        "not negative; got -1 for column 3 and column 5 of set 1",
    ),
    "NaN": (lambda: graph(lambda W: set_value(W, 3, 3, np.nan)), "NaN or infinity|column 3 and column 3"),
    "a feature without affinities": (
        lambda: graph(lambda W: (W[4].fill(0), W[:, 4].fill(0))),
        "positive, finite sum for each feature; got 0 for column 4 of set 1",
    ),
    "3-D": (lambda: np.ones((2, 20, 20)), "2-D"),
}


@together
@pytest.mark.parametrize("case", BAD_GRAPHS)
@quiet
def test_graphs(case):
    make, message = BAD_GRAPHS[case]
    with pytest.raises(ValueError, match=message):
        fastfs.disc(graphs=[graph(), make()], n_components=3)


def test_graphs_whose_sums_have_no_inverse():
    for factor, total in ((1e-320, r"\d\.?\d*e-3"), (1e308, "inf")):
        message = f"finite sum for each feature; got {total}.* for column 0 of set 1: multiply them by a constant"
        with pytest.raises(ValueError, match=message):
            fastfs.disc(graphs=[graph(), factor * graph()], n_components=3)


def test_scaled_graphs():
    with pytest.raises(ValueError, match="if set 0 has affinities"):
        fastfs.disc(graphs=[graph(), graph()], n_components=3, scaling="standard")


def test_graphs_with_a_kernel():
    with pytest.raises(TypeError, match="C function"):
        fastfs.disc(graphs=[graph(), graph()], n_components=3, kernel=len)


def test_data_frames_with_other_features():
    names = [f"gene {j}" for j in range(40)]
    one, other = pd.DataFrame(A, columns=names), pd.DataFrame(B, columns=names[::-1])
    with pytest.raises(ValueError, match="features of the first in the same order; got gene 39 in set 1"):
        fastfs.disc([one, other], **HOW)


# ------------------------------------------------------------------------------------------------------------ warnings


def warned(*arguments, **options):
    with pytest.warns(fastfs.DataWarning) as record:
        result = fastfs.disc(*arguments, **HOW | options)
    assert all(warning.filename == __file__ for warning in record)
    assert np.isfinite(result.scores).all()
    return [str(warning.message) for warning in record if "n_components cuts" not in str(warning.message)], result


def test_one_sample():
    (message, *_), _ = warned([A, B[:1]])
    assert message == (
        "one sample only in set 1: distances between features are differences of single values; give more samples, or "
        "leave it out"
    )


@pytest.mark.parametrize(
    "options, message",
    [
        ({"bandwidth_neighbors": 40}, "bandwidth_neighbors=40 exceeds the 39 other features: all of them are taken"),
        ({"graph": "knn", "n_neighbors": 90}, "n_neighbors=90 exceeds the 39 other features: all of them are taken"),
        (
            {"graph": "knn", "n_neighbors": 90, "bandwidth_neighbors": 50},
            "bandwidth_neighbors=50 and n_neighbors=90 exceed the 39 other features: all of them are taken",
        ),
    ],
)
def test_more_neighbors_than_features(options, message):
    messages, result = warned([A, B], **options)
    assert messages == [message]
    most = {name: 39 for name in ("bandwidth_neighbors", "n_neighbors") if name in options}
    with pytest.warns(fastfs.DataWarning) if len(messages) > 1 else np.errstate():
        same = fastfs.disc([A, B], **HOW | options | most)
    np.testing.assert_array_equal(same.scores, result.scores)


@pytest.mark.parametrize("graph", ["dense", "knn"])
def test_identical_columns(graph):
    copies = A.copy()
    copies[:, 10:20] = copies[:, [10]]
    messages, result = warned([copies, B], graph=graph, **({} if graph == "dense" else {"n_neighbors": 15}))
    assert messages[0].startswith("some features have 5 copies or more in set 0, so that their bandwidth would be 0")
    if graph == "dense":
        np.testing.assert_allclose(result.bandwidths[0], oracle.bandwidths(copies, 5), rtol=1e-10)


def test_constant_features_are_no_cause_for_a_warning(recwarn):
    constant = [A.copy(), B.copy()]
    for X in constant:
        X[:, 5:8] = 0
    result = fastfs.disc(constant, **HOW)
    assert not [w for w in recwarn if "n_components cuts" not in str(w.message)]
    assert np.isfinite(result.scores).all()


@quiet
def test_graphs_that_fall_apart():
    parts = [sparse.block_diag([graph(), graph()]).tocsr(), sparse.csr_matrix(oracle.affinity(B, 5))]
    with pytest.warns(fastfs.DataWarning, match="graph of set 0 falls apart, into up to 2 pieces"):
        result = fastfs.disc(graphs=parts, n_components=3, n_vectors=4, n_differential=1)
    assert result.n_connected_components.tolist() == [2, 1]
    expected = oracle.disc([W.toarray() for W in parts], 3)
    for s in range(2):
        np.testing.assert_allclose(result.significance[s], expected.sigma[s][:4], rtol=0, atol=1e-9)


def test_isolated_feature():
    far = A.copy()
    far[:, 3] += 1e9  # its affinities underflow
    messages, result = warned([far, B], graph="knn", n_neighbors=6)
    assert any("falls apart" in message for message in messages) or result.n_connected_components[0] == 1


@quiet
def test_identical_sets():
    messages, result = warned([A, A.copy()])
    said = "the graph of set 0, set 1 is that of another set too: nothing is differential between these"
    assert any(message.startswith(said) for message in messages)
    assert (result.statistic < result.eigenvalues[0][1]).all()


@quiet
def test_flat_significances():
    with pytest.warns(fastfs.DataWarning, match="no clear step in set 0, set 1 .*set n_differential"):
        fastfs.disc(list(np.random.default_rng(1).normal(size=(2, 50, 200))))


def test_trivial_vectors_alone():
    messages, result = warned([A, B], n_vectors=1)
    assert messages == ["all vectors of set 0, set 1 are trivial, so that there are no scores: raise n_vectors"]
    assert result.trivial.all()
    assert not result.scores.any()


def test_no_next_significance_is_no_flat_one(recwarn):
    result = fastfs.disc([A, B], n_components=38, bandwidth_neighbors=5)  # leaves one vector that isn't trivial
    assert result.significance.shape == (2, 2)
    assert result.n_differential.tolist() == [1, 1]
    assert result.ratio.tolist() == [0, 0]
    assert not [w for w in recwarn if "no clear step" in str(w.message)]


@quiet
def test_small_gap():
    rng = np.random.default_rng(0)
    sets = []
    for _ in range(2):  # six equal blocks: eigenvalues near 1 come in a cluster
        X = 0.1 * rng.normal(size=(300, 60))
        for b in range(6):
            X[:, 10 * b : 10 * b + 10] += rng.normal(size=(300, 1))
        sets.append(X)
    with pytest.warns(fastfs.DataWarning, match="n_components cuts a cluster of eigenvalues in set 0, set 1"):
        found = fastfs.disc(sets, graph="knn", n_neighbors=9, bandwidth_neighbors=9, n_components=3, n_differential=1)
    assert (found.gap < 1e-3).all()


def test_memory_is_asked_for_first():
    wide = np.zeros((3, 20_000), "f")
    with pytest.raises(MemoryError, match=r"memory budget is .* graph=\"knn\""):
        fastfs.disc([wide, wide], graph="dense", max_memory="100M")


def needed(call):
    with pytest.raises(MemoryError) as raised:
        call()
    return int(re.search(r"would need .*?(\d+) bytes", str(raised.value))[1])


@quiet
def test_sparse_graphs_of_all_sets_count():
    sets = [np.random.default_rng(s).normal(size=(10, 300)) for s in range(6)]
    options = {"graph": "knn", "n_neighbors": 20, "n_components": 2, "n_vectors": 2}
    graphs = fastfs.disc(sets, **options).graphs
    more = needed(lambda: fastfs.disc(sets, max_memory=1, **options)) - needed(
        lambda: fastfs.disc(sets[:2], max_memory=1, **options)
    )
    # 12 bytes an entry while it is worked on, then 16 in the result.
    assert more >= sum(16 * W.nnz for W in graphs[2:])


def test_scaled_copies_count():
    X = np.random.default_rng(0).normal(size=(1000, 500))
    plain, scaled = (
        needed(lambda scaling=scaling: fastfs.disc([X, X.astype("f")], max_memory=1, scaling=scaling, **HOW))
        for scaling in (None, "standard")
    )
    assert scaled - plain == 12 * X.size
