"""Files to read and to write: checks before the work, names in system errors, and writing all or nothing."""

import errno
import glob
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastfs.io._errors import any_of


def check_input(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'")
    if path.is_dir() != (path.suffix.lower() == ".zarr"):
        found, expected = ("directory", "file") if path.is_dir() else ("file", "directory, as Zarr stores are")
        raise ValueError(f"'{path}' is a {found}; expected a {expected}")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"'{path}' is empty")


def check_output(path: str | os.PathLike[str], endings: Collection[str]) -> None:
    """Raise ValueError, before any work, if a result with one of these endings could not be written to `path`."""
    path = Path(path)
    folder = path.resolve().parent
    if path.suffix.lower() not in endings:
        raise ValueError(f"Cannot write '{path}': its name must end in {any_of(endings)}")
    if not folder.is_dir():
        raise ValueError(f"Cannot write '{path}': there is no directory '{folder}'")
    if path.is_dir():
        raise ValueError(f"Cannot write '{path}': it is a directory")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"Cannot write '{path}': you may not write in '{folder}'")


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block name `path` if it names no file, such as one of a full disk, or `temporary`."""
    try:
        yield
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise
        # Libraries word the system's message anew, or raise one without a number, beside which Python shows no name.
        message = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or errno.EIO, message, str(path)) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when the block ends well and vanishes when it does not."""
    path = Path(path).resolve()
    # Beside the target, because a rename is atomic only within one file system; with its ending, which tells formats.
    temporary = path.with_name(f".{path.stem}.fastfs-{os.getpid()}{path.suffix}")
    _sweep(path)
    try:
        with naming(path, temporary):
            yield temporary
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove the temporaries of `path` whose processes were killed before they could."""
    if os.name != "posix":  # os.kill would end the process there
        return
    before, after = f".{path.stem}.fastfs-", path.suffix
    for name in glob.glob(f"{glob.escape(before)}*{glob.escape(after)}", root_dir=path.parent):
        # Others stay: the process or the file may be another user's, or the name no number.
        with suppress(PermissionError, ValueError, OverflowError):
            try:
                os.kill(int(name.removeprefix(before).removesuffix(after)), 0)
            except ProcessLookupError:
                path.with_name(name).unlink(missing_ok=True)
