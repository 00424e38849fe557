"""DiSC in plain NumPy: its steps one by one, with full decompositions and nothing clever. The oracle of the tests.

Besides, the toy problems of the paper as its text and public scripts define them.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.spatial


@dataclass
class Disc:
    W: list
    eigenvalues: list  # of each set: all, descending
    U: list  # p x (d + 1), the constant vector first
    sigma: list  # all p of them
    V: list  # p x p


def squared_distances(X):
    """Between columns, by differences."""
    X = np.asarray(X, dtype=float)
    return np.array([((X - X[:, [i]]) ** 2).sum(axis=0) for i in range(X.shape[1])])


def neighbors(X, n_neighbors):
    """The nearest other columns, ties by the lower index, and their distances."""
    D = np.sqrt(squared_distances(X))
    np.fill_diagonal(D, -1)
    order = np.argsort(D, axis=1, kind="stable")[:, 1 : n_neighbors + 1]
    return order, np.take_along_axis(D, order, axis=1)


def bandwidths(X, k):
    D = np.sqrt(squared_distances(X))
    eps = np.empty(len(D))
    for i, row in enumerate(D):
        others = np.sort(np.delete(row, i))
        eps[i] = others[k - 1] if others[k - 1] > 0 else others[others > 0][0]
    return eps


def affinity(X, k=30, n_neighbors=None, kernel=None):
    """Step 1; with n_neighbors the sparse graph, as a dense matrix. kernel: of squared distances, instead."""
    D2, eps = squared_distances(X), bandwidths(X, k)
    E = np.exp(-D2 / eps[:, None] ** 2) if kernel is None else kernel(D2, np.median(eps))
    diagonal = np.diag(E).copy()
    np.fill_diagonal(E, 0)
    if n_neighbors is not None:
        # All that are as near as the last one, but for rounding.
        farthest = neighbors(X, n_neighbors)[1][:, -1:]
        kept = np.sqrt(D2) <= farthest * (1 + 1e-10)
        E = np.where(kept, E, 0)
    return (E + E.T) / 2 + np.diag(diagonal)


def random_walk(W, density=1.0):
    """Step 2: P, and the row sums g."""
    q = W.sum(axis=1)
    Wt = W / np.outer(q, q) ** density
    g = Wt.sum(axis=1)
    return Wt / g[:, None], g


def diffusion(W, d, density=1.0):
    """Step 3: all eigenvalues, the d + 1 leading vectors."""
    q = W.sum(axis=1)
    Wt = W / np.outer(q, q) ** density
    g = Wt.sum(axis=1)
    lam, Z = np.linalg.eigh(Wt / np.sqrt(np.outer(g, g)))
    U = (Z / np.sqrt(g)[:, None])[:, ::-1][:, : d + 1]
    return lam[::-1], U / np.linalg.norm(U, axis=0)


def cut(W, members, density=1.0):
    """The normalised cut of a group in the graph that the random walk takes."""
    q = W.sum(axis=1)
    Wt = W / np.outer(q, q) ** density
    away = Wt[np.ix_(members, ~members)].sum()
    return away / Wt[members].sum() + away / Wt[~members].sum()


def ratio_cut(W, members, density=1.0):
    """Equation 3 of the paper: a quadratic form of the Laplacian, over the number of features."""
    q = W.sum(axis=1)
    Wt = W / np.outer(q, q) ** density
    inside, outside = members.sum(), (~members).sum()
    f = np.where(members, np.sqrt(outside / inside), -np.sqrt(inside / outside))
    return f @ (np.diag(Wt.sum(axis=1)) - Wt) @ f / len(f)


def n_connected(W):
    return scipy.sparse.csgraph.connected_components(scipy.sparse.csr_matrix(W))[0]


def disc(graphs, d=20, density=1.0, constant="drop"):
    """Steps 2 to 5 on affinities of any number of sets; Q by a full QR of all other sets' vectors."""
    d = np.broadcast_to(d, len(graphs))
    eigenvalues, U, sigma, V = [], [], [], []
    for W, d_s in zip(graphs, d, strict=True):
        lam, u = diffusion(W, d_s, density)
        eigenvalues.append(lam)
        U.append(u)
    for s, W in enumerate(graphs):
        parts = []
        for t, other in enumerate(graphs):
            if t != s:
                project = constant == "project" or n_connected(other) > 1
                parts.append(U[t] if project else U[t][:, 1:])
        q, r, _ = scipy.linalg.qr(np.hstack(parts), mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(r))
        B = q[:, diagonal > 1e-10 * diagonal[0]]
        P, _ = random_walk(W, density)
        _, values, Vt = np.linalg.svd(P @ (np.eye(len(W)) - B @ B.T))
        sigma.append(values)
        V.append(Vt.T)
    return Disc(list(graphs), eigenvalues, U, sigma, V)


def is_trivial(V):
    return np.abs(V.sum(axis=0)) > 0.9 * np.sqrt(len(V))


def n_differential(sigma, V, n_vectors):
    """The j of the largest sigma_j / sigma_(j+1) among those that are not trivial, and that ratio."""
    real = np.flatnonzero(~is_trivial(V[:, : n_vectors + 1]))
    ratios = sigma[real[:-1]] / sigma[real[1:]]
    j = np.argmax(ratios[:10])
    return j + 1, ratios[j]


def scores(sigma, V, n_vectors, q=None):
    if q is None:
        q, _ = n_differential(sigma, V, n_vectors)
    real = np.flatnonzero(~is_trivial(V[:, :n_vectors]))[:q]
    return ((sigma[real] * V[:, real]) ** 2).sum(axis=1)


def public_algorithm(sets, k=30, d=20):
    """Two sets with the operations of the public program (helper_functions.compute_diff_vectors), of the same kinds and
    sizes: distances by cdist, whole rows argsorted, products with diagonal matrices, general eigenvectors of P, Q with
    an inverse, full SVD, signs.
    """

    def positive(rows):  # the largest entry of each
        largest = np.argmax(rows, axis=1) == np.argmax(np.abs(rows), axis=1)
        return rows * np.where(largest, 1, -1)[:, None]

    walks, U = [], []
    for X in sets:
        D = scipy.spatial.distance.cdist(X.T, X.T)
        nearest = (D + np.diag(np.full(len(D), np.inf))).argsort(axis=1)[:, k - 1]
        eps = np.tile(D[np.arange(len(D)), nearest][:, None], (1, len(D)))
        W = 1 / 2 * (np.exp(-(D**2) / eps**2) + np.exp(-(D**2) / eps.T**2))
        inverse = np.diag(1 / W.sum(axis=1))
        Wt = inverse @ W @ inverse
        P = np.diag(1 / Wt.sum(axis=1)) @ Wt
        values, vectors = np.linalg.eig(P)
        order = np.argsort(-values.real)[1 : d + 1]
        walks.append(P)
        U.append(positive(vectors[:, order].real.T).T)
    projections = [np.eye(len(u)) - u @ (np.linalg.inv(u.T @ u) @ u.T) for u in U]
    results = []
    for P, Q in zip(walks, projections[::-1], strict=True):
        _, values, right = np.linalg.svd(P @ Q)
        results.append((values, positive(right).T))
    return results


# ---- the toy problems -----------------------------------------------------------------------------------------------


def factor(size, rng):
    """C of a block of features that move together: cov = C C', C = |Q diag(l) Q'|, l_j = exp(-j) scaled to the sum 25,
    Q random orthogonal."""
    Q, _ = np.linalg.qr(rng.normal(size=(size, size)))
    values = np.exp(-np.arange(1.0, size + 1))
    return np.abs((Q * (25 * values / values.sum())) @ Q.T)


def samples(n, parts, rng):
    """Side by side: .005 times a block for each factor, .004 times noise for each number of features."""
    columns = []
    for part in parts:
        if np.ndim(part) == 0:
            columns.append(0.004 * rng.normal(size=(n, part)))
        else:
            columns.append(0.005 * rng.normal(size=(n, part.shape[1])) @ part.T)
    return np.hstack(columns)


def toy1(n, rng):
    """Two sets of 250 features; which ones are blocks in the first set alone, and which in the second."""
    shared = [factor(25, rng), factor(25, rng)]
    a = samples(n, [100, *shared, factor(25, rng), factor(25, rng), 50], rng)
    b = samples(n, [100, *shared, 50, factor(25, rng), factor(25, rng)], rng)
    features = np.arange(250)
    return a, b, (features >= 150) & (features < 200), features >= 200


def toy2(n, rng):
    """Two sets of 200 features in two blocks; in the second set the second one falls into 25 and 75 features, which
    move as before among themselves; which ones these are."""
    first, second = factor(100, rng), factor(100, rng)
    a = samples(n, [first, second], rng)
    b = samples(n, [first, second[:25], second[25:]], rng)
    features = np.arange(200)
    return a, b, (features >= 100) & (features < 125), features >= 125


def toy3(n, rng, size=25, n_noise=100):
    """Three sets: a block that all have, one of each set's own, noise elsewhere; which features are whose own."""
    shared = factor(size, rng)
    sets = []
    for s in range(3):
        own = [factor(size, rng) if t == s else size for t in range(3)]
        sets.append(samples(n, [n_noise, shared, *own], rng))
    features = np.arange(n_noise + 4 * size)
    return sets, [(features - n_noise) // size == s + 1 for s in range(3)]


def toy4(n, rng, size=25, n_noise=100):
    """Three sets: blocks that all, two or one of them have, two of each kind; in which sets each feature is in a block.

    After 100 features of noise come the blocks of A, B and C, of A and C, of B, of B and C, of A, and of C.
    """
    kinds = ["ABC", "AC", "B", "BC", "A", "C"]
    blocks = [(kind, factor(size, rng)) for kind in kinds for _ in range(2)]
    sets = [samples(n, [n_noise, *(C if name in kind else size for kind, C in blocks)], rng) for name in "ABC"]
    return sets, np.array([""] * n_noise + [kind for kind, _ in blocks for _ in range(size)])
