"""Options that would change nothing, which every command refuses before any work."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, NamedTuple

from fastfs.cli.method import flag

FOR_P_VALUES = "is for p-values: add --permutations with a number"


class Needs(NamedTuple):
    """Options, with spaces between them, that have an effect only if `are_met`; `why` ends a sentence about one."""

    options: str
    are_met: bool
    why: str


def given_options(*groups: Any) -> list[str]:
    """Return the fields of groups of options that differ from their defaults."""
    return [f.name for group in groups for f in fields(group) if getattr(group, f.name) not in (None, f.default)]


def require_effects(table: Iterable[Needs], *groups: Any) -> None:
    """Refuse a given option of these groups that has no effect, by the first row of the table about it."""
    option_names = given_options(*groups)
    for row in table:
        for name in option_names:
            if name in row.options.split() and not row.are_met:
                raise ValueError(f"{flag(name)} {row.why}")
