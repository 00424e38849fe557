"""The samples of a report: read from a file or given as arrays, described, and hashed."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fastfs import io
from fastfs._functions.direction import direction
from fastfs._inference.feature_groups import FeatureGroups, number_members
from fastfs._inputs.design import Design, design_of
from fastfs._inputs.labels import encode_labels, require_classes, require_few_classes
from fastfs._inputs.matrix import as_matrix, column_names
from fastfs._inputs.storage import by_columns, dense
from fastfs._machine.run import Run
from fastfs._types import Array, Integers

# Number of values of X that are read together.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Data:
    """Samples, labels and design of a report.

    Parameters
    ----------
    X : ndarray, CSR or CSC container, or Genotypes
    y : ndarray of shape (n_samples,)
    names : list of str
        Of the features.
    design : dict
        `blocks`, `groups` and `covariates` of :func:`fastfs.permutation_test`, as far as they are given.
    design_names : dict of str to str
        The names of the columns that hold blocks and groups, as the page shows them.
    source : str or None
        The path that was read; None for arrays.
    rows : ndarray of shape (n_samples,), optional
        The position of each sample in the file; default: all samples in their order.
    sample_names : list of str, optional
        The names of these samples, if the file has names.
    matching : str
        How the lines of a file of labels were matched with the samples; empty without one.
    feature_groups : dict of str to ndarray of int64, optional
        The columns of each group of features that is tested as a whole.
    """

    X: Any
    y: Array
    names: list[str]
    design: dict[str, Any]
    design_names: dict[str, str] = field(default_factory=dict)
    source: str | None = None
    rows: Array | None = None
    sample_names: list[str] | None = None
    matching: str = ""
    feature_groups: dict[str, Integers] | None = None

    @classmethod
    def from_file(
        cls,
        path: Path,
        label: Any,
        blocks: Any,
        groups: Any,
        covariates: Sequence[str],
        reading: Mapping[str, Any] | None,
        run: Run,
    ) -> "Data":
        """Read a file; blocks, groups and covariates are names of its columns.

        Keep the classes that `reading` names, if it does. Raise TypeError if y, blocks or groups isn't a name.
        """
        for name, column in (("y", label), ("blocks", blocks), ("groups", groups)):
            if not isinstance(column, str | None):
                raise TypeError(f"{name} must be the name of a column of '{path}'; got {type(column).__name__}")
        columns = [name for name in (blocks, groups, *covariates) if name is not None]
        of_reader = dict(reading or {})
        classes = of_reader.pop("classes", None)
        table = io.read_table(path, label, annotations=columns, max_memory=run.available(), **of_reader)
        if classes:
            table = io.keep_classes(table, classes)
        names = {word: name for word, name in (("blocks", blocks), ("groups", groups)) if name is not None}
        design = design_of(table.annotations, blocks, groups, [*covariates, *table.covariates])
        checked = cls._checked(table.X, table.y, table.feature_names, design, names, str(path), run)
        return replace(checked, rows=table.rows, sample_names=table.sample_names, matching=table.matching)

    @classmethod
    def given(cls, X: Any, y: Any, names: Any, blocks: Any, groups: Any, covariates: Any, run: Run) -> "Data":
        """Return the data of a report on arrays, in the order of their rows; names come from X if they are None.

        Raise ValueError for an iterator.
        """
        if hasattr(X, "__next__"):
            raise ValueError(
                "X must be an array, since a report reads it several times; got an iterator: stack its blocks"
            )
        design = {
            name: values
            for name, values in (("blocks", blocks), ("groups", groups), ("covariates", covariates))
            if values is not None
        }
        names = column_names(X) if names is None else list(names)
        return cls._checked(X, y, names, design, {name: name for name in design if name != "covariates"}, None, run)

    def with_groups(self, feature_groups: Any) -> "Data":
        """Return these data with groups of features: of a GMT file, which may name others, or of a dict; unchanged for
        None.
        """
        if feature_groups is None:
            return self
        if isinstance(feature_groups, str | os.PathLike):
            members = number_members(io.read_gmt(Path(feature_groups)), self.names)
        else:
            groups = FeatureGroups(feature_groups, len(self.names), self.names)
            members = dict(zip(groups.names, groups.members, strict=True))
        return replace(self, feature_groups=members)

    @classmethod
    def _checked(
        cls, X: Any, y: Any, names: Any, design: Any, design_names: Any, source: str | None, run: Run
    ) -> "Data":
        """Return the data of a report; raise ValueError if names, labels or design don't fit X.

        Features without names are x0, x1 and so on; labels that are whole floats become integers.
        """
        X = as_matrix(X, run)
        n_features = X.shape[1]
        if names is not None and len(names) != n_features:
            raise ValueError(f"feature_names must have {n_features} names, one per feature; got {len(names)}")
        classes, codes = encode_labels(y, *X.shape)
        require_classes(classes)
        require_few_classes(classes[codes])
        if classes.dtype.kind == "f":  # whole numbers, which some methods would take for measurements
            classes = classes.astype(np.int64)
        # Raises ValueError for missing values. A design that allows no other labeling costs only the p-values.
        Design(codes, **design, names=classes[codes])
        names = [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]
        return cls(X, classes[codes], names, design, design_names, source)

    @property
    def for_stability(self) -> dict[str, Any]:
        """Return the part of the design that subsamples follow."""
        return {name: values for name, values in self.design.items() if name != "covariates"}

    @cached_property
    def directions(self) -> dict[str, Any]:
        """Return columns with the direction of each feature."""
        return {name: np.array(values) for name, values in direction(self.X, self.y).columns().items()}

    def card(self) -> dict[str, Any]:
        """Return the facts about the data for the page and for JSON: sizes, missing values, constant features, classes
        and design.
        """
        classes, counts = np.unique(self.y, return_counts=True)
        n_missing, n_constant = self._look()
        return {
            "n_samples": self.X.shape[0],
            "matching": self.matching,
            "n_features": self.X.shape[1],
            "n_missing": n_missing,
            "n_constant": n_constant,
            "stored": "sparse" if hasattr(self.X, "tocsr") else "dense",
            "dtype": str(self.X.dtype),
            "classes": {str(name): count for name, count in zip(classes.tolist(), counts.tolist(), strict=True)},
            "design": {word: self._table(word) for word in self.design_names},
            "drawn": Design(self.y, **self.for_stability).unit_word,  # subsamples hold half of these units
        }

    def _table(self, word: str) -> dict[str, Any]:
        """Return the number of samples of each class in each block or group, for JSON."""
        values = np.asarray(self.design[word]).astype(str)
        classes = np.unique(self.y)
        rows = [
            {"value": value, "samples": [int(np.sum((values == value) & (self.y == name))) for name in classes]}
            for value in np.unique(values).tolist()
        ]
        return {"column": self.design_names[word], "classes": [str(name) for name in classes], "rows": rows}

    def _look(self) -> tuple[int, int]:
        """Return the number of missing values, and of features that are constant where they have values."""
        n_missing = n_constant = 0
        for block in self._blocks():
            is_missing = np.isnan(block)
            n_missing += int(is_missing.sum())
            low = np.where(is_missing, np.inf, block).min(axis=0)
            n_constant += int(np.count_nonzero(low >= np.where(is_missing, -np.inf, block).max(axis=0)))
        return n_missing, n_constant

    def _blocks(self) -> Iterator[Array]:
        """Yield the columns of X in blocks, as arrays."""
        X = by_columns(self.X)
        step = max(1, _BLOCK // max(1, X.shape[0]))
        for begin in range(0, X.shape[1], step):
            block = X[:, begin : begin + step]
            yield np.asarray(dense(block))

    def sha256(self) -> str:
        """Return the SHA-256 of values, labels, names, design and groups, which doesn't depend on the file's format."""
        digest = hashlib.sha256(repr((self.X.shape, str(self.X.dtype), self.names, self.y.tolist())).encode())
        for name in sorted(self.design):
            digest.update(repr((name, np.asarray(self.design[name], dtype=object).tolist())).encode())
        if self.feature_groups is not None:
            digest.update(repr([(name, columns.tolist()) for name, columns in self.feature_groups.items()]).encode())
        for block in self._blocks():
            digest.update(np.ascontiguousarray(block.T).tobytes())
        return digest.hexdigest()


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, as ``sha256sum`` prints it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(values: Sequence[Any] | Array) -> str:
    """Return the SHA-256 of a column of numbers."""
    return hashlib.sha256(np.asarray(values, dtype=np.float64).tobytes()).hexdigest()
