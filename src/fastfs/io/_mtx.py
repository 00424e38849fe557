"""MatrixMarket files, and the files of names that 10x tools write next to them."""

import gzip
import io
import re
import warnings
import zlib
from pathlib import Path
from typing import Any

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, one_line
from fastfs._files.expand import Held, open_expanded
from fastfs.io._layout import MOST_COLUMNS, Content, Wanted, features_of, require_labels_file
from fastfs.io._matrices import as_csr_or_csc, as_float, columns_of
from fastfs.io._text import read_names

_REAL_FIELDS = ("real", "double", "integer", "unsigned-integer")


def read_mtx(path: Path, wanted: Wanted) -> Content:
    """Read a MatrixMarket file, with the names of the files next to it."""
    from scipy.io import mminfo, mmread
    from scipy.sparse import csr_array, issparse

    require_labels_file(wanted, path)
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
        raise ValueError(f"'{path}' isn't a readable MatrixMarket file: {one_line(error)}") from error
    if field not in _REAL_FIELDS:
        raise ValueError(f"'{path}' must hold real or integer values; got the field '{field}'")
    if max(shape) > MOST_COLUMNS:
        raise ValueError(
            f"'{path}' must have at most {MOST_COLUMNS} rows and columns; got {shape[0]} x {shape[1]}: split it"
        )
    matrix = matrix.T if wanted.transpose else matrix
    X = as_csr_or_csc(csr_array(matrix), path) if issparse(matrix) else as_float(matrix, path)
    n_samples, n_features = X.shape

    names_file = wanted.feature_names or _beside(path, "features.tsv", "genes.tsv")
    names = [f"x{j}" for j in range(n_features)]
    if names_file is not None:
        names = read_names(names_file, wanted.budget)
        if len(names) != n_features:
            hint: list[str | Parameter] = [f"; expected {n_features} lines, without a header"]
            if len(names) == n_samples:
                turn = "columns: leave out " if wanted.transpose else "rows: add "
                hint = [f", which are its {turn}", TRANSPOSE]
            raise TableError(f"'{names_file}' names {len(names)} features of '{path}'", *hint)
    keep = features_of(names, wanted.ignore, path, "feature")
    samples_file = _beside(path, "barcodes.tsv")
    samples = read_names(samples_file, wanted.budget) if samples_file is not None else None
    if samples is not None and len(samples) != n_samples:
        raise ValueError(f"'{samples_file}' must name the {n_samples} samples of '{path}'; got {len(samples)} names")
    return Content(columns_of(X, keep), [names[j] for j in keep], samples)


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
        part = self._file.read(len(buffer))
        if b"\0" in part:
            raise ValueError("it holds null bytes")
        if not part and not self._at_end:
            part, self._at_end = b"\n", True
        buffer[: len(part)] = part
        return len(part)


def _beside(path: Path, *names: str) -> Path | None:
    """Return the file of names next to matrix.mtx, which 10x tools give the same prefix; None if there is none."""
    prefix = re.fullmatch(r"(.*)matrix\.mtx(\.gz)?", path.name, re.IGNORECASE)
    candidates = [path.with_name(f"{prefix[1]}{name}{gz}") for name in names for gz in ("", ".gz")] if prefix else []
    return next((candidate for candidate in candidates if candidate.is_file()), None)
