"""Files of a lab, each written by its own tool: here, or before by the two make_files in the folder data."""

import gzip
import shutil
import tracemalloc
from pathlib import Path

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import fastfs
from covering import together
from fastfs.io import read_table
from fastfs.io._read import READERS

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


@pytest.mark.skipif(anndata.__version__.startswith("0.11."), reason="anndata 0.11 writes Zarr's second format only")
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
    with pytest.raises(ValueError, match=r"'TP53' .2 features.: .* duplicates='suffix'"):
        read_table(path, "condition")
    for damaged in sorted((path / "X" / "indices").rglob("*")):
        if damaged.is_file() and damaged.name not in ("zarr.json", ".zarray", ".zattrs"):
            damaged.write_bytes(damaged.read_bytes()[:9])
    with pytest.raises(ValueError, match=r"isn't a readable Zarr store of AnnData"):
        read_table(path, "condition")
    shutil.rmtree(path / "var")
    with pytest.raises(ValueError, match=r"it has no 'var'|isn't a readable"):
        read_table(path, "condition")
    shutil.rmtree(path)
    path.mkdir()
    with pytest.raises(ValueError, match=r"isn't a readable Zarr store of AnnData"):
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
    with pytest.raises(ValueError, match=r"isn't an H5MU file: it has no 'mod'"):
        read_table(tmp_path / "renamed.h5mu", "condition", mod="rna")
    assert_damage_is_told(multimodal, "isn't a readable H5MU file", label="condition", mod="rna")


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
        read_table(DATA / "antibodies.h5", **LABELS, mod="Gene Expression", max_memory=most) for most in (None, 3000)
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
    path = copied("cell_ranger_3.h5", "twice.h5")
    with h5py.File(path, "a") as file:
        file["matrix/features/id"][5] = b"ENSG005"
    with pytest.raises(ValueError, match=r"'TBCE \(ENSG005\)' .2 features.: .* duplicates='suffix'"):
        read_table(path, **LABELS)
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
        ValueError, match=r"isn't an HDF5 file of 10x Genomics: it must have a group 'matrix'.* must end in \.h5ad"
    ):
        read_table(tmp_path / "renamed.h5", **LABELS)
    assert_damage_is_told(copied("cell_ranger_3.h5"), "isn't a readable HDF5 file of 10x Genomics", **LABELS)


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


def test_loom_stays_on_disk_if_it_is_large(tmp_path):
    with h5py.File(tmp_path / "large.loom", "w") as file:
        file["matrix"] = np.random.default_rng(0).normal(size=(400, 24))
        file["row_attrs/Gene"] = np.array([f"g{j}" for j in range(400)], "S")
        file["col_attrs/condition"] = np.arange(24) % 2
        file.create_group("layers")
    whole, stream = (read_table(tmp_path / "large.loom", "condition", max_memory=most) for most in (None, 100_000))
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
    with pytest.raises(ValueError, match=r"isn't a loom file: it has no 'matrix'"):
        read_table(tmp_path / "renamed.loom", "condition")
    with h5py.File(loom, "a") as file:
        del file["row_attrs/Accession"]
        file["row_attrs/Accession"] = np.array([b"x"] * 6)
    with pytest.raises(ValueError, match=r"2 columns? 'TBCE \(x\)'|'TBCE \(x\)' .2 features.: .* duplicates='suffix'"):
        read_table(loom, "condition")
    assert_damage_is_told(loom, "isn't a readable loom file", label="condition")


# GCT


@pytest.mark.parametrize("name", ["expression.gct", "expression_1_2.gct.gz"])
def test_gct(name):
    assert_counts(read_table(DATA / name, **LABELS))
    assert_counts(read_table(DATA / name, **LABELS, ignore=["ENSG002"]), [name for name in IDS if name != "ENSG002"])


def test_gct_with_annotations():
    table = read_table(DATA / "expression.gct", "condition", annotations=["batch"])
    assert_counts(table)
    assert table.annotations["batch"].tolist() == (np.arange(12) // 4).tolist()


GCT = (DATA / "expression.gct").read_text()


@pytest.mark.parametrize(
    "change, options, message",
    [
        (None, {}, r"needs a label: choose one with label=\.\.\. \(condition, batch\)"),
        (None, {"label": "conditon"}, r"no annotation of its samples 'conditon' .*did you mean 'condition'\?"),
        (None, {"transpose": True}, "features in rows, as every GCT file, and is read so: leave out transpose=True"),
        (("#1.3", "#1.4"), {}, "isn't a GCT file: its first line must be #1.2 or #1.3; got '#1.4'"),
        (("6\t12\t1\t2", "6\t12"), {}, "its second line must hold the sizes; got '6 12'"),
        (("6\t12\t1\t2", "6\t0\t1\t2"), {}, "has no samples"),
        ((GCT, "\n"), {}, "isn't a GCT file: its first line must be #1.2 or #1.3; got ''"),
        (("6\t12\t1\t2", "6\t13\t1\t2"), {"label": "condition"}, "damaged: .* 15 columns; got 14 in the third"),
        (("6\t12\t1\t2", "7\t12\t1\t2"), {"label": "condition"}, "announces 7 features; got 6"),
        (("ENSG002", "ENSG001"), {"label": "condition"}, "'ENSG001' .2 features.: .* duplicates='suffix'"),
        (("\ttreated", "\t-666", 1), {"label": "condition"}, "'condition' .* no value in column 's02'"),
        (("13.0000", "many"), {"label": "condition"}, "Column 's02' .* not numeric: row 'ENSG001' has 'many'"),
        (("\t13.0000", ""), {"label": "condition"}, "the row 'ENSG001' must have 14 columns; got 13"),
    ],
)
def test_bad_gct(tmp_path, change, options, message):
    path = tmp_path / "expression.gct"
    path.write_text(GCT.replace(*change) if change else GCT)
    with pytest.raises(ValueError, match=message):
        read_table(path, **options)


def test_damaged_gct(copied):
    path = copied("expression_1_2.gct.gz")
    assert_damage_is_told(path, "gzip", **LABELS)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match=r"isn't a GCT file: its first line must be #1.2 or #1.3; got ''"):
        read_table(path, **LABELS)
    path = copied("expression.gct")
    for lines in range(1, 10):
        path.write_text("".join(GCT.splitlines(keepends=True)[:lines]))
        with pytest.raises(ValueError, match=r"isn't a GCT file|damaged|has no annotation of its samples|no value"):
            read_table(path, "condition")
    path.write_text("gene,s1\na,1\n")
    with pytest.raises(ValueError, match=r"isn't a GCT file: its first line must be #1.2 or #1.3; got 'gene,s1'"):
        read_table(path, "condition")


# Series matrices of GEO. The file was written by hand after those of GEO; GEOquery 2.66 reads the same from it.


@pytest.fixture
def series(tmp_path):
    def write(*change, name="GSE1_series_matrix.txt"):
        text = (DATA / "GSE1_series_matrix.txt").read_text()
        text = text.replace(*change) if change else text
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["GSE1_series_matrix.txt", "GSE1-GPL570_series_matrix.txt.gz"])
def test_series_matrix(series, name):
    table = read_table(series(name=name), "tissue", annotations=["title", "age"])
    assert table.y.tolist() == ["tumor", "normal"] * 3
    assert table.feature_names == ["1007_s_at", "1053_at", "117_at"]
    np.testing.assert_array_equal(
        table.X, [[7.5, 6, 0.25], [5, 6.5, 0.5], [8, np.nan, 1], [5.5, 7, 1e-3], [7.25, 6.25, 2], [4, 6, 3]]
    )
    assert table.annotations["title"].tolist() == [f"patient {i}, {w}" for i in (1, 2, 3) for w in ("tumor", "normal")]
    # The sample without a stage has its age one line higher.
    assert table.annotations["age"].tolist() == [61, 61, 45, 45, 70, 70]
    assert read_table(series(name=name), "source_name_ch1").y.tolist() == ["colon"] * 3 + ["liver"] * 3
    table = read_table(series(name=name), "stage", ignore=["GSM102", "GSM104", "GSM106", "117_at"])
    assert (table.y.tolist(), table.X.shape) == (["II: b", "III", "II: b"], (3, 2))


@pytest.mark.parametrize(
    "change, options, message",
    [
        ((), {}, r"choose one with label=\.\.\. \(source_name_ch1: 2 classes, tissue: 2 classes, age: 3 classes\), or"),
        ((), {"label": "tisue"}, r"no annotation of its samples 'tisue' .*did you mean 'tissue'\?"),
        ((), {"label": "stage"}, "'stage' of .* no value in column 'GSM102'"),
        ((), {"label": "tissue", "transpose": True}, "features in rows, as every series matrix of GEO"),
        (
            ('"GPL570"\t"GPL570"', '"GPL570"\t"GPL96"', 1),
            {},
            "must hold samples of one platform; got .*GPL570, GPL96",
        ),
        (("1053_at", "1007_s_at"), {"label": "tissue"}, "'1007_s_at' .2 features.: .* duplicates='suffix'"),
        (("!series_matrix_table_end", ""), {"label": "tissue"}, "damaged"),
        (("!series_matrix_table_begin", ""), {"label": "tissue"}, "lines must begin with '!'; got 'ID_REF'"),
        (("\t7.5\t", "\t"), {"label": "tissue"}, "damaged: the row '1007_s_at' must have 7 cells; got 6"),
        (("\t7.5\t", "\thigh\t"), {"label": "tissue"}, "'GSM101' .* not numeric: row '1007_s_at' has 'high'"),
        (('\t"liver"\n', "\n"), {"label": "tissue"}, "'!Sample_source_name_ch1' has 5 values for the 6 samples"),
    ],
)
def test_bad_series_matrix(series, change, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(series(*change), **options)


def test_damaged_series_matrix(series):
    whole = series().read_text()
    path = series(whole[whole.index('"1007') : whole.index("!series_matrix_table_end")], "")
    with pytest.raises(ValueError, match=r"holds no values: for sequencing, .* in supplementary files"):
        read_table(path, "tissue")
    for lines in range(1, whole.count("\n")):
        path.write_text("".join(whole.splitlines(keepends=True)[:lines]))
        with pytest.raises(ValueError, match=r"isn't a series matrix of GEO|damaged"):
            read_table(path, "tissue")
    path = series(name="GSE1_series_matrix.txt.gz")
    assert_damage_is_told(path, "gzip", label="tissue")
    path = series("!Series", "Series")
    with pytest.raises(
        ValueError, match=r"isn't a series matrix of GEO: its lines must begin with '!'; got 'Series_title'"
    ):
        read_table(path, "tissue")


# RDS


@pytest.mark.parametrize("name", ["summarized.rds", "ranged.rds", "single_cell.rds"])
def test_experiments(name):
    table = read_table(DATA / name, "condition", annotations=["batch"])
    assert_counts(table)
    assert table.annotations["batch"].tolist() == [1 + i // 4 for i in range(12)]
    assert hasattr(table.X, "toarray") == (name == "single_cell.rds")
    assert_counts(read_table(DATA / name, **LABELS, ignore=["ENSG004"]), [name for name in IDS if name != "ENSG004"])


def test_assays():
    table = read_table(DATA / "summarized.rds", "condition", layer="logcounts")
    np.testing.assert_allclose(table.X, np.log2(COUNTS + 1), rtol=1e-15)


@pytest.mark.parametrize("name", ["matrix.rds", "sparse.rds"])
def test_matrices_of_r(name):
    assert_counts(read_table(DATA / name, **LABELS))
    table = read_table(DATA / name, "ENSG003")  # a column of the matrix itself
    np.testing.assert_array_equal(dense(table.X), COUNTS.drop(columns="ENSG003"))
    assert table.y.tolist() == COUNTS["ENSG003"].tolist()


@pytest.mark.parametrize("name", ["matrix.rds", "sparse.rds", "frame.rds"])
def test_transposed_tables_of_r(tmp_path, name):
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join([*"uvwuvw"]))
    ignore = ["condition", "batch"] if name == "frame.rds" else []
    table = read_table(DATA / name, labels=labels, transpose=True, ignore=ignore)
    assert (table.feature_names, table.y.tolist()) == (SAMPLES, [*"uvwuvw"])
    np.testing.assert_array_equal(dense(table.X), COUNTS.T)
    table = read_table(DATA / name, "s03", transpose=True, ignore=[*ignore, "s01"])
    assert table.y.tolist() == COUNTS.loc["s03"].tolist()
    np.testing.assert_array_equal(dense(table.X), COUNTS.drop(index=["s01", "s03"]).T)


def test_data_frame():
    table = read_table(DATA / "frame.rds", "condition", annotations=["batch"])
    assert_counts(table)
    assert table.annotations["batch"].tolist() == [1 + i // 4 for i in range(12)]
    assert_counts(read_table(DATA / "frame.rds", **LABELS, ignore=["condition", "batch"]))


def test_missing_values_of_r():
    table = read_table(DATA / "missing.rds", "word", ignore=["level"])
    np.testing.assert_array_equal(table.X, [[1, np.nan, 1], [np.nan, 2.5, 0], [3, np.nan, np.nan]])
    assert table.y.tolist() == ["a", "NA-", "b"]
    with pytest.raises(ValueError, match=r"Column 'level' of .* no value in row 1"):
        read_table(DATA / "missing.rds", "level", ignore=["word"])


@together
@pytest.mark.parametrize(
    "name, options, message",
    [
        ("summarized.rds", {}, r"needs a label: choose a column of colData with label=\.\.\. \(condition, batch\)"),
        ("summarized.rds", {"label": "conditon"}, r"no column of colData 'conditon' .*did you mean 'condition'\?"),
        ("summarized.rds", {"label": "batch", "layer": "counst"}, r"no assay 'counst' .*did you mean 'counts'\?"),
        (
            "summarized.rds",
            {"label": "batch", "transpose": True},
            "every experiment of Bioconductor, .* leave out trans",
        ),
        ("matrix.rds", {"label": "batch", "layer": "counts"}, "holds no experiment with assays: leave out layer="),
        ("matrix.rds", {}, "needs a label column: choose one with label="),
        ("frame.rds", {"label": "conditon"}, r"no column 'conditon' .*did you mean 'condition'\?"),
        ("frame.rds", {"label": "s01"}, "has 's01' as a row, not as a column: add transpose=True"),
        ("frame.rds", {"label": "batch"}, r"'condition' .* holds categories \(factor\), not .* ignore=\['condition'\]"),
        (
            "dates.rds",
            {"label": "condition"},
            r"Column 'seen' .* holds dates or durations \(Date\), not numbers: leave",
        ),
        ("missing.rds", {"label": "level"}, "Column 'word' .* row 0 .* has 'a'; leave it out with ignore"),
        (
            "model.rds",
            {"label": "batch"},
            "must hold a matrix, a data.frame, or an experiment .* got an object of class 'lm'",
        ),
        (
            "seurat.rds",
            {"label": "condition"},
            r"Seurat object: make a SingleCellExperiment .* saveRDS\(Seurat::as\.SingleCellExperiment\(readRDS",
        ),
        ("same_names.rds", {"label": "condition"}, "'ENSG001' .2 features.: .* duplicates='suffix'"),
        ("delayed.rds", {"label": "condition"}, "Assay 'counts' of .* must be a matrix .* got class 'DelayedMatrix'"),
        (
            "functions.rds",
            {"label": "condition"},
            r"holds functions, as a DESeqDataSet does; then save, in R, Summarized",
        ),
        ("workspace.rds", {"label": "condition"}, r"isn't a readable RDS file.*save\(\) wrote it, .*by saveRDS\(\)"),
    ],
)
def test_bad_rds(name, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(DATA / name, **options)


@pytest.mark.parametrize("name", ["summarized.rds", "frame.rds", "sparse.rds"])
def test_damaged_rds(copied, name):
    assert_damage_is_told(copied(name), "isn't a readable RDS file|is damaged", **LABELS)


# The command line

CALLS = {
    "cell_ranger_3.h5": LABELS,
    "antibodies.h5": LABELS | {"mod": "Gene Expression"},
    "cells.loom": {"label": "condition"},
    "expression.gct": {"label": "condition"},
    "GSE1_series_matrix.txt": {"label": "tissue", "ignore": "1053_at"},
    "summarized.rds": {"label": "condition", "layer": "logcounts"},
    "cells.zarr": {"label": "condition", "layer": "twice"},
    "cells.h5mu": {"label": "condition", "mod": "rna"},
}


@pytest.mark.parametrize("name", CALLS)
def test_files_on_the_command_line(name, tmp_path, inside, cells, request):
    path = DATA / name
    if name == "cells.zarr":
        cells.write_zarr(path := tmp_path / name)
    elif name == "cells.h5mu":
        path = request.getfixturevalue("multimodal")
    options = [word for option, value in CALLS[name].items() for word in (f"--{option}", value)]
    finished = inside("score", path, *options, "--method", "multisurf", "--out", "genes.rnk", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    rows = [line.split("\t") for line in (tmp_path / "genes.rnk").read_text().splitlines()]
    options = {option: [value] if option == "ignore" else value for option, value in CALLS[name].items()}
    table = read_table(path, **options)
    scores = fastfs.multisurf_scores(dense(table.X), table.y)
    assert [name for name, _ in rows] == [table.feature_names[j] for j in np.argsort(-scores, kind="stable")]
    # Scores of a sparse table of float32 are computed in another order.
    np.testing.assert_allclose([float(score) for _, score in rows], np.sort(scores)[::-1], rtol=1e-6)


def test_help_and_documents_list_every_format(inside, tmp_path):
    endings = {ending.removesuffix(".gz") for ending in READERS}
    words = inside("score", "--help", cwd=tmp_path).stdout
    assert [ending for ending in endings if ending not in words] == []
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    if not page.exists():  # the source distribution leaves it out
        pytest.skip("the documents aren't here")
    first_cells = " ".join(line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `"))
    assert [ending for ending in endings if f"`{ending}`" not in first_cells] == []


def test_parameters_are_options_on_the_command_line(tmp_path, inside):
    finished = inside(
        "score", DATA / "antibodies.h5", "--labels", LABELS["labels"], "--method", "multisurf", cwd=tmp_path
    )
    assert finished.returncode == 2
    assert "choose one with --mod (Gene Expression, Antibody Capture)." in " ".join(finished.stderr.split())
    finished = inside("score", DATA / "expression.gct", "--mod", "x", "--method", "multisurf", cwd=tmp_path)
    assert "--mod is for files that end in .h5mu or .h5: leave it out for" in " ".join(finished.stderr.split())


def test_converting(tmp_path, inside, cells):
    cells.write_zarr(tmp_path / "cells.zarr")
    call = ["convert", "cells.zarr", "--label", "condition", "--out", "cells.h5ad"]
    assert inside(*call, cwd=tmp_path).returncode == 0
    assert_counts(read_table(tmp_path / "cells.h5ad", "condition"))
    finished = inside(*call, "--max-memory", "1000", cwd=tmp_path)
    assert finished.returncode == 2
    assert "or read the file as it is: it can be read by rows" in " ".join(finished.stderr.split())


# Files that expand to more than fits


def test_what_expands_a_thousandfold_is_refused(tmp_path):
    """Before it is expanded: the memory stays near the budget, a tenth of what the files expand to."""
    zeros = gzip.compress(b"1,2\t" * (50 << 20 >> 2))
    for ending in ("rds", "csv.gz", "txt.gz", "mtx.gz", "gct.gz", "_series_matrix.txt.gz"):
        path = tmp_path / f"t.{ending}"
        path.write_bytes(zeros)
        head = {"mtx.gz": b"%%MatrixMarket matrix array real general\n2 2\n%", "gct.gz": b"#1.2\n2\t2\n"}.get(
            ending, b""
        )
        path.write_bytes(gzip.compress(head) + zeros)
        assert path.stat().st_size < 100_000
        tracemalloc.start()
        with pytest.raises(
            MemoryError, match=r"expands to .*5\d{6} bytes\) or more, .* budget is 5.00 MB .*: raise max_mem"
        ):
            read_table(path, **LABELS, max_memory=5_000_000)
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
        tracemalloc.stop()
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((50, 1 << 17)), y=np.zeros(50))
    with pytest.raises(MemoryError, match=r"expands to .*524\d{5} bytes\) or more, but the memory budget is 5.00 MB"):
        read_table(tmp_path / "t.npz", max_memory=5_000_000)


@pytest.mark.parametrize("big", [".fam", ".bim"])
def test_tables_beside_a_bed_file_are_held_to_the_budget(tmp_path, big):
    n_samples, n_snps = (4000, 4) if big == ".fam" else (4, 4000)
    (tmp_path / "g.bed").write_bytes(bytes([0x6C, 0x1B, 0x01]) + bytes(-(-n_samples // 4) * n_snps))
    (tmp_path / "g.fam").write_text("".join(f"f s{i} 0 0 0 {1 + i % 2}\n" for i in range(n_samples)))
    (tmp_path / "g.bim").write_text("".join(f"1 r{j} 0 {j} A C\n" for j in range(n_snps)))
    with pytest.raises(MemoryError, match=rf"g\{big}' expands to .* but the memory budget is 1\.00 MB"):
        fastfs.io.read_table(tmp_path / "g.bed", max_memory=1_000_000)
    assert fastfs.io.read_table(tmp_path / "g.bed", max_memory="1G").X.shape == (n_samples, n_snps)


def test_a_plain_rds_file_is_held_to_the_budget(tmp_path):
    pytest.importorskip("rds2py")
    (tmp_path / "t.rds").write_bytes(b"X\n" + bytes(2_000_000))
    with pytest.raises(MemoryError, match=r"t\.rds' expands to 2\.00 MB .* but the memory budget is 1\.00 MB"):
        fastfs.io.read_table(tmp_path / "t.rds", "y", max_memory=1_000_000)
