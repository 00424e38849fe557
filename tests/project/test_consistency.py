"""What all estimators have in common: signatures, attributes, and the same sentence for the same mistake."""

import inspect
import pickle
import re

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse
from sklearn.base import clone

import fastfs
from covering import covering, rotating, some, together
from reference.kernels import SIGNATURE
from sentences import assert_one_sentence

ESTIMATORS = {
    "ManiFeSt": fastfs.ManiFeSt(),
    "ProjSe": fastfs.ProjSe(),
    "Relief": fastfs.Relief(),
    "ReliefF": fastfs.ReliefF(),
    "SURF": fastfs.SURF(),
    "MultiSURF": fastfs.MultiSURF(),
    "SWRF": fastfs.SWRF(),
    "MuRelief": fastfs.MuRelief(),
    "IM4E": fastfs.IM4E(),
    "Immigrate": fastfs.Immigrate(),
    "DiSC": fastfs.DiSC(n_components=2, n_neighbors=8, bandwidth_neighbors=3, n_differential=1),
    "IKDR": fastfs.IKDR(),
}
FUNCTIONS = {
    "manifest_scores": fastfs.manifest_scores,
    "projse": fastfs.projse,
    "projse_scores": fastfs.projse_scores,
    "relief_scores": fastfs.relief_scores,
    "relieff_scores": fastfs.relieff_scores,
    "surf_scores": fastfs.surf_scores,
    "multisurf_scores": fastfs.multisurf_scores,
    "swrf_scores": fastfs.swrf_scores,
    "mu_relief_scores": fastfs.mu_relief_scores,
    "im4e_scores": fastfs.im4e_scores,
    "immigrate_scores": fastfs.immigrate_scores,
    "ikdr": fastfs.ikdr,
    "differential_correlation": fastfs.differential_correlation,
}
CALLS = {name: estimator.fit for name, estimator in ESTIMATORS.items()} | FUNCTIONS
UNSUPERVISED = ("ProjSe", "projse", "projse_scores")
OF_NUMBERS = ("ReliefF", "SURF", "MultiSURF", "SWRF", "MuRelief")
OF_NUMBERS += ("relieff_scores", "surf_scores", "multisurf_scores", "swrf_scores", "mu_relief_scores")

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 15)
X = rng.normal(size=(30, 12))
X[:, 2] += 2 * y


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


# ----------------------------------------------------------------------------------------------------------- signatures


def test_signatures(estimator):
    first, *others = inspect.signature(type(estimator)).parameters.values()
    assert first.name == "n_features_to_select"
    assert first.default is None
    assert {p.kind for p in others} == {inspect.Parameter.KEYWORD_ONLY}
    names = [p.name for p in others]
    assert names[-3:] == ["n_jobs", "max_memory", "verbose"]
    if "random_state" in names:
        assert names[-4] == "random_state"


@together
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_of_functions(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert list(parameters)[:2] == ["X", "y"]
    assert list(parameters)[-3:] == ["n_threads", "max_memory", "progress"]


def test_shared_parameters_are_described_alike():
    for name in ("n_jobs", "max_memory", "verbose"):
        texts = {
            re.split(r"\n\n|\n\w+ : ", inspect.getdoc(estimator).split(f"\n{name} : ")[1])[0]
            for estimator in ESTIMATORS.values()
        }
        shortest = min(texts, key=len)
        assert all(text.startswith(shortest) for text in texts), name  # some have more to say


# ---------------------------------------------------------------------------------------------------------- attributes


def test_attributes(estimator):
    estimator.fit(X, y)
    assert estimator.scores_.shape == estimator.ranking_.shape == (12,)
    assert estimator.scores_.dtype == np.float64
    assert estimator.ranking_.dtype == np.int64
    assert sorted(estimator.ranking_) == list(range(1, 13))
    assert estimator.n_features_in_ == 12
    assert estimator.classes_.tolist() == [0, 1]
    assert estimator.get_support()[estimator.ranking_.argmin()]


def test_every_result_has_scores():
    for name, function in FUNCTIONS.items():
        found = function(X, y)
        assert getattr(found, "scores", found).shape == (12,), name


def test_pickles_and_clones(estimator):
    estimator.fit(X, y)
    twin = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(twin.scores_, estimator.scores_)
    assert np.array_equal(twin.transform(X), estimator.transform(X))
    assert not hasattr(clone(estimator), "scores_")
    assert repr(clone(estimator)) == repr(estimator)


@pytest.mark.parametrize("name", ["ManiFeSt", "ProjSe", "DiSC"])
def test_clones_share_a_c_function(name):
    """ctypes refuses to copy it."""
    kernel = SIGNATURE(lambda *_: None)
    assert clone(clone(ESTIMATORS[name]).set_params(kernel=kernel)).kernel is kernel


# ------------------------------------------------------------------------------------------------------------ mistakes


def replaced(array, value, *place):
    array = array.astype(np.result_type(array, type(value)) if isinstance(value, float) else object)
    array[place] = value
    return array


X_MISTAKES = {
    "NaN": (
        replaced(X, np.nan, 3, 4),
        ValueError,
        r"^X must be finite; got NaN or infinity first at row 3, column 4: impute",
    ),
    "infinity": (
        replaced(X, -np.inf, 3, 4),
        ValueError,
        r"^X must be finite; got NaN or infinity first at row 3, column 4: ",
    ),
    "NaN in float32": (replaced(X, np.nan, 3, 4).astype(np.float32), ValueError, "first at row 3, column 4: "),
    "masked": (np.ma.masked_greater(X, 1), ValueError, "^X has masked values: impute or drop them first"),
    "dates": (X.astype("m8[s]"), ValueError, "^X must hold numbers; got dates or durations"),
}
Y_MISTAKES = {
    "short": (y[:-1], "^y must have one label for each of the 30 samples of X; got 29"),
    "one class": (np.zeros(30, int), r"^y must have at least two classes; got one class: \[0\]"),
    "NaN": (replaced(y, np.nan, 3), r"^y has no label \(nan\) for sample 3"),
    "None": (replaced(y, None, 3), r"^y has no label \(None\) for sample 3"),
    "kinds": (np.array(["a", 1] * 15, dtype=object), "^y must hold labels of one kind"),
    "masked": (np.ma.masked_equal(y, 1), "^y has masked "),
    "sparse": (scipy.sparse.csr_matrix(y[:, None]), r"sparse.*give y\.toarray\(\)"),
}
NUMBERS_ARE_FINE = {
    "none": (None, "requires y to be passed, but the target y is None"),
    "continuous": (X[:, 0], "^Unknown label type: continuous"),
    "infinite": (replaced(y, np.inf, 3), "^Unknown label type: continuous.*inf"),
    "columns": (np.column_stack([y, y]), "^y must be a 1-D array of labels; got 2-D"),
    "ragged": ([[1], [2, 3]] * 15, "^y must be a 1-D array of labels; got entries of different lengths"),
}


@together
@rotating(2, mistake=X_MISTAKES.keys(), call=CALLS.keys())
def test_mistakes_in_X(call, mistake):
    bad, error, message = X_MISTAKES[mistake]
    with pytest.raises(error, match=message):
        CALLS[call](bad, y)


def test_sparse_X_is_taken(estimator):
    assert estimator.__sklearn_tags__().input_tags.sparse
    assert estimator.fit(scipy.sparse.csr_matrix(X), y).scores_.shape == (12,)


TABLE = pd.DataFrame(X, columns=[*"abcdefghijkl"])
POLARS = polars.DataFrame({name: TABLE[name].to_numpy() for name in TABLE})
WORDS = np.where(np.arange(30) == 7, "high", "2.5").astype(object)
NO_NUMBERS = {
    "words in a column": (TABLE.assign(c=WORDS), r"column 2 \('c'\) holds strings, such as 'high': convert it to numb"),
    "numbers as strings": (TABLE.astype({"c": str}), r"column 2 \('c'\) holds strings, such as '"),
    "pandas strings": (TABLE.astype({"c": "string"}), r"column 2 \('c'\) holds strings, such as '"),
    "categories": (TABLE.assign(c=pd.Categorical(WORDS)), r"column 2 \('c'\) holds categories, such as 'high'"),
    "empty strings": (TABLE.assign(c=""), r"column 2 \('c'\) holds strings, such as ''"),
    "dates": (TABLE.assign(c=pd.Timestamp("2026-01-01")), r"column 2 \('c'\) holds dates or durations \(datetime64"),
    "lists": (TABLE.assign(c=[[1, 2]] * 30), r"column 2 \('c'\) holds other values \(.*\): convert it to numbers"),
    "polars": (
        POLARS.with_columns(c=polars.Series(WORDS.astype(str))),
        r"column 2 \('c'\) holds strings, such as 'high'",
    ),
    "polars dates": (
        POLARS.with_columns(c=polars.lit("2026-01-01").str.to_date()),
        r"column 2 \('c'\) holds dates or durations \(Date",
    ),
    "polars categories": (
        POLARS.with_columns(c=polars.Series(WORDS.astype(str), dtype=polars.Categorical)),
        r"column 2 \('c'\) holds categories, such as 'high'",
    ),
    "objects": (replaced(X, "high", 7, 2), r"column 2 \(0-based\) holds strings, such as 'high': convert it"),
    "list": (replaced(X, "high", 7, 2).tolist(), r"column 2 \(0-based\) holds strings, such as 'high'"),
    "array of strings": (
        replaced(X, "high", 7, 2).astype(str),
        r"column 2 \(0-based\) holds strings, such as 'hi",
    ),
    "array of bytes": (X.astype("S"), r"column 0 \(0-based\) holds strings, such as"),
    "the same name": (
        TABLE.rename(columns={"d": "c"}),
        "^X must have unique column names; got c more than once: rename or",
    ),
    "complex": (X + 1j, "^Complex data not supported: X must be real; got complex numbers"),
    "complex CSR": (scipy.sparse.csr_matrix(X + 1j), "^Complex data not supported: X must be real; got complex"),
    "1-D": (X[:, 0], "^Reshape your data: X must be a 2-D array of samples x features; got 1-D"),
    "ragged": ([[1.0, 2.0], [3.0]] * 15, "^X must be a 2-D array of samples x features; got rows of different l"),
}


@together
@rotating(1, mistake=NO_NUMBERS.keys(), call=CALLS.keys())
def test_what_is_no_table_of_numbers(call, mistake):
    """One short sentence, which names the column and prints no array."""
    bad, message = NO_NUMBERS[mistake]
    with pytest.raises((ValueError, TypeError), match=message) as raised:
        CALLS[call](bad, y)
    assert_one_sentence(raised)
    assert len(str(raised.value)) < 200


@together
@covering(
    name=["ManiFeSt", "ProjSe", "SURF", "IKDR"],
    mistake=["the same name", "1-D", "ragged"],
    method=["transform", "inverse_transform"],
)
def test_no_table_to_transform(name, method, mistake):
    bad, message = NO_NUMBERS[mistake]
    with pytest.raises(ValueError, match=message) as raised:
        getattr(clone(ESTIMATORS[name]).fit(X, y), method)(bad)
    assert_one_sentence(raised)


def test_tables_of_numbers_that_need_a_conversion(estimator):
    expected = clone(estimator).fit(np.round(X), y).scores_
    for table in (
        pd.DataFrame(np.round(X)).astype(object),
        pd.DataFrame(np.round(X)).astype("Int64"),
        pd.DataFrame(np.round(X)).astype({0: "int8", 1: "Int16", 2: "Float64"}),
        np.round(X).astype(int).astype(object),
    ):
        np.testing.assert_array_equal(estimator.fit(table, y).scores_, expected)


@together
@rotating(2, mistake=Y_MISTAKES.keys(), call=CALLS.keys())
def test_mistakes_in_y(call, mistake):
    bad, message = Y_MISTAKES[mistake]
    with pytest.raises(ValueError, match=message):
        CALLS[call](X, bad)


@together
@pytest.mark.parametrize(
    "mistake, call",
    [
        (mistake, call)
        for number, mistake in enumerate(NUMBERS_ARE_FINE)
        for call in some(
            4, number, [c for c in CALLS if c not in UNSUPERVISED + OF_NUMBERS * (mistake == "continuous")]
        )
    ],
)
def test_what_is_no_label(call, mistake):
    bad, message = NUMBERS_ARE_FINE[mistake]
    with pytest.raises(ValueError, match=message):
        CALLS[call](X, bad)


PARAMETERS = {
    "n_features_to_select": [
        (0, ValueError, "between 1 and 12, the number of features"),
        ("all", TypeError, "must be an int, a"),
    ],
    "n_jobs": [(0, ValueError, "n_jobs must not be 0"), (1.5, TypeError, "n_jobs must be an integer; got 1.5")],
    "max_memory": [(0, ValueError, "max_memory must be at least 1"), ("much", ValueError, "such as '4G'; got 'much'")],
    "random_state": [(-1, ValueError, "random_state must be at least 0; got -1")],
    "scaling": [("log", ValueError, "scaling must be .* or None; got 'log'")],
    "tol": [(-1, ValueError, "tol must be a number of at least 0.* -1$"), ("x", TypeError, "tol must be a number")],
    "max_iter": [(0, ValueError, "max_iter must be at least 1.* 0$")],
    "n_neighbors": [(0, ValueError, "n_neighbors must be at least 1.* 0$")],
    "n_targets": [(0, ValueError, "n_targets must be at least 1; got 0")],
    "n_rows": [(0, ValueError, "n_rows must be at least 1; got 0")],
    "n_anchors": [(0, ValueError, "n_anchors must be at least 1; got 0")],
    "rank": [(0, ValueError, "rank must be at least 1; got 0")],
}


@together
@pytest.mark.parametrize(
    "name, method",
    [
        (name, method)
        for number, name in enumerate(PARAMETERS)
        for method in some(2, number, [m for m, e in ESTIMATORS.items() if name in e.get_params()])
    ],
)
def test_bad_parameters(method, name):
    estimator = clone(ESTIMATORS[method])
    for value, error, message in PARAMETERS[name]:
        with pytest.raises(error, match=message):
            estimator.set_params(**{name: value}).fit(X, y)
    assert not hasattr(estimator, "scores_")
