"""The device's way: real fio replays exact requests on a drive served over NBD in real time. Two short experiments."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from characterize.blind import small
from serving import served
from shakedown.characterize.bench import ArenaBench
from shakedown.device.disk.facts import Consent
from shakedown.fit.drive import rotation
from shakedown.fit.drive.whereabouts import moved
from shakedown.target.open import open_target

pytestmark = [
    pytest.mark.skipif(find_spec("shakedown._core") is None, reason="the Rust core is not built"),
    pytest.mark.real_time,
]

_PACE = 10_000.0


def _bench(uri: str, folder: Path) -> ArenaBench:
    logs = folder / "logs"
    logs.mkdir()
    (folder / "raw").mkdir()
    arena = open_target(uri, seed=1, scale_divisor=1, raw=folder / "raw", consent=Consent((uri,)), size_bytes=None)
    return ArenaBench(lambda: arena, logs, arena.identity.capacity_bytes // 4096 * 4096)


@pytest.mark.parametrize("shingled", [True, False], ids=["shingled", "conventional"])
def test_fio_sees_the_turn_and_whether_what_is_written_lies_elsewhere(shingled: bool, tmp_path: Path) -> None:
    truth = small(rpm=_PACE, shingled=shingled)
    (tmp_path / "hidden.toml").write_text(truth.toml)
    with served(f"model:{tmp_path / 'hidden.toml'}", tmp_path, scale="1") as server:
        bench = _bench(server.uri, tmp_path)
        _, turn = rotation.measure(bench)
        assert 6e4 / turn.value == pytest.approx(_PACE, rel=0.001)
        found = moved(bench, turn.value)
        assert (found.share > 0.5) is shingled
        assert found.flash_share < 0.5
