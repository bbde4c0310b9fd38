"""A run in other people's formats: nothing lost, nothing told that is not to be shared."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from shakedown.report.export.card import BINS, HEAD, card_document, card_json, card_picture
from shakedown.report.export.prometheus import prometheus_text
from shakedown.report.export.samples import samples_csv
from shakedown.result.folder import Run, read_run

from . import synthetic
from .test_rebuilds import COMPLETE, rebuilt

LINE = re.compile(
    r'[a-z_]+\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\} -?\d+(?:\.\d+)?(?:e[+-]\d+)?'
)


@pytest.fixture(scope="module")
def cliff(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(synthetic.cliff(tmp_path_factory.mktemp("export") / "cliff"))


def test_the_samples_come_back_as_they_were(cliff: Run) -> None:
    assert pl.read_csv(BytesIO(samples_csv(cliff)), schema=cliff.samples.schema).equals(cliff.samples)


def test_a_textfile_is_what_prometheus_reads(cliff: Run) -> None:
    lines = prometheus_text(cliff).decode().splitlines()
    seen: list[str] = []
    for line in lines:
        if line.startswith("# HELP "):
            seen.append(line.split()[2])
        elif not line.startswith("# TYPE "):
            assert LINE.fullmatch(line), line
            assert line.partition("{")[0] == seen[-1]
    assert len(seen) == len(set(seen))


def test_figures_are_in_base_units(cliff: Run) -> None:
    text = prometheus_text(cliff).decode()
    for finding in cliff.record.findings:
        if finding.value is None:
            continue
        factor = {"MiB/s": 2**20, "ms": 1e-3}.get(finding.unit, 1)
        name = f"shakedown_finding_{finding.kind.replace('-', '_')}"
        found = re.search(rf'^{name}(?:_[a-z]+)*\{{[^}}]*step="{finding.step}"\}} (\S+)$', text, re.MULTILINE)
        assert found
        assert float(found[1]) == pytest.approx(finding.value * factor)
    total = cliff.samples.filter(pl.col("step") == cliff.record.steps[0].name)["bytes"].sum()
    assert f'step="{cliff.record.steps[0].name}",direction="write"}} {float(total)!r}\n' in text


def hostile(run: Run, words: str) -> Run:
    target = run.record.target.model_copy(update={"name": words, "model": words, "text": words})
    return Run(run.path, run.record.model_copy(update={"target": target}))


def test_names_with_quotes_and_line_breaks_stay_names(cliff: Run) -> None:
    words = 'a"b\\c\nd} 1\x1b<script>&'
    lines = prometheus_text(hostile(cliff, words)).decode().split("\n")
    assert all(LINE.fullmatch(line) or line.startswith("# ") for line in lines if line)
    document = card_document(cliff, words, words)
    picture = card_picture(cliff, document)
    text = "".join(ElementTree.fromstring(picture).itertext())
    assert 'a"b\\c\ufffdd} 1\ufffd<script>&' in text


def test_a_card_is_small_and_says_nothing_of_whose_drive_it_was(cliff: Run) -> None:
    secret = "SERIAL-1234"
    run = hostile(cliff, secret)
    document = card_document(run, "WDC WD40EFAX-68JH4N0", "82.00A82")
    content = card_json(document)
    picture = card_picture(run, document)
    assert secret.encode() not in content + picture
    assert content.startswith(HEAD.encode())
    assert len(content) < 32 * 1024 > len(picture)
    assert len(json.loads(content)["rate"]["values"]) <= BINS


def test_a_card_keeps_the_extremes(cliff: Run) -> None:
    values = [pair for pair in card_document(cliff, "m", None)["rate"]["values"] if pair[0] is not None]
    rates = cliff.samples.filter(pl.col("count") > 0).select(pl.col("count") / pl.col("duration_ns") * 1e9).to_series()
    assert max(max(pair) for pair in values) == pytest.approx(rates.max(), rel=1e-3)


def test_a_card_tells_the_least_and_the_most_of_each_bin(cliff: Run) -> None:
    pairs = [pair for pair in card_document(cliff, "m", None)["rate"]["values"] if pair[0] is not None]
    assert all(least <= most for least, most in pairs)
    assert any(least < most for least, most in pairs)


def test_in_a_cards_picture_nothing_is_below_all_decades_and_the_cliff_is_told_first(cliff: Run) -> None:
    picture = ElementTree.fromstring(card_picture(cliff, card_document(cliff, "m", None)))
    scale = {each.text: float(each.attrib["y"]) for each in picture.iter() if each.attrib.get("text-anchor") == "end"}
    assert scale.pop("0") > max(scale.values())
    told = "".join(picture.itertext())
    assert re.search("\\ntime to the cliff in [a-z]+: .*; time to recover in [a-z]+: ", told)


def test_a_card_of_a_rebuild_says_of_which_array_and_that_its_rate_is_mib(tmp_path: Path, cliff: Run) -> None:
    run = rebuilt(tmp_path / "run", COMPLETE, title="raid6 of 8 drives")
    told = run.record.parameters | {"faults": "drive 1 gone from 60 min on for good"}
    run = replace(run, record=run.record.model_copy(update={"parameters": told}))
    document = card_document(run, "WD40EFAX", None)
    assert document["protocol"]["title"] == "raid6 of 8 drives"
    assert document["rate"]["unit"] == "mebibytes_per_second"
    picture = card_picture(run, document).decode()
    assert ">MiB/s over " in picture
    assert "raid6 of 8 drives (rebuild), faults: drive 1 gone from 60 min on for good; " in picture
    assert card_document(cliff, "m", None)["rate"]["unit"] == "operations_per_second"
    assert ">requests a second over " in card_picture(cliff, card_document(cliff, "m", None)).decode()


def test_a_run_without_samples_has_a_card(tmp_path: Path, cliff: Run) -> None:
    cliff.samples.clear().write_parquet(tmp_path / "samples.parquet")
    empty = Run(tmp_path, cliff.record.model_copy(update={"steps": (), "findings": ()}))
    ElementTree.fromstring(card_picture(empty, card_document(empty, "m", None)))
    assert prometheus_text(empty).startswith(b"# HELP")


def test_a_card_of_a_modelled_drive_that_was_served_says_so(cliff: Run) -> None:
    details = {"modelled": "yes", "scale_divisor": "1000"}
    target = cliff.record.target.model_copy(update={"kind": "nbd", "details": details})
    record = cliff.record.model_copy(update={"arena": "device", "scale_divisor": 1, "target": target})
    document = card_document(replace(cliff, record=record), "WD40EFAX", "82")
    assert document["modelled"] is True
    assert document["scale_divisor"] == 1000
    assert b"a prediction, not a measurement" in card_picture(replace(cliff, record=record), document)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("file", "a file"),
        ("directory", "a file in a folder"),
        ("nbd", "a device served over NBD"),
        ("disk", "a disk"),
        ("loop", "a loop device"),
    ],
)
def test_a_card_says_on_what_it_was_measured(cliff: Run, kind: str, said: str) -> None:
    target = cliff.record.target.model_copy(update={"kind": kind})
    run = replace(cliff, record=cliff.record.model_copy(update={"arena": "device", "target": target}))
    assert f"(cliff); measured on {said}<" in card_picture(run, card_document(run, "WD40EFAX", "82")).decode()
