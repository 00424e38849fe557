"""Uniform access to X in blocks of rows: arrays, files, Dask arrays, functions and iterators."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial, singledispatch
from typing import Any

import numpy as np

from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.paths import open_path
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.storage import check_structure, stack_blocks, stored_bytes
from fastfs._machine.run import Run, human
from fastfs._types import Array, Integers

# Stored bytes of a block: small enough to hold four blocks, large enough that the cost of a read call doesn't matter.
BLOCK_BYTES = 1 << 24
# A gap between selected rows is read along if it takes at most this many bytes, which is faster than another call.
_GAP_BYTES = 1 << 18

# Function that reads rows begin..end - 1.
_Read = Callable[[int, int], Any]


class Source:
    """Uniform access to X in blocks of rows.

    Parameters
    ----------
    shape : tuple of int or None
        Rows and columns; a number is None if it is unknown before all blocks were read.
    dtype : dtype or None
    kind : str
        Description of X for messages.
    is_sparse : bool
    read : callable, optional
        Returns rows ``begin`` to ``end - 1``.
    ends : callable, optional
        Returns the last row of each block, plus one, given the stored bytes that a block may have.
    start : callable, optional
        Returns an iterator of blocks; replaces `read` and `ends`.
    can_repeat : bool
        True if X can be read more than once.
    is_stored : bool
        True if X isn't in memory, so that reading ahead while computing saves time.
    by_columns : bool
        True if X is stored by columns, so that only all rows together can be read.
    n_bytes : int, optional
        Bytes that X takes in memory.
    is_packed : bool
        True for genotypes. They are never loaded, because only the blocks that are worked on are decoded.
    dask : Dask array, optional
        The Dask array that X is, rechunked into blocks of complete rows.
    """

    def __init__(
        self,
        shape: tuple[int | None, int | None],
        dtype: Any,
        kind: str,
        *,
        is_sparse: bool = False,
        read: _Read | None = None,
        ends: Callable[[int], Integers] | None = None,
        start: Callable[[], Iterator[Any]] | None = None,
        can_repeat: bool = True,
        is_stored: bool = False,
        by_columns: bool = False,
        n_bytes: int | None = None,
        is_packed: bool = False,
        dask: Any = None,
    ) -> None:
        """Keep the facts about X, and how to read it: `read` and `ends` give any rows, or `start` an iterator of
        blocks.
        """
        self.shape, self.dtype, self.kind, self.is_sparse = shape, dtype, kind, is_sparse
        self.can_repeat, self.is_stored, self.by_columns, self.n_bytes = can_repeat, is_stored, by_columns, n_bytes
        self.read, self._ends, self._start, self.is_packed, self.dask = read, ends, start, is_packed, dask

    @classmethod
    def from_data(cls, X: Any) -> "Source":
        """Return X as a source. Raises ValueError or TypeError if X can't be read."""
        source = as_stream(X)
        return _source_of_table(X) if source is None else source

    def blocks(
        self, rows: Integers | None = None, columns: Array | None = None, n_bytes: int = BLOCK_BYTES
    ) -> Iterator[tuple[int, Any]]:
        """Yield blocks, each with the position of its first row among the rows read; empty blocks are left out.

        `rows` (ascending) and `columns` select the part to read; default: all. `n_bytes` is the stored size of a block,
        unless X itself comes in blocks. Raise ValueError if X is stored by columns.
        """
        if self.by_columns:
            raise ValueError(
                f"X must be stored by rows if it takes more than a quarter of the memory budget; got {self.kind} by "
                "columns (CSC): raise max_memory, or write it by rows (`fastfs convert cells.h5ad --out rows.h5ad`)"
            )
        for first, block in self._read_blocks(rows, n_bytes):
            yield first, block if columns is None else _index_block(block, (slice(None), columns))

    def _read_blocks(self, rows: Integers | None, n_bytes: int) -> Iterator[tuple[int, Any]]:
        """Yield blocks of the selected rows, with all columns, each with its position among these rows.

        Raise ValueError if a block of an iterator has other columns than the first.
        """
        if self.read is None:
            begin, first = 0, None
            for block in self._start():  # type: ignore[misc]
                first = block if first is None else first
                _require_same_columns(first, block, begin)
                n = n_rows(block)
                if rows is not None:
                    low, high = np.searchsorted(rows, (begin, begin + n))
                    if low < high:
                        yield int(low), _index_block(block, rows[low:high] - begin)
                elif n:
                    yield begin, block
                begin += n
            return
        ends = self._ends(n_bytes).tolist()  # type: ignore[misc]
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            if rows is None:
                if begin < end:
                    yield begin, self.read(begin, end)
                continue
            low, high = np.searchsorted(rows, (begin, end))
            if low < high:
                yield int(low), self._read_rows(rows[low:high])

    def _read_rows(self, rows: Integers) -> Any:
        """Return the given rows of a block, in as few reads as the gaps between them allow."""
        read: Any = self.read
        if len(rows) == rows[-1] + 1 - rows[0]:
            return read(int(rows[0]), int(rows[-1]) + 1)
        widest = _GAP_BYTES * (self.shape[0] or 1) / max(1, self.n_bytes or 1)
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1 + widest) + 1)
        return stack_blocks([_index_block(read(int(run[0]), int(run[-1]) + 1), run - run[0]) for run in runs])

    def __getitem__(self, key: Any) -> "Source":
        """Return some rows and columns, in the order of X, as a source: ``[rows]`` or ``[rows, columns]``."""
        rows, columns = (
            np.sort(np.arange(size or 0)[part])
            for size, part in zip(self.shape, key if isinstance(key, tuple) else (key, slice(None)), strict=True)
        )
        return Source(
            (len(rows), len(columns)),
            self.dtype,
            self.kind,
            is_sparse=self.is_sparse,
            start=lambda: (block for _, block in self.blocks(rows, columns)),
            can_repeat=self.can_repeat,
            is_stored=self.is_stored,
        )

    def take_rows(self, rows: Integers) -> Any:
        """Return these rows in the given order; a row can be repeated."""
        ascending, places = np.unique(rows, return_inverse=True)
        table = stack_blocks([block for _, block in self.blocks(ascending)])
        return table if np.array_equal(ascending, rows) else table[places]

    def measure(self, run: Run, n_labels: int | None = None) -> tuple[bool, Any]:
        """Return whether X takes at most a quarter of the budget, and the object to read from now on.

        That is this source, or an iterator that repeats the blocks which are read here to find out: until they exceed
        that share, or have more rows than n_labels. Blocks that are read set the number of columns of `shape`.
        """
        max_bytes = run.available() // 4
        if self.n_bytes is not None:
            return self.n_bytes <= max_bytes, self
        blocks, kept_blocks, n_bytes_read, n = self.blocks(), deque[Any](), 0, 0
        for _, block in blocks:
            if not kept_blocks and np.ndim(block) == 2:
                self.shape = (self.shape[0], block.shape[1])
            kept_blocks.append(block)
            n_bytes_read, n = n_bytes_read + stored_bytes(block), n + n_rows(block)
            if n_bytes_read > max_bytes or (n_labels is not None and n > n_labels):
                break

        def replay_blocks() -> Iterator[Any]:
            while kept_blocks:
                yield kept_blocks.popleft()
            for _, block in blocks:
                yield block

        return n_bytes_read <= max_bytes, self if self.can_repeat else replay_blocks()

    def load_rows(
        self,
        run: Run,
        name: str = "X",
        rows: Integers | None = None,
        columns: Array | None = None,
        advice: str = "use ProjSe without permutations, or with those of whole groups, which reads blocks",
    ) -> Any:
        """Return the selected rows and columns as an array, or a CSR or CSC container.

        Raise MemoryError, which ends with `advice`, if they take more than a quarter of the budget, and ValueError if
        there are no rows.
        """
        available = run.available()

        def require_memory(n_bytes: int, more: str = "") -> None:
            if n_bytes > available // 4:
                raise MemoryError(
                    f"{name} is {self.kind} that needs {human(n_bytes)}{more} of memory, more than a quarter of "
                    f"the memory budget of {human(available)}: raise max_memory (or FASTFS_MAX_MEMORY), give fewer "
                    f"rows or features, or {advice}"
                )

        if self.n_bytes is not None and rows is None and columns is None:
            require_memory(self.n_bytes)
            run.reserve_memory(self.n_bytes, name, "give fewer rows or features")
            return self.read(0, self.shape[0])  # type: ignore[misc, arg-type]
        if self.by_columns:
            matrix = self.load_rows(run, name, advice=advice)
            selected = matrix if rows is None else matrix.tocsr()[rows]
            return selected if columns is None else selected[:, columns]
        if rows is not None and self.n_bytes is not None and self.shape[0]:
            require_memory(self.n_bytes * len(rows) // self.shape[0])
        blocks, n_bytes_read = [], 0
        for block in self._wanted_blocks(rows, columns):
            n_bytes_read += stored_bytes(block)
            require_memory(n_bytes_read, " or more")
            blocks.append(block)
        if not blocks:
            raise ValueError(f"{name} must have rows; got none from {self.kind}")
        run.reserve_memory(n_bytes_read, name, "give fewer rows or features")
        return stack_blocks(blocks)

    def _wanted_blocks(self, rows: Integers | None, columns: Array | None) -> Iterator[Any]:
        """Yield the selected part of each block; Dask's workers select rows, so that no other rows leave them."""
        if self.dask is None or rows is None:
            return (block for _, block in self.blocks(rows, columns))
        from dask.base import compute
        from dask.delayed import delayed

        part = delayed(choose_part, pure=False)
        return iter(compute(*(part(X, which, columns) for _, X, which, _ in self.delayed_blocks(rows) if len(which))))

    def delayed_blocks(self, rows: Integers | None = None) -> list[tuple[int, Any, range | Integers, slice]]:
        """Return the row blocks of a Dask array, delayed; `rows` (ascending) selects rows, default: all.

        Each entry has the first row of the block, the block, the selected rows in it (for `choose_part`), and their
        positions among all selected rows.
        """
        ends = np.cumsum(self.dask.chunks[0]).tolist()
        parts: list[tuple[int, Any, range | Integers, slice]] = []
        for block, begin, end in zip(self.dask.to_delayed().ravel(), [0, *ends[:-1]], ends, strict=True):
            if rows is None:
                parts.append((begin, block, range(end - begin), slice(begin, end)))
            else:
                low, high = np.searchsorted(rows, (begin, end)).tolist()
                parts.append((begin, block, rows[low:high] - begin, slice(low, high)))
        return parts


def choose_part(block: Any, rows: range | Integers, columns: Array | None) -> Any:
    """Return the given rows and columns of a block, by default all columns.

    A range selects nothing: raise ValueError if the block has another number of rows.
    """
    if not isinstance(rows, range):
        block = _index_block(block, rows)
    elif n_rows(block) != len(rows):
        raise ValueError(
            f"a chunk of X must have {len(rows)} rows, as X.chunks says; got {n_rows(block)}: call "
            "X.compute_chunk_sizes() first"
        )
    return block if columns is None else _index_block(block, (slice(None), columns))


def describe_difference(expected: Sequence[Any], columns: Sequence[Any]) -> str:
    """Describe the first difference between two different lists of column names."""
    for j, (name, other) in enumerate(zip(expected, columns, strict=False)):
        if name != other:
            return f"{other!r} for {name!r} as column {j} (0-based)"
    return f"{len(columns)} columns for {len(expected)}"


def _names_of_columns(block: Any) -> list[Any] | None:
    """Return the column names of a frame or a table of Arrow; None for an array."""
    names = getattr(block, "column_names", getattr(block, "columns", None))
    return None if names is None else list(names)


def _require_same_columns(first: Any, block: Any, row: int) -> None:
    """Raise ValueError if the block of rows from `row` on has other columns than the first block, or another order."""
    widths = [len(part.shape) == 2 and part.shape[1] for part in (first, block) if hasattr(part, "shape")]
    if len(set(widths)) > 1 and False not in widths:
        raise ValueError(f"all blocks of X must have {widths[0]} columns; got {widths[1]} in the block from row {row}")
    expected, names = (_names_of_columns(part) for part in (first, block))
    if expected is not None and names is not None and names != expected:
        raise ValueError(
            f"all blocks of X must have the columns of the first; got {describe_difference(expected, names)} in the "
            f"block from row {row}"
        )


def _index_block(block: Any, key: Any) -> Any:
    """Return the given rows, or rows and columns, of a block."""
    if hasattr(block, "to_pandas") and hasattr(block, "column_names"):  # a table of Arrow can't choose columns
        block = block.to_pandas()
    check_structure(block)
    return (block.iloc if hasattr(block, "iloc") else block)[key]


def n_rows(block: Any) -> int:
    """Return the number of rows of a block; a scalar counts as one."""
    return int(np.shape(block)[0]) if np.ndim(block) else 1


def as_stream(X: Any) -> Source | None:
    """Return X as a source if it isn't in memory: a path, a function, an iterator, a Dask array, or data on disk.

    Return None for a table in memory, memory maps among them; raise ValueError for a Dask DataFrame. This is the only
    place that decides between the two.
    """
    if isinstance(X, np.ndarray):  # the most common case, and memory maps of files
        return None
    if hasattr(X, "to_dask_array"):  # np.asarray would load the entire frame
        raise ValueError("a Dask DataFrame isn't supported: give X.to_dask_array(lengths=True)")
    if isinstance(X, Source):
        return X
    if isinstance(X, str | os.PathLike):
        return Source.from_data(open_path(X))
    if hasattr(X, "__next__"):
        return Source((None, None), None, "an iterator", start=lambda: X, can_repeat=False)
    if callable(X) and not hasattr(X, "shape") and not hasattr(X, "__array__"):  # not a callable array
        return Source((None, None), None, "a function", start=lambda: _call_function(X))
    if is_dask(X):
        return _source_of_dask(X)
    if _is_sparse_group(X):
        return _source_of_sparse_group(X)
    return _source_on_disk(X) if is_on_disk(X) else None


def _call_function(function: Any) -> Iterator[Any]:
    """Call a function and return its iterator of blocks."""
    blocks = function()
    if hasattr(blocks, "shape") or not hasattr(blocks, "__iter__"):
        raise TypeError(f"X as a function must return an iterator of blocks of rows; got {type(blocks).__name__}")
    return iter(blocks)


def is_dask(X: Any) -> bool:
    """Return True if X is a Dask array."""
    return hasattr(X, "to_delayed") and hasattr(X, "rechunk")


def is_on_disk(X: Any) -> bool:
    """Return True if X is an array with chunks that isn't in memory. A contiguous array of h5py has chunks None."""
    return not isinstance(X, np.ndarray) and all(hasattr(X, a) for a in ("chunks", "dtype", "shape", "__getitem__"))


def _encoding_type(X: Any) -> str:
    """Return how anndata has encoded a group of an HDF5 or Zarr file."""
    return str(getattr(X, "attrs", {}).get("encoding-type", ""))


def _is_sparse_group(X: Any) -> bool:
    """Return True if X is a sparse matrix on disk: the X of a backed AnnData, or the group of a file that holds one."""
    return (hasattr(X, "group") and hasattr(X, "format") and hasattr(X, "to_memory")) or (
        not hasattr(X, "dtype") and _encoding_type(X) in ("csr_matrix", "csc_matrix")
    )


def _block_ends(n: int, row_bytes: int, chunk: int, block_bytes: int) -> Integers:
    """Return the ends of blocks that consist of complete chunks of rows."""
    step = max(1, block_bytes // max(1, row_bytes))
    step = max(chunk, step // chunk * chunk)
    return np.minimum(np.arange(step, n + step, step), n)


def _require_2d(X: Any) -> None:
    """Raise ValueError unless X has two dimensions."""
    if len(X.shape) != 2:
        raise ValueError(f"X must be a 2-D array of samples x features; got {len(X.shape)}-D")


def _source_on_disk(X: Any) -> Source:
    """Return a source for an array on disk."""
    _require_2d(X)
    return _source_of_array(X, "an array on disk", X.chunks[0] if X.chunks else 1, is_stored=True)


@singledispatch
def _source_of_table(X: Any) -> Source:
    """Return a source for a table in memory."""
    if not hasattr(X, "shape") or hasattr(X, "iloc"):
        X = np.asarray(X)
    _require_2d(X)
    return _source_of_array(X, "an array", 1, is_stored=isinstance(X, np.memmap))


@_source_of_table.register(Sparse)
def _(X: Any) -> Source:
    _require_2d(X)
    n_bytes = stored_bytes(X)
    X = X.tocsr()
    ends = partial(_sparse_ends, X.indptr, n_bytes)
    return Source(X.shape, X.dtype, "a matrix", is_sparse=True, read=_csr_reader(X), ends=ends, n_bytes=n_bytes)


@_source_of_table.register(Genotypes)
def _(X: Genotypes) -> Source:
    """Return a source of packed genotypes, in blocks of samples."""
    n, d = X.shape
    ends, n_bytes = partial(_block_ends, n, -(-d // 4), 1), stored_bytes(X)
    return Source(
        (n, d),
        X.dtype,
        "genotypes",
        read=lambda begin, end: X[begin:end],
        ends=ends,
        n_bytes=n_bytes,
        is_packed=True,
    )


def _source_of_array(X: Any, kind: str, chunk: int, *, is_stored: bool) -> Source:
    """Return a source for a 2-D array; `chunk` rows are stored together."""
    row_bytes = X.shape[1] * X.dtype.itemsize
    return Source(
        X.shape,
        X.dtype,
        kind,
        read=lambda begin, end: np.asarray(X[begin:end]),
        ends=partial(_block_ends, X.shape[0], row_bytes, chunk),
        is_stored=is_stored,
        n_bytes=X.shape[0] * row_bytes,
    )


def _sparse_ends(indptr: Integers, n_bytes: int, block_bytes: int) -> Integers:
    """Return the ends of blocks with about equal numbers of stored bytes."""
    n_blocks = max(1, -(-n_bytes // block_bytes))
    n_stored = int(indptr[-1])
    inner = np.searchsorted(indptr, np.arange(1, n_blocks) * (n_stored / n_blocks))
    return np.unique(np.append(inner, len(indptr) - 1))


def _csr_reader(X: Any) -> _Read:
    """Return a function that reads rows of a CSR matrix in memory without a copy."""

    def read_rows(begin: int, end: int) -> Any:
        low, high = int(X.indptr[begin]), int(X.indptr[end])
        parts = (X.data[low:high], X.indices[low:high], X.indptr[begin : end + 1] - X.indptr[begin])
        return type(X)(parts, shape=(end - begin, X.shape[1]), copy=False)

    return read_rows


def _source_of_sparse_group(X: Any) -> Source:
    """Return a source for a sparse matrix on disk. It reads `indptr` once, and parts of `data` and `indices` per block.

    Raise ValueError if its parts aren't numbers or `indptr` doesn't fit. A matrix stored by columns is read as a whole.
    """
    from scipy.sparse import csc_matrix, csr_matrix

    group = getattr(X, "group", X)
    by_columns = _encoding_type(group) == "csc_matrix" if group is X else X.format == "csc"
    n, d = (int(size) for size in (group.attrs["shape"] if group is X else X.shape))
    data, indices, indptr = group["data"], group["indices"], np.asarray(group["indptr"][:])
    for part, kinds in (("data", "biufc"), ("indices", "iu"), ("indptr", "iu")):
        if group[part].dtype.kind not in kinds:
            got = group[part].dtype
            raise ValueError(
                f"X is a damaged sparse matrix: its {part} must be numbers; got {got}: write the file anew"
            )
    outer = d if by_columns else n
    if len(indptr) != outer + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0) or indptr[-1] > data.shape[0]:
        raise ValueError(
            f"X is a damaged sparse matrix: indptr must have {outer + 1} ascending entries from 0 to at most "
            f"{data.shape[0]}; got {len(indptr)} entries: write the file anew"
        )
    narrow = indices.dtype.itemsize <= 4
    n_bytes = int(indptr[-1]) * (data.dtype.itemsize + indices.dtype.itemsize) + indptr.nbytes

    def read_slice(begin: int, end: int) -> Any:
        low, high = int(indptr[begin]), int(indptr[end])
        places = (indptr[begin : end + 1] - low).astype(np.int32 if narrow and high - low < 1 << 31 else np.int64)
        form = csc_matrix if by_columns else csr_matrix
        shape = (n, end - begin) if by_columns else (end - begin, d)
        return form((np.asarray(data[low:high]), np.asarray(indices[low:high]), places), shape=shape, copy=False)

    return Source(
        (n, d),
        data.dtype,
        "a sparse matrix on disk",
        is_sparse=True,
        read=(lambda _, __: read_slice(0, d)) if by_columns else read_slice,
        ends=partial(_sparse_ends, indptr, n_bytes),
        is_stored=True,
        by_columns=by_columns,
        n_bytes=n_bytes,
    )


def _source_of_dask(X: Any) -> Source:
    """Return a source for a Dask array, with its row blocks; raise ValueError unless it is 2-D with rows and known
    lengths.
    """
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D array of samples x features; got {X.ndim}-D")
    if np.isnan(X.shape[0]):
        raise ValueError("the row blocks of X must have known lengths: call X.compute_chunk_sizes() first")
    if X.shape[0] == 0:
        raise ValueError("X must have rows; got none")
    rows = X.rechunk({1: -1})
    is_sparse = isinstance(X._meta, Sparse)
    return Source(
        X.shape,
        X.dtype,
        "a Dask array",
        is_sparse=is_sparse,
        read=lambda begin, end: rows[begin:end].compute(),
        ends=lambda _: np.cumsum(rows.chunks[0]),
        n_bytes=None if is_sparse else X.shape[0] * X.shape[1] * X.dtype.itemsize,
        dask=rows,
    )
