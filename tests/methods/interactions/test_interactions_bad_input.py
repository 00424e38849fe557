"""What the scan of interactions refuses or leaves out, and the words it has for it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fastfs
from covering import rotating, together
from sentences import assert_one_sentence

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6))
y = rng.normal(size=30)
LABELS = np.repeat(["a", "b"], 15)


def scan(X=X, y=y, **parameters):
    return fastfs.interaction_scan(X, y, **({"n_permutations": 9} | parameters))


@together
@pytest.mark.parametrize(
    "change, error, words",
    [
        ({"y": ["a"] * 30}, ValueError, "at least two classes; got one class"),
        (
            {"y": np.ones(30), "target_type": "number", "n_permutations": 0},
            ValueError,
            "y must vary; got equal numbers",
        ),
        ({"y": y[:-1]}, ValueError, "each of the 30 samples"),
        ({"y": np.r_[y[:-1], np.nan]}, ValueError, "y has no number (nan) for sample 29"),
        ({"y": np.r_[y[:-1], np.inf]}, ValueError, "y must hold finite numbers; got inf for sample 29"),
        ({"y": np.arange(30)}, ValueError, "give target_type='class' or target_type='number'"),
        ({"y": y, "target_type": "class"}, ValueError, "y must hold classes; got values such as"),
        ({"y": None}, ValueError, "y is None"),
        ({"target_type": "ordinal"}, ValueError, "target_type must be"),
        ({"X": X[:, :1]}, ValueError, "X must have two features or more"),
        ({"X": X[:6], "y": y[:6]}, ValueError, "X must have at least 7 samples for this target"),
        ({"features": []}, ValueError, "features must name at least two columns"),
        ({"features": [3]}, ValueError, "at least two columns"),
        ({"features": [3, 6]}, ValueError, "column numbers from 0 to 5"),
        ({"features": ["u", "v"]}, ValueError, "isn't a column name"),
        ({"feature_names": "uvwxyz"}, TypeError, "feature_names must be a list of names; got the string 'uvwxyz'"),
        ({"y": np.full(30, 1 + 1j), "target_type": "number"}, ValueError, "got '(1+1j)' for sample 0"),
        ({"y": np.array(["a", 1.5] * 15, dtype=object)}, ValueError, "y must hold labels"),
        ({"feature_names": ["u", "v"]}, ValueError, "feature_names must have one name for each of the 6 columns of X"),
        ({"transform": "log"}, ValueError, "transform must be 'none' or 'rank'; got 'log'"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be at least 1"),
        ({"n_pairs": 1.5}, TypeError, "n_pairs must be an integer"),
        ({"n_permutations": -1}, ValueError, "n_permutations must be at least 0"),
        ({"n_permutations": "many"}, ValueError, "n_permutations must be 'auto' or an integer; got 'many'"),
        ({"blocks": ["u"] * 19}, ValueError, "blocks must have one value for each of the 30 samples"),
        ({"y": LABELS, "blocks": LABELS}, ValueError, "confounded"),
        ({"blocks": LABELS, "n_permutations": 0}, ValueError, "n_permutations must be above 0 with blocks"),
        ({"covariates": y}, ValueError, "covariates must not determine the numbers of y"),
        ({"covariates": y, "n_permutations": 0}, ValueError, "determine the"),
        ({"covariates": np.full(30, np.nan)}, ValueError, "covariates must not have missing values"),
        ({"covariates": rng.normal(size=(30, 26)), "n_permutations": 0}, ValueError, "X must have at least 33 samples"),
        ({"pairs": [0, 1]}, ValueError, "pairs must be a table of two columns, a pair in each row; got the shape (2,)"),
        ({"pairs": np.zeros((0, 2), int)}, ValueError, "pairs must be a table of two columns"),
        ({"pairs": [[0, 1], [2]]}, ValueError, "pairs must be a table of two columns"),
        ({"pairs": [[0, 6]]}, ValueError, "pairs must hold column numbers from 0 to 5; got 6"),
        ({"pairs": [[0, -1]]}, ValueError, "pairs must hold column numbers from 0 to 5; got -1"),
        ({"pairs": [[0, 1], [3, 3]]}, ValueError, "pairs must be of two columns; got column 3 with itself"),
        ({"pairs": [[0.0, 1.0]]}, TypeError, "pairs must hold column numbers or names; got 0.0"),
        ({"pairs": [["u", "v"]]}, ValueError, "pairs holds 'u', which isn't a column name of X"),
        ({"pairs": [[0, 2]], "with_table": X[:, :2]}, ValueError, "pairs must hold column numbers from 0 to 1; got 2"),
        ({"pairs": [[0, 1]], "features": [0, 1]}, ValueError, "features must be left out with pairs"),
        ({"with_table": X[:-1]}, ValueError, "X and with_table must have the same rows; got 30 and 29"),
        ({"with_table": np.ones((30, 2))}, ValueError, "that vary besides the covariates; got 6 of 6 and 0 of 2"),
        ({"with_table": X[:, 0]}, ValueError, "with_table must be a 2-D array"),
        (
            {"with_table": pd.DataFrame(X[:, :2], columns=["u", "u"])},
            ValueError,
            "with_table must have unique column names",
        ),
        ({"X": np.ones((30, 6))}, ValueError, "two features or more that vary besides the covariates; got 0 of 6"),
        ({"X": [["u"] * 6] * 30}, ValueError, "must hold numbers"),
        ({"X": X + 1j}, ValueError, "complex"),
        ({"max_memory": 1000, "n_permutations": 0}, MemoryError, "give fewer features or a smaller n_pairs"),
    ],
)
def test_refused(change, error, words):
    with pytest.raises(error) as caught:
        scan(**change)
    assert_one_sentence(caught, words)


@rotating(1, value=[np.nan, np.inf], form=[np.asarray, sp.csr_matrix])
def test_not_finite(value, form):
    bad = X.copy()
    bad[7, 2] = value
    words = "must be finite; got NaN or infinity first at row 7, column 2: impute or drop it$"
    with pytest.raises(ValueError, match=f"^X {words}"):
        scan(form(bad))
    with pytest.raises(ValueError, match=f"^with_table {words}"):
        scan(with_table=form(bad))


def test_constants_and_columns_that_covariates_determine_are_left_out():
    table = X.copy()
    table[:, 2] = 3.0
    table[:, 4] = 2 * table[:, 0] - table[:, 1] + 5
    expected = "2 features of X do not vary given the covariates and are left out: columns 2, 4"
    with pytest.warns(fastfs.DataWarning, match=expected):
        found = scan(table[:, [0, 1, 2, 3, 4, 5]], covariates=np.c_[X[:, 0], X[:, 1]], features=[2, 3, 4, 5])
    assert found.excluded_features.tolist() == [2, 4]
    assert found.pairs.tolist() == [[3, 5]]


def test_copies_are_left_out_and_named():
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    table["v"] = 3 - 2 * table["u"]
    with pytest.warns(
        fastfs.DataWarning, match=r"1 pair has no test .*1 of copies of each other.: columns 'u' and 'v'"
    ):
        found = scan(table)
    assert found.n_excluded_pairs == {"copies": 1, "product": 0, "target": 0}
    assert found.excluded_pairs.tolist() == [[0, 1]]
    assert found.n_tested == len(found.pairs) == 14
    assert np.isfinite(found.statistics).all()
    with pytest.warns(fastfs.DataWarning):
        many = scan(np.repeat(X, 5, axis=1))
    assert many.n_excluded_pairs["copies"] == 60
    assert many.excluded_pairs.tolist() == [[a, b] for a in range(5) for b in range(a + 1, 5)]


def test_two_valued_columns_with_an_empty_cell_have_no_test():
    """Their product is a linear function of both, whatever it is of the target."""
    bits = rng.integers(0, 2, size=(30, 3)).astype(float)
    bits[:, 1] = np.where(bits[:, 0] == 1, bits[:, 1], 0)  # never 1 where the first one is 0
    with pytest.warns(fastfs.DataWarning, match="1 without all combinations of their values"):
        found = scan(bits)
    assert found.n_excluded_pairs["product"] == 1
    assert found.excluded_pairs.tolist() == [[0, 1]]
    assert sorted(found.pairs.tolist()) == [[0, 2], [1, 2]]


@pytest.mark.parametrize("target", [X[:, 0], X[:, 0] - 3 * X[:, 1]])
def test_features_that_determine_the_target_have_no_interaction(target):
    with pytest.warns(fastfs.DataWarning, match="explained by the target, or explaining it"):
        found = scan(y=target)
    assert found.n_excluded_pairs["target"] >= 1
    assert np.isfinite(found.statistics).all()
    assert np.isfinite(found.null_maxima).all()


def test_a_product_that_is_the_target_has_a_finite_statistic():
    found = scan(y=X[:, 1] * X[:, 3])
    assert found.pairs[0].tolist() == [1, 3]
    assert np.isfinite(found.statistics).all()
    assert found.statistics[0] > 1e6
    bits = np.indices((2, 2)).reshape(2, 4).T.repeat(5, axis=0).astype(float)
    exclusive = scan(bits, bits[:, 0] != bits[:, 1])
    assert exclusive.statistics[0] > 1e6
    assert np.isfinite(exclusive.statistics[0])


@pytest.mark.parametrize("unit", [1e-300, 1e300, 1.7e308])
def test_numbers_at_the_ends_of_the_range(unit):
    found = scan(X / np.abs(X).max() * unit)
    np.testing.assert_allclose(found.statistics, scan().statistics, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2])
def test_a_class_of_few_samples(n):
    labels = np.r_[["rare"] * n, ["frequent"] * (30 - n)]
    found = scan(y=labels)
    assert np.isfinite(found.statistics).all()
    assert np.isfinite(found.null_maxima).all()
    assert 0 < found.pvalue <= 1


@pytest.mark.parametrize("times", [[(False, float(i)) for i in range(30)], [(True, 1.0)] * 30])
def test_times_that_say_nothing(times):
    with pytest.raises(ValueError, match="must hold an event, and a time that not all samples share") as caught:
        scan(y=np.array(times, dtype=[("event", bool), ("time", float)]))
    assert_one_sentence(caught)


def test_more_pairs_than_there_are():
    assert len(scan(n_pairs=10**9).pairs) == 15


def test_names_that_occur_twice():
    table = pd.DataFrame(X, columns=list("aabcde"))
    with pytest.raises(ValueError, match="unique column names"):
        scan(table)


def test_a_second_table_with_other_samples():
    names = [f"s{i}" for i in range(30)]
    table, other = pd.DataFrame(X, index=names), pd.DataFrame(X[:, :2] ** 3, index=names)
    for rows, words in (
        (names[::-1], r"^with_table names the rows of X in another order, .*: give with_table\.loc\[X\.index\]"),
        ([f"t{i}" for i in range(30)], r"^with_table and X name their rows differently \('t0' and 's0' come first\)"),
    ):
        with pytest.warns(fastfs.DataWarning, match=words):
            scan(table, with_table=other.set_axis(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scan(table, with_table=other)
        scan(table, with_table=other.reset_index(drop=True))


def test_names_that_both_tables_have():
    """A column and its copy in the second table have no test; names of both tables stay apart in a network."""
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    other = pd.DataFrame({"v": 1 - 3 * X[:, 1], "u": rng.normal(size=30)})
    with pytest.warns(fastfs.DataWarning, match="1 of copies of each other.: columns 'v' and 'v'"):
        found = scan(table, with_table=other)
    assert found.n_tested == len(found.pairs) == 11
    assert [1, 0] not in found.pairs.tolist()
    ends = {name for edge in found.to_network() for name in edge[:2]}
    assert ends == {"u (X, 0)", "u (with_table, 1)", "v (X, 1)", "v (with_table, 0)", *"wxyz"}
    assert {tuple(pair) for pair in found.names.tolist()} >= {("u", "u"), ("u", "v")}


@pytest.mark.parametrize("labels", [None, ["a", "b"], ["a", "b", "c", "d"]])
def test_few_degrees_are_refused(labels):
    """F of two degrees or fewer has no mean: chance makes it a million among some thousand pairs."""
    n = 5 + (1 if labels is None else len(labels) - 1)
    target = y if labels is None else np.resize(labels, 30)
    with pytest.raises(
        ValueError, match=f"X must have at least {n + 1} samples for this target and these cov"
    ) as caught:
        scan(X[:n], target[:n], n_permutations=0)
    assert_one_sentence(caught)
    found = scan(X[: n + 1], target[: n + 1], n_permutations=0)
    assert found.degrees[1] == 3
    assert np.isfinite(found.statistics).all()
