"""H5AD files."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._inputs.source import Source
from fastfs.io._cells import as_labels
from fastfs.io._errors import TRANSPOSE, Parameter, TableError, one_line, some_of, unknown
from fastfs.io._layout import Content, Wanted, features_of
from fastfs.io._matrices import as_csr_or_csc, as_float, columns_of


def read_h5ad(path: Path, wanted: Wanted) -> Content:
    from anndata.io import read_elem  # first: if both are missing, it's anndata that the user has to install

    import h5py  # isort: skip

    if wanted.transpose:
        raise TableError(f"'{path}' has samples in rows, as all H5AD files: leave out ", TRANSPOSE)

    # Only what is needed is read: other layers, raw counts and neighbours can be many times larger.
    name = "X" if wanted.layer is None else f"layers/{wanted.layer}"
    try:
        with ExitStack() as stack:
            file = stack.enter_context(h5py.File(path, "r"))
            missing = [part for part in ("obs", "var") if part not in file]
            is_old = "obs" in file and isinstance(file["obs"], h5py.Dataset)
            layers = list(file.get("layers", ()))
            readable = not missing and not is_old and name in file
            if readable:
                obs, var, X = read_elem(file["obs"]), read_elem(file["var"]), _values(file[name], wanted)
                if isinstance(X, Source):
                    stack.pop_all()  # it reads from the file later
    except MemoryError:
        raise
    except Exception as error:  # a damaged file raises anything
        raise ValueError(f"'{path}' is no H5AD file, or a damaged one: {one_line(error)}") from error
    if missing:
        raise ValueError(f"'{path}' is no H5AD file: it has no '{missing[0]}'")
    if is_old:
        raise ValueError(f"'{path}' was written by anndata before 0.7; read and write it with a newer one")
    if wanted.layer is not None and wanted.layer not in layers:
        raise unknown("layer", wanted.layer, layers, path)
    if not readable or X is None:
        layer = Parameter("layer")
        raise TableError(f"'{path}' has no X; choose a layer with ", layer, f" (layers: {some_of(layers)})")
    of_samples = _of_samples(obs, wanted, path)
    if not isinstance(X, Source):
        X = as_csr_or_csc(X, path) if hasattr(X, "tocsr") else as_float(np.asarray(X), path)
    if X.shape != (len(obs), len(var)):
        raise ValueError(f"'{path}' is damaged: '{name}' is {X.shape}, but obs has {len(obs)} rows and var {len(var)}")
    if not X.shape[0]:
        raise ValueError(f"'{path}' has no samples")
    names = [str(feature) for feature in var.index]
    keep = features_of(names, wanted.ignore, path, "feature")
    sample_names = [str(sample) for sample in obs.index]
    return Content(columns_of(X, keep), [names[j] for j in keep], sample_names, of_samples)


def _values(stored: Any, wanted: Wanted) -> Any:
    """The matrix, or where to read it from if it's too large."""
    from anndata.io import read_elem

    if wanted.most_bytes is not None:
        source = Source.of(stored)
        if (source.n_bytes or 0) > wanted.most_bytes:
            return source
    return read_elem(stored)


def _of_samples(obs: Any, wanted: Wanted, path: Path) -> dict[str, np.ndarray]:
    columns = [str(name) for name in obs.columns]
    if wanted.has_labels and wanted.label is None:
        needed = f"'{path}' needs a label column: choose one of obs with "
        raise TableError(needed, Parameter("label"), f" ({some_of(columns)})")
    found = {}
    for name in wanted.aside:
        if name not in columns:
            raise unknown("column of obs", name, columns, path)
        values = obs[name].astype(object).where(obs[name].notna(), None).tolist()
        found[name] = as_labels(values, f"'{name}' in obs of '{path}'")
    return found
