"""Plots. They need matplotlib, which the extra ``[plot]`` brings."""

from fastfs.pl._assess import assess
from fastfs.pl._class_profile import class_profile
from fastfs.pl._comparison import comparison
from fastfs.pl._components import components
from fastfs.pl._consensus import consensus
from fastfs.pl._differential_correlation import differential_correlation
from fastfs.pl._explanation import explanation
from fastfs.pl._group import group
from fastfs.pl._image import image
from fastfs.pl._interactions import interactions
from fastfs.pl._pair_panels import pair_panels
from fastfs.pl._permutation import permutation
from fastfs.pl._ranking import ranking
from fastfs.pl._shuffled_twin import shuffled_twin
from fastfs.pl._significance import significance
from fastfs.pl._stability import stability

__all__ = [
    "assess",
    "class_profile",
    "comparison",
    "components",
    "consensus",
    "differential_correlation",
    "explanation",
    "group",
    "image",
    "interactions",
    "pair_panels",
    "permutation",
    "ranking",
    "shuffled_twin",
    "significance",
    "stability",
]
