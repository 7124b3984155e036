"""M1 to M4: steps applied in order and once, newer stores left alone, half-dead migrations, rows older than columns."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    ALARMS,
    GAUGES,
    GAUGES_OF_ONE,
    GROWING,
    MARKS,
    SCHEMA,
    TRACES,
    TRACES_OF_ONE,
    Alarm,
    Gauge,
    GaugeOfOne,
    Mark,
    Trace,
    TraceOfOne,
)
from strongroom.conformance.threads import Started, errors_of, together
from strongroom.engine import Engine, Sharing, Strength, Transaction
from strongroom.engine.catalog import CATALOG, FACTS, STEPS, AppliedStep
from strongroom.errors import Corrupt, MigrationFailed, SchemaTooNew, TooLarge
from strongroom.records import REPLACEABLE, AnyTable, Identifier, Record, Schema, Table

ONE, TWO, THREE = GROWING


def steps(engine: Engine) -> list[AppliedStep]:
    """The steps of the growing schema that the store has on record."""
    return engine.scan(STEPS, "growing", limit=100)


def use(engine: Engine) -> None:
    """Use all that version 3 has."""
    engine.insert(GAUGES, Gauge("new", 1, "bar", 5))
    engine.update(GAUGES, Gauge("new", 2, "none", None), expect=1)
    engine.insert(TRACES, Trace("new", "here"))
    engine.insert(ALARMS, Alarm("new"))
    checks.equal(engine.get(GAUGES, "new"), Gauge("new", 2), "a gauge")
    checks.equal(engine.get(TRACES, "new"), Trace("new", "here"), "a trace")
    checks.equal(engine.get(ALARMS, "new"), Alarm("new"), "an alarm")


class Word(Record):
    """A record whose columns are called by words of SQL's."""

    order: Annotated[str, Identifier(20)]
    select: Annotated[str, Identifier(20)]
    k0: int = 1


WORDS: Final = [
    Table(name, Word, key=("order", "select"), changes=REPLACEABLE)
    for name in ("user", "values", "excluded", "wanted", "found", "done", "new", "word", "word_pkey", "word_key")
]


@case("M1", strength=Strength.MULTI_RECORD, across=True)
def tables_and_columns_may_be_called_by_words_that_a_database_uses_itself(kit: Kit) -> None:
    engine = kit.open(Schema("words", *WORDS))
    one, two = Word("a", "b"), Word("a", "c")

    def put_two(transaction: Transaction, table: Table[Word]) -> None:
        transaction.put(table, one)
        transaction.put(table, two)

    for table in WORDS:
        engine.insert(table, one)
        engine.put(table, one.replace(k0=2))
        engine.write(partial(put_two, table=table))
        checks.equal(engine.get_many(table, [("a", "c"), ("b", "b"), ("a", "b")]), [two, None, one], table.name)
        checks.equal(engine.count(table, "a", limit=9), len(engine.scan(table, "a", limit=9)), table.name)
        checks.true(engine.delete(table, "a", "b", expect=one), table.name)


@case("M1")
def steps_are_recorded_in_order_with_what_they_did(kit: Kit) -> None:
    engine = kit.open(THREE)
    recorded = steps(engine)
    checks.equal([step.number for step in recorded], [1, 2, 3], "the steps on record")
    checks.equal([step.digest for step in recorded], [step.digest for step in THREE.steps], "their digests")
    checks.true(all(step.applied_at > 0 and step.summary for step in recorded), "when and what is on record")
    checks.true(engine.scan(STEPS, CATALOG.name, limit=9), "the catalog's own steps are on record")
    use(engine)


@case("M1")
def a_store_that_is_up_to_date_is_left_as_it_is(kit: Kit) -> None:
    engine = kit.open(THREE)
    use(engine)
    before = steps(engine), engine.scan(FACTS, limit=100), engine.epoch
    for _ in range(3):
        engine.prepare(THREE)
        other = kit.open(THREE) if engine.claims.sharing >= Sharing.PROCESS else engine
        checks.equal((steps(other), other.scan(FACTS, limit=100), other.epoch), before, "the catalog")
    checks.equal(engine.get(GAUGES, "new"), Gauge("new", 2), "a row")


@case("M1", Ability.IMAGE, reopens=True)
def opening_a_store_that_is_up_to_date_writes_nothing(kit: Kit) -> None:
    use(kit.open(THREE))
    kit.close()
    before = kit.harness.image()
    for _ in range(2):
        engine = kit.open(THREE)
        checks.equal(engine.get(ALARMS, "new"), Alarm("new"), "a row")
        kit.close()
        checks.true(kit.harness.image() == before, "the store's bytes changed when it was opened and closed")


@case("M1")
def a_store_is_brought_up_from_any_version(kit: Kit) -> None:
    engine = kit.open(ONE)
    engine.insert(GAUGES_OF_ONE, GaugeOfOne("old", 7))
    engine.insert(TRACES_OF_ONE, TraceOfOne("old"))
    first = steps(engine)
    for schema in (TWO, THREE):
        engine.prepare(schema)
        checks.equal([s.number for s in steps(engine)], list(range(1, schema.version + 1)), "the steps on record")
        checks.equal(steps(engine)[0], first[0], "the record of the first step")
        checks.equal(engine.get(GAUGES, "old"), Gauge("old", 7), "an older row")
        checks.equal(engine.get(TRACES, "old"), Trace("old"), "an older row that never changes")
    use(engine)


@case("M1")
def schemas_of_several_domains_share_a_store(kit: Kit) -> None:
    engine = kit.open(SCHEMA)
    engine.insert(MARKS, Mark("a"))
    for schema in GROWING:
        engine.prepare(schema)
        engine.prepare(SCHEMA)
    use(engine)
    checks.equal(engine.get(MARKS, "a"), Mark("a"), "the other domain's row")
    checks.equal([s.number for s in engine.scan(STEPS, SCHEMA.name, limit=9)], [1], "the other domain's steps")
    names = engine.tables()
    checks.true({"marks", "gauges", "alarms", "strongroom_steps"} <= names, f"tables are missing among {sorted(names)}")


class _GaugeOfAnother(Record):
    name: Annotated[str, Identifier(64)]
    value: Annotated[str, Identifier(10)]


@case("M1")
def a_step_that_was_changed_after_the_fact_is_refused(kit: Kit) -> None:
    engine = kit.open(ONE)
    other = Schema("growing", Table("gauges", _GaugeOfAnother, key=("name",)), TRACES_OF_ONE)
    checks.raises(MigrationFailed, "another step 1", engine.prepare, other, naming=["growing", "1"])
    checks.equal(len(steps(engine)), 1, "steps on record")
    engine.prepare(TWO)


@case("M1", Ability.TAMPER)
def a_hole_in_the_record_is_refused(kit: Kit) -> None:
    engine = kit.open(THREE)
    kit.harness.remove(STEPS, ("growing", 2))
    other = kit.open(None) if engine.claims.sharing >= Sharing.PROCESS else engine
    checks.raises(MigrationFailed, "a store without step 2", other.prepare, THREE, naming=["growing", "2"])


@case("M2")
def a_store_of_newer_code_is_refused_and_left_as_it_is(kit: Kit) -> None:
    for newer, older in ((THREE, ONE), (THREE, TWO), (TWO, ONE)):
        kit.fresh()
        engine = kit.open(newer)
        engine.insert(GAUGES, Gauge("new", 1, "bar", 5))
        before = steps(engine), engine.scan(FACTS, limit=9), engine.tables()
        other = kit.open(None) if engine.claims.sharing >= Sharing.PROCESS else engine
        versions = (str(newer.version), str(older.version))
        fault = checks.raises(SchemaTooNew, f"{newer} by {older}", other.prepare, older, naming=["growing", *versions])
        checks.true(not fault.retryable, "SchemaTooNew is not retryable")
        checks.equal((steps(engine), engine.scan(FACTS, limit=9), engine.tables()), before, "the catalog afterwards")
        checks.equal(engine.get(GAUGES, "new"), Gauge("new", 1, "bar", 5), "a row afterwards")


@case("M2", Ability.IMAGE, reopens=True)
def not_a_byte_of_a_store_of_newer_code_is_changed(kit: Kit) -> None:
    use(kit.open(THREE))
    kit.close()
    before = kit.harness.image()
    engine = kit.open(None)
    checks.raises(SchemaTooNew, "an older schema", engine.prepare, ONE)
    kit.close()
    checks.true(kit.harness.image() == before, "the store's bytes changed when older code was turned away")


class Died(BaseException):
    """The process is taken to have died here."""


class Dying:
    """A migration's rows that stop after so many changes."""

    CHANGES: Final = ("create", "add_column", "insert", "put")

    def __init__(self, rows: Any, changes: int) -> None:
        self._rows = rows
        self._left = changes

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._rows, name)
        if name not in self.CHANGES:
            return operation

        def change(*args: Any) -> Any:
            result = operation(*args)
            self._left -= 1
            if self._left == 0:
                raise Died
            return result

        return change


def dies_after(engine: Engine, changes: int) -> None:
    """Have the engine's next migrations die after so many changes."""
    migrate = engine._migrate

    def dying(work: Callable[[Any], Any]) -> Any:
        return migrate(lambda rows: work(Dying(rows, changes)))

    vars(engine)["_migrate"] = dying


def _next_open(kit: Kit, engine: Engine) -> Engine:
    """The store as the next to open it finds it, brought up to version 3."""
    if engine.claims.reopens:
        return kit.reopen(THREE)
    if engine.claims.sharing >= Sharing.PROCESS:
        return kit.open(THREE)
    del vars(engine)["_migrate"]  # nobody else can ever open it: the engine lives on
    engine.prepare(THREE)
    return engine


@case("M3")
def a_migration_that_died_after_any_change_is_finished_by_the_next_open(kit: Kit) -> None:
    for changes in range(1, 100):
        kit.fresh()
        engine = kit.open(None)
        dies_after(engine, changes)
        try:
            engine.prepare(THREE)
        except Died:
            pass
        else:
            checks.true(changes > 5, "the migration made next to no changes")
            return
        after = _next_open(kit, engine)
        checks.equal([s.number for s in steps(after)], [1, 2, 3], f"the steps after a death at change {changes}")
        checks.equal([s.digest for s in steps(after)], [s.digest for s in THREE.steps], "their digests")
        use(after)
    raise checks.Failed("the migration never ended")


@case("M3")
def an_upgrade_that_died_after_any_change_is_finished_by_the_next_open(kit: Kit) -> None:
    for changes in range(1, 100):
        kit.fresh()
        engine = kit.open(ONE)
        engine.insert(GAUGES_OF_ONE, GaugeOfOne("old", 7))
        engine.insert(TRACES_OF_ONE, TraceOfOne("old"))
        dies_after(engine, changes)
        try:
            engine.prepare(THREE)
        except Died:
            pass
        else:
            checks.true(changes > 3, "the upgrade made next to no changes")
            return
        after = _next_open(kit, engine)
        checks.equal([s.number for s in steps(after)], [1, 2, 3], f"the steps after a death at change {changes}")
        checks.equal(after.scan(GAUGES, limit=9), [Gauge("old", 7)], "the gauges")
        checks.equal(after.scan(TRACES, limit=9), [Trace("old")], "the traces")
        use(after)
    raise checks.Failed("the upgrade never ended")


@case("M3")
def those_who_open_at_once_migrate_once(kit: Kit) -> None:
    for begin in (None, ONE):
        kit.fresh()
        first = kit.open(begin)
        if begin is not None:
            first.insert(GAUGES_OF_ONE, GaugeOfOne("old", 7))
        shared = first.claims.sharing >= Sharing.PROCESS
        engines = [kit.open(None) if shared else first for _ in range(6)]
        ended = together([partial(engine.prepare, THREE) for engine in engines])
        checks.equal(errors_of(ended), [], "faults")
        for engine in engines:
            checks.equal([s.number for s in steps(engine)], [1, 2, 3], "the steps on record")
        checks.equal(len({engine.epoch for engine in engines}), 1, "epochs")
        use(engines[0])


OVERTAKING: Final = 1.0
"""Seconds that a migration gets to overtake one that waits for it; where migrations wait for one another it can't."""


class Overtaken:
    """A migration's rows that call `meet` before a table is made or changed that is none of the engine's own."""

    def __init__(self, rows: Any, meet: Callable[[], None]) -> None:
        self._rows = rows
        self._meet = meet

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._rows, name)
        if name not in ("create", "add_column"):
            return operation

        def change(table: AnyTable, what: Any) -> Any:
            if table not in (STEPS, FACTS):
                self._meet()
            return operation(table, what)

        return change


@case("M3")
def a_migration_that_another_overtakes_comes_to_the_same_end(kit: Kit) -> None:
    for begin in (None, ONE):
        kit.fresh()
        engine = kit.open(begin)
        other = kit.open(None) if engine.claims.sharing >= Sharing.PROCESS else engine
        migrate, overtaking = engine._migrate, list[Started[None]]()

        def meet(other: Engine = other, overtaking: list[Started[None]] = overtaking) -> None:
            if not overtaking:
                overtaking.append(Started(partial(other.prepare, THREE)))
                overtaking[0].wait(OVERTAKING)

        vars(engine)["_migrate"] = lambda work, migrate=migrate, meet=meet: migrate(
            lambda rows: work(Overtaken(rows, meet))
        )
        engine.prepare(THREE)
        overtaking[0].end("the migration that overtakes").value()
        for one in (engine, other):
            checks.equal([s.number for s in steps(one)], [1, 2, 3], "the steps on record")
        use(engine)


class Longest(Record):
    """A record whose key is longer than some databases have it."""

    one: Annotated[str, Identifier(1024)]
    two: Annotated[str, Identifier(1024)]
    three: Annotated[str, Identifier(1024)]
    four: Annotated[str, Identifier(1024)]


@case("M3")
def a_step_that_the_database_refuses_is_not_on_record(kit: Kit) -> None:
    """Whether its table can be made or not, whoever prepares the schema is told, every time."""
    table = Table("longest", Longest, key=("one", "two", "three", "four"))
    schema, record = Schema("longest", table), Longest("1", "2", "3", "4")
    engine = kit.open(ONE)
    for _ in range(2):
        try:
            engine.prepare(schema)
        except (MigrationFailed, TooLarge):
            checks.equal(engine.scan(STEPS, "longest", limit=9), [], "the steps on record of a table that was refused")
            checks.true("longest" not in engine.tables(), "a table that was refused is there")
            continue
        if engine.get(table, *table.key_in(record)) is None:
            engine.insert(table, record)
    engine.prepare(TWO)


@case("M4")
def rows_from_before_a_column_go_on_being_proved(kit: Kit) -> None:
    engine = kit.open(ONE)
    for number in range(5):
        engine.insert(GAUGES_OF_ONE, GaugeOfOne(f"g{number}", number))
        engine.insert(TRACES_OF_ONE, TraceOfOne(f"t{number}"))
    engine.prepare(THREE)
    engine.insert(GAUGES, Gauge("g2a", 9, "bar", 0))
    engine.update(GAUGES, Gauge("g3", 8, "none", None), expect=3)
    engine.update(GAUGES, Gauge("g4", 8, "bar", 1), expect=Gauge("g4", 4))
    expected = [Gauge("g0", 0), Gauge("g1", 1), Gauge("g2", 2), Gauge("g2a", 9, "bar", 0), Gauge("g3", 8)]
    expected.append(Gauge("g4", 8, "bar", 1))
    checks.equal(engine.scan(GAUGES, limit=9), expected, "older and newer rows together")
    checks.equal(engine.scan(TRACES, limit=9), [Trace(f"t{n}") for n in range(5)], "older rows that never change")
    checks.true(not any(isinstance(row, Corrupt) for _, row in engine.examine(GAUGES, limit=9)), "a row reads as bad")
    if engine.claims.reopens:
        again = kit.reopen(THREE)
        checks.equal(again.scan(GAUGES, limit=9), expected, "the rows after reopening")


@case("M4", Ability.TAMPER)
def a_later_column_is_sealed_whether_it_holds_its_default_or_not(kit: Kit) -> None:
    engine = kit.open(ONE)
    engine.insert(GAUGES_OF_ONE, GaugeOfOne("old", 7))
    engine.prepare(THREE)
    engine.insert(GAUGES, Gauge("new", 7, "bar", 5))
    engine.insert(GAUGES, Gauge("plain", 7))
    for name, column, value in (
        *(("old", "unit", "bar"), ("old", "level", 0), ("plain", "level", 0)),
        *(("new", "unit", "none"), ("new", "level", None)),
    ):
        before = (kit.harness.peek(GAUGES, (name,)) or {})[column]
        kit.harness.tamper(GAUGES, (name,), column, value)
        checks.raises(Corrupt, f"{name}.{column} became {value!r}", engine.get, GAUGES, name, naming=["gauges"])
        kit.harness.tamper(GAUGES, (name,), column, before)
        checks.true(engine.get(GAUGES, name) is not None, "the row when all is as it was")
