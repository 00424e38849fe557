"""Stability under subsampling, and consensus of methods."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import LogisticRegression

import fastfs
from covering import rotating, together
from fastfs._inference.stability import compare_selections

pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")


def problem(n=60, d=30, seed=0):
    X, y = np.random.default_rng(seed).normal(size=(n, d)), np.arange(n) % 2
    X[:, :3] += 1.2 * y[:, None]
    return X, y


def nogueira_of_matrix(Z):
    """The index and its variance from a subsamples x features matrix, in the paper's symbols."""
    M, d = Z.shape
    p = Z.mean(axis=0)
    k = Z.sum(axis=1)
    k_bar = k.mean()
    s2 = M / (M - 1) * p * (1 - p)
    denominator = k_bar / d * (1 - k_bar / d)
    phi = 1 - s2.mean() / denominator
    single = np.array(
        [
            (np.mean(Z[i] * p) - k[i] * k_bar / d**2 + phi / 2 * (2 * k_bar * k[i] / d**2 - k[i] / d - k_bar / d + 1))
            / denominator
            for i in range(M)
        ]
    )
    return phi, 4 / M**2 * np.sum((single - single.mean()) ** 2)


def nogueira_index(n_features, selected):
    found = compare_selections(n_features, selected, [None] * len(selected))
    return found["stability"], found["variance"]


def rare_bounds(q, n_features, threshold, n_pairs):
    selected = [np.arange(q)] * (2 * n_pairs)
    found = compare_selections(n_features, selected, [None] * len(selected), halves=True, threshold=threshold)
    return found["rare_bound"], found["rare_bound_unimodal"]


@pytest.mark.parametrize("seed", range(5))
def test_nogueira(seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((12, 40)) < rng.random(40)  # selections of different sizes
    index, variance = nogueira_index(40, [np.flatnonzero(z) for z in Z])
    np.testing.assert_allclose([index, variance], nogueira_of_matrix(Z.astype(float)), rtol=1e-12)


def test_nogueira_of_random_selections_is_near_zero():
    rng = np.random.default_rng(0)
    index, variance = nogueira_index(200, [np.sort(rng.choice(200, 20, replace=False)) for _ in range(100)])
    assert abs(index) < 4 * np.sqrt(variance) < 0.05


def test_nogueira_of_equal_selections_is_one():
    assert nogueira_index(9, [np.array([1, 4])] * 5) == (1.0, 0.0)


def test_subsamples():
    X, y = problem(n=61)
    seen = []

    class Spy(SelectKBest):
        def fit(self, X, y):
            seen.append((X, y))
            return super().fit(X, y)

    found = fastfs.stability(Spy(k=3), X, y, n_subsamples=8, fraction=0.5)
    assert all(np.bincount(labels).tolist() == [16, 15] for _, labels in seen)  # 31 and 30 samples, to even
    assert len({rows[:, 0].tobytes() for rows, _ in seen}) == 8
    scores, supports = [], []
    for rows, labels in seen:
        fitted = SelectKBest(k=3).fit(rows, labels)
        scores.append(fitted.scores_)
        supports.append(fitted.get_support())
    assert np.array_equal(found.frequencies, np.mean(supports, axis=0))
    assert [s.tolist() for s in found.selected] == [np.flatnonzero(s).tolist() for s in supports]
    expected = spearmanr(np.array(scores).T).statistic[np.triu_indices(8, 1)].mean()
    assert found.relevance_correlation == pytest.approx(expected, abs=1e-12)
    expected = np.corrcoef(scores)[np.triu_indices(8, 1)].mean()
    assert found.relevance_pearson == pytest.approx(expected, abs=1e-12)
    phi, variance = nogueira_of_matrix(np.array(supports, dtype=float))
    assert found.stability == pytest.approx(phi, abs=1e-12)
    assert found.interval == pytest.approx((phi - 1.959964 * np.sqrt(variance), phi + 1.959964 * np.sqrt(variance)))


@rotating(1, target=["view", "table", "none", "one column", "numbers"], scheme=["subsamples", "complementary"])
def test_projse_on_any_target(target, scheme):
    """Each subsample is a fit to these rows of X, and of the second view if there is one."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 40, 6))
    Y[:, :2] += 3 * X[:, [1, 4]]
    kinds = {"view": Y, "table": pd.DataFrame(Y), "none": None, "one column": Y[:, :1], "numbers": Y[:, 0]}
    seen = []

    class Spy(fastfs.ProjSe):
        def fit(self, X, y=None):
            seen.append(np.hstack([X] if y is None else [X, np.reshape(y, (len(X), -1))]))
            return super().fit(X, y)

    found = fastfs.stability(Spy(2, center=True), X, kinds[target], scheme=scheme, n_subsamples=6, n_pairs=3)
    whole = np.hstack([X] if target == "none" else [X, np.reshape(np.asarray(kinds[target]), (40, -1))])
    for rows, selected in zip(seen, found.selected, strict=True):
        places = [np.flatnonzero((whole == row).all(axis=1)).item() for row in rows]
        assert places == sorted(set(places))
        assert len(places) == 20
        y = None if target == "none" else rows[:, 6:]
        assert np.array_equal(
            selected, np.sort(fastfs.projse(rows[:, :6], y, n_features_to_select=2, center=True).selected)
        )
    if target in ("view", "table"):
        assert found.frequencies[[1, 4]].tolist() == [1, 1]


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, csr_matrix])
def test_kinds_of_matrices(make):
    X, y = problem()
    plain = fastfs.stability(fastfs.ProjSe(1), X, y, n_subsamples=5)
    found = fastfs.stability(fastfs.ProjSe(1), make(X), y, n_subsamples=5)
    assert np.array_equal(found.frequencies, plain.frequencies)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_jobs(n_jobs):
    X, y = problem()
    alone = fastfs.stability(fastfs.MultiSURF(4), X, y, n_subsamples=10)
    found = fastfs.stability(fastfs.MultiSURF(4), X, y, n_subsamples=10, n_jobs=n_jobs)
    assert np.array_equal(found.frequencies, alone.frequencies)
    assert found.stability == alone.stability
    assert found.relevance_correlation == alone.relevance_correlation


def test_string_labels_and_rare_classes():
    X, _ = problem()
    y = np.array(["rare"] + ["a", "b"] * 29 + ["a"])
    found = fastfs.stability(fastfs.ProjSe(2), X, y, n_subsamples=4)
    assert found.frequencies.sum() == pytest.approx(2)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia", "bsr"])
def test_any_sparse_format(form):
    X, y = problem()
    X = np.where(X > 0, X, 0)
    dense = fastfs.stability(fastfs.ProjSe(1), X, y, n_subsamples=5)
    found = fastfs.stability(fastfs.ProjSe(1), csr_matrix(X).asformat(form), y, n_subsamples=5)
    assert np.array_equal(found.frequencies, dense.frequencies)


@pytest.mark.parametrize(
    "X, message",
    [
        (None, "X must be a 2-D array of samples x features; got 0-D"),
        (3.0, "X must be a 2-D array of samples x features; got 0-D"),
        ("abc", "X as a path must end in"),
        (np.ones(60), "X must be a 2-D array of samples x features; got 1-D"),
        (np.empty((0, 5)), "X must have samples; got none"),
        (
            iter([np.ones((60, 5))]),
            "X must be an array, since each subsample reads it; got an iterator, which can be read once",
        ),
    ],
)
def test_no_table(X, message):
    with pytest.raises(ValueError, match=message):
        fastfs.stability(fastfs.ReliefF(3), X, np.arange(60) % 2)


def test_without_scores():
    X, y = problem()
    found = fastfs.stability(RFE(LogisticRegression(), n_features_to_select=3, step=5), X, y, n_subsamples=3)
    assert np.isnan([found.relevance_correlation, found.relevance_pearson]).all()
    assert 0 < found.stability <= 1


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"n_subsamples": 1}, ValueError, "n_subsamples must be at least 2; got 1"),
        ({"fraction": 1.0}, ValueError, "fraction must lie between 0 and 1"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0: give a positive number"),
        ({"fraction": "half"}, TypeError, "fraction must be a number"),
        ({"confidence": 0}, ValueError, "confidence must lie between 0 and 1"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = problem()
    with pytest.raises(error, match=message):
        fastfs.stability(fastfs.ReliefF(3), X, y, **parameters)


def test_nothing_to_compare():
    X, y = problem()
    with pytest.raises(ValueError, match="must select some of the 30 features; got all"):
        fastfs.stability(SelectKBest(k="all"), X, y, n_subsamples=3)
    with pytest.raises(ValueError, match="one label for each of the 60 samples"):
        fastfs.stability(fastfs.ReliefF(3), X, y[:-1])


# ---------------------------------------------------------------------------------- blocks, groups, complementary pairs


def drawn(X, y, **parameters):
    """The rows of each subsample, which X holds in its first column, and the result."""
    X[:, 0] = np.arange(len(X))
    rows = []

    class Spy(SelectKBest):
        def fit(self, X, y):
            rows.append(X[:, 0].astype(int))
            return super().fit(X, y)

    return rows, fastfs.stability(Spy(k=3), X, y, **parameters)


def test_complementary_pairs_are_halves_of_each_class():
    X, y = problem(n=61)  # 31 and 30 samples
    rows, found = drawn(X, y, scheme="complementary", n_pairs=6)
    assert len(rows) == len(found.selected) == 12
    for a, b in zip(rows[::2], rows[1::2], strict=True):
        assert not set(a) & set(b)
        assert np.bincount(y[a]).tolist() == np.bincount(y[b]).tolist() == [15, 15]
    assert len({one.tobytes() for one in rows}) == 12


def test_halves_of_donors_within_batches():
    donors = np.repeat(np.arange(18), [1, 2, 3, 4, 2, 3] * 3)
    batches, y = donors % 3, donors // 3 % 2
    X = np.random.default_rng(0).normal(size=(len(y), 10))
    names = np.array(["d" + str(d) for d in donors])
    rows, _ = drawn(X, y, scheme="complementary", n_pairs=5, blocks=batches, groups=names)
    for a, b in zip(rows[::2], rows[1::2], strict=True):
        halves = [set(donors[half]) for half in (a, b)]
        assert not halves[0] & halves[1]
        for half, of in zip((a, b), halves, strict=True):
            assert np.array_equal(half, np.flatnonzero(np.isin(donors, list(of))))  # all samples of a donor
            cells = [(d % 3, d // 3 % 2) for d in of]
            assert sorted(cells) == [(batch, c) for batch in range(3) for c in range(2)]  # of 3 donors in each, 1


def test_subsamples_keep_batches_and_donors():
    donors = np.arange(80) // 4
    batches, y = donors % 2, donors // 2 % 2
    X = np.random.default_rng(0).normal(size=(80, 10))
    rows, found = drawn(X, y, n_subsamples=6, blocks=batches, groups=donors, fraction=0.6)
    for part in rows:
        assert np.bincount(donors[part], minlength=20)[np.unique(donors[part])].tolist() == [4] * 12
        assert np.bincount(2 * batches[part] + y[part]).tolist() == [12] * 4
    assert np.isnan([found.rare_bound, found.rare_bound_unimodal]).all()


def test_pairs_stay_together():
    X, y = problem(n=40)
    pairs = np.arange(40) // 2
    rows, _ = drawn(X, y, scheme="complementary", n_pairs=4, blocks=pairs)
    for half in rows:
        assert np.bincount(pairs[half]).max() == np.bincount(pairs[half])[pairs[half]].min() == 2
        assert len(half) == 20


def test_donors_of_a_treated_and_a_control_specimen_stay_together():
    donors, specimens = np.arange(64) // 8, np.arange(64) // 4
    X = np.random.default_rng(0).normal(size=(64, 10))
    how = {"scheme": "complementary", "n_pairs": 4, "blocks": donors}
    rows, _ = drawn(X, specimens % 2, groups=specimens, **how)
    assert len({half.tobytes() for half in rows}) > 2
    for half in rows:
        assert sorted(np.bincount(donors[half], minlength=8).tolist()) == [0] * 4 + [8] * 4
    halved, _ = drawn(X, specimens // 2 % 2, groups=specimens // 2, **how | {"blocks": donors // 4})
    for half in halved:  # of each label there are two donors in a block
        assert sorted(np.bincount(donors[half], minlength=8).tolist()) == [0] * 4 + [8] * 4
        assert np.bincount(donors[half[::8]] // 4).tolist() == [2, 2]


def test_numbers_have_no_classes():
    X = np.random.default_rng(0).normal(size=(50, 10))
    donors = np.arange(50) // 5
    y = X[:, 4] + 0.1 * np.random.default_rng(1).normal(size=50)
    found = fastfs.stability(
        fastfs.RReliefF(1, target_type="number"), X, y, groups=donors, scheme="complementary", n_pairs=5
    )
    assert found.selected_stable.tolist() == [4]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pairs_with_any_number_of_jobs(n_jobs):
    X, y = problem()
    options = {"groups": np.arange(60) // 2, "scheme": "complementary", "n_pairs": 5}
    y = np.repeat(y[:30], 2)
    alone, found = (fastfs.stability(fastfs.MultiSURF(4), X, y, **options, n_jobs=n) for n in (None, n_jobs))
    assert np.array_equal(found.frequencies, alone.frequencies)
    assert found.rare_bound == alone.rare_bound


def test_bounds_of_shah_and_samworth():
    """The example of the paper's formulas, q = 10 of 100, and where the unimodal one doesn't hold."""
    always, unimodal = rare_bounds(10, 100, 0.75, 50)
    assert always == pytest.approx(2.0)
    assert unimodal == pytest.approx(1 / (2 * (0.5 - 0.01)))
    assert rare_bounds(10, 100, 0.9, 50) == pytest.approx((1.25, 4 * (0.1 + 0.01) / 1.02))
    assert rare_bounds(10, 100, 1.0, 50) == pytest.approx((1.0, 0.04 / 1.02))
    assert np.isnan(rare_bounds(58, 100, 0.75, 50)[1])
    assert np.isnan(rare_bounds(30, 100, 0.55, 50)[1])
    assert rare_bounds(10, 100, 0.52, 50)[1] == pytest.approx(1 / (2 * (0.04 - 0.01)))


def test_selected_stable():
    X, y = problem()
    found = fastfs.stability(SelectKBest(k=4), X, y, scheme="complementary", n_pairs=10, threshold=0.6)
    assert found.selected_stable.tolist() == np.flatnonzero(found.frequencies >= 0.6).tolist() != []
    assert (found.rare_bound, found.rare_bound_unimodal) == rare_bounds(4, 30, 0.6, 10)


def test_fewer_false_selections_than_the_bound():
    """Nothing to find: every feature is selected rarely, so `selected_stable` counts the false selections."""
    counts = []
    for seed in range(15):
        X, y = np.random.default_rng(seed).normal(size=(60, 40)), np.arange(60) % 2
        found = fastfs.stability(SelectKBest(k=10), X, y, scheme="complementary", n_pairs=25, threshold=0.7)
        counts.append(len(found.selected_stable))
    assert 0 < np.mean(counts) < found.rare_bound_unimodal < found.rare_bound


def test_without_groups_donors_look_stable():
    """Ten samples of each of 16 donors, whose labels say nothing: above the bound, unless donors are drawn."""
    donors = np.repeat(np.arange(16), 10)
    of_samples, of_donors = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(160, 100)) + rng.normal(size=(16, 100))[donors]
        for found, groups in ((of_samples, None), (of_donors, donors)):
            options = {"scheme": "complementary", "n_pairs": 25, "groups": groups}
            found.append(fastfs.stability(fastfs.ReliefF(10), X, donors % 2, **options))
    assert np.mean([found.stability for found in of_donors]) < 0.25 < 0.33 < np.mean([f.stability for f in of_samples])
    counts = [np.mean([len(one.selected_stable) for one in found]) for found in (of_samples, of_donors)]
    assert counts[1] < of_donors[0].rare_bound_unimodal < counts[0]


@pytest.mark.filterwarnings("error::fastfs.DataWarning")
def test_single_samples_of_a_class_in_a_block_are_told():
    X, y = problem(n=40)
    y[:10] = [1, *[0] * 9]
    blocks = np.arange(40) // 10
    said = "1 of 8 combinations of class and block have one sample, which is in {}: that of row 0"
    with pytest.warns(fastfs.DataWarning, match=said.format("every subsample")):
        fastfs.stability(SelectKBest(k=3), X, y, blocks=blocks, n_subsamples=3)
    with pytest.warns(fastfs.DataWarning, match=said.format("no half")):
        fastfs.stability(SelectKBest(k=3), X, y, blocks=blocks, scheme="complementary", n_pairs=2)
    groups = np.array(["a", "a", *np.arange(38)], dtype=object)
    y[1] = 1
    with pytest.warns(fastfs.DataWarning, match="have one group, which is in no half: that of row 0"):
        fastfs.stability(SelectKBest(k=3), X, y, blocks=blocks, groups=groups, scheme="complementary", n_pairs=2)


MISSING = np.array(["a"] * 60, dtype=object)
MISSING[[3, 7]] = [None, np.nan]
HALVES = np.repeat(["x", "y"], 30)


@together
@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"scheme": "pairs"}, ValueError, "scheme must be 'subsamples' or 'complementary'"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be at least 1; got 0"),
        ({"threshold": 0.5}, ValueError, "threshold must lie above 0.5 and be at most 1; got 0.5"),
        ({"threshold": 1.01}, ValueError, "threshold must lie above 0.5 and be at most 1; got 1.01"),
        ({"threshold": "high"}, TypeError, "threshold must be a number"),
        ({"blocks": MISSING}, ValueError, "blocks must not have missing values; got some in the rows 3, 7"),
        ({"groups": MISSING}, ValueError, "groups must not have missing values; got some in the rows 3, 7"),
        ({"groups": np.arange(59)}, ValueError, "groups must have one value for each of the 60 samples; got 59"),
        (
            {"groups": np.arange(60) % 4, "blocks": HALVES},
            ValueError,
            "groups that move as wholes must lie in one block; got group 0 in the blocks 'x', 'y'",
        ),
        (
            {"groups": np.arange(60) % 2},
            ValueError,
            "subsamples must leave out some of the 2 groups; got all with fraction=0.5 of each class and block",
        ),
        (
            {"fraction": 0.99},
            ValueError,
            "some of the 60 samples; got all with fraction=0.99 of each class and block",
        ),
        (
            {"groups": np.arange(60) % 2, "scheme": "complementary"},
            ValueError,
            "halves need two groups of class 'ill', but there is one: give more groups",
        ),
        (
            {"groups": np.arange(60) % 6, "blocks": np.tile([0, 0, 0, 1, 1, 2], 10), "scheme": "complementary"},
            ValueError,
            "halves need two groups of class 'ill' in one block, but no block has them",
        ),
    ],
)
def test_bad_designs(parameters, error, message):
    X, y = problem()
    with pytest.raises(error, match=message):
        fastfs.stability(SelectKBest(k=3), X, np.array(["well", "ill"])[y], **parameters)


def test_halves_of_one_donor_without_classes():
    X = np.random.default_rng(0).normal(size=(20, 5))
    model = fastfs.RReliefF(1, target_type="number")
    with pytest.raises(ValueError, match="halves need two groups, but there is one"):
        fastfs.stability(model, X, X[:, 0], groups=["a"] * 20, scheme="complementary")


# ----------------------------------------------------------------------------------------------------------- consensus


def test_mean_rank():
    found = fastfs.consensus({"a": [9.0, 5.0, 1.0, 0.0], "b": [9.0, 1.0, 5.0, 5.0], "c": [3.0, 2.0, 1.0, 0.0]})
    assert found.ranks.tolist() == [[1, 2, 3, 4], [1, 4, 2.5, 2.5], [1, 2, 3, 4]]
    np.testing.assert_allclose(found.scores, 1 - (np.array([1, 8 / 3, 8.5 / 3, 10.5 / 3]) - 1) / 3, rtol=1e-14)
    assert found.ranking.tolist() == [1, 2, 3, 4]
    assert found.pvalues is None


def test_robust_rank_aggregation():
    """Two methods, by hand: rho = min(1 - (1 - r1)^2, r2^2) for ordered ranks r1 <= r2, times two methods."""
    scores = {"a": -np.arange(10.0), "b": -np.arange(10.0)[::-1]}
    found = fastfs.consensus(scores, method="rra")
    r = np.sort(np.array([np.arange(1, 11), np.arange(10, 0, -1)]) / 10, axis=0)
    expected = np.minimum(2 * np.minimum(1 - (1 - r[0]) ** 2, r[1] ** 2), 1)
    np.testing.assert_allclose(found.pvalues, expected, rtol=1e-12)
    np.testing.assert_allclose(found.scores, -np.log10(expected), rtol=1e-12)


def test_under_random_orders_rra_is_not_too_sure():
    rng = np.random.default_rng(0)
    pvalues = fastfs.consensus({str(m): rng.normal(size=5000) for m in range(5)}, method="rra").pvalues
    for q in (0.01, 0.1):
        assert np.mean(pvalues <= q) < q + 4 * np.sqrt(q / 5000)


def test_estimators_and_scores():
    X, y = problem()
    relieff, projse = fastfs.ReliefF().fit(X, y), fastfs.ProjSe(2, center=True).fit(X, y)
    found = fastfs.consensus(
        {"relieff": relieff, "projse": projse, "f": SelectKBest().fit(X, y), "mine": np.arange(30)}
    )
    assert found.names == ["relieff", "projse", "f", "mine"]
    assert np.array_equal(found.ranks[0], relieff.ranking_)
    assert np.array_equal(found.ranks[1], projse.ranking_)  # not that of its scores
    assert found.ranks[3].tolist() == list(range(30, 0, -1))
    assert clone(relieff) is not relieff


@pytest.mark.parametrize(
    "methods, error, message",
    [
        ({"a": [1, 2]}, ValueError, "two methods or more; got 1"),
        ([[1, 2], [1, 2]], TypeError, "must be a mapping"),
        ({"a": [1, 2], "b": [1, 2, 3]}, ValueError, "got 2 for a and 3 for b"),
        ({"a": [1, np.nan], "b": [1, 2]}, ValueError, "of a must be finite; got .* for feature 1"),
        ({"a": [1, 2], "b": fastfs.ReliefF()}, TypeError, "b must be scores"),
        ({"a": [1, 2], "b": [[1, 2]]}, TypeError, "b must be scores of all features"),
    ],
)
def test_bad_methods(methods, error, message):
    with pytest.raises(error, match=message):
        fastfs.consensus(methods)


def test_series_in_another_order():
    one = pd.Series([3.0, 2.0, 1.0], index=["a", "b", "c"])
    for two in (one[::-1], one[::-1].reindex(one.index)):
        assert fastfs.consensus({"one": one, "two": two}).scores.tolist() == [1, 0.5, 0]


def test_unknown_method():
    with pytest.raises(ValueError, match="method must be 'mean' or 'rra'"):
        fastfs.consensus({"a": [1, 2], "b": [1, 2]}, method="median")


def test_errors_name_rows_of_the_whole_table():
    X, y = np.random.default_rng(0).normal(size=(40, 6)), np.arange(40) % 2
    X[33, 2] = np.nan
    with pytest.raises(ValueError, match="first at row 33, column 2"):
        fastfs.stability(fastfs.MultiSURF(2), X, y, n_subsamples=9)
