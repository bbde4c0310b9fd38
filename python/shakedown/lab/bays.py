"""The drives of a lab, made as they were ordered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from shakedown import _core
from shakedown.data import profile_path
from shakedown.errors import EnvironmentFailure, UsageError
from shakedown.lab.disks import MOST_DISKS
from shakedown.lab.keep import Maker
from shakedown.named_file import read_named_text
from shakedown.toml import FAULTS_HINT

Bus = Literal["scsi", "blk"]

SPILL_FOLDER: Final = Path("/var/tmp")


def make_lab(
    folder: Path,
    drives: Sequence[str],
    *,
    bus: Bus,
    seed: int,
    scale_divisor: int,
    faults: Mapping[int, str],
    power_may_fail: bool,
    kept: Sequence[Path] = (),
) -> _core.Lab:
    """Clock and drives with their sockets in ``folder``; ``faults`` by the drive's number. Raises UsageError.

    ``kept`` are the folders of ``shakedown.lab.keep``, one a drive, or none.
    """
    if len(drives) > MOST_DISKS:
        raise UsageError(f"{len(drives)} drives are too many for one guest", hint=f"at most {MOST_DISKS}")
    made: list[_core.LabDrive] = [
        {
            "profile_toml": _profile(text),
            "seed": seed + number,
            "scale_divisor": scale_divisor,
            "front": bus,
            "serial": "",
            "store_path": str(kept[number] / "data") if kept else None,
            "history_path": str(kept[number] / "requests") if kept else None,
            "faults_toml": faults.get(number, ""),
            "power_may_fail": power_may_fail or number in faults,
        }
        for number, text in enumerate(drives)
    ]
    try:
        return _core.Lab(str(folder), made, spill_folder=str(SPILL_FOLDER))
    except _core.ProfileError as error:
        scaled = "; a drive too small for its parts needs a smaller divisor for --scale" if scale_divisor > 1 else ""
        raise UsageError(f"no drive for the lab: {error}", hint=f"docs/profiles.md has the limits{scaled}") from error
    except ValueError as error:
        raise UsageError(f"a fault cannot be as ordered: {error}", hint=FAULTS_HINT) from error
    except OSError as error:
        hint = "a kept drive that is damaged has to go: remove its folder behind DIR/drives" if kept else ""
        raise EnvironmentFailure(f"the lab's drives cannot be made: {error}", hint=hint) from error


def makers(drives: Sequence[str], *, seed: int, scale_divisor: int) -> list[Maker]:
    """What decides which drives those are. Raises UsageError."""
    return [Maker(text, _profile(text), seed + number, scale_divisor) for number, text in enumerate(drives)]


def _profile(target: str) -> str:
    if not target.startswith("model:"):
        raise UsageError(f"`--drive {target}`: only modelled drives", hint="like `--drive model:wd40efax`")
    return read_named_text(profile_path(target.removeprefix("model:")), hint="docs/profiles.md tells what it may say")
