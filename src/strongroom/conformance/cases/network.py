"""T6, D3, E1 and E2: engines whose server is elsewhere, and a network that breaks at every moment there is."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, THINGS, Mark, Member, Pair, Thing
from strongroom.conformance.threads import errors_of, together
from strongroom.conformance.url_harness import with_options
from strongroom.engine import Engine, Reader, Sharing, StoreUrl, Strength, Transaction
from strongroom.errors import AlreadyExists, CommitUnknown, StrongroomError, Unavailable, VersionMismatch

NETWORK: Final = Sharing.NETWORK
MULTI: Final = Strength.MULTI_RECORD

FEW: Final = 200
"""More runs of one function than this are no bounded number of retries."""


PASSWORD: Final = "open-sesame"


class Change(NamedTuple):
    """A change of the store as `_begin` leaves it, and how to see whether it was made."""

    make: Callable[[Engine], object]
    is_kept: Callable[[Engine], bool]


def _change_several(transaction: Transaction) -> None:
    pair = transaction.get(PAIRS, "p", "")
    assert pair is not None
    transaction.put(PAIRS, pair.replace(number=pair.number + 1))
    transaction.insert(MARKS, Mark("several"))


def _several(engine: Engine) -> bool:
    """Whether that was kept; fails if it was in part, or more than once."""
    pair, mark = engine.get(PAIRS, "p", ""), engine.get(MARKS, "several")
    found = (pair and pair.number, mark is not None)
    checks.true(found in ((0, False), (1, True)), f"a transaction was kept in part, or more than once: {found}")
    return mark is not None


CHANGES: Final = {
    "an insert": Change(lambda e: e.insert(MARKS, Mark("a")), lambda e: e.get(MARKS, "a") is not None),
    "an update": Change(
        lambda e: e.update(THINGS, Thing("t", 2), expect=1), lambda e: e.get(THINGS, "t") != Thing("t", 1)
    ),
    "a put": Change(lambda e: e.put(PAIRS, Pair("q", "")), lambda e: e.get(PAIRS, "q", "") is not None),
    "a delete": Change(lambda e: e.delete(MEMBERS, "t", "m"), lambda e: e.get(MEMBERS, "t", "m") is None),
    "a transaction": Change(lambda e: e.write(_change_several), _several),
}


def _begin(kit: Kit) -> None:
    kit.fresh()
    kit.keep(THINGS, [Thing("t", 1)])
    kit.keep(MEMBERS, [Member("t", "m")])
    kit.engine.put(PAIRS, Pair("p", "", 0))


def _told(change: Callable[[], object]) -> StrongroomError | None:
    """What the caller of a change is told: None is a success. Fails for a fault that is none of the engine's."""
    try:
        change()
    except StrongroomError as fault:
        return fault
    return None


@case("T6", Ability.LOST_ANSWER, sharing=NETWORK, strength=MULTI)
def an_answer_that_was_lost_is_fetched_where_the_server_can_be_reached(kit: Kit) -> None:
    for name, (change, is_kept) in CHANGES.items():
        _begin(kit)
        with kit.harness.inflict(Ability.LOST_ANSWER):
            fault = _told(partial(change, kit.engine))
        checks.equal(fault, None, f"what the caller of {name} was told, which was kept and only not answered")
        checks.true(is_kept(kit.engine), f"{name} was lost")
        checks.true(is_kept(kit.open()), f"{name} is not seen by others")


@case("T6", Ability.LOST_ANSWER, sharing=NETWORK, strength=MULTI)
def a_result_whose_commit_was_not_answered_is_that_of_the_commit(kit: Kit) -> None:
    _begin(kit)
    runs: list[int] = []

    def change(transaction: Transaction) -> int:
        runs.append(1)
        pair = transaction.get(PAIRS, "p", "")
        assert pair is not None
        transaction.put(PAIRS, pair.replace(number=pair.number + 10))
        return pair.number + 10

    for expected in (10, 20, 30):
        with kit.harness.inflict(Ability.LOST_ANSWER):
            checks.equal(kit.engine.write(change), expected, "the result of a write that was kept")
    checks.equal(kit.engine.get(PAIRS, "p", ""), Pair("p", "", 30), "the row after three writes")
    with kit.harness.inflict(Ability.LOST_ANSWER):
        checks.same(kit.engine.delete(MEMBERS, "t", "m"), True, "whether a row was removed, its answer lost")


@case("T6", Ability.LOST_COMMIT, sharing=NETWORK, strength=MULTI)
def a_commit_that_never_arrived_is_made_again_or_said_to_be_lost(kit: Kit) -> None:
    for name, (change, is_kept) in CHANGES.items():
        _begin(kit)
        with kit.harness.inflict(Ability.LOST_COMMIT):
            fault = _told(partial(change, kit.engine))
        checks.true(fault is None or isinstance(fault, Unavailable), f"the caller of {name} was told {fault!r}")
        checks.equal(is_kept(kit.engine), fault is None, f"whether {name} was kept, its caller told {fault!r}")


@case("T6", Ability.LATE_COMMIT, sharing=NETWORK, strength=MULTI)
def a_commit_that_arrives_late_changes_nothing_that_was_told(kit: Kit) -> None:
    """What is found not to be kept must not be kept later, however long its commit was under way."""
    for name, (change, is_kept) in CHANGES.items():
        _begin(kit)
        with kit.harness.inflict(Ability.LATE_COMMIT):
            fault = _told(partial(change, kit.engine))
        if isinstance(fault, CommitUnknown):
            kept = kit.engine.resolve(fault.token)
        else:
            checks.true(fault is None or isinstance(fault, Unavailable), f"the caller of {name} was told {fault!r}")
            kept = fault is None
        checks.equal(is_kept(kit.engine), kept, f"whether {name} was kept, its caller told {fault!r}")


@case("T6", Ability.LATE_COMMIT, sharing=NETWORK, strength=MULTI)
def a_commit_that_arrives_late_undoes_nothing_that_was_done_since(kit: Kit) -> None:
    def put(number: int, port: Any) -> None:
        port.put(PAIRS, Pair("q", "", number))

    ways: dict[str, Callable[[], object]] = {
        "a put": lambda: put(1, kit.engine),
        "a transaction that puts": lambda: kit.engine.write(partial(put, 1)),
    }
    for name, change in ways.items():
        kit.fresh()
        other = kit.open()
        kit.engine.put(PAIRS, Pair("p", ""))
        with kit.harness.inflict(Ability.LATE_COMMIT):
            _told(change)
            put(2, other)  # the first one's commit is still on its way, unless this machine is very slow
        checks.equal(
            kit.engine.get(PAIRS, "q", ""), Pair("q", "", 2), f"the row, put anew behind {name} that came late"
        )


@case("T6", Ability.GONE_AFTER_COMMIT, Ability.GONE_BEFORE_COMMIT, sharing=NETWORK, strength=MULTI)
def a_commit_at_which_the_server_went_away_is_unknown_and_can_be_asked_about(kit: Kit) -> None:
    for ability, kept in ((Ability.GONE_AFTER_COMMIT, True), (Ability.GONE_BEFORE_COMMIT, False)):
        for name in ("an insert", "a transaction"):
            change, is_kept = CHANGES[name]
            _begin(kit)
            hasty = kit.open_hasty()
            with kit.harness.inflict(ability):
                fault = checks.raises(CommitUnknown, f"{name} at which the server went away", partial(change, hasty))
                checks.true(fault.token, "a CommitUnknown carries a token")
                checks.true(not fault.retryable, "a CommitUnknown is not to be retried blindly")
                checks.raises(Unavailable, "a token, the server away", hasty.resolve, fault.token)
            # Whoever holds the token may ask: this engine object, one that was open before, and one opened later.
            for engine in (hasty, kit.engine, kit.open(), hasty):
                checks.same(engine.resolve(fault.token), kept, f"the answer to the token of {name}")
            checks.equal(is_kept(kit.engine), kept, f"whether {name} was kept")
            if not kept:
                change(hasty)
                checks.same(kit.engine.resolve(fault.token), False, "the answer when the change was made anew")
            checks.true(is_kept(kit.open()), f"{name} was not kept in the end")
            hasty.get(THINGS, "t")
            hasty.close()
            checks.same(kit.engine.resolve(fault.token), kept, "the answer when the engine object was closed")


@case("T6", Ability.GONE_AFTER_COMMIT, sharing=NETWORK, strength=MULTI)
def each_of_many_whose_commit_is_unknown_can_ask(kit: Kit) -> None:
    _begin(kit)
    hasty = kit.open_hasty()
    calls = [partial(hasty.insert, MARKS, Mark(f"m{number}")) for number in range(12)]
    with kit.harness.inflict(Ability.GONE_AFTER_COMMIT):
        ended = together(calls, "an insert")
    unknown = 0
    for number, one in enumerate(ended):
        if isinstance(one.error, CommitUnknown):
            unknown += 1
            kept = kit.engine.resolve(one.error.token)
        else:
            checks.true(one.error is None or isinstance(one.error, Unavailable), f"a caller got {one.error!r}")
            kept = one.error is None
        checks.equal(
            kit.engine.get(MARKS, f"m{number}") is not None, kept, "whether a row is there, and was said to be there"
        )
    checks.true(unknown, "nobody was told that the outcome is unknown")


@case("D3", Ability.LOST_CONNECTION, sharing=NETWORK, strength=MULTI)
def a_connection_that_was_cut_while_nobody_used_it_is_replaced(kit: Kit) -> None:
    _begin(kit)
    engine = kit.engine
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: engine.get(THINGS, "t"),
        "get_many": lambda: engine.get_many(THINGS, [("t",)]),
        "scan": lambda: engine.scan(THINGS, limit=1),
        "count": lambda: engine.count(THINGS, limit=1),
        "read": lambda: engine.read(lambda reader: reader.get(THINGS, "t")),
        "insert": lambda: _there(engine.insert, MARKS, Mark("a")),
        "update": lambda: _there(engine.update, THINGS, Thing("t", 2), expect=1),
        "put": lambda: engine.put(PAIRS, Pair("q", "")),
        "delete": lambda: engine.delete(MEMBERS, "t", "m"),
        "write": lambda: engine.write(lambda transaction: transaction.put(PAIRS, Pair("r", ""))),
        "now": engine.now,
        "describe": engine.describe,
        "tables": engine.tables,
    }
    for name, call in calls.items():
        together([partial(engine.get, THINGS, "t")] * 4)  # more than one connection
        kit.harness.cut()
        fault = _told(call)
        checks.true(fault is None or isinstance(fault, Unavailable), f"{name} after a cut: {fault!r}")
        checks.equal(_told(call), None, f"the fault of {name} when the connections were cut before the last call")
    checks.equal((engine.get(THINGS, "t"), engine.get(MARKS, "a")), (Thing("t", 2), Mark("a")), "the rows")


def _there(call: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    """Make a call that may have been made already."""
    try:
        call(*args, **kwargs)
    except (AlreadyExists, VersionMismatch):
        return


@case("D3", Ability.LOST_CONNECTION, sharing=NETWORK, strength=MULTI)
def a_write_whose_connection_is_cut_before_its_commit_is_made_again_or_not_at_all(kit: Kit) -> None:
    for moment in ("before", "between", "behind"):
        _begin(kit)
        cuts: list[str] = []

        def cut(now: str, moment: str = moment, cuts: list[str] = cuts) -> None:
            if now == moment and not cuts:
                cuts.append(now)
                kit.harness.cut()

        def change(transaction: Transaction, cut: Callable[[str], None] = cut) -> None:
            cut("before")
            transaction.insert(MARKS, Mark("several"))
            pair = transaction.get(PAIRS, "p", "")
            cut("between")
            assert pair is not None
            transaction.put(PAIRS, pair.replace(number=pair.number + 1))
            transaction.get(THINGS, "t")
            cut("behind")

        kit.engine.get(THINGS, "t")
        fault = _told(partial(kit.engine.write, change))
        told = f"its caller told {fault!r}, the connection cut {moment} what it does"
        checks.true(fault is None or isinstance(fault, Unavailable), told)
        checks.equal(_several(kit.engine), fault is None, f"whether a write was kept, {told}")
        kit.engine.write(lambda transaction: transaction.put(PAIRS, Pair("after", "")))


@case("D3", Ability.LOST_CONNECTION, sharing=NETWORK, strength=MULTI)
def a_function_whose_connection_is_cut_again_and_again_ends(kit: Kit) -> None:
    _begin(kit)
    runs: list[str] = []

    def look(reader: Reader) -> None:
        runs.append("run")
        if len(runs) > FEW:
            raise checks.Failed(f"the function ran more than {FEW} times")
        reader.get(THINGS, "t")
        kit.harness.cut()
        reader.get(PAIRS, "p", "")

    for call in (kit.engine.read, kit.engine.write):
        runs.clear()
        try:
            call(look)  # it may well go on, where a snapshot hangs on no connection
        except Unavailable as fault:
            checks.true(fault.retryable, "Unavailable is retryable")
        checks.equal(kit.engine.get(THINGS, "t"), Thing("t", 1), "a row that is read afterwards")


@case("R2", Ability.LOST_CONNECTION, sharing=NETWORK, strength=MULTI)
def a_snapshot_whose_connection_is_cut_stays_the_same_or_begins_again(kit: Kit) -> None:
    _begin(kit)
    other, runs = kit.open(), [0]

    def both(number: int, transaction: Transaction) -> None:
        for name in ("x", "y"):
            transaction.put(PAIRS, Pair(name, "", number))

    def look(reader: Reader) -> list[int]:
        runs[0] += 1
        first = reader.get(PAIRS, "x", "")
        if runs[0] == 1:
            kit.harness.cut()
            _until_done(lambda: other.write(partial(both, 2)))
        second = reader.get(PAIRS, "y", "")
        return [pair.number for pair in (first, second) if pair]

    kit.engine.write(partial(both, 1))
    try:
        found = kit.engine.read(look)
    except Unavailable:
        found = kit.engine.read(look)
    checks.true(found in ([1, 1], [2, 2]), f"two rows that are always written together, read as {found}")


def _until_done(call: Callable[[], object]) -> None:
    """Make a call, and once more where its connection had been cut."""
    try:
        call()
    except Unavailable:
        call()


@case("D3", Ability.SERVER_AWAY, sharing=NETWORK, strength=MULTI)
def while_the_server_is_away_every_call_says_so_and_work_goes_on_afterwards(kit: Kit) -> None:
    _begin(kit)
    hasty = kit.open_hasty()
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: hasty.get(THINGS, "t"),
        "scan": lambda: hasty.scan(THINGS, limit=1),
        "read": lambda: hasty.read(lambda reader: reader.get(THINGS, "t")),
        "insert": lambda: hasty.insert(MARKS, Mark("a")),
        "write": lambda: hasty.write(lambda transaction: transaction.put(PAIRS, Pair("r", "secret"))),
    }
    hasty.get(THINGS, "t")
    with kit.harness.inflict(Ability.SERVER_AWAY):
        for name, call in calls.items():
            fault = checks.raises(Unavailable, f"{name}, the server away", call, hiding=["secret"])
            checks.true(fault.retryable, "Unavailable is retryable")
            checks.true("\n" not in str(fault), f"{name}: a message is one line: {str(fault)!r}")
            checks.true(_root(fault) is not fault, f"{name}: the fault should have the driver's as its cause")
            checks.true(not isinstance(_root(fault), StrongroomError), f"{name}: the cause should be the driver's")
    for name, call in calls.items():
        checks.equal(_told(call), None, f"the fault of {name} when the server is back")
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a"), "the row, inserted when the server was back")


@case("E1", Ability.SERVER_AWAY, sharing=NETWORK)
def a_server_that_is_away_is_a_typed_fault_of_opening_too(kit: Kit) -> None:
    kit.engine.get(THINGS, "t")

    def open_and_look() -> None:
        with kit.harness.open_hasty() as engine:
            engine.get(THINGS, "t")

    with kit.harness.inflict(Ability.SERVER_AWAY):
        checks.raises(Unavailable, "a store whose server is away", open_and_look)
    open_and_look()


@case("E2", Ability.PROCESSES, Ability.SERVER_AWAY, sharing=NETWORK)
def a_password_is_shown_by_nothing(kit: Kit) -> None:
    kit.engine.get(THINGS, "t")
    url = _with_password(kit.harness.url)
    module, _, name = kit.harness.opener.partition(":")
    opener: Callable[[str], Engine] = getattr(importlib.import_module(module), name)

    def open_and_look() -> str:
        with opener(url) as engine:
            engine.get(THINGS, "t")
            return f"{engine!r} {engine.describe()}"

    with kit.harness.inflict(Ability.SERVER_AWAY):
        said = [*_all_that_is_said(checks.raises(Unavailable, "a store whose server is away", open_and_look))]
    try:
        said.append(open_and_look())  # a server may well let in whoever it has no password of
    except StrongroomError as fault:
        said += _all_that_is_said(fault)
    checks.true(not any(PASSWORD in text for text in said), "the password of the URL is shown")


def _with_password(url: str) -> str:
    """The URL of the same store, for one who gives up soon, and has a password where the URL names a server."""
    parsed = StoreUrl.parse(url)
    place = parsed.place
    address, slash, rest = place.partition("/")
    user, _, servers = address.rpartition("@")
    if ":" in servers:
        place = f"{user.partition(':')[0] or 'somebody'}:{PASSWORD}@{servers}{slash}{rest}"
    return f"{parsed.scheme}://{with_options(place, {**parsed.options, 'timeout_ms': '1000'})}"


def _all_that_is_said(fault: BaseException | None) -> Iterator[str]:
    """The messages of a fault, and of all that it came from."""
    while fault is not None:
        yield f"{fault} {fault!r}"
        fault = fault.__cause__


@case("C1", Ability.LOST_CONNECTION, sharing=NETWORK, strength=MULTI)
def callers_beside_a_cut_are_all_told_truly(kit: Kit) -> None:
    _begin(kit)
    told: dict[str, bool] = {}

    def write(thread: int) -> None:
        for number in range(15):
            name = f"{thread}.{number:02}"
            fault = _told(partial(kit.engine.insert, MARKS, Mark(name)))
            if fault is not None and not isinstance(fault, Unavailable):
                raise fault
            told[name] = fault is None

    def cut() -> None:
        for _ in range(8):
            time.sleep(0.02)
            kit.harness.cut()

    calls: list[Callable[[], None]] = [*(partial(write, thread) for thread in range(5)), cut]
    checks.equal([e for e in errors_of(together(calls)) if not isinstance(e, Unavailable)], [], "faults")
    found = {mark.name for mark in kit.engine.scan(MARKS, limit=1000)}
    checks.equal(found, {name for name, kept in told.items() if kept}, "the rows, and those that are said to be kept")


def _root(fault: BaseException) -> BaseException:
    while fault.__cause__ is not None:
        fault = fault.__cause__
    return fault
