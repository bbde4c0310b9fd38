import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.tools.zpool_status import Scan, parse_took_s, parse_zpool_status, parse_zpool_status_json

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
    assert parse_zpool_status_json(json.dumps(DOCUMENT), "tank") == expected
    assert parse_zpool_status_json(json.dumps(DOCUMENT), "other") == Scan()


@pytest.mark.parametrize("text", ["", "x", "1:2", "12:34", "-1:00:00", "0h12", "1 day"])
def test_no_duration(text: str) -> None:
    assert parse_took_s(text) is None


@given(st.text(), st.text())
def test_any_text_is_read_without_a_complaint(text: str, pool: str) -> None:
    parse_zpool_status(text, pool)
    parse_zpool_status_json(text, pool)


@given(st.sampled_from(sorted(RUNNING)), st.data())
def test_a_damaged_one_too(release: str, data: st.DataObject) -> None:
    text = status(RUNNING[release])
    cut = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.text(st.sampled_from("0123456789.TGM/,: \n"), max_size=20))
    parse_zpool_status(text[:cut] + noise + text[cut + data.draw(st.integers(0, 40)) :], "tank")


KEYS = st.sampled_from(["function", "state", "start_time", "issued"])
DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(KEYS, each), max_leaves=6
)


@given(DOCUMENTS)
def test_any_document_too(stats: object) -> None:
    parse_zpool_status_json(json.dumps({"pools": {"tank": {"scan_stats": stats}}}), "tank")
