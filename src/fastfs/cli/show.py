"""Tables on the terminal, and pictures."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from fastfs import io
from fastfs._findings import title
from fastfs._methods import Method
from fastfs.cli.permutation import Test
from fastfs.cli.terminal import output

# Number of pairs of features in the terminal.
_PAIRS_SHOWN = 10


def print_ranking(ranking: Mapping[str, Sequence[Any]], title: str | None = None) -> None:
    """Print a ranking as a table with a bar for each score, its share of the best one; without bars if that isn't above
    0.
    """
    table = _table(ranking, title)
    table.add_column("share of the best score", no_wrap=True)
    console = output()
    block = "█" if console.encoding.startswith("utf") else "#"
    best = max(ranking["score"], default=0)
    for score, row in zip(ranking["score"], zip(*ranking.values(), strict=True), strict=True):
        bar = block * round(20 * score / best) if best > 0 else ""
        table.add_row(*_cells(row), Text(bar, style="cyan"))
    console.print(table)


def print_pairs(pairs: Mapping[str, Sequence[Any]], top: int = _PAIRS_SHOWN) -> None:
    """Print the first pairs as a table."""
    shown = {name: column[:top] for name, column in pairs.items() if not name.startswith("index")}
    print_columns(shown, "the strongest pairs of features")


def print_columns(columns: Mapping[str, Sequence[Any]], title: str | None = None) -> None:
    """Print columns as a table."""
    table = _table(columns, title)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*_cells(row))
    output().print(table)


def _table(columns: Iterable[str], title: str | None) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns:
        is_text = name.startswith("feature") or name in ("highest in", "direction", "method")
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    return table


def _cells(row: Iterable[Any]) -> list[Text]:
    return [Text(f"{v:.6g}" if isinstance(v, float) else "" if v is None else io.on_one_line(str(v))) for v in row]


def draw_ranking(
    path: Path,
    method: Method,
    selector: Any,
    feature_names: Sequence[str],
    bars: int,
    source: str,
    test: Test | None,
) -> None:
    """Draw the ranking as bars, by z if the test says so, and next to it the picture of the method, if it has one."""
    from matplotlib.figure import Figure

    from fastfs import pl

    # A Figure made without pyplot needs no window system, and leaves no state behind.
    height = 1.4 + 0.25 * bars
    picture = method.picture
    if picture is None:
        figure = Figure(figsize=(8, height), layout="constrained")
        left = figure.add_subplot()
    elif picture.of_features:
        # Subfigures, so that long names below the map take no height from the bars.
        figure = Figure(figsize=(10.5 + height, max(height, 4.0) + 1.2), layout="constrained")
        halves = figure.subfigures(1, 2, squeeze=False, width_ratios=(8, 2.5 + height))[0]
        left, right = (half.add_subplot() for half in halves)
        getattr(pl, picture.function)(selector, feature_names, top=bars, ax=right, title=picture.title)
    else:
        figure = Figure(figsize=(13, max(height, 4.0)), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(8, 5))
        getattr(pl, picture.function)(selector, ax=right, title=picture.title)
    about = f"{title(method, selector)}: {io.printable(source)}"
    if test and test.is_by_z:
        pl.ranking(test.result.z, feature_names, top=bars, ax=left, title=f"z of {about}").set_xlabel("z of the score")
    else:
        how = {"ranks": selector.ranking_, "n_selected": getattr(selector, "n_selected_", None)}
        pl.ranking(selector.scores_, feature_names, top=bars, ax=left, title=about, **how)
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
