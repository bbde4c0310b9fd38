"""Rebuilds of real drives, as far as they go without any: what is refused, what is kept, what is told."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import pytest

from shakedown.array.capacity import Capacity, data_a_shown_byte
from shakedown.array.find import findings
from shakedown.array.in_lab import InGuest, refuse_in_lab, run_rebuild_in_lab
from shakedown.array.measured import Traced, measured, setting_of
from shakedown.array.order import RebuildOrder
from shakedown.array.real import _turns
from shakedown.array.rebuild import simulate
from shakedown.array.state import State
from shakedown.array.zfs import ZfsOptions
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.device.array.content import Content
from shakedown.device.array.drive import Drive
from shakedown.device.array.users import endless
from shakedown.device.array.watch import Member, Watched
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.lab import run as lab
from shakedown.report import words
from shakedown.report.figures import spread
from shakedown.result.identity import Identity
from shakedown.target.md_options import MdOptions

RED = "lab:wd40efrx"


def silent(_: str) -> None:
    """Tell nobody."""


def test_drives_of_several_arenas_are_no_array(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="all alike"):
        verb("raid1", "model:wd40efrx", RED, options=RebuildOptions(out=tmp_path / "r"))


def test_what_is_no_block_device_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"data")
    options = RebuildOptions(out=tmp_path / "r")
    with pytest.raises(UsageError, match="no block device") as refused:
        verb("raid1", str(tmp_path / "a"), str(tmp_path / "b"), options=options)
    assert "losetup" in refused.value.hint
    assert not (tmp_path / "r").exists()


def test_one_device_is_not_two_drives(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    with pytest.raises(UsageError, match="named twice"):
        verb("raid1", "/dev/null", str(link), options=RebuildOptions(out=tmp_path / "r"))
    with pytest.raises(UsageError, match="in the array already"):
        verb("raid1", "/dev/null", "/dev/zero", options=RebuildOptions(out=tmp_path / "r", replace_with=str(link)))


@pytest.mark.parametrize(
    ("members", "width", "replacement"),
    [
        (["/dev/sdzz"], 4, None),
        (["/dev/null", "/dev/sdzz"], None, None),
        (["/dev/null", "/dev/zero"], None, "/dev/sdzz"),
    ],
)
def test_a_device_that_is_not_there_is_told_as_that(
    tmp_path: Path, members: list[str], width: int | None, replacement: str | None
) -> None:
    options = RebuildOptions(out=tmp_path / "r", width=width, replace_with=replacement)
    with pytest.raises(UsageError, match="there is no device `/dev/sdzz`"):
        verb("raid1", *members, options=options)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (RebuildOptions(width=4, plan=True, settings=("hz=100",)), "`--set hz=.* is of modelled arrays"),
        (RebuildOptions(width=4, plan=True, whole=True), "are for modelled drives"),
        (RebuildOptions(width=4, plan=True, seeds=5), "`--seeds` are of modelled rebuilds"),
        (RebuildOptions(width=4, plan=True, member_size="5TB"), "was to use 4.5 TiB of each"),
    ],
)
def test_nothing_is_planned_that_would_be_refused(options: RebuildOptions, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        verb("raid5", "lab:wd40efrx", options=options)
    assert refused.value.hint


def test_no_load_is_planned_that_waits_for_its_end(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randread\n[b]\nrw=randread\nstonewall\n")
    with pytest.raises(UsageError, match="stonewall"):
        verb("raid5", RED, options=RebuildOptions(width=4, plan=True, load=job))


@pytest.mark.parametrize("is_planned", [False, True])
def test_real_drives_have_their_size_and_are_rebuilt_once(is_planned: bool, tmp_path: Path) -> None:
    for options, says in (
        (RebuildOptions(scale="1/100", plan=is_planned, out=tmp_path / "r"), "`--scale` makes modelled drives smaller"),
        (RebuildOptions(seeds=5, plan=is_planned, out=tmp_path / "r"), "`--seeds` are of modelled rebuilds"),
    ):
        with pytest.raises(UsageError, match=says) as refused:
            verb("raid1", "/dev/null", "/dev/zero", options=options)
        assert refused.value.hint
    assert not (tmp_path / "r").exists()


def test_a_guest_is_given_its_memory_up_to_what_it_can_have() -> None:
    def planned(memory: str, *targets: str) -> int:
        options = RebuildOptions(width=4, plan=True, quiet=True, scale="1/4000", settings=(f"memory={memory}",))
        return verb("raidz1", *targets, options=options)

    assert planned("1GiB", RED) == 0
    with pytest.raises(UsageError, match=r"a guest of the lab has 2\.0 GiB at the most") as refused:
        planned("4GiB", RED)
    assert refused.value.hint


def test_the_plan_of_modelled_drives_is_the_room_that_they_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a rebuild, and nothing is left behind."""
    options = RebuildOptions(width=4, fill="50%", plan=True, json=True, out=tmp_path / "r")
    assert verb("raid5", "model:wd40efrx", options=options) == 0
    [room] = json.loads(capsys.readouterr().out)["plan"]
    assert room["usable_bytes"] == 3 * room["member_bytes"] == 2 * room["held_bytes"]
    assert verb("raidz1", "model:wd40efrx", options=replace(options, json=False)) == 0
    told = capsys.readouterr().out
    assert "of each drive, has room for 10.5 TiB of data and holds 5.2 TiB." in told, told
    assert not (tmp_path / "r").exists()
    with pytest.raises(UsageError, match="takes 4 or more"):
        verb("raid6", "model:wd40efrx", options=replace(options, width=3))


def test_only_what_was_cut_off_is_resumed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no rebuild that was cut off"):
        verb(options=RebuildOptions(resume=tmp_path))
    (tmp_path / "array.json").write_text('{"format_version": 2, "stage": 3}')
    with pytest.raises(UsageError, match="has format version 2; this Shakedown reads up to 1"):
        State.read(tmp_path)
    (tmp_path / "array.json").write_text('{"format_version": 1, "stage": 3}')
    with pytest.raises(UsageError, match="is damaged"):
        verb(options=RebuildOptions(resume=tmp_path))


def test_in_the_lab_nothing_is_replaced(tmp_path: Path) -> None:
    order = RebuildOrder("raid1", (RED,) * 2, RED)
    with pytest.raises(RefusedError, match="exists already"):
        run_rebuild_in_lab(InGuest(order, (), None), tmp_path, silent)


@pytest.mark.parametrize(
    ("place", "kind", "is_told"), [(0, "latent-sectors", True), (1, "latent-sectors", False), (0, "stall", False)]
)
def test_in_the_lab_filling_heals_what_it_writes(
    place: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    """A survivor's bad sectors, that is; those of the drive that is put in are not there yet."""
    keys = "sectors = [[1000000, 1]]\nretry_s = 1" if kind == "latent-sectors" else "from_s = 20\nfor_s = 1"
    faults = {place: f'format_version = 1\n[[faults]]\nkind = "{kind}"\n{keys}\n'}
    order = RebuildOrder("mirror", (RED,) * 2, RED, fill=0.1, scale_divisor=1000, faults=faults, options=ZfsOptions())
    monkeypatch.setattr(lab, "run", lambda *_: SimpleNamespace(exit_status=5))
    told: list[str] = []
    with pytest.raises(EnvironmentFailure):
        run_rebuild_in_lab(InGuest(order, (), None), tmp_path / "r", told.append)
    healed = [line for line in told if "sectors of drive 0 are bad from the boot on" in line]
    assert len(healed) == is_told


def test_a_load_has_no_end_of_its_own() -> None:
    job = endless("[a]\nrw=randread\nruntime=5\n\n[b]\nrw=randwrite\n")
    assert job.count("time_based=1") == 2
    assert job.index("runtime=5") < job.index("runtime=31536000")
    with pytest.raises(UsageError, match="stonewall"):
        endless("[a]\nrw=randread\n[b]\nrw=randread\nstonewall\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [("filename=x", "it belongs to the target"), ("bssplit=4k/50:64k/50\nrate_iops=9", "times the shortest request's")],
)
def test_a_load_that_no_target_takes_is_refused_before_an_array_is_made(line: str, reason: str) -> None:
    """It was when the array had been filled, hours later."""
    with pytest.raises(UsageError, match=reason):
        endless(f"[a]\nrw=randread\n{line}\n")
    with pytest.raises(UsageError, match=reason):
        refuse_in_lab(RebuildOrder("raid1", ("lab:wd40efrx",) * 2, "lab:wd40efrx", load=f"[a]\nrw=read\n{line}\n"))


@pytest.mark.parametrize("options", [MdOptions(copies=(1, 2, False)), ZfsOptions(draid=(4, 1))])
def test_a_state_is_read_as_it_was_written(tmp_path: Path, options: MdOptions | ZfsOptions) -> None:
    order = RebuildOrder("raid10", ("/dev/a", "/dev/b"), "/dev/c", load="[x]", faults={1: "y"}, options=options)
    state = State(order, ["baseline", "new"], "1:2:3:4", [{"a": 1}], stage="rebuilding", watched=asdict(watched()))
    state.write(tmp_path)
    assert State.read(tmp_path) == State(**{**vars(state), "watched": State.read(tmp_path).watched})
    assert Watched.from_json(State.read(tmp_path).watched or {}) == watched()
    State.forget(tmp_path)
    assert not list(tmp_path.iterdir())


def test_content_is_the_same_for_the_same_seed_and_its_loss_is_seen(tmp_path: Path) -> None:
    content = Content(seed=3, file_bytes=1 << 20, files=3)
    content.write(tmp_path, silent)
    first = tmp_path / "00" / "000001"
    kept = first.read_bytes()
    content.write(tmp_path, silent)  # what is there is left as it is
    assert content.differing(tmp_path) == []
    content.age(tmp_path, 128 << 10, silent)
    assert first.read_bytes() == kept
    first.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    (tmp_path / "00" / "000002").unlink()
    assert content.differing(tmp_path) == ["000001", "000002"]


def test_a_file_cut_short_is_written_anew(tmp_path: Path) -> None:
    content = Content(seed=3, file_bytes=1 << 20, files=1)
    content.write(tmp_path, silent)
    content.first(tmp_path).write_bytes(b"half")
    content.write(tmp_path, silent)
    assert content.differing(tmp_path) == []


def watched(*, failed: bool = False) -> Watched:
    second = 1_000_000_000
    members = [
        Member(bytes_read=100, requests=3, polls_awaited=8),
        Member(bytes_written=100, requests=2, polls_awaited=1),
    ]
    members[1].longest_silence_ns = 9 * second
    looks: list[tuple[int, int, int, float | None, float | None]]
    looks = [(second, 10, 100, 5.0, 30.0), (6 * second, 60, 100, 12.0, 4.0)]
    return Watched(10 * second, polls=10, members=members, looks=looks, failed=failed)


def traced(seen: Watched) -> Traced:
    return Traced(seen, [[], []], [[], []], 0)


def test_what_was_seen_becomes_the_same_findings() -> None:
    done = measured(traced(watched()), 1, [])
    found = {each.kind: each for each in findings([done], ["old", "new"])}
    assert done.ended == "complete"
    assert found["rebuild-time"].value == 10
    assert found["bottleneck"].evidence["drive"] == "old"
    assert found["bottleneck"].value == pytest.approx(0.8)
    assert found["worst-latency"].value == pytest.approx(9097)  # to one poll
    assert found["estimate-error"].value == pytest.approx(30 / 9 - 1)
    assert done.filled_bytes == 100


@pytest.mark.parametrize(
    ("layout", "width", "filled"), [("mirror", 2, 4000), ("raidz1", 4, 1000), ("raidz2", 8, 500), ("draid1", 20, 200)]
)
def test_the_replacement_is_given_its_part_of_what_the_pool_holds(layout: str, width: int, filled: int) -> None:
    order = RebuildOrder(layout, (RED,) * width, RED, options=ZfsOptions())
    seen = watched()
    seen.looks = [(5_000_000_000, 2000, 4000, 5.0, 5.0)]
    overlooked = watched()
    overlooked.looks = []
    for each in (seen, overlooked):
        each.members[1].bytes_written = 5000  # what users wrote is not the rebuild's
        done = measured(Traced(each, [[], []], [[], []], 4000, order.part_of_one), 1, [])
        assert (done.filled_bytes, done.allocated_bytes) == (filled, 4000)
        assert done.progress["done_bytes"][-2] in (0, filled // 2)


def test_padding_that_is_counted_and_not_written_fills_nothing() -> None:
    seen = watched()
    seen.members[1].bytes_written = 24
    assert measured(Traced(seen, [[], []], [[], []], 100, 1 / 4), 1, []).filled_bytes == 24


@pytest.mark.parametrize(("layout", "width"), [("mirror", 2), ("raidz1", 4), ("raidz2", 6), ("draid1", 10)])
def test_the_model_counts_what_the_replacement_is_given(layout: str, width: int) -> None:
    members = ("model:wd40efrx",) * width
    order = RebuildOrder(layout, members, members[-1], fill=0.5, scale_divisor=4000, options=ZfsOptions())
    done = simulate(order)
    part = done.allocated_bytes * order.part_of_one
    assert 0.9 * part < done.filled_bytes <= part
    assert done.members["bytes_written"][-1] == pytest.approx(done.filled_bytes, rel=0.02)


@pytest.mark.parametrize(
    ("left_s", "told"),
    [
        ([30.0], "233% too long"),
        ([4.5, 18.0], "anything from 50% too short to 100% too long"),
        ([12.6, 18.0], "40% to 100% too long"),
        ([270.0, 666.0], "30 to 74 times what is left"),
    ],
)
def test_estimates_whose_errors_cancel_out_are_told_with_both(left_s: list[float], told: str) -> None:
    rebuilds = []
    for left in left_s:
        seen = watched()
        seen.looks[0] = (1_000_000_000, 10, 100, 5.0, left)
        rebuilds.append(measured(traced(seen), 1, []))
    found = {each.kind: each for each in findings(rebuilds, ["old", "new"])}
    assert found["estimate-error"].text == f"With 10% done /proc/mdstat's estimate is {told}."
    in_a_table = words.found("estimate-error", found["estimate-error"].value, "share", *spread(found["estimate-error"]))
    assert in_a_table == told.removeprefix("anything from ")


def test_a_loss_and_a_failure_are_told() -> None:
    assert measured(traced(watched()), 1, ["000001"]).ended == "with-losses"
    failed = measured(traced(watched(failed=True)), 1, [])
    assert failed.ended == "failed"
    told = findings([failed], ["old", "new"])[0]
    assert told.value is None
    assert "fails after 10 s, 60% done" in told.text
    assert failed.progress.to_dicts()[-1] == {
        "at_ns": failed.duration_ns,
        "done_bytes": 60,
        "shown_bytes_per_s": None,
        "left_ns": None,
    }


@pytest.mark.parametrize(("kind", "is_single"), [("lab", True), ("disk", False)])
def test_one_play_of_the_lab_is_told_as_one(*, kind: Literal["lab", "disk"], is_single: bool) -> None:
    identity = Identity(kind=kind, text="sda", name="sda", model="A", capacity_bytes=10**12)
    drives = [cast(Drive, SimpleNamespace(identity=identity.model_copy(update={"text": text}))) for text in "ab"]
    done = measured(traced(watched()), 1, [])
    setting = setting_of(RebuildOrder("raid1", ("a", "b"), "b"), drives, done, watched(), is_read_back=True)
    assert any("A single play" in note for note in setting.notes) == is_single
    assert setting.capacity.usable_bytes == 10**12


def test_the_room_of_a_real_array_is_that_of_the_modelled_one() -> None:
    """What failed was left out: what is unused of it, and that the array has no more of any drive than it had."""
    members = ("model:wd60efpx", "model:wd60efpx", "model:wd60efpx", "model:wd40efrx")
    order = RebuildOrder("raid5", members, "model:wd80efzx", scale_divisor=1000)
    sizes = order.modelled_capacities
    identity = Identity(kind="lab", text="", name="", model="", capacity_bytes=0)
    drives = [
        cast(
            Drive,
            SimpleNamespace(
                identity=identity.model_copy(update={"text": each, "name": each, "capacity_bytes": sizes[each]})
            ),
        )
        for each in (*members, order.replacement)
    ]
    done = measured(traced(watched()), 1, [])
    for asked in (order, replace(order, members=(*members[:2], members[3], members[2]))):
        given = [
            next(each for each in drives if each.identity.text == text) for text in (*asked.members, asked.replacement)
        ]
        real = setting_of(asked, given, done, watched(), is_read_back=True).capacity
        modelled = Capacity.of(asked, asked.modelled_capacities)
        assert real == modelled
        assert real.member_bytes == sizes["model:wd40efrx"]
        assert "Unused: 1.9 GiB of each model:wd60efpx" in real.words


def test_a_distributed_spare_has_no_baseline_which_would_leave_none() -> None:
    drives = cast(list[Drive], [object() for _ in range(7)])
    order = RebuildOrder("draid1", (RED,) * 6, RED, options=ZfsOptions(draid=(2, 1)))
    on_spare = replace(order, options=ZfsOptions(draid=(2, 1), spare=0))
    turns = [_turns(each, drives, with_baseline=True) for each in (order, on_spare)]
    assert turns == [["baseline", "new"], ["new"]]
    effort = [InGuest(on_spare, (), baseline).effort for baseline in (None, "none")]
    assert effort[0] == effort[1]


@pytest.mark.parametrize(
    ("layout", "record_bytes", "share"),
    [
        # 2 + 1 sectors of 4 KiB, padded to 4, where 128 KiB take 32 + 11, padded to 44.
        ("raidz1", 8 << 10, (2 / 4) / (32 / 44)),
        ("raidz1", 128 << 10, 1.0),
        ("mirror", 8 << 10, 1.0),
        ("raid5", 128 << 10, 1.0),
    ],
)
def test_small_records_fill_what_df_shows_with_less_data(layout: str, record_bytes: int, share: float) -> None:
    options = MdOptions() if layout == "raid5" else ZfsOptions(record_bytes=record_bytes)
    order = RebuildOrder(layout, (RED,) * 4, RED, options=options)
    assert data_a_shown_byte(order) == pytest.approx(share, rel=1e-6)
