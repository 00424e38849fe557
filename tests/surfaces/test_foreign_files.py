"""Files from strangers: what SECURITY.md promises, a test per row of its table."""

import csv
import functools
import json

import h5py
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import fastfs
import fastfs.cli

ad = pytest.importorskip("anndata")
zarr = pytest.importorskip("zarr")

N_CELLS, N_GENES = 12, 4


@pytest.fixture
def cells(tmp_path):
    """A file of AnnData, and a file with a secret next to it."""
    X = np.random.default_rng(0).normal(size=(N_CELLS, N_GENES)).astype(np.float32)
    obs = pd.DataFrame({"state": ["a", "b"] * (N_CELLS // 2)}, index=[f"c{i}" for i in range(N_CELLS)])
    ad.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"g{j}" for j in range(N_GENES)])).write_h5ad(tmp_path / "t.h5ad")
    (tmp_path / "secret").write_bytes(b"password" * 40)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["X"], other["names"] = X, np.array([b"secret%d" % j for j in range(N_GENES)])
    return tmp_path / "t.h5ad"


def external_storage(file, folder):
    """Store the names of genes in a file that isn't HDF5."""
    del file["var/_index"]
    stored = [(str(folder / "secret"), 0, 8 * N_GENES)]
    names = file["var"].create_dataset("_index", (N_GENES,), "S8", external=stored)
    names.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})


def external_link(file, folder):
    del file["X"]
    file["X"] = h5py.ExternalLink(folder / "other.h5", "X")


def link_in_a_group_that_is_not_read(file, folder):
    file.create_group("uns/deep")["more"] = h5py.ExternalLink("/etc/hosts", "X")


def virtual_dataset(file, folder):
    del file["X"]
    layout = h5py.VirtualLayout((N_CELLS, N_GENES), "f4")
    layout[:] = h5py.VirtualSource(folder / "other.h5", "X", (N_CELLS, N_GENES))
    X = file.create_virtual_dataset("X", layout)
    X.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


READERS = {
    "read_table": lambda path: fastfs.io.read_table(path, label="state"),
    "X as a path": lambda path: fastfs.relieff_scores(path, ["a", "b"] * (N_CELLS // 2)),
    "convert": lambda path: _fail_as_error(["convert", str(path), "--out", f"{path}.out.h5ad"]),
    "score": lambda path: _fail_as_error(["score", str(path), "--label", "state", "--method", "relieff"]),
}


def _fail_as_error(arguments):
    if (code := fastfs.cli.run(arguments)) != 0:
        raise ValueError(f"exit code {code}")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "attack",
    [external_storage, external_link, link_in_a_group_that_is_not_read, virtual_dataset],
    ids=lambda f: f.__name__,
)
def test_data_of_other_files_are_refused(cells, attack, reader, capsys):
    with h5py.File(cells, "r+") as file:
        attack(file, cells.parent)
    with pytest.raises(ValueError, match=r"another file|exit code 2") as error:
        READERS[reader](cells)
    assert "from another file" in str(error.value) + capsys.readouterr().err
    with h5py.File(cells, "r+"):  # the refused file was closed
        pass


def test_links_within_a_file_are_followed(cells):
    with h5py.File(cells, "r+") as file:
        file["layers/soft"] = h5py.SoftLink("/X")
        file["layers/hard"] = file["X"]
        file["uns/circle"] = file["uns"]
        layout = h5py.VirtualLayout((N_CELLS, N_GENES), "f4")
        layout[:] = h5py.VirtualSource(".", "X", (N_CELLS, N_GENES))
        file.create_virtual_dataset("obsm/own", layout)
    plain = fastfs.io.read_table(cells, label="state")
    for layer in ("soft", "hard"):
        np.testing.assert_array_equal(fastfs.io.read_table(cells, label="state", layer=layer).X, plain.X)


@pytest.mark.parametrize("kind", ["loom", "10x"])
def test_other_formats_in_hdf5(tmp_path, kind):
    path = tmp_path / ("t.loom" if kind == "loom" else "t.h5")
    with h5py.File(path, "w") as file:
        file["matrix"] = h5py.ExternalLink("other.h5", "X")
    (tmp_path / "labels.csv").write_text("cell,state\nc1,a\n")
    with pytest.raises(ValueError, match=r"takes '/matrix' from another file, 'other\.h5'"):
        fastfs.io.read_table(path, label="state", **({} if kind == "loom" else {"labels": tmp_path / "labels.csv"}))


def test_pickled_objects_are_refused(tmp_path):
    array = np.array([[print, 1], [2, 3]], dtype=object)
    np.savez(tmp_path / "t.npz", X=array, y=[0, 1])
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(ValueError, match="allow_pickle"):
        fastfs.io.read_table(tmp_path / "t.npz")
    with pytest.raises(ValueError, match="can't be read as \\.npy"):
        fastfs.relieff_scores(tmp_path / "t.npy", [0, 1])


NASTY = "\x1b[31mred\x1b[0m\u202eder\x07"


def test_names_do_not_control_the_terminal(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = [f"{'ab'[i % 2]},{i},{i * i % 7},{i % 3}\n" for i in range(40)]
    path.write_text(f"state,{NASTY},y,z\n" + "".join(rows), encoding="utf-8")
    assert fastfs.cli.run(["score", str(path), "--label", "state", "--method", "relieff"]) == 0
    shown = capsys.readouterr().out
    assert r"\x1b[31mred\x1b[0m\u202eder\x07" in shown
    assert fastfs.cli.run(["score", str(path), "--label", "nobody"]) == 2
    message = capsys.readouterr().err
    assert r"\x1b[31mred" in message
    assert not set("\x1b\u202e\x07") & set(shown + message)


def test_names_do_not_control_pictures(tmp_path):
    axes = Figure().add_subplot()
    fastfs.pl.ranking(np.array([2.0, 1.0]), [NASTY, "b"], ax=axes)
    assert r"\x1b[31mred\x1b[0m\u202eder\x07" in axes.get_yticklabels()[0].get_text()


@pytest.mark.parametrize("reader", ["read_table", "X as a path", "score"])
@pytest.mark.parametrize("linked", ["X", "var"])
def test_zarr_stores_that_lead_elsewhere_are_refused(tmp_path, reader, linked, capsys):
    X = np.random.default_rng(0).normal(size=(N_CELLS, N_GENES)).astype(np.float32)
    obs = pd.DataFrame({"state": ["a", "b"] * (N_CELLS // 2)}, index=[f"c{i}" for i in range(N_CELLS)])
    ad.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"g{j}" for j in range(N_GENES)])).write_zarr(tmp_path / "t.zarr")
    READERS["read_table"](tmp_path / "t.zarr")
    (tmp_path / "t.zarr" / linked).rename(tmp_path / "elsewhere")
    (tmp_path / "t.zarr" / linked).symlink_to(tmp_path / "elsewhere")
    capsys.readouterr()
    with pytest.raises(ValueError, match=r"from elsewhere|exit code 2") as error:
        READERS[reader](tmp_path / "t.zarr")
    assert f"takes '{linked}' from elsewhere, '{tmp_path / 'elsewhere'}'" in str(error.value) + capsys.readouterr().err


@pytest.mark.parametrize("path", ["../../secret.zarr/var/_index", "{folder}/secret.zarr/var/_index"])
def test_paths_in_a_zarr_store_do_not_lead_out_of_it(tmp_path, path):
    """The attribute `_index` of AnnData's tables says where in the store the names lie."""
    for store, names in (("t.zarr", "abcd"), ("secret.zarr", "wxyz")):
        table = pd.DataFrame({"state": ["a", "b"] * 2}, index=[*names])
        ad.AnnData(np.eye(N_GENES, dtype=np.float32), obs=table, var=table[[]]).write_zarr(tmp_path / store)
    for name in (".zmetadata", "zarr.json"):  # copies of all attributes, in which readers look first
        if (stored := tmp_path / "t.zarr" / name).exists():
            kept = json.loads(stored.read_text())
            kept.pop("consolidated_metadata", None)
            stored.unlink() if name == ".zmetadata" else stored.write_text(json.dumps(kept))
    read = functools.partial(fastfs.io.read_table, tmp_path / "t.zarr", label="state")
    assert read().feature_names == [*"abcd"]
    zarr.open(str(tmp_path / "t.zarr"), mode="r+")["var"].attrs["_index"] = path.format(folder=tmp_path)
    with pytest.raises(ValueError, match="isn't a readable Zarr store of AnnData"):
        read()


def test_a_zarr_store_may_itself_be_a_link(tmp_path):
    ad.AnnData(np.ones((3, 2), np.float32), obs=pd.DataFrame({"state": list("aba")}, index=list("123"))).write_zarr(
        tmp_path / "t.zarr"
    )
    (tmp_path / "link.zarr").symlink_to(tmp_path / "t.zarr")
    assert fastfs.io.read_table(tmp_path / "link.zarr", label="state").X.shape == (3, 2)


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx")


@pytest.mark.parametrize("command", ["score", "pairs"])
def test_formulas_are_escaped_where_asked_for(tmp_path, command):
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(
            [["state", *FORMULAS, "plain"], *([i % 2, *rng.normal(size=6).round(3)] for i in range(40))]
        )
    arguments = {
        "score": ["score", str(path), "--label", "state", "--method", "relieff", "--out", str(out)],
        "pairs": ["pairs", str(path), "--label", "state", "--out", str(out)],
    }[command]
    column = {"score": "feature", "pairs": "feature_a"}[command]
    expected = {*FORMULAS, "plain"} if command == "score" else {*FORMULAS}
    assert fastfs.cli.run(arguments) == 0
    with open(out, newline="") as file:
        plain = list(csv.DictReader(file))
    assert {row[column] for row in plain} == {name.strip() for name in expected}
    assert fastfs.cli.run([*arguments, "--escape-formulas"]) == 0
    with open(out, newline="") as file:
        escaped = list(csv.DictReader(file))
    for row, before in zip(escaped, plain, strict=True):
        is_formula = before[column][0] in "=+-@"
        assert row[column] == ("'" + before[column] if is_formula else before[column])
        assert {name: row[name] for name in row if not name.startswith("feature")} == {
            name: before[name] for name in row if not name.startswith("feature")
        }
