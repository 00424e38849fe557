"""How well the best features tell new samples, over their number."""

from __future__ import annotations

import numpy as np

from fastfs._inference.assessment import PLAIN, WORDS, AssessResult
from fastfs._inputs.entry import named_arguments
from fastfs._machine.params import check_choice
from fastfs.pl._drawing import PALE, QUIET, Axes, axes, literal, set_label, set_title


@named_arguments
def assess(
    result: AssessResult, *, metric: str | None = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw a metric of new samples over the number of features, with the band of permuted labels.

    Each method has a line with its 95 % intervals; those of ANOVA and of the largest variances are dashed. The band
    holds 95 % of permuted labelings, on average over the methods.

    Parameters
    ----------
    result : AssessResult
        Of :func:`fastfs.assess`.
    metric : str, optional
        One of `metrics` of the result; default: the first one.
    <ax>
    title : str, optional
        Default: the classifier and the units of the folds.

    <returns_ax>

    Raises
    ------
    ValueError
        The result has no such metric.

    <example_of_a_picture>
    >>> X, y = np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2
    >>> result = fastfs.assess(X, y, methods=["relieff"], n_features=[1, 5], n_repeats=2)
    >>> fastfs.pl.assess(result, ax=Figure().add_subplot()).get_title(loc="left")
    'logistic, new samples (40 in 5 folds)'
    """
    metric = result.metrics[0] if metric is None else check_choice("metric", metric, result.metrics)
    front = "" if metric == result.metrics[0] else f"{metric}_"
    shape = len(result.methods), len(result.n_features)
    values, low, high, below, above = (
        result.table[metric if not name else f"{front}{name}"].reshape(shape)
        for name in ("", "low", "high", "permuted_low", "permuted_high")
    )
    ax = axes(ax, (7, 4))
    places = np.arange(len(result.n_features))
    low_end, high_end = below.mean(axis=0), above.mean(axis=0)
    ax.fill_between(places, low_end, high_end, color=PALE, alpha=0.6, linewidth=0, label="permuted labels")
    for m, method in enumerate(result.methods):
        is_plain = method in PLAIN
        offset = (m - (len(result.methods) - 1) / 2) * 0.06  # keeps intervals apart
        ax.errorbar(
            places + offset,
            values[m],
            np.maximum((values[m] - low[m], high[m] - values[m]), 0),
            color=QUIET if is_plain else f"C{m}",
            linestyle=("dashed", "dotted")[PLAIN.index(method)] if is_plain else "solid",
            marker="o",
            markersize=3,
            linewidth=1,
            elinewidth=0.7,
            label=method,
        )
    ax.set_xticks(places, [str(k) for k in result.n_features])
    set_label(ax, "number of features")
    ax.set_ylabel(f"{WORDS[metric]} of new {result.unit}s")
    legend = ax.legend(
        frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, borderaxespad=0.2, fontsize="small"
    )
    literal(legend.get_texts())
    ax.spines[["top", "right"]].set_visible(False)
    if title is None:
        title = f"{result.classifier}, new {result.unit}s ({result.n_units} in {result.n_splits} folds)"
    set_title(ax, title, pad=24 + 12 * (len(result.methods) // 3))
    return ax
