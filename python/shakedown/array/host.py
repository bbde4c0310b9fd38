"""What stands between drives and memory, and is modelled nowhere: a caution where all drives together move a lot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shakedown.array.rebuild import Rebuild

# Eight lanes of PCIe 2.0, 5 GT/s each, of 10 bits 8 data. Those of PCIe 3.0 (8 GT/s, of 130 bits 128) carry 7.9 GB/s,
# of which about 7 are data: a packet of 256 bytes has some 24 around it.
_OLDER_ADAPTER_BYTES_PER_S: Final = 4e9


def together_bytes_per_s(rebuilds: Sequence[Rebuild]) -> float:
    """What all drives read and write in a second, on average over the rebuild; the most of several."""
    moved = [
        sum(sum(each.members[way].to_list()) for way in ("bytes_read", "bytes_written")) / each.duration_s
        for each in rebuilds
        if each.duration_ns
    ]
    return max(moved, default=0.0)


def cautions(rebuilds: Sequence[Rebuild]) -> tuple[str, ...]:
    """Of a modelled rebuild: what would have to carry all that."""
    moved = together_bytes_per_s(rebuilds)
    if moved <= _OLDER_ADAPTER_BYTES_PER_S:
        return ()
    return (
        f"CAUTION: all drives together move {moved / 1e9:.1f} GB/s. Host adapters, expanders and processors are not "
        "modelled: a host adapter of eight lanes carries about 7 GB/s with PCIe 3.0, half of that with PCIe 2.0. "
        "If yours carries less than the drives move, the rebuild takes longer.",
    )
