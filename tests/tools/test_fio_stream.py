import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.errors import EnvironmentFailure
from shakedown.tools.fio.document import Counters, Document, parse_document
from shakedown.tools.fio.stream import Stream


def document(timestamp_ms: int = 1000, count: int = 3, **job: Any) -> dict[str, Any]:
    latency = {"N": count, "mean": 5.5, "max": 9, "bins": {"4": 1, "6": 2}}
    read = {"io_bytes": 4096 * count, "lat_ns": latency}
    return {"timestamp_ms": timestamp_ms, "jobs": [{"jobname": "a", "groupid": 0, "error": 0, "read": read} | job]}


def printed(*documents: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each, indent=2).encode() + b"\n" for each in documents)


def feed(data: bytes, cut: int = 1 << 20) -> tuple[list[Document | str], Stream]:
    stream = Stream()
    items = [item for at in range(0, len(data), cut) for item in stream.feed(data[at : at + cut])]
    return items + stream.close(), stream


def test_documents_and_plain_lines_come_in_order_however_the_bytes_are_cut() -> None:
    data = b"note: both iodepth\n\n" + printed(document(1)) + b"fio: io_u error\n" + printed(document(2))
    for cut in (1, 7, 4096):
        items, stream = feed(data, cut)
        assert [item if isinstance(item, str) else item.timestamp_ms for item in items] == [
            "note: both iodepth",
            1,
            "fio: io_u error",
            2,
        ]
        assert not stream.broken


def test_a_document_on_one_line_is_one() -> None:
    items, _ = feed(json.dumps(document(5)).encode() + b"\n")
    assert isinstance(items[0], Document)


def test_a_document_cut_short_costs_only_itself() -> None:
    whole = printed(document(1))
    items, stream = feed(whole + whole[: len(whole) // 2] + b"\n" + printed(document(3)))
    assert [type(item) for item in items] == [Document, str, Document]
    assert not stream.broken


def test_the_end_in_the_middle_of_a_document_is_seen() -> None:
    items, stream = feed(printed(document(1)) + printed(document(2))[:-20])
    assert [type(item) for item in items] == [Document, str]
    assert stream.broken


@pytest.mark.parametrize("number", ["nan", "-nan", "inf", "-inf", "NaN", "Infinity", "null"])
def test_what_is_not_a_number_counts_as_nothing(number: str) -> None:
    text = json.dumps(document()).replace("5.5", number)
    assert parse_document(text).jobs[0].moves["read"].latency_sum_ns == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"jobs": []}',
        '{"jobs": [1]}',
        '{"jobs": [{}]}',
        '{"timestamp_ms": -1, "jobs": [{}]}',
        '{"timestamp_ms": "x", "jobs": [{}]}',
        '{"timestamp_ms": 1e999, "jobs": [{}]}',
        '{"timestamp_ms": 1, "jobs": [{"read": 3}]}',
        '{"timestamp_ms": 1, "jobs": [{"read": {"lat_ns": {"bins": {}, "N": true}}}]}',
        '{"timestamp_ms": 1, "jobs": [{"read": {"lat_ns": {"bins": {"-4": 1}}}}]}',
        '{"timestamp_ms": 1, "jobs": [{"read": {"clat_ns": {"bins": {"4": -1}}}}]}',
        '{"timestamp_ms": 1, "jobs": [{"error": 1099511627776}]}',
        "[" * 100_000,
        '{"timestamp_ms": ' + "9" * 10_000 + "}",
    ],
)
def test_a_wrong_document_is_the_environments_failure(text: str) -> None:
    with pytest.raises(EnvironmentFailure):
        parse_document(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"{\n", b"}\n", b"{", b'"jobs": [\n', b"\r\n"])))
def test_no_garbage_raises_and_a_good_document_after_it_is_read(parts: list[bytes]) -> None:
    garbage = b"".join(parts)
    items, stream = feed(garbage + b"\n" + printed(document(77)), cut=13)
    good = items[-1]
    assert isinstance(good, Document)
    assert good.timestamp_ms == 77
    assert not stream.broken


def test_a_latency_is_from_asking_to_the_answer_where_fio_tells_it() -> None:
    """The kernel may take long to take a request in. Older versions put the bins of `lat` among those of `clat`."""

    def read(**latencies: Any) -> Counters:
        return parse_document(json.dumps(document(read={"io_bytes": 4096, **latencies}))).jobs[0].moves["read"]

    taken_in_late = {"N": 1, "mean": 900.0, "max": 900, "bins": {"904": 1}}
    answered_soon = {"N": 1, "mean": 5.0, "max": 5}
    told = read(lat_ns=taken_in_late, clat_ns=answered_soon)
    assert (told.latency_max_ns, told.bins) == (900, {904: 1})
    older = read(lat_ns={"N": 1, "mean": 900.0, "max": 900}, clat_ns=answered_soon | {"bins": {"904": 1}})
    assert (older.count, older.bins) == (1, {904: 1})


@settings(max_examples=60, deadline=None)
@given(_JSON, st.sampled_from(["timestamp_ms", "jobs", "read", "lat_ns", "bins", "N", "mean", "max", "error", "eta"]))
def test_a_document_with_any_value_anywhere_is_read_or_refused(value: Any, key: str) -> None:
    def replaced(node: Any) -> Any:
        if isinstance(node, dict):
            return {name: value if name == key else replaced(inner) for name, inner in node.items()}
        return [replaced(inner) for inner in node] if isinstance(node, list) else node

    items, _ = feed(printed(replaced(document() | {"eta": 0})))
    assert items


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=3), st.integers(0, 400))
def test_flipped_bytes_never_raise(noise: bytes, place: int) -> None:
    data = bytearray(printed(document(1)))
    place = min(place, len(data) - 1)
    data[place : place + len(noise)] = noise
    items, _ = feed(bytes(data) + b"\n" + printed(document(2)))
    assert any(isinstance(item, Document) and item.timestamp_ms == 2 for item in items)
