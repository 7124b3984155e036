"""`strongroom runners attempts` and `status`, and following a fleet with them."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from strongroom.cli.runners.attempts import Filter
from strongroom.cli.runners.views import attempts_section, drawn
from strongroom.cli.runners.watch import Changes, follow
from strongroom.domains.runners import AttemptState, FailureReason, Outcome, RunnerStore, WorkspaceMode
from strongroom.errors import Conflict, Corrupt, Unavailable
from tests.cli.conftest import Run
from tests.domains.runners.samples import FLEET, NOW, a_host, a_policy, an_attempt, an_attempt_in

S = AttemptState


@pytest.fixture
def busy(store: RunnerStore) -> RunnerStore:
    """The fleet with an attempt in every state, and one of a policy that is gone."""
    store.put_host(a_host("h-1"))
    store.insert_policy(a_policy())
    for number, state in enumerate(S):
        store.record_attempt(an_attempt_in(state, f"{number}-{state}", now=NOW + number * 1_000))
    store.record_attempt(an_attempt("z", "p-9", slot=3, now=NOW + 60_000))
    return store


def test_attempts_that_are_not_cleaned_are_listed_oldest_first(fleet: Run, busy: RunnerStore) -> None:
    header, *lines = fleet("attempts").stdout.splitlines()
    assert header.split() == "attempt target state since slot process runner outcome".split()
    assert [line.split()[0] for line in lines] == [*(f"{n}-{s}" for n, s in enumerate(S) if s.is_uncleaned), "z"]
    assert re.sub(" +", " ", lines[4]) == "4-busy acme/api busy 2023-11-14 22:13:24 UTC - 4711 815 -"
    assert re.sub(" +", " ", lines[6]).endswith("- 4711 - failed (jit_expired)")
    assert re.sub(" +", " ", lines[8]) == "z p-9 (gone) allocated 2023-11-14 22:14:20 UTC s3 - - -"


def test_attempts_are_chosen_by_policy_and_state(busy: RunnerStore) -> None:
    def ids(policy: str | None, *states: S, history: bool = False) -> list[str]:
        return [attempt.id for attempt in Filter(policy, states, history).listed(busy)]

    assert len(ids(None)) == 9
    assert len(ids(None, history=True)) == 10
    assert ids("p-9") == ids("p-9", history=True) == ["z"]
    assert ids(None, S.ALLOCATED) == ["0-allocated", "z"]
    assert ids("p-1", S.ALLOCATED, S.CLEANED) == ["0-allocated", "8-cleaned"]


def test_attempts_are_chosen_by_options(fleet: Run, busy: RunnerStore) -> None:
    def ids(*words: str) -> list[str]:
        return [json.loads(line)["id"] for line in fleet("attempts", "--json", *words).stdout.splitlines()]

    assert ids("--policy", "p-9") == ["z"]
    assert ids("--policy", "acme/API", "--state", "busy", "--state", "cleaned") == ["4-busy", "8-cleaned"]
    assert len(ids("--all")) == 10
    assert fleet("attempts", "--policy", "p-8").exit_code == 1
    assert fleet("attempts", "--state", "sleeping").exit_code == 2


def test_an_attempt_s_object_says_what_blocks_and_shows_no_secret(fleet: Run, store: RunnerStore) -> None:
    secret = Outcome.failed(FailureReason.OTHER, "token-1234")
    store.record_attempt(an_attempt_in(S.BUSY, slot=2).conclude(secret, NOW + 9))
    told = fleet("attempts", "--json")
    shown = json.loads(told.stdout)
    assert (shown["state"], shown["standing"], shown["cleanup_blocked"]) == ("failed", "concluded", True)
    assert (shown["workspace_slot"], shown["failure_reason"], shown["target"]) == (2, "other", None)
    assert "token" not in told.output + fleet("attempts").output + fleet("status", "--json").output


def test_a_status_is_the_whole_fleet(fleet: Run, busy: RunnerStore) -> None:
    lines = [re.sub(" +", " ", line) for line in fleet("status").stdout.splitlines()]
    assert lines[:4] == [
        f"fleet {FLEET}",
        "hosts",
        " id name system active runner root",
        " h-1 build box linux x64 5 of 1 the agent's default (platform_default)",
    ]
    assert lines[4:7:2] == ["policies", " acme/api p-1 h-1 pending 0 to 4 box, gpu ephemeral 5 3"]
    assert lines[7] == "attempts"
    assert len(lines) == 18
    told = json.loads(fleet("status", "--json").stdout)
    assert list(told) == ["fleet", "hosts", "policies", "attempts"]
    assert [len(told[part]) for part in ("hosts", "policies", "attempts")] == [1, 1, 9]


def test_an_empty_fleet_says_so(fleet: Run) -> None:
    assert fleet("status").stdout.splitlines() == [f"fleet {FLEET}", "no hosts", "no policies", "no attempts"]
    assert fleet("attempts").stdout == "no attempts\n"
    assert fleet("attempts", "--json").stdout == ""


def test_what_comes_out_of_the_store_moves_no_cursor(fleet: Run, store: RunnerStore) -> None:
    store.record_attempt(an_attempt("a\x1b[2J\nb", "p\r"))
    assert "\x1b" not in fleet("attempts").stdout
    assert len(fleet("attempts").stdout.splitlines()) == 2


def test_columns_stand_where_their_names_do_whatever_is_in_them(fleet: Run, store: RunnerStore) -> None:
    store.insert_policy(a_policy().set_workspace_policy(WorkspaceMode.PERSISTENT, "/srv/\x1b[2J"))
    header, policy = fleet("repo", "list").stdout.splitlines()
    assert header.index("workspace") == policy.index("/srv/\\x1b[2J")
    assert policy[header.index("active")] == "0"


@pytest.mark.parametrize("width", [80, 200])
def test_on_a_terminal_each_attempt_is_one_line_and_long_values_are_cut(width: int) -> None:
    id = str(uuid.UUID(int=7))
    attempts = [an_attempt_in(S.BUSY, id), an_attempt_in(S.FAILED, "a\x1b[2J")]
    console = Console(width=width)
    with console.capture() as captured:
        console.print(drawn([attempts_section(attempts, {"p-1": "acme/api"})], "below"))
    _header, busy, failed, footer = captured.get().splitlines()
    assert footer.rstrip() == "below"
    assert busy.split()[1:3] == ["acme/api", "busy"]
    cut = busy.split()[0]
    assert (cut == id) if width == 200 else (cut[-1] == "…" and id.startswith(cut[:-1]))
    assert "\\x1b" in failed
    assert "\x1b" not in failed


# Following


class Enough(Exception):
    """A watch has gone on for long enough."""


def followed(looks: list[object]) -> list[object]:
    """What is told of these looks; one that is an exception is raised."""
    left, told = iter(looks), list[object]()

    def look() -> object:
        seen = next(left, Enough())
        if isinstance(seen, Exception):
            raise seen
        return seen

    paused = list[float]()
    with pytest.raises(Enough):
        follow(look, told.append, interval=1.5, pause=paused.append)
    assert paused == [1.5] * len(looks)
    return told


def test_only_a_look_that_shows_something_else_is_told() -> None:
    assert followed([1, 1, 2, 2, 2, 1, 1]) == [1, 2, 1]


def test_a_store_that_cannot_be_reached_is_told_once_and_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    gone, busy = Unavailable("gone"), Conflict("busy")
    assert followed([1, gone, busy, gone, 1, gone, 2]) == [1, 2]
    assert capsys.readouterr().err == "waiting: gone\n" * 2


@pytest.mark.parametrize("looks", [[Unavailable("gone"), 1], [1, Corrupt("bad"), 2]])
def test_what_does_not_pass_ends_a_watch(looks: list[object]) -> None:
    fault = next(look for look in looks if isinstance(look, Exception))
    with pytest.raises(type(fault)) as ended:
        followed(looks)
    assert ended.value is fault


def test_changes_are_what_came_changed_or_went() -> None:
    changes = Changes()
    first, second = an_attempt("a-1"), an_attempt("a-2")
    assert changes.since([first, second]) == ([first, second], [])
    assert changes.since([first, second]) == ([], [])
    assert changes.since([first.jit_received(NOW)]) == ([first.jit_received(NOW)], ["a-2"])
    assert changes.since([]) == ([], ["a-1"])


class Watching:
    """A watch in a process of its own, whose lines are read as they come."""

    def __init__(self, url: str, *words: str, terminal: bool = False) -> None:
        # Whoever runs the tests in the background has Ctrl-C ignored.
        main = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        main += "from strongroom.cli import main; main()"
        command = [sys.executable, "-c", main, "runners", *words, "--room", url, "--fleet", FLEET]
        ours, theirs = pty.openpty() if terminal else os.pipe()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
        environment.pop("PYTHONUNBUFFERED", None)  # each change is told at once without it, too
        self.process = subprocess.Popen(
            [*command, "--watch", "--interval", "0.1"], stdout=theirs, stderr=subprocess.PIPE, env=environment
        )
        os.close(theirs)
        self._out, self._seen = ours, ""

    def until(self, wanted: Callable[[str], bool]) -> str:
        """All that was printed, once that is as wanted; the test's own timeout ends it otherwise."""
        while not wanted(self._seen):
            read = os.read(self._out, 65_536)
            assert read, f"it ended: {self._seen}"
            self._seen += read.decode()
        return self._seen

    def stop(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and what was said on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, remarks = self.process.communicate(timeout=60)
        return self.process.returncode, remarks.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        os.close(self._out)


@pytest.fixture
def watching(url: str, store: RunnerStore) -> Iterator[Callable[..., Watching]]:
    begun: list[Watching] = []

    def begin(*words: str, terminal: bool = False) -> Watching:
        begun.append(Watching(url, *words, terminal=terminal))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def test_without_a_terminal_a_new_block_is_printed_only_when_something_has_changed(
    watching: Callable[..., Watching], store: RunnerStore
) -> None:
    attempt = an_attempt()
    store.record_attempt(attempt)
    watch = watching("attempts")
    watch.until(lambda seen: "allocated" in seen)
    store.record_attempt(attempt)  # which is no change
    store.record_attempt(attempt.jit_received(NOW))
    watch.until(lambda seen: "jit_received" in seen)
    store.remove_attempt(attempt.id)
    seen = watch.until(lambda seen: seen.endswith("no attempts\n"))
    blocks = [block.splitlines() for block in seen.split("\n\n")]
    assert [len(block) for block in blocks] == [2, 2, 1]
    assert watch.stop() == (130, "")


def test_for_programs_each_change_is_an_object(watching: Callable[..., Watching], store: RunnerStore) -> None:
    first, second = an_attempt("a-1"), an_attempt("a-2")
    store.record_attempt(first)
    store.record_attempt(second)
    watch = watching("attempts", "--json")
    watch.until(lambda seen: seen.count("\n") == 2)
    store.record_attempt(first.jit_received(NOW))
    watch.until(lambda seen: seen.count("\n") == 3)
    store.remove_attempt("a-2")
    seen = watch.until(lambda seen: seen.count("\n") == 4)
    told = [json.loads(line) for line in seen.splitlines()]
    assert [(one["id"], one.get("state")) for one in told] == [
        ("a-1", "allocated"),
        ("a-2", "allocated"),
        ("a-1", "jit_received"),
        ("a-2", None),
    ]
    assert told[3] == {"id": "a-2", "gone": True}
    assert watch.stop() == (130, "")


def test_a_status_is_followed_as_whole_objects(watching: Callable[..., Watching], store: RunnerStore) -> None:
    watch = watching("status", "--json")
    watch.until(lambda seen: seen.count("\n") == 1)
    store.put_host(a_host())
    seen = watch.until(lambda seen: seen.count("\n") == 2)
    assert [len(json.loads(line)["hosts"]) for line in seen.splitlines()] == [0, 1]
    assert watch.stop() == (130, "")


@pytest.mark.parametrize("command", ["attempts", "status"])
def test_on_a_terminal_one_picture_follows_the_store(
    watching: Callable[..., Watching], store: RunnerStore, command: str
) -> None:
    watch = watching(command, terminal=True)
    watch.until(lambda seen: "Ctrl-C ends it" in seen)
    attempt = an_attempt()
    store.record_attempt(attempt)
    watch.until(lambda seen: "allocated" in seen)
    store.record_attempt(attempt.jit_received(NOW))
    watch.until(lambda seen: "jit_received" in seen)
    assert watch.stop() == (130, "")
    try:
        seen = watch.until(lambda seen: "\x1b[?25h" in seen)
    except OSError:  # the other side of the terminal is closed
        seen = watch._seen
    assert "\x1b[1A" in seen  # drawn over what was there
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")  # the cursor is there again
