"""Pairs of SNPs against the definition pair by pair, brute force over labelings, and what must not matter.

Statistics are promised within 1e-9 of the oracle. Tables are counts and p-values shares of labelings: both are equal.
"""

import itertools

import numpy as np
import pytest

import fastfs
from covering import rotating
from fastfs._machine.run import Run, load_core
from fastfs.io import Genotypes, pack_genotypes
from reference import snp_pairs as oracle

PROMISED = 1e-9
FACTS = ("samples", "names", "alleles", "chromosome", "position", "phenotype")


def data(n=120, p=20, seed=0, missing=0.0, low=0.02):
    """SNPs from rare to common, two of them in complete LD and one that is the other allele; a class of few samples."""
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, rng.uniform(low, 0.5, p), (n, p)).astype(float)
    if p > 8:
        X[:, 4], X[:, 5] = X[:, 3], 2 - X[:, 3]
    labels = (rng.random(n) < 0.4).astype(np.int64)
    labels[:2] = 0, 1
    X[rng.random(X.shape) < missing] = np.nan
    return X, labels


def draw(labels, n, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(labels) for _ in range(n)])


def garbled(G):
    """The same genotypes, with other bits after the last sample."""
    bits = np.array(G.bits)
    if used := G.shape[0] % 4:
        bits[:, -1] |= np.uint8(0b10110100 & (0xFF << 2 * used) & 0xFF)
    return Genotypes(bits, G.rows, G.columns, **{name: getattr(G, name) for name in FACTS})


def call(X, labels, labelings=None, snps=None, n_threads=1, **options):
    G = X if isinstance(X, Genotypes) else pack_genotypes(X)
    return load_core().snp_pairs(garbled(G), labels, options | {"snps": snps, "labelings": labelings}, Run(n_threads))


def assert_agrees(found, expected, n_pairs=10**9):
    """Pairs whose statistics tie may come in any order, and p-values are those of the order that was found."""
    places = {tuple(pair): k for k, pair in enumerate(expected.pairs.tolist())}
    order = np.array([places[tuple(pair)] for pair in found["pairs"].tolist()], dtype=int)
    assert len(order) == len(set(order.tolist())) == min(n_pairs, np.count_nonzero(expected.degrees))
    assert found["n_tested"] == len(expected.pairs)
    np.testing.assert_array_equal(found["tables"], expected.tables[order])
    np.testing.assert_array_equal(found["degrees"], expected.degrees[order])
    np.testing.assert_allclose(found["statistics"], expected.statistic[order], rtol=PROMISED, atol=PROMISED)
    strongest = np.sort(expected.statistic[expected.degrees > 0])[::-1][: len(order)]
    np.testing.assert_allclose(found["statistics"], strongest, rtol=PROMISED, atol=PROMISED)
    assert np.all(np.diff(found["statistics"]) <= 0)
    np.testing.assert_allclose(found["null_maxima"], expected.null_maxima, rtol=PROMISED, atol=PROMISED)
    if len(expected.null):
        some = found["statistics"] > 1e-6  # others are rounding: any order of them is right
        np.testing.assert_array_equal(found["pvalues"][some], expected.pvalues(order)[some])


# --------------------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("seed", range(6))
def test_strongest_pairs_of_copies_of_a_snp_with_a_main_effect(seed):
    """Bounds overstate these pairs so much that the strongest ones may not be among the candidates."""
    rng = np.random.default_rng(seed)
    one = rng.binomial(2, 0.3, (40, 1))
    X = np.where(rng.random((40, 60)) < 0.05, rng.binomial(2, 0.3, (40, 60)), one)
    y = (one[:, 0] > 0) ^ (rng.random(40) < 0.05)
    expected = oracle.SnpPairs(X, y.astype(np.int64))
    for n_pairs in (1, 2, 5, 40, 1770):
        assert_agrees(call(X, y.astype(np.int64), n_pairs=n_pairs), expected, n_pairs)


SHAPES = [
    *((n, 6) for n in range(4, 10)),
    (40, 2),
    (63, 9),
    (64, 9),
    (65, 9),
    (130, 17),
    (255, 9),
    (256, 31),
    (257, 33),
]


@rotating(2, **{"n, p": SHAPES}, missing=[0.0, 0.05, 0.5])
def test_definition(n, p, missing):
    X, labels = data(n, p, seed=n, missing=missing)
    X[:, 0], X[:, 1] = np.arange(n) % 3, np.arange(n) // 2 % 2  # two SNPs that vary, whatever is missing elsewhere
    labelings = draw(labels, 7)
    expected = oracle.SnpPairs(X, labels, labelings)
    for n_pairs in (1, 5, 10**6):
        assert_agrees(call(X, labels, labelings, n_pairs=n_pairs), expected, n_pairs)


def test_many_pairs_of_few_samples():
    X, labels = data(90, 257)
    assert_agrees(call(X, labels, n_pairs=300), oracle.SnpPairs(X, labels), 300)


def test_more_samples_than_a_tile_of_64_snps_has_room_for():
    """16 SNPs a tile; 31 words, whose counts a byte can hold, are a small part of a class."""
    X, labels = data(40_000, 40, missing=0.01)
    X[:, 7:] = np.nan_to_num(X[:, 7:])
    labels[X[:, 8] + X[:, 9] == 2] = 1
    labelings = draw(labels, 2)
    labelings[1] = 0  # a class without samples
    expected = oracle.SnpPairs(X, labels, labelings)
    assert expected.null_maxima[1] < 1e-6
    found = call(X, labels, labelings, n_pairs=20)
    assert found["pairs"][0].tolist() == [8, 9]
    assert_agrees(found, expected, 20)


@pytest.mark.parametrize("n_samples", [30, 100, 1000])
def test_fits_agree_with_proportional_fitting(n_samples):
    """Tables without fitted zeros: common genotypes."""
    X, labels = data(n_samples, 12, low=0.4)
    found = call(X, labels)
    expected = oracle.ratio(found["tables"], oracle.proportional_fit(found["tables"]))
    usual = (found["tables"].sum(axis=3) > 4).all(axis=(1, 2))
    assert usual.sum() > 20 or n_samples < 1000
    np.testing.assert_allclose(found["statistics"][usual], expected[usual], rtol=0, atol=1e-8)


def test_a_fitted_zero():
    """Proportional fitting has an error of 1 / t after t rounds; the statistic is its limit."""
    counts = np.zeros((1, 3, 3, 2), int)
    counts[0, :2, :2] = [[[0, 5], [6, 4]], [[7, 3], [8, 0]]]  # no finite effects: two opposite cells have one class
    X = np.array([(a, b) for a, b, c in np.ndindex(3, 3, 2) for _ in range(counts[0, a, b, c])], float)
    labels = np.array([c for a, b, c in np.ndindex(3, 3, 2) for _ in range(counts[0, a, b, c])])
    found = call(X, labels)
    assert found["tables"].tolist() == counts.tolist()
    np.testing.assert_allclose(found["statistics"], oracle.ratio(counts, oracle.logistic_fit(counts)), atol=PROMISED)
    errors = [
        oracle.ratio(counts, oracle.proportional_fit(counts, t))[0] - found["statistics"][0] for t in (1000, 2000)
    ]
    assert 1e-3 < errors[1] == pytest.approx(errors[0] / 2, rel=0.01)


def test_the_bounds_of_the_screen():
    """Kirkwood's likelihood ratio, and 2 N log(1 + X^2 / N) with the odds that each genotype gives alone."""
    tables = []
    for seed, (n, low, missing) in enumerate([(12, 0.1, 0), (60, 0.01, 0.1), (400, 0.02, 0), (3000, 0.3, 0)]):
        X, labels = data(n, 40, seed, missing, low)
        X[:, 20:] = np.where(np.random.default_rng(seed).random((n, 20)) < 0.05, X[:, 20:], X[:, :20])  # strong LD
        labels[X[:, 6] + X[:, 9] >= 2] = 1  # and strong main effects
        tables.append(call(X, labels)["tables"])
    tables = np.concatenate(tables)
    exact = oracle.ratio(tables, oracle.logistic_fit(tables))
    assert (oracle.ratio(tables, oracle.kirkwood(tables)) >= exact - 1e-8).all()

    ones, n = tables[..., 1], tables.sum(axis=3)

    def odds(margin):
        return (margin[..., 1] + 0.5) / (margin[..., 0] + 0.5)

    of_pair = odds(tables.sum(axis=2))[:, :, None] * odds(tables.sum(axis=1))[:, None]
    of_pair = of_pair / odds(tables.sum(axis=(1, 2)))[:, None, None]
    differences = ones / np.sqrt(of_pair) - (n - ones) * np.sqrt(of_pair)
    x2 = np.sum(differences**2 / np.maximum(n, 1), axis=(1, 2))
    total = n.sum(axis=(1, 2))
    bound = 2 * total * np.log1p(x2 / total)
    assert (bound >= exact - 1e-8).all()
    assert np.median(bound[exact > 1] / exact[exact > 1]) < 3  # and says something


def test_no_pair_is_lost_under_strong_ld_and_main_effects():
    X, labels = data(500, 60)
    rng = np.random.default_rng(1)
    for j in range(10, 60):  # blocks of five that are nearly one SNP
        X[:, j] = np.where(rng.random(500) < 0.04, X[:, j], X[:, 10 + (j - 10) // 5 * 5])
    labels = (rng.random(500) < 1 / (1 + np.exp(2 - 1.5 * X[:, 12] - X[:, 33]))).astype(np.int64)
    labelings = draw(labels, 3)
    expected = oracle.SnpPairs(X, labels, labelings)
    for n_pairs in (1, 20):
        assert_agrees(call(X, labels, labelings, n_pairs=n_pairs), expected, n_pairs)


def test_missing_calls_of_one_tile_do_not_change_the_others():
    X, labels = data(150, 200)
    whole = call(X, labels, n_pairs=10**6)
    X[3, 150] = np.nan
    some = call(X, labels, n_pairs=10**6)
    places = {tuple(pair): k for k, pair in enumerate(whole["pairs"].tolist())}
    same = [k for k, pair in enumerate(some["pairs"].tolist()) if 150 not in pair]
    order = [places[tuple(pair)] for pair in some["pairs"][same].tolist()]
    np.testing.assert_array_equal(some["statistics"][same], whole["statistics"][order])
    np.testing.assert_array_equal(some["tables"][same], whole["tables"][order])


# -------------------------------------------------------------------------------------------------------- the same bits


def test_slices_are_tables_of_their_own():
    X, labels = data(90, 70, missing=0.02)
    rows, columns = np.array([80, 3, 3, 40, *range(10, 60), 0, 80]), np.arange(68, 5, -2)
    part, y = X[np.ix_(rows, columns)], labels[rows]
    found, expected = call(pack_genotypes(X)[rows, columns], y), call(part, y)
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_chosen_snps_are_a_table_of_their_own():
    X, labels = data(p=40)
    columns, labelings = np.array([1, 3, 5, 7, 9, 30]), draw(labels, 9)
    some, own = call(X, labels, labelings, columns), call(X[:, columns], labels, labelings)
    np.testing.assert_array_equal(some["pairs"], columns[own["pairs"]])
    for name in ("statistics", "tables", "pvalues", "null_maxima", "n_tested"):
        np.testing.assert_array_equal(some[name], own[name])


IN_A_PROCESS = """
import sys
import numpy as np
from fastfs._machine.run import Run, load_core
from fastfs.io import pack_genotypes
given = np.load(sys.argv[1])
for n_threads in (1, 2, 4):
    for name in ("whole", "missing"):
        G = pack_genotypes(given[name])
        found = load_core().snp_pairs(
            G, given["labels"], {"labelings": given["labelings"], "n_pairs": 70}, Run(n_threads)
        )
        np.savez(f"{sys.argv[2]}-{name}-{n_threads}.npz", **found)
"""


def test_instruction_sets_and_threads(python, isas, tmp_path):
    X, labels = data(300, 200)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    np.savez(tmp_path / "given.npz", whole=X, missing=missing, labels=labels, labelings=draw(labels, 20))
    for isa in isas:
        finished = python(IN_A_PROCESS, tmp_path / "given.npz", tmp_path / isa, FASTFS_ISA=isa)
        assert finished.returncode == 0, finished.stderr
    for name in ("whole", "missing"):
        results = [dict(np.load(path)) for path in sorted(tmp_path.glob(f"*-{name}-*.npz"))]
        assert len(results) == 3 * len(isas)
        for found, key in itertools.product(results[1:], results[0]):
            np.testing.assert_array_equal(found[key], results[0][key], err_msg=key)


def test_alleles_samples_classes_and_types_do_not_matter():
    X, labels = data(missing=0.03)
    labelings, order = draw(labels, 19), np.random.default_rng(1).permutation(len(X))
    expected = call(X, labels, labelings)
    moved = call(X[order], labels[order], labelings[:, order].copy())
    for name in expected:
        np.testing.assert_array_equal(moved[name], expected[name], err_msg=name)
    for other in (call(2 - X, labels, labelings), call(X, 1 - labels, 1 - labelings)):
        np.testing.assert_allclose(other["statistics"], expected["statistics"], rtol=0, atol=PROMISED)
        np.testing.assert_array_equal(other["pvalues"][:100], expected["pvalues"][:100])
    turned = call(X, 1 - labels)["tables"][:50, :, :, ::-1]
    np.testing.assert_array_equal(turned, expected["tables"][:50])
    for dtype in (np.int8, np.float32, np.int64):
        G = np.where(np.isnan(X), -1, X).astype(dtype)
        found = fastfs.snp_pairs(G, labels)
        np.testing.assert_array_equal(found.statistics, expected["statistics"])


def test_the_order_of_snps_does_not_matter():
    X, labels = data(p=30)
    order = np.random.default_rng(2).permutation(30)
    found, expected = call(X[:, order], labels), call(X, labels)
    np.testing.assert_allclose(found["statistics"], expected["statistics"], rtol=0, atol=PROMISED)


# -------------------------------------------------------------------------------------------------------------- designs


def test_all_labelings_of_a_small_design_by_brute_force():
    X, _ = data(8, 9, low=0.3)
    labels = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    everything = [np.isin(np.arange(8), chosen).astype(np.int64) for chosen in itertools.combinations(range(8), 4)]
    others = [b for b in everything if not np.array_equal(b, labels)]
    expected = oracle.SnpPairs(X, labels, others)
    found = fastfs.snp_pairs(X, labels, n_permutations=69)
    assert (found.exact, found.n_permutations, found.n_distinct) == (True, 69, 70)
    places = {tuple(pair): k for k, pair in enumerate(expected.pairs.tolist())}
    order = np.array([places[tuple(pair)] for pair in found.pairs.tolist()])
    some = found.statistics > 1e-6
    np.testing.assert_array_equal(found.pvalues_max[some], expected.pvalues(order)[some])
    assert found.pvalue == found.pvalues_max[0]
    np.testing.assert_allclose(np.sort(found.null_maxima), np.sort(expected.null_maxima), rtol=0, atol=PROMISED)
    assert not fastfs.snp_pairs(X, labels, n_permutations=68).exact


def test_labels_move_within_blocks():
    """Two populations that differ in their genotypes and in the share of cases."""
    X, labels = data(60, 12, low=0.3)
    blocks = np.arange(60) // 30
    found = fastfs.snp_pairs(X, labels, blocks=blocks, n_permutations=9, random_state=3)
    assert "within 2 blocks" in found.design
    labelings = fastfs._inputs.design.Design(labels, blocks, seed=3).labelings(0, 9)
    assert all(np.bincount(b[:30]).tolist() == np.bincount(labels[:30]).tolist() for b in labelings)
    expected = oracle.SnpPairs(X, labels, labelings)
    np.testing.assert_allclose(found.null_maxima, expected.null_maxima, rtol=0, atol=PROMISED)
    families = fastfs.snp_pairs(X, blocks, groups=np.arange(60) // 5, n_permutations=9)
    assert "groups" in families.design


def test_more_labelings_than_are_counted_at_once():
    X, labels = data(50, 10)
    labelings = draw(labels, 40)
    assert_agrees(call(X, labels, labelings, n_threads=2), oracle.SnpPairs(X, labels, labelings))


def test_an_exclusive_or_among_1000_snps_is_found():
    rng = np.random.default_rng(0)
    X = rng.binomial(2, 0.5, (800, 1000))
    G = pack_genotypes(X, names=[f"rs{j}" for j in range(1000)])
    y = np.where(rng.random(800) < np.where((X[:, 300] == 1) ^ (X[:, 700] == 1), 0.75, 0.25), "case", "control")
    found = fastfs.snp_pairs(G, y, n_pairs=10, n_permutations=19)
    assert found.pairs[0].tolist() == [300, 700]
    assert found.names[0].tolist() == ["rs300", "rs700"]
    assert (found.pvalues_max <= 0.05).tolist() == [True] + 9 * [False]
    assert found.n_tested == 1000 * 999 // 2
    assert found.classes.tolist() == ["case", "control"]
    assert found.tables[0].sum() == 800
    few = fastfs.snp_pairs(G, y, snps=["rs700", "rs300", "rs5"])
    assert few.pairs.tolist()[0] == [300, 700]
    assert few.n_tested == 3
    assert few.statistics[0] == found.statistics[0]


# ---------------------------------------------------------------------------------------------------- memory, progress


def test_memory_is_asked_for_before_the_work():
    X, labels = data(400, 5000)
    G = pack_genotypes(X)
    with pytest.raises(MemoryError, match="the search among 5000 SNPs would need"):
        fastfs.snp_pairs(G, labels, max_memory="1M")
    with pytest.raises(MemoryError, match=r"1000000 labelings would need .* \(3200000000 bytes\)"):
        fastfs.snp_pairs(G[:, :9], labels, max_memory="1M", n_permutations=10**6)
    fastfs.snp_pairs(G, labels, max_memory="4M")  # one table of pairs has 50 MB
    many = pack_genotypes(np.arange(400_000).reshape(4, -1) % 3)
    with pytest.raises(MemoryError, match=r"the search among 100000 SNPs would need .* or a smaller n_pairs"):
        fastfs.snp_pairs(many, [0, 1, 0, 1], n_pairs=2**31 - 1)  # whose tables would have 300 GB


def test_canceled_by_its_progress():
    X, labels = data(400, 3000)
    seen = []

    def progress(step, fraction):
        seen.append((step, fraction))
        if step == "labelings":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fastfs.snp_pairs(X, labels, n_permutations=1000, progress=progress)
    assert all(0 <= fraction <= 1 for _, fraction in seen)
    assert [fraction for _, fraction in seen] == sorted(fraction for _, fraction in seen)
