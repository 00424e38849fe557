"""The command line as a user meets it: a process with arguments, files, streams and an exit code."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas
import pytest

import fastfs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 6))
Y = np.repeat(["healthy", "sick"], 12)
X[12:, 1] = X[12:, 0] + 0.1 * RNG.normal(size=12)  # g0 and g1 are tied to each other in the sick only
NAMES = [f"g{j}" for j in range(6)]


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
    assert list(rows[0]) == ["rank", "feature", "index", "score"]
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["feature"] for row in rows] == [NAMES[j] for j in order]
    assert [int(row["index"]) for row in rows] == order.tolist()
    np.testing.assert_allclose([float(row["score"]) for row in rows], expected[order], rtol=1e-9)
    assert (folder / "ranking.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == ["cells.csv", "ranking.csv", "ranking.png"]


def test_ranking_to_json_says_how_it_came_about(table):
    finished = run(
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
    assert found["classes"] == {"healthy": 12, "sick": 12}
    assert len(found["ranking"]) == found["n_features"] == 6
    expected = fastfs.manifest_scores(X, Y, sigma=(0.5, 0.75), normalize=2)
    best = found["ranking"][0]
    assert best == {"rank": 1, "feature": NAMES[best["index"]], "index": best["index"], "score": best["score"]}
    assert best["index"] == expected.argmax()
    np.testing.assert_allclose(best["score"], expected.max(), rtol=1e-9)


def test_ranking_on_stdout_holds_whole_names(tmp_path):
    long_name = "ENSG00000139618.transcript_variant_" + "x" * 120
    file = write_text(tmp_path / "long.csv", names=[long_name, *NAMES[1:]])
    finished = run("score", file, "--label", "status", "--method", "manifest", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert long_name in finished.stdout
    for name in NAMES[1:]:
        assert name in finished.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


def test_tsv_and_npz_give_what_csv_gives(table):
    folder = table.parent
    write_text(folder / "cells.tsv", separator="\t")
    np.savez(folder / "cells.npz", X=X, y=Y, feature_names=NAMES)
    expected = fastfs.manifest_scores(X, Y)
    for file, label in (("cells.csv", "status"), ("cells.tsv", "status"), ("cells.npz", None)):
        chosen = ["--label", label] if label else []
        finished = run("score", file, *chosen, "--method", "manifest", "--out", f"{file}.out.csv", cwd=folder)
        assert finished.returncode == 0, finished.stderr
        rows = read_csv(folder / f"{file}.out.csv")
        assert [row["feature"] for row in rows] == [NAMES[j] for j in np.argsort(-expected)]
        np.testing.assert_allclose([float(row["score"]) for row in rows], np.sort(expected)[::-1], rtol=1e-9)


def test_options_reach_the_method(table):
    for options, parameters in (
        (["--sigma-factor", 0.1], {"sigma_factor": 0.1}),
        (["--sigma-percentile", 90], {"sigma": "percentile", "sigma_percentile": 90.0}),
        (["--ignore", "g2", "--ignore", "g5"], {}),
    ):
        finished = run(
            *("score", table, "--label", "status", "--method", "manifest", "--out", "r.csv", *options), cwd=table.parent
        )
        assert finished.returncode == 0, finished.stderr
        keep = [0, 1, 3, 4] if "--ignore" in options else list(range(6))
        expected = np.sort(fastfs.manifest_scores(X[:, keep], Y, **parameters))[::-1]
        found = [float(row["score"]) for row in read_csv(table.parent / "r.csv")]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


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


def test_version_and_help(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.strip() == fastfs.__version__
    bare = run(cwd=tmp_path)
    assert bare.returncode == 0
    for command in ("score", "demo", "info"):
        assert command in bare.stdout
    assert "--label" in run("score", "--help", cwd=tmp_path, env={**os.environ, "COLUMNS": "200"}).stdout


def test_warnings_are_one_line_each(table):
    script = """
import warnings, fastfs
fit = fastfs.ManiFeSt.fit
def warned(self, X, y):
    warnings.warn("g5 is\\n constant.", fastfs.DataWarning)
    return fit(self, X, y)
fastfs.ManiFeSt.fit = warned
"""
    finished = run(
        "score", table, "--label", "status", "--method", "manifest", "--out", "r.csv", cwd=table.parent, script=script
    )
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
    "no feature": (lambda path: write_text(path, X[:, :0], names=[]), [], ["no feature column"]),
    "no numbers": (
        lambda path: write_text(path, names=NAMES).write_text("a,b,status\n1,x7,u\n2,3,v\n"),
        [],
        ["'b'", "x7", "--ignore"],
    ),
    "names twice": (lambda path: write_text(path, names=["g0", *NAMES[:5]]), [], ["'g0'"]),
    "label missing": (lambda path: write_text(path, y=["", *Y[1:]]), [], ["'status'", "row 0"]),
    "no table": (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff"), [], ["no table"]),
    "ragged": (lambda path: path.write_text("a,b,status\n1,2,u\n1,2,v,9\n"), [], ["no table", "line 3"]),
    "prose": (lambda path: path.write_text("Dear Sir\nplease find enclosed\n"), [], ["'status'"]),
    "empty": (lambda path: path.write_bytes(b""), [], ["empty"]),
    "header only": (lambda path: path.write_text("a,b,status\n"), [], ["no samples"]),
    "no file": (lambda path: None, [], ["no file"]),
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
    "wrong ending": (write_text, ["--out", "r.xlsx"], [".csv or .json"]),
    "wrong picture": (write_text, ["--plot", "r.csv"], [".png"]),
    "no such folder": (write_text, ["--out", "nowhere/r.csv"], ["nowhere"]),
    "onto the input": (write_text, ["--out", "bad.csv"], ["input"]),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_input(case, tmp_path):
    make, options, parts = BAD_TABLES[case]
    file = tmp_path / "bad.csv"
    make(file)
    before = file.read_bytes() if file.is_file() else None
    defaults = ["--label", "status", "--method", "manifest", "--out", "r.csv"]
    finished = run("score", file, *defaults, *options, cwd=tmp_path)
    assert_one_sentence(finished, *parts)
    assert [path.name for path in tmp_path.iterdir()] == ([] if case == "no file" else ["bad.csv"])
    assert before is None or file.read_bytes() == before


def test_labels_of_another_length(tmp_path):
    np.savez(tmp_path / "bad.npz", X=X, y=Y[:-1])
    finished = run("score", "bad.npz", "--method", "manifest", "--out", "r.csv", cwd=tmp_path)
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
        ("pandas", "cli", ["score", "cells.csv", "--label", "status", "--method", "manifest"]),
        ("matplotlib", "plot", ["score", "cells.csv", "--label", "status", "--method", "manifest", "--plot", "r.png"]),
        ("matplotlib", "plot", ["demo"]),
    ],
)
def test_missing_extra(module, extra, arguments, table):
    finished = run(*arguments, cwd=table.parent, script=without(module))
    assert_one_sentence(finished, module, f"python -m pip install 'scikit-fastfs[{extra}]'")
    assert [path.name for path in table.parent.iterdir()] == ["cells.csv"]


def test_npz_without_pandas(tmp_path):
    np.savez(tmp_path / "cells.npz", X=X, y=Y)
    finished = run("score", "cells.npz", "--method", "manifest", cwd=tmp_path, script=without("pandas", "matplotlib"))
    assert finished.returncode == 0, finished.stderr
    assert "x0" in finished.stdout


INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"


def test_ctrl_c_during_the_work(tmp_path):
    # The signal comes from the progress callback, neither before the core is at work nor after. The table is wide
    # because the callback is called at most 20 times a second, and never in a short call.
    script = f"""
{INTERRUPTIBLE}
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


def test_a_fault_of_ours_is_not_blamed_on_the_user(table):
    script = "import fastfs\ndef broken(self, X, y): raise KeyError('ours')\nfastfs.ManiFeSt.fit = broken"
    finished = run("score", table, "--label", "status", "--method", "manifest", cwd=table.parent, script=script)
    assert finished.returncode == 1
    assert "Traceback" in finished.stderr
