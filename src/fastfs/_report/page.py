"""The page of a report, from its numbers and figures alone."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

# Largest numbers of feature groups and of design levels that are shown unfolded.
_SHOWN = 12


def page(numbers: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """Return the page: HTML that needs no other file."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": _format_number, "p": _pvalue}
    template = environment.from_string(files("fastfs._report").joinpath("template.html").read_text(encoding="utf-8"))
    return template.render(report=numbers, figures=figures, shown=_SHOWN) + "\n"


def _format_number(value: float | None) -> str:
    """Format a number for the page with four digits."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def _pvalue(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 else f"{value:.1e}"
