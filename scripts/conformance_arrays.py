"""Model arrays beside the real md and the real OpenZFS in the lab: docs/conformance-arrays.csv, a row a case, and the
table of docs/conformance-arrays.md.

Usage: conformance_arrays.py [--plays N] [NAME...|none]. What the lab has measured of the same order is kept, and the
model's part computed anew; without names, all is played that has no row yet, or fewer than N plays. Each play of a case
has a seed of its own: docs/conformance-arrays-plays.csv has those of the cases that were played more
than once. The lab has to be built (`shakedown lab build --zfs`).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import mean, median_high, stdev
from typing import Any, Final

from scipy.stats import fisher_exact

from drive_digest import drive_digest
from made_part import put
from shakedown.analysis.estimate import student
from shakedown.analysis.kick import judge_patience
from shakedown.array.like_lab import as_filled_in_lab, like_lab
from shakedown.array.measured import longest_seen_ns
from shakedown.array.order import RebuildOrder
from shakedown.array.rebuild import Rebuild, simulate
from shakedown.array.settings import parse_options
from shakedown.layouts import ZFS_LAYOUTS

ROOT: Final = Path(__file__).resolve().parent.parent
TABLE: Final = ROOT / "docs" / "conformance-arrays.csv"
PLAYS: Final = ROOT / "docs" / "conformance-arrays-plays.csv"
DOCUMENT: Final = ROOT / "docs" / "conformance-arrays.md"
BEGIN: Final = "<!-- made by scripts/conformance_arrays.py -->\n"
SCALE: Final = 1000
# Beside a load md's rebuild takes ten times as long.
SCALE_MD_LOADED: Final = 4000
LOAD: Final = "[users]\nrw=randrw\nrwmixread=70\nbs=16k\niodepth=4\nrandseed=7\n"
CMR: Final = "wd40efrx"
SMR: Final = "wd40efax"
# Which request overtakes which is chance, and on a shingled drive it costs seconds: the mean of so many seeds.
SEEDS: Final = 99
# What one who waits says of a drive; of an even number of plays the worse of the two in the middle counts.
VERDICTS: Final = ("no", "close", "yes")
GOALS: Final = {"time": 0.10, "read": 0.03, "written": 0.03}
HEAD: Final = (
    *("case", "made_from", "real_s", "model_s", "model_least_s", "model_most_s", "time_error"),
    *("real_read_bytes", "model_read_bytes", "read_error"),
    *("real_written_bytes", "model_written_bytes", "written_error", "real_kicked", "model_kicked", "model_verdicts"),
)
# Of fewer the interval of a mean is so wide that it tells nothing.
FEWEST_PLAYS: Final = 3


PLAYED: Final = ("real_s", "real_read_bytes", "real_written_bytes", "real_kicked")
PLAYS_HEAD: Final = ("case", "made_from", "seed", *PLAYED)


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
    def scale_divisor(self) -> int:
        """Of the drives."""
        return SCALE_MD_LOADED if self.load and not self.is_zfs else SCALE

    @property
    def fill(self) -> float:
        """Md rebuilds all; ZFS what there is."""
        return 0.12 if self.is_zfs else 0.25 if self.load else 0.02

    @property
    def made_from(self) -> str:
        """A digest of the order and of the drives."""
        drives = b"".join(drive_digest(name) for name in (CMR, self.new))
        # How a pool's files are written: not made durable one by one.
        filled = ["durable when unmounted"] if self.is_zfs else []
        load = LOAD if self.load else None
        asked = repr((self.name, self.scale_divisor, self.fill, self.settings, load, *filled)).encode()
        return sha256(drives + asked + b"a flush of SATA stands alone").hexdigest()[:12]

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


def real(case: Case, work: Path, seed: int) -> dict[str, Any]:
    """What the lab measures: columns of the table."""
    out = work / (case.name if seed == 1 else f"{case.name}-{seed}")
    command: list[str | Path] = [
        Path(sys.executable).with_name("shakedown"),
        "rebuild",
        case.layout,
        f"lab:{CMR}",
        "--width",
    ]
    command += [
        str(case.width),
        "--replace-with",
        f"lab:{case.new}",
        "--scale",
        f"1/{case.scale_divisor}",
        "--baseline",
        "none",
    ]
    command += ["--fill", f"{case.fill:.0%}", "--seed", str(seed), "--out", out, "--json", "--quiet"]
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


def modelled(case: Case, seed: int) -> Rebuild:
    """The same order in the model, as `--like-lab` has it."""
    order = RebuildOrder(
        layout=case.layout,
        members=(f"model:{CMR}",) * case.width,
        replacement=f"model:{case.new}",
        fill=case.fill,
        load=LOAD if case.load else None,
        scale_divisor=case.scale_divisor,
        whole=True,
        options=parse_options(case.layout, like_lab(case.layout, case.settings)),
        seed=seed,
    )
    return simulate(as_filled_in_lab(order))


def row(case: Case, told: dict[str, Any], models: list[Rebuild]) -> dict[str, Any]:
    """A line of the table: bytes read are those from the others, bytes written those to the new drive."""
    figures: dict[str, list[float]] = {"s": [], "read_bytes": [], "written_bytes": []}
    verdicts: list[str] = []
    for model in models:
        members = model.members.to_dicts()
        new = members.pop(model.replacement)
        figures["s"].append(model.duration_s)
        figures["read_bytes"].append(sum(each["bytes_read"] for each in members))
        figures["written_bytes"].append(new["bytes_written"])
        # As the lab's are counted, where nothing is seen of a command that others overtake.
        seen_ns = longest_seen_ns(new["longest_silence_ns"], new["longest_flush_asked_ns"])
        verdicts.append(verdict(seen_ns / 1e6))
    names = {"s": "time_error", "read_bytes": "read_error", "written_bytes": "written_error"}
    errors = {names[key]: round(mean(values) / float(told[f"real_{key}"]) - 1, 3) for key, values in figures.items()}
    times_s = [round(value, 2) for value in figures["s"]]
    return {
        **{"case": case.name, "made_from": case.made_from},
        **{key: value for key, value in told.items() if key.startswith("real_")},
        **{"model_s": round(mean(times_s), 2), "model_least_s": min(times_s), "model_most_s": max(times_s)},
        **{f"model_{key}": round(mean(figures[key])) for key in ("read_bytes", "written_bytes")},
        **errors,
        "model_kicked": middle(verdicts),
        "model_verdicts": tally(verdicts),
    }


def verdict(longest_ms: float) -> str:
    """What those who wait say, the least patient first, of a drive that is given up where that may be."""
    return "/".join(each.kicked for each in judge_patience(longest_ms, is_lost=True))


def middle(verdicts: list[str]) -> str:
    """What each who waits says in the middle play or seed."""
    said = zip(*(each.split("/") for each in verdicts), strict=True)
    return "/".join(VERDICTS[median_high(map(VERDICTS.index, each))] for each in said)


def tally(verdicts: list[str]) -> str:
    """How many seeds said what, in one cell."""
    return ", ".join(f"{number} {said}" for said, number in sorted(Counter(verdicts).items()))


def of_tally(text: str) -> list[str]:
    """The verdict of each seed."""
    return [said for number, said in map(str.split, text.split(", ")) for _ in range(int(number))]


def given_up(verdicts: list[str]) -> str:
    """In how many plays or seeds each of those who wait gives the drive up."""
    said = zip(*(each.split("/") for each in verdicts), strict=True)
    return f"{', '.join(str(each.count('yes')) for each in said)} of {len(verdicts)}"


def interval(times_s: list[float]) -> str:
    """Where the mean of so many plays lies, if it can be told."""
    if len(times_s) < FEWEST_PLAYS:
        return ""
    return f" \N{PLUS-MINUS SIGN} {student(len(times_s) - 1) * stdev(times_s) / len(times_s) ** 0.5:.1f}"


def of_all(plays: list[dict[str, Any]]) -> dict[str, Any]:
    """What the table has of several plays: their means, and what each who waits says in the middle one."""
    return {
        "real_s": round(mean(float(each["real_s"]) for each in plays), 2),
        **{key: round(mean(float(each[key]) for each in plays)) for key in ("real_read_bytes", "real_written_bytes")},
        "real_kicked": middle([each["real_kicked"] for each in plays]),
    }


def kept() -> dict[str, dict[str, Any]]:
    """Rows by their cases."""
    with TABLE.open() as file:
        return {each["case"]: each for each in csv.DictReader(file)}


def kept_plays() -> dict[str, list[dict[str, Any]]]:
    """Every play of the lab by its case: the row itself is the only one, unless there are more."""
    plays = {name: [{"seed": "1", **each}] for name, each in kept().items()}
    with PLAYS.open() as file:
        listed = list(csv.DictReader(file))
    for name in {each["case"] for each in listed}:
        plays[name] = [each for each in listed if each["case"] == name]
    return plays


def stale() -> list[str]:
    """Cases of which a play was made from another order, or other drives."""
    plays = kept_plays()
    return [
        case.name for case in cases() if any(each["made_from"] != case.made_from for each in plays.get(case.name, []))
    ]


def table(rows: dict[str, dict[str, Any]], plays: dict[str, list[dict[str, Any]]]) -> str:
    """As the document has it: what misses its goal is printed bold; then what was not played."""
    head = "| case | plays | real md or ZFS | model | time | read | written | kicked | given up: lab; model |"
    lines = [head, "| --- " * 9 + "|"]
    played = [case.name for case in cases() if case.name in rows]
    for name in played:
        each = rows[name]
        times_s = [float(play["real_s"]) for play in plays[name]]
        spread = f" ({min(times_s)} to {max(times_s)})" if len(times_s) > 1 else ""
        lab = f"{each['real_s']}{interval(times_s)} s{spread}"
        model = f"{each['model_s']} s ({each['model_least_s']} to {each['model_most_s']})"
        errors = [_error(float(each[f"{what}_error"]), goal) for what, goal in GOALS.items()]
        said, foretold = [play["real_kicked"] for play in plays[name]], of_tally(each["model_verdicts"])
        kicked = agreement(each) + chance(each, said, foretold)
        shares = f"{given_up(said)}; {given_up(foretold)}"
        lines.append("| " + " | ".join([name, str(len(times_s)), lab, model, *errors, kicked, shares]) + " |")
    missing = ", ".join(f"`{case.name}`" for case in cases() if case.name not in rows)
    held = sum(holds(rows[name]) for name in played)
    same = sum(gives_up(rows[name]["real_kicked"]) == gives_up(rows[name]["model_kicked"]) for name in played)
    told = f"{len(played)} of {len(cases())} cases have been played; {held} hold in everything. "
    told += f"Who gives the drive up is the same in {same}."
    return "\n".join([*lines, "", told, f"Not played: {missing or 'none'}."]) + "\n"


def gives_up(verdict: str) -> list[bool]:
    """Whether each of those who wait gives the drive up; how close the others come is left out."""
    return [each == "yes" for each in verdict.split("/")]


def agreement(each: dict[str, Any]) -> str:
    """A difference in who gives the drive up weighs more than one in who is kept waiting for half of a limit."""
    real, modelled = each["real_kicked"], each["model_kicked"]
    if real == modelled:
        return "the same"
    return "**close differs**" if gives_up(real) == gives_up(modelled) else "**differs**"


def chance(each: dict[str, Any], said: list[str], foretold: list[str]) -> str:
    """How probable shares at least as different are, if lab and model are alike (Fisher's exact test).

    Of the first of those who wait whose middle verdicts differ: in how many plays and in how many seeds the worse of
    the two is reached. A middle verdict tells little of a drive that is given up every other time.
    """
    pairs = list(zip(each["real_kicked"].split("/"), each["model_kicked"].split("/"), strict=True))
    place = next((place for place, (real, modelled) in enumerate(pairs) if real != modelled), None)
    if place is None:
        return ""
    worse = max(map(VERDICTS.index, pairs[place]))
    reached = [sum(VERDICTS.index(one.split("/")[place]) >= worse for one in each) for each in (said, foretold)]
    others = [len(said) - reached[0], len(foretold) - reached[1]]
    return f" (p = {fisher_exact([reached, others]).pvalue:.2g})"


def holds(each: dict[str, Any]) -> bool:
    """Whether a row keeps all its goals."""
    near = all(abs(float(each[f"{what}_error"])) <= goal for what, goal in GOALS.items())
    return near and each["real_kicked"] == each["model_kicked"]


def _error(error: float, goal: float) -> str:
    text = f"{error:+.1%}".replace("%", " %").replace("-", "\N{MINUS SIGN}")
    return text if abs(error) <= goal else f"**{text}**"


def main() -> None:
    """Fill in what the table lacks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plays", type=int, default=1)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    rows, plays, old = kept(), kept_plays(), set(stale())
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            have = plays.get(case.name, []) if case.name not in old else []
            more = asked.plays - len(have) if not asked.names or case.name in asked.names else 0
            for seed in range(len(have) + 1, len(have) + more + 1):
                played = {"case": case.name, "made_from": case.made_from, "seed": seed}
                have = [*have, played | real(case, Path(folder), seed)]
                print(have[-1], flush=True)
            if not have:
                continue
            plays[case.name] = have
            rows[case.name] = row(case, of_all(have), [modelled(case, seed) for seed in range(1, SEEDS + 1)])
            print(rows[case.name], flush=True)
            write(rows, plays)


def write(rows: dict[str, dict[str, Any]], plays: dict[str, list[dict[str, Any]]]) -> None:
    """All that is known."""
    named = [case.name for case in cases() if case.name in rows]
    write_csv(TABLE, HEAD, [rows[name] for name in named])
    write_csv(PLAYS, PLAYS_HEAD, [play for name in named if len(plays[name]) > 1 for play in plays[name]])
    put(DOCUMENT, BEGIN, table(rows, plays))


def write_csv(path: Path, head: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """The columns of ``head``; what else a row has is no part of it."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, head, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
