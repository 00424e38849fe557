"""Calls of the core side by side, for work that one call can't distribute among its threads."""

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
    """Yield ``call(item, its run)`` for each item in order, with as many calls at the same time as `run` has threads.

    A call takes `n_bytes`; fewer calls run at the same time if the budget holds no more. A call alone gets all threads,
    others one each. If the caller stops early, or Ctrl-C or an error comes, the other calls are cancelled. Calls must
    issue no warnings, because the warnings filter of a process isn't made for threads.
    """
    at_once = min(run.count_threads(), len(items), max(1, run.available() // max(1, n_bytes)))
    if at_once < 2:
        yield from (call(item, run) for item in items)
        return
    ended = threading.Event()

    def check(step: str, share: float) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    item_run = Run(1, None, check)
    item_run.budget = run.budget
    rest = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        waiting: deque[Future[R]] = deque(pool.submit(call, item, item_run) for item in itertools.islice(rest, at_once))
        try:
            while waiting:
                first = waiting.popleft()
                while not wait([first], timeout=0.1).done:
                    pass  # Python handles Ctrl-C between two waits, even if another thread got the signal
                result = first.result()
                waiting.extend(pool.submit(call, item, item_run) for item in itertools.islice(rest, 1))
                yield result
        finally:  # reached by Ctrl-C, an error, or a caller that stops early
            ended.set()
            for future in waiting:
                future.cancel()
