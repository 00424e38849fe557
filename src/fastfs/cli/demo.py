"""``fastfs demo``."""

from pathlib import Path
from typing import Annotated

import typer

from fastfs import io
from fastfs._methods import METHODS
from fastfs.cli.results import ranking
from fastfs.cli.show import print_ranking
from fastfs.cli.terminal import PLOT_ENDINGS, progress, say, signals_as_exits


def demo(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The picture: .png, .pdf or .svg.")] = Path(
        "fastfs_demo.png"
    ),
) -> None:
    """Tell fours from nines: rank the pixels of handwritten digits, and draw what each method sees."""
    io.check_output(out, PLOT_ENDINGS)
    import matplotlib.figure  # noqa: F401

    from fastfs import demo as digits

    with signals_as_exits(), progress("digits") as report:
        selectors = digits.draw(out, report)
    for method, selector in selectors.items():
        print_ranking(
            ranking(selector, digits.FEATURE_NAMES, 10),
            title=f"{METHODS[method].estimator}: the pixels that tell a 4 from a 9, the best 10 of 64",
        )
    say(f"Wrote {out}.")
