"""The options with which a user gives data up, the same wherever something is overwritten."""

from typing import Final

DESTROY_HELP: Final = (
    "a target whose data may be overwritten: a file's path, a disk's serial number or WWN (repeatable)"
)
SIGNATURE_HELP: Final = "what may be on a disk that is overwritten: ext4, gpt, crypto_LUKS, ... (repeatable)"
