"""Tables that come in row chunks."""

from collections.abc import Iterable, Iterator
from typing import Any

from fastfs._inputs.matrix import as_matrix
from fastfs._machine.run import Run


def as_chunks(X: Any, run: Run, y: Any = None) -> list[Any]:
    """Return the row chunks of X, each as of `as_matrix`: those that an iterator yields, or X as the only one.

    An iterator is left as soon as it has yielded more rows than y has labels, or more bytes than the budget allows.
    """
    if not hasattr(X, "__next__"):
        return [as_matrix(X, run)]
    n_labels = len(y) if hasattr(y, "__len__") else None
    chunks: list[Any] = []
    n_rows = n_bytes = 0
    for chunk in X:
        chunk = as_matrix(chunk, run)
        if chunks and chunk.shape[1] != chunks[0].shape[1]:
            raise ValueError(
                f"all chunks of X must have the {chunks[0].shape[1]} features of the first, but chunk {len(chunks)} "
                f"(counted from 0) has {chunk.shape[1]}"
            )
        n_rows += chunk.shape[0]
        n_bytes += chunk.data.nbytes
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
        columns = getattr(chunk, "columns", None)
        if columns is not None:
            if names is not None and list(columns) != list(names):
                raise ValueError(
                    f"all chunks of {name} must have the columns of the first, but chunk {number} (from 0) has others"
                )
            names = columns
        yield chunk
