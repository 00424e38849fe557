"""Sheets of Excel files."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastfs._files.errors import Parameter, TableError, damage_of, some_of, unknown
from fastfs._files.expand import Held

ENDING = ".xlsx"


def is_sheet(path: Path) -> bool:
    return path.name.lower().endswith(ENDING)


@contextmanager
def open_sheet(
    path: Path, sheet: str | None, budget: int | None, decimal: str = "."
) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Yield an iterator of the rows of a sheet as text, each with its number; blank rows have no cells.

    Cells that hold numbers are written with the decimal mark of the cells that hold text.
    """
    from openpyxl import load_workbook

    held = Held(path, budget)
    _check_size(path, held)
    with damage_of(path, "Excel file"):
        book = load_workbook(path, read_only=True, data_only=True)
    try:
        names = [one.title for one in book.worksheets]
        if sheet is None and len(names) > 1:
            raise TableError(
                f"'{path}' has several sheets: choose one with ", Parameter("sheet"), f" ({some_of(names)})"
            )
        if sheet is not None and sheet not in names:
            raise unknown("sheet", sheet, names, path)
        yield _rows(book[sheet or names[0]], path, decimal)
    finally:
        book.close()


def _check_size(path: Path, held: Held) -> None:
    """Count the bytes that the archive declares, before any is expanded."""
    import zipfile

    with damage_of(path, "Excel file"), zipfile.ZipFile(path) as archive:
        n_bytes = sum(entry.file_size for entry in archive.infolist())
    held.add(n_bytes)


def _rows(sheet: Any, path: Path, decimal: str) -> Iterator[tuple[int, list[str]]]:
    width = 0
    with damage_of(path, "Excel file"):
        for line, row in enumerate(sheet.iter_rows(values_only=True), 1):
            cells = [_text(cell, path, line, decimal) for cell in row]
            while cells and not cells[-1] and (not width or len(cells) > width):
                cells.pop()  # formatted cells without a value behind the table
            if not any(cells):
                yield line, []
                continue
            width = width or len(cells)
            yield line, cells + [""] * (width - len(cells))


def _text(cell: Any, path: Path, line: int, decimal: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell).strip()
