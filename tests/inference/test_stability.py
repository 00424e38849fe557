"""Stability under subsampling, and consensus of methods."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import LogisticRegression

import fastfs
from fastfs._inference.stability import nogueira

pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")


def problem(n=60, d=30, seed=0):
    X, y = np.random.default_rng(seed).normal(size=(n, d)), np.arange(n) % 2
    X[:, :3] += 1.2 * y[:, None]
    return X, y


def nogueira_of_matrix(Z):
    """The index and its variance from a subsamples x features matrix, in the paper's symbols."""
    M, d = Z.shape
    p = Z.mean(axis=0)
    k = Z.sum(axis=1)
    k_bar = k.mean()
    s2 = M / (M - 1) * p * (1 - p)
    denominator = k_bar / d * (1 - k_bar / d)
    phi = 1 - s2.mean() / denominator
    single = np.array(
        [
            (np.mean(Z[i] * p) - k[i] * k_bar / d**2 + phi / 2 * (2 * k_bar * k[i] / d**2 - k[i] / d - k_bar / d + 1))
            / denominator
            for i in range(M)
        ]
    )
    return phi, 4 / M**2 * np.sum((single - single.mean()) ** 2)


@pytest.mark.parametrize("seed", range(5))
def test_nogueira(seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((12, 40)) < rng.random(40)  # selections of different sizes
    index, variance = nogueira([np.flatnonzero(z) for z in Z], Z.mean(axis=0))
    np.testing.assert_allclose([index, variance], nogueira_of_matrix(Z.astype(float)), rtol=1e-12)


def test_nogueira_of_random_selections_is_near_zero():
    rng = np.random.default_rng(0)
    selected = [rng.choice(200, 20, replace=False) for _ in range(100)]
    frequencies = np.bincount(np.concatenate(selected), minlength=200) / 100
    index, variance = nogueira(selected, frequencies)
    assert abs(index) < 4 * np.sqrt(variance) < 0.05


def test_nogueira_of_equal_selections_is_one():
    frequencies = np.zeros(9)
    frequencies[[1, 4]] = 1
    assert nogueira([np.array([1, 4])] * 5, frequencies) == (1.0, 0.0)


def test_subsamples():
    X, y = problem(n=61)
    seen = []

    class Spy(SelectKBest):
        def fit(self, X, y):
            seen.append((X, y))
            return super().fit(X, y)

    found = fastfs.stability(Spy(k=3), X, y, n_subsamples=8, fraction=0.5)
    assert all(np.bincount(labels).tolist() == [16, 15] for _, labels in seen)  # 31 and 30 samples, to even
    assert len({rows[:, 0].tobytes() for rows, _ in seen}) == 8
    scores, supports = [], []
    for rows, labels in seen:
        fitted = SelectKBest(k=3).fit(rows, labels)
        scores.append(fitted.scores_)
        supports.append(fitted.get_support())
    assert np.array_equal(found.frequencies, np.mean(supports, axis=0))
    assert [s.tolist() for s in found.selected] == [np.flatnonzero(s).tolist() for s in supports]
    expected = spearmanr(np.array(scores).T).statistic[np.triu_indices(8, 1)].mean()
    assert found.relevance_correlation == pytest.approx(expected, abs=1e-12)
    phi, variance = nogueira_of_matrix(np.array(supports, dtype=float))
    assert found.stability == pytest.approx(phi, abs=1e-12)
    assert found.interval == pytest.approx((phi - 1.959964 * np.sqrt(variance), phi + 1.959964 * np.sqrt(variance)))


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, csr_matrix])
def test_kinds_of_matrices(make):
    X, y = problem()
    plain = fastfs.stability(fastfs.ProjSe(1), X, y, n_subsamples=5)
    found = fastfs.stability(fastfs.ProjSe(1), make(X), y, n_subsamples=5)
    assert np.array_equal(found.frequencies, plain.frequencies)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_jobs(n_jobs):
    X, y = problem()
    alone = fastfs.stability(fastfs.MultiSURF(4), X, y, n_subsamples=10)
    found = fastfs.stability(fastfs.MultiSURF(4), X, y, n_subsamples=10, n_jobs=n_jobs)
    assert np.array_equal(found.frequencies, alone.frequencies)
    assert found.stability == alone.stability
    assert found.relevance_correlation == alone.relevance_correlation


def test_string_labels_and_rare_classes():
    X, _ = problem()
    y = np.array(["rare"] + ["a", "b"] * 29 + ["a"])
    found = fastfs.stability(fastfs.ProjSe(2), X, y, n_subsamples=4)
    assert found.frequencies.sum() == pytest.approx(2)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia", "bsr"])
def test_any_sparse_format(form):
    X, y = problem()
    X = np.where(X > 0, X, 0)
    dense = fastfs.stability(fastfs.ProjSe(1), X, y, n_subsamples=5)
    found = fastfs.stability(fastfs.ProjSe(1), csr_matrix(X).asformat(form), y, n_subsamples=5)
    assert np.array_equal(found.frequencies, dense.frequencies)


@pytest.mark.parametrize("X", [None, 3.0, "abc", np.ones(60), np.empty((0, 5)), iter([np.ones((60, 5))])])
def test_no_table(X):
    with pytest.raises(ValueError, match="X must be a 2-D array of samples x features, but has the shape"):
        fastfs.stability(fastfs.ReliefF(3), X, np.arange(60) % 2)


def test_without_scores():
    X, y = problem()
    found = fastfs.stability(RFE(LogisticRegression(), n_features_to_select=3, step=5), X, y, n_subsamples=3)
    assert np.isnan(found.relevance_correlation)
    assert 0 < found.stability <= 1


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"n_subsamples": 1}, ValueError, "n_subsamples must be at least 2, but is 1"),
        ({"fraction": 1.0}, ValueError, "fraction must lie between 0 and 1"),
        ({"fraction": "half"}, TypeError, "fraction must be a number"),
        ({"confidence": 0}, ValueError, "confidence must lie between 0 and 1"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = problem()
    with pytest.raises(error, match=message):
        fastfs.stability(fastfs.ReliefF(3), X, y, **parameters)


def test_nothing_to_compare():
    X, y = problem()
    with pytest.raises(ValueError, match="selected all of the 30 features"):
        fastfs.stability(SelectKBest(k="all"), X, y, n_subsamples=3)
    with pytest.raises(ValueError, match="one label for each of the 60 samples"):
        fastfs.stability(fastfs.ReliefF(3), X, y[:-1])


# ----------------------------------------------------------------------------------------------------------- consensus


def test_mean_rank():
    found = fastfs.consensus({"a": [9.0, 5.0, 1.0, 0.0], "b": [9.0, 1.0, 5.0, 5.0], "c": [3.0, 2.0, 1.0, 0.0]})
    assert found.ranks.tolist() == [[1, 2, 3, 4], [1, 4, 2.5, 2.5], [1, 2, 3, 4]]
    np.testing.assert_allclose(found.scores, 1 - (np.array([1, 8 / 3, 8.5 / 3, 10.5 / 3]) - 1) / 3, rtol=1e-14)
    assert found.ranking.tolist() == [1, 2, 3, 4]
    assert found.pvalues is None


def test_robust_rank_aggregation():
    """Two methods, by hand: rho = min(1 - (1 - r1)^2, r2^2) for ordered ranks r1 <= r2, times two methods."""
    scores = {"a": -np.arange(10.0), "b": -np.arange(10.0)[::-1]}
    found = fastfs.consensus(scores, method="rra")
    r = np.sort(np.array([np.arange(1, 11), np.arange(10, 0, -1)]) / 10, axis=0)
    expected = np.minimum(2 * np.minimum(1 - (1 - r[0]) ** 2, r[1] ** 2), 1)
    np.testing.assert_allclose(found.pvalues, expected, rtol=1e-12)
    np.testing.assert_allclose(found.scores, -np.log10(expected), rtol=1e-12)


def test_under_random_orders_rra_is_not_too_sure():
    rng = np.random.default_rng(0)
    pvalues = fastfs.consensus({str(m): rng.normal(size=5000) for m in range(5)}, method="rra").pvalues
    for q in (0.01, 0.1):
        assert np.mean(pvalues <= q) < q + 4 * np.sqrt(q / 5000)


def test_estimators_and_scores():
    X, y = problem()
    relieff, projse = fastfs.ReliefF().fit(X, y), fastfs.ProjSe(2, center=True).fit(X, y)
    found = fastfs.consensus(
        {"relieff": relieff, "projse": projse, "f": SelectKBest().fit(X, y), "mine": np.arange(30)}
    )
    assert found.names == ["relieff", "projse", "f", "mine"]
    assert np.array_equal(found.ranks[0], relieff.ranking_)
    assert np.array_equal(found.ranks[1], projse.ranking_)  # not that of its scores
    assert found.ranks[3].tolist() == list(range(30, 0, -1))
    assert clone(relieff) is not relieff


@pytest.mark.parametrize(
    "methods, error, message",
    [
        ({"a": [1, 2]}, ValueError, "two methods or more, but there is 1"),
        ([[1, 2], [1, 2]], TypeError, "must be a mapping"),
        ({"a": [1, 2], "b": [1, 2, 3]}, ValueError, "a has 2 and b 3"),
        ({"a": [1, np.nan], "b": [1, 2]}, ValueError, "of a must be finite, but that of feature 1"),
        ({"a": [1, 2], "b": fastfs.ReliefF()}, TypeError, "b must be scores"),
        ({"a": [1, 2], "b": [[1, 2]]}, TypeError, "b must be scores of all features"),
    ],
)
def test_bad_methods(methods, error, message):
    with pytest.raises(error, match=message):
        fastfs.consensus(methods)


def test_series_in_another_order():
    one = pd.Series([3.0, 2.0, 1.0], index=["a", "b", "c"])
    with pytest.raises(ValueError, match="that of two differs from that of one: reindex it"):
        fastfs.consensus({"one": one, "two": one[::-1]})
    assert fastfs.consensus({"one": one, "two": one[::-1].reindex(one.index)}).ranking.tolist() == [1, 2, 3]


def test_unknown_method():
    with pytest.raises(ValueError, match="method must be 'mean' or 'rra'"):
        fastfs.consensus({"a": [1, 2], "b": [1, 2]}, method="median")
