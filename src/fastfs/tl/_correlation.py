"""The tool for pairs of genes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.correlation import differential_correlation as correlation_by_group
from fastfs._inputs.entry import require_known
from fastfs._machine.info import info
from fastfs._machine.run import as_progress
from fastfs._types import Progress
from fastfs.tl._adata import CellMatrix, read_grouping, require_writable
from fastfs.tl._design import CellDesign

if TYPE_CHECKING:
    from anndata import AnnData


def differential_correlation(
    adata: AnnData,
    groupby: str,
    *,
    groups: Sequence[str] | None = None,
    samples: str | None = None,
    donors: str | None = None,
    batch: str | None = None,
    covariates: Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    mask_var: str | npt.ArrayLike | None = None,
    key_added: str = "differential_correlation",
    drop_unlabelled: bool = False,
    copy: bool = False,
    verbose: bool | Progress = False,
    **parameters: Any,
) -> AnnData | None:
    """Find the pairs of genes with correlations that differ between two groups of cells.

    Runs :func:`fastfs.differential_correlation`. Cells of one donor aren't independent samples: name the column of the
    donors, or compare sums over the cells of each donor.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells x genes, in memory.
    groupby : str
        Column of `adata.obs` with the groups.
    groups : sequence of two str, optional
        Groups to compare; needed if there are more than two.
    samples, donors, batch : str, optional
        Columns of `adata.obs` that say which cells may change groups, as for :func:`fastfs.tl.manifest`.
    covariates : sequence of str, optional
        Columns of `adata.obs` to which labels keep their relation.
    layer, use_raw, mask_var, drop_unlabelled, copy
        As for :func:`fastfs.tl.manifest`.
    key_added : str
        Key of the results in `adata.uns` and `adata.var`.
    verbose : bool or callable
        True prints progress on stderr once the call takes over two seconds; a callable gets ``(step, fraction)``.
    **parameters
        Parameters of :func:`fastfs.differential_correlation`, such as `n_permutations`, or `features` by their names.

    Returns
    -------
    anndata.AnnData or None
        Sets ``adata.var["KEY_scores"]`` and ``adata.uns["KEY"]``: `pairs`, a DataFrame with the genes, their
        correlation in each group, z and `pvals_max`; `null_maxima`; and `params`.

    Raises
    ------
    KeyError
        No such column, layer, group or mask.
    ValueError
        Other than two groups; what :func:`fastfs.differential_correlation` raises.

    Warns
    -----
    fastfs.DataWarning
        As for :func:`fastfs.differential_correlation`.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> X = np.random.default_rng(0).normal(3, size=(40, 12)).astype("float32")
    >>> X[::2, 1] += 3 * X[::2, 0]  # tied to each other in group a
    >>> adata = anndata.AnnData(X, obs={"state": ["a", "b"] * 20})
    >>> fastfs.tl.differential_correlation(adata, "state", n_permutations=99)
    >>> adata.uns["differential_correlation"]["pairs"].iloc[0, :2].tolist()
    ['0', '1']
    """
    import pandas as pd

    known = [
        *inspect.signature(differential_correlation).parameters,
        *inspect.signature(correlation_by_group).parameters,
    ]
    require_known("fastfs.tl.differential_correlation", [name for name in known if name != "parameters"], parameters)
    require_writable(adata, copy)
    adata = adata.copy() if copy else adata
    source = CellMatrix(adata, layer, use_raw, mask_var)
    if groups is None:
        cells, labels, *_ = read_grouping(adata, groupby, None, "rest", drop_unlabelled)
    elif isinstance(groups, str) or len(groups) != 2:
        raise ValueError(f"groups must be a list of two groups of {groupby}; got {groups!r}")
    else:
        cells, labels, *_ = read_grouping(adata, groupby, groups[:1], groups[1], drop_unlabelled)
    design = CellDesign.from_columns(adata, cells, samples, donors, batch, covariates)
    if parameters.get("n_permutations", "auto") != 0:
        design.warn_of_samples(labels, groupby)
    with source.naming_cells(cells):
        result = correlation_by_group(
            source.estimator_input(cells),
            labels,
            feature_names=source.names,
            **design.test_arguments(labels),
            progress=as_progress(verbose),
            **parameters,
        )
    genes = np.asarray(source.names, dtype=object)[result.pairs]
    pairs = pd.DataFrame({"gene_a": genes[:, 0], "gene_b": genes[:, 1]})
    for name, values in zip(result.classes.tolist(), result.correlations.T, strict=True):
        pairs[f"r_{name}"] = values
    pairs["z"] = result.z
    pairs["pvals_max"] = np.nan if result.pvalues_max is None else result.pvalues_max
    params = {
        "groupby": groupby,
        "groups": result.classes.tolist(),
        "method": "fastfs.differential_correlation",
        "correlation": result.correlation,
        "layer": layer,
        "use_raw": source.use_raw,
        "n_permutations": result.n_permutations,
        "design": result.design,
        "fastfs_version": info()["version"],
    }
    scores = pd.Series(result.scores, index=source.names).reindex(adata.var_names, fill_value=np.nan)
    adata.var[f"{key_added}_scores"] = scores.to_numpy()
    adata.uns[key_added] = {"pairs": pairs, "null_maxima": result.null_maxima, "params": params}
    return adata if copy else None
