"""Files in and out, without a process around them."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse

from fastfs import io
from fastfs.io import read_table, write_ranking


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
        (["True", "False"], [True, False]),
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
    ],
)
def test_sample_names_and_loose_ends_are_left_out(write, text):
    table = read_table(write(text), "y")
    assert table.feature_names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.y.tolist() == ["u", "v"]


def test_ignored_columns(write):
    table = read_table(write("id,a,note,b,y\ns1,1,x,2,u\ns2,3,z,4,v\n"), "y", ignore=["id", "note"])
    assert table.feature_names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_missing_values_are_left_to_the_core(write):
    X = read_table(write("a,b,y\n1,,u\nNA,4,v\n"), "y").X
    np.testing.assert_array_equal(X, [[1, np.nan], [np.nan, 4]])


def test_numbers_of_any_kind(write):
    X = read_table(write("a,b,y\nTrue,12345678901234567890123,u\nFalse,1e300,v\n"), "y").X
    np.testing.assert_array_equal(X, [[1, 12345678901234567890123.0], [0, 1e300]])


@pytest.mark.parametrize(
    "text, name, message",
    [
        ("a,b,y\n1,2,u\n3,?,v\n", "t.csv", r"Column 'b' .* not numeric: row 1 .* has '\?'.*--ignore 'b'"),
        ("id,b,y\ns1,2,u\ns2,3,v\n", "t.csv", r"Column 'id' .* not numeric: row 0 .* has 's1'.*--ignore 'id'"),
        ("a,a,y\n1,2,u\n", "t.csv", "2 columns 'a'"),
        ("a,y,y\n1,2,u\n", "t.csv", "2 columns 'y'"),
        ("a,,y\n1,2,u\n", "t.csv", "Column 2 .* no name"),
        ("a,b,y\n1,2,\n", "t.csv", "'y' .* no value in row 0"),
        ("y\nu\n", "t.csv", "no feature column"),
        ("a;b;y\n1;2;u\n", "t.csv", "only 'a;b;y': is it a table with commas"),
        ("a,b,y\n1,2,u\n", "t.tsv", "with tabs"),
        ("a,b,Y\n1,2,u\n", "t.csv", "no column 'y'.*a, b, Y"),
        (",".join(f"g{j}" for j in range(99)) + "\n1" + ",1" * 98, "t.csv", "'y'.*g0, g1, g2, ..., g97, g98"),
        ("a,b,y\n1,2\n3,4,v\n", "t.csv", "no table.*line 3"),
        ("a,b,c,y\n1,2\n3,4\n", "t.csv", "4 column names in the header, 2 values below"),
        ("a,b,y\n1,2,u,7,8\n", "t.csv", "'t.csv'|no name"),
        ('a,b,y\n1,"2,u\n', "t.csv", "no table"),
        ("\n\n", "t.csv", "no table.*blank"),
        ("a,b,y\n", "t.csv", "no samples"),
        ("", "t.csv", "empty"),
        (b"\xff\xfe\x00", "t.csv", "no table.*UTF-8"),
        (TEXT, "t.csv.gz", "no gzip file"),
        (gzip.compress(TEXT.encode())[:-9], "t.csv.gz", "gzip"),
        (TEXT, "t.xlsx", "must end in .csv"),
        (TEXT, "t.npz", "no NPZ"),
    ],
)
def test_bad_text(write, text, name, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(text, name), "y")


def test_a_typing_error_finds_its_column(write):
    with pytest.raises(ValueError, match=r"no column 'tisue' \(it has a, tissue\); did you mean 'tissue'\?"):
        read_table(write("a,tissue\n1,u\n"), "tisue")
    with pytest.raises(ValueError, match="--label"):
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
        ({"X": X.ravel(), "y": [0, 1]}, "1 dimension"),
        ({"X": X.astype(str), "y": [0, 1]}, "real numbers"),
        ({"X": X, "y": [0, 1], "feature_names": ["a"]}, "1 feature_names for the 3"),
        ({"X": X, "y": [0, 1], "feature_names": ["a", "b", "a"]}, "2 columns 'a'"),
        ({"X": X, "y": [0, 2], "class_names": ["u", "v"]}, "indices into its 2 class_names"),
        ({"X": X, "y": [0, np.nan]}, "NaN in row 1"),
        ({"X": X, "y": np.array([0, "v"], dtype=object)}, "'y' .* cannot be read"),
        ({"X": X[:, :0], "y": [0, 1]}, "no feature"),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    with pytest.raises(ValueError, match=message):
        read_table(save(tmp_path, **arrays))


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


def test_nothing_half_written(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("the old one")
    with pytest.raises(ValueError, match="shorter"):
        write_ranking(path, {**RANKING, "score": [0.5]})
    assert path.read_text() == "the old one"
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv"]


@pytest.mark.parametrize(
    "name, message", [("r.xlsx", ".csv or .json"), ("no/r.csv", "no directory"), ("d.csv", "is a directory")]
)
def test_outputs_are_checked_first(tmp_path, name, message):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(ValueError, match=message):
        io.check_output(tmp_path / name, io.RANKING_ENDINGS)
