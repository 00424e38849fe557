"""Passes over X: what each of them checks and reports, the target of each block, and Dask's blocks."""

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
from fastfs._inputs.matrix import as_matrix, column_names, loaded, take_rows
from fastfs._inputs.source import (
    BLOCK_BYTES,
    Source,
    is_dask,
    is_genotypes,
    is_on_disk,
    is_stream,
    n_rows,
    opened,
    stack,
)
from fastfs._inputs.targets import Reader, Target, as_target
from fastfs._machine.errors import in_rows, within
from fastfs._machine.run import Run, human, inside_joblib
from fastfs._types import Array, Integers

# Stored bytes of a block for a method that goes through tens of MB of sums once a block.
LARGE_BLOCK_BYTES = 1 << 26
# Blocks that are read beside the one that is worked on.
_AHEAD = 2


def as_chunks(X: Any, run: Run, y: Any = None) -> list[Any]:
    """Return the row chunks of X, each as of `as_matrix`: those that an iterator yields, or X as the only one.

    An iterator is left as soon as it has yielded more rows than y has labels, or more bytes than the budget allows.
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
                f"all chunks of X must have the {chunks[0].shape[1]} features of the first, but chunk {len(chunks)} "
                f"(counted from 0) has {chunk.shape[1]}"
            )
        n_found += chunk.shape[0]
        n_bytes += (chunk.bits if is_genotypes(chunk) else chunk.data).nbytes
        if n_labels is not None and n_found > n_labels:
            raise ValueError(f"y has {n_labels} labels, but the chunks of X have {n_found} rows or more")
        if run.budget and n_bytes > run.budget:
            raise MemoryError(
                f"the chunks of X take {human(n_bytes)} or more, but the memory budget is {human(run.budget)}: raise "
                "max_memory (or FASTFS_MAX_MEMORY), or give fewer samples or features"
            )
        if chunk.shape[0]:
            chunks.append(chunk)
    if not chunks:
        raise ValueError("X is an iterator of row chunks, but yielded no rows: has it been used up before?")
    return chunks


def is_large(X: Any, run: Run) -> bool:
    """Whether X is a stream of more than a quarter of the budget."""
    return is_stream(X) and not Source.of(X).is_small(run)[0]


def classes_in_blocks(X: Any, y: Any, run: Run) -> tuple[Any, tuple[Array, Integers] | None]:
    """Return what to read in place of X, and, if it is to be read in blocks, the classes and the label of each row.

    A stream of more than a quarter of the budget is.
    """
    if not is_stream(X):
        return X, None
    source = Source.of(X)
    n_labels = len(y) if hasattr(y, "__len__") else None
    small, begun = source.is_small(run, n_labels)
    if small:
        return (X if is_dask(X) else begun), None
    n, d = source.shape
    if d is None:
        raise ValueError("blocks of X must have two dimensions, rows and features")
    of_rows = encode_labels(y, (n_labels or 0) if n is None else n, d)
    if is_dask(X):
        return X, of_rows
    source = Source.of(begun)
    source.shape = (n, d)
    return source, of_rows


def same_columns(chunks: Iterable[Any], name: str = "X", names: Any = None) -> Iterator[Any]:
    """Pass chunks on; those that name their columns must name the same ones, `names` if they are known before."""
    for number, chunk in enumerate(chunks):
        columns = column_names(chunk)
        if columns is not None:
            if names is not None and list(columns) != list(names):
                raise ValueError(
                    f"all chunks of {name} must have the columns of the first, but chunk {number} (from 0) has others"
                )
            names = columns
        yield chunk


class Passes:
    """Reads a source once or several times, with a thread that reads ahead of the work on files.

    Each pass must have the rows of the first one, and the same first and last block. Errors about a block count its
    rows as X does. A callback of progress gets "pass 1 of 2" and the share of all passes.
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
        """`method` reads X; `rows`, ascending, and `columns` are those to read; `see` gets the first block as it is.

        `block_bytes` are the stored bytes of a block, if the budget allows them; default: those of `Source`.
        """
        source = Source.of(X)
        if n_passes > 1 and not source.can_repeat:
            times = "twice" if n_passes == 2 else f"{n_passes} times"
            raise TypeError(
                f"{method} reads X {times}, but an iterator can be read once: give a function that returns a new one"
            )
        if source.by_columns and source.n_bytes and source.n_bytes <= run.available() // 4:
            source = Source.of(source.load(run))
        self.source, self.n_passes = source, n_passes
        self.rows, self.columns, self._names, self._see = rows, columns, names, see
        self._run = copy.copy(run)  # of a block, which gives its memory back before the next one comes
        self._run.progress = None
        self._progress = run.progress
        # Four blocks are there at a time, and copies of some.
        self._block_bytes = min(block_bytes or BLOCK_BYTES, max(1 << 20, run.available() // 16))
        self._done = 0
        self._first_pass: tuple[int, ...] = ()  # rows and checksums

    def run(self, update: Callable[[int, Any, Run], Any]) -> int:
        """Call ``update(first, block, run)`` for each block, as of `as_matrix`; return the number of rows."""
        number, n, last = self._done + 1, 0, None
        checks: list[int] = []
        blocks = self._blocks()
        if self.source.is_stored and not inside_joblib():
            blocks = _ahead(blocks)
        with closing(blocks):
            for first, block in blocks:
                self._require(n + block.shape[0] <= self._n_expected(), n + block.shape[0], "or more")
                with in_rows(self._numbers(first, block.shape[0])):
                    update(first, block, copy.copy(self._run))
                if self.n_passes > 1 and not checks:
                    checks.append(checksum(block))
                n += block.shape[0]
                last = block if self.n_passes > 1 else None
                self._report(number, n)
        if n == 0:
            raise ValueError("X yielded no rows: has the iterator been used up before?")
        self._require(self._n_expected() in (n, np.inf), n)
        if self.n_passes > 1:
            found = (n, *checks, checksum(last))
            if self._first_pass and found != self._first_pass:
                raise changed(n, number)
            self._first_pass = found
        self._done = number
        return n

    def _n_known(self) -> int | None:
        return self.source.shape[0] if self.rows is None else len(self.rows)

    def _n_expected(self) -> float:
        return self._first_pass[0] if self._first_pass else self._n_known() or np.inf

    def _require(self, good: bool, n: int, more: str = "") -> None:
        if not good:
            before = f"pass 1 ({self._n_expected():,} rows)" if self._first_pass else f"{self._n_expected():,} rows"
            counted = f"{n:,} {more}".rstrip()
            raise ValueError(
                f"X changed between {before} and pass {self._done + 1} ({counted}): it must stay the same until the end"
            )

    def _numbers(self, first: int, n: int) -> Any:
        return range(first, first + n) if self.rows is None else self.rows[first : first + n]

    def _report(self, number: int, n: int) -> None:
        total = self._n_known()
        if self._progress is not None and total:
            share = (number - 1 + min(1.0, n / total)) / self.n_passes
            self._progress(f"pass {number} of {self.n_passes}", 0.9 * share)

    def _blocks(self) -> Generator[tuple[int, Any]]:
        """Blocks as the core takes them, of the width of the first one."""
        for first, block in self.source.blocks(self.rows, self.columns, self._block_bytes):
            columns = column_names(block)
            if columns is not None:
                if self._names is not None and list(columns) != list(self._names):
                    raise ValueError(
                        f"all blocks of X must have the columns of the first, but that from row {first} has others"
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
                    f"all blocks of X must have {width} columns, but that from row {first} has {block.shape[1]}"
                )
            yield first, block


def _ahead(blocks: Iterator[Any]) -> Generator[Any]:
    """Read blocks in a thread of its own while the caller works on others."""
    ready: Queue[tuple[Any, BaseException | None]] = Queue(_AHEAD)
    left = threading.Event()

    def put(block: Any, error: BaseException | None = None) -> None:
        while not left.is_set():
            try:
                return ready.put((block, error), timeout=0.1)
            except Full:
                continue

    def read() -> None:
        try:
            for block in blocks:
                put(block)
                if left.is_set():
                    return
        except BaseException as error:  # the caller's to raise
            put(None, error)
        else:
            put(None)

    thread = threading.Thread(target=read, name="fastfs-reader", daemon=True)
    thread.start()
    try:
        while True:
            block, error = ready.get()
            if error is not None:
                raise error
            if block is None:
                return
            yield block
    finally:
        left.set()
        thread.join()


def changed(n: int, number: int) -> ValueError:
    return ValueError(
        f"X changed between pass 1 and pass {number}: its {n:,} rows hold other values; it must stay the same until "
        "the end"
    )


def checksum(block: Any) -> int:
    """Of the values of a block, and of their places if it is sparse."""
    parts = (block.indptr, block.indices, block.data) if hasattr(block, "tocsr") else (block,)
    found = 0
    for part in parts:
        found = zlib.crc32(np.ascontiguousarray(part).view(np.uint8).data, found)
    return found


def reservoir(X: Any, size: int, seed: int, run: Run) -> tuple[Any, Integers, int]:
    """Return rows of X, drawn at random in one pass, their numbers, ascending, and how many rows there are.

    A row's number makes its random key, and the `size` rows with the smallest keys are taken: so it doesn't matter in
    which blocks X comes. All are taken if there are no more.
    """
    X = opened(X)
    if not is_stream(X):
        X = X if hasattr(X, "shape") else np.asarray(X)
        rows = _smallest_keys(np.arange(X.shape[0]), size, seed)
        return take_rows(X, rows), rows, X.shape[0]
    source = Source.of(X)
    if source.shape[0] is not None:
        rows = _smallest_keys(np.arange(source.shape[0]), size, seed)
        return source.load(run, rows=rows), rows, source.shape[0]
    parts: list[Any] = []
    rows, n = np.empty(0, np.int64), 0
    for first, block in source.blocks():
        n = first + n_rows(block)
        # What isn't among the smallest keys of its own block isn't among those of all.
        some = _smallest_keys(np.arange(first, n), size, seed)
        parts.append(take_rows(block, some - first))
        rows = np.append(rows, some)
        if len(rows) > 2 * size:
            parts, rows = _smallest_rows(parts, rows, size, seed)
    if n == 0:
        raise ValueError("X yielded no rows: has the iterator been used up before?")
    parts, rows = _smallest_rows(parts, rows, size, seed)
    return parts[0], rows, n


def sample_rows(X: Any, y: Any, size: int, seed: int, run: Run) -> tuple[Any, Any, Integers | None]:
    """Return `size` rows of X and of y, as of `reservoir`, and their numbers; if size is 0, X, loaded, y and None."""
    if not size:
        return loaded(X, run, advice="give n_rows=5000, which draws a sample"), y, None
    X, rows, n = reservoir(X, size, seed, run)
    as_labels(y, n, X.shape[1])  # its checks
    return X, take_rows(y, rows), rows


def _smallest_rows(parts: list[Any], rows: Integers, size: int, seed: int) -> tuple[list[Any], Integers]:
    kept = _smallest_keys(rows, size, seed)
    return [take_rows(stack(parts), np.searchsorted(rows, kept))], kept


def _smallest_keys(rows: Integers, size: int, seed: int) -> Integers:
    """Return those of the rows that have the smallest keys, ascending; a key is made by splitmix64."""
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
    """Return the sums of the rows of each group."""
    from scipy.sparse import csr_matrix

    n = block.shape[0]
    found = csr_matrix((np.ones(n), (groups, np.arange(n))), shape=(n_groups, n)) @ block
    sums: Array = found.toarray() if hasattr(found, "tocsr") else found
    return sums


class TargetRows:
    """The target of the rows of a source, block by block.

    `whole` and `chunk` read a target given for all rows and for some.
    """

    def __init__(self, y: Any, source: Source, run: Run, whole: Reader, chunk: Reader) -> None:
        if callable(y) and not hasattr(y, "shape"):
            y = iter(y())
        self._y, self._whole, self._chunk, self._run = y, whole, chunk, run
        self._n = source.shape[0]
        self._comes_in_chunks = hasattr(y, "__next__") and source.shape[0] is None
        self._target: Target | None = Target() if y is None else None
        self._chunks = same_columns((part for part in y if n_rows(part)), "y") if self._comes_in_chunks else iter(())
        self._is_cut_on_disk = is_on_disk(y) and len(y.shape) == 2
        if y is None or self._comes_in_chunks:
            return
        if not self._is_cut_on_disk:
            self._y = as_target(y[:] if is_on_disk(y) else y)
        if self._n is not None and len(self._y) != self._n:
            raise ValueError(f"X and y must have the same rows, but have {self._n} and {len(self._y)}")

    def rows(self, first: int, block: Any) -> Target:
        """Return the target of a block."""
        end = first + block.shape[0]
        if self._y is None:
            return Target()
        if self._comes_in_chunks:
            target = next(self._chunks, None)
            if target is None:
                raise ValueError("the chunks of y ended before those of the other")
            return self._chunk(target, block.shape, copy.copy(self._run))
        if end > len(self._y):
            raise ValueError(f"X and y must have the same rows, but y has {len(self._y)} and X has more")
        if self._is_cut_on_disk:
            return self._chunk(np.asarray(self._y[first:end]), block.shape, copy.copy(self._run))
        if self._target is None:
            self._target = self._whole(self._y, (len(self._y), block.shape[1]), self._run)
        return self._target.rows(first, end)

    def finish(self, n: int) -> None:
        """Check that the target has no more rows than the n of X."""
        if self._comes_in_chunks:
            if next(self._chunks, None) is not None:
                raise ValueError("the chunks of X ended before those of the other")
        elif self._y is not None and len(self._y) != n:
            raise ValueError(f"X and y must have the same rows, but have {n} and {len(self._y)}")


def dask_blocks(X: Any, y: Any, run: Run, read: Reader) -> tuple[list[tuple[int, Any, Target]], Array | None]:
    """Return the row blocks of a Dask array, each with its first row, delayed, with the target, and the classes.

    Numbers are delayed too if y is a Dask array of them, and may be of any type.
    """
    parts, classes = Source.of(X).delayed(), None
    if is_dask(y) and y.ndim == 2:
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"X and y must have the same rows, but have {X.shape[0]} and {y.shape[0]}")
        lengths = tuple(len(rows) for _, _, rows, _ in parts)
        targets = [Target(numbers=block) for block in y.rechunk({0: lengths, 1: -1}).to_delayed().ravel()]
    else:
        whole = read(y, X.shape, run)
        classes = whole.classes
        targets = [whole.rows(places.start, places.stop) for *_, places in parts]
    return [(first, block, target) for (first, block, *_), target in zip(parts, targets, strict=True)], classes


def merge_pairwise(parts: list[Any], merge: Callable[..., Any]) -> Any:
    """Merge delayed states in the order of their blocks, so that the result doesn't depend on the workers."""
    while len(parts) > 1:
        parts = [merge(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    with warnings.catch_warnings():
        # Labels and targets are part of the tasks, and a user can't send them in another way.
        warnings.filterwarnings("ignore", "Sending large graph")
        return parts[0].compute()
