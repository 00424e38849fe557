"""fastfs.IKDR as scikit-learn and its users handle it; its picture; its word on the command line."""

import io as io_module
import json
import pickle

import joblib
import numpy as np
import pandas as pd
import polars
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import fastfs
from fastfs import IKDR, pl
from sklearn_checks import assert_passes_checks

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = RNG.normal(size=(60, 20))
X[:, 3] += 3 * Y
X[:, 7] -= 3 * Y
NEW = RNG.normal(size=(9, 20))
NAMES = [f"gene {j}" for j in range(20)]
GROUPS = np.arange(20) // 4  # 3 is in group 0, 7 in group 1
# Two sums of products of at most 60 numbers up to 1, in another order.
ROUNDING = 1e-12
# Kernels that differ by rounding may stop a step earlier or later: `tol` of the objective.
TOLERANCE = 1e-4


def counts(rows, seed=0):
    """Sparse tables, as of words in documents, whose first or last ten columns tell the class."""
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 2
    rates = np.where((np.arange(40) < 10) == (labels[:, None] == 0), 0.8, 0.2)
    rates[:, 20:] = 0.3
    return sparse.csr_matrix(rng.poisson(rates).astype(float)), labels


# ------------------------------------------------------------------------------------------------------- scikit-learn


class Rbf:
    """A callable kernel whose name, and so the test's, is the same in every process of pytest-xdist."""

    __call__ = staticmethod(rbf_kernel)

    def __repr__(self):
        return "rbf_kernel"


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # the checks use tiny data
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [IKDR(), IKDR(1, interpretability="distance", mu=0.5), IKDR(kernel=Rbf(), max_iter=2)],
    ids=["default", "distance", "kernel"],
)
def test_scikit_learn_checks(estimator):
    assert_passes_checks(estimator)


def test_parameters_are_stored_untouched():
    given = {name: object() for name in IKDR().get_params()}
    estimator = IKDR(**given)
    assert all(getattr(estimator, name) is value for name, value in given.items())
    assert estimator.get_params() == given


def test_clone_and_repr():
    estimator = IKDR(2, groups=GROUPS, kernel=rbf_kernel).fit(X, Y)
    copy = clone(estimator)
    np.testing.assert_array_equal(copy.get_params()["groups"], GROUPS)
    assert copy.kernel is rbf_kernel
    assert not hasattr(copy, "scores_")
    assert repr(IKDR(2, lam=1.0)) == "IKDR(lam=1.0, n_features_to_select=2)"


def test_tags():
    assert all(IKDR(kernel=k).__sklearn_tags__().input_tags.sparse for k in ("rbf", "precomputed", cosine_similarity))
    assert [IKDR(kernel=k).__sklearn_tags__().input_tags.pairwise for k in ("rbf", "precomputed")] == [False, True]
    assert IKDR().__sklearn_tags__().target_tags.required


def test_attributes_are_those_of_the_function():
    estimator = IKDR().fit(X, Y)
    found = fastfs.ikdr(X, Y)
    pairs = {
        "scores_": found.scores,
        "feature_weights_": found.feature_weights,
        "kernel_weights_": found.weights,
        "dual_coef_": found.A,
        "support_samples_": found.support,
        "embedding_": found.embedding,
        "class_profile_": found.class_profile,
        "classes_": found.classes,
        "interpretability_": found.interpretability,
        "objective_": found.objective,
        "history_": found.history,
        "similarity_": found.similarity,
        "n_iter_": found.n_iter,
        "converged_": found.converged,
        "deltas_": found.deltas,
        "constant_features_": found.constant_features,
    }
    for name, value in pairs.items():
        np.testing.assert_array_equal(getattr(estimator, name), value, err_msg=name)
    assert not hasattr(estimator, "group_labels_")
    assert estimator.n_features_in_ == 20
    assert found.lam == 0.1


def test_what_the_attributes_mean():
    model = IKDR(n_components=5).fit(X, Y)
    assert model.dual_coef_.shape == model.embedding_.shape == (60, 5)
    assert model.class_profile_.shape == (3, 5)
    assert np.all(model.dual_coef_ >= 0)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 1, rtol=ROUNDING)
    H = model.classes_[:, None] == Y
    np.testing.assert_allclose(model.class_profile_, H @ model.dual_coef_, atol=ROUNDING)
    np.testing.assert_allclose(model.interpretability_, (H @ model.dual_coef_).max(axis=0).mean(), rtol=ROUNDING)
    np.testing.assert_array_equal(model.support_samples_, np.flatnonzero(model.dual_coef_.sum(axis=1)))
    assert np.all(model.kernel_weights_ >= 0)
    np.testing.assert_allclose(model.kernel_weights_.sum(), 1, rtol=ROUNDING)
    np.testing.assert_array_equal(model.feature_weights_, model.kernel_weights_)
    assert len(model.history_) == model.n_iter_
    assert model.history_[-1] == model.objective_
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(model.deltas_, 2 * z.var(axis=0) * 60 / 59, rtol=1e-10)
    K = sum(w * np.exp(-((z[:, [m]] - z[:, m]) ** 2) / model.deltas_[m]) for m, w in enumerate(model.kernel_weights_))
    np.testing.assert_allclose(model.embedding_, K @ model.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(model.similarity_, (K.sum() - 60) / (60 * 59), atol=1e-10)


def test_scores_rank_all_features():
    constant = np.hstack([X, np.ones((60, 1))])
    model = IKDR().fit(constant, Y)
    selected = model.feature_weights_ > 0
    np.testing.assert_array_equal(model.scores_[selected], model.feature_weights_[selected])
    assert np.all(model.scores_[:20] > -1)
    assert np.all(model.scores_[~selected] <= 0)
    assert model.scores_[20] == -1
    assert model.constant_features_.tolist() == [20]
    assert model.deltas_[20] == 0
    assert sorted(model.ranking_) == list(range(1, 22))
    assert np.all(np.diff(model.scores_[np.argsort(model.ranking_)]) <= 0)
    assert set(np.argsort(model.ranking_)[:2]) == {3, 7}
    assert model.ranking_[20] == 21
    np.testing.assert_array_equal(model.feature_weights_[:20], IKDR().fit(X, Y).feature_weights_)


def test_selection():
    model = IKDR().fit(X, Y)
    assert model.get_support(indices=True).tolist() == np.flatnonzero(model.feature_weights_).tolist()
    assert model.n_selected_ == model.get_support().sum() < 20
    np.testing.assert_array_equal(model.transform(X), X[:, model.get_support()])
    assert sorted(IKDR(2).fit(X, Y).get_support(indices=True)) == [3, 7]
    for number in (1, 15, 0.5):
        more = IKDR(number).fit(X, Y)
        assert more.n_selected_ == more.get_support().sum() == (10 if number == 0.5 else number)
    assert IKDR(0.5).fit(X, Y).transform(X).shape == (60, 10)
    assert IKDR(20).fit(X, Y).transform(X).shape == (60, 20)


# --------------------------------------------------------------------------------------------------------- new samples

KERNELS = {
    "one a feature": ({}, X, NEW),
    "float32": ({}, X.astype("f4"), NEW.astype("f4")),
    "as it is": ({"scaling": None}, X, NEW),
    "a constant among them": ({"groups": [*GROUPS, 0]}, np.c_[X, np.ones(60)], np.c_[NEW, np.full(9, 7.0)]),
    "groups": ({"groups": GROUPS}, X, NEW),
    "all": ({"groups": "all"}, X, NEW),
    "mean": ({"width": "mean"}, X, NEW),
    "given": ({"width": 0.7}, X, NEW),
    "admm": ({"solver": "admm", "tau": 10.0, "zeta": 10.0, "max_iter": 3, "tol": 1.0}, X, NEW),
    "own": ({"kernel": rbf_kernel}, X, NEW),
    "own, groups": ({"kernel": rbf_kernel, "groups": GROUPS}, X, NEW),
    "own, all": ({"kernel": cosine_similarity, "groups": "all"}, X, NEW),
}


@pytest.mark.parametrize("case", KERNELS)
def test_embed_of_the_training_data_is_the_embedding(case):
    options, data, new = KERNELS[case]
    model = IKDR(**options).fit(data, Y)
    # float32: similarities are rounded to it, and differences of values that were are squared.
    atol = 1e-5 if data.dtype == np.float32 else 1e-10
    embedded = model.embed(data)
    np.testing.assert_allclose(embedded, model.embedding_, atol=atol)
    assert embedded.dtype == np.float64
    of_new = model.embed(new)
    assert of_new.shape == (9, 3)
    assert np.isfinite(of_new).all()
    np.testing.assert_allclose(model.embed(new[4:5])[0], of_new[4], atol=atol)
    # Rounding X to float32 moves what is compared by 1e-7, and K by a few times that.
    np.testing.assert_allclose(model.embed(new.astype("f4")), of_new, atol=1e-5)


def test_embed_uses_what_has_weight_only():
    model = IKDR().fit(X, Y)
    other = NEW.copy()
    other[:, model.feature_weights_ == 0] = 1e6
    np.testing.assert_array_equal(model.embed(other), model.embed(NEW))


def test_embed_does_not_depend_on_later_changes_of_the_data():
    for options in ({}, {"kernel": rbf_kernel}):
        data = X.copy()
        model = IKDR(**options).fit(data, Y)
        expected = model.embed(NEW)
        data[:] = 0
        np.testing.assert_array_equal(model.embed(NEW), expected)


def test_groups_by_any_labels():
    by_name = np.array(["alpha", "beta", "gamma", "delta", "eta"])[GROUPS]
    model = IKDR(groups=by_name).fit(X, Y)
    numbers = IKDR(groups=GROUPS).fit(X, Y)
    assert model.group_labels_.tolist() == sorted(set(by_name))
    assert numbers.group_labels_.tolist() == [0, 1, 2, 3, 4]
    assert model.kernel_weights_.shape == (5,)
    order = [["alpha", "beta", "gamma", "delta", "eta"].index(name) for name in model.group_labels_]
    np.testing.assert_allclose(model.kernel_weights_, numbers.kernel_weights_[order], atol=1e-6)
    for label, weight in zip(model.group_labels_, model.kernel_weights_, strict=True):
        np.testing.assert_allclose(model.feature_weights_[by_name == label], weight / 4, rtol=ROUNDING)
    one = IKDR(groups=["all"] * 20).fit(X, Y)
    np.testing.assert_array_equal(one.embedding_, IKDR(groups="all").fit(X, Y).embedding_)


def test_a_constant_feature_takes_no_part_of_its_group():
    constant = np.hstack([X, np.ones((60, 1))])
    model = IKDR(groups=[*GROUPS, 0]).fit(constant, Y)
    plain = IKDR(groups=GROUPS).fit(X, Y)
    np.testing.assert_array_equal(model.feature_weights_, [*plain.feature_weights_, 0])
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)


def test_a_group_of_constants_has_no_kernel():
    constant = np.hstack([X, np.ones((60, 2))])
    for kernel in ("rbf", rbf_kernel):
        model = IKDR(groups=[*GROUPS, 9, 9], kernel=kernel).fit(constant, Y)
        plain = IKDR(groups=GROUPS, kernel=kernel).fit(X, Y)
        np.testing.assert_array_equal(model.kernel_weights_, [*plain.kernel_weights_, 0])
        assert model.constant_features_.tolist() == [20, 21]
        assert model.scores_[20] == model.scores_[21] == -1


@pytest.mark.parametrize(
    "options, how", [({"groups": "all"}, "groups='all'"), ({"kernel": "precomputed"}, "kernel='precomputed'")]
)
def test_modes_that_select_nothing(options, how):
    data = rbf_kernel(X) if "kernel" in options else X
    model = IKDR(**options).fit(data, Y)
    assert model.embed(data).shape == (60, 3)
    for call in (model.get_support, lambda: model.transform(data), model.get_feature_names_out):
        with pytest.raises(ValueError, match=f"^IKDR selects no features with {how}: embed"):
            call()


def test_kernels_of_the_caller_equal_our_own():
    """The same Gaussian kernels by three doors."""
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = IKDR().fit(X, Y)
    kernels = [np.exp(-((z[:, [m]] - z[:, m]) ** 2) / delta) for m, delta in enumerate(ours.deltas_)]
    given = IKDR(kernel="precomputed").fit(kernels, Y)
    np.testing.assert_allclose(given.kernel_weights_, ours.kernel_weights_, atol=1e-2)
    np.testing.assert_allclose(given.objective_, ours.objective_, rtol=TOLERANCE)
    width = 60 / 59 * 2
    own = IKDR(kernel=lambda A, B: rbf_kernel(A, B, gamma=1 / width)).fit(z, Y)
    np.testing.assert_allclose(own.kernel_weights_, ours.kernel_weights_, atol=1e-2)
    np.testing.assert_allclose(own.objective_, ours.objective_, rtol=TOLERANCE)


def test_kernels_that_return_the_same_array_again():
    memory = np.empty((60, 60))

    def kernel(A, B):
        found = memory[: len(A), : len(B)]
        found[:] = rbf_kernel(A, B)
        return found

    model, expected = (IKDR(kernel=k).fit(X, Y) for k in (kernel, rbf_kernel))
    assert np.count_nonzero(model.kernel_weights_) > 1
    np.testing.assert_array_equal(model.kernel_weights_, expected.kernel_weights_)
    np.testing.assert_allclose(model.embed(NEW), expected.embed(NEW), rtol=ROUNDING)


def test_precomputed_kernels():
    kernels = [rbf_kernel(X[:, own]) for own in np.split(np.arange(20), 5)]
    model = IKDR(kernel="precomputed").fit(kernels, Y)
    assert model.kernel_weights_.shape == model.scores_.shape == model.ranking_.shape == (5,)
    assert not hasattr(model, "feature_weights_")
    assert not hasattr(model, "n_selected_")
    np.testing.assert_allclose(model.embed(kernels), model.embedding_, atol=1e-10)
    np.testing.assert_array_equal(model.embed(np.array(kernels)), model.embed(tuple(kernels)))
    np.testing.assert_array_equal(IKDR(kernel="precomputed").fit(np.array(kernels), Y).embedding_, model.embedding_)
    theirs = [rbf_kernel(NEW[:, own], X[:, own]) for own in np.split(np.arange(20), 5)]
    mixed = sum(weight * K for weight, K in zip(model.kernel_weights_, theirs, strict=True))
    np.testing.assert_allclose(model.embed(theirs), mixed @ model.dual_coef_, atol=1e-10)

    one = IKDR(kernel="precomputed").fit(kernels[0], Y)
    assert one.kernel_weights_.tolist() == [1.0]
    np.testing.assert_array_equal(one.embedding_, IKDR(kernel="precomputed").fit(kernels[0].tolist(), Y).embedding_)
    np.testing.assert_allclose(one.embed(theirs[0]), theirs[0] @ one.dual_coef_, atol=1e-10)


def test_sparse_text():
    documents, labels = counts(60)
    model = IKDR(groups="all", kernel=cosine_similarity).fit(documents, labels)
    np.testing.assert_allclose(model.embed(documents), model.embedding_, atol=1e-10)
    dense = IKDR(groups="all", kernel=cosine_similarity).fit(documents.toarray(), labels)
    np.testing.assert_allclose(dense.embedding_, model.embedding_, atol=1e-10)
    other, truth = counts(40, seed=1)
    nearest = KNeighborsClassifier(1).fit(model.embedding_, labels)
    assert nearest.score(model.embed(other), truth) > 0.8
    as_array = IKDR(groups="all", kernel=cosine_similarity).fit(sparse.csc_array(documents), labels)
    np.testing.assert_array_equal(as_array.embed(sparse.coo_array(documents)), model.embed(documents))
    in_groups = IKDR(groups=np.arange(40) // 10, kernel=cosine_similarity).fit(documents.tocsc(), labels)
    np.testing.assert_allclose(in_groups.embed(documents), in_groups.embedding_, atol=1e-10)
    assert in_groups.kernel_weights_[:2].sum() > 0.99


def test_path():
    path = fastfs.ikdr_path(X, Y, [0.01, 0.1, 1.0])
    assert [result.lam for result in path] == [0.01, 0.1, 1.0]
    first = fastfs.ikdr(X, Y, lam=0.01)
    np.testing.assert_array_equal(path[0].A, first.A)
    np.testing.assert_array_equal(path[0].weights, first.weights)
    warm = fastfs.ikdr(X, Y, lam=0.1, start=(first.A, first.weights))
    np.testing.assert_allclose(path[1].objective, warm.objective, rtol=1e-3)
    for result in path:
        np.testing.assert_allclose(result.embed(X), result.embedding, atol=1e-10)


def test_start_of_the_estimator():
    """It is that of the function, and a clone has it."""
    A = np.random.default_rng(0).dirichlet(np.ones(len(Y)), 3).T
    start = (A, np.full(20, 0.05))
    model, found = clone(fastfs.IKDR(start=start)).fit(X, Y), fastfs.ikdr(X, Y, start=start)
    assert model.objective_ == found.objective != fastfs.ikdr(X, Y).objective
    np.testing.assert_array_equal(model.dual_coef_, found.A)


def test_start():
    found = fastfs.ikdr(X, Y)
    again = fastfs.ikdr(X, Y, start=(found.A, found.weights))
    assert again.objective <= found.objective * (1 + 1e-9)
    assert again.n_iter <= 2
    assert fastfs.ikdr(X, Y, start=[found.A, found.weights]).objective == again.objective
    of_A = fastfs.ikdr(X, Y, start=found.A)
    assert of_A.weights.shape == (20,)
    own = fastfs.ikdr(X, Y, kernel=rbf_kernel, start=(found.A, np.full(20, 0.05)))
    assert np.isfinite(own.objective)


# ---------------------------------------------------------------------------------------------------- names and labels


def test_labels_of_any_kind():
    names = np.array(["ill", "mild", "well"])[Y]
    expected = IKDR().fit(X, Y)
    for labels in (names, names.astype(object), pd.Series(names).astype("category"), polars.Series(names)):
        named = IKDR().fit(X, labels)
        assert named.classes_.tolist() == ["ill", "mild", "well"]
        np.testing.assert_array_equal(named.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_names_of_features(frame):
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    model = IKDR(2).fit(table, Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.get_feature_names_out().tolist() == ["gene 3", "gene 7"]
    np.testing.assert_allclose(model.embed(table), model.embedding_, atol=1e-10)
    renamed = frame(dict(zip(["x", *NAMES[1:]], X.T, strict=True)))
    for call in (model.transform, model.embed):
        with pytest.raises(ValueError, match="feature names"):
            call(renamed)


def test_set_output():
    table = pd.DataFrame(X, columns=NAMES)
    out = IKDR(2).set_output(transform="pandas").fit(table, Y).transform(table)
    assert list(out.columns) == ["gene 3", "gene 7"]


def test_layouts_and_kinds_of_numbers():
    whole = np.round(4 * X)
    expected = IKDR().fit(whole, Y)
    for data in (np.asfortranarray(whole), whole.astype(int), whole.tolist(), np.repeat(whole, 2, axis=1)[:, ::2]):
        found = IKDR().fit(data, Y)
        np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
        np.testing.assert_allclose(found.embed(data), found.embedding_, atol=1e-10)


def test_input_is_left_as_it_is():
    data, labels, groups = X.copy(), Y.copy(), GROUPS.copy()
    model = IKDR(groups=groups).fit(data, labels)
    model.embed(data)
    for now, before in ((data, X), (labels, Y), (groups, GROUPS)):
        np.testing.assert_array_equal(now, before)


# -------------------------------------------------------------------------------------------------- pickles, processes


@pytest.mark.parametrize("options", [{}, {"groups": GROUPS}, {"kernel": rbf_kernel}], ids=["rbf", "groups", "own"])
def test_pickles(options):
    model = IKDR(2, **options).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.embed(NEW), model.embed(NEW))
    np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))


def test_pickles_are_small():
    """Rows that no dimension is made of, and columns without weight, aren't kept."""
    wide = np.hstack([X, RNG.normal(size=(60, 2000))])
    model = IKDR().fit(wide, Y)
    assert len(pickle.dumps(model)) < wide.nbytes / 5
    result = fastfs.ikdr(wide, Y)
    assert len(pickle.dumps(result.embedder)) < 20_000


def test_a_pickle_embeds_in_another_process(tmp_path, python):
    path = tmp_path / "model.pkl"
    model = IKDR().fit(X, Y)
    path.write_bytes(pickle.dumps(model))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).embed([[0.0] * 20]).tolist())"
    finished = python(code, path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == str(model.embed([[0.0] * 20]).tolist())


def test_refit_forgets_what_it_no_longer_has():
    model = IKDR(groups=GROUPS).fit(pd.DataFrame(X, columns=NAMES), Y)
    model.set_params(groups=None).fit(X[:, :8], Y)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "group_labels_")
    assert model.n_features_in_ == len(model.scores_) == 8
    model.set_params(kernel="precomputed").fit(rbf_kernel(X), Y)
    assert not hasattr(model, "feature_weights_")
    assert not hasattr(model, "deltas_")


def test_a_failed_refit_changes_nothing():
    model = IKDR().fit(X, Y)
    before = model.embed(NEW)
    broken = X[:, :9].copy()
    broken[5, 4] = np.nan
    with pytest.raises(ValueError, match="row 5, column 4"):
        model.fit(broken, Y)
    assert model.n_features_in_ == 20
    np.testing.assert_array_equal(model.embed(NEW), before)


def test_in_threads_of_joblib():
    alone = IKDR().fit(X, Y)
    fits = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(IKDR().fit)(X, Y) for _ in range(3))
    for fitted in fits:
        np.testing.assert_array_equal(fitted.dual_coef_, alone.dual_coef_)
        np.testing.assert_array_equal(fitted.embedding_, alone.embedding_)


def test_pipeline_and_search():
    pipeline = make_pipeline(IKDR(), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, {"ikdr__lam": [0.01, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_["ikdr__lam"] in (0.01, 1.0)
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.8


def test_progress():
    seen = []
    IKDR(verbose=lambda step, fraction: seen.append((step, fraction))).fit(X, Y)
    assert all(isinstance(step, str) and 0 <= fraction <= 1 for step, fraction in seen)

    def stop(step, fraction):
        raise RuntimeError("enough")

    wide = RNG.normal(size=(120, 20_000))
    with pytest.raises(RuntimeError, match="enough"):
        fastfs.ikdr(wide, np.arange(120) % 2, progress=stop)


# ------------------------------------------------------------------------------------------------------------ pictures


def test_class_profile():
    names = np.array(["a$b", "c", "d"])[Y]
    model = IKDR(n_components=5).fit(X, names)
    ax = pl.class_profile(model, ax=Figure().add_subplot())
    drawn = ax.images[0].get_array()
    order = [int(label.get_text()) for label in ax.get_xticklabels()]
    assert sorted(order) == list(range(5))
    np.testing.assert_array_equal(drawn, model.class_profile_[:, order])
    assert np.all(np.diff(drawn.argmax(axis=0)) >= 0)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a$b", "c", "d"]
    assert ax.get_title(loc="left") == f"I_p = {model.interpretability_:.2f}"
    written = {text.get_position(): text.get_text() for text in ax.texts}
    for (column, row), text in written.items():
        assert text == f"{drawn[row, column]:.2f}"
    assert len(written) == np.sum(drawn >= 0.005)
    ax.figure.savefig(io_module.BytesIO())

    found = fastfs.ikdr(X, names, n_components=5)
    ax = pl.class_profile(found, title="H A")
    assert ax.get_title(loc="left") == "H A"
    np.testing.assert_array_equal(ax.images[0].get_array(), found.class_profile[:, order])


def test_class_profile_of_bad_input():
    for source in (IKDR(), X, fastfs.DiSC()):
        with pytest.raises(ValueError, match="source must be a fitted IKDR"):
            pl.class_profile(source)


# -------------------------------------------------------------------------------------------------------- command line


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).assign(state=np.array(["ill", "mild", "well"])[Y])
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


@pytest.fixture
def command(table, inside):
    return lambda *arguments: inside("score", "table.csv", "--label=state", "--method=ikdr", *arguments, cwd=table)


def test_command_line(table, command):
    parameters = {"lam": 0.2, "mu": 0.05, "tau": 20, "zeta": 30, "interpretability": "distance", "width": 2.5}
    options = [f"--method-option={name}={value}" for name, value in parameters.items()]
    finished = command("--n-components=4", *options, "--top=8", "--out=ranking.json", "--plot=ranking.png")
    assert finished.returncode == 0, finished.stderr
    expected = IKDR(n_components=4, **parameters).fit(X, Y)
    summary = finished.stderr.splitlines()[-1]
    assert summary.startswith("IKDR scored 20 features of 60 samples (ill: 20, mild: 20, well: 20)")
    assert f" and selected {expected.n_selected_};" in summary
    written = json.loads((table / "ranking.json").read_text())
    assert [row["feature"] for row in written["ranking"]] == [NAMES[j] for j in np.argsort(expected.ranking_)[:8]]
    assert written["n_selected"] == expected.n_selected_
    np.testing.assert_allclose(written["ikdr"]["objective"], expected.objective_, rtol=1e-9)
    assert written["ikdr"]["converged"] is expected.converged_
    np.testing.assert_allclose(written["ikdr"]["class_profile"]["mild"], expected.class_profile_[1], atol=1e-9)
    assert written["parameters"]["width"] == 2.5
    assert (table / "ranking.png").stat().st_size > 1000


def test_defaults_on_the_command_line(table, command):
    finished = command("--out=ranking.json")
    assert finished.returncode == 0, finished.stderr
    written = json.loads((table / "ranking.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert written["parameters"]["tau"] == "inf"
    assert written["ranking"][0]["feature"] in ("gene 3", "gene 7")
    assert command("--top=3").returncode == 0


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--method-option=lam=-1"], "lam must be a number of at least 0"),
        (["--method-option=width=wide"], "width must be 'mean_squared', 'mean' or a positive number; got 'wide'"),
        (["--method-option=solver=newton"], "solver must be 'projected_gradient' or 'admm'"),
        (["--method-option=tau=0"], "tau must be"),
        (["--n-components=61"], "n_components must be from 1 to the 60 samples"),
        (["--method-option=groups=all"], "groups=all ranks no features"),
        (["--method-option=kernel=precomputed"], "kernel=precomputed ranks no features"),
        (["--n-components=2", "--method-option=n_components=3"], "are the same"),
        (["--lam=1"], "No such option: --lam"),
        (["--sigma=1"], "no option --sigma"),
    ],
)
def test_command_line_refuses(command, arguments, part):
    finished = command(*arguments)
    assert finished.returncode == 2
    (line,) = finished.stderr.splitlines()
    assert line.startswith("Error: ")
    assert part in line
    assert finished.stdout == ""


def test_options_of_other_methods(table, inside):
    finished = inside("score", "table.csv", "--label=state", "--method=relieff", "--n-components=1", cwd=table)
    assert finished.returncode == 2
    assert "Method 'relieff' has no option --n-components" in finished.stderr


def test_not_fitted():
    for call in (lambda: IKDR().embed(X), lambda: IKDR().transform(X), lambda: IKDR().get_support()):
        with pytest.raises(NotFittedError):
            call()
