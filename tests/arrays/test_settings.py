"""``--set NAME=VALUE`` of arrays and pools: what is out of range is refused by the name of the option."""

from __future__ import annotations

from typing import Any

import pytest

from shakedown.array.like_lab import like_lab
from shakedown.array.order import RebuildOrder, check_order
from shakedown.array.settings import parse_options, refuse_of_models, told_options
from shakedown.errors import UsageError
from shakedown.target.md_options import MdOptions

HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    ("layout", "text", "says"),
    [
        *(("raid5", f"hz={value}", "24 to 1200") for value in ("-1", "0", HUGE)),
        *(("raid5", f"processors={value}", "1 to 8192") for value in ("-1", "0", HUGE)),
        *(("raid5", f"segments={value}", "1 to 65535") for value in ("-1", "0", HUGE)),
        *(("raid5", f"stripe-cache={value}", "17 to 32768") for value in ("-1", "16", HUGE)),
        *(("raid5", f"stripe-cache-most={value}", "17 to ") for value in ("-1", HUGE)),
        *(("raid5", f"max-request={value}", "4.0 KiB or more") for value in ("0", "1B", "4095")),
        *(("raidz1", f"cores={value}", "1 to 8192") for value in ("-1", "0", HUGE)),
        *(("raidz1", f"run={value}", "1 to ") for value in ("-1", "0", "18446744073709551616")),
        *(("raidz1", f"ashift={value}", "9 to 16") for value in ("-1", HUGE)),
        *(("draid1", f"spare={value}", "0 to 99") for value in ("-1", HUGE)),
        *(("raidz1", f"memory={value}", "128.0 MiB or more") for value in ("0", "1B")),
        *(("raidz1", f"cache={value}", "64.0 MiB or more") for value in ("0", "1B")),
        ("raidz1", "core-rate=0", "1.0 MiB or more"),
        *(("raidz1", f"file={value}", "1 B or more") for value in ("0", "0TiB")),
        ("raidz1", f"second-failure={HUGE}@2h", "0 to 254"),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_range(layout: str, text: str, says: str) -> None:
    with pytest.raises(UsageError, match="is out of range: ") as refusal:
        parse_options(layout, [text])
    assert f"`{text}` is out of range: {says}" in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.parametrize("layout", ["raid5", "raidz1", "draid1"])
def test_which_drive_fails_is_not_chosen(layout: str) -> None:
    with pytest.raises(UsageError, match=r"`--set lost=1`: the drive that fails is the last") as refusal:
        parse_options(layout, ["lost=1"])
    assert "`rebuild --replace PLACE`" in refusal.value.hint


@pytest.mark.parametrize("copies", ["n1", "f1", "o1"])
def test_one_copy_is_no_redundancy(copies: str) -> None:
    with pytest.raises(UsageError, match="no redundancy") as refusal:
        parse_options("raid10", [f"copies={copies}"])
    assert refusal.value.hint


def test_what_a_pool_of_groups_has_is_a_number_of_drives() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        parse_options("draid1", [f"draid={HUGE}d:1s"])


@pytest.mark.parametrize(
    ("layout", "setting"),
    [
        *(
            ("raid5", text)
            for text in ("hz=100", "segments=254", "processors=1", "stripe-cache-most=512", "ext4-journal=1GiB")
        ),
        ("raid5", "max-request=64KiB"),
        *(("raidz1", text) for text in ("cores=1", "core-rate=500MiB", "cache=1GiB", "second-failure=1@2h")),
        ("raidz1", "order=blocks"),
        ("raidz1", "memory=1GiB"),
    ],
)
def test_what_a_real_array_would_not_heed_is_refused(layout: str, setting: str) -> None:
    with pytest.raises(UsageError, match=f"`--set {setting.partition('=')[0]}=.* is of modelled arrays") as refusal:
        refuse_of_models(parse_options(layout, [setting]), is_lab=False)
    assert refusal.value.hint


def test_what_a_real_array_heeds_is_not() -> None:
    md = parse_options("raid6", ["chunk=64KiB", "stripe-cache=4096", "speed-max=1GiB", "bitmap=yes", "rmw=no"])
    refuse_of_models(md, is_lab=False)
    refuse_of_models(parse_options("mirror", ["recordsize=1MiB", "order=sequential", "run=8"]), is_lab=False)
    refuse_of_models(parse_options("mirror", ["memory=1GiB"]), is_lab=True)


@pytest.mark.parametrize(
    ("layout", "setting"),
    [
        *(("raid1", text) for text in ("chunk=64KiB", "stripe-cache=512", "stripe-cache-most=512", "rmw=no")),
        *(("raid10", text) for text in ("stripe-cache=512", "rmw=yes", "rotation=left-symmetric")),
        ("raid5", "copies=n2"),
        *((layout, "draid=2d:0s") for layout in ("mirror", "raidz1")),
        ("raidz1", "spare=0"),
    ],
)
def test_what_a_layout_does_not_have_is_refused(layout: str, setting: str) -> None:
    for target in ("model:st4000vn008", "lab:st4000vn008"):
        with pytest.raises(UsageError, match=f"{layout} has no `{setting.partition('=')[0]}` to set") as refused:
            check_order(RebuildOrder(layout, (target,) * 4, target, options=parse_options(layout, [setting])))
        assert "leave it out; " in refused.value.hint


@pytest.mark.parametrize(
    ("layout", "settings"),
    [
        ("raid5", (*like_lab("raid5"), "ext4-journal=1GiB")),
        ("raid1", ("ext4-journal=1GiB", "ext4-mounted=61.6s")),
        ("raid10", ("chunk=64KiB", "copies=o2", "bitmap=yes")),
        ("raid5", ("speed-min=0",)),
        ("raidz1", ("file=auto",)),
        ("raidz1", ("file=6MiB",)),
        ("raid6", ("stripe-cache=512", "rmw=no", "speed-max=1GiB", "command-timeout=180s")),
        (
            "draid1",
            ("recordsize=1MiB", "draid=8d:1s", "order=sequential", "second-failure=3@2h", "command-timeout=60s"),
        ),
    ],
)
def test_what_is_set_is_told_as_it_was_typed(layout: str, settings: tuple[str, ...]) -> None:
    told = told_options(parse_options(layout, settings))
    assert set(told) == set(settings)


def test_how_a_second_failure_is_written_is_shown() -> None:
    with pytest.raises(UsageError, match="second-failure=1` cannot be read") as refusal:
        parse_options("raidz1", ["second-failure=1"])
    assert "second-failure=3@2h" in refusal.value.hint


@pytest.mark.parametrize(
    ("layout", "settings", "says"),
    [
        ("draid1", ("release=0.6",), "draid1 is of OpenZFS 2.1"),
        ("mirror", ("release=0.6", "order=sequential"), "`sequential` is of OpenZFS 2.0"),
        ("raidz1", ("release=0.6", "order=sorted"), "`sorted` is of OpenZFS 0.8"),
        ("raidz1", ("file=1MiB", "run=16"), "is fresh, and one in runs"),
    ],
)
def test_a_pool_that_never_was_is_refused(layout: str, settings: tuple[str, ...], says: str) -> None:
    members = ("model:wd40efrx",) * 10
    order = RebuildOrder(layout, members, members[-1], options=parse_options(layout, settings))
    with pytest.raises(UsageError, match=says) as refusal:
        check_order(order)
    assert refusal.value.hint


def test_an_array_of_one_drive_is_refused_in_good_english() -> None:
    with pytest.raises(UsageError, match="raid6 of one drive cannot be: it takes 4 or more"):
        check_order(RebuildOrder("raid6", ("model:wd40efrx",), "model:wd40efrx"))


def test_a_least_speed_above_the_greatest_is_refused() -> None:
    with pytest.raises(UsageError, match="is more than `speed-max`") as refusal:
        parse_options("raid5", ("speed-min=20MB", "speed-max=10MB"))
    assert refusal.value.hint
    equal = parse_options("raid5", ("speed-min=10MB", "speed-max=10MB"))
    assert told_options(equal) == ("speed-min=10000000", "speed-max=10000000")


@pytest.mark.parametrize(
    ("drive", "settings", "says"),
    [
        (
            "model:wd40efrx",
            {"speed_min_bytes_per_s": 3 * 10**8, "speed_max_bytes_per_s": 5 * 10**7},
            "47.7 MiB a second",
        ),
        ("model:wd40efrx", {"speed_min_bytes_per_s": 3 * 10**8}, "195.3 MiB a second, Linux's own"),
        ("lab:wd40efrx", {"speed_min_bytes_per_s": 3 * 10**8}, "195.3 MiB a second, Linux's own"),
        ("/dev/sda", {"speed_min_bytes_per_s": 3 * 10**8}, None),  # whose limit is its own kernel's
        ("model:wd40efrx", {"speed_min_bytes_per_s": 3 * 10**8, "speed_max_bytes_per_s": 3 * 10**8}, None),
    ],
)
def test_no_order_has_a_least_speed_above_the_greatest(drive: str, settings: dict[str, Any], says: str | None) -> None:
    """However it was given: md would not heed the greatest."""
    order = RebuildOrder("raid5", (drive,) * 3, drive, options=MdOptions(**settings))
    if says is None:
        check_order(order)
        return
    with pytest.raises(UsageError, match=f"is more than `speed-max`, {says}$") as refusal:
        check_order(order)
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("layout", "typed"),
    [
        ("draid2:11d", "draid2 --set draid=11d:0s"),
        ("draid2:11d:106c:1s", "draid2 --width 106 --set draid=11d:1s"),
        ("draid:2s", "draid1 --set draid=8d:2s"),
    ],
)
def test_a_draid_as_zpool_writes_it_is_told_as_it_is_set(layout: str, typed: str) -> None:
    with pytest.raises(UsageError, match=f"`{layout}` is no layout that can be rebuilt") as refusal:
        check_order(RebuildOrder(layout, ("model:wd40efrx",) * 12, "model:wd40efrx"))
    assert refusal.value.hint == f"`{typed}`"


@pytest.mark.parametrize(
    ("layout", "settings", "hint"),
    [
        ("raid5", ("copies=n2",), "leave it out; raid10 has it"),
        ("raid10", ("rmw=no",), "leave it out; raid5, raid6 have it"),
    ],
)
def test_who_has_an_option_is_told_in_good_english(layout: str, settings: tuple[str, ...], hint: str) -> None:
    order = RebuildOrder(layout, ("model:wd40efrx",) * 4, "model:wd40efrx", options=parse_options(layout, settings))
    with pytest.raises(UsageError, match="to set") as refusal:
        check_order(order)
    assert refusal.value.hint == hint
