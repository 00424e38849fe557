"""ProjSe in NumPy as its authors' public program computes it: what `bench_projse` compares with.

`public` does the arithmetic of that program on its linear kernel, in its order: both kernels as products of whole
arrays, the norm of each feature by a product of its column with itself, all eigenpairs of K_YY, and a greedy loop that
writes R back. It keeps the program's guard, by which the first chosen direction is never taken out, so only the first
choice can be compared. `write_back` is that loop with the direction taken out, as the paper has it.
"""

from __future__ import annotations

import numpy as np


def public(Y: np.ndarray, X: np.ndarray, n: int) -> tuple[list[int], np.ndarray]:
    """The order and the scores of the choices."""
    K_YY, K_YX = Y.T @ Y, Y.T @ X
    y = np.sqrt(np.diag(K_YY))
    x = np.array([np.sqrt(column @ column) for column in X.T])
    K_YY = K_YY / np.outer(y, y)
    K_YX = K_YX / np.outer(y, x)
    lam, V = np.linalg.eigh(K_YY)
    inverse = np.where(lam >= 1e-6, 1 / np.sqrt(np.maximum(lam, 1e-6)), 0)
    return write_back((inverse[:, None] * V.T) @ K_YX, n, first_stays=True)


def write_back(R: np.ndarray, n: int, *, first_stays: bool = False) -> tuple[list[int], np.ndarray]:
    """The greedy loop; R is copied, and rewritten in every step.

    The program also copies R without the chosen column each time; a mask does, and is what is compared.
    """
    R = R.copy()
    free = np.ones(R.shape[1], dtype=bool)
    selected: list[int] = []
    scores, q = np.empty(n), np.zeros(len(R))
    for t in range(n):
        if t > first_stays:
            R -= np.outer(q, q @ R)
        squares = np.where(free, np.sum(R**2, axis=0), -1)
        k = int(np.argmax(squares))
        free[k] = False
        selected.append(k)
        scores[t] = squares[k]
        q = R[:, k] / np.sqrt(squares[k])
    return selected, scores
