"""Features that are pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import Axes, axes, colour_bar


@named_arguments
def image(
    values: ArrayLike, shape: tuple[int, int], *, ax: Axes | None = None, title: str | None = None, signed: bool = False
) -> Axes:
    """Draw one value per pixel as an image with a colour bar.

    Parameters
    ----------
    values : array-like of shape (n_rows * n_columns,)
        One value per feature, row by row.
    shape : (int, int)
        Rows and columns of the image.
    <ax>
    title : str, optional
    signed : bool
        The sign matters, as in an eigenvector: the colours then diverge from white at 0, equally far on both sides.

    <returns_ax>

    Raises
    ------
    ValueError
        `shape` has another number of pixels than there are values.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from fastfs import pl
    >>> ax = pl.image([0.1, -0.4, 0.2, 0.0], (2, 2), ax=Figure().add_subplot(), signed=True)
    >>> low, high = ax.images[0].get_clim()
    >>> float(low), float(high)
    (-0.4, 0.4)
    """
    values = np.asarray(values, dtype=float)
    if values.size != shape[0] * shape[1]:
        raise ValueError(f"values must fill an image of {shape[0]} x {shape[1]} pixels; got {values.size} values")
    ax = axes(ax)
    colours: dict[str, Any] = {"cmap": "viridis"}
    if signed:
        largest = float(np.abs(values).max()) or 1.0
        colours = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    drawn = ax.imshow(values.reshape(shape), **colours)
    colour_bar(ax, drawn)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color("#c8c8c8")
    if title is not None:
        ax.set_title(title, parse_math=False)
    return ax
