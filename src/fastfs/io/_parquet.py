"""Parquet files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.errors import one_line, short
from fastfs._files.expand import TEXT_BYTES, Held
from fastfs.io._cells import (
    NotANumber,
    SampleColumn,
    column_not_numeric,
    column_of_kind,
    parse_numbers,
    row_not_numeric,
)
from fastfs.io._layout import Content, Wanted, check_rows, feature_columns, sample_columns


def read_parquet(path: Path, wanted: Wanted) -> Content:
    """Read a Parquet file: samples in rows, or features with transpose; an index of pandas names the rows.

    Raise ValueError for a damaged or empty file, TableError for columns without numbers.
    """
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
            # Values that repeat take nothing on disk. Names and labels become strings.
            Held(path, wanted.budget).add(n_rows * (8 * n_columns + TEXT_BYTES * (len(wanted.aside) + 1)))
            table = file.read()
        table.validate(full=True)
        header = table.column_names
        # pandas' metadata says which columns are its index.
        index_names = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"'{path}' isn't a readable Parquet file: {one_line(error)}; write it again") from error
    if not table.num_rows or not header:
        raise ValueError(
            f"'{path}' must be a table with rows and columns; got {table.num_rows} rows and {len(header)} columns"
        )
    index = [j for j, name in enumerate(header) if name in index_names]
    if wanted.transpose:
        return _read_parquet_features(path, wanted, table, index)

    def text(j: int) -> list[str]:
        return ["" if value is None else str(value) for value in table.column(j).to_pylist()]

    names_at, keep = feature_columns(header, index, wanted, path, lambda: text(index[0] if index else 0))
    X = np.empty((table.num_rows, len(keep)), _dtype_of(table, keep), order="F")
    for k, j in enumerate(keep):
        if held := _describe_other_values(table.schema.field(j)):
            raise column_of_kind(path, header[j], held)
        try:
            X[:, k] = _numbers_of_column(table.column(j))
        except NotANumber as error:
            if pyarrow.types.is_dictionary(table.schema.types[j]):
                cell = text(j)[error.position]
                raise column_of_kind(path, header[j], f"categories, such as {short(cell)!r}") from None
            raise column_not_numeric(path, header[j], error.position, text(j)[error.position], j == 0) from None
    of_samples = {
        name: SampleColumn(table.column(header.index(name)).to_pylist(), f"Column '{name}' of '{path}'")
        for name in wanted.aside
    }
    return Content(X, [header[j] for j in keep], None if names_at is None else text(names_at), of_samples)


def _read_parquet_features(path: Path, wanted: Wanted, table: Any, index: list[int]) -> Content:
    """Read features in rows, samples in columns; labels and annotations are rows, too.

    Raise ValueError if one of these repeats, TableError for values that aren't numbers.
    """
    header = table.column_names
    names_at, keep, samples = sample_columns(header, index, wanted, path)
    row_names = ["" if name is None else str(name) for name in table.column(names_at).to_pylist()]
    aside: dict[str, int] = {}
    rows = []
    for i, name in enumerate(row_names):
        if name not in wanted.aside and name not in wanted.ignored:
            rows.append(i)
        elif name in aside and name in wanted.aside:
            raise ValueError(f"'{path}' has 2 rows '{name}': give each a unique name")
        else:
            aside[name] = i
    names = [row_names[i] for i in rows]
    check_rows(names, aside, header, wanted, path)

    features = table.take(rows) if aside else table
    X = np.empty((len(keep), len(rows)), _dtype_of(table, keep))
    for k, j in enumerate(keep):
        if held := _describe_other_values(table.schema.field(j)):
            raise column_of_kind(path, header[j], held)
        try:
            X[k] = _numbers_of_column(features.column(j))
        except NotANumber as error:
            cells = [
                "" if cell is None else str(cell) for cell in features.slice(error.position, 1).to_pylist()[0].values()
            ]
            raise row_not_numeric(path, names[error.position], samples, [cells[i] for i in keep], k) from None
    of_samples = {
        name: SampleColumn([table.column(j)[aside[name]].as_py() for j in keep], f"Row '{name}' of '{path}'", samples)
        for name in wanted.aside
    }
    return Content(X, names, samples, of_samples)


def _describe_other_values(field: Any) -> str | None:
    """Describe the values of a column that converts to numbers but doesn't hold any, such as dates; else None."""
    import pyarrow

    if pyarrow.types.is_temporal(field.type):
        return f"dates or durations ({field.type})"
    # Extension types such as pandas' periods are stored as integers. Arrow knows them once pandas is imported.
    if isinstance(field.type, pyarrow.BaseExtensionType) or b"ARROW:extension:name" in (field.metadata or {}):
        name = getattr(field.type, "extension_name", None) or field.metadata[b"ARROW:extension:name"].decode()
        return f"other values ({name})"
    return None


def _dtype_of(table: Any, columns: Sequence[int]) -> type[np.floating]:
    import pyarrow

    types = table.schema.types  # taken once: it is a new list each time
    types = {types[j] for j in columns}
    return np.float32 if types <= {pyarrow.float16(), pyarrow.float32()} else np.float64


def _numbers_of_column(column: Any) -> np.ndarray:
    """Return a column of a Parquet file as numbers; missing values are NaN. Text is parsed, and raises NotANumber."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    of = column.type
    if types.is_floating(of):
        return np.asarray(column)
    if types.is_integer(of) or types.is_boolean(of) or types.is_decimal(of) or types.is_null(of):
        return np.asarray(column.cast(pyarrow.float64(), safe=False))
    return parse_numbers(["" if cell is None else str(cell) for cell in column.to_pylist()])
