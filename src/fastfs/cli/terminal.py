"""Shared by the commands: consoles, one-line messages, progress, and clean exits while files are written."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from fastfs.io import on_one_line

PLOT_ENDINGS = (".png", ".pdf", ".svg")


class _Errors(Console):
    """Standard error. A disk that is full or a reader that has gone costs the messages, not the work."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def tell(self, *message: Any, **how: Any) -> None:
        try:
            self.print(*message, soft_wrap=True, **how)
        except OSError:
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # Rich would leave by SystemExit


_errors = _Errors()


def prepare_streams() -> None:
    """Let the standard streams take any text, and let no file that is opened later take the place of a closed one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:  # in a daemon, or with pythonw
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Greek letters must not stop a ranking that has them.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def check_shown(out: Path | None) -> None:
    """Refuse, before any work, to print a result that nobody could see."""
    if out is None and sys.stdout is None:
        raise ValueError("Standard output is closed: write the result to a file with --out")


def output() -> Console:
    """Return standard output. A pipe gets no width, so that no name is cut short."""
    return Console() if sys.stdout is not None and sys.stdout.isatty() else Console(width=10_000)


def say(sentence: str) -> None:
    """Print a sentence on standard error."""
    _errors.tell(on_one_line(sentence), markup=False, highlight=False)


def say_kind(kind: str, colour: str, message: str) -> None:
    """Print an error or a warning on one line."""
    sentence = on_one_line(" ".join(message.split()))
    if sentence[-1:] not in ".?!":  # an error is raised without
        sentence += "."
    _errors.tell(Text.assemble((f"{kind}: ", f"bold {colour}"), sentence))


@contextmanager
def progress(first_step: str) -> Iterator[Callable[[str, float], None] | None]:
    """Yield a callback that moves a progress bar, or None if stderr isn't a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_errors, transient=True) as bar:
        task = bar.add_task(first_step, total=None)
        yield lambda step, fraction: bar.update(task, description=step, total=1.0, completed=fraction)


@contextmanager
def signals_as_exits() -> Iterator[None]:
    """While files are written, let SIGTERM and SIGHUP leave the block as SystemExit does, so that it is cleaned up.

    Elsewhere they end the process immediately, also within a long call of a library.
    """

    def leave(number: int, _: Any) -> None:
        for other in ours:  # a terminal that closes may send both: the first one's clean-up goes on
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    # Windows has no SIGHUP; Python handles signals in the main thread only; nohup has SIGHUP ignored, which must last.
    ours = [
        getattr(signal, name)
        for name in ("SIGTERM", "SIGHUP")
        if hasattr(signal, name) and threading.current_thread() is threading.main_thread()
    ]
    ours = [number for number in ours if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, leave)
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
