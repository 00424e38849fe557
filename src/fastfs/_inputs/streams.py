"""Tables that come in row chunks: iterators, arrays on disk (HDF5, Zarr), Dask arrays."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fastfs._inputs.matrix import as_matrix, column_names, is_genotypes
from fastfs._inputs.targets import Reader, Target, as_target
from fastfs._machine.errors import within
from fastfs._machine.run import Run
from fastfs._types import Array


def as_chunks(X: Any, run: Run, y: Any = None) -> list[Any]:
    """Return the row chunks of X, each as of `as_matrix`: those that an iterator yields, or X as the only one.

    An iterator is left as soon as it has yielded more rows than y has labels, or more bytes than the budget allows.
    """
    if not hasattr(X, "__next__"):
        return [as_matrix(X, run)]
    n_labels = len(y) if hasattr(y, "__len__") else None
    chunks: list[Any] = []
    n_rows = n_bytes = 0
    for number, chunk in enumerate(X):
        with within("chunk", number):
            chunk = as_matrix(chunk, run)
        if chunks and chunk.shape[1] != chunks[0].shape[1]:
            raise ValueError(
                f"all chunks of X must have the {chunks[0].shape[1]} features of the first, but chunk {len(chunks)} "
                f"(counted from 0) has {chunk.shape[1]}"
            )
        n_rows += chunk.shape[0]
        n_bytes += (chunk.bits if is_genotypes(chunk) else chunk.data).nbytes
        if n_labels is not None and n_rows > n_labels:
            raise ValueError(f"y has {n_labels} labels, but the chunks of X have {n_rows} rows or more")
        if run.budget and n_bytes > run.budget:
            raise MemoryError(
                f"the chunks of X take {n_bytes} bytes or more, but the memory budget is {run.budget} bytes: raise "
                "max_memory (or FASTFS_MAX_MEMORY), or give fewer features"
            )
        if chunk.shape[0]:
            chunks.append(chunk)
    if not chunks:
        raise ValueError("X is an iterator of row chunks, but yielded no rows: has it been used up before?")
    return chunks


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


def is_stream(X: Any) -> bool:
    """Whether X comes in row chunks: an iterator, a Dask array, or an array on disk (HDF5, Zarr)."""
    if hasattr(X, "to_dask_array"):  # which np.asarray would compute as a whole
        raise ValueError("a Dask DataFrame isn't supported: give X.to_dask_array(lengths=True)")
    return hasattr(X, "__next__") or is_dask(X) or _is_on_disk(X)


def is_dask(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "rechunk")


def _is_on_disk(X: Any) -> bool:
    """Whether X is an array with chunks that isn't in memory; h5py has chunks None for contiguous ones."""
    return not isinstance(X, np.ndarray) and all(hasattr(X, a) for a in ("chunks", "dtype", "shape", "__getitem__"))


_CHUNK_BYTES = 1 << 26


def _slices(X: Any) -> Iterator[tuple[int, int]]:
    """Row ranges of about 64 MB of an array on disk, whole chunks of it each."""
    n, d = X.shape
    step = max(1, _CHUNK_BYTES // max(1, d * X.dtype.itemsize))
    if X.chunks:
        own = X.chunks[0]
        step = max(own, step // own * own)
    return ((begin, min(begin + step, n)) for begin in range(0, n, step))


def row_chunks(
    X: Any, y: Any, run: Run, whole: Reader, chunk: Reader, names: Any = None
) -> Iterator[tuple[Any, Target]]:
    """Yield chunks of X and of the target; empty ones are left out.

    `whole` and `chunk` read a target given for all rows and for some; `names` are those of the columns of X so far.
    """
    if _is_on_disk(X):
        if len(X.shape) != 2:
            raise ValueError(f"X must be a 2-D array of samples x features, not {len(X.shape)}-D")
        ranges, rows, source, target = list(_slices(X)), X.shape[0], X, y
        X = (np.asarray(source[begin:end]) for begin, end in ranges)
        if _is_on_disk(target):
            if target.shape[0] != rows:
                raise ValueError(f"X and y must have the same rows, but have {rows} and {target.shape[0]}")
            y = (np.asarray(target[begin:end]) for begin, end in ranges) if len(target.shape) == 2 else target[:]
        if y is not None and not hasattr(y, "__next__"):
            y = as_target(y)
            if len(y) != rows:
                raise ValueError(f"X and y must have the same rows, but have {rows} and {len(y)}")
    elif not hasattr(X, "__next__"):
        X = iter([X])
    X = same_columns(X, "X", names)
    if y is None:
        yield from ((as_matrix(rows, _of_chunk(run)), Target()) for rows in X if _n_rows(rows))
    elif hasattr(y, "__next__"):
        yield from _pairs(X, same_columns(y, "y"), run, chunk)
    else:
        yield from _cut(X, as_target(y), run, whole)


def _of_chunk(run: Run) -> Run:
    """A chunk gives its memory back before the next one comes: what a copy of it takes is taken from a copy."""
    return copy.copy(run)


def _n_rows(chunk: Any) -> int:
    return int(np.shape(chunk)[0]) if np.ndim(chunk) or hasattr(chunk, "tocsr") else 1


def _pairs(X: Iterator[Any], y: Iterator[Any], run: Run, read: Reader) -> Iterator[tuple[Any, Target]]:
    nothing = object()
    while True:
        chunk, target = next(X, nothing), next(y, nothing)
        if chunk is nothing and target is nothing:
            return
        if chunk is nothing or target is nothing:
            raise ValueError(f"the chunks of {'X' if chunk is nothing else 'y'} ended before those of the other")
        if _n_rows(chunk) or _n_rows(target):
            own = _of_chunk(run)
            chunk = as_matrix(chunk, own)
            yield chunk, read(target, chunk.shape, own)


def _cut(X: Iterator[Any], y: Array, run: Run, read: Reader) -> Iterator[tuple[Any, Target]]:
    n = len(y)
    begin, whole = 0, None
    for chunk in X:
        if not _n_rows(chunk):
            continue
        chunk = as_matrix(chunk, _of_chunk(run))
        if whole is None:
            whole = read(y, (n, chunk.shape[1]), run)
        end = begin + chunk.shape[0]
        if end > n:
            raise ValueError(f"X and y must have the same rows, but y has {n} and X has more")
        yield chunk, whole.rows(begin, end)
        begin = end
    if begin < n:
        raise ValueError(f"X and y must have the same rows, but have {begin} and {n}")


def dask_blocks(X: Any, y: Any, run: Run, read: Reader) -> tuple[list[tuple[Any, Target]], Array | None]:
    """Return the row blocks of a Dask array, each delayed and with the target of its rows, and the classes.

    Numbers are delayed too if y is a Dask array of them, and may be of any type.
    """
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D array of samples x features, not {X.ndim}-D")
    if np.isnan(X.shape[0]):
        raise ValueError("the row blocks of X must have known lengths: call X.compute_chunk_sizes() first")
    if X.shape[0] == 0:
        raise ValueError("X has no rows")
    X = X.rechunk({1: -1})
    lengths = X.chunks[0]
    classes = None
    if is_dask(y) and y.ndim == 2:
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"X and y must have the same rows, but have {X.shape[0]} and {y.shape[0]}")
        targets = [Target(numbers=block) for block in y.rechunk({0: lengths, 1: -1}).to_delayed().ravel()]
    else:
        whole = read(y, X.shape, run)
        classes = whole.classes
        ends = np.cumsum(lengths).tolist()
        targets = [whole.rows(end - n, end) for n, end in zip(lengths, ends, strict=True)]
    return list(zip(X.to_delayed().ravel(), targets, strict=True)), classes
