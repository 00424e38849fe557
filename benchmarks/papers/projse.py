"""ProjSe's experiments (Szedmak et al. 2023) on what is at hand, the paper's numbers beside ours.

    FASTFS_TEST_DATA=folder python -m benchmarks.papers.projse [names ...] [--quick] [--rows 1000000]

Without names all run. Of the paper's data MediaMill, CIFAR-100, NonInvasiveFetalECGThorax1 and all of MNIST aren't
among ours: MNIST is the first 500 of each digit. Experiments:

* series: points of time of ShapesAll and Crop (its training part, a third to test on) chosen for the labels, and for
  two SVMs, beside the F test, random points and all.
* scaling: X and W normal, Y = X W + noise, 10 + 10 variables as in the paper, and 100 + 100, of which 10 are selected;
  wall time, all cores.
* seconds: CPU time in the shapes of MediaMill and MNIST.
* mixing: linear scores of mixed targets and of mixed given columns, condition numbers 1 to 1e8: how far they are from
  the scores by the span, where no warning says so.
* shares: CPU time of the kernels, of the eigendecomposition and of the choice, one thread.
* mnist: variables of the left half of the pictures chosen by the right one and vice versa; on the rest of the pictures,
  the first canonical correlation between the chosen ones (fitted with a ridge of 1e-3 of the mean variance), mean over
  5 splits. Beside it the pixels of largest variance, those nearest to the cut, random ones, and all pixels (generic
  canonical correlation analysis).
* glioma, carcinoma: Y = X, k-means on the chosen variables as they are (as in the public program), mutual information
  with the classes, normalised, mean of 20 runs. The linear kernel of 50 tissues has rank 50: it has no more to choose,
  and the others come by their first score. Beside it the Laplacian score.
* gunpoint: labels; an SVM on the official split, and the alignment of the centred linear kernels of the chosen
  variables and of the labels. Two classes allow two choices; further ones come by first score (`ranking_`).
* stability: Nogueira's measure of the first D = 1 .. 5 over 30 subsamples of 10 to 50 % of the MNIST pictures; and the
  mean correlation of all pixels' first scores between these (relevance), by Pearson and by Spearman.
* pairs: choices on two disjoint halves of the pictures, step by step: the share of the first D pixels that both have,
  and how much of the span of either the other one has (mean squared canonical correlation on all pictures).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.feature_selection import f_classif
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from benchmarks.papers.claims import GENERIC, HALVES, SECONDS
from benchmarks.papers.protocol import Protocol, Training, keep, laplacian, read
from fastfs._inference.stability import compare_selections


class Options(argparse.Namespace):
    """Of the command line."""

    quick: bool
    rows: int


SETTINGS: dict[str, dict[str, Any]] = {
    "linear": {"center": False},
    "linear, centred": {"center": True},
    "poly3": {"kernel": "poly", "center": False},
    "rbf": {"kernel": "rbf", "center": False},
}


def halves() -> tuple[np.ndarray, np.ndarray]:
    """Left and right half of each picture, 392 pixels each."""
    pictures = read("mnist_10x500")["X"].astype(np.float64).reshape(-1, 28, 28)
    return pictures[:, :, :14].reshape(-1, 392), pictures[:, :, 14:].reshape(-1, 392)


# -------------------------------------------------------------------------------------------------------------- scaling


def scaling(report: Report, options: Options) -> None:
    """Time against the number of samples: with the paper's 10 variables, and with 100 + 100."""
    report.heading(f"scaling: 10 selected, float32, all cores (paper: 10 variables, below {SECONDS:g} s at 10^7)")
    rng = np.random.default_rng(0)
    for d, most in ((100, options.rows), (10, 10 * options.rows)):
        for m in (10**p for p in range(3, 9)):
            if m > most:
                break
            X = rng.standard_normal((m, d), dtype=np.float32)
            Y = X @ rng.standard_normal((d, d), dtype=np.float32)
            Y += rng.standard_normal((m, d), dtype=np.float32)
            t = harness.measure(lambda X=X, Y=Y: fastfs.projse(X, Y), 3)  # type: ignore[misc]
            keep(f"scaling: seconds, {m:.0e} samples of {d}", t.wall)
            report.row(f"{m:.0e} samples, {d} + {d} variables, wall", t.text("wall"))


def seconds(report: Report, options: Options) -> None:
    """Time on random numbers in the shapes of the paper's data: CPU time of one thread, float32."""
    report.heading("seconds: CPU time of one thread by the number of variables, random numbers, float32")
    rng = np.random.default_rng(0)
    for name, m, n_x, n_y, numbers in (
        ("MediaMill", 43_907, 120, 101, tuple(HALVES)),
        ("MNIST", 60_000, 392, 392, (100,)),
    ):
        X, Y = (rng.standard_normal((m, n), dtype=np.float32) for n in (n_x, n_y))
        for kernel in ("linear", "rbf")[: 1 if name == "MNIST" else 2]:
            for n in numbers:
                call = partial(fastfs.projse, X, Y, n_features_to_select=n, kernel=kernel, center=False, n_threads=1)
                t = harness.measure(call, 3)
                keep(f"seconds, {name}, {kernel}: {n} variables", t.cpu)
                report.row(f"{name}, {m:,} x ({n_x} + {n_y}), {kernel}, {n} chosen", t.text())


def mixing(report: Report, options: Options) -> None:
    """Scores under a random mixing T of 8 targets or given columns, against those by their span: largest error."""
    seeds = 5 if options.quick else 20
    import dask.array as da

    report.heading(f"mixing: largest error of scores where no warning came, {seeds} T by condition number")
    ways: dict[str, Callable[..., Any]] = {
        "targets": lambda X, Y, _: fastfs.projse(X, Y, center=False).scores,
        "sparse": lambda X, Y, _: fastfs.projse(scipy.sparse.csr_matrix(X), Y, center=False).scores,
        "targets, eps 1e-13": lambda X, Y, _: fastfs.projse(X, Y, center=False, eps=1e-13).scores,
        "given columns": lambda X, Y, t: fastfs.projse(X, t, center=True, given=Y).scores,
        "two views": lambda X, Y, _: fastfs.projse_two_view(X, Y, center=False)[0].scores,
        "two views, exchanged": lambda X, Y, _: fastfs.projse_two_view(Y, X, center=False)[1].scores,
        "stream": lambda X, Y, _: (
            fastfs.ProjSe(2, center=False).partial_fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:]).scores_
        ),
        "Dask": lambda X, Y, _: (
            fastfs.ProjSe(2, center=False).fit(*(da.from_array(A, (60, -1)) for A in (X, Y))).scores_
        ),
    }

    def by_span(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.sum((np.linalg.qr(Y)[0].T @ (X / np.linalg.norm(X, axis=0))) ** 2, axis=0)

    for name, way in ways.items():
        largest = 0.0
        for power in range(9):
            errors, told = [0.0], 0
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                X, base, t = (rng.normal(size=(120, n)) for n in (30, 8, 3))
                U, V = (np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in "UV")
                one = np.append(np.ones(7), 10.0**-power)  # one small singular value, or a range of them
                Y = base @ (U * (one if seed % 2 else np.logspace(0, -power, 8)) @ V)
                Q = np.linalg.qr(np.c_[np.ones(120), base])[0]
                rests = [A - Q @ (Q.T @ A) for A in (X, t)]
                expected = by_span(*rests) if name == "given columns" else by_span(X, base)
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    error = float(np.abs(way(X, Y, t) - expected).max())
                if any("depend on how the columns are mixed" in str(w.message) for w in found):
                    told += 1
                else:
                    errors.append(error)
            largest = max(largest, *errors)
            report.row(f"{name}, cond 1e{power}", max(errors), note=f"{told} of {seeds} warned of", at_most=1e-8)
        keep(f"mixing, {name}: largest error without a warning", largest)
    for kernel in ("poly", "rbf"):
        differences = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            X, Y, T = (rng.normal(size=size) for size in ((120, 30), (120, 8), (8, 8)))
            a, b = (fastfs.projse(X, targets, kernel=kernel, center=False).scores for targets in (Y, Y @ T))
            differences.append(float(np.abs(a - b).max()))
        keep(f"mixing, {kernel} kernel: largest difference", max(differences))
        report.row(f"{kernel} kernel, any T: largest difference", max(differences))


def shares(report: Report, options: Options) -> None:
    """Time by part: kernels are what is left of the whole once a fit from ready kernels is taken away."""
    report.heading("shares: CPU time of one thread by part")
    rows = 10_000 if options.quick else 100_000
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((rows, 100))
    targets = inputs @ rng.standard_normal((100, 100)) + rng.standard_normal((rows, 100))
    for name, X, Y, n in (
        (f"{rows:,} x (100 + 100), 10 chosen", inputs, targets, 10),
        ("5000 x (392 + 392), MNIST halves, 100 chosen", *halves(), 100),
    ):
        K = Y.T @ Y, Y.T @ X, (X**2).sum(axis=0)
        parts: dict[str, Callable[[], Any]] = {
            "whole": partial(fastfs.projse, X, Y, n_features_to_select=n, center=False, n_threads=1),
            "ready": partial(fastfs.projse_from_kernels, *K, n_features_to_select=n, n_threads=1),
            "first": partial(fastfs.projse_from_kernels, *K, n_features_to_select=1, n_threads=1),
        }
        with harness.one_thread():
            found = harness.compare(parts, 9)
        whole, ready, first = (float(np.median(found[part].cpu)) for part in parts)
        kernels, eigen, choice = (100 * part / whole for part in (whole - ready, first, ready - first))
        note = f"kernels {kernels:.1f} %, eigendecomposition {eigen:.1f} %, choice {choice:.1f} %"
        report.row(name, harness.seconds(whole), note=note)


# ---------------------------------------------------------------------------------------------------------------- MNIST


def first_correlations(L: Sequence[np.ndarray], R: Sequence[np.ndarray], orders: Any, numbers: Any) -> list[float]:
    """On test pictures; L and R have training and test pictures, orders the pixels of either side."""
    with np.errstate(invalid="ignore"):  # directions after the first may be constant on test pictures
        return [
            fastfs.canonical_correlations(L[0][:, a], R[0][:, b], test=(L[1][:, a], R[1][:, b]))[0]
            for a, b in ([order[:n] for order in orders] for n in numbers)
        ]


def mnist(report: Report, options: Options) -> None:
    """Canonical correlations of the chosen pixels."""
    report.heading(
        "MNIST halves: first canonical correlation on the test pictures, 10 / 20 / 50 / 100 variables a side"
    )
    left, right = halves()
    column = np.tile(np.arange(14), 28)
    numbers = tuple(HALVES)
    found: dict[str, list[list[float]]] = {}
    for seed in range(2 if options.quick else 5):
        L, _, R, _ = split = train_test_split(left, right, test_size=0.3, random_state=seed)
        sides = split[:2], split[2:]
        orders: dict[str, list[np.ndarray]] = {
            name: [r.selected for r in fastfs.projse_two_view(L, R, n_features_to_select=100, **setting)]
            for name, setting in SETTINGS.items()
        }
        orders["largest variance"] = [np.argsort(-side.var(axis=0), kind="stable") for side in (L, R)]
        nearest = [np.lexsort((-side.var(axis=0), far)) for side, far in ((L, 13 - column), (R, column))]
        orders["nearest to the cut"] = nearest
        for name, order in orders.items():
            found.setdefault(name, []).append(first_correlations(*sides, order, numbers))
        rng = np.random.default_rng(seed)
        drawn = [first_correlations(*sides, (rng.permutation(392), rng.permutation(392)), numbers) for _ in range(5)]
        found.setdefault("random, mean of 5", []).append(list(np.mean(drawn, axis=0)))
        found.setdefault("all 392 + 392", []).append(first_correlations(*sides, [np.arange(392)] * 2, [392]))
    for name, runs in found.items():
        for i, n in enumerate(numbers if len(runs[0]) > 1 else (392,)):
            keep(f"mnist halves, {name}: {n} variables", [run[i] for run in runs])
        error = np.std(runs, axis=0, ddof=1).max() / np.sqrt(len(runs))
        report.row(name, " ".join(f"{v:.3f}" for v in np.mean(runs, axis=0)), note=f"errors up to {error:.3f}")
    report.row("paper, linear", " ".join(f"{v:.3f}" for v in HALVES.values()))
    report.row("paper, generic analysis", f"{GENERIC:.3f}")


def prefixes(orders: Sequence[np.ndarray], D: int) -> tuple[float, float]:
    """Nogueira's index of the first D choices among 392 pixels, and its standard error."""
    found = compare_selections(392, [np.sort(order[:D]) for order in orders], [None] * len(orders))
    return found["stability"], float(np.sqrt(found["variance"]))


def stability(report: Report, options: Options) -> None:
    """Nogueira's index and the correlation of scores, by the share of the pictures."""
    times = 10 if options.quick else 30
    report.heading(
        f"first 1 .. 5 pixels of the left half, {times} subsamples: stability; relevance (Pearson, Spearman)"
    )
    left, right = halves()
    for name, setting in SETTINGS.items():
        for percent in (10, 50) if options.quick else (10, 20, 30, 40, 50):
            rng = np.random.default_rng(0)
            samples = [rng.permutation(len(left))[: len(left) * percent // 100] for _ in range(times)]
            found = [fastfs.projse(left[s], right[s], n_features_to_select=5, **setting) for s in samples]
            values, errors = zip(*(prefixes([f.selected for f in found], D) for D in range(1, 6)), strict=True)
            keep(f"stability, {name}, {percent} %", values, error=max(errors))
            in_common = compare_selections(len(found[0].scores), None, [f.scores for f in found])
            relevance = [in_common["relevance_pearson"], in_common["relevance_correlation"]]
            report.row(
                f"{name}, {percent} % of the pictures",
                " ".join(f"{v:.2f}" for v in values),
                note=f"errors up to {max(errors):.2f}; relevance {relevance[0]:.3f}, {relevance[1]:.3f}",
            )


def pairs(report: Report, options: Options) -> None:
    """Two choices grow side by side."""
    numbers, times = (1, 2, 5, 10, 20, 50), 3 if options.quick else 10
    report.heading(
        f"pairs of choices on disjoint halves, the first 1 / 2 / 5 / 10 / 20 / 50: shared; span; {times} pairs"
    )
    left, right = halves()
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(times):
        rng = np.random.default_rng(seed)
        parts = np.array_split(rng.permutation(len(left)), 2)
        orders = {
            name: [fastfs.projse(left[p], right[p], n_features_to_select=50, **setting).selected for p in parts]
            for name, setting in SETTINGS.items()
        }
        orders["largest variance"] = [np.argsort(-left[p].var(axis=0), kind="stable") for p in parts]
        varying = np.flatnonzero(left.std(axis=0) > 0)
        orders["random pixels that vary"] = [rng.permutation(varying) for _ in parts]
        for name, (a, b) in orders.items():
            shared = [len(np.intersect1d(a[:n], b[:n])) / n for n in numbers]
            span = [np.mean(fastfs.canonical_correlations(left[:, a[:n]], left[:, b[:n]]) ** 2) for n in numbers]
            found.setdefault(name, []).append(np.array([shared, span]))
    for name, runs in found.items():
        shared, span = np.mean(runs, axis=0)
        errors = np.std(runs, axis=0, ddof=1).max(axis=1) / np.sqrt(times)
        keep(f"pairs, {name}, shared of 10", [run[0][3] for run in runs])
        text = " ".join(f"{v:.2f}" for v in span)
        note = f"span {text}; errors up to {errors[0]:.2f}, {errors[1]:.2f}"
        report.row(name, " ".join(f"{v:.2f}" for v in shared), note=note)


# ----------------------------------------------------------------------------------------------------- glioma, GunPoint


def genes(report: Report, options: Options, name: str, most: int) -> None:
    """Clusters of the chosen genes; beyond the rank of the table they come by their first score."""
    data = read(name)
    X, y = data["X"].astype(np.float64), data["y"]
    title, n_classes = name.rpartition("/")[2], len(np.unique(y))
    numbers = (10, most, 300)
    report.heading(
        f"{title}, Y = X: k-means NMI with {n_classes} classes, mean and deviation of 20 runs, "
        f"{' / '.join(map(str, numbers))} variables"
    )

    def runs(columns: np.ndarray) -> np.ndarray:
        clusters = (KMeans(n_classes, n_init=1, random_state=seed).fit_predict(X[:, columns]) for seed in range(20))
        return np.array([normalized_mutual_info_score(y, found) for found in clusters])

    def nmi(columns: np.ndarray) -> str:
        found = runs(columns)
        return f"{found.mean():.3f} +- {found.std():.3f}"

    for kernel, setting in SETTINGS.items():
        start = time.perf_counter()
        found = fastfs.projse(X, n_features_to_select=most, **setting)
        taken = time.perf_counter() - start
        order = np.argsort(found.ranking)
        for n in numbers:
            nmis = runs(order[:n])
            keep(f"{title}, {kernel}: NMI, {n} genes", nmis, error=float(nmis.std()))
        keep(f"{title}, {kernel}: seconds", taken)
        text = ", ".join(nmi(order[:n]) for n in numbers)
        report.row(kernel, text, note=f"{len(found.selected)} chosen in {harness.seconds(taken)}")
    start = time.perf_counter()
    order = np.argsort(-laplacian(Training(Protocol((), (), z_scores=False), (X, y, X, y), 0), 50))
    keep(f"{title}, Laplacian score: seconds", time.perf_counter() - start)
    for n in numbers:
        nmis = runs(order[:n])
        keep(f"{title}, Laplacian score: NMI, {n} genes", nmis, error=float(nmis.std()))
    report.row("Laplacian score", ", ".join(nmi(order[:n]) for n in numbers))
    rng = np.random.default_rng(0)
    choices = [rng.permutation(X.shape[1])[:300] for _ in range(4 if options.quick else 20)]
    drawn = np.array([[runs(order[:n]).mean() for n in numbers] for order in choices])
    for n, values in zip(numbers, drawn.T, strict=True):
        keep(f"{title}, random: NMI, {n} genes", values)
    spread = [f"{mean:.3f} +- {std:.3f}" for mean, std in zip(drawn.mean(axis=0), drawn.std(axis=0), strict=True)]
    report.row(f"random, {len(choices)} choices", ", ".join(spread))
    report.row(f"all {X.shape[1]}", nmi(np.arange(X.shape[1])))


def glioma(report: Report, options: Options) -> None:
    """50 tissues, 4434 genes; the paper took 210 to 299 s for its choice."""
    genes(report, options, "glioma", 50)


def carcinoma(report: Report, options: Options) -> None:
    """174 tissues; 1571 genes and 10 classes of the paper's 9182 and 11."""
    genes(report, options, "papers/carcinoma_su_filtered", 170)


def gunpoint(report: Report, options: Options) -> None:
    """Accuracy and alignment against random choice."""
    report.heading("GunPoint: SVM accuracy / centred alignment with 1 / 2 / 5 / 10 points of time")
    data = read("ucr_gunpoint")
    X, y, test = data["X"].astype(np.float64), data["y"], data["is_test"].astype(bool)

    def judge(order: np.ndarray) -> list[float]:
        values = []
        for n in (1, 2, 5, 10):
            scale = StandardScaler().fit(X[~test][:, order[:n]])
            A, B = (scale.transform(X[part][:, order[:n]]) for part in (~test, test))
            values += [SVC().fit(A, y[~test]).score(B, y[test]), fastfs.kernel_alignment(A, y[~test])]
        return values

    def text(values: Any) -> str:
        return "  ".join(f"{a:.3f}/{b:.3f}" for a, b in zip(values[::2], values[1::2], strict=True))

    for name, setting in SETTINGS.items():
        result = fastfs.projse(X[~test], y[~test], **setting)
        judged = judge(np.argsort(result.ranking))
        keep(f"gunpoint, {name}, alignment of two", judged[3:4])
        report.row(name, text(judged), note=f"{len(result.selected)} selected")
    rng = np.random.default_rng(0)
    report.row("random, mean of 50", text(np.mean([judge(rng.permutation(150)) for _ in range(50)], axis=0)))


def series(report: Report, options: Options) -> None:
    """Points of time chosen for the one-hot labels, beside the F test and random ones."""
    numbers = (5, 10, 20, 46)
    for name, classes in (("ucr_shapesall", 60), ("ucr_crop_train", 24)):
        data = read(f"papers/{name}")
        X, y = data["X"].astype(np.float64), data["y"]
        if "is_test" in data:
            test = data["is_test"].astype(bool)
        else:  # a third of the training part, whose test part couldn't be had
            test = np.random.default_rng(0).permutation(len(y)) < len(y) // 3
        if options.quick:
            kept = y < 10
            X, y, test = X[kept], y[kept], test[kept]
        scale = StandardScaler().fit(X[~test])
        A, B = scale.transform(X[~test]), scale.transform(X[test])
        top = [n for n in numbers if n <= A.shape[1]]
        report.heading(f"{name}: accuracy in % of a linear and an RBF SVM, points {' / '.join(map(str, top))}")
        with np.errstate(all="ignore"):
            F = np.nan_to_num(f_classif(A, y[~test])[0])
        orders = {"F test": [np.argsort(-F, kind="stable")]}
        for kind, setting in SETTINGS.items():
            found = fastfs.projse(A, y[~test], n_features_to_select=min(46, A.shape[1]), beyond="residual", **setting)
            rest = np.setdiff1d(np.argsort(found.ranking), found.selected, assume_unique=True)
            orders[kind] = [np.concatenate([found.selected, rest])]
        rng = np.random.default_rng(0)
        orders["random, mean of 5"] = [rng.permutation(A.shape[1]) for _ in range(2 if options.quick else 5)]
        orders["all"] = [np.arange(A.shape[1])]
        linears = {}
        for kind, choices in orders.items():
            table = []
            for order in choices:
                row = []
                for n in [A.shape[1]] if kind == "all" else top:
                    P, Q = A[:, order[:n]], B[:, order[:n]]
                    linear = LinearSVC(dual="auto", max_iter=2000).fit(P, y[~test]).score(Q, y[test])
                    row += [100 * linear, 100 * SVC(C=10.0).fit(P, y[~test]).score(Q, y[test])]
                table.append(row)
            mean = np.mean(table, axis=0)
            for i, value in enumerate(mean):
                svm, points = ("linear", "RBF")[i % 2], "most" if kind == "all" else top[i // 2]
                error = float(np.sqrt(value * (100 - value) / test.sum()))
                keep(f"{name}, {kind}: {svm}, {points} points", value, error=error)
            linears[kind] = mean[0 if kind == "all" else 2 * top.index(20)]
            text = "  ".join(f"{a:.1f}/{b:.1f}" for a, b in zip(mean[::2], mean[1::2], strict=True))
            report.row(kind, text, note=f"{classes} classes, {test.sum()} to test")
        keep(f"{name}, rbf: linear, 20 points less linear's", linears["rbf"] - linears["linear"])


EXPERIMENTS = {
    "series": series,
    "scaling": scaling,
    "seconds": seconds,
    "shares": shares,
    "mixing": mixing,
    "mnist": mnist,
    "glioma": glioma,
    "carcinoma": carcinoma,
    "gunpoint": gunpoint,
    "stability": stability,
    "pairs": pairs,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that were named, or all."""
    parser = argparse.ArgumentParser(description="ProjSe's experiments")
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer splits and subsamples: a minute or so")
    parser.add_argument("--rows", type=int, default=10**6, help="the most samples of the scaling experiment")
    options = parser.parse_args(arguments, namespace=Options())
    harness.machine()
    report = Report()
    warnings.simplefilter("ignore", fastfs.DataWarning)  # dependent pixels, the tie of Y = X: known here
    for name in options.names or EXPERIMENTS:
        EXPERIMENTS[name](report, options)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
