"""Sheets of Excel files."""

import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

from fastfs._files.errors import Parameter, TableError, damage_of, some_of, unknown
from fastfs._files.expand import Held

ENDING = ".xlsx"


def is_sheet(path: Path) -> bool:
    return path.name.lower().endswith(ENDING)


@contextmanager
def open_sheet(
    path: Path, sheet: str | None, budget: int | None, decimal: str = ".", option: str = "sheet"
) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Yield an iterator of the rows of a sheet as text, each with its number; blank rows have no cells.

    Cells that hold numbers are written with the decimal mark of the cells that hold text. Raise ValueError for an
    unknown sheet, several and none chosen by `option`, or a damaged file.
    """
    from openpyxl import load_workbook

    held = Held(path, budget)
    _check_size(path, held)
    with damage_of(path, "Excel file"):
        book = load_workbook(path, read_only=True, data_only=True)
    formulas = None
    try:
        if _has_formulas(path):
            with damage_of(path, "Excel file"):
                formulas = load_workbook(path, read_only=True)
        names = [one.title for one in book.worksheets]
        if sheet is None and len(names) > 1:
            raise TableError(
                f"'{path}' has several sheets: choose one with ", Parameter(option), f" ({some_of(names)})"
            )
        if sheet is not None and sheet not in names:
            raise unknown("sheet", sheet, names, path)
        name = sheet or names[0]
        yield _rows(book[name], None if formulas is None else formulas[name], path, decimal)
    finally:
        for one in (book, formulas):
            if one is not None:
                one.close()


def _has_formulas(path: Path) -> bool:
    """Return whether a sheet of the file has a formula: some programs don't store its value."""
    import zipfile

    with damage_of(path, "Excel file"), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.startswith("xl/worksheets/"):
                continue
            with archive.open(name) as file:
                before = b""
                while part := file.read(1 << 20):
                    if re.search(rb"<f[ >/]", before + part):
                        return True
                    before = part[-2:]
    return False


def _check_size(path: Path, held: Held) -> None:
    """Charge to `held` the bytes that the archive declares, before any is expanded."""
    import zipfile

    with damage_of(path, "Excel file"), zipfile.ZipFile(path) as archive:
        n_bytes = sum(entry.file_size for entry in archive.infolist())
    held.add(n_bytes)


def _rows(sheet: Any, formulas: Any, path: Path, decimal: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number (from 1) and the cells of each row as text; raise an error for a formula without a value.

    Empty cells behind the first row's last one are cut off, and shorter rows are filled up.
    """
    width = 0
    with damage_of(path, "Excel file"):
        sources = repeat(()) if formulas is None else formulas.iter_rows(values_only=True)
        for line, (row, source) in enumerate(zip(sheet.iter_rows(values_only=True), sources, strict=False), 1):
            for column, (cell, formula) in enumerate(zip(row, source, strict=False), 1):
                if cell is None and formula is not None:
                    raise _without_value(path, line, column)
            cells = [_text(cell, decimal) for cell in row]
            while cells and not cells[-1] and (not width or len(cells) > width):
                cells.pop()  # formatted cells without a value behind the table
            if not any(cells):
                yield line, []
                continue
            width = width or len(cells)
            yield line, cells + [""] * (width - len(cells))


def _without_value(path: Path, line: int, column: int) -> TableError:
    from openpyxl.utils import get_column_letter

    return TableError(
        f"Cell {get_column_letter(column)}{line} of '{path}' has a formula without a stored value: open the file in "
        "Excel or LibreOffice and save it there, or save the sheet as CSV"
    )


def _text(cell: Any, decimal: str) -> str:
    """Return a cell as text; an empty one is "", whole numbers have no point, fractions this decimal mark, and dates no
    time 00:00:00.
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell).strip()
