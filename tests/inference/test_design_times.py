"""Labelings of times to an event that keep their relation to covariates, against a plain account of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

import fastfs
from covering import covering
from fastfs._inputs.design import Design

TIMES = [("event", bool), ("time", float)]


def times(seed, n=40, digits=8):
    """Times that follow the first covariate, and when samples were last seen, which follows the second one."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    event = rng.exponential(np.exp(-1.5 * Z[:, 0])).round(digits)
    last = rng.exponential(2 * np.exp(-Z[:, 1])).round(digits)
    y = np.empty(n, TIMES)
    y["event"], y["time"] = event <= last, np.minimum(event, last)
    return y, Z


def log_hazards(y, Z, blocks, of_event):
    """Cox's regression by Breslow's rule: an event at a time comes before those who were last seen then."""
    key = list(zip(y["time"].tolist(), (~y["event"]).tolist(), strict=True))
    own = np.flatnonzero(y["event"] == of_event)
    sets = np.array([[key[j] >= key[i] and blocks[j] == blocks[i] for j in range(len(y))] for i in own])

    def cost(slope):
        eta = Z @ slope
        return np.sum(np.log(sets @ np.exp(eta)) - eta[own]) + slope @ slope / 4e4

    return Z @ minimize(cost, np.zeros(Z.shape[1]), method="BFGS", options={"gtol": 1e-9}).x


def draw(y, hazards, blocks, rng):
    """Deal the records of each block in the order of their times, to units by their hazards."""
    found = y.copy()
    for block in dict.fromkeys(blocks.tolist()):
        left = np.flatnonzero(blocks == block).tolist()
        for i in sorted(left, key=lambda i: (y["time"][i], not y["event"][i], i)):
            sums = np.cumsum(hazards[int(y["event"][i])][left])
            found[left.pop(int(np.searchsorted(sums[:-1], rng.random() * sums[-1], side="right")))] = y[i]
    return found


@covering(digits=[8, 1], n_blocks=[1, 2, 10], of_donors=[False, True], scale=[1.0, 1e200], seed=[0, 1, 2])
def test_draws_are_those_of_two_regressions(digits, n_blocks, of_donors, scale, seed):
    y, Z = times(seed, digits=digits)
    blocks = np.arange(40) % n_blocks
    hazards = [np.exp(log_hazards(y, (Z - Z.mean(0)) / Z.std(0), blocks, kind)) for kind in (False, True)]
    expected = [
        draw(y, hazards, blocks, np.random.default_rng(child)) for child in np.random.SeedSequence(seed).spawn(30)
    ]
    donors = np.repeat(np.arange(40), 3) if of_donors else np.arange(40)
    given = {"groups": donors} if of_donors else {}
    design = Design(
        y[donors], blocks=blocks[donors], covariates=(Z * scale)[donors], n_permutations=30, seed=seed, **given
    )
    assert not design.exact
    assert np.array_equal(design.labelings(0, 30), np.array(expected)[:, donors])


def test_relation_stays():
    y, Z = times(3, n=300)
    design = Design(y, covariates=pd.DataFrame(Z), n_permutations=50)
    assert design.description == "300 samples, given 2 covariates"
    known = [np.corrcoef(row["time"], Z[:, 0])[0, 1] for row in design.labelings(0, 50)]
    free = [np.corrcoef(row["time"], Z[:, 0])[0, 1] for row in Design(y, n_permutations=50).labelings(0, 50)]
    true = np.corrcoef(y["time"], Z[:, 0])[0, 1]
    assert np.abs(np.mean(known) - true) < 0.1 < -true
    assert np.abs(np.mean(free)) < 0.05


class Correlations(BaseEstimator):
    """The absolute rank correlation of each feature with the times, of whatever kind."""

    def fit(self, X, y):
        self.scores_ = np.abs(np.corrcoef(X.T, rankdata(y["time"]))[-1, :-1])
        return self


def test_followers_are_significant_only_without_what_is_given():
    y, Z = times(5, n=80)
    X = Z[:, :1] + 0.5 * np.random.default_rng(5).normal(size=(80, 8))
    asked = {"n_permutations": 99}
    assert fastfs.permutation_test(Correlations(), X, y, **asked).pvalue <= 0.05
    assert fastfs.permutation_test(Correlations(), X, y, covariates=Z, **asked).pvalue > 0.05
    given = fastfs.permutation_test(fastfs.RReliefF(given=Z), X, y, **asked)
    known = fastfs.permutation_test(fastfs.RReliefF(given=Z), X, y, covariates=Z, **asked)
    assert given.design == "80 samples, given 2 covariates"
    assert known.design == "80 samples, given 4 covariates"


def test_refused():
    y, _ = times(0, n=20)
    y["event"] = True
    with pytest.raises(ValueError, match="covariates must not determine the times of y"):
        Design(y, covariates=y["time"])
    y["time"] = np.arange(20) // 5
    with pytest.raises(ValueError, match="covariates must not determine the times of y"):
        Design(y, covariates=y["time"])
    y["time"] = np.arange(20)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="covariates must not determine the times of y"):
        Design(y, covariates=rng.normal(size=(20, 40)))
    Design(y, covariates=np.repeat(rng.normal(size=(20, 1)), 3, axis=1))  # copies do no harm
