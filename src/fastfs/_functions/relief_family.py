"""Fits of the RELIEF family: data in memory or in blocks of rows, results and warnings."""

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.margin import MarginStage, algorithm_name
from fastfs._functions.outcome import Outcome
from fastfs._functions.relief_options import FamilyOptions, ReliefFOptions, ReliefOptions, SURFOptions, TableOptions
from fastfs._inputs.given import Given, is_table
from fastfs._inputs.matrix import as_matrix, column_names, load_stream, made_dense, require_table
from fastfs._inputs.response import Response
from fastfs._inputs.source import Source, as_stream
from fastfs._inputs.storage import by_rows, refuse_sparse, take_rows
from fastfs._inputs.streams import Passes, sample_rows, sum_groups
from fastfs._inputs.values import for_core
from fastfs._inputs.workers import PassesOnWorkers
from fastfs._machine.errors import last_warnings, places, renumber
from fastfs._machine.params import as_float, some_of
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Floats, Integers


@dataclass(frozen=True)
class FamilyResult:
    """Result of a fit by any method of the family."""

    scores: npt.NDArray[np.float64]
    scores_se: npt.NDArray[np.float64] | None
    algorithm: str
    n_passes: int | None = None  # passes over the blocks of X; None if X was in memory
    given: Integers | None = None  # features without a score


@dataclass(frozen=True)
class Samples:
    """Table, target, weights and distances of the samples, in the form of the core.

    Parameters
    ----------
    X : ndarray or sparse matrix
    levels : ndarray of int64, optional
        Levels of categorical features, as in `Table`.
    response : Response
    weights : ndarray, optional
    distances : ndarray, optional
    rows : ndarray of int64, optional
        Rows of the original table that are left, if samples of weight 0 were dropped.
    scaling : str
        Scaling of X.
    n_features : int
        Columns of the caller's X. Those behind them are a table of given columns.
    given : ndarray of int64
        Columns that count in distances and get no score.
    """

    X: Any
    levels: npt.NDArray[np.int64] | None
    response: Response
    weights: npt.NDArray[np.float64] | None
    distances: npt.NDArray[np.float64] | None
    rows: npt.NDArray[np.int64] | None
    scaling: str
    n_features: int
    given: Integers

    def make_stage(self, options: FamilyOptions, run: Run, keep: str = "none") -> MarginStage:
        """Return the label-free stage of these samples, which keeps distances if asked to; given columns count in its
        distances.
        """
        sample_options = {"levels": self.levels, "distances": self.distances, "sample_weights": self.weights}
        stage_options = options.stage_options() | sample_options | {"scaling": self.scaling}
        stage = MarginStage(self.X, stage_options, run, keep, with_blas=False)
        if len(self.given):
            with in_words_of_the_caller(self, options):
                self.use_columns(stage, np.arange(self.n_features), None, options)
        return stage

    def use_columns(
        self, stage: MarginStage, columns: Integers, weights: Floats | None, options: FamilyOptions
    ) -> None:
        """Restrict a stage to some features and the given columns, which weigh as much together as these features.

        A weight per feature multiplies its differences in distances. A given column weighs 1 at least.
        """
        if len(self.given):
            of_all = np.zeros(self.X.shape[1])
            of_all[columns] = 1.0 if weights is None else weights
            of_all[self.given] = 0
            share = max(1.0, of_all.sum() / len(self.given))
            of_all[self.given] = np.sqrt(share) if isinstance(options, ReliefOptions) else share  # of squares, or not
            columns = np.union1d(columns, self.given)
            weights = of_all[columns]
        stage.core_margin.use(columns, weights, stage.run)


def read_samples(
    X: Any,
    y: Any,
    sample_weight: Any,
    distances: Any,
    options: FamilyOptions,
    run: Run,
    check: Callable[[Any, Any], Any] = lambda X, values: values,
) -> Samples:
    """Read the data of a fit: all samples, or `n_rows` drawn ones, without samples of weight 0; given columns join X.

    ``check(X, values)`` returns the values, or raises an error. Raise TypeError for an iterator without `n_rows`, and
    ValueError if `n_rows` comes with weights, distances or a table of given columns, or `given` with distances.
    """
    if hasattr(X, "__next__") and not (isinstance(options, SURFOptions) and options.n_rows):
        raise TypeError(
            "X must be one array, since this method compares all pairs of samples; got an iterator of row chunks: "
            "stack them"
        )
    n_rows = options.n_rows if isinstance(options, SURFOptions) else 0
    if n_rows:
        has_table = options.given is not None and is_table(options.given)
        if sample_weight is not None or distances is not None or has_table:
            raise ValueError(
                "n_rows must be left out with sample_weight, distances or a table in `given`, because samples of these "
                "can't be drawn"
            )
        X, y, rows = sample_rows(X, y, n_rows, options.random_state, run)
    else:
        X, rows = load_stream(X, run, advice=options.advice_for_streams), None
    require_table(X)
    n_samples, n_features = (X if hasattr(X, "shape") else np.asarray(X)).shape
    if options.given is not None and distances is not None:
        raise ValueError("distances must be left out with given, which counts in the distances of X")
    given = Given.read(options.given, n_features, column_names(X), run)
    if given is not None:
        given.check_rows(n_samples)
    weights = None if sample_weight is None else as_weights(sample_weight, n_samples)
    distances = None if distances is None else as_distances(distances, n_samples, run)
    if weights is not None and not weights.all():
        rows = np.flatnonzero(weights)
        X, y, weights = take_rows(X, rows), take_rows(y, rows), weights[rows]
        distances = None if distances is None else distances[np.ix_(rows, rows)]
        given = None if given is None else given.take_rows(rows)
    table = options.make_table(X, run)
    values = options.values_for_core(check(X, table.values), run)
    response = options.as_response(y, *values.shape)
    levels, columns = table.levels, np.empty(0, np.int64)
    scaling = options.scaling_of(X)
    if given is not None:
        values = given.add_to_features(values, run)
        columns = np.arange(n_features, values.shape[1]) if given.columns is None else given.columns
        levels = None if levels is None else np.pad(levels, (0, values.shape[1] - n_features))
    return Samples(values, levels, response, weights, distances, rows, scaling, n_features, columns)


def as_weights(sample_weight: Any, n_samples: int) -> npt.NDArray[np.float64]:
    """Return the weights of the samples as float64.

    Raise TypeError unless they are real numbers, and ValueError for another shape, or if all are 0.
    """
    array = np.asarray(sample_weight)
    if array.dtype.kind == "c":
        raise TypeError("sample_weight must hold real numbers; got complex ones")
    if array.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_samples} samples of X; got the shape {array.shape}"
        )
    try:
        weights = for_core(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"sample_weight must hold numbers; got {array.dtype}") from None
    if not weights.any():
        raise ValueError("sample_weight must be above zero for some samples; got zero for all")
    return weights


def as_distances(distances: Any, n_samples: int, run: Run) -> npt.NDArray[np.float64]:
    """Return distances between all samples as float64; raise ValueError for sparse ones or another shape.

    The core checks their values.
    """
    matrix = as_matrix(distances, run, "distances")
    refuse_sparse(
        matrix, "distances must be dense, known between all samples; got sparse ones: give distances.toarray()"
    )
    if matrix.shape != (n_samples, n_samples):
        raise ValueError(
            f"distances must have shape ({n_samples}, {n_samples}), a row and a column for each sample of X; got "
            f"{matrix.shape}"
        )
    return for_core(matrix, dtype=np.float64)


def fit_relief(
    stage: MarginStage, samples: Samples, response: Response, options: FamilyOptions
) -> Outcome[FamilyResult]:
    """Score the features; `response` is the target of the samples, or a permutation of it.

    Given columns score 0, and scores of the closed form have norm 1 without them.
    """
    core_options = options.core_options() | response.core_arguments()
    if isinstance(options, ReliefFOptions) and options.priors is not None:
        core_options["priors"] = class_priors(options.priors, response.classes)
    with in_words_of_the_caller(samples, options):
        core_result = stage.core_margin.relief(response.labels, response.n_classes, core_options, stage.run)
    n, errors = samples.n_features, core_result["scores_se"]
    given = samples.given[samples.given < n]
    scores, errors = core_result["scores"][:n], None if errors is None else errors[:n]
    if len(samples.given):
        scores[given] = 0
        if errors is not None:
            errors[given] = 0
        if isinstance(options, ReliefOptions) and options.closed_form and scores.any():
            scores /= np.linalg.norm(scores)
    result = FamilyResult(scores, errors, algorithm_name(core_result), given=given)
    return Outcome(result, _warnings(response))


def _warnings(response: Response) -> list[Warning]:
    """Return the warnings of the last call, with the classes of its target."""
    classes = response.classes
    return last_warnings({} if classes is None else {"class": lambda c: f"class {classes[c]}"})


def source_for_blocks(X: Any, options: FamilyOptions, run: Run) -> Source | None:
    """Return X as a source if it must be read in blocks: `n_targets` was given, and X isn't known to fit in memory."""
    source = as_stream(X) if options.IN_BLOCKS and options.n_targets else None
    return None if source is None or source.is_packed or _fits_in_memory(source, options, run) else source


def _fits_in_memory(source: Source, options: FamilyOptions, run: Run) -> bool:
    """Return True if X, in the form that the method needs, is known to fit in a quarter of the budget.

    A stream of unknown size doesn't.
    """
    n, d = source.shape
    if source.n_bytes is None or n is None or d is None:
        return False
    makes_dense = source.is_sparse and isinstance(options, ReliefOptions)
    n_bytes = n * d * source.dtype.itemsize if makes_dense else source.n_bytes
    return bool(n_bytes <= run.available() // 4)


class StreamedTargets:
    """Targets drawn from the rows of a source, and their nearest neighbours among all rows, found in two passes.

    `rows` (ascending) and `columns` select the part to read. `see` gets the first block before it is converted, except
    of a Dask array. With `with_sums`, `sums` has the sum of the rows of each class.
    """

    N_PASSES = 2

    def __init__(
        self,
        source: Source,
        labels: Integers,
        n_classes: int,
        options: FamilyOptions,
        run: Run,
        *,
        priors: Array | None = None,
        rows: Integers | None = None,
        columns: Integers | None = None,
        see: Callable[[Any], Any] | None = None,
        with_sums: bool = False,
    ) -> None:
        """Draw the targets, and find their neighbours in two passes; with_sums: set `sums` of X by label, too.

        Blocks of a Dask array are read on its workers. Raise ValueError for options that need X in memory: categories,
        missing values, a ramp or given columns.
        """
        for name, plain in (("categorical_features", None), ("missing", "error"), ("ramp", "none"), ("given", None)):
            value = getattr(options, name, plain)
            if value is not plain and (plain is None or value != plain):
                raise ValueError(
                    f"{name} must be left out if X is {source.kind} that is read in blocks: leave it out, or raise "
                    "max_memory, so that X is loaded"
                )
        self._run = run
        self._core: Any = None  # made when the number of columns is known
        self._makes_dense = isinstance(options, ReliefOptions)
        self.sums: Any = 0.0
        core_options = options.core_options() | {"priors": priors}
        scaling = "range" if options.scaling == "auto" else options.scaling

        def start_stream(width: int) -> None:
            self._core = load_core(with_blas=False).ReliefStream(labels, n_classes, width, scaling, core_options, run)

        if source.dask is not None:
            start_stream(source.shape[1] if columns is None else len(columns))  # type: ignore[arg-type]
            prepare = partial(_block_for_core, makes_dense=self._makes_dense)
            on_workers = PassesOnWorkers(source, run, prepare, rows=rows, columns=columns)
            stream: Any = self._core
            self.sums = on_workers.run_pass(stream, labels if with_sums else None, n_classes).sums
            stream.next(run)
            on_workers.run_pass(stream)
            return

        def add_block(first: int, block: Any, block_run: Run) -> None:
            if self._core is None:
                start_stream(block.shape[1])
            self._core.update(_block_for_core(block, block_run, makes_dense=self._makes_dense), first, block_run)

        def add_block_and_sums(first: int, block: Any, block_run: Run) -> None:
            if with_sums:
                self.sums = self.sums + sum_groups(block, labels[first : first + block.shape[0]], n_classes)
            add_block(first, block, block_run)

        passes = Passes(source, run, options.IN_BLOCKS, self.N_PASSES, rows=rows, columns=columns, see=see)
        passes.run_pass(add_block_and_sums)
        made: Any = self._core
        made.next(run)
        passes.run_pass(add_block)

    def score_features(
        self, response: Response, options: FamilyOptions, merged: Integers | None = None
    ) -> Outcome[FamilyResult]:
        """Score the features; `merged` maps each class of the stream to a class of the response."""
        core_result = self._core.finish(np.empty(0, np.int64) if merged is None else merged, self._run)
        result = FamilyResult(core_result["scores"], core_result["scores_se"], "targets", self.N_PASSES)
        return Outcome(result, _warnings(response))


def _block_for_core(block: Any, run: Run, *, makes_dense: bool) -> Any:
    """Return a sparse block as a dense array or as CSR, and a dense one unchanged."""
    return made_dense(block, run) if makes_dense else by_rows(block)


class StreamedGroupTargets:
    """Targets drawn from groups of rows, which serve any comparison of these groups.

    `groups` holds the group (0-based) of each row that is read.
    """

    def __init__(
        self,
        source: Source,
        groups: Integers,
        n_groups: int,
        options: FamilyOptions,
        run: Run,
        rows: Integers | None,
        columns: Integers | None,
    ) -> None:
        """Draw targets from each group, find their neighbours in two passes, and set `means` of X by group."""
        self._groups = groups
        priors = getattr(options, "priors", None)
        self._targets = StreamedTargets(
            source,
            groups,
            n_groups,
            options,
            run,
            priors=None if priors is None else class_priors(priors, np.arange(n_groups)),
            rows=rows,
            columns=columns,
            with_sums=True,
        )
        self.means = self._targets.sums / np.bincount(groups)[:, None]

    def score_features(self, labels: Integers, classes: Array, options: FamilyOptions) -> Outcome[FamilyResult]:
        """Score the features with these labels of the groups, from 0."""
        response = Response("class", labels[self._groups], classes)
        return self._targets.score_features(response, options, for_core(labels, dtype=np.int64))


def fit_relief_in_blocks(
    source: Source,
    y: Any,
    options: FamilyOptions,
    run: Run,
    *,
    others: tuple[Any, ...] = (),
    see: Callable[[Any], Any] | None = None,
) -> tuple[Outcome[FamilyResult], Response]:
    """Return the scores of the features of a source that is read in blocks, and its target.

    others: the sample weights and the distances, which must be None. Raise ValueError if they aren't, or if y isn't an
    array of classes.
    """
    if any(other is not None for other in others):
        raise ValueError(
            f"sample_weight and distances must be left out if X is {source.kind} that is read in blocks: raise "
            "max_memory, so that X is loaded"
        )
    if hasattr(y, "__next__") or (callable(y) and not hasattr(y, "shape")):
        raise ValueError(
            "y must be an array of the labels of all rows if X is read in blocks; got an iterator or a function: "
            "give one array"
        )
    n_known = len(y) if source.shape[0] is None and hasattr(y, "__len__") else source.shape[0]
    response = options.as_response(y, n_known or 0, source.shape[1] or 0)
    if response.labels is None:
        raise ValueError(
            f"y must hold classes if X is {source.kind} that is read in blocks; got numbers or times: raise "
            "max_memory, so that X is loaded, or bin the numbers"
        )
    priors = getattr(options, "priors", None)
    priors = None if priors is None else class_priors(priors, response.classes)
    targets = StreamedTargets(source, response.labels, response.n_classes, options, run, priors=priors, see=see)
    return targets.score_features(response, options), response


def class_priors(priors: str | Mapping[Any, Any], classes: Array | None) -> npt.NDArray[np.float64]:
    """Return the prior of each class, in their order: equal ones for a word, or the values of the mapping.

    Raise ValueError for numbers (`classes` None), or a mapping that doesn't name each class and no other.
    """
    if classes is None:
        raise ValueError("priors must be left out if y holds numbers, since they are shares of classes")
    if isinstance(priors, str):
        return np.full(len(classes), 1 / len(classes))
    known = classes.tolist()
    if set(priors) != set(known):
        wrong = [label for label in priors if label not in known] or [label for label in known if label not in priors]
        raise ValueError(
            f"priors must have a share for each of the classes {some_of([*map(repr, known)])}, and for no others; got "
            f"{some_of([*map(repr, wrong)])} in only one of the two"
        )
    return np.array([as_float("each share of priors", priors[label]) for label in known])


@contextmanager
def in_words_of_the_caller(samples: Samples, options: FamilyOptions) -> Any:
    """Let errors of the core number rows as the caller does, and add advice on missing values."""
    try:
        yield
    except ValueError as error:
        cell = {place.kind: place.number for place in places(error)}
        if {"row", "column"} <= cell.keys() and isinstance(options, TableOptions) and options.missing == "error":
            value = np.asarray(samples.X[[cell["row"]], [cell["column"]]]).item()
            if np.isnan(value):
                error.args = (f"{error}, or choose missing='ignore'",)
        if samples.rows is not None:
            renumber(error, {"row": samples.rows})
        raise
