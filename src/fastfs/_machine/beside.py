"""Calls of the core beside each other: what one call can't share among its threads, several can."""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from fastfs._machine.run import Run

T = TypeVar("T")
R = TypeVar("R")


def beside(call: Callable[[T, Run], R], items: Sequence[T], run: Run, n_bytes: int) -> Iterator[R]:
    """Yield ``call(item, its run)`` for each item in their order, on so many threads at once as `run` has.

    A call takes `n_bytes`, and fewer run at once if the budget holds no more. Where there is room for one only, it has
    all threads. A call warns of nothing: the warnings filter of a process isn't made for threads.
    """
    at_once = min(run.count_threads(), len(items), max(1, run.available() // max(1, n_bytes)))
    if at_once < 2:
        yield from (call(item, run) for item in items)
        return
    ended = threading.Event()

    def check(step: str, share: float) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    own = Run(1, None, check)
    own.budget = run.budget
    rest = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        waiting: deque[Future[R]] = deque(pool.submit(call, item, own) for item in itertools.islice(rest, at_once))
        try:
            while waiting:
                first = waiting.popleft()
                while not wait([first], timeout=0.1).done:
                    pass  # Ctrl-C is heard between two waits, whichever thread the system tells
                found = first.result()
                waiting.extend(pool.submit(call, item, own) for item in itertools.islice(rest, 1))
                yield found
        finally:  # by Ctrl-C, an error, or a caller who has enough
            ended.set()
            for future in waiting:
                future.cancel()
