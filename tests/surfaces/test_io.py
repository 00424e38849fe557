"""Files in and out, without a process around them."""

import datetime
import gzip
import json
import os
import re
import signal
import time
from decimal import Decimal
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import polars
import pyarrow.parquet
import pytest
import scipy.sparse

from fastfs import io
from fastfs.io import read_table, write_ranking
from fastfs.io._read import READERS


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


TEXT = "a,b,y\n1.5,2,u\n3,4,v\n"


def test_csv(write):
    path = write(TEXT)
    table = read_table(path, "y")
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4]])
    assert table.y.tolist() == ["u", "v"]
    assert table.y.dtype.kind == "U"
    assert table.feature_names == ["a", "b"]
    assert table.source == str(path)


@pytest.mark.parametrize("name", ["t.tsv", "t.txt", "T.TSV", "t.tsv.gz", "t.txt.gz", "t.csv.gz"])
def test_other_endings(write, name):
    text = TEXT if ".csv" in name else TEXT.replace(",", "\t")
    path = write(gzip.compress(text.encode()) if name.endswith("gz") else text, name)
    np.testing.assert_array_equal(read_table(path, "y").X, [[1.5, 2], [3, 4]])


def test_every_digit_survives(write):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 30)) * 10.0 ** rng.integers(-20, 20, (20, 30))
    lines = [",".join(f"g{j}" for j in range(30)) + ",y"]
    lines += [",".join(map(repr, row)) + f",{i % 2}" for i, row in enumerate(X.tolist())]
    np.testing.assert_allclose(read_table(write("\n".join(lines)), "y").X, X, rtol=1e-15)


@pytest.mark.parametrize(
    "labels, expected",
    [
        (["1", "2"], [1, 2]),
        (["True", "False"], ["True", "False"]),
        (["01", "1"], ["01", "1"]),
        (["1.0", "1"], ["1.0", "1"]),
        (["-3", "0"], [-3, 0]),
        (["None", "drug"], ["None", "drug"]),
        (["9" * 30, "1"], ["9" * 30, "1"]),
        (["01a", "b c"], ["01a", "b c"]),
        (['"x, y"', "z"], ["x, y", "z"]),
    ],
)
def test_labels_stay_what_they_are(write, labels, expected):
    table = read_table(write("a,y\n1,{}\n2,{}\n".format(*labels)), "y")
    assert table.y.tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        ",a,b,y\ns1,1,2,u\ns2,3,4,v\n",  # pandas' index, R's write.csv
        "a,b,y\ns1,1,2,u\ns2,3,4,v\n",  # R's write.table
        "a,b,y\n1,2,u,\n3,4,v,\n",  # a separator at the end of each line
        "a,b,y,\n1,2,u,\n3,4,v,\n",
        "\ufeffa, b, y\r\n1, 2, u\r\n3, 4, v\r\n",  # a spreadsheet's byte order mark, spaces
        "y,a,b\nu,1,2\nv,3,4\n",
        "Unnamed: 0,a,b,y\n0,1,2,u\n1,3,4,v\n",  # pandas' index, written and read once more
        "a;b;y\n1;2;u\n3;4;v\n",  # a spreadsheet's CSV in half of Europe
        "a\tb\ty\n1\t2\tu\n3\t4\tv\n",
        "\na,b,y\n1,2,u\n\n3,4,v\n"[1:],  # blank lines
        'a,b,y\n1,2,u\n3,"4","v"\n',  # quotes below lines without any
    ],
)
def test_sample_names_and_loose_ends_are_left_out(write, text):
    table = read_table(write(text), "y")
    assert table.feature_names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.y.tolist() == ["u", "v"]


def test_errors_count_lines_above_and_below_the_first_quote(write):
    with pytest.raises(ValueError, match="line 3 must have a value for each of the 3 names"):
        read_table(write("a,b,y\n1,2,u\n3,4\n"), "y")
    with pytest.raises(ValueError, match="line 6 must have a value for each of the 3 names"):
        read_table(write('a,b,y\n1,2,u\n\n1,2,"u\nu"\n3,4\n'), "y")
    with pytest.raises(ValueError, match="line 4 has a quote"):
        read_table(write('a,b,y\n1,2,u\n1,2,"u"\n3,4,"v\n'), "y")


def test_ignored_columns(write):
    table = read_table(write("id,a,note,b,y\ns1,1,x,2,u\ns2,3,z,4,v\n"), "y", ignore=["id", "note"])
    assert table.feature_names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_missing_values_are_left_to_the_core(write):
    X = read_table(write("a,b,y\n1,,u\nNA,4,v\n"), "y").X
    np.testing.assert_array_equal(X, [[1, np.nan], [np.nan, 4]])


def test_numbers_of_any_kind(write):
    X = read_table(write("a,b,y\nTrue, 12345678901234567890123 ,u\nFALSE,1e300,v\n"), "y").X
    np.testing.assert_array_equal(X, [[1, 12345678901234567890123.0], [0, 1e300]])


@pytest.mark.parametrize(
    "text, name, message",
    [
        ("a,b,y\n1,2,u\n3,?,v\n", "t.csv", r"Column 'b' .* not numeric: row 1 .* has '\?'.*ignore=\['b'\]"),
        (
            "id,b,y\ns1,2,u\ns2,3,v\n",
            "t.csv",
            r"Column 'id' .* row 0 .* has 's1'; if these are the names of the samples, .* ignore=\['id'\]",
        ),
        ("a,a,y\n1,2,u\n", "t.csv", "'a' .2 features.: .* duplicates='suffix'"),
        ("a,y,y\n1,2,u\n", "t.csv", "2 columns 'y'"),
        ("a,,y\n1,2,u\n", "t.csv", r"Column 1 \(0-based\) .* no name"),
        ("a,b,y\n1,2,\n", "t.csv", "'y' .* no value in row 0"),
        ("y\nu\n", "t.csv", "no column left as a feature"),
        ("a b y\n1 2 u\n", "t.csv", "only 'a b y': is it a table with commas, semicolons or tabs"),
        (
            "a;b;y\n1,5;2;u\n2.5;2;v\n",
            "t.csv",
            "Column 'a' .* row 0 .* '1,5'; if all numbers have decimal commas, read them with decimal=','",
        ),
        ("a,b,y\n1_2,2,u\n", "t.csv", "Column 'a' .* '1_2'; if these are the names of the samples"),
        ("a,b,Y\n1,2,u\n", "t.csv", "no column 'y'.*a, b, Y"),
        (",".join(f"g{j}" for j in range(99)) + "\n1" + ",1" * 98, "t.csv", "'y'.*g0, g1, g2, ..., g97, g98"),
        (
            "a,b,y\n1,2\n3,4,v\n",
            "t.csv",
            "t a table: line 2 must have a value for each of the 3 names in its header; got 2",
        ),
        ("a,b,y\n1,2,u\n\n3,4,v,5\n", "t.csv", "line 4 must have a value for each of the 3 names in its header; got 4"),
        ('a,b,y\n1,2,"u\nu"\n3\n', "t.csv", "line 4 must have a value for each of the 3 names in its header; got 1"),
        ("a,b,c,y\n1,2\n3,4\n", "t.csv", "line 2 must have a value for each of the 4 names in its header; got 2"),
        ("a,b,y\n1,2,u,7,8\n", "t.csv", "line 2 must have a value for each of the 3 names in its header; got 5"),
        ('a,b,y\n1,"2,u\n', "t.csv", "isn't a table"),
        ("\n\n", "t.csv", "isn't a table.*blank"),
        ("a,b,y\n", "t.csv", "no samples"),
        ("", "t.csv", "empty"),
        (b"\xff\xfe\x00", "t.csv", "damaged: .* begins as utf-16"),
        (b"a,y\n\xff,1\n", "t.csv", "must be UTF-8 text"),
        (TEXT, "t.csv.gz", "isn't a gzip file"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "t.csv.gz", "gzip"),
        (TEXT, "t.xls", "isn.t read as it is: save it as .xlsx"),
        (TEXT, "t.xlsx", "isn't a readable Excel file"),
        (TEXT, "t.npz", "isn't an NPZ archive"),
    ],
)
def test_bad_text(write, text, name, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(text, name), "y")


def test_a_typing_error_finds_its_column(write):
    with pytest.raises(ValueError, match=r"no column 'tisue' \(it has a, tissue\); did you mean 'tissue'\?"):
        read_table(write("a,tissue\n1,u\n"), "tisue")
    with pytest.raises(ValueError, match="choose one with label="):
        read_table(write(TEXT))
    with pytest.raises(FileNotFoundError, match="no file 'nowhere"):
        read_table("nowhere.csv", "y")


def save(tmp_path, **arrays):
    np.savez_compressed(tmp_path / "t.npz", **arrays)
    return tmp_path / "t.npz"


X = np.array([[1, 0, 3], [4, 5, 0]])


def test_npz(tmp_path):
    path = save(tmp_path, X=X.astype(np.uint8), y=[1, 0], class_names=["no", "yes"], feature_names=["a", "b", "c"])
    table = read_table(path)
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == ["yes", "no"]
    assert table.feature_names == ["a", "b", "c"]
    assert read_table(path, ignore=["b"]).X.tolist() == [[1, 3], [4, 0]]


def test_npz_keeps_float32_and_other_labels(tmp_path):
    path = save(tmp_path, X=X.astype(np.float32), y=[1, 0], class_names=["no", "yes"], region=[0, 1])
    table = read_table(path, "region")
    assert table.X.dtype == np.float32
    assert table.y.tolist() == [0, 1]
    assert table.feature_names == ["x0", "x1", "x2"]


def test_npz_with_csr_parts(tmp_path):
    sparse = scipy.sparse.csr_array(X.astype(np.uint16))
    parts = {
        "data": sparse.data,
        "indices": sparse.indices.astype(np.uint16),
        "indptr": sparse.indptr,
        "shape": sparse.shape,
        "format": "csr",
    }
    path = save(tmp_path, **parts, y=[0, 1])
    table = read_table(path, ignore=["x1"])
    assert table.X.format == "csr"
    assert table.X.dtype == np.float64
    assert table.X.toarray().tolist() == [[1, 3], [4, 0]]
    with pytest.raises(ValueError, match="'csc'"):
        read_table(save(tmp_path, **{**parts, "format": "csc"}, y=[0, 1]))
    with pytest.raises(ValueError, match="do not fit"):
        read_table(save(tmp_path, **{**parts, "shape": (2, 2)}, y=[0, 1]))


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"y": [0, 1]}, "no array 'X'"),
        ({"X": X}, "no array 'y'"),
        ({"X": X.ravel(), "y": [0, 1]}, "got 1-D"),
        ({"X": X.astype(str), "y": [0, 1]}, "real numbers"),
        ({"X": X, "y": [0, 1], "feature_names": ["a"]}, "3 feature_names, one per column of X; got 1"),
        ({"X": X, "y": [0, 1], "feature_names": ["a", "b", "a"]}, "'a' .2 features.: .* duplicates='suffix'"),
        (
            {"X": X, "y": [0, 2], "class_names": ["u", "v"]},
            "must hold integers from 0 to 1, indices into its class_names; got values from 0 to 2",
        ),
        ({"X": X, "y": [0, np.nan]}, "no value in row 1"),
        ({"X": X, "y": [0]}, r"'y' .* a value for each of the 2 samples of X; got the shape \(1,\)"),
        ({"X": X, "y": [[0, 1]]}, r"shape \(1, 2\)"),
        ({"X": X, "y": np.array([0, "v"], dtype=object)}, "'y' .* cannot be read"),
        ({"X": X[:, :0], "y": [0, 1]}, "no feature"),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    with pytest.raises(ValueError, match=message):
        read_table(save(tmp_path, **arrays))


# Features in rows

TRANSPOSED = "gene,s1,s2,s3\na,1.5,3,5\nb,2,4,6\nstatus,u,v,u\n"


@pytest.mark.parametrize(
    "text",
    [
        TRANSPOSED,
        TRANSPOSED.replace("gene", ""),
        TRANSPOSED.replace("gene,", ""),  # R's write.table
        "gene,s1,s2,s3\nstatus,u,v,u\na,1.5,3,5\nb,2,4,6\n",
        TRANSPOSED.replace("\n", ",\n"),
    ],
)
def test_transposed_csv(write, text):
    table = read_table(write(text), "status", transpose=True)
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4], [5, 6]])
    assert table.feature_names == ["a", "b"]
    assert table.y.tolist() == ["u", "v", "u"]


def test_transposed_table_with_rows_and_columns_to_ignore(write):
    text = "id,symbol,length,s1,s2\ng1,TP53,9,1,2\ng2,MYC,8,3,4\nbatch,,,x,y\nstatus,,,u,v\n"
    table = read_table(write(text), "status", transpose=True, ignore=["symbol", "length", "batch"])
    assert (table.feature_names, table.X.tolist()) == (["g1", "g2"], [[1, 3], [2, 4]])
    # Names come from the first column that is left.
    text = text.replace("batch,", "b1,batch").replace("status,", "s0,status")
    table = read_table(write(text), "status", transpose=True, ignore=["id", "length", "batch"])
    assert table.feature_names == ["TP53", "MYC"]


@pytest.mark.parametrize(
    "text, label, ignore, message",
    [
        (TRANSPOSED, "statos", [], "no row 'statos' .*did you mean 'status'"),
        (TRANSPOSED, "s2", [], "'s2' as a column, not as a row: leave out transpose=True"),
        (TRANSPOSED, None, [], "choose one with label=..., or give a file of labels with labels="),
        (TRANSPOSED, "status", ["q"], "no row or column 'q'"),
        (TRANSPOSED, "status", ["a", "b"], "no row left as a feature"),
        (TRANSPOSED, "status", ["s1", "s2", "s3"], "no column left as a sample"),
        (TRANSPOSED.replace("b,", "a,"), "status", [], "'a' .2 features.: .* duplicates='suffix'"),
        (TRANSPOSED + "status,u,v,u\n", "status", [], "2 rows 'status'"),
        (TRANSPOSED.replace("s2", "s1"), "status", [], "2 columns 's1'"),
        (TRANSPOSED.replace("v", ""), "status", [], "Row 'status' .* no value in column 's2'"),
        (TRANSPOSED.replace("4", "four"), "status", [], "Column 's2' .* row 'b' has 'four'"),
        (TRANSPOSED + "batch,x,y,x\n", "status", [], r"Row 'batch' .* column 's1' has 'x'; .* ignore=\['batch'\]"),
        ("gene,s1,s2\n", "status", [], "no features below"),
        ("gene,s1,s2\na,1\n", "status", [], "line 2 must have a value for each of the 3 names in its header; got 2"),
    ],
)
def test_bad_transposed_csv(write, text, label, ignore, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(text), label, ignore=ignore, transpose=True)


def test_forgotten_transpose(write):
    with pytest.raises(ValueError, match="'status' as a row, not as a column: add transpose=True"):
        read_table(write(TRANSPOSED), "status")


def test_many_rows_are_read_in_one_pass(write):
    """20,000 genes of 60 samples; a loop over columns of a frame would take minutes."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20_000, 60)), 3)
    lines = ["gene," + ",".join(f"s{i}" for i in range(60)), "y," + ",".join("uv" * 30)]
    lines += [f"g{j}," + ",".join(map(repr, row)) for j, row in enumerate(X.tolist())]
    path = write("\n".join(lines))
    start = time.process_time()
    table = read_table(path, "y", transpose=True)
    assert time.process_time() - start < 10
    np.testing.assert_array_equal(table.X, X.T)


# Labels in a file of their own


@pytest.mark.parametrize(
    "labels, name, label",
    [
        ("u\nv\n", "l.txt", None),
        ("u\n\nv", "l.csv", None),
        ("y\nu\nv\n", "l.txt", "y"),
        ("sample,y\ns1,u\ns2,v\n", "l.csv", "y"),
        ("sample\ty\ns2\tv\ns3\tw\ns1\tu\n", "l.tsv", "y"),  # by name, in another order, with one more
        ("y,sample\nv,s2\nu,s1\n", "l.csv", "y"),  # names that don't stand first
        ("s2,v\ns1,u\n", "l.csv", None),  # names without a header
        ("sample,y\ns2,v\ns1,u\n", "l.csv", None),
        ("group,y\na,u\na,v\n", "l.csv", "y"),  # without names of samples
    ],
)
def test_labels_from_a_file(write, labels, name, label):
    data = write(",a,b\ns1,1,2\ns2,3,4\n")
    table = read_table(data, label, labels=write(labels, name))
    assert (table.y.tolist(), table.X.tolist()) == (["u", "v"], [[1, 2], [3, 4]])


def test_labels_by_the_names_of_an_ignored_first_column(write):
    data = write("patient,a\ns1,1\ns2,3\n")
    table = read_table(data, "y", labels=write("id,y\ns2,v\ns1,u\n", "l.csv"), ignore=["patient"])
    assert table.y.tolist() == ["u", "v"]


def test_labels_for_npz(tmp_path, write):
    np.savez(tmp_path / "t.npz", X=X)
    assert read_table(tmp_path / "t.npz", labels=write("u\nv\n", "l.txt")).y.tolist() == ["u", "v"]
    table = read_table(tmp_path / "t.npz", labels=write("1\n2\n1\n", "l.txt"), transpose=True)
    assert (table.y.tolist(), table.X.tolist()) == ([1, 2, 1], X.T.tolist())


@pytest.mark.parametrize(
    "labels, name, label, message",
    [
        ("u\n", "l.txt", None, "has 1 labels for the 2 samples of '.*table.csv'"),
        (
            "y\nu\nv\n",
            "l.txt",
            None,
            "3 labels for the 2 samples .*; if 'y' is the name of the column, add label='y'",
        ),
        ("u\nv\nw\nx\n", "l.txt", None, "4 labels .*; are its features in rows. Then add transpose=True"),
        ("s,a,b\ns1,u,1\ns2,v,2\n", "l.csv", None, "columns s, a, b: choose one of them with label="),
        ("s,Y\ns1,u\ns2,v\n", "l.csv", "y", "no column 'y'"),
        ("age;y\n30;u\n40;v\n", "l.csv", "y", "no column .* names the samples .* 's1', 's2' .* add by_order=True"),
        ("s,y\ns1,u\ns9,v\n", "l.csv", "y", "no line for 1 of the 2 samples .* 's2' .* with drop_missing=True"),
        ("s,y\ns1,u\ns2,v\ns1,u\n", "l.csv", "y", "2 lines .* for the sample 's1'"),
        ("s,t,y\ns1,s2,u\ns2,s1,v\n", "l.csv", "y", "columns s, t .* in different orders: choose one with key="),
        ("s,y\nS1,u\nS2,v\n", "l.csv", "y", "upper and lower case: match them with match='case'"),
        ("s,y\ns1,u\ns2,\n", "l.csv", "y", "no value in row 1"),
        ("s,y\n", "l.csv", "y", "no samples"),
        ("", "l.csv", "y", "empty"),
        (b"y\n\xff\nb\n", "l.csv", "y", "UTF-8"),
    ],
)
def test_bad_labels_file(write, labels, name, label, message):
    data = write(",a,b,c,d\ns1,1,2,3,4\ns2,3,4,5,6\n")
    with pytest.raises(ValueError, match=message):
        read_table(data, label, labels=write(labels, name))
    with pytest.raises(FileNotFoundError, match="no file 'nowhere"):
        read_table(data, label, labels="nowhere.txt")


def test_classes(write):
    table = read_table(write("a,y\n1,10\n2,20\n3,30\n4,10\n"), "y")
    kept = io.keep_classes(table, ["10", "30"])
    assert (kept.y.tolist(), kept.X.tolist()) == ([10, 30, 10], [[1], [3], [4]])
    with pytest.raises(ValueError, match=r"no class '11' \(it has 10, 20, 30\)"):
        io.keep_classes(table, ["10", "11"])


VALUES = np.array([[1.5, 2], [3, 4], [5, 6]])
ANNOTATED = "gene,s1,s2,s3\na,1.5,3,5\ndonor,x,y,x\nb,2,4,6\nstatus,u,v,u\n"


@pytest.mark.parametrize("kind", ["csv", "transposed csv", "parquet", "transposed parquet", "npz", "h5ad", "labels"])
def test_annotations_are_no_features(tmp_path, write, kind):
    donors, options = ["x", "y", "x"], {"annotations": ["donor"]}
    if kind == "csv":
        path = write(",a,donor,b,status\ns1,1.5,x,2,u\ns2,3,y,4,v\ns3,5,x,6,u\n")
    elif kind == "transposed csv":
        path, options["transpose"] = write(ANNOTATED), True
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        pandas = pytest.importorskip("pandas")
        columns = {"a": VALUES[:, 0], "donor": donors, "b": VALUES[:, 1], "status": ["u", "v", "u"]}
        path = parquet(tmp_path, pandas.DataFrame(columns))
    elif kind == "transposed parquet":
        pytest.importorskip("pyarrow")
        pandas = pytest.importorskip("pandas")
        rows = [line.split(",") for line in ANNOTATED.split()]
        path = parquet(tmp_path, pandas.DataFrame(rows[1:], columns=rows[0]).set_index("gene"))
        options["transpose"] = True
    elif kind == "npz":
        path = save(tmp_path, X=VALUES, status=np.array([*"uvu"]), donor=np.array(donors), feature_names=["a", "b"])
    elif kind == "h5ad":
        anndata = pytest.importorskip("anndata")
        pandas = pytest.importorskip("pandas")
        obs = pandas.DataFrame({"donor": donors, "status": ["u", "v", "u"]}, index=["s1", "s2", "s3"])
        path = h5ad(tmp_path, anndata.AnnData(VALUES, obs, pandas.DataFrame(index=["a", "b"])))
    else:
        path = write(",a,b\ns1,1.5,2\ns2,3,4\ns3,5,6\n")
        options["labels"] = write("id,donor,status\ns3,x,u\ns2,y,v\ns1,x,u\n", "l.csv")
    table = read_table(path, "status", **options)
    assert (table.feature_names, table.y.tolist()) == (["a", "b"], [*"uvu"])
    np.testing.assert_array_equal(table.X, VALUES)
    assert {name: values.tolist() for name, values in table.annotations.items()} == {"donor": donors}
    assert io.keep_classes(table, ["u"]).annotations["donor"].tolist() == ["x", "x"]
    with pytest.raises(ValueError, match="'dono'"):
        read_table(path, "status", **options | {"annotations": ["dono"]})


def test_bad_annotations(write):
    with pytest.raises(ValueError, match=r"Column 'donor' of '.*' has no value in row 1"):
        read_table(write("a,donor,y\n1,x,u\n2,,v\n"), "y", annotations=["donor"])
    with pytest.raises(ValueError, match=r"must be a table with the column 'donor': choose its labels with label="):
        read_table(write("a\n1\n2\n"), labels=write("u\nv\n", "l.txt"), annotations=["donor"])


# Parquet


@pytest.fixture
def frame():
    index = pd.Index(["s1", "s2", "s3"], name="sample")
    return pd.DataFrame({"a": [1.5, 3, 5], "b": [2, 4, 6], "y": ["u", "v", "u"]}, index=index)


def parquet(tmp_path, frame, **options):
    frame.to_parquet(tmp_path / "t.parquet", **options)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("kind", ["named index", "index", "range", "column without a name", "pyarrow"])
def test_parquet(tmp_path, frame, kind):
    if kind == "index":
        frame = frame.rename_axis(None)
    elif kind == "range":
        frame = frame.reset_index(drop=True)
    elif kind == "column without a name":
        frame = frame.reset_index(names="Unnamed: 0")
    path = parquet(tmp_path, frame)
    if kind == "pyarrow":
        pyarrow.parquet.write_table(pyarrow.table({"a": [1.5, 3, 5], "b": [2, 4, 6], "y": ["u", "v", "u"]}), path)
    table = read_table(path, "y")
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4], [5, 6]])
    assert (table.feature_names, table.y.tolist()) == (["a", "b"], ["u", "v", "u"])


def test_parquet_types(tmp_path, frame):
    frame = frame.astype({"a": "float32", "b": "float16"})
    assert read_table(parquet(tmp_path, frame), "y").X.dtype == np.float32
    frame = pd.DataFrame(
        {
            "bool": [True, False, True],
            "int": pd.array([2**60, None, 3], dtype="Int64"),
            "category": pd.Categorical([7, 8, 7]),
            "text": ["1", "2.5", None],
            "decimal": [Decimal("0.5"), Decimal("1.5"), None],
            "y": pd.Categorical(["1", "2", "1"]),
        }
    )
    table = read_table(parquet(tmp_path, frame), "y")
    expected = [[1, 2.0**60, 7, 1, 0.5], [0, np.nan, 8, 2.5, 1.5], [1, 3, 7, np.nan, np.nan]]
    np.testing.assert_array_equal(table.X, expected)
    assert table.y.tolist() == [1, 2, 1]
    assert read_table(parquet(tmp_path, frame), "bool", ignore=["y"]).y.tolist() == [True, False, True]


def test_parquet_of_polars(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {
        "a": [1, None, 3],
        "b": [True, None, False],
        "y": ["u", "v", "u"],
        "seen": [datetime.date(2020, 1, 1)] * 3,
    }
    frame = polars.DataFrame(columns).with_columns(y=polars.col("y").cast(polars.Categorical), kind=polars.col("y"))
    frame = frame.with_columns(polars.col("kind").cast(polars.Enum(["u", "v"])))
    frame.write_parquet(path)
    table = read_table(path, "y", ignore=["seen", "kind"])
    np.testing.assert_array_equal(table.X, [[1, 1], [np.nan, np.nan], [3, 0]])
    assert table.y.tolist() == ["u", "v", "u"]
    with pytest.raises(ValueError, match=r"Column 'seen' .* holds dates or durations \(date32.*ignore=\['seen'\]"):
        read_table(path, "y", ignore=["kind"])
    with pytest.raises(ValueError, match=r"Column 'kind' .* holds categories, such as 'u', not numbers"):
        read_table(path, "y", ignore=["seen"])
    rows = frame.drop("y", "kind", "seen").with_columns(polars.Series("gene", [*"pqr"])).select("gene", "a", "b")
    rows.with_columns(seen=datetime.date(2020, 1, 1)).write_parquet(path)
    (tmp_path / "l.txt").write_text("u\nv\n")
    with pytest.raises(ValueError, match=r"Column 'seen' .* holds dates"):
        read_table(path, labels=tmp_path / "l.txt", transpose=True)
    np.testing.assert_array_equal(
        read_table(path, labels=tmp_path / "l.txt", transpose=True, ignore=["seen"]).X, [[1, np.nan, 3], [1, np.nan, 0]]
    )


def test_many_columns_of_parquet(tmp_path):
    """A second of work; it was minutes while something was done for each pair of columns."""
    table = {**{f"g{j}": [float(j), 0.0] for j in range(20_000)}, "y": ["u", "v"]}
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "t.parquet")
    start = time.process_time()
    X = read_table(tmp_path / "t.parquet", "y").X
    assert time.process_time() - start < 20
    np.testing.assert_array_equal(X, [np.arange(20_000), np.zeros(20_000)])


def test_transposed_parquet(tmp_path, frame, write):
    features = frame[["a", "b"]].T.astype("float32")
    table = read_table(
        parquet(tmp_path, features), "y", labels=write("sample,y\ns3,w\ns2,v\ns1,u\n", "l.csv"), transpose=True
    )
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 4], [5, 6]])
    assert (table.feature_names, table.y.tolist()) == (["a", "b"], ["u", "v", "w"])
    # A row of labels turns all columns into text.
    whole = frame.T.astype(str).reset_index(names="gene")
    table = read_table(parquet(tmp_path, whole), "y", transpose=True, ignore=["s2"])
    np.testing.assert_array_equal(table.X, [[1.5, 2], [5, 6]])
    assert (table.feature_names, table.y.tolist()) == (["a", "b"], ["u", "u"])
    with pytest.raises(ValueError, match=r"Row 'y' .* column 's1' has 'u'; .*ignore=\['y'\]"):
        read_table(parquet(tmp_path, whole), labels=write("u\nv\nu\n", "l.txt"), transpose=True)
    with pytest.raises(ValueError, match="'y' as a row, not as a column: add transpose=True"):
        read_table(parquet(tmp_path, whole), "y")


@pytest.mark.parametrize(
    "change, label, message",
    [
        (lambda f: f, "x", r"no column 'x' \(it has a, b, y, sample\)"),
        (lambda f: f, None, "needs a label column"),
        (lambda f: f.assign(c=["p", "q", "r"]), "y", r"Column 'c' .* row 0 .* 'p'; leave it out with ignore=\['c'\]"),
        (lambda f: f.reset_index(drop=False).reset_index(drop=True), "y", "Column 'sample' .* names of the samples"),
        (
            lambda f: f.assign(c=pd.Timestamp(2020, 1, 1)),
            "y",
            r"'c' .* holds dates or durations \(timestamp.*ignore=\['c'\]",
        ),
        (lambda f: f.assign(c=pd.Timedelta(1, "D")), "y", r"Column 'c' .* holds dates or durations \(duration"),
        (
            lambda f: f.assign(c=pd.period_range("2020", periods=3, freq="M")),
            "y",
            r"'c' .* other values \(pandas.period\)",
        ),
        (
            lambda f: f.assign(c=pd.Categorical([*"pqp"])),
            "y",
            r"Column 'c' .* holds categories, such as 'p', .*=\['c'\]",
        ),
        (lambda f: f.assign(c=[[1], [2], [3]]), "y", "Column 'c' "),
        (lambda f: f.assign(y=["u", None, "v"]), "y", "no value in row 1"),
        (lambda f: f[:0], "y", "0 rows"),
        (lambda f: f[["y"]], "y", "no column left as a feature"),
    ],
)
def test_bad_parquet(tmp_path, frame, change, label, message):
    with pytest.raises(ValueError, match=message):
        read_table(parquet(tmp_path, change(frame)), label)


def assert_damage_is_told(path, message, **options):
    """At whatever byte the file was cut."""
    whole = path.read_bytes()
    for size in np.linspace(1, len(whole) - 2, 25).astype(int):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=message) as error:
            read_table(path, **options)
        assert "\n" not in str(error.value)
    path.write_bytes(b"not at all what its name says")
    with pytest.raises(ValueError, match=message):
        read_table(path, **options)


def test_damaged_parquet(tmp_path, frame):
    assert_damage_is_told(parquet(tmp_path, frame), "isn't a readable Parquet file", label="y")


# H5AD


@pytest.fixture
def cells():
    obs = pd.DataFrame({"type": pd.Categorical(["u", "v", "u"]), "n": [1, 2, 3]}, index=["s1", "s2", "s3"])
    counts = scipy.sparse.csr_matrix(np.array([[1, 0], [3, 4], [0, 6]], dtype=np.uint16))
    return anndata.AnnData(counts, obs, pd.DataFrame(index=["a", "b"]), layers={"log": np.log1p(counts.toarray())})


def h5ad(tmp_path, cells):
    cells.write_h5ad(tmp_path / "t.h5ad")
    return tmp_path / "t.h5ad"


def test_h5ad(tmp_path, cells):
    table = read_table(h5ad(tmp_path, cells), "type")
    assert table.X.format == "csr"
    assert table.X.dtype == np.float64
    assert table.X.toarray().tolist() == [[1, 0], [3, 4], [0, 6]]
    assert (table.feature_names, table.y.tolist()) == (["a", "b"], ["u", "v", "u"])
    table = read_table(tmp_path / "t.h5ad", "n", ignore=["a"], layer="log")
    np.testing.assert_array_equal(table.X, np.log1p(np.array([[0], [4], [6]], dtype=np.float32)))
    assert (table.feature_names, table.y.tolist()) == (["b"], [1, 2, 3])


def test_h5ad_of_other_kinds(tmp_path, cells, write):
    cells.X = scipy.sparse.csc_matrix(cells.X.astype(np.float32))
    labels = write("cell,y\ns3,w\ns2,v\ns1,u\n", "l.csv")
    table = read_table(h5ad(tmp_path, cells), "y", labels=labels)
    assert (table.X.format, table.X.dtype, table.y.tolist()) == ("csc", np.float32, ["u", "v", "w"])
    assert io.keep_classes(table, ["w", "u"]).X.toarray().tolist() == [[1, 0], [0, 6]]


@pytest.mark.parametrize(
    "change, options, message",
    [
        (None, {"label": "tipe"}, r"no column of obs 'tipe' \(it has type, n\); did you mean 'type'"),
        (None, {}, r"choose one of obs with label=\.\.\. \(type, n\)"),
        (None, {"label": "type", "layer": "lug"}, r"no layer 'lug' \(it has log\); did you mean 'log'"),
        (None, {"label": "type", "ignore": ["c"]}, "no feature 'c'"),
        (None, {"label": "type", "transpose": True}, "samples in rows, .* leave out transpose=True"),
        (lambda a: a.obs.isetitem(0, ["u", None, "v"]), {"label": "type"}, "no value in row 1"),
        (lambda a: setattr(a, "var_names", ["a", "a"]), {"label": "type"}, "'a' .2 features.: .* duplicates='suffix'"),
        (lambda a: setattr(a, "X", None), {"label": "type"}, r"no X; choose .* layer=\.\.\. \(layers: log\)"),
        (lambda a: setattr(a, "X", a.X.astype(complex)), {"label": "type"}, "real numbers; got complex"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning:anndata")
def test_bad_h5ad(tmp_path, cells, change, options, message):
    if change:
        change(cells)
    with pytest.raises(ValueError, match=message):
        read_table(h5ad(tmp_path, cells), **options)


def test_damaged_h5ad(tmp_path, cells):
    path = h5ad(tmp_path, cells)
    with h5py.File(tmp_path / "other.h5ad", "w") as file:
        file["data"] = [1.0]
    with pytest.raises(ValueError, match="isn't a readable H5AD file: it has no 'obs'"):
        read_table(tmp_path / "other.h5ad", "type")
    with h5py.File(path, "a") as file:
        file["X/indices"][0] = 9
    with pytest.raises(ValueError, match=r"sparse matrix in .*t.h5ad' do not fit"):
        read_table(path, "type")
    assert_damage_is_told(h5ad(tmp_path, cells), "isn't a readable H5AD file", label="type")


def test_h5ad_of_real_cells():
    folder = os.environ.get("FASTFS_TEST_DATA")
    if not folder:
        pytest.skip("FASTFS_TEST_DATA does not name the directory of the data sets")
    table = read_table(Path(folder, "sc_pbmc68k_reduced.h5ad"), "label")
    expected = read_table(Path(folder, "sc_pbmc68k_reduced.npz"))
    assert table.X.shape == (700, 765)
    assert (table.X != expected.X).nnz == 0
    assert table.y.tolist() == expected.y.tolist()
    assert "CD79A" in table.feature_names


# MatrixMarket

MTX = "%%MatrixMarket matrix coordinate integer general\n% genes x cells\n2 3 4\n1 1 1\n1 2 3\n2 2 4\n2 3 6\n"
GENES = "ENSG1\tTP53\tGene Expression\nENSG2\tMYC\tGene Expression\n"


@pytest.mark.parametrize("name", ["matrix.mtx", "GSM1_matrix.mtx.gz"])
def test_mtx_as_10x_writes_it(write, name):
    prefix, gz = name.partition("matrix")[0], name.endswith("gz")
    names = "genes.tsv", "features.tsv.gz"
    write(gzip.compress(GENES.encode()) if gz else GENES, prefix + names[gz])
    write("AAC-1\nAAG-1\nACC-1\n", f"{prefix}barcodes.tsv")
    path = write(gzip.compress(MTX.encode()) if gz else MTX, name)
    labels = write("Barcode,Cluster\nACC-1,3\nAAG-1,2\nAAC-1,1\n", "clusters.csv")
    table = read_table(path, "Cluster", labels=labels, transpose=True)
    assert table.X.dtype == np.float64
    assert table.X.toarray().tolist() == [[1, 0], [3, 4], [0, 6]]
    assert (table.feature_names, table.y.tolist()) == (["ENSG1", "ENSG2"], [1, 2, 3])
    table = read_table(path, "Cluster", labels=labels, transpose=True, ignore=["ENSG1"])
    assert table.X.toarray().tolist() == [[0], [4], [6]]
    with pytest.raises(ValueError, match=r"names 2 features .*, which are its rows: add transpose=True"):
        read_table(path, "Cluster", labels=labels)


def test_mtx_alone(write):
    path, labels = write(MTX, "m.mtx"), write("u\nv\n", "l.txt")
    assert read_table(path, labels=labels).feature_names == ["x0", "x1", "x2"]
    table = read_table(path, labels=labels, feature_names=write("a\nb\nc\n", "n.txt"))
    assert (table.feature_names, table.X.toarray().tolist()) == (["a", "b", "c"], [[1, 3, 0], [0, 4, 6]])
    dense = write("%%MatrixMarket matrix array real general\n2 2\n1.5\n2\n3\n4\n", "d.mtx")
    assert read_table(dense, labels=labels).X.tolist() == [[1.5, 3], [2, 4]]


@pytest.mark.parametrize(
    "text, options, message",
    [
        (MTX, {"labels": None}, "holds no labels: give a file of them with labels="),
        (MTX, {"transpose": True}, "2 labels for the 3 samples .*; are its features in rows. Then add transpose=True"),
        (MTX, {"feature_names": "a\n"}, "names 1 features .*; expected 3 lines, without a header"),
        (MTX, {"feature_names": "a\nb\n"}, "names 2 features .*, which are its rows: add transpose=True"),
        (MTX, {"feature_names": "a\nb\na\n"}, "'a' .2 features.: .* duplicates='suffix'"),
        (MTX.replace("integer", "complex"), {}, "real or integer values; got the field 'complex'"),
        (MTX.replace("integer", "pattern"), {}, "real or integer values; got the field 'pattern'"),
        (MTX.replace("2 3 4", "2 3 5"), {}, "isn't a readable MatrixMarket file"),
        (MTX.replace("2 3 6", "3 3 6"), {}, "isn't a readable MatrixMarket file"),
        (MTX.replace("2 3 6", "2 3 x"), {}, "isn't a readable MatrixMarket file"),
        (MTX.replace("2 3 6", "2 3 \0"), {}, "isn't a readable MatrixMarket file: it holds null bytes"),
        (MTX.replace("2 3 4", "2 3000000000 4"), {}, "at most 10000000"),
        ("hello\n", {}, "isn't a readable MatrixMarket file"),
    ],
)
def test_bad_mtx(write, text, options, message):
    options = {"labels": "u\nv\n", **options}
    options = {k: write(v, f"{k}.txt") if isinstance(v, str) else v for k, v in options.items()}
    with pytest.raises(ValueError, match=message):
        read_table(write(text, "m.mtx"), **options)


@pytest.mark.skipif(scipy.__version__.startswith("1.11."), reason="SciPy 1.11 refuses such a number")
def test_mtx_whose_last_number_was_cut(write):
    """Nobody can know what it was; but it ended SciPy 1.17 in a segmentation fault."""
    path = write(MTX.replace("integer", "real").replace("2 3 6\n", "2 3 6.5E"), "m.mtx")
    assert read_table(path, labels=write("u\nv\n", "l.txt")).X[1, 2] == 6.5


def test_damaged_mtx(write):
    labels = write("u\nv\n", "l.txt")
    path = write(gzip.compress(MTX.encode()), "m.mtx.gz")
    assert_damage_is_told(path, "isn't a readable MatrixMarket file", labels=labels)


def test_barcodes_of_another_matrix(write):
    write("AAC\n", "barcodes.tsv")
    with pytest.raises(ValueError, match=r"barcodes.tsv' must name the 2 samples of .*; got 1 names"):
        read_table(write(MTX, "matrix.mtx"), labels=write("u\nv\n", "l.txt"))


def test_options_of_other_formats(write):
    with pytest.raises(ValueError, match=r"layer=\.\.\. is for files that end in .h5ad, .* leave it out"):
        read_table(write(TEXT), "y", layer="log")
    with pytest.raises(
        ValueError, match=r"feature_names=\.\.\. is for files that end in .mtx or .mtx.gz: leave it out for"
    ):
        read_table(write(TEXT), "y", feature_names=write("a\n", "n.txt"))


RANKING = {"rank": [1, 2], "feature": ["é,1", "b"], "index": [1, 0], "score": [1 / 3, 0.1]}


def test_write_csv(tmp_path):
    write_ranking(tmp_path / "r.csv", RANKING, {"method": "manifest"})
    text = (tmp_path / "r.csv").read_text(encoding="utf-8")
    assert text == f'rank,feature,index,score\n1,"é,1",1,{1 / 3!r}\n2,b,0,0.1\n'


def test_write_json(tmp_path):
    write_ranking(tmp_path / "r.json", RANKING, {"method": "manifest"})
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert found["method"] == "manifest"
    assert found["ranking"][0] == {"rank": 1, "feature": "é,1", "index": 1, "score": 1 / 3}
    assert len(found["ranking"]) == 2


def test_write_lists(tmp_path):
    write_ranking(tmp_path / "r.txt", RANKING, {"method": "manifest"})
    assert (tmp_path / "r.txt").read_text(encoding="utf-8") == "é,1\nb\n"
    write_ranking(tmp_path / "r.rnk", RANKING, {"method": "manifest"})
    assert (tmp_path / "r.rnk").read_text(encoding="utf-8") == f"é,1\t{1 / 3!r}\nb\t0.1\n"
    with pytest.raises(ValueError, match=r"its name must end in .csv, .json, .parquet or .txt$"):
        write_ranking(tmp_path / "r.rnk", {"rank": [1], "feature": ["a"]})
    with pytest.raises(ValueError, match=r"its name must end in .csv, .json or .parquet$"):
        write_ranking(tmp_path / "r.txt", {"rank": [1], "feature_a": ["a"]})


def test_write_parquet(tmp_path):
    about = {"method": "manifest", "parameters": {"sigma": (0.5, 0.7)}, "source": tmp_path}
    write_ranking(tmp_path / "r.parquet", RANKING, about)
    found = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert found.to_pydict() == RANKING
    assert [str(of) for of in found.schema.types] == ["int64", "string", "int64", "double"]
    about = json.loads(found.schema.metadata[b"fastfs"])
    assert about == {"method": "manifest", "parameters": {"sigma": [0.5, 0.7]}, "source": str(tmp_path)}
    assert pd.read_parquet(tmp_path / "r.parquet").to_dict("list") == RANKING


@pytest.mark.parametrize("name", ["r.parquet", "r.json"])
def test_columns_of_unequal_length(tmp_path, name):
    with pytest.raises(ValueError, match=r"length|shorter"):
        write_ranking(tmp_path / name, {**RANKING, "score": [0.5]})
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("the old one")
    with pytest.raises(ValueError, match="shorter"):
        write_ranking(path, {**RANKING, "score": [0.5]})
    assert path.read_text() == "the old one"
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError("the disk is full")])
def test_errors_without_a_name_get_that_of_the_file(tmp_path, write, monkeypatch, error):
    def broken(*_):
        raise error

    path = tmp_path / "r.csv"
    with pytest.raises(OSError, match=re.escape(f"{error.strerror or error}: '{path}'")), io.replacing(path):
        broken()
    monkeypatch.setitem(READERS, ".csv", broken)
    table = write(TEXT)
    with pytest.raises(OSError, match=re.escape(f"{error.strerror or error}: '{table}'")):
        read_table(table, "y")


def test_errors_name_the_target_and_not_the_temporary_file(tmp_path):
    path = tmp_path / "r.csv"
    with pytest.raises(OSError, match=rf"{re.escape(str(path))}'$") as caught, io.replacing(path):
        path.mkdir()  # which no file can replace
    path.rmdir()
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError, match="another"), io.replacing(path):
        (tmp_path / "another").read_text()  # a file of the block keeps its name


@pytest.mark.parametrize("name", [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)])
def test_writing_leaves_signals_to_the_program(tmp_path, name):
    before = signal.getsignal(getattr(signal, name))
    with io.replacing(tmp_path / "r.csv") as temporary:
        assert signal.getsignal(getattr(signal, name)) is before
        temporary.touch()


@pytest.mark.parametrize(
    "name, message",
    [("r.xlsx", ".csv, .json, .parquet, .txt or .rnk"), ("no/r.csv", "no directory"), ("d.csv", "is a directory")],
)
def test_outputs_are_checked_first(tmp_path, name, message):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(ValueError, match=message):
        io.check_output(tmp_path / name, io.RANKING_ENDINGS)
