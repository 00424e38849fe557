"""I-KDR in plain NumPy: equation (15) of the paper with all of its matrices, and the reduced problem. Nothing clever.

lam and mu are the paper's own here: what fastfs calls lam and mu, over the number of samples. labels are 0..C-1.
"""

from dataclasses import dataclass, replace

import numpy as np

INF = np.inf


@dataclass(frozen=True)
class Problem:
    """All that isn't looked for. `kernels` is m x N x N; of a single kernel, 1 x N x N."""

    kernels: np.ndarray
    labels: np.ndarray
    lam: float
    mu: float
    tau: float = INF
    zeta: float = INF
    interpretability: str = "laplacian"

    def kernel(self, weights):
        return np.einsum("m,mij->ij", weights, self.kernels)

    @property
    def H(self):
        return (np.arange(self.labels.max() + 1)[:, None] == self.labels).astype(float)

    @property
    def D(self):
        return (self.labels[:, None] != self.labels).astype(float)


# ---- kernels --------------------------------------------------------------------------------------------------------


def standardize(X):
    """z-scores; constant columns become 0."""
    X = np.asarray(X, dtype=float)
    X = X - X[0]
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    return X / np.where(spread > 0, spread, 1)


def squared_distances(Z):
    return np.array([((Z - z) ** 2).sum(axis=1) for z in Z])


def mean_of_pairs(M):
    """Over ordered pairs of different samples."""
    n = len(M)
    return (M.sum() - np.trace(M)) / (n * (n - 1))


def width(Z, rule="mean_squared"):
    """delta of the samples of one kernel (N x number of its features); 0 where all are equal."""
    D2 = squared_distances(Z)
    if rule == "mean_squared":
        return mean_of_pairs(D2)
    return mean_of_pairs(np.sqrt(D2)) if rule == "mean" else float(rule)


def gaussian(Z, delta, W=None):
    """Between the rows of Z and those of W."""
    W = Z if W is None else W
    return np.exp(-np.array([((W - z) ** 2).sum(axis=1) for z in Z]) / delta)


def columns(n_features, groups=None):
    """The features of each kernel: groups None, "all", or a label a feature."""
    if groups is None:
        return [[j] for j in range(n_features)]
    if isinstance(groups, str):
        return [list(range(n_features))]
    return [np.flatnonzero(np.asarray(groups) == g).tolist() for g in np.unique(groups)]


def kernels(X, groups=None, rule="mean_squared", scaled=True):
    """One Gaussian a feature or group; kernels of constant features are all 1, and have width 0."""
    Z = standardize(X) if scaled else np.asarray(X, dtype=float)
    found, deltas = [], []
    for part in columns(Z.shape[1], groups):
        constant = np.ptp(Z[:, part], axis=0).max() == 0
        deltas.append(0.0 if constant else width(Z[:, part], rule))
        found.append(np.ones((len(Z), len(Z))) if constant else gaussian(Z[:, part], deltas[-1]))
    return np.array(found), np.array(deltas)


def cross_kernels(X, X_new, deltas, groups=None, scaled=True):
    """Of new samples with those of X, in the scale and with the widths of X."""
    both = np.vstack([X, X_new])
    if scaled:
        mean, spread = X.mean(axis=0), X.std(axis=0)
        both = (both - mean) / np.where(spread > 0, spread, 1)
    Z, W = both[: len(X)], both[len(X) :]
    return np.array(
        [
            gaussian(W[:, part], delta, Z[:, part]) if delta > 0 else np.ones((len(W), len(Z)))
            for part, delta in zip(columns(X.shape[1], groups), deltas, strict=True)
        ]
    )


# ---- equation (15) --------------------------------------------------------------------------------------------------


def interpretability_term(K, A, kind):
    """(15): sum over pairs of samples of K_st ||a_s - a_t||^2 / 2, a_s the rows of A. (7): over pairs of samples and
    columns a of a_s a_t ||phi_s - phi_t||^2 / 2."""
    if kind == "laplacian":
        return 0.5 * np.sum(K * squared_distances(A))
    distances = np.diag(K)[:, None] + np.diag(K) - 2 * K
    return 0.5 * sum(a @ distances @ a for a in A.T)


def paper_objective(problem, A, weights, S, Gamma):
    """F of (15). tau or zeta may be infinite if what they weigh is 0."""
    K, H, D = problem.kernel(weights), problem.H, problem.D
    value = np.sum((np.diag(H[problem.labels] @ S) - 1) ** 2)
    value += problem.lam * np.trace(A.T @ K @ D @ K @ A)
    value += problem.mu * interpretability_term(K, A, problem.interpretability)
    for penalty, rest in ((problem.tau, S - A @ Gamma), (problem.zeta, Gamma - A.T @ K)):
        value += penalty * np.sum(rest**2) if np.isfinite(penalty) else 0.0
    return float(value)


def best_slack(problem, A, weights):
    """S and Gamma that minimise (15), from the normal equations of each sample's s and gamma together."""
    K, H = problem.kernel(weights), problem.H
    n, k = A.shape
    tau, zeta, B = problem.tau, problem.zeta, K @ A
    S, Gamma = np.empty((n, n)), np.empty((k, n))
    for i, q in enumerate(problem.labels):
        u = H[q]
        if np.isinf(tau) and np.isinf(zeta):
            Gamma[:, i] = B[i]
            S[:, i] = A @ B[i]
        elif np.isinf(tau):  # s = A gamma
            matrix = A.T @ np.outer(u, u) @ A + zeta * np.eye(k)
            Gamma[:, i] = np.linalg.solve(matrix, A.T @ u + zeta * B[i])
            S[:, i] = A @ Gamma[:, i]
        elif np.isinf(zeta):  # gamma = b
            Gamma[:, i] = B[i]
            S[:, i] = np.linalg.solve(np.outer(u, u) + tau * np.eye(n), u + tau * A @ B[i])
        else:
            matrix = np.block(
                [[np.outer(u, u) + tau * np.eye(n), -tau * A], [-tau * A.T, tau * A.T @ A + zeta * np.eye(k)]]
            )
            both = np.linalg.solve(matrix, np.concatenate([u, zeta * B[i]]))
            S[:, i], Gamma[:, i] = both[:n], both[n:]
    return S, Gamma


# ---- the reduced problem --------------------------------------------------------------------------------------------


def shares(problem, A):
    """P = H A, and omega of each class."""
    P = problem.H @ A
    n_q = problem.H.sum(axis=1)
    w = np.ones(len(n_q)) if np.isinf(problem.tau) else problem.tau / (problem.tau + n_q)
    omega = w if np.isinf(problem.zeta) else problem.zeta * w / (problem.zeta + w * (P**2).sum(axis=1))
    return P, omega


def objective(problem, A, weights):
    """(R): (15) at its minimum over S and Gamma."""
    K, labels = problem.kernel(weights), problem.labels
    P, omega = shares(problem, A)
    B = K @ A
    r = 1 - np.sum(P[labels] * B, axis=1)
    value = np.sum(omega[labels] * r**2) + problem.lam * np.trace(B.T @ problem.D @ B)
    return float(value + problem.mu * interpretability_term(K, A, problem.interpretability))


def gradient(problem, A, weights):
    """Of (R), by A: through B = K A with D in full, and through P = H A."""
    K, H, labels = problem.kernel(weights), problem.H, problem.labels
    P, omega = shares(problem, A)
    B = K @ A
    r = 1 - np.sum(P[labels] * B, axis=1)
    slope = -2 * omega[labels] * r
    by_B = slope[:, None] * P[labels] + 2 * problem.lam * problem.D @ B
    by_P = H @ (slope[:, None] * B)
    if np.isfinite(problem.zeta):  # domega/dP = -2 omega^2 / zeta P
        by_P -= 2 * (omega**2 / problem.zeta * (H @ r**2))[:, None] * P
    if problem.interpretability == "laplacian":
        by_A = 2 * (np.diag(K.sum(axis=1)) - K) @ A
    else:  # sum_s K_ss a_sj is part of it, though constant on the simplex if the diagonal is
        by_A = np.diag(K)[:, None] * A.sum(axis=0) + np.outer(np.ones(len(K)), np.diag(K) @ A) - 2 * B
    return K @ by_B + H.T @ by_P + problem.mu * by_A


def products(problem, A):
    """c (m x N), T (m x C x k) and v (m): all that (R) needs of each kernel while A stays."""
    P = problem.H @ A
    c = np.array([np.sum((K @ A @ P.T) * problem.H.T, axis=1) for K in problem.kernels])
    T = np.array([problem.H @ K @ A for K in problem.kernels])
    v = np.array([problem.mu * interpretability_term(K, A, problem.interpretability) for K in problem.kernels])
    return c, T, v


def slopes(problem, A, weights):
    """dF/dweights."""
    _, omega = shares(problem, A)
    c, T, v = products(problem, A)
    r = 1 - weights @ c
    t = np.einsum("m,mqj->qj", weights, T)
    others = t.sum(axis=0) - t  # of each class: sums over the samples of all others
    return -2 * c @ (omega[problem.labels] * r) + 2 * problem.lam * np.einsum("mqj,qj->m", T, others) + v


def prices(problem, A, weights):
    """What each kernel's slope exceeds the least one by."""
    slope = slopes(problem, A, weights)
    return slope - slope.min()


def quadratic(problem, A, Gamma):
    """E7: Q and v, so that (15) by the weights, S and Gamma given, is 1/2 b'Qb + v'b and a constant."""
    D, Ks = problem.D, problem.kernels
    middle = problem.lam * D + problem.zeta * np.eye(len(D))
    Q = np.array([[2 * np.trace(A.T @ Ki @ middle @ Kj @ A) for Kj in Ks] for Ki in Ks])
    v = [
        problem.mu * interpretability_term(K, A, problem.interpretability)
        - 2 * problem.zeta * np.trace(Gamma.T @ A.T @ K)
        for K in Ks
    ]
    return Q, np.array(v)


def interpretability(problem, A):
    """I_p: the mean over dimensions of the largest share of a class."""
    P = problem.H @ A
    return float((P.max(axis=0) / P.sum(axis=0)).mean())


# ---- a plain solver -------------------------------------------------------------------------------------------------


def project(Y):
    """Each column to the nearest point of the simplex, by sorting."""
    Y = np.asarray(Y, dtype=float)
    flat = Y[:, None] if Y.ndim == 1 else Y
    ordered = -np.sort(-flat, axis=0)
    sums = (ordered.cumsum(axis=0) - 1) / np.arange(1, len(flat) + 1)[:, None]
    last = (ordered > sums).sum(axis=0) - 1
    return np.maximum(flat - sums[last, np.arange(flat.shape[1])], 0).reshape(Y.shape)


def gap(x, slope):
    """Frank and Wolfe's: how much a linear model promises at most."""
    return float(np.sum(x * slope) - slope.min(axis=0).sum())


def descend(value, slope, x, max_iter=500, tol=1e-5):
    """Projected gradient, steps halved until the value falls, Barzilai and Borwein's length to begin with."""
    now, g, step = value(x), slope(x), None
    for _ in range(max_iter):
        if gap(x, g) <= tol * abs(now):
            break
        step = step or 1 / max(np.abs(g).max(), 1e-300)
        for _ in range(60):
            there = project(x - step * g)
            after = value(there)
            if after <= now - 1e-4 * np.sum(g * (x - there)):
                break
            step /= 2
        else:
            break
        new = slope(there)
        moved, turned = there - x, new - g
        curvature = np.sum(moved * turned)
        step = np.sum(moved**2) / curvature if curvature > 0 else None
        x, now, g = there, after, new
    return x, now


def solve(problem, A, weights=None, outer=30, tol=1e-4, inner=500, inner_tol=1e-4):
    """A and the weights in turn, each as far as it goes, from one start."""
    m = len(problem.kernels)
    weights = np.full(m, 1 / m) if weights is None else weights
    now = objective(problem, A, weights)
    for _ in range(outer):
        before = now
        A, now = solve_A(replace(problem, kernels=problem.kernel(weights)[None]), A, inner, inner_tol)
        if m > 1:
            weights, now = solve_weights(problem, A, weights)
        if m == 1 or before - now <= tol * abs(now):
            break
    return A, weights, now


def solve_A(problem, A, max_iter=500, tol=1e-4):
    """A alone, of a single kernel."""
    one = np.ones(1)
    return descend(lambda a: objective(problem, a, one), lambda a: gradient(problem, a, one), A, max_iter, tol)


def solve_weights(problem, A, weights):
    """The weights alone, all of them at once."""
    _, omega = shares(problem, A)
    c, T, v = products(problem, A)
    om = omega[problem.labels]

    def value(b):
        t = np.einsum("m,mqj->qj", b, T)
        return float(om @ (1 - b @ c) ** 2 + problem.lam * np.sum(t * (t.sum(axis=0) - t)) + v @ b)

    def slope(b):
        t = np.einsum("m,mqj->qj", b, T)
        others = t.sum(axis=0) - t
        return -2 * c @ (om * (1 - b @ c)) + 2 * problem.lam * np.einsum("mqj,qj->m", T, others) + v

    return descend(value, slope, weights)


def starts(problem, k, count=11, seed=0):
    """Columns for classes in turn: the class's mean; half of that and half its medoid; then random samples of the
    class, by themselves, or half so and half random shares."""
    rng = np.random.default_rng(seed)
    K = problem.kernels.mean(axis=0)
    C = problem.labels.max() + 1
    members = [np.flatnonzero(problem.labels == j % C) for j in range(k)]
    found = []
    for which in range(count):
        A = np.zeros((len(K), k))
        for j, rows in enumerate(members):
            if which < 2:
                A[rows, j] = 1 / len(rows)
                if which == 1:
                    A[:, j] /= 2
                    A[rows[np.argmax(K[np.ix_(rows, rows)].sum(axis=1))], j] += 0.5
            else:
                A[rng.choice(rows), j] = 1.0
                if which % 2:
                    A[:, j] /= 2
                    A[rows, j] += 0.5 * rng.dirichlet(np.ones(len(rows)))
        found.append(A)
    return found


def best_of_starts(problem, k, count=11, seed=0, **options):
    """A, weights and F of the best of so many starts of `solve`, and F of each."""
    found = [solve(problem, A, **options) for A in starts(problem, k, count, seed)]
    best = min(found, key=lambda f: f[2])
    return (*best, [f[2] for f in found])
