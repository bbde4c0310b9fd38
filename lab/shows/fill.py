#!/usr/bin/python3
"""A filesystem is filled to the end, then files in it are changed in place: what reaches the drive, as time passes.

Usage: fill.py [ext4|xfs|btrfs|f2fs] [SECONDS], on one drive; so long files are changed once it is full.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

KIND = sys.argv[1] if len(sys.argv) > 1 else "ext4"
CHANGES_S = float(sys.argv[2]) if len(sys.argv) > 2 else 300
MKFS = {"ext4": ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "xfs": ["-q", "-f"], "btrfs": ["-q", "-f"]}
SIZES = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]
BLOCK = 16 << 10
PIECE = bytes(1 << 20)


class Teller:
    """Says now and then what the drive has taken in since the last time."""

    def __init__(self, every_s: float) -> None:
        """Begin now."""
        self.every_s = every_s
        self.since_s = time.monotonic()
        self.sectors = self.written()

    def written(self) -> int:
        """Sectors that the drive has taken in since it was started."""
        return int(Path("/sys/block/sda/stat").read_text().split()[6])

    def tell(self, words: str, *, now: bool = False) -> None:
        """Print it, unless the last time is not long ago."""
        passed_s = time.monotonic() - self.since_s
        if passed_s < self.every_s and not now:
            return
        sectors = self.written()
        rate = (sectors - self.sectors) * 512e-6 / max(passed_s, 1e-9)
        print(f"[{time.monotonic():7.1f} s] {words}: {rate:6.2f} MB/s", flush=True)
        self.since_s, self.sectors = time.monotonic(), sectors


def fill(teller: Teller) -> list[Path]:
    """Write files of all sizes until there is no room; the files."""
    chance = random.Random(1)
    files: list[Path] = []
    try:
        while True:
            folder = Path(f"/mnt/{len(files) // 100}")
            folder.mkdir(exist_ok=True)
            files.append(folder / str(len(files)))
            with files[-1].open("wb", buffering=0) as file:
                size = chance.choice(SIZES)
                for begin in range(0, size, len(PIECE)):
                    if file.write(PIECE[: size - begin]) == 0:
                        return files
            room = os.statvfs("/mnt")
            teller.tell(f"filling, {100 - 100 * room.f_bavail // room.f_blocks:3} % full")
    except OSError as error:
        print(f"[{time.monotonic():7.1f} s] {error.strerror}, after {len(files)} files", flush=True)
    os.sync()
    teller.tell("filled, all of it on the drive", now=True)
    return files


def change(files: list[Path], teller: Teller) -> None:
    """Write 16 KiB somewhere in a file and see to it that it is on the drive, over and over."""
    chance = random.Random(2)
    end_s = time.monotonic() + CHANGES_S
    changes, slowest_s = 0, 0.0
    while (began_s := time.monotonic()) < end_s:
        with files[chance.randrange(len(files) - 1)].open("r+b", buffering=0) as file:
            blocks = max(1, os.fstat(file.fileno()).st_size // BLOCK)
            file.seek(chance.randrange(blocks) * BLOCK)
            try:
                file.write(PIECE[:BLOCK])
            except OSError:
                # Filesystems that never write in place need room for a change.
                continue
            os.fdatasync(file.fileno())
        changes += 1
        slowest_s = max(slowest_s, time.monotonic() - began_s)
        teller.tell(f"changing, {changes:6} so far, the slowest took {slowest_s:.2f} s")


subprocess.run([f"mkfs.{KIND}", *MKFS.get(KIND, []), "/dev/sda"], check=True, stdout=subprocess.DEVNULL)
subprocess.run(["mount", "/dev/sda", "/mnt"], check=True)
print(f"[{time.monotonic():7.1f} s] {KIND} on a {Path('/sys/block/sda/device/model').read_text().strip()}", flush=True)
change(fill(Teller(20)), Teller(CHANGES_S / 10))
