"""Reading of an AnnData: the matrix and its genes, the cells and their groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._inputs.columns import column_numbers
from fastfs._inputs.given import is_table
from fastfs._inputs.source import as_stream
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.storage import check_structure
from fastfs._machine.errors import naming
from fastfs._machine.params import as_int, some_of
from fastfs._machine.run import Run, warn
from fastfs._types import Array, Integers

if TYPE_CHECKING:
    from anndata import AnnData


class CellMatrix:
    """The matrix to compare: its place in `adata`, its genes, and the conversion of some cells for an estimator."""

    def __init__(self, adata: AnnData, layer: str | None, use_raw: bool | None, mask_var: Any) -> None:
        """Choose X, a layer or raw, and its genes; raw is the default if there is one, and `mask_var` selects genes.

        Raise KeyError for an unknown layer, ValueError for a layer with raw, no values or genes, or repeated names.
        """
        if layer is not None:
            if use_raw:
                raise ValueError("layer and use_raw=True exclude each other: choose one")
            if layer not in adata.layers:
                raise KeyError(f"adata has no layer {layer!r}; there are {list_names(adata.layers)}")
            self.X, names, self.use_raw = adata.layers[layer], adata.var_names, False
        else:
            if use_raw and adata.raw is None:
                raise ValueError("use_raw=True needs adata.raw, which is empty: give use_raw=False")
            self.use_raw = adata.raw is not None if use_raw is None else use_raw
            self.X, names = (adata.raw.X, adata.raw.var_names) if self.use_raw else (adata.X, adata.var_names)
        if self.X is None:
            raise ValueError("adata has no X: give a layer")
        if not self.X.shape[1]:
            raise ValueError("adata must have genes to compare; got none")
        check_structure(self.X)
        if not names.is_unique:
            repeated = names[names.duplicated()].unique()
            raise ValueError(
                f"gene names must be unique; got {some_of(list(repeated))} more than once: call "
                "adata.var_names_make_unique()"
            )
        self.genes = None if mask_var is None else _read_mask(adata, mask_var, names, self.use_raw)
        self.names = names if self.genes is None else names[self.genes]
        self.all_names, self.cell_names = names, adata.obs_names
        self.stream = as_stream(self.X)  # None if X is in memory

    def naming_cells(self, cells: Array | None) -> AbstractContextManager[None]:
        """Let errors about some cells and the compared genes use their names in `adata`."""
        names: dict[str, Callable[[int], str]] = {
            "row": lambda i: f"cell {i} '{self.cell_names[i]}'",
            "column": lambda j: f"gene {j} '{self.all_names[j]}'",
        }
        parts = {"row": cells, "column": self.genes}
        return naming(names, {kind: numbers for kind, numbers in parts.items() if numbers is not None})

    def is_large(self, run: Run) -> bool:
        """Return True if the matrix is a stream that takes more than a quarter of the budget."""
        return self.stream is not None and not self.stream.measure(run)[0]

    def estimator_input(self, cells: Array, run: Run | None = None) -> Any:
        """Return the given cells (ascending) for an estimator; data on disk and Dask arrays are loaded if they fit."""
        every = len(cells) == self.X.shape[0]
        if self.stream is not None:
            return self.stream.load_rows(run or Run(), rows=None if every else cells, columns=self.genes)
        part = self.X if every else self.X[cells]
        return _as_floats(part if self.genes is None else part[:, self.genes])


@singledispatch
def _as_floats(X: Any) -> Any:
    """Return the values of an AnnData for an estimator: sparse ones as floats, which can't be integers."""
    return np.asarray(X)


@_as_floats.register(Sparse)
def _(X: Any) -> Any:
    return X if X.dtype.kind == "f" else X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def list_names(mapping: Any) -> str:
    """Return the names of a mapping as a list for messages."""
    return ", ".join(repr(name) for name in mapping if name is not None) or "none"  # None is anndata 0.13's layer of X


def _read_mask(adata: AnnData, mask_var: Any, names: Any, use_raw: bool) -> Array:
    """Return the positions of the genes that `mask_var` selects: a column of `adata.var`, a Series by gene, or an
    array.

    Genes of raw that the column lacks are left out. Raise KeyError for an unknown column, ValueError unless it holds
    bools for all genes and leaves two.
    """
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            raise KeyError(f"adata.var has no column {mask_var!r}; there are {list_names(adata.var)}")
        column = adata.var[mask_var]
        mask = column.reindex(names, fill_value=False).to_numpy() if use_raw else column.to_numpy()
    else:
        if hasattr(mask_var, "reindex") and names.isin(mask_var.index).all():  # a Series of these genes, in any order
            mask_var = mask_var.reindex(names)
        mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (len(names),):
        raise ValueError(
            f"mask_var must hold True or False for each of the {len(names)} genes; got type {mask.dtype} and shape "
            f"{mask.shape}"
        )
    if mask.sum() < 2:
        raise ValueError(f"mask_var must leave at least two genes; got {mask.sum()}")
    return np.flatnonzero(mask)


def missing_in_words(adata: AnnData, cells: Array, name: str) -> str:
    """Return a sentence that lists cells without a value."""
    n = len(cells)
    return f"{n} cell{'s have' if n > 1 else ' has'} no {name}: {some_of([adata.obs_names[i] for i in cells])}"


def number_genes(given: Any, names: Any) -> Integers:
    """Return the numbers of the given genes among the compared ones."""
    if is_table(given):
        raise ValueError("given must list genes; got a table: add its columns to adata as genes")
    return column_numbers("given", given, len(names), list(names))


def obs_column(adata: AnnData, name: str) -> Any:
    """Return a column of `adata.obs`, or raise KeyError with the columns there are."""
    if name not in list(adata.obs):
        raise KeyError(f"adata.obs has no column {name!r}; there are {list_names(adata.obs)}")
    column = adata.obs[name]
    return column.to_series() if hasattr(column, "to_series") else column  # a lazy AnnData has other columns


def read_target(adata: AnnData, name: str, drop_unlabelled: bool) -> tuple[Array, Any]:
    """Return the cells with a value in a column of `adata.obs` (ascending), and the column of these cells.

    Raise ValueError for cells without one unless they may be dropped.
    """
    column = obs_column(adata, name)
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing) and not drop_unlabelled:
        raise ValueError(f"{missing_in_words(adata, missing, name)}; give drop_unlabelled=True to leave them out")
    cells = np.flatnonzero(column.notna().to_numpy())
    return cells, column.iloc[cells]


def read_groups(
    adata: AnnData,
    groupby: str,
    groups: Sequence[Any] | None,
    drop_unlabelled: bool,
    min_class: int,
    of_numbers: str | None = "bin them (pandas.cut)",
) -> tuple[Array, Array]:
    """Return the cells of the groups to compare (ascending, default: all groups), and the group of each.

    `of_numbers` is the way for measurements, or None to take numbers as groups without a warning. Errors and small
    groups are as for `read_grouping`.
    """
    cells, labels, compared, _ = read_grouping(adata, groupby, groups, "rest", drop_unlabelled, min_class)
    kept = np.isin(labels, compared)
    if of_numbers is not None:
        warn_of_numbers(adata, groupby, labels[kept], of_numbers)
    return cells[kept], labels[kept]


def warn_of_numbers(adata: AnnData, groupby: str, labels: Array, of_numbers: str = "bin them (pandas.cut)") -> None:
    """Warn if a column of numbers, which scanpy refuses, is taken as groups; `of_numbers` is the advice for
    measurements.
    """
    if obs_column(adata, groupby).dtype.kind in "iuf":
        warn(
            [
                f"{groupby} holds {len(np.unique(labels))} different numbers, which are taken as groups: if they are, "
                f"make the column a category (adata.obs[{groupby!r}].astype('category')); if they are measurements, "
                f"such as ages, {of_numbers}"
            ]
        )


def read_grouping(
    adata: AnnData,
    groupby: str,
    groups: Sequence[Any] | None,
    reference: Any,
    drop_unlabelled: bool,
    min_class: int,
) -> tuple[Array, Array, list[str], str]:
    """Return the cells that take part (ascending), their groups, the groups to compare, and the reference.

    Groups are strings; 1 and "1" also name the group 1.0 of a column of numbers. Those of fewer cells than `min_class`
    are left out with a warning. Cells of other groups take part only against "rest". Raise ValueError for measurements,
    fewer than two groups, or groups or rests of one cell, KeyError for an unknown group. Raise TypeError unless
    `groups` is a list.
    """
    cells, column = read_target(adata, groupby, drop_unlabelled)
    if column.dtype.kind == "f" and len(fractions := column[column % 1 != 0].dropna()):
        raise ValueError(
            f"{groupby} must hold groups; got numbers such as {fractions.iloc[0]:g}: bin them first (pandas.cut)"
        )
    labels = column.astype(str).to_numpy(dtype=str)
    is_kept = _in_large_groups(labels, groupby, min_class)
    cells, labels, column = cells[is_kept], labels[is_kept], column[is_kept]
    present = sorted(set(labels.tolist()))
    if hasattr(column, "cat"):
        present = [str(c) for c in column.cat.categories if str(c) in present]
    if len(present) < 2:
        raise ValueError(f"{groupby} must have at least two groups with cells; got {present}")
    if groups is not None and (isinstance(groups, str) or not hasattr(groups, "__iter__")):
        raise TypeError(f"groups must be a list of groups; got {groups!r}")
    reference = _match_group(present, reference)
    if reference == "rest" and "rest" in present:
        raise ValueError(f'a group of {groupby} is called "rest", which stands for all other groups: rename it')
    compared_groups = present if groups is None else [_match_group(present, group) for group in groups]
    if not compared_groups:
        raise ValueError(f"groups must name one of {', '.join(present)}; got an empty list")
    for group in [*compared_groups, *([] if reference == "rest" else [reference])]:
        if group not in present:
            raise KeyError(f"{groupby} has no cells in group {group!r}; its groups are {', '.join(present)}")
    if "" in compared_groups:  # fields of record arrays need a name
        raise ValueError(f"a group of {groupby} has an empty name, under which results can't be kept: rename it")
    if reference != "rest" and not [group for group in compared_groups if group != reference]:
        raise ValueError(f"groups must name a group other than the reference {reference!r}; got it alone: add others")
    if reference != "rest":
        kept = np.isin(labels, [*compared_groups, reference])
        cells, labels = cells[kept], labels[kept]
    for group in sorted({*compared_groups, *([] if reference == "rest" else [reference])}):
        if np.count_nonzero(labels == group) < 2:
            raise ValueError(
                f"each group must have at least two cells; got one in {group!r}: leave it out of groups, or bin "
                "numbers first (pandas.cut)"
            )
        if np.count_nonzero(labels != group) < 2:
            raise ValueError(f"the rest of {group!r} must have at least two cells; got one: compare other groups")
    return cells, labels, compared_groups, reference


def _in_large_groups(labels: Array, groupby: str, min_class: int) -> Array:
    """Return True for the cells in groups of `min_class` cells or more, and warn of the other groups.

    Raise ValueError if none is large enough.
    """
    min_class = as_int("min_class", min_class, low=0)
    names, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if small := [f"{name} ({n})" for name, n in zip(names.tolist(), counts.tolist(), strict=True) if n < min_class]:
        if len(small) == len(names):
            raise ValueError(
                f"min_class must be at most {counts.max()}, the cells of the largest group of {groupby}; got "
                f"{min_class}"
            )
        many = len(small) > 1
        warn([f"{groupby} has {len(small)} group{'s' * many} of fewer than {min_class} cells, which "
              f"{'are' if many else 'is'} left out: {', '.join(small)}"])  # fmt: skip
    return (counts >= min_class)[numbers]


def _match_group(present: Sequence[str], group: Any) -> str:
    """Return the name of a group as it is present; 1 also names the group 1.0. An unknown one is returned as text."""
    name = str(group)
    if name not in present:
        with suppress(ValueError):
            number = str(float(name))
            return number if number in present else name
    return name
