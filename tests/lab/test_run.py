"""Commands in a real guest. Skipped where the lab is not built (`shakedown lab build`) or cells are not allowed."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from lab.test_cell import processes_with
from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.lab.image import find_image
from shakedown.lab.kernel import find_kernel
from shakedown.lab.run import Order, Outcome, run

ENTRY = "from shakedown.cli import main; main()"
built = pytest.mark.skipif(
    find_kernel() is None or find_image() is None, reason="the lab is not built: `shakedown lab build`"
)
pytestmark = built


@cache
def why_not_allowed() -> str:
    """What a guest that does nothing says of it, booted once for all modules; nothing where cells are allowed."""
    try:
        run(Order(command=("true",)), lambda *_: None)
    except EnvironmentFailure as error:
        if "not allowed" in str(error):
            return str(error)
        raise
    return ""


@pytest.fixture(autouse=True, scope="module")
def allowed() -> None:
    if why := why_not_allowed():
        pytest.skip(why)


def ran(*command: str, **order: object) -> tuple[Outcome, str, str]:
    printed = {"output": b"", "errors": b""}

    def keep(stream: str, text: bytes) -> None:
        printed[stream] += text

    outcome = run(Order(command=command, **order), keep)  # type: ignore[arg-type]
    return outcome, printed["output"].decode(), printed["errors"].decode()


def shell(script: str, **order: object) -> tuple[Outcome, str, str]:
    return ran("bash", "-c", script, **order)


def test_status_output_and_errors_come_back_apart() -> None:
    outcome, output, errors = shell("echo out; echo err >&2; exit 3")
    assert (outcome.exit_status, output, errors) == (3, "out\n", "err\n")


def test_bytes_come_back_as_they_are_and_all_of_them() -> None:
    outcome, output, _ = shell("printf '\\r\\n\\0\\4'; yes | head -c 1000000")
    assert output == "\r\n\0\4" + "y\n" * 500_000
    assert outcome.exit_status == 0


def test_a_day_of_sleep_is_a_day_of_virtual_time_only() -> None:
    outcome, _, _ = ran("sleep", "86400")
    assert 86_400e9 < outcome.virtual_ns < 86_401e9
    assert outcome.wall_ns < 20e9


def test_what_a_command_leaves_running_does_not_hold_it() -> None:
    outcome, output, _ = shell("sleep 100000 & echo done")
    assert (outcome.exit_status, output) == (0, "done\n")
    assert outcome.virtual_ns < 60e9


WAITS_BY_THE_CLOCK = """
import os, time
drive = os.open("/dev/sda", os.O_RDWR)
for page in range(2000):
    os.pwrite(drive, bytes(4096), page * 65536)
if os.fork() == 0:
    os.fsync(drive)
    os._exit(0)
until = time.monotonic() + 2
while time.monotonic() < until:
    pass
print("waited", os.WEXITSTATUS(os.wait()[1]))
"""


def test_a_drive_answers_twice_while_a_program_reads_the_clock() -> None:
    """Once the kernel could not bear it: a reading takes time, and interrupts that come meanwhile are held back."""
    outcome, output, _ = ran("python3", "-c", WAITS_BY_THE_CLOCK, drives=("model:wd40efrx",), scale_divisor=1000)
    assert (outcome.exit_status, output) == (0, "waited 0\n")


def test_files_go_in_and_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("A")
    out = tmp_path / "out"
    shell(
        "cat in/a > b; mkdir d; cp b d",
        bring_in=(tmp_path / "in",),
        bring_out={"/lab/b": out / "b", "/lab/d": out / "d"},
    )
    assert (out / "b").read_text() == (out / "d" / "b").read_text() == "A"


@pytest.mark.parametrize(
    ("bytes_in", "memory_bytes", "hint"),
    [
        (70 << 20, 128 << 20, "--memory 1GiB"),
        (498 << 20, 1 << 30, "--memory 2GiB"),
        (1 << 40, 1 << 30, "bring in less"),
    ],
)
def test_what_is_more_than_the_guest_can_keep_is_not_even_packed(
    bytes_in: int, memory_bytes: int, hint: str, tmp_path: Path
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(bytes_in)
    with pytest.raises(UsageError, match="half of its memory") as told:
        shell("true", bring_in=(tmp_path / "large",), memory_bytes=memory_bytes)
    assert hint in told.value.hint


def test_small_files_take_a_page_each(tmp_path: Path) -> None:
    for number in range(9000):
        (tmp_path / str(number)).touch()
    with pytest.raises(UsageError, match=r"takes 35\.2 MiB"):
        shell("true", bring_in=(tmp_path,), memory_bytes=128 << 20)


def test_a_guest_that_cannot_lay_what_it_was_given_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.lab.run.room_in_guest", lambda _: 0)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(70 << 20)
    with pytest.raises(EnvironmentFailure, match=r"could not make ready .* No space left on device") as told:
        shell("true", bring_in=(tmp_path / "large",), memory_bytes=128 << 20)
    assert told.value.hint == "--memory 256MiB"


def test_a_link_brings_in_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("A")
    (tmp_path / "link").symlink_to("real")
    assert shell("cat real", bring_in=(tmp_path / "link",))[1] == "A"


def test_what_is_just_little_enough_leaves_the_command_its_room(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(31 << 20)
    bringing = {"bring_in": (tmp_path / "large",), "memory_bytes": 128 << 20}
    outcome, output, _ = shell("stat -c %s large; head -c 1M /dev/zero >more && exit 7", **bringing)
    assert (outcome.exit_status, output) == (7, f"{31 << 20}\n")


def test_what_cannot_be_brought_out_hides_neither_the_time_nor_the_status(tmp_path: Path) -> None:
    options = ["--bring-out", "/lab/a", "--bring-out", "/lab/b", "--out", str(tmp_path)]
    command = ["bash", "-c", "echo A > a; sleep 1h; exit 3"]
    program = [sys.executable, "-c", ENTRY, "lab", "run", *options, "--", *command]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, (tmp_path / "a").read_text()) == (5, "A\n")
    account, error, _ = done.stderr.splitlines()
    assert account.startswith("lab: 60 min of virtual time in ")
    assert error == "error: not in the guest: /lab/b; the command ended with status 3"


@pytest.mark.parametrize(
    ("closing", "printed", "status"), [(" | head -n 1; exit ${PIPESTATUS[0]}", "1\n", 0), (" >&-", "", 7)]
)
def test_who_does_not_read_what_is_printed_is_no_fault(closing: str, printed: str, status: int) -> None:
    line = shlex.join([sys.executable, "-c", ENTRY, "lab", "run", "--quiet", "--", "bash", "-c", "seq 500000; exit 7"])
    done = subprocess.run(["bash", "-c", line + closing], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, printed, "")


def test_what_is_no_file_is_not_brought_in() -> None:
    for path, why in [("/", "neither a file nor a folder"), ("/dev/null", "neither a file nor a folder")]:
        with pytest.raises(UsageError, match=why):
            shell("true", bring_in=(Path(path),))


READ_AGAIN = """
import time
def cost_ns():
    began_ns = time.monotonic_ns()
    read = open("/sbin/vgs", "rb").read()
    return time.monotonic_ns() - began_ns
print(*[cost_ns() for _ in range(20)])
"""


def test_reading_the_image_takes_no_time() -> None:
    """Or else a result would hang on where in the image a file lies, and so on the versions of other packages."""
    _, output, _ = ran("python3", "-c", READ_AGAIN)
    from_the_image_ns, *from_memory_ns = map(int, output.split())
    # A reading of the clock takes 256 ns itself, and of those there is one less now and then.
    assert from_the_image_ns in from_memory_ns
    assert max(from_memory_ns) < 10_000


def test_the_guest_sees_no_file_of_the_host() -> None:
    _, output, _ = shell(
        f"ls -d {Path(__file__).parent} /home/* 2>&1; mount -t hostfs -o / h /mnt && ls /mnt /mnt/share"
    )
    assert "test_run.py" not in output
    assert "home" not in output.partition("\nboot")[2]


def test_disks_are_what_the_profile_says() -> None:
    drives = ("model:wd40efax", "model:st12000vn0007")
    outcome, output, _ = shell("lsblk -J -b -o NAME,SIZE,MODEL,SERIAL,WWN; ls /dev/disk/by-id", drives=drives)
    listed = json.loads(output[: output.rindex("}") + 1])["blockdevices"]
    disks = [each for each in listed if each["name"].startswith("sd")]
    assert [disk["name"] for disk in disks] == ["sda", "sdb"]
    for disk, drive in zip(disks, outcome.report["drives"], strict=True):
        assert disk["size"] == drive["capacity_bytes"]
        assert disk["serial"] == drive["serial"]
        assert f"wwn-{disk['wwn']}" in output
    # What we laid for udev and what the disk itself says are one.
    _, sysfs, _ = shell(
        "cat /sys/block/sda/device/{model,wwid}; tail -c +5 /sys/block/sda/device/vpd_pg80", drives=drives
    )
    model, wwid, serial = (line.strip() for line in sysfs.splitlines())
    assert outcome.report["drives"][0]["model"].startswith(model)
    assert wwid.removeprefix("naa.") in output
    assert serial == outcome.report["drives"][0]["serial"]


FIO = "fio --name=t --filename=/dev/{} --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --io_size=4m"


@pytest.mark.parametrize(("bus", "disk"), [("scsi", "sda"), ("blk", "vda")])
def test_the_same_order_gives_the_same_trace_and_another_seed_another(bus: str, disk: str) -> None:
    command = f"{FIO.format(disk)} --output-format=json"
    order = {"drives": ("model:wd40efax",), "scale_divisor": 1000, "bus": bus}
    first, output, _ = shell(command, **order)
    second, again, _ = shell(command, **order)
    other, _, _ = shell(command, **order, seed=2)
    assert json.loads(output)["jobs"][0]["write"]["total_ios"] == 1024
    assert output == again
    assert first.virtual_ns == second.virtual_ns
    assert first.report["trace_hash"] == second.report["trace_hash"] != other.report["trace_hash"]


PROCESSOR_COUNTER = """
import ctypes, mmap, sys, time

def instruction(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex(code) + bytes.fromhex("48c1e220" "4809d0" "c3"))  # the halves in one number, and back
    keep.append(page)
    return ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))

keep = []
rdtsc, rdtscp = instruction("0f31"), instruction("0f01f9")
for counter in rdtsc, rdtscp:
    at_ns, cycles = time.monotonic_ns(), counter()
    time.sleep(3)
    print(counter() - cycles - (time.monotonic_ns() - at_ns))
at_ns, cycles = time.monotonic_ns(), rdtsc()
while rdtscp() < cycles + 10**9:
    pass
print(time.monotonic_ns() - at_ns - 10**9)
sys.stdout.flush()
instruction(sys.argv[1])()
"""


# RDTSC, what no program may execute, and what is no instruction at all
@pytest.mark.parametrize(("code", "status"), [("0f31", 0), ("f4", 128 + signal.SIGSEGV), ("0f0b", 128 + signal.SIGILL)])
def test_the_processor_s_counter_goes_by_the_guest_s_clock(code: str, status: int) -> None:
    outcome, output, _ = ran("python3", "-c", PROCESSOR_COUNTER, code)
    assert outcome.exit_status == status
    beside_ns = [int(line) for line in output.splitlines()]
    assert len(beside_ns) == 3
    # For who does nothing else a reading costs up to 65.5 us.
    assert all(abs(each) < 70_000 for each in beside_ns), beside_ns


def test_fio_measures_the_drive_and_not_this_machine() -> None:
    """fio takes its time from the processor's counter where it is told nothing else."""
    command = "fio --name=t --filename=/dev/sda --rw=randread --direct=1 --time_based --runtime=20 --output-format=json"
    order = {"drives": ("model:wd40efax",), "scale_divisor": 1000}
    first, output, _ = shell(command, **order)
    second, again, _ = shell(command, **order)
    assert (output, first.report["trace_hash"]) == (again, second.report["trace_hash"])
    by_the_clock, other_output, _ = shell(f"{command} --clocksource=clock_gettime", **order)
    iops, other_iops = (json.loads(text)["jobs"][0]["read"]["iops"] for text in (output, other_output))
    assert iops == pytest.approx(other_iops, rel=0.01)
    assert first.virtual_ns == pytest.approx(by_the_clock.virtual_ns, rel=0.01)


def test_a_drive_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="only modelled drives"):
        ran("true", drives=("/dev/sda",))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo c > /proc/sysrq-trigger", "Kernel panic"),
        ("while :; do :; done", "--wall-limit` is over; last heard of before any virtual time"),
        ("sleep 1m; while :; do :; done", "--wall-limit` is over; last heard of after 60 s"),
        ("read -r < <(sleep infinity)", "within 2 d"),
    ],
)
def test_a_guest_that_does_not_end_is_told(script: str, words: str) -> None:
    with pytest.raises(EnvironmentFailure, match=words) as failed:
        shell(script, wall_limit_s=12.0, virtual_limit_s=2 * 86_400)
    assert failed.value.exit_status == 5
    assert "--memory" not in failed.value.hint


def test_a_guest_that_loops_is_given_up_without_any_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.lab.run._STALL_LIMIT_S", 3.0)
    with pytest.raises(EnvironmentFailure, match="the guest loops: it has computed for 3 s"):
        shell("sleep 1m; while :; do :; done")


def kernels_with(token: str) -> list[int]:
    """Not what they trace, which their guests' programs run in."""
    statuses = {pid: Path(f"/proc/{pid}/status") for pid in processes_with(token)}
    kernels = []
    for pid, status in statuses.items():
        with suppress(FileNotFoundError, ProcessLookupError):  # programs of the guest end meanwhile
            if "TracerPid:\t0\n" in status.read_text(encoding="utf-8"):
                kernels.append(pid)
    return kernels


def test_a_guest_that_does_not_get_its_turn_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.lab.run._STALL_LIMIT_S", 3.0)
    stopped_at_s: list[float] = []

    def go_on(kernels: list[int]) -> None:
        for pid in kernels:
            os.kill(pid, signal.SIGCONT)

    def stop_for_a_while(stream: str, text: bytes) -> None:
        if stopped_at_s or b"computing" not in text:
            return
        kernels = kernels_with("shakedown.seed=8128")
        for pid in kernels:
            os.kill(pid, signal.SIGSTOP)
        threading.Timer(6.0, go_on, [kernels]).start()
        stopped_at_s.append(time.monotonic())

    script = "echo computing; sleep 0.1; for i in $(seq 10); do echo $i | md5sum; done > /dev/null"
    outcome = run(Order(command=("bash", "-c", script), seed=8128), stop_for_a_while)
    assert outcome.exit_status == 0
    assert time.monotonic() - stopped_at_s[0] > 6


def test_who_halts_the_guest_is_told() -> None:
    with pytest.raises(EnvironmentFailure, match="the command has halted the guest"):
        shell("busybox halt -f; sleep 1h", wall_limit_s=50.0)


def test_few_open_files_are_enough(tmp_path: Path) -> None:
    program = ["prlimit", "--nofile=32", sys.executable, "-c", ENTRY, "lab", "run", "--quiet", "--", "echo", "hi"]
    done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")


def test_a_reboot_ends_the_run_at_once() -> None:
    began_s = time.monotonic()
    with pytest.raises(EnvironmentFailure, match="the command has rebooted the guest") as failed:
        shell("busybox reboot -f; sleep 1h", wall_limit_s=50.0)
    assert time.monotonic() - began_s < 40
    assert "--power-cut-at" in failed.value.hint


# Forbids one system call, as a container may, and becomes the program.
FORBID = """
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == libc.prctl(22, 2, program) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("call", "told", "hint"),
    [
        (101, "cannot run here", "ptrace"),
        (272, "not allowed", "as an ordinary user|sysctl"),
        (56, "fork: Operation not permitted", "seccomp profile"),
    ],
)
def test_a_host_without_ptrace_namespaces_or_processes_is_told(call: int, told: str, hint: str) -> None:
    program = [sys.executable, "-c", FORBID, str(call), sys.executable, "-c", ENTRY, "lab", "run", "--", "true"]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 5
    error, _, advice = ended.stderr.partition("\nhint: ")
    assert told in error
    assert len(error.splitlines()) <= 3
    assert re.search(hint, advice)
    assert "Traceback" not in ended.stderr


def test_a_guest_that_fills_its_disk_is_told_by_its_command() -> None:
    outcome, _, errors = shell("cat /dev/zero > /tmp/full", memory_bytes=128 << 20)
    assert outcome.exit_status == 1
    assert "No space left on device" in errors


def test_all_that_can_be_filled_leaves_memory_for_programs() -> None:
    script = "for place in /tmp /run /lab /dev; do cat /dev/zero > $place/full; done; "
    script += "python3 -c 'print(len(b\"a\" * (20 << 20)))'"
    outcome, output, errors = shell(script, memory_bytes=128 << 20, wall_limit_s=60.0)
    assert outcome.exit_status == 0
    assert errors.count("No space left on device") == 4
    assert output == f"{20 << 20}\n"


def test_a_program_that_needs_more_memory_than_there_is_is_killed() -> None:
    script = "cat /dev/zero > /tmp/full; python3 -c 'b\"a\" * (60 << 20)'"
    outcome, _, errors = shell(script, memory_bytes=128 << 20, wall_limit_s=60.0)
    assert outcome.exit_status == 128 + signal.SIGKILL
    assert "Killed" in errors


@pytest.mark.parametrize("hog", ["tail /dev/zero", "python3 -c 'a = []\nwhile True: a.append(b\"a\" * (1 << 20))'"])
@pytest.mark.parametrize("memory_bytes", [128 << 20, 256 << 20])
def test_a_program_that_takes_all_memory_is_killed_and_the_guest_goes_on(hog: str, memory_bytes: int) -> None:
    """Once its own pages were dropped and read again for ever."""
    script = f"{hog}; echo $?; python3 -c 'print(\"goes on\")'"
    outcome, output, errors = shell(script, memory_bytes=memory_bytes, wall_limit_s=60.0)
    assert (outcome.exit_status, output) == (0, f"{128 + signal.SIGKILL}\ngoes on\n")
    assert "Killed" in errors


@pytest.mark.parametrize(
    "line",
    [
        "echo , | sfdisk -q --label gpt /dev/sda",
        "parted -s /dev/sda mklabel gpt mkpart data 1MiB 100%",
        "sgdisk -n 1:0:0 /dev/sda",
        "printf 'g\\nn\\n\\n\\n\\nw\\n' | fdisk /dev/sda",
    ],
)
def test_partitions_are_made_and_have_nodes(line: str) -> None:
    script = f"({line}) > said || exit; strace -e trace=openat dd if=/dev/sda1 count=1 of=block"
    script += " && blkid -p -s PTTYPE -o value /dev/sda"
    outcome, said, errors = shell(script, drives=("model:wd40efrx",), scale_divisor=1000)
    assert (outcome.exit_status, said.split()) == (0, ["gpt"]), errors
    assert '"/dev/sda1", O_RDONLY' in errors


def test_volumes_are_made_without_udev() -> None:
    script = """
pvcreate -q /dev/sda && vgcreate -q vg /dev/sda && lvcreate -q -n volume -L 64M vg || exit
mkfs.ext4 -q /dev/vg/volume && mount /dev/vg/volume /mnt && df --output=fstype /mnt
"""
    outcome, said, errors = shell(script, drives=("model:wd40efrx",), scale_divisor=1000)
    assert (outcome.exit_status, said.split()[-1]) == (0, "ext4"), errors


def test_a_program_that_spins_until_time_has_passed_does_not_take_long() -> None:
    """Looks at the clock that follow each other cost more and more: few are enough, on whatever machine."""
    script = (
        "import time; end = time.monotonic() + 10; looks = 0\nwhile time.monotonic() < end: looks += 1\nprint(looks)"
    )
    outcome, looks, _ = ran("python3", "-c", script)
    assert 10e9 < outcome.virtual_ns < 11e9
    assert int(looks) < 1_000_000


def test_kill_9_of_the_front_at_any_moment_leaves_nothing(tmp_path: Path) -> None:
    order = [
        "--drive",
        "model:wd40efax",
        "--",
        "bash",
        "-c",
        "while :; do dd if=/dev/sda of=/dev/null bs=1M count=64; done",
    ]
    chance = random.Random(4)
    token = f"shakedown.seed={chance.randrange(10**12)}"
    for _ in range(12):
        program = [sys.executable, "-c", ENTRY, "lab", "run", "--seed", token.partition("=")[2], *order]
        front = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0, 4))
        front.kill()
        front.wait()
    until = time.monotonic() + 5
    while (left := processes_with(token)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not left


def test_ctrl_c_ends_it_with_130() -> None:
    program = [sys.executable, "-c", ENTRY, "lab", "run", "--", "bash", "-c", "echo up; while :; do sleep 1; done"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as front:
        assert front.stdout is not None
        assert front.stdout.readline() == b"up\n"
        front.send_signal(signal.SIGINT)
        assert front.wait(20) == 130


def test_programs_keep_what_they_have_mapped_where_memory_is_short() -> None:
    """A fault that copied the pages around it did not tell the host which pages of others it had taken for that."""
    script = "mkfs.ext4 -q -E lazy_itable_init=1 /dev/sda && mount /dev/sda /mnt && python3 maps_in_guest.py"
    guest = Path(__file__).with_name("maps_in_guest.py")
    drive = {"drives": ("model:st31000520as",), "scale_divisor": 200}
    outcome, said, errors = ran("bash", "-c", script, bring_in=(guest,), memory_bytes=512 << 20, **drive)
    assert (outcome.exit_status, said) == (0, "all as they were\n"), errors
