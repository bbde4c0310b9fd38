from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.tools.mdstat import Member, Sync, parse_mdstat

REBUILDING = """\
Personalities : [raid6] [raid5] [raid4] [raid1]
md0 : active raid6 sdi[8] sda[0] sdb[1] sdc[2](F) sdd[3]
      22014889984 blocks super 1.2 level 6, 512k chunk, algorithm 2 [8/7] [UU_UUUUU]
      [==>..................]  recovery = 12.6% (463209876/3669148330) finish=301.3min speed=177344K/sec
      bitmap: 0/28 pages [0KB], 65536KB chunk

md1 : active (auto-read-only) raid1 sdk1[1] sdj1[0]
      976630464 blocks super 1.2 [2/2] [UU]
      \tresync=PENDING

md127 : inactive sdl[0](S)
      976630464 blocks super 1.2

md3 : active raid0 sdm[0] sdn[1]
      1953260928 blocks super 1.2 512k chunks

unused devices: <none>
"""


def test_a_rebuild_is_read() -> None:
    array = parse_mdstat(REBUILDING)["md0"]
    assert (array.level, array.degraded, array.wanted, array.working) == ("raid6", True, 8, 7)
    assert array.size_bytes == 22014889984 * 1024
    assert array.members[0] == Member("sdi", 8)
    assert array.members[3] == Member("sdc", 2, faulty=True)
    sync = array.sync
    assert sync is not None
    assert sync.finish_s == pytest.approx(301.3 * 60)
    done_bytes, total_bytes, bytes_per_s = (each * 1024 for each in (463209876, 3669148330, 177344))
    assert replace(sync, finish_s=None) == Sync("recovery", None, done_bytes, total_bytes, None, bytes_per_s)


def test_what_waits_and_what_is_not_active() -> None:
    arrays = parse_mdstat(REBUILDING)
    assert list(arrays) == ["md0", "md1", "md127", "md3"]
    assert arrays["md1"].sync == Sync("resync", waiting="PENDING")
    assert not arrays["md1"].degraded
    assert (arrays["md127"].level, arrays["md127"].members) == (None, (Member("sdl", 0, spare=True),))
    assert (arrays["md3"].sync, arrays["md3"].wanted) == (None, None)


def test_every_flag_of_a_member_is_read_past() -> None:
    """Write-mostly, journal and replacement say nothing that counts here, and may stand beside flags that do."""
    arrays = parse_mdstat(
        "md4 : active raid1 sda[0](W)(F) sdb[1](R) sdc[2](J) sdd[3](W)(S)\nmd5 : broken raid0 sde[0]\n"
    )
    members = (Member("sda", 0, faulty=True), Member("sdb", 1), Member("sdc", 2), Member("sdd", 3, spare=True))
    assert arrays["md4"].members == members
    assert (arrays["md5"].level, arrays["md5"].members) == ("raid0", (Member("sde", 0),))


@pytest.mark.parametrize("action", ["resync", "reshape", "check", "recovery"])
def test_other_actions(action: str) -> None:
    text = REBUILDING.replace("recovery =", f"{action} =")
    sync = parse_mdstat(text)["md0"].sync
    assert sync is not None
    assert sync.action == action


def test_an_end_that_is_no_number_is_none() -> None:
    sync = parse_mdstat(REBUILDING.replace("finish=301.3min", "finish=30.1.3min"))["md0"].sync
    assert sync is not None
    assert (sync.action, sync.finish_s) == ("recovery", None)


def test_no_arrays() -> None:
    assert parse_mdstat("Personalities : \nunused devices: <none>\n") == {}


@given(st.text())
def test_any_text_is_read_without_a_complaint(text: str) -> None:
    parse_mdstat(text)


@given(st.data())
def test_a_damaged_one_too(data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(REBUILDING)))
    length = data.draw(st.integers(0, 40))
    noise = data.draw(st.text(st.sampled_from("0123456789.%()[]=/\n :KmdU_"), max_size=20))
    parse_mdstat(REBUILDING[:cut] + noise + REBUILDING[cut + length :])
