"""Runs in a guest of the lab that is short of memory: libraries that it has mapped stay what they are.

Meanwhile a file is written and copied processes write to all that they have, so that faults have to take pages away
from others. What the guest gave away while its host still showed it would be another's by then.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import Path

LIBRARIES = 40
TURNS = 10
PIECE_BYTES = 1 << 20
OWN_PIECES = 150
WRITTEN_PIECES = 40


def main() -> None:
    libraries = sorted(Path("/usr/lib").rglob("*.so*"), key=lambda path: path.stat().st_size)[-LIBRARIES:]
    maps = []
    for path in libraries:
        with path.open("rb") as file:
            maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def sums() -> list[str]:
        return [hashlib.blake2b(each).hexdigest() for each in maps]

    wanted = sums()
    own = bytearray(os.urandom(PIECE_BYTES)) * OWN_PIECES
    with Path("/mnt/written").open("wb") as out:
        for turn in range(TURNS):
            for _ in range(WRITTEN_PIECES):
                out.write(own[:PIECE_BYTES])
            child = os.fork()
            if not child:
                for at in range(0, len(own), mmap.PAGESIZE):
                    own[at] = 1
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            differ = [str(path) for path, was, now in zip(libraries, wanted, sums(), strict=True) if was != now]
            assert not differ, f"turn {turn}: {differ}"
    print("all as they were")


main()
