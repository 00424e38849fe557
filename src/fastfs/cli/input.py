"""The options of reading on the command line, made from those of `fastfs.io.read_table`."""

from dataclasses import Field, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastfs.cli.method import flag, names
from fastfs.io._options import ReadOptions, describe

_TYPES: dict[str, Any] = {
    "word": str | None,
    "names": str | None,
    "path": Path | None,
    "switch": bool,
    "number": int,
    "repeated": list[str] | None,
}
_OPTIONS = [option for option in fields(ReadOptions) if describe(option).help]


class _Input:
    """The file of a command, and how it is read."""

    def reading(self) -> dict[str, Any]:
        """Return the parameters of `read_table` that differ from their defaults, but for the label."""
        parameters: dict[str, Any] = {}
        for option in _OPTIONS:
            value, kind = getattr(self, option.name), describe(option).kind
            if value is None or value == option.default:
                continue
            parameters[option.name] = (
                str(value) if kind == "path" else names(value, flag(option.name)) if kind == "names" else value
            )
        return parameters


def _as_field(option: Field[Any]) -> tuple[str, Any, Any]:
    """Return the name, the type with its flags, and the default of an option for a dataclass."""
    about = describe(option)
    flags = about.flags or (f"--{option.name.replace('_', '-')}",)
    of_typer = typer.Option(*flags, metavar=about.metavar, help=about.help)
    default = None if about.kind in ("names", "repeated") else option.default
    return option.name, Annotated[_TYPES[about.kind], of_typer], field(default=default)


_FIELDS: list[tuple[str, Any, Any]] = [
    *(_as_field(option) for option in _OPTIONS if describe(option).panel == "Input"),
    (
        "label",
        Annotated[
            str | None,
            typer.Option(
                "--label",
                "--pheno-name",
                metavar="COLUMN",
                help="Column of the labels; with --transpose a row. Not given: y of .npz.",
            ),
        ],
        field(default=None),
    ),
    *(_as_field(option) for option in _OPTIONS if describe(option).panel == "Labels"),
    (
        "classes",
        Annotated[str | None, typer.Option(metavar="A,B,...", help="Keep the samples of these classes only.")],
        field(default=None),
    ),
]
_FILE = (
    "file",
    Annotated[
        Path,
        typer.Argument(
            help="Samples x features: .csv, .tsv, .txt (tabs), .xlsx, .mtx, .gct, _series_matrix.txt, text with .gz; "
            ".parquet, .h5ad, .zarr, .h5mu, .h5 or a folder (10x), .loom, .rds, .npz, .bed, .pgen; or - for stdin.",
            show_default=False,
        ),
    ],
)
if TYPE_CHECKING:
    Input = Any
else:
    Input = make_dataclass(
        "Input",
        [_FILE, *_FIELDS],
        bases=(_Input,),
        frozen=True,
        namespace={
            "panel": "Input",
            "panels": {
                "label": "Labels",
                "classes": "Labels",
                **{option.name: describe(option).panel for option in _OPTIONS},
            },
        },
    )
