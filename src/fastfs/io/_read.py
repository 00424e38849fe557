"""`read_table`, and the formats by the endings of file names."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from fastfs._files.errors import Parameter, TableError, any_of, calling
from fastfs._files.paths import check_input, naming
from fastfs._inputs.matrix import load_stream
from fastfs._inputs.pgen import PHENOTYPE as PHENO1
from fastfs._inputs.storage import dense
from fastfs._machine.run import Run, parse_memory, warn
from fastfs._types import Floats, Integers
from fastfs.io._anndata import read_h5ad, read_h5mu, read_zarr
from fastfs.io._cells import SampleColumn
from fastfs.io._duplicates import unique_features
from fastfs.io._encoding import require_no_mark
from fastfs.io._gct import read_gct
from fastfs.io._labels import read_covariates, read_label
from fastfs.io._layout import Content, Wanted, check_names
from fastfs.io._loom import read_loom
from fastfs.io._matching import MatchRule, Samples
from fastfs.io._mtx import matrix_in, read_10x_folder, read_mtx
from fastfs.io._npz import read_npz
from fastfs.io._options import ReadOptions, describe, require_type, takes
from fastfs.io._parquet import read_parquet
from fastfs.io._plink import PHENOTYPE, read_bed, read_pgen
from fastfs.io._rds import read_rds
from fastfs.io._series import read_series_matrix
from fastfs.io._sheets import is_sheet
from fastfs.io._table import Table, drop_small_classes
from fastfs.io._tables import read_text
from fastfs.io._tenx import read_10x
from fastfs.io._text import form_of_labels

_Reader: TypeAlias = Callable[[Path, Wanted], Content]

READERS: dict[str, _Reader] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".csv.gz": read_text,
    ".tsv.gz": read_text,
    ".txt.gz": read_text,
    ".xlsx": read_text,
    ".parquet": read_parquet,
    ".h5ad": read_h5ad,
    ".zarr": read_zarr,
    ".h5mu": read_h5mu,
    ".h5": read_10x,
    ".loom": read_loom,
    "_series_matrix.txt": read_series_matrix,
    "_series_matrix.txt.gz": read_series_matrix,
    ".gct": read_gct,
    ".gct.gz": read_gct,
    ".mtx": read_mtx,
    ".mtx.gz": read_mtx,
    ".npz": read_npz,
    ".bed": read_bed,
    ".pgen": read_pgen,
    ".rds": read_rds,
}


# Default labels of formats that have one.
_OF_ITSELF: dict[_Reader, str] = {read_npz: "y", read_bed: PHENOTYPE, read_pgen: PHENO1}

# Readers by the names that the descriptions of options give to their formats.
_GROUPS: dict[str, tuple[_Reader, ...]] = {
    "table": (read_text,),
    "text": (read_text, read_gct, read_series_matrix),
    "h5ad": (read_h5ad,),
    "zarr": (read_zarr,),
    "h5mu": (read_h5mu,),
    "10x": (read_10x, read_10x_folder),
    "loom": (read_loom,),
    "rds": (read_rds,),
    "mtx": (read_mtx,),
    "bed": (read_bed, read_pgen),
}

# Values of `format`.
_FORMATS = {ending.lstrip("._"): reader for ending, reader in READERS.items()}

# Name of the file that standard input is copied to; it is gone after the table is read.
_STANDARD_INPUT = "standard_input"

# Formats with several files.
_NOT_A_STREAM = (read_zarr, read_bed, read_pgen)


@dataclass(frozen=True)
class _Call(ReadOptions):
    """The arguments of `read_table`."""

    path: str | os.PathLike[str]
    label: str | None = None
    annotations: Collection[str] = field(default=(), kw_only=True)
    targets_mod: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_type("targets_mod", self.targets_mod, "word")
        require_type("label", self.label, "word")
        require_type("annotations", self.annotations, "names")


@takes(_Call)
def read_table(call: _Call) -> Table:
    r"""Read samples, labels and feature names from a file.

    Parameters
    ----------
    path : path
        By its ending: ``.csv`` (commas), ``.tsv`` or ``.txt`` (tabs), ``.mtx``, ``.gct``, ``_series_matrix.txt``, each
        also with ``.gz``; ``.parquet``, ``.npz``, ``.bed``, ``.pgen``, ``.h5ad``, ``.zarr``, ``.h5mu``, ``.h5``,
        ``.loom``, ``.rds``.

        Text tables and Parquet have a row per sample. A first column without a name (what pandas and R write for row
        names, or in Parquet pandas' index) holds sample names and is left out; every other column is the label,
        ignored, or a numeric feature. Parquet needs pyarrow, of the extra ``[parquet]``.

        AnnData's H5AD and Zarr, and MuData's H5MU, have features in `var`, labels in `obs`; ``.h5`` is a file of 10x
        Genomics' Cell Ranger (all these and loom need the extra ``[h5ad]``). A MatrixMarket file holds the matrix
        alone; next to ``matrix.mtx``, the names are taken from ``features.tsv`` or ``genes.tsv``, and ``barcodes.tsv``.
        An NPZ archive holds ``X`` (or the CSR parts ``data``, ``indices``, ``indptr``, ``shape``), the labels, and
        optionally ``feature_names``. PLINK's ``.bed`` needs ``.bim`` and ``.fam`` next to it; the label is the
        phenotype of the latter, without which samples are left out, and X a :class:`fastfs.io.Genotypes`; so is that of
        ``.pgen`` with ``.pvar`` and ``.psam`` (extra ``[pgen]``), with the label in ``.psam``, default ``PHENO1``. RDS
        files of R hold a matrix or data.frame with a row per sample, or an experiment of Bioconductor (extra
        ``[rds]``).
    label : str, optional
        The label's column of a text table, of Parquet, of `obs` or of `colData`; the annotation of the samples in loom,
        GCT and series matrices, such as the characteristic ``tissue``; with `labels`, the column of that table; the
        name of the label array in an NPZ archive: there the default is ``y``, and ``y`` is looked up in
        ``class_names`` if the archive has that array.
    annotations : collection of str
        Other columns about the samples, such as donors or batches, to be read from where the label is read, and to be
        no features: they are returned in the table's `annotations`.
    targets_mod : str, optional
        Of H5MU: a second modality, with features that are numbers to explain: they become `y`, of shape (n_samples,
        n_outputs), in place of a label. The samples are those that both modalities have.
    <read_options>

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file isn't such a table, or a parameter doesn't fit it.
    MemoryError
        The file expands to more than the memory budget.
    ModuleNotFoundError
        Parquet without pyarrow, H5AD without anndata, RDS without rds2py.

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
    with _readable(call.path, call.format) as path:
        return replace(_read(path, call), source=str(call.path))


def _read(path: Path, call: _Call) -> Table:
    """Return the table of a file with labels, annotations and covariates, which other files can hold.

    Samples without one of these are left out with `drop_missing`, otherwise an error; small classes are left out with
    `min_class`. Targets can come from a second modality, for the samples that both have. Raise TableError for options
    without the file that they are about.
    """
    reader = _reader(path, call)
    rule = MatchRule(call.key, call.by_order, call.match, call.drop_missing, call.control_is_0)
    label, labels, covar = call.label, call.labels, call.covar
    if call.targets_mod is not None:
        _require_two_modalities(path, call, reader)
    if labels is None and covar is None and (call.key is not None or call.by_order or call.match is not None):
        refused = Parameter("key" if call.key is not None else "by_order" if call.by_order else "match")
        raise TableError(refused, " is for a file of labels, which is given with ", Parameter("labels"))
    if covar is None and call.covar_names:
        raise TableError(Parameter("covar_names"), " needs a file of covariates: give it with ", Parameter("covar"))
    if labels is None:
        label = label or _OF_ITSELF.get(reader)
    here = (label, tuple(call.annotations), call.targets_mod is None) if labels is None else (None, (), False)
    wanted = _wanted(path, call, reader, *here)
    content = _content(path, wanted, reader)
    names = content.sample_names if any(content.sample_names or ()) else None
    samples = Samples(path, content.X.shape[0], names, content.families, content.individuals, content.feature_names)
    columns, told = dict(content.aside), list[str]()
    form = form_of_labels(call, wanted.budget)
    if labels is not None:
        with naming(Path(labels)):
            label, columns, how = read_label(Path(labels), label, tuple(call.annotations), samples, rule, form)
        told.append(how)
    used = {name: columns[name] for name in (*([] if label is None else [label]), *call.annotations)}
    covariates: dict[str, SampleColumn] = {}
    if covar is not None:
        with naming(Path(covar)):
            covariates, how = read_covariates(Path(covar), tuple(call.covar_names), label or "", samples, rule, form)
        used |= covariates
        told.append(how)
    kept = _kept(used, content.X.shape[0], rule, path)
    targets: tuple[str, ...] = ()
    if call.targets_mod is not None:
        kept, y, targets = _read_targets(path, call, reader, names or [], kept)
    values = {name: column.of(kept) for name, column in used.items()}
    if label is not None:  # every reader asks for it, but for targets
        y = values.pop(label) if label not in call.annotations else values[label]
    X = content.X if len(kept) == content.X.shape[0] else content.X[kept]
    n_samples = content.X.shape[0]
    parts = [f"{len(kept)} of {n_samples} samples matched {' and '.join(dict.fromkeys(told))}"] if told else []
    if targets:
        parts.append(f"{len(kept)} of {n_samples} samples are in '{call.targets_mod}', too")
    elif len(kept) < n_samples:
        parts.append(f"{n_samples - len(kept)} of {n_samples} samples without a value left out")
    table = Table(
        X,
        y,
        content.feature_names,
        str(path),
        values,
        rows=None if len(kept) == n_samples else kept,
        sample_names=None if names is None or len(set(names)) < n_samples else [names[i] for i in kept],
        matching=", ".join(parts),
        covariates=tuple(covariates),
        targets=targets,
    )
    return drop_small_classes(table, call.min_class) if call.min_class else table


def _require_two_modalities(path: Path, call: _Call, reader: _Reader) -> None:
    """Raise TableError for a modality of targets in another format, equal to `mod`, or besides a label."""
    of_targets = Parameter("targets_mod")
    if reader is not read_h5mu:
        raise TableError(of_targets, f" is for files that end in .h5mu: leave it out for '{path}'")
    if call.targets_mod == call.mod:
        raise TableError(of_targets, " must be another modality than that of ", Parameter("mod"), f"; got '{call.mod}'")
    for name in ("label", "labels", "min_class"):
        if getattr(call, name):
            raise TableError(of_targets, " takes the place of a label: leave out ", Parameter(name))


def _read_targets(
    path: Path, call: _Call, reader: _Reader, names: Sequence[str], kept: Integers
) -> tuple[Integers, Floats, tuple[str, ...]]:
    """Return those of the kept samples that the modality of the targets has, their targets as dense floats, and the
    names of these.

    Raise ValueError if it has none.
    """
    options = replace(call, mod=call.targets_mod, layer=None, ignore=(), annotations=())
    content = _content(path, _wanted(path, options, reader, None, (), False), reader)
    rows = {name: i for i, name in enumerate(content.sample_names or [])}
    shared = np.array([i for i in kept if names[i] in rows], dtype=np.int64)
    if not len(shared):
        raise ValueError(
            f"'{path}' has no sample in both modalities, '{call.mod}' and '{call.targets_mod}': choose others"
        )
    places = np.array([rows[names[i]] for i in shared])
    ascending = np.sort(places)
    numbers = np.asarray(dense(load_stream(content.X[ascending], Run())), dtype=np.float64)
    return shared, numbers[np.searchsorted(ascending, places)], tuple(content.feature_names)


def read_unlabelled(path: str | os.PathLike[str], options: ReadOptions) -> Table:
    """Read samples and feature names as `read_table` does, but ask for no labels: y has no columns."""
    with _readable(path, options.format) as file:
        reader = _reader(file, options)
        content = _content(file, _wanted(file, options, reader, None, (), False), reader)
    y = np.empty((content.X.shape[0], 0))
    return Table(content.X, y, content.feature_names, str(path), sample_names=content.sample_names)


@contextmanager
def _readable(given: str | os.PathLike[str], format_name: str | None) -> Iterator[Path]:
    """Yield the path to read: of standard input (-) a temporary file, which errors call so.

    Raise TableError if its format is missing, or one that can't be a stream.
    """
    path = Path(given)
    if str(path) != "-":
        yield path
        return
    if format_name is None:
        raise TableError("Standard input (-) has no name that tells its format: give it with ", Parameter("format"))
    if format_name not in _FORMATS or _FORMATS[format_name] in _NOT_A_STREAM:
        choices = any_of([name for name, reader in _FORMATS.items() if reader not in _NOT_A_STREAM])
        raise TableError("Standard input can be ", choices, "; write another format to a file first, and leave out ",
                         Parameter("format"), f"; got '{format_name}'")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, f"{_STANDARD_INPUT}.{format_name}")
        if sys.stdin is None:
            raise ValueError("Standard input is closed: give the name of a file")
        with copied.open("wb") as to:
            shutil.copyfileobj(sys.stdin.buffer, to)
        with calling(copied, "Standard input"):
            yield copied


def _reader(path: Path, options: ReadOptions) -> _Reader:
    """Return the reader of a file by `format`, its ending, or as a folder of 10x's tools; check files and options
    before.

    Raise ValueError if none is known or a file is missing, TableError if an option is for other formats.
    """
    is_folder = path.is_dir() and options.format is None and matrix_in(path) is not None
    for source in (*([] if is_folder else [path]), options.labels, options.covar, options.feature_names):
        if source is not None:
            check_input(Path(source))
    if options.format is not None and options.format not in _FORMATS:
        raise TableError(Parameter("format"), f" must be {any_of(_FORMATS)}; got '{options.format}'")
    endings = [ending for ending in READERS if path.name.lower().endswith(ending)]
    if options.format is not None:
        reader = _FORMATS[options.format]
    elif is_folder:
        reader = read_10x_folder
    elif endings:
        reader = READERS[max(endings, key=len)]
    else:
        if advice := _OF_OTHER_ENDINGS.get(path.suffix.lower()):
            raise TableError(f"'{path}' isn't read as it is: {advice}")
        raise TableError(
            f"Cannot tell what '{path}' holds: its name must end in {any_of(READERS)}, or give its format with ",
            Parameter("format"),
        )
    _require_format(path, reader, options)
    return reader


# What to do with files of other formats that labs hold.
_OF_OTHER_ENDINGS = {
    ".zip": "unpack it, and give the file inside",
    ".npy": "write it with names of samples and features as .csv, or by numpy.savez('table.npz', X=X, y=y)",
    ".xls": "save it as .xlsx",
    ".rdata": "load it in R, and save one object by saveRDS(x, 'x.rds')",
    ".rda": "load it in R, and save one object by saveRDS(x, 'x.rds')",
}


def _require_format(path: Path, reader: _Reader, options: ReadOptions) -> None:
    """Raise TableError for options that are for other formats, unless a file of labels needs them."""
    others = [Path(source) for source in (options.labels, options.covar) if source is not None]
    has_text, has_sheet = bool(others), is_sheet(path) if options.format is None else options.format == "xlsx"
    if options.sheet is not None and reader is read_text and not has_sheet:
        raise TableError(Parameter("sheet"), f" is for files that end in .xlsx: leave it out for '{path}'")
    if options.labels_sheet is not None and not any(map(is_sheet, others)):
        raise TableError(Parameter("labels_sheet"), " is for a file of labels that ends in .xlsx, given with ",
                         Parameter("labels"))  # fmt: skip
    for name in ("encoding", "comment"):
        if has_sheet and not has_text and getattr(options, name) is not None:
            raise TableError(Parameter(name), f" is for text: leave it out for '{path}'")
    if not (has_text or has_sheet) and options.encoding is not None and reader in _GROUPS["text"]:
        require_no_mark(path, options.encoding)
    for option in fields(ReadOptions):
        formats = describe(option).formats
        understood = [read for name in formats for read in _GROUPS[name]]
        if not formats or not getattr(options, option.name) or reader in understood:
            continue
        if has_text and option.name in ("encoding", "comment", "decimal"):
            continue
        endings = any_of([ending for ending, read in READERS.items() if read in understood])
        raise TableError(Parameter(option.name), f" is for files that end in {endings}: leave it out for '{path}'")


def _wanted(
    path: Path, options: ReadOptions, reader: _Reader, label: str | None, annotations: tuple[str, ...], has_labels: bool
) -> Wanted:
    """Return the options of a reader with the columns and the budget of memory that it needs."""
    budget = None if options.max_memory is None else parse_memory(options.max_memory)
    given = {option.name: getattr(options, option.name) for option in fields(ReadOptions)}
    if reader is not read_text:
        given["decimal"] = given["decimal"] or "."  # only this reader looks for decimal commas
    return Wanted(
        **given,
        label=label,
        annotations=annotations,
        has_labels=has_labels,
        budget=budget,
        most_bytes=None if budget is None or path.stem == _STANDARD_INPUT else budget // 4,
    )


def _content(path: Path, wanted: Wanted, reader: _Reader) -> Content:
    """Return what the reader finds, with names that are complete and unique."""
    with naming(path):
        content = reader(path, wanted)
    check_names(content, path)
    return unique_features(content, wanted.duplicates, path)


def _kept(columns: dict[str, SampleColumn], n_samples: int, rule: MatchRule, path: Path) -> Integers:
    """Return the samples that have a value in all columns.

    Others are left out with `drop_missing`, or by codes of a column, with a warning; otherwise they are an error. Raise
    ValueError if none is left.
    """
    is_kept = np.ones(n_samples, bool)
    for name, column in columns.items():
        missing = column.is_missing()
        if missing.any() and not (rule.drop_missing or column.missing_codes):
            column.require_no_missing()
        if n_missing := int(np.count_nonzero(missing)):
            if not rule.drop_missing:
                codes = ", ".join(column.missing_codes)
                left_out = f"{n_missing} of {n_samples} samples of '{path}' have no value of '{name}' and are left out"
                way_out = (
                    "; if 0 is a value here, set control_is_0 (--control-is-0)" if "0" in column.missing_codes else ""
                )
                warn([f"{left_out}: {codes} and NA mean unknown{way_out}"])
            is_kept &= ~missing
    kept = np.flatnonzero(is_kept)
    if not len(kept):
        named = " and ".join(repr(name) for name in columns)
        raise ValueError(f"'{path}' must have a sample with a value of {named}; got none: choose other columns")
    return kept
