"""The URL: prefixes, servers, options, and what is never shown (E2)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import strongroom
from servers.etcd import store_url
from servers.server import Address
from strongroom.engines.etcd import EtcdEngine
from strongroom.errors import InvalidArgument, Unavailable
from tests.engines.etcd.stores import ITEMS, SCHEMA, Item, insert_all, keys, names, opened

# Some tests compact the server's history, which others of them read: one after the other.
pytestmark = pytest.mark.alone("etcd-history")


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
