"""What rebuilds of real drives would do, said before they begin: size, who fails, bytes, hours at the least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shakedown.array.capacity import Capacity
from shakedown.array.order import RebuildOrder
from shakedown.array.state import Turn
from shakedown.errors import EnvironmentFailure, Planned
from shakedown.units import NS_PER_S, format_duration, format_size

ALONE_S: Final = 60.0
"""For how long a load is watched on the healthy array."""
# Of hard drives the fastest, in order: assumed, and only for telling hours from days.
_IN_ORDER_BYTES_S: Final = 280e6


@dataclass(frozen=True)
class Work:
    """About what is written to all drives together, and how long it takes hard drives at the least.

    Left out is what nobody can know: users' writes, the filesystem's own, inner tracks, and waits.
    """

    written_bytes: int
    least_s: float

    def __add__(self, other: Work) -> Work:
        """One after the other."""
        return Work(self.written_bytes + other.written_bytes, self.least_s + other.least_s)

    @property
    def lines(self) -> tuple[str, ...]:
        """For people."""
        return (
            f"will write  about {format_size(self.written_bytes)}, over all drives",
            f"will take   at least {format_duration(self.least_s * NS_PER_S)}, if they are hard drives",
        )

    @property
    def document(self) -> dict[str, int]:
        """For programs."""
        return {"written_bytes": self.written_bytes, "seconds_at_least": round(self.least_s)}


def work_of(order: RebuildOrder, room: Capacity, turns: Sequence[Turn], *, are_blank: bool) -> Work:
    """Of one array: made redundant, filled, read back before the first rebuild and after the last, and rebuilt.

    Its drives work side by side: the time is that of one of them.
    """
    content_bytes = order.fill * room.member_bytes
    # md makes all there is redundant, and rebuilds that; ZFS what is allocated.
    rebuilt_bytes = content_bytes if order.is_zfs else float(room.member_bytes)
    read_bytes = 2 * room.held_bytes / len(order.members)
    rebuild_s = rebuilt_bytes / min(_IN_ORDER_BYTES_S, order.limit_bytes_per_s or _IN_ORDER_BYTES_S)
    least_s = (content_bytes + read_bytes) / _IN_ORDER_BYTES_S + len(turns) * rebuild_s
    written_bytes = content_bytes * len(order.members) + len(turns) * rebuilt_bytes
    if not (order.is_zfs or are_blank):
        least_s += rebuild_s
        written_bytes += room.member_bytes * len(order.members) - room.usable_bytes
    return Work(int(written_bytes), least_s + (0.0 if order.load is None else ALONE_S))


def plan_array(
    order: RebuildOrder, capacities: Mapping[str, int], turns: Sequence[Turn], *, are_blank: bool
) -> Planned:
    """``capacities`` are those of the drives by what they were called, the new one's, too."""
    room = Capacity.of(order, capacities)
    work = work_of(order, room, turns, are_blank=are_blank)
    fails, goes_in = order.members[-1], order.replacement
    lines = (
        f"array       {order.layout} of {len(order.members)} drives. {room.words}",
        f"will fail   {'; then '.join(_fate(turn, fails, goes_in) for turn in turns)}",
        *work.lines,
    )
    told = {"layout": order.layout, "member_bytes": room.member_bytes, "usable_bytes": room.usable_bytes}
    told |= {"held_bytes": room.held_bytes, "fails": fails, "goes_in": goes_in, "rebuilds": list(turns)}
    return Planned(lines, told | work.document)


def plan_arrays(orders: Sequence[RebuildOrder], capacities: Mapping[str, int], *, are_blank: bool) -> Planned:
    """Of one after the other, on the same drives."""
    room = [Capacity.of(order, {text: capacities[text] for text in order.drives}) for order in orders]
    works = (work_of(order, each, ["new"], are_blank=are_blank) for order, each in zip(orders, room, strict=True))
    work = sum(works, Work(0, 0.0))
    arrays = "one array" if len(orders) == 1 else f"{len(orders)} arrays, one after the other"
    fates = dict.fromkeys(_fate("new", order.members[-1], order.replacement) for order in orders)
    lines = (f"array       {arrays}", f"will fail   {'; then '.join(fates)}", *work.lines)
    return Planned(lines, {"arrays": len(orders), **work.document})


def stopped_by(plan: Planned, failure: EnvironmentFailure | None) -> Planned:
    """With what this machine has not, and the rebuilds would end with."""
    if failure is None:
        return Planned(plan.lines, {**plan.document, "missing": None})
    return Planned((*plan.lines, f"missing     {failure}"), {**plan.document, "missing": str(failure)})


def _fate(turn: Turn, fails: str, goes_in: str) -> str:
    """Of the drive that fails, and of the one in its place."""
    who = goes_in if turn == "used" else fails
    if turn == "new" and goes_in != fails:
        return f"{fails}, which is wiped, and {goes_in} is put in"
    return f"{who}, which is wiped and put in again"
