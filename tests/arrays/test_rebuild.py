"""Rebuilds of modelled arrays through Python and through the command line, on drives a thousandth of the real ones."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shakedown
from shakedown.analysis.status import look_at
from shakedown.array import run
from shakedown.array.capacity import usable_bytes
from shakedown.array.find import findings, ratios
from shakedown.array.keep import PROGRESS_HEAD
from shakedown.array.order import RebuildOrder, members_of
from shakedown.array.rebuild import MEMBERS_SCHEMA, PROGRESS_SCHEMA, Share, simulate
from shakedown.array.zfs import ZfsOptions
from shakedown.cli.matrix import MatrixOptions, matrix
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.device.lab_disk import DISKS
from shakedown.errors import UsageError
from shakedown.report.compare import compare
from shakedown.report.html import write
from shakedown.report.rebuild import answers_of
from shakedown.result.folder import read_run
from shakedown.target.md_options import MdOptions
from shakedown.target.profile import read_profile
from shakedown.units import parse_size_bytes

IRONWOLF = "model:st12000vn0007"
RED = "model:wd40efax"
SUPERBLOCKS = 17 * 512
"""Written to each drive: a page every sixteenth of the way, but for the end."""
JOB = "[users]\nrw=randread\nbs=16k\niodepth=2\nnorandommap\n"


def order(**changes: object) -> RebuildOrder:
    given = {"layout": "raid6", "members": (IRONWOLF,) * 4, "replacement": IRONWOLF, "scale_divisor": 1000}
    return RebuildOrder(**{**given, **changes})  # type: ignore[arg-type]


POOL = order(layout="raidz1", fill=0.1, scale_divisor=4000, options=ZfsOptions())


def test_every_drive_does_its_part() -> None:
    done = shakedown.rebuild("raid6", IRONWOLF, width=5, scale_divisor=1000, whole=True)
    used = done.filled_bytes
    assert done.ended == "complete"
    assert done.whole
    assert re.fullmatch(r"<Rebuild of 5 drives: complete after [\d.]+ s, longest command [\d.]+ ms>", repr(done))
    assert used > 11_900_000_000
    assert done.members["bytes_read"].to_list() == [used, used, used, used, 0]
    assert done.members["bytes_written"].to_list() == [SUPERBLOCKS] * 4 + [used + SUPERBLOCKS]
    assert all(later["at_ns"] >= sooner["at_ns"] for sooner, later in pairwise(done.progress.to_dicts()))
    assert 0 < done.members["awaited"].sum() <= 1


def test_a_job_is_felt_and_told() -> None:
    done = simulate(order(load=JOB, fill=0.5))
    assert done.felt_during["direction"].to_list() == ["read"]
    assert done.felt_during["mean_ns"][0] > done.felt_alone["mean_ns"][0]
    assert done.during["step"].unique().to_list() == ["rebuild-load"]
    assert done.duration_ns > simulate(order()).duration_ns
    found = {(each.kind, each.step): each for each in findings([done], ["a", "b", "c", "d"])}
    assert found["latency", "rebuild-load"].value == pytest.approx(done.felt_during["mean_ns"][0] / 1e6)


def test_users_of_zfs_ask_one_at_a_time_and_leave_less_to_resilver() -> None:
    options = ZfsOptions(memory_bytes=2 << 30, cores=1)
    pool = order(layout="mirror", members=(IRONWOLF,) * 2, fill=0.1, scale_divisor=4000, whole=True, options=options)
    alone = simulate(pool)
    job = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth={}\n"
    few, many = (simulate(replace(pool, load=job.format(depth))) for depth in (1, 8))
    done_alone = [sum(each.felt_alone["count"].to_list()) for each in (few, many)]
    assert done_alone[1] == pytest.approx(done_alone[0], rel=0.02)
    assert many.felt_alone["mean_ns"][0] == pytest.approx(8 * few.felt_alone["mean_ns"][0], rel=0.25)
    assert few.duration_ns > alone.duration_ns
    assert 0 < few.records < 0.95 * alone.records
    assert few.to_json() == simulate(replace(pool, load=job.format(1))).to_json()


def test_beside_a_load_the_files_that_are_set_lie_behind_the_users() -> None:
    """By hand: of 1600 MiB the users' file is 1400 in pieces of 21 MiB, and 200 files of 1 MiB have a block each."""
    pool = order(layout="mirror", members=(IRONWOLF,) * 2, scale_divisor=1000, whole=True, options=ZfsOptions())
    room = usable_bytes(pool, min(pool.modelled_capacities.values()))
    pool = replace(pool, fill=(1600.5 * 2**20) / room)
    job = "[users]\nrw=randread\nbs=16k\nsize={}m\n"
    files = replace(pool, options=ZfsOptions(file_bytes=2**20))
    one, others = (simulate(replace(each, load=job.format(1386))) for each in (pool, files))
    simulate(replace(pool, load=job.format(1387)))
    with pytest.raises(UsageError, match="size"):
        simulate(replace(files, load=job.format(1387)))
    assert one.allocated_bytes - others.allocated_bytes == pytest.approx((1600 - 1386 - 200) * 2**20, abs=2**21)
    assert simulate(files).allocated_bytes - one.allocated_bytes == pytest.approx(1600 * 2 * 4096, abs=2**21)


def test_the_same_seed_gives_the_same() -> None:
    first, second, other = (simulate(order(seed=seed)).to_json() for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_faults_in_python_are_text_or_a_path(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text('format_version = 1\n[[faults]]\nkind = "gone"\nfrom_s = 1\nfor_s = 1\n')
    given = [file.read_text(), str(file), file]
    failed = [shakedown.rebuild("raid6", IRONWOLF, width=4, scale_divisor=1000, faults={0: each}) for each in given]
    assert [list(each.failed_on_the_way) for each in failed] == [[0]] * 3
    with pytest.raises(UsageError, match="cannot be read"):
        shakedown.rebuild("raid6", IRONWOLF, width=4, faults={0: str(tmp_path / "none.toml")})
    with pytest.raises(UsageError, match="`faults of drive 0` is not TOML"):
        shakedown.rebuild("raid6", IRONWOLF, width=4, faults={0: "a =\nb"})


def test_a_folder_that_holds_anything_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder") as refusal:
        verb("raid5", RED, options=replace(SMALL, out=tmp_path))
    assert refusal.value.hint.startswith("choose another --out, or go on with an interrupted run: `shakedown rebuild")


def test_options_of_the_array_are_checked() -> None:
    with pytest.raises(UsageError, match="power of two"):
        shakedown.rebuild("raid5", IRONWOLF, width=3, chunk_bytes=100_000)
    with pytest.raises(UsageError, match="no option `chunks`"):
        shakedown.rebuild("raid5", IRONWOLF, width=3, chunks=1)
    with pytest.raises(UsageError, match="raid5 has no `copies`"):
        shakedown.rebuild("raid5", IRONWOLF, width=3, copies=(2, 1, False))
    with pytest.raises(UsageError, match="a request has 1 to 65535"):
        shakedown.rebuild("raid5", IRONWOLF, width=3, max_segments=0)
    with pytest.raises(UsageError, match="a raid10 has two at least"):
        shakedown.rebuild("raid10", IRONWOLF, width=4, copies=(1, 1, False))
    with pytest.raises(UsageError, match="17 to 32768"):
        shakedown.rebuild("raid5", IRONWOLF, width=3, stripe_cache=16)
    with pytest.raises(UsageError, match="1 to 8192"):
        simulate(order(layout="raidz1", options=ZfsOptions(cores=0)))
    with pytest.raises(UsageError, match="3 drives are given"):
        members_of([IRONWOLF, RED, RED], 4)


@pytest.mark.parametrize(
    ("layout", "width", "options"),
    [
        ("raid5", 2, {}),
        ("raid1", 2, {}),
        ("raid1", 5, {}),
        ("raid10", 2, {"copies": (2, 1, False)}),
        ("raid10", 2, {"copies": (1, 2, False)}),
        ("raid10", 2, {"copies": (1, 2, True)}),
        ("raid10", 3, {"copies": (2, 1, False)}),
        ("raid10", 3, {"copies": (1, 2, False)}),
        ("raid10", 3, {"copies": (1, 2, True)}),
        ("raid10", 3, {"copies": (3, 1, False)}),
        ("raid6", 4, {}),
    ],
)
def test_what_mdadm_makes_is_rebuilt(layout: str, width: int, options: dict[str, Any]) -> None:
    done = shakedown.rebuild(layout, IRONWOLF, width=width, scale_divisor=10000, **options)
    assert done.ended == "complete"
    assert done.members["bytes_written"][width - 1] >= done.filled_bytes > 1e9


@pytest.mark.parametrize(("layout", "width"), [("raid5", 1), ("raid6", 3), ("raid1", 1), ("raid10", 1)])
def test_what_mdadm_refuses_is_refused(layout: str, width: int) -> None:
    with pytest.raises(UsageError, match="it takes"):
        shakedown.rebuild(layout, IRONWOLF, width=width)


def test_pools_of_zfs_are_rebuilt_in_python_with_options_of_theirs() -> None:
    done = shakedown.rebuild("RAIDZ1", IRONWOLF, width=4, fill=0.1, scale_divisor=4000)
    assert done.ended == "complete"
    assert done.to_json() == simulate(POOL).to_json()
    long = shakedown.rebuild("raidz1", IRONWOLF, width=4, fill=0.1, scale_divisor=4000, record_bytes=2**20)
    assert long.to_json() == simulate(replace(POOL, options=ZfsOptions(record_bytes=2**20))).to_json()


def test_frames_of_rebuilds_are_of_the_same_types_whether_a_drive_failed_or_not() -> None:
    whole, failing = (
        shakedown.rebuild("raidz2", IRONWOLF, width=4, scale_divisor=4000, **options)
        for options in ({"fill": 0}, {"fill": 0.1, "second_failure": (0, 10**7)})
    )
    assert failing.failed_on_the_way
    both = pl.concat([whole.members, failing.members])
    assert both["failed_at_ns"].null_count() == 2 * 4 - 1
    assert both.schema == MEMBERS_SCHEMA
    assert pl.concat([whole.progress, failing.progress]).schema == PROGRESS_SCHEMA


@pytest.mark.parametrize(
    ("layout", "option", "whose"), [("raidz1", {"chunk_bytes": 2**20}, "md"), ("raid5", {"ashift": 12}, "ZFS")]
)
def test_an_option_of_the_others_is_refused_by_name(layout: str, option: dict[str, Any], whose: str) -> None:
    with pytest.raises(UsageError, match=f"takes no `{next(iter(option))}`: it is of {whose}") as refusal:
        shakedown.rebuild(layout, IRONWOLF, width=4, **option)
    assert "its own are" in refusal.value.hint


def test_a_profile_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def counting(path: Path) -> str:
        read.append(path)
        return read_profile(path)

    monkeypatch.setattr("shakedown.array.order.read_profile", counting)
    run.run_rebuild(order(scale_divisor=4000), None, 3, tmp_path / "out", lambda _line: None)
    assert [path.name for path in read] == ["st12000vn0007.toml"]


def test_an_empty_pool_is_resilvered_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = RebuildOptions(width=4, fill="0%", seeds=1, out=tmp_path / "out", quiet=True)
    assert verb("raidz1", IRONWOLF, options=options) == 0
    told = capsys.readouterr().out
    assert "Nothing is allocated, so nothing is resilvered." in told
    assert "MiB/s" not in told
    assert "its longest command" not in told


def test_a_distributed_spare_is_no_new_drive(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = ("draid=2d:1s", "spare=0", "order=sequential")
    options = RebuildOptions(
        width=7, fill="1%", seeds=1, out=tmp_path / "out", quiet=True, settings=settings, baseline="none"
    )
    assert verb("draid1", IRONWOLF, options=options) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "no new one is put in" in told
    longest = re.search(r"a drive's longest command ([1-9][\d.]* m?s)", told)
    assert longest
    assert f"Kicked for a command of {longest[1]}?" in told


@pytest.mark.parametrize("given", [{"replace_with": RED}, {"state": "used"}, {"baseline": RED}])
def test_beside_a_distributed_spare_no_drive_is_put_in(given: dict[str, Any], tmp_path: Path) -> None:
    options = RebuildOptions(width=7, fill="1%", out=tmp_path / "out", settings=("draid=2d:1s", "spare=0"), **given)
    with pytest.raises(UsageError, match="is not put in") as refusal:
        verb("draid1", RED if "state" in given else IRONWOLF, options=options)
    assert "leave the new drive" in refusal.value.hint
    assert not (tmp_path / "out").exists()


def test_of_a_distributed_spare_the_members_are_told_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ("draid=2d:1s", "spare=0", "order=sequential")
    options = RebuildOptions(fill="1%", seeds=1, scale="1/100", out=tmp_path / "out", quiet=True, settings=settings)
    verb("draid1", IRONWOLF, IRONWOLF, RED, IRONWOLF, IRONWOLF, options=options)
    assert "4 x model:st12000vn0007, 1 x model:wd40efax; no new one is put in." in capsys.readouterr().out


def test_estimates_are_told_where_somebody_looked() -> None:
    progress = [
        {"at_ns": at, "done_bytes": done, "left_ns": left}
        for at, done, left in ((0, 0, None), (20, 14, 100), (60, 40, 30), (100, 100, 0))
    ]
    look = look_at(0.1, progress, 100)
    assert look is not None
    assert (look.share, look.left_ns, look.error) == (0.14, 80, 0.25)
    assert look_at(0.5, progress, 100) is None
    assert look_at(0.9, progress, 100) is None
    assert look_at(0.1, progress[:1], 100) is None


def test_intervals_come_from_seeds() -> None:
    rebuilds = [simulate(order(seed=seed)) for seed in (1, 2, 3)]
    found = findings(rebuilds, ["a", "b", "c", "d"])[0]
    assert found.kind == "rebuild-time"
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(sum(each.duration_s for each in rebuilds) / 3)
    assert ratios([found], [found])[0].value == 1


SMALL = RebuildOptions(width=3, scale="1/1000", seeds=2, quiet=True)


def test_the_verb_leaves_a_run_that_others_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job, new, used = Path("job.fio"), Path("new"), Path("used")
    job.write_text(JOB)
    small = replace(SMALL, member_size="2GiB", replace_with=RED)
    verb("raid5", IRONWOLF, options=replace(small, fill="75%", load=job, out=new, json=True))
    document = json.loads(capsys.readouterr().out)
    assert document["command"] == "rebuild"
    assert {each["kind"] for each in document["run"]["findings"]} >= {
        "rebuild-time",
        "rebuild-time-ratio",
        "worst-latency-ratio",
        "bottleneck",
    }
    verb("raid5", IRONWOLF, options=replace(small, state="used", out=used))
    said = " ".join(capsys.readouterr().out.split())
    for word in (
        "time to rebuild",
        "/proc/mdstat",
        "question of whole drives",
        "baseline",
        "the replacement, wd40efax",
    ):
        assert word in said
    runs = [read_run(path) for path in (new, used)]
    assert runs[0].baseline is not None
    assert "replacement" not in json.loads(runs[0].record.protocol.text)
    assert runs[0].record.protocol.sha256 == runs[0].baseline.record.protocol.sha256
    assert runs[0].record.steps[0].title == "The new drive is filled"
    assert "Used: the new drive had taken 4 KiB random writes" in said
    assert set(runs[0].samples["step"]) == {"rebuild", "rebuild-load", "load-alone"}
    filled = runs[0].samples.filter(pl.col("step") == "rebuild")["bytes"].sum()
    assert filled == document["answers"]["rebuilds"][0]["progress"][-1]["done_bytes"]
    assert "time to rebuild" in compare(runs).to_text()
    assert "time to rebuild" in write(runs, Path("report.html")).read_text()


def test_the_capacity_is_told_and_what_was_ordered_in_vain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ("second-failure=1@900h",)
    verb("raidz2", RED, options=replace(SMALL, width=4, fill="1%", out=tmp_path / "run", settings=settings))
    told = " ".join(capsys.readouterr().out.split())
    assert "The array uses 3.7 GiB of each drive, has room for" in told
    assert "Drive 1 was to fail after 37 d 12 h: by then the rebuild was over." in told
    assert read_run(tmp_path / "run").record.notes[-1].startswith("The array uses 3.7 GiB")


def test_who_waits_for_long_is_told_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ten seconds: here of a rebuild that takes less, of which more is done each time."""
    monkeypatch.setattr(run, "_EVERY_S", 0.01)
    lines: list[str] = []
    run.run_rebuild(
        order(replacement=RED, members=(RED,) * 4, scale_divisor=100), None, 3, tmp_path / "run", lines.append
    )
    told = [re.fullmatch(r"model:wd40efax \(new\): (\d+)% done(?:, about .* left)?", line) for line in lines]
    shares = [int(each[1]) for each in told if each is not None]
    assert len(shares) > 5
    assert shares == sorted(shares)
    # A hundredth of a second after its beginning less than one of a hundred parts may be done.
    assert shares[0] < 50 < shares[-1] <= 100
    assert len(set(shares)) > 3


@pytest.mark.parametrize("layout", ["mirror", "raid1"])
def test_of_a_sample_it_is_told_too_how_far_it_is(layout: str) -> None:
    options = ZfsOptions() if layout == "mirror" else MdOptions()
    share = Share()
    done = simulate(order(layout=layout, members=(IRONWOLF,) * 2, scale_divisor=10, options=options), share)
    assert not done.whole
    assert share.done == 1


@pytest.mark.parametrize(
    ("shares", "done"),
    [([], 0), ([0.5], 0.25), ([0.9, 0.8], 0.4), ([0.99, 0.9, 0.1], 0.55), ([0.99, 0.99, 0.5], 0.75)],
)
def test_the_time_is_that_of_who_began_last(shares: list[float], done: float) -> None:
    """Three seeds over two threads take as long as two rebuilds."""
    assert run._done(shares, seeds=3, threads=2) == pytest.approx(done)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (
            "raid5",
            MdOptions(
                jiffy_ns=10**7,
                max_segments=254,
                processors=4,
                stripe_cache=329,
                journal_at_bytes=81 << 27,
                mounted_before_ns=1_200_000_000,
            ),
        ),
        ("raidz1", ZfsOptions(memory_bytes=2 << 30, cache_bytes=512 << 20, cores=1, file_bytes=0)),
    ],
)
def test_a_host_may_be_like_the_labs_but_for_what_is_set(
    layout: str, expected: MdOptions | ZfsOptions, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    given = ("processors=4",) if layout == "raid5" else ()
    options = replace(SMALL, fill="10%", like_lab=True, settings=given, baseline="none", out=out)
    assert verb(layout, IRONWOLF, options=options) == 3
    assert RebuildOrder.from_json(answers_of(read_run(out))["order"]).options == expected
    with pytest.raises(UsageError, match="for modelled drives"):
        verb("raid5", "lab:wd40efrx", options=options)


def test_no_bound_of_an_interval_is_nothing() -> None:
    """Three seeds of which one took ten times as long."""
    done = simulate(order())
    times_s = (10, 12, 100)
    found = {each.kind: each for each in findings([replace(done, duration_ns=s * 10**9) for s in times_s], ["a"] * 4)}
    for kind in ("rebuild-time", "throughput"):
        low, value, high = found[kind].low, found[kind].value, found[kind].high
        assert low is not None
        assert value is not None
        assert high is not None
        assert 0 < low < value < high


def test_of_an_empty_pool_nobody_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verb("raidz1", IRONWOLF, options=RebuildOptions(width=3, fill="0%", quiet=True, out=tmp_path / "run"))
    told = " ".join(capsys.readouterr().out.split())
    assert "Nothing is allocated, so nothing is resilvered." in told
    assert "there was nothing to do" in told
    assert "Kicked" not in told
    assert "stand for all" not in told


def test_what_is_wrong_in_a_file_is_told_with_its_name(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('format_version = 1\n[[faults]]\nkind = "rust"\n')
    with pytest.raises(UsageError, match=r"bad\.toml` cannot be: ") as refused:
        verb("raid5", IRONWOLF, options=replace(SMALL, faults=(f"0={bad}",), out=tmp_path / "a"))
    assert "docs/faults.md" in refused.value.hint
    job = tmp_path / "users.fio"
    job.write_text("[users]\nrw=randread\niodepth=many\n")
    with pytest.raises(UsageError, match=r"--load .*users\.fio: \[users\] iodepth=many"):
        verb("raid5", IRONWOLF, options=replace(SMALL, load=job, out=tmp_path / "b"))
    job.write_text("# nobody\n")
    with pytest.raises(UsageError, match=r"--load .*users\.fio: the job has no options"):
        verb("raid5", IRONWOLF, options=replace(SMALL, load=job, out=tmp_path / "b"))
    assert not list(tmp_path.glob("?"))


def test_data_is_given_up_of_real_drives_alone(tmp_path: Path) -> None:
    options = replace(SMALL, destroy_data_on=("SERIAL",), out=tmp_path / "run")
    for target in (IRONWOLF, "lab:wd40efrx"):
        with pytest.raises(UsageError, match="nothing to destroy"):
            verb("raid5", target, options=options)
        with pytest.raises(UsageError, match="nothing to destroy"):
            matrix(target, options=MatrixOptions(destroy_data_on=("SERIAL",), out=tmp_path / "run"))


def test_a_guests_folder_is_not_shown_as_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb("raid5", IRONWOLF, options=replace(SMALL, out=tmp_path / "a"))
    assert "run: " in capsys.readouterr().err
    monkeypatch.setenv(DISKS, "{}")
    verb("raid5", IRONWOLF, options=replace(SMALL, out=tmp_path / "b"))
    assert "run: " not in capsys.readouterr().err


def test_a_failed_rebuild_is_told_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = tmp_path / "gone.toml"
    gone.write_text('format_version = 1\n[[faults]]\nkind = "gone"\nfrom_s = 5\nfor_s = 1e9\n')
    options = replace(SMALL, faults=(f"0={gone}",), out=tmp_path / "run")
    assert verb("raid5", IRONWOLF, options=options) == 1
    assert "one too many" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "damage",
    [
        *({key: None} for key in ("rebuilds", "patience")),
        {"rebuilds": []},
        {"patience": [{}]},
        {"rebuilds": [{"progress": None}]},
        None,
    ],
)
def test_damaged_answers_are_told_as_such(damage: dict[str, object] | None, tmp_path: Path, rebuilt: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(rebuilt, folder)
    answers = folder / "raw" / "rebuild.json"
    whole = json.loads(answers.read_text())
    answers.write_text(json.dumps(None if damage is None else whole | damage))
    pair = [read_run(folder), read_run(rebuilt)]
    for show in (lambda: write(pair[:1], tmp_path / "report.html"), lambda: compare(pair)):
        with pytest.raises(UsageError, match=r"rebuild\.json` is damaged: ") as refusal:
            show()
        assert refusal.value.hint


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rebuilt") / "run"
    verb("raid5", RED, options=replace(SMALL, out=folder))
    return folder


def test_a_copy_of_the_progress_replaces_nothing_but_another(tmp_path: Path) -> None:
    copy, job = tmp_path / "copy.csv", tmp_path / "users.fio"
    for number in range(2):
        verb("raid5", RED, options=replace(SMALL, csv=copy, out=tmp_path / f"run-{number}"))
    assert copy.read_bytes() == (tmp_path / "run-1" / "progress.csv").read_bytes()
    assert copy.read_text().startswith(PROGRESS_HEAD)
    job.write_text(JOB)
    with pytest.raises(UsageError, match="is not the progress of an earlier rebuild") as refusal:
        verb("raid5", RED, options=replace(SMALL, csv=job, out=tmp_path / "run"))
    assert refusal.value.hint
    assert job.read_text() == JOB
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"fill": "75"},
        {"settings": ("chunk",)},
        {"settings": ("stripe-cache=many",)},
        {"settings": ("copies=x2",)},
        {"faults": ("x",)},
        {"seeds": 0},
        {"seed": -1},
        {"load": Path("nowhere.fio")},
    ],
)
def test_words_that_mean_nothing_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        verb("raid5", IRONWOLF, options=replace(SMALL, out=tmp_path / "run", **wrong))
    assert refusal.value.hint
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("width", "ended", "longest_s"), [(8, "failed", 30), (4, "complete", 53.6)])
def test_a_sample_finds_what_fills_a_shingled_drive_up_as_the_whole_does(
    width: int, ended: str, longest_s: float
) -> None:
    """Once its cache is full the drive has all that was scattered over it to clean: what is made first holds that."""
    given: dict[str, Any] = {"width": width, "member_bytes": 1000 << 30, "fill": 0.3, "replace_with": RED, "seed": 1}
    sample, whole = (shakedown.rebuild("raidz2", IRONWOLF, **given, whole=each) for each in (False, True))
    assert not sample.whole or ended == "failed"
    assert [each.ended for each in (sample, whole)] == [ended] * 2
    longest_ns = [each.members["longest_command_ns"].max() for each in (sample, whole)]
    assert longest_ns[0] == longest_ns[1]
    assert longest_ns[0] == pytest.approx(longest_s * 1e9, rel=0.02)


def test_what_a_shingled_drive_cleans_once_is_in_no_window_of_a_sample() -> None:
    """Flushes of a minute and more, as its cache has been written through: a sample that holds them is thrown away."""
    sample = shakedown.rebuild("raidz1", "model:wd40efrx", width=5, fill=0.5, replace_with=RED, seed=1)
    assert sample.members["timeouts"][4] > 5
    assert not sample.whole
    assert sample.deviation_ns < 0.05 * sample.duration_ns


def test_a_pool_too_small_for_a_sample_is_gone_through_as_a_whole() -> None:
    large = order(layout="raidz1", options=ZfsOptions(), fill=0.5, scale_divisor=1)
    small = replace(large, scale_divisor=1000)
    assert simulate(small).whole
    assert simulate(small).duration_ns == simulate(replace(small, whole=True)).duration_ns
    assert not simulate(large).whole


def test_a_profiles_name_is_enough_in_python() -> None:
    """There every drive is modelled: the command line's way of writing one and the name mean the same."""
    small: dict[str, Any] = {"width": 2, "scale_divisor": 4000}
    told = [shakedown.rebuild("raid1", each, **small).duration_ns for each in ("wd40efrx", "model:wd40efrx")]
    onto = [
        shakedown.rebuild("raid1", "wd40efrx", replace_with=each, **small).duration_ns
        for each in ("wd40efax", "model:wd40efax")
    ]
    assert told[0] == told[1] != onto[0] == onto[1]
    drives = [shakedown.Drive.load(each, seed=1) for each in ("wd40efrx", "model:wd40efrx")]
    assert drives[0].toml == drives[1].toml


def test_a_member_size_of_the_whole_drive_is_told_as_that_of_the_scaled_one() -> None:
    wanted_bytes = 3500 << 30
    with pytest.raises(UsageError, match="was to use") as refusal:
        simulate(order(scale_divisor=1000, member_bytes=wanted_bytes))
    hint = refusal.value.hint or ""
    assert hint.startswith("the member size is of the drive as it is scaled: at 1/1000, `")
    [size] = re.findall(r"`(\w+)`", hint)
    assert parse_size_bytes(size) == pytest.approx(wanted_bytes / 1000, rel=0.01)
    assert order(scale_divisor=1000, member_bytes=parse_size_bytes(size)).to_core()
