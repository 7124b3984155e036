"""L4: the links of a chain, whoever appends, and the check that names what is wrong with one and goes on."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from functools import partial
from typing import Any

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.pattern_tables import (
    CHAIN,
    CHAINED,
    FORMAT,
    LINES,
    TOPICAL,
    TOPICS,
    ChainEntry,
    Line,
    Topic,
    another,
    entry,
    prepared,
    sound_lines,
)
from strongroom.conformance.threads import Started, errors_of, together
from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument, Unsupported
from strongroom.patterns import (
    EMPTY_DIGEST,
    Chain,
    ChainFinding,
    ChainHeadBroken,
    ChainReport,
    Checkpoint,
    EntryUnreadable,
    Link,
    digest,
)

F = ChainFinding


def append(chain: Chain[Line, ChainEntry], engine: Engine, topic: str, text: str = "") -> bytes:
    """Append one entry, and the line that it became."""
    return chain.append(engine, "s", make=lambda link: entry(link, topic, text)).line


def keep_lines(kit: Kit, lines: list[bytes]) -> None:
    kit.keep(LINES, [Line("s", place, line) for place, line in enumerate(lines, 1)])


def found(report: ChainReport) -> list[tuple[int, str]]:
    return [(finding.sequence, str(finding.kind)) for finding in report.findings]


def named(*findings: tuple[int, ChainFinding]) -> list[tuple[int, str]]:
    return [(sequence, str(kind)) for sequence, kind in findings]


@case("L4")
def a_line_links_to_the_exact_bytes_before_it(kit: Kit) -> None:
    """Also to bytes that would be written otherwise today: their order, white space and escapes count."""
    engine = prepared(kit, CHAINED)
    odd = sound_lines(1)[0].replace(b'":', b'" :\t').replace(b"note", b"n\\u006fte")
    engine.insert(LINES, Line("s", 1, odd))
    lines = [odd, append(CHAIN, engine, "2"), append(CHAIN, engine, "3", 'é "quoted"')]
    checks.equal(FORMAT.parse(lines[1]).previous, digest(odd), "the link of the second")
    checks.equal(FORMAT.parse(lines[2]).previous, digest(lines[1]), "the link of the third")
    checks.equal([one.line for one in CHAIN.read(engine, "s", limit=9)], lines, "the lines that are stored")
    checks.equal(CHAIN.head(engine, "s"), Checkpoint("0" * 32, 3, digest(lines[2])), "the head")
    checks.equal(found(CHAIN.verify(engine, "s")), [], "findings")


@case("L4")
def chains_begin_with_a_trail_of_their_own_and_carry_it_on(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    checks.equal(CHAIN.head(engine, "s"), None, "the head of an empty chain")
    first, second = FORMAT.parse(append(CHAIN, engine, "1")), FORMAT.parse(append(CHAIN, engine, "2"))
    other = CHAIN.append(engine, "t", make=lambda link: entry(link, "1")).entry
    checks.equal((first.sequence, first.previous), (1, EMPTY_DIGEST), "the first place and link")
    checks.equal(second.trail, first.trail, "the trail of the second entry")
    checks.true(other.trail != first.trail, "another chain has another trail")
    checks.equal((other.sequence, other.previous), (1, EMPTY_DIGEST), "the first place and link of another chain")


@case("L4")
def concurrent_appenders_never_fork_a_chain(kit: Kit) -> None:
    writers, each = 6, 4
    engines = [prepared(kit, CHAINED), another(kit, CHAINED)]
    chain = TOPICAL if kit.claims.strength >= Strength.MULTI_RECORD else CHAIN

    def write(writer: int) -> None:
        for number in range(each):
            append(chain, engines[writer % 2], f"{writer}.{number}")

    checks.equal(errors_of(together([partial(write, one) for one in range(writers)], "a writer")), [], "faults")
    for engine in engines:
        report = chain.verify(engine, "s", page=7)
        checks.equal((found(report), report.lines), ([], writers * each), "findings and lines")
    appended = [append(chain, engines[number % 2], f"in turn {number}") for number in range(4)]
    checks.equal([one.line for one in chain.read(engines[0], "s", after=24, limit=9)], appended, "appends in turn")
    checks.equal(found(chain.verify(engines[1], "s")), [], "findings after appends in turn")


@case("L4", strength=Strength.MULTI_RECORD)
def an_append_that_another_overtakes_goes_behind_it(kit: Kit) -> None:
    """The other comes just before the transaction, when whoever looked for the head earlier has an old one."""
    engine, other = prepared(kit, CHAINED), another(kit, CHAINED)
    write, rivals = engine._write, ["first"]

    def overtaken(work: Any, abandoned: Any) -> Any:
        if rivals:
            Started(partial(append, TOPICAL, other, rivals.pop())).end("the one that overtakes").value()
        return write(work, abandoned)

    append(TOPICAL, engine, "before")
    vars(engine)["_write"] = overtaken
    append(TOPICAL, engine, "second")
    del vars(engine)["_write"]
    topics = [FORMAT.parse(one.line).topic for one in TOPICAL.read(engine, "s", limit=9)]
    checks.equal(topics, ["before", "first", "second"], "the topics")
    checks.equal(found(TOPICAL.verify(engine, "s")), [], "findings")


@case("L4", strength=Strength.MULTI_RECORD)
def an_entry_is_in_its_chain_only_if_its_transaction_commits(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)

    def fail(transaction: Transaction) -> None:
        TOPICAL.append_in(transaction, "s", make=lambda link: entry(link, "a", "failed"))
        raise ValueError("failed")

    def give_up(transaction: Transaction) -> None:
        transaction.abandon(TOPICAL.append_in(transaction, "s", make=lambda link: entry(link, "a", "abandoned")))

    def twice(transaction: Transaction) -> None:
        for topic in ("b", "c"):
            TOPICAL.append_in(transaction, "s", make=partial(entry, topic=topic))

    checks.raises(ValueError, "an append that fails", engine.write, fail)
    engine.write(give_up)
    append(TOPICAL, engine, "a", "kept")
    engine.write(twice)
    entries = [FORMAT.parse(one.line) for one in TOPICAL.read(engine, "s", limit=9)]
    checks.equal([(one.topic, one.text) for one in entries], [("a", "kept"), ("b", ""), ("c", "")], "what was kept")
    checks.equal(found(TOPICAL.verify(engine, "s")), [], "findings")


@case("L4", strength=Strength.MULTI_RECORD)
def a_second_entry_about_a_topic_is_refused_whoever_is_first(kit: Kit) -> None:
    engines = [prepared(kit, CHAINED), another(kit, CHAINED)]
    ended = together([partial(append, TOPICAL, engines[one % 2], "the same") for one in range(4)], "an appender")
    checks.equal([type(fault) for fault in errors_of(ended)], [AlreadyExists] * 3, "the faults of three of four")

    def again(transaction: Transaction) -> None:
        make = partial(entry, topic="the same")
        checks.raises(AlreadyExists, "a second entry", TOPICAL.append_in, transaction, "s", make=make)
        TOPICAL.append_in(transaction, "s", make=lambda link: entry(link, "another"))

    engines[0].write(again)
    topics = [FORMAT.parse(one.line).topic for one in TOPICAL.read(engines[1], "s", limit=9)]
    checks.equal(topics, ["the same", "another"], "the topics")
    place = TOPICAL.find(engines[1], "s", topic="another")
    checks.equal(place and place.sequence, 2, "the place that a topic leads to")
    checks.equal(found(TOPICAL.verify(engines[1], "s")), [], "findings")


@case("L4", below=Strength.MULTI_RECORD)
def a_chain_with_topics_is_refused_where_transactions_are_too_weak(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    checks.raises(Unsupported, "an append", append, TOPICAL, engine, "a", naming=["chain_lines", engine.name])
    checks.equal(engine.count(LINES, limit=5) + engine.count(TOPICS, limit=5), 0, "rows")


@case("L4")
def nothing_is_appended_behind_a_line_that_is_no_entry(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    line = sound_lines(1)[0]
    elsewhere = FORMAT.render(entry(Link("0" * 32, 2, EMPTY_DIGEST), "1"))
    repeated = line[:-1] + b',"text":"two"}'
    for stream, last in (("a", b""), ("b", b"no entry"), ("c", line + b"\n"), ("d", elsewhere), ("e", repeated)):
        engine.insert(LINES, Line(stream, 1, last))
        make = partial(entry, topic="2")
        fault = checks.raises(ChainHeadBroken, f"an append to {stream}", CHAIN.append, engine, stream, make=make)
        checks.equal((fault.table, fault.key, fault.column), ("chain_lines", (stream, 1), "line"), "what it names")
        checks.equal(engine.count(LINES, stream, limit=5), 1, f"the lines of {stream}")
    place = FORMAT.max_sequence
    engine.insert(LINES, Line("full", place, FORMAT.render(entry(Link("0" * 32, place, EMPTY_DIGEST), "1"))))
    checks.raises(ChainHeadBroken, "behind the last place", CHAIN.append, engine, "full", make=partial(entry, topic=""))


@case("L4")
def an_entry_that_would_not_be_read_back_is_not_written(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    checks.raises(EntryUnreadable, "an entry that is too long", append, CHAIN, engine, "1", "x" * 1000)
    checks.raises(EntryUnreadable, "a text that has no bytes", append, CHAIN, engine, "1", "\ud800")
    wrong: list[dict[str, Any]] = [{"trail": "f" * 32}, {"sequence": 2}, {"previous": digest(b"another line")}]
    for parts in wrong:

        def make(link: Link, parts: dict[str, Any] = parts) -> ChainEntry:
            given = {"trail": link.trail, "sequence": link.sequence, "previous": link.previous, **parts}
            return entry(Link(**given), "1")

        checks.raises(InvalidArgument, f"another {next(iter(parts))}", CHAIN.append, engine, "s", make=make)
    checks.equal(engine.count(LINES, limit=5), 0, "lines")


@case("L4")
def what_is_wrong_is_named_by_place_and_kind_and_the_check_goes_on(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    lines = sound_lines(9)
    lines[1] = lines[1].replace(b'"text":""', b'"text":"!"')
    lines[3] = b"no entry"
    lines[5] = lines[5].replace(b'"text":""', b'"text":"","text":""')
    lines[7] = FORMAT.render(entry(Link("f" * 32, 8, digest(lines[6])), "8"))
    keep_lines(kit, lines)
    expected = named(
        (3, F.PREVIOUS_MISMATCH),
        (4, F.ENTRY_MALFORMED),
        (5, F.PREVIOUS_MISMATCH),
        (6, F.ENTRY_MALFORMED),
        (7, F.PREVIOUS_MISMATCH),
        (8, F.TRAIL_MISMATCH),
        (9, F.PREVIOUS_MISMATCH),
    )
    for page in (1, 2, 1000):
        report = CHAIN.verify(engine, "s", page=page)
        checks.equal(found(report), expected, f"findings, in pages of {page}")
        checks.equal((report.valid, report.lines, report.total), (False, 9, 7), "validity, lines and how many findings")
    some = CHAIN.verify(engine, "s", most=2)
    checks.equal((found(some), some.total), (expected[:2], 7), "the first findings, and how many there are")


@case("L4")
def lines_that_are_missing_or_out_of_place_are_named(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    lines = sound_lines(7)
    lines[5], lines[6] = lines[6], lines[5]
    kit.keep(LINES, [Line("s", place, line) for place, line in enumerate(lines, 1) if place not in (1, 4)])
    expected = named(
        (1, F.SEQUENCE_MISMATCH),
        (2, F.PREVIOUS_MISMATCH),
        (4, F.SEQUENCE_MISMATCH),
        (5, F.PREVIOUS_MISMATCH),
        (6, F.SEQUENCE_MISMATCH),
        (6, F.PREVIOUS_MISMATCH),
        (7, F.SEQUENCE_MISMATCH),
        (7, F.PREVIOUS_MISMATCH),
    )
    checks.equal(found(CHAIN.verify(engine, "s")), expected, "findings")
    checks.raises(
        Corrupt, "a read over the hole", CHAIN.read, engine, "s", after=2, limit=9, naming=["chain_lines", "4"]
    )
    checks.equal(CHAIN.read(engine, "s", after=4, limit=1)[0].line, lines[4], "the line behind the hole")


@case("L4")
def only_what_is_held_elsewhere_shows_a_cut_tail_and_a_chain_written_anew(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    lines = sound_lines(5)
    held = {place: Checkpoint("0" * 32, place, digest(line)) for place, line in enumerate(lines, 1)}
    keep_lines(kit, lines[:4])
    report = CHAIN.verify(engine, "s", checkpoints=[held[1], held[3]], entries=[lines[1]])
    checks.equal((found(report), report.matched, report.through), ([], 2, 3), "a chain that is as it was")
    checks.equal([report.witnessed(place) for place in (1, 3, 4)], [True, True, False], "which entries are witnessed")
    checks.equal(found(CHAIN.verify(engine, "s")), [], "a cut tail by itself")
    cut = CHAIN.verify(engine, "s", checkpoints=[held[5], held[1]], entries=[lines[4]])
    checks.equal(
        found(cut), named((5, F.ENTRY_BEYOND_CHAIN), (5, F.CHECKPOINT_BEYOND_CHAIN)), "a cut tail, held elsewhere"
    )
    other = sound_lines(4, "anew")
    checks.equal(
        found(CHAIN.verify(engine, "s", checkpoints=[Checkpoint("0" * 32, 2, digest(other[1]))], entries=[other[2]])),
        named((2, F.CHECKPOINT_RECORD_MISMATCH), (3, F.ENTRY_MISMATCH)),
        "another chain than the one that was held",
    )
    foreign = Checkpoint("f" * 32, 2, held[2].digest)
    checks.equal(
        found(CHAIN.verify(engine, "s", checkpoints=[foreign])),
        named((2, F.CHECKPOINT_TRAIL_MISMATCH)),
        "another trail",
    )


@case("L4")
def a_topic_of_two_entries_and_a_list_that_leads_astray_are_named(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    lines = sound_lines(2)
    lines.append(FORMAT.render(entry(Link("0" * 32, 3, digest(lines[1])), "1")))
    keep_lines(kit, lines)
    kit.keep(TOPICS, [Topic("s", "1", 1), Topic("s", "2", 2)])
    checks.equal(found(TOPICAL.verify(engine, "s", page=2)), named((3, F.TOPIC_NAMED_TWICE)), "a topic named twice")
    kit.keep(LINES, [Line("t", place, line) for place, line in enumerate(sound_lines(2), 1)])
    kit.keep(TOPICS, [Topic("t", "1", 1), Topic("t", "3", 2)])
    checks.equal(
        found(TOPICAL.verify(engine, "t")), named((2, F.TOPIC_MISMATCH), (2, F.TOPIC_MISMATCH)), "a list led astray"
    )


@case("L4", Ability.TAMPER)
def a_row_that_was_tampered_with_is_named_and_the_check_goes_on(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    lines = sound_lines(6)
    keep_lines(kit, lines)
    kit.harness.tamper(LINES, ("s", 3), "line", lines[2].replace(b'"text":""', b'"text":"!"'))
    kit.harness.remove(LINES, ("s", 5))
    expected = named((3, F.ROW_CORRUPT), (5, F.SEQUENCE_MISMATCH), (6, F.PREVIOUS_MISMATCH))
    for page in (1, 4, 1000):
        report = CHAIN.verify(engine, "s", page=page)
        checks.equal((found(report), report.lines), (expected, 5), f"findings and lines, in pages of {page}")
    kit.harness.tamper(LINES, ("s", 6), "line", b"")
    checks.raises(Corrupt, "an append behind a row that is not what was written", append, CHAIN, engine, "7")


@case("L4", reopens=True)
def a_chain_goes_on_after_a_restart_where_it_was(kit: Kit) -> None:
    engine = prepared(kit, CHAINED)
    append(CHAIN, engine, "1")
    head = CHAIN.head(engine, "s")
    engine = kit.reopen()
    engine.prepare(CHAINED)
    checks.equal(CHAIN.head(engine, "s"), head, "the head after reopening")
    append(CHAIN, engine, "2")
    report = CHAIN.verify(engine, "s", checkpoints=[head] if head else [])
    checks.equal((found(report), report.lines, report.matched), ([], 2, 1), "findings, lines and checkpoints matched")
