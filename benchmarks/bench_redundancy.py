"""Features that repeat each other: clumps against PLINK's, and how many different features a short list has.

python -m benchmarks.bench_redundancy [--sets 50] [--dropped] [--groups [--sizes 60x2000 ...]] [--given-weights]

``--groups``: recall of five groups of ten redundant features of two classes among ten chosen ones, by ProjSe and
fastcan (`pip install fastcan==0.6.0`), and the CPU time of both on one thread. Floor: a product of X with a vector for
the target and for each of the ten choices.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import f_classif

import fastfs
from benchmarks import harness
from fastfs.io import Genotypes, pack_genotypes

N_KINDS, N_COPIES, N_NOISE = 10, 5, 150


def in_disequilibrium(n: int, p: int, seed: int = 0) -> tuple[Genotypes, np.ndarray]:
    """SNPs 1 kb apart whose haplotypes are mosaics of eight founders, in runs of 25 SNPs on average."""
    rng = np.random.default_rng(seed)
    founders = rng.random((8, p)) < rng.uniform(0.1, 0.9, p)
    switches = rng.random((2 * n, p)) < 1 / 25
    switches[:, 0] = True
    begun = np.maximum.accumulate(np.where(switches, np.arange(p), 0), axis=1)
    founder = np.take_along_axis(rng.integers(0, 8, (2 * n, p)), begun, axis=1)
    haplotypes = founders[founder, np.arange(p)].astype(np.int8)
    return pack_genotypes(haplotypes[:n] + haplotypes[n:], position=1000 * np.arange(1, p + 1)), rng.random(p)


def with_errors(n: int, p: int, seed: int = 0) -> tuple[Genotypes, np.ndarray]:
    """SNPs in blocks of ten copies, 1 kb apart, in which one call in 20 is another one's: the limit lies within."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.binomial(2, rng.uniform(0.05, 0.5, p // 10), (n, p // 10)), 10, axis=1).astype(np.int8)
    wrong = rng.random(X.shape) < 0.05
    X[wrong] = rng.permuted(X, axis=0)[wrong]
    return pack_genotypes(X, position=1000 * np.arange(1, p + 1)), rng.random(p)


def plink_clumps(G: Genotypes, scores: np.ndarray, r2: float) -> int | None:
    """The number of clumps that PLINK 1.9 makes of the same ranking; None if it isn't there."""
    program = shutil.which("plink1.9") or shutil.which("plink")
    if program is None:
        return None
    n, p = G.shape
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder, "study")
        stem.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + G.bits.tobytes())
        stem.with_suffix(".bim").write_text("".join(f"1 rs{j} 0 {G.position[j]} A G\n" for j in range(p)))
        stem.with_suffix(".fam").write_text("".join(f"f{i} s{i} 0 0 1 {1 + i % 2}\n" for i in range(n)))
        pvalues = np.argsort(np.argsort(-scores)) / p
        stem.with_suffix(".assoc").write_text(
            "SNP P\n" + "".join(f"rs{j} {v!r}\n" for j, v in enumerate(pvalues.tolist()))
        )
        options = f"--bfile {stem} --clump {stem}.assoc --clump-p1 1 --clump-p2 1 --clump-r2 {r2} --out {stem}"
        subprocess.run([program, *options.split()], capture_output=True, check=True)
        return sum(bool(line.strip()) for line in stem.with_suffix(".clumped").read_text().splitlines()) - 1


def clumps() -> None:
    print("clumps of 3000 SNPs, 1000 samples, window 250 kb: fastfs, PLINK 1.9 --clump")
    for name, make in (("mosaics of haplotypes", in_disequilibrium), ("copies with wrong calls", with_errors)):
        G, scores = make(1000, 3000)
        for r2 in (0.2, 0.5, 0.8):
            ours = len(fastfs.ld_clumps(G, scores, r2=r2).leads)
            print(f"  {name}, r2 {r2}: {ours}, {plink_clumps(G, scores, r2) or 'PLINK is not on this machine'}")
    print("independent SNPs, 1000 samples, seconds with positions 1 kb apart, and without")
    for p in (5000, 10_000, 20_000):
        X = np.random.default_rng(0).binomial(2, 0.3, (1000, p)).astype(np.int8)
        took = []
        for position in (1000 * np.arange(p), None):
            packed = pack_genotypes(X, position=position)
            begin = time.process_time()
            fastfs.ld_clumps(packed, np.arange(p), n_threads=1)
            took.append(time.process_time() - begin)
        print(f"  {p}: {took[0]:.3g}, {took[1]:.3g}")


def with_copies(seed: int, n_classes: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Ten kinds of features that shift with the class, each more weakly, in five noisy copies; and noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, N_KINDS)) if n_classes > 2 else np.array([[-0.5], [0.5]]) * np.ones(N_KINDS)
    kinds = centres[y] * np.linspace(1.5, 0.8, N_KINDS) + rng.normal(size=(n, N_KINDS))
    copies = np.repeat(kinds, N_COPIES, axis=1) + 0.3 * rng.normal(size=(n, N_KINDS * N_COPIES))
    return np.hstack([copies, rng.normal(size=(n, N_NOISE))]), y


def short_lists(n_sets: int) -> None:
    """How many different kinds are among the best five, and among the best ten."""
    methods = {
        "ANOVA": None,
        "ProjSe": fastfs.ProjSe(),
        "IKDR": fastfs.IKDR(),
        "IM4E": fastfs.IM4E(),
        "Immigrate": fastfs.Immigrate(),
        "ReliefF": fastfs.ReliefF(),
        "MultiSURF": fastfs.MultiSURF(),
        "ManiFeSt": fastfs.ManiFeSt(),
    }
    for n_classes in (2, 11):
        print(f"{n_classes} classes, 200 x {N_KINDS * N_COPIES + N_NOISE}, {n_sets} sets: kinds among the best 5, 10")
        orders: dict[str, list[np.ndarray]] = {name: [] for name in methods}
        for seed in range(n_sets):
            X, y = with_copies(seed, n_classes)
            for name, method in methods.items():
                if method is None:
                    orders[name].append(np.argsort(-f_classif(X, y)[0], kind="stable"))
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    orders[name].append(np.argsort(method.fit(X, y).ranking_))
        for name, found in orders.items():
            kinds = [
                np.mean([len({j // N_COPIES for j in o[:k] if j < N_KINDS * N_COPIES}) for o in found]) for k in (5, 10)
            ]
            same = np.mean([np.array_equal(a, b) for a, b in zip(found, orders["ANOVA"], strict=True)])
            print(f"  {name:<10} {kinds[0]:.1f} {kinds[1]:.1f}   ANOVA's order in {same:.0%}", flush=True)


def without_repetitions(X: np.ndarray, ranking: np.ndarray, n: int, limit: float = 0.7) -> list[int]:
    """The best n features of which none correlates above the limit with a better one."""
    chosen: list[int] = []
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in np.argsort(ranking):
        if len(chosen) == n:
            break
        if not chosen or np.abs(Z[:, chosen].T @ Z[:, j]).max() < limit * len(X):
            chosen.append(int(j))
    return chosen


def with_groups(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five groups of ten redundant features that shift with two classes, and noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    kinds = y[:, None] * np.linspace(1.6, 0.8, 5) + rng.normal(size=(n, 5))
    copies = np.repeat(kinds, 10, axis=1) + 0.3 * rng.normal(size=(n, 50))
    return np.hstack([copies, rng.normal(size=(n, p - 50))]), y


def recall_of_groups(chosen: Iterable[int]) -> float:
    return len({j // 10 for j in chosen if j < 50}) / 5


def groups(report: harness.Report, n_sets: int, sizes: list[str]) -> None:
    """Recall of redundant groups by ProjSe and fastcan, and the CPU time of both."""
    from fastcan import FastCan

    for size in sizes:
        n, p = map(int, size.split("x"))
        methods = ("ProjSe", "ProjSe, beyond", "fastcan")
        names = (*methods, "products")
        recalls: dict[str, list[float]] = {name: [] for name in methods}
        times = {name: harness.Timing() for name in names}
        with harness.one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(n_sets):
                X, y = with_groups(n, p, seed)
                found: dict[str, np.ndarray] = {}

                def choose(name: str, X: np.ndarray = X, y: np.ndarray = y, found: Any = found) -> None:
                    if name == "products":
                        for _ in range(11):
                            X.T @ y.astype(float)
                        return
                    if name == "fastcan":
                        found[name] = FastCan(10, verbose=0).fit(X, y).indices_
                        return
                    beyond = "residual" if name.endswith("beyond") else None
                    model = fastfs.ProjSe(10, beyond=beyond, n_jobs=1).fit(X, y)
                    found[name] = np.argsort(model.ranking_, kind="stable")[:10]

                for name in names:
                    times[name].add(lambda name=name: choose(name))
                for name in methods:
                    recalls[name].append(recall_of_groups(found[name]))
        means = {name: float(np.mean(values)) for name, values in recalls.items()}
        report.heading(f"{n} x {p}, {n_sets} sets: recall of five redundant groups in ten features")
        report.row("ProjSe, the paper's rule", means["ProjSe"])
        report.row(
            "ProjSe(beyond='residual')", means["ProjSe, beyond"], at_least=max(means["fastcan"], 0.9 * (n >= 500))
        )
        report.row("fastcan", means["fastcan"])
        note = f"{times['ProjSe, beyond'].text()}, {times['fastcan'].text()}, {harness.load()}"
        report.times("CPU time of fastcan", times["fastcan"], times["ProjSe, beyond"], at_least=20)
        report.times("ProjSe / products of X with eleven vectors", times["ProjSe, beyond"], times["products"])
        print(f"  {note}")


def dropped(n_sets: int) -> None:
    """Recall of five groups of ten redundant features among ten chosen ones, with and without a second step."""
    print("recall of five redundant groups in ten features: ranking; its features without correlations above 0.7")
    for n, p in ((60, 2000), (500, 2000)):
        found: dict[str, list[float]] = {}
        for seed in range(n_sets):
            X, y = with_groups(n, p, seed)
            lists: dict[str, list[int]] = {}
            for method in (fastfs.ReliefF(), fastfs.MultiSURF(), fastfs.ProjSe(10)):
                name = type(method).__name__
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ranking = method.fit(X, y).ranking_
                lists[name] = np.argsort(ranking)[:10].tolist()
                lists[f"{name}, dropped"] = without_repetitions(X, ranking, 10)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lists["ProjSe, beyond"] = fastfs.ProjSe(10, beyond="residual").fit(X, y).selected_.tolist()
            for name, chosen in lists.items():
                found.setdefault(name, []).append(recall_of_groups(chosen))
        print(
            f"  {n} x {p}: " + "; ".join(f"{name} {np.mean(recall):.2f}" for name, recall in found.items()), flush=True
        )


def given_weights(n_sets: int) -> None:
    """How often a feature that adds to given ones scores above a follower, and above noise, by their weight."""
    print("share of pairs: adds above follower, adds above noise; weights are 1, or a factor times others / given")
    warnings.simplefilter("ignore")
    factors = {"1 each": None, "x 0.1": 0.1, "x 0.5": 0.5, "x 1": 1.0, "x 2": 2.0, "x 10": 10.0, "given ones only": 1e9}
    for method in (fastfs.ReliefF(scaling=None), fastfs.MultiSURF(scaling=None)):
        for n, p, g in ((n, p, g) for n in (100, 400) for p in (50, 1000) for g in (1, 5)):
            shares: dict[str, list[tuple[float, float]]] = {}
            for seed in range(n_sets):
                rng = np.random.default_rng(seed)
                known = rng.normal(size=(n, g))
                follows = known.sum(axis=1) / np.sqrt(g)
                y = follows + rng.normal(size=n) > 0
                adds = 0.8 * y[:, None] + rng.normal(size=(n, 5))
                followers = follows[:, None] + 0.5 * rng.normal(size=(n, 20))
                X = np.hstack([adds, followers, rng.normal(size=(n, p - 25)), known])
                X /= np.ptp(X, axis=0)
                for name, factor in factors.items():
                    weights = np.append(np.ones(p), np.full(g, 1.0 if factor is None else factor * p / g))
                    scores = method.fit(X * weights, y).scores_
                    above = scores[:5, None] > scores[5:p]
                    shares.setdefault(name, []).append((above[:, :20].mean(), above[:, 20:].mean()))
            row = "; ".join(
                f"{name} {a:.2f}, {b:.2f}" for name, (a, b) in ((k, np.mean(v, 0)) for k, v in shares.items())
            )
            print(f"  {type(method).__name__} {n} x {p}, {g} given: {row}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--dropped", action="store_true", help="lists without correlated features alone")
    parser.add_argument("--groups", action="store_true", help="recall of redundant groups, next to fastcan, alone")
    parser.add_argument("--sizes", nargs="+", default=["60x2000", "60x20000", "500x2000", "500x20000"])
    parser.add_argument("--given-weights", action="store_true", help="what given features weigh in distances alone")
    arguments = parser.parse_args()
    harness.machine()
    if arguments.given_weights:
        return given_weights(arguments.sets)
    if arguments.groups:
        report = harness.Report()
        groups(report, arguments.sets, arguments.sizes)
        report.finish()
        return None
    if arguments.dropped:
        return dropped(arguments.sets)
    clumps()
    short_lists(arguments.sets)


if __name__ == "__main__":
    main()
