"""How fast the lab is with a modelled drive and all that a command goes through: part of ``make bench``.

Times are those of the wall clock, the best of three; what a guest needs to boot is subtracted from all but the boot
itself. How much of a processor the lab got is told beside each figure, since a machine that is busy with other things
makes all of them worse.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from shakedown.errors import EnvironmentFailure
from shakedown.lab.run import Order, run

REQUESTS = 20_000
BULK_MIB = 1024
# Data that is not zeros, in the guest's memory.
DATA = "head -c 64M /dev/urandom > /tmp/data"
REPETITIONS = 3


class Cost(NamedTuple):
    """What a command took."""

    wall_s: float
    processor_s: float

    def __sub__(self, other: Cost) -> Cost:
        """What one took more than another."""
        return Cost(self.wall_s - other.wall_s, self.processor_s - other.processor_s)

    def __str__(self) -> str:
        """In words."""
        return f"{self.wall_s:.2f} s, with {self.processor_s / self.wall_s:.0%} of a processor"


def cost(script: str) -> Cost:
    """Of a script in a guest with one drive: the best of three."""

    def once() -> Cost:
        order = Order(command=("bash", "-c", script), drives=("model:wd40efrx",), scale_divisor=100)
        before, began_s = os.times(), time.monotonic()
        outcome = run(order, lambda _stream, _text: None)
        if outcome.exit_status:
            raise EnvironmentFailure(f"`{script}` failed with {outcome.exit_status}")
        used = sum(os.times()[:4]) - sum(before[:4])
        return Cost(time.monotonic() - began_s, used)

    return min(once() for _ in range(REPETITIONS))


def main() -> None:
    """Print them, with the goals."""
    try:
        boot = cost("true")
    except EnvironmentFailure as error:
        print(f"lab: no figures: {error}")
        return
    print(f"lab: boot to the end of the first command: {boot} (goal: 1 s)")
    day = cost("sleep 86400") - boot
    print(f"lab: an idle day: {day} (goal: 1 s)")
    reads = cost(f"dd if=/dev/sda of=/dev/null bs=4k count={REQUESTS} iflag=direct status=none") - boot
    print(f"lab: {REQUESTS / reads.wall_s:,.0f} synchronous reads of 4 KiB a second: {reads} (goal: 10,000)")
    data = cost(DATA)
    piece = "dd if=/tmp/data of=/dev/sda bs=1M seek=$at oflag=direct status=none"
    fill = f"{DATA}; for at in $(seq 0 64 {BULK_MIB - 64}); do {piece}; done"
    filled = cost(fill)
    emptied = cost(f"{fill}; dd if=/dev/sda of=/dev/null bs=1M count={BULK_MIB} iflag=direct status=none")
    for what, took in (("writing", filled - data), ("reading", emptied - filled)):
        print(f"lab: {what} {(BULK_MIB << 20) / 1e9 / took.wall_s:.2f} GB/s: {took} (goal: 1 GB/s)")


if __name__ == "__main__":
    main()
