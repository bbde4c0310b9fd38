"""What a modelled drive is: its profile, and how its arm and platters answer. What the lab has measured of a drive says
nothing of one that is no longer the same.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

import shakedown

DRIVES = Path(__file__).resolve().parent.parent / "drives"
# Over the whole surface, so that a change of seeks, zones or overhead shows.
PROBE = "rw=randread\nbs=4k\nnumber_ios=100\n"


@cache
def drive_digest(name: str) -> bytes:
    """Of a profile of ours, a comment in it included."""
    answers = shakedown.Drive.load(name, seed=1).run(PROBE)["latency_ns"]
    return sha256((DRIVES / f"{name}.toml").read_bytes() + repr(answers.to_list()).encode()).digest()
