"""Results in an AnnData, in the layout of scanpy."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._machine.params import rank_features
from fastfs._types import Array
from fastfs.tl._adata import CellMatrix

if TYPE_CHECKING:
    from anndata import AnnData


def write_results(adata: AnnData, key: str, source: CellMatrix, result: dict[str, Any], params: dict[str, Any]) -> None:
    """Write results into `adata.var` and `adata.uns` in scanpy's layout: genes of each group from the best down.

    Given genes come last, and genes that weren't compared get NaN, 0 and False. Tests and groups of features have
    tables if there are any.
    """
    import pandas as pd

    genes = np.asarray(source.names, dtype=object)
    base = adata.uns.get("log1p", {}).get("base")
    columns: dict[str, dict[str, Array]] = {
        name: {} for name in ("names", "scores", "z", "logfoldchanges", "pvals", "pvals_adj", "pvals_max", "label_free")
    }
    for group, group_result in result["groups"].items():
        order = np.argsort(rank_features(group_result["scores"], last=result["given"]))
        with np.errstate(all="ignore"):  # other values than logarithms of counts give the results that scanpy gives
            means = [
                mean if base is None else mean * np.log(base)
                for mean in (group_result["mean"], group_result["mean_rest"])
            ]
            changes = np.log2((np.expm1(means[0]) + 1e-9) / (np.expm1(means[1]) + 1e-9))
        for name, values in (
            ("names", genes),
            ("scores", group_result["scores"].astype(np.float32)),
            ("z", group_result["z"]),
            ("logfoldchanges", changes.astype(np.float32)),
            ("pvals", group_result["pvals"]),
            ("pvals_adj", group_result["pvals_adj"]),
            ("pvals_max", group_result["pvals_max"]),
        ):
            columns[name][group] = values[order]
        columns["label_free"][group] = np.array([group_result["label_free"]])
    results: dict[str, Any] = {}
    for name, by_group in columns.items():
        fields = [(group, values.dtype) for group, values in by_group.items()]
        results[name] = np.rec.fromarrays([*by_group.values()], dtype=fields)
    results["params"] = params
    if params["n_permutations"]:
        tests = {group: group_result["test"] for group, group_result in result["groups"].items()}
        if any("feature_groups" in group_result for group_result in result["groups"].values()):
            tables = [
                pd.DataFrame({"of": group, **group_result["feature_groups"]})
                for group, group_result in result["groups"].items()
            ]
            results["feature_groups"] = pd.concat(tables, ignore_index=True)
        results["permutations"] = pd.DataFrame.from_dict(tests, orient="index")
    whole = result["whole"]
    ranks = getattr(whole, "ranking_", rank_features(whole.scores_))
    selected = result["selected"] if "selected" in result else whole.get_support()
    of_genes = (("scores", whole.scores_, np.nan), ("rank", ranks, 0), ("selected", selected, False))
    for name, values, of_others in of_genes:
        column = pd.Series(values, index=source.names).reindex(adata.var_names, fill_value=of_others)
        adata.var[f"{key}_{name}"] = column.to_numpy()
    adata.uns[key] = results
    say_written(key, *(f"adata.var['{key}_{name}']" for name, *_ in of_genes))


def say_written(key: str, *places: str) -> None:
    """Say what a tool has written, as scanpy's tools do, to those who listen to the logger "fastfs"."""
    logging.getLogger("fastfs").info("added %s", ", ".join([f"adata.uns[{key!r}]", *places]))


def as_categories(adata: AnnData, name: str) -> None:
    """Turn a column of strings in `adata.obs` into categories, as scanpy does for its plots."""
    import pandas as pd

    column = adata.obs[name]
    if isinstance(column, pd.Series) and pd.api.types.infer_dtype(column, skipna=True) == "string":
        adata.obs[name] = column.astype("category")
