"""Limits on identifiers, in bytes: the last one is taken, one more is refused before the engine is asked (K2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import AcceptanceCursor, AcceptanceRange, DegreeCursor, Issue, IssueCursor, IssueEvent
from strongroom.engine import Engine
from tests.domains.stovepipe.samples import (
    a_build,
    a_fact,
    a_log,
    a_queue,
    a_queue_summary,
    a_request,
    a_summary,
    a_transition,
    an_acceptance,
    an_occurrence,
    an_open_issue,
)

Call = Callable[[stovepipe.Storage, str], Any]


def keep(storage: stovepipe.Storage, store: str, record: Any) -> None:
    """Create the record in whichever queue the stores are bound to."""
    scope = "name" if store == "queues" else "queue"
    getattr(storage, store).create(record.replace(**{scope: storage.queue}))


WRITES: dict[str, tuple[int, Call]] = {
    "request id": (255, lambda s, x: keep(s, "requests", a_request(id=x))),
    "request uri": (255, lambda s, x: keep(s, "requests", a_request(uri=x))),
    "request base uri": (255, lambda s, x: keep(s, "requests", a_request(base_uri=x))),
    "mapped uri": (255, lambda s, x: s.request_uris.create(x, "r")),
    "mapped request": (255, lambda s, x: s.request_uris.create("u", x)),
    "log's request": (255, lambda s, x: keep(s, "request_log", a_log(request_id=x))),
    "log id": (255, lambda s, x: keep(s, "request_log", a_log(id=x))),
    "summary's request": (255, lambda s, x: keep(s, "request_summaries", a_summary(request_id=x))),
    "summary uri": (255, lambda s, x: keep(s, "request_summaries", a_summary(uri=x))),
    "summary base uri": (255, lambda s, x: keep(s, "request_summaries", a_summary(base_uri=x))),
    "accepted request": (1020, lambda s, x: keep(s, "acceptances", an_acceptance(request_id=x))),
    "build id": (255, lambda s, x: keep(s, "builds", a_build(id=x))),
    "build's request": (255, lambda s, x: keep(s, "builds", a_build(request_id=x))),
    "fact uri": (255, lambda s, x: keep(s, "facts", a_fact(uri=x))),
    "fact project": (255, lambda s, x: keep(s, "facts", a_fact(project=x))),
    "fact's request": (255, lambda s, x: keep(s, "facts", a_fact(request_id=x))),
    "listed fact's uri": (255, lambda s, x: keep(s, "facts_by_degree", a_fact(uri=x))),
    "listed fact's project": (255, lambda s, x: s.facts_by_degree.ensure(a_fact(queue=s.queue, project=x))),
    "observation's build": (1020, lambda s, x: s.build_issues.create(x, Issue("t", "u"))),
    "observation's task": (255, lambda s, x: s.build_issues.create("b", Issue(x, "u"))),
    "observation's unit": (1024, lambda s, x: s.build_issues.create("b", Issue("t", x))),
    "open task": (255, lambda s, x: keep(s, "open_issues", an_open_issue(task=x))),
    "open unit": (1024, lambda s, x: keep(s, "open_issues", an_open_issue(unit=x))),
    "first-seen build": (1020, lambda s, x: keep(s, "open_issues", an_open_issue(first_seen_build=x))),
    "transition's task": (255, lambda s, x: keep(s, "issue_log", a_transition(task=x))),
    "transition's unit": (1024, lambda s, x: keep(s, "issue_log", a_transition(unit=x))),
    "transition's build": (1020, lambda s, x: keep(s, "issue_log", a_transition(build=x))),
    "last green uri": (255, lambda s, x: keep(s, "queues", a_queue(last_green_uri=x))),
    "last green request": (255, lambda s, x: keep(s, "queues", a_queue(last_green_request_id=x))),
    "latest request": (255, lambda s, x: keep(s, "queues", a_queue(latest_request_id=x))),
    "operation id": (255, lambda s, x: keep(s, "queue_log", an_occurrence(operation_id=x))),
    "effective commit": (255, lambda s, x: keep(s, "queue_log", an_occurrence(effective_commit_uri=x))),
    "shown commit": (255, lambda s, x: keep(s, "queue_summaries", a_queue_summary(effective_commit_uri=x))),
    "closed task": (255, lambda s, x: s.open_issues.delete(x, "u", "b")),
    "closed unit": (1024, lambda s, x: s.open_issues.delete("t", x, "b")),
    "closed opening": (1020, lambda s, x: s.open_issues.delete("t", "u", x)),
}

READS: dict[str, tuple[int, Call]] = {
    "request id": (255, lambda s, x: s.requests.get(x)),
    "mapped uri": (255, lambda s, x: s.request_uris.get_id_by_uri(x)),
    "log's request": (255, lambda s, x: s.request_log.get(x, "l")),
    "log id": (255, lambda s, x: s.request_log.get("r", x)),
    "log list": (255, lambda s, x: s.request_log.list(x)),
    "summary's request": (255, lambda s, x: s.request_summaries.get(x)),
    "acceptance cursor": (1020, lambda s, x: s.acceptances.list(acceptances_before(x))),
    "build id": (255, lambda s, x: s.builds.get(x)),
    "fact uri": (255, lambda s, x: s.facts.get(x)),
    "fact project": (255, lambda s, x: s.facts.get("u", x)),
    "listed facts' uri": (255, lambda s, x: s.facts_by_degree.list(x, limit=1)),
    "fact cursor": (255, lambda s, x: s.facts_by_degree.list("u", after=DegreeCursor(0.5, x), limit=1)),
    "observation's build": (1020, lambda s, x: s.build_issues.get(x, "t", "u")),
    "observation's task": (255, lambda s, x: s.build_issues.get("b", x, "u")),
    "observation's unit": (1024, lambda s, x: s.build_issues.get("b", "t", x)),
    "listed build": (1020, lambda s, x: s.build_issues.list(x, limit=1)),
    "observation cursor's task": (255, lambda s, x: s.build_issues.list("b", after=IssueCursor(x, "u"), limit=1)),
    "observation cursor's unit": (1024, lambda s, x: s.build_issues.list("b", after=IssueCursor("t", x), limit=1)),
    "open task": (255, lambda s, x: s.open_issues.get(x)),
    "open unit": (1024, lambda s, x: s.open_issues.get("t", x)),
    "open cursor's task": (255, lambda s, x: s.open_issues.list(after=IssueCursor(x, "u"), limit=1)),
    "open cursor's unit": (1024, lambda s, x: s.open_issues.list(after=IssueCursor("t", x), limit=1)),
    "transition's task": (255, lambda s, x: s.issue_log.get(x, "u", "b", IssueEvent.OPENED)),
    "transition's unit": (1024, lambda s, x: s.issue_log.get("t", x, "b", IssueEvent.OPENED)),
    "transition's build": (1020, lambda s, x: s.issue_log.get("t", "u", x, IssueEvent.OPENED)),
    "queue name": (255, lambda s, x: s.queues.get(x)),
    "summary's queue": (255, lambda s, x: s.queue_summaries.get(x)),
}


def acceptances_before(request_id: str) -> AcceptanceRange:
    return AcceptanceRange(accepted_before_ms=9, before=AcceptanceCursor(5, request_id), limit=1)


def at_the_limit(limit: int) -> list[str]:
    """Texts of exactly `limit` bytes, of one to four bytes a character."""
    return ["x" * limit, *["x" * (limit % width) + letter * (limit // width) for letter, width in WIDE]]


def over_the_limit(limit: int) -> list[str]:
    """Texts of one byte more, some of them well under the limit in characters."""
    return [text + "x" for text in at_the_limit(limit)]


WIDE = [("é", 2), ("語", 3), ("💥", 4)]


@pytest.mark.parametrize(("limit", "call"), WRITES.values(), ids=WRITES.keys())
def test_a_write_takes_the_last_byte(room: Engine, limit: int, call: Call) -> None:
    for number, text in enumerate(at_the_limit(limit)):
        assert len(text.encode()) == limit
        call(stovepipe.open(room).for_queue(f"q{number}"), text)


@pytest.mark.parametrize(("limit", "call"), WRITES.values(), ids=WRITES.keys())
def test_a_write_refuses_one_byte_more(unasked: stovepipe.Storage, limit: int, call: Call) -> None:
    for text in over_the_limit(limit):
        with pytest.raises(strongroom.InvalidArgument):
            call(unasked, text)


@pytest.mark.parametrize(("limit", "call"), READS.values(), ids=READS.keys())
def test_a_read_takes_the_last_byte(storage: stovepipe.Storage, limit: int, call: Call) -> None:
    for text in at_the_limit(limit):
        try:
            found = call(storage, text)
        except stovepipe.NotFound:
            continue
        assert found == []


@pytest.mark.parametrize(("limit", "call"), READS.values(), ids=READS.keys())
def test_a_read_refuses_one_byte_more(unasked: stovepipe.Storage, limit: int, call: Call) -> None:
    for text in over_the_limit(limit):
        with pytest.raises(strongroom.InvalidArgument):
            call(unasked, text)


def test_all_limits_of_one_key_may_be_used_up_at_once(storage: stovepipe.Storage) -> None:
    room = stovepipe.Stovepipe(storage.engine).for_queue("é" * 127 + "q")
    task, unit, build = "語" * 85, "💥" * 256, "💥" * 255
    longest = a_transition(queue=room.queue, task=task, unit=unit, build=build, event=IssueEvent.RESOLVED)
    assert sum(len(part.encode()) for part in (room.queue, task, unit, build)) == 2554
    room.issue_log.create(longest)
    room.build_issues.create(build, Issue(task, unit))
    room.open_issues.create(an_open_issue(queue=room.queue, task=task, unit=unit, first_seen_build=build))
    assert room.issue_log.get(task, unit, build, IssueEvent.RESOLVED) == longest
    assert room.build_issues.list(build, limit=2) == [room.build_issues.get(build, task, unit)]
    assert room.open_issues.list(limit=2) == [room.open_issues.get(task, unit)]
    assert room.open_issues.delete(task, unit, build)


def test_identifiers_that_differ_in_their_last_byte_alone_are_different(storage: stovepipe.Storage) -> None:
    units = ["u" * 1023 + last for last in "abc"]
    for unit in units:
        storage.build_issues.create("b", Issue("t", unit))
    assert [issue.unit for issue in storage.build_issues.list("b", limit=9)] == units


def test_what_is_refused_is_named_by_table_and_column(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument, match=r"stovepipe_build_issues\.unit: .*1024 bytes.*1025"):
        unasked.build_issues.create("b", Issue("t", "u" * 1025))


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\udfff x", 7, b"b", None], ids=repr)
def test_what_is_no_proper_text_is_refused_wherever_a_name_is_asked(unasked: stovepipe.Storage, text: Any) -> None:
    for _limit, call in [*WRITES.values(), *READS.values()]:
        with pytest.raises(strongroom.InvalidArgument):
            call(unasked, text)
