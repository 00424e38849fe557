"""The ranking under shuffled labels beside the true one."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import LogisticRegression

import fastfs
from covering import together
from fastfs._methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")

CALLS = {"disc": {"n_components": 3, "bandwidth_neighbors": 5}}


def problem(n=60, d=40, seed=0):
    X, y = np.random.default_rng(seed).normal(size=(n, d)), np.arange(n) % 2
    X[:, :4] += 1.5 * y[:, None]
    return X, y


def twins(X, y, **parameters):
    """The labels that the estimator was given, and the result."""
    seen = []

    class Spy(SelectKBest):
        def fit(self, X, y):
            seen.append(np.array(y))
            return super().fit(X, y)

    return seen, fastfs.shuffled_twin(Spy(k=3), X, y, **parameters)


def test_both_are_fits():
    X, y = problem()
    (true, shuffled), found = twins(X, np.array(["well", "ill"])[y], top=5)
    assert np.array_equal(true, np.array(["well", "ill"])[y])
    assert not np.array_equal(true, shuffled)
    assert sorted(shuffled) == sorted(true)
    scores = [SelectKBest(k=3).fit(X, labels).scores_ for labels in (true, shuffled)]
    assert np.array_equal(found.scores, scores[0])
    assert np.array_equal(found.shuffled_scores, scores[1])
    best = [np.argsort(-one) for one in scores]
    assert np.array_equal(np.argsort(found.ranking), best[0])
    assert np.array_equal(np.argsort(found.shuffled_ranking), best[1])
    assert found.rank_correlation == pytest.approx(spearmanr(*scores).statistic, abs=1e-12)
    assert found.overlap == len(set(best[0][:5]) & set(best[1][:5]))
    assert found.design == "30 + 30 samples"


@pytest.mark.parametrize("word", METHODS)
def test_every_method(word):
    X, y = problem()
    model = getattr(fastfs, METHODS[word].estimator)(**CALLS.get(word, {}))
    target = y if METHODS[word].classes else X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=60)
    found = fastfs.shuffled_twin(model, X, target)
    np.testing.assert_allclose(found.scores, model.fit(X, target).scores_, rtol=1e-9, atol=1e-13)
    assert not np.array_equal(found.scores, found.shuffled_scores)
    assert 0 <= found.overlap <= 10


def test_what_needs_no_labels_is_found_twice():
    X, y = problem()
    X *= np.exp(np.linspace(-1, 1, 40))
    found = {m: fastfs.shuffled_twin(getattr(fastfs, m)(), X, y) for m in ("ManiFeSt", "ReliefF")}
    assert found["ReliefF"].rank_correlation < 0.4 < 0.6 < found["ManiFeSt"].rank_correlation


def test_labels_stay_in_the_design():
    X, _ = problem()
    donors = np.arange(60) // 5
    batches, y = donors % 2, donors // 2 % 2
    (true, shuffled), found = twins(X, y, groups=donors, blocks=batches)
    assert found.design == "6 + 6 groups within 2 blocks"
    assert all(len(set(shuffled[donors == d])) == 1 for d in range(12))
    assert [shuffled[batches == b].sum() for b in (0, 1)] == [true[batches == b].sum() for b in (0, 1)]


def test_the_twin_is_never_the_truth():
    """Of two labelings, the other one."""
    X, _ = problem(n=4)
    for seed in range(8):
        (true, shuffled), _ = twins(X, np.array([0, 1, 0, 0]), blocks=[1, 1, 2, 2], random_state=seed)
        assert true.tolist() == [0, 1, 0, 0]
        assert shuffled.tolist() == [1, 0, 0, 0]


def test_tied_features_count_in_part():
    class Few(SelectKBest):
        calls = 0

        def fit(self, X, y):
            Few.calls += 1
            self.scores_ = np.array([[3.0, 0, 0, 0, 0], [0.0, 0, 2, 0, 0]][Few.calls - 1])
            return self

    X, y = problem(d=5)
    found = fastfs.shuffled_twin(Few(), X, y, top=2)
    # The first place is one feature's, the second one is shared by four: three share it twice, two have a place there.
    assert found.overlap == pytest.approx(3 / 16 + 2 / 4)


def test_equal_scores_have_no_correlation():
    class Flat(SelectKBest):
        def fit(self, X, y):
            self.scores_ = np.ones(X.shape[1])
            return self

    assert np.isnan(fastfs.shuffled_twin(Flat(), *problem()).rank_correlation)


def test_random_state():
    X, y = problem()
    first, again, other = (fastfs.shuffled_twin(fastfs.ReliefF(), X, y, random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.shuffled_scores, again.shuffled_scores)
    assert not np.array_equal(first.shuffled_scores, other.shuffled_scores)
    assert np.array_equal(first.scores, other.scores)


MISSING = np.array(["a"] * 60, dtype=object)
MISSING[[3, 7]] = [None, np.nan]


@together
@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"y": None}, "y must hold the samples' labels, which a twin shuffles; got None"),
        ({"X": iter([np.ones((60, 4))])}, "X must be an array, since a twin reads it again; got an iterator"),
        ({"top": 0}, "top must be at least 1"),
        ({"top": 41}, "top must be at most 40, the number of features; got 41"),
        ({"blocks": np.arange(60) % 2}, "no labeling but the true one is possible: .* of block 0 are 0.*confounded"),
        ({"groups": np.arange(60) % 2}, None),
        ({"groups": MISSING}, "groups must not have missing values; got some in the rows 3, 7"),
        ({"covariates": np.arange(60.0) % 2}, "covariates must not determine the labels"),
    ],
)
def test_bad_input(parameters, message):
    X, y = problem()
    given = {"X": X, "y": y} | parameters
    if message is None:  # two donors can swap their labels
        with pytest.warns(fastfs.DataWarning, match=r"only one other labeling is possible \(1 \+ 1 groups\)"):
            assert fastfs.shuffled_twin(SelectKBest(), **given).rank_correlation == pytest.approx(1)
        return
    with pytest.raises(ValueError, match=message):
        fastfs.shuffled_twin(SelectKBest(), **given)


def test_no_scores():
    X, y = problem()
    with pytest.raises(ValueError, match="RFE has no scores_ after its fit"):
        fastfs.shuffled_twin(RFE(LogisticRegression()), X, y)

    class Infinite(SelectKBest):
        def fit(self, X, y):
            self.scores_ = np.full(X.shape[1], np.inf)
            return self

    with pytest.raises(ValueError, match="scores of Infinite must be finite to be compared"):
        fastfs.shuffled_twin(Infinite(), X, y)
