"""RELIEF and ReliefF of rows that come in blocks: the oracle, memory, partitions, groups, and what goes wrong."""

import copy
import pickle

import anndata
import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import fastfs
import fastfs.tl
from covering import covering, rotating
from fastfs import _core
from fastfs._machine.run import Run
from reference import relief as oracle

N = 400
RNG = np.random.default_rng(3)
LABELS = RNG.choice(3, size=N, p=[0.5, 0.3, 0.2])
X = np.where(RNG.random((N, 14)) < 0.5, RNG.normal(size=(N, 14)), 0)
X[:, 3] += LABELS == 1
X[:, 5] *= LABELS == 2
X[:, 7] = 0
X[:, 9] = 1 + RNG.random(N)  # no zeros
COUNTS = RNG.poisson(0.4, size=(N, 14)).astype(float)  # many ties
LENGTHS = (1, 7, 0, 92, 100, 3, 197)
METHODS = {"relieff": fastfs.ReliefF, "relief": fastfs.Relief}


def blocks(table, lengths=LENGTHS):
    """A function that returns a new iterator of blocks of rows."""
    ends = np.cumsum(lengths)
    return lambda: (table[end - n : end] for n, end in zip(lengths, ends, strict=True))


def fitted(method, table, **options):
    return METHODS[method](**options).fit(table, LABELS)


def assert_same(found, expected):
    for name in ("scores_", "scores_se_"):
        here, there = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-12 * np.abs(there).max())


@pytest.mark.parametrize("method", METHODS)
def test_all_targets_are_the_oracle(method):
    found = fitted(method, blocks(X), n_targets=N)
    expected = oracle.relieff(X, LABELS, 10, "range") if method == "relieff" else oracle.relief(X, LABELS, "range")
    np.testing.assert_allclose(found.scores_, expected, rtol=0, atol=1e-12)
    assert (found.algorithm_, found.n_passes_) == ("targets", 2)
    assert not found.scores_se_.any()


@covering(
    method=METHODS.keys(),
    table={"numbers": X, "counts": COUNTS},
    dtype=["float64", "float32"],
    scaling=["range", "standard", None],
)
def test_blocks_are_memory(method, table, dtype, scaling):
    given = {"scaling": scaling, "n_targets": 170, "random_state": 5}
    table = table.astype(dtype)
    in_memory = fitted(method, table, **given)
    assert not hasattr(in_memory, "n_passes_")
    assert_same(fitted(method, blocks(table), **given), in_memory)


@covering(
    scaling=["range", None],
    make={"dense": np.asarray, "CSR": sp.csr_matrix, "CSC": sp.csc_matrix},
    table={"numbers": X, "counts": COUNTS},
    lengths={"one": (N,), "seven": LENGTHS, "rows": (1,) * N},
)
def test_partitions_and_containers(scaling, make, table, lengths):
    """Ties of counts go to the lowest row, in whatever block it is."""
    given = {"scaling": scaling, "n_targets": 120}
    expected = fitted("relieff", table, **given)
    assert_same(fitted("relieff", blocks(make(table), lengths), **given), expected)


def test_closed_form_and_priors():
    given = {"n_targets": 90}
    options = {"closed_form": True} | given
    assert_same(fitted("relief", blocks(X), **options), fitted("relief", X, **options))
    options = {"priors": {0: 0.1, 1: 0.2, 2: 0.7}, "n_neighbors": 100} | given
    with pytest.warns(fastfs.DataWarning, match="n_neighbors = 100") as said:
        found = fitted("relieff", blocks(X), **options)
    with pytest.warns(fastfs.DataWarning, match="n_neighbors = 100") as said_in_memory:
        assert_same(found, fitted("relieff", X, **options))
    assert [str(w.message) for w in said] == [str(w.message) for w in said_in_memory]


def test_rare_classes_have_targets():
    """50 of the 40 of class 2 that there are: all of them. So its part of the scores has no error."""
    y = np.where(np.arange(N) < 40, "rare", "common")
    state = [fastfs.ReliefF(n_targets=100, random_state=seed).fit(X, y) for seed in range(40)]
    expected = fastfs.ReliefF().fit(X, y).scores_
    spread = np.std([model.scores_ for model in state], axis=0, ddof=1)
    said = np.mean([model.scores_se_ for model in state], axis=0)
    varies = expected != 0
    assert 0.75 < np.median(said[varies] / spread[varies]) < 1.3
    far = np.abs(np.mean([model.scores_ for model in state], axis=0) - expected)[varies] / (said[varies] / np.sqrt(40))
    assert far.max() < 4.5


SOURCES = {
    "dask": lambda folder: da.from_array(X, chunks=(90, 5)),
    "npy": lambda folder: (np.save(folder / "X.npy", X), folder / "X.npy")[1],
    "h5ad": lambda folder: (anndata.AnnData(sp.csr_matrix(X)).write_h5ad(folder / "X.h5ad"), folder / "X.h5ad")[1],
    "zarr": lambda folder: (anndata.AnnData(sp.csr_matrix(X)).write_zarr(folder / "X.zarr"), folder / "X.zarr")[1],
}


@pytest.mark.parametrize("name", SOURCES)
def test_files_and_dask(tmp_path, name, monkeypatch):
    monkeypatch.setattr("fastfs._functions.relief_family._fits_in_memory", lambda *_: False)
    given = SOURCES[name](tmp_path)
    found = fitted("relieff", given, n_targets=100)
    assert found.n_passes_ == 2
    assert_same(found, fitted("relieff", sp.csr_matrix(X) if name in ("h5ad", "zarr") else X, n_targets=100))
    np.testing.assert_array_equal(fastfs.relieff_scores(given, LABELS, n_targets=100), found.scores_)


@rotating(1, form=["dense", "CSR"], method=METHODS.keys())
def test_dask_gives_the_bits_of_local_blocks(method, form, monkeypatch):
    """However many workers there are: shares are merged in the order of their blocks."""
    monkeypatch.setattr("fastfs._functions.relief_family._fits_in_memory", lambda *_: False)
    make = sp.csr_matrix if form == "CSR" else np.asarray
    chunks = da.from_array(COUNTS, chunks=(LENGTHS[:2] + LENGTHS[3:], 14)).map_blocks(make)
    given = {"n_targets": 120, "random_state": 1}
    expected = fitted(method, blocks(make(COUNTS)), **given)
    for n in (1, 3):
        with dask.config.set(scheduler="threads", num_workers=n):
            found = fitted(method, chunks, **given)
        np.testing.assert_array_equal(found.scores_, expected.scores_)
        np.testing.assert_array_equal(found.scores_se_, expected.scores_se_)
        assert (found.n_features_in_, found.n_passes_, found.algorithm_) == (14, 2, "targets")


def test_dask_blocks_that_change(monkeypatch):
    monkeypatch.setattr("fastfs._functions.relief_family._fits_in_memory", lambda *_: False)
    calls = []

    def changing(block):
        calls.append(1)
        return block + (len(calls) == 7)  # in the second pass of four blocks each

    chunks = da.from_array(X, chunks=(100, 14)).map_blocks(changing, meta=np.empty((0, 0)))
    model = fastfs.ReliefF(n_targets=50)
    with pytest.raises(ValueError, match="X changed between pass 1 and pass 2: its 400 rows hold other values"):
        model.fit(chunks, LABELS)
    assert not [name for name in vars(model) if name.endswith("_")]
    broken = X.copy()
    broken[234, 5] = np.nan
    with pytest.raises(ValueError, match="row 234, column 5"):
        model.fit(da.from_array(broken, chunks=(90, 5)), LABELS)


def test_what_fits_is_loaded(tmp_path):
    table = np.tile(X, 25)  # 1.12 MB
    np.save(tmp_path / "X.npy", table)
    anndata.AnnData(table).write_h5ad(tmp_path / "X.h5ad")
    assert fitted("relieff", tmp_path / "X.npy", n_targets=100).algorithm_ == "blocks"
    small = fitted("relieff", tmp_path / "X.npy", n_targets=20, max_memory="4M")
    assert (small.algorithm_, small.n_passes_) == ("targets", 2)
    with pytest.raises(MemoryError, match=r"quarter of the memory budget.*or give n_targets=2000, which reads blocks$"):
        fitted("relieff", tmp_path / "X.h5ad", max_memory="4M")
    with pytest.raises(MemoryError, match=r"or give n_rows=2000, which draws a sample$"):
        fastfs.MultiSURF(max_memory="4M").fit(tmp_path / "X.h5ad", LABELS)


# ----------------------------------------------------------------------------------------------------------- the core


def stream(labels=LABELS, n_targets=100, **options):
    given = {"method": "relieff", "n_targets": n_targets, "target": "class"} | options
    return _core.ReliefStream(labels, int(labels.max()) + 1, X.shape[1], "range", given, Run(1))


def test_states_are_merged_in_any_order():
    whole = stream()
    whole.update(X, 0, Run(1))
    whole.next(Run(1))
    whole.update(X, 0, Run(1))
    expected = whole.finish(np.empty(0, np.int64), Run(1))
    ends = np.cumsum(LENGTHS)
    parts = [(begin, end) for begin, end in zip(ends - LENGTHS, ends, strict=True) if begin < end]
    for order in (range(6), reversed(range(6)), [3, 0, 2, 5, 1, 4]):
        order = list(order)
        state = stream()
        for number in (1, 2):
            shares = [copy.copy(state) for _ in parts]
            for share, (begin, end) in zip(shares, parts, strict=True):
                share.update(X[begin:end], begin, Run(1))
            state = shares[order[0]]
            for place in order[1:]:
                state.merge(shares[place])
            if number == 1:
                state.next(Run(1))
        found = state.finish(np.empty(0, np.int64), Run(1))
        np.testing.assert_array_equal(found["scores"], expected["scores"])
        np.testing.assert_array_equal(found["scores_se"], expected["scores_se"])


def halves(state):
    """Two copies, which have seen a half of the rows each."""
    found = copy.copy(state), copy.copy(state)
    for half, (begin, end) in zip(found, ((0, 130), (130, N)), strict=True):
        half.update(X[begin:end], begin, Run(1))
    return found


def test_states_travel_as_bytes():
    """To another process, which makes a stream with the same arguments: a half is restored there, and merged."""
    state, none = stream(), np.empty(0, np.int64)
    expected, here = [], state
    for _ in range(2):
        a, b = halves(here)
        a.merge(b)
        here = a
        expected.append(here.save())
        if len(expected) == 1:
            here.next(Run(1))
    for number in range(2):
        a, b = (pickle.loads(pickle.dumps(half)) for half in halves(state))
        state = pickle.loads(pickle.dumps(state))
        other = copy.copy(state)
        state.load(b.save())
        other.load(a.save())
        state.merge(other)
        assert state.save() == expected[number]
        if number == 0:
            state.next(Run(1))
    np.testing.assert_array_equal(state.finish(none, Run(1))["scores"], here.finish(none, Run(1))["scores"])


def test_bytes_of_other_streams_are_refused():
    a, b = halves(stream())
    for other in (stream(n_targets=99), stream(seed=1), stream(n_neighbors=3), stream(LABELS[::-1].copy() % 2)):
        with pytest.raises(ValueError, match="the arguments of this one; got one with other arguments"):
            other.load(a.save())
    single = stream()
    single.update(X[:100].astype(np.float32), 0, Run(1))
    with pytest.raises(ValueError, match="dtype of the first"):
        single.merge(b)
    twice = copy.copy(b)
    with pytest.raises(ValueError, match="each row must come once in a pass; got row 130 again"):
        twice.update(X[:130], 130, Run(1))
    with pytest.raises(ValueError, match="each row must come once in a pass; got row 130 again"):
        twice.merge(b)
    with pytest.raises(ValueError, match="must have read no rows in this pass; got 270 rows"):
        twice.load(b.save())
    with pytest.raises(ValueError, match="each pass must have all 400 rows; got 270 in pass 1, without row 0"):
        twice.next(Run(1))
    second = stream()
    second.update(X, 0, Run(1))
    second.next(Run(1))
    with pytest.raises(ValueError, match="a stream in pass 2, as this one; got one in pass 1"):
        second.load(a.save())
    start_of_second = copy.copy(second)
    second.update(X[:200], 0, Run(1))
    for state in (a, second):
        found = state.save()
        fresh = stream() if state is a else start_of_second
        for n in (0, 7, 8, 100, len(found) // 2, len(found) - 1):
            with pytest.raises(ValueError, match="n_bytes must be"):
                fresh.load(found[:n])
        with pytest.raises(ValueError, match="n_bytes must be"):
            fresh.load(found + bytes(8))
    rng = np.random.default_rng(0)
    for _ in range(300):  # no damage may reach memory of others
        broken = bytearray(second.save())
        place = int(rng.integers(len(broken)))
        broken[place : place + 8] = rng.bytes(8)
        fresh = copy.copy(start_of_second)
        try:
            fresh.load(bytes(broken))
        except ValueError:
            continue
        fresh.save()


def test_the_core_says_what_is_wrong():
    state, run, none = stream(), Run(1), np.empty(0, np.int64)
    with pytest.raises(ValueError, match=r"^each pass must have all 400 rows; got 0 in pass 1, without row 0"):
        state.next(run)
    with pytest.raises(ValueError, match=r"^the stream must be in its last pass; got pass 1 of 2"):
        state.finish(none, run)
    with pytest.raises(ValueError, match=r"14 columns; got 13$"):
        state.update(X[:, 1:], 0, run)
    with pytest.raises(ValueError, match=r"^X must have 400 rows; got a block of 400 that begins with row 1$"):
        state.update(X, 1, run)
    with pytest.raises(ValueError, match="dense or CSR"):
        state.update(sp.csc_matrix(X), 0, run)
    with pytest.raises(ValueError, match="must not be merged with itself"):
        state.merge(state)
    with pytest.raises(ValueError, match="made with the arguments of stream"):
        state.merge(stream(seed=1))
    state.update(X[:100], 0, run)
    with pytest.raises(ValueError, match="dtype of the first"):
        state.update(X[100:].astype(np.float32), 100, run)
    state.update(X[100:], 100, run)
    state.next(run)
    with pytest.raises(
        ValueError,
        match="the stream must have passes to come; got one in its last pass, which fastfs_relief_stream_finish ends",
    ):
        state.next(run)
    with pytest.raises(ValueError, match="got 0 in pass 2"):
        state.finish(none, run)
    with pytest.raises(ValueError, match="n_targets must be from 1 to the 400"):
        stream(n_targets=401)
    with pytest.raises(ValueError, match="FASTFS_RELIEF or FASTFS_RELIEFF"):
        stream(method="surf")


# ------------------------------------------------------------------------------------------------ all groups at once


@pytest.mark.filterwarnings("ignore:logfoldchanges:fastfs.DataWarning")
@rotating(1, form=["h5ad", "Dask"], method=METHODS.keys())
def test_one_pass_serves_each_group_against_the_rest(tmp_path, method, form, monkeypatch):
    """With all cells as targets, the fits of two groups in memory give the same."""
    obs = {"state": LABELS.astype(str)}
    adata = anndata.AnnData(X.copy(), obs=obs)
    given = {"n_targets": N}
    call = getattr(fastfs.tl, method)
    expected = call(adata, "state", copy=True, **given)
    if form == "Dask":
        backed = anndata.AnnData(da.from_array(X, chunks=(90, 5)), obs=obs)
    else:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    monkeypatch.setattr("fastfs._functions.relief_family._fits_in_memory", lambda *_: False)
    monkeypatch.setattr("fastfs.tl._adata.CellMatrix.estimator_input", None)  # nothing is loaded
    call(backed, "state", **given)
    for group in "012":
        for column in ("scores", "logfoldchanges"):
            found, there = (one.uns[method][column][group] for one in (backed, expected))
            np.testing.assert_allclose(found, there, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(backed.uns[method]["names"][group], expected.uns[method]["names"][group])
    np.testing.assert_allclose(backed.var[f"{method}_scores"], expected.var[f"{method}_scores"], atol=1e-12)
    if form == "h5ad":
        backed.file.close()


# ----------------------------------------------------------------------------------------------------- what goes wrong


class Broken(Exception):
    pass


def test_what_fails_leaves_no_fit():
    calls = []

    def breaks():
        calls.append(1)
        yield X[:100]
        if len(calls) == 2:
            raise Broken
        yield X[100:]

    def changes():
        calls.append(1)
        table = X.copy()
        table[399, 5] += len(calls)
        return blocks(table)()

    def shrinks():
        calls.append(1)
        return iter([X[:100], X[100 : 401 - len(calls)]])

    model = fastfs.ReliefF(n_targets=50)
    for source, error, message in (
        (breaks, Broken, None),
        (changes, ValueError, "X changed between pass 1 and pass 2"),
        (shrinks, ValueError, r"X changed between pass 1 \(400 rows\) and pass 2 \(399\)"),
        (
            iter([X]),
            TypeError,
            "^ReliefF reads X twice, but an iterator can be read once: give a function that returns a new one$",
        ),
    ):
        calls.clear()
        with pytest.raises(error, match=message):
            model.fit(source, LABELS)
        assert not [name for name in vars(model) if name.endswith("_")]


def test_errors_count_all_rows():
    broken = X.copy()
    broken[234, 5] = np.nan
    with pytest.raises(ValueError, match="row 234, column 5"):
        fastfs.ReliefF(n_targets=50).fit(blocks(broken), LABELS)


def test_what_blocks_do_not_take():
    model = fastfs.ReliefF(n_targets=50)
    for options, message in (
        ({"missing": "ignore"}, "missing must be left out"),
        ({"ramp": "sd"}, "ramp must be left out"),
        ({"categorical_features": [1]}, "categorical_features must be left out"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**options).fit(blocks(X), LABELS)
    with pytest.raises(ValueError, match="sample_weight and distances"):
        model.fit(blocks(X), LABELS, sample_weight=np.ones(N))
    with pytest.raises(ValueError, match="must hold classes"):
        model.fit(blocks(X), X[:, 0])
    with pytest.raises(ValueError, match="labels of all rows"):
        model.fit(blocks(X), iter([LABELS]))
    with pytest.raises(ValueError, match="X must be dense for RELIEF and for scaling by variance"):
        fastfs.ReliefF(n_targets=50, scaling="standard").fit(blocks(sp.csr_matrix(X)), LABELS)


# ------------------------------------------------------------------------------------------------------------- n_rows


@rotating(
    1, method=[fastfs.SURF, fastfs.MultiSURF, fastfs.SWRF], lengths={"one": (N,), "seven": LENGTHS, "rows": (1,) * N}
)
def test_samples_of_rows(method, lengths):
    """The sample doesn't depend on the blocks, and its fit is that of an array of these rows."""
    expected = method(n_rows=60).fit(X, LABELS)
    found = method(n_rows=60).fit(blocks(X, lengths), LABELS)
    np.testing.assert_array_equal(found.scores_, expected.scores_)
    by_dask = method(n_rows=60).fit(da.from_array(X, chunks=(tuple(n for n in lengths if n), 14)), LABELS)
    np.testing.assert_array_equal(by_dask.scores_, expected.scores_)
    once = method(n_rows=60).fit(blocks(X, lengths)(), LABELS)  # an iterator is read once
    np.testing.assert_array_equal(once.scores_, expected.scores_)
    assert np.abs(method(n_rows=60, random_state=2).fit(X, LABELS).scores_ - expected.scores_).max() > 1e-3
    np.testing.assert_array_equal(method(n_rows=N).fit(X, LABELS).scores_, method().fit(X, LABELS).scores_)


def test_every_row_may_be_drawn():
    """Each of 20 rows is in a quarter of 400 samples: 100, of which the standard deviation is 8.7."""
    from fastfs._inputs.streams import draw_rows

    table = np.arange(20.0)[:, None]
    drawn = [draw_rows(table, 5, seed, Run(1)) for seed in range(400)]
    for some, rows, n in drawn:
        np.testing.assert_array_equal(some[:, 0], rows)
        assert n == 20
    counts = np.bincount(np.concatenate([rows for _, rows, _ in drawn]), minlength=20)
    assert counts.sum() == 2000
    assert counts.min() > 60
    assert counts.max() < 140


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "CSR"])
def test_workers_choose_rows(make, monkeypatch):
    """Of a Dask array no others reach the process that fits, and blocks without any aren't even computed."""
    from fastfs._inputs.streams import draw_rows

    computed = []

    def watched(block, block_info=None):
        computed.append(block_info[0]["chunk-location"][0])
        return make(block)

    expected, rows, _ = draw_rows(X, 30, 1, Run(1))
    chunks = da.from_array(X, chunks=(10, 14)).map_blocks(watched, meta=make(np.empty((0, 0))))
    monkeypatch.setattr("fastfs._inputs.source.Source.blocks", None)
    found, numbers, n = draw_rows(chunks, 30, 1, Run(1))
    np.testing.assert_array_equal(found.toarray() if make is sp.csr_matrix else found, expected)
    np.testing.assert_array_equal(numbers, rows)
    assert n == N
    assert sorted(computed) == sorted(set((rows // 10).tolist()))
    with pytest.raises(MemoryError, match=r"a Dask array that needs .* bytes.* of memory"):
        draw_rows(chunks, 30, 1, Run(1, 8000))


def test_errors_of_samples_count_all_rows():
    broken = np.full_like(X, np.nan)
    with pytest.raises(ValueError, match=r"row (\d+), column 0") as said:
        fastfs.SURF(n_rows=10).fit(broken, LABELS)
    from fastfs._inputs.streams import draw_rows

    assert f"row {draw_rows(X, 10, 0, Run(1))[1][0]}," in str(said.value)
    with pytest.raises(ValueError, match=r"one label for each of the 400 samples"):
        fastfs.SURF(n_rows=10).fit(X, LABELS[1:])


@pytest.mark.parametrize("method", [fastfs.IM4E, fastfs.Immigrate, fastfs.IKDR])
def test_fits_of_a_sample(method):
    from fastfs._inputs.streams import draw_rows

    rows = draw_rows(X, 80, 3, Run(1))[1]
    expected = method(random_state=3).fit(X[rows], LABELS[rows])
    for table in (X, blocks(X), blocks(X)(), da.from_array(X, chunks=(90, 5))):
        found = method(n_rows=80, random_state=3).fit(table, LABELS)
        np.testing.assert_array_equal(found.scores_, expected.scores_)
    if method is fastfs.IKDR:
        np.testing.assert_array_equal(found.rows_, rows)
        with pytest.raises(ValueError, match="n_rows must be left out with kernel='precomputed'"):
            fastfs.ikdr(X @ X.T, LABELS, kernel="precomputed", n_rows=80)
    broken = X.copy()
    broken[rows[7], 2] = np.inf
    with pytest.raises(ValueError, match=f"row {rows[7]}, column 2"):
        method(n_rows=80, random_state=3).fit(broken, LABELS)


def test_fresh_anchors():
    """Weights from a tenth of the margins a step are near those of all; a single draw, kept, is farther away."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    table = rng.normal(size=(600, 30))
    table[:, :6] += y[:, None] * np.linspace(0.2, 1.2, 6)
    given = {"sigma": 4.0, "max_iter": 12, "tol": 0}
    full = fastfs.im4e_scores(table, y, **given)
    np.testing.assert_array_equal(fastfs.im4e_scores(table, y, n_anchors=600, **given), full)
    fresh = [fastfs.im4e_scores(table, y, n_anchors=60, random_state=seed, **given) for seed in range(5)]
    assert min(np.corrcoef(full, w)[0, 1] for w in fresh) > 0.9
    assert np.ptp(fresh, axis=0).max() > 1e-3
    alone = [fastfs.im4e_scores(table, y, n_rows=60, random_state=seed, **given) for seed in range(5)]
    assert np.mean([np.corrcoef(full, w)[0, 1] for w in alone]) < np.mean([np.corrcoef(full, w)[0, 1] for w in fresh])
    with pytest.raises(ValueError, match="n_anchors must be from 1 to the 600 samples"):
        fastfs.im4e_scores(table, y, n_anchors=601)
