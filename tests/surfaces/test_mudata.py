"""Tools and files of several modalities."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import fastfs
from fastfs import tl
from fastfs.cli import run

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


# Files


@pytest.fixture
def file(tmp_path):
    modalities().write(tmp_path / "cells.h5mu")
    return tmp_path / "cells.h5mu"


def test_a_modality_of_targets(file):
    table = fastfs.io.read_table(file, mod="rna", targets_mod="prot", annotations=["donor"])
    mdata = modalities()
    shared = [name for name in mdata["rna"].obs_names if name in set(mdata["prot"].obs_names)]
    np.testing.assert_array_equal(table.X, mdata["rna"][shared].X)
    np.testing.assert_array_equal(table.y, mdata["prot"][shared].X)
    assert table.targets == tuple(f"protein{j}" for j in range(4))
    assert table.sample_names == shared
    assert table.annotations["donor"].tolist() == mdata.obs.loc[shared, "donor"].tolist()
    assert table.matching == "35 of 40 samples are in 'prot', too"
    reverse = fastfs.io.read_table(file, mod="prot", targets_mod="rna", ignore=["protein2"], max_memory="64M")
    assert reverse.sample_names == mdata["prot"].obs_names.tolist()
    np.testing.assert_array_equal(reverse.y, mdata["rna"][mdata["prot"].obs_names].X)


def test_a_modality_of_targets_on_the_command_line(file, tmp_path, capsys):
    out = tmp_path / "ranking.json"
    command = ["score", str(file), "--method", "projse", "--mod", "rna", "--targets-mod", "prot", "--out", str(out)]
    assert run([*command, "--method-option", "center=True", "--top", "2"]) == 0
    mdata = modalities()
    shared = [name for name in mdata["rna"].obs_names if name in set(mdata["prot"].obs_names)]
    X, Y = (mdata[mod][shared].X for mod in ("rna", "prot"))
    expected = fastfs.ProjSe(2, center=True).fit(X, Y.astype(np.float64))
    ranking = json.loads(out.read_text())["ranking"]
    assert [row["feature"] for row in ranking] == [f"gene{j}" for j in expected.selected_]
    assert [row["score"] for row in ranking] == expected.scores_[expected.selected_].tolist()
    said = capsys.readouterr().err
    assert "(targets: protein0, protein1, protein2 and 1 more)" in said
    assert "35 of 40 samples are in 'prot', too" in said


@pytest.mark.parametrize(
    "options, message",
    [
        (["--mod", "rna", "--targets-mod", "rna"], "--targets-mod must be another modality than that of --mod"),
        (["--mod", "rna", "--targets-mod", "atac"], "no modality 'atac'"),
        (["--targets-mod", "prot"], "choose one with --mod"),
        (["--mod", "rna", "--targets-mod", "prot", "--label", "state"], "--targets-mod is for --method"),
        (["--mod", "rna", "--targets-mod", "prot", "--targets", "gene1"], "give one of them"),
        (["--mod", "rna", "--targets-mod", "prot", "--labels", "x.csv"], "leave out --labels"),
        (["--mod", "rna", "--targets-mod", "prot", "--min-class", "3"], "leave it out with --targets-mod"),
        (["--mod", "rna", "--targets-mod", "prot", "--permutations", "9"], "takes no --targets with --method projse"),
    ],
)
def test_bad_modalities_of_targets(file, options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert run(["score", str(file), "--method", "projse", *options]) == 2
    said = capsys.readouterr().err
    assert message in " ".join(said.split())


def test_targets_of_other_files_and_no_shared_samples(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,class\n1,2,x\n3,4,y\n")
    with pytest.raises(ValueError, match=r"targets_mod=\.\.\. is for files that end in \.h5mu"):
        fastfs.io.read_table(tmp_path / "x.csv", targets_mod="prot")
    mdata = modalities()
    other = anndata.AnnData(np.ones((3, 2), "float32"), pd.DataFrame(index=["x", "y", "z"]))
    mudata.MuData({"rna": mdata["rna"][:5].copy(), "prot": other}).write(tmp_path / "apart.h5mu")
    with pytest.raises(ValueError, match="has no sample in both modalities, 'rna' and 'prot'"):
        fastfs.io.read_table(tmp_path / "apart.h5mu", mod="rna", targets_mod="prot")
