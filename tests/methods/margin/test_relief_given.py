"""Given features of the RELIEF family, against weighted distances in NumPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fastfs
from covering import covering
from fastfs.io import pack_genotypes
from reference import relief_family as oracle

rng = np.random.default_rng(0)
N, D = 50, 12
X = rng.normal(size=(N, D))
X[:, [8, 9]] = rng.integers(0, 3, size=(N, 2))
TABLE = rng.normal(size=(N, 2))
GIVEN = [3, 7, 8]
CLASSES = np.array(list("abc"))[np.argsort(np.argsort(X[:, 0] + X[:, 3])) % 48 // 16]
CORES = {
    "relief": fastfs.Relief,
    "relieff": fastfs.ReliefF,
    "surf": fastfs.SURF,
    "multisurf": fastfs.MultiSURF,
    "swrf": fastfs.SWRF,
    "murelief": fastfs.MuRelief,
    "rrelieff": fastfs.RReliefF,
}


def expected(A, y, core, given, columns=None, **options):
    """Scores by distances in which the given columns count as much as all others together."""
    categorical = options.get("categorical", ())
    w = options.get("sample_weight", np.ones(len(A)))
    categories = oracle.mask(categorical, A.shape[1])
    differences = oracle.differences(oracle.scaled(A, categories, options.get("scaling", "range"), w), categories)
    weights = np.ones(A.shape[1])
    if columns is not None:
        weights[np.setdiff1d(np.arange(A.shape[1]), [*columns, *given])] = 0
    weights[given] = 0
    weights[given] = max(1, weights.sum() / len(given))
    distances = oracle.distances_of(differences**2 if core == "relief" else differences, weights)
    scores = oracle.scores(A, y, core, distances=distances, **options)
    scores[given] = 0
    return scores


@covering(
    core=list(CORES),
    given=["numbers", "mask", "names", "table"],
    scaling=["range", "standard", None],
    dtype=[np.float64, np.float32],
    missing=["error", "ignore"],
    categories=[False, True],
    weighted=[False, True],
)
def test_against_weighted_distances(core, given, scaling, dtype, missing, categories, weighted):
    A = X.astype(dtype)
    options, extra = {"scaling": scaling}, {}
    y = X[:, 0] + X[:, 3] if core == "rrelieff" else CLASSES
    if core != "relief":
        options["missing"] = missing
        if missing == "ignore":
            A[5, 2] = A[9, 4] = np.nan
        if categories:
            options["categorical_features"] = [8, 9]
            extra["categorical"] = [8, 9]
    fit = {"sample_weight": np.arange(N) % 3 + 0.5} if weighted else {}
    whole = np.hstack([A, TABLE.astype(dtype)]).astype(float) if given == "table" else A.astype(float)
    columns = [D, D + 1] if given == "table" else GIVEN
    if given == "names":
        A = pd.DataFrame(A, columns=[f"g{j}" for j in range(D)])
    value = {"numbers": GIVEN, "mask": np.isin(np.arange(D), GIVEN), "names": ["g3", "g7", "g8"], "table": TABLE}[given]
    found = CORES[core](given=value, **options).fit(A, y, **fit)
    options.pop("categorical_features", None)
    kind = {"target_type": "number"} if core == "rrelieff" else {}
    scores = expected(whole, y, core, columns, **options, **extra, **kind, **fit)[:D]
    np.testing.assert_allclose(found.scores_, scores, rtol=1e-9, atol=1e-4 if dtype == np.float32 else 1e-10)
    if given != "table":
        assert (found.scores_[GIVEN] == 0).all()
        assert sorted(found.ranking_[GIVEN]) == [D - 2, D - 1, D]


def test_the_function_and_sparse_rows_give_the_scores_of_the_estimator():
    A = np.where(rng.random((N, 40)) < 0.2, rng.random((N, 40)), 0)
    for given in ([1, 2], TABLE):
        scores = fastfs.ReliefF(given=given).fit(A, CLASSES).scores_
        np.testing.assert_array_equal(fastfs.relieff_scores(A, CLASSES, given=given), scores)
        for storage in (sparse.csr_matrix, sparse.csc_array):
            np.testing.assert_allclose(fastfs.relieff_scores(storage(A), CLASSES, given=given), scores, atol=1e-12)


def test_genotypes():
    codes = rng.integers(0, 3, size=(N, 20))
    genotypes = pack_genotypes(codes)
    found = fastfs.relieff_scores(genotypes, CLASSES, given=[4])
    np.testing.assert_allclose(found, fastfs.relieff_scores(codes, CLASSES, given=[4], scaling=None), atol=1e-6)
    with pytest.raises(ValueError, match="given must list columns of X where X holds genotypes; got a table"):
        fastfs.relieff_scores(genotypes, CLASSES, given=TABLE)


def test_a_follower_falls_behind_a_feature_that_adds():
    ours = np.random.default_rng(1)
    known = ours.normal(size=300)
    case = known + ours.normal(size=300) > 0
    A = np.column_stack(
        [known + 0.3 * ours.normal(size=300), case + ours.normal(size=300), ours.normal(size=(300, 200))]
    )
    assert fastfs.ReliefF().fit(A, case).scores_[:2].argmax() == 0
    assert fastfs.ReliefF(given=known[:, None]).fit(A, case).scores_[:2].argmax() == 1


@pytest.mark.parametrize("given", [[0, 1], TABLE])
def test_turf_keeps_a_given_table_in_all_rounds(given):
    model = fastfs.TuRF(fastfs.ReliefF(given=given), n_features_to_select=3)
    if given is TABLE:
        found = model.fit(X, CLASSES)
        left = np.sort(np.argsort(found.ranking_)[:3])
        whole = np.hstack([X, TABLE])
        scores = expected(whole[:, [*left, D, D + 1]], CLASSES, "relieff", [3, 4])
        assert np.argsort(-scores[:3], kind="stable").tolist() == np.argsort(found.ranking_[left]).tolist()
    else:
        with pytest.raises(ValueError, match="given must be a table for an estimator that sees some of the features"):
            model.fit(X, CLASSES)


@pytest.mark.filterwarnings("ignore:ReliefF ranks features much as without labels")
def test_conditional_pvalues():
    ours = np.random.default_rng(3)
    known = ours.normal(size=(80, 2))
    y = known.sum(axis=1) + 1.4 * ours.normal(size=80) > 0
    A = np.hstack([known, known @ ours.normal(size=(2, 30)) + ours.normal(size=(80, 30))])
    free = fastfs.permutation_test(fastfs.ReliefF(), A[:, 2:], y, n_permutations=99)
    assert free.pvalue == 0.01
    test = fastfs.permutation_test(fastfs.ReliefF(given=[0, 1]), A, y, n_permutations=99)
    assert test.pvalue > 0.05
    assert sorted(test.ranking[:2]) == [31, 32]
    named = fastfs.permutation_test(
        fastfs.ReliefF(given=["a", "b"]), pd.DataFrame(A).rename(columns={0: "a", 1: "b"}).rename(columns=str), y,
        n_permutations=99,
    )  # fmt: skip
    table = fastfs.permutation_test(fastfs.ReliefF(given=A[:, :2]), A[:, 2:], y, n_permutations=99)
    np.testing.assert_array_equal(named.pvalues, test.pvalues)
    np.testing.assert_array_equal(table.pvalues_max, test.pvalues_max[2:])


def test_a_given_category_is_a_covariate_of_categories():
    codes = np.where(CLASSES == "a", 1, rng.integers(0, 3, N))
    A = pd.DataFrame({"x": X[:, 0], "site": pd.Categorical(np.array(["p", "q", "r"])[codes]), "z": X[:, 1]})
    model = fastfs.ReliefF(given=["site"], categorical_features="from_dtype")
    test = fastfs.permutation_test(model, A, X[:, 2] > 0, n_permutations=19)
    plain = fastfs.permutation_test(model, A, X[:, 2] > 0, n_permutations=19, covariates=A[["site"]])
    numbers = A.assign(site=codes.astype(float))
    coded = fastfs.ReliefF(given=["site"], categorical_features=["site"])
    assert (test.pvalues == fastfs.permutation_test(coded, numbers, X[:, 2] > 0, n_permutations=19).pvalues).all()
    assert plain.pvalues.shape == test.pvalues.shape


def test_given_features_that_are_odd():
    determines = (CLASSES == "a").astype(float)
    for table in (np.ones((N, 1)), np.repeat(TABLE, 2, axis=1), rng.normal(size=(N, 2 * N)), determines[:, None]):
        assert np.isfinite(fastfs.ReliefF(given=table).fit(X, CLASSES).scores_).all()
    plain = fastfs.ReliefF().fit(X, CLASSES).scores_
    np.testing.assert_allclose(fastfs.ReliefF(given=np.ones((N, 1))).fit(X, CLASSES).scores_, plain, atol=1e-12)
    for nothing in ([], pd.DataFrame(index=range(N)), np.zeros(D, bool)):
        np.testing.assert_array_equal(fastfs.ReliefF(given=nothing).fit(X, CLASSES).scores_, plain)
        assert fastfs.permutation_test(fastfs.ReliefF(given=nothing), X, CLASSES, n_permutations=9).scores.all()
    with pytest.raises(ValueError, match="covariates"):
        fastfs.permutation_test(fastfs.ReliefF(given=determines[:, None]), X, CLASSES == "a", n_permutations=19)


@pytest.mark.parametrize(
    "given, extra, message",
    [
        (range(D), {}, "given must leave features to choose from; got all 12"),
        ([D], {}, "given must hold column numbers from 0 to 11; got 12"),
        (["g"], {}, "given holds 'g', which isn't a column name of X"),
        (TABLE[1:], {}, "given and X must have the same rows; got 49 in given and 50 in X"),
        (TABLE * np.nan, {}, "given must be finite"),
        ("g1", {}, r"got 'g1': give \['g1'\]"),
        (np.full((N, 1), "a"), {}, "given must hold numbers, but column 0"),
        (np.linspace(0, 3e-308, N)[:, None], {}, "also with the weight 12 in distances; got column"),
        ([0], {"distances": 1 - np.eye(N)}, "distances must be left out with given"),
    ],
)
def test_refused(given, extra, message):
    with pytest.raises(ValueError, match=message):
        fastfs.ReliefF(given=given).fit(X, CLASSES, **extra)


def test_a_way_out_is_said():
    with pytest.raises(TypeError, match="give values of samples as a 2-D table"):
        fastfs.ReliefF(given=[0.5] * N).fit(X, CLASSES)
    with pytest.raises(ValueError, match="append the columns to X and give their numbers"):
        fastfs.stability(fastfs.ReliefF(given=TABLE), X, CLASSES)


def test_refused_where_rows_are_drawn_or_read_in_blocks():
    with pytest.raises(ValueError, match="n_rows must be left out with sample_weight, distances or a table in `given`"):
        fastfs.MultiSURF(n_rows=30, given=TABLE).fit(X, CLASSES)
    assert fastfs.MultiSURF(n_rows=30, given=[2]).fit(X, CLASSES).scores_[2] == 0
    with pytest.raises(ValueError, match="given must be left out if X is a function"):
        fastfs.ReliefF(n_targets=20, given=[1]).fit(lambda: iter([X]), CLASSES)
    with pytest.raises(ValueError, match="same rows"):
        fastfs.ReliefF(given=TABLE[:9]).fit(X, CLASSES)
    with pytest.raises(ValueError, match="given must be finite"):
        fastfs.ReliefF(given=TABLE * 1e300).fit(X.astype(np.float32), CLASSES)


def test_n_targets_and_zero_weights():
    w = (np.arange(N) % 4 > 0).astype(float)
    found = fastfs.ReliefF(given=TABLE).fit(X, CLASSES, sample_weight=w).scores_
    kept = w > 0
    np.testing.assert_allclose(found, fastfs.relieff_scores(X[kept], CLASSES[kept], given=TABLE[kept]), atol=1e-12)
    drawn = fastfs.ReliefF(given=[1], n_targets=40).fit(X, CLASSES)
    assert drawn.scores_[1] == drawn.scores_se_[1] == 0
    assert np.abs(drawn.scores_).max() > 0
