"""Completion of the command line by the Tab key, as bash asks for it."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covering import together
from fastfs.__main__ import main
from fastfs._methods import METHODS
from fastfs.io._header import column_names
from fastfs.io._options import ReadOptions

TABLE = "id,age,LFQ one,cell type,TP53\ns1,3,1,a,2\ns2,4,2,b,3\n"

# What bash calls when Tab is pressed behind the words.
SCRIPT = """\
eval "$(_FASTFS_COMPLETE=source_bash fastfs)"
press() {
    COMP_WORDS=(fastfs "$@"); COMP_CWORD=$#; COMPREPLY=()
    _fastfs_completion fastfs
    printf '%s|' "${COMPREPLY[@]}"
}
"""

CASES = [
    ('"sc"', ["score", "schema"]),
    ('score t.csv --label ""', ["id", "age", r"LFQ\ one", r"cell\ type", "TP53"]),
    ("score --label id t.csv --covariate a", ["age"]),
    ('score t.csv --ignore "id,LF"', [r"id,LFQ\ one"]),
    ('report t.csv --methods "relieff,pro"', ["relieff,projse"]),
    ('score t.csv --method ""', [*METHODS]),
    ('score t.csv --duplicates ""', ["error", "suffix", "mean", "max", "first"]),
    ("score t", [""]),  # then bash looks for files
    ('score nothing.csv --label ""', [""]),
    ('score broken.h5ad --label ""', [""]),
]


# What the other shells call.
OTHERS = {
    "fish": """_FASTFS_COMPLETE=source_fish fastfs | source; complete -C "fastfs score t.csv --label ce" """,
    "zsh": """compdef() { }; _arguments() { print -r -- "$@" }
        eval "$(_FASTFS_COMPLETE=source_zsh fastfs)"
        words=(fastfs score t.csv --label ce); CURRENT=5; _fastfs_completion""",
}


@pytest.mark.parametrize("shell", OTHERS)
def test_the_tab_key_in_other_shells(tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} isn't installed")
    (tmp_path / "t.csv").write_text(TABLE)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    without_settings = {"fish": "--no-config", "zsh": "-f"}[shell]
    finished = subprocess.run(
        [shell, without_settings, "-c", OTHERS[shell]], cwd=tmp_path, env=os.environ | {"PATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert finished.stdout.strip().splitlines() == {
        "fish": ["cell type"],
        "zsh": ["""*: :(("cell type"))"""],
    }[shell], finished.stderr  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "broken.h5ad").write_text("not HDF5")
    return tmp_path


@together
@pytest.mark.parametrize("words, expected", CASES)
def test_words_that_fit(folder, monkeypatch, capsys, words, expected):
    """As bash asks for them, in this process."""
    words = shlex.split(words)
    monkeypatch.setattr("sys.argv", ["fastfs"])
    monkeypatch.setenv("_FASTFS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(["fastfs", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit):
        main()
    out, err = capsys.readouterr()
    assert (out + err).strip().split("\n") == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash isn't installed")
def test_the_tab_key(folder):
    """A column with a space, one behind a comma, and no word."""
    tmp_path, few = folder, [CASES[1], CASES[3], CASES[7]]
    presses = "".join(f"press {words} &> {i} &\n" for i, (words, _) in enumerate(few))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    finished = subprocess.run(
        ["bash", "--norc", "-c", f"{SCRIPT}{presses}wait"], cwd=tmp_path, env=os.environ | {"PATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    found = [(tmp_path / str(i)).read_text().strip().removesuffix("|").split("|") for i in range(len(few))]
    assert found == [expected for _, expected in few]


def test_names_of_many_columns_begin_with_those_of_words(tmp_path):
    names = [f"gene{j}" for j in range(60)]
    (tmp_path / "wide.tsv").write_text("\t".join(["", *names, "state"]) + "\n" + "\t".join(["s1", *["1"] * 60, "ill"]))
    assert column_names(tmp_path / "wide.tsv", ReadOptions()) == ["state", *names]
    assert column_names(tmp_path / "wide.tsv", ReadOptions(transpose=True)) == []
    assert column_names(Path("counts.mtx"), ReadOptions()) == []


def test_names_in_files_of_other_formats(tmp_path):
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("pyarrow")
    obs = pd.DataFrame({"state": ["a", "b"], "donor": ["x", "y"]}, index=["c1", "c2"])
    adata = anndata.AnnData(np.eye(2, dtype="float32"), obs=obs)
    adata.write_h5ad(tmp_path / "t.h5ad")
    adata.write_zarr(tmp_path / "t.zarr")
    obs.to_parquet(tmp_path / "t.parquet", index=False)
    (tmp_path / "t.pgen").write_bytes(b"")
    (tmp_path / "t.psam").write_text("#IID SEX T2D\ns1 1 2\n")
    for ending in (".h5ad", ".zarr", ".parquet"):
        assert column_names(tmp_path / f"t{ending}", ReadOptions()) == ["state", "donor"]
    assert column_names(tmp_path / "t.pgen", ReadOptions()) == ["SEX", "T2D"]
    assert column_names(Path("t.bed"), ReadOptions()) == ["phenotype"]


def test_names_of_a_modality(tmp_path):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    obs = pd.DataFrame({"state": ["a", "b"]}, index=["c1", "c2"])
    mdata = mudata.MuData({"rna": anndata.AnnData(np.eye(2, dtype="float32"), obs=obs)})
    mdata.obs["donor"] = ["x", "y"]
    mdata.write(tmp_path / "t.h5mu")
    found = column_names(tmp_path / "t.h5mu", ReadOptions(mod="rna"))
    assert found[0] == "state"
    assert "donor" in found
