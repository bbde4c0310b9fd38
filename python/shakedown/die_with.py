"""No process outlives whoever it works for."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1

# Loaded before any fork: a child may call it, not load it.
_libc: Final = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int) -> None:
    """Ask the kernel to kill this process when the parent dies, and go at once if it is already dead."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
