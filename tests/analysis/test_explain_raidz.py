"""What parity and padding of RAIDZ leave of the drives' rate, by hand and as the core allocates."""

import pytest

from shakedown import _core
from shakedown.analysis.explain.ceiling import Box, RuleOfThumb, ceilings
from shakedown.analysis.explain.instead import changes
from shakedown.analysis.explain.layout import Layout
from shakedown.analysis.explain.limiter import prove
from shakedown.analysis.explain.load import Load, parse_measured
from shakedown.analysis.explain.reason import reason

DRIVE = RuleOfThumb(100, 200e6)
KIB = 1024


@pytest.mark.parametrize(
    ("kind", "width", "record_kib", "sectors", "best_mb_per_s"),
    [
        # One sector of data and two of parity.
        ("raidz2", 6, 4, 3, 400),
        ("raidz2", 8, 4, 3, 1600 / 3),
        # Two and one, padded to four; four and one, padded to six.
        ("raidz1", 8, 8, 4, 800),
        ("raidz1", 8, 16, 6, 1600 * 4 / 6),
        # 32 in 11 rows and one over; in six rows of two parities each, and one over; 256 in 43 rows, padded to 342.
        ("raidz1", 4, 128, 44, 800 * 32 / 44),
        ("raidz2", 8, 128, 45, 1600 * 32 / 45),
        ("raidz2", 8, 1024, 342, 1600 * 256 / 342),
        ("raidz1", 3, 128, 48, 400),
        ("mirror", 8, 4, 1, 800),
    ],
)
@pytest.mark.parametrize("read_share", [0.0, 1.0])
def test_a_stream_passes_over_parity_and_padding(
    kind: str, width: int, record_kib: int, sectors: int, best_mb_per_s: float, read_share: float
) -> None:
    layout = Layout(kind, width, record_bytes=record_kib * KIB)
    assert layout.allocated_bytes == sectors * 4096
    load = Load(1024 * KIB, read_share, 0, 32)
    best = ceilings(Box(layout, DRIVE), load)["drives"]
    assert best.iops * load.block_bytes == pytest.approx(best_mb_per_s * 1e6)


@pytest.mark.parametrize("record_kib", [4, 8, 16, 64, 1024])
@pytest.mark.parametrize(("kind", "width"), [("raidz1", 3), ("raidz1", 8), ("raidz2", 6), ("raidz3", 11)])
def test_a_record_takes_what_the_core_gives_it(kind: str, width: int, record_kib: int) -> None:
    """Beside records of 128 KiB: how much data the same pool has room for in either."""
    small, usual = (
        (
            Layout(kind, width, record_bytes=kib * KIB),
            _core.usable_bytes(kind, width, 10**13, kib * KIB, 12, None, "2.3"),
        )
        for kib in (record_kib, 128)
    )
    assert small[0].stream_drives / usual[0].stream_drives == pytest.approx(small[1] / usual[1])


def test_writes_in_small_blocks_are_held_by_the_drives_and_more_of_them_help() -> None:
    box = Box(Layout("raidz2", 6, record_bytes=4096), DRIVE)
    found = prove(box, parse_measured("b: 1MiB 0R 0rand depth 32 = 380MB/s"))
    assert (found.limiter, found.sure) == ("drives", True)
    assert found.used["drives"] == pytest.approx(0.95)
    told = reason(box, found.measured.load, found.ceilings["drives"])
    assert told == "streams at 6 x 200 MB/s, a record of 4.0 KiB taking 12.0 KiB with parity and padding"
    [wider] = [each for each in changes(box, [found]) if each.label == "RAIDZ2 of 8"]
    assert wider.iops[0] == pytest.approx(found.measured.iops * 8 / 6)


@pytest.mark.parametrize(
    ("kind", "width", "record_kib", "block_kib", "writes", "piece_kib"),
    [
        # 256 blocks of three sectors over six drives are 128 rows.
        ("raidz2", 6, 4, 1024, 6, 512),
        # One record is six rows of the first drive; eight are that, after seven times 45 sectors over eight drives.
        ("raidz2", 8, 128, 128, 8, 24),
        ("raidz2", 8, 128, 1024, 8, 180),
        ("mirror", 2, 128, 1024, 2, 1024),
    ],
)
def test_several_records_lie_one_behind_the_other(
    kind: str, width: int, record_kib: int, block_kib: int, writes: int, piece_kib: int
) -> None:
    work = Layout(kind, width, record_bytes=record_kib * KIB).lone_request(Load(block_kib * KIB, 0, 1))
    assert (work.writes, work.piece_bytes) == (writes, piece_kib * KIB)
