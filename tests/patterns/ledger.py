"""Tables for the tests of patterns: a log, a mapping that orders, one that makes unique, and what they point to."""

from __future__ import annotations

from typing import Annotated

from strongroom.patterns import Log, OrderedMapping, UniqueMapping
from strongroom.records import (
    MEMBERSHIP,
    VERSIONED,
    Identifier,
    Integer,
    Millis,
    Record,
    Schema,
    Table,
    desc,
)


class Entry(Record):
    tenant: Annotated[str, Identifier(64)]
    position: Annotated[int, Integer(1)]
    text: Annotated[str, Identifier(64)]


class Account(Record):
    tenant: Annotated[str, Identifier(64)]
    name: Annotated[str, Identifier(64)]
    opened_at: Annotated[int, Millis()] = 0
    version: Annotated[int, Integer(1)] = 1


class ByOpening(Record):
    tenant: Annotated[str, Identifier(64)]
    opened_at: Annotated[int, Millis()]
    name: Annotated[str, Identifier(64)]


class Slot(Record):
    tenant: Annotated[str, Identifier(64)]
    number: Annotated[int, Integer(0)]
    owner: Annotated[str, Identifier(64)]


ENTRIES = Table("entries", Entry, key=("tenant", "position"), scope=1)
ACCOUNTS = Table("accounts", Account, key=("tenant", "name"), scope=1, changes=VERSIONED("version"))
BY_OPENING = Table("accounts_by_opening", ByOpening, key=("tenant", desc("opened_at"), "name"), scope=1)
SLOTS = Table("slots", Slot, key=("tenant", "number"), scope=1, changes=MEMBERSHIP)
LEDGER = Schema("ledger", ENTRIES, ACCOUNTS, BY_OPENING, SLOTS)

LOG = Log(ENTRIES)
NEWEST_FIRST = OrderedMapping(
    BY_OPENING,
    ACCOUNTS,
    locate=lambda entry: (entry.tenant, entry.name),
    agrees=lambda entry, account: entry.opened_at == account.opened_at,
)
OWNERS = UniqueMapping(SLOTS)
