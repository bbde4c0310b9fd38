"""`shakedown characterize` as its users meet it: what it says before, refuses, prints, and how it goes on."""

from __future__ import annotations

import errno
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from characterize.blind import pressed, small, with_values
from serving import shakedown
from shakedown.characterize import run
from shakedown.cli import characterize as verb
from shakedown.data import list_profiles, profile_path
from shakedown.errors import EnvironmentFailure, Interrupted, UsageError
from shakedown.fit.drive import parking, rotation
from shakedown.result.atomic import failed_write

pytestmark = pytest.mark.skipif(find_spec("shakedown._core") is None, reason="the Rust core is not built")


def test_it_says_in_advance_how_long_a_real_drive_takes_and_what_is_lost(tmp_path: Path) -> None:
    answer = shakedown("characterize", "model:st12000vn0007", "--without-parking", "-o", "twin.toml", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    said = answer.stderr.partition("rotation")[0]
    assert "overwrites about" in said
    assert "on a real drive it takes 7 minutes to 11 minutes if there is no persistent cache" in said
    assert "hours if that is cleaned only when it is nearly full" in said
    assumed = answer.stdout.partition("not identified, assumed instead:\n")[2]
    # What the twin has all the same, and what is known of it.
    assert re.search(r"^  queue\.depth +32  what native command queuing has$", assumed, re.MULTILINE)
    assert answer.stderr.endswith("\ntry: shakedown run cliff model:./twin.toml\n")
    assert shakedown("run", "cliff", "model:./twin.toml", "--set", "limit=1m", cwd=tmp_path).returncode in (0, 3)


def test_it_says_what_a_twin_without_the_insides_of_its_cache_is_no_guide_to(tmp_path: Path) -> None:
    (tmp_path / "rests.toml").write_text(
        with_values(pressed(4).values | {"translation.cleaning.rest_s": 20}).toml,
    )
    answer = shakedown("characterize", "model:./rests.toml", "--without-parking", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "no guide to a collapse, a recovery or a rebuild: not identified translation.cache.bytes" in answer.stdout
    assert "no guide" not in shakedown("characterize", "model:st12000vn0007", "--without-parking", cwd=tmp_path).stdout


def test_a_file_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(b"precious" * 4096)
    answer = shakedown("characterize", "./disk.img", cwd=tmp_path)
    assert answer.returncode == 4
    assert "--destroy-data-on" in answer.stderr
    assert (tmp_path / "disk.img").read_bytes() == b"precious" * 4096
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a target must be given"),
        (("model:wd40efx",), "there is no profile named `wd40efx`"),
        (("model:wd40efax", "--resume", "."), "`--resume` goes on with a run as it was ordered"),
        (("--resume", ".", "--seed", "2"), "`--resume` goes on with a run as it was ordered"),
        (("nbd+unix:///tmp/no.sock", "--scale", "1/100"), "`--scale` makes modelled drives smaller"),
        (("model:wd40efax", "--destroy-data-on", "/dev/sdb"), "no drive of it is real: there is nothing to destroy"),
        (("--resume", "."), "is no run of characterize: `characterize.json` cannot be read: No such file"),
        (("model:wd40efax", "--out", "full"), "`full` exists and is not an empty folder"),
        (("model:wd40efax", "--out", "full/something"), "`full/something` exists and is not an empty folder"),
        (("model:wd40efax", "-o", "full"), "`full` exists and is not a profile"),
        (("model:wd40efax", "-o", "full/something"), "`full/something` exists and is not a profile"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    answer = shakedown("characterize", *arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert "hint:" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("output", ["slim.toml", "./folder/../slim.toml", "link.toml", "hard.toml"])
def test_the_profile_that_is_measured_is_not_replaced_by_its_twin(output: str, tmp_path: Path) -> None:
    slim = tmp_path / "slim.toml"
    slim.write_text(profile_path("wd40efrx").read_text())
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.toml").symlink_to("slim.toml")
    (tmp_path / "hard.toml").hardlink_to(slim)
    answer = shakedown("characterize", "model:./slim.toml", "-o", output, "--without-parking", cwd=tmp_path)
    assert answer.returncode == 2
    assert f"`{output.removeprefix('./')}` is the profile of model:{slim}, which is measured" in answer.stderr
    assert "hint: give `-o` another name" in answer.stderr
    assert slim.read_text() == profile_path("wd40efrx").read_text()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", list_profiles())
def test_every_profile_of_ours_may_be_replaced(name: str) -> None:
    assert verb._is_profile(profile_path(name).read_bytes()[:4096])


def test_a_modelled_drive_whose_run_was_killed_comes_out_the_same(tmp_path: Path) -> None:
    (tmp_path / "hidden.toml").write_text(small().toml)
    options = ("--without-parking", "--out", "run", "--json", "--quiet")
    whole = shakedown("characterize", "model:./hidden.toml", *options, cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    # As if it had been killed while the bands were looked for; the drive is as new again.
    logs = sorted((tmp_path / "run" / "logs").iterdir())
    kept = next(number for number, log in enumerate(logs) if "bands" in log.name) + 10
    for log in logs[kept:]:
        log.unlink()
    record = tmp_path / "run" / "characterize.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"complete": False}))
    twin = (tmp_path / "run" / "twin.toml").read_bytes()
    again = shakedown("characterize", "--resume", "run", "--json", "--quiet", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["values"] == json.loads(whole.stdout)["values"]
    assert (tmp_path / "run" / "twin.toml").read_bytes() == twin


def _measured(folder: Path) -> Path:
    """A course of a conventional drive that is gone by now."""
    profile = folder / "hidden.toml"
    profile.write_text(small(shingled=False).toml)
    options = verb.CharacterizeOptions(out=folder / "run", without_parking=True, quiet=True)
    assert verb.characterize(f"model:{profile}", options=options) == 0
    profile.unlink()
    return folder / "run"


def test_of_a_complete_course_the_target_is_not_needed(tmp_path: Path) -> None:
    folder = _measured(tmp_path)
    first = (folder / "twin.toml").read_text()
    again = verb.CharacterizeOptions(resume=folder, output=tmp_path / "again.toml", quiet=True)
    assert verb.characterize(options=again) == 0
    assert (tmp_path / "again.toml").read_text() == first


def test_who_waits_for_no_parking_any_more_gets_the_twin(tmp_path: Path) -> None:
    profile = tmp_path / "hidden.toml"
    profile.write_text(small(shingled=False).toml)
    options = verb.CharacterizeOptions(out=tmp_path / "run", quiet=True)
    assert verb.characterize(f"model:{profile}", options=options) == 0
    logs = list((tmp_path / "run" / "logs").glob("*-park*.parquet"))
    assert logs
    for log in logs:
        log.unlink()
    again = verb.CharacterizeOptions(resume=tmp_path / "run", without_parking=True, quiet=True)
    profile.unlink()
    assert verb.characterize(options=again) == 0


def test_who_interrupts_the_search_for_parked_heads_hears_that_the_twin_can_be_had_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "hidden.toml"
    profile.write_text(small(shingled=False).toml)
    way, without = f"go on with `shakedown characterize --resume {tmp_path}/run`", "with `--without-parking`"
    with pytest.MonkeyPatch.context() as impatient:
        impatient.setattr(parking, "measure", _interrupted)
        with pytest.raises(Interrupted) as told:
            verb.characterize(f"model:{profile}", options=verb.CharacterizeOptions(out=tmp_path / "run", quiet=True))
    assert told.value.hint
    assert told.value.hint.startswith(f"{way}; {without} it ends at once")
    logs = sorted((tmp_path / "run" / "logs").iterdir())
    again = verb.CharacterizeOptions(resume=tmp_path / "run", without_parking=True, quiet=True)
    assert verb.characterize(options=again) == 0
    assert sorted((tmp_path / "run" / "logs").iterdir()) == logs
    # Before that part nothing ends sooner without it.
    monkeypatch.setattr(rotation, "measure", _interrupted)
    with pytest.raises(Interrupted) as told:
        verb.characterize(f"model:{profile}", options=verb.CharacterizeOptions(out=tmp_path / "new", quiet=True))
    assert told.value.hint == way.replace("/run", "/new")


def test_a_profile_that_cannot_be_written_costs_no_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile, folder, twin = tmp_path / "hidden.toml", tmp_path / "run", tmp_path / "twin.toml"
    profile.write_text(small(shingled=False).toml)

    def full(path: Path, _: bytes) -> None:
        raise failed_write(path, OSError(errno.ENOSPC, "No space left on device"))

    with monkeypatch.context() as disk, pytest.raises(EnvironmentFailure) as told:
        disk.setattr(verb, "replace_file", full)
        new = verb.CharacterizeOptions(out=folder, output=twin, without_parking=True, quiet=True)
        verb.characterize(f"model:{profile}", options=new)
    assert told.value.hint.startswith("free some space, then try again; what was measured is in ")
    assert told.value.hint.endswith(f"`shakedown characterize --resume {folder} -o {twin}`")
    assert verb.characterize(options=verb.CharacterizeOptions(resume=folder, output=twin, quiet=True)) == 0
    assert 'title = "Twin of model:hidden.toml"' in twin.read_text()


def test_what_began_beside_its_profile_goes_on_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hidden.toml").write_text(small(shingled=False).toml)
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as impatient, pytest.raises(Interrupted):
        impatient.setattr(rotation, "measure", _interrupted)
        new = verb.CharacterizeOptions(out=Path("run"), without_parking=True, quiet=True)
        verb.characterize("model:./hidden.toml", options=new)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert verb.characterize(options=verb.CharacterizeOptions(resume=Path("../run"), quiet=True)) == 0


def test_two_do_not_measure_in_one_folder(tmp_path: Path) -> None:
    """Each took the other's logs away."""
    profile, folder = tmp_path / "hidden.toml", tmp_path / "run"
    profile.write_text(small(shingled=False).toml)
    new = verb.CharacterizeOptions(out=folder, without_parking=True, quiet=True)
    again = verb.CharacterizeOptions(resume=folder, quiet=True)

    def meanwhile(*_: object) -> None:
        with pytest.raises(UsageError, match="another `shakedown characterize` is under way") as refused:
            verb.characterize(options=again)
        assert "wait until it has ended" in refused.value.hint
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as beside, pytest.raises(Interrupted):
        beside.setattr(rotation, "measure", meanwhile)
        verb.characterize(f"model:{profile}", options=new)
    assert verb.characterize(options=again) == 0


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_log_of_other_requests_is_measured_again(tmp_path: Path) -> None:
    """As after a change of who asks: the target is needed for it."""
    folder = _measured(tmp_path)
    seek = next((folder / "logs").glob("*-seek-0.100.parquet"))
    seek.write_bytes(next((folder / "logs").glob("*-seek-0.200.parquet")).read_bytes())
    with pytest.raises(UsageError, match="hidden"):
        verb.characterize(options=verb.CharacterizeOptions(resume=folder, quiet=True))


def test_a_course_does_not_go_on_with_another_drive(tmp_path: Path) -> None:
    folder = _measured(tmp_path)
    next((folder / "logs").glob("*-seek-0.100.parquet")).unlink()
    (tmp_path / "hidden.toml").write_text(small(shingled=False).toml.replace("8000000000", "8192000000"))
    with pytest.raises(UsageError, match="measured before was"):
        verb.characterize(options=verb.CharacterizeOptions(resume=folder, quiet=True))


def test_who_loses_the_target_on_the_way_is_told_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise EnvironmentFailure("no NBD server answers", hint="start one")

    monkeypatch.setattr(run, "find", gone)
    folder, target = tmp_path / "a run", tmp_path / "disk.img"
    with target.open("wb") as file:
        file.truncate(8 << 30)
    options = verb.CharacterizeOptions(out=folder, destroy_data_on=("WD-1",), quiet=True)
    with pytest.raises(EnvironmentFailure) as told:
        verb.characterize(str(target), options=options)
    way = f"`shakedown characterize --resume '{folder}' --destroy-data-on WD-1`"
    assert told.value.hint == f"start one; what was measured is in {folder}, go on with {way}"


def test_what_is_too_small_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    options = verb.CharacterizeOptions(out=tmp_path / "run", scale="1/4000", quiet=True)
    with pytest.raises(UsageError, match="too small"):
        verb.characterize("model:wd40efax", options=options)
    assert not (tmp_path / "run").exists()
