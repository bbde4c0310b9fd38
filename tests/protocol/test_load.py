from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.analysis.condition import Bytes, Cliff, Time
from shakedown.errors import UsageError
from shakedown.protocol.load import load_protocol, parse_protocol
from shakedown.tools.fio.job import OptionError
from shakedown.units import NS_PER_S

MINE = """
format_version = 1
name = "mine"
title = "Mine"
question = "Is it?"

[parameters]
hold = "30s"
span = "50%"

[[steps]]
name = "write"
job = "rw=write\\nbs=1M\\nsize=${span}"
until = { condition = "cliff", drop = 0.25, hold = "${hold}" }

[[steps]]
name = "pause"
idle = "10min"

[[findings]]
kind = "cliff"
step = "write"
"""


def refusal(text: str | bytes, settings: dict[str, str] | None = None) -> UsageError:
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(UsageError) as caught:
        parse_protocol(content, "mine.toml", settings)
    return caught.value


def changed(old: str, new: str) -> str:
    assert old in MINE
    return MINE.replace(old, new)


def test_parameters_are_filled_in_everywhere() -> None:
    loaded = parse_protocol(MINE.encode(), "mine.toml", {"span": "10%"})
    write, pause = loaded.protocol.steps
    assert write.job == "[write]\nrw=write\nbs=1M\nsize=10%\n"
    assert write.until == Cliff(drop=0.25, hold_ns=30 * NS_PER_S)
    assert pause.idle_ns == 600 * NS_PER_S
    assert loaded.parameters == {"hold": "30s", "span": "10%"}


@pytest.mark.parametrize(
    ("given", "in_job", "in_condition_s"),
    [
        ("10min", "600s", 600),
        ("0.5min", "30s", 30),
        ("0.0001min", "6ms", 0.006),
        ("10m", "10m", 600),
        ("90s", "90s", 90),
    ],
)
def test_minutes_are_taken_in_both_notations_in_both_places(given: str, in_job: str, in_condition_s: float) -> None:
    job = 'job = "rw=write\\nbs=1M\\nsize=${span}\\nruntime=${hold}"'
    text = changed('job = "rw=write\\nbs=1M\\nsize=${span}"', job)
    step = parse_protocol(text.encode(), "mine.toml", {"hold": given}).protocol.steps[0]
    assert step.job is not None
    assert f"runtime={in_job}" in step.job.splitlines()
    assert isinstance(step.until, Cliff)
    assert step.until.hold_ns == in_condition_s * 1e9


def test_what_is_recorded_makes_the_same_protocol_again() -> None:
    loaded = parse_protocol(MINE.encode(), "mine.toml", {"hold": "90s"})
    assert parse_protocol(loaded.text.encode(), "run.json", loaded.parameters) == loaded


@pytest.mark.parametrize("size", ["10GiB", "10gb", "64KiB", "4kB"])
def test_sizes_that_fio_would_misread_are_refused(size: str) -> None:
    error = refusal(changed("size=${span}", f"size={size}"))
    assert f"`steps[0].job` has `size={size}`: fio swaps the meanings" in str(error)
    assert f"write `{size[:-1].rstrip('i')}`" in error.hint
    parse_protocol(MINE.encode(), "mine.toml", {"span": size[:-1].rstrip("i")})


@pytest.mark.parametrize(
    ("given", "size_bytes"),
    [("100MiB", 100 << 20), ("0.5GiB", 1 << 29), ("500 MB", 500_000_000), ("4kB", 4000), ("1TiB", 1 << 40)],
)
def test_a_size_with_its_unit_is_the_same_in_a_job_as_in_a_condition(given: str, size_bytes: int) -> None:
    text = changed('condition = "cliff", drop = 0.25, hold = "${hold}"', 'condition = "bytes", bytes = "${span}"')
    step = parse_protocol(text.encode(), "mine.toml", {"span": given}).protocol.steps[0]
    assert step.job is not None
    assert f"size={size_bytes}" in step.job.splitlines()
    assert isinstance(step.until, Bytes)
    assert step.until.size_bytes == size_bytes


def test_a_wrong_entry_of_a_list_is_the_only_complaint_and_no_use_is_allowed() -> None:
    error = refusal(changed('name = "mine"', 'name = "mine"\nuses = ["nas"]'))
    assert "must not be empty" not in str(error)
    none = changed('name = "mine"', 'name = "mine"\nuses = []')
    assert parse_protocol(none.encode(), "mine.toml").protocol.uses == ()


def test_sections_of_ones_own_are_kept() -> None:
    job = "[global]\\nbs=4k\\n[a]\\nrw=read\\n[b]\\nrw=write"
    loaded = parse_protocol(changed("rw=write\\nbs=1M\\nsize=${span}", job).encode(), "mine.toml")
    assert loaded.protocol.steps[0].job == "[global]\nbs=4k\n[a]\nrw=read\n[b]\nrw=write\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("drop = 0.25", "drop = 1.5", "`steps[0].until.drop` is 1.5: must be between 0 and 1"),
        ("drop = 0.25", "drop = 0", "`steps[0].until.drop` is 0: must be between 0 and 1"),
        ('hold = "${hold}"', "hold = 60", '`steps[0].until.hold` is 60: must be a duration in quotes, like "30min"'),
        ('hold = "${hold}"', "hold_ns = 60", "`steps[0].until.hold_ns` is not known"),
        ('hold = "${hold}"', 'hold = "soon"', "`steps[0].until.hold` is 'soon': must be a duration like"),
        ('"cliff", drop', '"clif", drop', "`steps[0].until.condition` is 'clif': must be one of cliff, steady"),
        ("condition = ", "conditon = ", "`steps[0].until.condition` is missing"),
        ('idle = "10min"', "", "`steps[1]` must have either `job` or `idle`"),
        ('idle = "10min"', 'idle = "-3s"', "`steps[1].idle` is '-3s': must be a duration"),
        (
            'idle = "10min"',
            'idle = "9999d"',
            "`steps[1].idle` is '9999d': must be longer than nothing and at most a year",
        ),
        ('idle = "10min"', 'idle = "10min"\nrequired = "yes"', "`steps[1].required` is 'yes': must be true or false"),
        ('idle = "10min"', 'idle = "10min"\nrequired = true', "`steps[1]` is `required` but has no `until`"),
        ('name = "pause"', 'name = "write"', "two steps are named `write`"),
        (
            'name = "pause"',
            'name = "Pause 1"',
            "`steps[1].name` is 'Pause 1': may hold small letters, digits and hyphens",
        ),
        ('title = "Mine"', "", "`title` is missing"),
        ('title = "Mine"', "title = 3", "`title` is 3: must be text in quotes"),
        ("format_version = 1", "format_version = 2", "`format_version` is 2: must be 1"),
        ("format_version = 1", "format_version = true", "`format_version` is true: must be 1"),
        ("format_version = 1", "format_version = 1.0", "`format_version` is 1.0: must be 1"),
        ('step = "write"', 'step = "wirte"', "`findings[0].step` is 'wirte': there is no step of that name"),
        (
            'step = "write"',
            'step = "write"\ngoes_on = "held"',
            "`findings[0].goes_on` is 'held': there is no step of that name",
        ),
        (
            'step = "write"',
            'step = "write"\ngoes_on = "write"',
            "`findings[0].goes_on` is 'write': that step does not come after `write`",
        ),
        (
            'kind = "cliff"',
            'kind = "latency"\ngoes_on = "pause"',
            "`findings[0]` has `goes_on`, which is for a `cliff` only",
        ),
        ('kind = "cliff"', 'kind = "clif"', "`findings[0].kind` is 'clif': must be"),
        ("size=${span}", "filename=/dev/sda", "`steps[0].job` has `filename`, which belongs to the target"),
        ("size=${span}", "ioengine=sync", "`steps[0].job` has `ioengine`, which belongs to the target"),
        ("size=${span}", "direct=0", "`steps[0].job` has `direct`, which belongs to the target"),
        ("size=${span}", "FileName =/dev/sda ; x", "`steps[0].job` has `filename`, which belongs to the target"),
        ("size=${span}", "ramp_time=1s", "`steps[0].job` has `ramp_time`: Shakedown decides itself"),
        ("size=${span}", "write_bw_log=x", "`steps[0].job` has `write_bw_log`: Shakedown decides itself"),
        ("size=${span}", "exec_prerun=reboot", "`steps[0].job` has `exec_prerun`, which reaches outside the target"),
        ("rw=write\\n", "rw=write\\n[global]\\n", "`steps[0].job` has `rw=write` before the first [section]"),
        ("rw=write\\n", "[global]\\n", "`steps[0].job` has no [section] besides [global]"),
        ("${span}", "${spam}", "`steps[0].job` uses `${spam}`, which is not a parameter"),
        ('span = "50%"', "span = 50", "`parameters.span` is 50: must be text in quotes"),
        ("[parameters]", "[parameter]", "`steps[0].job` uses `${span}`, which is not a parameter"),
    ],
)
def test_a_wrong_protocol_is_refused_with_file_key_and_reason(old: str, new: str, message: str) -> None:
    error = refusal(changed(old, new))
    assert str(error).startswith("`mine.toml`:")
    assert message in str(error)
    assert error.hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("idle =", "idel =", "did you mean `idle`?"),
        ('condition = "cliff"', 'condition = "clif"', "did you mean `cliff`?"),
        ("${span}", "${spam}", "did you mean `span`?"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(old: str, new: str, hint: str) -> None:
    assert refusal(changed(old, new)).hint == hint


def test_several_faults_are_told_at_once() -> None:
    error = refusal(changed("drop = 0.25", "drop = 7").replace('title = "Mine"', ""))
    assert len(str(error).splitlines()) == 2


def test_what_a_faulty_text_was_made_of_is_named() -> None:
    assert "(from `--set hold=abc`)" in str(refusal(MINE, {"hold": "abc"}))
    assert "(from `--set span=10gb`)" in str(refusal(MINE, {"span": "10gb", "hold": "40s"}))
    assert "(from `hold`)" in str(refusal(changed('hold = "30s"', 'hold = "abc"')))
    assert "(from" not in str(refusal(changed("drop = 0.25", "drop = 7")))


def test_what_a_target_refuses_names_file_key_option_and_setting() -> None:
    loaded = parse_protocol(MINE.encode(), "mine.toml", {"span": "200%", "hold": "40s"})
    error = loaded.job_refusal(0, OptionError("write", "size", "200%", "too much", hint="less"))
    assert str(error) == "`mine.toml`: `steps[0].job`: [write] size=200%: too much (from `--set span=200%`)"
    assert error.hint == "less"
    assert "(from" not in str(loaded.job_refusal(0, OptionError("write", "bs", "1M", "too much")))


def test_an_unknown_parameter_is_refused() -> None:
    error = refusal(MINE, {"hodl": "3s"})
    assert (str(error), error.hint) == ("`mine.toml` has no parameter `hodl`", "did you mean `hold`?")


def test_a_parameter_cannot_smuggle_an_option_in() -> None:
    assert "exec_prerun" in str(refusal(MINE, {"span": "1M\nexec_prerun=reboot"}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text (line 1)"),
        (b"title = 'a'\nname = \xe4", "is not UTF-8 text (line 2)"),
        (b"a = 1\nb = [", "is not TOML: "),
        (b"a = " + b"[" * 100_000, "max recursion depth met (at line 1"),
        (
            b"b = 1\na = " + b"9" * 10_000,
            "is not TOML: a whole number of more than 63 bits (at line 2, column 5)",
        ),
        (b"", "`format_version` is missing"),
        (b"steps = 3\nparameters = 4", "`parameters` must be a table"),
        (b"steps = [3]", "`steps[0]` is 3: must be a table"),
        (b"steps = 3", "`steps` is 3: must be a list"),
    ],
)
def test_garbage_is_refused_in_words(content: bytes, message: str) -> None:
    assert message in str(refusal(content))


def test_the_line_of_a_syntax_error_is_told() -> None:
    assert "line 2" in str(refusal("a = 1\nb = = 3\n"))


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    path.write_bytes(b"#" * (2 << 20))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        load_protocol(str(path))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_end_in_a_traceback(content: bytes) -> None:
    assert str(refusal(content))


_VALUES = st.recursive(
    st.none().map(lambda _: "") | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
_KEYS = st.sampled_from(["name", "title", "uses", "steps", "findings", "published", "parameters", "format_version"])


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, min_size=1))
def test_no_values_end_in_a_traceback(table: dict[str, object]) -> None:
    """The table as TOML, written the simplest way: a protocol with one part replaced by anything at all."""
    whole = tomllib.loads(MINE) | table
    try:
        assert parse_protocol(_toml(whole).encode(), "mine.toml").protocol.steps
    except UsageError as error:
        assert str(error).startswith("`mine.toml`")


def _toml(value: object) -> str:
    assert isinstance(value, dict)
    return "".join(f"{_quoted(key)} = {_inline(item)}\n" for key, item in value.items())


def _inline(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "{" + ", ".join(f"{_quoted(key)} = {_inline(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case str():
            return _quoted(value)
    return str(value)


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\U{ord(char):08x}" if not 0xD800 <= ord(char) < 0xE000 else "?" for char in text) + '"'


PROTOCOLS = Path(__file__).resolve().parents[2] / "protocols"


@pytest.mark.parametrize("name", sorted(path.stem for path in PROTOCOLS.glob("*.toml")))
def test_the_protocols_that_come_with_shakedown_are_sound(name: str) -> None:
    loaded = load_protocol(name)
    assert loaded.protocol.name == name
    assert loaded.protocol.findings
    for published in loaded.protocol.published:
        asked = {(finding.kind, finding.step) for finding in loaded.protocol.findings}
        assert (published.finding.removesuffix("-ratio"), published.step) in asked


def test_durations_of_the_cliff_protocol_follow_its_parameters() -> None:
    steps = {step.name: step for step in load_protocol("cliff", {"hold": "45s"}).protocol.steps}
    assert steps["hold"].until == Time(duration_ns=45 * NS_PER_S)


def test_the_example_in_the_documents_is_sound() -> None:
    page = Path(__file__).parents[2] / "docs" / "protocols" / "writing-your-own.md"
    example = page.read_text().partition("```toml\n")[2].partition("```")[0]
    loaded = parse_protocol(example.encode(), "mixed.toml")
    assert [step.name for step in loaded.protocol.steps] == ["fill", "rest", "mixed"]
