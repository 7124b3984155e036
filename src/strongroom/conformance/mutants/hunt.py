"""The hunt: the kit's cases against each mutant, until one notices or none is left.

A mutant counts as caught only by a case that the healthy engine passes, and only if the broken code was run and the
case failed at the contract: with a failed check, a fault of Strongroom's, or because it never ended. A mutant that is
too crippled to keep a row at all proves nothing, and is a survivor.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from strongroom.conformance.harness import Ability, Harness
from strongroom.conformance.kit import Case
from strongroom.conformance.mutants.grounds import Grounds
from strongroom.conformance.mutants.registry import VARIABLE, Ground, Mutant, all_mutants
from strongroom.conformance.report import Outcome
from strongroom.conformance.runner import introduce, run_case
from strongroom.conformance.tables import MARKS, SCHEMA, Mark
from strongroom.engine import Claims
from strongroom.errors import StrongroomError

STUCK: Final = 4.0
"""Seconds after which a case on a mutant counts as stuck, if the healthy engine needs less than a tenth of them."""
STUCK_ON_SERVER: Final = 15.0
"""The same where a server has other work as well."""
COSTLY: Final = 0.25
"""Seconds that a case takes on the healthy engine which had better be tried after its neighbours."""
KILLS: Final = 5
"""How many times a case that kills processes does so in a hunt."""


@dataclass(frozen=True)
class Catch:
    """What came of one mutant on one ground. `caught_by` is the case that noticed it, empty if none did."""

    mutant: str
    ground: str
    breaks: str
    caught_by: str
    clause: str
    note: str
    """What the case found, or why the mutant was not caught."""
    cases: int
    """How many cases were run against it."""
    seconds: float


@dataclass(frozen=True)
class Hunted:
    """The outcome of a hunt."""

    mutants: int
    """How many were hunted."""
    caught: int
    """How many were caught on every ground where they were hunted."""
    survivors: tuple[str, ...]
    not_hunted: tuple[str, ...]
    """Those that were not, or not on all of their grounds, as no server was given."""
    unsound: tuple[str, ...]
    """Cases that the healthy engine does not pass, each as ``GROUND CASE: why``: nothing was caught by them."""
    catches: tuple[Catch, ...]

    @property
    def ok(self) -> bool:
        """Whether every mutant was caught, and every case that was used is sound."""
        return not self.survivors and not self.unsound

    def to_json(self) -> str:
        """The outcome as one JSON object, its names in the order of the fields here."""
        return json.dumps(asdict(self), ensure_ascii=False)


Progress = Callable[[str, int, int], None]
"""Called before each mutant: its name, how many are done, and how many there are."""

Watch = Callable[[Catch], None]
"""Called with what came of each mutant on each ground."""


def hunt(
    mutants: Sequence[Mutant] = (),
    *,
    slow: bool = True,
    folder: Path | None = None,
    servers: Mapping[Ground, str] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Hunted:
    """Run the kit against the mutants, one after the other, in this process.

    Arguments:
        mutants: the ones to hunt, such as ``find(NAME)`` answers; all if empty.
        slow: whether the cases that are slow by nature are tried on what all others leave alive.
        folder: where stores that are files are made; a temporary one if None.
        servers: the URL of a store on each server that mutants are to be hunted on (`grounds.ground_of` tells which
            ground it is). On those that are not given none are. Stores beside it are made and dropped again.
        progress: called before each mutant and at the end.
        watch: called after each mutant on each ground.
    """
    chosen = mutants or all_mutants()
    given = servers or {}
    with contextlib.ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strongroom-mutants-")))
        grounds = Grounds(place, given)
        hunter = _Hunter(grounds, slow)
        stack.callback(hunter.close)
        catches: list[Catch] = []
        there = [mutant for mutant in chosen if any(map(grounds.has, mutant.grounds))]
        for done, mutant in enumerate(there):
            if progress is not None:
                progress(mutant.name, done, len(there))
            for ground in filter(grounds.has, mutant.grounds):
                catches.append(hunter.hunt(mutant, ground))
                if watch is not None:
                    watch(catches[-1])
        if progress is not None:
            progress("", len(there), len(there))
    alive = dict.fromkeys(catch.mutant for catch in catches if not catch.caught_by)
    left = tuple(mutant.name for mutant in chosen if not all(map(grounds.has, mutant.grounds)))
    return Hunted(len(there), len(there) - len(alive), tuple(alive), left, tuple(hunter.unsound), tuple(catches))


class _Hunter:
    """Runs cases against mutants, and before that against the healthy engine."""

    def __init__(self, grounds: Grounds, slow: bool) -> None:
        from strongroom.conformance.cases import all_cases

        self._grounds = grounds
        self._slow = slow
        # All are imported while everything is healthy, so that no case takes anything broken along.
        self._cases = all_cases()
        self._healthy: dict[Ground, tuple[Harness, Claims]] = {}
        self._sound: dict[tuple[Ground, str], tuple[Outcome, float]] = {}
        self.unsound: list[str] = []

    def hunt(self, mutant: Mutant, ground: Ground) -> Catch:
        """What comes of one mutant on one ground."""
        begun = time.monotonic()
        outcome: Outcome | None = None
        run = 0
        with self._grounds.harness(ground) as harness:
            why = self._crippled(mutant, harness)
            if not why:
                for one in self._in_order(mutant, ground):
                    run += 1
                    outcome, why = self._try(mutant, harness, ground, one)
                    if outcome is not None:
                        break
        return Catch(
            mutant.name,
            ground.value,
            mutant.breaks,
            outcome.case if outcome else "",
            outcome.clause if outcome else "",
            outcome.note if outcome else why or "no case noticed",
            run,
            round(time.monotonic() - begun, 3),
        )

    def close(self) -> None:
        """Let go of the healthy engines' stores."""
        for harness, _ in self._healthy.values():
            harness.close()

    def _in_order(self, mutant: Mutant, ground: Ground) -> Iterator[Case]:
        """The sound cases: those of the mutant's clauses first, and of the others the slow ones last.

        Among those of one clause, the ones that are known to take long come after the others.
        """
        _, claims = self._at(ground)
        fit = [one for one in self._cases if one.concerns(claims) and (self._slow or not one.slow)]
        rank = {clause: place for place, clause in enumerate(mutant.clauses)}
        costly = {name for (where, name), (_, needed) in self._sound.items() if where is ground and needed > COSTLY}
        fit.sort(key=lambda one: (one.clause not in rank, one.slow, rank.get(one.clause, 0), one.name in costly))
        return (one for one in fit if self._is_sound(ground, one))

    def _at(self, ground: Ground) -> tuple[Harness, Claims]:
        if ground not in self._healthy:
            harness = self._grounds.harness(ground)
            self._healthy[ground] = harness, introduce(harness)[1]
        return self._healthy[ground]

    def _is_sound(self, ground: Ground, one: Case) -> bool:
        """Whether the healthy engine passes the case, which is found out before it is first used."""
        if (ground, one.name) not in self._sound:
            harness, claims = self._at(ground)
            begun = time.monotonic()
            outcome = run_case(harness, one, claims, kills=KILLS)
            self._sound[ground, one.name] = outcome, time.monotonic() - begun
            if outcome.status == "failed":
                self.unsound.append(f"{ground.value} {one.name}: {outcome.note}")
        return self._sound[ground, one.name][0].status == "passed"

    def _try(self, mutant: Mutant, harness: Harness, ground: Ground, one: Case) -> tuple[Outcome | None, str]:
        """The outcome of a case that caught the mutant, or why it did not."""
        _, claims = self._at(ground)
        _, needed = self._sound[ground, one.name]
        with _at_large(mutant) as ran:
            patience = max(STUCK_ON_SERVER if ground.needs_server else STUCK, 10 * needed)
            outcome = run_case(harness, one, claims, timeout=patience, kills=KILLS)
            touched = ran()
        if outcome.status != "failed":
            return None, ""
        if not isinstance(outcome.error, AssertionError | StrongroomError | TimeoutError):
            return None, f"{one.name} crashed instead of failing: {outcome.note}"
        # What runs in another process only is out of sight here.
        elsewhere = Ability.PROCESSES in one.needs
        return (outcome, "") if touched or elsewhere else (None, f"{one.name} failed, but not by the broken code")

    def _crippled(self, mutant: Mutant, harness: Harness) -> str:
        """Why the mutant is of no use: an engine that can't keep a row is no engine with one safeguard broken."""
        harness.fresh()
        try:
            with _at_large(mutant), harness.open() as engine:
                engine.prepare(SCHEMA)
                engine.insert(MARKS, Mark("a"))
        except Exception as fault:
            return f"too crippled to keep a row: {type(fault).__name__}: {fault}"
        return ""


@contextlib.contextmanager
def _at_large(mutant: Mutant) -> Iterator[Callable[[], bool]]:
    """While it lasts, this process and the kit's worker processes are the mutant; answers whether that was noticed."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = mutant.name
    try:
        with mutant.loose() as patches:
            yield lambda: patches.ran
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
