"""Tables as H5AD files that can be read row by row."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.stores import open_hdf5
from fastfs._types import Progress
from fastfs.io._table import Table

# Number of entries of a matrix that are read together, and bytes per entry until its row is written.
_ENTRIES, _ENTRY_BYTES = 1 << 22, 40
# Entries per chunk of a file. Small chunks let a block of rows read little beyond its end.
_CHUNK = 1 << 16


def write_by_rows(path: Path, out: Path, max_memory: int, report: Progress | None) -> None:
    """Write a copy of an H5AD file that stores X by columns (CSC), with X by rows (CSR).

    `out` has `obs`, `var`, `uns`, `obsm` and `varm`; layers and `raw` are left out. The rows of a pass over X are those
    that fit a quarter of `max_memory`. Raise ValueError if the file has no X, or one that isn't CSC.
    """
    with open_hdf5(path) as file, _new(out) as (disk, to):
        X = file.get("X")
        if X is None:
            raise ValueError(f"'{path}' must have X; got a file without it")
        if not hasattr(X, "attrs") or X.attrs.get("encoding-type") != "csc_matrix":
            raise ValueError(f"X of '{path}' isn't stored by columns (CSC): it can be read by rows as it is")
        to.attrs.update(file.attrs)
        for name in ("obs", "var", "uns", "obsm", "varm"):
            if name in file:
                file.copy(name, to)
        n_rows = int(X.attrs["shape"][0])
        ends = np.cumsum(_counts(X["indices"], n_rows))
        rows = to.create_group("X")
        rows.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": X.attrs["shape"]})
        rows["indptr"] = np.append(0, ends)
        n_entries = int(ends[-1]) if n_rows else 0
        for name in ("data", "indices"):
            rows.create_dataset(name, (n_entries,), X[name].dtype, chunks=(_CHUNK,), maxshape=(None,))
        at_once = max(1, max_memory // 4 // _ENTRY_BYTES)
        begin = written = 0
        while written < n_entries:
            end = max(begin + 1, int(np.searchsorted(ends, written + at_once, "right")))
            for name, values in _entries_by_row(X, begin, end).items():
                rows[name][written : written + len(values)] = values
            begin, written = end, int(ends[end - 1])
            disk.raise_errors()
            if report is not None:
                report("writing rows", written / n_entries)


class _Disk(io.FileIO):
    """A file that keeps its first error or Ctrl-C for `raise_errors`: HDF5 crashes if it can't write while closing."""

    error: BaseException | None = None

    def write(self, data: Any) -> int:
        """Write all data, unless an earlier write failed; keep an error, and always tell HDF5 of success."""
        left = memoryview(data)
        try:
            while self.error is None and left:
                left = left[super().write(left) :]
        except BaseException as error:
            self.error = error
        return len(data)

    def raise_errors(self) -> None:
        if self.error is not None:
            raise self.error


@contextmanager
def _new(path: Path) -> Iterator[tuple[_Disk, Any]]:
    """Create the HDF5 file `path` itself; yield the object that keeps its errors, and the file.

    The first of the errors is raised at the end. The file may then hold a part of the values.
    """
    import h5py

    with _Disk(path, "w+") as disk:
        try:
            with h5py.File(disk, "w") as file:
                yield disk, file
        finally:
            disk.raise_errors()  # an error of HDF5 can follow from an earlier one of the disk


def _counts(indices: Any, n: int) -> np.ndarray:
    """Return the number of entries of each of n rows, from their row numbers on disk."""
    counts = np.zeros(n, np.int64)
    for begin in range(0, indices.shape[0], _ENTRIES):
        counts += np.bincount(indices[begin : begin + _ENTRIES], minlength=n)
    return counts


def _entries_by_row(X: Any, begin: int, end: int) -> dict[str, np.ndarray]:
    """Return `indices` and `data` of the rows `begin` to `end` - 1 of a CSC matrix on disk, columns ascending."""
    indptr, parts = X["indptr"][:], []
    for first in range(0, X["indices"].shape[0], _ENTRIES):
        rows = X["indices"][first : first + _ENTRIES]
        chosen = np.flatnonzero((rows >= begin) & (rows < end))
        columns = np.searchsorted(indptr, first + chosen, "right") - 1
        parts.append((rows[chosen], columns.astype(rows.dtype), X["data"][first : first + _ENTRIES][chosen]))
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return {"indices": columns[order], "data": values[order]}


def write_h5ad(table: Table, label: str | None, out: Path) -> None:
    """Write a table with its labels, if `label` names them, and annotations in `obs`, under the names of the samples.

    Samples with missing or repeated names are numbered.
    """
    import pandas
    from anndata import AnnData
    from anndata.io import write_elem

    labels = {} if label is None else {label: table.y}
    names = table.sample_names
    if names is None or len(set(names)) < len(names):
        names = [str(i) for i in range(table.X.shape[0])]
    obs = pandas.DataFrame({**labels, **table.annotations}, index=names)
    adata = AnnData(table.X, obs=obs, var=pandas.DataFrame(index=table.feature_names))
    with _new(out) as (_, file):
        write_elem(file, "/", adata)
