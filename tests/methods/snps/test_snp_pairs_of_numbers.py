"""Pairs of SNPs that interact in their effect on numbers and times: the scan of products, on copies of an allele."""

import numpy as np
import pytest

import fastfs
from fastfs.io import pack_genotypes
from sentences import assert_one_sentence

RNG = np.random.default_rng(0)
G = RNG.binomial(2, 0.4, (150, 9))
Y = G[:, 2] * G[:, 6] + 0.7 * RNG.normal(size=150)
TIMES = np.zeros(150, dtype=[("event", bool), ("time", float)])
TIMES["event"], TIMES["time"] = RNG.random(150) < 0.7, np.exp(-Y)


def least_squares(i, j, y, covariates):
    """F of the product of copies, by two fits."""
    a, b = G[:, i].astype(float), G[:, j].astype(float)
    small = np.column_stack([np.ones(150), a, b, covariates])
    rests = [np.linalg.lstsq(M, y, rcond=None)[1][0] for M in (small, np.column_stack([small, a * b]))]
    return (rests[0] - rests[1]) / rests[1] * (150 - small.shape[1] - 1)


@pytest.mark.parametrize("covariates", [None, RNG.normal(size=(150, 2))])
def test_statistics_are_those_of_least_squares(covariates):
    found = fastfs.snp_pairs(pack_genotypes(G), Y, covariates=covariates, n_permutations=19)
    assert found.pairs[0].tolist() == [2, 6]
    assert found.pvalue == 0.05
    Z = np.empty((150, 0)) if covariates is None else covariates
    expected = [least_squares(i, j, Y, Z) for i, j in found.pairs]
    np.testing.assert_allclose(found.statistics, expected, rtol=1e-9)


@pytest.mark.parametrize("y", [Y, TIMES], ids=["numbers", "times"])
@pytest.mark.parametrize("form", [lambda X: X, lambda X: X.astype(np.float32), pack_genotypes])
def test_forms_of_genotypes_give_the_bits_of_interaction_scan(y, form):
    how = {"n_permutations": 19, "blocks": np.arange(150) % 3}
    found = fastfs.snp_pairs(form(G), y, snps=[0, 2, 3, 6], **how)
    expected = fastfs.interaction_scan(G.astype(float), y, features=[0, 2, 3, 6], **how)
    for name in ("pairs", "statistics", "effects", "standard_errors", "pvalues_max", "null_maxima", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert isinstance(found, fastfs.InteractionScan)


def test_names_and_kinds():
    named = pack_genotypes(G, names=[f"rs{j}" for j in range(9)])
    assert fastfs.snp_pairs(named, Y, snps=["rs6", "rs2"]).names.tolist() == [["rs2", "rs6"]]
    whole = np.round(3 * Y)
    assert fastfs.snp_pairs(G, whole, target_type="number").target_type == "number"
    assert isinstance(fastfs.snp_pairs(G, (Y > 1).astype(float)), fastfs.SnpPairs)


MISSING = G.astype(float)
MISSING[3, 4] = np.nan


@pytest.mark.parametrize(
    "change, words",
    [
        ({"G": MISSING}, "G must have no missing genotypes if y holds numbers or times; got 1: impute them"),
        ({"G": pack_genotypes(MISSING), "y": TIMES}, "G must have no missing genotypes"),
        ({"y": np.where(np.arange(150) == 7, np.nan, Y)}, "no number for 1 of 150 samples, first for sample 7"),
        ({"y": Y[:-1]}, "150 samples"),
        ({"y": np.full(150, 0.5)}, "0.5"),
        ({"target_type": "ordinal"}, "target_type must be"),
        ({"y": TIMES, "covariates": Y}, "y must hold classes or numbers with covariates"),
        ({"covariates": Y}, "determine"),
        ({"snps": [1]}, "snps must name at least two columns"),
        ({"alpha": 0.05, "n_permutations": 0}, "n_permutations must be above 0 with alpha"),
        ({"G": G[:6], "y": Y[:6], "n_permutations": 0}, "X must have at least 7 samples"),
    ],
)
def test_refused(change, words):
    with pytest.raises(ValueError, match=r"\w") as caught:
        fastfs.snp_pairs(**({"G": G, "y": Y, "n_permutations": 9} | change))
    assert_one_sentence(caught, words)
