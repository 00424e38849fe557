"""What an installation costs: the time of ``import fastfs``, the size of the wheel, and the tutorials in what it makes.

python -m benchmarks.bench_install [--repeats 31] [--no-wheel] [--tutorials]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median

from benchmarks import harness
from benchmarks.harness import Report

# Timed inside the fresh process: starting an interpreter costs as much as the import, and varies more.
IMPORT_BOTH = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import fastfs
print(middle - start, time.perf_counter() - middle)
"""


ROOT = Path(__file__).resolve().parents[1]


def import_seconds(folder: str) -> tuple[float, float]:
    """Seconds of ``import numpy`` in a fresh process, and of ``import fastfs`` after it."""
    done = subprocess.run([sys.executable, "-c", IMPORT_BOTH], check=True, capture_output=True, text=True, cwd=folder)
    numpy_, fastfs_ = map(float, done.stdout.split())
    return numpy_, fastfs_


def process_seconds(program: str, folder: str) -> float:
    """Wall seconds of a whole fresh process."""
    return harness.measure(
        lambda: subprocess.run([sys.executable, "-c", program], check=True, cwd=folder), 1, warm_up=False
    ).wall[0]


def wheel_bytes(folder: str) -> dict[str, int]:
    """Size of the wheel and of the files in it, built from this repository."""
    import zipfile

    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--wheel-dir", folder]
    subprocess.run(command, check=True)
    (wheel,) = Path(folder).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    return {"wheel": wheel.stat().st_size, "unpacked": unpacked}


def tutorials(report: Report, folder: str) -> None:
    """Each tutorial as a reader would follow it, in a new environment that has the wheel, its extras and scanpy."""
    (wheel,) = Path(folder).glob("*.whl")
    home = Path(folder) / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{wheel}[all]", "scanpy"], check=True)
    report.heading(f"tutorials in a new environment, {harness.load()}")
    environment = os.environ | {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "agg"}
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        with tempfile.TemporaryDirectory() as empty:
            text = path.read_text(encoding="utf-8")
            shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
            examples = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], False).failed)"
            before, start = os.times(), time.perf_counter()
            for command in (["bash", "-e", "-c", shell], [str(python), "-c", examples, str(path)]):
                ran = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
                if ran.returncode:
                    raise RuntimeError(f"{path.name} failed:\n{ran.stdout}{ran.stderr}")
            wall, after = time.perf_counter() - start, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        report.row(path.name, wall, at_most=45, unit=" s", note=f"{cpu:.1f} s of CPU")


def main() -> int:
    """Run all parts; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="import time and wheel size")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--no-wheel", action="store_true", help="skip building the wheel (about a minute)")
    parser.add_argument("--tutorials", action="store_true", help="time them; needs the wheel and a compiler")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:  # an empty folder: the installed package is imported, not this tree
        report.heading(f"import, {args.repeats} fresh processes, {harness.load()}")
        import_seconds(folder)  # fills the file cache and writes the byte code
        inside, plain, both = [], [], []
        for _ in range(args.repeats):
            inside.append(import_seconds(folder))
            plain.append(process_seconds("import numpy", folder))
            both.append(process_seconds("import numpy, fastfs", folder))
        ours = [f for _, f in inside]
        spread = f"{harness.seconds(min(ours))} .. {harness.seconds(max(ours))}"
        report.row("import numpy", median(n for n, _ in inside), unit=" s")
        report.row("import fastfs after it", median(ours), unit=" s", at_most=0.05, note=spread)
        report.row("whole process with fastfs, less without", median(both) - median(plain), unit=" s")
        if not args.no_wheel:
            report.heading("wheel")
            sizes = wheel_bytes(folder)
            report.row("wheel", sizes["wheel"] / 1e6, unit=" MB", at_most=2.0)
            report.row("unpacked", sizes["unpacked"] / 1e6, unit=" MB")
            if args.tutorials:
                tutorials(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
