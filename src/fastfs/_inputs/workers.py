"""Passes over a Dask array by a stream of the core, on Dask's workers."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.source import Source, choose_part
from fastfs._inputs.streams import block_checksum, changed_error, merge_pairwise, sum_groups
from fastfs._machine.errors import in_rows
from fastfs._machine.run import Run
from fastfs._types import Array, Integers


@dataclass(frozen=True)
class Share:
    """State of a stream after a pass over some blocks, with the sums of their rows."""

    state: bytes
    sums: Array | None
    checksum: int
    n_rows: int


class PassesOnWorkers:
    """Passes over a Dask array: each worker reads its row blocks; states, not rows, travel and are merged pairwise.

    `prepare` converts a block for the stream. `rows` (ascending) and `columns` select the part to read.
    """

    def __init__(
        self,
        source: Source,
        run: Run,
        prepare: Callable[[Any, Run], Any],
        *,
        rows: Integers | None = None,
        columns: Integers | None = None,
    ) -> None:
        """Prepare passes over `source`; nothing is read yet."""
        self._source, self._rows = source, rows
        self._how = (columns, prepare, run.budget)
        self._checksum: int | None = None  # checksum of the first pass

    def run_pass(self, stream: Any, groups: Integers | None = None, n_groups: int = 0) -> Share:
        """Pass all blocks to copies of the stream, load the merged state into it, and return that state.

        With `groups` (one per row), also return the sums of the rows of each. Raise ValueError if the rows differ from
        the first pass.
        """
        from dask.delayed import delayed

        part, merge = delayed(_share_of_block, pure=False), delayed(_merge_shares, pure=False)
        remote_stream = delayed(stream, pure=False, traverse=False)  # sent to each worker once
        shares = []
        for first, block, which, span in self._source.delayed_blocks(self._rows):
            of_block = None if groups is None else groups[span]
            if len(which):
                shares.append(part(remote_stream, first, block, which, span.start, of_block, n_groups, *self._how))
        share: Share = merge_pairwise(shares, partial(merge, remote_stream))
        if self._checksum is None:
            self._checksum = share.checksum
        elif share.checksum != self._checksum:
            raise changed_error(share.n_rows, 2)
        stream.load(share.state)
        return share


def _share_of_block(
    stream: Any,
    first: int,
    X: Any,
    rows: range | Integers,
    place: int,
    groups: Integers | None,
    n_groups: int,
    columns: Integers | None,
    prepare: Callable[[Any, Run], Any],
    budget: int,
) -> Share:
    """Return the state of a copy of the stream after one block, on a worker.

    first: the number of the block's first row in the array; rows: the rows to take of the block; place: how many rows
    of the pass come before it; groups: of the taken rows.
    """
    run = Run(1, budget or None)  # Dask runs one task per block, so each takes one thread
    stream_of_block = copy.copy(stream)
    with in_rows(first + np.asarray(rows)):
        block = as_matrix(choose_part(X, rows, columns), run)
        stream_of_block.update(prepare(block, run), place, run)
    sums = None if groups is None else sum_groups(block, groups, n_groups)
    return Share(stream_of_block.save(), sums, block_checksum(block), block.shape[0])


def _merge_shares(stream: Any, a: Share, b: Share) -> Share:
    """Return two shares as one, on a worker; neither is changed."""
    merged, other = copy.copy(stream), copy.copy(stream)
    merged.load(a.state)
    other.load(b.state)
    merged.merge(other)
    sums = None if a.sums is None or b.sums is None else a.sums + b.sums
    return Share(merged.save(), sums, a.checksum + b.checksum, a.n_rows + b.n_rows)
