"""Facts in what ``smartctl --json`` prints, of this machine's drives or of another's."""

from __future__ import annotations

from typing import Any, Final

from shakedown.analysis.identify.facts import ZONES, Facts, Transport, Zones

_LARGEST: Final = 2**63 - 1
_TRANSPORTS: Final[dict[str, Transport]] = {"ata": "ata", "sat": "ata", "scsi": "scsi", "nvme": "nvme"}


def smart_facts(document: Any, name: str = "") -> Facts:
    """Facts of one document of smartctl; a document that tells nothing gives facts that are all None. Never fails."""
    root = document if isinstance(document, dict) else {}
    device = _object(root, "device")
    kind = _text(device, "type") or ""
    is_ata = _text(device, "protocol") == "ATA"
    return Facts(
        name=name or _text(device, "name") or "recorded",
        model=_text(root, "model_name") or _text(root, "scsi_model_name") or _text(root, "scsi_product"),
        firmware=_text(root, "firmware_version") or _text(root, "scsi_revision"),
        family=_text(root, "model_family"),
        capacity_bytes=_whole(_object(root, "user_capacity"), "bytes"),
        transport="usb" if kind.startswith("usb") else _TRANSPORTS.get(kind),
        rotation_rpm=_whole(root, "rotation_rate"),
        ata_zones=_zones(root) if is_ata else None,
        scsi_zones=None if is_ata else _zones(root),
        trim=_flag(_object(root, "trim"), "supported"),
        has_identify=is_ata and _text(root, "model_name") is not None,
        unread=tuple(_complaints(root)),
    )


def _zones(root: dict[str, Any]) -> Zones | None:
    said = (_text(_object(root, "zoned_device"), "capabilities") or "").replace("_", "-")
    return next((each for each in ZONES if each == said), None)


def _complaints(root: dict[str, Any]) -> list[str]:
    messages = _object(root, "smartctl").get("messages")
    found = [_text(each, "string") for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    return [f"smartctl: {each[:200]}" for each in found if each][:8]


def _object(root: dict[str, Any], key: str) -> dict[str, Any]:
    found = root.get(key)
    return found if isinstance(found, dict) else {}


def _text(root: dict[str, Any], key: str) -> str | None:
    found = root.get(key)
    return found.strip()[:200] or None if isinstance(found, str) else None


def _whole(root: dict[str, Any], key: str) -> int | None:
    found = root.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= _LARGEST else None


def _flag(root: dict[str, Any], key: str) -> bool | None:
    found = root.get(key)
    return found if isinstance(found, bool) else None
