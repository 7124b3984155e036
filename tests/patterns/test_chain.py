"""Chains on every room (L4): links to stored bytes, one entry for each place and topic, a check that names faults."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument, Unsupported
from strongroom.patterns import (
    EMPTY_DIGEST,
    Chain,
    ChainFinding,
    ChainHeadBroken,
    ChainReport,
    Checkpoint,
    EntryUnreadable,
    Link,
    digest,
)
from strongroom.records import MEMBERSHIP, Table
from tests.patterns.trail import CHAIN, FORMAT, LINES, PLAIN, RUNS, TRAIL, Entry, Line, Run, entry

F = ChainFinding
W = "w"


@pytest.fixture
def trail(room: Engine) -> Engine:
    room.prepare(TRAIL)
    return room


@pytest.fixture
def runs(trail: Engine) -> Engine:
    """A room that is strong enough for topics."""
    if trail.claims.strength < Strength.MULTI_RECORD:
        pytest.skip("multi-record transactions only")
    return trail


def append(chain: Chain[Line, Entry], engine: Engine, run: str, note: str = "") -> bytes:
    return chain.append(engine, W, make=lambda link: entry(link, run, note)).line


def lines_of(engine: Engine) -> list[bytes]:
    return [one.line for one in PLAIN.read(engine, W, limit=1000)]


def kinds(report: ChainReport) -> list[tuple[int, ChainFinding]]:
    return [(finding.sequence, finding.kind) for finding in report.findings]


def test_entries_link_to_the_stored_bytes_of_the_line_before(trail: Engine) -> None:
    assert PLAIN.head(trail, W) is None
    first, second, third = (append(PLAIN, trail, f"run-{n}") for n in (1, 2, 3))
    assert FORMAT.parse(first).previous == EMPTY_DIGEST
    assert FORMAT.parse(second).previous == digest(first)
    assert FORMAT.parse(third).previous == digest(second)
    assert {FORMAT.parse(line).trail for line in (first, second, third)} == {FORMAT.parse(first).trail}
    assert lines_of(trail) == [first, second, third]
    assert PLAIN.head(trail, W) == Checkpoint(FORMAT.parse(first).trail, 3, digest(third))
    assert PLAIN.verify(trail, W).valid


def test_a_line_is_linked_to_as_it_is_stored_and_not_as_it_would_be_written_today(trail: Engine) -> None:
    odd = (
        FORMAT.render(entry(Link("0" * 32, 1, EMPTY_DIGEST), "run-1")).replace(b'":', b'" : ').replace(b"-", b"\\u002d")
    )
    trail.insert(LINES, Line(W, 1, odd))
    assert FORMAT.parse(append(PLAIN, trail, "run-2")).previous == digest(odd)
    report = PLAIN.verify(trail, W)
    assert report.valid
    assert report.lines == 2


def test_streams_are_chains_of_their_own(trail: Engine) -> None:
    append(PLAIN, trail, "run-1")
    other = PLAIN.append(trail, "other", make=lambda link: entry(link, "run-1"))
    assert other.checkpoint.sequence == 1
    assert other.checkpoint.trail != FORMAT.parse(lines_of(trail)[0]).trail


def test_concurrent_appenders_never_fork_the_chain(trail: Engine) -> None:
    chain = CHAIN if trail.claims.strength >= Strength.MULTI_RECORD else PLAIN
    faults: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for number in range(4):
                append(chain, trail, f"run-{worker}-{number}")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=partial(work, worker)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    report = chain.verify(trail, W, page=3)
    assert (report.findings, report.lines) == ((), 16)


def test_a_second_entry_about_one_topic_is_refused_and_leaves_the_transaction_usable(runs: Engine) -> None:
    append(CHAIN, runs, "run-1")

    def again(transaction: Transaction) -> str:
        with pytest.raises(AlreadyExists):
            CHAIN.append_in(transaction, W, make=lambda link: entry(link, "run-1"))
        return CHAIN.append_in(transaction, W, make=lambda link: entry(link, "run-2")).entry.run

    assert runs.write(again) == "run-2"
    assert [FORMAT.parse(line).run for line in lines_of(runs)] == ["run-1", "run-2"]
    found = CHAIN.find(runs, W, topic="run-2")
    assert found is not None
    assert (found.sequence, found.line) == (2, lines_of(runs)[1])
    assert CHAIN.find(runs, W, topic="run-3") is None
    assert CHAIN.verify(runs, W).valid


def test_a_chain_with_topics_is_refused_by_name_where_transactions_are_too_weak(trail: Engine) -> None:
    if trail.claims.strength >= Strength.MULTI_RECORD:
        pytest.skip("this engine is strong enough")
    with pytest.raises(Unsupported, match="chain_lines"):
        append(CHAIN, trail, "run-1")
    assert lines_of(trail) == []


@pytest.mark.parametrize(
    "last",
    [
        b"not a line",
        b"{}",
        FORMAT.render(entry(Link("0" * 32, 2, EMPTY_DIGEST), "run-1")),  # another place than its row
        FORMAT.render(entry(Link("0" * 32, 1, EMPTY_DIGEST), "run-1"))[:-1] + b',"more":1}',
    ],
)
def test_nothing_is_appended_behind_a_line_that_is_no_entry(trail: Engine, last: bytes) -> None:
    trail.insert(LINES, Line(W, 1, last))
    with pytest.raises(ChainHeadBroken) as caught:
        append(PLAIN, trail, "run-2")
    assert (caught.value.table, caught.value.key, caught.value.column) == ("chain_lines", (W, 1), "line")
    with pytest.raises(ChainHeadBroken):
        PLAIN.head(trail, W)
    assert lines_of(trail) == [last]


def test_the_last_place_of_all_has_no_successor(trail: Engine) -> None:
    last = FORMAT.max_sequence
    trail.insert(LINES, Line(W, last, FORMAT.render(entry(Link("0" * 32, last, EMPTY_DIGEST), "run-1"))))
    with pytest.raises(ChainHeadBroken, match="last place"):
        append(PLAIN, trail, "run-2")


@pytest.mark.parametrize("run", ["r" * 1000, "\udc80"])
def test_an_entry_that_would_not_be_read_back_is_not_written(trail: Engine, run: str) -> None:
    with pytest.raises(EntryUnreadable):
        append(PLAIN, trail, run)
    assert lines_of(trail) == []


def test_an_entry_with_another_link_is_not_written(trail: Engine) -> None:
    append(PLAIN, trail, "run-1")

    def make(change: dict[str, Any], link: Link) -> Entry:
        return entry(replace(link, **change), "run-2")

    changes: list[dict[str, Any]] = [{"trail": "f" * 32}, {"sequence": 7}, {"previous": EMPTY_DIGEST}]
    for change in changes:
        with pytest.raises(InvalidArgument, match="another link"):
            PLAIN.append(trail, W, make=partial(make, change))
    assert len(lines_of(trail)) == 1


def test_reading_goes_on_behind_a_place_and_misses_no_hole(trail: Engine) -> None:
    lines = [append(PLAIN, trail, f"run-{n}") for n in range(5)]
    assert PLAIN.read(trail, W, after=3, limit=9) == [(4, lines[3]), (5, lines[4])]
    assert PLAIN.read(trail, W, after=5, limit=9) == []
    trail.insert(LINES, Line(W, 7, b"x"))
    with pytest.raises(Corrupt, match="missing"):
        PLAIN.read(trail, W, after=4, limit=9)
    with pytest.raises(InvalidArgument):
        PLAIN.read(trail, W, after=-1, limit=9)


def rebuilt(trail: Engine, lines: dict[int, bytes], topics: dict[str, int] | None = None) -> None:
    """Have these lines in the store, whatever they are."""
    for sequence, line in lines.items():
        trail.insert(LINES, Line(W, sequence, line))
    for run, sequence in (topics or {}).items():
        trail.insert(RUNS, Run(W, run, sequence))


def sound(count: int, note: str = "") -> list[bytes]:
    lines: list[bytes] = []
    for number in range(1, count + 1):
        previous = digest(lines[-1]) if lines else EMPTY_DIGEST
        lines.append(FORMAT.render(entry(Link("0" * 32, number, previous), f"run-{number}", note)))
    return lines


def test_a_changed_line_is_named_by_the_one_behind_it_and_the_check_goes_on(trail: Engine) -> None:
    lines = sound(6)
    changed = [line.replace(b'"note":""', b'"note":"!"') if n == 3 else line for n, line in enumerate(lines, 1)]
    broken = [*changed[:4], b"nothing", *changed[5:]]
    rebuilt(trail, dict(enumerate(broken, 1)))
    report = PLAIN.verify(trail, W, page=2)
    assert kinds(report) == [(4, F.PREVIOUS_MISMATCH), (5, F.ENTRY_MALFORMED), (6, F.PREVIOUS_MISMATCH)]
    assert (report.valid, report.total, report.lines) == (False, 3, 6)


def test_missing_lines_are_named(trail: Engine) -> None:
    lines = sound(6)
    rebuilt(trail, {n: line for n, line in enumerate(lines, 1) if n not in (1, 4)})
    report = PLAIN.verify(trail, W)
    assert kinds(report) == [
        (1, F.SEQUENCE_MISMATCH),
        (2, F.PREVIOUS_MISMATCH),
        (4, F.SEQUENCE_MISMATCH),
        (5, F.PREVIOUS_MISMATCH),
    ]
    assert report.lines == 4


def test_a_line_under_another_place_and_one_of_another_chain_are_named(trail: Engine) -> None:
    lines = sound(2)
    foreign = FORMAT.render(entry(Link("f" * 32, 3, digest(lines[1])), "run-3"))
    misplaced = FORMAT.render(entry(Link("0" * 32, 9, digest(foreign)), "run-9"))
    rebuilt(trail, dict(enumerate([*lines, foreign, misplaced], 1)))
    assert kinds(PLAIN.verify(trail, W)) == [(3, F.TRAIL_MISMATCH), (4, F.SEQUENCE_MISMATCH)]


def test_only_a_checkpoint_from_elsewhere_shows_that_the_tail_was_cut_or_all_was_written_anew(trail: Engine) -> None:
    lines = sound(5)
    rebuilt(trail, dict(enumerate(sound(3, "anew"), 1)))
    assert PLAIN.verify(trail, W).valid
    at = {n: Checkpoint("0" * 32, n, digest(line)) for n, line in enumerate(lines, 1)}
    assert kinds(PLAIN.verify(trail, W, checkpoints=[at[2]])) == [(2, F.CHECKPOINT_RECORD_MISMATCH)]
    assert kinds(PLAIN.verify(trail, W, checkpoints=[at[5]])) == [(5, F.CHECKPOINT_BEYOND_CHAIN)]
    other = Checkpoint("f" * 32, 2, at[2].digest)
    assert kinds(PLAIN.verify(trail, W, checkpoints=[other])) == [(2, F.CHECKPOINT_TRAIL_MISMATCH)]


def test_a_matched_checkpoint_witnesses_what_stands_before_it(trail: Engine) -> None:
    lines = sound(4)
    rebuilt(trail, dict(enumerate(lines, 1)))
    held = [Checkpoint("0" * 32, n, digest(lines[n - 1])) for n in (1, 3)]
    report = PLAIN.verify(trail, W, checkpoints=held)
    assert (report.valid, report.supplied, report.matched, report.through) == (True, 2, 2, 3)
    assert [report.witnessed(n) for n in (0, 1, 3, 4)] == [False, True, True, False]
    assert report.head == Checkpoint("0" * 32, 4, digest(lines[3]))


def test_a_checkpoint_where_no_entry_is_says_so(trail: Engine) -> None:
    lines = sound(3)
    rebuilt(trail, {1: lines[0], 2: b"nothing", 4: lines[2]})
    held = [Checkpoint("0" * 32, n, digest(b"")) for n in (2, 3)]
    found = kinds(PLAIN.verify(trail, W, checkpoints=held))
    assert (2, F.CHECKPOINT_NOT_AN_ENTRY) in found
    assert (3, F.CHECKPOINT_NOT_AN_ENTRY) in found


def test_a_line_that_somebody_holds_is_the_one_that_stands_there(trail: Engine) -> None:
    lines = sound(3)
    rebuilt(trail, dict(enumerate(lines[:2], 1)))
    assert PLAIN.verify(trail, W, entries=lines[:2]).valid
    other = sound(2, "other")[1]
    assert kinds(PLAIN.verify(trail, W, entries=[other])) == [(2, F.ENTRY_MISMATCH)]
    assert kinds(PLAIN.verify(trail, W, entries=[lines[2]])) == [(3, F.ENTRY_BEYOND_CHAIN)]
    assert kinds(PLAIN.verify(trail, W, entries=[b"{"])) == [(0, F.ENTRY_MALFORMED)]


def test_a_topic_of_two_entries_and_a_list_that_leads_astray_are_named(runs: Engine) -> None:
    lines = sound(2)
    twice = FORMAT.render(entry(Link("0" * 32, 3, digest(lines[1])), "run-1"))
    unlisted = FORMAT.render(entry(Link("0" * 32, 4, digest(twice)), "run-4"))
    rebuilt(runs, dict(enumerate([*lines, twice, unlisted], 1)), {"run-1": 1, "run-2": 2, "run-5": 4})
    assert kinds(CHAIN.verify(runs, W, page=2)) == [
        (3, F.TOPIC_NAMED_TWICE),
        (4, F.TOPIC_MISMATCH),
        (4, F.TOPIC_MISMATCH),
    ]
    with pytest.raises(Corrupt, match="leads to no entry"):
        CHAIN.find(runs, W, topic="run-5")


def test_findings_are_listed_to_a_limit_and_all_counted(trail: Engine) -> None:
    rebuilt(trail, dict.fromkeys(range(1, 12), b"nothing"))
    report = PLAIN.verify(trail, W, most=4)
    assert (len(report.findings), report.total, report.head) == (4, 11, None)


def test_a_checkpoint_that_can_not_be_is_refused() -> None:
    for parts in (("", 1, EMPTY_DIGEST), ("t", 0, EMPTY_DIGEST), ("t", True, EMPTY_DIGEST), ("t", 1, "sha256:AB")):
        with pytest.raises(InvalidArgument):
            Checkpoint(*parts)


def test_a_table_that_can_not_keep_a_chain_is_refused_when_the_chain_is_declared() -> None:
    with pytest.raises(TypeError, match="never changes"):
        Chain(Table("loose", Line, key=("workspace", "sequence"), changes=MEMBERSHIP), FORMAT)
    with pytest.raises(TypeError, match="Blob"):
        Chain(RUNS, FORMAT)
    with pytest.raises(TypeError):
        Chain(LINES, FORMAT, topics=LINES)
