"""Work spread over all cores, a process each, that ends as a whole when its user wants it to."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
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
def on_every_core(
    function: Callable[..., T], orders: Sequence[tuple[Any, ...]], *, ends_all: type[BaseException] = BaseException
) -> Iterator[list[Future[T]]]:
    """The futures of ``function(*order)`` for each order, in their order.

    Function and orders have to be picklable. What is raised inside the ``with`` drops the orders that have not begun;
    if it is an ``ends_all``, those under way are ended too, else they are waited for.
    """
    if _NO_LITANY not in sys.warnoptions:
        sys.warnoptions.append(_NO_LITANY)
    # Spawned, not forked: a fork would copy the locks of running threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores(), mp_context=context, initializer=die_with, initargs=(os.getpid(),)) as pool:
        # A Ctrl-C reaches every process of the terminal: one that only waits for work leaves it to us.
        kept = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            pending = [pool.submit(function, *order) for order in orders]
        finally:
            signal.signal(signal.SIGINT, kept)
        try:
            yield pending
        except BaseException as error:
            if isinstance(error, ends_all):
                for worker in multiprocessing.active_children():
                    worker.terminate()
            pool.shutdown(cancel_futures=True)
            raise
