"""Kernel alignment and canonical correlations against their definitions in NumPy and SciPy."""

import re

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import fastfs
from covering import rotating

RNG = np.random.default_rng(0)


def tables(n=50, p=6, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, p)), rng.normal(size=(n, q))
    Y[:, : min(p, q)] += X[:, : min(p, q)]
    return X + 3, Y - 2


def centred_kernel(X, kernel, sigma):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    K = X @ X.T if kernel == "linear" else np.exp(-(D**2) / (2 * (D.mean() if sigma == "mean" else sigma) ** 2))
    H = np.eye(len(X)) - 1 / len(X)
    return H @ K @ H


@rotating(
    1,
    **{"kernel, sigma": [("linear", "mean"), ("rbf", "mean"), ("rbf", 1.7)]},
    shape=[(50, 6, 4), (9, 30, 2), (2, 1, 1)],
)
def test_alignment(shape, kernel, sigma):
    X, Y = tables(*shape)
    K, L = centred_kernel(X, kernel, sigma), centred_kernel(Y, kernel, sigma)
    expected = np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)
    assert fastfs.kernel_alignment(X, Y, kernel=kernel, sigma=sigma) == pytest.approx(expected, rel=1e-10)
    assert fastfs.kernel_alignment(X, 5 * X, kernel=kernel) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("shape", [(50, 6, 4), (9, 30, 2)])
def test_alignment_of_two_kernels(shape):
    X, Y = tables(*shape)
    for kernels in (("rbf", "linear"), ("linear", "rbf")):
        K, L = (centred_kernel(Z, word, "mean") for Z, word in zip((X, Y), kernels, strict=True))
        expected = np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)
        assert fastfs.kernel_alignment(X, Y, kernel=kernels) == pytest.approx(expected, rel=1e-10)
        assert fastfs.kernel_alignment(X, Y, kernel=kernels[0]) != pytest.approx(expected, rel=1e-3)
    with pytest.raises(ValueError, match="kernel must be one word or a tuple of two"):
        fastfs.kernel_alignment(X, Y, kernel=("rbf",))
    with pytest.raises(ValueError, match=r"kernel.*'cubic'"):
        fastfs.kernel_alignment(X, Y, kernel=("rbf", "cubic"))


def test_alignment_lies_from_0_to_1():
    rng = np.random.default_rng(0)
    for X in rng.normal(size=(50, 20, 3)):
        for options in ({}, {"kernel": "rbf"}):
            assert 0 <= fastfs.kernel_alignment(X, X, **options) <= 1


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_alignment_with_labels(kernel):
    X, _ = tables()
    labels = np.array(["a", "b", "c"])[np.arange(50) % 3]
    expected = fastfs.kernel_alignment(X, (labels[:, None] == ["a", "b", "c"]).astype(float), kernel=kernel)
    assert fastfs.kernel_alignment(sp.csr_matrix(X), labels, kernel=kernel) == pytest.approx(expected, rel=1e-12)


def directions(X, Y, ridge):
    """The generalised eigenproblem of both covariances, rather than whitening."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    p, q = X.shape[1], Y.shape[1]
    A, B = X.T @ X, Y.T @ Y
    A, B = A + ridge * np.trace(A) / p * np.eye(p), B + ridge * np.trace(B) / q * np.eye(q)
    C = X.T @ Y
    joint = np.block([[np.zeros((p, p)), C], [C.T, np.zeros((q, q))]])
    values, vectors = scipy.linalg.eigh(joint, scipy.linalg.block_diag(A, B))
    vectors = vectors[:, ::-1][:, : min(p, q)]
    return vectors[:p], vectors[p:], values[::-1][: min(p, q)]


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 0.5])
def test_canonical_correlations(ridge):
    X, Y = tables()
    a, b, values = directions(X, Y, ridge)
    found = fastfs.canonical_correlations(X, Y, ridge=ridge)
    expected = [np.corrcoef(X @ a[:, j], Y @ b[:, j])[0, 1] for j in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    if ridge == 0:
        np.testing.assert_allclose(found, values, rtol=1e-9)
    other = tables(seed=1)
    expected = [np.corrcoef(other[0] @ a[:, j], other[1] @ b[:, j])[0, 1] for j in range(4)]
    np.testing.assert_allclose(fastfs.canonical_correlations(X, Y, ridge=ridge, test=other), expected, rtol=1e-8)


def test_canonical_correlations_of_dependent_columns():
    X, Y = tables()
    expected = fastfs.canonical_correlations(X, Y, ridge=0)
    wider = np.hstack([X, X[:, :2] - X[:, 2:4], np.ones((50, 1))])
    np.testing.assert_allclose(fastfs.canonical_correlations(wider, Y, ridge=0), expected, rtol=1e-9)
    np.testing.assert_allclose(fastfs.canonical_correlations(X[:5], Y[:5], ridge=0), 1, rtol=1e-9)


def test_canonical_correlation_with_labels_is_eta():
    """Of one column and labels: the square is the share of its variance between the classes."""
    x, labels = RNG.normal(size=(60, 1)), np.arange(60) % 3
    found = fastfs.canonical_correlations(x, labels, ridge=0)
    means = np.array([x[labels == c].mean() for c in range(3)])
    assert found[0] ** 2 == pytest.approx(20 * np.sum((means - x.mean()) ** 2) / np.sum((x - x.mean()) ** 2), rel=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1e300])
def test_directions_are_those_that_the_table_of_lower_rank_has(ridge):
    """Columns of zeros and ones add up to one, whatever is added to the variances."""
    X, _ = tables()
    for labels in (np.arange(50) % 2, np.array(["a", "b", "c"])[np.arange(50) % 3]):
        dropped = (labels[:, None] == np.unique(labels)[1:]).astype(float)
        found = fastfs.canonical_correlations(X, labels, ridge=ridge)
        assert len(found) == dropped.shape[1]
        assert np.isfinite(found).all()
        if ridge == 0:
            np.testing.assert_allclose(found, fastfs.canonical_correlations(X, dropped, ridge=0), rtol=1e-9)


def test_labels_of_other_samples_are_those_of_the_first():
    X, _ = tables()
    labels = np.array(["a", "b", "c"])[np.arange(50) % 3]
    columns = (labels[:, None] == ["a", "b", "c"]).astype(float)
    some = labels != "a"
    found = fastfs.canonical_correlations(X, labels, test=(X[some], labels[some]))
    expected = fastfs.canonical_correlations(X, columns, test=(X[some], columns[some]))
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"labels of the classes .*; got 'd' for sample 1"):
        fastfs.canonical_correlations(X, labels, test=(X[:2], ["a", "d"]))


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200])
def test_scale_does_not_matter(scale):
    X, Y = tables()
    kept = {"rtol": 1e-9 if scale > 1e-300 else 1e-4}  # a few digits are left of numbers below 1e-308
    np.testing.assert_allclose(fastfs.canonical_correlations(scale * X, Y), fastfs.canonical_correlations(X, Y), **kept)
    for options in ({}, {"kernel": "rbf"}):
        np.testing.assert_allclose(
            fastfs.kernel_alignment(scale * X, Y, **options), fastfs.kernel_alignment(X, Y, **options), **kept
        )


def test_alignment_tends_to_that_of_linear_kernels_and_of_ones():
    """For large sigma to <XX', YY'>, for small sigma to that of kernels that are 1 for a sample with itself only."""
    X, Y = tables()
    linear = fastfs.kernel_alignment(X, Y)
    assert fastfs.kernel_alignment(X, Y, kernel="rbf", sigma=1e9) == pytest.approx(linear, rel=1e-9)
    assert fastfs.kernel_alignment(X, Y, kernel="rbf", sigma=1e-200) == pytest.approx(1, rel=1e-12)
    with pytest.raises(ValueError, match=r"with sigma=1e\+200 all samples are alike"):
        fastfs.kernel_alignment(X, Y, kernel="rbf", sigma=1e200)


BAD = {
    "lengths": (tables()[0], tables()[1][:-1], {}, "X and y must have the same number of rows; got 50 and 49"),
    "no second": (tables()[0], None, {}, "the second table must be an array; got None"),
    "NaN in X": (
        np.where(np.arange(6) == 2, np.nan, tables()[0]),
        tables()[1],
        {},
        "X must be finite; got NaN or infinity first at row 0, column 2",
    ),
    "NaN in Y": (
        tables()[0],
        np.where(np.arange(4) == 1, np.inf, tables()[1]),
        {},
        "Y must be finite; got NaN or infinity first at row 0, column 1",
    ),
    "constant": (np.ones((50, 3)), tables()[1], {}, "X must have a column that varies; got equal samples"),
    "1-D": (np.ones(50), tables()[1], {}, "X must be a 2-D array"),
}


@rotating(1, name=BAD.keys(), function=["kernel_alignment", "canonical_correlations"])
def test_bad_tables(function, name):
    X, Y, options, part = BAD[name]
    with pytest.raises(ValueError, match=re.escape(part)):
        getattr(fastfs, function)(X, Y, **options)


@pytest.mark.parametrize(
    "call, part",
    [
        (lambda X, Y: fastfs.kernel_alignment(X, Y, kernel="poly"), "kernel must be 'linear' or 'rbf'; got 'poly'"),
        (
            lambda X, Y: fastfs.kernel_alignment(X, Y, kernel="rbf", sigma=0),
            "sigma must be 'mean' or a positive number; got 0",
        ),
        (lambda X, Y: fastfs.canonical_correlations(X, Y, ridge=-1), "ridge must be a number of at least 0; got -1"),
        (
            lambda X, Y: fastfs.canonical_correlations(X, Y, test=(X, Y[:, :2])),
            "the 6 and 4 columns of X and Y; got 6 and 2",
        ),
        (
            lambda X, Y: fastfs.canonical_correlations(X, Y, test=(X, np.full_like(Y, np.nan))),
            "Y of test must be finite; got NaN",
        ),
    ],
)
def test_bad_parameters(call, part):
    with pytest.raises(ValueError, match=re.escape(part)):
        call(*tables())


@pytest.mark.parametrize("test", [(), (1, 2, 3), np.ones((50, 6))])
def test_other_samples_are_two_tables(test):
    with pytest.raises(TypeError, match="test must be a tuple of two tables"):
        fastfs.canonical_correlations(*tables(), test=test)


def test_a_direction_without_variance_in_other_samples():
    X = np.kron([[1.0, 1], [1, -1], [-1, 1], [-1, -1]], np.ones((3, 1)))  # orthogonal columns, which are the directions
    Y = X * [1, 2] + np.array([[0.1, 0.1], [0.1, -0.1], [-0.2, 0.0]] * 4)
    there = X[:6] * [0, 1] + [1, 0]  # only the second column varies
    found = fastfs.canonical_correlations(X, Y, ridge=0.0, test=(there, Y[:6]))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.sort(np.abs(found)), [0, np.abs(found).max()], atol=1e-12)
    assert np.abs(found).max() > 0.9
