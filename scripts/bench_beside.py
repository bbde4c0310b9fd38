"""The same load on a modelled drive and on DiskSim 4.0, in turn: ``make bench-disksim DISKSIM=FOLDER``.

The folder is that of a DiskSim that has been built (it holds ``src/disksim`` and ``valid/``); nothing of it is part of
this project. Both simulate a closed loop of 4 KiB reads at random places of one drive with its read-ahead as it comes,
DiskSim the Cheetah 9LP of its own validation suite, Shakedown a 12 TB drive; at depth 32 by shortest positioning time.
Times are those of the processor, the best of several rounds in turn, less what it takes to begin.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from shakedown import _core
from shakedown.data import profile_path

DRIVE: Final = "st12000vn0007"
ROUNDS: Final = 2
OURS: Final = 500_000
THEIRS: Final = 20_000
# In `disksim_ioqueue.h`.
SHORTEST_POSITIONING_TIME_FIRST: Final = 8

_PROCESSES: Final = """disksim_pf Proc {{ Number of processors = {depth}, Process-Flow Time Scale = 1.0 }}
disksim_synthio Synthio {{
   Number of I/O requests to generate = {requests}, Maximum time of trace generated = 1000000000.0,
   System call/return with each request = 0, Think time from call to request = 0.0,
   Think time from request to return = 0.0,
   Generators = [ {generators} ]
}}
"""
# Every request is waited for, at once followed by the next, and eight sectors long.
_GENERATOR: Final = """disksim_synthgen {{
   Storage capacity per device = {sectors}, devices = [ disk0 ], Blocking factor = 8,
   Probability of sequential access = 0.0, Probability of local access = 0.0, Probability of read access = 1.0,
   Probability of time-critical request = 1.0, Probability of time-limited request = 0.0,
   Time-limited think times = [ normal, 30.0, 100.0 ], General inter-arrival times = [ exponential, 0.0, 0.0 ],
   Sequential inter-arrival times = [ normal, 0.0, 0.0 ], Local inter-arrival times = [ exponential, 0.0, 0.0 ],
   Local distances = [ normal, 0.0, 40000.0 ], Sizes = [ exponential, 8.0, 0.0 ]
}}"""


def ours_s(depth: int, requests: int) -> float:
    """Seconds of processor of so many reads on the modelled drive."""
    machine = _core.Machine(profile_path(DRIVE).read_text(encoding="utf-8"), seed=1, scale_divisor=1)
    job = f"[job]\nrw=randread\nbs=4k\nnorandommap\niodepth={depth}\nnumber_ios={requests}"
    began_s = time.process_time()
    load = machine.start(job, 3600 * 10**9, 1)
    while load.advance(512):
        pass
    return time.process_time() - began_s


def theirs_s(disksim: Path, depth: int, requests: int) -> float:
    """The same of DiskSim. Raises CalledProcessError."""
    valid = disksim / "valid"
    described = (valid / "cheetah9LP.parv").read_text(encoding="latin-1")
    sectors = int(re.search(r"Stripe unit\s*=\s*(\d+)", described)[1])  # type: ignore[index]
    generators = ", ".join([_GENERATOR.format(sectors=sectors)] * depth)
    with tempfile.TemporaryDirectory() as folder:
        for needed in valid.glob("cheetah9LP.*"):
            (Path(folder) / needed.name).write_bytes(needed.read_bytes())
        (Path(folder) / "statdefs").write_bytes((valid / "statdefs").read_bytes())
        drive = Path(folder) / "cheetah9LP.diskspecs"
        text = drive.read_text(encoding="latin-1")
        text = re.sub(r"(Max queue length =) \d+", rf"\1 {max(depth, 1)}", text, count=1)
        policy = SHORTEST_POSITIONING_TIME_FIRST if depth > 1 else 1
        text = re.sub(r"(Scheduling policy =) \d+", rf"\1 {policy}", text, count=1)
        drive.write_text(text, encoding="latin-1")
        load = _PROCESSES.format(depth=depth, requests=requests, generators=generators)
        begin = described.index("disksim_pf Proc")
        (Path(folder) / "bench.parv").write_text(described[:begin] + load, encoding="latin-1")
        command = [str(disksim / "src" / "disksim"), "bench.parv", "bench.outv", "ascii", "0", "1"]
        before = os.times()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = os.times()
        told = (Path(folder) / "bench.outv").read_text(encoding="latin-1")
    completed = re.search(r"Overall I/O System Total Requests handled:\s*(\d+)", told)
    # Those that are still in flight when the last is made are not told of.
    if completed is None or int(completed[1]) < requests - depth:
        raise SystemExit(f"error: DiskSim handled {completed and completed[1]} of {requests} requests")
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print a row for each depth."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "src" / "disksim").is_file():
        sys.exit("error: give the folder of a DiskSim that has been built: it holds `src/disksim` and `valid`")
    disksim = Path(sys.argv[1]).resolve()
    print(f"{'random 4 KiB reads':24} {'Shakedown':>14} {'DiskSim 4.0':>14} {'ratio':>7}")
    for depth in (1, 32):
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(ours_s(depth, OURS) - ours_s(depth, 1))
            theirs.append(theirs_s(disksim, depth, THEIRS) - theirs_s(disksim, depth, 1))
        rates = OURS / min(ours), THEIRS / min(theirs)
        print(f"{f'depth {depth}':24} {rates[0]:12,.0f}/s {rates[1]:12,.0f}/s {rates[0] / rates[1]:7.0f}")


if __name__ == "__main__":
    main()
