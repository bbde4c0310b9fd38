"""What a text of the model arena names: a profile made into a drive, or an array of such drives in a box."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shakedown import _core
from shakedown.data import profile_path
from shakedown.errors import UsageError
from shakedown.result.part import part_divisor
from shakedown.target.profile import WHAT_IT_MAY_SAY, read_profile
from shakedown.toml import parse_toml
from shakedown.units import format_size


@dataclass(frozen=True)
class Modelled:
    """A machine of the core and what is known of it; ``shingled`` is None where a profile does not say.

    ``part_divisor`` is how many times smaller its profile is than the drive that it is the twin of.
    """

    machine: _core.Machine
    name: str
    shingled: bool | None
    details: dict[str, str]
    part_divisor: int = 1


def modelled_drive(text: str, *, seed: int, scale_divisor: int) -> Modelled:
    """``model:NAME`` or ``model:./file.toml``, so many times smaller. Raises UsageError."""
    path = profile_path(text.removeprefix("model:"))
    profile = read_profile(path)
    machine = _machine(path, profile, seed=seed, scale_divisor=scale_divisor)
    return Modelled(machine, path.stem, is_shingled(profile), {"profile": path.name}, profile_part(profile))


def profile_part(profile: str) -> int:
    """How many times smaller a profile is than the drive that it is the twin of; 1 if it is of a whole one."""
    return part_divisor(str(parse_toml(profile)["identity"]["model"]["value"]))


def is_shingled(profile: str) -> bool | None:
    """What the profile says of the recording: its translation layer's kind. None where it does not say."""
    kind = parse_toml(profile).get("translation", {}).get("kind")
    name = kind.get("value") if isinstance(kind, dict) else kind
    return None if name is None else name == "shingled"


def told_model(target: str) -> str:
    """The model number that ``model:NAME`` says it is. Raises UsageError."""
    path = profile_path(target.removeprefix("model:"))
    profile = read_profile(path)
    check_profile(path, profile)
    return str(parse_toml(profile)["identity"]["model"]["value"])


def physical_sector_bytes(profile: str) -> int:
    """What the profile's platters are written in; what leaves it out means 4096, as the core does."""
    told = parse_toml(profile).get("geometry", {}).get("physical_sector_bytes")
    return int(told["value"]) if told else 4096


def hint_of(error: _core.ProfileError) -> str:
    """What to do about a profile that the core refuses."""
    return f"{error.hint}; {WHAT_IT_MAY_SAY}"


def profile_refusal(path: Path, profile: str, scale_divisor: int, error: _core.ProfileError) -> UsageError:
    """The error for the profile in ``path``, refused by the core: it is wrong, or scaled too far."""
    largest = largest_divisor(profile, scale_divisor)
    if largest == 0:
        return UsageError(f"{path}: {error}", hint=hint_of(error))
    return UsageError(
        f"a scale of 1/{scale_divisor} makes {path.stem} too small to be a drive: "
        f"{left_by_scale(profile, scale_divisor, error)}",
        hint=f"the smallest it can be: 1/{largest}",
    )


def left_by_scale(profile: str, scale_divisor: int, error: _core.ProfileError) -> str:
    """What a scale leaves of a drive that is none any more: the core tells of scaled values, which nobody wrote."""
    if "`geometry.capacity_bytes`" not in str(error):
        return str(error)
    whole = parse_toml(profile)["geometry"]["capacity_bytes"]["value"]
    return f"{format_size(whole / scale_divisor)} of {format_size(whole)}"


def check_profile(path: Path, profile: str) -> None:
    """Raise UsageError if a profile, which is or will be in ``path``, is no drive."""
    _machine(path, profile, seed=1, scale_divisor=1)


def _machine(path: Path, profile: str, *, seed: int, scale_divisor: int) -> _core.Machine:
    try:
        return _core.Machine(profile, seed=seed, scale_divisor=scale_divisor)
    except _core.ProfileError as error:
        raise profile_refusal(path, profile, scale_divisor, error) from error


def largest_divisor(profile: str, refused: int) -> int:
    """The largest divisor below a refused one with which the profile is a drive; 0 if it is none even as it stands."""
    works, fails = 0, refused
    while fails - works > 1:
        # The first guess is the whole drive: most profiles that are refused are wrong as they stand.
        guess = (works + fails) // 2 if works else 1
        if _is_drive(profile, guess):
            works = guess
        elif works:
            fails = guess
        else:
            break
    return works


def modelled_capacity_bytes(target: str, profile: str, scale_divisor: int) -> int:
    """The size of the drive that a profile describes, scaled. Raises UsageError."""
    try:
        return _core.Machine(profile, seed=1, scale_divisor=scale_divisor).capacity_bytes
    except _core.ProfileError as error:
        path = profile_path(target.removeprefix("model:"))
        raise profile_refusal(path, profile, scale_divisor, error) from error


def _is_drive(profile: str, divisor: int) -> bool:
    try:
        _core.Machine(profile, seed=1, scale_divisor=divisor)
    except _core.ProfileError:
        return False
    return True
