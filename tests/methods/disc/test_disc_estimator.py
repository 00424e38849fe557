"""fastfs.DiSC as scikit-learn and its users handle it; its pictures; its word on the command line."""

import io as io_module
import json
import pickle
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import fastfs
from covering import covering, together
from fastfs import DiSC, pl
from reference import disc as oracle
from sklearn_checks import assert_passes_checks

RNG = np.random.default_rng(0)
Y = np.arange(120) % 2
X = RNG.normal(size=(120, 50))
X[Y == 1, :8] += 2 * RNG.normal(size=(60, 1))  # tied to each other in class 1 only
X[Y == 0, 20:26] += 2 * RNG.normal(size=(60, 1))  # and in class 0 only
X[:, 40:] += 2 * RNG.normal(size=(120, 1))  # in both
NAMES = [f"gene {j}" for j in range(50)]
HOW = {"n_components": 3, "bandwidth_neighbors": 5, "n_vectors": 5, "n_differential": 1}


# ------------------------------------------------------------------------------------------------------- scikit-learn


@pytest.fixture
def wide_checks(monkeypatch):
    """Most of the checks have two or three features, where DiSC needs more: they get more, made from theirs."""
    enforce = estimator_checks._enforce_estimator_tags_X
    mixing = 0.3 * np.random.default_rng(0).normal(size=(30, 12))

    def widened(estimator, X, **options):
        X = enforce(estimator, X, **options)
        if isinstance(X, np.ndarray) and X.ndim == 2 and 2 <= X.shape[1] < 12 and X.dtype.kind == "f":
            X = np.hstack([X, np.sin(X @ mixing[: X.shape[1]]).astype(X.dtype)])
        return X

    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", widened)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # the checks use tiny data
@pytest.mark.parametrize(
    "estimator",
    [DiSC(n_components=1, bandwidth_neighbors=2), DiSC(1, n_components=1, graph="knn", n_groups=2)],
    ids=str,
)
def test_scikit_learn_checks(estimator, wide_checks):
    assert_passes_checks(estimator, {"check_estimators_nan_inf": "three features, which are refused first"})


def test_parameters_are_stored_untouched():
    given = {name: object() for name in DiSC().get_params()}
    estimator = DiSC(**given)
    assert all(getattr(estimator, name) is value for name, value in given.items())
    assert estimator.get_params() == given


def test_clone_and_repr():
    estimator = DiSC(2, **HOW).fit(X, Y)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "scores_")
    assert repr(DiSC(2, graph="dense")) == "DiSC(graph='dense', n_features_to_select=2)"


def test_attributes():
    estimator = DiSC(14, n_groups=2, **HOW).fit(X, Y)
    found = fastfs.disc([X[Y == 0], X[Y == 1]], **HOW)
    np.testing.assert_array_equal(estimator.classes_, [0, 1])
    pairs = {
        "scores_": found.scores,
        "class_scores_": found.set_scores,
        "significance_": found.significance,
        "vectors_": found.vectors,
        "trivial_": found.trivial,
        "statistic_": found.statistic,
        "n_differential_": found.n_differential,
        "ratio_": found.ratio,
        "gap_": found.gap,
        "n_connected_components_": found.n_connected_components,
        "bandwidths_": found.bandwidths,
    }
    for name, value in pairs.items():
        np.testing.assert_array_equal(getattr(estimator, name), value, err_msg=name)
    assert sorted(estimator.ranking_) == list(range(1, 51))
    assert estimator.get_support(indices=True).tolist() == [*range(8), *range(20, 26)]
    assert estimator.vectors_.shape == (2, 50, 5)
    assert [len(values) for values in estimator.eigenvalues_] == [4, 4]
    assert not hasattr(estimator, "graph_recall_")


def test_groups():
    estimator = DiSC(n_groups=2, **HOW).fit(X, Y)
    assert np.flatnonzero(estimator.groups_[0] == 0).tolist() == list(range(20, 26))
    assert np.flatnonzero(estimator.groups_[1] == 0).tolist() == list(range(8))
    assert set(np.unique(estimator.groups_)) == {-1, 0}
    everything = DiSC(n_groups=2, drop_largest=False, **HOW).fit(X, Y)
    assert set(np.unique(everything.groups_)) == {0, 1}
    np.testing.assert_array_equal(everything.groups_ == 0, estimator.groups_ == 0)
    assert not hasattr(DiSC(**HOW).fit(X, Y), "groups_")


def test_meta_features():
    estimator = DiSC(n_groups=2, **HOW).fit(X, Y)
    by_vectors = estimator.meta_features(X[:7])
    leading = [np.flatnonzero(~estimator.trivial_[s])[0] for s in range(2)]
    expected = np.column_stack([X[:7] @ estimator.vectors_[s][:, j] for s, j in enumerate(leading)])
    np.testing.assert_allclose(by_vectors, expected, rtol=1e-12)
    by_groups = estimator.meta_features(X[:7], by="groups")
    expected = np.column_stack([X[:7, 20:26].mean(axis=1), X[:7, :8].mean(axis=1)])
    np.testing.assert_allclose(by_groups, expected, rtol=1e-12)
    np.testing.assert_allclose(estimator.meta_features(sparse.csr_matrix(X[:7])), by_vectors, rtol=1e-12)
    scaled = DiSC(scaling="standard", **HOW).fit(X, Y)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = DiSC(**HOW).fit(z, Y)
    np.testing.assert_allclose(scaled.meta_features(X), plain.meta_features(z), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"graph": "knn"}, {"scaling": "standard"}])
def test_not_finite_names_rows_of_X(options):
    bad = X.copy()
    row = np.flatnonzero(Y == 1)[4]
    bad[row, 7] = np.inf
    with pytest.raises(ValueError, match=rf"^X must be finite; got NaN or infinity first at row {row}, column 7: "):
        DiSC(**HOW | options).fit(bad, Y)


def test_meta_features_of_bad_input():
    estimator = DiSC(**HOW).fit(X, Y)
    with pytest.raises(ValueError, match="the fit must have groups; got none"):
        estimator.meta_features(X, by="groups")
    with pytest.raises(ValueError, match="by must be 'vectors' or 'groups'"):
        estimator.meta_features(X, by="names")
    with pytest.raises(ValueError, match="X has 49 features, but DiSC is expecting 50"):
        estimator.meta_features(X[:, 1:])
    with pytest.raises(ValueError, match="X has masked values"):
        estimator.meta_features(np.ma.masked_greater(X, 1))
    bad = X.copy()
    bad[3, 4] = np.nan
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match="X must be finite; got NaN or infinity first at row 3, column 4"):
            estimator.meta_features(form(bad))
    with pytest.raises(ValueError, match="fill sparse X"):
        DiSC(scaling="standard", **HOW).fit(X, Y).meta_features(sparse.csr_matrix(X))


def test_labels_of_any_kind():
    named = DiSC(**HOW).fit(X, np.where(Y == 1, "treated", "control"))
    numbers = DiSC(**HOW).fit(X, Y)
    assert named.classes_.tolist() == ["control", "treated"]
    np.testing.assert_array_equal(named.vectors_, numbers.vectors_)


def test_names_of_features():
    frame = pd.DataFrame(X, columns=NAMES)
    estimator = DiSC(8, **HOW).fit(frame, Y)
    assert estimator.feature_names_in_.tolist() == NAMES
    assert estimator.get_feature_names_out().tolist() == [NAMES[j] for j in estimator.get_support(indices=True)]
    assert estimator.set_output(transform="pandas").transform(frame).shape == (120, 8)


def test_pickles():
    estimator = DiSC(3, n_groups=3, **HOW).fit(X, Y)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.meta_features(X, by="groups"), estimator.meta_features(X, by="groups"))


def test_chunks_and_sparse():
    expected = DiSC(graph="knn", **HOW).fit(X, Y)
    chunks = DiSC(graph="knn", **HOW).fit(iter([X[:50], X[50:]]), Y)
    np.testing.assert_array_equal(chunks.vectors_, expected.vectors_)
    found = DiSC(graph="knn", **HOW).fit(sparse.csc_matrix(X), Y)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=0, atol=1e-10)


@covering(graph=["dense", "knn", "lists"], order=["C", "F"], scaling=[None, "standard"])
def test_rows_of_classes_anywhere(graph, order, scaling):
    """Rows are read where they are, with the bits of a table for each class."""
    y = np.random.default_rng(3).permutation(Y)
    table = np.asarray(X, dtype=np.float32, order=order)
    how = HOW | {"graph": graph, "scaling": scaling, "n_neighbors": 12}
    fitted, apart = DiSC(**how).fit(table, y), fastfs.disc([table[y == c] for c in (0, 1)], **how)
    np.testing.assert_array_equal(fitted.vectors_, apart.vectors)
    np.testing.assert_array_equal(fitted.significance_, apart.significance)
    np.testing.assert_array_equal(fitted.bandwidths_, apart.bandwidths)


def test_pipeline_and_search():
    pipeline = make_pipeline(DiSC(10, **HOW), LogisticRegression())
    search = GridSearchCV(pipeline, {"disc__n_components": [2, 3]}, cv=2).fit(X, Y)
    assert search.best_params_["disc__n_components"] in (2, 3)


def test_in_threads_of_joblib():
    alone = DiSC(**HOW).fit(X, Y)
    fits = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(DiSC(**HOW).fit)(X, Y) for _ in range(3))
    for fitted in fits:
        np.testing.assert_array_equal(fitted.vectors_, alone.vectors_)


def test_the_statistic_of_a_permutation_test():
    """Sets that differ stay above all of the null's statistics; sets that don't, don't."""
    rng = np.random.default_rng(1)

    def largest(labels, table):
        return DiSC(**HOW).fit(table, labels).statistic_.max()

    null = [largest(rng.permutation(Y), X) for _ in range(19)]
    assert largest(Y, X) > max(null)
    noise = rng.normal(size=X.shape)
    null = [largest(rng.permutation(Y), noise) for _ in range(19)]
    assert np.sum(largest(Y, noise) <= np.array(null)) >= 1


BAD = {
    "one class": (lambda: DiSC(**HOW).fit(X, np.zeros(120)), "at least two classes; got one class"),
    "no labels": (lambda: DiSC(**HOW).fit(X, None), "requires y to be passed"),
    "row of the table": (
        lambda: DiSC(**HOW).fit(np.where(np.arange(120 * 50).reshape(120, 50) == 61 * 50 + 4, np.nan, X), Y),
        "X must be finite; got NaN or infinity first at row 61, column 4",
    ),
    "names of classes": (
        lambda: DiSC(**HOW).fit(np.where((Y == 1)[:, None], 1.0, X), np.where(Y == 1, "ill", "well")),
        "features of class ill must differ",
    ),
    "groups": (lambda: DiSC(n_groups=51, **HOW).fit(X, Y), "n_groups must lie between 1 and the 50 features"),
    "too many to select": (lambda: DiSC(51, **HOW).fit(X, Y), "n_features_to_select must lie between 1 and 50"),
    "three features": (
        lambda: DiSC(**HOW).fit(X[:, :3], Y),
        "must have at least 4 features for graphs",
    ),
    "jobs": (lambda: DiSC(n_jobs=0, **HOW).fit(X, Y), "n_jobs must not be 0"),
    "scaled sparse": (
        lambda: DiSC(scaling="standard", **HOW).fit(sparse.csr_matrix(X), Y),
        "X must be dense for scaling='standard'",
    ),
}


@together
@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_types():
    with pytest.raises(TypeError, match="n_groups must be an integer"):
        DiSC(n_groups=2.5, **HOW).fit(X, Y)
    with pytest.raises(TypeError, match="drop_largest must be True or False; got 1"):
        DiSC(n_groups=2, drop_largest=1, **HOW).fit(X, Y)


def test_the_copy_of_sparse_rows_counts():
    with pytest.raises(MemoryError, match=r"a copy of X by classes would need 48000 bytes"):
        DiSC(max_memory="40K", **HOW).fit(sparse.csr_matrix(X), Y)


def test_a_failed_fit_leaves_the_earlier_one():
    estimator = DiSC(**HOW).fit(X, Y)
    before = estimator.vectors_
    with pytest.raises(ValueError, match="density"):
        estimator.set_params(density=2).fit(X, Y)
    assert estimator.vectors_ is before


def test_warnings_name_the_class():
    with pytest.warns(fastfs.DataWarning, match="one sample only in class b"):
        DiSC(**HOW).fit(X[:30], ["a"] * 29 + ["b"])


# ------------------------------------------------------------------------------------------------------------ pictures


def test_significance():
    estimator = DiSC(**HOW).fit(X, Y)
    ax = pl.significance(estimator, ax=Figure().add_subplot(), title="toy $1")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
    curve = next(line for line in ax.lines if line.get_label() == "1")
    np.testing.assert_array_equal(curve.get_ydata(), estimator.significance_[1])
    filled = [line for line in ax.lines if line.get_marker() == "o" and line.get_markerfacecolor() != "white"]
    assert [len(line.get_xdata()) for line in filled] == [1, 1]
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [len(line.get_xdata()) for line in crosses] == estimator.trivial_.sum(axis=1).tolist()
    assert ax.get_yscale() == "log"
    ax.figure.savefig(io_module.BytesIO())
    found = fastfs.disc([X[Y == 0], X[Y == 1]], **HOW)
    ax = pl.significance(found, names=["a", "b"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    with pytest.raises(ValueError, match="names must name all 2 sets; got 1"):
        pl.significance(found, names=["a"])
    with pytest.raises(ValueError, match="found must be a fitted DiSC"):
        pl.significance(DiSC())


def test_group():
    estimator = DiSC(n_groups=2, **HOW).fit(pd.DataFrame(X, columns=NAMES), Y)
    figure = pl.group(estimator, X, Y, estimator.groups_[1] == 0, figure=Figure())
    control, treated = (ax.images[0].get_array() for ax in figure.axes[:2])
    assert control.shape == treated.shape == (16, 16)  # the group and as many others
    np.testing.assert_allclose(np.diag(treated), 1)
    off = ~np.eye(8, dtype=bool)
    # The map is W: of the group the same entries in another order, and others 42 * i // 8 places after it.
    from reference import disc as oracle

    W = oracle.affinity(X[Y == 1], 5)
    np.testing.assert_allclose(np.sort(treated[:8, :8][off]), np.sort(W[:8, :8][off]), rtol=1e-8)
    others = 8 + 42 * np.arange(8) // 8
    np.testing.assert_allclose(treated[8:, 8:], W[np.ix_(others, others)], rtol=1e-8)
    np.testing.assert_allclose(figure.axes[1].images[0].get_clim(), (0, W[:8, :8][off].max()), rtol=1e-8)
    # It stands out in one class only.
    assert treated[:8, :8][off].mean() > 5 * treated[:8, 8:].mean()
    assert control[:8, :8][off].mean() < 2 * control[:8, 8:].mean()
    shown = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert sorted(shown) == NAMES[:8]
    figure.savefig(io_module.BytesIO())
    figure = pl.group(estimator, sparse.csr_matrix(X), Y, np.arange(30), top=5, figure=Figure())
    assert figure.axes[0].images[0].get_array().shape == (10, 10)
    assert figure.axes[0].get_xlabel() == "the best 5 of 30 features of the group, 5 others"
    everything = pl.group(estimator, X, Y, np.arange(50), figure=Figure())
    assert everything.axes[0].images[0].get_array().shape == (50, 50)


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_group_in_any_unit(unit):
    shown = []
    for factor in (1.0, unit):
        estimator = DiSC(**HOW).fit(factor * X, Y)
        figure = pl.group(estimator, factor * X, Y, np.arange(8), figure=Figure())
        shown.append(figure.axes[1].images[0].get_array())
    np.testing.assert_allclose(shown[1], shown[0], rtol=1e-8)


@together
@pytest.mark.parametrize(
    "change, message",
    [
        ({"selector": DiSC()}, "selector must be a fitted DiSC"),
        ({"features": [3]}, "at least two column numbers"),
        ({"features": [3, 50]}, "between 0 and 49"),
        ({"features": [0.5, 1.5]}, "at least two column numbers"),
        ({"X": X[:, :40]}, "the 50 features of the fit"),
        ({"y": np.zeros(120)}, "got none of class 1"),
        ({"top": 1}, "top must be at least 2"),
        ({"feature_names": ["a"]}, "must name all 50 features; got 1"),
        ({"X": np.where(X > 3, np.nan, X)}, "must be finite; got nan in row"),
    ],
)
def test_group_of_bad_input(change, message):
    given = {"selector": DiSC(**HOW).fit(X, Y), "X": X, "y": Y, "features": [1, 2, 3], "figure": Figure()} | change
    with pytest.raises(ValueError, match=message):
        pl.group(**given)


# -------------------------------------------------------------------------------------------------------- command line


def test_command_line(tmp_path, inside):
    table = pd.DataFrame(X, columns=NAMES).assign(state=np.where(Y == 1, "ill", "well"))
    table.to_csv(tmp_path / "table.csv", index=False)
    options = [f"--method-option={name}={value}" for name, value in HOW.items()]
    options += ["--method-option=n_groups=3", "--top=8", "--out=ranking.json", "--plot=ranking.png"]
    finished = inside("score", "table.csv", "--label=state", "--method=disc", *options, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.startswith("DiSC scored 50 features of 120 samples (ill: 60, well: 60)")
    written = json.loads((tmp_path / "ranking.json").read_text())
    expected = DiSC(n_groups=3, **HOW).fit(X, table["state"])
    assert [row["feature"] for row in written["ranking"]] == [NAMES[j] for j in np.argsort(expected.ranking_)[:8]]
    assert written["disc"]["ill"]["significance"] == expected.significance_[0].tolist()
    assert written["disc"]["well"]["n_differential"] == 1
    for group in range(2):
        members = np.flatnonzero(expected.groups_[0] == group)
        assert written["disc"]["ill"]["groups"][group] == [NAMES[j] for j in members]
    assert (tmp_path / "ranking.png").stat().st_size > 1000


def test_an_array_of_usual_size():
    wide = np.random.default_rng(0).normal(size=(8, 22_283)).astype("f")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        model = DiSC(n_components=2, n_vectors=2).fit(wide, np.arange(8) % 2)
    assert model.graph_ == "knn"
    assert np.isfinite(model.scores_).all()
    with pytest.raises(ValueError, match="is for up to 20000 features; got 22283"):
        DiSC(graph="dense").fit(wide, np.arange(8) % 2)


def test_command_line_tells_the_graph(tmp_path, capsys, monkeypatch):
    from fastfs import __main__

    pd.DataFrame(X, columns=NAMES).assign(state=Y).to_csv(tmp_path / "table.csv", index=False)
    command = ["fastfs", "score", str(tmp_path / "table.csv"), "--label=state", "--method=disc", "--n-components=3"]
    monkeypatch.setattr(sys, "argv", [*command, "--method-option=graph=dense", "--out", str(tmp_path / "ranking.json")])
    assert __main__.main() == 0
    assert " on the dense graph; wrote" in " ".join(capsys.readouterr().err.split())
    written = json.loads((tmp_path / "ranking.json").read_text())
    assert written["graph"] == "dense"


# ------------------------------------------------------------------------------------- diffusion maps, cuts of groups


@pytest.mark.parametrize(
    "options",
    [{"graph": "dense"}, {"density": 0.3}, {"n_neighbors": 25}, {"scaling": "standard"}],
    ids=["dense", "density", "knn", "scaling"],
)
def test_cuts_of_groups(options):
    model = DiSC(**HOW, **options, n_groups=3).fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if "scaling" in options else X
    K = None if "graph" in options else options.get("n_neighbors", 30)
    graphs = [oracle.affinity(Z[c == Y], 5, K) for c in (0, 1)]
    groups = [of_class == group for of_class in model.groups_ for group in range(of_class.max() + 1)]
    expected = [[oracle.cut(W, members, options.get("density", 1.0)) for W in graphs] for members in groups]
    found = model.cuts(X, Y)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    expected = [[oracle.ratio_cut(W, members, options.get("density", 1.0)) for W in graphs] for members in groups]
    np.testing.assert_allclose(model.cuts(X, Y, kind="ratio"), expected, rtol=1e-10)
    first = model.groups_[0].max() + 1  # the best group of class 1
    assert found[first, 1] < found[first, 0]


def test_cuts_of_other_samples_and_names():
    model = DiSC(**HOW, n_groups=3).fit(X, np.array(["a", "b"])[Y])
    np.testing.assert_allclose(
        model.cuts(sparse.csr_matrix(X), np.array(["a", "b"])[Y]), model.cuts(X, np.array(["a", "b"])[Y])
    )
    with pytest.raises(ValueError, match=r"y must have the classes of the fit, \['a', 'b'\]; got \['a', 'c'\]"):
        model.cuts(X, np.array(["a", "c"])[Y])
    with pytest.raises(ValueError, match="kind must be 'normalized' or 'ratio'; got 'min'"):
        model.cuts(X, Y, kind="min")
    with pytest.raises(ValueError, match="49 features, but DiSC is expecting 50"):
        model.cuts(X[:, :49], np.array(["a", "b"])[Y])
    with pytest.raises(ValueError, match="the fit must have groups; got none"):
        DiSC(**HOW).fit(X, Y).cuts(X, Y)
    with pytest.raises(ValueError, match="a group must have some of the 50 features, not all; got 50 in group 0"):
        DiSC(**HOW, n_groups=1, drop_largest=False).fit(X, Y).cuts(X, Y)
    assert DiSC(**HOW, n_groups=1).fit(X, Y).cuts(X, Y).shape == (0, 2)


def test_diffusion_map():
    model = DiSC(**HOW).fit(X, Y)
    for c, found in enumerate(model.diffusion_map_):
        lam, U = oracle.diffusion(oracle.affinity(X[c == Y], 5, 30), 3)
        expected = (U * lam[:4])[:, 1:]
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=0, atol=1e-10)
