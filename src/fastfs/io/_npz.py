"""NPZ archives."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.errors import one_line, unknown
from fastfs._files.expand import TEXT_BYTES, Held
from fastfs.io._cells import SampleColumn
from fastfs.io._layout import MOST_COLUMNS, Content, Wanted, features_of
from fastfs.io._matrices import as_float, columns_of, csr

# RuntimeError: a bit that says "encrypted", or a kind of compression that Python lacks.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)


def read_npz(path: Path, wanted: Wanted) -> Content:
    """Read arrays X and y, or the parts of a sparse X (CSR), from an NPZ file.

    It can also hold feature_names, sample_names, and class_names, which y then numbers. Raise ValueError for missing or
    damaged arrays, Python objects, and shapes that don't fit.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError(f"'{path}' isn't an NPZ archive: write it with numpy.savez(path, X=X, y=y)")
    try:
        archive = np.load(path, allow_pickle=False)
    except (ValueError, *_ZIP_ERRORS) as error:
        raise ValueError(f"'{path}' is a damaged NPZ archive: {one_line(error)}; write it again") from error
    held = Held(path, wanted.budget)
    with archive:

        def array(name: str) -> np.ndarray:
            """Return an array of the archive by its name, within the budget; raise ValueError if it can't be read."""
            try:
                held.add(archive.zip.getinfo(f"{name}.npy").file_size)
                return np.asarray(archive[name])
            except KeyError as error:
                raise unknown("array", name, archive.files, path) from error
            except ValueError as error:
                raise ValueError(
                    f"Array '{name}' of '{path}' cannot be read ({one_line(error)}): save it as numbers or text, "
                    "without Python objects"
                ) from error
            except _ZIP_ERRORS as error:
                raise ValueError(f"'{path}' is a damaged NPZ archive: {one_line(error)}; write it again") from error

        X: Any
        if "X" in archive.files or "indptr" not in archive.files:
            X = as_float(array("X"), path)
        elif "format" in archive.files and array("format").item() not in ("csr", b"csr"):
            raise ValueError(
                f"'{path}' must hold a sparse matrix as 'csr'; got {array('format').item()!r}: save X.tocsr()"
            )
        else:
            X = csr(array("data"), array("indices"), array("indptr"), array("shape"), path)
        if X.ndim != 2:
            raise ValueError(f"Array 'X' of '{path}' must be a 2-D array of samples x features; got {X.ndim}-D")
        X = X.T if wanted.transpose else X

        of_samples = {name: array(name) for name in wanted.aside}
        for name, values in of_samples.items():
            if values.shape != X.shape[:1]:
                raise ValueError(
                    f"Array '{name}' of '{path}' must have a value for each of the {X.shape[0]} samples of X; got "
                    f"the shape {values.shape}"
                )
        # class_names belong to y, so a label in another array doesn't use them.
        if wanted.label == "y" and "class_names" in archive.files:
            class_names, y = array("class_names"), of_samples["y"]
            if y.dtype.kind not in "iu" or (y.size and not 0 <= y.min() <= y.max() < len(class_names)):
                got = f"values from {y.min()} to {y.max()}" if y.dtype.kind in "iu" else f"the type {y.dtype}"
                raise ValueError(
                    f"Array 'y' of '{path}' must hold integers from 0 to {len(class_names) - 1}, indices into its "
                    f"class_names; got {got}: correct them, or leave class_names out"
                )
            of_samples["y"] = class_names[y]

        n_features = X.shape[1]
        if n_features > MOST_COLUMNS:
            raise ValueError(f"'{path}' must have at most {MOST_COLUMNS} columns; got {n_features}: split it")
        names = [f"x{j}" for j in range(n_features)]
        if "feature_names" in archive.files:
            stored = array("feature_names").ravel()
            held.add(TEXT_BYTES * len(stored))
            names = [str(name) for name in stored]
        if len(names) != n_features:
            raise ValueError(f"'{path}' must have {n_features} feature_names, one per column of X; got {len(names)}")
        samples = None
        if "sample_names" in archive.files:
            samples = [str(name) for name in array("sample_names").ravel()]
            if len(samples) != X.shape[0]:
                raise ValueError(f"'{path}' must have {X.shape[0]} sample_names, one per row of X; got {len(samples)}")
    keep = features_of(names, wanted.ignored, path, "feature")
    aside = {name: SampleColumn(values, f"Array '{name}' of '{path}'") for name, values in of_samples.items()}
    return Content(columns_of(X, keep), [names[j] for j in keep], samples, aside)
