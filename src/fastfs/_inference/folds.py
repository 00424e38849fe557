"""Folds of a design: donors, or other units that are drawn together, are in one fold, and strata are spread."""

import numpy as np

from fastfs._inputs.design import Design
from fastfs._machine.params import some_of
from fastfs._machine.run import warn
from fastfs._types import Array, Integers

# Largest number of draws until each training set has all classes, which only units of several classes can need.
_MAX_DRAWS = 100


class Folds:
    """The units of a design, which folds take whole, and their strata.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Numbers of the classes (int64), numbers (float64), or records of an event and a time.
    blocks, groups : array-like of shape (n_samples,), optional
        As for :class:`fastfs._inputs.design.Design`.

    Attributes
    ----------
    units : ndarray of shape (n_samples,)
        Number of the unit of each sample.
    n_units : int
    word : {"sample", "group", "block"}
        What a unit is.
    """

    def __init__(self, y: Array, blocks: object = None, groups: object = None) -> None:
        """Find the units and strata of a design, and the classes that each unit has: for times event or none, for
        numbers one.
        """
        design = Design(y, blocks, groups)
        self.units, self.word, self._strata = design.drawn_units, design.unit_word, design.strata
        self.n_units = len(self._strata)
        self._is_times = y.dtype.names is not None
        labels = np.zeros(len(y), dtype=np.int64)
        if self._is_times:
            labels = y["event"].astype(np.int64)
        elif y.dtype.kind == "i":
            labels = y
        self._has_class = np.zeros((self.n_units, labels.max() + 1), dtype=bool)
        self._has_class[self.units, labels] = True

    def require(self, n_splits: int, classes: Array | None) -> None:
        """Raise ValueError unless there are enough units for the folds, and two with events or with each class.

        Warn of classes that some folds lack.
        """
        if n_splits > self.n_units:
            raise ValueError(f"n_splits must be at most {self.n_units}, the number of {self.word}s; got {n_splits}")
        if self._is_times and (n_events := int(self._has_class[:, 1:].sum())) < 2:
            raise ValueError(
                f"y must hold events of at least two {self.word}s, to learn and to compare; got {n_events}"
            )
        if classes is None:
            return
        counts = dict(zip(classes.tolist(), self._has_class.sum(axis=0).tolist(), strict=True))
        if alone := [repr(name) for name, count in counts.items() if count < 2]:
            raise ValueError(
                f"each class must have at least two {self.word}s, one to learn from and one to classify; got one of "
                f"{some_of(alone)}: leave out {'these classes' if len(alone) > 1 else 'this class'}"
            )
        if rare := [repr(name) for name, count in counts.items() if count < n_splits]:
            warn(
                [
                    f"fewer than {n_splits} {self.word}s have the class {some_of(rare)}, so some folds lack it and "
                    "don't count for its AUC: a smaller n_splits uses all folds"
                ]
            )

    def deal(self, n_splits: int, rng: np.random.Generator) -> Integers:
        """Return the fold of each sample: the units of each class, block after block, go to one fold after the other.

        Units of several classes come last. A deal is drawn anew while a training set lacks a class or events; after
        `_MAX_DRAWS` it is a ValueError.
        """
        mixed = self._has_class.shape[1]
        needed = self._has_class[:, 1:] if self._is_times else self._has_class  # not times without an event
        of_unit = np.where(self._has_class.sum(axis=1) == 1, self._has_class.argmax(axis=1), mixed)
        for _ in range(_MAX_DRAWS):
            order = rng.permutation(self.n_units)
            strata = rng.permutation(self._strata.max() + 1)[self._strata]
            order = order[np.lexsort((strata[order], of_unit[order]))]
            fold_of_unit = np.empty(self.n_units, dtype=np.int64)
            fold_of_unit[order] = np.arange(self.n_units) % n_splits
            if all(needed[fold_of_unit != fold].any(axis=0).all() for fold in range(n_splits)):
                folds: Integers = fold_of_unit[self.units]
                return folds
        raise ValueError(
            f"each training set must have all classes; got {_MAX_DRAWS} draws of {n_splits} folds of whole "
            f"{self.word}s in which one lacks a class: leave out rare classes"
        )
