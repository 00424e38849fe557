"""``fastfs schema``: options and outputs of the commands as JSON Schema, for pipelines and graphical front ends."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeAlias, get_args, get_origin

import typer
from typer.models import OptionInfo

import fastfs

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES: dict[Any, str] = {bool: "boolean", int: "integer", float: "number"}

_Schema: TypeAlias = dict[str, Any]
_TEXT, _COUNT, _NUMBER, _BOOL = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_OBJECT = {"type": "object"}


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None, *, closed: bool) -> dict[str, Any]:
    """Return the schema of an object with required and optional keys; no other keys are allowed in a closed one."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": not closed,
    }


def _rows(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


_DATA = {
    "version": _TEXT,
    "source": _TEXT,
    "reading": _OBJECT,
    "matching": _TEXT,
    "n_samples": _COUNT,
    "n_features": _COUNT,
    "classes": {"type": "object", "additionalProperties": _COUNT},
}
_TEST: _Schema = {
    "pvalue": _NUMBER_OR_NULL,
    "n_permutations": _COUNT,
    "design": _TEXT,
    "n_distinct": {"type": ["integer", "string"]},
    "exact": _BOOL,
    "resolution": _NUMBER_OR_NULL,
    "stopped": _BOOL,
}
_FEATURE = {"rank": _COUNT, "feature": _TEXT, "index": _COUNT, "score": _NUMBER}
_DIRECTION = {
    "direction": {"type": ["string", "null"]},
    "effect": _NUMBER_OR_NULL,
    "median_difference": _NUMBER_OR_NULL,
}
_PAIR = {"rank": _COUNT, "feature_a": _TEXT, "feature_b": _TEXT, "index_a": _COUNT, "index_b": _COUNT}
_PAIRS = _object(
    {
        "method": {"enum": ["differential_correlation", "interaction_scan", "snp_pairs"]},
        **{
            name: {"type": [*([of["type"]] if isinstance(of["type"], str) else of["type"]), "null"]}
            for name, of in _TEST.items()
        },
        **_DATA,
        "n_tested": _COUNT,
        "excluded_features": _rows(_TEXT),
        "n_excluded_pairs": _OBJECT,
        "ranking": _rows(_object(_PAIR, {"pvalue_max": _NUMBER_OR_NULL}, closed=False)),
    },
    {
        "alpha": _NUMBER,
        "correlation": _TEXT,
        "degrees": _rows(_COUNT),
        "transform": _TEXT,
        "target_type": _TEXT,
    },
    closed=True,
)  # fmt: skip
_METRICS = ("balanced_accuracy", "auc", "r2", "rank_correlation", "concordance")

# The JSON file of --out (of report: next to the page), by command.
OUTPUTS: dict[str, dict[str, Any]] = {
    "score": _object(
        {
            "method": _TEXT,
            "parameters": _OBJECT,
            **_DATA,
            "ranking": _rows(
                _object(
                    _FEATURE,
                    _DIRECTION | dict.fromkeys(["z", "pvalue", "pvalue_adjusted", "pvalue_max"], _NUMBER_OR_NULL),
                    closed=False,
                )
            ),
        },
        {
            "permutations": _object(
                {"statistic": _TEXT, "ranking": _TEXT, **_TEST, "label_free": _NUMBER_OR_NULL},
                {"alpha": _NUMBER},
                closed=True,
            )
        },
        closed=False,
    ),
    "pairs": _PAIRS,
    "snp-pairs": _PAIRS,
    "assess": _object(
        {
            "classifier": _TEXT,
            "metrics": _rows({"enum": list(_METRICS)}),
            "n_splits": _COUNT,
            "n_repeats": _COUNT,
            "unit": _TEXT,
            "n_units": _COUNT,
            "n_labelings": _COUNT,
            "design": _TEXT,
            **_DATA,
            "ranking": _rows(
                _object(
                    {"method": _TEXT, "n_features": _COUNT},
                    dict.fromkeys(
                        [
                            *_METRICS,
                            *(
                                f"{prefix}{name}"
                                for prefix in ("", *(f"{metric}_" for metric in _METRICS))
                                for name in (
                                    *("low", "high", "permuted", "permuted_low", "permuted_high", "difference"),
                                    *("difference_low", "difference_high", "n_for_5_points"),
                                )
                            ),
                        ],
                        _NUMBER_OR_NULL,
                    ),
                    closed=True,
                )
            ),
        },
        closed=True,
    ),
    "report": _object(
        {
            "report": _COUNT,
            "arguments": _OBJECT,
            "command": _TEXT,
            "input": _OBJECT,
            "environment": _OBJECT,
            "data": _OBJECT,
            "n_selected": _COUNT,
            "methods": _rows(_object({"ranking": _rows(_object({"feature": _TEXT}, closed=False))}, closed=False)),
            "agreement": {},
            "new_samples": _OBJECT,
            "pairs": _OBJECT,
            "text": _rows(_TEXT),
            "references": _rows(_TEXT),
        },
        closed=True,
    ),
}


def schema(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(help="A command; default: all.", show_default=False)] = None,
) -> None:
    """Print the options and outputs of the commands as JSON Schema."""
    assert context.parent is not None  # commands have the program above them
    commands: dict[str, Any] = context.parent.command.commands  # type: ignore[attr-defined]
    if command is not None and command not in commands:
        raise ValueError(f"There is no command '{command}': choose one of {', '.join(commands)}")
    described = {
        name: _of_command(one, OUTPUTS.get(name))
        for name, one in commands.items()
        if name != "schema" and command in (None, name)
    }
    document = {"$schema": _DIALECT, "title": "fastfs", "version": fastfs.__version__, "commands": described}
    print(json.dumps(document, indent=1, ensure_ascii=False))


def _of_command(command: Any, output: dict[str, Any] | None) -> dict[str, Any]:
    """Return the description of a command, the schema of its options and arguments, and that of its JSON file."""
    declared = inspect.signature(command.callback).parameters
    parameters = {name: one for name, one in declared.items() if get_origin(one.annotation) is Annotated}
    options = {
        "type": "object",
        "properties": {name: _of_parameter(name, one) for name, one in parameters.items()},
        "required": [name for name, one in parameters.items() if one.default is one.empty],
        "additionalProperties": False,
    }
    about = {"description": (command.help or "").strip().partition("\n")[0], "options": options}
    return about if output is None else about | {"output": output}


def _of_parameter(name: str, parameter: inspect.Parameter) -> dict[str, Any]:
    """Return the schema of an option, or of an argument, which has no flags: its type, bound, default, help and
    panel.
    """
    kind, about = get_args(parameter.annotation)
    kinds = [one for one in get_args(kind) if one is not type(None)] if isinstance(kind, UnionType) else [kind]
    is_list = get_origin(kinds[0]) is list
    one: dict[str, Any] = {"type": _TYPES.get(kinds[0], "string")}
    if about.min is not None:
        one["minimum"] = about.min
    if is_list:
        one = {"type": "array", "items": {"type": "string"}}
    if isinstance(parameter.default, str | int | float | Path):
        one["default"] = str(parameter.default) if isinstance(parameter.default, Path) else parameter.default
    one["description"] = about.help or ""
    if isinstance(about, OptionInfo):
        # Typer takes the first flag for the default until it makes the command.
        flags = [flag for flag in (about.default, *(about.param_decls or ())) if str(flag).startswith("--")]
        one["flags"] = flags or [f"--{name.replace('_', '-')}"]
    return one | ({"panel": about.rich_help_panel} if about.rich_help_panel else {})
