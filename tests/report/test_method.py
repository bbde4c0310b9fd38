"""What the method says of a run, in words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from shakedown.report.html import render_page
from shakedown.report.method import details, settings
from shakedown.result.folder import read_run

from . import synthetic


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("scale_divisor", "1000", ["scale 1/1000"]),
        ("scale_divisor", "1", []),
        ("allocated_bytes", "4096", ["allocated 4.0 KiB"]),
        ("note_holes", "not all of it was ever written", ["not all of it was ever written"]),
        ("read_ahead_of_it", "yes", ["read ahead of it yes"]),
        ("profile", "wd40efax.toml", ["profile wd40efax.toml"]),
    ],
)
def test_a_detail_is_told_in_words(key: str, value: str, told: list[str], tmp_path: Path) -> None:
    target = read_run(synthetic.day(tmp_path / "run", None)).record.target
    assert list(details(target.model_copy(update={"details": {key: value}}))) == told


def test_what_was_set_of_a_rebuild_is_in_words_and_of_a_protocol_as_it_is_typed(tmp_path: Path) -> None:
    run = read_run(synthetic.day(tmp_path / "run", None))
    parameters = {"state": "new", "load": "reader: 8.0 KiB"}
    record = run.record.model_copy(update={"parameters": parameters})
    assert list(settings(record)) == [("load", "reader: 8.0 KiB"), ("state", "new")]
    protocol = record.protocol.model_copy(update={"name": "rebuild"})
    target = record.target.model_copy(update={"details": {"scale_divisor": "100"}})
    rebuild = replace(run, record=record.model_copy(update={"protocol": protocol, "target": target}))
    page = render_page([rebuild]).partition(">Method<")[2].partition("<details>")[0]
    told = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "load: reader: 8.0 KiB; new drive: new" in told
    assert "scale 1/100" in told
    assert "scale_divisor" not in told
