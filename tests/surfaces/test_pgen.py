"""Genotypes of PLINK 2, from files that pgenlib writes."""

import json

import numpy as np
import pytest

import fastfs
from fastfs._inputs import pgen
from fastfs.cli import run
from fastfs.io import read_plink, read_table

pgenlib = pytest.importorskip("pgenlib", reason="pgenlib, of the extra [pgen], isn't installed")

N, D = 21, 60


def calls():
    """Return the copies of the alternative allele, -9 if they are missing: SNPs in rows, some with rare alleles."""
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 3, size=(D, N)).astype(np.int8)
    X[X == -1] = -9
    X[::3] = rng.choice([0, 0, 0, 0, 1], size=X[::3].shape)  # stored as differences
    return X


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.pgen"
    writer = pgenlib.PgenWriter(str(path).encode(), N, variant_ct=D)
    for snp in calls():
        writer.append_biallelic(np.ascontiguousarray(snp))
    writer.close()
    lines = ["##source=test", "#CHROM\tPOS\tID\tREF\tALT\tINFO"]
    lines += [f"{'1' if j < 40 else 'X'}\t{100 * j}\trs{j}\tA\tG\tAF=.5" for j in range(D)]
    (tmp_path / "study.pvar").write_text("\n".join(lines) + "\n")
    lines = ["#FID\tIID\tSEX\tPHENO1\tage\tarm"]
    lines += [
        f"f{i}\ts{i}\t1\t{(-9, 1, 2)[i % 3] if i < 3 else 1 + i % 2}\t{20.5 + i}\t{'xy'[i % 2]}" for i in range(N)
    ]
    (tmp_path / "study.psam").write_text("\n".join(lines) + "\n")
    return path


def as_floats(X):
    return np.where(X == -9, np.nan, X).T


def test_every_call(file, monkeypatch):
    G = read_plink(file)
    np.testing.assert_array_equal(np.asarray(G), as_floats(calls()))
    assert (G.names[1], G.position[1], G.chromosome[59], G.alleles[0].tolist()) == ("rs1", 100, "X", ["G", "A"])
    assert G.samples.tolist() == [f"s{i}" for i in range(N)]
    assert np.isnan(G.phenotype[0])
    assert G.phenotype[1:4].tolist() == [1, 2, 2]
    monkeypatch.setattr(pgen, "_BLOCK", 7 * N + 1)  # seven SNPs are read together
    np.testing.assert_array_equal(read_plink(file).bits, G.bits)


def test_bits_are_those_of_a_bed_file(file, tmp_path):
    G = read_plink(file)
    (tmp_path / "same.bed").write_bytes(b"\x6c\x1b\x01" + G.bits.tobytes())
    alleles = "".join(f"{c} {name} 0 {p} G A\n" for c, name, p in zip(G.chromosome, G.names, G.position, strict=True))
    (tmp_path / "same.bim").write_text(alleles)
    (tmp_path / "same.fam").write_text("".join(f"f{i} s{i} 0 0 1 {1 + i % 2}\n" for i in range(N)))
    np.testing.assert_array_equal(np.asarray(read_plink(tmp_path / "same.bed")), np.asarray(G))


def test_a_table_with_labels(file):
    with pytest.warns(fastfs.DataWarning, match="1 of 21 samples .* have no value of 'PHENO1'"):
        table = read_table(file)
    assert table.y.tolist() == [1, 2, *(1 + i % 2 for i in range(3, N))]
    assert table.sample_names == [f"s{i}" for i in range(1, N)]
    np.testing.assert_array_equal(np.asarray(table.X), as_floats(calls())[1:])
    table = read_table(file, "arm", annotations=["age"], chromosomes=["chrX"], ignore=["rs41"])
    assert table.y.tolist() == ["xy"[i % 2] for i in range(N)]
    assert table.annotations["age"].tolist() == [20.5 + i for i in range(N)]
    assert table.feature_names == [f"rs{j}" for j in range(40, D) if j != 41]
    np.testing.assert_array_equal(np.asarray(table.X), as_floats(calls())[:, [j for j in range(40, D) if j != 41]])


def test_labels_of_another_file(file, tmp_path):
    lines = ["FID IID T2D"] + [f"f{i} s{i} {1 + i % 2}" for i in reversed(range(N))]
    (tmp_path / "traits.txt").write_text("\n".join(lines) + "\n")
    table = read_table(file, labels=tmp_path / "traits.txt")
    assert table.y.tolist() == [1 + i % 2 for i in range(N)]
    assert "by FID and IID" in table.matching


@pytest.mark.parametrize("n_columns", [5, 6])
def test_files_without_header(file, n_columns):
    cm = " 0" * (n_columns - 5)
    file.with_suffix(".pvar").write_text("".join(f"1 rs{j}{cm} {j} G A\n" for j in range(D)))
    phenotype = " 2" * (n_columns - 5)
    file.with_suffix(".psam").write_text("".join(f"0 s{i % 20} 0 0 1{phenotype}\n" for i in range(N)))
    G = read_plink(file)
    np.testing.assert_array_equal(np.asarray(G), as_floats(calls()))
    assert (G.names[3], G.position[3], G.alleles[3].tolist()) == ("rs3", 3, ["G", "A"])
    assert G.samples[[0, 20]].tolist() == ["0:s0", "0:s0"]
    assert np.isnan(G.phenotype).all() == (n_columns == 5)


def test_the_command_line(file, tmp_path):
    out = tmp_path / "ranking.json"
    method = ["--method", "relieff", "--missing", "ignore", "--method-option", "n_neighbors=3", "--clump-r2", "0.9"]
    assert run(["score", str(file), "--label", "arm", *method, "--out", str(out)]) == 0
    ranking = json.loads(out.read_text())["ranking"]
    expected = fastfs.ReliefF(n_neighbors=3, missing="ignore").fit(
        read_plink(file), np.array(["xy"[i % 2] for i in range(N)])
    )
    assert ranking[0]["feature"] == f"rs{np.argmax(expected.scores_)}"
    pytest.importorskip("anndata")
    assert run(["convert", str(file), "--label", "arm", "--out", str(tmp_path / "t.h5ad")]) == 0
    np.testing.assert_array_equal(read_table(tmp_path / "t.h5ad", "arm").X, as_floats(calls()))


def cut(file, n):
    file.write_bytes(file.read_bytes()[:n])


def change(ending, change_text):
    def spoil(file):
        path = file.with_suffix(ending)
        path.write_text(change_text(path.read_text()))

    return spoil


BAD = {
    "no .pvar": (lambda file: file.with_suffix(".pvar").unlink(), FileNotFoundError, r"study\.pvar"),
    "no .psam": (lambda file: file.with_suffix(".psam").unlink(), FileNotFoundError, r"study\.psam"),
    "compressed .pvar": (
        lambda file: file.with_suffix(".pvar").rename(f"{file.with_suffix('.pvar')}.zst"),
        ValueError,
        r"is compressed: expand it by zstd -d '.*study\.pvar\.zst'",
    ),
    "no bytes": (lambda file: cut(file, 3), ValueError, r"isn't a \.pgen file of PLINK 2"),
    "header only": (lambda file: cut(file, 12), ValueError, r"isn't a readable \.pgen file"),
    "half": (lambda file: cut(file, 300), ValueError, r"isn't a readable \.pgen file \(.*\): copy or write it again"),
    "last byte": (
        lambda file: cut(file, file.stat().st_size - 1),
        ValueError,
        r"isn't a readable \.pgen file \(.*\): copy or write it again",
    ),
    "something else": (lambda file: file.write_text("a,b,c,d,e,f,g,h"), ValueError, "must begin with the bytes 6c 1b"),
    "a .bed": (lambda file: file.write_bytes(b"\x6c\x1b\x01" + bytes(360)), ValueError, r"holds a \.bed of PLINK 1"),
    "a sample more": (
        change(".psam", lambda text: text + "f\tx\t1\t1\t3\ty\n"),
        ValueError,
        r"must have the 22 samples of 'study\.psam'; got 21",
    ),
    "a variant less": (
        change(".pvar", lambda text: text[: text[:-1].rindex("\n") + 1]),
        ValueError,
        r"must have the 59 variants of 'study\.pvar'; got 60",
    ),
    "three alleles": (
        change(".pvar", lambda text: text.replace("rs7\tA\tG", "rs7\tA\tG,T")),
        ValueError,
        r"two alleles for each variant; got more for 1, the first of them 'rs7': .* --max-alleles 2",
    ),
    "a short line": (
        change(".pvar", lambda text: text.replace("1\t700\trs7", "1\t700")),
        ValueError,
        r"line 10 of '.*study\.pvar' must have 6 columns; got 5",
    ),
    "no position": (
        change(".pvar", lambda text: text.replace("\t700\t", "\tx\t")),
        ValueError,
        r"must have a whole number as position; got 'x'",
    ),
    "no IDs": (change(".pvar", lambda text: text.replace("\tID\t", "\tNAME\t")), ValueError, "must have one column ID"),
    "no samples": (
        change(".psam", lambda text: text.splitlines()[0] + "\n"), ValueError, "must have a line for each sample",
    ),
    "no header": (
        change(".psam", lambda text: "a b\nc d\n"), ValueError, "must have a header that begins with #FID or #IID",
    ),
}  # fmt: skip


@pytest.mark.parametrize("spoil, error, message", BAD.values(), ids=BAD)
def test_bad_files(file, spoil, error, message):
    spoil(file)
    with pytest.raises(error, match=message):
        read_plink(file)
    with pytest.raises(error, match=message):
        read_table(file, "arm")


def test_changed_bytes_are_an_error_or_other_calls(file):
    """A changed byte is found by pgenlib, or it is another genotype; never a crash or another kind of value."""
    whole = file.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(whole), 60):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        file.write_bytes(changed)
        try:
            X = np.asarray(read_plink(file))
        except (ValueError, MemoryError):
            continue
        assert np.isin(X[np.isfinite(X)], (0, 1, 2)).all()


def test_bad_labels(file):
    with pytest.raises(ValueError, match=r"has no column about samples 'nothing' .* choose another label"):
        read_table(file, "nothing")
    change(".psam", lambda text: text.replace("PHENO1", "T2D"))(file)
    with pytest.raises(ValueError, match=r"'PHENO1' \(it has SEX, T2D, age, arm\)"):
        read_table(file)
    with pytest.raises(ValueError, match="no chromosome '7'"):
        read_table(file, "arm", chromosomes=["7"])
    change(".psam", lambda text: text.replace("\tx\n", "\t0\n").replace("\ty\n", "\t1\n"))(file)
    with pytest.raises(ValueError, match=r"control_is_0"):
        read_table(file, "arm")
    with pytest.raises(MemoryError):
        read_table(file, "age", max_memory=3000)
