"""What a twin says of the values that were not found."""

from __future__ import annotations

from shakedown.fit.twin import UNKNOWN, Twin


def test_a_doubted_value_stays_and_counts_as_not_found() -> None:
    twin = Twin("mine", "mine")
    twin.put("dram", "write_bytes", 4096, "measured: 4..5 by characterize")
    twin.put("dram", "destage_idle_ms", 20, f"{UNKNOWN}; a few turns")
    assert [twin.is_unknown("dram", key) for key in ("write_bytes", "destage_idle_ms")] == [False, True]
    twin.doubt("dram", "write_bytes", "nothing agrees with it")
    assert twin.sections["dram"]["write_bytes"] == (4096, "assumed: not identified; nothing agrees with it")
    assert twin.unidentified() == ["dram.write_bytes", "dram.destage_idle_ms"]


def test_what_a_drive_does_not_have_is_not_unknown() -> None:
    assert not Twin("mine", "mine").is_unknown("translation.cleaning", "collect_turns")
