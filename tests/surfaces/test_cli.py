"""The command line as a user meets it: a process with arguments, files, streams and an exit code."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anndata
import numpy as np
import pandas
import pyarrow.parquet
import pytest
from sklearn.base import BaseEstimator

import fastfs
import fastfs.cli
from covering import rotating
from fastfs._methods import METHODS, Method

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 6))
Y = np.repeat(["healthy", "sick"], 12)
X[12:, 1] = X[12:, 0] + 0.1 * RNG.normal(size=12)  # g0 and g1 are tied to each other in the sick only
NAMES = [f"g{j}" for j in range(6)]
DIRECTION = ["direction", "effect", "median_difference"]  # the last columns of a ranking


AS_A_PROCESS = "import runpy; runpy.run_module('fastfs', run_name='__main__', alter_sys=True)"


def run(*arguments, cwd, script=None, **options):
    """`python -m fastfs ARGUMENTS`; with a `script`, the same after that script."""
    start = ["-m", "fastfs"] if script is None else ["-c", f"{script}\n{AS_A_PROCESS}"]
    command = [sys.executable, *start, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=300, **options)


def write_text(path, X=X, y=Y, names=NAMES, separator=",", label="status"):
    lines = [separator.join([*names, label])]
    lines += [separator.join([*map(repr, row), str(name)]) for row, name in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


SCORE = ["score", "cells.csv", "--label", "status", "--method", "manifest"]


@pytest.fixture
def table(tmp_path):
    return write_text(tmp_path / "cells.csv")


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def assert_one_sentence(finished, *parts):
    """One line on stderr that holds `parts`, exit code 2, nothing on stdout."""
    assert finished.returncode == 2, finished.stderr
    assert finished.stdout == ""
    (line,) = finished.stderr.splitlines()
    assert line.startswith("Error: ")
    assert line[-1] in ".?"
    assert len(line) > 20
    assert not re.search(r"[.!?] +[A-Z]", line), line
    for part in parts:
        assert part in line


# What it does


def test_ranking_to_csv_and_plot(table):
    folder = table.parent
    finished = run(
        *("score", table, "--label", "status", "--method", "manifest"),
        *("--top", 4, "--out", "ranking.csv", "--plot", "ranking.png"),
        cwd=folder,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
    # A pipe gets the summary and no bar, no control codes.
    (summary,) = finished.stderr.splitlines()
    assert "6 features of 24 samples (healthy: 12, sick: 12)" in summary
    assert "\x1b" not in finished.stderr

    expected = fastfs.manifest_scores(X, Y)
    order = np.argsort(-expected, kind="stable")[:4]
    rows = read_csv(folder / "ranking.csv")
    assert list(rows[0]) == ["rank", "feature", "index", "score", *DIRECTION]
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["feature"] for row in rows] == [NAMES[j] for j in order]
    assert [int(row["index"]) for row in rows] == order.tolist()
    np.testing.assert_allclose([float(row["score"]) for row in rows], expected[order], rtol=1e-9)
    assert (folder / "ranking.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == ["cells.csv", "ranking.csv", "ranking.png"]


WITHOUT_SKLEARN = """
import json, sys
from fastfs.__main__ import main
for arguments in json.loads(sys.argv.pop()):
    sys.argv[1:] = arguments
    assert main() == 0
print("sklearn" in sys.modules)
"""


def test_scores_take_no_scikit_learn_and_are_those_of_the_estimators(table):
    folder = table.parent
    calls = [
        ["score", "cells.csv", "--method", word, "--out", f"{word}.json", "--threads", "1"]
        + (["--label", "status"] if method.classes else ["--targets", "g0", "--ignore", "status"])
        for word, method in METHODS.items()
    ]
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_SKLEARN, json.dumps(calls)]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert finished.stdout.strip() == "False", finished.stderr
    for word, method in METHODS.items():
        found = json.loads((folder / f"{word}.json").read_text())["ranking"]
        model = getattr(fastfs, method.estimator)(n_jobs=1)
        with warnings.catch_warnings(action="ignore"):
            model.fit(X[:, 1:], X[:, 0]) if not method.classes else model.fit(X, Y)
        best = [row["index"] for row in found]
        assert [row["score"] for row in found] == model.scores_[best].tolist()
        assert model.ranking_[best].tolist() == [row["rank"] for row in found]


def test_ranking_to_json_says_how_it_came_about(table, inside):
    finished = inside(
        *("score", table, "--label", "status", "--method", "manifest", "--out", "ranking.json"),
        *("--sigma", "0.5,0.75", "--normalize", 2, "--threads", 1, "--max-memory", "1G"),
        cwd=table.parent,
    )
    assert finished.returncode == 0, finished.stderr
    found = json.loads((table.parent / "ranking.json").read_text())
    assert found["method"] == "manifest"
    assert found["version"] == fastfs.__version__
    assert found["parameters"]["sigma"] == [0.5, 0.75]
    assert found["parameters"]["normalize"] == 2
    assert found["sigma"] == [0.5, 0.75]
    assert found["classes"] == {"healthy": 12, "sick": 12}
    assert len(found["ranking"]) == found["n_features"] == 6
    expected = fastfs.manifest_scores(X, Y, sigma=(0.5, 0.75), normalize=2)
    best = found["ranking"][0]
    direction = fastfs.direction(X[:, [best["index"]]], Y)
    assert {name: best.pop(name) for name in DIRECTION} == {name: one for name, [one] in direction.columns().items()}
    assert best == {"rank": 1, "feature": NAMES[best["index"]], "index": best["index"], "score": best["score"]}
    assert best["index"] == expected.argmax()
    np.testing.assert_allclose(best["score"], expected.max(), rtol=1e-9)


def test_ranking_on_stdout_holds_whole_names(tmp_path, inside):
    long_name = "ENSG00000139618.transcript_variant_" + "x" * 120
    file = write_text(tmp_path / "long.csv", names=[long_name, *NAMES[1:]])
    finished = inside("score", file, "--label", "status", "--method", "manifest", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert long_name in finished.stdout
    for name in NAMES[1:]:
        assert name in finished.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


def test_tsv_and_npz_give_what_csv_gives(table, inside):
    folder = table.parent
    write_text(folder / "cells.tsv", separator="\t")
    np.savez(folder / "cells.npz", X=X, y=Y, feature_names=NAMES)
    expected = fastfs.manifest_scores(X, Y)
    for file, label in (("cells.csv", "status"), ("cells.tsv", "status"), ("cells.npz", None)):
        chosen = ["--label", label] if label else []
        finished = inside("score", file, *chosen, "--method", "manifest", "--out", f"{file}.out.csv", cwd=folder)
        assert finished.returncode == 0, finished.stderr
        rows = read_csv(folder / f"{file}.out.csv")
        assert [row["feature"] for row in rows] == [NAMES[j] for j in np.argsort(-expected)]
        np.testing.assert_allclose([float(row["score"]) for row in rows], np.sort(expected)[::-1], rtol=1e-9)


def test_options_reach_the_method(table, inside):
    for options, parameters in (
        (["--sigma-factor", 0.1], {"sigma_factor": 0.1}),
        (["--sigma-percentile", 90], {"sigma": "percentile", "sigma_percentile": 90.0}),
        (["--ignore", "g2", "--ignore", "g5"], {}),
    ):
        finished = inside(
            *("score", table, "--label", "status", "--method", "manifest", "--out", "r.csv", *options), cwd=table.parent
        )
        assert finished.returncode == 0, finished.stderr
        keep = [0, 1, 3, 4] if "--ignore" in options else list(range(6))
        expected = np.sort(fastfs.manifest_scores(X[:, keep], Y, **parameters))[::-1]
        found = [float(row["score"]) for row in read_csv(table.parent / "r.csv")]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_formats_give_what_csv_gives(table, inside):
    folder = table.parent
    samples = [f"s{i}" for i in range(len(Y))]
    frame = pandas.DataFrame(X, samples, NAMES)
    frame.assign(status=Y).to_parquet(folder / "cells.parquet")
    frame.T.to_csv(folder / "genes.tsv", sep="\t")
    frame.T.to_parquet(folder / "genes.parquet")
    meta = pandas.DataFrame({"status": Y}, samples)
    meta[::-1].to_csv(folder / "meta.csv")
    (folder / "labels.txt").write_text("\n".join(Y))
    anndata.AnnData(X, meta, pandas.DataFrame(index=NAMES)).write_h5ad(folder / "cells.h5ad")
    entries = "".join(f"{j + 1} {i + 1} {X[i, j]!r}\n" for i in range(24) for j in range(6))
    header = "%%MatrixMarket matrix coordinate real general\n"
    (folder / "matrix.mtx").write_text(f"{header}6 24 144\n{entries}".replace("np.float64(", "").replace(")", ""))
    (folder / "features.tsv").write_text("".join(f"{name}\n" for name in NAMES))
    by_name = ["--labels", "meta.csv", "--label", "status"]
    expected = fastfs.manifest_scores(X, Y)
    for file, options in (
        ("cells.parquet", ["--label", "status"]),
        ("cells.h5ad", ["--label", "status"]),
        ("genes.tsv", ["--transpose", *by_name]),
        ("genes.parquet", ["--transpose", *by_name]),
        ("matrix.mtx", ["--transpose", "--labels", "labels.txt"]),
        ("matrix.mtx", ["--transpose", "--labels", "labels.txt", "--feature-names", "features.tsv"]),
    ):
        finished = inside("score", file, *options, "--method", "manifest", "--out", "r.csv", cwd=folder)
        assert finished.returncode == 0, finished.stderr
        assert "(healthy: 12, sick: 12)" in finished.stderr
        rows = read_csv(folder / "r.csv")
        assert [row["feature"] for row in rows] == [NAMES[j] for j in np.argsort(-expected)]
        np.testing.assert_allclose([float(row["score"]) for row in rows], np.sort(expected)[::-1], rtol=1e-9)


def test_ranking_to_parquet(table, inside):
    finished = inside(*SCORE, "--ignore", "g5", "--out", "r.parquet", cwd=table.parent)
    assert finished.returncode == 0, finished.stderr
    found = pyarrow.parquet.read_table(table.parent / "r.parquet")
    assert found.column_names == ["rank", "feature", "index", "score", *DIRECTION]
    scores = fastfs.manifest_scores(X[:, :5], Y)
    np.testing.assert_allclose(found["score"].to_numpy(), np.sort(scores)[::-1], rtol=1e-9)
    about = json.loads(found.schema.metadata[b"fastfs"])
    assert about["method"] == "manifest"
    assert about["reading"] == {"label": "status", "ignore": ["g5"]}
    assert about["classes"] == {"healthy": 12, "sick": 12}


def test_two_of_three_classes(tmp_path, inside):
    y = np.array(["healthy", "very sick, or so", "sick"] * 8)
    lines = [",".join([*NAMES, "status"]), *(",".join([*map(repr, X[i].tolist()), f'"{y[i]}"']) for i in range(24))]
    (tmp_path / "cells.csv").write_text("\n".join(lines))
    finished = inside(*SCORE, "--classes", 'healthy, "very sick, or so"', "--out", "r.json", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "6 features of 16 samples (healthy: 8, very sick, or so: 8)" in finished.stderr
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["reading"]["classes"] == ["healthy", "very sick, or so"]
    expected = fastfs.manifest_scores(X[y != "sick"], y[y != "sick"])
    np.testing.assert_allclose(found["ranking"][0]["score"], expected.max(), rtol=1e-9)


def test_method_options(table, inside):
    for options, parameters in (
        (["sigma_factor=0.1", "normalize=3"], {"sigma_factor": 0.1, "normalize": 3}),
        (["sigma=0.5,0.75"], {"sigma": (0.5, 0.75)}),
        (["sigma = (0.5, 0.75)"], {"sigma": (0.5, 0.75)}),
        (["sigma=percentile", "sigma-percentile=90"], {"sigma": "percentile", "sigma_percentile": 90}),
        (["sigma_percentile=90.0"], {"sigma": "percentile", "sigma_percentile": 90}),
    ):
        arguments = [part for option in options for part in ("--method-option", option)]
        finished = inside(*SCORE, *arguments, "--out", "r.csv", cwd=table.parent)
        assert finished.returncode == 0, finished.stderr
        found = [float(row["score"]) for row in read_csv(table.parent / "r.csv")]
        expected = np.sort(fastfs.manifest_scores(X, Y, **parameters))[::-1]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


class Stub(BaseEstimator):
    """A method of several classes that says how it worked: class k scores the features in order, from feature k on."""

    def __init__(self, verbose=False, n_jobs=None, max_memory=None, shift=0, why=None):
        self.verbose, self.n_jobs, self.max_memory, self.shift, self.why = verbose, n_jobs, max_memory, shift, why

    def fit(self, X, y):
        if not isinstance(self.shift, int):
            raise TypeError(f"shift must be an int, not {self.shift!r}")
        self.classes_ = np.unique(y)
        d = X.shape[1]
        shifts = range(self.shift, self.shift + len(self.classes_))
        self.class_scores_ = np.array([np.roll(np.arange(d, 0.0, -1), k) for k in shifts])
        self.scores_ = self.class_scores_.mean(axis=0)
        self.ranking_ = np.argsort(np.argsort(-self.scores_, kind="stable")) + 1
        self.accuracy_, self.accuracy_reason_ = "low_rank", self.why
        return self


@pytest.fixture
def three_classes(tmp_path):
    return write_text(tmp_path / "cells.csv", y=["1", "20", "3"] * 8)


@pytest.fixture
def score_stub(inside, monkeypatch):
    monkeypatch.setattr(fastfs, "Stub", Stub, raising=False)
    monkeypatch.setitem(METHODS, "stub", Method("stub", "Stub"))

    def score(file, *options):
        return inside("score", file, "--label", "status", "--method", "stub", *options, cwd=file.parent)

    return score


def test_scores_of_each_class_in_files(three_classes, score_stub):
    for name in ("r.csv", "r.json", "r.parquet"):
        finished = score_stub(three_classes, "--out", name, "--method-option", "why='there are 6 of them'")
        assert finished.returncode == 0, finished.stderr
        assert finished.stderr.strip() == (
            "Stub scored 6 features of 24 samples (1: 8, 3: 8, 20: 8) in the low-rank form (there are 6 of them); "
            f"wrote 6 features to {name}."
        )
    rows = read_csv(three_classes.parent / "r.csv")
    assert list(rows[0]) == ["rank", "feature", "index", "score", "score_1", "score_3", "score_20", *DIRECTION]
    assert [row["feature"] for row in rows] == ["g2", "g1", "g3", "g0", "g4", "g5"]
    assert [float(row["score_20"]) for row in rows] == [6, 1, 5, 2, 4, 3]
    found = json.loads((three_classes.parent / "r.json").read_text())
    assert (found["accuracy"], found["accuracy_reason"]) == ("low_rank", "there are 6 of them")
    assert found["ranking"][0].pop("direction").startswith(("high in ", "low in "))
    del found["ranking"][0]["effect"], found["ranking"][0]["median_difference"]
    assert found["ranking"][0] == {"rank": 1, "feature": "g2", "index": 2, "score": 5.0, "score_1": 4.0, "score_3": 5.0,
                                   "score_20": 6.0}  # fmt: skip
    table = pyarrow.parquet.read_table(three_classes.parent / "r.parquet")
    assert table["score_20"].to_pylist() == [6, 1, 5, 2, 4, 3]
    assert json.loads(table.schema.metadata[b"fastfs"])["accuracy"] == "low_rank"


def test_highest_class_on_the_terminal(three_classes, score_stub):
    finished = score_stub(three_classes, "--top", 3)
    assert finished.returncode == 0, finished.stderr
    assert "(1: 8, 3: 8, 20: 8) in the low-rank form." in finished.stderr
    heading, *lines = (
        re.split(r" *[┃│] *", line)[1:-1] for line in finished.stdout.splitlines() if "g" in line or "rank" in line
    )
    assert heading[:5] == ["rank", "feature", "index", "score", "highest in"]
    assert [line[:5] for line in lines] == [
        ["1", "g2", "2", "5", "20"], ["2", "g1", "1", "4", "3"], ["3", "g3", "3", "4", "20"],
    ]  # fmt: skip


def test_scores_of_each_of_two_classes_are_not_shown(three_classes, score_stub):
    finished = score_stub(three_classes, "--classes", "1,20", "--out", "r.csv")
    assert finished.returncode == 0, finished.stderr
    assert list(read_csv(three_classes.parent / "r.csv")[0]) == ["rank", "feature", "index", "score", *DIRECTION]


def test_many_classes_are_summed_up(tmp_path, score_stub):
    file = write_text(tmp_path / "cells.csv", y=[f"c{i // 2:02}" for i in range(24)])
    assert "c08: 2, c09: 2, and 2 classes more) in" in score_stub(file).stderr


def test_types_that_an_option_gives(three_classes, score_stub):
    assert_one_sentence(score_stub(three_classes, "--method-option", "shift=1.5"), "shift must be an int, not 1.5")
    assert_one_sentence(score_stub(three_classes, "--sigma", "median"), "no option --sigma")


@pytest.mark.slow  # the same call on a small file, and the scores of colon, are tested above and in test_manifest
def test_colon_from_a_file(tmp_path):
    folder = os.environ.get("FASTFS_TEST_DATA")
    if not folder:
        pytest.skip("FASTFS_TEST_DATA does not name the directory of the data sets")
    with np.load(Path(folder, "colon.npz")) as data:
        genes, names, tissue = np.log2(data["X"].astype(float)), data["feature_names"], data["class_names"][data["y"]]
    pandas.DataFrame(genes, columns=names).assign(tissue=tissue).to_csv(tmp_path / "colon.csv", index=False)
    finished = run(
        *("score", "colon.csv", "--label", "tissue", "--method", "manifest"),
        *("--top", 50, "--out", "ranking.csv", "--plot", "ranking.png"),
        cwd=tmp_path,
    )
    assert finished.returncode == 0, finished.stderr
    assert "2000 features of 62 samples (n: 22, t: 40)" in finished.stderr
    scores = fastfs.manifest_scores(genes, tissue)
    rows = read_csv(tmp_path / "ranking.csv")
    assert len(rows) == 50
    np.testing.assert_allclose([float(row["score"]) for row in rows], np.sort(scores)[:-51:-1], rtol=1e-6)
    assert all(names[int(row["index"])] == row["feature"] for row in rows)
    assert (tmp_path / "ranking.png").stat().st_size > 10_000


def test_info_needs_neither_pandas_nor_matplotlib(tmp_path):
    finished = run("info", cwd=tmp_path, script=without("pandas", "matplotlib"))
    assert finished.returncode == 0, finished.stderr
    assert re.search(rf"version +{re.escape(fastfs.__version__)}", finished.stdout)
    for name in fastfs.info():
        assert name.replace("_", " ") in finished.stdout
    assert re.search(r"gram float64 +[0-9.e+]+ GFLOP/s", finished.stdout)


def test_version_and_help(tmp_path, inside, monkeypatch):
    """Without scikit-learn, which takes a second to import."""
    finished = run("--version", cwd=tmp_path, script=without("sklearn", "scipy"))
    assert finished.stdout.strip() == fastfs.__version__, finished.stderr
    monkeypatch.setenv("COLUMNS", "200")
    bare = inside(cwd=tmp_path)
    assert bare.returncode == 0
    assert "fastfs report table.csv --label class --out page.html" in bare.stdout  # a page by one command
    for command in ("score", "demo", "info"):
        assert command in bare.stdout
    assert "--label" in inside("score", "--help", cwd=tmp_path).stdout


def options_in(text):
    return set(re.findall(r"--[a-z0-9-]+", text))


def test_help_comes_in_levels(tmp_path, inside, monkeypatch):
    """Everyday options on one screen; with --method those of the method; --help-all has all."""
    monkeypatch.setenv("COLUMNS", "80")
    everyday = inside("score", "--help", cwd=tmp_path).stdout
    assert everyday.count("\n") <= 60
    for panel in ("Input", "Labels", "Method", "Inference", "Output"):
        assert f"─ {panel} ─" in everyday
    assert not options_in(everyday) & {"--sigma-factor", "--pairs", "--turf", "--clump-kb", "--layer", "--event"}
    manifest = inside("score", "x.csv", "--method", "ManiFeSt", "--help", cwd=tmp_path).stdout
    of_manifest = {
        "--sigma",
        "--sigma-factor",
        "--sigma-percentile",
        "--normalize",
        "--n-components",
        "--turf",
        "--vls",
    }
    assert options_in(manifest) - options_in(everyday) == of_manifest
    immigrate = options_in(inside("score", "--method=immigrate", "--help", cwd=tmp_path).stdout) - options_in(everyday)
    assert immigrate == {"--sigma", "--pairs"}
    every = options_in(inside("score", "--help-all", cwd=tmp_path).stdout)
    assert every > options_in(manifest) | {"--turf", "--clump-kb", "--layer", "--event", "--missing"}


def test_multisurf_scores_without_a_method(table, inside):
    finished = inside("score", table, "--label", "status", cwd=table.parent)
    assert finished.returncode == 0
    assert finished.stderr.startswith("MultiSURF scored ")
    assert (
        finished.stdout == inside("score", table, "--label", "status", "--method", "multisurf", cwd=table.parent).stdout
    )


def test_the_next_command_is_the_one_that_tells_more(table, inside):
    """From the ranking to p-values, to a cut, to new samples: each command as it is printed."""
    words = ["score", table, "--label", "status", "--method", "relieff", "--top", "3"]
    for expected in ("--permutations", "--alpha", "assess"):
        finished = inside(*words, cwd=table.parent)
        assert finished.returncode == 0, finished.stderr
        advice = finished.stderr.splitlines()[-1]
        if expected != "assess":
            assert "The table has the best 3 of " in advice
        words = shlex.split(advice.partition("fastfs ")[2])
        assert expected in words
    finished = inside(*words, "--repeats", "1", "--methods", "relieff", "--n-features", "1,2", cwd=table.parent)
    assert finished.returncode == 0, finished.stderr
    assert "The table has" not in inside("score", table, "--label", "status", "--out", "r.csv", cwd=table.parent).stderr


def test_an_option_of_other_methods_names_these(table, inside):
    finished = inside(
        "score", table, "--label", "status", "--method", "projse", "--n-components", "2", cwd=table.parent
    )
    assert finished.returncode == 2
    assert "Method 'projse' has no option --n-components, which is for manifest, disc, ikdr." in finished.stderr
    finished = inside("score", table, "--label", "status", "--method", "im4e", "--given", "g5", cwd=table.parent)
    assert finished.returncode == 2
    assert "Method 'im4e' takes no --given, because it fits all weights together" in finished.stderr


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_warnings_are_one_line_each(table, inside, monkeypatch):
    fit = fastfs.ManiFeSt.fit

    def warned(self, X, y):
        warnings.warn("g5 is\n constant.", fastfs.DataWarning, stacklevel=1)
        return fit(self, X, y)

    monkeypatch.setattr(fastfs.ManiFeSt, "fit", warned)
    finished = inside(*SCORE, "--out", "r.csv", cwd=table.parent)
    assert finished.returncode == 0, finished.stderr
    warning, _summary = finished.stderr.splitlines()
    assert warning == "Warning: g5 is constant."


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(table):
    terminal, stderr = os.openpty()
    command = [sys.executable, "-m", "fastfs", "score", table, "--label", "status", "--method", "manifest"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True) as process:
        os.close(stderr)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # how Linux ends a pseudo-terminal
                break
            if not part:
                break
            shown += part
        out = process.stdout.read()
    os.close(terminal)
    assert process.returncode == 0, shown
    assert b"reading cells.csv" in shown
    assert b"\x1b" in shown
    assert "\x1b[?25" not in out
    assert "g0" in out


# What stops it


def with_value(value):
    changed = X.copy()
    changed[3, 2] = value
    return changed


BAD_TABLES = {
    "nan": (lambda path: write_text(path, with_value(np.nan)), [], ["row 3", "'g2'"]),
    "infinity": (lambda path: write_text(path, with_value(np.inf)), [], ["row 3", "'g2'"]),
    "one class": (lambda path: write_text(path, y=["sick"] * 24), [], ["class"]),
    "one feature": (lambda path: write_text(path, X[:, :1], names=NAMES[:1]), [], ["feature"]),
    "no feature": (lambda path: write_text(path, X[:, :0], names=[]), [], ["no column left as a feature"]),
    "no numbers": (
        lambda path: write_text(path, names=NAMES).write_text("a,b,status\n1,x7,u\n2,3,v\n"),
        [],
        ["'b'", "x7", "--ignore"],
    ),
    "names twice": (lambda path: write_text(path, names=["g0", *NAMES[:5]]), [], ["'g0'"]),
    "label missing": (lambda path: write_text(path, y=["", *Y[1:]]), [], ["'status'", "row 0"]),
    "no table": (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff"), [], ["must be UTF-8 text"]),
    "ragged": (lambda path: path.write_text("a,b,status\n1,2,u\n1,2,v,9\n"), [], ["isn't a table", "line 3"]),
    "prose": (lambda path: path.write_text("Dear Sir\nplease find enclosed\n"), [], ["'status'"]),
    "empty": (lambda path: path.write_bytes(b""), [], ["empty"]),
    "header only": (lambda path: path.write_text("a,b,status\n"), [], ["no samples"]),
    "no file": (lambda path: None, [], ["Error: There is no file 'bad.csv'"]),
    "directory": (lambda path: path.mkdir(), [], ["directory"]),
    "label unknown": (write_text, ["--label", "statos"], ["'statos'", "'status'"]),
    "ignored column unknown": (write_text, ["--ignore", "g7"], ["'g7'"]),
    "negative scale": (write_text, ["--sigma", "-1,2"], ["sigma"]),
    "zero scale": (write_text, ["--sigma", "0,0"], ["sigma"]),
    "zero factor": (write_text, ["--sigma-factor", "0"], ["sigma_factor"]),
    "unknown rule": (write_text, ["--sigma", "mean"], ["sigma"]),
    "broken pair": (write_text, ["--sigma", "1,two"], ["1,two"]),
    "option without effect": (write_text, ["--sigma", "median", "--sigma-percentile", "5"], ["--sigma-percentile"]),
    "too little memory": (write_text, ["--max-memory", "100"], []),
    "no size": (write_text, ["--max-memory", "lots"], ["lots"]),
    "unknown method": (write_text, ["--method", "magic"], ["magic", "manifest"]),
    "unknown option": (write_text, ["--magic"], ["--magic"]),
    "no threads": (write_text, ["--threads", "0"], ["--threads"]),
    "wrong ending": (write_text, ["--out", "r.xlsx"], [".csv, .json, .parquet, .txt or .rnk"]),
    "wrong picture": (write_text, ["--plot", "r.csv"], [".png"]),
    "no such folder": (write_text, ["--out", "nowhere/r.csv"], ["nowhere"]),
    "onto the input": (write_text, ["--out", "bad.csv"], ["input"]),
    "onto the labels": (write_text, ["--labels", "r.csv"], ["input"]),
    "no labels file": (write_text, ["--labels", "nowhere.txt"], ["no file 'nowhere.txt'"]),
    "class unknown": (write_text, ["--classes", "sick, heathy"], ["'heathy'", "did you mean 'healthy'"]),
    "no class": (write_text, ["--classes", " "], ["--classes"]),
    "one class kept": (write_text, ["--classes", "sick"], ["class"]),
    "decimals as labels": (
        lambda path: write_text(path, y=X[:, 0]),
        [],
        ["24 different numbers for 24 samples", "labels must be classes", "--targets instead of --label"],
    ),
    "numbers as labels": (lambda path: write_text(path, y=range(24)), ["--method", "projse"], ["24 different numbers"]),
    "twelve numbers as labels": (
        lambda path: write_text(path, X[:12], range(12)),
        ["--method", "surf"],
        ["12 different numbers for 12 samples", "--targets instead of --label"],
    ),
    "ids as labels": (
        lambda path: write_text(path, y=[f"s{i}" for i in range(24)]),
        ["--method", "relieff"],
        ["24 of 24 samples alone", "if these are ids, give the labels instead."],
    ),
    "transposed by mistake": (write_text, ["--transpose"], ["'status' as a column", "leave out --transpose"]),
    "layer of CSV": (
        write_text,
        ["--layer", "log"],
        ["--layer is for files that end in .h5ad, ", "leave it out for 'bad.csv'"],
    ),
    "parameter unknown": (
        write_text,
        ["--method-option", "sigma-fctor=2"],
        ["'sigma_fctor'", "normalize, ", "did you mean 'sigma_factor'"],
    ),
    "no value": (write_text, ["--method-option", "sigma"], ["NAME=VALUE", "'sigma'"]),
    "wrong value": (write_text, ["--method-option", "sigma_factor=-1"], ["sigma_factor"]),
    "value of a wrong type": (write_text, ["--method-option", "normalize=three"], ["normalize", "three"]),
    "both ways": (
        write_text,
        ["--normalize", "3", "--method-option", "normalize=3"],
        ["--normalize and", "one of them"],
    ),
    "twice": (write_text, ["--method-option", "normalize=3", "--method-option", "normalize=2"], ["normalize", "twice"]),
    "parameter without effect": (
        write_text,
        ["--sigma", "percentile", "--method-option", "sigma_factor=0.5"],
        ["--sigma-factor needs --sigma median"],
    ),
    "threads by parameter": (write_text, ["--method-option", "n_jobs=2"], ["--threads"]),
    "memory by parameter": (write_text, ["--method-option", "max-memory=2G"], ["--max-memory"]),
    "number by parameter": (write_text, ["--method-option", "n_features_to_select=2"], ["--top"]),
    "progress by parameter": (write_text, ["--method-option", "verbose=True"], ["terminal"]),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_input(case, tmp_path, inside):
    make, options, parts = BAD_TABLES[case]
    file = tmp_path / "bad.csv"
    make(file)
    before = file.read_bytes() if file.is_file() else None
    defaults = ["--label", "status", "--method", "manifest", "--out", "r.csv"]
    assert_one_sentence(inside("score", "bad.csv", *defaults, *options, cwd=tmp_path), *parts)
    assert [path.name for path in tmp_path.iterdir()] == ([] if case == "no file" else ["bad.csv"])
    assert before is None or file.read_bytes() == before


@pytest.mark.parametrize("command", ["score", "pairs", "report"])
def test_bad_values_are_counted_as_the_file_does(tmp_path, capsys, command):
    """Not as the samples of some classes, or the columns that are no features."""
    pandas = pytest.importorskip("pandas")
    X, y = np.random.default_rng(0).normal(size=(30, 5)), np.array(["a", "b", "c"])[np.arange(30) % 3]
    X[26, 3] = np.nan  # the 18th of classes a and c
    table = pandas.DataFrame(X, columns=[f"g{j}" for j in range(5)])
    table.insert(0, "plate", np.arange(30) % 2)
    table.insert(3, "state", y)
    table.to_csv(tmp_path / "cells.csv", index=False)
    table.set_axis([f"s{i}" for i in range(30)]).to_csv(tmp_path / "named.csv")
    arguments = [command, str(tmp_path / "cells.csv"), "--label", "state", "--classes", "a,c", "--ignore", "plate"]
    arguments += {"score": ["--method", "relieff"], "pairs": [], "report": ["--out", str(tmp_path / "r.html")]}[command]
    assert fastfs.cli.run(arguments) == 2
    assert "row 26, column 'g3'" in capsys.readouterr().err
    arguments[1] = str(tmp_path / "named.csv")
    assert fastfs.cli.run(arguments) == 2
    assert "row 26 's26', column 'g3'" in capsys.readouterr().err


@pytest.mark.filterwarnings("always::fastfs.DataWarning")
def test_advice_about_a_parameter_names_an_option(tmp_path, capsys):
    arguments = ["score", str(write_text(tmp_path / "three.csv", y=["a", "b", "c"] * 8)), "--label", "status"]
    arguments += ["--method", "manifest", "--out", str(tmp_path / "r.csv")]
    assert fastfs.cli.run([*arguments, "--method-option", "multiclass=raise"]) == 2
    assert "choose --method-option multiclass=ovr or 'ovo'" in capsys.readouterr().err
    assert fastfs.cli.run([*arguments, "--method-option", "multiclass=ovr"]) == 0
    arguments[5] = "disc"
    assert fastfs.cli.run([*arguments, "--method-option", "graph=dense", "--method-option", "n_neighbors=3"]) == 0
    assert "it needs --method-option graph=knn or" in capsys.readouterr().err


def test_missing_values_with_features_in_rows(tmp_path, inside):
    lines = ["gene," + ",".join(f"s{i}" for i in range(24)), "status," + ",".join(Y)]
    lines += [",".join([name, *map(repr, row)]) for name, row in zip(NAMES, with_value(np.nan).T.tolist(), strict=True)]
    (tmp_path / "cells.csv").write_text("\n".join(lines))
    assert_one_sentence(inside(*SCORE, "--transpose", cwd=tmp_path), "sample 3 's3', feature 'g2'")


def test_labels_of_another_length(tmp_path, inside):
    np.savez(tmp_path / "bad.npz", X=X, y=Y[:-1])
    finished = inside("score", "bad.npz", "--method", "manifest", "--out", "r.csv", cwd=tmp_path)
    assert_one_sentence(finished, "23", "24")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.npz"]


def without(*modules):
    """A script after which these modules cannot be imported, as on a machine that does not have them."""
    return f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


@pytest.mark.parametrize(
    "module, extra, arguments",
    [
        ("typer", "cli", ["info"]),
        ("rich", "cli", ["--help"]),
        ("pyarrow", "parquet", ["score", "x.parquet", "--label", "status", "--method", "manifest"]),
        ("pyarrow", "parquet", [*SCORE, "--out", "r.parquet"]),
        ("anndata", "h5ad", ["score", "x.h5ad", "--label", "status", "--method", "manifest"]),
        ("h5py", "h5ad", ["score", "x.loom", "--label", "status", "--method", "manifest"]),
        ("rds2py", "rds", ["score", "x.rds", "--label", "status", "--method", "manifest"]),
        ("matplotlib", "plot", [*SCORE, "--plot", "r.png"]),
        ("matplotlib", "plot", ["demo"]),
    ],
)
def test_missing_extra(module, extra, arguments, table):
    names = ["x.h5ad", "x.loom", "x.parquet", "x.rds"]
    for name in names:
        (table.parent / name).write_text("never read")
    finished = run(*arguments, cwd=table.parent, script=without(module))
    assert_one_sentence(finished, module, f"python -m pip install 'scikit-fastfs[{extra}]'")
    assert sorted(path.name for path in table.parent.iterdir()) == ["cells.csv", *names]


def test_text_and_npz_need_no_further_package(table):
    np.savez(table.parent / "cells.npz", X=X, status=Y, feature_names=NAMES)
    script = (
        without("pandas", "pyarrow", "anndata", "h5py", "matplotlib")
        + """
from fastfs.__main__ import main
arguments = sys.argv[1:]
sys.argv[2] = "cells.npz"
assert main() == 0
sys.argv[1:] = arguments
"""
    )
    finished = run(*SCORE, cwd=table.parent, script=script)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("g0") == 2


# As `fastfs score` begins: importing scikit-learn would take most of a test.
AS_SCORE = "from fastfs._estimators import do_without_sklearn; do_without_sklearn()"
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"


def test_ctrl_c_during_the_work(tmp_path):
    # The signal comes from the progress callback, neither before the core is at work nor after. The table is wide
    # because the callback is called at most 20 times a second, and never in a short call.
    script = f"""
{INTERRUPTIBLE}
{AS_SCORE}
import fastfs
fit = fastfs.ManiFeSt.fit
def interrupted(self, X, y):
    self.verbose = lambda step, fraction: signal.raise_signal(signal.SIGINT)
    return fit(self, X, y)
fastfs.ManiFeSt.fit = interrupted
"""
    np.savez(tmp_path / "wide.npz", X=np.random.default_rng(0).normal(size=(24, 1500)), y=Y)
    finished = run("score", "wide.npz", "--method", "manifest", "--out", "r.csv", cwd=tmp_path, script=script)
    assert finished.returncode == 130, finished.stderr
    assert finished.stderr.splitlines() == ["Interrupted."]
    assert [path.name for path in tmp_path.iterdir()] == ["wide.npz"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_while_reading(tmp_path):
    pipe = tmp_path / "cells.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", f"{INTERRUPTIBLE}\n{AS_A_PROCESS}"]
    command += ["score", str(pipe), "--label", "status", "--method", "manifest"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        writer = None
        while writer is None and process.poll() is None:
            try:
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # fails until the reader is there
            except OSError:
                time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=300)
    if writer is not None:
        os.close(writer)
    assert process.returncode == 130, stderr
    assert stderr.splitlines() == ["Interrupted."]


# Ends the process after everything has been written, when only the file's new name is missing.
SIGNAL = """
import os, signal
signal.signal(signal.{name}, signal.{action})
replace = os.replace
def replace_later(*paths):
    signal.raise_signal(signal.{name})
    replace(*paths)
os.replace = replace_later
"""
SIGNALS = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.mark.skipif(os.name != "posix", reason="Windows ends processes without telling them")
@rotating(1, **{"option, out": [("--out", "r.csv"), ("--out", "r.parquet"), ("--plot", "r.png")]}, name=SIGNALS)
def test_signals_while_writing(table, name, option, out):
    # The default action, because these tests may run under nohup themselves.
    script = SIGNAL.format(name=name, action="SIG_DFL")
    finished = run(*SCORE, option, out, cwd=table.parent, script=script)
    assert finished.returncode == 128 + getattr(signal, name), finished.stderr
    assert finished.stderr == ""
    assert [path.name for path in table.parent.iterdir()] == ["cells.csv"]


@pytest.mark.skipif(os.name != "posix", reason="Windows ends processes without telling them")
@pytest.mark.slow  # the plot of a ranking goes the same way
def test_signals_while_drawing_the_demo(tmp_path):
    finished = run("demo", cwd=tmp_path, script=SIGNAL.format(name="SIGTERM", action="SIG_DFL"))
    assert finished.returncode == 128 + signal.SIGTERM, finished.stderr
    assert finished.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
def test_nohup_holds_while_writing(table):
    script = SIGNAL.format(name="SIGHUP", action="SIG_IGN")
    finished = run(*SCORE, "--out", "r.csv", cwd=table.parent, script=script)
    assert finished.returncode == 0, finished.stderr
    assert sorted(path.name for path in table.parent.iterdir()) == ["cells.csv", "r.csv"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_the_next_run_sweeps_up_after_a_kill(table, inside):
    script = SIGNAL.format(name="SIGKILL", action="SIG_DFL").replace("signal.signal(", "(", 1)  # it can't be set
    finished = run(*SCORE, "--out", "r.csv", cwd=table.parent, script=script)
    assert finished.returncode == -signal.SIGKILL
    (left,) = set(table.parent.iterdir()) - {table}  # what nobody could remove
    os.utime(left, (0, 0))
    assert inside(*SCORE, "--out", "r.csv", cwd=table.parent).returncode == 0
    assert sorted(path.name for path in table.parent.iterdir()) == ["cells.csv", "r.csv"]


def test_handlers_of_signals_come_back(table):
    before = [signal.getsignal(getattr(signal, name)) for name in SIGNALS]
    arguments = ["score", str(table), "--label", "status", "--method", "relieff", "--out", str(table.parent / "r.csv")]
    assert fastfs.cli.run(arguments) == 0
    assert [signal.getsignal(getattr(signal, name)) for name in SIGNALS] == before
    with ThreadPoolExecutor(1) as pool:  # where Python takes no handlers
        assert pool.submit(fastfs.cli.run, arguments).result() == 0


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs limits of file sizes")
@pytest.mark.parametrize("out", ["r.csv", "r.json", "r.parquet"])
def test_a_full_disk_names_the_file(table, out):
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))"
    finished = run(*SCORE, "--out", out, cwd=table.parent, script=script)
    assert_one_sentence(finished, str(table.parent / out), "File too large")
    assert [path.name for path in table.parent.iterdir()] == ["cells.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments, unbuffered", [(SCORE, ""), (["info"], "1")])
def test_full_standard_output_is_named(table, arguments, unbuffered):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "fastfs", *arguments]
        finished = subprocess.run(
            command,
            cwd=table.parent,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert finished.returncode == 2
    assert finished.stderr.splitlines() == ["Error: Cannot use standard output: No space left on device."]


def test_a_fault_of_ours_is_not_blamed_on_the_user(table):
    script = f"{AS_SCORE}\nimport fastfs\ndef broken(self, X, y): raise KeyError('ours')\nfastfs.ManiFeSt.fit = broken"
    finished = run("score", table, "--label", "status", "--method", "manifest", cwd=table.parent, script=script)
    assert finished.returncode == 1
    assert "Traceback" in finished.stderr


# --------------------------------------------------------------------------------------------------------------- ProjSe


@pytest.fixture
def wine(tmp_path):
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    names = [f"f{j}" for j in range(13)]
    lines = [",".join([*names, "class"])]
    lines += [",".join([*map(repr, row.tolist()), f"kind {c}"]) for row, c in zip(X, y, strict=True)]
    file = tmp_path / "wine.csv"
    file.write_text("\n".join(lines) + "\n")
    return file, X, y


def test_projse_prints_the_chosen_ones_first(wine, capsys):
    file, X, y = wine
    assert (
        fastfs.cli.run(["score", str(file), "--label", "class", "--method", "projse", "--method-option", "center=True"])
        == 0
    )
    out, err = capsys.readouterr()
    rows = [re.split(r"\s*[│|]\s*", line.strip("│| \n")) for line in out.splitlines() if re.search(r"f\d+ ", line)]
    scores = fastfs.projse(X, y, center=True).scores
    rest = [j for j in np.argsort(-scores, kind="stable") if j not in (6, 0)]
    assert [row[1] for row in rows] == [f"f{j}" for j in (6, 0, *rest)]
    assert [row[4] for row in rows] == ["yes"] * 2 + ["no"] * 11
    assert [row[5] for row in rows] == ["0.727775", "0.546732"] + [""] * 11
    assert "ProjSe scored 13 features of 178 samples (kind 0: 59, kind 1: 71, kind 2: 48) and selected 2." in err


def test_projse_with_targets(wine, tmp_path, capsys):
    file, X, _ = wine
    out = tmp_path / "ranking.json"
    arguments = ["score", str(file), "--method", "projse", "--ignore", "class", "--out", str(out)]
    arguments += ["--targets", "f12, f3", "--top", "3", "--method-option", "center=True"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert fastfs.cli.run(arguments) == 0
    err = capsys.readouterr().err
    assert "only 2 of the 3 features asked for" in err
    assert "(targets: f12, f3) and selected 2" in err
    kept = [j for j in range(13) if j not in (12, 3)]
    expected = fastfs.projse(X[:, kept], X[:, [12, 3]], center=True)
    ranking = json.loads(out.read_text())
    assert ranking["n_selected"] == 2
    assert [f["feature"] for f in ranking["ranking"][:2]] == [f"f{kept[j]}" for j in expected.selected]
    for name, of_python in (("selection_score", "selection_scores"), ("gap", "gaps"), ("captured", "captured")):
        *of_file, last = (f[name] for f in ranking["ranking"])
        np.testing.assert_allclose(of_file, getattr(expected, of_python), rtol=0, atol=1e-12)
        assert last is None


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--targets", "f1", "--label", "class"], "--targets is for"),
        (["--targets", ""], "--targets must hold names"),
        (["--targets", "f1,f1"], "different columns"),
        (["--targets", "f1,f99"], "'f99'"),
        (["--targets", "class"], "must hold numbers"),
        (["--label", "class", "--normalize", "3"], "no option --normalize"),
        (["--label", "class", "--method-option", "kernel=rbf", "--sigma", "-1"], "sigma must be a positive"),
    ],
)
def test_projse_refuses(wine, capsys, arguments, part):
    file, _, _ = wine
    ignore = [] if "class" in arguments else ["--ignore", "class"]
    assert fastfs.cli.run(["score", str(file), "--method", "projse", *arguments, *ignore]) == 2
    assert part in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ RELIEF and kin


@pytest.mark.parametrize("method", ["relief", "relieff", "surf", "multisurf", "swrf", "murelief", "im4e", "immigrate"])
def test_margin_methods_rank(wine, tmp_path, method):
    file, X, y = wine
    out = tmp_path / "ranking.csv"
    arguments = ["score", str(file), "--label", "class", "--method", method, "--out", str(out)]
    assert fastfs.cli.run(arguments) == 0
    selector = getattr(fastfs, METHODS[method].estimator)().fit(X, y)
    rows = read_csv(out)
    assert [int(row["index"]) for row in rows] == np.argsort(selector.ranking_).tolist()
    np.testing.assert_allclose([float(row["score"]) for row in rows], np.sort(selector.scores_)[::-1], rtol=1e-9)


def test_numbers_are_explained(wine, tmp_path, capsys):
    file, X, _ = wine
    out = tmp_path / "ranking.csv"
    arguments = ["score", str(file), "--targets", "f3", "--ignore", "class", "--out", str(out), "--method"]
    for word, selector in (("rrelieff", fastfs.RReliefF()), ("surf", fastfs.SURF(target_type="number"))):
        assert fastfs.cli.run([*arguments, word]) == 0
        expected = selector.fit(np.delete(X, 3, axis=1), X[:, 3]).scores_
        np.testing.assert_allclose([float(row["score"]) for row in read_csv(out)], np.sort(expected)[::-1], rtol=1e-9)
    capsys.readouterr()
    assert fastfs.cli.run(["score", str(file), "--label", "class", "--method", "rrelieff"]) == 2
    assert "rrelieff explains numbers: give --targets instead of --label" in capsys.readouterr().err


@pytest.fixture
def study(tmp_path):
    """Features, and columns about the samples."""
    rng = np.random.default_rng(0)
    X, weights, times = rng.normal(size=(60, 4)), rng.uniform(0.5, 2, 60).round(3), rng.exponential(size=60)
    died, donors = rng.random(60) < 0.7, np.arange(60) // 5
    y = np.where(X[:, 1] > 0, "a", "b")
    lines = ["f0,f1,weight,f2,f3,months,died,donor,state"]
    for row, w, t, d, donor, label in zip(X, weights, times, died, donors, y, strict=True):
        first, second, *others = map(repr, row.tolist())
        lines.append(
            ",".join([first, second, repr(w.item()), *others, repr(t.item()), str(int(d)), f"d{donor}", label])
        )
    file = tmp_path / "study.csv"
    file.write_text("\n".join(lines) + "\n")
    return file, X, y, weights, np.rec.fromarrays([died, times], names=["event", "time"])


def test_weights_of_samples(study, tmp_path, capsys):
    file, X, y, weights, _ = study
    arguments = ["score", str(file), "--label", "state", "--weights", "weight", "--out", str(tmp_path / "r.csv")]
    arguments += [part for name in ("months", "died", "donor") for part in ("--ignore", name)]
    assert fastfs.cli.run([*arguments, "--method", "multisurf"]) == 0
    scores = fastfs.MultiSURF().fit(X, y, sample_weight=weights).scores_
    np.testing.assert_allclose([float(row["score"]) for row in read_csv(tmp_path / "r.csv")], np.sort(scores)[::-1])
    assert fastfs.cli.run([*arguments, "--method", "multisurf", "--turf", "1"]) == 0
    model = fastfs.TuRF(fastfs.MultiSURF(), step=1).fit(X, y, sample_weight=weights)
    assert [int(row["index"]) for row in read_csv(tmp_path / "r.csv")] == np.argsort(model.ranking_).tolist()
    capsys.readouterr()
    assert fastfs.cli.run([*arguments, "--method", "manifest"]) == 2
    assert "--weights is for the RELIEF family: choose another --method" in capsys.readouterr().err
    arguments[arguments.index("weight")] = "donor"
    assert fastfs.cli.run([*arguments[:-2], "--method", "multisurf"]) == 2
    assert "must hold numbers; got" in (error := capsys.readouterr().err)
    assert "Column 'donor' of" in error
    assert "for sample 0: fill it in, or choose another column" in error


def test_times_to_an_event(study, tmp_path, capsys):
    file, X, _, _, times = study
    arguments = ["score", str(file), "--targets", "months", "--out", str(tmp_path / "r.csv")]
    arguments += [part for name in ("weight", "donor", "state") for part in ("--ignore", name)]
    assert fastfs.cli.run([*arguments, "--method", "rrelieff", "--event", "died"]) == 0
    scores = fastfs.RReliefF().fit(X, times).scores_
    np.testing.assert_allclose([float(row["score"]) for row in read_csv(tmp_path / "r.csv")], np.sort(scores)[::-1])
    capsys.readouterr()
    assert fastfs.cli.run([*arguments, "--method", "surf", "--event", "died"]) == 2
    assert "--event is for --method rrelieff with one column of --targets" in capsys.readouterr().err
    assert fastfs.cli.run([*arguments, "--method", "rrelieff", "--event", "f1"]) == 2
    assert "Column 'f1' of" in (said := capsys.readouterr().err)
    assert "must hold True and False, or 1 and 0" in said


@pytest.fixture
def trial(tmp_path):
    """Five samples of each of 12 donors in two batches, of one state each; columns about the samples."""
    rng = np.random.default_rng(0)
    donors = np.arange(60) // 5
    columns = {f"f{j}": rng.normal(size=60) for j in range(6)}
    columns |= {"donor": np.array([f"d{d}" for d in donors]), "batch": donors % 2, "age": rng.uniform(20, 60, 60)}
    columns |= {"sex": np.where(rng.random(60) < 0.5, "m", "f"), "months": rng.exponential(size=60)}
    columns |= {"died": (rng.random(60) < 0.7).astype(int), "state": np.where(donors // 2 % 2, "ill", "well")}
    columns["f2"] += 2.0 * (columns["state"] == "ill")
    table = pandas.DataFrame(columns)
    table.to_csv(tmp_path / "trial.csv", index=False)

    def score(*arguments, label=("--label", "state")):
        used = [*arguments, *label]
        others = [name for name in list(table)[6:] if name not in used]
        ignored = [part for name in others for part in ("--ignore", name)]
        out = ["--out", str(tmp_path / "r.json")]
        code = fastfs.cli.run(["score", str(tmp_path / "trial.csv"), *label, *arguments, *ignored, *out])
        return code, json.loads((tmp_path / "r.json").read_text()) if code == 0 else None

    return score, table


def test_pvalues_of_the_files_columns(trial, capsys):
    score, table = trial
    X, y = table[[f"f{j}" for j in range(6)]].to_numpy(), table["state"].to_numpy(dtype=str)
    covariates = table[["age", "sex"]]
    for options, design in (
        (["--permutations", "49", "--statistic", "score"], {"n_permutations": 49, "statistic": "score"}),
        (["--permutations", "auto", "--groups", "donor"], {"groups": table["donor"]}),
        (
            ["--permutations", "99", "--groups", "donor", "--blocks", "batch"],
            {"n_permutations": 99, "groups": table["donor"], "blocks": table["batch"]},
        ),
        (
            ["--permutations", "19", "--covariate", "age", "--covariate", "sex"],
            {"n_permutations": 19, "covariates": covariates},
        ),
    ):
        code, found = score("--method", "relieff", *options)
        assert code == 0
        expected = fastfs.permutation_test(fastfs.ReliefF(), X, y, **design)
        columns = {"score": "scores", "z": "z", "pvalue": "pvalues", "pvalue_adjusted": "pvalues_adjusted"}
        for row in found["ranking"]:
            for column, field in (columns | {"pvalue_max": "pvalues_max"}).items():
                assert row[column] == pytest.approx(getattr(expected, field)[row["index"]], rel=1e-12)
        about = found["permutations"]
        for field in ("pvalue", "n_permutations", "design", "exact", "resolution", "stopped", "label_free"):
            assert about[field] == getattr(expected, field)
        assert about["statistic"] == design.get("statistic", "z")
        assert about["n_distinct"] == ("inf" if np.isinf(expected.n_distinct) else expected.n_distinct)
        amount = f"all {about['n_distinct']} labelings" if expected.exact else f"{expected.n_permutations} permutations"
        early = ", stopped early" if expected.stopped else ""
        summary = f"p = {expected.pvalue:.2g} by {amount} of {expected.design}{early}; wrote 6 features"
        assert summary in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
def test_pvalues_of_numbers_and_times(trial):
    score, table = trial
    X, months = table[[f"f{j}" for j in range(6)]].to_numpy(), table["months"].to_numpy()
    times = np.rec.fromarrays([table["died"] == 1, months], names=["event", "time"])
    for method, model, y, more in (
        ("relieff", fastfs.ReliefF(target_type="number"), months, []),
        ("rrelieff", fastfs.RReliefF(), times, ["--event", "died"]),
    ):
        options = ["--permutations", "19", "--blocks", "batch", *more]
        code, found = score("--method", method, *options, label=("--targets", "months"))
        assert code == 0
        expected = fastfs.permutation_test(model, X, y, blocks=table["batch"], n_permutations=19)
        pvalues = {row["index"]: row["pvalue_max"] for row in found["ranking"]}
        assert [pvalues[j] for j in range(6)] == expected.pvalues_max.tolist()


def test_pvalues_on_the_terminal(trial, tmp_path, capsys):
    _, table = trial
    arguments = ["score", str(tmp_path / "trial.csv"), "--label", "state", "--permutations", "19"]
    arguments += [part for name in list(table)[6:-1] for part in ("--ignore", name)]
    assert fastfs.cli.run([*arguments, "--method", "multisurf", "--turf", "1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [name.strip() for name in re.split("[┃|]", shown[1])[5:-2]] == ["pvalue_max", "direction"]
    assert "0.05" in shown[3]
    assert (
        fastfs.cli.run([*arguments, "--method", "multisurf", "--rank-by", "z", "--plot", str(tmp_path / "z.svg")]) == 0
    )
    shown = capsys.readouterr().out.splitlines()
    assert [name.strip() for name in re.split("[┃|]", shown[1])[5:-2]] == ["z", "pvalue_max", "direction"]
    z = [float(re.split("[│|]", line)[5]) for line in shown[3:9]]
    assert z == sorted(z, reverse=True)
    assert (tmp_path / "z.svg").stat().st_size > 0


def test_ranking_by_z(trial):
    score, table = trial
    X, y = table[[f"f{j}" for j in range(6)]].to_numpy(), table["state"].to_numpy(dtype=str)
    code, found = score("--method", "manifest", "--permutations", "19", "--rank-by", "z")
    assert code == 0
    expected = fastfs.permutation_test(fastfs.ManiFeSt(), X, y, n_permutations=19)
    assert [row["index"] for row in found["ranking"]] == np.argsort(-expected.z).tolist()
    assert [row["index"] for row in found["ranking"]] != np.argsort(-expected.scores).tolist()
    assert [row["rank"] for row in found["ranking"]] == [1, 2, 3, 4, 5, 6]
    assert found["permutations"]["ranking"] == "z"


def test_alpha_keeps_significant_features(trial, tmp_path, capsys):
    score, table = trial
    X, y = table[[f"f{j}" for j in range(6)]].to_numpy(), table["state"].to_numpy(dtype=str)
    expected = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=19)
    alpha = float(np.sort(expected.pvalues_max)[2])
    code, found = score("--method", "relieff", "--permutations", "19", "--alpha", str(alpha))
    assert code == 0
    order = np.argsort(-expected.scores)
    assert [row["index"] for row in found["ranking"]] == order[expected.pvalues_max[order] <= alpha].tolist()
    assert 3 <= len(found["ranking"]) < 6
    assert found["permutations"]["alpha"] == alpha
    assert f"pvalue_max <= {alpha:g} for {len(found['ranking'])}; wrote" in capsys.readouterr().err
    none = ["score", str(tmp_path / "trial.csv"), "--label", "state", "--method", "relieff"]
    none += ["--permutations", "19", "--alpha", "0.001", *(f"--ignore={name}" for name in list(table)[6:-1])]
    for out in ([], *(["--out", str(tmp_path / f"none{ending}")] for ending in (".csv", ".json", ".parquet", ".txt"))):
        assert fastfs.cli.run([*none, *out]) == 0
        assert "pvalue_max <= 0.001 for 0" in capsys.readouterr().err
    assert (tmp_path / "none.csv").read_text().splitlines()[0].startswith("rank,feature")
    assert len((tmp_path / "none.csv").read_text().splitlines()) == 1


@pytest.mark.filterwarnings("always::fastfs.DataWarning")
def test_warnings_of_a_test_come_once(trial, tmp_path, inside):
    _, table = trial
    arguments = ["score", "trial.csv", "--label", "state", "--method", "relieff", "--permutations", "19"]
    arguments += [part for name in list(table)[6:-1] for part in ("--ignore", name)]
    arguments += ["--method-option", "n_neighbors=40"]
    said = inside(*arguments, cwd=tmp_path).stderr.splitlines()
    assert [line for line in said if line.startswith("Warning: n_neighbors = 40")] == said[:1]


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--blocks", "batch"], "--blocks is for p-values: add --permutations with a number"),
        (["--covariate", "age"], "--covariate is for p-values"),
        (["--rank-by", "z"], "--rank-by is for p-values"),
        (["--permutations", "many"], "--permutations must be a number (0: no p-values) or auto; got 'many'"),
        (["--permutations", "-1"], "--permutations must be a number (0: no p-values) or auto; got '-1'"),
        (["--permutations", "9", "--statistic", "t"], "--statistic must be z or score; got 't'"),
        (["--permutations", "9", "--rank-by", "p"], "--rank-by must be z or score; got 'p'"),
        (["--alpha", "0.05"], "--alpha is for p-values"),
        (["--permutations", "9", "--alpha", "5"], "--alpha must lie between 0 and 1; got 5.0"),
        (["--permutations", "9", "--weights", "age"], "--permutations can't be combined with --weights"),
        (["--permutations", "9", "--blocks", "place"], "has no column 'place'"),
        (["--permutations", "9", "--blocks", "donor"], "no labeling but the true one is possible: all 5 samples of"),
        (["--permutations", "9", "--groups", "batch", "--blocks", "donor"], "no labeling but the true one"),
        (["--permutations", "9", "--groups", "donor", "--covariate", "age"], "covariates must be constant within"),
        (["--method", "projse", "--permutations", "9", "--rank-by", "z"], "--rank-by z doesn't work with --method"),
    ],
)
def test_permutations_refuse(trial, capsys, arguments, part):
    score, _ = trial
    method = [] if "--method" in arguments else ["--method", "relieff"]
    assert score(*method, *arguments)[0] == 2
    assert part in capsys.readouterr().err


def test_permutations_of_many_targets(trial, capsys):
    score, _ = trial
    assert score("--method", "projse", "--permutations", "9", label=("--targets", "months,age"))[0] == 2
    assert "--permutations takes no --targets with --method projse: give --label" in capsys.readouterr().err


def test_missing_values_in_a_column_of_the_design(trial, tmp_path, capsys):
    score, table = trial
    table.loc[7, "batch"] = np.nan
    table.to_csv(tmp_path / "trial.csv", index=False)
    assert score("--method", "relieff", "--permutations", "9", "--blocks", "batch")[0] == 2
    assert "Column 'batch' of" in (said := capsys.readouterr().err)
    assert "has no value in row 7" in said


def test_codes_and_missing_values(tmp_path, capsys):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 3))
    values[:, 1] = rng.integers(0, 3, 40)
    values[5, 2] = np.nan
    labels = np.repeat(["a", "b"], 20)
    file, out = tmp_path / "table.csv", tmp_path / "ranking.csv"
    pandas.DataFrame(values, columns=["x", "codes", "z"]).assign(label=labels).to_csv(file, index=False)
    arguments = ["score", str(file), "--label", "label", "--method", "multisurf", "--out", str(out)]
    assert fastfs.cli.run([*arguments, "--categorical-features", "codes", "--missing", "ignore"]) == 0
    expected = fastfs.multisurf_scores(values, labels, categorical_features=[1], missing="ignore")
    np.testing.assert_allclose([float(row["score"]) for row in read_csv(out)], np.sort(expected)[::-1], rtol=1e-9)
    capsys.readouterr()
    assert fastfs.cli.run(arguments) == 2
    message = capsys.readouterr().err
    assert "row 5, column 'z'" in message
    assert message.endswith("or choose --missing ignore.\n")
    arguments[0], arguments[4:] = "report", ["--methods", "relieff,surf", "--out", str(tmp_path / "r.html")]
    assert fastfs.cli.run(arguments) == 2
    assert capsys.readouterr().err.endswith("or choose --method-option METHOD.missing=ignore.\n")
    arguments += [f"--method-option={method}.missing=ignore" for method in ("relieff", "surf")]
    assert fastfs.cli.run([*arguments, "--permutations", "0", "--subsamples", "2"]) == 0
    score = ["score", str(file), "--label", "label", "--method", "surf"]
    assert fastfs.cli.run([*score, "--categorical-features", "kodes"]) == 2
    assert "--categorical-features holds 'kodes', which isn't a column name" in capsys.readouterr().err


def test_immigrate_prints_pairs(wine, capsys):
    file, X, y = wine
    arguments = ["score", str(file), "--label", "class", "--method", "immigrate", "--sigma", "2", "--top", "3"]
    assert fastfs.cli.run(arguments) == 0
    out, err = capsys.readouterr()
    assert "Immigrate scored 13 features of 178 samples" in err
    features, pairs = out.split("the strongest pairs of features")
    assert len(re.findall(r"\bf\d+ ", features)) == 3
    model = fastfs.Immigrate(sigma=2.0).fit(X, y)
    rows = [re.split(r"\s*[│|]\s*", line.strip("│| \n")) for line in pairs.splitlines() if re.search(r"f\d+ ", line)]
    assert [row[1:3] for row in rows] == [[f"f{a}", f"f{b}"] for a, b in model.interactions_[["a", "b"]][:10].tolist()]
    np.testing.assert_allclose([float(row[3]) for row in rows], model.interactions_["weight"][:10], rtol=1e-5)


def test_immigrate_writes_pairs_and_a_picture(wine, tmp_path, capsys):
    file, X, y = wine
    arguments = ["score", str(file), "--label", "class", "--method", "immigrate", "--sigma", "auto"]
    arguments += [
        *("--out", str(tmp_path / "r.json"), "--pairs", str(tmp_path / "p.csv"), "--plot", str(tmp_path / "r.png"))
    ]
    assert fastfs.cli.run(arguments) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"wrote 13 features to {tmp_path / 'r.json'}, 78 pairs to {tmp_path / 'p.csv'} and a picture" in err
    model = fastfs.Immigrate(sigma="auto").fit(X, y)
    assert f", with sigma = {model.sigma_:.4g}; wrote" in err
    rows = read_csv(tmp_path / "p.csv")
    assert list(rows[0]) == ["rank", "feature_a", "feature_b", "index_a", "index_b", "weight", "residual"]
    assert [(int(row["index_a"]), int(row["index_b"])) for row in rows] == model.interactions_[["a", "b"]].tolist()
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["parameters"]["sigma"] == "auto"
    assert found["sigma"] == pytest.approx(model.sigma_)
    assert len(found["pairs"]) == 78
    assert found["pairs"][0]["feature_a"] == rows[0]["feature_a"]
    np.testing.assert_allclose(found["pairs"][5]["residual"], model.interactions_["residual"][5], atol=1e-12)
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_immigrate_says_what_the_filter_kept(wine, capsys):
    file, X, y = wine
    arguments = ["score", str(file), "--label", "class", "--method", "Immigrate", "--method-option", "prefilter=im4e"]
    assert fastfs.cli.run([*arguments, "--sigma", "1"]) == 0
    kept = fastfs.Immigrate(sigma=1.0, prefilter="im4e").fit(X, y).kept_features_
    assert 0 < len(kept) < 13
    assert f", and the pairs of the {len(kept)} that IM4E kept (the others score 0).\n" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["ReliefF", "MULTISURF", "ManiFeSt"])
def test_methods_in_any_case(wine, capsys, method):
    assert fastfs.cli.run(["score", str(wine[0]), "--label", "class", "--method", method]) == 0
    assert " scored 13 features" in capsys.readouterr().err


def test_sparse_tables_are_made_dense_within_the_budget(tmp_path, capsys):
    import scipy.sparse

    matrix = scipy.sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "cells.npz", **parts, y=Y)
    arguments = ["score", str(tmp_path / "cells.npz"), "--method", "relief", "--out", str(tmp_path / "r.csv")]
    assert fastfs.cli.run(arguments) == 0
    scores = fastfs.relief_scores(matrix.toarray(), Y)
    assert [int(row["index"]) for row in read_csv(tmp_path / "r.csv")] == np.argsort(-scores, kind="stable").tolist()
    capsys.readouterr()
    assert fastfs.cli.run([*arguments, "--max-memory", "1000"]) == 2
    assert "cells.npz' expands to 1084 bytes or more, but the memory budget is 1000 bytes" in capsys.readouterr().err
    with pytest.raises(MemoryError, match="a copy of X as dense values would need 1152 bytes"):
        fastfs.relief_scores(matrix, Y, max_memory=1000)


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--method", "relieff", "--pairs", "p.csv"], "--pairs is for --method immigrate"),
        (["--method", "immigrate", "--pairs", "p.txt"], "p.txt"),
        (["--method", "immigrate", "--pairs", "p.csv", "--out", "p.csv"], "the same file"),
        (["--method", "im4e", "--sigma", "median"], "sigma must be 'auto' or a positive number"),
        (["--method", "im4e", "--sigma", "0.5,0.7"], "sigma must be 'auto' or a positive number"),
        (["--method", "relieff", "--sigma", "1"], "no option --sigma"),
        (["--method", "relieff", "--method-option", "n_neighbors=many"], "n_neighbors must be an integer"),
        (["--method", "im4e", "--method-option", "class_weight={'kind 7': 2}"], "kind 7"),
    ],
)
def test_margin_methods_refuse(wine, tmp_path, monkeypatch, capsys, arguments, part):
    monkeypatch.chdir(tmp_path)
    file, _, _ = wine
    assert fastfs.cli.run(["score", str(file), "--label", "class", *arguments]) == 2
    assert part in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


# TuRF and VLS


WRAPPED = {
    "turf": (["--turf", "0.2"], lambda inner: fastfs.TuRF(inner, step=0.2)),
    "turf by number, with top": (
        ["--turf", "3", "--top", "4"],
        lambda inner: fastfs.TuRF(inner, step=3, n_features_to_select=4),
    ),
    "more than all": (
        ["--turf", "3", "--top", "40"],
        lambda inner: fastfs.TuRF(inner, step=3, n_features_to_select=13),
    ),
    "pairs": (["--vls", "pairs"], lambda inner: fastfs.VLS(inner, subsets="pairs")),
    "random": (["--vls", "8x5"], lambda inner: fastfs.VLS(inner, n_subsets=8, subset_size=5)),
    "both": (
        ["--vls", "8x5", "--turf", "0.3"],
        lambda inner: fastfs.TuRF(fastfs.VLS(inner, n_subsets=8, subset_size=5), step=0.3),
    ),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_turf_and_vls(wine, tmp_path, capsys, kind):
    file, X, y = wine
    options, wrap = WRAPPED[kind]
    model = wrap(fastfs.ReliefF(n_neighbors=7)).fit(X, y)
    method = ["--method", "relieff", "--method-option", "n_neighbors=7"]
    for ending in ("csv", "json"):
        arguments = ["score", str(file), "--label", "class", *method, *options, "--out", str(tmp_path / f"r.{ending}")]
        assert fastfs.cli.run(arguments) == 0
    title = " around ".join(["TuRF"] * ("--turf" in options) + ["VLS"] * ("--vls" in options) + ["ReliefF"])
    said = capsys.readouterr().err
    assert said.startswith(f"{title} scored 13 features of 178 samples")
    if "--turf" in options:
        assert f") and kept {model.get_support().sum()}; wrote " in said

    best = np.argsort(model.ranking_)[: 4 if "4" in options else 13]
    rows, found = read_csv(tmp_path / "r.csv"), json.loads((tmp_path / "r.json").read_text())
    columns = ["rank", "feature", "index", "score"] + ["removed_at"] * ("--turf" in options) + DIRECTION
    assert list(rows[0]) == list(found["ranking"][0]) == columns
    for ranking in (rows, found["ranking"]):
        assert [int(row["index"]) for row in ranking] == best.tolist()
        np.testing.assert_allclose([float(row["score"]) for row in ranking], model.scores_[best], rtol=0, atol=1e-12)
        if "--turf" in options:
            assert [int(row["removed_at"]) for row in ranking] == model.removed_at_[best].tolist()
    assert found["method"] == "relieff"
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert (found.get("turf"), found.get("vls")) == (given.get("--turf"), given.get("--vls"))
    inner = "estimator__estimator" if kind == "both" else "estimator"
    assert found["parameters"][f"{inner}__n_neighbors"] == 7
    assert found["parameters"][inner] == "ReliefF"
    assert not any(name.endswith("verbose") for name in found["parameters"])


def test_turf_on_the_terminal_and_in_a_picture(wine, tmp_path, capsys):
    arguments = ["score", str(wine[0]), "--label", "class", "--method", "multisurf", "--turf", "0.3"]
    assert fastfs.cli.run([*arguments, "--plot", str(tmp_path / "r.png")]) == 0
    assert "removed_at" not in capsys.readouterr().out
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_targets_and_categories_reach_what_is_wrapped(wine, tmp_path):
    file, X, _ = wine
    arguments = ["score", str(file), "--method", "rrelieff", "--targets", "f12", "--ignore", "class", "--turf", "0.3"]
    assert fastfs.cli.run([*arguments, "--categorical-features", "f2,f5", "--out", str(tmp_path / "r.csv")]) == 0
    inner = fastfs.RReliefF(target_type="number", categorical_features=[2, 5])
    model = fastfs.TuRF(inner, step=0.3).fit(X[:, :12], X[:, 12])
    assert [int(row["index"]) for row in read_csv(tmp_path / "r.csv")] == np.argsort(model.ranking_).tolist()


@pytest.mark.parametrize("word", [word for word, method in METHODS.items() if method.classes])
def test_which_methods_can_be_wrapped(wine, capsys, word):
    """All that find nothing but a ranking."""
    finished = fastfs.cli.run(["score", str(wine[0]), "--label", "class", "--method", word, "--turf", "5"])
    said = capsys.readouterr().err
    if word in ("projse", "immigrate", "disc", "ikdr"):
        assert finished == 2
        assert "--turf is for methods that only rank: choose --method manifest or relief or" in said
    else:
        assert finished == 0
        assert "TuRF around " in said


@pytest.mark.parametrize("options", [["--vls", "pairs"], ["--vls", "8x3", "--turf", "2"]])
def test_bad_values_in_subsets_have_the_columns_of_the_file(tmp_path, capsys, options):
    bad = X.copy()
    bad[7, 4] = np.nan
    file = write_text(tmp_path / "cells.csv", bad)
    arguments = ["score", str(file), "--label", "status", "--method", "relief", *options]
    assert fastfs.cli.run(arguments) == 2
    assert "row 7, column 'g4'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, part",
    [
        (["--turf", "some"], "--turf must be a number of features, or a share of them such as 0.1; got 'some'"),
        (["--turf", "1.5"], "step as a share of the features must lie between 0 and 1; got 1.5"),
        (["--turf", "13"], "step must be below the number of features, 13; got 13"),
        (["--vls", "all"], "--vls must be pairs, or a number of subsets and their size such as 200x1000; got 'all'"),
        (["--vls", "3x"], "got '3x'"),
        (["--vls", "8x14"], "subset_size must be at most the 13 features of X; got 14"),
        (["--vls", "2x3"], "n_subsets must be at least 5"),
        (["--turf", "3", "--method-option", "step=3"], "has no parameter 'step'"),
    ],
)
def test_turf_and_vls_refuse(wine, capsys, options, part):
    assert fastfs.cli.run(["score", str(wine[0]), "--label", "class", "--method", "relieff", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_pairs(tmp_path, inside):
    """As the function finds them, on the terminal and in files."""
    write_text(tmp_path / "cells.csv")
    call = ["pairs", "cells.csv", "--label", "status", "--permutations", "99", "--seed", "3"]
    found = fastfs.differential_correlation(X, Y, n_permutations=99, random_state=3)
    finished = inside(*call, "--top", "2", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "r_healthy" in finished.stdout
    assert finished.stdout.count("│    ") >= 2
    assert finished.stderr == (
        f"Compared the pairs of 6 features of 24 samples (healthy: 12, sick: 12); p = {found.pvalue:.2g} by 99 "
        "permutations of 12 + 12 samples.\n"
    )
    finished = inside(*call, "--out", "p.csv", "--plot", "p.png", cwd=tmp_path)
    assert finished.stderr.endswith("; wrote 15 pairs to p.csv; wrote a picture to p.png.\n")
    assert (tmp_path / "p.png").stat().st_size > 10000
    table = pandas.read_csv(tmp_path / "p.csv")
    assert table[["index_a", "index_b"]].to_numpy().tolist() == found.pairs.tolist()
    assert table["feature_a"].tolist() == [NAMES[a] for a, _ in found.pairs]
    np.testing.assert_allclose(table[["r_healthy", "r_sick"]], found.correlations, rtol=1e-12)
    np.testing.assert_allclose(table["statistic"], found.statistics, rtol=1e-12)
    np.testing.assert_array_equal(table["pvalue_max"], found.pvalues_max)
    finished = inside(*call, "--out", "p.json", "--correlation", "spearman", cwd=tmp_path)
    about = json.loads((tmp_path / "p.json").read_text())
    assert (about["correlation"], about["classes"]) == ("spearman", {"healthy": 12, "sick": 12})
    assert (about["design"], about["n_distinct"], about["resolution"]) == ("12 + 12 samples", "inf", 0.01)
    assert about["pvalue"] == about["ranking"][0]["pvalue_max"]
    assert about["n_excluded_pairs"] == {"copies": 0}  # though the sick have the same order in g0 and g1
    assert len(about["ranking"]) == 15
    finished = inside(*call[:4], "--permutations", "auto", "--out", "p.json", cwd=tmp_path)
    expected = fastfs.differential_correlation(X, Y, n_permutations="auto")
    about = json.loads((tmp_path / "p.json").read_text())
    assert (about["stopped"], about["n_permutations"]) == (expected.stopped, expected.n_permutations)
    assert finished.stderr.count(", stopped early;") == expected.stopped
    assert [pair["pvalue_max"] for pair in about["ranking"]] == expected.pvalues_max.tolist()


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_pairs_warn_by_names(tmp_path, inside):
    write_text(tmp_path / "cells.csv", np.column_stack([X[:, 0], 2 * X[:, 0], X[:, 2:]]))
    call = ["pairs", "cells.csv", "--label", "status", "--permutations", "0", "--correlation", "spearman"]
    finished = inside(*call, cwd=tmp_path)
    warned = (
        "Warning: 1 pair of features is a copy, perfectly correlated alike in both classes, and is left out: columns"
    )
    assert f"{warned} 'g0' and 'g1'." in finished.stderr


def test_pairs_offer_only_what_they_take(inside, tmp_path):
    """Weights are for scores."""
    write_text(tmp_path / "cells.csv")
    for command in ("pairs", "snp-pairs"):
        helped = inside(command, "--help", cwd=tmp_path)
        assert "--classes" in helped.stdout
        assert "--weights" not in helped.stdout
        finished = inside(command, "cells.csv", "--label", "status", "--weights", "g1", cwd=tmp_path)
        assert finished.returncode == 2
        assert "No such option: --weights" in finished.stderr


def test_interactions(inside, tmp_path):
    """Pairs whose product says something about classes, numbers or times, as from the function."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 5))
    y = {
        "state": np.where(X[:, 0] * X[:, 3] > 0, "ill", "well"),
        "age": X[:, 1] * X[:, 2] + 0.1 * X[:, 4],
        "time": np.exp(-X[:, 2] * X[:, 4]),
        "died": np.arange(60) % 4 > 0,
    }
    pandas.DataFrame(X, columns=NAMES[:5]).assign(**y).to_csv(tmp_path / "study.csv", index=False)
    records = np.zeros(60, dtype=[("event", bool), ("time", float)])
    records["event"], records["time"] = y["died"], y["time"]
    for options, target, pair in (
        (["--label", "state"], y["state"], ["g0", "g3"]),
        (["--targets", "age", "--transform", "rank"], y["age"], ["g1", "g2"]),
        (["--targets", "time", "--event", "died"], records, ["g2", "g4"]),
    ):
        ignored = [part for name in y if name not in options for part in ("--ignore", name)]
        finished = inside(
            *("pairs", "study.csv", "--kind", "interaction", *options, *ignored),
            *("--permutations", 19, "--out", "pairs.json"),
            cwd=tmp_path,
        )
        assert finished.returncode == 0, finished.stderr
        written = json.loads((tmp_path / "pairs.json").read_text())
        expected = fastfs.interaction_scan(
            X, target, transform="rank" if "rank" in options else "none", n_permutations=19
        )
        assert [written["ranking"][0][f"feature_{k}"] for k in "ab"] == pair
        assert [row["statistic"] for row in written["ranking"]] == pytest.approx(expected.statistics.tolist())
        assert [row["pvalue_max"] for row in written["ranking"]] == expected.pvalues_max.tolist()
        assert written["degrees"] == list(expected.degrees)


def test_correlations_along_a_column(inside, tmp_path):
    rng = np.random.default_rng(0)
    X, age = rng.normal(size=(60, 5)), np.arange(60)
    X[:, 3] += X[:, 1] * (age - 30) / 8
    pandas.DataFrame(X, columns=NAMES[:5]).assign(age=age).to_csv(tmp_path / "study.csv", index=False)
    finished = inside(
        *("pairs", "study.csv", "--targets", "age", "--permutations", 19, "--out", "pairs.json", "--plot", "pairs.png"),
        cwd=tmp_path,
    )
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "pairs.png").stat().st_size > 10_000
    written = json.loads((tmp_path / "pairs.json").read_text())
    expected = fastfs.differential_correlation(X, age, target_type="number", n_permutations=19)
    first = written["ranking"][0]
    assert (first["feature_a"], first["feature_b"]) == ("g1", "g3")
    assert (first["r_below"], first["r_above"]) == pytest.approx(expected.correlations[0].tolist())
    assert [row["pvalue_max"] for row in written["ranking"]] == expected.pvalues_max.tolist()


def test_a_label_of_numbers_is_sent_to_targets_of_the_same_command(inside, tmp_path):
    rng = np.random.default_rng(0)
    pandas.DataFrame(rng.normal(size=(40, 4)), columns=[*"abc", "age"]).to_csv(tmp_path / "study.csv", index=False)
    finished = inside("pairs", "study.csv", "--label", "age", cwd=tmp_path)
    assert_one_sentence(finished, "or take them as numbers with --targets instead of --label")
    assert "fastfs score" not in finished.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--kind", "interactions"], "--kind must be correlation or interaction; got 'interactions'"),
        (["--transform", "rank"], "--transform is for --kind interaction"),
        (["--targets", "g1"], "--label and --targets are two targets: give one of them"),
        (["--kind", "interaction", "--targets", "g1"], "--label and --targets are two targets: give one of them"),
        (["--kind", "interaction", "--event", "g1"], "--event is for --targets, the time"),
        (["--kind", "interaction", "--correlation", "pearson"], "--correlation is for --kind correlation"),
        (["--kind", "interaction", "--plot", "p.png"], "--plot is for --kind correlation"),
        (["--kind", "interaction", "--transform", "log"], "transform must be 'none' or 'rank'"),
        (["--pairs", "cells.csv"], "--pairs is for --kind interaction"),
        (["--kind", "interaction", "--pairs", "none.tsv"], "Cannot use 'none.tsv'"),
        (["--kind", "interaction", "--pairs", "cells.csv"], "'cells.csv' must have two columns, a pair in each row"),
        (["--kind", "interaction", "--pairs", "empty.tsv"], "'empty.tsv' must hold pairs; got no row"),
        (["--kind", "interaction", "--pairs", "other.tsv"], "--pairs holds 'gene', which isn't a column name of X"),
    ],
)
def test_kinds_of_pairs_refuse_options_of_each_other(inside, tmp_path, options, words):
    write_text(tmp_path / "cells.csv")
    (tmp_path / "empty.tsv").write_text("\n")
    (tmp_path / "other.tsv").write_text("g1\tgene\n")
    finished = inside("pairs", "cells.csv", "--label", "status", *options, cwd=tmp_path)
    assert_one_sentence(finished, words)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--correlation", "kendall"], "correlation must be 'pearson' or 'spearman'; got 'kendall'"),
        (["--out", "p.txt"], "p.txt"),
        (["--out", "cells.csv"], "is the input"),
        (["--permutations", "-1"], "--permutations must be a number (0: no p-values) or auto; got '-1'"),
        (["--permutations", "0", "--blocks", "g0"], "--blocks is for p-values: add --permutations"),
        (["--ignore", "g0", *(f"--ignore=g{j}" for j in range(1, 5))], "X must have two features or more"),
    ],
)
def test_pairs_refuse(arguments, words, tmp_path, inside):
    write_text(tmp_path / "cells.csv")
    finished = inside("pairs", "cells.csv", "--label", "status", *arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert words in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
def test_labels_that_are_whole_floats(tmp_path, inside):
    """--label has said that they are classes, which are found by their numbers."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    codes = np.arange(len(X)) % 3 * 1.0
    table = pa.table(dict(zip(NAMES, X.T, strict=True)) | {"f": codes})
    parquet.write_table(table, tmp_path / "cells.parquet")
    options = ["--label", "f", "--method", "relieff"]
    for more in ([], ["--classes", "0,1"]):
        done = inside("score", "cells.parquet", *options, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    read = fastfs.io.read_table(tmp_path / "cells.parquet", label="f")
    frame = pandas.DataFrame(X, columns=NAMES).assign(f=codes)
    frame.to_csv(tmp_path / "cells.csv", index=False)  # where they are words, such as 0.0
    done = inside("score", "cells.csv", *options, "--classes", "0,1", cwd=tmp_path)
    assert (done.returncode, "0.0: 8, 1.0: 8" in done.stderr) == (0, True), done.stderr
    for classes in (["0", "1"], ["1.0", "0.0"]):
        assert set(fastfs.io.keep_classes(read, classes).y.tolist()) == {0, 1}
    with pytest.raises(ValueError, match="no class '7'"):
        fastfs.io.keep_classes(read, ["0", "7"])


def test_misspelt_method_options(table, tmp_path, inside):
    options = ["--label", "status", "--method", "relieff", "--method-option", "n_neighbours=3"]
    done = inside("score", "cells.csv", *options, cwd=tmp_path)
    assert done.returncode != 0
    assert "n_neighbors" in done.stderr


def test_a_list_of_parameters_has_their_names(table, inside, tmp_path):
    options = ["--label", "status", "--method", "relief", "--method-option", "closed_from=1"]
    said = inside("score", "cells.csv", *options, cwd=tmp_path).stderr
    assert "(it has closed_form, given, n_targets, random_state, scaling); did you mean 'closed_form'?" in said


def test_given_features(table, inside):
    assert inside(*SCORE[:-1], "projse", "--given", "g1,g4", "--out", "r.json", cwd=table.parent).returncode == 0
    found = json.loads((table.parent / "r.json").read_text())
    expected = fastfs.ProjSe(given=[1, 4]).fit(X, Y)
    scores = {row["index"]: row["score"] for row in found["ranking"]}
    np.testing.assert_allclose([scores[j] for j in range(6)], expected.scores_, rtol=1e-9)
    assert scores[1] == scores[4] == 0
    assert found["parameters"]["given"] == [1, 4]
    assert inside(*SCORE[:-1], "relieff", "--given", "g1,g4", "--out", "f.json", cwd=table.parent).returncode == 0
    found = json.loads((table.parent / "f.json").read_text())
    scores = {row["index"]: row["score"] for row in found["ranking"]}
    np.testing.assert_allclose([scores[j] for j in range(6)], fastfs.relieff_scores(X, Y, given=[1, 4]), rtol=1e-6)
    assert {row["index"] for row in found["ranking"][-2:]} == {1, 4}
    failed = inside(*SCORE[:-1], "im4e", "--given", "g1", cwd=table.parent)
    assert failed.returncode == 2
    assert "--given" in failed.stderr
    failed = inside(*SCORE[:-1], "projse", "--given", "g9", cwd=table.parent)
    assert failed.returncode == 2
    assert "--given holds 'g9'" in failed.stderr


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
def test_feature_groups(table, inside):
    (table.parent / "sets.gmt").write_text("one\tx\tg0\tg1\ntwo\tx\tg2\tunknown\nnone\tx\tother\n")
    options = ["relieff", "--permutations", "19", "--feature-groups", "sets.gmt"]
    done = inside(*SCORE[:-1], *options, "--out", "w.json", cwd=table.parent)
    assert done.returncode == 0, done.stderr
    rows = {
        row["group"]: row for row in json.loads((table.parent / "w.json").read_text())["permutations"]["feature_groups"]
    }
    expected = fastfs.permutation_test(
        fastfs.ReliefF(), X, Y, n_permutations=19, feature_groups={"one": [0, 1], "two": [2]}
    ).feature_groups
    assert [rows[name]["pvalue_max"] for name in ("one", "two")] == expected.pvalues_max.tolist()
    assert [rows[name]["n_features"] for name in ("one", "two")] == [2, 1]
    assert "best of 2 feature groups" in done.stderr + done.stdout
    lacking = "features of feature_groups that the table lacks are left out: unknown, other, and 1 group without others"
    assert lacking in done.stderr
    (table.parent / "sets.gmt").write_text("none\tx\tother\n")
    failed = inside(*SCORE[:-1], *options, cwd=table.parent)
    assert failed.returncode == 2
    assert "must name features of the table, such as " in failed.stderr
    failed = inside(*SCORE[:-1], "relieff", "--feature-groups", "sets.gmt", cwd=table.parent)
    assert "--feature-groups is for p-values" in failed.stderr
