"""Labels, and other columns about samples, in a file of their own."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fastfs._machine.run import warn
from fastfs.io._cells import as_labels
from fastfs.io._errors import TRANSPOSE, Parameter, TableError, short, some_of, unknown
from fastfs.io._layout import Content
from fastfs.io._text import open_table, read_lines, stripped


def read_labels(
    path: Path, label: str | None, annotations: Sequence[str], content: Content, data: Path, budget: int | None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The label and the annotations of each sample of `content`, which was read from `data`."""
    others: dict[str, list[str]] = {}
    if label is None:
        rows = read_lines(path, budget)
        if annotations:
            message = f"'{path}' must be a table with the column '{annotations[0]}': choose its labels with "
            raise TableError(message, Parameter("label"))
        for row in rows:
            if len(row) > 1:
                found = f"'{path}' has the columns {some_of(rows[0])}: choose one of them with "
                raise TableError(found, Parameter("label"))
        labels = [row[0] for row in rows]
    else:
        with open_table(path, "samples", budget) as (header, lines):
            for name in (label, *annotations):
                if name not in header:
                    raise unknown("column", name, header, path)
            rows = [stripped(row) for row in lines]
        if header.index(label) > 0:
            rows = _by_name(rows, content.sample_names, path, data)
        labels = [row[header.index(label)] for row in rows]
        others = {name: [row[header.index(name)] for row in rows] for name in annotations}
    n_samples, n_features = content.X.shape
    if len(labels) != n_samples:
        hint: list[str | Parameter] = []
        if len(labels) == n_samples + 1 and label is None:
            hint = [f"; if '{short(labels[0])}' is the name of the column, add ", Parameter("label", short(labels[0]))]
        elif len(labels) == n_features:
            hint = ["; are its features in rows? Then add ", TRANSPOSE, ", or leave it out if it's there"]
        raise TableError(f"'{path}' has {len(labels)} labels for the {n_samples} samples of '{data}'", *hint)
    y = as_labels(labels, f"'{path}'" if label is None else f"Column '{label}' of '{path}'")
    return y, {name: as_labels(values, f"Column '{name}' of '{path}'") for name, values in others.items()}


def _by_name(rows: list[list[str]], samples: list[str] | None, path: Path, data: Path) -> list[list[str]]:
    """The rows whose first cells are the names of the samples, in their order; all rows if none has such a name."""
    if samples is None:
        return rows
    row_of = {row[0]: row for row in rows}
    if row_of.keys().isdisjoint(samples):
        message = f"the first column of '{path}' names no sample of '{data}' (it has {some_of([*row_of])}, not "
        warn([message + f"{some_of(samples)}): its lines count in order"])
        return rows
    missing = next((name for name in samples if name not in row_of), None)
    if missing is not None:
        raise ValueError(
            f"'{path}' names samples of '{data}' in its first column, but not '{short(missing)}': add it, or remove "
            "that column if the labels count in order"
        )
    if len(row_of) < len(rows):
        name = Counter(row[0] for row in rows).most_common(1)[0][0]
        raise ValueError(f"'{path}' has the sample '{short(name)}' more than once in its first column")
    return [row_of[name] for name in samples]
