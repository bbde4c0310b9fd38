import pytest

from shakedown.errors import UsageError
from shakedown.tools.fio.job import parse_fio_bytes, parse_job


def test_a_job_without_a_header_is_one_job_named_after_the_step() -> None:
    (section,) = parse_job("rw=randwrite\nbs=4k ; small\n# talk\ntime_based\n", "collapse")
    assert section.name == "collapse"
    assert [str(option) for option in section.options] == ["rw=randwrite", "bs=4k", "time_based"]


def test_globals_count_for_the_sections_below_them() -> None:
    first, second = parse_job("[global]\nbs=4k\n[a]\nrw=read\n[global]\nbs=8k\n[b]\nstonewall\nREADWRITE=write\n", "x")
    assert (first.last("bs"), first.directions) == ("4k", ("read",))
    assert (second.last("bs"), second.directions) == ("8k", ("write",))


@pytest.mark.parametrize(
    ("lines", "directions"),
    [
        ("bs=4k", ("read",)),
        ("rw=randrw:8", ("read", "write")),
        ("rw=write\nverify=crc32c", ("read", "write")),
        ("rw=write\nverify=crc32c\ndo_verify=0", ("write",)),
        ("rw=trimwrite", ("write", "trim")),
    ],
)
def test_directions(lines: str, directions: tuple[str, ...]) -> None:
    assert parse_job(lines, "x")[0].directions == directions


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "[a]\n[b]\n", "[a/../b]\nrw=read", "[a\nrw=read", "[]\nrw=read"])
def test_what_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_job(text, "x")


def test_a_pattern_that_fio_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="rw=sideways"):
        _ = parse_job("rw=sideways", "x")[0].directions


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("4096", 4096), ("4k", 4096), ("4K", 4096), ("4kb", 4096), ("4KiB", 4000), ("1g", 1 << 30), ("50%", 500)],
)
def test_sizes_follow_fio(text: str, size_bytes: int) -> None:
    assert parse_fio_bytes(text, 1000) == size_bytes


@pytest.mark.parametrize("text", ["", "k", "-4k", "4x", "4 k", "0xzz", "½"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_fio_bytes(text, 1000)
