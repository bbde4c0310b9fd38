"""Everything that is found of a drive, in the order in which it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shakedown.fit import append as appends
from shakedown.fit import bands, cleaning, dram, fill, parking, rates, rotation, seek, streams, tracks
from shakedown.fit.estimate import Estimate
from shakedown.fit.placement import Place, place_of_cache
from shakedown.fit.trace import BLOCK_BYTES, Bench
from shakedown.fit.whereabouts import moved_share

RATE_SHARES: Final = tuple(np.linspace(0, 1, 9))
BAND_SHARES: Final = (0.0, 0.5, 1.0)
_MOVED: Final = 0.5
_LARGE_BYTES: Final = 524_288
_REGIONS: Final = 512
_SETTLE_NS: Final = 20_000_000_000
_SETTLE_BANDS: Final = 8

Tell = Callable[[str], None]


@dataclass
class Facts:
    """What was found; None is what was not."""

    capacity_bytes: int
    turn_ms: Estimate
    link: dram.Link
    rates: tuple[Estimate, ...]
    outer: tracks.Tracks | None
    inner: tracks.Tracks | None
    seeks: dict[float, Estimate]
    read_segments: int
    read_ahead: Estimate
    bursts: dram.Bursts
    queue_gain: float
    parking: parking.Parking | None
    moved_share: float
    cache: Cache | None = None

    @property
    def surface(self) -> seek.Surface:
        """Where on the stroke an offset lies."""
        return _surface(self.capacity_bytes, self.rates)

    @property
    def overhead_ms(self) -> float:
        """What every request takes without any motion."""
        return self.link.overhead_us.value / 1e3

    def track_bytes(self, share: float) -> float:
        """Bytes of a track at a share of the capacity, by the rates."""
        outer = self.outer.track_bytes.value if self.outer else self.rates[0].value * self.turn_ms.value / 1e3
        rate = float(np.interp(share, RATE_SHARES, [rate.value for rate in self.rates]))
        return outer * rate / self.rates[0].value


@dataclass
class Cache:
    """What was found of a persistent cache and of what lies behind it."""

    rest_ms: Estimate | None
    place: Place
    bands: dict[float, bands.Bands] = field(default_factory=dict)
    static_share: float | None = None
    band_ms: Estimate | None = None
    streams: streams.Streams | None = None
    append: appends.Append | None = None
    journal: appends.Journal | None = None
    single: fill.Fill | None = None
    """Of small writes, each durable before the next."""
    small: fill.Fill | None = None
    """Of small writes as fast as they are taken."""
    large: fill.Fill | None = None
    """Of writes of half a MiB, each durable before the next."""


def find(bench: Bench, tell: Tell, *, with_parking: bool = True) -> Facts:
    """Measure everything; ``tell`` hears what is measured next."""
    tell("rotation")
    turn = rotation.measure(bench)
    tell("transfer rates")
    found = tuple(rates.measure(bench, float(share)) for share in RATE_SHARES)
    tell("tracks, heads and skews")
    outer = tracks.measure(bench, 0, found[0].value, turn.value, 48)
    last = int(bench.capacity_bytes * 0.995 - 12 * found[-1].value * turn.value / 1e3)
    inner = tracks.measure(bench, last // BLOCK_BYTES * BLOCK_BYTES, found[-1].value, turn.value, 8)
    tell("overhead, link and memory")
    link = dram.link(bench)
    overhead_ms = link.overhead_us.value / 1e3
    surface = _surface(bench.capacity_bytes, found)
    tell("seeks")
    seeks = {share: seek.measure(bench, surface, share, overhead_ms, turn.value) for share in seek.SHARES}
    tell("read-ahead and write buffer")
    hit_ms = overhead_ms + 0.03 * turn.value
    facts = Facts(
        bench.capacity_bytes,
        turn,
        link,
        found,
        outer,
        inner,
        seeks,
        dram.read_segments(bench, hit_ms),
        dram.read_ahead(bench, hit_ms),
        dram.bursts(bench, overhead_ms, turn.value),
        dram.deep_reads_gain(bench),
        None,
        0.0,
    )
    bench.idle(5_000_000_000)
    tell("does what was written lie where it should")
    facts.moved_share = moved_share(bench, turn.value)
    if facts.moved_share > _MOVED:
        facts.cache = _find_cache(bench, facts, tell)
    if with_parking:
        tell("parking of the heads")
        slow_ms = overhead_ms + turn.value + max(one.value for one in seeks.values()) * 1.2 + 20
        facts.parking = parking.measure(bench, slow_ms, turn.value)
    return facts


def _surface(capacity_bytes: int, found: tuple[Estimate, ...]) -> seek.Surface:
    return seek.Surface.of_rates(np.array(RATE_SHARES) * capacity_bytes, np.array([rate.value for rate in found]))


def _find_cache(bench: Bench, facts: Facts, tell: Tell) -> Cache:
    turn_ms, link = facts.turn_ms.value, facts.link
    tell("where the cache lies")
    where = place_of_cache(bench, facts.surface, facts.seeks, facts.overhead_ms, turn_ms)
    tell("when cleaning begins")
    cache = Cache(bands.rest_needed(bench, turn_ms, facts.overhead_ms + turn_ms + 12), where)
    if cache.rest_ms is not None:
        for share in BAND_SHARES:
            tell(f"bands at {share:.0%}")
            seen, static = bands.measure(bench, share, turn_ms, cache.rest_ms.high)
            if seen is not None:
                cache.bands[share], cache.static_share = seen, static
        if 0.5 in cache.bands:
            tell("time to clean a band")
            cache.band_ms = cleaning.band_ms(bench, cache.bands[0.5], turn_ms, cache.rest_ms.value)
    tell("streams")
    cache.streams = streams.measure(bench, turn_ms)
    tell("cost of a cached write")
    seen_visits = appends.visits(bench, turn_ms, write_back=facts.bursts.write_back)
    cache.append = appends.estimate(seen_visits, turn_ms, facts.track_bytes(0), facts.overhead_ms, link.rate_mb_s.value)
    _fill(bench, cache, tell)
    return cache


def _fill(bench: Bench, cache: Cache, tell: Tell) -> None:
    """Three fills, each of which would leave room if another limit held."""
    region = max(bench.capacity_bytes // _REGIONS, 1 << 26)
    rest_ms = cache.rest_ms.high if cache.rest_ms else 0.0
    settle_ns = max(int((rest_ms + _SETTLE_BANDS * (cache.band_ms.high if cache.band_ms else 0.0)) * 1e6), _SETTLE_NS)
    bench.idle(settle_ns)
    tell("fill with small writes, each durable")
    cache.single = fill.fill(
        bench, "fill-single", 0.1, BLOCK_BYTES, flush_every=1, journal_ms=None, region_bytes=region, settle_ns=settle_ns
    )
    cache.journal = appends.journal(cache.single.logs[0])
    tell("fill with small writes, as fast as they are taken")
    cache.small = fill.fill(
        bench,
        "fill-small",
        0.1,
        BLOCK_BYTES,
        flush_every=0,
        journal_ms=cache.journal.ms,
        region_bytes=region,
        settle_ns=settle_ns,
    )
    tell("fill with large writes")
    cache.large = fill.fill(
        bench,
        "fill-large",
        0.15,
        _LARGE_BYTES,
        flush_every=1,
        journal_ms=cache.journal.ms,
        region_bytes=region,
        settle_ns=settle_ns,
    )
