"""What each method of a domain's stores asks an engine's database for: what `docs/scale.md` tells, engine by engine."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

import strongroom
from bench.cost import UNITS, monthly_cost
from bench.cost import Units as Charged
from servers.dynamodb import DynamoAddress
from servers.etcd import store_url
from servers.server import Address
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import Storage
from strongroom.engine import Engine
from strongroom.routing import Placement, Router
from tests.domains.engines import RefusingEngine
from tests.domains.stovepipe import samples
from tests.domains.stovepipe.methods import FACT_LISTS, KINDS, make_all
from tests.engines import meters
from tests.engines.meters import Asked

PAGE: Final = (Path(__file__).parents[2] / "docs/scale.md").read_text(encoding="utf-8")

LIST, EACH_FACT, FACTS = 3, 2, 2
"""Units of a list, and of each fact that one leads to; and the facts that there are when they are listed."""

MIX: Final = {"get": 5e6, "list": 1e6, "create": 2e6, "update": 1.5e6, "delete": 0.5e6}
"""Ten million calls a day, as a control plane may make them."""


def table(first: str) -> dict[str, dict[str, str]]:
    """The table of the page whose heading begins so: its cells by what begins their line, and by their column."""
    lines = PAGE[PAGE.index(f"| {first} |") :].partition("\n\n")[0].splitlines()
    heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}


CALLS: Final = table("call")
"""What each kind of method asks each engine's database for."""


def told(kind: str, engine: str) -> Asked:
    return re.findall(r"`([^`]+)`", CALLS[kind][engine])


def used(engine: Engine) -> Storage:
    """A storage whose stores have been used, so that what is only done at first is done."""
    storage = stovepipe.open(engine).for_queue(samples.QUEUE)
    make_all(storage)
    for call in FACT_LISTS.values():
        call(storage)
    return storage


def check(storage: Storage, asked: Asked, engine: str, charged: Callable[[str, str], None] | None = None) -> None:
    """Call every method once, and hold what it asks for to the page; `charged` is told of each, and of its kind."""
    for kind, methods in KINDS.items():
        for name, call in methods.items():
            asked.clear()
            call(storage)
            assert asked == told(kind, engine), f"{name} on {engine}"
            if charged is not None:
                charged(kind, name)


def a_name() -> str:
    return f"costs_{secrets.token_hex(6)}"


def test_every_method_of_a_domain_s_stores_is_counted() -> None:
    storage = stovepipe.Stovepipe(RefusingEngine()).for_queue("q")
    # `ensure` is create or get, `update_next` is update; there is one queue, and one summary of it.
    own = {"ensure", "update_next"}
    found = {
        f"{attribute}.{method}"
        for attribute, one in vars(storage).items()
        for method in dir(one)
        if attribute not in ("engine", "queue") and not method.startswith("_") and callable(getattr(one, method))
    }
    counted = {name for methods in KINDS.values() for name in methods}
    asked = {name for name in found if name.partition(".")[2] not in own}
    assert asked - counted == {"queues.create", "queue_summaries.create"}
    assert counted <= found
    assert set(CALLS) == set(KINDS)


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with strongroom.open("memory://") as engine:
        storage = used(engine)
        check(storage, meters.of_memory(engine, monkeypatch), "memory")


def test_sqlite(tmp_path: Path) -> None:
    with meters.of_sqlite() as asked, strongroom.open(f"sqlite:///{tmp_path}/costs.db") as engine:
        check(used(engine), asked, "SQLite")


@pytest.mark.parametrize(("movable", "column"), [(True, "router of files"), (False, "SQLite")])
def test_a_router_looks_at_a_fence_and_one_whose_scopes_stay_is_as_its_room(
    tmp_path: Path, movable: bool, column: str
) -> None:
    with meters.of_sqlite() as asked, ExitStack() as stack:
        rooms = {name: stack.enter_context(strongroom.open(f"sqlite:///{tmp_path}/{name}.db")) for name in "ab"}
        placement = Placement("a", hashed=("a", "b"), movable=movable)
        check(used(stack.enter_context(Router(rooms, placement))), asked, column)


def test_postgresql(postgres: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    with strongroom.open(postgres.url(schema=a_name())) as engine:
        storage = used(engine)
        check(storage, meters.of_postgres(monkeypatch), "PostgreSQL")


def test_mariadb(mariadb: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    with strongroom.open(mariadb.url(a_name())) as engine:
        storage = used(engine)
        check(storage, meters.of_mysql(monkeypatch), "MariaDB")


def test_etcd(etcd: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    with strongroom.open(store_url([etcd], a_name())) as engine:
        storage = used(engine)
        check(storage, meters.of_etcd(engine, monkeypatch), "etcd")


def test_dynamodb_and_what_it_charges(dynamodb: DynamoAddress) -> None:
    with strongroom.open(dynamodb.url(a_name())) as engine:
        storage = used(engine)
        asked, units = meters.of_dynamodb(engine)

        def charged(kind: str, name: str) -> None:
            expected = Charged(read=LIST + EACH_FACT * FACTS) if kind == "list of facts" else UNITS[kind]
            assert (units.read, units.written) == (expected.read, expected.written), name
            units.read = units.written = 0

        check(storage, asked, "DynamoDB", charged)


def test_the_page_tells_what_is_charged() -> None:
    told = {kind: (row["units of reading"], row["units of writing"]) for kind, row in table("call on DynamoDB").items()}
    assert told.pop("list of facts") == (f"{LIST}, and {EACH_FACT} for each fact", "")
    assert told == {kind: (str(units.read or ""), str(units.written or "")) for kind, units in UNITS.items()}


def test_a_month_is_told_as_it_is_reckoned() -> None:
    for kind, row in table("10 million a day").items():
        calls = MIX if kind == "a mix of them" else {kind: 10_000_000}
        cost = monthly_cost(calls, price_per_million_reads=0.125, price_per_million_writes=0.625)
        assert row["a month"] == f"${cost:,.2f}".removesuffix(".00"), kind


def test_a_kind_of_call_that_there_is_not_has_no_price() -> None:
    with pytest.raises(KeyError):
        monthly_cost({"sing": 1}, price_per_million_reads=1, price_per_million_writes=1)
