"""Plots. They need matplotlib, which the extra ``[plot]`` brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._inputs.matrix import check_structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike

    from fastfs._inference.consensus import ConsensusResult
    from fastfs._inference.permutation import PermutationResult
    from fastfs._inference.stability import StabilityResult

__all__ = [
    "class_profile",
    "comparison",
    "components",
    "consensus",
    "explanation",
    "group",
    "image",
    "interactions",
    "permutation",
    "ranking",
    "significance",
    "stability",
]

_BAR = "#2f6f8f"
_PALE = "#b5ccd8"
_QUIET = "#6b6b6b"
_AGAINST = "#b5523b"


def ranking(
    scores: ArrayLike,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ranks: ArrayLike | None = None,
    n_selected: int | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the best features as horizontal bars, the best on top.

    A dashed line marks the median score of all features, so that the eye can tell a peak from a plateau.

    Parameters
    ----------
    scores : array-like of shape (n_features,)
        Larger is better.
    feature_names : sequence of str, optional
        Default: ``x0``, ``x1``, ...
    top : int
        How many bars.
    ranks : array-like of shape (n_features,), optional
        1 is best, where the order isn't that of the scores, as ``ranking_`` of :class:`fastfs.ProjSe`.
    n_selected : int, optional
        Bars of later ranks are pale.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure whose height suits the number of bars.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        `scores` is not one-dimensional or empty, or `feature_names` or `ranks` has another length, or `top` is less
        than 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from fastfs import pl
    >>> ax = pl.ranking([0.2, 0.9, 0.5], ["CD4", "CD8A", "NKG7"], top=2, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['1  CD8A', '2  NKG7']
    """
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"scores must be one-dimensional and not empty; its shape is {scores.shape}")
    if feature_names is not None and len(feature_names) != scores.size:
        raise ValueError(f"There are {len(feature_names)} feature_names for {scores.size} scores")
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    if ranks is not None and np.shape(ranks) != scores.shape:
        raise ValueError(f"There are ranks of shape {np.shape(ranks)} for {scores.size} scores")
    order = np.argsort(-scores if ranks is None else np.asarray(ranks), kind="stable")[:top]
    best = scores[order].max()
    names = [f"x{j}" if feature_names is None else _middle_cut(str(feature_names[j])) for j in order]
    n_bars = len(order)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8, 1.4 + 0.25 * n_bars), layout="constrained")

    place = np.arange(n_bars)
    bars = ax.barh(place, scores[order], height=0.72, color=_BAR, zorder=2)
    for bar in bars[n_bars if n_selected is None else n_selected :]:
        bar.set_color(_PALE)
    ax.set_yticks(place, [f"{rank}  {name}" for rank, name in enumerate(names, start=1)])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a name may hold dollar signs
    ax.set_ylim(n_bars - 0.4, -0.6)
    decimals = _decimals(best)
    for y, value in zip(place, scores[order], strict=True):
        # The figure beside its bar: nobody has to read a length off the axis, and none is told by colour alone.
        side = -1 if value < 0 else 1
        ax.annotate(
            f"{value:{decimals}}",
            (value, y),
            xytext=(4 * side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if side > 0 else "right",
            fontsize="small",
            color=_QUIET,
        )
    median = float(np.median(scores))
    ax.axvline(median, color="black", linestyle=(0, (4, 3)), linewidth=1, zorder=3)
    ax.annotate(
        f"median of all {scores.size}: {median:{decimals}}",
        (median, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize="small",
        ha="left" if median < 0.6 * best else "right",
    )
    ax.margins(x=0.12)
    ax.axvline(0, color=_QUIET, linewidth=0.8, zorder=3)
    ax.grid(axis="x", color="#e3e3e3", zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    label = f"score, the {n_bars} best of {scores.size} features" if n_bars < scores.size else "score"
    if n_selected is not None and n_selected < n_bars:
        label += f"; the first {n_selected} selected, in order" if n_selected > 1 else "; the first one selected"
    ax.set_xlabel(label)
    if title is not None:
        ax.set_title(title, loc="left", pad=20, fontweight="bold", parse_math=False)
    return ax


def comparison(
    a: ArrayLike,
    b: ArrayLike,
    feature_names: Sequence[str] | None = None,
    *,
    labels: tuple[str, str] = ("scores a", "scores b"),
    top: int = 5,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the scores of two methods, groups or data sets against each other, one dot a feature.

    Parameters
    ----------
    a, b : array-like of shape (n_features,)
        Of the same features; larger is better.
    feature_names : sequence of str, optional
        Default: ``x0``, ``x1``, ...
    labels : tuple of two str
        What the scores are.
    top : int
        So many best features of each are named.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional
        Default: the rank correlation.

    Returns
    -------
    matplotlib.axes.Axes

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

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise ValueError(f"a and b must be scores of the same features, but have the shapes {a.shape} and {b.shape}")
    if feature_names is not None and len(feature_names) != a.size:
        raise ValueError(f"There are {len(feature_names)} feature_names for {a.size} scores")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6, 6), layout="constrained")
    best = [np.argsort(-scores, kind="stable")[:top] for scores in (a, b)]
    named = np.union1d(*best)
    others = np.setdiff1d(np.arange(a.size), named)
    ax.scatter(a[others], b[others], s=12, color=_PALE, zorder=2, rasterized=a.size > 5000)
    ax.scatter(a[named], b[named], s=22, color=_BAR, zorder=3)
    for j in named:
        name = f"x{j}" if feature_names is None else _middle_cut(str(feature_names[j]))
        ax.annotate(
            name,
            (a[j], b[j]),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize="small",
            color=_QUIET,
            parse_math=False,
        )
    ax.set_xlabel(labels[0], parse_math=False)
    ax.set_ylabel(labels[1], parse_math=False)
    ax.grid(color="#e3e3e3", zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if title is None:
        title = f"rank correlation {spearmanr(a, b).statistic:.2f}"
    ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


def permutation(result: PermutationResult, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the statistic under permuted labels, and where that of the true labels lies.

    Parameters
    ----------
    result : PermutationResult
        Of :func:`fastfs.permutation_test`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional
        Default: the p-value.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 2
    >>> X[:, 0] += 3 * y
    >>> ax = fastfs.pl.permutation(fastfs.permutation_test(fastfs.ReliefF(), X, y), ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'p = 0.001 (999 permutations)'
    """
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    n = len(result.null_statistics)
    ax.hist(result.null_statistics, bins=min(50, max(10, n // 20)), color=_PALE, zorder=2, label="permuted labels")
    ax.axvline(result.statistic, color=_AGAINST, linewidth=2, zorder=3, label="true labels")
    ax.set_xlabel("statistic of all features: the largest score, or significance")
    ax.set_ylabel("permutations")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    if title is None:
        title = f"p = {result.pvalue:.{max(1, int(np.ceil(np.log10(n + 1))))}f} ({n} permutations)"
    ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


def stability(
    result: StabilityResult,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw in which share of the subsamples the most frequent features were selected.

    Parameters
    ----------
    result : StabilityResult
        Of :func:`fastfs.stability`.
    feature_names : sequence of str, optional
        Default: ``x0``, ``x1``, ...
    top : int
        How many bars.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional
        Default: the stability and its confidence interval.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60) % 2
    >>> X[:, :3] += 3 * y[:, None]
    >>> found = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=20)
    >>> fastfs.pl.stability(found, ax=Figure().add_subplot()).get_title(loc="left")
    'stability 1.00 (1.00 to 1.00)'
    """
    if title is None:
        low, high = result.interval
        title = f"stability {result.stability:.2f} ({low:.2f} to {high:.2f})"
    ax = ranking(result.frequencies, feature_names, top=top, ax=ax, title=title)
    ax.set_xlabel(f"share of {len(result.selected)} subsamples that select it")
    return ax


def consensus(
    result: ConsensusResult,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the ranks that each method gives to the best features of all.

    Parameters
    ----------
    result : ConsensusResult
        Of :func:`fastfs.consensus`.
    feature_names : sequence of str, optional
        Default: ``x0``, ``x1``, ...
    top : int
        How many features.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> found = fastfs.consensus({"ReliefF": [3.0, 2.0, 1.0], "IM4E": [2.0, 3.0, 0.0]})
    >>> ax = fastfs.pl.consensus(found, top=2, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['1  x0', '2  x1'], ['1', '2', '2', '1'])
    """
    from matplotlib.colors import LogNorm

    n_methods, n_features = result.ranks.shape
    if feature_names is not None and len(feature_names) != n_features:
        raise ValueError(f"There are {len(feature_names)} feature_names for {n_features} scores")
    order = np.argsort(result.ranking)[:top]
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(2.5 + 0.9 * n_methods, 1.4 + 0.28 * len(order)), layout="constrained")
    ranks = result.ranks[:, order].T
    # Ranks matter by ratio: 1 and 10 are far apart, 1001 and 1010 are the same.
    norm = LogNorm(1, max(n_features, 2))
    ax.imshow(ranks, cmap="Blues_r", norm=norm, aspect="auto")
    for i, row in enumerate(ranks):
        for m, rank in enumerate(row):
            shade = "white" if norm(rank) < 0.5 else "black"
            ax.text(m, i, f"{rank:.10g}", ha="center", va="center", color=shade, fontsize="small")
    names = [f"x{j}" if feature_names is None else _middle_cut(str(feature_names[j])) for j in order]
    ax.set_yticks(np.arange(len(order)), [f"{rank}  {name}" for rank, name in enumerate(names, start=1)])
    ax.set_xticks(np.arange(n_methods), result.names)
    for text in [*ax.get_yticklabels(), *ax.get_xticklabels()]:
        text.set_parse_math(False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    ax.set_xlabel(f"rank of {n_features} by each method")
    if title is not None:
        ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


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
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional
    signed : bool
        The sign matters, as in an eigenvector: the colours then diverge from white at 0, equally far on both sides.

    Returns
    -------
    matplotlib.axes.Axes

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
        raise ValueError(f"{values.size} values do not fill an image of {shape[0]} x {shape[1]} pixels")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    colours: dict[str, Any] = {"cmap": "viridis"}
    if signed:
        largest = float(np.abs(values).max()) or 1.0
        colours = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    drawn = ax.imshow(values.reshape(shape), **colours)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color("#c8c8c8")
    if title is not None:
        ax.set_title(title, parse_math=False)
    return ax


def components(
    selector: Any,
    *,
    shape: tuple[int, int] | None = None,
    feature_names: Sequence[str] | None = None,
    top: int = 10,
    comparison: int = 0,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw what the scores of a fitted ManiFeSt rest on: leading eigenvectors of the mean and of the difference.

    The upper row has those of M, what two classes share; the lower row those of D, where they differ. Features that are
    pixels are drawn as images, others as bars of the largest entries.

    Parameters
    ----------
    selector : fastfs.ManiFeSt
        Fitted with ``n_components`` of at least 1.
    shape : (int, int), optional
        Rows and columns of the image, if the features are its pixels, row by row.
    feature_names : sequence of str, optional
        Default: `feature_names_in_` of the selector, or ``x0``, ``x1``, ...
    top : int
        How many bars.
    comparison : int
        Which one, if there are several: the class against the rest, or the pair of classes in the order of
        ``itertools.combinations``.
    figure : matplotlib.figure.Figure or SubFigure, optional
        Where to draw; by default a new pyplot figure.

    Returns
    -------
    matplotlib.figure.Figure or SubFigure

    Raises
    ------
    ValueError
        The selector has no components, or there is no such comparison.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(50, 12)).astype(float)
    >>> selector = fastfs.ManiFeSt(n_components=2).fit(X, X[:, 0] != X[:, 1])
    >>> figure = fastfs.pl.components(selector, top=3, figure=Figure())
    >>> [ax.get_title().split(":")[0] for ax in figure.axes]
    ['M, 1st', 'M, 2nd', 'D, 1st', 'D, 2nd']
    """
    if not hasattr(selector, "mean_eigenvectors_"):
        raise ValueError("components needs a fitted ManiFeSt")
    parts = {}
    for letter, part in (("M", "mean"), ("D", "difference")):
        values, vectors = getattr(selector, f"{part}_eigenvalues_"), getattr(selector, f"{part}_eigenvectors_")
        if vectors.ndim == 2:
            values, vectors = values[None], vectors[None]
        if not 0 <= comparison < len(vectors):
            raise ValueError(f"comparison must lie between 0 and {len(vectors) - 1}, but is {comparison}")
        parts[letter] = values[comparison], vectors[comparison]
    n_components = len(parts["M"][0])
    if n_components == 0:
        raise ValueError("The selector kept no components: fit it with n_components=1 or more")
    n_features = len(parts["M"][1])
    names = getattr(selector, "feature_names_in_", None) if feature_names is None else feature_names
    if names is not None and len(names) != n_features:
        raise ValueError(f"There are {len(names)} feature_names for {n_features} features")

    if figure is None:
        import matplotlib.pyplot as plt

        height = 3.0 if shape is not None else 0.9 + 0.22 * min(top, n_features)
        figure = plt.figure(figsize=(1 + 3.2 * n_components, 2 * height), layout="constrained")
    axes = figure.subplots(2, n_components, squeeze=False)
    for row, (letter, (values, vectors)) in zip(axes, parts.items(), strict=True):
        for i, ax in enumerate(row):
            vector, title = vectors[:, i], f"{letter}, {_ordinal(i + 1)}: {values[i]:.3g}"
            if shape is not None:
                image(vector, shape, ax=ax, title=title, signed=bool(vector.min() < 0))
            else:
                _loadings(vector, names, top, ax, title)
    return figure


def significance(
    found: Any,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw DiSC's significances, descending, one curve a class: a step says how many vectors matter.

    The axis is logarithmic, so that equal ratios are equal steps. Filled points make the scores; hollow ones don't, and
    crosses are trivial vectors.

    Parameters
    ----------
    found : fastfs.DiSC or fastfs.DiSCResult
        A fitted estimator, or what the function has returned.
    names : sequence of str, optional
        Of the classes or sets.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        `found` has no significances, or another number of sets than there are names.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 100, 60))
    >>> A[:, :10] += 3 * rng.normal(size=(100, 1))
    >>> found = fastfs.disc([A, B], n_components=3, bandwidth_neighbors=5, n_differential=1)
    >>> ax = fastfs.pl.significance(found, names=["treated", "control"], ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['treated', 'control']
    """
    ending = "_" if hasattr(found, "significance_") else ""
    if not hasattr(found, f"significance{ending}"):
        raise ValueError("significance needs a fitted DiSC or the result of fastfs.disc")
    values, trivial, counts = (getattr(found, name + ending) for name in ("significance", "trivial", "n_differential"))
    if names is None:
        names = [str(c) for c in found.classes_] if ending else [f"set {s}" for s in range(len(values))]
    if len(names) != len(values):
        raise ValueError(f"There are {len(names)} names for {len(values)} sets")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    few = len(values) <= 10
    for s, name in enumerate(names):
        place = np.arange(1, values.shape[1] + 1)
        shown = values[s] > 0
        colour = f"C{s}" if few else _BAR
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
    for text in legend.get_texts():
        text.set_parse_math(False)
    if title is not None:
        ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


def group(
    selector: Any,
    X: Any,
    y: ArrayLike,
    features: ArrayLike,
    *,
    top: int = 60,
    feature_names: Sequence[str] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw how similar the features of a group are to each other, one heat map for each class.

    The maps hold the affinities (exp(-D_ij^2 / eps_i^2) + exp(-D_ij^2 / eps_j^2)) / 2 with the bandwidths of the fit,
    on one scale. Below and beside the group stand as many other features, evenly spaced among all: bandwidths adapt,
    so that what a class connects shows as a block darker than what is beside it.

    Parameters
    ----------
    selector : fastfs.DiSC
        Fitted.
    X : array-like or sparse of shape (n_samples, n_features)
        Samples, such as those of the fit.
    y : array-like of shape (n_samples,)
        Their classes.
    features : array-like of int, or of bool of shape (n_features,)
        The group, such as ``selector.groups_[0] == 0``.
    top : int
        Of a larger group only the features with the largest scores are drawn.
    feature_names : sequence of str, optional
        Default: `feature_names_in_` of the selector, or ``x0``, ``x1``, ...
    figure : matplotlib.figure.Figure or SubFigure, optional
        Where to draw; by default a new pyplot figure.

    Returns
    -------
    matplotlib.figure.Figure or SubFigure

    Raises
    ------
    ValueError
        The selector isn't a fitted DiSC; the group has fewer than two features, or features that X hasn't; a class has
        no samples.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 60)), np.arange(200) % 2
    >>> X[y == 1, :10] += 3 * rng.normal(size=(100, 1))
    >>> selector = fastfs.DiSC(n_components=3, bandwidth_neighbors=5, n_differential=1, n_groups=2).fit(X, y)
    >>> figure = fastfs.pl.group(selector, X, y, selector.groups_[1] == 0, figure=Figure())
    >>> [ax.get_title() for ax in figure.axes[:2]]
    ['0', '1']
    """
    if not hasattr(selector, "bandwidths_"):
        raise ValueError("group needs a fitted DiSC")
    n_features = len(selector.scores_)
    check_structure(X)
    X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
    y = np.asarray(y)
    if X.ndim != 2 or X.shape[1] != n_features or y.shape != (X.shape[0],):
        raise ValueError(
            f"X must have the {n_features} features of the fit and y a label for each row; the shapes are {X.shape} "
            f"and {y.shape}"
        )
    chosen = np.asarray(features)
    if chosen.dtype == bool and chosen.shape == (n_features,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or len(chosen) < 2 or chosen.dtype.kind not in "iu":
        raise ValueError("features must be at least two indices, or True and False for each feature")
    if chosen.min() < 0 or chosen.max() >= n_features:
        raise ValueError(f"features must lie between 0 and {n_features - 1}")
    if top < 2:
        raise ValueError(f"top must be at least 2, not {top}")
    names = getattr(selector, "feature_names_in_", None) if feature_names is None else feature_names
    if names is not None and len(names) != n_features:
        raise ValueError(f"There are {len(names)} feature_names for {n_features} features")
    n_all = len(chosen)
    others = np.setdiff1d(np.arange(n_features), chosen)
    chosen = chosen[np.argsort(-selector.scores_[chosen], kind="stable")[:top]]
    n_chosen, n_others = len(chosen), min(len(chosen), len(others))
    drawn_features = np.concatenate([chosen, others[np.arange(n_others) * len(others) // max(n_others, 1)]])
    part = X[:, drawn_features]
    part = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=float)
    if not np.isfinite(part).all():
        raise ValueError("X contains NaN or infinity")
    if hasattr(selector, "mean_"):
        part = (part - selector.mean_[drawn_features]) / selector.scale_[drawn_features]

    maps = []
    unit = float(np.abs(part).max()) or 1.0  # squares of anything else may leave the range
    for label, eps in zip(selector.classes_, selector.bandwidths_[:, drawn_features] / unit, strict=True):
        rows = part[y == label] / unit
        if not len(rows):
            raise ValueError(f"y has no samples of class {label}")
        squares = np.array([((rows - rows[:, [j]]) ** 2).sum(axis=0) for j in range(len(drawn_features))])
        one_sided = np.exp(-squares / np.maximum(eps, np.finfo(float).tiny ** 0.5)[:, None] ** 2)
        maps.append((one_sided + one_sided.T) / 2)
    order = _similar_together(max((affinity[:n_chosen, :n_chosen] for affinity in maps), key=np.sum))
    shown_order = np.concatenate([order, np.arange(n_chosen, len(drawn_features))])
    # Affinities of features to themselves are 1 and would leave no colours to the others.
    pairs = ~np.eye(n_chosen, dtype=bool)
    highest = max(float(affinity[:n_chosen, :n_chosen][pairs].max()) for affinity in maps) or 1.0
    if figure is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(1.2 + 3.4 * len(maps), 3.8), layout="constrained")
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    for i, (ax, label, affinity) in enumerate(zip(axes, selector.classes_, maps, strict=True)):
        drawn = ax.imshow(affinity[np.ix_(shown_order, shown_order)], cmap="YlGnBu", vmin=0, vmax=highest)
        for line in (ax.axhline, ax.axvline):
            line(n_chosen - 0.5, color=_QUIET, linewidth=1)
        ax.set_title(str(label), parse_math=False)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_color("#c8c8c8")
        if i == 0 and n_chosen <= 40:
            shown = [f"x{j}" if names is None else _middle_cut(str(names[j]), 20) for j in chosen[order]]
            ax.set_yticks(np.arange(n_chosen), shown, fontsize=max(4.0, min(8.0, 100 / n_chosen)))
            ax.tick_params(axis="y", length=0)
            for text in ax.get_yticklabels():
                text.set_parse_math(False)
    bar = figure.colorbar(drawn, ax=list(axes), fraction=0.03, pad=0.02, label="affinity")
    bar.outline.set_visible(False)
    which = f"the best {n_chosen} of {n_all}" if n_all > n_chosen else f"the {n_all}"
    axes[0].set_xlabel(f"{which} features of the group, {n_others} others", fontsize="small")
    return figure


def _similar_together(affinity: Any) -> Any:
    """Order features so that similar ones are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    far = 1 - affinity
    np.fill_diagonal(far, 0)
    return leaves_list(linkage(squareform(far, checks=False), "average"))


def _loadings(vector: Any, names: Sequence[str] | None, top: int, ax: Axes, title: str) -> None:
    """The largest entries of an eigenvector as bars to both sides of 0."""
    order = np.argsort(-np.abs(vector), kind="stable")[:top]
    place = np.arange(len(order))
    ax.barh(place, vector[order], color=_BAR)
    ax.set_yticks(place, [f"x{j}" if names is None else _middle_cut(str(names[j]), 20) for j in order])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
        text.set_fontsize("small")
    ax.invert_yaxis()
    ax.axvline(0, color=_QUIET, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(title, fontsize="medium", parse_math=False)


def interactions(
    source: Any,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 30,
    by: str = "weight",
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw W of IMMIGRATE as a heat map of its strongest features.

    Rows and columns have the features with the largest sums of squared entries, the strongest first. Zero is white.

    Parameters
    ----------
    source : fastfs.Immigrate or array-like of shape (n_features, n_features)
        Fitted; or a symmetric matrix.
    feature_names : sequence of str, optional
        Of all columns of X, or of the matrix. Default: `feature_names_in_`, or ``x0``, ``x1``, ...
    top : int
        How many features; more than about 60 names cannot be read.
    by : {"weight", "residual"}
        W, or what is left of it without its leading eigenpair: what isn't just products of strong features.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        `source` isn't fitted or isn't a symmetric matrix, `feature_names` has another length, or `top` is less than 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from fastfs import pl
    >>> W = [[0.5, 0.1, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.8]]
    >>> ax = pl.interactions(W, ["TP53", "MDM2", "KRAS"], top=2, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['KRAS', 'TP53']
    """
    if by not in ("weight", "residual"):
        raise ValueError(f"by must be 'weight' or 'residual', not {by!r}")
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    if hasattr(source, "eigenvectors_") and hasattr(source, "kept_features_"):
        # From the factors: W of many features is never made as a whole.
        features, n_features = source.kept_features_, source.n_features_in_
        values, vectors = source.eigenvalues_.copy(), source.eigenvectors_
        own = getattr(source, "feature_names_in_", None)
        feature_names = own if feature_names is None else feature_names
    else:
        W = np.asarray(source, dtype=float) if not hasattr(source, "fit") else np.empty(0)
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not np.allclose(W, W.T, atol=1e-8):
            raise ValueError("interactions needs a fitted Immigrate or a symmetric matrix")
        n_features = len(W)
        features = np.arange(n_features)
        values, vectors = np.linalg.eigh(W)
        order = np.argsort(-np.abs(values), kind="stable")
        values, vectors = values[order], vectors[:, order]
    if feature_names is not None and len(feature_names) != n_features:
        raise ValueError(f"There are {len(feature_names)} feature_names for {n_features} features")
    if by == "residual":
        values[0] = 0
    # sum_b W_ab^2 = sum_k values_k^2 v_ka^2, as the eigenvectors are orthonormal.
    strength = vectors**2 @ values**2
    order = np.argsort(-strength, kind="stable")[:top]
    shown = (vectors[order] * values) @ vectors[order].T
    names = [f"x{j}" if feature_names is None else _middle_cut(str(feature_names[j]), 24) for j in features[order]]
    n = len(order)
    if ax is None:
        import matplotlib.pyplot as plt

        side = 2.2 + 0.22 * n
        _, ax = plt.subplots(figsize=(side + 1.2, side), layout="constrained")

    largest = float(np.abs(shown).max()) or 1.0
    colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -largest} if shown.min() < 0 else {"cmap": "Reds", "vmin": 0.0}
    drawn = ax.imshow(shown, vmax=largest, **colours)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small")
    bar.set_label("weight" if by == "weight" else "residual: weight without the leading part", fontsize="small")
    ax.set_xticks(np.arange(n), names, rotation=90)
    ax.set_yticks(np.arange(n), names)
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set_parse_math(False)  # a name may hold dollar signs
        text.set_fontsize("small" if n <= 40 else "x-small")
    ax.tick_params(length=0)
    ax.set_xticks(np.arange(n - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="minor", length=0)
    ax.spines[:].set_visible(False)
    if title is None and n < len(features):
        title = f"the {n} strongest of {len(features)} features"
    if title is not None:
        ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


def class_profile(source: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw of which classes each dimension of I-KDR is made, as a heat map.

    A column adds up to 1, and a dimension of one class has one dark field. Dimensions stand in the order of their main
    classes, their numbers, counted from 0, below.

    Parameters
    ----------
    source : fastfs.IKDR or fastfs.IkdrResult
        A fitted estimator, or what the function has returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional
        Default: I_p, the mean share of the main classes.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        `source` has no class profile.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.repeat(["high", "low"], 30)
    >>> model = fastfs.IKDR().fit(X, y)
    >>> ax = fastfs.pl.class_profile(model, ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['high', 'low']
    """
    ending = "_" if hasattr(source, "class_profile_") else ""
    if not hasattr(source, f"class_profile{ending}"):
        raise ValueError("class_profile needs a fitted IKDR or the result of fastfs.ikdr")
    names = ("class_profile", "classes", "interpretability")
    profile, classes, interpretability = (getattr(source, name + ending) for name in names)
    order = np.lexsort((-profile.max(axis=0), profile.argmax(axis=0)))
    n_classes, n_dimensions = profile.shape
    if ax is None:
        import matplotlib.pyplot as plt

        size = (3.2 + 0.45 * n_dimensions, 1.6 + 0.35 * n_classes)
        _, ax = plt.subplots(figsize=size, layout="constrained")

    drawn = ax.imshow(profile[:, order], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03, label="share of the class")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small")
    ax.set_xticks(np.arange(n_dimensions), [str(j) for j in order])
    ax.set_yticks(np.arange(n_classes), [_middle_cut(str(label), 24) for label in classes])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
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
    ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


def explanation(
    found: Any, *, of: str | None = None, top: int = 15, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw what one sample's distances to classes rest on, as bars: for the class to the right, against it to the left.

    Parameters
    ----------
    found : fastfs.Explanation
        One of those that ``explain`` of :class:`fastfs.IM4E` or :class:`fastfs.Immigrate` returns.
    of : {"features", "pairs"}, optional
        Default: pairs, if it has them.
    top : int
        How many bars; a line below them says what all others add up to.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new pyplot figure.
    title : str, optional
        Default: the classes and the margin.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        `found` isn't one explanation, or has no such parts, or `top` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = fastfs.IM4E().fit(X, np.where(X[:, 1] > 0, "high", "low"))
    >>> ax = fastfs.pl.explanation(model.explain([[0.0, 2.0, 0.0]])[0], ax=Figure().add_subplot())
    >>> ax.get_yticklabels()[0].get_text()
    'x1'
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    if not hasattr(found, "tables"):
        raise ValueError("explanation draws one sample: give one entry of the list that explain returns")
    tables = {word: (names, parts, n) for word, names, parts, n in found.tables() if n}
    of = list(tables)[-1] if of is None else of
    if of not in tables:
        raise ValueError(f"of must be {' or '.join(map(repr, tables))} here, not {of!r}")
    names, parts, n_parts = tables[of]
    names, parts = [_middle_cut(name, 48) for name in names[:top]], parts[:top]
    n_bars = len(parts)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8, 1.6 + 0.28 * n_bars), layout="constrained")

    place = np.arange(n_bars)
    ax.barh(place, parts, height=0.72, color=[_BAR if part >= 0 else _AGAINST for part in parts], zorder=2)
    ax.set_yticks(place, names)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(n_bars - 0.4, -0.6)
    decimals = _decimals(float(np.abs(parts).max()))
    for y, value in zip(place, parts, strict=True):
        side = -1 if value < 0 else 1
        ax.annotate(
            f"{value:+{decimals}}",
            (value, y),
            xytext=(4 * side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if side > 0 else "right",
            fontsize="small",
            color=_QUIET,
        )
    ax.margins(x=0.16)
    ax.axvline(0, color=_QUIET, linewidth=0.8, zorder=3)
    ax.grid(axis="x", color="#e3e3e3", zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    label, other = _middle_cut(str(found.label), 24), _middle_cut(str(found.other), 24)
    below = f"← speaks for {other}      part of the margin      speaks for {label} →"
    if n_parts > n_bars:
        below += f"\n(the other {n_parts - n_bars} {of} add up to {found.margin - parts.sum():+.3g})"
    ax.set_xlabel(below)
    ax.xaxis.label.set_parse_math(False)
    if title is None:
        title = f"{label}, not {other}: margin {found.margin:+.3g}"
    ax.set_title(title, loc="left", fontweight="bold", parse_math=False)
    return ax


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _middle_cut(name: str, longest: int = 32) -> str:
    # Both ends stay: probe and transcript names often differ in the last characters only.
    return name if len(name) <= longest else f"{name[: longest - 13]}…{name[-12:]}"


def _decimals(best: float) -> str:
    """One number format for all bars: three digits of the best, and as many decimals for the others."""
    magnitude = int(np.floor(np.log10(abs(best)))) if best else 0
    return f".{max(2 - magnitude, 0)}f" if -3 <= magnitude <= 5 else ".2e"
