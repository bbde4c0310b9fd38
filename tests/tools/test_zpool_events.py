"""When a resilver began and ended, by the events that ZFS keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shakedown.tools.zpool_status import span_by_events_ns

EVENTS = """\
Nov 14 2023 22:13:24.110000000\tsysevent.fs.zfs.config_sync
Nov 14 2023 22:13:25.250000001\tsysevent.fs.zfs.resilver_start
Nov 14 2023 22:13:26.000000000\tsysevent.fs.zfs.history_event
Nov 14 2023 22:14:25.750000003\tsysevent.fs.zfs.resilver_finish
Nov 14 2023 22:14:26.000000000\tsysevent.fs.zfs.vdev_attach
"""


BEGAN_NS = 1_700_000_005_250_000_001


def test_from_the_beginning_to_the_end() -> None:
    assert span_by_events_ns(EVENTS) == (BEGAN_NS, BEGAN_NS + 60_500_000_002)


def test_the_last_of_several_counts() -> None:
    later = EVENTS.replace(" 22:", " 23:").replace("23:14:25.75", "23:13:26.75")
    began_ns = BEGAN_NS + 3_600_000_000_000
    assert span_by_events_ns(EVENTS + later) == (began_ns, began_ns + 1_500_000_002)


def test_one_that_is_not_over_has_no_end() -> None:
    assert span_by_events_ns(EVENTS + EVENTS[: EVENTS.index("Nov 14 2023 22:14:25")]) == (BEGAN_NS, None)
    assert span_by_events_ns("") == (None, None)


@given(st.text())
def test_any_text_is_read_without_a_complaint(text: str) -> None:
    assert span_by_events_ns(text + "\nFeb 31 2023 22:13:25.250000001\tsysevent.fs.zfs.resilver_start") == (None, None)
