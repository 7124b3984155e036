"""The etcd engine beyond the kit: its URL, its keys, the servers' limits, and what it leaves there."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

import strongroom
from servers.etcd import store_url
from servers.server import Address
from strongroom.engine import Engine, Reader, Transaction
from strongroom.engines.etcd import EtcdEngine
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import CompactionRequest, CompactionResponse, KeyValue, TxnRequest
from strongroom.engines.etcd.session import put
from strongroom.engines.etcd.view import View
from strongroom.errors import Conflict, InvalidArgument, TooLarge, Unavailable
from strongroom.patterns import Log
from strongroom.records import MEMBERSHIP, Blob, Identifier, Record, Schema, Table
from tests.engines.leases import LEASES, Lease, take_next
from tests.engines.leases import SCHEMA as LEASE_SCHEMA

# Some of these compact the server's history, which others of them read: one after the other.
pytestmark = pytest.mark.alone("etcd-history")

_numbers = itertools.count(1)


class Item(Record):
    name: Annotated[str, Identifier(255)]
    body: Annotated[bytes, Blob(2_000_000)] = b""


class Line(Record):
    stream: Annotated[str, Identifier(100)]
    position: int


ITEMS = Table("items", Item, key=("name",), changes=MEMBERSHIP)
LINES = Log(Table("lines", Line, key=("stream", "position")))
SCHEMA = Schema("things", ITEMS, LINES.table)


@pytest.fixture
def url(etcd: Address) -> Callable[..., str]:
    """Makes URLs of the test's own prefix, with options."""
    prefix = f"own/{os.getpid()}-{next(_numbers)}"
    return lambda **options: store_url([etcd], prefix, **options)


def opened(url: str) -> EtcdEngine:
    engine = strongroom.open(url)
    assert isinstance(engine, EtcdEngine)
    return engine


@pytest.fixture
def room(url: Callable[..., str]) -> Iterator[EtcdEngine]:
    with opened(url()) as engine:
        engine.prepare(SCHEMA)
        engine.prepare(LEASE_SCHEMA)
        yield engine


@pytest.fixture
def other(url: Callable[..., str], room: EtcdEngine) -> Iterator[EtcdEngine]:
    """Another engine object on the same store."""
    with opened(url()) as engine:
        yield engine


def keys(room: EtcdEngine, area: str = "") -> list[bytes]:
    """The keys of the store that begin with this, as they stand in etcd."""
    first = room._layout.root + area.encode()
    pairs = View(room._members).walk((first, first + b"\xff"), 100_000, keys_only=True).pairs
    return [pair.key.removeprefix(first) for pair in pairs]


def compact(room: EtcdEngine) -> None:
    """Forget every revision but the newest, as an operator does now and then."""
    request = CompactionRequest(revision=room._members.status().header.revision, physical=True)
    room._members._ask("/etcdserverpb.KV/Compact", request, CompactionResponse, room._members.deadline())


def names(count: int, first: int = 0) -> list[str]:
    return [f"{number:06}" for number in range(first, first + count)]


def insert_all(items: list[str], transaction: Transaction) -> None:
    for name in items:
        transaction.insert(ITEMS, Item(name))


# The URL.


@pytest.mark.parametrize("place", ["h:1", "h:1/", "h:1/a:b", "h:1/a//b", "h:1/a/", "h:1/a%00b", "h:1/é", "h:1/a;b"])
def test_a_prefix_that_others_keys_could_begin_with_is_refused(place: str) -> None:
    with pytest.raises(InvalidArgument, match="the prefix of the store's keys"):
        strongroom.open(f"etcd://{place}")


@pytest.mark.parametrize("servers", ["", "h:1,", "h:1,,h:2", "h:x", "h:1:2", "h 1", "unix:/run/etcd"])
def test_servers_are_written_as_host_and_port(servers: str) -> None:
    with pytest.raises(InvalidArgument):
        strongroom.open(f"etcd://{servers}/prefix")


def test_an_option_that_is_not_known_is_refused(url: Callable[..., str]) -> None:
    with pytest.raises(InvalidArgument, match="no option 'pool'"):
        strongroom.open(url(pool="3"))
    with pytest.raises(InvalidArgument, match="ca can't be read"):
        strongroom.open(url(ca="/nowhere/ca.pem"))


def test_a_certificate_needs_its_key(url: Callable[..., str], tmp_path: Any) -> None:
    (tmp_path / "cert.pem").write_bytes(b"")
    with pytest.raises(InvalidArgument, match="cert and key go together"):
        strongroom.open(url(cert=str(tmp_path / "cert.pem")))


def test_neither_an_engine_nor_its_faults_show_the_password() -> None:
    with opened("etcd://user:hush@127.0.0.1:1/prefix?timeout_ms=1") as engine:
        with pytest.raises(Unavailable) as refused:
            engine.tables()
        assert (
            "hush"
            not in f"{engine!r} {engine.options!r} {vars(engine)!r} {refused.value!r} {refused.value.__cause__!r}"
        )
    with pytest.raises(InvalidArgument) as unread:
        strongroom.open("etcd://user:hush@127.0.0.1:1/")
    assert "hush" not in str(unread.value)


def test_a_server_that_is_not_there_is_told_with_its_name() -> None:
    here = "etcd://127.0.0.1:1/prefix?timeout_ms=100"
    with opened(here) as engine, pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        engine.tables()


def test_a_server_that_answers_is_found_behind_one_that_does_not(etcd: Address) -> None:
    with opened(f"etcd://127.0.0.1:1,{etcd.host}:{etcd.port}/several") as engine:
        assert engine.tables() == frozenset()
        assert engine.describe()["member"] == f"{etcd.host}:{etcd.port}"


def test_what_an_operator_is_told_has_place_version_and_sizes(room: EtcdEngine, etcd: Address) -> None:
    told = room.describe()
    assert told["place"] == f"{etcd.host}:{etcd.port}/{room._layout.prefix}"
    assert str(told["server_version"]).startswith("3.")
    assert int(told["database_bytes"]) >= int(told["database_used_bytes"]) > 0  # type: ignore[arg-type]
    assert told["leads"] is True
    assert told["alarms"] == ()


# Keys.


def test_stores_whose_prefixes_begin_alike_are_not_seen_by_one_another(etcd: Address) -> None:
    base = f"alike{os.getpid()}"
    stores = [base, f"{base}/items", f"{base}1", f"{base}.", f"/{base}"]
    rooms = [opened(store_url([etcd], prefix)) for prefix in stores]
    for number, room in enumerate(rooms):
        room.prepare(SCHEMA)
        room.write(lambda transaction, n=number: insert_all(names(n + 1), transaction))  # type: ignore[misc]
    for number, room in enumerate(rooms):
        assert room.count(ITEMS, limit=100) == number + 1
        room.close()


def test_a_table_that_was_never_prepared_is_refused_in_every_call(url: Callable[..., str]) -> None:
    with opened(url()) as room:
        calls: list[Callable[[], object]] = [
            lambda: room.get(ITEMS, "a"),
            lambda: room.insert(ITEMS, Item("a")),
            lambda: room.delete(ITEMS, "a"),
            lambda: room.read(lambda reader: reader.count(ITEMS, limit=1)),
            lambda: room.write(lambda transaction: transaction.insert(ITEMS, Item("a"))),
        ]
        for call in calls:
            with pytest.raises(InvalidArgument, match="items: no such table; prepare its schema first"):
                call()
        assert keys(room) == []


# Limits.


@pytest.mark.parametrize("count", [126, 127, 128, 129, 2000])
def test_a_transaction_may_change_more_rows_than_one_list_of_etcd_holds(room: EtcdEngine, count: int) -> None:
    room.write(lambda transaction: insert_all(names(count), transaction))
    assert room.count(ITEMS, limit=10_000) == count


def test_a_transaction_of_too_many_changes_is_refused_with_the_limit_and_the_way_to_raise_it(room: EtcdEngine) -> None:
    with pytest.raises(TooLarge, match=r"128 operations in a list: .* --max-txn-ops there and max_txn_ops in the URL"):
        room.write(lambda transaction: insert_all(names(5000), transaction))
    assert room.count(ITEMS, limit=1) == 0


def test_a_request_that_is_too_large_is_refused_with_the_limit_and_the_way_to_raise_it(room: EtcdEngine) -> None:
    room.insert(ITEMS, Item("fits", bytes(1_570_000)))

    def insert_together(transaction: Transaction) -> None:
        for name in names(8):
            transaction.insert(ITEMS, Item(name, bytes(200_000)))

    expected = r"1572864 in a request: .* --max-request-bytes there and max_request_bytes"
    with pytest.raises(TooLarge, match=expected):
        room.insert(ITEMS, Item("single", bytes(1_573_000)))
    with pytest.raises(TooLarge, match=expected):
        room.write(insert_together)
    assert [item.name for item in room.scan(ITEMS, limit=9)] == ["fits"]


def test_limits_that_the_servers_do_not_have_are_told_from_theirs(url: Callable[..., str]) -> None:
    with opened(url(max_txn_ops="1000", max_request_bytes="4000000")) as room:
        room.prepare(SCHEMA)
        with pytest.raises(TooLarge, match="below the URL's max_txn_ops or max_request_bytes"):
            room.write(lambda transaction: insert_all(names(300), transaction))
        with pytest.raises(TooLarge, match="below the URL's max_txn_ops or max_request_bytes"):
            room.insert(ITEMS, Item("a", bytes(1_700_000)))
        assert room.count(ITEMS, limit=1) == 0


def test_of_callers_whose_writes_are_too_large_together_each_is_kept(room: EtcdEngine) -> None:
    inside, go = threading.Event(), threading.Event()

    def hold(_transaction: Transaction) -> None:
        inside.set()
        go.wait(30)

    threads = [threading.Thread(target=lambda: room.write(hold))]
    threads += [threading.Thread(target=room.insert, args=(ITEMS, Item(n, bytes(300_000)))) for n in names(12)]
    threads[0].start()
    assert inside.wait(30)
    for thread in threads[1:]:
        thread.start()
    while len(room._committer._queue) < len(threads):
        pass
    go.set()
    for thread in threads:
        thread.join(60)
    assert [item.name for item in room.scan(ITEMS, limit=20)] == names(12)


def test_rows_that_are_more_than_one_answer_of_grpc_are_read(room: EtcdEngine) -> None:
    for name in names(8):
        room.insert(ITEMS, Item(name, bytes(1_000_000)))
    assert sum(len(item.body) for item in room.scan(ITEMS, limit=10)) == 8_000_000


# What a transaction has read.


def insert_one(room: EtcdEngine) -> None:
    room.insert(ITEMS, Item("000000 and a half"))


def delete_one(room: EtcdEngine) -> None:
    assert room.delete(ITEMS, "000001")


def replace_one(room: EtcdEngine) -> None:
    def change(transaction: Transaction) -> None:
        transaction.delete(ITEMS, "000001")
        transaction.insert(ITEMS, Item("000001", b"another"))

    room.write(change)


def scan(transaction: Transaction) -> object:
    return transaction.scan(ITEMS, limit=10_000)


def scan_back(transaction: Transaction) -> object:
    return transaction.scan(ITEMS, limit=10_000, reverse=True)


def get_each(transaction: Transaction) -> object:
    return [transaction.get(ITEMS, name) for name in ["000000 and a half", *names(200)]]


def count(transaction: Transaction) -> object:
    return transaction.count(ITEMS, limit=10_000)


@pytest.mark.parametrize("there", [5, 200])
@pytest.mark.parametrize("look", [scan, scan_back, get_each, count])
@pytest.mark.parametrize("interfere", [insert_one, delete_one, replace_one])
def test_whatever_changes_in_what_was_read_has_the_function_run_again(
    room: EtcdEngine,
    other: EtcdEngine,
    there: int,
    look: Callable[[Transaction], object],
    interfere: Callable[[EtcdEngine], None],
) -> None:
    room.write(lambda transaction: insert_all(names(there), transaction))
    seen: list[object] = []

    def change(transaction: Transaction) -> None:
        seen.append(look(transaction))
        if len(seen) == 1:
            interfere(other)
        transaction.insert(LEASES, Lease("result"))

    room.write(change)
    assert len(seen) == 2
    assert room.write(look) == seen[1]


@pytest.mark.parametrize("there", [5, 200])
def test_what_changes_behind_the_last_row_that_was_wanted_is_of_no_concern(
    room: EtcdEngine, other: EtcdEngine, there: int
) -> None:
    room.write(lambda transaction: insert_all(names(there), transaction))
    runs: list[int] = []

    def change(transaction: Transaction) -> None:
        runs.append(len(transaction.scan(ITEMS, limit=there - 1)))
        other.insert(ITEMS, Item("9 behind"))
        transaction.insert(LEASES, Lease("result"))

    room.write(change)
    assert runs == [there - 1]


def test_rows_taken_for_new_by_the_hundred_are_looked_for(room: EtcdEngine, other: EtcdEngine) -> None:
    other.insert(ITEMS, Item("000150", b"first"))
    with pytest.raises(strongroom.AlreadyExists):
        room.write(lambda transaction: insert_all(names(200), transaction))
    assert [item.body for item in room.scan(ITEMS, limit=5)] == [b"first"]


# Revisions.


def test_a_snapshot_whose_revision_is_compacted_begins_again(room: EtcdEngine, other: EtcdEngine) -> None:
    room.insert(ITEMS, Item("a"))
    runs: list[int] = []

    def look(reader: Reader) -> tuple[int, int]:
        first = reader.count(ITEMS, limit=9)
        runs.append(first)
        if len(runs) == 1:
            other.insert(ITEMS, Item("b"))
            compact(other)
        return first, reader.count(ITEMS, limit=8)

    assert room.read(look) == (2, 2)
    runs.clear()

    def change(transaction: Transaction) -> tuple[int, int]:
        found = look(transaction)
        transaction.insert(LEASES, Lease("result"))
        return found

    other.delete(ITEMS, "b")
    assert room.write(change) == (2, 2)
    assert runs == [1, 2]


def test_a_snapshot_that_is_always_compacted_is_given_up(room: EtcdEngine, other: EtcdEngine) -> None:
    def look(reader: Reader) -> None:
        reader.get(ITEMS, "a")
        other.write(lambda transaction: take_next(transaction, "mine"))
        compact(other)
        reader.get(ITEMS, "b")

    with pytest.raises(Conflict):
        room.read(look)


# What stays in etcd.


def test_marks_go_with_later_commits_and_with_the_engine(url: Callable[..., str], room: EtcdEngine) -> None:
    with opened(url()) as writer:
        for _ in range(200):
            writer.write(lambda transaction: take_next(transaction, "mine"))
        assert 1 <= len(keys(room, f"_marks/{writer._commits._lane}")) <= 64
    assert keys(room, f"_marks/{writer._commits._lane}") == []


def test_the_marks_of_those_who_are_long_gone_are_removed(
    url: Callable[..., str], room: EtcdEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.insert(ITEMS, Item("a"))
    assert len(keys(room, "_marks/")) >= 1
    later = room._clock.now() + 8 * 24 * 3_600_000
    with opened(url()) as engine:
        monkeypatch.setattr(engine._clock, "now", lambda: later)
    assert keys(room, "_marks/") == []


def test_a_token_is_answered_for_alike_by_whoever_is_asked_and_for_its_time_only(
    room: EtcdEngine, other: EtcdEngine, etcd: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"{'0123456789abcdef'}{1:08x}{room._clock.now() // 1000:08x}"
    token = named + room._commits._check(named)
    assert [engine.resolve(token) for engine in (room, other, room)] == [False, False, False]
    another = store_url([etcd], f"{room._layout.prefix}-another")
    with opened(another) as stranger, pytest.raises(InvalidArgument, match="not one of this store"):
        stranger.resolve(token)
    later = room._clock.now() + 7 * 24 * 3_600_000
    monkeypatch.setattr(room._clock, "now", lambda: later)
    with pytest.raises(InvalidArgument, match="older than six days"):
        room.resolve(token)


def test_a_mark_that_was_tampered_with_is_corrupt(room: EtcdEngine, url: Callable[..., str]) -> None:
    named = f"{'0123456789abcdef'}{2:08x}{room._clock.now() // 1000:08x}"
    mark = room._layout.marks[0] + named[:-8].encode()
    room._members.repeat(TxnRequest(success=[put(mark, b"yes")]))
    with pytest.raises(strongroom.Corrupt, match="mark of a transaction"):
        room.resolve(named + room._commits._check(named))


# Walks from the end.


def backwards(room: EtcdEngine, span: tuple[bytes, bytes], wanted: int) -> list[bytes]:
    return [pair.key for pair in room._store.tails.last(View(room._members), span, wanted)]


def test_the_last_keys_are_found_whatever_the_keys_are_like(room: EtcdEngine) -> None:
    room.write(lambda transaction: insert_all([f"{'x' * 200}{n}" for n in names(700)], transaction))
    room.write(lambda transaction: insert_all(["a", "a ", "é" * 100, "zzz", "zzzz"], transaction))

    def append(transaction: Transaction) -> None:
        for position in [*range(1, 301), *range(2**40, 2**40 + 300), 2**62]:
            transaction.insert(LINES.table, Line("s", position))

    room.write(append)
    span = room._layout.root, room._layout.root + b"\xff"
    everything = [pair.key for pair in View(room._members).walk(span, 100_000, keys_only=True).pairs][::-1]
    for low, high in [span, room._layout.rows(ITEMS), room._layout.rows(LINES.table)]:
        within = [key for key in everything if low <= key < high]
        for wanted in (1, 2, 100, 300, 900, 10_000):
            for _ in range(2):  # what was found before is remembered
                assert backwards(room, (low, high), wanted) == within[:wanted]


def test_what_is_remembered_of_a_walk_does_not_outlive_the_rows(room: EtcdEngine) -> None:
    room.write(lambda transaction: insert_all(names(1000), transaction))
    span = room._layout.rows(ITEMS)

    def last(wanted: int) -> list[str]:
        return [item.name for item in room.scan(ITEMS, limit=wanted, reverse=True)]

    assert last(2) == ["000999", "000998"]
    for name in ("000999", "000998", "000997"):
        room.delete(ITEMS, name)
    assert last(2) == ["000996", "000995"]
    room.write(lambda transaction: insert_all(names(600, 2000), transaction))
    assert last(2) == ["002599", "002598"]
    assert len(backwards(room, span, 5)) == 5


def test_an_append_reads_the_end_of_a_log_and_not_all_of_it(
    room: EtcdEngine, other: EtcdEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(transaction: Transaction) -> None:
        head = LINES.head(transaction, "s")
        for position in range(head + 1, head + 1001):
            transaction.insert(LINES.table, Line("s", position))

    for _ in range(3):
        room.write(fill)
    read: list[KeyValue] = []
    walk = View.walk

    def counted(view: View, *args: Any, **options: Any) -> Any:
        found = walk(view, *args, **options)
        read.extend(found.pairs)
        return found

    monkeypatch.setattr(View, "walk", counted)
    assert LINES.append(other, "s", make=lambda position: Line("s", position)).position == 3001
    assert len(read) < 700
    read.clear()
    assert LINES.append(other, "s", make=lambda position: Line("s", position)).position == 3002
    assert len(read) <= 2


# What calls cost.


def test_a_call_costs_as_many_requests_as_it_must(
    room: EtcdEngine, other: EtcdEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = Members._ask

    def counted(members: Members, path: str, *args: Any, **options: Any) -> Any:
        if members is room._members:
            asked.append(path.rpartition("/")[2])
        return ask(members, path, *args, **options)

    def cost(call: Callable[[], object]) -> list[str]:
        asked.clear()
        call()
        return asked

    room.write(lambda transaction: insert_all(names(200), transaction))
    room.insert(LEASES, Lease("a"))
    monkeypatch.setattr(Members, "_ask", counted)
    assert cost(lambda: room.get(LEASES, "a")) == ["Range"]
    assert cost(lambda: room.update(LEASES, Lease("a", version=2), expect=1)) == ["Txn"]
    assert cost(lambda: room.update(LEASES, Lease("a", version=3), expect=2)) == ["Range", "Txn"]
    room.get(LEASES, "a")
    other.update(LEASES, Lease("a", version=3, job="another"), expect=3)
    assert cost(lambda: room.update(LEASES, Lease("a", version=4), expect=3)) == ["Txn", "Range", "Txn"]
    assert cost(lambda: room.insert(LEASES, Lease("b"))) == ["Txn"]
    assert cost(lambda: room.delete(ITEMS, "000000")) == ["Txn"]
    assert cost(lambda: room.scan(ITEMS, limit=1000)) == ["Range"]
    assert cost(lambda: room.scan(ITEMS, limit=3, reverse=True)) == ["Range"]
    assert cost(lambda: room.count(ITEMS, limit=1000)) == ["Range"]
    assert cost(lambda: room.get_many(ITEMS, [(name,) for name in names(128)])) == ["Txn"]
    assert cost(lambda: room.get_many(ITEMS, [(name,) for name in names(129)])) == ["Txn", "Range"]
    assert cost(lambda: room.write(lambda transaction: take_next(transaction, "a"))) == ["Range", "Txn"]
    assert cost(lambda: room.write(lambda transaction: transaction.get(LEASES, "a"))) == ["Range"]
    assert cost(lambda: room.write(lambda transaction: insert_all(["x", "y"], transaction))) == ["Txn"]


# Many at once.


def test_a_log_that_many_engines_append_to_makes_progress_for_each(url: Callable[..., str], room: EtcdEngine) -> None:
    def append(engine: Engine, count: int) -> None:
        for _ in range(count):
            LINES.append(engine, "s", make=lambda position: Line("s", position))

    engines = [opened(url()) for _ in range(4)]
    threads = [threading.Thread(target=append, args=(engine, 15)) for engine in engines for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    for engine in engines:
        engine.close()
    assert [line.position for line in room.scan(LINES.table, "s", limit=1000)] == [*range(1, 181)]
