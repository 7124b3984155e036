"""The MySQL engine beyond the kit: its URL, its connections, its server's settings, and changes of tables half-way."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pymysql
import pytest

import strongroom
from servers.mariadb import MariaDB
from servers.server import Address
from strongroom.engine import Durability
from strongroom.engines.mysql import MysqlEngine
from strongroom.engines.mysql.faults import translate
from strongroom.engines.mysql.statements import LOCKING
from strongroom.errors import (
    Closed,
    Conflict,
    Corrupt,
    InvalidArgument,
    MigrationFailed,
    StrongroomError,
    TooLarge,
    Unavailable,
)
from strongroom.records import REPLACEABLE, Blob, Identifier, Integer, Record, Schema, Since, Table, Text, desc
from strongroom.records.ranges import key_range
from tests.engines.leases import LEASES, SCHEMA, Lease, take_next

_numbers = itertools.count(1)

Ask = Callable[..., Any]


@pytest.fixture
def admin(mariadb: Address) -> Iterator[Ask]:
    """Asks the server something, on a connection of the test's own."""
    with pymysql.connect(host=mariadb.host, port=mariadb.port, user=mariadb.user, autocommit=True) as connection:

        def ask(statement: str, *values: object) -> Any:
            with connection.cursor() as cursor:
                cursor.execute(statement, values or None)
                return cursor.fetchall()

        yield ask


@pytest.fixture
def url(mariadb: Address) -> Callable[..., str]:
    """Makes URLs of the test's own database, with options."""
    database = f"own_{os.getpid()}_{next(_numbers)}"
    return lambda **options: mariadb.url(database, **options)


def opened(url: str) -> MysqlEngine:
    engine = strongroom.open(url)
    assert isinstance(engine, MysqlEngine)
    return engine


@pytest.fixture
def room(url: Callable[..., str]) -> Iterator[MysqlEngine]:
    with opened(url(timeout_ms="2000", pool="3")) as engine:
        engine.prepare(SCHEMA)
        yield engine


# The URL.


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://root@127.0.0.1", "database's name"),
        ("mysql://root@127.0.0.1/a.b", "database's name"),
        ("mysql://root@127.0.0.1/a%60b", "database's name"),
        ("mysql://root:hush@127.0.0.1:port/a", "host:port"),
        ("mysql://root:hush@127.0.0.1/a?host=b", "no option 'host'"),
        ("mysql://root:hush@127.0.0.1/a?hosts=b:c", "host:port,host:port"),
        ("mysql://root:hush@127.0.0.1/a?hosts=x@b", "host:port,host:port"),
        ("mysql://root:hush%F0%9F%8E%A9@127.0.0.1/a", "Latin-1"),
        ("mysql://root:hush@127.0.0.1/a?pool=1", "at least 2"),
        ("mysql://root:hush@127.0.0.1/a?ssl=0&ssl_ca=x", "ssl=0"),
        ("mysql://root:hush@127.0.0.1/a?ssl_verify_identity=1", "ssl_ca"),
        ("mysql://root:hush@127.0.0.1/a?ssl_ca=x&ssl_verify_cert=0&ssl_verify_identity=1", "ssl_verify_cert=1"),
        ("mysql://root:hush@127.0.0.1/a?ssl_ca=/nowhere/ca.pem", "can be made as the URL says"),
    ],
)
def test_a_url_that_is_wrong_is_refused_without_its_password(url: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        strongroom.open(url)
    assert says in str(refused.value)
    assert "hush" not in str(refused.value)


def test_neither_a_refused_connection_nor_an_engine_shows_the_password(mariadb: Address, admin: Ask) -> None:
    with pytest.raises(InvalidArgument, match="Access denied") as refused:
        strongroom.open(f"mysql://nobody:hush%2Fhush@{mariadb.host}:{mariadb.port}/a")
    assert "hush" not in f"{refused.value!r} {refused.value.__cause__!r}"
    admin("CREATE OR REPLACE USER someone IDENTIFIED BY 'hush/hush'")
    with opened(f"mariadb://someone:hush%2Fhush@{mariadb.host}:{mariadb.port}/a") as engine:
        assert "hush" not in f"{engine!r} {engine.options!r} {engine.describe()}"
        with pytest.raises(InvalidArgument, match="granted"):
            engine.prepare(SCHEMA)
    admin("DROP USER someone")


def test_of_several_hosts_the_first_that_answers_is_taken(mariadb: Address, url: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = taken.getsockname()[1]
    here = f"{mariadb.host}:{mariadb.port}"
    for balance in ("0", "1"):
        with opened(url(hosts=here, balance=balance).replace(here, f"127.0.0.1:{nobody}", 1)) as engine:
            engine.prepare(SCHEMA)
            assert engine.describe()["connected_to"] == here


def test_a_server_s_socket_can_be_named(url: Callable[..., str], admin: Ask) -> None:
    ((_, folder),) = admin("SHOW VARIABLES LIKE 'datadir'")
    with opened(url(unix_socket=f"{folder}mariadb.sock")) as engine:
        engine.prepare(SCHEMA)
        assert str(engine.describe()["connected_to"]).endswith(".sock")


def signed(folder: Path, name: str) -> Path:
    """The folder of a new authority, and of a server's key and certificate that it signed for 127.0.0.1."""
    made = folder / name
    made.mkdir()
    subject = ("-nodes", "-newkey", "rsa:2048", "-subj")
    for arguments in (
        ("req", "-x509", *subject, f"/CN={name}", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2"),
        (
            "req",
            *subject,
            "/CN=server",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            "key.pem",
            "-out",
            "asked",
        ),
        (
            "x509",
            "-req",
            "-in",
            "asked",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-copy_extensions",
            "copy",
            "-out",
            "cert.pem",
        ),
    ):
        subprocess.run(["openssl", *arguments], cwd=made, check=True, capture_output=True)
    made.chmod(0o755)
    (made / "key.pem").chmod(0o644)
    return made


@pytest.mark.slow
def test_a_server_is_verified_once_an_authority_is_named(
    own_mariadb: Callable[..., MariaDB], mariadb: Address, tmp_path: Path
) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):  # with parallel tests there is one more
        folder.chmod(0o755)
    ours, others = signed(tmp_path, "ours"), signed(tmp_path, "others")
    server = own_mariadb(settings={"ssl_cert": str(ours / "cert.pem"), "ssl_key": str(ours / "key.pem")})

    def cipher(**options: str) -> object:
        with opened(server.address.url("secret", **options)) as engine, engine.links.lent() as link:
            return link.ask("SHOW STATUS LIKE 'Ssl_cipher'")[0][1]

    assert cipher(ssl_ca=str(ours / "ca.pem"))
    assert cipher()  # encrypted where the server offers it, and nobody verified
    assert not cipher(ssl="0")
    with pytest.raises(Unavailable, match="certificate"):
        cipher(ssl_ca=str(others / "ca.pem"))
    with pytest.raises(Unavailable, match="SSL is required"):
        opened(mariadb.url("secret", ssl_ca=str(ours / "ca.pem")))


# The server's settings.


def test_what_is_claimed_is_what_the_server_flushes(url: Callable[..., str], admin: Ask) -> None:
    with opened(url()) as engine:
        assert engine.claims.durability is Durability.FLUSHED
    admin("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    try:
        with opened(url()) as engine:
            assert engine.claims.durability is Durability.PROCESS
            assert engine.describe()["flush"] == "once a second (innodb_flush_log_at_trx_commit=2)"
    finally:
        admin("SET GLOBAL innodb_flush_log_at_trx_commit = 1")


def test_a_binary_log_that_is_not_flushed_is_claimed_for_what_it_is(own_mariadb: Callable[..., MariaDB]) -> None:
    server = own_mariadb(settings={"log_bin": "log", "sync_binlog": "0"})
    with opened(server.address.url("a")) as engine:
        assert engine.claims.durability is Durability.PROCESS
        assert engine.describe()["flush"] == "not by every commit (sync_binlog=0)"
        with engine.links.lent() as link:
            link.ask("SET GLOBAL sync_binlog = 1")
    with opened(server.address.url("a")) as engine:
        assert engine.claims.durability is Durability.FLUSHED


def test_a_session_does_not_depend_on_what_the_server_is_set_to(url: Callable[..., str], admin: Ask) -> None:
    before = admin("SELECT @@GLOBAL.sql_mode, @@GLOBAL.tx_isolation")[0]
    admin("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', GLOBAL tx_isolation = 'READ-UNCOMMITTED'")
    try:
        with opened(url()) as engine:
            engine.prepare(SCHEMA)
            engine.insert(LEASES, Lease("it's a \\'\" %s \n"))
            assert [lease.runner for lease in engine.scan(LEASES, limit=9)] == ["it's a \\'\" %s \n"]
            with engine.links.lent() as link:
                assert link.ask("SELECT @@tx_isolation") == (("REPEATABLE-READ",),)
    finally:
        admin("SET GLOBAL sql_mode = %s, GLOBAL tx_isolation = %s", *before)


class Heap(Record):
    name: Annotated[str, Identifier(16)]
    data: Annotated[bytes, Blob(20_000_000)]


HEAPS = Table("heaps", Heap, key=("name",), changes=REPLACEABLE)


def test_what_the_server_takes_in_no_packet_is_too_large_and_is_not_sent(url: Callable[..., str]) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("heaps", HEAPS))
        with pytest.raises(TooLarge, match="max_allowed_packet"):
            engine.insert(HEAPS, Heap("a", bytes(9_000_000)))  # bytes take two places each on their way
        with pytest.raises(TooLarge, match="max_allowed_packet"):
            engine.write(lambda transaction: transaction.put(HEAPS, Heap("a", bytes(9_000_000))))
        assert engine.get(HEAPS, "a") is None


def test_a_transaction_larger_than_a_packet_is_kept_whole(url: Callable[..., str]) -> None:
    heaps = [Heap(f"h{i}", bytes([i]) * 4_000_000) for i in range(5)]
    with opened(url()) as engine:
        engine.prepare(Schema("heaps", HEAPS))

        def insert_all(transaction: strongroom.Transaction) -> None:
            for heap in heaps:
                transaction.insert(HEAPS, heap)

        engine.write(insert_all)
        assert [engine.get(HEAPS, heap.name) for heap in heaps] == heaps


# Connections.


def test_a_caller_who_gets_no_connection_in_time_is_told_so(room: MysqlEngine) -> None:
    held = [room.links.take() for _ in range(3)]
    with pytest.raises(Unavailable, match="all 3 connections were in use for 2000 ms"):
        room.get(LEASES, "a")
    for link in held:
        room.links.leave(link)
    assert room.get(LEASES, "a") is None


def test_a_lock_that_another_holds_too_long_ends_in_a_conflict(room: MysqlEngine, admin: Ask) -> None:
    room.insert(LEASES, Lease("a"))
    admin("START TRANSACTION")
    admin(f"SELECT * FROM {room.options.database}.leases FOR UPDATE")
    with pytest.raises(Conflict, match="locked for too long"):
        room.update(LEASES, Lease("a", version=2), expect=1)
    with pytest.raises(Conflict, match="locked for too long"):
        room.write(lambda transaction: take_next(transaction, "a"))
    assert room.get(LEASES, "a") == Lease("a")  # whoever only reads does not wait
    admin("ROLLBACK")
    assert room.write(lambda transaction: take_next(transaction, "a")) == 2


def test_inspect_names_who_keeps_a_lock(room: MysqlEngine, admin: Ask) -> None:
    room.insert(LEASES, Lease("a"))
    admin("START TRANSACTION")
    admin(f"SELECT * FROM {room.options.database}.leases FOR UPDATE")
    ((session,),) = admin("SELECT CONNECTION_ID()")
    waiting = threading.Thread(target=lambda: room.update(LEASES, Lease("a"), expect=1))
    waiting.start()
    holders: Any = ()
    while not holders and waiting.is_alive():
        threading.Event().wait(0.2)  # the server shows what it knew a moment ago to whoever asks again and again
        holders = room.describe()["holders"]
    admin("ROLLBACK")
    waiting.join()
    assert f"session {session} keeps session" in holders[0]


def test_a_connection_that_an_operator_kills_is_noticed_by_nobody(room: MysqlEngine, admin: Ask) -> None:
    def kill() -> None:
        for (number,) in admin("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()"):
            if any(number == session for session in _sessions(room)):
                admin(f"KILL {number}")

    kill()
    assert room.get(LEASES, "a") is None
    kill()
    assert room.write(lambda transaction: take_next(transaction, "a")) == 1
    kill()
    room.insert(LEASES, Lease("b"))
    kill()
    assert room.read(lambda snapshot: snapshot.count(LEASES, limit=10)) == 2
    runs = []

    def change(transaction: strongroom.Transaction) -> int:
        runs.append(transaction.get(LEASES, "other"))
        if len(runs) == 1:
            kill()
        return take_next(transaction, "a")

    assert room.write(change) == 2
    assert len(runs) == 2


def _sessions(room: MysqlEngine) -> list[int]:
    return [link.session for link in room.links.forsake()]


def test_a_server_that_takes_connections_and_says_nothing_is_not_waited_for_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable):
            strongroom.open(f"mysql://root@127.0.0.1:{port}/a?timeout_ms=100")


def test_close_leaves_no_session_no_thread_and_no_mark(url: Callable[..., str], admin: Ask) -> None:
    threads = set(threading.enumerate())
    engine = opened(url())
    engine.prepare(SCHEMA)
    for i in range(300):
        engine.insert(LEASES, Lease(f"r{i}"))
    sessions = set(_sessions(engine))
    marks = f"SELECT COUNT(*) FROM {engine.options.database}.strongroom_marks"
    assert 0 < admin(marks)[0][0] < 256  # swept on the way
    engine.close()
    assert admin(marks) == ((0,),)
    assert set(threading.enumerate()) == threads
    left = "SELECT id FROM information_schema.processlist"
    for _ in range(100):  # the server ends a session a moment after the client did
        if sessions & {number for (number,) in admin(left)}:
            threading.Event().wait(0.02)
    assert not sessions & {number for (number,) in admin(left)}


def test_a_forked_child_neither_uses_nor_ends_its_parent_s_sessions(room: MysqlEngine) -> None:
    room.insert(LEASES, Lease("a"))

    def fork_inside(transaction: strongroom.Transaction) -> int:
        transaction.get(LEASES, "a")
        child = os.fork()
        if not child:
            try:
                transaction.get(LEASES, "b")
            except Closed:
                os._exit(7)
            os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert room.write(fork_inside) == 7
    assert room.get(LEASES, "a") == Lease("a")
    assert room.write(lambda transaction: take_next(transaction, "a")) == 2


# Faults, as the server itself has them.


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (1213, Conflict),
        (1020, Conflict),
        (1205, Conflict),
        (1021, Unavailable),
        (1030, Unavailable),
        (1040, Unavailable),
        (1041, Unavailable),
        (1114, Unavailable),
        (1290, Unavailable),
        (1317, Unavailable),
        (1969, Unavailable),
        (1118, TooLarge),
        (1142, InvalidArgument),
        (1146, InvalidArgument),
        (1366, Corrupt),
        (1194, Corrupt),
        (1644, StrongroomError),
    ],
)
def test_what_the_server_says_has_a_name(
    room: MysqlEngine, admin: Ask, number: int, fault: type[StrongroomError]
) -> None:
    database = room.options.database
    admin(
        f"CREATE TRIGGER {database}.fails BEFORE INSERT ON {database}.leases FOR EACH ROW "
        f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'made to fail'"
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
    admin(f"DROP TRIGGER {database}.fails")
    assert room.get(LEASES, "a") is None
    room.insert(LEASES, Lease("a"))


def test_a_key_that_is_no_text_is_corrupt_and_verify_goes_on_behind_it(room: MysqlEngine, admin: Ask) -> None:
    room.insert(LEASES, Lease("a"))
    room.insert(LEASES, Lease("z"))
    admin(f"UPDATE {room.options.database}.leases SET runner = X'62FF' WHERE runner = 'a'")
    with pytest.raises(Corrupt, match="leases"):
        room.scan(LEASES, limit=5)
    (bad, found), (good, lease) = room.examine(LEASES, limit=5)
    assert isinstance(found, Corrupt)
    assert (good, lease) == (("z",), Lease("z"))
    assert room.examine(LEASES, after=bad, limit=5) == [(("z",), Lease("z"))]


# Migrations.


class Early(Record):
    name: Annotated[str, Identifier(32)]
    number: Annotated[int, Integer()]


class Late(Record):
    name: Annotated[str, Identifier(32)]
    number: Annotated[int, Integer()]
    text: Annotated[str, Text(1000), Since(2)] = "it's \\ 'é' %s"
    data: Annotated[bytes, Blob(100_000), Since(2)] = b"\0\xff'"
    none: Annotated[bytes, Blob(100), Since(2)] = b""
    empty: Annotated[str, Text(100), Since(2)] = ""
    maybe: Annotated[str | None, Text(20_000_000), Since(2)] = None
    real: Annotated[float, Since(2)] = 0.1


EARLY = Table("grown", Early, key=(desc("name"), "number"))
LATE = Table("grown", Late, key=(desc("name"), "number"))


def test_a_row_holds_the_defaults_of_all_that_came_later(url: Callable[..., str]) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("growing", EARLY))
        engine.insert(EARLY, Early("a", 1))
    with opened(url()) as engine:
        engine.prepare(Schema("growing", LATE))
        assert engine.get(LATE, "a", 1) == Late("a", 1)
        engine.insert(LATE, Late("b", 1, "", b"", maybe="x", real=5e-324))
        assert engine.scan(LATE, limit=9) == [Late("b", 1, "", b"", maybe="x", real=5e-324), Late("a", 1)]


@pytest.mark.parametrize(
    ("made", "names"),
    [
        ("name VARBINARY(32) NOT NULL, PRIMARY KEY (name)", "number"),
        ("name VARCHAR(32) NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (name, number)", "name, seal"),
        (
            "name VARBINARY(32) NOT NULL, number BIGINT NOT NULL, seal BINARY(32) NOT NULL, PRIMARY KEY (name, number)",
            "primary key",
        ),
    ],
)
def test_a_table_that_is_there_and_is_another_is_left_alone(
    url: Callable[..., str], admin: Ask, made: str, names: str
) -> None:
    with opened(url()) as engine:
        database = engine.options.database
        admin(f"CREATE DATABASE {database}")
        admin(f"CREATE TABLE {database}.grown ({made})")
        before = admin(f"SHOW CREATE TABLE {database}.grown")
        with pytest.raises(MigrationFailed, match=names):
            engine.prepare(Schema("growing", EARLY))
        assert admin(f"SHOW CREATE TABLE {database}.grown") == before


def test_a_column_that_is_there_and_is_another_is_not_taken_for_the_one_declared(
    url: Callable[..., str], admin: Ask
) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("growing", EARLY))
        admin(f"ALTER TABLE {engine.options.database}.grown ADD COLUMN text BIGINT NOT NULL DEFAULT 0")
        with pytest.raises(MigrationFailed, match=r"grown\.text"):
            engine.prepare(Schema("growing", LATE))


def test_a_user_who_may_make_no_triggers_is_told_what_to_do() -> None:
    fault = translate(pymysql.OperationalError(1419, "You do not have the SUPER privilege and binary logging is on"))
    assert isinstance(fault, MigrationFailed)
    assert "log_bin_trust_function_creators" in str(fault)


# Marks.


@pytest.mark.parametrize("token", ["", "0" * 27, "g" * 28, "0" * 29, "' OR true -- "])
def test_a_token_that_was_never_given_out_is_refused(room: MysqlEngine, token: str) -> None:
    with pytest.raises(InvalidArgument, match="not one of this engine's"):
        room.resolve(token)


def test_a_token_of_long_ago_is_refused_as_its_mark_is_forgotten(room: MysqlEngine) -> None:
    with pytest.raises(InvalidArgument, match="older than six days"):
        room.resolve("00000001" + "0" * 20)


def test_a_mark_that_was_kept_is_told_apart_from_the_fence_of_one_that_was_not(room: MysqlEngine) -> None:
    marks = room.lane.marks
    kept, lost = marks.new_token(), marks.new_token()
    link = room.links.take()
    link.trip(["START TRANSACTION", marks.mark(kept), "COMMIT"])
    for _ in range(2):
        assert room.resolve(kept) is True
        assert room.resolve(lost) is False
    with pytest.raises(pymysql.IntegrityError):  # it arrives late, and meets the fence
        link.trip(["START TRANSACTION", marks.mark(lost), "COMMIT"])
    link.trip(["ROLLBACK"])
    room.links.leave(link)


def test_whether_a_transaction_still_under_way_is_kept_is_waited_for(room: MysqlEngine) -> None:
    marks = room.lane.marks
    token = marks.new_token()
    link = room.links.take()
    link.trip(["START TRANSACTION", marks.mark(token)])
    told: list[bool] = []
    asking = threading.Thread(target=lambda: told.append(room.resolve(token)))
    asking.start()
    asking.join(0.2)
    assert told == []
    link.trip(["COMMIT"])
    asking.join()
    assert told == [True]
    room.links.leave(link)


def test_old_marks_are_forgotten_when_a_store_is_migrated(url: Callable[..., str], admin: Ask) -> None:
    with opened(url()) as engine:
        engine.prepare(SCHEMA)
        name = f"{engine.options.database}.strongroom_marks"
        fresh = engine.lane.marks.new_token()
        admin(f"INSERT INTO {name} VALUES (%s, 'commit', 1), (%s, 'commit', 1)", f"{1:012x}{'a' * 16}", fresh)
        engine.prepare(Schema("growing", EARLY))
        assert admin(f"SELECT CAST(token AS CHAR) FROM {name}") == ((fresh,),)


# Statements.


class Wide(Record):
    a: Annotated[str, Identifier(32)]
    b: Annotated[int, Integer()]
    c: Annotated[str, Identifier(32)]


WIDE = Table("wide_keys", Wide, key=("a", desc("b"), "c"))


def fill(transaction: strongroom.Transaction) -> None:
    for a, b, c in itertools.product(range(10), range(10), "abé"):
        transaction.insert(WIDE, Wide(f"k{a}", b, c))


@pytest.mark.parametrize(
    "walk",
    [
        {"start": ("k5",), "limit": 10},
        {"after": ("k5", 5, "c"), "limit": 10},
        {"after": ("k5", 5, "c"), "limit": 10, "reverse": True},
        {"start": ("k2", 9), "stop": ("k8", 1), "limit": 10},
        {"prefix": ("k5",), "limit": 10, "reverse": True},
        {"prefix": ("k5",), "after": (5, "c"), "limit": 10},
        {"prefix": ("k5",), "after": (5, "é"), "limit": 10, "reverse": True},
    ],
)
@pytest.mark.parametrize("locking", ["", LOCKING])
def test_a_page_is_one_walk_of_the_index_whatever_its_bounds(
    url: Callable[..., str], walk: dict[str, Any], locking: str
) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("wide_keys", WIDE))
        engine.write(fill)
        bounds = dict(walk)
        wanted = key_range(WIDE, bounds.pop("prefix", ()), **bounds)
        with engine.links.lent() as link:
            link.ask("FLUSH STATUS")
            found = link.ask(engine.statements[WIDE].fetch_range(wanted, locking))
            counted: Any = link.ask(
                "SHOW SESSION STATUS WHERE Variable_name REGEXP 'Handler_read_(first|key|last|next|prev)|Sort_rows'"
            )
        assert len(found) == wanted.limit
        assert dict(counted)["Sort_rows"] == "0"
        assert sum(int(count) for _, count in counted) <= 13
