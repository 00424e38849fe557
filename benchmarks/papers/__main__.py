"""The five papers' scripts in their quick form, and which rows differ from recorded ones by more than their error.

    FASTFS_TEST_DATA=folder python -m benchmarks.papers [manifest projse disc immigrate ikdr] [--write] [--jobs 2]

Small settings: the numbers show that nothing has changed, not what the papers' tables say. `--write` records them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks import harness
from benchmarks.papers import disc, ikdr, immigrate, manifest, projse, protocol

RECORD = Path(__file__).with_name("quick.json")
Rows = dict[str, tuple[float, float]]  # value and standard error

SCRIPTS = {
    "manifest": (manifest.main, ["xor", "limits", "printed", "rivals", "gap", "components"]),
    "projse": (projse.main, ["mnist", "series", "glioma", "gunpoint", "stability", "pairs"]),
    "disc": (disc.main, ["toy1", "toy2", "toy3", "toy4", "blocks", "mnist", "noise", "cells"]),
    "immigrate": (immigrate.main, ["noise", "small", "persons"]),
    "ikdr": (ikdr.main, ["wine", "dbworld"]),
}


def changes(recorded: Rows, found: Rows) -> list[str]:
    """A sentence for each row that is missing, new, or further from its recorded value than the larger error."""
    lines = []
    for row in sorted(recorded.keys() | found.keys()):
        if row not in found:
            lines.append(f"{row}: recorded, but not found")
        elif row not in recorded:
            lines.append(f"{row}: found, but not recorded; --write records it")
        else:
            (old, old_error), (new, new_error) = recorded[row], found[row]
            error = max(old_error, new_error)
            if abs(new - old) > error + 1e-6 * abs(old):
                lines.append(f"{row}: {new:.4g}, recorded {old:.4g}, error {error:.2g}")
    return lines


def main() -> int:
    """Run them; 1 if a row has changed."""
    parser = argparse.ArgumentParser(description="the papers' scripts in their quick form")
    parser.add_argument("names", nargs="*", choices=[*SCRIPTS, []], help="default: all")
    parser.add_argument("--write", action="store_true", help=f"record what is found in {RECORD.name}")
    parser.add_argument("--jobs", type=int, default=harness.cores(), help="processes, in scripts that use several")
    args = parser.parse_args()
    record: dict[str, Rows] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    lines, count = [], 0
    for name in args.names or SCRIPTS:
        run, experiments = SCRIPTS[name]
        jobs = [] if name in ("projse", "disc") else ["--jobs", str(args.jobs)]  # these have fastfs's threads
        protocol.KEPT.clear()
        start = time.perf_counter()
        run([*experiments, "--quick", *jobs])
        print(f"[{name}: {time.perf_counter() - start:.0f} s, {harness.load()}]\n", flush=True)
        found = {row: (round(value, 6), round(error, 6)) for row, (value, error) in protocol.KEPT.items()}
        lines += [f"{name}: {line}" for line in changes(record.get(name, {}), found)]
        count += len(found)
        record[name] = found
    if args.write:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{count} rows, {len(lines)} of them changed")
    print("\n".join(lines))
    return int(bool(lines) and not args.write)


if __name__ == "__main__":
    sys.exit(main())
