"""How a load and what was measured under it are read, and what is refused."""

from __future__ import annotations

import pytest

from shakedown.analysis.explain.load import parse_measured
from shakedown.errors import UsageError


@pytest.mark.parametrize(
    "text",
    ["", "32KiB 100R 0rand", "100R 0rand = 5 IOPS", "8K 0rand = 5 IOPS", "8K 10R = 5 IOPS", "8K 110R 0rand = 5 IOPS",
     "8K 10R 0rand = 5 bananas", "8K 10R 0rand = 0 IOPS", "8K 10R 0rand depth 0 = 5 IOPS", "0K 10R 0rand = 5 IOPS"],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measured(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("load", "not_understood"),
    [("depht 64", "depht 64"), ("depth -4", "depth -4"), ("depth 4.5", "depth 4.5"), ("QD", "QD"),
     ("-60rand", "-60rand"), ("32", "32"), ("depth 64 depth 4", "depth 4"), ("4KiB", "4KiB"),
     ("= 5 IOPS, mean", "= 5 IOPS, mean")],
)  # fmt: skip
def test_nothing_of_a_load_is_dropped(load: str, not_understood: str) -> None:
    with pytest.raises(
        UsageError, match=f": `{not_understood}` (cannot be understood|is told a second time)"
    ) as caught:
        parse_measured(f"8KiB 65R 60rand {load} = 89 IOPS")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("figure", "says"),
    [("1,761 IOPS", "`1,761` is no number"), ("89,5 IOPS", "`89,5` is no number"), ("1e9 IOPS", "`1e9` is no number"),
     ("-5 IOPS", "`-5` is no number"), ("1.761 kIOPS", "`1.761 k` is no number"), ("IOPS", "no number was measured"),
     ("9 IOPS, mean 700", "the mean: `700` is not a duration"), ("9 IOPS, mean 0ms", "takes some time"),
     ("9 IOPS, average 9s", "`average 9s` cannot be understood"), ("9", "is neither IOPS nor")],
)  # fmt: skip
def test_what_is_wrong_with_a_figure_is_told(figure: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_measured(f"8KiB 65R 60rand depth=64 = {figure}")
    assert says in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("depth", ["depth 64", "depth=64", "QD64", "qd 64", "iodepth=64", "64 outstanding"])
def test_a_depth_is_understood_as_people_write_it(depth: str) -> None:
    for text in (f"8KiB 65R 60rand {depth} = 89 IOPS", f"8KiB, {depth}, 65 % reads, 60 % random = 89 IOPS"):
        measured = parse_measured(text)
        assert (measured.load.outstanding, measured.depth_is_assumed) == (64, False)


def test_figures_in_every_unit() -> None:
    assert parse_measured("32K 100R 0rand = 55 MiB/s").iops == pytest.approx(1760)
    assert parse_measured("32k 100% reads 0% random = 55MB/s").iops == pytest.approx(55e6 / 32768)
    assert parse_measured("a: 8KiB 65R 60rand = 89 IOPS, mean 700ms").mean_s == pytest.approx(0.7)
