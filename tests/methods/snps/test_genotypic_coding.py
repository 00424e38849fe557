"""Pairs of SNPs as classes of genotypes, for numbers and times: against two least-squares fits for each pair."""

import json
import warnings

import numpy as np
import pytest

import fastfs
from covering import covering
from fastfs._inputs.design import Design
from fastfs.io import pack_genotypes
from reference import genotype_pairs as oracle
from reference.interactions import step_down
from sentences import assert_one_sentence


def table(n, p, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    G = rng.binomial(2, rng.uniform(0.05, 0.5, p), (n, p)).astype(float)
    G[rng.random(G.shape) < missing] = np.nan
    return G


def quietly(G, y, **how):
    """Return the result without warnings of rare genotypes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        return fastfs.snp_pairs(G, y, **how)


def assert_right(found, expected):
    assert found.n_tested == len(expected) == len(found.pairs)
    statistics, degrees, rest, cells = zip(*(expected[tuple(pair)] for pair in found.pairs.tolist()), strict=True)
    np.testing.assert_allclose(found.statistics, statistics, rtol=1e-9, atol=1e-9)
    assert found.degrees.tolist() == list(degrees)
    assert found.rest_degrees.tolist() == list(rest)
    np.testing.assert_allclose(found.tables, cells, rtol=1e-12, atol=1e-12)
    assert np.all(np.diff(found.statistics) <= 0)


@covering(
    size=[(30, 5), (90, 12), (2100, 4), (60, 70)],
    missing=[0.0, 0.1],
    n_covariates=[0, 1, 3],
    n_threads=[1, 3],
)
def test_definition(size, missing, n_covariates, n_threads):
    n, p = size
    rng = np.random.default_rng(1)
    G, y = table(n, p, missing), 100 + rng.normal(size=n)
    covariates = rng.normal(size=(n, n_covariates)) * 100 + 7 if n_covariates else None
    y += np.nan_to_num(G[:, 0]) + (0 if covariates is None else covariates[:, 0] / 50)
    how = {"covariates": covariates, "coding": "genotypic", "n_pairs": 10**6, "n_threads": n_threads}
    found = quietly(G, y, **how)
    expected = oracle.scan(G, y, covariates)
    assert_right(found, expected)
    assert (
        found.n_tested + sum(found.n_excluded_pairs.values())
        == (p - len(found.excluded_features)) * (p - 1 - len(found.excluded_features)) / 2
    )
    largest = [max((of[0] for pair, of in expected.items() if i in pair), default=0) for i in range(p)]
    np.testing.assert_allclose(found.scores, largest, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("n_covariates", [0, 2])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_permutations(missing, n_covariates):
    """Step-down p-values from the statistics of all pairs under each labeling of the design."""
    n, rng = 80, np.random.default_rng(2)
    G = table(n, 7, missing, seed=3)
    y = 2.0 * (np.nan_to_num(G[:, 2]) == np.nan_to_num(G[:, 5])) + rng.normal(size=n)
    covariates = rng.normal(size=(n, n_covariates)) if n_covariates else None
    found = quietly(G, y, coding="genotypic", covariates=covariates, n_pairs=6, n_permutations=25, random_state=4)
    labelings = Design(y, covariates=covariates, n_permutations=25, seed=4).labelings(0, 25)
    scans = [oracle.scan(G, one, covariates) for one in (y, *labelings)]
    order = sorted(scans[0], key=lambda pair: -scans[0][pair][0])
    strengths = [[scan[pair][0] for pair in order] for scan in scans]
    np.testing.assert_allclose(found.null_maxima, np.max(strengths[1:], axis=1), rtol=1e-9)
    assert [tuple(pair) for pair in found.pairs.tolist()] == order[:6]
    assert found.pvalues_max.tolist() == step_down(strengths[0], strengths[1:])[:6]


def test_forms_of_genotypes_threads_and_names():
    G, y = np.clip(table(120, 80, 0.05), 0, 2), np.random.default_rng(5).normal(size=120)
    how = {"coding": "genotypic", "n_permutations": 7, "n_pairs": 40}
    named = pack_genotypes(G, names=[f"rs{j}" for j in range(80)])
    expected = quietly(G, y, n_threads=1, **how)
    for found in (
        quietly(named, y, n_threads=3, **how),
        quietly(np.where(np.isnan(G), -1, G).astype(np.int8), y, **how),
        quietly(pack_genotypes(G[::-1])[::-1], y, **how),
    ):
        for name in ("pairs", "statistics", "degrees", "rest_degrees", "pvalues_max", "null_maxima", "scores"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    few = fastfs.snp_pairs(named, y, snps=["rs4", "rs9"], coding="genotypic")
    assert few.names.tolist() == [["rs4", "rs9"]]
    assert few.to_frame().columns.tolist()[:5] == ["feature_a", "feature_b", "statistic", "degrees", "rest_degrees"]
    json.dumps(few.to_network())


def test_heterozygotes_are_found_by_genotypes_only():
    rng = np.random.default_rng(0)
    G = rng.binomial(2, 0.5, (400, 60))
    y = ((G[:, 3] == 1) ^ (G[:, 40] == 1)) + 0.5 * rng.normal(size=400)
    found = fastfs.snp_pairs(G, y, coding="genotypic", n_permutations=19)
    assert found.pairs[0].tolist() == [3, 40]
    assert found.pvalue == 0.05
    np.testing.assert_allclose(found.tables[0, 1, 1, 1], y[(G[:, 3] == 1) & (G[:, 40] == 1)].mean())
    assert fastfs.snp_pairs(G, y, coding="additive").pairs[0].tolist() != [3, 40]


def test_times_count_by_their_martingale_residuals():
    rng = np.random.default_rng(0)
    G = table(90, 6)
    y = np.zeros(90, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(90) < 0.7, rng.exponential(size=90)
    residuals = np.array(
        [
            e - np.sum(y["event"][y["time"] <= t] / [np.sum(y["time"] >= u) for u in y["time"][y["time"] <= t]])
            for e, t in y.tolist()
        ]
    )
    found = fastfs.snp_pairs(G, y, coding="genotypic")
    expected = fastfs.snp_pairs(G, residuals, coding="genotypic", target_type="number")
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-9)
    assert found.target_type == "survival"


def test_classes_are_as_without_a_coding_and_numbers_are_close_to_them():
    """F times 4 is close to the likelihood ratio of two classes, whose covariates are in the model of numbers only."""
    rng = np.random.default_rng(6)
    G, labels = rng.binomial(2, 0.5, (2000, 8)), rng.integers(0, 2, 2000)
    plain, given = (fastfs.snp_pairs(G, labels, **how) for how in ({}, {"coding": "genotypic"}))
    np.testing.assert_array_equal(plain.statistics, given.statistics)
    numbers = fastfs.snp_pairs(G, labels, coding="genotypic", target_type="number")
    of_classes = {tuple(pair): value for pair, value in zip(plain.pairs.tolist(), plain.statistics, strict=True)}
    np.testing.assert_allclose(numbers.statistics, [of_classes[tuple(p)] for p in numbers.pairs.tolist()], atol=0.1)


def test_pairs_without_a_test():
    rng = np.random.default_rng(0)
    G, y = rng.binomial(2, 0.5, (40, 5)).astype(float), rng.normal(size=40)
    G[:, 2] = 0  # doesn't vary
    G[:, 3] = np.nan  # known in five samples, of which the last two have the same two genotypes with any SNP
    G[:5, 3] = [0, 0, 1, 1, 1]
    G[:5, [0, 4]] = np.array([[0, 1, 0, 1, 1]]).T
    G[:, 1] = 2 - G[:, 0]  # each genotype goes with one of the other SNP
    with pytest.warns(fastfs.DataWarning) as caught:
        found = fastfs.snp_pairs(G, y, coding="genotypic", n_permutations=9)
    words = [str(one.message) for one in caught]
    assert words[0].startswith("1 SNP has fewer than two genotypes and is left out: column 2")
    assert "1 without combinations of genotypes that single SNPs don't explain" in words[1]
    assert "3 with fewer than three residual degrees of freedom" in words[1]
    assert found.n_excluded_pairs == {"product": 1, "samples": 3, "target": 0}
    assert found.excluded_pairs.tolist() == [[0, 1], [0, 3], [1, 3], [3, 4]]
    assert found.pairs.tolist() in ([[0, 4], [1, 4]], [[1, 4], [0, 4]])
    with pytest.warns(fastfs.DataWarning, match="that determine the target"):
        determined = fastfs.snp_pairs(G[:, [0, 4]], G[:, 0] - 3 * G[:, 4], coding="genotypic", target_type="number")
    assert determined.n_excluded_pairs["target"] == 1
    assert len(determined.pairs) == determined.n_tested == 0


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e308])
def test_ends_of_the_range(unit):
    G, y = table(60, 5), np.random.default_rng(1).uniform(-1.5, 1.5, 60)
    y[:2] = 1.7, -1.7
    found = fastfs.snp_pairs(G, y * unit, coding="genotypic", target_type="number", n_permutations=5)
    expected = fastfs.snp_pairs(G, y, coding="genotypic", n_permutations=5)
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-9)
    np.testing.assert_allclose(found.tables[..., 1] / unit, expected.tables[..., 1], rtol=1e-9)
    exact = fastfs.snp_pairs(G, G[:, 0] * G[:, 3] * 1.5, coding="genotypic")
    assert exact.pairs[0].tolist() == [0, 3]
    assert np.isfinite(exact.statistics).all()


G30, Y30 = table(30, 4), np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"coding": "dominant"}, "coding must be 'auto', 'additive' or 'genotypic'; got 'dominant'"),
        ({"y": Y30 > 0, "coding": "additive"}, "coding must be 'genotypic' for classes; got 'additive'"),
        ({"covariates": Y30}, "determine"),
        ({"covariates": Y30, "n_permutations": 0}, "covariates must not determine the numbers of y"),
        ({"y": np.full(30, 0.5), "n_permutations": 0}, "y must vary; got equal numbers"),
        ({"y": Y30[:-1]}, "30 samples"),
        ({"y": np.r_[Y30[:-1], np.nan]}, "no number for 1 of 30 samples"),
        ({"y": np.r_[Y30[:-1], np.inf]}, "inf"),
        ({"G": G30[:6], "y": Y30[:6], "n_permutations": 0}, "X must have at least 7 samples"),
        ({"G": np.ones((30, 3))}, "two SNPs or more that vary; got 0 of 3"),
        ({"snps": [1]}, "snps must name at least two columns"),
        ({"max_memory": 5000, "n_permutations": 0}, "give fewer SNPs or a smaller n_pairs"),
    ],
)
def test_refused(change, words):
    with pytest.raises((ValueError, MemoryError)) as caught:
        fastfs.snp_pairs(**({"G": G30, "y": Y30, "coding": "genotypic", "n_permutations": 9} | change))
    assert_one_sentence(caught, words)
