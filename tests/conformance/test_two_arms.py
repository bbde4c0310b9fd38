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
# After the collapse of a drive this small, the silence between one fio and the next, which virtual time does not have,
# decides how many of its few bands are clean: the held rate and the length of the drain are not compared, only that
# both arms end every step for the same reason.
COMPARED = {("throughput", "new"), ("throughput", "used"), ("cliff", "collapse")}
SCALE = "1/100"
SEEDS = range(1, 7)
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
    """A protocol's run in real time, and how to run it on any profile in virtual time, with several seeds."""

    device: Run
    models: Callable[[Path], list[Run]]


def play(protocol: str, target: str, out: Path, *options: str) -> Run:
    settings = [word for name, value in SETTINGS[protocol].items() for word in ("--set", f"{name}={value}")]
    done = shakedown("run", protocol, target, *settings, *options, "--out", out, "--quiet", cwd=out.parent)
    assert done.returncode in (0, 1, 3), done.stderr  # whatever the verdict
    return read_run(out)


def in_real_time(protocol: str, folder: Path) -> Run:
    """Through the socket; a second time if the server says that the machine was too noisy to believe the first."""
    for attempt in ("first", "second"):
        with served(f"model:{PROFILE}", folder, scale=SCALE, seed=SEEDS[0]) as server:
            run = play(protocol, server.uri, folder / attempt)
        if server.report["doubt"] is None:
            return run
    pytest.skip(str(server.report["doubt"]))


def in_virtual_time(protocol: str, profile: Path, folder: Path) -> list[Run]:
    """Once for each seed."""
    out = {seed: folder / f"{profile.stem}-{seed}" for seed in SEEDS}
    return [play(protocol, f"model:{profile}", out[seed], "--scale", SCALE, "--seed", str(seed)) for seed in SEEDS]


@pytest.fixture(scope="module", params=SETTINGS)
def arms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arms]:
    protocol, folder = request.param, tmp_path_factory.mktemp("arms")
    device = in_real_time(protocol, folder)

    yield Arms(device, lambda profile: in_virtual_time(protocol, profile, folder))


def differences(models: list[Run], device: Run) -> list[str]:
    """What the two arms do not agree on, in words.

    fio draws its random places from a generator of its own, so no seed of the model draws the same: what is found in
    real time must lie among what several seeds of the model find, give or take the tolerance.
    """
    expected = {tuple(step.ended_because for step in run.record.steps) for run in models}
    ended = tuple(step.ended_because for step in device.record.steps)
    found = [] if ended in expected else [f"steps ended as {ended}, not as in {expected}"]
    for theirs, *ours in zip(device.record.findings, *(run.record.findings for run in models), strict=True):
        where = f"{theirs.kind} of {theirs.step}"
        if (theirs.kind, theirs.step) not in COMPARED:
            continue
        if all((theirs.value is None) != (each.value is None) for each in ours):
            found.append(f"{where}: {ours[0].text} but {theirs.text}")
            continue
        for name, value in _figures(theirs).items():
            among = [figures[name] for figures in map(_figures, ours) if name in figures]
            slack = TOLERANCE * max(among)
            if not min(among) - slack <= value <= max(among) + slack:
                found.append(f"{where}: {name} {value:.4g}, not among {[f'{each:.4g}' for each in sorted(among)]}")
    return found


def _figures(finding: Finding) -> dict[str, float]:
    if finding.value is None:
        return {}
    names = ("requests_before", "iops_before", "rate_before") if finding.kind == "cliff" else ()
    return {"value": finding.value} | {name: float(finding.evidence[name] or 0) for name in names}


def test_both_arms_find_the_same(arms: Arms) -> None:
    models = arms.models(PROFILE)
    assert len(models[0].record.findings) >= 5
    assert differences(models, arms.device) == []


def other_drive(folder: Path) -> Path:
    text = PROFILE.read_text()
    for before, after in OTHER_DRIVE.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "other.toml").write_text(text)
    return folder / "other.toml"


def test_another_drive_on_the_other_side_is_noticed(arms: Arms, tmp_path: Path) -> None:
    assert differences(arms.models(other_drive(tmp_path)), arms.device)


@pytest.mark.parametrize("protocol", SETTINGS)
def test_the_comparison_itself_tells_drives_apart(protocol: str, tmp_path: Path) -> None:
    """Of runs in virtual time, so that it says something on a noisy machine as well."""
    models = in_virtual_time(protocol, PROFILE, tmp_path)
    options = ("--scale", SCALE, "--seed", "77")
    again = play(protocol, f"model:{PROFILE}", tmp_path / "again", *options)
    other = play(protocol, f"model:{other_drive(tmp_path)}", tmp_path / "other", *options)
    assert differences(models, again) == []
    assert differences(models, other)
