"""The command line: ``fastfs score`` and the other commands."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

import fastfs
from fastfs import io
from fastfs.cli import assess, convert, demo, info, pairs, report, schema, score
from fastfs.cli.helping import HelpInLevels
from fastfs.cli.method import flag, with_options
from fastfs.cli.terminal import prepare_streams, say_kind

__all__ = ["run"]

# The class of usage errors, under this name in old versions of Typer (on Click) and new ones (with a copy of Click).
_UsageError: type[Any] = typer.BadParameter.__bases__[0]

_app = typer.Typer(pretty_exceptions_enable=False)
_COMMANDS: dict[str, Callable[..., None]] = {
    "score": score.score,
    "pairs": pairs.pairs,
    "snp-pairs": pairs.snp_pairs,
    "assess": assess.assess,
    "report": report.report,
    "repeat": report.repeat,
    "convert": convert.convert,
    "demo": demo.demo,
    "info": info.info,
    "schema": schema.schema,
}
# Options of commands for the parameters of the functions behind them.
_OF_PAIRS = {"n_permutations": "--permutations", "n_pairs": "--top", "random_state": "--seed"}
_OF_FOLDS = {"n_repeats": "--repeats", "random_state": "--seed"}
_SPELLED: dict[str, dict[str, str]] = {
    "pairs": _OF_PAIRS,
    "snp-pairs": _OF_PAIRS,
    "assess": _OF_FOLDS
    | {"n_features": "--n-features", "n_splits": "--splits", "classifier must": "--classifier must"},
    "report": _OF_FOLDS | {"n_permutations": "--permutations", "n_subsamples": "--subsamples"},
    "convert": {},
}
for _name, _command in _COMMANDS.items():
    _app.command(_name, cls=HelpInLevels if _name in ("score", *_SPELLED) else None)(_command)


@_app.callback(invoke_without_command=True)
def _fastfs(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Multivariate feature selection for wide data.

    Begin with: fastfs report table.csv --label class --out page.html

    Builds ask for paths by --includes, --cflags, --libs, --cmakedir and --pkgconfigdir.
    """
    if version:
        print(fastfs.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Wrong input ends in one sentence on stderr and 2; a fault of fastfs itself, in a traceback. Messages name
    options in place of parameters. Ctrl-C raises KeyboardInterrupt.
    """
    prepare_streams()
    with warnings.catch_warnings():
        command = next(iter(arguments), "")
        warnings.showwarning = _OnceEach(command)
        try:
            code = _app(list(arguments), prog_name="fastfs", standalone_mode=False, obj=list(arguments))
        except _UsageError as error:
            message = error.format_message()
        except typer.Abort:
            raise KeyboardInterrupt from None
        except OSError as error:
            # `io` names the files that it reads and writes; an error without a number is a complete sentence already.
            used = f"'{error.filename}'" if error.filename else "standard output"
            if error.errno and not error.filename:
                _discard_output()
            message = f"Cannot use {used}: {error.strerror}" if error.errno else str(error)
        except io.TableError as error:
            message = error.spelled(_as_option)
        except MemoryError as error:
            message = with_options(_named(str(error), _OF_MEMORY), command) or "There is not enough memory"
        except ValueError as error:
            message = with_options(
                _named(str(error), {"max_memory": "--max-memory", **_SPELLED.get(command, {})}), command
            )
        else:
            if code == 130:  # how newer versions of Typer report Ctrl-C
                raise KeyboardInterrupt
            return code or 0
    say_kind("Error", "red", message)
    return 2


def _discard_output() -> None:
    """Discard buffered output: Python would try to write it at exit, and fail again with another exit code."""
    with suppress(OSError, ValueError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def _as_option(parameter: io.Parameter) -> str:
    """Return the option of `fastfs score` for a parameter of `io.read_table`."""
    if parameter.value is None or parameter.value is True:
        return flag(parameter.name)
    values = parameter.value if isinstance(parameter.value, list) else [parameter.value]
    return " ".join(f"{flag(parameter.name)} '{value}'" for value in values)


# Parameter that errors about memory advise to raise.
_OF_MEMORY = {
    "max_memory": "--max-memory",
    "n_targets": "--method-option n_targets",
    "n_rows": "--method-option n_rows",
    "n_pairs": "--top",
}


def _named(message: str, options: Mapping[str, str]) -> str:
    """Return a message with options in place of parameters that it names without a value."""
    for name, option in options.items():
        message = re.sub(rf"(?<!-)\b{name}\b", option, message)
    return message


class _OnceEach:
    """Print each warning of a command once: a test of p-values fits the same estimator again."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._said: set[str] = set()

    def __call__(self, message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in self._said:
            self._said.add(str(message))
            said = _named(str(message), _SPELLED.get(self._command, {}))
            say_kind("Warning", "yellow", with_options(said, self._command))
