"""Labels, and other columns about samples, in a separate file."""

from collections.abc import Collection, Sequence
from pathlib import Path

from fastfs._files.errors import Parameter, TableError, short, some_of, unknown
from fastfs._files.expand import TEXT_BYTES, Held
from fastfs._types import Integers
from fastfs.io._cells import SampleColumn, with_points
from fastfs.io._matching import MatchRule, SampleFile, Samples, match_samples, require_length
from fastfs.io._plink import missing_codes, zero_is_a_value
from fastfs.io._text import TextForm, open_table, open_text, read_lines, stripped


def read_label(
    path: Path,
    label: str | None,
    annotations: Sequence[str],
    samples: Samples,
    rule: MatchRule,
    form: TextForm,
) -> tuple[str, dict[str, SampleColumn], str]:
    """Return the name of the label, columns of label and annotations read from a file, and how its lines were matched.

    Parameters
    ----------
    label : str or None
        None: the only column that doesn't name the samples; of PLINK's files, the first one.

    Returns
    -------
    label : str
    columns : dict of str to SampleColumn
    how : str
        How lines were matched with samples.
    """
    file = _read_sample_file(path, label, samples, form)
    if len(file.header) == 1 and label is None:
        labels = file.column(0)
        if annotations:
            message = f"'{path}' must be a table with the column '{annotations[0]}': choose its labels with "
            raise TableError(message, Parameter("label"))
        hint: list[str | Parameter] = []
        if len(labels) == samples.n + 1:
            hint = [f"; if '{short(labels[0])}' is the name of the column, add ", Parameter("label", short(labels[0]))]
        require_length(len(labels), path, samples, *hint)
        return "label", {"label": SampleColumn(with_points(labels, form.decimal), f"'{path}'")}, "by order"
    _require_columns(file, [*([] if label is None else [label]), *annotations])
    matching = match_samples(file, samples, label, annotations, rule)
    if label is None:
        others = [name for name in _other_columns(file, matching.keys, samples) if name not in annotations]
        if not others or (len(others) > 1 and not _is_plink(file, samples)):
            problem = f"'{path}' has the columns {some_of(file.header)}: choose one of them with "
            raise TableError(problem, Parameter("label"))
        label = others[0]
    names = [label, *annotations]
    zeros = {name for name in names if rule.control_is_0 or zero_is_a_value(name, label)}
    columns = _columns(file, names, matching.lines, samples, zeros, form.decimal)
    return label, columns, matching.how


def read_covariates(
    path: Path, names: Sequence[str], label: str, samples: Samples, rule: MatchRule, form: TextForm
) -> tuple[dict[str, SampleColumn], str]:
    """Return covariates of the samples by name, read from a file, and how its lines were matched.

    By default these are all columns but the names of the samples and the label. Raise TableError if they name the
    label, ValueError if one is unknown or there are none.
    """
    file = _read_sample_file(path, names[0] if names else None, samples, form)
    _require_columns(file, names)
    if label in names:
        raise TableError(Parameter("covar_names"), f" must not name the label '{label}': leave it out")
    matching = match_samples(file, samples, label, names, rule)
    names = names or [name for name in _other_columns(file, matching.keys, samples) if name != label]
    if not names:
        raise ValueError(f"'{path}' must have a column of a covariate; got only the names and labels of the samples")
    return _columns(file, names, matching.lines, samples, names, form.decimal), matching.how


def _require_columns(file: SampleFile, names: Sequence[str]) -> None:
    for name in names:
        if name not in file.header:
            raise unknown("column", name, file.header, file.path)


def _is_plink(file: SampleFile, samples: Samples) -> bool:
    return samples.families is not None and _has_plink_names(file.header)


def _other_columns(file: SampleFile, keys: Sequence[str], samples: Samples) -> list[str]:
    """Return the columns that don't name the samples."""
    is_plink = _is_plink(file, samples)
    return [name for name in file.header if name not in keys and not (is_plink and _is_plink_name(name))]


def _columns(
    file: SampleFile, names: Sequence[str], lines: Integers, samples: Samples, zeros: Collection[str], decimal: str
) -> dict[str, SampleColumn]:
    """Return columns with a cell for each sample, None if the file has no line for it; in `zeros`, 0 is a value.

    Decimal commas become points. In a file of PLINK, some codes stand for missing values.
    """
    columns = {}
    for name in dict.fromkeys(names):
        j = file.header.index(name)
        written = with_points(file.column(j), decimal)
        cells = [written[line] if line >= 0 else None for line in lines.tolist()]
        where = f"Column '{name}' of '{file.path}'"
        codes = missing_codes(file.column(j), where, name in zeros) if _is_plink(file, samples) else ()
        columns[name] = SampleColumn(cells, where, None, codes)
    return columns


def _is_plink_name(name: str) -> bool:
    return name.lstrip("#").upper() in ("FID", "IID")


def _has_plink_names(header: Sequence[str]) -> bool:
    return any(name.lstrip("#").upper() == "IID" for name in header)


def _read_sample_file(path: Path, label: str | None, samples: Samples, form: TextForm) -> SampleFile:
    """Read a file about samples; a first line that holds the name of a sample isn't a header.

    Next to data of PLINK, other files than .csv are divided by white space, with or without a header. A single column
    has no header unless `label` is its name. Raise an error for an empty file, or several columns without a label among
    them.
    """
    is_plink = samples.families is not None and not path.name.lower().endswith((".csv", ".csv.gz"))
    if is_plink:
        rows = _read_spaced(path, form)
        if not rows:
            raise ValueError(f"'{path}' must be a table of FID, IID and phenotypes; got an empty file")
        header = rows[0]
        if samples.families is not None and samples.individuals is not None and not _has_plink_names(header):
            pairs = set(zip(samples.families, samples.individuals, strict=True))
            if len(header) > 2 and any((line[0], line[1]) in pairs for line in rows[:3] if len(line) > 1):
                header = ["FID", "IID", *(f"PHENO{k}" for k in range(1, len(header) - 1))]
                return SampleFile(path, header, _of_length(rows, len(header), path, 1))
        if _has_plink_names(header) or label is not None:
            if len(rows) < 2:
                raise ValueError(f"'{path}' has a header but no samples below it: add them, or give another file")
            return SampleFile(path, header, _of_length(rows[1:], len(header), path, 2))
    if label is not None:
        with open_table(path, "samples", form) as (header, lines):
            return SampleFile(path, header, [stripped(row) for row in lines])
    rows = read_lines(path, form)
    names = set(samples.names or ())
    if rows and len(rows[0]) > 1:
        if any(cell in names for cell in rows[0]):
            header = [f"column {j}" for j in range(len(rows[0]))]
            return SampleFile(path, header, _of_length(rows, len(header), path, 1))
        with open_table(path, "samples", form) as (header, lines):
            return SampleFile(path, header, [stripped(row) for row in lines])
    for row in rows:
        if len(row) > 1:
            raise TableError(f"'{path}' has the columns {some_of(row)}: choose one of them with ", Parameter("label"))
    return SampleFile(path, [""], rows)


def _read_spaced(path: Path, form: TextForm) -> list[list[str]]:
    """Return the lines of a file; tabs divide the cells if the first line has one, or else white space."""
    with open_text(path, form) as file:
        has_tabs = "\t" in next(file, "")
    if has_tabs:
        return read_lines(path, form._replace(separator="\t"))
    held, lines = Held(path, form.budget), []
    with open_text(path, form) as file:
        for line in file:
            if cells := line.split():
                held.add(TEXT_BYTES * len(cells))
                lines.append(cells)
    return lines


def _of_length(rows: list[list[str]], n_cells: int, path: Path, first_line: int) -> list[list[str]]:
    for line, row in enumerate(rows):
        if len(row) != n_cells:
            wrong = f"line {line + first_line} of '{path}' has {len(row)} values"
            raise ValueError(f"{wrong}, its first line {n_cells}: give each line the same number")
    return rows
