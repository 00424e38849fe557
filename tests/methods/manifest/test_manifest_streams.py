"""ManiFeSt from sums over blocks of rows: X larger than a quarter of the budget is read once.

The exact form and that by domains are those of X in memory, up to rounding. The low-rank form is that of other rows,
which stand for those of X and are made here in plain NumPy.
"""

import pickle
import subprocess
import sys
import warnings

import anndata
import dask
import dask.array as da
import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

import fastfs
from covering import rotating
from fastfs import ManiFeSt, tl
from fastfs._functions.manifest import ManiFeStOptions, SumsStage
from fastfs._machine.run import Run, load_core
from reference import manifest as oracle
from reference.tolerance import PROMISED, assert_close

RNG = np.random.default_rng(5)
N, D = 3000, 60
FACTORS = RNG.normal(size=(N, 8))
X = FACTORS @ np.where(RNG.random((8, D)) < 0.3, RNG.normal(size=(8, D)), 0) + RNG.normal(size=(N, D))
X[RNG.random(X.shape) < 0.6] = 0
Y = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
X[Y == "a", :10] = X[Y == "a", :10][:, ::-1] * 1.5
GROUPS = np.unique(Y, return_inverse=True)[1].astype(np.int64)
LENGTHS = (3000,), (1, 7, 992, 0, 1500, 499, 1), (1,) * 20 + (2980,)
EXACT = 1e-10  # of the largest score: what an exact plan promises (4e-15 was measured)
BUDGET = "3M"  # X has 1.4 MB, 0.9 as CSR: more than a quarter


def pieces(table=X, lengths=LENGTHS[1]):
    ends = np.cumsum(lengths)
    return [table[end - n : end] for n, end in zip(lengths, ends, strict=True)]


def options(accuracy, rank=5, **more):
    return {"form": "pencil", "accuracy": accuracy, "rank": rank, "multiclass": "ovr", "seed": 3} | more


def sums_of(blocks, accuracy, groups=GROUPS, n_threads=1, **more):
    blocks = list(blocks)
    sums = load_core().ManifestStream(blocks[0].shape[1], 3, options(accuracy, **more), Run())
    first = 0
    for block in blocks:
        if block.shape[0]:
            sums.update(block, groups[first : first + block.shape[0]], Run(n_threads))
        first += block.shape[0]
    return sums


def numbers(sums):
    return np.frombuffer(sums.save()[48:]).reshape(3, -1)


def products_of(sums, d):
    """Of the first group: of each landmark with all features."""
    products = np.frombuffer(sums.save()[48:]).reshape(sums.means.shape[0], -1)[0, 2 + 2 * d :].reshape(-1, d)
    # Of the exact form there is a triangle.
    return np.triu(products) + np.triu(products, 1).T if len(products) == d else products


def landmarks_of(sums, table):
    """The landmarks: the columns that have the products of the sums."""
    gram = table[GROUPS == 0].T @ table[GROUPS == 0]
    return np.array([np.abs(gram - row).sum(axis=1).argmin() for row in products_of(sums, table.shape[1])])


# ------------------------------------------------------------------------------------------------------------ the sums


@rotating(
    1, form=[np.asarray, np.asfortranarray, np.float32, sp.csr_matrix, sp.csr_array], accuracy=["exact", "low_rank"]
)
def test_sums_are_those_of_numpy(accuracy, form):
    table = form(X)
    values = table.toarray() if hasattr(table, "tocsr") else np.asarray(table, dtype=float)
    sums = sums_of([table], accuracy)
    chosen = landmarks_of(sums, values)
    assert len(set(chosen.tolist())) == (D if accuracy == "exact" else 20)
    assert np.all(np.diff(chosen) > 0)
    for g in range(3):
        rows = values[g == GROUPS]
        found = numbers(sums)[g]
        assert found[0] == len(rows)
        np.testing.assert_allclose(found[2 : 2 + D], rows.sum(axis=0), rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(found[2 + D : 2 + 2 * D], (rows**2).sum(axis=0), rtol=1e-12)
        products = found[2 + 2 * D :].reshape(-1, D)
        expected = rows[:, chosen].T @ rows
        if accuracy == "exact":
            products, expected = np.triu(products), np.triu(expected)
        np.testing.assert_allclose(products, expected, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(sums.means[g], rows.mean(axis=0), rtol=1e-12, atol=1e-14)
    assert sums.counts.tolist() == np.bincount(GROUPS).tolist()


def test_an_offset_of_a_row_changes_no_distance():
    """Without taking it off, distances of 1 beside values of 1e8 would lose all digits."""
    moved = X + 1e8 * np.random.default_rng(0).normal(size=(N, 1))
    scales = [{"rule": "median", "normalize": 0, "value": 0.5}]
    found = sums_of([moved], "exact").finish(np.arange(3), 3, scales, options("exact"), Run())[0]["scores"]
    assert_close(found, ManiFeSt().fit(moved, Y).scores_, PROMISED)


@rotating(1, form=[np.asarray, np.float32, sp.csr_matrix], accuracy=["exact", "low_rank"])
def test_partitions_and_orders_of_merging(accuracy, form):
    table = form(X)
    whole = numbers(sums_of([table], accuracy))
    size = np.abs(whole).max()
    for lengths in LENGTHS[1:]:
        blocks = pieces(table, lengths)
        found = numbers(sums_of(blocks, accuracy))
        if form is sp.csr_matrix:
            np.testing.assert_array_equal(found, whole)  # each sum is in the order of the rows
        np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-14 * size)
        ends = np.cumsum(lengths)
        parts = [sums_of([b], accuracy, GROUPS[e - n : e]) for b, e, n in zip(blocks, ends, lengths, strict=True)]
        for order in (range(len(parts)), reversed(range(len(parts)))):
            merged = sums_of([table[:0]], accuracy)
            for i in order:
                merged.merge(pickle.loads(pickle.dumps(parts[i])))
            np.testing.assert_allclose(numbers(merged), whole, rtol=1e-12, atol=1e-14 * size)


@rotating(1, accuracy=["exact", "low_rank"], form=[np.asarray, sp.csr_matrix])
def test_threads_do_not_change_a_bit(accuracy, form):
    one, three = (numbers(sums_of([form(X)], accuracy, n_threads=n)) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("accuracy", ["exact", "low_rank"])
def test_rows_of_entries_in_any_order_and_at_one_place(accuracy):
    table = sp.csr_matrix(X)
    rng = np.random.default_rng(0)
    order = np.concatenate([b + rng.permutation(e - b) for b, e in zip(table.indptr, table.indptr[1:], strict=False)])
    shuffled = sp.csr_matrix((table.data[order], table.indices[order], table.indptr), shape=table.shape)
    halves = sp.csr_matrix(
        (np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), 2 * table.indptr), shape=table.shape
    )
    expected = numbers(sums_of([table], accuracy))
    np.testing.assert_array_equal(numbers(sums_of([shuffled], accuracy)), expected)
    np.testing.assert_allclose(numbers(sums_of([halves], accuracy)), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize(
    "block, groups, message",
    [
        (X[:5, :9], GROUPS[:5], "must have 60 columns; got 9"),
        (X[:5], GROUPS[:5] + 9, "groups must be from 0 to 2"),
        (np.where(np.arange(60) == 7, np.nan, X[:5]), GROUPS[:5], "NaN or infinity first at row 0, column 7"),
        (sp.csc_matrix(X[:5]), GROUPS[:5], "must be CSR"),
    ],
)
def test_what_is_refused_leaves_the_sums(block, groups, message):
    sums = sums_of([X], "low_rank")
    before = numbers(sums)
    with pytest.raises(ValueError, match=message):
        sums.update(block, groups, Run())
    np.testing.assert_array_equal(numbers(sums), before)


def test_sums_that_can_not_be_merged():
    sums = sums_of([X], "low_rank")
    for other in (sums_of([X[:, :40]], "low_rank"), sums_of([X], "exact"), sums_of([X], "low_rank", seed=4), sums):
        with pytest.raises(ValueError, match=r"to be merged; got|must not be merged with itself"):
            sums.merge(other)


# ---------------------------------------------------------------------------------------------------------- exact form


STREAMS = {
    "npy": lambda folder: (np.save(folder / "X.npy", X), folder / "X.npy")[1],
    "h5ad, CSR": lambda folder: h5ad(folder, sp.csr_matrix),
    "h5ad, dense": lambda folder: h5ad(folder, np.asarray),
    "HDF5": lambda folder: h5py.File(folder / "X.h5", "w").create_dataset("X", data=X, chunks=(64, 7)),
    "backed": lambda folder: anndata.read_h5ad(h5ad(folder, sp.csr_matrix), backed="r").X,
    "function": lambda _: pieces,
    "function, CSC": lambda _: lambda: (sp.csc_matrix(part) for part in pieces()),
    "function, mixed": lambda _: lambda: [X[:1000], sp.csr_matrix(X[1000:])],
    "iterator": lambda _: iter(pieces()),
    "Dask": lambda _: da.from_array(X, chunks=(701, 13)),
    "sparse Dask": lambda _: da.from_array(X, chunks=(701, D)).map_blocks(sp.csr_matrix),
}


def h5ad(folder, make):
    path = folder / "cells.h5ad"
    anndata.AnnData(make(X)).write_h5ad(path)
    return path


def assert_same_fit(found, expected):
    assert_close(found.scores_, expected.scores_, EXACT)
    assert_close(found.class_scores_, expected.class_scores_, EXACT)
    np.testing.assert_allclose(found.sigma_, expected.sigma_, rtol=1e-10)
    assert np.array_equal(found.classes_, expected.classes_)
    assert found.n_features_in_ == expected.n_features_in_


@pytest.mark.parametrize("name", STREAMS)
def test_exact_from_any_stream(tmp_path, name):
    expected = ManiFeSt(5).fit(X, Y)
    assert (expected.algorithm_, expected.n_passes_, expected.accuracy_) == ("whole", 0, "exact")
    found = ManiFeSt(5, max_memory=BUDGET).fit(STREAMS[name](tmp_path), Y)
    assert (found.algorithm_, found.n_passes_, found.accuracy_) == ("sums", 1, "exact")
    assert found.accuracy_reason_ == expected.accuracy_reason_
    assert_same_fit(found, expected)
    assert_close(fastfs.manifest_scores(STREAMS[name](tmp_path), Y, max_memory=BUDGET), expected.scores_, EXACT)


@pytest.mark.parametrize("name", sorted(STREAMS.keys() - {"function, mixed"}))
def test_what_is_small_runs_in_memory_to_the_bit(tmp_path, name):
    table = {"function, CSC": sp.csc_matrix}.get(name, np.asarray)(X)
    if "CSR" in name or name in ("backed", "sparse Dask"):
        table = sp.csr_matrix(X)
    found = ManiFeSt(5).fit(STREAMS[name](tmp_path), Y)
    assert (found.algorithm_, found.n_passes_) == ("whole", 0)
    np.testing.assert_array_equal(found.scores_, ManiFeSt(5).fit(table, Y).scores_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"multiclass": "ovo"},
        {"normalize": 3, "sigma_factor": 1.0},
        {"sigma": "percentile", "sigma_percentile": 30.0},
        {"form": "spsd"},
        {"n_components": 2},
        {"combine": np.arange(D)},
    ],
)
def test_exact_with_all_parameters(parameters):
    expected = ManiFeSt(5, **parameters).fit(X, Y)
    found = ManiFeSt(5, max_memory=BUDGET, **parameters).fit(pieces, Y)
    assert found.algorithm_ == "sums"
    assert_close(found.scores_, expected.scores_, EXACT)
    for name in ("mean_eigenvalues_", "difference_eigenvalues_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=PROMISED)


def test_the_grid_of_scales():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        expected = ManiFeSt(5, sigma="grid").fit(X, Y).sensitivity_
        found = ManiFeSt(5, sigma="grid", max_memory=BUDGET).fit(pieces, Y).sensitivity_
    assert found["scale"] == expected["scale"]
    assert_close(found["scores"][5], expected["scores"][5], PROMISED)


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).add_prefix("gene ")
    found = ManiFeSt(5, max_memory=BUDGET).fit(lambda: iter([frame[:1000], frame[1000:]]), Y)
    assert found.algorithm_ == "sums"
    assert found.feature_names_in_.tolist() == list(frame)
    with pytest.raises(ValueError, match="must have the columns of the first"):
        found.fit(iter([frame[:2000], frame[2000:].iloc[:, ::-1]]), Y)


@pytest.mark.parametrize(
    "estimator",
    [ManiFeSt(2), fastfs.DiSC(2), fastfs.MultiSURF(2, n_rows=50), fastfs.ReliefF(2, n_targets=20)],
    ids=repr,
)
def test_blocks_that_fit_the_memory_have_the_columns_of_the_first(estimator):
    pd = pytest.importorskip("pandas")
    frame, labels = pd.DataFrame(X[:60, :5]).add_prefix("gene "), np.arange(60) % 2
    first, second = frame[:20], frame[20:]
    with pytest.raises(
        ValueError, match=r"columns of the first; got 'gene 4' for 'gene 0' .* in the block from row 20$"
    ):
        estimator.fit(lambda: iter([first, second.iloc[:, ::-1]]), labels)
    with pytest.raises(ValueError, match=r"all blocks of X must have 5 columns; got 4 in the block from row 20$"):
        estimator.fit(lambda: iter([first.to_numpy(), second.to_numpy()[:, 1:]]), labels)


# ----------------------------------------------------------------------------------------------------------- fast form

# Of scales too small for a low-rank kernel, and ranks that are: here they test other things.
quietly = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")


def stand_in(rows, landmarks):
    """Rows that stand for these: what the landmarks explain of each column, and a component of its own."""
    gram = rows.T @ rows
    w, V = np.linalg.eigh(gram[np.ix_(landmarks, landmarks)])
    A = (gram[:, landmarks] @ (V / np.sqrt(w))).T
    own = np.maximum(np.diag(gram) - (A**2).sum(axis=0), 0)
    own[landmarks] = 0
    return np.vstack([A, np.diag(np.sqrt(own))])


@quietly
@rotating(1, form=[np.asarray, np.float32, sp.csr_matrix], normalize=[0, 3])
def test_fast_is_the_fit_of_what_stands_for_the_rows(form, normalize):
    """The kernels' landmarks are drawn as in memory, so that only rounding differs."""
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(400, 30)) @ rng.normal(size=(30, 200)) + rng.normal(size=(400, 200))
    wide[:, ::2] *= wide[:, ::2] > 0
    given = form(wide)
    wide = given.toarray() if hasattr(given, "tocsr") else np.asarray(given, dtype=float)
    groups = np.arange(400) % 2
    sums = load_core().ManifestStream(200, 2, options("low_rank", rank=20), Run())
    sums.update(given, groups, Run())
    gram = wide[groups == 0].T @ wide[groups == 0]
    landmarks = np.array([np.abs(gram - row).sum(axis=1).argmin() for row in products_of(sums, 200)])
    parts = [stand_in(wide[groups == g], landmarks) for g in (0, 1)]
    for g, part in enumerate(parts):  # distances from landmarks are those of the data
        difference = oracle.distances(part) - oracle.distances(wide[groups == g])
        np.testing.assert_allclose(difference[:, landmarks], 0, atol=1e-6)
    scale = {"rule": "median", "value": 1.0, "normalize": normalize}
    results = sums.finish(np.arange(2), 2, [scale], options("low_rank", rank=20), Run())
    assert results[0]["accuracy"] == "low_rank"
    expected = ManiFeSt(accuracy="low_rank", rank=20, normalize=normalize, sigma_factor=1.0, random_state=3)
    expected.fit(np.vstack(parts), np.repeat([0, 1], [len(part) for part in parts]))
    np.testing.assert_allclose(results[0]["sigma"], expected.sigma_, rtol=1e-9)
    assert_close(results[0]["scores"], expected.scores_, PROMISED)
    np.testing.assert_allclose(results[0]["agreement"], expected.agreement_, rtol=1e-6)


def correlated(n=4000, d=1500, seed=0):
    """Twenty factors, of which the second class changes a tenth of the loadings."""
    rng = np.random.default_rng(seed)
    loadings = np.where(rng.random((20, d)) < 0.1, rng.normal(size=(20, d)), 0)
    other = loadings.copy()
    changed = rng.permutation(d)[: d // 10]
    other[:, changed] = loadings[:, rng.permutation(changed)]
    y = rng.integers(0, 2, n)
    factors = rng.normal(size=(n, 20))
    table = np.where(y[:, None] == 1, factors @ other, factors @ loadings) + rng.normal(size=(n, d))
    return table.astype(np.float32), y


@quietly
@pytest.mark.parametrize("parameters", [{}, {"normalize": 3, "sigma_factor": 1.0}])
def test_fast_is_near_the_fit_in_memory(parameters):
    """Landmarks drawn evenly are as near to those drawn by what is left as these are among themselves, up to .05."""
    table, y = correlated()
    here, other = (ManiFeSt(accuracy="low_rank", random_state=seed, **parameters).fit(table, y) for seed in (0, 1))
    model = ManiFeSt(accuracy="low_rank", max_memory="90M", **parameters)
    found = model.fit(lambda: np.split(table, 4), y)
    assert (found.algorithm_, found.accuracy_, found.accuracy_reason_) == ("sums", "low_rank", "as asked for")
    np.testing.assert_allclose(found.sigma_, here.sigma_, rtol=0.01)
    among = spearmanr(here.scores_, other.scores_).statistic
    assert spearmanr(found.scores_, here.scores_).statistic > among - 0.05
    before = found.scores_
    np.testing.assert_array_equal(model.fit(lambda: np.split(table, 4), y).scores_, before)


def test_auto_never_takes_landmarks():
    """If the products of all pairs exceed the budget, the error names the accuracy that keeps fewer."""
    table, y = correlated()
    with pytest.raises(MemoryError, match='choose accuracy="low_rank"'):
        ManiFeSt(max_memory="80M").fit(lambda: np.split(table, 4), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        found = ManiFeSt(accuracy="low_rank", max_memory="80M").fit(lambda: np.split(table, 4), y)
    assert (found.algorithm_, found.accuracy_) == ("sums", "low_rank")


# ------------------------------------------------------------------------------------------------------------- domains


def modules(d, n=300, seed=2):
    """Groups of ten features with a factor each; in class "b" every fourth group has another sign pattern."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[np.arange(n) % 3]
    table = np.repeat(rng.normal(size=(n, d // 10)), 10, axis=1) + rng.normal(size=(n, d))
    changed = np.flatnonzero(np.arange(d) // 10 % 4 == 0)
    table[np.ix_(y == "b", changed[::2])] *= -1
    return table, y


def from_sums(table, y, parameters, n_threads=1):
    """Fit from blocks of 90 rows, whatever the budget."""
    model = ManiFeSt(random_state=3, n_jobs=n_threads, **parameters)
    classes, groups = np.unique(y, return_inverse=True)
    options = ManiFeStOptions.from_arguments(model)
    stage = SumsStage(
        lambda: (table[i : i + 90] for i in range(0, table.shape[0], 90)),
        groups,
        len(classes),
        options,
        Run.from_estimator(model),
    )
    return stage.fit_scales(np.arange(len(classes)), np.arange(len(classes)), options, agreement=True).warn_and_return()


@pytest.mark.filterwarnings("ignore:the scores by domains:fastfs.DataWarning")
@pytest.mark.parametrize(
    "form, d, classes, parameters",
    [
        (np.asarray, 480, "abc", {}),
        (np.asarray, 480, "ab", {"rank": 20, "sigma_factor": 0.1}),
        (np.float32, 480, "abc", {"multiclass": "ovo", "sigma": "percentile", "sigma_percentile": 30.0}),
        (sp.csr_matrix, 480, "ab", {"normalize": 3, "sigma_factor": 1.0, "rank": 30}),
        # Distances of integers are exact, and many of them are equal.
        (lambda table: np.round(table), 480, "ab", {"rank": 20}),
        (lambda table: np.where(np.arange(table.shape[1]) % 5 == 0, table[:, [0]], table), 1600, "ab", {"rank": 20}),
    ],
)
def test_domains_are_those_of_memory(form, d, classes, parameters):
    table, y = modules(d)
    table, y = table[np.isin(y, [*classes])], y[np.isin(y, [*classes])]
    table = form(table * (np.abs(table) > 1) if form is sp.csr_matrix else table)
    parameters = {"accuracy": "domains", **parameters}
    expected = ManiFeSt(random_state=3, **parameters).fit(table, y)
    found = from_sums(table, y, parameters)
    assert expected.accuracy_ == found["accuracy"] == "domains"
    # A distance from products errs by some eps of the squared norms, which a small sigma multiplies in the exponent.
    precision = 1e-5 if form is np.float32 else PROMISED
    assert_close(found["scores"], expected.scores_, precision)
    np.testing.assert_allclose(found["agreement"], expected.agreement_, atol=precision)


@pytest.mark.filterwarnings("ignore:the scores by domains:fastfs.DataWarning")
def test_threads_do_not_change_a_bit_of_domains():
    table, y = modules(480)
    one, three = (from_sums(table, y, {"accuracy": "domains", "rank": 20}, n)["scores"] for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_domains_from_a_stream():
    table, y = modules(1600, n=3000)
    found = ManiFeSt(10, rank=20, max_memory="140M").fit(lambda: np.split(table, 10), y)
    assert (found.algorithm_, found.n_passes_, found.accuracy_) == ("sums", 1, "domains")
    expected = ManiFeSt(10, rank=20).fit(table, y)
    assert found.accuracy_reason_ == expected.accuracy_reason_
    assert_close(found.scores_, expected.scores_, EXACT)
    best = np.argsort(-found.class_scores_[1])[:100]
    assert np.mean(best // 10 % 4 == 0) > 0.9


# ------------------------------------------------------------------------------------------------------ what is refused


def wide_stream():
    return (np.zeros((10, 5001), dtype=np.float32) for _ in range(30))


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"accuracy": "exact"}, MemoryError, 'choose accuracy="domains"'),
        ({"form": "spsd"}, MemoryError, "give fewer features"),
        ({"accuracy": "low_rank", "rank": 2000}, MemoryError, "lower rank"),
        ({"accuracy": "low_rank_high"}, ValueError, 'choose "low_rank"'),
        ({"combine": "f"}, ValueError, "combine must be an array of scores if X is read in blocks"),
    ],
)
def test_what_sums_do_not_give(parameters, error, message):
    model = ManiFeSt(max_memory="20M", rank=2).set_params(**parameters)
    with pytest.raises(error, match=message):
        model.fit(wide_stream, np.arange(300) % 2)
    assert not hasattr(model, "scores_")


def test_labels_that_do_not_fit(tmp_path):
    model = ManiFeSt(max_memory=BUDGET)
    for given, y, message in (
        (pieces, Y[:-1], "got 2999 in y and more in X"),
        (pieces, np.append(Y, "a"), "3000 in X and 3001 in y"),
        (STREAMS["npy"](tmp_path), Y[:-1], "3000 samples of X; got 2999"),
        (pieces, None, "requires y"),
        (pieces, np.zeros(N), "got one class"),
        (da.from_array(X, chunks=(1000, 60)), Y[:-1], "3000 samples of X; got 2999"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(given, y)
    with pytest.raises(ValueError, match="y must have two classes; got 3"):
        ManiFeSt(max_memory=BUDGET, multiclass="raise").fit(pieces, Y)


class Broken(Exception):
    pass


def broken():
    yield X[:2500]
    raise Broken


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda _: broken, Broken, None),
        (lambda _: lambda: iter(pieces()[:-2]), ValueError, "2500 in X and 3000 in y"),
        (lambda _: lambda: [*pieces()[:-1], X[:, :9]], ValueError, "must have 60 columns"),
        (
            lambda _: lambda: [X[:2000], np.where(np.arange(1000)[:, None] == 5, np.inf, X[2000:])],
            ValueError,
            "row 2005",
        ),
        (
            lambda _: da.from_array(np.where(np.arange(N)[:, None] == 2005, np.nan, X), chunks=(700, 60)),
            ValueError,
            "row 2005",
        ),
    ],
)
def test_a_source_that_fails_leaves_the_estimator_as_it_was(tmp_path, make, error, message):
    model = ManiFeSt(max_memory=BUDGET)
    with pytest.raises(error, match=message):
        model.fit(make(tmp_path), Y)
    assert not hasattr(model, "scores_")
    before = model.fit(pieces, Y).scores_
    with pytest.raises(error, match=message):
        model.fit(make(tmp_path), Y)
    assert model.scores_ is before


def test_values_whose_squares_overflow():
    with pytest.raises(ValueError, match="are too large: their squares overflow float64; divide X by a constant"):
        ManiFeSt(max_memory=BUDGET).fit(lambda: [1e160 * X], Y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_values_whose_squares_underflow(form):
    expected = ManiFeSt().fit(X, Y).scores_
    assert_close(ManiFeSt(max_memory=BUDGET).fit(lambda: [form(1e-140 * X)], Y).scores_, expected, EXACT)
    with pytest.raises(ValueError, match="class a are too small: their squares underflow in float64; multiply X by"):
        ManiFeSt(max_memory=BUDGET).fit(lambda: [form(1e-160 * X)], Y)


def test_features_whose_distance_has_no_digits_left():
    near = X.copy()
    near[:, 1] = 1e6 * near[:, 0]
    near[:, 2] = near[:, 1] + near[:, 3]  # its distance from 1 is 1e-12 of their squares
    near[:, 5] = near[:, 4]  # equal ones are at distance 0
    with pytest.warns(fastfs.DataWarning, match="class a.*sums over rows leave hardly a digit of their distance"):
        ManiFeSt(max_memory=BUDGET).fit(lambda: [sp.csr_matrix(near)], Y)
    near[:, 2] = X[:, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ManiFeSt(max_memory=BUDGET).fit(lambda: [sp.csr_matrix(near)], Y)
    assert found.scores_[4] == pytest.approx(found.scores_[5], rel=1e-6)


# ---------------------------------------------------------------------------------------------------------- Dask, tools


@quietly
@pytest.mark.parametrize("accuracy", ["exact", "low_rank"])
def test_dask_gives_the_same_bits_whoever_computes(accuracy):
    found = []
    for scheduler, n in (("synchronous", 1), ("threads", 1), ("threads", 3)):
        with dask.config.set(scheduler=scheduler, num_workers=n):
            blocks = da.from_array(X, chunks=(313, D))
            found.append(ManiFeSt(accuracy=accuracy, rank=5, max_memory=BUDGET).fit(blocks, Y).scores_)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.filterwarnings("ignore:logfoldchanges:fastfs.DataWarning")
@rotating(1, how=[{}, {"reference": "b"}, {"groups": ["a", "c"], "mask_var": "some"}], form=["h5ad", "Dask"])
def test_one_pass_serves_all_groups(tmp_path, form, how, monkeypatch):
    def cells(table):
        found = anndata.AnnData(table)
        found.obs["state"] = np.where(np.arange(N) % 100 == 3, None, Y)
        found.var["some"] = np.arange(D) % 20 > 0
        return found

    here = cells(sp.csr_matrix(X))
    if form == "Dask":
        there = cells(da.from_array(X, chunks=(701, D)).map_blocks(sp.csr_matrix))
    else:
        here.write_h5ad(tmp_path / "cells.h5ad")
        there = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    passes = []
    run = fastfs._inputs.streams.Passes.run_pass
    monkeypatch.setattr(fastfs._inputs.streams.Passes, "run_pass", lambda self, f: (passes.append(1), run(self, f))[1])
    for adata, more in ((here, {}), (there, {"max_memory": BUDGET})):
        tl.manifest(adata, "state", drop_unlabelled=True, **how, **more)
    assert len(passes) == (form == "h5ad")
    found, expected = there.uns["manifest"], here.uns["manifest"]
    for group in expected["names"].dtype.names:
        for column in ("scores", "logfoldchanges"):
            np.testing.assert_allclose(found[column][group], expected[column][group], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(there.var["manifest_scores"], here.var["manifest_scores"], rtol=1e-9)
    with pytest.raises(MemoryError, match="quarter of the memory budget"):
        tl.manifest(there, "state", drop_unlabelled=True, n_permutations=5, max_memory=BUDGET, **how)


PEAK = """
import resource, sys
import numpy as np
import fastfs
from fastfs._estimators import do_without_sklearn
do_without_sklearn()  # importing it would take half of the time
X = np.random.default_rng(0).normal(size=(2000, 1500)).astype(np.float32)
y = np.arange(40_000) % 2
fastfs.ManiFeSt(accuracy="low_rank", n_jobs=1).fit(X, y[:2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = fastfs.ManiFeSt(accuracy="low_rank", n_jobs=1, max_memory="100M").fit(lambda: (X + i for i in range(20)), y)
assert found.algorithm_ == "sums"
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="bytes of ru_maxrss")
def test_peak_memory_stays_within_the_budget():
    """X has 240 MB."""
    done = subprocess.run([sys.executable, "-c", PEAK], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 100_000
