"""Assessment: the same numbers as a plain loop over the same folds, no leak, and errors that name what is wrong."""

import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import spearmanr
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import together
from fastfs._inference.assessment import Estimate
from fastfs._inference.folds import Folds

RANKINGS = {
    "anova": lambda X, y: f_classif(X, y)[0],
    "variance": lambda X, y: X.var(axis=0),
    "f": lambda X, y: f_regression(X, y)[0],
}


def problem(n=60, d=40, n_classes=2, seed=0, shift=1.0):
    X, y = np.random.default_rng(seed).normal(size=(n, d)), np.arange(n) % n_classes
    X[:, min(3, d - 1)] += shift * y
    return X, y


def times(events, values):
    return np.array(list(zip(events, values, strict=True)), dtype=[("event", bool), ("time", float)])


def plain_loop(X, y, grid, ranking, make, *, folds, leak=""):
    """Predictions of held-out samples for each number of features, and what a step that sees them would do."""
    told = {k: [] for k in grid}
    for fold in range(folds.max() + 1):
        train, held = folds != fold, folds == fold
        of = np.ones(len(y), dtype=bool) if leak == "selection" else train
        order = np.argsort(-RANKINGS[ranking](X[of], y[of]), kind="stable")
        for k in grid:
            scaler = StandardScaler().fit(X[:, order[:k]] if leak == "scaling" else X[train][:, order[:k]])
            model = make().fit(scaler.transform(X[train][:, order[:k]]), y[train])
            told[k].append((np.flatnonzero(held), model, scaler.transform(X[held][:, order[:k]])))
    return told


def folds_of(y, n_splits, repeat, seed=0, groups=None, blocks=None):
    return Folds(y, blocks, groups).deal(n_splits, np.random.default_rng((seed, 0, repeat)))


MODELS = {
    "logistic": lambda: LogisticRegression(class_weight="balanced", max_iter=1000),
    "centroid": lambda: NearestCentroid(shrink_threshold=0.5),
}


@pytest.mark.parametrize("classifier", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ranking", ["anova", "variance"])
def test_classes_agree_with_a_plain_loop(classifier, n_classes, ranking):
    X, y = problem(n_classes=n_classes)
    grid = [1, 4, 12]
    found = fastfs.assess(
        X, y, methods=["relieff"], n_features=grid, classifier=classifier, n_splits=4, n_repeats=2
    ).to_frame()
    found = found[found.method == ranking].set_index("n_features")
    accuracies, areas = {k: [] for k in grid}, {k: [] for k in grid}
    for repeat in range(2):
        folds = folds_of(y, 4, repeat)
        for k, parts in plain_loop(X, y, grid, ranking, MODELS[classifier], folds=folds).items():
            labels = np.empty(len(y), dtype=int)
            of_fold = []
            for rows, model, values in parts:
                told = model.predict_proba(values)
                if classifier == "centroid" and n_classes == 3:  # scikit-learn leaves out the 1/2 of the exponent
                    told = softmax(model.decision_function(values) / 2, axis=1)
                labels[rows] = told.argmax(axis=1)
                of_fold.append(
                    roc_auc_score(y[rows], told[:, 1])
                    if n_classes == 2
                    else roc_auc_score(y[rows], told, multi_class="ovr", average="macro")
                )
            accuracies[k].append(balanced_accuracy_score(y, labels))
            areas[k].append(np.mean(of_fold))
    for k in grid:
        assert found.balanced_accuracy[k] == pytest.approx(np.mean(accuracies[k]), abs=1e-12)
        assert found.auc[k] == pytest.approx(np.mean(areas[k]), abs=1e-12)


def test_numbers_agree_with_a_plain_loop():
    X, _ = problem()
    y = X[:, 3] + 0.5 * np.random.default_rng(1).normal(size=60)
    found = fastfs.assess(X, y, n_features=[1, 5], n_repeats=1)
    assert found.methods == ("multisurf", "projse", "anova", "variance")
    assert found.metrics == ("r2", "rank_correlation")
    assert found.classifier == "ridge"
    found = found.to_frame()
    found = found[found.method == "anova"].set_index("n_features")
    folds = folds_of(y, 5, 0)
    loop = plain_loop(X, y, [1, 5], "f", lambda: RidgeCV((0.1, 1.0, 10.0, 100.0, 1000.0)), folds=folds)
    for k, parts in loop.items():
        told, means, of_fold = np.empty(60), np.empty(60), []
        for rows, model, values in parts:
            told[rows], means[rows] = model.predict(values), np.delete(y, rows).mean()
            of_fold.append(spearmanr(told[rows], y[rows]).statistic)
        assert found.r2[k] == pytest.approx(1 - ((y - told) ** 2).sum() / ((y - means) ** 2).sum(), abs=1e-10)
        assert found.rank_correlation[k] == pytest.approx(np.mean(of_fold), abs=1e-12)


def test_times_agree_with_a_plain_loop():
    """Harrell's concordance by its definition, and its interval by derivatives for the weights of the samples."""
    X, _ = problem(n=40)
    rng = np.random.default_rng(1)
    y = times(rng.random(40) < 0.7, np.ceil(5 * rng.exponential(np.exp(-X[:, 3]))))
    found = fastfs.assess(X, y, methods=["rrelieff", "projse"], n_features=[2], n_splits=4, n_repeats=1)
    assert (found.metrics, found.classifier) == (("concordance",), "ridge")
    found = found.to_frame().set_index("method")
    folds, of_fold, slopes = folds_of(y, 4, 0), [], np.zeros(40)
    for fold in range(4):
        train, held = folds != fold, np.flatnonzero(folds == fold)
        t, e = y["time"][train], y["event"][train]
        hazard = {at: sum((e & (t == s)).sum() / (t >= s).sum() for s in set(t) if s <= at) for at in set(t)}
        residuals = np.array([e[i] - hazard[t[i]] for i in range(len(t))])
        best = np.argsort(-f_regression(X[train], residuals)[0])[:2]
        scaler = StandardScaler().fit(X[train][:, best])
        model = RidgeCV((0.1, 1.0, 10.0, 100.0, 1000.0)).fit(scaler.transform(X[train][:, best]), residuals)
        risk = dict(zip(held.tolist(), model.predict(scaler.transform(X[held][:, best])), strict=True))

        def concordance(weight, held=held, risk=risk):
            right = total = 0
            for i in held:
                for j in held:
                    (a, s), (b, u) = y[i], y[j]
                    if a and (s < u or (s == u and not b)):
                        total += weight[i] * weight[j]
                        right += weight[i] * weight[j] * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
            return right / total

        of_fold.append(concordance(np.ones(40)))
        step = 1e-5 * np.eye(40)
        slopes[held] = [(concordance(1 + step[i]) - concordance(1 - step[i])) / 2e-5 for i in held]
    p = np.mean(of_fold)
    assert found.concordance["anova"] == pytest.approx(p, abs=1e-12)
    from scipy.stats import t as student

    ratio = student.ppf(0.975, 39) ** 2 * 4 * ((slopes / 4) ** 2).sum() * 40 / 39 / (p * (1 - p))
    ends = sorted(np.roots([1 + ratio, -(2 * p + ratio), p**2]))
    assert [found.low["anova"], found.high["anova"]] == pytest.approx(ends, abs=1e-6)


def test_the_interval_is_that_of_its_formula():
    """Donors of different numbers of cells; accuracy, and its difference from ANOVA, from the predictions alone."""
    donor = np.repeat(np.arange(14), [3, 5, 4, 2, 6, 3, 3, 4, 4, 2, 5, 3, 4, 4])
    y = donor % 2
    X = np.random.default_rng(0).normal(size=(len(y), 30)) + 0.8 * (np.arange(30) == 3) * y[:, None]
    found = fastfs.assess(X, y, methods=["relieff"], n_features=[4], n_splits=3, n_repeats=3, groups=donor)
    assert (found.unit, found.n_units) == ("group", 14)
    found = found.to_frame().set_index("method")
    parts = {"anova": [], "variance": []}
    runs = {"anova": [], "variance": []}
    for repeat in range(3):
        folds = folds_of(y, 3, repeat, groups=donor)
        assert all(len(set(folds[donor == d])) == 1 for d in range(14))
        for ranking in parts:
            right = np.empty(len(y))
            for rows, model, values in plain_loop(X, y, [4], ranking, MODELS["logistic"], folds=folds)[4]:
                right[rows] = model.predict(values) == y[rows]
            mean = [right[y == c].mean() for c in (0, 1)]
            runs[ranking].append(np.mean(mean))
            part = [
                (right - mean[c])[(donor == d) & (y == c)].sum() / (y == c).sum() / 2
                for d in range(14)
                for c in [d % 2]
            ]
            parts[ranking].append(part)
    from scipy.stats import t

    def half(parts):
        return t.ppf(0.975, 12) * np.sqrt(3 * (np.mean(parts, axis=0) ** 2).sum() * 14 / 12)

    for ranking in parts:
        p = np.mean(runs[ranking])  # Wilson's interval: (p - x)^2 = ratio x (1 - x)
        ratio = half(parts[ranking]) ** 2 / (p * (1 - p))
        ends = sorted(np.roots([1 + ratio, -(2 * p + ratio), p**2]))
        assert [found.low[ranking], found.high[ranking]] == pytest.approx(ends, abs=1e-12)
    differences = [np.subtract(*(np.array(one[name]) for name in ("variance", "anova"))) for one in (parts, runs)]
    assert found.difference["variance"] == pytest.approx(differences[1].mean(), abs=1e-12)
    width = found.difference_high["variance"] - found.difference["variance"]
    assert width == pytest.approx(half(differences[0]), abs=1e-12)


def test_intervals_of_numbers_are_symmetric_on_other_scales():
    means, errors = np.array([[[0.3, -0.4, 1.0]], [[0.5, -0.9, 1.0]]]), np.array([[[0.1, 0.5, 0]], [[0.1, 0.02, 0]]])
    low, high = Estimate(means, errors, degrees=9, n_units=10).interval_of_numbers()
    reach = 2.2621571627 * errors[:, 0, :2]
    scales = [np.log(1 - ends[0, 0, :2]) for ends in (low, means, high)]
    np.testing.assert_allclose(-np.diff(scales, axis=0), [reach[0] / (1 - means[0, 0, :2])] * 2)
    scales = [np.arctanh(ends[1, 0, :2]) for ends in (low, means, high)]
    np.testing.assert_allclose(np.diff(scales, axis=0), [reach[1] / (1 - means[1, 0, :2] ** 2)] * 2)
    np.testing.assert_allclose([low[:, 0, 2], high[:, 0, 2]], 1)
    assert np.isfinite(Estimate(means, 1e3 * errors, degrees=1, n_units=2).interval_of_numbers()).all()


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_the_interval_of_perfect_and_hopeless_features():
    """Where no unit is told wrong, or none right, there is no variance; the end is that of as many units."""
    from scipy.stats import t

    y = np.arange(40) % 2
    X = np.column_stack([y, np.zeros((40, 3))]).astype(float)
    found = fastfs.assess(X, y, methods=["relieff"], n_features=[1], n_repeats=2).to_frame()
    anova = found[found.method == "anova"].iloc[0]
    for name in ("", "auc_"):
        assert (anova[f"{name}low"], anova[f"{name}high"]) == (pytest.approx(1 / (1 + t.ppf(0.975, 38) ** 2 / 40)), 1)
    estimate = Estimate(np.array([0.0, 0.99, np.nan]), np.array([0.0, 1e-4, np.nan]), 38, 40)
    low, high = estimate.interval_of_shares()
    assert (low[0], high[0]) == (0, pytest.approx(1 - anova.low))
    assert low[1] == pytest.approx(anova.low)  # not above that of features that are right more often
    assert np.isnan(low[2])
    assert np.isnan(high[2])


@pytest.mark.parametrize("leak", ["selection", "scaling"])
def test_a_planted_leak_changes_the_loop_and_is_not_in_assess(leak):
    """Noise: features that are selected with the held-out samples seem to tell them; scaled ones have other scores."""
    X, y = (
        np.random.default_rng(0).normal(size=(40, 1000)) * np.exp(np.random.default_rng(1).normal(size=(40, 1))),
        np.arange(40) % 2,
    )
    folds = folds_of(y, 5, 0)

    def area(leak):
        parts = plain_loop(X, y, [20], "anova", MODELS["logistic"], folds=folds, leak=leak)[20]
        return np.mean([roc_auc_score(y[rows], model.predict_proba(values)[:, 1]) for rows, model, values in parts])

    found = fastfs.assess(X, y, methods=["relieff"], n_features=[20], n_repeats=1).to_frame().set_index("method")
    assert found.auc["anova"] == pytest.approx(area(""), abs=1e-12)
    assert abs(area(leak) - area("")) > 0.01
    if leak == "selection":
        assert area(leak) > 0.8 > 0.65 > found.auc["anova"]


class Spy(SelectKBest):
    """Keeps what each fit was given."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        Spy.seen.append((X[:, 0].astype(int), np.array(y)))
        return super().fit(X, y)


def spied(n, y, **parameters):
    """The rows and labels of each fit: those of the true labels, and those of the permuted ones."""
    X = np.random.default_rng(0).normal(size=(n, 30))
    X[:, 0] = np.arange(n)
    Spy.seen = []
    found = fastfs.assess(X, y, methods={"spy": Spy(k=3)}, n_features=[2], **parameters)
    half = parameters["n_repeats"] * parameters["n_splits"]
    return Spy.seen[:half], Spy.seen[half:], found


def test_permuted_labels_follow_the_design():
    donor = np.arange(72) // 6
    y = donor % 2
    true, permuted, found = spied(72, y, groups=donor, blocks=donor // 6, n_splits=3, n_repeats=4)
    assert found.design == "6 + 6 groups within 2 blocks"
    assert found.n_labelings == 4
    assert len(permuted) == 12
    for rows, labels in true:
        assert np.array_equal(labels, y[rows])
        assert not set(donor[rows]) & set(donor) - set(donor[rows])
        assert len(rows) % 6 == 0
    assert not all(np.array_equal(labels, y[rows]) for rows, labels in permuted)
    for rows, labels in permuted:
        for d in set(donor[rows]):
            assert len(set(labels[donor[rows] == d])) == 1
        assert len(rows) % 6 == 0
    # A permutation within blocks keeps the labels of each block.
    whole = [dict(zip(rows, labels, strict=True)) for rows, labels in permuted]
    for first in range(0, 12, 3):
        labels = {k: v for part in whole[first : first + 3] for k, v in part.items()}
        for block in (0, 1):
            assert sum(labels[i] for i in range(72) if donor[i] // 6 == block) == 18


def test_pairs_stay_together():
    pair = np.repeat(np.arange(20), 2)
    true, _, found = spied(40, np.arange(40) % 2, blocks=pair, n_splits=5, n_repeats=2)
    assert (found.unit, found.n_units) == ("block", 20)
    assert all((np.bincount(pair[rows], minlength=20) % 2 == 0).all() for rows, _ in true)


def test_blocks_are_spread_over_the_folds():
    y, batch = np.arange(60) % 2, np.arange(60) // 2 % 3
    for seed in range(10):
        folds = folds_of(y, 5, 0, seed=seed, blocks=batch)
        table = np.array(
            [[[np.sum((folds == f) & (batch == b) & (y == c)) for c in (0, 1)] for b in range(3)] for f in range(5)]
        )
        assert (table == 2).all()


def test_workers_and_verbose_do_not_change_the_result():
    X, y = problem()
    steps = []
    parameters = {"methods": ["relieff", "projse"], "n_features": [2, 5], "n_repeats": 2, "n_splits": 3}
    alone = fastfs.assess(X, y, **parameters, verbose=lambda step, share: steps.append((step, share)))
    shared = fastfs.assess(X, y, **parameters, n_jobs=2)
    assert alone.to_frame().equals(shared.to_frame())
    assert steps == [("folds", (k + 1) / 4) for k in range(4)]


def test_forms_of_X_agree():
    from scipy.sparse import csc_matrix, csr_matrix

    X, y = problem()
    X = np.where(np.abs(X) > 0.5, X, 0)
    parameters = {"methods": ["relieff"], "n_features": [2, 5], "n_repeats": 1}
    frames = [
        fastfs.assess(form(X), y, **parameters).to_frame()
        for form in (np.array, csr_matrix, csc_matrix, np.asfortranarray)
    ]
    for frame in frames[1:]:
        np.testing.assert_allclose(frame.drop(columns="method"), frames[0].drop(columns="method"), atol=1e-9)
    names = fastfs.assess(X, np.array(["well", "ill"])[y], **parameters).to_frame()
    assert names.balanced_accuracy.tolist() == pytest.approx(frames[0].balanced_accuracy.tolist(), abs=0.1)


@pytest.mark.parametrize("word", ["disc", "immigrate", "im4e", "ikdr", "swrf"])
def test_other_methods(word):
    X, y = problem(d=12)
    found = fastfs.assess(X, y, methods=[word], n_features=[2], n_splits=2, n_repeats=1)
    assert found.methods == (word, "anova", "variance")
    assert np.isfinite(found.to_frame().balanced_accuracy).all()


def test_the_words():
    X, y = problem(n=80, d=200, shift=3.0)
    found = fastfs.assess(X, y, methods={"good": SelectKBest(f_classif, k=1), "none": Last(k=1)}, n_repeats=2)
    same, worse = found.describe()
    assert same.startswith("good, 10 features: balanced accuracy 0.")
    assert same.endswith("; no sample is told otherwise than by ANOVA's features")
    assert worse.startswith("none, 10 features: balanced accuracy 0.")
    row = found.to_frame().query("method == 'none' and n_features == 10").iloc[0]
    gain = f"{abs(row.difference):.2f} ({row.difference_low:.2f} to {row.difference_high:.2f})"
    assert row.difference_high < 0
    assert worse.endswith(f"worse than ANOVA by {gain}")
    found = fastfs.assess(X, y, methods=["relieff"], n_features=[1, 20], n_repeats=2)
    assert found.describe()[0].startswith("relieff, 20 features:")


class Last(SelectKBest):
    """Ranks by the worst of ANOVA's F."""

    def fit(self, X, y):
        super().fit(X, y)
        self.scores_ = -self.scores_
        return self


# ------------------------------------------------------------------------------------------------------- bad input

FEW = {"methods": ["relieff"], "n_features": [2], "n_repeats": 1}


@pytest.mark.parametrize("methods, got", [(None, "None"), (3, "3"), ("relieff", "'relieff'"), ({"x": 3}, "3 for 'x'")])
def test_methods_that_name_no_selector(methods, got):
    X, y = problem()
    with pytest.raises(TypeError, match=rf"^methods must .*; got {got}$"):
        fastfs.assess(X, y, methods=methods, n_features=[2], n_repeats=1)


def test_fewer_donors_than_folds():
    X, y = problem()
    with pytest.raises(ValueError, match="n_splits must be at most 4, the number of groups; got 5"):
        fastfs.assess(X, y, groups=np.arange(60) % 4, **FEW)


def test_a_class_of_one_donor():
    X, y = problem()
    donor = np.where(y == 1, 0, 1 + np.arange(60) // 2 % 6)
    with pytest.raises(ValueError, match=r"each class must have at least two groups.* got one of 1: leave out"):
        fastfs.assess(X, y, groups=donor, **FEW)


def test_folds_without_a_class_do_not_count_for_the_auc():
    X, y = problem()
    y = np.where(np.arange(60) < 3, 1, 0)
    with pytest.warns(fastfs.DataWarning, match="fewer than 5 samples have the class 1, so some folds lack it"):
        found = fastfs.assess(X, y, **FEW).to_frame()
    assert np.isfinite(found.auc).all()


def test_a_donor_with_two_classes_stays_in_one_fold():
    donor = np.repeat(np.arange(10), 6)
    true, permuted, found = spied(60, np.arange(60) % 2, groups=donor, n_splits=5, n_repeats=2)
    assert all(
        len(rows) == 48 and (np.bincount(donor[rows], minlength=10) % 6 == 0).all() for rows, _ in true + permuted
    )
    assert found.n_units == 10


def test_one_feature():
    X, y = problem(d=1)
    X[:, 0] += 2 * y
    found = fastfs.assess(X, y, methods=["relieff"], n_repeats=2)
    assert found.n_features == (1,)
    assert found.to_frame().low.min() > 0.5


def test_numbers_of_features_above_those_of_X():
    X, y = problem(d=8)
    with pytest.warns(fastfs.DataWarning, match="X has 8 features, so n_features above it are left out: 9, 20"):
        found = fastfs.assess(X, y, methods=["relieff"], n_features=[2, 9, 20], n_repeats=1)
    assert found.n_features == (2,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fastfs.assess(X, y, methods=["relieff"], n_repeats=1).n_features == (1, 2, 5)
    with pytest.raises(ValueError, match=r"n_features must name a number of at most 8, the features of X; got \[9\]"):
        fastfs.assess(X, y, methods=["relieff"], n_features=[9], n_repeats=1)


@pytest.mark.parametrize("classifier", MODELS)
def test_constant_features_in_a_fold(classifier):
    """Features that are constant in every training set, one that varies in one sample only, and one of noise."""
    X, y = problem(d=4)
    X[:, :3] = 0
    X[7, 1] = 1
    found = fastfs.assess(X, y, methods=["relieff"], n_features=[1, 4], n_repeats=1, classifier=classifier).to_frame()
    assert np.isfinite(found[["balanced_accuracy", "auc", "low", "high"]]).all(axis=None)
    plain = found[(found.method == "variance") & (found.n_features == 4)]
    assert plain.balanced_accuracy.item() != 0.5


def test_only_constant_features_are_chosen():
    """Each class is then equally likely, so the accuracy is that of chance."""
    X, y = problem(d=4)
    X[:, :3] = 0

    class First(SelectKBest):
        def fit(self, X, y):
            super().fit(np.random.default_rng(0).normal(size=X.shape), y)
            self.scores_ = -np.arange(4.0)
            return self

    found = fastfs.assess(X, y, methods={"first": First(k=1)}, n_features=[1, 4], n_repeats=2).to_frame()
    assert found.loc[0, ["balanced_accuracy", "auc", "low", "high"]].tolist() == pytest.approx([0.5] * 4)


def test_a_batch_of_one_class():
    X, y = problem()
    with pytest.raises(ValueError, match="block"):
        fastfs.assess(X, y, blocks=y, **FEW)
    with pytest.warns(fastfs.DataWarning, match="block"):
        fastfs.assess(X, y, blocks=np.where(np.arange(60) < 20, y, 2), **FEW)


def test_labels_that_are_ids():
    X, _ = problem()
    with pytest.raises(ValueError, match="if these are ids, give the labels instead"):
        fastfs.assess(X, [f"sample{i}" for i in range(60)], **FEW)


def test_a_feature_that_is_the_label():
    import pandas

    X, y = problem(d=5)
    X[:, 2] = y
    frame = pandas.DataFrame(X, columns=list("abcde"))
    with pytest.warns(fastfs.DataWarning, match="one feature alone tells every new sample right: 'c'; drop it"):
        fastfs.assess(frame, y, methods=["relieff"], n_features=[1, 2], n_repeats=2)
    for classifier in MODELS:
        with pytest.warns(fastfs.DataWarning, match="tells every new sample right: column 2; drop it"):
            fastfs.assess(X, y, methods=["relieff"], n_features=[1], n_repeats=2, classifier=classifier)
    numbers = np.random.default_rng(1).normal(size=60)
    X[:, 2] = numbers
    with pytest.warns(fastfs.DataWarning, match="tells every new sample right: column 2; drop it"):
        fastfs.assess(X, numbers, methods=["projse"], n_features=[1], n_repeats=2)


def test_estimators_come_with_names():
    X, y = np.random.default_rng(0).normal(size=(60, 40)), np.arange(60) % 2
    with pytest.raises(TypeError, match=r"methods must be words, or a mapping; got ReliefF: give \{'a name': ReliefF"):
        fastfs.assess(X, y, methods=[fastfs.ReliefF()])


@together
@pytest.mark.parametrize(
    "change, message",
    [
        ({"methods": ["nothing"]}, "There is no method 'nothing'"),
        ({"methods": []}, "methods must name at least one method; got none"),
        ({"methods": ["relieff", "ReliefF"]}, "methods must name each method once"),
        ({"methods": ["relieff", "anova"]}, "methods must not name 'anova'"),
        ({"methods": ["rrelieff"]}, "Method 'rrelieff' explains numbers, but y holds classes"),
        ({"n_splits": 1}, "n_splits must be at least 2; got 1"),
        ({"n_repeats": 0}, "n_repeats must be at least 1; got 0"),
        ({"n_jobs": 0}, "n_jobs must not be 0: give a positive number"),
        ({"n_features": [0]}, "n_features must be at least 1; got 0"),
        ({"n_features": []}, "n_features must name a number of at most 40"),
        ({"classifier": "forest"}, "classifier must be 'logistic' or 'centroid'; got 'forest'"),
        ({"y": np.zeros(60)}, "y must have at least two classes"),
        ({"y": np.full(60, 0.5)}, "y must hold different numbers; got 0.5 for every sample"),
        ({"y": np.arange(59) % 2}, "y must have one label for each of the 60 samples"),
        ({"y": None}, "y must hold a label or one number"),
        ({"y": times([False] + [True] * 59, np.r_[np.nan, np.ones(59)])}, "y has no time .nan. for sample 0"),
        ({"y": times([True] + [False] * 59, np.arange(60))}, "y must hold events of at least two samples.*; got 1"),
    ],
)
def test_bad_input(change, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        fastfs.assess(X, **({"y": y} | FEW | change))


def test_methods_for_classes_refuse_numbers():
    X, _ = problem()
    with pytest.raises(ValueError, match="Method 'manifest' compares classes, but y holds numbers: choose from"):
        fastfs.assess(X, X[:, 0], methods=["manifest"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_missing(bad):
    X, y = problem()
    X[7, 5] = bad
    with pytest.raises(ValueError, match=r"X must be finite.* in row 7, column 5: impute it"):
        fastfs.assess(X, y, **FEW)


def test_types():
    X, y = problem()
    with pytest.raises(TypeError, match="methods must be a list of words, or a mapping"):
        fastfs.assess(X, y, methods="relieff")
    with pytest.raises(TypeError, match="n_features must be a list of integers; got 5"):
        fastfs.assess(X, y, n_features=5)
    with pytest.raises(ValueError, match="X must be an array, since each fold reads it; got an iterator"):
        fastfs.assess(iter([X]), y)


def test_the_range_of_a_single_labeling_comes_from_its_units():
    """The range is that of Student's t over the units, for the difference of two labelings of twice their variance."""
    from scipy.stats import t

    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 20)), np.arange(60) % 2
    with_spy = {}

    def kept(problem, truth, permuted):
        with_spy["one"] = permuted[0]
        return tabulate(problem, truth, permuted)

    from fastfs._inference.assessment import tabulate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastfs._estimators.assess.tabulate", kept)
        found = fastfs.assess(X, y, methods=["relieff"], n_features=[2, 5], n_repeats=1).to_frame()
    one = with_spy["one"]
    half = t.ppf(0.975, 58) * np.sqrt(2 * (one.influences**2).sum(axis=-1) * 60 / 58) * np.sqrt(2)
    np.testing.assert_allclose(found.permuted, one.metrics[0].ravel())
    np.testing.assert_allclose(found.permuted_low, np.maximum((one.metrics - half)[0].ravel(), 0))
    np.testing.assert_allclose(found.auc_permuted_high, np.minimum((one.metrics + half)[1].ravel(), 1))
