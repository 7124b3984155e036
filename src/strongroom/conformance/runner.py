"""Runs cases against a harness: each on a fresh store, and none longer than its time."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, cast

from strongroom.conformance.checks import Failed, Unprovable
from strongroom.conformance.clauses import CLAUSES
from strongroom.conformance.harness import Harness
from strongroom.conformance.kit import KILLS, Case, Kit
from strongroom.conformance.report import Outcome, Report
from strongroom.engine import Claims
from strongroom.errors import InvalidArgument

TIMEOUT: Final = 60.0
SLOW_TIMEOUT: Final = 600.0
"""Seconds after which a case, and one marked slow, counts as stuck."""

Progress = Callable[[int, int, Outcome], None]
"""Called after each case: how many are done, how many there are, and the outcome."""


def run(
    harness: Harness,
    *,
    clauses: Collection[str] = (),
    cases: Collection[str] = (),
    slow: bool = False,
    stop_at_first_failure: bool = False,
    timeout: float | None = None,
    kills: int = KILLS,
    progress: Progress | None = None,
) -> Report:
    """Hold an engine to the contract: all of it that the engine claims.

    Arguments:
        harness: the way to the engine; it is not closed.
        clauses: run only cases of these clauses, such as ``W2``; all if empty.
        cases: run only cases of these names; all if empty.
        slow: also run the cases that are slow by nature (kills, long histories); those named in `cases` always run.
        stop_at_first_failure: end with the first case that fails.
        timeout: seconds after which a case counts as stuck and has failed; None for `TIMEOUT` and `SLOW_TIMEOUT`.
        kills: how many times cases that kill processes do so.
        progress: called after each case.

    Raises `InvalidArgument` for a clause or case that the kit does not have; faults of `harness.open` as they are.
    """
    chosen = select(clauses=clauses, cases=cases, slow=slow)
    name, claims = introduce(harness)
    chosen = [one for one in chosen if one.concerns(claims)]
    outcomes: list[Outcome] = []
    for one in chosen:
        outcome = run_case(harness, one, claims, timeout=timeout, kills=kills)
        outcomes.append(outcome)
        if progress is not None:
            progress(len(outcomes), len(chosen), outcome)
        if stop_at_first_failure and outcome.status == "failed":
            break
    return Report.of(name, claims.strength.name.lower().replace("_", "-"), outcomes)


def select(*, clauses: Collection[str] = (), cases: Collection[str] = (), slow: bool = False) -> list[Case]:
    """The cases of these clauses and names, in the contract's order; raises as `run`."""
    from strongroom.conformance.cases import all_cases

    known = all_cases()
    for clause in clauses:
        if clause not in CLAUSES:
            raise InvalidArgument(f"the contract has no clause {clause!r}")
    for name in cases:
        if name not in {one.name for one in known}:
            raise InvalidArgument(f"the kit has no case {name!r}")
    return [
        one
        for one in known
        if (not clauses or one.clause in clauses)
        and (not cases or one.name in cases)
        and (slow or not one.slow or one.name in cases)
    ]


def introduce(harness: Harness) -> tuple[str, Claims]:
    """The harness's name and what its engine claims."""
    with harness.open() as engine:
        return harness.name, engine.claims


def run_case(
    harness: Harness, one: Case, claims: Claims, *, timeout: float | None = None, kills: int = KILLS
) -> Outcome:
    """What came of one case, run on a fresh store."""
    reason = one.beyond(claims) or one.obstacle(harness.abilities)
    if reason:
        return Outcome(one.name, one.clause, "unsupported", reason)
    harness.wanted = one.needs
    harness.fresh()
    return _watched(harness, one, timeout or (SLOW_TIMEOUT if one.slow else TIMEOUT), kills)


def _watched(harness: Harness, one: Case, timeout: float, kills: int) -> Outcome:
    outcomes: list[Outcome] = []
    lent = _Lent(harness)
    kit = Kit(cast(Harness, lent), kills=kills)

    def work() -> None:
        try:
            try:
                one.check(kit)
            finally:
                kit.close()
            outcomes.append(Outcome(one.name, one.clause, "passed"))
        except BaseException as error:
            outcomes.append(_judged(one, error))

    # A case that is stuck can't be stopped. Its thread is left to itself, and so is what it has open.
    thread = threading.Thread(target=work, name=f"case {one.name}", daemon=True)
    begun = time.monotonic()
    thread.start()
    thread.join(timeout)
    if outcomes:
        return outcomes[0]
    lent.over = True
    where = _where(thread)
    stuck = TimeoutError(f"did not end within {time.monotonic() - begun:.0f} s{where}")
    return Outcome(one.name, one.clause, "failed", str(stuck), stuck)


class _Lent:
    """The harness as one case has it: what is left of a case that was stuck must not meddle with the next one."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.over = False

    def __getattr__(self, name: str) -> Any:
        if self.over:
            raise Failed("the case was given up")
        return getattr(self._harness, name)


def _judged(one: Case, error: BaseException) -> Outcome:
    if isinstance(error, Unprovable):
        return Outcome(one.name, one.clause, "unsupported", str(error), error)
    note = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    if not isinstance(error, AssertionError):
        note += _raised_at(error)
    return Outcome(one.name, one.clause, "failed", note, error)


def _raised_at(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({_place(frames)})" if frames else ""


def _where(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return "" if frame is None else f": stuck in {_place(traceback.extract_stack(frame))}"


def _place(frames: Sequence[traceback.FrameSummary]) -> str:
    """The line of the case, and the innermost one, as a reader finds them."""
    shown = [f for f in frames if "/conformance/cases/" in f.filename][-1:] + list(frames[-1:])
    return ", then ".join(dict.fromkeys(f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in shown))
