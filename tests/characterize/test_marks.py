"""Marks of a lazy drive through a host that is late now and then."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from characterize.blind import Truth, changed, wild
from characterize.measured import measured
from shakedown.fit.cache import Cache, mark
from shakedown.fit.cleaning import marks
from shakedown.fit.cleaning.marks import Marks
from shakedown.fit.drive.whereabouts import Sight, Watch
from shakedown.fit.estimate import Estimate
from shakedown.fit.log import length
from shakedown.fit.log.layout import Layout
from shakedown.fit.trace import BLOCK_BYTES, Bench, Log


class _Late:
    """Blocks at known angles, of which a tenth come late in every look."""

    sight = Sight(10.0)

    def __init__(self) -> None:
        self.at = np.linspace(0.0, 0.9, 40)
        self._draw = np.random.default_rng(4)

    def angles(self) -> np.ndarray:
        late = np.zeros(40)
        late[self._draw.choice(40, 4, replace=False)] = 0.2
        return (self.at + late) % 1.0


def test_what_comes_late_in_one_look_has_not_moved() -> None:
    late = _Late()
    watch = cast(Watch, late)
    before = marks.twice(watch)
    assert marks.moved(watch, before).sum() == 0
    late.at[10:20] = (late.at[10:20] + 0.4) % 1.0
    assert marks.moved(watch, before)[10:20].sum() >= 6


def test_what_a_host_let_seem_away_in_one_look_would_not_be_seen_to_come() -> None:
    """A low mark of 0.631 for 0.6: the last mark that came lay at its old angle, and one look was late."""
    home = np.zeros(4)
    before = (np.array([0.5, 0.2, 0.5, 0.0]), np.array([0.5, 0.0, 0.8, 0.0]))
    watch = cast(Watch, SimpleNamespace(home=home, sight=Sight(8.0)))
    assert marks.surely_left(watch, before).tolist() == [True, False, False, False]


def test_where_the_oldest_marks_end_one_that_strays_and_one_that_is_missed_do_not_count() -> None:
    came, left = np.zeros(40, bool), np.ones(40, bool)
    came[:14] = True
    came[5], came[33] = False, True
    assert marks.oldest_cleaned(came, left) == (14, 14)
    left[14] = False
    assert marks.oldest_cleaned(came, left) == (14, 15)


def test_marks_that_contradict_each_other_are_not_known() -> None:
    """A low one above the high one makes no profile: so a drive over NBD on a busy machine got no twin."""
    seen = marks.Marks(high=Estimate(0.55, 0.53, 0.56), low=Estimate(0.6, 0.59, 0.61), step=0.025)
    cache = Cache("outer", lazy=True, marks=seen)
    assert mark(cache, "high_mark", 1) is None
    assert mark(cache, "low_mark", 1) is None


def test_the_last_pass_may_have_gone_below_the_low_mark_by_all_of_its_bands_but_one() -> None:
    seen = marks.Marks(high=Estimate(0.56, 0.53, 0.57), low=Estimate(0.441, 0.429, 0.453), step=0.012)
    cache = Cache("outer", lazy=True, marks=seen)
    by_one, by_eight = (mark(cache, "low_mark", bands) for bands in (1, 8))
    assert by_one == seen.low
    assert by_eight is not None
    assert by_eight.low == seen.low.low
    assert by_eight.high == min(seen.low.high + 7 * seen.step, seen.high.high)


@pytest.mark.parametrize("visits", [1, 5])
def test_the_end_of_a_log_is_told_from_a_journal_that_comes_often(visits: int) -> None:
    """A bridge made five visits of a large write, one journal came each 30 of them, and no end of the log was met."""
    marked, first, count = 192, 9000, 12_000
    large = np.arange(count) % 2 == 1
    large[2 * marked :] = True
    late = np.diff(np.cumsum(np.where(large, visits, 1)) // 150, prepend=0) * 240.0
    late[first : first + 4 * marked // 4 * 4 : 4] += 900.0
    ended = np.cumsum((np.where(large, 63.0, 20.0) + late) * 1e6).astype(np.int64)
    began = np.concatenate([[0], ended[:-1]])
    lengths = np.where(large, 1 << 20, BLOCK_BYTES)
    log = Log(began, began + 1_000_000, lengths * 0, lengths, lengths * 0, int(ended[-1]))
    found = length.estimate(log, Layout.without_gaps(1e6), 4 << 20)
    assert found
    assert found.bytes_found.value == pytest.approx(float(lengths[:first].sum()), rel=0.003)


@pytest.mark.parametrize("every", [150, 0])
def test_a_journal_is_no_pass_over_marks(every: int) -> None:
    """Between passes of 13 small bands came as many journals: six to nine bands of a pass were told."""
    marked, first, count = 192, 4680, 6600
    large = np.arange(count) % 2 == 1
    large[2 * marked :] = True
    late = np.zeros(count)
    if every:
        late[every - 1 :: every] = 1500.0
    late[first : first + 4 * 52 : 52] += 4400.0
    ended = np.cumsum((np.where(large, 32.0, 20.0) + late) * 1e6).astype(np.int64)
    began = np.concatenate([[0], ended[:-1]])
    lengths = np.where(large, 1 << 20, BLOCK_BYTES)
    log = Log(began, began + 1_000_000, lengths * 0, lengths, lengths * 0, int(ended[-1]))
    found = length.estimate(log, Layout.without_gaps(1.6e6), 4 << 20)
    assert found
    assert found.journal.every == every
    assert found.passes == pytest.approx(4, abs=0.1)
    assert found.spacing == pytest.approx(52, abs=0.5)


def _marks(truth: Truth, folder: Path) -> Marks:
    found = measured(truth, folder).facts.cache
    assert found
    assert found.marks
    return found.marks


def test_marks_of_long_bands_have_a_band_each(tmp_path: Path) -> None:
    """Three marks in a band of 300 MB came home together: a low mark of 0.09 for 0.22."""
    lazy = {"when": "lazy", "high_mark": 0.66, "low_mark": 0.22}
    new: dict[str, object] = {f"translation__cleaning__{key}": value for key, value in lazy.items()}
    truth = changed(
        "wd40efax", translation__tracks_per_band=211, translation__cache__bytes=5 * 10**9 // 4096 * 4096, **new
    )
    found = _marks(truth, tmp_path)
    assert found.low.value == pytest.approx(0.22, abs=0.02)
    assert found.low.low <= 0.22 <= found.low.high


def test_fillers_that_a_border_cuts_fill_more(tmp_path: Path) -> None:
    """One of 24 took three packets for two: 0.714 to 0.763 was told for a mark of 0.77, and 0.665 to 0.690 for 0.69."""
    truth = wild(7918)
    found = _marks(truth, tmp_path)
    for key, one in (("high_mark", found.high), ("low_mark", found.low)):
        assert one.low <= truth.values[f"translation.cleaning.{key}"] <= one.high


def test_how_much_more_they_fill_goes_by_how_many_borders_there_may_be() -> None:
    # Packets of a MB and their gaps, so that a filler of a MB that is cut takes twice as much.
    sure = Estimate.around(1.0, 0.0)
    bench = cast(Bench, SimpleNamespace(capacity_bytes=1 << 43))
    filler = length.Filler(bench, Layout(Estimate.around(0.0, 0.0), sure, 1 << 20, float(1 << 20)))
    whole = 24 * (filler.size + (64 << 10))
    assert filler.cut(2 * whole) == pytest.approx((1 + 0.5 / 24, 1 + 1 / 24))
    assert filler.cut(whole / 1.5) == pytest.approx((1 + 1.5 / 24, 1 + 2 / 24))
    assert filler.cut(0.0) == pytest.approx((1 + 1 / 24, 1 + 1 / 24))
