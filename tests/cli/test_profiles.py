"""``profiles`` through the entry point, and drives by the names that their owners know."""

from __future__ import annotations

import json
import re
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from cli.test_contract import needs_core
from serving import shakedown
from shakedown.cli.profiles.new import SheetOptions, new
from shakedown.data import list_profiles, profile_path
from shakedown.errors import UsageError

pytestmark = needs_core

SHEET = ("--capacity", "8TB", "--rpm", "7200", "--outer-rate", "210MB/s")


def test_all_are_listed(tmp_path: Path) -> None:
    told = json.loads(shakedown("profiles", "--json", cwd=tmp_path).stdout)
    assert [each["name"] for each in told["profiles"]] == list_profiles()
    text = shakedown("profiles", cwd=tmp_path).stdout
    assert [line.split()[0] for line in text.splitlines()[2 : 2 + len(list_profiles())]] == list_profiles()


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("WDC WD80EFZX-68UW8N0", ["wd80efzx"]),
        ("model:st8000vn004", ["st8000vn004"]),
        ("Exos", ["st16000nm001g", "st18000nm000j"]),
    ],
)
def test_some_are_found(word: str, names: list[str], tmp_path: Path) -> None:
    told = json.loads(shakedown("profiles", word, "--json", cwd=tmp_path).stdout)
    assert [each["name"] for each in told["profiles"]] == names


def test_a_word_that_finds_nothing_is_told_beside_what_others_find(tmp_path: Path) -> None:
    answer = shakedown("profiles", "foo", "st8000vn004", "--json", cwd=tmp_path)
    assert [each["name"] for each in json.loads(answer.stdout)["profiles"]] == ["st8000vn004"]
    assert (answer.returncode, answer.stderr) == (0, "`foo`: no drive's name or title holds that\n")
    assert shakedown("profiles", "st8000vn004", "--json", cwd=tmp_path).stderr == ""


def test_a_stranger_is_told_how_to_get_a_profile(tmp_path: Path) -> None:
    for words in (("profiles", "ST8000VN0022"), ("rebuild", "raid6", "model:ST8000VN0022-2EL112", "--width", "8")):
        answer = shakedown(*words, cwd=tmp_path)
        assert answer.returncode == 2
        assert "did you mean `st8000vn004`" in answer.stderr
        assert "`shakedown profiles new` makes one of another drive's data sheet" in answer.stderr


def test_one_is_made_and_used(tmp_path: Path) -> None:
    made = shakedown("profiles", "new", "mine.toml", *SHEET, "--shingles-like", "ST8000AS0002", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "model:./mine.toml" in made.stdout
    assert "taken from st8000as0002" in " ".join(made.stdout.split())
    words = ("rebuild", "raid1", "model:./mine.toml", "--width", "2", "--scale", "1/100", "--quiet")
    rebuilt = shakedown(*words, cwd=tmp_path)
    told = " ".join(rebuilt.stdout.split())
    assert "it is assumed to work like st8000as0002." in told, rebuilt.stderr
    assert " mine (model:./mine.toml, new)" in told, "not `unknown`, as any other of people's own"
    before = (tmp_path / "mine.toml").read_bytes()
    again = shakedown("profiles", "new", "mine.toml", *SHEET, cwd=tmp_path)
    assert (again.returncode, "is there already" in again.stderr) == (2, True)
    assert (tmp_path / "mine.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"capacity": "8"}, "did you mean `8TB`?"),
        ({"capacity": "0TB"}, "no hard drive of this time holds `0TB`"),
        ({"capacity": "201TB"}, "no hard drive of this time holds `201TB`"),
        ({"rpm": 72}, "no hard drive turns 72 times a minute"),
        ({"rpm": 0}, "no hard drive turns 0 times a minute"),
        ({"rpm": nan}, "no hard drive turns nan times a minute"),
        ({"rpm": inf}, "no hard drive turns inf times a minute"),
        ({"heads": 65}, "no hard drive has 65 heads"),
        ({"outer_rate": "30MB/s"}, "it needs 85 heads no drive has more than 64"),
        ({"outer_rate": None, "self_test": "7010min"}, "it needs 101 heads"),
        ({"outer_rate": "210"}, "`210` is not a rate of data"),
        ({"outer_rate": "210GB/s"}, "no hard drive sustains `210GB/s`"),
        ({"outer_rate": "0MB/s"}, "no hard drive sustains `0MB/s`"),
        ({"self_test": "0s"}, "no self-test takes `0s`"),
        ({"heads": 0}, "no hard drive has 0 heads"),
        ({"cache": "1MiB"}, "dram.write_bytes"),
        ({"cache": "256GiB"}, "no hard drive has a buffer of `256GiB`"),
        ({"seek": "0.1ms"}, "no hard drive seeks in `0.1ms` on average"),
        ({"seek": "85ms"}, "no hard drive seeks in `85ms` on average"),
        ({"seek": "8.5"}, "`8.5` is not a duration"),
        ({"like": "wd40efxx"}, "did you mean `wd40ef"),
        ({"shingles_like": "wd40efrx"}, "`wd40efrx` does not shingle"),
    ],
)
def test_nonsense_is_refused_and_leaves_nothing(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    typed: dict[str, Any] = {"capacity": "8TB", "rpm": 7200, "outer_rate": "210MB/s"}
    options = SheetOptions(**typed | given)
    with pytest.raises(UsageError) as caught:
        new(tmp_path / "mine.toml", options=options)
    assert says in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", ["mine", "Mine.toml", "my drive.toml", "nowhere/mine.toml"])
def test_a_file_that_cannot_be_one_is_refused(file: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        new(tmp_path / file, options=SheetOptions(capacity="8TB", rpm=7200, outer_rate="210MB/s"))
    assert list(tmp_path.iterdir()) == []


def test_a_drive_that_is_not_here_is_judged_by_its_model_number(tmp_path: Path) -> None:
    words = ("identify", "WDC WD60EZAZ-00SF3B0", "model:st8000dm004", "ST8000VN004", "--json")
    answer = shakedown(*words, cwd=tmp_path)
    told = [(each["verdict"], each["confidence"]) for each in json.loads(answer.stdout)["drives"]]
    assert told == [("shingled", "strong"), ("shingled", "strong"), ("conventional", "strong")]
    assert answer.returncode == 1
    assert shakedown("identify", "ST8000VN004", cwd=tmp_path).returncode == 0


def test_a_model_number_that_nobody_lists_is_not_known_and_leaves_others_their_answer(tmp_path: Path) -> None:
    answer = shakedown("identify", "ST8000VN9999", "ST8000VN004", cwd=tmp_path)
    assert answer.returncode == 3
    assert "ST8000VN9999 is not listed" in " ".join(answer.stdout.split())
    assert "ST8000VN004: conventional" in answer.stdout


def test_what_is_no_model_number_is_a_device_that_is_not_there(tmp_path: Path) -> None:
    answer = shakedown("identify", "sdzz", cwd=tmp_path)
    assert (answer.returncode, "there is no block device `sdzz`" in answer.stderr) == (2, True)


def test_a_slip_in_a_model_number_is_told_and_changes_no_answer(tmp_path: Path) -> None:
    answer = shakedown("identify", "ST8000DM04", "--json", cwd=tmp_path)
    assert (answer.returncode, json.loads(answer.stdout)["drives"][0]["verdict"]) == (3, "unknown")
    assert "did you mean `ST8000DM004`?" in answer.stderr
    # Of another capacity it is another drive, and may be of the other kind.
    assert shakedown("identify", "WD70EFAX", cwd=tmp_path).stderr == ""


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("ST8000DM004x",), "did you mean `ST8000DM004`?"),
        (("foo",), "is asked for by its model number"),
        (("WDC",), "is asked for by its model number"),
        (("WDC", "WD40EFAX-68JH4N0"), 'is one word in quotes: "WDC WD40EFAX-68JH4N0"'),
        (("--probe", "ST8000DM004"), "the list of models is asked, and nothing is probed"),
    ],
)
def test_what_is_neither_here_nor_a_model_number_is_told_how_to_ask(
    words: tuple[str, ...], hint: str, tmp_path: Path
) -> None:
    answer = shakedown("identify", *words, cwd=tmp_path)
    said, hinted = answer.stderr.strip().split("\nhint: ")
    assert (answer.returncode, said.startswith("error: there is no block device `")) == (2, True)
    assert hint in hinted


def test_a_drive_can_be_asked_for_its_rate(tmp_path: Path) -> None:
    words = ("profiles", "new", "mine.toml", "--capacity", "8TB", "--rpm", "7200")
    told = " ".join(shakedown(*words, "--self-test", "701min", cwd=tmp_path).stdout.split())
    assert "253 MB/s at the edge. The rest" in told
    both = ("--outer-rate", "210MB/s", "--self-test")
    for minutes, reason in (
        (701, "253 MB/s at the edge. The self-test says so"),
        (1500, "210 MB/s at the edge. The 210"),
    ):
        (tmp_path / "mine.toml").unlink()
        told = " ".join(shakedown(*words, *both, f"{minutes}min", cwd=tmp_path).stdout.split())
        assert reason in told
    for more, why in (
        ((), "how fast does it read?"),
        (("--self-test", "7s"), "which no hard drive reads on average"),
        (("--self-test", "0s"), "no self-test takes `0s`"),
    ):
        refused = shakedown("profiles", "new", "other.toml", *words[3:], *more, cwd=tmp_path)
        assert (refused.returncode, why in refused.stderr, "hint:" in refused.stderr) == (2, True, True)
        assert not (tmp_path / "other.toml").exists()


def test_a_speed_with_a_fraction_is_kept_and_a_whole_one_stays_whole(tmp_path: Path) -> None:
    for typed, written in ((5640.5, "5640.5"), (7200.0, "7200")):
        file = tmp_path / f"turns-{typed:.0f}.toml"
        new(file, options=SheetOptions(capacity="8TB", rpm=typed, outer_rate="210MB/s"))
        assert f"\nrpm = {{ value = {written}, " in file.read_text()


def _sustains(text: str) -> str:
    told = re.search(r"sustains (\d+) MB/s at the edge", text)
    return told[1] if told else ""


def test_the_rate_that_is_listed_is_the_one_that_the_file_tells(tmp_path: Path) -> None:
    answer = shakedown("profiles", cwd=tmp_path)
    listed = {line.split()[0]: line.split() for line in answer.stdout.splitlines() if line.strip()}
    told = {name: _sustains(profile_path(name).read_text()) for name in list_profiles()}
    assert sum(map(bool, told.values())) > 20
    assert [name for name, rate in told.items() if rate and rate not in listed[name]] == []
    words = ("profiles", "new", "mine.toml", "--capacity", "8TB", "--rpm", "7200", "--outer-rate", "253.5MB/s")
    made = shakedown(*words, cwd=tmp_path)
    assert f" {_sustains((tmp_path / 'mine.toml').read_text())} MB/s at the edge" in " ".join(made.stdout.split())
