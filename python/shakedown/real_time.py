"""A real-time share of the machine, where it is allowed: what other processes do is no part of a drive."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
HINT: Final = "as root, or with CAP_SYS_NICE or `ulimit -r 1`, it would come before them"

# Loaded before any fork, as in `die_with`.
_libc: Final = ctypes.CDLL(None, use_errno=True)


@contextmanager
def ahead_of_others() -> Iterator[bool]:
    """What this thread starts meanwhile, threads and processes, runs before all that has no such share.

    Yields whether that is allowed; if not, all is as it was.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    allowed = False
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
        allowed = True
    try:
        yield allowed
    finally:
        if allowed:
            os.sched_setscheduler(0, policy, parameters)


def keep_in_memory() -> None:
    """Let nothing that this process has used be paged out, if that is allowed: reading it again takes milliseconds."""
    _libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)
