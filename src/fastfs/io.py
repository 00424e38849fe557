"""Tables in, rankings out: the files that the command line reads and writes."""

import csv
import errno
import glob
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fastfs import _readers
from fastfs._readers import any_of, unknown

__all__ = ["Table", "read_table", "write_ranking"]


@dataclass(frozen=True)
class Table:
    """Samples in rows, features in columns, one label per sample.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), or CSR or CSC container of SciPy
        float32 or float64. Missing values are NaN.
    y : ndarray of shape (n_samples,)
        The labels as they stand in the file: strings, numbers or bools.
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


def read_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    ignore: Collection[str] = (),
    transpose: bool = False,
    feature_names: str | os.PathLike[str] | None = None,
    layer: str | None = None,
) -> Table:
    r"""Read samples, labels and feature names from a file.

    Parameters
    ----------
    path : path
        By its ending: ``.csv`` (commas), ``.tsv`` or ``.txt`` (tabs), ``.mtx``, each also with ``.gz``; ``.parquet``,
        ``.h5ad``, ``.npz``.

        Text tables and Parquet have a row per sample. A first column without a name (what pandas and R write for row
        names, or in Parquet pandas' index) holds sample names and is left out; every other column is the label,
        ignored, or a numeric feature. Parquet needs pyarrow, of the extra ``[parquet]``.

        An H5AD file has features in `var`, labels in `obs` (extra ``[h5ad]``). A MatrixMarket file holds the matrix
        alone; beside ``matrix.mtx``, the names are taken from ``features.tsv`` or ``genes.tsv``, and ``barcodes.tsv``.
        An NPZ archive holds ``X`` (or the CSR parts ``data``, ``indices``, ``indptr``, ``shape``), the labels, and if
        it likes ``feature_names``.
    label : str, optional
        The label's column of a text table, of Parquet, or of `obs`; with `labels`, of that table; the name of the
        label array in an NPZ archive: there the default is ``y``, and ``y`` is looked up in ``class_names`` if the
        archive has that array.
    labels : path, optional
        A text file with the labels, if they stand apart from the features: one a line, or with `label` a table. If the
        first column of that table holds the sample names, labels are looked up by them, else they count in order.
    ignore : collection of str
        Columns (of H5AD, MatrixMarket and NPZ: features; with `transpose`: rows or columns) to leave out.
    transpose : bool
        Features are in rows: the first column holds their names, the header those of the samples, and `label` is a row.
    feature_names : path, optional
        For MatrixMarket: a text file whose first column has the feature names, without a header.
    layer : str, optional
        For H5AD: the layer to read in place of `X`.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is no such table; the message says what was expected and what came.
    ModuleNotFoundError
        Parquet without pyarrow, H5AD without anndata.

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
    reader = next((read for ending, read in _readers.READERS.items() if path.name.lower().endswith(ending)), None)
    for source in (path, labels, feature_names):
        if source is not None:
            _readers.check_input(Path(source))
    if reader is None:
        raise ValueError(f"Cannot tell what '{path}' holds: its name must end in {any_of(_readers.READERS)}")
    if layer is not None and reader is not _readers.read_h5ad:
        raise ValueError(f"Only H5AD files have layers, '{path}' has none: leave out --layer")
    if feature_names is not None and reader is not _readers.read_mtx:
        raise ValueError(f"--feature-names is for MatrixMarket files only: '{path}' says itself what its features are")
    names_file = None if feature_names is None else Path(feature_names)
    wanted = _readers.Wanted(None if labels else label, labels is None, frozenset(ignore), transpose, names_file, layer)
    with _named(path):
        content = reader(path, wanted)
    y = content.y
    if labels is not None:
        with _named(Path(labels)):
            y = _readers.read_labels(Path(labels), label, content, path)
    assert y is not None
    return Table(content.X, y, content.feature_names, str(path))


def keep_classes(table: Table, classes: Sequence[str]) -> Table:
    """The samples of `table` whose labels, as text, are among `classes`."""
    labels = np.array([str(label) for label in table.y])
    present = np.unique(labels).tolist()
    for name in classes:
        if name not in present:
            raise unknown("class", name, present, table.source)
    chosen = np.isin(labels, classes)
    return replace(table, X=table.X[chosen], y=table.y[chosen])


def take_targets(table: Table, names: Sequence[str]) -> Table:
    """Make y the numbers of some columns: of the one that was read as the label, and of others, which leave X.

    Parameters
    ----------
    table : Table
        Read with the first of the names as its label.
    names : sequence of str

    Returns
    -------
    Table
        With a `y` of shape (n_samples, n_targets).

    Raises
    ------
    ValueError
        A name is no column, is given twice, or doesn't hold numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> table = fastfs.io.Table(np.eye(2), np.array([3, 4]), ["height", "TP53"], "toy.csv")
    >>> table = fastfs.io.take_targets(table, ["weight", "height"])
    >>> table.y.tolist(), table.feature_names, table.X.tolist()
    ([[3.0, 1.0], [4.0, 0.0]], ['TP53'], [[0.0], [1.0]])
    """
    if len(set(names)) < len(names):
        raise ValueError("A target is given twice")
    missing = [name for name in names[1:] if name not in table.feature_names]
    if missing:
        raise ValueError(f"'{table.source}' has no column '{missing[0]}' to take as a target")
    columns = [table.feature_names.index(name) for name in names[1:]]
    try:
        first = np.asarray(table.y).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"The target '{names[0]}' must hold numbers only; text is for --label") from None
    others = table.X[:, columns]
    others = others.toarray() if hasattr(others, "toarray") else others
    kept = [j for j in range(len(table.feature_names)) if j not in set(columns)]
    feature_names = [table.feature_names[j] for j in kept]
    return Table(table.X[:, kept], np.column_stack([first, others]), feature_names, table.source)


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
        raise ValueError(f"Cannot write '{path}': its name must end in {any_of(endings)}")
    if not folder.is_dir():
        raise ValueError(f"Cannot write '{path}': there is no directory '{folder}'")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"Cannot write '{path}': {'it is a directory' if path.is_dir() else 'no permission'}")


@contextmanager
def _named(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block name `path` if it names no file, such as one of a full disk, or `temporary`."""
    try:
        yield
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise
        # Libraries word the system's message anew, or raise one without a number, beside which Python shows no name.
        message = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or errno.EIO, message, str(path)) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when the block ends well and vanishes when it does not."""
    path = Path(path).resolve()
    # Beside the target, because a rename is atomic only within one file system; with its ending, which tells formats.
    temporary = path.with_name(f".{path.stem}.fastfs-{os.getpid()}{path.suffix}")
    _sweep(path)
    try:
        with _named(path, temporary):
            yield temporary
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove the temporaries of `path` whose processes were killed before they could."""
    if os.name != "posix":  # os.kill would end the process there
        return
    before, after = f".{path.stem}.fastfs-", path.suffix
    for name in glob.glob(f"{glob.escape(before)}*{glob.escape(after)}", root_dir=path.parent):
        # Not ours: the process or the file may be another user's, or the name no number.
        with suppress(PermissionError, ValueError, OverflowError):
            try:
                os.kill(int(name.removeprefix(before).removesuffix(after)), 0)
            except ProcessLookupError:
                path.with_name(name).unlink(missing_ok=True)


def write_ranking(
    path: str | os.PathLike[str], ranking: Mapping[str, Sequence[Any]], about: Mapping[str, Any] | None = None
) -> None:
    """Write a ranking as CSV, JSON or Parquet, by the ending of `path`: either the whole file is written, or nothing.

    Parameters
    ----------
    path : path
        Ends in ``.csv``, ``.json`` or ``.parquet``; the last needs pyarrow, of the extra ``[parquet]``.
    ranking : mapping of str to sequence
        The columns in their order, such as ``rank``, ``feature``, ``index`` and ``score``, of equal length.
    about : mapping, optional
        What JSON holds in front of the ``ranking`` (method, parameters, version, ...), and Parquet as JSON in the
        metadata of its schema, under the key ``fastfs``; CSV has no place for it.

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
    with replacing(path) as temporary:
        if temporary.suffix.lower() == ".parquet":
            _write_parquet(temporary, ranking, about or {})
            return
        rows = zip(*ranking.values(), strict=True)
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            if temporary.suffix.lower() == ".json":
                best_first = [dict(zip(ranking, row, strict=True)) for row in rows]
                file.write(_as_json({**(about or {}), "ranking": best_first}, indent=1) + "\n")
            else:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(ranking)
                writer.writerows(rows)


def _write_parquet(path: Path, ranking: Mapping[str, Sequence[Any]], about: Mapping[str, Any]) -> None:
    import pyarrow.parquet

    table = pyarrow.table({name: pyarrow.array(column) for name, column in ranking.items()})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"fastfs": _as_json(about)}), path)


def _as_json(value: Any, indent: int | None = None) -> str:
    # An option can be any Python value; what JSON doesn't know is written as Python does.
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=str)


RANKING_ENDINGS = (".csv", ".json", ".parquet")
