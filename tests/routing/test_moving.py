"""Moves of a scope: one owner at every moment, nothing lost, whoever dies or looks at an old map."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import strongroom
from strongroom.conformance import SingleRecordEngine
from strongroom.conformance.stopping import Stopped
from strongroom.engine import Engine
from strongroom.errors import Conflict, Corrupt, InvalidArgument, Unavailable, Unsupported
from strongroom.records import AnyTable, Schema, Table
from strongroom.routing import Placement, Route, Router, Stage, cancel, copying, move
from strongroom.routing.tables import BEFORE_SWITCH, FENCES, ROUTES

from .rooms import Count, Doomed, Narrow, Pausing
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
    fill,
    memory_rooms,
    router_over,
)


@pytest.fixture(params=["memory", "sqlite"])
def rooms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    if request.param == "memory":
        rooms = memory_rooms()
    else:
        folder = tmp_path_factory.mktemp("rooms")
        rooms = {
            name: strongroom.open(f"sqlite:///{folder}/{name}.db?synchronous=normal")
            for name in ("home", "east", "west")
        }
    yield rooms
    for room in rooms.values():
        room.close()


@pytest.fixture
def router(rooms: Rooms) -> Router:
    """A router with two filled tenants, both at home."""
    router = router_over(rooms, IN_HOME)
    fill(router, "t1")
    fill(router, "t2")
    return router


def watched(router: Router, to: str, act: Callable[[], object], *, at: Stage) -> Route:
    """Move t1, and do something when the move has reached a stage."""

    def watch(stage: Stage, table: str, _rows: int) -> None:
        if stage is at and not table:
            act()

    return move(router, "t1", to, [SCHEMA], watch=watch)


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


class TestWhoeverDies:
    def test_after_any_write_the_scope_has_one_owner_and_the_move_can_be_ended(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(copying, "PAGE", 2)
        number = 0
        seen: set[Stage] = set()
        while True:
            number += 1
            rooms = memory_rooms()
            before, old = filled(rooms)
            shared = Count()
            doomed = router_over({name: Doomed(room, shared) for name, room in rooms.items()}, IN_HOME)
            shared.stop_at = shared.writes + number
            try:
                move(doomed, "t1", "east", [SCHEMA])
            except Stopped:
                pass
            else:
                break
            route = rooms["home"].get(ROUTES, "t1")
            seen.add(Stage.SETTLED if route is None else route.stage)
            new = router_over(rooms, IN_HOME, hold_ms=0)
            assert contents(old, "t1") == contents(new, "t1") == before, f"after write {number}"
            extra = accepted([old, new], number)
            owner = new.routes.look_up("t1").room
            assert owner == ("home" if route is None or route.stage in BEFORE_SWITCH else "east")
            assert rooms[owner].count(MEMBERS, "t1", limit=99) == 5 + extra
            after = contents(new, "t1")
            assert contents(old, "t1") == after
            assert move(new, "t1", "east", [SCHEMA]).stage is Stage.SETTLED
            assert contents(old, "t1") == contents(new, "t1") == contents(rooms["east"], "t1") == after
            assert new.count(MEMBERS, limit=99) == 10 + extra
        assert number > 20
        assert seen == set(Stage) - {Stage.CANCELLED}

    def test_a_move_that_dies_after_every_single_write_gets_through(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(copying, "PAGE", 2)
        rooms = memory_rooms()
        before, old = filled(rooms)
        lives = 0
        while lives < 200:
            lives += 1
            shared = Count(stop_at=1)
            doomed = Router({name: Doomed(room, shared) for name, room in rooms.items()}, IN_HOME)
            try:
                move(doomed, "t1", "east", [SCHEMA])
            except Stopped:
                continue
            break
        assert 20 < lives < 200
        assert contents(old, "t1") == contents(rooms["east"], "t1") == before

    def test_a_cancelled_move_may_die_anywhere_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(copying, "PAGE", 2)
        for reached in BEFORE_SWITCH:
            number = 0
            while True:
                number += 1
                rooms = memory_rooms()
                before, old = filled(rooms)
                give_up_at(router_over(rooms, IN_HOME), reached)
                shared = Count()
                doomed = router_over({name: Doomed(room, shared) for name, room in rooms.items()}, IN_HOME)
                shared.stop_at = shared.writes + number
                try:
                    cancel(doomed, "t1", [SCHEMA])
                    died = False
                except Stopped:
                    died = True
                new = router_over(rooms, IN_HOME, hold_ms=0)
                assert contents(old, "t1") == contents(new, "t1") == before
                if died:
                    accepted([old, new], number)
                    after = contents(new, "t1")
                    route = cancel(new, "t1", [SCHEMA]) if unsettled(rooms) else rooms["home"].get(ROUTES, "t1")
                    assert route is not None
                    assert (route.room, route.stage) == ("home", Stage.SETTLED)
                    assert contents(new, "t1") == contents(old, "t1") == after
                assert accepted([old, new], 100 + number) == 2
                assert contents(rooms["east"], "t1")["members"] == []
                assert move(new, "t1", "east", [SCHEMA]).stage is Stage.SETTLED
                assert contents(old, "t1") == contents(rooms["east"], "t1")
                if not died:
                    break
            assert number > 3

    @pytest.mark.parametrize("stage", [*BEFORE_SWITCH, Stage.SWITCHED])
    def test_a_mover_that_was_taken_for_dead_does_no_harm(self, router: Router, rooms: Rooms, stage: Stage) -> None:
        """It wakes when another one has ended its move, and the scope has come back and gone on since."""
        second = router_over(rooms, IN_HOME)

        acted: list[Stage] = []

        def watch(at: Stage, _table: str, _rows: int) -> None:
            if at is stage and not acted:
                acted.append(at)
                move(second, "t1", "east", [SCHEMA])
                second.insert(MEMBERS, Member("t1", "in the east"))
                move(second, "t1", "home", [SCHEMA])
                second.insert(MEMBERS, Member("t1", "back at home"))

        with pytest.raises(Conflict, match="somebody else"):
            move(router, "t1", "east", [SCHEMA], watch=watch)
        assert acted
        names = {member.name for member in second.scan(MEMBERS, "t1", limit=99)}
        assert {"in the east", "back at home"} < names
        second.insert(MEMBERS, Member("t1", "afterwards"))
        assert contents(router_over(rooms, IN_HOME), "t1") == contents(second, "t1") == contents(rooms["home"], "t1")


class TestRefusals:
    def test_a_room_that_there_is_not(self, router: Router) -> None:
        with pytest.raises(InvalidArgument, match="no room 'nowhere'; there are east, home, west"):
            move(router, "t1", "nowhere", [SCHEMA])

    def test_a_room_of_single_record_transactions(self, rooms: Rooms) -> None:
        router = router_over({**rooms, "east": SingleRecordEngine(rooms["east"])}, IN_HOME)
        with pytest.raises(Unsupported, match="the room east needs multi-record"):
            move(router, "t1", "east", [SCHEMA])

    def test_a_router_that_was_founded_without_moves(self, rooms: Rooms) -> None:
        router = router_over(rooms, Placement("home", default="home", movable=False))
        fill(router, "t1")
        with pytest.raises(Unsupported, match="movable = false"):
            move(router, "t1", "east", [SCHEMA])

    def test_tables_that_the_mover_does_not_know(self, router: Router) -> None:
        router.prepare(Schema("more", Table("more", Member, key=("tenant", "name"), scope=1)))
        with pytest.raises(Unsupported, match="no known schema, which would be left behind: more"):
            move(router, "t1", "east", [SCHEMA])

    def test_a_schema_that_the_rooms_lack(self, router: Router) -> None:
        more = Schema("more", Table("more", Member, key=("tenant", "name"), scope=1))
        with pytest.raises(InvalidArgument, match="not prepared for more"):
            move(router, "t1", "east", [SCHEMA, more])

    def test_a_target_with_rows_from_elsewhere(self, router: Router, rooms: Rooms) -> None:
        rooms["east"].insert(MEMBERS, Member("t1", "stray"))
        with pytest.raises(InvalidArgument, match="rows of the scope 't1' that no move has brought there"):
            move(router, "t1", "east", [SCHEMA])
        router.insert(MEMBERS, Member("t1", "late"))

    def test_another_target_while_a_move_is_under_way(self, router: Router) -> None:
        give_up_at(router, Stage.COPIED)
        with pytest.raises(InvalidArgument, match="is being moved to east"):
            move(router, "t1", "west", [SCHEMA])
        cancel(router, "t1", [SCHEMA])
        assert move(router, "t1", "west", [SCHEMA]).room == "west"

    def test_a_cancel_where_nothing_is_before_its_switch(self, router: Router) -> None:
        with pytest.raises(InvalidArgument, match="none is before its switch"):
            cancel(router, "t1", [SCHEMA])
        give_up_at(router, Stage.SWITCHED)
        with pytest.raises(InvalidArgument, match="none is before its switch"):
            cancel(router, "t1", [SCHEMA])

    def test_a_damaged_row_of_the_source(self, router: Router, rooms: Rooms) -> None:
        damage(rooms["home"], "m3")
        with pytest.raises(Corrupt, match="members"):
            move(router, "t1", "east", [SCHEMA])
        router.insert(MEMBERS, Member("t1", "the source goes on"))

    def test_a_copy_with_another_digest(self, router: Router, rooms: Rooms) -> None:
        with pytest.raises(Corrupt, match=r"members.*'t1' has another digest"):
            watched(router, "east", lambda: rooms["east"].delete(MEMBERS, "t1", "m3"), at=Stage.COPIED)
        route = rooms["home"].get(ROUTES, "t1")
        assert route is not None
        assert (route.room, route.stage) == ("home", Stage.COPIED)
        cancel(router, "t1", [SCHEMA])
        assert move(router, "t1", "east", [SCHEMA]).rows == 20

    def test_a_home_room_that_was_put_back_to_before_a_move(self, router: Router, rooms: Rooms) -> None:
        move(router, "t1", "east", [SCHEMA])
        assert router.get(MEMBERS, "t1", "m1") is not None
        forget(rooms["home"], "t1")
        late = router_over(rooms, IN_HOME)
        calls: list[Callable[[], object]] = [
            lambda: late.get(MEMBERS, "t1", "m1"),
            lambda: late.insert(MEMBERS, Member("t1", "new")),
            lambda: router.routes.look_up("t1"),
        ]
        for call in calls:
            with pytest.raises(Corrupt, match="put back to an older state"):
                call()


def filled(rooms: Rooms) -> tuple[dict[str, Any], Router]:
    """Two tenants at home; what t1 has, and a router that has looked at it."""
    old = router_over(rooms, IN_HOME, hold_ms=0)
    fill(old, "t1")
    fill(old, "t2")
    return contents(old, "t1"), old


def accepted(routers: list[Router], number: int) -> int:
    """Have each router try to write to t1; how many were let."""
    count = 0
    for index, router in enumerate(routers):
        try:
            router.insert(MEMBERS, Member("t1", f"x{number} {index}"))
            count += 1
        except Unavailable:
            pass
    assert count in (0, len(routers))
    return count


def give_up_at(router: Router, stage: Stage) -> None:
    """Begin a move of t1 to the east, and die when it has reached a stage."""

    def watch(at: Stage, table: str, _rows: int) -> None:
        if at is stage and (not table or stage is Stage.PLANNED):
            raise Stopped("dead")

    with pytest.raises(Stopped):
        move(router, "t1", "east", [SCHEMA], watch=watch)


def unsettled(rooms: Rooms) -> bool:
    route = rooms["home"].get(ROUTES, "t1")
    return route is not None and route.stage is not Stage.SETTLED


def damage(room: Engine, name: str) -> None:
    """Put another note into a member's row, past its seal."""

    def change(rows: Any) -> None:
        row = rows.fetch(MEMBERS, ("t1", name))
        rows.remove(MEMBERS, ("t1", name), None)
        rows.insert(MEMBERS, ("t1", name), (*row[:2], "forged", *row[3:]))

    room._write(change, lambda: False)


def forget(room: Engine, scope: str) -> None:
    """Put the route of a scope back to what it was before its first move."""
    route = room.get(ROUTES, scope)
    assert route is not None
    room.update(ROUTES, route.replace(room="home", number=0, stage=Stage.SETTLED), expect=route)
