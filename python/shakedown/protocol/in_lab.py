"""A run in the lab: Shakedown itself, with the device arena, in a guest whose disks are the targets."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from shakedown.device.lab_disk import DISKS
from shakedown.errors import EnvironmentFailure, RefusedError, UsageError
from shakedown.lab import run as lab
from shakedown.protocol.load import LoadedProtocol
from shakedown.result.folder import Run, read_run

_SCHEME = "lab:"
_DONE = (0, 1, 3)


def is_of_lab(target: str, baseline: str | None) -> bool:
    """Whether a run belongs in the lab. Raises UsageError if just one of its targets does."""
    given = [text.startswith(_SCHEME) for text in (target, baseline) if text is not None]
    if any(given) and not all(given):
        raise UsageError("one target is in the lab, the other is not", hint="give both as `lab:NAME`")
    if any(given) and target == baseline:
        raise UsageError(f"`{target}` is its own baseline", hint="give another one")
    return any(given)


def run_in_lab(loaded: LoadedProtocol, targets: list[str], *, seed: int, scale_divisor: int, out: Path) -> Run:
    """Run a protocol on ``targets`` (the candidate, and a baseline if there is one) into the new folder ``out``.

    Raises UsageError, EnvironmentFailure (with what the run in the guest said), RefusedError.
    """
    if out.exists():
        raise RefusedError(f"{out} exists already", hint="choose another folder: --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    disks = {text: f"/dev/sd{letter}" for text, letter in zip(targets, "ab", strict=False)}
    said = bytearray()
    with tempfile.TemporaryDirectory() as folder:
        protocol = Path(folder) / f"{loaded.protocol.name}.toml"
        protocol.write_text(loaded.text, encoding="utf-8")
        command = ["env", f"{DISKS}={json.dumps(disks)}", "shakedown", "run", f"./{protocol.name}", targets[0]]
        command += ["--quiet", "--seed", str(seed), "--scale", f"1/{scale_divisor}", "--out", out.name]
        command += [word for name, value in loaded.parameters.items() for word in ("--set", f"{name}={value}")]
        command += [word for text in targets[1:] for word in ("--baseline", text)]
        order = lab.Order(
            command=tuple(command),
            drives=tuple("model:" + text.removeprefix(_SCHEME) for text in targets),
            seed=seed,
            scale_divisor=scale_divisor,
            bring_in=(protocol,),
            bring_out=(f"/lab/{out.name}",),
            out=out.parent,
            with_shakedown=True,
        )
        try:
            outcome = lab.run(order, lambda stream, text: said.extend(text) if stream == "errors" else None)
        except EnvironmentFailure as error:
            if said:
                raise EnvironmentFailure(f"in the guest: {said.decode(errors='replace').strip()}") from error
            raise
    if outcome.exit_status not in _DONE:
        raise EnvironmentFailure(f"in the guest: {said.decode(errors='replace').strip()}")
    return read_run(out)
