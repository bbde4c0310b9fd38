"""What is said of drives that are known, of those that look like them and are not, and of those that hide."""

from __future__ import annotations

import csv
import json
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shakedown.analysis.identify.answer import Answer, answer, exit_status
from shakedown.analysis.identify.ata import identify_facts, page_89_facts, page_b1_facts
from shakedown.analysis.identify.evidence import weigh
from shakedown.analysis.identify.facts import Facts
from shakedown.analysis.identify.models import parse_models
from shakedown.analysis.identify.recorded import parse_recorded
from shakedown.analysis.identify.smart import smart_facts
from shakedown.data import reference_path
from shakedown.errors import UsageError
from shakedown.report.identify import identify_document, identify_text

MODELS = parse_models(reference_path("smr_models.csv").read_text(encoding="utf-8"))


def asked(**facts: object) -> Answer:
    return answer(Facts.model_validate({"name": "sdb", "transport": "ata", "rotational": True} | facts), MODELS)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # Shingled, and known for it; with TRIM and without.
        ({"model": "WDC WD40EFAX-68JH4N0", "trim": True, "rotation_rpm": 5400}, ("shingled", "strong", 1)),
        ({"model": "ST8000AS0002-1NA17Z", "trim": False, "rotation_rpm": 5980}, ("shingled", "strong", 1)),
        ({"model": "ST8000DM004-2CX188"}, ("shingled", "strong", 1)),
        ({"model": "TOSHIBA HDWD240"}, ("shingled", "strong", 1)),
        # The same letters at the end, and conventional; TRIM does not change that.
        ({"model": "WDC WD80EFAX-68LHPN0", "rotation_rpm": 5400}, ("conventional", "strong", 0)),
        ({"model": "WDC WD80EFAX-68LHPN0", "trim": True, "rotation_rpm": 5400}, ("conventional", "strong", 0)),
        # The same letters at the end, and not listed: nothing is known.
        ({"model": "WDC WD70EFAX-68LHPN0"}, ("unknown", "none", 3)),
        ({"model": "WDC WD70EFAX-68LHPN0", "trim": False}, ("unknown", "none", 3)),
        # TRIM alone is a hint, and no more than that.
        ({"model": "EXAMPLE 1234", "trim": True}, ("shingled", "likely", 3)),
        ({"model": "EXAMPLE 1234", "discards": True}, ("shingled", "likely", 3)),
        ({"model": "EXAMPLE 1234", "discards": True, "transport": "usb"}, ("unknown", "none", 3)),
        ({"model": "QEMU HARDDISK", "discards": True, "transport": "virtual"}, ("unknown", "none", 3)),
        # The drive says so itself.
        ({"model": "EXAMPLE 1234", "ata_zones": "device-managed"}, ("shingled", "certain", 1)),
        ({"model": "EXAMPLE 1234", "scsi_zones": "host-aware"}, ("shingled", "certain", 1)),
        ({"model": "EXAMPLE 1234", "kernel_zones": "host-managed"}, ("shingled", "certain", 1)),
        ({"model": "EXAMPLE 1234", "kernel_zones": "none", "ata_zones": "not-reported"}, ("unknown", "none", 3)),
        # Writes that are durable sooner than the heads could be there; behind a bridge the flush may be a lie.
        ({"random_read_iops": 62.0, "durable_write_iops": 127.0}, ("shingled", "likely", 3)),
        ({"random_read_iops": 62.0, "durable_write_iops": 127.0, "transport": "usb"}, ("unknown", "none", 3)),
        ({"random_read_iops": 62.0, "durable_write_iops": 62.0}, ("unknown", "none", 3)),
        ({"random_read_iops": 62.0}, ("unknown", "none", 3)),
        ({"random_read_iops": 9000.0, "durable_write_iops": 30_000.0}, ("unknown", "none", 3)),
        # No spindle, whatever else.
        ({"model": "EXAMPLE SSD", "rotation_rpm": 0, "trim": True}, ("solid-state", "certain", 0)),
        ({"transport": "nvme", "rotational": False, "kernel_zones": "host-managed"}, ("solid-state", "certain", 0)),
        # The kernel may be told by a bridge that nothing turns.
        ({"model": "My Passport 25E2", "transport": "usb", "rotational": False}, ("unknown", "none", 3)),
        # A list's row that nobody checked is worth little; one that says unknown, nothing.
        ({"model": "ST4000LM016-1N2170"}, ("unknown", "none", 3)),
        ({"model": "MQ03UBB300"}, ("unknown", "none", 3)),
        # smartmontools' own mark; against the list's word neither wins.
        ({"model": "EXAMPLE 1234", "family": "Seagate BarraCuda 3.5 (SMR)"}, ("shingled", "strong", 1)),
        ({"model": "HDWD110", "family": "Toshiba P300 (SMR)"}, ("unknown", "none", 3)),
        # sysfs cuts a model number off after 16 characters.
        ({"model": "WDC WD40EFAX-68J"}, ("shingled", "strong", 1)),
        ({"model": "TOSHIBA MQ04UBB2"}, ("shingled", "likely", 3)),
        ({"model": "WDC WD4"}, ("unknown", "none", 3)),
        # Many weak pieces stay weak.
        ({"stalls": 40, "model": "ST4000LM016-1N2170"}, ("unknown", "none", 3)),
        ({}, ("unknown", "none", 3)),
    ],
)
def test_the_answer_to(facts: dict[str, object], expected: tuple[str, str, int]) -> None:
    found = asked(**facts)
    assert (found.verdict, found.confidence, found.exit_status) == expected


def test_contradictions_are_told() -> None:
    assert asked(model="WDC WD80EFAX-68LHPN0", trim=True).contradicted
    assert not asked(model="WDC WD80EFAX-68LHPN0", trim=False).contradicted


def test_a_bridge_that_hides_the_drive_is_told() -> None:
    sources = [each.source for each in asked(transport="usb", model="Expansion").evidence]
    assert "USB bridge" in sources
    seen = [each.source for each in asked(transport="usb", model="WDC WD40EFAX-68JH4N0", has_identify=True).evidence]
    assert "USB bridge" not in seen


def test_one_shingled_drive_decides_then_one_that_is_not_known() -> None:
    shingled, conventional, unknown = asked(model="WD40EFAX"), asked(model="WD40EFRX"), asked()
    assert exit_status([conventional, unknown, shingled]) == 1
    assert exit_status([conventional, unknown]) == 3
    assert exit_status([conventional, conventional]) == 0


@pytest.mark.parametrize("row", sorted({"WD40EFAX", "ST8000AS0002", "WD80EFAX", "ST4000VN008", "HDWD240"}))
def test_the_evidence_names_its_source(row: str) -> None:
    listed = next(each for each in weigh(Facts(name="sdb", model=row), MODELS) if each.source == "model list")
    assert row in listed.text
    assert "(" in listed.text


def test_the_list_says_in_sentences_who_says_so() -> None:
    with reference_path("smr_models.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sources = {row["model"]: row["source"] for row in rows}
    for source in sources.values():
        assert source[0].isupper() or source.startswith("smartmontools' "), source
        assert not re.search(r"NB |\bvia\b|drivedb(?!\.h)|[<>]=|\"", source), source
    # A note on a drive stands with that drive alone.
    assert [model for model in sources if "EFAX" in sources[model]] == [
        "WD80EFAX",
        "WD100EFAX",
        "WD101EFAX",
        "WD120EFAX",
    ]


def identify_data(words: dict[int, int], model: str) -> bytes:
    """IDENTIFY DEVICE data as a drive sends it: little-endian words, texts with their bytes swapped."""
    text = model.ljust(40).encode()
    filled = {27 + place: text[2 * place] << 8 | text[2 * place + 1] for place in range(20)} | {0: 0x40} | words
    return struct.pack("<256H", *(filled.get(place, 0) for place in range(256)))


def test_the_words_of_identify_device() -> None:
    data = identify_data({69: 0x4002, 169: 1, 217: 5400}, "WDC WD40EFAX-68JH4N0")
    page = bytes([0, 0x89, 2, 0x38]) + bytes(56) + data
    for facts in (identify_facts("sdb", data), page_89_facts("sdb", page)):
        assert facts is not None
        assert (facts.model, facts.ata_zones, facts.trim, facts.rotation_rpm) == (
            "WDC WD40EFAX-68JH4N0",
            "device-managed",
            True,
            5400,
        )
    assert identify_facts("sdb", identify_data({0: 0x8580}, "CDROM")) is None
    assert page_89_facts("sdb", bytes(572)) is None


@pytest.mark.parametrize(("bits", "zones"), [(0, "not-reported"), (1, "host-aware"), (2, "device-managed"), (3, None)])
def test_the_zones_of_page_b1(bits: int, zones: str | None) -> None:
    facts = page_b1_facts("sdb", bytes([0, 0xB1, 0, 0x3C, 0x1C, 0x20, 0, 0, bits << 4]) + bytes(55))
    assert facts is not None
    assert (facts.scsi_zones, facts.rotation_rpm) == (zones, 7200)


@given(st.binary(max_size=700))
def test_pages_of_garbage_are_no_traceback(page: bytes) -> None:
    for parse in (identify_facts, page_89_facts, page_b1_facts):
        facts = parse("sdb", page)
        assert facts is None or answer(facts, MODELS)


SMART = {
    "json_format_version": [1, 0],
    "smartctl": {"version": [7, 4], "exit_status": 0, "messages": [{"string": "a warning", "severity": "warning"}]},
    "device": {"name": "/dev/sdb", "info_name": "/dev/sdb [SAT]", "type": "sat", "protocol": "ATA"},
    "model_family": "Western Digital Red (SMR)",
    "model_name": "WDC WD40EFAX-68JH4N0",
    "serial_number": "WD-EXAMPLE",
    "firmware_version": "82.00A82",
    "user_capacity": {"blocks": 7814037168, "bytes": 4000787030016},
    "rotation_rate": 5400,
    "trim": {"supported": True, "deterministic": False, "zeroed": False},
    "zoned_device": {"capabilities": "device_managed"},
}


def test_smartctl_is_understood_and_its_serial_number_dropped() -> None:
    facts = smart_facts(SMART)
    assert facts.ata_zones == "device-managed"
    assert (facts.rotation_rpm, facts.trim, facts.capacity_bytes) == (5400, True, 4000787030016)
    assert facts.unread == ("smartctl: a warning",)
    assert "EXAMPLE" not in facts.model_dump_json()


def test_a_probe_tells_whether_it_has_written() -> None:
    def told(**facts: object) -> str:
        return " ".join(identify_text([answer(Facts.model_validate({"name": "sdb"} | facts), MODELS)]).split())

    assert "The probe" not in told()
    assert "The probe has only read: it wrote nothing." in told(random_read_iops=62.0)
    assert "The probe has overwritten random places: its data is lost." in told(
        random_read_iops=62.0, durable_write_iops=0.0
    )


KEYS = st.sampled_from([*SMART, "type", "bytes", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(KEYS, each, max_size=6),
)
RECORDED = JSON.map(lambda facts: {"command": "identify", "drives": [{"facts": facts}]})


@given(JSON, st.dictionaries(st.sampled_from(list(SMART)), JSON, max_size=4))
def test_strange_documents_of_smartctl_are_no_traceback(document: object, changes: dict[str, object]) -> None:
    for strange in (document, SMART | changes):
        found = answer(smart_facts(strange), MODELS)
        assert identify_text([found])


@given(st.text(max_size=200) | JSON.map(json.dumps) | RECORDED.map(json.dumps))
def test_strange_recordings_are_refused_in_words(text: str) -> None:
    try:
        assert parse_recorded(text)
    except UsageError as error:
        assert str(error)


@pytest.mark.parametrize(("facts", "where"), [({"model": "EXAMPLE"}, "name"), (None, "the whole")])
def test_the_place_at_which_a_recording_is_damaged_is_named(facts: object, where: str) -> None:
    with pytest.raises(UsageError, match=f"the recording is damaged: `{where}`: "):
        parse_recorded(json.dumps({"command": "identify", "drives": [{"facts": facts}]}))


def test_what_is_printed_can_be_read_again() -> None:
    answers = [asked(model="WDC WD40EFAX-68JH4N0", trim=True, unread=["x"]), asked(name="sdc")]
    document = {"format_version": 1, "command": "identify"} | identify_document(answers)
    assert parse_recorded(json.dumps(document)) == [each.facts for each in answers]
    assert [each.name for each in parse_recorded(json.dumps(SMART) + "\n" + json.dumps([SMART]))] == ["/dev/sdb"] * 2


def test_facts_complete_each_other() -> None:
    short = Facts(name="sdb", model="TOSHIBA MQ04ABF1", rotation_rpm=5400, unread=("a",))
    whole = short.completed_by(Facts(name="x", model="TOSHIBA MQ04ABF100", rotation_rpm=7200, trim=True, unread=("b",)))
    assert whole == Facts(
        name="sdb", model="TOSHIBA MQ04ABF100", rotation_rpm=5400, trim=True, unread=("a", "b")
    )  # fmt: skip
    with pytest.raises(ValidationError):
        Facts.model_validate({"name": "sdb", "trim": "perhaps"})


def test_a_list_with_other_columns_is_refused() -> None:
    with pytest.raises(UsageError, match="line 2"):
        parse_models("vendor,model\nWD,WD40EFAX\n")
