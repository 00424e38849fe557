"""X from anywhere, in blocks of rows: arrays, files, Dask arrays, functions and iterators."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastfs._inputs.sparse import check_structure
from fastfs._machine.run import Run, human
from fastfs._types import Array, Integers

# Stored bytes of a block: few enough for four of them, enough for the calls that read one not to matter.
BLOCK_BYTES = 1 << 24
# Rows that aren't wanted are read along if they take no more: less time than another call.
_GAP_BYTES = 1 << 18

# Reads rows begin..end - 1.
_Read = Callable[[int, int], Any]


class Source:
    """X in blocks of rows, whatever it is.

    Parameters
    ----------
    shape : tuple of int or None
        Rows and columns; None if they aren't known before all blocks were read.
    dtype : dtype or None
    kind : str
        What it is, for messages.
    is_sparse : bool
    read : callable, optional
        Returns rows ``begin`` to ``end - 1``.
    ends : callable, optional
        Returns the last row of each block, plus one, given the stored bytes that a block may have.
    start : callable, optional
        Returns an iterator of blocks, in place of `read` and `ends`.
    can_repeat : bool
        Whether it can be read more than once.
    is_stored : bool
        Whether it isn't in memory, so that reading it beside computing saves time.
    by_columns : bool
        Whether it is stored by columns, so that rows can be read all at once only.
    n_bytes : int, optional
        Bytes that it takes in memory.
    dask : Dask array, optional
        That it is, in blocks of whole rows.
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
        dask: Any = None,
    ) -> None:
        self.shape, self.dtype, self.kind, self.is_sparse = shape, dtype, kind, is_sparse
        self.can_repeat, self.is_stored, self.by_columns, self.n_bytes = can_repeat, is_stored, by_columns, n_bytes
        self.read, self._ends, self._start, self.dask = read, ends, start, dask

    @classmethod
    def of(cls, X: Any) -> "Source":
        """Return X as a source. Raises ValueError or TypeError if it is none."""
        if isinstance(X, Source):
            return X
        X = opened(X)
        if hasattr(X, "__next__"):
            return cls((None, None), None, "an iterator", start=lambda: X, can_repeat=False)
        if _is_function(X):
            return cls((None, None), None, "a function", start=lambda: _called(X))
        if is_dask(X):
            return _of_dask(X)
        if _is_sparse_group(X):
            return _of_sparse_group(X)
        return _of_rows(X)

    def blocks(
        self, rows: Integers | None = None, columns: Array | None = None, n_bytes: int = BLOCK_BYTES
    ) -> Iterator[tuple[int, Any]]:
        """Yield blocks, each with the place of its first row among those read; empty ones are left out.

        `rows` are those to read, ascending, and `columns` those to keep; default: all. `n_bytes` are the stored bytes
        of a block, where X doesn't come in blocks of its own.
        """
        if self.by_columns:
            raise ValueError(
                f"X is {self.kind} by columns (CSC) that is larger than a quarter of the memory budget, but is read by "
                "rows: raise max_memory, or write it by rows (`fastfs convert cells.h5ad --out rows.h5ad`)"
            )
        for first, block in self._some(rows, n_bytes):
            yield first, block if columns is None else _choose(block, (slice(None), columns))

    def _some(self, rows: Integers | None, n_bytes: int) -> Iterator[tuple[int, Any]]:
        if self.read is None:
            begin = 0
            for block in self._start():  # type: ignore[misc]
                n = n_rows(block)
                if rows is not None:
                    low, high = np.searchsorted(rows, (begin, begin + n))
                    if low < high:
                        yield int(low), _choose(block, rows[low:high] - begin)
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
                yield int(low), self._pick(rows[low:high])

    def _pick(self, rows: Integers) -> Any:
        """Rows of a block, read in as few runs as their gaps are worth."""
        read: Any = self.read
        if len(rows) == rows[-1] + 1 - rows[0]:
            return read(int(rows[0]), int(rows[-1]) + 1)
        widest = _GAP_BYTES * (self.shape[0] or 1) / max(1, self.n_bytes or 1)
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1 + widest) + 1)
        return stack([_choose(read(int(run[0]), int(run[-1]) + 1), run - run[0]) for run in runs])

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

    def take(self, rows: Integers) -> Any:
        """Return these rows, in their order; some may come twice."""
        ascending, places = np.unique(rows, return_inverse=True)
        found = stack([block for _, block in self.blocks(ascending)])
        return found if np.array_equal(ascending, rows) else found[places]

    def is_small(self, run: Run, n_labels: int | None = None) -> tuple[bool, Any]:
        """Tell whether it takes no more than a quarter of the budget, and return what to read in its place.

        Blocks that come one by one are read to find out, as far as there are labels.
        """
        most = run.available() // 4
        if self.n_bytes is not None:
            return self.n_bytes <= most, self
        blocks, kept, taken, n = self.blocks(), deque[Any](), 0, 0
        for _, block in blocks:
            if not kept and np.ndim(block) == 2:
                self.shape = (self.shape[0], block.shape[1])
            kept.append(block)
            taken, n = taken + _bytes_of(block), n + n_rows(block)
            if taken > most or (n_labels is not None and n > n_labels):
                break

        def again() -> Iterator[Any]:
            while kept:
                yield kept.popleft()
            for _, block in blocks:
                yield block

        return taken <= most, self if self.can_repeat else again()

    def load(
        self,
        run: Run,
        name: str = "X",
        rows: Integers | None = None,
        columns: Array | None = None,
        advice: str = "use ProjSe without permutations, or with those of whole groups, which reads blocks",
    ) -> Any:
        """Return these rows and columns, as an array, or a CSR or CSC container.

        Raises MemoryError, which ends with `advice`, if they take more than a quarter of the budget.
        """
        available = run.available()

        def require(n_bytes: int, more: str = "") -> None:
            if n_bytes > available // 4:
                raise MemoryError(
                    f"{name} is {self.kind}, of which {human(n_bytes)}{more} must be in memory, more than a quarter of "
                    f"the memory budget of {human(available)}: raise max_memory (or FASTFS_MAX_MEMORY), give fewer "
                    f"rows or features, or {advice}"
                )

        if self.n_bytes is not None and rows is None and columns is None:
            require(self.n_bytes)
            run.take(self.n_bytes, name, "give fewer rows or features")
            return self.read(0, self.shape[0])  # type: ignore[misc, arg-type]
        if self.by_columns:
            whole = self.load(run, name, advice=advice)
            some = whole if rows is None else whole.tocsr()[rows]
            return some if columns is None else some[:, columns]
        if rows is not None and self.n_bytes is not None and self.shape[0]:
            require(self.n_bytes * len(rows) // self.shape[0])
        blocks, taken = [], 0
        for block in self._wanted(rows, columns):
            taken += _bytes_of(block)
            require(taken, " or more")
            blocks.append(block)
        if not blocks:
            raise ValueError(f"{name} is {self.kind} that yielded no rows")
        run.take(taken, name, "give fewer rows or features")
        return stack(blocks)

    def _wanted(self, rows: Integers | None, columns: Array | None) -> Iterator[Any]:
        """Yield these rows and columns of each block; Dask's workers choose rows, so that no others leave them."""
        if self.dask is None or rows is None:
            return (block for _, block in self.blocks(rows, columns))
        from dask.base import compute
        from dask.delayed import delayed

        part = delayed(chosen, pure=False)
        return iter(compute(*(part(X, which, columns) for _, X, which, _ in self.delayed(rows) if len(which))))

    def delayed(self, rows: Integers | None = None) -> list[tuple[int, Any, range | Integers, slice]]:
        """Return the row blocks of a Dask array, delayed; `rows` are those wanted, ascending, default: all.

        Of each block come its first row, the block, which of its rows are wanted, as of `chosen`, and their places
        among all of these.
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


def chosen(block: Any, rows: range | Integers, columns: Array | None) -> Any:
    """Return these rows of a block, a range being all that it must have, and these columns; default: all."""
    if not isinstance(rows, range):
        block = _choose(block, rows)
    elif n_rows(block) != len(rows):
        raise ValueError(f"a block of X must have {len(rows)} rows, as its array says, but has {n_rows(block)}")
    return block if columns is None else _choose(block, (slice(None), columns))


def _choose(block: Any, key: Any) -> Any:
    """Return these rows, or rows and columns, of a block."""
    check_structure(block)
    return (block.iloc if hasattr(block, "iloc") else block)[key]


def stack(blocks: Sequence[Any]) -> Any:
    """Return blocks of rows as one table; a single one isn't copied."""
    if len(blocks) == 1:
        return blocks[0]
    if hasattr(blocks[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate(blocks)


def n_rows(block: Any) -> int:
    return int(np.shape(block)[0]) if np.ndim(block) or hasattr(block, "tocsr") else 1


def is_stream(X: Any) -> bool:
    """Whether X isn't an array in memory: a path, a function, an iterator, a Dask array, or data on disk."""
    if hasattr(X, "to_dask_array"):  # which np.asarray would compute as a whole
        raise ValueError("a Dask DataFrame isn't supported: give X.to_dask_array(lengths=True)")
    return (
        isinstance(X, Source | str | os.PathLike)
        or hasattr(X, "__next__")
        or _is_function(X)
        or is_dask(X)
        or _is_sparse_group(X)
        or is_on_disk(X)
    )


def opened(X: Any) -> Any:
    """Return the memory map, array on disk, group or genotypes that a path names; anything else as it is."""
    if not isinstance(X, str | os.PathLike):
        return X
    path = Path(X)
    if path.suffix not in (".h5ad", ".zarr", ".npy", ".bed"):
        raise ValueError(f"X as a path must end with .h5ad, .zarr, .npy or .bed, but is '{path}': give its table")
    if not path.exists():
        raise FileNotFoundError(f"X is a path, but '{path}' doesn't exist")
    if path.suffix == ".bed":
        from fastfs.io import read_plink

        return read_plink(path)
    try:
        if path.suffix == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        if path.suffix == ".h5ad":
            import h5py

            found = h5py.File(path, "r")
        else:
            import zarr

            found = zarr.open(str(path), mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"X is a path, but '{path}' can't be read as {path.suffix}: {error}") from error
    return _X_of(found, path)


def _called(function: Any) -> Iterator[Any]:
    """Return the blocks that a function yields."""
    found = function()
    if hasattr(found, "shape") or not hasattr(found, "__iter__"):
        raise TypeError(f"X is a function, which must return an iterator of blocks of rows, not {type(found).__name__}")
    return iter(found)


def is_dask(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "rechunk")


def is_on_disk(X: Any) -> bool:
    """Whether X is an array with chunks that isn't in memory; h5py has chunks None for contiguous ones."""
    return not isinstance(X, np.ndarray) and all(hasattr(X, a) for a in ("chunks", "dtype", "shape", "__getitem__"))


def is_genotypes(X: Any) -> bool:
    """Whether X is a :class:`fastfs.io.Genotypes`, whose module imports this one."""
    return hasattr(X, "bits") and hasattr(X, "check_file")


def _is_function(X: Any) -> bool:
    return callable(X) and not hasattr(X, "shape") and not hasattr(X, "__array__")


def _encoding(X: Any) -> str:
    """How anndata has stored a group of an HDF5 or Zarr file."""
    return str(getattr(X, "attrs", {}).get("encoding-type", ""))


def _is_sparse_group(X: Any) -> bool:
    """Whether X is a sparse matrix on disk, as backed AnnData has it, or the group of a file that holds one."""
    return (hasattr(X, "group") and hasattr(X, "format") and hasattr(X, "to_memory")) or (
        not hasattr(X, "dtype") and _encoding(X) in ("csr_matrix", "csc_matrix")
    )


def _bytes_of(block: Any) -> int:
    if is_genotypes(block):
        return int(block.bits.nbytes)
    if hasattr(block, "tocsr"):
        return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)
    return int(np.asarray(block).nbytes)


def _X_of(opened: Any, path: Path) -> Any:
    """The X of a file of AnnData, or the array that the file is."""
    if hasattr(opened, "dtype"):
        return opened
    if "X" not in opened:
        raise ValueError(f"'{path}' has no X: open it, and give the array to read")
    return opened["X"]


def _ends(n: int, row_bytes: int, chunk: int, block_bytes: int) -> Integers:
    """Ends of blocks of whole chunks of rows."""
    step = max(1, block_bytes // max(1, row_bytes))
    step = max(chunk, step // chunk * chunk)
    return np.minimum(np.arange(step, n + step, step), n)


def _require_2d(X: Any) -> None:
    if len(X.shape) != 2:
        raise ValueError(f"X must be a 2-D array of samples x features, not {len(X.shape)}-D")


def _of_rows(X: Any) -> Source:
    """Of a table of which rows can be taken: an array, a memory map, a sparse matrix, an array on disk, genotypes."""
    if not hasattr(X, "shape") or hasattr(X, "iloc"):
        X = np.asarray(X)
    _require_2d(X)
    n, d = X.shape
    if hasattr(X, "tocsr"):
        n_bytes = _bytes_of(X)
        X = X.tocsr()
        ends = partial(_sparse_ends, X.indptr, n_bytes)
        return Source(X.shape, X.dtype, "a matrix", is_sparse=True, read=_rows_of(X), ends=ends, n_bytes=n_bytes)
    if is_genotypes(X):
        ends, n_bytes = partial(_ends, n, -(-d // 4), 1), X.bits.nbytes
        return Source(X.shape, X.dtype, "genotypes", read=lambda begin, end: X[begin:end], ends=ends, n_bytes=n_bytes)
    stored = is_on_disk(X)
    chunk = X.chunks[0] if stored and X.chunks else 1
    return Source(
        X.shape,
        X.dtype,
        "an array on disk" if stored else "an array",
        read=lambda begin, end: np.asarray(X[begin:end]),
        ends=partial(_ends, n, d * X.dtype.itemsize, chunk),
        is_stored=stored or isinstance(X, np.memmap),
        n_bytes=n * d * X.dtype.itemsize,
    )


def _sparse_ends(indptr: Integers, n_bytes: int, block_bytes: int) -> Integers:
    """Ends of blocks of about as many stored bytes."""
    n_blocks = max(1, -(-n_bytes // block_bytes))
    n_stored = int(indptr[-1])
    inner = np.searchsorted(indptr, np.arange(1, n_blocks) * (n_stored / n_blocks))
    return np.unique(np.append(inner, len(indptr) - 1))


def _rows_of(X: Any) -> _Read:
    """Rows of a CSR matrix in memory, without a copy."""

    def read(begin: int, end: int) -> Any:
        low, high = int(X.indptr[begin]), int(X.indptr[end])
        parts = (X.data[low:high], X.indices[low:high], X.indptr[begin : end + 1] - X.indptr[begin])
        return type(X)(parts, shape=(end - begin, X.shape[1]), copy=False)

    return read


def _of_sparse_group(X: Any) -> Source:
    """Of a sparse matrix on disk. `indptr` is read once, and of `data` and `indices` what each block needs."""
    from scipy.sparse import csc_matrix, csr_matrix

    group = getattr(X, "group", X)
    by_columns = _encoding(group) == "csc_matrix" if group is X else X.format == "csc"
    n, d = (int(size) for size in (group.attrs["shape"] if group is X else X.shape))
    data, indices, indptr = group["data"], group["indices"], np.asarray(group["indptr"][:])
    for part, kinds in (("data", "biufc"), ("indices", "iu"), ("indptr", "iu")):
        if group[part].dtype.kind not in kinds:
            raise ValueError(f"X is a damaged sparse matrix: its {part} are of type {group[part].dtype}")
    outer = d if by_columns else n
    if len(indptr) != outer + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0) or indptr[-1] > data.shape[0]:
        raise ValueError("X is a damaged sparse matrix: its indptr doesn't fit its shape and values")
    narrow = indices.dtype.itemsize <= 4
    n_bytes = int(indptr[-1]) * (data.dtype.itemsize + indices.dtype.itemsize) + indptr.nbytes

    def read(begin: int, end: int) -> Any:
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
        read=(lambda _, __: read(0, d)) if by_columns else read,
        ends=partial(_sparse_ends, indptr, n_bytes),
        is_stored=True,
        by_columns=by_columns,
        n_bytes=n_bytes,
    )


def _of_dask(X: Any) -> Source:
    if X.ndim != 2:
        raise ValueError(f"X must be a 2-D array of samples x features, not {X.ndim}-D")
    if np.isnan(X.shape[0]):
        raise ValueError("the row blocks of X must have known lengths: call X.compute_chunk_sizes() first")
    if X.shape[0] == 0:
        raise ValueError("X has no rows")
    rows = X.rechunk({1: -1})
    is_sparse = hasattr(X._meta, "tocsr")
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
