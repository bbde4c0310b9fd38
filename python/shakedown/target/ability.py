"""What a modelled drive can do, asked of the model itself: for ceilings."""

from __future__ import annotations

from functools import cached_property, lru_cache

from shakedown.target.model import ModelArena
from shakedown.target.storage_box import refuse_storage_box
from shakedown.units import NS_PER_S

_SECONDS = 60


class ModelledDrive:
    """Implements ``analysis.explain.ceiling.Drive`` by playing each load on a drive as delivered."""

    def __init__(self, text: str) -> None:
        """``model:NAME``. Raises UsageError if there is no such drive."""
        refuse_storage_box(text, "explain --drive")
        self.label = text
        self._text = text
        self.identity = ModelArena(text, seed=1).identity
        self._random = lru_cache(maxsize=None)(self._played)

    @cached_property
    def stream_bytes_per_s(self) -> float:
        """Of a long read at the beginning, where it is fastest."""
        return self._rate("rw=read\nbs=1m\niodepth=4\nsize=100%\n", 2**20) * 2**20

    def random_iops(self, block_bytes: int, read_share: float, outstanding: int) -> float:
        """Requests per second over the whole drive, in its first minute; a full shingled drive does fewer."""
        return self._random(max(512, block_bytes // 512 * 512), round(100 * read_share), outstanding)

    def _played(self, block_bytes: int, read_percent: int, outstanding: int) -> float:
        kind = {0: "randwrite", 100: "randread"}.get(read_percent, f"randrw\nrwmixread={read_percent}")
        return self._rate(f"rw={kind}\nbs={block_bytes}\niodepth={outstanding}\nsize=100%\nnorandommap\n", block_bytes)

    def _rate(self, job: str, block_bytes: int) -> float:
        arena = ModelArena(self._text, seed=1)
        with arena.start("ability", f"{job}time_based\nruntime={_SECONDS}s\n", NS_PER_S, watched=False) as load:
            moved = sum(sample.bytes for batch in load for sample in batch)
        return moved / block_bytes / _SECONDS
