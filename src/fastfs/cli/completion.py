"""What the Tab key offers: methods, columns of the table, words of options. Typer has the scripts of the shells."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from fastfs._methods import METHODS
from fastfs.io._header import column_names
from fastfs.io._options import ReadOptions, describe

# The words that options may have, besides those that `ReadOptions` describes.
_WORDS: dict[str, tuple[str, ...]] = {
    "method": tuple(METHODS),
    "methods": tuple(METHODS),
    "classifier": ("logistic", "centroid"),
    "statistic": ("z", "score"),
    "rank_by": ("z", "score"),
    "match": ("r-names", "padding", "suffix", "case", "spaces"),
} | {option.name: describe(option).words for option in fields(ReadOptions) if describe(option).words}

# Options that name columns of FILE, or of the file that another option gives.
_COLUMNS = {
    **dict.fromkeys(("label", "targets", "event", "weights", "blocks", "groups", "covariate", "ignore"), "file"),
    **dict.fromkeys(("categorical_features", "given"), "file"),
    "key": "labels",
    "covar_names": "covar",
}

# Characters of a name that bash takes as they are.
_PLAIN = re.compile(r"([^\w@%+=:,./-])")

_Completer = Callable[[typer.Context, str], list[str]]


def complete(name: str, about: OptionInfo | ArgumentInfo, kind: Any) -> None:
    """Let the Tab key complete the values of an option or argument, which Typer reads from `about`: columns, words or
    files.
    """
    if name in _COLUMNS:
        about.autocompletion = _of_columns(name)
    elif name in _WORDS:
        about.autocompletion = _of_words(name)
    elif "Path" in str(kind):
        about.autocompletion = _of_files


def _of_files(incomplete: str) -> list[str]:
    return []  # the shell completes names of files where nothing is offered


def _of_words(name: str) -> _Completer:
    def words(_: typer.Context, incomplete: str) -> list[str]:
        return _continued(_WORDS[name], incomplete)

    return words


def _of_columns(name: str) -> _Completer:
    """Return a completer that offers the columns of the file that the option `name` is about."""

    def columns(context: typer.Context, incomplete: str) -> list[str]:
        """Return the columns that continue the incomplete word; none if the file is missing or unreadable."""
        path = _file(context) if _COLUMNS[name] == "file" else context.params.get(_COLUMNS[name])
        if path is None:
            return []
        given = {option: context.params.get(option) for option in ("encoding", "comment", "sheet", "mod", "transpose")}
        options = {option: value for option, value in given.items() if value and _COLUMNS[name] == "file"}
        try:
            found = column_names(Path(path), ReadOptions(**options))
        except Exception:  # an error has no place on a line that is being written; the command will tell it
            return []
        return [_quoted(column) for column in _continued(found, incomplete)]

    return columns


def _file(context: typer.Context) -> str | None:
    """Return FILE, which the parser leaves among the other words if an option without its value stops it."""
    words = [context.params.get("file"), *context.args]
    return next((str(word) for word in words if word is not None and os.path.exists(word)), None)


def _continued(words: Iterable[str], incomplete: str) -> list[str]:
    """Return the words that continue the last item of a list with commas."""
    done, comma, last = incomplete.rpartition(",")
    return [done + comma + word for word in words if word.startswith(last)]


def _quoted(name: str) -> str:
    """Return a name as bash takes it; Typer quotes it for other shells."""
    is_bash = os.environ.get("_FASTFS_COMPLETE", "") == "complete_bash"
    return _PLAIN.sub(r"\\\1", name) if is_bash else name
