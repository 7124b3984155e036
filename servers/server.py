"""What all private servers have in common: a folder, a port, and a life of starts and ends."""

from __future__ import annotations

import signal
import time
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlencode

from servers.errors import ServerFailed
from servers.life import Life
from servers.ports import Port
from servers.process import Process, tail
from servers.run import Run, current

DEADLINE = 60.0
"""How many seconds a server gets to answer, or to stop. It takes a second; a loaded machine may take more."""
PAUSE = 0.01
"""How many seconds are between two questions to a server that is starting."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server answers, to a user who needs no password."""

    scheme: str
    user: str
    host: str
    port: int
    database: str
    """The database that is there from the start; empty if none is."""
    log: str
    """The path of the server's log."""

    def url(self, database: str | None = None, **options: str) -> str:
        """The URL of a database, or of the one that is there from the start, with the store's options."""
        path = quote(self.database if database is None else database, safe="")
        query = f"?{urlencode(options)}" if options else ""
        return f"{self.scheme}://{self.user}@{self.host}:{self.port}/{path}{query}"


class Server(Life):
    """A private server on this machine: made, it has its data; started, it answers; closed, nothing of it is left.

    As a context manager it starts at the beginning and closes at the end. One that is dropped without being closed
    goes on, and ends with its run.
    """

    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    """Which signal stops it in order, without waiting for its clients."""
    farewell: ClassVar[signal.Signals | None] = None
    """Which signal to send before it is killed for good, if killing it would leave something behind."""

    def __init__(self, name: str, *, run: Run | None = None) -> None:
        self.run = run or current()
        self.folder: Path = self.run.new_folder(name)
        self.log = self.folder / "log"
        self._name = name
        self._port = Port()
        self._process: Process | None = None

    @property
    @abstractmethod
    def address(self) -> Address:
        """Where it answers."""

    @abstractmethod
    def _command(self) -> list[str]:
        """The program and its arguments."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether it answers by now; quickly."""

    @property
    def namespace(self) -> str | None:
        """The path of the network namespace that it runs in; None for this machine's own."""
        return None

    @property
    def host(self) -> str:
        """The host that it answers on."""
        return self.address.host

    @property
    def port(self) -> int:
        """The port that it answers on: the same after every start."""
        return self.address.port

    @property
    def user(self) -> str:
        """The user who may do everything, without a password."""
        return self.address.user

    def url(self, database: str | None = None, **options: str) -> str:
        """See `Address.url`."""
        return self.address.url(database, **options)

    @property
    def pid(self) -> int:
        """The id of its main process. Raises `ServerFailed` when it doesn't run."""
        if self._process is None or not self._process.running:
            raise ServerFailed(f"{self._name} does not run")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether any process of it is left."""
        return self._process is not None and self._process.running

    def start(self) -> None:
        """Start it, and wait until it answers. Raises `ServerFailed`, with the end of its log. No harm if it runs."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start it without waiting for an answer."""
        if not self.running:
            self._process = Process(
                self._command(), run=self.run, folder=self.folder, farewell=self.farewell, namespace=self.namespace
            )

    def wait(self, seconds: float = DEADLINE) -> None:
        """Wait until it answers. Raises `ServerFailed` when it ends before, or takes longer."""
        deadline = time.monotonic() + seconds
        while not self._answers():
            if not self.running:
                raise self._failed("ended before it answered")
            if time.monotonic() > deadline:
                raise self._failed(f"did not answer within {seconds:.0f} s")
            time.sleep(PAUSE)

    def stop(self) -> None:
        """Stop it in order and wait for its end: sessions are broken off, everything is written. Then `start` again."""
        if self._process is not None:
            self._process.send(self.stop_signal)
            if not self._process.wait(DEADLINE):
                raise self._failed(f"did not stop within {DEADLINE:.0f} s")

    def kill(self) -> None:
        """Kill every process of it at once (``kill -9``), as a crash of its machine would. Then `start` again."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """Stop it in order, and start it."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it for good: nothing of it is left, and its folder goes with the run's."""
        if self._process is not None:
            self._process.end()
        self._port.release()

    def _failed(self, what: str) -> ServerFailed:
        return ServerFailed(f"{self._name} {what}; the end of {self.log}:\n{tail(self.log)}")
