"""What is concluded of a modelled box, of stripes, and of rates as people write them."""

from dataclasses import replace

import pytest

from shakedown.analysis.explain.ceiling import Box, RuleOfThumb, Way
from shakedown.analysis.explain.instead import changes
from shakedown.analysis.explain.layout import Layout
from shakedown.analysis.explain.limiter import prove
from shakedown.analysis.explain.load import parse_measured
from shakedown.errors import UsageError


def test_a_stream_in_whole_stripes_says_nothing_of_parts_of_stripes() -> None:
    """1 MiB are two chunks of 512 KiB: of five drives they are half a stripe, which waits for reads or is gathered."""
    box = Box(Layout("raid5", 3), RuleOfThumb(100, 180e6))
    found = prove(box, parse_measured("1MiB 0R 0rand depth 4 = 340 MB/s"))
    assert found.limiter == "drives"
    [wider] = [each for each in changes(box, [found]) if each.label == "RAID5 of 5"]
    assert wider.iops == (None,)
    whole = prove(box, parse_measured("4MiB 0R 0rand depth 4 = 340 MB/s"))
    [wider] = [each for each in changes(box, [whole]) if each.label == "RAID5 of 5"]
    assert wider.iops[0] == pytest.approx(2 * whole.measured.iops)


@pytest.mark.parametrize(
    ("stated", "works"),
    [
        (None, "The read cache (or reading ahead) works"),
        (("read-cache=1GiB",), "The read cache (or reading ahead) works"),
        (("write-cache=1GiB",), "The drives' reading ahead works"),
        ((), "The drives' reading ahead works"),
    ],
)
def test_a_cache_that_a_modelled_box_has_not_does_not_work(stated: tuple[str, ...] | None, works: str) -> None:
    box = Box(Layout("raid5", 4), RuleOfThumb(50, 95e6), Way(link_bits_per_s=1e9))
    measured = parse_measured("32KiB 100R 0rand depth 64 = 1761 IOPS")
    found = prove(box, replace(measured, stated=stated))
    assert any(each.startswith(works) for each in found.statements)


@pytest.mark.parametrize("text", ["100 Mb/s", "100 Mbit/s", "100mb/s", "100 Mib/s"])
def test_bits_are_not_taken_for_bytes(text: str) -> None:
    with pytest.raises(UsageError, match="is a rate of bits") as caught:
        parse_measured(f"1MiB 100R 0rand depth 4 = {text}")
    assert "as bits it would be `12.5M" in caught.value.hint
