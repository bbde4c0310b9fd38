"""A target's text: what is none is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import UsageError
from shakedown.target.open import open_target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lab:wd40efax",
        "nbd://host/disk",
        "ftp:disk",
        "z.img\n[evil]\nexec_prerun=touch PWNED",
        "\x1b[31m.img",
        "\udcff",
    ],
)
def test_what_is_no_target_is_refused_and_leaves_nothing(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        open_target(text, seed=1, raw=tmp_path / "run" / "raw", size_bytes=1 << 20)
    assert list(tmp_path.iterdir()) == []
