"""How far scores may be from the oracle's.

* `full_rank_tolerance`: (N + d) eps (cond K1 + cond K2) times the largest entry of K1 + K2, absolute. The equations
  invert the kernels, so that rounding errors, N eps of the distances and d eps of the eigenvalues, come back multiplied
  by their condition, in the oracle and in the core. Kernels for which that exceeds `PROMISED` = 1e-9 of the largest
  score, which the project promises, are not compared this way.
* `SINGULAR` = 1e-4 of the largest score for kernels that are singular to rounding: h(mu) has infinite slope at 0 and 1,
  and the rank cut decides differently on eigenvalues near it. More digits aren't there.
* `singular_noise`: a rounding error of d eps in a mu of 0 or 1 becomes h(d eps), 5e-7 for d = 4, absolute: scores below
  it are rounding.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)
PROMISED = 1e-9
SINGULAR = 1e-4


def full_rank_tolerance(K1: np.ndarray, K2: np.ndarray, n: int) -> float:
    return float((n + len(K1)) * EPS * (np.linalg.cond(K1) + np.linalg.cond(K2)) * (K1 + K2).max())


def singular_noise(K1: np.ndarray, K2: np.ndarray) -> float:
    delta = len(K1) * EPS
    h = 0.5 * np.sqrt(delta * (1 - delta)) * abs(np.log(delta) - np.log1p(-delta))
    return float(h * (K1 + K2).max())


def assert_close(scores: np.ndarray, expected: np.ndarray, relative: float, absolute: float = 0.0) -> None:
    """The largest error is at most `relative` of the largest expected score, and `absolute` more."""
    assert np.all(np.isfinite(scores))
    assert np.shape(scores) == np.shape(expected)
    assert np.abs(scores - expected).max() <= relative * np.max(expected) + absolute
