"""Tables with categories and missing values, targets of several kinds, weights and distances, for the RELIEF family."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import covering, rotating, some, together
from fastfs import SURF, SWRF, MultiSURF, MuRelief, Relief, ReliefF, RReliefF
from sentences import assert_one_sentence

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 2
NUMBERS = RNG.normal(size=(N, 4))
NUMBERS[:, 1] += 1.5 * Y
CODES = np.column_stack([RNG.integers(0, 3, N), RNG.integers(0, 2, N)])
X = np.column_stack([NUMBERS, CODES])
MASK = np.arange(6) >= 4
TIMES = np.zeros(N, dtype=[("status", "?"), ("days", "f8")])
TIMES["status"], TIMES["days"] = RNG.random(N) < 0.6, RNG.exponential(size=N)
# Sums in another order: of N^2 terms of at most 1, with eps.
ROUNDING = 1e-12

# Small classes, and n_neighbors of 10.
pytestmark = [
    pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning"),
    pytest.mark.filterwarnings("ignore:one sample only:fastfs.DataWarning"),
]

TABLE_METHODS = [ReliefF, SURF, MultiSURF, SWRF, MuRelief]
EVERY = [*TABLE_METHODS, RReliefF]
FUNCTIONS = {
    ReliefF: fastfs.relieff_scores,
    SURF: fastfs.surf_scores,
    MultiSURF: fastfs.multisurf_scores,
    SWRF: fastfs.swrf_scores,
    MuRelief: fastfs.mu_relief_scores,
    RReliefF: fastfs.rrelieff_scores,
}
of_tables = pytest.mark.parametrize("method", TABLE_METHODS, ids=lambda method: method.__name__)


def of_class(method):
    return method.__name__


def target(method):
    return NUMBERS[:, 1] if method is RReliefF else Y


def changed(A, row, column, value):
    A = A.copy()
    A[row, column] = value
    return A


def gaps(seed=3, share=0.1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING)


# -------------------------------------------------------------------------------------------------------------- columns

WORDS = np.array(["red", "green", "blue"])
TABLE = pd.DataFrame(NUMBERS, columns=[*"abcd"]).assign(colour=WORDS[CODES[:, 0]], old=CODES[:, 1] == 1)
FRAMES = {
    "strings": TABLE,
    "objects": TABLE.astype({"colour": object, "old": object}),
    "pandas categories": TABLE.astype({"colour": pd.CategoricalDtype(["blue", "unused", "red", "green"])}),
    "pandas strings": TABLE.astype({"colour": "string", "old": "boolean"}),
    "polars": pl.DataFrame({name: TABLE[name].to_numpy() for name in TABLE}),
    "polars categories": pl.DataFrame({name: TABLE[name].to_numpy() for name in TABLE}).with_columns(
        pl.col("colour").cast(pl.Categorical)
    ),
}


@rotating(2, kind=FRAMES.keys(), method=EVERY)
def test_categories_in_tables(method, kind):
    """However they are spelled: codes in any order are the same categories."""
    expected = method(categorical_features=MASK).fit(X, target(method)).scores_
    for columns in ("from_dtype", ["colour", "old"], [4, 5], MASK, MASK.tolist()):
        fitted = method(categorical_features=columns).fit(FRAMES[kind], target(method))
        assert_same(fitted.scores_, expected)
    assert fitted.feature_names_in_.tolist() == list(TABLE)
    assert_same(FUNCTIONS[method](FRAMES[kind], target(method), categorical_features="from_dtype"), expected)


@rotating(
    2,
    method=EVERY,
    codes={
        "strings": lambda c: c.astype(str),
        "negative": lambda c: c - 1,
        "fractions": lambda c: 0.1 * c,
        "large": lambda c: 2.0**40 * c,
        "bytes": lambda c: np.array([b"x", b"y", b"z"])[c],
        "dates": lambda c: np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")[c],
    },
)
def test_categories_of_any_type(method, codes):
    expected = method(categorical_features=MASK).fit(X, target(method)).scores_
    objects = X.astype(object)
    for column in (4, 5):
        objects[:, column] = codes(CODES[:, column - 4])
    assert_same(method(categorical_features=MASK).fit(objects, target(method)).scores_, expected)


@pytest.mark.parametrize("method", some(2, 1, EVERY), ids=of_class)
def test_categories_differ_or_do_not(method):
    """Three levels at 0, 1, 2 are not what three categories are; two levels are."""
    y = target(method)
    two, three = method(categorical_features=[5]).fit(X, y), method(categorical_features=[4]).fit(X, y)
    plain = method().fit(X, y)
    assert_same(two.scores_, plain.scores_)
    assert np.abs(three.scores_ - plain.scores_).max() > 1e-3


@pytest.mark.parametrize("method", some(2, 2, EVERY), ids=of_class)
def test_a_number_has_the_dtype_of_numbers(method):
    """float32 numbers beside categories are computed with as float32, others aren't."""
    y = target(method)
    for dtype in (np.float32, np.float64):
        frame = TABLE.astype(dict.fromkeys("abcd", dtype))
        values = np.column_stack([NUMBERS, CODES]).astype(dtype)
        found = method(categorical_features="from_dtype").fit(frame, y).scores_
        np.testing.assert_array_equal(found, method(categorical_features=MASK).fit(values, y).scores_)


@pytest.mark.parametrize("method", some(2, 3, EVERY), ids=of_class)
def test_all_categories(method):
    """They are computed with as float64, unless they are float32."""
    words = pd.DataFrame({"colour": TABLE["colour"], "old": TABLE["old"].map({True: "yes", False: "no"})})
    found = method(categorical_features="from_dtype").fit(words, target(method)).scores_
    expected = method(categorical_features=[0, 1]).fit(CODES, target(method)).scores_
    np.testing.assert_array_equal(found, expected)
    of_float32 = method(categorical_features=[0, 1]).fit(CODES.astype(np.float32), target(method)).scores_
    np.testing.assert_allclose(of_float32, expected, rtol=0, atol=1e-6)
    for make in (pd.DataFrame, pl.DataFrame):
        for dtype, same in ((np.float64, expected), (np.int8, expected), (np.float32, of_float32)):
            other = method(categorical_features=[0, 1]).fit(make(CODES.astype(dtype)), target(method)).scores_
            np.testing.assert_array_equal(other, same)


@pytest.mark.parametrize("method", some(2, 4, EVERY), ids=of_class)
def test_unknown_categories_pass_through_transform(method):
    fitted = method(3, categorical_features="from_dtype").fit(TABLE, target(method))
    new = TABLE.assign(colour="never seen")
    assert fitted.transform(new).shape == (N, 3)
    kept = fitted.set_output(transform="pandas").transform(new)
    assert list(kept.columns) == list(fitted.get_feature_names_out())
    assert kept.equals(new[kept.columns])


@together
@rotating(2, method=EVERY, frame=[TABLE, FRAMES["polars"], FRAMES["pandas categories"], TABLE.to_numpy(dtype=object)])
def test_columns_that_are_not_declared(method, frame):
    with pytest.raises(ValueError, match=r"column 4 .* holds (strings|categories)") as raised:
        method(categorical_features=[5]).fit(frame, target(method))
    assert_one_sentence(raised, "declare it in categorical_features")


def test_mixed_categories_cannot_be_sorted():
    mixed = TABLE.assign(colour=[1, "red"] * (N // 2))
    with pytest.raises(ValueError, match=r"column 4 \('colour'\) of X must hold categories of one kind") as raised:
        ReliefF(categorical_features="from_dtype").fit(mixed, Y)
    assert_one_sentence(raised)


FEW = {
    "array": X,
    "float32": X.astype("f4"),
    "with gaps": changed(X, slice(0, 9), slice(3, 6), np.nan),
    "pandas": FRAMES["pandas categories"],
    "polars": FRAMES["polars"],
    "objects": TABLE.to_numpy(dtype=object),
    "list": X.tolist(),
    "CSR": sp.csr_matrix(X),
    "CSC": sp.csc_matrix(X),
}


@together
@pytest.mark.parametrize("kind", FEW)
def test_few_valued(kind):
    assert fastfs.few_valued(FEW[kind], 3).tolist() == MASK.tolist()
    assert fastfs.few_valued(FEW[kind], 2).tolist() == [False] * 5 + [True]
    assert fastfs.few_valued(FEW[kind], N).all()
    assert fastfs.few_valued(FEW[kind]).dtype == bool


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
def test_few_valued_adds_entries_at_one_place(kind):
    # 1 + 1, 2, 1 + 1 in one column: one value, of parts with two
    data, rows = [1.0, 1.0, 2.0, 1.0, 1.0], np.array([0, 0, 1, 2, 2])
    if kind.__name__.startswith("csr"):
        X = kind((data, np.zeros(5, np.int32), np.array([0, 2, 3, 5])), shape=(3, 1))
    else:
        X = kind((data, rows, np.array([0, 5])), shape=(3, 1))
    assert fastfs.few_valued(X, 1).tolist() == [True]
    assert X.nnz == 5


def test_few_valued_refuses():
    with pytest.raises(ValueError, match="at_most must be at least 1"):
        fastfs.few_valued(X, 0)
    with pytest.raises(ValueError, match="2-D"):
        fastfs.few_valued(X[0])


# ------------------------------------------------------------------------------------------------------- missing values


@rotating(1, method=EVERY, value=[np.nan, None, pd.NA])
def test_a_missing_value_is_named(method, value):
    bad = changed(X.astype(object) if value is not np.nan else X, 7, 2, value)
    frame = pd.DataFrame(bad)
    with pytest.raises(ValueError, match="row 7, column 2") as raised:
        method().fit(frame, target(method))
    assert_one_sentence(raised, "missing='ignore'")
    with pytest.raises(ValueError, match="row 7, column 4") as raised:
        method(categorical_features=MASK).fit(pd.DataFrame(changed(X.astype(object), 7, 4, value)), target(method))
    assert_one_sentence(raised, "missing='ignore'")
    assert np.isfinite(method(missing="ignore").fit(frame, target(method)).scores_).all()


@covering(method=EVERY, missing=["error", "ignore", "class"], column=[2, 4])
def test_infinity_is_an_error_always(method, missing, column):
    if method is RReliefF and missing == "class":
        pytest.skip("it has no classes")
    bad = changed(X, 3, column, np.inf)
    if missing != "error":
        bad = changed(bad, 2, 0, np.nan)
    with pytest.raises(ValueError, match="infinity") as raised:
        method(missing=missing, categorical_features=MASK).fit(bad, target(method))
    assert_one_sentence(raised, "row 3", f"column {column}")


@rotating(1, method=EVERY, missing=["ignore", "class"])
def test_a_complete_table_has_the_same_scores(method, missing):
    if method is RReliefF and missing == "class":
        pytest.skip("it has no classes")
    expected = method(categorical_features=MASK).fit(X, target(method)).scores_
    found = method(categorical_features=MASK, missing=missing).fit(X, target(method)).scores_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", some(2, 5, EVERY), ids=of_class)
def test_all_values_of_a_feature_missing(method):
    """It counts as constant."""
    y = target(method)
    for column in (2, 4):
        empty = changed(X, slice(None), column, np.nan)
        found = method(missing="ignore", categorical_features=MASK).fit(empty, y).scores_
        assert found[column] == 0
        others = np.delete(X, column, axis=1)
        expected = method(missing="ignore", categorical_features=np.delete(MASK, column)).fit(others, y).scores_
        assert_same(np.delete(found, column), expected)


@pytest.mark.parametrize("method", some(2, 6, EVERY), ids=of_class)
def test_all_values_of_a_sample_missing(method):
    with pytest.raises(ValueError, match="row 5") as raised:
        method(missing="ignore").fit(changed(X, 5, slice(None), np.nan), target(method))
    assert_one_sentence(raised)


@pytest.mark.parametrize("method", some(2, 7, EVERY), ids=of_class)
def test_samples_without_a_feature_in_common(method):
    """Pairs that can't be compared are counted."""
    halves = X.copy()
    halves[:2, :3] = np.nan
    halves[2:4, 3:] = np.nan
    with pytest.warns(fastfs.DataWarning, match=r"^\d+ pairs of samples have no feature that both know"):
        found = method(missing="ignore").fit(halves, target(method)).scores_
    assert np.isfinite(found).all()


@rotating(1, method=EVERY, kind=["pandas", "polars", "objects"])
def test_missing_categories(method, kind):
    rows = [3, 8, 21]
    frame = TABLE.assign(colour=TABLE["colour"].astype(object))
    frame.loc[rows, "colour"] = None
    if kind == "polars":
        frame = pl.DataFrame({name: frame[name].to_list() for name in frame})
    if kind == "objects":
        frame = frame.to_numpy(dtype=object)
    found = method(missing="ignore", categorical_features=[4, 5]).fit(frame, target(method)).scores_
    expected = method(missing="ignore", categorical_features=[4, 5]).fit(changed(X, rows, 4, np.nan), target(method))
    assert_same(found, expected.scores_)


# -------------------------------------------------------------------------------------------------------------- targets


@of_tables
def test_auto_tells_classes_from_numbers(method):
    classes = [Y, Y == 1, np.array(["a", "b"])[Y], pd.Series(pd.Categorical(Y + 100)), np.arange(N) % 20]
    for y in classes:
        fitted = method().fit(X, y)
        assert fitted.target_type_ == "class"
        np.testing.assert_array_equal(fitted.scores_, method(target_type="class").fit(X, y).scores_)
        assert len(fitted.classes_) == len(np.unique(np.asarray(y)))
    fitted = method().fit(X, NUMBERS[:, 1])
    assert fitted.target_type_ == "number"
    assert not hasattr(fitted, "classes_")
    np.testing.assert_array_equal(fitted.scores_, method(target_type="number").fit(X, NUMBERS[:, 1]).scores_)


@rotating(1, method=TABLE_METHODS, y=[np.arange(N) // 20 * 1.0, np.arange(N) // 2, (np.arange(N) // 2).astype(object)])
def test_auto_does_not_guess(method, y):
    with pytest.raises(ValueError, match="which can be classes or numbers") as raised:
        method().fit(X, y)
    assert_one_sentence(raised, "target_type='class'", "target_type='number'")
    assert method(target_type="class").fit(X, y).target_type_ == "class"
    assert method(target_type="number").fit(X, y).target_type_ == "number"


def test_rrelieff_takes_any_numbers():
    """It has no classes that they could be."""
    for y in (np.arange(N), np.arange(N) * 1.0, Y, Y.astype(np.int8)):
        assert RReliefF().fit(X, y).target_type_ == "number"
        np.testing.assert_array_equal(RReliefF().fit(X, y).scores_, fastfs.rrelieff_scores(X, y.astype(float)))


@pytest.mark.parametrize("method", some(2, 8, EVERY), ids=of_class)
def test_numbers_in_any_unit(method):
    y = NUMBERS[:, 1]
    expected = method().fit(X, y).scores_
    for other in (1e-3 * y, 100 + 2 * y, -y, 1e-200 * y):
        np.testing.assert_allclose(method().fit(X, other).scores_, expected, rtol=0, atol=1e-9)


BAD_NUMBERS = {
    "equal": (np.full(N, 2.0), ["2"]),
    "NaN": (changed(NUMBERS, 7, 1, np.nan)[:, 1], ["sample 7", "nan"]),
    "infinity": (changed(NUMBERS, 7, 1, np.inf)[:, 1], ["inf for sample 7"]),
    "classes": (np.array(["a", "b"])[Y], ["'a'", "sample 0"]),
    "columns": (NUMBERS[:, :2], ["1-D", "2-D"]),
    "short": (NUMBERS[:-1, 1], ["60", "59"]),
    "times": (TIMES, ["records", "survival"]),
}


@together
@rotating(1, name=BAD_NUMBERS.keys(), method=EVERY)
def test_bad_numbers(method, name):
    y, parts = BAD_NUMBERS[name]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        method(target_type="number").fit(X, y)
    assert_one_sentence(raised, *parts)


def test_classes_are_not_for_rrelieff():
    for y in (np.array(["a", "b"])[Y], Y == 1):
        with pytest.raises(ValueError, match="got classes: use ReliefF") as raised:
            RReliefF().fit(X, y)
        assert_one_sentence(raised)


def test_missing_class_and_priors_need_classes():
    with pytest.raises(ValueError, match="missing must not be 'class' unless y holds classes"):
        SURF(missing="class").fit(X, NUMBERS[:, 1])
    with pytest.raises(ValueError, match=r"missing must not be 'class' .* uses all samples") as raised:
        SURF(missing="class", n_targets=5).fit(X, Y)
    assert_one_sentence(raised, "choose 'ignore'")
    with pytest.raises(ValueError, match="priors must be left out if y holds numbers"):
        ReliefF(priors="uniform").fit(X, NUMBERS[:, 1])


def test_priors():
    y = np.repeat(["a", "b", "c"], [10, 20, 30])
    plain = ReliefF().fit(X, y).scores_
    shares = {"a": 10 / 60, "b": 20 / 60, "c": 30 / 60}
    assert_same(ReliefF(priors=shares).fit(X, y).scores_, plain)
    assert_same(ReliefF(priors={k: 7 * v for k, v in shares.items()}).fit(X, y).scores_, plain)
    # Of two classes a sample misses one only.
    assert_same(ReliefF(priors={0: 1e-300, 1: 1}).fit(X, Y).scores_, ReliefF().fit(X, Y).scores_)
    uniform = ReliefF(priors="uniform").fit(X, y).scores_
    assert_same(ReliefF(priors=dict.fromkeys("abc", 1.0)).fit(X, y).scores_, uniform)
    assert np.abs(uniform - plain).max() > 1e-3


def test_times():
    named = TIMES.astype([("event", "?"), ("time", "f8")])
    other = np.array([(time, event) for event, time in TIMES], dtype=[("time", "f4"), ("event", "i4")])
    other["time"] = TIMES["days"]
    expected = RReliefF().fit(X, TIMES)
    assert expected.target_type_ == "survival"
    np.testing.assert_array_equal(RReliefF(target_type="survival").fit(X, named).scores_, expected.scores_)
    np.testing.assert_allclose(RReliefF().fit(X, other).scores_, expected.scores_, rtol=0, atol=1e-6)
    assert np.abs(RReliefF().fit(X, TIMES["days"]).scores_ - expected.scores_).max() > 1e-3


def with_field(name, value):
    times = TIMES.copy()
    times[name] = value
    return times


BAD_TIMES = {
    "negative": (with_field("days", -1.0), []),
    "NaN": (with_field("days", np.where(np.arange(N) == 3, np.nan, 1.0)), ["sample 3"]),
    "no event": (with_field("status", False), ["event"]),
    "no records": (NUMBERS[:, 1], ["structured array"]),
    "three fields": (np.zeros(N, dtype="?, f8, f8"), ["f0, f1, f2"]),
    "two numbers": (np.zeros(N, dtype="f8, f8"), ["f0, f1"]),
    "events of 2": (np.full(N, 2, dtype=[("event", "i4"), ("time", "f8")]), ["event"]),
    "short": (TIMES[:-1], ["60", "(59,)"]),
}


@together
@pytest.mark.parametrize("name", BAD_TIMES)
def test_bad_times(name):
    y, parts = BAD_TIMES[name]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        RReliefF(target_type="survival").fit(X, y)
    assert_one_sentence(raised, *parts)


@of_tables
def test_times_are_for_rrelieff(method):
    with pytest.raises(ValueError, match="got events and times: use RReliefF") as raised:
        method().fit(X, TIMES)
    assert_one_sentence(raised)


# -------------------------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("method", [Relief, *EVERY], ids=lambda method: method.__name__)
def test_samples_of_weight_0_are_not_there(method):
    """Neither in the ranges nor among the classes."""
    outlier, y = changed(X, 11, 2, 100.0), target(method)
    weights = np.ones(N)
    weights[11] = weights[40] = 0
    kept = weights > 0
    found = method().fit(outlier, y, sample_weight=weights)
    np.testing.assert_allclose(found.scores_, method().fit(X[kept], y[kept]).scores_, rtol=0, atol=ROUNDING)
    if method is not RReliefF:
        y = np.where(np.arange(N) < 9, "rare", np.array(["a", "b"])[Y])
        found = method().fit(X, y, sample_weight=(y != "rare").astype(int))
        assert found.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("method", [Relief, *EVERY], ids=lambda method: method.__name__)
def test_only_the_ratio_of_weights_counts(method):
    if method in (ReliefF, MuRelief, RReliefF):
        pytest.skip("n_neighbors counts weights")
    y, weights = target(method), np.random.default_rng(1).uniform(0.5, 2, N)
    found = method().fit(X, y, sample_weight=weights).scores_
    assert_same(method().fit(X, y, sample_weight=3 * weights).scores_, found)
    assert_same(method().fit(X, y, sample_weight=pd.Series(weights)).scores_, found)
    assert np.abs(method().fit(X, y).scores_ - found).max() > 1e-4


@pytest.mark.parametrize("method", [Relief, *EVERY], ids=lambda method: method.__name__)
def test_equal_weights_change_nothing(method):
    y = target(method)
    assert_same(method().fit(X, y, sample_weight=np.ones(N)).scores_, method().fit(X, y).scores_)


@pytest.mark.parametrize("method", some(2, 9, EVERY), ids=of_class)
def test_errors_count_rows_of_the_whole_table(method):
    weights = (np.arange(N) >= 10).astype(float)
    with pytest.raises(ValueError, match="row 20, column 3"):
        method().fit(changed(X, 20, 3, np.nan), target(method), sample_weight=weights)
    assert np.isfinite(method().fit(changed(X, 2, 3, np.nan), target(method), sample_weight=weights).scores_).all()


BAD_WEIGHTS = {
    "negative": (np.where(np.arange(N) == 4, -1.0, 1.0), ValueError, ["that isn't left out", "got -1 for row 4:"]),
    "NaN": (np.where(np.arange(N) == 4, np.nan, 1.0), ValueError, ["nan", "row 4"]),
    "infinity": (np.where(np.arange(N) == 4, np.inf, 1.0), ValueError, ["inf", "row 4"]),
    "all 0": (np.zeros(N), ValueError, ["above zero for some samples; got zero for all"]),
    "one class": (1.0 - Y, ValueError, ["got one class"]),
    "short": (np.ones(N - 1), ValueError, ["60", "(59,)"]),
    "one": (2.0, ValueError, ["60", "()"]),
    "columns": (np.ones((N, 2)), ValueError, ["60", "(60, 2)"]),
    "words": (["much"] * N, TypeError, ["numbers"]),
    "complex": (np.ones(N, dtype=complex), TypeError, ["complex"]),
    "too small": (np.where(np.arange(N) == 4, 1e-300, 1.0), ValueError, ["1e-300", "row 4"]),
    "too large": (np.where(np.arange(N) == 4, 1e300, 1.0), ValueError, ["1e+300", "row 4"]),
    "after a row of weight 0": (np.where(np.arange(N) == 4, np.nan, np.arange(N) > 0), ValueError, ["nan", "row 4"]),
}


@together
@rotating(1, name=BAD_WEIGHTS.keys(), method=[Relief, *TABLE_METHODS])
def test_bad_weights(method, name):
    weights, error, parts = BAD_WEIGHTS[name]
    with pytest.raises(error) as raised:
        method().fit(X, Y, sample_weight=weights)
    assert_one_sentence(raised, *parts)


@pytest.mark.parametrize("method", [Relief, *EVERY], ids=lambda method: method.__name__)
def test_weights_are_routed_through_a_pipeline(method):
    y, weights = target(method), np.random.default_rng(1).uniform(0.5, 2, N)
    expected = method().fit(StandardScaler().fit_transform(X), y, sample_weight=weights).scores_
    with sklearn.config_context(enable_metadata_routing=True):
        selector = method().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), selector)
        pipeline.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].scores_, expected)


# ------------------------------------------------------------------------------------------------------------ distances


def manhattan(X):
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return np.abs(scaled[:, None] - scaled[None]).sum(axis=2)


@pytest.mark.parametrize("method", some(2, 10, EVERY), ids=of_class)
def test_distances_of_X_are_the_default(method):
    y = target(method)
    assert_same(method().fit(X, y, distances=manhattan(X)).scores_, method().fit(X, y).scores_)


@pytest.mark.parametrize("method", some(2, 11, EVERY), ids=of_class)
def test_other_distances(method):
    """They tell neighbours; scores are differences of X."""
    y, other = target(method), np.random.default_rng(5).normal(size=(N, 3))
    found = method().fit(X, y, distances=manhattan(other))
    assert np.abs(found.scores_ - method().fit(X, y).scores_).max() > 1e-3
    np.testing.assert_array_equal(found.scores_, FUNCTIONS[method](X, y, distances=manhattan(other)))
    weights = (np.arange(N) >= 10).astype(float)
    part = method().fit(X, y, sample_weight=weights, distances=manhattan(other))
    expected = method().fit(X[10:], y[10:], distances=manhattan(other)[10:, 10:])
    assert_same(part.scores_, expected.scores_)


BAD_DISTANCES = {
    "not symmetric": (changed(manhattan(X), 3, 4, 9.0), ["symmetric", "between row 4 and row 3"]),
    "NaN": (changed(manhattan(X), 4, 3, np.nan), ["between row 4 and row 3", "nan"]),
    "infinity": (changed(manhattan(X), 4, 3, np.inf), ["between row 4 and row 3", "inf"]),
    "negative": (-manhattan(X), ["from 0 to 1e+100"]),
    "too large": (1e200 * manhattan(X), ["from 0 to 1e+100"]),
    "not 0 to itself": (manhattan(X) + 1, ["0 on the diagonal"]),
    "of others": (manhattan(X[:-1]), ["(60, 60)", "(59, 59)"]),
    "no table": (manhattan(X)[0], ["2-D", "1-D"]),
    "sparse": (sp.csr_matrix(manhattan(X)), ["toarray"]),
}


@together
@rotating(1, name=BAD_DISTANCES.keys(), method=EVERY)
def test_bad_distances(method, name):
    distances, parts = BAD_DISTANCES[name]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        method().fit(X, target(method), distances=distances)
    assert_one_sentence(raised, "distances", *parts)


# --------------------------------------------------------------------------------------------------------------- sparse

# From full columns to nearly empty ones, of either sign and of both.
SPARSE = RNG.normal(size=(N, 30)) * (RNG.random((N, 30)) < np.linspace(1, 0.05, 30))
SPARSE[:, 20:] = np.abs(SPARSE[:, 20:])
SPARSE[:, 25:] *= -1
SPARSE[:, 2] += Y


@covering(method=EVERY, make=[sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array], scaling=["range", None])
def test_sparse_is_dense(method, make, scaling, monkeypatch):
    y = SPARSE[:, 2] if method is RReliefF else Y
    expected = method(scaling=scaling).fit(SPARSE, y).scores_
    monkeypatch.setattr(make, "toarray", lambda *_: pytest.fail("made dense"))
    found = method(scaling=scaling).fit(make(SPARSE), y).scores_
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(1, np.abs(expected).max()))


@together
@rotating(
    2,
    method=EVERY,
    options=[
        {"scaling": "standard"},
        {"missing": "ignore"},
        {"ramp": "sd"},
        {"ramp": (0.1, 0.5)},
        {"categorical_features": [1]},
    ],
)
def test_what_sparse_tables_cannot_have(method, options):
    with pytest.raises(ValueError, match="sparse") as raised:
        method(**options).fit(sp.csr_matrix(SPARSE), target(method))
    assert_one_sentence(raised, "dense")


# --------------------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("method", some(2, 12, EVERY), ids=of_class)
def test_tags(method):
    tags = method().__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.input_tags.categorical
    assert not tags.input_tags.allow_nan
    assert tags.target_tags.required
    ignoring = method(missing="ignore").__sklearn_tags__().input_tags
    assert ignoring.allow_nan
    assert not ignoring.sparse
    assert (tags.classifier_tags is None) == (method is RReliefF)
    assert (tags.regressor_tags is None) == (method is not RReliefF)
    numbers = method(target_type="number").__sklearn_tags__()
    assert numbers.classifier_tags is None
    assert numbers.regressor_tags is not None


@pytest.mark.parametrize("method", some(2, 13, EVERY), ids=of_class)
def test_draws_of_targets_say_how_sure_they_are(method):
    y = target(method)
    fitted = method(n_targets=20).fit(X, y)
    assert fitted.scores_se_.shape == (6,)
    assert (fitted.scores_se_ > 0).all()
    np.testing.assert_array_equal(fitted.scores_, clone(fitted).fit(X, y).scores_)
    assert not hasattr(method().fit(X, y), "scores_se_")
    draws = [method(n_targets=20, random_state=seed).fit(X, y).scores_ for seed in range(60)]
    # The mean of 60 draws is within 4.5 standard errors of the score of all targets.
    far = np.abs(np.mean(draws, axis=0) - method().fit(X, y).scores_) / (fitted.scores_se_ / np.sqrt(60))
    assert far.max() < 4.5


@rotating(1, method=EVERY, missing=["error", "ignore"])
def test_rounds_are_fits_of_some_columns(method, missing):
    """What TuRF and VLS ask for: distances change with the columns, and come out as if these were alone."""
    data = X if missing == "error" else gaps()
    y, weights = target(method), np.random.default_rng(1).uniform(0.5, 2, N)
    rounds = method(missing=missing, categorical_features=MASK)._make_rounds(data, y, sample_weight=weights)
    for columns in ([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 3, 5], [0, 1, 2, 4]):
        alone = method(missing=missing, categorical_features=MASK[columns])
        expected = alone.fit(data[:, columns], y, sample_weight=weights).scores_
        assert_same(rounds.score_columns(np.array(columns)), expected)


@pytest.mark.parametrize("y", [NUMBERS[:, 1], TIMES], ids=["numbers", "times"])
def test_permutations_of_numbers_and_times(y):
    """p-values are small for the feature that the target is made of, and scores are those of a fit."""
    y = y if y.dtype.names is None else with_field("days", np.exp(3 * NUMBERS[:, 1]))
    found = fastfs.permutation_test(RReliefF(), X, y, n_permutations=39)
    np.testing.assert_allclose(found.scores, RReliefF().fit(X, y).scores_, rtol=0, atol=ROUNDING)
    assert found.pvalues[1] == 1 / 40
    permuted = np.random.default_rng(0).permutation(y)
    assert fastfs.permutation_test(RReliefF(), X, permuted, n_permutations=39).pvalue > 1 / 40


@pytest.mark.parametrize("y", [NUMBERS[:, 1], TIMES, np.arange(N)], ids=["numbers", "times", "ranks"])
def test_stability_of_numbers_and_times(y):
    found = fastfs.stability(RReliefF(2), X, y, n_subsamples=6)
    assert [len(part) for part in found.selected] == [2] * 6
    assert found.relevance_correlation > 0


def test_few_hits_of_numbers_are_said():
    """One outlier has no sample within a standard deviation."""
    y = np.r_[np.linspace(0, 1, 39), 30.0]
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.warns(fastfs.DataWarning, match="more than the hits or the misses of some samples"):
        fastfs.ReliefF(n_neighbors=3).fit(X, y)


def test_few_neighbors_are_counted_by_weight():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    with pytest.warns(fastfs.DataWarning, match=r"n_neighbors = 10 .*: class 0 \(3\), class 1 \(3\)"):
        fastfs.ReliefF().fit(X, y, sample_weight=np.full(60, 0.1))
