"""The scan of interactions against two least-squares fits for each pair, and its permutation test."""

import json

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fastfs
from covering import covering, rotating
from fastfs._inputs.design import Design
from reference import interactions as oracle

EXACT = 1e-10  # of F, or of 1 if F is smaller: what the page promises


def table(n, p, seed=0):
    """Normal values, cubed in every other column."""
    X = np.random.default_rng(seed).normal(size=(n, p))
    X[:, ::2] **= 3
    return X


def target(kind, n, seed=1):
    rng = np.random.default_rng(seed)
    if kind == "number":
        return rng.normal(size=n)
    return rng.permutation(np.arange(n) % {"two classes": 2, "four classes": 4}[kind])


def assert_right(found, expected):
    """All pairs, in the order of F, with the effects of the oracle."""
    assert found.n_tested == len(expected) == len(found.pairs)
    of_oracle = np.array([expected[tuple(pair)] for pair in found.pairs.tolist()])
    error = np.abs(found.statistics - of_oracle[:, 0]) / np.maximum(of_oracle[:, 0], 1)
    assert error.max() <= EXACT
    assert np.all(np.diff(found.statistics) <= 0)
    if found.effects is None:
        assert np.isnan(of_oracle[:, 1]).all()
        return
    np.testing.assert_allclose(found.effects, of_oracle[:, 1], rtol=0, atol=EXACT)
    np.testing.assert_allclose(found.standard_errors, of_oracle[:, 2], rtol=1e-8)


@covering(
    size=[(12, 4), (40, 7), (80, 12), (2100, 5)],
    kind=["number", "two classes", "four classes"],
    n_covariates=[0, 1, 3],
    transform=["none", "rank"],
    with_table=[False, True],
)
def test_definition(size, kind, n_covariates, transform, with_table):
    n, p = size
    X, y = table(n, p), target(kind, n)
    covariates = np.random.default_rng(2).normal(size=(n, n_covariates)) * 100 + 7 if n_covariates else None
    other = table(n, 3, seed=5) if with_table else None
    found = fastfs.interaction_scan(
        X, y, with_table=other, covariates=covariates, transform=transform, n_permutations=0
    )
    expected = oracle.scan(
        X, y, is_class=kind != "number", other=other, covariates=covariates, ranks=transform == "rank"
    )
    assert_right(found, expected)
    of_feature = [
        max((F for pair, (F, *_) in expected.items() if i in pair[: 1 if with_table else 2])) for i in range(p)
    ]
    np.testing.assert_allclose(found.scores, of_feature, rtol=1e-8, atol=1e-9)
    k = {"number": 1, "two classes": 1, "four classes": 3}[kind]
    assert found.degrees == (k, n - 3 - n_covariates - k)


@covering(
    form={
        "rows": np.ascontiguousarray,
        "columns": np.asfortranarray,
        "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        "CSR": sp.csr_matrix,
        "CSC": sp.csc_array,
    },
    dtype=[np.float32, np.float64],
    n_threads=[1, 3],
)
def test_storage_types_and_threads(form, dtype, n_threads):
    X = table(70, 9)
    X[np.random.default_rng(3).random(X.shape) < 0.3] = 0
    X = X.astype(dtype)
    y = target("number", 70)
    found = fastfs.interaction_scan(form(X), y, n_permutations=5, n_threads=n_threads)
    expected = fastfs.interaction_scan(X.astype(float), y, n_permutations=5, n_threads=1)
    for name in ("pairs", "statistics", "effects", "pvalues_max", "null_maxima", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


IN_A_PROCESS = """
import sys, numpy as np, fastfs
rng = np.random.default_rng(0)
X, y = rng.normal(size=(90, 400)), rng.normal(size=90)
found = fastfs.interaction_scan(X, y, n_permutations=4, n_pairs=50)
assert fastfs.info()["isa"] == sys.argv[1]
np.savez(sys.argv[2], pairs=found.pairs, statistics=found.statistics, null_maxima=found.null_maxima)
"""


def test_every_instruction_set_finds_the_same_pairs(isas, python, tmp_path):
    """400 features take six tiles. What is reported is summed sample by sample; maxima of labelings come from tiles."""
    results = []
    for isa in isas:
        finished = python(IN_A_PROCESS, isa, tmp_path / f"{isa}.npz", FASTFS_ISA=isa)
        assert finished.returncode == 0, finished.stderr
        results.append(np.load(tmp_path / f"{isa}.npz"))
    for other in results[1:]:
        np.testing.assert_array_equal(other["pairs"], results[0]["pairs"])
        np.testing.assert_array_equal(other["statistics"], results[0]["statistics"])
        np.testing.assert_allclose(other["null_maxima"], results[0]["null_maxima"], rtol=1e-9)


def test_pairs_with_numbers_beyond_32_bits():
    """Pairs are numbered i p + j: of 66,000 features up to 4.4e9."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 66_000), dtype=np.float32), rng.normal(size=12)
    columns = np.array([0, 1, 32_768, 65_535, 65_536, 65_998, 65_999])
    chosen = np.array([(i, j) for i in range(7) for j in range(i + 1, 7)])
    few = fastfs.interaction_scan(X[:, columns], y, n_permutations=19)
    found = fastfs.interaction_scan(X, y, pairs=columns[chosen], n_permutations=19)
    one = fastfs.interaction_scan(X, y, pairs=columns[chosen], n_permutations=19, n_pairs=1)
    assert found.pairs.tolist() == columns[few.pairs].tolist()
    np.testing.assert_array_equal(found.statistics, few.statistics)
    np.testing.assert_allclose(found.null_maxima, few.null_maxima, rtol=1e-9)
    np.testing.assert_array_equal(found.pvalues_max, few.pvalues_max)
    np.testing.assert_allclose(one.null_maxima, few.null_maxima, rtol=1e-9)
    assert one.pvalue == few.pvalue


@rotating(1, kind=["number", "two classes", "four classes"], n_covariates=[0, 2])
def test_permutations(kind, n_covariates):
    """Step-down p-values from the F of all pairs under each labeling of the design."""
    n = 40
    X, y = table(n, 7), target(kind, n)
    X[:, 3] = X[:, 1] * y + 0.3 * X[:, 3]
    covariates = np.random.default_rng(2).normal(size=(n, n_covariates)) if n_covariates else None
    found = fastfs.interaction_scan(X, y, covariates=covariates, n_pairs=6, n_permutations=25, random_state=4)
    names = y if kind == "number" else y.astype(np.int64)
    design = Design(names, covariates=covariates, n_permutations=25, seed=4)
    labelings = design.labelings(0, 25)
    scans = [oracle.scan(X, one, is_class=kind != "number", covariates=covariates) for one in (y, *labelings)]
    order = sorted(scans[0], key=lambda pair: -scans[0][pair][0])
    strengths = [[scan[pair][0] for pair in order] for scan in scans]
    np.testing.assert_allclose(found.null_maxima, np.max(strengths[1:], axis=1), rtol=1e-9)
    assert [tuple(pair) for pair in found.pairs.tolist()] == order[:6]
    assert found.pvalues_max.tolist() == oracle.step_down(strengths[0], strengths[1:])[:6]
    assert (found.n_permutations, found.resolution, found.exact) == (25, 1 / 26, False)


@pytest.mark.parametrize("make", [float, str, bool, lambda k: f"class {1 - k}"])
def test_names_of_classes_change_nothing(make):
    X, labels = table(40, 6), target("two classes", 40)
    covariates = np.random.default_rng(2).normal(size=40)
    found = fastfs.interaction_scan(X, labels, covariates=covariates, n_permutations=19)
    named = fastfs.interaction_scan(
        X, [make(k) for k in labels.tolist()], target_type="class", covariates=covariates, n_permutations=19
    )
    np.testing.assert_allclose(named.statistics, found.statistics, rtol=1e-12)
    np.testing.assert_allclose(np.abs(named.effects), np.abs(found.effects), rtol=1e-9)
    assert named.design == found.design
    if make(0) < make(1):
        np.testing.assert_array_equal(named.pvalues_max, found.pvalues_max)


def test_many_blocks_of_features_and_of_samples():
    """450 features are three tiles, and 5000 samples three panels of a tile."""
    X, y = table(5000, 450).astype(np.float32), target("number", 5000)
    y += 0.2 * X[:, 5] * X[:, 441]
    found = fastfs.interaction_scan(X, y, n_permutations=3, n_pairs=30)
    assert found.n_tested == 450 * 449 / 2
    assert found.pairs[0].tolist() == [5, 441]
    for (i, j), F, effect in zip(found.pairs.tolist(), found.statistics, found.effects, strict=True):
        expected = oracle.interaction(X[:, i].astype(float), X[:, j].astype(float), y[:, None])
        np.testing.assert_allclose((F, effect), expected[:2], rtol=1e-9)


def test_chosen_features():
    X, y = table(50, 9), target("two classes", 50)
    chosen = [1, 4, 5, 8]
    found = fastfs.interaction_scan(X, y, features=chosen, n_permutations=9)
    alone = fastfs.interaction_scan(X[:, chosen], y, n_permutations=9)
    assert found.pairs.tolist() == np.array(chosen)[alone.pairs].tolist()
    np.testing.assert_array_equal(found.statistics, alone.statistics)
    np.testing.assert_array_equal(found.null_maxima, alone.null_maxima)
    np.testing.assert_array_equal(found.scores[chosen], alone.scores)
    assert found.scores[[0, 2, 3, 6, 7]].tolist() == [0] * 5
    one = fastfs.interaction_scan(X, y, features=[4], with_table=X[:, :2], n_permutations=0)
    assert sorted(one.pairs.tolist()) == [[4, 0], [4, 1]]


@covering(
    kind=["number", "two classes", "four classes"], n_covariates=[0, 2], with_table=[False, True], n_threads=[1, 2]
)
def test_chosen_pairs(kind, n_covariates, with_table, n_threads):
    """Pairs have the statistics that they have among all, and p-values against the chosen ones."""
    X, y, other = table(50, 9), target(kind, 50), table(50, 6, seed=5) if with_table else None
    covariates = np.random.default_rng(2).normal(size=(50, n_covariates)) if n_covariates else None
    how = {"with_table": other, "covariates": covariates, "n_permutations": 19, "n_threads": n_threads}
    every = fastfs.interaction_scan(X, y, **how)
    chosen = [(1, 4), (0, 5), (7, 3), (1, 4), (2, 5), (7, 4)]
    distinct = {pair if with_table else tuple(sorted(pair)) for pair in chosen}
    found = fastfs.interaction_scan(X, y, pairs=chosen, **how)
    assert found.n_tested == len(found.pairs) == len(distinct) == 5
    of_all = {tuple(pair): k for k, pair in enumerate(every.pairs.tolist())}
    places = [of_all[tuple(pair)] for pair in found.pairs.tolist()]
    assert places == sorted(places)
    np.testing.assert_array_equal(found.statistics, every.statistics[places])
    for scores, side in ((found.scores, 0), (found.table_scores, 1)):
        if scores is not None:
            in_pair = [found.pairs[:, side] == j for j in range(len(scores))]
            if not with_table:
                in_pair = [(found.pairs == j).any(axis=1) for j in range(len(scores))]
            expected = [found.statistics[of].max(initial=0) for of in in_pair]
            np.testing.assert_array_equal(scores, expected)
    first = fastfs.interaction_scan(X, y, pairs=chosen, n_pairs=2, **how)  # the others are compared one by one
    np.testing.assert_allclose(first.null_maxima, found.null_maxima, rtol=1e-9)
    np.testing.assert_array_equal(first.pvalues_max, found.pvalues_max[:2])
    assert (found.null_maxima <= every.null_maxima * (1 + 1e-9)).all()


def test_chosen_pairs_by_name():
    X, y = table(50, 4), target("number", 50)
    names = ["p", "q", "r", "s"]
    found = fastfs.interaction_scan(pd.DataFrame(X, columns=names), y, pairs=[["s", "p"], ["q", "r"]], n_permutations=0)
    assert sorted(found.names.tolist()) == [["p", "s"], ["q", "r"]]
    other = pd.DataFrame(table(50, 2, seed=3), columns=["u", "v"])
    found = fastfs.interaction_scan(
        pd.DataFrame(X, columns=names), y, with_table=other, pairs=[["s", "u"]], n_permutations=9
    )
    assert found.pairs.tolist() == [[3, 0]]
    table_of_ones = np.c_[X, np.ones(50), 2 * X[:, 0]]
    with pytest.warns(fastfs.DataWarning) as caught:
        found = fastfs.interaction_scan(table_of_ones, y, pairs=[[0, 4], [0, 5], [1, 2]], n_permutations=9)
    assert "column 4" in str(caught[0].message)
    assert (found.pairs.tolist(), found.n_tested, found.excluded_pairs.tolist()) == ([[1, 2]], 1, [[0, 5]])


def test_a_table_with_itself_has_the_pairs_of_the_table():
    """And those of a feature with itself, which has a product of its own: its square."""
    X, y = table(60, 5), target("number", 60)
    both = fastfs.interaction_scan(X, y, n_permutations=0)
    with pytest.warns(fastfs.DataWarning, match="5 pairs have no test and are left out .5 of copies of each other"):
        twice = fastfs.interaction_scan(X, y, with_table=X, n_permutations=0)
    F = {tuple(sorted(pair)): value for pair, value in zip(twice.pairs.tolist(), twice.statistics, strict=True)}
    expected = {tuple(pair): value for pair, value in zip(both.pairs.tolist(), both.statistics, strict=True)}
    assert F.keys() == expected.keys()
    assert twice.n_tested == 20
    np.testing.assert_allclose([F[pair] for pair in expected], list(expected.values()), rtol=1e-10)


def test_times_count_by_their_martingale_residuals():
    rng = np.random.default_rng(0)
    n = 80
    X = rng.normal(size=(n, 6))
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["time"] = np.round(rng.exponential(np.exp(-X[:, 1] * X[:, 4])), 1)
    y["event"] = rng.random(n) < 0.8
    residuals = y["event"].astype(float)
    for time in np.unique(y["time"][y["event"]]):
        at_risk = y["time"] >= time
        residuals[at_risk] -= np.count_nonzero(y["event"] & (y["time"] == time)) / np.count_nonzero(at_risk)
    found = fastfs.interaction_scan(X, y, n_permutations=49)
    expected = fastfs.interaction_scan(X, residuals, n_permutations=49)
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-9)
    assert found.target_type == "survival"
    assert found.pairs[0].tolist() == [1, 4]
    assert found.pvalue <= 0.05
    with pytest.raises(ValueError, match="give strata of the covariates as blocks"):
        fastfs.interaction_scan(X, y, covariates=X[:, :1], n_permutations=9)


def test_units_and_offsets_change_nothing():
    X, y = table(60, 6), target("number", 60)
    expected = fastfs.interaction_scan(X, y, n_permutations=9)
    for scale, offset in ((1e-290, 0), (1e290, 0), (1, 1e6), (-3.0, 0)):
        found = fastfs.interaction_scan(X * scale + offset, y * 1e100, target_type="number", n_permutations=9)
        assert found.pairs.tolist() == expected.pairs.tolist()
        np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-7)
        np.testing.assert_array_equal(found.pvalues_max, expected.pvalues_max)


@pytest.mark.parametrize("flipped", [0.0, 0.1])
def test_an_exclusive_or_of_signs_comes_first(flipped):
    """Among 2000 features, where neither feature alone says anything: what no ranking of features can find."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 2000)).astype(np.float32)
    y = (X[:, 11] * X[:, 1700] > 0) ^ (rng.random(150) < flipped)
    found = fastfs.interaction_scan(X, y, n_permutations=19, n_pairs=3)
    assert found.pairs[0].tolist() == [11, 1700]
    assert found.pvalue == 0.05
    assert np.argsort(-found.scores)[:2].tolist() in ([11, 1700], [1700, 11])


def test_heavy_tails_want_ranks():
    """One sample that is far out in two features and in the target makes F large, but less so for ranks."""
    X, y = np.random.default_rng(6).normal(size=(60, 10)), target("number", 60)
    X[7, [2, 5]], y[7] = 5, 10
    found, ranked = (fastfs.interaction_scan(X, y, transform=how, n_permutations=0) for how in ("none", "rank"))
    assert found.pairs[0].tolist() == ranked.pairs[0].tolist() == [2, 5]
    assert found.statistics[0] > 2 * ranked.statistics[0]


def test_frames_and_networks():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 5)), columns=list("abcde"))
    found = fastfs.interaction_scan(X, X["b"] * X["d"], n_permutations=19)
    frame = found.to_frame()
    assert frame.columns.tolist() == [
        "feature_a",
        "feature_b",
        "statistic",
        "effect",
        "standard_error",
        "pvalue_max",
    ]
    assert frame.loc[0, ["feature_a", "feature_b", "pvalue_max"]].tolist() == ["b", "d", 0.05]
    network = networkx.from_pandas_edgelist(frame, "feature_a", "feature_b", edge_attr=True)
    assert network["b"]["d"]["pvalue_max"] == 0.05
    assert network.number_of_edges() == 10
    json.dumps(networkx.node_link_data(network, edges="links"))
    three = fastfs.interaction_scan(X, np.arange(50) % 3, with_table=rng.normal(size=(50, 2)), n_permutations=0)
    assert three.to_frame().columns.tolist() == ["feature_a", "feature_b", "statistic"]
    assert set(three.to_frame()["feature_b"]) == {0, 1}


def test_auto_ends_early_on_noise_and_not_on_an_interaction():
    X = table(60, 20)
    noise = fastfs.interaction_scan(X, target("number", 60), n_permutations="auto")
    assert (noise.stopped, noise.n_permutations) == (True, 99)
    found = fastfs.interaction_scan(X, X[:, 1] * X[:, 3], n_permutations="auto")
    assert (found.stopped, found.n_permutations) == (False, 999)
    assert found.pvalue == 0.001


def test_all_labelings_of_a_small_design():
    X, y = table(9, 4), np.arange(9) % 2
    found = fastfs.interaction_scan(X, y, n_permutations=999)
    assert found.exact
    assert (found.n_distinct, found.n_permutations) == (126, 125)


def test_calls_can_be_stopped_and_report():
    X, y = table(300, 800), target("number", 300)
    heard = []
    fastfs.interaction_scan(X, y, n_permutations=20, progress=lambda step, share: heard.append((step, share)))
    assert [share for _, share in heard] == sorted(share for _, share in heard)
    assert "labelings" in {step for step, _ in heard}

    def stop(step, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fastfs.interaction_scan(X, y, n_permutations=2000, progress=stop)
