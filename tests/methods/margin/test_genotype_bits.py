"""The RELIEF family on two-bit genotypes, against the same methods on the numbers that these stand for."""

import warnings

import numpy as np
import pytest

import fastfs
from fastfs.io import Genotypes, pack_genotypes

METHODS = {
    "relieff": lambda X, y, **given: fastfs.relieff_scores(X, y, scaling=None, **{"n_neighbors": 3} | given),
    "priors": lambda X, y, **given: fastfs.relieff_scores(X, y, scaling=None, priors="uniform", **given),
    "mu": lambda X, y, **given: fastfs.mu_relief_scores(X, y, scaling=None, n_neighbors=4, **given),
    "surf": lambda X, y, **given: fastfs.surf_scores(X, y, scaling=None, **given),
    "surf far": lambda X, y, **given: fastfs.surf_scores(X, y, scaling=None, far=True, **given),
    "multisurf": lambda X, y, **given: fastfs.multisurf_scores(X, y, scaling=None, **given),
}


def table(n, p, seed=0):
    """Genotypes of SNPs with frequencies from rare to common, of which some vary in no sample."""
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, rng.uniform(0.0, 0.5, p), (n, p)).astype(float)
    X[:, :: max(2, p // 3)] = X[:1, :: max(2, p // 3)]
    X[0, -1], X[1:, -1] = 2, 0
    return X


def quiet(call, *arguments, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        return call(*arguments, **given)


def garbled(G):
    """The same genotypes, with other bits after the last sample."""
    bits = np.array(G.bits)
    if G.shape[0] % 4:
        bits[:, -1] |= np.uint8(0b10110100 & (0xFF << 2 * (G.shape[0] % 4)) & 0xFF)
    facts = ("samples", "names", "alleles", "chromosome", "position", "phenotype")
    return Genotypes(bits, G.rows, G.columns, **{name: getattr(G, name) for name in facts})


SHAPES = [*((n, 70) for n in range(2, 10)), (63, 1), (64, 255), (65, 256), (255, 257), (256, 31), (257, 8191)]
SHAPES += [(20, 8192), (21, 8193), (33, 16385), (6, 600_000)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_bits_give_the_scores_of_numbers(shape, method):
    X, y = table(*shape), np.arange(shape[0]) % 2
    G = garbled(pack_genotypes(X))
    found, expected = quiet(METHODS[method], G, y), quiet(METHODS[method], X, y)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert not found[np.ptp(X, axis=0) == 0].any()


@pytest.mark.parametrize("method", METHODS)
def test_several_classes_and_some_targets(method):
    X, y = table(90, 700), np.arange(90) % 4
    for n_targets in (None, 1, 17):
        found, expected = (quiet(METHODS[method], data, y, n_targets=n_targets) for data in (pack_genotypes(X), X))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_standard_deviations_over_draws_of_targets():
    X, y = table(60, 300), np.arange(60) % 2
    on_bits, on_numbers = (fastfs.MultiSURF(n_targets=20, scaling=None).fit(data, y) for data in (pack_genotypes(X), X))
    np.testing.assert_allclose(on_bits.scores_sd_, on_numbers.scores_sd_, rtol=0, atol=1e-12)
    assert on_bits.scores_sd_.any()


@pytest.mark.parametrize("method", ["relieff", "surf", "multisurf"])
def test_numbers_as_target(method):
    X, y = table(50, 300), np.random.default_rng(1).normal(size=50)
    found, expected = (quiet(METHODS[method], data, y) for data in (pack_genotypes(X), X))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    found, expected = (fastfs.rrelieff_scores(data, y, scaling=None) for data in (pack_genotypes(X), X))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_slices_with_repeated_samples_are_tables_of_their_own(method):
    X = table(70, 500)
    rows, columns = np.array([69, 3, 3, 40, *range(10, 35), 0, 69]), np.arange(480, 20, -3)
    part, y = X[np.ix_(rows, columns)], np.arange(len(rows)) % 2
    G = pack_genotypes(X)[rows, columns]
    np.testing.assert_allclose(quiet(METHODS[method], G, y), quiet(METHODS[method], part, y), rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [1, 255, 8193, 20_000])
def test_distances_are_the_integers(p):
    """The thresholds of SURF and MultiSURF hang on every bit of the distances."""
    X, y = table(75, p), np.arange(75) % 2
    distances = np.array([np.abs(X - row).sum(axis=1) for row in X])
    G = pack_genotypes(X)
    for method in ("surf", "multisurf"):
        np.testing.assert_array_equal(quiet(METHODS[method], G, y), quiet(METHODS[method], G, y, distances=distances))


def test_the_other_allele_changes_nothing():
    X, y = table(80, 1000), np.arange(80) % 2
    flipped = np.where(np.arange(1000) % 3 == 0, 2 - X, X)
    for score in METHODS.values():
        np.testing.assert_array_equal(score(pack_genotypes(X), y), score(pack_genotypes(flipped), y))


COMPUTE = """
import sys
import numpy as np
import fastfs
from fastfs.io import pack_genotypes

X = np.random.default_rng(0).binomial(2, 0.3, (150, 3000))
G, y, results = pack_genotypes(X), np.arange(150) % 3, {}
for n_threads in (1, 2, 4):
    for far in (False, True):
        for n_targets in (None, 40):
            given = {"scaling": None, "n_threads": n_threads, "n_targets": n_targets}
            name = f"{far} {n_targets} {n_threads}"
            results["multisurf " + name] = fastfs.multisurf_scores(G, y, far=far, **given)
            results["relieff " + name] = fastfs.relieff_scores(G, y, n_neighbors=7 + far, **given)
            results["rrelieff " + name] = fastfs.rrelieff_scores(G, y + X[:, 0] / 7, n_neighbors=7 + far, **given)
np.savez(sys.argv[1], **results)
"""


def test_every_instruction_set_and_number_of_threads_gives_the_same_bits(python, isas, tmp_path):
    found = {}
    for isa in isas:
        finished = python(COMPUTE, tmp_path / isa, FASTFS_ISA=isa)
        finished.check_returncode()
        with np.load(tmp_path / f"{isa}.npz") as results:
            for name, scores in results.items():
                case = name.rpartition(" ")[0]
                np.testing.assert_array_equal(scores, found.setdefault(case, scores), f"{isa} {name}")
    assert len(found) == 12


def test_blocks_of_rows_give_the_same_scores():
    X, y = table(600, 300), np.arange(600) % 2
    G = pack_genotypes(X)
    stored, blocks = (fastfs.MultiSURF(scaling=None, max_memory=m).fit(G, y) for m in ("1G", "5M"))
    assert (stored.algorithm_, blocks.algorithm_) == ("stored", "blocks")
    np.testing.assert_allclose(blocks.scores_, stored.scores_, rtol=0, atol=1e-13)


def test_a_small_budget_is_refused_before_the_work():
    with pytest.raises(MemoryError, match="max_memory"):
        fastfs.multisurf_scores(pack_genotypes(table(500, 300)), np.arange(500) % 2, scaling=None, max_memory=100_000)


def test_genotypes_are_not_decoded(monkeypatch):
    X, y = table(40, 200), np.arange(40) % 2
    G = pack_genotypes(X, names=[f"rs{k}" for k in range(200)])
    expected = fastfs.ReliefF(scaling=None).fit(X, y).scores_

    def refuse(self, *arguments, **given):
        raise AssertionError("decoded")

    monkeypatch.setattr(Genotypes, "__array__", refuse)
    model = fastfs.ReliefF(scaling=None).fit(G, y)
    np.testing.assert_allclose(model.scores_, expected, rtol=0, atol=1e-12)
    assert model.n_features_in_ == 200
    for fit in (
        lambda X: fastfs.ReliefF().fit(X, y),
        lambda X: fastfs.ReliefF(scaling=None, missing="ignore").fit(X, y),
        lambda X: fastfs.ReliefF(scaling=None).fit(X, y, sample_weight=1.0 + y),
        lambda X: fastfs.SWRF(scaling=None).fit(X, y),
        lambda X: fastfs.Relief(scaling=None).fit(X, y),
        lambda X: fastfs.Relief(scaling=None, closed_form=True).fit(X, y),
        lambda X: fastfs.IterativeRelief(fastfs.ReliefF(scaling=None)).fit(X, y),
    ):
        np.testing.assert_allclose(fit(G).scores_, fit(X.astype(np.float32)).scores_, rtol=0, atol=1e-6)


def test_a_missing_call_is_named():
    X = table(30, 200)
    X[20, 3] = X[7, 150] = X[7, 160] = np.nan
    G = pack_genotypes(X)
    with pytest.raises(ValueError, match=r"lacks a genotype: first at row 7, column 150.*or choose missing='ignore'"):
        fastfs.relieff_scores(G, np.arange(30) % 2, scaling=None)
    with pytest.raises(ValueError, match=r"first at row 19, column 3 "):
        fastfs.relieff_scores(G[1:, :100], np.arange(29) % 2, scaling=None)
    assert quiet(METHODS["relieff"], G[8:20], np.arange(12) % 2).any()


@pytest.mark.parametrize("rows, columns", [([0, 1, 2, 12], [0, 1]), ([0, 1, 2, 3], [0, 5]), ([0, 1, 2, 3], [-1, 0])])
def test_positions_outside_the_bits_are_refused(rows, columns):
    G = pack_genotypes(table(10, 5))
    facts = ("samples", "names", "alleles", "chromosome", "position", "phenotype")
    bad = Genotypes(G.bits, np.array(rows), np.array(columns), **{name: getattr(G, name) for name in facts})
    with pytest.raises(ValueError, match=r"outside 0..11|within their bits"):
        fastfs.relieff_scores(bad, [0, 1, 0, 1], scaling=None)


def test_genotypes_that_all_agree_are_refused():
    with pytest.raises(ValueError, match="all 5 are constant"):
        fastfs.relieff_scores(pack_genotypes(np.ones((6, 5))), np.arange(6) % 2, scaling=None)


@pytest.mark.parametrize("step", [0.2, 0.6])
def test_turf_and_vls(step):
    X, y = table(60, 400), np.arange(60) % 2
    G = pack_genotypes(X)
    inner = fastfs.MultiSURF(scaling=None)
    for wrapper in (fastfs.TuRF(inner, step=step), fastfs.VLS(inner, n_subsets=30, subset_size=50)):
        found, expected = (wrapper.fit(data, y).scores_.copy() for data in (G, X))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    found, expected = (
        fastfs.IterativeRelief(inner, n_iter=3).fit(data, y).scores_ for data in (G, X.astype(np.float32))
    )
    np.testing.assert_array_equal(found, expected)


def test_permutations_share_the_distances():
    X, y = table(50, 200), np.arange(50) % 2
    found, expected = (
        fastfs.permutation_test(fastfs.MultiSURF(scaling=None), data, y, n_permutations=20, random_state=0).pvalues
        for data in (pack_genotypes(X), X)
    )
    np.testing.assert_array_equal(found, expected)


def test_progress_can_cancel():
    class Stop(Exception):
        pass

    def stop(step, fraction):
        raise Stop

    G = pack_genotypes(np.random.default_rng(0).integers(0, 3, (800, 60_000), dtype=np.int8))
    with pytest.raises(Stop):
        fastfs.multisurf_scores(G, np.arange(800) % 2, scaling=None, progress=stop)
