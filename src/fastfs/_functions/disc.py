"""DiSC: differential vectors over the features of several sets; and the nearest features of each feature."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Needs, Options, RandomCall, option_class, option_field, takes
from fastfs._functions.outcome import Outcome
from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import as_matrix, column_names
from fastfs._inputs.source import Source
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.storage import as_plain_array, by_rows
from fastfs._inputs.streams import LARGE_BLOCK_BYTES, Passes
from fastfs._inputs.values import for_core
from fastfs._inputs.workers import PassesOnWorkers
from fastfs._machine.errors import last_warnings
from fastfs._machine.params import as_count, as_float, as_int, as_seed, named_kernel, one_of, word_or_none
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run, load_core, warn
from fastfs._types import Array, Floats, Integers, Progress

# Largest number of features for graph="dense", which takes 8 p^2 bytes per set.
DENSE_AT_MOST = 20_000

# Above this number of features, graph="knn" first warns that graph="lists" is faster: an exact search takes minutes.
EXACT_AT_MOST = 300_000


def _one_or_sequence(convert: Callable[[str, Any], int]) -> Callable[[str, Any], int | tuple[int, ...]]:
    """Return a converter of one value for all sets, or of a sequence with one value per set."""

    def convert_one_or_each(name: str, value: Any) -> int | tuple[int, ...]:
        if isinstance(value, str) or not hasattr(value, "__len__"):
            return convert(name, value)
        return tuple(convert(name, one) for one in value)

    return convert_one_or_each


@option_class
class DiSCFields:
    """Options of DiSC, as the estimator and the function take them."""

    n_components: int | Sequence[int] | None = option_field(_one_or_sequence(as_count), default=None)
    graph: str = option_field(one_of("knn", "dense", "lists"), default="knn")
    n_neighbors: int = option_field(as_int, needs=Needs("graph", ("knn", "lists")), default=30)
    bandwidth_neighbors: int = option_field(as_int, default=30)
    density: float = option_field(as_float, default=1.0)
    constant: str = option_field(one_of("drop", "project"), default="drop")
    kernel: Any = option_field(_one_or_sequence(named_kernel("adaptive")), default="adaptive")
    n_vectors: int = option_field(as_int, default=10)
    n_differential: int | None = option_field(as_count, default=None)
    scaling: str | None = option_field(word_or_none("standard"), default=None)
    random_state: Any = option_field(lambda _, value: as_seed(value), "seed", default=0)


@dataclass(kw_only=True)
class DiSCOptions(DiSCFields, Options):
    """Options of DiSC, as the core takes them."""

    def core_options(self) -> dict[str, Any]:
        """Return the options that apply to all sets together, under the names of the core."""
        options = super().core_options()
        del options["n_components"], options["kernel"]
        return options


@result_class
class DiSCResult(DrawnResult):
    """Result of :func:`fastfs.disc` for all sets.

    Parameters
    ----------
    set_scores : ndarray of shape (n_sets, n_features)
        As `class_scores_` of :class:`fastfs.DiSC`.
    scores, significance, vectors, trivial, statistic, n_differential, ratio, gap, eigenvalues, n_connected_components
        As the attributes of :class:`fastfs.DiSC`, with sets in place of classes.
    bandwidths, graph_recall, mean, scale
        As the attributes of :class:`fastfs.DiSC`, or None; custom graphs have no bandwidths.
    graph : str
        The option `graph` of the call; "given" for custom graphs.
    diffusion : list of ndarray of shape (n_features, n_components)
        Diffusion vectors of each set.
    graphs : list of scipy.sparse.csr_matrix, or None
        Affinities between features, if sparse.

    Examples
    --------
    <disc_example>
    >>> sorted(np.argsort(-result.set_scores[0])[:10].tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    scores: Floats
    set_scores: Floats
    significance: Floats
    vectors: Floats
    trivial: npt.NDArray[np.bool_]
    statistic: Floats
    n_differential: Integers
    ratio: Floats
    eigenvalues: list[Floats]
    diffusion: list[Floats]
    gap: Floats
    n_connected_components: Integers
    bandwidths: Floats | None
    graphs: list[Any] | None
    graph_recall: Floats | None
    mean: Floats | None
    scale: Floats | None
    graph: str

    _picture = "significance"
    _columns: ClassVar = {"score": "scores"}

    def _table(self) -> dict[str, Any]:
        by_set = {f"score_{s}": scores for s, scores in enumerate(self.set_scores)}
        return {**super()._table(), **by_set}


@option_class
class _DiSCCall(DiSCFields, RandomCall):
    sets: Sequence[Any] | None = field(kw_only=False, default=None)
    graphs: Sequence[Any] | None = None


@takes(_DiSCCall)
def disc(call: _DiSCCall) -> DiSCResult:
    r"""Run DiSC: find vectors over the features that are smooth on the graph of one set and not on the others'.

    Parameters
    ----------
    sets : sequence of array-like, DataFrame or sparse of shape (n_samples, n_features)
        Two or more conditions with the same features in the same order; samples needn't match, nor their numbers.
    graphs : sequence of sparse or array-like of shape (n_features, n_features)
        Custom affinities between features, instead of `sets`: one symmetric, non-negative matrix per set. They aren't
        changed: a feature has a self loop only if its diagonal entry isn't 0.
    other parameters
        As for :class:`fastfs.DiSC`, with sets in place of classes. `scaling` takes the rows of all sets together.
    <rng>
    <machine>

    Returns
    -------
    DiSCResult

    Raises
    ------
    ValueError
        As for :class:`fastfs.DiSC`, with sets in place of classes; other features in one set than in another; a graph
        that is not square, symmetric or not negative.
    TypeError
        Neither sets nor graphs, or both; they aren't a list.
    MemoryError
        As for :class:`fastfs.DiSC`.

    Warns
    -----
    fastfs.DataWarning, sklearn.exceptions.ConvergenceWarning
        As for :class:`fastfs.DiSC`.

    Notes
    -----
    Time and memory are those of :class:`fastfs.DiSC`. Nothing of n_features x n_features but the dense graph is ever
    formed.

    For each set, affinities W_ij = (exp(-D_ij^2 / eps_i^2) + exp(-D_ij^2 / eps_j^2)) / 2 give a random walk P; the
    vectors are right singular vectors of P Q, where Q projects onto the complement of all diffusion vectors of the
    other sets. The singular value is called significance, as in the paper; it isn't a p-value.

    <disc_reference>

    Examples
    --------
    <disc_example>
    >>> result.statistic.round(2).tolist()
    [0.96, 0.38]
    """
    options, run = DiSCOptions.from_arguments(call), call.make_run()
    sets, graphs = call.sets, call.graphs
    if (sets is None) == (graphs is None):
        got = "neither" if sets is None else "both"
        raise TypeError(f"sets or graphs must be given, and not both; got {got}")
    name = "sets" if graphs is None else "graphs"
    matrices: Any = sets if graphs is None else graphs
    one_matrix = isinstance(matrices, Sparse) or hasattr(matrices, "columns")
    if one_matrix or isinstance(matrices, str | bytes | dict) or not hasattr(matrices, "__len__"):
        raise TypeError(f"{name} must be a list of matrices, one for each condition; got {type(matrices).__name__}")
    if len(matrices) < 2:
        raise ValueError(f"{name} must have two sets or more, which DiSC compares; got {len(matrices)}")
    names = [f"set {s}" for s in range(len(matrices))]  # as the core calls them
    if graphs is not None:
        return fit_disc(
            [{"W": _as_graph(W, run)} for W in graphs], names, options, run, with_graphs=True
        ).warn_and_return()
    return fit_disc(
        [{"X": X} for X in _as_sets(matrices, run)], names, options, run, with_graphs=True
    ).warn_and_return()


def _as_sets(sets: Sequence[Any], run: Run) -> list[Any]:
    """Return the sets as matrices for the core; raise ValueError if one is empty, or names its columns otherwise than
    the first.
    """
    matrices, columns = [], None
    for s, X in enumerate(sets):
        names_of_set = column_names(X)
        columns = names_of_set if columns is None else columns
        if names_of_set is not None and columns is not None and names_of_set != columns:
            got = next((a for a, b in zip(names_of_set, columns, strict=False) if a != b), f"{len(names_of_set)} names")
            raise ValueError(f"all sets must have the features of the first in the same order; got {got} in set {s}")
        X = as_matrix(X, run)
        if X.shape[0] == 0:
            raise ValueError(f"each set must have samples; got none in set {s}")
        matrices.append(X)
    return matrices


class StreamedGroups:
    """Statistics of groups of rows, read from a stream in one or two passes; any group can serve as a set.

    A group keeps the products of all pairs of features, or sketches and the products of candidate pairs, which is all
    that its graph needs. `groups` holds the group (0-based) of each row that is read. `rows`, `columns` and `see` are
    as for `Passes`: `see` gets the first block, as it comes, and none of a Dask array. Custom kernels raise ValueError.
    """

    def __init__(
        self,
        X: Any,
        groups: Integers,
        n_groups: int,
        options: DiSCOptions,
        run: Run,
        *,
        rows: Integers | None = None,
        columns: Integers | None = None,
        see: Callable[[Any], Any] | None = None,
    ) -> None:
        """Read X in one or two passes into one set per group of rows; row blocks take a quarter of the memory.

        Blocks of a Dask array are read on its workers. `algorithm` is "sketch" after two passes, "sums" after one.
        Raise ValueError for a custom kernel.
        """
        source = Source.from_data(X)
        if np.any(options.kernel):
            raise ValueError(
                "kernel must not be a custom kernel if X is read in blocks of rows: choose kernel='adaptive', or "
                "raise max_memory, so that X is loaded"
            )
        width = int(source.shape[1] or 0) if columns is None else len(columns)
        kept = copy.copy(run)
        kept.budget = run.available() * 3 // 4  # blocks take a quarter
        kept.progress = None
        self._core = load_core().DiscStream(groups, n_groups, width, options.core_options(), kept)
        self.n_features, self.n_passes = width, self._core.n_passes
        self.algorithm = "sketch" if self.n_passes == 2 else "sums"
        if source.dask is not None:
            on_workers = PassesOnWorkers(source, run, _block_for_core, rows=rows, columns=columns)
            for _ in range(self.n_passes):
                core_results = on_workers.run_pass(self._core).state
                self._core.next(kept, core_results if self.n_passes > 1 else None)
            return
        passes = Passes(
            source, run, "DiSC", self.n_passes, rows=rows, columns=columns, see=see, block_bytes=LARGE_BLOCK_BYTES
        )

        def add_block(first: int, block: Any, block_run: Run) -> None:
            self._core.update(_block_for_core(block, block_run), first, block_run)

        for _ in range(self.n_passes):
            passes.run_pass(add_block)
            self._core.next(kept)

    @property
    def means(self) -> Floats:
        """Means of the features in each group."""
        core_results: Floats = self._core.means
        return core_results

    def arguments_of_group(self, group: int) -> dict[str, Any]:
        """Return a group as a set for `fit_disc`."""
        return {"stream": self._core, "group": group}


def _block_for_core(block: Any, run: Run) -> Any:
    """Return a block in the form that the core reads by rows."""
    return by_rows(block)


def fit_disc(
    sets: list[dict[str, Any]], names: Sequence[str], options: DiSCOptions, run: Run, *, with_graphs: bool = False
) -> Outcome[DiSCResult]:
    """Compare sets. Each has its samples `X`, from which `rows` may select, a group of a stream, or its graph `W`.

    Warnings call the sets by `names`, errors by number. The result contains the graphs only on demand, since they are
    large, and the recall of the graphs only with graph="lists".
    """
    _complete_sets(sets, options)
    results = load_core().disc(sets, options.core_options(), run, with_graphs)
    warnings = last_warnings({"set": names.__getitem__})
    graph = "given" if "W" in sets[0] else options.graph
    recall = np.array([result["graph_recall"] for result in results]) if graph == "lists" else None
    return Outcome(_make_result(results, recall, graph), warnings)


def graph_cuts(sets: list[dict[str, Any]], groups: Array, options: DiSCOptions, kind: str, run: Run) -> Floats:
    """Return the cut of each group of features, a row of 0 and 1, in the graph of each set."""
    _complete_sets(sets, options)
    cuts: Floats = load_core().disc_cuts(sets, for_core(groups, np.int64), options.core_options() | {"cut": kind}, run)
    return cuts


def _complete_sets(sets: list[dict[str, Any]], options: DiSCOptions) -> None:
    """Add n_components and kernel to the dict of each set; raise ValueError, or warn, if its graph would take
    too long.
    """
    for name in ("n_components", "kernel"):
        for entries, value in zip(sets, _one_per_set(name, getattr(options, name), len(sets)), strict=True):
            entries[name] = value
    n_features = _n_features(sets[0])
    if "X" in sets[0] and options.graph == "dense" and n_features > DENSE_AT_MOST:
        raise ValueError(
            f"graph='dense' is for up to {DENSE_AT_MOST} features; got {n_features}: choose graph='knn', "
            "which for few neighbors is another method with other results"
        )
    if "X" in sets[0] and options.graph == "knn" and n_features > EXACT_AT_MOST:
        warn(
            [
                f"graph='knn' searches the nearest of {n_features} features exactly, which takes long: graph='lists' "
                "takes a fraction of the time and misses a few of them"
            ]
        )


def _n_features(entries: dict[str, Any]) -> int:
    """Return the number of features of a set."""
    if "stream" in entries:
        return int(entries["stream"].n_cols)
    return int((entries["X"] if "X" in entries else entries["W"]).shape[1])


def _one_per_set(name: str, value: int | tuple[int, ...], n_sets: int) -> tuple[int, ...]:
    """Return one value of an option for each set."""
    if not isinstance(value, tuple):
        return (value,) * n_sets
    if len(value) != n_sets:
        raise ValueError(f"{name} must be one for all or {n_sets}, one for each set; got {len(value)}")
    return value


def _as_graph(W: Any, run: Run) -> Any:
    """Return affinities as a CSR matrix of floats; other formats are copied. Raise ValueError unless they are 2-D."""
    from scipy.sparse import csr_matrix

    W = as_plain_array(W)
    if W.ndim != 2:
        raise ValueError(f"a graph must be a 2-D array of features x features; got {W.ndim}-D")
    return csr_matrix(as_matrix(W, run))


def _make_result(results: list[dict[str, Any]], recall: Array | None, graph: str) -> DiSCResult:
    """Turn the core's results, one per set, into a DiSCResult; a feature scores as in the set that ranks it highest.

    Sets with fewer vectors than others are filled up with zeros.
    """
    most = max(len(result["significance"]) for result in results)

    def stack_field(name: str, dtype: Any = np.float64) -> Array:
        return np.array([result[name] for result in results], dtype=dtype)

    def pad_field(name: str, dtype: Any) -> Array:
        # A set has fewer vectors if the diffusion vectors of other sets span more directions.
        rows = [result[name] for result in results]
        return np.array([np.concatenate([r, np.zeros((most - len(r), *r.shape[1:]))]) for r in rows], dtype=dtype)

    significance, trivial = pad_field("significance", np.float64), pad_field("trivial", bool)
    set_scores = stack_field("scores")
    return DiSCResult(
        scores=set_scores.max(axis=0),
        set_scores=set_scores,
        significance=significance,
        vectors=pad_field("vectors", np.float64).swapaxes(1, 2),
        trivial=trivial,
        statistic=np.where(trivial, 0.0, significance).max(axis=1),
        n_differential=stack_field("n_differential", np.int64),
        ratio=stack_field("ratio"),
        eigenvalues=[result["eigenvalues"] for result in results],
        diffusion=[result["diffusion"].T for result in results],
        gap=stack_field("gap"),
        n_connected_components=stack_field("n_connected", np.int64),
        bandwidths=None if results[0]["bandwidths"] is None else stack_field("bandwidths"),
        graphs=[_to_csr(result) for result in results] if "graph_entries" in results[0] else None,
        graph_recall=recall,
        mean=results[0]["mean"],
        scale=results[0]["scale"],
        graph=graph,
    )


def _to_csr(core_result: dict[str, Any]) -> Any:
    """Return the graph of a set as a CSR matrix."""
    from scipy.sparse import csr_matrix

    p = len(core_result["scores"])
    return csr_matrix(core_result["graph_entries"], shape=(p, p))


@entry
def nearest_features(
    X: Any,
    n_neighbors: int = 30,
    *,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[Integers, Floats]:
    r"""Find the nearest other features of each feature, exactly.

    Parameters
    ----------
    X, n_threads, max_memory, progress
        As for :func:`fastfs.affinity`.
    n_neighbors : int
        At least 1 and less than n_features.

    Returns
    -------
    neighbors : ndarray of shape (n_features, n_neighbors)
        int64: the features with columns at the least Euclidean distance to that of the row's feature, nearest
        first, ties by the lower index. The feature itself is left out, copies of it aren't.
    distances : ndarray of shape (n_features, n_neighbors)
        float64.

    Raises
    ------
    ValueError
        X holds NaN or infinity (the first one is named), n_neighbors is out of its range, or a distance overflows.
    MemoryError
        The call would exceed the budget; nothing has been allocated.

    Notes
    -----
    Each pair of blocks of features is multiplied once, in float32 (sparse X: float64), and searched for both sides
    while it is in the L2 cache. All that rounding could have confused with the n_neighbors-th is kept, and compared by
    differences in float64: the result is that of comparing all pairs that way, and doesn't depend on n_threads.

    Time O(n_features^2 n_samples), for sparse X O(sum of squares of the entries a row). Memory
    besides the result: a float32 copy of X (sparse X: two float64 ones), 16 MiB, and some 28 n_features (n_neighbors +
    32) bytes. Where far more features are about as near as the n_neighbors-th, all of those are compared in float64,
    which takes longer.

    It is the neighbour graph of DiSC: R. D. Sristi, G. Mishne, A. Jaffe, "DiSC: Differential Spectral Clustering of
    Features", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.array([[0.0, 3.0, 0.0, 1.0], [0.0, 4.0, 0.0, 0.0]])
    >>> neighbors, distances = fastfs.nearest_features(X, n_neighbors=2)
    >>> neighbors
    array([[2, 3],
           [3, 0],
           [0, 3],
           [0, 2]])
    >>> distances.round(3)
    array([[0.   , 1.   ],
           [4.472, 5.   ],
           [0.   , 1.   ],
           [1.   , 1.   ]])
    """
    run = Run(n_threads, max_memory, progress)
    neighbors, distances = load_core().nearest_features(as_matrix(X, run), as_int("n_neighbors", n_neighbors), run)
    return neighbors, distances
