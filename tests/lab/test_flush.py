"""Real Linux, and a drive whose flush is no queued command. Skipped where the lab is not built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from lab.test_run import built, shell
from shakedown import _core
from shakedown.lab import bays
from shakedown.protocol.load import parse_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run

pytestmark = built

# A shingled drive has much to do at each flush. Readers would go on all the time.
FIO = """
dmesg --clear
fio --ioengine=libaio --direct=1 --filename=/dev/sda --size=1g --randrepeat=1 --runtime=20 --time_based > /dev/null \
  --name=writes --rw=randwrite --bs=64k --iodepth=8 --fsync=64 --name=reads --rw=randread --bs=4k --iodepth=4
cat /sys/block/sda/queue/fua
dmesg
"""


def test_linux_gives_a_sata_drive_nothing_beside_a_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace"

    class Traced:
        def __getattr__(self, name: str) -> Any:
            return getattr(_core, name)

        def Lab(self, *words: Any, **named: Any) -> Any:  # noqa: N802
            return _core.Lab(*words, trace_path=str(trace), **named)

    monkeypatch.setattr(bays, "_core", Traced())
    outcome, said, errors = shell(FIO, drives=("model:wd40efax",), scale_divisor=1000)
    assert (outcome.exit_status, said) == (0, "0\n"), errors
    commands = [line.split()[:7] for line in trace.read_text().splitlines()]
    spans = sorted(
        (int(arrived), int(ended), verb)
        for ended, _, verb, _, size, _, arrived in commands
        if (verb, size) != ("Read", "0")
    )
    flushes = [span for span in spans if span[2] == "Flush"]
    assert len(flushes) > 10
    assert max(ended - arrived for arrived, ended, _ in flushes) > 50_000_000
    for begins, ends, _ in flushes:
        # What the drive has when a flush comes, it ends before; from then on nothing comes.
        assert not [span for span in spans if begins < span[0] < ends or (span[0] < begins and span[1] > ends)]


DURABLE = b"""
format_version = 1
name = "durable"
title = "Durable writes"
question = "How fast are writes of which each is to be durable?"
[[steps]]
name = "one"
job = "[w]\\nrw=randwrite\\nbs=4k\\nsync=1\\nsize=1g\\ntime_based=1\\nruntime=10"
[[steps]]
name = "eight"
job = "[w]\\nrw=randwrite\\nbs=4k\\nsync=1\\niodepth=8\\nsize=1g\\ntime_based=1\\nruntime=10"
"""


@pytest.mark.parametrize("drive", ["wd40efrx", "wd40efax"])
def test_writes_share_a_flush_in_the_model_as_in_linux(drive: str, tmp_path: Path) -> None:
    """As none of them is forced to the medium by itself, what the drive does is the same to the microsecond."""
    found = []
    for arena in ("model", "lab"):
        order = Order(target=f"{arena}:{drive}", scale_divisor=100, like_lab=arena == "model")
        samples = run(parse_protocol(DURABLE, "durable.toml"), order, tmp_path / arena, Listener()).samples
        steps = samples.group_by("step", maintain_order=True)
        found.append({step: (rows["count"].sum(), rows["latency_max_ns"].max()) for (step,), rows in steps})
    model, lab = found
    assert list(model) == list(lab) == ["one", "eight"]
    for step in model:
        assert model[step] == pytest.approx(lab[step], rel=0.01)
