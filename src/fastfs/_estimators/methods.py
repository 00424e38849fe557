"""The estimators of the methods, by their names in `fastfs._methods`."""

from fastfs._estimators.disc import DiSC
from fastfs._estimators.ikdr import IKDR
from fastfs._estimators.im4e import IM4E
from fastfs._estimators.immigrate import Immigrate
from fastfs._estimators.manifest import ManiFeSt
from fastfs._estimators.projse import ProjSe
from fastfs._estimators.relief import SURF, SWRF, MultiSURF, MuRelief, Relief, ReliefF, RReliefF
from fastfs._estimators.selector import _Selector

_ALL: tuple[type[_Selector], ...] = (
    ManiFeSt,
    ProjSe,
    Relief,
    ReliefF,
    SURF,
    MultiSURF,
    SWRF,
    MuRelief,
    RReliefF,
    IM4E,
    Immigrate,
    DiSC,
    IKDR,
)

ESTIMATORS = {estimator.__name__: estimator for estimator in _ALL}
