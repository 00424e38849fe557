"""The statistic under permuted labels."""

from __future__ import annotations

import numpy as np

from fastfs._inference.permutation import PermutationResult
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import AGAINST, PALE, Axes, axes, set_label, set_title


@named_arguments
def permutation(result: PermutationResult, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the statistic under permuted labels, and mark its value for the true labels.

    Parameters
    ----------
    result : PermutationResult
        Of :func:`fastfs.permutation_test`.
    <ax>
    title : str, optional
        Default: the p-value.

    <returns_ax>

    <example_of_a_picture>
    >>> X, y = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 2
    >>> X[:, 0] += 3 * y
    >>> ax = fastfs.pl.permutation(fastfs.permutation_test(fastfs.ReliefF(), X, y), ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'p = 0.001 (999 permutations)'
    """
    ax = axes(ax, (7, 4))
    n = len(result.null_statistics)
    ax.hist(result.null_statistics, bins=min(50, max(10, n // 20)), color=PALE, zorder=2, label="permuted labels")
    ax.axvline(result.statistic, color=AGAINST, linewidth=2, zorder=3, label="true labels")
    set_label(ax, "statistic of all features: the largest z, score or significance")
    ax.set_ylabel("permutations")
    # Place the legend above the axes, where it covers neither the bars nor the line.
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2)
    ax.spines[["top", "right"]].set_visible(False)
    if title is None:
        title = f"p = {result.pvalue:.{max(1, int(np.ceil(np.log10(n + 1))))}f} ({n} permutations)"
    set_title(ax, title, pad=22)
    return ax
