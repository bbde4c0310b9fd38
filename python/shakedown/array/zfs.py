"""What there is to say of a ZFS pool: its layout, what is on it, and how it is resilvered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Release = Literal["0.6", "2.1", "2.3"]
HealingOrder = Literal["blocks", "sorted", "sequential"]

# A partition is of whole MiB and begins 1 MiB from a drive's beginning; behind it 8 MiB are left free before the table.
_MIB: Final = 1 << 20
_PARTITION_AT_BYTES: Final = 1 * _MIB
_LEFT_FREE_BYTES: Final = 8 * _MIB
_TABLE_BYTES: Final = 33 * 512

_MEMORY_BYTES: Final = 16 * 2**30
_CORES: Final = 4


@dataclass(frozen=True)
class ZfsOptions:
    """Of ``zpool create``, ``zfs set`` and ``zpool replace``, and of the machine.

    ``run_records`` is how many neighbouring records an aged pool keeps together (None: a fresh pool, filled from its
    beginning), ``file_bytes`` how long the files of a fresh one are, beside a load those behind the users' file (None:
    all is one file; 0: as ``rebuild`` fills a real pool, a 64th in each, in whole MiB). ``draid`` are the data drives
    of a group and the number of distributed spares, ``spare`` the one that takes the place of the failed drive instead
    of the replacement. ``order`` is that of a resilver (None: what the release does by itself). ``cache_bytes`` is the
    most that the cache may have (None: half of the memory), ``core_bytes_per_s`` what one of the ``cores`` verifies and
    rebuilds (None: more than any drives deliver). ``command_timeout_ns`` is how long the host waits for a drive's
    answer (None: as Linux does by itself). ``second_failure``: another drive and the nanoseconds after which it fails,
    too.
    """

    record_bytes: int = 128 * 1024
    ashift: int = 12
    run_records: int | None = None
    file_bytes: int | None = None
    draid: tuple[int, int] | None = None
    spare: int | None = None
    order: HealingOrder | None = None
    release: Release = "2.3"
    memory_bytes: int = _MEMORY_BYTES
    cache_bytes: int | None = None
    cores: int = _CORES
    core_bytes_per_s: float | None = None
    command_timeout_ns: int | None = None
    second_failure: tuple[int, int] | None = None

    def to_core(self) -> dict[str, Any]:
        """The part of the core's order for ``resilver`` that is of ZFS only."""
        return {
            "record_bytes": self.record_bytes,
            "ashift": self.ashift,
            "run_records": self.run_records,
            "file_bytes": self.file_bytes,
            "draid": self.draid,
            "spare": self.spare,
            "order": self.order or ("blocks" if self.release == "0.6" else "sorted"),
            "release": self.release,
            "host": (self.memory_bytes, self.cache_bytes, self.cores, self.core_bytes_per_s, self.command_timeout_ns),
            "second_failure": self.second_failure,
        }


def partition_bytes(capacity_bytes: int) -> int:
    """The partition that ZFS lays on a whole drive of so much (`zpool_label_disk`); 0 if there is no room for one."""
    left_bytes = capacity_bytes - _PARTITION_AT_BYTES - _LEFT_FREE_BYTES - _TABLE_BYTES
    return max(left_bytes, 0) // _MIB * _MIB
