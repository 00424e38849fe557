"""Kernels that users write in Python for Numba, and the exponential function that they call."""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import fastfs
from covering import rotating
from reference import affinity as reference

numba = pytest.importorskip("numba")

from fastfs.numba import TileKernel, cosine_power, exp, kernel, laplacian, rational_quadratic  # noqa: E402


def data(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@numba.vectorize
def exp_of(x):
    return exp(x)


def test_exp_is_within_two_units_in_the_last_place():
    x = np.concatenate([np.linspace(-708, 709.78, 200001), np.random.default_rng(0).uniform(-1, 1, 100000)])
    exact = np.exp(x.astype(np.longdouble))
    assert np.finfo(np.longdouble).nmant > 60
    error = np.abs(exp_of(x).astype(np.longdouble) - exact) / np.spacing(exact.astype(float))
    assert error.max() <= 2


def test_exp_at_its_ends():
    x = np.array([0.0, -0.0, -708.0, -708.1, -1e9, -np.inf, 709.78, 709.79, 1e9, np.inf, np.nan])
    with np.errstate(all="ignore"):
        found = exp_of(x)
    np.testing.assert_array_equal(found[[0, 1]], 1.0)
    assert found[2] > 0
    np.testing.assert_array_equal(found[3:6], 0.0)
    assert 1e308 < found[6] < np.inf
    np.testing.assert_array_equal(found[7:10], np.inf)
    assert np.isnan(found[10])


EXAMPLES = {
    "rational_quadratic": (rational_quadratic, 3.0, lambda d2, G, s: 1 / (1 + d2 / (2 * s**2))),
    "laplacian": (laplacian, 5.0, lambda d2, G, s: np.exp(-np.sqrt(d2) / s)),
    "cosine": (cosine_power(1), None, lambda d2, G, s: G / np.sqrt(np.outer(np.diag(G), np.diag(G)))),
    "cosine_power": (cosine_power(3), None, lambda d2, G, s: (G / np.sqrt(np.outer(np.diag(G), np.diag(G)))) ** 3),
}


@rotating(1, name=EXAMPLES.keys(), dtype=[np.float32, np.float64])
def test_worked_kernels(name, dtype):
    kernel, sigma, formula = EXAMPLES[name]
    X = data(37, 410).astype(dtype)
    K = fastfs.affinity(X, kernel=kernel, sigma=sigma, n_threads=3)
    Z = X.astype(float)
    expected = formula(reference.sqeuclidean(Z), Z.T @ Z, sigma)
    np.testing.assert_allclose(K, expected, rtol=0, atol=4 * np.finfo(dtype).eps + 1e-13)
    np.testing.assert_array_equal(K, fastfs.affinity(X, kernel=kernel, sigma=sigma, n_threads=1))
    assert np.linalg.eigvalsh(K.astype(float)).min() > -1e-4


def test_cosine_of_zero_features_is_zero():
    X = data(5, 6)
    X[:, 2] = 0
    K = fastfs.affinity(X, kernel=cosine_power(2))
    assert not K[2].any()
    assert not K[:, 2].any()
    np.testing.assert_allclose(np.delete(np.diag(K), 2), 1, rtol=1e-13)


@pytest.mark.parametrize("power", [0, -1, 1.5, "2"])
def test_powers_that_are_none(power):
    with pytest.raises(ValueError, match="power must be an integer of at least 1"):
        cosine_power(power)


@kernel(tile=True)
def gaussian_tile(tile, row_norms, col_norms, sigma):
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = exp(-tile[i, j] / (2 * sigma * sigma))


@kernel(tile=True)
def cosine_tile(tile, row_norms, col_norms, sigma):
    for i in range(len(row_norms)):
        for j in range(len(col_norms)):
            tile[i, j] = (row_norms[i] + col_norms[j] - tile[i, j]) / (2 * math.sqrt(row_norms[i] * col_norms[j]))


def test_kernels_of_tiles():
    X = data(23, 500)
    np.testing.assert_allclose(
        fastfs.affinity(X, kernel=gaussian_tile, sigma=4.0), fastfs.affinity(X, sigma=4.0), rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(
        fastfs.affinity(X, kernel=cosine_tile), fastfs.affinity(X, kernel=cosine_power(1)), rtol=0, atol=1e-14
    )


def test_jitted_functions_and_constants():
    scale = 7.0

    @kernel
    @numba.njit(fastmath=True)
    def scaled(d2, sigma):
        return 1 / (1 + d2 / scale)

    X = data(5, 30)
    np.testing.assert_allclose(fastfs.affinity(X, kernel=scaled), 1 / (1 + reference.sqeuclidean(X) / 7), rtol=1e-13)


def test_all_methods_take_them():
    X, y = data(40, 30), np.arange(40) % 2
    gram = fastfs.GramAccumulator(30)
    gram.update(X)
    K = fastfs.affinity(X, kernel=laplacian, sigma=5.0)
    np.testing.assert_allclose(gram.affinity(kernel=laplacian, sigma=5.0), K, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        fastfs.affinity_product(X, np.eye(30), kernel=laplacian, sigma=5.0), K, rtol=0, atol=1e-14
    )
    scores = fastfs.manifest_scores(X, y, kernel=gaussian_tile, sigma=(4.0, 5.0))
    np.testing.assert_allclose(scores, fastfs.manifest_scores(X, y, sigma=(4.0, 5.0)), rtol=0, atol=1e-9)


# ------------------------------------------------------------------------------------------------------------ mistakes


def test_functions_with_other_arguments():
    with pytest.raises(TypeError, match=r"a kernel must take \(d2, sigma\) or .*; got three, which takes 3 arguments"):

        @kernel
        def three(d2, norm, sigma):
            return d2

    with pytest.raises(
        TypeError, match=r"a kernel of tiles must take \(tile, row_norms, col_norms, sigma\); got two, which takes"
    ):

        @kernel(tile=True)
        def two(tile, sigma):
            pass

    with pytest.raises(TypeError, match="must be a Python function; got <ufunc 'exp'>"):
        kernel(np.exp)


def test_what_numba_cannot_compile_is_its_error_at_the_first_use():
    @kernel
    def unknown(d2, sigma):
        return d2 + "a"

    with pytest.raises(numba.core.errors.TypingError):
        fastfs.affinity(data(3, 4), kernel=unknown)


@pytest.mark.parametrize(
    "make", [lambda d2, sigma: d2 / 0, lambda d2, sigma: math.nan, lambda d2, sigma: math.log(-d2)]
)
def test_values_that_are_no_numbers(make):
    with pytest.raises(ValueError, match=r"the kernel must return finite numbers; got .* for features 0 and 0"):
        fastfs.affinity(data(3, 4), kernel=kernel(make))


def test_exceptions_show_as_nan(capfd):
    @kernel
    def failing(d2, sigma):
        if d2 > 0:
            raise ValueError("positive")
        return 1.0

    with pytest.raises(ValueError, match="the kernel must return finite numbers"):
        fastfs.affinity(data(3, 4), kernel=failing)
    assert capfd.readouterr().err == ""


def test_asymmetry_is_found():
    @kernel
    def crooked(d2, norm_i, norm_j, sigma):
        return norm_i

    with pytest.raises(ValueError, match="the kernel must be symmetric"):
        fastfs.affinity(data(3, 4), kernel=crooked)


# -------------------------------------------------------------------------------------------------------------- objects


def test_a_kernel_is_still_its_function():
    assert laplacian(4.0, 2.0) == exp(-1.0)
    assert laplacian.__name__ == "laplacian"
    assert "Laplacian" in laplacian.__doc__
    assert repr(laplacian) == "<fastfs kernel laplacian>"
    assert laplacian.address == laplacian.address > 0


def test_kernels_are_copied_and_pickled_as_functions_are():
    assert copy.deepcopy(laplacian) is laplacian
    assert pickle.loads(pickle.dumps(laplacian)) is laplacian
    assert pickle.loads(pickle.dumps(gaussian_tile)) is gaussian_tile


def test_joblib_processes_take_them():
    scale = 3.0

    def local(d2, sigma):
        return 1 / (1 + d2 / scale)

    X = data(5, 8)
    tasks = [joblib.delayed(fastfs.affinity)(X, kernel=k) for k in (kernel(local), laplacian)]
    first, second = joblib.Parallel(n_jobs=2)(tasks)
    np.testing.assert_array_equal(first, fastfs.affinity(X, kernel=kernel(local)))
    np.testing.assert_array_equal(second, fastfs.affinity(X, kernel=laplacian))


def test_threads_that_use_a_kernel_first_at_once():
    fresh = TileKernel(lambda d2, sigma: 1 / (1 + d2))
    X = data(5, 200)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: fastfs.affinity(X, kernel=fresh), range(8)))
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_import_says_what_is_missing(python):
    code = "import sys\nsys.modules['numba'] = None\nimport fastfs.numba"
    finished = python(code)
    assert finished.returncode == 1
    assert "fastfs.numba needs numba: python -m pip install 'scikit-fastfs[numba]'" in finished.stderr


def test_import_of_fastfs_leaves_numba_alone(python):
    finished = python("import fastfs, sys\nassert 'numba' not in sys.modules\nprint(fastfs.numba.exp(0.0))")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "1.0\n"
