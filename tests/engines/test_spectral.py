"""The spectral engine alone, against LAPACK through NumPy and SciPy and against itself.

Bounds: LAPACK's symmetric eigensolvers are backward stable, off by a small multiple of n eps |A|; `SAFETY` is that
multiple. The pencil of K1 and K2 passes through the factor of S = K1 + K2, which multiplies the error by the condition
of S.
"""

import time

import numpy as np
import pytest
import scipy.linalg

from fastfs._machine import run
from reference import manifest as oracle

EPS = np.finfo(float).eps
SAFETY = 8
SIZES = [1, 2, 3, 10, 65, 300, 700]  # the last is cut in two


@pytest.fixture(scope="module")
def core():
    return run.load_core()


def fresh(A):
    return np.array(A, order="F", dtype=float)


def norm(A):
    return np.linalg.norm(A, 2)


def positive(n, rank=None, seed=0):
    """Random positive semidefinite, well conditioned on its range."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, rank or n)))
    return (Q * rng.uniform(0.5, 2, size=Q.shape[1])) @ Q.T


def eigh(core, A, n_threads=1):
    return core.eigh(fresh(A), run.Run(n_threads))


def pencil(core, K1, K2, n_threads=1):
    """W, nu of K1 + K2 = W W' and K1 - K2 = W diag(nu) W'."""
    nu, W, rank = core.pencil(fresh(K1), fresh(K2), run.Run(n_threads))
    assert 0 <= rank <= len(K1)
    nu, W = nu[:rank], W[:, :rank]
    assert np.all(np.diff(nu) >= 0)
    assert np.all(np.abs(nu) <= 1)
    return W, nu


def condition(S, rank):
    w = np.linalg.eigvalsh(S)[-rank:]
    return w[-1] / w[0]


def assert_reconstructs(K1, K2, W, nu):
    S = K1 + K2
    allowed = SAFETY * len(S) * EPS * condition(S, W.shape[1]) * norm(S)
    assert norm(W @ W.T - S) <= allowed
    assert norm((W * nu) @ W.T - (K1 - K2)) <= allowed


# ----------------------------------------------------------------------------------------------------------------- eigh


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n", SIZES)
def test_eigh(core, n, n_threads):
    A = np.random.default_rng(n).normal(size=(n, n))
    A = A + A.T
    w, V = eigh(core, A, n_threads)
    allowed = SAFETY * n * EPS * norm(A)
    assert np.abs(w - np.linalg.eigvalsh(A)).max() <= allowed
    assert norm((V * w) @ V.T - A) <= allowed
    assert norm(V.T @ V - np.eye(n)) <= SAFETY * n * EPS


def test_eigh_reads_the_lower_triangle_only(core):
    A = positive(20)
    w, _ = eigh(core, np.tril(A) + np.triu(np.full((20, 20), np.nan), 1))
    assert np.abs(w - np.linalg.eigvalsh(A)).max() <= SAFETY * 20 * EPS * norm(A)


def test_eigh_has_the_same_bits_for_any_number_of_threads(core):
    A = np.random.default_rng(0).normal(size=(1300, 1300))
    for one, three in zip(eigh(core, A + A.T), eigh(core, A + A.T, 3), strict=True):
        assert one.tobytes() == three.tobytes()


def test_eigh_is_never_deaf_for_long(core):
    """A cancel is seen at a report, and no part of the work between two of them is long."""
    A = fresh(positive(2000))
    times = [time.process_time()]

    def progress(step, share):
        times.append(time.process_time())

    core.eigh(A, run.Run(1, progress=progress))
    times.append(time.process_time())
    assert np.diff(times).max() <= 0.15 * (times[-1] - times[0])


@pytest.mark.parametrize("value", [0.0, -3.0, 1e300, 1e-300])
def test_eigh_of_a_multiple_of_the_identity(core, value):
    w, V = eigh(core, value * np.eye(7))
    np.testing.assert_allclose(w, value, rtol=SAFETY * EPS)
    assert norm(V.T @ V - np.eye(7)) <= SAFETY * 7 * EPS


# --------------------------------------------------------------------------------------------------------------- pencil


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n", SIZES)
def test_pencil_of_full_rank(core, n, n_threads):
    K1, K2 = positive(n, seed=1), positive(n, seed=2)
    W, nu = pencil(core, K1, K2, n_threads)
    assert W.shape == (n, n)
    assert_reconstructs(K1, K2, W, nu)
    expected = scipy.linalg.eigh(K1 - K2, K1 + K2, eigvals_only=True)
    assert np.abs(nu - expected).max() <= SAFETY * n * EPS * condition(K1 + K2, n)


@pytest.mark.parametrize("n", [2, 10, 65, 300])
def test_pencil_of_commuting_matrices(core, n):
    rng = np.random.default_rng(n)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    a, b = rng.uniform(0.1, 2, size=(2, n))
    K1, K2 = (Q * a) @ Q.T, (Q * b) @ Q.T
    W, nu = pencil(core, K1, K2)
    assert np.abs(nu - np.sort((a - b) / (a + b))).max() <= SAFETY * n * EPS * condition(K1 + K2, n)
    assert_reconstructs(K1, K2, W, nu)


@pytest.mark.parametrize("n, rank", [(2, 1), (10, 3), (65, 64), (300, 20)])
def test_pencil_of_low_rank(core, n, rank):
    Q, _ = np.linalg.qr(np.random.default_rng(n).normal(size=(n, rank)))
    K1, K2 = (Q @ positive(rank, seed=s) @ Q.T for s in (1, 2))
    W, nu = pencil(core, K1, K2)
    assert W.shape == (n, rank)
    assert_reconstructs(K1, K2, W, nu)


@pytest.mark.parametrize("n_copies", [1, 5])
def test_pencil_with_duplicated_rows_and_columns(core, n_copies):
    which = np.r_[np.arange(30), np.zeros(n_copies, int)]
    K1, K2 = (positive(30, seed=s)[np.ix_(which, which)] for s in (1, 2))
    W, nu = pencil(core, K1, K2)
    assert W.shape == (30 + n_copies, 30)
    assert_reconstructs(K1, K2, W, nu)


def test_pencil_of_kernels_that_are_singular_apart(core):
    """K1 and K2 singular, their sum not: values -1 and 1, where the weight of D has infinite slope."""
    K1, K2 = np.diag([1.0, 0, 2, 0, 3]), np.diag([0, 1.0, 0, 4, 3])
    W, nu = pencil(core, K1, K2)
    assert np.abs(nu - [-1, -1, 0, 1, 1]).max() <= SAFETY * 5 * EPS
    assert_reconstructs(K1, K2, W, nu)


@pytest.mark.parametrize("n, rank", [(1, 1), (12, 12), (12, 5), (300, 300), (300, 40)])
def test_equal_kernels_give_exact_zeros(core, n, rank):
    K = positive(n, rank)
    W, nu = pencil(core, K, K)
    np.testing.assert_array_equal(nu, np.zeros(rank))
    assert_reconstructs(K, K, W, nu)


@pytest.mark.parametrize("empty", [1, 2])
def test_one_kernel_zero(core, empty):
    kernels = [positive(9), positive(9)]
    kernels[empty - 1] = np.zeros((9, 9))
    _, nu = pencil(core, *kernels)
    np.testing.assert_allclose(nu, -1 if empty == 1 else 1, rtol=SAFETY * 9 * EPS * 4)


def test_both_kernels_zero(core):
    W, nu = pencil(core, np.zeros((4, 4)), np.zeros((4, 4)))
    assert W.shape == (4, 0)
    assert nu.shape == (0,)


def test_pencil_reads_the_lower_triangles_only(core):
    K1, K2 = positive(10, seed=1), positive(10, seed=2)
    upper = np.triu(np.full((10, 10), np.nan), 1)
    W, nu = pencil(core, np.tril(K1) + upper, np.tril(K2) + upper)
    assert_reconstructs(K1, K2, W, nu)


@pytest.mark.parametrize("power", [-900, -300, 300, 900])
@pytest.mark.parametrize("rank", [10, 4])
def test_pencil_at_any_scale(core, power, rank):
    K1, K2 = (positive(10, rank, seed=1) for _ in range(2))
    K2 = K2 / 2
    _, nu = pencil(core, K1 * 2.0**power, K2 * 2.0**power)
    assert len(nu) == rank
    assert np.abs(nu - 1 / 3).max() <= SAFETY * 10 * EPS * 4


def test_swapping_the_kernels_flips_the_values(core):
    K1, K2 = positive(40, seed=1), positive(40, seed=2)
    _, nu = pencil(core, K1, K2)
    _, swapped = pencil(core, K2, K1)
    assert np.abs(nu + swapped[::-1]).max() <= SAFETY * 40 * EPS * condition(K1 + K2, 40)


def test_mean_and_difference_of_the_pencil(core):
    """M and D that the values give are those of the equations (2) and (3)."""
    K1, K2 = positive(25, seed=1), positive(25, seed=2)
    W, nu = pencil(core, K1, K2)
    geometric = np.sqrt((1 - nu) * (1 + nu)) / 2
    allowed = SAFETY * 25 * EPS * (np.linalg.cond(K1) + np.linalg.cond(K2)) ** 2  # the equations invert K1 and M
    assert norm((W * geometric) @ W.T - oracle.geometric_mean(K1, K2)) <= allowed
    assert norm((W * (geometric * np.arctanh(nu))) @ W.T - oracle.difference(K1, K2)) <= allowed


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("wrong", [np.eye(3), np.eye(3, dtype=np.float32).T, np.eye(3, dtype=int)])
def test_other_types_are_refused_not_copied(core, wrong):
    wrong = wrong if wrong.dtype != np.float64 else np.ascontiguousarray(np.arange(9.0).reshape(3, 3))
    with pytest.raises(TypeError):
        core.eigh(wrong, run.Run(1))
    with pytest.raises(TypeError):
        core.pencil(fresh(np.eye(3)), wrong, run.Run(1))


def test_shapes_that_do_not_fit(core):
    with pytest.raises(ValueError, match="square"):
        core.eigh(fresh(np.ones((3, 2))), run.Run(1))
    with pytest.raises(ValueError, match="same size"):
        core.pencil(fresh(np.eye(3)), fresh(np.eye(2)), run.Run(1))
    with pytest.raises(ValueError, match="got 0"):
        core.eigh(fresh(np.empty((0, 0))), run.Run(1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_values(core, value):
    A = np.eye(5)
    A[3, 1] = value
    with pytest.raises(ValueError, match="row 3, column 1"):
        core.eigh(fresh(A), run.Run(1))
    for pair in ((A, np.eye(5)), (np.eye(5), A)):
        with pytest.raises(ValueError, match="row 3, column 1"):
            pencil(core, *pair)


def test_memory_budget(core):
    with pytest.raises(MemoryError, match="is 5000 bytes"):
        core.eigh(fresh(np.eye(100)), run.Run(1, 5000))
    with pytest.raises(MemoryError, match="is 5000 bytes"):
        core.pencil(fresh(np.eye(100)), fresh(np.eye(100)), run.Run(1, 5000))
