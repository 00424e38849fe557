"""Errors of the core name classes, rows and columns by number, and say where, so that callers put in names."""

import numpy as np
import pytest

import fastfs
from covering import together
from fastfs import _core
from fastfs._machine.errors import Place, about_targets, naming, places, rename, renumber, within
from fastfs._machine.run import Run, load_core

X = np.random.default_rng(0).normal(size=(6, 4))


def broken():
    error = ValueError("in matrix 1, chunk 2: no sample of class 3 is left")
    error.places = (("kernel", 1, 3, 11), ("chunk", 2, 13, 20), ("class", 3, 35, 42))
    return error


def test_names_take_the_place_of_numbers():
    error = broken()
    rename(error, {"kernel": lambda m: f"kernel {'ab'[m]!r}", "class": lambda c: ["x", "y", "z", "tumour"][c]})
    assert str(error) == "in kernel 'b', chunk 2: no sample of tumour is left"
    for place, name in zip(places(error), ("kernel 'b'", "chunk 2", "tumour"), strict=True):
        assert str(error)[place.begin : place.end] == name
    rename(error, {"chunk": lambda c: f"block {c + 1}"})  # an outer caller knows more
    assert str(error) == "in kernel 'b', block 3: no sample of tumour is left"


def test_numbers_in_a_part_become_those_of_all():
    error = ValueError("X is bad at row 1, column 2")
    error.places = (("matrix", 0, 0, 1), ("row", 1, 12, 17), ("column", 2, 19, 27))
    renumber(error, {"column": np.array([4, 7, 11]), "row": np.array([0, 30])})
    assert str(error) == "X is bad at row 30, column 11"
    found = [(place.kind, place.number, str(error)[place.begin : place.end]) for place in places(error)]
    assert found == [("matrix", 0, "X"), ("row", 30, "row 30"), ("column", 11, "column 11")]
    rename(error, {"column": "abcdefghijkl".__getitem__})  # an outer caller knows all columns
    assert str(error) == "X is bad at row 30, l"


@pytest.mark.parametrize("bad", ["X", "Y"])
def test_columns_of_targets(bad):
    tables = {"X": X.copy(), "Y": X.copy()}
    tables[bad][2, 3] = np.nan
    with pytest.raises(
        ValueError, match=f"^{bad} must be finite; got NaN or infinity first at row 2, column 3: "
    ) as caught:
        fastfs.projse_scores(tables["X"], tables["Y"], center=True)
    assert about_targets(caught.value) == (bad == "Y")


def test_errors_say_where_they_happened():
    def fail():
        error = ValueError("no sample of class 3 is left")
        error.places = (("class", 3, 13, 20),)
        raise error

    with (
        pytest.raises(ValueError, match=r"^in matrix 1, chunk 2: no sample of tumour is left$") as caught,
        naming({"class": lambda c: ["x", "y", "z", "tumour"][c]}),
        within("matrix", 1),
        within("chunk", 2),
    ):
        fail()
    found = [(p.kind, p.number, str(caught.value)[p.begin : p.end]) for p in places(caught.value)]
    assert found == [("matrix", 1, "matrix 1"), ("chunk", 2, "chunk 2"), ("class", 3, "tumour")]


@pytest.mark.parametrize("method", [fastfs.ManiFeSt(), fastfs.DiSC(n_components=1), fastfs.ProjSe()])
def test_chunks_are_named(method):
    strings = X.astype(object)
    strings[1, 2] = "high"
    message = r"^in chunk 1: X must hold numbers, but column 2 .* holds strings, such as 'high'"
    if isinstance(method, fastfs.ProjSe):
        strings = np.where(np.arange(24).reshape(6, 4) == 6, np.nan, X)
        message = r"^X must be finite; got NaN or infinity first at row 7, column 2: "
    with pytest.raises(ValueError, match=message):
        method.fit(iter([X, strings]), np.arange(12) % 2)


def test_errors_without_places_stay_as_they_are():
    error = ValueError("class 3 of {braces}")
    rename(error, {"class": str})
    assert str(error) == "class 3 of {braces}"
    assert places(error) == []


def test_the_core_tells_its_places():
    bad = X.copy()
    bad[2, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"^X must be finite; got NaN or infinity first at row 2, column 3: "
    ) as caught:
        load_core().affinity(bad, "linear", 1.0, None, Run())
    message = str(caught.value)
    assert [(p.kind, p.number, message[p.begin : p.end]) for p in places(caught.value)] == [
        ("matrix", 0, "X"),
        ("row", 2, "row 2"),
        ("column", 3, "column 3"),
    ]
    assert all(isinstance(place, Place) for place in places(caught.value))
    with (
        pytest.raises(ValueError, match=r"^X must be finite; got NaN or infinity first at row 2, gene 'd': "),
        naming({"column": lambda j: f"gene {'abcd'[j]!r}"}),
    ):
        load_core().affinity(bad, "linear", 1.0, None, Run())


@together
@pytest.mark.parametrize(
    "call",
    [
        lambda options: load_core().disc([], options, Run()),
        lambda options: load_core().projse(X, None, None, 0, options, Run()),
        lambda options: load_core().Margin(X, {}, Run()).relief(np.arange(6) % 2, 2, options, Run()),
        lambda options: load_core().Margin(X, {}, Run()).im4e(np.arange(6) % 2, 2, options, Run()),
        lambda options: load_core().Margin(X, {}, Run()).immigrate(np.arange(6) % 2, 2, options, Run()),
        lambda options: load_core().Manifest([X], False, Run()).fit(np.arange(6) % 2, 2, [], options, Run()),
        lambda options: load_core().ikdr_fit({"X": X, "n_kernels": 0}, np.arange(6) % 2, 2, options, Run()),
    ],
    ids=["disc", "projse", "relief", "im4e", "immigrate", "manifest", "ikdr"],
)
def test_unknown_options_are_errors(call):
    with pytest.raises(ValueError, match="there is no option 'nonsense'"):
        call({"nonsense": 1})


def test_unknown_words_are_errors():
    with pytest.raises(ValueError, match=r"^graph must be one of 'dense', 'knn', 'lists'; got 'some'"):
        load_core().disc([], {"graph": "some"}, Run())
    with pytest.raises(ValueError, match=r"^scaling must be one of 'none', 'range', 'standard'; got 'log'"):
        _core.Margin(X, {"scaling": "log"}, Run())
    with pytest.raises(TypeError, match=r"^density must be a number; got 'much'"):
        load_core().disc([], {"density": "much"}, Run())


def test_other_packages_do_not_translate_our_errors():
    """rds2py gives pybind11 a translator of any std::runtime_error, which several of ours are."""
    pytest.importorskip("rds2py.lib_rds_parser")
    wrong = np.zeros((2, 2), np.float32)
    with pytest.raises(TypeError, match=r"^out must be a writeable"):
        fastfs.affinity(X, sigma=1.0, out=wrong)
    with pytest.raises(np.linalg.LinAlgError, match="must be positive semidefinite") as caught:
        fastfs.manifest_from_kernels(np.diag([1.0, -0.1]), np.eye(2))
    assert isinstance(places(caught.value), list | tuple)
