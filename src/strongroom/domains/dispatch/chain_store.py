"""The run chain of one workspace, for reading, and its proof: of the lines, and of the runs that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from strongroom.domains.dispatch.contract import Bound
from strongroom.domains.dispatch.faults import READ_FAULTS, Absent
from strongroom.domains.dispatch.records import (
    CHAIN_LINES,
    CHAIN_RUNS,
    OUTCOMES,
    SUBMISSIONS,
    ChainRun,
    Outcome,
    Submission,
)
from strongroom.domains.dispatch.run_chain import RUN_CHAIN, RUN_LINES, RunEntry
from strongroom.errors import Corrupt
from strongroom.patterns import ChainFinding, ChainReport, Checkpoint, Finding, MalformedLine, StoredLine, digest
from strongroom.patterns.walks import pages_with_faults
from strongroom.records import Record, Table

R = TypeVar("R", bound=Record)

PAGE: Final = 1000
"""How many lines are read at once."""
_OUTCOMES_PAGE: Final = 200
"""How many outcomes are read at once: each may hold 192 KiB."""
MOST: Final = 100
"""How many findings a report lists, unless asked for others."""


@dataclass(frozen=True, slots=True)
class ChainPage:
    """Some lines in order, without their line feeds."""

    lines: list[bytes]
    last: int
    """The sequence of the last one; the one that was given where there are none."""


@dataclass(frozen=True, slots=True)
class RunProof:
    """What the chain says of one run."""

    run: str
    sequence: int
    line: bytes
    """The run's entry, to the byte."""
    held: bool
    """Whether the run itself is still held."""
    agrees: bool
    """Whether the run's record line is the one that the entry names; False where it is not held."""
    report: ChainReport
    """Of the whole chain."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong with the chain, and the run is what its entry says."""
        return self.report.valid and self.agrees

    @property
    def witnessed(self) -> bool:
        """Whether it is valid, and a held checkpoint proves the entry: one of its place, or one behind it."""
        return self.valid and self.report.witnessed(self.sequence)


class ChainStore:
    """The run chain of one workspace. `finish` appends to it; nothing takes from it."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def page(self, *, after: int = 0, limit: int = PAGE) -> ChainPage:
        """The lines behind the sequence `after`, in order, to the byte, at most `limit` (1 to 10,000) of them.

        Raises `InvalidArgument` for a negative `after` and a limit out of range; `Unreadable` where a line is
        missing.
        """
        with READ_FAULTS:
            found = RUN_CHAIN.read(self._bound.engine, self._bound.workspace, after=after, limit=limit)
        return ChainPage([one.line for one in found], found[-1].sequence if found else after)

    def head(self) -> Checkpoint | None:
        """A checkpoint of the last line, to be held elsewhere; None for an empty chain."""
        return self._bound.reads(self._bound.engine).last_entry()

    def entry_sequence(self, run_id: str) -> int | None:
        """The sequence of the run's entry; None if it has none."""
        return self._bound.reads(self._bound.engine).entry_sequence(run_id)

    def entry_line(self, run_id: str) -> bytes | None:
        """The run's entry, to the byte; None if it has none."""
        found = self._line_of(run_id)
        return None if found is None else found.line

    def verify(
        self,
        *,
        checkpoints: Iterable[Checkpoint] = (),
        entries: Sequence[bytes] = (),
        runs: bool = True,
        most: int = MOST,
    ) -> ChainReport:
        """Check every line, and the runs that they are about: each fault is named, and the check goes on.

        Arguments:
            checkpoints: what is held of the chain elsewhere. Without them a chain that was cut or written anew, with
                its runs, looks sound.
            entries: lines that somebody holds, which the chain must have at their places.
            runs: whether to hold each line to its run's record line, and each completed run to its line. A run that
                is not held any more is no fault: its line stays.
            most: how many findings to list; all are counted.

        It is read in pages, not as one moment: runs that complete meanwhile are checked as far as they are met.
        """
        engine, workspace = self._bound.engine, self._bound.workspace
        report = RUN_CHAIN.verify(engine, workspace, checkpoints=checkpoints, entries=entries, most=most)
        if not runs:
            return report
        wrong = [*self._wrong_lines(), *self._wrong_outcomes()]
        findings = (*report.findings, *wrong)[:most]
        return replace(report, findings=findings, total=report.total + len(wrong))

    def prove(self, run_id: str, *, checkpoints: Iterable[Checkpoint] = ()) -> RunProof:
        """What the chain proves of one run. Raises `Absent` for a run without an entry."""
        found = self._line_of(run_id)
        if found is None:
            raise Absent(f"nothing is stored as {CHAIN_RUNS.show((self._bound.workspace, run_id))}")
        entry = RUN_LINES.parse(found.line)
        held = self._held([run_id])[0]
        agrees = isinstance(held, _Held) and held.agrees(found.sequence, entry)
        report = self.verify(checkpoints=checkpoints, runs=False)
        return RunProof(run_id, found.sequence, found.line, held is not None, agrees, report)

    def _line_of(self, run_id: str) -> StoredLine | None:
        with READ_FAULTS:
            return self._bound.engine.read(
                lambda snapshot: RUN_CHAIN.find(snapshot, self._bound.workspace, topic=run_id)
            )

    def _wrong_lines(self) -> Iterator[Finding]:
        """The lines whose runs are held, and say something else."""
        for rows in pages_with_faults(self._bound.engine, CHAIN_LINES, self._bound.workspace, page=PAGE):
            if isinstance(rows, Corrupt):
                continue  # the chain's own check has named it
            named = [(row.sequence, entry) for row in rows if (entry := _entry_of(row.line)) is not None]
            for (sequence, entry), held in zip(named, self._held([entry.run for _, entry in named]), strict=True):
                if isinstance(held, Corrupt):
                    yield Finding(ChainFinding.ROW_CORRUPT, sequence, str(held))
                elif held is not None and not held.agrees(sequence, entry):
                    yield Finding(ChainFinding.ENTRY_MISMATCH, sequence, f"{entry.run} is not as its entry says")

    def _wrong_outcomes(self) -> Iterator[Finding]:
        """The completed runs that the chain does not name where they say."""
        for rows in pages_with_faults(self._bound.engine, OUTCOMES, self._bound.workspace, page=_OUTCOMES_PAGE):
            if isinstance(rows, Corrupt):
                yield Finding(ChainFinding.ROW_CORRUPT, 0, str(rows))
                continue
            named = [(row.entry, row.run) for row in rows if row.entry is not None]
            entries = self._many(CHAIN_RUNS, [run for _, run in named])
            for (sequence, run), entry in zip(named, entries, strict=True):
                if not isinstance(entry, ChainRun) or entry.sequence != sequence:
                    yield Finding(ChainFinding.ENTRY_MISMATCH, sequence, f"{run} has no entry there")

    def _held(self, runs: Sequence[str]) -> list[_Held | Corrupt | None]:
        """What is held of each run; None for one that is not held."""
        submissions = self._many(SUBMISSIONS, runs)
        numbers = [found.number for found in submissions if isinstance(found, Submission)]
        outcomes = dict(zip(numbers, self._many(OUTCOMES, numbers), strict=True))
        found: list[_Held | Corrupt | None] = []
        for run, submission in zip(runs, submissions, strict=True):
            if not isinstance(submission, Submission):
                found.append(submission)
                continue
            outcome = outcomes[submission.number]
            found.append(outcome if isinstance(outcome, Corrupt) else _Held(run, outcome))
        return found

    def _many(self, table: Table[R], keys: Sequence[object]) -> list[R | Corrupt | None]:
        """The workspace's rows under these keys: each one's record, what is wrong with it, or None."""
        if not keys:
            return []
        try:
            return [*self._bound.engine.get_many(table, [(self._bound.workspace, key) for key in keys])]
        except Corrupt as fault:
            if len(keys) == 1:
                return [fault]
        half = len(keys) // 2
        return self._many(table, keys[:half]) + self._many(table, keys[half:])


@dataclass(frozen=True, slots=True)
class _Held:
    """A run that is held, and what came of it so far."""

    run: str
    outcome: Outcome | None

    def agrees(self, sequence: int, entry: RunEntry) -> bool:
        """Whether the run is what this entry, at its place, says."""
        outcome = self.outcome
        return (
            outcome is not None
            and (outcome.run, outcome.entry) == (entry.run, sequence)
            and outcome.record is not None
            and digest(outcome.record) == entry.audit_digest
        )


def _entry_of(line: bytes) -> RunEntry | None:
    """The entry of a line; None for a line that is none, which the chain's own check names."""
    try:
        return RUN_LINES.parse(line)
    except MalformedLine:
        return None
