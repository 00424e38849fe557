"""Tools for AnnData, with the real scanpy."""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from scipy.stats import false_discovery_control
from sklearn.base import clone

import fastfs
from covering import covering, rotating, some, together
from fastfs import tl
from fastfs._inputs.design import Design
from fastfs._inputs.streams import Passes

anndata = pytest.importorskip("anndata")

CALLS = {
    "manifest": {},
    "projse": {"center": True},
    "relief": {},
    "relieff": {},
    "surf": {},
    "multisurf": {},
    "swrf": {},
    "murelief": {},
    "im4e": {},
    "immigrate": {},
    "disc": {"n_components": 3, "bandwidth_neighbors": 5},
    "ikdr": {},
}
SPARSE = ("manifest", "projse", "disc", "relieff", "surf", "multisurf", "swrf", "murelief")
pytestmark = [
    pytest.mark.filterwarnings("ignore::fastfs.DataWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def cells(n_groups=3, n=60, d=20, seed=0, make=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, size=(n, d)).astype("float32")
    labels = np.arange(n) % n_groups
    for g in range(n_groups):
        X[labels == g, g] += rng.poisson(6.0, size=np.sum(labels == g))
    X = np.log1p(X)
    state = pd.Categorical(np.array(["alpha", "beta", "gamma"])[labels])
    return anndata.AnnData(
        make(X),
        obs=pd.DataFrame({"state": state}, index=[f"cell{i}" for i in range(n)]),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(d)]),
    )


def fitted(word, X, y):
    names = {"disc": "DiSC", "manifest": "ManiFeSt", "projse": "ProjSe", "relief": "Relief", "relieff": "ReliefF"}
    names |= {"surf": "SURF", "multisurf": "MultiSURF", "swrf": "SWRF", "murelief": "MuRelief"}
    names |= {"im4e": "IM4E", "immigrate": "Immigrate", "ikdr": "IKDR"}
    return getattr(fastfs, names[word])(**CALLS[word]).fit(X, y)


@pytest.mark.parametrize("word", CALLS)
def test_each_against_the_rest(word):
    adata = cells()
    assert getattr(tl, word)(adata, "state", **CALLS[word]) is None
    y = adata.obs["state"].astype(str).to_numpy()
    whole = fitted(word, adata.X, y)
    np.testing.assert_allclose(adata.var[f"{word}_scores"], whole.scores_, rtol=1e-6)
    assert np.array_equal(adata.var[f"{word}_rank"], whole.ranking_)
    assert np.array_equal(adata.var[f"{word}_selected"], whole.get_support())
    found = adata.uns[word]
    assert found["names"].dtype.names == ("alpha", "beta", "gamma")
    for place, group in enumerate(("alpha", "beta", "gamma")):
        if word in ("manifest", "disc"):
            expected = whole.class_scores_[place]
        else:
            expected = fitted(word, adata.X, np.where(y == group, "group", "rest")).scores_
        scores = pd.Series(found["scores"][group], index=found["names"][group])
        np.testing.assert_allclose(scores[adata.var_names], expected, rtol=1e-6)
        assert np.all(np.diff(found["scores"][group]) <= 0)
        assert np.isnan(found["pvals"][group]).all()
        assert np.isnan(found["pvals_adj"][group]).all()
    assert found["params"]["method"] == f"fastfs.{word}"
    assert found["params"]["fastfs_version"] == fastfs.__version__


@rotating(1, word=CALLS.keys(), make=[csr_matrix, csc_matrix])
def test_sparse_is_dense(word, make):
    plain, sparse = cells(), cells(make=make)
    getattr(tl, word)(plain, "state", **CALLS[word])
    getattr(tl, word)(sparse, "state", **CALLS[word])
    for group in ("alpha", "beta", "gamma"):
        tables = [
            pd.DataFrame(
                {c: a.uns[word][c][group] for c in ("scores", "logfoldchanges")}, index=a.uns[word]["names"][group]
            )
            for a in (plain, sparse)
        ]
        np.testing.assert_allclose(tables[1].loc[plain.var_names], tables[0].loc[plain.var_names], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("word", SPARSE)
def test_sparse_stays_sparse(word, monkeypatch):
    adata = cells(make=csr_matrix)

    for method in ("toarray", "todense"):
        make_dense = getattr(csr_matrix, method)

        def watched(self, *args, make_dense=make_dense, **kwargs):
            assert self.shape[0] <= 3, "made dense"  # sums of the three groups are
            return make_dense(self, *args, **kwargs)

        monkeypatch.setattr(csr_matrix, method, watched)
    getattr(tl, word)(adata, "state", **CALLS[word])


def test_ikdr_of_blood_cells():
    """Weights of few genes, which sum to one in each comparison; among genes that many cells have, known markers."""
    sc = pytest.importorskip("scanpy")
    folder = os.environ.get("FASTFS_TEST_DATA")
    if not folder:
        pytest.skip("FASTFS_TEST_DATA isn't set: it names the folder of the real data sets")
    adata = anndata.read_h5ad(Path(folder) / "sc_pbmc68k_reduced.h5ad")
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    adata = adata[np.random.default_rng(0).permutation(700)[:300]].copy()
    sc.pp.filter_genes(adata, min_cells=60)
    groups = ["Dendritic", "CD19+ B", "CD56+ NK"]
    tl.ikdr(adata, "label", groups=groups)
    found = adata.uns["ikdr"]
    for group in groups:
        weights = found["scores"][group]
        chosen = weights > 0
        assert 1 <= chosen.sum() < adata.n_vars / 4
        assert weights[chosen].sum() == pytest.approx(1, abs=1e-5)
        assert np.all(weights[~chosen] < 0)
    assert found["names"]["CD19+ B"][0] == "CD79A"
    assert set(found["names"]["CD56+ NK"][:6]) & {"GNLY", "NKG7", "GZMA", "GZMB", "PRF1", "CST7", "CTSW"}
    assert set(found["names"]["Dendritic"][:3]) & {"FCER1A", "CST3"}
    whole = adata.var["ikdr_scores"]
    assert np.array_equal(adata.var["ikdr_selected"], whole > 0)
    assert whole[whole > 0].sum() == pytest.approx(1, abs=1e-6)
    tl.ikdr(adata, "label", groups=["CD56+ NK"], reference="CD19+ B", n_permutations=19, key_added="pair")
    table = sc.get.rank_genes_groups_df(adata, "CD56+ NK", key="pair")
    assert table["pvals"].iloc[0] == 0.05  # of 496 genes the best one


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_groups_that_did_not_converge_are_named(n_jobs):
    from joblib import parallel_config
    from sklearn.exceptions import ConvergenceWarning

    with parallel_config("loky", n_jobs=n_jobs), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tl.ikdr(cells(), "state", max_iter=1, max_inner=1, tol=1e-12)
    messages = [str(w.message) for w in said if w.category is ConvergenceWarning]
    assert messages[-1].startswith("IKDR did not converge for alpha, beta, gamma")


def blocks(n_groups=2):
    """Ten genes for each group, which are correlated in that group only."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(100 * n_groups, 60)), np.repeat(np.arange(n_groups), 100)
    for group in range(n_groups):
        X[labels == group, 20 * group : 20 * group + 10] += 3 * rng.normal(size=(100, 1))
    return anndata.AnnData(
        X, obs=pd.DataFrame({"state": np.array([*"ABC"])[labels]}, index=[f"c{i}" for i in range(len(X))])
    )


BLOCKS = {"n_components": 3, "bandwidth_neighbors": 5, "n_differential": 1}


@rotating(1, **{"n_groups, reference": [(2, "rest"), (3, "rest"), (3, "B")]}, n_permutations=[0, 9])
def test_each_group_gets_its_own_genes(n_groups, reference, n_permutations):
    adata = blocks(n_groups)
    tl.disc(adata, "state", reference=reference, n_permutations=n_permutations, **BLOCKS)
    for group in adata.uns["disc"]["names"].dtype.names:
        begin = 20 * "ABC".index(group)
        assert {int(name) for name in adata.uns["disc"]["names"][group][:10]} == set(range(begin, begin + 10))


@rotating(
    1, word=[*CALLS, "manifest, ovo"], **{"n_groups, reference": [(2, "rest"), (2, "alpha"), (3, "rest"), (3, "beta")]}
)
def test_scores_of_groups_with_and_without_permutations(word, n_groups, reference):
    """Those of the class, if the method has them, from all groups, or from the group and its reference."""
    word, *rest = word.split(", ")
    options = CALLS[word] | ({"multiclass": rest[0]} if rest else {})
    adata = cells(n_groups)
    # Neither the order of the groups nor that of the categories is the labels'.
    adata.obs["state"] = adata.obs["state"].cat.reorder_categories(sorted(set(adata.obs["state"]))[::-1])
    found = []
    for n_permutations in (0, 3):
        getattr(tl, word)(adata, "state", reference=reference, n_permutations=n_permutations, **options)
        found.append(adata.uns[word])
    names = adata.var_names
    y = adata.obs["state"].astype(str).to_numpy()
    whole = fitted(word, adata.X, y)
    own = hasattr(whole, "class_scores_")
    for group in found[0]["names"].dtype.names:
        without, tested = (pd.Series(one["scores"][group], one["names"][group])[names].to_numpy() for one in found)
        assert np.array_equal(without, tested)
        assert not np.isnan(found[1]["pvals"][group]).any()
        model, kept, labels, name = clone(whole).set_params(**options), np.full(len(y), True), y, group
        if n_groups > 2 and not (own and reference == "rest"):
            kept = kept if reference == "rest" else np.isin(y, [group, reference])
            labels, name = np.where(y == group, "group", "rest"), "group"
        model.fit(adata.X[kept], labels[kept])
        expected = model.class_scores_[model.classes_.tolist().index(name)] if own else model.scores_
        assert np.array_equal(without, expected.astype(np.float32))


@pytest.mark.parametrize("n_groups", [2, 3])
def test_pvalues_are_of_the_groups_own_scores(n_groups):
    adata = blocks(n_groups)[:, :24].copy()
    tl.disc(adata, "state", n_permutations=9, **BLOCKS)
    y = adata.obs["state"].to_numpy(dtype=str)
    model = fastfs.DiSC(**BLOCKS)
    true = model.fit(adata.X, y).class_scores_
    reached = np.zeros(true.shape)
    for labeling in Design(y).labelings(0, 9):
        reached += model.fit(adata.X, labeling).class_scores_ >= true
    for row, group in enumerate("ABC"[:n_groups]):
        table = pd.DataFrame(
            {c: adata.uns["disc"][c][group] for c in ("pvals", "pvals_adj")}, adata.uns["disc"]["names"][group]
        )
        pvalues = (1 + reached[row]) / 10
        np.testing.assert_allclose(table["pvals"][adata.var_names], pvalues)
        np.testing.assert_allclose(table["pvals_adj"][adata.var_names], false_discovery_control(pvalues))


def test_two_groups_and_a_reference():
    adata = cells()
    tl.relieff(adata, "state", groups=["alpha"], reference="gamma")
    two = adata[adata.obs["state"] != "beta"].copy()
    tl.relieff(two, "state")
    expected = fastfs.ReliefF().fit(two.X, two.obs["state"].astype(str)).scores_
    for found, group in ((adata.uns["relieff"], "alpha"), (two.uns["relieff"], "alpha"), (two.uns["relieff"], "gamma")):
        scores = pd.Series(found["scores"][group], index=found["names"][group])
        np.testing.assert_allclose(scores[adata.var_names], expected, rtol=1e-6)
    assert adata.uns["relieff"]["names"].dtype.names == ("alpha",)
    assert two.uns["relieff"]["names"].dtype.names == ("alpha", "gamma")
    assert adata.uns["relieff"]["params"]["reference"] == "gamma"
    changes = [
        pd.Series(two.uns["relieff"]["logfoldchanges"][g], two.uns["relieff"]["names"][g]) for g in ("alpha", "gamma")
    ]
    np.testing.assert_allclose(changes[0][adata.var_names], -changes[1][adata.var_names], rtol=1e-5)


@covering(reference=["rest", "beta"], base=[None, 2], make=[np.asarray, csr_matrix])
def test_fold_changes_are_scanpys(reference, base, make):
    sc = pytest.importorskip("scanpy")
    adata = cells(make=make)
    adata.uns["log1p"] = {"base": base}
    tl.projse(adata, "state", reference=reference, center=True)
    sc.tl.rank_genes_groups(adata, "state", reference=reference, method="t-test")
    for group in adata.uns["projse"]["names"].dtype.names:
        ours = sc.get.rank_genes_groups_df(adata, group, key="projse").set_index("names")
        theirs = sc.get.rank_genes_groups_df(adata, group).set_index("names")
        np.testing.assert_allclose(
            ours["logfoldchanges"][adata.var_names], theirs["logfoldchanges"][adata.var_names], rtol=1e-4, atol=1e-6
        )


def test_scanpys_functions():
    sc = pytest.importorskip("scanpy")
    import matplotlib

    matplotlib.use("Agg")
    adata = cells()
    tl.multisurf(adata, "state", n_permutations=19)
    table = sc.get.rank_genes_groups_df(adata, None, key="multisurf")
    assert list(table.columns) == ["group", "names", "scores", "logfoldchanges", "pvals", "pvals_adj"]
    assert len(table) == 60
    best = sc.get.rank_genes_groups_df(adata, "beta", key="multisurf", pval_cutoff=0.5)
    assert best["names"].iloc[0] == "gene1"
    assert best["pvals"].iloc[0] == 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc.pl.rank_genes_groups(adata, key="multisurf", n_genes=5, show=False)
        for kind in ("dotplot", "heatmap", "matrixplot", "stacked_violin", "violin", "tracksplot"):
            draw = getattr(sc.pl, f"rank_genes_groups_{kind}")
            draw(adata, key="multisurf", n_genes=3, show=False, **({} if kind == "violin" else {"dendrogram": False}))
    import matplotlib.pyplot as plt

    plt.close("all")


def test_layers_raw_masks_and_names(tmp_path):
    adata = cells()
    adata.layers["other"] = np.ascontiguousarray(adata.X[:, ::-1])
    adata.raw = adata.copy()
    adata.var["chosen"] = np.arange(20) < 12
    subset = adata[:, 3:].copy()
    tl.relieff(subset, "state")  # takes raw, as scanpy does
    assert len(subset.uns["relieff"]["names"]["alpha"]) == 20
    assert subset.uns["relieff"]["params"]["use_raw"] is True
    assert (
        subset.var["relieff_rank"].iloc[0] == fastfs.ReliefF().fit(adata.X, adata.obs["state"].astype(str)).ranking_[3]
    )
    tl.relieff(adata, "state", layer="other", mask_var="chosen", key_added="mine")
    expected = fastfs.ReliefF().fit(adata.layers["other"][:, :12], adata.obs["state"].astype(str))
    np.testing.assert_allclose(adata.var["mine_scores"].iloc[:12], expected.scores_, rtol=1e-6)
    assert adata.var["mine_scores"].iloc[12:].isna().all()
    assert (adata.var["mine_rank"].iloc[12:] == 0).all()
    assert not adata.var["mine_selected"].iloc[12:].any()
    twin = tl.relieff(adata, "state", use_raw=False, key_added="again", copy=True)
    assert "again" in twin.uns
    assert "again" not in adata.uns
    twin.write_h5ad(tmp_path / "twin.h5ad")
    back = anndata.read_h5ad(tmp_path / "twin.h5ad")
    for column in ("names", "scores", "pvals"):
        for group in ("alpha", "gamma"):
            assert np.array_equal(
                back.uns["again"][column][group], twin.uns["again"][column][group], equal_nan=column == "pvals"
            )
    assert back.uns["again"]["params"]["method"] == "fastfs.relieff"
    assert back.var["again_rank"].tolist() == twin.var["again_rank"].tolist()


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_backed(tmp_path, make):
    adata = cells(make=make)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    tl.projse(adata, "state", center=True)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    tl.projse(backed, "state", center=True)
    for column in ("scores", "logfoldchanges"):
        np.testing.assert_allclose(
            backed.uns["projse"][column]["beta"], adata.uns["projse"][column]["beta"], rtol=1e-4, atol=1e-6
        )
    for one in (adata, backed):  # loaded, if a quarter of the budget has room
        tl.relieff(one, "state", mask_var=np.arange(20) < 12)
        tl.projse(one, "state", n_permutations=9, key_added="permuted")
    for key, column in (("relieff", "scores"), ("permuted", "pvals")):
        assert np.array_equal(backed.uns[key][column]["beta"], adata.uns[key][column]["beta"])
    with pytest.raises(MemoryError, match=r"more than a quarter of the memory budget of 9000 bytes"):
        tl.relieff(backed, "state", max_memory=9000)
    with pytest.raises(ValueError, match="copy or a view of a file"):
        tl.projse(backed, "state", copy=True)
    with pytest.raises(ValueError, match="copy or a view of a file"):
        tl.projse(backed[:40], "state")
    backed.file.close()


@pytest.mark.parametrize("form", ["h5ad, CSR", "h5ad, dense", "Dask", "sparse Dask"])
def test_projse_reads_the_cells_once_for_all_groups(tmp_path, form, monkeypatch):
    """Whatever is compared: with the rest, with a reference, with some cells and genes left out."""
    da = pytest.importorskip("dask.array")
    adata = cells(make=csr_matrix if form == "h5ad, CSR" else np.asarray)
    adata.obs["some"] = adata.obs["state"].astype(object).where(np.arange(len(adata)) % 7 > 0)
    if "h5ad" in form:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        other = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    else:
        other = adata.copy()
        other.X = da.from_array(adata.X, chunks=(17, 7 if form == "Dask" else 20))
        if form == "sparse Dask":
            other.X = other.X.map_blocks(csr_matrix)
    passes = []
    run = Passes.run_pass
    monkeypatch.setattr(Passes, "run_pass", lambda self, update: (passes.append(self), run(self, update))[1])
    for options in ({}, {"reference": "alpha"}, {"groups": ["beta"]}, {"mask_var": np.arange(20) % 3 > 0}):
        for column in ("state", "some"):
            options = options | {"drop_unlabelled": column == "some", "key_added": "found", "center": True}
            tl.projse(adata, column, **options)
            passes.clear()
            tl.projse(other, column, **options)
            assert len(passes) == ("h5ad" in form)
            one, two = adata.uns["found"], other.uns["found"]
            assert one["names"].dtype.names == two["names"].dtype.names
            for group in one["names"].dtype.names:
                for what in ("scores", "logfoldchanges"):
                    np.testing.assert_allclose(two[what][group], one[what][group], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(other.var["found_scores"], adata.var["found_scores"], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("form", ["h5ad", "Dask"])
def test_a_bad_value_on_disk_is_named_by_its_cell_and_gene(tmp_path, form):
    da = pytest.importorskip("dask.array")
    adata = cells()
    row = len(adata) - 2
    adata.X[row, 13] = np.nan
    mask = np.arange(20) > 9
    adata.obs["some"] = adata.obs["state"].astype(object).where(np.arange(len(adata)) % 7 != 1)
    assert adata.obs["some"].notna().iloc[row]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    other = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    if form == "Dask":
        other = adata.copy()
        other.X = da.from_array(adata.X, chunks=(17, 20))
    with pytest.raises(ValueError, match=f"first at cell {row} 'cell{row}', gene 13 'gene13': "):
        tl.projse(other, "some", mask_var=mask, drop_unlabelled=True)
    assert "projse" not in other.uns


@pytest.mark.parametrize("method", ["projse", "relief", "multisurf"])
def test_a_value_that_overflows_is_named_by_its_gene(method):
    adata = cells()
    adata.obs["state"] = np.where(np.arange(len(adata)) % 3, adata.obs["state"], "other")
    adata.X = adata.X.astype(np.float64)
    adata.X[:, 13] *= 1.5e308 / np.abs(adata.X[:, 13]).max()
    with pytest.raises(ValueError, match=r"(gene 13 'gene13' of X.*overflow|fit a double; got gene 13 'gene13')"):
        getattr(tl, method)(adata, "state", groups=["other"], mask_var=np.arange(20) > 9)


def test_dask_gives_the_same_bits_whoever_computes():
    dask = pytest.importorskip("dask")
    import dask.array as da

    found = []
    for scheduler in ("sync", "threads"):
        adata = cells(n=400)
        adata.X = da.from_array(adata.X, chunks=(17, 20))
        with dask.config.set(scheduler=scheduler, num_workers=3):
            tl.projse(adata, "state")
        found.append(adata.uns["projse"])
    for column in ("scores", "logfoldchanges"):
        assert np.array_equal(found[0][column]["beta"], found[1][column]["beta"])


def test_projse_of_groups_is_that_of_the_estimator():
    adata = cells()
    tl.projse(adata, "state", reference="gamma")
    state = adata.obs["state"].astype(str).to_numpy()
    kept = np.isin(state, ["alpha", "gamma"])
    expected = fastfs.projse_scores(adata.X[kept].astype(float), state[kept])
    found = adata.uns["projse"]
    order = [adata.var_names.get_loc(name) for name in found["names"]["alpha"]]
    np.testing.assert_allclose(found["scores"]["alpha"], expected[order], rtol=1e-6)


def test_backed_and_writable(tmp_path):
    cells(make=csr_matrix).write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r+")
    tl.projse(backed, "state", center=True)
    backed.write()
    backed.file.close()
    assert anndata.read_h5ad(tmp_path / "cells.h5ad").uns["projse"]["names"]["beta"][0] == "gene1"


@pytest.mark.skipif(not hasattr(anndata.experimental, "read_lazy"), reason="anndata 0.11 has no read_lazy")
def test_lazy(tmp_path):
    pytest.importorskip("xarray")
    adata = cells(make=csr_matrix)
    adata.write_zarr(tmp_path / "cells.zarr")
    lazy = anndata.experimental.read_lazy(tmp_path / "cells.zarr")
    for one in (adata, lazy):
        tl.projse(one, "state", center=True)
    assert np.array_equal(lazy.uns["projse"]["names"]["beta"], adata.uns["projse"]["names"]["beta"])
    assert np.array_equal(lazy.var["projse_rank"].to_series(), adata.var["projse_rank"])
    for one in (adata, lazy):
        tl.relieff(one, "state")
    assert np.array_equal(lazy.uns["relieff"]["scores"]["beta"], adata.uns["relieff"]["scores"]["beta"])


def test_a_view_becomes_a_copy():
    adata = cells()
    view = adata[adata.obs["state"] != "beta", 1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anndata says so itself
        tl.relieff(view, "state")
    assert view.uns["relieff"]["names"].dtype.names == ("alpha", "gamma")
    assert not adata.uns


@pytest.mark.parametrize("sparse", [False, True])
def test_dask(sparse):
    da = pytest.importorskip("dask.array")
    adata = cells()
    lazy = adata.copy()
    lazy.X = da.from_array(adata.X, chunks=(17, 20))
    if sparse:
        lazy.X = lazy.X.map_blocks(csr_matrix)
    tl.projse(adata, "state", center=True)
    tl.projse(lazy, "state", center=True)
    for column in ("scores", "logfoldchanges"):
        np.testing.assert_allclose(
            lazy.uns["projse"][column]["beta"], adata.uns["projse"][column]["beta"], rtol=1e-4, atol=1e-6
        )
    for one in (adata, lazy):
        tl.manifest(one, "state")
    np.testing.assert_allclose(
        lazy.uns["manifest"]["scores"]["beta"], adata.uns["manifest"]["scores"]["beta"], rtol=1e-5, atol=1e-7
    )


def test_groups_side_by_side():
    from joblib import parallel_config

    alone, together = cells(), cells()
    tl.relieff(alone, "state", n_permutations=19)
    with parallel_config("loky", n_jobs=2):
        tl.relieff(together, "state", n_permutations=19)
    for column in ("scores", "pvals", "logfoldchanges"):
        assert np.array_equal(alone.uns["relieff"][column]["gamma"], together.uns["relieff"][column]["gamma"])


def test_counts_as_integers():
    adata = cells(make=lambda X: csr_matrix(np.rint(X).astype("int64")))
    with pytest.warns(fastfs.DataWarning, match="logfoldchanges need X as log1p values; got whole numbers"):
        tl.projse(adata, "state", center=True)
    assert adata.uns["projse"]["names"]["alpha"][0] == "gene0"


def test_scikit_learn_prepares_counts_as_scanpy_does():
    """What docs/omics.md says."""
    sc = pytest.importorskip("scanpy")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer

    counts = csr_matrix(np.random.default_rng(0).poisson(0.5, size=(30, 40)).astype("float32"))
    adata = anndata.AnnData(counts.copy())
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    steps = make_pipeline(Normalizer("l1"), FunctionTransformer(lambda X: (X * 1e4).log1p()))
    np.testing.assert_allclose(steps.fit_transform(counts).toarray(), adata.X.toarray(), rtol=1e-5)


@rotating(
    1,
    **{"word, options": [("projse", {"center": True}), ("manifest", {}), ("relieff", {"n_targets": 96})]},
    form=["h5ad", "Dask"],
)
def test_permutations_of_donors_read_the_cells_once(tmp_path, word, options, form, monkeypatch):
    """Or twice: what is kept of the donors serves all groups and permutations, and equals the test in memory."""
    da = pytest.importorskip("dask.array")
    adata = study()
    adata.obs["state"] = np.array(["alpha", "beta", "gamma"])[np.arange(96) // 8 % 3]
    how = {"n_permutations": 19, "donors": "donor", "key_added": "found"} | options
    cases = [{"groups": ["alpha", "beta"]}, {"mask_var": np.arange(20) % 3 > 0}]
    cases += [{"reference": "alpha"}] if word != "relieff" else []
    adata.write_h5ad(tmp_path / "cells.h5ad")
    if form == "h5ad":
        other = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    else:
        other = adata.copy()
        other.X = da.from_array(adata.X, chunks=(17, 20))
    for case in cases:
        getattr(tl, word)(adata, "state", **how, **case)
        with monkeypatch.context() as patched:
            patched.setattr("fastfs._functions.relief_family._fits_in_memory", lambda *_: False)
            patched.setattr("fastfs._inputs.source.Source.measure", lambda self, run, n=None: (False, self))
            patched.setattr("fastfs._inputs.source.Source.load_rows", None)
            passes = []
            run = Passes.run_pass
            patched.setattr(
                Passes, "run_pass", lambda self, update, n=passes, run=run: (n.append(self), run(self, update))[1]
            )
            getattr(tl, word)(other, "state", **how, **case)
        assert len(passes) == (form == "h5ad") * (2 if word == "relieff" else 1)
        one, two = adata.uns["found"], other.uns["found"]
        for group in one["names"].dtype.names:
            for column in ("scores", "logfoldchanges"):
                np.testing.assert_allclose(two[column][group], one[column][group], rtol=1e-4, atol=1e-5)
            for column in ("names", "pvals", "pvals_max"):
                np.testing.assert_array_equal(two[column][group], one[column][group])


# ------------------------------------------------------------------------------------ batches, donors, covariates, z


def study():
    """Cells of 12 donors in two batches, each donor of one state; the cells' types vary within donors."""
    adata = cells(n_groups=2, n=96)
    donors = np.arange(96) // 8
    adata.obs["donor"], adata.obs["batch"] = [f"d{d}" for d in donors], pd.Categorical(donors % 2)
    adata.obs["illness"] = np.where(donors // 2 % 2, "ill", "well")
    adata.obs["age"] = np.random.default_rng(0).normal(size=12)[donors]
    adata.obs["type"] = pd.Categorical(np.array(["B", "NK", "T"])[np.arange(96) % 3])
    return adata


DESIGNS = [
    ("illness", {"donors": "donor"}),
    ("illness", {"donors": "donor", "batch": "batch"}),
    ("illness", {"donors": "donor", "covariates": ["age"]}),
    ("type", {"donors": "donor"}),
    ("type", {"batch": "batch", "covariates": ["age", "illness"]}),
]


@rotating(1, **{"groupby, design": DESIGNS}, ranking=["score", "z"])
def test_designs_reach_the_test(groupby, design, ranking):
    adata = study()
    tl.relieff(adata, groupby, n_permutations=19, ranking=ranking, **design)
    found = adata.uns["relieff"]
    y = adata.obs[groupby].astype(str).to_numpy()
    given = {"blocks": design.get("batch"), "groups": design.get("donors")}
    given = {name: adata.obs[column].to_numpy() for name, column in given.items() if column}
    if "covariates" in design:
        given["covariates"] = adata.obs[design["covariates"]]
    for group in np.unique(y):
        labels = y if groupby == "illness" else np.where(y == group, "group", "rest")
        test = fastfs.permutation_test(fastfs.ReliefF(), adata.X, labels, n_permutations=19, **given)
        table = pd.DataFrame({c: found[c][group] for c in ("scores", "pvals", "pvals_max")}, found["names"][group])
        expected = test.z if ranking == "z" else test.scores
        assert np.array_equal(found["scores"][group], -np.sort(-expected).astype(np.float32))
        assert np.array_equal(table["scores"][adata.var_names], expected.astype(np.float32))
        assert np.array_equal(table["pvals"][adata.var_names], test.pvalues)
        assert np.array_equal(table["pvals_max"][adata.var_names], test.pvalues_max)
        assert found["label_free"][group].tolist() == [test.label_free]
    assert np.array_equal(adata.var["relieff_scores"], fastfs.ReliefF().fit(adata.X, y).scores_)
    assert {name: found["params"][name] for name in design} == design
    assert found["params"]["ranking"] == ranking


def test_permutations_as_many_as_it_takes():
    """Enough for the groups that differ; an early end for those that don't."""
    adata = study()
    tl.relieff(adata, "illness", n_permutations="auto")
    test = fastfs.permutation_test(fastfs.ReliefF(), adata.X, adata.obs["illness"].astype(str))
    found = adata.uns["relieff"]
    pvalues = pd.Series(found["pvals_max"]["ill"], found["names"]["ill"])[adata.var_names]
    assert np.array_equal(pvalues, test.pvalues_max)
    assert found["params"]["n_permutations"] == "auto"
    tl.differential_correlation(adata, "illness", n_permutations="auto")
    expected = fastfs.differential_correlation(adata.X, adata.obs["illness"].astype(str), n_permutations="auto")
    found = adata.uns["differential_correlation"]
    assert np.array_equal(found["pairs"]["pvals_max"], expected.pvalues_max)
    assert found["params"]["n_permutations"] == expected.n_permutations
    with pytest.raises(ValueError, match="n_permutations must be 'auto' or an integer; got 'many'"):
        tl.relieff(adata, "illness", n_permutations="many")


@pytest.mark.parametrize("word", ["relieff", "manifest"])
def test_permutations_show_their_progress(word):
    """Those of each comparison from 0 to 1; fits under permuted labels are silent."""
    seen = []
    getattr(tl, word)(
        cells(), "state", n_permutations=4, verbose=lambda step, fraction: seen.append((step, fraction)), **CALLS[word]
    )
    shares = [fraction for step, fraction in seen if step == "permutations"]
    n_tests = {"relieff": 3, "manifest": 1}[word]
    assert shares == [0.25, 0.5, 0.75, 1.0] * n_tests
    steps = [step for step, _ in seen]
    begin = steps.index("permutations")
    assert steps[begin : begin + 4] == ["permutations"] * 4


def test_pairs_show_their_progress():
    seen = []
    adata = anndata.AnnData(np.random.default_rng(0).normal(size=(40, 1500)), obs={"state": ["a", "b"] * 20})
    tl.differential_correlation(adata, "state", n_permutations="auto", verbose=lambda *step: seen.append(step))
    assert "labelings" in [step for step, _ in seen]
    shares = [share for _, share in seen]
    assert shares == sorted(shares)  # over both calls of the core: 99 labelings, then 999


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_pairs_go_by_the_names_of_genes():
    adata = cells(2)
    adata.X[::2, 3] = 1.0
    adata.X[:, 7] = 2 * adata.X[:, 5]
    mask = np.arange(20) != 0
    with pytest.warns(fastfs.DataWarning) as warned:
        tl.differential_correlation(adata, "state", n_permutations=0, mask_var=mask)
    messages = [str(w.message) for w in warned]
    assert messages[0].endswith("having no correlation: column 'gene3'")
    assert messages[1].endswith("is left out: columns 'gene5' and 'gene7'")
    tl.differential_correlation(adata, "state", n_permutations=0, mask_var=mask, features=["gene9", "gene4"])
    pairs = adata.uns["differential_correlation"]["pairs"]
    assert pairs[["gene_a", "gene_b"]].to_numpy().tolist() == [["gene4", "gene9"]]


def test_only_the_compared_cells_need_donors():
    adata = study()
    adata.obs.loc[adata.obs["type"] == "T", "donor"] = None
    tl.relieff(adata, "type", groups=["B"], reference="NK", donors="donor", n_permutations=9)
    kept = adata[adata.obs["type"] != "T"]
    labels, donors = (kept.obs[name].astype(str).to_numpy() for name in ("type", "donor"))
    test = fastfs.permutation_test(fastfs.ReliefF(), kept.X, labels, groups=donors, n_permutations=9)
    pvalues = pd.Series(adata.uns["relieff"]["pvals"]["B"], adata.uns["relieff"]["names"]["B"])
    assert np.array_equal(pvalues[adata.var_names], test.pvalues)


def test_without_permutations_there_are_no_pvalues_of_any_kind():
    adata = study()
    tl.relieff(adata, "illness")
    found = adata.uns["relieff"]
    assert np.isnan(found["pvals_max"]["ill"]).all()
    assert np.isnan(found["label_free"]["ill"]).all()


@pytest.mark.parametrize("design", [{}, {"donors": "donor", "covariates": ["age"], "n_permutations": 9}])
def test_results_go_to_a_file_and_back(design, tmp_path):
    adata = study()
    tl.manifest(adata, "type" if not design else "illness", **design)
    adata.write_h5ad(tmp_path / "a.h5ad")
    found = anndata.read_h5ad(tmp_path / "a.h5ad").uns["manifest"]
    for name in ("names", "pvals_max", "label_free"):
        for group in found["names"].dtype.names:
            assert list(found[name][group]) == list(adata.uns["manifest"][name][group]) or not design


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_rankings_that_need_no_groups_are_told():
    adata = cells(n_groups=3)
    adata.X = np.random.default_rng(0).normal(size=(60, 20)) * np.exp(np.linspace(-1, 1, 20)) + 15
    said = r"ManiFeSt ranks genes much as without groups for alpha, beta, gamma: .* \(label_free\): rank by z instead"
    with pytest.warns(fastfs.DataWarning, match=said):
        tl.manifest(adata, "state", n_permutations=9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.manifest(adata, "state", n_permutations=9, ranking="z")


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_few_labelings_are_told():
    adata = study()[:32].copy()  # two donors of each state, two in each batch
    said = "the design allows only 6 labelings for ill, well, so no p-value is below 0.33"
    with pytest.warns(fastfs.DataWarning, match=said):
        tl.relieff(adata, "illness", donors="donor", n_permutations=99, n_neighbors=3)


@together
@pytest.mark.parametrize(
    "call, error, message",
    [
        ({"batch": "place"}, KeyError, "no column 'place'; there are 'state', 'donor'"),
        ({"donors": "gap"}, ValueError, "2 cells have no gap: cell3, cell5: leave them out"),
        ({"covariates": ["gap"]}, ValueError, "2 cells have no gap: cell3, cell5"),
        ({"covariates": "age"}, TypeError, "covariates must be a list of columns of adata.obs; got 'age'"),
        ({"ranking": "p"}, ValueError, "ranking must be 'score' or 'z'"),
        ({"batch": "illness"}, ValueError, "no labeling but the true one is possible: all 48 samples of block"),
        ({"batch": "type", "donors": "donor"}, ValueError, "got group 'd0' in the blocks 'B', 'NK', 'T'"),
        ({"n_permutations": 0, "batch": "batch"}, ValueError, "need permutations: give n_permutations='auto'"),
        ({"n_permutations": 0, "ranking": "z"}, ValueError, "need permutations: give n_permutations='auto'"),
    ],
)
def test_bad_designs(call, error, message):
    adata = study()
    adata.obs["gap"] = ["a", "b", "c", None, "a", np.nan] + ["a"] * 90
    with pytest.raises(error, match=message):
        tl.relieff(adata, "illness", **{"n_permutations": 9} | call)
    assert not adata.uns


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_one_donor_of_each_group_says_nothing_about_the_method():
    """The other labeling is the exchange of the groups, under which scores are the same."""
    adata = study()
    adata.obs["donor"] = adata.obs["illness"].astype(str)
    with pytest.warns(fastfs.DataWarning) as warned:
        tl.relieff(adata, "illness", donors="donor", n_permutations="auto")
    assert adata.uns["relieff"]["label_free"]["ill"][0] > 0.99
    (message,) = [str(w.message) for w in warned]
    assert message.startswith("the design allows only 2 labelings for ill, well")


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_batches_that_contribute_nothing_are_told():
    adata = study()
    adata.obs["plate"] = ["single", *["plate"] * 95]
    with pytest.warns(fastfs.DataWarning, match="1 of 2 blocks has one sample, so it contributes nothing to the test"):
        tl.relieff(adata, "illness", batch="plate", n_permutations=9, ranking="z")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.relieff(adata, "illness", ranking="score")


# ------------------------------------------------------------------------------------------------- samples of donors


def treated(n_donors=6, n_cells=8):
    """Donors of a control and a treated sample each, with an effect of the sample; the cells' types vary in these."""
    adata = cells(n_groups=2, n=2 * n_donors * n_cells)
    sample = np.arange(adata.n_obs) // n_cells
    adata.X += np.random.default_rng(0).uniform(size=(2 * n_donors, 20))[sample].astype(np.float32)
    adata.obs["sample"], adata.obs["donor"] = [f"s{i}" for i in sample], [f"d{i}" for i in sample // 2]
    adata.obs["batch"] = sample % 4 // 2
    adata.obs["arm"] = np.where(sample % 2, "treated", "control")
    adata.obs["illness"] = np.where(sample // 4 % 2, "ill", "well")
    adata.obs["type"] = np.array(["B", "NK", "T"])[np.arange(adata.n_obs) % 3]
    adata.obs["day"] = sample % 3
    return adata


SAMPLES = {
    "samples within donors": ("arm", {"samples": "sample", "donors": "donor"}, ["donor"], "sample"),
    "samples of donors in batches": (
        "arm", {"samples": "sample", "donors": "donor", "batch": "batch"}, ["donor"], "sample",
    ),
    "samples": ("arm", {"samples": "sample"}, [], "sample"),
    "samples in batches": ("arm", {"samples": "sample", "batch": "batch"}, ["batch"], "sample"),
    "donors with one label": ("illness", {"samples": "sample", "donors": "donor"}, [], "donor"),
    "cell types within samples": ("type", {"samples": "sample", "donors": "donor"}, ["sample"], None),
    "cell types within samples of one donor": ("type", {"samples": "donor", "donors": "donor"}, ["donor"], None),
    "cell types within donors": ("type", {"donors": "donor"}, ["donor"], None),
    "cell types within donors and batches": ("type", {"donors": "donor", "batch": "day"}, ["donor", "day"], None),
    "three days, which vary in a donor": ("day", {"samples": "sample", "donors": "donor"}, ["donor"], "sample"),
}  # fmt: skip


@pytest.mark.parametrize("groupby, design, blocks, groups", SAMPLES.values(), ids=SAMPLES)
def test_the_largest_units_with_one_label_move_within_what_holds_them(groupby, design, blocks, groups):
    adata = treated()
    tl.relieff(adata, groupby, n_permutations=19, **design)
    found = adata.uns["relieff"]
    expected = {"blocks": list(zip(*(adata.obs[name] for name in blocks), strict=True)) or None}
    expected["groups"] = None if groups is None else adata.obs[groups].to_numpy()
    y = adata.obs[groupby].astype(str).to_numpy()
    for group in np.unique(y):
        labels = y if len(np.unique(y)) == 2 else np.where(y == group, "group", "rest")
        test = fastfs.permutation_test(fastfs.ReliefF(), adata.X, labels, n_permutations=19, **expected)
        table = pd.DataFrame({c: found[c][group] for c in ("z", "pvals", "pvals_max")}, found["names"][group])
        for column, values in (("z", test.z), ("pvals", test.pvalues), ("pvals_max", test.pvalues_max)):
            assert np.array_equal(table[column][adata.var_names], values)
        about = found["permutations"].loc[group]
        for name in ("pvalue", "n_permutations", "exact", "stopped", "n_distinct", "resolution", "design"):
            assert about[name] == getattr(test, name)
    assert {name: found["params"][name] for name in design} == design


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
@pytest.mark.parametrize("word", ["relieff", "differential_correlation"])
def test_samples_that_may_hide_in_donors_are_told(word):
    """Following the advice to the letter ends the warning."""
    adata = treated(8)
    said = "arm varies within donors, .*: give samples, .*; samples='donor' says that each donor gave one sample"
    with pytest.warns(fastfs.DataWarning, match=said) as warned:
        getattr(tl, word)(adata, "arm", donors="donor", n_permutations=19)
    assert not [w for w in warned if "give the specimens" in str(w.message)]  # which names what tl hasn't got
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*(varies within donors|give the specimens)", fastfs.DataWarning)
        getattr(tl, word)(adata, "arm", donors="donor", samples="sample", n_permutations=19)
        getattr(tl, word)(adata, "arm", donors="donor", samples="donor", n_permutations=19)
        getattr(tl, word)(adata, "illness", donors="donor", n_permutations=19)
        sums = adata[::8].copy()  # a row for each sample
        getattr(tl, word)(sums, "arm", donors="donor", n_permutations=19)


def test_treatments_of_single_cells_would_find_noise():
    """With samples named, noise gives no small p-values."""
    rng, small = np.random.default_rng(0), {"right": 0, "wrong": 0}
    for _ in range(10):
        adata = treated(8, 10)
        sample = np.arange(160) // 10
        adata.X = (rng.normal(size=(160, 20)) + 0.7 * rng.normal(size=(16, 20))[sample] + 20).astype(np.float32)
        for name, design in {"right": {"samples": "sample"}, "wrong": {}}.items():
            tl.relieff(adata, "arm", donors="donor", n_permutations=99, **design)
            small[name] += adata.uns["relieff"]["permutations"].loc["treated", "pvalue"] <= 0.05
    assert small["right"] <= 3
    assert small["wrong"] >= 8


def test_permutations_that_were_made_are_kept(tmp_path):
    """How many, whether all or an early end, and of what; in a file, too."""
    adata = treated()
    rng = np.random.default_rng(0)
    adata.X = rng.normal(size=adata.shape).astype(np.float32)
    tl.relieff(adata, "arm", samples="sample", donors="donor", n_permutations="auto", key_added="few")
    tl.relieff(adata, "type", n_permutations="auto", key_added="many")
    tl.relieff(adata, "type", key_added="none")
    adata.write_h5ad(tmp_path / "kept.h5ad")
    for kept in (adata.uns, anndata.read_h5ad(tmp_path / "kept.h5ad").uns):
        few, many = kept["few"]["permutations"], kept["many"]["permutations"]
        assert few.loc["treated", ["n_permutations", "n_distinct"]].tolist() == [63, 64]
        assert few.loc["treated", ["exact", "stopped"]].tolist() == [True, False]
        assert few.loc["control", "design"] == "6 + 6 groups within 6 blocks"
        assert few.loc["control", "resolution"] == 1 / 32
        assert many["stopped"].all()
        assert (many["n_permutations"] < 999).all()
        assert many.loc["B", "design"] == "32 + 64 samples"
        assert "permutations" not in kept["none"]


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_values_that_are_no_logs_are_told(make):
    sc = pytest.importorskip("scanpy")
    adata = cells()
    counts = np.expm1(adata.X)
    adata.X = make(counts)
    sc.pp.normalize_total(adata, target_sum=1e4)
    with pytest.warns(fastfs.DataWarning, match=r"got values up to \d+: call scanpy\.pp\.log1p first"):
        tl.relieff(adata, "state")
    sc.pp.log1p(adata)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.relieff(adata, "state")
    if make is np.asarray:
        adata.layers["logs"] = adata.X.copy()
        sc.pp.scale(adata)
        with pytest.warns(
            fastfs.DataWarning, match="got means below 0, as after scaling, .* before scaling as a layer"
        ):
            tl.relieff(adata, "state")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tl.relieff(adata, "state", layer="logs")


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_findings_that_scanpys_table_hides_are_told():
    adata = cells(2)
    wide = np.random.default_rng(0).uniform(size=(60, 1500)).astype(np.float32)
    wide[:, 0] += 3 * (np.arange(60) % 2)
    adata = anndata.AnnData(wide, obs=adata.obs)
    said = (
        "above 0.05 for all genes of alpha, beta, because no p-value of 199 permutations is below 0.005 and 1500 genes"
    )
    with pytest.warns(fastfs.DataWarning, match=said):
        tl.relieff(adata, "state", n_permutations=199)
    table = fastfs.get.df(adata, "relieff", group="alpha")
    assert table["pvals_adj"].min() > 0.05
    assert table["names"][table["pvals_max"] <= 0.05].tolist() == ["0"]


# ------------------------------------------------------------------------------------------------ results as in scanpy


def test_results_as_a_table():
    adata = study()
    tl.manifest(adata, "type", n_permutations=19)
    tl.relieff(adata, "illness")
    tl.differential_correlation(adata, "illness", n_permutations=9)
    found, table = adata.uns["manifest"], fastfs.get.df(adata, "manifest")
    assert table["group"].tolist() == [name for name in ("B", "NK", "T") for _ in range(20)]
    for name in ("B", "NK", "T"):
        part = fastfs.get.df(adata, "manifest", group=name)
        pd.testing.assert_frame_equal(table[table["group"] == name].reset_index(drop=True), part)
        for column in ("names", "scores", "z", "logfoldchanges", "pvals", "pvals_adj", "pvals_max"):
            assert np.array_equal(part[column], found[column][name])
        assert (part["label_free"] == found["label_free"][name][0]).all()
    assert fastfs.get.df(adata, "relieff")[["z", "pvals", "pvals_max", "label_free"]].isna().all(axis=None)
    pairs = fastfs.get.df(adata, "differential_correlation")
    pd.testing.assert_frame_equal(pairs, adata.uns["differential_correlation"]["pairs"])
    adata.uns["others"] = {"params": {"method": "wilcoxon"}}
    for key in ("others", "nothing"):
        with pytest.raises(KeyError, match=f"no results of fastfs.tl under '{key}'; it has manifest, relieff"):
            fastfs.get.df(adata, key)
    with pytest.raises(KeyError, match="'manifest' has no group 'C'; it has B, NK, T"):
        fastfs.get.df(adata, "manifest", group="C")
    with pytest.raises(KeyError, match="it has none"):
        fastfs.get.df(cells(), "manifest")


def test_strings_become_categories():
    """Without them scanpy's tracksplot fails."""
    sc = pytest.importorskip("scanpy")
    import matplotlib

    matplotlib.use("agg")
    adata = treated()
    adata.obs.loc["cell3", "type"] = None
    before = adata.obs["type"].copy()  # objects, or from pandas 3 on strings
    assert before.dtype != "category"
    kept = tl.relieff(adata, "type", drop_unlabelled=True, copy=True)
    pd.testing.assert_series_equal(adata.obs["type"], before)
    assert kept.obs["type"].cat.categories.tolist() == ["B", "NK", "T"]
    assert kept.obs["type"].astype(object).equals(before.astype(object))
    tl.relieff(adata, "day")
    assert adata.obs["day"].dtype.kind == "i"
    tl.relieff(adata, "arm")
    sc.pl.rank_genes_groups_tracksplot(adata, key="relieff", n_genes=2, show=False, dendrogram=False)


# ----------------------------------------------------------------------------------------------------------- bad input


@together
@covering(
    word=some(2, 0, CALLS),
    part={
        "all": {},
        "mask_var": {"mask_var": np.arange(20) > 9},
        "reference": {"groups": ["beta"], "reference": "gamma"},
        "groups": {"groups": ["beta"]},
    },
    make=[np.asarray, csr_matrix, csc_matrix],
)
def test_bad_values_are_named_by_cell_and_gene(word, make, part):
    adata = cells(make=make)
    X = adata.X.toarray() if make is not np.asarray else adata.X
    X[43, 13] = np.inf
    adata.X = make(X)
    with pytest.raises(ValueError, match="cell 43 'cell43', gene 13 'gene13'"):
        getattr(tl, word)(adata, "state", **CALLS[word], **part)
    with pytest.raises(ValueError, match="cell 43 'cell43', gene 13 'gene13'"):
        tl.differential_correlation(adata, "state", groups=["beta", "gamma"], n_permutations=0)


def test_numbers_are_no_groups():
    adata = cells()
    adata.obs["age"] = np.linspace(20, 60, 60)
    with pytest.raises(ValueError, match=r"age must hold groups; got numbers such as 20\.678: bin them"):
        tl.relieff(adata, "age")


def test_correlations_along_a_number():
    adata = cells()
    adata.obs["age"] = np.linspace(20, 60, 60)
    tl.differential_correlation(adata, "age", n_permutations=9)
    found = adata.uns["differential_correlation"]
    expected = fastfs.differential_correlation(adata.X, adata.obs["age"].to_numpy(), n_permutations=9)
    assert list(found["pairs"])[2:4] == ["r_below", "r_above"]
    np.testing.assert_array_equal(found["pairs"]["statistic"], expected.statistics)
    np.testing.assert_array_equal(found["pairs"]["pvals_max"], expected.pvalues_max)
    assert "groups" not in found["params"]
    with pytest.raises(ValueError, match="groups must be left out, because age holds numbers"):
        tl.differential_correlation(adata, "age", groups=["a"], n_permutations=0)


@pytest.mark.parametrize("word", ["projse", "relieff", "manifest", "disc"])
def test_no_genes(word):
    adata = anndata.AnnData(np.zeros((6, 0)), obs={"state": ["a", "b"] * 3})
    with pytest.raises(ValueError, match="adata must have genes to compare; got none"):
        getattr(fastfs.tl, word)(adata, "state")
    assert not adata.uns


@together
@pytest.mark.parametrize(
    "call, error, message",
    [
        ({"groupby": "kind"}, KeyError, "no column 'kind'; there are 'state'"),
        ({"layer": "counts"}, KeyError, "no layer 'counts'; there are none"),
        ({"layer": "counts", "use_raw": True}, ValueError, "exclude each other"),
        ({"use_raw": True}, ValueError, r"adata\.raw, which is empty"),
        ({"mask_var": "chosen"}, KeyError, "no column 'chosen'"),
        ({"mask_var": [True, False]}, ValueError, "each of the 20 genes"),
        ({"mask_var": np.arange(20) < 1}, ValueError, "at least two genes; got 1"),
        ({"groups": ["delta"]}, KeyError, "no cells in group 'delta'"),
        ({"groups": "alpha"}, TypeError, "must be a list of groups"),
        ({"groups": 3}, TypeError, "groups must be a list of groups; got 3"),
        ({"groupby": ["state"]}, KeyError, "no column .'state'.; there are 'state'"),
        ({"key_added": 3}, TypeError, "key_added must be a string; got 3"),
        ({"groups": []}, ValueError, "groups must name one of alpha, beta, gamma; got an empty list"),
        ({"reference": "delta"}, KeyError, "no cells in group 'delta'"),
        ({"groups": ["alpha"], "reference": "alpha"}, ValueError, "other than the reference"),
        ({"n_permutations": -1}, ValueError, "n_permutations"),
        ({"n_neighbours": 3}, TypeError, "n_neighbours"),
    ],
)
def test_bad_calls(call, error, message):
    adata = cells()
    groupby = call.pop("groupby", "state")
    with pytest.raises(error, match=message):
        tl.relieff(adata, groupby, **call)
    assert not adata.uns
    assert not len(adata.var.columns)


def test_groups_that_are_too_small():
    adata = cells()
    adata.obs["few"] = pd.Categorical(
        ["one"] + ["two"] * 30 + ["three"] * 29, categories=["none", "one", "three", "two"]
    )
    with pytest.raises(ValueError, match="at least two cells; got one in 'one'"):
        tl.relieff(adata, "few")
    tl.relieff(adata, "few", groups=["two", "three"])
    assert adata.uns["relieff"]["names"].dtype.names == ("two", "three")  # "none" has no cells, and is none
    adata.obs["nearly"] = ["most"] * 59 + ["one"]
    with pytest.raises(ValueError, match="the rest of 'most' must have at least two cells"):
        tl.relieff(adata, "nearly", groups=["most"])
    adata.obs["same"] = "a"
    with pytest.raises(ValueError, match="at least two groups with cells"):
        tl.relieff(adata, "same")


def test_missing_labels():
    adata = cells()
    adata.obs["partly"] = adata.obs["state"].where(np.arange(60) != 7)
    with pytest.raises(ValueError, match=r"1 cell has no partly: cell7; give drop_unlabelled=True"):
        tl.relieff(adata, "partly")
    tl.relieff(adata, "partly", drop_unlabelled=True)
    rest = adata[np.arange(60) != 7].copy()
    tl.relieff(rest, "state")
    assert np.array_equal(adata.uns["relieff"]["scores"]["beta"], rest.uns["relieff"]["scores"]["beta"])


def test_small_groups_are_left_out_by_name():
    adata = cells()
    adata.obs["type"] = np.where(np.arange(60) < 4, "rare", adata.obs["state"].astype(str))
    message = r"type has 1 group of fewer than 5 cells, which is left out: rare \(4\)"
    with pytest.warns(fastfs.DataWarning, match=message):
        tl.relieff(adata, "type", min_class=5)
    rest = adata[4:].copy()
    tl.relieff(rest, "type")
    assert adata.uns["relieff"]["names"].dtype.names == ("alpha", "beta", "gamma")
    assert np.array_equal(adata.uns["relieff"]["scores"]["beta"], rest.uns["relieff"]["scores"]["beta"])
    effects = [fastfs.get.df(one, "relieff", group="beta", direction=True)["effects"] for one in (adata, rest)]
    pd.testing.assert_series_equal(*effects)
    tl.assess(adata, "type", min_class=5, methods=["relieff"], n_features=[2], n_repeats=1)
    assert adata.uns["assess"]["params"]["groups"] == ["alpha", "beta", "gamma"]
    for tool in (tl.differential_correlation, tl.interaction_scan):
        tool(adata, "type", min_class=5, n_permutations=0, key_added="pairs")
        assert adata.uns["pairs"]["params"]["groups"] == ["alpha", "beta", "gamma"]
        adata.obs["age"] = np.arange(60) + 0.5
        with pytest.raises(ValueError, match="min_class must be left out, because age holds numbers; got 5"):
            tool(adata, "age", min_class=5, n_permutations=0)
    with pytest.raises(
        ValueError, match="min_class must be at most 20, the cells of the largest group of state; got 99"
    ):
        tl.relieff(adata, "state", min_class=99)
    with pytest.raises(ValueError, match="min_class"):
        tl.relieff(adata, "state", min_class=-1)
    with pytest.raises(KeyError, match="no cells in group 'rare'"):
        tl.relieff(adata, "type", groups=["rare"], min_class=5)


def test_no_anndata():
    with pytest.raises(
        TypeError, match=r"adata must be an AnnData or a MuData; got str: anndata\.read_h5ad reads files"
    ):
        tl.relieff("cells.h5ad", "state")


def test_a_group_called_rest():
    adata = cells()
    adata.obs["state"] = adata.obs["state"].cat.rename_categories({"beta": "rest"})
    with pytest.raises(ValueError, match='called "rest", which stands for all other groups: rename it'):
        tl.relieff(adata, "state")
    tl.relieff(adata, "state", groups=["rest"], reference="alpha")
    assert adata.uns["relieff"]["names"].dtype.names == ("rest",)


def test_a_group_without_a_name():
    """A record array would call it "f0"."""
    adata = cells()
    adata.obs["state"] = adata.obs["state"].cat.rename_categories({"beta": ""})
    with pytest.raises(ValueError, match="a group of state has an empty name, under which results can't be kept"):
        tl.relieff(adata, "state")
    tl.relieff(adata, "state", groups=["alpha"])
    tl.relieff(adata, "state", groups=["alpha"], reference="", key_added="other")
    assert adata.uns["other"]["names"].dtype.names == ("alpha",)


def test_a_group_that_is_named_as_python_names_it():
    adata = cells()
    adata.obs["few"] = ["one"] + ["two"] * 59  # no categories
    with pytest.raises(ValueError, match="got one in 'one': leave it out of groups"):
        tl.relieff(adata, "few")


def test_a_mask_with_names():
    """A Series goes by the names of the genes, whatever their order."""
    adata = cells()
    chosen = np.arange(20) < 12
    tl.relieff(adata, "state", mask_var=chosen)
    tl.relieff(adata, "state", mask_var=pd.Series(chosen, adata.var_names)[::-1], key_added="named")
    tl.relieff(adata, "state", mask_var=pd.Series(chosen), key_added="numbered")
    for key in ("named", "numbered"):
        assert np.array_equal(adata.var[f"{key}_rank"], adata.var["relieff_rank"])


def test_names_that_occur_twice():
    adata = cells()
    adata.var_names = ["gene0", *adata.var_names[:-1]]
    with pytest.raises(ValueError, match="got gene0 more than once: call"):
        tl.relieff(adata, "state")


def test_genes_without_counts():
    adata = cells(make=csr_matrix)
    X = adata.X.toarray()
    X[:, 5] = 0
    adata.X = csr_matrix(X)
    for word in ("projse", "relieff", "manifest"):
        getattr(tl, word)(adata, "state", **CALLS[word])
        assert np.isfinite(adata.var[f"{word}_scores"]).all()
        assert (adata.uns[word]["logfoldchanges"]["alpha"][adata.uns[word]["names"]["alpha"] == "gene5"] == 0).all()


def test_too_large_to_be_dense():
    with pytest.raises(MemoryError, match="a copy of X as dense values would need 4800 bytes"):
        tl.relief(cells(make=csr_matrix), "state", max_memory=1000)


def test_integers_as_groups():
    adata = cells()
    adata.obs["cluster"] = np.arange(60) % 3
    tl.relieff(adata, "cluster", groups=["0", 2])
    assert adata.uns["relieff"]["names"].dtype.names == ("0", "2")
    tl.relieff(adata, "cluster", groups=[0], reference=1)
    assert adata.uns["relieff"]["params"]["reference"] == "1"
    adata.obs["partly"] = pd.array([1, None, 2] * 20, dtype="Int64")
    tl.relieff(adata, "partly", drop_unlabelled=True)
    assert adata.uns["relieff"]["names"].dtype.names == ("1", "2")


def test_differential_correlation(tmp_path):
    adata = cells(3, n=90, make=csr_matrix)
    adata.obs["donor"] = np.repeat([f"donor{i}" for i in range(15)], 6)
    adata.obs["age"] = np.arange(90.0)
    kept = adata.obs["state"].isin(["alpha", "gamma"]).to_numpy()
    mask = np.arange(20) != 4
    how = {"n_permutations": 19, "n_pairs": 7}
    tl.differential_correlation(
        adata, "state", groups=["gamma", "alpha"], donors="donor", covariates=["age"], mask_var=mask, **how
    )
    found = fastfs.differential_correlation(
        adata.X.toarray()[kept][:, mask],
        adata.obs["state"][kept].astype(str),
        groups=adata.obs["donor"][kept],
        covariates=adata.obs[["age"]][kept],
        **how,
    )
    adata.write_h5ad(tmp_path / "kept.h5ad")
    kept_results = anndata.read_h5ad(tmp_path / "kept.h5ad").uns["differential_correlation"]
    names = adata.var_names[mask].to_numpy()
    for results in (adata.uns["differential_correlation"], kept_results):
        pairs = results["pairs"]
        assert list(pairs) == [
            "gene_a",
            "gene_b",
            "r_alpha",
            "r_gamma",
            "statistic",
            "effect",
            "standard_error",
            "pvals_max",
        ]
        np.testing.assert_array_equal(pairs[["gene_a", "gene_b"]].to_numpy(), names[found.pairs])
        np.testing.assert_array_equal(pairs["statistic"], found.statistics)
        np.testing.assert_array_equal(pairs["pvals_max"], found.pvalues_max)
        assert list(results["params"]["groups"]) == ["alpha", "gamma"]
    scores = adata.var["differential_correlation_scores"]
    assert np.isnan(scores["gene4"])
    np.testing.assert_array_equal(scores[mask], found.scores)
    tl.differential_correlation(adata, "state", key_added="of_all", n_permutations=0)
    assert list(adata.uns["of_all"]["params"]["groups"]) == ["alpha", "beta", "gamma"]
    assert list(adata.uns["of_all"]["pairs"])[2:6] == ["r_alpha", "r_beta", "r_gamma", "statistic"]
    with pytest.raises(ValueError, match="at least two classes"):
        tl.differential_correlation(adata, "state", groups=["alpha"])
    with pytest.raises(KeyError, match=r"adata\.obs has no column 'plate'"):
        tl.differential_correlation(adata, "state", batch="plate")


def test_interaction_scan(tmp_path):
    adata = cells(3, n=90, make=csr_matrix)
    adata.obs["donor"] = np.repeat([f"donor{i}" for i in range(15)], 6)
    adata.obs["age"] = np.arange(90) % 7 + 0.5
    how = {"n_permutations": 19, "n_pairs": 7}
    tl.interaction_scan(adata, "state", groups=["gamma", "alpha"], donors="donor", covariates=["age"], **how)
    kept = adata.obs["state"].isin(["alpha", "gamma"]).to_numpy()
    found = fastfs.interaction_scan(
        adata.X.toarray()[kept],
        adata.obs["state"][kept].astype(str),
        groups=adata.obs["donor"][kept],
        covariates=adata.obs[["age"]][kept],
        **how,
    )
    adata.write_h5ad(tmp_path / "kept.h5ad")
    for results in (adata, anndata.read_h5ad(tmp_path / "kept.h5ad")):
        pairs = results.uns["interaction_scan"]["pairs"]
        assert list(pairs) == ["gene_a", "gene_b", "statistic", "effect", "standard_error", "pvals_max"]
        np.testing.assert_array_equal(pairs[["gene_a", "gene_b"]].to_numpy(), adata.var_names.to_numpy()[found.pairs])
        np.testing.assert_array_equal(pairs["statistic"], found.statistics)
        np.testing.assert_array_equal(pairs["pvals_max"], found.pvalues_max)
    np.testing.assert_array_equal(adata.var["interaction_scan_scores"], found.scores)
    pd.testing.assert_frame_equal(fastfs.get.df(adata, "interaction_scan"), adata.uns["interaction_scan"]["pairs"])


def test_interaction_scan_of_all_groups_and_of_numbers():
    adata = cells(3, n=90)
    adata.obs["age"] = np.where(np.arange(90) % 9, np.arange(90) + 0.5, np.nan)
    tl.interaction_scan(adata, "state", n_permutations=0, n_pairs=3)
    result = adata.uns["interaction_scan"]
    assert list(result["pairs"]) == ["gene_a", "gene_b", "statistic", "pvals_max"]
    assert len(result["params"]["groups"]) == 3
    with pytest.raises(ValueError, match=r"10 cells have no age: cell0, .* give drop_unlabelled=True"):
        tl.interaction_scan(adata, "age", n_permutations=0)
    tl.interaction_scan(adata, "age", n_permutations=0, n_pairs=3, drop_unlabelled=True, key_added="of_age")
    has = adata.obs["age"].notna().to_numpy()
    expected = fastfs.interaction_scan(adata.X[has], adata.obs["age"][has], n_permutations=0, n_pairs=3)
    np.testing.assert_array_equal(adata.uns["of_age"]["pairs"]["effect"], expected.effects)
    assert adata.uns["of_age"]["params"]["target_type"] == "number"
    with pytest.raises(ValueError, match="groups must be left out, because age holds numbers"):
        tl.interaction_scan(adata, "age", groups=["a", "b"], drop_unlabelled=True)
    with pytest.raises(ValueError, match="with_table must be left out"):
        tl.interaction_scan(adata, "state", with_table=adata.X)
    with pytest.raises(TypeError, match="permutations"):
        tl.interaction_scan(adata, "state", permutations=3)


def test_groups_of_whole_numbers():
    """1, "1" and 1.0 are the group 1.0 of a column of numbers."""
    adata = cells(2)
    adata.obs["code"] = np.arange(adata.n_obs) % 2 * 1.0
    for one in (1, "1", 1.0, "1.0"):
        found = adata.copy()
        tl.relieff(found, "code", reference=one)
        assert found.uns["relieff"]["names"].dtype.names == ("0.0",)
        assert found.uns["relieff"]["params"]["reference"] == "1.0"
        found = adata.copy()
        tl.relieff(found, "code", groups=[one])
        assert found.uns["relieff"]["names"].dtype.names == ("1.0",)
        tl.differential_correlation(found, "code", groups=[0, one], n_permutations=9)
    with pytest.raises(KeyError, match="no cells in group '2'"):
        tl.relieff(adata, "code", reference=2)


def test_misspelt_arguments():
    adata = cells(2)
    for wrong, right in (("n_neighbours", "n_neighbors"), ("n_permutation", "n_permutations"), ("donor", "donors")):
        with pytest.raises(TypeError, match=rf"^fastfs\.tl\.relieff\(\) got .* '{wrong}': did you mean {right}\?$"):
            tl.relieff(adata, "state", **{wrong: 3})
    for wrong, right in (("n_pair", "n_pairs"), ("donor", "donors")):
        with pytest.raises(TypeError, match=rf"^fastfs\.tl\.diff.*\(\) got .* '{wrong}': did you mean {right}\?$"):
            tl.differential_correlation(adata, "state", **{wrong: 3})


def test_auto_selects_under_the_design():
    adata = cells(n_groups=2, n=48)
    adata.obs["donor"] = [f"d{i % 24}" for i in range(48)]
    test = {"n_permutations": 99, "donors": "donor"}
    tl.relieff(adata, "state", n_features_to_select="auto", **test)
    of_gene = fastfs.get.df(adata, "relieff").groupby("names")["pvals_max"].min()
    selected = adata.var["relieff_selected"]
    assert (selected == (of_gene.loc[selected.index] <= 0.05)).all()
    assert 0 < selected.sum() < 20
    assert adata.uns["relieff"]["permutations"]["design"].str.contains("groups").all()  # donors moved
    with pytest.raises(ValueError, match="'auto' needs permutations"):
        tl.relieff(adata, "state", n_features_to_select="auto")


@pytest.mark.parametrize("reference", ["rest", "beta"])
@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_direction_of_genes(reference, make):
    adata = cells(make=make)
    tl.relieff(adata, "state", reference=reference)
    found = fastfs.get.df(adata, "relieff", group="gamma", direction=True)
    state = adata.obs["state"].to_numpy()
    kept = np.ones(60, dtype=bool) if reference == "rest" else state != "alpha"
    X, ours = cells().X[kept], state[kept] == "gamma"
    for gene, effect, difference in zip(found["names"], found["effects"], found["median_differences"], strict=True):
        values = X[:, int(gene.removeprefix("gene"))].astype(float)
        assert effect == pytest.approx(np.sign(values[ours][:, None] - values[~ours]).mean(), abs=1e-12)
        assert difference == np.median(values[ours]) - np.median(values[~ours])
    assert found["names"][0] == "gene2"
    assert found["effects"][0] > 0.5
    assert "effects" not in fastfs.get.df(adata, "relieff")


def test_genes_that_are_given():
    adata = cells(n=90)
    tl.projse(adata, "state", given=["gene0", "gene7"], center=True)
    X = np.asarray(adata.X)
    state = adata.obs["state"].to_numpy(dtype=str)
    expected = fastfs.ProjSe(given=[0, 7]).fit(X, state)
    np.testing.assert_allclose(adata.var["projse_scores"], expected.scores_, rtol=1e-6, atol=1e-9)
    assert adata.var["projse_scores"].iloc[[0, 7]].tolist() == [0, 0]
    tl.relieff(adata, "state", given=["gene0", "gene7"])
    assert set(adata.var["relieff_rank"].iloc[[0, 7]]) == {adata.n_vars - 1, adata.n_vars}
    for names in (adata.uns["relieff"]["names"][group] for group in np.unique(state)):
        assert set(names[-2:]) == {"gene0", "gene7"}
    with pytest.raises(ValueError, match="'gene99', which isn't a column name"):
        tl.projse(adata, "state", given=["gene99"])
    with pytest.raises(ValueError, match="given must list genes; got a table"):
        tl.projse(adata, "state", given=X[:, :2])


def test_assess_takes_donors_as_wholes():
    adata = cells(2, n=60)
    donor = np.arange(60) // 5
    adata.obs["state"] = np.array(["alpha", "beta"])[donor % 2]
    adata.obs["donor"] = [f"d{d}" for d in donor]
    folds = {"methods": ["relieff"], "n_features": [1, 3], "n_splits": 3, "n_repeats": 2}
    tl.assess(adata, "state", donors="donor", **folds, key_added="new")
    expected = fastfs.assess(adata.X, donor % 2, groups=donor, **folds)
    pd.testing.assert_frame_equal(adata.uns["new"]["table"], expected.to_frame())
    assert adata.uns["new"]["params"]["unit"] == "group"
    assert adata.uns["new"]["params"]["n_units"] == 12
    assert list(adata.var) == []
    other = tl.assess(adata, "state", donors="donor", **folds, mask_var=np.arange(20) < 5, copy=True)
    expected = fastfs.assess(adata.X[:, :5], donor % 2, groups=donor, **folds)
    pd.testing.assert_frame_equal(other.uns["assess"]["table"], expected.to_frame())
    assert "assess" not in adata.uns


def test_assess_of_some_groups_is_written_to_a_file(tmp_path):
    adata = cells(3, n=60)
    tl.assess(adata, "state", groups=["alpha", "gamma"], methods=["relieff"], n_features=[2], n_repeats=1)
    kept = np.flatnonzero(adata.obs.state != "beta")
    expected = fastfs.assess(adata.X[kept], adata.obs.state.astype(str).to_numpy()[kept], methods=["relieff"],
                             n_features=[2], n_repeats=1)  # fmt: skip
    pd.testing.assert_frame_equal(adata.uns["assess"]["table"], expected.to_frame())
    adata.write_h5ad(tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["assess"]
    assert read["table"].method.tolist() == ["relieff", "anova", "variance"]
    assert list(read["params"]["groups"]) == ["alpha", "gamma"]
    with pytest.raises(KeyError, match="no column 'nothing'"):
        tl.assess(adata, "state", donors="nothing")


def test_tools_say_what_they_have_written(caplog):
    X = np.random.default_rng(0).normal(3, size=(40, 12)).astype("float32")
    adata = anndata.AnnData(X, obs={"state": ["a", "b"] * 20})
    with caplog.at_level("INFO", logger="fastfs"):
        assert fastfs.tl.relieff(adata, "state") is None
        assert fastfs.tl.assess(adata, "state", methods=["relieff"], n_features=[1], n_repeats=1) is None
        assert fastfs.tl.interaction_scan(adata, "state", n_permutations=0) is None
    of_genes = ", ".join(f"adata.var['relieff_{name}']" for name in ("scores", "rank", "selected"))
    assert [record.message for record in caplog.records] == [
        f"added adata.uns['relieff'], {of_genes}",
        "added adata.uns['assess']",
        "added adata.uns['interaction_scan'], adata.var['interaction_scan_scores']",
    ]
    kept = re.findall(r"adata\.(\w+)\['(\w+)'\]", caplog.text)
    assert all(name in getattr(adata, place) for place, name in kept)


def test_ages_as_integers_are_pointed_out():
    X = np.random.default_rng(0).normal(size=(120, 6)).astype("float32")
    adata = anndata.AnnData(X, obs={"age": np.arange(120) % 40 + 30})
    words = r"age holds 40 different numbers, .*\['age'\]\.astype\('category'\)\); if they are measurements, .* "
    of_pairs = f"{words}give target_type='number'"
    with pytest.warns(fastfs.DataWarning, match=of_pairs), pytest.raises(ValueError, match=r"age|class"):
        fastfs.tl.differential_correlation(adata, "age", n_permutations=0)  # three cells don't make a correlation
    with pytest.warns(fastfs.DataWarning, match=f"{words}bin them"):
        tl.relieff(adata, "age")
    adata.obs["age"] = adata.obs["age"].astype("category")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*taken as groups")
        tl.relieff(adata, "age")


def test_sets_of_genes():
    adata = cells(n=60)
    state = adata.obs["state"].to_numpy(dtype=str)
    sets = {"first": ["gene0", "gene1", "unknown"], "more": ["gene2", "gene3"], "none": ["unknown"]}
    with pytest.warns(fastfs.DataWarning, match="the table lacks are left out: unknown, and 1 group without others"):
        tl.relieff(adata, "state", n_permutations=19, feature_groups=sets)
    sets = {name: [gene for gene in genes if gene != "unknown"] for name, genes in sets.items() if name != "none"}
    table = adata.uns["relieff"]["feature_groups"]
    for name in np.unique(state):
        expected = fastfs.permutation_test(
            fastfs.ReliefF(), np.asarray(adata.X), np.where(state == name, "group", "rest"), n_permutations=19,
            feature_groups={"first": [0, 1], "more": [2, 3]},
        ).feature_groups  # fmt: skip
        rows = table[table["of"] == name]
        assert rows["group"].tolist() == ["first", "more"]
        assert rows["pvalue_max"].tolist() == expected.pvalues_max.tolist()
    tl.manifest(adata, "state", n_permutations=9, feature_groups=sets)
    table = adata.uns["manifest"]["feature_groups"]
    assert table["of"].tolist() == np.repeat(np.unique(state), 2).tolist()
    largest = adata.uns["manifest"]["scores"]
    for name in np.unique(state):
        scores = dict(zip(adata.uns["manifest"]["names"][name], largest[name], strict=True))
        found = table[(table["of"] == name) & (table["group"] == "more")]["max_score"].item()
        np.testing.assert_allclose(found, max(scores["gene2"], scores["gene3"]), rtol=1e-5)
    with pytest.raises(ValueError, match="feature_groups must name features of the table, such as "):
        tl.relieff(adata, "state", n_permutations=9, feature_groups={"none": ["unknown"]})
    with pytest.raises(ValueError, match="need permutations"):
        tl.relieff(adata, "state", feature_groups=sets)
