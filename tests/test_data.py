from collections.abc import Iterator
from pathlib import Path

import pytest

from shakedown import data
from shakedown.errors import UsageError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("drives/wd40efax", "drives/wd40efrx", "drives/canvio-3tb", "protocols/cliff"):
        path = tmp_path / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    monkeypatch.setattr(data, "_DATA", tmp_path)
    return tmp_path


def test_the_published_measurements_are_found() -> None:
    assert data.reference_path("published.csv").read_text().count("\n") > 50
    with pytest.raises(UsageError):
        data.reference_path("nothing.csv")


def test_names_and_paths(folders: Path) -> None:
    assert data.list_profiles() == ["canvio-3tb", "wd40efax", "wd40efrx"]
    assert data.profile_path("wd40efax") == folders / "drives" / "wd40efax.toml"
    assert data.protocol_path(str(folders / "protocols" / "cliff.toml")) == folders / "protocols" / "cliff.toml"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("wd40efay", "`wd40efax`"), ("WDC WD40EFPX-68C6CN0", "`wd40efax`"), ("./wd40efax.toml", "`wd40efax`")],
)
def test_a_wrong_name_gets_the_close_ones(folders: Path, name: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        data.profile_path(name)
    assert "did you mean" in caught.value.hint
    assert meant in caught.value.hint


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("WD40EFRX", "wd40efrx"),
        ("WDC WD40EFAX-68JH4N0", "wd40efax"),
        ("Western Digital Red WD40EFAX", "wd40efax"),
        ("Canvio-3TB", "canvio-3tb"),
        ("WD40EFRX-68N32N0 ", "wd40efrx"),
    ],
)
def test_a_drive_is_found_as_its_label_and_smartctl_write_it(folders: Path, told: str, name: str) -> None:
    assert data.profile_name(told) == name
    assert data.profile_path(told) == folders / "drives" / f"{name}.toml"


def test_the_drives_are_listed_once_however_many_are_named(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Path] = []
    glob = Path.glob

    def listing(folder: Path, pattern: str) -> Iterator[Path]:
        listed.append(folder)
        return glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", listing)
    assert [data.profile_name(f"WD40EFRX-68N32N{each}") for each in range(24)] == ["wd40efrx"] * 24
    assert listed == [folders / "drives"]


@pytest.mark.parametrize("stranger", ["", " ", "-", "canvio", "WD40EFPX", "lab:WD40EFAX"])
def test_a_stranger_has_no_name(folders: Path, stranger: str) -> None:
    assert data.profile_name(stranger) is None
    with pytest.raises(UsageError) as caught:
        data.profile_path(stranger)
    assert "shakedown profiles new" in caught.value.hint


def test_a_name_like_no_other_gets_all_of_them(folders: Path) -> None:
    with pytest.raises(UsageError) as caught:
        data.protocol_path("zzz")
    assert "there are `cliff`" in caught.value.hint
