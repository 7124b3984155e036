"""Moves of a scope: nothing lost, and nobody held up for longer than the switch takes, whoever looks at an old map."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from strongroom.errors import Unavailable
from strongroom.records import AnyTable
from strongroom.routing import Route, Router, Stage, move
from strongroom.routing.tables import FENCES, ROUTES

from .moves import give_up_at, watched
from .rooms import Narrow, Pausing
from .tenants import (
    ACCOUNTS,
    ENTRIES,
    IN_HOME,
    LOG,
    MEMBERS,
    OF_TENANTS,
    SCHEMA,
    SETTINGS,
    SHARDS,
    Entry,
    Member,
    Rooms,
    Setting,
    Shard,
    contents,
    router_over,
)


class TestAMove:
    def test_it_takes_every_row_along_and_leaves_other_scopes_alone(self, router: Router, rooms: Rooms) -> None:
        before, other = contents(router, "t1"), contents(router, "t2")
        route = move(router, "t1", "east", [SCHEMA])
        assert (route.room, route.stage, route.number, route.rows) == ("east", Stage.SETTLED, 1, 20)
        assert contents(router, "t1") == contents(rooms["east"], "t1") == before
        assert contents(router, "t2") == contents(rooms["home"], "t2") == other
        assert not any(contents(rooms["east"], "t2").values())

    def test_its_source_keeps_what_can_t_be_deleted_and_nobody_meets_it(self, router: Router, rooms: Rooms) -> None:
        move(router, "t1", "east", [SCHEMA])
        left = {name: len(rows) for name, rows in contents(rooms["home"], "t1").items()}
        assert left == {"members": 0, "settings": 0, "accounts": 5, "entries": 5}
        for table in OF_TENANTS:
            assert router.count(table, limit=100) == len(router.scan(table, limit=100)) == 10

    def test_it_may_keep_all_of_the_source_s_rows(self, router: Router, rooms: Rooms) -> None:
        before = contents(router, "t1")
        move(router, "t1", "east", [SCHEMA], keep=True)
        router.delete(MEMBERS, "t1", "m1")
        assert contents(rooms["home"], "t1") == before
        assert [member.name for member in router.scan(MEMBERS, "t1", limit=9)] == ["m0", "m2", "m3", "m4"]
        assert router.count(MEMBERS, limit=100) == 9

    def test_a_router_with_an_old_map_finds_its_way(self, router: Router, rooms: Rooms) -> None:
        old = {how: router_over(rooms, IN_HOME) for how in ("get", "scan", "read", "write", "insert", "count")}
        for other in old.values():
            assert other.get(MEMBERS, "t1", "m1") is not None
        move(router, "t1", "east", [SCHEMA])
        router.delete(MEMBERS, "t1", "m1")
        assert old["get"].get(MEMBERS, "t1", "m1") is None
        assert len(old["scan"].scan(MEMBERS, "t1", limit=9)) == 4
        assert old["count"].count(MEMBERS, "t1", limit=9) == 4
        assert old["read"].read(lambda reader: reader.get(MEMBERS, "t1", "m1")) is None
        assert old["write"].write(lambda transaction: transaction.delete(MEMBERS, "t1", "m2"))
        old["insert"].insert(MEMBERS, Member("t1", "new"))
        assert {member.name for member in rooms["east"].scan(MEMBERS, "t1", limit=9)} == {"m0", "m3", "m4", "new"}

    def test_there_and_back_again_and_on_is_three_moves(self, router: Router, rooms: Rooms) -> None:
        stale = [router_over(rooms, IN_HOME) for _ in range(4)]
        for number, (to, old) in enumerate(zip(("east", "home", "west", "east"), stale, strict=True), 1):
            assert old.get(MEMBERS, "t1", "m0") is not None  # the map that this one remembers is of now
            before = contents(router, "t1")
            assert move(router, "t1", to, [SCHEMA]).number == number
            assert contents(router, "t1") == before
            LOG.append(router, "t1", make=lambda position: Entry("t1", position, f"in room {position}"))
            account = router.get(ACCOUNTS, "t1", "a0")
            assert account is not None
            router.update(ACCOUNTS, account.replace(version=account.version + 1, balance=number), expect=account)
            router.delete(MEMBERS, "t1", f"m{number}")
            router.put(SETTINGS, Setting("t1", "s0", number))
        for old in stale:
            assert contents(old, "t1") == contents(router, "t1")
        assert [entry.text for entry in LOG.read(router, "t1", after=5, limit=9)] == [
            f"in room {n}" for n in (6, 7, 8, 9)
        ]

    def test_a_row_that_was_deleted_and_made_anew_comes_along_as_the_new_one(self, router: Router) -> None:
        def change() -> None:
            router.delete(MEMBERS, "t1", "m1")
            router.insert(MEMBERS, Member("t1", "m1", "anew"))
            router.delete(MEMBERS, "t1", "m2")

        moved: list[str] = []

        def watch(stage: Stage, table: str, _rows: int) -> None:
            if stage is Stage.PLANNED and table == ENTRIES.name and not moved:
                moved.append(table)  # behind the first copy of the members
                change()

        move(router, "t1", "east", [SCHEMA], watch=watch)
        assert moved
        found = {member.name: member.note for member in router.scan(MEMBERS, "t1", limit=9)}
        assert found == {"m0": "of t1", "m1": "anew", "m3": "of t1", "m4": "of t1"}

    def test_a_scope_without_rows_moves_too(self, router: Router, rooms: Rooms) -> None:
        assert move(router, "nobody", "east", [SCHEMA]).rows == 0
        router.insert(MEMBERS, Member("nobody", "a"))
        assert rooms["east"].count(MEMBERS, "nobody", limit=5) == 1

    def test_a_scope_that_is_a_number_moves_under_its_digits(self, router: Router, rooms: Rooms) -> None:
        router.insert(SHARDS, Shard(7, "a"))
        router.insert(MEMBERS, Member("7", "a"))
        assert move(router, "7", "east", [SCHEMA]).rows == 2
        assert rooms["east"].count(SHARDS, 7, limit=5) == rooms["east"].count(MEMBERS, "7", limit=5) == 1

    def test_to_where_it_is_is_no_move(self, router: Router) -> None:
        assert move(router, "t1", "home", [SCHEMA]).number == 0
        assert router.home.scan(ROUTES, limit=9) == []
        settled = move(router, "t1", "east", [SCHEMA])
        assert move(router, "t1", "east", [SCHEMA]) == settled

    def test_cursors_of_the_scope_stay_valid(self, router: Router) -> None:
        page = LOG.page(router, "t1", limit=2)
        move(router, "t1", "east", [SCHEMA])
        assert [entry.position for entry in LOG.page(router, "t1", cursor=page.cursor, limit=9).entries] == [3, 4, 5]

    def test_the_time_of_the_scope_goes_on_from_that_of_its_former_room(
        self, router: Router, rooms: Rooms, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(type(rooms["home"]), "now", lambda room: 2**60 if room is rooms["home"] else 5)
        move(router, "t1", "east", [SCHEMA])
        other = router_over(rooms, IN_HOME)
        assert other.write(lambda t: (t.get(MEMBERS, "t1", "m0"), t.now())[1]) >= 2**60

    def test_rows_are_copied_in_as_small_pages_as_the_target_takes(
        self, router: Router, rooms: Rooms, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        narrow = Narrow(rooms["east"], 3)
        mover = router_over({**rooms, "east": narrow}, IN_HOME)
        before = contents(router, "t1")
        move(mover, "t1", "east", [SCHEMA])
        move(mover, "t1", "home", [SCHEMA])
        assert contents(router, "t1") == before
        assert narrow.refused


class TestWhileItGoesOn:
    def test_reads_and_writes_go_on_before_the_fence(self, router: Router, rooms: Rooms) -> None:
        other = router_over(rooms, IN_HOME, hold_ms=0)
        seen: list[Stage] = []

        def watch(stage: Stage, table: str, rows: int) -> None:
            if stage is Stage.PLANNED and table == "members" and rows:
                other.insert(MEMBERS, Member("t1", "late"))
                seen.append(stage)

        move(router, "t1", "east", [SCHEMA], watch=watch)
        assert seen
        assert router.get(MEMBERS, "t1", "late") is not None

    @pytest.mark.parametrize("stage", [Stage.FENCED, Stage.COPIED, Stage.VERIFIED])
    def test_behind_the_fence_reads_go_on_and_writes_are_held(self, router: Router, rooms: Rooms, stage: Stage) -> None:
        other = router_over(rooms, IN_HOME, hold_ms=0)
        before = contents(router, "t1")
        acted: list[bool] = []

        def act() -> None:
            acted.append(True)
            assert contents(other, "t1") == before
            assert other.read(lambda reader: reader.count(MEMBERS, "t1", limit=9)) == 5
            assert other.count(MEMBERS, limit=100) == 10
            writes: list[Callable[[], None]] = [
                lambda: other.insert(MEMBERS, Member("t1", "late")),
                lambda: other.write(lambda t: t.insert(MEMBERS, Member("t1", "late"))),
            ]
            for write in writes:
                with pytest.raises(Unavailable, match="'t1' is being moved") as held:
                    write()
                assert held.value.retryable
            other.insert(MEMBERS, Member("t2", f"late {stage}"))

        watched(router, "east", act, at=stage)
        assert acted
        assert contents(other, "t1") == before

    def test_a_write_that_was_held_is_made_in_the_new_room(self, router: Router, rooms: Rooms) -> None:
        other = router_over(rooms, IN_HOME)
        inserted = threading.Thread(target=lambda: other.insert(MEMBERS, Member("t1", "late")))

        def begin() -> None:
            inserted.start()
            time.sleep(0.05)

        watched(router, "east", begin, at=Stage.FENCED)
        inserted.join(20)
        assert rooms["east"].get(MEMBERS, "t1", "late") is not None
        assert rooms["home"].get(MEMBERS, "t1", "late") is None

    def test_right_behind_the_switch_the_target_takes_writes_and_the_source_none(
        self, router: Router, rooms: Rooms
    ) -> None:
        old, new = router_over(rooms, IN_HOME, hold_ms=0), router_over(rooms, IN_HOME, hold_ms=0)
        assert old.routes.place("t1").room == "home"

        def act() -> None:
            new.insert(MEMBERS, Member("t1", "from a new map"))
            old.insert(MEMBERS, Member("t1", "from an old map"))
            assert old.count(MEMBERS, "t1", limit=9) == new.count(MEMBERS, "t1", limit=9) == 7

        watched(router, "east", act, at=Stage.SWITCHED)
        assert rooms["east"].count(MEMBERS, "t1", limit=9) == 7
        assert rooms["home"].count(MEMBERS, "t1", limit=9) == 0

    @pytest.mark.parametrize("after", [MEMBERS, FENCES])
    @pytest.mark.parametrize("how", ["a single call", "a function"])
    def test_a_read_behind_the_fence_that_the_switch_overtakes_is_made_again(
        self, router: Router, rooms: Rooms, after: AnyTable, how: str
    ) -> None:
        """What it has seen at the source was true then; it may have been old already by the time it is answered."""
        slow = Pausing(rooms["home"], after)
        reader = router_over({**rooms, "home": slow}, IN_HOME)
        give_up_at(router, Stage.VERIFIED)

        gone: list[Route] = []

        def go_on() -> None:
            gone.append(move(router, "t1", "east", [SCHEMA], keep=True))
            router.delete(MEMBERS, "t1", "m0")

        slow.then = go_on
        if how == "a single call":
            found = reader.get(MEMBERS, "t1", "m0")
        else:
            found = reader.read(lambda snapshot: snapshot.get(MEMBERS, "t1", "m0"))
        assert gone
        assert found is None
