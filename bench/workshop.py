"""What a benchmark works with: a folder, rooms in it, threads, and how long it may take."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar

import strongroom
from bench.measure import Budget, Goal, Line, Side, compared, in_turns
from bench.tables import SCHEMA
from strongroom.engine import Engine

T = TypeVar("T")

Work = Callable[[int, int], object]
"""``work(caller, n)``: the job of one of many callers (counted from 0), `n` times."""


_LEAST: Final = 8
"""How often at least each of many callers does its job in one chunk, so that most of the time all are at work."""


class Workshop:
    """One run's folder and settings. `once` keeps what several cases share; all else ends with its case."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.budget = Budget.quick() if quick else Budget.full()
        self._run = contextlib.ExitStack()
        self._case = self._run
        self._shared: dict[str, Any] = {}
        self._made = 0
        self._root = Path(self._run.enter_context(tempfile.TemporaryDirectory(prefix="strongroom-bench-")))

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *_: object) -> None:
        self._run.close()

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        """What is opened within ends with it."""
        with contextlib.ExitStack() as self._case:
            yield

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, made at the first call; what it opens ends with the run."""
        if name not in self._shared:
            case, self._case = self._case, self._run
            try:
                self._shared[name] = make()
            finally:
                self._case = case
        found: T = self._shared[name]
        return found

    def name(self, kind: str) -> str:
        """A name that nothing else in the run has."""
        self._made += 1
        return f"{kind}_{self._made}"

    def folder(self) -> Path:
        """A new, empty folder."""
        made = self._root / self.name("folder")
        made.mkdir()
        self._case.callback(shutil.rmtree, made)
        return made

    def closing(self, close: Callable[[], object]) -> None:
        """Call `close` at the end."""
        self._case.callback(close)

    def file(self) -> Path:
        """A new file with Strongroom's tables, closed."""
        path = self.folder() / "room.db"
        with strongroom.open(f"sqlite:///{path}") as room:
            room.prepare(SCHEMA)
        return path

    def room(self, path: Path | None = None) -> Engine:
        """A room in a new file, or in that one."""
        room = strongroom.open(f"sqlite:///{path or self.file()}")
        self.closing(room.close)
        room.prepare(SCHEMA)
        return room

    def crew(self, callers: int) -> Crew:
        """So many threads."""
        crew = Crew(callers)
        self.closing(crew.close)
        return crew

    def compare(self, group: str, bench: str, ours: Side, theirs: Side, goal: Goal, other: str, **details: Any) -> Line:
        """The line of two sides, measured in turns."""
        mine, its = in_turns([ours, theirs], self.budget)
        return compared(group, bench, mine, its, goal=goal, other=other, **details)


class Crew:
    """Threads that wait for work, so that starting them is no part of a measurement."""

    def __init__(self, callers: int) -> None:
        self._orders: list[SimpleQueue[tuple[Work, int] | None]] = [SimpleQueue() for _ in range(callers)]
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, args=(i,), daemon=True) for i in range(callers)]
        for thread in self._threads:
            thread.start()

    def side(self, work: Work, *, least: int = _LEAST) -> Side:
        """The side on which each thread is a caller of `work`."""
        return Side(lambda n: self.run(work, n), jobs=len(self._threads), least=least)

    def run(self, work: Work, n: int) -> None:
        """Have each thread do `work` `n` times, all at once; raises what one of them raised."""
        self.start(work, n)
        self.wait()

    def start(self, work: Work, n: int) -> None:
        """Have each thread begin to do `work` `n` times."""
        for order in self._orders:
            order.put((work, n))

    def wait(self) -> None:
        """Wait for the end of what was started; raises what one of the threads raised."""
        faults = [fault for fault in [self._ended.get() for _ in self._orders] if fault is not None]
        if faults:
            raise faults[0]

    def close(self) -> None:
        """End the threads."""
        for order in self._orders:
            order.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, caller: int) -> None:
        while (order := self._orders[caller].get()) is not None:
            work, n = order
            try:
                work(caller, n)
            except BaseException as fault:
                self._ended.put(fault)
            else:
                self._ended.put(None)


def alone(work: Work) -> Side:
    """The side on which one caller does `work`, in the measuring thread itself."""
    return Side(lambda n: work(0, n))


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark: what it is chosen by, and what measures it."""

    group: str
    name: str
    measure: Callable[[Workshop], Iterator[Line]]
    says: str
    """What is measured, in a few words."""
