"""One protocol, two arms: the model arena in virtual time, and the real fio on the same drive, served in real time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from serving import served, shakedown
from shakedown.analysis.finding import Finding
from shakedown.protocol.load import parse_protocol
from shakedown.result.folder import Run, read_run

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")

PROFILE = Path(__file__).parent / "small-shingled.toml"
OTHER_DRIVE = {
    "packet_turns = { value = 0.5": "packet_turns = { value = 0.7",
    "entries = { value = 80_000": "entries = { value = 60_000",
}
SCALE = "1/100"
SEED = 1
TOLERANCE = 0.05
# When a backlog went is known to one row of probes.
PROBES_APART_S = 1.7

# Small enough for a minute in real time: collapse, hold and drain included.
SETTINGS = {
    "sequential-32k": {"amount": "64m"},
    "cliff": {
        **{"span": "512M", "limit": "60s", "confirm": "2500ms", "hold": "10s"},
        **{"window": "20s", "patience": "80s", "tail": "1s"},
        **{"probes": "3", "pause": "1500ms", "interval": "100ms", "long_interval": "500ms"},
    },
}


@dataclass(frozen=True)
class Arms:
    """A protocol's run in real time, what its host added to an answer, and how to run it in virtual time."""

    device: Run
    host_s: float
    model: Callable[[Path], Run]


def play(protocol: str, target: str, out: Path, *options: str) -> Run:
    settings = [word for name, value in SETTINGS[protocol].items() for word in ("--set", f"{name}={value}")]
    done = shakedown("run", protocol, target, *settings, *options, "--out", out, "--quiet", cwd=out.parent)
    assert done.returncode in (0, 1, 3), done.stderr  # whatever the verdict
    return read_run(out)


def in_real_time(protocol: str, folder: Path) -> tuple[Run, float]:
    """Through the socket; a second time if the server says that the machine was too noisy to believe the first.

    Beside other tests it is not played again: what fails there is run once more with nothing beside it.
    """
    is_beside = "TESTS_BESIDE" in os.environ
    for attempt in ("first",) if is_beside else ("first", "second"):
        with served(f"model:{PROFILE}", folder, scale=SCALE, seed=SEED) as server:
            run = play(protocol, server.uri, folder / attempt)
        if server.report["doubt"] is None:
            return run, server.report["lateness_p50_ns"] / 1e9
    return (pytest.fail if is_beside else pytest.skip)(str(server.report["doubt"]))


def in_virtual_time(protocol: str, profile: Path, out: Path, seed: int = SEED) -> Run:
    return play(protocol, f"model:{profile}", out, "--scale", SCALE, "--seed", str(seed))


@pytest.fixture(scope="module", params=SETTINGS)
def arms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arms]:
    protocol, folder = request.param, tmp_path_factory.mktemp("arms")
    device, host_s = in_real_time(protocol, folder)

    yield Arms(device, host_s, lambda profile: in_virtual_time(protocol, profile, folder / f"model-{profile.stem}"))


def differences(model: Run, device: Run, host_s: float = 0.0) -> list[str]:
    """What the two arms do not agree on, in words. ``host_s`` is what the device's host adds to an answer."""
    ended = [tuple(step.ended_because for step in run.record.steps) for run in (model, device)]
    found = [] if ended[0] == ended[1] else [f"steps ended as {ended[0]} and {ended[1]}"]
    for ours, theirs in zip(asked(model), asked(device), strict=True):
        where = f"{theirs.kind} of {theirs.step}"
        if (ours.value is None) != (theirs.value is None):
            found.append(f"{where}: {ours.text} but {theirs.text}")
            continue
        expected = _with_host(_figures(ours), host_s)
        for name, value in _figures(theirs).items():
            resolution = PROBES_APART_S if theirs.kind == "recovery" else 0
            if abs(value - expected[name]) > max(TOLERANCE * expected[name], resolution):
                found.append(f"{where}: {name} {expected[name]:.4g} and {value:.4g}")
    return found


def asked(run: Run) -> list[Finding]:
    """What the protocol asks for. The longest request of each other step is one event of which no two runs agree."""
    specs = parse_protocol(run.record.protocol.text.encode(), "it", run.record.parameters).protocol.findings
    wanted = [(spec.kind, spec.step) for spec in specs]
    return [finding for finding in run.record.findings if (finding.kind, finding.step) in wanted]


def _figures(finding: Finding) -> dict[str, float]:
    if finding.value is None:
        return {}
    names = ("requests_before", "iops_before", "rate_before") if finding.kind == "cliff" else ()
    return {"value": finding.value} | {name: float(finding.evidence[name] or 0) for name in names}


def _with_host(figures: dict[str, float], host_s: float) -> dict[str, float]:
    """Figures of one write after the other, as they are where each takes that much longer."""
    if "iops_before" not in figures:
        return figures
    slower = 1 + figures["iops_before"] * host_s
    return figures | {
        "value": figures["value"] * slower,
        "iops_before": figures["iops_before"] / slower,
        "rate_before": figures["rate_before"] / slower,
    }


@needs_fio
@pytest.mark.real_time
def test_both_arms_find_the_same(arms: Arms) -> None:
    model = arms.model(PROFILE)
    assert len(asked(model)) >= 5
    assert model.record.target.scale_divisor == arms.device.record.target.scale_divisor == 100
    assert differences(model, arms.device, arms.host_s) == []


def other_drive(folder: Path) -> Path:
    text = PROFILE.read_text()
    for before, after in OTHER_DRIVE.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "other.toml").write_text(text)
    return folder / "other.toml"


@needs_fio
@pytest.mark.real_time
def test_another_drive_on_the_other_side_is_noticed(arms: Arms, tmp_path: Path) -> None:
    assert differences(arms.model(other_drive(tmp_path)), arms.device, arms.host_s)


@pytest.mark.parametrize("protocol", SETTINGS)
def test_the_comparison_itself_tells_drives_apart(protocol: str, tmp_path: Path) -> None:
    """Of runs in virtual time, so that it says something on a noisy machine as well, and beside other tests."""
    run = in_virtual_time(protocol, PROFILE, tmp_path / "run")
    again = in_virtual_time(protocol, PROFILE, tmp_path / "again", seed=77)
    other = in_virtual_time(protocol, other_drive(tmp_path), tmp_path / "other", seed=77)
    assert differences(run, again) == []
    assert differences(run, other)
