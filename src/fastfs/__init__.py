"""fastfs: multivariate feature selection for wide data, at the speed of the hardware.

Estimators follow scikit-learn; functions take and return arrays. Everything is imported on first use, so that
``import fastfs`` costs no more than NumPy does.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastfs import get as get
    from fastfs import io as io
    from fastfs import pl as pl
    from fastfs import tl as tl
    from fastfs._estimators.assess import assess as assess
    from fastfs._estimators.cut import Cut as Cut
    from fastfs._estimators.disc import DiSC as DiSC
    from fastfs._estimators.ikdr import IKDR as IKDR
    from fastfs._estimators.im4e import IM4E as IM4E
    from fastfs._estimators.immigrate import Immigrate as Immigrate
    from fastfs._estimators.iterative import IterativeRelief as IterativeRelief
    from fastfs._estimators.manifest import ManiFeSt as ManiFeSt
    from fastfs._estimators.projse import ProjSe as ProjSe
    from fastfs._estimators.relief import SURF as SURF
    from fastfs._estimators.relief import SWRF as SWRF
    from fastfs._estimators.relief import MultiSURF as MultiSURF
    from fastfs._estimators.relief import MuRelief as MuRelief
    from fastfs._estimators.relief import Relief as Relief
    from fastfs._estimators.relief import ReliefF as ReliefF
    from fastfs._estimators.relief import RReliefF as RReliefF
    from fastfs._estimators.turf import TuRF as TuRF
    from fastfs._estimators.vls import VLS as VLS
    from fastfs._functions.affinity import GramAccumulator as GramAccumulator
    from fastfs._functions.affinity import affinity as affinity
    from fastfs._functions.affinity import affinity_product as affinity_product
    from fastfs._functions.agreement import canonical_correlations as canonical_correlations
    from fastfs._functions.agreement import kernel_alignment as kernel_alignment
    from fastfs._functions.correlation import DifferentialCorrelation as DifferentialCorrelation
    from fastfs._functions.correlation import differential_correlation as differential_correlation
    from fastfs._functions.direction import Direction as Direction
    from fastfs._functions.direction import direction as direction
    from fastfs._functions.disc import DiSCResult as DiSCResult
    from fastfs._functions.disc import disc as disc
    from fastfs._functions.disc import nearest_features as nearest_features
    from fastfs._functions.explanation import Explanation as Explanation
    from fastfs._functions.ikdr import IKDRResult as IKDRResult
    from fastfs._functions.ikdr import ikdr as ikdr
    from fastfs._functions.ikdr import ikdr_path as ikdr_path
    from fastfs._functions.im4e import IM4EResult as IM4EResult
    from fastfs._functions.im4e import im4e as im4e
    from fastfs._functions.im4e import im4e_scores as im4e_scores
    from fastfs._functions.immigrate import ImmigrateResult as ImmigrateResult
    from fastfs._functions.immigrate import immigrate as immigrate
    from fastfs._functions.immigrate import immigrate_scores as immigrate_scores
    from fastfs._functions.interactions import InteractionScan as InteractionScan
    from fastfs._functions.interactions import interaction_scan as interaction_scan
    from fastfs._functions.manifest import manifest_from_kernels as manifest_from_kernels
    from fastfs._functions.manifest import manifest_scores as manifest_scores
    from fastfs._functions.projse import ProjSeResult as ProjSeResult
    from fastfs._functions.projse import projse as projse
    from fastfs._functions.projse import projse_from_kernels as projse_from_kernels
    from fastfs._functions.projse import projse_scores as projse_scores
    from fastfs._functions.projse import projse_two_view as projse_two_view
    from fastfs._functions.relief import mu_relief_scores as mu_relief_scores
    from fastfs._functions.relief import multisurf_scores as multisurf_scores
    from fastfs._functions.relief import relief_scores as relief_scores
    from fastfs._functions.relief import relieff_scores as relieff_scores
    from fastfs._functions.relief import rrelieff_scores as rrelieff_scores
    from fastfs._functions.relief import surf_scores as surf_scores
    from fastfs._functions.relief import swrf_scores as swrf_scores
    from fastfs._functions.snps import LdClumps as LdClumps
    from fastfs._functions.snps import SnpPairs as SnpPairs
    from fastfs._functions.snps import ld_clumps as ld_clumps
    from fastfs._functions.snps import snp_pairs as snp_pairs
    from fastfs._inference.assessment import AssessResult as AssessResult
    from fastfs._inference.consensus import ConsensusResult as ConsensusResult
    from fastfs._inference.consensus import consensus as consensus
    from fastfs._inference.feature_groups import GroupsResult as GroupsResult
    from fastfs._inference.permutation import PermutationResult as PermutationResult
    from fastfs._inference.permutation import permutation_test as permutation_test
    from fastfs._inference.stability import StabilityResult as StabilityResult
    from fastfs._inference.stability import stability as stability
    from fastfs._inference.twin import TwinResult as TwinResult
    from fastfs._inference.twin import shuffled_twin as shuffled_twin
    from fastfs._inputs.table import few_valued as few_valued
    from fastfs._machine.embed import get_cmake_dir as get_cmake_dir
    from fastfs._machine.embed import get_include as get_include
    from fastfs._machine.embed import get_pkgconfig_dir as get_pkgconfig_dir
    from fastfs._machine.info import info as info
    from fastfs._machine.info import link_blas as link_blas
    from fastfs._machine.run import DataWarning as DataWarning
    from fastfs._report.repeat import Repetition as Repetition
    from fastfs._report.repeat import repeat as repeat
    from fastfs._report.report import Report as Report
    from fastfs._report.report import report as report

    __version__: str

# Every public name, by the module that defines it. mypy reads the imports above; a test compares them with this table.
_NAMES = {
    "_estimators.manifest": ["ManiFeSt"],
    "_functions.manifest": ["manifest_scores", "manifest_from_kernels"],
    "_estimators.projse": ["ProjSe"],
    "_functions.projse": ["projse", "projse_scores", "projse_two_view", "projse_from_kernels", "ProjSeResult"],
    "_estimators.relief": ["Relief", "ReliefF", "SURF", "MultiSURF", "SWRF", "MuRelief", "RReliefF"],
    "_functions.relief": [
        "relief_scores",
        "relieff_scores",
        "surf_scores",
        "multisurf_scores",
        "swrf_scores",
        "mu_relief_scores",
        "rrelieff_scores",
    ],
    "_inputs.table": ["few_valued"],
    "_estimators.turf": ["TuRF"],
    "_estimators.vls": ["VLS"],
    "_estimators.iterative": ["IterativeRelief"],
    "_estimators.cut": ["Cut"],
    "_estimators.im4e": ["IM4E"],
    "_functions.im4e": ["im4e", "im4e_scores", "IM4EResult"],
    "_estimators.immigrate": ["Immigrate"],
    "_functions.immigrate": ["immigrate", "immigrate_scores", "ImmigrateResult"],
    "_functions.explanation": ["Explanation"],
    "_estimators.disc": ["DiSC"],
    "_functions.disc": ["disc", "nearest_features", "DiSCResult"],
    "_estimators.ikdr": ["IKDR"],
    "_functions.ikdr": ["ikdr", "ikdr_path", "IKDRResult"],
    "_functions.correlation": ["differential_correlation", "DifferentialCorrelation"],
    "_functions.interactions": ["interaction_scan", "InteractionScan"],
    "_functions.snps": ["snp_pairs", "SnpPairs", "ld_clumps", "LdClumps"],
    "_functions.direction": ["direction", "Direction"],
    "_functions.agreement": ["kernel_alignment", "canonical_correlations"],
    "_functions.affinity": ["GramAccumulator", "affinity", "affinity_product"],
    "_inference.feature_groups": ["GroupsResult"],
    "_inference.permutation": ["permutation_test", "PermutationResult"],
    "_inference.stability": ["stability", "StabilityResult"],
    "_inference.twin": ["shuffled_twin", "TwinResult"],
    "_estimators.assess": ["assess"],
    "_inference.assessment": ["AssessResult"],
    "_inference.consensus": ["consensus", "ConsensusResult"],
    "_report.report": ["report", "Report"],
    "_report.repeat": ["repeat", "Repetition"],
    "_machine.run": ["DataWarning"],
    "_machine.info": ["info", "link_blas"],
    "_machine.embed": ["get_include", "get_cmake_dir", "get_pkgconfig_dir"],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = ("get", "io", "pl", "tl", "numba")

__all__ = [*_HOMES, *(module for module in _MODULES if module != "numba")]  # numba needs a package of that name


def __getattr__(name: str) -> object:
    """Return the version, or a public name or module, which is imported at its first use; raise AttributeError for
    other names.
    """
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
