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
    ("name", "meant"), [("wd40efay", "`wd40efax`"), ("WD40EFRX", "`wd40efrx`"), ("./wd40efax.toml", "`wd40efax`")]
)
def test_a_wrong_name_gets_the_close_ones(folders: Path, name: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        data.profile_path(name)
    assert "did you mean" in caught.value.hint
    assert meant in caught.value.hint


def test_a_name_like_no_other_gets_all_of_them(folders: Path) -> None:
    with pytest.raises(UsageError) as caught:
        data.protocol_path("zzz")
    assert "there are `cliff`" in caught.value.hint
