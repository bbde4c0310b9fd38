"""Why a profile cannot be a drive: it is wrong itself, or ``--scale`` divides it by too much."""

from __future__ import annotations

from pathlib import Path

from shakedown import _core
from shakedown.errors import UsageError


def profile_refusal(path: Path, profile: str, scale_divisor: int, error: _core.ProfileError) -> UsageError:
    """The error for the profile in ``path``, whose text the core has refused at a scale."""
    largest = _largest_divisor(profile, scale_divisor)
    if largest == 0:
        return UsageError(f"{path}: {error}", hint="docs/profiles.md tells what a profile may say")
    return UsageError(
        f"`--scale 1/{scale_divisor}` makes {path.stem} too small to be a drive: {error}",
        hint=f"the smallest it can be: `--scale 1/{largest}`",
    )


def _largest_divisor(profile: str, refused: int) -> int:
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


def _is_drive(profile: str, divisor: int) -> bool:
    try:
        _core.Machine(profile, seed=1, scale_divisor=divisor)
    except _core.ProfileError:
        return False
    return True
