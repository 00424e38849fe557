"""Errors of the core by the caller's names: the core knows classes, sets and columns by number only."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.linalg import LinAlgError

Numbers = Sequence[int] | npt.NDArray[np.int64]


class Place(NamedTuple):
    """A thing that a message names by number, counted from 0: ``message[begin:end]`` is its name there."""

    kind: str  # "matrix" (0: X, 1: Y), "row", "column", "class", "set", "chunk" or "kernel"
    number: int
    begin: int
    end: int


def places(error: BaseException) -> list[Place]:
    """Return what the message of an error of the core names, in its order."""
    return [Place(*place) for place in getattr(error, "places", ())]


def about_targets(error: BaseException) -> bool:
    """Whether the columns that an error of the core names are those of Y."""
    return any(place.kind == "matrix" and place.number == 1 for place in places(error))


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
    """Let errors about a table that was read call its features by their names, and its samples as the file counts them.

    Parameters
    ----------
    features, targets : sequence of str
        The names of the columns of X and of Y. Their numbers say nothing: columns of the file may have left X.
    rows : sequence of int or None
        The places of the samples in the file, ascending; None: they are all of these.
    samples : sequence of str or None
        The names of these samples.
    transposed : bool
        Whether samples are the columns of the file.
    """

    def sample(number: int) -> str:
        called = f"{'sample' if transposed else 'row'} {number}"
        place = number if rows is None else int(np.searchsorted(rows, number))
        return called if samples is None else f"{called} '{samples[place]}'"

    try:
        yield
    except (ValueError, LinAlgError) as error:
        names = targets if about_targets(error) else features
        column = "feature" if transposed else "column"
        called = {"row": sample, "column": lambda j: f"{column} '{names[j]}'"}
        rename(error, called, None if rows is None else {"row": rows})
        raise


@contextmanager
def within(kind: str, number: int) -> Iterator[None]:
    """Let errors say where they happened: "in chunk 2: ...", and of a nested one "in matrix 1, chunk 2: ..."."""
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
    """Put names into the message of an error, and its places where they are then.

    A thing of a kind is called ``names[kind](number)``; kinds that are missing stay as they are. In an error about a
    part of the data, number k of a kind is first taken for ``numbers[kind][k]`` of all.
    """

    def of_all(place: Place) -> tuple[int, str]:
        of_kind = (numbers or {}).get(place.kind)
        number = place.number if of_kind is None else int(of_kind[place.number])
        return number, names[place.kind](number)

    _rewrite(error, names, of_all)


def renumber(error: BaseException, numbers: Mapping[str, Numbers]) -> None:
    """Let an error of a part of the data count as the caller does: number k of a kind becomes ``numbers[kind][k]``."""

    def of_all(place: Place) -> tuple[int, str]:
        number = int(numbers[place.kind][place.number])
        return number, f"{place.kind} {number}"

    _rewrite(error, numbers, of_all)


@contextmanager
def in_rows(rows: Numbers | None) -> Iterator[None]:
    """Let errors about some rows count as the caller does: row k of these is row ``rows[k]``; None: they are all."""
    try:
        yield
    except (ValueError, LinAlgError) as error:
        if rows is not None:
            renumber(error, {"row": rows})
        raise


def _rewrite(error: BaseException, kinds: Container[str], change: Callable[[Place], tuple[int, str]]) -> None:
    """Give things of these kinds the number and the name that ``change`` returns."""
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
