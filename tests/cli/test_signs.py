"""``triage`` and ``identify`` through the entry point: what goes where, and how they leave."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from cli.test_contract import QUICK, needs_core
from serving import anew, shakedown
from shakedown.cli.document import print_document

pytestmark = needs_core

LOGS = Path(__file__).parent.parent / "analysis" / "triage" / "logs"


@pytest.mark.parametrize(("log", "status"), [("archive-write-timeout", 0), ("worn-cable", 1), ("one-crc-error", 3)])
def test_triage_leaves_with_what_it_found(log: str, status: int, tmp_path: Path) -> None:
    answer = shakedown("triage", str(LOGS / f"{log}.log"), "--json", cwd=tmp_path)
    document = json.loads(answer.stdout)
    assert (answer.returncode, document["exit_status"], document["command"]) == (status, status, "triage")
    assert answer.stderr == ""
    episode = document["episodes"][0]
    assert all(advice["command"] and advice["undo"] for advice in episode["advice"])
    assert len(document["episodes"]) == 1


def test_triage_of_garbage_is_inconclusive_and_prints_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 40)
    assert shakedown("triage", "junk", cwd=tmp_path).returncode == 3
    evil = b"[1.0] ata3.00: ATA-9: EVIL\x1b[31m, FW, max UDMA/133\n[2.0] ata3.00: exception Emask 0x0\n"
    (tmp_path / "evil").write_bytes(evil)
    answer = shakedown("triage", "evil", cwd=tmp_path)
    assert answer.returncode == 3
    assert "EVIL\\x1b[31m" in answer.stdout
    assert "\x1b" not in answer.stdout + answer.stderr


def test_a_terminal_without_the_letters_gets_the_others(tmp_path: Path) -> None:
    """What is no letter of ASCII is a question mark for people, and for programs an escape of JSON."""
    (tmp_path / "quick.toml").write_text(QUICK.replace("Is it quick?", "Größe?").replace('"Quick"', '"Größe"'))
    surroundings: dict[str, Any] = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    words = ("run", "./quick.toml", "model:wd40efax", "--scale", "1/1000", "--quiet")
    told = anew(*words, cwd=tmp_path, **surroundings)
    assert told.returncode == 3, told.stderr
    assert "QUICK: Gr??e\n" in told.stdout
    told = anew(*words, "--json", cwd=tmp_path, **surroundings)
    assert told.returncode == 3, told.stderr
    assert "Gr\\u00f6\\u00dfe" in told.stdout
    assert json.loads(told.stdout)["run"]["protocol"]["title"] == "Größe"


def test_a_document_goes_to_what_keeps_text_and_has_no_encoding() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as kept:
        print_document("run", {"title": "Größe"})
    assert json.loads(kept.getvalue())["title"] == "Größe"


@pytest.mark.parametrize("arguments", [["triage"], ["triage", "a.log", "--journal"], ["triage", "missing.log"]])
def test_triage_wants_one_log(arguments: list[str], tmp_path: Path) -> None:
    answer = shakedown(*arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert "hint:" in answer.stderr


def test_identify_judges_a_recording_and_its_own_answer_again(tmp_path: Path) -> None:
    smart = {"smartctl": {}, "device": {"name": "/dev/sdb", "protocol": "ATA", "type": "sat"}}
    drives = [smart | {"model_name": "WDC WD80EFAX-68LHPN0"}, smart | {"model_name": "WDC WD40EFAX-68JH4N0"}]
    (tmp_path / "a.json").write_text(json.dumps(drives))
    first = shakedown("identify", "--recorded", "a.json", "--json", cwd=tmp_path)
    assert first.returncode == 1
    assert [drive["verdict"] for drive in json.loads(first.stdout)["drives"]] == ["conventional", "shingled"]
    (tmp_path / "b.json").write_text(first.stdout)
    assert anew("identify", "--recorded", "b.json", "--json", cwd=tmp_path).stdout == first.stdout
    text = shakedown("identify", "--recorded", "b.json", cwd=tmp_path)
    assert text.stdout.startswith("/dev/sdb: conventional, on strong evidence\n")


def test_identify_of_a_drive_of_the_lab_tells_how(tmp_path: Path) -> None:
    answer = shakedown("identify", "lab:wd40efax", cwd=tmp_path)
    assert answer.returncode == 2
    assert "lab run --with-shakedown --drive model:wd40efax -- shakedown identify /dev/sda" in answer.stderr


def test_of_a_modelled_drive_that_is_not_there_no_model_number_is_asked_for(tmp_path: Path) -> None:
    answer = shakedown("identify", "model:wd40efx", cwd=tmp_path)
    assert (answer.returncode, "did you mean `wd40ef" in answer.stderr) == (2, True)
    assert "model number" not in answer.stderr


def test_identify_counts_the_stalls_in_a_log(tmp_path: Path) -> None:
    smart = {"smartctl": {}, "device": {"name": "/dev/sdc", "type": "sat", "protocol": "ATA"}}
    (tmp_path / "a.json").write_text(json.dumps(smart))
    log = str(LOGS / "archive-write-timeout.log")
    answer = shakedown("identify", "--recorded", "a.json", "--log", log, "--json", cwd=tmp_path)
    drive = json.loads(answer.stdout)["drives"][0]
    assert drive["facts"]["stalls"] == 1
    assert (drive["verdict"], answer.returncode) == ("unknown", 3)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("triage", "-"), 3, "the log is empty"),
        (("identify", "--recorded", "-"), 2, "error: the recording speaks of no drive"),
    ],
)
def test_both_read_standard_input(arguments: tuple[str, ...], status: int, told: str, tmp_path: Path) -> None:
    """In which nothing is."""
    answer = shakedown(*arguments, cwd=tmp_path)
    assert answer.returncode == status
    assert told in answer.stdout + answer.stderr


@pytest.mark.parametrize("arguments", [[], ["/dev/nothing-there"], ["--recorded", "missing.json"], ["/"]])
def test_identify_refuses_in_words(arguments: list[str], tmp_path: Path) -> None:
    answer = shakedown("identify", *arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: ")


def test_a_probe_tells_a_shingled_model_from_a_conventional_one(tmp_path: Path) -> None:
    probed = shakedown("identify", "--probe", "model:wd40efax", "model:wd40efrx", "--json", cwd=tmp_path)
    drives = json.loads(probed.stdout)["drives"]
    said = [[each["says"] for each in drive["evidence"] if each["source"] == "probe"] for drive in drives]
    assert said == [["shingled"], ["nothing"]]
    # What is known without it stays known.
    told_of = [(drive["verdict"], drive["confidence"]) for drive in drives]
    assert (probed.returncode, told_of) == (1, [("shingled", "strong"), ("conventional", "strong")])
    assert list(tmp_path.iterdir()) == []
    told = " ".join(shakedown("identify", "--probe", "model:wd40efax", cwd=tmp_path).stdout.split())
    assert "The probe has overwritten random places: a modelled drive's, and nothing of this machine's." in told
    # Without a load only the list of models is asked, and is sure.
    unasked = shakedown("identify", "model:wd40efax", cwd=tmp_path)
    assert (unasked.returncode, "on strong evidence" in unasked.stdout) == (1, True)
