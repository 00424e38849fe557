"""Cuts: `n_features_to_select="auto"`, `fastfs.Cut`, `feature_importances_`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import together

rng = np.random.default_rng(0)
X, y = rng.normal(size=(50, 30)), np.arange(50) % 2
X[:, [3, 8]] += 2 * y[:, None]
FEW = X[:32, :9], y[:32]
NOISE = np.random.default_rng(1).normal(size=(40, 25))
NOISE_Y = np.arange(40) % 2

ESTIMATORS = [
    fastfs.Relief("auto"),
    fastfs.ReliefF("auto"),
    fastfs.MultiSURF("auto"),
    fastfs.ManiFeSt("auto"),
    fastfs.ProjSe("auto", beyond="residual"),
    fastfs.IKDR("auto"),
    fastfs.VLS(fastfs.ReliefF(), n_features_to_select="auto", n_subsets=4),
    fastfs.TuRF(fastfs.ReliefF("auto"), n_features_to_select="auto", step=0.5),
]


@pytest.mark.parametrize("selector", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_auto_selects_by_the_test(selector):
    data = FEW if isinstance(selector, fastfs.IKDR | fastfs.VLS | fastfs.TuRF) else (X, y)  # their fits take long
    fitted = clone(selector).fit(*data)
    test = fastfs.permutation_test(clone(selector).set_params(n_features_to_select=None), *data)
    significant = test.pvalues_max <= 0.05
    assert 0 < significant.sum() < len(significant)
    chosen = np.ones(data[0].shape[1], dtype=bool)
    if isinstance(selector, fastfs.ProjSe):
        chosen[:] = False
        chosen[fitted.selected_] = True
    if isinstance(selector, fastfs.IKDR):
        chosen = fitted.feature_weights_ > 0
    np.testing.assert_array_equal(fitted.test_.pvalues_max, test.pvalues_max)
    np.testing.assert_array_equal(fitted.get_support(), significant & chosen)
    assert fitted.n_features_to_select == "auto"
    plain = clone(selector).set_params(n_features_to_select=None).fit(*data)
    np.testing.assert_array_equal(fitted.scores_, plain.scores_)
    assert not hasattr(plain, "test_")


def test_none_and_all_are_answers():
    none = fastfs.ReliefF("auto").fit(NOISE, NOISE_Y)
    assert none.get_support().sum() == 0
    with pytest.warns(UserWarning, match="No features were selected"):  # as scikit-learn's selectors
        assert none.transform(NOISE).shape == (40, 0)
    every = fastfs.Cut(fastfs.ProjSe()).fit(NOISE[:, :4] + 5 * NOISE_Y[:, None], NOISE_Y)
    assert every.get_support().all()
    assert every.transform(NOISE[:, :4]).shape == (40, 4)


def test_auto_passes_weights_on():
    weights = rng.integers(0, 3, size=50).astype(float)
    fitted = fastfs.ReliefF("auto").fit(X, y, sample_weight=weights)
    test = fastfs.permutation_test(fastfs.ReliefF(), X, y, params={"sample_weight": weights})
    np.testing.assert_array_equal(fitted.test_.pvalues_max, test.pvalues_max)
    assert not np.array_equal(test.scores, fastfs.ReliefF().fit(X, y).scores_)


def test_auto_without_its_test():
    selector = fastfs.ReliefF(3).fit(X, y).set_params(n_features_to_select="auto")
    with pytest.raises(NotFittedError, match="call fit"):
        selector.get_support()
    selector.fit(X, y).set_params(n_features_to_select=3)
    assert selector.get_support().sum() == 3
    assert not hasattr(selector.fit(X, y), "test_")  # which belonged to the fit before
    with pytest.raises(ValueError, match="an iterator"):
        fastfs.ProjSe("auto").fit(iter([X]), y)
    with pytest.raises(ValueError, match="y must hold the samples' labels"):
        fastfs.ProjSe("auto").fit(X)
    with pytest.raises(TypeError, match="an int, a float, 'auto' or None"):
        fastfs.ReliefF("all").fit(X, y)
    with pytest.raises(ValueError, match="which needs a permutation test: use the estimator"):
        fastfs.projse(X, y, n_features_to_select="auto")


@pytest.mark.parametrize("by, field", [("family-wise", "pvalues_max"), ("fdr", "pvalues_adjusted")])
def test_cut_by_p_value_takes_the_design(by, field):
    blocks = np.arange(50) // 10
    cut = fastfs.Cut(fastfs.ReliefF(), by, 0.1, n_permutations=199, random_state=3).fit(X, y, blocks=blocks)
    test = fastfs.permutation_test(fastfs.ReliefF(), X, y, blocks=blocks, n_permutations=199, random_state=3)
    assert cut.test_.design == test.design != fastfs.Cut(fastfs.ReliefF(), n_permutations=9).fit(X, y).test_.design
    np.testing.assert_array_equal(cut.get_support(), getattr(test, field) <= 0.1)
    np.testing.assert_array_equal(cut.ranking_, test.ranking)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # few features rank much alike by chance
def test_cut_by_covariates():
    """A covariate that explains the labels leaves nothing to what only follows it."""
    age = rng.normal(size=80)
    sick = (age + 0.5 * rng.normal(size=80) > 0).astype(int)
    followers = age[:, None] + 0.8 * rng.normal(size=(80, 20))
    assert fastfs.Cut(fastfs.ProjSe()).fit(followers, sick).get_support().sum() > 10
    assert fastfs.Cut(fastfs.ProjSe()).fit(followers, sick, covariates=age).get_support().sum() <= 1


def test_cut_by_stability_and_score():
    stable = fastfs.Cut(fastfs.ReliefF(2), "stability", 0.8).fit(X, y)
    expected = fastfs.stability(fastfs.ReliefF(2), X, y, scheme="complementary", threshold=0.8)
    np.testing.assert_array_equal(np.flatnonzero(stable.get_support()), expected.selected_stable)
    np.testing.assert_array_equal(stable.scores_, expected.frequencies)
    scores = fastfs.ReliefF().fit(X, y).scores_
    at = float(np.sort(scores)[-5])
    assert fastfs.Cut(fastfs.ReliefF(), "score", at).fit(X, y).get_support().sum() == 5
    assert fastfs.Cut(fastfs.ReliefF(), "score", 10).fit(X, y).get_support().sum() == 0


def test_cut_around_a_pipeline_and_in_one():
    inner = make_pipeline(StandardScaler(), fastfs.ProjSe())
    cut = fastfs.Cut(inner).fit(X, y)
    assert set(np.flatnonzero(cut.get_support())) >= {3, 8}
    outer = make_pipeline(fastfs.Cut(fastfs.ProjSe())).set_output(transform="pandas")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    assert {"g3", "g8"} <= set(outer.fit_transform(table, y).columns)


def test_cut_of_a_stream(tmp_path):
    np.save(tmp_path / "X.npy", X)
    donors = np.arange(50) // 2
    cut = fastfs.Cut(fastfs.ProjSe()).fit(tmp_path / "X.npy", donors % 2, groups=donors)
    assert cut.n_features_in_ == 30
    memory = fastfs.Cut(fastfs.ProjSe()).fit(X, donors % 2, groups=donors)
    np.testing.assert_array_equal(cut.get_support(), memory.get_support())


@together
@pytest.mark.parametrize(
    "parameters, design, message",
    [
        ({"by": "p"}, {}, "by must be 'family-wise', 'fdr', 'stability' or 'score'; got 'p'"),
        ({"at": 0}, {}, "at must lie between 0 and 1"),
        ({"at": np.nan}, {}, "at must lie between 0 and 1"),
        ({"by": "score"}, {}, "at must be a number with by='score'; got None"),
        ({"by": "stability", "at": 0.2}, {}, "threshold must lie above 0.5"),
        ({"by": "stability"}, {"covariates": np.arange(50)}, "covariates must be None"),
        ({"by": "score", "at": 1}, {"groups": np.arange(50)}, "blocks and groups must be None"),
    ],
)
def test_bad_cuts(parameters, design, message):
    cut = fastfs.Cut(fastfs.ReliefF(), **parameters)
    with pytest.raises(ValueError, match=message):
        cut.fit(X, y, **design)
    assert not hasattr(cut, "scores_")


def test_scikit_learn_reads_the_scores():
    scores = fastfs.ReliefF().fit(X, y).scores_
    assert scores.min() < -0.01  # magnitudes would take these for importances
    chosen = SelectFromModel(fastfs.ReliefF(), threshold=0.005).fit(X, y).get_support()
    np.testing.assert_array_equal(chosen, scores >= 0.005)
    assert set(np.flatnonzero(RFE(fastfs.ReliefF(), n_features_to_select=2).fit(X, y).get_support())) == {3, 8}
    assert not hasattr(fastfs.ReliefF(), "feature_importances_")


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # few features rank much alike by chance
def test_noise_is_rarely_selected():
    """In at most 5 % of data sets without signal; the bound is three standard errors above."""
    found = sum(
        fastfs.Cut(fastfs.ProjSe(1), random_state=seed)
        .fit(np.random.default_rng(seed).normal(size=(30, 20)), np.arange(30) % 2)
        .get_support()
        .any()
        for seed in range(200)
    )
    assert found <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)
