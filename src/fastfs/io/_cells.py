"""Cells of tables as numbers and as labels, and the errors about those that are neither."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastfs._files.errors import Parameter, TableError, short

# Cells of missing values. "None" isn't one of them: it can be the name of a class, such as no treatment.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")

_SPECIAL_CELLS = {**dict.fromkeys(MISSING, np.nan), "True": 1.0, "TRUE": 1.0, "False": 0.0, "FALSE": 0.0}


class NotANumber(Exception):
    def __init__(self, position: int) -> None:
        self.position = position


class Marks(NamedTuple):
    """The marks in numbers."""

    decimal: str = "."
    thousands: str | None = None

    def plain(self, cell: str) -> str:
        """Return a cell with a decimal point and nothing between thousands, or a word if it isn't written so."""
        sign, digits = re.match(r"([-+]?)(.*)", _with_hyphen(cell), re.DOTALL).groups()  # type: ignore[union-attr]
        if self.thousands is not None and self.thousands in digits:
            mark, point = re.escape(self.thousands), re.escape(self.decimal)
            if not re.fullmatch(rf"\d{{1,3}}({mark}\d{{3}})+({point}\d*)?", digits):
                return cell + "?"
            digits = digits.replace(self.thousands, "")
        if self.decimal == ",":
            digits = digits + "?" if "." in digits else digits.replace(",", ".")
        return sign + digits


_USUAL = Marks()


def parse_numbers(cells: Sequence[str], marks: Marks = _USUAL) -> np.ndarray:
    """Return the cells as numbers, NaN for missing ones; raise NotANumber, with its position, for any other cell."""
    if marks != _USUAL:
        cells = [marks.plain(cell) if cell.strip() not in _SPECIAL_CELLS else cell for cell in cells]
    try:
        if "_" not in "".join(cells):  # Python reads 1_2 as 12, and that is a name rather than a number
            values = np.fromiter(map(float, cells), np.float64, len(cells))
            if not np.isinf(values).any():
                return values
    except ValueError:
        pass
    return np.array([_parse_number(cell, k) for k, cell in enumerate(cells)])


def _parse_number(cell: str, position: int = 0) -> float:
    """Return a cell as a number, NaN if it is missing; raise NotANumber, with this position, for any other."""
    cell = _with_hyphen(cell)
    try:
        special = _SPECIAL_CELLS.get(cell)
        value = float(cell.replace("_", "?")) if special is None else special
    except ValueError:
        raise NotANumber(position) from None
    if _is_too_large(cell, value):
        raise NotANumber(position)
    return value


def _with_hyphen(cell: str) -> str:
    """Return a cell with a hyphen for a minus sign, as word processors and R's tables for papers write it."""
    return cell.strip().replace("\N{MINUS SIGN}", "-")


def _is_too_large(cell: str, value: float) -> bool:
    """Return whether a cell has digits, but a number of such a size isn't in the range of floats."""
    return value in (np.inf, -np.inf) and any(map(str.isdigit, cell))


def has_decimal_comma(cell: str) -> bool:
    """Return whether a cell can be a number with a decimal comma."""
    return re.fullmatch(r"[-+]?\d*,\d+(e[-+]?\d+)?", _with_hyphen(cell), re.IGNORECASE) is not None


def with_points(cells: list[str], decimal: str | None) -> list[str]:
    """Return the cells of a column about samples with decimal points, if all of them are numbers with commas."""
    if decimal != ",":
        return cells
    known = [cell for cell in cells if cell not in MISSING]
    is_number = all(has_decimal_comma(cell) or re.fullmatch(r"[-+]?\d+", _with_hyphen(cell)) for cell in known)
    return [_with_hyphen(cell).replace(",", ".") for cell in cells] if is_number else cells


def _advice(column: str, cell: str, is_first: bool) -> list[str | Parameter]:
    """Return how to mend a cell that is not a number: decimal commas, marks between thousands, too large numbers,
    names.

    In the first column it advises to leave out names of samples.
    """
    comma, thousands = Parameter("decimal", ","), Parameter("thousands", ",")
    cell = cell.strip()
    if re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell, re.IGNORECASE) and cell.count(".") < 2:
        return [
            "numbers end at 1.8e308: correct the cell, or leave the column out with ",
            Parameter("ignore", [column]),
        ]
    if re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", cell):
        whole, part = cell.split(",")
        return [f"if it means {whole}{part}, read it with ", thousands, f"; if it means {whole}.{part}, with ", comma]
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", cell):
        return ["read commas between thousands with ", thousands]
    if re.fullmatch(r"[-+]?\d{1,3}(\.\d{3})+,\d+", cell):
        return ["read decimal commas, and points between thousands, with ", comma, " and ", Parameter("thousands", ".")]
    if has_decimal_comma(cell):
        return ["if all numbers have decimal commas, read them with ", comma, "; points and commas don't mix"]
    ignore = Parameter("ignore", [column])
    if is_first:
        return ["if these are the names of the samples, leave them out with ", ignore]
    return ["leave it out with ", ignore, ", or write numbers"]


def column_not_numeric(path: Path, name: str, row: int, cell: str, is_first: bool) -> TableError:
    problem = f"Column '{name}' of '{path}' is not numeric: row {row} (0-based) has {short(cell)!r}; "
    return TableError(problem, *_advice(name, cell, is_first))


def column_of_kind(path: Path, name: str, kind: str) -> TableError:
    problem = f"Column '{name}' of '{path}' holds {kind}, not numbers: leave it out with "
    return TableError(problem, Parameter("ignore", [name]), ", or write numbers")


def row_not_numeric(path: Path, name: str, samples: Sequence[str], cells: Sequence[str], position: int) -> TableError:
    """Return the error for a word among numbers: about the row if most cells are words, else about the column."""

    def is_number(cell: str) -> bool:
        try:
            _parse_number(cell)
        except NotANumber:
            return False
        return True

    row_is_wrong = sum(map(is_number, cells)) < len(cells) / 2
    what, wrong, other = ("Row", name, "column") if row_is_wrong else ("Column", samples[position], "row")
    where = samples[position] if row_is_wrong else name
    problem = f"{what} '{wrong}' of '{path}' is not numeric: {other} '{where}' has {short(cells[position])!r}; "
    return TableError(problem, *_advice(wrong, cells[position], False))


@dataclass(frozen=True)
class SampleColumn:
    """Labels, or another column about the samples, as a file has it.

    Parameters
    ----------
    cells : sequence
        One cell per sample: text, or another value that the file stores.
    where : str
        The column in words, for errors.
    samples : sequence of str, optional
        The columns of the file that hold the samples, if these are columns.
    missing_codes : tuple of str
        Cells that stand for a missing value besides the usual ones. With any, samples without a value are left out.
    """

    cells: Sequence[Any] | np.ndarray
    where: str
    samples: Sequence[str] | None = None
    missing_codes: tuple[str, ...] = ()

    def is_missing(self) -> np.ndarray:
        """Return which cells are missing."""
        if isinstance(self.cells, np.ndarray):
            is_float = self.cells.dtype.kind == "f"
            return np.isnan(self.cells) if is_float else np.zeros(len(self.cells), bool)
        return np.array([_is_missing(cell) or cell in self.missing_codes for cell in self.cells], bool)

    def require_no_missing(self) -> None:
        """Raise TableError that names the first sample with a missing cell, and counts the others, if there are any."""
        missing = np.flatnonzero(self.is_missing())
        if len(missing):
            sample = int(missing[0])
            place = f"row {sample} (0-based)" if self.samples is None else f"column '{self.samples[sample]}'"
            more = f", and in {len(missing) - 1} more" if len(missing) > 1 else ""
            raise TableError(
                f"{self.where} has no value in {place}{more}: fill it in, or leave such samples out with ",
                Parameter("drop_missing", True),
            )

    def of(self, kept: np.ndarray) -> np.ndarray:
        """Return the values of the samples that are kept."""
        if isinstance(self.cells, np.ndarray):
            values: np.ndarray = self.cells[kept]
            return values
        return _convert_labels([self.cells[sample] for sample in kept])


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and cell in MISSING)


def _convert_labels(labels: Sequence[Any]) -> np.ndarray:
    """Return labels as an array: numbers or bools that the file has as such, text that is integers, or text.

    Text such as 01 or 1.0 stays text, so that no two classes become one.
    """
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, dtype=bool)
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        return np.array(labels)
    text = [str(label) for label in labels]
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", label) for label in text):
        return np.array(text).astype(np.int64)
    return np.array(text)
