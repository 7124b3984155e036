"""A harness for any engine that a URL opens; for ``memory://`` and ``sqlite:///`` it can also tamper and inflict."""

from __future__ import annotations

import contextlib
import itertools
import resource
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import strongroom
from strongroom.conformance.backdoors import MEMORY_STORE, MemoryBackDoor, SqliteBackDoor
from strongroom.conformance.harness import Ability, Harness
from strongroom.engine import Engine, StoreUrl
from strongroom.errors import InvalidArgument
from strongroom.records import AnyTable, Stored

NUMBER: Final = "{n}"
IN_MEMORY: Final = ":memory:"

_numbers = itertools.count(1)
"""No two stores of one process share a number: a named store in memory lives as long as the process."""

_NO_WRITES: Final = frozenset({Ability.DISK_FULL, Ability.FAILED_COMMIT})
"""What it comes to, for SQLite, when no file can be written: a commit is the first thing that writes one."""


class UrlHarness(Harness):
    """Opens stores by URL.

    Arguments:
        template: the store's URL. Where it holds ``{n}``, each fresh store gets another number in its place.
            ``memory://NAME`` and ``sqlite:///PATH`` need none: the number goes behind the name, and behind the path's
            stem. What the stores leave behind is removed for SQLite files only.
        seal_key: the key that seals the stores' rows.
    """

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        parsed = StoreUrl.parse(template)
        self.name = parsed.scheme
        self._template = template if NUMBER in template else _numbered(parsed, template)
        self._seal_key = seal_key
        self._number = next(_numbers)
        self._files = parsed.scheme == "sqlite" and parsed.place != IN_MEMORY
        self._held = "exclusive" in parsed.options
        self._memory: Engine | None = None

    @property
    def url(self) -> str:
        # Another process opens the store by URL alone, which says nothing of a seal key.
        alone = self.name == "memory" or self._template.endswith(IN_MEMORY) or self._seal_key is not None
        return "" if alone else self._url()

    def open(self) -> Engine:
        engine = strongroom.open(self._url(), seal_key=self._seal_key)
        if hasattr(engine, MEMORY_STORE):
            self._memory = engine
        return engine

    def fresh(self) -> None:
        self._remove_files()
        self._number = next(_numbers)
        self._remove_files()  # an earlier run's store of this number
        self._memory = None

    def close(self) -> None:
        self._remove_files()

    @property
    def abilities(self) -> frozenset[Ability]:
        abilities = set(super().abilities)
        if self.name == "memory":
            abilities.add(Ability.TAMPER)
        if self._files:
            abilities |= {Ability.TAMPER, Ability.TOOLS, Ability.IMAGE, *_NO_WRITES}
        if self._files and not self._held:
            abilities.add(Ability.EXCLUSIVE)
        return frozenset(abilities)

    def tamper(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._door().tamper(table, table.store_key(key), column, value)

    def peek(self, table: AnyTable, key: Sequence[Any]) -> dict[str, Stored] | None:
        return self._door().peek(table, table.store_key(key))

    def remove(self, table: AnyTable, key: Sequence[Any]) -> None:
        self._door().remove(table, table.store_key(key))

    def raw_update_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._sqlite().update_refused(table, table.store_key(key), column, value)

    def raw_replace_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._sqlite().replace_refused(table, table.store_key(key), column, value)

    def raw_delete_refused(self, table: AnyTable, key: Sequence[Any]) -> bool:
        return self._sqlite().delete_refused(table, table.store_key(key))

    def open_exclusive(self) -> Engine:
        return strongroom.open(self.exclusive_url, seal_key=self._seal_key)

    @property
    def exclusive_url(self) -> str:
        if not self._files or self._held:
            raise self._unable(Ability.EXCLUSIVE)
        url = self._url()
        return f"{url}{'&' if '?' in url else '?'}exclusive=1"

    def image(self) -> bytes:
        if not self._files:
            raise self._unable(Ability.IMAGE)
        return b"".join(path.name.encode() + path.read_bytes() for path in self._own_files())

    def inflict(self, fault: Ability) -> AbstractContextManager[None]:
        if fault in _NO_WRITES and self._files:
            return no_file_grows()
        raise self._unable(fault)

    def _url(self) -> str:
        return self._template.replace(NUMBER, str(self._number))

    def _path(self) -> Path:
        return Path(StoreUrl.parse(self._url()).path)

    def _own_files(self) -> list[Path]:
        path = self._path()
        return sorted(path.parent.glob(path.name + "*")) if self._files else []

    def _remove_files(self) -> None:
        for path in self._own_files():
            path.unlink(missing_ok=True)

    def _door(self) -> MemoryBackDoor | SqliteBackDoor:
        return MemoryBackDoor(self._memory_store) if self.name == "memory" else self._sqlite()

    def _memory_store(self) -> Any:
        return getattr(self._memory or self.open(), MEMORY_STORE)

    def _sqlite(self) -> SqliteBackDoor:
        if not self._files:
            raise self._unable(Ability.TAMPER)
        return SqliteBackDoor(self._path())


@contextlib.contextmanager
def no_file_grows(limit: int = 4096) -> Iterator[None]:
    """While it lasts, the operating system refuses this process every write to a file behind its first `limit` bytes.

    That is what a full disk looks like to an engine that keeps files. Python ignores the signal that comes with it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _numbered(url: StoreUrl, template: str) -> str:
    """The template with a place for the number of the store."""
    place, question, options = template.partition("?")
    if url.scheme == "memory" and url.place:
        return f"{place}-{NUMBER}{question}{options}"
    if url.scheme == "sqlite" and url.place == IN_MEMORY:
        return template
    if url.scheme == "sqlite" and url.path:
        suffix = Path(place).suffix
        return f"{place.removesuffix(suffix)}-{NUMBER}{suffix}{question}{options}"
    raise InvalidArgument(f"{url.shown}: say where each fresh store's number goes, as in ENGINE://PLACE-{NUMBER}")
