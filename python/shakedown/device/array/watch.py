"""A rebuild as it goes: what its status shows, and what each drive does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from shakedown.device.array.array import Look, RealArray
from shakedown.device.array.drive import Drive, Traffic
from shakedown.units import NS_PER_S

# How often it is asked which drives have work; not a multiple of anything that ticks in the kernel.
POLL_S: Final = 0.097
_FIRST_INTERVAL_NS: Final = NS_PER_S
_MOST_LOOKS: Final = 800
_BEGINNING_NS: Final = 5 * NS_PER_S
_BEGINNING_POLL_S: Final = 0.005
# Events carry the time of a clock that ticks, and seem to be earlier than they are by some of that.
_TICKS_NS: Final = NS_PER_S // 10


def longest_flush_ns(then: Traffic, now: Traffic, between_ns: int) -> int:
    """What the longest flush that ended between two polls took at least.

    A drive gets one at a time: of several only the first can have begun before the earlier poll.
    """
    together_ns = now.flush_ns - then.flush_ns
    return together_ns if now.flushes - then.flushes == 1 else max(together_ns - between_ns, 0)


@dataclass
class Member:
    """What one drive did during the rebuild. ``polls_awaited``: in how many polls it alone had requests."""

    bytes_read: int = 0
    bytes_written: int = 0
    requests: int = 0
    busy_ns: int = 0
    longest_silence_ns: int = 0
    longest_flush_ns: int = 0
    polls_awaited: int = 0


@dataclass
class Watched:
    """All that was seen; plain values, so that it can be kept and gone on with after a reboot.

    ``looks`` are rows of time, bytes done, bytes to do, shown speed and shown time left. ``restarts``: how often it was
    given up before, on another array.
    """

    duration_ns: int = 0
    polls: int = 0
    interruptions: int = 0
    members: list[Member] = field(default_factory=list)
    looks: list[tuple[int, int, int, float | None, float | None]] = field(default_factory=list)
    failed: bool = False
    errors: int = 0
    restarts: int = 0

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Watched:
        """What ``asdict`` made."""
        members = [Member(**each) for each in told["members"]]
        return cls(**{**told, "members": members, "looks": [tuple(each) for each in told["looks"]]})


class Watch:
    """Follows one rebuild to its end."""

    def __init__(
        self, array: RealArray, drives: Sequence[Drive], keep: Callable[[dict[str, Any]], None], before: Watched | None
    ) -> None:
        """``keep`` makes what was seen durable; ``before`` is what was seen until a reboot."""
        self._array = array
        self._drives = drives
        self._keep = keep
        self._seen = before or Watched(members=[Member() for _ in drives])
        self._interval_ns = _FIRST_INTERVAL_NS
        self._heard = [(0, 0)] * len(drives)
        self._flushed: list[tuple[int, Traffic]] = []

    def follow(self, begin: Callable[[], None]) -> Watched:
        """Let it begin, and come back when it is over. Raises EnvironmentFailure."""
        seen, earlier_ns = self._seen, self._seen.duration_ns
        base = [Member(**asdict(member)) for member in seen.members]
        ordered_ns, since_ns = time.monotonic_ns(), time.time_ns()
        began_ns, first, recent = self._order(begin)
        next_ns = began_ns
        if self._array.look().is_over:
            began_ns = ordered_ns  # it was over before the order had come back: it took no longer than that
        last: list[Traffic] | None = None
        while True:
            now_ns = time.monotonic_ns()
            traffic = self._traffic()
            recent.append((time.time_ns(), traffic))
            if last is None:
                self._poll(traffic, now_ns)
            if now_ns >= next_ns or self._array.seems_over():
                look = self._array.look()
                # The look itself may take a while.
                seen.duration_ns = earlier_ns + now_ns - began_ns
                last = last or self._at_end(recent, since_ns)
                self._count(base, first, last or traffic)
                self._note(look)
                if look.is_over or look.failed:
                    break
                recent.clear()
                next_ns = now_ns + self._interval_ns
            time.sleep(POLL_S)
        exact = self._array.span()
        if exact.began_ns is not None and exact.ended_ns is not None and not seen.interruptions:
            seen.duration_ns = exact.ended_ns - exact.began_ns
        return seen

    def _order(self, begin: Callable[[], None]) -> tuple[int, list[Traffic], list[tuple[int, list[Traffic]]]]:
        """Let it begin; when that was, what the drives had done by then, and what they did until the order came back.

        The order may come back later than the rebuild begins: ``zpool replace -s`` waits for a transaction group. What
        is done meanwhile is the rebuild's, which may be over by then. The first poll comes before the order: a rebuild
        that begins at once would be ahead of it.
        """
        polls = [(time.time_ns(), time.monotonic_ns(), self._traffic())]
        with ThreadPoolExecutor(1) as pool:
            order = pool.submit(begin)
            while not wait([order], POLL_S).done:
                polls.append((time.time_ns(), time.monotonic_ns(), self._traffic()))
            order.result()
        self._wait_for_beginning()
        told_ns = self._array.span().began_ns
        if told_ns is None or told_ns < polls[0][0] - _TICKS_NS:  # it is of an earlier one
            return time.monotonic_ns(), self._traffic(), []
        before = [poll for poll in polls if poll[0] <= told_ns] or polls[:1]
        for _, now_ns, traffic in polls[len(before) :]:
            self._poll(traffic, now_ns)
        _, began_ns, first = before[-1]
        return began_ns, first, [(at_ns, traffic) for at_ns, _, traffic in polls]

    def _at_end(self, recent: Sequence[tuple[int, list[Traffic]]], since_ns: int) -> list[Traffic] | None:
        """What the drives had done at the end, if there was one: behind a sequential resilver goes on a scrub."""
        ended_ns = self._array.span().ended_ns
        if ended_ns is None or ended_ns < since_ns:
            return None
        return next((traffic for at_ns, traffic in reversed(recent) if at_ns <= ended_ns), recent[0][1])

    def _traffic(self) -> list[Traffic]:
        return [drive.traffic() for drive in self._drives]

    def _wait_for_beginning(self) -> None:
        """What the array does before it rebuilds, like telling its superblocks, is no part of the rebuild."""
        limit_ns = time.monotonic_ns() + _BEGINNING_NS
        while self._array.seems_over() and time.monotonic_ns() < limit_ns:
            time.sleep(_BEGINNING_POLL_S)

    def _poll(self, traffic: Sequence[Traffic], now_ns: int) -> None:
        seen = self._seen
        waiting = [place for place, each in enumerate(traffic) if each.in_flight]
        seen.polls += 1
        if len(waiting) == 1:
            seen.members[waiting[0]].polls_awaited += 1
        for place, each in enumerate(traffic):
            requests, heard_ns = self._heard[place]
            if each.requests != requests or not each.in_flight:
                self._heard[place] = (each.requests, now_ns)
                continue
            member = seen.members[place]
            member.longest_silence_ns = max(member.longest_silence_ns, now_ns - heard_ns)
        for member, (then_ns, then), each in zip(seen.members, self._flushed, traffic, strict=False):
            flush_ns = longest_flush_ns(then, each, now_ns - then_ns)
            member.longest_flush_ns = max(member.longest_flush_ns, flush_ns)
        self._flushed = [(now_ns, each) for each in traffic]

    def _count(self, base: Sequence[Member], first: Sequence[Traffic], now: Sequence[Traffic]) -> None:
        for member, then, began, each in zip(self._seen.members, base, first, now, strict=True):
            member.bytes_read = then.bytes_read + each.read_bytes - began.read_bytes
            member.bytes_written = then.bytes_written + each.written_bytes - began.written_bytes
            member.requests = then.requests + each.requests - began.requests
            member.busy_ns = then.busy_ns + each.busy_ns - began.busy_ns

    def _note(self, look: Look) -> None:
        seen = self._seen
        seen.failed, seen.errors = look.failed, look.errors
        if look.done_bytes is not None and look.total_bytes is not None:
            row = (seen.duration_ns, look.done_bytes, look.total_bytes, look.shown_bytes_per_s, look.left_s)
            if seen.looks and seen.duration_ns - seen.looks[-1][0] < POLL_S * NS_PER_S:
                seen.looks.pop()  # the last before a reboot, and what was done while nobody watched
            seen.looks.append(row)
        if len(seen.looks) >= _MOST_LOOKS:
            del seen.looks[1::2]
            self._interval_ns *= 2
        self._keep(asdict(seen))
