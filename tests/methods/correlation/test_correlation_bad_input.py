"""What differential correlation refuses or leaves out, and the words it has for it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import fastfs
from covering import rotating, together
from sentences import assert_one_sentence

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 6))
y = np.repeat(["a", "b"], 10)


def compare(X=X, y=y, **parameters):
    return fastfs.differential_correlation(X, y, **({"n_permutations": 19} | parameters))


@together
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"y": ["a"] * 20}, ValueError, "at least two classes; got one class"),
        (
            {"y": ["a", "b"] * 9 + ["c"] * 2},
            ValueError,
            "each class must have four samples or more; got 2 of class 'c'",
        ),
        ({"y": ["a"] * 17 + ["b"] * 3}, ValueError, "each class must have four samples or more; got 3 of class 'b'"),
        ({"y": y[:-1]}, ValueError, "one label for each of the 20 samples"),
        ({"X": X[:, :1]}, ValueError, "X must have two features or more"),
        ({"features": []}, ValueError, "features must name at least two columns, which make a pair; got 0"),
        ({"features": [3]}, ValueError, "at least two columns"),
        ({"features": [3, 6]}, ValueError, "column numbers from 0 to 5"),
        ({"features": ["u", "v"]}, ValueError, "isn't a column name"),
        ({"feature_names": "uvwxyz"}, TypeError, "feature_names must be a list of names; got the string 'uvwxyz'"),
        ({"y": np.full(20, 1 + 1j), "target_type": "number"}, ValueError, "got '(1+1j)' for sample 0"),
        ({"y": np.array(["a", 1.5] * 10, dtype=object)}, ValueError, "y must hold labels"),
        ({"feature_names": ["u", "v"]}, ValueError, "feature_names must have one name for each of the 6 columns of X"),
        ({"feature_names": list("uvwxyz"), "features": ["u", "q"]}, ValueError, "'q', which isn't a column name of X"),
        ({"correlation": "kendall"}, ValueError, "correlation must be 'pearson' or 'spearman'; got 'kendall'"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be at least 1"),
        ({"n_pairs": 1.5}, TypeError, "n_pairs must be an integer"),
        ({"n_permutations": -1}, ValueError, "n_permutations must be at least 0"),
        ({"n_permutations": 1.5}, TypeError, "n_permutations must be an integer"),
        ({"n_permutations": "many"}, ValueError, "n_permutations must be 'auto' or an integer; got 'many'"),
        ({"blocks": ["u"] * 19}, ValueError, "blocks must have one value for each of the 20 samples"),
        ({"blocks": y}, ValueError, "confounded"),
        ({"X": np.ones((20, 6))}, ValueError, "two features or more that vary in both classes; got 0 of 6"),
        ({"X": [["u"] * 6] * 20}, ValueError, "must hold numbers"),
        ({"X": X + 1j}, ValueError, "complex"),
        (
            {"X": np.outer(X[:, 0], [1, 2, 3]), "covariates": X[:, 0]},
            ValueError,
            "two features or more that vary in both classes",
        ),
    ],
)
def test_refused(change, error, words):
    with pytest.raises(error) as caught:
        compare(**change)
    assert_one_sentence(caught, words)


@rotating(1, value=[np.nan, np.inf], dtype=[np.float32, np.float64])
def test_not_finite(value, dtype):
    bad = X.astype(dtype)
    bad[7, 2] = value
    with pytest.raises(ValueError, match="X must be finite; got NaN or infinity first at row 7, column 2"):
        compare(bad)


def test_constants_within_a_class_are_left_out():
    table = X.copy()
    table[:10, 2] = 3.0
    table[10:, 4] = 0.0
    with pytest.warns(fastfs.DataWarning, match="2 features are constant in a class and left out.*: columns 2, 4"):
        found = compare(table)
    assert found.excluded_features.tolist() == [2, 4]
    assert found.scores[[2, 4]].tolist() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = compare(table[:, [0, 1, 3, 5]])
    np.testing.assert_array_equal(found.statistics, rest.statistics)
    np.testing.assert_array_equal(found.pvalues_max, rest.pvalues_max)
    assert found.pairs.tolist() == np.array([0, 1, 3, 5])[rest.pairs].tolist()


def test_copies_are_left_out_and_named():
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    table["v"] = 3 - 2 * table["u"]
    table["w"] = np.where(y == "a", table["u"], table["w"])  # in one class isn't enough
    table["x"] = np.where(y == "a", table["u"], -table["u"])
    expected = "1 pair of features is a copy, perfectly correlated alike in both classes, .*: columns 'u' and 'v'"
    with pytest.warns(fastfs.DataWarning, match=expected):
        found = compare(table)
    assert found.n_excluded_pairs == {"copies": 1}
    assert found.excluded_pairs.tolist() == [[0, 1]]
    assert len(found.pairs) == 15 - 1
    assert found.pairs[:2].tolist() == [[0, 3], [1, 3]]
    assert np.isfinite(found.statistics).all()
    np.testing.assert_allclose(np.abs(found.statistics[:2]), 2 * np.arctanh(1 - 1e-12) / np.sqrt(2 / 7), rtol=1e-6)
    with pytest.warns(fastfs.DataWarning):
        many = compare(np.repeat(X, 5, axis=1))
    assert many.n_excluded_pairs == {"copies": 6 * 10}
    assert many.excluded_pairs.tolist() == [[a, b] for a in range(5) for b in range(a + 1, 5)]


@pytest.mark.parametrize("design", ["blocks", "groups", "covariates"])
def test_a_design_needs_permutations(design):
    column = np.arange(20) % 5
    with pytest.raises(ValueError, match="n_permutations must be above 0") as caught:
        compare(n_permutations=0, **{design: column})
    assert_one_sentence(caught, f"n_permutations must be above 0 with {design}; got 0: give a number of")


def told_of(code, table, target, **parameters):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fastfs.differential_correlation(table, target, **({"n_permutations": 9} | parameters))
    return [str(warning.message) for warning in caught if warning.message.code == code]


def test_features_that_keep_their_line_in_covariates_are_told():
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("wxyz"))
    target, age = np.arange(60) % 2, rng.normal(size=60)
    assert told_of("keep_line", table, target, covariates=age) == []
    table["x"] = (table["x"] > 0).astype(float)
    (told,) = told_of("keep_line", table, target, covariates=age)
    assert told.startswith("1 feature has one value in a fourth of a class or more, so covariates can't be taken out: ")
    assert told.endswith("Leave column 'x' out, or give two classes as numbers")
    assert told_of("keep_line", table, target) == []
    assert told_of("keep_line", table, target.astype(float), covariates=age, target_type="number") == []


def heavy_tails_told(table, target, **parameters):
    return told_of("heavy_tails", table, target, **parameters)


@pytest.mark.parametrize("along", [False, True])
def test_heavy_tails_are_told(along):
    """Excess kurtosis by hand, within classes or of what a line of mean and log-variance leaves; no ranks, no ties."""
    rng = np.random.default_rng(2)
    labels = np.arange(90) % 3
    target = rng.normal(size=90) if along else labels
    table = pd.DataFrame(rng.normal(size=(90, 8)), columns=list("stuvwxyz"))
    assert heavy_tails_told(table, target) == []
    table[["t", "x"]] = np.exp(2 * table[["t", "x"]])
    if not along:
        parts = table.groupby(labels).transform(lambda part: (part - part.mean()) / part.std(ddof=0))
        assert np.flatnonzero((parts**4).mean() > 5).tolist() == [1, 5]
    (told,) = heavy_tails_told(table, target)
    where = "along the numbers" if along else "within the classes"
    assert told.startswith(f"2 of 8 features have heavy tails {where} (an excess kurtosis above 2), for which p-values")
    assert told.endswith("take Spearman's, or leave out columns 't', 'x'")
    for silent in ({"correlation": "spearman"}, {"n_permutations": 0}, {"features": list("stuv")}):
        assert heavy_tails_told(table, target, **silent) == []
    wide = np.column_stack([table, rng.normal(size=(90, 33))])
    assert heavy_tails_told(wide, target) == []  # of 41: one in twenty are three
    table["t"] = (table["t"] > 2).astype(float)  # an excess kurtosis that ranks have, too
    assert heavy_tails_told(table, target) == []


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_exclusive_or_of_two_columns_comes_first(correlation):
    """Correlations of +1 and -1, the largest difference there is."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (60, 100))
    labels = table[:, 3] ^ table[:, 8]
    found = compare(table, labels, correlation=correlation)
    assert found.pairs[0].tolist() == [3, 8]
    assert found.correlations[0].round(12).tolist() == [1, -1]
    assert np.isfinite(found.statistics).all()
    assert found.pvalue == 0.05


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_rare_values_have_no_pvalues_if_groups_move(correlation):
    """One value in more than three fourths of a class; to follow the advice gives p-values."""
    rng = np.random.default_rng(0)
    donors = np.repeat(np.arange(12), 4)
    labels = donors % 2
    table = pd.DataFrame(rng.normal(size=(48, 6)), columns=list("uvwxyz"))
    table["v"] = np.where(rng.random(48) < np.where(labels, 0.15, 0.4), 2.0, 0.0)
    table["w"] = np.where(rng.random(48) < 0.5, 2.0, 0.0)
    parameters = {"correlation": correlation, "groups": donors}
    expected = (
        "no valid p-values, .* 1 feature has one value in more than three fourths of a class, .*: leave column 'v' out,"
    )
    with pytest.warns(fastfs.DataWarning, match=expected):
        found = compare(table, labels, **parameters)
    assert (found.pvalue, found.pvalues_max, found.n_permutations, found.exact) == (None, None, 0, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = compare(table, labels, correlation=correlation, n_permutations=0)
        assert compare(table, labels, features=list("uwxyz"), **parameters).pvalue is not None
        assert compare(table.groupby(donors).mean(), np.arange(12) % 2, correlation=correlation).pvalue is not None
        assert compare(table, labels, correlation=correlation).pvalue is not None
    np.testing.assert_array_equal(found.statistics, plain.statistics)


@pytest.mark.parametrize("blocks", [None, np.repeat(np.arange(24), 2)])
def test_groups_of_one_sample_are_samples(blocks):
    """Specimens with one row each, as groups within donors: rare values have p-values."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(48, 6))
    table[:, 1] = np.where(rng.random(48) < 0.15, 2.0, 0.0)
    labels = np.tile([0, 1], 24)
    plain = compare(table, labels, blocks=blocks)
    assert plain.pvalue is not None
    found = compare(table, labels, groups=np.arange(48), blocks=blocks)
    np.testing.assert_array_equal(found.null_maxima, plain.null_maxima)
    np.testing.assert_array_equal(found.pvalues_max, plain.pvalues_max)


def test_nothing_but_copies():
    table = np.column_stack([X[:, 0], 2 * X[:, 0]])
    with pytest.warns(fastfs.DataWarning, match="1 pair of features is a copy, .* and is left out"):
        found = compare(table)
    assert found.pairs.shape == (0, 2)
    assert found.pvalue is None
    assert found.scores.tolist() == [0, 0]


def test_nearly_copies_keep_their_digits():
    """Cancellation: r is within 1e-8 of 1 in both classes."""
    noise = 1e-4 * rng.normal(size=20)
    table = np.column_stack([X[:, 0], X[:, 0] + noise * np.where(y == "a", 1, 2), X[:, 1]])
    found = compare(table + 1000.0)
    (k,) = np.flatnonzero((found.pairs == [0, 1]).all(axis=1))
    expected = []
    for label in ("a", "b"):  # 1 - r^2 from residuals, in extended precision
        u, v = np.asarray(table[y == label, :2].T, np.longdouble)
        u, v = u - u.mean(), v - v.mean()
        rest = v - u * (u @ v) / (u @ u)
        expected.append(0.5 * np.log((1 + np.sqrt(1 - (rest @ rest) / (v @ v))) ** 2 / ((rest @ rest) / (v @ v))))
    z = float(expected[0] - expected[1]) / np.sqrt(2 / 7)
    assert abs(found.statistics[k] - z) < 1e-4  # 1000 + x holds 13 digits of x, of which 1 - r takes 8


@pytest.mark.parametrize("dtype", [int, bool, np.uint8, np.float16, np.float32])
def test_other_numbers(dtype):
    table = (5 + 2 * X).round().astype(dtype) if dtype is not bool else X > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = compare(table), compare(np.asarray(table, float))
    np.testing.assert_array_equal(found.statistics, expected.statistics)
    np.testing.assert_array_equal(found.pvalues_max, expected.pvalues_max)


def test_names_of_a_table():
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    found = compare(table, features=["z", "v", "x"])
    assert sorted(map(tuple, found.pairs.tolist())) == [(1, 3), (1, 5), (3, 5)]
    assert found.classes.tolist() == ["a", "b"]
