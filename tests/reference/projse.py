"""ProjSe in plain NumPy, as its paper has it (Figure 3, corrected): the oracle of the tests.

`by_projector` works in sample space and shares nothing with the method but its meaning: the linear kernel alone.
`by_kernels` is the figure itself, on kernels that `kernels` makes from the columns.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Choice:
    selected: list  # in order
    scores: list  # when chosen
    gaps: list  # score less the best rival's
    captured: list  # share of the sum of all first scores
    score0: np.ndarray  # of every candidate, before any choice
    rank: int


def one_hot(y):
    return (np.asarray(y)[:, None] == np.unique(y)).astype(float)


def unit_columns(X, center):
    X = np.asarray(X, dtype=float)
    if center:
        X = X - X[:1]  # constant columns become exact zeros
        X = X - X.mean(axis=0)
    norms = np.linalg.norm(X, axis=0)
    return X / np.where(norms > 0, norms, 1)


def by_projector(X, Y, n, *, center=False):
    """score = x' P x, and then P_new = P - P x x' P / (x' P x), with P = U U': P itself has m x m values."""
    X, Y = unit_columns(X, center), unit_columns(Y, center)
    U, s, _ = np.linalg.svd(Y, full_matrices=False)
    U = U[:, s**2 >= 1e-6]

    def step(j):
        nonlocal U
        w = U.T @ X[:, j]
        U = U - np.outer(U @ w, w) / (w @ w)

    return choose(lambda: ((U.T @ X) ** 2).sum(axis=0), step, n, U.shape[1])


def by_kernels(K_YY, K_YX, n, *, eps=1e-6):
    """Steps 3 and 4 of the figure, R written back."""
    lam, V = np.linalg.eigh(K_YY)
    kept = lam >= eps
    R = (V[:, kept] / np.sqrt(lam[kept])).T @ K_YX

    def step(k):
        nonlocal R
        q = R[:, k]
        R = R - np.outer(q, q @ R) / (q @ q)

    return choose(lambda: (R**2).sum(axis=0), step, n, int(kept.sum()))


def choose(scores, step, n, rank):
    score0 = c = scores()
    found = Choice([], [], [], [], score0, rank)
    for _ in range(min(n, rank)):
        c = c.copy()
        c[found.selected] = 0
        best = c.max()
        if best <= 1e-12 * score0.max():
            break
        k = int(np.flatnonzero(c >= best * (1 - 1e-10))[0])
        found.selected.append(k)
        found.scores.append(c[k])
        found.gaps.append(max(c[k] - np.delete(c, k).max(initial=0), 0))
        step(k)
        c = scores()
        found.captured.append(1 - c.sum() / score0.sum())
    return found


def kernels(X, Y, kernel="linear", *, degree=3, sigma="mean", center=False, normalize=True):
    """K_YY, K_YX and sigma, normalised to a unit diagonal; zero columns of X are no candidates."""
    X, Y = np.asarray(X, dtype=float), np.asarray(Y, dtype=float)
    if center:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    x, y = np.linalg.norm(X, axis=0), np.linalg.norm(Y, axis=0)
    if kernel == "rbf":
        D_YY = np.sqrt(((Y[:, :, None] - Y[:, None, :]) ** 2).sum(axis=0))
        D2_YX = ((Y[:, :, None] - X[:, None, :]) ** 2).sum(axis=0)
        if sigma == "mean":
            sigma = D_YY.mean()
        elif sigma == "sqrt_m":
            sigma = np.sqrt(len(Y))
        K_YX = np.exp(-D2_YX / (2 * sigma**2))
        K_YX[:, x == 0] = 0
        return np.exp(-(D_YY**2) / (2 * sigma**2)), K_YX, sigma
    if normalize:
        X, Y = X / np.where(x > 0, x, 1), Y / np.where(y > 0, y, 1)
    p = degree if kernel == "poly" else 1
    return (Y.T @ Y) ** p, (Y.T @ X) ** p, 0.0


def select(X, Y, n, kernel="linear", **options):
    K_YY, K_YX, _ = kernels(X, Y, kernel, **options)
    return by_kernels(K_YY, K_YX, n)


def beyond(X, Y, selected, n, kernel="linear", *, eps=1e-6, **options):
    """Go on from the columns `selected` by the residual of the targets, with everything solved anew at each step.

    Return the columns, the gain of each new one, and the share of the targets' span explained after each column.
    """
    K_YY, K_YX, sigma = kernels(X, Y, kernel, **options)
    lam, V = np.linalg.eigh(K_YY)
    kept = lam >= eps * K_YY.max()
    U = (V[:, kept] / np.sqrt(lam[kept])).T @ K_YX  # the products of an orthonormal basis with the candidates
    K_XX = kernels(X, X, kernel, **(options | ({"sigma": sigma} if kernel == "rbf" else {})))[1]
    chosen, gains, explained = list(selected), [], []
    diagonal = K_XX.diagonal()

    def shares(columns):
        return float(np.trace(U[:, columns] @ np.linalg.solve(K_XX[np.ix_(columns, columns)], U[:, columns].T)))

    for k in range(len(chosen)):
        explained.append(shares(chosen[: k + 1]))
    while len(chosen) < n:
        C = np.linalg.lstsq(K_XX[np.ix_(chosen, chosen)], K_XX[chosen], rcond=None)[0] if chosen else K_XX[:0]
        rest = diagonal - (K_XX[chosen] * C).sum(axis=0)
        products = U - U[:, chosen] @ C
        free = rest > 1e-6 * diagonal
        free[chosen] = False
        gain = np.where(free, (products**2).sum(axis=0) / np.where(free, rest, 1), 0)
        if not gain.max() > 1e-12 * len(U):
            break
        chosen.append(int(np.flatnonzero(gain >= gain.max() * (1 - 1e-10))[0]))
        gains.append(gain[chosen[-1]])
        explained.append((explained[-1] if explained else 0) + gains[-1])
    return chosen, gains, np.array(explained) / len(U)
