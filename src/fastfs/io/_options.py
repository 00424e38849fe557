"""The options of reading, each described once: for `read_table`, for errors about them, and for the command line."""

import inspect
import os
import textwrap
from collections.abc import Callable, Collection
from dataclasses import Field, dataclass, field, fields
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from fastfs._docs import fill_shared
from fastfs._files.errors import Parameter, TableError, any_of
from fastfs._inputs.entry import named_arguments, with_fields

_PathLike: TypeAlias = str | os.PathLike[str]
_Call = TypeVar("_Call")
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


class Described(NamedTuple):
    """The description of an option."""

    doc: str  # its type, and then the text of the docstring
    help: str = ""  # of the command line; empty: the command line doesn't have it under this name
    metavar: str | None = None
    kind: str = "word"  # of its values on the command line: word, path, switch, number, names (A,B,...) or repeated
    flags: tuple[str, ...] = ()  # of the command line; default: --name-of-the-option
    panel: str = "Input"
    formats: tuple[str, ...] = ()  # the formats that use it; default: all
    words: tuple[str, ...] = ()  # the values that it may have; default: any


def _option(default: Any, **description: Any) -> Any:
    return field(default=default, metadata={"described": Described(**description)})


def describe(option: Field[Any]) -> Described:
    """Return the description of a field of `ReadOptions`."""
    described: Described = option.metadata["described"]
    return described


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a file is read, besides its label and annotations."""

    labels: _PathLike | None = _option(
        None,
        kind="path",
        flags=("--labels", "--pheno"),
        panel="Labels",
        metavar="FILE",
        help="Labels in a separate file, matched by name.",
        doc="""
        path, optional
        A text file with the labels, if the file of features doesn't hold them: one per line, or a table. Its lines are
        matched with the samples: by FID and IID if both files are PLINK's; else by the column that holds each sample's
        name exactly once, whichever column that is; by order if it has no such names at all. Names that don't match are
        an error.
        """,
    )
    key: str | None = _option(
        None,
        panel="Labels",
        metavar="COLUMN",
        help="The column of --labels that names the samples. Default: found by itself.",
        doc="""
        str, optional
        The column of `labels` that names the samples, if several could. A column of this name in the table holds the
        names on its side, and is not a feature.
        """,
    )
    match: str | None = _option(
        None,
        panel="Labels",
        metavar="CHANGE",
        help="Undo a change of names before they are compared: r-names, padding, suffix, case or spaces.",
        doc="""
        {"r-names", "padding", "suffix", "case", "spaces"}, optional
        A change of names that is undone before they are compared: R's make.names, zeros in front of numbers, a suffix
        such as -1, upper and lower case, spaces.
        """,
    )
    by_order: bool = _option(
        False,
        kind="switch",
        panel="Labels",
        help="The lines of --labels stand in the order of the samples.",
        doc="""
        bool
        The lines of `labels` and `covar` are in the order of the samples. An error if a column names the samples in
        another order.
        """,
    )
    drop_missing: bool = _option(
        False,
        kind="switch",
        flags=("--drop-missing", "--drop-unlabelled"),
        panel="Labels",
        help="Leave out samples without label.",
        doc="""
        bool
        Leave out the samples without a label, or without a value of another column that is read. Samples that PLINK's
        codes call unknown are always left out, with a warning.
        """,
    )
    min_class: int = _option(
        0,
        kind="number",
        panel="Labels",
        metavar="N",
        help="Leave out classes with fewer samples than N, and say which.",
        doc="""
        int
        Leave out the classes with fewer samples, with a warning that names them.
        """,
    )
    covar: _PathLike | None = _option(
        None,
        kind="path",
        panel="Labels",
        metavar="FILE",
        help="A file of covariates, matched as --labels; as --covariate for each column.",
        doc="""
        path, optional
        A file of covariates; its lines are matched by the same rule as the labels.
        """,
    )
    covar_names: Collection[str] = _option(
        (),
        kind="names",
        flags=("--covar-names", "--covar-name"),
        panel="Labels",
        metavar="A,B,...",
        help="Columns of --covar. Default: all.",
        doc="""
        collection of str
        The columns of `covar` to read. Default: all but the names of the samples.
        """,
    )
    control_is_0: bool = _option(
        False,
        kind="switch",
        flags=("--control-is-0", "--1"),
        panel="Labels",
        formats=("bed",),
        help="In PLINK's files 0 is a control and 1 a case; else 1 and 2 are.",
        doc="""
        bool
        In PLINK's files 0 is a control and 1 a case, as with PLINK's ``--1``. Else 1 and 2 are these, and 0 is unknown.
        """,
    )
    format: str | None = _option(
        None,
        metavar="FORMAT",
        help="The format of FILE, if its name doesn't say it: csv, tsv, xlsx, h5ad, ... Standard input (-) needs it.",
        doc="""
        str, optional
        The format, if the file's name doesn't say it, such as "csv": an ending without its point.
        """,
    )
    labels_sheet: str | None = _option(
        None,
        panel="Labels",
        metavar="NAME",
        help="The sheet of --labels and --covar, if that is an .xlsx file with several.",
        doc="""
        str, optional
        The sheet of `labels` and `covar`, if these are Excel files with several.
        """,
    )
    decimal: str | None = _option(
        None,
        metavar="MARK",
        words=(".", ","),
        formats=("text",),
        help="The decimal mark of numbers: . or a comma. Default: a comma if every cell agrees, else a point.",
        doc="""
        {".", ","}, optional
        The decimal mark. Default: a point, or a comma if every cell of the table can only be read so; a warning says
        it. Cells such as 1,234 can also have a comma between thousands, and are an error if no other cell decides.
        """,
    )
    thousands: str | None = _option(
        None,
        metavar="MARK",
        words=(",", ".", " ", "'"),
        formats=("text",),
        help="The mark between thousands, such as a comma. Default: none.",
        doc="""
        {",", ".", " ", "'"}, optional
        The mark between thousands. Default: none.
        """,
    )
    encoding: str | None = _option(
        None,
        metavar="NAME",
        formats=("text",),
        help="The encoding of text that isn't UTF-8, such as latin-1, cp1252 or utf-16.",
        doc="""
        str, optional
        The encoding of text files that aren't UTF-8, such as "latin-1" or "utf-16-le"; with a byte order mark, UTF-16
        needs none. The error about such a file names the encodings that fit.
        """,
    )
    comment: str | None = _option(
        None,
        metavar="MARK",
        formats=("table",),
        help="Skip the lines of text that begin so, such as '#'.",
        doc="""
        str, optional
        Lines of text tables that begin with it are skipped.
        """,
    )
    sheet: str | None = _option(
        None,
        metavar="NAME",
        formats=("table",),
        help="The sheet of an .xlsx file, if it has several.",
        doc="""
        str, optional
        The sheet of an Excel file that has several.
        """,
    )
    transpose: bool = _option(
        False,
        kind="switch",
        help="FILE has features in rows, samples in columns.",
        doc="""
        bool
        Features are in rows: the first column holds their names, the header those of the samples, and `label` is a row.
        Formats that always have features in rows are read so without it.
        """,
    )
    ignore: Collection[str] = _option(
        (),
        kind="repeated",
        metavar="COLUMN",
        help="A column that is not a feature; 'meta_*': several; may be repeated.",
        doc="""
        collection of str
        Columns to leave out; with `transpose`, and of GCT and series matrices, rows or columns; of files in which
        features aren't columns of a table, features. ``*`` stands for any characters of a name, ``?`` for one, and
        ``[*]`` for a star.
        """,
    )
    numbers_only: bool = _option(
        False,
        kind="switch",
        formats=("table",),
        help="Leave out all columns that hold words, and say which.",
        doc="""
        bool
        Leave out all columns with a word in them, with a warning that names them.
        """,
    )
    samples: str | None = _option(
        None,
        metavar="PATTERN",
        formats=("table",),
        help="With --transpose: the columns of samples, such as 'LFQ intensity *'; * is the sample's name.",
        doc="""
        str, optional
        With `transpose`: the columns that are samples, such as ``"LFQ intensity *"``; the part at the ``*`` is the name
        of the sample. Default: all columns but the first one.
        """,
    )
    names_from: str | None = _option(
        None,
        metavar="COLUMN",
        formats=("table", "loom"),
        help="With --transpose: the column that names the features; of .loom, a row attribute.",
        doc="""
        str, optional
        With `transpose`, the column that names the features; of loom, the row attribute. Default: the first column, and
        ``Gene`` or ``var_names``.
        """,
    )
    long: str | None = _option(
        None,
        metavar="A,B,C",
        formats=("table",),
        help="A row for each value: the columns of samples, features and values, such as SampleID,Assay,NPX.",
        doc="""
        str, optional
        The table has a row for each value. The three names of its columns that hold samples, features and values, with
        commas between them, such as ``"SampleID,Assay,NPX"`` of Olink's files. Labels come from a column that has one
        value per sample, or from `labels`.
        """,
    )
    duplicates: str = _option(
        "error",
        words=("error", "suffix", "mean", "max", "first"),
        metavar="HOW",
        help="Features that share a name: error (default), suffix to number them, or keep their mean, max or first.",
        doc="""
        {"error", "suffix", "mean", "max", "first"}
        Features that share a name are an error, or get names with numbers (``gene``, ``gene-1``, ``gene-2``), or become
        one: in each sample their mean, their largest value, or the first one.
        """,
    )
    feature_names: _PathLike | None = _option(
        None,
        kind="path",
        formats=("mtx",),
        metavar="FILE",
        help="For .mtx: text with the names of the features in its first column. Default: features.tsv next to it.",
        doc="""
        path, optional
        For MatrixMarket: a text file with the feature names in its first column, without a header.
        """,
    )
    layer: str | None = _option(
        None,
        formats=("h5ad", "zarr", "h5mu", "loom", "rds"),
        metavar="NAME",
        help="A layer in place of X, or an assay of an .rds file.",
        doc="""
        str, optional
        The layer to read in place of `X`, or of the matrix of a loom file; the assay of an experiment (default: the
        first one).
        """,
    )
    mod: str | None = _option(
        None,
        formats=("h5mu", "10x"),
        metavar="NAME",
        help="The modality of an .h5mu file, or a feature type of 10x's files.",
        doc="""
        str, optional
        The modality of H5MU; the feature type, or before version 3 of Cell Ranger the genome, of 10x's files that have
        several.
        """,
    )
    chromosomes: Collection[str] = _option(
        (),
        kind="names",
        flags=("--chr", "--chromosomes"),
        formats=("bed",),
        metavar="A,B,...",
        help="Of genotypes: SNPs of these chromosomes only.",
        doc="""
        collection of str
        Of genotypes: read the SNPs of these chromosomes only. 23 to 26 are X, Y, XY and MT.
        """,
    )
    not_chromosomes: Collection[str] = _option(
        (),
        kind="names",
        flags=("--not-chr", "--not-chromosomes"),
        formats=("bed",),
        metavar="A,B,...",
        help="Of genotypes: all but these chromosomes.",
        doc="""
        collection of str
        Of genotypes: read the SNPs of all other chromosomes.
        """,
    )
    max_memory: int | str | None = _option(
        None,
        metavar="SIZE",
        doc="""
        int or str, optional
        The memory budget, in bytes or such as "4G", beyond which no file is expanded (default: that of the machine).
        With it, X of H5AD, Zarr, H5MU, 10x's files and loom stays on disk if it takes more than a quarter of it. The
        table's `X` is then what the `fit` of an estimator reads block by block.
        """,
    )

    def __post_init__(self) -> None:
        """Raise TableError for an option of a wrong type, with an unknown word, or in conflict with another."""
        for option in fields(ReadOptions):
            require_type(option.name, getattr(self, option.name), describe(option).kind)
        if self.min_class < 0:
            raise TableError(Parameter("min_class"), f" must be 0 or larger; got {self.min_class}")
        decimal = self.decimal or "."
        if self.thousands == decimal:
            other = "," if decimal == "." else "."
            raise TableError(
                Parameter("thousands", decimal), f" needs another mark before decimals than '{decimal}': add ",
                Parameter("decimal", other), ", or leave it out",
            )  # fmt: skip
        for option in fields(ReadOptions):
            words, value = describe(option).words, getattr(self, option.name)
            if words and value is not None and value not in words:
                known = any_of([f"'{word}'" for word in words])
                raise TableError(Parameter(option.name), f" must be {known}; got '{value}'")


def require_type(name: str, value: object, kind: str) -> None:
    """Raise TableError about a value of another type than the kind of an option has; None is right for text and
    paths.
    """
    if kind in ("names", "repeated"):
        is_right = isinstance(value, Collection) and not isinstance(value, str | bytes)
        is_right = is_right and all(isinstance(one, str) for one in value)  # type: ignore[attr-defined]
    elif kind == "number":
        is_right = isinstance(value, int) and not isinstance(value, bool)
    elif kind == "switch":
        is_right = isinstance(value, bool)
    else:
        is_right = value is None or name == "max_memory" or isinstance(value, str)
        is_right = is_right or (kind == "path" and isinstance(value, os.PathLike))
    if not is_right:
        words = {"names": "a list of names", "repeated": "a list of names", "number": "an integer", "path": "a path"}
        expected = words.get(kind, "True or False" if kind == "switch" else "a string")
        shown = f"the string '{value}'" if isinstance(value, str) else f"{value!r}"
        raise TableError(Parameter(name), f" must be {expected}; got {shown}")


def documented(text: str) -> str | None:
    """Return a docstring with the options of `ReadOptions` in place of the line ``<read_options>``."""
    entries = []
    for option in fields(ReadOptions):
        kind, _, body = textwrap.dedent(describe(option).doc).strip().partition("\n")
        entries.append(f"{option.name} : {kind}\n{textwrap.indent(body, '    ')}")
    return fill_shared(text, read_options="\n".join(entries))


def takes(
    call_class: Callable[_Arguments, _Call],
) -> Callable[[Callable[[_Call], _Result]], Callable[_Arguments, _Result]]:
    """Return a decorator of a public function, which then takes the fields of a class of `ReadOptions`.

    It also checks names of arguments, and completes the documentation.
    """

    def decorate(function: Callable[[_Call], _Result]) -> Callable[_Arguments, _Result]:
        public = with_fields(function, call_class, inspect.signature(call_class))
        public.__doc__ = documented(function.__doc__ or "")
        return named_arguments(public)

    return decorate
