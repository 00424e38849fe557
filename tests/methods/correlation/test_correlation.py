"""Differential correlation against the definition pair by pair, brute force over labelings, and its invariants.

z, correlations and scores are promised within 1e-10 of the oracle. p-values are shares of labelings and must be equal.
"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import fastfs
from covering import covering, rotating
from fastfs._inputs.design import Design
from fastfs._machine.run import Run, load_core
from reference import correlation as oracle

PROMISED = 1e-10
KINDS = ("pearson", "spearman")


def data(n=40, p=30, seed=0, n_first=None):
    """Two pairs are tied to each other in the first class only, and one in the second; labels don't come in blocks."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation((np.arange(n) >= (n // 2 if n_first is None else n_first)).astype(np.int64))
    X = rng.normal(size=(n, p))
    for (i, j), c in (((0, 1), 0), ((2, 5), 0), ((3, 4), 1)):
        if j < p:
            X[labels == c, j] = 0.9 * X[labels == c, i] + 0.3 * X[labels == c, j]
    return X * rng.uniform(0.1, 10, p) + 100 * rng.normal(size=p), labels


def draw(labels, n, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(labels) for _ in range(n)])


def call(X, labels, labelings=None, features=None, n_threads=1, **options):
    return load_core().differential_correlation(
        X, labels, options | {"features": features, "labelings": labelings}, Run(n_threads)
    )


def assert_agrees(found, expected, n_pairs=10**9):
    """Pairs whose z ties may come in any order, and p-values are those of the order that was found."""
    places = {tuple(pair): k for k, pair in enumerate(expected.pairs.tolist())}
    order = np.array([places[tuple(pair)] for pair in found["pairs"].tolist()])
    assert len(order) == len(set(order.tolist())) == min(n_pairs, expected.defined.sum())
    assert expected.defined[order].all()
    np.testing.assert_allclose(found["correlations"], expected.correlations[order], rtol=0, atol=PROMISED)
    np.testing.assert_allclose(found["z"], expected.z[order], rtol=PROMISED, atol=PROMISED)
    strongest = np.sort(np.abs(expected.z))[::-1][: len(order)]
    np.testing.assert_allclose(np.abs(found["z"]), strongest, rtol=PROMISED, atol=PROMISED)
    assert np.all(np.diff(np.abs(found["z"])) <= 0)
    np.testing.assert_allclose(found["scores"], expected.scores, rtol=PROMISED)
    np.testing.assert_allclose(found["null_maxima"], expected.null_maxima, rtol=PROMISED)
    if len(expected.null):
        np.testing.assert_array_equal(found["pvalues"], expected.pvalues(order))


# --------------------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("correlation", KINDS)
@pytest.mark.parametrize("n, p, n_first", [(8, 3, 4), (40, 30, 20), (37, 50, 9), (60, 200, 31), (300, 193, 140)])
def test_definition(n, p, n_first, correlation):
    X, labels = data(n, p, n_first=n_first)
    labelings = draw(labels, 19)
    expected = oracle.DifferentialCorrelation(X, labels, labelings, correlation)
    for n_pairs in (1, 5, 10**6):
        found = call(X, labels, labelings, correlation=correlation, n_pairs=n_pairs)
        assert_agrees(found, expected, n_pairs)


def classes_data(n, p, n_classes, seed=0):
    """Three features are tied to others in one class each."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, p))
    for j, c in ((1, 0), (2, 1), (3, n_classes - 1)):
        X[labels == c, j] += 2 * X[labels == c, 0]
    return X * rng.uniform(0.1, 10, p) + rng.normal(size=p), labels


@pytest.mark.parametrize("correlation", KINDS)
@pytest.mark.parametrize("n, p, n_classes", [(12, 4, 3), (60, 30, 3), (61, 50, 4), (90, 150, 5)])
def test_chi_square_of_more_classes(n, p, n_classes, correlation):
    X, labels = classes_data(n, p, n_classes)
    X[:, p - 1] = np.round(X[:, p - 1] / X[:, p - 1].std())  # a feature with ties
    labelings = draw(labels, 19)
    expected = oracle.DifferentialCorrelation(X, labels, labelings, correlation)
    for n_pairs in (1, 5, 10**6):
        for n_threads in (1, 2):
            found = call(
                X, labels, labelings, correlation=correlation, n_pairs=n_pairs, n_classes=n_classes, n_threads=n_threads
            )
            assert_agrees(found, expected, n_pairs)


@rotating(1, correlation=KINDS, wholes=[0, 1])
def test_more_classes_under_designs(correlation, wholes):
    """Rare values, copies, and labelings in which a class has fewer than four samples."""
    X, labels = classes_data(48, 12, 3, seed=5)
    rng = np.random.default_rng(0)
    X[:, 5], X[:, 6] = 3 - 2 * X[:, 4], rng.random(48) < 0.4
    X[:, 7] = X[:, 7] + 10 * X[:, 6]
    labelings = np.concatenate(
        [draw(labels, 9), rng.integers(0, 3, (5, 48)), np.where(np.arange(48) < 3, 2, draw(labels, 2) % 2)]
    )
    labelings[0, :] = (labels + 1) % 3  # other names of the true classes
    expected = oracle.DifferentialCorrelation(X, labels, labelings, correlation, wholes=bool(wholes))
    found = call(X, labels, labelings, correlation=correlation, wholes=wholes, n_classes=3)
    assert found["n_copies"] == 1
    assert found["copies"].tolist() == [[4, 5]]
    assert_agrees(found, expected)


@covering(n_classes=[2, 3, 4], correlation=KINDS, wholes=[0, 1])
def test_correlations_given_covariates(n_classes, correlation, wholes):
    """Covariates that all features follow, that vary in one class only, in none, and that say what others say."""
    X, labels = classes_data(64, 12, n_classes, seed=7)
    rng = np.random.default_rng(0)
    covariates = np.column_stack([rng.normal(size=64) + labels, (labels == 0) * rng.integers(0, 2, 64)])
    covariates = np.column_stack([covariates, 1e9 + labels, covariates.sum(axis=1)])
    X += 3 * covariates[:, :1]
    X[:, 11] = X[:, 11] > np.median(X[:, 11])
    labelings = np.concatenate([draw(labels, 9), rng.integers(0, n_classes, (2, 64))])
    expected = oracle.DifferentialCorrelation(X, labels, labelings, correlation, bool(wholes), covariates)
    for n_threads in (1, 2):
        found = call(
            X, labels, labelings, correlation=correlation, wholes=wholes, n_classes=n_classes, covariates=covariates,
            n_threads=n_threads,
        )  # fmt: skip
        assert_agrees(found, expected)


def test_a_change_that_a_covariate_hides():
    """All three are found among correlations given it, and not without it; effects in units of the transforms."""
    X, labels = data(60, 12)
    rng = np.random.default_rng(1)
    age, slopes = rng.normal(size=60), 4 * rng.normal(size=12)
    X = (X - X.mean(axis=0)) / X.std(axis=0) + age[:, None] * slopes
    without = fastfs.differential_correlation(X, labels, n_permutations=99)
    found = fastfs.differential_correlation(X, labels, covariates=age, n_permutations=99)
    assert sorted(found.pairs[found.pvalues_max <= 0.05].tolist()) == [[0, 1], [2, 5], [3, 4]]
    assert np.count_nonzero(without.pvalues_max <= 0.05) < 3
    np.testing.assert_allclose(found.standard_errors, np.sqrt(2 / 27), rtol=1e-15)
    np.testing.assert_allclose(found.effects, found.statistics * found.standard_errors, rtol=1e-15)


def test_chi_square_of_two_classes_is_the_square_of_z():
    """As the core computes it for three, one of which says the same as another."""
    r = np.array([[0.3, -0.9], [0.5, 0.2]])
    np.testing.assert_allclose(oracle.homogeneity(r, [20, 30]), oracle.fisher_z(*r, 20, 30) ** 2, rtol=1e-12)


def test_three_classes_find_a_pair_tied_in_one_of_them():
    X, labels = classes_data(90, 40, 3)
    found = fastfs.differential_correlation(X, np.array(["a", "b", "c"])[labels], n_permutations=99)
    assert sorted(found.pairs[:3].tolist()) == [[0, 1], [0, 2], [0, 3]]
    assert (found.pvalues_max[:3] == 0.01).all()
    assert (found.degrees, found.effects, found.correlations.shape[1]) == (2, None, 3)
    assert [name for name in found.columns if name.startswith("r_")] == ["r_a", "r_b", "r_c"]


def test_dgca_on_500_features():
    X, labels = data(90, 500, seed=3, n_first=50)
    found = fastfs.differential_correlation(X, labels, n_pairs=500 * 499 // 2, n_permutations=0)
    r = [np.corrcoef(X[labels == c].T)[tuple(found.pairs.T)] for c in (0, 1)]
    assert len(found.statistics) == 500 * 499 // 2
    np.testing.assert_allclose(found.statistics, oracle.fisher_z(*r, 50, 40), rtol=0, atol=PROMISED)
    assert np.all(np.diff(np.abs(found.statistics)) <= 0)
    assert found.pvalues_max is None
    assert found.pvalue is None
    assert found.n_permutations == 0


def test_few_permutations_of_many_samples_are_seen_by_all_tiles():
    """More samples than a panel is summed at once, more features than a tile, classes of other sizes in a labeling."""
    X, labels = data(900, 250, n_first=500)
    labelings = draw(labels, 3)
    labelings[1, :200] = 0
    labelings[2] = 0
    labelings[2, :3] = 1  # too few for a z
    expected = oracle.DifferentialCorrelation(X, labels, labelings)
    assert expected.null_maxima[2] == 0
    assert_agrees(call(X, labels, labelings, n_pairs=20), expected, 20)


@rotating(1, wholes=[0, 1], correlation=KINDS)
def test_ties_and_constants_in_a_permuted_class(correlation, wholes):
    """Counts, mostly zeros: many equal z, and features that a labeling makes constant."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(24, 20)).astype(float)
    labels = np.repeat([0, 1], 12)
    X[[0, 12], :] += 1
    labelings = draw(labels, 49)
    labelings[0, :2] = 1, 0  # classes of other sizes than the true ones
    labelings[1, :4] = 1
    expected = oracle.DifferentialCorrelation(X, labels, labelings, correlation, wholes)
    assert_agrees(call(X, labels, labelings, correlation=correlation, wholes=wholes), expected)


def test_labels_of_classes_may_be_exchanged():
    """All labelings of columns of 0 and 1 whose shares differ: that with the names exchanged ties with the true one."""
    rng = np.random.default_rng(0)
    labels = np.arange(10) % 2
    X = (rng.random((10, 8)) < np.where(labels, 0.7, 0.4)[:, None]).astype(float)
    X[:4] = np.arange(8) % 2 == np.array([0, 0, 1, 1])[:, None]
    found = call(X, labels, np.array([1 - labels, labels]))
    np.testing.assert_array_equal(found["null_maxima"][1:], np.abs(found["z"][:1]))
    np.testing.assert_allclose(found["null_maxima"][0], found["null_maxima"][1], rtol=1e-12)


def test_ties_take_the_same_places_in_copies():
    rng = np.random.default_rng(0)
    labels = rng.permutation(40) % 2
    X = rng.poisson(0.7, (40, 6)).astype(float)
    both = call(np.column_stack([X, 3 * X - 5]), labels, draw(labels, 19))
    one = call(X, labels, draw(labels, 19))
    np.testing.assert_allclose(both["null_maxima"], one["null_maxima"], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*constant in a class:fastfs.DataWarning")
@pytest.mark.parametrize("shares", [(0.1, 0.3), (0.3, 0.6)])
@pytest.mark.parametrize("zeros_and", ["ones", "numbers"])
def test_other_shares_of_zeros_keep_the_level(shares, zeros_and):
    """Rare values vary most in their correlations: 200 sets at level .05, within 3 standard errors."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    rejected = 0
    for seed in range(200):
        X = (rng.random((60, 30)) < np.array(shares)[labels][:, None]).astype(float)
        if zeros_and == "numbers":
            X *= 2 + rng.normal(size=X.shape)
        rejected += fastfs.differential_correlation(X, labels, n_permutations=19, random_state=seed).pvalue <= 0.05
    assert rejected <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_chosen_features_are_a_table_of_their_own():
    X, labels = data()
    columns = np.array([1, 3, 5, 7, 9, 20])
    labelings = draw(labels, 9)
    some, own = call(X, labels, labelings, columns), call(X[:, columns].copy(), labels, labelings)
    np.testing.assert_array_equal(some["pairs"], columns[own["pairs"]])
    for name in ("z", "pvalues", "null_maxima"):
        np.testing.assert_array_equal(some[name], own[name])
    np.testing.assert_array_equal(some["scores"][columns], own["scores"])
    assert np.count_nonzero(some["scores"]) == len(columns)


# -------------------------------------------------------------------------------------------------------- the same bits


FORMS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda A: np.repeat(np.repeat(A, 2, axis=1), 3, axis=0)[::3, ::2],
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_and_threads(form):
    X, labels = data(30, 400)
    X[np.abs(X) < 5] = 0
    X[0] += 1
    labelings = draw(labels, 9)
    expected = call(X, labels, labelings)
    for n_threads in (1, 2, 3):
        found = call(FORMS[form](X), labels, labelings, n_threads=n_threads)
        for name in found:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_float32_is_what_it_holds():
    X, labels = data()
    labelings = draw(labels, 9)
    single = X.astype(np.float32)
    found, expected = call(single, labels, labelings), call(single.astype(np.float64), labels, labelings)
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


IN_A_PROCESS = """
import sys
import numpy as np
from fastfs._machine.run import Run, load_core
given = np.load(sys.argv[1])
X, labels, labelings = given["X"], given["labels"], given["labelings"]
found = load_core().differential_correlation(X, labels, {"labelings": labelings, "n_pairs": 50}, Run(2))
np.savez(sys.argv[2], **{name: value for name, value in found.items()})
"""


def test_instruction_sets(python, isas, tmp_path):
    """All but the sums over many pairs have the same bits."""
    X, labels = data(50, 400)
    np.savez(tmp_path / "given.npz", X=X, labels=labels, labelings=draw(labels, 9))
    results = []
    for isa in isas:
        finished = python(IN_A_PROCESS, tmp_path / "given.npz", tmp_path / f"{isa}.npz", FASTFS_ISA=isa)
        assert finished.returncode == 0, finished.stderr
        results.append(dict(np.load(tmp_path / f"{isa}.npz")))
    for found in results[1:]:
        np.testing.assert_allclose(found.pop("scores"), results[0]["scores"], rtol=1e-13)
        for name in found:
            np.testing.assert_array_equal(found[name], results[0][name], err_msg=name)


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e300])
def test_scale_and_offset_do_not_matter(factor):
    X, labels = data()
    expected, found = call(X, labels), call(X * factor, labels)
    np.testing.assert_array_equal(found["pairs"], expected["pairs"])
    np.testing.assert_allclose(found["z"], expected["z"], rtol=1e-9)


def test_order_of_samples_and_of_classes():
    X, labels = data()
    labelings, order = draw(labels, 19), np.random.default_rng(1).permutation(len(X))
    expected = call(X, labels, labelings)
    moved = call(X[order].copy(), labels[order].copy(), labelings[:, order].copy())
    turned = call(X, 1 - labels, 1 - labelings)
    np.testing.assert_array_equal(moved["pvalues"], expected["pvalues"])
    np.testing.assert_array_equal(turned["pvalues"], expected["pvalues"])
    np.testing.assert_allclose(turned["z"], -expected["z"], rtol=1e-12)


# -------------------------------------------------------------------------------------------------------------- designs


def test_all_labelings_of_a_small_design_by_brute_force():
    X, labels = data(8, 6)
    everything = [
        np.isin(np.arange(8), chosen).astype(np.int64) for chosen in itertools.combinations(range(8), labels.sum())
    ]
    design = Design(labels, n_permutations=69, shuffled=True)
    others = design.labelings(0, 69)
    assert design.exact
    assert {tuple(b) for b in others} == {tuple(b) for b in everything} - {tuple(labels)}
    expected = oracle.DifferentialCorrelation(X, labels, others)
    found = fastfs.differential_correlation(X, labels, n_permutations=69)
    assert (found.exact, found.n_permutations, found.n_distinct) == (True, 69, 70)
    np.testing.assert_array_equal(found.pvalues_max, expected.pvalues(np.argsort(-np.abs(expected.z))))
    assert found.pvalue == found.pvalues_max[0]
    np.testing.assert_allclose(np.sort(found.null_maxima), np.sort(expected.null_maxima), rtol=PROMISED)
    assert not fastfs.differential_correlation(X, labels, n_permutations=68).exact


def test_pairs_of_samples_are_enumerated():
    X, labels = data(12, 10)
    labels = np.tile([0, 1], 6)
    found = fastfs.differential_correlation(X, labels, blocks=np.repeat(np.arange(6), 2))
    assert (found.exact, found.n_permutations, found.n_distinct) == (True, 63, 64)
    swaps = np.array(list(itertools.product([0, 1], repeat=6))).repeat(2, axis=1) ^ labels
    null = Design(labels, np.repeat(np.arange(6), 2), n_permutations=63, shuffled=True).labelings(0, 63)
    assert {tuple(b) for b in null} == {tuple(b) for b in swaps} - {tuple(labels)}
    assert found.resolution == 2 / 64
    expected = oracle.DifferentialCorrelation(X, labels, null)
    np.testing.assert_array_equal(found.pvalues_max, expected.pvalues(np.argsort(-np.abs(expected.z))))


def test_donors_move_as_wholes():
    X, labels = data(48, 12)
    donors = np.repeat(np.arange(8), 6)
    labels = donors % 2
    found = fastfs.differential_correlation(X, labels, groups=donors)
    assert (found.exact, found.n_permutations) == (True, 69)
    assert "groups" in found.design
    with pytest.raises(ValueError, match="confounded"):
        fastfs.differential_correlation(X, labels, blocks=donors)


def test_covariates_and_seeds():
    pytest.importorskip("sklearn")
    X, labels = data()
    age = np.random.default_rng(0).normal(size=len(X)) + labels
    one = fastfs.differential_correlation(X, labels, covariates=age, n_permutations=19)
    same = fastfs.differential_correlation(X, labels, covariates=age, n_permutations=19, random_state=0)
    other = fastfs.differential_correlation(X, labels, covariates=age, n_permutations=19, random_state=1)
    free = fastfs.differential_correlation(X, labels, n_permutations=19)
    np.testing.assert_array_equal(one.null_maxima, same.null_maxima)
    assert not np.array_equal(one.null_maxima, other.null_maxima)
    assert not np.array_equal(one.null_maxima, free.null_maxima)


def test_planted_pairs_are_found_and_shuffled_labels_find_none():
    X, labels = data(100, 150)
    found = fastfs.differential_correlation(X, labels, n_permutations=199)
    significant = found.pairs[found.pvalues_max <= 0.05]
    assert sorted(map(tuple, significant.tolist())) == [(0, 1), (2, 5), (3, 4)]
    shuffled = np.random.default_rng(5).permutation(labels)
    assert fastfs.differential_correlation(X, shuffled, n_permutations=199).pvalue > 0.05


def test_auto_ends_early_if_the_labels_say_nothing():
    X, labels = data(100, 40)
    found = fastfs.differential_correlation(X, labels, n_permutations="auto")
    everything = fastfs.differential_correlation(X, labels, n_permutations=999)
    assert (found.stopped, found.n_permutations, everything.stopped) == (False, 999, False)
    np.testing.assert_array_equal(found.pvalues_max, everything.pvalues_max)
    np.testing.assert_array_equal(found.null_maxima, everything.null_maxima)
    shuffled = np.random.default_rng(5).permutation(labels)
    found = fastfs.differential_correlation(X, shuffled, n_permutations="auto")
    first = fastfs.differential_correlation(X, shuffled, n_permutations=99)
    assert (found.stopped, found.n_permutations, first.stopped) == (True, 99, False)
    np.testing.assert_array_equal(found.pvalues_max, first.pvalues_max)
    assert found.pvalue > 0.1
    found = fastfs.differential_correlation(
        X[:12], np.tile([0, 1], 6), blocks=np.repeat(np.arange(6), 2), n_permutations="auto"
    )
    assert (found.exact, found.stopped, found.n_permutations) == (True, False, 63)


@pytest.mark.slow
def test_auto_keeps_the_level():
    """Of 200 sets of noise, 0.9 end early and 0.05 have p <= 0.05, within 3 standard errors."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 12)
    found = [
        fastfs.differential_correlation(rng.normal(size=(24, 6)), labels, n_permutations="auto", random_state=seed)
        for seed in range(200)
    ]
    assert abs(np.mean([one.stopped for one in found]) - 0.9) <= 3 * np.sqrt(0.9 * 0.1 / 200)
    assert abs(np.mean([one.pvalue <= 0.05 for one in found]) - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / 200)
    assert all(one.pvalue > 0.1 for one in found if one.stopped)


def test_rate_of_false_findings():
    """Normal features with other means and scales in the classes: 200 sets at level .05, within 3 standard errors."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [25, 15])
    rejected = 0
    for seed in range(200):
        X = rng.normal(size=(40, 12)) * (1 + 3 * labels[:, None]) + labels[:, None]
        rejected += fastfs.differential_correlation(X, labels, n_permutations=19, random_state=seed).pvalue <= 0.05
    assert rejected <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


# ---------------------------------------------------------------------------------------------------- memory, progress


def test_memory_is_asked_for_before_the_work():
    X, labels = data(100, 5000)
    with pytest.raises(MemoryError, match="the search among 5000 features would need"):
        fastfs.differential_correlation(X, labels, max_memory="1M", n_permutations=9)
    with pytest.raises(MemoryError, match=r"1000000 labelings would need .* \(800000000 bytes\)"):
        fastfs.differential_correlation(X[:, :9], labels, max_memory="1M", n_permutations=10**6)
    fastfs.differential_correlation(X, labels, max_memory="50M", n_permutations=1)  # one table of pairs has 200 MB
    many = np.zeros((8, 100_000), dtype=np.float32)
    with pytest.raises(MemoryError, match=r"the search among 100000 features would need .* or a smaller n_pairs"):
        fastfs.differential_correlation(many, np.arange(8) % 2, n_pairs=2**31 - 1, n_permutations=0)


def test_canceled_by_its_progress():
    X, labels = data(100, 3000)
    seen = []

    def progress(step, fraction):
        seen.append((step, fraction))
        if step == "labelings":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fastfs.differential_correlation(X, labels, n_permutations=10**4, progress=progress)
    assert all(0 <= fraction <= 1 for _, fraction in seen)
    assert [fraction for _, fraction in seen] == sorted(fraction for _, fraction in seen)
