"""Estimators against logs that were made up, with the noise of a real host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from shakedown.errors import InconclusiveError
from shakedown.fit.cleaning import band_time, bands
from shakedown.fit.drafting.draft import bands_origin
from shakedown.fit.drive import dram, rotation, seek
from shakedown.fit.drive.dram import until_full
from shakedown.fit.drive.tracks import Tracks, agrees, share_skews
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import append, destage, ebb, flash, layout
from shakedown.fit.log.fill import Limits, ebb_ms, stalls_in
from shakedown.fit.log.streams import Streams
from shakedown.fit.place import scattered
from shakedown.fit.trace import Log, Trace, Uninterrupted


def _log(completed_ms: np.ndarray, latency_ms: np.ndarray, offsets: np.ndarray | None = None) -> Log:
    completed = (completed_ms * 1e6).astype(np.int64)
    submitted = completed - (latency_ms * 1e6).astype(np.int64)
    zeros = np.zeros(len(completed), np.int64)
    return Log(submitted, completed, zeros if offsets is None else offsets, zeros + 4096, zeros, int(completed[-1]))


def _turned(draw: np.random.Generator, turn_ms: float) -> tuple[np.ndarray, np.ndarray]:
    """When 300 blocks come, each four times and always at its own angle, and which they are."""
    offsets = np.concatenate([draw.permutation(300) for _ in range(4)])
    phases = draw.random(300)[offsets]
    at, completed = 0.0, []
    for phase in phases:
        at = (np.floor((at + 3) / turn_ms - phase) + 1 + phase) * turn_ms
        completed.append(at)
    return np.array(completed), offsets * 4096


@pytest.mark.parametrize("rpm", [5400.0, 5980.0, 7200.0, 10_025.0])
def test_the_turn_is_found_through_jitter(rpm: float) -> None:
    draw = np.random.default_rng(1)
    turn_ms = 6e4 / rpm
    completed, offsets = _turned(draw, turn_ms)
    late = draw.exponential(0.2, len(completed))
    found = rotation.estimate(_log(completed + late, np.full(len(completed), 8.0), offsets))
    assert found.value == pytest.approx(turn_ms, rel=1e-4)


@pytest.mark.parametrize("busier", [0, 1])
def test_a_host_that_is_busier_at_one_end_makes_the_turn_no_wrong_one(busier: int) -> None:
    """On a drive of 7,187 turns 7,186.52 to 7,186.84 were told."""
    draw = np.random.default_rng(2)
    turn_ms = 6e4 / 7187
    completed, offsets = _turned(draw, turn_ms)
    late = draw.exponential(np.where(np.arange(len(completed)) * 2 // len(completed) == busier, 0.6, 0.1))
    found = rotation.estimate(_log(completed + late, np.full(len(completed), 8.0), offsets))
    assert found.low <= turn_ms <= found.high
    assert found.half < 2e-4 * turn_ms


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_all_multiples_that_fit_the_lowest_is_the_turn(seed: int) -> None:
    draw = np.random.default_rng(seed)
    turn_ms = 6e4 / 3600
    completed, offsets = _turned(draw, turn_ms)
    # A tenth comes a quarter of a turn late, so four times the frequency fits best, and twice fits as well.
    late = np.where(draw.random(len(completed)) < 0.1, turn_ms / 4, 0.0) + draw.exponential(0.05, len(completed))
    found = rotation.estimate(_log(completed + late, np.full(len(completed), 8.0), offsets))
    assert found.value == pytest.approx(turn_ms, rel=1e-4)


@pytest.mark.parametrize("what", ["flash", "memory", "an array"])
def test_where_nothing_turns_no_turn_is_found(what: str) -> None:
    draw = np.random.default_rng(3)
    offsets = np.concatenate([draw.permutation(300) for _ in range(4)]) * 4096
    latency = {
        "flash": draw.normal(0.1, 0.02, 1200).clip(0.02),
        "memory": np.full(1200, 0.02),
        "an array": draw.exponential(4.0, 1200) + 0.1,
    }[what]
    with pytest.raises(InconclusiveError, match="no turn"):
        rotation.estimate(_log(np.cumsum(latency), latency, offsets))


@pytest.mark.parametrize("overhead_ms", [0.1, 2.0])
def test_a_seek_lies_between_the_luckiest_and_the_unluckiest_read(overhead_ms: float) -> None:
    waits = np.random.default_rng(2).random(60) * 8.3
    found = seek.bracket(overhead_ms + 7.0 + waits, overhead_ms, 8.3)
    assert found.low <= 7.0 <= found.high
    assert found.value == pytest.approx(7.0, abs=0.4)


def test_what_memory_answered_and_the_read_behind_it_tell_nothing_of_a_seek() -> None:
    waits = np.random.default_rng(2).random(64) * 8.3
    seeks = np.full(64, 7.0)
    memory = np.zeros(64, np.bool_)
    memory[[10, 30, 50]] = True
    # Nobody knows from where the first came, and behind memory the arm is where it is asked to be.
    seeks[[0, 11, 31, 51]] = 1.0
    waits[[0, 11, 31, 51]] = 0.5
    latency = np.where(memory, 0.1, 0.1 + seeks + waits)
    found = seek.estimate(_log(np.cumsum(latency), latency), 0.1, 8.3)
    assert found is not None
    assert found.low <= 7.0 <= found.high
    assert found.value == pytest.approx(7.0, abs=0.4)


def test_a_mean_is_off_by_two_errors_of_a_mean() -> None:
    # Deviations of 2, 1, 0, 1 and 2: a variance of 2 over all, of 2.5 over four, so 0.5 of the mean.
    found = Estimate.mean(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.value == 3.0
    assert found.half == pytest.approx(2 * 0.5**0.5)
    assert Estimate.mean(np.array([7.0])) == Estimate(7.0, 7.0, 7.0)


@pytest.mark.parametrize(
    ("passes", "room", "found", "ration"),
    [
        # About as many bands come home as there is room for, or there is hardly any: nothing is rationed.
        (12.0, 4.4, Estimate(4.0, 3.75, 4.25), 0),
        (10.0, 4.0, Estimate(4.0, 3.75, 4.25), 0),
        (24.0, 0.4, Estimate(1.0, 1.0, 1.25), 0),
        # A pass comes much sooner than that: it has its share of all bands.
        (6.0, 2.0, Estimate(8.0, 7.2, 8.8), 31),
    ],
)
def test_a_pass_that_comes_before_the_room_is_used_up_is_told_by_time(
    passes: float, room: float, found: Estimate, ration: int
) -> None:
    marked = band_time.Marked(passes, all_bands=48.0, spacing=30.6, bands=room, grain=0.25)
    assert band_time.forced(marked) == band_time.Pass(found, ration)


def test_bands_are_counted_though_some_came_home_together() -> None:
    offsets = np.arange(120) * 1_000_000
    band = (offsets + 3_500_000) // 20_000_000
    rounds = np.array([0, 1, 1, 2, 3, 4, 5])[band]
    against = np.abs(np.arange(6)[:, None] - rounds).astype(float)
    found = bands.estimate(bands.Homecoming(offsets, against, 1.0))
    assert found is not None
    assert found.size_bytes.value == pytest.approx(20e6, rel=0.03)


def test_a_journal_is_no_stall() -> None:
    latency = np.full(3000, 6.0)
    latency[239::240] += 300
    latency[2500] = 2500
    log = _log(np.cumsum(latency), latency)
    found = append.journal(log.part(slice(0, 1500)))
    assert (found.every, round(found.ms)) == (240, 300)
    assert not len(stalls_in(log.cycle_ms, Limits(6.0, found.ms)))


def test_a_stall_beside_a_journal_hides_no_other() -> None:
    """480 visits from one to the next were told for 240: with two in a row each other one was taken for none."""
    latency = np.full(1100, 14.0)
    latency[38::240] += 214
    latency[277] = 792
    found = append.journal(_log(np.cumsum(latency), latency))
    assert (found.every, round(found.ms)) == (240, 214)


class _Memory(Uninterrupted):
    """A bench whose writes are taken at once up to so many in each burst."""

    capacity_bytes = 1 << 40

    def __init__(self, taken: list[int]) -> None:
        self._taken = taken

    def play(self, name: str, trace: Trace) -> Log:
        latency = np.full(len(trace), 2.0)
        if name == "burst-large":
            latency[self._taken.pop(0) :: 2] = 20.0
        return replace(_log(np.cumsum(latency), latency), lengths=trace.lengths)

    def idle(self, duration_ns: int) -> None:
        pass


def test_a_journal_within_a_burst_does_not_make_the_memory_smaller() -> None:
    # The small bursts are taken whole; of the large ones the first three are too short to tell.
    looks = [40, 40, 40, 70, 100, 100]
    found = dram.bursts(_Memory(looks), overhead_ms=2.0, turn_ms=11.0)
    assert found.bytes_taken == 100 * dram.LARGE_BYTES


def test_a_pass_that_takes_as_long_as_the_journal_is_a_stall() -> None:
    cycle = np.full(9000, 0.1)
    cycle[64::64] = 13.0
    cycle[2048::2048] = 1292
    log = _log(np.cumsum(cycle), cycle)
    limits = Limits.of(log.cycle_ms, append.Journal(32, 1279), gathered=True)
    assert not len(stalls_in(cycle, limits))
    cycle[5000::300] = 1236
    assert stalls_in(cycle, limits)[0] == 5000


def test_visits_that_take_as_long_as_the_journal_are_no_stalls() -> None:
    cycle = np.full(9000, 0.1)
    cycle[384::192] = 183.0
    cycle[192] = 201.0
    limits = Limits.of(cycle[:1500], append.Journal(120, 172.0), gathered=True)
    assert not len(stalls_in(cycle, limits))
    cycle[5000::300] = 700.0
    assert stalls_in(cycle, limits)[0] == 5000


def test_a_host_that_is_late_does_not_make_visits_like_the_journal_stalls() -> None:
    cycle = np.full(4500, 0.2)
    cycle[np.random.default_rng(4).random(4500) < 0.02] = 3.0
    cycle[192::192] = 355.0
    limits = Limits.of(cycle[:1500], append.Journal(120, 333.0), gathered=True)
    assert not len(stalls_in(cycle, limits))
    cycle[3100::300] = 1250.0
    assert stalls_in(cycle, limits)[0] == 3100


def test_a_visit_that_comes_before_it_has_gathered_its_writes_is_the_first_stall() -> None:
    cycle = np.full(6000, 0.1)
    cycle[192:4000:128] = 636.0
    cycle[4028::128], cycle[[4028, 4030]] = 636.0, (392.0, 852.0)
    cycle[4627::598] = 979.0
    limits = Limits.of(cycle[:1500], append.Journal(120, 237.0), gathered=True)
    assert stalls_in(cycle, limits)[0] == 4028
    # Where none is out of turn, the first that is long is the first.
    cycle = np.full(6000, 0.1)
    cycle[192::128], cycle[4627::598] = 636.0, 979.0
    assert stalls_in(cycle, limits)[0] == 4627


def test_a_host_that_is_late_once_is_no_first_stall_before_passes_that_clean_many_bands() -> None:
    cycle = np.full(12_000, 0.1)
    cycle[192::128] = 17.0
    # It comes as much sooner than a visit, but 10 ms made no room for the 3,291 writes up to the next one.
    cycle[637] = 11.0
    cycle[3928::3800] = 2430.0
    limits = Limits.of(cycle[:1500], append.Journal(120, 389.0), gathered=True)
    assert stalls_in(cycle, limits)[0] == 3928


def test_durable_writes_shorter_than_a_host_is_late_have_as_many_journals_as_visits() -> None:
    cycle = np.full(4500, 1.0)
    cycle[[57, 133, 311, 388, 545]] = [5.0, 6.0, 7.0, 8.0, 9.0]
    cycle[233::240] = 353.0
    limits = Limits.of(cycle[:1500], append.Journal(240, 352.0))
    assert not len(stalls_in(cycle, limits))
    cycle[2400::603] = 409.0
    assert stalls_in(cycle, limits)[0] == 2400


def test_a_stall_that_is_longer_than_a_visit_with_the_journal_is_none_of_both() -> None:
    cycle = np.full(4500, 0.2)
    cycle[192::128] = 734.0
    cycle[[1984, 3904]] = 935.0
    cycle[2132] = 1305.0
    cycle[2731::600] = 1460.0
    limits = Limits.of(_log(np.cumsum(cycle), cycle).part(slice(0, 1500)).cycle_ms, append.Journal(15, 201.0))
    assert stalls_in(cycle, limits)[0] == 2132


def test_a_journal_is_no_stall_where_visits_are_so_rare_that_few_come_early() -> None:
    cycle = np.full(200_000, 0.18)
    cycle[319::319] = 66.0
    cycle[10_208::25_520] = 1345.0
    cycle[163_328] = 1323.0
    limits = Limits.of(_log(np.cumsum(cycle), cycle).part(slice(0, 1500)).cycle_ms, append.Journal(80, 1279.0))
    assert not len(stalls_in(cycle, limits))
    cycle[180_000::300] = 900.0
    assert stalls_in(cycle, limits)[0] == 180_000


@pytest.mark.parametrize("first_ms", [45.0, 66.0])
def test_the_first_visit_may_be_shorter_where_it_comes_sooner(first_ms: float) -> None:
    cycle = np.full(1499, 0.18)
    cycle[192], cycle[511::319] = first_ms, 66.0
    assert Limits.of(cycle, append.Journal(240, 1279.0), gathered=True).usual_ms == 66.0


def test_stalls_are_those_that_come_in_a_row() -> None:
    latency = np.full(9000, 6.0)
    latency[239::240] += 300
    latency[5000] = 2500
    latency[8000::300] = 700
    log = _log(np.cumsum(latency), latency)
    assert stalls_in(log.cycle_ms, Limits(6.0, 300.0))[0] == 8000


def test_a_stall_that_is_none_for_certain_counts_once_one_like_it_is_certain() -> None:
    cycle = np.full(5000, 6.0)
    cycle[1200], cycle[2000], cycle[3798] = 900, 2223, 2886
    assert list(stalls_in(cycle, Limits(6.0, 0.0))) == [2000, 3798]


@pytest.mark.parametrize(
    ("between_ms", "visits", "visit_ms", "first", "stall_ms"),
    [
        (0.1, slice(192, 3800, 192), 289, 3824, 780),
        # It needs not be twice as long as visits that are all alike.
        (3.3, slice(192, 2727, 128), 605, 2727, 1120),
    ],
)
def test_a_stall_is_told_from_visits_that_take_hundreds_of_writes_along(
    between_ms: float, visits: slice, visit_ms: float, first: int, stall_ms: float
) -> None:
    cycle = np.full(9000, between_ms)
    cycle[visits] = visit_ms
    cycle[first::600] = stall_ms
    log = _log(np.cumsum(cycle), cycle)
    assert stalls_in(log.cycle_ms, Limits.of(log.cycle_ms, append.Journal(0, 0.0)))[0] == first


@pytest.mark.parametrize("slots", [5184, 5535, *range(4000, 9000, 371)])
def test_what_is_written_shortly_one_after_the_other_lies_apart(slots: int) -> None:
    places = scattered(slots, 0, slots, 1)
    assert len(np.unique(places)) == slots
    # From any place to those of the next few hundred it is as far as from the first.
    away = np.minimum(places[1:257], slots - places[1:257])
    assert away.min() >= 2


def _logged(space: Callable[[int], float], track_bytes: float) -> np.ndarray:
    """Angles of writes that take so much of a log each, on tracks with a skew of a tenth of a turn."""
    at, rows = 0.0, []
    for size in layout.SIZES:
        places = at + np.arange(48) * space(size)
        at = places[-1] + space(size)
        rows.append((places / track_bytes + 0.1 * np.floor(places / track_bytes)) % 1.0)
    return np.array(rows)


@pytest.mark.parametrize(
    ("visit", "least", "packet", "track"),
    [
        (0.0, 0.0, 1 << 40, 1_900_544),
        (0.5, 0.0, 1 << 40, 1_900_544),
        (0.0, 0.4, 524_288, 1_900_544),
        (0.5, 0.4, 524_288, 1_900_544),
        # A full packet takes more than the least: only those that are not full leave gaps.
        (0.0, 0.4, 524_288, 1_224_704),
        # Not every packet holds a power of two.
        (0.0, 0.22, 393_216, 1_396_736),
        (0.0, 0.35, 655_360, 1_630_208),
        # From one size to the next it is nearly a turn, or a little more.
        (0.5, 0.0, 1 << 40, 270_336),
    ],
)
def test_angles_tell_what_a_visit_and_a_packet_take(visit: float, least: float, packet: int, track: int) -> None:
    angles = _logged(lambda size: visit * track + layout.packed_bytes(size, packet, least * track), track)
    jitter = np.random.default_rng(3).normal(0, 0.004, angles.shape)
    found = layout.estimate((angles + jitter) % 1.0, track / 1.1, track)
    assert found.visit_tracks.value == pytest.approx(visit, abs=0.02)
    assert found.packet_tracks.value == pytest.approx(least, abs=0.02)
    assert found.space_bytes(1 << 20) == pytest.approx(
        visit * track + layout.packed_bytes(1 << 20, packet, least * track), rel=0.02
    )


@pytest.mark.parametrize("packet", [65_536, 131_072, 200_704, 393_216, 524_288, 655_360, 720_896])
def test_a_packet_that_holds_no_power_of_two_is_not_told_for_one_that_does(packet: int) -> None:
    turn_ms, track = 10.0, 1_900_544.0
    groups, sizes = np.array(append.GROUPS), np.array(append.SIZES)
    by_size = 0.9 + 0.2 * np.ceil(sizes / packet) + sizes / track
    by_group = 0.9 + 0.2 * np.ceil(groups / 5) + groups * 4096 / track
    seen = append.Visits(groups, by_group * turn_ms, sizes, by_size * turn_ms, write_back=True)
    found = append.estimate(seen, turn_ms, layout.Layout.without_gaps(track), 0.1, 500.0)
    assert found.packet_bytes
    assert found.packet_bytes.low <= packet <= found.packet_bytes.high <= 2 * found.packet_bytes.low
    assert found.packet_turns.value == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("write_back", [True, False])
def test_what_a_visit_costs_is_found_to_the_overhead_of_a_command(write_back: bool) -> None:
    overhead_ms, link_mb_s, turn_ms, track = 0.15, 400.0, 8.0, 1_900_544.0
    groups, sizes = np.array([1, 2, 3, 4, 6, 8, 12, 16]), np.array(append.SIZES)
    blank = append.Visits(groups, 0.0 * groups, sizes, 0.0 * sizes, write_back)
    by_group, by_size = append.host_share_ms(blank, overhead_ms, link_mb_s)
    # A drive that answers from memory visits the log once a group; any other for the first, then for all others.
    visits = np.ones(len(groups)) if write_back else np.where(groups > 1, 2, 1)
    work = (0.9 * visits + groups * 4096 / track) * turn_ms
    seen = append.Visits(groups, by_group + work, sizes, by_size + (0.9 + sizes / track) * turn_ms, write_back)
    found = append.estimate(seen, turn_ms, layout.Layout.without_gaps(track), overhead_ms, link_mb_s)
    assert found.append_turns.value == pytest.approx(0.9, abs=0.002)
    # Single durable writes: from memory the flush hides its command; to the platters it follows with nothing to do.
    assert by_size[0] == pytest.approx(0 if write_back else 2 * overhead_ms + 4096 / link_mb_s / 1e3)


@pytest.mark.parametrize("group", [1, 4, 48])
@pytest.mark.parametrize("taken_ms", [0.15, 0.25])
def test_what_memory_takes_for_writes_is_no_part_of_the_flush_behind_them(group: int, taken_ms: float) -> None:
    flush_ms = np.where(np.arange(48) % 3 == 2, 15.5, 13.2)
    last = np.repeat(flush_ms, group) * (np.arange(48 * group) % group == group - 1)
    began = np.concatenate([[0.0], np.cumsum(last + taken_ms)])
    log = replace(_log(began[:-1] + taken_ms, np.full(48 * group, taken_ms)), ended_ns=round(began[-1] * 1e6))
    assert append.flushed_ms(log, group) == pytest.approx(13.2, abs=1e-5)


def test_a_flush_is_known_better_than_the_milliseconds_of_its_log() -> None:
    """Where every other visit meets a track's end, and the host is late sometimes: any one of them is 0.27 ms off."""
    off = [_flush_missed_by(np.random.default_rng(seed)) for seed in range(100)]
    assert np.sqrt(np.mean(np.square(off))) < 0.13


def _flush_missed_by(draw: np.random.Generator) -> float:
    flush_ms, late_ms = 13.0 + draw.random(), (draw.random(49) < 0.04) * draw.exponential(3, 49)
    cycles = flush_ms + 0.2 + np.where(np.arange(49) % 2 == 1, 2.3, 0.0) + late_ms
    stamps = np.floor(draw.random() + np.cumsum(cycles))
    log = replace(_log(stamps[:-1], np.full(48, 0.2)), ended_ns=int((stamps[-1] - 0.2) * 1e6), grain_ns=10**6)
    return append.flushed_ms(log, 1) - flush_ms


def test_what_flash_does_while_a_flush_arrives_shows_as_the_flush() -> None:
    overhead_ms, link_mb_s, write_ms, rate_mb_s = 0.198, 550.0, 0.067, 334.0
    groups, sizes = np.array(append.GROUPS), np.array(append.SIZES)
    blank = append.Visits(groups, 0.0 * groups, sizes, 0.0 * sizes, write_back=True)
    by_group, by_size = append.host_share_ms(blank, overhead_ms, link_mb_s)
    work = np.ceil(groups / 4) * write_ms + groups * 4096 / rate_mb_s / 1e3
    work_size = np.ceil(sizes / 524_288) * write_ms + sizes / rate_mb_s / 1e3
    shown, shown_size = np.maximum(work, overhead_ms), np.maximum(work_size, overhead_ms)
    seen = append.Visits(groups, by_group + shown, sizes, by_size + shown_size, write_back=True)
    found = flash.estimate_writes(seen, overhead_ms, link_mb_s)
    assert found.write_ms.value == pytest.approx(write_ms, abs=0.002)
    assert found.bytes_held is not None and found.bytes_held.value == 524_288
    assert found.writes_held is not None and found.writes_held.value == 4


def test_flash_is_told_from_the_link() -> None:
    overhead_ms, link_mb_s, rate_mb_s, write_ms = 0.1, 550.0, 400.0, 0.12
    groups, sizes = np.array(append.GROUPS), np.array(append.SIZES)
    blank = append.Visits(groups, 0.0 * groups, sizes, 0.0 * sizes, True)
    by_group, by_size = append.host_share_ms(blank, overhead_ms, link_mb_s)
    group_ms = by_group + np.ceil(groups / 4) * write_ms + groups * 4096 / rate_mb_s / 1e3
    size_ms = by_size + np.ceil(sizes / 524_288) * write_ms + sizes / rate_mb_s / 1e3
    jitter = np.random.default_rng(4).normal(0, 0.0005, len(groups) + len(sizes))
    seen = append.Visits(groups, group_ms + jitter[: len(groups)], sizes, size_ms + jitter[len(groups) :], True)
    found = flash.estimate_writes(seen, overhead_ms, link_mb_s)
    assert found.write_ms.low <= write_ms <= found.write_ms.high
    assert 1e-3 / found.ms_per_byte.value == pytest.approx(rate_mb_s, rel=0.03)
    assert found.writes_held is not None and found.writes_held.value == 4
    assert found.bytes_held is not None and found.bytes_held.value == 524_288


def _run(gaps: np.ndarray) -> Log:
    latency = np.full(int(gaps.sum()) + 1, 0.2)
    latency[np.cumsum(gaps)] = 30.0
    log = _log(np.cumsum(latency), latency)
    return Log(log.submitted_ns, log.completed_ns, log.offsets, log.lengths * 7, log.verbs, log.ended_ns)


def test_what_memory_writes_at_once_lies_between_its_waits() -> None:
    gaps = np.full(60, 75)
    # A late answer of the host parts a few.
    gaps[[20, 21, 40, 41]] = [30, 45, 60, 15]
    found = destage.estimate(_run(gaps), 5.0)
    assert found is not None
    assert found.low <= 75 * 28_672 <= found.high
    assert found.value == pytest.approx(75 * 28_672, rel=0.01)


def test_irregular_waits_tell_nothing_of_what_memory_writes() -> None:
    assert destage.estimate(_run(np.random.default_rng(5).integers(10, 300, 60)), 5.0) is None


def test_writes_that_tell_of_the_memory_are_no_stream() -> None:
    one = Estimate.around(8 << 20, 1)
    streams = Streams(Estimate(65_536, 32_768 + 512, 65_536), one, one)
    assert destage.request_bytes(streams) == 28_672
    assert destage.request_bytes(None) == 57_344
    assert destage.request_bytes(Streams(Estimate(4096, 512, 4096), one, one)) is None


def test_bands_that_do_not_have_as_many_tracks_everywhere_are_not_identified() -> None:
    assert bands_origin([19.9, 20.9, 19.9], "20 MB").startswith("measured")
    assert bands_origin([15.1, 16.8, 8.5], "16 MB").startswith("assumed: not identified; places disagree")
    assert bands_origin([], "") == "assumed: not identified"


def test_a_memory_is_full_where_waits_begin_to_follow_each_other_and_not_where_a_host_is_late() -> None:
    burst = np.full(400, 0.1)
    burst[150::64] = 12.0
    assert until_full(burst, 2.0) == 150
    late = burst.copy()
    late[[30, 77]] = 4.0
    assert until_full(late, 2.0) == 150
    assert until_full(np.full(400, 0.1), 2.0) is None
    rare = np.full(3000, 0.18)
    rare[192::309] = 55.0
    assert until_full(rare, 2.2) == 192
    rare[[192, 501, 810, 1119]], rare[[192, 300, 777]] = 0.18, 55.0
    assert until_full(rare, 2.2) is None
    # One visit that takes the memory along is longer than all that a host is late by before.
    visit = np.full(256, 0.2)
    visit[[37, 57, 68, 119, 192]] = 14.0, 3.0, 8.0, 4.0, 270.0
    assert until_full(visit, 2.4) == 192
    # The first of large writes that waits may be lucky with its angle, and the one behind it does not wait at all.
    large = np.full(150, 2.1)
    large[32::2] = 31.6
    large[32] = 8.8
    assert until_full(large, 4.2) == 32
    never = np.full(400, 0.1)
    never[np.random.default_rng(2).random(400) < 0.04] = 3.0
    assert until_full(never, 2.0) is None
    # At 10,000 turns the heads are never far from one of 64: all waits are shorter than a quarter of a turn.
    soon = np.full(256, 0.04)
    soon[65::2] = np.random.default_rng(3).uniform(1.2, 1.5, 96)
    assert until_full(soon, 1.53) == 65
    soon[[20, 49]] = 1.4
    assert until_full(soon, 1.53) == 65
    never[never > 1.0] = 1.4
    assert until_full(never, 1.53) is None


class _Late(Uninterrupted):
    """Keeps some ranges that were read; now and then its host is late."""

    capacity_bytes = 1 << 40

    def __init__(self, kept: int, late: float) -> None:
        self._kept, self._late, self._draw = kept, late, np.random.default_rng(8)

    def idle(self, duration_ns: int) -> None:
        raise AssertionError(duration_ns)

    def play(self, name: str, trace: Trace) -> Log:
        latency = np.full(len(trace), 9.0)
        half = len(trace) // 2
        # The newest is still being read on.
        latency[half : half + self._kept + 1] = 0.1
        latency[self._draw.random(len(trace)) < self._late] += 3.0
        return _log(np.cumsum(latency), latency)


@pytest.mark.parametrize("late", [0.0, 0.02, 0.04])
def test_ranges_that_are_kept_are_counted_past_late_answers(late: float) -> None:
    bench = _Late(16, late)
    assert [dram.read_segments(bench, 0.4) for _ in range(20)] == [16] * 20


@pytest.mark.parametrize(("writes", "mib", "by_number"), [(128, 129, True), (128, 96, False), (None, 129, True)])
def test_as_many_large_writes_as_small_ones_tell_no_bytes(writes: int | None, mib: int, *, by_number: bool) -> None:
    assert dram.Bursts(True, writes, mib << 20).end_by_number == by_number


def test_a_memory_is_as_large_as_most_looks_say() -> None:
    assert dram.middle([192, 190, 37]) == 190
    assert dram.middle([192, 37, 90]) is None
    assert dram.middle([192, None, None]) is None


def test_tracks_that_the_rate_contradicts_are_jumps_of_the_host() -> None:
    skew = Estimate.around(0.25, 0.01)
    seen = Tracks(Estimate.around(368_640, 4096), skew, skew, 4)
    assert agrees(seen, 368_640 / 1.25)
    assert not agrees(replace(seen, track_bytes=Estimate.around(106_496, 4096)), 368_640 / 1.25)


def test_tracks_inside_that_differ_otherwise_than_rates_do_are_jumps_of_the_host() -> None:
    skew = Estimate.around(0.2, 0.01)
    outer, inner = (Tracks(Estimate.around(size, 4096), skew, skew, 4) for size in (800_000, 393_216))
    assert share_skews(inner, 40.0, outer, 81.0)
    assert not share_skews(replace(inner, track_bytes=Estimate.around(356_352, 4096)), 40.0, outer, 81.0)


def test_the_last_visits_to_a_log_tell_how_large_a_packet_may_be() -> None:
    """Visits of half a turn with up to 64 writes, each of which is counted as a packet of a MiB."""
    turn_ms, track, room = 10.0, 950_272, 300 << 20
    cycles: list[float] = []
    while (packets := min(room >> 20, 64)) > 0:
        visit_ms = 0.5 * turn_ms + packets * 4096 / track * turn_ms
        cycles += [0.1] * (packets - 1) + [max(visit_ms - 0.1 * (packets - 1), 0.1)]
        room -= packets * 4096
    lost_ms = ebb_ms(np.array(cycles))
    free = Estimate(0.0, 0.0, 0.0)
    cost = append.Append(Estimate(0.5, 0.45, 0.55), free, None, Estimate.around(1, 0), 0.0)
    assert lost_ms is not None
    found = ebb.packet_bytes(lost_ms, cost, layout.Layout.without_gaps(track), turn_ms, 0.1)
    assert found is not None
    assert found.value == pytest.approx(1 << 20, rel=0.05)
    assert found.low < 1 << 20 < found.high
    assert ebb.packet_bytes(1.0, cost, layout.Layout.without_gaps(track), turn_ms, 0.1) is None


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_at_once_shows_though_the_host_is_late(seed: int) -> None:
    """A wait every 74 writes, a journal now and then, and one answer in fifty a few ms late."""
    draw = np.random.default_rng(seed)
    latency = np.full(4000, 0.12)
    latency[500::74] = 100.0
    latency[500 :: 74 * 12] = 400.0
    late = draw.random(4000) < 0.02
    latency[late] += draw.exponential(4.0, int(late.sum()))
    found = destage.estimate(_log(np.cumsum(latency), latency), 2.2)
    assert found is not None, f"seed {seed}"
    assert found.low <= 74 * 4096 <= found.high, f"seed {seed}"
