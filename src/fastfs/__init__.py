"""fastfs: multivariate feature selection for wide data, at the speed of the hardware.

Estimators follow scikit-learn; functions take and return arrays. Everything is imported on first use, so that
``import fastfs`` costs no more than NumPy does.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastfs import io as io
    from fastfs import pl as pl
    from fastfs._affinity import GramAccumulator as GramAccumulator
    from fastfs._affinity import affinity as affinity
    from fastfs._affinity import affinity_product as affinity_product
    from fastfs._base import DataWarning as DataWarning
    from fastfs._disc import nearest_features as nearest_features
    from fastfs._estimators import ManiFeSt as ManiFeSt
    from fastfs._estimators import ProjSe as ProjSe
    from fastfs._info import info as info
    from fastfs._manifest import manifest_scores as manifest_scores
    from fastfs._projse import ProjSeResult as ProjSeResult
    from fastfs._projse import projse_from_kernels as projse_from_kernels
    from fastfs._projse import projse_scores as projse_scores
    from fastfs._projse import projse_two_view as projse_two_view

    __version__: str

_HOMES = {
    "DataWarning": "_base",
    "GramAccumulator": "_affinity",
    "ManiFeSt": "_estimators",
    "ProjSe": "_estimators",
    "ProjSeResult": "_projse",
    "affinity": "_affinity",
    "affinity_product": "_affinity",
    "info": "_info",
    "manifest_scores": "_manifest",
    "nearest_features": "_disc",
    "projse_from_kernels": "_projse",
    "projse_scores": "_projse",
    "projse_two_view": "_projse",
}
_MODULES = ("io", "pl")

__all__ = [  # noqa: RUF022 (grouped by what they are)
    "ManiFeSt",
    "manifest_scores",
    "ProjSe",
    "projse_scores",
    "projse_two_view",
    "projse_from_kernels",
    "ProjSeResult",
    "GramAccumulator",
    "affinity",
    "affinity_product",
    "nearest_features",
    "DataWarning",
    "info",
    "io",
    "pl",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("scikit-fastfs")
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"fastfs.{_HOMES[name]}"), name)
    elif name in _MODULES:
        return importlib.import_module(f"fastfs.{name}")
    else:
        raise AttributeError(f"module 'fastfs' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
