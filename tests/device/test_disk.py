"""Whole disks beyond the table: what is none, what is read again, what is kept, and practice on loop devices."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from recorded import Builder, Disk, Recorded, page_80

from serving import shakedown
from shakedown.device.disk.edges import edge_regions, save_edges
from shakedown.device.disk.facts import Consent, Name, Situation
from shakedown.device.disk.machine import Machine, Unread
from shakedown.device.disk.medium import DiskMedium
from shakedown.device.disk.presence import find_disk, path_of
from shakedown.device.disk.rules import decide, strangers_to_all, usable_serial
from shakedown.device.disk.survey import survey
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.result.identity import Identity
from shakedown.tools.ask import Question

MIB = 1 << 20
RUN = Path("/var/runs/x")


def machine(root: Path) -> Recorded:
    builder = Builder(root)
    disk = Disk("sdb", "8:16", {"device/vpd_pg80": page_80("WD-WX00AB12"), "device/wwid": "naa.50014ee2b1a2c3d4"})
    builder.disk(disk)
    builder.partition(disk, 1, 2048)
    virtual = {"md0": "9:0", "dm-0": "252:0", "zram0": "251:0", "nbd0": "43:0", "ram0": "1:0", "zd0": "230:0"}
    virtual |= {
        "rbd0": "250:0",
        "drbd0": "147:0",
        "bcache0": "249:0",
        "loop0": "7:0",
        "mtdblock0": "31:0",
        "new0": "99:0",
    }
    for name, number in virtual.items():
        builder.stack(name, number, [], {})
    for name, number in {"sr0": "11:0", "mmcblk0boot0": "179:8", "mmcblk0rpmb": "179:16"}.items():
        builder.disk(Disk(name, number, {"device/serial": "12ab34cd"}, place=f"pci0/{name}"))
    return Recorded(root)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sdb1", "is a partition"),
        ("sr0", "an optical drive"),
        ("mmcblk0boot0", "a boot area"),
        ("mmcblk0rpmb", "a boot area"),
        *((each, "made of other devices") for each in ("md0", "dm-0", "bcache0", "zd0")),
        *((each, "`network`") for each in ("nbd0", "rbd0", "drbd0")),
        *((each, "`memory`") for each in ("zram0", "ram0", "mtdblock0")),
        ("new0", "`other`"),
        ("loop0", "stands on no regular file"),
    ],
)
def test_what_is_no_whole_disk_is_no_target(name: str, words: str, tmp_path: Path) -> None:
    situation = survey(f"/dev/{name}", RUN, machine(tmp_path))
    rules = {refusal.rule: refusal for refusal in decide(situation, Consent(("12ab34cd",)))}
    assert words in rules["kind"].words
    assert rules["kind"].is_final


def test_a_path_that_is_no_device_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no block device"):
        survey("/dev/sdq", RUN, machine(tmp_path))


@pytest.mark.parametrize("serial", ["S3Z9NB0K123456X", "WD-WX6RGLEB3O", "20211021", "ab 12-z", "0x1a2b3c4d"])
def test_serials_that_are_some(serial: str) -> None:
    assert usable_serial(serial)


@pytest.mark.parametrize(
    "serial",
    [
        *(None, "", " ", "0", "00000000", "FFFFFFFF", "----", "123456789012", "0123456789ABCDEF", "None", "N/A"),
        *("Unknown", "Not Specified", "Serial Number", "abc\ndef", "abc\x00def", "ab\x1b[31m", "ÄÖÜabcd", " WD-WX00"),
        *("To be filled by O.E.M.", "a b c d e"),
    ],
)
def test_serials_that_are_none(serial: str | None) -> None:
    assert not usable_serial(serial)


@pytest.mark.parametrize("lets_go", [True, False])
def test_who_has_it_open_at_a_glance_only_is_no_user(
    lets_go: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = machine(tmp_path)
    opened = recorded.at("/proc/4711/fd/5")
    opened.symlink_to(recorded.at("/dev/sdb"))
    monkeypatch.setattr("time.sleep", lambda _: opened.unlink() if lets_go else None)
    uses = [use.words for use in survey("/dev/sdb", RUN, recorded).uses]
    assert uses == ([] if lets_go else ["process 4711 (systemd) has sdb open"])


# --- before the first write, and after every pause


def test_another_disk_under_the_same_number_is_noticed(tmp_path: Path) -> None:
    recorded = machine(tmp_path)
    medium = DiskMedium("/dev/sdb", run=RUN, consent=Consent(("WD-WX00AB12",)), machine=recorded)
    page = recorded.at("/sys/block/sdb/device/vpd_pg80")
    page.write_bytes(page_80("WD-ANOTHER1").encode("latin-1"))
    with pytest.raises(RefusedError, match=r"another device than the one examined: .*WD-ANOTHER1.*now"):
        medium.admit_writing()
    with pytest.raises(RefusedError, match="another device"), medium.lend(write=False):
        pass


@pytest.mark.parametrize(("file", "text"), [("size", "4096"), ("device/wwid", "naa.50014ee2b1a2c3d5")])
def test_another_size_or_wwn_is_noticed(file: str, text: str, tmp_path: Path) -> None:
    recorded = machine(tmp_path)
    medium = DiskMedium("/dev/sdb", run=RUN, consent=Consent(("WD-WX00AB12",)), machine=recorded)
    recorded.at(f"/sys/block/sdb/{file}").write_text(text)
    with pytest.raises(RefusedError, match="another device"):
        medium.admit_writing()


def test_a_disk_that_has_gone_is_the_environments_failure(tmp_path: Path) -> None:
    recorded = machine(tmp_path)
    medium = DiskMedium("/dev/sdb", run=RUN, consent=Consent(), machine=recorded)
    recorded.at("/sys/dev/block/8:16").unlink()
    with pytest.raises(EnvironmentFailure, match="not there any more"):
        medium.admit_writing()


@pytest.mark.parametrize("withheld", [errno.EPERM, errno.EACCES])
def test_a_disk_that_may_not_be_opened_is_refused_with_every_reason(
    withheld: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = machine(tmp_path)
    busy = recorded.at("/recorded/busy/sdb")
    busy.parent.mkdir(parents=True, exist_ok=True)
    busy.write_text("EPERM")
    medium = DiskMedium("/dev/sdb", run=RUN, consent=Consent(), machine=recorded)

    def refuse(*_: object) -> int:
        raise OSError(withheld, os.strerror(withheld))

    monkeypatch.setattr(medium, "_open", refuse)
    with pytest.raises(RefusedError, match=r"may not be written to: .*cannot be opened.*nobody has agreed"):
        medium.admit_writing()


# --- programs that are asked


def program(folder: Path, text: str) -> None:
    path = folder / "wipefs"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exit 3", "exit status 3"),
        ("kill -9 $$", "exit status -9"),
        ("exec sleep 60", "it did not answer within 0.3 s"),
    ],
)
def test_a_program_that_fails_or_hangs_leaves_the_fact_unread(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("shakedown.device.disk.machine.Question", partial(Question, limit_s=0.3))
    program(tmp_path, text.replace("sleep", shutil.which("sleep", path=os.defpath) or "sleep"))
    with pytest.raises(Unread, match=words):
        Machine().ask("wipefs")


def test_a_program_that_prints_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.tools.ask._LARGEST_BYTES", 1000)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program(tmp_path, "head -c 100000 /dev/zero")
    assert len(Machine().ask("wipefs")) == 1000


# --- what stood at the edges


def test_the_edges_of_disk_and_partitions_are_kept_once(tmp_path: Path) -> None:
    recorded = machine(tmp_path / "machine")
    content = os.urandom(64 * MIB)
    (tmp_path / "disk").write_bytes(content)
    (tmp_path / "run").mkdir()
    recorded.at("/sys/block/sdb/sdb1/start").write_text("32768\n")
    recorded.at("/sys/block/sdb/sdb1/size").write_text("65536\n")
    name = Name("disk", "WD-WX00AB12", None, len(content))
    situation = Situation("/dev/sdb", "sdb", "8:16", "disk", name, partitions=("sdb1",))
    assert edge_regions(recorded, situation) == [
        (0, 4 * MIB), (16 * MIB, MIB), (47 * MIB, MIB), (60 * MIB, 4 * MIB)
    ]  # fmt: skip
    with (tmp_path / "disk").open("rb") as disk:
        save_edges(disk.fileno(), situation, tmp_path / "run", recorded)
    record = json.loads((tmp_path / "run/before/before.json").read_text())
    for region in record["regions"]:
        kept = (tmp_path / "run/before" / region["file"]).read_bytes()
        assert kept == content[region["offset"] : region["offset"] + region["length"]]
        assert hashlib.sha256(kept).hexdigest() == region["sha256"]
    assert record["smart"] == {"file": None, "error": record["smart"]["error"]}
    assert len(record["put_back"]) == 4
    # A resumed run finds what stood there before it all, and leaves it.
    (tmp_path / "disk").write_bytes(bytes(64 * MIB))
    with (tmp_path / "disk").open("rb") as disk:
        save_edges(disk.fileno(), situation, tmp_path / "run", recorded)
        assert json.loads((tmp_path / "run/before/before.json").read_text()) == record
        other = Situation("/dev/sdb", "sdb", "8:16", "disk", Name("disk", "WD-ANOTHER", None, len(content)))
        with pytest.raises(RefusedError, match="another device"):
            save_edges(disk.fileno(), other, tmp_path / "run", recorded)


# --- practice


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A loop device on a file of our own."""
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("loop devices need root")
    backing = tmp_path / "backing"
    with backing.open("wb") as file:
        file.truncate(64 * MIB)
    made = subprocess.run(["losetup", "-f", "--show", backing], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device here: {made.stderr.strip()}")
    yield made.stdout.strip(), backing
    subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)


def rules_of(device: str, *consents: str, run: Path = RUN) -> list[str]:
    return [refusal.rule for refusal in decide(survey(device, run), Consent(consents))]


def test_a_loop_device_on_a_file_is_given_up_by_the_file(loop: tuple[str, Path]) -> None:
    device, backing = loop
    assert rules_of(device) == ["consent"]
    assert rules_of(device, device) == ["consent"]
    assert rules_of(device, str(backing)) == []


def test_two_loop_devices_on_one_file_are_two_paths(loop: tuple[str, Path]) -> None:
    device, backing = loop
    second = subprocess.run(["losetup", "-f", "--show", backing], capture_output=True, text=True, check=True).stdout
    try:
        assert rules_of(device, str(backing)) == ["two-paths"]
    finally:
        subprocess.run(["losetup", "-d", second.strip()], check=True)


def test_a_file_that_is_written_to_elsewhere_is_in_use(loop: tuple[str, Path]) -> None:
    device, backing = loop
    other = subprocess.Popen(["sleep", "60"], stdout=backing.open("ab"))
    try:
        assert rules_of(device, str(backing)) == ["in-use"]
    finally:
        other.kill()
        other.wait()


def test_a_loop_device_is_held_and_lent_and_let_go(loop: tuple[str, Path], tmp_path: Path) -> None:
    device, backing = loop
    (tmp_path / "run").mkdir()
    medium = DiskMedium(device, run=tmp_path / "run", consent=Consent((str(backing),)))
    assert Machine().is_exclusive(device)
    medium.admit_writing()
    assert not Machine().is_exclusive(device)
    with pytest.raises(RefusedError, match="may not be written to"):
        DiskMedium(device, run=tmp_path / "run", consent=Consent((str(backing),))).admit_writing()
    with medium.lend(write=True) as lease:
        assert [option.value for option in lease.options if option.name == "filename"] == [
            f"/proc/self/fd/{lease.inherit[0]}"
        ]
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(lease.inherit[0], b"our own descriptor cannot write")
    assert (tmp_path / "run" / "before" / "before.json").exists()
    medium.close()
    assert Machine().is_exclusive(device)


QUICK = """
format_version = 1
name = "quick"
title = "Quick"
question = "Is it quick?"
uses = ["mdraid"]
[[steps]]
name = "write"
job = "rw=randwrite\\nbs=64k\\nsize=100%\\ntime_based\\nruntime=1s"
"""


def test_a_plan_is_shown_and_the_line_to_type_does_what_it_says(loop: tuple[str, Path], tmp_path: Path) -> None:
    device, backing = loop
    (tmp_path / "quick.toml").write_text(QUICK)
    before = hashlib.sha256(backing.read_bytes()).hexdigest()
    words = ["run", "./quick.toml", device, "--quiet", "--out", "it's here"]
    refused = shakedown(*words, cwd=tmp_path)
    assert refused.returncode == 4
    assert [line for line in refused.stdout.splitlines() if line.startswith(("device ", "file ", "will write "))]
    assert ", in one step of quick" in refused.stdout
    assert hashlib.sha256(backing.read_bytes()).hexdigest() == before
    assert not (tmp_path / "it's here").exists()
    line = refused.stderr.rpartition("if that may be destroyed: `")[2].rpartition("`")[0]
    assert shlex.split(line) == ["shakedown", *words, "--destroy-data-on", str(backing)]

    planned = shakedown(*shlex.split(line)[1:], "--plan", "--json", cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    (plan,) = json.loads(planned.stdout)["plan"]
    assert (plan["device"], plan["refusals"], plan["options_to_type"]) == (device, [], [])
    assert hashlib.sha256(backing.read_bytes()).hexdigest() == before

    done = shakedown(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    record = json.loads((tmp_path / "it's here" / "run.json").read_text())
    assert record["target"]["kind"] == "loop"
    assert record["steps"][0]["error"] is None
    assert "for practice" in record["notes"][0]
    assert hashlib.sha256(backing.read_bytes()).hexdigest() != before


def test_a_wrong_consent_is_not_repeated_in_the_line_to_type(loop: tuple[str, Path], tmp_path: Path) -> None:
    device, backing = loop
    (tmp_path / "quick.toml").write_text(QUICK)
    for verb, options in ((["run", "./quick.toml", device], ["--out", "here"]), (["identify", "--probe", device], [])):
        for wrong in (
            ["--destroy-data-on", "WD-WX00AB12"],
            ["--destroy-data-on=WD-WX00AB12", f"--destroy-data-on={device}"],
        ):
            refused = shakedown(*verb, *wrong, *options, cwd=tmp_path)
            assert refused.returncode == 4
            assert "consent was given for WD-WX00AB12" in refused.stderr
            line = refused.stderr.rpartition("if that may be destroyed: `")[2].rpartition("`")[0]
            assert shlex.split(line) == ["shakedown", *verb, *options, "--destroy-data-on", str(backing)]
    assert backing.read_bytes() == bytes(backing.stat().st_size)


def test_what_names_another_drive_of_the_same_line_stays_in_it() -> None:
    assert strangers_to_all([]) == ()
    assert strangers_to_all([("A", "B", "wrong"), ("C", "wrong")]) == ("wrong",)
    assert strangers_to_all([("A", "wrong"), ()]) == ()


def test_a_refused_plan_ends_with_4_and_is_json_as_well(loop: tuple[str, Path], tmp_path: Path) -> None:
    (tmp_path / "quick.toml").write_text(QUICK)
    answer = shakedown("run", "./quick.toml", loop[0], "--plan", "--json", cwd=tmp_path)
    assert answer.returncode == 4
    document = json.loads(answer.stdout)
    assert [refusal["rule"] for refusal in document["plan"][0]["refusals"]] == ["consent"]
    assert document["plan"][0]["options_to_type"] == ["--destroy-data-on", str(loop[1])]


def test_what_cannot_be_learned_after_the_survey_is_no_bug_of_ours(tmp_path: Path) -> None:
    """In a container, say, or while the disk goes."""
    recorded = machine(tmp_path / "machine")
    denied = ["/sys/block", "/sys/dev/block/8:16/sdb1/start"]
    recorded.at("/recorded").mkdir(exist_ok=True)
    recorded.at("/recorded/denied").write_text("\n".join(denied))
    name = Name("disk", "WD-WX00AB12", None, 64 * MIB)
    situation = Situation("/dev/sdb", "sdb", "8:16", "disk", name, partitions=("sdb1",))
    (tmp_path / "disk").write_bytes(b"")
    (tmp_path / "run").mkdir()
    details = {"serial": "WD-WX00AB12"}
    target = Identity(kind="disk", text="/dev/sdq", name="sdq", model="disk", capacity_bytes=1 << 20, details=details)
    with (tmp_path / "disk").open("rb") as disk:
        asked: list[Callable[[], object]] = [
            lambda: save_edges(disk.fileno(), situation, tmp_path / "run", recorded),
            lambda: find_disk(recorded, name),
            lambda: path_of(target, recorded),
        ]
        for learn in asked:
            with pytest.raises(EnvironmentFailure, match="it could not be learned what /sys/") as failed:
                learn()
            assert failed.value.hint
