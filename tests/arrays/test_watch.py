"""What is seen of drives while a real rebuild goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from shakedown.device.array.array import Look, RealArray
from shakedown.device.array.drive import Drive, Traffic
from shakedown.device.array.watch import Watch, longest_flush_ns

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

    def exact_ns(self) -> None:
        return None


def test_a_flush_is_a_command_that_lasts() -> None:
    """It is not in flight by the kernel's count, and tells how long it took at its end."""
    quiet = Traffic(10, 0, 0, 0, 0, 1, S // 50)
    flushed = replace(quiet, flushes=2, flush_ns=quiet.flush_ns + 8 * S)
    drives = [FakeDrive(quiet, quiet, quiet, flushed), FakeDrive(quiet)]
    watch = Watch(cast(RealArray, FakeArray()), cast(list[Drive], drives), lambda _: None, None)
    seen = watch.follow(lambda: None)
    assert [member.longest_silence_ns for member in seen.members] == [8 * S, 0]
