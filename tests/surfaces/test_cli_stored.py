"""``fastfs score`` on files that stay on disk."""

import subprocess
import sys

import numpy as np
import pandas
import pytest
import scipy.sparse as sp

import fastfs
from fastfs.io import keep_classes, read_table

RNG = np.random.default_rng(0)


@pytest.fixture(params=["dense", "csr", "csc"])
def cells(tmp_path, request):
    """cells.h5ad, 800 kB or more, of which a quarter of 2 MB is less."""
    anndata = pytest.importorskip("anndata")
    X = RNG.poisson(1.0, (400, 500)).astype(np.float32)
    state = np.array(["a", "b", "c"])[np.arange(400) % 3]
    X[state == "b", 7] += 3
    obs = pandas.DataFrame({"state": state, "age": RNG.random(400)}, index=[f"cell{i}" for i in range(400)])
    var = pandas.DataFrame(index=[f"gene{j}" for j in range(500)])
    form = np.asarray if request.param == "dense" else getattr(sp, f"{request.param}_matrix")
    anndata.AnnData(form(X), obs=obs, var=var).write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path, request.param


def test_a_stream_gives_the_ranking_of_the_table(cells, inside):
    folder, form = cells
    call = ["score", "cells.h5ad", "--label", "state", "--method", "projse", "--top", "1", "--ignore", "gene3"]
    for more in ([], ["--classes", "a,b"]):
        whole = inside(*call, *more, "--out", "whole.csv", cwd=folder)
        assert whole.returncode == 0, whole.stderr
        stored = inside(*call, *more, "--max-memory", "2M", "--out", "stored.csv", cwd=folder)
        if form == "csc":
            assert stored.returncode == 2
            assert "by columns (CSC): raise --max-memory, or write it by rows" in stored.stderr
            continue
        assert stored.returncode == 0, stored.stderr
        assert stored.stderr == whole.stderr.replace("whole", "stored")
        a, b = (pandas.read_csv(folder / name) for name in ("whole.csv", "stored.csv"))
        assert a["feature"].tolist() == b["feature"].tolist()
        assert a["feature"][0] == "gene7"
        np.testing.assert_allclose(a["score"], b["score"], rtol=1e-10)


def test_the_table_of_a_file_that_stays_on_disk(cells):
    folder, form = cells
    table = read_table(folder / "cells.h5ad", "state", annotations=["age"], ignore=["gene0"], max_memory="2M")
    whole = read_table(folder / "cells.h5ad", "state", annotations=["age"], ignore=["gene0"])
    assert table.X.shape == whole.X.shape == (400, 499)
    assert table.feature_names == whole.feature_names
    if form == "csc":
        return
    some, dense = keep_classes(table, ["c"]), keep_classes(whole, ["c"])
    found = np.concatenate([b.toarray() if hasattr(b, "toarray") else b for _, b in some.X.blocks()])
    np.testing.assert_array_equal(found, dense.X.toarray() if hasattr(dense.X, "toarray") else dense.X)
    assert fastfs.ProjSe(2).fit(table.X, table.y).scores_ == pytest.approx(
        fastfs.ProjSe(2).fit(whole.X, whole.y).scores_
    )


def test_a_method_that_needs_all_rows_says_so(cells, inside):
    folder, _ = cells
    options = ["--label", "state", "--method", "relieff", "--max-memory", "2M"]
    finished = inside("score", "cells.h5ad", *options, cwd=folder)
    assert finished.returncode == 2
    assert "more than a quarter of the memory budget of 2.10 MB (2097152 bytes)" in finished.stderr


def test_columns_become_rows(cells, inside):
    anndata = pytest.importorskip("anndata")
    folder, form = cells
    call = ["convert", "cells.h5ad", "--out", "rows.h5ad", "--max-memory", "500K"]
    finished = inside(*call, cwd=folder)
    if form != "csc":
        assert finished.returncode == 2
        assert "isn't stored by columns (CSC): it can be read by rows as it is" in finished.stderr
        assert not (folder / "rows.h5ad").exists()
        return
    assert finished.returncode == 0, finished.stderr
    before, after = (anndata.read_h5ad(folder / name) for name in ("cells.h5ad", "rows.h5ad"))
    assert after.X.format == "csr"
    assert after.X.has_canonical_format
    assert (before.X != after.X).nnz == 0
    assert after.X.dtype == np.float32
    pandas.testing.assert_frame_equal(before.obs, after.obs)
    pandas.testing.assert_frame_equal(before.var, after.var)
    options = ["--label", "state", "--method", "projse", "--top", "1", "--max-memory", "2M"]
    assert inside("score", "rows.h5ad", *options, cwd=folder).returncode == 0


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from fastfs.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("size", [0, 4 << 10, 20 << 10, 100 << 10, 300 << 10])
def test_a_full_disk_is_an_error(cells, size):
    """HDF5 crashes if it can't write while it closes a file."""
    folder, form = cells
    if form != "csc":
        pytest.skip("only CSC is converted")
    others = {path.name for path in folder.iterdir()}
    call = [sys.executable, "-c", LIMITED, str(size), "convert", "cells.h5ad", "--out", "full.h5ad"]
    finished = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    assert finished.returncode == 2, finished.stderr
    assert finished.stderr.strip().splitlines()[-1] == f"Error: Cannot use '{folder / 'full.h5ad'}': File too large."
    assert {path.name for path in folder.iterdir()} == others


def test_text_becomes_rows(tmp_path, inside):
    anndata = pytest.importorskip("anndata")
    X = RNG.normal(size=(6, 3))
    pandas.DataFrame(X, columns=["a", "b", "c"]).assign(state=list("xyxyxy")).to_csv(tmp_path / "t.csv", index=False)
    finished = inside("convert", "t.csv", "--label", "state", "--out", "t.h5ad", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.splitlines()[-1] == "Wrote t.h5ad."  # behind what tests hear of anndata and pandas 3.1
    found = anndata.read_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_allclose(found.X, X, rtol=1e-15)
    assert found.var_names.tolist() == ["a", "b", "c"]
    assert found.obs["state"].tolist() == list("xyxyxy")
    finished = inside("convert", "t.csv", "--label", "state", "--out", "t.csv", cwd=tmp_path)
    assert finished.returncode == 2
    assert ".h5ad" in finished.stderr


@pytest.mark.parametrize(
    "file, options, why",
    [
        ("t.csv", ["--ignore", "state", "--by-order"], "--by-order has no effect on what convert writes"),
        ("t.csv", ["--ignore", "state", "--chr", "1"], "'t.csv' is not a .bed or .pgen file"),
        ("t.csv", ["--label", "state", "--not-chr", "1"], "'t.csv' is not a .bed or .pgen file"),
        ("t.csv", ["--label", "state", "--covar", "c.tsv"], "covariates aren't written"),
        ("t.h5ad", ["--duplicates", "suffix"], "'t.h5ad' is copied with all that it has"),
    ],
)
def test_convert_refuses_options_without_effect(inside, tmp_path, file, options, why):
    (tmp_path / "t.csv").write_text("state,a,b\nx,1,2\ny,3,4\n")
    (tmp_path / "t.h5ad").touch()
    (tmp_path / "c.tsv").write_text("id\tage\n")
    finished = inside("convert", file, *options, "--out", "out.h5ad", cwd=tmp_path)
    assert (finished.returncode, why in finished.stderr, "leave it out" in finished.stderr) == (2, True, True)
    assert not (tmp_path / "out.h5ad").exists()


def test_convert_numbers_repeated_names_as_its_error_says(inside, tmp_path):
    anndata = pytest.importorskip("anndata")
    (tmp_path / "t.csv").write_text("state,a,a\nx,1,2\ny,3,4\n")
    call = ["convert", "t.csv", "--ignore", "state", "--out", "out.h5ad"]
    assert "--duplicates 'suffix'" in inside(*call, cwd=tmp_path).stderr
    assert inside(*call, "--duplicates", "suffix", cwd=tmp_path).returncode == 0
    assert anndata.read_h5ad(tmp_path / "out.h5ad").var_names.tolist() == ["a", "a-1"]


@pytest.mark.parametrize("command", ["pairs", "snp-pairs"])
def test_pairs_refuse_a_design_without_permutations_by_its_option(inside, tmp_path, command):
    (tmp_path / "t.csv").write_text("state,a,b\nx,1,2\ny,0,1\n")
    (tmp_path / "c.tsv").write_text("id\tage\n")
    call = [command, "t.csv", "--label", "state", "--permutations", "0", "--covar", "c.tsv"]
    finished = inside(*call, cwd=tmp_path)
    assert (finished.returncode, "--covar is for p-values: add --permutations" in finished.stderr) == (2, True)


def test_errors_about_memory_name_the_method_and_options_of_the_command_line(inside, tmp_path):
    rows = "".join(f"{'xy'[i % 2]},{i},{i * i % 7}\n" for i in range(60))
    (tmp_path / "t.csv").write_text("state,a,b\n" + rows)
    call = ["score", "t.csv", "--label", "state", "--max-memory", "10000"]
    refused = inside(*call, "--method", "relieff", cwd=tmp_path).stderr
    assert "ReliefF.fit: " in refused
    assert "raise --max-memory (or FASTFS_MAX_MEMORY)" in refused
    assert "give --method-option n_targets, or fewer samples" in " ".join(refused.split())
