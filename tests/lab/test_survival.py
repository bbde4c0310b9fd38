"""What befalls a drive under the whole `cliff`, and a disk that leaves and returns. Skipped without a lab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.test_run import allowed as allowed  # noqa: PLC0414 - a fixture
from lab.test_run import built, shell
from shakedown.errors import EnvironmentFailure
from shakedown.protocol.load import load_protocol
from shakedown.protocol.play import Listener
from shakedown.protocol.run import Order, run
from shakedown.result.folder import read_run
from shakedown.result.run_record import RunRecord

pytestmark = built
HERE = Path(__file__).parent
# Of a drive of 744 MiB: filled until 176 s of virtual time, collapsed at 189 s, held until 210 s, drained until 272 s.
SHORT = {
    **{"limit": "40s", "confirm": "2s", "hold": "20s", "window": "30s", "patience": "60s", "tail": "20s"},
    **{"pause": "5s", "interval": "500ms", "long_interval": "1s"},
}
ALL = {
    **{"fill": "job-ended", "collapse": "condition", "hold": "condition", "drain": "condition"},
    "tail": "condition",
}


def cliff(out: Path, fault: str) -> RunRecord:
    order = Order("lab:skylight-2", scale_divisor=5000, faults=(fault,))
    return run(load_protocol("cliff", SHORT), order, out, Listener()).record


def ended(record: RunRecord) -> dict[str, str]:
    return {step.name: step.ended_because for step in record.steps}


def reasons(record: RunRecord) -> dict[str, str]:
    """Of the one use, what is said: status by the beginning of each headline."""
    assert record.verdict is not None
    return {reason.headline: reason.status for reason in record.verdict.uses[0].reasons}


@pytest.mark.parametrize("fault", ['kind="stall", from_s=195, for_s=45', 'kind="timeout", from_s=195, for_s=15'])
def test_a_drive_that_keeps_silent_is_waited_for_and_told(tmp_path: Path, fault: str) -> None:
    record = cliff(tmp_path / "run", fault)
    assert (record.status, ended(record)) == ("complete", ALL)
    assert [step.error for step in record.steps] == [None] * 5
    assert reasons(record)["the whole system will freeze while the link is reset"] == "fail"


@pytest.mark.parametrize(
    ("fault", "step", "told"),
    [
        # Bad sectors all over the drive, which only reads find.
        ('kind="latent-sectors", sectors=[[2048, 1500000]], retry_s=3, from_s=190', "drain", "No data available"),
        (
            'kind="gone", from_s=200, for_s=45',
            "hold",
            "Input/output error (errno 5); it was gone for 45 s, and is back",
        ),
        ('kind="power-loss", from_s=230, for_s=20', "drain", "Input/output error (errno 5); it was gone for 1"),
    ],
)
def test_a_drive_that_fails_requests_is_told_and_not_trusted(tmp_path: Path, fault: str, step: str, told: str) -> None:
    record = cliff(tmp_path / "run", fault)
    assert record.status == "complete"
    (failed,) = (each for each in record.steps if each.name == step)
    assert failed.ended_because == "job-ended"
    assert told in (failed.error or "")
    # What had been measured until then is there.
    assert not read_run(tmp_path / "run").samples.filter(step=step).is_empty()
    assert record.verdict is not None
    assert record.verdict.status == "fail"
    assert record.verdict.uses[0].reasons[0].headline.startswith("it failed requests")


def test_a_drive_that_stays_away_fails_the_step_and_the_rest_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="was not back in time"):
        cliff(tmp_path / "run", 'kind="gone", from_s=200, for_s=1e6')
    record = read_run(tmp_path / "run").record
    assert (record.status, record.verdict) == ("failed", None)
    assert ended(record) == ALL | {"hold": "failed", "drain": "skipped", "tail": "skipped"}
    assert "Input/output error" in (record.steps[2].error or "")


# The disk is unplugged for 20 s, and plugged in again while its name is still taken; another is never touched.
UNPLUG = """
serial=$(tail -c +5 /sys/block/sda/device/vpd_pg80 | tr -d ' \\0')
before=$(sha256sum < /dev/sdb)
(sleep 12; exec 9< /dev/sda; echo 1 > /sys/block/sda/device/delete; sleep 20
 for host in /sys/class/scsi_host/*; do echo '- - -' > $host/scan; done; sleep 1000) &
shakedown run ./long.toml /dev/sda --destroy-data-on $serial --quiet --out run --json > told; echo $?
[ "$before" = "$(sha256sum < /dev/sdb)" ] && echo the other is as it was
ls /sys/block | grep sd | tr '\\n' ' '
"""
LONG = """
format_version = 1
name = "long"
title = "Long"
question = "Does it come back?"
uses = ["mdraid"]
[[steps]]
name = "write"
job = "rw=randwrite\\nbs=64k\\ntime_based\\nruntime=30"
[[steps]]
name = "read"
job = "rw=randread\\nbs=4k\\ntime_based\\nruntime=10"
[[steps]]
name = "write-again"
job = "rw=write\\nbs=1M\\ntime_based\\nruntime=10"
[[findings]]
kind = "throughput"
step = "write-again"
"""


def test_a_disk_that_returns_under_another_name_is_found_by_who_it_is(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    _, output, errors = shell(
        UNPLUG,
        drives=("model:wd40efrx",) * 2,
        scale_divisor=10_000,
        bring_in=(tmp_path / "long.toml",),
        bring_out={"/lab/run": tmp_path / "run"},
        with_shakedown=True,
    )
    assert output.splitlines() == ["1", "the other is as it was", "sdb sdc "], errors
    record = read_run(tmp_path / "run").record
    assert record.status == "complete"
    assert [step.ended_because for step in record.steps] == ["job-ended"] * 3
    error, *others = (step.error for step in record.steps)
    assert (error or "").endswith("and is back as /dev/sdc")
    assert others == [None, None]
    assert record.findings[0].value
    assert record.target.text == "/dev/sda"


WEEK = """
format_version = 1
name = "week"
title = "Week"
question = "Does it go on?"
uses = ["mdraid"]
[[steps]]
name = "fill"
job = "rw=write\\nbs=1M\\nsize=100%"
[[steps]]
name = "days"
idle = "6d"
[[steps]]
name = "write"
restart = "fill"
job = "rw=randwrite\\nbs=64k\\ntime_based\\nruntime=60"
[[steps]]
name = "read"
job = "rw=randread\\nbs=4k\\ntime_based\\nruntime=60"
[[findings]]
kind = "throughput"
step = "fill"
[[findings]]
kind = "throughput"
step = "write"
[[findings]]
kind = "worst-latency"
step = "write"
[[findings]]
kind = "latency"
step = "read"
"""
BEGIN = """
mkfs.ext4 -q /dev/sdb && mount /dev/sdb /mnt && cd /mnt && cp /lab/week.toml .
serial=$(tail -c +5 /sys/block/sda/device/vpd_pg80 | tr -d ' \\0')
shakedown run ./week.toml /dev/sda --destroy-data-on $serial --quiet --out run; echo $?; cp -r run /lab/
"""
GO_ON = """
fsck.ext4 -fp /dev/sdb > /dev/null; mount /dev/sdb /mnt && cd /mnt
serial=$(tail -c +5 /sys/block/sda/device/vpd_pg80 | tr -d ' \\0')
shakedown run --resume run --destroy-data-on $serial --quiet; echo $?; cp -r run /lab/
"""
DAY_S = 86_400


def week(out: Path, *cuts_s: float) -> RunRecord:
    """A week's run on the first disk, its folder on the second, through power cuts."""
    out.mkdir()
    (out / "week.toml").write_text(WEEK)
    _, output, errors = shell(
        BEGIN,
        drives=("model:wd40efrx",) * 2,
        scale_divisor=10_000,
        power_cuts_ns=tuple(int(each * 1e9) for each in cuts_s),
        after_cut=("bash", "-c", GO_ON) if cuts_s else (),
        bring_in=(out / "week.toml",),
        bring_out={"/lab/run": out / "run"},
        with_shakedown=True,
    )
    assert "TRUST IT" in output, errors
    return read_run(out / "run").record


def test_a_power_cut_on_day_six_is_resumed_to_the_same_findings(tmp_path: Path) -> None:
    undisturbed, cut = week(tmp_path / "a"), week(tmp_path / "b", 6 * DAY_S - 3600)
    assert undisturbed.status == cut.status == "complete"
    assert ended(cut) == ended(undisturbed)
    for ours, theirs in zip(cut.findings, undisturbed.findings, strict=True):
        assert (ours.kind, ours.step) == (theirs.kind, theirs.step)
        assert ours.value == pytest.approx(theirs.value, rel=0.03), ours
    events = [json.loads(line) for line in (tmp_path / "b" / "run" / "journal").read_text().splitlines()]
    assert [each["step"] for each in events if each["event"] == "run-resumed"] == ["days"]


# The real smartctl, whose figure is another for a while: too warm from 30 s after the boot until 200 s after it.
WARM = """
mkdir bin; cat > bin/smartctl << 'END'
#!/bin/bash
read -r up _ < /proc/uptime
(( ${up%.*} >= 30 && ${up%.*} < 200 )) && is=58 || is=34
/usr/sbin/smartctl "$@" | sed 's/"current":34/"current":'$is/
END
chmod +x bin/smartctl
serial=$(tail -c +5 /sys/block/sda/device/vpd_pg80 | tr -d ' \\0')
run() { shakedown run ./warm.toml /dev/sda --destroy-data-on $serial --quiet "$@"; echo $?; }
run --out cool --temperature-limit 35
PATH=$PWD/bin:$PATH run --out warm --temperature-limit 55
mv /usr/sbin/smartctl /tmp; run --out blind --temperature-limit 55
"""
LOAD = """
format_version = 1
name = "warm"
title = "Warm"
question = "Does it rest?"
uses = []
[[steps]]
name = "read"
job = "rw=randread\\nbs=4k\\nsize=100%\\nnumber_ios=6000"
[[findings]]
kind = "worst-latency"
step = "read"
[[findings]]
kind = "throughput"
step = "read"
"""


def test_a_drive_that_is_too_warm_rests_and_its_figures_are_those_without_the_rest(tmp_path: Path) -> None:
    (tmp_path / "warm.toml").write_text(LOAD)
    _, output, errors = shell(
        WARM,
        drives=("model:wd40efrx",),
        scale_divisor=10_000,
        bring_in=(tmp_path / "warm.toml",),
        bring_out={f"/lab/{name}": tmp_path / name for name in ("cool", "warm")},
        with_shakedown=True,
    )
    assert [line for line in output.splitlines() if line.isdecimal()] == ["0", "0", "5"], errors
    cool, warm = (read_run(tmp_path / name) for name in ("cool", "warm"))
    assert warm.samples["count"].sum() == cool.samples["count"].sum() == 6000
    for ours, theirs in zip(warm.record.findings, cool.record.findings, strict=True):
        assert ours.value == pytest.approx(theirs.value, rel=0.05), ours
    assert warm.record.steps[0].error is None
    assert [note for note in warm.record.notes if note not in cool.record.notes] == [warm.record.notes[-1]]
    assert "Step read was paused once" in warm.record.notes[-1]
    paused, unpaused = (
        json.loads(line) for line in (tmp_path / "warm" / "journal").read_text().splitlines() if "paused" in line
    )
    assert (paused["event"], unpaused["event"]) == ("paused", "unpaused")
    assert "58" in paused["text"]
    assert "34" in unpaused["text"]
    # What cannot be measured is told before anything begins.
    assert "the temperature of /dev/sda cannot be read: no sensor of the kernel" in errors
    assert warm.record.temperature_limit_celsius == 55


PROBE = """
serial=$(tail -c +5 /sys/block/sda/device/vpd_pg80 | tr -d ' \\0')
before=$(sha256sum < /dev/sda)
shakedown identify --probe /dev/sda --json | sed 's/^/reads /'
[ "$before" = "$(sha256sum < /dev/sda)" ] && echo nothing is written
shakedown identify --probe /dev/sda --destroy-data-on other; echo $?
shakedown identify --probe /dev/sda --destroy-data-on $serial --json | sed 's/^/writes /'
ls runs/probe-sda-2/before | head -1
"""


def test_the_probe_reads_and_writes_only_with_consent(tmp_path: Path) -> None:
    order = {"drives": ("model:wd40efax",), "scale_divisor": 8000, "with_shakedown": True}
    _, output, errors = shell(PROBE, **order)
    lines = output.splitlines()
    reads, writes = (
        json.loads("\n".join(line.removeprefix(word) for line in lines if line.startswith(word)))["drives"][0]
        for word in ("reads ", "writes ")
    )
    assert {"nothing is written", "4", "0.bin"} <= set(lines), errors
    assert reads["facts"]["random_read_iops"] > 30
    assert reads["facts"]["durable_write_iops"] is None
    assert 10 < writes["facts"]["durable_write_iops"] < 200
    assert [each["source"] for each in writes["evidence"]].count("probe") == 1
