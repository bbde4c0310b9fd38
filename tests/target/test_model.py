from __future__ import annotations

from typing import Any

from shakedown.target.model import ModelLoad


class FailingCore:
    """A load of the core whose drive fails a request after one row."""

    def __init__(self) -> None:
        self.calls = 0

    def advance(self, intervals: int) -> list[Any]:
        self.calls += 1
        if self.calls > 1:
            raise OSError("write of 4096 bytes at 8192 failed")
        return [("write", 0, 1_000_000_000, 10, 40960, 1.0, 1, 1, 1, 1)]

    def stop(self) -> None: ...


def test_a_request_that_the_drive_fails_is_a_result_after_all_that_was_measured() -> None:
    load = ModelLoad(FailingCore(), "step", intervals=1)  # type: ignore[arg-type]
    assert [sample.count for batch in load for sample in batch] == [10]
    assert load.error == "write of 4096 bytes at 8192 failed"
