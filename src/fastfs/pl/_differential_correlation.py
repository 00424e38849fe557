"""Correlations that differ between classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastfs._functions.correlation import DifferentialCorrelation
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import (
    AGAINST,
    BAR,
    PALE,
    QUIET,
    Axes,
    axes,
    check_names,
    check_top,
    literal,
    names_of,
    set_label,
    set_title,
)


@named_arguments
def differential_correlation(
    result: DifferentialCorrelation,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the correlations of the strongest pairs in the classes, or below and above the mean of numbers.

    Parameters
    ----------
    result : fastfs.DifferentialCorrelation
    feature_names : sequence of str, optional
        Of all columns of X. Default: those of the result, or ``x0``, ``x1``, ...
    top : int
        How many pairs; the strongest is on top.
    <ax>
    title : str, optional
        Default: how many pairs have a family-wise p-value of at most 0.05.

    <returns_ax>

    Raises
    ------
    ValueError
        `feature_names` has another length, or `top` is less than 1.
    TypeError
        `result` isn't one of that function.

    <example_of_a_picture>
    >>> X, y = np.random.default_rng(0).normal(size=(60, 8)), np.repeat([0, 1], 30)
    >>> X[:30, 1] += 3 * X[:30, 0]
    >>> result = fastfs.differential_correlation(X, y)
    >>> ax = fastfs.pl.differential_correlation(result, top=3, ax=Figure().add_subplot())
    >>> ax.get_yticklabels()[0].get_text(), ax.get_title(loc="left")
    ('x0, x1', '1 pair with p ≤ 0.05 (999 permutations)')
    """
    if not isinstance(result, DifferentialCorrelation):
        raise TypeError(
            "result must be what fastfs.differential_correlation returns; got "
            f"{type(result).__name__}: give that of the function, not of fastfs.tl"
        )
    check_top(top)
    feature_names = result.feature_names if feature_names is None else feature_names
    check_names(feature_names, len(result.scores))
    n = min(top, len(result.statistics))
    place, correlations = np.arange(n), result.correlations[:n]
    ax = axes(ax, (7, 1.4 + 0.3 * n))
    ax.hlines(place, correlations.min(axis=1), correlations.max(axis=1), color=PALE, linewidth=3, zorder=2)
    colours = [BAR, AGAINST, *(f"C{c}" for c in range(2, correlations.shape[1]))]
    for values, colour, label in zip(correlations.T, colours, result.correlation_names, strict=True):
        ax.scatter(values, place, s=36, color=colour, zorder=3, label=label)
    pairs = [", ".join(names_of(pair, feature_names, 16)) for pair in result.pairs[:n].tolist()]
    ax.set_yticks(place, pairs)
    ax.set_ylim(n - 0.4, -0.6)
    ax.set_xlim(-1.02, 1.02)
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=1)
    set_label(ax, f"{result.correlation.capitalize()}'s correlation")
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(1.0, 0.0))
    literal(ax.get_yticklabels(), legend.get_texts())
    ax.grid(axis="x", color="#e3e3e3", zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    if title is None and result.pvalues_max is not None:
        significant = int(np.count_nonzero(result.pvalues_max <= 0.05))
        plural = "" if significant == 1 else "s"
        title = f"{significant} pair{plural} with p ≤ 0.05 ({result.n_permutations} permutations)"
    set_title(ax, title)
    return ax
