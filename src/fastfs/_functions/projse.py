"""ProjSe: select few features that together explain a target, by projections between variables.

Arrays in, arrays out, without scikit-learn; the estimator is :class:`fastfs.ProjSe`.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Call, Needs, option_class, option_field, takes
from fastfs._functions.options import Options as _Options
from fastfs._functions.outcome import Outcome
from fastfs._inputs.entry import entry
from fastfs._inputs.given import Given
from fastfs._inputs.matrix import as_floats, as_matrix, column_names
from fastfs._inputs.source import BLOCK_BYTES, Source, as_stream, choose_part
from fastfs._inputs.storage import by_rows, dense_blocks, refuse_sparse, take_columns
from fastfs._inputs.streams import Passes, TargetRows, dask_blocks, merge_pairwise
from fastfs._inputs.targets import Reader, Target, as_columns, as_target, read_chunk, read_target
from fastfs._inputs.values import for_core
from fastfs._machine.errors import in_rows, last_warnings
from fastfs._machine.params import (
    as_bool,
    as_float,
    as_int,
    check_choice,
    count_selected,
    is_auto,
    kernel_address,
    rank_features,
    word_or_none,
)
from fastfs._machine.results import RankedResult, result_class
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Floats, Integers


def _as_kernel(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return check_choice(name, value, ("linear", "poly", "rbf"), "a C function")
    kernel_address(value)  # raises TypeError unless value is a C function
    return value


def _as_sigma(name: str, value: Any) -> str | float:
    if isinstance(value, str):
        return check_choice(name, value, ("mean", "sqrt_m"), "a positive number")
    return as_float(name, value)


def _as_center(name: str, value: Any) -> bool | str:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return check_choice(name, value, ("auto",), "True", "False")


@option_class
class ProjSeFields:
    """Options of ProjSe, as the estimator and the functions take them."""

    kernel: Any = option_field(_as_kernel, default="linear")
    degree: int = option_field(as_int, needs=Needs("kernel", ("poly",)), default=3)
    sigma: str | float = option_field(_as_sigma, needs=Needs("kernel", ("rbf",), or_other=True), default="mean")
    center: bool | str = option_field(_as_center, default="auto")
    normalize: bool = option_field(as_bool, default=True)
    eps: float = option_field(as_float, default=1e-6)
    beyond: str | None = option_field(word_or_none("residual"), default=None)
    given: Any = option_field(lambda name, value: value, default=None)


@dataclass(kw_only=True)
class ProjSeOptions(ProjSeFields, _Options):
    """Options of ProjSe."""

    @property
    def is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def views(self) -> str:
        """The views that sums over the rows must have for this choice."""
        return "one" if self.beyond == "none" else "two"

    @property
    def has_sigma(self) -> bool:
        return not isinstance(self.kernel, str) or self.kernel == "rbf"

    def core_options(self) -> dict[str, Any]:
        """Return the options under the names of the core, without `given`; a custom kernel becomes the address of its
        function.
        """
        core_options = super().core_options()
        del core_options["given"]
        if not isinstance(self.kernel, str):
            core_options |= {"kernel": "linear", "custom": kernel_address(self.kernel)}
        if not isinstance(self.sigma, str):
            core_options["sigma_rule"] = "given"
        else:
            core_options |= {"sigma_rule": self.sigma, "sigma": 0.0}
        if isinstance(self.center, bool):
            core_options["center"] = "yes" if self.center else "no"
        return core_options

    def choice(self, n_select: int, given: Given | None, classes: Array | None) -> dict[str, Any]:
        """Return the options of a choice; labels that come as columns of numbers, next to given ones, are centred."""
        options = self.core_options() | {"n_select": n_select}
        if given is not None:
            options["n_given"] = given.n
            if classes is not None and options["center"] == "auto":
                options["center"] = "yes"
        return options


@result_class
class ProjSeResult(RankedResult):
    """Result of :func:`fastfs.projse`.

    Parameters
    ----------
    scores, ranking, selected, selection_scores, gaps, captured, explained, kernel_rank, sigma, center
        As the attributes of :class:`fastfs.ProjSe`; `center` is False for kernels that were given.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> result = fastfs.projse(X, X[:, [1]])
    >>> result.selected.tolist(), result.scores.round(3).tolist(), result.kernel_rank
    ([1], [0.0, 1.0], 1)
    """

    scores: Floats
    ranking: Integers
    selected: Integers
    selection_scores: Floats
    gaps: Floats
    captured: Floats
    explained: Floats | None
    kernel_rank: int | None
    sigma: float | None
    center: bool

    _columns: ClassVar = {"rank": "ranking", "score": "scores"}

    def _table(self) -> dict[str, Any]:
        return {**super()._table(), "selected": np.isin(np.arange(len(self.scores)), self.selected)}


@option_class
class _Scores(ProjSeFields, Call):
    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False, default=None)


@option_class
class _Choice(_Scores):
    n_features_to_select: int | float | None = None


@option_class
class _TwoViews(ProjSeFields, Call):
    X: Any = field(kw_only=False)
    Y: Any = field(kw_only=False)
    n_features_to_select: int | float | None = None


@takes(_Choice)
def projse(call: _Choice) -> ProjSeResult:
    """Select few features that together explain a target.

    The function behind :class:`fastfs.ProjSe`, which describes the parameters.

    <projse_arguments>

    Returns
    -------
    ProjSeResult

    <projse_raises>

    Examples
    --------
    Two targets; the third feature says nothing that the first two don't.

    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(100, 2))
    >>> X = Y[:, [0, 1, 0]] + [0.1, 0.5, 0.2] * rng.normal(size=(100, 3))
    >>> result = fastfs.projse(X, Y, center=True)
    >>> result.selected.tolist(), result.scores.round(2).tolist()
    ([0, 1], [0.99, 0.78, 0.95])
    """
    options = ProjSeOptions.from_arguments(call)
    return fit_projse(call.X, call.y, call.n_features_to_select, options, call.make_run())[0].warn_and_return()


@takes(_Scores)
def projse_scores(call: _Scores) -> Floats:
    """Score how much of each feature a target explains.

    Each feature is scored by itself: two copies of one feature have the same score. :func:`fastfs.projse` also chooses
    features that don't repeat each other.

    <projse_arguments>

    Returns
    -------
    ndarray of shape (n_features,)
        The `scores` of :class:`fastfs.ProjSeResult`.

    <projse_raises>

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> fastfs.projse_scores(X, X[:, [1]]).round(3).tolist()
    [0.0, 1.0]
    """
    options = ProjSeOptions.from_arguments(call)
    return fit_projse(call.X, call.y, 1, options, call.make_run(), scores_only=True)[0].warn_and_return().scores


@takes(_TwoViews)
def projse_two_view(call: _TwoViews) -> tuple[ProjSeResult, ProjSeResult]:
    """Select features of X that explain Y, and of Y that explain X, from one pass over the rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a stream of its rows
    Y : array-like of shape (n_samples, n_outputs), or a stream of its rows
    other parameters
        As for :class:`fastfs.ProjSe`, for each view; an `n_features_to_select` above the width of the narrower view is
        its width there.
    <machine>

    Returns
    -------
    tuple of two ProjSeResult
        Results for X and for Y.

    <projse_raises>

    Notes
    -----
    O(n_samples (n_features + n_outputs)^2) time, 8 (n_features + n_outputs)^2 bytes; where either view has more columns
    than rows (linear kernel), both orders are computed one after the other without a square of that size.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    >>> Y[:, 2] = X[:, 1] + 0.1 * Y[:, 2]
    >>> of_x, of_y = fastfs.projse_two_view(X, Y, n_features_to_select=1)
    >>> of_x.selected.tolist(), of_y.selected.tolist()
    ([1], [2])
    """
    options, run = ProjSeOptions.from_arguments(call), call.make_run()
    X, Y, n_features_to_select = call.X, call.Y, call.n_features_to_select
    if Y is None:
        raise ValueError("Y must be a table, the second view; got None")
    for name, view in (("X", X), ("Y", Y)):
        refuse_sparse(view, f"{name} must be dense for two views: give {name}.toarray()")

    def n_of_each_view(n_x: int, n_y: int) -> tuple[int | float | None, int | float | None]:
        n_to_select(n_features_to_select, max(n_x, n_y))
        if n_features_to_select is None or isinstance(n_features_to_select, float | np.floating):
            return n_features_to_select, n_features_to_select
        return min(n_features_to_select, n_x), min(n_features_to_select, n_y)

    in_memory = as_stream(X) is None and as_stream(Y) is None
    if in_memory:
        X, Y = as_matrix(X, run), as_columns(as_target(Y, "Y"), run, "Y")
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X and Y must have the same rows; got {X.shape[0]} in X and {Y.shape[0]} in Y")
        if options.is_linear and X.shape[0] < max(X.shape[1], Y.shape[1]) and options.given is None:
            n_x, n_y = n_of_each_view(X.shape[1], Y.shape[1])
            of_x, of_y = fit_table(X, Y, n_x, options, run)[0], fit_table(Y, X, n_y, options, run)[0]
            return of_x.warn_and_return(), of_y.warn_and_return()
    names = column_names(X)
    sums, _, given = collect_sums(X, Y, run, views="two", given=options.given, names_of_X=lambda: names)
    n_x, n_y = n_of_each_view(sums.n_cols, sums.n_y - (0 if given is None else given.n))
    of_x = select_from_sums(sums, n_x, options, run, given=given)
    of_y = select_from_sums(sums, n_y, options, run, given=given, from_y=True)
    if in_memory and given is None:
        of_x, of_y = _settle(of_x, X, Y, options, run), _settle(of_y, Y, X, options, run)
    return of_x.warn_and_return(), of_y.warn_and_return()


def _settle(
    outcome: Outcome[ProjSeResult], view: Any, target: Any, options: ProjSeOptions, run: Run
) -> Outcome[ProjSeResult]:
    """Return the outcome, with the warning that sums can't tell how the target's columns depend replaced.

    What the values say of the columns takes its place: another warning, or none.
    """
    if not outcome.warnings_of("perhaps_dependent"):
        return outcome
    by_values, _ = fit_table(take_columns(view, outcome.result.selected[:1]), target, 1, options, run)
    told = [*by_values.warnings_of("nearly_dependent"), *by_values.warnings_of("perhaps_dependent")]
    return outcome.replace_warnings("perhaps_dependent", told)


@entry
def projse_from_kernels(
    K_YY: npt.ArrayLike,
    K_YX: npt.ArrayLike,
    K_XX: npt.ArrayLike,
    *,
    n_features_to_select: int | float | None = None,
    normalize: bool = True,
    eps: float = 1e-6,
    n_threads: int = 0,
    max_memory: int | str | None = None,
) -> ProjSeResult:
    """Select features by custom kernels between variables.

    Parameters
    ----------
    K_YY : array-like of shape (n_outputs, n_outputs)
        Between the targets; symmetric and positive semidefinite.
    K_YX : array-like of shape (n_outputs, n_features)
        Between targets and features.
    K_XX : array-like of shape (n_features,)
        Kernel of each feature with itself; a feature with 0 is never selected.
    n_features_to_select, normalize, eps, max_memory
        As for :class:`fastfs.ProjSe`.
    n_threads : int
        As for :func:`fastfs.affinity`.

    Returns
    -------
    ProjSeResult

    Raises
    ------
    ValueError
        The shapes don't fit, K_YY isn't symmetric within 1e-8, or a diagonal isn't finite and non-negative.
    MemoryError
        As for :class:`fastfs.ProjSe`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    >>> result = fastfs.projse_from_kernels(Y.T @ Y, Y.T @ X, (X**2).sum(axis=0))
    >>> bool(np.all(result.selected == fastfs.projse(X, Y).selected))
    True
    """
    options = ProjSeOptions(center=False, normalize=normalize, eps=eps)
    arrays = [
        for_core(as_floats(np.asarray(K), name), dtype=np.float64)
        for K, name in ((K_YY, "K_YY"), (K_YX, "K_YX"), (K_XX, "K_XX"))
    ]
    if arrays[1].ndim != 2 or arrays[0].shape != (len(arrays[1]),) * 2 or arrays[2].shape != arrays[1].shape[1:]:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ValueError(
            "K_YY, K_YX and K_XX must have the shapes (n_outputs, n_outputs), (n_outputs, n_features) and "
            f"(n_features,); got {shapes}"
        )
    run = Run(n_threads, max_memory)
    n = n_to_select(n_features_to_select, arrays[1].shape[1])
    core_result = load_core().projse_kernels(*arrays, options.choice(n, None, None), run)
    return _make_outcome(core_result, n_features_to_select, options).warn_and_return()


# ------------------------------------------------------------------------------------------- fits to data and to sums


def n_to_select(n_features_to_select: int | float | None, n_features: int) -> int:
    """Return the number of features to select, at most 10 if None; raise ValueError for 'auto', which needs a test."""
    if n_features_to_select is None:
        return min(10, n_features)
    if is_auto(n_features_to_select):
        raise ValueError(
            "n_features_to_select must be a number or None; got 'auto', which needs a permutation test: use the "
            "estimator fastfs.ProjSe, or give a number"
        )
    return count_selected(n_features_to_select, n_features)


def fit_projse(
    X: Any,
    y: Any,
    n_features_to_select: int | float | None,
    options: ProjSeOptions,
    run: Run,
    *,
    scores_only: bool = False,
) -> tuple[Outcome[ProjSeResult], Array | None]:
    """Return the outcome of a fit to a table or a stream, and the classes if y holds labels."""
    source = as_stream(X)
    if source is None:
        return fit_table(X, y, n_features_to_select, options, run, scores_only=scores_only)
    return fit_stream(source, y, n_features_to_select, options, run, scores_only=scores_only)


def fit_stream(
    source: Source,
    y: Any,
    n_features_to_select: int | float | None,
    options: ProjSeOptions,
    run: Run,
    *,
    check: Callable[[Any], Any] | None = None,
    names_of_X: Callable[[], Any] = lambda: None,
    scores_only: bool = False,
) -> tuple[Outcome[ProjSeResult], Array | None]:
    """Return the outcome of a fit to a stream, and the classes if y holds labels.

    `check` sees its first block, and then `names_of_X` knows the names.
    """
    sums, classes, given = collect_sums(
        source, y, run, views=options.views, check=check, given=options.given, names_of_X=names_of_X
    )
    outcome = select_from_sums(
        sums, n_features_to_select, options, run, scores_only=scores_only, given=given, labels=classes
    )
    return outcome, classes


def fit_table(
    X: Any,
    y: Any,
    n_features_to_select: int | float | None,
    options: ProjSeOptions,
    run: Run,
    *,
    names: Any = None,
    scores_only: bool = False,
) -> tuple[Outcome[ProjSeResult], Array | None]:
    """Return the outcome of a fit to a table in memory, and the classes, if y holds labels.

    Given columns or values are appended to the target. names: the column names, if X doesn't have them. scores_only:
    without the warnings of the choice.
    """
    names = column_names(X) if names is None else names
    X = as_matrix(X, run)
    target = values = read_target(y, X.shape, run)
    n = n_to_select(n_features_to_select, X.shape[1])
    given = Given.read(options.given, X.shape[1], names, run)
    if given is not None:
        given.check_rows(X.shape[0])
        values = given.append_to(target, 0, X)
    core_result = load_core().projse(
        X, values.numbers, values.labels, values.n_columns, options.choice(n, given, target.classes), run
    )
    return _make_outcome(core_result, n_features_to_select, options, scores_only), target.classes


def collect_sums(
    X: Any,
    y: Any,
    run: Run,
    *,
    views: str = "one",
    whole: Reader = read_target,
    chunk: Reader = read_chunk,
    check: Callable[[Any], Any] | None = None,
    names: Any = None,
    given: Any = None,
    names_of_X: Callable[[], Any] = lambda: None,
) -> tuple[Any, Array | None, Given | None]:
    """Sum over the rows of X and y, which can be streams; return the sums, the classes (None: numbers) and the given
    columns.

    `whole` and `chunk` are as for `TargetRows`, `names` and `check` as `names` and `see` of `Passes`. `names_of_X` is
    called when the first block has been read. Given columns are appended to y; without y, X explains itself beyond
    them. A Dask array is summed on its workers.
    """
    source = Source.from_data(X)
    if given is not None and y is None:
        views = "two"  # given columns are the only ones of Y, and X is chosen by its own products
    if source.dask is not None:
        found = Given.read(given, int(source.dask.shape[1]), None, run)
        return *_sum_on_workers(source, y, run, views, whole, found), found
    passes = Passes(source, run, names=names, see=check)
    targets = TargetRows(y, passes.source, run, whole, chunk)
    sums = classes = found = None

    def add_rows(first: int, rows: Any, block_run: Run) -> None:
        """Add a block of rows and its targets to `sums`, which the first block makes."""
        nonlocal sums, classes, found
        target = targets.read_rows(first, rows)
        if sums is None:
            classes = target.classes
            found = Given.read(given, rows.shape[1], names_of_X(), run)
        if found is not None:
            target = found.append_to(target, first, rows)
        if sums is None:
            sums = load_core().ProjseStream(target.n_columns, rows.shape[1], views, run)
        update_sums(sums, rows, target, views, block_run)

    n_rows = passes.run_pass(add_rows)
    targets.check_end(n_rows)
    if found is not None:
        found.check_rows(n_rows)
    return sums, classes, found


def _sum_on_workers(
    source: Source, y: Any, run: Run, views: str, read: Reader, given: Given | None
) -> tuple[Any, Array | None]:
    """Return sums over a Dask array, computed on its workers, merged pairwise, and the classes, if y has labels."""
    from dask.delayed import delayed

    blocks, classes = dask_blocks(source, y, run, read)
    part, merge = delayed(_sum_block, pure=False), delayed(_merge_sums, pure=False)
    return merge_pairwise([part(*block, views, run.budget, given) for block in blocks], merge), classes


def _sum_block(first: int, X: Any, target: Target, views: str, budget: int, given: Given | None) -> Any:
    """Return the sums over one block of a Dask array, computed on a worker.

    Given columns are appended to the target.
    """
    run = Run(1, budget or None)  # Dask runs one task per block, so each takes one thread
    with in_rows(range(first, first + X.shape[0])):
        X = as_matrix(X, run)
        if target.numbers is not None:  # numbers that another machine sent aren't aligned as the core needs them
            target = Target(numbers=as_columns(as_target(target.numbers), run))
        if given is not None:
            target = given.append_to(target, first, X)
        sums = load_core().ProjseStream(target.n_columns, X.shape[1], views, run)
        if X.shape[0]:
            labels = None if target.labels is None else for_core(target.labels)
            update_sums(sums, X, replace(target, labels=labels), views, run)
    return sums


def update_sums(sums: Any, X: Any, target: Target, views: str, run: Run) -> None:
    """Add rows to sums; sparse ones as arrays, block by block, if the sums have products of all columns of X."""
    if views == "one" and target.n_columns:
        sums.update(X, target.numbers, target.labels, run)
        return
    added = sums
    for begin, rows in dense_blocks(X, min(BLOCK_BYTES, max(1 << 20, run.available() // 16))):
        end = begin + rows.shape[0]
        if added is sums and end < X.shape[0]:  # apart, so that all rows are added or none
            added = load_core().ProjseStream(target.n_columns, X.shape[1], views, run)
        part = target.slice_rows(begin, end)
        with in_rows(range(begin, end)):
            added.update(rows, part.numbers, part.labels, run)
    if added is not sums:
        sums.merge(added)


def _merge_sums(a: Any, b: Any) -> Any:
    sums = copy.copy(a)  # Dask may hand the same object to another task
    sums.merge(b)
    return sums


class GroupSums:
    """Sums over each group of the rows of a stream, read in one pass, which serve any comparison of these groups.

    `groups` holds the group (0-based) of each row that is read. `rows` and `columns` are as for `Passes`.
    """

    def __init__(
        self,
        X: Any,
        groups: Integers,
        n_groups: int,
        run: Run,
        *,
        rows: Integers | None = None,
        columns: Integers | None = None,
    ) -> None:
        """Sum the rows of X by group, in one pass, on the workers of Dask if X is its array.

        Raise ValueError if X and `groups` have different numbers of rows.
        """
        self._sums: Any = None  # made when the number of columns is known
        source = Source.from_data(X)
        if source.dask is not None:
            self._sums = _sum_groups_on_workers(source, groups, n_groups, run, rows, columns)
        else:

            def add_block(first: int, block: Any, block_run: Run) -> None:
                end = first + block.shape[0]
                if end > len(groups):
                    raise ValueError(f"X and y must have the same rows; got {len(groups)} in y and more in X")
                if self._sums is None:
                    self._sums = load_core().ProjseStream(n_groups, block.shape[1], "groups", run)
                _add_to_groups(self._sums, block, groups[first:end], block_run)

            n = Passes(source, run, rows=rows, columns=columns).run_pass(add_block)
            if n != len(groups):
                raise ValueError(f"X and y must have the same rows; got {n} in X and {len(groups)} in y")

    @property
    def means(self) -> Floats:
        """Means of the features in each group."""
        group_means: Floats = self._sums.means
        return group_means

    def select_features(
        self, labels: Integers, n_features_to_select: int | float | None, options: ProjSeOptions, run: Run
    ) -> Outcome[ProjSeResult]:
        """Select features that explain these labels of the groups, from 0; a group with -1 stays out."""
        return select_from_sums(self._sums, n_features_to_select, options, run, classes=for_core(labels, np.int64))


def _add_to_groups(sums: Any, block: Any, groups: Integers, run: Run) -> None:
    """Add each row of a block to the sums of its group."""
    sums.update(by_rows(block), None, for_core(groups, np.int64), run)


def _sum_groups_on_workers(
    source: Source, groups: Integers, n_groups: int, run: Run, rows: Integers | None, columns: Integers | None
) -> Any:
    """Return sums over the groups of rows of a Dask array, computed on its workers and merged pairwise."""
    from dask.delayed import delayed

    part, merge = delayed(_sum_groups_of_block, pure=False), delayed(_merge_sums, pure=False)
    parts = [
        part(first, block, which, groups[places], n_groups, columns, run.budget)
        for first, block, which, places in source.delayed_blocks(rows)
    ]
    return merge_pairwise(parts, merge)


def _sum_groups_of_block(
    first: int, X: Any, rows: range | Integers, groups: Integers, n_groups: int, columns: Integers | None, budget: int
) -> Any:
    """Return the sums over each group in one block of a Dask array, computed on a worker."""
    run = Run(1, budget or None)
    block = choose_part(X, rows, columns)
    sums = load_core().ProjseStream(n_groups, block.shape[1], "groups", run)
    if len(rows):
        with in_rows(first + np.asarray(rows)):
            _add_to_groups(sums, as_matrix(block, run), groups, run)
    return sums


def select_from_sums(
    sums: Any,
    n_features_to_select: int | float | None,
    options: ProjSeOptions,
    run: Run,
    *,
    from_y: bool = False,
    scores_only: bool = False,
    classes: Integers | None = None,
    given: Given | None = None,
    labels: Array | None = None,
) -> Outcome[ProjSeResult]:
    """Select features of X, or of Y with `from_y`, from sums over the rows.

    `classes` has the class of each group. With given columns, `labels` are the classes of the target, if it has any. If
    these depend on each other exactly, the warning that the target's columns may is left out.
    """
    n_y = sums.n_y - (0 if given is None else given.n)
    n = n_to_select(n_features_to_select, n_y if from_y else sums.n_cols)
    load_core()  # registers a BLAS, which unpickled sums don't bring with them
    core_result = sums.finish(options.choice(n, given, labels) | {"from_y": from_y}, run, classes)
    outcome = _make_outcome(core_result, n_features_to_select, options, scores_only)
    if labels is None or core_result["rank"] < len(labels) - 1:
        return outcome
    # The columns of labels depend on each other exactly, which sums with given columns can't tell.
    return outcome.replace_warnings("perhaps_dependent")


def _make_outcome(
    core_result: dict[str, Any],
    n_features_to_select: int | float | None,
    options: ProjSeOptions,
    scores_only: bool = False,
) -> Outcome[ProjSeResult]:
    """Turn the core's result into a ProjSeResult, with a ranking of all features, and its warnings.

    With `scores_only` the warnings of the choice are left out; with `n_features_to_select` None that of few features.
    """
    scores, selected = core_result["scores"], core_result["selected"]
    ranking = rank_features(scores, last=selected) + len(selected)
    ranking[selected] = np.arange(1, len(selected) + 1)
    same = ("scores", "selected", "selection_scores", "gaps", "captured", "explained", "center")
    result = ProjSeResult(
        **{name: core_result[name] for name in same},
        ranking=ranking,
        kernel_rank=None if core_result["rank"] < 0 else core_result["rank"],
        sigma=core_result["sigma"] if options.has_sigma else None,
    )
    left_out = {"few_selected", "tie"} if scores_only else {"few_selected"} if n_features_to_select is None else ()
    return Outcome(result, last_warnings(without=left_out))
