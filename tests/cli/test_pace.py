"""What the live line says, and what it does not pretend to know."""

from __future__ import annotations

from shakedown.cli.pace import Pace
from shakedown.protocol.schema import Step
from shakedown.sample import Sample
from shakedown.units import NS_PER_S

WRITE = "[s]\nrw=write\nbs=1M\n"


def pace(job: str = WRITE, **options: object) -> Pace:
    step = Step.model_validate({"name": "s", "job": job, **options})
    return Pace(step, 100 << 20, is_virtual=True)


def second(start_s: int, count: int, request_bytes: int = 1 << 20) -> Sample:
    latency = (2e6, 1, 1, 1, 1) if count else (None, None, None, None, None)
    return Sample("s", "write", start_s * NS_PER_S, NS_PER_S, count, count * request_bytes, *latency)


def shown(line: Pace) -> str:
    return line.line().partition(", virtual time")[0]


def test_rate_latency_elapsed_and_left() -> None:
    line = pace(WRITE + "size=100%\n")
    line.take([second(0, 10), second(1, 10)])
    assert shown(line) == "10.0 MiB/s, latency 2 ms, about 8 s left (20% done), 2 s gone"


def test_a_line_with_little_room_leaves_the_least_important_out() -> None:
    line = pace(WRITE + "size=100%\n")
    line.take([second(0, 10), second(1, 10)])
    assert line.line(60) == "10.0 MiB/s, latency 2 ms, about 8 s left (20% done)"
    assert line.line(3) == "10.0 MiB/s, latency 2 ms"


def test_a_line_without_news_keeps_the_rate_it_had() -> None:
    line = pace(WRITE + "time_based\nruntime=1m\n")
    line.take([second(0, 10, 4096)])
    first = shown(line)
    assert first == "10 IOPS, latency 2 ms, 59 s left, 1 s gone"
    assert shown(line) == first
    line.take([second(1, 0)])
    assert shown(line) == "nothing completed, 58 s left, 2 s gone"


def test_the_time_left_is_only_told_where_it_is_known() -> None:
    cliff = {"condition": "cliff", "hold": "1s"}
    assert shown(pace(until=cliff)) == "nothing completed yet"
    assert shown(pace(WRITE + "time_based\nruntime=2h\n", until=cliff)).endswith("at most 2 h 0 min left")
    recovered = {"condition": "recovered", "patience": "30min"}
    assert shown(pace(WRITE + "time_based\nruntime=8d\n", until=recovered)).endswith("at most 30 min left")


def test_a_job_is_read_as_fio_reads_it() -> None:
    assert shown(pace("[s] ; the only one\nrw=write\ntime_based\nTIMEOUT=2h\nruntime=60s ; x")).endswith("60 s left")
    assert shown(pace("[global]\ntime_based=1\ntimeout=60\n[s]\nrw=write")).endswith("60 s left")
    assert "left" not in shown(pace("[s]\nrw=write\ntime_based\nruntime=60s\n[t]\nrw=read\n"))


def test_a_moment_before_the_end_no_time_is_told() -> None:
    line = pace(WRITE + "size=100%\n")
    line.take([second(0, 95)])
    assert shown(line) == "95.0 MiB/s, latency 2 ms, nearly done, 1 s gone"
    late = pace(WRITE + "time_based\nruntime=1s\n")
    late.take([second(0, 10, 4096), second(1, 10, 4096)])
    assert shown(late) == "10 IOPS, latency 2 ms, nearly done, 2 s gone"
