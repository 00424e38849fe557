"""Help in levels: everyday options, the options of one method, all options."""

from dataclasses import fields
from typing import Any

from typer.core import TyperCommand

from fastfs._methods import METHODS
from fastfs.cli.method import options_of
from fastfs.io._options import ReadOptions

# Options that `fastfs score --help` lists; `--help-all` lists all options.
EVERYDAY = {
    *("file", "transpose", "ignore"),
    *("label", "labels", "classes", "targets"),
    *("method", "method_option"),
    *("permutations", "blocks", "groups", "covariate"),
    *("top", "out", "plot", "help"),
}

# Options of reading, and of the machine, that the help of the other commands leaves to `--help-all`.
_RARE = {option.name for option in fields(ReadOptions)} | {"threads", "max_memory", "escape_formulas"}


class HelpInLevels(TyperCommand):
    """Command with --help for everyday options and those of --method, and --help-all for all options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hide rare options from --help, then parse `args` as Typer does; return those that are left.

        --help-all shows all; words after -- aren't looked at. With --method, its options are shown, too.
        """
        options = args[: args.index("--")] if "--" in args else args
        if "--help-all" in options:
            return super().parse_args(ctx, ["--help"])
        if "--help" in options:
            shown = EVERYDAY | _options_of_method(options)
            if "method" not in {parameter.name for parameter in self.params}:
                shown |= {str(parameter.name) for parameter in self.params} - _RARE
            for parameter in self.params:
                setattr(parameter, "hidden", parameter.name not in shown)  # noqa: B010  (Click's arguments have none)
        return super().parse_args(ctx, args)


def _options_of_method(arguments: list[str]) -> set[str]:
    """Return the options that only some methods have, of the method that the arguments name."""
    words = [argument.partition("=")[2] for argument in arguments if argument.startswith("--method=")]
    words += [arguments[i + 1] for i, argument in enumerate(arguments[:-1]) if argument == "--method"]
    method = METHODS.get(words[-1].lower()) if words else None
    return set() if method is None else options_of(method)
