"""What the wrappers share: scikit-learn's rules, what they hand to the estimator, what they say of bad input."""

import pickle
import re
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import fastfs
from covering import rotating, together
from fastfs import IM4E, VLS, IterativeRelief, ManiFeSt, MultiSURF, ProjSe, ReliefF, TuRF
from fastfs._estimators.rounds import RoundsMaker
from fastfs._machine.errors import about_targets, places
from reference.data import exclusive_or
from sklearn_checks import assert_passes_checks

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
X = RNG.normal(size=(60, 12))
X[:, 3] += 2.5 * Y
X[:, 7] -= 2.5 * Y
NAMES = [f"gene {j}" for j in range(12)]


class Recorder(BaseEstimator):
    """Scores each column by its value in the first row, and keeps what it was given."""

    seen: ClassVar[list] = []  # of all copies

    def __init__(self, n_features_to_select=None, categorical_features=None, scores=None):
        self.n_features_to_select = n_features_to_select
        self.categorical_features = categorical_features
        self.scores = scores

    def fit(self, X, y, sample_weight=None):
        self.seen.append((X, y, sample_weight, self.get_params()))
        first = X.iloc[0] if hasattr(X, "iloc") else X[0]
        self.scores_ = np.nan_to_num(np.asarray(first, float)) if self.scores is None else np.asarray(self.scores)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


@pytest.fixture(autouse=True)
def _nothing_seen():
    Recorder.seen.clear()


def turf(estimator, **options):
    return TuRF(estimator, step=0.25, n_features_to_select=4, **options)


def vls(estimator, **options):
    return VLS(estimator, subset_size=5, n_subsets=6, n_features_to_select=4, **options)


def both(estimator, **options):
    return turf(VLS(estimator, subset_size=5, n_subsets=6), **options)


def iterative(estimator, **options):
    return IterativeRelief(estimator, n_iter=4, n_features_to_select=4, **options)


every = pytest.mark.parametrize("wrap", [turf, vls, both])
around_relief = pytest.mark.parametrize("wrap", [turf, vls, both, iterative])

# --------------------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # the checks use tiny data
@pytest.mark.parametrize(
    "estimator",
    [
        TuRF(ReliefF()),
        TuRF(IM4E(), n_features_to_select=1, step=0.3),
        VLS(MultiSURF()),
        VLS(ManiFeSt(), subsets="pairs"),
        TuRF(VLS(ReliefF(), subset_size=1)),
        IterativeRelief(ReliefF()),
    ],
    ids=str,
)
def test_scikit_learn_checks(estimator):
    assert_passes_checks(estimator)


@pytest.mark.parametrize("wrapper", [TuRF, VLS, IterativeRelief])
def test_parameters_are_stored_untouched(wrapper):
    given = {name: object() for name in wrapper(None).get_params(deep=False)}
    estimator = wrapper(**given)
    assert all(getattr(estimator, name) is value for name, value in given.items())
    assert estimator.get_params() == given


@around_relief
def test_the_estimator_is_left_as_it_is(wrap):
    inner = ReliefF(n_neighbors=3)
    model = wrap(inner).fit(X, Y)
    assert vars(inner) == vars(ReliefF(n_neighbors=3))
    assert vars(model.estimator).keys() == model.estimator.get_params(deep=False).keys()
    assert model.get_params()["estimator__estimator__n_neighbors" if wrap is both else "estimator__n_neighbors"] == 3
    twin = clone(model)
    assert not hasattr(twin, "scores_")
    assert repr(twin) == repr(model)


@around_relief
def test_pickles_hold_the_fit(wrap):
    model = wrap(ReliefF()).fit(X, Y)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.scores_, model.scores_)
    np.testing.assert_array_equal(twin.transform(X), X[:, model.get_support()])


@around_relief
def test_in_a_pipeline_and_a_grid(wrap):
    model = wrap(ReliefF())
    inner = "estimator__estimator" if wrap is both else "estimator"
    pipeline = make_pipeline(model, KNeighborsClassifier(3))
    grid = {f"{type(model).__name__.lower()}__{inner}__n_neighbors": [2, 5]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9


@every
def test_tags_are_those_of_the_estimator(wrap):
    for inner in (ReliefF(), Recorder(), IM4E(), ProjSe()):
        own, found = inner.__sklearn_tags__(), wrap(inner).__sklearn_tags__()
        assert found.input_tags == own.input_tags
        assert found.target_tags == own.target_tags
        assert found.classifier_tags == own.classifier_tags
        assert not is_classifier(wrap(inner))


# ------------------------------------------------------------------------------------- what is handed to the estimator


@pytest.mark.parametrize("inner", [ReliefF(), ManiFeSt(combine="f"), IM4E(), ProjSe(1), SelectKBest(k=2)])
def test_around_any_estimator(inner):
    def score(columns):
        return clone(inner).fit(X[:, columns], Y).scores_

    model = turf(inner).fit(X, Y)
    kept = model.get_support(indices=True)
    np.testing.assert_array_equal(model.scores_[kept], score(kept))
    np.testing.assert_array_equal(
        model.score_at_removal_[model.removed_at_ == 1], score(range(12))[model.removed_at_ == 1]
    )

    model = vls(inner).fit(X, Y)
    expected = np.full(12, -np.inf)
    for subset in model.subsets_:
        expected[subset] = np.maximum(expected[subset], score(subset))
    np.testing.assert_array_equal(model.scores_, expected)


def values_of(table):
    return np.asarray(table, dtype=object).tolist()


@rotating(1, wrap=[turf, vls, both, iterative], frame={"pandas": pd.DataFrame, "polars": pl.DataFrame})
def test_frames_stay_frames(wrap, frame):
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    model = wrap(ReliefF()).fit(table, Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert {"gene 3", "gene 7"} <= set(model.get_feature_names_out())
    np.testing.assert_array_equal(model.scores_, wrap(ReliefF()).fit(X, Y).scores_)


@every
def test_missing_values_and_categories_are_handed_on(wrap):
    table = pd.DataFrame(np.arange(12.0)[None, :] + np.zeros((6, 1)), columns=NAMES)
    table["gene 2"] = pd.Categorical(["2", "b", "a", "b", None, "2"])
    table.loc[3, "gene 5"] = np.nan
    model = wrap(Recorder()).fit(table, Y[:6])
    assert len(Recorder.seen) > 1
    for part, *_ in Recorder.seen:
        pd.testing.assert_frame_equal(part, table[part.columns])
    kept = model.set_output(transform="pandas").transform(table)
    pd.testing.assert_frame_equal(kept, table[kept.columns])

    mixed = [[*row] for row in values_of(table)]
    Recorder.seen.clear()
    wrap(Recorder()).fit(mixed, Y[:6])
    held = {type(value) for part, *_ in Recorder.seen for value in np.ravel(part)}
    assert held == {float, str}


@rotating(1, wrap=[turf, vls, both], container=[sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_stays_sparse(wrap, container):
    seen = []

    class Spy(BaseEstimator):
        def fit(self, X, y):
            seen.append(X.format)
            self.scores_ = fastfs.relieff_scores(X, y)
            return self

    values = np.where(X > 0.5, X, 0)
    expected = wrap(ReliefF()).fit(values, Y).scores_
    for estimator in (Spy(), ReliefF()):
        np.testing.assert_allclose(wrap(estimator).fit(container(values), Y).scores_, expected, rtol=0, atol=1e-12)
    assert set(seen) == {"csr" if container is sp.csr_matrix else "csc"}


CATEGORICAL = {
    "numbers": [1, 4, 10],
    "an array": np.array([10, 4, 1], dtype=np.int32),
    "a mask": np.isin(np.arange(12), [1, 4, 10]),
    "names": [NAMES[1], NAMES[4], NAMES[10]],
}


@rotating(1, kind=CATEGORICAL.keys(), wrap=[turf, vls, both])
def test_categorical_features_are_translated(wrap, kind):
    table = pd.DataFrame(X, columns=NAMES)
    wrap(Recorder(categorical_features=CATEGORICAL[kind])).fit(table, Y)
    parts = [(part.columns, params["categorical_features"]) for part, _, _, params in Recorder.seen]
    assert any(len(columns) < 12 for columns, _ in parts)
    for columns, categorical in parts:
        if len(columns) == 12:
            assert categorical is CATEGORICAL[kind] or list(categorical) == list(CATEGORICAL[kind])
        else:
            assert categorical.tolist() == [name in ("gene 1", "gene 4", "gene 10") for name in columns]


def test_categorical_features_of_an_estimator_inside_the_estimator():
    vls(TuRF(Recorder(categorical_features=[1, 4, 10]))).fit(pd.DataFrame(X, columns=NAMES), Y)
    for part, _, _, params in Recorder.seen:
        assert params["categorical_features"].tolist() == [name in ("gene 1", "gene 4", "gene 10") for name in part]


@every
def test_a_word_for_categorical_features_is_handed_on(wrap):
    wrap(Recorder(categorical_features="from_dtype")).fit(X, Y)
    assert {params["categorical_features"] for *_, params in Recorder.seen} == {"from_dtype"}


@pytest.mark.parametrize(
    "categorical, error, message",
    [
        ([3, 12], ValueError, "categorical_features must hold column numbers from 0 to 11; got 12$"),
        ([-1], ValueError, "categorical_features must hold column numbers from 0 to 11; got -1$"),
        ([True] * 5, ValueError, "categorical_features as a mask must have 12 values, one per feature; got 5$"),
        (
            ["gene 3", "gene x"],
            ValueError,
            "categorical_features holds 'gene x', which isn't a column name of X: did you mean 'gene \\d'\\?$",
        ),
        ([[1]], ValueError, "categorical_features must be a 1-D mask, or a list of column numbers or names; got 2-D$"),
        ([1.5], TypeError, "categorical_features must hold column numbers or names; got 1.5$"),
    ],
)
def test_bad_categorical_features(categorical, error, message):
    with pytest.raises(error, match=message):
        vls(Recorder(categorical_features=categorical)).fit(pd.DataFrame(X, columns=NAMES), Y)


@every
def test_its_own_number_of_features_never_exceeds_the_subset(wrap):
    wrap(Recorder(n_features_to_select=11)).fit(X, Y)
    for part, *_, params in Recorder.seen:
        assert params["n_features_to_select"] == min(11, part.shape[1])


@every
def test_sample_weights(wrap):
    weights = np.linspace(1, 2, 60)
    wrap(Recorder()).fit(X, Y, sample_weight=weights)
    assert Recorder.seen
    assert all(given is weights for _, _, given, _ in Recorder.seen)
    with pytest.raises(TypeError, match="nonsense"):
        wrap(Recorder()).fit(X, Y, nonsense=weights)


@every
def test_metadata_routing(wrap):
    weights = np.linspace(1, 2, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(wrap(Recorder().set_fit_request(sample_weight=True)), KNeighborsClassifier())
        pipeline.fit(X, Y, sample_weight=weights)
        assert Recorder.seen
        assert all(np.array_equal(given, weights) for _, _, given, _ in Recorder.seen)
        Recorder.seen.clear()
        wrap(Recorder().set_fit_request(sample_weight=False)).fit(X, Y)
        assert all(given is None for _, _, given, _ in Recorder.seen)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            wrap(Recorder()).fit(X, Y, sample_weight=weights)


class Cheap(RoundsMaker, BaseEstimator):
    """Has rounds of its own."""

    def fit(self, X, y):
        raise AssertionError("a fit, where rounds are cheaper")

    def _make_rounds(self, X, y, **fit_params):
        class Rounds:
            def score_columns(self, columns):
                return X[0, columns]

        return Rounds()


@every
def test_own_rounds_are_preferred_to_fits(wrap):
    cheap, fits = wrap(Cheap()).fit(X, Y), wrap(Recorder()).fit(X, Y)
    np.testing.assert_array_equal(cheap.scores_, fits.scores_)
    np.testing.assert_array_equal(cheap.ranking_, fits.ranking_)


# -------------------------------------------------------------------------------------------- bad input, ends, progress


class Undecided(BaseEstimator):
    """Has no score for column 4."""

    def fit(self, X, y):
        self.scores_ = np.where(X[0] == globals()["X"][0, 4], np.nan, 1)
        return self


BAD = {
    "no scores": (KNeighborsClassifier(), X, "KNeighborsClassifier has no scores_ after its fit: give an est"),
    "NaN scores": (Undecided(), X, "scores of Undecided must be finite; got nan for column 4"),
    "too few": (
        Recorder(scores=[1.0]),
        X,
        "scores_ of Recorder must have shape (12,), one score per feature; got (1,)",
    ),
    "NaN": (ReliefF(), np.where(np.isin(X, X[3, 4]), np.nan, X), "first at row 3, column 4: impute"),
    "y": (ReliefF(), X[1:], "y must have one label for each of the 59 samples of X; got 60"),
    "parameter": (ReliefF(n_neighbors=0), X, "n_neighbors must be at least 1; got 0"),
    "no features": (ReliefF(), X[:, :0], "X has 0 feature(s) (shape=(60, 0)) while a minimum of 1 is required"),
    "1-D": (ReliefF(), X[:, 0], "X must be a 2-D array of samples x features; got 1-D"),
}


@together
@rotating(1, mistake=BAD.keys(), wrap=[turf, vls, both])
def test_bad_input(wrap, mistake):
    estimator, data, message = BAD[mistake]
    if wrap is not turf:
        message = message.replace("(12,)", "(5,)")
    with pytest.raises(ValueError, match=re.escape(message)):
        wrap(estimator).fit(data, Y)


@rotating(1, wrap=[turf, vls, both], inner=[ReliefF(), IM4E(), ManiFeSt()])
def test_a_bad_value_has_the_row_and_column_of_the_whole_table(wrap, inner):
    data = X.copy()
    data[3, 10] = np.nan
    with pytest.raises(ValueError, match=r"row 3, column 10: impute") as caught:
        wrap(inner).fit(data, Y)
    numbers = {place.kind: place.number for place in places(caught.value)}
    assert (numbers["row"], numbers["column"]) == (3, 10)


@pytest.mark.parametrize("column", [2, 5])
def test_a_bad_target_has_its_own_column(column):
    """Its number isn't that of a column of the subset."""
    targets = RNG.normal(size=(60, 6))
    targets[7, column] = np.nan
    with pytest.raises(ValueError, match=rf"in subset 0: Y must be finite; got .* row 7, column {column}: ") as caught:
        VLS(ProjSe(1), subsets="pairs", subset_size=4).fit(X, targets)
    assert about_targets(caught.value)


@around_relief
def test_iterators_are_refused(wrap):
    with pytest.raises(
        TypeError, match=r"^X must be one array, .* scores it several times; got an iterator of row chunks"
    ):
        wrap(ReliefF()).fit(iter([X]), Y)


@rotating(1, wrap=[turf, vls, both], number=[0, 13, "all"])
def test_a_bad_number_of_features_is_refused_before_the_work(wrap, number):
    with pytest.raises((ValueError, TypeError), match="n_features_to_select must"):
        wrap(Recorder()).set_params(n_features_to_select=number).fit(X, Y)
    assert Recorder.seen == []


@around_relief
def test_a_fit_that_is_stopped_changes_nothing(wrap):
    model = wrap(ReliefF()).fit(X, Y)
    before = dict(vars(model))

    def stop(step, fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(verbose=stop).fit(X[:, :9], Y)
    assert vars(model) == before | {"verbose": stop}


@every
def test_progress(wrap):
    seen = []
    wrap(ReliefF(), verbose=lambda step, fraction: seen.append((step, fraction))).fit(X, Y)
    total = 6 if wrap is vls else 4
    kind = "subset" if wrap is vls else "round"
    assert [step for step, _ in seen] == [f"{kind} {k} of {total}" for k in range(1, total + 1)]
    shares = [share for _, share in seen]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1


@around_relief
def test_permutations_and_subsamples(wrap):
    test = fastfs.permutation_test(wrap(ReliefF()), X, Y, n_permutations=19)
    assert test.pvalue == 0.05
    found = fastfs.stability(wrap(ReliefF()), X, Y, n_subsamples=5)
    assert found.frequencies[[3, 7]].tolist() == [1, 1]


def test_turf_finds_a_pair_among_a_thousand_features():
    """MultiSURF alone doesn't; nor does TuRF with subsets in which the pair doesn't meet in each round."""
    ranks = {"alone": [], "turf": [], "pairs": [], "both": []}
    for seed in range(2):
        data, labels = exclusive_or(200, 1000, seed)
        pairs = VLS(MultiSURF(), n_features_to_select=2, subsets="pairs", random_state=seed)
        for name, model in {
            "alone": MultiSURF(),
            "turf": TuRF(MultiSURF(), n_features_to_select=2),
            "pairs": pairs,
            "both": TuRF(pairs, n_features_to_select=2),
        }.items():
            ranks[name].append(model.fit(data, labels).ranking_[:2].max())
    assert min(ranks["alone"]) > 2
    assert ranks["turf"] == ranks["both"] == [2] * 2
    assert np.median(ranks["pairs"]) == 2


@pytest.mark.parametrize("wrapper", [fastfs.TuRF, fastfs.VLS, fastfs.Cut])
def test_what_is_no_estimator(wrapper):
    with pytest.raises(TypeError, match=r"^estimator must be a selector, such as ReliefF\(\); got 3$"):
        wrapper(3).fit(np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2)
