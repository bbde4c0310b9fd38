import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.tools.zpool_status import (
    Scan,
    parse_took_s,
    parse_zfs_size_bytes,
    parse_zpool_status,
    parse_zpool_status_json,
)

TIB, GIB = 2**40, 2**30


def status(scan: str, key: str = "scan") -> str:
    config = "config:\n\n\tNAME  STATE READ WRITE CKSUM\n\ttank  ONLINE 0 0 0\n"
    return f"  pool: tank\n state: DEGRADED\n  {key}: {scan}\n{config}"


SINCE = "in progress since Sun Apr 12 18:30:46 2020"
COUNTED = "2T scanned at 2.67G/s, 1.25T issued at 2.25G/s, 5T total"
SLASHED = "2T / 5T scanned at 2.67G/s, 1.25T / 5T issued at 2.25G/s"
MOVED = "215G resilvered, 24.06% done"
RUNNING = {
    "0.6": f"resilver {SINCE}\n    1.25T scanned out of 5T at 109M/s, 10h54m to go\n    {MOVED}",
    "0.8": f"resilver {SINCE}\n\t{COUNTED}\n\t{MOVED}, 0 days 10:54:00 to go",
    "2.1": f"resilver {SINCE}\n\t{COUNTED}\n\t{MOVED}, 10:54:00 to go",
    "2.2": f"resilver {SINCE}\n\t{SLASHED}\n\t{MOVED}, 10:54:00 to go",
    "dRAID": f"resilver (draid2:4d:9c:1s-0) {SINCE}\n\t{SLASHED}\n\t{MOVED}, 10:54:00 to go",
}


@pytest.mark.parametrize("release", RUNNING)
def test_a_resilver_on_the_way(release: str) -> None:
    expected = Scan("resilver", "running", 5 * TIB // 4, 5 * TIB, 215 * GIB, (10 * 60 + 54) * 60)
    assert parse_zpool_status(status(RUNNING[release]), "tank") == expected


def test_without_an_estimate() -> None:
    text = RUNNING["2.1"].replace("10:54:00 to go", "no estimated completion time")
    assert parse_zpool_status(status(text), "tank").finish_s is None


@pytest.mark.parametrize(
    ("words", "took_s", "resilvered"),
    [
        ("resilvered 24G in 0h12m with 0 errors on Mon Sep  7 16:25:42 2015", 720, 24 * GIB),
        ("resilvered 24G in 0 days 00:12:44 with 0 errors on Sun Apr 12 18:33:30 2020", 764, 24 * GIB),
        ("resilvered 24G in 00:12:44 with 0 errors on Sun Apr 12 18:33:30 2020", 764, 24 * GIB),
        ("resilvered 24G in 9 days 01:02:03 with 0 errors on Sun Apr 12 18:33:30 2020", 781323, 24 * GIB),
        ("resilvered (mirror-0) 24G in 00:12:44 with 0 errors on Sun Apr 12 18:33:30 2020", 764, 24 * GIB),
        ("resilver completed after 0h12m with 0 errors on Mon Sep  7 16:25:42 2010", 720, None),
    ],
)
def test_a_resilver_that_is_done(words: str, took_s: int, resilvered: int | None) -> None:
    expected = Scan("resilver", "done", resilvered_bytes=resilvered, took_s=took_s, errors=0)
    assert parse_zpool_status(status(words), "tank") == expected


def test_two_resilvers_of_one_length_are_two() -> None:
    words = "resilvered 24G in 00:00:03 with 0 errors on Sun Apr 12 18:33:30 2020"
    first, second = (
        parse_zpool_status(status(each), "tank") for each in (words, words.replace("18:33:30", "18:44:30"))
    )
    assert first == second
    assert not first.is_same(second)
    assert first.is_same(first)


def test_zfs_fuse_tells_the_share_alone() -> None:
    text = status("resilver in progress for 0h1m, 27.50% done, 0h3m to go", "scrub")
    scan = parse_zpool_status(text, "tank")
    assert (scan.state, scan.issued_bytes, scan.share, scan.finish_s) == ("running", None, 0.275, 180)


def test_a_sequential_resilver_is_over_when_its_scrub_begins() -> None:
    text = status(
        "scrub in progress since Sun Apr 12 18:33:30 2020\n"
        "\t415M / 415M scanned, 12.1M / 415M issued at 12.1M/s\n"
        "\t0B repaired, 2.92% done, 00:00:33 to go\n"
        "  scan: resilvered (mirror-0) 415M in 00:01:06 with 0 errors on Sun Apr 12 18:33:30 2020"
    )
    expected = Scan("resilver", "done", resilvered_bytes=415 << 20, took_s=66, errors=0)
    assert parse_zpool_status(text, "tank") == expected


def test_scrubs_and_pools_are_told_apart() -> None:
    scrub = "scrub repaired 0B in 00:00:01 with 2 errors on Sun Apr 12 18:33:30 2020"
    text = status(scrub).replace("tank", "tank2") + status("none requested")
    assert parse_zpool_status(text, "tank2") == Scan("scrub", "done", resilvered_bytes=0, took_s=1, errors=2)
    assert parse_zpool_status(text, "tank") == Scan()
    assert parse_zpool_status(text, "other") == Scan()


DOCUMENT = {
    "output_version": {"command": "zpool status", "vers_major": 0, "vers_minor": 1},
    "pools": {
        "tank": {
            "name": "tank",
            "scan_stats": {
                "function": "RESILVER",
                "state": "FINISHED",
                "start_time": 1000,
                "end_time": 1764,
                "to_examine": 5 * TIB,
                "examined": 5 * TIB,
                "processed": 24 * GIB,
                "errors": 0,
                "issued": 5 * TIB,
            },
        }
    },
}


def test_the_document_says_the_same() -> None:
    expected = Scan("resilver", "done", 5 * TIB, 5 * TIB, 24 * GIB, None, 764, 0)
    assert parse_zpool_status_json(json.dumps(DOCUMENT), "tank", 2000) == expected
    assert parse_zpool_status_json(json.dumps(DOCUMENT), "other", 2000) == Scan()


@pytest.mark.parametrize(
    ("text", "took_s"), [("1d2h3m4s", 93_784), ("2d", 172_800), ("1 days 02:03:04", 93_784), ("0h12m", 720)]
)
def test_a_duration_in_letters_is_that_in_colons(text: str, took_s: int) -> None:
    assert parse_took_s(text) == took_s


def test_sizes_of_every_unit() -> None:
    for power, unit in enumerate("BKMGTPE"):
        assert parse_zfs_size_bytes(f"1.5{unit}") == round(1.5 * 1024**power)


@pytest.mark.parametrize("text", ["", "x", "1:2", "12:34", "-1:00:00", "0h12", "1 day"])
def test_no_duration(text: str) -> None:
    assert parse_took_s(text) is None


@given(st.text(), st.text())
def test_any_text_is_read_without_a_complaint(text: str, pool: str) -> None:
    parse_zpool_status(text, pool)
    parse_zpool_status_json(text, pool, 2000)


@given(st.sampled_from(sorted(RUNNING)), st.data())
def test_a_damaged_one_too(release: str, data: st.DataObject) -> None:
    text = status(RUNNING[release])
    cut = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.text(st.sampled_from("0123456789.TGM/,: \n"), max_size=20))
    parse_zpool_status(text[:cut] + noise + text[cut + data.draw(st.integers(0, 40)) :], "tank")


def running(**changes: object) -> str:
    """A resilver of 2.3 on the way, as ``--json --json-int`` tells it."""
    stats = {
        "function": "RESILVER",
        "state": "SCANNING",
        "start_time": 1000,
        "end_time": 0,
        "to_examine": 5 * TIB,
        "examined": 2 * TIB,
        "skipped": 0,
        "processed": 215 * GIB,
        "errors": 0,
        "bytes_per_scan": 2 * TIB,
        "pass_start": 1000,
        "scrub_pause": 0,
        "scrub_spent_paused": 0,
        "issued_bytes_per_scan": 1 * TIB,
        "issued": 1 * TIB,
    }
    return json.dumps({"pools": {"tank": {"name": "tank", "scan_stats": stats | changes}}})


def test_the_estimate_of_the_document_is_that_of_the_text() -> None:
    expected = Scan("resilver", "running", 1 * TIB, 5 * TIB, 215 * GIB, 4000, errors=0)
    assert parse_zpool_status_json(running(), "tank", 2000) == expected
    one_left = parse_zpool_status_json(running(skipped=3 * TIB), "tank", 2000)
    assert (one_left.total_bytes, one_left.finish_s) == (2 * TIB, 1000)
    assert parse_zpool_status_json(running(scrub_spent_paused=500), "tank", 2000).finish_s == 2000


@pytest.mark.parametrize(
    ("changes", "now_s"),
    [
        ({"issued_bytes_per_scan": 9 << 20}, 1001),  # too slow to tell
        ({"issued": 6 * TIB}, 2000),
        ({"issued": 5 * TIB}, 2000),  # nothing left, and yet it goes on
        ({"pass_start": None}, 2000),
        ({"issued_bytes_per_scan": "1T"}, 2000),
    ],
)
def test_a_document_without_an_estimate(changes: dict[str, object], now_s: int) -> None:
    scan = parse_zpool_status_json(running(**changes), "tank", now_s)
    assert (scan.state, scan.finish_s) == ("running", None)


def test_a_clock_that_was_set_back_makes_a_pass_of_a_second() -> None:
    assert parse_zpool_status_json(running(pass_start=3000), "tank", 1000).finish_s == 4


def test_an_estimate_begins_at_ten_mebibytes_a_second() -> None:
    least = 10 << 20
    document = [running(issued_bytes_per_scan=moved) for moved in (least - 1, least)]
    assert [parse_zpool_status_json(each, "tank", 1001).finish_s for each in document] == [None, 4 * TIB // least]


def test_nothing_left_of_what_goes_on_is_no_estimate() -> None:
    """As of a resilver of a second."""
    for text in ("0 days 00:00:00 to go", "00:00:00 to go", "0h0m to go"):
        assert parse_zpool_status(status(RUNNING["2.1"].replace("10:54:00 to go", text)), "tank").finish_s is None


KEYS = st.sampled_from(list(json.loads(running())["pools"]["tank"]["scan_stats"]))
DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(KEYS, each), max_leaves=6
)


@given(DOCUMENTS)
def test_any_document_too(stats: object) -> None:
    parse_zpool_status_json(json.dumps({"pools": {"tank": {"scan_stats": stats}}}), "tank", 2000)


@given(KEYS, DOCUMENTS, st.integers(-(2**70), 2**70))
def test_a_running_one_with_something_else_in_it_too(key: str, value: object, now_s: int) -> None:
    scan = parse_zpool_status_json(running(**{key: value}), "tank", now_s)
    assert scan.finish_s is None or scan.finish_s > 0


@given(st.integers(0, 900), st.text(st.sampled_from('0123456789{}[]",: '), max_size=20), st.integers(0, 40))
def test_a_damaged_document_too(cut: int, noise: str, lost: int) -> None:
    text = running()
    parse_zpool_status_json(text[:cut] + noise + text[cut + lost :], "tank", 2000)
