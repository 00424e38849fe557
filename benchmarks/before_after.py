"""Compare two builds of fastfs, before and after a change: every method at a typical size, on one thread.

    python -m benchmarks.before_after OLD/bin/python NEW/bin/python [ROUNDS]

Each interpreter runs all cases in turn, alternating which one comes first. Prints the CPU seconds of the fastest call
over all rounds, and the ratio new / old.
"""

import json
import subprocess
import sys
import time
import warnings

import numpy as np


def cases():
    """Name, and a call."""
    import fastfs

    rng = np.random.default_rng(0)

    def normal(n, d, dtype=np.float32):
        return rng.standard_normal((n, d)).astype(dtype)

    def fit(cls, X, y, **parameters):
        return lambda: getattr(fastfs, cls)(n_jobs=1, **parameters).fit(X, y)

    y100, y300, y1000 = (np.arange(n) % 2 for n in (100, 300, 1000))
    narrow, wide = normal(100, 1000, np.float64), normal(100, 20000)
    features = normal(64, 4000)
    cells, tall, small = normal(1000, 5000), normal(100_000, 200, np.float64), normal(8, 8, np.float64)
    yield "ManiFeSt exact, 100 x 1000", fit("ManiFeSt", narrow, y100, accuracy="exact")
    yield "ManiFeSt fast, 100 x 20000", fit("ManiFeSt", wide, y100, accuracy="low_rank")
    yield "Relief, 1000 x 5000", fit("Relief", cells, y1000)
    yield "ReliefF, 1000 x 5000", fit("ReliefF", cells, y1000)
    yield "MultiSURF, 1000 x 5000", fit("MultiSURF", cells, y1000)
    yield "IM4E, 300 x 20000", fit("IM4E", normal(300, 20000), y300, max_iter=4)
    yield "IMMIGRATE, 100 x 300", fit("Immigrate", narrow[:, :300], y100, prefilter=None)
    yield "DiSC dense, 100 x 1000", fit("DiSC", narrow, y100, graph="dense")
    yield "DiSC knn, 100 x 8000", fit("DiSC", wide[:, :8000], y100, graph="knn")
    yield "ProjSe, 1e5 x (100 + 100)", fit("ProjSe", tall[:, :100], tall[:, 100:], center=False)
    yield "ProjSe labels, 100 x 20000", fit("ProjSe", wide, y100, center=False)
    yield "IKDR, 300 x 100", fit("IKDR", normal(300, 100), np.arange(300) % 5, max_iter=10)
    counts = rng.poisson(2.0, size=(60, 2000)).astype(float)
    for name, X, labelings in (
        ("60 x 2000", normal(60, 2000, np.float64), 99),
        ("60 x 2000 counts", counts, 99),
        ("200 x 5000", normal(200, 5000, np.float64), 20),
        ("100 x 20000", wide.astype(np.float64), 3),
    ):
        yield (
            f"correlation, {name}, {labelings}",
            lambda X=X, n=labelings: fastfs.differential_correlation(
                X, np.arange(len(X)) % 2, n_permutations=n, random_state=0, n_threads=1
            ),
        )
    yield "affinity, 64 x 4000", lambda: fastfs.affinity(features, sigma=8.0, n_threads=1)
    yield "nearest features, 100 x 8000", lambda: fastfs.nearest_features(wide[:, :8000], 30, n_threads=1)
    yield "affinity, 8 x 8, 2000 calls", lambda: [fastfs.affinity(small, sigma=1.0, n_threads=1) for _ in range(2000)]


def run() -> None:
    """Print the CPU seconds of each case as JSON."""
    warnings.simplefilter("ignore")
    found = {}
    for name, call in cases():
        call()
        seconds = []
        for _ in range(3):
            start = time.process_time()
            call()
            seconds.append(time.process_time() - start)
        found[name] = min(seconds)
    json.dump(found, sys.stdout)


def main(old: str, new: str, rounds: str = "3") -> None:
    found: dict[str, list[dict[str, float]]] = {old: [], new: []}
    for turn in range(int(rounds)):
        for interpreter in (old, new) if turn % 2 == 0 else (new, old):
            done = subprocess.run([interpreter, __file__, "run"], check=True, capture_output=True, text=True)
            found[interpreter].append(json.loads(done.stdout))
    for name in found[old][0]:
        before, after = (min(turn[name] for turn in found[interpreter]) for interpreter in (old, new))
        print(f"{name:36} {before:8.4f} {after:8.4f} s   {after / before:.3f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        run()
    elif len(sys.argv) in (3, 4):
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
