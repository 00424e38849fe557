"""ProjSe on rows that come in pieces: the same as all at once, within 1e-12."""

import copy
import pickle
import signal
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn.base import clone

import fastfs
from covering import rotating, together
from fastfs import ProjSe
from fastfs._inputs import streams
from fastfs._machine.run import Run, load_core

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(500, 4)) + 5
X = RNG.normal(size=(500, 20)) + 100
X[:, :10] += Y @ RNG.normal(size=(4, 10))
LABELS = np.array(["ill", "other", "well"])[RNG.integers(0, 3, 500)]
WHOLE = fastfs.projse(X, Y, center=True)
BY_LABELS = fastfs.projse(X, LABELS, center=True)


def assert_same(found, expected=WHOLE):
    scores, selected = (getattr(found, f"{n}_", getattr(found, n, None)) for n in ("scores", "selected"))
    np.testing.assert_allclose(scores, expected.scores, rtol=1e-12)
    assert selected.tolist() == expected.selected.tolist()


def pieces(*arrays, lengths=(1, 7, 0, 192, 300)):
    """Chunks of uneven lengths, an empty one among them."""
    ends = np.cumsum(lengths)
    chunks = [tuple(A[end - n : end] for A in arrays) for n, end in zip(lengths, ends, strict=True)]
    return chunks if len(arrays) > 1 else [c for (c,) in chunks]


# -------------------------------------------------------------------------------------------------------------- chunks


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
def test_labels_alone_are_centered_by_default():
    by_labels = ProjSe().partial_fit(X[:100], LABELS[:100], classes=BY_CLASSES)
    by_labels = pickle.loads(pickle.dumps(by_labels)).partial_fit(X[100:], LABELS[100:])
    of_pieces = ProjSe().fit(iter(pieces(X)), LABELS)
    of_blocks = ProjSe().fit(da.from_array(X, chunks=(100, -1)), LABELS)
    for model in (by_labels, of_pieces, of_blocks):
        assert_same(model, BY_LABELS)
        assert model.center_ is True
    for center in (False, True, "auto"):  # several choices from the same sums
        again = pickle.loads(pickle.dumps(by_labels))
        for name in ProjSe._RESULTS:
            vars(again).pop(name)
        again.set_params(center=center)
        assert_same(again, fastfs.projse(X, LABELS, center=center))
        assert again.center_ is (center is not False)
    for model in (ProjSe().partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:]), ProjSe().partial_fit(X)):
        assert model.center_ is False
    assert_same(ProjSe().fit(iter(pieces(X)), iter(pieces(Y))), fastfs.projse(X, Y, center=False))


@rotating(1, form=[np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix], target=["numbers", "labels"])
def test_partial_fit(form, target):
    model = ProjSe(center=True)
    for chunk, y, labels in pieces(X, Y, LABELS):
        if len(y) == 0:
            continue
        if target == "labels":
            model.partial_fit(form(chunk), labels, classes=["well", "ill", "other"])
        else:
            model.partial_fit(form(chunk), y)
    # Sparse rows can't be moved to their first one: sums are about zero, (100 / 1)^2 times larger.
    expected = WHOLE if target == "numbers" else BY_LABELS
    tolerance = 1e-12 if form in (np.asarray, np.asfortranarray) else 1e-10
    np.testing.assert_allclose(model.scores_, expected.scores, rtol=tolerance)
    assert model.selected_.tolist() == expected.selected.tolist()
    assert model.n_features_in_ == 20
    if target == "labels":
        assert model.classes_.tolist() == ["ill", "other", "well"]


@rotating(1, kernel=["poly", "rbf"], center=[False, True])
def test_any_kernel_from_the_same_sums(kernel, center):
    near = X - 95
    model = ProjSe(kernel=kernel, center=center)
    for chunk, y in pieces(near, Y):
        if len(y):
            model.partial_fit(chunk, y)
    assert_same(model, fastfs.projse(near, Y, kernel=kernel, center=center))


@pytest.mark.parametrize("targets", ["array", "iterator"])
def test_iterators(targets):
    def given(chunks):
        return iter(chunks) if targets == "iterator" else np.concatenate(chunks)

    assert_same(fastfs.projse(iter(pieces(X)), given(pieces(Y)), center=True))
    model = ProjSe(center=True).fit(iter(pieces(X)), given(pieces(Y)))
    assert_same(model)
    assert model.n_features_in_ == 20
    of_x, of_y = fastfs.projse_two_view(iter(pieces(X)), given(pieces(Y)), center=True)
    assert_same(of_x)
    assert_same(of_y, fastfs.projse(Y, X, center=True))


def test_iterators_with_labels():
    assert_same(ProjSe(center=True).fit(iter(pieces(X)), LABELS), BY_LABELS)
    model = ProjSe(center=True)
    for part in (slice(200), slice(200, 500)):
        chunks = iter([X[part][:50], X[part][50:]])
        labels = iter([LABELS[part][:50], LABELS[part][50:]])
        model.partial_fit(chunks, labels, classes=BY_CLASSES)
    assert_same(model, BY_LABELS)


BY_CLASSES = np.unique(LABELS)


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
def test_without_target():
    expected = fastfs.projse(X, center=True)
    assert_same(fastfs.projse(iter(pieces(X)), center=True), expected)
    model = ProjSe(center=True)
    for chunk in pieces(X):
        if len(chunk):
            model.partial_fit(chunk)
    assert_same(model, expected)


def test_numbers_in_chunks_that_could_be_labels():
    whole = np.arange(500.0) % 7
    expected = fastfs.projse(X, whole[:, None], center=True)
    assert_same(fastfs.projse(iter(pieces(X)), iter(pieces(whole[:, None])), center=True), expected)
    assert_same(ProjSe(center=True).partial_fit(X, whole), expected)
    with pytest.warns(fastfs.DataWarning, match="taken as numbers.*give classes"):
        ProjSe().partial_fit(X, whole.astype(int))


def numbers(sums):
    """The saved state without its header: the rows in all and with labels, statistics of columns, and products."""
    return np.frombuffer(sums.save()[48:])


def test_saved_sums_are_all_written():
    """Of the symmetric ones a triangle is summed; the other one was what happened to lie in memory."""
    sums = load_core().ProjseStream(4, 20, "two", Run())
    assert len(numbers(sums)) == 3 + 3 * 24  # without rows there are no products
    sums.update(X[:123], Y[:123], None, Run(1))
    products = numbers(sums)[3 + 3 * 24 :]
    yy, xx = products[:16].reshape(4, 4), products[-400:].reshape(20, 20)
    for matrix, values in ((yy, Y[:123]), (xx, X[:123])):
        np.testing.assert_allclose(matrix, np.cov(values.T, bias=True) * 123, rtol=1e-9, atol=1e-9)


@rotating(1, view=["X", "Y"], size=[1e160, 1.7e308])
def test_a_chunk_out_of_range_changes_no_sums(view, size):
    """Columns that are constant in each chunk: only the distance between the chunks overflows."""
    sums, other = (load_core().ProjseStream(4, 20, "two", Run()) for _ in range(2))
    sums.update(X[:250], Y[:250], None, Run(1))
    before = numbers(sums)
    far_X, far_Y = X[250:].copy(), Y[250:].copy()
    (far_X if view == "X" else far_Y)[:, 2] = size
    other.update(far_X, far_Y, None, Run(1))
    for add in (lambda: sums.update(far_X, far_Y, None, Run(1)), lambda: sums.merge(other)):
        with pytest.raises(ValueError, match=rf"^the squares of column 2 of {view} overflow"):
            add()
        np.testing.assert_array_equal(numbers(sums), before)
    assert np.isfinite(before).all()
    sums.update(X[250:], Y[250:], None, Run(1))
    assert sums.n_rows == 500


def test_merged_sums_and_pickles():
    a, b = (load_core().ProjseStream(4, 20, "one", Run()) for _ in range(2))
    a.update(X[:123], Y[:123], None, Run(1))
    b.update(X[123:], Y[123:], None, Run(1))
    a = pickle.loads(pickle.dumps(a))
    empty = pickle.loads(pickle.dumps(load_core().ProjseStream(4, 20, "one", Run())))
    empty.merge(a)
    empty.merge(load_core().ProjseStream(4, 20, "one", Run()))
    empty.merge(b)
    assert (empty.n_rows, empty.n_y, empty.n_cols) == (500, 4, 20)
    model = pickle.loads(pickle.dumps(ProjSe(center=True).partial_fit(X[:300], Y[:300])))
    assert_same(model.partial_fit(X[300:], Y[300:]))
    assert not hasattr(clone(model), "scores_")
    for other in (load_core().ProjseStream(3, 20, "one", Run()), load_core().ProjseStream(4, 20, "two", Run())):
        with pytest.raises(ValueError, match="to be merged; got"):
            a.merge(other)
    with pytest.raises(ValueError, match="must not be merged with itself"):
        a.merge(a)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_sums_of_groups_serve_any_comparison(form):
    groups = np.unique(LABELS, return_inverse=True)[1]
    sums = load_core().ProjseStream(4, 20, "groups", Run())  # of the last one there are no rows
    sums.update(form(X - 99), None, groups, Run(1))
    for classes in ([0, 1, 2, -1], [0, 1, 1, 0], [-1, 1, 0, 0]):
        labels = np.array(classes)[groups]
        whole = load_core().ProjseStream(max(classes) + 1, 20, "one", Run())
        whole.update(X[labels >= 0] - 99, None, labels[labels >= 0], Run(1))
        options = {"n_select": 1, "center": "auto"}
        found, expected = sums.finish(options, Run(), np.array(classes)), whole.finish(options, Run())
        np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-11)
        assert found["rank"] == expected["rank"]
    means = [X[groups == g].mean(axis=0) - 99 for g in range(3)]
    np.testing.assert_allclose(sums.means, [*means, np.zeros(20)], rtol=1e-12)


def backwards(rows):
    """CSR whose columns descend in each row."""
    table = sp.csr_matrix(rows)
    for begin, end in zip(table.indptr, table.indptr[1:], strict=False):
        table.data[begin:end] = table.data[begin:end][::-1].copy()
        table.indices[begin:end] = table.indices[begin:end][::-1].copy()
    return table


FORMS = {
    "dense": np.asarray,
    "by columns": np.asfortranarray,
    "float32": lambda rows: rows.astype(np.float32),
    "CSR": sp.csr_matrix,
    "CSR without order": backwards,
}


@rotating(1, form=FORMS.keys(), threads=[1, 3])
def test_groups_in_one_reading(form, threads):
    rng = np.random.default_rng(0)
    table = np.float32(rng.normal(size=(5000, 20)) * (rng.random((5000, 20)) < 0.4) + (form[:3] != "CSR") * 50.0)
    table = table.astype(float)
    groups = rng.integers(0, 4, 5000)
    groups[groups == 2] = 3  # one without rows
    sums = load_core().ProjseStream(4, 20, "groups", Run())
    for begin, end in ((0, 4999), (4999, 5000)):
        sums.update(FORMS[form](table[begin:end]), None, groups[begin:end], Run(threads))
    assert sums.counts.tolist() == np.bincount(groups).tolist()
    saved = numbers(sums)
    for group in range(4):
        rows = table[groups == group]
        size = 3 + 3 * 21 + 21 * bool(len(rows))
        if len(rows):
            np.testing.assert_allclose(sums.means[group], rows.mean(axis=0), rtol=1e-13)
            squares = ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
            np.testing.assert_allclose(saved[3 + 3 + 20 : 3 + 3 + 40], squares, rtol=1e-10)
        saved = saved[size:]
    assert len(saved) == 0


def test_groups_that_fail_leave_all_as_they_were():
    sums = load_core().ProjseStream(2, 20, "groups", Run())
    sums.update(X[:70], None, (np.arange(70) >= 50).astype(np.int64), Run(1))
    before = sums.save()
    rows = np.ones((6, 20))
    rows[4, 7] = np.nan
    groups = np.array([0, 0, 0, 1, 1, 1])
    for data in (rows, sp.csr_matrix(rows)):
        with pytest.raises(ValueError, match="NaN") as caught:
            sums.update(data, None, groups, Run(1))
        assert "7" in str(caught.value)
    good = np.ones((6, 20))
    for data, labels, message in (
        (good[:, :3], groups, "must have 20 columns; got 3"),
        (good, groups + 1, r"must be from 0 to 1; got 2 for row 3"),
        (sp.csc_matrix(good), groups, "CSR"),
    ):
        with pytest.raises(ValueError, match=message):
            sums.update(data, None, labels, Run(1))
    far, other = np.full((1, 20), 1e160), load_core().ProjseStream(2, 20, "groups", Run())
    other.update(np.r_[good[:3], far], None, np.array([0, 0, 0, 1]), Run(1))
    with pytest.raises(ValueError, match="overflow"):  # in the second group, after the first one
        sums.merge(other)
    assert sums.save() == before


@pytest.mark.parametrize("n_classes", [1, 3])
def test_rows_of_csr_need_no_order(n_classes):
    """Rows with ascending columns are summed as they stand; others, and repeated columns, after sorting: the same."""
    rng = np.random.default_rng(0)
    table = sp.random(400, 50, 0.2, format="csr", random_state=0)
    labels = rng.integers(0, n_classes, 400)
    halves = sp.csr_matrix((np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), 2 * table.indptr), table.shape)
    found = []
    for rows in (table, backwards(table), halves, table.tocsc()):
        for threads in (1, 3):
            sums = load_core().ProjseStream(n_classes, 50, "one", Run())
            sums.update(rows, None, labels, Run(threads))
            found.append(numbers(sums))
    assert all(np.array_equal(found[0], one) for one in found[1:])
    dense = load_core().ProjseStream(n_classes, 50, "one", Run())
    dense.update(table.toarray(), None, labels, Run(1))
    n = n_classes
    products = slice(2 + 3 * n + 150 + n * n, None)
    np.testing.assert_allclose(found[0][products], numbers(dense)[products], rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
@pytest.mark.parametrize("with_y", [True, False])
def test_copies_of_chunks_do_not_add_up(with_y):
    """Each chunk is copied as floats and given back: a hundred of them need the budget of one."""
    whole = np.random.default_rng(0).integers(99, size=(100, 40, 20))
    ys = iter(whole[:, :, 3:5].astype(float)) if with_y else None
    model = ProjSe(1, center=True, max_memory=60_000, n_jobs=1)  # a copy takes 6400
    assert model.fit(iter(whole), ys).n_selected_ == 1


def test_results_of_an_earlier_fit_do_not_linger():
    model = ProjSe(center=True).partial_fit(X[:100], LABELS[:100], classes=BY_CLASSES)
    before = model.scores_
    assert not np.array_equal(model.partial_fit(X[100:], LABELS[100:]).scores_, before)
    model.fit(X, Y)
    assert not hasattr(model, "classes_")
    assert_same(model)
    assert_same(model.partial_fit(X, Y))  # a fit is no first chunk


# ------------------------------------------------------------------------------------------------------------ on disk


@pytest.mark.parametrize("chunks", [None, (64, 20), (70, 7)])
def test_hdf5(tmp_path, chunks):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=chunks)
        file.create_dataset("Y", data=Y, chunks=None)
        assert_same(fastfs.projse(file["X"], file["Y"], center=True))
        assert_same(ProjSe(center=True).fit(file["X"], LABELS), BY_LABELS)


def test_zarr(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 20_000)
    array = zarr.open_array(str(tmp_path / "X.zarr"), mode="w", shape=X.shape, chunks=(64, 20), dtype="f8")
    array[:] = X
    assert_same(fastfs.projse(array, Y, center=True))


def test_memory_map(tmp_path):
    np.save(tmp_path / "X.npy", X)
    assert_same(fastfs.projse(np.load(tmp_path / "X.npy", mmap_mode="r"), Y, center=True))


# --------------------------------------------------------------------------------------------------------------- Dask


@pytest.fixture(scope="module")
def cluster():
    """Two workers on loopback, each a process of its own."""
    from dask.distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.admin.tick.limit": "1h"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None) as c,
        Client(c) as client,
    ):
        yield client


class NeverWhole(da.Array):
    __slots__ = ()  # the layout of Dask's own, which has slots too

    def compute(self, **kwargs):
        raise AssertionError("X was computed as a whole")


def assert_dask(**options):
    blocks = da.from_array(X, chunks=(93, 7))
    blocks.__class__ = NeverWhole
    for y in (Y, da.from_array(Y, chunks=(200, 3))):
        assert_same(ProjSe(center=True, **options).fit(blocks, y))
    for y in (LABELS, da.from_array(LABELS, chunks=77)):
        model = ProjSe(center=True).fit(blocks, y)
        assert_same(model, BY_LABELS)
        assert model.classes_.tolist() == ["ill", "other", "well"]
    of_y = fastfs.projse_two_view(blocks, Y, center=True)[1]
    assert_same(of_y, fastfs.projse(Y, X, center=True))


def test_dask_in_threads():
    with dask.config.set(scheduler="threads"):
        assert_dask()


def test_dask_on_two_workers(cluster):
    assert len(cluster.scheduler_info()["workers"]) == 2
    assert_dask()
    bad = da.from_array(with_nan(400, 3), chunks=(100, 20))
    with pytest.raises(ValueError, match="row 400, column 3"):
        ProjSe().fit(bad, Y)


def test_dask_blocks_of_unknown_length():
    blocks = da.from_array(X, chunks=(100, 20))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        ProjSe().fit(blocks[blocks[:, 0] > 100], Y)
    with pytest.raises(ValueError, match="500 and 499"):
        ProjSe().fit(blocks, da.from_array(Y[:-1], chunks=100))


# ------------------------------------------------------------------------------------------------------ what goes wrong


class Broken(Exception):
    pass


def broken():
    yield X[:100]
    raise Broken


def with_nan(row, column, of=X):
    changed = of.copy()
    changed[row, column] = np.nan
    return changed


BAD_CHUNKS = {
    "NaN in X": (
        lambda: (with_nan(3, 2), Y),
        ValueError,
        "X must be finite; got NaN or infinity first at row 3, column 2",
    ),
    "NaN in Y": (
        lambda: (X, with_nan(3, 2, Y)),
        ValueError,
        "Y must be finite; got NaN or infinity first at row 3, column 2",
    ),
    "NaN in CSR": (lambda: (sp.csr_matrix(with_nan(3, 2)), Y), ValueError, "row 3, column 2"),
    "width of X": (lambda: (X[:, :19], Y), ValueError, "19"),
    "width of Y": (lambda: (X, Y[:, :3]), ValueError, "must have 4 columns; got 3"),
    "lengths": (lambda: (X, Y[:-1]), ValueError, "500 and 499"),
    "no target": (lambda: (X, None), ValueError, "every block must have Y or labels"),
    "classes": (lambda: (X, LABELS), ValueError, "chunk of labels"),
    "no rows": (lambda: (X[:0], Y[:0]), ValueError, "0"),
    "a broken source": (lambda: (broken(), Y), Broken, None),
    "a source of another width": (lambda: (iter([X[:100, :5]]), Y[:100]), ValueError, "to be merged; got"),
    "a source that changes its width": (
        lambda: (iter([X[:100], X[100:, :5]]), Y),
        ValueError,
        "must have 20 columns; got 5 in the block from row 100",
    ),
    "a source that is too short": (lambda: (iter([X[:100]]), Y), ValueError, "100 and 500"),
    "a source that is too long": (lambda: (iter([X, X]), Y), ValueError, "and more of X"),
    "targets that end before": (lambda: (iter([X, X]), iter([Y])), ValueError, "same number of chunks; got fewer of y"),
    "an empty source": (lambda: (iter([]), Y[:0]), ValueError, "must yield rows"),
}


FRAME, OTHER = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y).add_prefix("y")


@pytest.mark.parametrize(
    "chunks, targets",
    [
        ([FRAME[:100], FRAME[100:].iloc[:, ::-1]], [OTHER[:100], OTHER[100:]]),
        ([FRAME[:100], FRAME[100:]], [OTHER[:100], OTHER[100:].iloc[:, ::-1]]),
    ],
    ids=["X", "y"],
)
def test_chunks_with_their_columns_in_another_order(chunks, targets):
    for call in (fastfs.projse, ProjSe().fit):
        with pytest.raises(
            ValueError, match=r"must have the columns of the first; got .* in (chunk 1|the block from row 100)"
        ):
            call(iter(chunks), iter(targets))
    model = ProjSe(center=True).partial_fit(chunks[0], targets[0])
    with pytest.raises(ValueError, match=r"columns of the first|in the same order"):
        model.partial_fit(chunks[1], targets[1])
    assert_same(model.partial_fit(FRAME[100:], OTHER[100:]))
    assert_same(ProjSe(center=True).fit(iter([FRAME[:100], FRAME[100:]]), iter([OTHER[:100], OTHER[100:]])))


def test_a_source_after_a_chunk_has_its_columns():
    model = ProjSe(center=True).partial_fit(FRAME[:100], OTHER[:100])
    with pytest.raises(ValueError, match="columns of the first"):
        model.partial_fit(iter([FRAME[100:].iloc[:, ::-1]]), Y[100:])
    assert_same(model.partial_fit(iter([FRAME[100:]]), Y[100:]))


def bad_fits():
    nan = np.full((500, 3), np.nan)
    return {
        "an array": lambda model: model.fit(nan, Y),
        "a frame": lambda model: model.fit(pd.DataFrame(nan).add_prefix("z"), Y),
        "an iterator": lambda model: model.fit(iter([nan]), Y),
        "a Dask array": lambda model: model.fit(da.from_array(nan), Y),
        "a first chunk": lambda model: model.partial_fit(nan, Y),
        "a first source": lambda model: model.partial_fit(iter([nan]), Y),
    }


@pytest.mark.parametrize("name", bad_fits())
def test_a_refused_fit_of_another_width_changes_nothing(name):
    for model in (ProjSe(center=True), ProjSe(center=True).fit(FRAME, OTHER)):
        before = dict(vars(model))
        with pytest.raises(ValueError, match="NaN"):
            bad_fits()[name](model)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is before[key] for key in before)


@pytest.mark.parametrize(
    "call, part",
    [
        (lambda: ProjSe().partial_fit(X, LABELS), "chunk of labels.*give classes"),
        (lambda: ProjSe().fit(iter([X]), iter([LABELS])), "chunk of labels.*one array of all labels"),
        (lambda: ProjSe().partial_fit(X, None, classes=BY_CLASSES), "y must come with every chunk"),
        (lambda: ProjSe().partial_fit(X, LABELS, classes=["ill", None]), "classes has no label"),
        (
            lambda: ProjSe().partial_fit(X[:2], [7, 1], classes=[0, 1]),
            "^y must hold labels of the classes .*; got 7 for sample 0",
        ),
        (lambda: ProjSe().partial_fit(X, LABELS, classes=[]), "at least two labels"),
        (lambda: ProjSe().partial_fit(X, Y).partial_fit(X, LABELS, classes=BY_CLASSES), "classes of the first call"),
        (lambda: ProjSe().fit(iter([X]), 3), "y must be a 1-D array"),
        (lambda: ProjSe().fit(iter([X]), sp.csr_matrix(Y)), "sparse target"),
        (lambda: ProjSe().fit(da.from_array(X), iter([Y])), "y must be one array"),
        (lambda: ProjSe().fit(da.from_array(X[:0]), Y[:0]), "must have rows"),
        (lambda: ProjSe().fit(dask.dataframe.from_pandas(FRAME, npartitions=2), Y), "to_dask_array"),
    ],
)
def test_what_a_stream_cannot_take_is_said(call, part):
    with pytest.raises(ValueError, match=part):
        call()


@pytest.mark.filterwarnings("ignore:the first choice is a tie")
def test_sparse_chunks_without_a_target_and_of_two_views():
    chunks = [sp.csr_matrix(X[:100]), sp.csc_matrix(X[100:])]
    alone = ProjSe(5).partial_fit(chunks[0]).partial_fit(chunks[1])
    np.testing.assert_allclose(alone.selection_scores_, fastfs.projse(X, n_features_to_select=5).selection_scores)
    for found, whole in zip(fastfs.projse_two_view(iter(chunks), Y), fastfs.projse_two_view(X, Y), strict=True):
        assert found.selected.tolist() == whole.selected.tolist()
        np.testing.assert_allclose(found.selection_scores, whole.selection_scores, rtol=1e-11)


def test_copies_half_way():
    model = ProjSe(center=True).partial_fit(X[:250], Y[:250])
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_same(twin.partial_fit(X[250:], Y[250:]))
    assert_same(model, fastfs.projse(X[:250], Y[:250], center=True))


def test_results_of_sums_in_a_new_process(tmp_path):
    """Which has done nothing else with them, as the client of a Dask cluster."""
    (tmp_path / "model").write_bytes(pickle.dumps(ProjSe(center=True).partial_fit(X, Y)))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).selected_.tolist())"
    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == str(WHOLE.selected.tolist()), found.stderr


@together
@pytest.mark.filterwarnings("ignore:y is taken as numbers")
@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_a_refused_chunk_changes_nothing(name):
    make, error, part = BAD_CHUNKS[name]
    model = ProjSe(center=True).partial_fit(X[:250], Y[:250])
    with pytest.raises(error, match=part):
        model.partial_fit(*make())
    assert_same(model.partial_fit(X[250:], Y[250:]))


@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_a_refused_fit_changes_nothing(name):
    if name in ("classes", "no target", "width of X", "width of Y", "a source of another width"):
        pytest.skip("no fault of a fit")
    make, error, _ = BAD_CHUNKS[name]
    model = ProjSe(center=True).fit(X, Y)
    with pytest.raises(error):
        model.fit(*make())
    assert_same(model)


@pytest.mark.parametrize(
    "labels, classes, part",
    [
        (LABELS, ["ill", "well"], "'other'"),
        (np.array([None] * 500, dtype=object), ["ill", "well"], "sample 0"),
        (LABELS[:, None], BY_CLASSES, "1-D"),
        (LABELS, ["ill"], "at least two"),
    ],
)
def test_bad_labels_of_a_chunk(labels, classes, part):
    with pytest.raises(ValueError, match=part):
        ProjSe().partial_fit(X, labels, classes=classes)
    with pytest.raises(ValueError, match="classes of the first call"):
        ProjSe().partial_fit(X, LABELS, classes=BY_CLASSES).partial_fit(X, LABELS, classes=["a", "b"])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_an_interrupted_chunk_changes_nothing(interrupt):
    model = ProjSe(center=True, n_jobs=1).partial_fit(X[:250], Y[:250])
    windows = np.lib.stride_tricks.sliding_window_view(np.zeros(50_000_019), 20)  # which takes no memory
    endless = windows, windows[:, :4]
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(*endless)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_same(model.partial_fit(X[250:], Y[250:]))
