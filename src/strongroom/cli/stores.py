"""Stores as commands name them: a URL, and a file with the seal key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlencode

import typer

import strongroom
from strongroom import operations
from strongroom.engine import Engine, StoreUrl, Strength
from strongroom.errors import InvalidArgument, MigrationFailed, NotFound
from strongroom.operations import State
from strongroom.patterns import Subject

KEY_FILE_VARIABLE: Final = "STRONGROOM_SEAL_KEY_FILE"
_LONGEST_KEY_FILE: Final = 1_000

Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="The store, such as sqlite:///strongroom.db.", show_default=False),
]
SealKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--seal-key-file",
        envvar=KEY_FILE_VARIABLE,
        metavar="PATH",
        help="A file with the key that seals the store, in hex digits. The key is never shown.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with JSON objects, one a line.")]


def open_store(url: str, seal_key_file: Path | None, *, create: bool = False) -> Engine:
    """The engine of a store that exists; with `create`, also of one that does not exist yet.

    Raises as `strongroom.open` and `read_seal_key`; `InvalidArgument` where there is no such store.
    """
    try:
        return strongroom.open(url if create else existing(url), seal_key=read_seal_key(seal_key_file))
    except NotFound as fault:
        raise InvalidArgument(str(fault)) from fault


@contextmanager
def prepared_room(url: str, seal_key_file: Path | None, subject: Subject, *, hint: str = "") -> Iterator[Engine]:
    """The engine of a room that keeps a multi-record domain already, to be looked at: nothing is made or migrated.

    Arguments:
        hint: what is added, where the room keeps no such domain.

    Raises as `open_store`; `Unsupported` for an engine of single-record strength; `InvalidArgument` where the room does
    not keep the domain; `SchemaTooNew` and `MigrationFailed` for tables that this code can't read.
    """
    name = subject.schema.name
    with open_store(url, seal_key_file) as engine:
        engine.require(Strength.MULTI_RECORD, name)
        [state] = [state for state in operations.survey(engine, (subject,)).schemas if state.name == name]
        state.check()
        if state.state is State.ABSENT:
            raise InvalidArgument(f"the room {shown_url(url)} keeps no {name}{hint}")
        if state.state is State.BEHIND:
            raise MigrationFailed(f"schema {name} is at version {state.version}: bring the room up to date first")
        yield engine


def existing(url: str) -> str:
    """The URL that opens the same store, but never makes it."""
    store = StoreUrl.parse(url)
    if store.scheme != "sqlite" or store.place == ":memory:":
        return url
    return f"{store.scheme}://{store.place}?{urlencode({**store.options, 'create': '0'})}"


def shown_url(url: str) -> str:
    """The URL as it may be shown (`StoreUrl.shown`)."""
    return StoreUrl.parse(url).shown


def read_seal_key(path: Path | None) -> bytes | None:
    """The seal key that stands in a file as hex digits; None for no file.

    Raises `InvalidArgument`, which never shows what is in the file, if it can't be read or holds anything else.
    """
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_KEY_FILE)
    except OSError as problem:
        raise InvalidArgument(f"the seal key file {path} can't be read: {problem.strerror}") from None
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        raise InvalidArgument(
            f"the seal key file {path} holds no key: 32 to 128 hex digits, as `openssl rand -hex 32` makes them"
        ) from None
