"""Compare two builds of fastfs, before and after a change: every method at a typical size, on one thread.

    python -m benchmarks.before_after OLD/bin/python NEW/bin/python [ROUNDS [PART OF A NAME ...]]

Each interpreter runs all cases, or those with a part of their name, in turn, alternating which one comes first. Prints
the CPU seconds of the fastest call over all rounds, and the ratio new / old.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse


def cases(folder):
    """Yield the name of each case and a call; files are written to `folder`."""
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
    for name in ("SURF", "SWRF", "MuRelief"):
        yield f"{name}, 500 x 5000", fit(name, cells[:500], y1000[:500])
    yield "RReliefF, 500 x 5000", fit("RReliefF", cells[:500], cells[:500, 0].astype(np.float64))
    yield "ReliefF, 200 x 20000 float64", fit("ReliefF", normal(200, 20000, np.float64), y1000[:200])
    gaps = np.where(rng.random((500, 2000)) < 0.05, np.nan, normal(500, 2000))
    yield "ReliefF with gaps, 500 x 2000", fit("ReliefF", gaps, y1000[:500], missing="ignore")
    codes = rng.integers(0, 4, (500, 2000)).astype(float)
    yield "ReliefF of categories, 500 x 2000", fit("ReliefF", codes, y1000[:500], categorical_features="all")
    sparse = scipy.sparse.random_array((2000, 5000), density=0.05, format="csr", rng=rng)
    yield "ReliefF sparse, 1000 x 5000", fit("ReliefF", sparse[:1000], y1000)
    blocks = [normal(1000, 1000)] * 5
    yield (
        "ReliefF in blocks, 5000 x 1000, 500 targets",
        fit("ReliefF", lambda: iter(blocks), np.arange(5000) % 2, n_targets=500),
    )
    dosages = rng.integers(0, 3, (1000, 5000)).astype(np.int8)
    genotypes = fastfs.io.pack_genotypes(dosages)
    yield "ReliefF of genotypes, 1000 x 5000", fit("ReliefF", genotypes, y1000)
    yield "snp_pairs, 1000 x 1000", lambda: fastfs.snp_pairs(dosages[:, :1000].astype(float), y1000, n_threads=1)
    yield "IM4E, 300 x 20000", fit("IM4E", normal(300, 20000), y300, max_iter=4)
    yield "IMMIGRATE, 100 x 300", fit("Immigrate", narrow[:, :300], y100, prefilter=None)
    yield "ManiFeSt spd, 100 x 500", fit("ManiFeSt", narrow[:, :500], y100, form="spd")
    yield "DiSC dense, 100 x 1000", fit("DiSC", narrow, y100, graph="dense")
    yield "DiSC knn, 100 x 8000", fit("DiSC", wide[:, :8000], y100, graph="knn")
    yield "ProjSe, 1e5 x (100 + 100)", fit("ProjSe", tall[:, :100], tall[:, 100:], center=False)
    yield "ProjSe labels, 100 x 20000", fit("ProjSe", wide, y100, center=False)
    yield "ProjSe rbf, 300 x 2000", fit("ProjSe", cells[:300, :2000], cells[:300, 2000:2020], kernel="rbf")
    yield "ProjSe CSR, 2000 x 5000", fit("ProjSe", sparse, np.arange(2000) % 2, center=False)
    yield "ProjSe CSC, 2000 x 5000", fit("ProjSe", sparse.tocsc(), np.arange(2000) % 2, center=False)
    yield "DiSC lists, 100 x 8000", fit("DiSC", wide[:, :8000], y100, graph="lists")
    yield "IKDR, 300 x 100", fit("IKDR", normal(300, 100), np.arange(300) % 5, max_iter=10)
    for name in ("ReliefF", "ProjSe", "IM4E"):
        model = getattr(fastfs, name)(n_jobs=1)
        yield (
            f"permutation_test of {name}, 60 x 2000, 99",
            lambda model=model: fastfs.permutation_test(model, wide[:60, :2000], y100[:60], n_permutations=99),
        )
        yield (
            f"stability of {name}, 60 x 2000, 20",
            lambda model=model: fastfs.stability(model, wide[:60, :2000], y100[:60], n_subsamples=20),
        )
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
    y_tall = np.arange(100_000) % 2
    for name in ("ProjSe", "ManiFeSt"):
        yield f"{name} in blocks, 1e5 x 200", fit(name, lambda: iter(np.array_split(tall, 10)), y_tall)
    yield (
        "projse_two_view, 1e5 x (100 + 100)",
        lambda: fastfs.projse_two_view(tall[:, :100], tall[:, 100:], n_threads=1),
    )
    yield "MultiSURF of genotypes, 500 x 5000", fit("MultiSURF", genotypes[:500], y1000[:500])
    yield "IM4E of genotypes, 300 x 5000", fit("IM4E", genotypes[:300], y300, max_iter=4)
    yield "pack_genotypes, 1000 x 5000", lambda: fastfs.io.pack_genotypes(dosages)
    yield "ld_clumps, 1000 x 2000", lambda: fastfs.ld_clumps(genotypes[:, :2000], np.arange(2000.0), n_threads=1)
    path = os.path.join(folder, "table.csv")
    with open(path, "w") as file:
        file.write(",".join(["class", *(f"g{j}" for j in range(5000))]) + "\n")
        for i, row in enumerate(cells[:200]):
            file.write(",".join(["ab"[i % 2], *(f"{x:.6g}" for x in row)]) + "\n")
    yield "read_table, CSV of 200 x 5000", lambda: fastfs.io.read_table(path, "class")
    yield (
        "ikdr_path, 100 x 100, 3 limits",
        lambda: fastfs.ikdr_path(narrow[:, :100], y100, (0.1, 1.0, 10.0), max_iter=10),
    )
    relieff = fastfs.ReliefF(n_jobs=1)
    yield "shuffled_twin of ReliefF, 60 x 2000", lambda: fastfs.shuffled_twin(relieff, wide[:60, :2000], y100[:60])
    table = normal(100, 50, np.float64)
    for name in ("ReliefF", "ProjSe", "IM4E"):
        function, model = getattr(fastfs, f"{name.lower()}_scores"), getattr(fastfs, name)(5, n_jobs=1)
        yield f"{name}, 100 x 50, 50 fits", lambda model=model: [model.fit(table, y100) for _ in range(50)]
        yield (
            f"{function.__name__}, 100 x 50, 50 calls",
            lambda function=function: [function(table, y100, n_threads=1) for _ in range(50)],
        )
    yield "affinity, 64 x 4000", lambda: fastfs.affinity(features, sigma=8.0, n_threads=1)
    yield "nearest features, 100 x 8000", lambda: fastfs.nearest_features(wide[:, :8000], 30, n_threads=1)
    yield "affinity, 8 x 8, 2000 calls", lambda: [fastfs.affinity(small, sigma=1.0, n_threads=1) for _ in range(2000)]


def run(parts: list[str]) -> None:
    """Print the CPU seconds of each case as JSON; of those that have one of `parts` in their name, if there are any."""
    warnings.simplefilter("ignore")
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in cases(folder):
            if parts and not any(part in name for part in parts):
                continue
            try:
                call()
            except (AttributeError, TypeError, ValueError) as error:  # an older build may lack the option
                print(f"{name}: {error}", file=sys.stderr)
                continue
            seconds: list[float] = []
            while len(seconds) < 3 or (len(seconds) < 50 and sum(seconds) < 0.3):
                start = time.process_time()
                call()
                seconds.append(time.process_time() - start)
            least[name] = min(seconds)
    json.dump(least, sys.stdout)


def main(old: str, new: str, rounds: str = "3", *parts: str) -> None:
    seconds: dict[str, list[dict[str, float]]] = {old: [], new: []}
    for turn in range(int(rounds)):
        for interpreter in (old, new) if turn % 2 == 0 else (new, old):
            done = subprocess.run([interpreter, __file__, "run", *parts], check=True, capture_output=True, text=True)
            seconds[interpreter].append(json.loads(done.stdout))
    for name in (name for name in seconds[new][0] if name in seconds[old][0]):
        before, after = (min(turn[name] for turn in seconds[interpreter]) for interpreter in (old, new))
        print(f"{name:44} {before:8.4f} {after:8.4f} s   {after / before:.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif len(sys.argv) > 2:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
