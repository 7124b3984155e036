"""A small domain to operate on: orders, their list by amount, a journal; in two versions of one schema."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from strongroom.conformance.backdoors import BackDoor
from strongroom.engine import Engine, Strength, Writer
from strongroom.patterns import Log, OrderedMapping, Subject
from strongroom.records import (
    MEMBERSHIP,
    NEVER,
    VERSIONED,
    Blob,
    Identifier,
    Integer,
    Real,
    Record,
    Schema,
    Since,
    Table,
    Text,
    desc,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class FirstOrder(Record):
    """An order as version 1 had it."""

    branch: Annotated[str, Identifier(40)]
    id: Annotated[str, Identifier(40)]
    amount: Annotated[float, Real(0.0, 1000.0)]
    card: Annotated[str, Identifier(40, sensitive=True)]
    version: Annotated[int, Integer(1)] = 1


class Order(FirstOrder):
    """An order; the columns after `version` came in version 2."""

    colour: Annotated[Colour, Since(2)] = Colour.RED
    tags: Annotated[dict[str, int] | None, Since(2)] = None
    scan: Annotated[bytes, Blob(100), Since(2)] = b""


class OrderByAmount(Record):
    branch: Annotated[str, Identifier(40)]
    amount: Annotated[float, Real(0.0, 1000.0)]
    id: Annotated[str, Identifier(40)]


class Entry(Record):
    branch: Annotated[str, Identifier(40)]
    position: Annotated[int, Integer()]
    note: Annotated[str, Text(200)]


class Voucher(Record):
    code: Annotated[str, Identifier(40, sensitive=True)]
    number: Annotated[int, Integer()]


def _rule(order: Order) -> str | None:
    return "a red order is at most 500" if order.colour == Colour.RED and order.amount > 500 else None


def _first_rule(order: FirstOrder) -> str | None:
    return "an order is at most 500" if order.amount > 500 else None


def _shop(orders: Table[Any], *more: Table[Any]) -> Subject:
    schema = Schema("shop", orders, BY_AMOUNT, JOURNAL, *more)
    by_amount = OrderedMapping(
        BY_AMOUNT,
        orders,
        locate=lambda entry: (entry.branch, entry.id),
        agrees=lambda entry, order: entry.amount == order.amount,
    )
    return Subject(schema, logs=[Log(JOURNAL)], mappings=[by_amount])


KEY = ("branch", "id")
BY_AMOUNT = Table("shop_by_amount", OrderByAmount, key=("branch", desc("amount"), "id"), changes=MEMBERSHIP)
JOURNAL = Table("shop_journal", Entry, key=("branch", "position"), changes=NEVER)
FIRST_ORDERS = Table("shop_orders", FirstOrder, key=KEY, scope=1, changes=VERSIONED("version"), rule=_first_rule)
ORDERS = Table("shop_orders", Order, key=KEY, scope=1, changes=VERSIONED("version"), rule=_rule)
VOUCHERS = Table("shop_vouchers", Voucher, key=("code", "number"), changes=MEMBERSHIP, since=2)

FIRST = _shop(FIRST_ORDERS)
SUBJECT = _shop(ORDERS, VOUCHERS)


@dataclass(frozen=True)
class Room:
    """A store with an engine in front and a way in at the back."""

    engine: Engine
    back: BackDoor
    url: str


def fill(engine: Engine, subject: Subject = SUBJECT, branches: int = 3, orders: int = 4) -> int:
    """Prepare a store and fill it: `branches` with so many orders each; the number of rows, without the catalog's."""
    engine.prepare(subject.schema)
    table = subject.schema.tables[0]

    def insert(port: Writer) -> None:
        for branch in map(str, range(branches)):
            for number in range(1, orders + 1):
                port.insert(table, table.record(branch, f"o{number}", float(number), f"card-{branch}-{number}"))
                port.insert(BY_AMOUNT, OrderByAmount(branch, float(number), f"o{number}"))
                port.insert(JOURNAL, Entry(branch, number, f"o{number} came"))

    if engine.claims.strength >= Strength.MULTI_RECORD:
        engine.write(insert)
    else:
        insert(engine)
    return 3 * branches * orders
