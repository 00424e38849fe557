"""Ranks by several methods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastfs._inference.consensus import ConsensusResult
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import Axes, axes, check_names, literal, names_of, set_label, set_title


@named_arguments
def consensus(
    result: ConsensusResult,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the ranks that each method gives to the best features of the consensus.

    Parameters
    ----------
    result : ConsensusResult
        Of :func:`fastfs.consensus`.
    <feature_names>
    top : int
        How many features.
    <ax_and_title>

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> result = fastfs.consensus({"ReliefF": [3.0, 2.0, 1.0], "IM4E": [2.0, 3.0, 0.0]})
    >>> ax = fastfs.pl.consensus(result, top=2, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['1  x0', '2  x1'], ['1', '2', '2', '1'])
    """
    from matplotlib.colors import LogNorm

    n_methods, n_features = result.ranks.shape
    check_names(feature_names, n_features)
    order = np.argsort(result.ranking)[:top]
    ax = axes(ax, (2.5 + 0.9 * n_methods, 1.4 + 0.28 * len(order)))
    ranks = result.ranks[:, order].T
    # Ranks are compared by ratio: 1 and 10 are far apart, 1001 and 1010 nearly equal.
    norm = LogNorm(1, max(n_features, 2))
    ax.imshow(ranks, cmap="Blues_r", norm=norm, aspect="auto")
    for i, row in enumerate(ranks):
        for m, rank in enumerate(row):
            shade = "white" if norm(rank) < 0.5 else "black"
            ax.text(m, i, f"{rank:.10g}", ha="center", va="center", color=shade, fontsize="small")
    names = names_of(order, feature_names)
    ax.set_yticks(np.arange(len(order)), [f"{rank}  {name}" for rank, name in enumerate(names, start=1)])
    # At a slant, for columns may be narrower than names.
    ax.set_xticks(np.arange(n_methods), result.names, rotation=35, ha="left", rotation_mode="anchor")
    literal(ax.get_yticklabels(), ax.get_xticklabels())
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    set_label(ax, f"rank of {n_features} by each method")
    set_title(ax, title)
    return ax
