"""Profiles made of data sheets: those that come with Shakedown are what the list says, and the sheet's figures hold."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from shakedown import Drive
from shakedown.analysis.identify.models import parse_models
from shakedown.data import list_profiles, profile_path, reference_path
from shakedown.errors import UsageError
from shakedown.reference import origins, rows_in
from shakedown.target.data_sheet import DataSheet, edge_of, listed_sheets, profile_of, rated_bytes
from shakedown.target.modelled import is_shingled
from shakedown.target.overview import Overview, overview, shingles_like
from shakedown.target.profile import read_profile
from shakedown.toml import parse_toml

SHEETS = listed_sheets()
MODELS = parse_models(reference_path("smr_models.csv").read_text(encoding="utf-8"))
TYPED = DataSheet(
    name="mine",
    title="mine",
    capacity_bytes=rated_bytes(8 * 10**12),
    rpm=7200,
    outer_bytes_per_s=210_000_000,
    source="data sheet: typed",
    rate_source="data sheet: typed",
)


def overview_of(name: str) -> Overview:
    """Of a profile that comes with Shakedown."""
    return overview(read_profile(profile_path(name)))


@pytest.mark.parametrize("name", SHEETS)
def test_a_profile_is_made_of_its_row(name: str) -> None:
    """A row, a rule or the drive that it is like has changed: `make profiles`."""
    assert profile_path(name).read_text(encoding="utf-8") == profile_of(SHEETS[name])


@pytest.mark.parametrize("name", SHEETS)
def test_it_reads_at_the_edge_as_fast_as_its_sheet_or_its_self_test_says(name: str) -> None:
    """From the 64th answer on, when the heads have long arrived."""
    ended_ns = Drive.load(name, seed=1).run("rw=read\nbs=1m\niodepth=4\nsize=1g")["completed_ns"].to_list()[64:]
    rate = (len(ended_ns) - 1) * 2**20 / (ended_ns[-1] - ended_ns[0]) * 1e9
    assert rate == pytest.approx(edge_of(SHEETS[name]).bytes_per_s, rel=0.01)


@pytest.mark.parametrize("name", list_profiles())
def test_the_list_of_models_and_the_profiles_say_the_same_of_shingles(name: str) -> None:
    match = MODELS.find(parse_toml(profile_path(name).read_text(encoding="utf-8"))["identity"]["model"]["value"])
    shingled = is_shingled(profile_path(name).read_text(encoding="utf-8"))
    if name in SHEETS:
        assert match is not None, "a drive that comes with Shakedown stands in reference/smr_models.csv"
    if match is not None:
        assert match.technology == ("DM-SMR" if shingled else "CMR")


@pytest.mark.parametrize("name", SHEETS)
def test_what_is_taken_of_another_drive_is_no_measurement_of_this(name: str) -> None:
    found = dict(origins(parse_toml(profile_path(name).read_text(encoding="utf-8"))))
    advised = found.pop("geometry.outer_track_bytes") if overview_of(name).rate_from == "self-test" else ""
    assert list(rows_in(advised)) == list(rows_in(SHEETS[name].self_test_source if advised else ""))
    assert [key for key, origin in found.items() if not origin.startswith(("data sheet ", "assumed: "))] == []
    assert [row for origin in found.values() for row in rows_in(origin)] == []


@pytest.mark.parametrize(
    ("told_tb", "capacity_bytes"),
    # As smartctl shows them of drives that were sold.
    [
        (1, 1_000_204_886_016),
        (2, 2_000_398_934_016),
        (3, 3_000_592_982_016),
        (4, 4_000_787_030_016),
        (6, 6_001_175_126_016),
        (8, 8_001_563_222_016),
        (10, 10_000_831_348_736),
        (12, 12_000_138_625_024),
        (14, 14_000_519_643_136),
        (16, 16_000_900_661_248),
        (18, 18_000_207_937_536),
        (20, 20_000_588_955_648),
    ],
)
def test_a_drive_has_the_sectors_that_vendors_have_agreed_on(told_tb: int, capacity_bytes: int) -> None:
    assert rated_bytes(told_tb * 10**12) == capacity_bytes


def test_a_size_that_no_vendor_sells_is_taken_as_it_is() -> None:
    assert rated_bytes(8_001_563_222_016) == 8_001_563_222_016
    assert rated_bytes(5 * 2**40 + 1) == 5 * 2**40


def test_what_the_sheet_says_is_in_the_profile() -> None:
    sheet = replace(TYPED, cache_bytes=512 << 20, seek_ms=7.5, heads=9)
    table = parse_toml(profile_of(sheet))
    assert table["geometry"]["heads"]["value"] == 9
    assert table["mechanics"]["seek_average_ms"]["value"] == 7.5
    assert table["dram"]["write_bytes"]["value"] == 192 << 20
    found = overview(profile_of(sheet))
    assert (found.shingled, found.rate_from, found.shingles) == (False, "data sheet", "")
    assert found.outer_bytes_per_s == pytest.approx(210e6, rel=0.002)
    Drive.from_toml(profile_of(sheet), seed=1)


@pytest.mark.parametrize("shingles", [name for name in list_profiles() if overview_of(name).shingled])
@pytest.mark.parametrize("rpm", [5400, 7200])
def test_any_known_drive_lends_its_shingles(shingles: str, rpm: int) -> None:
    profile = profile_of(replace(TYPED, rpm=rpm, shingles_like=shingles))
    assert shingles_like(profile) == shingles
    drive = Drive.from_toml(profile, seed=1)
    assert drive.run("rw=randwrite\nbs=64k\nnumber_ios=100").height == 100


def test_a_drive_without_shingles_lends_none() -> None:
    with pytest.raises(UsageError, match="`wd40efrx` does not shingle"):
        profile_of(replace(TYPED, shingles_like="wd40efrx"))
    with pytest.raises(UsageError, match="no profile named `wd40efxx`"):
        profile_of(replace(TYPED, like="wd40efxx"))


def test_a_usb_bridge_is_not_inherited() -> None:
    table = parse_toml(profile_of(replace(TYPED, like="backup-plus-slim-2tb", shingles_like="backup-plus-slim-2tb")))
    assert table["interface"]["rate_mb_s"]["value"] == 550


def test_how_sure_a_profile_is() -> None:
    assert overview_of("st8000dm004").shingles == "ASSUMED as st8000as0002"
    assert re.fullmatch(r"\d\d% measured", overview_of("st8000as0002").shingles)
    assert overview_of("wd80efbx").rate_from == "remembered"
    assert overview_of("st8000vn004").rate_from == "self-test"
    assert overview_of("st12000vn0007").rate_from == "measured"


def test_the_documents_say_how_many_rates_were_looked_up() -> None:
    told = [overview_of(name).rate_from for name in SHEETS]
    asked, looked_up, remembered = (told.count(kind) for kind in ("self-test", "data sheet", "remembered"))
    assert asked + looked_up + remembered == len(SHEETS)
    documents = Path(__file__).parents[2]
    said = " ".join((documents / "docs" / "profiles.md").read_text(encoding="utf-8").split())
    assert f"{asked} drives have the rate with which reading all of it takes as long" in said
    assert f"for {looked_up}, as the list says; for {remembered} it is remembered of the data sheet" in said
    assert asked == 11, "the README says eleven"


def test_a_drive_that_advises_less_than_its_sheet_allows_is_faster_than_its_sheet() -> None:
    """By hand: 8,001,563,222,016 bytes in 701 min are 190.2 MB/s, three quarters of 253.7."""
    advised = replace(TYPED, self_test_s=701 * 60, self_test_source="published R484")
    assert edge_of(advised).bytes_per_s == pytest.approx(253.66e6, rel=1e-4)
    assert edge_of(replace(advised, outer_bytes_per_s=None)).bytes_per_s == edge_of(advised).bytes_per_s
    assert edge_of(replace(advised, self_test_s=900 * 60)).bytes_per_s == 210e6, "there is a reserve in that"
    assert overview(profile_of(advised)).rate_from == "self-test"
    with pytest.raises(UsageError, match="how fast does it read"):
        edge_of(replace(TYPED, outer_bytes_per_s=None))


def test_all_of_it_is_read_in_what_the_drive_advises() -> None:
    drive = Drive.load("st8000vn004", seed=1)
    read_ns = drive.run("rw=read\nbs=16m\niodepth=2")["completed_ns"].to_list()[-1]
    assert read_ns / 60e9 == pytest.approx(701, rel=0.01)
