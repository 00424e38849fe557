"""Genotypes at two bits each: packed, sliced, decoded, and read from PLINK's files."""

import pickle
import re

import numpy as np
import pandas
import pytest
import scipy.sparse

import fastfs
import fastfs.cli
from covering import rotating, together
from fastfs.io import Genotypes, pack_genotypes, read_plink, read_table

RNG = np.random.default_rng(0)

# Copies of allele 1 by the two bits, from PLINK's description of the format.
PLINK = {0b00: 2.0, 0b01: np.nan, 0b10: 1.0, 0b11: 0.0}


def table(n_samples, n_snps, missing=0.1):
    X = RNG.integers(0, 3, (n_samples, n_snps)).astype(float)
    X[RNG.random(X.shape) < missing] = np.nan
    return X


def write_plink(folder, X, name="study", *, samples=None, bim=None):
    """The three files, written genotype by genotype; bits after the last sample are garbage."""
    code = {2.0: 0b00, 1.0: 0b10, 0.0: 0b11}
    n_samples, n_snps = X.shape
    content = bytearray(b"\x6c\x1b\x01")
    for snp in X.T:
        for begin in range(0, n_samples, 4):
            byte = 0b11010100 << 8
            codes = [code.get(value, 0b01) for value in snp[begin : begin + 4]]
            byte = 0b11010100
            for k, c in enumerate(codes):
                byte = byte & ~(0b11 << 2 * k) | c << 2 * k
            content.append(byte)
    (folder / f"{name}.bed").write_bytes(content)
    bim = bim or [f"{1 + j % 22} rs{j} 0 {1000 + j} A G" for j in range(n_snps)]
    samples = samples or [f"f{i} s{i} 0 0 0 {1 + i % 2}" for i in range(n_samples)]
    (folder / f"{name}.bim").write_text("\n".join(bim) + "\n")
    (folder / f"{name}.fam").write_text("\n".join(samples) + "\n")
    return folder / f"{name}.bed"


SHAPES = [(1, 1), (3, 5), (4, 4), (5, 3), (9, 257), (255, 31), (256, 2), (257, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_packed_genotypes_come_back(shape):
    X = table(*shape)
    G = pack_genotypes(X)
    assert G.shape == X.shape
    np.testing.assert_array_equal(np.asarray(G), X.astype(np.float32))
    assert np.asarray(G).dtype == np.float32
    assert np.asarray(G, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_is_read_as_plink_describes_it(tmp_path, shape):
    X = table(*shape)
    G = read_plink(write_plink(tmp_path, X))
    np.testing.assert_array_equal(np.asarray(G), X.astype(np.float32))
    bits = np.fromfile(tmp_path / "study.bed", np.uint8)[3:].reshape(shape[1], -1)
    i, j = shape[0] - 1, shape[1] - 1
    np.testing.assert_array_equal(np.asarray(G)[i, j], np.float32(PLINK[int(bits[j, i // 4]) >> 2 * (i % 4) & 3]))
    assert (G.samples[0], G.names[-1], G.alleles[0].tolist()) == ("s0", f"rs{j}", ["A", "G"])
    assert (G.chromosome[0], G.position[-1]) == ("1", 1000 + j)
    assert G.phenotype.tolist() == [1.0 + i % 2 for i in range(shape[0])]


@pytest.mark.parametrize("name", ["study.bed", "study"])
def test_the_ending_may_be_left_out(tmp_path, name):
    write_plink(tmp_path, table(5, 3))
    assert read_plink(tmp_path / name).shape == (5, 3)


def test_facts_of_packed_genotypes():
    X = table(3, 2)
    G = pack_genotypes(X, names=["a", "b"], samples=[1, 2, 3], alleles=["AC", "GT"][:0] or [["A", "C"], ["G", "T"]],
                       chromosome=[1, "X"], position=[5, 6], phenotype=[1, 2, np.nan])  # fmt: skip
    assert (G.names.tolist(), G.samples.tolist(), G.alleles.tolist()) == (
        ["a", "b"],
        ["1", "2", "3"],
        [["A", "C"], ["G", "T"]],
    )
    assert (G.chromosome.tolist(), G.position.tolist()) == (["1", "X"], [5, 6])
    assert pack_genotypes(X).names.tolist() == ["snp0", "snp1"]
    with pytest.raises(ValueError, match=r"names must have the shape \(2,\); got \(1,\)"):
        pack_genotypes(X, names=["a"])


def test_columns_of_a_table_name_the_snps():
    table = pandas.DataFrame({"rs1": [0, 1], "rs2": pandas.array([None, 2], dtype="Int64")})
    G = pack_genotypes(table)
    assert G.names.tolist() == ["rs1", "rs2"]
    np.testing.assert_array_equal(np.asarray(G), [[0, np.nan], [1, 2]])
    assert pack_genotypes(table, names=["a", "b"]).names.tolist() == ["a", "b"]


@pytest.mark.parametrize("shape", [(5, 0), (0, 5), (0, 0)])
def test_empty_tables(shape):
    G = pack_genotypes(np.empty(shape))
    assert G.shape == np.asarray(G).shape == shape


@together
@pytest.mark.parametrize(
    "given, words",
    [
        ({"names": [["a"], ["b", "c"]]}, "names must have the shape (2,); got entries of different lengths"),
        ({"position": [1, 1.5]}, "position must hold whole numbers up to 2^50; got 1.5 for SNP 1"),
        ({"position": [np.nan, 1]}, "got nan for SNP 0"),
        ({"position": [1, 2**70]}, "got 1.1805916207174113e+21 for SNP 1"),
        ({"position": ["here", 2]}, "position must hold numbers only"),
        ({"phenotype": ["case", "control", "case"]}, "phenotype must hold numbers only"),
        ({"phenotype": [1, 2, 1j]}, "phenotype must be real"),
        ({"phenotype": np.ma.masked_equal([1, 2, 1], 2)}, "phenotype must not have masked values"),
    ],
)
def test_bad_facts(given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        pack_genotypes(np.zeros((3, 2)), **given)


def test_integers_hold_no_missing_genotypes():
    G = pack_genotypes([[0, np.nan], [2, 1]])
    assert np.asarray(G[:, :1], dtype=np.int8).tolist() == [[0], [2]]
    with pytest.raises(ValueError, match="missing genotypes are NaN, which int8 can't hold: choose a float dtype"):
        np.asarray(G, dtype=np.int8)


SLICES = [
    (slice(None), slice(None)),
    (slice(1, None, 2), slice(None, None, -1)),
    ([3, 0, 3], [2]),
    (np.arange(7) % 2 == 0, np.array([True, False, True, True, False])),
    (np.array([], dtype=int), slice(None)),
    ([], [0]),
    (Ellipsis, [-1]),
]


def test_fewer_and_more_keys_than_two():
    X = table(7, 5)
    G = pack_genotypes(X)
    for key in ((), ([1, 2],)):
        np.testing.assert_array_equal(np.asarray(G[key]), X[key].astype(np.float32))
    with pytest.raises(IndexError, match="at most two keys, for samples and SNPs; got 3"):
        G[0, 1, 2]


@pytest.mark.parametrize("rows, columns", SLICES)
def test_slices(tmp_path, rows, columns):
    X = table(7, 5)
    G = read_plink(write_plink(tmp_path, X))
    part = G[rows, columns]
    at_rows = np.arange(7)[
        rows if isinstance(rows, slice) or rows is Ellipsis else np.array(rows, dtype=getattr(rows, "dtype", int))
    ]
    at_columns = np.arange(5)[columns]
    np.testing.assert_array_equal(np.asarray(part), X[np.ix_(at_rows, at_columns)].astype(np.float32))
    assert part.names.tolist() == G.names[at_columns].tolist()
    assert part.samples.tolist() == G.samples[at_rows].tolist()
    np.testing.assert_array_equal(np.asarray(part[::-1]), np.asarray(part)[::-1])
    assert part.bits is G.bits


@pytest.mark.parametrize("key", [7, ([9],), [0.5], np.eye(2, dtype=int), (slice(None), [True])])
def test_bad_slices(key):
    with pytest.raises(IndexError, match="must be chosen"):
        pack_genotypes(table(7, 5))[key]


def test_pickles_hold_no_genotypes(tmp_path):
    X = table(40, 3000)
    path = write_plink(tmp_path, X)
    G = read_plink(path)[5:, ::2]
    text = pickle.dumps(G)
    assert str(path).encode() in text
    np.testing.assert_array_equal(np.asarray(pickle.loads(text)), np.asarray(G))
    assert len(pickle.dumps(read_plink(path)[:, :1])) < 5000
    packed = pickle.loads(pickle.dumps(pack_genotypes(X)))
    np.testing.assert_array_equal(np.asarray(packed), X.astype(np.float32))


def test_a_file_that_changes_is_refused(tmp_path):
    path = write_plink(tmp_path, table(9, 4, missing=0))
    G = read_plink(path)
    text, model = pickle.dumps(G), fastfs.ReliefF(2, n_neighbors=1).fit(G, np.arange(9) % 2)
    uses = {
        "decode": lambda: np.asarray(G),
        "unpickle": lambda: pickle.loads(text),
        "fit": lambda: model.fit(G, np.arange(9) % 2),
        "a part": lambda: np.asarray(G[:3]),
        "a part of a part": lambda: fastfs.snp_pairs(G[:, :3][::-1], np.arange(9) % 2),
        "transform": lambda: model.transform(G),
    }
    content = path.read_bytes()
    for changed in (content[:-1], content[:3] + content[3:][::-1]):
        path.write_bytes(changed)
        for use in uses.values():
            with pytest.raises(ValueError, match=r"study\.bed' has changed since it was opened: read it again"):
                use()


@pytest.mark.parametrize("value", [3, 0.5, np.inf])
def test_other_numbers_than_genotypes_are_named(value):
    X = table(9, 4, missing=0)
    X[7, 2] = value
    with pytest.raises(ValueError, match=f"got {value}.* for sample 7 and SNP 2") as raised:
        pack_genotypes(X)
    assert ("dosages" in str(raised.value)) == (value == 0.5)


def test_other_tables_than_genotypes_are_refused():
    with pytest.raises(ValueError, match="2-D array of samples x features; got 1-D"):
        pack_genotypes([0, 1])
    with pytest.raises(ValueError, match="got rows of different lengths"):
        pack_genotypes([[0, 1], [2]])
    with pytest.raises(ValueError, match=r"column 0 \(0-based\) holds strings, such as 'A'"):
        pack_genotypes([["A", "C"]])
    with pytest.raises(ValueError, match="numbers of copies of allele 1; got datetime64"):
        pack_genotypes(np.zeros((2, 2), "M8[s]"))
    with pytest.raises(TypeError, match="genotypes must be dense; got a sparse table"):
        pack_genotypes(scipy.sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match=r"masked values: give X\.filled\(-1\)"):
        pack_genotypes(np.ma.masked_equal([[0, 1, 2]], 1))
    assert np.asarray(pack_genotypes(np.array([[-1, 2]], dtype=np.int8))).tolist() == [
        [pytest.approx(np.nan, nan_ok=True), 2]
    ]


def test_phenotypes(tmp_path):
    def phenotypes(*values):
        samples = [f"f s{i} 0 0 0 {value}" for i, value in enumerate(values)]
        return read_plink(write_plink(tmp_path, table(len(values), 2), samples=samples)).phenotype.tolist()

    nan = pytest.approx(np.nan, nan_ok=True)
    assert phenotypes("1", "2", "0", "-9", "-9.0", "NA") == [1, 2, nan, nan, nan, nan]
    assert phenotypes("0", "1.5", "-9") == [0, 1.5, nan]


def test_samples_that_share_a_name_are_told_apart_by_family(tmp_path):
    path = write_plink(tmp_path, table(2, 2), samples=["a s 0 0 0 1", "b s 0 0 0 2"])
    assert read_plink(path).samples.tolist() == ["a:s", "b:s"]


def damaged(folder, how):
    path = write_plink(folder, table(9, 4))
    content = path.read_bytes()
    if how == "short":
        path.write_bytes(content[:-1])
    elif how == "long":
        path.write_bytes(content + b"\0")
    elif how == "magic":
        path.write_bytes(b"\x6c\x1c" + content[2:])
    elif how == "text":
        path.write_text("rs1 rs2\n")
    elif how == "sample by sample":
        path.write_bytes(b"\x6c\x1b\x00" + content[3:])
    elif how == "no bim":
        path.with_suffix(".bim").unlink()
    elif how == "empty fam":
        path.with_suffix(".fam").write_text("")
    elif how == "ragged bim":
        path.with_suffix(".bim").write_text("1 rs0 0 1 A G\n1 rs1 0 2 A\n")
    elif how == "position":
        path.with_suffix(".bim").write_text("1 rs0 0 here A G\n")
    elif how in ("half", "nan", "1e30"):
        position = {"half": "2.5"}.get(how, how)
        path.with_suffix(".bim").write_text(f"1 rs0 0 1 A G\n1 rs1 0 {position} A G\n")
    elif how == "other bim":
        path.with_suffix(".bim").write_text("1 rs0 0 1 A G\n")
    return path


DAMAGE = {
    "short": "must have 15 bytes for the 4 SNPs of 'study.bim' and the 9 samples of 'study.fam'; got 14",
    "long": "must have 15 bytes .*; got 16",
    "magic": "isn't a .bed file of PLINK: it must begin with the bytes 6c 1b 01; got 6c 1c 01",
    "text": "isn't a .bed file of PLINK",
    "sample by sample": "sample by sample: convert it with plink --make-bed",
    "no bim": r"There is no file '.*study.bim'",
    "empty fam": r"study.fam' is empty",
    "ragged bim": r"line 2 of '.*study.bim' must have 6 columns \(chromosome, .*\); got 5",
    "position": "line 1 of '.*study.bim' must have a whole number as position; got 'here'",
    "half": "line 2 of '.*study.bim' must have a whole number as position; got '2.5'",
    "nan": "whole number as position; got 'nan'",
    "1e30": "whole number as position; got '1e30'",
    "other bim": "must have 6 bytes for the 1 SNPs",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_files(tmp_path, how):
    with pytest.raises((ValueError, FileNotFoundError), match=DAMAGE[how]):
        read_plink(damaged(tmp_path, how))


METHODS = {
    "MultiSURF": fastfs.MultiSURF(scaling=None),
    "ReliefF": fastfs.ReliefF(scaling="range"),
    "Relief": fastfs.Relief(scaling=None),
    "IM4E": fastfs.IM4E(),
    "ManiFeSt": fastfs.ManiFeSt(),
    "ProjSe": fastfs.ProjSe(),
    "DiSC": fastfs.DiSC(n_components=3, n_neighbors=8, bandwidth_neighbors=5, n_differential=2),
    "IKDR": fastfs.IKDR(),
}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_genotypes(name):
    X, y = table(40, 12, missing=0), np.arange(40) % 2
    G, model = pack_genotypes(X), METHODS[name]
    found = model.fit(G, y)
    scores = found.scores_.copy()
    if name == "MultiSURF":  # computes on the bits, without the rounding of float32
        np.testing.assert_allclose(scores, model.fit(X, y).scores_, rtol=0, atol=1e-12)
    else:
        np.testing.assert_array_equal(scores, model.fit(X.astype(np.float32), y).scores_)
    np.testing.assert_array_equal(model.fit(G, y).transform(G), X.astype(np.float32)[:, model.get_support()])


def test_missing_genotypes_are_missing_values():
    X, y = table(40, 12), np.arange(40) % 2
    with pytest.raises(ValueError, match="NaN"):
        fastfs.MultiSURF(scaling="range").fit(pack_genotypes(X), y)
    for missing in ("ignore", "class"):
        model = fastfs.MultiSURF(missing=missing, scaling=None)
        np.testing.assert_allclose(
            model.fit(pack_genotypes(X), y).scores_, model.fit(X.astype(np.float32), y).scores_, rtol=0, atol=1e-6
        )


def test_folds_of_genotypes():
    """Subsamples and permutations slice the table."""
    X, y = table(40, 12, missing=0), np.arange(40) % 2
    model = fastfs.ReliefF(3, scaling=None)
    found = fastfs.stability(model, pack_genotypes(X), y, n_subsamples=4)
    expected = fastfs.stability(model, X.astype(np.float32), y, n_subsamples=4)
    np.testing.assert_array_equal(found.frequencies, expected.frequencies)


def test_another_reader_agrees(tmp_path):
    bed_reader = pytest.importorskip("bed_reader")
    X = table(13, 37)
    path = write_plink(tmp_path, X)
    with bed_reader.open_bed(path) as bed:
        np.testing.assert_array_equal(np.asarray(read_plink(path)), bed.read(dtype="float32"))
    bed_reader.to_bed(tmp_path / "theirs.bed", X)
    np.testing.assert_array_equal(np.asarray(read_plink(tmp_path / "theirs.bed")), X.astype(np.float32))


def test_repr():
    assert repr(pack_genotypes(table(3, 2))) == "Genotypes of 3 samples x 2 SNPs"
    assert isinstance(pack_genotypes(table(3, 2))[:1], Genotypes)


def test_a_table_is_no_empty_iterable():
    with pytest.raises(TypeError, match="not iterable"):
        list(pack_genotypes(table(3, 2)))


# ----------------------------------------------------------------------------------------------------- as a table


def test_a_file_as_a_table(tmp_path):
    X = table(9, 4)
    samples = [f"f s{i} 0 0 0 {phenotype}" for i, phenotype in enumerate([1, 2, -9, 1, 0, 2, 1, 2, 1])]
    path = write_plink(tmp_path, X, samples=samples)
    with pytest.warns(
        fastfs.DataWarning, match="2 of 9 samples of .* no value of 'phenotype' and are left out: -9, .*, 0"
    ):
        read = read_table(path, ignore=["rs1"])
    known = [0, 1, 3, 5, 6, 7, 8]
    assert (read.y.tolist(), read.feature_names) == ([1, 2, 1, 2, 1, 2, 1], ["rs0", "rs2", "rs3"])
    np.testing.assert_array_equal(read.X, X[np.ix_(known, [0, 2, 3])].astype(np.float32))
    labels = tmp_path / "labels.csv"
    labels.write_text("sample,donor,state\n" + "".join(f"s{i},d{i},{'ab'[i % 2]}\n" for i in reversed(range(9))))
    read = read_table(path, "state", labels=labels, annotations=["donor"])
    assert ("".join(read.y), read.annotations["donor"].tolist()) == ("ababababa", [f"d{i}" for i in range(9)])
    with pytest.raises(ValueError, match="no column about samples 'sex'"):
        read_table(path, "sex")
    write_plink(tmp_path, X, samples=[f"f s{i} 0 0 0 -9" for i in range(9)])
    with pytest.raises(ValueError, match=r"no sample of '.*' has a phenotype: give a table of them with labels"):
        read_table(path)
    with pytest.raises(ValueError, match="leave out transpose=True"):
        read_table(path, transpose=True)


def test_snps_that_share_a_name_are_told_apart_by_their_place(tmp_path):
    bim = ["1 . 0 10 A G", "1 . 0 20 C T", "2 rs7 0 10 A G"]
    path = write_plink(tmp_path, table(4, 3), bim=bim)
    assert read_table(path).feature_names == ["1:10:A:G", "1:20:C:T", "rs7"]
    assert read_plink(path).names.tolist() == [".", ".", "rs7"]
    path = write_plink(tmp_path, table(4, 3), bim=[bim[0], bim[0], bim[2]])
    with pytest.raises(ValueError, match=r"such as '1:10:A:G' .2 features.: .* duplicates='suffix'"):
        read_table(path)
    assert read_table(path, duplicates="suffix").feature_names == ["1:10:A:G", "1:10:A:G-1", "rs7"]
    path = write_plink(tmp_path, table(4, 3), bim=["1 a 0 1 A G", "1 a-1 0 1 A G", "1 a 0 1 A G"])
    assert len(set(read_table(path, duplicates="suffix").feature_names)) == 3


def test_words_and_zeros_in_the_last_column_of_fam(tmp_path):
    X = table(6, 3)

    def write(phenotypes):
        return write_plink(tmp_path, X, samples=[f"f s{i} 0 0 0 {value}" for i, value in enumerate(phenotypes)])

    path = write(["case", "control", "NA", "case", "control", "-9"])
    with pytest.warns(fastfs.DataWarning, match="2 of 6 samples"):
        read = read_table(path)
    assert (read.y.tolist(), read.X.shape) == (["case", "control", "case", "control"], (4, 3))
    labels = tmp_path / "labels.txt"
    labels.write_text("#FID IID status\n" + "".join(f"f s{i} {'uv'[i % 2]}\n" for i in reversed(range(6))))
    read = read_table(path, labels=labels)
    assert (read.y.tolist(), read.matching) == ([*"uvuvuv"], "6 of 6 samples matched by FID and IID")
    path = write(["0", "1", "-9", "0", "1", "1"])
    with pytest.raises(ValueError, match=r"PLINK takes 0 for unknown: if 0 is a control .* add control_is_0=True"):
        read_table(path)
    with pytest.warns(fastfs.DataWarning, match="1 of 6 samples"):
        assert read_table(path, control_is_0=True).y.tolist() == [0, 1, 0, 1, 1]


def test_zeros_are_values_of_events_and_batches_but_not_of_phenotypes(tmp_path):
    path, labels = write_plink(tmp_path, table(6, 3)), tmp_path / "labels.txt"
    rows = ["2.5 0 0 0", "3 1 1 1", "1 1 2 2", "4 0 0 0", "2 1 1 1", "6 0 2 2"]
    samples = [" ".join(line.split()[:2]) for line in path.with_suffix(".fam").read_text().splitlines()]
    lines = [f"{sample} {row}\n" for sample, row in zip(samples, rows, strict=True)]
    labels.write_text("FID IID months died batch ill\n" + "".join(lines))
    read = read_table(path, "months", labels=labels, annotations=["died", "batch"])
    assert [int(value) for value in read.annotations["died"]] == [0, 1, 1, 0, 1, 0]
    assert [int(value) for value in read.annotations["batch"]] == [0, 1, 2, 0, 1, 2]
    with pytest.warns(fastfs.DataWarning, match="2 of 6 samples"):
        assert len(read_table(path, "ill", labels=labels, annotations=["died"]).y) == 4


def test_chromosomes(tmp_path):
    bim = ["1 a 0 1 A G", "chr2 b 0 1 A G", "23 c 0 1 A G", "X d 0 2 A G"]
    path = write_plink(tmp_path, table(4, 4), bim=bim)
    assert read_table(path, chromosomes=["x"]).feature_names == ["c", "d"]
    assert read_table(path, not_chromosomes=["X", "1"]).feature_names == ["b"]
    with pytest.raises(ValueError, match="no chromosome 'Y'"):
        read_table(path, not_chromosomes=["Y"])
    with pytest.raises(ValueError, match=r"no SNP .* is left"):
        read_table(path, chromosomes=["1"], not_chromosomes=["1"])


def test_the_command_line_ranks_snps(tmp_path, capsys):
    X = table(40, 6, missing=0)
    samples = [f"f s{i} 0 0 0 {1 + (value > 1)}" for i, value in enumerate(X[:, 3])]
    path = write_plink(tmp_path, X, samples=samples)
    assert fastfs.cli.run(["score", str(path), "--method", "multisurf", "--top", "1"]) == 0
    found = capsys.readouterr()
    assert "rs3" in found.out
    assert "MultiSURF scored 6 features of 40 samples (1:" in found.err


# ----------------------------------------------------------------------------------------------------- every method


def classes_of(n_samples):
    return np.arange(n_samples) % 2


def disc(**given):
    return fastfs.DiSC(n_components=3, bandwidth_neighbors=5, **given)


def laplacian(a, b):
    return np.exp(-np.abs(a[:, None] - b).sum(axis=2))


EVERY = {
    "Relief": lambda X, y: fastfs.Relief(scaling="range").fit(X, y).scores_,
    "Relief targets": lambda X, y: fastfs.Relief(n_targets=9, scaling=None).fit(X, y).scores_,
    "ReliefF": lambda X, y: fastfs.ReliefF(scaling="range").fit(X, y).scores_,
    "ReliefF targets": lambda X, y: fastfs.ReliefF(n_targets=9, scaling=None).fit(X, y).scores_,
    "ReliefF categories": lambda X, y: (
        fastfs.ReliefF(categorical_features=range(0, 30, 3), scaling=None).fit(X, y).scores_
    ),
    "ReliefF standard": lambda X, y: fastfs.ReliefF(scaling="standard").fit(X, y).scores_,
    "SURF ramp": lambda X, y: fastfs.SURF(ramp="sd", scaling="range").fit(X, y).scores_,
    "SWRF": lambda X, y: fastfs.SWRF(scaling=None).fit(X, y).scores_,
    "RReliefF": lambda X, y: fastfs.RReliefF(scaling="range").fit(X, y + np.arange(len(y)) / 7).scores_,
    "IterativeRelief": lambda X, y: fastfs.IterativeRelief(fastfs.MultiSURF(scaling=None)).fit(X, y).scores_,
    "TuRF of DiSC": lambda X, y: fastfs.TuRF(fastfs.ManiFeSt()).fit(X, y).scores_,
    "VLS": lambda X, y: fastfs.VLS(fastfs.IM4E(), n_subsets=9, subset_size=12).fit(X, y).scores_,
    "IM4E": lambda X, y: fastfs.IM4E().fit(X, y).scores_,
    "IM4E predict": lambda X, y: fastfs.IM4E(scaling="standard").fit(X, y).expected_distance(X),
    "Immigrate": lambda X, y: fastfs.Immigrate(max_iter=3).fit(X, y).scores_,
    "Immigrate predict": lambda X, y: fastfs.Immigrate(max_iter=3).fit(X, y).expected_distance(X),
    "ManiFeSt exact": lambda X, y: fastfs.ManiFeSt(accuracy="exact").fit(X, y).scores_,
    "ManiFeSt low_rank": lambda X, y: fastfs.ManiFeSt(accuracy="low_rank", rank=5).fit(X, y).scores_,
    "ManiFeSt low_rank_high": lambda X, y: fastfs.ManiFeSt(accuracy="low_rank_high", rank=5).fit(X, y).scores_,
    "ManiFeSt combined": lambda X, y: fastfs.ManiFeSt(combine="f").fit(X, y).scores_,
    "ProjSe": lambda X, y: fastfs.ProjSe().fit(X, y).scores_,
    "ProjSe numbers": lambda X, y: fastfs.ProjSe().fit(X, np.c_[y, np.arange(len(y)) % 5]).scores_,
    "ProjSe rbf": lambda X, y: fastfs.ProjSe(kernel="rbf").fit(X, y).scores_,
    "ProjSe no target": lambda X, y: fastfs.ProjSe().fit(X).scores_,
    "ProjSe chunks": lambda X, y: (
        fastfs.ProjSe().partial_fit(X[:20], y[:20], classes=[0, 1]).partial_fit(X[20:], y[20:]).scores_
    ),
    "two views": lambda X, y: fastfs.projse_two_view(X, X[:, ::2])[1].scores,
    "DiSC": lambda X, y: disc().fit(X, y).scores_,
    "DiSC standard": lambda X, y: disc(scaling="standard").fit(X, y).scores_,
    "DiSC neighbors": lambda X, y: disc(n_neighbors=8, graph="knn").fit(X, y).scores_,
    "DiSC meta": lambda X, y: disc().fit(X, y).meta_features(X),
    "IKDR": lambda X, y: fastfs.IKDR().fit(X, y).scores_,
    "IKDR width": lambda X, y: fastfs.IKDR(width="mean", scaling=None).fit(X, y).scores_,
    "IKDR groups": lambda X, y: fastfs.IKDR(groups=np.arange(X.shape[1]) % 4).fit(X, y).scores_,
    "IKDR embed": lambda X, y: fastfs.IKDR().fit(X, y).embed(X),
    "IKDR function": lambda X, y: fastfs.IKDR(kernel=laplacian).fit(X, y).scores_,
    "correlation": lambda X, y: fastfs.differential_correlation(X, y, n_pairs=5, n_permutations=20).statistics,
    "ranks": lambda X, y: (
        fastfs.differential_correlation(X, y, n_pairs=5, n_permutations=0, correlation="spearman").statistics
    ),
    "affinity": lambda X, y: fastfs.affinity(X, sigma=5.0),
    "affinity product": lambda X, y: fastfs.affinity_product(X, np.ones(X.shape[1]), sigma=5.0),
    "neighbors": lambda X, y: fastfs.nearest_features(X, 4)[1],
    "permutations": lambda X, y: fastfs.permutation_test(fastfs.ProjSe(), X, y, n_permutations=9).pvalues,
}  # fmt: skip

# Selections of 61 samples and 40 SNPs.
SELECTIONS = {
    "all": (slice(None), slice(None)),
    "shuffled": (np.random.default_rng(1).permutation(61)[:50], np.random.default_rng(2).permutation(40)[:30]),
    "ranges": (slice(3, 58), slice(5, 37)),
}


@rotating(1, name=EVERY.keys(), selection=SELECTIONS.keys())
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_method_reads_genotypes(name, selection):
    G = pack_genotypes(table(61, 40, missing=0))[SELECTIONS[selection]]
    X = np.asarray(G)
    np.testing.assert_allclose(
        EVERY[name](G, classes_of(len(G))), EVERY[name](X, classes_of(len(X))), rtol=0, atol=1e-12
    )


# Those that hand the table to Python's functions; of the samples to predict, blocks are.
DECODED = ("ManiFeSt combined", "DiSC meta", "IKDR function", "IM4E predict", "Immigrate predict")


@pytest.mark.parametrize("name", sorted(EVERY.keys() - set(DECODED)))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_method_decodes_the_table(name, monkeypatch):
    decode = Genotypes.__array__

    def refuse(self, *arguments, **given):
        assert self.size * 2 < G.size, "decoded"
        return decode(self, *arguments, **given)

    G = pack_genotypes(table(61, 40, missing=0))
    monkeypatch.setattr(Genotypes, "__array__", refuse)
    assert np.isfinite(EVERY[name](G, classes_of(61))).all()


PEAKS = """
import resource
import numpy as np
import fastfs
from fastfs._estimators import do_without_sklearn
do_without_sklearn()  # importing it would take half of the time
from fastfs.io import pack_genotypes

n, p = 200, 125_000
G = pack_genotypes(np.random.default_rng(0).integers(0, 3, (n, p), dtype=np.int8))
y = np.arange(n) % 2
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for fit in (
    lambda: fastfs.ReliefF(n_targets=150).fit(G, y),
    lambda: fastfs.Relief(scaling="range").fit(G, y),
    lambda: fastfs.IM4E(max_iter=1).fit(G, y),
    lambda: fastfs.ProjSe().fit(G, y),
    lambda: fastfs.projse_scores(G, np.c_[y, y[::-1]]),
    lambda: fastfs.projse_scores(G, y[:, None]),
):
    fit()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_peak_memory_is_far_below_a_decoded_copy(python):
    finished = python(PEAKS)
    finished.check_returncode()
    peaks = [int(line) for line in finished.stdout.split()]  # kB; as float32 the table has 97,656
    assert len(peaks) == 6
    assert max(peaks) < 78_000, peaks


MISSING = {
    "Relief": lambda X, y: fastfs.Relief(scaling="range").fit(X, y),
    "ReliefF": lambda X, y: fastfs.ReliefF(scaling="range").fit(X, y),
    "IM4E": lambda X, y: fastfs.IM4E().fit(X, y),
    "Immigrate": lambda X, y: fastfs.Immigrate().fit(X, y),
    "ManiFeSt": lambda X, y: fastfs.ManiFeSt().fit(X, y),
    "ProjSe": lambda X, y: fastfs.ProjSe().fit(X, y),
    "ProjSe no target": lambda X, y: fastfs.ProjSe().fit(X),
    "DiSC": lambda X, y: disc(scaling="standard").fit(X, y),
    "IKDR": lambda X, y: fastfs.IKDR().fit(X, y),
    "correlation": lambda X, y: fastfs.differential_correlation(X, y),
    "affinity": lambda X, y: fastfs.affinity(X, sigma=5.0),
    "predict": lambda X, y: fastfs.IM4E().fit(X[:20], y[:20]).predict(X),
}


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_missing_calls_are_named_as_in_numbers(name):
    X = table(40, 12, missing=0)
    X[31, 7] = X[33, 2] = np.nan
    said = []
    for data in (pack_genotypes(X)[:, ::-1], X[:, ::-1].astype(np.float32)):
        with pytest.raises(ValueError, match=r"row 31.*, column 4") as raised:
            MISSING[name](data, classes_of(40))
        said.append(str(raised.value))
    assert said[0].replace(" ('sample31')", "") == said[1]


@pytest.mark.filterwarnings("ignore::UserWarning")
@rotating(1, ramp=[None, "sd"], missing=["ignore", "class"])
def test_missing_calls_by_the_rules_of_the_family(missing, ramp):
    if (missing, ramp) == ("class", "sd"):
        pytest.skip("expected differences have no ramp")
    X, y = table(40, 30), classes_of(40)
    decoded = X if (missing, ramp) == ("ignore", None) else X.astype(np.float32)  # bits aren't rounded
    found, expected = (
        fastfs.multisurf_scores(data, y, missing=missing, ramp=ramp, scaling=None)
        for data in (pack_genotypes(X), decoded)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------------ scikit-learn


def test_snps_name_the_features():
    X, y = table(40, 6, missing=0), classes_of(40)
    G = pack_genotypes(X, names=[f"rs{j}" for j in range(6)])
    for model in (fastfs.ReliefF(2), fastfs.ProjSe(1), fastfs.TuRF(fastfs.MultiSURF(), n_features_to_select=2)):
        model.fit(G, y)
        assert model.n_features_in_ == 6
        assert model.feature_names_in_.tolist() == G.names.tolist()
        assert model.get_feature_names_out().tolist() == G.names[model.get_support()].tolist()
        np.testing.assert_array_equal(model.transform(G), X[:, model.get_support()])
        assert model.transform(G).dtype == np.float32
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            model.transform(G[:, ::-1])
    shared = pack_genotypes(X, names=["."] * 6)
    model = fastfs.ReliefF(2).fit(shared, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(shared).shape == (40, 2)
    with pytest.raises(ValueError, match="X has 5 features, but ReliefF is expecting 6 features"):
        model.transform(shared[:, :5])


def test_names_choose_columns_and_must_agree_between_sets():
    X, y = table(40, 30, missing=0), classes_of(40)
    G = pack_genotypes(X, names=[f"rs{j}" for j in range(30)])
    by_name = fastfs.ReliefF(categorical_features=["rs3", "rs7"], scaling=None).fit(G, y).scores_
    by_number = fastfs.ReliefF(categorical_features=[3, 7], scaling=None).fit(X.astype(np.float32), y).scores_
    np.testing.assert_allclose(by_name, by_number, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="in the same order; got rs29 in set 1"):
        fastfs.disc([G, G[:, ::-1]], n_components=3, bandwidth_neighbors=5)


def test_a_model_keeps_genotypes_of_its_own(tmp_path):
    X, y = table(40, 30, missing=0), classes_of(40)
    path = write_plink(tmp_path, X)
    model = fastfs.IM4E().fit(read_plink(path), y)
    expected = fastfs.IM4E().fit(X.astype(np.float32), y)
    path.unlink()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.expected_distance(pack_genotypes(X, names=[f"rs{j}" for j in range(30)])),
        expected.expected_distance(X.astype(np.float32)),
    )
    parts = [
        one.explain(data, top=3)[5].features.tolist()
        for one, data in ((again, pack_genotypes(X, names=model.feature_names_in_)), (expected, X.astype(np.float32)))
    ]
    assert parts[0] == parts[1]


def test_few_values_of_genotypes():
    assert fastfs.few_valued(pack_genotypes(table(9, 4)), at_most=3).all()


def test_copies_hold_what_is_selected():
    G = pack_genotypes(table(40, 30))[::-2, [4, 9, 2]]
    copy = G.copy()
    np.testing.assert_array_equal(np.asarray(copy), np.asarray(G))
    assert (copy.bits.shape, copy.names.tolist(), copy.path) == ((3, 10), G.names.tolist(), None)


def test_a_list_of_names_for_other_programs(tmp_path, capsys):
    X = table(40, 6, missing=0)
    samples = [f"f s{i} 0 0 0 {1 + (value > 1)}" for i, value in enumerate(X[:, 3])]
    path = write_plink(tmp_path, X, samples=samples)
    best = tmp_path / "best.txt"
    ranked = ["score", str(path), "--method", "multisurf", "--top", "2", "--out"]
    assert fastfs.cli.run([*ranked, str(best)]) == 0
    names = best.read_text().splitlines()
    assert (len(names), names[0]) == (2, "rs3")
    assert fastfs.cli.run(["snp-pairs", str(path), "--snps", str(best)]) == 0
    assert "Compared 1 pairs of SNPs" in capsys.readouterr().err
    assert fastfs.cli.run(["snp-pairs", str(path), "--out", str(best)]) == 2
    assert best.read_text().splitlines() == names
