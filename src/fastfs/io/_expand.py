"""Compressed files, which may expand to far more than fits."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fastfs._machine.run import Run


def too_large(path: Path, n_bytes: int, budget: int) -> MemoryError:
    return MemoryError(
        f"'{path}' expands to {n_bytes} bytes or more, but the memory budget is {budget} bytes: raise max_memory (or "
        "FASTFS_MAX_MEMORY), or check where the file comes from"
    )


@contextmanager
def open_expanded(path: Path, budget: int | None) -> Iterator[IO[bytes]]:
    """The bytes of a file, which are expanded if its name ends in .gz, up to the budget (None: the machine's)."""
    if path.suffix.lower() != ".gz":
        with open(path, "rb") as plain:
            yield plain
        return
    try:
        with gzip.open(path, "rb") as file, io.BufferedReader(Bounded(file, path, budget), 1 << 18) as bounded:
            yield bounded
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"'{path}' is no gzip file, or a damaged one: {error}") from error


class Bounded(io.RawIOBase):
    """A file of which no more is read than the budget allows."""

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
