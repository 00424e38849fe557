"""Text tables, read in one pass and not as a frame: a frame of 10^5 columns takes three times the memory."""

import csv
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, TextIO

import numpy as np

from fastfs._files.errors import unknown
from fastfs._files.expand import TEXT_BYTES, Held, open_expanded, too_large
from fastfs._machine.run import Run
from fastfs.io._cells import NotANumber, SampleColumn, column_not_numeric, parse_numbers, row_not_numeric
from fastfs.io._layout import Content, Wanted, check_rows, feature_columns, sample_columns


def read_text(path: Path, wanted: Wanted) -> Content:
    with open_table(path, "features" if wanted.transpose else "samples", wanted.budget) as (header, rows):
        return (read_features if wanted.transpose else _read_samples_in_rows)(path, wanted, header, rows)


def _read_samples_in_rows(path: Path, wanted: Wanted, header: list[str], rows: Iterator[list[str]]) -> Content:
    """Read samples in rows, features in columns."""
    names_at, keep = feature_columns(header, [], wanted, path, lambda: (row[0].strip() for row in rows))
    pick = itemgetter(*keep, keep[0])  # one more, because a single one would not come as a tuple
    aside: dict[str, list[str]] = {name: [] for name in wanted.aside}
    aside_at = [(header.index(name), cells) for name, cells in aside.items()]

    values, sample_names = array("d"), []
    held = Held(path, wanted.budget)
    row_bytes = 8 * len(keep) + TEXT_BYTES * (len(aside) + (names_at is not None))
    for sample, row in enumerate(rows):
        held.add(row_bytes)
        cells = pick(row)[:-1]
        try:
            values.frombytes(parse_numbers(cells).tobytes())
        except NotANumber as error:
            j = keep[error.position]
            raise column_not_numeric(path, header[j], sample, cells[error.position], j == 0) from None
        if names_at is not None:
            sample_names.append(row[names_at].strip())
        for j, annotation in aside_at:
            annotation.append(row[j].strip())
    X = np.frombuffer(values).reshape(-1, len(keep))
    of_samples = {name: SampleColumn(values, f"Column '{name}' of '{path}'") for name, values in aside.items()}
    return Content(X, [header[j] for j in keep], sample_names or None, of_samples)


def read_features(path: Path, wanted: Wanted, header: list[str], rows: Iterator[Sequence[str]]) -> Content:
    """Read features in rows, samples in columns."""
    names_at, keep = sample_columns(header, [], wanted, path)
    sample_names = [header[j] for j in keep]
    pick = itemgetter(*keep, keep[0])

    values, names = array("d"), list[str]()
    aside: dict[str, Sequence[str]] = {}
    held = Held(path, wanted.budget)
    for row in rows:
        held.add(8 * len(keep) + TEXT_BYTES)
        name, cells = row[names_at].strip(), pick(row)[:-1]
        if name in wanted.aside or name in wanted.ignore:
            if name in aside:
                raise ValueError(f"'{path}' has 2 rows '{name}': give each a unique name")
            held.add(TEXT_BYTES * len(cells))
            aside[name] = cells
            continue
        try:
            values.frombytes(parse_numbers(cells).tobytes())
        except NotANumber as error:
            # A mistyped name of a label row shows up here, as a row that isn't numeric.
            later = [row[names_at].strip() for row in rows]
            for mistyped in (wanted_name for wanted_name in wanted.aside if wanted_name not in [*aside, *later]):
                raise unknown("row", mistyped, [*names, name, *later], path) from None
            raise row_not_numeric(path, name, sample_names, cells, error.position) from None
        names.append(name)
    check_rows(names, aside, header, wanted, path)
    X = np.frombuffer(values).reshape(len(names), len(keep)).T
    of_samples = {
        name: SampleColumn(stripped(aside[name]), f"Row '{name}' of '{path}'", sample_names) for name in wanted.aside
    }
    return Content(X, names, sample_names, of_samples)


@contextmanager
def open_table(path: Path, what: str, budget: int | None) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """Yield the names in the first line, and an iterator of the rows below it, which hold `what`."""
    with open_text(path, budget) as file:
        separator = _separator(path)
        numbered = _numbered(file, separator, path)
        header = stripped(next(numbered, (0, []))[1])
        if not any(header):
            raise ValueError(f"'{path}' isn't a table: its first line must hold the column names; got a blank line")
        if len(header) == 1 and (other := next((other for other in ",;\t" if other in header[0]), None)):
            separator = other  # spreadsheets write semicolons in countries with decimal commas
            file.seek(0)
            numbered = _numbered(file, separator, path)
            header = stripped(next(numbered)[1])
        filled = ((line, row) for line, row in numbered if row)
        start: tuple[int, list[str]] = next(filled, (0, []))
        first = start[1]
        if not first:
            raise ValueError(f"'{path}' has a header but no {what} below it")
        if len(first) == len(header) + 1:
            # R's write.table leaves the row names out of the header; other programs end each line with a separator.
            header.insert(0 if first[-1] else len(header), "")
        yield header, _checked_rows(chain([start], filled), header, path)


def _checked_rows(rows: Iterable[tuple[int, list[str]]], header: Sequence[str], path: Path) -> Iterator[list[str]]:
    """Yield the cells of each row; refuse rows of another length than the header's, and values without a name."""
    # An empty name is allowed for row names in front, and for the empty column behind a final separator.
    unnamed = [j for j, name in enumerate(header) if not name and j > 0]
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"'{path}' isn't a table: line {line} must have a value for each of the {len(header)} names in its "
                f"header; got {len(row)}"
            )
        for j in unnamed:
            if row[j].strip():
                raise ValueError(
                    f"Column {j} (0-based) of '{path}' has no name in the header: give it one, or remove it"
                )
        yield row


def read_lines(path: Path, budget: int | None, separator: str | None = None) -> list[list[str]]:
    """Return the rows of a text file without a header."""
    held, lines = Held(path, budget), []
    with open_text(path, budget) as file:
        for _, row in _numbered(file, separator or _separator(path), path):
            if row:
                held.add(TEXT_BYTES * len(row))
                lines.append(stripped(row))
    return lines


def read_names(path: Path, budget: int | None = None) -> list[str]:
    """Return the first column of a text file without a header, such as the files that come with a 10x matrix."""
    return [row[0] for row in read_lines(path, budget)]


@contextmanager
def open_text(path: Path, budget: int | None) -> Iterator[TextIO]:
    try:
        # utf-8-sig: spreadsheet programs put a byte order mark in front of the first name.
        with open_expanded(path, budget) as file, _Text(file, path, budget) as text:
            yield text
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' must be UTF-8 text: {error}; save it as UTF-8") from error


class _Text(TextIOWrapper):
    """UTF-8 text that refuses lines with more cells than the budget allows."""

    def __init__(self, file: IO[bytes], path: Path, budget: int | None) -> None:
        super().__init__(file, encoding="utf-8-sig", newline="")
        self._path, self._budget = path, Run(max_memory=budget).available()

    def __next__(self) -> str:  # type: ignore[override]  # as of TextIOWrapper, not of its base
        line = self.readline(self._budget)
        if not line:
            raise StopIteration
        if TEXT_BYTES * len(line) < self._budget:
            return line
        n_bytes = len(line) if len(line) == self._budget else TEXT_BYTES * max(map(line.count, ",;\t"))
        if n_bytes >= self._budget:
            raise too_large(self._path, n_bytes, self._budget)
        return line


def _numbered(file: TextIO, separator: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, each with the number of its last line."""
    before = 0
    for line in file:
        if '"' in line or f"{separator} " in line or line.startswith(" "):
            break  # the rest takes twice the time
        before += 1
        cells = line.rstrip("\r\n")
        yield before, cells.split(separator) if cells else []
    else:
        return
    rows = csv.reader(chain([line], file), delimiter=separator, skipinitialspace=True, strict=True)
    clean = before
    try:
        for row in rows:
            yield clean + rows.line_num, row
            before = clean + rows.line_num
    except csv.Error as error:
        raise ValueError(
            f"'{path}' isn't a table: line {before + 1} has a quote that doesn't close at the end of its cell: "
            "close it, remove it, or write quotes within a cell twice"
        ) from error


def _separator(path: Path) -> str:
    return "," if path.name.lower().endswith((".csv", ".csv.gz")) else "\t"


def stripped(cells: Iterable[str]) -> list[str]:
    return [cell.strip() for cell in cells]
