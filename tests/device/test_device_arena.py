import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from nbd_server import NbdServer

from shakedown.device.arena import DeviceArena
from shakedown.device.claim import Claim
from shakedown.device.file import FileMedium
from shakedown.device.medium import Medium
from shakedown.device.nbd_export import MODELLED_PREFIX, NbdMedium, modelled_description
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.sample import Sample
from shakedown.tools.fio.load import Patience
from shakedown.tools.fio.locate import Fio, locate_fio

MIB = 1 << 20
INTERVAL_NS = 200_000_000
Export = Callable[..., NbdMedium]
WRITE = "rw=randwrite\nbs=4k\nsize=100%\nrate_iops=500\ntime_based\nruntime=600ms\n"


@pytest.fixture(scope="module")
def fio() -> Fio:
    return locate_fio()


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A folder on a file system in memory."""
    folder = Path("/dev/shm")
    if not folder.is_dir():
        pytest.skip("no file system in memory here")
    place = folder / f"shakedown-test-{time.monotonic_ns()}"
    place.mkdir()
    yield place
    for path in place.iterdir():
        path.unlink()
    place.rmdir()


def arena(medium: Medium, fio: Fio, tmp_path: Path) -> DeviceArena:
    return DeviceArena(medium, fio, tmp_path / "run" / "raw")


def file_medium(path: Path, size_bytes: int = 64 * MIB) -> FileMedium:
    return FileMedium(str(path), run=path.parent / "run", size_bytes=size_bytes)


def play(arena: DeviceArena, job: str, step: str = "step") -> tuple[list[Sample], str | None]:
    arena.check(job)
    with arena.start(step, job, INTERVAL_NS) as load:
        samples = [sample for batch in load for sample in batch]
    return samples, load.error


def total(samples: list[Sample]) -> int:
    return sum(sample.count for sample in samples)


def test_a_file_is_written_within_its_bounds_and_marked(fio: Fio, tmp_path: Path) -> None:
    path = tmp_path / "target"
    target = arena(file_medium(path), fio, tmp_path)
    samples, error = play(target, "rw=randwrite\nbs=4k\nsize=100%\nrate_iops=500\nnumber_ios=300\n")
    assert error is None
    assert total(samples) == 300
    assert {(sample.step, sample.direction) for sample in samples} == {("step", "write")}
    assert sum(sample.bytes for sample in samples) == total(samples) * 4096
    assert path.stat().st_size == 64 * MIB
    assert path.stat().st_blocks > 0
    target.close()
    assert (tmp_path / "target.shakedown").exists()
    again = arena(FileMedium(str(path), run=tmp_path / "run2"), fio, tmp_path)
    assert total(play(again, WRITE)[0]) > 0


def test_time_goes_on_over_steps_and_idling(fio: Fio, tmp_path: Path) -> None:
    target = arena(file_medium(tmp_path / "target"), fio, tmp_path)
    first, _ = play(target, WRITE, "one")
    began_ns = time.monotonic_ns()
    target.idle(300_000_000)
    assert time.monotonic_ns() - began_ns >= 290_000_000  # fio alone takes as long to start
    second, _ = play(target, WRITE, "two")
    assert second[0].start_ns - (first[-1].start_ns + first[-1].duration_ns) >= 300_000_000


def test_a_folder_and_memory_work_too(fio: Fio, memory: Path, tmp_path: Path) -> None:
    target = arena(file_medium(memory), fio, tmp_path)
    samples, error = play(target, WRITE)
    assert error is None
    assert total(samples) > 0
    assert target.identity.details["filesystem"] == "tmpfs"
    target.close()
    assert list(memory.iterdir()) == []


def test_how_long_the_kernel_took_a_request_in_is_part_of_its_latency(fio: Fio, memory: Path, tmp_path: Path) -> None:
    """Where nothing waits for a drive, as in memory, that is nearly all of it."""
    samples, error = play(arena(file_medium(memory), fio, tmp_path), "rw=write\nbs=1m\n")
    assert error is None
    told = json.loads((tmp_path / "run/raw/step/final.json").read_text())["jobs"][0]["write"]
    felt_ns = sum(sample.latency_mean_ns * sample.count for sample in samples if sample.latency_mean_ns) / total(
        samples
    )
    assert felt_ns == pytest.approx(told["lat_ns"]["mean"], rel=0.001)
    assert felt_ns > 2 * told["clat_ns"]["mean"]


def test_direct_io_is_left_out_where_it_is_refused(fio: Fio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.device.file.does_direct_io", lambda _: False)
    target = arena(file_medium(tmp_path / "target"), fio, tmp_path)
    assert "page cache" in target.identity.details["note_direct_io"]
    assert total(play(target, WRITE)[0]) > 0
    assert "direct=0" in (tmp_path / "run/raw/step/job.fio").read_text()


def test_a_reading_step_needs_no_consent_and_changes_nothing(fio: Fio, tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.write_bytes(b"thesis" * 100_000)
    before = path.stat()
    target = arena(FileMedium(str(path), run=tmp_path / "run"), fio, tmp_path)
    samples, error = play(target, "rw=read\nbs=4k\n")
    assert error is None
    assert total(samples) == path.stat().st_size // 4096
    assert "--readonly" in (tmp_path / "run/raw/step/command.txt").read_text()
    with pytest.raises(RefusedError, match="holds data"):
        target.check(WRITE)
    with pytest.raises(RefusedError, match="holds data"):
        target.start("step", WRITE, INTERVAL_NS)
    target.close()
    assert path.read_bytes() == b"thesis" * 100_000
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert not (tmp_path / "thesis.shakedown").exists()


def test_written_data_is_verified(fio: Fio, tmp_path: Path) -> None:
    target = arena(file_medium(tmp_path / "target", 4 * MIB), fio, tmp_path)
    samples, error = play(target, "rw=write\nbs=64k\nverify=crc32c\n")
    assert error is None
    assert {sample.direction: 0 for sample in samples}.keys() == {"read", "write"}
    assert sum(sample.count for sample in samples if sample.direction == "read") == 64


def test_fio_itself_refuses_what_it_does_not_understand(fio: Fio, tmp_path: Path) -> None:
    target = arena(file_medium(tmp_path / "target"), fio, tmp_path)
    with pytest.raises(UsageError, match="failed parsing bs=zz"):
        target.check("rw=read\nbs=zz\n")
    with pytest.raises(UsageError, match="filename"):
        target.check("rw=read\nfilename=/dev/sda\n")


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    return tmp_path / "s.sock"


@pytest.fixture
def export(socket_path: Path) -> Iterator[Export]:
    """Claims the server until the test ends and no longer: the next one's socket may have the same inode."""
    with ExitStack() as claims:

        def claim(path: Path = socket_path, *, consent: tuple[str, ...] = ()) -> NbdMedium:
            medium = NbdMedium(f"nbd+unix://{path}", consent=consent)
            claims.callback(medium.close)
            return medium

        yield claim


def test_a_modelled_export_is_written_through_a_real_socket(
    fio: Fio, tmp_path: Path, socket_path: Path, export: Export
) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}wd40efax", delay_s=lambda _v, _n: 0.004)
    target = arena(export(), fio, tmp_path)
    assert (target.identity.kind, target.identity.model) == ("nbd", "wd40efax")
    assert target.identity.capacity_bytes == 64 * MIB
    samples, error = play(target, "rw=randwrite\nbs=4k\niodepth=1\ntime_based\nruntime=1s\n")
    server.close()
    assert error is None
    assert set(server.requests) <= {1, 3}
    medians = [sample.latency_p50_ns for sample in samples if sample.latency_p50_ns]
    assert min(medians) > 4e6
    # However busy the machine is, some second of it is not: there the delay is nearly all.
    assert min(medians) < 8e6


def test_a_stall_is_one_long_row_with_its_true_length(
    fio: Fio, tmp_path: Path, socket_path: Path, export: Export
) -> None:
    """A job thread that waits for an I/O holds fio's document up: the row says so instead of hiding it."""
    server = NbdServer(
        socket_path, description=f"{MODELLED_PREFIX}x", delay_s=lambda _v, number: 1.5 if number == 100 else 0.005
    )
    target = arena(export(), fio, tmp_path)
    samples, error = play(target, "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=200\n")
    server.close()
    assert error is None
    assert total(samples) == 200
    longest = max(samples, key=lambda sample: sample.duration_ns)
    # What a busy machine adds is within the request's own latency, so it is within the row's length too.
    assert longest.latency_max_ns is not None
    assert longest.latency_max_ns >= 1.5e9
    assert 0 <= longest.duration_ns - longest.latency_max_ns < 2 * INTERVAL_NS
    assert [sample for sample in samples if (sample.latency_max_ns or 0) > 1.4e9] == [longest]


def test_what_is_in_flight_when_a_load_is_stopped_counts(
    fio: Fio, tmp_path: Path, socket_path: Path, export: Export
) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x", delay_s=lambda _v, _n: 0.3)
    target = arena(export(), fio, tmp_path)
    with target.start("step", "rw=randwrite\nbs=4k\niodepth=8\ntime_based\nruntime=1d\n", INTERVAL_NS) as load:
        batches = iter(load)
        samples = next(batch for batch in batches if batch and total(batch))
        load.stop()
        late = [sample for batch in batches for sample in batch]
    server.close()
    assert total(samples) + total(late) == server.requests.count(1)
    assert total(late) >= 8
    # The server takes one after the other: the last of eight waits for all before it.
    assert max(sample.latency_max_ns or 0 for sample in late) > 2e9


def test_an_io_error_of_the_target_is_recorded_not_raised(
    fio: Fio, tmp_path: Path, socket_path: Path, export: Export
) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x", fail_at=20)
    target = arena(export(), fio, tmp_path)
    samples, error = play(target, "rw=randwrite\nbs=4k\niodepth=1\ntime_based\nruntime=5s\n")
    target.close()
    server.close()
    assert error is not None
    assert "Input/output error" in error
    assert total(samples) >= 18


def test_a_foreign_export_needs_consent(fio: Fio, tmp_path: Path, socket_path: Path, export: Export) -> None:
    server = NbdServer(socket_path, description="the company's books")
    uri = f"nbd+unix://{socket_path}"
    for consent in ((), (str(socket_path),), (f"{uri}x",)):
        target = arena(export(consent=consent), fio, tmp_path)
        with pytest.raises(RefusedError) as caught:
            target.check(WRITE)
        assert f"--destroy-data-on '{uri}'" in caught.value.hint
        target.close()
    target = arena(export(consent=(uri,)), fio, tmp_path)
    target.check(WRITE)
    target.close()
    assert total(play(arena(export(), fio, tmp_path), "rw=read\nbs=1m\nsize=8m\n")[0]) == 8
    assert set(server.requests) == {0}
    server.close()


def test_a_second_run_on_the_same_server_is_refused_until_the_first_has_ended(
    socket_path: Path, export: Export
) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x")
    other_name = socket_path.with_name("other.sock")
    other_name.symlink_to(socket_path)
    first = export()
    for name in (socket_path, other_name):
        with pytest.raises(RefusedError, match="another run of Shakedown is using the server"):
            export(name)
    first.close()
    export(other_name).close()
    server.close()


def test_a_run_whose_server_is_gone_keeps_nobody_from_another_that_got_its_inode(
    socket_path: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"
        "print(flush=True); input()"
    )
    argv = [sys.executable, "-c", listen, str(socket_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as gone:
        assert gone.stdout is not None
        gone.stdout.readline()
        left_behind, status = Claim(str(socket_path)), socket_path.stat()
        gone.kill()
    socket_path.unlink()
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x")
    # Whether it gets the same inode is for the file system to choose.
    monkeypatch.setattr("shakedown.device.claim.Path.stat", lambda _path: status)
    export()
    with pytest.raises(RefusedError, match="another run of Shakedown is using the server"):
        Claim(str(socket_path))
    left_behind.release()
    server.close()


def test_what_serve_says_of_its_export_is_understood(socket_path: Path, export: Export) -> None:
    server = NbdServer(socket_path, description=modelled_description("A drive, scale 1/7", 100, 3))
    medium = export()
    assert medium.identity.details["modelled"] == "yes"
    assert medium.identity.details["scale_divisor"] == "100"
    medium.close()
    server.close()


def test_an_export_that_changed_hands_is_refused(fio: Fio, tmp_path: Path, socket_path: Path, export: Export) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x")
    target = arena(export(), fio, tmp_path)
    target.check(WRITE)
    server.description = "the company's books"
    with pytest.raises(RefusedError, match="another export"):
        target.start("step", WRITE, INTERVAL_NS)
    server.close()


def test_an_export_for_reading_only_is_not_written(fio: Fio, tmp_path: Path, socket_path: Path, export: Export) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x", flags=3)
    with pytest.raises(UsageError, match="reading only"):
        arena(export(), fio, tmp_path).check(WRITE)
    server.close()


def test_a_fio_without_the_engine_says_what_to_install(
    fio: Fio, tmp_path: Path, socket_path: Path, export: Export
) -> None:
    server = NbdServer(socket_path)
    with pytest.raises(EnvironmentFailure, match="no I/O engine `nbd`") as caught:
        arena(export(), replace(fio, engines=frozenset({"libaio"})), tmp_path)
    assert "libnbd" in caught.value.hint
    server.close()


def test_the_stream_of_documents_survives_a_kill(fio: Fio, tmp_path: Path) -> None:
    """Only whole documents count, but those are there although nobody closed the file."""
    target = arena(file_medium(tmp_path / "target"), fio, tmp_path)
    with target.start("step", WRITE.replace("runtime=600ms", "runtime=9s"), 20_000_000) as load:
        for number, _ in enumerate(load):
            if number == 60:
                data = (tmp_path / "run/raw/step/status.jsonl.gz").read_bytes()
                load.stop()
    lines = zlib.decompressobj(31).decompress(data).decode().splitlines()
    assert len([json.loads(line) for line in lines[:-1]]) >= 10


def test_a_job_that_pauses_is_not_taken_for_hung(fio: Fio, tmp_path: Path) -> None:
    impatient = Patience(silence_ns=2_000_000_000)
    target = DeviceArena(file_medium(tmp_path / "target"), fio, tmp_path / "run" / "raw", impatient)
    samples, error = play(target, "rw=randread\nbs=4k\nnumber_ios=2\nthinktime=4s\n")
    assert error is None
    assert total(samples) == 2


def test_a_time_that_fio_would_misread_is_refused(fio: Fio, tmp_path: Path) -> None:
    target = arena(file_medium(tmp_path / "target"), fio, tmp_path)
    with pytest.raises(UsageError, match="thinktime=15min: `15min` has no unit of time that fio knows"):
        target.check("rw=read\nbs=4k\nthinktime=15min\n")
    target.check("rw=read\nbs=4k\nthinktime=15m\nstartdelay=1-3\n")


def test_a_server_that_is_gone_is_no_error_of_its_drive(
    fio: Fio, tmp_path: Path, socket_path: Path, export: Export
) -> None:
    server = NbdServer(socket_path, description=f"{MODELLED_PREFIX}x", fail_at=50)
    target = arena(export(), fio, tmp_path)
    with (
        pytest.raises(EnvironmentFailure, match="no NBD server answers"),
        target.start("step", WRITE, INTERVAL_NS) as load,
    ):
        for _ in load:
            server.close()
            socket_path.unlink(missing_ok=True)
