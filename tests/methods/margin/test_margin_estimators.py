"""RELIEF to IMMIGRATE as estimators: scikit-learn's rules, prediction, explanation, interactions, warnings."""

import pickle
import re
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import rotating, some, together
from fastfs import IM4E, SURF, SWRF, Immigrate, MultiSURF, MuRelief, Relief, ReliefF, RReliefF
from sklearn_checks import assert_passes_checks

ALL = [Relief, ReliefF, SURF, MultiSURF, SWRF, MuRelief, IM4E, Immigrate]
CLASSIFIERS = [IM4E, Immigrate]
RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
X = RNG.normal(size=(60, 12))
X[:, 3] += 2.5 * Y
X[:, 7] -= 2.5 * Y
NEW = RNG.normal(size=(9, 12))
NAMES = [f"gene {j}" for j in range(12)]
# float64 results of two computations that add up in another order: 60^2 12 terms of one sign each, with eps.
ROUNDING = 1e-10


def of_class(method):
    return method.__name__


every = pytest.mark.parametrize("method", ALL, ids=of_class)
classifiers = pytest.mark.parametrize("method", CLASSIFIERS, ids=lambda method: method.__name__)

FUNCTIONS = {
    Relief: fastfs.relief_scores,
    ReliefF: fastfs.relieff_scores,
    SURF: fastfs.surf_scores,
    MultiSURF: fastfs.multisurf_scores,
    SWRF: fastfs.swrf_scores,
    MuRelief: fastfs.mu_relief_scores,
    IM4E: lambda X, y, **options: fastfs.im4e(X, y, **options).weights,
    Immigrate: lambda X, y, **options: fastfs.immigrate(X, y, **options).scores,
}

# --------------------------------------------------------------------------------------------------------- scikit-learn

# Of the RELIEF family.
COPIES = "the copies that a weight stands for are no neighbours of each other"
WEIGHTED = {f"check_sample_weight_equivalence_on_{kind}_data": COPIES for kind in ("dense", "sparse")}
EXPECTED = {
    IM4E: {
        "check_class_weight_classifiers": "factors of classes weigh margins; how prediction compares classes is left"
    },
    Immigrate: {},
}
VARIANTS = [
    Immigrate(1, clip=True, sigma="auto"),
    Relief(closed_form=True),
    ReliefF(missing="ignore"),
    RReliefF(n_neighbors=100),
    SURF(target_type="number"),
]


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # the checks use tiny data
@pytest.mark.parametrize("estimator", [*(method() for method in ALL), *VARIANTS], ids=str)
def test_scikit_learn_checks(estimator):
    assert_passes_checks(estimator, EXPECTED.get(type(estimator), WEIGHTED))


@pytest.mark.parametrize("method", some(2, 1, ALL), ids=of_class)
def test_parameters_are_stored_untouched(method):
    given = {name: object() for name in method().get_params()}
    estimator = method(**given)
    assert all(getattr(estimator, name) is value for name, value in given.items())
    assert estimator.get_params() == given


@pytest.mark.parametrize("method", some(2, 2, ALL), ids=of_class)
def test_clone_and_repr(method):
    estimator = method(2, scaling="standard").fit(X, Y)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "scores_")
    assert repr(method(2)) == f"{method.__name__}(n_features_to_select=2)"


@pytest.mark.parametrize("method", some(2, 3, ALL), ids=of_class)
def test_attributes(method):
    estimator = method(2).fit(X, Y)
    assert estimator.get_support(indices=True).tolist() == [3, 7]
    assert sorted(estimator.ranking_) == list(range(1, 13))
    assert np.all(np.diff(estimator.scores_[np.argsort(estimator.ranking_)]) <= 0)
    assert estimator.scores_.dtype == np.float64
    assert estimator.ranking_.dtype == np.int64
    assert estimator.classes_.tolist() == [0, 1]
    assert estimator.n_features_in_ == 12
    assert estimator.algorithm_ == "stored"
    np.testing.assert_array_equal(estimator.scores_, FUNCTIONS[method](X, Y))
    assert is_classifier(estimator) == (method in CLASSIFIERS)


@classifiers
def test_attributes_of_the_iteration(method):
    estimator = method(max_iter=4, tol=0, sigma=1).fit(X, Y)
    assert estimator.n_iter_ == len(estimator.cost_) == len(estimator.objective_) == 4
    assert not estimator.converged_
    assert estimator.sigma_ == 1.0
    np.testing.assert_allclose(estimator.scores_.sum(), 1, rtol=ROUNDING)
    assert method(tol=0.5).fit(X, Y).converged_
    assert method(sigma="auto").fit(X, Y).sigma_ not in (0.0, 1.0)


def test_weights_are_the_scores():
    estimator = IM4E().fit(X, Y)
    np.testing.assert_array_equal(estimator.weights_, estimator.scores_)


@pytest.mark.parametrize("method", some(2, 4, ALL), ids=of_class)
def test_pickle_holds_no_handle(method):
    estimator = method(2).fit(X, Y)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(estimator, protocol))
        np.testing.assert_array_equal(copy.scores_, estimator.scores_)
        np.testing.assert_array_equal(copy.transform(X), estimator.transform(X))
        if method in CLASSIFIERS:
            np.testing.assert_array_equal(copy.expected_distance(NEW), estimator.expected_distance(NEW))
            np.testing.assert_array_equal(copy.predict(NEW), estimator.predict(NEW))
        np.testing.assert_array_equal(copy.fit(X, Y).scores_, estimator.scores_)


def test_a_pickle_predicts_in_another_process(tmp_path, python):
    path = tmp_path / "model.pkl"
    model = Immigrate().fit(X, Y)
    path.write_bytes(pickle.dumps(model))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).predict([[0.0] * 12, [9.0] * 12]).tolist())"
    finished = python(code, path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == str(model.predict([[0.0] * 12, [9.0] * 12]).tolist())


@pytest.mark.parametrize("method", some(2, 5, ALL), ids=of_class)
def test_refit_forgets_what_it_no_longer_has(method):
    estimator = method().fit(pd.DataFrame(X, columns=NAMES), Y).fit(X[:, :8], Y)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == len(estimator.scores_) == 8
    np.testing.assert_array_equal(estimator.scores_, method().fit(X[:, :8], Y).scores_)


@pytest.mark.parametrize("method", some(2, 6, ALL), ids=of_class)
def test_a_failed_refit_changes_nothing(method):
    estimator = method().fit(X, Y)
    before = estimator.scores_.copy()
    broken = X[:, :9].copy()
    broken[5, 4] = np.nan
    with pytest.raises(ValueError, match="row 5, column 4"):
        estimator.fit(broken, Y)
    np.testing.assert_array_equal(estimator.scores_, before)
    assert estimator.n_features_in_ == 12
    if method in CLASSIFIERS:
        assert estimator.predict(NEW).shape == (9,)


# ---------------------------------------------------------------------------------------------------------------- names


@rotating(1, method=ALL, frame={"pandas": pd.DataFrame, "polars": pl.DataFrame})
def test_feature_names(method, frame):
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    estimator = method(2).fit(table, Y)
    assert estimator.feature_names_in_.tolist() == NAMES
    assert estimator.get_feature_names_out().tolist() == ["gene 3", "gene 7"]
    np.testing.assert_allclose(estimator.scores_, method().fit(X, Y).scores_, rtol=ROUNDING, atol=ROUNDING)
    renamed = frame(dict(zip(["x", *NAMES[1:]], X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(renamed)
    if method in CLASSIFIERS:
        assert np.array_equal(estimator.predict(table), estimator.predict(table))
        with pytest.raises(ValueError, match="feature names"):
            estimator.predict(renamed)
        assert estimator.explain(table[:1])[0].names[3] == "gene 3"


@rotating(1, method=ALL, **{"library, kind": [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]})
def test_set_output(method, library, kind):
    table = pd.DataFrame(X, columns=NAMES)
    out = method(2).set_output(transform=library).fit(table, Y).transform(table)
    assert isinstance(out, kind)
    assert list(out.columns) == ["gene 3", "gene 7"]


# --------------------------------------------------------------------------------------------------------------- labels

LABELS = {
    "strings": np.array(["healthy", "sick"])[Y],
    "objects": np.array(["healthy", "sick"], dtype=object)[Y],
    "bools": Y.astype(bool),
    "list": Y.tolist(),
    "pandas categories": pd.Series(pd.Categorical(np.array(["a", "b"])[Y], categories=["b", "unused", "a"])),
    "pandas Int64": pd.Series(Y, dtype="Int64"),
    "polars": pl.Series(np.array(["healthy", "sick"])[Y]),
}


@rotating(1, method=ALL, kind=LABELS.keys())
def test_any_labels(method, kind):
    y = LABELS[kind]
    estimator = method().fit(X, y)
    np.testing.assert_array_equal(estimator.scores_, method().fit(X, Y).scores_)
    assert list(estimator.classes_) == sorted(set(np.asarray(y).tolist()))
    if method in CLASSIFIERS:
        assert np.mean(estimator.predict(X) == np.asarray(y)) > 0.9
        assert estimator.score(X, np.asarray(y)) > 0.9


def test_class_weight_by_any_label():
    y = np.array(["healthy", "sick"])[Y]
    plain = IM4E().fit(X, y).weights_
    np.testing.assert_array_equal(IM4E(class_weight={"sick": 1, "healthy": 1.0}).fit(X, y).weights_, plain)
    weighted = IM4E(class_weight={"sick": 3}).fit(X, y).weights_
    assert np.abs(weighted - plain).max() > 1e-4
    np.testing.assert_allclose(IM4E(class_weight={1: 3}).fit(X, Y).weights_, weighted, rtol=ROUNDING)


# ---------------------------------------------------------------------------------------------------------------- input


@rotating(1, method=ALL, dtype=[np.float32, np.float64])
def test_transform_keeps_the_dtype(method, dtype):
    data = X.astype(dtype)
    out = method(2).fit(data, Y).transform(data)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, data[:, [3, 7]])


@pytest.mark.parametrize("method", some(2, 7, ALL), ids=of_class)
def test_layouts_and_kinds_of_numbers(method):
    whole = np.round(4 * X)
    expected = method().fit(whole, Y).scores_
    for data in (np.asfortranarray(whole), whole.astype(int), whole.tolist(), np.repeat(whole, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(method().fit(data, Y).scores_, expected, rtol=ROUNDING, atol=ROUNDING)


@rotating(1, method=[Relief, IM4E, Immigrate], container=[sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_input_is_made_dense(method, container):
    assert method().__sklearn_tags__().input_tags.sparse
    for dtype in (np.float32, np.float64, np.int16):
        data = np.where(X > 0.5, np.round(4 * X), 0).astype(dtype)
        sparse, n_bytes = container(data), data.size * (4 if dtype is np.float32 else 8)
        of_dense, of_sparse = method().fit(data, Y), method().fit(sparse, Y)
        np.testing.assert_array_equal(of_sparse.scores_, of_dense.scores_)
        np.testing.assert_array_equal(FUNCTIONS[method](sparse, Y), FUNCTIONS[method](data, Y))
        if hasattr(method, "predict"):
            np.testing.assert_array_equal(of_sparse.expected_distance(sparse), of_dense.expected_distance(data))
        for call in (method(max_memory=n_bytes).fit, partial(FUNCTIONS[method], max_memory=n_bytes)):
            with pytest.raises(
                MemoryError, match=r"as dense values would need .*\d+ bytes.*, but the memory budget is .*\d+"
            ):
                call(sparse, Y)


@pytest.mark.parametrize("method", some(2, 8, ALL), ids=of_class)
def test_chunks_are_told_to_be_one_array(method):
    for call in (lambda data: method().fit(data, Y), lambda data: FUNCTIONS[method](data, Y)):
        with pytest.raises(TypeError, match="one array"):
            call(iter([X[:30], X[30:]]))


@pytest.mark.parametrize("method", some(2, 9, ALL), ids=of_class)
def test_input_is_left_as_it_is(method):
    for order in "CF":
        data, labels = np.array(X, order=order), Y.copy()
        estimator = method().fit(data, labels)
        estimator.transform(data)
        if method in CLASSIFIERS:
            estimator.predict(data)
        np.testing.assert_array_equal(data, X)
        np.testing.assert_array_equal(labels, Y)


@classifiers
def test_prediction_does_not_depend_on_later_changes_of_the_data(method):
    data = X.copy()
    estimator = method().fit(data, Y)
    expected = estimator.expected_distance(NEW)
    data[:] = 0
    np.testing.assert_array_equal(estimator.expected_distance(NEW), expected)


# ----------------------------------------------------------------------------------------------------------- prediction


@classifiers
def test_expected_distances_and_classes(method):
    estimator = method().fit(X, Y)
    distances = estimator.expected_distance(NEW)
    assert distances.shape == (9, 2)
    assert np.all(distances >= 0)
    np.testing.assert_array_equal(estimator.predict(NEW), estimator.classes_[distances.argmin(axis=1)])
    np.testing.assert_array_equal(estimator.expected_distance(NEW[4:5])[0], distances[4])
    assert not hasattr(estimator, "predict_proba")


@classifiers
def test_decision_function_serves_scorers(method):
    two = method().fit(X, Y)
    decided, distances = two.decision_function(NEW), two.expected_distance(NEW)
    np.testing.assert_array_equal(decided, distances[:, 0] - distances[:, 1])
    np.testing.assert_array_equal(two.predict(NEW), two.classes_[(decided > 0).astype(int)])
    order = np.argsort(decided)
    truth = two.classes_[[0] * 4 + [1] * 5]  # the labels that go with this order, so that the area is 1
    assert get_scorer("roc_auc")(two, NEW[order], truth) == 1.0

    three = method().fit(X, np.arange(len(X)) % 3)
    np.testing.assert_array_equal(three.decision_function(NEW), -three.expected_distance(NEW))


@classifiers
def test_prediction_uses_features_with_weight_only(method):
    """The others are still checked."""
    constant = np.hstack([X, np.ones((60, 1))])
    estimator = method().fit(constant, Y)
    new = np.hstack([NEW, np.full((9, 1), 1e6)])
    expected = estimator.expected_distance(np.hstack([NEW, np.ones((9, 1))]))
    np.testing.assert_array_equal(estimator.expected_distance(new), expected)
    new[2, 12] = np.nan
    for call in (estimator.predict, estimator.expected_distance, estimator.explain):
        with pytest.raises(ValueError, match="row 2, column 12"):
            call(new)


@classifiers
def test_prediction_in_the_dtype_of_the_fit(method):
    estimator = method().fit(X.astype(np.float32), Y)
    exact = method().fit(X, Y)
    # Both round X, weights and sums to float32: some hundred eps.
    np.testing.assert_allclose(estimator.expected_distance(NEW), exact.expected_distance(NEW), rtol=1e-4)
    np.testing.assert_array_equal(estimator.expected_distance(NEW), estimator.expected_distance(NEW.astype(np.float32)))


@rotating(1, call=["predict", "expected_distance", "explain"], method=CLASSIFIERS)
def test_prediction_refuses(method, call):
    with pytest.raises(NotFittedError):
        getattr(method(), call)(NEW)
    estimator = method().fit(X, Y)
    with pytest.raises(ValueError, match="12 features"):
        getattr(estimator, call)(NEW[:, :5])
    with pytest.raises(MemoryError, match=r"a copy of X as dense values would need 864 bytes"):
        getattr(estimator.set_params(max_memory=864), call)(sp.csr_matrix(NEW))


@classifiers
def test_far_points(method):
    estimator = method(sigma=0.1).fit(X, Y)
    for far in (1e3, 1e6, 1e9):
        new = NEW.copy()
        new[:, 3] += far
        distances = estimator.expected_distance(new)
        assert np.all(np.isfinite(distances))
        assert np.all(distances > 1)
    if method is Immigrate:  # squares
        with pytest.raises(ValueError, match=r"row 1 .*overflow"):
            estimator.expected_distance(np.vstack([NEW[0], np.full(12, 1e300)]))
    else:
        assert np.all(estimator.expected_distance(np.full((1, 12), 1e300)) > 1e298)


@classifiers
def test_scaling_after_the_fit_changes_no_prediction(method):
    estimator = method().fit(X, Y)
    expected = estimator.expected_distance(NEW)
    np.testing.assert_array_equal(estimator.set_params(scaling="range").expected_distance(NEW), expected)


# --------------------------------------------------------------------------------------------------------- explanations


@classifiers
def test_parts_add_up_to_the_margin(method):
    estimator = method().fit(X, Y)
    distances = estimator.expected_distance(NEW)
    for wanted in (None, np.ones(9, int)):
        found = estimator.explain(NEW, wanted, top=200)
        labels = estimator.predict(NEW) if wanted is None else wanted
        for row, one in enumerate(found):
            assert (one.label, one.other) == (labels[row], 1 - labels[row])
            np.testing.assert_allclose(one.distance, distances[row, labels[row]], rtol=ROUNDING)
            np.testing.assert_allclose(one.margin, distances[row, 1 - labels[row]] - one.distance, rtol=ROUNDING)
            scale = np.abs(one.features["part"]).sum()
            np.testing.assert_allclose(one.features["part"].sum(), one.margin, atol=ROUNDING * scale)
            assert len(one.features) == one.n_features <= 12
            assert np.all(np.diff(np.abs(one.features["part"])) <= 0)
            if method is Immigrate:
                scale = np.abs(one.pairs["part"]).sum()
                np.testing.assert_allclose(one.pairs["part"].sum(), one.margin, atol=ROUNDING * scale)
                assert len(one.pairs) == one.n_pairs == 12 * 13 // 2
                assert np.all(one.pairs["a"] <= one.pairs["b"])
                half = np.zeros(12)
                np.add.at(half, one.pairs["a"], one.pairs["part"] / 2)
                np.add.at(half, one.pairs["b"], one.pairs["part"] / 2)
                np.testing.assert_allclose(half[one.features["feature"]], one.features["part"], atol=ROUNDING * scale)
            else:
                assert (len(one.pairs), one.n_pairs) == (0, 0)


@classifiers
def test_the_strongest_parts_are_listed(method):
    estimator = method().fit(pd.DataFrame(X, columns=NAMES), Y)
    sample = np.zeros((1, 12))
    sample[0, [3, 7]] = 2.5, -2.5
    all_parts = estimator.explain(pd.DataFrame(sample, columns=NAMES), top=500)[0]
    (one,) = estimator.explain(pd.DataFrame(sample, columns=NAMES), top=2)
    assert one.label == 1
    assert set(one.features["feature"].tolist()) == {3, 7}
    np.testing.assert_array_equal(one.features, all_parts.features[:2])
    np.testing.assert_array_equal(one.pairs, all_parts.pairs[:2])
    assert set(one.names.items()) >= {(3, "gene 3"), (7, "gene 7")}
    lines = str(one).splitlines()
    assert lines[0].startswith(f"1, not 0: margin {one.margin:+.4g} (expected distances {one.distance:.4g} and ")
    assert lines[1] == "by feature:"
    assert re.fullmatch(r" +\+[0-9.e-]+  gene [37]", lines[2])
    assert f"the other {one.n_features - 2} features" in lines[4]
    if method is Immigrate:
        assert lines[5] == "by pair:"
        assert "the other 76 pairs" in lines[8]


def test_three_classes_are_compared_with_the_nearest_other():
    y = np.arange(60) % 3
    data = RNG.normal(size=(60, 4))
    data[:, 0] += 3 * y
    estimator = Immigrate().fit(data, np.array(["a", "b", "c"])[y])
    (one,) = estimator.explain([[0.0, 0, 0, 0]], ["c"])
    assert (one.label, one.other) == ("c", "a")
    assert one.margin < 0
    assert str(one).startswith("c, not a: margin -")


@pytest.mark.parametrize(
    "y, message", [(["healthy"], r"classes of the fit, \[0, 1\]; got 'healthy'"), ([0, 1], "one label for each")]
)
def test_explain_refuses_labels(y, message):
    with pytest.raises(ValueError, match=message):
        IM4E().fit(X, Y).explain(NEW[:1], y)


def test_explain_stays_within_the_memory():
    estimator = Immigrate().fit(RNG.normal(size=(12, 500)), np.arange(12) % 2)
    new = RNG.normal(size=(3, 500))
    with pytest.raises(MemoryError, match="pairs of 500 features"):
        estimator.set_params(max_memory="3M").explain(new)


def test_explanations_of_many_samples_come_in_batches(monkeypatch):
    estimator = Immigrate().fit(X, Y)
    expected = estimator.explain(NEW)
    monkeypatch.setattr("fastfs._functions.explanation.EXPLAINED_AT_ONCE", 2 * 12 * 12)
    for found, one in zip(estimator.explain(NEW), expected, strict=True):
        assert (found.label, found.margin) == (one.label, one.margin)
        np.testing.assert_array_equal(found.pairs, one.pairs)


# --------------------------------------------------------------------------------------------------------- interactions


def test_interactions_are_the_entries_of_w():
    estimator = Immigrate().fit(X, Y)
    W = estimator.W_
    assert W.shape == (12, 12)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_allclose(np.linalg.norm(W), 1, rtol=ROUNDING)
    np.testing.assert_allclose((W**2).sum(axis=1), estimator.scores_, rtol=ROUNDING, atol=ROUNDING)
    rebuilt = (estimator.eigenvectors_ * estimator.eigenvalues_) @ estimator.eigenvectors_.T
    np.testing.assert_allclose(rebuilt, W, atol=ROUNDING)
    pairs = estimator.interactions_
    assert pairs.dtype.names == ("a", "b", "weight", "residual")
    assert len(pairs) == 66
    assert np.all(pairs["a"] < pairs["b"])
    assert len({(a, b) for a, b in pairs[["a", "b"]].tolist()}) == 66
    np.testing.assert_allclose(pairs["weight"], W[pairs["a"], pairs["b"]], atol=ROUNDING)
    assert np.all(np.diff(np.abs(pairs["weight"])) <= ROUNDING)
    leading = estimator.eigenvalues_[0] * np.outer(estimator.eigenvectors_[:, 0], estimator.eigenvectors_[:, 0])
    np.testing.assert_allclose(pairs["residual"], (W - leading)[pairs["a"], pairs["b"]], atol=ROUNDING)


def test_top_pairs():
    estimator = Immigrate().fit(X, Y)
    np.testing.assert_array_equal(estimator.top_pairs(5), estimator.interactions_[:5])
    assert estimator.top_pairs().shape == (20,)
    assert estimator.top_pairs(0).shape == (0,)
    assert estimator.top_pairs(1000).shape == (66,)
    by_residual = estimator.top_pairs(66, "residual")
    assert np.all(np.diff(np.abs(by_residual["residual"])) <= ROUNDING)
    assert sorted(by_residual["weight"]) == pytest.approx(sorted(estimator.interactions_["weight"]), abs=ROUNDING)
    np.testing.assert_array_equal(fastfs.immigrate(X, Y).top_pairs(5), estimator.top_pairs(5))
    for n, by, error in ((-1, "weight", ValueError), ("all", "weight", TypeError), (5, "size", ValueError)):
        with pytest.raises(error):
            estimator.top_pairs(n, by)
    with pytest.raises(NotFittedError):
        Immigrate().top_pairs()


def test_at_most_a_hundred_interactions():
    data = RNG.normal(size=(30, 20))
    assert len(Immigrate().fit(data, np.arange(30) % 2).interactions_) == 100


@pytest.mark.parametrize("prefilter", ["im4e", None])
def test_prefilter(prefilter):
    estimator = Immigrate(prefilter=prefilter).fit(X, Y)
    if prefilter is None:
        assert estimator.prefilter_weights_ is None
        assert estimator.kept_features_.tolist() == list(range(12))
        return
    weights = IM4E().fit(X, Y).weights_
    np.testing.assert_array_equal(estimator.prefilter_weights_, weights)
    kept = np.flatnonzero(weights >= 1 / 12)
    assert 0 < len(kept) < 12
    np.testing.assert_array_equal(estimator.kept_features_, kept)
    assert np.all(np.delete(estimator.scores_, kept) == 0)
    assert estimator.W_.shape == (len(kept),) * 2
    assert set(np.unique(estimator.interactions_[["a", "b"]].tolist())) <= set(kept.tolist())
    # The same as on these columns from that start.
    alone = Immigrate(prefilter=None, W0=np.diag(weights[kept])).fit(X[:, kept], Y)
    np.testing.assert_allclose(estimator.W_, alone.W_, atol=ROUNDING)
    np.testing.assert_allclose(estimator.expected_distance(NEW), alone.expected_distance(NEW[:, kept]), rtol=1e-9)


def test_wide_data_are_filtered_by_default():
    rng = np.random.default_rng(1)
    data, y = rng.normal(size=(40, 1001)), np.arange(40) % 2
    data[:, 500] += 3 * y
    estimator = Immigrate().fit(data, y)
    assert 1 <= len(estimator.kept_features_) < 1001
    assert estimator.ranking_[500] == 1
    assert estimator.W_.shape == (len(estimator.kept_features_),) * 2
    assert Immigrate().fit(data[:, 1:], y).prefilter_weights_ is None


def test_the_default_filter_keeps_1000_features_at_most():
    rng = np.random.default_rng(1)
    data, y = rng.normal(size=(40, 5000)), np.arange(40) % 2
    weights = IM4E().fit(data, y).weights_
    assert (weights >= 1 / 5000).sum() > 1000
    strongest = np.sort(np.argsort(-weights)[:1000])
    assert Immigrate().fit(data, y).kept_features_.tolist() == strongest.tolist()
    assert fastfs.immigrate(data, y).features.tolist() == strongest.tolist()
    every = np.flatnonzero(weights >= 1 / 5000)  # the paper's rule
    assert Immigrate(prefilter="im4e").fit(data, y).kept_features_.tolist() == every.tolist()


def test_more_features_than_pairs_of_samples():
    """W is kept in factors."""
    rng = np.random.default_rng(1)
    data, y = rng.normal(size=(12, 300)), np.arange(12) % 2
    data[:, 7] += 4 * y
    estimator = Immigrate().fit(data, y)
    W = estimator.W_
    np.testing.assert_allclose(W, W.T, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(W), 1, rtol=ROUNDING)
    assert estimator.eigenvectors_.shape == (300, len(estimator.eigenvalues_))
    assert estimator.predict(data[:3]).tolist() == y[:3].tolist()
    assert estimator.explain(data[:1])[0].n_pairs == 300 * 301 // 2


def test_start_and_small_weights():
    start = np.eye(12)
    plain = Immigrate().fit(X, Y)
    np.testing.assert_allclose(Immigrate(W0=start).fit(X, Y).W_, plain.W_, atol=ROUNDING)
    cut = Immigrate(smallest="auto").fit(X, Y).W_
    assert np.count_nonzero(cut) < np.count_nonzero(np.abs(plain.W_) > 1e-12)
    np.testing.assert_allclose(cut, Immigrate(smallest=1 / 12).fit(X, Y).W_, atol=ROUNDING)
    clipped = Immigrate(clip=True).fit(X, Y).W_
    assert clipped.min() >= -1e-15


BAD_IMMIGRATE = {
    "shape of W0": ({"W0": np.eye(3)}, r"\(12, 12\)"),
    "asymmetric W0": ({"W0": np.eye(12) + np.eye(12, k=3)}, "symmetric"),
    "zero W0": ({"W0": np.zeros((12, 12))}, "zero"),
    "indefinite W0": ({"W0": np.diag([1.0] * 11 + [-1.0])}, "positive semidefinite"),
    "NaN in W0": ({"W0": np.full((12, 12), np.nan)}, "got nan for column 0 with column 0"),
    "W0 and prefilter": ({"W0": np.eye(12), "prefilter": "im4e"}, "W0 must be left out with prefilter='im4e'"),
    "prefilter": ({"prefilter": "relief"}, "prefilter must be 'auto', 'im4e' or None"),
    "smallest": ({"smallest": -1.0}, "smallest must be"),
    "negligible": ({"negligible": np.inf}, "negligible must be"),
    "all removed": ({"smallest": 2.0}, "smallest|largest"),
    "sigma 0": ({"sigma": 0.0}, "sigma must be"),
    "sigma in words": ({"sigma": "median"}, "sigma must be 'auto' or a positive number"),
    "scaling": ({"scaling": "robust"}, "scaling must be 'range', 'standard' or None"),
}


@together
@pytest.mark.parametrize("case", BAD_IMMIGRATE)
def test_immigrate_refuses(case):
    options, message = BAD_IMMIGRATE[case]
    for call in (lambda: Immigrate(**options).fit(X, Y), lambda: fastfs.immigrate(X, Y, **options)):
        with pytest.raises(ValueError, match=message):
            call()


def test_numbers_are_checked_before_the_work():
    """The data would be refused too, but later."""
    broken = np.full((60, 12), np.nan)
    for call, message in (
        (lambda: ReliefF(0).fit(broken, Y), "n_features_to_select"),
        (lambda: ReliefF(n_neighbors=0).fit(broken, Y), "n_neighbors"),
        (lambda: Relief(n_targets=0).fit(broken, Y), "n_targets"),
        (lambda: MultiSURF(scaling="log").fit(broken, Y), "scaling"),
        (lambda: IM4E(class_weight={"x": 1}).fit(broken, Y), "class_weight"),
        (lambda: IM4E(max_iter=0).fit(broken, Y), "max_iter"),
        (lambda: Immigrate(tol=-1).fit(broken, Y), "tol"),
        (lambda: Immigrate(W0=np.eye(2)).fit(broken, Y), "W0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# ------------------------------------------------------------------------------------------------- pipelines and search


@pytest.mark.parametrize("method", some(2, 10, ALL), ids=of_class)
def test_pipeline(method):
    pipeline = make_pipeline(StandardScaler(), method(2), KNeighborsClassifier())
    table = pd.DataFrame(X, columns=NAMES)
    assert pipeline.set_output(transform="pandas").fit(table, Y).score(table, Y) > 0.9
    assert pipeline[:-1].get_feature_names_out().tolist() == ["gene 3", "gene 7"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs):
    pipeline = Pipeline([("scale", StandardScaler()), ("classify", Immigrate())])
    with joblib.parallel_config("loky"):
        search = GridSearchCV(pipeline, {"classify__sigma": [0.5, "auto"]}, cv=3, n_jobs=n_jobs, error_score="raise")
        search.fit(X, Y)
    assert search.best_score_ > 0.8
    assert search.predict(X).shape == (60,)


@every
def test_threads_change_nothing(method):
    found = [method(n_jobs=n).fit(X, Y).scores_ for n in (1, 2, 3, -1, None)]
    for scores in found[1:]:
        np.testing.assert_array_equal(scores, found[0])
    for n_jobs in (0, 1025):
        with pytest.raises(ValueError, match=r"n_jobs|threads"):
            method(n_jobs=n_jobs).fit(X, Y)


# ------------------------------------------------------------------------------------------------ progress and warnings


@every
def test_progress(method):
    calls = []
    method(verbose=lambda step, share: calls.append((step, share))).fit(X, Y)
    assert all(isinstance(step, str) and 0 <= share <= 1 for step, share in calls)

    def stop(step, share):
        raise RuntimeError("enough")

    big = np.random.default_rng(0).random((3000, 4000), np.float32)  # takes longer than the 50 ms between two reports
    with pytest.raises(RuntimeError, match="enough"):
        method(verbose=stop).fit(big, np.arange(3000) % 2)


CALLS = {
    "function": lambda: fastfs.relieff_scores(X, Y, n_neighbors=50),
    "fit": lambda: ReliefF(n_neighbors=50).fit(X, Y),
    "pipeline": lambda: make_pipeline(ReliefF(n_neighbors=50), KNeighborsClassifier()).fit(X, Y),
    "im4e": lambda: IM4E(scaling=None).fit(X * np.geomspace(1, 1e4, 12), Y),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_at_the_caller(name):
    call = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (warning,) = [w for w in caught if w.category is fastfs.DataWarning]
    assert (warning.filename, warning.lineno) == (__file__, call.__code__.co_firstlineno)


@pytest.mark.parametrize("method", some(2, 11, ALL), ids=of_class)
def test_fastfs_warns_of_nothing_else(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = method().fit(X, Y)
        if method in CLASSIFIERS:
            estimator.explain(NEW)


def test_what_is_warned_of():
    lonely = Y.copy().astype(str)
    lonely[0] = "rare"
    with pytest.warns(fastfs.DataWarning, match="one sample only in class rare"):
        Relief().fit(X, lonely)
    with pytest.warns(fastfs.DataWarning, match=r"n_neighbors = 30 is more .*: class 0 \(30\), class 1 \(30\)$"):
        ReliefF(n_neighbors=30).fit(X, Y)
    with pytest.warns(fastfs.DataWarning, match="more than 1000 times apart"):
        MultiSURF(scaling=None).fit(X * np.geomspace(1, 1e4, 12), Y)
    # Both classes hold the same samples: each one's nearest miss is itself.
    twice, labels = np.vstack([X[:20]] * 2), np.repeat([0, 1], 20)
    for method in CLASSIFIERS:
        with pytest.warns(fastfs.DataWarning, match="leaves nothing to weigh"):
            estimator = method().fit(twice, labels)
        assert not estimator.converged_
        np.testing.assert_allclose(estimator.scores_, 1 / 12, rtol=ROUNDING)


@every
def test_docstring_names_every_parameter_and_attribute(method):
    doc = method.__doc__
    fitted = [name for name in vars(method().fit(pd.DataFrame(X, columns=NAMES), Y)) if re.fullmatch(r"[^_].*_", name)]
    for name in [*method().get_params(), *fitted]:
        assert re.search(rf"\b{name}\b(.* : |[\w, ]*\n +As for :class:`fastfs.ReliefF`)", doc), name
