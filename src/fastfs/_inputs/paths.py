"""X as a path: what a file holds that can be read as X."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.stores import open_hdf5, open_zarr


def open_path(X: Any) -> Any:
    """Return the memory map, array on disk, group or genotypes that a path names; return any other X unchanged.

    Raise ValueError for other endings and unreadable files, FileNotFoundError for a missing one.
    """
    if not isinstance(X, (str, os.PathLike)):  # a union would be made anew in each call
        return X
    path = Path(X)
    if path.suffix not in (".h5ad", ".zarr", ".npy", ".bed"):
        raise ValueError(
            f"X as a path must end in .h5ad, .zarr, .npy or .bed; got '{path}': read it, and give the table"
        )
    if not path.exists():
        raise FileNotFoundError(f"X is a path, but there is no file '{path}'")
    if path.suffix == ".bed":
        from fastfs._inputs.plink import open_plink  # with what reads files, which few calls need

        return open_plink(path, None)
    try:
        if path.suffix == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        if path.suffix == ".h5ad":
            file = open_hdf5(path)
        else:
            file = open_zarr(path)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"X is a path, but '{path}' can't be read as {path.suffix}: {error}") from error
    return _array_in_file(file, path)


def _array_in_file(opened: Any, path: Path) -> Any:
    """Return the X of a file of AnnData, or the array that the file itself is."""
    if hasattr(opened, "dtype"):
        return opened
    if "X" not in opened:
        raise ValueError(f"'{path}' has no X: open it, and give the array itself as X")
    return opened["X"]
