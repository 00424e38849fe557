"""DiSC, and the nearest features of each feature, from which it makes its sparse graphs."""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.options import Needs, Options, option
from fastfs._functions.outcome import Outcome
from fastfs._inputs.checks import as_count, as_float, as_int, as_seed, named_kernel, one_of, some_of, word_or_none
from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import as_matrix, column_names, decoded
from fastfs._inputs.source import Source
from fastfs._inputs.streams import LARGE_BLOCK_BYTES, Passes
from fastfs._inputs.values import for_core
from fastfs._inputs.workers import PassesOnWorkers
from fastfs._machine.brief import brief
from fastfs._machine.run import Run, core, warn
from fastfs._types import Array, Floats, Integers, Progress

# graph="dense" is refused for more features: their graphs take 8 p^2 bytes each.
DENSE_AT_MOST = 20_000

# With more features, graph="knn" says before it starts that there is a faster graph: an exact search takes minutes.
EXACT_AT_MOST = 300_000


def _one_or_each(convert: Callable[[str, Any], int]) -> Callable[[str, Any], int | tuple[int, ...]]:
    """Return a converter of one value for all sets, or of a sequence of one a set."""

    def of(name: str, value: Any) -> int | tuple[int, ...]:
        if isinstance(value, str) or not hasattr(value, "__len__"):
            return convert(name, value)
        return tuple(convert(name, one) for one in value)

    return of


@dataclass(frozen=True, kw_only=True)
class DiSCOptions(Options):
    """Options of DiSC, as of :func:`fastfs.disc`."""

    n_components: int | tuple[int, ...] = option(_one_or_each(as_count))
    graph: str = option(one_of("knn", "dense", "lists", "approximate"))
    n_neighbors: int = option(as_int, needs=Needs("graph", ("knn", "lists", "approximate"), 30))
    bandwidth_neighbors: int = option(as_int)
    density: float = option(as_float)
    constant: str = option(one_of("drop", "project"))
    kernel: int | tuple[int, ...] = option(_one_or_each(named_kernel("adaptive")))
    n_vectors: int = option(as_int)
    n_differential: int = option(as_count)
    scaling: str = option(word_or_none("standard"))
    random_state: int = option(lambda _, value: as_seed(value), "seed")

    def core(self) -> dict[str, Any]:
        """Return the options that the core takes for all sets together."""
        options = super().core()
        del options["n_components"], options["kernel"]
        if self.graph == "approximate":
            options["graph"] = "knn"  # of neighbours that the sets bring along
        return options


@brief
@dataclass(frozen=True)
class DiSCResult:
    """Result of :func:`fastfs.disc`: what DiSC found in each set.

    Parameters
    ----------
    set_scores : ndarray of shape (n_sets, n_features)
        As `class_scores_` of :class:`fastfs.DiSC`.
    scores, significance, vectors, trivial, statistic, n_differential, ratio, gap, eigenvalues, n_connected_components
        As the attributes of :class:`fastfs.DiSC`, with sets in place of classes.
    bandwidths, graph_recall, mean, scale
        The same, or None: without bandwidths are graphs of the caller's.
    graph : str
        The kind of graph that was asked for; "given" for graphs of the caller's.
    diffusion : list of ndarray of shape (n_features, n_components)
        Diffusion vectors of each set.
    graphs : list of scipy.sparse.csr_matrix, or None
        Affinities between features, if sparse.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 100, 60))
    >>> A[:, :10] += 3 * rng.normal(size=(100, 1))  # tied to each other in A only
    >>> found = fastfs.disc([A, B], n_components=3, bandwidth_neighbors=5, n_differential=1)
    >>> sorted(np.argsort(-found.set_scores[0])[:10].tolist())
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


@entry
def disc(
    sets: Sequence[Any] | None = None,
    *,
    graphs: Sequence[Any] | None = None,
    n_components: int | Sequence[int] | None = None,
    graph: str = "knn",
    n_neighbors: int = 30,
    bandwidth_neighbors: int = 30,
    density: float = 1.0,
    constant: str = "drop",
    kernel: Any = "adaptive",
    n_vectors: int = 10,
    n_differential: int | None = None,
    scaling: str | None = None,
    random_state: Any = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> DiSCResult:
    r"""Run DiSC: find vectors over the features that are smooth on the graph of one set and not on the others'.

    Parameters
    ----------
    sets : sequence of array-like, DataFrame or sparse of shape (n_samples, n_features)
        Two or more conditions with the same features in the same order; samples needn't match, nor their numbers.
    graphs : sequence of sparse or array-like of shape (n_features, n_features)
        Affinities between features of your own, in place of `sets`: symmetric, not negative, one matrix a set. They are
        taken as they are: a self loop is there only if it is on the diagonal.
    other parameters
        As for :class:`fastfs.DiSC`, with sets in place of classes. `scaling` takes the rows of all sets together.
    n_threads, progress
        As for :func:`fastfs.affinity`.

    Returns
    -------
    DiSCResult

    Raises
    ------
    ValueError
        As for :class:`fastfs.DiSC`, with sets in place of classes; other features in one set than in another; a graph
        that is not square, symmetric or not negative.
    MemoryError, ModuleNotFoundError
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
    vectors are right singular vectors of P Q, where Q projects onto what is orthogonal to all diffusion vectors of the
    other sets. The singular value is called significance, as in the paper; it is no p-value.

    References
    ----------
    .. [1] R. D. Sristi, G. Mishne, A. Jaffe, "DiSC: Differential Spectral Clustering of Features", NeurIPS 2022,
       Algorithm 1, and the public code for more than two sets.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 100, 60))
    >>> A[:, :10] += 3 * rng.normal(size=(100, 1))  # tied to each other in A only
    >>> found = fastfs.disc([A, B], n_components=3, bandwidth_neighbors=5, n_differential=1)
    >>> found.statistic.round(2).tolist()
    [0.96, 0.38]
    """
    options = DiSCOptions.of(locals())
    run = Run(n_threads, max_memory, progress)
    if (sets is None) == (graphs is None):
        raise TypeError("give either sets or graphs")
    name = "sets" if graphs is None else "graphs"
    given: Any = sets if graphs is None else graphs
    one_matrix = hasattr(given, "tocsr") or hasattr(given, "columns")
    if one_matrix or isinstance(given, str | bytes | dict) or not hasattr(given, "__len__"):
        raise TypeError(f"{name} must be a list of matrices, one for each condition, not {type(given).__name__}")
    if len(given) < 2:
        raise ValueError(f"DiSC compares two sets or more, but {name} has {len(given)}")
    names = [f"set {s}" for s in range(len(given))]  # as the core calls them
    if graphs is not None:
        return fit([{"W": _as_graph(W, run)} for W in graphs], names, options, run, with_graphs=True).deliver()
    return fit([{"X": X} for X in _as_sets(given, run)], names, options, run, with_graphs=True).deliver()


def _as_sets(sets: Sequence[Any], run: Run) -> list[Any]:
    """Return sets as the core takes them, whose columns have the same names if they have any."""
    matrices, columns = [], None
    for s, X in enumerate(sets):
        own = column_names(X)
        columns = own if columns is None else columns
        if own is not None and columns is not None and own != columns:
            raise ValueError(f"all sets must have the same features in the same order, but those of set {s} differ")
        X = as_matrix(X, run)
        if X.shape[0] == 0:
            raise ValueError(f"set {s} has no samples")
        matrices.append(X)
    return matrices


class GroupsInBlocks:
    """Groups of rows of a stream, each of which can be a set: products of features, or sketches and the candidates.

    `groups` are the groups, from 0, of the rows that are read; `rows` and `columns` are as for `Passes`, as is `see`,
    which gets no block of a Dask array.
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
        source = Source.of(X)
        if options.graph == "approximate":
            raise ValueError(f"graph='approximate' needs X in memory, but it is {source.kind}: choose graph='knn'")
        if np.any(options.kernel):
            raise ValueError(
                "a kernel of your own takes the features themselves, not blocks of rows: choose kernel='adaptive', or "
                "raise max_memory, so that X is loaded"
            )
        width = int(source.shape[1] or 0) if columns is None else len(columns)
        kept = copy.copy(run)
        kept.budget = run.available() * 3 // 4  # blocks take a quarter
        kept.progress = None
        self._core = core().DiscStream(groups, n_groups, width, options.core(), kept)
        self.n_features, self.n_passes = width, self._core.n_passes
        self.algorithm = "sketch" if self._core.sketches else "sums"
        if source.dask is not None:
            on_workers = PassesOnWorkers(source, run, _by_rows, rows=rows, columns=columns)
            for _ in range(self.n_passes):
                found = on_workers.run(self._core).found
                self._core.next(kept, found if self.n_passes > 1 else None)
            return
        passes = Passes(
            source, run, "DiSC", self.n_passes, rows=rows, columns=columns, see=see, block_bytes=LARGE_BLOCK_BYTES
        )

        def update(first: int, block: Any, own: Run) -> None:
            self._core.update(_by_rows(block, own), first, own)

        for _ in range(self.n_passes):
            passes.run(update)
            self._core.next(kept)

    @property
    def means(self) -> Floats:
        """Means of the features in each group."""
        found: Floats = self._core.means
        return found

    def set(self, group: int) -> dict[str, Any]:
        """Return a group for `fit`."""
        return {"stream": self._core, "group": group}


def _by_rows(block: Any, run: Run) -> Any:
    return block.tocsr() if hasattr(block, "tocsr") else block


def fit(
    sets: list[dict[str, Any]], names: Sequence[str], options: DiSCOptions, run: Run, *, with_graphs: bool = False
) -> Outcome[DiSCResult]:
    """Compare sets, each with its samples `X`, of which `rows` may name some, or its graph `W`.

    Warnings call them by `names`, errors by number. Graphs are part of the result on demand, as they are large.
    """
    recall = _complete(sets, options, run)
    results = core().disc(sets, options.core(), run, with_graphs)
    graph = "given" if "W" in sets[0] else options.graph
    if graph == "lists":
        recall = np.array([found["graph_recall"] for found in results])
    messages, not_converged = _messages(results, names, options, graph, _n_features(sets[0]))
    return Outcome(_collect(results, recall, graph), messages, not_converged)


def cuts(sets: list[dict[str, Any]], groups: Array, options: DiSCOptions, run: Run) -> Floats:
    """Return the normalised cut of each group, a row of 0 and 1, in the graph of each set."""
    _complete(sets, options, run)
    found: Floats = core().disc_cuts(sets, for_core(groups, np.int64), options.core(), run)
    return found


def _complete(sets: list[dict[str, Any]], options: DiSCOptions, run: Run) -> Floats | None:
    """Put the rest of what the core reads of a set into each; return the recall of approximate neighbours."""
    for name in ("n_components", "kernel"):
        for given, value in zip(sets, _one_a_set(name, getattr(options, name), len(sets)), strict=True):
            given[name] = value
    n_features = _n_features(sets[0])
    if "X" in sets[0] and options.graph == "dense" and n_features > DENSE_AT_MOST:
        raise ValueError(
            f"graph='dense' is for up to {DENSE_AT_MOST} features, but there are {n_features}: choose graph='knn', "
            "which for few neighbors is another method with other results"
        )
    if "X" in sets[0] and options.graph == "knn" and n_features > EXACT_AT_MOST:
        warn(
            [
                f"graph='knn' searches the nearest of {n_features} features exactly, which takes long: graph='lists' "
                "takes a fraction of the time and misses a few of them"
            ]
        )
    if "W" in sets[0] or options.graph != "approximate":
        return None
    scaling = core().disc_scale(sets, run) if options.scaling == "standard" else None
    return np.array([_approximate(given, scaling, options, run) for given in sets])


def _n_features(given: dict[str, Any]) -> int:
    if "stream" in given:
        return int(given["stream"].n_cols)
    return int((given["X"] if "X" in given else given["W"]).shape[1])


def _one_a_set(name: str, value: int | tuple[int, ...], n_sets: int) -> tuple[int, ...]:
    if not isinstance(value, tuple):
        return (value,) * n_sets
    if len(value) != n_sets:
        raise ValueError(f"{name} must be one for all or {n_sets}, one for each set, but has {len(value)}")
    return value


def _as_graph(W: Any, run: Run) -> Any:
    """Return affinities as a CSR matrix of floats; a copy if they aren't one."""
    from scipy.sparse import csr_matrix

    if not hasattr(W, "tocsr"):
        W = np.asarray(W)
        if W.ndim != 2:
            raise ValueError(f"a graph must be a 2-D array of features x features, not {W.ndim}-D")
    return csr_matrix(as_matrix(W, run))


# Features whose exact neighbours an approximate graph is compared with.
RECALL_SAMPLE = 200


def _approximate(given: dict[str, Any], scaling: tuple[Array, Array] | None, options: DiSCOptions, run: Run) -> float:
    """Put approximate neighbours with exact distances into the set; return their recall on a sample."""
    try:
        from pynndescent import NNDescent
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "graph='approximate' needs the package pynndescent, which the extra [approximate] of scikit-fastfs brings",
            name="pynndescent",
        ) from error
    X = decoded(given["X"], run)
    if "rows" in given:
        run.take(len(given["rows"]) * X[:1].nbytes, "a copy of X by classes", "give float32")
        X = X[given["rows"]]
    p = X.shape[1]
    k = min(max(options.n_neighbors, options.bandwidth_neighbors), p - 1)
    with np.errstate(all="ignore"):
        is_finite = np.isfinite(X.sum(dtype=np.float64))
    if p < 4 or k < 1 or not is_finite:  # the core says so
        return np.nan
    if scaling is not None:
        mean, scale = scaling
        X = ((X - mean) / scale).astype(X.dtype, copy=False)
    seed = options.random_state % (1 << 32)
    if hasattr(X, "tocsr"):
        columns = X.T.tocsr().astype(np.float64)
        index_of = columns.astype(np.float32)
    else:
        columns = X.T.astype(np.float64, order="C")
        columns -= columns.mean(axis=0)  # what all features share only costs digits
        index_of = columns.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of neighbours it didn't find, which are looked up below
        index = NNDescent(index_of, n_neighbors=k + 1, random_state=seed, n_jobs=run.n_threads or None)
    found = np.asarray(index.neighbor_graph[0], dtype=np.int64)
    found = np.where(found == np.arange(p)[:, None], -1, found)  # itself, anywhere in its row
    order = np.argsort(found < 0, axis=1, kind="stable")
    found = np.take_along_axis(found, order, axis=1)[:, :k]
    norms = _squared_norms(columns)
    for i in np.flatnonzero((found < 0).any(axis=1)):
        found[i] = np.argsort(_squared_to(columns, norms, np.array([i]))[0], kind="stable")[:k]
    distances = np.empty((p, k))
    step = max(1, (1 << 22) // max(1, k * X.shape[0]))
    for first in range(0, p, step):
        rows = np.arange(first, min(first + step, p))
        their = columns[found[rows].ravel()]
        own = columns[np.repeat(rows, k)]
        difference = own - their
        squares = difference.multiply(difference) if hasattr(difference, "multiply") else difference**2
        distances[rows] = np.sqrt(np.asarray(squares.sum(axis=1)).reshape(len(rows), k))
    order = np.lexsort((found, distances), axis=1)
    given["neighbors"] = for_core(np.take_along_axis(found, order, axis=1))
    given["distances"] = for_core(np.take_along_axis(distances, order, axis=1))
    sample = np.random.default_rng(seed).choice(p, min(p, RECALL_SAMPLE), replace=False)
    exact = np.partition(_squared_to(columns, norms, sample), k - 1, axis=1)[:, k - 1]
    rounding = 1e-10 * (norms[sample] + norms.max())
    return float(np.mean(given["distances"][sample] ** 2 <= (exact + rounding)[:, None]))


def _squared_norms(columns: Any) -> Array:
    if hasattr(columns, "multiply"):
        return np.asarray(columns.multiply(columns).sum(axis=1)).ravel()
    norms: Array = np.einsum("ij,ij->i", columns, columns)
    return norms


def _squared_to(columns: Any, norms: Array, rows: Array) -> Array:
    """Squared distances of some features to all, infinite to themselves."""
    products = columns[rows] @ columns.T
    if hasattr(products, "toarray"):
        products = products.toarray()
    squares: Array = norms[rows][:, None] + norms - 2 * products
    squares[np.arange(len(rows)), rows] = np.inf
    return squares


def _messages(
    results: list[dict[str, Any]], names: Sequence[str], options: DiSCOptions, graph: str, n_features: int
) -> tuple[list[str], list[str]]:
    """Return the warnings of the data, and those of eigensolvers that gave up."""
    from fastfs import _core

    messages: list[str] = []

    def where(bit: int) -> list[int]:
        return [s for s, found in enumerate(results) if found["warnings"] & bit]

    def named(bit: int) -> str:
        return some_of([names[s] for s in where(bit)])

    if who := named(_core.DISC_ONE_SAMPLE):
        messages.append(f"one sample only in {who}: distances between features are differences of single values")
    if where(_core.DISC_CLAMPED):
        asked = ["bandwidth_neighbors"] if graph == "dense" else ["bandwidth_neighbors", "n_neighbors"]
        high = [f"{name}={n}" for name in asked if (n := getattr(options, name)) >= n_features]
        verb = "exceeds" if len(high) == 1 else "exceed"
        messages.append(f"{' and '.join(high)} {verb} the {n_features - 1} other features: all of them are taken")
    if who := named(_core.DISC_DUPLICATES):
        messages.append(
            f"some features have {options.bandwidth_neighbors} copies or more in {who}, so that their bandwidth would "
            "be 0: it is their smallest positive distance instead"
        )
    if who := named(_core.DISC_DISCONNECTED):
        pieces = max(results[s]["n_connected"] for s in where(_core.DISC_DISCONNECTED))
        messages.append(
            f"the graph of {who} falls apart, into up to {pieces} pieces: eigenvalue 1 is repeated, its constant "
            "vectors were projected out with the others, and which single diffusion vectors come first is arbitrary"
            + ("" if graph in ("given", "dense") else "; a larger n_neighbors may connect it")
        )
    if who := named(_core.DISC_SMALL_GAP):
        gap = min(results[s]["gap"] for s in where(_core.DISC_SMALL_GAP))
        messages.append(
            f"n_components cuts a cluster of eigenvalues in {who} (the least gap is {gap:.1e}): the result depends on "
            "where, so try other numbers"
        )
    if where(_core.DISC_LOW_RECALL):
        least = min(results[s]["graph_recall"] for s in where(_core.DISC_LOW_RECALL))
        messages.append(
            f"graph='lists' found only {least:.0%} of the nearest features in {named(_core.DISC_LOW_RECALL)}: "
            "significances may be off by some .03, and graph='knn' finds all"
        )
    if who := named(_core.DISC_DIGITS):
        messages.append(
            f"some features are so close to each other, beside their size, in {who} that sums over rows leave hardly a "
            "digit of their distance: subtract from each feature what all its values share"
        )
    if who := named(_core.DISC_IDENTICAL):
        messages.append(f"the graph of {who} is that of another set too: nothing is differential between these")
    if nothing := [names[s] for s, found in enumerate(results) if found["n_differential"] == 0]:
        messages.append(f"all vectors of {some_of(nothing)} are trivial, so that there are no scores: raise n_vectors")
    if options.n_differential == 0 and (who := named(_core.DISC_FLAT)):  # else it is the caller's choice
        ratio = min(results[s]["ratio"] for s in where(_core.DISC_FLAT))
        messages.append(
            f"the significances have no clear step in {who} (the largest ratio of successive ones is down to "
            f"{ratio:.2f}): how many vectors matter is arbitrary, so set n_differential"
        )
    failed = named(_core.DISC_NOT_CONVERGED)
    not_converged = [f"an eigensolver gave up before its vectors of {failed} were exact"] if failed else []
    return messages, not_converged


def _collect(results: list[dict[str, Any]], recall: Array | None, graph: str) -> DiSCResult:
    most = max(len(found["significance"]) for found in results)

    def stacked(name: str, dtype: Any = np.float64) -> Array:
        return np.array([found[name] for found in results], dtype=dtype)

    def padded(name: str, dtype: Any) -> Array:
        # A set whose others take more directions may have fewer vectors.
        rows = [found[name] for found in results]
        return np.array([np.concatenate([r, np.zeros((most - len(r), *r.shape[1:]))]) for r in rows], dtype=dtype)

    significance, trivial = padded("significance", np.float64), padded("trivial", bool)
    set_scores = stacked("scores")
    return DiSCResult(
        scores=set_scores.max(axis=0),
        set_scores=set_scores,
        significance=significance,
        vectors=padded("vectors", np.float64).swapaxes(1, 2),
        trivial=trivial,
        statistic=np.where(trivial, 0.0, significance).max(axis=1),
        n_differential=stacked("n_differential", np.int64),
        ratio=stacked("ratio"),
        eigenvalues=[found["eigenvalues"] for found in results],
        diffusion=[found["diffusion"].T for found in results],
        gap=stacked("gap"),
        n_connected_components=stacked("n_connected", np.int64),
        bandwidths=None if results[0]["bandwidths"] is None else stacked("bandwidths"),
        graphs=[_to_csr(found) for found in results] if "graph_entries" in results[0] else None,
        graph_recall=recall,
        mean=results[0]["mean"],
        scale=results[0]["scale"],
        graph=graph,
    )


def _to_csr(found: dict[str, Any]) -> Any:
    from scipy.sparse import csr_matrix

    p = len(found["scores"])
    return csr_matrix(found["graph_entries"], shape=(p, p))


@entry
def nearest_features(
    X: Any,
    n_neighbors: int = 30,
    *,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[Integers, Floats]:
    r"""Nearest other features of each feature, exactly.

    Parameters
    ----------
    X, n_threads, max_memory, progress
        As for :func:`fastfs.affinity`.
    n_neighbors : int
        At least 1 and less than n_features.

    Returns
    -------
    neighbors : ndarray of shape (n_features, n_neighbors)
        int64: the features whose columns have the least Euclidean distance to that of the row's feature, nearest
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
    while it is in the L2 cache. Whatever rounding could have confused with the n_neighbors-th is kept, and compared by
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
    neighbors, distances = core().nearest_features(as_matrix(X, run), as_int("n_neighbors", n_neighbors), run)
    return neighbors, distances
