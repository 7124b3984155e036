"""The router's mutants, each noticed: by the kit, or, where the kit does not go, by the test here that is about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from strongroom.conformance.mutants.hunt import hunt
from strongroom.conformance.mutants.registry import Ground, all_mutants, find
from strongroom.errors import StrongroomError
from strongroom.routing import Stage

# As modules: their tests are not to be collected here once more.
from . import test_failed_moves as failed
from . import test_moving as moving
from . import test_placement as placement
from . import test_router as routing
from .tenants import HASHED, IN_HOME, MEMBERS, Rooms, fill, memory_rooms, router_over

Router = Any
Test = Callable[[Router, Rooms], object]

NOTICED: Final[dict[str, Test]] = {
    "router-hash-ignores-the-scope": lambda _router, _rooms: placement.test_hashing_gives_every_room_about_its_share(),
    "router-functions-may-cross-scopes": lambda _router, _rooms: over_new_rooms(
        lambda rooms: routing.TestFunctions().test_a_second_scope_is_refused_wherever_it_lives(
            rooms, IN_HOME, lambda transaction: transaction.get(MEMBERS, "t2", "a")
        )
    ),
    "router-token-does-not-name-its-room": lambda _router, _rooms: over_new_rooms(
        routing.TestClaims().test_a_commit_that_is_not_known_is_resolved_by_the_room_that_made_it
    ),
    "router-epoch-is-that-of-its-home": lambda _router, _rooms: over_new_rooms(
        lambda rooms: routing.TestFounding().test_the_restore_of_any_room_begins_a_new_epoch(
            router_over(rooms, HASHED), rooms
        )
    ),
    "router-two-owners-after-a-move": lambda router, rooms: (
        moving.TestAMove().test_a_router_with_an_old_map_finds_its_way(router, rooms)
    ),
    "router-writes-do-not-look-at-the-fence": lambda router, rooms: (
        moving.TestWhileItGoesOn().test_behind_the_fence_reads_go_on_and_writes_are_held(router, rooms, Stage.FENCED)
    ),
    "router-reads-behind-the-fence-are-not-confirmed": lambda router, rooms: (
        moving.TestWhileItGoesOn().test_a_read_behind_the_fence_that_the_switch_overtakes_is_made_again(
            router, rooms, MEMBERS, "a function"
        )
    ),
    "router-rows-left-behind-are-met-again": lambda router, rooms: (
        moving.TestAMove().test_its_source_keeps_what_can_t_be_deleted_and_nobody_meets_it(router, rooms)
    ),
    "router-forgotten-moves-are-not-noticed": lambda router, rooms: (
        failed.TestRefusals().test_a_home_room_that_was_put_back_to_before_a_move(router, rooms)
    ),
    "router-move-without-its-fence": lambda router, rooms: (
        moving.TestWhileItGoesOn().test_behind_the_fence_reads_go_on_and_writes_are_held(router, rooms, Stage.VERIFIED)
    ),
    "router-digests-not-compared": lambda router, rooms: failed.TestRefusals().test_a_copy_with_another_digest(
        router, rooms
    ),
    "router-source-lets-go-before-the-switch": lambda _router, _rooms: after_any_write(),
    "router-source-is-cleared-before-the-switch": lambda _router, _rooms: after_any_write(),
    "router-switch-before-the-copy-is-whole": lambda router, _rooms: (
        moving.TestAMove().test_a_row_that_was_deleted_and_made_anew_comes_along_as_the_new_one(router)
    ),
    "router-switch-is-no-compare-and-set": lambda router, rooms: (
        failed.TestWhoeverDies().test_a_mover_that_was_taken_for_dead_does_no_harm(router, rooms, Stage.VERIFIED)
    ),
    "router-deleted-rows-come-along": lambda router, _rooms: (
        moving.TestAMove().test_a_row_that_was_deleted_and_made_anew_comes_along_as_the_new_one(router)
    ),
    "router-target-may-have-rows-already": lambda router, rooms: (
        failed.TestRefusals().test_a_target_with_rows_from_elsewhere(router, rooms)
    ),
    "router-time-of-a-scope-goes-back": lambda router, rooms: with_patches(
        lambda patch: moving.TestAMove().test_the_time_of_the_scope_goes_on_from_that_of_its_former_room(
            router, rooms, patch
        )
    ),
}
"""By the mutant's name."""

LONG: Final = {"router-source-lets-go-before-the-switch", "router-source-is-cleared-before-the-switch"}
"""What takes no setting up and long: that it passes on the healthy router is shown where it stands."""


def with_patches(test: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        test(patch)


def after_any_write() -> None:
    with_patches(failed.TestWhoeverDies().test_after_any_write_the_scope_has_one_owner_and_the_move_can_be_ended)


def over_new_rooms(test: Callable[[Rooms], None]) -> None:
    with new_rooms() as rooms:
        test(rooms)


@contextmanager
def new_rooms() -> Iterator[Rooms]:
    with ExitStack() as closing:
        rooms = memory_rooms()
        for room in rooms.values():
            closing.callback(room.close)
        yield rooms


def run(test: Test) -> None:
    with new_rooms() as rooms:
        router = router_over(rooms, IN_HOME)
        fill(router, "t1")
        fill(router, "t2")
        test(router, rooms)


OURS = [one for one in all_mutants() if one.name.startswith("router-")]


def test_every_mutant_of_the_router_is_held_to_the_kit_or_to_a_test() -> None:
    assert {one.name for one in OURS if not one.grounds} == set(NOTICED)


@pytest.mark.parametrize("name", NOTICED)
def test_what_the_kit_does_not_see_is_noticed(name: str) -> None:
    if name not in LONG:
        run(NOTICED[name])
    with (
        pytest.raises((AssertionError, StrongroomError, pytest.fail.Exception)),
        find(name).loose() as patches,
    ):
        run(NOTICED[name])
    assert patches.ran


def test_what_crosses_scopes_is_held_to_the_kit(tmp_path: Path) -> None:
    chosen = [one for one in OURS if one.grounds]
    assert {ground for one in chosen for ground in one.grounds} == {Ground.ROUTER}
    hunted = hunt(chosen, folder=tmp_path, slow=False)
    assert (hunted.survivors, hunted.unsound) == ((), ())
    assert hunted.caught == len(chosen) == 4
