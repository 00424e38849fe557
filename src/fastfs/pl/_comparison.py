"""Scores of two fits against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastfs._inputs.entry import named_arguments
from fastfs._types import Floats
from fastfs.pl._drawing import BAR, PALE, QUIET, Axes, axes, check_names, names_of, scores_of, set_title


@named_arguments
def comparison(
    a: ArrayLike | Any,
    b: ArrayLike | Any,
    feature_names: Sequence[str] | None = None,
    *,
    labels: tuple[str, str] = ("scores a", "scores b"),
    top: int = 5,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the scores of two methods, groups or data sets against each other, one dot per feature.

    Parameters
    ----------
    a, b : array-like of shape (n_features,), or fitted selectors
        Of the same features, in the same order; larger is better.
    <feature_names>
    labels : tuple of two str
        Of the axes.
    top : int
        How many of the best features of each are named.
    <ax>
    title : str, optional
        Default: the rank correlation.

    <returns_ax>

    Raises
    ------
    ValueError
        The scores are of different features, or `feature_names` has another length.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from fastfs import pl
    >>> ax = pl.comparison([1, 2, 9], [1, 3, 2], labels=("ReliefF", "IM4E"), top=1, ax=Figure().add_subplot())
    >>> sorted(text.get_text() for text in ax.texts), ax.get_title(loc="left")
    (['x1', 'x2'], 'rank correlation 0.50')
    """
    from scipy.stats import spearmanr

    feature_names = _names_of_fits((a, b), feature_names)
    a, b = scores_of("a", a), scores_of("b", b)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise ValueError(
            f"a and b must be 1-D scores of the same features, two or more; got shapes {a.shape} and {b.shape}"
        )
    check_names(feature_names, a.size)
    ax = axes(ax, (6, 6))
    best = [np.argsort(-scores, kind="stable")[:top] for scores in (a, b)]
    named = np.union1d(*best)
    others = np.setdiff1d(np.arange(a.size), named)
    ax.scatter(a[others], b[others], s=12, color=PALE, zorder=2, rasterized=a.size > 5000)
    ax.scatter(a[named], b[named], s=22, color=BAR, zorder=3)
    # Write the names in a column next to the axes: in the plot they would cover each other.
    named = named[np.argsort(b[named], kind="stable")]
    low, high = ax.get_ylim()
    heights = _apart((b[named] - low) / (high - low), min(0.05, 1 / max(1, len(named))))
    for j, name, height in zip(named, names_of(named, feature_names), heights, strict=True):
        ax.annotate(
            name,
            (a[j], b[j]),
            xytext=(1.03, height),
            textcoords="axes fraction",
            va="center",
            fontsize="small",
            color=QUIET,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": PALE,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )
    ax.set_xlabel(labels[0], parse_math=False)
    ax.set_ylabel(labels[1], parse_math=False)
    ax.grid(color="#e3e3e3", zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(low, high)
    if title is None:
        title = f"rank correlation {spearmanr(a, b).statistic:.2f}"
    set_title(ax, title)
    return ax


def _names_of_fits(fits: tuple[Any, Any], feature_names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the caller's names, or else those of a fit; raise ValueError if both fits have names that differ."""
    a, b = (getattr(fit, "feature_names_in_", None) for fit in fits)
    if a is not None and b is not None and list(a) != list(b):
        raise ValueError(
            "a and b must be scores of the same features in the same order; their fits name different ones"
        )
    return feature_names if feature_names is not None else b if a is None else a


def _apart(heights: Floats, gap: float) -> Floats:
    """Return ascending heights in [0, 1], moved as little as possible so that they differ by the gap."""
    steps = gap * np.arange(len(heights))
    raised = np.maximum.accumulate(heights - steps) + steps
    spread: Floats = np.minimum(raised, 1 - steps[::-1])
    return spread
