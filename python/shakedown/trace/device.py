"""What the two forms of a block trace share: which events count, and that they are of one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from shakedown.errors import UsageError
from shakedown.trace.frame import Request

OTHER_ACTION: Final = 'it may hold some of the other `action`, "issue" or "queue"'
"""The hint where a trace holds no request."""

Action = Literal["issue", "queue"]
"""Which events become requests: those sent to the drive (D), or those asked of the block layer (Q)."""

_ACTIONS: Final = get_args(Action)


def check_action(action: Action) -> Action:
    """Raise UsageError if it is none."""
    if action not in _ACTIONS:
        raise UsageError(f"`{action}` is no action", hint="`issue` or `queue`")
    return action


def one_device(path: Path, requests: Mapping[str, Sequence[Request]], device: str | None) -> Sequence[Request]:
    """The requests to ``device``, or to the only one there is. Raises UsageError."""
    names = ", ".join(f"`{name}`" for name in sorted(requests))
    if device is not None and device not in requests:
        raise UsageError(f"`{path}` holds no request to `{device}`", hint=f"it holds some to {names or 'no device'}")
    if device is None and len(requests) > 1:
        raise UsageError(f"`{path}` holds requests to several devices: {names}", hint="choose one: `device=...`")
    return next(iter(requests.values()), ()) if device is None else requests[device]
