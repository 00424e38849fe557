"""`read_table`, and the formats by the endings of file names."""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.errors import Parameter, TableError, any_of
from fastfs._files.paths import check_input, naming
from fastfs._inputs.entry import named_arguments
from fastfs._machine.run import parse_memory, warn
from fastfs._types import Integers
from fastfs.io._anndata import read_h5ad, read_h5mu, read_zarr
from fastfs.io._cells import SampleColumn
from fastfs.io._gct import read_gct
from fastfs.io._labels import read_covariates, read_label
from fastfs.io._layout import Content, Wanted, check_names, unique_features
from fastfs.io._loom import read_loom
from fastfs.io._matching import MatchRule, Samples
from fastfs.io._mtx import read_mtx
from fastfs.io._npz import read_npz
from fastfs.io._parquet import read_parquet
from fastfs.io._plink import PHENOTYPE, read_bed
from fastfs.io._rds import read_rds
from fastfs.io._series import read_series_matrix
from fastfs.io._table import Table
from fastfs.io._tenx import read_10x
from fastfs.io._text import read_text

READERS: dict[str, Callable[[Path, Wanted], Content]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".csv.gz": read_text,
    ".tsv.gz": read_text,
    ".txt.gz": read_text,
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
    ".rds": read_rds,
}


# Default labels of formats that have one.
_OF_ITSELF: dict[Callable[[Path, Wanted], Content], str] = {read_npz: "y", read_bed: PHENOTYPE}

# Formats that use a parameter.
_ONLY_FOR = {
    "layer": (read_h5ad, read_zarr, read_h5mu, read_loom, read_rds),
    "mod": (read_h5mu, read_10x),
    "feature_names": (read_mtx,),
    "chromosomes": (read_bed,),
    "not_chromosomes": (read_bed,),
    "control_is_0": (read_bed,),
}


@named_arguments
def read_table(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    labels: str | os.PathLike[str] | None = None,
    key: str | None = None,
    match: str | None = None,
    by_order: bool = False,
    drop_missing: bool = False,
    covar: str | os.PathLike[str] | None = None,
    covar_names: Collection[str] = (),
    control_is_0: bool = False,
    annotations: Collection[str] = (),
    ignore: Collection[str] = (),
    duplicates: str = "error",
    chromosomes: Collection[str] = (),
    not_chromosomes: Collection[str] = (),
    transpose: bool = False,
    feature_names: str | os.PathLike[str] | None = None,
    layer: str | None = None,
    mod: str | None = None,
    max_memory: int | str | None = None,
) -> Table:
    r"""Read samples, labels and feature names from a file.

    Parameters
    ----------
    path : path
        By its ending: ``.csv`` (commas), ``.tsv`` or ``.txt`` (tabs), ``.mtx``, ``.gct``, ``_series_matrix.txt``, each
        also with ``.gz``; ``.parquet``, ``.npz``, ``.bed``, ``.h5ad``, ``.zarr``, ``.h5mu``, ``.h5``, ``.loom``,
        ``.rds``.

        Text tables and Parquet have a row per sample. A first column without a name (what pandas and R write for row
        names, or in Parquet pandas' index) holds sample names and is left out; every other column is the label,
        ignored, or a numeric feature. Parquet needs pyarrow, of the extra ``[parquet]``.

        AnnData's H5AD and Zarr, and MuData's H5MU, have features in `var`, labels in `obs`; ``.h5`` is a file of 10x
        Genomics' Cell Ranger (all these and loom need the extra ``[h5ad]``). A MatrixMarket file holds the matrix
        alone; next to ``matrix.mtx``, the names are taken from ``features.tsv`` or ``genes.tsv``, and ``barcodes.tsv``.
        An NPZ archive holds ``X`` (or the CSR parts ``data``, ``indices``, ``indptr``, ``shape``), the labels, and
        optionally ``feature_names``. PLINK's ``.bed`` needs ``.bim`` and ``.fam`` next to it; the label is the
        phenotype of the latter, without which samples are left out, and X a :class:`fastfs.io.Genotypes`. RDS files of
        R hold a matrix or data.frame with a row per sample, or an experiment of Bioconductor (extra ``[rds]``).
    label : str, optional
        The label's column of a text table, of Parquet, of `obs` or of `colData`; the annotation of the samples in loom,
        GCT and series matrices, such as the characteristic ``tissue``; with `labels`, the column of that table; the
        name of the label array in an NPZ archive: there the default is ``y``, and ``y`` is looked up in
        ``class_names`` if the archive has that array.
    labels : path, optional
        A text file with the labels, if the file of features doesn't hold them: one per line, or a table. Its lines are
        matched with the samples: by FID and IID if both files are PLINK's; else by the column that holds each sample's
        name exactly once, whichever column that is; by order if it has no such names at all. Names that don't match are
        an error.
    key : str, optional
        The column of `labels` that names the samples, if several could. A column of this name in the table holds the
        names on its side, and is not a feature.
    match : {"r-names", "padding", "suffix", "case", "spaces"}, optional
        A change of names that is undone before they are compared: R's make.names, zeros in front of numbers, a suffix
        such as -1, upper and lower case, spaces.
    by_order : bool
        The lines of `labels` are in the order of the samples; names are ignored.
    drop_missing : bool
        Leave out the samples without a label, or without a value of another column that is read. Samples that PLINK's
        codes call unknown are always left out, with a warning.
    covar : path, optional
        A file of covariates; its lines are matched by the same rule as the labels.
    covar_names : collection of str
        The columns of `covar` to read. Default: all but the names of the samples.
    control_is_0 : bool
        In PLINK's files 0 is a control and 1 a case, as with PLINK's ``--1``. Else 1 and 2 are these, and 0 is unknown.
    annotations : collection of str
        Other columns about the samples, such as donors or batches, to be read from where the label is read, and to be
        no features: they are returned in the table's `annotations`.
    ignore : collection of str
        Columns to leave out; with `transpose`, and of GCT and series matrices, rows or columns; of files in which
        features aren't columns of a table, features.
    duplicates : {"error", "suffix"}
        Features that share a name are an error, or get names with numbers: ``gene``, ``gene-1``, ``gene-2``.
    chromosomes, not_chromosomes : collection of str
        Of genotypes: read the SNPs of these chromosomes only, or of all others. 23 to 26 are X, Y, XY and MT.
    transpose : bool
        Features are in rows: the first column holds their names, the header those of the samples, and `label` is a row.
        Formats that always have features in rows are read so without it.
    feature_names : path, optional
        For MatrixMarket: a text file with the feature names in its first column, without a header.
    layer : str, optional
        The layer to read in place of `X`, or of the matrix of a loom file; the assay of an experiment (default: the
        first one).
    mod : str, optional
        The modality of H5MU; the feature type, or before version 3 of Cell Ranger the genome, of 10x's files that have
        several.
    max_memory : int or str, optional
        The memory budget, in bytes or such as "4G", beyond which no file is expanded (default: that of the machine).
        With it, X of H5AD, Zarr, H5MU, 10x's files and loom stays on disk if it takes more than a quarter of it. The
        table's `X` is then what the `fit` of an estimator reads block by block.

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
    path = Path(path)
    endings = [ending for ending in READERS if path.name.lower().endswith(ending)]
    reader = READERS[max(endings, key=len)] if endings else None
    for source in (path, labels, covar, feature_names):
        if source is not None:
            check_input(Path(source))
    if reader is None:
        raise ValueError(f"Cannot tell what '{path}' holds: its name must end in {any_of(READERS)}")
    if duplicates not in ("error", "suffix"):
        raise ValueError(f"duplicates must be 'error' or 'suffix'; got {duplicates!r}")
    special: dict[str, Any] = {"layer": layer, "mod": mod, "feature_names": feature_names, "chromosomes": chromosomes}
    _require_format(path, reader, **special, not_chromosomes=not_chromosomes, control_is_0=control_is_0)
    rule = MatchRule(key, by_order, match, drop_missing, control_is_0)
    if labels is None and covar is None and (key is not None or by_order or match is not None):
        refused = Parameter("key" if key is not None else "by_order" if by_order else "match")
        raise TableError(refused, " is for a file of labels, which is given with ", Parameter("labels"))
    if covar is None and covar_names:
        raise TableError(Parameter("covar_names"), " needs a file of covariates: give it with ", Parameter("covar"))
    budget = None if max_memory is None else parse_memory(max_memory)
    most_bytes = None if budget is None else budget // 4
    names_file = None if feature_names is None else Path(feature_names)
    if labels is None:
        label = label or _OF_ITSELF.get(reader)
    here = (label, tuple(annotations), True) if labels is None else (None, (), False)
    wanted = Wanted(*here, frozenset(ignore), transpose, names_file, layer, mod, budget, most_bytes, key)
    wanted = replace(
        wanted,
        chromosomes=frozenset(chromosomes),
        not_chromosomes=frozenset(not_chromosomes),
        control_is_0=control_is_0,
    )
    with naming(path):
        content = reader(path, wanted)
    check_names(content, path)
    content = replace(content, feature_names=unique_features(content.feature_names, duplicates, path))
    names = content.sample_names if any(content.sample_names or ()) else None
    samples = Samples(path, content.X.shape[0], names, content.families, content.individuals, content.feature_names)
    columns, told = dict(content.aside), list[str]()
    if labels is not None:
        with naming(Path(labels)):
            label, columns, how = read_label(Path(labels), label, tuple(annotations), samples, rule, budget)
        told.append(how)
    assert label is not None  # or the reader would have asked for it
    used = {name: columns[name] for name in (label, *annotations)}
    covariates: dict[str, SampleColumn] = {}
    if covar is not None:
        with naming(Path(covar)):
            covariates, how = read_covariates(Path(covar), tuple(covar_names), samples, rule, budget)
        used |= {name: column for name, column in covariates.items() if name != label}
        told.append(how)
    kept = _kept(used, content.X.shape[0], rule, path)
    values = {name: column.of(kept) for name, column in used.items()}
    y = values.pop(label) if label not in annotations else values[label]
    X = content.X if len(kept) == content.X.shape[0] else content.X[kept]
    n_samples = content.X.shape[0]
    parts = [f"{len(kept)} of {n_samples} samples matched {' and '.join(dict.fromkeys(told))}"] if told else []
    if len(kept) < n_samples:
        parts.append(f"{n_samples - len(kept)} of {n_samples} samples without a value left out")
    return Table(
        X,
        y,
        content.feature_names,
        str(path),
        values,
        rows=None if len(kept) == n_samples else kept,
        sample_names=None if names is None or len(set(names)) < n_samples else [names[i] for i in kept],
        matching=", ".join(parts),
        covariates=tuple(covariates),
    )


def _require_format(path: Path, reader: Any, **special: Any) -> None:
    """Refuse parameters that are for other formats."""
    for name, value in special.items():
        if value and reader not in _ONLY_FOR[name]:
            others = any_of([ending for ending, read in READERS.items() if read in _ONLY_FOR[name]])
            raise TableError(Parameter(name), f" is for files that end in {others}: leave it out for '{path}'")


def read_unlabelled(
    path: str | os.PathLike[str],
    *,
    ignore: Collection[str] = (),
    duplicates: str = "error",
    transpose: bool = False,
    feature_names: str | os.PathLike[str] | None = None,
    layer: str | None = None,
    mod: str | None = None,
    max_memory: int | str | None = None,
) -> Table:
    """Read samples and feature names as `read_table` does, but ask for no labels: y has no columns."""
    path = Path(path)
    check_input(path)
    endings = [ending for ending in READERS if path.name.lower().endswith(ending)]
    if not endings:
        raise ValueError(f"Cannot tell what '{path}' holds: its name must end in {any_of(READERS)}")
    budget = None if max_memory is None else parse_memory(max_memory)
    names_file = None if feature_names is None else Path(feature_names)
    most_bytes = None if budget is None else budget // 4
    wanted = Wanted(None, (), False, frozenset(ignore), transpose, names_file, layer, mod, budget, most_bytes, None)
    with naming(path):
        reader = READERS[max(endings, key=len)]
        _require_format(path, reader, layer=layer, mod=mod, feature_names=feature_names)
        content = reader(path, wanted)
    check_names(content, path)
    content = replace(content, feature_names=unique_features(content.feature_names, duplicates, path))
    y = np.empty((content.X.shape[0], 0))
    return Table(content.X, y, content.feature_names, str(path), sample_names=content.sample_names)


def _kept(columns: dict[str, SampleColumn], n_samples: int, rule: MatchRule, path: Path) -> Integers:
    """Return the samples that have a value in all columns; others are an error, unless they may be left out."""
    is_kept = np.ones(n_samples, bool)
    for name, column in columns.items():
        missing = column.is_missing()
        if missing.any() and not (rule.drop_missing or column.missing_codes):
            column.require_no_missing()
        if n_missing := int(np.count_nonzero(missing)):
            if not rule.drop_missing:
                codes = ", ".join(column.missing_codes)
                left_out = f"{n_missing} of {n_samples} samples of '{path}' have no value of '{name}' and are left out"
                warn([f"{left_out}: {codes} and NA mean unknown"])
            is_kept &= ~missing
    kept = np.flatnonzero(is_kept)
    if not len(kept):
        raise ValueError(f"no sample of '{path}' has a value of {' and '.join(repr(name) for name in columns)}")
    return kept
