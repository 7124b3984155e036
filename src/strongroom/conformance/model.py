"""A plain Python model beside an engine: random operations on both, which must always answer alike.

Needs hypothesis, which ``pip install 'strongroom[conformance]'`` brings. Use `machine_for` for a state machine of your
own settings (``TestModel = machine_for(harness).TestCase``), or `run_model` to have it run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

try:
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
except ImportError as missing:
    from strongroom.errors import Unsupported

    raise Unsupported("the model needs hypothesis: pip install 'strongroom[conformance]'") from missing

from strongroom.conformance import checks
from strongroom.conformance.harness import Harness
from strongroom.conformance.kit import InTransactions, Kit
from strongroom.conformance.tables import MEMBERS, PAIRS, READINGS, THINGS, Member, Pair, Reading, Thing
from strongroom.engine import Strength, Transaction
from strongroom.errors import AlreadyExists, VersionMismatch
from strongroom.records import AnyTable, Record

Key = tuple[Any, ...]
Tables = dict[str, dict[Key, Record]]


def place_of(table: AnyTable, key: Sequence[Any]) -> list[Any]:
    """What stands for a key, or leading values of one, in comparisons: texts by their bytes, numbers by direction."""
    return [
        value.encode() if isinstance(value, str) else -value if part.descending else value
        for value, part in zip(key, table.key, strict=False)
    ]


def key_of(table: AnyTable, record: Record) -> Key:
    """The key of a record."""
    return tuple(getattr(record, name) for name in table.key_names)


class Model:
    """The same operations as an engine's, on dictionaries: what each of them means, as plainly as can be."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def insert(self, table: AnyTable, record: Record) -> None:
        rows = self.tables[table.name]
        if key_of(table, record) in rows:
            raise AlreadyExists("")
        rows[key_of(table, record)] = record

    def update(self, table: AnyTable, record: Record, *, expect: Record | int) -> None:
        rows = self.tables[table.name]
        stored = rows.get(key_of(table, record))
        if stored is None or (stored if isinstance(expect, Record) else getattr(stored, "version", None)) != expect:
            raise VersionMismatch("")
        rows[key_of(table, record)] = record

    def put(self, table: AnyTable, record: Record) -> None:
        self.tables[table.name][key_of(table, record)] = record

    def delete(self, table: AnyTable, *key: Any, expect: Record | None = None) -> bool:
        rows = self.tables[table.name]
        if key not in rows or (expect is not None and rows[key] != expect):
            return False
        del rows[key]
        return True

    def get(self, table: AnyTable, *key: Any) -> Record | None:
        return self.tables[table.name].get(key)

    def get_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Record | None]:
        return [self.get(table, *key) for key in keys]

    def scan(
        self,
        table: AnyTable,
        *prefix: Any,
        start: Key | None = None,
        stop: Key | None = None,
        after: Key | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[Record]:
        head = place_of(table, prefix)

        def bound(values: Key) -> list[Any]:
            return place_of(table, (*prefix, *values))

        found = []
        for key, row in sorted(self.tables[table.name].items(), key=lambda item: place_of(table, item[0])):
            place = place_of(table, key)
            inside = place[: len(head)] == head
            inside &= start is None or place[: len(prefix) + len(start)] >= bound(start)
            inside &= stop is None or place[: len(prefix) + len(stop)] < bound(stop)
            if after is not None:
                inside &= place < bound(after) if reverse else place > bound(after)
            if inside:
                found.append(row)
        return (found[::-1] if reverse else found)[:limit]

    def count(self, table: AnyTable, *prefix: Any, limit: int) -> int:
        return len(self.scan(table, *prefix, limit=limit))

    def copy(self) -> Model:
        """A model that changes apart from this one."""
        return Model({name: dict(rows) for name, rows in self.tables.items()})


@dataclass(frozen=True)
class Operation:
    """One operation of the port, with its arguments."""

    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def on(self, port: Any) -> tuple[str, Any]:
        """What the operation comes to on a model or an engine: its result, or the kind of its fault."""
        try:
            return "result", getattr(port, self.name)(*self.arguments, **self.options)
        except (AlreadyExists, VersionMismatch) as fault:
            return "fault", type(fault)

    @property
    def scopes(self) -> set[Any]:
        """The scopes that it reaches: None for a table without one, and ``...`` for all of them."""
        table, *rest = self.arguments
        if not table.scope:
            return {None}
        if self.name == "get_many":
            return {key[0] for key in rest[0]}
        first = key_of(table, rest[0])[0] if rest and isinstance(rest[0], Record) else rest[0] if rest else ...
        return {first}

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{self.name}{self.arguments!r}{options}"


names = st.sampled_from(["a", "A", "a ", "b", "é"])
few = st.integers(0, 3)
texts = st.sampled_from(["", "x", "\u00e9", "e\u0301"])
degrees = st.sampled_from([-1.0, 0.0, 0.5])

maybe_names = st.sampled_from(["", "a", "A", "a ", "b", "é"])
maybe_texts = st.sampled_from([None, "", "x"])

things = st.tuples(names, few, texts, maybe_texts).map(lambda values: Thing(*values))
pairs = st.tuples(maybe_names, maybe_names, few).map(lambda values: Pair(*values))
members = st.tuples(names, names, texts).map(lambda values: Member(*values))
readings = st.tuples(names, degrees, maybe_names, few, few).map(lambda values: Reading(*values))

_RECORDS: Final[list[tuple[AnyTable, st.SearchStrategy[Any]]]] = [
    *((THINGS, things), (PAIRS, pairs), (MEMBERS, members), (READINGS, readings))
]
_DELETABLE: Final = [one for one in _RECORDS if one[0].changes.delete]


def _insert(one: tuple[AnyTable, st.SearchStrategy[Any]]) -> st.SearchStrategy[Operation]:
    table, records = one
    return records.map(lambda record: Operation("insert", (table, record)))


def _delete(one: tuple[AnyTable, st.SearchStrategy[Any]]) -> st.SearchStrategy[Operation]:
    table, records = one
    plain = records.map(lambda record: Operation("delete", (table, *key_of(table, record))))
    return plain | records.map(lambda record: Operation("delete", (table, *key_of(table, record)), {"expect": record}))


def _get(one: tuple[AnyTable, st.SearchStrategy[Any]]) -> st.SearchStrategy[Operation]:
    table, records = one
    keys = records.map(lambda record: key_of(table, record))
    single = keys.map(lambda key: Operation("get", (table, *key)))
    return single | st.lists(keys, max_size=4).map(lambda many: Operation("get_many", (table, many)))


@st.composite
def _scans(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Operation:
    table, records = draw(st.sampled_from(_RECORDS))
    size = len(table.key)
    fixed = draw(st.integers(0, size - 1))
    prefix = key_of(table, draw(records))[:fixed]

    def bound() -> Any:
        return key_of(table, draw(records))[fixed : draw(st.integers(fixed + 1, size))]

    options: dict[str, Any] = {"limit": draw(st.sampled_from([1, 2, 3, 100])), "reverse": draw(st.booleans())}
    for name in ("start", "stop"):
        if draw(st.booleans()):
            options[name] = bound()
    if draw(st.booleans()):
        options["after"] = key_of(table, draw(records))[fixed:]
    if draw(st.integers(0, 4)) == 0:
        return Operation("count", (table, *prefix), {"limit": options["limit"]})
    return Operation("scan", (table, *prefix), options)


writes = st.one_of(
    *map(_insert, _RECORDS),
    *map(_delete, _DELETABLE),
    pairs.map(lambda pair: Operation("put", (PAIRS, pair))),
    st.tuples(things, few).map(lambda drawn: Operation("update", (THINGS, drawn[0]), {"expect": drawn[1]})),
    st.tuples(things, few, texts).map(
        lambda drawn: Operation(
            "update", (THINGS, drawn[0]), {"expect": drawn[0].replace(version=drawn[1], text=drawn[2])}
        )
    ),
)
reads = st.one_of(*map(_get, _RECORDS), _scans())


class _Stop(Exception):
    """What a transaction that is to fail raises."""


class EngineMachine(RuleBasedStateMachine):
    """Drives an engine, over two engine objects where it claims that, beside a `Model`. Made by `machine_for`."""

    harness: Harness

    def __init__(self) -> None:
        super().__init__()
        self.harness.fresh()
        self.kit = Kit(self.harness)
        self.model = Model({table.name: {} for table, _ in _RECORDS})
        self._connect()

    def _connect(self) -> None:
        self.engines = [self.kit.engine, self.kit.another()]

    def teardown(self) -> None:
        self.kit.close()

    def _is_strong(self) -> bool:
        return self.kit.claims.strength >= Strength.MULTI_RECORD

    def _can_reopen(self) -> bool:
        return self.kit.claims.reopens

    def _within_a_scope(self, operations: list[Operation]) -> list[Operation]:
        """Those of the operations that an engine whose transactions reach one scope lets stand together."""
        if not self.kit.claims.one_scope:
            return operations
        reached = [(operation.scopes, operation) for operation in operations]
        first = next((scopes for scopes, _ in reached if len(scopes) == 1 and ... not in scopes), None)
        return [operation for scopes, operation in reached if scopes == first]

    @rule(operation=writes | reads, other=st.booleans(), transaction=st.booleans())
    def call(self, operation: Operation, other: bool, transaction: bool) -> None:
        """One operation, as a single call or in a transaction of its own."""
        engine = self.engines[other]
        expected = operation.on(self.model)
        single = not transaction or (operation.name == "get_many" and not self._is_strong())
        single = single or self._within_a_scope([operation]) != [operation]
        found = operation.on(engine if single else InTransactions(engine))
        checks.equal(found, expected, f"what {operation} comes to")

    @rule(operations=st.lists(writes | reads, min_size=1, max_size=8), end=st.integers(0, 3), other=st.booleans())
    @precondition(_is_strong)
    def transact(self, operations: list[Operation], end: int, other: bool) -> None:
        """Several operations in one transaction, which commits, or is abandoned, or raises."""
        operations = self._within_a_scope(operations)
        after = self.model.copy()
        expected = [operation.on(after) for operation in operations]

        def change(transaction: Transaction) -> list[tuple[str, Any]]:
            found = [operation.on(transaction) for operation in operations]
            if end == 2:
                return transaction.abandon(found)
            if end == 3:
                checks.equal(found, expected, f"what {operations} come to")
                raise _Stop
            return found

        if end == 3:
            with contextlib.suppress(_Stop):
                self.engines[other].write(change)
                raise checks.Failed("what a write function raised did not come out")
            return
        checks.equal(self.engines[other].write(change), expected, f"what {operations} come to")
        if end < 2:
            self.model = after

    @rule(operations=st.lists(reads, min_size=1, max_size=6), other=st.booleans())
    @precondition(_is_strong)
    def look(self, operations: list[Operation], other: bool) -> None:
        """Several reads in one snapshot."""
        operations = self._within_a_scope(operations)
        found = self.engines[other].read(lambda reader: [operation.on(reader) for operation in operations])
        checks.equal(found, [operation.on(self.model) for operation in operations], f"what {operations} come to")

    @rule()
    @precondition(_can_reopen)
    def reopen(self) -> None:
        """Close everything, and open the store again."""
        self.kit.reopen()
        self._connect()

    @rule()
    def compare(self) -> None:
        """All that there is, in order."""
        for table, _ in _RECORDS:
            for engine in self.engines:
                expected = self.model.scan(table, limit=10_000)
                checks.equal(engine.scan(table, limit=10_000), expected, f"all rows of {table.name}")


def machine_for(harness: Harness) -> type[EngineMachine]:
    """A state machine over this harness, which each of its examples gives a fresh store."""
    return type("Model", (EngineMachine,), {"harness": harness})


def run_model(
    harness: Harness, *, examples: int = 10, steps: int = 30, derandomize: bool = True, shrink: bool = True
) -> None:
    """Run so many examples of so many steps each; raises what the first one that fails raises.

    With `derandomize` the examples are the same in every run. With `shrink` a failing one is made small first, which
    takes its time.
    """
    run_state_machine_as_test(
        machine_for(harness),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=derandomize,
            database=None,
            phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
