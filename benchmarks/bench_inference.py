"""Permutation tests: what designs and standardized scores cost, and whether p-values are what they say.

    python -m benchmarks.bench_inference [--repeats 5]

* step-down p-values and moments of 20,000 features x 999 permutations, from scores that are there;
* permutation tests of ReliefF, 100 x 20,000, 99 permutations: CPU time with a design against free shuffling;
* counting and enumerating all labelings of designs that allow at most 1000.

    python -m benchmarks.bench_inference --calibration [--sets 1000] [--designs batches ...] [--methods ReliefF ...]
    python -m benchmarks.bench_inference --planted [...]
    python -m benchmarks.bench_inference --treated [--sets 1000]

Designs x methods x statistics on made-up data sets of 60 samples and 30 features. Under the null hypothesis the labels
are drawn as the design allows, and X has the effects of batches, pairs or donors that the design is about, but none of
the labels. Printed is how many of the data sets have p <= 0.05: the p-value of all features together, that of the first
feature, and the smallest step-down p-value. At a level of 0.05, chance leaves 29 to 74 of 1000 (99.9 % of the cells).
The same is printed of ProjSe and RReliefF with numbers to explain. Two designs are also ignored, which must fail, and
two kinds of covariates are followed approximately. With ``--planted`` two features are shifted by one standard
deviation: how many data sets have p <= 0.05, and the share of false features among those that the procedure of
Benjamini and Hochberg finds at 0.1.

With ``--treated``: noise of a treated and a control specimen of each of 3 to 12 donors, tested as docs/omics.md and
docs/inference.md say, by `permutation_test` and `fastfs.tl`, and, for every tenth data set, as if single cells of a
donor were exchangeable.

    python -m benchmarks.bench_inference --cuts [--sets 1000]

Noise, 40 x 200: how many data sets have a feature that a cut at a family-wise p-value of 0.05 selects.

    python -m benchmarks.bench_inference --given [--sets 1000] [--kinds classes ...] [--n-given 2 ...] [--first-seed 0]

80 samples of given features, two by default, which explain half of a number, and of 30 features that follow these and
add nothing: how many data sets have p <= 0.05, with these given, and of two also without. The target is the sign of the
number, the number, or times whose logarithm it is in half, some of them censored; for times the second method is the
absolute rank correlation of each feature with them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs._inference.scorers import make_scorer
from fastfs._inputs.design import Design
from fastfs._machine.run import Run, load_core

N_SAMPLES, N_FEATURES = 60, 30
N_PERMUTATIONS = 99
SHIFTED = 2
N_OF_GIVEN, GIVEN_KINDS = 80, ("classes", "numbers", "times")

# Of 1000 data sets at a level of 0.05: what chance leaves 99.9 % of the cells in.
MOST_CELLS = (29, 74)


def null_of(design: Design, S: Iterable[tuple[np.ndarray, float]], statistic: str = "z") -> dict[str, Any]:
    """What the scores under labelings say of the first ones, which are the true ones."""
    (scores, overall), *rows = S
    null = load_core().Null(design.core, scores, overall, "", {"by_score": int(statistic == "score")}, Run())
    for row, value in rows:
        null.add(row, value)
    found: dict[str, Any] = null.result()
    return found


def step_down(S: np.ndarray) -> np.ndarray:
    """Family-wise p-values of the first row, by z."""
    design = Design(np.arange(100) % 2, n_permutations=len(S) - 1)
    pvalues: np.ndarray = null_of(design, ((row, row.max()) for row in S))["pvalues_max"]
    return pvalues


def overhead(report: Report, repeats: int) -> None:
    report.heading("Standardized scores and step-down p-values")
    S = np.random.default_rng(0).normal(size=(1000, 20_000))
    report.row("20,000 x 999, CPU", min(harness.measure(lambda: step_down(S), repeats).cpu), at_most=3, unit=" s")

    report.heading("Designs against free shuffling: ReliefF, 100 x 20,000, 99 permutations, CPU, one thread")
    rng = np.random.default_rng(0)
    X, y, half = rng.normal(size=(100, 20_000)), np.arange(100) % 2, np.arange(100) // 2
    designs: dict[str, dict[str, Any]] = {
        "free": {},
        "10 blocks": {"blocks": np.arange(100) // 10},
        "50 pairs": {"blocks": half},
        "50 groups in 5 blocks": {"y": half % 2, "groups": half, "blocks": half // 10},
        "a covariate": {"covariates": rng.normal(size=100)},
    }

    def test(columns: dict[str, Any]) -> Any:
        given = {"y": y} | columns
        return lambda: fastfs.permutation_test(fastfs.ReliefF(n_jobs=1), X, n_permutations=99, **given)

    with harness.one_thread():
        t = harness.compare({name: test(columns) for name, columns in designs.items()}, repeats)
    for name in list(designs)[1:]:
        report.times(name, t[name], t["free"], at_most=1.05)

    report.heading("Counting and enumerating, CPU")
    for name, design in {
        "924 labelings of 12 donors": lambda: Design(
            np.repeat(np.arange(12) % 2, 8), groups=np.repeat(np.arange(12), 8), n_permutations=999
        ),
        "512 of 9 pairs": lambda: Design(np.arange(18) % 2, np.arange(18) // 2, n_permutations=999),
        "1000, one case": lambda: Design(np.arange(1000) < 1, n_permutations=999),
        "720 of six numbers": lambda: Design(np.arange(6.0), n_permutations=999),
    }.items():
        spent = min(harness.measure(lambda make=design: make().labelings(0, make().n_labelings), repeats).cpu)  # type: ignore[misc]
        report.row(name, 1e3 * spent, at_most=50, unit=" ms")


@dataclass
class Study:
    """A data set and its design."""

    X: np.ndarray
    y: np.ndarray
    design: dict[str, Any] = field(default_factory=dict)


def balanced(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.permutation(np.arange(n) % 2)


def effects(rng: np.random.Generator, of: np.ndarray, size: float) -> np.ndarray:
    """A normal effect of each unit on each feature."""
    return rng.normal(scale=size, size=(of.max() + 1, N_FEATURES))[of]


def noise(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(N_SAMPLES, N_FEATURES))


def free(rng: np.random.Generator) -> Study:
    return Study(noise(rng), balanced(rng, N_SAMPLES))


def batches(rng: np.random.Generator) -> Study:
    """Two batches, a quarter and three quarters of them cases."""
    batch = np.repeat([0, 1], N_SAMPLES // 2)
    y = np.concatenate([rng.permutation(np.arange(30) < 8), rng.permutation(np.arange(30) < 22)]).astype(int)
    return Study(noise(rng) + effects(rng, batch, 1.0), y, {"blocks": batch})


def pairs(rng: np.random.Generator) -> Study:
    pair = np.repeat(np.arange(30), 2)
    y = np.concatenate([rng.permutation(2) for _ in range(30)])
    return Study(noise(rng) + effects(rng, pair, 1.4), y, {"blocks": pair})


def donors(rng: np.random.Generator) -> Study:
    """Twelve donors of five samples, a label each."""
    donor = np.repeat(np.arange(12), 5)
    return Study(noise(rng) + effects(rng, donor, 1.0), balanced(rng, 12)[donor], {"groups": donor})


def donors_in_batches(rng: np.random.Generator) -> Study:
    """Two batches of six donors of five samples, two and four of the donors cases."""
    donor, batch = np.repeat(np.arange(12), 5), np.repeat([0, 1], 30)
    of_donor = np.concatenate([rng.permutation(np.arange(6) < 2), rng.permutation(np.arange(6) < 4)]).astype(int)
    X = noise(rng) + effects(rng, donor, 1.0) + effects(rng, batch, 1.0)
    return Study(X, of_donor[donor], {"groups": donor, "blocks": batch})


def cells_of_donors(rng: np.random.Generator) -> Study:
    """Twelve donors of five samples of both labels, in unequal shares."""
    donor = np.repeat(np.arange(12), 5)
    y = np.concatenate([rng.permutation(np.arange(5) < (1 + d % 4)) for d in range(12)]).astype(int)
    return Study(noise(rng) + effects(rng, donor, 1.0), y, {"groups": donor})


def treated_donors(rng: np.random.Generator, n_donors: int = 10, n_cells: int = 3) -> Study:
    """Donors of a treated and a control specimen each, of some cells, with effects of donors and specimens."""
    specimen = np.repeat(np.arange(2 * n_donors), n_cells)
    y = np.concatenate([rng.permutation(2) for _ in range(n_donors)])[specimen]
    X = rng.normal(size=(len(y), N_FEATURES)) + effects(rng, specimen // 2, 1.0) + effects(rng, specimen, 0.5)
    return Study(X, y, {"groups": specimen, "blocks": specimen // 2})


def covariate(rng: np.random.Generator) -> Study:
    """Cases are likelier for a large covariate, which moves all features, too."""
    z = rng.normal(size=N_SAMPLES)
    y = (rng.random(N_SAMPLES) < 1 / (1 + np.exp(-1.5 * z))).astype(int)
    return Study(noise(rng) + z[:, None] * rng.normal(scale=0.7, size=N_FEATURES), y, {"covariates": z[:, None]})


def numbers_and_covariate(rng: np.random.Generator) -> Study:
    """Numbers to explain, linear in a covariate that moves all features."""
    z = rng.normal(size=N_SAMPLES)
    X = noise(rng) + z[:, None] * rng.normal(scale=0.7, size=N_FEATURES)
    return Study(X, z + rng.normal(size=N_SAMPLES), {"covariates": z[:, None]})


def numbers(rng: np.random.Generator) -> Study:
    return Study(noise(rng), rng.normal(size=N_SAMPLES))


def numbers_in_batches(rng: np.random.Generator) -> Study:
    """Two batches that move the numbers and all features."""
    batch = np.repeat([0, 1], N_SAMPLES // 2)
    return Study(noise(rng) + effects(rng, batch, 1.0), 2.0 * batch + rng.normal(size=N_SAMPLES), {"blocks": batch})


def numbers_of_donors(rng: np.random.Generator) -> Study:
    """Twelve donors of five samples, a number each."""
    donor = np.repeat(np.arange(12), 5)
    return Study(noise(rng) + effects(rng, donor, 1.0), rng.normal(size=12)[donor], {"groups": donor})


def second_view(rng: np.random.Generator) -> Study:
    return Study(noise(rng), rng.normal(size=(N_SAMPLES, 5)))


DESIGNS: dict[str, Callable[[np.random.Generator], Study]] = {
    "free": free,
    "batches": batches,
    "pairs": pairs,
    "donors": donors,
    "donors in batches": donors_in_batches,
    "labels in donors": cells_of_donors,
    "treated donors": treated_donors,
}
APPROXIMATE = {"covariate": covariate, "numbers, covariate": numbers_and_covariate}
NAIVE = ("batches", "donors")
NUMBERS = {
    "numbers": numbers,
    "numbers in batches": numbers_in_batches,
    "numbers of donors": numbers_of_donors,
    "five numbers each": second_view,
}

METHODS: dict[str, Any] = {
    "ReliefF": fastfs.ReliefF(n_jobs=1),
    "MultiSURF": fastfs.MultiSURF(n_jobs=1),
    "IM4E": fastfs.IM4E(n_jobs=1),
    "ManiFeSt": fastfs.ManiFeSt(n_jobs=1),
    "ProjSe": fastfs.ProjSe(n_jobs=1),
    "DiSC": fastfs.DiSC(n_jobs=1),
}
OF_NUMBERS: dict[str, Any] = {"ProjSe": fastfs.ProjSe(n_jobs=1), "RReliefF": fastfs.RReliefF(n_jobs=1)}


def pvalues(estimator: Any, study: Study, seed: int, design: dict[str, Any]) -> list[list[float]]:
    """For z and scores: overall, of the first feature, the smallest by steps; false ones among those found at 0.1.

    What `fastfs.permutation_test` does, but for labelings that both statistics share, which halves the time.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, scorer = make_scorer(estimator, study.X, study.y)
        allowed = Design(labels, **design, n_permutations=N_PERMUTATIONS, seed=seed)
        labelings = [labels, *allowed.labelings(0, allowed.n_labelings)]
        rows = [(np.array(row, np.float64), value) for row, value in scorer(labelings)]
        found = []
        for statistic in ("z", "score"):
            null = null_of(allowed, rows, statistic)
            chosen = np.flatnonzero(null["pvalues_adjusted"] <= 0.1)
            false = float(np.mean(chosen >= SHIFTED)) if len(chosen) else 0.0
            found.append([null["pvalue"], float(null["pvalues"][0]), float(null["pvalues_max"].min()), false])
    return found


def data_set(make: Callable[[np.random.Generator], Study], seed: int, estimator: Any, naive: bool, shift: float) -> Any:
    rng = np.random.default_rng(seed)
    study = make(rng)
    if shift:
        study.X[:, :SHIFTED] += shift * study.y[:, None]
    return pvalues(clone(estimator), study, seed, {} if naive else study.design)


def cell(make: Callable[[np.random.Generator], Study], estimator: Any, n_sets: int, naive: bool, shift: float) -> Any:
    """n_sets x statistics x p-values."""
    calls = (joblib.delayed(data_set)(make, seed, estimator, naive, shift) for seed in range(n_sets))
    return np.array(joblib.Parallel(n_jobs=-1, batch_size=20)(calls))


def shares(found: np.ndarray) -> np.ndarray:
    """statistics x (overall, first feature, smallest by steps): of how many data sets p is at most 0.05."""
    return np.count_nonzero(found[:, :, :3] <= 0.05 + 1e-9, axis=0)


def print_cell(name: str, method: str, found: np.ndarray, note: str = "") -> None:
    text = "   ".join(" ".join(f"{value:>4d}" for value in row) for row in shares(found))
    print(f"{name:<20}{method:<12}{text}   {note}", flush=True)


def calibration(report: Report, n_sets: int, designs: list[str], methods: list[str], planted: bool) -> None:
    begin = time.perf_counter()
    heading = "of all features, of the first one, the smallest by steps; for z, then for raw scores"
    if planted:
        report.heading(f"{n_sets} data sets with two shifted features: p <= 0.05 {heading}; false among those found")
    else:
        report.heading(f"{n_sets} data sets of noise: how many have p <= 0.05, {heading}")
        error = np.sqrt(0.05 * 0.95 / n_sets)
        print(f"expected {0.05 * n_sets:g} in each cell, standard error of its share {error:.3f}")
    cells = []
    for name in designs:
        for method in methods:
            found = cell(DESIGNS[name], METHODS[method], n_sets, naive=False, shift=float(planted))
            false = " ".join(f"{value:.3f}" for value in found[:, :, 3].mean(axis=0))
            print_cell(name, method, found, f"false {false}" * planted)
            cells.append(shares(found))
    if planted:
        return

    counts = np.array(cells)
    per_1000 = 1000 / n_sets
    chosen = counts[:, :, 0]  # of all features together
    low, high = (bound / per_1000 for bound in MOST_CELLS)
    report.row("cells within 29 to 74 of 1000, overall p", float(np.mean((chosen >= low) & (chosen <= high))))
    report.row("smallest and largest cell, of 1000", f"{chosen.min() * per_1000:.0f} .. {chosen.max() * per_1000:.0f}")
    mean = float(counts[:, :, :2].mean() / n_sets)
    report.row("mean share with p <= 0.05, overall and one feature", mean, at_most=0.055)
    report.row("the same", mean, at_least=0.045)
    step_down = float(counts[:, :, 2].mean() / n_sets)
    report.row("family-wise error by steps", step_down, at_most=0.055)

    report.heading(f"{n_sets} data sets of noise, numbers to explain")
    for name, make in NUMBERS.items():
        for method, estimator in OF_NUMBERS.items():
            if make is second_view and method != "ProjSe":
                continue
            found = cell(make, estimator, n_sets, naive=False, shift=0.0)
            print_cell(name, method, found)
            of_all = shares(found)[:, 0] / n_sets
            report.row(f"{name}, {method}: largest share with overall p <= 0.05", of_all.max(), at_most=high / n_sets)

    report.heading(f"{n_sets} data sets: the design is ignored; or only approximately followed")
    relieff, rrelieff = METHODS["ReliefF"], OF_NUMBERS["RReliefF"]
    for name in NAIVE:
        found = cell(DESIGNS[name], relieff, n_sets, naive=True, shift=0.0)
        print_cell(f"{name}, ignored", "ReliefF", found)
        report.row(f"{name} ignored: share with overall p <= 0.05", shares(found)[0, 0] / n_sets, at_least=0.15)
    for name, make in APPROXIMATE.items():
        method = rrelieff if name.startswith("numbers") else relieff
        for naive in (False, True):
            found = cell(make, method, n_sets, naive=naive, shift=0.0)
            print_cell(name + ", ignored" * naive, type(method).__name__, found)
            if not naive:
                share = shares(found)[0, 0] / n_sets
                report.row(f"{name}: share with overall p <= 0.05", share, at_most=0.07)
    report.row("wall time", time.perf_counter() - begin, unit=" s", note=harness.load())


def treated_set(n_donors: int, seed: int) -> tuple[float, float, float, float]:
    """The smallest p-value that is possible, that of ReliefF, of fastfs.tl.projse, and of ReliefF on single cells."""
    import anndata

    study = treated_donors(np.random.default_rng(seed), n_donors, 5)
    specimen, donor = study.design["groups"], study.design["blocks"]
    obs = {"arm": np.array(["control", "treated"])[study.y], "sample": specimen.astype(str), "donor": donor.astype(str)}
    adata = anndata.AnnData(study.X, obs=obs)
    relieff = METHODS["ReliefF"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = fastfs.permutation_test(relieff, study.X, study.y, random_state=seed, **study.design)
        # Without an early end, for tl draws the same labelings of each data set.
        fastfs.tl.projse(adata, "arm", samples="sample", donors="donor", n_permutations=999, n_jobs=1)
        single = np.nan
        if seed % 10 == 0:
            single = fastfs.permutation_test(relieff, study.X, study.y, groups=donor, n_permutations=199).pvalue
    of_tl = float(adata.uns["projse"]["permutations"].loc["treated", "pvalue"])
    return right.resolution, right.pvalue, of_tl, single


def treated(report: Report, n_sets: int) -> None:
    report.heading(f"{n_sets} data sets of noise, a treated and a control specimen of each donor: share with p <= 0.05")
    print(f"{'donors':<8}{'labelings':>10}{'smallest p':>12}{'ReliefF':>9}{'tl.projse':>11}{'single cells':>14}")
    for n_donors in (3, 4, 5, 6, 7, 8, 10, 12):
        calls = (joblib.delayed(treated_set)(n_donors, seed) for seed in range(n_sets))
        found = np.array(joblib.Parallel(n_jobs=-1, batch_size=20)(calls))
        of_all = np.mean(found[:, 1:3] <= 0.05 + 1e-9, axis=0)
        single = np.mean(found[::10, 3] <= 0.05)
        smallest = found[:, 0].max() if 2**n_donors <= 1000 else 1e-3
        print(
            f"{n_donors:<8}{2**n_donors:>10}{smallest:>12.3g}{of_all[0]:>9.3f}{of_all[1]:>11.3f}{single:>14.2f}",
            flush=True,
        )
        # Exact p-values are multiples of the smallest one.
        level = 0.05 // smallest * smallest
        low, high = MOST_CELLS[0] / 1000 * level / 0.05, MOST_CELLS[1] / 1000
        report.row(f"{n_donors} donors, smallest share", of_all.min(), at_least=low)
        report.row(f"{n_donors} donors, largest share", of_all.max(), at_most=high)


def cuts(report: Report, n_sets: int) -> None:
    for model in (fastfs.ProjSe(1), fastfs.ReliefF()):
        cut, n_found = fastfs.Cut(model), 0
        for seed in range(n_sets):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cut.fit(np.random.default_rng(seed).normal(size=(40, 200)), np.arange(40) % 2)
            n_found += int(cut.support_.any())
        share = n_found / n_sets
        report.row(f"{type(model).__name__}: share of {n_sets} data sets with a selection", share, at_most=0.074)


class Correlations(BaseEstimator):
    """Scores of times: the absolute rank correlation of each feature with them, of whatever kind."""

    def fit(self, X: np.ndarray, y: Any) -> Correlations:
        self.scores_ = np.abs(np.corrcoef(X.T, rankdata(y["time"]))[-1, :-1])
        return self


N_SETS_OF_TABLE = 1000  # seeds beyond measure again what is given, and nothing else


def given_set(kind: str, model: Any, n_given: int, seed: int) -> tuple[float, float]:
    """Return the p-values of features that only follow given ones: given these, and without them; NaN: refused."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(N_OF_GIVEN, n_given))
    number = known.sum(axis=1) + np.sqrt(n_given) * rng.normal(size=N_OF_GIVEN)
    X = known @ rng.normal(size=(n_given, 30)) * np.sqrt(2 / n_given) + rng.normal(size=(N_OF_GIVEN, 30))
    y: Any = {"classes": number > 0, "numbers": number}.get(kind)
    if kind == "times":  # exponential, with the number in the hazard; a third are last seen before
        ends = np.stack([rng.exponential(size=N_OF_GIVEN), rng.exponential(2.0, N_OF_GIVEN)]) * np.exp(number / 2)
        y = np.empty(N_OF_GIVEN, [("event", bool), ("time", float)])
        y["event"], y["time"] = ends.argmin(axis=0) == 0, ends.min(axis=0)
    y = y[:, None] if kind == "numbers" and isinstance(model, fastfs.ProjSe) else y
    asked: dict[str, Any] = {"n_permutations": N_PERMUTATIONS, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if isinstance(model, Correlations):
                conditional = fastfs.permutation_test(model, X, y, covariates=known, **asked).pvalue
            else:
                conditional = fastfs.permutation_test(clone(model).set_params(given=known), X, y, **asked).pvalue
        except ValueError:
            return np.nan, np.nan
        if n_given > 2 or seed >= N_SETS_OF_TABLE:
            return conditional, np.nan
        return conditional, fastfs.permutation_test(model, X, y, **asked).pvalue


def given(report: Report, seeds: range, kinds: list[str], numbers_of_given: list[int]) -> None:
    low, high = (cells / 1000 for cells in MOST_CELLS)
    models: dict[str, list[Any]] = {
        "classes": [fastfs.ProjSe(1, n_jobs=1), fastfs.ReliefF(n_jobs=1)],
        "numbers": [fastfs.ProjSe(1, n_jobs=1), fastfs.RReliefF(n_jobs=1)],
        "times": [Correlations(), fastfs.RReliefF(n_jobs=1)],
    }
    for kind, n_given in ((kind, n_given) for kind in kinds for n_given in numbers_of_given):
        for model in models[kind]:
            calls = (joblib.delayed(given_set)(kind, model, n_given, seed) for seed in seeds)
            found = np.array(joblib.Parallel(n_jobs=-1)(calls))
            known = found[~np.isnan(found[:, 0])]
            name = f"{kind}, {n_given} given, {type(model).__name__}"
            if len(known) < len(seeds):
                report.row(f"{name}: refused, of {len(seeds)}", len(seeds) - len(known))
            if not len(known):
                continue
            share, free = (known <= 0.05).mean(axis=0)
            report.row(f"{name}: share with p <= 0.05", share, at_most=high)
            report.row(f"{name}: the same", share, at_least=low)
            if not np.isnan(known[:, 1]).all():
                report.row(f"{name}: without given", free)


def main() -> int:
    """Run what was asked for; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="permutation tests: designs, standardized scores, calibration")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--calibration", action="store_true", help="p-values of noise, in place of times")
    parser.add_argument("--planted", action="store_true", help="the same with two features that are shifted")
    parser.add_argument("--treated", action="store_true", help="the same, of treated and control specimens of donors")
    parser.add_argument("--cuts", action="store_true", help="what cuts at a family-wise p-value select of noise")
    parser.add_argument("--given", action="store_true", help="p-values given features that explain half of the target")
    parser.add_argument("--kinds", nargs="+", choices=GIVEN_KINDS, default=list(GIVEN_KINDS))
    parser.add_argument("--n-given", type=int, nargs="+", default=[2], help="how many features are given")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0, help="of the data sets with given features")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    args = parser.parse_args()
    harness.machine()
    report = Report()
    if args.cuts:
        cuts(report, args.sets)
    elif args.given:
        given(report, range(args.first_seed, args.first_seed + args.sets), args.kinds, args.n_given)
    elif args.treated:
        treated(report, args.sets)
    elif args.calibration or args.planted:
        calibration(report, args.sets, args.designs, args.methods, args.planted)
    else:
        overhead(report, args.repeats)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
