"""S1, S2 and S3: what a store that is bound to a scope shows, takes and refuses."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import ACCOUNTS, ENTRIES, LOG, MEMBERS, Account, Entry, Member
from strongroom.engine import Strength, Transaction
from strongroom.errors import (
    AlreadyExists,
    Closed,
    InvalidArgument,
    NotFound,
    ScopeMismatch,
    VersionMismatch,
)
from strongroom.patterns import Faults, ScopedTable

TENANTS: Final = ("t", "T", "t ", "tt", "t\x01", "é", "e\u0301", "t%", "_")
"""Scopes that a careless comparison takes for one another."""


def members(kit: Kit, tenant: str) -> ScopedTable[Member]:
    """The members as one tenant sees them."""
    return ScopedTable(kit.engine, MEMBERS, (tenant,))


def accounts(kit: Kit, tenant: str) -> ScopedTable[Account]:
    """The accounts as one tenant sees them."""
    return ScopedTable(kit.engine, ACCOUNTS, (tenant,))


@case("S1")
def a_scope_shows_and_counts_its_own_rows_only(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member(tenant, name, tenant) for tenant in TENANTS for name in ("a", "b")])
    for tenant in TENANTS:
        here = members(kit, tenant)
        own = [Member(tenant, name, tenant) for name in ("a", "b")]
        checks.equal(here.scan(limit=100), own, f"a scan of {tenant!r}")
        checks.equal(here.scan(limit=100, reverse=True), own[::-1], f"a scan of {tenant!r} in reverse")
        checks.equal(here.scan(start=("a",), stop=("zz",), limit=100), own, f"a scan of {tenant!r} between bounds")
        checks.equal(here.scan(after=("a",), limit=100), own[1:], f"a scan of {tenant!r} behind a cursor")
        checks.equal(here.count(limit=100), 2, f"a count of {tenant!r}")
        checks.equal(here.get("a"), own[0], f"get in {tenant!r}")
        checks.equal(here.get_many([("b",), ("c",), ("a",)]), [own[1], None, own[0]], f"get_many in {tenant!r}")


@case("S1")
def a_key_of_another_scope_reads_as_absent(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member("t", "a"), Member("u", "b")])
    here = members(kit, "t")
    checks.equal(here.find("b"), None, "find of another's key")
    checks.raises(NotFound, "get of another's key", here.get, "b", naming=["members", "'b'"])
    checks.equal(here.get_many([("b",)]), [None], "get_many of another's key")
    checks.equal(here.count("b", limit=5), 0, "a count of another's key")
    checks.same(here.delete("b"), False, "the answer to a delete of another's key")
    checks.equal(kit.engine.get(MEMBERS, "u", "b"), Member("u", "b"), "the other's row")


@case("S1")
def a_change_in_one_scope_reaches_no_other(kit: Kit) -> None:
    for tenant in TENANTS:
        accounts(kit, tenant).insert(Account(tenant, "a", 1, 10))
    accounts(kit, "t").update(Account("t", "a", 2, 20), expect=1)
    for tenant in TENANTS:
        expected = Account(tenant, "a", 2, 20) if tenant == "t" else Account(tenant, "a", 1, 10)
        checks.equal(accounts(kit, tenant).get("a"), expected, f"the account of {tenant!r}")
    kit.keep(MEMBERS, [Member(tenant, "a") for tenant in TENANTS])
    checks.true(members(kit, "t").delete("a"), "the own row was there to be deleted")
    for tenant in TENANTS:
        expected_count = 0 if tenant == "t" else 1
        checks.equal(members(kit, tenant).count(limit=5), expected_count, f"the rows of {tenant!r} after a delete")


@case("S1", strength=Strength.MULTI_RECORD)
def a_scope_holds_inside_a_transaction_too(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member("t", "a"), Member("u", "b")])
    here = members(kit, "t")

    def change(transaction: Transaction) -> None:
        inside = here.within(transaction)
        checks.equal(inside.scan(limit=5), [Member("t", "a")], "a scan")
        checks.equal(inside.find("b"), None, "another's key")
        checks.raises(ScopeMismatch, "another's record", inside.insert, Member("u", "c"))
        inside.insert(Member("t", "c"))
        checks.equal(inside.count(limit=5), 2, "a count")

    kit.engine.write(change)
    checks.equal(here.scan(limit=5), [Member("t", "a"), Member("t", "c")], "the rows afterwards")


@case("S1")
def logs_of_different_scopes_number_their_entries_apart(kit: Kit) -> None:
    for tenant in ("t", "T", "tt"):
        for number in range(3):
            entry = LOG.append(kit.engine, tenant, make=lambda p, tenant=tenant: Entry(tenant, p, tenant))  # type: ignore[misc]
            checks.equal(entry.position, number + 1, f"a position in the log of {tenant!r}")
    here = ScopedTable(kit.engine, ENTRIES, ("t",))
    checks.equal([e.text for e in here.scan(limit=10)], ["t", "t", "t"], "the entries of one scope")


@case("S2")
def a_record_of_another_scope_is_refused_before_the_engine_is_asked(kit: Kit) -> None:
    here, there = accounts(kit, "t"), members(kit, "t")
    here.insert(Account("t", "a", 1))
    strangers: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (here.insert, (Account("u", "a", 1),), {}),
        (here.insert, (Account("T", "a", 1),), {}),
        (here.ensure, (Account("u", "a", 1),), {}),
        (here.update, (Account("u", "a", 2),), {"expect": 1}),
        (there.insert, (Member("u", "a"),), {}),
        (there.delete, ("a",), {"expect": Member("u", "a")}),
    ]
    for call, args, kwargs in strangers:
        checks.raises(ScopeMismatch, f"{call.__name__} of {args}", call, *args, **kwargs)
    checks.equal(kit.engine.scan(ACCOUNTS, limit=5), [Account("t", "a", 1)], "the accounts")
    # An engine that is closed answers whoever asks it that it is closed.
    kit.close()
    for call, args, kwargs in strangers:
        checks.raises(ScopeMismatch, f"{call.__name__} of {args}, the engine closed", call, *args, **kwargs)
    checks.raises(Closed, "an insert of one's own", here.insert, Account("t", "b", 1))


@case("S2")
def a_scope_s_faults_are_those_of_its_domain(kit: Kit) -> None:
    class Missing(NotFound):
        pass

    class Taken(AlreadyExists):
        pass

    class Stale(VersionMismatch):
        pass

    here = ScopedTable(kit.engine, ACCOUNTS, ("t",), Faults(Missing, Taken, Stale))
    checks.raises(Missing, "get", here.get, "a")
    here.insert(Account("t", "a", 1))
    checks.raises(Taken, "a second insert", here.insert, Account("t", "a", 5))
    checks.raises(Stale, "a stale update", here.update, Account("t", "a", 5), expect=4)
    checks.equal(here.ensure(Account("t", "a", 7)), Account("t", "a", 1), "what ensure found")
    checks.equal(here.ensure(Account("t", "b", 7)), Account("t", "b", 7), "what ensure made")


@case("S3")
def a_scope_that_cannot_be_is_refused_when_the_store_is_opened(kit: Kit) -> None:
    for scope in (("",), (), ("t", "a"), (None,), (1,), ("\0",), ("\ud800",), ("x" * 65,), (True,)):
        checks.raises(
            InvalidArgument, f"the scope {scope!r}", ScopedTable, kit.engine, MEMBERS, scope, naming=["members"]
        )


@case("S3")
def a_scope_needs_no_registration(kit: Kit) -> None:
    for tenant in ("never heard of", "x" * 64, "é" * 32):
        here = members(kit, tenant)
        checks.equal((here.scan(limit=5), here.count(limit=5), here.find("a")), ([], 0, None), "a new scope")
        here.insert(Member(tenant, "a"))
        checks.equal(here.get("a"), Member(tenant, "a"), "its first row")
