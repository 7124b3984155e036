"""Moves that end before their end: one owner at every moment, whoever dies, and refusals that change nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.conformance import SingleRecordEngine
from strongroom.conformance.stopping import Stopped
from strongroom.errors import Conflict, Corrupt, InvalidArgument, Unsupported
from strongroom.records import Schema, Table
from strongroom.routing import Placement, Router, Stage, cancel, copying, move
from strongroom.routing.tables import BEFORE_SWITCH, ROUTES

from .moves import accepted, damage, filled, forget, give_up_at, unsettled, watched
from .rooms import Count, Doomed
from .tenants import (
    IN_HOME,
    MEMBERS,
    SCHEMA,
    Member,
    Rooms,
    contents,
    fill,
    memory_rooms,
    router_over,
)


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
