"""Every way in which names of samples meet a file of labels: the right ranking, or an error whose advice works."""

import json
import random
import re
import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from scipy.io import mmwrite
from scipy.sparse import csr_matrix

from covering import rotating
from fastfs.io import Parameter, TableError, pack_genotypes, read_table

DATA = Path(__file__).parent / "data"
N = 24
FEATURES = [f"g{j}" for j in range(6)]
PLANTED = 3
LABELS = np.array(["case", "control"])[np.random.default_rng(5).permutation(np.arange(N) % 2)]
X = np.random.default_rng(6).normal(size=(N, 6)).round(3)
X[:, PLANTED] += 5 * (LABELS == "case")


def write_csv(folder, names):
    pandas.DataFrame(X, names, FEATURES).to_csv(folder / "x.csv")
    return folder / "x.csv", {}


def write_transposed(folder, names):
    pandas.DataFrame(X.T, FEATURES, names).to_csv(folder / "x.csv")
    return folder / "x.csv", {"transpose": True}


def write_parquet(folder, names):
    pytest.importorskip("pyarrow")
    pandas.DataFrame(X, names, FEATURES).to_parquet(folder / "x.parquet")
    return folder / "x.parquet", {}


def write_mtx(folder, names):
    mmwrite(folder / "matrix.mtx", csr_matrix(X.T))
    (folder / "features.tsv").write_text("".join(f"{name}\n" for name in FEATURES))
    (folder / "barcodes.tsv").write_text("".join(f"{name}\n" for name in names))
    return folder / "matrix.mtx", {"transpose": True}


def write_gct(folder, names):
    rows = ["#1.2", f"{len(FEATURES)}\t{N}", "\t".join(["Name", "Description", *names])]
    rows += ["\t".join([name, "gene", *map(str, values)]) for name, values in zip(FEATURES, X.T.tolist(), strict=True)]
    (folder / "x.gct").write_text("\n".join(rows) + "\n")
    return folder / "x.gct", {}


def write_geo(folder, names):
    rows = ['!Series_title\t"toy"', "\t".join(["!Sample_platform_id", *['"GPL570"'] * N]), "!series_matrix_table_begin"]
    rows.append("\t".join(f'"{name}"' for name in ["ID_REF", *names]))
    rows += ["\t".join([name, *map(str, values)]) for name, values in zip(FEATURES, X.T.tolist(), strict=True)]
    (folder / "x_series_matrix.txt").write_text("\n".join([*rows, "!series_matrix_table_end"]) + "\n")
    return folder / "x_series_matrix.txt", {}


def write_h5ad(folder, names):
    anndata = pytest.importorskip("anndata")
    obs, var = pandas.DataFrame(index=pandas.Index(names, dtype=object)), pandas.DataFrame(index=FEATURES)
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(folder / "x.h5ad")
    return folder / "x.h5ad", {}


def write_npz(folder, names):
    np.savez(folder / "x.npz", X=X, feature_names=FEATURES, sample_names=names)
    return folder / "x.npz", {}


def write_bed(folder, names, families=None):
    G = np.random.default_rng(7).binomial(2, 0.5, X.shape)
    G[:, PLANTED] = np.where(LABELS == "case", 2, 0)
    (folder / "x.bed").write_bytes(b"\x6c\x1b\x01" + pack_genotypes(G).bits.tobytes())
    (folder / "x.bim").write_text("".join(f"1 {name} 0 {j} A G\n" for j, name in enumerate(FEATURES)))
    families = families or [f"f{i}" for i in range(N)]
    (folder / "x.fam").write_text("".join(f"{f} {i} 0 0 0 word\n" for f, i in zip(families, names, strict=True)))
    return folder / "x.bed", {}


FORMATS = {
    "csv": write_csv,
    "transposed csv": write_transposed,
    "parquet": write_parquet,
    "mtx": write_mtx,
    "gct": write_gct,
    "geo": write_geo,
    "h5ad": write_h5ad,
    "npz": write_npz,
    "bed": write_bed,
}

PLAIN = [f"s{i:02d}" for i in range(1, N + 1)]

# Names of the data, those of the labels file, and the parameter that the error must name, if there is one.
CASES = {
    "exact": (PLAIN, PLAIN, None),
    "numbers": ([str(i) for i in range(1, N + 1)], [str(i) for i in range(1, N + 1)], None),
    "other case": (PLAIN, [name.upper() for name in PLAIN], "match"),
    "padded": (PLAIN, [f"s{i}" for i in range(1, N + 1)], "match"),
    "padded numbers": ([str(i) for i in range(1, N + 1)], [f"{i:03d}" for i in range(1, N + 1)], "match"),
    "spaces": (PLAIN, [f"s {name[1:]}" for name in PLAIN], "match"),
    "R's changes": ([f"X{i:03d}.A" for i in range(N)], [f"{i:03d}-A" for i in range(N)], "match"),
    "suffix": ([f"AC{i}-1" for i in range(N)], [f"AC{i}" for i in range(N)], "match"),
    "others": (PLAIN, [f"patient {chr(97 + i)}" for i in range(N)], "by_order"),
}


def labels_file(folder, names, labels=LABELS, *, extra=(), drop=0, key_last=False, name="labels.csv", seed=1):
    """Write a table of labels in random order."""
    rows = [[sample, str(label), str(30 + i % 7)] for i, (sample, label) in enumerate(zip(names, labels, strict=True))]
    rows = [*rows[drop:], *extra]
    if seed is not None:
        random.Random(seed).shuffle(rows)
    header = ["sample", "status", "age"]
    if key_last:
        rows, header = [row[::-1] for row in rows], header[::-1]
    (folder / name).write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    return folder / name


def best(table):
    """Return the feature whose means differ most between the classes, in standard deviations."""
    values = np.asarray(table.X.todense() if hasattr(table.X, "todense") else table.X, np.float64)
    is_case = table.y == "case"
    difference = values[is_case].mean(0) - values[~is_case].mean(0)
    within = np.sqrt(values[is_case].var(0) + values[~is_case].var(0)) + 0.1
    return table.feature_names[int(np.argmax(np.abs(difference) / within))]


@rotating(3, case=CASES.keys(), kind=FORMATS.keys())
def test_names_and_labels(tmp_path, kind, case):
    names, of_labels, expected = CASES[case]
    path, options = FORMATS[kind](tmp_path, names)
    labels = labels_file(tmp_path, of_labels)
    if expected is None:
        table = read_table(path, "status", labels=labels, **options)
    else:
        with pytest.raises(TableError) as raised:
            read_table(path, "status", labels=labels, **options)
        advice = {part.name: part.value for part in raised.value.parts if isinstance(part, Parameter)}
        assert [*advice] == [expected]
        if "by_order" in advice:  # if the lines stand in the order of the samples
            labels_file(tmp_path, of_labels, seed=None)
        table = read_table(path, "status", labels=labels, **options, **advice)
    assert (best(table), len(table.y)) == (FEATURES[PLANTED], N)
    how = "by order" if expected == "by_order" else "by column 'sample' of labels.csv"
    assert table.matching == f"{N} of {N} samples matched {how}"


def score(inside, folder, path, options):
    """Call ``fastfs score``; return its error, or None, and the best feature with the samples that were matched."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is True]
    call = ["score", path, "--labels", "labels.csv", "--label", "status", "--method", "multisurf", *given]
    finished = inside(*call, *options.get("more", []), "--out", "r.json", cwd=folder)
    if finished.returncode:
        assert (finished.returncode, (folder / "r.json").exists()) == (2, False), finished.stderr
        return finished.stderr, None
    found = json.loads((folder / "r.json").read_text())
    assert found["matching"] in finished.stderr
    (folder / "r.json").unlink()
    return None, (found["ranking"][0]["feature"], found["matching"])


def options_named(message):
    """Return the options that a message names, as a shell reads them."""
    return [shlex.split(option) for option in re.findall(r"--[a-z-]+(?: '[^']*')?", message)]


@rotating(1, case=CASES.keys(), kind=FORMATS.keys())
def test_names_and_labels_on_the_command_line(tmp_path, inside, kind, case):
    names, of_labels, expected = CASES[case]
    path, options = FORMATS[kind](tmp_path, names)
    labels_file(tmp_path, of_labels)
    error, found = score(inside, tmp_path, path, options)
    assert (error is None) == (expected is None), error
    if error is not None:
        (advice,) = options_named(error)
        assert advice[0] == f"--{expected.replace('_', '-')}"
        if expected == "by_order":  # if the lines stand in the order of the samples
            labels_file(tmp_path, of_labels, seed=None)
        error, found = score(inside, tmp_path, path, options | {"more": advice})
    assert error is None
    how = "by order" if expected == "by_order" else "by column 'sample' of labels.csv"
    assert found == (FEATURES[PLANTED], f"{N} of {N} samples matched {how}")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_key_and_repeated_names_on_the_command_line(tmp_path, inside, kind):
    path, options = FORMATS[kind](tmp_path, PLAIN)
    by_sample = (FEATURES[PLANTED], f"{N} of {N} samples matched by column 'sample' of labels.csv")
    rows = list(zip(PLAIN, random.Random(3).sample(PLAIN, N), LABELS, strict=True))
    lines = [",".join(row) for row in random.Random(4).sample(rows, N)]
    (tmp_path / "labels.csv").write_text("\n".join(["sample,mother,status", *lines]))
    error, _ = score(inside, tmp_path, path, options)
    assert options_named(error) == [["--key"]]
    assert re.search("the columns sample, mother of", error)
    assert score(inside, tmp_path, path, options | {"more": ["--key", "sample"]}) == (None, by_sample)
    error, _ = score(inside, tmp_path, path, options | {"more": ["--key", "sample", "--by-order"]})
    assert error.endswith("so leave out --key.\n")

    labels_file(tmp_path, PLAIN, extra=[["s05", "case", "3"]])
    error, _ = score(inside, tmp_path, path, options)
    assert options_named(error) == [["--key"], ["--by-order"]]
    assert "keep one line of each" in error
    labels_file(tmp_path, PLAIN)
    assert score(inside, tmp_path, path, options) == (None, by_sample)

    labels_file(tmp_path, PLAIN, drop=3)
    error, _ = score(inside, tmp_path, path, options)
    assert options_named(error) == [["--drop-missing"]]
    feature, matching = score(inside, tmp_path, path, options | {"more": options_named(error)[0]})[1]
    assert (feature, matching.split(" matched ")[0]) == (FEATURES[PLANTED], f"{N - 3} of {N} samples")


def test_data_without_names_on_the_command_line(tmp_path, inside):
    pandas.DataFrame(X, columns=FEATURES).to_csv(tmp_path / "x.csv", index=False)
    labels_file(tmp_path, PLAIN)
    error, _ = score(inside, tmp_path, "x.csv", {})
    assert options_named(error) == [["--by-order"]]
    labels_file(tmp_path, PLAIN, seed=None)  # the lines stand in the order of the samples
    found = (FEATURES[PLANTED], f"{N} of {N} samples matched by order")
    assert score(inside, tmp_path, "x.csv", {"more": options_named(error)[0]}) == (None, found)

    ids = random.Random(2).sample(range(1, N + 1), N)
    frame = pandas.DataFrame(X, columns=FEATURES)
    frame.insert(2, "sample", ids)
    frame.to_csv(tmp_path / "x.csv", index=False)
    labels_file(tmp_path, [str(i) for i in ids])
    error, _ = score(inside, tmp_path, "x.csv", {})
    assert options_named(error) == [["--key", "sample"], ["--by-order"]]
    found = (FEATURES[PLANTED], f"{N} of {N} samples matched by column 'sample' of labels.csv")
    assert score(inside, tmp_path, "x.csv", {"more": options_named(error)[0]}) == (None, found)


@pytest.mark.parametrize("kind", FORMATS)
def test_subset_superset_and_repeated_names(tmp_path, kind):
    path, options = FORMATS[kind](tmp_path, PLAIN)
    options |= {"label": "status", "annotations": ["age"]}
    others = [["s98", "case", "1"], ["s99", "control", "1"], ["s99", "case", "1"]]
    table = read_table(path, labels=labels_file(tmp_path, PLAIN, extra=others, key_last=True), **options)
    assert best(table) == FEATURES[PLANTED]
    assert table.annotations["age"].tolist() == [30 + i % 7 for i in range(N)]

    subset = labels_file(tmp_path, PLAIN, drop=3, extra=others)
    with pytest.raises(TableError, match=r"no line for 3 of the 24 samples .* 's01', 's02', 's03'") as raised:
        read_table(path, labels=subset, **options)
    (advice,) = (part for part in raised.value.parts if isinstance(part, Parameter))
    table = read_table(path, labels=subset, **options, **{advice.name: advice.value})
    assert (best(table), len(table.y), table.rows.tolist()) == (FEATURES[PLANTED], N - 3, [*range(3, N)])
    assert table.annotations["age"].tolist() == [30 + i % 7 for i in range(3, N)]
    assert table.matching.startswith("21 of 24 samples matched by column 'sample'")

    repeated = labels_file(tmp_path, PLAIN, extra=[["s05", "case", "3"], ["s06", "case", "3"]])
    with pytest.raises(TableError, match=r"2 lines .* for the sample 's0[56]' .* 2 samples have several: keep"):
        read_table(path, labels=repeated, **options)
    lines = dict.fromkeys(line.split(",")[0] for line in repeated.read_text().splitlines())
    assert len(lines) == N + 1  # as the advice says, one line for each is kept
    assert best(read_table(path, labels=labels_file(tmp_path, PLAIN), **options)) == FEATURES[PLANTED]


@pytest.mark.parametrize("kind", FORMATS)
def test_two_columns_that_could_be_the_names(tmp_path, kind):
    path, options = FORMATS[kind](tmp_path, PLAIN)
    other = random.Random(3).sample(PLAIN, N)
    rows = [f"{sample},{mother},{label}" for sample, mother, label in zip(PLAIN, other, LABELS, strict=True)]
    random.Random(4).shuffle(rows)
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["sample,mother,status", *rows]))
    with pytest.raises(TableError, match=r"columns sample, mother .* in different orders: choose one with key="):
        read_table(path, "status", labels=labels, **options)
    assert best(read_table(path, "status", labels=labels, key="sample", **options)) == FEATURES[PLANTED]
    rows = [f"{sample},{sample},{label}" for sample, label in zip(PLAIN, LABELS, strict=True)]
    labels.write_text("\n".join(["sample,copy,status", *random.Random(4).sample(rows, N)]))
    assert best(read_table(path, "status", labels=labels, **options)) == FEATURES[PLANTED]


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_data_without_names(tmp_path, kind):
    if kind == "csv":
        path = tmp_path / "x.csv"
        pandas.DataFrame(X, columns=FEATURES).to_csv(path, index=False)
    else:
        path = tmp_path / "x.npz"
        np.savez(path, X=X, feature_names=FEATURES)
    with pytest.raises(TableError, match=r"no names of its samples .* column 'sample' .* add by_order=True"):
        read_table(path, "status", labels=labels_file(tmp_path, PLAIN))
    table = read_table(path, "status", labels=labels_file(tmp_path, PLAIN, seed=None), by_order=True)
    assert (best(table), table.matching) == (FEATURES[PLANTED], f"{N} of {N} samples matched by order")
    (tmp_path / "one.txt").write_text("\n".join(LABELS))
    table = read_table(path, labels=tmp_path / "one.txt")
    assert (best(table), table.matching) == (FEATURES[PLANTED], f"{N} of {N} samples matched by order")


@pytest.mark.parametrize("place", [0, 4])
def test_a_numeric_key_in_the_table_is_no_feature(tmp_path, place):
    ids = random.Random(2).sample(range(1, N + 1), N)
    frame = pandas.DataFrame(X, columns=FEATURES)
    frame.insert(place, "id", ids)
    frame.to_csv(tmp_path / "x.csv", index=False)
    labels = labels_file(tmp_path, [str(i) for i in ids])
    labels.write_text(labels.read_text().replace("sample", "id", 1))
    with pytest.raises(TableError, match=r"both .* a column 'id': if it names the samples, add key='id'") as raised:
        read_table(tmp_path / "x.csv", "status", labels=labels)
    advice = next(part for part in raised.value.parts if isinstance(part, Parameter))
    table = read_table(tmp_path / "x.csv", "status", labels=labels, **{advice.name: advice.value})
    assert (table.feature_names, best(table)) == (FEATURES, FEATURES[PLANTED])


def test_repeated_names_of_samples(tmp_path):
    names = [*PLAIN[:-1], PLAIN[0]]
    path, options = write_h5ad(tmp_path, names)
    with pytest.raises(TableError, match=r"2 samples .* are called 's01'") as raised:
        read_table(path, "status", labels=labels_file(tmp_path, PLAIN), **options)
    (advice,) = (part for part in raised.value.parts if isinstance(part, Parameter))
    labels = labels_file(tmp_path, PLAIN, seed=None)
    assert best(read_table(path, "status", labels=labels, **{advice.name: advice.value})) == FEATURES[PLANTED]


def test_an_rds_file(tmp_path):
    pytest.importorskip("rds2py")
    table = read_table(DATA / "frame.rds", "condition", ignore=["batch"])
    frame = read_table(DATA / "sparse.rds", "c", labels=write_conditions(tmp_path, table.y))
    assert frame.y.tolist() == table.y.tolist()


def write_conditions(folder, conditions):
    """Write the conditions of s01, s02, ... in the opposite order."""
    rows = [f"s{i:02d},{condition}" for i, condition in enumerate(conditions, 1)]
    (folder / "c.csv").write_text("\n".join(["sample,c", *rows[::-1]]))
    return folder / "c.csv"


# PLINK's files


IID = [f"i{i}" for i in range(N)]
CODES = np.where(LABELS == "case", 2, 1)


def phenotypes(folder, lines, name="pheno.txt"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


@pytest.mark.parametrize("header", ["FID IID status", "#FID\tIID\tstatus", "FID  IID  status other", None])
@pytest.mark.parametrize("families", ["others' names", "own", "none", "none in the labels"])
def test_phenotype_files(tmp_path, header, families):
    if header is None and families == "none in the labels":
        pytest.skip("without a header, a line is known by its family and individual")
    of_fam = {"own": [f"f{i}" for i in range(N)], "none": ["0"] * N}.get(families, random.Random(8).sample(IID, N))
    path, _ = write_bed(tmp_path, IID, of_fam)
    separator = "\t" if header and "\t" in header else " "
    written = ["0"] * N if families.startswith("none") else of_fam
    more = ["9"] * bool(header and "other" in header)
    rows = [separator.join([f, i, str(c), *more]) for f, i, c in zip(written, IID, CODES, strict=True)]
    lines = [*([] if header is None else [header]), *random.Random(9).sample(rows, N)]
    table = read_table(path, labels=phenotypes(tmp_path, lines))
    values = np.asarray(table.X)[:, PLANTED]
    assert values.tolist() == np.where(table.y == 2, 2, 0).tolist()
    how = "IID" if families.startswith("none") else "FID and IID"
    assert table.matching == f"{N} of {N} samples matched by {how}"


def test_individuals_alone_and_missing_phenotypes(tmp_path):
    path, _ = write_bed(tmp_path, IID)
    codes = [*map(str, CODES[:-4]), "-9", "NA", "nan", "0"]
    rows = [f"{i}\t{c}\t{k}\t{k % 5 - 9 * (k == 2)}" for k, (i, c) in enumerate(zip(IID, codes, strict=True))]
    labels = phenotypes(tmp_path, ["#IID\tstatus\tPC1\tPC2", *rows[::-1]])
    with pytest.warns(UserWarning, match="4 of 24 samples of .* no value of 'status' and are left out"):
        table = read_table(path, labels=labels, covar=labels, covar_names=["PC1"])
    assert table.y.tolist() == CODES[:-4].tolist()
    assert table.annotations["PC1"].tolist() == [*range(N - 4)]
    assert table.covariates == ("PC1",)
    assert np.asarray(table.X)[:, PLANTED].tolist() == np.where(CODES[:-4] == 2, 2, 0).tolist()
    short = phenotypes(tmp_path, ["#IID status", *(f"{i} {c}" for i, c in zip(IID[2:], CODES[2:], strict=True))])
    with pytest.raises(TableError, match=r"no line for 2 of the 24 samples .* 'i0', 'i1'"):
        read_table(path, labels=short)
    assert read_table(path, labels=short, drop_missing=True).y.tolist() == CODES[2:].tolist()


def test_the_command_line_says_what_it_matched(tmp_path, inside):
    write_bed(tmp_path, IID, random.Random(8).sample(IID, N))
    families = [line.split()[0] for line in (tmp_path / "x.fam").read_text().splitlines()]
    rows = [f"{f} {i} {c} {k % 4}" for k, (f, i, c) in enumerate(zip(families, IID, CODES, strict=True))]
    phenotypes(tmp_path, ["FID IID T2D PC1", *random.Random(9).sample(rows, N)])
    call = ["score", "x.bed", "--pheno", "pheno.txt", "--pheno-name", "T2D", "--method", "relieff"]
    finished = inside(*call, "--out", "r.json", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert f"{N} of {N} samples matched by FID and IID" in finished.stderr
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["ranking"][0]["feature"], found["matching"]) == ("g3", "24 of 24 samples matched by FID and IID")
    covariates = ["--covar", "pheno.txt", "--covar-name", "PC1"]
    finished = inside(*call, *covariates, "--permutations", "19", "--out", "r.json", cwd=tmp_path)
    assert "given 1 covariate" in json.loads((tmp_path / "r.json").read_text())["permutations"]["design"]
    finished = inside(*call, *covariates, cwd=tmp_path)
    assert (finished.returncode, "--covar is for p-values: add --permutations" in finished.stderr) == (2, True)
    finished = inside("score", "x.bed", "--pheno", "pheno.txt", "--method", "relieff", "--key", "T2X", cwd=tmp_path)
    assert "no column 'T2X'" in finished.stderr
    (tmp_path / "short.txt").write_text("\n".join(["FID IID T2D", *(row.rsplit(" ", 1)[0] for row in rows[1:])]))
    finished = inside("score", "x.bed", "--pheno", "short.txt", "--method", "relieff", cwd=tmp_path)
    assert "leave these samples out with --drop-missing" in finished.stderr


COLUMNS = {
    "sample": PLAIN,
    "other": [f"p{i}" for i in range(N)],
    "age": [str(30 + i % 7) for i in range(N)],
    "serial": [str(i) for i in range(N)],
    "centre": ["a"] * N,
}


def test_the_order_of_the_lines_never_changes_a_ranking(tmp_path_factory):
    outcomes = Counter()

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def shuffle(data):
        folder = tmp_path_factory.mktemp("shuffled")
        kind = data.draw(st.sampled_from(["csv", "transposed csv", "npz", "bed", "without names"]))
        if kind == "without names":
            path, options = folder / "x.csv", {}
            pandas.DataFrame(X, columns=FEATURES).to_csv(path, index=False)
        else:
            path, options = FORMATS[kind](folder, PLAIN)
        beside = data.draw(st.sets(st.sampled_from([name for name in COLUMNS if name != "sample"])))
        has_names = data.draw(st.sampled_from([True, True, True, False]))
        columns = {name: COLUMNS[name] for name in sorted(beside | ({"sample"} if has_names else set()))}
        columns["status"] = LABELS.tolist()
        header = data.draw(st.permutations([*columns]))
        rows = list(zip(*(columns[name] for name in header), strict=True))
        for order in (range(N), data.draw(st.permutations(range(N)))):
            lines = [",".join(header), *(",".join(rows[i]) for i in order)]
            (folder / "labels.csv").write_text("\n".join(lines))
            outcome = read_shuffled(path, folder / "labels.csv", list(order), options)
            assert outcome == "matched" or not (has_names and kind != "without names")
            event(outcome)
            outcomes[outcome] += 1

    shuffle()
    assert outcomes["matched"] > outcomes.total() / 3
    assert outcomes["refused"] > 0


def read_shuffled(path, labels, order, options):
    """Return how labels reached the samples, after a check that they are right or that the error's advice works."""
    refused: TableError | None = None
    try:
        table = read_table(path, "status", labels=labels, **options)
    except TableError as error:
        refused = error
    if refused is not None:
        advice = {part.name: part.value for part in refused.parts if isinstance(part, Parameter)}
        assert advice == {"by_order": True}, str(refused)
        table = read_table(path, "status", labels=labels, **options, **advice)
        assert (table.y.tolist(), table.matching) == (LABELS[order].tolist(), f"{N} of {N} samples matched by order")
        return "refused"
    if "by order" in table.matching:  # neither names of samples nor columns that could hold them
        assert table.y.tolist() == LABELS[order].tolist()
        return "by order"
    assert (table.y.tolist(), best(table)) == (LABELS.tolist(), FEATURES[PLANTED])
    return "matched"
