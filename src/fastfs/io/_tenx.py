"""HDF5 files of 10x Genomics' Cell Ranger, of its version 3 and later, and of those before."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.errors import damage_of, damaged, some_of, without_samples
from fastfs._files.expand import Held
from fastfs._files.stores import open_hdf5
from fastfs._inputs.source import Source
from fastfs.io._layout import (
    Content,
    Wanted,
    chosen_type,
    features_by_name,
    features_of,
    require_labels_file,
    require_no_transpose,
)
from fastfs.io._matrices import columns_of, csr, loaded_or_source

_KIND = "HDF5 file of 10x Genomics"


def read_10x(path: Path, wanted: Wanted) -> Content:
    """Read a feature-barcode matrix of 10x Genomics, with features of the wanted type, or genome in old files.

    It stays on disk if it is large. Raise ValueError for `transpose`, no file of labels, an unknown type, and other or
    damaged files.
    """
    require_no_transpose(wanted, path, _KIND)
    require_labels_file(wanted, path)
    held = Held(path, wanted.budget)
    with ExitStack() as stack:
        with damage_of(path, _KIND):
            file = stack.enter_context(open_hdf5(path))
            # Files from before version 3 have one group per genome, with genes only.
            genomes = [name for name, group in file.items() if "gene_names" in group and "barcodes" in group]
            names = list(file)
        if "matrix" not in names and not genomes:
            raise ValueError(
                f"'{path}' isn't an {_KIND}: it must have a group 'matrix'; got {some_of(names)}; files of "
                "AnnData must end in .h5ad"
            )
        with damage_of(path, _KIND):
            if "matrix" in names:
                group = file["matrix"]
                held.add_stored(*(group["features"][part] for part in ("name", "id", "feature_type")))
                names, ids, types = (_text(group["features"][part]) for part in ("name", "id", "feature_type"))
            else:
                group = file[chosen_type(genomes, "genome", wanted, path)]
                held.add_stored(group["gene_names"], group["genes"])
                names, ids, types = _text(group["gene_names"]), _text(group["genes"]), None
            held.add_stored(group["barcodes"])
            cells = _text(group["barcodes"])
            matrix = _Cells(group)
            X = loaded_or_source(matrix, wanted, path, lambda _: matrix.load(path))
        if X.shape != (len(cells), len(names)) or {len(of) for of in (names, ids, types) if of is not None} != {
            len(names)
        }:
            raise damaged(path, f"its matrix is {X.shape}, but it names {len(cells)} cells, {len(names)} features")
        if isinstance(X, Source):
            stack.pop_all()  # it reads from the file later
    if not cells:
        raise without_samples(path)
    kind = chosen_type(list(dict.fromkeys(types)), "feature type", wanted, path) if types else None
    of_kind = [j for j in range(len(names)) if not types or types[j] == kind]
    named = features_by_name([names[j] for j in of_kind], [ids[j] for j in of_kind])
    keep = features_of(named, wanted.ignored, path, "feature")
    return Content(columns_of(X, [of_kind[k] for k in keep]), [named[k] for k in keep], cells)


def _text(stored: Any) -> list[str]:
    return [value.decode() for value in stored[:].tolist()]


class _Cells:
    """Presents a CSC matrix of features x cells as the CSR matrix of cells x features that AnnData stores."""

    def __init__(self, group: Any) -> None:
        self._group = group
        n_features, n_cells = (int(size) for size in group["shape"][:])
        self.attrs = {"encoding-type": "csr_matrix", "shape": (n_cells, n_features)}

    def __getitem__(self, name: str) -> Any:
        return self._group[name]

    def load(self, path: Path) -> Any:
        data, indices, indptr = (self._group[name][:] for name in ("data", "indices", "indptr"))
        return csr(data, indices, indptr, np.array(self.attrs["shape"]), path)
