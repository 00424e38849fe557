"""MatrixMarket files, and the files of names that 10x tools write next to them."""

import gzip
import io
import re
import warnings
import zlib
from pathlib import Path
from typing import Any

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, one_line, some_of
from fastfs._files.expand import Held, open_expanded
from fastfs.io._layout import (
    MOST_COLUMNS,
    Content,
    Wanted,
    chosen_type,
    features_by_name,
    features_of,
    require_labels_file,
    require_no_transpose,
)
from fastfs.io._matrices import as_csr_or_csc, as_float, columns_of
from fastfs.io._text import TextForm, read_lines, read_names

_MATRIX = r"(.*)matrix\.mtx(\.gz)?"
# First cells of headers in files of names, in small letters.
_HEADS = ("", "x", "v1", "barcode", "barcodes", "cell", "cells", "cell_id", "cellid", "cell_barcode", "index",
          "gene", "genes", "gene_id", "geneid", "gene_ids", "gene_name", "symbol", "feature", "features", "feature_id",
          "ensembl_id", "id", "name")  # fmt: skip
_REAL_FIELDS = ("real", "double", "integer", "unsigned-integer")


def read_mtx(path: Path, wanted: Wanted) -> Content:
    """Read a MatrixMarket file, with the names of the files next to it; without them features are x0, x1 and so on.

    Raise TableError without a file of labels, ValueError if a number of names doesn't fit.
    """
    require_labels_file(wanted, path)
    matrix = read_mtx_matrix(path, wanted)
    X = _values(matrix.T if wanted.transpose else matrix, path)
    n_samples, n_features = X.shape
    names_file = (
        Path(wanted.feature_names) if wanted.feature_names is not None else _beside(path, "features.tsv", "genes.tsv")
    )
    names = [f"x{j}" for j in range(n_features)]
    if names_file is not None:
        names = read_names(names_file, wanted.budget)
        if len(names) != n_features:
            hint: list[str | Parameter] = [f"; expected {n_features} lines, without a header"]
            if len(names) == n_samples:
                turn = "columns: leave out " if wanted.transpose else "rows: add "
                hint = [f", which are its {turn}", TRANSPOSE]
            raise TableError(f"'{names_file}' names {len(names)} features of '{path}'", *hint)
    keep = features_of(names, wanted.ignored, path, "feature")
    samples_file = _beside(path, "barcodes.tsv")
    samples = read_names(samples_file, wanted.budget) if samples_file is not None else None
    if samples is not None and len(samples) != n_samples:
        raise ValueError(f"'{samples_file}' must name the {n_samples} samples of '{path}'; got {len(samples)} names")
    return Content(columns_of(X, keep), [names[j] for j in keep], samples)


def read_mtx_matrix(path: Path, wanted: Wanted) -> Any:
    """Return the matrix of a MatrixMarket file as SciPy reads it, sparse or dense, not turned.

    Raise ValueError for damaged files, values that aren't real, or too many columns.
    """
    from scipy.io import mminfo, mmread

    held = Held(path, wanted.budget)
    try:
        *shape, n_entries, layout, field, _ = mminfo(path)
        # A value and two indices of 4 bytes for each entry: the reader believes the number that the file declares.
        held.add(n_entries * (8 if layout == "array" else 16))
        if field in _REAL_FIELDS and max(shape) <= MOST_COLUMNS:
            with (
                open_expanded(path, wanted.budget) as file,
                io.BufferedReader(_Guarded(file)) as stream,
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore", DeprecationWarning)  # SciPy 1.18's, that it will return a sparse array
                matrix = mmread(stream)
    except (ValueError, OverflowError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"'{path}' isn't a readable MatrixMarket file: {one_line(error)}; write it again") from error
    if field not in _REAL_FIELDS:
        raise ValueError(f"'{path}' must hold real or integer values; got the field '{field}'")
    if max(shape) > MOST_COLUMNS:
        raise ValueError(
            f"'{path}' must have at most {MOST_COLUMNS} rows and columns; got {shape[0]} x {shape[1]}: split it"
        )
    return matrix


def _values(matrix: Any, path: Path) -> Any:
    """Return the values of a matrix as other parts of the library take them."""
    from scipy.sparse import csr_array, issparse

    return as_csr_or_csc(csr_array(matrix), path) if issparse(matrix) else as_float(matrix, path)


def matrix_in(folder: Path) -> Path | None:
    """Return the matrix of a folder of 10x's tools; None if it has none. Raise ValueError if it has several."""
    found = sorted(path for path in folder.iterdir() if re.fullmatch(_MATRIX, path.name, re.IGNORECASE))
    if len(found) > 1:
        raise ValueError(
            f"'{folder}' has several matrices ({some_of([path.name for path in found])}): give the path of one of them"
        )
    return found[0] if found else None


def read_10x_folder(folder: Path, wanted: Wanted) -> Content:
    """Read the matrix of a folder as 10x's tools write it, with the names of features and cells next to it.

    Cells can stand in columns or in rows. Of several types of features `mod` chooses one. Raise ValueError for missing
    files or other sizes, TableError for `transpose` or no file of labels.
    """
    require_no_transpose(wanted, folder, "folder of 10x Genomics")
    require_labels_file(wanted, folder)
    path = matrix_in(folder)
    assert path is not None  # or the folder would have been refused
    features_file, cells_file = _beside(path, "features.tsv", "genes.tsv"), _beside(path, "barcodes.tsv")
    for file, expected in ((features_file, "features.tsv or genes.tsv"), (cells_file, "barcodes.tsv")):
        if file is None:
            raise ValueError(f"'{folder}' must have a file {expected} next to '{path.name}', also with .gz: add it")
    assert features_file is not None
    assert cells_file is not None
    matrix = read_mtx_matrix(path, wanted)
    features, cells = (read_lines(file, TextForm(wanted.budget)) for file in (features_file, cells_file))
    features, cells = (_without_head(lines) for lines in (features, cells))
    # 10x's tools write features in rows; others write cells there, too.
    turned = matrix.shape == (len(features), len(cells))
    if not turned and matrix.shape != (len(cells), len(features)):
        raise ValueError(
            f"'{path}' is a matrix of {matrix.shape[0]} x {matrix.shape[1]}, but '{features_file.name}' names "
            f"{len(features)} features and '{cells_file.name}' {len(cells)} cells: take the files of one matrix"
        )
    X = _values(matrix.T if turned else matrix, path)
    ids = [row[0] for row in features]
    names = [row[1] if len(row) > 1 else row[0] for row in features]
    types = [row[2] for row in features] if all(len(row) > 2 for row in features) else None
    kind = chosen_type(list(dict.fromkeys(types)), "feature type", wanted, folder) if types else None
    of_kind = [j for j in range(len(names)) if types is None or types[j] == kind]
    named = features_by_name([names[j] for j in of_kind], [ids[j] for j in of_kind])
    keep = features_of(named, wanted.ignored, folder, "feature")
    return Content(columns_of(X, [of_kind[k] for k in keep]), [named[k] for k in keep], [row[0] for row in cells])


def _without_head(lines: list[list[str]]) -> list[list[str]]:
    """Return lines of names without a header, which some tools write."""
    return lines[1:] if lines and lines[0][0].casefold() in _HEADS else lines


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
        """Fill the buffer, and return the number of bytes; raise ValueError at a null byte, and add a line end behind
        the last line.
        """
        part = self._file.read(len(buffer))
        if b"\0" in part:
            raise ValueError("it holds null bytes")
        if not part and not self._at_end:
            part, self._at_end = b"\n", True
        buffer[: len(part)] = part
        return len(part)


def _beside(path: Path, *names: str) -> Path | None:
    """Return the file of names next to matrix.mtx, which 10x tools give the same prefix; None if there is none.

    It can end in .gz; raise ValueError if both are there.
    """
    prefix = re.fullmatch(_MATRIX, path.name, re.IGNORECASE)
    candidates = [path.with_name(f"{prefix[1]}{name}{gz}") for name in names for gz in ("", ".gz")] if prefix else []
    found = [candidate for candidate in candidates if candidate.is_file()]
    if len(found) > 1 and found[1].name == f"{found[0].name}.gz":
        raise ValueError(
            f"'{path.parent}' has both {found[0].name} and {found[1].name}: remove the one that "
            f"doesn't belong to {path.name}"
        )
    return found[0] if found else None
