"""IM4E and IMMIGRATE in NumPy as a careful user would write them: what `bench_immigrate` compares with.

One row of pairs at a time so that differences stay in the cache, all arithmetic in whole arrays, GEMM for d'W d and for
Sigma. `once` takes each pair of samples once; without, both (i, j) and (j, i), as the equations read. The dtype of Z is
kept; Z holds scaled features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Fit:
    weights: np.ndarray
    cost: list[float]
    objective: list[float]


def _softmax(F: np.ndarray, mask: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """softmax(-F / sigma) by row over mask, with its LSE and sum p log p; each row has a True."""
    z = np.where(mask, -F / sigma, -np.inf)
    top = z.max(axis=1, keepdims=True)
    z -= top
    P = np.exp(z)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    lse = (top + np.log(total))[:, 0]
    # sum p log p = sum p z - log(total)
    p_log_p = np.einsum("ij,ij->i", P, np.where(mask, z, 0)) - np.log(total)[:, 0]
    return P, lse, p_log_p


def _fit(
    Z: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    form: Callable[[np.ndarray, np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
    step: Callable[[np.ndarray], np.ndarray],
    sigma: float,
    max_iter: int,
    tol: float,
    once: bool,
) -> Fit:
    n = len(Z)
    first = [i + 1 if once else 0 for i in range(n)]
    same = y[:, None] == y
    hits, misses = same & ~np.eye(n, dtype=bool), ~same
    cost: list[float] = []
    objective: list[float] = []
    for _ in range(max_iter):
        F = np.zeros((n, n), dtype=Z.dtype)
        for i in range(n):
            F[i, first[i] :] = form(np.abs(Z[first[i] :] - Z[i]), weights)
        if once:
            F += F.T
        alpha, lse_hits, a_log_a = _softmax(F, hits, sigma)
        beta, lse_misses, b_log_b = _softmax(F, misses, sigma)
        g = alpha - beta
        if once:
            g += g.T
        gradient = np.zeros(weights.shape)
        for i in range(n):
            gradient += slope(np.abs(Z[first[i] :] - Z[i]), g[i, first[i] :])
        weights = step(gradient).astype(Z.dtype)
        objective.append(float(sigma * (lse_misses - lse_hits).sum()))
        cost.append(float((weights * gradient).sum() + sigma * (a_log_a - b_log_b).sum()))
        if len(cost) > 1 and abs(cost[-2] - cost[-1]) <= tol * abs(cost[-2]):
            break
    return Fit(weights, cost, objective)


def im4e(
    Z: np.ndarray, y: np.ndarray, *, sigma: float = 1.0, max_iter: int = 10, tol: float = 1e-4, once: bool = True
) -> Fit:
    def step(slope: np.ndarray) -> np.ndarray:
        v = np.maximum(-slope, 0)
        return v / v.sum()

    start = np.full(Z.shape[1], 1 / Z.shape[1], dtype=Z.dtype)
    return _fit(Z, y, start, lambda D, w: D @ w, lambda D, g: g @ D, step, sigma, max_iter, tol, once)


def immigrate(
    Z: np.ndarray, y: np.ndarray, *, sigma: float = 1.0, max_iter: int = 10, tol: float = 1e-4, once: bool = True
) -> Fit:
    def step(Sigma: np.ndarray) -> np.ndarray:
        mu, Psi = np.linalg.eigh(Sigma)
        Psi, mu = Psi[:, mu < 0], mu[mu < 0]
        return (Psi * (-mu / np.linalg.norm(mu))) @ Psi.T

    def form(D: np.ndarray, W: np.ndarray) -> np.ndarray:
        return np.einsum("ja,ja->j", D @ W, D)

    def slope(D: np.ndarray, g: np.ndarray) -> np.ndarray:
        return (D * g[:, None]).T @ D

    start = np.eye(Z.shape[1], dtype=Z.dtype) / np.sqrt(Z.shape[1]).astype(Z.dtype)
    return _fit(Z, y, start, form, slope, step, sigma, max_iter, tol, once)
