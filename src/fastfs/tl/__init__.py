"""Tools for AnnData and MuData: methods on cells x genes, with results where scanpy keeps those of `rank_genes_groups`.

They need anndata, which the extra ``[h5ad]`` brings. ``scanpy.get.rank_genes_groups_df`` and
``scanpy.pl.rank_genes_groups*`` read the results as they read scanpy's own.
"""

from fastfs.tl._assess import assess
from fastfs.tl._pairs import differential_correlation, interaction_scan
from fastfs.tl._panel import panel
from fastfs.tl._tools import (
    disc,
    ikdr,
    im4e,
    immigrate,
    manifest,
    multisurf,
    murelief,
    projse,
    relief,
    relieff,
    surf,
    swrf,
)
from fastfs.tl._two_view import projse_two_view

__all__ = [
    "assess",
    "differential_correlation",
    "disc",
    "ikdr",
    "im4e",
    "immigrate",
    "interaction_scan",
    "manifest",
    "multisurf",
    "murelief",
    "panel",
    "projse",
    "projse_two_view",
    "relief",
    "relieff",
    "surf",
    "swrf",
]


def __dir__() -> list[str]:
    return __all__
