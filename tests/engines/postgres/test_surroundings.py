"""The PostgreSQL engine among what others choose: names, locks, settings of the role, a password in a traceback."""

from __future__ import annotations

import itertools
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated

import psycopg
import pytest

import strongroom
from servers.postgres import Postgres
from servers.server import Address
from strongroom.engine import Engine, Job, Reader, Work
from strongroom.engine.operations import OpenTransaction
from strongroom.engines.postgres import PostgresEngine
from strongroom.engines.postgres.calls import Statement
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.marks import Marks
from strongroom.errors import Conflict, InvalidArgument, StrongroomError
from strongroom.records import REPLACEABLE, Identifier, Record, Schema, Table, desc
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

_numbers = itertools.count(1)


class Named(Record):
    k0: Annotated[str, Identifier(20)]
    number: int = 1


NOTES = Table("notes", Named, key=("k0",), changes=REPLACEABLE)


def opened(address: Address, **options: str) -> Engine:
    return strongroom.open(address.url(schema=f"around_{os.getpid()}_{next(_numbers)}", **options))


@pytest.fixture
def room(postgres: Address) -> Iterator[Engine]:
    with opened(postgres) as engine:
        engine.prepare(SCHEMA)
        yield engine


@pytest.mark.parametrize("name", ["wanted", "excluded", "found", "done", "counted", "user", "order"])
def test_a_table_may_have_a_name_that_the_statements_use(room: Engine, name: str) -> None:
    table = Table(name, Named, key=("k0",), changes=REPLACEABLE)
    room.prepare(Schema("names", table))
    room.insert(table, Named("a"))
    room.put(table, Named("a", 2))
    room.write(lambda transaction: transaction.put(table, Named("b", 3)))
    assert room.get_many(table, [("b",), ("c",), ("a",)]) == [Named("b", 3), None, Named("a", 2)]
    assert room.count(table, limit=9) == len(room.scan(table, limit=9)) == 2


def test_a_table_may_have_the_name_that_another_ones_index_would_get_from_the_server(room: Engine) -> None:
    turned = Table("turned", Lease, key=("runner", desc("version")), changes=REPLACEABLE)
    same = [Table(name, Named, key=("k0",), changes=REPLACEABLE) for name in ("notes_pkey", "turned_key", "notes_key")]
    room.prepare(Schema("names", NOTES, turned, *same))
    for table in (NOTES, *same):
        room.put(table, Named("a"))
        assert room.get(table, "a") == Named("a")


def test_a_lock_that_is_held_for_long_is_waited_for_once_and_not_once_for_each_caller(postgres: Address) -> None:
    with opened(postgres, timeout_ms="1000") as room:
        assert isinstance(room, PostgresEngine)
        room.prepare(SCHEMA)
        room.prepare(Schema("notes", NOTES))
        waits: list[str] = []
        beginning = room._lane.beginning

        def watched(link: object) -> object:
            waits.append("a moment" if room._lane._hurries else "long")
            return beginning(link)  # type: ignore[arg-type]

        room._lane.beginning = watched  # type: ignore[method-assign,assignment]

        def insert(number: int) -> Job[Work]:
            return Job(Work(lambda rows: OpenTransaction(rows, room._codecs).insert(LEASES, Lease(f"r{number}"))))

        jobs = [insert(number) for number in range(8)]
        jobs.append(Job(Work(lambda rows: OpenTransaction(rows, room._codecs).put(NOTES, Named("a")))))
        with psycopg.connect(postgres.url()) as outside:
            outside.execute(f"LOCK TABLE {room.options.schema}.leases IN ACCESS EXCLUSIVE MODE")
            room._lane.run(jobs)
        assert [type(job.error) for job in jobs] == [Conflict] * 8 + [type(None)]
        assert room.get(NOTES, "a") == Named("a"), "whoever needs another table goes on"
        assert waits.count("long") == 1
        room.insert(LEASES, Lease("r0"))
        assert waits[-1] == "long", "the next group waits as long as it may again"


def test_ctrl_c_while_old_marks_are_removed_leaves_the_one_that_tells_what_came_of_the_commit(
    room: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(room, PostgresEngine)
    sweep = Marks.sweep

    def interrupted(marks: Marks, link: Link) -> None:
        sweep(marks, link)
        raise KeyboardInterrupt

    monkeypatch.setattr(Marks, "sweep", interrupted)
    interrupts = 0
    for number in range(300):
        jobs = [Job(Work(lambda rows, n=number: take_next(OpenTransaction(rows, room._codecs), f"r{n}")))]  # type: ignore[misc]
        try:
            room._lane.run(jobs)
        except KeyboardInterrupt:
            interrupts += 1
        assert jobs[0].done, "whoever else is in the group must not run again"
    assert interrupts == 1
    monkeypatch.undo()


def test_a_read_function_that_goes_on_after_a_fault_gets_the_fault_all_the_same(room: Engine) -> None:
    def go_on(snapshot: Reader) -> str:
        with pytest.raises(StrongroomError, match="notes"):
            snapshot.get(NOTES, "a")
        return "done"

    with pytest.raises(StrongroomError, match="notes"):
        room.read(go_on)
    with pytest.raises(ZeroDivisionError):
        room.read(lambda snapshot: 1 // len(snapshot.scan(LEASES, limit=1)))


def test_what_a_role_has_set_for_itself_does_not_count(postgres: Address) -> None:
    settings = {
        "default_transaction_deferrable": "on",
        "default_transaction_isolation": "'read uncommitted'",
        "standard_conforming_strings": "off",
        "statement_timeout": "'5s'",
        "lock_timeout": "1",
        "synchronous_commit": "off",
        "search_path": "elsewhere, pg_catalog",
    }
    role = f"odd_{os.getpid()}"
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} SUPERUSER LOGIN")
        for name, value in settings.items():
            admin.execute(f"ALTER ROLE {role} SET {name} = {value}")
    address = Address(postgres.scheme, role, postgres.host, postgres.port, postgres.database, postgres.log)
    with opened(address) as room:
        assert isinstance(room, PostgresEngine)
        room.prepare(SCHEMA)
        room.insert(LEASES, Lease("a"))
        shown = {name: room._ask(Statement(f"SELECT current_setting('{name}')")())[0][0] for name in settings}
        assert shown == {
            "default_transaction_deferrable": "off",
            "default_transaction_isolation": "serializable",
            "standard_conforming_strings": "off",
            "statement_timeout": "30500ms",
            "lock_timeout": "30s",
            "synchronous_commit": "on",
            "search_path": "pg_catalog",
        }


def test_no_frame_of_a_refused_login_holds_the_password(own_postgres: Callable[..., Postgres]) -> None:
    server = own_postgres()
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    hba = server.folder / "data" / "pg_hba.conf"
    hba.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
    server.restart()
    with pytest.raises(InvalidArgument) as caught:
        strongroom.open(server.url().replace("postgres@", "guarded:s3cr3t-w0rd@", 1))
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    # The frame of this test, and that of `open` itself, hold the URL that was written here.
    held = [line for line in shown.splitlines() if "s3cr3t" in line and "url" not in line]
    assert held == []
