"""Eigenvectors of ManiFeSt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import BAR, QUIET, Axes, Figure, SubFigure, literal, names_of, names_of_fit, new_figure
from fastfs.pl._image import image


@named_arguments
def components(
    selector: Any,
    *,
    shape: tuple[int, int] | None = None,
    feature_names: Sequence[str] | None = None,
    top: int = 10,
    comparison: int = 0,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the leading eigenvectors of the mean and of the difference, on which the scores of ManiFeSt rest.

    The upper row shows M, the shared part of two classes, the lower row D, the difference. Features that are pixels are
    drawn as images, others as bars of the largest entries.

    Parameters
    ----------
    selector : fastfs.ManiFeSt
        Fitted with ``n_components`` of at least 1.
    shape : (int, int), optional
        Rows and columns of the image, if the features are its pixels, row by row.
    feature_names : sequence of str, optional
        Default: `feature_names_in_` of the selector, or ``x0``, ``x1``, ...
    top : int
        How many bars.
    comparison : int
        Which one, if there are several: the class against the rest, or the pair of classes in the order of
        ``itertools.combinations``.
    <figure>

    <returns_figure>

    Raises
    ------
    ValueError
        The selector has no components, or there is no such comparison.

    <example_of_a_picture>
    >>> X = np.random.default_rng(0).integers(0, 2, size=(50, 12)).astype(float)
    >>> selector = fastfs.ManiFeSt(n_components=2).fit(X, X[:, 0] != X[:, 1])
    >>> figure = fastfs.pl.components(selector, top=3, figure=Figure())
    >>> [ax.get_title().split(":")[0] for ax in figure.axes]
    ['M, 1st', 'M, 2nd', 'D, 1st', 'D, 2nd']
    """
    if not hasattr(selector, "mean_eigenvectors_"):
        raise ValueError(f"selector must be a fitted ManiFeSt; got {type(selector).__name__}")
    parts = {}
    for letter, part in (("M", "mean"), ("D", "difference")):
        values, vectors = getattr(selector, f"{part}_eigenvalues_"), getattr(selector, f"{part}_eigenvectors_")
        if vectors.ndim == 2:
            values, vectors = values[None], vectors[None]
        if not 0 <= comparison < len(vectors):
            raise ValueError(f"comparison must lie between 0 and {len(vectors) - 1}; got {comparison}")
        parts[letter] = values[comparison], vectors[comparison]
    n_components = len(parts["M"][0])
    if n_components == 0:
        raise ValueError(
            "selector must have components, which its fit kept none of: fit it with n_components=1 or more"
        )
    n_features = len(parts["M"][1])
    names = names_of_fit(selector, feature_names, n_features)

    height = 3.0 if shape is not None else 0.9 + 0.22 * min(top, n_features)
    figure = new_figure(figure, (1 + 3.2 * n_components, 2 * height))
    axes = figure.subplots(2, n_components, squeeze=False)
    for row, (letter, (values, vectors)) in zip(axes, parts.items(), strict=True):
        for i, ax in enumerate(row):
            vector, title = vectors[:, i], f"{letter}, {_ordinal(i + 1)}: {values[i]:.3g}"
            if shape is not None:
                image(vector, shape, ax=ax, title=title, signed=bool(vector.min() < 0))
            else:
                _loadings(vector, names, top, ax, title)
    return figure


def _loadings(vector: Any, names: Sequence[str] | None, top: int, ax: Axes, title: str) -> None:
    """Draw the `top` largest entries of an eigenvector, by size, as bars to both sides of 0, the largest on top."""
    order = np.argsort(-np.abs(vector), kind="stable")[:top]
    place = np.arange(len(order))
    ax.barh(place, vector[order], color=BAR)
    ax.set_yticks(place, names_of(order, names, 20))
    literal(ax.get_yticklabels(), fontsize="small")
    ax.invert_yaxis()
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(title, fontsize="medium", parse_math=False)


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
