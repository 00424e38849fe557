"""Matching the lines of a labels file with the samples: seconds for 10^6 names, read and matched.

python -m benchmarks.bench_matching
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from fastfs.io._labels import read_label
from fastfs.io._matching import MatchRule, SampleFile, Samples, match_samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    n = options.names
    names = [f"AACG{i:09d}-1" for i in range(n)]
    order = np.random.default_rng(0).permutation(n).tolist()
    lines = [[names[i], "ab"[i % 2], f"donor{i % 97}", "batch1"] for i in order]
    header = ["barcode", "type", "donor", "batch"]
    samples = Samples(Path("cells.h5ad"), n, names, None, None, ["gene"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.csv")
        path.write_text("\n".join(",".join(row) for row in [header, *lines]))
        matched, whole = [], []
        for _ in range(options.repeats):
            begin = time.process_time()
            matching = match_samples(SampleFile(path, header, lines), samples, "type", ["donor"], MatchRule())
            matched.append(time.process_time() - begin)
            assert [order[line] for line in matching.lines[:100]] == [*range(100)]
            begin = time.process_time()
            read_label(path, "type", ["donor"], samples, MatchRule(), None)
            whole.append(time.process_time() - begin)
    for title, seconds in (("matching", matched), ("reading the file and matching", whole)):
        print(f"{title}, {n} names: {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
