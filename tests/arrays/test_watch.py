"""What is seen of drives while a real rebuild goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from shakedown.device.array.array import Look, RealArray, Span
from shakedown.device.array.drive import Drive, Traffic
from shakedown.device.array.watch import POLL_S, Member, Watch, longest_flush_ns

S = 1_000_000_000
# Linux's Documentation/block/stat.rst: reads, writes, in flight, busy and waited, discards, flushes.
STAT = "  100 1 800 90  50 2 400 80  3  70 60  0 0 0 0  12 8400\n"


def test_flushes_are_counted_apart() -> None:
    assert Traffic.parse(STAT) == Traffic(150, 800 * 512, 400 * 512, 70_000_000, 3, 12, 8_400_000_000)


def test_before_linux_5_5_nothing_is_known_of_flushes() -> None:
    assert Traffic.parse(" ".join(STAT.split()[:15])) == Traffic(150, 800 * 512, 400 * 512, 70_000_000, 3)


def test_of_several_flushes_only_the_first_can_have_begun_before() -> None:
    now = Traffic(0, 0, 0, 0, 0, 3, 9 * S)
    assert longest_flush_ns(replace(now, flushes=2, flush_ns=1 * S), now, S // 10) == 8 * S
    assert longest_flush_ns(Traffic(0, 0, 0, 0, 0, 0, 1 * S), now, S // 10) == 8 * S - S // 10
    assert longest_flush_ns(now, now, S // 10) == 0


class FakeDrive:
    """A drive of which the kernel tells this, time after time."""

    def __init__(self, *told: Traffic) -> None:
        self._told: Iterator[Traffic] = iter(told)
        self._last = told[0]

    def traffic(self) -> Traffic:
        self._last = next(self._told, self._last)
        return self._last


class FakeArray:
    """A rebuild that is over at the third look."""

    def __init__(self) -> None:
        self._looks = 0

    def seems_over(self) -> bool:
        return self._looks > 0

    def look(self) -> Look:
        self._looks += 1
        return Look(self._looks, 3, None, None, is_over=self._looks > 3)

    def span(self) -> Span:
        return Span()


def test_a_flush_is_a_command_that_lasts() -> None:
    """It is not in flight by the kernel's count, and tells how long it took at its end."""
    quiet = Traffic(10, 0, 0, 0, 0, 1, S // 50)
    flushed = replace(quiet, flushes=2, flush_ns=quiet.flush_ns + 8 * S)
    drives = [FakeDrive(quiet, quiet, quiet, flushed), FakeDrive(quiet)]
    watch = Watch(cast(RealArray, FakeArray()), cast(list[Drive], drives), lambda _: None, None)
    seen = watch.follow(lambda: None)
    assert [member.longest_flush_ns for member in seen.members] == [8 * S, 0]


class Timed(FakeDrive):
    """It knows when it was asked."""

    def __init__(self, *told: Traffic) -> None:
        super().__init__(*told)
        self.asked_ns: list[int] = []

    def traffic(self) -> Traffic:
        self.asked_ns.append(time.time_ns())
        return super().traffic()

    def wait_until_asked(self, times: int) -> None:
        """Until it was asked so often."""
        while len(self.asked_ns) < times:
            time.sleep(POLL_S / 50)


def follow(array: FakeArray, drive: FakeDrive, order: Callable[[], None] = lambda: None) -> Member:
    watch = Watch(cast(RealArray, array), cast(list[Drive], [drive]), lambda _: None, None)
    return watch.follow(order).members[0]


def test_what_is_done_before_the_order_has_come_back_is_the_rebuilds() -> None:
    """``zpool replace -s`` waits for a transaction group, and the rebuild goes on meanwhile."""

    class Early(FakeArray):
        began_ns: int | None = None

        def span(self) -> Span:
            return Span(self.began_ns)

    array = Early()
    drive = Timed(Traffic(1, 0, 100, 0, 0), *[Traffic(2, 0, 500, 0, 0)] * 99)

    def order() -> None:
        drive.wait_until_asked(1)
        array.began_ns = time.time_ns()
        drive.wait_until_asked(3)

    assert follow(array, drive, order).bytes_written == 400


def test_a_rebuild_that_begins_with_the_order_is_counted_from_it() -> None:
    """Its event carries the time of the kernel's last tick: before the order, as it seems."""

    class AtOnce(FakeArray):
        began_ns: int | None = None

        def span(self) -> Span:
            return Span(self.began_ns, None if self.began_ns is None else self.began_ns + S)

    array = AtOnce()
    drive = Timed(Traffic(1, 0, 100, 0, 0), *[Traffic(2, 0, 500, 0, 0)] * 99)

    def order() -> None:
        array.began_ns = drive.asked_ns[0] - S // 70
        drive.wait_until_asked(3)

    assert follow(array, drive, order).bytes_written == 400


def test_what_is_done_after_the_end_is_not_the_rebuilds() -> None:
    """Behind a sequential resilver comes a scrub, and its end is seen at the next look."""
    drive = Timed(*[Traffic(1, read_bytes, 0, 0, 0) for read_bytes in range(99)])

    class Late(FakeArray):
        def seems_over(self) -> bool:
            return len(drive.asked_ns) > 7

        def look(self) -> Look:
            return Look(1, 3, None, None, is_over=self.seems_over())

        def span(self) -> Span:
            # Between the fifth and the sixth time; the order took the first, and the second is the beginning.
            return Span(drive.asked_ns[0] - S, drive.asked_ns[5] - 1) if self.seems_over() else Span()

    assert follow(Late(), drive).bytes_read == 3


def test_a_rebuild_may_be_over_before_the_order_has_come_back() -> None:
    """On a shingled drive a transaction group takes as long as the rebuild, and the scrub behind it is over, too."""

    class Early(FakeArray):
        began_ns: int | None = None
        ended_ns: int | None = None

        def look(self) -> Look:
            return Look(3, 3, None, None, is_over=True)

        def span(self) -> Span:
            return Span(self.began_ns, self.ended_ns)

    array = Early()
    drive = Timed(*[Traffic(1, read_bytes, 0, 0, 0) for read_bytes in range(0, 9900, 100)])

    def order() -> None:
        drive.wait_until_asked(1)
        array.began_ns = time.time_ns()
        drive.wait_until_asked(3)
        array.ended_ns = time.time_ns()
        drive.wait_until_asked(6)

    assert follow(array, drive, order).bytes_read == 200
