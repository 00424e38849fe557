"""The panel designer on cells."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fastfs import tl
from reference import projse as oracle

anndata = pytest.importorskip("anndata")


def cells(n=120, d=30, n_types=4, seed=0):
    """Types with two genes each that are high there, the second one weaker, and a copy of each first one."""
    rng = np.random.default_rng(seed)
    types = np.arange(n) % n_types
    X = rng.normal(size=(n, d))
    for t in range(n_types):
        X[:, t] += 3 * (types == t)
        X[:, n_types + t] += 2 * (types == t)
        X[:, 2 * n_types + t] = X[:, t] + 0.1 * X[:, 2 * n_types + t]
    return anndata.AnnData(
        X,
        obs=pd.DataFrame(
            {"type": np.array(list("abcd"))[types], "donor": [f"donor {i // 24}" for i in range(n)]},
            index=[f"cell{i}" for i in range(n)],
        ),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(d)]),
    )


def choose(X, labels, n, given=()):
    """The plain choice on what the given genes don't explain."""
    X, Y = X - X.mean(axis=0), oracle.one_hot(labels)
    Q = np.linalg.qr(X[:, list(given)])[0]
    X, Y = (part - Q @ (Q.T @ part) for part in (X, Y - Y.mean(axis=0)))
    X[:, list(given)] = 0
    return oracle.beyond(X, Y, oracle.by_projector(X, Y, n).selected, n)[0]


def names(numbers):
    return [f"gene{j}" for j in numbers]


def test_genes_are_those_of_the_plain_choice():
    adata = cells()
    tl.panel(adata, "type", n=8)
    found = adata.uns["panel"]["genes"]
    expected = choose(adata.X, adata.obs["type"].to_numpy(), 8)
    assert found["names"].tolist() == names(expected)
    assert np.all(np.diff(found["explained"]) > 0)
    assert adata.var["panel_rank"].to_numpy()[expected].tolist() == list(range(1, 9))
    assert np.flatnonzero(adata.var["panel_selected"]).tolist() == sorted(expected)
    shown = found[found["names"].isin(names(range(4)))]
    assert shown["highest_in"].tolist() == ["abcd"[int(name[4:])] for name in shown["names"]]


def test_given_genes_come_first_and_are_not_repeated():
    adata = cells()
    tl.panel(adata, "type", n=4, given=["gene1", "gene0"])
    found = adata.uns["panel"]["genes"]
    expected = choose(adata.X, adata.obs["type"].to_numpy(), 4, given=[0, 1])
    assert found["names"].tolist() == ["gene0", "gene1", *names(expected)]
    assert found["chosen_for"].tolist() == ["given"] * 2 + ["all"] * 4
    assert not {"gene8", "gene9"} & set(found["names"][:4])  # copies of the given ones
    assert adata.uns["panel"]["accuracy"]["n_genes"].tolist() == [0, 1, 2, 4]
    assert adata.var["panel_rank"].iloc[:2].tolist() == [0, 0]
    assert adata.var["panel_selected"].iloc[:2].all()


def test_genes_of_each_type_come_in_turn():
    adata = cells()
    tl.panel(adata, "type", n=10, per_group=2)
    found = adata.uns["panel"]["genes"]
    labels = adata.obs["type"].to_numpy()
    own = [choose(adata.X, labels == t, 2) for t in "abcd"]
    turns = list(dict.fromkeys(own[t][place] for place in range(2) for t in range(4)))
    assert found["names"].tolist() == names([*turns, *choose(adata.X, labels, 10 - len(turns), turns)])
    assert found["chosen_for"].iloc[:4].tolist() == list("abcd")
    tl.panel(adata, "type", n=8, per_group=2)
    assert len(adata.uns["panel"]["genes"]) == 8


def test_accuracy_is_that_of_cells_without_a_say():
    """Each fold holds whole donors, and the choice is repeated without them."""
    adata = cells()
    tl.panel(adata, "type", n=6, donors="donor", n_splits=5)
    X, labels, donors = adata.X, adata.obs["type"].to_numpy(), adata.obs["donor"].to_numpy()
    recall = np.zeros((4, 4))
    for donor in np.unique(donors):
        known = donors != donor
        genes = choose(X[known], labels[known], 6)
        for place, size in enumerate((1, 2, 5, 6)):
            model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=np.full(4, 0.25))
            told = model.fit(X[known][:, genes[:size]], labels[known]).predict(X[~known][:, genes[:size]])
            recall[place] += [np.sum((told == t) & (labels[~known] == t)) / np.sum(labels == t) for t in "abcd"]
    found = adata.uns["panel"]
    assert found["recall"].columns.tolist() == ["1", "2", "5", "6"]
    np.testing.assert_allclose(found["recall"].to_numpy().T, recall)
    np.testing.assert_allclose(found["accuracy"]["balanced_accuracy"], recall.mean(axis=1))
    assert found["accuracy"]["hardest"].tolist() == ["abcd"[t] for t in found["recall"].to_numpy().argmin(axis=0)]


def test_noise_is_told_apart_by_chance():
    """Choosing genes on the judged cells would show far more than one cell in two."""
    rng = np.random.default_rng(1)
    adata = anndata.AnnData(rng.normal(size=(200, 500)), obs={"type": rng.permutation(np.repeat(["a", "b"], 100))})
    tl.panel(adata, "type", n=20)
    assert 0.35 < adata.uns["panel"]["accuracy"]["balanced_accuracy"].iloc[-1] < 0.65
    assert adata.uns["panel"]["genes"]["explained"].iloc[-1] > 0.4


def test_frequent_types_are_sampled():
    adata = cells(n=400)
    keep = (adata.obs["type"] == "a").to_numpy() | (np.arange(400) < 120)
    adata = adata[keep].copy()
    tl.panel(adata, "type", n=5, n_cells=30, n_splits=0)
    assert adata.uns["panel"]["params"]["n_cells"] == 120
    assert "accuracy" not in adata.uns["panel"]
    first = adata.uns["panel"]["genes"]
    tl.panel(adata, "type", n=5, n_cells=30, n_splits=0)
    pd.testing.assert_frame_equal(adata.uns["panel"]["genes"], first)
    tl.panel(adata, "type", n=5, n_cells=None, n_splits=0)
    assert adata.uns["panel"]["params"]["n_cells"] == adata.n_obs


def test_sparse_stored_and_masked(tmp_path):
    adata = cells()
    adata.X[np.abs(adata.X) < 1] = 0
    mask = np.arange(30) % 7 != 0
    tl.panel(adata, "type", n=6, mask_var=mask)
    expected = adata.uns["panel"]
    labels = adata.obs["type"].to_numpy()
    assert expected["genes"]["names"].tolist() == [
        adata.var_names[mask][j] for j in choose(adata.X[:, mask], labels, 6)
    ]
    adata.X = csr_matrix(adata.X)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    for source in (adata, anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")):
        tl.panel(source, "type", n=6, mask_var=mask, key_added="again")
        pd.testing.assert_frame_equal(source.uns["again"]["genes"], expected["genes"])
        pd.testing.assert_frame_equal(source.uns["again"]["accuracy"], expected["accuracy"])
        assert not source.var["again_selected"].to_numpy()[~mask].any()
    adata.write_h5ad(tmp_path / "results.h5ad")
    read = anndata.read_h5ad(tmp_path / "results.h5ad").uns["panel"]
    assert read["recall"].to_numpy().tolist() == expected["recall"].to_numpy().tolist()


def test_copy():
    adata = cells()
    other = tl.panel(adata, "type", n=3, copy=True, n_splits=2)
    assert "panel" not in adata.uns
    assert "panel" in other.uns


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"groupby": "kind"}, KeyError, "no column 'kind'"),
        ({"groups": ["a", "z"]}, KeyError, "no cells in group 'z'"),
        ({"groups": ["a"]}, ValueError, "groups must name at least two types; got 'a'"),
        ({"n": 31}, ValueError, "n must be at most 30, the number of genes to choose from; got 31"),
        ({"n": 29, "given": ["gene3", "gene4"]}, ValueError, "n must be at most 28"),
        ({"n": 0}, ValueError, "n must be"),
        ({"n": 2.5}, TypeError, "n must be"),
        ({"given": ["gene99"]}, ValueError, "given holds 'gene99', which isn't a column name"),
        ({"given": [f"gene{j}" for j in range(30)]}, ValueError, "given must leave genes to choose from; got all"),
        ({"given": np.zeros((120, 1))}, ValueError, "given must list genes; got a table"),
        ({"n": 7, "per_group": 2}, ValueError, "n must be at least 8, since per_group=2"),
        ({"per_group": -1}, ValueError, "per_group must be"),
        ({"n_splits": 1}, ValueError, "n_splits must be at least 2, or 0 for no folds; got 1"),
        ({"n_splits": 6, "donors": "donor"}, ValueError, "n_splits must be at most 5, the number of groups; got 6"),
        ({"n_cells": 1}, ValueError, "n_cells must be"),
        ({"donors": "person"}, KeyError, "no column 'person'"),
        ({"layer": "raw"}, KeyError, "no layer 'raw'"),
        ({"pergroup": 1}, TypeError, "per_group"),
    ],
)
def test_bad_input(options, error, message):
    adata = cells()
    with pytest.raises(error, match=message):
        tl.panel(adata, **{"groupby": "type", "n": 5, **options})
    assert not adata.uns
    assert not list(adata.var)


def test_bad_values_are_named():
    adata = cells()
    adata.X[5, 7] = np.nan
    with pytest.raises(ValueError, match=r"cell 5 'cell5'.*gene 7 'gene7'"):
        tl.panel(adata, "type", n=5)
    assert not adata.uns
    adata = cells()
    adata.obs.loc["cell3", "donor"] = None
    with pytest.raises(ValueError, match="1 cell has no donor: cell3"):
        tl.panel(adata, "type", n=5, donors="donor")


def test_constant_genes_are_left():
    adata = cells(d=14)
    adata.X[:, 12:] = 1
    with pytest.warns(match="12"):
        tl.panel(adata, "type", n=14, n_splits=2)
    found = adata.uns["panel"]
    assert len(found["genes"]) == 12
    assert found["accuracy"]["n_genes"].iloc[-1] == 14
