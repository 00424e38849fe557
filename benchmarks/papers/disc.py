"""DiSC's experiments (Sristi, Mishne, Jaffe 2022) on what is at hand, the paper's numbers beside ours.

    FASTFS_TEST_DATA=folder python -m benchmarks.papers.disc [names ...] [--quick] [--plot FOLDER]

Without names all run. The paper's hyperspectral scene isn't among our data: one is made up. **Its fMRI data aren't
available to us; that experiment is not repeated.** Experiments:

* toy1: 250 features in two sets; two blocks that both have, two of each set's own. AUC of v_1^2 + v_2^2 (leading
  vectors that aren't trivial) for a set's own blocks, and their share of the best 50 by score. `choices`: the same
  share for other numbers of vectors, graphs and densities.
* defaults: the default options on every dense set of the folder, which fit or say why not.
* toy2: a block of 100 moves together in A; in B, 25 and 75 of it move apart. Whether the sign of v_1 of B splits it
  right, and the first significance of B over that of A. The paper's text and program differ in block sizes and in d.
* toy3: three sets, a block of each set's own: AUC in its set, and the largest in another one.
* toy4: three sets, two blocks each that all have, that A and C have, B and C, and one set alone: AUC of a set's own
  blocks, against features without a block in it and against shared blocks. As in the public script of figure 6.
* blocks: the block model of section 3.3, on the weights themselves and by DiSC.
* mnist: ten digits as ten sets, 400 pictures of each to learn from, 100 to test on. k = 10, d = 20, 10 vectors, k-means
  into 11 groups, the largest dropped: 100 groups of pixels; sums over groups, z-scores, logistic regression. Groups
  come from the right singular vectors (DiSC), from the left ones (which the paper's table calls diffusion maps), from
  the digits' own diffusion vectors, from the coefficients of elastic nets; and, which the paper doesn't have, **at
  random** and from k-means of all pixels. The rivals have 10 groups in the paper; here also 100.
* pairs: two digits at a time, groups from one fit of two sets, with the same rivals.
* scene: 124 bands of 100 x 100 pixels, before and after; pixels are features. Some pixels get another material. AUC of
  the scores for these, beside the plain difference of the two pictures; with the light of the second picture changed in
  each band, too. `noise`: the same by the noise of the pictures.
* cells: made-up counts of single cells, groups of genes that move together in one condition only, with the same
  distribution of every gene in both. AUC beside the change of plain correlations and Welch's t.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind
from sklearn.cluster import KMeans
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from benchmarks.papers import protocol
from benchmarks.papers.claims import DIGITS
from benchmarks.papers.protocol import keep

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from reference import disc as toys


class Options(argparse.Namespace):
    quick: bool
    plot: Path | None


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X and y of one of the real data sets."""
    data = protocol.read(name)
    return data["X"].astype(float), data["y"]


def spread(values: Any, digits: int = 3) -> str:
    return f"{np.mean(values):.{digits}f} +- {np.std(values):.{digits}f}"


def leading(found: fastfs.DiSCResult, s: int, count: int) -> np.ndarray:
    """The first vectors of a set that aren't trivial."""
    return found.vectors[s][:, np.flatnonzero(~found.trivial[s])[:count]]


# ----------------------------------------------------------------------------------------------------------------- toys


def toy1(report: Report, options: Options) -> None:
    """The blocks of each set's own."""
    report.heading("toy 1: 250 features, blocks of 50 in one set only; k = 30, d = 20; 10 seeds")
    for n in (50, 100, 500) if options.quick else (50, 100, 500, 10_000):
        areas, shares, ratios = [], [], []
        for seed in range(3 if n > 1000 else 10):
            A, B, *own = toys.toy1(n, np.random.default_rng(seed))
            found = fastfs.disc([A, B], graph="dense")
            for s, block in enumerate(own):
                areas.append(roc_auc_score(block, (leading(found, s, 2) ** 2).sum(axis=1)))
                shares.append(block[np.argsort(-found.set_scores[s])[:50]].mean())
                sigma = found.significance[s][~found.trivial[s]]
                ratios.append(sigma[1] / sigma[2])
        target = {"at_least": 0.93} if n == 100 else {}
        keep(f"toy 1, {n} samples: AUC", areas)
        keep(f"toy 1, {n} samples: sigma_2 / sigma_3", ratios)
        note = f"of the best 50 {np.mean(shares):.2f} right; sigma_2 / sigma_3 {np.mean(ratios):.1f}"
        report.row(f"{n} samples: AUC", float(np.mean(areas)), note=note, **target)


def defaults(report: Report, options: Options) -> None:
    """DiSC() on 13 features of three classes, and on every dense set of the data folders."""
    report.heading("defaults: DiSC() on every dense set")
    folder = Path(os.environ.get("FASTFS_TEST_DATA", ""))
    tables = {"13 features x 3 classes": (np.random.default_rng(0).normal(size=(90, 13)), np.arange(90) % 3)}
    for path in sorted([*folder.glob("*.npz"), *folder.glob("papers/*.npz")]):
        data = np.load(path)
        if {"X", "y"} <= set(data) and not (options.quick and data["X"].shape[1] > 200):
            X, y = data["X"].astype(float), data["y"]
            complete = ~np.isnan(X).any(axis=1)
            tables[path.stem] = X[complete], y[complete]
    n_fitted = 0
    for name, (X, y) in tables.items():
        try:
            finite = np.isfinite(fastfs.DiSC().fit(X, y).scores_).all()
            says = "fits" if finite else "SCORES THAT AREN'T FINITE"
            n_fitted += int(finite)
        except ValueError as error:
            says = str(error)
        report.row(f"{name}, {X.shape[1]} x {len(np.unique(y))}", says)
    keep("defaults: sets that fit", n_fitted)
    report.row("sets that fit", f"{n_fitted} of {len(tables)}")


def choices(report: Report, options: Options) -> None:
    """Toy 1 with other options."""
    report.heading("toy 1, 100 samples, 10 seeds: significances, and share of its own blocks among the best 50")
    variants: dict[str, dict[str, Any]] = {
        "dense": {"graph": "dense"},
        "dense, density 0": {"graph": "dense", "density": 0.0},
        "dense, constant projected out": {"graph": "dense", "constant": "project"},
        "30 neighbors": {"graph": "knn"},
    }
    data = [toys.toy1(100, np.random.default_rng(seed)) for seed in range(10)]
    for name, variant in variants.items():
        sigma = []
        shares: dict[Any, list[float]] = {}
        for q in (None, 2, 5, 9):
            for A, B, *own in data:
                found = fastfs.disc([A, B], n_differential=q, **variant)
                for s, block in enumerate(own):
                    shares.setdefault(q, []).append(block[np.argsort(-found.set_scores[s])[:50]].mean())
                    sigma.append(found.significance[s][~found.trivial[s]][:3])
        words = ", ".join(f"{'ratio rule' if q is None else q} {np.mean(v):.2f}" for q, v in shares.items())
        report.row(name, " ".join(f"{v:.3f}" for v in np.mean(sigma, axis=0)), note=f"vectors: {words}")


def toy2(report: Report, options: Options) -> None:
    """The block that B cuts in two."""
    report.heading("toy 2: 200 features; k = 80; 10 seeds (3 with 10,000 samples)")
    for n, d in ((200, 20), (200, 50)) if options.quick else ((200, 20), (200, 50), (10_000, 20), (10_000, 50)):
        right, over = [], []
        for seed in range(3 if n > 1000 else 10):
            A, B, small, large = toys.toy2(n, np.random.default_rng(seed))
            found = fastfs.disc([A, B], graph="dense", bandwidth_neighbors=80, n_components=d)
            v = leading(found, 1, 1)[:, 0]
            share = np.concatenate([v[small] > 0, v[large] < 0]).mean()
            right.append(max(share, 1 - share))
            over.append(found.statistic[1] / found.statistic[0])
        target = {"at_least": 0.95} if (n, d) == (200, 20) else {}
        keep(f"toy 2, {n} samples, d = {d}: split right", right)
        keep(f"toy 2, {n} samples, d = {d}: significance of B over A's", over)
        note = f"first significance of B over A's: {np.mean(over):.1f}"
        report.row(f"{n} samples, d = {d}: split right", float(np.mean(right)), note=note, **target)


def toy3(report: Report, options: Options) -> None:
    """One block of each of three sets' own."""
    report.heading("toy 3: three sets of 200 features, a block of 25 of each one's own; 200 samples, 10 seeds")
    own_areas, others = [], []
    for seed in range(10):
        sets, own = toys.toy3(200, np.random.default_rng(seed))
        found = fastfs.disc(sets, graph="dense", n_components=10)
        areas = np.array([[roc_auc_score(block, scores) for block in own] for scores in found.set_scores])
        own_areas.append(np.diag(areas).mean())
        others.append(areas[~np.eye(3, dtype=bool)].max())
    keep("toy 3: AUC of its own block", own_areas)
    keep("toy 3: largest AUC of another's", others)
    report.row("AUC of its own block", spread(own_areas))
    report.row("the largest of another set's", spread(others))


def toy4(report: Report, options: Options) -> None:
    """Blocks that all, two or one of three sets have."""
    report.heading(
        "toy 4: three sets of 400 features, pairs of blocks that all, two or one of them have; k = 30, d = 20"
    )
    for n in (50, 500) if options.quick else (50, 500, 10_000):
        areas: dict[str, list[float]] = {}
        for seed in range(3 if n > 1000 or options.quick else 10):
            sets, kind = toys.toy4(n, np.random.default_rng(seed))
            found = fastfs.disc(sets, graph="dense")
            for name, scores in zip("ABC", found.set_scores, strict=True):
                own, has = kind == name, np.char.find(kind, name) >= 0
                for others, word in ((~has, "what is in no block"), (has & ~own, "its shared blocks")):
                    area = roc_auc_score(own[own | others], scores[own | others])
                    areas.setdefault(f"{name}'s own blocks against {word}", []).append(area)
        for what, values in areas.items():
            keep(f"toy 4, {n} samples: {what}", values)
            report.row(f"{n} samples: {what}", spread(values))


# ---------------------------------------------------------------------------------------------------------------- MNIST


def groups_of(rows: np.ndarray, n_groups: int, seed: int) -> list[np.ndarray]:
    """k-means of features; the largest group is background."""
    labels = KMeans(n_groups, n_init=4, random_state=seed).fit_predict(rows)
    background = np.bincount(labels).argmax()
    return [np.flatnonzero(labels == g) for g in range(n_groups) if g != background]


def left_vectors(X: np.ndarray, eps: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """P v: the left singular vectors times their singular values; v has nothing that Q would take out."""
    gram = X.T @ X
    squares = np.maximum(np.add.outer(np.diag(gram), np.diag(gram)) - 2 * gram, 0)
    E = np.exp(-squares / eps[:, None] ** 2)
    W = (E + E.T) / 2
    np.fill_diagonal(W, 1)
    walk, _ = toys.random_walk(W)
    left = walk @ vectors
    return left / np.linalg.norm(left, axis=0)


def accuracy(groups: list[np.ndarray], train: Any, test: Any) -> float:
    """Logistic regression on sums over groups of features."""
    weights = np.zeros((train[0].shape[1], len(groups)))
    for g, members in enumerate(groups):
        weights[members, g] = 1
    scaler = StandardScaler().fit(train[0] @ weights)
    model = LogisticRegression(max_iter=500).fit(scaler.transform(train[0] @ weights), train[1])
    return 100 * model.score(scaler.transform(test[0] @ weights), test[1])


def rows_of_the_table(train: Any, test: Any, seeds: int, constant: str = "drop") -> dict[str, list[float]]:
    """Accuracies by where the groups of pixels come from, one a seed of k-means."""
    X, y = train
    digits = np.unique(y)
    sets = [X[y == c] for c in digits]
    found = fastfs.disc(sets, graph="dense", bandwidth_neighbors=10, constant=constant)
    right = [leading(found, s, 10) for s in range(len(digits))]
    left = [left_vectors(X[y == c], found.bandwidths[s], right[s]) for s, c in enumerate(digits)]
    sources = {
        "DiSC: right vectors": right,
        "left vectors": left,
        "diffusion vectors": [U[:, :10] for U in found.diffusion],
    }
    accuracies: dict[str, list[float]] = {}
    for seed in range(seeds):
        for name, vectors in sources.items():
            groups = [g for rows in vectors for g in groups_of(rows, 11, seed)]
            accuracies.setdefault(name, []).append(accuracy(groups, train, test))
        n_groups = 10 * len(digits)
        rng = np.random.default_rng(seed)
        random = np.array_split(rng.permutation(X.shape[1]), n_groups)
        accuracies.setdefault("random groups", []).append(accuracy(list(random), train, test))
        labels = KMeans(n_groups, n_init=4, random_state=seed).fit_predict(X.T)
        clusters = [np.flatnonzero(labels == g) for g in range(n_groups)]
        accuracies.setdefault("k-means of all pixels", []).append(accuracy(clusters, train, test))
    singles = [np.array([j]) for j in range(X.shape[1])]
    accuracies["every pixel by itself"] = [accuracy(singles, train, test)]
    return accuracies


def coefficients(train: Any) -> dict[str, np.ndarray]:
    """Of the pixels, by the elastic nets of the public program; "EN" tells the digit 4 from all others."""
    X, y = train
    net = ElasticNet(l1_ratio=0.01, alpha=0.01, random_state=0).fit(X, np.where(y == 4, -3, 3))
    logistic = SGDClassifier(
        loss="log_loss", penalty="elasticnet", l1_ratio=0.02, alpha=0.3, max_iter=500, random_state=0
    ).fit(X, y)
    return {"EN": net.coef_[:, None], "EN-logistic": logistic.coef_.T}


def rivals_of_the_table(train: Any, test: Any, seeds: int) -> dict[str, list[float]]:
    """Accuracies with 10 groups, as in the paper, and with 100, as DiSC has them."""
    sources = {**coefficients(train), "all pixels": train[0].T}
    return {
        f"{name}, {n} groups": [accuracy(groups_of(rows, n + 1, seed), train, test) for seed in range(seeds)]
        for name, rows in sources.items()
        for n in (10, 100)
    }


def split(X: np.ndarray, y: np.ndarray, n_train: int) -> tuple[Any, Any]:
    """The first pictures of each digit, and the others; pixels that vary in the training part."""
    first = np.concatenate([np.flatnonzero(y == c)[:n_train] for c in np.unique(y)])
    is_train = np.isin(np.arange(len(y)), first)
    varies = X[is_train].std(axis=0) > 0
    X = X[:, varies] / 255
    return (X[is_train], y[is_train]), (X[~is_train], y[~is_train])


def mnist(report: Report, options: Options) -> None:
    """The table of ten digits."""
    report.heading("MNIST, ten sets, 100 groups of pixels, accuracy in % (paper: 60,000 pictures, ours 4000)")
    X, y = read("mnist_10x500")
    if options.quick:
        kept = np.isin(y, (1, 4, 7, 9))
        X, y = X[kept], y[kept]
    train, test = split(X, y, 400)
    seeds = 1 if options.quick else 4
    for name, values in (rows_of_the_table(train, test, seeds) | rivals_of_the_table(train, test, seeds)).items():
        share = np.mean(values) / 100
        keep(f"mnist: {name}", values, error=100 * float(np.sqrt(share * (1 - share) / len(test[1]))))
        report.row(name, spread(values, 1), note=f"paper {DIGITS[name][1]}" if name in DIGITS else "")


def pairs(report: Report, options: Options) -> None:
    """Two digits at a time."""
    report.heading("pairs of digits, 20 groups of pixels, accuracy in %, means over pairs; 250 pictures to learn from")
    X, y = read("mnist_10x500")
    every = list(itertools.combinations(range(10), 2))
    table: dict[str, list[float]] = {}
    for a, b in [(4, 9), (3, 5)] if options.quick else every:
        chosen = np.isin(y, (a, b))
        train, test = split(X[chosen], y[chosen], 250)
        for name, values in rows_of_the_table(train, test, 1).items():
            table.setdefault(name, []).append(values[0])
    for name, values in table.items():
        report.row(name, spread(values, 1), note=f"worst pair {min(values):.1f}")
    if options.plot:
        draw_pair(options.plot, X, y)


def draw_pair(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    """4 against 9: vectors as images, significances, a group in both digits."""
    from matplotlib.figure import Figure

    chosen = np.isin(y, (4, 9))
    X, y = X[chosen] / 255, y[chosen]
    selector = fastfs.DiSC(graph="dense", bandwidth_neighbors=10, n_groups=11, n_differential=10).fit(X, y)
    figure = Figure(figsize=(15, 6), layout="constrained")
    axes = figure.subplots(2, 5)
    for s, label in enumerate(selector.classes_):
        real = np.flatnonzero(~selector.trivial_[s])[:4]
        for ax, j in zip(axes[s], real, strict=False):
            title = f"{label}: {selector.significance_[s, j]:.2f}"
            fastfs.pl.image(selector.vectors_[s][:, j], (28, 28), ax=ax, signed=True, title=title)
    fastfs.pl.significance(selector, ax=axes[0, 4])
    axes[1, 4].imshow(selector.groups_[0].reshape(28, 28), cmap="tab20")
    axes[1, 4].set_title("groups of 4")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "disc_4_9.png", dpi=110)
    figure = Figure(figsize=(9, 4), layout="constrained")
    fastfs.pl.group(selector, X, y, selector.groups_[0] == 0, figure=figure)
    figure.savefig(folder / "disc_group.png", dpi=110)


# ---------------------------------------------------------------------------------------------------------------- scene


def smooth(shape: tuple[int, ...], width: float, rng: np.random.Generator) -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    field = gaussian_filter(rng.normal(size=shape), width, mode="wrap")
    return field / field.std()


def make_scene(
    side: int, light: float, rng: np.random.Generator, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Before, after (bands x pixels) and which pixels have another material after."""
    bands, materials = 124, 6
    spectra = 2 + np.array([smooth((bands,), 12, rng) for _ in range(materials + 1)])
    of_pixel = np.argmax([smooth((side, side), side / 12, rng) for _ in range(materials)], axis=0)
    after = of_pixel.copy()
    place = int(0.2 * side)
    for at in (int(0.15 * side), int(0.6 * side)):
        after[at : at + place, at : at + place] = materials
    brightness = 1 + 0.05 * smooth((side, side), side / 8, rng)
    lamp = 1 + light * smooth((bands,), 6, rng)[:, None]
    before, changed = (
        (spectra[labels.ravel()].T * brightness.ravel()) * factor + noise * rng.normal(size=(bands, side * side))
        for labels, factor in ((of_pixel, 1.0), (after, lamp))
    )
    return before, changed, (after == materials).ravel()


def scene(report: Report, options: Options) -> None:
    """What has changed between two pictures of many bands."""
    side = 40 if options.quick else 100
    report.heading(f"scene: 124 bands of {side} x {side} pixels, 8 % of which change; 3 seeds, AUC for those")
    graphs = {"knn, 30 neighbors": {"graph": "knn"}, "dense": {"graph": "dense"}}
    for light in (0.0, 0.3):
        areas: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for seed in range(3):
            before, after, changed = make_scene(side, light, np.random.default_rng(seed))
            difference = ((after - before) ** 2).sum(axis=0)
            areas.setdefault("plain difference", []).append(roc_auc_score(changed, difference))
            for name, graph in graphs.items():
                if name == "dense" and side > 50:
                    continue  # 1.6 GB
                timing = harness.Timing()
                kept: list[Any] = []
                timing.add(lambda g=graph, k=kept, A=before, B=after: k.append(fastfs.disc([A, B], **g)))  # type: ignore[misc]
                areas.setdefault(f"DiSC, {name}", []).append(roc_auc_score(changed, kept[0].set_scores[1]))
                seconds.setdefault(f"DiSC, {name}", []).append(timing.cpu[0])
        print("the same light" if light == 0 else "another light in each band of the second")
        for name, values in areas.items():
            note = f"CPU {np.median(seconds[name]):.1f} s" if name in seconds else ""
            report.row(f"  {name}", spread(values), note=note)


def noise(report: Report, options: Options) -> None:
    """The scene with more and more noise."""
    side, seeds = (40, 2) if options.quick else (100, 5)
    report.heading(f"noise: the scene of {side} x {side} pixels; AUC for those that change, {seeds} seeds")
    for light in (0.0, 0.3):
        for level in (0.1, 0.3, 1.0) if options.quick else (0.1, 0.2, 0.5, 1.0, 2.0, 4.0):
            areas: dict[str, list[float]] = {}
            for seed in range(seeds):
                before, after, changed = make_scene(side, light, np.random.default_rng(seed), level)
                scores = fastfs.disc([before, after], graph="knn").set_scores[1]
                areas.setdefault("DiSC", []).append(roc_auc_score(changed, scores))
                areas.setdefault("difference", []).append(roc_auc_score(changed, ((after - before) ** 2).sum(axis=0)))
            for name, values in areas.items():
                keep(f"scene, light {light:g}, noise {level:g}: {name}", values)
            where = "the same light" if light == 0 else "another light"
            note = f"plain difference {spread(areas['difference'])}"
            report.row(f"{where}, noise {level:g}: DiSC", spread(areas["DiSC"]), note=note)


# ---------------------------------------------------------------------------------------------------------------- cells


def make_cells(n: int, depth: float, strength: float, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Counts of 500 genes in n cells of each of two conditions, and in which conditions each gene moves with others.

    Two groups of 25 genes move together in both conditions, two in A only, two in B only: in a cell, the logarithms of
    the means of a group shift by `strength` times a standard normal number. Elsewhere each gene of a group shifts by a
    number of its own, so that every gene has the same distribution in both conditions. Counts are Poisson, `depth` of
    them a cell on average.
    """
    kind = np.array([k for k in ("AB", "A", "B") for _ in range(50)] + [""] * 350)
    group = np.arange(500) // 25
    share = rng.lognormal(0.0, 1.0, 500)
    share /= share.sum()
    sets = []
    for name in "AB":
        shifts = strength * rng.normal(size=(n, 500))
        together = np.char.find(kind, name) >= 0
        shifts[:, together] = strength * rng.normal(size=(n, group.max() + 1))[:, group[together]]
        size = depth * rng.lognormal(0.0, 0.3, (n, 1))
        sets.append(rng.poisson(size * share * np.exp(shifts - strength**2 / 2)).astype(float))
    return sets, kind


def log_counts(counts: np.ndarray) -> np.ndarray:
    """Of cells, per 10,000."""
    return np.log1p(1e4 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def correlation_change(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The plain rival: the sum of squared differences of a gene's correlations with all others."""
    with np.errstate(all="ignore"):
        difference = np.nan_to_num(np.corrcoef(A, rowvar=False)) - np.nan_to_num(np.corrcoef(B, rowvar=False))
    return np.asarray((difference**2).sum(axis=1))


def cells(report: Report, options: Options) -> None:
    """Groups of genes that co-vary in one condition only."""
    seeds = 2 if options.quick else 10
    report.heading(
        f"cells: 500 genes, 200 cells a condition; AUC for the 100 genes that move together in one; {seeds} seeds"
    )
    for depth, strength in itertools.product((1000, 5000, 20_000), (0.2, 0.5)):
        areas: dict[str, list[float]] = {}
        for seed in range(seeds):
            counts, kind = make_cells(200, depth, strength, np.random.default_rng(seed))
            A, B = map(log_counts, counts)
            found = fastfs.disc([A, B], graph="dense", scaling="standard", bandwidth_neighbors=30)
            changed = np.char.str_len(kind) == 1
            own = np.mean([roc_auc_score(kind == s, scores) for s, scores in zip("AB", found.set_scores, strict=True)])
            areas.setdefault("DiSC", []).append(roc_auc_score(changed, found.scores))
            areas.setdefault("DiSC, a condition's own", []).append(float(own))
            areas.setdefault("correlations", []).append(roc_auc_score(changed, correlation_change(A, B)))
            with np.errstate(all="ignore"):
                t = np.abs(np.nan_to_num(ttest_ind(A, B, equal_var=False).statistic))
            areas.setdefault("Welch's t", []).append(roc_auc_score(changed, t))
        for name, values in areas.items():
            keep(f"cells, {depth:,} counts, shifts {strength:g}: {name}", values)
        note = "; ".join(f"{name} {spread(values)}" for name, values in areas.items() if name != "DiSC")
        report.row(f"{depth:,} counts a cell, shifts {strength:g}: DiSC", spread(areas["DiSC"]), note=note)


def block_graphs(size: int, s: int, p: float, q: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Graphs of section 3.3: two groups of `size` and size + s nodes in A; the second divided, size and s, in B."""
    graphs = []
    for labels in (np.repeat([0, 1], [size, size + s]), np.repeat([0, 1, 2], [size, size, s])):
        upper = np.triu(rng.random((2 * size + s, 2 * size + s)) < np.where(labels[:, None] == labels, p, q), 1)
        graphs.append((upper | upper.T).astype(float))
    return graphs


def blocks(report: Report, options: Options) -> None:
    """The stochastic block model: how well the third group of B is seen, by lemma 2 and by DiSC."""
    sizes = (100, 200) if options.quick else (100, 200, 400, 800)
    report.heading("block model, p = .5, q = .1, s = l^.75: squared distance of v, errors / s, AUC by DiSC; 5 seeds")
    for size in sizes:
        s = round(size**0.75)
        gamma = np.arange(2 * size + s) >= 2 * size
        distances, errors, areas = [], [], []
        for seed in range(5):
            A, B = block_graphs(size, s, 0.5, 0.1, np.random.default_rng(seed))
            U = np.linalg.eigh(A)[1][:, -2:]
            Q = np.eye(len(A)) - U @ U.T
            v = np.linalg.eigh(Q @ B @ Q)[1][:, -1]
            v *= np.sign(v[gamma].sum())
            distances.append(np.sum((v - gamma / np.sqrt(s)) ** 2))
            errors.append(np.sum((v > 1 / (2 * np.sqrt(s))) != gamma) / s)
            found = fastfs.disc(graphs=[A + np.eye(len(A)), B + np.eye(len(A))], density=0, n_components=2)
            areas.append(roc_auc_score(gamma, found.set_scores[1]))
        keep(f"block model, {size} nodes: errors / s", errors)
        keep(f"block model, {size} nodes: squared distance", distances)
        keep(f"block model, {size} nodes: AUC", areas)
        note = f"errors / s {spread(errors)}; DiSC's AUC {spread(areas)}; l^(1 - 2a) {size**-0.5:.3f}, s {s}"
        report.row(f"l = {size}: squared distance", spread(distances), note=note)


EXPERIMENTS = {
    "blocks": blocks,
    "toy1": toy1,
    "choices": choices,
    "defaults": defaults,
    "toy2": toy2,
    "toy3": toy3,
    "toy4": toy4,
    "mnist": mnist,
    "pairs": pairs,
    "scene": scene,
    "noise": noise,
    "cells": cells,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that were named, or all."""
    parser = argparse.ArgumentParser(description="DiSC's experiments")
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, digits and pixels: two minutes or so")
    parser.add_argument(
        "--plot", type=Path, metavar="FOLDER", help="pictures of 4 against 9, with the experiment pairs"
    )
    options = parser.parse_args(arguments, namespace=Options())
    harness.machine()
    report = Report()
    # Digits and blocks have small gaps and flat tails throughout: known here.
    warnings.simplefilter("ignore", fastfs.DataWarning)
    for name in options.names or EXPERIMENTS:
        EXPERIMENTS[name](report, options)
    print("\nThe paper's fMRI data aren't available to us: not repeated.")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
