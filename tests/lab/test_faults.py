"""What befalls drives, and loss of power, as a guest sees it. Skipped where the lab is not built."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lab.test_run import ENTRY, built, shell
from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from shakedown.data import profile_path
from shakedown.errors import UsageError
from shakedown.lab.faults import disk_number, faults_by_drive

DRIVE = {"drives": ("model:wd40efax",), "scale_divisor": 1000}
# One block of zeros, or of ones, at a place given in blocks.
TOOLS = r"""
put() { head -c 4096 /dev/zero | tr '\0' "${2:-1}" | dd of=/dev/sda bs=4k count=1 seek=$1 oflag=direct$3 status=none; }
see() { dd if=/dev/sda bs=4k count=1 skip=$1 iflag=direct status=none | head -c 1 | tr '\0' 0; }
get() { dd if=/dev/sda of=/dev/null bs=4k count=1 skip=$1 iflag=direct status=none; }
now() { read -r at _ < /proc/uptime; echo "$1 ${at%.*}"; }
"""


def faults(*kinds: str) -> dict[int, str]:
    return faults_by_drive(kinds, 1)


def test_faults_are_read_from_a_line_or_a_file() -> None:
    stall = 'kind="stall", from_s=60, for_s=20'
    found = faults_by_drive([f"sdb={stall}", f"/dev/vdb={stall}", f"sda={stall}"], 2)
    assert [len(tomllib.loads(found[number])["faults"]) for number in (0, 1)] == [1, 2]
    assert [disk_number(name) for name in ("sda", "vdz", "sdaa", "/dev/sdab")] == [0, 25, 26, 27]
    for wrong, said in [
        (stall, "does not name a drive"),
        (f"sdc={stall}", "no drive sdc"),
        ("sda=kind=stall", "cannot be read"),
        ("sda=nothing.toml", "cannot be read"),
    ]:
        with pytest.raises(UsageError, match=said):
            faults_by_drive([wrong], 2)


def test_a_fault_that_cannot_be_is_refused_as_it_was_written(tmp_path: Path) -> None:
    right = 'kind="stall", from_s=60, for_s=20'
    (tmp_path / "faults.toml").write_text(
        'format_version = 1\n\n[[faults]]\nkind = "gone"\nfrom_s = 1\nfor_s = 2\n\n[[faults]]\nkind = "stll"\n'
    )
    (tmp_path / "none.toml").write_text("faults = []\n")
    for wrong, said in [
        ('kind="stall", from_s=60, for_s=-1', r"faults\[0\].for_s` is -1"),
        ('kind="stall", from_s=60', r"cannot be: `faults\[0\].for_s` is missing$"),
        (
            'kind="stll", from_s=60, for_s=1',
            r"cannot be: `faults\[0\].kind` is \"stll\": one of latent-sectors.* is expected$",
        ),
        (str(tmp_path / "faults.toml"), r"`faults\[1\].kind` is \"stll\": .* \(line 9\)$"),
        (str(tmp_path / "none.toml"), "format_version"),
    ]:
        with pytest.raises(UsageError, match=said):
            faults(right, wrong)


@built
def test_a_bad_sector_beyond_the_end_is_refused() -> None:
    with pytest.raises(UsageError, match=r"faults\[0\].sectors"):
        shell("true", faults=faults('kind="latent-sectors", sectors=[[99999999999, 1]], retry_s=1'), **DRIVE)


@built
def test_a_stall_a_bad_sector_and_a_drive_that_vanishes_and_returns() -> None:
    ordered = faults(
        'kind="stall", from_s=60, for_s=20',
        'kind="latent-sectors", sectors=[[4096, 8]], retry_s=7',
        'kind="gone", from_s=200, for_s=30',
    )
    script = (
        TOOLS
        + """
    sleep 65; get 9000 && now read
    get 512 || now bad; get 513 && echo neighbour; put 512; get 512 && echo healed
    sleep 115; get 9001 || now gone; put 9001 || echo gone; sleep 30; get 9001 && now back
    dmesg | grep -o -e 'Sense Key : Medium Error' -e 'hostbyte=DID_BAD_TARGET' -e 'medium error, dev .* 4096' | uniq
    """
    )
    outcome, output, _ = shell(script, faults=ordered, **DRIVE)
    assert output.splitlines() == [
        *("read 80", "bad 87", "neighbour", "healed"),
        *("gone 202", "gone", "back 232"),
        *("Sense Key : Medium Error", "medium error, dev sda, sector 4096", "hostbyte=DID_BAD_TARGET"),
    ]
    assert outcome.report["drives"][0]["errors"] == 3


@built
def test_a_drive_that_is_unplugged_returns_under_another_name_if_the_old_one_is_held() -> None:
    script = """
    disks() { ls /sys/block | grep sd | xargs; }
    sleep 35; disks; sleep 30; disks
    exec 3< /dev/sda; sleep 35; disks; sleep 30; disks
    sg_inq -p sn /dev/sdb | grep -q "$(cat /sys/block/sdb/device/vpd_pg80 | tr -d '\\0\\200' | tail -c 8)" && echo same
    dd if=/dev/sdb of=/dev/null count=1 status=none && echo read
    """
    pulled = 'kind="gone", from_s=30, for_s=30, every_s=65, unplugged=true'
    _, output, _ = shell(script, faults=faults(pulled), **DRIVE)
    assert output.splitlines() == ["", "sda", "", "sdb", "same", "read"]
    with pytest.raises(UsageError, match="--bus scsi"):
        shell("true", faults=faults(pulled), bus="blk", **DRIVE)


@built
def test_commands_that_are_never_answered_run_into_the_hosts_timeout() -> None:
    ordered = faults('kind="timeout", from_s=10, for_s=1')
    _, output, _ = shell(TOOLS + "sleep 10; get 9000 && now read; get 9001 && now read", faults=ordered, **DRIVE)
    first, second = (int(line.split()[1]) for line in output.splitlines())
    # sd's patience is 30 s; after the abort the command is tried again.
    assert (first - 10) // 30 == 1
    assert second == first


MOUNTED = "mkfs.ext4 -q -E lazy_itable_init=1 {0}; mount {0} /mnt; mkdir '/mnt/a b'; mount -t tmpfs t '/mnt/a b'"


@built
@pytest.mark.parametrize(("bus", "disk"), [("scsi", "/dev/sda"), ("blk", "/dev/vda")])
def test_what_a_command_leaves_mounted_and_in_use_is_unmounted(bus: str, disk: str) -> None:
    script = f"{MOUNTED.format(disk)}; cp -r /usr/lib/python3 /mnt; sleep 1000 </mnt/python3 &"
    outcome, _, _ = shell(script, bus=bus, **DRIVE)
    assert outcome.exit_status == 0
    assert outcome.virtual_ns < 10e9


@built
@pytest.mark.parametrize(("bus", "disk"), [("scsi", "/dev/sda"), ("blk", "/dev/vda")])
def test_a_drive_that_never_answers_an_unmount_does_not_hold_the_guest(bus: str, disk: str) -> None:
    script = f"{MOUNTED.format(disk)}; sleep 9; cp -r /usr/lib/python3 /mnt; exit 3"
    ordered = faults('kind="stall", from_s=5, for_s=1e8')
    outcome, _, _ = shell(script, bus=bus, faults=ordered, **DRIVE)
    assert outcome.exit_status == 3
    assert outcome.virtual_ns < 2 * 3600e9


# Writes far apart, faster than the drive brings them to its platters; the first 500 are flushed.
WRITER = """
import mmap, os, sys, time
disk = os.open("/dev/sda", os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
places = [4096 * (7919 * i % 900000) for i in range(4000)]
if sys.argv[1:2] == ["read"]:
    there = [os.preadv(disk, [block], place) and block[:4] != bytes(4) for place in places[: int(sys.argv[2])]]
    print(sum(there[:500]), sum(there[500:]), len(there[500:]))
    sys.exit()
block.write(b"full" * 1024)
for number, place in enumerate(places):
    os.pwritev(disk, [block], place)
    if number == 499:
        os.fsync(disk)
    print(number, flush=True)
    time.sleep(0.001)
"""


@built
def test_what_was_flushed_is_there_after_a_power_cut_and_what_was_not_is_lost(tmp_path: Path) -> None:
    (tmp_path / "writer.py").write_text(WRITER)
    order = {"bring_in": (tmp_path / "writer.py",), "after_cut": ("python3", "writer.py", "read", "600"), **DRIVE}
    _, output, _ = shell("exec python3 writer.py", power_cuts_ns=(4 * 10**9,), **order)
    *acknowledged, told = output.splitlines()
    assert int(acknowledged[-1]) >= 600
    flushed, others, of_others = map(int, told.split())
    assert (flushed, of_others) == (500, 100)
    assert others < of_others / 2


# One process, for each that is started takes a guest longer than a minute that passes.
FILES = """
import os, time
for number in range(100):
    with open(f"/mnt/{number}", "wb", buffering=0) as file:
        file.write(os.urandom(40960))
        if number % 10 == 0:
            os.fsync(file.fileno())
            print(number, flush=True)
    time.sleep(1)
"""


@built
@pytest.mark.parametrize("bus", ["scsi", "blk"])
def test_a_power_cut_in_mid_write_is_survived_as_flushed_and_the_same_again(bus: str) -> None:
    disk = {"scsi": "/dev/sda", "blk": "/dev/vda"}[bus]
    write = f"mkfs.ext4 -q -E lazy_itable_init=1 {disk} && mount {disk} /mnt && python3 -c '{FILES}'"
    read = f"fsck.ext4 -fp {disk} > /dev/null; echo fsck $?; mount {disk} /mnt; ls /mnt | wc -l"
    order = {"power_cuts_ns": (45 * 10**9,), "after_cut": ("bash", "-c", read), "bus": bus, **DRIVE}
    first, output, _ = shell(write, **order)
    again, same, _ = shell(write, **order)
    assert (first.report["trace_hash"], output) == (again.report["trace_hash"], same)
    *synced, fsck, files = output.splitlines()
    assert len(synced) >= 3
    assert fsck in ("fsck 0", "fsck 1")
    assert int(synced[-1]) < int(files) < 100
    assert first.virtual_ns > 55e9


# Microseconds of twenty writes, 4000 KiB from each other.
TIMED = """
import mmap, os, sys, time
disk, page = os.open("/dev/sda", os.O_WRONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
began_ns = time.monotonic_ns()
for number in range(1, 21):
    os.pwrite(disk, page, 4096 * (int(sys.argv[1]) + 1000 * number))
print((time.monotonic_ns() - began_ns) // 1000)
"""


@built
def test_the_write_cache_can_be_switched_and_is_back_on_after_a_power_cut() -> None:
    script = (
        TOOLS
        + f"TIMED='{TIMED}'"
        + """
    cache() { echo "$1: $(cat /sys/block/sda/queue/write_cache), $(hdparm -W /dev/sda | grep -o -E '[01] .*')"; }
    timed() { python3 -c "$TIMED" $1; }
    cache new; on=$(timed 1)
    echo 'write through' > /sys/block/sda/device/scsi_disk/*/cache_type; cache sysfs; off=$(timed 2)
    echo 'write back' > /sys/block/sda/device/scsi_disk/*/cache_type; cache again
    hdparm -q -W0 /dev/sda; cache hdparm; off_too=$(timed 3)
    [ $((off / on)) -ge 5 ] && [ $((off_too / on)) -ge 5 ] && echo slower
    """
    )
    after = TOOLS + "hdparm -W /dev/sda | grep -o -E '[01] .*'"
    _, output, _ = shell(script, power_cuts_ns=(60 * 10**9,), after_cut=("bash", "-c", after), **DRIVE)
    assert output.splitlines() == [
        "new: write back, 1 (on)",
        "sysfs: write through, 0 (off)",
        "again: write back, 1 (on)",
        "hdparm: write back, 0 (off)",
        "slower",
        "1 (on)",
    ]


@built
@pytest.mark.parametrize(("bus", "disk"), [("scsi", "sda"), ("blk", "vda")])
def test_a_trimmed_range_reads_as_zeros_and_its_neighbours_do_not(bus: str, disk: str) -> None:
    script = (
        TOOLS.replace("/dev/sda", f"/dev/{disk}")
        + f"""
    for i in 1 2 3 4; do put $i; done; blkdiscard -o 8192 -l 8192 /dev/{disk}; for i in 1 2 3 4; do see $i; done; echo
    """
    )
    outcome, output, _ = shell(script, bus=bus, **DRIVE)
    assert output == "1001\n"
    assert outcome.report["drives"][0]["trims"] == 1


@built
@pytest.mark.parametrize(("protocol", "linux_forces"), [("ata", 0), ("scsi", 1)])
def test_forced_unit_access_waits_for_the_platters_and_needs_no_flush(
    protocol: str, linux_forces: int, tmp_path: Path
) -> None:
    """Linux has no write of a SATA drive forced (`libata.fua=0`); whoever sends the command himself is obeyed."""
    profile = tmp_path / "drive.toml"
    told = f'[interface]\nprotocol = {{ value = "{protocol}", origin = "assumed: for this test" }}'
    profile.write_text(profile_path("wd40efax").read_text(encoding="utf-8").replace("[interface]", told))
    script = """
    timed() {
        local from=${EPOCHREALTIME/./}
        for i in {1..10}; do sg_dd if=/dev/zero of=/dev/sda bs=512 count=8 seek=$(($1 * i)) oflag=$2; done 2> /run/sg
        echo $((${EPOCHREALTIME/./} - from))
    }
    cat /sys/block/sda/queue/fua; cached=$(timed 8000 sgio); forced=$(timed 9000 fua,sgio)
    [ $((forced / cached)) -ge 5 ] && echo slower
    """
    outcome, output, _ = shell(script, drives=(f"model:{profile}",), scale_divisor=1000)
    assert output == f"{linux_forces}\nslower\n"
    # The one at the end, when the guest halts.
    assert (outcome.report["drives"][0]["writes"], outcome.report["drives"][0]["flushes"]) == (20, 1)


def lab_run(*words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", ENTRY, "lab", "run", "--drive", "model:wd40efax", "--scale", "1/1000", *words]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)


@built
def test_faults_and_power_cuts_on_the_command_line(tmp_path: Path) -> None:
    fault = ("--fault", 'kind="stall", from_s=5, for_s=60')
    done = lab_run(
        *fault,
        "--power-cut-at",
        "100s",
        "--",
        "bash",
        "-c",
        "sleep 6\ndd if=/dev/sda of=/dev/null count=1; cat /proc/uptime",
    )
    assert done.returncode == 0, done.stderr
    assert [line.partition(".")[0] for line in done.stdout.splitlines()] == ["65", "6"]
    assert "WITHOUT EFFECT" not in done.stderr
    for words, said in [
        (("--after-cut", "true"), "without a power cut"),
        (("--power-cut-at", "20s", "--power-cut-at", "25s"), "the power cut at 25 s falls into the time without power"),
        (("--power-cut-at", "0s"), "before the guest has begun"),
        (("--virtual-limit", "100ms"), "not in whole seconds"),
        (("--power-off-for", "5x"), "--power-off-for: `5x` is not a duration"),
        (("--", ""), "no command was given"),
        (("--power-cut-at", "400d"), "a power cut at 400 d 0 h never comes"),
        (("--bring-out", "d"), "`--bring-out d` is no absolute path"),
        (("--bring-out", "/etc/passwd", "--bring-out", "/lab/passwd"), "2 of what is to be brought out"),
    ]:
        refused = lab_run("--out", str(tmp_path / "out"), "--bring-out", "/a", *words, "--", "true")
        assert refused.returncode == 2
        assert said in refused.stderr
        assert not (tmp_path / "out").exists()


@built
@pytest.mark.parametrize(("bus", "disk"), [("scsi", "sda"), ("blk", "vda")])
def test_faults_that_nothing_met_are_told(bus: str, disk: str) -> None:
    sectors = "kind='latent-sectors', sectors=[[4096, 8]], retry_s=1"
    stall = 'kind="stall", from_s=5, for_s=10'
    kept_waiting = f"dd if=/dev/{disk} of=/dev/null count=1 iflag=direct"
    done = lab_run(
        *("--bus", bus, "--fault", sectors, "--fault", stall, "--fault", stall.replace("5", "20")),
        *("--", "bash", "-c", f"sleep 6; {kept_waiting}; sleep 40"),
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("WITHOUT EFFECT")] == [
        f"WITHOUT EFFECT: the fault `latent-sectors` of {disk}: nobody read one of its sectors.",
        f"WITHOUT EFFECT: the fault `stall` of {disk}, from 20 s on: no command of that drive came then.",
    ]
