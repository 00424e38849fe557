"""Parameters of fit, as scikit-learn passes them on, and pipelines."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from fastfs._inputs.design import Design

RNG = np.random.default_rng(0)
N = 40
X, Y, WEIGHTS = RNG.normal(size=(N, 5)), np.arange(N) % 2, RNG.uniform(0.2, 2, N)
X[:, 1] += 2 * Y
PARAMS = {"sample_weight": WEIGHTS}


def weighted(rows, y):
    return fastfs.MultiSURF(2).fit(X[rows], y, sample_weight=WEIGHTS[rows])


def test_weights_stay_with_their_samples_in_permutations():
    found = fastfs.permutation_test(fastfs.MultiSURF(), X, Y, params=PARAMS, n_permutations=30)
    everything = np.arange(N)
    expected = [weighted(everything, Y).scores_]
    expected += [weighted(everything, y).scores_ for y in Design(Y).labelings(0, 30)]
    np.testing.assert_array_equal(found.scores, expected[0])
    np.testing.assert_allclose(found.null_mean, np.mean(expected, axis=0), rtol=1e-10, atol=1e-15)
    assert (found.scores != fastfs.MultiSURF().fit(X, Y).scores_).all()
    in_workers = fastfs.permutation_test(fastfs.MultiSURF(), X, Y, params=PARAMS, n_permutations=30, n_jobs=2)
    np.testing.assert_array_equal(in_workers.null_mean, found.null_mean)


def test_subsamples_take_their_weights():
    found = fastfs.stability(fastfs.MultiSURF(2), X, Y, params=PARAMS, n_subsamples=5)
    plain = fastfs.stability(fastfs.MultiSURF(2), X, Y, n_subsamples=5)
    assert len(found.selected) == 5
    assert found.relevance_correlation != plain.relevance_correlation


def test_a_twin_has_the_same_weights():
    found = fastfs.shuffled_twin(fastfs.MultiSURF(), X, Y, params=PARAMS, top=2)
    np.testing.assert_array_equal(found.scores, weighted(np.arange(N), Y).scores_)


def test_pipelines_count_by_their_last_step():
    pipeline = make_pipeline(StandardScaler(), fastfs.MultiSURF(2, scaling=None))
    Z = StandardScaler().fit_transform(X)
    found = fastfs.permutation_test(pipeline, X, Y, n_permutations=30)
    expected = fastfs.permutation_test(fastfs.MultiSURF(scaling=None), Z, Y, n_permutations=30)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.pvalues_max, expected.pvalues_max)
    assert [len(part) for part in fastfs.stability(pipeline, X, Y, n_subsamples=3).selected] == [2] * 3


def test_pipelines_route_them():
    with sklearn.config_context(enable_metadata_routing=True):
        selector = fastfs.MultiSURF(2).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), selector)
        found = fastfs.permutation_test(pipeline, X, Y, params=PARAMS, n_permutations=9)
        expected = selector.fit(StandardScaler().fit_transform(X), Y, sample_weight=WEIGHTS).scores_
    np.testing.assert_array_equal(found.scores, expected)


def test_what_fit_does_not_take():
    with pytest.raises(TypeError, match="sample_weight"):
        fastfs.permutation_test(fastfs.ManiFeSt(), X, Y, params=PARAMS, n_permutations=9)
    with pytest.raises(ValueError, match="StandardScaler has no scores_"):
        fastfs.permutation_test(make_pipeline(fastfs.ReliefF(), StandardScaler()), X, Y, n_permutations=9)


def test_pipelines_of_numbers():
    y = X[:, 1] + 0.1 * X[:, 2]
    pipeline = make_pipeline(StandardScaler(), fastfs.RReliefF(2, n_neighbors=20))
    found = fastfs.permutation_test(pipeline, X, y, n_permutations=19)
    assert found.ranking[1] == 1
    assert [len(part) for part in fastfs.stability(pipeline, X, y, n_subsamples=3).selected] == [2] * 3
