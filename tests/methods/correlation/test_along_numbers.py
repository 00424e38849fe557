"""Correlations that change along a number, against least squares pair by pair, and their permutation test."""

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fastfs
from covering import covering, rotating, together
from fastfs._inputs.design import Design
from reference import interactions as oracle
from sentences import assert_one_sentence

EXACT = 1e-7  # of t: the rounds end at slopes below 1e-9


def table(n=60, p=7, seed=0):
    """Normal values of which mean, variance and, between columns 1 and 4, correlation follow y."""
    rng = np.random.default_rng(seed)
    y = rng.normal(50, 10, size=n)
    X = rng.normal(size=(n, p)) * np.exp((y[:, None] - 50) / 40) + 0.1 * y[:, None] * (np.arange(p) % 2)
    X[:, 4] += X[:, 1] * (y - 50) / 10
    return X, y


@covering(n=[20, 40, 2100], n_covariates=[0, 1, 3], correlation=["pearson", "spearman"], dtype=[np.float32, np.float64])
def test_definition(n, n_covariates, correlation, dtype):
    X, y = table(n, 6)
    X = X.astype(dtype)
    covariates = np.random.default_rng(2).normal(size=(n, n_covariates)) if n_covariates else None
    found = fastfs.differential_correlation(
        X, y, covariates=covariates, correlation=correlation, n_permutations=0, target_type="number"
    )
    expected, _ = oracle.changes(X.astype(float), y, covariates, correlation == "spearman")
    assert len(found.pairs) == found.n_tested == 15
    assert found.degrees == n - 4 - n_covariates
    slopes, errors, means = np.array([expected[tuple(pair)] for pair in found.pairs.tolist()]).T
    np.testing.assert_allclose(found.statistics, slopes / errors, rtol=0, atol=EXACT * np.abs(slopes / errors).max())
    np.testing.assert_allclose(found.effects, slopes, rtol=0, atol=EXACT)
    np.testing.assert_allclose(found.standard_errors, errors, rtol=EXACT)
    ends = np.clip(means[:, None] + slopes[:, None] * [-1, 1], -1, 1)
    np.testing.assert_allclose(found.correlations, ends, rtol=0, atol=EXACT)
    assert np.all(np.diff(np.abs(found.statistics)) <= 0)
    of_feature = [max(abs(s / e) for pair, (s, e, _) in expected.items() if k in pair) for k in range(6)]
    np.testing.assert_allclose(found.scores, of_feature, rtol=EXACT)


def test_two_classes_as_a_number_have_covariates_in_the_model():
    """The way to correlations of two classes given covariates, which docs/pairs.md names."""
    X, y = table(60, 6)
    is_ill, covariates = y > np.median(y), np.random.default_rng(2).normal(size=(60, 2))
    found = fastfs.differential_correlation(X, is_ill, covariates=covariates, n_permutations=0, target_type="number")
    expected, _ = oracle.changes(X, is_ill.astype(float), covariates)
    slopes, errors, _ = np.array([expected[tuple(pair)] for pair in found.pairs.tolist()]).T
    np.testing.assert_allclose(found.statistics, slopes / errors, rtol=0, atol=EXACT * np.abs(slopes / errors).max())
    assert found.degrees == 60 - 4 - 2


@rotating(1, n_covariates=[0, 2], correlation=["pearson", "spearman"])
def test_permutations(n_covariates, correlation):
    """Under a labeling, features that follow the numbers follow the labeling, too."""
    X, y = table(40, 5)
    covariates = np.random.default_rng(2).normal(size=(40, n_covariates)) if n_covariates else None
    found = fastfs.differential_correlation(
        X, y, covariates=covariates, correlation=correlation, n_permutations=25, random_state=4, n_pairs=6
    )
    labelings = Design(y, covariates=covariates, n_permutations=25, seed=4).labelings(0, 25)
    observed, Z = oracle.changes(X, y, covariates, correlation == "spearman")
    order = sorted(observed, key=lambda pair: -abs(observed[pair][0] / observed[pair][1]))
    strengths = []
    for scan in (observed, *(oracle.changes(Z, labeling, covariates)[0] for labeling in labelings)):
        strengths.append([(scan[pair][0] / scan[pair][1]) ** 2 for pair in order])
    np.testing.assert_allclose(found.null_maxima, np.sqrt(np.max(strengths[1:], axis=1)), rtol=1e-6)
    assert [tuple(pair) for pair in found.pairs.tolist()] == order[:6]
    assert found.pvalues_max.tolist() == oracle.step_down(strengths[0], strengths[1:])[:6]


@covering(form=[np.ascontiguousarray, np.asfortranarray, sp.csr_matrix], n_threads=[1, 3], n_permutations=[0, 9])
def test_storage_and_threads_change_no_bit(form, n_threads, n_permutations):
    X, y = table(70, 70)
    found = fastfs.differential_correlation(form(X), y, n_permutations=n_permutations, n_threads=n_threads)
    expected = fastfs.differential_correlation(X, y, n_permutations=n_permutations, n_threads=1)
    for name in ("pairs", "statistics", "correlations", "null_maxima", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_the_planted_pair_is_found_and_named():
    X, y = table(120, 30)
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(30)])
    found = fastfs.differential_correlation(frame, y, n_permutations=99, alpha=0.05)
    assert found.names.tolist() == [["g1", "g4"]]
    assert found.classes is None
    assert found.correlations[0, 0] < -0.3
    assert found.correlations[0, 1] > 0.3
    assert list(found.to_frame())[2:4] == ["r_below", "r_above"]
    assert set(networkx.Graph(found.to_network()).edges) == {("g1", "g4")}


def test_trends_of_mean_and_variance_are_no_change():
    """Of 200 data sets with trends but without a change, about 10 have p <= .05; 4 to 18 in 99.9 % of the cases."""
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = rng.uniform(-1.7, 1.7, 60)
        X = rng.normal(size=(60, 10)) * np.exp(0.4 * y[:, None]) + y[:, None]
        hits += fastfs.differential_correlation(X, y, n_permutations=19, random_state=seed).pvalue <= 0.05
    assert 2 <= hits <= 20


def test_whole_numbers_are_classes_unless_asked():
    X, y = table(60)
    ages = np.round(y)
    with pytest.raises(ValueError, match="if they are numbers, compare along them with target_type='number'"):
        fastfs.differential_correlation(X, np.arange(60.0), n_permutations=0)
    found = fastfs.differential_correlation(X, ages, target_type="number", n_permutations=0)
    assert found.classes is None
    with pytest.raises(ValueError, match="y must hold classes; got values such as"):
        fastfs.differential_correlation(X, y, target_type="class", n_permutations=0)


def test_two_valued_columns_without_all_combinations_are_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    X[:, 0] = np.arange(80) < 8
    X[:, 1] = np.arange(80) >= 72  # never 1 together
    with pytest.warns(fastfs.DataWarning, match="1 with a product that both all but determine"):
        found = fastfs.differential_correlation(X, y, n_permutations=9)
    assert [0, 1] not in found.pairs.tolist()
    assert found.n_excluded_pairs["product"] == 1


@together
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"y": np.full(60, 0.5)}, ValueError, "all 60 samples are 0.5"),
        ({"y": np.r_[np.nan, np.arange(59.0)]}, ValueError, "y"),
        ({"y": np.r_[np.inf, np.arange(59.0)]}, ValueError, "y"),
        ({"target_type": "survival"}, ValueError, "target_type must be 'auto', 'class' or 'number'; got 'survival'"),
        ({"X": np.ones((60, 3))}, ValueError, "two features or more that vary"),
        ({"covariates": "y"}, ValueError, "covariates"),
        ({"covariates": np.zeros((59, 1))}, ValueError, "covariates"),
        ({"X": np.full((60, 3), np.nan)}, ValueError, "X"),
        ({"n_permutations": 0, "blocks": [0] * 60}, ValueError, "n_permutations"),
    ],
)
def test_refused(change, error, words):
    X, y = table(60)
    change = {
        name: y if isinstance(value, str) and value == "y" else value
        for name, value in change.items()
        if value is not None
    }
    arguments = {"X": X, "y": y, "n_permutations": 9, "target_type": "number"} | change
    with pytest.raises(error) as caught:
        fastfs.differential_correlation(**arguments)
    assert_one_sentence(caught, words)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_too_few_samples(correlation):
    """With fewer, y nearly determines products of features that lost their lines in it: |t| about 1e6."""
    X, y = table(20)
    for n, least, covariates in ((8, 9, None), (10, 11, X[:10, :2])):
        with pytest.raises(ValueError, match=f"X must have at least {least} samples for this target") as caught:
            fastfs.differential_correlation(
                X[:n], y[:n], correlation=correlation, covariates=covariates, n_permutations=9
            )
        assert_one_sentence(caught)
    assert fastfs.differential_correlation(X, y, correlation=correlation, n_permutations=0).degrees == 16
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = fastfs.differential_correlation(
            rng.normal(size=(9, 30)), rng.normal(size=9), correlation=correlation, n_permutations=0
        )
        assert np.abs(found.statistics[0]) < 100


def test_a_feature_that_is_the_target_is_left_out():
    X, y = table(60)
    X[:, 2] = 3 * y - 1
    with pytest.warns(fastfs.DataWarning, match="left out"):
        found = fastfs.differential_correlation(X, y, n_permutations=9)
    assert found.excluded_features.tolist() == [2]
    assert np.isfinite(found.statistics).all()
    assert not (found.pairs == 2).any()
