"""Field notes E: on its own figures the reasoning must reach its conclusions."""

from dataclasses import replace
from typing import Any

import pytest

from shakedown.analysis.explain.ceiling import Box, Drives, RuleOfThumb, Way, ceilings
from shakedown.analysis.explain.instead import changes
from shakedown.analysis.explain.layout import Layout
from shakedown.analysis.explain.limiter import Proof, isolate, prove
from shakedown.analysis.explain.load import Load, Measured, parse_measured
from shakedown.analysis.explain.reason import reason
from shakedown.errors import UsageError
from shakedown.report.explain import explain_document, explain_text

SLOW_DRIVE = RuleOfThumb(50, 95e6)
"""R066, R446."""

IX4 = Box(Layout("raid5", 4), SLOW_DRIVE, Way(link_bits_per_s=1e9))


def proof(text: str, box: Box = IX4) -> Proof:
    return prove(box, parse_measured(text))


MAX_READ = "001a: 32KiB 100R 0rand depth 64 = 1761 IOPS"
REAL_LIFE = "001b: 8KiB 65R 60rand depth 64 = 89 IOPS"
MAX_MIXED = "001c: 32KiB 50R 0rand depth 64 = 705 IOPS"
HALF = "Most likely the drives limit: 60.8 % of what RAID5 of 4 allows them."
RANDOM = "001d: 8KiB 70R 100rand depth 64 = 64 IOPS, mean 913ms"


def test_the_read_cache_works_and_something_outside_the_drives_holds_it() -> None:
    found = proof(MAX_READ)
    assert found.cached
    assert found.limiter == "elsewhere"
    assert any("read cache" in each for each in found.statements)
    assert any("less than one of them streams" in each for each in found.statements)


@pytest.mark.parametrize(("iops", "limiter"), [(3500, "link"), (8000, "drives")])
def test_of_a_stream_that_a_part_limits_no_cache_is_told(iops: int, limiter: str) -> None:
    box = IX4 if limiter == "link" else replace(IX4, way=Way(link_bits_per_s=1e10))
    found = proof(f"a: 32KiB 100R 0rand depth 64 = {iops} IOPS", box)
    assert (found.limiter, found.cached) == (limiter, True)
    assert not any("moved the heads" in each for each in found.statements)
    random = proof("a: 32KiB 100R 100rand depth 64 = 440 IOPS", replace(IX4, drive=Reordering()))
    assert (random.limiter, random.cached) == ("drives", True)
    assert any("moved the heads" in each for each in random.statements)


def test_four_slow_drives_under_raid5_can_do_no_more() -> None:
    found = proof(REAL_LIFE)
    assert (found.limiter, found.sure, found.cached) == ("drives", True, False)
    # 89 x (0.65 + 0.35 x 4) = 182 requests a second at four drives of 50: by hand.
    assert found.used["heads"] == pytest.approx(89 * 2.05 / 200)


class Reordering:
    """A drive that is faster the more requests it may choose from, and whose cache gathers what is written."""

    label = "reordering"
    stream_bytes_per_s = 95e6

    def random_iops(self, block_bytes: int, read_share: float, outstanding: int) -> float:
        return 53 * (1 if outstanding < 4 else 2.2) / (0.27 + 0.73 * read_share)


@pytest.mark.parametrize("measured", [MAX_READ, REAL_LIFE, MAX_MIXED, RANDOM])
def test_however_the_drive_is_named_the_account_is_explained_alike(measured: str) -> None:
    by_rule, by_model = (proof(measured, replace(IX4, drive=drive)) for drive in (SLOW_DRIVE, Reordering()))
    assert (by_rule.limiter, by_rule.sure, by_rule.cached) == (by_model.limiter, by_model.sure, by_model.cached)


def test_the_best_that_a_queue_allows_is_told_and_no_reason_to_acquit_the_drives() -> None:
    found = proof(RANDOM, replace(IX4, drive=Reordering()))
    assert found.limiter == "drives"
    assert found.used["drives"] < 0.3
    said = " ".join(found.statements)
    assert "if each moves the heads, 20.1 % of their best. Nothing else that is known comes near; the round" in said


@pytest.mark.parametrize(
    ("way", "iops", "says"),
    [
        (Way(), 64, f"{HALF} The link and the round trip were not given and left out."),
        (
            Way(link_bits_per_s=1e9),
            64,
            f"{HALF} Nothing else that is known comes near; the round trip was not given and left out.",
        ),
        (Way(link_bits_per_s=1e9, round_trip_s=1e-4), 64, f"{HALF} Nothing else comes near."),
        (Way(), 95, "The drives limit: 90.3 % of what RAID5 of 4 allows them."),
    ],
)
def test_words_are_as_sure_as_the_share_and_tell_of_what_was_left_out(way: Way, iops: int, says: str) -> None:
    assert says in proof(f"8KiB 70R 100rand depth 64 = {iops} IOPS", replace(IX4, way=way)).statements


def test_a_modelled_box_without_a_link_has_none_left_out() -> None:
    measured = replace(parse_measured("8KiB 70R 100rand depth 64 = 64 IOPS"), stated=())
    said = prove(replace(IX4, way=Way()), measured).statements
    assert "Most likely the drives limit: 60.8 % of what RAID5 of 4 allows them." in said


def test_one_request_after_the_other_waits_nowhere() -> None:
    told = "8KiB 100R 100rand depth 1 = 42.9 IOPS, mean 20ms"
    assert "Little" not in " ".join(proof(told).statements)
    assert "Little" in " ".join(proof(told.replace("depth 1 = 42.9", "depth 2 = 85.8")).statements)


@pytest.mark.parametrize(
    ("layout", "iops", "limiter"),
    [("raid5", 64, "unknown"), ("raid5", 25, "elsewhere"), ("raid10", 64, "elsewhere"), ("raid5", 300, "drives")],
)
def test_how_many_parity_writes_at_once_is_for_the_box_to_decide(layout: str, iops: int, limiter: str) -> None:
    """Twelve drives of 50 do 38 such requests a second one after the other and 316 side by side."""
    found = proof(f"8KiB 70R 100rand depth 64 = {iops} IOPS", Box(Layout(layout, 12), SLOW_DRIVE))
    assert found.ceilings["one at a time"].iops == pytest.approx(50 / (1.3 if layout == "raid5" else 1))
    assert found.limiter == limiter
    says = (
        "between 38.5 requests/s, one after the other, and 316, and so does the figure" if limiter == "unknown" else ""
    )
    assert says in " ".join(found.statements)


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        (None, "the box's processor, its target software, the protocol, or the host"),
        (("write-cache=256MiB", "dirty-expire=30s"), "this modelled box has write-cache=256MiB, dirty-expire=30s, and"),
        (("write-cache=256MiB", "link=1Gb/s"), "What its caches leave to the drives limits it"),
        (("read-cache=256MiB",), "Something other than these parts limits it"),
        (("write-cache=256MiB", "write-ceiling=10MB/s"), "Something other than these parts limits it"),
        ((), "nothing around its drives"),
    ],
)
def test_what_a_modelled_box_has_not_is_not_blamed(stated: tuple[str, ...] | None, says: str) -> None:
    found = prove(IX4, replace(parse_measured("8KiB 0R 100rand depth 64 = 633 IOPS"), stated=stated))
    said = " ".join(found.statements)
    assert found.limiter == "elsewhere"
    assert says in said
    assert ("processor" in said) == (stated is None)


def test_no_line_is_wider_than_a_terminal_however_many_loads_there_are() -> None:
    proofs = [proof(f"runs/of-the-week-{number} {REAL_LIFE}") for number in range(12)]
    text = explain_text(IX4, proofs, [], changes(IX4, proofs))
    assert max(len(line) for line in text.splitlines()) <= 80
    told = text.partition("What would change:")[2]
    assert all(told.count(f"runs/of-the-week-{number} 001b") == 1 for number in range(12))
    assert told.count("as measured") > 1


def test_random_access_is_isolated() -> None:
    proofs = [proof(each) for each in (MAX_READ, REAL_LIFE, MAX_MIXED)]
    assert [each.split(":")[0] for each in isolate(proofs)] == ["Random access is what costs"]
    assert "001b has no more writes than 001c" in isolate(proofs)[0]


@pytest.mark.parametrize("of", [{"is_of_another": True}, {"stated": ("write-cache=1GiB",)}])
def test_what_differs_beside_the_load_isolates_nothing(of: dict[str, Any]) -> None:
    slow, fast = (parse_measured(each) for each in (REAL_LIFE, MAX_MIXED))
    for pair in ((replace(slow, **of), fast), (slow, replace(fast, **of))):
        assert isolate([prove(IX4, each) for each in pair]) == []


def test_nothing_of_another_array_is_scaled() -> None:
    other, own = prove(IX4, replace(parse_measured(REAL_LIFE), name="of-another", is_of_another=True)), proof(RANDOM)
    assert changes(IX4, [other]) == []
    both = changes(IX4, [other, own])
    assert [each.iops[0] for each in both] == [None] * len(both) != []
    assert "of-another" not in explain_text(IX4, [other, own], [], both).partition("What would change:")[2]


def test_streams_that_compete_prove_nothing_about_the_drives() -> None:
    assert proof(MAX_MIXED).limiter == "unknown"


@pytest.mark.parametrize(
    ("layout", "block_kib", "share_reads", "limiter"),
    [
        ("raid0", 64, 0, "elsewhere"),
        ("raidz2", 1024, 0, "elsewhere"),
        ("raid5", 64, 100, "elsewhere"),
        ("raid5", 1536, 0, "elsewhere"),
        # A small write may wait for what is read first, of parity or of a record, or be gathered with others.
        ("raid5", 64, 0, "unknown"),
        ("raidz2", 64, 0, "unknown"),
    ],
)
def test_one_slow_stream_is_not_the_drives_fault_though_seeks_would_be_as_slow(
    layout: str, block_kib: int, share_reads: int, limiter: str
) -> None:
    box = Box(Layout(layout, 4), SLOW_DRIVE, Way(link_bits_per_s=1e10))
    iops = ceilings(box, Load(block_kib << 10, share_reads / 100, 0.0, 1))["heads"].iops
    assert proof(f"a: {block_kib}KiB {share_reads}R 0rand depth 1 = {iops:.6g} IOPS", box).limiter == limiter


EIGHT = Box(Layout("raid5", 8), RuleOfThumb(75, 250e6), Way(link_bits_per_s=1e10))


@pytest.mark.parametrize("reads", [0, 100])
@pytest.mark.parametrize("size", ["64KiB", "256KiB", "512KiB", "1MiB", "2MiB", "3584KiB", "4MiB", "7MiB"])
@pytest.mark.parametrize("rate", [5, 20, 60, 90, 150])
def test_no_size_of_request_makes_drives_limit_a_stream_slower_than_one_of_them(
    size: str, reads: int, rate: int
) -> None:
    found = proof(f"a: {size} {reads}R 0rand depth 8 = {rate} MB/s", EIGHT)
    said = " ".join(found.statements)
    raid10 = changes(EIGHT, [found])[0].iops[0]
    if reads or size in ("3584KiB", "7MiB"):
        assert found.limiter == "elsewhere"
        assert f"It is not the drives: {rate} MB/s are less than one of them streams (250 MB/s)." in said
        assert raid10 == pytest.approx(found.measured.iops)
    else:
        # Part of a stripe: it is told only that they would do more even if nothing were gathered.
        assert found.limiter == ("unknown" if found.used["heads"] >= 0.5 else "elsewhere")
        assert ("It is not the drives: even if each moved the heads" in said) == (found.limiter == "elsewhere")
        assert ("are no whole stripes of 3.5 MiB" in said) == (found.limiter == "unknown")
        assert raid10 in (None, pytest.approx(found.measured.iops))
        assert (raid10 is None) == (found.limiter == "unknown")


@pytest.mark.parametrize(("rate", "sure"), [(1300, False), (1650, True)])
@pytest.mark.parametrize("reads", [0, 100])
def test_a_stream_near_the_drives_best_is_held_by_them_read_or_written(rate: int, sure: bool, reads: int) -> None:
    box = replace(EIGHT, way=Way(link_bits_per_s=1e11))
    found = proof(f"a: 1MiB {reads}R 0rand depth 8 = {rate} MB/s", box)
    assert (found.limiter, found.sure) == ("drives", sure)
    # And scales as streams do: seven data drives, then four.
    assert changes(box, [found])[0].iops[0] == pytest.approx(found.measured.iops * 4 / 7)


@pytest.mark.parametrize(
    ("load", "iops", "limiter", "says"),
    [
        # A seek for each would be 234 requests/s of streams that are read and written, 581 of reads.
        ("32KiB 50R 0rand depth 64", 230, "unknown", "Streams of reads and of writes share the heads."),
        ("32KiB 50R 0rand depth 64", 2000, "unknown", "Streams of reads and of writes share the heads."),
        ("32KiB 50R 0rand depth 64", 40, "elsewhere", "Something other than these parts"),
        ("32KiB 100R 10rand depth 64", 550, "unknown", "in sequence shares the heads with what goes to random places."),
        ("32KiB 100R 10rand depth 64", 2000, "unknown", "in sequence shares the heads"),
        ("32KiB 100R 10rand depth 64", 200, "elsewhere", "Something other than these parts"),
        ("32KiB 100R 60rand depth 64", 550, "drives", "The drives limit"),
        # 72 requests/s one after the other, a seek for each 280: what waits for reads decides, and no stream.
        ("8KiB 65R 60rand depth 64", 90, "unknown", "Writes wait for the reads they need"),
    ],
)
def test_of_what_is_between_a_stream_and_random_places_the_seeks_are_not_told(
    load: str, iops: int, limiter: str, says: str
) -> None:
    found = proof(f"{load} = {iops} IOPS", EIGHT)
    assert found.limiter == limiter
    assert says in " ".join(found.statements)


def test_a_link_half_used_is_told_beside_drives_that_may_be_at_their_end() -> None:
    box = replace(EIGHT, way=Way(link_bits_per_s=1e9))
    found = proof("64KiB 0R 0rand depth 8 = 70 MB/s", box)
    assert found.limiter == "unknown"
    assert "And the link is 59.5 % used." in " ".join(found.statements)
    assert proof("64KiB 0R 0rand depth 8 = 110 MB/s", box).limiter == "link"


def test_the_queue_was_full() -> None:
    found = proof(RANDOM)
    assert any("58.4 of 64 requests were in flight" in each for each in found.statements)
    assert any("hardly agree" in each for each in proof(RANDOM.replace("913ms", "1200ms")).statements)
    assert any("did not keep the box busy" in each for each in proof(RANDOM.replace("913ms", "50ms")).statements)


def test_raid10_helps_writes_and_nothing_helps_what_is_elsewhere() -> None:
    proofs = [proof(MAX_READ), proof(REAL_LIFE)]
    raid10, _wider, faster = changes(IX4, proofs, [RuleOfThumb(75, 100e6)])
    assert raid10.label == "RAID10 of 4"
    assert raid10.iops == pytest.approx((1761, 89 * 2.05 / (0.65 + 0.35 * 2)))
    assert faster.iops == pytest.approx((1761, 89 * 1.5))


def test_a_change_stops_at_the_next_ceiling() -> None:
    box = Box(Layout("raid5", 4), SLOW_DRIVE, Way(link_bits_per_s=7e6))
    found = proof(REAL_LIFE, box)
    link = ceilings(box, found.measured.load)["link"].iops
    assert found.measured.iops < link < 89 * 2
    assert changes(box, [found], [RuleOfThumb(500, 1e9)])[-1].iops[0] in (pytest.approx(link), found.measured.iops)


def test_a_full_link_is_named() -> None:
    found = proof("backup: 1MiB 100R 0rand depth 8 = 112 MB/s")
    assert (found.limiter, found.sure) == ("link", True)


@pytest.mark.parametrize(
    ("figure", "limiter", "says"),
    [
        ("3500 IOPS", "link", "97.5 % of what it allows."),
        (
            "3700 IOPS",
            "link",
            "103 % of what it allows, more than all of it: this ceiling is an estimate, and may be 6 % too low.",
        ),
        ("4000 IOPS", "impossible", "This cannot be: it is 1.11 times what the link allows."),
        ("100000 IOPS", "impossible", "the host's own cache answered, or a figure is wrong"),
    ],
)
def test_what_never_crossed_the_link_is_no_news_of_the_box(figure: str, limiter: str, says: str) -> None:
    found = proof(f"x: 32KiB 100R 0rand depth 64 = {figure}")
    assert found.limiter == limiter
    assert says in " ".join(found.statements)
    assert len(found.statements) == 1  # of a stream at the link no cache is news either


def test_nothing_would_change_of_what_cannot_be() -> None:
    """Neither alone nor beside a figure of which something follows."""
    impossible, real = proof("x: 32KiB 100R 0rand depth 64 = 20000 IOPS"), proof(REAL_LIFE)
    assert changes(IX4, [impossible]) == []
    both = changes(IX4, [impossible, real])
    assert [each.iops[0] for each in both] == [None] * len(both) != []
    assert [each.iops[1:] for each in both] == [each.iops for each in changes(IX4, [real])]
    text = explain_text(IX4, [impossible, real], [], both).partition("What would change:")[2]
    assert "20000" not in text
    assert "001b" in text


def test_drives_that_were_gone_past_do_not_limit() -> None:
    box = Box(Layout("raidz1", 4, record_bytes=4096), SLOW_DRIVE)
    within, past = (proof(f"4KiB 100R 100rand depth 16 = {iops} IOPS", box) for iops in (232, 326))
    assert (within.limiter, past.limiter) == ("drives", "elsewhere")
    assert "116 % of what RAIDZ1 of 4 allows them, more than all of it: this ceiling" in " ".join(within.statements)
    assert "1.63 times what the drives can" in " ".join(past.statements)
    assert "The drives limit" not in " ".join(past.statements)


@pytest.mark.parametrize("kind", ["raid1", "mirror"])
def test_a_stream_may_be_read_from_all_copies(kind: str) -> None:
    """The ceiling is of one of them: whether the others or a cache did the rest, nobody can tell up to their sum."""
    box = Box(Layout(kind, 2), SLOW_DRIVE)
    within, past = (proof(f"1MiB 100R 0rand = {rate} MB/s", box) for rate in (160, 250))
    assert (within.limiter, past.limiter) == ("unknown", "elsewhere")
    told = " ".join(within.statements)
    assert "1.68 times what one drive of each 2 that hold the same streams" in told
    assert "never reached them" not in told
    assert "never reached them" in " ".join(past.statements)
    assert "one of each 2 that hold the same" in reason(box, within.measured.load, within.ceilings["drives"])
    written = proof("1MiB 0R 0rand = 160 MB/s", box)
    assert written.limiter == "elsewhere"
    assert "hold the same" not in reason(box, written.measured.load, written.ceilings["drives"])


def test_the_best_of_drives_that_hold_the_same_is_no_less_than_a_seek_for_each() -> None:
    box = Box(Layout("mirror", 6, together=3), RuleOfThumb(100, 200e6))
    found = proof("1MiB 100R 0rand depth 32 = 700 IOPS", box)
    heads, best = found.ceilings["heads"], found.ceilings["drives"]
    assert best.iops == heads.iops > 2 * 200e6 / 2**20
    told = reason(box, found.measured.load, best)
    assert "one of each 3 that hold the same; all of them do more, with a seek for each" in told
    # What all copies stream is still told from what one of them does.
    assert "1.84 times what one drive of each 3" in " ".join(found.statements)
    assert "up to 1144 requests/s" in " ".join(found.statements)
    alone = proof("1MiB 100R 0rand depth 1 = 300 IOPS", box)
    assert alone.ceilings["drives"].iops == pytest.approx(2 * 200e6 / 2**20)


@pytest.mark.parametrize(("depth", "is_assumed"), [("", True), (" depth 1", False)])
def test_a_depth_that_is_assumed_is_told(depth: str, is_assumed: bool) -> None:
    found = proof(f"8KiB 100R 100rand{depth} = 48 IOPS")
    assert (
        "1 outstanding (assumed: no depth was given)" in " ".join(explain_text(IX4, [found], [], []).split())
    ) == is_assumed
    assert explain_document(IX4, [found], [], [])["loads"][0]["outstanding_is_assumed"] == is_assumed


@pytest.mark.parametrize(("depth", "busy"), [(1, 1), (3, 3), (4, 4), (64, 4)])
def test_no_more_drives_are_at_work_than_are_asked(depth: int, busy: int) -> None:
    box = Box(Layout("raid5", 4), RuleOfThumb(50, 95e6))
    found = proof(f"8KiB 100R 100rand depth {depth} = {busy * 48} IOPS", box)
    assert found.limiter == "drives"
    assert found.ceilings["heads"].iops == found.ceilings["drives"].iops == pytest.approx(busy * 50)
    assert ("no more can work" in reason(box, found.measured.load, found.ceilings["heads"])) == (busy < 4)


def test_a_small_write_reads_and_then_writes_two_drives_at_once() -> None:
    box = Box(Layout("raid5", 4), RuleOfThumb(50, 95e6))
    found = proof("8KiB 0R 100rand depth 1 = 24 IOPS", box)
    assert found.ceilings["heads"].iops == found.ceilings["one at a time"].iops == pytest.approx(25)


def test_no_request_is_sooner_back_than_the_round_trip() -> None:
    box = Box(Layout("single", 1), RuleOfThumb(50, 200e6), Way(round_trip_s=0.001))
    assert prove(box, Measured("sync", Load(4096, 1, 0, 1), 1200)).limiter == "impossible"


@pytest.mark.parametrize(("mean_s", "is_possible"), [(0.04, True), (0.06, True), (0.09, False), (3600.0, False)])
def test_a_rate_and_a_waiting_time_that_cannot_both_be_prove_nothing(mean_s: float, is_possible: bool) -> None:
    box = Box(Layout("single", 1), RuleOfThumb(50, 200e6))
    found = prove(box, Measured("typed", Load(4096, 1, 1, 2), 45, mean_s))
    assert found.limiter == ("drives" if is_possible else "impossible")
    assert is_possible or len(found.statements) == 1


def test_a_cache_is_no_more_than_one_of_the_reasons() -> None:
    said = " ".join(proof("8KiB 65R 60rand depth 64 = 155 IOPS").statements)
    assert "A cache works, or reordering" in said


def test_a_long_way_is_named() -> None:
    box = Box(Layout("single", 1), RuleOfThumb(50, 200e6), Way(round_trip_s=0.001))
    assert prove(box, Measured("sync", Load(4096, 1, 0, 1), 950)).limiter == "round trip"


@pytest.mark.parametrize(
    ("kind", "width", "block", "reads", "work"),
    [
        ("raid5", 4, 8192, 0.65, (0.65 + 0.7, 0.7)),
        ("raid6", 6, 8192, 0, (3, 3)),
        ("raid10", 4, 8192, 0, (0, 2)),
        ("raid1", 3, 8192, 0.5, (0.5, 1.5)),
        ("raid0", 2, 8192, 0.5, (0.5, 0.5)),
        ("raidz1", 4, 131072, 1, (3, 0)),
        ("raidz1", 4, 4096, 1, (3, 0)),
        ("raidz2", 8, 4096, 0, (6, 8)),
        ("raidz2", 8, 131072, 0, (0, 8)),
        ("mirror", 8, 4096, 0, (1, 2)),
        ("mirror", 8, 131072, 0.5, (0.5, 1)),
    ],
)
def test_drive_requests_by_hand(kind: str, width: int, block: int, reads: float, work: tuple[float, float]) -> None:
    assert Layout(kind, width).lone_request(Load(block, reads, 1))[:2] == pytest.approx(work)


@pytest.mark.parametrize(
    ("kind", "width", "block_kib", "reads", "work"),
    [
        # One chunk: old data and parity read, both written; in an array of three the other data drive is less to read.
        ("raid5", 8, 512, 0, (2, 2, 512, 2)),
        ("raid5", 3, 512, 0, (1, 2, 512, 2)),
        ("raid6", 8, 4, 0, (3, 3, 4, 2)),
        # Two chunks and parity; of four the rest of the stripe is less: three chunks.
        ("raid5", 8, 1024, 0, (3, 3, 512, 2)),
        ("raid5", 8, 2048, 0, (3, 5, 512, 2)),
        # A whole stripe, two, and one with a chunk over.
        ("raid5", 8, 3584, 0, (0, 8, 512, 1)),
        ("raid5", 8, 7168, 0, (0, 8, 1024, 1)),
        ("raid5", 8, 4096, 0, (2, 10, 512, 2)),
        # A read is of as many drives as it has chunks.
        ("raid5", 8, 2048, 1, (4, 0, 512, 1)),
        ("raid5", 8, 8192, 1, (8, 0, 1024, 1)),
        ("raid10", 8, 1024, 0, (0, 4, 512, 1)),
        ("raid0", 4, 4096, 1, (4, 0, 1024, 1)),
        ("raid1", 2, 4096, 1, (1, 0, 4096, 1)),
    ],
)
def test_what_a_large_request_costs_follows_from_chunks(
    kind: str, width: int, block_kib: int, reads: float, work: tuple[float, float, int, float]
) -> None:
    found = Layout(kind, width).lone_request(Load(block_kib << 10, reads, 1))
    assert (found.reads, found.writes, found.piece_bytes / 1024, found.steps) == pytest.approx(work)


def test_a_chunk_may_be_set() -> None:
    assert Layout("raid5", 8, chunk_bytes=65536).stripe_bytes == 7 * 65536
    assert Layout("raid5", 8, chunk_bytes=65536).lone_request(Load(524288, 1, 1)).reads == 8


def test_a_rule_of_thumb_is_of_small_requests_and_no_drive_seeks_faster_than_it_streams() -> None:
    drive = RuleOfThumb(150, 200e6)
    assert drive.random_iops(4096, 1, 1) == drive.random_iops(8192, 0, 64) == pytest.approx(150)
    assert drive.random_iops(8192 + 2_000_000, 1, 1) == pytest.approx(1 / (1 / 150 + 0.01))
    for kib in (4, 64, 512, 1024, 4096, 65536):
        for reads in (0.0, 1.0):
            load = Load(kib << 10, reads, 1, 64)
            heads = ceilings(Box(Layout("raid5", 8), drive), load)["heads"]
            assert heads.iops * load.block_bytes < 8 * 200e6


@pytest.mark.parametrize(("kind", "width", "block", "work"), [("raidz2", 6, 4096, (0, 3)), ("raidz1", 5, 8192, (0, 3))])
def test_small_records_are_on_few_drives(kind: str, width: int, block: int, work: tuple[float, float]) -> None:
    layout = Layout(kind, width, record_bytes=block)
    assert layout.lone_request(Load(block, 0, 1))[:2] == pytest.approx(work)


def test_a_record_is_moved_in_equal_pieces() -> None:
    """44 KiB of 128 KiB over three drives, 24 KiB over six: the first of the settled contradictions."""
    assert Layout("raidz1", 4).lone_request(Load(4096, 1, 1)).piece_bytes == 44 * 1024
    assert Layout("raidz2", 8).lone_request(Load(4096, 1, 1)).piece_bytes == 24 * 1024
    assert Layout("mirror", 8).lone_request(Load(4096, 1, 1)).piece_bytes == 128 * 1024


NAS = Box(Layout("raidz2", 8), RuleOfThumb(75, 150e6), Way(link_bits_per_s=1e10))


PIECE_S = 1 / 75 + 16384 / 150e6
"""A piece of 24 KiB at a random place: of 8 KiB 75 in a second, and 16 KiB more under the heads."""


@pytest.mark.parametrize(
    ("measured", "costs", "seconds"),
    [
        ("vm: 4KiB 100R 100rand depth 32 = 110 IOPS", "is read from 6 drives to be verified", 6 * PIECE_S / 8),
        # And 32 sectors are written, with others, one behind the other: with parity 44, padded to 45, on eight drives.
        (
            "vmw: 4KiB 0R 100rand depth 32 = 60 IOPS",
            "is read, changed and written whole",
            6 * PIECE_S / 8 + 45 * 4096 / (8 * 150e6),
        ),
    ],
)
def test_a_small_request_of_raidz_costs_a_record(measured: str, costs: str, seconds: float) -> None:
    """A checksum is over all of a record, so that 8 drives of 75 do nearly 8 x 75 / 6 a second."""
    found = proof(measured, NAS)
    assert found.limiter == "drives"
    assert f"A request of 4.0 KiB costs its record of 128.0 KiB, which {costs}." in " ".join(found.statements)
    assert found.ceilings["drives"].iops == pytest.approx(1 / seconds)


def test_a_record_fills_the_queues_of_all_its_drives() -> None:
    """32 records over 6 of 8 drives each: 24 at a time in every drive, not 4."""
    best = proof("4KiB 100R 100rand depth 32 = 110 IOPS", replace(NAS, drive=Reordering())).ceilings["drives"]
    assert isinstance(best, Drives)
    assert best.queues
    assert best.queues.depth == 24


def test_mirrors_are_pairs_and_read_a_record_from_one_drive() -> None:
    mirror, *_ = changes(NAS, [proof("vm: 4KiB 100R 100rand depth 32 = 110 IOPS", NAS)])
    assert mirror.label == "mirror of 8, in pairs"
    # Six pieces of 24 KiB from six drives, or 128 KiB from one.
    assert mirror.iops == pytest.approx((110 * 6 * PIECE_S / (1 / 75 + 122880 / 150e6),))
    streams = proof("128KiB 0R 0rand depth 8 = 400 MB/s", Box(Layout("mirror", 8), NAS.drive))
    assert streams.used["drives"] == pytest.approx(400 / 600)


def test_what_zfs_writes_needs_no_seeks() -> None:
    """Whole records go to new places, one behind the other: more than a seek for each is no cache before the drives."""
    box = Box(Layout("raidz2", 8, record_bytes=8192), NAS.drive)
    found = proof("8KiB 0R 100rand depth 32 = 5000 IOPS", box)
    assert found.used["heads"] > 20
    # With parity and padding 24 KiB each: eight drives of 150 MB/s stream a third of it.
    assert found.used["drives"] == pytest.approx(5000 * 8192 / 400e6)
    assert "Writing in new places" in " ".join(found.statements)


@pytest.mark.parametrize(
    ("kind", "width", "data"),
    [("raid5", 4, 3), ("raid5", 2, 1), ("raid10", 6, 3), ("raid1", 3, 1), ("raidz3", 8, 5), ("mirror", 8, 4)],
)
def test_data_drives(kind: str, width: int, data: int) -> None:
    assert Layout(kind, width).data_drives == data


@pytest.mark.parametrize(
    ("kind", "width"), [("raid5", 1), ("raid6", 3), ("raidz3", 3), ("raid10", 5), ("single", 2), ("raid7", 9)]
)
def test_layouts_that_cannot_be(kind: str, width: int) -> None:
    with pytest.raises(UsageError) as refusal:
        Layout(kind, width)
    assert refusal.value.hint


def test_less_than_one_request_in_flight_is_not_none() -> None:
    assert "Only 0.5 of 4 requests" in str(proof("8KiB 100R 60rand depth 4 = 100 IOPS, mean 5ms").statements)


def test_what_caches_leave_to_the_drives_does_not_scale() -> None:
    boxed = replace(parse_measured("8KiB 65R 60rand depth 64 = 300 IOPS"), stated=("write-cache=1GiB",))
    of_a_model, of_a_real_one = (prove(IX4, each) for each in (boxed, replace(boxed, stated=None)))
    for found in (of_a_model, of_a_real_one):
        assert found.limiter == "elsewhere"
        assert {iops for change in changes(IX4, [found]) for iops in change.iops} == {None}
        assert "?" in explain_text(IX4, [found], [], changes(IX4, [found]))
    assert not any("of the link" in each for each in of_a_model.statements)
    assert any("what the box's caches leave to the drives" in each for each in of_a_real_one.statements)


def test_what_a_cache_takes_off_the_drives_is_not_known_of_another_layout() -> None:
    found = proof("8KiB 65R 60rand depth 64 = 180 IOPS")  # 1.1 times what the drives can
    assert found.limiter == "drives"
    told = {change.label: change.iops[0] for change in changes(IX4, [found])}
    assert told["RAID10 of 4"] is None
    assert told["RAID5 of 6"] is not None


@pytest.mark.parametrize("reads", [100, 65, 0])
def test_where_one_request_is_outstanding_no_queue_reorders_it(reads: int) -> None:
    one = proof(f"8KiB {reads}R 60rand depth 1 = 170 IOPS", Box(Layout("single", 1), SLOW_DRIVE))
    assert one.cached
    assert not any("queues" in each for each in one.statements)
    assert any(each.startswith("A cache works") for each in one.statements)
    many = proof(f"8KiB {reads}R 60rand depth 32 = 170 IOPS", Box(Layout("single", 1), SLOW_DRIVE))
    assert any("reordering" in each for each in many.statements)
