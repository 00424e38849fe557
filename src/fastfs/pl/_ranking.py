"""Bars of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastfs._files.paths import on_one_line
from fastfs._functions.direction import Direction
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import (
    BAR,
    PALE,
    Axes,
    axes,
    bars,
    check_names,
    check_top,
    decimals_of,
    middle_cut,
    names_of,
    names_of_fit,
    scores_of,
    set_label,
    set_title,
)


@named_arguments
def ranking(
    scores: ArrayLike | Any,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ranks: ArrayLike | None = None,
    n_selected: int | None = None,
    direction: Direction | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the best features as horizontal bars, the best on top.

    A dashed line marks the median score of all features, so that the eye can tell a peak from a plateau.

    Parameters
    ----------
    scores : array-like of shape (n_features,), or a fitted selector
        Larger is better. A selector has scores, ranks and perhaps names.
    <feature_names>
    top : int
        How many bars.
    ranks : array-like of shape (n_features,), optional
        1 is best. Needed only if the order differs from that of the scores, as ``ranking_`` of :class:`fastfs.ProjSe`.
    n_selected : int, optional
        Bars of later ranks are pale.
    direction : Direction, optional
        Of all features, from :func:`fastfs.direction`: names say in which class they are high or low.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure, as high as the bars need.
    title : str, optional

    <returns_ax>

    Raises
    ------
    ValueError
        `scores` is not one-dimensional or empty, or `feature_names`, `ranks` or `direction` has another length, or
        `top` is less than 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from fastfs import pl
    >>> ax = pl.ranking([0.2, 0.9, 0.5], ["CD4", "CD8A", "NKG7"], top=2, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['1  CD8A', '2  NKG7']
    """
    if hasattr(scores, "scores_"):
        feature_names = names_of_fit(scores, feature_names, len(scores.scores_))
        ranks = getattr(scores, "ranking_", None) if ranks is None else ranks
    scores = scores_of("scores", scores)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"scores must be a 1-D array with values; got shape {scores.shape}")
    check_names(feature_names, scores.size)
    check_top(top)
    if ranks is not None and np.shape(ranks) != scores.shape:
        raise ValueError(f"ranks must have one rank for each of the {scores.size} scores; got shape {np.shape(ranks)}")
    words = [""] * scores.size if direction is None else direction.describe()
    if len(words) != scores.size:
        raise ValueError(f"direction must be that of the {scores.size} features; got one of {len(words)}")
    order = np.argsort(-scores if ranks is None else np.asarray(ranks), kind="stable")[:top]
    best = scores[order].max()
    names = names_of(order, feature_names)
    n_bars = len(order)
    ax = axes(ax, (8, 1.4 + 0.25 * n_bars))

    colours = [BAR if n_selected is None or place < n_selected else PALE for place in range(n_bars)]
    decimals = decimals_of(best)
    said = [f" ({middle_cut(on_one_line(words[j]))})" if words[j] else "" for j in order]
    numbered = [f"{rank}  {name}{word}" for rank, (name, word) in enumerate(zip(names, said, strict=True), start=1)]
    bars(ax, scores[order], numbered, colours, decimals, margin=0.12)
    median = float(np.median(scores))
    ax.axvline(median, color="black", linestyle=(0, (4, 3)), linewidth=1, zorder=3)
    ax.annotate(
        f"dashed: median of all {scores.size}, {median:{decimals}}",
        (1, 1),  # the corner, from where the text reaches over the names if need be
        xycoords="axes fraction",
        xytext=(0, 3),
        textcoords="offset points",
        fontsize="small",
        ha="right",
    )
    label = f"score, the {n_bars} best of {scores.size} features" if n_bars < scores.size else "score"
    if n_selected is not None and n_selected < n_bars:
        label += f"; the first {n_selected} selected, in order" if n_selected > 1 else "; the first one selected"
    set_label(ax, label)
    set_title(ax, title, pad=20)
    return ax
