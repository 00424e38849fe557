"""What the commands share: consoles, one-line messages, progress, and clean exits while files are written."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

PLOT_ENDINGS = (".png", ".pdf", ".svg")

_errors = Console(stderr=True)


def output() -> Console:
    """Standard output. A pipe has no width, and a name cut short there could not be used."""
    return Console() if sys.stdout.isatty() else Console(width=10_000)


def say(sentence: str) -> None:
    """Print a sentence on standard error, as it is."""
    _errors.print(sentence, markup=False, highlight=False, soft_wrap=True)


def say_kind(kind: str, colour: str, message: str) -> None:
    """Print an error or a warning on one line."""
    sentence = " ".join(message.split())
    if sentence[-1:] not in ".?!":  # an error is raised without
        sentence += "."
    _errors.print(Text.assemble((f"{kind}: ", f"bold {colour}"), sentence), soft_wrap=True)


@contextmanager
def progress(first_step: str) -> Iterator[Callable[[str, float], None] | None]:
    """A callback that moves a progress bar, or None if stderr is no terminal."""
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

    Elsewhere they end the process at once, also within a long call of a library.
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
