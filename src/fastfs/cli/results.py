"""The ranking of a fitted estimator as columns of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._functions.direction import direction
from fastfs._inputs.source import as_stream
from fastfs._inputs.storage import take_columns
from fastfs._types import Integers
from fastfs.cli.permutation import Test
from fastfs.io import Table

if TYPE_CHECKING:
    from fastfs import LdClumps


def ranks_of(selector: Any, test: Test | None) -> Integers:
    """Return the ranks of all features: 1 is best."""
    ranks: Integers = test.ranks if test else selector.ranking_
    return ranks


def ranking(
    selector: Any,
    feature_names: Sequence[str],
    top: int,
    test: Test | None = None,
    clumps: "LdClumps | None" = None,
    data: Table | None = None,
    *,
    to_read: bool = False,
) -> dict[str, list[Any]]:
    """Return the best features as columns, with their directions in the data; of clumps, the leads only.

    A test adds p-values, and keeps those up to its alpha; a selection, rounds and more than two classes add columns.
    `to_read` sums up the columns of single classes and of directions for the terminal.
    """
    ranks = ranks_of(selector, test)
    order = np.argsort(ranks) if clumps is None else clumps.leads
    places = np.arange(len(order))
    places = (test.keep_significant(places, order) if test else places)[:top]
    order = order[places]
    columns = {
        "rank": ranks[order].tolist(),
        "feature": [feature_names[j] for j in order],
        "index": order.tolist(),
        "score": selector.scores_[order].tolist(),
    }
    if clumps is not None:
        columns["clump_size"] = np.bincount(clumps.clump[clumps.clump >= 0])[places].tolist()
    if test:
        columns |= test.ranking_columns(order, to_read=to_read)
    if hasattr(selector, "selected_"):
        n_selected = selector.n_selected_
        columns["selected"] = ["yes" if rank <= n_selected else "no" for rank in columns["rank"]]
        # The columns of the selection are empty for features that weren't selected.
        steps = {"selection_score": selector.selection_scores_, "gap": selector.gaps_, "captured": selector.captured_}
        if selector.explained_ is not None:
            steps["explained"] = selector.explained_
        if to_read:
            steps = {"score when selected": selector.selection_scores_}
        for name, values in steps.items():
            columns[name] = [values[rank - 1].item() if rank <= n_selected else None for rank in columns["rank"]]
    if hasattr(selector, "removed_at_") and not to_read:
        columns["removed_at"] = selector.removed_at_[order].tolist()
    class_scores = getattr(selector, "class_scores_", None)
    if class_scores is not None and len(selector.classes_) > 2:
        names = [str(name) for name in selector.classes_]
        if to_read:
            columns["highest in"] = [names[k] for k in class_scores[:, order].argmax(axis=0)]
        else:
            columns |= {f"score_{name}": row.tolist() for name, row in zip(names, class_scores[:, order], strict=True)}
    directions = _directions(data, order)
    return columns | ({"direction": directions["direction"]} if to_read and directions else directions)


def _directions(data: Table | None, order: Integers) -> dict[str, list[Any]]:
    """Return the directions of some features as columns, if the table is in memory and has one target without times.

    Otherwise it is empty.
    """
    if data is None or not len(order) or as_stream(data.X) is not None:
        return {}
    if data.y.dtype.names or (data.y.ndim == 2 and data.y.shape[1] > 1):
        return {}
    columns = direction(take_columns(data.X, order), data.y).columns()
    return columns | {name: [None if v != v else v for v in columns[name]] for name in ("effect", "median_difference")}
