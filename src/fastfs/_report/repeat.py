"""`fastfs.repeat`: make a report again and compare its numbers."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastfs._files.errors import short
from fastfs._inference.permutation import silence_warnings
from fastfs._inputs.entry import entry
from fastfs._machine.results import Brief, result_class
from fastfs._machine.run import Run, as_progress
from fastfs._report.prose import environment
from fastfs._report.report import LAYOUT, report
from fastfs._types import Progress

# The entries of the JSON that a run computes. The remaining ones hold the request, the environment and text.
_COMPUTED = ("data", "n_selected", "methods", "agreement", "new_samples", "pairs")

# Types of the arguments in the JSON.
_ARGUMENTS: dict[str, Any] = {
    **dict.fromkeys(("source", "label", "blocks", "groups", "feature_groups"), str | None),
    "covariates": list | None,
    "reading": dict,
    "methods": list,
    "params": dict,
    "n_permutations": int | str,
    **dict.fromkeys(("top", "n_subsamples", "n_repeats", "n_pairs", "random_state"), int),
}

# Number of differences that a summary names.
_SHOWN = 5


@result_class
class Repetition(Brief):
    """Comparison of a report with its repetition, from :func:`fastfs.repeat`.

    Parameters
    ----------
    same : bool
        True if every number came back to the bit.
    n_numbers : int
        Number of entries compared; each column of all features is one entry, by its hash.
    differences : dict of str to tuple
        The entries that differ, such as ``methods.multisurf.ranking.0.score``: the old and the new value.
    environment : dict of str to tuple
        Versions, threads, instruction set and so on that differ: the old and the new value.
    input : tuple of str or None
        The old and the new hash, if the data differ; nothing was repeated then.

    Examples
    --------
    >>> from fastfs import Repetition
    >>> changed = {"methods.disc.ranking.0.score": (0.5, 0.25)}
    >>> print(Repetition(False, 900, changed, {"numpy": ("2.0.0", "2.1.0")}, None))
    1 of 900 numbers differs: methods.disc.ranking.0.score is 0.25, not 0.5; numpy is 2.1.0, not 2.0.0
    """

    same: bool
    n_numbers: int
    differences: dict[str, tuple[Any, Any]]
    environment: dict[str, tuple[Any, Any]]
    input: tuple[str, str] | None

    def __str__(self) -> str:
        """Return a sentence: the data differ, all numbers came back, or some differ, and in which environment."""
        others = _named(self.environment)
        if self.input is not None:
            return f"the data differ: their SHA-256 is {self.input[1]}, not {self.input[0]}"
        if self.same:
            return f"all {self.n_numbers} numbers came back to the bit" + (f", although {others}" if others else "")
        n = len(self.differences)
        more = f", and {n - _SHOWN} more" if n > _SHOWN else ""
        shown = _named(dict(list(self.differences.items())[:_SHOWN])) + more
        why = others or "the environment is the same, so the file was changed or made by another build"
        return f"{n} of {self.n_numbers} numbers {'differs' if n == 1 else 'differ'}: {shown}; {why}"


@entry
def repeat(
    path: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    verbose: bool | Progress = False,
) -> Repetition:
    """Make a report again, and compare every number with those of its JSON file.

    Parameters
    ----------
    path : path
        The ``.json`` next to a page of :func:`fastfs.report`. The table and the file of feature groups are looked for
        at their old paths, then next to this file.
    n_jobs, max_memory, verbose
        As for :func:`fastfs.report`.

    Returns
    -------
    Repetition

    Raises
    ------
    ValueError
        The file isn't such a JSON, or was changed, or the report was made from arrays.
    FileNotFoundError
        There is no such file, or no table.

    Notes
    -----
    The same bits are promised for any number of threads, and for the same versions, BLAS and instruction set.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(20, 6))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "toy.npz")
    ...     np.savez(file, X=X, y=np.arange(20) % 2)
    ...     made = fastfs.report(file, methods=("multisurf", "projse"), n_permutations=9, n_subsamples=5)
    ...     made.save(pathlib.Path(folder, "report.html"))
    ...     fastfs.repeat(pathlib.Path(folder, "report.json")).same
    True
    """
    before = _read_report(Path(path))
    say: Any = as_progress(verbose)
    try:
        return _repeat(Path(path), before, n_jobs, max_memory, say)
    except TypeError as error:  # a value of the file has another type than a report writes
        raise ValueError(f"'{path}' was changed since `fastfs report` wrote it: {error}") from error


def _repeat(path: Path, before: dict[str, Any], n_jobs: int | None, max_memory: Any, say: Any) -> Repetition:
    """Return how a report made again differs: hashes if its data changed, otherwise numbers; and the environment in any
    case.
    """
    arguments = dict(before["arguments"])
    source, label = Path(arguments.pop("source")), arguments.pop("label")
    source = _find(source, path)
    if arguments["feature_groups"] is not None:
        arguments["feature_groups"] = str(_find(Path(arguments["feature_groups"]), path))
    # Compare the data before the report is computed: other data give other numbers anyway.
    sha256 = _hash_of(source, label, arguments, Run(0, max_memory))
    changed = _differences(before["environment"], environment(n_jobs))
    if sha256 != before["input"]["sha256"]:
        return Repetition(False, 0, {}, changed, (before["input"]["sha256"], sha256))
    after = report(source, label, **arguments, n_jobs=n_jobs, max_memory=max_memory, verbose=say or False).numbers
    old, new = ({name: numbers[name] for name in _COMPUTED} for numbers in (before, after))
    differences = _differences(_flat(old), _flat(json.loads(json.dumps(new))))
    return Repetition(not differences, len(_flat(old)), differences, changed, None)


def _hash_of(source: Path, label: Any, arguments: Mapping[str, Any], run: Run) -> str:
    from fastfs._report.data import Data

    blocks, groups, covariates, reading = (arguments[name] for name in ("blocks", "groups", "covariates", "reading"))
    data = Data.from_file(source, label, blocks, groups, covariates, reading, run)
    with silence_warnings():
        return data.with_groups(arguments["feature_groups"]).sha256()


def _find(file: Path, path: Path) -> Path:
    """Return where a file of a report lies: at its old path, or next to the report."""
    neighbor = path.parent / file.name
    return neighbor if not file.exists() and neighbor.exists() else file


def _read_report(path: Path) -> dict[str, Any]:
    """Return the record of a report; raise ValueError if a report of this layout has not written it, or it was damaged.

    A report on arrays can't be made again, and is refused, too; a missing file is a FileNotFoundError.
    """
    if path.is_dir():
        raise ValueError(f"'{path}' is a directory; give the .json next to the page of a report")
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file '{path}'") from None
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict) or not {"report", "arguments", "environment", "input", *_COMPUTED} <= report.keys():
        raise ValueError(
            f"'{path}' isn't a report of fastfs: give the .json that `fastfs report` wrote next to the page"
        )
    if report["report"] != LAYOUT:
        layout = short(report["report"])
        raise ValueError(
            f"'{path}' must have the layout {LAYOUT}; got {layout}: make the report again with this version of fastfs"
        )
    if (place := _damaged(report)) is not None:
        raise ValueError(f"'{path}' was changed since `fastfs report` wrote it, in '{place}': make the report again")
    if report["arguments"]["source"] is None:
        raise ValueError(
            f"'{path}' was made from arrays, which it doesn't hold: call fastfs.report on them, and compare the numbers"
        )
    return report


def _damaged(report: Mapping[str, Any]) -> str | None:
    """Return the first place of the record with a wrong type or name, such as "arguments.top"; else None."""
    for name in ("arguments", "environment", "input"):
        if not isinstance(report[name], dict):
            return name
    for name, kind in _ARGUMENTS.items():
        value = report["arguments"].get(name, ...)
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"arguments.{name}"
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            return f"arguments.{name}"
    if unknown := report["arguments"].keys() - _ARGUMENTS.keys():
        return f"arguments.{min(unknown)}"
    if not isinstance(report["input"].get("sha256"), str):
        return "input.sha256"
    return None


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return all entries of nested dicts and lists by their paths, such as "studies.relieff.pvalue".

    An entry of a list is named by its "method", if it has one, or its number.
    """
    if isinstance(value, dict):
        inner: Any = value.items()
    elif isinstance(value, list):
        inner = ((part.get("method", i) if isinstance(part, dict) else i, part) for i, part in enumerate(value))
    else:
        return {name: value}
    values: dict[str, Any] = {}
    for key, part in inner:
        values |= _flat(part, f"{name}.{key}" if name else str(key))
    return values


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    places: Iterator[str] = iter(dict.fromkeys([*old, *new]))
    pairs = ((place, (old.get(place), new.get(place))) for place in places)
    return {place: (a, b) for place, (a, b) in pairs if a != b or type(a) is not type(b)}


def _named(differences: Mapping[str, tuple[Any, Any]]) -> str:
    return ", ".join(f"{name} is {new}, not {old}" for name, (old, new) in differences.items())
