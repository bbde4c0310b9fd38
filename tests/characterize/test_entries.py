"""Whether entries or space ended a fill, where neither memory nor packets are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shakedown.fit.cache import Cache, space_bound
from shakedown.fit.drafting.entries import put_entries
from shakedown.fit.estimate import Estimate
from shakedown.fit.log.append import Append, Journal
from shakedown.fit.log.fill import Fill
from shakedown.fit.log.layout import Layout
from shakedown.fit.log.length import Length
from shakedown.fit.twin import Twin

_MET = 200_328
_NONE = Estimate(0.0, 0.0, 0.0)
_LENGTH = Length(Estimate.around(9.08e9, 44e6), 5459.0, 10.0, 26.0, 20.0, 192, 12 << 20, Journal(51, 120.0))


def _cache(taken_ms: float, *, regions: int = 1) -> Cache:
    """A visit takes 0.3 tracks of the log and 0.66 turns."""
    layout = Layout(Estimate.around(0.3, 0.015), _NONE, 1 << 40, 1_499_136.0)
    cost = Append(Estimate.around(0.66, 0.1), Estimate.around(0.13, 0.001), None, None, 0.0)
    filled = Fill(_MET, surely=_MET, ms=taken_ms)
    return Cache("outer", None, 10.64, layout=layout, append=cost, length=_LENGTH, regions=regions, small=filled)


def _entries(cache: Cache) -> tuple[float, str, str, str]:
    """The number, its origin, what counts, and the origin of that."""
    twin = Twin("", "")
    put_entries(twin, cache, 128, space_ends=space_bound(cache, _MET))
    (number, origin), (counts, why) = (twin.sections["translation.cache"][key] for key in ("entries", "entry_counts"))
    assert isinstance(number, int)
    return number, origin, str(counts), why


def test_what_had_no_time_to_take_the_space_is_the_entries() -> None:
    """Each write may have been a visit, and then space ended: but 40 s are 4000 visits. 816,263 packets were told."""
    number, origin, counts, why = _entries(_cache(40_000.0))
    assert number == pytest.approx(200_000, rel=0.002)
    assert origin.startswith(f"measured: {_MET - 268}..{_MET + 12} ")
    assert (counts, "not identified" in why) == ("write", True)


@pytest.mark.parametrize(("regions", "told"), [(1, 200_200), (5, 1_001_000)])
def test_where_either_may_have_ended_the_writes_are_told_as_the_least(regions: int, told: int) -> None:
    number, origin, counts, _ = _entries(_cache(5_000_000.0, regions=regions))
    assert (number, counts) == (told, "write")
    assert origin == "assumed: not identified; at least 200200, where entries or space ended"


def test_what_may_be_a_mark_tells_no_entries() -> None:
    """A lazy drive of which nothing came home in silence may begin to clean there: 4031 were told for 3200."""
    cache = replace(_cache(40_000.0), lazy=True)
    assert _entries(cache)[1].startswith("assumed: not identified; 200060..200340 small writes to the first stall")
    assert _entries(replace(cache, rest_ms=Estimate.around(260.0, 9.0)))[1].startswith("measured: ")
