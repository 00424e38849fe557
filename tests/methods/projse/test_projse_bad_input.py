"""ProjSe: what is wrong is named in one sentence, and the estimator as scikit-learn handles it."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import fastfs
from covering import rotating, together
from fastfs import ProjSe
from sentences import assert_one_sentence
from sklearn_checks import assert_passes_checks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6))
Y = RNG.normal(size=(40, 3))
X[:, 1] += Y[:, 0]
LABELS = np.arange(40) % 3


def changed(A, row, column, value):
    A = A.copy()
    A[row, column] = value
    return A


def function(X, y, **options):
    return fastfs.projse(X, y, **options)


def estimator(X, y, **options):
    return ProjSe(**options).fit(X, y)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # the checks use tiny data
@pytest.mark.parametrize(
    "estimator", [ProjSe(), ProjSe(1, kernel="rbf", center=True), ProjSe(1, kernel="poly", eps=0.0)], ids=str
)
def test_scikit_learn_checks(estimator):
    assert_passes_checks(estimator)


BAD_DATA = {
    "NaN in X": (changed(X, 7, 2, np.nan), Y, ValueError, ["X must be finite; got NaN", "row 7, column 2"]),
    "infinity in X": (changed(X, 0, 5, np.inf), Y, ValueError, ["X must be finite", "row 0, column 5"]),
    "NaN in float32": (changed(X, 7, 2, np.nan).astype("f4"), Y.astype("f4"), ValueError, ["row 7, column 2"]),
    "NaN by column": (np.asfortranarray(changed(X, 39, 2, np.nan)), Y, ValueError, ["row 39, column 2"]),
    "NaN in CSR": (sp.csr_matrix(changed(X, 7, 2, np.nan)), Y, ValueError, ["row 7, column 2"]),
    "NaN in CSC": (sp.csc_matrix(changed(X, 7, 2, np.inf)), Y, ValueError, ["row 7, column 2"]),
    "NaN with labels": (changed(X, 7, 2, np.nan), LABELS, ValueError, ["row 7, column 2"]),
    "NaN without target": (changed(X, 7, 2, np.nan), None, ValueError, ["row 7, column 2"]),
    "NaN in few samples without target": (changed(X, 3, 2, np.nan)[:4], None, ValueError, ["row 3, column 2"]),
    "NaN in Y": (X, changed(Y, 7, 2, np.nan), ValueError, ["Y must be finite; got NaN", "row 7, column 2"]),
    "NaN in a wide Y": (
        X[:5],
        changed(RNG.normal(size=(5, 9)), 4, 8, np.nan),
        ValueError,
        ["Y must be finite", "column 8"],
    ),
    "NaN in a 1-D y": (X, changed(Y, 7, 0, np.nan)[:, 0], ValueError, ["Y must be finite; got NaN", "row 7"]),
    "overflow": (changed(X, 7, 2, 1e200), Y, ValueError, ["column 2", "X", "overflow"]),
    "underflow": (X * np.where(np.arange(6) == 2, 1e-160, 1), Y, ValueError, ["column 2", "X", "underflow"]),
    "squares of zero": (X * np.where(np.arange(6) == 2, 1e-200, 1), Y, ValueError, ["column 2", "X", "underflow"]),
    "underflow in Y": (X, 1e-200 * Y, ValueError, ["column 0", "Y", "underflow"]),
    "underflow with labels": (1e-200 * X, LABELS, ValueError, ["column 0", "X", "underflow"]),
    "underflow in CSC": (sp.csc_matrix(1e-200 * X), Y, ValueError, ["column 0", "X", "underflow"]),
    "underflow in few samples": (1e-200 * X[:4], None, ValueError, ["column 0", "X", "underflow"]),
    "underflow in sparse X": (sp.csr_matrix(1e-200 * X), None, ValueError, ["column 0", "X", "underflow"]),
    "underflow in a wide Y": (X[:2], 1e-200 * Y[:2], ValueError, ["column 0", "Y", "underflow"]),
    "a large constant": (X * 0 + 1e200, Y, ValueError, ["column 0", "X", "overflow"]),
    "a small constant": (X * 0 + 1e-200, Y, ValueError, ["column 0", "X", "underflow"]),
    "lengths": (X, Y[:-1], ValueError, ["40 and 39"]),
    "lengths of labels": (X, LABELS[:-1], ValueError, ["40", "39"]),
    "lengths of numbers": (X, Y[:-1, 0], ValueError, ["40 and 39"]),
    "a missing label": (X, np.array(["a", None] * 20, dtype=object), ValueError, ["sample 1"]),
    "one class": (X, np.zeros(40), ValueError, ["one class"]),
    "sparse Y": (X, sp.csr_matrix(Y), ValueError, ["sparse", "toarray"]),
    "3-D Y": (X, Y[None], ValueError, ["y must", "3"]),
    "complex Y": (X, Y + 1j, ValueError, ["complex"]),
    "no columns in Y": (X, Y[:, :0], ValueError, ["Y", "0"]),
    "a zero target": (X, 0 * Y, ValueError, ["Y must have a column that isn't zero; got zeros alone"]),
    "zero X": (0 * X, Y, ValueError, ["X must have a column that isn't zero; got zeros alone"]),
    "zero sparse X": (sp.csr_matrix(0 * X), Y, ValueError, ["X must have a column that isn't zero; got zeros alone"]),
    "zero X without target": (0 * X, None, ValueError, ["X must have a column that isn't zero; got zeros alone"]),
    "strings as targets": (X, Y.astype(str), ValueError, []),
    "labels in a column": (X, np.array([["a"], ["b"]] * 20), ValueError, ["y must hold numbers", "1-D"]),
    "complex numbers in a 1-D y": (X, Y[:, 0] + 1j, ValueError, ["y must be real"]),
    "infinity in a 1-D y": (X, np.where(LABELS == 1, np.inf, LABELS), ValueError, ["Y must be finite", "row 1"]),
    "masked Y": (X, np.ma.masked_greater(Y, 1), ValueError, ["y has masked values"]),
    "a number as y": (X, 3, ValueError, ["y must be a 1-D array", "int"]),
    "a dict as y": (X, {1: 2}, ValueError, ["y must be a 1-D array", "dict"]),
    "an iterator as y": (X, iter([Y]), ValueError, ["y must be one array", "got an iterator"]),
}


@together
@rotating(1, name=BAD_DATA.keys(), call=[function, estimator])
def test_bad_data(call, name):
    bad_X, bad_y, error, parts = BAD_DATA[name]
    if name == "strings as targets":
        bad_y = np.char.add(bad_y, "!")
    with pytest.raises(error) as raised:
        call(bad_X, bad_y)
    assert_one_sentence(raised, *parts)
    assert call(X, Y) is not None


@together
@rotating(
    1,
    A=[X[None], X[:, 0], X[:0], X[:, :0], X + 1j, np.char.add(X.astype(str), "!"), None, 1.0],
    call=[function, estimator],
)
def test_bad_X(call, A):
    with pytest.raises((ValueError, TypeError)):
        call(A, Y)


@rotating(1, form=[np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix], call=[function, estimator])
def test_constant_columns_when_centred(call, form):
    with pytest.raises(ValueError, match="X must have a column that varies; got constant ones alone"):
        call(form(np.full((40, 6), 0.1)), Y, center=True)
    with pytest.raises(ValueError, match="Y must have a column that varies; got constant ones alone"):
        call(form(X), np.full((40, 3), 0.1), center=True)


BAD_PARAMETERS = [
    ({"n_features_to_select": 0}, ValueError, ["n_features_to_select", "0"]),
    ({"n_features_to_select": 7}, ValueError, ["n_features_to_select", "between 1 and 6", "7"]),
    ({"n_features_to_select": "all"}, TypeError, ["n_features_to_select"]),
    ({"n_features_to_select": 1.5}, ValueError, ["n_features_to_select", "1.5"]),
    ({"n_features_to_select": True}, TypeError, ["n_features_to_select"]),
    ({"kernel": "cosine"}, ValueError, ["kernel", "'cosine'", "'poly'"]),
    ({"kernel": max}, TypeError, ["kernel", "C function"]),
    ({"kernel": "poly", "degree": 0}, ValueError, ["degree", "0"]),
    ({"degree": 1.5}, TypeError, ["degree", "1.5"]),
    ({"kernel": "rbf", "sigma": "median"}, ValueError, ["sigma", "'mean'", "'median'"]),
    *(({"kernel": "rbf", "sigma": s}, ValueError, ["sigma", "positive"]) for s in (0.0, -1.0, np.nan, np.inf)),
    ({"sigma": None}, TypeError, ["sigma", "None"]),
    ({"eps": -1e-9}, ValueError, ["eps", "-1e-09"]),
    ({"eps": np.nan}, ValueError, ["eps"]),
    ({"eps": "small"}, TypeError, ["eps", "'small'"]),
    ({"eps": 5.0}, ValueError, ["eps = 5", "lower"]),
    *(({"center": c}, ValueError, ["center must be 'auto', True or False", repr(c)]) for c in (1, "yes", None)),
    ({"normalize": "yes"}, TypeError, ["normalize", "'yes'"]),
    ({"max_memory": 1000}, MemoryError, ["is 1000 bytes"]),
    ({"max_memory": "plenty"}, ValueError, ["max_memory"]),
]


@together
@rotating(1, case=BAD_PARAMETERS, call=[function, estimator])
def test_bad_parameters(call, case):
    options, error, parts = case
    with pytest.raises(error) as raised:
        call(X, Y, **options)
    assert_one_sentence(raised, *parts)


@pytest.mark.parametrize("targets", [np.ones((40, 3)) * [[1.0]], np.repeat(Y[:, :1], 3, axis=1)])
def test_no_distances_to_take_sigma_from(targets):
    with pytest.raises(ValueError, match=r"columns of the target must differ.*give sigma"):
        fastfs.projse(X, targets, kernel="rbf")
    assert len(fastfs.projse(X, targets, kernel="rbf", sigma=3.0).selected) == 1


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # of ties and of rank 2
@pytest.mark.parametrize("sigma", ["mean", 1e154])
def test_squares_near_the_largest_number(sigma):
    """Two of them add up to more, though the distance of equal columns is 0."""
    few = X[:4].copy()
    few[:, 2] = few[:, 4] = [1.2e154, 0, 0, 0]
    result = fastfs.projse(few, n_features_to_select=2, kernel="rbf", sigma=sigma)
    assert result.selected.tolist() == [0, 2]
    assert result.captured[-1] == pytest.approx(1)


def test_sums_beyond_the_largest_number():
    few = X[:4].copy()
    few[:, 2], few[:, 4] = [1.3e154, 0, 0, 0], [-1.3e154, 0, 0, 0]
    with pytest.raises(
        ValueError, match="the distances between columns must have squares within the range of float64: scale"
    ) as raised:
        fastfs.projse(few, kernel="rbf")
    assert_one_sentence(raised)
    with pytest.raises(ValueError, match="the scores add up to more than the largest number: scale") as raised:
        fastfs.projse(few, normalize=False)
    assert_one_sentence(raised)


K_YY, K_YX, K_XX = Y.T @ Y, Y.T @ X, (X**2).sum(axis=0)


@together
@pytest.mark.parametrize(
    "kernels, part",
    [
        ((K_YY[:2], K_YX, K_XX), "(2, 3)"),
        ((K_YY, K_YX[:2], K_XX), "(2, 6)"),
        ((K_YY, K_YX, K_XX[:5]), "(5,)"),
        ((changed(K_YY, 0, 1, 99.0), K_YX, K_XX), "symmetric"),
        ((changed(K_YY, 1, 1, -1.0), K_YX, K_XX), "diagonal of K_YY"),
        ((K_YY, K_YX, -K_XX), "diagonal of K_XX"),
        ((K_YY, changed(K_YX, 1, 2, np.nan), K_XX), "for column 2 with the targets"),
        ((changed(K_YY, 0, 0, np.nan), K_YX, K_XX), "diagonal of K_YY"),
        ((0 * K_YY, K_YX, K_XX), "the diagonal of K_YY must have a positive entry"),
        ((K_YY + 1j, K_YX, K_XX), "complex"),
    ],
)
def test_bad_kernels(kernels, part):
    with pytest.raises(ValueError, match=re.escape(part)):
        fastfs.projse_from_kernels(*kernels)


def test_two_views_need_two():
    for bad_Y, part in (
        (None, "Y"),
        (LABELS[:, None] * 0.0, "zero"),
        (Y[:-1], "got 40 in X and 39 in Y"),
        (Y.astype("S1"), "Y must"),
    ):
        with pytest.raises(ValueError, match=part):
            fastfs.projse_two_view(X, bad_Y)


@pytest.mark.parametrize("n_rows", [40, 5])
def test_two_views_are_dense(n_rows):
    dense, other = X[:n_rows], Y[:n_rows]
    with pytest.raises(ValueError, match=r"X must be dense for two views: give X.toarray"):
        fastfs.projse_two_view(sp.csr_matrix(dense), other)
    with pytest.raises(ValueError, match=r"Y must be dense for two views: give Y.toarray"):
        fastfs.projse_two_view(dense, sp.csc_matrix(other))


@pytest.mark.parametrize("n_rows", [40, 5])
@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_views_of_different_widths(n_rows):
    """No more can be selected from a view than it has, which is no fault of who asked."""
    of_x, of_y = fastfs.projse_two_view(X[:n_rows], Y[:n_rows], n_features_to_select=5)
    assert (len(of_x.selected), len(of_y.selected)) == (3, 3)
    with pytest.raises(ValueError, match="between 1 and 6, the number of features; got 7"):
        fastfs.projse_two_view(X[:n_rows], Y[:n_rows], n_features_to_select=7)


# ----------------------------------------------------------------------------------------------------------- estimator


def test_attributes():
    model = ProjSe(2, center=True).fit(X, Y)
    assert model.n_selected_ == len(model.selected_) == 2
    assert sorted(model.ranking_) == [1, 2, 3, 4, 5, 6]
    assert model.ranking_[model.selected_].tolist() == [1, 2]
    rest = np.argsort(model.ranking_)[2:]
    assert np.all(np.diff(model.scores_[rest]) <= 0)
    assert model.get_support(indices=True).tolist() == sorted(model.selected_)
    assert model.transform(X).shape == (40, 2)
    assert model.kernel_rank_ == 3
    assert model.sigma_ is None
    assert not hasattr(model, "classes_")
    with pytest.raises(AttributeError, match="nonsense_"):
        model.nonsense_  # noqa: B018
    assert not hasattr(ProjSe(), "scores_")


@pytest.mark.parametrize("labels", [LABELS, LABELS.astype(float), np.array(["a", "b", "c"])[LABELS], LABELS < 1])
def test_labels_are_told_from_numbers(labels):
    model = ProjSe().fit(X, labels)
    assert model.classes_.tolist() == np.unique(labels).tolist()
    numbers = ProjSe().fit(X, labels.astype(float)[:, None] + 1) if labels.dtype.kind != "U" else None
    assert numbers is None or numbers.kernel_rank_ == 1
    assert not hasattr(ProjSe().fit(X, Y[:, 0]), "classes_")


def test_numbers_among_objects():
    expected = ProjSe().fit(X, Y[:, 0])
    for y in (Y[:, 0].astype(object), pd.Series(Y[:, 0]).convert_dtypes()):
        model = ProjSe().fit(X, y)
        assert not hasattr(model, "classes_")
        np.testing.assert_array_equal(model.scores_, expected.scores_)
    assert ProjSe().fit(X, np.array(["1.5", "2"] * 20, dtype=object)).classes_.tolist() == ["1.5", "2"]


def test_numbers_that_look_like_labels_are_told():
    with pytest.raises(ValueError, match=r"38 of 40 samples alone in their class.*give np\.reshape\(y, "):
        ProjSe().fit(X, np.maximum(np.arange(40), 1))
    with pytest.warns(fastfs.DataWarning, match=r"labels.*21 different ones in 40 samples.*reshape"):
        ProjSe().fit(X, [*np.arange(39) // 2, 99])


def test_frames_and_names():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = ProjSe(2).fit(frame, pd.DataFrame(Y)).set_output(transform="pandas")
    assert list(model.transform(frame).columns) == [f for f in "abcdef" if "abcdef".index(f) in model.selected_]
    assert ProjSe(2).fit(X, Y).selected_.tolist() == model.selected_.tolist()


def test_in_a_pipeline_and_a_search():
    pipeline = make_pipeline(ProjSe(center=True), KNeighborsClassifier())
    grid = {"projse__n_features_to_select": [1, 2], "projse__kernel": ["linear", "rbf"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, LABELS)
    assert search.best_estimator_["projse"].n_selected_ in (1, 2)


def test_progress_and_its_exceptions():
    class Stop(Exception):
        pass

    def stop(step, share):
        raise Stop

    wide = np.broadcast_to(1.0, (2000, 20_000))
    with pytest.raises(Stop):
        fastfs.projse(wide, RNG.normal(size=(2000, 200)), progress=stop)
    with pytest.raises(TypeError, match="progress"):
        fastfs.projse(X, Y, progress=3)
