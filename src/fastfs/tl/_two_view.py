"""The tool for two modalities of the same cells."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastfs._functions.projse import ProjSeResult
from fastfs._functions.projse import projse_two_view as select_from_both
from fastfs._inputs.entry import require_known
from fastfs._inputs.storage import dense
from fastfs._machine.info import info
from fastfs.tl._adata import CellMatrix
from fastfs.tl._modality import is_mudata, open_place
from fastfs.tl._results import say_written

if TYPE_CHECKING:
    from anndata import AnnData
    from mudata import MuData


def projse_two_view(
    mdata: MuData,
    mods: Sequence[str],
    *,
    layers: Sequence[str | None] = (None, None),
    use_raw: bool | None = None,
    masks_var: Sequence[Any] = (None, None),
    key_added: str = "projse_two_view",
    copy: bool = False,
    **parameters: Any,
) -> MuData | None:
    """Select few features of one modality that explain another one, and the reverse.

    Runs :func:`fastfs.projse_two_view` on the cells that both modalities have.

    Parameters
    ----------
    mdata : mudata.MuData
        Sparse values are made dense, those of the cells and features that are compared.
    mods : sequence of two str
        The modalities.
    layers : sequence of two str or None
        The layer of each to read instead of its `X`.
    use_raw : bool, optional
        As for :func:`fastfs.tl.projse`, of both.
    masks_var : sequence of two
        As `mask_var` of :func:`fastfs.tl.projse`, for each.
    key_added : str
        Key of the results.
    copy : bool
        Return a copy with the results, rather than write them into `mdata`.
    **parameters
        Parameters of :func:`fastfs.projse_two_view`, such as ``n_features_to_select=20, center=True``.

    Returns
    -------
    MuData or None
        Sets in each modality ``var["KEY_scores"]``, ``["KEY_rank"]`` (0 for features that weren't compared) and
        ``["KEY_selected"]``, and ``uns["KEY"]``: `selected`, a DataFrame of the selected features in their order with
        `scores`, `gaps` and `captured` as the attributes of :class:`fastfs.ProjSe`; and `params`. ``mdata.update()``
        brings the columns into ``mdata.var``.

    Raises
    ------
    KeyError
        No such modality, layer or mask.
    ValueError
        Not two different modalities; fewer than two cells in both; what :func:`fastfs.projse_two_view` raises.
    TypeError
        `mdata` isn't a MuData.

    Warns
    -----
    fastfs.DataWarning
        As for :func:`fastfs.projse_two_view`.

    Examples
    --------
    >>> import anndata
    >>> import mudata
    >>> import numpy as np
    >>> import fastfs.tl
    >>> rng = np.random.default_rng(0)
    >>> rna, protein = rng.normal(size=(50, 12)).astype("float32"), rng.normal(size=(50, 4)).astype("float32")
    >>> protein[:, 2] += 2 * rna[:, 7]
    >>> mdata = mudata.MuData({"rna": anndata.AnnData(rna), "prot": anndata.AnnData(protein)})
    >>> fastfs.tl.projse_two_view(mdata, ["prot", "rna"], n_features_to_select=1, center=True)
    >>> [mdata[mod].uns["projse_two_view"]["selected"]["names"].tolist() for mod in ("prot", "rna")]
    [['2'], ['7']]
    """
    known = [*inspect.signature(projse_two_view).parameters, *inspect.signature(select_from_both).parameters]
    known = [name for name in known if name not in ("parameters", "X", "Y")]
    require_known("fastfs.tl.projse_two_view", known, parameters)
    if not is_mudata(mdata):
        raise TypeError(f"mdata must be a MuData, with two modalities; got {type(mdata).__name__}")
    if isinstance(mods, str) or len(mods) != 2 or mods[0] == mods[1]:
        raise ValueError(f"mods must name two modalities; got {mods!r}")
    for name, values in (("layers", layers), ("masks_var", masks_var)):
        if isinstance(values, str) or len(values) != 2:
            raise ValueError(f"{name} must have one entry for each of the two modalities; got {values!r}")
    places = [open_place(mdata, mod, copy) for mod in mods]
    if copy:
        places[1] = open_place(places[0].given, mods[1], copy=False)
    adatas = [place.adata for place in places]
    sources = [CellMatrix(*of_one) for of_one in zip(adatas, layers, [use_raw] * 2, masks_var, strict=True)]
    shared = adatas[0].obs_names.intersection(adatas[1].obs_names, sort=False)
    if len(shared) < 2:
        raise ValueError(f"{mods[0]} and {mods[1]} must have at least two cells in common; got {len(shared)}")
    rows = [adata.obs_names.get_indexer(shared) for adata in adatas]
    views = []
    for source, cells in zip(sources, rows, strict=True):
        ascending = np.sort(cells)  # as data on disk are read
        read = dense(source.estimator_input(ascending))
        views.append(read[np.searchsorted(ascending, cells)])
    results = select_from_both(*views, **parameters)
    for adata, source, result, other in zip(adatas, sources, results, mods[::-1], strict=True):
        params = {
            "method": "fastfs.projse_two_view",
            "targets_mod": other,
            "n_cells": len(shared),
            "use_raw": source.use_raw,
            "center": result.center,
            "fastfs_version": info()["version"],
        }
        _write(adata, source, key_added, result, params)
    return places[0].given if copy else None


def _write(adata: AnnData, source: CellMatrix, key: str, result: ProjSeResult, params: dict[str, Any]) -> None:
    """Write the result of one view into `adata.var` and `adata.uns`; genes that weren't compared get NaN, 0 and
    False.
    """
    import pandas as pd

    is_selected = np.isin(np.arange(len(result.scores)), result.selected)
    columns = (("scores", result.scores, np.nan), ("rank", result.ranking, 0), ("selected", is_selected, False))
    for name, values, of_others in columns:
        column = pd.Series(values, index=source.names).reindex(adata.var_names, fill_value=of_others)
        adata.var[f"{key}_{name}"] = column.to_numpy()
    chosen = {"scores": result.selection_scores, "gaps": result.gaps, "captured": result.captured}
    table = pd.DataFrame({"names": np.asarray(source.names, dtype=object)[result.selected], **chosen})
    adata.uns[key] = {"selected": table, "params": params}
    say_written(key, *(f"adata.var['{key}_{name}']" for name, *_ in columns))
