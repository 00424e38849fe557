"""Files of a lab, each written by its own tool: here, or before by the two make_files in the folder data."""

import shutil
from pathlib import Path

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import fastfs
from fastfs.io import read_table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

DATA = Path(__file__).with_name("data")
COUNTS = pd.read_csv(DATA / "counts.csv", index_col=0)
CONDITIONS = pd.read_csv(DATA / "conditions.csv")["condition"].tolist()
SAMPLES, IDS = COUNTS.index.tolist(), COUNTS.columns.tolist()
SYMBOLS = ["TP53", "MYC", "ACTB", "GAPDH", "TBCE (ENSG005)", "TBCE (ENSG006)"]
LABELS = {"label": "condition", "labels": DATA / "conditions.csv"}


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def assert_counts(table, names=IDS):
    assert table.feature_names == names
    np.testing.assert_array_equal(dense(table.X), COUNTS[[IDS[SYMBOLS.index(n)] if n in SYMBOLS else n for n in names]])
    assert table.y.tolist() == CONDITIONS


def assert_damage_is_told(path, message, sizes=25, **options):
    """At whatever byte the file was cut, and if it holds something else."""
    whole = path.read_bytes()
    for size in np.linspace(1, len(whole) - 2, sizes).astype(int):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=message) as error:
            read_table(path, **options)
        assert "\n" not in str(error.value)
    path.write_bytes(b"not at all what its name says\n")
    with pytest.raises(ValueError, match=message):
        read_table(path, **options)


@pytest.fixture
def copied(tmp_path):
    return lambda name, to=None: Path(shutil.copy(DATA / name, tmp_path / (to or name)))


@pytest.fixture
def cells():
    obs = pd.DataFrame({"condition": pd.Categorical(CONDITIONS), "batch": np.arange(12) // 4}, index=SAMPLES)
    counts = scipy.sparse.csr_matrix(COUNTS.to_numpy(np.float32))
    return anndata.AnnData(counts, obs, pd.DataFrame(index=IDS), layers={"twice": 2 * counts.toarray()})


# AnnData in Zarr


@pytest.mark.parametrize("version", [2, 3])
def test_zarr(tmp_path, cells, version):
    path = tmp_path / "cells.zarr"
    with anndata.settings.override(zarr_write_format=version):
        cells.write_zarr(path)
    table = read_table(path, "condition", annotations=["batch"])
    assert (table.X.format, table.X.dtype) == ("csr", np.float32)
    assert_counts(table)
    assert table.annotations["batch"].tolist() == cells.obs["batch"].tolist()
    np.testing.assert_array_equal(read_table(path, "batch", layer="twice").X, 2 * COUNTS)
    with pytest.raises(ValueError, match=r"no column of obs 'conditon' .* did you mean 'condition'\?"):
        read_table(path, "conditon")
    with pytest.raises(ValueError, match=r"'.*cells.zarr' has samples in rows, as every Zarr .* leave out transpose"):
        read_table(path, "condition", transpose=True)


def test_zarr_stays_on_disk_if_it_is_large(tmp_path, cells):
    cells.write_zarr(tmp_path / "cells.zarr")
    whole, stream = (read_table(tmp_path / "cells.zarr", "condition", max_memory=most) for most in (None, 1000))
    assert not hasattr(stream.X, "toarray")
    scores = [fastfs.ProjSe().fit(table.X, table.y).scores_ for table in (whole, stream)]
    np.testing.assert_array_equal(*scores)


def test_bad_zarr(tmp_path, cells):
    path = tmp_path / "cells.zarr"
    cells.var_names = ["TP53", "TP53", *IDS[2:]]
    cells.write_zarr(path)
    with pytest.raises(ValueError, match=r"2 features 'TP53'; .*var_names_make_unique"):
        read_table(path, "condition")
    for damaged in sorted((path / "X" / "indices").rglob("*")):
        if damaged.is_file() and damaged.name not in ("zarr.json", ".zarray", ".zattrs"):
            damaged.write_bytes(damaged.read_bytes()[:9])
    with pytest.raises(ValueError, match=r"no Zarr store of AnnData, or a damaged one"):
        read_table(path, "condition")
    shutil.rmtree(path / "var")
    with pytest.raises(ValueError, match=r"it has no 'var'|or a damaged one"):
        read_table(path, "condition")
    shutil.rmtree(path)
    path.mkdir()
    with pytest.raises(ValueError, match=r"no Zarr store of AnnData, or a damaged one"):
        read_table(path, "condition")
    path.rmdir()
    path.write_text("not at all what its name says")
    with pytest.raises(ValueError, match=r"is a file; expected a directory, as Zarr stores are"):
        read_table(path, "condition")


# H5MU


@pytest.fixture
def multimodal(tmp_path, cells):
    proteins = anndata.AnnData(
        np.arange(20.0).reshape(10, 2), pd.DataFrame({"fine": [*"uvuvuvuvuv"]}, index=SAMPLES[:1:-1])
    )
    proteins.var_names = ["CD3", "CD4"]
    whole = mudata.MuData({"rna": cells, "prot": proteins})
    whole.obs["donor"] = [f"d{i // 3}" for i in range(12)]
    whole.write(tmp_path / "cells.h5mu")
    return tmp_path / "cells.h5mu"


def test_h5mu(multimodal):
    assert_counts(read_table(multimodal, "condition", mod="rna"))
    # The samples of this modality are fewer, and in another order.
    table = read_table(multimodal, "donor", mod="prot", annotations=["fine"])
    assert table.y.tolist() == [f"d{i // 3}" for i in range(11, 1, -1)]
    assert table.annotations["fine"].tolist() == [*"uvuvuvuvuv"]
    assert (table.feature_names, table.X.tolist()) == (["CD3", "CD4"], np.arange(20.0).reshape(10, 2).tolist())
    np.testing.assert_array_equal(read_table(multimodal, "donor", mod="rna", layer="twice").X, 2 * COUNTS)


def test_bad_h5mu(multimodal, copied, tmp_path, cells):
    with pytest.raises(
        ValueError, match=r"needs a modality: choose one with mod=\.\.\. \(modalities: rna, prot\)|prot, rna"
    ):
        read_table(multimodal, "condition")
    with pytest.raises(ValueError, match=r"no modality 'rma' .*did you mean 'rna'\?"):
        read_table(multimodal, "condition", mod="rma")
    with pytest.raises(ValueError, match=r"no column of obs 'dono' .*did you mean 'donor'\?"):
        read_table(multimodal, "dono", mod="rna")
    cells.write_h5ad(tmp_path / "renamed.h5mu")
    with pytest.raises(ValueError, match=r"no H5MU file: it has no 'mod'"):
        read_table(tmp_path / "renamed.h5mu", "condition", mod="rna")
    assert_damage_is_told(multimodal, "no H5MU file, or a damaged one", label="condition", mod="rna")


# 10x Genomics


@pytest.mark.parametrize("name", ["cell_ranger_3.h5", "cell_ranger_2.h5"])
def test_10x(name):
    table = read_table(DATA / name, **LABELS)
    assert table.X.format == "csr"
    assert_counts(table, SYMBOLS)
    assert_counts(read_table(DATA / name, **LABELS, ignore=[SYMBOLS[0], SYMBOLS[5]]), SYMBOLS[1:5])


def test_10x_is_what_scanpy_reads():
    scanpy = pytest.importorskip("scanpy")
    for name in ("cell_ranger_3.h5", "cell_ranger_2.h5"):
        expected, table = scanpy.read_10x_h5(DATA / name), read_table(DATA / name, **LABELS)
        np.testing.assert_array_equal(table.X.toarray(), expected.X.toarray())
        assert [found.split(" ")[0] for found in table.feature_names] == expected.var_names.tolist()


def test_10x_stays_on_disk_if_it_is_large():
    whole, stream = (
        read_table(DATA / "antibodies.h5", **LABELS, mod="Gene Expression", max_memory=most) for most in (None, 1000)
    )
    assert not hasattr(stream.X, "toarray")
    scores = [fastfs.ProjSe().fit(table.X, table.y).scores_ for table in (whole, stream)]
    np.testing.assert_array_equal(*scores)


def test_10x_with_several_types_of_features():
    with pytest.raises(ValueError, match=r"several feature types: choose one with mod=\.\.\. \(Gene Exp.*, Antibody C"):
        read_table(DATA / "antibodies.h5", **LABELS)
    table = read_table(DATA / "antibodies.h5", **LABELS, mod="Antibody Capture")
    assert_counts(table, SYMBOLS[4:])
    with pytest.raises(ValueError, match=r"no feature type 'Expression' .*did you mean 'Gene Expression'"):
        read_table(DATA / "antibodies.h5", **LABELS, mod="Expression")


def test_bad_10x(copied, tmp_path, cells):
    path = copied("cell_ranger_3.h5")
    with pytest.raises(ValueError, match=r"holds no labels: give a file of them with labels="):
        read_table(path, "condition")
    with pytest.raises(
        ValueError, match=r"features in rows, as every HDF5 file of 10x Genomics, .* leave out transpose"
    ):
        read_table(path, **LABELS, transpose=True)
    with h5py.File(path, "a") as file:
        file["matrix/indices"][0] = 99
    with pytest.raises(ValueError, match=r"parts of the sparse matrix in .* do not fit"):
        read_table(path, **LABELS)
    with h5py.File(path, "a") as file:
        del file["matrix/barcodes"]
        file["matrix/barcodes"] = np.array([b"s01"])
    with pytest.raises(ValueError, match=r"damaged: its matrix is .*, but it names 1 cells, 6 features|do not fit"):
        read_table(path, **LABELS)
    cells.write_h5ad(tmp_path / "renamed.h5")
    with pytest.raises(
        ValueError, match=r"no HDF5 file of 10x Genomics: expected a group 'matrix'.* must end in \.h5ad"
    ):
        read_table(tmp_path / "renamed.h5", **LABELS)
    assert_damage_is_told(copied("cell_ranger_3.h5"), "no HDF5 file of 10x Genomics", **LABELS)


# Loom


@pytest.fixture
def loom(copied):
    return copied("cells.loom")


def test_loom(loom):
    table = read_table(loom, "condition", annotations=["batch"])
    assert table.X.dtype == np.float32
    assert_counts(table, SYMBOLS)
    assert table.annotations["batch"].tolist() == (np.arange(12) // 4).tolist()
    assert_counts(read_table(loom, **LABELS, ignore=["MYC"]), [name for name in SYMBOLS if name != "MYC"])
    np.testing.assert_array_equal(read_table(loom, "batch", layer="twice").X, 2 * COUNTS)


def test_loom_by_anndata(tmp_path, cells):
    pytest.importorskip("loompy")
    cells.write_loom(tmp_path / "cells.loom")
    assert_counts(read_table(tmp_path / "cells.loom", "condition"))


def test_loom_stays_on_disk_if_it_is_large(loom):
    whole, stream = (read_table(loom, "condition", max_memory=most) for most in (None, 1000))
    assert not isinstance(stream.X, np.ndarray)
    scores = [fastfs.ProjSe().fit(table.X, table.y).scores_ for table in (whole, stream)]
    np.testing.assert_array_equal(*scores)


def test_bad_loom(loom, tmp_path, cells):
    with pytest.raises(
        ValueError, match=r"needs a label: choose one of its column .* label=\.\.\. \(batch, condition\)"
    ):
        read_table(loom)
    with pytest.raises(ValueError, match=r"no column attribute 'conditon' .*did you mean 'condition'\?"):
        read_table(loom, "conditon")
    with pytest.raises(ValueError, match=r"no layer 'spliced' \(it has twice\)"):
        read_table(loom, "condition", layer="spliced")
    with pytest.raises(ValueError, match=r"features in rows, as every loom file, .* leave out transpose=True"):
        read_table(loom, "condition", transpose=True)
    cells.write_h5ad(tmp_path / "renamed.loom")
    with pytest.raises(ValueError, match=r"no loom file: it has no 'matrix'"):
        read_table(tmp_path / "renamed.loom", "condition")
    with h5py.File(loom, "a") as file:
        del file["row_attrs/Accession"]
        file["row_attrs/Accession"] = np.array([b"x"] * 6)
    with pytest.raises(ValueError, match=r"2 columns? 'TBCE \(x\)'|2 features 'TBCE \(x\)'; each needs a name"):
        read_table(loom, "condition")
    assert_damage_is_told(loom, "no loom file, or a damaged one", label="condition")
