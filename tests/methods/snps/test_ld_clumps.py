"""LD clumps against correlations in NumPy and a walk down the ranking."""

import numpy as np
import pytest

import fastfs
from covering import covering, together
from fastfs.io import pack_genotypes
from sentences import assert_one_sentence


def data(n=150, p=200, missing=0.0, seed=0):
    """Blocks of eight SNPs in LD, on three chromosomes, in no order; some constant."""
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, rng.uniform(0.05, 0.5, p), (n, p)).astype(float)
    first = X[:, np.arange(p) // 8 * 8]
    X = np.where(rng.random(X.shape) < rng.uniform(0, 0.5, p), X, first)
    X[:, ::3] = 2 - X[:, ::3]
    X[:, 50] = 1
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 51] = np.nan
    order = rng.permutation(p)
    chromosome, position = np.array(["1", "2", "X"])[np.arange(p) * 3 // p], 1000 * np.arange(p)
    G = pack_genotypes(X[:, order], chromosome=chromosome[order], position=position[order])
    return X[:, order], G, rng.normal(size=p).round(1)


def r_squared(a, b):
    """In integers but for the last division: 0 must be 0."""
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b, n = a[known].astype(int), b[known].astype(int), int(known.sum())
    covariance = n * (a @ b) - a.sum() * b.sum()
    variances = (n * (a @ a) - a.sum() ** 2) * (n * (b @ b) - b.sum() ** 2)
    return covariance**2 / variances if variances else 0.0


def walk(X, chromosome, position, scores, r2, window, n_clumps):
    clump, leads = np.full(X.shape[1], -1), []
    for lead in np.argsort(-scores, kind="stable"):
        if clump[lead] >= 0:
            continue
        if len(leads) == n_clumps:
            break
        clump[lead] = len(leads)
        for j in np.flatnonzero((clump < 0) & (chromosome == chromosome[lead])):
            if abs(position[j] - position[lead]) <= window and r_squared(X[:, lead], X[:, j]) > r2:
                clump[j] = len(leads)
        leads.append(lead)
    return leads, clump


@covering(
    **{"r2, n_clumps": [(0.5, None), (0.1, 20), (0.0, None), (1.0, 3)]}, window=[0, 3000, 250_000], missing=[0.0, 0.1]
)
def test_definition(missing, window, r2, n_clumps):
    X, G, scores = data(missing=missing)
    leads, clump = walk(X, G.chromosome, G.position, scores, r2, window, n_clumps)
    found = fastfs.ld_clumps(G, scores, r2=r2, window=window, n_clumps=n_clumps)
    assert found.leads.tolist() == leads
    np.testing.assert_array_equal(found.clump, clump)
    assert found.names.tolist() == G.names[leads].tolist()


def test_slices_and_threads():
    X, G, scores = data(missing=0.02)
    rows, columns = np.arange(140, 3, -2), np.arange(190, 10, -1)
    part = pack_genotypes(X[np.ix_(rows, columns)], chromosome=G.chromosome[columns], position=G.position[columns])
    for n_threads in (1, 3):
        found = fastfs.ld_clumps(G[rows, columns], scores[columns], n_threads=n_threads)
        np.testing.assert_array_equal(found.clump, fastfs.ld_clumps(part, scores[columns]).clump)


def test_arrays_have_no_positions():
    X, G, scores = data()
    _, clump = walk(X, G.chromosome[:1].repeat(200), 0 * G.position, scores, 0.5, 0, None)
    np.testing.assert_array_equal(fastfs.ld_clumps(X, scores).clump, clump)
    assert fastfs.ld_clumps(X, scores).names is None


@together
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"scores": np.zeros(3)}, ValueError, "one for each of the 200 SNPs; got the shape (3,)"),
        ({"scores": np.full(200, np.nan)}, ValueError, "scores must be finite numbers; got nan for SNP 0"),
        ({"scores": ["high"] * 200}, ValueError, "scores must hold numbers"),
        ({"scores": np.full(200, 1j)}, ValueError, "scores must be real"),
        ({"scores": [[1], [2, 3]] * 100}, ValueError, "scores must be an array"),
        ({"scores": np.ma.masked_less(np.arange(200), 7)}, ValueError, "scores must not have masked values"),
        ({"r2": 1.5}, ValueError, "r2 must be from 0 to 1; got 1.5"),
        ({"r2": "high"}, TypeError, "r2 must be a number"),
        ({"window": -1}, ValueError, "window must be at least 0"),
        ({"n_clumps": 0}, ValueError, "n_clumps must be at least 1"),
        ({"max_memory": "10K"}, MemoryError, "the clumping of 200 SNPs would need"),
    ],
)
def test_refused(change, error, words):
    _, G, scores = data()
    with pytest.raises(error) as caught:
        fastfs.ld_clumps(G, **({"scores": scores} | change))
    assert_one_sentence(caught, words)


def test_negative_positions_are_refused():
    G = pack_genotypes(np.eye(4, dtype=int), position=[1, 2, -5, 3])
    with pytest.raises(ValueError, match=r"positions must be from 0 to 2\^50; got -5 for column 2"):
        fastfs.ld_clumps(G, np.arange(4))
