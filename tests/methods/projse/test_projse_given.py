"""Given columns of ProjSe, against projections in NumPy and the plain method."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import covering, together

rng = np.random.default_rng(0)
N, D = 60, 30
X = rng.normal(size=(N, D)) + 1
Y = rng.normal(size=(N, 3)) + X[:, :3] + X[:, [4, 7, 9]]
LABELS = np.array(list("abc"))[np.argsort(np.argsort(Y[:, 0])) % 3]
GIVEN = [4, 7, 9]
EQUAL = {"rtol": 1e-10, "atol": 1e-10}


def rest(A, G, center=True):
    """The part of the columns of A that those of G don't span."""
    if center:
        A, G = A - A.mean(axis=0), G - G.mean(axis=0)
    U, s, _ = np.linalg.svd(G, full_matrices=False)
    U = U[:, s > 1e-9 * s[0]]
    return A - U @ (U.T @ A)


def expected(A, B, G, columns=(), center=True, **options):
    """The plain method on what G doesn't explain."""
    A_rest = rest(A, G, center)
    A_rest[:, list(columns)] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fastfs.projse(A_rest, rest(B, G, center), center=False, **options)


def assert_same(found, result):
    assert found.selected.tolist() == result.selected.tolist()
    for name in ("scores", "selection_scores", "gaps", "captured", "explained"):
        ours, theirs = getattr(found, name), getattr(result, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            scale = max(1.0, np.abs(theirs).max(initial=0))
            np.testing.assert_allclose(ours / scale, theirs / scale, **EQUAL, err_msg=name)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@covering(
    center=[True, False],
    kernel=["linear", "poly", "rbf"],
    beyond=[None, "residual"],
    normalize=[True, False],
    storage={"dense": np.asarray, "csr": sparse.csr_matrix, "csc": sparse.csc_array, "columns": np.asfortranarray},
    kind=["numbers", "labels"],
    given=["columns", "table"],
)
def test_against_projections(center, kernel, beyond, normalize, storage, kind, given):
    case = {"center": center, "kernel": kernel, "beyond": beyond, "normalize": normalize}
    target = Y if kind == "numbers" else (LABELS[:, None] == np.unique(LABELS)).astype(float)
    table = X[:, GIVEN] if given == "columns" else np.hstack([Y[:, :1] + rng.normal(size=(N, 1)), X[:, [4]]])
    found = fastfs.projse(
        storage(X), Y if kind == "numbers" else LABELS, n_features_to_select=6,
        given=GIVEN if given == "columns" else table, **case,
    )  # fmt: skip
    zeros = GIVEN if given == "columns" else [4]
    assert_same(found, expected(X, target, table, zeros, n_features_to_select=6, **case))
    assert (found.scores[zeros] == 0).all() or case["kernel"] == "rbf"


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("beyond", [None, "residual"])
@pytest.mark.parametrize("kind", ["numbers", "labels"])
@pytest.mark.parametrize("table", [False, True])
def test_streams_and_chunks(beyond, kind, table, tmp_path):
    y = Y if kind == "numbers" else LABELS
    options = {"beyond": beyond, "center": True, "n_features_to_select": 5}
    given = X[:, GIVEN] if table else GIVEN
    whole = fastfs.projse(X, y, given=given, **options)
    np.save(tmp_path / "X.npy", X)
    blocks = lambda: (X[begin : begin + 17] for begin in range(0, N, 17))  # noqa: E731
    for stream in (blocks, tmp_path / "X.npy"):
        assert_same(fastfs.projse(stream, y, given=given, **options), whole)
    selector = fastfs.ProjSe(5, beyond=beyond, center=True, given=given)
    if table:
        with pytest.raises(ValueError, match="given must list columns of X for partial_fit"):
            selector.partial_fit(X, Y)
        return
    for begin in range(0, N, 25):
        rows = slice(begin, begin + 25)
        selector.partial_fit(X[rows], y[rows], classes=np.unique(LABELS) if kind == "labels" and begin == 0 else None)
    np.testing.assert_allclose(selector.scores_, whole.scores, **EQUAL)
    assert selector.selected_.tolist() == whole.selected.tolist()


def test_dask():
    dask_array = pytest.importorskip("dask.array")
    whole = fastfs.projse(X, Y, given=GIVEN)
    assert_same(fastfs.projse(dask_array.from_array(X, chunks=(16, D)), Y, given=GIVEN), whole)
    table = X[:, GIVEN]
    assert_same(fastfs.projse(dask_array.from_array(X, chunks=(16, D)), Y, given=table), whole)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("center", [True, False])
def test_more_targets_than_samples(center):
    wide = rng.normal(size=(20, 45)) + 0.5
    table, A = rng.normal(size=(20, 3)), X[:20]
    found = fastfs.projse(A, wide, given=table, center=center, n_features_to_select=4)
    result = expected(A, wide, table, center=center, n_features_to_select=4)
    assert found.kernel_rank == result.kernel_rank == 20 - 3 - center
    np.testing.assert_allclose(found.scores, result.scores, **EQUAL)


@pytest.mark.parametrize("center", [True, False])
def test_two_views(center):
    A, B = X[:, :12], Y
    table = X[:, [20, 21]]
    of_x, of_y = fastfs.projse_two_view(A, B, given=table, center=center, n_features_to_select=3)
    assert_same(of_x, expected(A, B, table, center=center, n_features_to_select=3))
    assert_same(of_y, expected(B, A, table, center=center, n_features_to_select=3))
    assert len(of_y.scores) == 3


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("rows", [N, 20])  # more samples than features, and fewer
def test_without_a_target(storage, rows):
    A = X[:rows]
    found = fastfs.projse(storage(A), given=GIVEN, center=True, n_features_to_select=5)
    A_rest = rest(A, A[:, GIVEN])
    A_rest[:, GIVEN] = 0
    result = fastfs.projse(A_rest, center=False, n_features_to_select=5)
    assert found.selected.tolist() == result.selected.tolist()
    np.testing.assert_allclose(found.scores, result.scores, **EQUAL)


def test_names_masks_and_genotypes():
    pd = pytest.importorskip("pandas")
    names = [f"g{j}" for j in range(D)]
    frame = pd.DataFrame(X, columns=names)
    whole = fastfs.ProjSe(2, given=GIVEN).fit(X, LABELS)
    mask = np.isin(np.arange(D), GIVEN)
    for given in (["g4", "g9", "g7"], mask, np.array(GIVEN)):
        for fitted in (fastfs.ProjSe(2, given=given).fit(frame, LABELS), fastfs.projse(frame, LABELS, given=given)):
            scores = getattr(fitted, "scores_", None)
            np.testing.assert_array_equal(fitted.scores if scores is None else scores, whole.scores_)
    frame_of_given = frame[["g4", "g7", "g9"]]
    np.testing.assert_allclose(fastfs.projse(frame, LABELS, given=frame_of_given).scores, whole.scores_, **EQUAL)
    assert whole.center_
    calls = rng.integers(0, 3, size=(N, 12))
    packed = fastfs.io.pack_genotypes(calls)
    plain = fastfs.projse(calls.astype(float), LABELS, given=[0, 5])
    np.testing.assert_allclose(fastfs.projse(packed, LABELS, given=[0, 5]).scores, plain.scores, **EQUAL)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_copies_constants_and_too_many():
    whole = fastfs.projse(X, Y, given=GIVEN, center=True)
    copies = np.hstack([X[:, GIVEN], X[:, GIVEN], np.ones((N, 2)), 1e6 * X[:, [4]]])
    np.testing.assert_allclose(fastfs.projse(X, Y, given=copies, center=True).scores[:4], whole.scores[:4], **EQUAL)
    constant = fastfs.projse(X, Y, given=np.ones((N, 1)), center=True)
    np.testing.assert_allclose(constant.scores, fastfs.projse(X, Y, center=True).scores, **EQUAL)
    for given in ([], np.zeros(D, dtype=bool), np.empty((N, 0))):
        np.testing.assert_array_equal(fastfs.projse(X, Y, given=given).scores, fastfs.projse(X, Y).scores)
    single = fastfs.projse(X.astype("float32"), Y, given=np.hstack([X[:, GIVEN], X[:, GIVEN]]).astype("float32"))
    np.testing.assert_allclose(single.scores, fastfs.projse(X, Y, given=GIVEN).scores, atol=1e-5)


@together
@pytest.mark.parametrize(
    "given, error, message",
    [
        (range(D), ValueError, "given must leave features to choose from; got all 30"),
        ([4, 40], ValueError, "given must hold column numbers from 0 to 29; got 40"),
        (["g1"], ValueError, "isn't a column name of X"),
        (np.ones(4, dtype=bool), ValueError, "given as a mask must have 30 values"),
        ([1.5], TypeError, "given must hold column numbers or names"),
        (np.full((N, 1), np.nan), ValueError, "given must be finite"),
        (np.ones((N - 1, 2)), ValueError, "given and X must have the same rows; got 59 in given and"),
        (np.ones((N + 1, 2)), ValueError, "given and X must have the same rows; got 61 in given and 60 in X"),
        (Y, ValueError, "the given columns must leave a part of the target to explain; got 3 that determine all of it"),
        (rng.normal(size=(N, N)), ValueError, "that determine all of it: give fewer"),
    ],
)
def test_bad_input(given, error, message):
    for data in (X, lambda: iter([X[:40], X[40:]])):
        with pytest.raises(error, match=message):
            fastfs.projse(data, Y, given=given)
    selector = fastfs.ProjSe(given=given)
    with pytest.raises(error, match=message):
        selector.fit(X, Y)
    assert not hasattr(selector, "scores_")


@pytest.mark.parametrize("given", [[0], ["g0"], np.zeros(0, dtype=bool)])
def test_a_table_without_features(given):
    """The message speaks of X, not of column numbers from 0 to -1."""
    for call in (fastfs.projse, fastfs.relieff_scores):
        with pytest.raises(ValueError, match="X must have at least one feature; got none"):
            call(np.empty((N, 0)), LABELS, given=given)
    with pytest.raises(ValueError, match="X must have at least one feature; got none"):
        fastfs.relieff_scores(np.empty((N, 0)), LABELS, categorical_features=given)


def test_memory_is_asked_for():
    with pytest.raises(MemoryError):
        fastfs.projse(X, Y, given=rng.normal(size=(N, 50)), max_memory=20000)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_permutations_keep_the_given_columns():
    """Features that only follow given ones aren't found, also without a word about the design."""
    found = {"given": 0, "free": 0}
    for seed in range(40):
        draw = np.random.default_rng(seed)
        G = draw.normal(size=(80, 2))
        y = (G.sum(axis=1) + 0.7 * draw.normal(size=80) > 0).astype(int)
        A = np.hstack([G, G @ draw.normal(size=(2, 30)) + draw.normal(size=(80, 30))])
        test = fastfs.permutation_test(fastfs.ProjSe(1, given=[0, 1]), A, y, n_permutations=99, stop=False)
        found["given"] += test.pvalue <= 0.05
        if seed < 5:
            other = fastfs.ProjSe(1, given=G)
            same = fastfs.permutation_test(other, A, y, n_permutations=99, stop=False, covariates=None)
            assert same.pvalue == test.pvalue
        found["free"] += fastfs.permutation_test(fastfs.ProjSe(1), A[:, 2:], y, n_permutations=99).pvalue <= 0.05
    assert found["given"] <= 6  # 2 of 40 are expected
    assert found["free"] >= 38


def test_given_columns_and_covariates_together():
    age = rng.normal(size=N)
    labels = (X[:, 4] + age + rng.normal(size=N) > 1).astype(int)
    test = fastfs.permutation_test(fastfs.ProjSe(1, given=[4]), X, labels, covariates=age, n_permutations=49)
    both = fastfs.permutation_test(fastfs.ProjSe(1, given=X[:, [4]]), X, labels, covariates=age, n_permutations=49)
    np.testing.assert_array_equal(test.pvalues, both.pvalues)
    assert "covariates" in test.design
    piped = make_pipeline(StandardScaler(), fastfs.ProjSe(1, given=[4]))
    scaled = fastfs.permutation_test(piped, X, labels, covariates=age, n_permutations=49)
    np.testing.assert_allclose(scaled.scores, test.scores, **EQUAL)


def test_wrappers_refuse_given_columns():
    with pytest.raises(ValueError, match="given must be a table for an estimator that sees some of the features"):
        fastfs.TuRF(fastfs.ProjSe(given=[4]), n_features_to_select=5).fit(X, LABELS)
    turf = fastfs.TuRF(fastfs.ProjSe(given=X[:, [4]]), n_features_to_select=5, step=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert turf.fit(X, LABELS).get_support().sum() == 5
