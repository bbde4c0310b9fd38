"""What faults of modelled drives make of a rebuild, and what is told of it."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arrays.test_rebuild import IRONWOLF, JOB, RED, SUPERBLOCKS, order
from shakedown.array.faults import told_faults
from shakedown.array.rebuild import simulate
from shakedown.cli.rebuild import RebuildOptions
from shakedown.cli.rebuild import rebuild as verb
from shakedown.errors import UsageError
from shakedown.report.html import render_page
from shakedown.report.outcome import outcome
from shakedown.report.rebuild import answers_of
from shakedown.report.seeds import seeds_table
from shakedown.report.summary import render
from shakedown.result.folder import read_run


def test_redundancy_decides_what_an_unreadable_sector_costs() -> None:
    bad = 'format_version = 1\n[[faults]]\nkind = "latent-sectors"\nsectors = [[99999, 1]]\nretry_s = 3\n'
    raid5 = simulate(order(layout="raid5", faults={1: bad}))
    assert (raid5.ended, raid5.lost_bytes) == ("with-losses", 4096)
    raid6 = simulate(order(faults={1: bad}))
    assert (raid6.ended, raid6.members["bytes_written"][1]) == ("complete", 4096 + SUPERBLOCKS)
    assert raid6.members["longest_command_ns"][1] > 3e9


def ordered(tmp_path: Path, layout: str, fault: str, place: int = 0, **options: Any) -> tuple[int, Path]:
    """Exit status and run folder of four IronWolfs, of which one, mostly the first, has a fault."""
    file = tmp_path / "faults.toml"
    file.write_text(f"format_version = 1\n[[faults]]\n{fault}\n")
    out = tmp_path / "out"
    given: dict[str, Any] = {
        "width": 4,
        "member_size": "20GiB",
        "seeds": 1,
        "baseline": "none",
        "faults": (f"{place}={file}",),
        "out": out,
    }
    return verb(layout, IRONWOLF, options=RebuildOptions(quiet=True, **(given | options))), out


def test_a_drive_has_one_file_of_faults(tmp_path: Path) -> None:
    again = tmp_path / "faults.toml"
    with pytest.raises(UsageError, match="`0` is given twice"):
        ordered(tmp_path, "raid6", 'kind = "gone"\nfrom_s = 1\nfor_s = 1', faults=(f"0={again}", f"00={again}"))


def test_a_job_in_place_of_faults_is_told_in_a_line_with_its_place(tmp_path: Path) -> None:
    job = tmp_path / "users.fio"
    job.write_text("[users]\nrw=randread\n")
    with pytest.raises(UsageError) as refusal:
        ordered(tmp_path, "raid6", 'kind = "gone"\nfrom_s = 1\nfor_s = 1', faults=(f"1={job}",))
    told = str(refusal.value)
    assert told.startswith(f"`{job}` is not TOML: ")
    assert "line 2" in told
    assert "\n" not in told


@pytest.mark.parametrize("layout", ["raid6", "raidz2"])
def test_a_fault_outside_of_the_rebuild_is_told(
    layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = 'kind = "stall"\nfrom_s = 1\nfor_s = 1\n[[faults]]\nkind = "gone"\nfrom_s = 864000\nfor_s = 5'
    status, out = ordered(tmp_path, layout, both)
    told = " ".join(capsys.readouterr().out.split())
    assert status == 0
    assert "WITHOUT EFFECT: the fault `gone` of drive 0, from 10 d 0 h on: the rebuild was over after" in told
    assert "`stall`" not in told
    assert any("WITHOUT EFFECT" in note for note in read_run(out).record.notes)


def test_the_faults_of_a_run_are_told_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = 'kind = "stall"\nfrom_s = 1\nfor_s = 1\nevery_s = 60\n[[faults]]\nkind = "gone"\nfrom_s = 20\nfor_s = 1e8'
    _, out = ordered(tmp_path, "raid6", both)
    words = "drive 0 stall from 1 s on for 1 s every 60 s, gone from 20 s on for good"
    assert read_run(out).record.parameters["faults"] == words
    assert f"Faults that were ordered, not predicted: {words}." in " ".join(capsys.readouterr().out.split())
    sectors = 'format_version = 1\n[[faults]]\nkind = "latent-sectors"\nsectors = [[8, 8], [800, 1]]\nretry_s = 2\n'
    assert told_faults({3: sectors}) == "drive 3 latent-sectors (9 sectors) from the beginning on"
    one = told_faults({3: sectors.replace("[[8, 8], [800, 1]]", "[[300, 1]]")})
    assert one == "drive 3 latent-sectors (1 sector) from the beginning on"
    assert told_faults({}) == ""


def test_a_drive_that_dies_for_good_needs_no_time(tmp_path: Path) -> None:
    texts = {
        name: f'kind = "gone"\nfrom_s = 20{for_s}' for name, for_s in (("long", "\nfor_s = 1e8"), ("left-out", ""))
    }
    runs = []
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        _, out = ordered(tmp_path / name, "raid6", text)
        runs.append(read_run(out))
    told = [run.record.parameters["faults"] for run in runs]
    assert told == ["drive 0 gone from 20 s on for good"] * 2
    assert runs[0].record.findings == runs[1].record.findings


@pytest.mark.parametrize(("layout", "from_s", "scale"), [("raid5", 8, "1/1000"), ("raidz1", 0.5, "1/4000")])
def test_a_fault_means_the_same_to_a_used_drive_and_to_the_baseline(
    layout: str, from_s: float, scale: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A used drive makes room for md's superblocks first, for 4.4 s: before that nothing has begun."""
    fault = f'kind = "gone"\nfrom_s = {from_s}\nfor_s = 1e6'
    small = {"scale": scale, "member_size": "900MiB"}
    status, out = ordered(tmp_path, layout, fault, 0, **small, replace_with=RED, state="used", baseline=None)
    run = read_run(out)
    assert status == 1
    assert run.baseline is not None
    for each in (run, run.baseline):
        assert each.record.findings[0].text.startswith("The rebuild fails after ")
        assert answers_of(each)["rebuilds"][0]["duration_ns"] >= 5e8, "not before the fault is there"
        assert not any("WITHOUT EFFECT" in note for note in each.record.notes)
    told = " ".join(capsys.readouterr().out.split())
    assert f"Baseline: THE ARRAY IS LOST. {run.baseline.record.findings[0].text}" in told
    judged = outcome(run)
    assert judged is not None
    assert f"Baseline: THE ARRAY IS LOST. {run.baseline.record.findings[0].text}" in judged.sentences


@pytest.mark.parametrize("layout", ["raid5", "raidz1"])
def test_bad_sectors_that_nobody_reads_are_told(layout: str, tmp_path: Path) -> None:
    """Behind what the array uses of a drive; and on the one put in, where they are written first."""
    behind = 'kind = "latent-sectors"\nsectors = [[9000000, 8]]\nretry_s = 1'
    _, out = ordered(tmp_path, layout, behind, place=1, member_size="1GiB")
    vain = "WITHOUT EFFECT: the fault `latent-sectors` of drive 1: nobody read one of its sectors."
    assert vain in read_run(out).record.notes
    (tmp_path / "new").mkdir()
    written = behind.replace("9000000", "70000")
    _, out = ordered(tmp_path / "new", layout, written, place=3, member_size="1GiB")
    assert vain.replace("drive 1", "drive 3") in read_run(out).record.notes


def test_bad_sectors_that_are_retried_for_longer_than_the_host_waits_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many commands Linux gave up on is why the rebuild is slow."""
    latent = 'kind = "latent-sectors"\nsectors = [[70000, 8]]\nretry_s = 40'
    status, out = ordered(tmp_path, "raid6", latent, place=1, member_size="1GiB")
    assert status == 3  # survived, and not to be trusted
    record = read_run(out).record
    assert not any("WITHOUT EFFECT" in note for note in record.notes)
    found = {each.kind: each for each in record.findings}
    count = found["rebuild-time"].evidence["timeouts"]
    assert count == sum(each["timeouts"] for each in answers_of(read_run(out))["rebuilds"][0]["members"]) > 0
    commands = "one command" if count == 1 else f"{count} commands"
    told = " ".join(capsys.readouterr().out.split())
    assert "COMMANDS WERE GIVEN UP. The rebuild takes" in told
    assert f"Linux gave up on {commands} of drive 1, st12000vn0007: " in told
    judged = outcome(read_run(out))
    assert judged is not None
    assert (judged.status, judged.headline) == ("inconclusive", "COMMANDS WERE GIVEN UP.")
    assert "drive 1, st12000vn0007" in found["bottleneck"].text
    assert "it lets commands hang until Linux gives up on them" in found["bottleneck"].text


@pytest.mark.parametrize(("stall_s", "is_near"), [(12, False), (17, True)])
def test_a_command_that_took_half_of_what_linux_waits_is_a_near_miss(
    stall_s: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_near: bool
) -> None:
    status, out = ordered(tmp_path, "raid6", f'kind = "stall"\nfrom_s = 5\nfor_s = {stall_s}', place=3)
    assert status == 0
    judged = outcome(read_run(out))
    assert judged is not None
    told = " ".join(capsys.readouterr().out.split())
    for text in (told, judged.sentences[0]):
        assert ("A near miss: a command took 17 s, and Linux's SCSI layer waits 30 s." in text) is is_near


@pytest.mark.parametrize("layout", ["raid6", "raidz2"])
def test_another_drive_that_fails_on_the_way_is_told(
    layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = ordered(tmp_path, layout, 'kind = "gone"\nfrom_s = 30\nfor_s = 5')
    told = " ".join(capsys.readouterr().out.split())
    assert status == 1
    assert "ANOTHER DRIVE FAILS." in told
    assert re.search(r"Drive 0, st12000vn0007, fails after (30|29\.\d) s, which the array survives\.", told)
    assert read_run(out).record.findings[0].evidence["failed_on_the_way"] == 1


@pytest.mark.parametrize("scale", ["1", "1/10"])
def test_who_was_silent_longest_stands_in_the_table(
    scale: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ordered(tmp_path, "raid6", 'kind = "stall"\nfrom_s = 20\nfor_s = 45', scale=scale)
    table = capsys.readouterr().out.partition("The rebuild waits for")[0]
    assert re.search(r"its longest command +\d+(\.\d+)? ms\n", table)
    # The stall, and a second at most in which the drive does what it and its repetitions asked for.
    assert re.search(r"drive 0's longest command +(44|45|46)(\.\d)? s\n", table)


def test_a_wait_that_was_passed_without_a_kick_is_not_called_close(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word is for the eye: programs read what they read before."""
    _, out = ordered(tmp_path, "raid6", 'kind = "stall"\nfrom_s = 30\nfor_s = 45', place=3)
    assert re.search(r"Linux's SCSI layer +30 s +passed, kept\n", capsys.readouterr().out)
    assert "<td>passed, kept</td>" in re.sub(r"\s*(</?t[dh]>)\s*", r"\1", render_page([read_run(out)]))
    by_waiter = {each["who"]: each["kicked"] for each in answers_of(read_run(out))["patience"]}
    assert by_waiter["Linux's SCSI layer"] == "close"


@pytest.mark.parametrize("layout", ["raid5", "raidz1"])
@pytest.mark.parametrize("place", [0, 3])
def test_who_waits_in_another_box_does_not_judge_this_one(
    layout: str, place: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = ordered(tmp_path, layout, 'kind = "stall"\nfrom_s = 20\nfor_s = 12', place)
    told = " ".join(capsys.readouterr().out.split())
    ended = outcome(read_run(out))
    assert ended is not None
    assert (status, ended.status, ended.headline) == (0, "pass", "The rebuild is complete.")
    assert "In another box: for a command that takes 1" in ended.sentences[0]
    assert "in another box: a hardware RAID controller 8 s" in told
    assert ("in another box: ZFS's deadman" in told) == (layout == "raid5")
    if place == 0:
        assert "Drive 0, st12000vn0007, takes 1" in told
        assert "too long for a hardware RAID controller, in another box: kicked out, too" in told
    else:
        assert "in another box: a hardware RAID controller 8 s YES" in told
    by_waiter = {each["who"]: each for each in answers_of(read_run(out))["patience"]}
    assert by_waiter["a hardware RAID controller"]["kicked"] == "yes"
    assert by_waiter["a hardware RAID controller"]["in_another_box"] is True
    assert by_waiter["Linux's SCSI layer"]["in_another_box"] is False


@pytest.mark.parametrize(
    ("retry_s", "who"),
    [
        (7, ["a hardware RAID controller, in another box, waits 8 s"]),
        (20, ["Linux's SCSI layer waits 30 s"]),
        (3, []),
    ],
)
def test_a_near_miss_of_another_drive_is_told_too(
    retry_s: int, who: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was not, in the table or below it, though its command stood among the figures."""
    latent = f'kind = "latent-sectors"\nsectors = [[5000000, 1]]\nretry_s = {retry_s}'
    status, out = ordered(tmp_path, "raid6", latent, place=1)
    run = read_run(out)
    ended = outcome(run)
    assert status == 0
    assert ended is not None
    for shown in (capsys.readouterr().out, ended.sentences[0], render([run]), render_page([run])):
        told = re.findall(r"near miss: (.*?)\.(?: |<|$)", " ".join(unescape(shown).split()), re.IGNORECASE)
        took = [re.fullmatch(r"drive 1, st12000vn0007, took ([\d.]+) s for a command, and (.*)", each) for each in told]
        assert [each[2] for each in took if each] == who
        assert all(each and retry_s <= float(each[1]) < retry_s + 1 for each in took)
    close = [(each["member"], each["kicked"]) for each in answers_of(run)["patience"] if each["kicked"] == "close"]
    assert close == [(1, "close")] * len(who)
    assert ("A command came close to what Linux's SCSI layer puts up with." in ended.beneath) == (retry_s == 20)


@pytest.mark.parametrize(
    ("place", "for_s", "row"), [(1, 290, "close"), (1, 302, "passed, kept"), (0, 290, ""), (0, 302, "")]
)
def test_the_deadman_has_near_misses_and_tells_of_any_drive(
    place: int, for_s: int, row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It kicks nobody, which was taken for being content."""
    patient = {"width": 2, "settings": ("command-timeout=1000s",)}
    _, out = ordered(tmp_path, "mirror", f'kind = "stall"\nfrom_s = 20\nfor_s = {for_s}', place, **patient)
    shown = capsys.readouterr().out
    told = " ".join(shown.split())
    assert re.search(rf"^ZFS's deadman +5 min +{row or 'no'}$", shown, re.MULTILINE)
    kicked = {each["who"]: each["kicked"] for each in answers_of(read_run(out))["patience"] if each["member"] == place}
    assert kicked["ZFS's deadman"] == "close"
    of_which = "a command" if row else "drive 0, st12000vn0007,"
    near = re.search(
        rf"[Aa] near miss: {of_which} took 4 min \d+ s( for a command)?, and ZFS's deadman waits 5 min", told
    )
    assert (near is not None) == (for_s == 290)
    logs = "logs an event and waits on (failmode wait)."
    assert (f"ZFS's deadman {logs}" in told) == (row == "passed, kept")
    passed = re.search(r"Drive 0, st12000vn0007, takes 5 min \d s for a command: ZFS's deadman waits 5 min, logs", told)
    assert (passed is not None) == (place == 0 and for_s == 302)


@pytest.mark.parametrize(("layout", "place"), [("raid5", 0), ("raidz1", 0), ("raid6", 3), ("raidz2", 3)])
def test_of_a_failed_rebuild_nothing_is_said_to_be_left(
    layout: str, place: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = ordered(tmp_path, layout, 'kind = "gone"\nfrom_s = 30\nfor_s = 5', place)
    told = capsys.readouterr().out
    assert status == 1
    why, headline = {
        0: ("that is one too many: the array is lost", "THE ARRAY IS LOST."),
        3: ("it is the one put in", "THE REBUILD FAILS."),
    }[place]
    assert f"{headline} The rebuild fails" in " ".join(told.split())
    assert re.search(rf"\d% done: drive {place}, st12000vn0007, fails, and {why}\.", " ".join(told.split()))
    assert "says is left" not in told
    assert "WITHOUT EFFECT" not in told
    run = read_run(out)
    [rebuild] = json.loads((out / "raw" / "rebuild.json").read_text())["rebuilds"]
    assert 0 < rebuild["done"] < 1
    assert run.record.steps[0].end_ns == rebuild["progress"][-1]["at_ns"] == rebuild["duration_ns"]
    shown = run.samples.filter(pl.col("step") == "rebuild").select(pl.col("start_ns") + pl.col("duration_ns"))
    assert shown.to_series().max() == rebuild["duration_ns"]
    assert f"{rebuild['duration_ns'] / 1e9:.6f}" in (out / "progress.csv").read_text()


def test_users_of_a_pool_go_on_without_a_drive_that_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.fio"
    job.write_text(JOB)
    gone = 'kind = "gone"\nfrom_s = 30\nfor_s = 5'
    assert ordered(tmp_path, "raidz2", gone, load=job, fill="20%")[0] == 1
    assert "which the array survives" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "failing").mkdir()
    assert ordered(tmp_path / "failing", "raidz1", gone, load=job, fill="20%")[0] == 1
    assert "fails, and that is one too many" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("layout", ["raid6", "raidz2"])
def test_sectors_that_were_made_up_for_are_told(
    layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latent = 'kind = "latent-sectors"\nsectors = [[70000, 1], [90000, 1]]\nretry_s = 0.1'
    assert ordered(tmp_path, layout, latent, place=1, member_size="1GiB", fill="50%")[0] == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Drive 1, st12000vn0007, could not be read at 2 places, which the array made up for." in told
    assert "WITHOUT EFFECT" not in told


@pytest.mark.parametrize("layout", ["raid6", "raidz2"])
def test_a_fault_while_nothing_was_asked_is_told(layout: str, tmp_path: Path) -> None:
    """Its time is within the rebuild, and no command of the drive came in it; the one behind it was met."""
    short, long = (
        f'kind = "stall"\nfrom_s = {from_s}\nfor_s = {for_s}' for from_s, for_s in ((2.0013579, 1e-9), (3, 1))
    )
    _, out = ordered(tmp_path, layout, f"{short}\n[[faults]]\n{long}", member_size="2GiB")
    notes = [note for note in read_run(out).record.notes if "WITHOUT EFFECT" in note]
    assert notes == ["WITHOUT EFFECT: the fault `stall` of drive 0, from 2 s on: no command of that drive came then."]


def test_one_bad_sector_that_sets_a_drive_faulty_is_told_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that failed was made of ten requests of ZFS or more: "too many of its sectors" was told of it."""
    latent = 'kind = "latent-sectors"\nsectors = [[5000000, 1]]\nretry_s = 0'
    status, out = ordered(tmp_path, "raidz2", latent, place=1, member_size="30GiB", seeds=2)
    assert status == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "latent-sectors (1 sector) from the beginning on" in told
    assert (
        "ZFS has set it faulty, for it could not be read at one place, an error for every request of ZFS that was "
        "joined in the command."
    ) in told
    assert "too many" not in told
    table = seeds_table(read_run(out))
    assert table is not None
    assert [row[-1] for row in table.rows] == ["1 (1 bad place)"] * 2
