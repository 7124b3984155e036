"""Group commit: one leader, whole groups, nobody left waiting."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from strongroom.engine import Committer, Job
from strongroom.engine import committer as committing
from strongroom.errors import Closed
from tests.interrupts import interrupted_everywhere

Work = Callable[[], object]


def run_each(jobs: Sequence[Job[Work]]) -> None:
    for job in jobs:
        try:
            job.result = job.work()
        except Exception as fault:
            job.error = fault
        job.done = True  # whatever strikes now, it is not to be run again


class Gate:
    """A runner that holds its first group until told, so that the next one can form behind it."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.entered = threading.Event()
        self.opened = threading.Event()

    def run(self, jobs: Sequence[Job[Work]]) -> None:
        self.groups.append(len(jobs))
        self.entered.set()
        assert self.opened.wait(30)
        run_each(jobs)


def wait_until(condition: Callable[[], bool]) -> None:
    done = threading.Event()
    while not condition():
        done.wait(0.001)


def test_one_caller_alone_runs_its_work_in_its_own_thread() -> None:
    assert Committer(run_each).submit(threading.get_ident) == threading.get_ident()


def test_an_error_comes_out_as_the_same_object() -> None:
    fault = RuntimeError("mine")

    def fail() -> object:
        raise fault

    with pytest.raises(RuntimeError) as caught:
        Committer(run_each).submit(fail)
    assert caught.value is fault


def test_callers_that_come_while_a_group_runs_form_the_next_one_and_each_gets_its_own() -> None:
    gate = Gate()
    committer: Committer[Work] = Committer(gate.run)
    results: dict[int, object] = {}
    threads = [
        threading.Thread(target=lambda n=n: results.__setitem__(n, committer.submit(lambda: n * n))) for n in range(20)
    ]
    threads[0].start()
    assert gate.entered.wait(30)
    for thread in threads[1:]:
        thread.start()
    wait_until(lambda: len(committer._queue) == 20)
    gate.opened.set()
    for thread in threads:
        thread.join(30)
    assert gate.groups == [1, 19]
    assert results == {n: n * n for n in range(20)}


def test_groups_are_bounded() -> None:
    gate = Gate()
    committer: Committer[Work] = Committer(gate.run, max_group=3)
    threads = [threading.Thread(target=committer.submit, args=(int,)) for _ in range(8)]
    threads[0].start()
    assert gate.entered.wait(30)
    for thread in threads[1:]:
        thread.start()
    wait_until(lambda: len(committer._queue) == 8)
    gate.opened.set()
    for thread in threads:
        thread.join(30)
    assert gate.groups == [1, 3, 3, 1]


def test_a_leader_that_is_interrupted_takes_its_own_work_away_and_the_others_is_done() -> None:
    gate = Gate()
    interrupted: list[str] = []

    def run(jobs: Sequence[Job[Work]]) -> None:
        gate.run([])
        if threading.current_thread().name == "first":
            raise KeyboardInterrupt
        run_each(jobs)

    committer: Committer[Work] = Committer(run)
    done: list[object] = []

    def lead() -> None:
        try:
            committer.submit(lambda: done.append("first"))
        except KeyboardInterrupt:
            interrupted.append("first")

    first = threading.Thread(target=lead, name="first")
    others = [threading.Thread(target=committer.submit, args=(lambda n=n: done.append(n),)) for n in range(5)]
    first.start()
    assert gate.entered.wait(30)
    for other in others:
        other.start()
    wait_until(lambda: len(committer._queue) == 6)
    gate.opened.set()
    for thread in [first, *others]:
        thread.join(30)
        assert not thread.is_alive()
    assert interrupted == ["first"]
    assert sorted(done, key=str) == [0, 1, 2, 3, 4]


class Crowd:
    """Callers in threads of their own, beside the one that is interrupted."""

    def __init__(self) -> None:
        self.committer: Committer[Work] = Committer(self._run)
        self.ran: list[object] = []
        self._threads: list[threading.Thread] = []
        self._opened = threading.Event()
        self._ended = threading.Event()
        self._inside: Callable[[], None] | None = None

    def start(self, *names: str) -> None:
        """Have callers come, one behind the other."""
        for name in names:
            there = len(self.committer._queue)
            self._threads.append(threading.Thread(target=self.call, args=(name,), daemon=True))
            self._threads[-1].start()
            wait_until(partial(self._is_longer, there))

    def call(self, name: str) -> None:
        """Submit what leaves its name."""
        self.committer.submit(partial(self.ran.append, name))

    def hold(self) -> None:
        """Have a caller come that leads, and does not end until `open`."""
        self._threads.append(threading.Thread(target=self.committer.submit, args=(self._opened.wait,), daemon=True))
        self._threads[-1].start()
        wait_until(lambda: bool(self.committer._queue))

    def open_behind(self, *names: str) -> None:
        """Let the one that holds go on once somebody else waits behind him, and the named ones behind that."""
        there = len(self.committer._queue)

        def go_on() -> None:
            wait_until(lambda: self._is_longer(there) or self._ended.is_set())
            self.start(*names)
            self._opened.set()

        self._threads.append(threading.Thread(target=go_on, daemon=True))
        self._threads[-1].start()

    def come_inside(self, *names: str) -> None:
        """Have callers come while a group of the main thread's runs."""
        self._inside = lambda: self.start(*names)

    def end(self) -> None:
        """See that everyone gets his answer, and that the committer goes on and can be closed."""
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive(), "a caller sleeps for ever"
        assert self.committer.submit(lambda: "goes on") == "goes on"
        closer = threading.Thread(target=self.committer.close, daemon=True)
        closer.start()
        closer.join(30)
        assert not closer.is_alive(), "a closer sleeps for ever"

    def _is_longer(self, than: int) -> bool:
        return len(self.committer._queue) > than

    def _run(self, jobs: Sequence[Job[Work]]) -> None:
        if threading.current_thread() is threading.main_thread() and self._inside is not None:
            inside, self._inside = self._inside, None
            inside()
        run_each(jobs)


def alone(_crowd: Crowd) -> None:
    pass


def leads(crowd: Crowd) -> None:
    crowd.come_inside("a", "b")


def follows(crowd: Crowd) -> None:
    crowd.hold()
    crowd.start("a")
    crowd.open_behind("b")


def follows_and_then_leads(crowd: Crowd) -> None:
    crowd.hold()
    crowd.come_inside("c", "d")
    crowd.open_behind("a", "b")


@pytest.mark.parametrize("role", [alone, leads, follows, follows_and_then_leads])
def test_wherever_an_interrupt_strikes_a_caller_all_others_get_their_answers(role: Callable[[Crowd], None]) -> None:
    for interrupt in interrupted_everywhere(committing):
        crowd = Crowd()
        role(crowd)
        interrupt.run(partial(crowd.call, "mine"))
        crowd.end()
        assert len(set(crowd.ran)) == len(crowd.ran), interrupt.where
        assert interrupt.where or "mine" in crowd.ran


def test_wherever_an_interrupt_strikes_a_closer_all_others_get_their_answers_and_it_can_be_closed_again() -> None:
    for interrupt in interrupted_everywhere(committing):
        crowd = Crowd()
        crowd.hold()
        crowd.start("a")
        threading.Timer(0.001, crowd._opened.set).start()
        interrupt.run(crowd.committer.close)
        crowd.committer.close()
        for thread in crowd._threads:
            thread.join(30)
            assert not thread.is_alive(), interrupt.where
        assert crowd.ran == ["a"]


def test_a_real_interrupt_wakes_a_caller_that_waits_and_leaves_the_others_to_themselves() -> None:
    crowd = Crowd()
    crowd.hold()
    main = threading.get_ident()

    def strike() -> None:
        wait_until(lambda: len(crowd.committer._queue) == 2)
        crowd.start("a")
        signal.pthread_kill(main, signal.SIGINT)

    striker = threading.Thread(target=strike)
    striker.start()
    with pytest.raises(KeyboardInterrupt):
        crowd.call("mine")
    striker.join(30)
    crowd._opened.set()
    crowd.end()
    assert crowd.ran == ["a"]


def test_close_refuses_new_work_and_waits_for_what_was_taken() -> None:
    gate = Gate()
    committer: Committer[Work] = Committer(gate.run)
    done: list[int] = []
    writer = threading.Thread(target=committer.submit, args=(lambda: done.append(1),))
    writer.start()
    assert gate.entered.wait(30)
    closer = threading.Thread(target=committer.close)
    closer.start()
    wait_until(lambda: committer._closed)
    with pytest.raises(Closed):
        committer.submit(int)
    assert closer.is_alive()
    gate.opened.set()
    closer.join(30)
    assert done == [1]
    committer.close()


def test_many_threads_lose_nothing() -> None:
    total = 0

    def add() -> object:
        nonlocal total  # one group runs at a time: no lock is needed
        total += 1
        return None

    committer: Committer[Work] = Committer(run_each)
    threads = [threading.Thread(target=lambda: [committer.submit(add) for _ in range(200)]) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert total == 3200


def test_callers_that_all_come_back_at_once_go_on_in_groups_of_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "_PATIENCE", 1_000_000)
    monkeypatch.setattr(committing, "_PATIENCE_ENDS", 0.5)  # however busy the machine is, they are back by then
    callers, turns = 4, 25
    groups: list[int] = []

    def run(jobs: Sequence[Job[Work]]) -> None:
        groups.append(len(jobs))
        time.sleep(0.001)
        run_each(jobs)

    committer: Committer[Work] = Committer(run)

    def call() -> None:
        for _ in range(turns):
            committer.submit(int)

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # Were the first one back not to wait for the others, every other group would be of one.
    assert len(groups) < turns * 1.5
    assert sum(groups) == callers * turns
