"""Every example of docs/python.md runs, in its order, as a reader would try them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

import shakedown
from shakedown import trace
from shakedown.array.order import RebuildOrder
from shakedown.array.zfs import ZfsOptions
from shakedown.target.md_options import MdOptions

TEXT = (Path(__file__).parent.parent / "docs" / "python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = []
    for number, example in enumerate(EXAMPLES):
        exec(compile(example, f"example {number}", "exec"), names)
        printed.append(capsys.readouterr().out)
    assert len(printed) == TEXT.count("```python") > 5
    assert all(printed)
    assert printed[1].strip() == "{'value': 100000, 'origin': 'assumed: set through the API'}"
    assert "`geometry.rpm` is 12: a drive must turn" in printed[-1]


@pytest.mark.parametrize("schema", [shakedown.REQUEST_SCHEMA, shakedown.INTERVAL_SCHEMA, trace.TRACE_SCHEMA])
def test_every_column_is_told(schema: pl.Schema) -> None:
    untold = {"direction", "duration_ns"}  # in docs/run-folder.md, which the text points to
    assert [name for name in schema if f"`{name}`" not in TEXT and f'"{name}"' not in TEXT and name not in untold] == []


@pytest.mark.parametrize("kind", [MdOptions, ZfsOptions, RebuildOrder])
def test_every_option_of_a_rebuild_is_told(kind: type[MdOptions | ZfsOptions | RebuildOrder]) -> None:
    others = {"layout", "replacement", "options"}  # which the text calls otherwise
    assert [each.name for each in fields(kind) if f"`{each.name}`" not in TEXT and each.name not in others] == []


def test_every_reader_is_told() -> None:
    assert [name for name in trace.__all__ if name.startswith("read_") and f"`{name}(" not in TEXT] == []


def test_a_frame_is_an_arrow_stream() -> None:
    frame = shakedown.Drive.load("wd40efax", seed=1).run("rw=read\nnumber_ios=3")
    assert pl.DataFrame(ArrowOnly(frame)).equals(frame)


class ArrowOnly:
    """Nothing but the Arrow C stream of a frame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)
