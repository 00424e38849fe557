"""Files as labs hold them: read, or refused with a message that works when it is followed to the letter."""

import gzip
import io
import re
import shlex
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import fastfs
from fastfs.io import read_table
from fastfs.io._table import drop_small_classes

N = 12
Y = ["case", "control"] * (N // 2)
SAMPLES = [f"s{i}" for i in range(1, N + 1)]
GENES = ["TP53", "MYC", "ACTB"]
X = np.round(np.random.default_rng(0).normal(10, 3, (N, 3)), 2)


def in_rows(sep=",", mark=".", write=lambda cell: cell):
    """The table with a sample in each row."""
    lines = [sep.join(["id", *GENES, "y"])]
    for name, row, label in zip(SAMPLES, X, Y, strict=True):
        lines.append(sep.join([name, *(write(f"{value:.2f}".replace(".", mark)) for value in row), label]))
    return "\n".join(lines) + "\n"


def in_columns(sep="\t", more=(), names=GENES):
    """The table with a feature in each row, and columns about the features behind their names."""
    lines = [sep.join(["gene", *(name for name, _ in more), *SAMPLES])]
    for name, column, k in zip(names, X.T, range(3), strict=True):
        lines.append(sep.join([name, *(cells[k] for _, cells in more), *(f"{value:.2f}" for value in column)]))
    return "\n".join(lines) + "\n"


LABELS = "id,y\n" + "".join(f"{name},{label}\n" for name, label in zip(SAMPLES, Y, strict=True))


def assert_is_the_table(table, names=GENES):
    assert table.feature_names == [*names]
    np.testing.assert_array_equal(table.X.toarray() if hasattr(table.X, "toarray") else table.X, X)
    assert table.y.tolist() == Y


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def follow(tmp_path, inside):
    """Run `fastfs convert`, and add the options that the message names until it succeeds; return all options."""

    def follow(path, *options, most=4):
        given = [*map(str, options)]
        for _ in range(most):
            finished = inside("convert", path, *given, "--out", "out.h5ad", cwd=tmp_path)
            if finished.returncode == 0:
                return given, read_table(tmp_path / "out.h5ad", *(["y"] if "--label" in given else ["label"]))
            assert finished.returncode == 2, finished.stderr
            message = " ".join(finished.stderr.split())
            advice = re.search(r"--[a-z0-9-]+.*", message)
            assert advice, message
            first = re.split(r"; if |; points|, or |, 'max'", advice[0])[0]
            advised = re.findall(r"--[a-z0-9-]+(?: '[^']*')?", first)
            given += [word for option in advised for word in shlex.split(option)]
        raise AssertionError(f"no end: {given}")

    return follow


LABELLED = ("--label", "y", "--ignore", "id")


# Numbers


@pytest.mark.parametrize("sep", [";", "\t"])
def test_decimal_commas_are_found_if_every_cell_agrees(write, sep):
    path = write("t.csv", in_rows(sep, ","))
    with pytest.warns(UserWarning, match="has decimal commas in all its numbers, and is read so"):
        assert_is_the_table(read_table(path, "y", ignore=["id"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_is_the_table(read_table(path, "y", ignore=["id"], decimal=","))
    turned = zip(*(row.split(sep) for row in in_rows(sep, ",").splitlines()), strict=True)
    path = write("t.txt", "\n".join(map("\t".join, turned)))
    with pytest.warns(UserWarning, match="decimal commas"):
        assert_is_the_table(read_table(path, "y", transpose=True))


def test_decimal_commas_in_quotes(write):
    path = write("t.csv", in_rows(",", ",", '"{}"'.format))
    with pytest.warns(UserWarning, match="decimal commas"):
        assert_is_the_table(read_table(path, "y", ignore=["id"]))


@pytest.mark.parametrize("other", ["1.5", "1.234,5", "1,234,567", "many"])
def test_one_cell_that_disagrees_is_refused(write, other):
    text = in_rows(";", ",").splitlines()
    text[-1] = f"s12;1,5;2,5;{other};control"
    with pytest.raises(ValueError, match=r"if all numbers have decimal commas, read them with decimal=','"):
        read_table(write("t.csv", "\n".join(text)), "y", ignore=["id"])


def test_a_mark_that_can_mean_two_things_is_refused(write, follow):
    """All cells are like 1,234, so that nothing says whether it means 1234 or 1.234."""
    text = "id;a;b;y\n" + "".join(f"s{i};{i},234;{i},500;{'uv'[i % 2]}\n" for i in range(1, 9))
    path = write("t.csv", text)
    with pytest.raises(
        ValueError, match=r"if it means 1234, read it with thousands=','; if it means 1\.234, with decimal=','$"
    ):
        read_table(path, "y", ignore=["id"])
    given, table = follow(path, *LABELLED)
    assert given[-2:] == ["--thousands", ","]
    assert table.X.tolist() == [[1000 * i + 234, 1000 * i + 500] for i in range(1, 9)]
    commas = read_table(path, "y", ignore=["id"], decimal=",")
    assert commas.X.tolist() == [[i + 0.234, i + 0.5] for i in range(1, 9)]


@pytest.mark.parametrize(
    "cell, value", [("1,234.5", 1234.5), ("12,345,678", 12345678), ("-1,000", -1000), ("7", 7), ("0.25", 0.25)]
)
def test_thousands(write, follow, cell, value):
    text = f't\ty\n"{cell}"\tu\n"1,234,567.5"\tv\n'
    given, table = follow(write("t.tsv", text), "--label", "y")
    assert given[-2:] == ["--thousands", ","]
    assert table.X.ravel().tolist() == [value, 1234567.5]


def test_german_numbers(write, follow):
    given, table = follow(write("t.csv", "a;y\n1.234,5;u\n0,5;v\n12.345.678,25;u\n"), "--label", "y")
    assert given[-4:] == ["--decimal", ",", "--thousands", "."]
    assert table.X.ravel().tolist() == [1234.5, 0.5, 12345678.25]


@pytest.mark.parametrize("cell", ["1,23", "1,2345", "12,34,567", "1234,567"])
def test_thousands_that_are_not(write, cell):
    with pytest.raises(ValueError, match=r"Column 'a' .* not numeric"):
        read_table(write("t.csv", f'a,y\n"{cell}",u\n2,v\n'), "y", thousands=",")


def test_measurements_and_covariates_have_decimal_commas_too(write):
    path = write("t.csv", "id;a;b;y;age\ns1;1,5;2;0,5;61,5\ns2;2,5;3,5;1,5;\ns3;4;5;2;47\n")
    with pytest.warns(UserWarning, match="decimal commas"):
        table = read_table(path, "y", annotations=["age"], ignore=["id"], drop_missing=True)
    assert table.y.tolist() == ["0.5", "2"]
    assert table.annotations["age"].tolist() == ["61.5", "47"]


# Encodings

UMLAUTS = in_rows().replace("TP53", "Größe µm").replace("case", "Fälle")
NAMES = ["Größe µm", "MYC", "ACTB"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_byte_order_mark_is_enough(write, encoding):
    for name, squeeze in (("t.csv", bytes), ("t.csv.gz", gzip.compress)):
        table = read_table(write(name, squeeze(UMLAUTS.encode(encoding))), "y", ignore=["id"])
        assert table.feature_names == NAMES
        assert table.y[0] == "Fälle"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le", "utf-16-be", "cp1252"])
def test_other_encodings_are_named(write, follow, encoding):
    text = UMLAUTS.replace("MYC", "5 €") if encoding == "cp1252" else UMLAUTS
    path = write("t.csv", text.encode(encoding))
    given, table = follow(path, *LABELLED)
    assert given[-2:] == ["--encoding", encoding]
    assert table.feature_names == [NAMES[0], "5 €" if encoding == "cp1252" else "MYC", "ACTB"]


def test_labels_and_features_in_two_encodings(write):
    data = write("t.csv", UMLAUTS.replace(",y", "").replace(",Fälle", "").replace(",control", "").encode("latin-1"))
    labels = write("l.csv", LABELS.replace("case", "Fälle"))
    table = read_table(data, "y", labels=labels, key="id", encoding="latin-1")
    assert (table.feature_names, table.y[0]) == (NAMES, "Fälle")


def test_encodings_that_do_not_fit(write):
    path = write("t.csv", UMLAUTS.encode("latin-1"))
    with pytest.raises(ValueError, match=r"encoding=\.\.\. must be an encoding such as .*; got 'latin1000'"):
        read_table(path, "y", encoding="latin1000")
    with pytest.raises(ValueError, match=r"isn't text in ascii: .*; give another encoding with encoding="):
        read_table(path, "y", encoding="ascii")


# Lines and columns that aren't data


def test_comments(write, follow):
    text = "# made by the core facility\n# 2024\n" + in_rows() + "# end\n"
    given, table = follow(write("t.csv", text), *LABELLED)
    assert given[-2:] == ["--comment", "#"]
    assert_is_the_table(table)
    with pytest.raises(ValueError, match="line 17 must have a value"):
        read_table(write("t.csv", text + "3,4\n"), "y", ignore=["id"], comment="#")


@pytest.mark.filterwarnings("default::UserWarning")
def test_columns_of_words_and_patterns(write, inside, tmp_path):
    lines = in_rows().splitlines()
    more = "\n".join(f"{line},{'meta_a,meta_b,meta_1' if i == 0 else f'w{i},x,{i}'}" for i, line in enumerate(lines))
    path = write("t.csv", more)
    assert_is_the_table(read_table(path, "y", ignore=["id", "meta_*"]))
    with pytest.warns(UserWarning, match=r"has 3 columns of words, left out: id, meta_a, meta_b"):
        table = read_table(path, "y", numbers_only=True)
    assert table.feature_names == [*GENES, "meta_1"]
    assert table.sample_names == SAMPLES
    with pytest.raises(ValueError, match=r"no column 'mata_\*'"):
        read_table(path, "y", ignore=["id", "mata_*"])
    finished = inside(
        "convert", path, "--label", "y", "--numbers-only", "--ignore", "meta_?", "--out", "o.h5ad", cwd=tmp_path
    )
    assert finished.returncode == 0, finished.stderr
    assert_is_the_table(read_table(tmp_path / "o.h5ad", "y"))


def test_feature_counts(write, follow):
    about = [("Chr", ["17;17", "8", "7"]), ("Start", ["1;9", "2", "3"]), ("End", ["5;12", "8", "9"]),
             ("Strand", ["+;+", "-", "+"]), ("Length", ["9", "6", "6"])]  # fmt: skip
    text = '# Program:featureCounts v2.0.3; Command:"featureCounts" "-a" "a.gtf"\n' + in_columns("\t", about)
    path, labels = write("counts.txt", text.replace("gene", "Geneid")), write("l.csv", LABELS)
    given, table = follow(path, "--labels", labels, "--label", "y")
    assert given[4:] == [
        "--comment", "#", "--transpose", *(word for name, _ in about for word in ("--ignore", name)),
    ]  # fmt: skip
    assert_is_the_table(table)


def test_maxquant(write, follow):
    names = ["P04637;P12345", "P01106", "P60709"]
    lines = ["\t".join(["Protein IDs", "Majority protein IDs", "Peptides", *(f"Intensity {s}" for s in SAMPLES),
                        *(f"LFQ intensity {s}" for s in SAMPLES), "Reverse"])]  # fmt: skip
    lines += ["\t".join([name, name.split(";")[0], "3", *["7"] * N, *map(str, column), ""])
              for name, column in zip(names, X.T, strict=True)]  # fmt: skip
    path, labels = write("proteinGroups.txt", "\n".join(lines)), write("l.csv", LABELS)
    given, table = follow(path, "--labels", labels, "--label", "y")
    assert given[4:] == ["--transpose", "--names-from", "Protein IDs", "--samples", "LFQ intensity *"]
    assert_is_the_table(table, names)
    genes = read_table(
        path, "y", labels=labels, transpose=True, names_from="Majority protein IDs", samples="Intensity *"
    )
    assert genes.feature_names == ["P04637", "P01106", "P60709"]
    assert (genes.X == 7).all()
    with pytest.raises(ValueError, match=r"no column such as 'iBAQ \*' .*: name others with samples="):
        read_table(path, "y", labels=labels, transpose=True, samples="iBAQ *")
    with pytest.raises(ValueError, match=r"must have one \*"):
        read_table(path, "y", labels=labels, transpose=True, samples="LFQ")


def olink(rng=None, panels=1):
    rows = [
        f"{sample};OID{k}{p};{gene};Panel{p};{X[i, k]};{Y[i]}"
        for p in range(panels)
        for k, gene in enumerate(GENES)
        for i, sample in enumerate(SAMPLES)
    ]
    if rng is not None:
        rng.shuffle(rows)
    return "SampleID;OlinkID;Assay;Panel;NPX;y\n" + "\n".join(rows) + "\n"


def test_olink(write, follow):
    given, table = follow(write("npx.csv", olink()), "--label", "y")
    assert given[-2:] == ["--long", "SampleID,Assay,NPX"]
    assert_is_the_table(table)


def test_the_order_of_a_long_table_says_nothing(write):
    path = write("npx.csv", olink(np.random.default_rng(1)))
    table = read_table(path, "y", long="SampleID,Assay,NPX")
    for i, sample in enumerate(table.sample_names):
        j = SAMPLES.index(sample)
        assert table.y[i] == Y[j]
        assert [table.X[i, table.feature_names.index(gene)] for gene in GENES] == X[j].tolist()
    labels = write("l.csv", LABELS)
    other = read_table(path, "y", labels=labels, long="SampleID,Assay,NPX")
    assert other.y.tolist() == table.y.tolist()


def test_an_assay_in_two_panels(write, follow):
    path = write("npx.csv", olink(panels=2))
    with pytest.raises(
        ValueError,
        match=r"has 2 values of 'TP53' for the sample 's1' \(lines 2, 38\): .* duplicates='mean'.*long=\.\.\. \(Olink",
    ):
        read_table(path, "y", long="SampleID,Assay,NPX")
    given, table = follow(path, "--label", "y")
    assert given[-2:] == ["--duplicates", "mean"]
    assert_is_the_table(table)
    assert len(read_table(path, "y", long="SampleID,OlinkID,NPX").feature_names) == 6


@pytest.mark.parametrize(
    "change, options, message",
    [
        (("s3;OID00", ";OID00"), {}, r"has a sample without a name \(line 4\)"),
        (("s3;OID00;TP53", "s3;OID00;NA"), {}, r"a feature with 'NA' as name \(line 4\): .* ignore=\['NA'\]"),
        (("9.6", "many", 1), {}, "Column 'NPX' .* has 'many"),
        ((";Panel0;", ";Panel0;", 1), {"long": "SampleID,Assay"}, "must name three columns"),
        ((";Panel0;", ";Panel0;", 1), {"long": "SampleID,Assay,NPY"}, "no column 'NPY' .* did you mean 'NPX'"),
        ((";Panel0;", ";Panel0;", 1), {"transpose": True}, "leave out transpose=True"),
        ((";case\ns2", ";control\ns2", 1), {}, r"for each sample; got 'control' and 'case' \(line 14\) for 's1'"),
    ],
)  # fmt: skip
def test_bad_long_tables(write, change, options, message):
    text = olink()
    assert change[0] in text or change[0] == "9.6"
    if change[0] == "9.6":
        change = (f";{X[0, 0]};", ";many;", 1)
    with pytest.raises(ValueError, match=message):
        read_table(write("npx.csv", text.replace(*change)), "y", **{"long": "SampleID,Assay,NPX"} | options)


def test_results_of_deseq2(write):
    text = "gene,baseMean,log2FoldChange,lfcSE,stat,pvalue,padj\na,1,2,3,4,5,6\nb,1,2,3,4,5,6\n"
    with pytest.raises(ValueError, match=r"results of DESeq2, .*write\.csv\(counts\(dds, .* with transpose=True"):
        read_table(write("res.csv", text), "padj")
    counts = write("counts.csv", in_columns(",").replace("gene", ""))
    assert_is_the_table(read_table(counts, "y", labels=write("l.csv", LABELS), transpose=True))


# Names


@pytest.mark.parametrize("how", ["suffix", "mean", "max", "first"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "h5ad", "sparse"])
def test_names_that_occur_twice(tmp_path, write, how, kind):
    names = ["MYC", "TP53", "MYC"]
    expected = {
        "suffix": (["MYC", "TP53", "MYC-1"], X),
        "mean": (["MYC", "TP53"], np.column_stack([(X[:, 0] + X[:, 2]) / 2, X[:, 1]])),
        "max": (["MYC", "TP53"], np.column_stack([np.maximum(X[:, 0], X[:, 2]), X[:, 1]])),
        "first": (["MYC", "TP53"], X[:, :2]),
    }[how]
    options = {"ignore": ["id"]}
    if kind == "csv":
        path = write("t.csv", in_rows().replace("TP53,MYC,ACTB", ",".join(names)))
    elif kind == "tsv":
        path = write("t.tsv", in_columns(names=names))
        options = {"transpose": True, "labels": write("l.csv", LABELS)}
    else:
        anndata = pytest.importorskip("anndata")
        sparse = pytest.importorskip("scipy.sparse")
        values = sparse.csr_matrix(X) if kind == "sparse" else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells = anndata.AnnData(values)
            cells.obs_names, cells.var_names = SAMPLES, names
            cells.obs["y"] = Y
            path = tmp_path / "t.h5ad"
            cells.write_h5ad(path)
        options = {}
    with pytest.raises(
        ValueError,
        match=r"has 1 name that 2 features share, such as 'MYC' \(2 features\): .*'suffix', or .*duplicates='mean'",
    ):
        read_table(path, "y", **options)
    table = read_table(path, "y", duplicates=how, **options)
    assert table.feature_names == expected[0]
    np.testing.assert_allclose(table.X.toarray() if kind == "sparse" else table.X, expected[1], rtol=1e-15)
    assert table.y.tolist() == Y


def test_means_are_not_taken_of_what_stays_on_disk(tmp_path):
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = anndata.AnnData(np.random.default_rng(0).normal(size=(60, 400)))
        cells.var_names = [f"g{j // 2}" for j in range(400)]
        cells.obs["y"] = ["u", "v"] * 30
        cells.write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(ValueError, match=r"stays on disk, so .* no mean: keep the first one with duplicates='first'"):
        read_table(tmp_path / "t.h5ad", "y", duplicates="mean", max_memory=200_000)
    assert read_table(tmp_path / "t.h5ad", "y", duplicates="first", max_memory=200_000).X.shape == (60, 200)


@pytest.mark.parametrize("name", ["", "NA"])
def test_names_that_are_missing(write, follow, name):
    path, labels = write("t.tsv", in_columns(names=["TP53", name, name])), write("l.csv", LABELS)
    words = "with 'NA' as names" if name else "without a name"
    with pytest.raises(ValueError, match=rf"has 2 features {words} \(lines 3, 4\): .* ignore=\['{name}'\]"):
        read_table(path, "y", labels=labels, transpose=True)
    given, table = follow(path, "--transpose", "--labels", labels, "--label", "y")
    assert given[-1] == f"--ignore={name}" or given[-2:] == ["--ignore", name]
    assert (table.feature_names, table.X.ravel().tolist(), table.y.tolist()) == (["TP53"], X[:, 0].tolist(), Y)


def test_samples_without_a_name_have_a_line(write):
    with pytest.raises(ValueError, match=r"has a sample without a name \(line 4\): give it one"):
        read_table(
            write("t.csv", in_rows().replace("s3,", ",")), "y", key="id", labels=write("l.csv", LABELS), ignore=["y"]
        )


def test_names_that_r_has_changed(write, follow):
    mangled = in_columns(",").replace("s1,", "X001.A,").replace("gene,", ",")
    labels = write("l.csv", LABELS.replace("s1,", "001-A,"))
    given, table = follow(write("t.csv", mangled), "--transpose", "--labels", labels, "--label", "y")
    assert given[-2:] == ["--match", "r-names"]
    assert_is_the_table(table)


def test_names_that_look_like_dates(write):
    path = write("t.csv", in_rows().replace("MYC", "2-Sep"))
    with pytest.warns(UserWarning, match=r"1 name of features like dates, such as '2-Sep'"):
        read_table(path, "y", ignore=["id"])


# Samples


def test_unlabelled_samples(write, follow):
    lines = in_rows().splitlines()
    lines[3] = lines[3].replace(",case", ",")
    lines[4] = lines[4].replace(",control", ",NA")
    given, table = follow(write("t.csv", "\n".join(lines)), *LABELLED)
    assert given[-1] == "--drop-missing"
    assert table.X.tolist() == np.delete(X, [2, 3], axis=0).tolist()
    assert table.y.tolist() == Y[:2] + Y[4:]


def test_drop_unlabelled_is_the_same(write, inside, tmp_path):
    path = write("t.csv", in_rows().replace(",case", ",", 1))
    finished = inside("convert", path, *LABELLED, "--drop-unlabelled", "--out", "o.h5ad", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert read_table(tmp_path / "o.h5ad", "y").y.tolist() == Y[1:]


@pytest.mark.filterwarnings("default::UserWarning")
def test_small_classes(write, inside, tmp_path):
    path = write("t.csv", in_rows().replace(",case", ",rare", 2).replace(",control", ",odd", 1))
    with pytest.warns(
        UserWarning, match=r"2 classes with fewer than 3 samples, which are left out: odd \(1\), rare \(2\)"
    ):
        table = read_table(path, "y", ignore=["id"], min_class=3)
    expected = [i for i in range(N) if i not in (0, 1, 2)]
    assert table.rows.tolist() == expected
    assert (table.X.tolist(), table.y.tolist()) == (X[expected].tolist(), [Y[i] for i in expected])
    assert drop_small_classes(table, 3) is table
    with pytest.raises(ValueError, match=r"no class with 9 samples \(the largest has 5\): lower min_class=5"):
        read_table(path, "y", ignore=["id"], min_class=9)
    finished = inside("score", path, *LABELLED, "--min-class", "3", "--method", "relieff", cwd=tmp_path)
    assert finished.returncode == 0
    assert "odd (1), rare (2)" in finished.stderr
    assert "(case: 4, control: 5)" in finished.stderr


@pytest.mark.parametrize("command", ["score --method rrelieff", "pairs --kind interaction", "assess"])
def test_small_classes_are_not_for_numbers(write, inside, tmp_path, command):
    path = write("t.csv", in_rows())
    name, *options = command.split()
    given = ("--targets", "MYC", "--ignore", "id", "--ignore", "y", "--min-class", "3")
    finished = inside(name, path, *options, *given, cwd=tmp_path)
    assert (finished.returncode, "--min-class is for classes" in finished.stderr) == (2, True), finished.stderr


# Excel


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def book(sheets, name="t.xlsx"):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, rows in sheets.items():
            sheet = made.create_sheet(title)
            for row in rows:
                sheet.append(row)
        made.save(tmp_path / name)
        return tmp_path / name

    return book


ROWS = [["id", *GENES, "y"], *([name, *row, label] for name, row, label in zip(SAMPLES, X.tolist(), Y, strict=True))]


def test_excel(book):
    assert_is_the_table(read_table(book({"data": [*ROWS, [], [None, None]]}), "y", ignore=["id"]))
    turned = [list(column) for column in zip(*ROWS, strict=True)]
    assert_is_the_table(read_table(book({"data": turned}), "y", transpose=True))


def test_a_sheet_of_several(book, follow):
    path = book({"notes": [["nothing"]], "data": ROWS})
    with pytest.raises(ValueError, match=r"several sheets: choose one with sheet=\.\.\. \(notes, data\)"):
        read_table(path, "y")
    assert_is_the_table(read_table(path, "y", ignore=["id"], sheet="data"))
    with pytest.raises(ValueError, match=r"no sheet 'dat' .* did you mean 'data'"):
        read_table(path, "y", sheet="dat")


def test_labels_in_excel(book, write):
    labels = book({"labels": [["id", "y"], *zip(SAMPLES[::-1], Y[::-1], strict=True)]}, "labels.xlsx")
    path = write("t.csv", in_rows().replace(",y\n", ",other\n"))
    table = read_table(path, "y", labels=labels, key="id", ignore=["other"])
    assert_is_the_table(table)


def test_dates_in_excel(book):
    import datetime

    rows = [["id", *GENES[:2], datetime.datetime(2024, 9, 2), "y"], *ROWS[1:]]
    with pytest.warns(UserWarning, match="like dates, such as '2024-09-02'"):
        read_table(book({"data": rows}), "y", ignore=["id"])


def test_damaged_excel(tmp_path, book):
    path = book({"data": ROWS})
    whole = path.read_bytes()
    for size in np.linspace(1, len(whole) - 2, 15).astype(int):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="isn't a readable Excel file"):
            read_table(path, "y")


def test_excel_is_held_to_the_budget(book):
    path = book({"data": [["a", "y"], *([0, 1] for _ in range(20000))]})
    with pytest.raises(MemoryError, match="expands to"):
        read_table(path, "y", max_memory=100_000)


# Standard input


@pytest.mark.parametrize("kind", ["csv", "xlsx", "h5ad"])
def test_standard_input(write, inside, monkeypatch, tmp_path, book, kind):
    path = write("t.csv", in_rows())
    if kind == "xlsx":
        path = book({"data": ROWS})
    elif kind == "h5ad":
        assert inside("convert", path, *LABELLED, "--out", "t.h5ad", cwd=tmp_path).returncode == 0
        path = tmp_path / "t.h5ad"
    stream = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    options = ["--label", "y"] if kind == "h5ad" else LABELLED
    finished = inside("convert", "-", "--format", kind, *options, "--out", "o.h5ad", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert_is_the_table(read_table(tmp_path / "o.h5ad", "y"))


def test_errors_about_standard_input(monkeypatch, inside, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(in_rows().encode())))
    finished = inside("score", "-", "--format", "csv", "--label", "x", cwd=tmp_path)
    assert "Standard input has no column 'x'" in " ".join(finished.stderr.split())
    for format_name, message in (("bed", "Standard input can be csv, .*"), ("doc", "Standard input can be csv")):
        finished = inside("score", "-", "--format", format_name, "--label", "x", cwd=tmp_path)
        assert re.search(message, " ".join(finished.stderr.split()))
    table = read_table_from(monkeypatch, in_rows())
    assert table.source == "-"


def read_table_from(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return read_table("-", "y", ignore=["id"], format="csv")


def test_a_format_for_any_name(write, follow):
    path = write("t.dat", in_rows("\t"))
    with pytest.raises(ValueError, match=r"its name must end in .*, or give its format with format="):
        read_table(path, "y")
    assert_is_the_table(read_table(path, "y", ignore=["id"], format="tsv"))
    with pytest.raises(ValueError, match=r"format=\.\.\. must be csv, .* got 'text'"):
        read_table(path, "y", format="text")
    with pytest.raises(ValueError, match=r"t.zip' isn't read as it is: unpack it"):
        read_table(write("t.zip", in_rows()), "y")


# Folders of 10x


@pytest.fixture
def tenx(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")

    def tenx(*, prefix="", gz=(), head=(), turned=True, types=("Gene Expression",) * 3, old=False):
        folder = tmp_path / "tenx"
        folder.mkdir()
        target = io.BytesIO()
        scipy_io.mmwrite(target, sparse.coo_matrix(X.T if turned else X))
        features = [f"E{j}\t{name}\t{kind}" for j, (name, kind) in enumerate(zip(GENES, types, strict=True))]
        files = {
            "matrix.mtx": target.getvalue(),
            "genes.tsv" if old else "features.tsv": "\n".join(
                (["gene_id\tsymbol\ttype"] if "features" in head else []) + features
            ).encode(),
            "barcodes.tsv": "\n".join((["barcode"] if "barcodes" in head else []) + SAMPLES).encode(),
        }
        for name, content in files.items():
            squeezed = name.split(".")[0] in gz
            path = folder / f"{prefix}{name}{'.gz' if squeezed else ''}"
            path.write_bytes(gzip.compress(content) if squeezed else content)
        return folder

    return tenx


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"prefix": "GSM1_", "gz": ("matrix", "features", "barcodes")},
        {"gz": ("matrix",), "head": ("features",)},
        {"gz": ("barcodes",), "head": ("barcodes", "features")},
        {"turned": False, "old": True},
    ],
)
def test_folders_of_10x(tenx, write, inside, tmp_path, how):
    folder, labels = tenx(**how), write("l.csv", LABELS)
    assert_is_the_table(read_table(folder, "y", labels=labels))
    finished = inside("score", folder, "--labels", labels, "--label", "y", "--method", "projse", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr


def test_bad_folders_of_10x(tenx, write, follow):
    folder, labels = tenx(types=("Gene Expression", "Gene Expression", "Antibody Capture")), write("l.csv", LABELS)
    with pytest.raises(ValueError, match=r"several feature types: choose one with mod=\.\.\. \(Gene"):
        read_table(folder, "y", labels=labels)
    assert read_table(folder, "y", labels=labels, mod="Antibody Capture").feature_names == ["ACTB"]
    with pytest.raises(ValueError, match="leave out transpose=True"):
        read_table(folder, "y", labels=labels, transpose=True)
    with pytest.raises(ValueError, match="holds no labels: give a file of them with labels="):
        read_table(folder, "y")
    # A name too many at the end must not move the others.
    (folder / "barcodes.tsv").write_text("\n".join([*SAMPLES, "s13"]))
    with pytest.raises(ValueError, match=r"matrix of 3 x 12, but 'features.tsv' names 3 features and .* 13 cells"):
        read_table(folder, "y", labels=labels)
    (folder / "barcodes.tsv").unlink()
    with pytest.raises(ValueError, match=r"must have a file barcodes\.tsv next to 'matrix\.mtx'"):
        read_table(folder, "y", labels=labels)
    (folder / "other_matrix.mtx").write_text("x")
    with pytest.raises(ValueError, match=r"several matrices \(matrix.mtx, other_matrix.mtx\): give the path of one"):
        read_table(folder, "y", labels=labels)
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(ValueError, match="is a directory; expected a file"):
        read_table(folder, "y", labels=labels)


# Other formats

DATA = Path(__file__).with_name("data")


def test_line_ends_in_quotes_of_a_series_matrix(write):
    text = (DATA / "GSE1_series_matrix.txt").read_text()
    expected = read_table(DATA / "GSE1_series_matrix.txt", "tissue")
    path = write("GSE2_series_matrix.txt", text.replace('"colon"\t', '"colon\nor near"\t', 1))
    table = read_table(path, "tissue", annotations=["source_name_ch1"])
    np.testing.assert_array_equal(table.X, expected.X)
    assert table.y.tolist() == expected.y.tolist()
    assert table.annotations["source_name_ch1"].tolist() == ["colon or near", "colon", "colon"] + ["liver"] * 3
    lines = text.splitlines(keepends=True)
    k = next(k for k, line in enumerate(lines) if "source_name" in line)
    for end in ('"liver\nof"\n', '"liver\n\nof\nmice"\n'):
        lines[k] = text.splitlines(keepends=True)[k].replace('"liver"\n', end)
        table = read_table(write("GSE3_series_matrix.txt", "".join(lines)), "tissue")
        np.testing.assert_array_equal(table.X, expected.X)
        assert table.y.tolist() == expected.y.tolist()


def test_blank_rows_below_a_gct(write):
    text = (DATA / "expression.gct").read_text()
    expected = read_table(DATA / "expression.gct", "condition")
    table = read_table(write("t.gct", text + "\t" * 13 + "\n" + "\t" * 20 + "\n\n"), "condition")
    np.testing.assert_array_equal(table.X, expected.X)
    assert table.feature_names == expected.feature_names


def test_latin_1_in_other_text(write):
    text = (DATA / "GSE1_series_matrix.txt").read_text().replace("colon", "Dünndarm").encode("latin-1")
    path = write("GSE2_series_matrix.txt", text)
    with pytest.raises(ValueError, match="read it with encoding='latin-1'"):
        read_table(path, "tissue")
    assert read_table(path, "source_name_ch1", encoding="latin-1").y[0] == "Dünndarm"


def test_loom_with_other_attributes(tmp_path, follow):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.loom", "w") as file:
        file["matrix"] = X.T
        file["row_attrs/gene_short_name"] = np.array(GENES, "S")
        file["row_attrs/length"] = np.arange(3)
        file["col_attrs/y"] = np.array(Y, "S")
        file.create_group("layers")
    with pytest.raises(
        ValueError, match=r"no row attribute Gene or var_names: choose .* names_from=\.\.\. \(gene_short_name, length\)"
    ):
        read_table(tmp_path / "t.loom", "y")
    assert_is_the_table(read_table(tmp_path / "t.loom", "y", names_from="gene_short_name"))
    with pytest.raises(ValueError, match="no row attribute 'gene_name'"):
        read_table(tmp_path / "t.loom", "y", names_from="gene_name")


# All options


@pytest.mark.parametrize("command", ["score", "pairs", "assess", "report", "convert"])
def test_every_command_takes_the_options_of_reading(inside, tmp_path, monkeypatch, command):
    from dataclasses import fields

    from fastfs.io._options import ReadOptions, describe

    monkeypatch.setenv("COLUMNS", "200")
    words = inside(command, "--help-all", cwd=tmp_path).stdout
    for option in fields(ReadOptions):
        about = describe(option)
        if about.help:
            flag = about.flags[0] if about.flags else f"--{option.name.replace('_', '-')}"
            assert re.search(rf"{flag}\b", words), flag
    for option in fields(ReadOptions):
        assert f"\n{option.name} : " in re.sub(r"\n +", "\n", fastfs.io.read_table.__doc__)


@pytest.mark.parametrize(
    "option, message",
    [
        ({"decimal": ";"}, r"decimal=\.\.\. must be '\.' or ','; got ';'"),
        ({"duplicates": "sum"}, r"duplicates=\.\.\. must be 'error', 'suffix', 'mean', 'max' or 'first'; got 'sum'"),
        ({"samples": "a*"}, "is for features in rows: add transpose=True"),
        ({"names_from": "a"}, "is for features in rows: add transpose=True"),
        ({"mod": "rna"}, "is for files that end in"),
    ],
)
def test_options_that_do_not_fit(write, option, message):
    with pytest.raises(ValueError, match=message):
        read_table(write("t.csv", in_rows()), "y", **option)


def test_options_of_text_are_not_for_other_formats(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    for option in ({"decimal": ","}, {"encoding": "latin-1"}, {"long": "a,b,c"}, {"numbers_only": True}):
        with pytest.raises(ValueError, match=r"is for files that end in .csv.*: leave it out for"):
            read_table(tmp_path / "t.npz", **option)


# Mistakes that a newcomer made


def test_lines_in_another_order_are_not_taken_by_order(write):
    """Labels and covariates: a column that names the samples speaks against the order of the lines."""
    path = write("t.csv", in_rows().replace(",y\n", ",other\n").replace("id,", ",", 1))
    order = np.random.default_rng(1).permutation(N)
    shuffled = [SAMPLES[i] for i in order]
    labels = write("l.csv", "id,y\n" + "".join(f"{SAMPLES[i]},{Y[i]}\n" for i in order))
    covariates = write("c.csv", "id,age\n" + "".join(f"{name},{20 + k}\n" for k, name in enumerate(shuffled)))
    in_order = write("o.csv", "y\n" + "\n".join(Y) + "\n")
    with pytest.raises(ValueError, match=r"by_order=True must be left out for '.*l.csv', because its lines stand in"):
        read_table(path, "y", labels=labels, by_order=True, ignore=["other"])
    with pytest.raises(ValueError, match=r"by_order=True must be left out for '.*c.csv'.* which its column 'id' names"):
        read_table(path, "y", labels=in_order, covar=covariates, by_order=True, ignore=["other"])
    table = read_table(path, "y", labels=labels, covar=covariates, ignore=["other"])
    assert table.y.tolist() == Y
    assert [table.annotations["age"][k] for k in order] == [20 + k for k in range(N)]


def test_cells_with_numbers_keep_their_values_under_marks(book):
    rows = [["id", *GENES, "y"], *([name, a, f"{b:.2f}".replace(".", ","), c, label]
                                   for name, (a, b, c), label in zip(SAMPLES, X, Y, strict=True))]  # fmt: skip
    for marks in ({"decimal": ","}, {"decimal": ",", "thousands": "."}):
        assert_is_the_table(read_table(book({"data": rows}), "y", ignore=["id"], **marks))


@pytest.mark.parametrize("mark, other", [(".", ","), (",", ".")])
def test_two_marks_of_one_kind(write, mark, other):
    path = write("t.csv", in_rows())
    with pytest.raises(ValueError, match=r"thousands=.* needs another mark before decimals than"):
        read_table(path, "y", ignore=["id"], thousands=mark, decimal=mark)
    with pytest.raises(ValueError, match=f"add decimal='{re.escape(other)}'"):
        read_table(path, "y", ignore=["id"], thousands=mark, decimal=mark)


def test_a_sheet_of_samples_gives_labels_and_covariates(write):
    path = write("t.csv", in_rows().replace(",y\n", ",other\n").replace("id,", ",", 1))
    sheet = write(
        "s.csv", "id,y,age\n" + "".join(f"{s},{y},{k}\n" for k, (s, y) in enumerate(zip(SAMPLES, Y, strict=True)))
    )
    table = read_table(path, "y", labels=sheet, covar=sheet, ignore=["other"])
    assert table.covariates == ("age",)
    assert table.y.tolist() == Y
    with pytest.raises(ValueError, match=r"covar_names=.* must not name the label 'y': leave it out"):
        read_table(path, "y", labels=sheet, covar=sheet, covar_names=["y"], ignore=["other"])
    only = write("only.csv", LABELS)
    with pytest.raises(ValueError, match="must have a column of a covariate; got only the names and labels"):
        read_table(path, "y", labels=only, covar=only, ignore=["other"])


@pytest.mark.parametrize("name", ["base64", "rot13", "hex", "klingon"])
def test_encodings_that_are_none(write, name):
    with pytest.raises(ValueError, match="must be an encoding such as latin-1 or utf-16; got"):
        read_table(write("t.csv", in_rows()), "y", ignore=["id"], encoding=name)


def test_utf_16_without_a_mark_is_read_if_asked_for(write):
    path = write("t.csv", in_rows().encode("utf-16-le"))
    assert_is_the_table(read_table(path, "y", ignore=["id"], encoding="utf-16"))
    with pytest.raises(ValueError, match="isn't text in utf-16: leave out encoding"):
        read_table(write("u.csv", in_rows()), "y", ignore=["id"], encoding="utf-16")


def test_a_report_needs_a_file(inside, tmp_path):
    finished = inside("report", "-", "--format", "csv", "--label", "y", "--out", "r.html", cwd=tmp_path)
    assert finished.returncode == 2
    assert "got - for stdin: write it to a file" in finished.stderr


def test_names_of_samples_are_converted(write, inside, tmp_path):
    path = write("t.csv", in_rows().replace("id,", ",", 1))
    assert inside("convert", path, "--label", "y", "--out", "t.h5ad", cwd=tmp_path).returncode == 0
    anndata = pytest.importorskip("anndata")
    assert anndata.read_h5ad(tmp_path / "t.h5ad").obs_names.tolist() == SAMPLES
    labels = write("l.csv", LABELS.replace("id,y", "id,class"))
    assert read_table(tmp_path / "t.h5ad", "class", labels=labels).y.tolist() == Y


def test_two_files_of_barcodes(write, tmp_path):
    (tmp_path / "m").mkdir()
    for name, text in (("matrix.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n"),
                       ("features.tsv", "g\n"), ("barcodes.tsv", "a\n")):  # fmt: skip
        (tmp_path / "m" / name).write_text(text)
    (tmp_path / "m" / "barcodes.tsv.gz").write_bytes(gzip.compress(b"b\n"))
    with pytest.raises(
        ValueError, match=r"has both barcodes.tsv and barcodes.tsv.gz: remove the one that doesn't belong to matrix.mtx"
    ):
        read_table(tmp_path / "m", labels=write("l.csv", "y\n1\n"))


def test_names_are_a_list(write):
    with pytest.raises(ValueError, match=r"ignore=\.\.\. must be a list of names; got the string 'id'"):
        read_table(write("t.csv", in_rows()), "y", ignore="id")


# Mistakes that an attacker made


@pytest.mark.parametrize(
    "option, message",
    [
        ({"match": ["case"]}, r"match=\.\.\. must be a string; got \['case'\]"),
        ({"min_class": "3"}, r"min_class=\.\.\. must be an integer; got the string '3'"),
        ({"min_class": -1}, r"min_class=\.\.\. must be 0 or larger; got -1"),
        ({"min_class": True}, r"min_class=\.\.\. must be an integer; got True"),
        ({"long": ("a", "b", "c")}, r"long=\.\.\. must be a string; got \('a', 'b', 'c'\)"),
        ({"encoding": 3}, r"encoding=\.\.\. must be a string; got 3"),
        ({"comment": 3}, r"comment=\.\.\. must be a string; got 3"),
        ({"ignore": [3]}, r"ignore=\.\.\. must be a list of names; got \[3\]"),
        ({"by_order": "yes"}, r"by_order=\.\.\. must be True or False; got the string 'yes'"),
        ({"labels": 3}, r"labels=\.\.\. must be a path; got 3"),
        ({"annotations": "age"}, r"annotations=\.\.\. must be a list of names; got the string 'age'"),
    ],
)  # fmt: skip
def test_options_of_another_type(write, option, message):
    with pytest.raises(ValueError, match=message):
        read_table(write("t.csv", in_rows()), "y", **option)
    with pytest.raises(ValueError, match=r"label=\.\.\. must be a string; got 3"):
        read_table(write("t.csv", in_rows()), 3)


def test_options_without_effect(write, book):
    path, labels = write("t.csv", in_rows()), write("l.csv", LABELS)
    with pytest.raises(ValueError, match=r"sheet=\.\.\. is for files that end in \.xlsx: leave it out for"):
        read_table(path, "y", ignore=["id"], sheet="data")
    with pytest.raises(ValueError, match=r"labels_sheet=\.\.\. is for a file of labels that ends in \.xlsx"):
        read_table(path, "y", labels=labels, labels_sheet="data")
    rows = [["id", *GENES, "y"], *([name, *map(float, row), y] for name, row, y in zip(SAMPLES, X, Y, strict=True))]
    for option in ({"encoding": "latin-1"}, {"comment": "#"}):
        with pytest.raises(ValueError, match=r"is for text: leave it out for .*\.xlsx"):
            read_table(book({"data": rows}), "y", ignore=["id"], **option)
    marked = write("m.csv", in_rows().encode("utf-16"))
    with pytest.raises(ValueError, match=r"begins with the mark of utf-16: leave out encoding"):
        read_table(marked, "y", ignore=["id"], encoding="latin-1")
    assert_is_the_table(read_table(marked, "y", ignore=["id"], encoding="utf-16"))
    assert_is_the_table(read_table(marked, "y", ignore=["id"], encoding="utf-16-le"))
    for option in ({"samples": "a*"}, {"names_from": "Assay"}):
        with pytest.raises(ValueError, match=r"is for features in rows, but .* has a row for each value: leave it out"):
            read_table(write("npx.csv", olink()), "y", long="SampleID,Assay,NPX", **option)


def test_a_column_called_as_a_pattern(write):
    path = write("t.csv", "g*,g1,h,y\n1,2,3,u\n4,5,6,v\n")
    with pytest.raises(ValueError, match=r"must say whether 'g\*' is the column .* write ignore=\['g\[\*\]'\] for the"):
        read_table(path, "y", ignore=["g*"])
    assert read_table(path, "y", ignore=["g[*]"]).feature_names == ["g1", "h"]
    assert read_table(path, "y", ignore=["g?"]).feature_names == ["h"]
    alone = write("u.csv", "g*,h,y\n1,2,u\n4,5,v\n")
    assert read_table(alone, "y", ignore=["g*"]).feature_names == ["h"]


@pytest.mark.parametrize("cell", ["1e400", "-1e999", "1" * 400])
def test_numbers_beyond_the_range(write, cell):
    path = write("t.csv", f"a,y\n2,u\n{cell},v\n")
    with pytest.raises(
        ValueError, match=r"Column 'a' .* row 1 .* has '.*'; numbers end at 1\.8e308: .* ignore=\['a'\]"
    ):
        read_table(path, "y")
    with pytest.raises(ValueError, match=r"row 'b' has '.*'; numbers end at 1\.8e308"):
        read_table(write("u.csv", f"f,s1,s2,s3\na,1,2,3\nb,2,3,{cell}\ny,u,v,u\n"), "y", transpose=True)


def test_cells_that_a_mark_contradicts(write):
    path = write("t.csv", 'a,y\n"1,23",u\n2,v\n')
    with pytest.raises(
        ValueError, match=r"row 0 .* has '1,23'; it isn't written with thousands=',': leave that out, or"
    ):
        read_table(path, "y", thousands=",")
    path = write("t.csv", "a;y\n1.5;u\n2,5;v\n")
    with pytest.raises(ValueError, match=r"has '1\.5'; it isn't written with decimal=',': leave that out, or correct"):
        read_table(path, "y", decimal=",")


def test_minus_signs(write):
    minus = "\N{MINUS SIGN}"
    assert read_table(write("t.csv", f"a,y\n{minus}1.5,u\n2e{minus}3,v\n"), "y").X.ravel().tolist() == [-1.5, 0.002]
    path = write("t.csv", f"a;y\n{minus}1,5;u\n2,5;v\n")
    assert read_table(path, "y", decimal=",").X.ravel().tolist() == [-1.5, 2.5]


def test_decimal_commas_of_labels(write):
    path = write("t.csv", in_rows(";", ",").replace(";y\n", ";other\n").replace("id;", ";", 1))
    ages = [f"{20 + k},5" for k in range(N)]
    labels = write("l.csv", "id;age\n" + "".join(f"{s};{age}\n" for s, age in zip(SAMPLES, ages, strict=True)))
    table = read_table(path, "age", labels=labels, ignore=["other"], decimal=",")
    assert table.y.astype(float).tolist() == [20.5 + k for k in range(N)]
    covar = read_table(path, "age", labels=labels, covar=labels, covar_names=["id"], ignore=["other"], decimal=",")
    assert covar.annotations["id"].tolist() == SAMPLES


def test_sheets_of_labels(write, book):
    about = [["id", "y"], *([name, label] for name, label in zip(SAMPLES, Y, strict=True))]
    path = write("t.csv", in_rows().replace(",y\n", ",other\n").replace("id,", ",", 1))
    sheets = book({"notes": [["x"], ["1"]], "samples": about})
    with pytest.raises(ValueError, match=r"several sheets: choose one with labels_sheet=\.\.\. \(notes, samples\)"):
        read_table(path, "y", labels=sheets, ignore=["other"])
    assert_is_the_table(read_table(path, "y", labels=sheets, labels_sheet="samples", ignore=["other"]))
    rows = [["", *GENES], *([name, *map(float, row)] for name, row in zip(SAMPLES, X, strict=True))]
    both = book({"data": rows, "samples": about})
    assert_is_the_table(read_table(both, "y", sheet="data", labels=both, labels_sheet="samples"))


def test_formulas_without_stored_values(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for row in [["a", "b", "y"], [1, "=A2*2", "u"], [2, 3, "v"]]:
        made.active.append(row)
    made.save(tmp_path / "t.xlsx")
    with pytest.raises(
        ValueError, match=r"Cell B2 of .* has a formula without a stored value: open .* or save .* as CSV"
    ):
        read_table(tmp_path / "t.xlsx", "y")


def test_formulas_with_stored_values(tmp_path):
    """As Excel stores them, which openpyxl can't write."""
    import zipfile

    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for row in [["a", "b", "y"], [1, "=A2*2", "u"], [2, None, "v"]]:
        made.active.append(row)
    made.save(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(tmp_path / "u.xlsx", "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith("sheet1.xml"):
                assert b"<f>A2*2</f>" in text
                text = re.sub(rb"<f>A2\*2</f><v */>|<f>A2\*2</f><v></v>", b"<f>A2*2</f><v>2</v>", text)
            new.writestr(name, text)
    np.testing.assert_array_equal(read_table(tmp_path / "u.xlsx", "y").X, [[1, 2], [2, np.nan]])


@pytest.mark.parametrize("n, words", [(2, "1 class with fewer than 2 samples, which is left out: rare")])
def test_one_small_class(write, n, words):
    with pytest.warns(UserWarning, match=words):
        read_table(write("t.csv", "a,y\n1,u\n2,u\n3,v\n4,v\n5,rare\n"), "y", min_class=n)


def test_genotypes_of_plink_2_without_pgenlib(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pgenlib", None)
    path = write("study.pgen", b"l\x1b\x10")
    message = (
        r"holds genotypes of PLINK 2: write a .bed by plink2 --pfile '(.*)/study' --make-bed --out '\1/study', or "
        r"install pgenlib by python -m pip install 'scikit-fastfs\[pgen\]'"
    )
    with pytest.raises(ValueError, match=message):
        read_table(path)
