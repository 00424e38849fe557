"""ManiFeSt by domains and leading eigenvectors, in plain NumPy: exact scores in many small spaces.

A score |D|_jj depends on the near features of j one by one, and on all others through smooth modes. The features are
cut into cores; the scores of a core come from the exact pencil on the span of the core, its buffer and the leading
eigenvectors of both kernels (a Galerkin projection). It is exact once that span is everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .manifest import pencil, scores

# The least share of a unit vector outside the domain that makes a direction of its own, as an eigenvalue of a Gram.
LEAST = 1e-8


@dataclass
class Domain:
    """A core, whose scores are kept, and its buffer; features of X, each list without repetition."""

    core: np.ndarray
    buffer: np.ndarray


def edges(D2: Sequence[np.ndarray], kernels: Sequence[np.ndarray], n_neighbors: int) -> np.ndarray:
    """d x d weights: the larger of both kernels' values between features near in that class, 0 between all others.

    Near: one is among the `n_neighbors` nearest of the other, in either direction; ties go to the lower index.
    """
    weights = np.zeros_like(kernels[0])
    for distances, K in zip(D2, kernels, strict=True):
        d = len(K)
        near = np.zeros((d, d), dtype=bool)
        for i in range(d):
            order = np.argsort(distances[i], kind="stable")
            near[i, order[order != i][:n_neighbors]] = True
        weights = np.maximum(weights, np.where(near | near.T, K, 0))
    return weights


def grow(weights: np.ndarray, size: int) -> list[np.ndarray]:
    """Cores of at most `size` features, each grown by the free feature with the largest summed weight to it.

    The seed is the free feature with the strongest edge; growth ends where no free feature has an edge to the core.
    Ties go to the lower index.
    """
    free, cores = np.ones(len(weights), dtype=bool), []
    for seed in np.argsort(-weights.max(axis=1), kind="stable"):
        if not free[seed]:
            continue
        core, gain, j = [], np.zeros(len(weights)), int(seed)
        while True:
            core.append(j)
            free[j] = False
            gain += weights[j]
            j = int(np.where(free, gain, -1).argmax())
            if len(core) == size or not free[j] or gain[j] <= 0:
                break
        cores.append(np.array(core))
    return cores


def pack(cores: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
    """Cores of at least four fifths of `size` as they are; smaller ones joined, largest first, while they fit."""
    packed: list[np.ndarray] = []
    rest: list[np.ndarray] = []
    for core in sorted(cores, key=len, reverse=True):  # stable: equal ones in the order of their seeds
        if 5 * len(core) >= 4 * size:
            packed.append(core)
            continue
        if rest and sum(map(len, rest)) + len(core) > size:
            packed.append(np.concatenate(rest))
            rest = []
        rest.append(core)
    return packed + ([np.concatenate(rest)] if rest else [])


def domains(weights: np.ndarray, core: int, buffer: int) -> list[Domain]:
    """All cores, each with the `buffer` outside features that have the largest summed weight to it.

    Features without an edge to the core stay out; ties go to the lower index.
    """
    found = []
    for members in pack(grow(weights, core), core):
        pull = weights[members].sum(axis=0)
        pull[members] = 0
        order = np.argsort(-pull, kind="stable")[:buffer]
        found.append(Domain(members, order[pull[order] > 0]))
    return found


def leading_span(kernels: Sequence[np.ndarray], k: int) -> np.ndarray:
    """Orthonormal basis of the k leading eigenvectors of each kernel; directions that they share count once."""
    vectors = np.hstack([np.linalg.eigh(K)[1][:, -k:] if k > 0 else np.empty((len(K), 0)) for K in kernels])
    left, s, _ = np.linalg.svd(vectors, full_matrices=False)
    return left[:, s**2 > LEAST]


def reduce(K: np.ndarray, V: np.ndarray, B: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K on the span of the unit vectors of B and of U = V_out R, by K[B, B], K V and V'K V alone."""
    KV, KBB, VB = K @ V, K[np.ix_(B, B)], V[B]
    KBU = (KV[B] - KBB @ VB) @ R
    KUU = R.T @ (V.T @ KV - VB.T @ KV[B] - KV[B].T @ VB + VB.T @ KBB @ VB) @ R
    return np.block([[KBB, KBU], [KBU.T, (KUU + KUU.T) / 2]])


def domain_scores(kernels: Sequence[np.ndarray], V: np.ndarray, domain: Domain) -> np.ndarray:
    """The scores of the core, in its order."""
    B = np.concatenate([domain.core, domain.buffer])
    w, Q = np.linalg.eigh(np.eye(V.shape[1]) - V[B].T @ V[B])
    R = Q[:, w > LEAST] / np.sqrt(w[w > LEAST])
    K1, K2 = (reduce(K, V, B, R) for K in kernels)
    return scores(pencil(K1, K2)[1])[: len(domain.core)]


def manifest_domains(
    D2: Sequence[np.ndarray],
    kernels: Sequence[np.ndarray],
    *,
    core: int = 400,
    buffer: int = 100,
    k: int = 150,
    n_neighbors: int = 30,
) -> np.ndarray:
    """Scores of two classes from their squared distances, which order the neighbours, and their kernels."""
    d = len(kernels[0])
    V = leading_span(kernels, min(k, d))
    found = np.full(d, np.nan)
    for domain in domains(edges(D2, kernels, min(n_neighbors, d - 1)), core, buffer):
        found[domain.core] = domain_scores(kernels, V, domain)
    return found
