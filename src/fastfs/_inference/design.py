"""Designs: which labelings of the samples are as likely as the true one, if the labels say nothing about X."""

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import gammaln

from fastfs._inputs.checks import some_of
from fastfs._inputs.labels import is_missing
from fastfs._inputs.values import as_values, exact_floats
from fastfs._machine.run import Run, warn
from fastfs._types import Array, Floats, Integers

# From here on, labelings aren't counted.
COUNTED_BELOW = 10**6

# Tests warn if none of their p-values can be this small.
SIGNIFICANT = 0.05

# Rounds of swaps in a walk of the star sampler.
_N_ROUNDS = 50

# The most other units on each side of a unit in its cell with which it is compared to fit the classes' probabilities.
_N_PARTNERS = 20

# Of the seeds that have one parent, the last one: that of the hub of the star.
_HUB = (1 << 32) - 1

# Shares of the spread of numbers below which residuals are rounding.
_RESIDUE = 1e-9


class Design:
    """What may be permuted with what.

    Samples, or whole groups of them, exchange their labels within cells: blocks, groups, or both.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels of any type, numbers (floats), or records of an event and a time.
    blocks : array-like of shape (n_samples,), optional
        Samples exchange labels within a block only: a batch, a stratum, a pair. Anything hashable.
    groups : array-like of shape (n_samples,), optional
        Samples that belong together, such as cells of one specimen. If each group has one label, groups move as wholes;
        otherwise samples exchange labels within their group, and `check` warns that specimens may hide in it.
    covariates : array-like or DataFrame of shape (n_samples, n_covariates), optional
        Numbers, or strings and categories, to which labels keep their relation: classes by conditional permutation
        [1]_, numbers by the permutation of residuals [2]_.
    names : array-like of shape (n_samples,), optional
        What errors call the labels; by default y.

    Attributes
    ----------
    n_distinct : int or float
        The number of labelings that differ, the true one included; infinity from 10^6 on.
    n_mirrors : int
        The number of these that group the samples as the true one does, itself included: they exchange the names of
        whole classes. Scores that don't depend on the names of the classes are equal under all of them.
    weaknesses : list of str
        Parts of the design that contribute nothing, for warnings.
    hides_specimens : bool
        Whether labels vary within groups, and several samples of such a group have one label: they may belong together.
    is_uniform : bool
        Whether all labelings are equally likely, so that `enumerate` can take the place of draws.
    units : ndarray of shape (n_samples,)
        For subsamples: the unit of each sample, which is drawn as a whole. A block, if no two of its samples or groups
        have one label, as in pairs and in donors of a treated and a control specimen; otherwise a group, or the sample.
    strata : ndarray of shape (n_units,)
        For subsamples: the stratum of each unit, which are those with the same blocks and classes.

    References
    ----------
    .. [1] T. B. Berrett, Y. Wang, R. F. Barber, R. J. Samworth, "The conditional permutation test for independence
       while controlling for confounders", Journal of the Royal Statistical Society B 82, 2020.
    .. [2] A. M. Winkler et al., "Permutation inference for the general linear model", NeuroImage 92, 2014: the
       method of Freedman and Lane.
    """

    def __init__(
        self, y: Any, blocks: Any = None, groups: Any = None, covariates: Any = None, *, names: Any = None
    ) -> None:
        y = as_values(y)
        n = len(y)
        codes = _number(y.tolist())[1]
        first = np.unique(codes, return_index=True)[1]
        self._names = [y[i] if names is None else as_values(names)[i] for i in first]
        self._names = [name.item() if isinstance(name, np.generic) else name for name in self._names]
        self._is_class = y.dtype.kind != "f" and y.dtype.names is None
        blocks_and_names, groups_and_names = _column("blocks", blocks, n), _column("groups", groups, n)
        self._columns = codes, blocks_and_names[1], None if groups is None else groups_and_names[1]
        self._n_blocks = 0 if blocks is None else len(blocks_and_names[0])
        self.weaknesses: list[str] = []
        self.hides_specimens = False
        cell = self._find_cells(codes, *blocks_and_names, *groups_and_names)
        unit_codes = np.empty(len(cell), np.int64)
        unit_codes[self._unit] = codes
        self._counts = np.bincount(unit_codes)
        sizes = np.bincount(cell)
        is_covered = bool(self.weaknesses)
        if (single := int(np.count_nonzero(sizes == 1))) and not self.weaknesses and len(sizes) > 1:
            self.weaknesses.append(
                f"{single} of {len(sizes)} {self._cell_word}s {'have' if single > 1 else 'has'} one {self._word}, so "
                f"{'they contribute' if single > 1 else 'it contributes'} nothing to the test"
            )
        first_codes = np.empty(len(sizes), np.int64)
        first_codes[cell] = unit_codes
        varying = len(np.unique(cell[unit_codes != first_codes[cell]]))
        if (idle := len(sizes) - varying - single) and varying and not is_covered:
            self.weaknesses.append(
                f"{idle} of {len(sizes)} {self._cell_word}s {'have' if idle > 1 else 'has'} {self._word}s of one label "
                f"only, so {'they contribute' if idle > 1 else 'it contributes'} nothing to the test"
            )
        # All that follows has the order in which the units of a cell are neighbors.
        self._order = np.argsort(cell, kind="stable")
        self._cells, self._codes = cell[self._order], unit_codes[self._order]
        self._bounds = np.concatenate([[0], np.cumsum(sizes)])
        self._true, self._kinds = y, y[first]
        self._fitted: Floats | None = None
        self._logits: Floats | None = None
        self._hubs: dict[Any, Integers] = {}
        self._n_covariates = 0
        self.n_distinct = self._count()
        self.n_mirrors = self._count_mirrors()
        if covariates is not None:
            columns = _covariates(covariates, n)
            self._n_covariates = columns.shape[1]
            if self.n_distinct > 1:
                self._condition(columns)
        self.is_uniform = self._logits is None

    def _find_cells(
        self, codes: Integers, block_names: list[Any], block: Integers, group_names: list[Any], group: Integers
    ) -> Integers:
        """Set the unit of each sample and the names of the cells, and return the cell of each unit."""
        self._word, self._cell_word, self._cell_names = "sample", "block", block_names
        self._cell_blocks: list[str] = []  # of cells that are groups within blocks
        self._unit = np.arange(len(codes))
        if self._columns[2] is None:
            return block
        label, cell = np.empty((2, len(group_names)), np.int64)
        label[group], cell[group] = codes, block
        varies = np.bincount(group, codes != label[group], len(group_names)) > 0
        if not varies.any():
            if len(astray := np.flatnonzero(cell[group] != block)):
                g = group[astray[0]]
                spanned = [repr(block_names[b]) for b in dict.fromkeys(block[group == g].tolist())]
                raise ValueError(
                    f"group {group_names[g]!r} lies in the blocks {some_of(spanned)}, but groups that move as wholes "
                    "must lie in one block: give other blocks, or leave them out"
                )
            self._word, self._unit = "group", group
            return cell
        if np.any(np.bincount(group)[~varies] > 1):
            idle = int(np.count_nonzero(~varies))
            self.weaknesses.append(
                f"labels vary within {len(varies) - idle} of {len(varies)} groups, so samples are permuted within "
                f"groups, and the other {idle} contribute nothing to the test"
            )
        moved = np.column_stack([group, codes])[varies[group]]
        self.hides_specimens = len(np.unique(moved, axis=0)) < len(moved)
        pairs, cell = _number(list(zip(group.tolist(), block.tolist(), strict=True)))
        self._cell_word, self._cell_names = "group", [group_names[g] for g, _ in pairs]
        if self._n_blocks:
            self._cell_blocks = [f" in block {block_names[b]!r}" for _, b in pairs]
        return cell

    @property
    def wholes(self) -> Integers | None:
        """The group of each sample, if the labels of whole groups are permuted."""
        return self._unit if self._word == "group" else None

    @property
    def moves_together(self) -> bool:
        """Whether samples move together: in groups, of which one at least has several."""
        return len(self._order) < len(self._unit)

    @cached_property
    def units(self) -> Integers:
        codes, block, group = self._columns
        parts = np.arange(len(codes)) if group is None else group
        if self._is_class and block.any() and (group is None or self.wholes is not None):
            first = np.unique(parts, return_index=True)[1]
            if len(set(zip(block[first].tolist(), codes[first].tolist(), strict=True))) == len(first):
                return block
        return parts

    @property
    def unit_word(self) -> str:
        """What `units` are."""
        _, block, group = self._columns
        return "block" if self.units is block else "sample" if group is None else "group"

    @cached_property
    def strata(self) -> Integers:
        codes, block, _ = self._columns
        if not self._is_class:
            codes = np.zeros_like(codes)
        if self.units is block:
            block = np.zeros_like(block)
        held: list[set[tuple[int, int]]] = [set() for _ in range(self.units.max() + 1)]
        for unit, *part in zip(self.units.tolist(), block.tolist(), codes.tolist(), strict=True):
            held[unit].add((part[0], part[1]))
        return _number([frozenset(parts) for parts in held])[1]

    def check(self, *, ignores_names: bool = True) -> None:
        """Raise ValueError if no labeling but the true one is possible, and warn of weaknesses of the design.

        Parameters
        ----------
        ignores_names : bool
            Whether the scores to test don't depend on the names of the classes.
        """
        if self.n_distinct == 1:
            cells = "" if self._cell_names == [None] else f"{self._cell_word}s with "
            raise ValueError(
                f"no labeling but the true one is possible: {self._confounded()} (confounded); give {cells}labels that "
                "differ"
            )
        messages = list(self.weaknesses)
        if self.hides_specimens:
            present = "combinations of the present blocks and groups" if self._n_blocks else "the present groups"
            messages.append(
                "labels vary within groups, so samples are permuted singly within these; if samples of a group with "
                "one label belong together, as cells of one specimen do, p-values are far too small: give the "
                f"specimens as groups, and {present} as blocks; if they don't, give {present} as blocks, and no groups"
            )
        smallest = self.smallest_pvalue(ignores_names=ignores_names)
        if smallest > SIGNIFICANT:
            alike = ""
            if ignores_names and self.n_mirrors > 1:
                alike = f", {self.n_mirrors} of which only exchange the names of classes"
            messages.append(
                f"there are only {self.n_distinct} distinct labelings ({self.describe()}){alike}, so no p-value can be "
                f"below {smallest:.2g}"
            )
        warn(messages)

    def smallest_pvalue(self, *, ignores_names: bool) -> float:
        """Return the smallest p-value that all labelings together can give."""
        return (self.n_mirrors if ignores_names else 1) / self.n_distinct

    def describe(self) -> str:
        """Return the design in a few words."""
        n = len(self._codes)
        few = self._is_class and len(self._counts) <= 4
        counts = self._counts[np.argsort(self._kinds)] if few else [n]  # in the order of the classes
        text = f"{' + '.join(map(str, counts))} {self._word}s"
        if self._cell_word == "group":
            text += f" within {len(set(self._cell_names))} groups"
        if self._n_blocks:
            text += f" within {self._n_blocks} blocks"
        if self._n_covariates:
            text += f", given {self._n_covariates} covariate{'s' if self._n_covariates > 1 else ''}"
        return text

    def draw(self, seed: Any) -> Array:
        """Return a labeling at random: an array like y.

        Parameters
        ----------
        seed : int or SeedSequence
            Given classes and covariates, draws whose seeds were spawned by one SeedSequence are exchangeable.
        """
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        rng = np.random.default_rng(seed)
        if self._logits is None:
            return self._labeling(self._codes[self._shuffle(rng)])
        key = (str(seed.entropy), seed.spawn_key[:-1])
        if key not in self._hubs:
            hub = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key[:-1], _HUB))
            self._hubs = {key: self._walk(self._codes, np.random.default_rng(hub))}
        return self._labeling(self._walk(self._hubs[key], rng))

    def has_at_most(self, n: int) -> bool:
        """Whether there are at most n labelings, all equally likely, so that all of them can be taken."""
        return self.is_uniform and self.n_distinct <= n

    def others(self, n: int, seed: int, *, exact: bool) -> Iterator[Array]:
        """Return labelings to compare with the true one: all others if exact, or n draws."""
        if exact:
            return itertools.islice(self.enumerate(), 1, None)
        seeds = np.random.SeedSequence(seed)
        return (self.draw(seeds.spawn(1)[0]) for _ in range(n))

    def labelings(self, n: int, seed: int, run: Run) -> tuple[Array, bool]:
        """Return labelings of classes to compare with the true one, a row each, and whether they are all there are."""
        self.check()
        exact = self.has_at_most(n + 1)
        shape = int(self.n_distinct) - 1 if exact else n, len(self._true)
        run.take(8 * shape[0] * shape[1], f"{shape[0]} labelings", "give a smaller n_permutations")
        found = np.empty(shape, np.int64)
        for row, labeling in zip(found, self.others(n, seed, exact=exact), strict=True):
            row[:] = labeling
        # In any order but that of their enumeration, in which neighbors are alike.
        return found[np.random.default_rng(0).permutation(len(found))] if exact else found, exact

    def enumerate(self) -> Iterator[Array]:
        """Return all distinct labelings, the true one first."""
        yield self._true.copy()
        codes = self._codes.copy()
        for _ in self._fill(codes, list(itertools.pairwise(self._bounds.tolist()))):
            if not np.array_equal(codes, self._codes):
                yield self._labeling(codes)

    def _fill(self, codes: Integers, cells: list[tuple[int, int]]) -> Iterator[None]:
        """Set the codes of these cells to all their orders."""
        for i, (a, b) in enumerate(cells):
            if np.any(codes[a:b] != codes[a]):
                for found in _arrangements(self._codes[a:b]):
                    codes[a:b] = found
                    yield from self._fill(codes, cells[i + 1 :])
                codes[a:b] = self._codes[a:b]
                return
        yield

    def _labeling(self, codes: Integers) -> Array:
        """Return the labels of all samples from the codes of the units by cell."""
        values = self._kinds[codes]
        if self._fitted is not None:
            values = values + self._fitted
        units = np.empty_like(values)
        units[self._order] = values
        found: Array = units[self._unit]
        return found

    def _shuffle(self, rng: np.random.Generator, *shape: int) -> Integers:
        """Return random orders of the units of each cell."""
        return np.argsort(rng.random((*shape, len(self._cells))) + self._cells, axis=-1)

    def _count(self) -> int | float:
        """Return the product of the multinomial coefficients of the cells."""
        n_kinds = len(self._kinds)
        keys, counts = np.unique(self._cells * n_kinds + self._codes, return_counts=True)
        cells = keys // n_kinds
        log = float(gammaln(np.diff(self._bounds) + 1).sum() - gammaln(counts + 1).sum())
        if log > math.log(COUNTED_BELOW) + 1:
            return math.inf
        found = 1
        for _, of_cell in itertools.groupby(
            zip(cells.tolist(), counts.tolist(), strict=True), key=lambda pair: pair[0]
        ):
            size = 0
            for count in sorted((count for _, count in of_cell), reverse=True):
                size += count
                found *= math.comb(size, count)
        return found if found < COUNTED_BELOW else math.inf

    def _count_mirrors(self) -> int:
        """Return the product of the factorials of the numbers of classes with the same counts in all cells."""
        if not self._is_class or math.isinf(self.n_distinct):
            return 1
        n_kinds = len(self._kinds)
        keys, counts = np.unique(self._cells * n_kinds + self._codes, return_counts=True)
        held: list[list[tuple[int, int]]] = [[] for _ in range(n_kinds)]
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            held[key % n_kinds].append((key // n_kinds, count))
        return math.prod(math.factorial(n) for n in Counter(map(tuple, held)).values())

    def _confounded(self) -> str:
        where = []
        blocks = self._cell_blocks or [""] * len(self._cell_names)
        for name, block, (a, b) in zip(self._cell_names, blocks, itertools.pairwise(self._bounds), strict=True):
            of = "" if name is None else f" of {self._cell_word} {name!r}" + block
            label = repr(self._names[self._codes[a]])
            of_all = f"the only {self._word}{of} is" if b - a == 1 else f"all {b - a} {self._word}s{of} are"
            where.append(f"{of_all} {label}")
        return some_of(where)

    def _condition(self, columns: Floats) -> None:
        """Make labelings depend on covariates as the true one does."""
        if self._true.dtype.names:
            raise ValueError(
                "covariates need classes or one number a sample as y, but y holds several, such as events and times: "
                "give strata of the covariates as blocks"
            )
        first = np.unique(self._unit, return_index=True)[1]
        astray = np.flatnonzero((columns[first][self._unit] != columns).any(axis=1))
        if len(astray):
            row = int(astray[0])
            raise ValueError(
                f"covariates must be constant within groups that move as wholes, but the rows {first[self._unit[row]]} "
                f"and {row} of one group differ: give one value for each group, such as its mean"
            )
        columns = np.ldexp(
            columns, -np.frexp(np.abs(columns).max(axis=0))[1]
        )  # whose squares neither overflow nor vanish
        Z = columns[first][self._order]
        Z = Z - Z.mean(axis=0)
        spread = np.sqrt(np.mean(Z**2, axis=0))
        varies = spread > _RESIDUE * np.abs(columns).max(axis=0)
        if not varies.any():
            raise ValueError("covariates must vary, but all of them are constant: leave them out")
        Z = Z[:, varies] / spread[varies]
        if self._is_class:
            self._fit_classes(Z)
        else:
            self._fit_numbers(Z)

    def _fit_classes(self, Z: Floats) -> None:
        """Set the logits of the classes of each unit, by a fit that hardly shrinks."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        n_classes = len(self._kinds)
        # Of two units of a cell with different labels, the odds that they have them this way round: what all units of a
        # cell have in common cancels, so that cells may be as small as pairs.
        i, j = self._pairs()
        labels = np.eye(n_classes)[self._codes]
        terms = ((labels[i] - labels[j])[:, :, None] * (Z[i] - Z[j])[:, None, :]).reshape(len(i), -1)
        sizes = np.diff(self._bounds)[self._cells[i]]
        weights = 1 / np.minimum(sizes - 1, 2 * _N_PARTNERS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = LogisticRegression(C=1e4, fit_intercept=False, max_iter=1000).fit(
                np.vstack([terms, -terms]), np.repeat([1, 0], len(i)), np.tile(weights, 2)
            )
        logits = Z @ fitted.coef_.reshape(n_classes, -1).T
        # The swap of two labels that is most likely, from the best unit of each label for each other label.
        gains = logits - logits[np.arange(len(Z)), self._codes][:, None]
        best = np.full((len(self._bounds) - 1, n_classes, n_classes), -np.inf)
        np.maximum.at(best, (self._cells, self._codes), gains)
        swaps = best + best.transpose(0, 2, 1)
        swaps[:, np.arange(n_classes), np.arange(n_classes)] = -np.inf
        if swaps.max() < 0:
            raise ValueError(
                "the covariates determine the labels, so no other labeling keeps their relation: leave out the "
                "covariates that separate the classes"
            )
        self._logits = logits

    def _pairs(self) -> tuple[Integers, Integers]:
        """Return pairs of units of one cell with different labels: all, or those of each unit with some others."""
        lefts, rights = [], []
        for begin, end in itertools.pairwise(self._bounds.tolist()):
            half = (end - begin) // 2
            for step in np.unique(np.linspace(1, half, min(half, _N_PARTNERS)).astype(int)).tolist():
                n = half if 2 * step == end - begin else end - begin  # opposite units meet once
                lefts.append(begin + np.arange(n))
                rights.append(begin + (np.arange(n) + step) % (end - begin))
        i, j = np.concatenate(lefts), np.concatenate(rights)
        differ = self._codes[i] != self._codes[j]
        return i[differ], j[differ]

    def _fit_numbers(self, Z: Floats) -> None:
        """Split numbers in their fit to the covariates and the cells, which stays, and residuals, which move."""
        y = self._kinds[self._codes]
        centred = np.column_stack([y, Z])
        sizes = np.diff(self._bounds)[:, None]
        means = np.add.reduceat(centred, self._bounds[:-1], axis=0) / sizes
        centred = centred - means[self._cells]
        slope = np.linalg.lstsq(centred[:, 1:], centred[:, 0], rcond=None)[0]
        residuals = centred[:, 0] - centred[:, 1:] @ slope
        if np.abs(residuals).max() <= _RESIDUE * np.abs(y - y.mean()).max():
            raise ValueError(
                "the covariates determine the numbers of y, so no other labeling keeps their relation: give fewer "
                "covariates"
            )
        self._fitted = y - residuals
        self._kinds, self._codes = np.unique(residuals, return_inverse=True)
        self.n_distinct = self._count()

    def _walk(self, codes: Integers, rng: np.random.Generator) -> Integers:
        """Return the codes after rounds of swaps between random pairs of each cell."""
        assert self._logits is not None
        sizes = np.diff(self._bounds)
        places = np.arange(len(codes)) - np.repeat(self._bounds[:-1], sizes)
        left = np.flatnonzero((places % 2 == 0) & (places + 1 < np.repeat(sizes, sizes)))
        orders = self._shuffle(rng, _N_ROUNDS)
        lefts, rights = orders[:, left], orders[:, left + 1]
        thresholds = rng.logistic(size=lefts.shape)
        codes = codes.copy()
        differences = (self._logits[lefts] - self._logits[rights]).reshape(_N_ROUNDS, -1)
        first = np.arange(len(left)) * self._logits.shape[1]
        for i, j, difference, threshold in zip(lefts, rights, differences, thresholds, strict=True):
            a, b = codes[i], codes[j]
            gain = difference[first + b] - difference[first + a]
            change = (b - a) * (threshold < gain)
            codes[i] = a + change
            codes[j] = b - change
        return codes


def _arrangements(codes: Integers) -> Iterator[Integers]:
    """Return all distinct orders of some codes."""
    values, counts = np.unique(codes, return_counts=True)
    most = int(counts.argmax())
    array = np.full(len(codes), values[most])
    rest = [(v, k) for i, (v, k) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)) if i != most]

    def place(free: list[int], rest: list[tuple[int, int]]) -> Iterator[Integers]:
        if not rest:
            yield array
            return
        (value, count), *others = rest
        for chosen in itertools.combinations(free, count):
            array[list(chosen)] = value
            taken = set(chosen)
            yield from place([i for i in free if i not in taken] if others else [], others)
            array[list(chosen)] = values[most]

    return place(list(range(len(codes))), rest)


def design_of(
    columns: Mapping[str, Array], blocks: str | None, groups: str | None, covariates: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of tests from columns about the samples, by their names."""
    given: dict[str, Any] = {
        name: None if column is None else columns[column] for name, column in (("blocks", blocks), ("groups", groups))
    }
    if covariates:
        given["covariates"] = np.column_stack([_as_numbers(columns[name]).astype(object) for name in covariates])
    return given


def nested_design(labels: Any, batch: Any = None, donors: Any = None, samples: Any = None) -> dict[str, Any]:
    """Return the blocks and groups of cells in samples in donors in batches, as far as these are given.

    The largest units that have one label each move: donors, samples or cells. They move within all that holds them.
    """
    around = [] if batch is None else [batch]
    for units in (donors, samples):
        if units is not None:
            if Design(labels, groups=units).wholes is not None:
                return {"blocks": _combined(around), "groups": units}
            around.append(units)
    return {"blocks": _combined(around)}


def _combined(columns: Sequence[Any]) -> Any:
    """Return a column that tells apart whatever one of these does."""
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)) or None


def _as_numbers(column: Array) -> Array:
    """Text files hold fractions as text."""
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


def _number(values: Sequence[Any]) -> tuple[list[Any], Integers]:
    """Return the different values in the order they come in, and the number of each; their names don't matter so."""
    places: dict[Any, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(codes, dtype=np.int64)


def _column(name: str, given: Any, n_samples: int) -> tuple[list[Any], Integers]:
    """Return the different values of a design column, and the number of each sample's."""
    if given is None:
        return [None], np.zeros(n_samples, np.int64)
    if isinstance(given, str) or hasattr(given, "columns"):
        raise TypeError(f"{name} must be a 1-D array of one value for each sample, not {type(given).__name__}")
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    if len(values) != n_samples:
        raise ValueError(f"{name} must have one value for each of the {n_samples} samples, but has {len(values)}")
    try:
        found = _number(values)
    except TypeError:
        raise TypeError(f"{name} must be a 1-D array of hashable values, such as strings or integers") from None
    _refuse_missing(name, [is_missing(value) for value in values])
    return found


def _refuse_missing(name: str, missing: Any) -> None:
    if len(rows := np.flatnonzero(missing)):
        raise ValueError(f"{name} must have no missing values, but has some in {_rows(rows)}")


def _rows(numbers: Integers) -> str:
    if len(numbers) == 1:
        return f"row {numbers[0]}: drop this sample"
    return f"the rows {some_of(numbers)}: drop these samples"


def _covariates(given: Any, n_samples: int) -> Floats:
    """Return covariates as numbers: columns of anything else as one of 0 and 1 for each value but the first."""
    if hasattr(given, "to_frame"):
        given = given.to_frame()
    if hasattr(given, "column_names"):  # of Arrow
        given = given.to_pandas()
    if hasattr(given, "columns"):
        if len(set(given.columns)) < len(given.columns):
            raise ValueError("covariates must have unique column names: rename or drop some")
        categories = [hasattr(dtype, "categories") for dtype in given.dtypes]  # of pandas, whose values may be numbers
        columns = [np.asarray(given[name], dtype=object) for name in given.columns]
    else:
        values = as_values(given)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2:
            raise ValueError(
                f"covariates must be a 2-D array of samples x covariates, but have {values.ndim} dimensions"
            )
        columns = list(values.T)
        categories = [False] * len(columns)
    if not columns or len(columns[0]) != n_samples:
        raise ValueError(
            f"covariates must have one row for each of the {n_samples} samples, but have "
            f"{len(columns[0]) if columns else 0}"
        )
    _refuse_missing("covariates", [any(map(is_missing, row)) for row in zip(*columns, strict=True)])
    found = []
    for j, (column, is_category) in enumerate(zip(columns, categories, strict=True)):
        values = column.tolist()
        if not is_category and all(isinstance(value, Real | np.bool_) for value in values):
            found.append(exact_floats(np.asarray(values), "covariates"))
        else:
            for value in values:
                if not is_category and not isinstance(value, Real | np.bool_ | str | bytes):
                    raise TypeError(
                        f"covariates must hold numbers or strings, but column {j} holds values of type "
                        f"{type(value).__name__}: convert them"
                    )
            kinds, codes = _number(values)
            found += [(codes == kind).astype(np.float64) for kind in range(1, len(kinds))]
    numbers = np.column_stack(found) if found else np.zeros((n_samples, 1))
    if len(rows := np.flatnonzero(~np.isfinite(numbers).all(axis=1))):
        raise ValueError(f"covariates must be finite, but aren't in {_rows(rows)}")
    return numbers
