"""Fences under fire: two connections to one store, attempts against policies and hosts, and allocators together.

Where an engine has one engine object for itself, two threads share it. Each race is run a few times; that no luck
decides is shown beside it by a rival who always comes at the worst moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import pytest

from strongroom.domains import runners
from strongroom.domains.runners import AttemptState, WorkspaceMode
from strongroom.engine import Engine
from tests.domains.engines import OvertakenEngine
from tests.domains.runners.samples import FLEET, a_host, a_policy, an_attempt, an_attempt_in

S = AttemptState
ROUNDS = 6
Store = runners.RunnerStore


def together(*calls: Callable[[], object]) -> list[object]:
    """What each of the calls returns, or raises of the domain's conflicts, all begun at the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        barrier.wait(60)
        try:
            return call()
        except runners.CONFLICTS as conflict:
            return conflict

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def named(id: str) -> Callable[[int], runners.RunnerAttempt]:
    """What makes the attempt of that name for whichever slot it gets."""
    return lambda slot: an_attempt(id, slot=slot)


@dataclass
class Counted:
    """How many attempts there surely were, and how many there may have been, while one thread records them."""

    begun: int = 0
    kept: int = 0
    wrong: list[str] = field(default_factory=list)

    def record(self, store: Store, count: int) -> None:
        for number in range(count):
            self.begun += 1
            store.record_attempt(an_attempt(f"a-{number}"))
            self.kept += 1

    def watch(self, confirm: Callable[[int], object]) -> None:
        """Call `confirm` with what is expected until all are kept; what it finds must have been true meanwhile."""
        expected, last = 0, False
        while not last:
            last = self.kept == ROUNDS
            before = self.kept
            try:
                confirm(expected)
                found = expected
            except (runners.ActiveCountChanged, runners.UncleanedCountChanged) as changed:
                found = expected = changed.found
            if not before <= found <= self.begun:
                self.wrong.append(f"{found} attempts, when there were {before} to {self.begun}")
        confirm(ROUNDS)


def updater(store: Store, update: Callable[[runners.ScalePolicy, int, int], None]) -> Callable[[int], None]:
    """Changes the policy's maximum again and again, while the count is as expected."""
    current = [a_policy()]

    def confirm(expected: int) -> None:
        changed = current[0].set_max_capacity(5 + current[0].revision % 2)
        update(changed, current[0].revision, expected)
        current[0] = changed

    store.insert_policy(current[0])
    return confirm


def test_a_count_that_a_policys_write_confirms_is_the_one_of_that_moment(store: Store, beside: Store) -> None:
    counted = Counted()
    confirm = updater(beside, beside.update_policy_confirming_active_count)
    together(lambda: counted.record(store, ROUNDS), lambda: counted.watch(confirm))
    assert (counted.kept, counted.wrong) == (ROUNDS, [])


@pytest.mark.every_room
def test_a_count_that_a_runner_roots_write_confirms_is_the_one_of_that_moment(store: Store, beside: Store) -> None:
    counted = Counted()
    beside.put_host(a_host())
    roots: list[str | None] = [None]

    def confirm(expected: int) -> None:
        new = "/srv/b" if roots[0] == "/srv/a" else "/srv/a"
        beside.set_runner_root_override("h-1", roots[0], new, expected)
        roots[0] = new

    together(lambda: counted.record(store, ROUNDS), lambda: counted.watch(confirm))
    assert (counted.kept, counted.wrong) == (ROUNDS, [])


@pytest.mark.every_room
@pytest.mark.parametrize("fence", ["active", "uncleaned"])
def test_either_the_attempt_is_first_or_the_policys_change_and_never_both(
    store: Store, beside: Store, fence: str
) -> None:
    for number in range(ROUNDS):
        policy = a_policy(f"p-{number}")
        attempt = an_attempt(f"a-{number}", policy.id)
        changed = policy.set_workspace_policy(WorkspaceMode.PERSISTENT, "/srv/work")
        store.insert_policy(policy)
        change: Callable[[], object] = partial(store.update_policy_confirming_active_count, changed, 0, 0)
        if fence == "uncleaned":
            change = partial(store.update_policy_confirming_uncleaned_count, changed, 0, 0)
        calls: list[Callable[[], object]] = [change, partial(beside.record_attempt, attempt, while_revision=0)]
        if number % 2:
            calls.reverse()
        lost = [one for one in together(*calls) if isinstance(one, Exception)]
        assert len(lost) == 1
        stored, attempts = store.policy(policy.id), beside.attempts_for_policy(policy.id)
        if isinstance(lost[0], runners.StaleRevision):
            assert (lost[0].expected, lost[0].found) == (0, 1)
            assert (stored, attempts) == (changed, [])
        else:
            assert isinstance(lost[0], runners.ActiveCountChanged | runners.UncleanedCountChanged)
            assert (lost[0].expected, lost[0].found) == (0, 1)
            assert (stored, attempts) == (policy, [attempt])


def test_of_two_who_read_the_same_revision_one_wins(store: Store, beside: Store) -> None:
    policy = a_policy()
    store.insert_policy(policy)
    for number in range(ROUNDS):
        mine, theirs = policy.set_max_capacity(10 + number), policy.set_max_capacity(20 + number)
        answers = together(
            partial(store.update_policy, mine, policy.revision),
            partial(beside.update_policy, theirs, policy.revision),
        )
        lost = [one for one in answers if isinstance(one, runners.StaleRevision)]
        assert [(one.expected, one.found) for one in lost] == [(policy.revision, policy.revision + 1)]
        policy = mine if answers[0] is None else theirs
        assert store.policy("p-1") == beside.policy("p-1") == policy


@pytest.mark.every_room
def test_of_two_who_want_the_same_slot_one_gets_it(store: Store, beside: Store) -> None:
    for slot in range(1, ROUNDS + 1):
        mine, theirs = an_attempt(f"mine-{slot}", slot=slot), an_attempt(f"theirs-{slot}", slot=slot)
        answers = together(partial(store.record_attempt, mine), partial(beside.record_attempt, theirs))
        (lost,) = [one for one in answers if isinstance(one, runners.SlotAlreadyLeased)]
        kept, refused = (mine, theirs) if answers[0] == mine else (theirs, mine)
        assert (lost.expected, lost.found) == (refused.id, kept.id)
        assert store.attempt(refused.id) is None
        assert kept in store.slot_leases_for_policy("p-1")


@pytest.mark.every_room
def test_allocators_together_get_every_slot_once(store: Store, beside: Store) -> None:
    def allocate(mine: Store, name: str) -> list[int | None]:
        return [mine.allocate_slot("p-1", named(f"{name}-{number}")).workspace_slot for number in range(ROUNDS)]

    lists = together(
        lambda: allocate(store, "a"),
        lambda: allocate(beside, "b"),
        lambda: allocate(store, "c"),
        lambda: allocate(beside, "d"),
    )
    slots = [slot for one in lists if isinstance(one, list) for slot in one]
    assert sorted(slots) == list(range(1, 4 * ROUNDS + 1))
    assert all(one == sorted(one) for one in lists if isinstance(one, list))


def test_a_slot_that_is_given_back_is_never_held_twice(store: Store, beside: Store) -> None:
    held: dict[int, str] = {}
    holding = threading.Lock()

    def work(mine: Store, name: str) -> int:
        highest = 0
        for number in range(ROUNDS):
            id = f"{name}-{number}"
            slot = mine.allocate_slot("p-1", named(id), slots=3).workspace_slot or 0
            with holding:
                assert slot not in held, f"slot {slot} is {held[slot]}'s, and was given to {id}"
                held[slot] = id
                highest = max(highest, slot)
            with holding:
                del held[slot]
            mine.record_attempt(an_attempt_in(S.CLEANED, id, slot=slot))
        return highest

    highest = together(lambda: work(store, "a"), lambda: work(beside, "b"), lambda: work(beside, "c"))
    assert all(isinstance(one, int) and 1 <= one <= 3 for one in highest)
    assert store.slot_leases_for_policy("p-1") == []


# A rival who always comes just before the write, behind everything that was read.


def overtaken(room: Engine, rival: Callable[[], object]) -> Store:
    return runners.Runners(OvertakenEngine(room, rival)).for_fleet(FLEET)


def test_an_attempt_that_comes_just_before_a_policys_write_is_counted(room: Engine, store: Store) -> None:
    store.insert_policy(a_policy())
    mine = overtaken(room, lambda: store.record_attempt(an_attempt()))
    with pytest.raises(runners.ActiveCountChanged) as active:
        mine.update_policy_confirming_active_count(a_policy().set_max_capacity(9), 0, 0)
    assert (active.value.expected, active.value.found) == (0, 1)
    mine = overtaken(room, lambda: store.record_attempt(an_attempt_in(S.FAILED, "a-2")))
    with pytest.raises(runners.UncleanedCountChanged) as uncleaned:
        mine.update_policy_confirming_uncleaned_count(a_policy().set_max_capacity(9), 0, 1)
    assert (uncleaned.value.expected, uncleaned.value.found) == (1, 2)
    assert store.policy("p-1") == a_policy()


def test_a_policys_write_that_comes_just_before_an_attempt_is_noticed(room: Engine, store: Store) -> None:
    store.insert_policy(a_policy())
    mine = overtaken(room, lambda: store.update_policy(a_policy().set_max_capacity(9), 0))
    with pytest.raises(runners.StaleRevision) as stale:
        mine.record_attempt(an_attempt(), while_revision=0)
    assert (stale.value.expected, stale.value.found) == (0, 1)
    assert store.attempts() == []


def test_what_comes_just_before_a_runner_roots_write_is_noticed(room: Engine, store: Store) -> None:
    store.put_host(a_host())
    mine = overtaken(room, lambda: store.record_attempt(an_attempt(policy_id="gone")))
    with pytest.raises(runners.UncleanedCountChanged):
        mine.set_runner_root_override("h-1", None, "/srv/mine", 0)
    mine = overtaken(room, lambda: store.set_runner_root_override("h-1", None, "/srv/theirs", 1))
    with pytest.raises(runners.RunnerRootChanged) as changed:
        mine.set_runner_root_override("h-1", None, "/srv/mine", 1)
    assert (changed.value.expected, changed.value.found) == (None, "/srv/theirs")
    mine = overtaken(room, lambda: store.put_host(a_host(runner_root_override="/srv/theirs", host_capacity=9)))
    kept = mine.set_runner_root_override("h-1", "/srv/theirs", None, 1)
    assert kept == a_host(host_capacity=9)


def test_a_rival_who_takes_a_slot_just_before_is_told_of(room: Engine, store: Store) -> None:
    mine = overtaken(room, lambda: store.record_attempt(an_attempt("theirs", slot=1)))
    with pytest.raises(runners.SlotAlreadyLeased) as lost:
        mine.record_attempt(an_attempt("mine", slot=1))
    assert (lost.value.expected, lost.value.found) == ("mine", "theirs")
    mine = overtaken(room, lambda: store.record_attempt(an_attempt("theirs-2", slot=2)))
    assert mine.allocate_slot("p-1", lambda slot: an_attempt("mine", slot=slot)).workspace_slot == 3
