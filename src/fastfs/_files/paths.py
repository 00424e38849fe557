"""Files to read and to write: checks before the work, names in system errors, and writing all or nothing."""

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastfs._files.errors import any_of

# Names of temporaries. Their random part differs between processes, threads, containers and hosts.
_TEMPORARY = re.compile(r"\.fastfs-[0-9a-f]{16}(\.\w+)?")

# Seconds after which a temporary that nobody writes to is a leftover. A writer never pauses for as long.
_LEFTOVER = 24 * 3600


# Encoding of text that holds file names, which can have bytes that aren't UTF-8; JSON restores its escapes.
UNPRINTABLE = "backslashreplace"


# Characters that end a line, move the cursor, colour or hide text on a terminal, or reverse its direction.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Escape the bytes of file names that are not UTF-8, which no file, picture or terminal takes."""
    return text.encode("utf-8", UNPRINTABLE).decode("utf-8")


def on_one_line(text: str) -> str:
    r"""Escape line breaks, tabs and other characters that control a terminal as ``\n``, ``\t`` and ``\x1b``."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), printable(text))


def check_input(path: Path) -> None:
    """Raise FileNotFoundError or ValueError if `path` is missing, empty, -, or a directory not named .zarr."""
    if str(path) == "-":
        raise ValueError("Standard input (-) can't be read here: write it to a file, and give the name of that file")
    if not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'")
    if path.is_dir() != (path.suffix.lower() == ".zarr"):
        actual, expected = ("directory", "file") if path.is_dir() else ("file", "directory, as Zarr stores are")
        raise ValueError(f"'{path}' is a {actual}; expected a {expected}: correct the path")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"'{path}' is empty: give a file with data")


def check_output(path: str | os.PathLike[str], endings: Collection[str]) -> None:
    """Raise ValueError, before any work, if a result with one of these endings could not be written to `path`."""
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise ValueError(f"Cannot write '{path}': its name must end in {any_of(endings)}")
    _writable_file(path)


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the file that `path` leads to; a loop of symbolic links leads to one of them."""
    return Path(os.path.realpath(path))


def _writable_file(path: Path) -> tuple[Path, os.stat_result | None]:
    """Return the file that `path` leads to, and its lstat, None if new; raise ValueError if it can't be written."""
    target = resolved(path)
    folder = target.parent
    if not folder.is_dir():
        raise ValueError(f"Cannot write '{path}': there is no directory '{folder}'; create it first")
    try:
        before = os.lstat(target)
    except FileNotFoundError:
        before = None
    except OSError as error:  # a name that is too long, or that the file system doesn't take
        raise ValueError(f"Cannot write '{path}': {error.strerror}; choose another name") from None
    if before is not None and not stat.S_ISREG(before.st_mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFLNK: "a loop of symbolic links", stat.S_IFIFO: "a named pipe"}
        kind = kinds.get(stat.S_IFMT(before.st_mode), "a device or socket")
        raise ValueError(f"Cannot write '{path}': it is {kind}; choose another name")
    if not os.access(folder, os.W_OK | os.X_OK) or (before is not None and _is_held(before, os.stat(folder))):
        raise ValueError(f"Cannot write '{path}': no permission to write in '{folder}'; choose another directory")
    return target, before


def _is_held(file: os.stat_result, folder: os.stat_result) -> bool:
    """Tell whether only another user may replace a file, as in /tmp."""
    if not folder.st_mode & stat.S_ISVTX or not hasattr(os, "geteuid"):
        return False
    return os.geteuid() not in (0, file.st_uid, folder.st_uid)


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block name `path` if it names no file, such as one of a full disk, or `temporary`."""
    try:
        yield
    except OSError as error:
        is_sentence = isinstance(error, FileNotFoundError) and not error.errno  # of `check_input`
        if is_sentence or error.filename not in (None, str(temporary)):
            raise
        # Libraries reword the system's message, or raise errors without a number; Python shows no file name for these.
        message = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or errno.EIO, message, str(path)) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `path` when the block ends well and vanishes when it does not.

    Each writer of the file has a separate temporary: the last one that ends stays. A file that exists keeps its mode
    and, as far as the system lets us, its owner, group and access list. Raise ValueError if it can't be written.
    Leftovers of killed writers are removed.
    """
    target, before = _writable_file(Path(path))
    # In the folder of the target, because a rename is atomic only within one file system. The ending tells the format.
    temporary = target.with_name(f".fastfs-{secrets.token_hex(8)}{target.suffix}")
    # Nobody else reads a temporary that will be as private as the file before it.
    mode = 0o666 if before is None else 0o600
    try:
        with naming(target, temporary):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            _sweep(temporary)
            yield temporary
            if before is not None:
                _take_over(temporary, target, before)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _take_over(temporary: Path, target: Path, before: os.stat_result) -> None:
    """Give a temporary the owner, group, access list and mode of the file that it replaces.

    Owner and group stay the writer's without permission; another group then gets the rights of everybody.
    """
    with suppress(FileNotFoundError):  # another process has removed the file
        if hasattr(os, "chown"):
            for owner in ((before.st_uid, before.st_gid), (-1, before.st_gid)):
                with suppress(PermissionError):
                    os.chown(temporary, *owner)
                    break
        shutil.copystat(target, temporary)  # access lists are among the extended attributes
        os.utime(temporary)
        if os.stat(temporary).st_gid != before.st_gid:
            # The old group's rights aren't passed to another group, which gets the rights of everybody.
            everybody = stat.S_IMODE(before.st_mode) & 0o007
            os.chmod(temporary, stat.S_IMODE(before.st_mode) & ~0o7070 | everybody << 3)


def _sweep(temporary: Path) -> None:
    """Remove the temporaries of killed writers, which are older than `_LEFTOVER`, in the folder of a new one."""
    now = temporary.stat().st_mtime  # by the clock of the file system, which may be another machine's
    with suppress(OSError):  # a folder that can't be listed
        for other in os.scandir(temporary.parent):
            if _TEMPORARY.fullmatch(other.name):
                with suppress(OSError):  # another user's, or swept by somebody else
                    if now - other.stat(follow_symlinks=False).st_mtime > _LEFTOVER:
                        os.unlink(other.path)
