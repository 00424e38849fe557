"""Tools and files of several modalities."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import fastfs
from fastfs import tl

anndata = pytest.importorskip("anndata")
mudata = pytest.importorskip("mudata")
pytestmark = [
    pytest.mark.filterwarnings("ignore::fastfs.DataWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def modalities(make=np.asarray):
    """Return 40 cells, 35 of which have proteins, too, in another order; protein 1 follows gene 3."""
    rng = np.random.default_rng(0)
    names = np.array([f"cell{i}" for i in range(40)])
    rna = rng.normal(2, size=(40, 12)).astype("float32")
    rna[::2, 5] += 3
    order = rng.permutation(40)[:35]
    protein = rng.normal(size=(35, 4)).astype("float32")
    protein[:, 1] += 3 * rna[order, 3]
    rna, protein = (
        anndata.AnnData(make(X), pd.DataFrame(index=cells), pd.DataFrame(index=features))
        for X, cells, features in (
            (rna, names, [f"gene{j}" for j in range(12)]),
            (protein, names[order], [f"protein{j}" for j in range(4)]),
        )
    )
    rna.obs["state"] = ["a", "b"] * 20
    mdata = mudata.MuData({"rna": rna, "prot": protein})
    mdata.obs["donor"] = pd.Categorical([f"d{i // 2 % 10}" for i in range(40)])
    mdata.obs["arm"] = mdata.obs["donor"].isin(["d0", "d1", "d2", "d3", "d4"]).map({True: "x", False: "y"})
    return mdata


def test_a_modality_gets_what_its_anndata_gets():
    mdata, alone = modalities(), modalities()["rna"].copy()
    assert tl.relieff(mdata, "state", mod="rna") is None
    tl.relieff(alone, "state")
    pd.testing.assert_frame_equal(mdata["rna"].var, alone.var)
    pd.testing.assert_frame_equal(fastfs.get.df(mdata["rna"], "relieff"), fastfs.get.df(alone, "relieff"))
    assert "relieff" not in mdata["prot"].uns
    assert "relieff" not in mdata.uns


def test_annotations_that_all_modalities_share():
    mdata = modalities()
    proteins = mdata["prot"].copy()
    for name in ("arm", "donor"):
        proteins.obs[name] = mdata.obs.loc[proteins.obs_names, name]
    options = {"n_permutations": 19, "donors": "donor"}
    tl.manifest(mdata, "arm", mod="prot", **options)
    tl.manifest(proteins, "arm", **options)
    pd.testing.assert_frame_equal(fastfs.get.df(mdata["prot"], "manifest"), fastfs.get.df(proteins, "manifest"))
    assert mdata["prot"].obs["arm"].tolist() == proteins.obs["arm"].tolist()  # for scanpy's plots
    assert "donor" not in mdata["prot"].obs
    assert len(fastfs.get.df(mdata["prot"], "manifest", direction=True)) == 8
    folds = {"methods": ["relieff"], "n_features": [1], "n_splits": 2, "n_repeats": 1, "donors": "donor"}
    tl.assess(mdata, "arm", mod="prot", **folds)
    tl.assess(proteins, "arm", **folds)
    pd.testing.assert_frame_equal(mdata["prot"].uns["assess"]["table"], proteins.uns["assess"]["table"])
    for tool in (tl.interaction_scan, tl.differential_correlation):
        tool(mdata, "arm", mod="prot", n_permutations=0, key_added="pairs")
        tool(proteins, "arm", n_permutations=0, key_added="pairs")
        pd.testing.assert_frame_equal(mdata["prot"].uns["pairs"]["pairs"], proteins.uns["pairs"]["pairs"])


def test_copies_and_files(tmp_path):
    mdata = modalities()
    other = tl.projse(mdata, "state", mod="rna", copy=True)
    assert "projse_scores" in other["rna"].var
    assert "projse_scores" not in mdata["rna"].var
    other.write(tmp_path / "cells.h5mu")
    read = mudata.read_h5mu(tmp_path / "cells.h5mu")
    pd.testing.assert_frame_equal(fastfs.get.df(read["rna"], "projse"), fastfs.get.df(other["rna"], "projse"))
    part = mdata[mdata.obs["donor"] != "d9"]
    with pytest.warns(anndata.ImplicitModificationWarning, match="view"):  # as every view that gets results
        tl.relieff(part, "state", mod="rna")
    assert len(fastfs.get.df(part["rna"], "relieff")) == 24


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_two_views(make, tmp_path):
    mdata = modalities(make)
    assert tl.projse_two_view(mdata, ["rna", "prot"], n_features_to_select=2, center=True) is None
    plain = modalities()
    shared = [name for name in plain["rna"].obs_names if name in set(plain["prot"].obs_names)]
    X, Y = (plain[mod][shared].X for mod in ("rna", "prot"))
    expected = fastfs.projse_two_view(X, Y, n_features_to_select=2, center=True)
    for mod, one in zip(("rna", "prot"), expected, strict=True):
        adata = mdata[mod]
        assert adata.var["projse_two_view_rank"].tolist() == one.ranking.tolist()
        assert adata.var["projse_two_view_scores"].tolist() == one.scores.tolist()
        assert adata.var["projse_two_view_selected"].sum() == 2
        table = fastfs.get.df(adata, "projse_two_view")
        assert table["names"].tolist() == adata.var_names[one.selected].tolist()
        assert table["scores"].tolist() == one.selection_scores.tolist()
    assert mdata["rna"].uns["projse_two_view"]["selected"]["names"][0] == "gene3"
    assert mdata["prot"].uns["projse_two_view"]["selected"]["names"][0] == "protein1"
    mdata.write(tmp_path / "cells.h5mu")
    other = tl.projse_two_view(modalities(make), ["rna", "prot"], copy=True, masks_var=(np.arange(12) > 5, None),
                               key_added="few")  # fmt: skip
    assert other["rna"].var["few_rank"].tolist()[:6] == [0] * 6
    assert "few" in other["prot"].uns


@pytest.mark.parametrize(
    "call, error, message",
    [
        ({}, ValueError, "mod must name a modality of the MuData; got None: choose 'rna', 'prot'"),
        ({"mod": "atac"}, KeyError, "the MuData has no modality 'atac'; there are 'rna', 'prot'"),
        ({"mod": "rna", "groupby": "nothing"}, KeyError, "no column 'nothing'; there are .*'state'.*'donor'"),
    ],
)
def test_bad_calls(call, error, message):
    mdata = modalities()
    groupby = call.pop("groupby", "state")
    with pytest.raises(error, match=message):
        tl.relieff(mdata, groupby, **call)
    assert not len(mdata["rna"].var.columns)


def test_bad_places():
    mdata = modalities()
    with pytest.raises(ValueError, match="mod must be left out for an AnnData; got 'rna'"):
        tl.relieff(mdata["rna"], "state", mod="rna")
    with pytest.raises(TypeError, match=r"give one modality, such as mdata\['rna'\]"):
        fastfs.get.df(mdata, "relieff")
    with pytest.raises(ValueError, match="mods must name two modalities; got 'rna'"):
        tl.projse_two_view(mdata, "rna")
    with pytest.raises(ValueError, match="mods must name two modalities"):
        tl.projse_two_view(mdata, ["rna", "rna"])
    with pytest.raises(KeyError, match="no modality 'atac'"):
        tl.projse_two_view(mdata, ["rna", "atac"])
    with pytest.raises(TypeError, match="mdata must be a MuData, with two modalities; got AnnData"):
        tl.projse_two_view(mdata["rna"], ["rna", "prot"])
    with pytest.raises(TypeError, match="centre"):
        tl.projse_two_view(mdata, ["rna", "prot"], centre=True)
    apart = mudata.MuData({"rna": mdata["rna"][:5].copy(), "prot": mdata["prot"][[]].copy()})
    with pytest.raises(ValueError, match="rna and prot must have at least two cells in common; got 0"):
        tl.projse_two_view(apart, ["rna", "prot"])
    twice = modalities()["rna"]
    twice.obs_names = ["cell"] * 40
    other = twice.copy()
    with pytest.raises(ValueError, match=r"names of cells must be unique in a MuData"):
        tl.relieff(mudata.MuData({"rna": twice, "prot": other}, axis=-1), "state", mod="rna")
