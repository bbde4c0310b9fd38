"""What the status of a rebuild (``/proc/mdstat``, ``zpool status``) said is left, beside what was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple


class Look(NamedTuple):
    """With ``share`` done (0..1) the status said ``said_ns``; in truth it took another ``left_ns``."""

    share: float
    said_ns: float
    left_ns: float

    @property
    def error(self) -> float:
        """0 if it was right, -0.5 if it said half."""
        return self.said_ns / self.left_ns - 1


def look_at(share: float, progress: Iterable[Mapping[str, Any]], duration_ns: float) -> Look | None:
    """The look nearest to ``share``; None if nobody looked near it, or the status said nothing then.

    ``progress`` has ``at_ns``, ``done_bytes`` and ``left_ns`` of each look. A short one is over between two.
    """
    looks = [look for look in progress if look["at_ns"] <= duration_ns]
    whole = max((look["done_bytes"] for look in looks), default=0)
    told = [look for look in looks if look["left_ns"] is not None and 0 < look["at_ns"] < duration_ns]
    nearest = min(told, key=lambda look: abs(look["done_bytes"] - share * whole), default=None)
    if nearest is None or not whole or abs(nearest["done_bytes"] / whole - share) > _NEAR:
        return None
    return Look(nearest["done_bytes"] / whole, nearest["left_ns"], duration_ns - nearest["at_ns"])


_NEAR: Final = 0.05


def off_by(least: float, most: float) -> str:
    """From one error to another in words: seeds whose errors cancel each other are no good estimate."""
    if are_alike(least, most):
        least = most = (least + most) / 2
    if least < 0 < most:
        return f"{_way(least)} to {_way(most)}"
    nearer, farther = sorted((least, most), key=abs)
    if nearer == farther:
        return _way(farther)
    if farther >= _MANY_TIMES:
        return f"{1 + nearer:.3g} to {1 + farther:.3g} times what is left"
    return f"{abs(nearer):.0%} to {_way(farther)}"


def are_alike(one: float, other: float) -> bool:
    """Whether nobody needs two figures for two errors."""
    return abs(one - other) < _ALIKE


def _way(error: float) -> str:
    if error >= _MANY_TIMES:
        return f"{1 + error:.3g} times what is left"
    if abs(error) < _RIGHT:
        return "right"
    return f"{abs(error):.0%} too {'short' if error < 0 else 'long'}"


_ALIKE: Final = 0.05
_RIGHT: Final = 0.005
"""What would be told as 0 %."""
_MANY_TIMES: Final = 9
"""From ten times what is left on nobody thinks in percent."""
