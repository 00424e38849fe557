"""Tables in, rankings out: the files that the command line reads and writes."""

import csv
import difflib
import gzip
import json
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

__all__ = ["Table", "read_table", "write_ranking"]


# Names take about 100 bytes each. Ten times as many features as any array of methylation probes has.
_MOST_COLUMNS = 10_000_000


@dataclass(frozen=True)
class Table:
    """Samples in rows, features in columns, one label per sample.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or scipy.sparse.csr_array
        float32 or float64. Missing values are NaN.
    y : ndarray of shape (n_samples,)
        The labels as they stand in the file: strings, integers or bools.
    feature_names : list of str
    source : str
        The path that was read.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> table = fastfs.io.Table(np.eye(2), np.array(["case", "control"]), ["TP53", "MYC"], "toy.csv")
    >>> table.X.shape, table.feature_names
    ((2, 2), ['TP53', 'MYC'])
    """

    X: Any
    y: np.ndarray
    feature_names: list[str]
    source: str


def read_table(path: str | os.PathLike[str], label: str | None = None, *, ignore: Collection[str] = ()) -> Table:
    r"""Read samples, labels and feature names from a file.

    Parameters
    ----------
    path : path
        By its ending: ``.csv`` (commas), ``.tsv`` or ``.txt`` (tabs), each also with ``.gz``; ``.npz``. Text tables
        have one line per sample and a header line; they need pandas, which the extra ``[cli]`` brings. A first
        column without a name (what pandas and R write for row names) holds sample names and is left out; every
        other column is the label, ignored, or a numeric feature. An NPZ archive holds ``X`` (or the CSR parts
        ``data``, ``indices``, ``indptr``, ``shape``), the labels, and if it likes ``feature_names``.
    label : str, optional
        The label column of a text table, the name of the label array in an NPZ archive; there the default is ``y``,
        and ``y`` is looked up in ``class_names`` if the archive has that array.
    ignore : collection of str
        Columns (of an NPZ archive: features) to leave out.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is no such table; the message says what was expected and what came.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastfs.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "genes.csv")
    ...     _ = file.write_text(",BRCA1,TP53,tissue\ns1,0.5,2,tumour\ns2,0.1,3,normal\n")
    ...     table = read_table(file, "tissue")
    >>> table.feature_names, table.y.tolist(), table.X.shape
    (['BRCA1', 'TP53'], ['tumour', 'normal'], (2, 2))
    """
    path = Path(path)
    reader = next((read for ending, read in _READERS.items() if path.name.lower().endswith(ending)), None)
    if not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'.")
    if path.is_dir():
        raise ValueError(f"'{path}' is a directory; expected a file.")
    if reader is None:
        raise ValueError(f"Cannot tell what '{path}' holds: its name must end in {_any_of(_READERS)}.")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"'{path}' is empty.")
    X, y, names = reader(path, label, ignore)
    return Table(X, y, names, str(path))


def _read_text(
    path: Path, label: str | None, ignore: Collection[str], *, separator: str
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    try:
        with _open_text(path) as file:
            header, frame = _parse(file, path, separator)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"'{path}' is no table: expected UTF-8 text, but {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"'{path}' is no gzip file, or a damaged one: {error}.") from error

    if label is None:
        raise ValueError(f"'{path}' needs a label column: choose one with --label (columns: {_some_of(header)}).")
    if label not in header:
        if len(header) == 1:
            raise ValueError(
                f"'{path}' has no column '{label}', only '{_short(header[0])}': is it a table with "
                f"{'commas' if separator == ',' else 'tabs'} between its columns?"
            )
        raise _unknown("column", label, header, path)
    keep = _features(header, {label, *ignore}, path)

    dtypes = frame.dtypes.to_numpy()  # taken once: asking a frame for each of 10^6 columns takes longer than reading it
    for j in keep:
        if dtypes[j].kind not in "biuf":
            frame[j] = _numbers(frame[j], header[j], path)
    y = _labels(frame[header.index(label)], label, path)
    return frame[keep].to_numpy(dtype=np.float64), y, [header[j] for j in keep]


def _open_text(path: Path) -> TextIO:
    # utf-8-sig: spreadsheet programs put a byte order mark in front of the first name.
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _parse(file: TextIO, path: Path, separator: str) -> tuple[list[str], Any]:
    """The header, and the lines below it as a DataFrame with columns 0, 1, ... that match the header.

    The header is read apart because pandas would rename duplicated columns, not report them.
    """
    import pandas as pd

    header = [name.strip() for name in next(csv.reader(file, delimiter=separator, skipinitialspace=True), [])]
    if not any(header):
        raise ValueError(f"'{path}' is no table: expected the column names in its first line, but that is blank.")
    file.seek(0)
    options: dict[str, Any] = {"header": None, "skiprows": 1, "skipinitialspace": True, "low_memory": False}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # the default since, and deprecated as an option
    try:
        frame = pd.read_csv(file, sep=separator, **options)
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"'{path}' has a header but no samples below it.") from error
    except pd.errors.ParserError as error:
        reason = str(error).strip().rpartition("C error: ")[2]
        raise ValueError(f"'{path}' is no table: {reason}.") from error

    def blank(j: int) -> bool:
        return bool(frame[j].isna().all())

    n_columns = frame.shape[1]
    if n_columns == len(header) + 1 and not blank(n_columns - 1):
        header.insert(0, "")  # R's write.table gives the row names no place in the header
    header += [""] * (n_columns - len(header))
    if n_columns != len(header):
        raise ValueError(f"'{path}' is no table: {len(header)} column names in the header, {n_columns} values below.")
    unnamed = [j for j, name in enumerate(header) if not name]
    for j in unnamed:
        # No name is fine for the sample names in front and for what a separator at the end of each line leaves.
        if j > 0 and not blank(j):
            raise ValueError(f"Column {j + 1} of '{path}' has no name in the header; give it one, or remove it.")
    named = [j for j, name in enumerate(header) if name]
    frame = frame[named].set_axis(range(len(named)), axis="columns")
    return [header[j] for j in named], frame


def _numbers(column: Any, name: str, path: Path) -> Any:
    """A column that pandas did not take for numbers, as numbers after all (too long for int64), or the error."""
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce")
    bad = np.flatnonzero(values.isna() & column.notna())
    if len(bad):
        raise ValueError(
            f"Column '{name}' of '{path}' is not numeric: row {bad[0]} (counted from 0) has "
            f"{_short(column.iat[bad[0]])!r}; leave it out with --ignore {name!r}, or write numbers."
        )
    return values


def _labels(column: Any, label: str, path: Path) -> np.ndarray:
    missing = np.flatnonzero(column.isna())
    if len(missing):
        raise ValueError(f"Label column '{label}' of '{path}' has no value in row {missing[0]}, counted from 0.")
    return column.to_numpy() if column.dtype.kind in "biuf" else np.array([str(value) for value in column])


def _read_npz(path: Path, label: str | None, ignore: Collection[str]) -> tuple[Any, np.ndarray, list[str]]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"'{path}' is no NPZ archive: write it with numpy.savez(path, X=X, y=y).")
    with np.load(path, allow_pickle=False) as archive:

        def array(name: str) -> np.ndarray:
            try:
                return np.asarray(archive[name])
            except KeyError as error:
                raise _unknown("array", name, archive.files, path) from error
            except ValueError as error:
                raise ValueError(f"Array '{name}' of '{path}' cannot be read: {error}.") from error
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise ValueError(f"'{path}' is a damaged NPZ archive: {error}.") from error

        X: Any
        if "X" in archive.files or "indptr" not in archive.files:
            X = _as_float(array("X"), path)
        elif "format" in archive.files and array("format").item() not in ("csr", b"csr"):
            raise ValueError(f"'{path}' holds a sparse matrix as {array('format').item()!r}; expected 'csr'.")
        else:
            X = _csr(array("data"), array("indices"), array("indptr"), array("shape"), path)
        if X.ndim != 2:
            raise ValueError(f"Array 'X' of '{path}' must be samples x features; it has {X.ndim} dimension(s).")

        label = label or "y"
        y = array(label)
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError(f"Label array '{label}' of '{path}' is NaN in row {np.isnan(y).argmax()}, counted from 0.")
        # Any other label array than y has classes of its own.
        if label == "y" and "class_names" in archive.files:
            class_names = array("class_names")
            if y.dtype.kind not in "iu" or (y.size and not 0 <= y.min() <= y.max() < len(class_names)):
                raise ValueError(f"Array 'y' of '{path}' must hold indices into its {len(class_names)} class_names.")
            y = class_names[y]

        n_features = X.shape[1]
        if n_features > _MOST_COLUMNS:
            raise ValueError(f"'{path}' has {n_features} columns; at most {_MOST_COLUMNS} can be named and ranked.")
        names = [f"x{j}" for j in range(n_features)]
        if "feature_names" in archive.files:
            names = [str(name) for name in array("feature_names").ravel()]
        if len(names) != n_features:
            raise ValueError(f"'{path}' has {len(names)} feature_names for the {n_features} columns of X.")
    keep = _features(names, set(ignore), path)
    return (X if len(keep) == n_features else X[:, keep]), y, [names[j] for j in keep]


def _as_float(values: np.ndarray, path: Path) -> np.ndarray:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"Array 'X' of '{path}' must hold real numbers, not {values.dtype}.")
    return values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64, copy=False)


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray, path: Path) -> Any:
    from scipy.sparse import csr_array

    try:
        matrix = csr_array(
            (_as_float(data, path), indices.astype(np.int64), indptr.astype(np.int64)), shape=tuple(shape.tolist())
        )
        matrix.check_format()  # the constructor believes the column indices
    except ValueError as error:
        raise ValueError(f"The CSR parts in '{path}' do not fit together: {error}.") from error
    return matrix


_READERS: dict[str, Callable[[Path, str | None, Collection[str]], tuple[Any, np.ndarray, list[str]]]] = {
    ".csv": partial(_read_text, separator=","),
    ".tsv": partial(_read_text, separator="\t"),
    ".txt": partial(_read_text, separator="\t"),
    ".csv.gz": partial(_read_text, separator=","),
    ".tsv.gz": partial(_read_text, separator="\t"),
    ".txt.gz": partial(_read_text, separator="\t"),
    ".npz": _read_npz,
}


def _features(names: Sequence[str], left_out: Collection[str], path: Path) -> list[int]:
    """Positions of the feature columns: all that are not left out."""
    for name in left_out:
        if name not in names:
            raise _unknown("column", name, names, path)
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"'{path}' has {count} columns '{name}'; each needs a name of its own.")
    keep = [j for j, name in enumerate(names) if name not in left_out]
    if not keep:
        raise ValueError(f"'{path}' has no feature column: its columns are {_some_of(names)}.")
    return keep


def check_output(path: str | os.PathLike[str], endings: Collection[str]) -> None:
    """Raise ValueError, before any work, if the result could not be written to `path` in the end.

    Parameters
    ----------
    path : path
    endings : collection of str
        The file name endings that are understood, such as ``.csv``.
    """
    path = Path(path)
    folder = path.resolve().parent
    if path.suffix.lower() not in endings:
        raise ValueError(f"Cannot write '{path}': its name must end in {_any_of(endings)}.")
    if not folder.is_dir():
        raise ValueError(f"Cannot write '{path}': there is no directory '{folder}'.")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"Cannot write '{path}': {'it is a directory' if path.is_dir() else 'no permission'}.")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when the block ends well and vanishes when it does not."""
    path = Path(path).resolve()
    # Beside the target, because a rename is atomic only within one file system; with its ending, which tells formats.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_ranking(
    path: str | os.PathLike[str], ranking: Mapping[str, Sequence[Any]], about: Mapping[str, Any] | None = None
) -> None:
    """Write a ranking as CSV or JSON, by the ending of `path`; either the whole file is written, or nothing.

    Parameters
    ----------
    path : path
        Ends in ``.csv`` or ``.json``.
    ranking : mapping of str to sequence
        The columns in their order, such as ``rank``, ``feature``, ``index`` and ``score``, of equal length.
    about : mapping, optional
        What JSON holds in front of the ``ranking`` (method, parameters, version, ...); CSV has no place for it.

    Raises
    ------
    ValueError
        The ending is another one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastfs.io import write_ranking
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "ranking.csv")
    ...     write_ranking(file, {"rank": [1, 2], "feature": ["TP53", "BRCA1"], "score": [0.5, 0.25]})
    ...     print(file.read_text())
    rank,feature,score
    1,TP53,0.5
    2,BRCA1,0.25
    <BLANKLINE>
    """
    check_output(path, RANKING_ENDINGS)
    rows = zip(*ranking.values(), strict=True)
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        if temporary.suffix.lower() == ".json":
            best_first = [dict(zip(ranking, row, strict=True)) for row in rows]
            json.dump({**(about or {}), "ranking": best_first}, file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")
        else:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(ranking)
            writer.writerows(rows)


RANKING_ENDINGS = (".csv", ".json")


def _unknown(what: str, name: str, available: Sequence[str], path: Path) -> ValueError:
    # Labels stand first or last; comparing the name with 10^6 features would take seconds.
    close = difflib.get_close_matches(name, [*available[:1000], *available[-1000:]], 1)
    hint = f"; did you mean '{close[0]}'?" if close else "."
    return ValueError(f"'{path}' has no {what} '{name}' (it has {_some_of(available)}){hint}")


def _some_of(names: Sequence[str]) -> str:
    return ", ".join(_short(name) for name in (names if len(names) <= 6 else [*names[:3], "...", *names[-2:]]))


def _any_of(endings: Collection[str]) -> str:
    *most, last = endings
    return f"{', '.join(most)} or {last}"


def _short(text: object) -> str:
    text = str(text)
    return text if len(text) <= 40 else text[:39] + "…"
