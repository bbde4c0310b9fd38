#!/usr/bin/python3
"""Users of a device: each has 4 KiB to write somewhere every 8 s, and is late if that takes longer; until SIGTERM.

Usage: users.py DEVICE USERS OFFSET_BYTES; what lies before the offset is left alone.

fio could do this, but looks a hundred times a second whether its job is over: where days pass, that costs more than all
that is written.
"""

import mmap
import os
import random
import signal
import sys
import threading
import time

BLOCK = 4096
EVERY_S = 8.0

device, users, offset = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
disk = os.open(device, os.O_WRONLY | os.O_DIRECT)
blocks = (os.lseek(disk, 0, os.SEEK_END) - offset) // BLOCK
waits_s: list[float] = []


def use(chance: random.Random) -> None:
    """One of them. Zeros, since the lab need not keep them."""
    zeros = mmap.mmap(-1, BLOCK)
    due_s = time.monotonic() + chance.random() * EVERY_S
    while True:
        time.sleep(max(0.0, due_s - time.monotonic()))
        began_s = time.monotonic()
        os.pwrite(disk, zeros, offset + chance.randrange(blocks) * BLOCK)
        waits_s.append(time.monotonic() - began_s)
        due_s += EVERY_S


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
for number in range(users):
    threading.Thread(target=use, args=(random.Random(number),), daemon=True).start()
signal.sigwait({signal.SIGTERM})
print(f"{len(waits_s)} writes, which took {sum(waits_s) / len(waits_s):.3f} s, the longest {max(waits_s):.1f} s")
