"""What the three searches for pairs have in common: fields, frames, networks, and limits of what they report."""

import dataclasses
import inspect
import json

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr

import fastfs
from sentences import assert_one_sentence

NAMES = [f"gene {j}" for j in range(9)]
SHARED = {
    "pairs", "statistics", "effects", "standard_errors", "degrees", "pvalues_max", "pvalue", "null_maxima", "scores",
    "n_tested", "n_excluded_pairs", "excluded_pairs", "excluded_features", "classes", "n_permutations", "n_distinct",
    "exact", "resolution", "stopped", "design", "feature_names",
}  # fmt: skip


def correlations(**how):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 9)), np.repeat(["a", "b"], 30)
    X[:30, 4] += 2 * X[:30, 1]
    return fastfs.differential_correlation(pd.DataFrame(X, columns=NAMES), y, **how)


def interactions(**how):
    X = np.random.default_rng(4).normal(size=(60, 9))
    return fastfs.interaction_scan(pd.DataFrame(X, columns=NAMES), X[:, 1] * X[:, 4], **how)


def genotypes(**how):
    G = np.random.default_rng(5).integers(0, 3, (200, 9))
    return fastfs.snp_pairs(pd.DataFrame(G, columns=NAMES), (G[:, 1] == 1) ^ (G[:, 4] == 1), **how)


SEARCHES = pytest.mark.parametrize("search", [correlations, interactions, genotypes])


@SEARCHES
def test_fields_have_the_same_names(search):
    found = search(n_permutations=19)
    assert {f.name for f in dataclasses.fields(found)} >= SHARED
    assert found.pairs[0].tolist() == [1, 4]
    assert found.names[0].tolist() == ["gene 1", "gene 4"]
    assert found.pvalue == found.pvalues_max[0] == 0.05
    assert found.n_tested == len(found.pairs) == 36
    assert sum(found.n_excluded_pairs.values()) == len(found.excluded_pairs) == len(found.excluded_features) == 0
    assert np.all(np.diff(np.abs(found.statistics)) <= 0)
    assert len(repr(found)) < 1500


def test_numbers_may_be_python_objects():
    X = np.random.default_rng(4).normal(size=(60, 5))
    G, y = (X > 0).astype(int) + (X > 1), np.random.default_rng(5).normal(size=60)
    for find, table in ((fastfs.interaction_scan, X), (fastfs.differential_correlation, X), (fastfs.snp_pairs, G)):
        found, expected = (find(table, y.astype(kind), n_permutations=9) for kind in (object, float))
        np.testing.assert_array_equal(found.pvalues_max, expected.pvalues_max)
        assert found.classes is None


@SEARCHES
def test_the_first_of_more_pairs(search):
    """Asking for fewer pairs changes nothing of the first ones, p-values included."""
    every = search(n_permutations=19)
    for k in (1, 2, 7, 35):
        few = search(n_permutations=19, n_pairs=k)
        assert len(few.pairs) == k
        for f in dataclasses.fields(every):
            whole, part = getattr(every, f.name), getattr(few, f.name)
            if f.name == "pairs" or f.name in every._of_pairs:
                np.testing.assert_array_equal(part, whole if whole is None else whole[:k])
            elif f.name != "null_maxima":
                np.testing.assert_array_equal(part, whole)


@SEARCHES
def test_a_limit_by_p(search):
    every = search(n_permutations=19)
    some = search(n_permutations=19, alpha=0.5)
    n = int(np.sum(every.pvalues_max <= 0.5))
    assert 0 < n < 36
    np.testing.assert_array_equal(some.pairs, every.pairs[:n])
    for f in every._of_pairs:
        assert getattr(every, f) is None or len(getattr(some, f)) == n
    assert (some.pvalue, some.n_tested) == (every.pvalue, 36)
    with pytest.warns(fastfs.DataWarning, match=r"alpha is 0.04, but no p-value of this test can be below 0.05"):
        none = search(n_permutations=19, alpha=0.04)
    assert (none.pairs.shape, none.pvalue, none.names.shape) == ((0, 2), 0.05, (0, 2))
    assert none.to_network() == []
    assert len(none.to_frame()) == 0
    assert len(search(n_permutations=19, alpha=0.5, n_pairs=1).pairs) == 1


@SEARCHES
@pytest.mark.parametrize(
    "parameters, error, words",
    [
        ({"alpha": 0.05, "n_permutations": 0}, ValueError, "n_permutations must be above 0 with alpha; got 0"),
        ({"alpha": 0.0}, ValueError, "alpha must lie between 0 and 1; got 0.0"),
        ({"alpha": 1}, ValueError, "alpha must lie between 0 and 1; got 1"),
        ({"alpha": np.nan}, ValueError, "alpha must lie between 0 and 1; got nan"),
        ({"alpha": "5 %"}, TypeError, "alpha must be a number; got '5 %'"),
    ],
)
def test_limits_that_are_refused(search, parameters, error, words):
    with pytest.raises(error) as caught:
        search(**({"n_permutations": 9} | parameters))
    assert_one_sentence(caught, words)


@SEARCHES
def test_frames(search):
    found = search(n_permutations=19)
    frame = found.to_frame()
    assert list(frame) == ["feature_a", "feature_b", *found.columns]
    assert {"statistic", "pvalue_max"} < set(frame)
    assert frame[["feature_a", "feature_b"]].to_numpy().tolist() == found.names.tolist()
    np.testing.assert_array_equal(frame["statistic"], found.statistics)
    polars = pytest.importorskip("polars")
    other = found.to_frame("polars")
    assert isinstance(other, polars.DataFrame)
    assert other.to_dict(as_series=False) == frame.to_dict("list")
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'; got 'csv'"):
        found.to_frame("csv")


@SEARCHES
def test_networks(search, tmp_path):
    """As networkx reads it from the list, and from a file that Cytoscape opens, too."""
    networkx = pytest.importorskip("networkx")
    found = search(n_permutations=19)
    network = networkx.Graph(found.to_network())
    assert (network.number_of_nodes(), network.number_of_edges()) == (9, 36)
    for (a, b), statistic, pvalue in zip(found.names, found.statistics, found.pvalues_max, strict=True):
        assert network[a][b]["statistic"] == statistic
        assert network[a][b]["pvalue_max"] == pvalue
    assert ("effect" in network["gene 1"]["gene 4"]) == (found.effects is not None)
    networkx.write_graphml(network, tmp_path / "pairs.graphml")
    again = networkx.read_graphml(tmp_path / "pairs.graphml")
    assert again["gene 1"]["gene 4"] == network["gene 1"]["gene 4"]
    json.dumps(found.to_network())


def test_each_column_is_one_node():
    """Though names occur twice in a table, or in both, or there are none."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    y = X[:, 0] * X[:, 4]
    twice = fastfs.interaction_scan(X[:, :3], y, feature_names=["u", "v", "u"], n_permutations=0)
    assert {node for edge in twice.to_network() for node in edge[:2]} == {"u (X, 0)", "v", "u (X, 2)"}
    frames = pd.DataFrame(X[:, :3], columns=list("uvw")), pd.DataFrame(X[:, 3:], columns=list("xvz"))
    both = fastfs.interaction_scan(frames[0], y, with_table=frames[1], n_permutations=0)
    assert both.names[0].tolist() == ["u", "v"]
    assert both.to_network()[0][:2] == ("u", "v (with_table, 1)")
    assert {a for a, *_ in both.to_network()} == {"u", "v (X, 1)", "w"}
    bare = fastfs.interaction_scan(X[:, :3], y, with_table=X[:, 3:], n_permutations=0)
    assert bare.names is None
    assert bare.to_network()[0][:2] == ("0 (X, 0)", "1 (with_table, 1)")
    half = fastfs.interaction_scan(frames[0], y, with_table=X[:, 3:], n_permutations=0)
    assert half.names[0].tolist() == ["u", 1]
    assert half.to_network()[0][:2] == ("u", "1")


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_effects_of_correlations(correlation):
    """Differences of Fisher's transforms, and their standard errors, in NumPy."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 5)), np.repeat([0, 1], [25, 35])
    found = fastfs.differential_correlation(X, y, correlation=correlation, n_permutations=0)
    values = [X[y == c] for c in (0, 1)]
    if correlation == "spearman":
        values = [v.argsort(axis=0).argsort(axis=0) for v in values]
    transforms = [np.arctanh(np.corrcoef(v, rowvar=False)[tuple(found.pairs.T)]) for v in values]
    np.testing.assert_allclose(found.effects, transforms[0] - transforms[1], rtol=1e-10, atol=1e-12)
    variance = (1.06 if correlation == "spearman" else 1) * (1 / 22 + 1 / 32)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(variance), rtol=1e-12)
    np.testing.assert_allclose(found.effects / found.standard_errors, found.statistics, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_numbers_of_pairs_with_columns_left_out():
    X, y = np.random.default_rng(3).normal(size=(40, 7)), np.repeat([0, 1], 20)
    X[:, 2], X[:, 5] = 1, 2 * X[:, 0]
    found = fastfs.differential_correlation(X, y, features=[0, 1, 2, 5, 6], n_permutations=0)
    assert found.excluded_features.tolist() == [2]
    assert found.excluded_pairs.tolist() == [[0, 5]]
    assert found.n_excluded_pairs == {"copies": 1}
    assert found.n_tested == len(found.pairs) == 4 * 3 // 2 - 1


def test_a_limit_by_p_where_there_are_no_p_values():
    """Groups that move as wholes, with columns of nearly one value."""
    rng = np.random.default_rng(0)
    X, donors = (rng.random((72, 6)) < 0.1).astype(float), np.repeat(np.arange(12), 6)
    with pytest.raises(ValueError, match="alpha must be left out") as caught:
        fastfs.differential_correlation(X, donors % 2, groups=donors, alpha=0.05)
    assert_one_sentence(caught, "alpha must be left out if groups move as wholes")


def test_signatures_share_the_limits():
    for function in (fastfs.differential_correlation, fastfs.interaction_scan, fastfs.snp_pairs):
        parameters = inspect.signature(function).parameters
        assert (parameters["n_pairs"].default, parameters["alpha"].default) == (1000, None)


@pytest.mark.parametrize("search", [fastfs.interaction_scan, fastfs.differential_correlation])
def test_tables_on_disk_give_the_bits_of_memory(search, tmp_path):
    X = np.random.default_rng(4).normal(size=(60, 9))
    np.save(tmp_path / "X.npy", X)
    with h5py.File(tmp_path / "X.h5", "w") as file:
        stored = file.create_dataset("X", data=X, chunks=(7, 3))
        places = [
            tmp_path / "X.npy",
            np.load(tmp_path / "X.npy", mmap_mode="r"),
            stored,
            zarr.array(X, store=str(tmp_path / "X.zarr"), chunks=(7, 3)),
        ]
        how = {"n_permutations": 9, "random_state": 0, "target_type": "number"}
        expected = search(X, X[:, 1] * X[:, 4], **how)
        for place in places:
            found = search(place, X[:, 1] * X[:, 4], **how)
            assert found.statistics.tobytes() == expected.statistics.tobytes()
            assert found.pvalues_max.tobytes() == expected.pvalues_max.tobytes()
