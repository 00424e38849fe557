"""Do the five papers hold? Each claim: reproduced, not reproduced or not available, with both numbers.

    python -m benchmarks.papers [names ...]                              by the recorded measurements
    FASTFS_TEST_DATA=folder python -m benchmarks.papers --quick [names]  measured now, by fewer repetitions
    FASTFS_TEST_DATA=folder python -m benchmarks.papers --full [NAME[:EXPERIMENT] ...]  measured now, and recorded
    python -m benchmarks.papers --page                                   writes docs/papers.md and rows.md from it

`claims` has the claims and how each is judged; the rows of the scripts have our numbers. The quick form shows that all
runs, and which verdicts its wider errors leave. The record has, beside the rows of each experiment, when, on which
commit and with which options it was run; nothing in it is typed by hand, and it is written after each experiment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joblib.externals.loky import get_reusable_executor

from benchmarks import harness
from benchmarks.papers import claims, disc, ikdr, immigrate, manifest, projse, protocol

Record = dict[str, dict[str, dict[str, Any]]]  # paper, experiment, "run" or "rows"

RECORD = Path(__file__).with_name("measured.json")
PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
ROWS = Path(__file__).with_name("rows.md")
MAINS = {
    "manifest": manifest.main,
    "projse": projse.main,
    "disc": disc.main,
    "immigrate": immigrate.main,
    "ikdr": ikdr.main,
}
QUICK = {
    "manifest": [
        "xor",
        "hypercube",
        "cube",
        "limits",
        "printed",
        "table",
        "rivals",
        "gap",
        "colon",
        "madelon",
        "prostate",
    ],
    "projse": ["scaling", "seconds", "mnist", "series", "glioma", "carcinoma", "stability"],
    "disc": ["toy1", "toy2", "toy3", "toy4", "blocks", "mnist", "noise", "cells"],
    "immigrate": ["noise", "printed", "persons"],
    "ikdr": ["sonar", "dbworld", "yale", "mkl"],
}

FULL = {
    "manifest": [*QUICK["manifest"], "madelon-5", "digits"],
    "projse": [*QUICK["projse"], "mixing"],
    "disc": [*QUICK["disc"], "defaults"],
    "immigrate": [
        "noise",
        *(name for name in immigrate.EXPERIMENTS if name.startswith("printed/")),
        "others",
        "genes",
        "persons",
        "colon",
        "prostate",
        "starts",
    ],
    "ikdr": ["sonar", "colon", "dbworld", "cns", "yale", "comp", "mkl", "comp-features"],
}


def commit() -> str:
    """The commit of this tree, with a plus sign if code was changed since; nothing outside of a repository."""
    git = ["git", "-C", str(Path(__file__).parent)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode:
        return ""
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", ":/*.py", ":/*.[ch]pp"], capture_output=True, check=False
    ).returncode
    return head.stdout.strip() + ("+" if changed else "")


def measure(paper: str, experiment: str, arguments: list[str]) -> dict[str, Any]:
    """The rows of one experiment, and how they were made."""
    protocol.KEPT.clear()
    begun = datetime.now(UTC)
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    MAINS[paper]([experiment, *arguments])
    get_reusable_executor().shutdown(wait=True)  # so that its processes have ended, and count
    wall, cpu = time.perf_counter() - wall, sum(os.times()[:4]) - cpu
    print(f"[{paper} {experiment}: {wall:.0f} s, {cpu:.0f} s of CPU, {harness.load()}]\n", flush=True)
    run = {
        "begun": begun.strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "options": " ".join(arguments),
        "cpu_seconds": round(cpu),
        "seconds": round(wall),
    }
    rows = {row: (float(f"{value:.7g}"), float(f"{error:.7g}"), n) for row, (value, error, n) in protocol.KEPT.items()}
    return {"run": run, "rows": rows}


def read(path: Path) -> Record:
    """The record, or an empty one."""
    record: Record = json.loads(path.read_text()) if path.exists() else {}
    return record


def main() -> int:
    """Measure or read, then print."""
    parser = argparse.ArgumentParser(description="do the papers hold?")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MAINS)}; with --full also NAME:EXPERIMENT")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="measure now, by fewer repetitions")
    how.add_argument("--full", action="store_true", help="measure now, and record")
    how.add_argument("--page", action="store_true", help=f"write {PAGE.name} and {ROWS.name}")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file of the recorded measurements")
    parser.add_argument("--jobs", type=int, default=harness.cores(), help="processes, in scripts that use several")
    args = parser.parse_args()
    names = args.names or list(MAINS)
    unknown = {name.partition(":")[0] for name in names} - set(MAINS)
    if unknown:
        parser.error(f"no paper is named {', '.join(sorted(unknown))}; there are {', '.join(MAINS)}")
    record = {} if args.quick else read(args.record)
    cpu = 0
    if args.quick or args.full:
        for name in names:
            paper, _, experiment = name.partition(":")
            jobs = [] if paper in ("projse", "disc") else ["--jobs", str(args.jobs)]  # these have fastfs's threads
            for one in [experiment] if experiment else (QUICK if args.quick else FULL)[paper]:
                found = measure(paper, one, [*jobs, *(["--quick"] if args.quick else [])])
                cpu += found["run"]["cpu_seconds"]
                if args.full:
                    record = read(args.record)  # which another process may have written to
                record.setdefault(paper, {})[one] = found
                if args.full:
                    args.record.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        print(f"[all: {cpu} s of CPU]")
    if args.page:
        PAGE.write_text(claims.page(record))
        ROWS.write_text(claims.all_rows(record))
    else:
        print(claims.listing(record, {name.partition(":")[0] for name in names}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
