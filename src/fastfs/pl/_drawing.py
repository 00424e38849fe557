"""Shared by the plots: colours, names, new axes and figures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fastfs._files.paths import on_one_line
from fastfs._types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.figure import SubFigure as SubFigure
    from matplotlib.text import Text
else:  # only annotations name them: matplotlib is imported when something is drawn
    Axes = Figure = SubFigure = Text = Any

BAR = "#2f6f8f"
PALE = "#b5ccd8"
QUIET = "#6b6b6b"
AGAINST = "#b5523b"


def axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the caller's axes, or the axes of a new pyplot figure of this size.

    Raise TypeError if they aren't axes of matplotlib.
    """
    if ax is not None:
        if not hasattr(ax, "scatter"):
            raise TypeError(f"ax must be axes of matplotlib; got {type(ax).__name__}")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def new_figure(figure: Figure | SubFigure | None, size: tuple[float, float]) -> Figure | SubFigure:
    """Return the caller's figure, or a new pyplot figure of this size."""
    if figure is not None:
        return figure
    import matplotlib.pyplot as plt

    return plt.figure(figsize=size, layout="constrained")


def set_label(ax: Axes, text: str) -> None:
    """Label the x axis, aligned to the right: a long label can extend to the left, below the names."""
    ax.set_xlabel(text, loc="right")


def set_title(ax: Axes, title: str | None, pad: float | None = None) -> None:
    if title is not None:
        ax.set_title(title, loc="left", pad=pad, fontweight="bold", parse_math=False)


def scores_of(name: str, source: Any) -> Floats:
    """Return, as floats of any shape, scores that a parameter holds as an array, or the `scores_` of a fitted selector.

    Raise TypeError, which calls it `name`, for a table or a value that isn't numbers.
    """
    values = getattr(source, "scores_", source)
    if not (hasattr(values, "obs_names") or isinstance(values, Mapping)):
        with contextlib.suppress(TypeError, ValueError):
            return np.asarray(values, dtype=float)
    raise TypeError(
        f"{name} must be an array of one score for each feature, such as scores_ of a fitted selector or a column of "
        f"adata.var; got {type(source).__name__}"
    )


def check_top(top: int, least: int = 1) -> None:
    if top < least:
        raise ValueError(f"top must be at least {least}; got {top}")


def check_names(names: Sequence[str] | None, n_features: int, what: str = "scores") -> None:
    if names is not None and len(names) != n_features:
        raise ValueError(f"feature_names must name all {n_features} {what}; got {len(names)} names")


def names_of_fit(selector: Any, feature_names: Sequence[str] | None, n_features: int) -> Sequence[str] | None:
    """Return the caller's names, or else the names of the fit, if it had any."""
    names = getattr(selector, "feature_names_in_", None) if feature_names is None else feature_names
    check_names(names, n_features, "features")
    return names


def names_of(features: Iterable[int], names: Sequence[str] | None, longest: int = 32) -> list[str]:
    """Return the names of these features, cut to fit; x0, x1, ... if they have none."""
    return [f"x{j}" if names is None else middle_cut(on_one_line(str(names[j])), longest) for j in features]


def middle_cut(name: str, longest: int = 32) -> str:
    # Both ends stay: probe and transcript names often differ in the last characters only.
    return name if len(name) <= longest else f"{name[: longest - 13]}…{name[-12:]}"


def literal(*texts: Sequence[Text], fontsize: str | None = None) -> None:
    """Show the texts as they are: a name may hold dollar signs, between which matplotlib sets formulas."""
    for text in (text for some in texts for text in some):
        text.set_parse_math(False)
        if fontsize is not None:
            text.set_fontsize(fontsize)


def colour_bar(ax: Axes, drawn: Any, **options: Any) -> Any:
    """Draw a bar next to the axes that shows the values of the colours."""
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03, **options)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small")
    return bar


def bars(
    ax: Axes, values: Any, names: Sequence[str], colours: Sequence[str], number_format: str, margin: float
) -> None:
    """Draw horizontal bars with their names and values, the first one on top."""
    place = np.arange(len(values))
    ax.barh(place, values, height=0.72, color=colours, zorder=2)
    ax.set_yticks(place, names)
    literal(ax.get_yticklabels())
    ax.set_ylim(len(values) - 0.4, -0.6)
    _label_bars(ax, values, number_format)
    ax.margins(x=margin)
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=3)
    ax.grid(axis="x", color="#e3e3e3", zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _label_bars(ax: Axes, values: ArrayLike, number_format: str) -> None:
    """Write each value next to its horizontal bar, so that it can be read without axis and colour.

    Values are on the right, opposite the names; the value of a bar to the left is next to its foot.
    """
    for y, value in enumerate(np.asarray(values)):
        ax.annotate(
            f"{value:{number_format}}",
            (max(value, 0), y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize="small",
            color=QUIET,
        )


def decimals_of(best: float) -> str:
    """Return the number of decimals for all bars, which gives the best value three digits."""
    magnitude = int(np.floor(np.log10(abs(best)))) if best else 0
    return f".{max(2 - magnitude, 0)}f" if -3 <= magnitude <= 5 else ".2e"
