"""Tables: samples, features and labels."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from fastfs._files.errors import Parameter, TableError, short, unknown
from fastfs._inputs.matrix import load_stream
from fastfs._inputs.storage import dense
from fastfs._machine.results import Brief, result_class
from fastfs._machine.run import Run, warn
from fastfs._types import Array


@result_class
class Table(Brief):
    """Samples in rows, features in columns, one label per sample.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), CSR or CSC container of SciPy, Genotypes, or a stream of rows
        float32 or float64. Missing values are NaN. Streams are of `read_table` with `max_memory`.
    y : ndarray of shape (n_samples,)
        The labels as they stand in the file: strings, numbers or bools. Of shape (n_samples, n_outputs) with `targets`.
    feature_names : list of str
    source : str
        The path that was read.
    annotations : dict of str to ndarray of shape (n_samples,)
        Other columns about the samples, such as donors or batches.
    rows : ndarray of shape (n_samples,), optional
        The place of each sample among those of the file; default: all of these in their order.
    sample_names : list of str, optional
        The names of these samples, if the file has a different name for each.
    matching : str
        How the lines of a file of labels were matched with the samples; empty if the table holds its labels.
    covariates : tuple of str
        The annotations that come from a file of covariates.
    targets : tuple of str
        The names of the columns of y, if these come from a second modality.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> table = fastfs.io.Table(np.eye(2), np.array(["case", "control"]), ["TP53", "MYC"], "toy.csv")
    >>> table.X.shape, table.feature_names
    ((2, 2), ['TP53', 'MYC'])
    """

    X: Any
    y: np.ndarray
    feature_names: list[str]
    source: str
    annotations: dict[str, np.ndarray] = field(default_factory=dict)
    rows: np.ndarray | None = None
    sample_names: list[str] | None = None
    matching: str = ""
    covariates: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def keep_classes(table: Table, classes: Sequence[str]) -> Table:
    """Return the samples of `table` that have one of the labels `classes`, which can also be numbers of equal value.

    Raise ValueError for a label that no sample has.
    """
    labels = np.array([_class_name(label) for label in table.y])
    present = np.unique(labels).tolist()
    # Numbers, and labels that read as numbers, are found by value too: 1 and 1.0 are one class.
    by_value = {_as_number(name): name for name in present}
    wanted = [name if name in present else by_value.get(_as_number(name), name) for name in classes]
    for name in wanted:
        if name not in present:
            raise unknown("class", name, present, table.source)
    return _chosen(table, np.isin(labels, wanted))


def drop_small_classes(table: Table, n: int) -> Table:
    """Return the samples of `table` in classes with `n` samples or more, and warn of the others.

    Raise TableError if no class is left.
    """
    classes, counts = np.unique(table.y, return_counts=True)
    small = [(str(name), int(count)) for name, count in zip(classes.tolist(), counts, strict=True) if count < n]
    if not small:
        return table
    if len(small) == len(classes):
        raise TableError(
            f"'{table.source}' has no class with {n} samples (the largest has {counts.max()}): lower ",
            Parameter("min_class", int(counts.max())),
        )
    names = ", ".join(f"{short(name)} ({count})" for name, count in small)
    word, verb = ("class", "is") if len(small) == 1 else ("classes", "are")
    left_out = f"'{table.source}' has {len(small)} {word} with fewer than {n} samples, which {verb} left out"
    warn([f"{left_out}: {names}"])
    return _chosen(table, np.isin(table.y, classes[counts >= n]))


def _chosen(table: Table, chosen: Array) -> Table:
    """Return some samples of a table."""
    annotations = {name: values[chosen] for name, values in table.annotations.items()}
    rows = np.flatnonzero(chosen) if table.rows is None else table.rows[chosen]
    names = None if table.sample_names is None else [table.sample_names[i] for i in np.flatnonzero(chosen)]
    kept = {"X": table.X[chosen], "y": table.y[chosen], "annotations": annotations}
    return replace(table, **kept, rows=rows, sample_names=names)


def _class_name(label: Any) -> str:
    """Return a label as text, 1.0 as 1."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _as_number(name: str) -> float | str:
    try:
        return float(name)
    except ValueError:
        return name


def take_targets(table: Table, names: Sequence[str]) -> Table:
    """Make y the numbers of some columns: of the one that was read as the label, and of others, which leave X.

    `table` was read with the first of the names as its label. Raise ValueError if that one isn't numbers, another is
    missing, or a name repeats.
    """
    if len(set(names)) < len(names):
        raise ValueError(f"targets must be different columns; got {', '.join(names)}")
    missing = [name for name in names[1:] if name not in table.feature_names]
    if missing:
        raise unknown("column", missing[0], table.feature_names, table.source)
    columns = [table.feature_names.index(name) for name in names[1:]]
    try:
        first = np.asarray(table.y).astype(np.float64)
    except (TypeError, ValueError):
        raise TableError(f"The target '{names[0]}' must hold numbers only; text is for ", Parameter("label")) from None
    others = dense(load_stream(table.X[:, columns], Run()))
    kept = [j for j in range(len(table.feature_names)) if j not in set(columns)]
    feature_names = [table.feature_names[j] for j in kept]
    return replace(table, X=table.X[:, kept], y=np.column_stack([first, others]), feature_names=feature_names)
