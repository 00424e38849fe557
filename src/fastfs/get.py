"""Results of `fastfs.tl` as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._inputs.entry import named_arguments
from fastfs._machine.params import some_of

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

__all__ = ["df"]

# Columns with a value for each gene of a group.
_COLUMNS = ("names", "scores", "z", "logfoldchanges", "pvals", "pvals_adj", "pvals_max")


@named_arguments
def df(adata: AnnData, key: str, *, group: str | None = None, direction: bool = False) -> pd.DataFrame:
    """Return the genes that a function of `fastfs.tl` has ranked, with all their p-values.

    ``scanpy.get.rank_genes_groups_df`` shows `pvals` and `pvals_adj` alone. Few permutations of many genes can't bring
    `pvals_adj` below 0.05; `pvals_max` may be below it with 19 permutations.

    Parameters
    ----------
    adata : anndata.AnnData
        With results.
    key : str
        Their key in `adata.uns`: the name of the function, or `key_added`.
    group : str, optional
        Return this group alone; default: all.
    direction : bool
        Add columns by :func:`fastfs.direction`, from the cells of `adata` as they are now: `effects`, Cliff's delta of
        the group against the rest or the reference (above 0: the gene is high in the group), and `median_differences`.
        Sorts the cells gene by gene, so it takes longer than some methods.

    Returns
    -------
    pandas.DataFrame
        A row for each gene of each group, the best first: `group`, `names`, `scores`, `z`, `logfoldchanges`, `pvals`
        (of a gene that was chosen before), `pvals_adj` (false discovery rate), `pvals_max` (family-wise) and
        `label_free`, the share of the ranking that is there without groups, as a rank correlation. P-values and z are
        NaN without permutations. After :func:`fastfs.tl.differential_correlation` and
        :func:`fastfs.tl.interaction_scan`: the pairs of genes. After :func:`fastfs.tl.projse_two_view`: the selected
        features.

    Raises
    ------
    KeyError
        No such results, or no such group.
    TypeError
        `adata` is a MuData.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(3, size=(40, 30)).astype("float32")
    >>> X[::2, 3] += 3
    >>> adata = anndata.AnnData(X, obs={"state": ["a", "b"] * 20})
    >>> fastfs.tl.relieff(adata, "state", n_permutations=999)
    >>> result = fastfs.get.df(adata, "relieff", group="a")
    >>> result["names"][0], result["pvals_adj"][0].round(2).item(), result["pvals_max"][0].item()
    ('3', 0.03, 0.001)
    >>> fastfs.get.df(adata, "relieff", group="a", direction=True)["effects"][0].round(2).item()
    0.9
    """
    import pandas as pd

    from fastfs.tl._modality import is_mudata

    if is_mudata(adata):
        raise TypeError("adata must be an AnnData; got a MuData: give one modality, such as mdata['rna']")
    results = adata.uns.get(key)
    if not isinstance(results, Mapping) or not _method_of(results).startswith("fastfs."):
        ours = [name for name, kept in adata.uns.items() if _method_of(kept).startswith("fastfs.")]
        raise KeyError(f"adata.uns has no results of fastfs.tl under {key!r}; it has {some_of(ours) or 'none'}")
    for name in ("pairs", "selected"):
        if name in results:
            table: pd.DataFrame = results[name].copy()
            return table
    groups = results["names"].dtype.names
    if group is not None and group not in groups:
        raise KeyError(f"{key!r} has no group {group!r}; it has {some_of(groups)}")
    tables = []
    for name in groups if group is None else [group]:
        columns = {column: results[column][name] for column in _COLUMNS}
        columns |= _effects_of_genes(adata, results["params"], name, columns["names"]) if direction else {}
        tables.append(pd.DataFrame({"group": name, **columns, "label_free": results["label_free"][name][0]}))
    return pd.concat(tables, ignore_index=True)


def _effects_of_genes(adata: AnnData, params: Mapping[str, Any], group: str, genes: Any) -> dict[str, Any]:
    """Return arrays `effects` and `median_differences` of genes: the group against the cells of its comparison.

    The comparison is with the group `reference`, or all cells for "rest".
    """
    from fastfs._functions.direction import direction
    from fastfs._inputs.storage import take_columns
    from fastfs.tl._adata import CellMatrix, read_grouping

    source = CellMatrix(adata, params["layer"], params["use_raw"], None)
    cells, labels, _, _ = read_grouping(adata, params["groupby"], None, "rest", True, params.get("min_class", 0))
    compared = (params["reference"] == "rest") | np.isin(labels, [group, params["reference"]])
    X = take_columns(source.estimator_input(cells[compared]), source.names.get_indexer(genes))
    found = direction(X, labels[compared] == group)
    return {"effects": found.effects[1], "median_differences": found.median_differences[1]}


def _method_of(kept: Any) -> str:
    """Return the method that results in scanpy's layout name, or an empty string."""
    params = kept.get("params") if isinstance(kept, Mapping) else None
    return str(params.get("method", "")) if isinstance(params, Mapping) else ""


def __dir__() -> list[str]:
    return __all__
