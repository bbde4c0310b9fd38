"""One protocol, two arms: the model arena in virtual time, and the real fio on the same drive, served in real time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from serving import served, shakedown
from shakedown.analysis.finding import Finding
from shakedown.result.folder import Run, read_run

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")

PROFILE = Path(__file__).parent / "small-shingled.toml"
OTHER_DRIVE = {
    "append_turns = { value = 0.3": "append_turns = { value = 0.6",
    "entries = { value = 250_000": "entries = { value = 200_000",
}
# Probes come in rows with a pause of 1.5 s, and a level is known from two rows: nobody sees a moment more sharply.
RECOVERY_SAMPLING_S = 3.5
SCALE = "1/100"
SEED = "7"
TOLERANCE = 0.05

# Small enough for a minute in real time: collapse, hold and drain included.
SETTINGS = {
    "sequential-32k": {"amount": "96m"},
    "cliff": {
        **{"span": "512M", "limit": "60s", "confirm": "2500ms", "hold": "12s"},
        **{"window": "8s", "patience": "60s", "tail": "1s"},
        **{"probes": "5", "pause": "1500ms", "interval": "100ms", "long_interval": "500ms"},
    },
}


@dataclass(frozen=True)
class Arms:
    """A protocol's run in real time, and how to run it on any profile in virtual time."""

    device: Run
    model: Callable[[Path], Run]


def play(protocol: str, target: str, out: Path, *options: str) -> Run:
    settings = [word for name, value in SETTINGS[protocol].items() for word in ("--set", f"{name}={value}")]
    done = shakedown("run", protocol, target, *settings, *options, "--out", out, "--quiet", cwd=out.parent)
    assert done.returncode in (0, 1, 3), done.stderr  # whatever the verdict
    return read_run(out)


def in_real_time(protocol: str, folder: Path) -> Run:
    """Through the socket; a second time if the server says that the machine was too noisy to believe the first."""
    for attempt in ("first", "second"):
        with served(f"model:{PROFILE}", folder, scale=SCALE, seed=int(SEED)) as server:
            run = play(protocol, server.uri, folder / attempt)
        if server.report["doubt"] is None:
            return run
    pytest.skip(str(server.report["doubt"]))


@pytest.fixture(scope="module", params=SETTINGS)
def arms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arms]:
    protocol, folder = request.param, tmp_path_factory.mktemp("arms")
    device = in_real_time(protocol, folder)

    def model(profile: Path) -> Run:
        return play(protocol, f"model:{profile}", folder / f"model-{profile.stem}", "--scale", SCALE, "--seed", SEED)

    yield Arms(device, model)


def differences(model: Run, device: Run) -> list[str]:
    """What the two arms do not agree on, in words; throughput, the cliff's place and rates, the recovery."""
    pairs = list(zip(model.record.findings, device.record.findings, strict=True))
    ended = [tuple(step.ended_because for step in run.record.steps) for run in (model, device)]
    found = [f"steps ended as {ended[0]} and {ended[1]}"] if ended[0] != ended[1] else []
    for ours, theirs in pairs:
        where = f"{ours.kind} of {ours.step}"
        if (ours.value is None) != (theirs.value is None):
            found.append(f"{where}: {ours.text} but {theirs.text}")
        elif ours.kind in ("throughput", "cliff"):
            found += [
                f"{where}: {name} {a:.4g} and {b:.4g}" for name, a, b in _figures(ours, theirs) if not _near(a, b)
            ]
        elif ours.kind == "recovery" and abs((ours.value or 0) - (theirs.value or 0)) > RECOVERY_SAMPLING_S:
            found.append(f"{where}: {ours.value} and {theirs.value} s")
    return found


def _figures(ours: Finding, theirs: Finding) -> Iterator[tuple[str, float, float]]:
    assert ours.value is not None
    assert theirs.value is not None
    yield "value", ours.value, theirs.value
    if ours.kind == "cliff":
        for name in ("requests_before", "iops_before", "rate_before"):
            yield name, float(ours.evidence[name]), float(theirs.evidence[name])


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * a


def test_both_arms_find_the_same(arms: Arms) -> None:
    model = arms.model(PROFILE)
    assert len(model.record.findings) >= 5
    assert differences(model, arms.device) == []


def other_drive(folder: Path) -> Path:
    text = PROFILE.read_text()
    for before, after in OTHER_DRIVE.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "other.toml").write_text(text)
    return folder / "other.toml"


def test_another_drive_on_the_other_side_is_noticed(arms: Arms, tmp_path: Path) -> None:
    assert differences(arms.model(other_drive(tmp_path)), arms.device)


@pytest.mark.parametrize("protocol", SETTINGS)
def test_the_comparison_itself_tells_drives_apart(protocol: str, tmp_path: Path) -> None:
    """Of runs in virtual time, so that it says something on a noisy machine as well."""
    options = ("--scale", SCALE, "--seed", SEED)
    run = play(protocol, f"model:{PROFILE}", tmp_path / "run", *options)
    again = play(protocol, f"model:{PROFILE}", tmp_path / "again", *options)
    other = play(protocol, f"model:{other_drive(tmp_path)}", tmp_path / "other", *options)
    assert differences(run, again) == []
    assert differences(run, other)
