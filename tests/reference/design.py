"""The oracle of designs: csrc/inference in plain NumPy, with NumPy's generator; `fit_classes` by SciPy's minimiser."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln

from fastfs._inputs.design import number_values, read_column, read_covariates
from fastfs._inputs.values import as_values
from fastfs._machine.params import some_of
from fastfs._machine.run import warn
from fastfs._types import Array, Floats, Integers

# Number of labelings from which on they aren't counted.
COUNTED_BELOW = 10**6

# Level of significance: tests warn if none of their p-values can reach it.
SIGNIFICANT = 0.05

# Number of rounds of swaps in a walk of the star sampler.
_N_ROUNDS = 50

# Largest number of neighbours, on each side of a unit in its pool, that it is compared with to fit class probabilities.
_N_PARTNERS = 20

# Last seed among the children of one parent, which is the seed of the star's hub.
_HUB = (1 << 32) - 1

# Share of the spread of numbers below which residuals are rounding error.
_RESIDUE = 1e-9


class Design:
    """Labels, blocks, groups and covariates of the samples, and the permutations that they allow.

    The units, which are samples or groups of samples, exchange their labels within pools: blocks, groups, or
    combinations of both.

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
        Names of the labels in errors; default: y.

    Attributes
    ----------
    n_distinct : int or float
        The number of labelings that differ, the true one included; infinity from 10^6 on.
    n_mirrors : int
        Number of labelings, the true one included, that only exchange the names of whole classes. Scores that don't
        depend on the names of the classes are equal under all of them.
    weaknesses : list of str
        Parts of the design that contribute nothing, for warnings.
    hides_specimens : bool
        True if labels vary within groups, and several samples of such a group have one label: they may belong together.
    is_uniform : bool
        True if all labelings are equally likely, so that `enumerate_labelings` can replace draws.
    unit_of_sample : ndarray of shape (n_samples,)
        For subsamples: the unit of each sample, which is drawn as a whole. A block, if no two of its samples or groups
        have one label, as in pairs and in donors of a treated and a control specimen; otherwise a group, or the sample.
    stratum_of_unit : ndarray of shape (n_units,)
        For subsamples: the stratum of each unit. Units with equal blocks and classes form a stratum.

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
        codes = number_values(y.tolist())[1]
        first = np.unique(codes, return_index=True)[1]
        self._names = [y[i] if names is None else as_values(names)[i] for i in first]
        self._names = [name.item() if isinstance(name, np.generic) else name for name in self._names]
        self._is_class = y.dtype.kind != "f" and y.dtype.names is None
        blocks_and_names, groups_and_names = read_column("blocks", blocks, n), read_column("groups", groups, n)
        if blocks is None:
            blocks_and_names = [None], np.zeros(n, np.int64)
        if groups is None:
            groups_and_names = [None], np.zeros(n, np.int64)
        self._columns = codes, blocks_and_names[1], None if groups is None else groups_and_names[1]
        self._n_blocks = 0 if blocks is None else len(blocks_and_names[0])
        self.weaknesses: list[str] = []
        self.hides_specimens = False
        pool = self._find_pools(codes, *blocks_and_names, *groups_and_names)
        unit_codes = np.empty(len(pool), np.int64)
        unit_codes[self._unit] = codes
        self._counts = np.bincount(unit_codes)
        sizes = np.bincount(pool)
        is_covered = bool(self.weaknesses)
        if (single := int(np.count_nonzero(sizes == 1))) and not self.weaknesses and len(sizes) > 1:
            self.weaknesses.append(
                f"{single} of {len(sizes)} {self._pool_word}s {'have' if single > 1 else 'has'} one {self._word}, so "
                f"{'they contribute' if single > 1 else 'it contributes'} nothing to the test"
            )
        first_codes = np.empty(len(sizes), np.int64)
        first_codes[pool] = unit_codes
        varying = len(np.unique(pool[unit_codes != first_codes[pool]]))
        if (idle := len(sizes) - varying - single) and varying and not is_covered:
            self.weaknesses.append(
                f"{idle} of {len(sizes)} {self._pool_word}s {'have' if idle > 1 else 'has'} {self._word}s of one label "
                f"only, so {'they contribute' if idle > 1 else 'it contributes'} nothing to the test"
            )
        # Arrays from here on have the units of a pool next to each other.
        self._order = np.argsort(pool, kind="stable")
        self._pools, self._codes = pool[self._order], unit_codes[self._order]
        self._bounds = np.concatenate([[0], np.cumsum(sizes)])
        self._true, self._kinds = y, y[first]
        self._fitted: Floats | None = None
        self._logits: Floats | None = None
        self._hubs: dict[Any, Integers] = {}
        self._n_covariates = 0
        self.n_distinct = self._count_labelings()
        self.n_mirrors = self._count_mirrors()
        if covariates is not None:
            columns = read_covariates(covariates, n)
            self._n_covariates = columns.shape[1]
            if self.n_distinct > 1:
                self._fit_covariates(columns)
        self.is_uniform = self._logits is None

    def _find_pools(
        self, codes: Integers, block_names: list[Any], block: Integers, group_names: list[Any], group: Integers
    ) -> Integers:
        """Set the unit of each sample and the names of the pools, and return the pool of each unit."""
        self._word, self._pool_word, self._pool_names = "sample", "block", block_names
        self._pool_blocks: list[str] = []  # block of each pool, if pools are groups within blocks
        self._unit = np.arange(len(codes))
        if self._columns[2] is None:
            return block
        label, pool = np.empty((2, len(group_names)), np.int64)
        label[group], pool[group] = codes, block
        varies = np.bincount(group, codes != label[group], len(group_names)) > 0
        if not varies.any():
            if len(astray := np.flatnonzero(pool[group] != block)):
                g = group[astray[0]]
                spanned = [repr(block_names[b]) for b in dict.fromkeys(block[group == g].tolist())]
                raise ValueError(
                    f"groups that move as wholes must lie in one block; got group {group_names[g]!r} in the blocks "
                    f"{some_of(spanned)}: give other blocks, or leave them out"
                )
            self._word, self._unit = "group", group
            return pool
        if np.any(np.bincount(group)[~varies] > 1):
            idle = int(np.count_nonzero(~varies))
            self.weaknesses.append(
                f"labels vary within {len(varies) - idle} of {len(varies)} groups, so samples are permuted within "
                f"groups, and the other {idle} contribute nothing to the test"
            )
        moved = np.column_stack([group, codes])[varies[group]]
        self.hides_specimens = len(np.unique(moved, axis=0)) < len(moved)
        pairs, pool = number_values(list(zip(group.tolist(), block.tolist(), strict=True)))
        self._pool_word, self._pool_names = "group", [group_names[g] for g, _ in pairs]
        if self._n_blocks:
            self._pool_blocks = [f" in block {block_names[b]!r}" for _, b in pairs]
        return pool

    @property
    def moving_groups(self) -> Integers | None:
        """Group of each sample if the labels of whole groups are permuted, else None."""
        return self._unit if self._word == "group" else None

    @property
    def moves_together(self) -> bool:
        """True if groups of several samples move as wholes."""
        return len(self._order) < len(self._unit)

    @cached_property
    def unit_of_sample(self) -> Integers:
        """Unit of each sample for subsamples, which is drawn as a whole."""
        codes, block, group = self._columns
        parts = np.arange(len(codes)) if group is None else group
        if self._is_class and block.any() and (group is None or self.moving_groups is not None):
            first = np.unique(parts, return_index=True)[1]
            if len(set(zip(block[first].tolist(), codes[first].tolist(), strict=True))) == len(first):
                return block
        return parts

    @property
    def unit_word(self) -> str:
        """Word for a unit of `unit_of_sample`: block, group or sample."""
        _, block, group = self._columns
        return "block" if self.unit_of_sample is block else "sample" if group is None else "group"

    @cached_property
    def stratum_of_unit(self) -> Integers:
        """Stratum of each unit for subsamples."""
        codes, block, _ = self._columns
        if not self._is_class:
            codes = np.zeros_like(codes)
        if self.unit_of_sample is block:
            block = np.zeros_like(block)
        held: list[set[tuple[int, int]]] = [set() for _ in range(self.unit_of_sample.max() + 1)]
        for unit, *part in zip(self.unit_of_sample.tolist(), block.tolist(), codes.tolist(), strict=True):
            held[unit].add((part[0], part[1]))
        return number_values([frozenset(parts) for parts in held])[1]

    def check_labelings(self, *, ignores_names: bool = True) -> None:
        """Raise ValueError if the true labeling is the only one, and warn of weaknesses of the design.

        Parameters
        ----------
        ignores_names : bool
            True if the scores to test don't depend on the names of the classes.
        """
        if self.n_distinct == 1:
            pools = "" if self._pool_names == [None] else f"{self._pool_word}s with "
            raise ValueError(
                f"no labeling but the true one is possible: {self._describe_confounding()} (confounded); give {pools}"
                "labels that differ"
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
                alike = f", and {self.n_mirrors} only exchange the names of classes"
            messages.append(
                f"there are only {self.n_distinct} distinct labelings ({self.describe_design()}){alike}, so no p-value "
                f"can be below {smallest:.2g}"
            )
        warn(messages)

    def smallest_pvalue(self, *, ignores_names: bool) -> float:
        """Return the smallest p-value that all labelings together can give."""
        return (self.n_mirrors if ignores_names else 1) / self.n_distinct

    def describe_design(self) -> str:
        """Return a description of the design in a few words."""
        n = len(self._codes)
        few = self._is_class and len(self._counts) <= 4
        counts = self._counts[np.argsort(self._kinds)] if few else [n]  # in the order of the classes
        text = f"{' + '.join(map(str, counts))} {self._word}s"
        if self._pool_word == "group":
            text += f" within {len(set(self._pool_names))} groups"
        if self._n_blocks:
            text += f" within {self._n_blocks} blocks"
        if self._n_covariates:
            text += f", given {self._n_covariates} covariate{'s' if self._n_covariates > 1 else ''}"
        return text

    def draw_labeling(self, seed: Any) -> Array:
        """Draw a labeling at random; return an array like y.

        Parameters
        ----------
        seed : int or SeedSequence
            Given classes and covariates, draws whose seeds were spawned by one SeedSequence are exchangeable.
        """
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        rng = np.random.default_rng(seed)
        if self._logits is None:
            return self._labels_of_samples(self._codes[self._shuffle_pools(rng)])
        key = (str(seed.entropy), seed.spawn_key[:-1])
        if key not in self._hubs:
            hub = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key[:-1], _HUB))
            self._hubs = {key: self._swap_labels(self._codes, np.random.default_rng(hub))}
        return self._labels_of_samples(self._swap_labels(self._hubs[key], rng))

    def has_at_most(self, n: int) -> bool:
        """Return True if there are at most n labelings, all equally likely, so that all of them can be compared."""
        return self.is_uniform and self.n_distinct <= n

    def other_labelings(self, n: int, seed: int, *, exact: bool) -> Iterator[Array]:
        """Return labelings to compare with the true one: all others if exact, or n draws."""
        if exact:
            return itertools.islice(self.enumerate_labelings(), 1, None)
        seeds = np.random.SeedSequence(seed)
        return (self.draw_labeling(seeds.spawn(1)[0]) for _ in range(n))

    def enumerate_labelings(self) -> Iterator[Array]:
        """Yield all distinct labelings, the true one first, the others as the core numbers them."""
        yield self._true.copy()
        codes = self._codes.copy()
        for _ in self._set_all_orders(codes, list(itertools.pairwise(self._bounds.tolist()))):
            if not np.array_equal(codes, self._codes):
                yield self._labels_of_samples(codes)

    def _set_all_orders(self, codes: Integers, pools: list[tuple[int, int]]) -> Iterator[None]:
        """Set the codes of these pools to each of their orders in turn; yield after each."""
        for i, (a, b) in enumerate(pools):
            if np.any(codes[a:b] != codes[a]):
                for order in _distinct_orders(self._codes[a:b]):
                    codes[a:b] = order
                    yield from self._set_all_orders(codes, pools[i + 1 :])
                codes[a:b] = self._codes[a:b]
                return
        yield

    def _labels_of_samples(self, codes: Integers) -> Array:
        """Return the labels of all samples from the codes of the units, which are sorted by pool."""
        values = self._kinds[codes]
        if self._fitted is not None:
            values = values + self._fitted
        units = np.empty_like(values)
        units[self._order] = values
        labels: Array = units[self._unit]
        return labels

    def _shuffle_pools(self, rng: np.random.Generator, *shape: int) -> Integers:
        """Return random orders of the units within each pool."""
        return np.argsort(rng.random((*shape, len(self._pools))) + self._pools, axis=-1)

    def _count_labelings(self) -> int | float:
        """Return the product of the multinomial coefficients of the pools, or infinity from COUNTED_BELOW on."""
        n_kinds = len(self._kinds)
        keys, counts = np.unique(self._pools * n_kinds + self._codes, return_counts=True)
        pools = keys // n_kinds
        log = float(gammaln(np.diff(self._bounds) + 1).sum() - gammaln(counts + 1).sum())
        if log > math.log(COUNTED_BELOW) + 1:
            return math.inf
        n_labelings = 1
        for _, of_pool in itertools.groupby(
            zip(pools.tolist(), counts.tolist(), strict=True), key=lambda pair: pair[0]
        ):
            size = 0
            for count in sorted((count for _, count in of_pool), reverse=True):
                size += count
                n_labelings *= math.comb(size, count)
        return n_labelings if n_labelings < COUNTED_BELOW else math.inf

    def _count_mirrors(self) -> int:
        """Return the number of ways to exchange classes with equal counts in all pools."""
        if not self._is_class or math.isinf(self.n_distinct):
            return 1
        n_kinds = len(self._kinds)
        keys, counts = np.unique(self._pools * n_kinds + self._codes, return_counts=True)
        held: list[list[tuple[int, int]]] = [[] for _ in range(n_kinds)]
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            held[key % n_kinds].append((key // n_kinds, count))
        return math.prod(math.factorial(n) for n in Counter(map(tuple, held)).values())

    def _describe_confounding(self) -> str:
        """List the pools with their only label."""
        where = []
        blocks = self._pool_blocks or [""] * len(self._pool_names)
        for name, block, (a, b) in zip(self._pool_names, blocks, itertools.pairwise(self._bounds), strict=True):
            of = "" if name is None else f" of {self._pool_word} {name!r}" + block
            label = repr(self._names[self._codes[a]])
            of_all = f"the only {self._word}{of} is" if b - a == 1 else f"all {b - a} {self._word}s{of} are"
            where.append(f"{of_all} {label}")
        return some_of(where)

    def _fit_covariates(self, columns: Floats) -> None:
        """Fit the relation of the labels to the covariates, which labelings keep."""
        if self._true.dtype.names:
            raise ValueError(
                "y must hold classes or one number per sample for covariates; got several, such as events and times: "
                "give strata of the covariates as blocks"
            )
        first = np.unique(self._unit, return_index=True)[1]
        astray = np.flatnonzero((columns[first][self._unit] != columns).any(axis=1))
        if len(astray):
            row = int(astray[0])
            raise ValueError(
                f"covariates must be constant within groups that move as wholes; got different values for row "
                f"{first[self._unit[row]]} and row {row} of one group: give one value per group, such as its mean"
            )
        columns = np.ldexp(
            columns, -np.frexp(np.abs(columns).max(axis=0))[1]
        )  # squares of the scaled columns neither overflow nor vanish
        Z = columns[first][self._order]
        Z = Z - Z.mean(axis=0)
        spread = np.sqrt(np.mean(Z**2, axis=0))
        varies = spread > _RESIDUE * np.abs(columns).max(axis=0)
        if not varies.any():
            raise ValueError("covariates and given features must vary; got constant ones: leave them out")
        Z = Z[:, varies] / spread[varies]
        n_units, n_columns = Z.shape
        if self._is_class and n_units < 8 * n_columns:
            covariates = f"is {n_columns} covariate" if n_columns == 1 else f"are {n_columns} covariates"
            self.weaknesses.append(
                f"there {covariates} for {n_units} {self._word}s, so that p-values are too small: give at most one for "
                f"8 {self._word}s"
            )
        if self._is_class:
            self._fit_classes(Z)
        else:
            self._fit_numbers(Z)

    def _fit_classes(self, Z: Floats) -> None:
        """Set the logits of the classes of each unit, by a logistic regression with little shrinkage."""
        n_classes = len(self._kinds)
        # The regression is on pairs of units of one pool with different labels. It models the odds that the two labels
        # are this way round, in which effects of the pool cancel, so that pools may be as small as pairs.
        i, j = self._discordant_pairs()
        labels = np.eye(n_classes)[self._codes]
        terms = ((labels[i] - labels[j])[:, :, None] * (Z[i] - Z[j])[:, None, :]).reshape(len(i), -1)
        sizes = np.diff(self._bounds)[self._pools[i]]
        weights = 1 / np.minimum(sizes - 1, 2 * _N_PARTNERS)
        coefficients = fit_logistic(terms, 2e4 * weights)
        logits = Z @ coefficients.reshape(n_classes, -1).T
        # Find the most likely swap of two labels, from the best unit of each label for each other label.
        gains = logits - logits[np.arange(len(Z)), self._codes][:, None]
        best = np.full((len(self._bounds) - 1, n_classes, n_classes), -np.inf)
        np.maximum.at(best, (self._pools, self._codes), gains)
        swaps = best + best.transpose(0, 2, 1)
        swaps[:, np.arange(n_classes), np.arange(n_classes)] = -np.inf
        if swaps.max() < 0:
            raise ValueError(
                "covariates must not determine the labels, or no other labeling keeps their relation: leave out the "
                "covariates that separate the classes"
            )
        self._logits = logits

    def _discordant_pairs(self) -> tuple[Integers, Integers]:
        """Return pairs of units of one pool with different labels: all pairs, or some partners of each unit in large
        pools.
        """
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
        """Split numbers into a fit to the covariates and the pools, which stays, and residuals, which move."""
        y = self._kinds[self._codes]
        centred = np.column_stack([y, Z])
        sizes = np.diff(self._bounds)[:, None]
        means = np.add.reduceat(centred, self._bounds[:-1], axis=0) / sizes
        centred = centred - means[self._pools]
        slope = np.linalg.lstsq(centred[:, 1:], centred[:, 0], rcond=None)[0]
        residuals = centred[:, 0] - centred[:, 1:] @ slope
        if np.abs(residuals).max() <= _RESIDUE * np.abs(y - y.mean()).max():
            raise ValueError(
                "covariates must not determine the numbers of y, or no other labeling keeps their relation: give fewer "
                "covariates"
            )
        self._fitted = y - residuals
        self._kinds, self._codes = np.unique(residuals, return_inverse=True)
        self.n_distinct = self._count_labelings()

    def _swap_labels(self, codes: Integers, rng: np.random.Generator) -> Integers:
        """Return the codes after rounds of swaps between random pairs of each pool."""
        assert self._logits is not None
        sizes = np.diff(self._bounds)
        places = np.arange(len(codes)) - np.repeat(self._bounds[:-1], sizes)
        left = np.flatnonzero((places % 2 == 0) & (places + 1 < np.repeat(sizes, sizes)))
        orders = self._shuffle_pools(rng, _N_ROUNDS)
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


def _distinct_orders(codes: Integers) -> Iterator[Integers]:
    """Yield all distinct orders of some codes, in one array that is overwritten."""
    values, counts = np.unique(codes, return_counts=True)
    most_frequent = int(counts.argmax())
    array = np.full(len(codes), values[most_frequent])
    remaining = [
        (v, k) for i, (v, k) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)) if i != most_frequent
    ]

    def place_values(free: list[int], rest: list[tuple[int, int]]) -> Iterator[Integers]:
        if not rest:
            yield array
            return
        (value, count), *others = rest
        for chosen in itertools.combinations(free, count):
            array[list(chosen)] = value
            taken = set(chosen)
            yield from place_values([i for i in free if i not in taken] if others else [], others)
            array[list(chosen)] = values[most_frequent]

    return place_values(list(range(len(codes))), remaining)


def fit_logistic(terms: Floats, weights: Floats) -> Floats:
    """Return the minimum of the sum of weights log(1 + exp(-terms theta)), plus theta^2 / 2, by SciPy."""

    def cost(theta: Floats) -> float:
        return float(weights @ np.logaddexp(0, -terms @ theta) + theta @ theta / 2)

    def gradient(theta: Floats) -> Floats:
        return theta - terms.T @ (weights * expit(-terms @ theta))

    def hessian(theta: Floats) -> Floats:
        p = expit(terms @ theta)
        return np.eye(len(theta)) + terms.T @ (terms * (weights * p * (1 - p))[:, None])

    theta = np.zeros(terms.shape[1])
    theta = minimize(cost, theta, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-4}).x
    for _ in range(3):  # Newton's steps double the digits
        theta = theta - np.linalg.solve(hessian(theta), gradient(theta))
    return theta
