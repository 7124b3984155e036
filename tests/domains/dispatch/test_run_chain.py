"""The run chain: lines to the byte, links to what is stored, checkpoints, and every fault named."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import RUN_LINES, RunEntry, RunState, Unreadable, finding_name, read_checkpoints
from strongroom.domains.dispatch.records import (
    CHAIN_LINES,
    CHAIN_RUNS,
    OUTCOMES,
    SUBMISSIONS,
    ChainLine,
    ChainRun,
    Outcome,
)
from strongroom.domains.dispatch.trigger_records import SCHEMA
from strongroom.patterns import EMPTY_DIGEST, ChainReport, Checkpoint, check_file, digest
from tests.domains.dispatch.samples import (
    OWNER,
    RECORD,
    WORKSPACE,
    Yard,
    completed,
    failed,
    insert_row,
    overwrite_row,
    remove_row,
    retried,
    state_of,
)


@pytest.fixture
def loose() -> Yard:
    """A yard whose engine guards no rows, so that a test can be the intruder."""
    return Yard(dispatch.open(strongroom.open("memory://")).for_workspace(WORKSPACE, owner=OWNER))


def found(report: ChainReport) -> list[tuple[str, int]]:
    return [(finding_name(finding.kind), finding.sequence) for finding in report.findings]


def line(sequence: int, previous: bytes | None, run: str = "run_x", trail: str = "0" * 32) -> bytes:
    link = EMPTY_DIGEST if previous is None else digest(previous)
    return RUN_LINES.render(RunEntry("1", trail, sequence, link, "run", run, digest(RECORD)))


def rewrite(yard: Yard, sequence: int, new: bytes) -> None:
    overwrite_row(yard.engine, CHAIN_LINES, ChainLine(WORKSPACE, sequence, new))


def outcome_of(yard: Yard, run: str) -> Outcome:
    kept = yard.engine.get(OUTCOMES, WORKSPACE, yard.run(run).number)
    assert kept is not None
    return kept


def test_a_line_has_its_members_in_order_and_links_to_the_bytes_before(yard: Yard) -> None:
    runs = [yard.complete(record=b"first"), yard.complete(record=b"second")]
    first, second = yard.lines()
    told = json.loads(first)
    assert list(told) == ["entryVersion", "trail", "sequence", "previous", "kind", "run", "auditDigest"]
    assert (told["entryVersion"], told["kind"], told["sequence"], told["run"]) == ("1", "run", 1, runs[0])
    assert told["previous"] == EMPTY_DIGEST
    assert told["auditDigest"] == digest(b"first")
    assert len(told["trail"]) == 32
    assert b" " not in first
    next_told = json.loads(second)
    assert next_told["previous"] == digest(first)
    assert next_told["trail"] == told["trail"]
    assert yard.workspace.chain.head() == Checkpoint(told["trail"], 2, digest(second))
    assert yard.workspace.chain.entry_line(runs[1]) == second


def test_the_chain_goes_on_behind_a_restart_and_failed_runs_have_no_part_in_it(yard: Yard) -> None:
    yard.complete()
    yard.submit()
    yard.dispatcher.finish(yard.claim(), failed())
    yard.submit()
    yard.claim()
    yard.workspace.dispatcher().restart()
    yard.complete()
    assert [RUN_LINES.parse(one).sequence for one in yard.lines()] == [1, 2]
    assert yard.workspace.chain.verify().valid


def test_concurrent_completions_neither_repeat_nor_skip_a_place(yard: Yard) -> None:
    for _ in range(64):
        yard.submit()
    claims = [claim for _ in range(4) for claim in yard.dispatcher.claim(16)]
    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(lambda claim: retried(lambda: yard.dispatcher.finish(claim, completed())), claims))
    assert [RUN_LINES.parse(one).sequence for one in yard.lines()] == list(range(1, 65))
    report = yard.workspace.chain.verify()
    assert (report.valid, report.lines) == (True, 64)


def test_a_chain_is_read_whole_across_pages(loose: Yard) -> None:
    before: bytes | None = None
    for sequence in range(1, 2346):
        before = line(sequence, before, f"run_{sequence}")
        insert_row(loose.engine, CHAIN_LINES, ChainLine(WORKSPACE, sequence, before))
        insert_row(loose.engine, CHAIN_RUNS, ChainRun(WORKSPACE, f"run_{sequence}", sequence))
    lines: list[bytes] = []
    last = 0
    while (page := loose.workspace.chain.page(after=last)).lines:
        lines += page.lines
        last = page.last
    assert (len(lines), last) == (2345, 2345)
    report = loose.workspace.chain.verify()
    assert (report.valid, report.lines) == (True, 2345)  # its runs are not held any more, which is no fault


@pytest.mark.parametrize(
    ("sequence", "kept"),
    [
        (2, b"not a line"),
        (2, b'{"entryVersion":"2"}'),
        (2, line(3, None)),
        (2**53 - 2, line(2**53 - 2, None)),
    ],
    ids=["no entry", "another version", "another place", "the last place"],
)
def test_nothing_follows_a_line_that_was_not_written_here(yard: Yard, sequence: int, kept: bytes) -> None:
    yard.complete()
    insert_row(yard.engine, CHAIN_LINES, ChainLine(WORKSPACE, sequence, kept))
    run = yard.submit()
    claim = yard.claim()
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(Unreadable) as broken:
        yard.dispatcher.finish(claim, completed())
    assert broken.value.key == (WORKSPACE, sequence)
    assert state_of(yard.engine, SCHEMA.tables) == before
    assert yard.run(run).state is RunState.RUNNING
    # After a restart it is interrupted, and has taken no place.
    yard.workspace.dispatcher().restart()
    assert yard.run(run).state is RunState.INTERRUPTED


def test_a_run_that_the_chain_can_t_name_does_not_complete(yard: Yard) -> None:
    run_id = "run_" + "\x01" * 240  # each of these takes six bytes in a line
    yard.create(run_id, key="k")
    claim = yard.claim()
    before = state_of(yard.engine, SCHEMA.tables)
    with pytest.raises(dispatch.Refused) as refused:
        yard.dispatcher.finish(claim, completed())
    assert refused.value.code is dispatch.RefusalCode.ENTRY_UNREADABLE
    assert state_of(yard.engine, SCHEMA.tables) == before
    yard.dispatcher.finish(claim, failed())


def test_a_run_has_one_entry_whoever_made_it(yard: Yard) -> None:
    run = yard.submit()
    claim = yard.claim()
    insert_row(yard.engine, CHAIN_RUNS, ChainRun(WORKSPACE, run, 7))
    with pytest.raises(dispatch.Taken):
        yard.dispatcher.finish(claim, completed())
    assert yard.run(run).state is RunState.RUNNING
    assert yard.lines() == []


def test_the_first_place_is_1(yard: Yard) -> None:
    for sequence in (0, -1):
        with pytest.raises(strongroom.InvalidArgument):
            yard.engine.insert(CHAIN_LINES, ChainLine(WORKSPACE, sequence, b"{}"))
    yard.complete()
    with pytest.raises(strongroom.AlreadyExists):
        yard.engine.insert(CHAIN_LINES, ChainLine(WORKSPACE, 1, b"{}"))


def test_a_line_links_to_the_stored_bytes_and_not_to_how_they_would_be_written_today(yard: Yard) -> None:
    spaced = line(1, None).replace(b",", b" , ")
    insert_row(yard.engine, CHAIN_LINES, ChainLine(WORKSPACE, 1, spaced))
    insert_row(yard.engine, CHAIN_RUNS, ChainRun(WORKSPACE, "run_x", 1))
    yard.complete()
    assert RUN_LINES.parse(yard.lines()[1]).previous == digest(spaced)
    assert yard.lines()[0] == spaced
    assert yard.workspace.chain.verify().valid


# What is wrong, and how it is called


def test_a_sound_chain_has_no_findings_and_a_held_checkpoint_witnesses_it(yard: Yard) -> None:
    runs = [yard.complete() for _ in range(3)]
    held = yard.workspace.chain.head()
    assert held is not None
    runs.append(yard.complete())
    report = yard.workspace.chain.verify(checkpoints=[held], entries=yard.lines())
    assert (report.valid, report.lines, report.supplied, report.matched, report.through) == (True, 4, 1, 1, 3)
    proofs = [yard.workspace.chain.prove(run, checkpoints=[held]) for run in runs]
    assert [proof.valid for proof in proofs] == [True] * 4
    assert [proof.witnessed for proof in proofs] == [True, True, True, False]
    assert not yard.workspace.chain.prove(runs[0]).witnessed


def test_each_fault_of_a_line_is_named_where_it_is(loose: Yard) -> None:
    runs = [loose.complete() for _ in range(4)]
    lines = loose.lines()
    trail = RUN_LINES.parse(lines[0]).trail
    cases = [
        (2, b"no entry", [("entry-malformed", 2)]),
        (2, line(2, b"else", runs[1], trail), [("previous-mismatch", 2), ("previous-mismatch", 3)]),
        (4, line(5, lines[2], runs[3], trail), [("sequence-mismatch", 4)]),
        (4, line(4, lines[2], runs[3], "f" * 32), [("trail-mismatch", 4)]),
        (4, line(4, lines[2], runs[0], trail), [("run-named-twice", 4)]),
    ]
    for sequence, new, expected in cases:
        rewrite(loose, sequence, new)
        findings = found(loose.workspace.chain.verify(runs=False))
        assert set(expected) <= set(findings), (new, findings)
        rewrite(loose, sequence, lines[sequence - 1])
        assert loose.workspace.chain.verify().valid


def test_a_removed_entry_breaks_the_chain(loose: Yard) -> None:
    for _ in range(3):
        loose.complete()
    remove_row(loose.engine, CHAIN_LINES, ChainLine(WORKSPACE, 2, b""))
    report = loose.workspace.chain.verify()
    assert ("sequence-mismatch", 2) in found(report)
    with pytest.raises(Unreadable):
        loose.workspace.chain.page()


def test_a_chain_that_was_cut_or_written_anew_fails_against_what_is_held_elsewhere(loose: Yard) -> None:
    for _ in range(3):
        loose.complete()
    held = loose.workspace.chain.head()
    assert held is not None
    lines = loose.lines()
    runs = [RUN_LINES.parse(one).run for one in lines]
    remove_row(loose.engine, CHAIN_LINES, ChainLine(WORKSPACE, 3, b""))
    remove_row(loose.engine, CHAIN_RUNS, ChainRun(WORKSPACE, runs[2], 3))
    assert loose.workspace.chain.verify(runs=False).valid  # nothing in the chain itself shows it
    assert found(loose.workspace.chain.verify()) == [("entry-mismatch", 3)]  # the run that it was about does
    report = loose.workspace.chain.verify(checkpoints=[held], entries=[lines[2]], runs=False)
    assert sorted(found(report)) == [("checkpoint-beyond-chain", 3), ("entry-beyond-chain", 3)]
    # Written anew, with the same trail and with another.
    trail = held.trail
    for other, expected in [(trail, "checkpoint-record-mismatch"), ("f" * 32, "checkpoint-trail-mismatch")]:
        before: bytes | None = None
        for sequence, run in enumerate(runs, 1):
            entry = RunEntry("1", other, sequence, digest(before or b""), "run", run, digest(b"forged"))
            before = RUN_LINES.render(entry)
            rewrite(loose, sequence, before)
        overwrite_row(loose.engine, CHAIN_RUNS, ChainRun(WORKSPACE, runs[2], 3))
        assert loose.workspace.chain.verify(runs=False).valid
        assert (expected, 3) in found(loose.workspace.chain.verify(checkpoints=[held], runs=False))
        assert ("entry-mismatch", 3) in found(loose.workspace.chain.verify(entries=lines, runs=False))
    rewrite(loose, 3, b"no entry")
    assert ("checkpoint-not-an-entry", 3) in found(loose.workspace.chain.verify(checkpoints=[held], runs=False))


def test_a_changed_record_line_is_detected(loose: Yard) -> None:
    runs = [loose.complete() for _ in range(3)]
    kept = outcome_of(loose, runs[1])
    overwrite_row(loose.engine, OUTCOMES, kept.replace(record=b"forged"))
    assert found(loose.workspace.chain.verify()) == [("entry-mismatch", 2)]
    proof = loose.workspace.chain.prove(runs[1])
    assert (proof.held, proof.agrees, proof.valid) == (True, False, False)
    assert loose.workspace.chain.prove(runs[0]).valid


def test_an_entry_that_was_moved_to_another_run_is_detected(loose: Yard) -> None:
    runs = [loose.complete() for _ in range(2)]
    first, second = (outcome_of(loose, run) for run in runs)
    overwrite_row(loose.engine, OUTCOMES, first.replace(entry=2))
    overwrite_row(loose.engine, OUTCOMES, second.replace(entry=1))
    findings = found(loose.workspace.chain.verify())
    assert set(findings) == {("entry-mismatch", 1), ("entry-mismatch", 2)}


def test_a_run_that_is_gone_keeps_its_entry(loose: Yard) -> None:
    run = loose.complete()
    submission = loose.engine.get(SUBMISSIONS, WORKSPACE, run)
    remove_row(loose.engine, OUTCOMES, outcome_of(loose, run))
    remove_row(loose.engine, SUBMISSIONS, submission)
    with pytest.raises(dispatch.Absent):
        loose.workspace.runs.get(run)
    assert loose.workspace.chain.entry_sequence(run) == 1
    proof = loose.workspace.chain.prove(run)
    assert (proof.sequence, proof.held, proof.valid) == (1, False, False)
    assert loose.workspace.chain.verify().valid


def test_findings_are_listed_up_to_a_limit_and_all_counted(loose: Yard) -> None:
    for sequence in range(1, 151):
        insert_row(loose.engine, CHAIN_LINES, ChainLine(WORKSPACE, sequence, b"no entry"))
    report = loose.workspace.chain.verify()
    assert (len(report.findings), report.total >= 150) == (100, True)
    assert len(loose.workspace.chain.verify(most=3).findings) == 3


def test_a_row_that_can_t_be_read_is_a_finding_and_the_check_goes_on(loose: Yard) -> None:
    runs = [loose.complete() for _ in range(3)]
    lines = loose.lines()
    row = (WORKSPACE, 2, lines[1], bytes(16))
    loose.engine._write(lambda rows: rows.put(CHAIN_LINES, (WORKSPACE, 2), row), lambda: False)
    report = loose.workspace.chain.verify()
    assert ("row-corrupt", 2) in found(report)
    assert report.lines == 3
    assert loose.workspace.chain.entry_sequence(runs[2]) == 3


# Documents


def test_a_file_of_the_lines_is_checked_like_the_store(yard: Yard) -> None:
    for _ in range(3):
        yard.complete()
    held = yard.workspace.chain.head()
    assert held is not None
    document = b"".join(one + b"\n" for one in yard.lines())
    report = check_file(io.BytesIO(document), RUN_LINES, checkpoints=[held])
    assert (report.valid, report.lines, report.head) == (True, 3, held)
    cut = check_file(io.BytesIO(document[:-1]), RUN_LINES)
    assert found(cut) == [("incomplete-last-line", 3)]
    long = check_file(io.BytesIO(document.replace(b"}", b" " * 1000 + b"}", 1)), RUN_LINES)
    assert found(long)[0] == ("line-too-long", 1)


def test_held_checkpoints_are_read_from_a_document(yard: Yard) -> None:
    checkpoints = []
    for _ in range(2):
        yard.complete()
        head = yard.workspace.chain.head()
        assert head is not None
        checkpoints.append(head)
    lines = [dispatch.checkpoint_line(one) for one in checkpoints]
    assert list(json.loads(lines[0])) == ["checkpointVersion", "recordDigest", "sequence", "trail"]
    assert read_checkpoints(b"\n" + lines[0] + b"\n  \n" + lines[1] + b"\n\n") == checkpoints
    report = yard.workspace.chain.verify(checkpoints=read_checkpoints(lines[0] + b"\n" + lines[1]))
    assert (report.matched, report.through) == (2, 2)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"\n  \n",
        b"{}",
        b"[]",
        b"\xff",
        b'{"checkpointVersion":"2","recordDigest":"sha256:'
        + b"0" * 64
        + b'","sequence":1,"trail":"'
        + b"0" * 32
        + b'"}',
        b'{"checkpointVersion":"1","recordDigest":"sha256:'
        + b"0" * 64
        + b'","sequence":0,"trail":"'
        + b"0" * 32
        + b'"}',
        b'{"checkpointVersion":"1","recordDigest":"md5:0","sequence":1,"trail":"' + b"0" * 32 + b'"}',
        b"\n" * (16 * 2**20 + 1),
    ],
    ids=lambda document: repr(document[:40]),
)
def test_a_document_without_checkpoints_is_refused(document: bytes) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        read_checkpoints(document)
