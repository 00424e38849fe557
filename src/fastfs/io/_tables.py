"""Text tables and sheets, read in one pass and not as a frame: a frame of 10^5 columns takes three times the memory."""

import re
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np

from fastfs._files.errors import some_of, unknown
from fastfs._files.expand import TEXT_BYTES, Held
from fastfs._machine.run import warn
from fastfs.io._cells import (
    MISSING,
    NotANumber,
    SampleColumn,
    column_not_numeric,
    has_decimal_comma,
    parse_numbers,
    row_not_numeric,
    with_points,
)
from fastfs.io._known import check_known
from fastfs.io._layout import (
    Content,
    MaybeDecimalComma,
    Wanted,
    check_rows,
    feature_columns,
    not_numeric,
    sample_columns,
    without_name,
)
from fastfs.io._long import read_long
from fastfs.io._text import Rows, open_table, stripped


def read_text(path: Path, wanted: Wanted) -> Content:
    """Read a text table or a sheet; decimal commas are found, with a warning, if no cell contradicts them.

    If one does, its error is raised. Also warn of names of features that look like dates.
    """
    try:
        content = _read_marked(path, wanted)
    except MaybeDecimalComma as maybe:
        if not _all_have_decimal_commas(path, wanted, maybe.columns):
            raise maybe.error from None
        warn([f"'{path}' has decimal commas in all its numbers, and is read so"])
        content = _read_marked(path, replace(wanted, decimal=","))
    _warn_of_dates(content.feature_names, path)
    return content


# Names that spreadsheets make of genes such as SEPT2 and MARCH1.
_DATE = re.compile(
    r"\d{1,2}[-/. ](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|"
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/. ]\d{1,2}|\d{4}-\d{2}-\d{2}",
    re.IGNORECASE,
)


def _warn_of_dates(names: Sequence[str], path: Path) -> None:
    """Warn of names of features that look like dates, into which spreadsheets turn names of genes."""
    dates = [name for name in names if name[:1].isalnum() and _DATE.fullmatch(name)]
    if dates:
        warn(
            [
                f"'{path}' has {len(dates)} name{'s' * (len(dates) > 1)} of features like dates, such as "
                f"'{dates[0]}': a "
                "spreadsheet can have changed names of genes such as SEPT2"
            ]
        )


def _read_marked(path: Path, wanted: Wanted) -> Content:
    """Read a text table or a sheet in the layout and with the marks of `wanted`: long, features or samples in rows.

    With `numbers_only`, columns that hold a word are left out.
    """
    what = "features" if wanted.transpose else "samples"
    words: set[int] = set()
    if wanted.numbers_only:
        with open_table(path, what, wanted.text_form) as (header, rows):
            words = _columns_of_words(header, rows, wanted, path)
    with open_table(path, what, wanted.text_form) as (header, rows):
        check_known(header, wanted, path)
        if wanted.long is not None:
            return read_long(path, wanted, header, rows)
        if wanted.transpose:
            return read_features(path, wanted, header, rows, words)
        return _read_samples_in_rows(path, wanted, header, rows, words)


def _all_have_decimal_commas(path: Path, wanted: Wanted, columns: Sequence[int]) -> bool:
    """Return whether every number of these columns is an integer or has a decimal comma, and one can't be else."""
    is_certain = False
    with open_table(path, "rows", wanted.text_form) as (header, rows):
        names_at = header.index(wanted.names_from) if wanted.names_from in header else 0
        for row in rows:
            name = row[names_at].strip()
            if wanted.transpose and (name in wanted.aside or name in wanted.ignored):
                continue
            for j in columns:
                cell = row[j].strip()
                if cell in MISSING or re.fullmatch(r"[-+]?\d+(e[-+]?\d+)?", cell, re.IGNORECASE):
                    continue
                if not has_decimal_comma(cell):
                    return False
                is_certain = is_certain or not re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", cell)
    return is_certain


def _columns_of_words(header: Sequence[str], rows: Iterable[list[str]], wanted: Wanted, path: Path) -> set[int]:
    """Return the columns with a cell that isn't a number, and warn of those that have a name.

    The label, annotations, names of features and ignored columns aren't looked at.
    """
    names_at = header.index(wanted.names_from) if wanted.names_from in header else 0
    not_features = {*wanted.aside, wanted.key, *([header[names_at]] if wanted.transpose else [])}
    numeric = [j for j, name in enumerate(header) if name not in not_features and name not in wanted.ignored]
    words = set[int]()
    for row in rows:
        name = row[names_at].strip()
        if wanted.transpose and (name in wanted.aside or name in wanted.ignored):
            continue
        try:
            parse_numbers([row[j] for j in numeric], wanted.marks)
        except NotANumber:
            words.update(j for j in numeric if _is_word(row[j].strip(), wanted))
            numeric = [j for j in numeric if j not in words]
    names = [header[j] for j in sorted(words) if header[j]]
    if names:
        warn([f"'{path}' has {len(names)} column{'s' * (len(names) > 1)} of words, left out: {some_of(names)}"])
    return words


def _is_word(cell: str, wanted: Wanted) -> bool:
    try:
        parse_numbers([cell], wanted.marks)
    except NotANumber:
        return wanted.decimal is not None or not has_decimal_comma(cell)
    return False


def _read_samples_in_rows(
    path: Path, wanted: Wanted, header: list[str], rows: "Rows", words: Collection[int] = ()
) -> Content:
    """Read samples in rows, features in columns; labels and annotations are columns.

    Raise TableError for a cell that isn't a number, or if some samples only have a name.
    """
    names_at, keep = feature_columns(header, [], wanted, path, lambda: (row[0].strip() for row in rows), words)
    pick = itemgetter(*keep, keep[0])  # one more, because a single one would not come as a tuple
    aside: dict[str, list[str]] = {name: [] for name in wanted.aside}
    aside_at = [(header.index(name), cells) for name, cells in aside.items()]

    values, sample_names, marks = array("d"), list[str](), wanted.marks
    unnamed = list[int]()
    held = Held(path, wanted.budget)
    row_bytes = 8 * len(keep) + TEXT_BYTES * (len(aside) + (names_at is not None))
    for sample, row in enumerate(rows):
        held.add(row_bytes)
        cells = pick(row)[:-1]
        try:
            values.frombytes(parse_numbers(cells, marks).tobytes())
        except NotANumber as error:
            j = keep[error.position]
            cell = cells[error.position]
            raise not_numeric(column_not_numeric(path, header[j], sample, cell, j == 0), cell, wanted, keep) from None
        if names_at is not None:
            sample_names.append(row[names_at].strip())
            if not sample_names[-1]:
                unnamed.append(rows.line)
        for j, annotation in aside_at:
            annotation.append(row[j].strip())
    if unnamed and any(sample_names):
        raise without_name("sample", "", unnamed, path)
    X = np.frombuffer(values).reshape(-1, len(keep))
    of_samples = {
        name: SampleColumn(with_points(values, wanted.decimal), f"Column '{name}' of '{path}'")
        for name, values in aside.items()
    }
    return Content(X, [header[j] for j in keep], sample_names or None, of_samples)


def read_features(
    path: Path, wanted: Wanted, header: list[str], rows: Iterable[Sequence[str]], words: Collection[int] = ()
) -> Content:
    """Read features in rows, samples in columns; labels and annotations are rows.

    Raise ValueError for a cell that isn't a number, a feature without a name, and a row of labels that is missing or
    repeats.
    """
    names_at, keep, sample_names = sample_columns(header, [], wanted, path, words)
    pick = itemgetter(*keep, keep[0])

    values, names, marks = array("d"), list[str](), wanted.marks
    aside: dict[str, Sequence[str]] = {}
    unnamed: dict[str, list[int]] = {}
    held = Held(path, wanted.budget)
    rows = iter(rows)
    for row in rows:
        held.add(8 * len(keep) + TEXT_BYTES)
        name, cells = row[names_at].strip(), pick(row)[:-1]
        is_aside = name in wanted.aside
        if is_aside or name in wanted.ignored:
            if is_aside and name in aside:
                raise ValueError(f"'{path}' has 2 rows '{name}': give each a unique name")
            held.add(TEXT_BYTES * len(cells))
            aside[name] = cells
            continue
        if name in MISSING:
            unnamed.setdefault(name, []).append(getattr(rows, "line", 0))
        try:
            values.frombytes(parse_numbers(cells, marks).tobytes())
        except NotANumber as error:
            cell = cells[error.position]
            wrong = row_not_numeric(path, name, sample_names, cells, error.position)
            if isinstance(maybe := not_numeric(wrong, cell, wanted, keep), MaybeDecimalComma):
                raise maybe from None
            # A mistyped name of a label row shows up here, as a row that isn't numeric.
            later = [row[names_at].strip() for row in rows]
            for mistyped in (wanted_name for wanted_name in wanted.aside if wanted_name not in [*aside, *later]):
                raise unknown("row", mistyped, [*names, name, *later], path) from None
            raise wrong from None
        names.append(name)
    check_rows(names, aside, header, wanted, path)
    for name, lines in unnamed.items():
        if any(lines):
            raise without_name("feature", name, lines, path)
    X = np.frombuffer(values).reshape(len(names), len(keep)).T
    of_samples = {
        name: SampleColumn(
            with_points(stripped(aside[name]), wanted.decimal), f"Row '{name}' of '{path}'", sample_names
        )
        for name in wanted.aside
    }
    return Content(X, names, sample_names, of_samples)
