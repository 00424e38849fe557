"""Errors about files and the parameters of `read_table`."""

import difflib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Parameter(NamedTuple):
    """A parameter of `read_table` in a message, with the value to give if there is one to suggest."""

    name: str
    value: object = None

    def __str__(self) -> str:
        return f"{self.name}={'...' if self.value is None else repr(self.value)}"


TRANSPOSE = Parameter("transpose", True)


class TableError(ValueError):
    """The message in parts, so that the command line can spell each `Parameter` as an option."""

    def __init__(self, *parts: str | Parameter) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)


def unknown(what: str, name: str, available: Sequence[str], path: str | Path) -> ValueError:
    # Labels stand first or last; comparing the name with 10^6 features would take seconds.
    close = difflib.get_close_matches(name, [*available[:1000], *available[-1000:]], 1)
    hint = f"; did you mean '{short(close[0])}'?" if close else ""
    return ValueError(f"'{path}' has no {what} '{name}' (it has {some_of(available)}){hint}")


def damaged(path: str | Path, how: str) -> ValueError:
    return ValueError(f"'{path}' is damaged: {how}: download or write it again")


def without_samples(path: str | Path) -> ValueError:
    return ValueError(f"'{path}' has no samples: give a file with some")


@contextmanager
def damage_of(path: Path, kind: str) -> Iterator[None]:
    """Turn an error of a library about a damaged file into a ValueError that names the file and its kind.

    ImportError, MemoryError and TableError pass unchanged.
    """
    try:
        yield
    except (ImportError, MemoryError, TableError):
        raise
    except Exception as error:
        raise ValueError(f"'{path}' isn't a readable {kind}: {one_line(error)}") from error


@contextmanager
def calling(path: Path, name: str) -> Iterator[None]:
    """Let errors of the block say `name` in place of the quoted path."""

    def renamed(text: object) -> object:
        return text.replace(f"'{path}'", name) if isinstance(text, str) else text

    try:
        yield
    except TableError as error:
        raise TableError(
            *(part if isinstance(part, Parameter) else str(renamed(part)) for part in error.parts)
        ) from None
    except (ValueError, MemoryError) as error:
        error.args = tuple(map(renamed, error.args))
        raise


def some_of(names: Sequence[str]) -> str:
    if not names:
        return "none"
    return ", ".join(short(name) for name in (names if len(names) <= 6 else [*names[:3], "...", *names[-2:]]))


def any_of(endings: Collection[str]) -> str:
    *most, last = endings
    return f"{', '.join(most)} or {last}" if most else last


def one_line(error: Exception) -> str:
    return short(str(error).strip().partition("\n")[0].rstrip("."), 200) or type(error).__name__


def short(text: object, length: int = 40) -> str:
    text = " ".join(str(text).splitlines())
    return text if len(text) <= length else text[: length - 1] + "…"
