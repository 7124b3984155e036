"""The etcd engine with one safeguard broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import BufferedRows, Guard, Rivals
from strongroom.engines.etcd import layout
from strongroom.engines.etcd.commits import Commits, _decoded
from strongroom.engines.etcd.engine import EtcdEngine
from strongroom.engines.etcd.guards import Guards
from strongroom.engines.etcd.layout import Span, value
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import KeyValue, RangeRequest, RequestOp, TxnRequest
from strongroom.engines.etcd.session import WriteSession, delete, put
from strongroom.engines.etcd.single import EtcdCalls
from strongroom.engines.etcd.tails import SPARE, Tails
from strongroom.engines.etcd.view import View
from strongroom.errors import Conflict, StrongroomError
from strongroom.records import AnyTable, Key, Row

ETCD = Ground.ETCD


@mutant("T2", on=ETCD)
def etcd_reads_not_compared(patch: Patches) -> None:
    """A commit does not ask whether the rows that were read by their keys are still as they were."""
    patch.method(Guards, "saw", lambda self, table, key, pair: None)


@mutant("T2", on=ETCD)
def etcd_absent_keys_not_compared(patch: Patches) -> None:
    """A commit does not ask whether the keys that were found absent still are."""
    saw = Guards.saw

    def there(self: Guards, table: str, key: bytes, pair: KeyValue | None) -> None:
        if pair is not None:
            saw(self, table, key, pair)

    patch.method(Guards, "saw", there)


@mutant("T2", on=ETCD)
def etcd_ranges_not_compared(patch: Patches) -> None:
    """A commit asks whether the rows that were walked over are still as they were, not whether others came."""

    def rows_only(self: Guards, table: str, _span: Span, pairs: Sequence[KeyValue]) -> None:
        for pair in pairs:
            self.saw(table, pair.key, pair)

    patch.method(Guards, "walked", rows_only)


@mutant("T2", on=ETCD)
def etcd_deleted_keys_not_compared(patch: Patches) -> None:
    """A commit asks whether anything in a walked range was written, which a deletion is not."""
    walked = Guards.walked
    patch.method(Guards, "walked", lambda self, table, span, _pairs: walked(self, table, span, ()))


@mutant("T2", on=ETCD)
def etcd_deletions_not_told(patch: Patches) -> None:
    """Whoever deletes rows writes nothing by which those notice who guard the table as a whole."""
    operations = WriteSession._operations

    def silent(self: WriteSession, changes: Any) -> list[RequestOp]:
        made = operations(self, changes)
        return made[:-1] if changes.removes else made

    patch.method(WriteSession, "_operations", silent)


@mutant("R2", on=ETCD)
def etcd_snapshot_moves_with_the_commits(patch: Patches) -> None:
    """Each read of a function sees the newest revision, not the one that its first read saw."""
    patch.method(View, "_fix", lambda self, request: None)


@mutant("R1")
def etcd_reads_are_serializable(patch: Patches) -> None:
    """A read takes whatever the member that it asks knows by then, as etcd's serializable reads do.

    A member that is behind is not to be had on purpose: a test looks at the requests.
    """
    fix, ask = View._fix, Members.range

    def soon(self: View, request: RangeRequest) -> None:
        fix(self, request)
        request.serializable = True

    def look(self: Members, request: RangeRequest) -> Any:
        request.serializable = True
        return ask(self, request)

    patch.method(View, "_fix", soon)
    patch.method(Members, "range", look)


@mutant("T4", on=ETCD)
def etcd_conflicts_are_not_retried(patch: Patches) -> None:
    """A transaction of which something had changed is given up at once."""
    commit = WriteSession.commit

    def final(self: WriteSession, rows: BufferedRows) -> None:
        try:
            commit(self, rows)
        except Rivals as fault:
            raise Conflict("others won") from fault

    patch.method(WriteSession, "commit", final)


@mutant("T6", on=ETCD)
def etcd_lost_answer_is_taken_for_kept(patch: Patches) -> None:
    """When no answer comes to a commit nobody asks: it is taken to be kept."""
    patch.method(Commits, "_find_out", lambda self, _key, _deadline, _why: True)


@mutant("T6", on=ETCD)
def etcd_lost_answer_is_taken_for_lost_commit(patch: Patches) -> None:
    """When no answer comes to a commit nobody asks: it is taken to be lost, and made again."""
    patch.method(Commits, "_find_out", lambda self, _key, _deadline, _why: False)


def _look_only(self: Any, key: bytes, deadline: float) -> list[KeyValue]:
    looked = TxnRequest(success=[RequestOp(request_range=RangeRequest(key=key))])
    found: list[KeyValue] = self._members.repeat(looked, deadline).responses[0].response_range.kvs
    return found


@mutant("T6", on=ETCD)
def etcd_no_fence_left_behind(patch: Patches) -> None:
    """Whoever finds no mark leaves no fence: the commit may still arrive."""
    patch.method(Commits, "_fence", lambda self, key, deadline: any(map(_is_kept, _look_only(self, key, deadline))))


@mutant("T6", on=ETCD)
def etcd_fence_is_taken_for_a_mark(patch: Patches) -> None:
    """Whoever asks a second time finds his own fence, and takes it for the commit's mark."""
    fence = Commits._fence
    patch.method(
        Commits,
        "_fence",
        lambda self, key, deadline: bool(_look_only(self, key, deadline)) or fence(self, key, deadline),
    )


@mutant("T6", on=ETCD)
def etcd_fence_not_compared(patch: Patches) -> None:
    """A commit does not ask whether it was given up before it arrived."""
    request = Commits._request

    def heedless(self: Commits, *arguments: Any) -> TxnRequest:
        made = request(self, *arguments)
        return TxnRequest(compare=made.compare[1:], success=made.success, failure=made.failure)

    patch.method(Commits, "_request", heedless)


@mutant("T6", on=ETCD)
def etcd_any_token_resolved(patch: Patches) -> None:
    """A token that was never given out is answered, too."""

    def settle(self: Any, token: str) -> bool:
        settled: bool = self._fence(self._layout.marks[0] + token.encode(), self._members.deadline())
        return settled

    patch.method(Commits, "settle", settle)


@mutant("T6", "W1", on=ETCD)
def etcd_mark_used_twice(patch: Patches) -> None:
    """Every other commit has the mark of the one before, and is taken for that one, carried twice."""
    next_mark = Commits._next
    last: dict[Commits, bytes] = {}

    def again(self: Commits) -> bytes:
        used = last.pop(self, None)
        if used is None:
            used = last[self] = next_mark(self)
        return used

    patch.method(Commits, "_next", again)


@mutant("T6", on=ETCD)
def etcd_unknown_marks_are_swept(patch: Patches) -> None:
    """The mark of a commit that nobody has asked for yet is removed when its engine object closes."""
    find_out = Commits._find_out

    def go_on(self: Any, *arguments: Any) -> bool:
        lane, number = self._lane, self._number
        try:
            return find_out(self, *arguments)
        finally:
            self._lane, self._number = lane, number

    patch.method(Commits, "_find_out", go_on)


@mutant("W1", on=ETCD)
def etcd_single_insert_over_what_is_there(patch: Patches) -> None:
    """A single insert writes over the row that its key has."""

    def over(self: EtcdCalls, table: AnyTable, key: Key, row: Row) -> bool:
        return self._send(table, [], [put(self._layout.key(table, key), value(row))])

    patch.method(EtcdCalls, "_insert_alone", over)


@mutant("W1", on=ETCD)
def etcd_new_rows_not_compared(patch: Patches) -> None:
    """A commit does not ask whether the rows that its transaction takes for new are."""
    patch.method(Guards, "has", lambda self, _table, _key: True)


@mutant("W2", on=ETCD)
def etcd_single_update_without_its_guard(patch: Patches) -> None:
    """A single update looks only whether there is a row."""
    change = EtcdCalls._change

    def unguarded(self: Any, table: AnyTable, place: bytes, guard: Guard, changes: Sequence[RequestOp]) -> bool:
        pair = self._look(table, place)
        if pair is None:
            return False
        held = self._layout.row(table, pair)[guard.column]
        return change(self, table, place, Guard(guard.column, guard.name, held), changes)

    patch.method(EtcdCalls, "_change", unguarded)


@mutant("W2", on=ETCD)
def etcd_single_update_not_compared(patch: Patches) -> None:
    """A single update looks at the row, and writes over it without asking whether it is still that one."""

    def trusting(self: Any, table: AnyTable, place: bytes, guard: Guard, changes: Sequence[RequestOp]) -> bool:
        pair = self._look(table, place)
        if pair is None or self._layout.row(table, pair)[guard.column] != guard.value:
            return False
        sent: bool = self._send(table, [], changes)
        return sent

    patch.method(EtcdCalls, "_change", trusting)


@mutant("W3", on=ETCD)
def etcd_delete_of_nothing_is_true(patch: Patches) -> None:
    """A single delete says True whether there was a row or not."""

    def remove(self: Any, table: AnyTable, key: Key, _guard: Guard | None) -> bool:
        sent: bool = self._send(table, [], [delete(self._layout.key(table, key))])
        return sent

    patch.method(EtcdCalls, "_remove_alone", remove)


@mutant("R5", on=ETCD)
def etcd_walk_ends_with_its_first_answer(patch: Patches) -> None:
    """A walk that etcd answers in parts ends with the first of them."""
    walk = View.walk

    def short(self: View, span: Span, limit: int, *, keys_only: bool = False) -> Any:
        return walk(self, span, min(limit, 1000), keys_only=keys_only)

    patch.method(View, "walk", short)


@mutant("R5", on=ETCD)
def etcd_end_is_taken_to_be_where_it_was(patch: Patches) -> None:
    """A walk from the end begins where the last one found it, also when rows there are gone since."""

    def remembered(self: Any, view: View, span: Span, wanted: int) -> list[KeyValue]:
        start = self._places.get((span, wanted), span[0])
        pairs = view.walk((start, span[1]), 100_000).pairs[: -wanted - 1 : -1]
        if len(pairs) == wanted:
            self._remember((span, wanted), pairs[-1].key)
        return pairs

    patch.method(Tails, "last", remembered)


@mutant("R5", on=ETCD)
def etcd_end_is_not_looked_for(patch: Patches) -> None:
    """A walk from the end takes the first rows that it finds for the last, where there are many."""

    def first(_self: Tails, view: View, span: Span, wanted: int) -> list[KeyValue]:
        return view.walk(span, wanted + SPARE).pairs[: -wanted - 1 : -1]

    patch.method(Tails, "last", first)


@mutant("M4", on=ETCD)
def etcd_older_rows_get_no_default(patch: Patches) -> None:
    """A row from before a column existed is taken for one that is damaged."""

    def decoded(self: Any, data: bytes) -> Row:
        row = layout._decode(data)
        columns = self.table.columns
        return row if len(row) == len(columns) + 1 else (*row[:-1], *[None] * (len(columns) + 1 - len(row)), row[-1])

    patch.method(layout._Form, "_decoded", decoded)


@mutant("E1", "D3", on=ETCD)
def etcd_driver_s_fault_escapes(patch: Patches) -> None:
    """A server that can't be reached is reported with gRPC's own exception."""
    ask = Members._ask

    def bare(self: Members, *arguments: Any, **options: Any) -> Any:
        try:
            return ask(self, *arguments, **options)
        except StrongroomError as fault:
            if isinstance(fault.__cause__, grpc.RpcError):
                raise fault.__cause__ from None
            raise

    patch.method(Members, "_ask", bare)


@mutant("E2", on=ETCD)
def etcd_password_shown(patch: Patches) -> None:
    """Servers that can't be reached are reported with the user and password that they were to be asked with."""
    names = Members._names
    patch.method(Members, "_names", lambda self: f"{names(self)} {self.access.user}:{self.access.password}")


@mutant("C3", on=ETCD)
def etcd_close_does_not_wait(patch: Patches) -> None:
    """Closing an engine takes the connections from the writes that are in flight."""
    patch.method(EtcdEngine, "_close", lambda self: self._members.close(self._closed))


def _is_kept(pair: KeyValue) -> bool:
    return _decoded(pair).kept
