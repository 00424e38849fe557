"""The tools for pairs of genes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.correlation import differential_correlation as correlation_by_group
from fastfs._functions.interactions import interaction_scan as interactions_of_target
from fastfs._functions.pairs import PairsResult
from fastfs._inputs.entry import require_known
from fastfs._machine.info import info
from fastfs._machine.run import as_progress
from fastfs._types import Array, Progress
from fastfs.tl._adata import CellMatrix, obs_column, read_groups, read_target
from fastfs.tl._design import CellDesign
from fastfs.tl._modality import open_place
from fastfs.tl._results import say_written

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
    min_class: int = 0,
    mod: str | None = None,
    copy: bool = False,
    verbose: bool | Progress = False,
    **parameters: Any,
) -> AnnData | None:
    """Find the pairs of genes with correlations that differ between groups of cells, or that change along a number.

    Runs :func:`fastfs.differential_correlation`. Cells of one donor aren't independent samples: name the column of the
    donors, or compare sums over the cells of each donor.

    Parameters
    ----------
    adata : anndata.AnnData or mudata.MuData
        Cells x genes, in memory.
    groupby : str
        Column of `adata.obs` with the groups, or with numbers, such as ages: floats with a fractional part, or any
        numbers with ``target_type="number"``.
    groups : sequence of str, optional
        Groups to compare, two or more. Default: all.
    samples, donors, batch : str, optional
        Columns of `adata.obs` that say which cells may change groups or numbers, as for :func:`fastfs.tl.manifest`.
    covariates : sequence of str, optional
        Columns of `adata.obs` to which labels keep their relation.
    layer, use_raw, mask_var, drop_unlabelled, min_class, mod, copy
        As for :func:`fastfs.tl.manifest`.
    key_added : str
        Key of the results in `adata.uns` and `adata.var`.
    verbose : bool or callable
        True prints progress on stderr once the call takes over two seconds; a callable gets ``(step, fraction)``.
    **parameters
        Parameters of :func:`fastfs.differential_correlation`, such as `n_permutations`, or `features` by their names.

    Returns
    -------
    AnnData, MuData or None
        Sets ``adata.var["KEY_scores"]`` and ``adata.uns["KEY"]``: `pairs`, a DataFrame with the genes, their
        correlation in each group or below and above the mean of numbers, statistic (z or t), effect, standard_error and
        `pvals_max`; `null_maxima`; and `params`.

    Raises
    ------
    KeyError
        No such column, layer, group or mask.
    ValueError
        What :func:`fastfs.differential_correlation` raises.

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
    _require_parameters(differential_correlation, correlation_by_group, parameters)
    place = open_place(adata, mod, copy)
    adata, annotated = place.adata, place.annotated
    source = CellMatrix(adata, layer, use_raw, mask_var)
    target_type = parameters.get("target_type", "auto")
    cells, target = _read_cells(annotated, groupby, groups, target_type, drop_unlabelled, min_class)
    design = CellDesign.from_columns(annotated, cells, samples, donors, batch, covariates)
    scan = _Scan(adata, source, cells, target, design, groupby, layer)
    result = scan.run(correlation_by_group, parameters, verbose)
    scan.keep(key_added, "differential_correlation", result, {"correlation": result.correlation})
    place.keep_annotation(groupby)
    return place.given if copy else None


def interaction_scan(
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
    key_added: str = "interaction_scan",
    drop_unlabelled: bool = False,
    min_class: int = 0,
    mod: str | None = None,
    copy: bool = False,
    verbose: bool | Progress = False,
    **parameters: Any,
) -> AnnData | None:
    """Find the pairs of genes that say more about groups of cells, or about a number, together than each alone.

    Runs :func:`fastfs.interaction_scan`. Cells of one donor aren't independent samples: name the column of the donors,
    or scan sums over the cells of each donor.

    Parameters
    ----------
    adata : anndata.AnnData or mudata.MuData
        Cells x genes, in memory.
    groupby : str
        Column of `adata.obs` with the groups, or with numbers, such as ages: floats with a fractional part, or any
        numbers with ``target_type="number"``.
    groups : sequence of str, optional
        Groups to compare, two or more. Default: all.
    samples, donors, batch : str, optional
        Columns of `adata.obs` that say which cells may change groups or numbers, as for :func:`fastfs.tl.manifest`.
    covariates : sequence of str, optional
        Columns of `adata.obs` that are part of the model of each pair.
    layer, use_raw, mask_var, drop_unlabelled, min_class, mod, copy
        As for :func:`fastfs.tl.manifest`.
    key_added : str
        Key of the results in `adata.uns` and `adata.var`.
    verbose : bool or callable
        True prints progress on stderr once the call takes over two seconds; a callable gets ``(step, fraction)``.
    **parameters
        Parameters of :func:`fastfs.interaction_scan`, such as `n_permutations`, or `features` by their names.

    Returns
    -------
    AnnData, MuData or None
        Sets ``adata.var["KEY_scores"]`` and ``adata.uns["KEY"]``: `pairs`, a DataFrame with the genes, statistic, the
        effect and its standard error for numbers and two groups, and `pvals_max`; `null_maxima`; and `params`.

    Raises
    ------
    KeyError
        No such column, layer, group or mask.
    ValueError
        What :func:`fastfs.interaction_scan` raises.

    Warns
    -----
    fastfs.DataWarning
        As for :func:`fastfs.interaction_scan`.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> X = np.random.default_rng(0).normal(size=(60, 12)).astype("float32")
    >>> adata = anndata.AnnData(X, obs={"state": np.where(X[:, 2] * X[:, 5] > 0, "a", "b")})
    >>> fastfs.tl.interaction_scan(adata, "state", n_permutations=99)
    >>> adata.uns["interaction_scan"]["pairs"].iloc[0, :2].tolist()
    ['2', '5']
    """
    _require_parameters(interaction_scan, interactions_of_target, parameters)
    if parameters.get("with_table") is not None:
        raise ValueError(
            "with_table must be left out for cells; got a table: compare its columns with fastfs.interaction_scan"
        )
    place = open_place(adata, mod, copy)
    adata, annotated = place.adata, place.annotated
    source = CellMatrix(adata, layer, use_raw, mask_var)
    target_type = parameters.get("target_type", "auto")
    cells, target = _read_cells(annotated, groupby, groups, target_type, drop_unlabelled, min_class)
    design = CellDesign.from_columns(annotated, cells, samples, donors, batch, covariates)
    scan = _Scan(adata, source, cells, target, design, groupby, layer)
    result = scan.run(interactions_of_target, parameters, verbose)
    about = {"target_type": result.target_type, "transform": result.transform}
    scan.keep(key_added, "interaction_scan", result, about)
    place.keep_annotation(groupby)
    return place.given if copy else None


def _read_cells(
    adata: AnnData,
    groupby: str,
    groups: Sequence[str] | None,
    target_type: str,
    drop_unlabelled: bool,
    min_class: int,
) -> tuple[Array, Array]:
    """Return the cells to compare, and the group or the number of each.

    Raise ValueError for `groups` or `min_class` with numbers.
    """
    if _holds_numbers(adata, groupby, target_type):
        if groups is not None:
            raise ValueError(f"groups must be left out, because {groupby} holds numbers; got {groups!r}")
        if min_class:
            raise ValueError(f"min_class must be left out, because {groupby} holds numbers; got {min_class!r}")
        cells, numbers = read_target(adata, groupby, drop_unlabelled)
        return cells, numbers.to_numpy()
    of_numbers = "give target_type='number'" if target_type == "auto" else None
    return read_groups(adata, groupby, groups, drop_unlabelled, min_class, of_numbers)


def _require_parameters(tool: Callable[..., Any], function: Callable[..., Any], parameters: dict[str, Any]) -> None:
    """Raise TypeError if a parameter is neither the tool's nor that of the function that it runs."""
    known = [*inspect.signature(tool).parameters, *inspect.signature(function).parameters]
    require_known(f"fastfs.tl.{tool.__name__}", [name for name in known if name != "parameters"], parameters)


def _holds_numbers(adata: AnnData, name: str, target_type: str) -> bool:
    """Return True if a column of `adata.obs` is taken as numbers: if asked for, or for floats with fractions."""
    if target_type != "auto":
        return target_type == "number"
    column = obs_column(adata, name)
    return bool(column.dtype.kind == "f" and (column.dropna() % 1 != 0).any())


@dataclass(frozen=True)
class _Scan:
    """A search for pairs among the genes of some cells, and the place of its results in `adata`."""

    adata: AnnData
    source: CellMatrix
    cells: Array
    target: Array
    design: CellDesign
    groupby: str
    layer: str | None

    def run(self, function: Callable[..., Any], parameters: dict[str, Any], verbose: bool | Progress) -> Any:
        """Return the function's result for these cells; with permutations, warn first of donors in several groups."""
        if parameters.get("n_permutations", "auto") != 0:
            self.design.warn_of_samples(self.target, self.groupby)
        with self.source.naming_cells(self.cells):
            return function(
                self.source.estimator_input(self.cells),
                self.target,
                feature_names=self.source.names,
                **self.design.test_arguments(self.target),
                progress=as_progress(verbose),
                **parameters,
            )

    def keep(self, key: str, function: str, result: PairsResult, about: dict[str, Any]) -> None:
        """Write the pairs, the scores of the genes and the parameters into `adata`; about: options of the function.

        Genes that weren't compared score NaN.
        """
        import pandas as pd

        genes = np.asarray(self.source.names, dtype=object)[result.pairs]
        columns: dict[str, Any] = {"pvalue_max": np.nan} | result.columns
        pvalues = columns.pop("pvalue_max")
        pairs = pd.DataFrame({"gene_a": genes[:, 0], "gene_b": genes[:, 1], **columns, "pvals_max": pvalues})
        params = {
            "method": f"fastfs.{function}",
            "groupby": self.groupby,
            **({} if result.classes is None else {"groups": result.classes.tolist()}),
            **about,
            "layer": self.layer,
            "use_raw": self.source.use_raw,
            "n_tested": result.n_tested,
            "n_permutations": result.n_permutations,
            "design": result.design,
            "fastfs_version": info()["version"],
        }
        scores = pd.Series(result.scores, index=self.source.names).reindex(self.adata.var_names, fill_value=np.nan)
        self.adata.var[f"{key}_scores"] = scores.to_numpy()
        self.adata.uns[key] = {"pairs": pairs, "null_maxima": result.null_maxima, "params": params}
        say_written(key, f"adata.var['{key}_scores']")
