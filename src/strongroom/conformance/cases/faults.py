"""T4, T6 and D3: commits that fail, lose their answer or lose to rivals, and disks that are full."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import LOG, MARKS, PAIRS, THINGS, Entry, Mark, Pair, Thing
from strongroom.engine import Backoff, Engine, Strength, Transaction, retry
from strongroom.errors import (
    AlreadyExists,
    CommitUnknown,
    Conflict,
    InvalidArgument,
    StrongroomError,
    Unavailable,
    VersionMismatch,
)

FEW: Final = 1000
"""More runs of one write function than this are no bounded number of retries."""


def changes(kit: Kit) -> dict[str, Callable[[], object]]:
    """Changes of the mark `a` alone, in each way that there is."""

    def change(transaction: Transaction) -> str:
        transaction.insert(MARKS, Mark("a"))
        if kit.claims.strength >= Strength.MULTI_RECORD:
            transaction.insert(THINGS, Thing("a"))
        return "told"

    return {
        "a single call": partial(kit.engine.insert, MARKS, Mark("a")),
        "a transaction": partial(kit.engine.write, change),
    }


def kept(engine: Engine) -> bool:
    """Whether the changes were kept: all of them or none."""
    mark, thing = engine.get(MARKS, "a"), engine.get(THINGS, "a")
    checks.true(thing is None or mark is not None, "a transaction was kept in part")
    return mark is not None


@case("T6", Ability.FAILED_COMMIT)
def a_commit_that_fails_is_no_success_and_keeps_nothing(kit: Kit) -> None:
    for way in ("a single call", "a transaction"):
        kit.fresh()
        change = changes(kit)[way]
        with kit.harness.inflict(Ability.FAILED_COMMIT):
            fault = checks.raises(StrongroomError, f"{way} whose commit fails", change)
        if isinstance(fault, CommitUnknown):
            checks.same(kit.engine.resolve(fault.token), False, "the answer to its token")
        else:
            checks.true(fault.retryable, f"{fault!r} should be retryable: nothing was kept")
        checks.true(not kept(kit.engine), f"{way} was kept although its commit failed")
        change()
        checks.true(kept(kit.engine), f"{way} was not kept when the fault was over")


@case("T6", Ability.LOST_ANSWER)
def a_lost_answer_is_reported_as_unknown_and_found_out(kit: Kit) -> None:
    for way in ("a single call", "a transaction"):
        kit.fresh()
        change = changes(kit)[way]
        try:
            with kit.harness.inflict(Ability.LOST_ANSWER):
                change()
        except CommitUnknown as fault:
            checks.true(fault.token, "a CommitUnknown carries a token")
            checks.true(not fault.retryable, "a CommitUnknown is not to be retried blindly")
            for _ in range(2):
                checks.same(kit.engine.resolve(fault.token), True, f"the answer to the token of {way}")
        checks.true(kept(kit.engine), f"{way} was lost")
        checks.raises(AlreadyExists, f"{way} once more", change)


@case("T6", Ability.LOST_COMMIT)
def a_commit_that_was_lost_with_its_answer_is_found_out_too(kit: Kit) -> None:
    for way in ("a single call", "a transaction"):
        kit.fresh()
        change = changes(kit)[way]
        try:
            with kit.harness.inflict(Ability.LOST_COMMIT):
                change()
        except CommitUnknown as fault:
            checks.true(fault.token, "a CommitUnknown carries a token")
            checks.same(kit.engine.resolve(fault.token), False, f"the answer to the token of {way}")
            checks.true(not kept(kit.engine), f"{way} was kept although its token says that it was not")
            change()
        except Unavailable:
            checks.true(not kept(kit.engine), f"{way} was kept although it is said to be unavailable")
            change()
        checks.true(kept(kit.engine), f"{way} was not kept in the end")


@case("T6")
def a_token_that_was_never_given_out_is_refused(kit: Kit) -> None:
    for token in ("", "0123456789abcdef", "no such token", "é", "'"):
        checks.raises(InvalidArgument, f"the token {token!r}", kit.engine.resolve, token)
    checks.equal(kit.engine.scan(MARKS, limit=5), [], "the rows")


@case("T6", Ability.FAILED_COMMIT)
def an_abandoned_transaction_asks_for_no_commit(kit: Kit) -> None:
    def change(transaction: Transaction) -> str:
        transaction.insert(MARKS, Mark("a"))
        return transaction.abandon("result")

    kit.engine.insert(MARKS, Mark("before"))
    with kit.harness.inflict(Ability.FAILED_COMMIT):
        checks.equal(kit.engine.write(change), "result", "the result of an abandoned transaction")
    checks.equal(kit.engine.get(MARKS, "a"), None, "the row")


@case("T4", Ability.CONFLICTS)
def rivals_that_always_win_end_in_a_conflict(kit: Kit) -> None:
    runs: list[int] = []

    def change(transaction: Transaction) -> None:
        runs.append(1)
        if len(runs) > FEW:
            raise checks.Failed(f"the write function ran more than {FEW} times")
        transaction.insert(MARKS, Mark("a"))

    kit.engine.get(MARKS, "a")
    with kit.harness.inflict(Ability.CONFLICTS):
        fault = checks.raises(Conflict, "a write that always loses", kit.engine.write, change)
    checks.true(fault.retryable, "a Conflict is retryable")
    checks.true(len(runs) > 1, "a conflict was not tried again")
    checks.equal(kit.engine.get(MARKS, "a"), None, "the row")
    kit.engine.write(change)
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a"), "the row when the rivals were gone")


@case("T4")
def a_retry_ends_in_a_conflict_that_tells_its_last_cause(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    pauses: list[float] = []
    faults: list[VersionMismatch] = []

    def stale() -> None:
        if len(faults) > FEW:
            raise checks.Failed(f"a stale call was tried more than {FEW} times")
        try:
            kit.engine.update(THINGS, Thing("a", 9), expect=8)
        except VersionMismatch as fault:
            faults.append(fault)
            raise

    backoff = Backoff(attempts=5, first_ms=1, cap_ms=3)
    fault = checks.raises(Conflict, "a stale loop", retry, stale, backoff=backoff, sleep=pauses.append)
    checks.equal((len(faults), len(pauses)), (5, 4), "tries, and pauses between them")
    checks.true(all(0 <= pause <= 0.003 for pause in pauses), f"pauses {pauses} are not within their bounds")
    checks.same(fault.__cause__, faults[-1], "the cause of the conflict")
    checks.raises(AlreadyExists, "another fault", retry, partial(kit.engine.insert, THINGS, Thing("a")))

    def catch_up() -> str:
        thing = kit.engine.get(THINGS, "a")
        assert thing is not None
        if len(pauses) < 6:
            kit.engine.update(THINGS, thing.replace(version=thing.version + 1), expect=thing.version)
        kit.engine.update(THINGS, thing.replace(version=100), expect=thing.version)
        return "done"

    checks.equal(retry(catch_up, sleep=pauses.append), "done", "the result of a loop that catches up")


@case("T4", below=Strength.MULTI_RECORD)
def an_append_that_always_loses_its_position_ends_in_a_conflict(kit: Kit) -> None:
    tries: list[int] = []

    def late(position: int) -> Entry:
        tries.append(position)
        if len(tries) > FEW:
            raise checks.Failed(f"an append was tried more than {FEW} times")
        kit.engine.insert(LOG.table, Entry("s", position, "rival"))
        return Entry("s", position, "late")

    checks.raises(Conflict, "the append", LOG.append, kit.engine, "s", make=late)
    entries = LOG.read(kit.engine, "s", limit=1000)
    checks.equal({entry.text for entry in entries}, {"rival"}, "whose entries are there")
    checks.equal(len(entries), len(tries), "entries")


@case("D3", Ability.DISK_FULL)
def a_full_disk_loses_nothing_and_work_goes_on_afterwards(kit: Kit) -> None:
    engine = kit.engine
    kit.keep(MARKS, [Mark(f"before {number}", "x" * 500) for number in range(20)])
    expected = {f"before {number}" for number in range(20)}
    open_tokens: list[tuple[str, str]] = []
    faults = 0
    with kit.harness.inflict(Ability.DISK_FULL):
        for number in range(12):
            name = f"during {number}"
            call: Callable[[], Any] = partial(engine.insert, MARKS, Mark(name, "y" * 900))
            if number % 2 and kit.claims.strength >= Strength.MULTI_RECORD:
                call = partial(engine.write, partial(_two, name))
            try:
                call()
                expected.add(name)
            except CommitUnknown as fault:
                faults += 1
                open_tokens.append((name, fault.token))
            except StrongroomError as fault:
                faults += 1
                checks.true(isinstance(fault, Unavailable), f"a full disk is Unavailable, not {fault!r}")
    checks.true(faults, "nothing was refused although the disk was full: the harness does not fill it")
    for name, token in open_tokens:
        if engine.resolve(token):
            expected.add(name)
    engine.insert(MARKS, Mark("after"))
    expected.add("after")
    _whole(engine, expected)
    if kit.claims.reopens:
        _whole(kit.reopen(), expected)


def _two(name: str, transaction: Transaction) -> None:
    transaction.insert(MARKS, Mark(name, "y" * 900))
    transaction.put(PAIRS, Pair("p", name))


def _whole(engine: Engine, expected: set[str]) -> None:
    """Exactly these marks are there, and with each pair its mark."""
    found = {mark.name for mark in engine.scan(MARKS, limit=1000)}
    checks.equal(found, expected, "the rows after the disk was full")
    pairs = {pair.second for pair in engine.scan(PAIRS, limit=1000)}
    checks.true(pairs <= found, f"kept in part: {pairs - found}")


@case("D3", Ability.DISK_FULL)
def a_full_disk_is_a_fault_with_the_driver_s_as_its_cause(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    with kit.harness.inflict(Ability.DISK_FULL):
        for number in range(4):
            fault = checks.raises(StrongroomError, "an insert", kit.engine.insert, MARKS, Mark(f"m{number}", "x" * 900))
            causes = []
            cause: BaseException | None = fault
            while cause is not None:
                causes.append(cause)
                cause = cause.__cause__
            checks.true(
                not isinstance(causes[-1], StrongroomError), f"{fault!r} should have the driver's fault as its cause"
            )
            checks.true("x" * 50 not in str(fault), "the message shows a value")
        checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 1), "what is read while the disk is full")
