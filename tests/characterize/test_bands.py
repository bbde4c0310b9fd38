"""Bands through a host that is late too often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from shakedown.fit import bands
from shakedown.fit.bands import Bands
from shakedown.fit.estimate import Estimate
from shakedown.fit.whereabouts import Sight


@pytest.mark.parametrize(("fine_mb", "found_mb"), [(22.1, 22.1), (1.65, 22.6)])
def test_bands_that_are_narrower_than_fine_steps_can_show_are_those_of_coarse_steps(
    fine_mb: float, found_mb: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = iter([Bands(Estimate.around(size * 1e6, 1e5), 0) for size in (22.6, fine_mb)])
    monkeypatch.setattr(bands, "watch_home", lambda *_: None)
    monkeypatch.setattr(bands, "estimate", lambda _: next(seen))
    bench = cast(Any, SimpleNamespace(capacity_bytes=12_000_000_000))
    found, _ = bands.measure(bench, 0.5, Sight(10.0), 1000.0)
    assert found
    assert found.size_bytes.value == pytest.approx(found_mb * 1e6)
