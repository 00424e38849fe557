"""A first example of all methods: handwritten fours against nines, one row of pictures per method."""

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import fastfs
from fastfs import io, pl

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

SHAPE = (8, 8)
FEATURE_NAMES = [f"pixel_{row}_{column}" for row in range(SHAPE[0]) for column in range(SHAPE[1])]

Report = Callable[[str, float], None]


def draw(path: str | os.PathLike[str] = "fastfs_demo.png", report: Report | None = None) -> dict[str, Any]:
    """Run each method on scikit-learn's digits, 4 against 9, and draw the results.

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

    figure = Figure(figsize=(16, 0.5 + 3.0 * len(ROWS)), layout="constrained")
    figure.suptitle(f"What tells a 4 from a 9?  {len(y)} handwritten digits of 8 x 8 pixels", fontsize=17)
    rows = figure.subfigures(len(ROWS), 1, squeeze=False)[:, 0]
    fitted = {method: row(subfigure, X, y, report) for subfigure, (method, row) in zip(rows, ROWS.items(), strict=True)}
    with io.replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)
    return fitted


def _manifest(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    """Fit ManiFeSt to the digits, draw its panels into the figure, and return the selector."""
    selector = fastfs.ManiFeSt(n_components=1, verbose=report or False).fit(X, y)
    shared, different = selector.mean_eigenvectors_[:, 0], selector.difference_eigenvectors_[:, 0]
    figure.suptitle(
        "ManiFeSt: which pixels relate to the other pixels differently in the two classes?", color="#444444"
    )
    mean4, mean9, scores, mean, difference = figure.subplots(1, 5)
    for ax, digit in ((mean4, 4), (mean9, 9)):
        pl.image(X[y == digit].mean(axis=0), SHAPE, ax=ax, title=f"mean {digit}")
        ax.images[0].set_cmap("gray_r")
    pl.image(selector.scores_, SHAPE, ax=scores, title="score, the best 5 numbered")
    _write_ranks(scores, np.argsort(selector.ranking_)[:5])
    # The first eigenvector of M usually has one sign: then all colours can show its size.
    pl.image(shared, SHAPE, ax=mean, signed=bool(shared.min() < 0), title="shared: 1st eigenvector of M")
    pl.image(different, SHAPE, ax=difference, signed=True, title="different: 1st eigenvector of D")
    return selector


def _ask(figure: "SubFigure", question: str) -> None:
    """Write the question that a method answers above its panels."""
    figure.suptitle(question, color="#444444")


def _projse(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    """Fit ProjSe to the digits, draw its panels into the figure, and return the selector."""
    selector = fastfs.ProjSe(verbose=report or False).fit(X, y)
    _ask(
        figure, "ProjSe: which few pixels explain a target together?  Two classes allow one, half a picture allows many"
    )
    axes = figure.subplots(1, 5)
    pl.image(selector.scores_, SHAPE, ax=axes[0], title="explained by the class")
    _write_ranks(axes[0], selector.selected_[:1])
    left = np.arange(X.shape[1]) % SHAPE[1] < SHAPE[1] // 2
    halves = fastfs.projse_two_view(X[:, left], X[:, ~left], n_features_to_select=5, center=True)
    for ax, side, half, name in zip(axes[1:], (left, ~left), halves, ("right half", "left half"), strict=False):
        scores = np.zeros(X.shape[1])
        scores[side] = half.scores
        pl.image(scores, SHAPE, ax=ax, title=f"by the {name}, 5 chosen")
        _write_ranks(ax, np.flatnonzero(side)[half.selected])
    for ax, half, name in zip(axes[3:], halves, ("left", "right"), strict=True):
        ax.bar(np.arange(1, 6), half.selection_scores, color="#4c72b0")
        ax.plot(np.arange(1, 6), half.captured, "o-", color="#c44e52")
        ax.set_title(f"{name} half: scores, part explained")
        ax.set_ylim(0, 1)
    return selector


def _relieff(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    """Fit RELIEF, ReliefF, MultiSURF and IM4E to the digits, draw their panels, and return the fitted ReliefF."""
    methods = {"RELIEF": fastfs.Relief, "ReliefF": fastfs.ReliefF, "MultiSURF": fastfs.MultiSURF, "IM4E": fastfs.IM4E}
    fitted = {name: method(verbose=report or False).fit(X, y) for name, method in methods.items()}
    _ask(
        figure,
        "The RELIEF family: in which pixels are the nearest digits of the other class farther than those of the same?",
    )
    *images, curves = figure.subplots(1, 5)
    for ax, (name, selector) in zip(images, fitted.items(), strict=True):
        # Pixels with scores below 0 say nothing, so all colours are for positive scores.
        pl.image(np.maximum(selector.scores_, 0), SHAPE, ax=ax, title=f"{name}, the best 5 numbered")
        _write_ranks(ax, np.argsort(selector.ranking_)[:5])
        curves.plot(np.arange(1, 65), np.sort(selector.scores_)[::-1] / selector.scores_.max(), label=name)
    curves.set_ylim(-0.3, 1.03)  # MultiSURF goes far below 0 here: most digits have no near miss
    curves.set_title("share of the best score, by rank")
    curves.spines[["top", "right"]].set_visible(False)
    curves.legend(frameon=False)
    return fitted["ReliefF"]


def _immigrate(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    """Fit Immigrate to the digits, draw its panels into the figure, and return the selector."""
    selector = fastfs.Immigrate(sigma="auto", verbose=report or False).fit(X, y)
    _ask(figure, "IMMIGRATE: which pixels, and which pairs of them, tell near digits apart?")
    scores, pairs, residuals, heat, one = figure.subplots(1, 5)
    pl.image(selector.scores_, SHAPE, ax=scores, title="score, the best 5 numbered")
    _write_ranks(scores, np.argsort(selector.ranking_)[:5])
    for ax, by, title in (
        (pairs, "weight", "the 12 strongest pairs"),
        (residuals, "residual", "strongest residuals (blue: < 0)"),
    ):
        pl.image(X.mean(axis=0), SHAPE, ax=ax, title=title)
        ax.images[0].colorbar.remove()
        ax.images[0].set_cmap("gray_r")
        ax.images[0].set_alpha(0.35)
        strongest = selector.top_pairs(12, by)
        for a, b, weight in zip(strongest["a"], strongest["b"], strongest[by], strict=True):
            (y0, x0), (y1, x1) = divmod(int(a), SHAPE[1]), divmod(int(b), SHAPE[1])
            width = 4 * abs(weight) / np.abs(strongest[by]).max()
            ax.plot([x0, x1], [y0, y1], "o-", linewidth=width, color="#b2182b" if weight > 0 else "#2166ac", alpha=0.8)
    short = [name.removeprefix("pixel_").replace("_", ",") for name in FEATURE_NAMES]
    pl.interactions(selector, short, top=12, ax=heat)
    heat.set_title("W of the best 12 (row,column)")
    heat.set_title("", loc="left")
    heat.set_xticks([])
    nine = X[y == 9][:1]
    (explanation,) = selector.explain(nine, [9], top=X.shape[1])
    parts = np.zeros(X.shape[1])
    parts[explanation.features["feature"]] = explanation.features["part"]
    pl.image(parts, SHAPE, ax=one, signed=True, title="why this is a 9 (red: for, dots: its ink)")
    rows, columns = np.divmod(np.arange(X.shape[1]), SHAPE[1])
    one.scatter(columns, rows, s=8 * nine[0], color="black", alpha=0.6)
    return selector


def _disc(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    """Fit DiSC to the digits, draw its panels into the figure, and return the selector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # neighbouring pixels are all connected, so no number of vectors is right
        selector = fastfs.DiSC(n_components=5, bandwidth_neighbors=6, n_groups=4, verbose=report or False).fit(X, y)
    _ask(figure, "DiSC: which pixels go together in one of the classes and not in the other?")
    *images, curve, groups = figure.subplots(1, 5)
    for ax, (s, j) in zip(images, ((0, 0), (1, 0), (1, 1)), strict=True):
        real = np.flatnonzero(~selector.trivial_[s])[j]
        title = f"together in {selector.classes_[s]}: vector {j + 1}"
        pl.image(selector.vectors_[s][:, real], SHAPE, ax=ax, signed=True, title=title)
    pl.significance(selector, ax=curve)
    curve.set_title("significance")
    groups.imshow(np.where(selector.groups_[1] < 0, np.nan, selector.groups_[1]).reshape(SHAPE), cmap="Set2", vmax=7)
    groups.set_title("groups of pixels in 9")
    groups.set_xticks([])
    groups.set_yticks([])
    return selector


def _ikdr(figure: "SubFigure", X: np.ndarray, y: np.ndarray, report: Report | None) -> Any:
    """Fit IKDR to the digits, draw its panels into the figure, and return the selector."""
    selector = fastfs.IKDR(verbose=report or False).fit(X, y)
    _ask(
        figure,
        "I-KDR: which pixels make a few digits enough to tell the classes apart?  A dimension is a mixture of these",
    )
    weights, *mixtures, profile, plane = figure.subplots(1, 5)
    pl.image(selector.feature_weights_, SHAPE, ax=weights, title=f"weight: {selector.n_selected_} of 64 have any")
    _write_ranks(weights, np.argsort(selector.ranking_)[: min(5, selector.n_selected_)])
    for j, ax in enumerate(mixtures):
        shares = selector.dual_coef_[:, j]
        pl.image(shares @ X, SHAPE, ax=ax, title=f"dimension {j}: {np.count_nonzero(shares)} digits, mixed")
        ax.images[0].set_cmap("gray_r")
    pl.class_profile(selector, ax=profile, title="their classes")
    for label, colour in zip(selector.classes_, ("#2f6f8f", "#b5523b"), strict=True):
        plane.plot(*selector.embedding_[y == label].T, ".", color=colour, label=str(label), alpha=0.6)
    plane.set_title("embedding: all digits")
    plane.set_xlabel("likeness to dimension 0")
    plane.set_ylabel("likeness to dimension 1")
    plane.yaxis.set_label_position("right")  # on the left stands that of the colours of the profile
    plane.spines[["top", "right"]].set_visible(False)
    plane.legend(frameon=False)
    return selector


# Functions that fit a method, draw its row of pictures into a part of the figure, and return the estimator.
ROWS: dict[str, Callable[["SubFigure", np.ndarray, np.ndarray, Report | None], Any]] = {
    "manifest": _manifest,
    "projse": _projse,
    "relieff": _relieff,
    "immigrate": _immigrate,
    "disc": _disc,
    "ikdr": _ikdr,
}


def _write_ranks(ax: Any, pixels: np.ndarray) -> None:
    """Write their ranks into the pixels of an image, best pixels first."""
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2.5, foreground="white")]
    for rank, j in enumerate(pixels.tolist(), start=1):
        row, column = divmod(j, SHAPE[1])
        ax.text(column, row, str(rank), ha="center", va="center", fontweight="bold", path_effects=outline)
