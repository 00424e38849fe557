"""Weights of IMMIGRATE's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastfs._functions.immigrate import ImmigrateResult
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import Axes, axes, check_top, colour_bar, literal, names_of, names_of_fit, set_title


@named_arguments
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
    source : fastfs.Immigrate, fastfs.ImmigrateResult or array-like of shape (n_features, n_features)
        Fitted; the result of :func:`fastfs.immigrate`; or a symmetric matrix.
    feature_names : sequence of str, optional
        Of all columns of X, or of the matrix. Default: `feature_names_in_`, or ``x0``, ``x1``, ...
    top : int
        How many features; more than about 60 names cannot be read.
    by : {"weight", "residual"}
        W, or W without its leading eigenpair, which holds little more than products of strong features.
    <ax_and_title>

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
        raise ValueError(f"by must be 'weight' or 'residual'; got {by!r}")
    check_top(top)
    # The factors of W are used, because W itself is too large for many features.
    if hasattr(source, "eigenvectors_") and hasattr(source, "kept_features_"):
        features, n_features = source.kept_features_, source.n_features_in_
        values, vectors = source.eigenvalues_.copy(), source.eigenvectors_
    elif isinstance(source, ImmigrateResult):
        features, n_features = source.features, len(source.scores)
        values, vectors = source.eigenvalues.copy(), source.eigenvectors
    else:
        W = np.asarray(source, dtype=float) if not hasattr(source, "fit") else np.empty(0)
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not np.allclose(W, W.T, atol=1e-8):
            raise ValueError(f"source must be a fitted Immigrate or a symmetric matrix; got {type(source).__name__}")
        n_features = len(W)
        features = np.arange(n_features)
        values, vectors = np.linalg.eigh(W)
        order = np.argsort(-np.abs(values), kind="stable")
        values, vectors = values[order], vectors[:, order]
    feature_names = names_of_fit(source, feature_names, n_features)
    if by == "residual":
        values[0] = 0
    # sum_b W_ab^2 = sum_k values_k^2 v_ka^2, as the eigenvectors are orthonormal.
    strength = vectors**2 @ values**2
    order = np.argsort(-strength, kind="stable")[:top]
    shown = (vectors[order] * values) @ vectors[order].T
    names = names_of(features[order], feature_names, 24)
    n = len(order)
    ax = axes(ax, (3.4 + 0.22 * n, 2.2 + 0.22 * n))

    largest = float(np.abs(shown).max()) or 1.0
    colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -largest} if shown.min() < 0 else {"cmap": "Reds", "vmin": 0.0}
    drawn = ax.imshow(shown, vmax=largest, **colours)
    bar = colour_bar(ax, drawn)
    bar.set_label("weight" if by == "weight" else "residual: weight without the leading part", fontsize="small")
    ax.set_xticks(np.arange(n), names, rotation=90)
    ax.set_yticks(np.arange(n), names)
    literal(ax.get_xticklabels(), ax.get_yticklabels(), fontsize="small" if n <= 40 else "x-small")
    ax.tick_params(length=0)
    ax.set_xticks(np.arange(n - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="minor", length=0)
    ax.spines[:].set_visible(False)
    if title is None and n < len(features):
        title = f"the {n} strongest of {len(features)} features"
    set_title(ax, title)
    return ax
