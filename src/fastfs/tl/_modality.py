"""The cells x genes that a tool works on: an AnnData, or one modality of a MuData."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastfs.tl._adata import list_names

if TYPE_CHECKING:
    from anndata import AnnData


@dataclass(frozen=True)
class Place:
    """What a tool reads, and where its results go.

    Parameters
    ----------
    given : AnnData or MuData
        What the caller gave, or its copy.
    adata : AnnData
        The cells x genes, to which results are added.
    annotated : AnnData
        Its cells with all their annotations in `obs`; of a modality those that all modalities share, too.
    """

    given: Any
    adata: AnnData
    annotated: AnnData

    def keep_annotation(self, name: str) -> None:
        """Copy a shared annotation of the cells to the modality, as `mudata.MuData.push_obs` does, for its plots."""
        if self.annotated is not self.adata and name not in self.adata.obs:
            self.adata.obs[name] = self.annotated.obs[name]


def open_place(data: Any, mod: str | None, copy: bool) -> Place:
    """Return the place of a tool's results, in a copy if asked for, or raise if they can't be kept there.

    Raise ValueError for `mod` with an AnnData.
    """
    if not is_mudata(data):
        if mod is not None:
            raise ValueError(f"mod must be left out for an AnnData; got {mod!r}: it names a modality of a MuData")
        _require_writable(data, copy)
        adata = data.copy() if copy else data
        return Place(adata, adata, adata)
    _require_writable(_modality(data, "mod", mod), copy)
    given = data.copy() if copy else data
    adata = given.mod[mod]
    return Place(given, adata, _annotated(given, adata))


def is_mudata(data: Any) -> bool:
    """Return True for a MuData; a caller that has one has imported mudata."""
    mudata = sys.modules.get("mudata")
    return mudata is not None and isinstance(data, mudata.MuData)


def _modality(data: Any, parameter: str, name: str | None) -> Any:
    """Return a modality of a MuData, which a parameter names."""
    if name is None:
        raise ValueError(f"{parameter} must name a modality of the MuData; got None: choose {list_names(data.mod)}")
    if name not in data.mod:
        raise KeyError(f"the MuData has no modality {name!r}; there are {list_names(data.mod)}")
    return data.mod[name]


def _annotated(given: Any, adata: AnnData) -> AnnData:
    """Return the cells of a modality with their annotations, and those of the MuData that they lack.

    Raise ValueError if names of cells repeat.
    """
    from anndata import AnnData

    others = [name for name in given.obs.columns if name not in adata.obs.columns]
    if not (adata.obs_names.is_unique and given.obs.index.is_unique):
        raise ValueError("names of cells must be unique in a MuData: call obs_names_make_unique() of it and its parts")
    return AnnData(obs=adata.obs.join(given.obs[others]))


def _require_writable(adata: Any, copy: bool) -> None:
    """Raise TypeError unless `adata` is an AnnData, ValueError if results can't be kept.

    They can't in a copy or a view of a file.
    """
    from anndata import AnnData

    if not isinstance(adata, AnnData):
        kind = type(adata).__name__
        raise TypeError(f"adata must be an AnnData or a MuData; got {kind}: anndata.read_h5ad reads files")
    if adata.isbacked and (copy or adata.is_view):
        raise ValueError("results can't be kept in a copy or a view of a file: call adata.to_memory() first")
