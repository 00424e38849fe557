"""What is wrong is named in one sentence, what is odd is warned of, and the next call works."""

import re
import signal
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import fastfs
from covering import covering, rotating, together
from fastfs import ManiFeSt
from sentences import assert_one_sentence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 6))
Y = np.repeat([0, 1], 10)


def assert_works():
    scores = fastfs.manifest_scores(X, Y)
    assert np.all(np.isfinite(scores))
    assert scores.max() > 0


def replaced(row, column, value):
    changed = X.copy()
    changed[row, column] = value
    return changed


def fit(X, y, **options):
    return ManiFeSt(**options).fit(X, y).scores_


BOTH = {"function": fastfs.manifest_scores, "estimator": fit}
both = pytest.mark.parametrize("call", BOTH.values(), ids=BOTH.keys())

# -------------------------------------------------------------------------------------------------------------------- X

BAD_X = {
    "NaN": (replaced(3, 2, np.nan), ValueError, "row 3, column 2"),
    "infinity": (replaced(19, 5, np.inf), ValueError, "row 19, column 5"),
    "minus infinity": (replaced(0, 0, -np.inf), ValueError, "row 0, column 0"),
    "NaN in float32": (replaced(3, 2, np.nan).astype(np.float32), ValueError, "row 3, column 2"),
    "NaN in CSR": (sp.csr_matrix(replaced(3, 2, np.nan)), ValueError, "row 3, column 2"),
    "NaN in CSC": (sp.csc_matrix(replaced(3, 2, np.nan)), ValueError, "row 3, column 2"),
    "None in objects": (replaced(3, 2, np.nan).astype(object), ValueError, "row 3, column 2"),
    "missing in a frame": (pd.DataFrame(replaced(3, 2, np.nan)), ValueError, "row 3, column 2"),
    "complex": (X + 1j, ValueError, "omplex"),
    "complex CSR": (sp.csr_matrix(X + 1j), ValueError, "omplex"),
    "strings": (X.astype(str).astype(object) + "!", ValueError, "!"),
    "3-D": (X[None], ValueError, "3"),
    "1-D": (X[:, 0], ValueError, "1"),
    "scalar": (1.0, ValueError, ""),
    "None": (None, ValueError, ""),
    "dict": ({"a": 1}, (ValueError, TypeError), ""),
    "an integer beyond float64": (replaced(3, 2, 0).astype(int).astype(object) + 10**400, ValueError, "float"),
    "no features": (X[:, :0], ValueError, "0"),
    "no samples": (X[:0], ValueError, "0"),
    "one feature": (X[:, :1], ValueError, "1"),
    "dates": (X.astype("datetime64[s]"), ValueError, "date"),
    "durations": (X.astype("timedelta64[s]"), ValueError, "time"),
}
if sp.coo_array(X[:, 0]).ndim == 1:  # SciPy 1.11 makes a row of it
    BAD_X["1-D sparse"] = (sp.coo_array(X[:, 0]), ValueError, "1")


@together
@rotating(1, name=BAD_X.keys(), call=BOTH)
def test_bad_X(call, name):
    bad, error, part = BAD_X[name]
    with pytest.raises(error) as raised:
        call(bad, Y)
    if call is fastfs.manifest_scores:  # scikit-learn has its own words for the others
        assert_one_sentence(raised, part)
    else:
        assert part in str(raised.value)
    assert_works()


@together
@pytest.mark.parametrize("name", [name for name in BAD_X if name not in ("one feature",)])
def test_bad_X_of_affinity(name):
    bad, error, part = BAD_X[name]
    with pytest.raises(error) as raised:
        fastfs.affinity(bad, sigma=1.0)
    assert_one_sentence(raised, part)
    gram = fastfs.GramAccumulator(6)
    with pytest.raises(error):
        gram.update(bad)
    assert gram.n_rows == 0


@both
def test_values_that_overflow_when_centred(call):
    """Their sums are infinite, but neither they are nor the scale."""
    largest = np.finfo(float).max / 4
    data = np.where(RNG.random((20, 30)) < 0.5, -largest, largest)
    with np.errstate(over="ignore"):
        assert np.isinf(data.sum(axis=1)).any()
    np.testing.assert_allclose(call(data, Y), call(data / largest, Y), rtol=1e-9)


# -------------------------------------------------------------------------------------------------------------------- y


def without_label_7(missing, labels="ab"):
    return [missing if i == 7 else labels[c] for i, c in enumerate(Y)]


DAYS = ["2001-01-01", "2002-01-01"]
MISSING_LABELS = {
    "NaN": np.array(without_label_7(np.nan, [0, 1])),
    "NaN among strings": np.array(without_label_7(np.nan), dtype=object),
    "None": np.array(without_label_7(None), dtype=object),
    "pandas strings": pd.Series(without_label_7(None), dtype="string"),
    "pandas Int64": pd.Series(without_label_7(None, [0, 1]), dtype="Int64"),
    "pandas categories": pd.Series(without_label_7(None), dtype="category"),
    "pandas dates": pd.Series(pd.to_datetime(without_label_7("NaT", DAYS))),
    "polars": pl.Series(without_label_7(None)),
}
BAD_Y = {
    "one class": (np.zeros(20), "class"),
    "too short": (Y[:-1], "19"),
    "too long": (np.r_[Y, 1], "21"),
    "empty": ([], "0"),
    "2-D": (np.c_[Y, Y], "2"),
    "scalar": (1, "y"),
    "of several kinds": (np.array([["a", 1][c] for c in Y], dtype=object), "kind"),
    **{f"missing in {name}": (labels, "sample 7") for name, labels in MISSING_LABELS.items()},
}


@together
@rotating(1, name=BAD_Y.keys(), call=BOTH)
def test_bad_y(call, name):
    bad, part = BAD_Y[name]
    with pytest.raises(ValueError, match=re.escape(part)) as raised:
        call(X, bad)
    assert_one_sentence(raised)
    assert_works()


def test_no_y():
    for call in (fastfs.manifest_scores, fit):
        with pytest.raises(ValueError, match="y"):
            call(X, None)


@both
def test_more_classes_than_two_are_named_where_they_are_not_wanted(call):
    with pytest.raises(ValueError, match=r"got 4 \(a, b, c and 1 more\).*keep the samples of two classes"):
        call(X, [*"abcd"] * 5, multiclass="raise")


# ----------------------------------------------------------------------------------------------------------- parameters

BAD_PARAMETERS = [
    ({"sigma": "mean"}, ValueError, ["sigma", "'median'", "'mean'"]),
    ({"sigma": 1.0}, ValueError, ["sigma", "2 numbers", "1.0"]),
    ({"sigma": None}, ValueError, ["sigma", "2 numbers", "None"]),
    ({"sigma": (1, 2, 3)}, ValueError, ["sigma", "2 numbers", "(1, 2, 3)"]),
    ({"sigma": (1.0, 0.0)}, ValueError, ["sigma", "positive"]),
    ({"sigma": (-1.0, 1.0)}, ValueError, ["sigma", "positive", "-1"]),
    ({"sigma": (1.0, np.nan)}, ValueError, ["sigma", "positive", "nan"]),
    ({"sigma": (1.0, np.inf)}, ValueError, ["sigma", "positive", "inf"]),
    *(({"sigma_factor": f}, ValueError, ["sigma_factor", "positive", f"{f:g}"]) for f in (0.0, np.nan, np.inf)),
    *(
        ({"sigma": "percentile", "sigma_percentile": p}, ValueError, ["sigma_percentile", "between 0 and 100"])
        for p in (0, 100, np.nan)
    ),
    ({"sigma_factor": "wide"}, (ValueError, TypeError), ["sigma_factor", "'wide'"]),
    ({"sigma_factor": None}, (ValueError, TypeError), ["sigma_factor", "None"]),
    ({"sigma": "percentile", "sigma_percentile": "half"}, (ValueError, TypeError), ["sigma_percentile", "'half'"]),
    ({"normalize": -1}, ValueError, ["normalize", "-1"]),
    ({"normalize": 1.5}, (ValueError, TypeError), ["normalize"]),
    ({"normalize": 2**40}, (ValueError, TypeError, OverflowError), ["normalize"]),
    *(
        ({"accuracy": a}, ValueError, ["accuracy", "'auto'", "'exact'", "'low_rank'", "'low_rank_high'", repr(a)])
        for a in ("FAST", "", None, 2)
    ),
    *(({"form": f}, ValueError, ["form", "'pencil'", "'spd'", "'spsd'", repr(f)]) for f in ("SPD", None, ["spd"])),
    *(({"multiclass": m}, ValueError, ["multiclass", "'ovr'", "'ovo'", "'raise'", repr(m)]) for m in ("all", None)),
    *(({"kernel": k}, ValueError, ["kernel", "'rbf'", repr(k)]) for k in ("cosine", "RBF")),
    *(({"kernel": k}, (ValueError, TypeError), ["kernel", repr(k)]) for k in (None, 2.5)),
    *(({"rank": r}, ValueError, ["rank", str(r)]) for r in (0, -(2**31))),
    *(({"rank": r}, (ValueError, TypeError), ["rank"]) for r in (1.5, "many", 2**70)),
    *(({"random_state": r}, ValueError, ["random_state", str(r)]) for r in (-1, 2**70)),
    *(({"random_state": r}, (ValueError, TypeError), ["random_state"]) for r in (1.5, "seed", [1])),
    *(
        ({"accuracy": a, "form": f, "rank": 1}, ValueError, ["pencil", "low_rank", "low_rank_high"])
        for a, f in (("low_rank", "spd"), ("low_rank_high", "spsd"))
    ),
    ({"max_memory": 0}, ValueError, ["max_memory", "0"]),
    ({"max_memory": -5}, ValueError, ["max_memory", "-5"]),
    ({"max_memory": "plenty"}, ValueError, ["max_memory", "'4G'", "'plenty'"]),
    ({"max_memory": 1.5}, (ValueError, TypeError), ["max_memory"]),
    ({"max_memory": 2**80}, (ValueError, TypeError, OverflowError), ["max_memory"]),
]


def name_of(options):
    return ", ".join(f"{k}={v}" for k, v in options.items())


@together
@rotating(1, case=BAD_PARAMETERS, call=BOTH)
def test_bad_parameters(call, case):
    options, error, parts = case
    with pytest.raises(error) as raised:
        call(X, Y, **options)
    assert_one_sentence(raised, *parts)
    assert_works()


BAD_IN_ESTIMATOR = [
    ({"n_components": -1}, ValueError, ["n_components", "6 features", "-1"]),
    ({"n_components": 7}, ValueError, ["n_components", "6 features", "7"]),
    ({"n_components": 1.5}, (ValueError, TypeError), ["n_components"]),
    ({"n_components": 3, "accuracy": "low_rank", "rank": 1}, ValueError, ["n_components", "rank", "3"]),
    ({"n_jobs": 0}, ValueError, ["n_jobs", "0"]),
    ({"n_jobs": 1.5}, (ValueError, TypeError), ["n_jobs"]),
    ({"n_features_to_select": 7}, ValueError, ["n_features_to_select", "between 1 and 6", "7"]),
]


@together
@pytest.mark.parametrize("options, error, parts", BAD_IN_ESTIMATOR, ids=[name_of(case[0]) for case in BAD_IN_ESTIMATOR])
def test_bad_parameters_of_the_estimator(options, error, parts):
    with pytest.raises(error) as raised:
        fit(X, Y, **options)
    assert_one_sentence(raised, *parts)


@pytest.mark.parametrize("n_threads", [-1, 1025, 1.5, "2", None, 2**40])
def test_bad_n_threads(n_threads):
    for call in (
        lambda: fastfs.manifest_scores(X, Y, n_threads=n_threads),
        lambda: fastfs.affinity(X, sigma=1.0, n_threads=n_threads),
        lambda: fastfs.GramAccumulator(6, n_threads=n_threads).update(X),
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)) as raised:
            call()
        assert_one_sentence(raised, "n_threads")


@pytest.mark.parametrize("kernel", ["cosine", None, 3])
def test_bad_kernel(kernel):
    with pytest.raises((ValueError, TypeError)) as raised:
        fastfs.affinity(X, kernel=kernel)
    assert_one_sentence(raised, "kernel", str(kernel))


def test_bad_progress():
    with pytest.raises(TypeError) as raised:
        fastfs.affinity(X, sigma=1.0, progress=5)
    assert_one_sentence(raised, "progress")


# --------------------------------------------------------------------------------------------------------------- memory


def test_too_little_memory():
    with pytest.raises(MemoryError) as raised:
        fastfs.manifest_scores(X, Y, max_memory=1000)
    assert_one_sentence(raised, "is 1000 bytes", "max_memory", "FASTFS_MAX_MEMORY")
    needed = int(re.search(r"would need .*?(\d+) bytes", str(raised.value))[1])
    assert needed >= 32 * 6**2
    fastfs.manifest_scores(X, Y, max_memory=needed)


def test_too_little_memory_for_exact_advises_domains():
    wide = RNG.normal(size=(10, 1000))
    with pytest.raises(MemoryError) as raised:
        fastfs.manifest_scores(wide, np.arange(10) % 2, accuracy="exact", max_memory="10M")
    assert_one_sentence(raised, "would need", "(10485760 bytes)", 'accuracy="domains"', "max_memory")


@pytest.mark.filterwarnings("ignore:.*(trace|otherwise):fastfs.DataWarning")
@pytest.mark.parametrize("accuracy", ["low_rank", "low_rank_high", "auto"])
def test_too_little_memory_for_the_wide_form(accuracy):
    wide, y = RNG.normal(size=(10, 6000)), np.arange(10) % 2
    with pytest.raises(MemoryError) as raised:
        fastfs.manifest_scores(wide, y, accuracy=accuracy, rank=20, max_memory=1000)
    assert_one_sentence(raised, "is 1000 bytes", "max_memory", "rank")
    needed = int(re.search(r"would need .*?(\d+) bytes", str(raised.value))[1])
    assert 8 * 6000 * 20 < needed < 16 * 6000**2 / 3  # far from two d x d
    if accuracy != "low_rank_high":
        assert np.all(np.isfinite(fastfs.manifest_scores(wide, y, accuracy=accuracy, rank=20, max_memory=needed)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_an_array_without_values_is_called_empty(shape):
    with pytest.raises(ValueError, match=rf"at least one sample and one feature; got {shape[0]} x {shape[1]}"):
        fastfs.affinity(np.empty(shape), sigma=1.0)


def test_more_memory_than_any_machine_has():
    wide = np.broadcast_to(1.0, (2, 3_000_000))
    with pytest.raises(MemoryError, match=r"would need 28\d{4}\.\d\d GB"):  # 32 d^2 bytes
        fastfs.manifest_scores(wide, [0, 1], accuracy="exact")
    assert_works()


@pytest.mark.parametrize(
    "text, n_bytes", [("1K", 1024), ("2.5k", 2560), ("3 MB", 3 << 20), (" 1GiB ", 1 << 30), (77, 77)]
)
def test_sizes_of_memory(text, n_bytes):
    wide = np.ones((2, 30_000))
    with pytest.raises(MemoryError, match=rf"{n_bytes} bytes\)?: "):
        fastfs.manifest_scores(wide, [0, 1], accuracy="exact", max_memory=text)


# ----------------------------------------------------------------------------------------------------------- row chunks


def chunks_of(*parts):
    return iter(parts)


BAD_CHUNKS = {
    "changing width": (lambda: chunks_of(X[:10], X[10:, :5]), ["6", "5", "row 10"]),
    "changing width in the last one": (lambda: chunks_of(X[:10], X[10:19], X[19:, :1]), ["6", "1", "row 19"]),
    "changing width, sparse": (lambda: chunks_of(*(sp.csr_matrix(part) for part in (X[:9], X[9:, :4]))), ["6", "4"]),
    "none": (lambda: chunks_of(), ["must yield rows"]),
    "no rows": (lambda: chunks_of(X[:0], X[:0]), ["must yield rows"]),
    "1-D": (lambda: chunks_of(X[:10], X[10]), ["2-D", "1"]),
    "not arrays": (lambda: chunks_of(X[:10], None), []),
    "strings": (lambda: chunks_of(X[:10], X[10:].astype(str).astype(object) + "!"), ["!"]),
    "complex": (lambda: chunks_of(X[:10], X[10:] + 1j), ["omplex"]),
    "dense and sparse": (lambda: chunks_of(X[:10], sp.csr_matrix(X[10:])), ["dense", "sparse"]),
    "too few rows": (lambda: chunks_of(X[:10], X[10:15]), ["15", "20"]),
    "too many rows": (lambda: chunks_of(X, X[:3]), ["23", "20"]),
    "one feature": (lambda: chunks_of(X[:10, :1], X[10:, :1]), ["1"]),
    **{
        f"{value} in {what}": (
            lambda form=form, value=value: chunks_of(
                *(form(part) for part in np.split(replaced(13, 2, value), [7, 12]))
            ),
            ["row 13, column 2"],
        )
        for value, what, form in (
            (np.nan, "dense", np.asarray),
            (np.inf, "float32", np.float32),
            (np.nan, "CSR", sp.csr_matrix),
            (np.inf, "CSC", sp.csc_matrix),
            (np.nan, "frames", pd.DataFrame),
        )
    },
}


@together
@rotating(1, name=BAD_CHUNKS.keys(), call=BOTH)
def test_bad_chunks(call, name):
    make, parts = BAD_CHUNKS[name]
    with pytest.raises((ValueError, TypeError)) as raised:
        call(make(), Y)
    assert_one_sentence(raised, *parts)
    assert_works()


@both
def test_chunks_that_were_used_up(call):
    parts = iter([X[:10], X[10:]])
    call(parts, Y)
    with pytest.raises(ValueError, match="used up"):
        call(parts, Y)


@rotating(1, error=[OSError("disk gone"), ZeroDivisionError("mine"), KeyboardInterrupt()], call=BOTH)
def test_an_exception_of_the_iterator_comes_through(call, error):
    def parts():
        yield X[:10]
        raise error

    with pytest.raises(type(error)) as raised:
        call(parts(), Y)
    assert raised.value is error
    assert_works()


@both
def test_chunks_of_several_kinds(call, tmp_path):
    """Of float32 and float64, of any order and strides, of pandas reading a file: rows are rows."""
    expected = call(X.astype(np.float32).astype(float), Y)
    single = X.astype(np.float32)
    wide = np.zeros((7, 12))
    wide[:, ::2] = single[13:]
    kinds = [single[:5], np.asfortranarray(single[5:13].astype(float)), wide[:, ::2]]
    np.testing.assert_allclose(call(iter(kinds), Y), expected, rtol=1e-9)
    pd.DataFrame(single.astype(float)).to_csv(tmp_path / "X.csv", index=False, float_format="%.17g")
    with pd.read_csv(tmp_path / "X.csv", chunksize=6) as reader:
        np.testing.assert_allclose(call(reader, Y), expected, rtol=1e-9)
    empty = [X[:0], *np.split(X, [3]), X[:0]]
    np.testing.assert_allclose(call(iter(empty), Y), call(X, Y), rtol=1e-9)


def test_memory_of_copied_chunks():
    """Each chunk that has to be converted is given back once it has been summed."""
    rng = np.random.default_rng(0)
    parts = [rng.integers(9, size=(1000, 50)) for _ in range(20)]  # 8 MB as float64, 0.4 MB at a time
    y = np.arange(20_000) % 2
    found = fastfs.manifest_scores(iter(parts), y, max_memory="4M")
    np.testing.assert_allclose(found, fastfs.manifest_scores(np.vstack(parts), y), rtol=1e-9)


# --------------------------------------------------------------------------------------------- odd data: named warnings


def warned(*words):
    return pytest.warns(fastfs.DataWarning, match=".*".join(words))


@both
def test_one_sample_in_a_class(call):
    y = np.array(["many"] * 19 + ["single"])
    with warned("one sample only in class single"):
        scores = call(X, y)
    assert np.all(np.isfinite(scores))
    assert scores.max() > 0


@pytest.mark.filterwarnings("ignore:.*one sample")
@both
def test_one_sample_in_both_classes(call):
    scores = call(X[:2], [0, 1])
    assert np.all(np.isfinite(scores))
    assert scores.max() > 0


@both
def test_most_distances_zero(call):
    data = X.copy()
    data[Y == 1, 1:] = data[Y == 1, 1:2]  # 10 of 15 distances of class 1
    with warned("features are equal in class b", "positive distances"):
        scores = call(data, np.array(["a", "b"])[Y])
    assert np.all(np.isfinite(scores))
    assert scores.max() > 0


@rotating(1, call=BOTH, rule=[{}, {"sigma": "percentile", "sigma_percentile": 5.0}])
def test_no_distances_at_all(call, rule):
    data = X.copy()
    data[Y == 1] = 3.0
    with pytest.raises(ValueError, match="class sick") as raised:
        call(data, np.array(["healthy", "sick"])[Y], **rule)
    assert_one_sentence(raised, "distances")


@both
def test_constant_data_with_given_sigma(call):
    with warned("zero up to rounding"):
        np.testing.assert_array_equal(call(np.ones((4, 5)), [0, 0, 1, 1], sigma=(1.0, 1.0)), 0)


@rotating(1, sigma=[1e-300, 1e-100, 1e100, 1e300], call=BOTH)
def test_sigma_that_tells_nothing_apart(call, sigma):
    with warned("zero up to rounding", "so small or so large"):
        scores = call(X, Y, sigma=(sigma, sigma))
    assert np.all(np.isfinite(scores))
    assert scores.max() <= 1e-10


@both
def test_two_features(call):
    with warned("with 2 features", "give sigma as numbers"):
        scores = call(X[:, :2], Y)
    assert scores.max() <= 1e-10
    assert call(X[:, :2], Y, sigma=(1.0, 2.0)).max() > 0.01


@both
def test_constant_and_duplicated_features(call):
    data = np.hstack([X, X[:, :3], np.full((20, 2), 7.0), np.zeros((20, 1))])
    scores = call(data, Y)
    assert np.all(np.isfinite(scores))
    assert scores.min() >= 0
    assert scores.max() > 0


@rotating(1, scale=[1e-300, 1e-200, 1e200, 1e300], call=BOTH)
def test_huge_and_tiny_scales(call, scale):
    # One more rounding of each value, and the condition of the kernels, below 1e3 here.
    np.testing.assert_allclose(call(X * scale, Y), call(X, Y), rtol=1e-9)


@both
def test_classes_of_very_different_scales(call):
    data = X * np.where(Y == 1, 1e150, 1e-150)[:, None]
    np.testing.assert_allclose(call(data, Y), call(X, Y), rtol=1e-9)


@rotating(1, huge=[1e100, -1e160, 1e300], call=BOTH)
def test_one_huge_value_of_a_whole_row(call, huge):
    """A sentinel changes no distance between features, however large it is beside the rest."""
    data, labels = np.vstack([X, np.full((1, X.shape[1]), huge)]), np.append(Y, Y[0])
    np.testing.assert_allclose(call(data, labels), call(X, Y), rtol=1e-9)


WIDE = np.random.default_rng(1).normal(size=(20, 60))
low_rank = pytest.mark.parametrize("accuracy", ["low_rank", "low_rank_high"])


@rotating(1, accuracy=["low_rank", "low_rank_high"], value=[np.nan, np.inf])
def test_bad_values_in_the_wide_form(accuracy, value):
    data = WIDE.copy()
    data[3, 58] = value
    for form in (np.asarray, np.float32, sp.csr_matrix):
        with pytest.raises(ValueError, match="row 3, column 58"):
            fastfs.manifest_scores(form(data), Y, accuracy=accuracy, rank=10)


@low_rank
def test_no_distances_in_the_wide_form(accuracy):
    data = WIDE.copy()
    data[Y == 1] = 3.0
    with pytest.raises(ValueError, match="class sick") as raised:
        fastfs.manifest_scores(data, np.array(["healthy", "sick"])[Y], accuracy=accuracy, rank=10)
    assert_one_sentence(raised, "distances")


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@low_rank
def test_most_distances_zero_in_the_wide_form(accuracy):
    data = WIDE.copy()
    data[Y == 1, 12:] = 0.5
    with warned("features are equal in class 1", "positive distances"):
        scores = fastfs.manifest_scores(data, Y, accuracy=accuracy, rank=10)
    assert np.all(np.isfinite(scores))
    assert scores.max() > 0


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@low_rank
def test_one_sample_in_a_class_of_the_wide_form(accuracy):
    with warned("one sample only in class 1"):
        scores = fastfs.manifest_scores(WIDE[:11], Y[:11], accuracy=accuracy, rank=10)
    assert np.all(np.isfinite(scores))
    assert scores.max() > 0


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@rotating(1, sigma=[1e-300, 1e-100, 1e-3, 1e3, 1e100, 1e300], accuracy=["low_rank", "low_rank_high"])
def test_any_sigma_in_the_wide_form(accuracy, sigma):
    scores = fastfs.manifest_scores(WIDE, Y, sigma=(sigma, sigma), accuracy=accuracy, rank=10)
    assert np.all(np.isfinite(scores))
    assert np.all(scores >= 0)
    assert scores.max() <= 1e-3  # every kernel is I or 1 1' then


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@rotating(1, scale=[1e-300, 1e-200, 1e-30, 1e30, 1e200, 1e300], accuracy=["low_rank", "low_rank_high"])
def test_huge_and_tiny_scales_in_the_wide_form(accuracy, scale):
    options = {"accuracy": accuracy, "rank": 15}
    expected = fastfs.manifest_scores(WIDE, Y, **options)
    tolerance = {"low_rank": 1e-8, "low_rank_high": 5e-5}[accuracy] * expected.max()
    np.testing.assert_allclose(fastfs.manifest_scores(WIDE * scale, Y, **options), expected, rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@rotating(1, seed=range(4), accuracy=["low_rank", "low_rank_high"])
def test_rows_of_extreme_values_in_the_wide_form(accuracy, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(8, 40)) * 10.0 ** rng.integers(-300, 300, size=(8, 40))
    scores = fastfs.manifest_scores(data, np.arange(8) % 2, accuracy=accuracy, rank=10)
    assert np.all(np.isfinite(scores))
    assert np.all(scores >= 0)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@rotating(1, data=["constant", "one distinct", "binary", "two distinct"], accuracy=["low_rank", "low_rank_high"])
def test_hardly_any_rank_in_the_wide_form(accuracy, data):
    """Kernels of rank 1 or 2, where landmarks run out at once."""
    rng = np.random.default_rng(0)
    X = {
        "constant": lambda: np.ones((20, 60)),
        "one distinct": lambda: np.where(np.arange(60) == 7, rng.normal(size=(20, 1)), 1.0),
        "binary": lambda: rng.integers(0, 2, size=(20, 60)).astype(float),
        "two distinct": lambda: rng.normal(size=(20, 2))[:, np.arange(60) % 2],
    }[data]()
    scores = fastfs.manifest_scores(X, Y, sigma=(2.0, 3.0), accuracy=accuracy, rank=15)
    assert np.all(np.isfinite(scores))
    assert np.all(scores >= 0)
    exact = fastfs.manifest_scores(X, Y, sigma=(2.0, 3.0))
    if data != "binary":
        assert np.abs(scores - exact).max() <= 5e-3 * max(exact.max(), 1e-3)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_extreme_values_give_finite_scores(seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(8, 5)) * 10.0 ** rng.integers(-300, 300, size=(8, 5))
    scores = fastfs.manifest_scores(data, np.arange(8) % 2)
    assert np.all(np.isfinite(scores))
    assert np.all(scores >= 0)


# -------------------------------------------------------------------------------------------------------- being stopped

LONG = np.broadcast_to(1.0, (500, 20000))


def long_call(**options):
    """400 Gflop: seconds on any machine, of which a stopped call takes a fraction."""
    fastfs.affinity_product(LONG, np.ones(20000), kernel="linear", n_threads=1, **options)
    raise AssertionError("the call wasn't stopped")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c(interrupt, times):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(times):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                long_call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_works()


def update_for_minutes(gram):
    for _ in range(1000):
        gram.update(np.broadcast_to(1.0, (4000, 4000)))


def test_ctrl_c_while_the_accumulator_works(interrupt):
    gram = fastfs.GramAccumulator(4000, n_threads=1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            update_for_minutes(gram)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert gram.n_rows % 4000 == 0
    assert gram.n_rows < 4_000_000


def test_ctrl_c_from_another_thread(interrupt):
    timer = threading.Timer(0.1, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        long_call()
    timer.join()
    assert_works()


def test_ctrl_c_inside_a_callback(interrupt):
    with pytest.raises(KeyboardInterrupt):
        long_call(progress=lambda step, share: interrupt())
    assert_works()


@rotating(1, error=[ZeroDivisionError("mine"), SystemExit(3), MemoryError("mine"), StopIteration()], n_threads=[1, 2])
def test_an_exception_of_the_callback_comes_through(error, n_threads):
    def fail(step, share):
        raise error

    with pytest.raises(type(error)) as raised:
        fastfs.affinity_product(LONG, np.ones(20000), kernel="linear", n_threads=n_threads, progress=fail)
    assert raised.value is error
    assert_works()


def test_a_callback_with_a_wrong_signature():
    with pytest.raises(TypeError, match="argument"):
        long_call(progress=lambda: None)
    assert_works()


def test_a_stopped_fit_leaves_the_estimator_unfitted():
    class Stop(Exception):
        pass

    def stop(step, share):
        raise Stop

    estimator = ManiFeSt(verbose=stop, n_jobs=1)
    with pytest.raises(Stop):
        estimator.fit(RNG.normal(size=(2000, 1500)), np.arange(2000) % 2)
    assert not hasattr(estimator, "scores_")
    assert_works()


STOPPABLE = {
    "low_rank": (30_000, {"accuracy": "low_rank", "rank": 100}, 2),
    "low_rank_high": (8000, {"accuracy": "low_rank_high", "rank": 50}, 2),
    "classes": (500, {"accuracy": "exact"}, 10),
    "pairs": (250, {"accuracy": "exact", "multiclass": "ovo"}, 10),
}


@rotating(1, kind=STOPPABLE.keys(), n_threads=[1, 2])
def test_a_fit_can_be_stopped_anywhere(kind, n_threads):
    """At the first report, and in the middle; shares of the work never go back."""
    d, options, n_classes = STOPPABLE[kind]
    data, y = np.random.default_rng(0).normal(size=(80, d)).astype(np.float32), np.arange(80) % n_classes
    for limit in (0.0, 0.4):
        shares = []

        def stop(step, share, limit=limit, shares=shares):
            assert step
            shares.append(share)
            if share >= limit:
                raise Stop

        with pytest.raises(Stop):
            fastfs.manifest_scores(data, y, n_threads=n_threads, progress=stop, **options)
        assert shares == sorted(shares)
        assert 0 <= shares[-1] <= 1
    assert_works()


def test_unaligned_out():
    X = RNG.normal(size=(5, 40))
    out = np.zeros(8 * 40 * 40 + 1, np.uint8)[1:].view(float).reshape(40, 40)
    with pytest.raises(TypeError, match="aligned"):
        fastfs.affinity(X, sigma=1.0, out=out)


def test_product_that_overflows():
    X = np.full((2, 3), 1e25, np.float32)
    with pytest.raises(ValueError, match="overflow"):
        fastfs.affinity_product(X, np.ones(3), kernel="linear")
    with pytest.raises(ValueError, match="overflow"):
        fastfs.affinity_product(np.full((2, 3), 1e10, np.float32), np.full(3, 1e30), kernel="linear")


class Stop(ValueError):
    pass


def test_exceptions_of_a_callback_are_not_rewritten():
    def fail(step, fraction):
        raise Stop("in every sample of class 0: stop")

    X, y = np.random.default_rng(0).normal(size=(40, 1500)), np.arange(40) % 2
    with pytest.raises(Stop, match="class 0: stop"):
        fastfs.manifest_scores(X, np.where(y, "a", "b"), progress=fail)


def test_labels_of_the_user_in_messages():
    X = np.vstack([np.ones((3, 4)), RNG.normal(size=(3, 4))])
    with pytest.raises(ValueError, match="features must differ in samples of class case"):
        fastfs.manifest_scores(X, ["case"] * 3 + ["control"] * 3)


@covering(
    call=BOTH,
    accuracy=["exact", "low_rank"],
    scale={"median": {"sigma_factor": 4.0}, "percentile": {"sigma": "percentile", "sigma_percentile": 99.9}},
)
def test_a_sigma_beyond_all_numbers(call, scale, accuracy):
    """The distances of the class are up to sqrt(10) times the largest numbers."""
    X, y = np.random.default_rng(0).normal(size=(20, 30)), np.repeat(["a", "b"], 10)
    X[y == "b"] *= 1.7e308 / np.abs(X).max()
    with pytest.raises(ValueError, match="sigma") as raised:
        call(X, y, accuracy=accuracy, rank=7, **scale)
    assert_one_sentence(raised)
    assert str(raised.value) == (
        "the sigma of class b must fit float64; got a larger one: choose a smaller one, or divide X by a constant"
    )
    assert_works()


def test_a_given_sigma_is_kept_in_any_units():
    """Divided by the unit of the data, and multiplied again, it would be infinite."""
    sigma = np.array([1e-3, 1e300])
    with pytest.warns(fastfs.DataWarning, match="zero up to rounding|no contrast"):
        found = ManiFeSt(sigma=sigma).fit(X * 1e-200, Y)
    np.testing.assert_array_equal(found.sigma_, sigma)
