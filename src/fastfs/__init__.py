"""fastfs: multivariate feature selection for wide data, at the speed of the hardware.

Estimators follow scikit-learn; functions take and return arrays. Everything is imported on first use, so that
``import fastfs`` costs no more than NumPy does.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastfs import io as io
    from fastfs import pl as pl
    from fastfs import tl as tl
    from fastfs._affinity import GramAccumulator as GramAccumulator
    from fastfs._affinity import affinity as affinity
    from fastfs._affinity import affinity_product as affinity_product
    from fastfs._base import DataWarning as DataWarning
    from fastfs._consensus import ConsensusResult as ConsensusResult
    from fastfs._consensus import consensus as consensus
    from fastfs._disc import DiscResult as DiscResult
    from fastfs._disc import disc as disc
    from fastfs._disc import nearest_features as nearest_features
    from fastfs._disc_estimator import DiSC as DiSC
    from fastfs._embed import get_cmake_dir as get_cmake_dir
    from fastfs._embed import get_include as get_include
    from fastfs._embed import get_pkgconfig_dir as get_pkgconfig_dir
    from fastfs._ikdr import IkdrResult as IkdrResult
    from fastfs._ikdr import ikdr as ikdr
    from fastfs._ikdr import ikdr_path as ikdr_path
    from fastfs._ikdr_estimator import IKDR as IKDR
    from fastfs._immigrate import Explanation as Explanation
    from fastfs._immigrate import Im4eResult as Im4eResult
    from fastfs._immigrate import ImmigrateResult as ImmigrateResult
    from fastfs._immigrate import im4e_scores as im4e_scores
    from fastfs._immigrate import immigrate_scores as immigrate_scores
    from fastfs._info import info as info
    from fastfs._info import link_blas as link_blas
    from fastfs._manifest import manifest_scores as manifest_scores
    from fastfs._manifest_estimator import ManiFeSt as ManiFeSt
    from fastfs._margin_estimators import IM4E as IM4E
    from fastfs._margin_estimators import Immigrate as Immigrate
    from fastfs._margin_estimators import MultiSURF as MultiSURF
    from fastfs._margin_estimators import Relief as Relief
    from fastfs._margin_estimators import ReliefF as ReliefF
    from fastfs._permutation import PermutationResult as PermutationResult
    from fastfs._permutation import permutation_test as permutation_test
    from fastfs._projse import ProjSeResult as ProjSeResult
    from fastfs._projse import projse_from_kernels as projse_from_kernels
    from fastfs._projse import projse_scores as projse_scores
    from fastfs._projse import projse_two_view as projse_two_view
    from fastfs._projse_estimator import ProjSe as ProjSe
    from fastfs._relief import multisurf_scores as multisurf_scores
    from fastfs._relief import relief_scores as relief_scores
    from fastfs._relief import relieff_scores as relieff_scores
    from fastfs._stability import StabilityResult as StabilityResult
    from fastfs._stability import stability as stability

    __version__: str

_HOMES = {
    "ConsensusResult": "_consensus",
    "DataWarning": "_base",
    "DiSC": "_disc_estimator",
    "DiscResult": "_disc",
    "Explanation": "_immigrate",
    "GramAccumulator": "_affinity",
    "IKDR": "_ikdr_estimator",
    "IM4E": "_margin_estimators",
    "IkdrResult": "_ikdr",
    "Im4eResult": "_immigrate",
    "Immigrate": "_margin_estimators",
    "ImmigrateResult": "_immigrate",
    "ManiFeSt": "_manifest_estimator",
    "MultiSURF": "_margin_estimators",
    "PermutationResult": "_permutation",
    "ProjSe": "_projse_estimator",
    "ProjSeResult": "_projse",
    "Relief": "_margin_estimators",
    "ReliefF": "_margin_estimators",
    "StabilityResult": "_stability",
    "affinity": "_affinity",
    "affinity_product": "_affinity",
    "consensus": "_consensus",
    "disc": "_disc",
    "get_cmake_dir": "_embed",
    "get_include": "_embed",
    "get_pkgconfig_dir": "_embed",
    "ikdr": "_ikdr",
    "ikdr_path": "_ikdr",
    "im4e_scores": "_immigrate",
    "immigrate_scores": "_immigrate",
    "info": "_info",
    "link_blas": "_info",
    "manifest_scores": "_manifest",
    "multisurf_scores": "_relief",
    "nearest_features": "_disc",
    "permutation_test": "_permutation",
    "projse_from_kernels": "_projse",
    "projse_scores": "_projse",
    "projse_two_view": "_projse",
    "relief_scores": "_relief",
    "relieff_scores": "_relief",
    "stability": "_stability",
}
_MODULES = ("io", "numba", "pl", "tl")

__all__ = [  # noqa: RUF022 (grouped by what they are)
    "ManiFeSt",
    "manifest_scores",
    "ProjSe",
    "projse_scores",
    "projse_two_view",
    "projse_from_kernels",
    "ProjSeResult",
    "Relief",
    "relief_scores",
    "ReliefF",
    "relieff_scores",
    "MultiSURF",
    "multisurf_scores",
    "IM4E",
    "im4e_scores",
    "Im4eResult",
    "Immigrate",
    "immigrate_scores",
    "ImmigrateResult",
    "Explanation",
    "DiSC",
    "disc",
    "DiscResult",
    "IKDR",
    "ikdr",
    "ikdr_path",
    "IkdrResult",
    "GramAccumulator",
    "affinity",
    "affinity_product",
    "nearest_features",
    "permutation_test",
    "PermutationResult",
    "stability",
    "StabilityResult",
    "consensus",
    "ConsensusResult",
    "DataWarning",
    "info",
    "link_blas",
    "get_include",
    "get_cmake_dir",
    "get_pkgconfig_dir",
    "io",
    "pl",
    "tl",
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
