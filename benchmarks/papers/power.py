"""Which core of the RELIEF family, wrapper and search for pairs finds which structure among how many features.

    python -m benchmarks.papers.power [--features 100 1000] [--samples 1600] [--skrebate]

Made-up genotypes: features are 0, 1 or 2 copies of an allele that has half of all, and categories to all methods. A
feature is "on" where it is 1, which is so for half of the samples. The label is, by structure:

* main: drawn with probability 0.5, and 0.2 more or less for each copy beyond one of two features;
* pair: the exclusive or of two features that are on or not, 10 % of the labels flipped;
* triple: that of three features;
* either: half of the samples follow one pair, the others another one (heterogeneity); all four features are meant.

Printed is the median, over tables, of the worst rank of the features that matter (2, 2, 3, 4: all on top), and what is
expected of a random order. A search for pairs
ranks features by their first place in the strongest pairs; of 100,000 features, only pairs of SNPs are searched. The
distances of a table are computed once and given to all cores; wrappers take their own.
``--skrebate`` puts scikit-rebate 0.8.4 beside it, on 400 samples and 100 features, as more takes it minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Mapping
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

TABLES = {100: 5, 1_000: 5, 10_000: 2, 100_000: 1}  # how many are drawn, by the number of features
MATTER = {"main": 2, "pair": 2, "triple": 3, "either": 4}

Columns = np.ndarray


def table(n_samples: int, n_features: int, seed: int) -> tuple[np.ndarray, Columns, dict[str, np.ndarray]]:
    """Genotypes, the columns that may matter, the labels of each structure."""
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, 0.5, size=(n_samples, n_features)).astype(np.float32)
    columns = rng.choice(n_features, 4, replace=False)
    a, b = X[:, columns[:2]].T
    flipped = rng.random(n_samples) < 0.1
    on = X[:, columns] == 1
    first, second = on[:, 0] ^ on[:, 1], on[:, 2] ^ on[:, 3]
    return (
        X,
        columns,
        {
            "main": rng.random(n_samples) < 0.5 + 0.2 * (a - 1) - 0.2 * (b - 1),
            "pair": first ^ flipped,
            "triple": first ^ on[:, 2] ^ flipped,
            "either": np.where(rng.random(n_samples) < 0.5, first, second) ^ flipped,
        },
    )


def distances(X: np.ndarray) -> np.ndarray:
    """In how many features two samples differ."""
    equal = np.zeros((len(X), len(X)))
    for begin in range(0, X.shape[1], 10_000):
        for genotype in range(3):
            here = (X[:, begin : begin + 10_000] == genotype).astype(np.float32)
            equal += here @ here.T
    return X.shape[1] - equal


def cores() -> dict[str, Any]:
    return {
        "ReliefF, 10 neighbours": fastfs.ReliefF(n_neighbors=10),
        "ReliefF, 100 neighbours": fastfs.ReliefF(n_neighbors=100),
        "mu-Relief, 10 neighbours": fastfs.MuRelief(n_neighbors=10),
        "SURF": fastfs.SURF(),
        "SURF*": fastfs.SURF(far=True),
        "MultiSURF": fastfs.MultiSURF(),
        "MultiSURF*": fastfs.MultiSURF(far=True),
        "SWRF*": fastfs.SWRF(far=True),
    }


def wrappers(seed: int) -> dict[str, Any]:
    multisurf = fastfs.MultiSURF()
    return {
        "TuRF(MultiSURF)": fastfs.TuRF(multisurf, n_features_to_select=10),
        "TuRF(ReliefF, 10 neighbours)": fastfs.TuRF(fastfs.ReliefF(), n_features_to_select=10),
        "VLS(MultiSURF)": fastfs.VLS(multisurf, random_state=seed),
    }


SEARCHES: dict[str, Any] = {
    "snp_pairs": fastfs.snp_pairs,
    "snp_pairs, as numbers": partial(fastfs.snp_pairs, target_type="number", coding="genotypic"),
    "interaction_scan": fastfs.interaction_scan,
    "differential_correlation": fastfs.differential_correlation,
}


def ranks_by_pairs(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Features in the order in which they occur in the strongest pairs; all others share the last rank."""
    ranks = {}
    for name in list(SEARCHES) if X.shape[1] <= 10_000 else ["snp_pairs"]:
        features = list(dict.fromkeys(SEARCHES[name](X, y, n_permutations=0).pairs.ravel().tolist()))
        ranks[name] = np.full(X.shape[1], X.shape[1])
        ranks[name][features] = np.arange(1, len(features) + 1)
    return ranks


def skrebate_cores() -> dict[str, Any]:
    """Its cores under our names; it takes features with up to ten values for categories, as meant here."""
    try:
        import skrebate
    except ImportError:
        print("skrebate isn't installed")
        return {}
    names = ("SURF", "SURFstar", "MultiSURF", "MultiSURFstar")
    found = {f"skrebate: {name.replace('star', '*')}": getattr(skrebate, name)(n_jobs=1) for name in names}
    return {"skrebate: ReliefF, 10 neighbours": skrebate.ReliefF(n_neighbors=10, n_jobs=1)} | found


def ranking(scores: np.ndarray) -> np.ndarray:
    """1 is best."""
    ranks = np.empty(len(scores), dtype=int)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def ranks_of(methods: Mapping[str, Any], X: np.ndarray, y: np.ndarray, **given: Any) -> dict[str, np.ndarray]:
    return {name: method.fit(X, y, **given).ranking_ for name, method in methods.items()}


def measure(report: Report, n_samples: int, n_features: int, n_tables: int, peer: bool) -> None:
    """One row a method."""
    report.heading(
        f"{n_samples} x {n_features}, {n_tables} tables: median of the worst rank of the features that matter"
    )
    worst: dict[str, dict[str, list[int]]] = {}
    begin, begin_cpu = time.perf_counter(), time.process_time()
    ours = cores()
    for method in ours.values():
        method.set_params(categorical_features=np.ones(n_features, dtype=bool))
    for seed in range(n_tables):
        X, columns, labels = table(n_samples, n_features, seed)
        D = distances(X)
        around = wrappers(seed)
        for method in around.values():
            method.set_params(estimator__categorical_features=np.ones(n_features, dtype=bool))
        for structure, y in labels.items():
            found = ranks_of(ours, X, y, distances=D) | ranks_of(around, X, y)
            found |= ranks_by_pairs(X, y)
            if peer:
                for name, method in skrebate_cores().items():
                    scores = method.fit(X.astype(float), y.astype(int)).feature_importances_
                    found[name] = ranking(scores)
            for name, ranks in found.items():
                matter = columns[: MATTER[structure]]
                worst.setdefault(name, {}).setdefault(structure, []).append(int(ranks[matter].max()))
    print(f"{'':<36}" + "".join(f"{structure:>12}" for structure in MATTER))
    for name, by_structure in worst.items():
        print(f"{name:<36}" + "".join(f"{median(by_structure[structure]):>12g}" for structure in MATTER))
    print(f"{'by chance':<36}" + "".join(f"{m * (n_features + 1) / (m + 1):>12.0f}" for m in MATTER.values()))
    report.row("wall time", time.perf_counter() - begin, unit=" s", note=harness.load())
    report.row("CPU time", time.process_time() - begin_cpu, unit=" s")


def main() -> int:
    parser = argparse.ArgumentParser(description="Which method finds which structure")
    parser.add_argument("--features", type=int, nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--samples", type=int, default=1600)
    parser.add_argument("--skrebate", action="store_true")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        if args.skrebate:
            measure(report, 400, 100, 3, peer=True)
        for n_features in args.features:
            measure(report, args.samples, n_features, TABLES[n_features], peer=False)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
