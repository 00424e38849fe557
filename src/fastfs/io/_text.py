"""Rows of text files and sheets."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from fastfs._files.errors import Parameter, TableError, short
from fastfs._files.expand import TEXT_BYTES, Held, open_expanded, too_large
from fastfs._machine.run import Run
from fastfs.io._encoding import encoding_of, not_decoded
from fastfs.io._options import ReadOptions
from fastfs.io._sheets import is_sheet, open_sheet

_Numbered: TypeAlias = Iterator[tuple[int, list[str]]]


class TextForm(NamedTuple):
    """How the text of a file is read."""

    budget: int | None = None
    encoding: str | None = None
    comment: str | None = None
    separator: str | None = None  # None: by the ending of the name
    sheet: str | None = None
    is_sheet: bool | None = None  # None: by the ending of the name
    decimal: str = "."
    sheet_option: str = "sheet"  # the option that chooses the sheet


def form_of(options: ReadOptions, budget: int | None) -> TextForm:
    """Return how the text of the file of features is read."""
    kind = options.format
    separator = None if kind is None else "," if kind.startswith("csv") else "\t"
    is_excel = None if kind is None else kind == "xlsx"
    decimal = options.decimal or "."
    return TextForm(budget, options.encoding, options.comment, separator, options.sheet, is_excel, decimal)


def form_of_labels(options: ReadOptions, budget: int | None) -> TextForm:
    """Return how the text of a file of labels is read: by its name, in the encoding of the file of features."""
    decimal = options.decimal or "."
    return TextForm(
        budget, options.encoding, options.comment, None, options.labels_sheet, None, decimal, "labels_sheet"
    )


class Rows:
    """The rows of a table, and the line of the last one."""

    def __init__(self, rows: _Numbered) -> None:
        self._rows = rows
        self.line = 0

    def __iter__(self) -> "Rows":
        return self

    def __next__(self) -> list[str]:
        self.line, row = next(self._rows)
        return row


@contextmanager
def open_table(path: Path, what: str, form: TextForm) -> Iterator[tuple[list[str], Rows]]:
    """Yield the names in the first line, and an iterator of the rows below it, which hold `what`.

    If they make one column, another separator is looked for. R leaves the name of the row names out: an empty name is
    added. Raise ValueError for a blank header or no rows, TableError for lines of comments in front.
    """
    with _open_rows(path, form) as (numbered, again):
        header = stripped(next(numbered, (0, []))[1])
        if not any(header):
            raise ValueError(f"'{path}' isn't a table: its first line must hold the column names; got a blank line")
        other = next((other for other in ",;\t" if other in header[0]), None)
        if len(header) == 1 and other is not None and again is not None:
            numbered = again(other)  # spreadsheets write semicolons in countries with decimal commas
            header = stripped(next(numbered)[1])
        filled = ((line, row) for line, row in numbered if row)
        start: tuple[int, list[str]] = next(filled, (0, []))
        first = start[1]
        if not first:
            raise ValueError(f"'{path}' has a header but no {what} below it: add them, or give another file")
        is_odd = len(header) == 1 or len(first) - len(header) not in (0, 1) or first[0].startswith("#")
        if header[0].startswith("#") and is_odd and form.comment is None:
            begins = f"'{path}' begins with '{short(header[0])}', which isn't the header of the table below it: "
            raise TableError(begins, "skip such lines with ", Parameter("comment", "#"))
        if len(first) == len(header) + 1:
            # R's write.table leaves the row names out of the header; other programs end each line with a separator.
            header.insert(0 if first[-1] else len(header), "")
        yield header, Rows(_checked_rows(chain([start], filled), header, path))


def _checked_rows(rows: Iterable[tuple[int, list[str]]], header: Sequence[str], path: Path) -> _Numbered:
    """Yield the cells of each row; raise ValueError for another length than the header's, and for values without a
    name.
    """
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
        yield line, row


@contextmanager
def _open_rows(path: Path, form: TextForm) -> Iterator[tuple[_Numbered, Callable[[str], _Numbered] | None]]:
    """Yield the rows of a file, text or a sheet, with their lines; of text, also a function that starts again with
    another separator.

    The separator is found unless `form` names it.
    """
    if is_sheet(path) if form.is_sheet is None else form.is_sheet:
        with open_sheet(path, form.sheet, form.budget, form.decimal, form.sheet_option) as rows:
            yield rows, None
        return
    with open_text(path, form) as file:

        def again(separator: str) -> _Numbered:
            file.restart()
            return _numbered(file, separator, path)

        yield _numbered(file, form.separator or _separator(path), path), again


def read_lines(path: Path, form: TextForm) -> list[list[str]]:
    """Return the rows of a file without a header, cells stripped, without blank rows; raise MemoryError above the
    budget.
    """
    held, lines = Held(path, form.budget), []
    with _open_rows(path, form) as (rows, _):
        for _, row in rows:
            if row:
                held.add(TEXT_BYTES * len(row))
                lines.append(stripped(row))
    return lines


def read_names(path: Path, budget: int | None = None) -> list[str]:
    """Return the first column of a text file without a header, such as the files that come with a 10x matrix."""
    return [row[0] for row in read_lines(path, TextForm(budget))]


def read_pairs(path: Path, budget: int | None = None) -> list[list[str]]:
    """Return the rows of a text file of two columns without a header, such as the edges of a network.

    Raise ValueError for another number of columns.
    """
    rows = [row for row in read_lines(path, TextForm(budget)) if any(row)]
    if not rows:
        raise ValueError(f"'{path}' must hold pairs; got no row")
    for number, row in enumerate(rows):
        if len(row) != 2:
            raise ValueError(f"'{path}' must have two columns, a pair in each row; got {len(row)} in row {number}")
    return rows


@contextmanager
def open_text(path: Path, form: TextForm) -> Iterator["Text"]:
    try:
        encoding = encoding_of(path, form.encoding, form.budget)
        with open_expanded(path, form.budget) as file, Text(file, path, encoding, form) as text:
            yield text
    except UnicodeDecodeError as error:
        raise not_decoded(path, error, form.encoding, form.budget) from error


class Text(TextIOWrapper):
    """Text without comments, and the number of its last line; refuses lines with more cells than the budget allows."""

    def __init__(self, file: IO[bytes], path: Path, encoding: str, form: TextForm) -> None:
        super().__init__(file, encoding=encoding, newline="")
        self._path, self._budget = path, Run(max_memory=form.budget).available()
        self._comment = form.comment
        self.line = 0

    def restart(self) -> None:
        """Go back to the first line."""
        self.seek(0)
        self.line = 0

    def __next__(self) -> str:  # type: ignore[override]  # as of TextIOWrapper, not of its base
        """Return the next line that isn't a comment; raise MemoryError if its cells exceed the budget."""
        while True:
            line = self.readline(self._budget)
            if not line:
                raise StopIteration
            self.line += 1
            if self._comment is None or not line.startswith(self._comment):
                break
        if TEXT_BYTES * len(line) < self._budget:
            return line
        n_bytes = len(line) if len(line) == self._budget else TEXT_BYTES * max(map(line.count, ",;\t"))
        if n_bytes >= self._budget:
            raise too_large(self._path, n_bytes, self._budget)
        return line


def _numbered(file: Text, separator: str, path: Path) -> _Numbered:
    """Yield the rows, each with the number of its last line; cells in quotes can hold separators and ends of lines.

    Raise ValueError for a quote that doesn't close at the end of its cell.
    """
    for line in file:
        if '"' in line or f"{separator} " in line or line.startswith(" "):
            break  # the rest takes twice the time
        cells = line.rstrip("\r\n")
        yield file.line, cells.split(separator) if cells else []
    else:
        return
    before = file.line - 1
    rows = csv.reader(chain([line], file), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for row in rows:
            yield file.line, row
            before = file.line
    except csv.Error as error:
        raise ValueError(
            f"'{path}' isn't a table: line {before + 1} has a quote that doesn't close at the end of its cell: "
            "close it, remove it, or write quotes within a cell twice"
        ) from error


def _separator(path: Path) -> str:
    return "," if path.name.lower().endswith((".csv", ".csv.gz")) else "\t"


def stripped(cells: Iterable[str]) -> list[str]:
    return [cell.strip() for cell in cells]
