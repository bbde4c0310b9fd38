"""The rules of the guard: from what is known of a device, and what the user gave up, to what forbids writing to it.

A pure function. Nothing is allowed because a fact is missing: what could not be read is itself a reason to refuse.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from shakedown.device.disk.facts import Consent, Name, Situation, Twin, UseKind

Rule = Literal[
    "kind", "empty", "read-only", "host-managed", "unread", "two-paths", "no-identity", "in-use", "member", "signature",
    "consent",
]  # fmt: skip
OVERRIDABLE: Final[frozenset[Rule]] = frozenset({"signature", "consent"})
"""By naming the signature, and the device. Everything else stands whatever the user says."""

_LEAST_SERIAL: Final = 4
_LEAST_WWN_DIGITS: Final = 8
# What makers leave who set none: words, and digits as they are counted.
_PLACEHOLDER: Final = re.compile(
    r"none|null|unknown|default|serial(?:number)?|not(?:applicable|specified|available)|tobefilledby\w*|012345678999"
)
_COUNTED: Final = ("0123456789abcdef", "01234567890123456789", "9876543210")
# A member's data is not on it alone: whether the rest of its array, pool or volume group still lives, it cannot tell.
_MEMBERS: Final = {
    "linux_raid_member": "mdadm --zero-superblock",
    "LVM2_member": "pvremove",
    "LVM1_member": "pvremove",
    "zfs_member": "zpool labelclear",
    "bcache": "wipefs --all",
    "bcachefs": "wipefs --all",
    "btrfs_member": "btrfs device remove, or wipefs --all",
    "mpath_member": "multipath -f",
    "ceph_bluestore": "ceph-volume lvm zap",
    "drbd": "drbdadm wipe-md",
    "DM_snapshot_cow": "wipefs --all",
    "DM_verity_hash": "wipefs --all",
    "DM_integrity": "wipefs --all",
    "DM_vdo": "vdo remove",
    "vdo": "vdo remove",
    "stratis": "stratis pool destroy",
    "VMFS_volume_member": "wipefs --all",
    "oracleasm": "oracleasm deletedisk",
}
_TAKE_IT_OFF: Final[dict[UseKind, str]] = {
    "mounted": "unmount it",
    "swap": "`swapoff` it",
    "root": "take another device: the system runs from this one",
    "run": "take another device, or another `--out`: the run's own folder lies on this one",
    "md": "take it out of its array, or stop that: `mdadm --stop`",
    "lvm": "deactivate the volume group: `vgchange -an`",
    "crypt": "close it: `cryptsetup close`",
    "multipath": "it is one path of a multipath device: `multipath -f`",
    "dm": "remove the device above it: `dmsetup remove`",
    "bcache": "detach it and stop the cache",
    "held": "stop what stands on it",
    "loop": "detach it: `losetup -d`",
    "open": "stop that program; of a virtual machine, detach the disk first",
    "exclusive": "something holds it for itself alone, perhaps in a container: `lsblk`, `lsof`",
}


class OwnName(NamedTuple):
    """A name that means this device and no other here."""

    kind: Literal["serial", "wwn", "file"]
    text: str

    def is_meant_by(self, given: str) -> bool:
        """Whether the user's words are this name. A WWN is written in several ways, a path as well; a serial in one."""
        match self.kind:
            case "serial":
                return given == self.text
            case "wwn":
                bare = re.sub(r"^(?:wwn-)?(?:0x|naa\.|eui\.|uuid\.)", "", given.strip().lower())
                return bare.replace("-", "") == self.text.removeprefix("0x")
            case "file":
                return str(Path(given).absolute()) == self.text


class Refusal(NamedTuple):
    """Why a device may not be written to, and what can be done."""

    rule: Rule
    words: str
    hint: str

    @property
    def is_final(self) -> bool:
        """Whether no option overrides it."""
        return self.rule not in OVERRIDABLE


def decide(situation: Situation, consent: Consent) -> tuple[Refusal, ...]:
    """All that forbids writing to the device, the final reasons first; empty: it may be overwritten."""
    found = [
        *unfit(situation),
        *_unread(situation),
        *_identity(situation),
        *_uses(situation),
        *_members(situation),
        *_signatures(situation, consent),
        *_consent(situation, consent),
    ]
    return tuple(sorted(found, key=lambda refusal: not refusal.is_final))


def unfit(situation: Situation) -> Iterator[Refusal]:
    """What makes a device no target of writing whoever uses it."""
    if situation.kind == "partition":
        yield Refusal(
            "kind",
            f"{situation.kernel_name} is a partition",
            "give the whole disk; or, to keep the rest, a file on a file system in the partition",
        )
    elif situation.kind == "loop":
        if situation.backing_file is None:
            yield Refusal(
                "kind",
                f"{situation.kernel_name} stands on no regular file that can be found",
                "for practice: a loop device on a file of its own; for a disk: the disk itself",
            )
    elif situation.kind != "disk":
        words = {"optical": "an optical drive", "stacked": "made of other devices", "boot area": "a boot area"}
        told = words.get(situation.kind, f"of the kind `{situation.kind}`")
        yield Refusal("kind", f"{situation.kernel_name} is {told}, not a whole disk", "`lsblk -d` lists whole disks")
    if situation.name.size_bytes <= 0:
        yield Refusal("empty", f"{situation.kernel_name} has no medium, or none that can be read", "look at `dmesg`")
    if situation.read_only:
        yield Refusal(
            "read-only", f"{situation.kernel_name} is read-only", "find out why before `blockdev --setrw`: a switch?"
        )
    if situation.zones not in ("none", "host-aware"):
        yield Refusal(
            "host-managed",
            f"{situation.kernel_name} is zoned ({situation.zones}) and takes no writes at random",
            "no protocol of Shakedown fits it",
        )


def usable_serial(serial: str | None) -> bool:
    """Whether a serial number can be one: printable, and no placeholder of a maker who set none."""
    if serial is None or not (serial.isascii() and serial.isprintable()) or serial != serial.strip():
        return False
    core = re.sub(r"[^0-9a-z]", "", serial.lower())
    counted = any(core in digits for digits in _COUNTED)
    return len(core) >= _LEAST_SERIAL and len(set(core)) > 1 and not counted and not _PLACEHOLDER.fullmatch(core)


def usable_wwn(wwn: str | None) -> bool:
    """Whether a WWN can be one: hexadecimal and not all the same digit."""
    return (
        wwn is not None and re.fullmatch(rf"[0-9a-f]{{{_LEAST_WWN_DIGITS},32}}", wwn) is not None and len(set(wwn)) > 1
    )


def own_names(situation: Situation) -> tuple[OwnName, ...]:
    """The names by which the user may give this device up: those that no other device here has."""
    if _other_paths(situation):
        return ()
    if situation.kind == "loop":
        return () if situation.backing_file is None else (OwnName("file", situation.backing_file),)
    name, others = situation.name, [twin.name for twin in situation.twins]
    names = []
    if name.serial is not None and usable_serial(name.serial) and name.serial not in [each.serial for each in others]:
        names.append(OwnName("serial", name.serial))
    if name.wwn is not None and usable_wwn(name.wwn) and name.wwn not in [each.wwn for each in others]:
        names.append(OwnName("wwn", f"0x{name.wwn}"))
    return tuple(names)


def _unread(situation: Situation) -> Iterator[Refusal]:
    for fact in situation.unread:
        yield Refusal("unread", f"it could not be learned {fact}", "what is not known is taken for a danger")


def _identity(situation: Situation) -> Iterator[Refusal]:
    paths = _other_paths(situation)
    if paths:
        yield Refusal(
            "two-paths",
            f"{situation.kernel_name} and {', '.join(paths)} may be one device: the same identity",
            "use a single path: stop the others, or unplug what only looks the same",
        )
    elif situation.kind == "disk" and not own_names(situation):
        yield Refusal(
            "no-identity",
            f"{situation.kernel_name} tells no serial number or WWN that is its own"
            f" (serial {situation.name.serial!a}, WWN {situation.name.wwn!a})",
            "attach it without the bridge or controller that hides them, or use a file on it",
        )


def _other_paths(situation: Situation) -> list[str]:
    return [twin.kernel_name for twin in situation.twins if not _is_other_device(situation, twin)]


def _is_other_device(situation: Situation, twin: Twin) -> bool:
    """Whether one of the two names, told by both, differs: NVMe namespaces share a serial, cheap disks a WWN."""
    if situation.kind == "loop":
        return False
    ours, theirs = situation.name, twin.name
    return _differ(ours, theirs, "serial") or _differ(ours, theirs, "wwn")


def _differ(ours: Name, theirs: Name, field: Literal["serial", "wwn"]) -> bool:
    usable = usable_serial if field == "serial" else usable_wwn
    pair = getattr(ours, field), getattr(theirs, field)
    return all(usable(each) for each in pair) and pair[0] != pair[1]


def _uses(situation: Situation) -> Iterator[Refusal]:
    for use in situation.uses:
        yield Refusal("in-use", use.words, _TAKE_IT_OFF[use.kind])


def is_member(type_: str) -> bool:
    """Whether a signature tells of a part of something larger."""
    return type_ in _MEMBERS or type_.endswith("_raid_member") or type_.startswith("DM_")


def _members(situation: Situation) -> Iterator[Refusal]:
    for signature in situation.signatures:
        if is_member(signature.type):
            tool = _MEMBERS.get(signature.type, "wipefs --all")
            yield Refusal(
                "member",
                f"{signature.place} has been made part of something larger: {signature.type}",
                f"if that is gone for good, say so to its own tool ({tool}), then start again",
            )


def _signatures(situation: Situation, consent: Consent) -> Iterator[Refusal]:
    for signature in situation.signatures:
        if not is_member(signature.type) and signature.type not in consent.signatures:
            label = f" labelled {signature.label!a}" if signature.label else ""
            yield Refusal(
                "signature",
                f"{signature.place} has a signature of {signature.type}{label}",
                f"if it may be destroyed: `--allow-signature {shlex.quote(signature.type)}`",
            )


def _consent(situation: Situation, consent: Consent) -> Iterator[Refusal]:
    names = own_names(situation)
    if not names or any(name.is_meant_by(each) for name in names for each in consent.devices):
        return
    others = ", ".join(consent.devices)
    words = (
        f"consent was given for {others}, and {situation.kernel_name} is not that drive"
        if others
        else "nobody has agreed"
    )
    yield Refusal("consent", f"{words}: its data would be destroyed", f"`{shlex.join(_consent_option(names[0]))}`")


def strangers(situation: Situation, consent: Consent) -> tuple[str, ...]:
    """Words of consent that do not mean this device: another's name, or a wrong one."""
    names = own_names(situation)
    return tuple(each for each in consent.devices if not any(name.is_meant_by(each) for name in names))


def strangers_to_all(each_has: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Of the strangers that each device has, those that are no other device's name either."""
    first, *others = each_has or [()]
    return tuple(word for word in first if all(word in words for words in others))


def _consent_option(name: OwnName) -> tuple[str, ...]:
    option = "--destroy-data-on"
    return (f"{option}={name.text}",) if name.text.startswith("-") else (option, name.text)


def options_to_type(situation: Situation, consent: Consent) -> tuple[str, ...]:
    """The options that would allow it, in addition to those given; empty where none would."""
    refusals = decide(situation, consent)
    if not refusals or any(refusal.is_final for refusal in refusals):
        return ()
    options: list[str] = []
    if any(refusal.rule == "consent" for refusal in refusals):
        options += _consent_option(own_names(situation)[0])
    missing = [each.type for each in situation.signatures if each.type not in consent.signatures]
    for type_ in dict.fromkeys(missing):
        options += ["--allow-signature", type_]
    return tuple(options)
