"""What an episode was, whether it is harmless, and why we say so. Nothing here knows a word of the kernel's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from shakedown.analysis.triage.episode import Episode
from shakedown.analysis.triage.sign import What
from shakedown.units import NS_PER_S, format_duration, often

Kind = Literal[
    "shingled-stall", "shingled-refusal", "command-timeout", "link", "unreadable-sectors", "failing", "drive-gone",
    "gone-and-back", "unplugged", "device-error", "adapter-log", "flush-failed", "array", "stall",
]  # fmt: skip
Grade = Literal["harmless", "unclear", "unsafe", "dying"]
GRADES: Final[tuple[Grade, ...]] = ("harmless", "unclear", "unsafe", "dying")

SHINGLED_ABSENCE_S: Final = 3600.0
"""Field notes C: a shingled drive that replays its journal may be invisible for up to an hour."""

WORN_LINK_ERRORS: Final = 3
"""One bus error may be a spark; a link that errs again and again, or that was slowed down for it, is faulty."""

TITLES: Final[dict[Kind, str]] = {
    "shingled-stall": "a shingled drive tidies up",
    "shingled-refusal": "a shingled drive refused to write",
    "command-timeout": "commands timed out",
    "link": "cable or controller",
    "unreadable-sectors": "unreadable sectors",
    "failing": "the drive is failing",
    "drive-gone": "the drive is gone",
    "gone-and-back": "the drive was gone and came back",
    "unplugged": "the drive was unplugged",
    "device-error": "the drive refused commands",
    "adapter-log": "the adapter logged something",
    "flush-failed": "the drive's cache was not written out",
    "array": "errors above the drive",
    "stall": "something waited long",
}

_CONSEQUENCES: Final[dict[What, tuple[str, Grade]]] = {
    "io-error": ("an I/O error reached what was above the drive", "unsafe"),
    "write-lost": ("writes were lost", "unsafe"),
    "flush-failed": ("a flush of the drive's cache failed", "unclear"),
    "fs-error": ("a file system reported errors", "unsafe"),
    "read-only": ("a file system was made read-only", "unsafe"),
    "md-kicked": ("md expelled it from its array", "unsafe"),
    "md-uncorrectable": ("md could not correct what it read", "unsafe"),
    "md-corrected": ("md read elsewhere what could not be read here, and wrote it anew", "unclear"),
    "md-redirected": ("md read from another mirror what could not be read from one", "unclear"),
    "zfs-faulted": ("ZFS faulted it", "unsafe"),
    "zfs-suspended": ("ZFS suspended a pool", "unsafe"),
    "zfs-io": ("ZFS counted I/O errors", "unsafe"),
    "zfs-deadman": ("ZFS's deadman saw requests that do not end", "unclear"),
    "zfs-slow": ("ZFS noted slow requests", "unclear"),
    "hung-task": ("programs waited for more than the kernel's limit", "unclear"),
}


_Cause = tuple[Kind, Grade, str]


@dataclass(frozen=True)
class Judgement:
    """``is_sign_of_c``: it is one of the things field notes C list as looking broken without being so."""

    kind: Kind
    grade: Grade
    text: str
    consequences: tuple[What, ...]
    is_sign_of_c: bool


def consequence_text(what: What) -> str:
    """A consequence in words."""
    return _CONSEQUENCES[what][0]


def judge(episode: Episode, shingled: bool | None) -> Judgement:
    """Judge an episode of a drive that is ``shingled``, is not, or of which nothing is known (None)."""
    kind, grade, text = _cause(episode, shingled)
    consequences = tuple(what for what in _CONSEQUENCES if episode.counts[what])
    worst = max([grade, *(_CONSEQUENCES[what][1] for what in consequences)], key=GRADES.index)
    if kind == "unplugged" and set(consequences) <= {"io-error", "flush-failed"}:
        # A flush that fails once the disk is pulled is told of each one, used or not.
        worst = "unclear" if "io-error" in consequences else grade
    in_c = not episode.drive.is_nvme and (
        kind in ("shingled-stall", "command-timeout", "unreadable-sectors")
        or (kind == "gone-and-back" and episode.longest_absence_s <= SHINGLED_ABSENCE_S)
    )
    return Judgement(kind, worst, text, consequences, in_c)


def _cause(episode: Episode, shingled: bool | None) -> _Cause:
    """What tells most comes first: a bad sector explains a timeout, a timeout explains no bad sector.

    That the drive left is told beside whatever it had before.
    """
    told = _broken(episode) or _refused(episode, shingled)
    if episode.is_gone and episode.counts["link-dropped"]:
        told = told or _link(episode)
    gone = _gone(episode, shingled) if episode.was_gone else None
    if told and gone:
        return _and_gone(told, gone)
    return told or gone or _slow(episode, shingled) or _unexplained(episode)


def _and_gone(told: _Cause, gone: _Cause) -> _Cause:
    """Both facts. Of a drive that does not come back the errors of its link are what it left with, and no more."""
    grade = max(told[1], gone[1], key=GRADES.index)
    if told[0] == "link" and gone[0] == "drive-gone":
        return "drive-gone", grade, f"{gone[2]} Before that: {told[2]}"
    return told[0], grade, f"{told[2]} {gone[2]}"


def _broken(episode: Episode) -> _Cause | None:
    seen = episode.counts
    if seen["smart-failing"] or seen["hardware-error"]:
        return "failing", "dying", "The drive itself says that its hardware or its health is failing."
    if seen["media-error"] or seen["md-uncorrectable"] or seen["smart-pending"]:
        return "unreadable-sectors", "dying", _sectors(episode)
    if seen["pcie-error"] or seen["pcie-fatal"]:
        return _uncorrected(episode)
    return _link(episode) if seen["bus-error"] else None


def _refused(episode: Episode, shingled: bool | None) -> _Cause | None:
    return _address_not_found(shingled) if episode.counts["address-not-found"] else None


def _slow(episode: Episode, shingled: bool | None) -> _Cause | None:
    seen = episode.counts
    is_frozen = seen["frozen"] and not seen["device-error"]
    if episode.timeouts or seen["no-answer"] or is_frozen:
        return _timeout(episode, shingled)
    if seen["link-dropped"] or seen["speed-limited"]:
        return _link(episode)
    return _corrected(episode) if seen["pcie-corrected"] else None


def _unexplained(episode: Episode) -> _Cause:
    seen = episode.counts
    if seen["usb-reset"] > 1:
        return "link", "unclear", _usb(episode)
    if seen["exception"] or seen["device-error"] or seen["queueing-off"]:
        text = "The drive refused commands; often one that it does not know, which is harmless. `smartctl -x` tells."
        return "device-error", "unclear", text
    if seen["adapter-log"]:
        return "adapter-log", "unclear", _adapter_log(episode)
    if seen["flush-failed"]:
        text = (
            "A flush of its cache failed, as the kernel asks for one when it shuts down, sleeps, or lets go of a disk:"
            " what it had taken and not yet written may be lost. Why, this line does not say."
        )
        return "flush-failed", "unclear", text
    if episode.drive.names != [""]:
        text = "The log has the consequences and not their cause: look at the lines before."
        return "array", "unclear", text
    return "stall", "unclear", "Something waited long for a device. Alone that says nothing about which, or why."


_ADAPTER_CODES: Final = {
    "111": "reset",
    "112": "abort",
    "113": "request given back before it was begun",
    "114": "request given back that had been begun",
}
"""Of the protocol layer, 1, the way to drives: `PL_LOGINFO_CODE_` of drivers/message/fusion/lsi/mpi_log_sas.h."""


_PARTS: Final = {"0": "own processor", "1": "protocol layer", "2": "RAID"}


def _adapter_log(episode: Episode) -> str:
    """What is known of the codes, and that the line names no drive."""
    told = ", ".join(
        f"{_ADAPTER_CODES[code]} ({count})"
        if code in _ADAPTER_CODES
        else f"code 0x{code[1:]} of its {_PARTS.get(code[0], 'part ' + code[0])} ({count})"
        for code, count in episode.adapter_codes.most_common(4)
    )
    return (
        f"Its firmware logged: {told}. Such a line says neither of which drive it speaks nor whether that is at fault:"
        " a slow or failing drive, a cable or backplane, power, or a command that a drive does not know. What the log"
        " says of drives at that time tells more."
    )


def _usb(episode: Episode) -> str:
    count = episode.counts["usb-reset"]
    return f"The kernel reset it on the USB {count} times: a disk, its bridge, its cable or its power did not answer."


def _sectors(episode: Episode) -> str:
    count = len(episode.sectors)
    where = f" {count} of them {'is' if count == 1 else 'are'} named." if count else ""
    return f"Sectors cannot be read: that is the sign of a drive that is broken rather than slow.{where}"


def _link(episode: Episode) -> _Cause:
    errors = episode.counts["bus-error"] + episode.counts["link-dropped"]
    times = often(errors)
    is_worn = errors >= WORN_LINK_ERRORS or episode.counts["speed-limited"]
    slowed = "; the link was slowed down" if episode.counts["speed-limited"] else ""
    if episode.drive.is_nvme:
        text = f"PCI Express stopped the link for an error, and it was reset ({times}): slot, power or controller."
        return "link", "unsafe" if is_worn else "unclear", text
    again = "" if episode.was_gone else " and sent again"
    if episode.counts["bus-error"]:
        text = f"Data was damaged on its way{again} ({times}{slowed}): cable, backplane, power or controller."
    elif episode.counts["link-dropped"]:
        text = f"The link dropped ({times}{slowed}): plug, cable, power, or a drive that restarted."
    else:
        text = "The link was slowed down: plug, cable, power, or a drive that restarted."
    return "link", "unsafe" if is_worn else "unclear", text


def _uncorrected(episode: Episode) -> _Cause:
    fatal = episode.counts["pcie-fatal"]
    errors = episode.counts["pcie-error"] + fatal
    times = often(errors)
    whose = "the adapter, and with it of all drives behind it" if episode.drive.is_adapter else "the drive"
    text = f"PCI Express lost requests of {whose}, and could not correct that ({times}): slot, power or controller."
    return "link", "unsafe" if fatal or errors >= WORN_LINK_ERRORS else "unclear", text


def _corrected(episode: Episode) -> _Cause:
    count = episode.counts["pcie-corrected"]
    times = often(count)
    text = (
        f"PCI Express noticed what was damaged on its way, and sent it again by itself ({times}): nothing was lost."
        " Where it goes on, it is the slot, a riser, or the power saving of the link (ASPM)."
    )
    return "link", "harmless", text


def _address_not_found(shingled: bool | None) -> _Cause:
    if shingled:
        text = (
            "It answered that an address within its capacity does not exist, as shingled Western Digital drives do"
            " under the load of a resilver (openzfs issue 10214): not broken, but what was written was refused."
        )
        return "shingled-refusal", "unsafe", text
    text = "It answered that an address does not exist; on a drive that is not shingled its surface is suspect."
    return "device-error", "unclear", text


def _gone(episode: Episode, shingled: bool | None) -> _Cause:
    is_plain = episode.counts["unplugged"] and not (episode.timeouts or episode.counts["exception"])
    if is_plain:
        return "unplugged", "harmless", "It left the USB without a complaint before: unplugged, or its cable or power."
    if episode.is_gone:
        wait = " It is shingled: leave it powered for an hour before you call it dead." if shingled else ""
        return "drive-gone", "unsafe", f"The kernel gave the drive up, and the log does not see it again.{wait}"
    absence = format_duration(episode.longest_absence_s * NS_PER_S)
    if shingled and episode.longest_absence_s <= SHINGLED_ABSENCE_S:
        text = f"It was invisible for {absence}: a shingled drive that replays its journal may be so for up to an hour."
        return "gone-and-back", "harmless", text
    return (
        "gone-and-back",
        "unclear",
        f"It was invisible for {absence}: power, cable, bridge, or a drive that restarts.",
    )


def _timeout(episode: Episode, shingled: bool | None) -> _Cause:
    count = episode.timeouts or episode.counts["no-answer"] or episode.counts["frozen"]
    times = f"{count} {'command' if count == 1 else 'commands'} without an answer"
    if shingled:
        text = f"{times}, then a reset, and no error of surface or link: a full cache being merged looks like this."
        return "shingled-stall", "harmless", text
    if shingled is None:
        hint = "on a shingled drive harmless; this one's model is not known to be"
    elif episode.drive.is_nvme:
        hint = "flash on PCI Express has no shingles to tidy up"
    else:
        hint = "this model is listed as conventional, so its cache is no excuse"
    direction = "writes among them" if episode.writes else "none known to be a write"
    return "command-timeout", "unclear", f"{times}, {direction}, and no error of surface or link: {hint}."
