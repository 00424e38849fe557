"""X from anywhere: every kind of source gives the rows of the array, and what goes wrong is said."""

import threading
import warnings
from functools import partial

import anndata
import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn.base import clone

import fastfs
from covering import rotating, together
from fastfs._inputs import source, streams
from fastfs._inputs.source import Source
from fastfs._inputs.streams import Passes
from fastfs._machine.run import Run

RNG = np.random.default_rng(0)
X = np.where(RNG.random((300, 12)) < 0.4, RNG.normal(size=(300, 12)), 0).astype(np.float32)
X[[0, 17, 18, 19, 299]] = 0  # rows without a stored value
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 300)]
LENGTHS = (1, 7, 0, 92, 200)


def pieces(table=X, lengths=LENGTHS):
    ends = np.cumsum(lengths)
    return [table[end - n : end] for n, end in zip(lengths, ends, strict=True)]


def h5ad(folder, make):
    path = folder / "cells.h5ad"
    anndata.AnnData(make(X)).write_h5ad(path)
    return path


def hdf5(folder, chunks):
    file = h5py.File(folder / f"{chunks}.h5", "w")
    return file.create_dataset("X", data=X, chunks=chunks)


def npy(folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def cells_zarr(folder, make):
    anndata.AnnData(make(X)).write_zarr(folder / "cells.zarr")
    return folder / "cells.zarr"


# Those that can be read by rows, each a function of a folder.
SOURCES = {
    "array": lambda _: X,
    "by columns": lambda _: np.asfortranarray(X),
    "CSR": lambda _: sp.csr_matrix(X),
    "CSR array": lambda _: sp.csr_array(X),
    "CSC": lambda _: sp.csc_matrix(X),
    "frame": lambda _: pd.DataFrame(X),
    "memory map": lambda folder: np.load(npy(folder), mmap_mode="r"),
    "npy": npy,
    "HDF5": lambda folder: hdf5(folder, None),
    "chunked HDF5": lambda folder: hdf5(folder, (64, 5)),
    "Zarr": lambda folder: zarr.array(X, store=str(folder / "X.zarr"), chunks=(64, 5)),
    "h5ad, CSR": lambda folder: h5ad(folder, sp.csr_matrix),
    "h5ad, dense": lambda folder: h5ad(folder, np.asarray),
    "backed CSR": lambda folder: anndata.read_h5ad(h5ad(folder, sp.csr_matrix), backed="r").X,
    "backed, dense": lambda folder: anndata.read_h5ad(h5ad(folder, np.asarray), backed="r").X,
    "group of a file": lambda folder: h5py.File(h5ad(folder, sp.csr_matrix), "r")["X"],
    "zarr, CSR": lambda folder: cells_zarr(folder, sp.csr_matrix),
    "zarr, dense": lambda folder: cells_zarr(folder, np.asarray),
    "Dask": lambda _: da.from_array(X, chunks=(70, 5)),
    "sparse Dask": lambda _: da.from_array(X, chunks=(70, 12)).map_blocks(sp.csr_matrix),
    "function": lambda _: lambda: iter(pieces()),
    "function of a list": lambda _: pieces,
    "function, CSR": lambda _: lambda: (sp.csr_matrix(part) for part in pieces()),
}
BY_COLUMNS = {
    "h5ad, CSC": lambda folder: h5ad(folder, sp.csc_matrix),
    "backed CSC": lambda folder: anndata.read_h5ad(h5ad(folder, sp.csc_matrix), backed="r").X,
}


def dense(block):
    return block.toarray() if hasattr(block, "tocsr") else np.asarray(block)


@rotating(1, name=SOURCES.keys(), n_bytes=[1, 900, 1 << 26])
def test_blocks_are_the_rows_in_order(tmp_path, name, n_bytes):
    found = Source.from_data(SOURCES[name](tmp_path))
    assert found.can_repeat
    assert found.shape in ((300, 12), (None, None))
    rng = np.random.default_rng(1)
    some = np.sort(rng.choice(300, 40, replace=False))
    for rows, columns in ((None, None), (some, None), (some, np.array([3, 1, 7])), (np.arange(50, 260), None)):
        blocks = list(found.blocks(rows, columns, n_bytes))
        sizes = [block.shape[0] for _, block in blocks]
        assert min(sizes) > 0
        assert [first for first, _ in blocks] == np.cumsum([0, *sizes[:-1]]).tolist()
        expected = X if rows is None else X[rows]
        whole = np.concatenate([dense(block) for _, block in blocks])
        np.testing.assert_array_equal(whole, expected if columns is None else expected[:, columns])
    order = rng.integers(0, 300, 25)
    np.testing.assert_array_equal(dense(found.take_rows(order)), X[order])


@pytest.mark.parametrize("name", SOURCES | BY_COLUMNS)
def test_every_method_takes_what_fits_a_quarter_of_the_budget(tmp_path, name):
    """ReliefF needs all cells: they are loaded, to the same bits. ProjSe reads blocks. `transform` takes the same."""
    given = (SOURCES | BY_COLUMNS)[name](tmp_path)
    is_csr = "CSR" in name or "CSC" in name or "sparse" in name or "group" in name
    expected = fastfs.relieff_scores(sp.csr_matrix(X) if is_csr else X, LABELS)
    np.testing.assert_allclose(fastfs.relieff_scores(given, LABELS), expected, rtol=1e-12)
    np.testing.assert_allclose(fastfs.ReliefF().fit(given, LABELS).scores_, expected, rtol=1e-12)
    model = fastfs.ProjSe(1, max_memory="1G").fit(given, LABELS)
    np.testing.assert_allclose(model.scores_, fastfs.ProjSe(1).fit(X, LABELS).scores_, rtol=1e-12)
    assert model.n_features_in_ == 12
    kept = fastfs.ReliefF(3).fit(X, LABELS)
    np.testing.assert_array_equal(dense(kept.transform(given)), X[:, kept.get_support()])


@together
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_in_blocks_keep_their_names(kind):
    names = [f"gene{j}" for j in range(12)]
    frames = {
        "pandas": lambda part: pd.DataFrame(part, columns=names),
        "polars": lambda part: pytest.importorskip("polars").DataFrame(part, schema=names),
        "pyarrow": lambda part: pytest.importorskip("pyarrow").table(dict(zip(names, part.T, strict=True))),
    }
    model = fastfs.ReliefF(3).fit(lambda: [frames[kind](part) for part in pieces()], LABELS)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.scores_, fastfs.relieff_scores(X, LABELS))
    selected = model.transform(lambda: [frames[kind](part) for part in pieces()])
    assert isinstance(selected, np.ndarray)
    np.testing.assert_array_equal(selected, X[:, model.get_support()])


@pytest.mark.parametrize("name", ["npy", "function", "h5ad, CSR"])
def test_subsamples_of_what_fit_takes(tmp_path, name):
    model = fastfs.ReliefF(3)
    found = fastfs.stability(model, SOURCES[name](tmp_path), LABELS, n_subsamples=4)
    np.testing.assert_array_equal(found.frequencies, fastfs.stability(model, X, LABELS, n_subsamples=4).frequencies)


def test_transform_refuses_other_columns(tmp_path):
    model = fastfs.ReliefF(3).fit(X, LABELS)
    np.save(tmp_path / "few.npy", X[:, :9])
    with pytest.raises(ValueError, match="X has 9 features, but ReliefF is expecting 12"):
        model.transform(tmp_path / "few.npy")
    for given in (partial(pieces, X[:, :9]), iter([sp.csr_matrix(X[:, :9])]), da.from_array(X[:, :9])):
        with pytest.raises(ValueError, match="X must have the 12 features of the fit; got fewer columns"):
            model.transform(given)


@pytest.mark.parametrize("name", ["chunked HDF5", "backed CSR", "Dask", "function"])
def test_more_than_a_quarter_is_refused(tmp_path, name):
    with pytest.raises(MemoryError, match=r"quarter of the memory budget of 16000 bytes.*which reads blocks"):
        fastfs.relieff_scores(SOURCES[name](tmp_path), LABELS, max_memory=16_000)


@pytest.mark.parametrize("name", ["Dask", "sparse Dask", "chunked HDF5"])
def test_methods_that_need_all_rows(tmp_path, name):
    """They load what fits, and say what to do about the rest; DiSC reads blocks, which take less, but not nothing."""
    given = SOURCES[name](tmp_path)
    held = sp.csr_matrix(X) if "sparse" in name else X
    sample = "more than a quarter of the memory budget of 16000 bytes:.*give n_rows=5000, which draws a sample"
    for model, message in (
        (fastfs.DiSC(n_components=3, n_differential=1, bandwidth_neighbors=3), "16000 bytes.*raise max_memory"),
        (fastfs.IM4E(max_iter=2), sample),
        (fastfs.Immigrate(max_iter=2), sample),
        (fastfs.IKDR(max_iter=2), sample),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = (clone(model).fit(table, LABELS).scores_ for table in (given, held))
        np.testing.assert_array_equal(found, expected)
        with pytest.raises(MemoryError, match=message):
            model.set_params(max_memory=16_000).fit(given, LABELS)


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_rows_of_a_file_by_columns_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"stored by rows.*by columns \(CSC\).*fastfs convert"):
        fastfs.ProjSe(1, max_memory=16_000).fit(BY_COLUMNS[name](tmp_path), LABELS)


def test_a_bed_file(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (30, 8))
    packed = fastfs.io.pack_genotypes(table)
    (tmp_path / "toy.bed").write_bytes(b"\x6c\x1b\x01" + packed.bits.tobytes())
    (tmp_path / "toy.bim").write_text("".join(f"1 rs{j} 0 {j} A G\n" for j in range(8)))
    (tmp_path / "toy.fam").write_text("".join(f"f{i} s{i} 0 0 0 1\n" for i in range(30)))
    blocks = [block for _, block in Source.from_data(tmp_path / "toy.bed").blocks(n_bytes=20)]
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), table)


def test_rows_far_apart_are_read_in_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_GAP_BYTES", 100)
    found = Source.from_data(hdf5(tmp_path, (64, 5)))
    read, asked = found.read, []
    found.read = lambda begin, end: (asked.append((begin, end)), read(begin, end))[1]
    rows = np.array([3, 4, 6, 150, 299])
    np.testing.assert_array_equal(found.take_rows(rows), X[rows])
    assert asked == [(3, 7), (150, 151), (299, 300)]


# -------------------------------------------------------------------------------------------------------------- passes


def collect(passes, number=1):
    """All rows that the passes read, the last time."""
    for _ in range(number):
        blocks = []
        passes.run_pass(lambda first, block, _, blocks=blocks: blocks.append(dense(block)))
    return np.concatenate(blocks)


def test_passes_report_what_is_done():
    said = []
    passes = Passes(sp.csr_matrix(X), Run(1, 1 << 24, lambda *step: said.append(step)), "It", 2)
    passes._block_bytes = 4000
    np.testing.assert_array_equal(collect(passes, 2), X)
    assert {step for step, _ in said} == {"pass 1 of 2", "pass 2 of 2"}
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(0.9)
    assert len(shares) > 4


def test_an_iterator_is_read_once():
    message = r"^ReliefF reads X twice, but an iterator can be read once: give a function that returns a new one$"
    with pytest.raises(TypeError, match=message):
        Passes(iter(pieces()), Run(1), "ReliefF", 2)
    np.testing.assert_array_equal(collect(Passes(iter(pieces()), Run(1))), X)
    np.testing.assert_array_equal(collect(Passes(pieces, Run(1), "ReliefF", 2), 2), X)


class Broken(Exception):
    pass


def broken():
    yield X[:100]
    raise Broken


def changed(row):
    other = X.copy()
    other[row, 5] += 1
    return pieces(other)


@pytest.mark.parametrize(
    "second, error, message",
    [
        (lambda: pieces()[:-1], ValueError, r"pass 1 \(300 rows\) and pass 2 \(100\)"),
        (lambda: [*pieces(), X[:1]], ValueError, r"pass 1 \(300 rows\) and pass 2 \(301 or more\)"),
        (lambda: changed(0), ValueError, "pass 1 and pass 2: its 300 rows hold other values"),
        (lambda: changed(299), ValueError, "pass 1 and pass 2: its 300 rows hold other values"),
        (lambda: [X[:100], X[100:, :9]], ValueError, "must have 12 columns; got 9 in the block from row 100"),
        (lambda: [], ValueError, "X must .* rows; got none"),
        (broken, Broken, None),
    ],
)
def test_a_source_that_differs_in_the_second_pass(second, error, message):
    passes_of_it = iter([pieces, second])
    passes = Passes(lambda: iter(next(passes_of_it)()), Run(1), "It", 2)
    collect(passes)
    with pytest.raises(error, match=message):
        collect(passes)


def test_a_file_that_shrinks_before_it_is_read(tmp_path):
    with h5py.File(tmp_path / "X.h5", "w") as file:
        dataset = file.create_dataset("X", data=X, chunks=(64, 12), maxshape=(None, 12))
        passes = Passes(dataset, Run(1), "It", 2)
        dataset.resize(200, axis=0)
        with pytest.raises(
            ValueError, match=r"^X changed between 300 rows and pass 1 \(200\): each pass must read the same rows"
        ):
            collect(passes)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_value_that_is_not_finite_is_named_by_its_row_in_the_file(tmp_path, form):
    bad = X.copy()
    bad[[250, 260], [7, 3]] = np.nan
    anndata.AnnData(form(bad)).write_h5ad(tmp_path / "bad.h5ad")
    for given in (
        tmp_path / "bad.h5ad",
        lambda: (form(part) for part in pieces(bad)),
        iter([form(part) for part in pieces(bad, (200, 100))]),
        da.from_array(bad, chunks=(70, 12)).map_blocks(form),
    ):
        model = fastfs.ProjSe(1, max_memory=1 << 24)
        with pytest.raises(
            ValueError, match=r"^X must be finite; got NaN or infinity first at row 2[56]0, column [37]: "
        ):
            model.fit(given, LABELS)
        assert not hasattr(model, "scores_")


@pytest.mark.parametrize("model", [fastfs.ProjSe(1, max_memory="16M"), fastfs.DiSC(1, max_memory="32M")])
def test_a_row_far_down_a_file_is_named(tmp_path, model):
    table = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (750_000, 4))
    table[734_512, 2] = np.nan
    table.flush()
    with pytest.raises(ValueError, match="first at row 734512, column 2: "):
        model.fit(tmp_path / "X.npy", np.arange(750_000) % 2)
    assert not hasattr(model, "scores_")


def test_words_are_named_with_their_block():
    words = pieces(X.astype(object))
    words[4][3, 2] = "high"
    with pytest.raises(ValueError, match=r"^in the block of X from row 100: X must hold .* column 2 .*'high'"):
        fastfs.ProjSe().fit(iter(words), LABELS)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda folder: folder / "nothing.h5ad", FileNotFoundError, "there is no file"),
        (lambda folder: str(folder), ValueError, "must end in .h5ad, .zarr, .npy or .bed"),
        (lambda _: lambda: iter([]), ValueError, "X must .* rows; got none"),
        (
            lambda _: lambda: None,
            TypeError,
            "X as a function must return an iterator of blocks of rows; got NoneType",
        ),
        (lambda _: lambda: X, TypeError, "must return an iterator of blocks of rows; got ndarray"),
        (lambda _: da.from_array(X)[da.from_array(X)[:, 0] > 0], ValueError, "compute_chunk_sizes"),
    ],
)
def test_no_source(tmp_path, make, error, message):
    for method in (fastfs.ProjSe(1), fastfs.ReliefF()):
        with pytest.raises(error, match=message):
            method.fit(make(tmp_path), LABELS)


@pytest.mark.parametrize("ending", [".npy", ".h5ad", ".zarr"])
def test_a_file_that_is_none_of_its_kind_is_named(tmp_path, ending):
    path = tmp_path / f"junk{ending}"
    if ending == ".zarr":
        path.mkdir()
    else:
        path.write_bytes(b"junk")
    with pytest.raises(ValueError, match=f"X is a path, but '.*junk{ending}' can't be read as {ending}: "):
        fastfs.ReliefF().fit(path, LABELS)


def test_a_damaged_file(tmp_path):
    with h5py.File(h5ad(tmp_path, sp.csr_matrix), "r+") as file:
        file["X/indptr"][5] = 10**6
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        fastfs.ProjSe().fit(tmp_path / "cells.h5ad", LABELS)


def n_readers():
    return sum(thread.name == "fastfs-reader" for thread in threading.enumerate())


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt])
def test_the_thread_that_reads_ahead_ends_with_the_pass(tmp_path, error):
    passes = Passes(hdf5(tmp_path, (64, 5)), Run(1))
    passes._block_bytes = 1000
    seen = []

    def update(first, block, run):
        seen.append((first, n_readers()))
        if first > 100:
            raise error

    with pytest.raises(error):
        passes.run_pass(update)
    assert seen[0][1] == 1  # it reads beside
    assert n_readers() == 0
    np.testing.assert_array_equal(collect(Passes(hdf5(tmp_path, None), Run(1))), X)


def test_small_budgets_have_small_blocks(tmp_path):
    """16 blocks fit into the budget: those that are read ahead, and copies."""
    big = Passes(X, Run(1, "4G"))
    small = Passes(X, Run(1, 32 << 20))
    assert (big._block_bytes, small._block_bytes) == (streams.BLOCK_BYTES, 2 << 20)


def test_a_target_on_disk_is_cut_along(tmp_path):
    numbers = X[:, :3] + np.ones(3)
    with h5py.File(tmp_path / "both.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=(64, 12))
        file.create_dataset("Y", data=numbers, chunks=(50, 3))
        file.create_dataset("short", data=numbers[:-1])
        for given in (file["Y"], numbers, lambda: iter(pieces(numbers))):
            table = pieces if callable(given) else file["X"]
            found = fastfs.projse_scores(table, given, center=True)
            np.testing.assert_allclose(found, fastfs.projse_scores(X, numbers, center=True), rtol=1e-12, atol=1e-15)
        with pytest.raises(ValueError, match="300 and 299"):
            fastfs.projse(file["X"], file["short"])


@pytest.mark.parametrize("lengths", [(300,), (1,) * 20 + (280,), (13, 0, 100, 27, 60, 55, 45), (0, 299, 1, 0)])
def test_scores_agree_over_partitions(lengths):
    for make in (np.asarray, sp.csr_matrix):
        found = fastfs.ProjSe(2).fit(partial(map, make, pieces(lengths=lengths)), LABELS)
        np.testing.assert_allclose(found.scores_, fastfs.ProjSe(2).fit(X, LABELS).scores_, rtol=1e-12)
