"""Commands with options in groups."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

from fastfs.cli.completion import complete

EscapeFormulas = Annotated[
    bool,
    typer.Option("--escape-formulas", help="In .csv, put ' before names that a spreadsheet takes for formulas."),
]


@dataclass(frozen=True)
class MachineOptions:
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Default: every core this process may use.")
    ] = None
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Refuse to work above it: 4G, 500M, or bytes.")
    ] = None


OneTarget = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="A column of numbers, instead of --label."),
]


@dataclass(frozen=True)
class TableOptions:
    """Options of the commands that write one table."""

    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random numbers.")] = 0
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the whole table: .csv, .json or .parquet.")
    ] = None
    escape_formulas: EscapeFormulas = False


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see each field of the dataclasses that a command takes as a separate parameter, with its completion.

    The help shows the options of a dataclass in the panel that its attribute `panel` names; `panels` names others by
    option.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: dict[str, inspect.Parameter] = {}
    for name, declared in inspect.signature(command).parameters.items():
        options = [(name, hints[name], declared.default)]
        if name in groups:
            of = get_type_hints(groups[name], include_extras=True)
            for f in fields(groups[name]):
                (option,) = of[f.name].__metadata__
                if isinstance(option, ArgumentInfo):
                    continue
                panels = getattr(groups[name], "panels", {})
                option.rich_help_panel = panels.get(f.name, getattr(groups[name], "panel", None))
            options = [
                (f.name, of[f.name], declared.empty if f.default is MISSING else f.default)
                for f in fields(groups[name])
            ]
        for field, hint, default in options:
            if get_origin(hint) is Annotated:
                complete(field, *reversed(get_args(hint)))
            parameters[field] = inspect.Parameter(
                field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )

    @functools.wraps(command)
    def call(**given: Any) -> None:
        made = {name: of(**{f.name: given.pop(f.name) for f in fields(of)}) for name, of in groups.items()}
        command(**made, **given)

    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return call
