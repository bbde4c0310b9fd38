"""Model arrays beside the real md and the real OpenZFS in the lab: docs/conformance-arrays.csv, a row a case.

Usage: conformance_arrays.py [NAME...]. What the lab has measured is kept, and the model's part computed anew: remove a
line to measure it again. The lab has to be built (`shakedown lab build --zfs`).
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from shakedown.analysis.kick import judge_patience
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.array.zfs import ZFS_LAYOUTS, HealingOrder, ZfsOptions
from shakedown.target.md_options import MdOptions

TABLE: Final = Path(__file__).resolve().parent.parent / "docs" / "conformance-arrays.csv"
SCALE: Final = 1000
LOAD: Final = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\nrandseed=7\n"
# The lab's kernel and host adapter, which are no choice of ours: CONFIG_HZ, and the segments of virtio-scsi.
LAB_MD: Final = MdOptions(jiffy_ns=10_000_000, max_segments=254)
LAB_MEMORY_BYTES: Final = 2 << 30
CMR: Final = "wd40efrx"
SMR: Final = "wd40efax"
HEAD: Final = (
    *("case", "real_s", "model_s", "time_error", "real_read_bytes", "model_read_bytes", "read_error"),
    *("real_written_bytes", "model_written_bytes", "written_error", "real_kicked", "model_kicked"),
)


@dataclass(frozen=True)
class Case:
    """A rebuild onto ``new``, of an array of ``width`` conventional drives."""

    layout: str
    width: int
    new: str
    load: bool = False
    sequential: bool = False

    @property
    def name(self) -> str:
        """As it stands in the table."""
        parts = [self.layout, str(self.width), "smr" if self.new == SMR else "cmr"]
        return "-".join([*parts, *(["sequential"] if self.sequential else []), *(["load"] if self.load else [])])

    @property
    def is_zfs(self) -> bool:
        """Of ZFS."""
        return self.layout in ZFS_LAYOUTS

    @property
    def fill(self) -> float:
        """Md rebuilds all; ZFS what there is."""
        return 0.12 if self.is_zfs else 0.25 if self.load else 0.02

    @property
    def settings(self) -> list[str]:
        """``--set`` of the real one."""
        draid = ["draid=2d:0s"] if self.layout.startswith("draid") else []
        return [*draid, *(["order=sequential"] if self.sequential else [])]


def cases() -> list[Case]:
    """The shortest first."""
    md = [("raid1", 2), ("raid10", 4), ("raid5", 4), ("raid6", 4)]
    zfs = [("mirror", 2), ("raidz1", 4), ("raidz2", 5), ("draid2", 6)]
    idle = [Case(layout, width, new) for new in (CMR, SMR) for layout, width in (*md, *zfs)]
    sequential = [Case(layout, width, new, sequential=True) for new in (CMR, SMR) for layout, width in (zfs[0], zfs[3])]
    return [*idle, *sequential, *(replace(case, load=True) for case in idle)]


def real(case: Case, work: Path) -> dict[str, Any]:
    """What the lab measures: columns of the table."""
    out = work / case.name
    command: list[str | Path] = [
        Path(sys.executable).with_name("shakedown"),
        "rebuild",
        case.layout,
        f"lab:{CMR}",
        "--width",
    ]
    command += [str(case.width), "--replace-with", f"lab:{case.new}", "--scale", f"1/{SCALE}", "--baseline", "none"]
    command += ["--fill", f"{case.fill:.0%}", "--out", out, "--json", "--quiet"]
    command += [word for text in case.settings for word in ("--set", text)]
    if case.load:
        (work / "load.fio").write_text(LOAD)
        command += ["--load", work / "load.fio"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    if "answers" not in told:
        raise SystemExit(f"{case.name}: {told['error']}")
    one = told["answers"]["rebuilds"][0]
    new = one["members"].pop(one["replacement"])
    return {
        "real_s": round(one["duration_ns"] / 1e9, 2),
        "real_read_bytes": sum(each["bytes_read"] for each in one["members"]),
        "real_written_bytes": new["bytes_written"],
        "real_kicked": verdict(new["longest_command_ns"] / 1e6),
    }


def modelled(case: Case) -> Rebuild:
    """The same order in the model, on a host like the lab's."""
    options: MdOptions | ZfsOptions = LAB_MD
    if case.is_zfs:
        draid = (2, 0) if case.layout.startswith("draid") else None
        order: HealingOrder | None = "sequential" if case.sequential else None
        options = ZfsOptions(memory_bytes=LAB_MEMORY_BYTES, cores=1, draid=draid, order=order)
    return simulate(
        RebuildOrder(
            layout=case.layout,
            members=(f"model:{CMR}",) * case.width,
            replacement=f"model:{case.new}",
            fill=case.fill,
            load=LOAD if case.load else None,
            scale_divisor=SCALE,
            whole=True,
            options=options,
        )
    )


def row(case: Case, told: dict[str, Any], model: Rebuild) -> dict[str, Any]:
    """A line of the table: bytes read are those from the others, bytes written those to the new drive."""
    members = model.members.to_dicts()
    new = members.pop(model.replacement)
    figures = {
        "s": round(model.duration_s, 2),
        "read_bytes": sum(each["bytes_read"] for each in members),
        "written_bytes": new["bytes_written"],
    }
    names = {"s": "time_error", "read_bytes": "read_error", "written_bytes": "written_error"}
    errors = {names[key]: round(value / float(told[f"real_{key}"]) - 1, 3) for key, value in figures.items()}
    modelled = {f"model_{key}": value for key, value in figures.items()}
    measured = {key: value for key, value in told.items() if key.startswith("real_")}
    verdicts = {"model_kicked": verdict(new["longest_command_ns"] / 1e6)}
    return {"case": case.name, **measured, **modelled, **errors, **verdicts}


def verdict(longest_ms: float) -> str:
    """What those who wait say, the least patient first."""
    return "/".join(each.kicked for each in judge_patience(longest_ms))


def main() -> None:
    """Fill in what the table lacks."""
    known = {each["case"]: each for each in csv.DictReader(TABLE.open())} if TABLE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if case.name not in known and sys.argv[1:] and case.name not in sys.argv[1:]:
                continue
            told = known.get(case.name) or real(case, Path(folder))
            known[case.name] = row(case, told, modelled(case))
            print(known[case.name], flush=True)
            write([known[case.name] for case in cases() if case.name in known])


def write(rows: list[dict[str, Any]]) -> None:
    """All that is known."""
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
