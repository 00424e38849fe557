"""Arguments and results of the readers of formats, and the choice of features among rows or columns."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, short, some_of, unknown
from fastfs.io._cells import Marks, SampleColumn, has_decimal_comma
from fastfs.io._options import ReadOptions
from fastfs.io._text import TextForm, form_of

# Names take about 100 bytes each. Ten times the features of any array of methylation probes.
MOST_COLUMNS = 10_000_000

# A first column of this name holds row names: as CSV has it, as pandas calls it, as pandas stores it in Parquet.
_ROW_NAMES = ("", "Unnamed: 0", "__index_level_0__")


OR_LABELS = (", or give a file of labels with ", Parameter("labels"))


def _as_pattern(found: re.Match[str]) -> str:
    """Return a star as any characters, a question mark as one, and either in brackets as itself."""
    return found[1] or {"*": ".*", "?": "."}[found[2]]


class Names:
    """Names of columns or rows; * stands for any characters, ? for one."""

    def __init__(self, given: Collection[str]) -> None:
        """Keep the names, and compile those with * or ? to one pattern."""
        self.given = frozenset(given)
        parts = [
            re.sub(r"\\\[(\\.)\\\]|\\([*?])", _as_pattern, re.escape(name))
            for name in self.given
            if set("*?") & set(name)
        ]
        self._pattern = re.compile("|".join(parts), re.DOTALL) if parts else None

    def __contains__(self, name: object) -> bool:
        if name in self.given:
            return True
        return self._pattern is not None and isinstance(name, str) and self._pattern.fullmatch(name) is not None

    def unused(self, names: Iterable[str]) -> str | None:
        """Return the first of the given names or patterns that none of `names` matches, or None if each has a match.

        Raise TableError for a name with * or ? that is both the name of a column and a pattern for others.
        """
        present = list(names)
        exact = set(present)
        for name in sorted(self.given):
            if (
                set("*?") & set(name)
                and name in exact
                and any(other != name and other in Names([name]) for other in exact)
            ):
                raise TableError(
                    Parameter("ignore"),
                    f" must say whether '{name}' is the column of this name or several: write ",
                    Parameter("ignore", [re.sub(r"([*?])", r"[\1]", name)]),
                    " for the one",
                )
            if name not in exact and not any(other in Names([name]) for other in present if set("*?") & set(name)):
                return name
        return None


@dataclass(frozen=True, kw_only=True)
class Wanted(ReadOptions):
    """The options of reading, and what the readers of the formats need besides."""

    label: str | None = None
    annotations: tuple[str, ...] = ()
    has_labels: bool = True  # False: labels and annotations come from a separate file
    budget: int | None = None  # bytes; None: the machine's
    most_bytes: int | None = None  # None: X is read whole; else it stays on disk if it takes more and its format allows

    @property
    def aside(self) -> list[str]:
        """Return the names of the columns about samples: the label, if it has a name, and the annotations."""
        return list(dict.fromkeys([*([] if self.label is None else [self.label]), *self.annotations]))

    @cached_property
    def ignored(self) -> Names:
        return Names(self.ignore)

    @property
    def marks(self) -> Marks:
        return Marks(self.decimal or ".", self.thousands)

    @property
    def text_form(self) -> TextForm:
        return form_of(self, self.budget)


@dataclass(frozen=True)
class Content:
    """The result of a reader: samples in rows, the wanted features in columns."""

    X: Any
    feature_names: list[str]
    sample_names: list[str] | None = None
    aside: dict[str, SampleColumn] = field(default_factory=dict)  # by name
    families: list[str] | None = None  # PLINK's identifiers: of families, and of samples within these
    individuals: list[str] | None = None


class MaybeDecimalComma(Exception):
    """A cell of these columns has a comma, which the other cells may show to be a decimal comma."""

    def __init__(self, error: TableError, columns: Sequence[int]) -> None:
        self.error, self.columns = error, columns


def not_numeric(error: TableError, cell: str, wanted: Wanted, columns: Sequence[int]) -> Exception:
    """Return the error about a cell, or one that asks to look for decimal commas first.

    With given marks that the cell contradicts, it is one about their option.
    """
    if wanted.decimal is None and wanted.thousands is None and has_decimal_comma(cell):
        return MaybeDecimalComma(error, columns)
    if wanted.thousands is not None and wanted.thousands in cell and re.search(r"\d", cell):
        return _against_option(error, Parameter("thousands", wanted.thousands))
    if wanted.decimal == "," and re.fullmatch(r"[-+]?\d*\.\d+", cell.strip()):
        return _against_option(error, Parameter("decimal", ","))
    return error


def _against_option(error: TableError, option: Parameter) -> TableError:
    """Return the error about a cell that the given mark contradicts."""
    return TableError(error.parts[0], "it isn't written with ", option, ": leave that out, or correct the cell")


def feature_columns(
    header: Sequence[str],
    index: list[int],
    wanted: Wanted,
    path: Path,
    first_cells: Callable[[], Iterable[str]],
    words: Collection[int] = (),
) -> tuple[int | None, list[int]]:
    """Return the position of the samples' names, if any, and of the features, in a table of samples in rows.

    `index` are the columns that hold row names according to the file; `first_cells` reads the first column, to look for
    the label there; columns of `words` aren't features. `key`, and a first column that is called like row names or
    ignored, also hold names. Raise ValueError for options of features in rows, no label, an unknown column, or no
    feature left.
    """
    for name in ("samples", "names_from"):
        if getattr(wanted, name) is not None:
            raise TableError(Parameter(name), " is for features in rows: add ", TRANSPOSE)
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
    first_is_named = header[0] in wanted.ignored or (0 in words and header[0] not in wanted.aside)
    names_at = index[0] if index else 0 if first_is_named else None
    named = [j for j, name in enumerate(header) if name and (j not in index or name in wanted.ignored)]
    named = [j for j in named if j not in words]
    check_unique([header[j] for j in named if header[j] in wanted.aside], "columns", path)
    unknown_name = wanted.ignored.unused(header)
    if unknown_name is not None:
        raise unknown("column", unknown_name, header, path)
    keep = [j for j in named if header[j] not in wanted.aside and header[j] not in wanted.ignored]
    if not keep:
        raise _no_feature_left("column", header, path)
    return names_at, keep


def sample_columns(
    header: Sequence[str], index: list[int], wanted: Wanted, path: Path, words: Collection[int] = ()
) -> tuple[int, list[int], list[str]]:
    """Return the position of the features' names, and positions and names of samples, in a table of features in rows.

    `names_from` chooses the first, `samples`, such as "LFQ *", the others, where * stands for the name. Columns of
    `words` hold no samples. Raise ValueError if no label is named, a name is unknown or repeated, or no sample is left.
    """
    if wanted.has_labels and wanted.label is None:
        raise TableError(f"'{path}' needs a label row: choose one with ", Parameter("label"), *OR_LABELS)
    if wanted.names_from is not None:
        if wanted.names_from not in header:
            raise unknown("column", wanted.names_from, header, path)
        index = [header.index(wanted.names_from)]
    left = [j for j, name in enumerate(header) if j not in index and name not in wanted.ignored and (name or j == 0)]
    for name in wanted.aside:
        if name in (header[j] for j in left[1:]):
            raise TableError(f"'{path}' has '{name}' as a column, not as a row: leave out ", TRANSPOSE)
    names_at, keep = (index[0], left) if index else (left[0], left[1:]) if left else (0, [])
    keep = [j for j in keep if j not in words]
    names = [header[j] for j in keep]
    if wanted.samples is not None:
        before, star, behind = wanted.samples.partition("*")
        if not star or "*" in behind:
            raise TableError(
                Parameter("samples"), f" must have one *, in place of the name of the sample; got '{wanted.samples}'"
            )
        matches = [re.fullmatch(f"{re.escape(before)}(.+){re.escape(behind)}", name, re.DOTALL) for name in names]
        keep, names = (
            [j for j, match in zip(keep, matches, strict=True) if match],
            [match[1] for match in matches if match],
        )
        if not keep:
            raise TableError(
                f"'{path}' has no column such as '{wanted.samples}' (it has {some_of(header)}): name others with ",
                Parameter("samples"),
            )
    if not keep:
        raise TableError(
            f"'{path}' has no column left as a sample: all name features or are ignored ({some_of(header)}); ignore "
            "fewer by ",
            Parameter("ignore"),
        )
    check_unique(names, "columns", path)
    return names_at, keep, names


def check_rows(names: Sequence[str], aside: Collection[str], header: Sequence[str], wanted: Wanted, path: Path) -> None:
    """Raise ValueError unless the caller's names of rows exist, and a row is a feature."""
    for name in wanted.aside:
        if name not in aside:
            raise unknown("row", name, [*aside, *names], path)
    unknown_name = wanted.ignored.unused([*aside, *header])
    if unknown_name is not None:
        raise unknown("row or column", unknown_name, [*header, *aside, *names], path)
    if not names:
        raise _no_feature_left("row", [*aside], path)


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


def chosen_type(available: list[str], what: str, wanted: Wanted, path: Path) -> str:
    """Return the type of features that `mod` names, or the only one; raise ValueError if it is unknown, or there are
    several.
    """
    if wanted.mod is None:
        if len(available) > 1:
            choices = f" ({some_of(available)})"
            raise TableError(f"'{path}' has several {what}s: choose one with ", Parameter("mod"), choices)
        return available[0]
    if wanted.mod not in available:
        raise unknown(what, wanted.mod, available, path)
    return wanted.mod


def features_by_name(names: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the names of genes; a name that several genes share gets the identifier of each gene appended."""
    count = Counter(names)
    return [name if count[name] == 1 else f"{name} ({id_})" for name, id_ in zip(names, ids, strict=True)]


def features_of(names: Sequence[str], ignored: Names, path: Path, what: str = "column") -> list[int]:
    """Return the positions of the features: all that aren't ignored; raise ValueError if none is left or a name is
    unknown.
    """
    unknown_name = ignored.unused(names)
    if unknown_name is not None:
        raise unknown(what, unknown_name, names, path)
    keep = [j for j, name in enumerate(names) if name not in ignored]
    if not keep:
        raise _no_feature_left(what, names, path)
    return keep


def _no_feature_left(what: str, names: Sequence[str], path: Path) -> ValueError:
    return ValueError(
        f"'{path}' has no {what} left as a feature: all are labels, annotations or ignored ({some_of(names)}): "
        "name fewer of these"
    )


def without_name(what: str, name: str, lines: Sequence[int], path: Path) -> TableError:
    """Return the error about features or samples with an empty name, or with a code of a missing value as one."""
    many = f"{len(lines)} {what}s" if len(lines) > 1 else f"a {what}"
    of = f"with '{name}' as " + ("names" if len(lines) > 1 else "name") if name else "without a name"
    where = f"line{'s' if len(lines) > 1 else ''} {some_of([str(line) for line in lines])}"
    advice: list[str | Parameter] = ["give it one"] if len(lines) == 1 else ["give each one"]
    if what == "feature":
        advice += [", or leave it out with " if len(lines) == 1 else ", or leave them out with "]
        advice += [Parameter("ignore", [name])]
    return TableError(f"'{path}' has {many} {of} ({where}): ", *advice)


def check_names(content: Content, path: Path) -> None:
    """Raise ValueError for names that no list, picture or search could show: empty ones, or with null bytes.

    Samples can all be without names.
    """
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
