"""Running one command to its end, its timeout or its cancellation, and leaving nothing of it running.

Between this process and the command stands a small supervisor, a Python program of its own. It ends the command's
process group as soon as the socket that is its standard input reaches its end: because `run` says so, or because this
process is gone, however it went. The kernel's own signal for that, ``PR_SET_PDEATHSIG`` (``setpriv --pdeathsig``), was
not enough: it is Linux only, follows the death of the starting thread, and spares the command's children.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Literal

from strongroom.errors import InvalidArgument, clip
from strongroom.processes.environment import clean_environment
from strongroom.processes.logs import TAIL_BYTES, Kept, Log

GRACE_S = 5.0
"""Seconds between SIGTERM and SIGKILL, unless told otherwise."""

MAX_LOG_BYTES = 16 * 1024 * 1024
"""The most bytes of output that a log keeps, unless told otherwise."""

_PATIENCE_S = 10.0

# Python itself sets LC_CTYPE in the C locale: the second argument is what the command is to have. Signals that are
# caught, rather than ignored, are back at their defaults in the command; Python itself ignores SIGPIPE. 36 is
# PR_SET_CHILD_SUBREAPER: the dead of a stopped group are buried here, as otherwise the grace would last until init does
# so, which in a container is never. It does without `subprocess`, whose import takes as long as all the rest.
_SUPERVISOR = """
import os, select, signal, sys, time

grace, ctype, given, command = float(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
os.environ.pop("LC_CTYPE", None)
os.environ.update({"LC_CTYPE": ctype} if ctype else {})
wake, waker = os.pipe()
os.set_blocking(waker, False)
signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda *_: None)
def tell(kind, number):
    try:
        os.write(0, b"%s %d\\n" % (kind, number))
    except OSError:
        pass
def send(number):
    try:
        os.killpg(child, number)
        return True
    except OSError:
        return False
code = None
def poll(options=os.WNOHANG):
    global code
    if code is None:
        found, status = os.waitpid(child, options)
        code = os.waitstatus_to_exitcode(status) if found else None
    return code

broken, breaks = os.pipe()
child = os.fork()
if not child:
    try:
        os.dup2(os.open(given or os.devnull, os.O_RDONLY), 0)
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as fault:
        os.write(breaks, b"%d" % fault.errno)
    finally:
        os._exit(127)
os.close(breaks)
if fault := os.read(broken, 16):
    tell(b"unstarted", int(fault))
    sys.exit()
tell(b"group", child)
stopped = False
while poll() is None and not stopped:
    ready = select.select([0, wake], [], [])[0]
    if wake in ready:
        os.read(wake, 512)
    stopped = 0 in ready and poll() is None
if stopped:
    try:
        import ctypes
        ctypes.CDLL(None).prctl(36, 1)
    except Exception:
        pass
    send(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and (poll() is None or send(0)):
        time.sleep(0.01)
        try:
            poll() is None or os.waitpid(-child, os.WNOHANG)
        except ChildProcessError:
            pass
send(signal.SIGKILL)
tell(b"stopped" if stopped else b"ended", poll(0))
"""


@dataclass(frozen=True, slots=True)
class Execution:
    """What became of one command."""

    started: bool
    """If not, its exit code is 127 where it was not found and 126 otherwise."""
    exit_code: int | None
    """0 to 255; the negative number of the signal that ended it; ``None`` if it was stopped or its fate is unknown."""
    timed_out: bool
    cancelled: bool
    duration_ms: int
    tail: str
    """The last `TAIL_BYTES` of its output, decoded as UTF-8 with U+FFFD for what is not and for NUL."""
    reason: str
    """Why it was not started, its fate is unknown or its log is incomplete; else ``""``. One line."""
    output: Kept | None = None
    """What its log keeps."""
    errors: Kept | None = None
    """What the log of its errors keeps; ``None`` where both went to one."""


def find_command(command: Sequence[str], cwd: str | os.PathLike[str] | None = None) -> None:
    """Check before anything is run that the command's program is there and may be executed.

    A program without a slash is sought on PATH. One with a relative path is sought in `cwd`; without `cwd` it is not,
    as it may be there in some worktrees only. Raises `InvalidArgument` if it is not found or not executable, or the
    command is empty.
    """
    program = _checked(command)[0]
    checkable = cwd is not None or os.sep not in program or os.path.isabs(program)
    if checkable and shutil.which(os.path.join(cwd or "", program) if os.sep in program else program) is None:
        raise InvalidArgument(f"the command {program} is not found or not executable: install or correct it")


def run(
    command: Sequence[str],
    cwd: str | os.PathLike[str],
    *,
    log_path: str | os.PathLike[str],
    errors_path: str | os.PathLike[str] | None = None,
    input_path: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    grace_s: float = GRACE_S,
    max_log_bytes: int = MAX_LOG_BYTES,
    cancel: threading.Event | None = None,
) -> Execution:
    """Run `command`, without a shell, in the folder `cwd`, and wait for it. Safe to call from several threads.

    It runs in a session and process group of its own, in this process' environment less what redirects git, plus `env`.
    Its input is the file `input_path`, or nothing. Its output goes to the file `log_path`, and its errors there too, or
    to `errors_path`; of more than `max_log_bytes` (8192 at least) a log keeps the beginning and the end, with a mark
    between them that says how much was left out.

    After `timeout_s` seconds, or soon after `cancel` is set, its group gets SIGTERM and, after up to `grace_s` seconds,
    SIGKILL. The same happens if this call is interrupted or this process is killed. What is left of the group when the
    command ends by itself gets SIGKILL at once. A process that leaves the group, as daemons do, is not followed.

    Raises `InvalidArgument` for a limit out of range, a command or environment that no process can have, a `cwd` that
    is no folder, an input that cannot be read, or a log that cannot be written. A command that cannot be started is an
    `Execution`.
    """
    _checked(command)
    if timeout_s is not None and not 0 < timeout_s < math.inf:
        raise InvalidArgument(f"the timeout must be a positive number of seconds, not {timeout_s}")
    if not 0 <= grace_s < math.inf:
        raise InvalidArgument(f"the grace must be 0 or more seconds, not {grace_s}")
    if max_log_bytes < 2 * TAIL_BYTES:
        raise InvalidArgument(f"a log must be allowed {2 * TAIL_BYTES} bytes or more, not {max_log_bytes}")
    if not os.path.isdir(cwd):
        raise InvalidArgument(f"{cwd} is not a folder that a command can run in")
    if input_path is not None and not os.access(input_path, os.R_OK):
        raise InvalidArgument(f"the input {input_path} cannot be read")
    environment = clean_environment() | dict(env or {})
    given = "" if input_path is None else os.path.abspath(input_path)
    arguments = [repr(float(grace_s)), environment.get("LC_CTYPE", ""), given, *command]
    with contextlib.ExitStack() as logs:
        log = logs.enter_context(_opened(log_path, max_log_bytes))
        errors = None if errors_path is None else logs.enter_context(_opened(errors_path, max_log_bytes))
        began = time.monotonic()
        watch = _Watch(grace_s, log, errors, cancel, math.inf if timeout_s is None else began + timeout_s)
        watch.run(arguments, cwd, environment)
        duration = time.monotonic() - began
    return _result(command[0], watch, round(duration * 1000))


def _opened(path: str | os.PathLike[str], limit: int) -> contextlib.closing[Log]:
    try:
        return contextlib.closing(Log(path, limit))
    except OSError as fault:
        raise InvalidArgument(f"the log {path} cannot be written: {fault.strerror}") from fault


def _checked(command: Sequence[str]) -> Sequence[str]:
    if isinstance(command, str) or not command or not command[0]:
        raise InvalidArgument("a command is a sequence of a program and its arguments, and cannot be empty")
    return command


def _result(program: str, watch: _Watch, duration_ms: int) -> Execution:
    told, code = watch.told, watch.told.get("ended")
    reason = watch.log.fault or (watch.errors.fault if watch.errors else "")
    if (number := told.get("unstarted")) is not None:
        hint = ": a script begins with a line such as '#!/bin/sh'" if number == errno.ENOEXEC else ""
        reason = f"{clip(program)} could not be started: {os.strerror(number)}{hint}"
        code = 127 if number == errno.ENOENT else 126
    elif code is None and "stopped" not in told:
        reason = "its supervisor was killed or is stuck: the command was killed, and its outcome is not known"
    return Execution(
        started="unstarted" not in told,
        exit_code=code,
        timed_out=code is None and watch.stopped == "timeout",
        cancelled=code is None and watch.stopped == "cancel",
        duration_ms=duration_ms,
        tail=watch.log.tail,
        reason=reason,
        output=watch.log.kept,
        errors=watch.errors.kept if watch.errors else None,
    )


@dataclass(slots=True)
class _Watch:
    """Follows one supervisor until it is gone."""

    grace_s: float
    log: Log
    errors: Log | None
    cancel: threading.Event | None
    deadline: float
    stopped: Literal["", "timeout", "cancel"] = ""
    told: dict[str, int] = field(default_factory=dict)

    def run(self, arguments: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    supervisor = subprocess.Popen(
                        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _SUPERVISOR, *arguments],
                        bufsize=0,
                        cwd=cwd,
                        env=env,
                        stdin=theirs.fileno(),
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT if self.errors is None else subprocess.PIPE,
                        start_new_session=True,
                    )
            except OSError as fault:
                self.told["unstarted"] = fault.errno or 0
                return
            except ValueError as fault:
                raise InvalidArgument(f"no process can have that command and environment: {fault}") from fault
            with supervisor:
                assert supervisor.stdout is not None
                streams: dict[IO[bytes], Log] = {supervisor.stdout: self.log}
                if supervisor.stderr is not None and self.errors is not None:
                    streams[supervisor.stderr] = self.errors
                try:
                    self._follow(streams, ours)
                finally:
                    ours.close()  # If the call was interrupted, it is this that stops the command.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        supervisor.wait(self.grace_s + _PATIENCE_S)
                    if supervisor.poll() != 0:
                        supervisor.kill()
                        with contextlib.suppress(KeyError, OSError):
                            os.killpg(self.told["group"], signal.SIGKILL)

    def _follow(self, streams: Mapping[IO[bytes], Log], ours: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(ours, selectors.EVENT_READ)
            for stream in streams:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if self.stopped and now >= self.deadline:
                    return
                if not self.stopped and (now >= self.deadline or (self.cancel and self.cancel.is_set())):
                    self.stopped = "timeout" if now >= self.deadline else "cancel"
                    self.deadline = now + self.grace_s + _PATIENCE_S
                    ours.shutdown(socket.SHUT_WR)
                ready = {key.fileobj for key, _ in selector.select(min(0.1, self.deadline - now))}
                for stream, log in streams.items():
                    if stream in ready and not _drain(stream, log):
                        selector.unregister(stream)
                if ours in ready:
                    if not (told := ours.recv(4096).decode("ascii").split()):
                        break
                    self.told.update(zip(told[::2], map(int, told[1::2]), strict=True))
        # A process that left the group may hold the pipe open: what it holds by now is read, its end not waited for.
        for stream, log in streams.items():
            for _ in range(16):
                _drain(stream, log)


def _drain(stream: IO[bytes], log: Log) -> bool:
    read = stream.read(65536)  # None if there is nothing just now
    log.write(read or b"")
    return read != b""
