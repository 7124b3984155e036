"""A router as an engine: what lives where, what crosses scopes, what is refused, who its rooms are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated

import pytest

import strongroom
from strongroom.conformance import SingleRecordEngine, UnreliableEngine
from strongroom.conformance.harness import Ability
from strongroom.engine import Engine, Strength, Transaction
from strongroom.engine.catalog import EPOCH, FACTS, Fact
from strongroom.errors import CommitUnknown, InvalidArgument, SchemaTooNew, Unsupported
from strongroom.operations import verify
from strongroom.patterns import Subject
from strongroom.records import Identifier, Record, Schema, Table
from strongroom.routing import Placement, Router
from strongroom.routing.tables import FOUNDING, ROUTER

from .rooms import BeforeWriting, Pausing
from .tenants import (
    ACCOUNTS,
    HASHED,
    IN_HOME,
    LOG,
    MEMBERS,
    PLANS,
    SCHEMA,
    SETTINGS,
    SHARDS,
    Account,
    Member,
    Plan,
    Rooms,
    Setting,
    Shard,
    contents,
    fill,
    memory_rooms,
    router_over,
)


class Other(Record):
    name: Annotated[str, Identifier(64)]


TENANTS = [f"t{number}" for number in range(12)]


@pytest.fixture
def rooms() -> Iterator[Rooms]:
    rooms = memory_rooms()
    with contextlib.ExitStack() as closing:
        for room in rooms.values():
            closing.callback(room.close)
        yield rooms


@pytest.fixture
def router(rooms: Rooms) -> Router:
    return router_over(rooms, HASHED)


class TestWhereRowsLive:
    def test_each_scope_lives_whole_in_the_room_that_the_rule_names(self, router: Router) -> None:
        for tenant in TENANTS:
            fill(router, tenant)
        assert {HASHED.room_of(tenant) for tenant in TENANTS} == set(router.rooms)
        for tenant in TENANTS:
            for name, room in router.rooms.items():
                here = contents(room, tenant)
                assert here == contents(router, tenant) if name == HASHED.room_of(tenant) else not any(here.values())

    def test_tables_without_a_scope_live_at_home(self, router: Router) -> None:
        router.insert(PLANS, Plan("t0"))
        router.insert(PLANS, Plan("t1"))
        assert [room.count(PLANS, limit=9) for room in router.rooms.values()] == [2, 0, 0]

    def test_a_scope_that_is_a_number_is_found_under_its_digits(self, rooms: Rooms) -> None:
        router = router_over(rooms, Placement("home", default="home", table={"7": "east", "8": "west"}))
        router.insert(SHARDS, Shard(7, "a"))
        router.insert(SHARDS, Shard(8, "a"))
        router.insert(SHARDS, Shard(-7, "a"))
        found = {name: [shard.number for shard in room.scan(SHARDS, limit=9)] for name, room in rooms.items()}
        assert found == {"home": [-7], "east": [7], "west": [8]}
        assert [shard.number for shard in router.scan(SHARDS, limit=9)] == [-7, 7, 8]

    def test_many_keys_of_many_scopes_come_in_the_order_that_they_were_asked_in(self, router: Router) -> None:
        for tenant in TENANTS:
            router.insert(MEMBERS, Member(tenant, "a", tenant))
        keys = [(tenant, name) for tenant in reversed(TENANTS) for name in ("a", "b")]
        found = router.get_many(MEMBERS, [*keys, keys[0]])
        assert [None if member is None else member.note for member in found] == [
            note for tenant in reversed(TENANTS) for note in (tenant, None)
        ] + [TENANTS[-1]]


class TestFunctions:
    def test_a_function_is_one_transaction_of_its_scope_s_room(self, router: Router) -> None:
        def change(transaction: Transaction) -> int:
            transaction.insert(MEMBERS, Member("t1", "a"))
            transaction.insert(ACCOUNTS, Account("t1", "a"))
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            router.write(change)
        assert not any(contents(router, "t1").values())

    def test_a_function_that_asks_for_nothing_is_run_at_home(self, router: Router) -> None:
        assert router.write(lambda transaction: transaction.abandon("nothing")) == "nothing"
        assert router.read(lambda _reader: 7) == 7
        before = router.now()
        assert router.write(lambda transaction: transaction.now()) >= before

    def test_a_function_that_looks_at_the_time_first_goes_where_its_rows_are(self, router: Router) -> None:
        def change(transaction: Transaction) -> None:
            transaction.put(SETTINGS, Setting("t1", "now", transaction.now()))

        before = router.now()
        router.write(change)
        [setting] = router.rooms[HASHED.room_of("t1")].scan(SETTINGS, "t1", limit=2)
        assert setting.value >= before

    @pytest.mark.parametrize(
        "touch",
        [
            lambda t: t.get(MEMBERS, "t2", "a"),
            lambda t: t.get_many(MEMBERS, [("t1", "a"), ("t2", "a")]),
            lambda t: t.scan(MEMBERS, "t2", limit=1),
            lambda t: t.scan(MEMBERS, limit=1),
            lambda t: t.count(MEMBERS, limit=1),
            lambda t: t.insert(MEMBERS, Member("t2", "a")),
            lambda t: t.update(ACCOUNTS, Account("t2", "a"), expect=1),
            lambda t: t.put(SETTINGS, Setting("t2", "a")),
            lambda t: t.delete(MEMBERS, "t2", "a"),
            lambda t: t.get(PLANS, "a"),
        ],
    )
    @pytest.mark.parametrize("placement", [HASHED, IN_HOME])
    def test_a_second_scope_is_refused_wherever_it_lives(
        self, rooms: Rooms, placement: Placement, touch: Callable[[Transaction], object]
    ) -> None:
        router = router_over(rooms, placement)

        def change(transaction: Transaction) -> None:
            transaction.insert(MEMBERS, Member("t1", "a"))
            touch(transaction)

        with pytest.raises(Unsupported, match="no transaction spans two"):
            router.write(change)
        assert router.count(MEMBERS, limit=9) == 0

    def test_the_refusal_names_both_scopes(self, router: Router) -> None:
        with pytest.raises(Unsupported, match=r"accounts\('t2'\).*members\('t1'\)"):
            router.read(lambda reader: (reader.get(MEMBERS, "t1", "a"), reader.get(ACCOUNTS, "t2", "a")))


class TestWalks:
    @pytest.fixture
    def filled(self, router: Router) -> Router:
        for tenant in TENANTS:
            fill(router, tenant, rows=3)
        return router

    def test_what_crosses_scopes_comes_in_key_order_of_all_rooms(self, filled: Router) -> None:
        expected = sorted((tenant, f"m{number}") for tenant in TENANTS for number in range(3))
        assert [(m.tenant, m.name) for m in filled.scan(MEMBERS, limit=1000)] == expected
        assert [(m.tenant, m.name) for m in filled.scan(MEMBERS, limit=1000, reverse=True)] == expected[::-1]

    @pytest.mark.parametrize("limit", [1, 2, 7, 100])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_pages_put_together_are_the_whole(self, filled: Router, limit: int, reverse: bool) -> None:
        whole = filled.scan(SETTINGS, limit=1000, reverse=reverse)
        pages: list[Setting] = []
        while page := filled.scan(
            SETTINGS, after=(pages[-1].tenant, pages[-1].name) if pages else None, limit=limit, reverse=reverse
        ):
            assert len(page) <= limit
            pages += page
        assert pages == whole
        assert len(whole) == 36

    def test_bounds_hold_across_rooms(self, filled: Router) -> None:
        found = filled.scan(MEMBERS, start=("t1", "m2"), stop=("t11",), limit=100)
        assert [(m.tenant, m.name) for m in found] == [("t1", "m2"), *(("t10", f"m{n}") for n in range(3))]

    def test_a_count_is_of_all_rooms_up_to_its_limit(self, filled: Router) -> None:
        assert filled.count(MEMBERS, limit=1000) == 36
        assert filled.count(MEMBERS, limit=5) == 5

    def test_verify_walks_all_rooms(self, filled: Router) -> None:
        verification = verify(filled, [Subject(SCHEMA, logs=[LOG])])
        assert list(verification) == []
        walked = {table.table: table.rows for table in verification.tables}
        assert walked["members"] == walked["entries"] == 36


class TestClaims:
    def test_they_are_the_weakest_of_the_rooms(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("claims")
        sqlite = [strongroom.open(f"sqlite:///{folder}/{name}.db") for name in "ab"]
        with Router({"home": sqlite[0], "east": sqlite[1]}, Placement("home", default="east")) as router:
            assert router.claims.sharing == sqlite[0].claims.sharing
            assert router.claims.guards_immutable
            assert router.claims.reopens
            assert router.claims.one_scope
        mixed = {"home": strongroom.open("memory://"), "east": strongroom.open(f"sqlite:///{folder}/a.db")}
        with Router(mixed, Placement("home", default="east")) as router:
            assert router.claims.durability == mixed["home"].claims.durability
            assert not router.claims.reopens
        weak = {"home": strongroom.open("memory://"), "east": SingleRecordEngine(strongroom.open("memory://"))}
        with Router(weak, Placement("home", default="east")) as router:
            assert router.claims.strength is Strength.SINGLE_RECORD
            router.prepare(SCHEMA)
            router.insert(MEMBERS, Member("t", "a"))  # without a look at a fence: there is no place for one
            assert router.get(MEMBERS, "t", "a") == Member("t", "a")

    def test_a_commit_that_is_not_known_is_resolved_by_the_room_that_made_it(self, rooms: Rooms) -> None:
        unreliable = {name: UnreliableEngine(room) for name, room in rooms.items()}
        router = router_over(dict(unreliable), Placement("home", default="east"))
        unreliable["east"].fault = Ability.LOST_ANSWER
        calls: list[Callable[[], None]] = [
            lambda: router.insert(MEMBERS, Member("t", "single")),
            lambda: router.write(lambda t: t.insert(MEMBERS, Member("t", "function"))),
        ]
        for call in calls:
            with pytest.raises(CommitUnknown) as unknown:
                call()
            assert unknown.value.token.startswith("east:")
            assert router.resolve(unknown.value.token) is True
        unreliable["home"].fault = Ability.LOST_COMMIT
        with pytest.raises(CommitUnknown) as unknown:
            router.insert(PLANS, Plan("p"))
        assert router.resolve(unknown.value.token) is False
        for token in ("nowhere:1", "1", ""):
            with pytest.raises(InvalidArgument, match="token"):
                router.resolve(token)

    def test_a_commit_unknown_that_a_function_raises_itself_comes_out_as_the_same_object(self, router: Router) -> None:
        own = CommitUnknown("elsewhere", token="of another")

        def change(transaction: Transaction) -> None:
            transaction.get(MEMBERS, "t", "a")
            raise own

        with pytest.raises(CommitUnknown) as out:
            router.write(change)
        assert out.value is own

    def test_time_does_not_go_back_from_room_to_room(self, rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
        router = router_over(rooms, Placement("home", default="east"))
        monkeypatch.setattr(rooms["east"]._store.clock, "_source", lambda: 2**60)  # type: ignore[attr-defined]
        ahead = router.write(lambda transaction: (transaction.get(MEMBERS, "t", "a"), transaction.now())[1])
        assert router.now() >= ahead
        assert router.write(lambda transaction: transaction.now()) >= ahead


class TestFounding:
    def test_a_store_under_another_room_s_name_is_refused(self, router: Router, rooms: Rooms) -> None:
        swapped = {"home": rooms["home"], "east": rooms["west"], "west": rooms["east"]}
        with pytest.raises(InvalidArgument, match="given as the room east is the room west of this router"):
            Router(swapped, HASHED).prepare(SCHEMA)
        with pytest.raises(InvalidArgument, match="is the room west"):
            Router(swapped, HASHED).get(MEMBERS, "t", "a")

    def test_one_store_for_two_rooms_is_refused(self) -> None:
        store = strongroom.open("memory://")
        rooms = {"home": strongroom.open("memory://"), "east": store, "west": store}
        with pytest.raises(InvalidArgument, match="is the room east of this router"):
            Router(rooms, HASHED).prepare(SCHEMA)

    def test_a_store_of_another_router_is_refused(self, router: Router, rooms: Rooms) -> None:
        other = memory_rooms()
        router_over(other, HASHED)
        with pytest.raises(InvalidArgument, match="of another router"):
            Router({**rooms, "east": other["east"]}, HASHED).prepare(SCHEMA)
        with pytest.raises(InvalidArgument, match="belongs to a router with another home"):
            Router({**rooms, "home": strongroom.open("memory://")}, HASHED).prepare(SCHEMA)

    @pytest.mark.parametrize(
        ("placement", "complaint"),
        [
            (Placement("home", hashed=("home", "east")), "founded with hashed home, east, west, not home, east"),
            (Placement("home", default="home"), "founded with hashed home, east, west, not none"),
            (Placement("home", hashed=("home", "east", "west"), movable=False), "movable True, not False"),
            (Placement("home", hashed=("home", "east", "west"), table={"t1": "nowhere"}), "no room nowhere"),
        ],
    )
    def test_another_rule_than_it_was_founded_with_is_refused(
        self, router: Router, rooms: Rooms, placement: Placement, complaint: str
    ) -> None:
        with pytest.raises(InvalidArgument, match=complaint):
            Router(rooms, placement).prepare(SCHEMA)

    def test_a_scope_that_is_placed_where_it_does_not_live_is_refused(self, router: Router, rooms: Rooms) -> None:
        here = HASHED.room_of("t1")
        elsewhere = next(name for name in rooms if name != here)
        with pytest.raises(InvalidArgument, match=f"placed in {elsewhere}, and lives in {here}"):
            Router(rooms, Placement("home", hashed=HASHED.hashed, table={"t1": elsewhere})).prepare(SCHEMA)
        Router(rooms, Placement("home", hashed=HASHED.hashed, table={"t1": here})).prepare(SCHEMA)

    def test_a_router_keeps_to_the_table_that_it_was_founded_with(self, rooms: Rooms) -> None:
        router_over(rooms, Placement("home", default="home", table={"t1": "east"})).insert(MEMBERS, Member("t1", "a"))
        forgetful = Router(rooms, Placement("home", default="home"))
        assert forgetful.get(MEMBERS, "t1", "a") == Member("t1", "a")

    def test_a_room_may_join_and_is_found_by_nothing_yet(self, router: Router, rooms: Rooms) -> None:
        fill(router, "t1")
        joined = router_over({**rooms, "south": strongroom.open("memory://")}, HASHED)
        assert contents(joined, "t1") == contents(router, "t1")
        assert joined.epoch == router.epoch

    def test_a_room_that_has_not_joined_is_told_from_one_that_has(self, router: Router, rooms: Rooms) -> None:
        late = Router({**rooms, "south": strongroom.open("memory://")}, HASHED)
        with pytest.raises(InvalidArgument):
            late.get(MEMBERS, "t1", "a")

    def test_no_room_is_touched_where_one_was_written_by_newer_code(self, rooms: Rooms) -> None:
        newer = Schema("tenants", *SCHEMA.tables, Table("later", Other, key=("name",), since=2))
        rooms["west"].prepare(newer)
        before = {name: room.tables() for name, room in rooms.items()}
        with pytest.raises(SchemaTooNew):
            Router(rooms, HASHED).prepare(SCHEMA)
        assert {name: room.tables() for name, room in rooms.items()} == before

    def test_a_schema_with_tables_of_the_router_s_names_is_refused(self, router: Router) -> None:
        with pytest.raises(InvalidArgument, match="router_routes"):
            router.prepare(Schema("other", Table("router_routes", Other, key=("name",))))

    def test_the_restore_of_any_room_begins_a_new_epoch(self, router: Router, rooms: Rooms) -> None:
        epochs = [router.epoch]
        for name in rooms:
            rooms[name].put(FACTS, Fact(EPOCH, f"{len(epochs):016}"))
            epochs += [router_over(rooms, HASHED).epoch, router_over(rooms, HASHED).epoch]
        assert epochs[1::2] == epochs[2::2]
        assert len(set(epochs)) == 4

    @pytest.mark.parametrize("moment", ["behind the look", "before the write"])
    def test_founding_by_several_at_once_founds_one_router(self, rooms: Rooms, moment: str) -> None:
        founded: list[Router] = []

        def rival() -> None:
            founded.append(router_over(rooms, HASHED))
            founded[0].insert(MEMBERS, Member("t1", "a"))

        for room in rooms.values():
            room.prepare(ROUTER)
            room.prepare(SCHEMA)
        slow = Pausing(rooms["home"], FOUNDING) if moment == "behind the look" else BeforeWriting(rooms["home"])
        slow.then = rival
        late = router_over({**rooms, "home": slow}, HASHED)
        assert founded
        assert late.get(MEMBERS, "t1", "a") == Member("t1", "a")
        assert late.epoch == founded[0].epoch


def test_a_router_closes_its_rooms_with_itself() -> None:
    rooms: dict[str, Engine] = memory_rooms()
    with router_over(rooms, HASHED):
        pass
    for room in rooms.values():
        with pytest.raises(strongroom.Closed):
            room.tables()


def test_a_room_that_the_placement_names_must_be_given() -> None:
    with pytest.raises(InvalidArgument, match="no room east, west; there are home"):
        Router({"home": strongroom.open("memory://")}, HASHED)
