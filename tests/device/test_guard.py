import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.device import mark
from shakedown.device.file import FileMedium
from shakedown.device.holders import holders
from shakedown.device.lab_disk import LabDisk
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError

MIB = 1 << 20


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def medium(path: Path | str, *, consent: tuple[str, ...] = (), size_bytes: int | None = None) -> FileMedium:
    run = Path(path).parent.parent / "run"
    return FileMedium(str(path), run=run, consent=consent, size_bytes=size_bytes)


def sparse(path: Path, size_bytes: int = 8 * MIB) -> Path:
    with path.open("wb") as file:
        file.truncate(size_bytes)
    return path


def zeros(path: Path) -> Path:
    path.write_bytes(bytes(3 * MIB + 17))
    return path


def last_byte_set(path: Path) -> Path:
    path.write_bytes(bytes(3 * MIB) + b"\x01")
    return path


def byte_between_holes(path: Path) -> Path:
    sparse(path)
    with path.open("r+b") as file:
        file.seek(5 * MIB + 3)
        file.write(b"x")
    return path


def text(path: Path) -> Path:
    path.write_text("a thesis\n" * 100)
    return path


def empty(path: Path) -> Path:
    path.touch()
    return path


def link_to_data(path: Path) -> Path:
    path.symlink_to(text(path.with_name("real")))
    return path


def link_to_blank(path: Path) -> Path:
    path.symlink_to(sparse(path.with_name("real")))
    return path


def hard_link_to_blank(path: Path) -> Path:
    path.hardlink_to(sparse(path.with_name("real")))
    return path


def hard_link_to_data(path: Path) -> Path:
    path.hardlink_to(text(path.with_name("real")))
    return path


def foreign_sidecar(path: Path) -> Path:
    text(mark.sidecar(path))
    return text(path)


def sidecar_of_garbage(path: Path) -> Path:
    mark.sidecar(path).write_text('{"format_version": 1}')
    return text(path)


def marked(path: Path) -> Path:
    text(path)
    mark.lay(path, path.stat(), path.parent / "elsewhere", writing=False)
    return path


def marked_then_changed(path: Path) -> Path:
    marked(path)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    return path


def marked_then_grown(path: Path) -> Path:
    marked(path)
    before = path.stat()
    with path.open("ab") as file:
        file.write(b"more")
    os.utime(path, ns=(0, before.st_mtime_ns))
    return path


def marked_then_replaced(path: Path) -> Path:
    before = marked(path).stat()
    other = text(path.with_name("other"))
    os.utime(other, ns=(0, before.st_mtime_ns))
    other.replace(path)
    return path


def left_in_the_middle_by_another_run(path: Path) -> Path:
    text(path)
    mark.lay(path, path.stat(), path.parent.parent / "another-run", writing=True)
    return path


def left_in_the_middle_by_this_run(path: Path) -> Path:
    text(path)
    mark.lay(path, path.stat(), (path.parent.parent / "run").resolve(), writing=True)
    return path


def sidecar_is_a_link_to_a_mark(path: Path) -> Path:
    marked(path)
    real = mark.sidecar(path).rename(path.with_name("moved"))
    mark.sidecar(path).symlink_to(real)
    return path


@pytest.mark.parametrize(
    "make", [sparse, zeros, link_to_blank, marked, left_in_the_middle_by_this_run], ids=lambda make: make.__name__
)
def test_nobodys_data_may_be_overwritten(place: Path, make: Callable[[Path], Path]) -> None:
    medium(make(place / "target")).admit_writing()


@pytest.mark.parametrize(
    "make",
    [
        text,
        last_byte_set,
        byte_between_holes,
        link_to_data,
        hard_link_to_blank,
        hard_link_to_data,
        foreign_sidecar,
        sidecar_of_garbage,
        marked_then_changed,
        marked_then_grown,
        marked_then_replaced,
        left_in_the_middle_by_another_run,
        sidecar_is_a_link_to_a_mark,
    ],
    ids=lambda make: make.__name__,
)
def test_what_may_be_data_needs_consent_for_exactly_this_file(place: Path, make: Callable[[Path], Path]) -> None:
    path = make(place / "target")
    content = path.read_bytes()
    real = path.resolve()
    for consent in ((), (str(place),), (str(place / "targe"),), (f"{real}x",), ("*",), ("",)):
        with pytest.raises(RefusedError) as caught:
            medium(path, consent=consent).admit_writing()
        assert caught.value.exit_status == 4
        assert f"--destroy-data-on {real}" in caught.value.hint
    medium(path, consent=(str(real),)).admit_writing()
    assert path.read_bytes() == content


def test_consent_for_a_link_is_not_consent_for_what_it_leads_to(place: Path) -> None:
    path = link_to_data(place / "target")
    with pytest.raises(RefusedError):
        medium(path, consent=(str(path),)).admit_writing()


def test_a_foreign_file_where_our_mark_goes_is_not_overwritten(place: Path) -> None:
    path = sparse(place / "target")
    text(mark.sidecar(path))
    with pytest.raises(RefusedError, match="not ours"), medium(path).lend(write=True):
        pass
    assert mark.sidecar(path).read_text().startswith("a thesis")


@pytest.mark.parametrize(
    "path", ["/proc/sysrq-trigger", "/proc/self/comm", "/sys/kernel/mm/ksm/run", "/sys", "/proc", "/dev"]
)
def test_the_kernels_controls_are_never_a_target(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"{path} is not here")
    with pytest.raises(RefusedError):
        FileMedium(path, run=Path("/nowhere"), consent=(path,), size_bytes=MIB)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/full", "/dev/tty"])
def test_character_devices_are_refused(path: str) -> None:
    with pytest.raises(RefusedError, match="a character device"):
        FileMedium(path, run=Path("/nowhere"), consent=(path,))


def test_a_block_device_is_no_file(place: Path) -> None:
    device = next((path for path in Path("/dev").iterdir() if path.is_block_device()), None)
    if device is None:
        pytest.skip("there is no block device here")
    link = place / "disk"
    link.symlink_to(device)
    for path in (device, link):
        with pytest.raises(RefusedError, match="a block device") as caught:
            FileMedium(str(path), run=Path("/nowhere"), consent=(str(path), str(device)))
        assert "/dev/disk/by-id" in caught.value.hint


def test_pipes_and_sockets_are_refused(place: Path) -> None:
    os.mkfifo(place / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "socket"))
        with pytest.raises(RefusedError, match="a named pipe"):
            medium(place / "pipe")
        with pytest.raises(RefusedError, match="a socket") as caught:
            medium(place / "socket")
    assert f"nbd+unix://{place / 'socket'}" in caught.value.hint


@pytest.mark.parametrize("name", ["", "samples.parquet", "raw", "raw/x"])
def test_the_runs_own_folder_is_never_a_target(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    (run / "samples.parquet").touch()
    with pytest.raises(RefusedError, match="run's own folder"):
        FileMedium(str(run / name), run=run, consent=(str(run / name),), size_bytes=MIB)
    assert not list(run.rglob("*.dat"))


def test_a_file_open_for_writing_elsewhere_is_refused_whatever_the_user_says(place: Path) -> None:
    path = sparse(place / "target")
    code = f"import sys; f = open({str(path)!r}, 'r+b'); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(RefusedError, match=f"process {writer.pid}") as caught:
            medium(path, consent=(str(path),)).admit_writing()
        assert "no consent" in caught.value.hint
        writer.communicate()
    medium(path).admit_writing()


def test_a_file_open_for_reading_elsewhere_is_not_in_use(place: Path) -> None:
    path = sparse(place / "target")
    with subprocess.Popen(["tail", "-f", path], stdout=subprocess.DEVNULL) as reader:
        medium(path).admit_writing()
        reader.kill()


def test_a_file_behind_a_loop_device_is_refused(place: Path) -> None:
    path = sparse(place / "target")
    made = subprocess.run(["losetup", "-f", "--show", path], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip("loop devices cannot be made here")
    loop = made.stdout.strip()
    try:
        with pytest.raises(RefusedError, match=f"loop device {loop}"):
            medium(path, consent=(str(path),)).admit_writing()
        with pytest.raises(RefusedError, match="a block device"):
            medium(loop)
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)


def test_a_swap_file_is_in_use(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sparse(place / "swap file")
    proc = place / "proc"
    proc.mkdir()
    (proc / "swaps").write_text("Filename Type\n{} file 1 0 -2\n".format(str(path).replace(" ", "\\040")))
    monkeypatch.setattr("shakedown.device.holders._PROC", proc)
    assert holders(path.stat()) == ["the system swaps to it"]


@pytest.mark.parametrize(
    ("flags", "kind", "is_used"),
    [("02", "ext4", True), ("0100001", "ext4", True), ("0", "ext4", False), ("02", "nfs4", False)],
)
def test_a_writer_is_seen_where_the_kernel_tells_no_inode(
    place: Path, monkeypatch: pytest.MonkeyPatch, flags: str, kind: str, *, is_used: bool
) -> None:
    """As before Linux 5.14. What a server holds is not looked at: it may hang."""
    path = sparse(place / "disk.img")
    process = place / "proc" / "77"
    for folder in ("fd", "fdinfo"):
        (process / folder).mkdir(parents=True)
    (process / "fd" / "5").symlink_to(path)
    (process / "fdinfo" / "5").write_text(f"pos:\t0\nflags:\t{flags}\nmnt_id:\t29\n")
    (process / "mountinfo").write_text(f"29 1 8:2 / / rw,relatime shared:1 - {kind} /dev/sda2 rw\n")
    (process / "comm").write_text("qemu\n")
    monkeypatch.setattr("shakedown.device.holders._PROC", place / "proc")
    told = ["process 77 (qemu) has it open for writing"] if is_used else []
    assert holders(path.stat()) == told


def test_what_a_kill_left_of_a_mark_is_no_obstacle(place: Path) -> None:
    """In a container the next run has the same process id."""
    path = sparse(place / "blank")
    for name in (f"blank.shakedown.{os.getpid()}", ".blank.shakedown.new"):
        (place / name).write_text("{")
    with medium(path).lend(write=True):
        pass
    assert mark.is_ours(path, path.stat(), place)


def test_a_mark_that_cannot_be_laid_leaves_nothing_open(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sparse(place / "blank")

    def fails(_: Path, __: os.stat_result, ___: Path, *, writing: bool) -> None:
        if not writing:
            raise EnvironmentFailure("no room")

    monkeypatch.setattr(mark, "lay", fails)
    with pytest.raises(EnvironmentFailure, match="no room"), medium(path).lend(write=True) as lease:
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(lease.inherit[0])


def test_a_link_swapped_between_check_and_use_is_refused(place: Path) -> None:
    blank, thesis = sparse(place / "blank"), text(place / "thesis")
    link = place / "target"
    link.symlink_to(blank)
    target = medium(link)
    target.admit_writing()
    link.unlink()
    link.symlink_to(thesis)
    for write in (True, False):
        with pytest.raises(RefusedError, match="another file"), target.lend(write=write):
            pass


def test_a_file_swapped_between_check_and_use_is_refused(place: Path) -> None:
    path = sparse(place / "target")
    target = medium(path)
    target.admit_writing()
    text(place / "thesis").replace(path)
    with pytest.raises(RefusedError, match="another file"), target.lend(write=True):
        pass
    assert path.read_text().startswith("a thesis")


def test_data_written_between_check_and_use_is_seen(place: Path) -> None:
    path = sparse(place / "target")
    target = medium(path)
    target.admit_writing()
    with path.open("r+b") as file:
        file.write(b"a thesis")
    with pytest.raises(RefusedError, match="holds data"), target.lend(write=True):
        pass


def test_once_lent_nothing_but_the_examined_file_can_be_reached(place: Path) -> None:
    """fio opens what the descriptor stands for, so a swap after the last look changes nothing."""
    path = sparse(place / "target")
    with medium(path).lend(write=True) as lease:
        text(place / "thesis").replace(path)
        reached = Path(lease.options[0].value or "").stat()
        assert not os.path.samestat(reached, path.stat())
        assert stat.S_ISREG(reached.st_mode)
        assert reached.st_nlink == 0
    assert path.read_text().startswith("a thesis")


def test_a_device_that_is_not_there_is_not_made_as_a_file() -> None:
    for given in ("/dev/sdzz", "/dev/disk/by-id/ata-none"):
        with pytest.raises(UsageError, match="no device") as caught:
            medium(Path(given), size_bytes=MIB)
        assert "lsblk" in caught.value.hint
        assert not Path(given).exists()


def test_a_missing_file_needs_a_size_and_an_existing_folder(place: Path) -> None:
    with pytest.raises(UsageError) as caught:
        medium(place / "new")
    assert "--size" in caught.value.hint
    with pytest.raises(UsageError, match="no folder"):
        medium(place / "nowhere" / "new", size_bytes=MIB)
    with pytest.raises(UsageError, match="free"):
        medium(place / "new", size_bytes=1 << 60)
    for size_bytes in (0, 10):
        with pytest.raises(UsageError, match="too small to be a target"):
            medium(place / "new", size_bytes=size_bytes)
    for size_bytes in (2 * MIB, MIB // 2):
        with pytest.raises(UsageError, match=f"has {MIB} bytes, not the {size_bytes} of `--size`"):
            medium(sparse(place / "old", MIB), size_bytes=size_bytes)
    assert not (place / "new").exists()


def test_an_empty_file_is_grown(place: Path) -> None:
    with pytest.raises(UsageError, match="is empty"):
        medium(empty(place / "target"))
    target = medium(place / "target", size_bytes=MIB)
    assert target.identity.capacity_bytes == MIB == (place / "target").stat().st_size


def test_a_file_made_and_never_used_is_removed_a_used_one_stays_ours(place: Path) -> None:
    unused = medium(place / "new", size_bytes=MIB)
    unused.close()
    assert list(place.iterdir()) == []
    used = medium(place / "new", size_bytes=MIB)
    with used.lend(write=True):
        (place / "new").write_bytes(b"x" * MIB)
    used.close()
    medium(place / "new").admit_writing()


def test_a_folder_gets_a_file_that_goes_when_the_run_is_over(place: Path) -> None:
    target = medium(place, size_bytes=MIB)
    assert (target.identity.kind, target.identity.capacity_bytes) == ("directory", MIB)
    with target.lend(write=True):
        (place / "shakedown.dat").write_bytes(b"x" * MIB)
    target.close()
    assert list(place.iterdir()) == []


def test_a_folder_gets_a_quarter_of_what_is_free_at_most_16_gib(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, size_bytes in ((8 << 30, 2 << 30), (1 << 50, 16 << 30), ((1 << 30) + 8192, 8192)):
        monkeypatch.setattr("shakedown.device.file.free_bytes", lambda _, free=free: free)
        target = medium(place)
        assert target.identity.capacity_bytes == size_bytes
        target.close()
    monkeypatch.setattr("shakedown.device.file.free_bytes", lambda _: 1 << 30)
    with pytest.raises(EnvironmentFailure, match=r"1\.0 GiB are to spare: no room for a file$"):
        medium(place)


def test_somebodys_file_of_our_name_in_a_folder_is_left_alone(place: Path) -> None:
    text(place / "shakedown.dat")
    target = medium(place)
    with pytest.raises(RefusedError):
        target.admit_writing()
    target.close()
    assert (place / "shakedown.dat").read_text().startswith("a thesis")


def test_a_dangling_link_in_the_place_of_our_file_is_not_followed(place: Path) -> None:
    (place / "shakedown.dat").symlink_to(place.parent / "far")
    with pytest.raises(RefusedError, match="a link"):
        medium(place, size_bytes=MIB)
    assert not (place.parent / "far").exists()


def test_a_link_to_nothing_is_refused_and_not_followed(place: Path) -> None:
    link = place / "link"
    link.symlink_to(place / "missing")
    with pytest.raises(RefusedError, match=r"is a link to .*missing, which does not exist"):
        medium(link, size_bytes=MIB)
    assert [path.name for path in place.iterdir()] == ["link"]


def test_the_environment_alone_makes_no_disk_of_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAKEDOWN_LAB_DISKS", '{"lab:x": "/dev/sda"}')
    with pytest.raises(UsageError, match="is a disk of the lab") as refused:
        LabDisk("lab:x")
    assert "shakedown run PROTOCOL lab:x" in refused.value.hint


def test_an_array_in_the_lab_is_made_of_its_drives() -> None:
    with pytest.raises(UsageError, match="is a disk of the lab") as refused:
        LabDisk("lab:raid5:wd40efrx")
    assert "shakedown rebuild raid5 lab:NAME --width 4" in refused.value.hint
