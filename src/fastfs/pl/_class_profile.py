"""Classes of I-KDR's dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import Axes, axes, colour_bar, literal, middle_cut, set_title


@named_arguments
def class_profile(source: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the share of each class in each dimension of I-KDR, as a heat map.

    Each column adds up to 1; a dimension of one class has one dark field. Dimensions are ordered by their main classes;
    their numbers (0-based) are below.

    Parameters
    ----------
    source : fastfs.IKDR or fastfs.IKDRResult
        A fitted estimator, or the result of :func:`fastfs.ikdr`.
    <ax>
    title : str, optional
        Default: I_p, the mean share of the main classes.

    <returns_ax>

    Raises
    ------
    ValueError
        `source` has no class profile.

    <example_of_a_picture>
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.repeat(["high", "low"], 30)
    >>> model = fastfs.IKDR().fit(X, y)
    >>> ax = fastfs.pl.class_profile(model, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['high', 'low']
    """
    ending = "_" if hasattr(source, "class_profile_") else ""
    if not hasattr(source, f"class_profile{ending}"):
        raise ValueError(f"source must be a fitted IKDR or the result of fastfs.ikdr; got {type(source).__name__}")
    names = ("class_profile", "classes", "interpretability")
    profile, classes, interpretability = (getattr(source, name + ending) for name in names)
    order = np.lexsort((-profile.max(axis=0), profile.argmax(axis=0)))
    n_classes, n_dimensions = profile.shape
    ax = axes(ax, (3.2 + 0.45 * n_dimensions, 1.6 + 0.35 * n_classes))

    drawn = ax.imshow(profile[:, order], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    colour_bar(ax, drawn, label="share of the class")
    ax.set_xticks(np.arange(n_dimensions), [str(j) for j in order])
    ax.set_yticks(np.arange(n_classes), [middle_cut(str(label), 24) for label in classes])
    literal(ax.get_yticklabels())
    ax.set_xlabel("dimension")
    ax.tick_params(length=0)
    ax.spines[:].set_color("#c8c8c8")
    if n_dimensions <= 12 and n_classes <= 12:
        for row, shares in enumerate(profile[:, order]):
            for column, share in enumerate(shares):
                if share >= 0.005:
                    colour = "white" if share > 0.6 else "black"
                    ax.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize="small", color=colour)
    title = f"I_p = {interpretability:.2f}" if title is None else title
    set_title(ax, title)
    return ax
