"""Features that share a name."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._files.errors import Parameter, TableError, short
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.source import Source
from fastfs._types import Array, Integers
from fastfs.io._layout import Content


def unique_features(content: Content, how: str, path: Path) -> Content:
    """Return features with different names: numbered ("suffix"), made one ("first", "mean", "max"), or TableError
    ("error").

    Genotypes, and tables on disk, can only be numbered or keep the first.
    """
    names = content.feature_names
    counts = Counter(names)
    if len(counts) == len(names):
        return content
    repeated = [name for name, count in counts.items() if count > 1]
    if how == "error":
        n_features = sum(counts[name] for name in repeated)
        raise TableError(
            f"'{path}' has {len(repeated)} name{'s' if len(repeated) > 1 else ''} that {n_features} features share, "
            f"such as '{short(repeated[0])}' ({counts[repeated[0]]} features): number them with ",
            Parameter("duplicates", "suffix"), ", or make one of them with ", Parameter("duplicates", "mean"),
            ", 'max' or 'first'",
        )  # fmt: skip
    if how == "suffix":
        return replace(content, feature_names=_numbered(names))
    place = {name: k for k, name in enumerate(counts)}
    groups = np.array([place[name] for name in names])
    firsts = np.unique(groups, return_index=True)[1]
    X = content.X
    if how == "first":
        return replace(content, X=X[:, firsts], feature_names=list(counts))
    if isinstance(X, Genotypes | Source):
        what = "holds genotypes" if isinstance(X, Genotypes) else "stays on disk"
        raise TableError(
            f"'{path}' {what}, so features with one name have no {how}: keep the first one with ",
            Parameter("duplicates", "first"),
        )
    merged = (_merged_sparse if hasattr(X, "tocsc") else _merged_dense)(X, groups, firsts, how)
    return replace(content, X=merged, feature_names=list(counts))


def _groups_of_several(groups: Integers) -> list[Integers]:
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    return [part for part in parts if len(part) > 1]


def _merged_dense(X: Array, groups: Integers, firsts: Integers, how: str) -> Array:
    merged: Array = X[:, firsts]
    for columns in _groups_of_several(groups):
        values = X[:, columns]
        merged[:, groups[columns[0]]] = values.mean(axis=1) if how == "mean" else values.max(axis=1)
    return merged


def _merged_sparse(X: Any, groups: Integers, firsts: Integers, how: str) -> Any:
    """Return sparse X with one column per group: the mean or the maximum of its columns, if it has several.

    The format stays.
    """
    from scipy.sparse import csc_array, hstack

    columns_of_X = X.tocsc()
    several = _groups_of_several(groups)
    if not several:
        return X[:, firsts]
    parts = []
    for columns in several:
        of_group = columns_of_X[:, columns]
        value = of_group.mean(axis=1) if how == "mean" else of_group.max(axis=1)
        value = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
        parts.append(csc_array(value.reshape(-1, 1).astype(X.dtype)))
    order = np.concatenate([np.setdiff1d(np.arange(len(firsts)), [groups[c[0]] for c in several]),
                            [groups[c[0]] for c in several]])  # fmt: skip
    single = columns_of_X[:, firsts[order[: len(firsts) - len(several)]]]
    merged = hstack([single, *parts], format="csc")[:, np.argsort(order)]
    return merged.asformat(X.format)


def _numbered(names: list[str]) -> list[str]:
    """Return the names, with a number behind those that occur again."""
    unique, used = list[str](), set(names)
    number: Counter[str] = Counter()
    seen = set[str]()
    for name in names:
        new = name
        while new in seen or (new != name and new in used):
            number[name] += 1
            new = f"{name}-{number[name]}"
        seen.add(new)
        unique.append(new)
    return unique
