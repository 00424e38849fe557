"""Scores under true and shuffled labels, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastfs._inference.twin import TwinResult
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import (
    BAR,
    PALE,
    Figure,
    SubFigure,
    bars,
    check_names,
    check_top,
    decimals_of,
    names_of,
    new_figure,
    set_label,
    set_title,
)


@named_arguments
def shuffled_twin(
    result: TwinResult,
    feature_names: Sequence[str] | None = None,
    *,
    top: int | None = None,
    figure: Figure | SubFigure | None = None,
    title: str | None = None,
) -> Figure | SubFigure:
    """Draw the best features under the true labels next to those under shuffled ones.

    Features that are among the best under both are dark. Many of them mean that the ranking owes little to the labels.

    Parameters
    ----------
    result : TwinResult
        Of :func:`fastfs.shuffled_twin`.
    <feature_names>
    top : int, optional
        How many bars on each side; default: `top` of the result.
    <figure>
    title : str, optional
        Default: the rank correlation and the overlap.

    <returns_figure>

    Raises
    ------
    ValueError
        `feature_names` has another length than the scores, or `top` is less than 1.

    <example_of_a_picture>
    >>> X, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60) % 2
    >>> X[:, :3] += 2 * y[:, None]
    >>> result = fastfs.shuffled_twin(fastfs.ReliefF(), X, y, top=3)
    >>> figure = fastfs.pl.shuffled_twin(result, figure=Figure(layout="constrained"))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['true labels', 'shuffled labels']
    """
    top = result.top if top is None else top
    check_top(top)
    check_names(feature_names, len(result.scores))
    sides = (
        ("true labels", result.scores, result.ranking),
        ("shuffled labels", result.shuffled_scores, result.shuffled_ranking),
    )
    orders = [np.argsort(ranking)[:top] for _, _, ranking in sides]
    n_bars = len(orders[0])
    figure = new_figure(figure, (11, 1.8 + 0.25 * n_bars))
    for ax, order, (name, scores, _) in zip(figure.subplots(1, 2, sharex=True), orders, sides, strict=True):
        colours = [BAR if is_in_both else PALE for is_in_both in np.isin(order, np.intersect1d(orders[0], orders[1]))]
        names = [f"{rank}  {feature}" for rank, feature in enumerate(names_of(order, feature_names), start=1)]
        bars(ax, scores[order], names, colours, decimals_of(scores[order].max()), margin=0.12)
        set_label(ax, f"score; dark: among the {n_bars} best on both sides")
        set_title(ax, name)
    if title is None:
        title = f"rank correlation {result.rank_correlation:.2f}; {result.overlap:.3g} of the {result.top} best in both"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", parse_math=False)
    return figure
