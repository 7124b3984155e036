"""Cases, and what a case gets: an engine on a store of its own, and the harness behind it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from strongroom.conformance.clauses import CLAUSES
from strongroom.conformance.harness import Ability, Harness
from strongroom.conformance.tables import SCHEMA
from strongroom.engine import Claims, Durability, Engine, Sharing, Strength, Transaction
from strongroom.records import Record, Schema, Table

R = TypeVar("R", bound=Record)

TOGETHER: Final = 64
"""How many records a case may write in one transaction: the narrowest engine, DynamoDB, takes some thirty more."""

KILLS: Final = 50
"""How many times the slow case kills a writer, unless a run says otherwise."""


@dataclass(frozen=True)
class Case:
    """One thing that an engine must be shown to do, and what it takes to show it."""

    name: str
    clause: str
    check: Callable[[Kit], None]
    strength: Strength = Strength.SINGLE_RECORD
    below: Strength | None = None
    """Only engines that claim less than this are asked: the case shows that they refuse it clearly."""
    sharing: Sharing = Sharing.ENGINE
    durability: Durability = Durability.NONE
    reopens: bool = False
    guards: bool = False
    exclusive: bool = False
    bounded_log: bool = False
    across: bool | None = None
    """Whether its transactions reach across scopes; False: only engines whose transactions can't are asked."""
    needs: frozenset[Ability] = frozenset()
    slow: bool = False

    def beyond(self, claims: Claims) -> str:
        """Why the case does not concern engines that claim this, and is not asked of them; empty if it does."""
        if self.below is not None and claims.strength >= self.below:
            return "the engine claims more than what these show to be refused"
        if claims.strength < self.strength:
            return "the engine claims single-record transactions only"
        if claims.sharing < self.sharing:
            return f"the engine claims to be shared by {claims.sharing.name.lower()} only"
        if claims.durability < self.durability:
            return f"the engine claims durability {claims.durability.name.lower()} only"
        if self.reopens and not claims.reopens:
            return "the engine does not claim that its stores can be opened again"
        if self.guards and not claims.guards_immutable:
            return "the engine does not claim that the database guards immutable tables"
        if self.exclusive and not claims.exclusive:
            return "the engine does not claim that a store can be held alone"
        if self.bounded_log and not claims.bounded_log:
            return "the engine does not claim to keep a log of its own"
        if self.across is not None and claims.one_scope == self.across:
            return f"the engine claims transactions {'in one scope' if self.across else 'across scopes'}"
        return ""

    def concerns(self, claims: Claims) -> bool:
        """Whether the case is about engines that claim this."""
        return not self.beyond(claims)

    def obstacle(self, abilities: frozenset[Ability]) -> str:
        """Why the case can't be run through a harness of these abilities; empty if it can."""
        for ability in Ability:
            if ability in self.needs and ability not in abilities:
                return f"the harness can't {ability.value}"
        return ""


_cases: dict[str, Case] = {}


def case(
    clause: str,
    *needs: Ability,
    strength: Strength = Strength.SINGLE_RECORD,
    below: Strength | None = None,
    sharing: Sharing = Sharing.ENGINE,
    durability: Durability = Durability.NONE,
    reopens: bool = False,
    guards: bool = False,
    exclusive: bool = False,
    bounded_log: bool = False,
    across: bool | None = None,
    slow: bool = False,
) -> Callable[[Callable[[Kit], None]], Callable[[Kit], None]]:
    """Registers the decorated function, whose name is a sentence, as a case for `clause`; see `Case` for the rest."""

    def register(check: Callable[[Kit], None]) -> Callable[[Kit], None]:
        if clause not in CLAUSES or check.__name__ in _cases:
            raise TypeError(f"case {check.__name__}: no clause {clause}, or a second case of that name")
        _cases[check.__name__] = Case(
            check.__name__,
            clause,
            check,
            strength=strength,
            below=below,
            sharing=sharing,
            durability=durability,
            reopens=reopens,
            guards=guards,
            exclusive=exclusive,
            bounded_log=bounded_log,
            across=across,
            needs=frozenset(needs),
            slow=slow,
        )
        return check

    return register


def registered() -> tuple[Case, ...]:
    """The cases registered so far, in the contract's order of clauses."""
    order = list(CLAUSES)
    return tuple(sorted(_cases.values(), key=lambda one: order.index(one.clause)))


class Kit:
    """What one case works with. The store behind it is fresh; engines opened here are closed when the case ends.

    Arguments:
        harness: the harness, whose present store holds nothing.
        kills: how many times a case that kills processes is to do so.
    """

    def __init__(self, harness: Harness, *, kills: int = KILLS) -> None:
        self.harness = harness
        self.kills = kills
        self._opened: list[Engine] = []
        self._engine: Engine | None = None
        self._opening = threading.Lock()

    @property
    def engine(self) -> Engine:
        """The engine under test, prepared for the kit's schema."""
        with self._opening:
            if self._engine is None:
                self._engine = self.open()
            return self._engine

    def keep(self, table: Table[R], records: Iterable[R]) -> None:
        """Insert records, some dozens in a transaction where the engine claims that: every engine takes so many."""
        listed = list(records)
        if self.claims.strength < Strength.MULTI_RECORD or (self.claims.one_scope and table.scope):
            for record in listed:
                self.engine.insert(table, record)
            return

        def change(transaction: Transaction, some: list[R]) -> None:
            for record in some:
                transaction.insert(table, record)

        for start in range(0, len(listed), TOGETHER):
            self.engine.write(partial(change, some=listed[start : start + TOGETHER]))

    @property
    def claims(self) -> Claims:
        """What the engine under test claims."""
        return self.engine.claims

    def open(self, schema: Schema | None = SCHEMA) -> Engine:
        """One more engine object on the same store, prepared for `schema`; not prepared if that is None."""
        engine = self.harness.open()
        self._opened.append(engine)
        if schema is not None:
            engine.prepare(schema)
        return engine

    def open_hasty(self) -> Engine:
        """As `open`, but the engine gives up within some seconds on a server that is away."""
        engine = self.harness.open_hasty()
        self._opened.append(engine)
        return engine

    def another(self) -> Engine:
        """A second engine object on the store where the engine claims that; else the engine under test itself."""
        return self.open() if self.claims.sharing >= Sharing.PROCESS else self.engine

    def reopen(self, schema: Schema = SCHEMA) -> Engine:
        """The engine under test, after all engines here were closed and it was opened again."""
        self.close()
        self._engine = self.open(schema)
        return self._engine

    def fresh(self) -> None:
        """Go over to another store that holds nothing; all engines here are closed."""
        self.close()
        self.harness.fresh()

    def ways(self) -> Iterator[tuple[str, Any]]:
        """The two ways of asking for one operation: of the engine itself, and in a transaction of its own.

        The second is typed loosely: it answers to the port's methods, each in a `write` of its own.
        """
        yield "a single call", self.engine
        yield "a transaction", InTransactions(self.engine)

    def close(self) -> None:
        """Close every engine that was opened here."""
        opened, self._opened, self._engine = self._opened, [], None
        with contextlib.ExitStack() as stack:
            for engine in opened:
                stack.callback(engine.close)


class InTransactions:
    """The port's operations, each made in a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._engine.write(lambda transaction: getattr(transaction, operation)(*args, **kwargs))

        return call
