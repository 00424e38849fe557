"""What a first-time user sees: handwritten fours against nines, one row of pictures per method."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import io, pl

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

SHAPE = (8, 8)
FEATURE_NAMES = [f"pixel_{row}_{column}" for row in range(SHAPE[0]) for column in range(SHAPE[1])]

Report = Callable[[str, float], None]


def draw(path: str | os.PathLike[str] = "fastfs_demo.png", report: Report | None = None) -> dict[str, Any]:
    """Run each method on scikit-learn's digits, 4 against 9, and draw what it finds.

    Parameters
    ----------
    path : path
        The picture; its ending chooses the format, such as ``.png``.
    report : callable, optional
        Called as ``report(step, fraction)`` while a method is running.

    Returns
    -------
    dict of str to estimator
        Method name and fitted estimator, in the order of the picture's rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastfs import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted = demo.draw(pathlib.Path(folder, "demo.png"))
    >>> fitted["manifest"].scores_.shape
    (64,)
    """
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (4, 9))
    X, y = X[chosen], y[chosen]

    figure = Figure(figsize=(16, 0.5 + 3.2 * len(ROWS)), layout="constrained")
    figure.suptitle(f"What tells a 4 from a 9?  {len(y)} handwritten digits of 8 x 8 pixels", fontsize=17)
    rows = figure.subfigures(len(ROWS), 1, squeeze=False)[:, 0]
    fitted = {method: row(subfigure, X, y, report) for subfigure, (method, row) in zip(rows, ROWS.items(), strict=True)}
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)
    return fitted


def _manifest(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    from . import ManiFeSt

    selector = ManiFeSt(n_components=1, verbose=report or False).fit(X, y)
    shared, different = selector.mean_eigenvectors_[:, 0], selector.difference_eigenvectors_[:, 0]
    figure.suptitle(
        "ManiFeSt: which pixels relate to the other pixels differently in the two classes?", color="#444444"
    )
    mean4, mean9, scores, mean, difference = figure.subplots(1, 5)
    for ax, digit in ((mean4, 4), (mean9, 9)):
        pl.image(X[y == digit].mean(axis=0), SHAPE, ax=ax, title=f"mean {digit}")
        ax.images[0].set_cmap("gray_r")
    pl.image(selector.scores_, SHAPE, ax=scores, title="score, the best 5 numbered")
    for rank, j in enumerate(np.argsort(selector.ranking_)[:5], start=1):
        _number(scores, int(j), rank)
    # The first eigenvector of M has one sign as a rule: then all colours are for its size.
    pl.image(shared, SHAPE, ax=mean, signed=bool(shared.min() < 0), title="shared: 1st eigenvector of M")
    pl.image(different, SHAPE, ax=difference, signed=True, title="different: 1st eigenvector of D")
    return selector


# One row of pictures per method. A row fits its method, draws into its part of the figure and returns the estimator.
ROWS: dict[str, Callable[["SubFigure", np.ndarray, np.ndarray, Report | None], Any]] = {"manifest": _manifest}


def _number(ax: Any, j: int, rank: int) -> None:
    """Write its rank into a pixel of an image."""
    from matplotlib.patheffects import withStroke

    row, column = divmod(j, SHAPE[1])
    outline = [withStroke(linewidth=2.5, foreground="white")]
    ax.text(column, row, str(rank), ha="center", va="center", fontweight="bold", path_effects=outline)
