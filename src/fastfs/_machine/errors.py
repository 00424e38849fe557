"""Errors and warnings of the core in the caller's names: the core knows classes, sets and columns by number only."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.linalg import LinAlgError

from fastfs._machine.run import DataWarning

Numbers = Sequence[int] | npt.NDArray[np.int64]


class Place(NamedTuple):
    """A thing that a message names by its 0-based number; ``message[begin:end]`` is its name in the message."""

    kind: str  # "matrix" (0: X, 1: Y), "row", "column", "class", "set", "chunk" or "kernel"
    number: int
    begin: int
    end: int


def places(error: BaseException) -> list[Place]:
    """Return the things that the message of an error of the core names, in order."""
    return [Place(*place) for place in getattr(error, "places", ())]


def about_targets(error: BaseException) -> bool:
    """Return True if the columns that an error of the core names are columns of Y."""
    return any(place.kind == "matrix" and place.number == 1 for place in places(error))


def last_warnings(
    names: Mapping[str, Callable[[int], str]] | None = None, *, without: Container[str] = ()
) -> list[Warning]:
    """Return the warnings of the last call of the core on this thread but for some codes; names are as of `rename`."""
    from fastfs import _core

    found = []
    for code, message, where in _core.last_warnings():
        if code in without:
            continue
        warning = _category(code)(message)
        warning.code, warning.places = code, where  # type: ignore[attr-defined]
        rename(warning, names or {})
        found.append(warning)
    return found


def _category(code: str) -> type[Warning]:
    if code != "not_converged":
        return DataWarning
    from sklearn.exceptions import ConvergenceWarning

    category: type[Warning] = ConvergenceWarning
    return category


@contextmanager
def naming(names: Mapping[str, Callable[[int], str]], numbers: Mapping[str, Numbers] | None = None) -> Iterator[None]:
    """Let errors of the core name things as `rename` does."""
    try:
        yield
    except (ValueError, LinAlgError) as error:
        rename(error, names, numbers)
        raise


@contextmanager
def naming_of_a_file(
    features: Sequence[str],
    rows: Numbers | None,
    samples: Sequence[str] | None = None,
    targets: Sequence[str] = (),
    *,
    transposed: bool = False,
) -> Iterator[None]:
    """Let errors about a table from a file call its features by name, and number its samples as the file does.

    Parameters
    ----------
    features, targets : sequence of str
        Names of the columns of X and of Y. Their numbers say nothing: columns of the file may have left X.
    rows : sequence of int or None
        Positions of the samples in the file, ascending; None: all samples.
    samples : sequence of str or None
        Names of these samples.
    transposed : bool
        True if samples are the columns of the file.
    """

    def sample(number: int) -> str:
        called = f"{'sample' if transposed else 'row'} {number}"
        place = number if rows is None else int(np.searchsorted(rows, number))
        return called if samples is None else f"{called} '{samples[place]}'"

    try:
        yield
    except (ValueError, LinAlgError) as error:
        names = dict(enumerate(targets if about_targets(error) else features))  # given columns stand behind these
        column = "feature" if transposed else "column"
        called = {"row": sample, "column": lambda j: f"{column} '{names[j]}'" if j in names else f"{column} {j}"}
        rename(error, called, None if rows is None else {"row": rows})
        raise


@contextmanager
def within(kind: str, number: int) -> Iterator[None]:
    """Let errors say where they happened: "in chunk 2: ...", or "in matrix 1, chunk 2: ..." for a nested block.

    It adds the place to ValueError, TypeError and LinAlgError, and shifts those that they name.
    """
    try:
        yield
    except (ValueError, TypeError, LinAlgError) as error:
        inner = len("in ") if getattr(error, "is_within", False) else 0
        name = f"{kind} {number}"
        before = f"in {name}, " if inner else f"in {name}: "
        shift = len(before) - inner
        moved = [Place(p.kind, p.number, p.begin + shift, p.end + shift) for p in places(error)]
        error.args = (before + str(error)[inner:],)
        error.places = (Place(kind, number, len("in "), len("in ") + len(name)), *moved)  # type: ignore[union-attr]
        error.is_within = True  # type: ignore[union-attr]
        raise


def rename(
    error: BaseException, names: Mapping[str, Callable[[int], str]], numbers: Mapping[str, Numbers] | None = None
) -> None:
    """Put names into the message of an error, and update its places.

    A thing of a kind is called ``names[kind](number)``; kinds without an entry keep their words. If the error is about
    a
    part of the data, number k of a kind is first replaced by ``numbers[kind][k]``.
    """

    def of_all(place: Place) -> tuple[int, str]:
        of_kind = (numbers or {}).get(place.kind)
        number = place.number if of_kind is None else int(of_kind[place.number])
        return number, names[place.kind](number)

    _rewrite(error, names, of_all)


def renumber(error: BaseException, numbers: Mapping[str, Numbers]) -> None:
    """Let an error about a part of the data use the caller's numbers: number k of a kind becomes
    ``numbers[kind][k]``.
    """

    def of_all(place: Place) -> tuple[int, str]:
        number = int(numbers[place.kind][place.number])
        return number, f"{place.kind} {number}"

    _rewrite(error, numbers, of_all)


@contextmanager
def in_rows(rows: Numbers | None) -> Iterator[None]:
    """Let errors about some rows use the caller's numbers: row k becomes row ``rows[k]``; None: all rows are there."""
    try:
        yield
    except (ValueError, LinAlgError) as error:
        if rows is not None:
            renumber(error, {"row": rows})
        raise


def _rewrite(error: BaseException, kinds: Container[str], change: Callable[[Place], tuple[int, str]]) -> None:
    """Replace number and name of things of these kinds, in an error's text and places, by those of `change`."""
    message, text, end, moved = str(error), "", 0, []
    for place in places(error):
        number, name = place.number, message[place.begin : place.end]
        if place.kind in kinds:
            number, name = change(place)
        text += message[end : place.begin]
        moved.append(Place(place.kind, number, len(text), len(text) + len(name)))
        text += name
        end = place.end
    if moved:
        error.args = (text + message[end:],)
        error.places = tuple(moved)  # type: ignore[attr-defined]
