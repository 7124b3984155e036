"""The way from an engine to one queue's stores, and the sentinels that they answer with."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import changes, stovepipe
from strongroom.engine import Engine
from tests.domains.engines import RefusingEngine
from tests.domains.stovepipe.samples import QUEUE, a_request


@pytest.mark.parametrize("name", ["", "q" * 256, "é" * 128, "a\0b", "\ud800"])
def test_a_queue_that_can_have_no_rows_is_refused_when_its_stores_are_asked_for(room: Engine, name: str) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        stovepipe.open(room).for_queue(name)


@pytest.mark.parametrize("name", ["q", "q" * 255, "é" * 127 + "q", " ", "a/b?c#d"])
def test_any_other_queue_needs_no_registration(room: Engine, name: str) -> None:
    storage = stovepipe.open(room).for_queue(name)
    storage.requests.create(a_request(queue=name))
    assert storage.requests.get(a_request().id) == a_request(queue=name)


def test_asking_for_a_queues_stores_asks_the_engine_nothing() -> None:
    storage = stovepipe.Stovepipe(RefusingEngine()).for_queue(QUEUE)
    assert storage.queue == QUEUE
    for name in (
        "requests request_uris request_log request_summaries acceptances builds facts facts_by_degree build_issues "
        "open_issues issue_log queues queue_log queue_summaries"
    ).split():
        assert getattr(storage, name) is getattr(storage, name)


def test_the_stores_know_their_engine_and_their_queue(room: Engine) -> None:
    storage = stovepipe.open(room).for_queue(QUEUE)
    assert storage.engine is room
    assert storage.queue == QUEUE
    assert repr(storage) == f"<stovepipe storage of '{QUEUE}' in {room!r}>"


def test_opening_again_finds_everything(room: Engine) -> None:
    stovepipe.open(room).for_queue(QUEUE).requests.create(a_request())
    assert stovepipe.open(room).for_queue(QUEUE).requests.get(a_request().id) == a_request()


def test_every_table_leads_with_the_queue_and_is_bound_to_it() -> None:
    for table in stovepipe.SCHEMA.tables:
        assert table.scope == 1, table
        assert table.key_names[0] in ("queue", "name"), table


def test_history_is_kept_in_tables_whose_rows_never_change() -> None:
    mutable = {table.name for table in stovepipe.SCHEMA.tables if table.changes.update or table.changes.delete}
    for name in "request_uris request_log request_acceptances facts facts_by_degree build_issues issue_log".split():
        assert f"stovepipe_{name}" not in mutable
    assert "stovepipe_queue_log" not in mutable
    assert not any(table.changes.put for table in stovepipe.SCHEMA.tables)


def test_the_operators_tools_are_told_of_the_log_and_the_mapping() -> None:
    assert stovepipe.SUBJECT.schema is stovepipe.SCHEMA
    assert "stovepipe_queue_log" in [log.table.name for log in stovepipe.SUBJECT.logs]
    assert "stovepipe_facts_by_degree" in [mapping.mapping.name for mapping in stovepipe.SUBJECT.mappings]


def test_a_lost_race_may_be_tried_again_and_nothing_else() -> None:
    assert stovepipe.VersionMismatch("").retryable
    assert not stovepipe.NotFound("").retryable
    assert not stovepipe.AlreadyExists("").retryable


@pytest.mark.parametrize("name", ["NotFound", "AlreadyExists", "VersionMismatch"])
def test_the_sentinels_are_strongrooms_and_told_apart_from_another_domains(name: str) -> None:
    mine = getattr(stovepipe, name)
    assert issubclass(mine, getattr(strongroom, name))
    assert mine is not getattr(strongroom, name)
    theirs = getattr(changes, name, None)
    assert theirs is None or not (issubclass(mine, theirs) or issubclass(theirs, mine))


def test_a_fault_keeps_the_engines_own_as_its_cause(storage: stovepipe.Storage) -> None:
    storage.requests.create(a_request())
    with pytest.raises(stovepipe.AlreadyExists) as caught:
        storage.requests.create(a_request())
    assert type(caught.value.__cause__) is strongroom.AlreadyExists
    assert a_request().id in str(caught.value)


def test_the_public_names_are_there() -> None:
    for name in stovepipe.__all__:
        assert hasattr(stovepipe, name), name
