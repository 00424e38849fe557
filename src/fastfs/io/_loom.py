"""Loom files."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.errors import Parameter, TableError, damage_of, damaged, some_of, unknown, without_samples
from fastfs._files.expand import Held
from fastfs._files.stores import open_hdf5
from fastfs._inputs.source import Source
from fastfs.io._cells import SampleColumn
from fastfs.io._layout import Content, Wanted, features_by_name, features_of, require_no_transpose
from fastfs.io._matrices import as_float, columns_of, loaded_or_source

_KIND = "loom file"

# Names and identifiers of features, and names of cells: by the conventions of the format, then as anndata writes them.
_NAMES, _IDS, _CELLS = ("Gene", "var_names"), ("Accession",), ("CellID", "obs_names")


def read_loom(path: Path, wanted: Wanted) -> Content:
    """Read a loom file: features in rows, annotations of samples in col_attrs; the matrix or a layer, on disk if it is
    large.

    Repeated names of features get their ids. Raise ValueError for `transpose`, an unknown layer or attribute, no names,
    or a damaged file.
    """
    require_no_transpose(wanted, path, _KIND)
    held = Held(path, wanted.budget)
    with ExitStack() as stack:
        with damage_of(path, _KIND):
            file = stack.enter_context(open_hdf5(path))
            layers = list(file.get("layers", {}).keys())
            missing = [part for part in ("matrix", "row_attrs", "col_attrs") if part not in file]
        if missing:
            raise ValueError(f"'{path}' isn't a {_KIND}: it has no '{missing[0]}'")
        if wanted.layer is not None and wanted.layer not in layers:
            raise unknown("layer", wanted.layer, layers, path)
        with damage_of(path, _KIND):
            of_features, of_cells = file["row_attrs"], file["col_attrs"]
            X = _Cells(file["matrix" if wanted.layer is None else f"layers/{wanted.layer}"])
            attributes = [name for name, values in of_features.items() if values.ndim == 1]
            known = _NAMES if wanted.names_from is None else (wanted.names_from,)
            names, ids = (_first(of_features, some, held) for some in (known, _IDS))
            cells = _first(of_cells, _CELLS, held)
            columns = [name for name, values in of_cells.items() if values.ndim == 1 and name not in _CELLS]
        if wanted.has_labels and wanted.label is None:
            needed = f"'{path}' needs a label: choose one of its column attributes with "
            raise TableError(needed, Parameter("label"), f" ({some_of(columns)})")
        for name in wanted.aside:
            if name not in columns:
                raise unknown("column attribute", name, columns, path)
        with damage_of(path, _KIND):
            held.add_stored(*(of_cells[name] for name in wanted.aside))
            values = {name: _values(of_cells[name]) for name in wanted.aside}
            loaded = loaded_or_source(X, wanted, path, lambda _: as_float(X[:], path))
        if names is None and wanted.names_from is not None:
            raise unknown("row attribute", wanted.names_from, attributes, path)
        names = names or ids
        if names is None:
            needed = (
                f"'{path}' has no row attribute {' or '.join(_NAMES)}: choose the one that names the features with "
            )
            raise TableError(needed, Parameter("names_from"), f" ({some_of(attributes)})")
        lengths = {len(names)} | ({len(ids)} if ids else set())
        if lengths != {X.shape[1]} or any(len(column) != X.shape[0] for column in (*values.values(), cells or X)):
            raise damaged(path, f"the attributes don't fit the matrix of {X.shape[::-1]}")
        if isinstance(loaded, Source):
            stack.pop_all()  # it reads from the file later
    if not X.shape[0]:
        raise without_samples(path)
    named = features_by_name(names, ids or names)
    keep = features_of(named, wanted.ignored, path, "feature")
    of_samples = {
        name: SampleColumn(column, f"Column attribute '{name}' of '{path}'") for name, column in values.items()
    }
    return Content(columns_of(loaded, keep), [named[j] for j in keep], cells, of_samples)


def _first(attributes: Any, known: tuple[str, ...], held: Held) -> list[str] | None:
    attribute = next((name for name in known if name in attributes), None)
    if attribute is None:
        return None
    held.add_stored(attributes[attribute])
    return [str(value) for value in _values(attributes[attribute])]


def _values(stored: Any) -> list[Any]:
    return [value.decode() if isinstance(value, bytes) else value for value in stored[:].tolist()]


class _Cells:
    """Presents a matrix of features x cells on disk as one of cells x features."""

    ndim = 2

    def __init__(self, stored: Any) -> None:
        self._stored, self.dtype = stored, stored.dtype
        self.shape = stored.shape[::-1]
        self.chunks = stored.chunks and stored.chunks[::-1]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.asarray(self._stored[:, rows]).T
