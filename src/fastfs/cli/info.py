"""``fastfs info``."""

from typing import Any

from rich.table import Table
from rich.text import Text

import fastfs
from fastfs.cli.terminal import output

_UNITS = {"gflops": "GFLOP/s", "gelems": "billion/s", "gbytes": "GB/s"}


def info() -> None:
    """Say what fastfs found on this machine, and measure how fast it is (about a second)."""
    grid = Table.grid(padding=(0, 2))
    for name, value in fastfs.info(ceilings=True).items():
        grid.add_row(*map(Text, _as_words(name, value)))
    output().print(grid)


def _as_words(name: str, value: Any) -> tuple[str, str]:
    """Return an entry of `fastfs.info` as words and value; the last word of its key can be the unit of the value.

    Memory is in GiB, and None becomes "none found".
    """
    words, _, unit = name.rpartition("_")
    if unit in _UNITS:
        return words.replace("_", " "), f"{value:.3g} {_UNITS[unit]}"
    words = name.replace("_", " ")
    if value is None:
        return words, "none found"
    return words, f"{value / 2**30:.1f} GiB" if "memory" in name else str(value)
