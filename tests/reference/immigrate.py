"""IM4E and IMMIGRATE in plain NumPy, from the paper's equations on all differences |x_n - x_j| at once: the oracle.

G(W) = sigma sum_n [LSE_misses(-f_nm / sigma) - LSE_hits(-f_nh / sigma)], whose derivative by W is Sigma (by w: -v).
Each step minimises the linear part: `cost` is its value at the new weights with the old alpha and beta, `objective` is
G at the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.relief import scale, spread


@dataclass
class Fit:
    weights: np.ndarray  # w (A,) or W (A, A), of the features used
    used: np.ndarray  # their columns
    scores: np.ndarray  # of all columns
    sigma: float
    cost: list
    objective: list
    converged: bool
    stuck: bool  # no direction had a positive margin

    @property
    def n_iter(self):
        return len(self.cost)


class EverythingRemoved(ValueError):
    pass


def differences(Z, other=None):
    return np.abs((Z if other is None else other)[:, None] - Z[None])


def form(D, weights):
    """f = w'd or d'W d of each pair."""
    return D @ weights if weights.ndim == 1 else np.einsum("ija,ija->ij", D @ weights, D)


def softmax(F, mask, sigma):
    """Rows of softmax(-F / sigma) where `mask` is true, their LSE and their sum of p log p; zeros for empty rows."""
    P, lse, p_log_p = np.zeros(F.shape), np.zeros(len(F)), np.zeros(len(F))
    for n, (f, among) in enumerate(zip(F, mask, strict=True)):
        if among.any():
            z = -(f[among] - f[among].min()) / sigma
            log_sum = np.log(np.exp(z).sum())
            P[n, among] = np.exp(z - log_sum)
            lse[n] = log_sum - f[among].min() / sigma
            some = P[n, among] > 0
            p_log_p[n] = np.sum(P[n, among][some] * (z - log_sum)[some])
    return P, lse, p_log_p


def hits_and_misses(y):
    same = np.asarray(y)[:, None] == np.asarray(y)
    return same & ~np.eye(len(same), dtype=bool), ~same


@dataclass
class State:
    """What follows from weights: signed pair weights S = alpha - beta, the entropy term, and G."""

    alpha: np.ndarray
    beta: np.ndarray
    entropy: float
    objective: float

    def gradient(self, D, matrix, negligible=0.0):
        """dG/dW = Sigma, or dG/dw = -v."""
        S = self.alpha - self.beta
        g = S + S.T  # of a pair, taken once
        g = np.where(np.abs(g) > negligible, np.triu(g), 0)
        if not matrix:
            return np.einsum("ij,ija->a", g, D)
        rows = D.reshape(-1, D.shape[2])
        return (rows * g.reshape(-1, 1)).T @ rows


def state(D, y, weights, sigma, factors=None):
    F = form(D, weights)
    hits, misses = hits_and_misses(y)
    alpha, lse_hits, a_log_a = softmax(F, hits, sigma)
    beta, lse_misses, b_log_b = softmax(F, misses, sigma)
    c = np.ones(len(F)) if factors is None else np.asarray(factors, dtype=float)[y]
    return State(
        alpha * c[:, None], beta * c[:, None], c @ (a_log_a - b_log_b), float(sigma * (c @ (lse_misses - lse_hits)))
    )


def nearest_hit_median(D, y, weights):
    """What sigma="auto" is relative to; duplicates don't count."""
    F, (hits, _) = form(D, weights), hits_and_misses(y)
    nearest = np.where(hits, F, np.inf).min(axis=1)
    return float(np.median(nearest[(nearest > 0) & np.isfinite(nearest)]))


def iterate(D, y, start, step, sigma, max_iter, tol, factors=None, negligible=0.0):
    weights, cost, objective = start, [], []
    converged = stuck = False
    while len(cost) < max_iter:
        now = state(D, y, weights, sigma, factors)
        slope = now.gradient(D, weights.ndim == 2, negligible)
        following = step(slope)
        if following is None:
            stuck = True
            break
        weights = following
        objective.append(now.objective)
        cost.append(float(np.sum(weights * slope) + sigma * now.entropy))
        if len(cost) > 1 and abs(cost[-2] - cost[-1]) <= tol * abs(cost[-2]):
            converged = True
            break
    return weights, cost, objective, converged, stuck


def im4e(X, y, *, sigma=1.0, auto=None, factors=None, max_iter=10, tol=1e-4, w0=None, scaling="standard"):
    """auto: sigma is this times the median distance to the nearest hit. y: 0..C-1; factors: one of each class."""
    Z, used = scale(X, scaling)
    D, w = differences(Z), np.ones(Z.shape[1]) if w0 is None else w0[used]
    w = w / w.sum()
    if auto is not None:
        sigma = auto * nearest_hit_median(D, y, w)

    def step(slope):
        v = np.maximum(-slope, 0)
        return v / v.sum() if v.any() else None

    w, *rest = iterate(D, y, w, step, sigma, max_iter, tol, factors)
    return Fit(w, used, spread(w, used, np.shape(X)[1]), sigma, *rest)


def from_sigma(Sigma, clip=False, smallest=0.0):
    """The W step; None if Sigma has no negative eigenvalue."""
    mu, Psi = np.linalg.eigh(Sigma)
    eta = np.maximum(-mu, 0)
    if not eta.any():
        return None
    W = (Psi * (eta / np.linalg.norm(eta))) @ Psi.T
    W = (W + W.T) / 2
    if clip:
        W = np.maximum(W, 0)
    if smallest > 0:
        largest = W.max()
        W = np.where(smallest > W, 0, W)
        if not W.any():
            raise EverythingRemoved(largest)
    return W / np.linalg.norm(W)


def immigrate(
    X,
    y,
    *,
    sigma=1.0,
    auto=None,
    max_iter=10,
    tol=1e-4,
    clip=False,
    smallest=0.0,
    negligible=0.0,
    features=None,
    start=None,
    scaling="standard",
):
    """features: columns to use. start: a diagonal or a symmetric matrix, of these."""
    Z, used = scale(X, scaling)
    if features is not None:
        Z, used = Z[:, np.isin(used, features)], np.intersect1d(used, features)
    D = differences(Z)
    W = np.eye(Z.shape[1]) if start is None else np.diag(start) if np.ndim(start) == 1 else np.asarray(start)
    W = W / np.linalg.norm(W)
    if auto is not None:
        sigma = auto * nearest_hit_median(D, y, W)
    smallest = 1 / Z.shape[1] if smallest == "auto" else smallest
    W, *rest = iterate(
        D, y, W, lambda Sigma: from_sigma(Sigma, clip, smallest), sigma, max_iter, tol, negligible=negligible
    )
    return Fit(W, used, spread((W**2).sum(axis=1), used, np.shape(X)[1]), sigma, *rest)


def im4e_immigrate(X, y, **options):
    """For wide data: IM4E keeps the features of weight 1/A and more, and starts W."""
    first = im4e(X, y, **{k: v for k, v in options.items() if k in ("sigma", "auto", "max_iter", "tol", "scaling")})
    kept = first.weights >= 1 / len(first.weights)
    return immigrate(X, y, features=first.used[kept], start=first.weights[kept], **options)


# ----------------------------------------------------------------------------------------------------------- prediction


def rescale(X, other, scaling):
    """`scale`, of other samples, by what it did to X."""
    X, other = np.asarray(X, dtype=float), np.asarray(other, dtype=float)
    used = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    X, other = X[:, used], other[:, used]
    if scaling == "range":
        return (other - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return (other - X.mean(axis=0)) / X.std(axis=0) if scaling == "standard" else other


def to_classes(X, y, fit, other, scaling="standard"):
    """P (n, N, C): softmax weights of the training samples of each class; D (n, N, A); f (n, N)."""
    Z, used = scale(X, scaling)
    kept = np.isin(used, fit.used)
    D = differences(Z[:, kept], rescale(X, other, scaling)[:, kept])
    F, y = form(D, fit.weights), np.asarray(y)
    P = [softmax(F, np.broadcast_to(y == c, F.shape), fit.sigma)[0] for c in range(y.max() + 1)]
    return np.stack(P, axis=2), D, F


def expected_distance(X, y, fit, other, scaling="standard"):
    P, _, F = to_classes(X, y, fit, other, scaling)
    return np.einsum("njc,nj->nc", P, F)


def predict(X, y, fit, other, scaling="standard"):
    return expected_distance(X, y, fit, other, scaling).argmin(axis=1)


def explain(X, y, fit, other, wanted, scaling="standard"):
    """e_other - e_wanted in parts of features or of pairs of features."""
    P, D, F = to_classes(X, y, fit, other, scaling)
    e = np.einsum("njc,nj->nc", P, F)
    rows = np.arange(len(e))
    rivals = e.copy()
    rivals[rows, wanted] = np.inf
    weight = P[rows, :, rivals.argmin(axis=1)] - P[rows, :, wanted]
    if fit.weights.ndim == 1:
        return np.einsum("nj,nja->na", weight, D) * fit.weights
    return np.einsum("nj,nja,njb->nab", weight, D, D, optimize=True) * fit.weights


def pairs(W, *, residual=False):
    """a < b and W_ab, largest |W_ab| first; residual: after the leading eigenpair is taken out."""
    if residual:
        mu, Psi = np.linalg.eigh(W)
        k = np.abs(mu).argmax()
        W = W - mu[k] * np.outer(Psi[:, k], Psi[:, k])
    a, b = np.triu_indices(len(W), 1)
    order = np.argsort(-np.abs(W[a, b]), kind="stable")
    return a[order], b[order], W[a, b][order]
