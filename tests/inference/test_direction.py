"""Direction of features against plain NumPy and SciPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import spearmanr

import fastfs

rng = np.random.default_rng(0)


def oracle(X, y):
    """Cliff's delta by comparing all pairs, and differences of medians."""
    effects, differences = [], []
    for name in np.unique(y):
        delta, median = [], []
        for column in X.T:
            present = ~np.isnan(column)
            ours, rest = column[present & (y == name)], column[present & (y != name)]
            delta.append(np.sign(ours[:, None] - rest).mean() if len(ours) and len(rest) else 0.0)
            median.append(np.median(ours) - np.median(rest) if len(ours) and len(rest) else np.nan)
        effects.append(delta)
        differences.append(median)
    return np.array(effects), np.array(differences)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_classes(n_classes, gaps, ties):
    X, y = rng.normal(size=(45, 12)), np.array(list("cabd"))[rng.integers(0, n_classes, 45)]
    X[:, 2] += 3 * (y == "a")
    X[:, 3] = 1.0
    if ties:
        X = np.round(X)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:, 4] = np.nan
        X[y == "a", 5] = np.nan
    result = fastfs.direction(X, y)
    effects, differences = oracle(X, y)
    np.testing.assert_allclose(result.effects, effects, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(result.median_differences, differences)
    assert result.classes.tolist() == np.unique(y).tolist()
    assert result.describe()[2] == "high in a"
    assert result.describe()[3] == ""


def test_two_classes_are_high_in_one():
    """Sums of ranks that round differently don't make a feature low in the other class."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        X, y = draw.normal(size=(37, 20)), draw.integers(0, 2, 37)
        result = fastfs.direction(X, y)
        expected = [f"high in {int(effect > 0)}" if effect else "" for effect in oracle(X, y)[0][1]]
        assert result.describe() == expected


@pytest.mark.parametrize("gaps", [False, True])
def test_numbers(gaps):
    X, y = np.round(rng.normal(size=(40, 9)), 1), rng.normal(size=40)
    X[:, 1] += y
    X[:, 2] -= 2 * y
    X[:, 3] = 0
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    result = fastfs.direction(X, y)
    assert result.classes is None
    assert result.effects.shape == (1, 9)
    for j, column in enumerate(X.T):
        present = ~np.isnan(column)
        if j != 3:
            assert result.effects[0, j] == pytest.approx(spearmanr(column[present], y[present])[0], abs=1e-12)
        high = present & (y > np.median(y))
        low = present & (y <= np.median(y))
        assert result.median_differences[0, j] == np.median(column[high]) - np.median(column[low])
    assert result.describe()[1:4] == ["rises", "falls", ""]


def test_inputs_are_alike(monkeypatch):
    X, y = rng.integers(0, 3, size=(30, 14)).astype(float), np.arange(30) % 3
    expected = fastfs.direction(X, y)
    pd = pytest.importorskip("pandas")
    genotypes = fastfs.io.pack_genotypes(X.astype(int))
    for form in (sparse.csr_matrix(X), sparse.csc_array(X), X.astype("float32"), pd.DataFrame(X), genotypes):
        np.testing.assert_array_equal(fastfs.direction(form, y).effects, expected.effects)
    monkeypatch.setattr("fastfs._functions.direction._BLOCK", 70)  # two columns at a time
    np.testing.assert_array_equal(fastfs.direction(X, y).effects, expected.effects)
    np.testing.assert_array_equal(fastfs.direction(X, y.astype(str)).median_differences, expected.median_differences)


@pytest.mark.parametrize(
    "X, y, message",
    [
        ([[1.0, 2], [np.inf, 1]], [0, 1], "X must not have infinity; got it in row 1, column 0"),
        ([[1.0], [2]], [[0.5, 1], [1, 2]], "y must hold a label or one number"),
        ([[1.0], [2]], None, "y must hold a label or one number"),
        ([[1.0], [2]], ["a", "a"], "two classes"),
        ([[1.0], [2]], ["a", "b", "a"], "rows|samples"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(ValueError, match=message):
        fastfs.direction(X, y)


def test_memory():
    with pytest.raises(MemoryError):
        fastfs.direction(rng.normal(size=(500, 500)), np.arange(500) % 2, max_memory=1000)
