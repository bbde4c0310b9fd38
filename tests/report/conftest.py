from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.result.folder import Run, read_run

from . import synthetic

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.fixture(scope="session")
def run_dirs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three protocols, each with a baseline."""
    folder = tmp_path_factory.mktemp("runs")
    makers = (synthetic.random_1m, synthetic.sequential, synthetic.cliff)
    return [make(folder / make.__name__) for make in makers]


@pytest.fixture(scope="session")
def runs(run_dirs: list[Path]) -> list[Run]:
    return [read_run(path) for path in run_dirs]


@pytest.fixture
def snapshot() -> Callable[[str, str], None]:
    """Compare a text with the one kept; with SHAKEDOWN_UPDATE_SNAPSHOTS=1 keep it instead."""

    def check(name: str, text: str) -> None:
        file = SNAPSHOTS / name
        if os.environ.get("SHAKEDOWN_UPDATE_SNAPSHOTS"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), "if this is meant: SHAKEDOWN_UPDATE_SNAPSHOTS=1 pytest"

    return check
