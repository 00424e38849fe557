"""Scores of ManiFeSt blended with other scores: those of the F test, of an estimator, or given ones."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastfs._inputs.storage import stack_blocks
from fastfs._machine.params import check_choice
from fastfs._types import Array, Floats


def scores_to_blend(combine: Any, chunks: Sequence[Any], y: Array) -> Floats:
    """Return the finite scores that `combine` asks for: of the F test ("f"), a fit of an estimator, or an array.

    Of computed scores, infinite ones become the largest finite one, NaN the smallest or 0. Raise ValueError for another
    number of scores or an array that isn't finite, TypeError for other objects.
    """
    n_features = chunks[0].shape[1]
    if isinstance(combine, str):
        check_choice("combine", combine, ("f",), "an array of scores", "an estimator with scores_", "None")
        from sklearn.feature_selection import f_classif

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant features; their score is 0 below
            other_scores = f_classif(stack_blocks(chunks), y)[0]
    elif hasattr(combine, "fit") and not isinstance(combine, type):
        from sklearn.base import clone

        fitted = clone(combine).fit(stack_blocks(chunks), y)
        if not hasattr(fitted, "scores_"):
            raise TypeError(f"combine must be an estimator that has scores_ once fitted; got {combine!r}, which hasn't")
        other_scores = fitted.scores_
    else:
        try:
            other_scores = np.asarray(combine, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"combine must be 'f', an array of scores, an estimator with scores_ or None; got {combine!r}"
            ) from None
        if not (is_finite := np.isfinite(other_scores)).all():
            bad = np.unravel_index(is_finite.argmin(), is_finite.shape)
            raise ValueError(
                f"combine must hold finite scores; got {other_scores[bad]} for feature {bad[0]}: replace it, or drop "
                "the feature from X as well"
            )
    other_scores = np.asarray(other_scores, dtype=float)
    if other_scores.shape != (n_features,):
        raise ValueError(
            f"combine must give one score for each of the {n_features} features; got the shape {other_scores.shape}"
        )
    finite = np.isfinite(other_scores)
    largest = other_scores[finite].max(initial=0.0) or 1.0
    # A constant feature has no F statistic, and one that separates the classes perfectly an infinite one.
    filled: Floats = np.where(
        finite, other_scores, np.where(other_scores > 0, largest, other_scores[finite].min(initial=0))
    )
    return filled


def blend_scores(scores: Floats, others: Floats) -> Floats:
    """Return the sum of two arrays of scores, each shifted and scaled to [0, 1]; a constant array counts as 0."""

    def scale_to_unit(values: Floats) -> Floats:
        low, span = values.min(), np.ptp(values)
        return (values - low) / span if span > 0 else np.zeros_like(values)

    return scale_to_unit(scores) + scale_to_unit(others)
