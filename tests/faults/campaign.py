"""What may go wrong around fastfs, by search: `python -m tests.faults.campaign signals disk memory neighbours`.

signals     SIGINT, SIGTERM, SIGKILL at random times of every command that writes: a file is whole or isn't there
disk        file systems of every size, too small for a command's results: one sentence, and no piece of a file
memory      RLIMIT_AS, and a cgroup if it may be made: a call keeps within its budget and a tenth, or says what it needs
neighbours  calls beside four busy processes: how much longer they take
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# ------------------------------------------------------------------------------------------------------------- commands

SCORE = ["score", "t.csv", "--label", "y"]
FITS = [*SCORE, "--method", "relieff"]
# What each command writes.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "score csv": ([*FITS, "--out", "r.csv"], ["r.csv"]),
    "score parquet": ([*FITS, "--out", "r.parquet"], ["r.parquet"]),
    "score plot": ([*FITS, "--out", "r.json", "--plot", "r.png"], ["r.json", "r.png"]),
    "score permutations": ([*SCORE, "--method", "manifest", "--permutations", "20", "--out", "r.csv"], ["r.csv"]),
    "score pairs": ([*SCORE, "--method", "immigrate", "--out", "r.csv", "--pairs", "p.csv"], ["r.csv", "p.csv"]),
    "pairs": (["pairs", "t.csv", "--label", "y", "--permutations", "20", "--out", "p.csv"], ["p.csv"]),
    "snp-pairs": (["snp-pairs", "t.bed", "--permutations", "5", "--out", "p.json"], ["p.json"]),
    "assess": (
        ["assess", "t.csv", "--label", "y", "--methods", "relieff", "--repeats", "1", "--out", "a.csv"],
        ["a.csv"],
    ),
    "convert": (["convert", "t.h5ad", "--label", "y", "--out", "rows.h5ad"], ["rows.h5ad"]),
    "report": (
        ["report", "t.csv", "--label", "y", "--out", "r.html", "--methods", "relieff,manifest", "--permutations", "20"],
        ["r.html", "r.json", "r.csv"],
    ),
    "demo": (["demo", "--out", "demo.png"], ["demo.png"]),
}


def make_inputs(folder: Path) -> None:
    import anndata
    import pandas as pd
    import scipy.sparse

    rng = np.random.default_rng(0)
    n, d = 60, 200
    X, y = rng.normal(size=(n, d)), ["u", "v"] * (n // 2)
    X[::2, :5] += 1
    names = [f"g{j}" for j in range(d)]
    frame = pd.DataFrame(X.round(4), columns=names)
    by_columns = scipy.sparse.csc_matrix(X * (X > 0))
    anndata.AnnData(by_columns, pd.DataFrame({"y": y}, index=map(str, range(n))), pd.DataFrame(index=names)).write_h5ad(
        folder / "t.h5ad"
    )
    frame["y"] = y
    frame.to_csv(folder / "t.csv", index=False)
    bed = rng.integers(0, 256, (300, n // 4), dtype=np.uint8)
    (folder / "t.bed").write_bytes(b"\x6c\x1b\x01" + bed.tobytes())
    (folder / "t.bim").write_text("".join(f"1 rs{j} 0 {1000 + j} A G\n" for j in range(300)))
    (folder / "t.fam").write_text("".join(f"f{i} s{i} 0 0 0 {1 + i % 2}\n" for i in range(n)))


def command(name: str) -> list[str]:
    # The default action of Ctrl-C, which a shell may have set to be ignored.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import sys\n"
    return [sys.executable, "-c", code + "from fastfs.__main__ import main; sys.exit(main())", *COMMANDS[name][0]]


def is_whole(path: Path) -> bool:
    """Whether a result can be read from its first to its last byte."""
    content = path.read_bytes()
    match path.suffix:
        case ".csv":
            return content.endswith(b"\n") and len({line.count(b",") for line in content.splitlines()}) == 1
        case ".json":
            with contextlib.suppress(ValueError):
                return bool(json.loads(content))
            return False
        case ".png":
            return content.endswith(b"IEND\xaeB`\x82")
        case ".html":
            return content.rstrip().endswith(b"</html>")
        case ".parquet":
            return content[:4] == content[-4:] == b"PAR1"
        case ".h5ad":
            import anndata

            with contextlib.suppress(OSError, ValueError, KeyError):
                return anndata.read_h5ad(path).shape == (60, 200)
            return False
    raise ValueError(f"no such result: '{path}'")


# -------------------------------------------------------------------------------------------------------------- signals


def signals(seed: int = 1, minutes: float = 1.0, most: int | None = None) -> list[str]:
    """Stop each command again and again; returns the findings."""
    findings, stopped = [], Counter()
    rng = np.random.default_rng(seed)
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as place:
        inputs = Path(place, "inputs")
        inputs.mkdir()
        make_inputs(inputs)
        takes = {}
        for name in COMMANDS:
            folder = shutil.copytree(inputs, Path(place, "whole"))
            start = time.monotonic()
            finished = subprocess.run(command(name), cwd=folder, capture_output=True, text=True)
            takes[name] = time.monotonic() - start
            if finished.returncode != 0 or not all(is_whole(folder / out) for out in COMMANDS[name][1]):
                findings.append(f"{name}: it fails, or is_whole does: {finished.stderr}")
            shutil.rmtree(folder)
        while time.monotonic() < end and (most is None or sum(stopped.values()) < most):
            name = list(COMMANDS)[rng.integers(len(COMMANDS))]
            number = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL][rng.integers(3)]
            folder = shutil.copytree(inputs, Path(place, "work"))
            wrong, was_stopped = stop(
                name, number, float(rng.random()) * 1.1 * takes[name], folder, bool(rng.integers(2))
            )
            stopped[number.name, was_stopped] += 1
            findings += [f"{name}, {number.name}: {one}" for one in wrong]
            shutil.rmtree(folder)
    for (signal_name, was_stopped), n in sorted(stopped.items()):
        print(f"{signal_name}: {n} {'stopped' if was_stopped else 'too late'}")
    return findings


def stop(name: str, number: signal.Signals, after: float, folder: Path, overwrite: bool) -> tuple[list[str], bool]:
    """What is wrong after this signal at that time, and whether it came before the end."""
    outs = COMMANDS[name][1]
    if overwrite:
        for out in outs:
            (folder / out).write_text("old\n")
    before = {path.name for path in folder.iterdir()}
    wrong = []
    with subprocess.Popen(
        command(name), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(after)
        process.send_signal(number)
        try:
            _, stderr = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return ["it doesn't end within two minutes"], True
    was_stopped = process.returncode != 0
    # Until `command` has called main, the interpreter says what it likes; nobody else does, such as a worker.
    outermost = re.search(r'Traceback .*\n  File "<string>", line [12], in <module>\n', stderr)
    is_starting = "Fatal Python error: init" in stderr or (outermost is not None and ", in main\n" not in stderr)
    if was_stopped and number == signal.SIGINT and process.returncode not in (130, -2) and not is_starting:
        wrong.append(f"exit code {process.returncode}: {stderr[-2000:]}")
    if number == signal.SIGTERM and process.returncode not in (0, -15, 143):
        wrong.append(f"exit code {process.returncode}: {stderr[-2000:]}")
    if number == signal.SIGINT and "Traceback" in stderr and not is_starting:
        wrong.append(f"a traceback: {stderr[-3000:]}")
    for out in outs:
        path = folder / out
        if path.exists() and not is_whole(path) and not (overwrite and path.read_bytes() == b"old\n"):
            wrong.append(f"'{out}' is half written: {path.stat().st_size} bytes")
        if overwrite and not path.exists():
            wrong.append(f"'{out}' has vanished")
        if not was_stopped and (not path.exists() or path.read_bytes() == b"old\n"):
            wrong.append(f"it has ended well without '{out}'")
    left = {path.name for path in folder.iterdir()} - before - set(outs)
    if left and number != signal.SIGKILL:
        wrong.append(f"left behind: {sorted(left)}")
    if left and any(".fastfs-" not in one for one in left):
        wrong.append(f"left behind by a kill, under names that nobody sweeps: {sorted(left)}")
    return wrong, was_stopped


# ----------------------------------------------------------------------------------------------------------------- disk


@contextlib.contextmanager
def small_disk(kib: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", place], check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", place], check=True)


def disk(sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256, 512)) -> list[str]:
    """Each command on disks of so many KiB; returns the findings. Needs to be root."""
    findings, ended = [], Counter()
    with tempfile.TemporaryDirectory() as inputs:
        make_inputs(Path(inputs))
        for name, (_, outs) in COMMANDS.items():
            for kib in sizes:
                with small_disk(kib) as folder:
                    for path in Path(inputs).iterdir():
                        (folder / path.name).symlink_to(path)
                    before = {path.name for path in folder.iterdir()}
                    finished = subprocess.run(command(name), cwd=folder, capture_output=True, text=True)
                    left = {path.name for path in folder.iterdir()} - before
                    ended[finished.returncode] += 1
                    lines = finished.stderr.splitlines()
                    errors = [line for line in lines if line.startswith("Error: ")]
                    where = f"{name} on {kib} KiB: "
                    if finished.returncode == 0:
                        if left != set(outs) or not all(is_whole(folder / out) for out in outs):
                            findings.append(f"{where}it has ended well with {sorted(left)}")
                        continue
                    if finished.returncode != 2 or len(errors) != 1 or "Traceback" in finished.stderr:
                        findings.append(f"{where}exit code {finished.returncode}: {finished.stderr[-3000:]}")
                    elif not re.search(r"[Nn]o space left|full", errors[0]):
                        findings.append(f"{where}the message is '{errors[0]}'")
                    if pieces := [one for one in left if one not in outs or not is_whole(folder / one)]:
                        findings.append(f"{where}left behind: {pieces}")
    print(f"{sum(ended.values())} runs: {ended[0]} ended well, {ended[2]} for want of space")
    return findings


# --------------------------------------------------------------------------------------------------------------- memory

# A method on its data with a budget, within an address space or a cgroup: prints how it ended, and its peak.
CALL = """
import json, os, resource, sys
import numpy as np
import fastfs
name, budget, limit, isolated = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
rng = np.random.default_rng(0)
n, d = {"manifest": (100, 2500), "affinity": (100, 3000)}.get(name, (1500, 1500))
X, y = rng.normal(size=(n, d)), np.arange(n) % 2
small = rng.normal(size=(20, 10)), np.arange(20) % 2
def status(what):
    return next(1024 * int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(what))
of = {"relieff": "ReliefF", "im4e": "IM4E", "projse": "ProjSe", "disc": "DiSC"}
of |= {"ikdr": "IKDR", "immigrate": "Immigrate"}
more = {"projse": {"n_features_to_select": 10}, "ikdr": {"max_iter": 2}, "immigrate": {"max_iter": 2}}
more |= {"disc": {"n_components": 3}}
def call(X, y, max_memory=None):
    if name == "affinity":
        fastfs.affinity(X, sigma=10.0, n_threads=1, max_memory=max_memory)
    elif name == "manifest":
        fastfs.manifest_scores(X, y, n_threads=1, max_memory=max_memory)
    elif name == "correlation":
        fastfs.differential_correlation(X, y, n_threads=1, max_memory=max_memory)
    else:
        if name == "ikdr": X, y = X[:400, :300], y[:400]
        if name == "immigrate": X, y = X[:300, :600], y[:300]
        model = getattr(fastfs, of[name])(n_jobs=1, max_memory=max_memory, **more.get(name, {}))
        model.fit(X, X[:, :400] if name == "projse" else y)
import warnings; warnings.simplefilter("ignore")
call(*small)  # what is loaded once
before = status("VmRSS")
if isolated == "as":
    most = status("VmSize") + int(limit * budget)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
elif isolated:
    open(f"{isolated}/{sys.argv[5]}", "w").write(str(status("VmRSS") + int(limit * budget)))
    open(f"{isolated}/cgroup.procs", "w").write(str(os.getpid()))
try:
    call(X, y, max_memory=budget)
    ended = "well"
except MemoryError as error:
    ended = str(error) or "a bare MemoryError"
print(json.dumps({"ended": ended, "taken": status("VmHWM") - before}))
"""
METHODS = ("affinity", "manifest", "relieff", "im4e", "projse", "disc", "ikdr", "immigrate", "correlation")


def limit_of(folder: str | Path) -> str:
    """The name of the file with its limit."""
    return "memory.limit_in_bytes" if Path(folder).parent.name == "memory" else "memory.max"


@contextlib.contextmanager
def cgroup() -> Iterator[str | None]:
    """A folder of the memory controller, or None."""
    places = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))  # of the first version and of the second
    for place in places:
        folder = place / f"fastfs-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / limit_of(folder)).exists():
                break
            folder.rmdir()
    else:
        yield None
        return
    try:
        yield str(folder)
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


def memory(budgets: tuple[int, ...] = (8, 32, 96, 256), methods: tuple[str, ...] = METHODS) -> list[str]:
    """Each method with budgets of so many MB; returns the findings."""
    findings = []
    with cgroup() as group:
        print(f"{'method':<12} {'budget':>8} {'limited by':>10}  ended, and the peak over what was there before")
        for name in methods:
            for megabytes in budgets:
                for isolated in ("as", *([group] if group else ())):
                    budget = megabytes * 1_000_000
                    # What each call takes that doesn't grow with the data is beside the budget: see fastfs_run.
                    allowed = 1.1 + 4.5 * 2**20 / budget
                    arguments = [sys.executable, "-c", CALL, name, str(budget), str(allowed), isolated]
                    arguments += [] if isolated == "as" else [limit_of(isolated)]
                    finished = subprocess.run(arguments, capture_output=True, text=True)
                    how = "RLIMIT_AS" if isolated == "as" else "cgroup"
                    where = f"{name} within {megabytes} MB, by {how}: "
                    if finished.returncode != 0:
                        findings.append(f"{where}exit code {finished.returncode}: {finished.stderr[-2000:]}")
                        continue
                    result = json.loads(finished.stdout)
                    ended, taken = result["ended"][:60], result["taken"] / 1e6
                    print(f"{name:<12} {megabytes:>5} MB {how:>10}  {ended}, {taken:.0f} MB", flush=True)
                    if result["ended"] != "well" and "budget" not in result["ended"]:
                        findings.append(f"{where}{result['ended']}")
                    elif "the system gave no more memory" in result["ended"]:
                        findings.append(f"{where}more than the budget: {result['ended']}")
                    elif result["taken"] > allowed * budget:
                        findings.append(f"{where}{result['taken'] / 1e6:.0f} MB")
    return findings


# ----------------------------------------------------------------------------------------------------------- neighbours


def neighbours(n_busy: int = 4, rounds: int = 5) -> list[str]:
    """Time calls alone and beside busy processes, in turn; never a finding, since it's a figure."""
    import fastfs

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2000)).astype(np.float32), np.arange(2000) % 2
    wide, few = rng.normal(size=(100, 1500)), np.arange(100) % 2
    calls = {
        "affinity 2000 x 2000": lambda: fastfs.affinity(X, sigma=50.0),
        "ReliefF 2000 x 2000": lambda: fastfs.ReliefF().fit(X, y),
        "exact ManiFeSt 100 x 1500": lambda: fastfs.manifest_scores(wide, few),
    }
    times: dict[tuple[str, bool], list[float]] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            for busy in (False, True):
                others = [
                    subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy if busy else 0)
                ]
                try:
                    time.sleep(0.3 if busy else 0)
                    start = time.monotonic()
                    call()
                    times.setdefault((name, busy), []).append(time.monotonic() - start)
                finally:
                    for other in others:
                        other.kill()
                        other.wait()
    cores = len(os.sched_getaffinity(0))
    fair = (cores + n_busy) / cores  # as many threads as cores, each with its share
    for name in calls:
        alone, busy = (statistics.median(times[name, which]) for which in (False, True))
        beside = f"{busy:.2f} s beside {n_busy} busy processes"
        print(f"{name}: {alone:.2f} s alone, {beside}: {busy / alone:.1f}x ({fair:.1f}x is fair)")
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=["signals", "disk", "memory", "neighbours"])
    parser.add_argument("--minutes", type=float, default=5, help="of signals")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    findings = []
    for what in arguments.what:
        print(f"-- {what}", flush=True)
        if what == "signals":
            findings += signals(arguments.seed, arguments.minutes)
        else:
            findings += {"disk": disk, "memory": memory, "neighbours": neighbours}[what]()
    for finding in findings:
        print(f"FINDING: {finding}")
    return min(len(findings), 1)


if __name__ == "__main__":
    sys.exit(main())
