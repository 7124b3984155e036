"""Write transactions: groups of functions in one of them, and single writes that take one trip."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from psycopg.pq.abc import PGresult

from strongroom.engine import BufferedRows, GroupRunner, Job, Refuted, Rivals, Session, TableChanges, Work
from strongroom.engines.postgres.calls import ASK_TIME, BEGIN_WRITE, COMMIT, Call, Statement
from strongroom.engines.postgres.faults import Duplicate, Lost
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.links import Links
from strongroom.engines.postgres.marks import Marks
from strongroom.engines.postgres.rows import AskedRows
from strongroom.engines.postgres.statements import TURNS, TableStatements, quoted
from strongroom.engines.sql import ServerClock, Turns
from strongroom.errors import Conflict, StrongroomError

_HURRIED_MS: Final = 100
"""How long the rest of a group waits for locks once a lock was waited for in vain."""


class WriteLane:
    """Where the engine's writes go to the server, one transaction at a time.

    Where several processes write the same rows again and again (the head of one log, say), nearly every transaction
    finds that another has committed meanwhile, and all of them together get little done. So after a conflict the next
    few take turns: they begin with a lock that only such transactions ask for. It is waited for before anything is
    read, so what is read behind it is what the one before has left.
    """

    def __init__(self, links: Links, statements: TableStatements, marks: Marks, clock: ServerClock) -> None:
        self.links = links
        self.statements = statements
        self.marks = marks
        self.clock = clock
        schema, turns = quoted(statements.schema), quoted(TURNS)
        # Unlike a SELECT, LOCK TABLE makes no snapshot while it waits.
        self._hurry = Statement(f"SELECT set_config('lock_timeout', '{_HURRIED_MS}', true)")()
        self._hurries = False
        self._groups = GroupRunner(self.begin)
        self._take_turn = Statement(f"LOCK TABLE {schema}.{turns} IN SHARE UPDATE EXCLUSIVE MODE")()
        self.turns = Turns()

    def run(self, jobs: Sequence[Job[Work]]) -> None:
        """Run a group, see `strongroom.engine.GroupRunner`.

        Where it meets a lock that is held for longer than a caller waits, whose job that is is found out by running
        them apart. Each of those runs waits for a moment only: all of them together would wait for hours.
        """
        self._hurries = False
        self._groups.run(jobs)

    @contextlib.contextmanager
    def begin(self) -> Iterator[WriteSession]:
        """A new session, for a group; rolled back at the end of the context if it was not committed."""
        session = WriteSession(self)
        try:
            yield session
        finally:
            session.end()

    def beginning(self, link: Link) -> list[Call]:
        """The calls that begin a transaction."""
        begin, *setup = link.beginning(BEGIN_WRITE)
        if self._hurries:
            setup = [*setup, self._hurry]
        return [begin, self._take_turn, *setup] if self.turns.is_next_in_turn() else [begin, *setup]

    def notice(self, fault: StrongroomError) -> None:
        """Say that a transaction failed: what comes next begins otherwise after a conflict, and after a lock."""
        self.turns.notice(fault)
        self._hurries = self._hurries or (isinstance(fault, Conflict) and not isinstance(fault, Rivals))

    def commit(self, token: str, link: Link, *calls: Call) -> list[PGresult] | None:
        """Send `calls`, which make a mark of `token` and end with a commit: their answers.

        None where the answers were lost, and the mark tells that all was kept. Raises `Lost` where it tells that
        nothing was kept, `CommitUnknown`, and what the server says of the calls: nothing was kept then.
        """
        try:
            answers = link.trip(*calls)
        except StrongroomError as fault:
            if not link.broken:
                self.notice(fault)
                raise
            if self.marks.find_out(token, fault):
                return None
            raise Lost("PostgreSQL: the connection broke; nothing was kept") from fault
        self.marks.heard_of(token, link)
        return answers

    def write_alone(self, call: Callable[[str], Call]) -> bool:
        """Run a single marked write in a transaction of its own, in one trip; whether it changed anything.

        `call` makes the call for a token. Raises as `commit`.
        """
        token = self.marks.new_token()
        link = self.links.take()
        try:
            answers = self.commit(token, link, *self.beginning(link), call(token), COMMIT)
            return answers is None or answers[-2].command_tuples == 1
        finally:
            self.links.leave(link)

    def sweep_marks(self) -> None:
        """Remove the marks that were heard of, before the engine closes."""
        with contextlib.suppress(StrongroomError):  # the server may be gone: they go when they are old
            link = self.links.take()
            try:
                self.marks.sweep(link)
            finally:
                self.links.leave(link)


class WriteSession(AskedRows, Session):
    """One serializable transaction, begun with its first statement. See `strongroom.engine.Session`."""

    def __init__(self, lane: WriteLane) -> None:
        self._lane = lane
        self._statements = lane.statements
        self._link: Link | None = None
        self._begun = False
        self.fault: StrongroomError | None = None
        self.kept = False

    def clock(self) -> int:
        return self._lane.clock.now(lambda: int(self._ask(ASK_TIME)[0][0]))

    def commit(self, rows: BufferedRows) -> None:
        """Send the changes and commit, in one trip; see `strongroom.engine.Session`."""
        changes = rows.changes()
        if not changes:
            if self._begun:
                self._taken().trip(COMMIT)  # tells whether what was read could be read at one moment (T2)
            return
        token = self._lane.marks.new_token()
        link = self._taken()
        calls = [self._lane.marks.mark(token), *self._calls(changes), COMMIT]
        if not self._begun:
            calls = [*self._lane.beginning(link), *calls]
        try:
            self._lane.commit(token, link, *calls)
            self.kept = True
        except Duplicate as fault:
            for change in changes:
                if change.table.name == fault.table:
                    raise Refuted(change.table) from fault
            raise
        except StrongroomError:
            raise
        except BaseException as fault:
            # Ctrl-C may have struck on either side of the answer: the mark tells on which.
            self.kept = self.kept or self._lane.marks.find_out(token, fault)
            raise

    def end(self) -> None:
        """Give the connection back; what was not committed is rolled back."""
        link, self._link = self._link, None
        if link is not None:
            self._lane.links.leave(link)

    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        try:
            link = self._taken()
            if self._begun:
                (answer,) = link.trip(call)
            else:
                answer = self._begin(link, call)
        except StrongroomError as fault:
            self.fault = self.fault or fault
            self._lane.notice(fault)
            raise
        return link.rows(answer)

    def _begin(self, link: Link, call: Call) -> PGresult:
        """Begin, and make the first call in the same trip; ask the time too where nobody knows it any more."""
        self._begun = True
        begin = self._lane.beginning(link)
        if not self._lane.clock.is_stale:
            return link.trip(*begin, call)[-1]
        *_, told, answer = link.trip(*begin, ASK_TIME, call)
        ((milliseconds,),) = link.rows(told)
        self._lane.clock.tell(milliseconds)
        return answer

    def _taken(self) -> Link:
        if self._link is None:
            self._link = self._lane.links.take()
        return self._link

    def _calls(self, changes: list[TableChanges]) -> Iterator[Call]:
        for change in changes:
            net = change.guarded()
            statements = self._statements[net.table]
            for key in net.removes:
                yield statements.remove_row(key)
            if net.inserts:
                yield statements.insert_rows(net.inserts)
            for row in net.updates:
                yield statements.update_row(row)
            for row in net.puts:
                yield statements.put(row)
