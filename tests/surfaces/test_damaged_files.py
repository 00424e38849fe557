"""Damaged and foreign files of every format: a glance here, minutes of it by `nox -s fuzz`."""

import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fastfs
from fastfs.io import read_table

pytest.importorskip("rds2py")
anndata, h5py, mudata, pd = (pytest.importorskip(name) for name in ("anndata", "h5py", "mudata", "pandas"))
DATA = Path(__file__).parent / "data"


@pytest.mark.huge
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_damaged_files_end_in_a_table_or_a_sentence(capsys):
    from fuzz import readers

    assert readers.run(minutes=5, seed=1, most=150) == 0, capsys.readouterr().out


# What the search has found, in its order.


def refused(path, message, **options):
    with pytest.raises(ValueError, match=message) as error:
        read_table(path, **options)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def copied(tmp_path):
    return lambda name: Path(shutil.copy(DATA / name, tmp_path))


@pytest.fixture
def cells():
    obs = pd.DataFrame({"condition": ["u", "v", "u"]}, index=["s1", "s2", "s3"])
    return anndata.AnnData(np.arange(6.0).reshape(3, 2), obs, pd.DataFrame(index=["a", "b"]))


def replace(path, member, values):
    with h5py.File(path, "a") as file:
        del file[member]
        file[member] = values


def test_layers_are_no_group(copied, tmp_path, cells):
    loom = copied("cells.loom")
    replace(loom, "layers", [1.0, 2.0])
    refused(loom, "isn't a readable loom file", label="condition")
    cells.write_h5ad(tmp_path / "t.h5ad")
    replace(tmp_path / "t.h5ad", "layers", [1.0, 2.0])
    refused(tmp_path / "t.h5ad", "isn't a readable H5AD file", label="condition")
    mudata.MuData({"rna": cells}).write(tmp_path / "t.h5mu")
    replace(tmp_path / "t.h5mu", "mod", [1.0, 2.0])
    refused(tmp_path / "t.h5mu", "isn't a readable H5MU file", label="condition", mod="rna")


@pytest.mark.parametrize("member", ["obs", "mod/rna"])
def test_names_that_lead_nowhere(tmp_path, cells, member):
    mudata.MuData({"rna": cells}).write(tmp_path / "t.h5mu")
    replace(tmp_path / "t.h5mu", member, h5py.SoftLink("/nowhere"))
    refused(tmp_path / "t.h5mu", "isn't a readable H5MU file", label="condition", mod="rna")


@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
def test_parts_of_a_stored_matrix_are_no_numbers(tmp_path, cells, part):
    cells.X = sp.csr_matrix(cells.X)
    cells.write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        records = np.zeros(file["X"][part].shape, [("a", "i8"), ("b", "f8")])
    replace(tmp_path / "t.h5ad", f"X/{part}", records)
    with pytest.raises(ValueError, match=rf"damaged sparse matrix: its {part} must be numbers; got \[\('a'"):
        fastfs.ReliefF().fit(tmp_path / "t.h5ad", ["u", "v", "u"])


@pytest.mark.parametrize("member", ["obs", "var"])
def test_annotations_are_no_table(tmp_path, cells, member):
    cells.write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        for name, value in {"encoding-type": "array", "encoding-version": "0.2.0"}.items():
            file[member].attrs[name] = value
    refused(tmp_path / "t.h5ad", "isn't a readable H5AD file", label="condition")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        del file[member]
        anndata.io.write_elem(file, member, np.float64(3) if member == "var" else {"condition": np.array(["u"])})
    refused(tmp_path / "t.h5ad", f"'/{member}' must hold a table of annotations; got a", label="condition")


def test_fewer_feature_types_than_features(copied):
    path = copied("antibodies.h5")
    with h5py.File(path) as file:
        types = file["matrix/features/feature_type"][:-1]
    replace(path, "matrix/features/feature_type", types)
    (labels := path.with_name("labels.txt")).write_text("u\nv\n" * 6)
    refused(path, "is damaged: its matrix is", labels=labels, mod="Gene Expression")


def test_codes_and_columns_of_r(copied):
    path = copied("frame.rds")
    content = path.read_bytes()
    codes = struct.pack(">12i", *[1, 2] * 6)
    assert content.count(codes) == 1
    path.write_bytes(content.replace(codes, struct.pack(">12i", *[1, 3] * 6)))
    refused(path, "codes outside its 2 levels", label="condition")
    names = struct.pack(">ii", 16, 8)  # as many strings as columns
    assert content.count(names) == 1
    begin = content.index(names)
    last = content.rindex(b"batch")
    assert begin < last
    fewer = content[:begin] + struct.pack(">ii", 16, 7) + content[begin + 8 : last - 8] + content[last + 5 :]
    path.write_bytes(fewer)
    refused(path, "columns of its data.frame don't fit their names", label="condition")


def test_names_of_several_lines(tmp_path):
    np.savez(tmp_path / "t.npz", **{"X\nY": np.zeros((2, 2)), "y": [0, 1]})
    refused(tmp_path / "t.npz", r"has no array 'X' \(it has X Y, y\)")
    (tmp_path / "t.csv").write_text('"conditi\nn",a\nu,1\nv,2\n')
    refused(tmp_path / "t.csv", r"did you mean 'conditi n'\?", label="condition")


def test_arrays_that_say_they_are_encrypted(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.zeros((2, 2)), y=[0, 1])
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # of each array, of each in the directory
        for begin in [k for k in range(len(content)) if content[k : k + 4] == signature]:
            content[begin + flags] |= 1
    path.write_bytes(bytes(content))
    refused(path, "damaged NPZ archive: .*encrypted")
