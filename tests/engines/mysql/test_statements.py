"""Statements, and how the server goes about them."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import pytest

import strongroom
from strongroom.engines.mysql.statements import LOCKING
from strongroom.records import Identifier, Integer, Record, Schema, Table, desc
from strongroom.records.ranges import key_range
from tests.engines.mysql.conftest import Url, opened


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
def test_a_page_is_one_walk_of_the_index_whatever_its_bounds(url: Url, walk: dict[str, Any], locking: str) -> None:
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
