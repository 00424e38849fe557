"""RELIEF to IMMIGRATE: what is wrong is named in one sentence, nothing is half done, and no NaN comes out silently."""

import re
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fastfs
from covering import rotating, together, turns
from fastfs._functions.immigrate import top_pairs
from fastfs._functions.margin import MarginStage
from fastfs._machine.run import Run, load_core
from reference.data import classes_that_differ
from sentences import assert_one_sentence

X, Y = classes_that_differ(40, 6)
FUNCTIONS = {
    "relief": fastfs.relief_scores,
    "relieff": fastfs.relieff_scores,
    "surf": fastfs.surf_scores,
    "multisurf": fastfs.multisurf_scores,
    "swrf": fastfs.swrf_scores,
    "murelief": fastfs.mu_relief_scores,
    "im4e": lambda X, y, **o: fastfs.im4e(X, y, **o).weights,
    "immigrate": lambda X, y, **o: fastfs.immigrate(X, y, **o).scores,
}
ESTIMATORS = {
    method.__name__: lambda X, y, method=method, **o: method(**o).fit(X, y).scores_
    for method in (
        fastfs.Relief,
        fastfs.ReliefF,
        fastfs.SURF,
        fastfs.MultiSURF,
        fastfs.SWRF,
        fastfs.MuRelief,
        fastfs.IM4E,
        fastfs.Immigrate,
    )
}
# A function and its estimator after each other, so that turns of two take one of both.
CALLS = dict(call for both in zip(FUNCTIONS.items(), ESTIMATORS.items(), strict=True) for call in both)
functions = pytest.mark.parametrize("call", FUNCTIONS)  # estimators call them: scores are the same
# All of these take tables with categories, missing values and targets that are numbers.
OF_TABLES = ("relieff", "surf", "multisurf", "swrf", "murelief")


def of(*names):
    return [name for name in CALLS if name.lower() in names]


def changed(A, row, column, value):
    A = A.copy()
    A[row, column] = value
    return A


def broken():
    """A matrix whose last row ends behind its values."""
    matrix = sp.csr_matrix(X)
    matrix.indptr[-1] += 1000
    return matrix


BAD_DATA = {
    "NaN": (changed(X, 7, 2, np.nan), Y, ValueError, ["NaN", "row 7, column 2"]),
    "infinity": (changed(X, 0, 5, -np.inf), Y, ValueError, ["infinity", "row 0, column 5"]),
    "NaN in float32": (changed(X, 39, 0, np.nan).astype("f4"), Y, ValueError, ["row 39, column 0"]),
    "NaN by column": (np.asfortranarray(changed(X, 12, 3, np.nan)), Y, ValueError, ["row 12, column 3"]),
    "the first of several": (changed(changed(X, 9, 1, np.nan), 8, 4, np.inf), Y, ValueError, ["row 8, column 4"]),
    "a column of NaN": (np.c_[X, np.full(40, np.nan)], Y, ValueError, ["row 0, column 6"]),
    "infinities that agree": (np.c_[X, np.full(40, np.inf)], Y, ValueError, ["row 0, column 6"]),
    "lengths": (X, Y[:-1], ValueError, ["40", "39"]),
    "no target": (X, None, (ValueError, TypeError), ["y"]),
    "a missing label": (X, np.array(["a", None] * 20, dtype=object), ValueError, ["sample 1"]),
    "NaN as a label": (X, np.where(np.arange(40) == 3, np.nan, Y), ValueError, []),
    "one class": (X, np.zeros(40), ValueError, ["one class"]),
    "one sample": (X[:1], Y[:1], ValueError, []),
    "all constant": (np.ones((40, 6)), Y, ValueError, ["constant"]),
    "all equal rows": (np.repeat(X[:1], 40, axis=0), Y, ValueError, ["constant"]),
    "NaN in CSR": (sp.csr_matrix(changed(X, 7, 2, np.nan)), Y, ValueError, ["NaN", "row 7, column 2"]),
    "broken CSR": (broken(), Y, ValueError, ["fit each other"]),
    "chunks": (iter([X[:20], X[20:]]), Y, TypeError, ["one array"]),
    "3-D": (X[None], Y, ValueError, []),
    "1-D": (X[:, 0], Y, ValueError, []),
    "no rows": (X[:0], Y[:0], ValueError, []),
    "no columns": (X[:, :0], Y, ValueError, []),
    "complex": (X + 1j, Y, (ValueError, TypeError), []),
    "words": (np.char.add(X.astype(str), "!"), Y, (ValueError, TypeError), []),
    "None in X": (changed(X.astype(object), 2, 2, None), Y, (ValueError, TypeError), []),
    "2-D labels": (X, np.c_[Y, Y], ValueError, []),
    "masked": (np.ma.masked_array(X, X > 1), Y, ValueError, ["masked"]),
    "masked labels": (X, np.ma.masked_array(Y, np.arange(40) == 3), ValueError, ["masked"]),
    "dates in a table": (pd.DataFrame(X).assign(day=pd.Timestamp("2026-01-01")), Y, ValueError, ["column 6", "dates"]),
    "labels without an order": (X, np.array([frozenset([n]) for n in Y]), ValueError, ["sorted"]),
}


@together
@rotating(1, name=BAD_DATA.keys(), call=CALLS.keys())
def test_bad_data(call, name):
    bad_X, bad_y, error, parts = BAD_DATA[name]
    bad_X = iter([X[:20], X[20:]]) if name == "chunks" else bad_X
    with pytest.raises(error) as raised:
        CALLS[call](bad_X, bad_y)
    if parts:
        assert_one_sentence(raised, *parts)


@pytest.mark.parametrize("call", [call for call in CALLS if call.lower() not in OF_TABLES])
def test_numbers_as_labels(call):
    with pytest.raises(ValueError, match="continuous") as raised:
        CALLS[call](X, X[:, 0])
    assert_one_sentence(raised)


COMMON = [
    ({"scaling": "minmax"}, ValueError, ["scaling", "'minmax'", "'range'"]),
    ({"scaling": 1}, (TypeError, ValueError), ["scaling", "1"]),
    ({"max_memory": 1000}, MemoryError, ["is 1000 bytes"]),
    ({"max_memory": "plenty"}, ValueError, ["max_memory"]),
]
OF_ITERATION = [
    *(({"sigma": s}, ValueError, ["sigma", "positive"]) for s in (0, np.nan, np.inf)),
    ({"sigma": "median"}, ValueError, ["sigma", "'auto'", "'median'"]),
    ({"sigma": None}, TypeError, ["sigma"]),
    ({"sigma": True}, TypeError, ["sigma", "True"]),
    ({"sigma": 1e308}, ValueError, ["cost overflows", "sigma"]),
    ({"tol": "1"}, TypeError, ["tol", "'1'"]),
    ({"max_iter": True}, TypeError, ["max_iter", "True"]),
    ({"max_iter": 0}, ValueError, ["max_iter", "0"]),
    ({"max_iter": 2**31 - 1}, ValueError, ["max_iter", "1000000"]),  # costs of 32 GB were asked for
    ({"max_iter": 1.5}, TypeError, ["max_iter", "1.5"]),
    *(({"tol": t}, ValueError, ["tol"]) for t in (-1e-9, np.nan)),
]
INDEFINITE = np.diag([1.0, 1, 1, 1, 1, -0.1])
# Mistakes, and the methods that refuse them: each mistake is made in so many of their functions and estimators.
MISTAKES = [
    (2, list(CALLS), COMMON),
    (1, of("im4e", "immigrate"), OF_ITERATION),
    (
        1,
        of("relief", *OF_TABLES),
        [
            ({"n_targets": 0}, ValueError, ["n_targets", "0"]),
            ({"n_targets": 41}, ValueError, ["n_targets", "40", "41"]),
            ({"n_targets": 2.5}, TypeError, ["n_targets", "2.5"]),
            ({"random_state": -1}, ValueError, []),
        ],
    ),
    (1, of("relief"), [({"closed_form": 1}, TypeError, ["closed_form", "1"])]),
    (
        1,
        of(*OF_TABLES),
        [
            ({"missing": "drop"}, ValueError, ["missing", "'drop'", "'ignore'"]),
            ({"missing": None}, ValueError, ["missing", "None"]),
            ({"target_type": "numbers"}, ValueError, ["target_type", "'numbers'", "'number'"]),
            ({"target_type": "survival"}, ValueError, ["target_type", "'survival'", "'class'"]),
            ({"ramp": "std"}, ValueError, ["ramp", "'std'", "'sd'"]),
            ({"ramp": 0.5}, TypeError, ["ramp", "0.5"]),
            ({"ramp": (0.1, "b")}, TypeError, ["ramp", "'b'"]),
            ({"ramp": (0.5, 0.1)}, ValueError, ["ramp", "0.5", "0.1"]),
            ({"ramp": (-0.1, 0.5)}, ValueError, ["ramp", "-0.1"]),
            ({"ramp": (0.1, np.nan)}, ValueError, ["ramp", "nan"]),
            ({"ramp": "sd", "missing": "class"}, ValueError, ["ramp", "missing must not be 'class'"]),
            ({"categorical_features": "auto"}, ValueError, ["categorical_features", "'from_dtype'", "'auto'"]),
            ({"categorical_features": "from_dtype"}, ValueError, ["categorical_features", "DataFrame", "ndarray"]),
            ({"categorical_features": [0, 6]}, ValueError, ["categorical_features", "from 0 to 5", "6"]),
            ({"categorical_features": [-1]}, ValueError, ["categorical_features", "from 0 to 5", "-1"]),
            ({"categorical_features": [True] * 5}, ValueError, ["categorical_features", "6", "5"]),
            ({"categorical_features": ["a"]}, ValueError, ["categorical_features", "'a'"]),
            ({"categorical_features": [1.5]}, TypeError, ["categorical_features", "1.5"]),
            ({"categorical_features": 1}, ValueError, ["categorical_features", "got 1: give"]),
        ],
    ),
    (
        1,
        of("surf", "multisurf", "swrf"),
        [({"far": 1}, TypeError, ["far", "1"]), ({"far": "both"}, TypeError, ["far", "'both'"])],
    ),
    (
        1,
        of("swrf"),
        [
            ({"radius": "each"}, ValueError, ["radius", "'each'", "'sample'"]),
            ({"dead_band": -0.5}, ValueError, ["dead_band", "-0.5"]),
            ({"dead_band": np.inf}, ValueError, ["dead_band", "inf"]),
            ({"dead_band": "half"}, TypeError, ["dead_band", "'half'"]),
        ],
    ),
    (
        1,
        of("relieff", "murelief"),
        [
            ({"priors": "equal"}, ValueError, ["priors", "'equal'", "'uniform'"]),
            ({"priors": [0.5, 0.5]}, TypeError, ["priors", "[0.5, 0.5]"]),
            ({"priors": {0: 1.0}}, ValueError, ["priors", "0, 1", "got 1 in only one of the two"]),
            ({"priors": {0: 1.0, 1: 1.0, 2: 1.0}}, ValueError, ["priors", "0, 1", "got 2 in only one of the two"]),
            ({"priors": {0: 1.0, 1: "x"}}, TypeError, ["priors", "'x'"]),
            ({"priors": {0: 1.0, 1: 0.0}}, ValueError, ["priors", "0"]),
        ],
    ),
    (
        1,
        of("relieff", "murelief"),
        [
            ({"n_neighbors": 0}, ValueError, ["n_neighbors", "0"]),
            ({"n_neighbors": -3}, ValueError, ["n_neighbors", "-3"]),
            ({"n_neighbors": True}, TypeError, ["n_neighbors", "True"]),
            ({"n_neighbors": 2.0}, TypeError, ["n_neighbors", "2.0"]),
            ({"n_neighbors": None}, TypeError, ["n_neighbors", "None"]),
        ],
    ),
    (
        1,
        of("im4e"),
        [
            ({"class_weight": {0: 0.0}}, ValueError, ["class_weight", "0"]),
            ({"class_weight": {1: -2.0}}, ValueError, ["class_weight", "-2.0"]),
            ({"class_weight": {1: np.nan}}, ValueError, ["class_weight", "nan"]),
            ({"class_weight": {1: "much"}}, TypeError, ["class_weight", "'much'"]),
            ({"class_weight": {2: 1.0}}, ValueError, ["class_weight", "2"]),
            ({"class_weight": {"0": 1.0}}, ValueError, ["class_weight", "'0'", "some or all of 0, 1"]),
            ({"class_weight": {0: 1e308, 1: 1e308}}, ValueError, ["overflows", "class factors"]),
            ({"class_weight": "balanced"}, TypeError, ["class_weight", "'balanced'"]),
            ({"w0": np.ones(5)}, ValueError, ["w0", "(6,)", "(5,)"]),
            ({"w0": np.eye(6)}, ValueError, ["w0", "(6,)", "(6, 6)"]),
            ({"w0": np.zeros(6)}, ValueError, ["w0 must have a positive weight of a feature that varies"]),
            ({"w0": [1, 1, -1, 1, 1, 1]}, ValueError, ["w0 must hold finite numbers", "got -1 for column 2"]),
            ({"w0": [1, 1, 1, np.nan, 1, 1]}, ValueError, ["w0 must hold finite numbers", "got nan for column 3"]),
            ({"w0": ["a"] * 6}, ValueError, ["w0 must hold numbers only"]),
        ],
    ),
    (
        1,
        of("immigrate"),
        [
            ({"prefilter": "relief"}, ValueError, ["prefilter", "'relief'"]),
            ({"clip": "yes"}, TypeError, ["clip", "'yes'"]),
            ({"smallest": -0.1}, ValueError, ["smallest", "-0.1"]),
            ({"smallest": "tiny"}, ValueError, ["smallest", "'tiny'"]),
            ({"smallest": 2.0}, ValueError, ["largest"]),
            ({"negligible": -1.0}, ValueError, ["negligible"]),
            ({"negligible": np.nan}, ValueError, ["negligible"]),
            ({"W0": np.eye(5)}, ValueError, ["W0", "(6, 6)", "(5, 5)"]),
            ({"W0": np.ones(6)}, ValueError, ["W0", "(6, 6)"]),
            ({"W0": np.zeros((6, 6))}, ValueError, ["W0", "zero"]),
            ({"W0": changed(np.eye(6), 0, 1, 1e-3)}, ValueError, ["W0", "symmetric"]),
            ({"W0": changed(np.eye(6), 2, 2, np.nan)}, ValueError, ["W0", "nan"]),
            ({"W0": INDEFINITE}, ValueError, ["W0", "semidefinite"]),
            ({"W0": np.eye(6), "prefilter": "im4e"}, ValueError, ["W0", "prefilter"]),
            ({"n_starts": 0}, ValueError, ["n_starts", "0"]),
            ({"n_starts": 1.5}, TypeError, ["n_starts", "1.5"]),
        ],
    ),
]
BAD_PARAMETERS = [(call, *case) for times, calls, cases in MISTAKES for case, call in turns(times, cases, calls)]


@together
@pytest.mark.parametrize("call, options, error, parts", BAD_PARAMETERS, ids=lambda v: str(v)[:40])
def test_bad_parameters(call, options, error, parts):
    with pytest.raises(error) as raised:
        CALLS[call](X, Y, **options)
    assert_one_sentence(raised, *parts)


def test_what_removes_everything_names_the_largest_entry():
    W = fastfs.immigrate(X, Y, max_iter=1).W
    with pytest.raises(ValueError, match="largest") as raised:
        fastfs.immigrate(X, Y, smallest=0.999, max_iter=1)
    numbers = [float(n) for n in re.findall(r"\d+\.\d+", str(raised.value))]
    assert any(abs(n - W.max()) <= 1e-3 * W.max() for n in numbers), raised.value
    nearly = fastfs.immigrate(X, Y, smallest=W.max() * 0.999, max_iter=1)
    assert np.count_nonzero(nearly.W) == 1
    assert nearly.W.max() == 1


def test_semidefinite_up_to_rounding_will_do():
    half = np.random.default_rng(0).normal(size=(6, 2))
    assert np.isfinite(fastfs.immigrate(X, Y, W0=half @ half.T).scores).all()
    tilted = half @ half.T
    tilted[0, 1] *= 1 + 1e-14
    assert np.isfinite(fastfs.immigrate(X, Y, W0=tilted).scores).all()


# ------------------------------------------------------------------------------------------------------ strange numbers

UNITS = [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300, 5e307]


@rotating(2, unit=UNITS, call=FUNCTIONS.keys())
def test_units_make_no_difference_or_an_error(call, unit):
    """One column in another unit: the same scores, or a refusal that names the column; never NaN."""
    bad = X.copy()
    bad[:, 3] *= unit / np.abs(bad[:, 3]).max()
    assert np.isfinite(bad).all()
    try:
        found = CALLS[call](bad, Y)
    except ValueError as error:
        assert "column 3" in str(error)  # noqa: PT017
        assert not 1e-100 < unit < 1e100
        return
    np.testing.assert_allclose(found, CALLS[call](X, Y), rtol=0, atol=1e-10)


@together
@rotating(2, unit=[1e-44, 1e-38, 1e38, 3e38], call=FUNCTIONS.keys())
def test_units_of_float32(call, unit):
    bad = X.astype(np.float32)
    bad[:, 3] *= np.float64(unit) / np.abs(bad[:, 3]).max()
    assert bad.dtype == np.float32
    assert np.isfinite(bad).all()
    found = CALLS[call](bad, Y)
    exact = bad.astype(float)
    exact[:, 3] /= unit
    np.testing.assert_allclose(found, CALLS[call](exact, Y), rtol=0, atol=1e-5)


@functions
def test_not_scaled_and_uneven(call):
    uneven = X / X.std(axis=0) * np.r_[1, 1, 1, 1e4, 1, 1]
    with pytest.warns(fastfs.DataWarning, match="1000 times apart"):
        CALLS[call](uneven, Y, scaling=None)
    assert CALLS[call](uneven, Y) is not None  # no warning where they are scaled


@together
@rotating(4, largest_value=[(1e20, "f4"), (1e200, "f8")], call=FUNCTIONS.keys())
def test_not_scaled_and_too_large(call, largest_value):
    largest, dtype = largest_value
    with pytest.raises(ValueError, match="column 2"):
        CALLS[call](changed(X, 3, 2, largest).astype(dtype), Y, scaling=None)


@rotating(2, largest_value=[(1e-17, "f4"), (1e-151, "f8"), (1e-300, "f8")], call=FUNCTIONS.keys())
def test_not_scaled_and_too_small(call, largest_value):
    """Squares would vanish, and with them all scores."""
    largest, dtype = largest_value
    with pytest.raises(ValueError, match="aren't scaled must vary by at least") as raised:
        CALLS[call]((X / np.ptp(X, axis=0) * largest).astype(dtype), Y, scaling=None)
    assert_one_sentence(raised)


@together
@rotating(2, unit=[1e-148, 1e-100, 1e100, 1e148], call=FUNCTIONS.keys())
def test_not_scaled_in_any_unit(call, unit):
    """All features in one unit: squares of sums of squares of differences are beyond the range of numbers."""
    options = {"sigma": "auto", "prefilter": None} if call in of("immigrate") else {}
    options = {"sigma": "auto"} if call in of("im4e") else options
    found, expected = (CALLS[call](X * u, Y, scaling=None, **options) for u in (unit, 1.0))
    np.testing.assert_allclose(found / found.max(), expected / expected.max(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 5e-324, 1e300, 1.7e308])
def test_start_in_any_unit(unit):
    """W0 is normalised, whatever it is given in."""
    W0 = np.where(np.eye(6) == 1, unit, 0.0)
    found = fastfs.immigrate(X, Y, W0=W0)
    np.testing.assert_allclose(found.W, fastfs.immigrate(X, Y).W, rtol=0, atol=1e-12)
    full = fastfs.immigrate(X, Y, W0=np.full((6, 6), unit))
    np.testing.assert_allclose(full.W, fastfs.immigrate(X, Y, W0=np.ones((6, 6))).W, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_features", [6, 100])
def test_nothing_but_negligible_pairs(n_features):
    """The weights before stay, also where the step would have been in the space of pairs."""
    wide, labels = classes_that_differ(20, n_features)
    with pytest.warns(fastfs.DataWarning, match="weights of the iteration before stay"):
        found = fastfs.immigrate(wide, labels, negligible=100.0)
    np.testing.assert_allclose(found.scores, 1 / n_features, rtol=1e-12)
    np.testing.assert_allclose(found.W, np.eye(n_features) / np.sqrt(n_features), rtol=0, atol=1e-15)
    assert not found.converged
    assert found.n_iter == 0


@functions
def test_integers_and_bools(call):
    counts = np.random.default_rng(0).integers(0, 200, size=(40, 6))
    counts[:, 0] += 50 * Y
    expected = CALLS[call](counts.astype(float), Y)
    for dtype in ("u1", "i8", "i2", "u4"):  # uint8 would wrap round in a difference
        kept = np.minimum(counts, 255).astype(dtype)
        assert np.all(kept == counts) or dtype == "u1"
        found = CALLS[call](kept, Y)
        if np.all(kept == counts):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype in ("u1", "i2") else 1e-12)
    bits = counts > 100
    np.testing.assert_allclose(CALLS[call](bits, Y), CALLS[call](bits.astype(float), Y), rtol=0, atol=1e-5)


METRICS = {
    "NaN in w": (np.r_[np.nan, np.ones(5)], None, None, "got nan at position 0"),
    "negative w": (np.r_[np.ones(5), -1.0], None, None, "got -1 at position 5"),
    "NaN in values": (None, np.array([np.nan]), np.ones((1, 6)), "NaN or infinity"),
    "infinity in vectors": (None, np.ones(1), np.full((1, 6), np.inf), "NaN or infinity"),
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics_from_elsewhere(name):
    """The C interface takes those that no fit of ours has made."""
    weights, values, vectors, message = METRICS[name]
    stage = MarginStage(X, {"scaling": "range"}, Run())
    metric = load_core().MarginMetric(1.0, weights, values, vectors)
    with pytest.raises(ValueError, match=message) as raised:
        stage.core_margin.distances(Y.astype(np.int64), 2, metric, X, stage.run)
    assert_one_sentence(raised)
    if values is not None:
        with pytest.raises(ValueError, match=message):
            top_pairs(np.arange(6), values, vectors, 3, "weight")


@pytest.mark.parametrize("method", [fastfs.IM4E, fastfs.Immigrate])
def test_masked_samples_are_not_predicted(method):
    with pytest.raises(ValueError, match="masked"):
        method().fit(X, Y).predict(np.ma.masked_array(X, X > 1))


@pytest.mark.parametrize("method", [fastfs.IM4E, fastfs.Immigrate])
def test_prediction_beyond_numbers(method):
    """So far off that a squared distance overflows: an error that names the row, or right all the same."""
    model = method().fit(X, Y)
    new = np.repeat(X[:1], 5, axis=0)
    new[3] = 1e200
    try:
        found = model.expected_distance(new)
    except ValueError as error:
        assert "row 3" in str(error)  # noqa: PT017
        assert method is fastfs.Immigrate
    else:
        assert np.isfinite(found).all()
        assert found[3].min() > 1e190
    with pytest.raises(ValueError, match="row 3"):
        model.predict(changed(new, 3, 0, np.nan))


# ----------------------------------------------------------------------------------------- memory, progress, and cancel


@functions
def test_refused_before_it_is_tried(call):
    wide = np.broadcast_to(np.arange(50_000.0)[:, None], (50_000, 4))
    with pytest.raises(MemoryError, match=r"max_memory|FASTFS_MAX_MEMORY"):
        CALLS[call](wide, np.arange(50_000) % 2, max_memory=100_000)


SLOW = np.random.default_rng(0).normal(size=(1200, 120))
LABELS = np.arange(1200) % 2


class Stop(Exception):
    pass


@rotating(1, call=["relief", *OF_TABLES, "im4e", "immigrate"], memory=[None, "8M"])
def test_progress_rises_and_ends_the_call(call, memory):
    """A callback that raises stops the call soon, whatever it is doing, and the next call is none the worse."""
    options = {"n_threads": 2, "max_memory": memory}
    if call in ("im4e", "immigrate"):
        options |= {"max_iter": 2, "tol": 0.0}
    X = SLOW[:, :40] if call == "immigrate" else SLOW
    reports = []
    expected = CALLS[call](X, LABELS, progress=lambda step, share: reports.append((step, share)), **options)
    assert np.isfinite(expected).all()
    assert all(isinstance(step, str) and 0 <= share <= 1 for step, share in reports)
    last = {}
    for step, share in reports:
        assert share >= last.get(step, 0) or call in ("im4e", "immigrate"), reports
        last[step] = share
    if not reports:
        return  # done before the first report was due
    seen = []

    def stop(step, share):
        seen.append(threading.get_ident())
        if len(seen) == min(2, len(reports)):
            raise Stop

    try:
        CALLS[call](X, LABELS, progress=stop, **options)
    except Stop:
        assert len(seen) == min(2, len(reports))
    else:
        assert len(seen) < min(2, len(reports))  # faster this time
    assert set(seen) <= {threading.get_ident()}
    assert CALLS[call](X, LABELS, **options).tobytes() == expected.tobytes()


@rotating(1, call=["relief", *OF_TABLES, "im4e", "immigrate"], memory=[None, "40M"])
def test_a_long_call_reports_and_stops(call, memory):
    """Long enough that a report is due whatever the machine."""
    long = np.random.default_rng(0).normal(size=(4000, 300))

    def stop(step, share):
        raise Stop

    with pytest.raises(Stop):
        CALLS[call](long, np.arange(4000) % 2, progress=stop, n_threads=1, max_memory=memory)


def test_immigrate_is_never_deaf_for_long():
    """A cancel is seen at a report; without a filter, much of the time is an eigenproblem of all features."""
    wide = np.random.default_rng(0).normal(size=(60, 1800))
    times = [time.process_time()]

    def progress(step, share):
        times.append(time.process_time())

    fastfs.immigrate(wide, np.arange(60) % 2, prefilter=None, max_iter=1, n_threads=1, progress=progress)
    times.append(time.process_time())
    assert np.diff(times).max() <= 0.15 * (times[-1] - times[0])


def test_a_stopped_fit_changes_nothing():
    model = fastfs.Immigrate().fit(X, Y)
    before = {name: np.array(value, copy=True) for name, value in vars(model).items() if name.endswith("_")}

    def stop(step, share):
        raise Stop

    model.set_params(verbose=stop, n_jobs=1, prefilter=None)
    with pytest.raises(Stop):
        model.fit(np.random.default_rng(0).normal(size=(3000, 200)), np.arange(3000) % 2)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert np.array_equal(value, after[name]), name


@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
@rotating(1, name=["relieff", "surf", "multisurf", "swrf", "mu_relief", "rrelieff"], weight=[1e-20, 1e20])
def test_weights_that_single_precision_does_not_hold_are_refused(name, weight):
    """Sums over float32 tables are in single precision, where a weight of 1e39 made all scores NaN."""
    single = X.astype(np.float32)
    score = getattr(fastfs, f"{name}_scores")
    y = Y.astype(float) if name == "rrelieff" else Y
    for weights in (np.full(len(Y), weight), np.r_[np.ones(len(Y) - 1), weight]):
        assert np.all(np.isfinite(score(single, y, sample_weight=weights)))
    with pytest.raises(ValueError, match="weight of a sample") as raised:
        score(single, y, sample_weight=weights * weight)
    assert_one_sentence(raised, "must be from 1e-20 to 1e+20")
    assert np.all(np.isfinite(score(X, y, sample_weight=weights * weight)))
