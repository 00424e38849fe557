"""Passes over a Dask array by a stream of the core, on Dask's workers."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastfs._inputs.matrix import as_matrix
from fastfs._inputs.source import Source, chosen
from fastfs._inputs.streams import changed, checksum, merge_pairwise, sum_groups
from fastfs._machine.errors import in_rows
from fastfs._machine.run import Run
from fastfs._types import Array, Integers


@dataclass(frozen=True)
class Share:
    """What a pass has found in some blocks."""

    found: bytes
    sums: Array | None
    checksum: int
    n_rows: int


class PassesOnWorkers:
    """Each worker reads its row blocks; what they found, not the rows, travels and is merged pairwise.

    `prepare` makes a block what the stream takes; `rows`, ascending, and `columns` are those to read.
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
        self._source, self._rows = source, rows
        self._how = (columns, prepare, run.budget)
        self._checksum: int | None = None  # of the first pass

    def run(self, stream: Any, groups: Integers | None = None, n_groups: int = 0) -> Share:
        """Load what all blocks hold into the stream; with `groups`, of each row, come the sums of their rows."""
        from dask.delayed import delayed

        part, merge = delayed(_share_of_block, pure=False), delayed(_merged, pure=False)
        there = delayed(stream, pure=False, traverse=False)  # sent to each worker once
        shares = []
        for first, block, which, span in self._source.delayed(self._rows):
            of_block = None if groups is None else groups[span]
            if len(which):
                shares.append(part(there, first, block, which, span.start, of_block, n_groups, *self._how))
        share: Share = merge_pairwise(shares, partial(merge, there))
        if self._checksum is None:
            self._checksum = share.checksum
        elif share.checksum != self._checksum:
            raise changed(share.n_rows, 2)
        stream.load(share.found)
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
    run = Run(1, budget or None)  # a block is a task of its own: one thread each
    own = copy.copy(stream)
    with in_rows(first + np.asarray(rows)):
        block = as_matrix(chosen(X, rows, columns), run)
        own.update(prepare(block, run), place, run)
    sums = None if groups is None else sum_groups(block, groups, n_groups)
    return Share(own.save(), sums, checksum(block), block.shape[0])


def _merged(stream: Any, a: Share, b: Share) -> Share:
    own = copy.copy(stream)
    for share in (a, b):
        own.load(share.found)
    sums = None if a.sums is None or b.sums is None else a.sums + b.sums
    return Share(own.save(), sums, a.checksum + b.checksum, a.n_rows + b.n_rows)
