"""Work spread over all cores, a process each, that ends as a whole when its user wants it to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

from shakedown.die_with import die_with

T = TypeVar("T")

# Multiprocessing has a process of its own clear up behind one that was killed, and it tells the terminal of that: it
# takes this option from ours as it starts.
_NO_LITANY: Final = "ignore:resource_tracker:UserWarning"


def cores() -> int:
    """How many of the machine's cores we may use, which `taskset` and a container's `cpuset` may make fewer."""
    return len(os.sched_getaffinity(0))


@contextmanager
def on_every_core(function: Callable[..., T], orders: Sequence[tuple[Any, ...]]) -> Iterator[list[Future[T]]]:
    """The futures of ``function(*order)`` for each order, in their order.

    Function and orders have to be picklable. What is raised inside the ``with`` drops the orders that have not begun
    and kills the processes of those under way: what they have to leave tidy is for the caller.
    """
    if _NO_LITANY not in sys.warnoptions:
        sys.warnoptions.append(_NO_LITANY)
    # Spawned, not forked: a fork would copy the locks of running threads.
    context = multiprocessing.get_context("spawn")
    with (
        _interrupted_once(),
        ProcessPoolExecutor(cores(), mp_context=context, initializer=die_with, initargs=(os.getpid(),)) as pool,
    ):
        try:
            # A Ctrl-C reaches every process of the terminal: one that only waits for work leaves it to us.
            kept = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                pending = [pool.submit(function, *order) for order in orders]
            finally:
                signal.signal(signal.SIGINT, kept)
            yield pending
        except BaseException:
            # Killed, not terminated: a run hears SIGTERM, and would first end its step.
            for worker in multiprocessing.active_children():
                worker.kill()
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """Of the signals that are Ctrl-C to us only the first is heard.

    The next would leave the pool half shut down, and Python waits at its end for every process of it.
    """
    numbers = [each for each in signal.valid_signals() if signal.getsignal(each) is signal.default_int_handler]
    asked = False

    def hear(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise KeyboardInterrupt

    try:
        for number in numbers:
            signal.signal(number, hear)
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.default_int_handler)
