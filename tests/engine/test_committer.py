"""Group commit: one leader, whole groups, nobody left waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from strongroom.engine import Committer, Job
from strongroom.errors import Closed

Work = Callable[[], object]


def run_each(jobs: Sequence[Job[Work]]) -> None:
    for job in jobs:
        try:
            job.result = job.work()
        except Exception as fault:
            job.error = fault


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
    wait_until(lambda: len(committer._queue) == 19)
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
    wait_until(lambda: len(committer._queue) == 7)
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
    wait_until(lambda: len(committer._queue) == 5)
    gate.opened.set()
    for thread in [first, *others]:
        thread.join(30)
        assert not thread.is_alive()
    assert interrupted == ["first"]
    assert sorted(done, key=str) == [0, 1, 2, 3, 4]


def test_a_follower_that_is_interrupted_leaves_the_queue_and_no_lead_is_lost() -> None:
    gate = Gate()
    committer: Committer[Work] = Committer(gate.run)
    first = threading.Thread(target=committer.submit, args=(int,))
    first.start()
    assert gate.entered.wait(30)
    job: Job[Work] = Job(int)
    with committer._mutex:
        committer._queue.append(job)
    committer._withdraw(job)
    assert not committer._queue
    gate.opened.set()
    first.join(30)
    assert committer.submit(lambda: "goes on") == "goes on"


def test_an_interrupt_that_strikes_a_promoted_follower_passes_the_lead_on() -> None:
    committer: Committer[Work] = Committer(run_each)
    promoted, behind = Job[Work](int), Job[Work](int)
    promoted.leads = True
    committer._led = True
    committer._queue.extend([promoted, behind])
    committer._withdraw(promoted)
    assert behind.leads
    behind.wait()  # it was woken: this returns


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
