"""The file formats of `fastfs.io.read_table`, one after the other, and files of labels and names beside them.

Messages name the options of the command line, which most who read them use.
"""

import csv
import difflib
import gzip
import io
import re
import warnings
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from fastfs._machine.run import DataWarning

# Names take about 100 bytes each. Ten times as many features as any array of methylation probes has.
_MOST_COLUMNS = 10_000_000

# A first column of this name holds row names: as CSV has it, as pandas calls it, as pandas stores it in Parquet.
_ROW_NAMES = ("", "Unnamed: 0", "__index_level_0__")

# Cells that are no numbers to Python. "None" isn't among the missing: it can well be a class, such as no treatment.
_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
_SPECIAL_CELLS = {**dict.fromkeys(_MISSING, np.nan), "True": 1.0, "TRUE": 1.0, "False": 0.0, "FALSE": 0.0}


@dataclass(frozen=True)
class Wanted:
    """What the caller of `read_table` said about the file."""

    label: str | None
    has_labels: bool  # or they come from a file of their own
    ignore: frozenset[str]
    transpose: bool
    feature_names: Path | None
    layer: str | None


@dataclass(frozen=True)
class Content:
    """What a reader found: samples in rows, features that are wanted in columns."""

    X: Any
    y: np.ndarray | None
    feature_names: list[str]
    sample_names: list[str] | None = None


# Text: rows of cells, read in one pass and not as a frame: one of 10^5 columns takes three times the memory


def _read_text(path: Path, wanted: Wanted) -> Content:
    with _open_table(path, "features" if wanted.transpose else "samples") as (header, rows):
        return (_read_features if wanted.transpose else _read_samples)(path, wanted, header, rows)


@contextmanager
def _open_table(path: Path, what: str) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The names in the first line, and the rows below it, which hold `what`, each with a cell for each name."""
    with _open_text(path) as file:
        separator = _separator(path)
        rows = _reader(file, separator)
        header = _stripped(next(rows, []))
        if not any(header):
            raise ValueError(f"'{path}' is no table: expected the column names in its first line, but that is blank")
        if len(header) == 1 and (other := next((other for other in ",;\t" if other in header[0]), None)):
            separator = other  # what a spreadsheet calls CSV has semicolons in half of Europe
            file.seek(0)
            rows = _reader(file, separator)
            header = _stripped(next(rows))
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


def _reader(file: TextIO, separator: str) -> Any:
    return csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)


def _stripped(cells: Iterable[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _read_lines(path: Path) -> list[list[str]]:
    """The rows of a text file without a header."""
    with _open_text(path) as file:
        return [_stripped(row) for row in _reader(file, _separator(path)) if row]


@contextmanager
def _open_text(path: Path) -> Iterator[TextIO]:
    is_gzip = path.suffix.lower() == ".gz"
    try:
        # utf-8-sig: spreadsheet programs put a byte order mark in front of the first name.
        with (gzip.open if is_gzip else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"'{path}' is no table: expected UTF-8 text, but {error}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"'{path}' is no gzip file, or a damaged one: {error}") from error


def _separator(path: Path) -> str:
    return "," if path.name.lower().endswith((".csv", ".csv.gz")) else "\t"


def _read_samples(path: Path, wanted: Wanted, header: list[str], rows: Iterator[list[str]]) -> Content:
    """Samples in rows, features in columns."""
    names_at, keep = _feature_columns(header, [], wanted, path, lambda: [row[0].strip() for row in rows])
    pick = itemgetter(*keep, keep[0])  # one more, because a single one would not come as a tuple
    label_at = None if wanted.label is None else header.index(wanted.label)

    values, sample_names, labels = array("d"), [], []
    for sample, row in enumerate(rows):
        cells = pick(row)[:-1]
        try:
            values.extend(_numbers(cells))
        except _NotANumber as error:
            j = keep[error.position]
            raise _column_not_numeric(path, header[j], sample, cells[error.position], j == 0) from None
        if names_at is not None:
            sample_names.append(row[names_at].strip())
        if label_at is not None:
            labels.append(row[label_at].strip())
    X = np.frombuffer(values).reshape(-1, len(keep))
    y = None if label_at is None else _as_labels(labels, f"Label column '{wanted.label}' of '{path}'")
    return Content(X, y, [header[j] for j in keep], sample_names or None)


def _read_features(path: Path, wanted: Wanted, header: list[str], rows: Iterator[list[str]]) -> Content:
    """Features in rows, samples in columns."""
    names_at, keep = _sample_columns(header, [], wanted, path)
    sample_names = [header[j] for j in keep]
    pick = itemgetter(*keep, keep[0])

    values, names = array("d"), list[str]()
    aside: dict[str, Sequence[str]] = {}
    for row in rows:
        name, cells = row[names_at].strip(), pick(row)[:-1]
        if name == wanted.label or name in wanted.ignore:
            if name in aside:
                raise ValueError(f"'{path}' has 2 rows '{name}'; each needs a name of its own")
            aside[name] = cells
            continue
        try:
            values.extend(_numbers(cells))
        except _NotANumber as error:
            if wanted.label is not None and wanted.label not in aside:
                # A label that was mistyped shows up here, as a row that is no feature.
                later = [row[names_at].strip() for row in rows]
                if wanted.label not in later:
                    raise unknown("row", wanted.label, [*names, name, *later], path) from None
            raise _row_not_numeric(path, name, sample_names, cells, error.position) from None
        names.append(name)
    _check_rows(names, aside, header, wanted, path)
    X = np.frombuffer(values).reshape(len(names), len(keep)).T
    y = None
    if wanted.label is not None:
        y = _as_labels(_stripped(aside[wanted.label]), f"Label row '{wanted.label}' of '{path}'", sample_names)
    return Content(X, y, names, sample_names)


def _feature_columns(
    header: Sequence[str],
    index: list[int],
    wanted: Wanted,
    path: Path,
    first_cells: Callable[[], Collection[str]],
) -> tuple[int | None, list[int]]:
    """With samples in rows: the position of their names, if they have any, and those of the features.

    `index` are the columns that the file itself says hold row names; `first_cells` reads the first column, to see
    whether the label is there.
    """
    label = wanted.label
    if wanted.has_labels and label is None:
        raise ValueError(
            f"'{path}' needs a label column: choose one with --label (columns: {_some_of(header)}), or give a file of "
            "labels with --labels"
        )
    if label is not None and label not in header:
        if label in first_cells():
            raise ValueError(f"'{path}' has '{label}' as a row, not as a column: add --transpose")
        if len(header) == 1:
            raise ValueError(
                f"'{path}' has no column '{label}', only '{_short(header[0])}': is it a table with commas, semicolons "
                "or tabs between its columns?"
            )
        raise unknown("column", label, header, path)
    if not index and header[0] in _ROW_NAMES:
        index = [0]
    index = [j for j in index if header[j] != label]
    names_at = index[0] if index else 0 if header[0] in wanted.ignore else None
    named = [j for j, name in enumerate(header) if name and (j not in index or name in wanted.ignore)]
    left_out = wanted.ignore if label is None else wanted.ignore | {label}
    return names_at, [named[k] for k in _features([header[j] for j in named], left_out, path)]


def _sample_columns(header: Sequence[str], index: list[int], wanted: Wanted, path: Path) -> tuple[int, list[int]]:
    """With features in rows: the position of their names, and those of the samples."""
    if wanted.has_labels and wanted.label is None:
        raise ValueError(f"'{path}' needs a label row: choose one with --label, or give a file of labels with --labels")
    left = [j for j, name in enumerate(header) if j not in index and name not in wanted.ignore and (name or j == 0)]
    if wanted.label is not None and wanted.label in (header[j] for j in left[1:]):
        raise ValueError(f"'{path}' has '{wanted.label}' as a column, not as a row: leave out --transpose")
    names_at, keep = (index[0], left) if index else (left[0], left[1:]) if left else (0, [])
    if not keep:
        raise ValueError(f"'{path}' has no sample column: its columns are {_some_of(header)}")
    _check_unique([header[j] for j in keep], "columns", path)
    return names_at, keep


def _check_rows(
    names: Sequence[str], aside: Collection[str], header: Sequence[str], wanted: Wanted, path: Path
) -> None:
    """With features in rows: what the caller named is there, each name is there once, and there is a feature."""
    if wanted.label is not None and wanted.label not in aside:
        raise unknown("row", wanted.label, [*aside, *names], path)
    for name in sorted(wanted.ignore):
        if name not in aside and name not in header:
            raise unknown("row or column", name, [*header, *aside, *names], path)
    _check_unique(names, "rows", path)
    if not names:
        raise ValueError(f"'{path}' has no feature row: its rows are {_some_of([*aside])}")


class _NotANumber(Exception):
    def __init__(self, position: int) -> None:
        self.position = position


def _numbers(cells: Sequence[str]) -> list[float]:
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
        raise _NotANumber(position) from None


def _advice(column: str, cell: str, is_first: bool) -> str:
    if re.fullmatch(r"-?\d*,\d+(e-?\d+)?", cell.strip(), re.IGNORECASE):
        return "write decimal points, not decimal commas (in R with write.csv, not write.csv2)"
    if is_first:
        return f"if these are the names of the samples, leave them out with --ignore '{column}'"
    return f"leave it out with --ignore '{column}', or write numbers"


def _column_not_numeric(path: Path, name: str, row: int, cell: str, is_first: bool) -> ValueError:
    return ValueError(
        f"Column '{name}' of '{path}' is not numeric: row {row} (counted from 0) has {_short(cell)!r}; "
        f"{_advice(name, cell, is_first)}"
    )


def _row_not_numeric(path: Path, name: str, samples: Sequence[str], cells: Sequence[str], position: int) -> ValueError:
    """With features in rows, either a row is no feature or a column no sample: what most of the row's cells say."""

    def is_number(cell: str) -> bool:
        try:
            _number(cell)
        except _NotANumber:
            return False
        return True

    row_is_wrong = sum(map(is_number, cells)) < len(cells) / 2
    what, wrong, other = ("Row", name, "column") if row_is_wrong else ("Column", samples[position], "row")
    where = samples[position] if row_is_wrong else name
    return ValueError(
        f"{what} '{wrong}' of '{path}' is not numeric: {other} '{where}' has {_short(cells[position])!r}; "
        f"{_advice(wrong, cells[position], False)}"
    )


def _as_labels(labels: Sequence[Any], where: str, samples: Sequence[str] | None = None) -> np.ndarray:
    """Labels as an array: numbers or bools that the file has as such, text that is nothing but integers, or text.

    Text such as 01 or 1.0 stays text, so that no two classes become one.
    """
    for sample, label in enumerate(labels):
        if label is None or label != label or (isinstance(label, str) and label in _MISSING):
            place = f"row {sample}, counted from 0" if samples is None else f"column '{samples[sample]}'"
            raise ValueError(f"{where} has no value in {place}")
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, dtype=bool)
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        return np.array(labels)
    text = [str(label) for label in labels]
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", label) for label in text):
        return np.array(text).astype(np.int64)
    return np.array(text)


# Labels and names that stand in files of their own


def read_labels(path: Path, label: str | None, content: Content, data: Path) -> np.ndarray:
    """One label for each sample of `content`, which was read from `data`."""
    if label is None:
        rows = _read_lines(path)
        for row in rows:
            if len(row) > 1:
                raise ValueError(f"'{path}' has the columns {_some_of(rows[0])}: choose one of them with --label")
        found = [row[0] for row in rows]
    else:
        with _open_table(path, "samples") as (header, lines):
            if label not in header:
                raise unknown("column", label, header, path)
            rows = [_stripped(row) for row in lines]
        label_at = header.index(label)
        if label_at > 0:
            rows = _by_name(rows, content.sample_names, path, data)
        found = [row[label_at] for row in rows]
    n_samples, n_features = content.X.shape
    if len(found) != n_samples:
        hint = ""
        if len(found) == n_samples + 1 and label is None:
            hint = f"; if '{_short(found[0])}' is the name of the column, add --label '{_short(found[0])}'"
        elif len(found) == n_features:
            hint = "; are its features in rows? Then add --transpose, or leave it out if it's there"
        raise ValueError(f"'{path}' has {len(found)} labels for the {n_samples} samples of '{data}'{hint}")
    return _as_labels(found, f"'{path}'" if label is None else f"Column '{label}' of '{path}'")


def _by_name(rows: list[list[str]], samples: list[str] | None, path: Path, data: Path) -> list[list[str]]:
    """The rows whose first cells are the names of the samples, in their order; all rows if none has such a name."""
    if samples is None:
        return rows
    row_of = {row[0]: row for row in rows}
    if row_of.keys().isdisjoint(samples):
        warnings.warn(
            f"the first column of '{path}' names no sample of '{data}' (it has {_some_of([*row_of])}, not "
            f"{_some_of(samples)}): its lines count in order",
            DataWarning,
            stacklevel=2,
        )
        return rows
    missing = next((name for name in samples if name not in row_of), None)
    if missing is not None:
        raise ValueError(
            f"'{path}' names samples of '{data}' in its first column, but not '{_short(missing)}': add it, or remove "
            "that column if the labels count in order"
        )
    if len(row_of) < len(rows):
        name = Counter(row[0] for row in rows).most_common(1)[0][0]
        raise ValueError(f"'{path}' has the sample '{_short(name)}' more than once in its first column")
    return [row_of[name] for name in samples]


def _read_names(path: Path) -> list[str]:
    """The first column of a text file without a header, as of the files that come with a 10x matrix."""
    return [row[0] for row in _read_lines(path)]


# Parquet


def _read_parquet(path: Path, wanted: Wanted) -> Content:
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read()
        table.validate(full=True)
        header = table.column_names
        # pandas' metadata says which columns are its index.
        index_names = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"'{path}' is no Parquet file, or a damaged one: {_one_line(error)}") from error
    if not table.num_rows or not header:
        raise ValueError(f"'{path}' has {table.num_rows} rows and {len(header)} columns; expected a table")
    index = [j for j, name in enumerate(header) if name in index_names]
    if wanted.transpose:
        return _read_parquet_features(path, wanted, table, index)

    def text(j: int) -> list[str]:
        return ["" if value is None else str(value) for value in table.column(j).to_pylist()]

    names_at, keep = _feature_columns(header, index, wanted, path, lambda: text(index[0] if index else 0))
    X = np.empty((table.num_rows, len(keep)), _dtype_of(table, keep), order="F")
    for k, j in enumerate(keep):
        try:
            X[:, k] = _as_numbers(table.column(j))
        except _NotANumber as error:
            raise _column_not_numeric(path, header[j], error.position, text(j)[error.position], j == 0) from None
    y = None
    if wanted.label is not None:
        labels = table.column(header.index(wanted.label)).to_pylist()
        y = _as_labels(labels, f"Label column '{wanted.label}' of '{path}'")
    return Content(X, y, [header[j] for j in keep], None if names_at is None else text(names_at))


def _read_parquet_features(path: Path, wanted: Wanted, table: Any, index: list[int]) -> Content:
    """Features in rows, samples in columns."""
    header = table.column_names
    names_at, keep = _sample_columns(header, index, wanted, path)
    row_names = ["" if name is None else str(name) for name in table.column(names_at).to_pylist()]
    aside: dict[str, int] = {}
    rows = []
    for i, name in enumerate(row_names):
        if name != wanted.label and name not in wanted.ignore:
            rows.append(i)
        elif name in aside:
            raise ValueError(f"'{path}' has 2 rows '{name}'; each needs a name of its own")
        else:
            aside[name] = i
    names, samples = [row_names[i] for i in rows], [header[j] for j in keep]
    _check_rows(names, aside, header, wanted, path)

    features = table.take(rows) if aside else table
    X = np.empty((len(keep), len(rows)), _dtype_of(table, keep))
    for k, j in enumerate(keep):
        try:
            X[k] = _as_numbers(features.column(j))
        except _NotANumber as error:
            cells = [
                "" if cell is None else str(cell) for cell in features.slice(error.position, 1).to_pylist()[0].values()
            ]
            raise _row_not_numeric(path, names[error.position], samples, [cells[i] for i in keep], k) from None
    y = None
    if wanted.label is not None:
        labels = [table.column(j)[aside[wanted.label]].as_py() for j in keep]
        y = _as_labels(labels, f"Label row '{wanted.label}' of '{path}'", samples)
    return Content(X, y, names, samples)


def _dtype_of(table: Any, columns: Sequence[int]) -> type[np.floating]:
    import pyarrow

    types = table.schema.types  # taken once: it is a new list each time
    types = {types[j] for j in columns}
    return np.float32 if types <= {pyarrow.float16(), pyarrow.float32()} else np.float64


def _as_numbers(column: Any) -> np.ndarray:
    """A column of a Parquet file as numbers; missing values are NaN."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    of = column.type
    if types.is_floating(of):
        return np.asarray(column)
    if types.is_integer(of) or types.is_boolean(of) or types.is_decimal(of) or types.is_null(of):
        return np.asarray(column.cast(pyarrow.float64(), safe=False))
    return np.array(_numbers(["" if cell is None else str(cell) for cell in column.to_pylist()]))


# H5AD


def read_h5ad(path: Path, wanted: Wanted) -> Content:
    from anndata.io import read_elem  # first: if both are missing, it's anndata that the user has to install

    import h5py  # isort: skip

    if wanted.transpose:
        raise ValueError(f"'{path}' has samples in rows, as all H5AD files: leave out --transpose")

    # Only what is needed is read: other layers, raw counts and neighbours can be many times larger.
    name = "X" if wanted.layer is None else f"layers/{wanted.layer}"
    try:
        with h5py.File(path, "r") as file:
            missing = [part for part in ("obs", "var") if part not in file]
            is_old = "obs" in file and isinstance(file["obs"], h5py.Dataset)
            layers = list(file.get("layers", ()))
            readable = not missing and not is_old and name in file
            if readable:
                obs, var, X = read_elem(file["obs"]), read_elem(file["var"]), read_elem(file[name])
    except MemoryError:
        raise
    except Exception as error:  # a damaged file raises anything
        raise ValueError(f"'{path}' is no H5AD file, or a damaged one: {_one_line(error)}") from error
    if missing:
        raise ValueError(f"'{path}' is no H5AD file: it has no '{missing[0]}'")
    if is_old:
        raise ValueError(f"'{path}' was written by anndata before 0.7; read and write it with a newer one")
    if wanted.layer is not None and wanted.layer not in layers:
        raise unknown("layer", wanted.layer, layers, path)
    if not readable or X is None:
        raise ValueError(f"'{path}' has no X; choose a layer with --layer (layers: {_some_of(layers)})")
    y = _obs_labels(obs, wanted.label, path) if wanted.has_labels else None
    X = _as_csr_or_csc(X, path) if hasattr(X, "tocsr") else _as_float(np.asarray(X), path)
    if X.shape != (len(obs), len(var)):
        raise ValueError(f"'{path}' is damaged: '{name}' is {X.shape}, but obs has {len(obs)} rows and var {len(var)}")
    if not X.shape[0]:
        raise ValueError(f"'{path}' has no samples")
    names = [str(feature) for feature in var.index]
    keep = _features(names, wanted.ignore, path, "feature")
    return Content(_columns(X, keep), y, [names[j] for j in keep], [str(sample) for sample in obs.index])


def _obs_labels(obs: Any, label: str | None, path: Path) -> np.ndarray:
    columns = [str(name) for name in obs.columns]
    if label is None:
        raise ValueError(f"'{path}' needs a label column: choose one of obs with --label ({_some_of(columns)})")
    if label not in columns:
        raise unknown("column of obs", label, columns, path)
    column = obs[label]
    return _as_labels(column.astype(object).where(column.notna(), None).tolist(), f"'{label}' in obs of '{path}'")


# MatrixMarket

_REAL_FIELDS = ("real", "double", "integer", "unsigned-integer")


def read_mtx(path: Path, wanted: Wanted) -> Content:
    from scipy.io import mminfo, mmread
    from scipy.sparse import csr_array, issparse

    if wanted.has_labels:
        raise ValueError(f"'{path}' holds no labels: give a file of them with --labels")
    try:
        *shape, _, _, field, _ = mminfo(path)
        if field in _REAL_FIELDS and max(shape) <= _MOST_COLUMNS:
            is_gzip = path.suffix.lower() == ".gz"
            with (gzip.open if is_gzip else open)(path, "rb") as file, io.BufferedReader(_Guarded(file)) as stream:
                matrix = mmread(stream)
    except (ValueError, OverflowError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"'{path}' is no MatrixMarket file, or a damaged one: {_one_line(error)}") from error
    if field not in _REAL_FIELDS:
        raise ValueError(f"'{path}' has the field '{field}'; expected a matrix of real or integer values")
    if max(shape) > _MOST_COLUMNS:
        raise ValueError(f"'{path}' is {shape[0]} x {shape[1]}; at most {_MOST_COLUMNS} rows and columns are read")
    matrix = matrix.T if wanted.transpose else matrix
    X = _as_csr_or_csc(csr_array(matrix), path) if issparse(matrix) else _as_float(matrix, path)
    n_samples, n_features = X.shape

    names_file = wanted.feature_names or _beside(path, "features.tsv", "genes.tsv")
    names = [f"x{j}" for j in range(n_features)]
    if names_file is not None:
        names = _read_names(names_file)
        if len(names) != n_features:
            hint = f"; expected {n_features} lines, without a header"
            if len(names) == n_samples:
                turn = "leave out --transpose" if wanted.transpose else "add --transpose"
                hint = f", which are its {'columns' if wanted.transpose else 'rows'}: {turn}"
            raise ValueError(f"'{names_file}' names {len(names)} features of '{path}'{hint}")
    keep = _features(names, wanted.ignore, path, "feature")
    samples_file = _beside(path, "barcodes.tsv")
    samples = _read_names(samples_file) if samples_file is not None else None
    if samples is not None and len(samples) != n_samples:
        raise ValueError(f"'{samples_file}' names {len(samples)} samples, but '{path}' has {n_samples}")
    return Content(_columns(X, keep), None, [names[j] for j in keep], samples)


class _Guarded(io.RawIOBase):
    """A text file for SciPy's reader, which crashes (as of 1.17) at null bytes and at a last line cut within a number.

    A null byte raises, and the last line gets an end.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._at_end = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer))
        if b"\0" in part:
            raise ValueError("it holds null bytes")
        if not part and not self._at_end:
            part, self._at_end = b"\n", True
        buffer[: len(part)] = part
        return len(part)


def _beside(path: Path, *names: str) -> Path | None:
    """The file of such a name that 10x tools write beside matrix.mtx, both with the same prefix, if there is one."""
    prefix = re.fullmatch(r"(.*)matrix\.mtx(\.gz)?", path.name, re.IGNORECASE)
    candidates = [path.with_name(f"{prefix[1]}{name}{gz}") for name in names for gz in ("", ".gz")] if prefix else []
    return next((candidate for candidate in candidates if candidate.is_file()), None)


# NPZ

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


def _read_npz(path: Path, wanted: Wanted) -> Content:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"'{path}' is no NPZ archive: write it with numpy.savez(path, X=X, y=y)")
    try:
        archive = np.load(path, allow_pickle=False)
    except (ValueError, *_ZIP_ERRORS) as error:
        raise ValueError(f"'{path}' is a damaged NPZ archive: {error}") from error
    with archive:

        def array(name: str) -> np.ndarray:
            try:
                return np.asarray(archive[name])
            except KeyError as error:
                raise unknown("array", name, archive.files, path) from error
            except ValueError as error:
                raise ValueError(f"Array '{name}' of '{path}' cannot be read: {error}") from error
            except _ZIP_ERRORS as error:
                raise ValueError(f"'{path}' is a damaged NPZ archive: {error}") from error

        X: Any
        if "X" in archive.files or "indptr" not in archive.files:
            X = _as_float(array("X"), path)
        elif "format" in archive.files and array("format").item() not in ("csr", b"csr"):
            raise ValueError(f"'{path}' holds a sparse matrix as {array('format').item()!r}; expected 'csr'")
        else:
            X = _csr(array("data"), array("indices"), array("indptr"), array("shape"), path)
        if X.ndim != 2:
            raise ValueError(f"Array 'X' of '{path}' must be samples x features; it has {X.ndim} dimension(s)")
        X = X.T if wanted.transpose else X

        label = wanted.label or "y"
        y = array(label) if wanted.has_labels else None
        if y is not None and y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError(f"Label array '{label}' of '{path}' is NaN in row {np.isnan(y).argmax()}, counted from 0")
        # Any other label array than y has classes of its own.
        if y is not None and label == "y" and "class_names" in archive.files:
            class_names = array("class_names")
            if y.dtype.kind not in "iu" or (y.size and not 0 <= y.min() <= y.max() < len(class_names)):
                raise ValueError(f"Array 'y' of '{path}' must hold indices into its {len(class_names)} class_names")
            y = class_names[y]

        n_features = X.shape[1]
        if n_features > _MOST_COLUMNS:
            raise ValueError(f"'{path}' has {n_features} columns; at most {_MOST_COLUMNS} can be named and ranked")
        names = [f"x{j}" for j in range(n_features)]
        if "feature_names" in archive.files:
            names = [str(name) for name in array("feature_names").ravel()]
        if len(names) != n_features:
            raise ValueError(f"'{path}' has {len(names)} feature_names for the {n_features} columns of X")
    keep = _features(names, wanted.ignore, path, "feature")
    return Content(_columns(X, keep), y, [names[j] for j in keep])


def _as_float(values: np.ndarray, path: Path) -> np.ndarray:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"Array 'X' of '{path}' must hold real numbers, not {values.dtype}")
    return values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64, copy=False)


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray, path: Path) -> Any:
    from scipy.sparse import csr_array

    try:
        parts = (data, indices.astype(np.int64), indptr.astype(np.int64))
        matrix = csr_array(parts, shape=tuple(shape.tolist()))
    except ValueError as error:
        raise ValueError(f"The parts of the sparse matrix in '{path}' do not fit together: {error}") from error
    return _as_csr_or_csc(matrix, path)


def _as_csr_or_csc(matrix: Any, path: Path) -> Any:
    try:
        matrix.check_format()  # the constructors believe the indices
    except ValueError as error:
        raise ValueError(f"The parts of the sparse matrix in '{path}' do not fit together: {error}") from error
    data = _as_float(matrix.data, path)
    return matrix if data is matrix.data else type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _columns(X: Any, keep: Sequence[int]) -> Any:
    return X if len(keep) == X.shape[1] else X[:, keep]


READERS: dict[str, Callable[[Path, Wanted], Content]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".txt": _read_text,
    ".csv.gz": _read_text,
    ".tsv.gz": _read_text,
    ".txt.gz": _read_text,
    ".parquet": _read_parquet,
    ".h5ad": read_h5ad,
    ".mtx": read_mtx,
    ".mtx.gz": read_mtx,
    ".npz": _read_npz,
}


def check_input(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'")
    if path.is_dir():
        raise ValueError(f"'{path}' is a directory; expected a file")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"'{path}' is empty")


def _features(names: Sequence[str], left_out: Collection[str], path: Path, what: str = "column") -> list[int]:
    """Positions of the feature columns: all that are not left out."""
    present = set(names)
    for name in sorted(left_out):
        if name not in present:
            raise unknown(what, name, names, path)
    _check_unique(names, f"{what}s", path)
    keep = [j for j, name in enumerate(names) if name not in left_out]
    if not keep:
        raise ValueError(f"'{path}' has no feature column: its columns are {_some_of(names)}")
    return keep


def _check_unique(names: Sequence[str], what: str, path: Path) -> None:
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        advice = "; each needs a name of its own"
        if path.suffix.lower() == ".h5ad":
            advice += ", as adata.var_names_make_unique() gives them"
        raise ValueError(f"'{path}' has {count} {what} '{_short(name)}'{advice}")


def unknown(what: str, name: str, available: Sequence[str], path: str | Path) -> ValueError:
    # Labels stand first or last; comparing the name with 10^6 features would take seconds.
    close = difflib.get_close_matches(name, [*available[:1000], *available[-1000:]], 1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return ValueError(f"'{path}' has no {what} '{name}' (it has {_some_of(available)}){hint}")


def _some_of(names: Sequence[str]) -> str:
    if not names:
        return "none"
    return ", ".join(_short(name) for name in (names if len(names) <= 6 else [*names[:3], "...", *names[-2:]]))


def any_of(endings: Collection[str]) -> str:
    *most, last = endings
    return f"{', '.join(most)} or {last}"


def _one_line(error: Exception) -> str:
    return _short(str(error).strip().partition("\n")[0].rstrip("."), 200) or type(error).__name__


def _short(text: object, length: int = 40) -> str:
    text = str(text)
    return text if len(text) <= length else text[: length - 1] + "…"
