"""Parts of one sample's margin."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import AGAINST, BAR, Axes, axes, bars, check_top, decimals_of, middle_cut, set_label, set_title


@named_arguments
def explanation(
    found: Any, *, of: str | None = None, top: int = 15, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw the parts of one sample's margin, by feature or pair, as bars: for the class to the right, else to the left.

    Parameters
    ----------
    found : fastfs.Explanation
        One of those that ``explain`` of :class:`fastfs.IM4E` or :class:`fastfs.Immigrate` returns.
    of : {"features", "pairs"}, optional
        Default: pairs, if it has them.
    top : int
        How many bars; a line below them states the sum of all others.
    <ax>
    title : str, optional
        Default: the classes and the margin.

    <returns_ax>

    Raises
    ------
    ValueError
        `found` isn't one explanation, or has no such parts, or `top` is less than 1.

    <example_of_a_picture>
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = fastfs.IM4E().fit(X, np.where(X[:, 1] > 0, "high", "low"))
    >>> ax = fastfs.pl.explanation(model.explain([[0.0, 2.0, 0.0]])[0], ax=Figure().add_subplot())
    >>> ax.get_yticklabels()[0].get_text()
    'x1'
    """
    check_top(top)
    if not hasattr(found, "tables"):
        raise ValueError(f"found must explain one sample; got {type(found).__name__}: give one entry of explain's list")
    tables = {word: (names, parts, n) for word, names, parts, n in found.tables() if n}
    of = list(tables)[-1] if of is None else of
    if of not in tables:
        raise ValueError(f"of must be {' or '.join(map(repr, tables))} here; got {of!r}")
    names, parts, n_parts = tables[of]
    names, parts = [middle_cut(name, 48) for name in names[:top]], parts[:top]
    n_bars = len(parts)
    ax = axes(ax, (8, 1.6 + 0.28 * n_bars))

    colours = [BAR if part >= 0 else AGAINST for part in parts]
    bars(ax, parts, names, colours, f"+{decimals_of(float(np.abs(parts).max()))}", margin=0.16)
    label, other = middle_cut(str(found.label), 24), middle_cut(str(found.other), 24)
    below = f"← speaks for {other}      part of the margin      speaks for {label} →"
    if n_parts > n_bars:
        below += f"\n(the other {n_parts - n_bars} {of} add up to {found.margin - parts.sum():+.3g})"
    set_label(ax, below)
    ax.xaxis.label.set_parse_math(False)
    if title is None:
        title = f"{label}, not {other}: margin {found.margin:+.3g}"
    set_title(ax, title)
    return ax
