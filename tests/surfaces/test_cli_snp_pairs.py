"""``fastfs snp-pairs``, and clumps of ``fastfs score``, as the functions find them."""

import json

import numpy as np
import pandas
import pytest

import fastfs
from fastfs.io import pack_genotypes, read_plink

RNG = np.random.default_rng(0)
X = RNG.binomial(2, 0.4, (120, 8))
STATUS = np.where((X[:, 2] == 1) ^ (X[:, 5] == 1), 2, 1)

pytestmark = pytest.mark.filterwarnings("ignore:1 of 120 samples:fastfs.DataWarning")


@pytest.fixture
def study(tmp_path):
    """study.bed and its companions; the last sample has no phenotype."""
    G = pack_genotypes(X)
    (tmp_path / "study.bed").write_bytes(b"\x6c\x1b\x01" + G.bits.tobytes())
    (tmp_path / "study.bim").write_text("".join(f"1 rs{j} 0 {j} A G\n" for j in range(8)))
    phenotypes = [*STATUS[:-1], -9]
    (tmp_path / "study.fam").write_text("".join(f"f{i} s{i} 0 0 0 {status}\n" for i, status in enumerate(phenotypes)))
    (tmp_path / "pheno.tsv").write_text(
        "sample\tstatus\tsite\n" + "".join(f"s{i}\t{'ab'[status - 1]}\t{i % 3}\n" for i, status in enumerate(STATUS))
    )
    return tmp_path


def test_pairs_of_a_file(study, inside):
    G = read_plink(study / "study.bed")[:-1]
    found = fastfs.snp_pairs(G, G.phenotype, n_permutations=19, random_state=3)
    call = ["snp-pairs", "study.bed", "--permutations", "19", "--seed", "3"]
    finished = inside(*call, "--top", "2", cwd=study)
    assert finished.returncode == 0, finished.stderr
    assert "rs2" in finished.stdout
    assert "rs5" in finished.stdout
    counts = [int(np.sum(STATUS[:-1] == status)) for status in (1, 2)]
    assert finished.stderr.splitlines()[-1] == (
        f"Compared 28 pairs of SNPs of 119 samples (1: {counts[0]}, 2: {counts[1]}); p = 0.05 by 19 permutations of "
        f"{counts[0]} + {counts[1]} samples; 1 of 120 samples without a value left out."
    )
    finished = inside(*call, "--out", "p.csv", cwd=study)
    assert finished.stderr.endswith("; wrote 28 pairs to p.csv.\n")
    table = pandas.read_csv(study / "p.csv")
    assert table[["feature_a", "feature_b"]].to_numpy().tolist() == found.names.tolist()
    assert table[["index_a", "index_b"]].to_numpy().tolist() == found.pairs.tolist()
    np.testing.assert_allclose(table["statistic"], found.statistics, rtol=1e-12)
    np.testing.assert_array_equal(table["degrees"], found.degrees)
    np.testing.assert_array_equal(table["pvalue_max"], found.pvalues_max)
    finished = inside(*call, "--alpha", "0.3", "--out", "some.csv", cwd=study)
    assert finished.returncode == 0, finished.stderr
    pandas.testing.assert_frame_equal(pandas.read_csv(study / "some.csv"), table[table["pvalue_max"] <= 0.3])
    inside(*call, "--out", "p.json", cwd=study)
    about = json.loads((study / "p.json").read_text())
    assert (about["method"], about["n_tested"], about["n_permutations"]) == ("snp_pairs", 28, 19)
    assert about["pvalue"] == about["ranking"][0]["pvalue_max"] == about["resolution"] == 0.05


def test_labels_of_another_file_and_some_snps(study, inside):
    (study / "snps.txt").write_bytes(b"\xef\xbb\xbfrs5\r\nrs2\r\n \r\nrs7")  # as of an editor on Windows
    options = ["--labels", "pheno.tsv", "--label", "status", "--blocks", "site", "--permutations", "9"]
    finished = inside("snp-pairs", "study.bed", *options, "--snps", "snps.txt", "--out", "p.csv", cwd=study)
    assert finished.returncode == 0, finished.stderr
    assert "Compared 3 pairs of SNPs of 120 samples (a: " in finished.stderr
    assert "within 3 blocks" in finished.stderr
    assert pandas.read_csv(study / "p.csv")["feature_a"].tolist()[0] == "rs2"


def test_numbers_and_times(study, inside):
    """The p-values of the command line are those of Python."""
    rng = np.random.default_rng(0)
    y = X[:, 2] * X[:, 5] + rng.normal(size=120)
    times = np.zeros(120, dtype=[("event", bool), ("time", float)])
    times["event"], times["time"] = np.arange(120) % 4 > 0, np.exp(-y)
    table = pandas.DataFrame(X, columns=list("abcdefgh"))
    table.assign(height=y).to_csv(study / "numbers.csv", index=False)
    table.assign(months=times["time"], died=times["event"].astype(int)).to_csv(study / "times.csv", index=False)
    genotypic = {"coding": "genotypic"}
    for file, options, target, how in (
        ("numbers.csv", ["--targets", "height"], y, {}),
        ("numbers.csv", ["--targets", "height", "--coding", "genotypic"], y, genotypic),
        ("times.csv", ["--targets", "months", "--event", "died"], times, {}),
        ("times.csv", ["--targets", "months", "--event", "died", "--coding", "genotypic"], times, genotypic),
    ):
        finished = inside("snp-pairs", file, *options, "--permutations", "19", "--out", "p.json", cwd=study)
        assert finished.returncode == 0, finished.stderr
        written = json.loads((study / "p.json").read_text())
        expected = fastfs.snp_pairs(X, target, n_permutations=19, **how)
        assert written["method"] == "snp_pairs"
        assert (written["ranking"][0]["feature_a"], written["ranking"][0]["feature_b"]) == ("c", "f")
        assert [row["statistic"] for row in written["ranking"]] == pytest.approx(expected.statistics.tolist())
        assert [row["pvalue_max"] for row in written["ranking"]] == expected.pvalues_max.tolist()
    finished = inside("snp-pairs", "times.csv", "--label", "died", "--event", "died", cwd=study)
    assert "--event is for --targets, the time" in finished.stderr
    finished = inside("snp-pairs", "times.csv", "--label", "died", "--coding", "additive", cwd=study)
    assert "--coding is for --targets: leave it out for classes, which have genotypic coding" in finished.stderr
    finished = inside("snp-pairs", "numbers.csv", "--label", "height", cwd=study)
    assert "or take them as numbers with --targets instead of --label" in finished.stderr


def test_a_text_table_of_genotypes(study, inside):
    table = pandas.DataFrame(X, columns=list("abcdefgh"))
    table["status"] = STATUS
    table.to_csv(study / "t.csv", index=False)
    finished = inside("snp-pairs", "t.csv", "--label", "status", "--out", "p.csv", cwd=study)
    assert finished.returncode == 0, finished.stderr
    assert pandas.read_csv(study / "p.csv").loc[0, ["feature_a", "feature_b"]].tolist() == ["c", "f"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--snps", "none.txt"], "Cannot use 'none.txt'"),
        (["--snps", "study.bed"], "'study.bed' must be UTF-8 text"),
        (["--snps", "study.bim"], "--snps holds '1 rs0 0 0 A G', which isn't a column name"),
        (["--weights", "w"], "No such option"),
        (["--alpha", "0.05"], "--alpha"),
        (["--alpha", "2", "--permutations", "9"], "--alpha must lie between 0 and 1; got 2.0"),
        (["--out", "p.txt"], "p.txt"),
    ],
)
def test_refused(study, inside, arguments, words):
    finished = inside("snp-pairs", "study.bed", *arguments, cwd=study)
    assert finished.returncode == 2
    assert words in finished.stderr


@pytest.fixture
def copies(study):
    """study.bed with each SNP twice, 1000 base pairs apart, and pairs of them 100,000."""
    G = pack_genotypes(X.repeat(2, axis=1))
    (study / "study.bed").write_bytes(b"\x6c\x1b\x01" + G.bits.tobytes())
    positions = [100_000 * (j // 2) + 1000 * (j % 2) for j in range(16)]
    (study / "study.bim").write_text("".join(f"1 rs{j} 0 {at} A G\n" for j, at in enumerate(positions)))
    return study


def test_a_ranking_of_clumps(copies, inside):
    call = ["score", "study.bed", "--method", "multisurf"]
    finished = inside(*call, "--clump-r2", "0.5", "--out", "r.csv", cwd=copies)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.endswith("; wrote 8 features to r.csv.\n")
    inside(*call, "--out", "all.csv", cwd=copies)
    found, ranked = pandas.read_csv(copies / "r.csv"), pandas.read_csv(copies / "all.csv")
    G = read_plink(copies / "study.bed")
    expected = fastfs.ld_clumps(G, -ranked.sort_values("index")["rank"].to_numpy())
    assert found["index"].tolist() == expected.leads.tolist()
    assert found["clump_size"].tolist() == [2] * 8
    leads = ranked[ranked["index"].isin(found["index"])]
    assert found["rank"].tolist() == leads["rank"].tolist()
    assert found["score"].tolist() == leads["score"].tolist()
    assert "clump_size" not in ranked
    inside(*call, "--clump-r2", "0.5", "--top", "3", "--out", "best.txt", cwd=copies)
    assert (copies / "best.txt").read_text().split() == found["feature"].tolist()[:3]
    shown = inside(*call, "--clump-r2", "0.5", "--clump-kb", "0.5", cwd=copies)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("rs") == 16  # none is near another one


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--clump-kb", "9"], "--clump-kb is for clumps: add --clump-r2, such as 0.5"),
        (["--clump-r2", "1.5"], "r2 must be"),
    ],
)
def test_clumps_refused(copies, inside, arguments, words):
    finished = inside("score", "study.bed", "--method", "multisurf", *arguments, cwd=copies)
    assert finished.returncode == 2
    assert words in finished.stderr


def test_clumps_are_of_genotypes(study, inside):
    (study / "t.csv").write_text("a,b,label\n0,1,x\n1,2,y\n2,0,x\n0,0,y\n")
    finished = inside("score", "t.csv", "--label", "label", "--method", "multisurf", "--clump-r2", "0.5", cwd=study)
    assert finished.returncode == 2
    assert "--clump-r2 is for genotypes: FILE must end in .bed or .pgen; got '.csv'" in finished.stderr
