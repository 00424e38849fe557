"""The ranking of a fitted estimator as columns of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._types import Integers
from fastfs.cli.permutation import Test

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
    *,
    to_read: bool = False,
) -> dict[str, list[Any]]:
    """Return the best features as columns; `to_read` sums up the columns of single classes for the terminal."""
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
    if class_scores is None or len(selector.classes_) <= 2:
        return columns
    names = [str(name) for name in selector.classes_]
    if to_read:
        return columns | {"highest in": [names[k] for k in class_scores[:, order].argmax(axis=0)]}
    return columns | {f"score_{name}": row.tolist() for name, row in zip(names, class_scores[:, order], strict=True)}
