"""Real Linux, and a drive whose flush is no queued command. Skipped where the lab is not built (`shakedown lab build`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.test_run import allowed, built, shell
from shakedown import _core
from shakedown.lab import bays

pytestmark = built
__all__ = ["allowed"]

# A shingled drive has much to do at each flush. Readers would go on all the time.
FIO = """
dmesg --clear
fio --ioengine=libaio --direct=1 --filename=/dev/sda --size=1g --output-format=json --randrepeat=1 --runtime=20 --time_based \
  --name=writes --rw=randwrite --bs=64k --iodepth=8 --fsync=64 --name=reads --rw=randread --bs=4k --iodepth=4 > /dev/null
cat /sys/block/sda/queue/fua
dmesg
"""


def test_linux_gives_a_sata_drive_nothing_beside_a_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        (int(arrived), int(ended), verb) for ended, _, verb, _, size, _, arrived in commands if (verb, size) != ("Read", "0")
    )
    flushes = [span for span in spans if span[2] == "Flush"]
    assert len(flushes) > 10
    assert max(ended - arrived for arrived, ended, _ in flushes) > 50_000_000
    for begins, ends, _ in flushes:
        # What the drive has when a flush comes, it ends before; from then on nothing comes.
        assert not [span for span in spans if begins < span[0] < ends or span[0] < begins and span[1] > ends]
