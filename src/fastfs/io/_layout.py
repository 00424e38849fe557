"""Arguments and results of the readers of formats, and the choice of features among rows or columns."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, short, some_of, unknown
from fastfs.io._cells import SampleColumn

# Names take about 100 bytes each. Ten times the features of any array of methylation probes.
MOST_COLUMNS = 10_000_000

# A first column of this name holds row names: as CSV has it, as pandas calls it, as pandas stores it in Parquet.
_ROW_NAMES = ("", "Unnamed: 0", "__index_level_0__")


OR_LABELS = (", or give a file of labels with ", Parameter("labels"))


@dataclass(frozen=True)
class Wanted:
    """The parameters of `read_table` that the readers of the formats need."""

    label: str | None
    annotations: tuple[str, ...]
    has_labels: bool  # False: labels and annotations come from a separate file
    ignore: frozenset[str]
    transpose: bool
    feature_names: Path | None
    layer: str | None
    mod: str | None
    budget: int | None  # bytes; None: the machine's
    most_bytes: int | None  # None: X is read whole; else it stays on disk if it takes more and its format allows
    key: str | None = None  # a column of names of the samples, which a file of labels has too
    chromosomes: frozenset[str] = frozenset()  # of genotypes: these alone, and without the others
    not_chromosomes: frozenset[str] = frozenset()
    control_is_0: bool = False  # PLINK's --1

    @property
    def aside(self) -> list[str]:
        """Return the names of the columns about samples: the label, if it has a name, and the annotations."""
        return list(dict.fromkeys([*([] if self.label is None else [self.label]), *self.annotations]))


@dataclass(frozen=True)
class Content:
    """The result of a reader: samples in rows, the wanted features in columns."""

    X: Any
    feature_names: list[str]
    sample_names: list[str] | None = None
    aside: dict[str, SampleColumn] = field(default_factory=dict)  # by name
    families: list[str] | None = None  # PLINK's identifiers: of families, and of samples within these
    individuals: list[str] | None = None


def feature_columns(
    header: Sequence[str], index: list[int], wanted: Wanted, path: Path, first_cells: Callable[[], Iterable[str]]
) -> tuple[int | None, list[int]]:
    """Return the position of the samples' names, if any, and of the features, in a table of samples in rows.

    `index` are the columns that hold row names according to the file; `first_cells` reads the first column, to look for
    the label there.
    """
    if wanted.has_labels and wanted.label is None:
        choices = f" (columns: {some_of(header)})"
        raise TableError(f"'{path}' needs a label column: choose one with ", Parameter("label"), choices, *OR_LABELS)
    for name in wanted.aside:
        if name in header:
            continue
        if name in first_cells():
            raise TableError(f"'{path}' has '{name}' as a row, not as a column: add ", TRANSPOSE)
        if len(header) == 1:
            raise ValueError(
                f"'{path}' has no column '{name}', only '{short(header[0])}': is it a table with commas, semicolons "
                "or tabs between its columns?"
            )
        raise unknown("column", name, header, path)
    if wanted.key in header:
        index = [header.index(wanted.key)]
    elif not index and header[0] in _ROW_NAMES:
        index = [0]
    index = [j for j in index if header[j] not in wanted.aside]
    names_at = index[0] if index else 0 if header[0] in wanted.ignore else None
    named = [j for j, name in enumerate(header) if name and (j not in index or name in wanted.ignore)]
    left_out = wanted.ignore.union(wanted.aside)
    return names_at, [named[k] for k in features_of([header[j] for j in named], left_out, path)]


def sample_columns(header: Sequence[str], index: list[int], wanted: Wanted, path: Path) -> tuple[int, list[int]]:
    """Return the position of the features' names and of the samples, in a table of features in rows."""
    if wanted.has_labels and wanted.label is None:
        raise TableError(f"'{path}' needs a label row: choose one with ", Parameter("label"), *OR_LABELS)
    left = [j for j, name in enumerate(header) if j not in index and name not in wanted.ignore and (name or j == 0)]
    for name in wanted.aside:
        if name in (header[j] for j in left[1:]):
            raise TableError(f"'{path}' has '{name}' as a column, not as a row: leave out ", TRANSPOSE)
    names_at, keep = (index[0], left) if index else (left[0], left[1:]) if left else (0, [])
    if not keep:
        raise ValueError(f"'{path}' has no sample column: its columns are {some_of(header)}")
    check_unique([header[j] for j in keep], "columns", path)
    return names_at, keep


def check_rows(names: Sequence[str], aside: Collection[str], header: Sequence[str], wanted: Wanted, path: Path) -> None:
    """Require that the caller's names of rows exist, that none occurs twice, and that a row is a feature."""
    for name in wanted.aside:
        if name not in aside:
            raise unknown("row", name, [*aside, *names], path)
    for name in sorted(wanted.ignore):
        if name not in aside and name not in header:
            raise unknown("row or column", name, [*header, *aside, *names], path)
    if not names:
        raise ValueError(f"'{path}' has no feature row: its rows are {some_of([*aside])}")


def require_no_transpose(wanted: Wanted, path: Path, kind: str) -> None:
    if wanted.transpose:
        raise TableError(f"'{path}' has features in rows, as every {kind}, and is read so: leave out ", TRANSPOSE)


def require_labels_file(wanted: Wanted, path: Path) -> None:
    if wanted.has_labels:
        raise TableError(f"'{path}' holds no labels: give a file of them with ", Parameter("labels"))


def annotation_rows(
    wanted: Wanted, annotations: Mapping[str, list[str]], candidates: str, path: Path
) -> list[list[str]]:
    """Return the annotations that `wanted` sets aside (label, blocks ...), a row of name and values each.

    Raises an error if one doesn't exist, or if labels are wanted and none is named: `candidates` lists possible ones.
    """
    if wanted.has_labels and wanted.label is None:
        shown = f" ({candidates})"
        raise TableError(f"'{path}' needs a label: choose one with ", Parameter("label"), shown, *OR_LABELS)
    for name in wanted.aside:
        if name not in annotations:
            raise unknown("annotation of its samples", name, [*annotations], path)
    return [[name, *annotations[name]] for name in wanted.aside]


def features_by_name(names: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the names of genes; a name that several genes share gets the identifier of each gene appended."""
    count = Counter(names)
    return [name if count[name] == 1 else f"{name} ({id_})" for name, id_ in zip(names, ids, strict=True)]


def features_of(names: Sequence[str], left_out: Collection[str], path: Path, what: str = "column") -> list[int]:
    """Return the positions of the feature columns: all columns that aren't left out."""
    present = set(names)
    for name in sorted(left_out):
        if name not in present:
            raise unknown(what, name, names, path)
    check_unique([name for name in names if name in left_out], f"{what}s", path)
    keep = [j for j, name in enumerate(names) if name not in left_out]
    if not keep:
        raise ValueError(
            f"'{path}' has no {what} left as a feature: all are labels, annotations or ignored ({some_of(names)})"
        )
    return keep


def check_names(content: Content, path: Path) -> None:
    """Raise ValueError for names that no list, picture or search could show."""
    for what, names in (("feature", content.feature_names), ("sample", content.sample_names or [])):
        is_blank = what == "sample" and not any(names)  # a column of blanks isn't one of names
        if not all(names) and not is_blank:
            raise ValueError(f"'{path}' has a {what} without a name: {what} {names.index('')} (0-based): give it one")
        broken = next((name for name in names if "\0" in name), None)
        if broken is not None:
            shown = short(broken.replace("\0", "\\0"))
            raise ValueError(f"'{path}' has a null byte in the name of the {what} '{shown}': write the name without it")


def check_unique(names: Sequence[str], what: str, path: Path) -> None:
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise ValueError(f"'{path}' has {count} {what} '{short(name)}': give each a unique name")


def unique_features(names: list[str], duplicates: str, path: Path) -> list[str]:
    """Return the names of features, each once: with a number behind those that occur again, or raise an error."""
    if len(set(names)) == len(names):
        return names
    counts = Counter(names)
    if duplicates == "error":
        repeated = [name for name, count in counts.items() if count > 1]
        raise TableError(
            f"'{path}' has {len(repeated)} name{'s' if len(repeated) > 1 else ''} of several features, such as "
            f"'{short(repeated[0])}' ({counts[repeated[0]]} features): give each another name, or number them with ",
            Parameter("duplicates", "suffix"),
        )
    unique, used = list[str](), set(names)
    number: Counter[str] = Counter()
    seen = set[str]()
    for name in names:
        new = name
        while new in seen or (new != name and new in used):
            number[name] += 1
            new = f"{name}-{number[name]}"
        seen.add(new)
        unique.append(new)
    return unique
