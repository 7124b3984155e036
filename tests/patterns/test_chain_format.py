"""The strict form of a chain's lines, and the quick look that must never see another thing in a line."""

from __future__ import annotations

import io
import json
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.patterns import (
    EMPTY_DIGEST,
    ChainFinding,
    Checkpoint,
    JsonFormat,
    LineTooLong,
    Link,
    MalformedLine,
    check_file,
    check_lines,
    digest,
)
from tests.patterns.trail import FORMAT, Entry, entry

ONE = entry(Link("0" * 32, 1, EMPTY_DIGEST), "run-1", "a note")
LINE = FORMAT.render(ONE)
MEMBERS: dict[str, object] = json.loads(LINE)


def without(name: str) -> dict[str, object]:
    return {key: value for key, value in MEMBERS.items() if key != name}


def test_a_line_is_compact_and_in_the_order_of_the_fields() -> None:
    assert json.dumps(MEMBERS, separators=(",", ":")).encode() == LINE
    assert list(MEMBERS) == ["entryVersion", "trail", "sequence", "previous", "run", "note"]
    assert FORMAT.parse(LINE) == ONE
    assert FORMAT.topic(ONE) == "run-1"


@pytest.mark.parametrize(
    "line",
    [
        b" " + LINE,
        LINE + b"  ",
        LINE.replace(b",", b" ,\t"),
        LINE.replace(b"run-1", b"ru\\u006e-1"),
        json.dumps(dict(reversed(MEMBERS.items()))).encode(),
    ],
)
def test_white_space_escapes_and_any_order_are_tolerated(line: bytes) -> None:
    assert FORMAT.parse(line) == ONE


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        LINE + LINE,
        LINE + b"x",
        LINE + b"\n",
        LINE.replace(b",", b",\r", 1),
        b"\xef\xbb\xbf" + LINE,
        LINE.replace(b"a note", b"\xff"),
        LINE.replace(b"a note", b"\\ud800"),
        LINE[:-1] + b',"note":"a note"}',
        LINE[:-1] + b',"sequence":1}',
        LINE[:-1] + b',"n\\u006fte":"a note"}',
        LINE[:-1] + b',"more":""}',
        LINE.replace(b'"sequence":1', b'"sequence":1.0'),
        LINE.replace(b'"sequence":1', b'"sequence":1e0'),
        LINE.replace(b'"sequence":1', b'"sequence":"1"'),
        LINE.replace(b'"sequence":1', b'"sequence":01'),
        LINE.replace(b'"sequence":1', b'"sequence":0'),
        LINE.replace(b'"sequence":1', b'"sequence":-1'),
        LINE.replace(b'"sequence":1', b'"sequence":true'),
        LINE.replace(b'"sequence":1', b'"sequence":9007199254740991'),
        LINE.replace(b'"entryVersion":"1"', b'"entryVersion":"2"'),
        LINE.replace(b'"entryVersion":"1"', b'"entryVersion":1'),
        LINE.replace(b"0" * 32, b"0" * 31 + b"G"),
        LINE.replace(b"0" * 32, b"0" * 32 + b"\\n"),
        *(json.dumps(without(name)).encode() for name in MEMBERS),
    ],
)
def test_what_is_not_exactly_one_entry_is_refused_and_not_shown(line: bytes) -> None:
    with pytest.raises(MalformedLine) as caught:
        FORMAT.parse(line)
    assert "a note" not in str(caught.value)
    look = FORMAT.recogniser("0" * 32)
    assert look is not None
    assert look([line]) is None
    assert look([LINE, line, LINE]) is None


def test_a_line_may_have_exactly_so_many_bytes() -> None:
    longest = FORMAT.render(msgspec.structs.replace(ONE, note="x" * (1024 - len(LINE) + 6)))
    assert len(longest) == 1024
    assert FORMAT.parse(longest).run == "run-1"
    with pytest.raises(LineTooLong):
        FORMAT.parse(longest.replace(b"xx", b"xxx", 1))
    look = FORMAT.recogniser("0" * 32)
    assert look is not None
    assert look([longest]) == ([1], (EMPTY_DIGEST,), ("run-1",))
    assert look([longest.replace(b"xx", b"xxx", 1)]) is None


texts = st.text(max_size=30) | st.text('"\\/{}:,\n\x7f é', max_size=8)
changes = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 2), st.binary(max_size=3)), max_size=3)


@given(run=texts, note=texts, sequence=st.integers(1, 2**53 - 2), edits=changes)
def test_whatever_the_quick_look_accepts_the_parser_reads_the_same(
    run: str, note: str, sequence: int, edits: list[tuple[int, int, bytes]]
) -> None:
    line = FORMAT.render(entry(Link("ab" * 16, sequence, EMPTY_DIGEST), run, note))
    for place, cut, put in edits:
        line = line[:place] + put + line[place + cut :]
    look = FORMAT.recogniser("ab" * 16)
    assert look is not None
    seen = look([line, line])
    if seen is not None:
        found = FORMAT.parse(line)
        assert found.trail == "ab" * 16
        assert [*zip(*seen, strict=True)] == [(found.sequence, found.previous, found.run)] * 2


@given(run=texts, note=texts, edits=changes)
def test_a_line_that_is_read_at_all_has_exactly_the_entrys_members_each_once(
    run: str, note: str, edits: list[tuple[int, int, bytes]]
) -> None:
    line = FORMAT.render(entry(Link("ab" * 16, 7, EMPTY_DIGEST), run, note))
    for place, cut, put in edits:
        line = line[:place] + put + line[place + cut :]
    try:
        found = FORMAT.parse(line)
    except MalformedLine:
        return
    pairs: list[tuple[str, object]] = json.loads(line, object_pairs_hook=list)
    assert sorted(name for name, _ in pairs) == sorted(MEMBERS)
    assert dict(pairs) == msgspec.to_builtins(found)
    assert type(dict(pairs)["sequence"]) is int


class Nested(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trail: str
    sequence: int
    previous: str
    detail: dict[str, int | None]
    mark: Literal["a", "b"]


def test_a_form_that_leaves_nothing_obvious_is_parsed_every_time() -> None:
    form = JsonFormat(Nested)
    assert form.recogniser("abc") is None
    one = Nested("abc", 1, EMPTY_DIGEST, {"x": None}, "a")
    line = form.render(one)
    assert form.parse(line) == one
    with pytest.raises(MalformedLine, match="twice"):
        form.parse(line.replace(b'"x":null', b'"x":null,"x":null'))
    with pytest.raises(MalformedLine, match="twice"):
        form.parse(line[:-1] + b',"mark":"b"}')
    assert check_lines([line], form).valid


class Lax(msgspec.Struct, frozen=True):
    trail: str
    sequence: int
    previous: str


class Short(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trail: str
    sequence: int


class Optional(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    trail: str
    sequence: int
    previous: str
    note: Annotated[str, msgspec.Meta(max_length=5)] = ""


@pytest.mark.parametrize("kind", [Lax, Short, Optional])
def test_a_type_that_would_read_lines_less_strictly_is_refused(kind: type) -> None:
    with pytest.raises(TypeError):
        JsonFormat(kind)


def chained(*runs: str) -> list[bytes]:
    lines: list[bytes] = []
    for number, run in enumerate(runs, 1):
        previous = digest(lines[-1]) if lines else EMPTY_DIGEST
        lines.append(FORMAT.render(entry(Link("ab" * 16, number, previous), run)))
    return lines


def found_in(data: bytes) -> list[tuple[int, ChainFinding]]:
    return [(one.sequence, one.kind) for one in check_file(io.BytesIO(data), FORMAT).findings]


def test_a_file_of_lines_is_checked_as_a_store_is() -> None:
    lines = chained(*"abcde")
    data = b"".join(line + b"\n" for line in lines)
    report = check_file(io.BytesIO(data), FORMAT)
    assert (report.valid, report.lines) == (True, 5)
    assert report.head is not None
    assert report.head.digest == digest(lines[-1])
    assert check_file(io.BytesIO(b""), FORMAT).head is None


def test_a_file_that_was_cut_has_an_incomplete_last_line() -> None:
    data = b"".join(line + b"\n" for line in chained(*"abc"))
    assert found_in(data[:-1]) == [(3, ChainFinding.INCOMPLETE_LAST_LINE)]
    assert found_in(data[:-30]) == [(3, ChainFinding.INCOMPLETE_LAST_LINE)]
    assert found_in(data + b"x" * 200_000) == [(4, ChainFinding.INCOMPLETE_LAST_LINE)]


@pytest.mark.parametrize("length", [1025, 65_536, 200_000])
def test_a_line_that_is_too_long_is_named_and_linked_to_all_the_same(length: int) -> None:
    first, second, _ = chained("a", "b", "c")
    long = second[:-1] + b" " * (length - len(second)) + b"}"
    third = FORMAT.render(entry(Link("ab" * 16, 3, digest(long)), "c"))
    assert found_in(b"\n".join([first, long, third, b""])) == [(2, ChainFinding.LINE_TOO_LONG)]
    assert [one.kind for one in check_lines([first, long, third], FORMAT).findings] == [ChainFinding.LINE_TOO_LONG]


def test_removed_repeated_and_exchanged_lines_of_a_file_are_named_once() -> None:
    a, b, c, d = chained(*"abcd")
    mismatch, link = ChainFinding.SEQUENCE_MISMATCH, ChainFinding.PREVIOUS_MISMATCH

    def found(*lines: bytes) -> list[tuple[int, ChainFinding]]:
        report = check_lines(lines, FORMAT, once=False)
        return [(one.sequence, one.kind) for one in report.findings]

    assert found(a, c, d) == [(2, mismatch), (3, link)]
    assert found(a, b, b, c, d) == [(3, mismatch), (2, link)]
    assert found(b, c) == [(1, mismatch), (2, link)]


class Careful(JsonFormat[Entry]):
    """The same form, every line of which is parsed."""

    def recogniser(self, trail: str) -> None:
        return None


CAREFUL = Careful(Entry, topic="run")
twists = st.lists(
    st.tuples(st.integers(0, 19), st.sampled_from(["drop", "repeat", "swap", "space", "change", "garbage", "foreign"])),
    max_size=3,
)


@given(twists, st.lists(st.integers(1, 22), max_size=3))
def test_lines_looked_at_together_have_the_findings_that_each_has_alone(
    twists: list[tuple[int, str]], pinned: list[int]
) -> None:
    sound = chained(*(f"run-{number % 19}" for number in range(20)))
    lines = list(sound)
    for place, twist in twists:
        at = min(place, len(lines) - 2)
        match twist:
            case "drop":
                del lines[at]
            case "repeat":
                lines.insert(at, lines[at])
            case "swap":
                lines[at], lines[at + 1] = lines[at + 1], lines[at]
            case "space":
                lines[at] = lines[at].replace(b":", b": ", 1)
            case "change":
                lines[at] = lines[at].replace(b'"note":""', b'"note":"!"')
            case "garbage":
                lines[at] = b"garbage"
            case "foreign":
                lines[at] = lines[at].replace(b"ab" * 16, b"cd" * 16)
    held = [Checkpoint("ab" * 16, place, digest(sound[min(place, 20) - 1])) for place in pinned]
    assert check_lines(lines, FORMAT, checkpoints=held) == check_lines(lines, CAREFUL, checkpoints=held)


def test_a_topic_of_two_lines_is_named_where_topics_are_remembered() -> None:
    lines = chained("a", "b", "a")
    assert [(one.sequence, one.kind) for one in check_lines(lines, FORMAT).findings] == [
        (3, ChainFinding.TOPIC_NAMED_TWICE)
    ]
    assert check_lines(lines, FORMAT, once=False).valid


def test_every_kind_of_entry_type_is_an_entry() -> None:
    assert isinstance(FORMAT.parse(LINE), Entry)
