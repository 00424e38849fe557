"""Files of AnnData: H5AD, Zarr and H5MU, which store one data model in different containers."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, damage_of, damaged, some_of, unknown, without_samples
from fastfs._files.expand import Held
from fastfs._files.stores import open_hdf5, open_zarr
from fastfs._inputs.source import Source
from fastfs.io._cells import SampleColumn
from fastfs.io._layout import Content, Wanted, features_of
from fastfs.io._matrices import as_matrix, columns_of, loaded_or_source


def read_h5ad(path: Path, wanted: Wanted) -> Content:
    return _read_anndata(path, wanted, "H5AD file", _open_h5)


def read_zarr(path: Path, wanted: Wanted) -> Content:
    return _read_anndata(path, wanted, "Zarr store of AnnData", _open_zarr)


def read_h5mu(path: Path, wanted: Wanted) -> Content:
    return _read_anndata(path, wanted, "H5MU file", _open_h5)


def _open_h5(path: Path, stack: ExitStack) -> Any:
    return stack.enter_context(open_hdf5(path))


def _open_zarr(path: Path, _: ExitStack) -> Any:
    return open_zarr(path)


def _read_anndata(path: Path, wanted: Wanted, kind: str, open_store: Callable[[Path, ExitStack], Any]) -> Content:
    """Open a store, and read names, wanted columns of obs, and X or a layer, which stays on disk if it is large.

    An H5MU file gives one modality, with the annotations that all share. Raise ValueError for `transpose`, an unknown
    layer or column, no X or samples, and a damaged or old file.
    """
    from anndata.io import read_elem  # first: if other packages are missing, too, it's anndata that the user installs

    if wanted.transpose:
        raise TableError(f"'{path}' has samples in rows, as every {kind}: leave out ", TRANSPOSE)
    # Read only the matrix and the annotations: other layers, raw counts and neighbours can be many times larger.
    with ExitStack() as stack:
        with damage_of(path, kind):
            store = open_store(path, stack)
            names = list(store)
        group, common = store, None
        if kind == "H5MU file":
            group, common = _modality(store, names, wanted, path)
        with damage_of(path, kind):
            missing = [part for part in ("obs", "var") if part not in group]
            is_old = "obs" in group and hasattr(group["obs"], "dtype")
            layers = list(group.get("layers", {}).keys())
        if missing:
            raise ValueError(f"'{path}' isn't a readable {kind}: it has no '{missing[0]}'")
        if is_old:
            raise ValueError(f"'{path}' was written by anndata before 0.7; read and write it with a newer one")
        if wanted.layer is not None and wanted.layer not in layers:
            raise unknown("layer", wanted.layer, layers, path)
        name = "X" if wanted.layer is None else f"layers/{wanted.layer}"
        with damage_of(path, kind):
            annotations = [group["obs"], group["var"], *([] if common is None else [common])]
            Held(path, wanted.budget).add_stored(*annotations)
            obs, var = _frame(group["obs"]), _frame(group["var"])
            if common is not None:
                obs = _join_annotations(obs, _frame(common))
            X = loaded_or_source(group[name], wanted, path, read_elem) if name in group else None
        if X is None:
            choices = f" (layers: {some_of(layers)})"
            raise TableError(f"'{path}' has no X; choose a layer with ", Parameter("layer"), choices)
        of_samples = _read_sample_columns(obs, wanted, path)
        if isinstance(X, Source):
            stack.pop_all()  # it reads from the file later
    X = X if isinstance(X, Source) else as_matrix(X, path)
    if X.shape != (len(obs), len(var)):
        raise damaged(path, f"'{name}' is {X.shape}, but obs has {len(obs)} rows and var {len(var)}")
    if not X.shape[0]:
        raise without_samples(path)
    names = [str(feature) for feature in var.index]
    keep = features_of(names, wanted.ignored, path, "feature")
    sample_names = [str(sample) for sample in obs.index]
    return Content(columns_of(X, keep), [names[j] for j in keep], sample_names, of_samples)


def _modality(store: Any, names: list[str], wanted: Wanted, path: Path) -> tuple[Any, Any]:
    """Return the group of modality `wanted.mod`, and that of annotations which all share; raise ValueError if it is
    unknown or None.

    `names` are those at the top of the file, which must have "mod" and "obs".
    """
    if "mod" not in names or "obs" not in names:
        raise ValueError(f"'{path}' isn't an H5MU file: it has no '{'obs' if 'mod' in names else 'mod'}'")
    with damage_of(path, "H5MU file"):
        modalities = list(store["mod"].keys())
    if wanted.mod is None:
        choices = f" (modalities: {some_of(modalities)})"
        raise TableError(f"'{path}' needs a modality: choose one with ", Parameter("mod"), choices)
    if wanted.mod not in modalities:
        raise unknown("modality", wanted.mod, modalities, path)
    with damage_of(path, "H5MU file"):
        return store["mod"][wanted.mod], store["obs"]


def _frame(stored: Any) -> Any:
    """Return a stored table of annotations. Raise ValueError if it isn't one."""
    from anndata.io import read_elem

    frame = read_elem(stored)
    if not hasattr(frame, "columns"):
        raise ValueError(f"'{stored.name}' must hold a table of annotations; got a {type(frame).__name__}")
    return frame


def _join_annotations(obs: Any, common: Any) -> Any:
    """Return the annotations of a modality, completed by columns that all modalities share."""
    others = [name for name in common.columns if name not in obs.columns]
    return obs.join(common[others])


def _read_sample_columns(obs: Any, wanted: Wanted, path: Path) -> dict[str, SampleColumn]:
    """Return the labels and annotations of obs by name, with missing values as None.

    Raise ValueError if no label is chosen, or a column is missing or repeats.
    """
    columns = [str(name) for name in obs.columns]
    if wanted.has_labels and wanted.label is None:
        needed = f"'{path}' needs a label column: choose one of obs with "
        raise TableError(needed, Parameter("label"), f" ({some_of(columns)})")
    sample_columns = {}
    for name in wanted.aside:
        if name not in columns:
            raise unknown("column of obs", name, columns, path)
        if columns.count(name) > 1:
            raise ValueError(
                f"'{path}' lists the column '{name}' of obs {columns.count(name)} times: remove the others"
            )
        values = obs[name].astype(object).where(obs[name].notna(), None).tolist()
        sample_columns[name] = SampleColumn(values, f"'{name}' in obs of '{path}'")
    return sample_columns
