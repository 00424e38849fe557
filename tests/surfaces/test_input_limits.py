"""Reading: memory is asked for before it's taken, and what messages say about files that can't be read."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from covering import rotating
from fastfs.io import read_table, write_ranking

# Prints how each call ended, and the peak of what it takes beyond the libraries: each is a fork of a process that has
# imported them.
PEAK = """
import json, os, sys
import fastfs.io
import anndata.io, h5py, pyarrow.parquet, scipy.io  # noqa

def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

for path, labels in json.loads(sys.argv[1]):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before = resident("VmRSS")
    try:
        fastfs.io.read_table(path, "y", max_memory="50M", labels=labels)
        ending = "read"
    except Exception as error:
        ending = type(error).__name__
    print(os.path.basename(path), ending, resident("VmHWM") - before, flush=True)
    os._exit(0)
"""


def declared_h5ad(path, n, where="var/_index"):
    adata = anndata.AnnData(np.eye(4), pd.DataFrame({"y": list("aabb")}, index=list("stuv")))
    adata.obs["y"] = adata.obs["y"].astype(object)
    adata.write_h5ad(path)
    with h5py.File(path, "r+") as file:
        attrs = dict(file[where].attrs)
        dtype = h5py.string_dtype()
        del file[where]
        file.create_dataset(where, (n,), dtype, chunks=(1 << 20,))
        file[where].attrs.update(attrs)


def large_csv(path):
    path.write_text("value,y\n" + "1,a\n2,b\n" * 2_000_000)


def one_line_csv(path):
    path.write_text(",".join(["g"] * 4_000_000) + "\n" + ",".join(["1"] * 4_000_000) + "\n")


def endless_line(path):
    path.write_text("x" * 100_000_000)


def declared_10x(path):
    with h5py.File(path, "w") as file:
        for name in ("name", "id", "feature_type"):
            file.create_dataset(f"matrix/features/{name}", (1 << 24,), "S8", chunks=(1 << 20,))
        file.create_dataset("matrix/barcodes", (1 << 24,), "S8", chunks=(1 << 20,))


def declared_loom(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("matrix", (1 << 24, 4), "f4", chunks=(1 << 18, 4))
        file.create_dataset("row_attrs/Gene", (1 << 24,), "S8", chunks=(1 << 20,))
        file["col_attrs/y"] = np.arange(4)


def repeated_parquet(path):
    columns = {"value": np.zeros(20_000_000), "y": pyarrow.array(["a"] * 20_000_000).dictionary_encode()}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def many_names_npz(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in (("X", np.zeros((2, 3))), ("y", np.arange(2)), ("feature_names", np.zeros(9_000_000, "U1"))):
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)


def declared_mtx(path):
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 900000000\n1 1 1\n")


FILES = {
    "names.h5ad": lambda path: declared_h5ad(path, 1 << 29),
    "obs.h5ad": lambda path: declared_h5ad(path, 1 << 29, "obs/y"),
    "rows.csv": large_csv,
    "columns.csv": one_line_csv,
    "line.csv": endless_line,
    "declared.h5": declared_10x,
    "declared.loom": declared_loom,
    "repeated.parquet": repeated_parquet,
    "names.npz": many_names_npz,
    "declared.mtx": declared_mtx,
}


@pytest.fixture(scope="module")
def endings(tmp_path_factory):
    """How reading each file ended, and the memory that it took."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "labels.csv").write_text("y\n1\n2\n3\n")
    labels = {name: str(folder / "labels.csv") for name in ("declared.h5", "declared.mtx")}
    calls = []
    for name, make in FILES.items():
        make(folder / name)
        calls.append((str(folder / name), labels.get(name)))
    found = subprocess.run([sys.executable, "-c", PEAK, json.dumps(calls)], capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    return {name: (ending, int(peak)) for name, ending, peak in map(str.split, found.stdout.splitlines())}


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux' peak of resident memory")
@pytest.mark.parametrize("name", FILES)
def test_memory_is_asked_for_before_it_is_taken(endings, name):
    ending, peak = endings[name]
    assert ending == "MemoryError"
    assert peak < 130 << 20  # the budget, and what libraries keep for themselves


def test_labels_of_their_own_ask_for_memory(tmp_path):
    (tmp_path / "x.csv").write_text("g,h\n1,2\n3,4\n")
    (tmp_path / "labels.txt").write_text("a\nb\n" * 500_000)
    with pytest.raises(MemoryError, match=r"labels\.txt' expands to"):
        read_table(tmp_path / "x.csv", labels=tmp_path / "labels.txt", max_memory="10M")


def test_features_in_rows_ask_for_memory(tmp_path):
    (tmp_path / "x.csv").write_text("name,s,t\ny,a,b\n" + "".join(f"g{j},1,2\n" for j in range(20_000)))
    with pytest.raises(MemoryError, match=r"x\.csv' expands to"):
        read_table(tmp_path / "x.csv", "y", transpose=True, max_memory="1M")


@pytest.mark.parametrize("transpose", [False, True])
def test_what_fits_is_read(tmp_path, transpose):
    rows = ["a,b,y"] + ["1,2,u", "3,4,v"] * 20_000
    if transpose:
        rows = ["name,s,t", "y,u,v"] + [f"g{j},1,2" for j in range(20_000)]
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    table = read_table(tmp_path / "x.csv", "y", transpose=transpose, max_memory="10M")
    assert table.X.shape == ((2, 20_000) if transpose else (40_000, 2))


# ------------------------------------------------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    "text, line",
    [
        ('a,b,y\n1,2,u\n3,"4,v\n5,6,u\n', 3),
        ('a,b,y\n1,2,u\n3,"4' + "5" * 200_000 + "\n", 3),
        ('a,"b,y\n1,2,u\n', 1),
        ('a,b,y\n1,2,"u"x\n', 2),
    ],
)
def test_quotes_that_do_not_close(tmp_path, text, line):
    (tmp_path / "x.csv").write_text(text)
    message = f"line {line} has a quote that doesn't close at the end of its cell: close it, remove it, or write"
    with pytest.raises(ValueError, match=rf"x\.csv' isn't a table: {message}"):
        read_table(tmp_path / "x.csv", "y")
    (tmp_path / "labels.csv").write_text(text)
    (tmp_path / "data.csv").write_text("g,h\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=rf"labels\.csv' isn't a table: {message}"):
        read_table(tmp_path / "data.csv", "y", labels=tmp_path / "labels.csv")


def test_other_encodings_are_told_to_be_saved_anew(tmp_path):
    (tmp_path / "x.csv").write_bytes("größe,y\n1,a\n2,b\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"must be UTF-8 text: .*; .*, or save it as UTF-8$"):
        read_table(tmp_path / "x.csv", "y")


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_gzip_is_read_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"g,h,y\n1,2,a\n3,4,b\n"))
    table = read_table(tmp_path / name, "y")
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.feature_names == ["g", "h"]


COMMAS = {
    "4,464": ("if it means 4464, read it with thousands=','", "if it means 4.464, with decimal=','"),
    "-12,000": ("if it means -12000,",),
    "1,234,567": ("read commas between thousands with thousands=','",),
    "1,234.5": ("read commas between thousands with thousands=','",),
    "0,464": ("read them with decimal=','",),
    "4,46": ("read them with decimal=','",),
    "4,4640": ("read them with decimal=','",),
    "1.234,5": ("read decimal commas, and points between thousands, with decimal=',' and thousands='.'",),
    "1,5e-3": ("read them with decimal=','",),
}


@rotating(1, cell=COMMAS.keys(), transpose=[False, True])
def test_commas_within_numbers(tmp_path, cell, transpose):
    rows = [["g", "h", "y"], [cell, "2.5", "a"], ["3", "4", "b"]]
    if transpose:
        rows = [["name", "s", "t", "u"], ["g", cell, "2.5", "3"], ["h", "3", "4", "5"], ["y", "a", "b", "b"]]
    (tmp_path / "x.tsv").write_text("\n".join("\t".join(row) for row in rows) + "\n")
    with pytest.raises(ValueError, match="is not numeric") as caught:
        read_table(tmp_path / "x.tsv", "y", transpose=transpose)
    for part in COMMAS[cell]:
        assert part in str(caught.value)
    if len(COMMAS[cell]) == 1:
        assert "if it means" not in str(caught.value) or cell == "-12,000"


# ---------------------------------------------------------------------------------------------------------------- names


def test_names_that_nobody_can_see(tmp_path):
    for text, reason in (
        ("g,h\0i,y\n1,2,a\n3,4,b\n", r"null byte in the name of the feature 'h\\0i'"),
        (",g,h,y\ns\0,1,2,a\nt,3,4,b\n", r"null byte in the name of the sample 's\\0'"),
        (",g,h,y\ns,1,2,a\n,3,4,b\n", r"sample without a name \(line 3\): give it one"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(ValueError, match=reason):
            read_table(tmp_path / "x.csv", "y")
    for text, reason in (
        (
            "name,s,t\ng,1,2\n,3,4\ny,a,b\n",
            r"feature without a name \(line 3\): give it one, or leave it out with ignore=\[''\]",
        ),
        ("name,s,t\nonly\0,1,2\ny,a,b\n", r"null byte in the name of the feature 'only\\0'"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(ValueError, match=reason):
            read_table(tmp_path / "x.csv", "y", transpose=True)
    for names in (["g", ""], ["g", "h\0i"]):
        np.savez(tmp_path / "x.npz", X=np.eye(2), y=[0, 1], feature_names=names)
        with pytest.raises(ValueError, match=r"without a name|null byte"):
            read_table(tmp_path / "x.npz")


def test_a_column_of_blanks_is_none_of_names(tmp_path):
    (tmp_path / "x.csv").write_text(",g,h,y\n,1,2,a\n,3,4,b\n")
    assert read_table(tmp_path / "x.csv", "y").feature_names == ["g", "h"]


def test_lists_have_a_line_for_each_name(tmp_path):
    names = ["two\nlines", "a\ttab", "back\\slash", "line\u2028end", "\x85", "plain", "é"]
    ranking = {"rank": range(1, 8), "feature": names, "score": [0.5] * 7}
    write_ranking(tmp_path / "r.txt", ranking)
    lines = (tmp_path / "r.txt").read_text(encoding="utf-8").splitlines()
    assert lines == [r"two\nlines", r"a\ttab", "back\\slash", r"line\u2028end", r"\x85", "plain", "é"]
    write_ranking(tmp_path / "r.rnk", ranking)
    rows = [line.split("\t") for line in (tmp_path / "r.rnk").read_text(encoding="utf-8").splitlines()]
    assert rows == [[line, "0.5"] for line in lines]


def test_a_column_that_obs_lists_twice(tmp_path):
    adata = anndata.AnnData(np.eye(4), pd.DataFrame({"y": list("aabb"), "z": range(4)}, index=list("stuv")))
    adata.write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "r+") as file:
        file["obs"].attrs["column-order"] = np.array(["y", "y", "z"], dtype=object)
    with pytest.raises(ValueError, match="lists the column 'y' of obs 2 times: remove the others"):
        read_table(tmp_path / "x.h5ad", "y")
    assert read_table(tmp_path / "x.h5ad", "z").X.shape == (4, 4)
