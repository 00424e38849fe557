"""Cells of tables as numbers and as labels, and the errors about those that are neither."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastfs.io._errors import Parameter, TableError, short

# Cells that are no numbers to Python. "None" isn't among the missing: it can well be a class, such as no treatment.
_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")

_SPECIAL_CELLS = {**dict.fromkeys(_MISSING, np.nan), "True": 1.0, "TRUE": 1.0, "False": 0.0, "FALSE": 0.0}


class NotANumber(Exception):
    def __init__(self, position: int) -> None:
        self.position = position


def numbers(cells: Sequence[str]) -> list[float]:
    """The cells as numbers; missing ones are NaN."""
    try:
        if "_" not in "".join(cells):  # Python reads 1_2 as 12, and that is a name rather than a number
            return list(map(float, cells))
    except ValueError:
        pass
    return [_number(cell, k) for k, cell in enumerate(cells)]


def _number(cell: str, position: int = 0) -> float:
    cell = cell.strip()
    try:
        special = _SPECIAL_CELLS.get(cell)
        return float(cell.replace("_", "?")) if special is None else special
    except ValueError:
        raise NotANumber(position) from None


def _advice(column: str, cell: str, is_first: bool) -> list[str | Parameter]:
    points = "write decimal points, not decimal commas (in R with write.csv, not write.csv2)"
    thousands = "write numbers without commas between thousands"
    cell = cell.strip()
    if re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", cell):
        whole, part = cell.split(",")
        return [f"if it means {whole}{part}, {thousands}; if it means {whole}.{part}, {points}"]
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", cell):
        return [thousands]
    if re.fullmatch(r"[-+]?(\d*|\d{1,3}(\.\d{3})+),\d+(e[-+]?\d+)?", cell, re.IGNORECASE):
        return [points + (", and nothing between thousands" if "." in cell else "")]
    ignore = Parameter("ignore", [column])
    if is_first:
        return ["if these are the names of the samples, leave them out with ", ignore]
    return ["leave it out with ", ignore, ", or write numbers"]


def column_not_numeric(path: Path, name: str, row: int, cell: str, is_first: bool) -> TableError:
    found = f"Column '{name}' of '{path}' is not numeric: row {row} (0-based) has {short(cell)!r}; "
    return TableError(found, *_advice(name, cell, is_first))


def column_of_kind(path: Path, name: str, kind: str) -> TableError:
    found = f"Column '{name}' of '{path}' holds {kind}, not numbers: leave it out with "
    return TableError(found, Parameter("ignore", [name]), ", or write numbers")


def row_not_numeric(path: Path, name: str, samples: Sequence[str], cells: Sequence[str], position: int) -> TableError:
    """The row is no feature if most of its cells aren't numbers; else the column is no sample."""

    def is_number(cell: str) -> bool:
        try:
            _number(cell)
        except NotANumber:
            return False
        return True

    row_is_wrong = sum(map(is_number, cells)) < len(cells) / 2
    what, wrong, other = ("Row", name, "column") if row_is_wrong else ("Column", samples[position], "row")
    where = samples[position] if row_is_wrong else name
    found = f"{what} '{wrong}' of '{path}' is not numeric: {other} '{where}' has {short(cells[position])!r}; "
    return TableError(found, *_advice(wrong, cells[position], False))


def as_labels(labels: Sequence[Any], where: str, samples: Sequence[str] | None = None) -> np.ndarray:
    """Labels as an array: numbers or bools that the file has as such, text that is nothing but integers, or text.

    Text such as 01 or 1.0 stays text, so that no two classes become one.
    """
    for sample, label in enumerate(labels):
        if label is None or label != label or (isinstance(label, str) and label in _MISSING):
            place = f"row {sample} (0-based)" if samples is None else f"column '{samples[sample]}'"
            raise ValueError(f"{where} has no value in {place}: fill it in, or leave the sample out")
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, dtype=bool)
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        return np.array(labels)
    text = [str(label) for label in labels]
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", label) for label in text):
        return np.array(text).astype(np.int64)
    return np.array(text)
