"""The options with which a user gives data up, the same wherever something is overwritten."""

from typing import Annotated, Final

from cyclopts import Parameter

from shakedown.device.disk.facts import Consent
from shakedown.errors import UsageError

DestroyDataOn = Annotated[
    tuple[str, ...],
    Parameter(
        show_default=False,
        help="a target whose data may be overwritten: a file's path, a disk's serial number or WWN (repeatable)",
    ),
]
AllowSignature = Annotated[
    tuple[str, ...],
    Parameter(
        show_default=False, help="what may be on a disk that is overwritten: ext4, gpt, crypto_LUKS, ... (repeatable)"
    ),
]
PlanOnly = Annotated[
    bool,
    Parameter(
        show_default=False, help="only say what would be done to real drives, if it may be, or how long the lab takes"
    ),
]
"""Of a verb that makes arrays."""

_NOT_REAL: Final = ("model:", "lab:")


def refuse_needless_consent(given: Consent, *targets: str | None) -> None:
    """Raise UsageError if data was given up and none of these targets, of which some may be left out, is real."""
    if all(target.startswith(_NOT_REAL) for target in targets if target is not None):
        refuse_consent(given)


def refuse_consent(given: Consent) -> None:
    """Raise UsageError if data was given up where no drive is real: somebody meant another target."""
    if given != Consent():
        raise UsageError(
            "no drive of it is real: there is nothing to destroy",
            hint="leave `--destroy-data-on` and `--allow-signature` out",
        )
