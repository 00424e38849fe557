"""Affinities within groups of DiSC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastfs._inputs.entry import named_arguments
from fastfs._inputs.storage import by_columns, check_structure, dense
from fastfs._inputs.values import as_values
from fastfs.pl._drawing import QUIET, Figure, SubFigure, check_top, literal, names_of, names_of_fit, new_figure


@named_arguments
def group(
    selector: Any,
    X: Any,
    y: ArrayLike,
    features: ArrayLike,
    *,
    top: int = 60,
    feature_names: Sequence[str] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw how similar the features of a group are to each other, one heat map for each class.

    The maps hold the affinities (exp(-D_ij^2 / eps_i^2) + exp(-D_ij^2 / eps_j^2)) / 2 with the bandwidths of the fit,
    on one scale. Below and to the right of the group are equally many other features, evenly spaced among all:
    bandwidths adapt, so a group that a class connects shows as a block darker than its surroundings.

    Parameters
    ----------
    selector : fastfs.DiSC
        Fitted.
    X : array-like or sparse of shape (n_samples, n_features)
        Samples, such as those of the fit.
    y : array-like of shape (n_samples,)
        Their classes.
    features : array-like of int, or of bool of shape (n_features,)
        The group, such as ``selector.groups_[0] == 0``.
    top : int
        Number of features of the group to draw at most: those with the largest scores.
    feature_names : sequence of str, optional
        Default: `feature_names_in_` of the selector, or ``x0``, ``x1``, ...
    <figure>

    <returns_figure>

    Raises
    ------
    ValueError
        The selector isn't a fitted DiSC; the group has fewer than two features, or some that X lacks; a class has no
        samples.

    <example_of_a_picture>
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 60)), np.arange(200) % 2
    >>> X[y == 1, :10] += 3 * rng.normal(size=(100, 1))
    >>> selector = fastfs.DiSC(n_components=3, bandwidth_neighbors=5, n_differential=1, n_groups=2).fit(X, y)
    >>> figure = fastfs.pl.group(selector, X, y, selector.groups_[1] == 0, figure=Figure())
    >>> [ax.get_title() for ax in figure.axes[:2]]
    ['0', '1']
    """
    if not hasattr(selector, "bandwidths_"):
        came = "one that isn't fitted: call fit first" if hasattr(selector, "n_groups") else type(selector).__name__
        raise ValueError(f"selector must be a fitted DiSC; got {came}")
    n_features = len(selector.scores_)
    check_structure(X)
    X = by_columns(X)
    y = as_values(y)
    if X.ndim != 2 or X.shape[1] != n_features or y.shape != (X.shape[0],):
        raise ValueError(
            f"X must have the {n_features} features of the fit and y a label for each row; got shapes {X.shape} "
            f"and {y.shape}"
        )
    chosen = np.asarray(features)
    if chosen.dtype == bool and chosen.shape == (n_features,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or len(chosen) < 2 or chosen.dtype.kind not in "iu":
        raise ValueError(
            "features must be at least two column numbers, or a mask of all features; got "
            f"shape {chosen.shape} of {chosen.dtype}"
        )
    if chosen.min() < 0 or chosen.max() >= n_features:
        raise ValueError(f"features must lie between 0 and {n_features - 1}; got {chosen.min()} to {chosen.max()}")
    check_top(top, 2)
    names = names_of_fit(selector, feature_names, n_features)
    n_all = len(chosen)
    others = np.setdiff1d(np.arange(n_features), chosen)
    chosen = chosen[np.argsort(-selector.scores_[chosen], kind="stable")[:top]]
    n_chosen, n_others = len(chosen), min(len(chosen), len(others))
    drawn_features = np.concatenate([chosen, others[np.arange(n_others) * len(others) // max(n_others, 1)]])
    part = X[:, drawn_features]
    part = np.asarray(dense(part), dtype=float)
    if not np.isfinite(part).all():
        i, j = np.argwhere(~np.isfinite(part))[0]
        raise ValueError(f"X must be finite; got {part[i, j]} in row {i}, column {drawn_features[j]} (0-based)")
    if hasattr(selector, "mean_"):
        part = (part - selector.mean_[drawn_features]) / selector.scale_[drawn_features]

    maps = []
    unit = float(np.abs(part).max()) or 1.0  # squares of values in another unit can overflow or underflow
    for label, eps in zip(selector.classes_, selector.bandwidths_[:, drawn_features] / unit, strict=True):
        rows = part[y == label] / unit
        if not len(rows):
            raise ValueError(f"y must have samples of each class of the fit; got none of class {label}")
        squares = np.array([((rows - rows[:, [j]]) ** 2).sum(axis=0) for j in range(len(drawn_features))])
        one_sided = np.exp(-squares / np.maximum(eps, np.finfo(float).tiny ** 0.5)[:, None] ** 2)
        maps.append((one_sided + one_sided.T) / 2)
    order = _similar_together(max((affinity[:n_chosen, :n_chosen] for affinity in maps), key=np.sum))
    shown_order = np.concatenate([order, np.arange(n_chosen, len(drawn_features))])
    # The affinity of a feature to itself is 1; shown, it would leave little of the colour scale to pairs.
    pairs = ~np.eye(n_chosen, dtype=bool)
    highest = max(float(affinity[:n_chosen, :n_chosen][pairs].max()) for affinity in maps) or 1.0
    figure = new_figure(figure, (1.2 + 3.4 * len(maps), 3.8))
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    for i, (ax, label, affinity) in enumerate(zip(axes, selector.classes_, maps, strict=True)):
        drawn = ax.imshow(affinity[np.ix_(shown_order, shown_order)], cmap="YlGnBu", vmin=0, vmax=highest)
        for line in (ax.axhline, ax.axvline):
            line(n_chosen - 0.5, color=QUIET, linewidth=1)
        ax.set_title(str(label), parse_math=False)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_color("#c8c8c8")
        if i == 0 and n_chosen <= 40:
            shown = names_of(chosen[order], names, 20)
            ax.set_yticks(np.arange(n_chosen), shown, fontsize=max(4.0, min(8.0, 100 / n_chosen)))
            ax.tick_params(axis="y", length=0)
            literal(ax.get_yticklabels())
    bar = figure.colorbar(drawn, ax=list(axes), fraction=0.03, pad=0.02, label="affinity")
    bar.outline.set_visible(False)
    which = f"the best {n_chosen} of {n_all}" if n_all > n_chosen else f"the {n_all}"
    axes[0].set_xlabel(f"{which} features of the group, {n_others} others", fontsize="small")
    return figure


def _similar_together(affinity: Any) -> Any:
    """Return an order of the features in which similar ones are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    far = 1 - affinity
    np.fill_diagonal(far, 0)
    return leaves_list(linkage(squareform(far, checks=False), "average"))
