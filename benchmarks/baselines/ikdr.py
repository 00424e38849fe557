"""I-KDR as the paper does it, with its equations put right, in NumPy as a careful user would write it.

Gamma, S, A and the kernels' weights are solved for in turn, each with the others fixed: Gamma and S in closed form, A
by ADMM, the weights by a quadratic program. lam and mu are the paper's (over N what fastfs calls so); tau and zeta are
finite. `evaluate` is the reduced objective and its gradient by plain products, in the dtype of K.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

Eigen = tuple[np.ndarray, np.ndarray, float]


def evaluate(
    K: np.ndarray, H: np.ndarray, codes: np.ndarray, A: np.ndarray, lam: float, mu: float
) -> tuple[float, np.ndarray]:
    """F and its gradient, tau and zeta infinite: two products of K with k columns, and what little else there is."""
    P = H @ A
    B = K @ A
    own = P[codes]
    r = 1 - np.einsum("ij,ij->i", own, B)
    T = H @ B
    others = (T.sum(axis=0) - T)[codes]
    by_B = (-2 * r)[:, None] * own + 2 * lam * others
    by_P = H @ ((-2 * r)[:, None] * B)
    row_sums = K.sum(axis=1)
    value = r @ r + lam * np.einsum("ij,ij->", others, B)
    value += mu * (row_sums @ np.einsum("ij,ij->i", A, A) - np.einsum("ij,ij->", A, B))
    return float(value), K @ by_B + by_P[codes] + 2 * mu * (row_sums[:, None] * A - B)


def project(Y: np.ndarray) -> np.ndarray:
    """Each column to the nearest point of the simplex."""
    ordered = -np.sort(-Y, axis=0)
    sums = (ordered.cumsum(axis=0) - 1) / np.arange(1, len(Y) + 1)[:, None]
    last = (ordered > sums).sum(axis=0) - 1
    return np.maximum(Y - sums[last, np.arange(Y.shape[1])], 0)


@dataclass
class Fit:
    """Where it came to, and the reduced objective after each round, with the CPU seconds until then."""

    A: np.ndarray
    weights: np.ndarray
    objective: list[float] = field(default_factory=list)
    relaxed: list[float] = field(default_factory=list)  # (15), with the S and Gamma of the round
    seconds: list[float] = field(default_factory=list)


@dataclass
class Alternation:
    """The paper's Algorithm. Kernels are m x N x N.

    split "paper": A >= 0 by a copy of A, the sums of columns by a penalty and multipliers of their own, as in (21);
    "one": one copy of A, whose columns lie on the simplex. rho is in units of the mean eigenvalue of what A meets.
    """

    kernels: np.ndarray
    codes: np.ndarray
    lam: float
    mu: float
    tau: float
    zeta: float
    rho: float = 1.0
    split: str = "paper"
    admm_steps: int = 100
    admm_tol: float = 1e-4

    def __post_init__(self) -> None:
        self.H = (np.arange(self.codes.max() + 1)[:, None] == self.codes).astype(float)
        self.n_q = self.H.sum(axis=1)

    def run(self, A: np.ndarray, rounds: int, seconds: float = np.inf, tol: float = 0.0) -> Fit:
        """Rounds until F falls by less than tol of itself, or time is up."""
        m = len(self.kernels)
        fit = Fit(A, np.full(m, 1 / m))
        start = time.process_time()
        K = np.tensordot(fit.weights, self.kernels, 1)
        of_K = self._of_kernel(K)
        S: np.ndarray | None = None
        for _ in range(rounds):
            A = fit.A
            if S is None:
                Gamma = self._first_gamma(K, A)
            else:
                matrix = self.tau * A.T @ A + self.zeta * np.eye(A.shape[1])
                Gamma = np.linalg.solve(matrix, self.tau * A.T @ S + self.zeta * A.T @ K)
            # S = A Gamma + H'E: one number a sample.
            own = np.einsum("ij,ji->i", (self.H @ A)[self.codes], Gamma)
            S = A @ Gamma + self.H[self.codes].T * ((1 - own) / (self.tau + self.n_q[self.codes]))
            fit.A = A = self._admm(of_K, K, A, Gamma, S)
            if m > 1:
                fit.weights = self._weights(A, Gamma, fit.weights)
                K = np.tensordot(fit.weights, self.kernels, 1)
                of_K = self._of_kernel(K)
            fit.seconds.append(time.process_time() - start)
            measured = time.process_time()
            fit.objective.append(self.reduced(K, A))
            fit.relaxed.append(self.relaxed(K, A, Gamma, S))
            start += time.process_time() - measured  # the record is no part of the method
            last = fit.objective[-2:]
            if fit.seconds[-1] > seconds or (len(last) == 2 and abs(last[0] - last[1]) <= tol * abs(last[1])):
                break
        return fit

    def _first_gamma(self, K: np.ndarray, A: np.ndarray) -> np.ndarray:
        """That of (15)'s minimum over S and Gamma."""
        B = K @ A
        own = (self.H @ A)[self.codes]
        w = (self.tau / (self.tau + self.n_q))[self.codes]
        r = 1 - np.einsum("ij,ij->i", own, B)
        return np.asarray((B + own * (w * r / (self.zeta + w * (own**2).sum(axis=1)))[:, None]).T)

    def _of_kernel(self, K: np.ndarray) -> Eigen:
        """Eigenpairs of 2 (lam K D K + mu L + zeta K K), with "paper" and rho 11' of the sums' penalty; rho."""
        sums = K @ self.H.T
        total = sums.sum(axis=1)
        KDK = np.outer(total, total) - sums @ sums.T
        Om = 2 * (self.lam * KDK + self.mu * (np.diag(total) - K) + self.zeta * K @ K)
        rho = self.rho * float(np.trace(Om)) / len(K)
        if self.split == "paper":
            Om += rho
        values, vectors = np.linalg.eigh(Om)
        return values, vectors, rho

    def _admm(self, of_K: Eigen, K: np.ndarray, A: np.ndarray, Gamma: np.ndarray, S: np.ndarray) -> np.ndarray:
        """(Om + rho I) A + A Th = right-hand side, and the copy Z of A, in turn."""
        om, V, rho = of_K
        th, W = np.linalg.eigh(2 * self.tau * Gamma @ Gamma.T)
        fixed = 2 * (self.tau * S @ Gamma.T + self.zeta * K @ Gamma.T)
        inverse = 1 / (om[:, None] + rho + th)
        Z, U, u = A, np.zeros_like(A), np.zeros(A.shape[1])
        for _ in range(self.admm_steps):
            right = fixed + rho * (Z - U)
            if self.split == "paper":
                right += rho * (1 - u)
            A = V @ ((V.T @ right @ W) * inverse) @ W.T
            before = Z
            if self.split == "paper":
                Z = np.maximum(A + U, 0)
                u += A.sum(axis=0) - 1
            else:
                Z = project(A + U)
            U += A - Z
            apart = max(np.linalg.norm(A - Z), np.linalg.norm(Z - before))
            if apart <= self.admm_tol * np.linalg.norm(Z):
                break
        return Z if self.split == "one" else project(Z)

    def _weights(self, A: np.ndarray, Gamma: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(24), (25): b'Qb / 2 + v'b on the simplex, by accelerated projected gradient."""
        KA = self.kernels @ A
        T = self.H @ KA
        total, flat = T.sum(axis=1), KA.reshape(len(KA), -1)
        T = T.reshape(len(KA), -1)
        Q = 2 * (self.zeta * flat @ flat.T + self.lam * (total @ total.T - T @ T.T))
        v = -2 * self.zeta * np.einsum("mij,ji->m", KA, Gamma)
        if self.mu > 0:
            rows = np.einsum("ij,ij->i", A, A)
            v += self.mu * (self.kernels.sum(axis=2) @ rows - np.einsum("mij,ij->m", KA, A))
        step, ahead, t = 1 / np.linalg.eigvalsh(Q)[-1], b, 1.0
        for _ in range(1000):
            before, b = b, project((ahead - step * (Q @ ahead + v))[:, None])[:, 0]
            t, s = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            ahead = b + (s - 1) / t * (b - before)
            if np.abs(b - before).sum() <= 1e-6:
                break
        return b

    def reduced(self, K: np.ndarray, A: np.ndarray) -> float:
        """(R): what (15) would be with the best S and Gamma."""
        P, B = self.H @ A, K @ A
        w = self.tau / (self.tau + self.n_q)
        omega = w * self.zeta / (self.zeta + w * (P**2).sum(axis=1))
        r = 1 - np.einsum("ij,ij->i", P[self.codes], B)
        return float(omega[self.codes] @ r**2) + self._rest(K, A, B)

    def relaxed(self, K: np.ndarray, A: np.ndarray, Gamma: np.ndarray, S: np.ndarray) -> float:
        """(15) with S and Gamma as they are."""
        fits = (self.H @ S)[self.codes, np.arange(len(K))]
        value = np.sum((fits - 1) ** 2) + self.tau * np.sum((S - A @ Gamma) ** 2)
        return float(value + self.zeta * np.sum((Gamma - A.T @ K) ** 2)) + self._rest(K, A, K @ A)

    def _rest(self, K: np.ndarray, A: np.ndarray, B: np.ndarray) -> float:
        T = self.H @ B
        value = self.lam * np.sum(T * (T.sum(axis=0) - T))
        return float(value + self.mu * (K.sum(axis=1) @ (A**2).sum(axis=1) - np.sum(A * B)))
