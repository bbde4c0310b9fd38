"""How fast the lab is with a modelled drive and all that a command goes through: part of ``make bench``.

Times are those of the wall clock, the best of three; what a guest needs to boot is subtracted from all but the boot
itself. How busy the machine was is told with them, since other work makes all of them worse. What the guest took of a
processor is not: its processes are reaped by no parent that counts them.
"""

from __future__ import annotations

import os
import time

from shakedown.errors import EnvironmentFailure
from shakedown.lab.run import Order, run

REQUESTS = 20_000
BULK_MIB = 1024
# Of a run that differs by its bytes only: it is subtracted, and with it the start of fio.
LITTLE_MIB = 1
# One buffer that is not zeros, over and over.
BULK = (
    "fio --name=bulk --filename=/dev/sda --bs=1M --direct=1 --ioengine=psync --scramble_buffers=0 "
    "--clocksource=clock_gettime --output=/dev/null"
)
REPETITIONS = 3


def took_s(script: str, *, with_shakedown: bool = False) -> float:
    """Of a script in a guest with one drive: the best of three."""

    def once_s() -> float:
        order = Order(
            command=("bash", "-c", script),
            drives=("model:wd40efrx",),
            scale_divisor=100,
            with_shakedown=with_shakedown,
        )
        began_s = time.monotonic()
        outcome = run(order, lambda _stream, _text: None)
        if outcome.exit_status:
            raise EnvironmentFailure(f"`{script}` failed with {outcome.exit_status}")
        return time.monotonic() - began_s

    return min(once_s() for _ in range(REPETITIONS))


def main() -> None:
    """Print them, with the goals."""
    try:
        boot_s = took_s("true")
    except EnvironmentFailure as error:
        print(f"lab: no figures: {error}")
        return
    print(f"lab: boot to the end of the first command: {boot_s:.2f} s (goal: 1 s)")
    day_s = took_s("sleep 86400") - boot_s
    print(f"lab: an idle day: {day_s:.2f} s (goal: 1 s)")
    reads_s = took_s(f"dd if=/dev/sda of=/dev/null bs=4k count={REQUESTS} iflag=direct status=none") - boot_s
    print(f"lab: {REQUESTS / reads_s:,.0f} synchronous reads of 4 KiB a second: {reads_s:.2f} s (goal: 10,000)")
    write, read = f"{BULK} --rw=write --size=", f"{BULK} --rw=read --size="
    fill = f"{write}{BULK_MIB}M"
    for what, command in (("writing", write), ("reading", f"{fill}; {read}")):
        bulk_s = took_s(f"{command}{BULK_MIB}M") - took_s(f"{command}{LITTLE_MIB}M")
        speed = (BULK_MIB - LITTLE_MIB << 20) / 1e9 / bulk_s
        print(f"lab: {what} {speed:.2f} GB/s: {bulk_s:.2f} s (goal: 1 GB/s)")
    print(f"lab: start of fio: {took_s(f'{write}{LITTLE_MIB}M') - boot_s:.2f} s")
    print(f"lab: start of Shakedown: {took_s('shakedown --version', with_shakedown=True) - boot_s:.2f} s")
    print(f"lab: {os.cpu_count()} processors; load average, the lab's own 1 included: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
