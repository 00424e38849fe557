"""The tool that designs a panel: few genes that together tell all types of cells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.projse import projse
from fastfs._inference.folds import Folds
from fastfs._inference.permutation import silence_warnings
from fastfs._inputs.entry import named_arguments
from fastfs._inputs.storage import dense, take_columns, take_rows
from fastfs._inputs.streams import sum_groups
from fastfs._machine.info import info
from fastfs._machine.params import RANDOM_STATE, as_int, as_seed
from fastfs._machine.run import Run, as_progress, count_threads
from fastfs._types import Array, Floats, Integers
from fastfs.tl._adata import CellMatrix, number_genes, read_groups
from fastfs.tl._design import CellDesign
from fastfs.tl._modality import open_place
from fastfs.tl._results import say_written

if TYPE_CHECKING:
    from anndata import AnnData

    from fastfs._types import Progress

# Numbers of chosen genes at which a panel is judged as it grows.
_SIZES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@named_arguments
def panel(
    adata: AnnData,
    groupby: str,
    n: int = 300,
    *,
    given: Sequence[str] | None = None,
    per_group: int = 0,
    groups: Sequence[str] | None = None,
    n_cells: int | None = 1000,
    n_splits: int = 5,
    donors: str | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    mask_var: str | npt.ArrayLike | None = None,
    key_added: str = "panel",
    drop_unlabelled: bool = False,
    min_class: int = 0,
    mod: str | None = None,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    verbose: bool | Progress = False,
    copy: bool = False,
) -> AnnData | None:
    """Choose few genes that together tell all types of cells apart, and judge them on cells that are held out.

    Each gene is the one that explains most of what those before it leave unexplained of the types
    (``fastfs.ProjSe(beyond="residual")``), so that genes don't repeat each other and types that are told apart already
    ask for no more genes.

    Parameters
    ----------
    adata : anndata.AnnData or mudata.MuData
        Cells x genes, normalised and logarithmised. Sparse values stay sparse; of data on disk the drawn cells are
        loaded, up to a quarter of `max_memory`.
    groupby : str
        Column of `adata.obs` with the types.
    n : int
        Number of genes to choose, besides the given ones.
    given : sequence of str, optional
        Genes that are on the panel already; what the others add to them counts.
    per_group : int
        Choose as many genes for each type first, which tell it from all others; a gene can serve several types.
    groups : sequence of str, optional
        Types to tell apart, two or more. Default: all.
    n_cells : int or None
        Draw at most this number of cells of each type, so that frequent types don't outweigh rare ones; None: all.
    n_splits : int
        Number of folds. The choice is repeated without the cells of each fold, which are classified then; 0: not.
    donors : str, optional
        Column of `adata.obs`: cells of a donor are in one fold. Cells are much easier to classify if other cells of
        their donor are known.
    layer, use_raw, mask_var, drop_unlabelled, min_class, mod
        As for :func:`fastfs.tl.manifest`.
    key_added : str
        Key of the results.
    random_state : int, Generator, RandomState or None
        Seed of the draw of cells, and of the folds.
    <rng>
    n_jobs : int or None
        Threads; None: all cores.
    <max_memory>
    <verbose>
    copy : bool
        Return a copy with the results, rather than write them into `adata`.

    Returns
    -------
    AnnData, MuData or None
        Sets ``adata.var["KEY_rank"]`` (1 is the first choice, 0 not chosen), ``["KEY_selected"]``, also True for given
        genes, and ``adata.uns["KEY"]``: `genes`, a DataFrame of the panel with the given genes first: `names`,
        `chosen_for` (a type, "all", or "given"), `highest_in`, the type of the largest mean, and `explained`, the share
        of the types explained so far. `accuracy`, a DataFrame for growing panels: `n_genes` chosen, the
        `balanced_accuracy` of held-out cells, and `hardest`, the type of the lowest recall `lowest_recall`. `recall`, a
        DataFrame with the share of each type's cells that are recognised, with a column for each number of genes. And
        `params`.

    Raises
    ------
    KeyError
        No such column, layer, type or mask.
    ValueError
        One type only; more genes than there are, or than `per_group` allows; an unknown given gene; fewer donors than
        folds, or a type with cells of one donor only; values that aren't finite.
    MemoryError
        The cells exceed `max_memory`, or a quarter of it if X is on disk: draw fewer.

    Warns
    -----
    fastfs.DataWarning
        Fewer genes are chosen than asked for, as no others add anything; fewer donors than folds have a type.

    Notes
    -----
    ``n_splits + 1`` choices, and each reads the drawn cells `n` times. Held-out cells are classified by linear
    discriminant analysis with a shrunken covariance and equal priors. The accuracy is about this way of choosing
    panels; the panel itself comes from all drawn cells.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> rng = np.random.default_rng(0)
    >>> types = np.arange(90) % 3
    >>> X = rng.normal(size=(90, 50)).astype("float32")
    >>> X[:, :3] += 4 * (types[:, None] == [0, 1, 2])
    >>> X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    >>> adata = anndata.AnnData(X, obs={"type": np.array(["a", "b", "c"])[types]})
    >>> fastfs.tl.panel(adata, "type", n=2)
    >>> adata.uns["panel"]["genes"]["highest_in"].is_unique, adata.uns["panel"]["accuracy"]["n_genes"].tolist()
    (True, [1, 2])
    >>> bool(adata.uns["panel"]["accuracy"]["balanced_accuracy"].iloc[-1] > 0.9)
    True
    """
    n, per_group, n_splits = as_int("n", n, low=1), as_int("per_group", per_group, low=0), as_int("n_splits", n_splits)
    if n_splits < 2 and n_splits != 0:
        raise ValueError(f"n_splits must be at least 2, or 0 for no folds; got {n_splits}")
    n_cells = None if n_cells is None else as_int("n_cells", n_cells, low=2)
    numbers, report = np.random.default_rng(as_seed(random_state)), as_progress(verbose)
    run = Run(count_threads(n_jobs), max_memory)
    place = open_place(adata, mod, copy)
    adata, annotated = place.adata, place.annotated
    source = CellMatrix(adata, layer, use_raw, mask_var)
    on_panel = np.empty(0, dtype=np.int64) if given is None else number_genes(given, source.names)
    cells, labels = read_groups(annotated, groupby, groups, drop_unlabelled, min_class)
    types, codes = np.unique(labels, return_inverse=True)
    if len(types) < 2:
        raise ValueError(f"groups must name at least two types; got {str(types[0])!r}")
    _check_number(n, per_group, len(types), len(source.names) - len(on_panel))
    drawn = _draw_cells(codes, n_cells, numbers)
    cells, codes = cells[drawn], codes[drawn]
    of_donors = CellDesign.from_columns(annotated, cells, None, donors, None, None).columns.get("donors")
    folds = Folds(codes, groups=of_donors)
    if n_splits:
        folds.require(n_splits, types)
    designer = _Designer(n, per_group, on_panel, run)
    with source.naming_cells(cells):
        X = source.estimator_input(cells, run)
        chosen = designer.choose(X, codes, len(types))
    means = sum_groups(X, codes, len(types)) / np.bincount(codes)[:, None]
    results = {"genes": _table_of_genes(chosen, on_panel, source.names, types, means)}
    if n_splits:
        sizes = [size for size in _SIZES if size + len(on_panel) > 0 and size < n] + [n]
        recall = np.zeros((len(sizes), len(types)))
        of_cell = folds.deal(n_splits, numbers)
        for fold in range(n_splits):
            if report is not None:
                report(f"fold {fold + 1} of {n_splits}", (fold + 1) / (n_splits + 1))
            with silence_warnings():
                recall += designer.count_recognised(X, codes, len(types), of_cell == fold, sizes)
        results |= _tables_of_accuracy(recall / np.bincount(codes), sizes, types)
    _write(adata, key_added, source.names, on_panel, chosen, results)
    adata.uns[key_added]["params"] = {
        "groupby": groupby,
        "method": "fastfs.panel",
        "groups": types.tolist(),
        "n": n,
        "per_group": per_group,
        "n_cells": len(cells),
        "n_splits": n_splits,
        "donors": donors,
        "use_raw": source.use_raw,
        "layer": layer,
        "fastfs_version": info()["version"],
    }
    say_written(key_added, *(f"adata.var['{key_added}_{name}']" for name in ("rank", "selected")))
    place.keep_annotation(groupby)
    return place.given if copy else None


@dataclass(frozen=True)
class _Chosen:
    """Chosen genes in order, the type that each was chosen for (-1: all), and the share explained (NaN: not known)."""

    genes: Integers
    served: Integers
    explained: Floats


@dataclass(frozen=True)
class _Designer:
    """Chooses `n` genes besides the given ones, `per_group` of them for each type alone."""

    n: int
    per_group: int
    given: Integers
    run: Run

    def choose(self, X: Any, codes: Integers, n_types: int) -> _Chosen:
        """Return the genes that tell the types of the cells apart: `per_group` for each type, then others for all.

        A gene that several types choose counts for the first one.
        """
        served: dict[int, int] = {}
        of_type = [
            self._select(X, codes == one, self.per_group, self.given).selected.tolist()
            for one in range(n_types if self.per_group else 0)
        ]
        for genes_of_types in zip_longest(*of_type):  # the best of each type, then the second ones
            for one, gene in enumerate(genes_of_types):
                if gene is not None:
                    served.setdefault(gene, one)
        genes = np.fromiter(served, dtype=np.int64)
        of_types = _Chosen(genes, np.fromiter(served.values(), dtype=np.int64), np.full(len(genes), np.nan))
        if len(genes) == self.n:
            return of_types
        shared = self._select(X, codes, self.n - len(genes), np.concatenate([self.given, genes]))
        return _Chosen(
            np.concatenate([genes, shared.selected]),
            np.concatenate([of_types.served, np.full(len(shared.selected), -1)]),
            np.concatenate([of_types.explained, shared.explained]),
        )

    def _select(self, X: Any, labels: Array, n: int, given: Integers) -> Any:
        return projse(
            X, labels, n_features_to_select=n, beyond="residual", given=given if len(given) else None,
            n_threads=self.run.n_threads, max_memory=self.run.budget or None,
        )  # fmt: skip

    def count_recognised(
        self, X: Any, codes: Integers, n_types: int, held_out: Array, sizes: Sequence[int]
    ) -> Integers:
        """Return how many held-out cells of each type are recognised with each number of genes.

        The genes are chosen, and a linear discriminant fitted, on the other cells; the given genes are always in.
        """
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        known, new = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        training = take_rows(X, known)
        genes = np.concatenate([self.given, self.choose(training, codes[known], n_types).genes])
        training, test = (
            np.asarray(dense(take_columns(part, genes)), dtype=np.float64) for part in (training, take_rows(X, new))
        )
        counts = np.zeros((len(sizes), n_types), dtype=np.int64)
        for place, size in enumerate(sizes):
            part = slice(0, len(self.given) + size)
            model = LinearDiscriminantAnalysis(
                solver="lsqr", shrinkage="auto", priors=np.full(n_types, 1 / n_types)
            ).fit(training[:, part], codes[known])
            right = model.predict(test[:, part]) == codes[new]
            counts[place] = np.bincount(codes[new][right], minlength=n_types)
        return counts


def _check_number(n: int, per_group: int, n_types: int, n_left: int) -> None:
    """Raise ValueError unless there are n genes to choose, and n is enough for `per_group` of each type."""
    if not n_left:
        raise ValueError("given must leave genes to choose from; got all genes that are compared: name fewer")
    if n > n_left:
        raise ValueError(f"n must be at most {n_left}, the number of genes to choose from; got {n}")
    if n < per_group * n_types:
        raise ValueError(
            f"n must be at least {per_group * n_types}, since per_group={per_group} asks for as many genes of "
            f"{n_types} types; got {n}"
        )


def _draw_cells(codes: Integers, n_cells: int | None, numbers: np.random.Generator) -> Integers:
    """Return the numbers of at most `n_cells` cells of each type, ascending."""
    if n_cells is None:
        return np.arange(len(codes))
    order = numbers.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    place = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    drawn: Integers = np.sort(order[place < n_cells])
    return drawn


def _table_of_genes(chosen: _Chosen, given: Integers, names: Any, types: Array, means: Floats) -> Any:
    """Return a DataFrame with a row for each gene of the panel, the given ones first.

    It tells what each was chosen for, in which type its mean is largest, and the share explained so far.
    """
    import pandas as pd

    genes = np.concatenate([given, chosen.genes])
    words = np.array([*types, "all"], dtype=object)
    return pd.DataFrame(
        {
            "names": np.asarray(names, dtype=object)[genes],
            "chosen_for": np.concatenate([np.full(len(given), "given", dtype=object), words[chosen.served]]),
            "highest_in": types.astype(object)[means[:, genes].argmax(axis=0)],
            "explained": np.concatenate([np.full(len(given), np.nan), chosen.explained]),
        }
    )


def _tables_of_accuracy(recall: Floats, sizes: Sequence[int], types: Array) -> dict[str, Any]:
    """Return the DataFrames of the accuracy of growing panels, and of the recall of each type."""
    import pandas as pd

    accuracy = {
        "n_genes": list(sizes),
        "balanced_accuracy": recall.mean(axis=1),
        "lowest_recall": recall.min(axis=1),
        "hardest": types.astype(object)[recall.argmin(axis=1)],
    }
    return {
        "accuracy": pd.DataFrame(accuracy),
        "recall": pd.DataFrame(recall.T, index=types.astype(object), columns=[str(size) for size in sizes]),
    }


def _write(adata: AnnData, key: str, names: Any, given: Integers, chosen: _Chosen, results: dict[str, Any]) -> None:
    """Write the panel into `adata.var` and `adata.uns`: ranks from 1 (0 for others), and True for chosen and given
    genes.
    """
    import pandas as pd

    rank = np.zeros(len(names), dtype=np.int64)
    rank[chosen.genes] = np.arange(1, len(chosen.genes) + 1)
    selected = rank > 0
    selected[given] = True
    for name, values, of_others in (("rank", rank, 0), ("selected", selected, False)):
        column = pd.Series(values, index=names).reindex(adata.var_names, fill_value=of_others)
        adata.var[f"{key}_{name}"] = column.to_numpy()
    adata.uns[key] = results
