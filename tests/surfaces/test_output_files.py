"""Output files: what is checked before the work, what a file keeps, and several writers of one path."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fastfs
from covering import rotating
from fastfs import io
from fastfs._files.paths import _LEFTOVER
from fastfs.io import write_ranking

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has neither these files nor these modes")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
RANKING = {"rank": [1, 2], "feature": ["a", "b"], "score": [0.5, 0.25]}
SCORE = ["--label", "y", "--method", "relieff"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = [",".join([*map(repr, row), "ab"[i % 2]]) for i, row in enumerate(rng.normal(size=(24, 4)).tolist())]
    file = tmp_path / "in" / "cells.csv"
    file.parent.mkdir()
    file.write_text("\n".join(["g0,g1,g2,g3,y", *rows]) + "\n")
    return file


@pytest.fixture
def unworked(monkeypatch):
    """Lets a test fail whose command begins its work."""

    def worked(*_, **__):
        raise AssertionError("the work has begun")

    monkeypatch.setattr(io, "read_table", worked)


# ------------------------------------------------------------------------------------------------------ before the work


@posix
@rotating(
    1,
    **{
        "name, reason": [
            ("n" * 252 + ".csv", "File name too long"),
            ("pipe.csv", "it is a named pipe"),
            ("loop.csv", "it is a loop of symbolic links"),
            ("socket.csv", "it is a device or socket"),
            ("loop.csv/r.csv", "there is no directory"),
        ]
    },
    command=["score", "pairs", "report"],
)
def test_what_cannot_be_written_is_refused_before_the_work(table, tmp_path, inside, unworked, command, name, reason):
    import socket

    if command == "report":
        name = name.replace("r.csv", "r.html")
    suffix = {"report": ".html"}.get(command, ".csv")
    name = name.removesuffix(".csv").removesuffix(".html") + suffix if "/" not in name else name
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"loop{suffix}").symlink_to("other")
    (tmp_path / "other").symlink_to(f"loop{suffix}")
    if "/" in name:
        (tmp_path / "loop.csv").unlink(missing_ok=True)
        (tmp_path / "loop.csv").symlink_to("loop.csv")
    with socket.socket(socket.AF_UNIX) as held:
        try:
            here = os.getcwd()
            os.chdir(tmp_path)
            held.bind(f"socket{suffix}")
        finally:
            os.chdir(here)
        before = sorted(os.listdir(tmp_path))
        options = [] if command == "report" else ["--method", "relieff"] if command == "score" else []
        finished = inside(command, table, "--label", "y", *options, "--out", tmp_path / name, cwd=tmp_path)
    assert finished.returncode == 2, finished.stderr
    assert reason in finished.stderr
    assert sorted(os.listdir(tmp_path)) == before


@posix
def test_the_longest_name_is_written(table, tmp_path, inside):
    for name in ("n" * 251 + ".csv", "é" * 125 + ".csv"):
        finished = inside("score", table, *SCORE, "--out", tmp_path / name, cwd=tmp_path)
        assert finished.returncode == 0, finished.stderr
        assert (tmp_path / name).read_text().startswith("rank,feature")


@as_root
def test_files_of_others_in_a_shared_folder_are_refused_before_the_work(tmp_path):
    tmp_path.chmod(0o1777)
    (tmp_path / "r.csv").write_text("theirs")
    os.chown(tmp_path / "r.csv", 12345, 12345)
    code = """
import os, sys
from fastfs import io
os.seteuid(23456)
try: io.check_output(sys.argv[1], [".csv"])
except ValueError as error: print(error)
"""
    for parent in [*tmp_path.parents][:3]:
        parent.chmod(0o755)
    finished = subprocess.run([sys.executable, "-c", code, tmp_path / "r.csv"], capture_output=True, text=True)
    assert "no permission to write in" in finished.stdout, finished.stderr


@posix
@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("out", ["r.json", "r.png", "r.html"])
def test_input_names_of_any_bytes(table, tmp_path, inside, out):
    source = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    try:
        os.rename(table, source)
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    if out == "r.html":
        command = ["report", source, "--label", "y", "--methods", "relieff,projse", "--permutations", "3"]
        command += ["--subsamples", "2", "--repeats", "0", "--out", out]
    else:
        command = ["score", source, *SCORE, "--plot" if out == "r.png" else "--out", out]
    if out == "r.json":
        finished = subprocess.run([sys.executable, "-m", "fastfs", *command], cwd=tmp_path, capture_output=True)
    else:
        finished = inside(*map(os.fsdecode, command), cwd=tmp_path)  # as Python decodes arguments
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / out).stat().st_size > 0
    if out == "r.json":
        assert os.fsencode(json.loads((tmp_path / out).read_text(encoding="utf-8"))["source"]) == source
    if out == "r.html":
        assert fastfs.repeat(tmp_path / "r.json").same


# --------------------------------------------------------------------------------------------------- what a file keeps


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "r.csv"
    path.write_text("old")
    path.chmod(mode)
    old = path.stat().st_mtime - 1000
    os.utime(path, (old, old))
    modes = []
    with io.replacing(path) as temporary:
        modes.append(stat.S_IMODE(temporary.stat().st_mode))
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert modes == [0o600]
    assert path.stat().st_mtime > old + 900


@posix
def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    (tmp_path / "other").touch()
    write_ranking(tmp_path / "r.csv", RANKING)
    assert (tmp_path / "r.csv").stat().st_mode == (tmp_path / "other").stat().st_mode


@as_root
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    write_ranking(path, RANKING)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@posix
def test_another_group_gets_no_more_than_everybody(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    path = tmp_path / "r.csv"
    path.write_text("old")
    path.chmod(0o664)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(path, -1, 23456)
    else:
        pytest.skip("only root gives files to other groups")
    monkeypatch.setattr(os, "chown", refused)
    write_ranking(path, RANKING)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")
def test_a_file_keeps_its_access_list(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("old")
    # Version 2; user::rw-, user:12345:r--, group::---, mask::r--, other::---, as setfacl writes them.
    entries = [(1, 6, 2**32 - 1), (2, 4, 12345), (4, 0, 2**32 - 1), (16, 4, 2**32 - 1), (32, 0, 2**32 - 1)]
    acl = b"\x02\0\0\0" + b"".join(
        tag.to_bytes(2, "little") + allowed.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, allowed, who in entries
    )
    try:
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("this file system has no access lists")
    write_ranking(path, RANKING)
    assert os.getxattr(path, "system.posix_acl_access") == acl
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


# ----------------------------------------------------------------------------------------------------- several writers


LONG = {"rank": list(range(1, 3001)), "feature": [f"g{j}" for j in range(3000)], "score": [0.5] * 3000}


def read_while(path, writers):
    """Read a file again and again until the writers end; returns the sizes that were seen."""
    sizes = set()
    while any(map(writers, range(3))):
        if path.exists():
            sizes.add(len(path.read_bytes()))
    return sizes | {len(path.read_bytes())}


def test_threads_that_write_one_path(tmp_path):
    path, errors = tmp_path / "r.csv", []

    def write():
        try:
            for _ in range(30):
                write_ranking(path, LONG)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    sizes = read_while(path, lambda k: threads[k].is_alive())
    assert errors == []
    assert len(sizes) == 1
    assert os.listdir(tmp_path) == ["r.csv"]


def test_containers_that_write_one_path(tmp_path):
    # Each is process 1 of its own; the other one's number is that of no process.
    code = """
import os, sys
from fastfs.io import write_ranking
os.getpid = lambda: 2**22 + 1
n = 3000
ranking = {"rank": list(range(1, n + 1)), "feature": [f"g{j}" for j in range(n)], "score": [.5] * n}
for _ in range(30): write_ranking(sys.argv[1], ranking)
"""
    path = tmp_path / "r.csv"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, path], stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    sizes = read_while(path, lambda k: processes[k].poll() is None)
    assert [process.communicate()[1] for process in processes] == [""] * 3
    assert [process.returncode for process in processes] == [0] * 3
    assert len(sizes) == 1
    assert os.listdir(tmp_path) == ["r.csv"]


def test_only_old_temporaries_are_swept(tmp_path):
    old, new = ".fastfs-0123456789abcdef.csv", ".fastfs-fedcba9876543210.csv"
    others = [".fastfs-1.csv", ".fastfs-notes.csv", "x.fastfs-0123456789abcdef.csv", ".fastfs-0123456789abcdef"]
    for name in (old, new, *others[:-1]):
        (tmp_path / name).touch()
    (tmp_path / others[-1]).mkdir()
    (tmp_path / "data").write_text("not ours")
    (tmp_path / f"{old}.json").symlink_to("data")
    for name in (old, *others):
        long_ago = time.time() - _LEFTOVER - 60
        os.utime(tmp_path / name, (long_ago, long_ago))
    write_ranking(tmp_path / "r.csv", RANKING)
    expected = sorted([new, *others, "data", f"{old}.json", "r.csv"])
    assert sorted(os.listdir(tmp_path)) == expected


# ------------------------------------------------------------------------------------------------- what isn't asked for


def test_standard_input_is_told_from_a_missing_file(tmp_path, inside):
    finished = inside("score", "-", *SCORE, cwd=tmp_path)
    assert finished.returncode == 2
    assert "Standard input (-) has no name that tells its format: give it with --format" in finished.stderr


def test_a_table_without_labels_is_converted(table, tmp_path, inside):
    import anndata

    finished = inside("convert", table, "--ignore", "y", "--out", "cells.h5ad", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad")
    expected = io.read_table(table, "y")
    np.testing.assert_array_equal(adata.X, expected.X)
    assert adata.var_names.tolist() == expected.feature_names
    assert adata.obs.shape == (24, 0)
    finished = inside("convert", table, "--label", "y", "--out", "cells.h5ad", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert anndata.read_h5ad(tmp_path / "cells.h5ad").obs["y"].tolist() == expected.y.tolist()


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(
    "command",
    [
        ["score", "--method", "relieff"],
        ["pairs"],
        ["snp-pairs"],
        ["report", "--methods", "relieff,projse", "--subsamples", "3", "--repeats", "0"],
    ],
)
def test_no_permutations_are_no_pvalues(tmp_path, inside, command):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", X=rng.integers(0, 3, (40, 5)), y=np.arange(40) % 2)
    out = "r.html" if command[0] == "report" else "r.csv"
    finished = inside(*command, "x.npz", "--permutations", "0", "--out", out, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "pvalue" not in (tmp_path / "r.csv").read_text()
    assert "feature" in (tmp_path / "r.csv").read_text()


# ------------------------------------------------------------------------------------------------------------- streams


def run_with(streams, *arguments, cwd):
    """The command with streams that a shell has set, such as ``2>&-``."""
    command = f'exec "$@" {streams}'
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", sys.executable, "-m", "fastfs", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
    )


@posix
@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-", "<&- >&- 2>&-"])
def test_messages_that_nobody_gets_cost_no_work(table, tmp_path, streams):
    finished = run_with(streams, "score", table, *SCORE, "--out", "r.csv", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "r.csv").read_text().startswith("rank,feature,")
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 5
    assert "Traceback" not in finished.stderr


@posix
def test_a_table_on_a_terminal_without_messages(table, tmp_path):
    finished = run_with("2>/dev/full", "score", table, *SCORE, cwd=tmp_path)
    assert finished.returncode == 0
    assert "g0" in finished.stdout


@posix
def test_errors_that_nobody_gets_keep_their_code(table, tmp_path):
    done = run_with("2>&-", "score", table, "--label", "no", "--method", "relieff", cwd=tmp_path)
    assert done.returncode == 2


@posix
def test_a_reader_of_messages_that_leaves_costs_no_work(table, tmp_path):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "fastfs", "score", table, *SCORE, "--out", "r.csv"]
    finished = subprocess.run(command, cwd=tmp_path, stderr=write)
    os.close(write)
    assert finished.returncode == 0
    assert Path(tmp_path, "r.csv").exists()


@posix
@pytest.mark.parametrize("command", [["score", "--method", "relieff"], ["pairs"]])
def test_a_result_that_nobody_sees_is_refused(table, tmp_path, command):
    finished = run_with(">&-", *command, table, "--label", "y", cwd=tmp_path)
    assert finished.returncode == 2
    assert "Standard output is closed: write the result to a file with --out" in finished.stderr
