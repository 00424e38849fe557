"""Pairs of features against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastfs._functions.correlation import DifferentialCorrelation
from fastfs._functions.interactions import InteractionScan
from fastfs._inputs.entry import named_arguments
from fastfs._inputs.storage import by_columns, check_structure, dense
from fastfs._inputs.values import as_values
from fastfs.pl._drawing import Axes, Figure, SubFigure, check_names, check_top, literal, names_of, new_figure

# Panels of a row.
_PER_ROW = 4
# Classes with colours; more are drawn as numbers.
_COLOURS = ("#2f6f8f", "#b5523b", "#6a994e", "#8e6c8a", "#c9a227", "#5c5c5c", "#d98c8c", "#7fb7be")


@named_arguments
def pair_panels(
    result: InteractionScan | DifferentialCorrelation,
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None = None,
    *,
    table: Any = None,
    table_names: Sequence[str] | None = None,
    top: int = 4,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw the two features of each of the strongest pairs against each other, coloured by the target.

    Parameters
    ----------
    result : fastfs.InteractionScan or fastfs.DifferentialCorrelation
    X : array-like or sparse of shape (n_samples, n_features)
        The table that was searched.
    y : array-like of shape (n_samples,)
        Classes or numbers; of times to an event, the times, or other values for the colours.
    feature_names, table_names : sequence of str, optional
        Of all columns of X, and of `table`. Default: those of the result, or ``x0``, ``x1``, ...
    table : array-like or sparse, optional
        The second table, if pairs of X with another one were searched.
    top : int
        How many pairs.
    <figure>

    <returns_figure>

    Raises
    ------
    ValueError
        X, y, `table` or the names don't fit the result; there are no pairs; `top` is less than 1.

    <example_of_a_picture>
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> y = X[:, 1] * X[:, 4] > 0
    >>> result = fastfs.interaction_scan(X, y, n_permutations=99)
    >>> figure = fastfs.pl.pair_panels(result, X, y, top=2, figure=Figure())
    >>> [(ax.get_xlabel(), ax.get_ylabel()) for ax in figure.axes[:1]]
    [('x1', 'x4')]
    """
    check_top(top)
    has_table = isinstance(result, InteractionScan) and result.table_scores is not None
    if has_table != (table is not None):
        raise ValueError(
            "table must be the second table of the search; got None"
            if has_table
            else "table must be left out, because both features of a pair are columns of X"
        )
    target = as_values(y)
    features = _columns("X", X, len(result.scores), target)
    names = result.feature_names if feature_names is None else feature_names
    check_names(names, len(result.scores))
    others, other_names = features, names
    if isinstance(result, InteractionScan) and result.table_scores is not None:
        others = _columns("table", table, len(result.table_scores), target)
        other_names = result.table_names if table_names is None else table_names
        check_names(other_names, len(result.table_scores))
    n = min(top, len(result.pairs))
    if not n:
        raise ValueError("result must have a pair to draw; got none")
    n_cols = min(n, _PER_ROW)
    n_rows = -(-n // n_cols)
    figure = new_figure(figure, (3.1 * n_cols + 0.9, 2.9 * n_rows))
    panels = figure.subplots(n_rows, n_cols, squeeze=False).ravel()
    for ax in panels[n:]:
        ax.remove()
    for place, (ax, (a, b)) in enumerate(zip(panels[:n], result.pairs[:n].tolist(), strict=True)):
        drawn = _scatter(ax, np.ravel(dense(features[:, [a]])), np.ravel(dense(others[:, [b]])), target)
        ax.set_xlabel(names_of([a], names)[0], parse_math=False)
        ax.set_ylabel(names_of([b], other_names)[0], parse_math=False)
        ax.set_title(_describe(result, place), loc="left", fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
    if drawn is not None:
        figure.colorbar(drawn, ax=panels[:n].tolist(), fraction=0.03).outline.set_visible(False)
    else:
        literal(figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper").get_texts())
    return figure


def _columns(name: str, X: Any, n_columns: int, target: np.ndarray) -> Any:
    """Return a table for selection of columns; raise ValueError unless it has these columns and the target's rows."""
    check_structure(X)
    X = by_columns(X)
    if X.ndim != 2 or X.shape[1] != n_columns or target.shape != (X.shape[0],):
        raise ValueError(
            f"{name} must have the {n_columns} columns of the search and y a value for each row; got shapes {X.shape} "
            f"and {target.shape}"
        )
    return X


def _scatter(ax: Axes, a: np.ndarray, b: np.ndarray, target: np.ndarray) -> Any:
    """Draw the samples, with a colour for each class and None returned, or on a scale; return the scale's, which needs
    a bar.

    The scale is for floats and for more classes than colours.
    """
    classes, codes = np.unique(target, return_inverse=True)
    if target.dtype.kind == "f" or len(classes) > len(_COLOURS):
        return ax.scatter(a, b, s=14, c=target if target.dtype.kind in "fiu" else codes, cmap="viridis")
    for label, colour in zip(classes.tolist(), _COLOURS, strict=False):
        chosen = target == label
        ax.scatter(a[chosen], b[chosen], s=14, color=colour, alpha=0.8, label=str(label))
    return None


def _describe(result: InteractionScan | DifferentialCorrelation, place: int) -> str:
    """Return the statistic of a pair, and its p-value if there is one."""
    is_z = isinstance(result, DifferentialCorrelation) and result.degrees == 1
    letter = "z" if is_z else "F" if isinstance(result, InteractionScan) else "χ²"
    statistic = f"{letter} = {result.statistics[place]:.3g}"
    return statistic if result.pvalues_max is None else f"{statistic}, p = {result.pvalues_max[place]:.2g}"
