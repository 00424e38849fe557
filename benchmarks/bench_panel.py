"""Panels of genes that tell types of cells apart: `fastfs.tl.panel` against other programs' rules.

    python -m benchmarks.bench_panel [--large [--cells 1000000]]

The two sets of cells in FASTFS_TEST_DATA, three folds: each rule chooses on the training cells, and held-out cells are
classified by linear discriminant analysis with equal priors: balanced accuracy.

* scanpy: the genes of the smallest p-values of each type against the rest (Wilcoxon, t test), in turn;
* NS-Forest's arithmetic (Aevermann 2021, version 4): of 1000 trees for a type, the 15 genes of most importance, of them
  the 6 of highest binary score (from medians), and of these the set of best F-beta (0.5), genes split by stumps. It
  decides how many genes there are, so ours are compared at that number;
* spapros's arithmetic (Kuemmerle 2024), without its choice of variable genes and its limits on probes: of the 100 genes
  of the largest sums of absolute loadings (20 components), 50 trees of depth 3 for each type on balanced draws; also of
  the 20 best markers of each type, of which the best tree's genes are added where it is ahead by .02 (F1 on held-out
  training cells); then trees on all these genes: those of each type's best tree in turn, of the second one, and so on;
* geneBasis's arithmetic (Missarova 2021), without types: the gene of which neighbours on the panel (5) say less than
  neighbours by 50 principal components of the 2000 most variable genes, by Minkowski's distance of order 3.

``--large``: cells x 20,000 genes on disk, CSR, 140 genes given, 360 more: time and memory of the process. 10^6 cells
are 8 GB on disk.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import scanpy
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, fbeta_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

import fastfs.tl
from benchmarks import harness

SIZES = (5, 10, 20, 40, 80)


def cells(name: str) -> anndata.AnnData:
    adata = anndata.read_h5ad(Path(os.environ["FASTFS_TEST_DATA"], f"{name}.h5ad"))
    adata.X = sp.csr_matrix(adata.X.astype(np.float32))
    scanpy.pp.normalize_total(adata, target_sum=1e4)
    scanpy.pp.log1p(adata)
    adata.obs["label"] = adata.obs["label"].astype(str)
    return adata


def panel(adata: anndata.AnnData, **options: Any) -> list[str]:
    fastfs.tl.panel(adata, "label", n=SIZES[-1], n_splits=0, **options)
    return adata.uns["panel"]["genes"]["names"].tolist()


def markers(adata: anndata.AnnData, method: str) -> list[str]:
    """The best of each type, then the second ones, without repeats."""
    scanpy.tl.rank_genes_groups(adata, "label", method=method)
    return list(dict.fromkeys(name for turn in adata.uns["rank_genes_groups"]["names"] for name in turn))


def ns_forest(adata: anndata.AnnData) -> list[str]:
    labels, X = adata.obs["label"].to_numpy(), adata.X.tocsc()
    types = np.unique(labels)
    medians = np.array([np.median(adata.X[labels == t].toarray(), axis=0) for t in types])
    chosen: list[str] = []
    for k, own in enumerate(types):
        others = np.delete(medians, k, axis=0)
        positive = np.flatnonzero(medians[k] > 0)
        if not len(positive):
            continue
        binary = np.maximum(0, 1 - others[:, positive] / medians[k, positive]).mean(axis=0)
        part, y = X[:, positive].toarray(), labels == own
        forest = RandomForestClassifier(1000, n_jobs=harness.cores(), random_state=0).fit(part, y)
        top = np.argsort(-forest.feature_importances_, kind="stable")[:15]
        top = top[np.argsort(-binary[top], kind="stable")][:6]
        above = []
        for j in top:
            stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0).fit(part[:, [j]], y)
            above.append(part[:, j] > stump.tree_.threshold[0])
        sets = [s for n in range(1, len(top) + 1) for s in combinations(range(len(top)), n)]
        best = max(sets, key=lambda s: fbeta_score(y, np.all([above[i] for i in s], axis=0), beta=0.5, zero_division=0))
        chosen += [adata.var_names[positive[top[i]]] for i in best]
    return list(dict.fromkeys(chosen))


def gene_basis(adata: anndata.AnnData, n: int = SIZES[-1]) -> list[str]:
    X = adata.X.tocsc()
    variance = np.asarray(X.power(2).mean(axis=0) - np.square(X.mean(axis=0))).ravel()
    kept = np.sort(np.argsort(-variance)[:2000])
    X = X[:, kept].toarray()

    def distances(points: np.ndarray) -> np.ndarray:
        near = NearestNeighbors(n_neighbors=6).fit(points).kneighbors(return_distance=False)[:, 1:]
        guess = sum(X[near[:, i]] for i in range(5)) / 5
        return (np.abs(X - guess) ** 3).mean(axis=0) ** (1 / 3)

    whole = distances(TruncatedSVD(50, random_state=0).fit_transform(X - X.mean(axis=0)))
    shuffled = distances(np.random.default_rng(0).normal(size=(len(X), 2)))
    chosen = [int((shuffled - whole).argmax())]
    while len(chosen) < n:
        excess = distances(X[:, chosen]) - whole
        excess[chosen] = -np.inf
        chosen.append(int(excess.argmax()))
    return adata.var_names[kept[chosen]].tolist()


def best_trees(adata: anndata.AnnData, genes: list[str], n_trees: int = 50) -> dict[str, tuple[list[list[str]], float]]:
    """For each type the genes of its best trees, the best tree first, and the F1 of that tree on held-out cells."""
    labels, X = adata.obs["label"].to_numpy(), adata[:, genes].X.toarray()
    known, new = train_test_split(np.arange(len(labels)), stratify=labels, random_state=0)
    rng, found = np.random.default_rng(0), {}
    for one in np.unique(labels):
        own, others = (known[is_own] for is_own in (labels[known] == one, labels[known] != one))
        trees = []
        for _ in range(n_trees):  # on as many cells of other types as of this one
            drawn = np.concatenate([rng.choice(own, len(own)), rng.choice(others, len(own))])
            tree = DecisionTreeClassifier(max_depth=3, random_state=int(rng.integers(1 << 31)))
            tree.fit(X[drawn], labels[drawn] == one)
            trees.append(
                (f1_score(labels[new] == one, tree.predict(X[new]), zero_division=0), tree.feature_importances_)
            )
        trees.sort(key=lambda tree: -tree[0])
        used = [[genes[j] for j in np.argsort(-values, kind="stable") if values[j] > 0] for _, values in trees]
        found[one] = used, trees[0][0]
    return found


def spapros(adata: anndata.AnnData, n_pca: int = 100, n_markers: int = 20) -> list[str]:
    X = adata.X.toarray()
    loadings = PCA(20, random_state=0).fit(X).components_
    genes = adata.var_names[np.argsort(-np.abs(loadings).sum(axis=0), kind="stable")[:n_pca]].tolist()
    own = best_trees(adata, genes)
    scanpy.tl.rank_genes_groups(adata, "label", method="t-test_overestim_var", n_genes=n_markers)
    names = adata.uns["rank_genes_groups"]["names"]
    by_markers = best_trees(adata, list(dict.fromkeys(name for turn in names for name in turn)))
    for one, (used, score) in by_markers.items():
        if score > own[one][1] + 0.02:  # markers tell this type better
            genes += used[0]
    trees = best_trees(adata, list(dict.fromkeys(genes)))
    turns = zip_longest(*(used for used, _ in trees.values()), fillvalue=())
    in_turn = [gene for turn in turns for place in zip_longest(*turn) for gene in place if gene is not None]
    return list(dict.fromkeys([*in_turn, *genes]))


NS_FOREST = "NS-Forest's arithmetic"
RULES = {
    "fastfs.tl.panel": panel,
    "the same, per_group=2": lambda adata: panel(adata, per_group=2),
    "scanpy, Wilcoxon": lambda adata: markers(adata, "wilcoxon"),
    "scanpy, t test": lambda adata: markers(adata, "t-test"),
    "geneBasis's arithmetic": gene_basis,
    "spapros's arithmetic": spapros,
    NS_FOREST: ns_forest,
    "random genes": lambda adata: np.random.default_rng(0).permutation(adata.var_names).tolist(),
}


def accuracy(train: anndata.AnnData, test: anndata.AnnData, genes: list[str]) -> float:
    """Balanced accuracy of the held-out cells."""
    y, k = train.obs["label"], train.obs["label"].nunique()
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=np.full(k, 1 / k))
    told = model.fit(train[:, genes].X.toarray(), y).predict(test[:, genes].X.toarray())
    return float(balanced_accuracy_score(test.obs["label"], told))


def compare(name: str, rules: list[str]) -> None:
    adata = cells(name)
    print(f"\n{name}, {adata.n_obs} x {adata.n_vars}, {adata.obs['label'].nunique()} types, {harness.load()}")
    found: dict[tuple[str, str], list[float]] = {}
    took = dict.fromkeys(RULES, 0.0)
    sizes_of_forest = []
    for known, new in StratifiedKFold(3, shuffle=True, random_state=0).split(adata.X, adata.obs["label"]):
        train, test = adata[known].copy(), adata[new].copy()
        orders = {}
        for rule in rules:
            begin = time.process_time()
            orders[rule] = RULES[rule](train)
            took[rule] += time.process_time() - begin
        size = len(orders[NS_FOREST]) if NS_FOREST in rules else SIZES[1]
        sizes_of_forest.append(size)
        for rule, genes in orders.items():
            sizes = {str(n): n for n in SIZES if rule != NS_FOREST} | {"forest": size}
            for column, n in sizes.items():
                found.setdefault((rule, column), []).append(accuracy(train, test, genes[:n]))
    columns = [*map(str, SIZES), "forest"]
    print(f"genes by NS-Forest's arithmetic: {sizes_of_forest}")
    print(f"genes {', '.join(columns)}; CPU seconds of a choice")
    for rule in rules:
        means = [np.mean(found.get((rule, column), np.nan)) for column in columns]
        print(f"  {rule:26s} {' '.join(f'{m:.3f}' for m in means)}  {took[rule] / 3:.1f}", flush=True)


def write(path: Path, n: int, p: int = 20_000, n_types: int = 30) -> None:
    """Write cells of types that differ in 40 genes each, with 5 % stored values."""
    rng = np.random.default_rng(0)
    types = rng.choice(n_types, n, p=np.arange(1, n_types + 1) / np.arange(1, n_types + 1).sum())

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for begin in range(0, n, harness.WRITTEN_AT_ONCE):
            of_cell = types[begin : begin + harness.WRITTEN_AT_ONCE, None]
            stored = rng.integers(0, p, (len(of_cell), p // 20), dtype=np.int32)
            of_type = rng.random((len(of_cell), 12)) < 0.7
            stored[:, :12][of_type] = (40 * of_cell + rng.integers(0, 40, (len(of_cell), 12)))[of_type]
            starts = np.arange(0, stored.size + 1, stored.shape[1])
            X = sp.csr_matrix((rng.random(stored.size, np.float32), stored.ravel(), starts), (len(of_cell), p))
            X.sum_duplicates()
            yield X.data, X.indices, np.diff(X.indptr)

    obs = {"label": np.array([f"type {t}" for t in range(n_types)])[types]}
    harness.write_cells(path, (n, p), obs, parts())


def large(n: int, keep: Path | None, folds: list[int], n_types: int = 30) -> None:
    """Time and memory of panels of cells on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder, "cells.h5ad")
        if not path.exists():
            write(path, n, n_types=n_types)
        given = [str(j) for j in range(40 * n_types, 40 * n_types + 80)]  # 80 of noise, and two of each type
        given += [str(40 * t + j) for t in range(n_types) for j in range(2)]
        setup = f"import anndata, fastfs.tl; adata = anndata.read_h5ad({str(path)!r}, backed='r'); given = {given}"
        size = f"{path.stat().st_size / 1e9:.2f} GB"
        for splits in folds:
            call = f"fastfs.tl.panel(adata, 'label', n=360, given=given, n_splits={splits}, max_memory='4G')"
            call += "\nresult = adata.uns['panel']['genes']['names'][140:].astype(int).tolist()"
            say_cost(f"{n} x 20000 on disk, {size}, {len(given)} given, {splits} folds", setup, call, n_types)
        call = "model = fastfs.ProjSe(n_jobs=2, max_memory='4G', given=[int(j) for j in given])"
        call += (
            "\nresult = model.set_params(n_features_to_select=29).fit(adata.X, adata.obs['label']).selected_.tolist()"
        )
        say_cost("the first 29 genes from all cells, ProjSe's own rule", setup, call, n_types)


def say_cost(what: str, setup: str, call: str, n_types: int) -> None:
    took = harness.alone(setup, call)
    if isinstance(took, str):
        print(f"{what}: {took}")
        return
    n_useful = int((np.array(took.result) < 40 * n_types).sum())
    print(
        f"{what}: {len(took.result)} more, {n_useful} of a type; {took.wall:.0f} s, {took.cpu:.0f} s of CPU, "
        f"{took.peak / 1e9:.2f} GB, {harness.load()}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="cells on disk")
    parser.add_argument("--cells", type=int, default=100_000, help="how many are on disk")
    parser.add_argument("--keep", type=Path, help="the file of the cells, written if it doesn't exist")
    parser.add_argument("--folds", type=int, nargs="*", default=[0, 5], help="a panel with each of these numbers")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES), help="which rules to compare")
    arguments = parser.parse_args()
    harness.machine()
    warnings.simplefilter("ignore")
    if arguments.large:
        large(arguments.cells, arguments.keep, arguments.folds)
        return
    for name in ("sc_pbmc68k_reduced", "sc_worm_neuron"):
        compare(name, arguments.rules)


if __name__ == "__main__":
    main()
