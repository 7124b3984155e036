"""The patterns, on every room that the suite has: L1-L3, R4, R5, S1-S3, and mappings that agree with what they list."""

from __future__ import annotations

import threading
from typing import Annotated

import pytest

from strongroom.engine import Engine, Strength
from strongroom.engine.catalog import EPOCH, FACTS, Fact
from strongroom.errors import (
    AlreadyExists,
    Corrupt,
    CursorExpired,
    InvalidArgument,
    NotFound,
    ScopeMismatch,
    Unsupported,
    VersionMismatch,
)
from strongroom.patterns import Faults, Log, ScopedTable, make_cursor, read_cursor
from strongroom.records import MEMBERSHIP, Identifier, Record, Table, desc
from tests.patterns.ledger import (
    ACCOUNTS,
    BY_OPENING,
    ENTRIES,
    LEDGER,
    LOG,
    NEWEST_FIRST,
    OWNERS,
    Account,
    ByOpening,
    Entry,
    Slot,
)


class Missing(NotFound):
    """A domain's own."""


class Taken(AlreadyExists):
    """A domain's own."""


class Stale(VersionMismatch):
    """A domain's own."""


@pytest.fixture
def ledger(room: Engine) -> Engine:
    room.prepare(LEDGER)
    return room


def accounts(engine: Engine, tenant: str = "t") -> ScopedTable[Account]:
    return ScopedTable(engine, ACCOUNTS, (tenant,), Faults(Missing, Taken, Stale))


def append(engine: Engine, text: str, tenant: str = "t") -> Entry:
    return LOG.append(engine, tenant, make=lambda position: Entry(tenant, position, text))


class TestScopedTables:
    def test_a_domains_faults_are_its_own(self, ledger: Engine) -> None:
        own = accounts(ledger)
        with pytest.raises(Missing):
            own.get("a")
        own.insert(Account("t", "a"))
        with pytest.raises(Taken):
            own.insert(Account("t", "a"))
        with pytest.raises(Stale) as caught:
            own.update(Account("t", "a", version=3), expect=2)
        assert caught.value.retryable

    def test_nothing_outside_the_scope_is_seen_or_counted(self, ledger: Engine) -> None:
        accounts(ledger, "other").insert(Account("other", "a"))
        own = accounts(ledger)
        assert own.find("a") is None
        assert own.scan(limit=9) == []
        assert own.count(limit=9) == 0
        assert own.get_many([("a",)]) == [None]

    def test_a_record_of_another_scope_is_refused_whatever_is_done_with_it(self, ledger: Engine) -> None:
        own = accounts(ledger)
        foreign = Account("other", "a")
        for attempt in (
            lambda: own.insert(foreign),
            lambda: own.update(foreign, expect=1),
            lambda: own.ensure(foreign),
        ):
            with pytest.raises(ScopeMismatch):
                attempt()
        with pytest.raises(ScopeMismatch):
            ScopedTable(ledger, OWNERS.table, ("t",)).delete(1, expect=Slot("other", 1, "x"))

    def test_a_scope_that_is_sensitive_is_not_shown(self, ledger: Engine) -> None:
        class Note(Record):
            tenant: Annotated[str, Identifier(64, sensitive=True)]
            name: Annotated[str, Identifier(64)]

        notes = ScopedTable(ledger, Table("notes", Note, key=("tenant", "name"), scope=1), ("hunter2",))
        with pytest.raises(ScopeMismatch) as caught:
            notes.insert(Note("hunter3", "a"))
        assert "hunter" not in str(caught.value)

    @pytest.mark.parametrize("scope", [(), ("",), ("t", "u"), (7,), ("a\0",)])
    def test_a_scope_that_cannot_be_is_refused_when_the_store_is_opened(
        self, ledger: Engine, scope: tuple[object, ...]
    ) -> None:
        with pytest.raises(InvalidArgument):
            ScopedTable(ledger, ACCOUNTS, scope)

    def test_ensure_answers_the_record_that_was_there_first(self, ledger: Engine) -> None:
        own = accounts(ledger)
        assert own.ensure(Account("t", "a", 5)) == Account("t", "a", 5)
        assert own.ensure(Account("t", "a", 6)) == Account("t", "a", 5)

    def test_a_view_inside_a_transaction_is_the_same_view(self, ledger: Engine) -> None:
        own = accounts(ledger)
        ledger.write(lambda tx: own.within(tx).insert(Account("t", "a")))
        assert own.get("a") == Account("t", "a")


class TestLogs:
    def test_positions_are_dense_from_one_in_each_stream_for_itself(self, ledger: Engine) -> None:
        assert [append(ledger, "x").position for _ in range(3)] == [1, 2, 3]
        assert append(ledger, "y", "other").position == 1
        assert (LOG.head(ledger, "t"), LOG.head(ledger, "other"), LOG.head(ledger, "none")) == (3, 1, 0)

    def test_pages_follow_each_other_without_skip_or_repeat(self, ledger: Engine) -> None:
        page = LOG.page(ledger, "t", limit=2)
        assert page.entries == []
        for n in range(5):
            append(ledger, f"e{n}")
        seen: list[str] = []
        cursor: str | None = page.cursor
        for _ in range(4):
            page = LOG.page(ledger, "t", cursor=cursor, limit=2)
            seen += [entry.text for entry in page.entries]
            cursor = page.cursor
        assert seen == [f"e{n}" for n in range(5)]
        append(ledger, "late")
        assert [entry.text for entry in LOG.page(ledger, "t", cursor=cursor, limit=2).entries] == ["late"]

    def test_a_missing_position_is_corrupt_and_named(self, ledger: Engine) -> None:
        ledger.insert(ENTRIES, Entry("t", 1, "a"))
        ledger.insert(ENTRIES, Entry("t", 3, "c"))
        with pytest.raises(Corrupt, match="'t', 2") as caught:
            LOG.read(ledger, "t", limit=9)
        assert caught.value.key == ("t", 2)

    def test_rivals_never_share_or_skip_a_position(self, ledger: Engine) -> None:
        threads = [
            threading.Thread(target=lambda n=n: [append(ledger, f"{n}-{i}") for i in range(10)]) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        entries = LOG.read(ledger, "t", limit=100)
        assert [entry.position for entry in entries] == list(range(1, 41))
        for n in range(4):
            assert [e.text for e in entries if e.text.startswith(f"{n}-")] == [f"{n}-{i}" for i in range(10)]

    def test_an_append_inside_a_transaction_that_fails_leaves_no_gap(self, ledger: Engine) -> None:
        def fail(tx: object) -> None:
            LOG.append_in(tx, "t", make=lambda position: Entry("t", position, "lost"))  # type: ignore[arg-type]
            raise RuntimeError

        append(ledger, "a")
        # It takes two operations: an engine of single-record strength refuses the second.
        multi = ledger.claims.strength >= Strength.MULTI_RECORD
        with pytest.raises(RuntimeError if multi else Unsupported):
            ledger.write(fail)
        assert append(ledger, "b").position == 2

    def test_an_entry_made_for_another_place_is_refused(self, ledger: Engine) -> None:
        with pytest.raises(InvalidArgument):
            LOG.append(ledger, "t", make=lambda position: Entry("t", position + 1, "x"))
        with pytest.raises(InvalidArgument):
            LOG.append(ledger, "t", make=lambda position: Entry("other", position, "x"))
        assert LOG.head(ledger, "t") == 0

    @pytest.mark.parametrize("after", [-1, True, "1"])
    def test_a_position_that_cannot_be_is_refused(self, ledger: Engine, after: int) -> None:
        with pytest.raises(InvalidArgument):
            LOG.read(ledger, "t", after=after, limit=1)

    def test_a_table_that_can_change_or_has_no_position_keeps_no_log(self) -> None:
        for table in (
            Table("x", Slot, key=("tenant", "number"), changes=MEMBERSHIP),
            Table("x", Slot, key=("tenant", desc("number"))),
            Table("x", Slot, key=("tenant",)),
        ):
            with pytest.raises(TypeError):
                Log(table)


class TestCursors:
    def test_a_cursor_leads_back_to_where_it_stood(self) -> None:
        text = make_cursor("e", BY_OPENING, ("t",), (5, "é<&> "))
        assert read_cursor(text, "e", BY_OPENING, ("t",), fixed=1) == (5, "é<&> ")

    @pytest.mark.parametrize(
        "spoil", [lambda t: "", lambda t: t[:-1], lambda t: t[1:], lambda t: t + "A", lambda t: "é"]
    )
    def test_a_text_that_is_no_cursor_is_refused(self, spoil: object) -> None:
        text = make_cursor("e", BY_OPENING, ("t",), (5, "a"))
        with pytest.raises(InvalidArgument, match="not a cursor"):
            read_cursor(spoil(text), "e", BY_OPENING, ("t",), fixed=1)  # type: ignore[operator]

    def test_every_single_character_of_a_cursor_counts(self) -> None:
        text = make_cursor("e", BY_OPENING, ("t",), (5, "a"))
        for i, letter in enumerate(text[:-1]):
            other = "A" if letter != "A" else "B"
            with pytest.raises(InvalidArgument):
                read_cursor(text[:i] + other + text[i + 1 :], "e", BY_OPENING, ("t",), fixed=1)

    def test_a_cursor_of_another_listing_is_refused(self) -> None:
        text = make_cursor("e", BY_OPENING, ("t",), (5, "a"))
        with pytest.raises(InvalidArgument, match="another listing"):
            read_cursor(text, "e", BY_OPENING, ("u",), fixed=1)
        with pytest.raises(InvalidArgument, match="another listing"):
            read_cursor(text, "e", ACCOUNTS, ("t",), fixed=1)

    def test_a_half_set_cursor_is_refused(self) -> None:
        with pytest.raises(InvalidArgument):
            read_cursor(make_cursor("e", BY_OPENING, ("t",), (5,)), "e", BY_OPENING, ("t",), fixed=1)

    def test_a_cursor_from_before_a_restore_fails_loudly(self, ledger: Engine) -> None:
        append(ledger, "a")
        cursor = LOG.page(ledger, "t", limit=1).cursor
        ledger.put(FACTS, Fact(EPOCH, "0123456789abcdef"))
        ledger._epoch = None
        with pytest.raises(CursorExpired):
            LOG.page(ledger, "t", cursor=cursor, limit=1)


class TestMappings:
    def test_records_are_listed_in_the_mappings_order(self, ledger: Engine) -> None:
        for name, opened_at in [("a", 1), ("b", 3), ("c", 3), ("d", 2)]:
            ledger.insert(ACCOUNTS, Account("t", name, opened_at))
            assert NEWEST_FIRST.ensure(ledger, ByOpening("t", opened_at, name))
        assert [a.name for a in NEWEST_FIRST.scan(ledger, "t", limit=9)] == ["b", "c", "d", "a"]
        assert [a.name for a in NEWEST_FIRST.scan(ledger, "t", after=(3, "b"), limit=2)] == ["c", "d"]

    def test_a_repeated_entry_is_absorbed(self, ledger: Engine) -> None:
        assert NEWEST_FIRST.ensure(ledger, ByOpening("t", 1, "a"))
        assert not NEWEST_FIRST.ensure(ledger, ByOpening("t", 1, "a"))

    @pytest.mark.parametrize("stored", [None, Account("t", "a", 2)])
    def test_an_entry_that_disagrees_with_its_record_is_corrupt_and_no_page_comes_out(
        self, ledger: Engine, stored: Account | None
    ) -> None:
        if stored is not None:
            ledger.insert(ACCOUNTS, stored)
        NEWEST_FIRST.ensure(ledger, ByOpening("t", 1, "a"))
        with pytest.raises(Corrupt, match="accounts_by_opening") as caught:
            NEWEST_FIRST.scan(ledger, "t", limit=9)
        assert caught.value.key == ("t", 1, "a")

    def test_the_first_to_claim_owns_until_it_releases(self, ledger: Engine) -> None:
        assert OWNERS.claim(ledger, Slot("t", 0, "first")).owner == "first"
        assert OWNERS.claim(ledger, Slot("t", 0, "second")).owner == "first"
        assert not OWNERS.release(ledger, Slot("t", 0, "second"))
        assert OWNERS.release(ledger, Slot("t", 0, "first"))
        assert not OWNERS.release(ledger, Slot("t", 0, "first"))
        assert OWNERS.claim(ledger, Slot("t", 0, "second")).owner == "second"
