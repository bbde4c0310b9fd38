"""Percentiles of intervals beside the same of every request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shakedown import Drive

DOCUMENTS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("requests", [512, 513, 5000])
def test_they_are_off_by_no_more_than_the_documents_tell(requests: int) -> None:
    job = f"rw=randread\nnumber_ios={requests}"
    one, same = (Drive.load("wd40efax", seed=1, scale_divisor=100) for _ in range(2))
    latency_ns = one.run(job)["latency_ns"].to_numpy()
    row = same.run(job, interval="1h").row(0, named=True)
    assert (row["count"], row["latency_max_ns"]) == (requests, latency_ns.max())
    off = [
        row[f"latency_p{name}_ns"] / np.quantile(latency_ns, share, method="inverted_cdf") - 1
        for name, share in (("50", 0.5), ("99", 0.99), ("999", 0.999))
    ]
    few, most = 512, 0.001
    assert all(0 <= each < most for each in off)
    assert any(off) == (requests > few)
    for document in ("python.md", "run-folder.md"):
        told = (DOCUMENTS / document).read_text()
        assert f"{few} requests" in told
        assert f"{most:.1%}".replace("%", " %") in told
