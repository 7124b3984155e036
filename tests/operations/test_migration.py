"""Migration says what it would do, does it once, and refuses before it has begun."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.engine.catalog import STEPS
from strongroom.errors import Corrupt, InvalidArgument, MigrationFailed, SchemaTooNew
from strongroom.operations import State, inspect, migrate, plan, survey, verify
from strongroom.records import Schema, Table

from .shop import FIRST, SUBJECT, Room, Voucher, fill


def test_a_plan_names_the_steps_and_changes_nothing(shop: Room) -> None:
    fill(shop.engine, FIRST)
    catalog, ours = plan(shop.engine, [SUBJECT.schema])
    assert (catalog.version, catalog.steps) == (1, ())
    assert ours.version == 1
    assert [step.summary for step in ours.steps] == [
        "shop_vouchers, shop_orders.colour, shop_orders.tags, shop_orders.scan"
    ]
    assert "shop_vouchers" not in shop.engine.tables()


def test_a_store_that_was_never_prepared_gets_the_catalog_first(shop: Room) -> None:
    plans = plan(shop.engine, [SUBJECT.schema])
    assert [(each.schema.name, each.version, len(each.steps)) for each in plans] == [
        ("strongroom", 0, 1),
        ("shop", 0, 2),
    ]
    assert shop.engine.tables() == frozenset()


def test_migrating_applies_the_steps_once(shop: Room) -> None:
    fill(shop.engine, FIRST)
    assert [len(each.steps) for each in migrate(shop.engine, [SUBJECT.schema])] == [0, 1]
    assert [len(each.steps) for each in migrate(shop.engine, [SUBJECT.schema])] == [0, 0]
    assert [schema.state for schema in survey(shop.engine, [SUBJECT]).schemas] == [State.CURRENT, State.CURRENT]
    assert list(verify(shop.engine, [SUBJECT])) == []


def test_a_newer_store_is_refused_before_another_schema_is_migrated(shop: Room) -> None:
    fill(shop.engine)
    other = Schema("aside", Table("aside_vouchers", Voucher, key=("code",)))
    with pytest.raises(SchemaTooNew, match="the store is at version 2, this code knows 1"):
        migrate(shop.engine, [other, FIRST.schema])
    assert "aside_vouchers" not in shop.engine.tables()


def test_an_altered_step_is_refused(shop: Room) -> None:
    fill(shop.engine, FIRST)
    altered = Schema("shop", Table("shop_other", Voucher, key=("code",)))
    with pytest.raises(MigrationFailed, match="step 1 was applied as something else"):
        plan(shop.engine, [altered])


def test_a_tampered_record_of_steps_is_refused(shop: Room) -> None:
    fill(shop.engine, FIRST)
    assert shop.back.tamper(STEPS, ("shop", 1), "summary", "forged")
    with pytest.raises(Corrupt, match="strongroom_steps"):
        migrate(shop.engine, [SUBJECT.schema])
    assert "shop_vouchers" not in shop.engine.tables()


def test_every_operation_refuses_another_seal_key() -> None:
    url = "memory://operations-under-another-key"
    fill(strongroom.open(url, seal_key=b"k" * 32))
    other = strongroom.open(url, seal_key=b"another key 1234")
    for operation in (
        lambda: verify(other, [SUBJECT]),
        lambda: inspect(other, [SUBJECT]),
        lambda: plan(other, [SUBJECT.schema]),
        lambda: survey(strongroom.open(url), [SUBJECT]),
    ):
        with pytest.raises(InvalidArgument, match=r"the store is sealed with the key [0-9a-f]{16}, but was opened"):
            operation()
