"""Files that expand to far more than they take on disk: compressed ones, and declared sizes without content."""

import gzip
import io
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fastfs._machine.run import Run, human

_GZIP = b"\x1f\x8b"

# Bytes of a name, or of another short string, in a list.
TEXT_BYTES = 100


class Held:
    """The bytes that a reader keeps of a file: MemoryError before they exceed the budget (None: the machine's)."""

    def __init__(self, path: Path, budget: int | None) -> None:
        self._path, self._budget, self._n_bytes = path, Run(max_memory=budget).available(), 0

    def add(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._n_bytes > self._budget:
            raise too_large(self._path, self._n_bytes, self._budget)

    def add_stored(self, *stored: Any) -> None:
        """Count arrays of HDF5 or Zarr, or groups of them, by the sizes that they declare."""
        for part in stored:
            self.add(_declared(part))


def _declared(stored: Any, depth: int = 3) -> int:
    if hasattr(stored, "dtype"):
        is_text = stored.dtype.kind in "OSTU"
        return math.prod(stored.shape or (0,)) * (TEXT_BYTES if is_text else stored.dtype.itemsize)
    if depth and hasattr(stored, "values"):  # a column of a table may be a group; a link may lead to itself
        return sum(_declared(part, depth - 1) for part in stored.values())
    return 0


def too_large(path: Path, n_bytes: int, budget: int) -> MemoryError:
    return MemoryError(
        f"'{path}' expands to {human(n_bytes)} or more, but the memory budget is {human(budget)}: raise max_memory (or "
        "FASTFS_MAX_MEMORY), or check where the file comes from"
    )


@contextmanager
def open_expanded(path: Path, budget: int | None) -> Iterator[IO[bytes]]:
    """Yield a file for its bytes, expanded if its ending or first bytes are gzip's, up to the budget (None: the
    machine's).
    """
    with open(path, "rb") as plain:
        if path.suffix.lower() != ".gz" and plain.peek(2)[:2] != _GZIP:
            yield plain
            return
        with _expanded(plain, path, budget) as expanded:
            yield expanded


@contextmanager
def _expanded(plain: IO[bytes], path: Path, budget: int | None) -> Iterator[IO[bytes]]:
    """Yield the expanded bytes of a gzip file, at most the budget; raise ValueError for a damaged file."""
    try:
        with (
            gzip.GzipFile(fileobj=plain, mode="rb") as file,
            io.BufferedReader(Bounded(file, path, budget), 1 << 18) as bounded,
        ):
            yield bounded
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"'{path}' isn't a gzip file, or is damaged: {error}; download or compress it again"
        ) from error


class Bounded(io.RawIOBase):
    """A file that is read up to the bytes that the budget allows."""

    def __init__(self, file: Any, path: Path, budget: int | None) -> None:
        self._file, self._path, self._n_bytes = file, path, 0
        self._budget = Run(max_memory=budget).available()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._n_bytes = 0
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        n_bytes: int = self._file.readinto(buffer)
        self._n_bytes += n_bytes
        if self._n_bytes > self._budget:
            raise too_large(self._path, self._n_bytes, self._budget)
        return n_bytes
