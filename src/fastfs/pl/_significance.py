"""Significances of DiSC's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import BAR, Axes, axes, literal, set_title


@named_arguments
def significance(
    found: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw DiSC's significances, descending, one curve per class: a step shows how many vectors matter.

    The axis is logarithmic, so that equal ratios are equal steps. Filled points make the scores; hollow ones don't, and
    crosses are trivial vectors.

    Parameters
    ----------
    found : fastfs.DiSC or fastfs.DiSCResult
        A fitted estimator, or the result of :func:`fastfs.disc`.
    names : sequence of str, optional
        Of the classes or sets.
    <ax_and_title>

    Raises
    ------
    ValueError
        `found` has no significances, or another number of sets than there are names.

    <example_of_a_picture>
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 100, 60))
    >>> A[:, :10] += 3 * rng.normal(size=(100, 1))
    >>> result = fastfs.disc([A, B], n_components=3, bandwidth_neighbors=5, n_differential=1)
    >>> ax = fastfs.pl.significance(result, names=["treated", "control"], ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['treated', 'control']
    """
    ending = "_" if hasattr(found, "significance_") else ""
    if not hasattr(found, f"significance{ending}"):
        raise ValueError(f"found must be a fitted DiSC or the result of fastfs.disc; got {type(found).__name__}")
    values, trivial, counts = (getattr(found, name + ending) for name in ("significance", "trivial", "n_differential"))
    if names is None:
        names = [str(c) for c in found.classes_] if ending else [f"set {s}" for s in range(len(values))]
    if len(names) != len(values):
        raise ValueError(f"names must name all {len(values)} sets; got {len(names)} names")
    ax = axes(ax)
    few = len(values) <= 10
    for s, name in enumerate(names):
        place = np.arange(1, values.shape[1] + 1)
        shown = values[s] > 0
        colour = f"C{s}" if few else BAR
        counted = np.flatnonzero(~trivial[s])[: counts[s]]
        (line,) = ax.plot(place[shown], values[s][shown], color=colour, linewidth=1, label=name)
        hollow = shown & ~trivial[s]
        hollow[counted] = False
        ax.plot(place[counted], values[s][counted], "o", color=line.get_color(), markersize=7)
        ax.plot(place[hollow], values[s][hollow], "o", color=line.get_color(), markerfacecolor="white", markersize=6)
        ax.plot(place[shown & trivial[s]], values[s][shown & trivial[s]], "x", color=line.get_color(), markersize=7)
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(np.arange(1, values.shape[1] + 1))
    ax.set_xlabel("vector (filled: counts, x: trivial)")
    ax.set_ylabel("significance")
    ax.grid(axis="y", which="both", color="#ececec", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    legend = ax.legend(frameon=False, fontsize="small", ncols=1 + len(values) // 8)
    literal(legend.get_texts())
    set_title(ax, title)
    return ax
