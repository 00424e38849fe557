"""Passes over X with their checks and progress, the target of each block, and Dask's blocks."""

import copy
import threading
import warnings
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from queue import Full, Queue
from typing import Any

import numpy as np

from fastfs._inputs.labels import as_labels, encode_labels
from fastfs._inputs.matrix import as_matrix, column_names, load_stream
from fastfs._inputs.paths import open_path
from fastfs._inputs.source import BLOCK_BYTES, Source, as_stream, describe_difference, is_dask, is_on_disk, n_rows
from fastfs._inputs.storage import dense, stack_blocks, stored_arrays, stored_values, take_rows
from fastfs._inputs.targets import Reader, Target, as_target
from fastfs._machine.errors import in_rows, within
from fastfs._machine.run import Run, human, inside_joblib
from fastfs._types import Array, Integers

# Stored bytes of a block for a method that updates tens of MB of sums once per block.
LARGE_BLOCK_BYTES = 1 << 26
# Error of an X without rows.
_NO_ROWS = "X must yield rows; got none: if it is an iterator that was used up before, make a new one"

# Number of blocks read ahead of the block that is worked on.
_N_READ_AHEAD = 2


def as_chunks(X: Any, run: Run, y: Any = None) -> list[Any]:
    """Return the row chunks of X as matrices for the core: the chunks of an iterator, without empty ones, or X as the
    only chunk.

    An iterator is abandoned as soon as it has yielded more rows than y has labels (ValueError), or more bytes than the
    budget allows (MemoryError). Raise ValueError for chunks with other numbers of features, or without rows.
    """
    if not hasattr(X, "__next__"):
        return [as_matrix(X, run)]
    n_labels = len(y) if hasattr(y, "__len__") else None
    chunks: list[Any] = []
    n_found = n_bytes = 0
    for number, chunk in enumerate(X):
        with within("chunk", number):
            chunk = as_matrix(chunk, run)
        if chunks and chunk.shape[1] != chunks[0].shape[1]:
            raise ValueError(
                f"all chunks of X must have the {chunks[0].shape[1]} features of the first; got {chunk.shape[1]} in "
                f"chunk {len(chunks)} (0-based)"
            )
        n_found += chunk.shape[0]
        n_bytes += stored_values(chunk).nbytes
        if n_labels is not None and n_found > n_labels:
            raise ValueError(
                f"y must have one label for each row of X; got {n_labels} labels for {n_found} rows or more"
            )
        if run.budget and n_bytes > run.budget:
            raise MemoryError(
                f"the chunks of X take {human(n_bytes)} or more, but the memory budget is {human(run.budget)}: raise "
                "max_memory (or FASTFS_MAX_MEMORY), or give fewer samples or features"
            )
        if chunk.shape[0]:
            chunks.append(chunk)
    if not chunks:
        raise ValueError(_NO_ROWS)
    return chunks


def is_large(X: Any, run: Run) -> bool:
    """Return True if X is a stream that takes more than a quarter of the budget."""
    source = as_stream(X)
    return source is not None and not source.measure(run)[0]


def classes_in_blocks(X: Any, y: Any, run: Run) -> tuple[Any, tuple[Array, Integers] | None]:
    """Return the object to read instead of X, and, if it must be read in blocks, the classes and the label of each row.

    A stream that takes more than a quarter of the budget must be read in blocks; otherwise the second is None. Raise
    ValueError for bad labels.
    """
    source = as_stream(X)
    if source is None:
        return X, None
    n_labels = len(y) if hasattr(y, "__len__") else None
    small, remaining = source.measure(run, n_labels)
    if small:
        return remaining, None
    n, d = source.shape
    if d is None:
        raise ValueError("each block of X must be a 2-D array of rows x features; got one without columns")
    of_rows = encode_labels(y, (n_labels or 0) if n is None else n, d)
    source = Source.from_data(remaining)
    source.shape = (n, d)
    return source, of_rows


def same_columns(chunks: Iterable[Any], name: str = "X", names: Any = None) -> Iterator[Any]:
    """Yield the chunks; raise ValueError if chunks with column names differ in them, or from `names`, if they are known
    before.
    """
    for number, chunk in enumerate(chunks):
        columns = column_names(chunk)
        if columns is not None:
            if names is not None and list(columns) != list(names):
                raise ValueError(
                    f"all chunks of {name} must have the columns of the first; got "
                    f"{describe_difference(names, columns)} in chunk {number} (0-based)"
                )
            names = columns
        yield chunk


class Passes:
    """Reads a source once or several times; a thread reads files ahead of the work.

    Each pass must have the rows of the first pass, and an equal first and last block. Errors about a block count its
    rows as X does. A progress callback gets "pass 1 of 2" and the share of all passes.
    """

    def __init__(
        self,
        X: Any,
        run: Run,
        method: str = "",
        n_passes: int = 1,
        *,
        rows: Integers | None = None,
        columns: Array | None = None,
        names: Any = None,
        see: Callable[[Any], Any] | None = None,
        block_bytes: int | None = None,
    ) -> None:
        """Prepare to read X for `method`, which messages name.

        `rows` (ascending) and `columns` select the part to read. `see` gets the first block before it is converted.
        `block_bytes` is the stored size of a block, if the budget allows it; default: `BLOCK_BYTES`. A matrix stored by
        columns is loaded if it fits a quarter of the budget. Raise TypeError for several passes over an iterator.
        """
        source = Source.from_data(X)
        if n_passes > 1 and not source.can_repeat:
            times = "twice" if n_passes == 2 else f"{n_passes} times"
            raise TypeError(
                f"{method} reads X {times}, but an iterator can be read once: give a function that returns a new one"
            )
        if source.by_columns and source.n_bytes and source.n_bytes <= run.available() // 4:
            source = Source.from_data(source.load_rows(run))
        self.source, self.n_passes = source, n_passes
        self.rows, self.columns, self._names, self._see = rows, columns, names, see
        self._run = copy.copy(run)  # copied per block, since a block's memory is free before the next one comes
        self._run.progress = None
        self._progress = run.progress
        # Four blocks are in memory at a time, and copies of some.
        self._block_bytes = min(block_bytes or BLOCK_BYTES, max(1 << 20, run.available() // 16))
        self._done = 0
        self._first_pass: tuple[int, ...] = ()  # number of rows and checksums

    def run_pass(self, update: Callable[[int, Any, Run], Any]) -> int:
        """Call ``update(first, block, run)`` with each block as a matrix for the core; return the number of rows.

        Stored blocks are read ahead by a thread, but not in a task of joblib. Raise ValueError if there are no rows, or
        a later pass reads others than the first.
        """
        number, n, last = self._done + 1, 0, None
        checks: list[int] = []
        blocks = self._checked_blocks()
        if self.source.is_stored and not inside_joblib():
            blocks = _read_ahead(blocks)
        with closing(blocks):
            for first, block in blocks:
                self._require_same_rows(n + block.shape[0] <= self._n_expected(), n + block.shape[0], "or more")
                with in_rows(self._row_numbers(first, block.shape[0])):
                    update(first, block, copy.copy(self._run))
                if self.n_passes > 1 and not checks:
                    checks.append(block_checksum(block))
                n += block.shape[0]
                last = block if self.n_passes > 1 else None
                self._report_progress(number, n)
        if n == 0:
            raise ValueError(_NO_ROWS)
        self._require_same_rows(self._n_expected() in (n, np.inf), n)
        if self.n_passes > 1:
            fingerprint = (n, *checks, block_checksum(last))
            if self._first_pass and fingerprint != self._first_pass:
                raise changed_error(n, number)
            self._first_pass = fingerprint
        self._done = number
        return n

    def _n_known(self) -> int | None:
        """Return the number of rows that will be read, or None if it is unknown."""
        return self.source.shape[0] if self.rows is None else len(self.rows)

    def _n_expected(self) -> float:
        """Return the number of rows that this pass must have, infinity if it is unknown."""
        return self._first_pass[0] if self._first_pass else self._n_known() or np.inf

    def _require_same_rows(self, good: bool, n: int, more: str = "") -> None:
        """Raise ValueError, which names both numbers of rows, unless the number n in this pass is `good`."""
        if not good:
            before = f"pass 1 ({self._n_expected():,} rows)" if self._first_pass else f"{self._n_expected():,} rows"
            counted = f"{n:,} {more}".rstrip()
            raise ValueError(
                f"X changed between {before} and pass {self._done + 1} ({counted}): each pass must read the same rows"
            )

    def _row_numbers(self, first: int, n: int) -> Any:
        """Return the numbers of n rows in X, from the given position on."""
        return range(first, first + n) if self.rows is None else self.rows[first : first + n]

    def _report_progress(self, number: int, n: int) -> None:
        """Report the share of all passes, up to 0.9."""
        total = self._n_known()
        if self._progress is not None and total:
            share = (number - 1 + min(1.0, n / total)) / self.n_passes
            self._progress(f"pass {number} of {self.n_passes}", 0.9 * share)

    def _checked_blocks(self) -> Generator[tuple[int, Any]]:
        """Yield blocks as matrices for the core; raise ValueError unless all have the columns of the first block.

        The first block is shown to `see`, and sets the number of columns if it wasn't known.
        """
        for first, block in self.source.blocks(self.rows, self.columns, self._block_bytes):
            columns = column_names(block)
            if columns is not None:
                if self._names is not None and list(columns) != list(self._names):
                    raise ValueError(
                        f"all blocks of X must have the columns of the first; got "
                        f"{describe_difference(self._names, columns)} in the block from row {first}"
                    )
                self._names = columns
            if self._see is not None:
                self._see(block)
                self._see = None
            with within("the block of X from row", first) if first else nullcontext():
                block = as_matrix(block, copy.copy(self._run))
            width = self.source.shape[1] if self.columns is None else len(self.columns)
            if width is None:
                self.source.shape = (self.source.shape[0], block.shape[1])
            elif block.shape[1] != width:
                raise ValueError(
                    f"all blocks of X must have {width} columns; got {block.shape[1]} in the block from row {first}"
                )
            yield first, block


def _read_ahead(blocks: Iterator[Any]) -> Generator[Any]:
    """Yield blocks that a separate thread reads while the caller works on earlier ones.

    Errors of the thread are raised here; it ends when the caller stops early.
    """
    queue: Queue[tuple[Any, BaseException | None]] = Queue(_N_READ_AHEAD)
    abandoned = threading.Event()

    def put_block(block: Any, error: BaseException | None = None) -> None:
        while not abandoned.is_set():
            try:
                return queue.put((block, error), timeout=0.1)
            except Full:
                continue

    def read_blocks() -> None:
        """Put each block on the queue, and at the end None or the error."""
        try:
            for block in blocks:
                put_block(block)
                if abandoned.is_set():
                    return
        except BaseException as error:  # raised in the caller's thread
            put_block(None, error)
        else:
            put_block(None)

    thread = threading.Thread(target=read_blocks, name="fastfs-reader", daemon=True)
    thread.start()
    try:
        while True:
            block, error = queue.get()
            if error is not None:
                raise error
            if block is None:
                return
            yield block
    finally:
        abandoned.set()
        thread.join()


def changed_error(n: int, number: int) -> ValueError:
    """Return the error for a pass that read other values than pass 1."""
    return ValueError(
        f"X changed between pass 1 and pass {number}: its {n:,} rows hold other values; it must stay the same until "
        "the end"
    )


def block_checksum(block: Any) -> int:
    """Return a checksum of the values of a block, and of their positions if it is sparse."""
    crc = 0
    for part in stored_arrays(block):
        crc = zlib.crc32(np.ascontiguousarray(part).view(np.uint8).data, crc)
    return crc


def draw_rows(X: Any, size: int, seed: int, run: Run) -> tuple[Any, Integers, int]:
    """Draw rows of X at random in one pass; return them, their numbers (ascending), and the number of all rows.

    A row's number determines its random key, and the `size` rows with the smallest keys are drawn, so the draw doesn't
    depend on the blocks in which X comes. All rows are taken if there are at most `size`. Streams are read, and loaded
    rows must fit the budget. Raise ValueError if there are no rows.
    """
    X = open_path(X)
    source = as_stream(X)
    if source is None:
        X = X if hasattr(X, "shape") else np.asarray(X)
        rows = _smallest_keys(np.arange(X.shape[0]), size, seed)
        return take_rows(X, rows), rows, X.shape[0]
    if source.shape[0] is not None:
        rows = _smallest_keys(np.arange(source.shape[0]), size, seed)
        return source.load_rows(run, rows=rows), rows, source.shape[0]
    parts: list[Any] = []
    rows, n = np.empty(0, np.int64), 0
    for first, block in source.blocks():
        n = first + n_rows(block)
        # A key beyond the `size` smallest of its block is also beyond the `size` smallest of all.
        drawn = _smallest_keys(np.arange(first, n), size, seed)
        parts.append(take_rows(block, drawn - first))
        rows = np.append(rows, drawn)
        if len(rows) > 2 * size:
            parts, rows = _smallest_rows(parts, rows, size, seed)
    if n == 0:
        raise ValueError(_NO_ROWS)
    parts, rows = _smallest_rows(parts, rows, size, seed)
    return parts[0], rows, n


def sample_rows(X: Any, y: Any, size: int, seed: int, run: Run) -> tuple[Any, Any, Integers | None]:
    """Return `size` rows of X and y from `draw_rows`, and their numbers. With size 0 return X in memory, y and None."""
    if not size:
        return load_stream(X, run, advice="give n_rows=5000, which draws a sample"), y, None
    X, rows, n = draw_rows(X, size, seed, run)
    as_labels(y, n, X.shape[1])  # raises an error if y doesn't fit X
    return X, take_rows(y, rows), rows


def _smallest_rows(parts: list[Any], rows: Integers, size: int, seed: int) -> tuple[list[Any], Integers]:
    """Return the rows with the smallest keys among the given parts, as one part, and their numbers."""
    kept = _smallest_keys(rows, size, seed)
    return [take_rows(stack_blocks(parts), np.searchsorted(rows, kept))], kept


def _smallest_keys(rows: Integers, size: int, seed: int) -> Integers:
    """Return the rows that have the `size` smallest keys, ascending; splitmix64 makes a key from a row number."""
    if len(rows) <= size:
        return rows
    keys = rows.astype(np.uint64) + np.uint64(1) + np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    keys *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    kept: Integers = np.sort(rows[np.argpartition(keys, size)[:size]])
    return kept


def sum_groups(block: Any, groups: Integers, n_groups: int) -> Array:
    """Return the sum of the rows of each group."""
    from scipy.sparse import csr_matrix

    n = block.shape[0]
    sums: Array = dense(csr_matrix((np.ones(n), (groups, np.arange(n))), shape=(n_groups, n)) @ block)
    return sums


class TargetRows:
    """Reads the target of a source's rows, block by block.

    `whole` reads a target that was given for all rows, `chunk` a target for some rows.
    """

    def __init__(self, y: Any, source: Source, run: Run, whole: Reader, chunk: Reader) -> None:
        """Take y as an array, a stored array, chunks that come with the blocks of X, or None; a function returns such
        chunks.

        A stored 1-D array is read here. Raise ValueError if y has another number of rows than X.
        """
        if callable(y) and not hasattr(y, "shape"):
            y = iter(y())
        self._y, self._whole, self._chunk, self._run = y, whole, chunk, run
        self._n = source.shape[0]
        self._comes_in_chunks = hasattr(y, "__next__") and source.shape[0] is None
        self._target: Target | None = Target() if y is None else None
        self._chunks = same_columns((part for part in y if n_rows(part)), "y") if self._comes_in_chunks else iter(())
        is_stored = is_on_disk(y)
        self._is_cut_on_disk = is_stored and len(y.shape) == 2
        if y is None or self._comes_in_chunks:
            return
        if not self._is_cut_on_disk:
            self._y = as_target(y[:] if is_stored else y)
        if self._n is not None and len(self._y) != self._n:
            raise ValueError(f"X and y must have the same number of rows; got {self._n} and {len(self._y)}")

    def read_rows(self, first: int, block: Any) -> Target:
        """Return the target of the block of X that begins at row `first`; it is empty without y.

        Raise ValueError if y has too few rows or chunks.
        """
        end = first + block.shape[0]
        if self._y is None:
            return Target()
        if self._comes_in_chunks:
            target = next(self._chunks, None)
            if target is None:
                raise ValueError("X and y must have the same number of chunks; got fewer of y")
            return self._chunk(target, block.shape, copy.copy(self._run))
        if end > len(self._y):
            raise ValueError(f"X and y must have the same number of rows; got {len(self._y)} of y and more of X")
        if self._is_cut_on_disk:
            return self._chunk(np.asarray(self._y[first:end]), block.shape, copy.copy(self._run))
        if self._target is None:
            self._target = self._whole(self._y, (len(self._y), block.shape[1]), self._run)
        return self._target.slice_rows(first, end)

    def check_end(self, n: int) -> None:
        """Check that the target has no more rows than the n rows of X."""
        if self._comes_in_chunks:
            if next(self._chunks, None) is not None:
                raise ValueError("X and y must have the same number of chunks; got fewer of X")
        elif self._y is not None and len(self._y) != n:
            raise ValueError(f"X and y must have the same number of rows; got {n} and {len(self._y)}")


def dask_blocks(source: Source, y: Any, run: Run, read: Reader) -> tuple[list[tuple[int, Any, Target]], Array | None]:
    """Return the row blocks of a Dask array, and the classes.

    Each entry has the first row, the delayed block, the target. Targets are delayed too if y is a 2-D Dask array,
    and can then have any numeric type. The classes are None for numbers. Raise ValueError for another number of
    rows.
    """
    parts, classes, shape = source.delayed_blocks(), None, source.dask.shape
    if is_dask(y) and y.ndim == 2:
        if y.shape[0] != shape[0]:
            raise ValueError(f"X and y must have the same number of rows; got {shape[0]} and {y.shape[0]}")
        lengths = tuple(len(rows) for _, _, rows, _ in parts)
        targets = [Target(numbers=block) for block in y.rechunk({0: lengths, 1: -1}).to_delayed().ravel()]
    else:
        target = read(y, shape, run)
        classes = target.classes
        targets = [target.slice_rows(places.start, places.stop) for *_, places in parts]
    return [(first, block, target) for (first, block, *_), target in zip(parts, targets, strict=True)], classes


def merge_pairwise(parts: list[Any], merge: Callable[..., Any]) -> Any:
    """Compute delayed states, merge neighbours in the order of their blocks, and return the one that is left.

    So the result doesn't depend on the workers.
    """
    while len(parts) > 1:
        parts = [merge(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    with warnings.catch_warnings():
        # Labels and targets are part of the tasks, and a user can't send them in another way.
        warnings.filterwarnings("ignore", "Sending large graph")
        return parts[0].compute()
