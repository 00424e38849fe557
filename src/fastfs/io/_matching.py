"""Decide which line of a file about the samples belongs to which sample: one rule for all formats.

Lines are matched by names if both sides have names, and by their order only if one side has none, or on request.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastfs._files.errors import TRANSPOSE, Parameter, TableError, any_of, short, some_of, unknown
from fastfs._types import Integers


def _as_r_name(name: str) -> str:
    """Return the name as R's make.names changes it."""
    name = re.sub(r"[^\w.]", ".", name)
    return name if re.match(r"[^\W\d_]|\.(?!\d)", name) else "X" + name


# Changes of names that programs make, by the value of `match` that undoes them.
_CHANGES: dict[str, tuple[Callable[[str], str], str]] = {
    "r-names": (_as_r_name, "R's make.names"),
    "padding": (lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name), "zeros in front of numbers"),
    "suffix": (lambda name: re.sub(r"-\d+$", "", name), "a suffix such as -1"),
    "case": (str.casefold, "upper and lower case"),
    "spaces": (lambda name: "".join(name.split()), "spaces"),
}

# The family of samples without one in PLINK's files.
_NO_FAMILY = "0"


@dataclass(frozen=True)
class MatchRule:
    """Parameters of `read_table` about the matching of lines and samples."""

    key: str | None = None
    by_order: bool = False
    match: str | None = None
    drop_missing: bool = False
    control_is_0: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown `match`, TableError for `by_order` together with a rule for names."""
        if self.match is not None and self.match not in _CHANGES:
            raise ValueError(f"match must be {any_of(_CHANGES)}; got '{self.match}'")
        if self.by_order and (self.key is not None or self.match is not None):
            raise TableError(
                Parameter("by_order", True), " takes lines in their order, so leave out ",
                Parameter("key" if self.key is not None else "match"),
            )  # fmt: skip


@dataclass(frozen=True)
class Samples:
    """The samples of the data.

    Parameters
    ----------
    path : Path
        The file of the data.
    n : int
    names : sequence of str or None
    families : sequence of str or None
        Family identifiers of PLINK's samples; `individuals` are the identifiers within these.
    individuals : sequence of str or None
    features : sequence of str
    """

    path: Path
    n: int
    names: Sequence[str] | None
    families: Sequence[str] | None
    individuals: Sequence[str] | None
    features: Sequence[str]


@dataclass(frozen=True)
class SampleFile:
    """A table about samples: one line per sample, one cell per name of the header."""

    path: Path
    header: list[str]
    lines: list[list[str]]

    def column(self, j: int) -> list[str]:
        return [line[j] for line in self.lines]


@dataclass(frozen=True)
class Matching:
    """The line of each sample, or -1 if the file has none, how it was found, and the columns that are names."""

    lines: Integers
    how: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Key:
    """Values of the file that can be the samples' names."""

    columns: tuple[str, ...]
    values: list[str]
    names: list[str]

    @property
    def title(self) -> str:
        return " and ".join(f"'{name}'" for name in self.columns)


def match_samples(
    file: SampleFile, samples: Samples, label: str | None, annotations: Sequence[str], rule: MatchRule
) -> Matching:
    """Find the line of each sample; the column of the label is never taken for names.

    It goes by order if the rule says so or neither side has names, otherwise by PLINK's identifiers or the column that
    holds all names. Raise ValueError if several do so in different orders, or none does; with `drop_missing`, some
    names suffice.
    """
    if rule.by_order:
        _require_order(file, samples, label)
        return _by_order(file, samples)
    if plink := _plink_key(file, samples, rule):
        keys = [plink]
    elif samples.names is None:
        _require_no_names(file, samples, {label, *annotations}, rule)
        return _by_order(file, samples)
    else:
        names = list(samples.names)
        keys = [_Key((name,), file.column(j), names) for j, name in enumerate(file.header) if name != label]
    if rule.key is not None:
        if rule.key not in file.header:
            raise unknown("column", rule.key, file.header, file.path)
        keys = [key for key in keys if key.columns == (rule.key,)]
    change = _CHANGES[rule.match][0] if rule.match else None
    fitting = [(key, lines) for key in keys if (lines := _lines_of(key, change)) is not None]
    if len(fitting) > 1 and any(not np.array_equal(lines, fitting[0][1]) for _, lines in fitting):
        titles = some_of([key.columns[0] for key, _ in fitting])
        raise TableError(
            f"the columns {titles} of '{file.path}' name the samples of '{samples.path}' in different orders: choose "
            "one with ",
            Parameter("key"),
        )
    if fitting:
        key, lines = fitting[0]
        return Matching(lines, f"by {_plain(key, file)}", key.columns)
    has_names = any(_is_distinct(key.values) or not set(key.values).isdisjoint(key.names) for key in keys)
    if rule.key is None and not has_names:
        return _by_order(file, samples)
    return _without_fit(keys, file, samples, rule, change)


def _plain(key: _Key, file: SampleFile) -> str:
    if len(key.columns) > 1 or key.columns[0].lstrip("#").upper() == "IID":
        return " and ".join(name.lstrip("#") for name in key.columns)
    return f"column '{key.columns[0]}' of {file.path.name}" if key.columns[0] else f"the names in {file.path.name}"


def _by_order(file: SampleFile, samples: Samples) -> Matching:
    require_length(len(file.lines), file.path, samples)
    return Matching(np.arange(samples.n), "by order")


def require_length(n_labels: int, path: Path, samples: Samples, *hint: str | Parameter) -> None:
    """Raise an error unless there is a line for each sample."""
    if n_labels == samples.n:
        return
    if n_labels == len(samples.features) and not hint:
        hint = ("; are its features in rows? Then add ", TRANSPOSE, ", or leave it out if it's there")
    raise TableError(f"'{path}' has {n_labels} labels for the {samples.n} samples of '{samples.path}'", *hint)


def _require_order(file: SampleFile, samples: Samples, label: str | None) -> None:
    """Raise TableError if a column of the file names the samples, but no column does so in the order of its lines."""
    if samples.names is None:
        return
    keys = [_Key((name,), file.column(j), list(samples.names)) for j, name in enumerate(file.header) if name != label]
    fitting = [(key, lines) for key in keys if (lines := _lines_of(key, None)) is not None]
    if fitting and not any(np.array_equal(lines, np.arange(samples.n)) for _, lines in fitting):
        raise TableError(
            Parameter("by_order", True),
            f" must be left out for '{file.path}', because its lines stand in another order than the samples of "
            f"'{samples.path}', which its column {fitting[0][0].title} names",
        )


def _plink_key(file: SampleFile, samples: Samples, rule: MatchRule) -> _Key | None:
    """Return PLINK's identifiers if both sides have them, and no `key` is chosen; else None.

    They are family and individual, or the individual alone if the families of a side are all 0.
    """
    if samples.families is None or samples.individuals is None or rule.key is not None:
        return None
    column = {name.lstrip("#").upper(): j for j, name in reversed(list(enumerate(file.header)))}
    if "IID" not in column:
        return None
    individuals = file.column(column["IID"])
    families = file.column(column["FID"]) if "FID" in column else [_NO_FAMILY] * len(file.lines)
    named = file.header[column["IID"]]
    if set(families) == {_NO_FAMILY} or set(samples.families) == {_NO_FAMILY}:
        return _Key((named,), individuals, list(samples.individuals))
    both = [f"{family} {individual}" for family, individual in zip(families, individuals, strict=True)]
    names = [f"{family} {individual}" for family, individual in zip(samples.families, samples.individuals, strict=True)]
    return _Key((file.header[column["FID"]], named), both, names)


def _is_distinct(values: Sequence[str]) -> bool:
    return len(set(values)) == len(values) > 1


def _require_no_names(file: SampleFile, samples: Samples, wanted: set[str | None], rule: MatchRule) -> None:
    """Raise TableError if the file has names, or the rule a `key`, and the data have none."""
    named = [name for j, name in enumerate(file.header) if name not in wanted and _is_distinct(file.column(j))]
    if rule.key is not None:
        raise TableError(
            f"'{samples.path}' has no column '{rule.key}' that could name its samples: if the lines of '{file.path}' "
            "stand in their order, add ",
            Parameter("by_order", True),
        )
    if not named:
        return
    shared = [name for name in named if name in samples.features]
    if shared:
        raise TableError(
            f"both '{samples.path}' and '{file.path}' have a column '{shared[0]}': if it names the samples, add ",
            Parameter("key", shared[0]),
            "; if the lines stand in the order of the samples, add ",
            Parameter("by_order", True),
        )
    raise TableError(
        f"'{samples.path}' has no names of its samples that the column '{named[0]}' of '{file.path}' could be matched "
        "with: if the lines stand in the order of the samples, add ",
        Parameter("by_order", True),
    )


def _changed(values: list[str], change: Callable[[str], str] | None) -> list[str]:
    return values if change is None else [change(value) for value in values]


def _lines_of(key: _Key, change: Callable[[str], str] | None) -> Integers | None:
    """Return the line of each sample if the values, after `change`, hold the samples' names uniquely and completely.

    Otherwise return None.
    """
    names, values = _changed(key.names, change), _changed(key.values, change)
    line_of = dict(zip(values, range(len(values)), strict=True))
    if len(line_of) < len(names):
        return None
    lines = np.array([line_of.get(name, -1) for name in names], np.int64)
    if (lines < 0).any() or np.bincount(lines).max() > 1:
        return None
    if len(line_of) < len(values):
        wanted, counts = set(names), Counter(values)
        if any(counts[name] > 1 for name in wanted):
            return None
    return lines


def _most_shared_key(keys: Sequence[_Key], change: Callable[[str], str] | None) -> tuple[_Key, int]:
    """Return the key with the most names of samples, and their number."""
    shares = [len(set(_changed(key.names, change)) & set(_changed(key.values, change))) for key in keys]
    best = int(np.argmax(shares))
    return keys[best], shares[best]


def _partial(key: _Key, file: SampleFile, change: Callable[[str], str] | None) -> Matching:
    line_of = {value: line for line, value in enumerate(_changed(key.values, change))}
    lines = np.array([line_of.get(name, -1) for name in _changed(key.names, change)], np.int64)
    return Matching(lines, f"by {_plain(key, file)}", key.columns)


def _without_fit(
    keys: Sequence[_Key],
    file: SampleFile,
    samples: Samples,
    rule: MatchRule,
    change: Callable[[str], str] | None,
) -> Matching:
    """Match some of the samples if `drop_missing` allows that; else raise TableError that says why no column fits.

    Repeated names, and names that differ by a known change, are errors in any case.
    """
    key, n_shared = _most_shared_key(keys, change)
    names = _changed(key.names, change)
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        cause = "" if rule.match is None else f" once {_CHANGES[rule.match][1]} are left out of account"
        raise TableError(
            f"{count} samples of '{samples.path}' are called '{short(name)}'{cause}: give each a unique name, or, "
            f"if the lines of '{file.path}' stand in the order of the samples, add ",
            Parameter("by_order", True),
        )
    if rule.match is None:
        for word, (undo, cause) in _CHANGES.items():
            for other in keys:
                if _lines_of(other, undo) is not None:
                    raise TableError(
                        f"the names of '{samples.path}' ({_three(other.names)}) and of the column {other.title} of "
                        f"'{file.path}' ({_three(other.values)}) differ by {cause}: match them with ",
                        Parameter("match", word),
                    )
    if n_shared:
        values = _changed(key.values, change)
        counts, wanted = Counter(values), set(names)
        repeated = [value for value in dict.fromkeys(values) if counts[value] > 1 and value in wanted]
        if repeated:
            others = f", and {len(repeated)} samples have several" if len(repeated) > 1 else ""
            raise TableError(
                f"{counts[repeated[0]]} lines of '{file.path}' are for the sample '{short(repeated[0])}' (column "
                f"{key.title}){others}: keep one line of each, or choose another column with ",
                Parameter("key"),
                ", or, if the lines stand in the order of the samples, add ",
                Parameter("by_order", True),
            )
        if rule.drop_missing:
            return _partial(key, file, change)
        missing = [name for name in names if name not in counts]
        raise TableError(
            f"'{file.path}' has no line for {len(missing)} of the {samples.n} samples of '{samples.path}', such as "
            f"{_three(missing)} ({_values_of(key)}): add them, or leave these samples "
            "out with ",
            Parameter("drop_missing", True),
        )
    shown = next((key for key in keys if _is_distinct(key.values)), key)
    raise TableError(
        f"no column of '{file.path}' names the samples of '{samples.path}', which are called {_three(shown.names)} "
        f"({_values_of(shown)}): rename them, or, if the lines stand in the order of "
        "the samples, add ",
        Parameter("by_order", True),
    )


def _values_of(key: _Key) -> str:
    """Describe the values of a key: of one column, or of PLINK's two."""
    columns, have = ("columns", "have") if len(key.columns) > 1 else ("column", "has")
    return f"its {columns} {key.title} {have} {_three(key.values)}"


def _three(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{short(name)}'" for name in names[:3])
    return shown + (", ..." if len(names) > 3 else "")
