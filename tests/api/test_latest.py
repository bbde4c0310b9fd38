"""How late a modelled drive's clock may be."""

from __future__ import annotations

import pytest

from shakedown import Drive, UsageError


def test_a_clock_that_is_as_late_as_it_may_be_does_not_run_over() -> None:
    late = Drive.load("wd40efrx", seed=1)
    with pytest.raises(UsageError, match="a whole number from 0 to 4611686018427387904"):
        late.idle(2**62 + 1)
    late.idle(2**62)
    rows = late.run("rw=randwrite\nbs=4k\nnumber_ios=10")
    assert (rows["completed_ns"] > rows["submitted_ns"]).all()
    late.idle(0)
