"""The RELIEF family on two-bit genotypes, against the same methods on the numbers that these stand for."""

import warnings

import numpy as np
import pytest

import fastfs
from covering import covering, rotating, some
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


def with_gaps(X, rate, seed=0):
    """The same with missing genotypes, in some SNPs none, in others many, and in the first sample nearly all."""
    rng = np.random.default_rng(seed)
    share = np.where(np.arange(X.shape[1]) % 5 == 0, 0, rng.uniform(0, 2 * rate, X.shape[1]))
    found = np.where(rng.random(X.shape) < share, np.nan, X)
    found[0, X.shape[1] // 4 : -1] = np.nan
    return found


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
SHAPES += [(20, 8192), (21, 8193), (33, 16385)]


@rotating(2, shape=SHAPES, method=METHODS.keys())
def test_bits_give_the_scores_of_numbers(shape, method):
    X, y = table(*shape), np.arange(shape[0]) % 2
    G = garbled(pack_genotypes(X))
    found, expected = quiet(METHODS[method], G, y), quiet(METHODS[method], X, y)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert not found[np.ptp(X, axis=0) == 0].any()


@covering(
    shape=[(5, 70), (30, 255), (65, 300), (257, 700), (21, 16_500), (33, 33_000), (600, 64)],
    method=some(2, 0, METHODS),
    rate=[0.02, 0.4],
)
def test_missing_genotypes_are_ignored_as_in_numbers(shape, method, rate):
    X, y = with_gaps(table(*shape), rate), np.arange(shape[0]) % 2
    G = garbled(pack_genotypes(X))
    found, expected = (quiet(METHODS[method], data, y, missing="ignore") for data in (G, X))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert found.any()


@pytest.mark.parametrize("method", ["relieff", "multisurf"])
def test_bits_of_many_snps(method):
    test_bits_give_the_scores_of_numbers((6, 600_000), method)


@pytest.mark.parametrize("method", METHODS)
def test_missing_genotypes_with_other_targets(method):
    X = with_gaps(table(90, 700), 0.05)
    G, numbers = pack_genotypes(X), np.random.default_rng(1).normal(size=90)
    for y in (np.arange(90) % 4, np.where(np.arange(90) < 20, 0, 1), numbers):
        if method == "priors" and y is numbers:
            continue
        for n_targets in (None, 1, 17):
            found, expected = (
                quiet(METHODS[method], data, y, missing="ignore", n_targets=n_targets) for data in (G, X)
            )
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_samples_without_a_common_genotype():
    X, y = table(40, 300), np.arange(40) % 2
    X[:20, :150] = X[20:, 150:] = np.nan
    scores = []
    for data in (pack_genotypes(X), X):
        with pytest.warns(fastfs.DataWarning, match="800 pairs of samples have no feature"):
            scores.append(fastfs.relieff_scores(data, y, n_neighbors=3, missing="ignore", scaling=None))
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-12)


def test_a_sample_without_genotypes_is_refused():
    X = table(20, 100)
    X[6] = np.nan
    with pytest.raises(ValueError, match=r"got none in row 6"):
        fastfs.multisurf_scores(pack_genotypes(X), np.arange(20) % 2, missing="ignore")


@rotating(1, method=METHODS.keys(), missing=["error", "ignore"])
def test_genotypes_that_differ_or_not(method, missing):
    for n, p in [(9, 70), (64, 255), (65, 257), (120, 800), (20, 16_700)]:
        X, y = table(n, p), np.arange(n) % 2
        if missing == "ignore":
            X = with_gaps(X, 0.05)
        G = garbled(pack_genotypes(X))
        for columns in ("all", np.arange(p)):
            found, expected = (
                quiet(METHODS[method], data, y, categorical_features=columns, missing=missing) for data in (G, X)
            )
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    differ = quiet(METHODS[method], G, y, missing=missing)
    assert not np.allclose(found, differ)


def test_some_columns_as_categories():
    X, y = table(40, 60), np.arange(40) % 2
    found, expected = (
        fastfs.relieff_scores(data, y, categorical_features=[3, 7], scaling=None)
        for data in (pack_genotypes(X), X.astype(np.float32))
    )
    np.testing.assert_array_equal(found, expected)


FUNCTIONS = ["relief", "relieff", "surf", "multisurf", "swrf", "mu_relief", "rrelieff"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_genotypes_are_not_scaled_by_default(name):
    """Half of the SNPs lack a homozygote, so that their range is 1."""
    X = table(60, 200)
    X[:, ::2] = np.minimum(X[:, ::2], 1)
    y, G, score = np.arange(60) % 2, pack_genotypes(X), getattr(fastfs, f"{name}_scores")
    y = y + X[:, 1] / 3 if name == "rrelieff" else y
    decoded = X.astype(np.float32) if name in ("relief", "swrf") else X
    unscaled = quiet(score, decoded, y, scaling=None)
    np.testing.assert_allclose(quiet(score, G, y), unscaled, rtol=0, atol=1e-12)
    by_range = quiet(score, X, y, scaling="range")
    np.testing.assert_array_equal(quiet(score, X, y), by_range)
    np.testing.assert_allclose(quiet(score, G, y, scaling="range"), by_range, rtol=0, atol=1e-6)
    assert not np.allclose(by_range, unscaled, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_several_classes_and_some_targets(method):
    X, y = table(90, 700), np.arange(90) % 4
    for n_targets in (None, 1, 17):
        found, expected = (quiet(METHODS[method], data, y, n_targets=n_targets) for data in (pack_genotypes(X), X))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_standard_deviations_over_draws_of_targets():
    X, y = table(60, 300), np.arange(60) % 2
    on_bits, on_numbers = (fastfs.MultiSURF(n_targets=20, scaling=None).fit(data, y) for data in (pack_genotypes(X), X))
    np.testing.assert_allclose(on_bits.scores_se_, on_numbers.scores_se_, rtol=0, atol=1e-12)
    assert on_bits.scores_se_.any()


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
gaps = pack_genotypes(np.where(np.random.default_rng(1).random(X.shape) < 0.03, -1, X))
for n_threads in (1, 2, 4):
    for far in (False, True):
        for n_targets in (None, 40):
            given = {"scaling": None, "n_threads": n_threads, "n_targets": n_targets}
            name = f"{far} {n_targets} {n_threads}"
            results["multisurf " + name] = fastfs.multisurf_scores(G, y, far=far, **given)
            results["relieff " + name] = fastfs.relieff_scores(G, y, n_neighbors=7 + far, **given)
            results["rrelieff " + name] = fastfs.rrelieff_scores(G, y + X[:, 0] / 7, n_neighbors=7 + far, **given)
            given |= {"missing": "ignore", "categorical_features": "all" if far else None}
            if n_targets is None:
                results["multisurf gaps " + name] = fastfs.multisurf_scores(gaps, y == 0, far=far, **given)
                results["relieff gaps " + name] = fastfs.relieff_scores(gaps, y, n_neighbors=7 + far, **given)
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
    assert len(found) == 16


def test_blocks_of_rows_give_the_same_scores():
    X, y = table(600, 300), np.arange(600) % 2
    G = pack_genotypes(X)
    for data, missing in ((G, "error"), (pack_genotypes(with_gaps(X, 0.05)), "ignore")):
        stored, blocks = (fastfs.MultiSURF(missing=missing, max_memory=m).fit(data, y) for m in ("1G", "5M"))
        assert (stored.algorithm_, blocks.algorithm_) == ("stored", "blocks")
        np.testing.assert_allclose(blocks.scores_, stored.scores_, rtol=0, atol=1e-13)


def test_a_small_budget_is_refused_before_the_work():
    with pytest.raises(MemoryError, match="max_memory"):
        fastfs.multisurf_scores(pack_genotypes(table(500, 300)), np.arange(500) % 2, scaling=None, max_memory=100_000)


def test_genotypes_are_not_decoded(monkeypatch):
    X, y = table(40, 200), np.arange(40) % 2
    numbers = X[:, 0].copy()
    G = pack_genotypes(X, names=[f"rs{k}" for k in range(200)])
    expected = fastfs.ReliefF(scaling=None).fit(X, y).scores_

    def refuse(self, *arguments, **given):
        raise AssertionError("decoded")

    monkeypatch.setattr(Genotypes, "__array__", refuse)
    model = fastfs.ReliefF().fit(G, y)
    np.testing.assert_allclose(model.scores_, expected, rtol=0, atol=1e-12)
    assert model.n_features_in_ == 200
    fastfs.SURF(missing="ignore").fit(G, y)
    fastfs.MultiSURF(categorical_features="all", scaling="range").fit(G, y)
    fastfs.TuRF(fastfs.MuRelief()).fit(G, y)
    fastfs.VLS(fastfs.MultiSURF()).fit(G, y)
    for fit in (
        lambda X: fastfs.ReliefF(scaling="range").fit(X, y),
        lambda X: fastfs.ReliefF(scaling=None, missing="class").fit(X, y),
        lambda X: fastfs.ReliefF(scaling=None, categorical_features=[3]).fit(X, y),
        lambda X: fastfs.RReliefF(scaling=None, missing="ignore").fit(X, y + 0.5 * numbers),
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
    with pytest.raises(
        ValueError,
        match=r"must have all genotypes; got a missing one first at row 7.*, column 150.*or choose missing='ignore'",
    ):
        fastfs.relieff_scores(G, np.arange(30) % 2, scaling=None)
    with pytest.raises(ValueError, match=r"first at row 19 .*, column 3: "):
        fastfs.relieff_scores(G[1:, :100], np.arange(29) % 2, scaling=None)
    assert quiet(METHODS["relieff"], G[8:20], np.arange(12) % 2).any()


@pytest.mark.parametrize("rows, columns", [([0, 1, 2, 12], [0, 1]), ([0, 1, 2, 3], [0, 5]), ([0, 1, 2, 3], [-1, 0])])
def test_positions_outside_the_bits_are_refused(rows, columns):
    G = pack_genotypes(table(10, 5))
    facts = ("samples", "names", "alleles", "chromosome", "position", "phenotype")
    bad = Genotypes(G.bits, np.array(rows), np.array(columns), **{name: getattr(G, name) for name in facts})
    with pytest.raises(ValueError, match=r"from 0 to 11|within their bits"):
        fastfs.relieff_scores(bad, [0, 1, 0, 1], scaling=None)


def test_genotypes_that_all_agree_are_refused():
    with pytest.raises(ValueError, match="got 5 constant ones"):
        fastfs.relieff_scores(pack_genotypes(np.ones((6, 5))), np.arange(6) % 2, scaling=None)


@rotating(1, step=[0.2, 0.6], gaps=[False, True])
def test_turf_and_vls(step, gaps):
    X, y = table(60, 400), np.arange(60) % 2
    X = with_gaps(X, 0.05)[1:] if gaps else X[1:]
    G, y = pack_genotypes(X), y[1:]
    inner = fastfs.MultiSURF(scaling=None, missing="ignore")
    for wrapper in (fastfs.TuRF(inner, step=step), fastfs.VLS(inner, n_subsets=30, subset_size=50)):
        found, expected = (wrapper.fit(data, y).scores_.copy() for data in (G, X))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    found, expected = (
        fastfs.IterativeRelief(model, n_iter=3).fit(data, y).scores_
        for model, data in ((fastfs.MultiSURF(missing="ignore"), G), (inner, X.astype(np.float32)))
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
