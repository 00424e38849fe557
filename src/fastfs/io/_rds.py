"""RDS files, which R's saveRDS writes: matrices, data.frames and Bioconductor's experiments."""

import contextlib
import importlib
import io
import re
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastfs._files.errors import Parameter, TableError, damage_of, damaged, some_of, unknown, without_samples
from fastfs._files.expand import Bounded, Held
from fastfs.io._cells import NotANumber, SampleColumn, column_not_numeric, column_of_kind, parse_numbers
from fastfs.io._layout import (
    OR_LABELS,
    Content,
    Wanted,
    check_rows,
    feature_columns,
    features_of,
    require_no_transpose,
    sample_columns,
)
from fastfs.io._matrices import as_matrix, columns_of

# Decompressors by the first bytes of a file. Some builds of Python lack the last two modules.
_MODULES = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}

# R's missing integer, which rds2py leaves in some vectors.
_MISSING = np.iinfo(np.int32).min

_NUMERIC = ("integer", "double", "boolean")
_DATES = ("Date", "POSIXct", "POSIXlt", "difftime")


def read_rds(path: Path, wanted: Wanted) -> Content:
    """Read a data frame, a matrix or an experiment of Bioconductor; features in rows with transpose.

    Raise ValueError for other objects, or columns that don't fit, and TableError for a `layer` without an experiment.
    """
    parsed = _parse_rds(path, wanted.budget)
    if _has(parsed, "assays", "colData"):
        return _read_experiment(path, wanted, parsed)
    if wanted.layer is not None:
        raise TableError(f"'{path}' holds no experiment with assays: leave out ", Parameter("layer"))
    classes = _classes(parsed)
    if "data.frame" in classes:
        with damage_of(path, "RDS file"):
            header, rows = _strings(_attribute(parsed, "names")), _strings(_attribute(parsed, "row.names"))
            columns = parsed["data"]
            lengths = {len(one["data"]) for one in columns if one["type"] in (*_NUMERIC, "string")}
            if len(columns) != len(header or []) or len(lengths | {len(rows or ())} - {0}) > 1:
                raise ValueError("the columns of its data.frame don't fit their names, or each other")
        table = _Table(header or [], rows, _Frame(columns, header or [], path))
    elif _has(parsed, "dim") or _has(parsed, "Dim"):
        X, rows, header = _matrix(parsed, f"'{path}'")
        table = _Table(header or [f"x{j}" for j in range(X.shape[1])], rows, _Matrix(X, path))
    elif "Seurat" in classes:
        raise ValueError(
            f"'{path}' holds a Seurat object: make a SingleCellExperiment of it in R by "
            f"saveRDS(Seurat::as.SingleCellExperiment(readRDS('{path}')), 'sce.rds'), and read that file"
        )
    else:
        raise ValueError(
            f"'{path}' must hold a matrix, a data.frame, or an experiment of Bioconductor; got an object of class "
            f"'{classes[0]}': save one by saveRDS(x, 'x.rds')"
        )
    return (_read_features if wanted.transpose else _read_table_of_samples)(path, wanted, table)


def _parse_rds(path: Path, budget: int | None) -> dict[str, Any]:
    """Return the object of the file, expanded, as rds2py gives it: type, data, attributes, and the class of S4 objects.

    Raise ValueError for a file of save(), text, or a cut-off file.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # it prints which of its optional packages are missing
        from rds2py import parse_rds

    with tempfile.TemporaryDirectory() as folder, damage_of(path, "RDS file"):
        plain = path
        with path.open("rb") as file:
            start = file.read(6)
        module = next((module for magic, module in _MODULES.items() if start.startswith(magic)), None)
        if module is not None:
            plain = Path(folder, "expanded.rds")
            with importlib.import_module(module).open(path) as file, plain.open("wb") as to:
                shutil.copyfileobj(io.BufferedReader(Bounded(file, path, budget), 1 << 18), to)
            with plain.open("rb") as file:
                start = file.read(6)
        Held(path, budget).add(plain.stat().st_size)
        if start.startswith((b"RDX", b"RDA")):
            raise ValueError("save() wrote it, so write the object by saveRDS() instead")
        if not start.startswith(b"X\n"):
            raise ValueError("it must have the binary format of saveRDS()")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of objects that it leaves out, such as formulas
            try:
                parsed: dict[str, Any] = parse_rds(str(plain))
            except Exception as error:
                raise ValueError(
                    "it is cut off, or holds functions, as a DESeqDataSet does; then save, in R, "
                    "SummarizedExperiment(assays(x), colData = colData(x)) instead"
                ) from error
        return parsed


# Objects of R


def _attribute(parsed: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the attribute at the end of a chain of names; {} if there is none."""
    for name in names:
        parsed = (parsed.get("attributes") or {}).get(name, {})
    return parsed


def _has(parsed: dict[str, Any], *names: str) -> bool:
    return all(_attribute(parsed, name) for name in names)


def _strings(parsed: dict[str, Any]) -> list[str] | None:
    return ["" if cell is None else cell for cell in parsed["data"]] if parsed.get("type") == "string" else None


def _classes(parsed: dict[str, Any]) -> list[str]:
    return _strings(_attribute(parsed, "class")) or [parsed.get("class_name") or parsed["type"]]


def _numbers(parsed: dict[str, Any]) -> np.ndarray:
    values = np.array(parsed["data"])
    if values.dtype == object:  # bools, some of them missing
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    is_missing = values == _MISSING if values.dtype.kind == "i" else np.zeros(0, bool)
    return np.where(is_missing, np.nan, values) if is_missing.any() else values


def _cells(parsed: dict[str, Any], where: str) -> list[Any]:
    """Return a column's cells: text, numbers, or the levels of a factor; missing ones are None.

    Raise ValueError for others.
    """
    if "factor" in _classes(parsed):
        levels = _strings(_attribute(parsed, "levels")) or []
        codes = _numbers(parsed)
        if not np.all(np.isnan(codes) | (codes >= 1) & (codes <= len(levels))):
            raise ValueError(f"{where} is damaged: it has codes outside its {len(levels)} levels; save it again")
        return [None if code != code else levels[int(code) - 1] for code in codes.tolist()]
    if parsed["type"] == "string":
        return list(parsed["data"])
    if parsed["type"] not in _NUMERIC:
        raise ValueError(f"{where} must hold text, numbers or a factor; got class '{_classes(parsed)[0]}'")
    return [None if value != value else value for value in _numbers(parsed).tolist()]


def _matrix(parsed: dict[str, Any], what: str) -> tuple[Any, list[str] | None, list[str] | None]:
    """Return a matrix, dense or sparse, and the names of its rows and columns, if it has any.

    Raise ValueError, which calls it `what`, for other objects and values.
    """
    from scipy import sparse

    form = re.fullmatch(r"[dl]g([CRT])Matrix", parsed.get("class_name") or "")
    if form is None and not (parsed["type"] in _NUMERIC and len(_attribute(parsed, "dim").get("data", ())) == 2):
        raise ValueError(
            f"{what} must be a matrix of numbers, or a dgCMatrix as of as(x, 'dgCMatrix'); got class "
            f"'{_classes(parsed)[0]}'"
        )
    if form is None:
        X = _numbers(parsed).reshape(_attribute(parsed, "dim")["data"].tolist(), order="F")
        names = _attribute(parsed, "dimnames").get("data") or [{}, {}]
        return X, _strings(names[0]), _strings(names[1])
    shape = tuple(_attribute(parsed, "Dim")["data"].tolist())
    i, j, p = (_attribute(parsed, name).get("data") for name in "ijp")
    values = _numbers(_attribute(parsed, "x"))
    if form[1] == "T":
        X = sparse.coo_array((values, (i, j)), shape=shape).tocsr()
    else:
        X = (sparse.csc_array if form[1] == "C" else sparse.csr_array)(
            (values, i if form[1] == "C" else j, p), shape=shape
        )
    names = _attribute(parsed, "Dimnames").get("data") or [{}, {}]
    return X, _strings(names[0]), _strings(names[1])


# Bioconductor's experiments: features in rows, annotations of the samples in colData


def _read_experiment(path: Path, wanted: Wanted, parsed: dict[str, Any]) -> Content:
    """Read an assay of an experiment, which has features in rows, and columns of its colData.

    It is the first one, or `layer`. Raise ValueError for an unknown assay or column, no label, `transpose`, or a
    damaged object.
    """
    require_no_transpose(wanted, path, "experiment of Bioconductor")
    with damage_of(path, "RDS file"):
        stored = _attribute(parsed, "assays", "data", "listData")
        if not stored.get("data"):
            raise TableError(
                f"'{path}' holds no assays: save the experiment anew with a recent version of Bioconductor"
            )
        assays = _strings(_attribute(stored, "names")) or [f"assay{j + 1}" for j in range(len(stored["data"]))]
        about = _attribute(parsed, "colData", "listData")
        columns = dict(zip(_strings(_attribute(about, "names")) or [], about.get("data", []), strict=True))
    if wanted.layer is not None and wanted.layer not in assays:
        raise unknown("assay", wanted.layer, assays, path)
    if wanted.has_labels and wanted.label is None:
        needed = f"'{path}' needs a label: choose a column of colData with "
        raise TableError(needed, Parameter("label"), f" ({some_of([*columns])})", *OR_LABELS)
    for name in wanted.aside:
        if name not in columns:
            raise unknown("column of colData", name, [*columns], path)
    name = assays[0] if wanted.layer is None else wanted.layer
    X, rows, samples = _matrix(stored["data"][assays.index(name)], f"Assay '{name}' of '{path}'")
    named_by = (("NAMES",), ("rowRanges", "ranges", "NAMES"), ("rowRanges", "partitioning", "NAMES"))
    names = next((names for way in named_by if (names := _strings(_attribute(parsed, *way)))), rows)
    names = names or [f"x{j}" for j in range(X.shape[0])]
    samples = _strings(_attribute(parsed, "colData", "rownames")) or samples
    of_samples = {name: _cells(columns[name], f"Column '{name}' of colData") for name in wanted.aside}
    if len(names) != X.shape[0] or any(len(cells) != X.shape[1] for cells in of_samples.values()):
        raise damaged(path, f"its names or its colData don't fit the assay '{name}' of {X.shape}")
    keep = features_of(names, wanted.ignored, path, "feature")
    found_labels = {name: SampleColumn(cells, f"'{name}' in colData of '{path}'") for name, cells in of_samples.items()}
    return Content(columns_of(as_matrix(X.T, path), keep), [names[j] for j in keep], samples, found_labels)


# Tables: a matrix or a data.frame. Their row names become a first column without a name, as in text


class _Matrix:
    def __init__(self, X: Any, path: Path) -> None:
        self._X = as_matrix(X, path)

    def cells(self, column: int) -> list[Any]:
        values = self._X[:, [column]]
        cells: list[Any] = (values.toarray() if hasattr(values, "toarray") else values).ravel().tolist()
        return cells

    def columns(self, chosen: Sequence[int]) -> Any:
        return columns_of(self._X, chosen)


class _Frame:
    def __init__(self, columns: Sequence[dict[str, Any]], header: Sequence[str], path: Path) -> None:
        self._columns, self._header, self._path = columns, header, path

    def cells(self, column: int) -> list[Any]:
        return _cells(self._columns[column], f"Column '{self._header[column]}' of '{self._path}'")

    def columns(self, chosen: Sequence[int]) -> Any:
        return np.column_stack([self._numbers(j) for j in chosen])

    def _numbers(self, j: int) -> np.ndarray:
        """Return column j as float64, text parsed; raise TableError that names the column if it holds anything else."""
        column, name = self._columns[j], self._header[j]
        kind = _classes(column)[0]
        if "class" not in (column.get("attributes") or {}) and column["type"] in _NUMERIC:
            return _numbers(column).astype(np.float64)
        if column["type"] == "string":
            cells = ["" if cell is None else cell for cell in column["data"]]
            try:
                return parse_numbers(cells)
            except NotANumber as error:
                raise column_not_numeric(self._path, name, error.position, cells[error.position], j == 0) from None
        held = (
            "categories" if "factor" in _classes(column) else "dates or durations" if kind in _DATES else "other values"
        )
        raise column_of_kind(self._path, name, f"{held} ({kind})")


class _Table(NamedTuple):
    header: list[str]
    row_names: list[str] | None
    values: _Matrix | _Frame

    def with_names(self) -> list[str]:
        return self.header if self.row_names is None else ["", *self.header]

    def cells(self, column: int) -> list[Any]:
        """Return the cells of a column of `with_names`."""
        if self.row_names is None:
            return self.values.cells(column)
        return self.row_names if column == 0 else self.values.cells(column - 1)

    def columns(self, chosen: Sequence[int]) -> Any:
        return self.values.columns([j - (self.row_names is not None) for j in chosen])


def _read_table_of_samples(path: Path, wanted: Wanted, table: _Table) -> Content:
    """Read a table with samples in rows; labels and annotations are columns.

    Raise ValueError if it has no columns or rows.
    """
    header = table.with_names()
    if not header:
        raise ValueError(f"'{path}' must be a table with columns; got none")
    names_at, keep = feature_columns(header, [], wanted, path, lambda: list(map(str, table.cells(0))))
    X = table.columns(keep)
    if not X.shape[0]:
        raise without_samples(path)
    of_samples = {
        name: SampleColumn(table.cells(header.index(name)), f"Column '{name}' of '{path}'") for name in wanted.aside
    }
    samples = None if names_at is None else list(map(str, table.cells(names_at)))
    return Content(X, [header[j] for j in keep], samples, of_samples)


def _read_features(path: Path, wanted: Wanted, table: _Table) -> Content:
    """Read a table with features in rows; labels and annotations are rows too.

    Raise ValueError if one of these is missing.
    """
    header = table.with_names()
    names_at, keep, samples = sample_columns(header, [], wanted, path)
    names = list(map(str, table.cells(names_at)))
    left_out = {name: i for i, name in enumerate(names) if name in wanted.aside or name in wanted.ignored}
    rows = [i for i, name in enumerate(names) if name not in left_out]
    check_rows([names[i] for i in rows], left_out, header, wanted, path)
    X = as_matrix(table.columns(keep).T, path)
    of_samples = {}
    for name in wanted.aside:
        values = X[:, [left_out[name]]]
        cells = (values.toarray() if hasattr(values, "toarray") else values).ravel().tolist()
        of_samples[name] = SampleColumn(cells, f"Row '{name}' of '{path}'", samples)
    return Content(columns_of(X, rows), [names[i] for i in rows], samples, of_samples)
