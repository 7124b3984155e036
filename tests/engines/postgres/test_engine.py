"""The PostgreSQL engine beyond the kit: its URL, its connections, its server's settings, and what stands between."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import psycopg
import pytest

import strongroom
from servers.server import Address
from strongroom.engine import Durability
from strongroom.engines.postgres import PostgresEngine
from strongroom.engines.postgres.calls import BEGIN_WRITE, COMMIT, Statement
from strongroom.engines.postgres.link import Link
from strongroom.errors import (
    Conflict,
    Corrupt,
    InvalidArgument,
    StrongroomError,
    TooLarge,
    Unavailable,
    Unsupported,
)
from strongroom.records import NEVER, Identifier, Record, Schema, Table, desc
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

_numbers = itertools.count(1)

Admin = psycopg.Connection[Any]


@pytest.fixture
def admin(postgres: Address) -> Iterator[Admin]:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def url(postgres: Address) -> Callable[..., str]:
    """Makes URLs of the test's own schema, with options."""
    schema = f"own_{os.getpid()}_{next(_numbers)}"
    return lambda **options: postgres.url(schema=schema, **options)


def opened(url: str) -> PostgresEngine:
    engine = strongroom.open(url)
    assert isinstance(engine, PostgresEngine)
    return engine


@pytest.fixture
def room(url: Callable[..., str]) -> Iterator[PostgresEngine]:
    with opened(url(timeout_ms="500", pool="3")) as engine:
        engine.prepare(SCHEMA)
        yield engine


def sessions(admin: Admin, name: str) -> int:
    found: Any = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,)).fetchone()
    return int(found[0])


# The URL.


def test_an_option_that_is_not_known_is_refused(url: Callable[..., str]) -> None:
    with pytest.raises(InvalidArgument, match="no option 'poool'"):
        strongroom.open(url(poool="3"))


@pytest.mark.parametrize("schema", ["", "Capital", "pg_own", "a b", 'quo"ted', "x" * 64])
def test_a_schema_that_can_t_be_named_plainly_is_refused(postgres: Address, schema: str) -> None:
    with pytest.raises(InvalidArgument, match="a schema is named by"):
        strongroom.open(postgres.url(schema=schema))


@pytest.mark.parametrize("place", ["user:hush%ZZ@host/db", "user:x@hush@host/db", "user:12/hush@host/db", "u:/hush@h"])
def test_a_url_that_can_t_be_read_shows_no_password(place: str) -> None:
    with pytest.raises(InvalidArgument, match="percent-encoded") as refused:
        strongroom.open(f"postgresql://{place}")
    assert "hush" not in repr(refused.value)
    assert refused.value.__cause__ is None


def test_neither_a_refused_connection_nor_an_engine_shows_the_password(postgres: Address) -> None:
    with_password = postgres.url().replace("postgres@", "postgres:hush@")
    with opened(with_password) as engine:
        assert "hush" not in repr(engine) + repr(engine.describe()) + repr(vars(engine))
    with pytest.raises(Unavailable) as refused:
        strongroom.open("postgresql://user:hush@127.0.0.1:1/db")
    assert "hush" not in f"{refused.value!r} {refused.value.__cause__!r}"


def test_an_unknown_database_is_named_with_a_way_out(postgres: Address) -> None:
    with pytest.raises(InvalidArgument, match="no such database; createdb"):
        strongroom.open(postgres.url("nowhere"))


def test_an_option_of_libpq_reaches_it(url: Callable[..., str], admin: Admin) -> None:
    with pytest.raises(Unavailable) as refused:
        strongroom.open(url(sslmode="require"))  # the test's server has no TLS
    assert "SSL" in str(refused.value.__cause__)
    with pytest.raises(InvalidArgument, match="an option has a value"):
        strongroom.open(url(sslmode="maybe"))
    with opened(url(application_name="the tests of options")):
        assert sessions(admin, "the tests of options") == 1


def test_of_several_hosts_the_first_that_answers_is_taken(postgres: Address) -> None:
    several = postgres.url(schema="several").replace(
        f"{postgres.host}:{postgres.port}", f"127.0.0.1:1,{postgres.host}:{postgres.port}"
    )
    with opened(several) as engine:
        assert engine.tables() == frozenset()


# What the server must be, and what is claimed.


def test_a_database_of_another_encoding_is_refused(postgres: Address, admin: Admin) -> None:
    admin.execute("DROP DATABASE IF EXISTS ascii")
    admin.execute("CREATE DATABASE ascii ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with pytest.raises(InvalidArgument, match="SQL_ASCII, and has to be UTF8"):
        strongroom.open(postgres.url("ascii"))


def test_what_is_claimed_is_what_the_server_flushes(url: Callable[..., str]) -> None:
    with opened(url()) as engine:
        assert engine.claims.durability is Durability.FLUSHED
        assert str(engine.describe()["flush"]).startswith("every commit")
    with opened(url(synchronous_commit="off")) as engine:
        assert engine.claims.durability is Durability.PROCESS
        assert str(engine.describe()["flush"]).startswith("not before")


def test_a_database_that_does_not_flush_by_itself_is_asked_to(postgres: Address, admin: Admin) -> None:
    admin.execute("DROP DATABASE IF EXISTS lazy")
    admin.execute("CREATE DATABASE lazy")
    admin.execute("ALTER DATABASE lazy SET synchronous_commit = off")
    with opened(postgres.url("lazy")) as engine:
        assert engine.claims.durability is Durability.FLUSHED
        assert "synchronous_commit=on" in str(engine.describe()["flush"])


def test_a_key_that_no_index_holds_is_too_large(room: PostgresEngine) -> None:
    class Wide(Record):
        name: Annotated[str, Identifier(4000)]

    wide = Table("wide", Wide, key=("name",), changes=NEVER)
    room.prepare(Schema("wide", wide))
    text = "".join(chr(0x4E00 + i * 37 % 20000) for i in range(1300))  # does not compress
    with pytest.raises(TooLarge):
        room.insert(wide, Wide(text))
    with pytest.raises(TooLarge):
        room.write(lambda transaction: transaction.insert(wide, Wide(text)))
    room.insert(wide, Wide(text[:862]))  # 2,586 bytes


# Connections.


def test_a_caller_who_gets_no_connection_in_time_is_told_so(room: PostgresEngine) -> None:
    held = [room._links.take() for _ in range(3)]
    with pytest.raises(Unavailable, match="all 3 connections were in use for 500 ms"):
        room.get(LEASES, "a")
    for link in held:
        room._links.leave(link)
    assert room.get(LEASES, "a") is None


def test_a_lock_that_another_holds_too_long_ends_in_a_conflict(
    room: PostgresEngine, url: Callable[..., str], admin: Admin
) -> None:
    room.insert(LEASES, Lease("a"))
    with admin.transaction():
        admin.execute(f'SELECT * FROM "{room.options.schema}".leases FOR UPDATE'.encode())
        with pytest.raises(Conflict, match="longer than timeout_ms"):
            room.update(LEASES, Lease("a", version=2), expect=1)
        with pytest.raises(Conflict, match="longer than timeout_ms"):
            room.write(lambda transaction: take_next(transaction, "a"))
    assert room.write(lambda transaction: take_next(transaction, "a")) == 2


def test_a_session_that_is_ended_by_an_operator_is_noticed_by_nobody(room: PostgresEngine, admin: Admin) -> None:
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'strongroom'"
    admin.execute(ended)
    assert room.get(LEASES, "a") is None
    admin.execute(ended)
    assert room.write(lambda transaction: take_next(transaction, "a")) == 1
    admin.execute(ended)
    room.insert(LEASES, Lease("b"))
    admin.execute(ended)
    assert room.read(lambda snapshot: snapshot.count(LEASES, limit=10)) == 2


def test_a_session_that_ends_within_a_function_lets_it_run_again(room: PostgresEngine, admin: Admin) -> None:
    runs = []

    def change(transaction: strongroom.Transaction) -> int:
        runs.append(transaction.get(LEASES, "other"))
        if len(runs) == 1:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'strongroom'"
            )
        return take_next(transaction, "a")

    assert room.write(change) == 1
    assert len(runs) == 2


def test_a_server_that_takes_connections_and_says_nothing_is_not_waited_for_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable):
            strongroom.open(f"postgresql://user@127.0.0.1:{port}/db?timeout_ms=100")


def test_close_leaves_no_session_no_thread_and_no_mark(url: Callable[..., str], admin: Admin) -> None:
    threads = set(threading.enumerate())
    engine = opened(url(application_name="the tests of closing"))
    engine.prepare(SCHEMA)
    for i in range(300):
        engine.insert(LEASES, Lease(f"r{i}"))
    marks = f'SELECT count(*) FROM "{engine.options.schema}".strongroom_marks'.encode()
    kept: Any = admin.execute(marks).fetchone()
    assert 0 < kept[0] < 60  # swept on the way
    engine.close()
    assert admin.execute(marks).fetchone() == (0,)
    assert set(threading.enumerate()) == threads
    for _ in range(100):  # the server ends a session a moment after the client did
        if sessions(admin, "the tests of closing"):
            threading.Event().wait(0.02)
    assert sessions(admin, "the tests of closing") == 0


def test_a_connection_that_was_refused_something_is_held_by_nobody_else(room: PostgresEngine) -> None:
    """Ctrl-C may take it from whoever has it: then it is to be let go of at once, and not when garbage is collected."""

    def refused() -> weakref.ref[Link]:
        link = room._links.take()
        with contextlib.suppress(StrongroomError):
            link.trip(Statement("SELECT 1 / 0")())
        return weakref.ref(link)

    gc.disable()
    try:
        assert refused()() is None
    finally:
        gc.enable()


# Faults, as the server itself has them.


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ("40001", Conflict),
        ("40P01", Conflict),
        ("55P03", Conflict),
        ("57014", Unavailable),
        ("53100", Unavailable),
        ("53200", Unavailable),
        ("53300", Unavailable),
        ("57P01", Unavailable),
        ("08006", Unavailable),
        ("25006", Unavailable),
        ("58030", Unavailable),
        ("54000", TooLarge),
        ("42501", InvalidArgument),
        ("42P01", InvalidArgument),
        ("SR001", Unsupported),
        ("P0001", StrongroomError),
        ("22P02", StrongroomError),
    ],
)
def test_what_the_server_says_has_a_name(
    room: PostgresEngine, admin: Admin, state: str, fault: type[StrongroomError]
) -> None:
    schema = room.options.schema
    admin.execute(
        f"CREATE FUNCTION {schema}.fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'hush-hush' "
        f"USING ERRCODE = '{state}', DETAIL = 'hush'; END$$; CREATE TRIGGER fail BEFORE INSERT ON {schema}.leases "
        f"EXECUTE FUNCTION {schema}.fail()".encode()
    )
    calls: list[Callable[[], None]] = [
        lambda: room.insert(LEASES, Lease("a")),
        lambda: room.write(lambda transaction: transaction.insert(LEASES, Lease("a"))),
    ]
    for call in calls:
        with pytest.raises(StrongroomError) as refused:
            call()
        assert type(refused.value) is fault
        assert isinstance(refused.value.__cause__, Exception)
    admin.execute(f"DROP FUNCTION {schema}.fail() CASCADE".encode())
    assert room.get(LEASES, "a") is None
    room.insert(LEASES, Lease("a"))


def test_a_migration_that_stops_half_way_leaves_nothing(url: Callable[..., str]) -> None:
    with opened(url()) as engine:

        def stop(rows: Any) -> None:
            rows.create(LEASES, LEASES.columns)
            assert rows.tables() == {"leases"}
            raise KeyError("stopped")

        with pytest.raises(KeyError, match="stopped"):
            engine._migrate(stop)
        assert engine.tables() == frozenset()
        engine.prepare(SCHEMA)
        engine.insert(LEASES, Lease("a"))


@pytest.mark.parametrize("token", ["", "0" * 23, "g" * 24, "0" * 25, "' OR true --"])
def test_a_token_that_was_never_given_out_is_refused(room: PostgresEngine, token: str) -> None:
    with pytest.raises(InvalidArgument, match="not one of this engine's"):
        room.resolve(token)


def test_a_token_of_long_ago_is_refused_as_its_mark_is_forgotten(room: PostgresEngine) -> None:
    with pytest.raises(InvalidArgument, match="older than six days"):
        room.resolve("00000001" + "0" * 16)


def test_a_mark_that_was_kept_is_told_apart_from_the_fence_of_one_that_was_not(room: PostgresEngine) -> None:
    kept, lost = room._lane.marks.new_token(), room._lane.marks.new_token()
    link = room._links.take()
    link.trip(BEGIN_WRITE, room._lane.marks.mark(kept), COMMIT)
    for _ in range(2):
        assert room.resolve(kept) is True
        assert room.resolve(lost) is False
    with pytest.raises(Conflict):  # it arrives late, and meets the fence
        link.trip(BEGIN_WRITE, room._lane.marks.mark(lost), COMMIT)
    room._links.leave(link)


# How it is done.


def test_a_page_of_a_key_of_both_directions_locks_little_more_than_the_page(room: PostgresEngine, admin: Admin) -> None:
    class Event(Record):
        queue: Annotated[str, Identifier(64)]
        at: int
        name: Annotated[str, Identifier(64)]

    events = Table("events", Event, key=("queue", desc("at"), "name"), scope=1, changes=NEVER)
    room.prepare(Schema("events", events))

    def fill(transaction: strongroom.Transaction) -> None:
        for i in range(3000):
            transaction.insert(events, Event("q", i // 3, f"n{i:04}"))

    def page(transaction: strongroom.Transaction) -> list[int]:
        found = transaction.scan(events, "q", after=(500, "n1501"), limit=5)
        # What is locked against phantoms is what was read: a walk to the end would have locked the whole table.
        locks = admin.execute("SELECT DISTINCT locktype FROM pg_locks WHERE mode = 'SIReadLock'").fetchall()
        assert ("relation",) not in locks
        return [event.at for event in found]

    room.write(fill)
    assert room.write(page) == [500, 499, 499, 499, 498]


class _Surprise(psycopg.adapt.Loader):
    def load(self, data: psycopg.abc.Buffer) -> object:
        raise AssertionError("what is stored is decoded by what the program has taught psycopg")


class _BinarySurprise(_Surprise):
    format = psycopg.pq.Format.BINARY


def test_what_a_program_teaches_psycopg_changes_nothing_that_is_read(
    room: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught = psycopg.adapt.AdaptersMap(psycopg.adapters)
    for kind in ("text", "int8", "bytea", "name"):
        taught.register_loader(kind, _Surprise)
        taught.register_loader(kind, _BinarySurprise)
    monkeypatch.setattr(psycopg.Connection, "adapters", taught)
    room._links.drop_idle()
    room.insert(LEASES, Lease("a"))
    assert room.get(LEASES, "a") == Lease("a")


def test_a_column_of_another_type_is_corrupt(room: PostgresEngine, admin: Admin) -> None:
    room.insert(LEASES, Lease("a"))
    admin.execute(f"ALTER TABLE {room.options.schema}.leases ALTER COLUMN version TYPE integer".encode())
    room._links.drop_idle()
    with pytest.raises(Corrupt, match="version"):
        room.get(LEASES, "a")


def test_a_column_that_changes_its_type_under_a_prepared_statement_is_found(room: PostgresEngine, admin: Admin) -> None:
    room.insert(LEASES, Lease("a"))
    assert room.get(LEASES, "a") == Lease("a")
    admin.execute(f"ALTER TABLE {room.options.schema}.leases ALTER COLUMN version TYPE integer".encode())
    with pytest.raises(Corrupt, match="version"):
        room.get(LEASES, "a")
