"""The DynamoDB engine with one safeguard broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import BufferedRows, Guard, Rivals
from strongroom.engines.dynamodb import service, transactions
from strongroom.engines.dynamodb.changes import ANY, PRESENT, Request
from strongroom.engines.dynamodb.faults import FAULTS, is_in_doubt
from strongroom.engines.dynamodb.items import TableItems
from strongroom.engines.dynamodb.observations import Observations
from strongroom.engines.dynamodb.places import key_of, mark_place
from strongroom.engines.dynamodb.service import Item, Service
from strongroom.engines.dynamodb.session import WriteSession
from strongroom.engines.dynamodb.single import DynamoCalls, UnderWay
from strongroom.engines.dynamodb.transactions import Transactions
from strongroom.errors import CommitUnknown, Conflict, Unavailable
from strongroom.records import AnyTable, Key, Row

DYNAMODB = Ground.DYNAMODB


@mutant("T2", on=DYNAMODB)
def dynamodb_guards_not_counted_up(patch: Patches) -> None:
    """Whoever adds or removes rows tells nobody who walked over their partition."""
    patch.method(Request, "_count", lambda self, table, key, place: None)


@mutant("T2", on=DYNAMODB)
def dynamodb_walks_not_checked(patch: Patches) -> None:
    """A commit does not ask whether the partitions that were walked over still have the same rows."""
    make = Request.__init__
    patch.method(Request, "__init__", lambda self, store, _relied=None: make(self, store))


@mutant("T2", on=DYNAMODB)
def dynamodb_reads_not_checked(patch: Patches) -> None:
    """A commit does not ask whether the rows that were read, and are left as they are, still are."""
    patch.method(Request, "check", lambda self, _place, _condition: 0)


@mutant("T2", "R2", on=DYNAMODB)
def dynamodb_reads_of_any_moment(patch: Patches) -> None:
    """What a function that writes nothing has read is never shown to have been so at one moment."""
    patch.method(Observations, "hold", lambda self, _look: True)


@mutant("R1")
def dynamodb_reads_are_eventually_consistent(patch: Patches) -> None:
    """Reads are DynamoDB's cheap ones, which may be of a moment ago.

    No server for tests is ever behind: a test looks at the requests.
    """
    read = Service.once

    def lately(self: Service, operation: str, **arguments: Any) -> Item:
        arguments.pop("ConsistentRead", None)
        for asked in arguments.get("RequestItems", {}).values() if operation == "batch_get_item" else ():
            asked.pop("ConsistentRead", None)
        return read(self, operation, **arguments)

    patch.method(Service, "once", lately)


@mutant("T4", on=DYNAMODB)
def dynamodb_conflicts_are_not_retried(patch: Patches) -> None:
    """A transaction of which something had changed is given up at once."""
    commit = WriteSession.commit

    def final(self: WriteSession, rows: BufferedRows) -> None:
        try:
            commit(self, rows)
        except Rivals as fault:
            raise Conflict("others won") from fault

    patch.method(WriteSession, "commit", final)


@mutant("T6", on=DYNAMODB)
def dynamodb_lost_answer_is_taken_for_kept(patch: Patches) -> None:
    """When no answer comes to a transaction nobody asks: it is taken to be kept."""
    send = Transactions._send

    def once(self: Any, parts: Any, token: str) -> None:
        try:
            self._service.once("transact_write_items", TransactItems=parts, ClientRequestToken=token)
        except FAULTS as fault:
            if not is_in_doubt(fault):
                send(self, parts, token)

    patch.method(Transactions, "_send", once)


@mutant("T6", on=DYNAMODB)
def dynamodb_sent_again_under_another_token(patch: Patches) -> None:
    """When no answer comes to a transaction it is sent again as another one."""
    write = Service.once

    def anew(self: Service, operation: str, **arguments: Any) -> Item:
        if operation == "transact_write_items":
            arguments["ClientRequestToken"] = transactions.new_token()
            mark = arguments["TransactItems"][-1]["Put"]
            arguments["TransactItems"] = arguments["TransactItems"][:-1]
            arguments["TransactItems"].append({"Put": {**mark, "Item": {**mark["Item"], **_elsewhere()}}})
        return write(self, operation, **arguments)

    patch.method(Service, "once", anew)


@mutant("T6", "W1", on=DYNAMODB)
def dynamodb_mark_used_twice(patch: Patches) -> None:
    """Every other transaction has the mark of the one before, and is taken for that one, sent again."""
    mark = Transactions._mark
    last: list[str] = []

    def again(self: Transactions, token: str, kind: str = transactions._MARK) -> Item:
        if kind == transactions._MARK:
            if last:
                token = last.pop()
            else:
                last.append(token)
        return mark(self, token, kind)

    patch.method(Transactions, "_mark", again)


def _elsewhere() -> Item:
    return key_of(mark_place(transactions.new_token()))


@mutant("T6", on=DYNAMODB)
def dynamodb_fence_not_checked(patch: Patches) -> None:
    """A transaction does not ask whether it was given up before it arrived."""
    mark = Transactions._mark

    def heedless(self: Transactions, token: str, kind: str = transactions._MARK) -> Item:
        made = mark(self, token, kind)
        if kind == transactions._MARK:
            put = made["Put"]
            made["Put"] = {name: put[name] for name in ("TableName", "Item")}
        return made

    patch.method(Transactions, "_mark", heedless)


@mutant("T6", on=DYNAMODB)
def dynamodb_fence_is_taken_for_a_mark(patch: Patches) -> None:
    """Whoever asks a second time finds his own fence, and takes it for the transaction's mark."""
    patch.function(transactions._kind_of, lambda answer: transactions._MARK if answer.get("Item") else "")


@mutant("T6", on=DYNAMODB)
def dynamodb_no_fence_left_behind(patch: Patches) -> None:
    """Whoever finds no mark leaves no fence: the transaction may still arrive."""
    resolve = Transactions.resolve

    def look(self: Any, token: str) -> bool:
        if transactions._TOKEN.fullmatch(token) is None:
            return resolve(self, token)
        found = self._service.get(mark_place(token))
        return bool(found) and found[transactions._KIND]["S"] == transactions._MARK

    patch.method(Transactions, "resolve", look)


@mutant("W1", on=DYNAMODB)
def dynamodb_single_insert_over_what_is_there(patch: Patches) -> None:
    """A single insert writes over the row that its key has."""

    def over(self: DynamoCalls, table: AnyTable, key: Key, row: Row) -> bool:
        return self._alone(table, lambda request: request.write(table, key, row, ANY, in_place=False))

    patch.method(DynamoCalls, "_insert_alone", over)


@mutant("W2", on=DYNAMODB)
def dynamodb_single_update_without_its_guard(patch: Patches) -> None:
    """A single update looks only whether there is a row."""

    def unguarded(self: DynamoCalls, table: AnyTable, key: Key, row: Row, _guard: Guard) -> bool:
        return self._alone(table, lambda request: request.write(table, key, row, PRESENT, in_place=True))

    patch.method(DynamoCalls, "_replace_alone", unguarded)


@mutant("W3", on=DYNAMODB)
def dynamodb_single_delete_without_its_guard(patch: Patches) -> None:
    """A single guarded delete removes whatever row the key has."""
    remove = DynamoCalls._remove_alone
    patch.method(DynamoCalls, "_remove_alone", lambda self, table, key, _guard: remove(self, table, key, None))


@mutant("R5", on=DYNAMODB)
def dynamodb_walk_ends_with_its_first_answer(patch: Patches) -> None:
    """A walk that DynamoDB answers in parts of a megabyte ends with the first of them."""
    pages = Service._pages

    def first(self: Service, condition: Item, limit: int) -> Iterator[Item]:
        for answer in pages(self, condition, limit):
            yield answer
            return

    patch.method(Service, "_pages", first)


@mutant("R5", "S1", on=DYNAMODB)
def dynamodb_new_partitions_not_listed(patch: Patches) -> None:
    """A scope whose first row comes is not entered where walks over all scopes look."""
    patch.method(Request, "_list", lambda self, _table, _scope: None)


@mutant("M4", on=DYNAMODB)
def dynamodb_older_rows_get_no_default(patch: Patches) -> None:
    """A row from before a column existed holds nothing in it."""
    make = TableItems.__init__

    def bare(self: Any, table: AnyTable) -> None:
        make(self, table)
        self._columns = [(name, tag, read, None) for name, tag, read, _ in self._columns]

    patch.method(TableItems, "__init__", bare)


@mutant("E1", "D3", on=DYNAMODB)
def dynamodb_driver_s_fault_escapes(patch: Patches) -> None:
    """A service that can't be reached is reported with boto3's own exception."""
    given_up: Callable[[Exception], Exception] = service.given_up
    patch.function(given_up, lambda fault: fault)


@mutant("C3", on=DYNAMODB)
def dynamodb_close_does_not_wait(patch: Patches) -> None:
    """Closing an engine does not wait for the updates that are in flight."""
    patch.method(UnderWay, "wait", lambda self: None)


@mutant("T6", on=DYNAMODB)
def dynamodb_unknown_outcome_is_unavailable(patch: Patches) -> None:
    """A transaction of which nobody knows what became is said not to be kept."""
    was_kept = Transactions._was_kept

    def sure(self: Transactions, token: str, cause: BaseException, *, ask: bool = True) -> bool:
        try:
            return was_kept(self, token, cause, ask=ask)
        except CommitUnknown as fault:
            raise Unavailable("nothing was kept") from fault

    patch.method(Transactions, "_was_kept", sure)
