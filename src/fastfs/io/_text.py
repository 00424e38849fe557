"""Text tables, read in one pass and not as a frame: a frame of 10^5 columns takes three times the memory."""

import csv
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from fastfs.io._cells import NotANumber, as_labels, column_not_numeric, numbers, row_not_numeric
from fastfs.io._errors import unknown
from fastfs.io._expand import open_expanded
from fastfs.io._layout import Content, Wanted, check_rows, feature_columns, sample_columns


def read_text(path: Path, wanted: Wanted) -> Content:
    with open_table(path, "features" if wanted.transpose else "samples", wanted.budget) as (header, rows):
        return (read_features if wanted.transpose else _read_samples)(path, wanted, header, rows)


def _read_samples(path: Path, wanted: Wanted, header: list[str], rows: Iterator[list[str]]) -> Content:
    """Samples in rows, features in columns."""
    names_at, keep = feature_columns(header, [], wanted, path, lambda: [row[0].strip() for row in rows])
    pick = itemgetter(*keep, keep[0])  # one more, because a single one would not come as a tuple
    aside: dict[str, list[str]] = {name: [] for name in wanted.aside}
    aside_at = [(header.index(name), cells) for name, cells in aside.items()]

    values, sample_names = array("d"), []
    for sample, row in enumerate(rows):
        cells = pick(row)[:-1]
        try:
            values.extend(numbers(cells))
        except NotANumber as error:
            j = keep[error.position]
            raise column_not_numeric(path, header[j], sample, cells[error.position], j == 0) from None
        if names_at is not None:
            sample_names.append(row[names_at].strip())
        for j, found in aside_at:
            found.append(row[j].strip())
    X = np.frombuffer(values).reshape(-1, len(keep))
    of_samples = {name: as_labels(found, f"Column '{name}' of '{path}'") for name, found in aside.items()}
    return Content(X, [header[j] for j in keep], sample_names or None, of_samples)


def read_features(path: Path, wanted: Wanted, header: list[str], rows: Iterator[Sequence[str]]) -> Content:
    """Features in rows, samples in columns."""
    names_at, keep = sample_columns(header, [], wanted, path)
    sample_names = [header[j] for j in keep]
    pick = itemgetter(*keep, keep[0])

    values, names = array("d"), list[str]()
    aside: dict[str, Sequence[str]] = {}
    for row in rows:
        name, cells = row[names_at].strip(), pick(row)[:-1]
        if name in wanted.aside or name in wanted.ignore:
            if name in aside:
                raise ValueError(f"'{path}' has 2 rows '{name}'; each needs a name of its own")
            aside[name] = cells
            continue
        try:
            values.extend(numbers(cells))
        except NotANumber as error:
            # A name that was mistyped shows up here, as a row that is no feature.
            later = [row[names_at].strip() for row in rows]
            for mistyped in (wanted_name for wanted_name in wanted.aside if wanted_name not in [*aside, *later]):
                raise unknown("row", mistyped, [*names, name, *later], path) from None
            raise row_not_numeric(path, name, sample_names, cells, error.position) from None
        names.append(name)
    check_rows(names, aside, header, wanted, path)
    X = np.frombuffer(values).reshape(len(names), len(keep)).T
    of_samples = {
        name: as_labels(stripped(aside[name]), f"Row '{name}' of '{path}'", sample_names) for name in wanted.aside
    }
    return Content(X, names, sample_names, of_samples)


@contextmanager
def open_table(path: Path, what: str, budget: int | None) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The names in the first line, and the rows below it, which hold `what`, each with a cell for each name."""
    with open_text(path, budget) as file:
        separator = _separator(path)
        rows = _reader(file, separator)
        header = stripped(next(rows, []))
        if not any(header):
            raise ValueError(f"'{path}' is no table: expected the column names in its first line, but that is blank")
        if len(header) == 1 and (other := next((other for other in ",;\t" if other in header[0]), None)):
            separator = other  # what a spreadsheet calls CSV has semicolons in half of Europe
            file.seek(0)
            rows = _reader(file, separator)
            header = stripped(next(rows))
        numbered = ((rows.line_num, row) for row in rows if row)
        start: tuple[int, list[str]] = next(numbered, (0, []))
        first = start[1]
        if not first:
            raise ValueError(f"'{path}' has a header but no {what} below it")
        if len(first) == len(header) + 1:
            # R's write.table gives the row names no place in the header; others end each line with a separator.
            header.insert(0 if first[-1] else len(header), "")
        yield header, _of_equal_length(chain([start], numbered), header, path)


def _of_equal_length(rows: Iterable[tuple[int, list[str]]], header: Sequence[str], path: Path) -> Iterator[list[str]]:
    # No name is fine for the row names in front and for what a separator at the end of each line leaves.
    unnamed = [j for j, name in enumerate(header) if not name and j > 0]
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(f"'{path}' is no table: line {line} has {len(row)} values, its header {len(header)} names")
        for j in unnamed:
            if row[j].strip():
                raise ValueError(f"Column {j + 1} of '{path}' has no name in the header; give it one, or remove it")
        yield row


def read_lines(path: Path, budget: int | None) -> list[list[str]]:
    """The rows of a text file without a header."""
    with open_text(path, budget) as file:
        return [stripped(row) for row in _reader(file, _separator(path)) if row]


def read_names(path: Path, budget: int | None = None) -> list[str]:
    """The first column of a text file without a header, as of the files that come with a 10x matrix."""
    return [row[0] for row in read_lines(path, budget)]


@contextmanager
def open_text(path: Path, budget: int | None) -> Iterator[TextIO]:
    try:
        # utf-8-sig: spreadsheet programs put a byte order mark in front of the first name.
        with open_expanded(path, budget) as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield text
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"'{path}' is no table: expected UTF-8 text, but {error}") from error


def _reader(file: TextIO, separator: str) -> Any:
    return csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)


def _separator(path: Path) -> str:
    return "," if path.name.lower().endswith((".csv", ".csv.gz")) else "\t"


def stripped(cells: Iterable[str]) -> list[str]:
    return [cell.strip() for cell in cells]
