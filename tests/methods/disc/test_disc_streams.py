"""DiSC of rows that come in blocks: the fit in memory, partitions, sketches and candidates, and what goes wrong."""

import copy
import pickle
import warnings

import anndata
import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fastfs
import fastfs.cli
import fastfs.tl
from covering import rotating
from fastfs import DiSC
from fastfs._machine.run import Run, load_core
from reference import disc as oracle

RNG = np.random.default_rng(4)
N, P = 3000, 60
Y = np.array(["a", "b", "c"])[RNG.choice(3, size=N, p=[0.5, 0.3, 0.2])]
GROUPS = np.unique(Y, return_inverse=True)[1].astype(np.int64)
X = RNG.normal(size=(N, P))
for label, first in (("a", 0), ("b", 10), ("c", 20)):
    rows = label == Y
    X[rows, first : first + 8] += 2 * RNG.normal(size=(rows.sum(), 1))  # tied to each other in this class only
X[RNG.random(X.shape) < 0.5] = 0
LENGTHS = (1, 7, 992, 0, 1500, 499, 1)
HOW = {"n_components": 3, "bandwidth_neighbors": 5, "n_neighbors": 8, "n_vectors": 5, "n_differential": 2}
BUDGET = "2500K"  # X has 1.4 MB, 0.7 as float32: more than a quarter
PROMISED = 1e-10  # of the largest: what an exact plan promises


def blocks(table=X, lengths=LENGTHS):
    """A function that returns a new iterator of blocks of rows."""
    ends = np.cumsum(lengths)
    return lambda: (table[end - n : end] for n, end in zip(lengths, ends, strict=True))


def streamed(table, y=Y, max_memory=BUDGET, **options):
    return DiSC(max_memory=max_memory, **HOW | options).fit(table, y)


def assert_same(found, expected, tolerance=PROMISED):
    for name in ("class_scores_", "significance_", "bandwidths_", "gap_"):
        here, there = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(here, there, rtol=0, atol=tolerance * np.abs(there).max(), err_msg=name)


@rotating(1, form=[np.asarray, np.asfortranarray, np.float32, sp.csr_matrix, sp.csc_array], graph=["dense", "knn"])
def test_products_give_the_fit_in_memory(graph, form):
    table = form(X)
    found, whole = streamed(blocks(table), graph=graph), DiSC(graph=graph, **HOW).fit(table, Y)
    assert_same(found, whole)
    assert (found.algorithm_, found.n_passes_) == ("sums", 1)
    assert (whole.algorithm_, whole.n_passes_) == ("whole", 0)
    assert (found.graph_, found.n_features_in_) == (graph, P)
    np.testing.assert_array_equal(found.classes_, ["a", "b", "c"])


def test_copies_have_equal_scores():
    """Products of columns that are copies have the same sums, so both are among the nearest of a feature or none."""
    counts = RNG.poisson(2.0, size=(N, P)).astype(float)
    for table in (X.copy(), counts):
        table[:, 40:50] = table[:, :10]
        found = streamed(blocks(table), graph="knn")
        assert found.algorithm_ == "sums"
        np.testing.assert_allclose(found.scores_[40:50], found.scores_[:10], rtol=0, atol=1e-9 * found.scores_.max())
        assert_same(found, DiSC(graph="knn", **HOW).fit(table, Y))


def test_products_give_the_oracle():
    graphs = [oracle.affinity(X[c == Y], k=5) for c in "abc"]
    found = streamed(blocks(sp.csr_matrix(X)), graph="dense")
    expected = oracle.disc(graphs, d=3)
    for s in range(3):
        np.testing.assert_allclose(found.significance_[s], expected.sigma[s][:5], rtol=0, atol=PROMISED)


SOURCES = {
    "dask": lambda folder: da.from_array(X, chunks=(900, 50)),
    "npy": lambda folder: (np.save(folder / "X.npy", X), folder / "X.npy")[1],
    "h5ad": lambda folder: (anndata.AnnData(sp.csr_matrix(X)).write_h5ad(folder / "X.h5ad"), folder / "X.h5ad")[1],
    "zarr": lambda folder: (anndata.AnnData(sp.csr_matrix(X)).write_zarr(folder / "X.zarr"), folder / "X.zarr")[1],
    "iterator": lambda folder: iter(blocks()()),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources(tmp_path, name):
    assert_same(streamed(SOURCES[name](tmp_path)), DiSC(**HOW).fit(X, Y))
    small = streamed(SOURCES[name](tmp_path), max_memory="100M")
    assert (small.algorithm_, small.n_passes_) == ("whole", 0)


# ------------------------------------------------------------------------------------------------------------ the core


def stream(table, groups=GROUPS, n_groups=3, **options):
    given = {"graph": "knn", "bandwidth_neighbors": 5, "n_neighbors": 8, "seed": 3} | options
    return load_core().DiscStream(groups, n_groups, table.shape[1], given, Run(1))


def read_pass(state, table, lengths, n_threads=1):
    """A pass, each of whose blocks goes to a copy of its own, merged from the last to the first."""
    ends = np.cumsum(lengths)
    parts = [copy.copy(state) for _ in lengths]
    for part, n, end in zip(parts, lengths, ends, strict=True):
        if n:
            part.update(table[end - n : end], int(end - n), Run(n_threads))
    for part in reversed(parts):
        state.merge(part)


def read(state, table, lengths, n_threads=1):
    for _ in range(state.n_passes):
        read_pass(state, table, lengths, n_threads)
        state.next(Run(n_threads))
    return state


def fit(state, groups=(0, 1, 2), n_threads=1):
    sets = [{"stream": state, "group": g, "n_components": 3, "kernel": 0} for g in groups]
    given = {"graph": "knn", "bandwidth_neighbors": 5, "n_neighbors": 8, "n_vectors": 5, "n_differential": 2}
    return load_core().disc(sets, given, Run(n_threads))


def assert_equal_fits(found, expected, tolerance=0.0):
    for here, there in zip(found, expected, strict=True):
        for name in ("significance", "bandwidths", "scores"):
            size = np.abs(there[name]).max()
            np.testing.assert_allclose(here[name], there[name], rtol=0, atol=tolerance * size, err_msg=name)


# 5010 features, which need a sketch: modules of 15 features, of which those of the first hundred features differ.
WIDE, ROWS = 5010, 700
LOADINGS = np.repeat(np.eye(WIDE // 15), 15, axis=1)
SOME = (1, 2)  # the group with the second sketch, and the one without: what mistakes the sketches shows in the second


def wide(seed=0, density=0.1):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [340, 340, 20])[rng.permutation(ROWS)]
    factors = rng.normal(size=(ROWS, WIDE // 15))
    table = 1.5 * factors @ LOADINGS + rng.normal(size=(ROWS, WIDE)) + rng.normal(size=WIDE)
    table[labels == 1, :90] = rng.normal(size=((labels == 1).sum(), 90))
    table[np.abs(table) < np.quantile(np.abs(table), 1 - density)] = 0
    return table, labels.astype(np.int64)


@pytest.fixture(scope="module")
def sketched():
    """A sparse table, its groups, and the stream that has read it at once."""
    table, labels = wide(density=0.3)
    table = sp.csr_matrix(table)
    return table, labels, read(stream(table, labels), table, (ROWS,))


@pytest.fixture(scope="module")
def one_sketch(sketched):
    """Rows of the table above with their groups: one that has a sketch, and one whose rows are kept."""
    table, labels, _ = sketched
    rows = np.flatnonzero(labels != 1)
    return table[rows], labels[rows] // 2


@pytest.fixture(scope="module")
def sketched_fit(sketched):
    return fit(sketched[2], SOME)


FORMS = {"products": (X, GROUPS, LENGTHS), "sketch": (None, None, (1, 7, 292, 0, 300, 99, 1))}


@pytest.mark.parametrize("form", FORMS)
def test_partitions_orders_and_threads(form, sketched, request):
    table, groups, lengths = FORMS[form]
    some = (0, 1, 2) if form == "products" else SOME
    if table is None:
        table, groups, _ = sketched
        expected = request.getfixturevalue("sketched_fit")
    else:
        expected = fit(read(stream(table, groups), table, (table.shape[0],)))
    assert_equal_fits(fit(read(stream(table, groups), table, (table.shape[0],), 3), some, 3), expected)
    # Other blocks are rounded differently, which small gaps between eigenvalues enlarge.
    assert_equal_fits(fit(read(stream(table, groups), table, lengths), some), expected, PROMISED)


def test_means(sketched):
    table, labels, state = sketched
    expected = np.array([table[labels == g].toarray().mean(axis=0) for g in range(3)])
    np.testing.assert_allclose(state.means, expected, rtol=1e-12, atol=1e-14)


def graph_of(found):
    """The nearest features of each, and those that it is among the nearest of."""
    n = len(found["scores"])
    return sp.csr_matrix(found["graph_entries"], shape=(n, n))


def squared_distances(columns, some):
    """Compute those of some columns from all; infinite from one to itself."""
    norms = np.einsum("ij,ij->j", columns, columns)
    D2 = norms[some, None] + norms - 2 * (columns[:, some].T @ columns)
    D2[np.arange(len(some)), some] = np.inf
    return D2


def assert_fifth_nearest(bandwidths, D2):
    """They are distances to the fifth of the nearest that were found."""
    ratio = bandwidths / np.sqrt(np.partition(D2, 4, axis=1)[:, 4])
    assert np.isclose(ratio, 1, rtol=0, atol=1e-9).mean() > 0.99
    assert ratio.min() > 1 - 1e-9


def test_candidates_hold_the_nearest(sketched):
    """Neighbours of the oracle, from all differences, against those among the candidates, whose distances are exact."""
    table, labels, state = sketched
    assert state.n_passes == 2
    found = fit(state, SOME)[0]
    some = np.arange(0, WIDE, 3)
    D2 = squared_distances(table[labels == 1].toarray(), some)
    nearest = np.argpartition(D2, 8, axis=1)[:, :8]
    hit = graph_of(found)[some[:, None], nearest] > 0
    assert hit.mean() > 0.99
    assert_fifth_nearest(found["bandwidths"][some], D2)


SHARED_ROWS = """
import sys
import numpy as np
import scipy.sparse as sp
from fastfs._machine.run import Run, load_core

table, groups = sp.load_npz(sys.argv[1]), np.load(sys.argv[2])
options = {"graph": "knn", "bandwidth_neighbors": 5, "n_neighbors": 8, "n_vectors": 1, "n_differential": 1}
for dtype in ("float32", "float64"):
    stream = load_core().DiscStream(groups, 2, table.shape[1], options | {"seed": 3}, Run(1))
    for _ in range(2):
        stream.update(table.astype(dtype), 0, Run(2))
        stream.next(Run(2))
    sets = [{"stream": stream, "group": g, "n_components": 1, "kernel": 0} for g in range(2)]
    np.save(f"{sys.argv[3]}.{dtype}.npy", [found["bandwidths"] for found in load_core().disc(sets, options, Run(1))])
"""


def test_each_instruction_set_multiplies_rows(tmp_path, isas, python):
    """Groups of more rows than have room for a bit in a cache line, and of less."""
    rng = np.random.default_rng(6)
    groups = np.repeat([0, 1], [600, 280])[rng.permutation(880)].astype(np.int64)
    table = rng.normal(size=(880, WIDE // 15)).repeat(15, axis=1) + rng.normal(size=(880, WIDE))
    table[rng.random(table.shape) > rng.choice([0.02, 0.2, 0.9], WIDE)] = 0
    table = sp.csr_matrix(table.astype(np.float32))
    some = np.arange(0, WIDE, 9)
    distances = [np.sqrt(squared_distances(table[groups == g].toarray().astype(float), some)) for g in (0, 1)]
    sp.save_npz(tmp_path / "table.npz", table)
    np.save(tmp_path / "groups.npy", groups)
    for isa in isas:
        place = tmp_path / isa
        finished = python(SHARED_ROWS, tmp_path / "table.npz", tmp_path / "groups.npy", place, FASTFS_ISA=isa)
        assert finished.returncode == 0, finished.stderr
        single, double = (np.load(tmp_path / f"{isa}.{dtype}.npy") for dtype in ("float32", "float64"))
        np.testing.assert_array_equal(single, double)
        for g in (0, 1):
            # Sketches miss neighbours here, where features differ in density: but what is found is a distance.
            found = double[g][some, None]
            assert np.all(np.abs(distances[g] - found).min(axis=1) <= 1e-9 * found[:, 0])
            assert np.mean(distances[g] < 0.999 * found) < 0.01


def test_equal_columns_with_any_number_of_threads(one_sketch):
    """More columns are as far from each other than there are candidates, which are 120."""
    table, labels = one_sketch
    table = table.toarray()
    table[:, :900:3] = 0
    table[:, 1:1200:6] = table[:, 7:8]
    table = sp.csr_matrix(table)
    one, three = (fit(read(stream(table, labels, 2), table, (len(labels),), n), (0, 1)) for n in (1, 3))
    assert_equal_fits(one, three)
    for here, there in zip(one, three, strict=True):
        np.testing.assert_array_equal(graph_of(here).indices, graph_of(there).indices)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.slow  # what the tests around it show apart
@pytest.mark.parametrize("name", ["npy", "h5ad"])
def test_all_as_candidates_give_the_fit_in_memory(tmp_path, name, monkeypatch):
    """Four times the neighbours are candidates, which are all features here."""
    monkeypatch.setattr("fastfs._inputs.source.Source.measure", lambda self, *_: (False, self))
    table, labels = wide()
    path = tmp_path / f"X.{name}"
    if name == "npy":
        np.save(path, table)
    else:
        table = sp.csr_matrix(table)
        anndata.AnnData(table).write_h5ad(path)
    how = HOW | {"graph": "knn", "bandwidth_neighbors": 1255}
    found = DiSC(**how).fit(path, labels)
    assert (found.algorithm_, found.n_passes_) == ("sketch", 2)
    assert_same(found, DiSC(**how).fit(table, labels))


def test_dense_sketches_are_those_of_sparse_ones(sketched, sketched_fit):
    table, labels, _ = sketched
    dense = read(stream(table, labels), table.toarray(), (ROWS,))
    assert_equal_fits(fit(dense, SOME), sketched_fit, PROMISED)


def test_small_groups_are_kept(sketched):
    """No group has more than 256 rows, so that one pass serves."""
    table, labels, _ = sketched
    few = np.sort(np.concatenate([np.flatnonzero(labels == g)[:200] for g in (0, 1)]))
    state = read(stream(table, labels[few], 2), table[few], (400,))
    assert state.n_passes == 1
    sets = [{"X": table[few][labels[few] == g], "n_components": 3, "kernel": 0} for g in (0, 1)]
    given = {"graph": "knn", "bandwidth_neighbors": 5, "n_neighbors": 8, "n_vectors": 5, "n_differential": 2}
    assert_equal_fits(fit(state, (0, 1)), load_core().disc(sets, given, Run(1)), PROMISED)


def test_genotypes_of_small_groups_are_decoded():
    """They are kept as numbers."""
    rng = np.random.default_rng(5)
    n = 40
    calls = rng.binomial(2, 0.3, (n, WIDE)).astype(np.int8)
    genotypes = fastfs.io.pack_genotypes(calls)
    groups = (np.arange(n) % 2).astype(np.int64)
    found = read(stream(calls, groups, 2), genotypes, (n,))
    expected = read(stream(calls, groups, 2), calls.astype(float), (n,))
    assert_equal_fits(fit(found, (0, 1)), fit(expected, (0, 1)), PROMISED)


def test_small_groups_have_one_form(sketched):
    table = sketched[0]
    groups = np.repeat([0, 1], [600, 100]).astype(np.int64)
    state = stream(table, groups, 2)
    other = copy.copy(state)
    state.update(table[600:650], 600, Run(1))
    with pytest.raises(ValueError, match="all blocks of X with rows of small groups must have one dtype"):
        state.update(table[650:].toarray(), 650, Run(1))
    state = copy.copy(other)
    state.update(table[600:650], 600, Run(1))
    other.update(table[650:].astype(np.float32), 650, Run(1))
    with pytest.raises(ValueError, match="must have one dtype, and be sparse if one is"):
        state.merge(other)


# ------------------------------------------------------------------------------------------------------ other processes


def carried(state):
    return pickle.loads(pickle.dumps(state))


@pytest.mark.parametrize("form", FORMS)
def test_shares_travel_as_bytes(form, one_sketch):
    """Each block goes to a process of its own, which sends back bytes: the bits of merging."""
    table, groups, lengths = FORMS[form]
    if table is None:
        table, groups = one_sketch
        lengths = (1, 199, len(groups) - 200)  # a copy of the second pass computes its candidates anew
    n_groups, ends = groups.max() + 1, np.cumsum(lengths)
    state, merged = stream(table, groups, n_groups), stream(table, groups, n_groups)
    for _ in range(state.n_passes):
        start = carried(state)
        parts = [carried(state) for _ in lengths]
        for part, n, end in zip(parts, lengths, ends, strict=True):
            if n:
                part.update(table[end - n : end], int(end - n), Run(1))
        for part in reversed(parts):
            share = carried(start)
            share.load(part.save())
            state.merge(share)
        read_pass(merged, table, lengths)
        found = state.save()
        assert found == merged.save()
        state.next(Run(1), found)
        merged.next(Run(1))
    if form == "products":
        assert_equal_fits(fit(state), fit(merged))


def test_damaged_bytes(sketched):
    table, labels, _ = sketched
    state = stream(table, labels)
    state.update(table, 0, Run(1))
    found = state.save()
    other = stream(table, labels)
    for broken in (found[:-1], found + b"\0"):
        with pytest.raises(ValueError, match="n_bytes must be"):
            other.load(broken)
    with pytest.raises(ValueError, match="got damaged ones"):
        other.load(found[:200] + b"\xff" * 8 + found[208:])
    with pytest.raises(ValueError, match="got one with other arguments"):
        stream(table, labels, seed=4).load(found)
    other.load(found)
    assert other.save() == found
    other.next(Run(1))
    with pytest.raises(ValueError, match="a stream in pass 2, as this one; got one in pass 1"):
        other.load(found)


def test_dask_gives_the_bits_of_any_scheduler(one_sketch):
    table, labels = one_sketch
    lazy = da.from_array(table.toarray(), chunks=(80, WIDE)).map_blocks(sp.csr_matrix)
    found = []
    for scheduler, n in (("synchronous", 1), ("threads", 3)):
        with dask.config.set(scheduler=scheduler, num_workers=n), warnings.catch_warnings():
            warnings.simplefilter("ignore", fastfs.DataWarning)
            model = DiSC(graph="knn", max_memory="150M", **HOW)
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("fastfs._inputs.source.Source.measure", lambda self, *_: (False, self))
                found.append(model.fit(lazy, labels))
    assert (found[0].algorithm_, found[0].n_passes_) == ("sketch", 2)
    for other in found[1:]:
        np.testing.assert_array_equal(other.scores_, found[0].scores_)


def test_dask_blocks_that_change(sketched):
    table, labels, _ = sketched
    table, calls = table.toarray(), []

    def other(block):
        calls.append(1)
        return block + 1 if len(calls) > 5 else block

    lazy = da.from_array(table, chunks=(150, WIDE)).map_blocks(other, meta=np.empty((0, 0)))
    model = DiSC(graph="knn", max_memory="150M", **HOW)
    with dask.config.set(scheduler="synchronous"), pytest.MonkeyPatch.context() as patched:
        patched.setattr("fastfs._inputs.source.Source.measure", lambda self, *_: (False, self))
        with pytest.raises(ValueError, match="X changed between pass 1 and pass 2: its 700 rows hold other values"):
            model.fit(lazy, labels)
    assert not hasattr(model, "scores_")


# ------------------------------------------------------------------------------------------------------------ fastfs.tl


def test_groups_of_a_file(tmp_path):
    cells = anndata.AnnData(sp.csr_matrix(X), obs={"state": Y})
    cells.obs_names, cells.var_names = [str(i) for i in range(N)], [f"g{j}" for j in range(P)]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    for more in ({}, {"reference": "c"}, {"mask_var": np.arange(P) < 50}, {"groups": ["a", "b"]}):
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastfs.DataWarning)
            fastfs.tl.disc(backed, "state", max_memory=BUDGET, **HOW, **more)
            fastfs.tl.disc(cells, "state", **HOW, **more)
        for name in ("scores", "logfoldchanges"):
            here, there = (np.array(a.uns["disc"][name].tolist(), dtype=float) for a in (backed, cells))
            np.testing.assert_allclose(here, there, rtol=1e-5, atol=1e-7)
        backed.file.close()


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_the_command_line(tmp_path):
    cells = anndata.AnnData(sp.csr_matrix(X), obs={"state": Y})
    cells.write_h5ad(tmp_path / "cells.h5ad")
    call = ["score", str(tmp_path / "cells.h5ad"), "--label", "state", "--method", "disc"]
    for more in (
        ["--out", str(tmp_path / "whole.csv")],
        ["--out", str(tmp_path / "stored.csv"), "--max-memory", BUDGET],
    ):
        assert fastfs.cli.run([*call, *more]) == 0
    whole, stored = (pd.read_csv(tmp_path / name) for name in ("whole.csv", "stored.csv"))
    assert whole["feature"].tolist() == stored["feature"].tolist()
    np.testing.assert_allclose(stored["score"], whole["score"], rtol=0, atol=PROMISED * whole["score"].max())


# -------------------------------------------------------------------------------------------------------- what is wrong


def test_two_passes_need_a_function():
    table, labels = wide()
    with pytest.raises(TypeError, match=r"DiSC reads X twice, but an iterator .*give a function"):
        streamed(iter([table]), labels, "100M")  # of 28 MB


def test_nan_is_named_by_its_row():
    broken = X.copy()
    broken[1234, 7] = np.nan
    with pytest.raises(ValueError, match=r"row 1234.*column 7"):
        streamed(blocks(broken))


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_a_source_that_changes():
    table, labels = wide()
    calls = []

    def changing():
        calls.append(1)
        rows = table if len(calls) < 3 else table[::-1]
        return iter([rows[:300], rows[300:]])

    model = DiSC(max_memory="106M", **HOW)
    with pytest.raises(ValueError, match="X changed between pass 1 and pass 2"):
        model.fit(changing, labels)
    assert not hasattr(model, "scores_")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"graph": "lists"}, "graph must be 'knn' or 'dense' for rows in blocks"),
        ({"scaling": "standard"}, "scaling must be None for rows in blocks"),
        ({"n_components": (1, 2)}, "n_components must be one for all or 3"),
        ({"n_groups": 61}, "n_groups must lie between 1 and the 60 features"),
    ],
)
def test_what_blocks_cannot_have(options, message):
    with pytest.raises(ValueError, match=message):
        streamed(blocks(), **options)


def test_dense_graphs_of_many_features_are_refused():
    table, labels = wide()
    with pytest.raises(
        ValueError, match=r"at most 5000 features for graph='dense' and rows in blocks; got .*choose graph='knn'"
    ):
        streamed(blocks(table, (ROWS,)), labels, "100M", graph="dense")


def test_fewer_features_than_neighbors():
    with pytest.warns(fastfs.DataWarning, match="bandwidth_neighbors=70 exceeds the 59 other features"):
        found = streamed(blocks(), graph="dense", bandwidth_neighbors=70)
    with pytest.warns(fastfs.DataWarning, match="bandwidth_neighbors=70"):
        assert_same(found, DiSC(graph="dense", **HOW | {"bandwidth_neighbors": 70}).fit(X, Y))


def test_other_numbers_of_labels():
    with pytest.raises(ValueError, match=r"X must have 2999 rows; got a block of \d+ that begins with row \d+$"):
        streamed(blocks(), Y[:-1])
    with pytest.raises(ValueError, match=r"each pass must have all 3001 rows; got 3000 in pass 1, without row 3000"):
        streamed(blocks(), np.append(Y, "a"))


def test_states_of_the_core():
    state = stream(X)
    with pytest.raises(ValueError, match="each pass must have all 3000 rows; got 0 in pass 1, without row 0"):
        state.next(Run(1))
    with pytest.raises(ValueError, match="made with the arguments of stream"):
        state.merge(stream(X, seed=4))
    with pytest.raises(ValueError, match="the stream of set 0 must be finished; got one in pass 1 of 1"):
        fit(state)
    read(state, X, (N,))
    with pytest.raises(ValueError, match="the stream must not have come to its end"):
        state.next(Run(1))
    with pytest.raises(MemoryError, match="what DiSC keeps of 3 groups with 60 features"):
        load_core().DiscStream(GROUPS, 3, P, {"graph": "knn"}, Run(1, 1 << 16))


class Stop(Exception):
    pass


def test_a_pass_that_was_canceled_can_be_ended_again(sketched):
    table, labels, _ = sketched
    state = stream(table, labels)
    state.update(table, 0, Run(1))
    found, expected = state.save(), copy.copy(state)
    expected.next(Run(1))
    calls, last = 0, 1

    def progress(step, share):
        nonlocal calls
        calls += 1
        if calls == last:
            raise Stop

    while True:
        calls = 0
        try:
            state.next(Run(1, progress=progress))
            break
        except Stop:
            assert state.save() == found
        last *= 2
    assert last > 1
    assert state.save() == expected.save()


def test_lost_digits_are_told():
    close = X.copy()
    close[:, 1] = close[:, 0] * (1 + 1e-9)
    with pytest.warns(fastfs.DataWarning, match="leave hardly a digit of their distance"):
        streamed(blocks(sp.csr_matrix(close + 0)))
