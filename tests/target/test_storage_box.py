"""Arrays of modelled drives in a storage box, as targets of loads."""

from __future__ import annotations

from typing import Literal

import pytest

from shakedown.errors import UsageError
from shakedown.sample import Sample
from shakedown.target.model import ModelArena
from shakedown.target.storage_box import names_storage_box, refuse_lab_box, refuse_storage_box

SCALE = 1000
STREAM = "rw=read\nbs=1m\niodepth=4\nsize=100%\n"
RANDOM_WRITES = "rw=randwrite\nbs=4k\niodepth=16\nsize=100%\nnorandommap\ntime_based\nruntime=20s\n"


def samples(text: str, job: str) -> list[Sample]:
    arena = ModelArena(text, seed=1, scale_divisor=SCALE)
    with arena.start("load", job, 10**9) as load:
        return [each for batch in load for each in batch]


def per_second(text: str, job: str, what: Literal["count", "bytes"]) -> float:
    rows = samples(text, job)
    ends = max(each.start_ns + each.duration_ns for each in rows) - min(each.start_ns for each in rows)
    return sum(int(getattr(each, what)) for each in rows) / ends * 1e9


def test_an_array_is_as_large_as_its_data_drives() -> None:
    drive = ModelArena("model:wd40efrx", seed=1, scale_divisor=SCALE).identity.capacity_bytes
    for layout, drives, data in (("raid0", 4, 4), ("raid1", 2, 1), ("raid5", 4, 3), ("raid6", 6, 4), ("raid10", 4, 2)):
        arena = ModelArena(f"model:{layout}:{drives}xwd40efrx", seed=1, scale_divisor=SCALE)
        # What is left out is md's superblock and less than a chunk.
        assert arena.identity.capacity_bytes == pytest.approx(data * drive, rel=0.05)
        assert arena.identity.capacity_bytes <= data * drive


def test_an_array_with_one_shingled_drive_is_called_shingled() -> None:
    assert ModelArena("model:raid5:3xwd40efrx", seed=1, scale_divisor=SCALE).identity.shingled is False
    mixed = ModelArena("model:raid5:2xwd40efrx,wd40efax", seed=1, scale_divisor=SCALE).identity
    assert mixed.shingled is True
    assert mixed.details["drives"] == "model:wd40efrx, model:wd40efrx, model:wd40efax"


def test_streams_grow_with_the_data_drives_and_random_writes_pay_for_parity() -> None:
    one = per_second("model:raid0:2xwd40efrx", STREAM, "bytes") / 2
    assert per_second("model:raid0:6xwd40efrx", STREAM, "bytes") > 3 * one
    mirrored, parity = (per_second(f"model:{each}:4xwd40efrx", RANDOM_WRITES, "count") for each in ("raid10", "raid5"))
    assert parity < 0.75 * mirrored


def test_a_degraded_array_reads_more_of_its_drives_for_the_same() -> None:
    job = "rw=randread\nbs=4k\niodepth=16\nsize=100%\nnorandommap\ntime_based\nruntime=20s\n"
    whole = per_second("model:raid6:6xwd40efrx", job, "count")
    degraded = per_second("model:raid6:4xwd40efrx,missing,missing", job, "count")
    assert degraded < 0.6 * whole


def test_the_link_is_a_ceiling_and_the_round_trip_is_felt() -> None:
    limited = per_second("model:raid0:4xwd40efrx:link=100Mb/s", STREAM, "bytes")
    assert limited == pytest.approx(100e6 / 8 * 1448 / 1538, rel=0.02)
    one_by_one = "rw=read\nbs=4k\niodepth=1\nsize=4m\n"
    near, far = (samples(f"model:raid1:2xwd40efrx:round-trip={each}", one_by_one) for each in ("0ms", "2ms"))
    added = [sum(each.latency_mean_ns or 0 for each in rows) / len(rows) for rows in (near, far)]
    assert added[1] - added[0] == pytest.approx(2e6, rel=0.2)


def test_reads_and_writes_have_ceilings_of_their_own() -> None:
    box = "model:raid0:4xwd40efrx:link=1Gb/s,read-ceiling=20MB/s,write-ceiling=10MiB/s"
    assert per_second(box, STREAM, "bytes") == pytest.approx(20e6, rel=0.02)
    assert per_second(box, STREAM.replace("rw=read", "rw=write"), "bytes") == pytest.approx(10 * 2**20, rel=0.02)


def test_who_reads_one_at_a_time_waits_for_box_and_link_in_turn_and_without_reading_ahead_for_the_drives_too() -> None:
    one_by_one = "rw=read\nbs=64k\niodepth=1\nsize=100%\ntime_based\nruntime=2m\n"
    box = "model:raid0:4xwd40efrx:link=1Gb/s,read-ceiling=60MB/s,read-cache=8GiB"
    in_turn = 1 / (1 / 60e6 + 1 / (1e9 / 8 * 1448 / 1538))
    ahead, asked = (per_second(box + each, one_by_one, "bytes") for each in (",read-ahead=128KiB", ""))
    assert asked < 0.9 * in_turn < ahead < 1.01 * in_turn


def test_written_pages_that_wait_leave_in_bursts_that_readers_feel() -> None:
    mixed = "rw=randrw\nrwmixread=70\nbs=8k\niodepth=16\nsize=100%\nnorandommap\ntime_based\nruntime=2m\n"
    box = "model:raid5:4xwd40efrx:write-cache=8GiB,outstanding=1"
    at_once, waiting = (samples(box + each, mixed) for each in ("", ",dirty-expire=30s"))
    worst = [max(each.latency_max_ns or 0 for each in rows) for rows in (at_once, waiting)]
    assert worst[1] > 2 * worst[0]


def test_a_write_cache_takes_a_burst() -> None:
    burst = "rw=randwrite\nbs=4k\niodepth=1\nsize=100%\nnorandommap\nio_size=1m\n"
    slow = per_second("model:raid5:4xwd40efrx", burst, "count")
    assert per_second("model:raid5:4xwd40efrx:write-cache=8GiB,round-trip=0.1ms", burst, "count") > 20 * slow


def test_the_same_seed_gives_the_same_rows() -> None:
    text = "model:raid5:3xwd40efax:write-cache=4GiB,read-cache=4GiB,link=1Gb/s"
    assert samples(text, RANDOM_WRITES) == samples(text, RANDOM_WRITES)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("model:raid5:1xwd40efrx", "raid5 of 1 members cannot be"),
        ("model:raid6:3xwd40efrx", "raid6 of 3 members cannot be"),
        ("model:raid5:", "has no drives"),
        ("model:raid5", "has no drives"),
        ("model:raid5:0xwd40efrx", "is no drive of an array"),
        ("model:raid5:,,", "is no drive of an array"),
        ("model:raid5:3xwd40efrx:", "an option is empty"),
        ("model:raid5:3xwd40efrx:link=1Gb/s,", "an option is empty"),
        ("model:raid5:missing,missing,missing", "has no drives"),
        ("model:raid5:2xwd40efrx,missing,missing", "does not survive"),
        ("model:raid5:9999xwd40efrx", "too wide"),
        ("model:raid5:99999xwd40efrx", "an array of 99999 drives is too wide"),
        ("model:raid5:999999999999999999xwd40efrx", "too wide"),
        ("model:raid9:4xwd40efrx", "no layout `raid9`"),
        ("model:4xwd40efrx:raid5", "no layout `4xwd40efrx`"),
        ("model:raid5:3xnosuch", "nosuch"),
        ("model:raidz1:3xwd40efrx", "pool of ZFS"),
        ("model:raid5:3xwd40efrx:bogus=1", "no option"),
        ("model:raid5:3xwd40efrx:chunk=5B", "power of two"),
        ("model:raid5:3xwd40efrx:link=1", "no speed of a link"),
        ("model:raid5:3xwd40efrx:read-ceiling=1", "not a rate of data"),
        ("model:raid5:3xwd40efrx:read-ahead=128KiB", "no read cache to keep it in"),
        ("model:raid5:3xwd40efrx:dirty-expire=30s", "no write cache to wait in"),
        ("model:raid5:3xwd40efrx:dirty-expire=30s", "`dirty-expire` is 30s: "),
        ("model:raid5:3xwd40efrx:dirty-expire=250ms", "`dirty-expire` is 0.25s: "),
        ("model:raid5:3xwd40efrx:read-ahead=4MiB", "`read-ahead` is 4MiB: "),
        ("model:raid5:3xwd40efrx:read-ahead=100B", "`read-ahead` is 100 bytes: memory is of pages"),
        ("model:raid5:3xwd40efrx:read-cache=1GiB,read-ahead=1GiB", "the read cache has no room for it"),
        *(
            (
                f"model:raid5:3xwd40efrx:{cache}={size}",
                f", scaled down by 1000: `{cache}` is {scaled}: memory is of pages",
            )
            for cache in ("read-cache", "write-cache")
            for size, scaled in (("512B", "1 bytes"), ("1MiB", "1049 bytes"), ("100PB", "100TB"))
        ),
        ("model:raid5:3xwd40efrx:chunk=500kB", "`chunk` is 500kB: a power of two"),
        ("model:raid5:3xwd40efrx:write-ceiling=0MB/s", "must let something through"),
        ("model:raid5:3xwd40efrx:outstanding=0", "outstanding"),
        ("model:raid5:3xwd40efrx:outstanding=-1", "outstanding"),
        ("model:raid5:3xwd40efrx:outstanding=1e9", "outstanding"),
        ("model:raid10:4xwd40efrx:copies=n1", "no redundancy"),
        ("model:raid5:4xwd40efrx:stripe-cache=-1", "17 to 32768"),
        ("model:raid5:3xwd40efrx:chunk=-4KiB", "not a size"),
        ("model:raid5:3xwd40efrx:battery=maybe", "`battery=maybe`: `maybe` is neither yes nor no"),
        ("model:raid5:3xwd40efrx:battery=yes", "write cache"),
        ("model:raid5:3xwd40efrx:write-cache=99999999999999TB", "too large"),
        ("model:raid1:2xwd40efrx:rotation=left-symmetric", "raid1 has no `rotation`"),
        ("model:raid1:2xwd40efrx:chunk=64KiB", "raid1 has no `chunk`"),
        ("model:raid0:2xwd40efrx:bitmap=yes", "raid0 has no `bitmap`"),
        ("model:raid5:3xwd40efrx:speed-max=1MiB", "no option"),
        ("model:raid5:3xwd40efrx:link=1Gb/s,link=2Gb/s", "`link` is given twice"),
        ("model:raid5:3xwd40efrx:round-trip=1h", "a minute at the most"),
    ],
)
def test_nonsense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ModelArena(text, seed=1, scale_divisor=SCALE)
    assert complaint in str(refusal.value)
    assert refusal.value.hint


def test_one_drive_is_one_drive() -> None:
    assert not names_storage_box("model:wd40efax")
    refuse_storage_box("model:wd40efax", "characterize")
    with pytest.raises(UsageError, match="takes drives"):
        refuse_storage_box("model:raid5:3xwd40efrx", "characterize")


def test_an_unknown_layout_names_those_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        ModelArena("model:raid9:4xwd40efrx", seed=1)
    assert "raid0, raid1, raid10, raid5, raid6" in refused.value.hint


@pytest.mark.parametrize("path", ["model:./a:b.toml", "model:a:b.toml", "model:./drives:mine/wd"])
def test_a_path_may_have_a_colon(path: str) -> None:
    assert not names_storage_box(path)


@pytest.mark.parametrize("text", ["lab:raid5:4xwd40efrx", "lab:raidz1:4xwd40efrx", "lab:raid9:4xwd40efrx", "lab:raid5"])
def test_arrays_of_the_lab_are_another_verbs_matter(text: str) -> None:
    with pytest.raises(UsageError, match="no drive") as refused:
        refuse_lab_box(text)
    assert "shakedown rebuild" in refused.value.hint
    refuse_lab_box("lab:wd40efrx")
    refuse_lab_box("model:raid5:4xwd40efrx")
