"""Shares of subsamples."""

from __future__ import annotations

from collections.abc import Sequence

from fastfs._inference.stability import StabilityResult
from fastfs._inputs.entry import named_arguments
from fastfs.pl._drawing import Axes, set_label
from fastfs.pl._ranking import ranking


@named_arguments
def stability(
    result: StabilityResult,
    feature_names: Sequence[str] | None = None,
    *,
    top: int = 20,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the share of the subsamples in which the most frequent features were selected.

    Parameters
    ----------
    result : StabilityResult
        Of :func:`fastfs.stability`.
    <feature_names>
    top : int
        How many bars.
    <ax>
    title : str, optional
        Default: the stability and its confidence interval.

    <returns_ax>

    <example_of_a_picture>
    >>> X, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60) % 2
    >>> X[:, :3] += 3 * y[:, None]
    >>> result = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=20)
    >>> fastfs.pl.stability(result, ax=Figure().add_subplot()).get_title(loc="left")
    'stability 1.00 (1.00 to 1.00)'
    """
    if title is None:
        low, high = result.interval
        title = f"stability {result.stability:.2f} ({low:.2f} to {high:.2f})"
    ax = ranking(result.frequencies, feature_names, top=top, ax=ax, title=title)
    set_label(ax, f"share of {len(result.selected)} subsamples that select it")
    return ax
