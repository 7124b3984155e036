"""A schema with a scoped table of every kind of change, and rooms to keep it in."""

from __future__ import annotations

from typing import Annotated

import strongroom
from strongroom.engine import Engine
from strongroom.patterns import Log
from strongroom.records import MEMBERSHIP, REPLACEABLE, VERSIONED, AnyTable, Identifier, Integer, Record, Schema, Table
from strongroom.routing import Placement, Router


class Member(Record):
    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    note: Annotated[str, Identifier(64, empty=True)] = ""


class Account(Record):
    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    version: Annotated[int, Integer(0)] = 1
    balance: int = 0


class Setting(Record):
    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    value: int = 0


class Entry(Record):
    tenant: Annotated[str, Identifier(64)]
    position: Annotated[int, Integer(1)]
    text: Annotated[str, Identifier(64)]


class Shard(Record):
    number: int
    name: Annotated[str, Identifier(64)]


class Plan(Record):
    name: Annotated[str, Identifier(64)]
    version: Annotated[int, Integer(0)] = 1


MEMBERS = Table("members", Member, key=("tenant", "name"), scope=1, changes=MEMBERSHIP)
ACCOUNTS = Table("accounts", Account, key=("tenant", "name"), scope=1, changes=VERSIONED("version"))
SETTINGS = Table("settings", Setting, key=("tenant", "-name"), scope=1, changes=REPLACEABLE)
ENTRIES = Table("entries", Entry, key=("tenant", "position"), scope=1)
SHARDS = Table("shards", Shard, key=("number", "name"), scope=1, changes=MEMBERSHIP)
PLANS = Table("plans", Plan, key=("name",), changes=VERSIONED("version"))
LOG = Log(ENTRIES)

SCHEMA = Schema("tenants", MEMBERS, ACCOUNTS, SETTINGS, ENTRIES, SHARDS, PLANS)

OF_TENANTS: tuple[AnyTable, ...] = (MEMBERS, ACCOUNTS, SETTINGS, ENTRIES)

IN_HOME = Placement("home", default="home")
HASHED = Placement("home", hashed=("home", "east", "west"))

Rooms = dict[str, Engine]


def memory_rooms() -> Rooms:
    return {name: strongroom.open("memory://") for name in ("home", "east", "west")}


def router_over(rooms: Rooms, placement: Placement, *, hold_ms: int = 10_000) -> Router:
    """A router as one more process would have it: with a memory of its own, over the same stores."""
    router = Router(rooms, placement, hold_ms=hold_ms)
    router.prepare(SCHEMA)
    return router


def fill(router: Router, tenant: str, rows: int = 5) -> None:
    """Some rows of one tenant in every table, with values that no other tenant has."""
    for number in range(rows):
        router.insert(MEMBERS, Member(tenant, f"m{number}", f"of {tenant}"))
        router.insert(ACCOUNTS, Account(tenant, f"a{number}", number + 1, number))
        router.put(SETTINGS, Setting(tenant, f"s{number}", number))
        LOG.append(router, tenant, make=lambda position: Entry(tenant, position, f"e{position}"))


def contents(engine: Engine, tenant: str) -> dict[str, list[Record]]:
    """All that an engine shows of a tenant."""
    return {table.name: engine.scan(table, tenant, limit=1000) for table in OF_TENANTS}
