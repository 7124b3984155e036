"""A harness for SQLite files, and for SQLite in memory."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from strongroom.conformance.backdoors import SqliteBackDoor
from strongroom.conformance.harness import Ability
from strongroom.conformance.harnesses.sql import SqlHarness
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.engine import Engine, StoreUrl

IN_MEMORY: Final = ":memory:"

_NO_WRITES: Final = frozenset({Ability.DISK_FULL, Ability.FAILED_COMMIT})
"""What it comes to when no file can be written: a commit is the first thing that writes one."""


class SqliteHarness(SqlHarness):
    """As `UrlHarness`, for ``sqlite:///PATH`` and ``sqlite://:memory:``. What its files leave behind is removed."""

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        super().__init__(template, seal_key=seal_key)
        parsed = StoreUrl.parse(template)
        self._files = parsed.place != IN_MEMORY
        self._held = "exclusive" in parsed.options

    @property
    def url(self) -> str:
        return super().url if self._files else ""

    def fresh(self) -> None:
        self._remove_files()
        super().fresh()
        self._remove_files()  # an earlier run's store of this number

    def close(self) -> None:
        self._remove_files()

    @property
    def abilities(self) -> frozenset[Ability]:
        abilities = set(super().abilities)
        if self._files:
            abilities |= {Ability.TAMPER, Ability.TOOLS, Ability.IMAGE, *_NO_WRITES}
        if self._files and not self._held:
            abilities.add(Ability.EXCLUSIVE)
        return frozenset(abilities)

    def open_exclusive(self) -> Engine:
        return self._opened(self.exclusive_url)

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

    def _path(self) -> Path:
        return Path(StoreUrl.parse(self._url()).path)

    def _own_files(self) -> list[Path]:
        path = self._path()
        return sorted(path.parent.glob(path.name + "*")) if self._files else []

    def _remove_files(self) -> None:
        for path in self._own_files():
            path.unlink(missing_ok=True)

    def _door(self) -> SqliteBackDoor:
        if not self._files:
            raise self._unable(Ability.TAMPER)
        return SqliteBackDoor(self._path())

    def _numbered(self, url: StoreUrl) -> str:
        if url.place == IN_MEMORY:
            return f"{url.scheme}://{with_options(url.place, url.options)}"
        if not url.path:
            return super()._numbered(url)
        suffix = Path(url.place).suffix
        return f"{url.scheme}://{with_options(f'{url.place.removesuffix(suffix)}-{NUMBER}{suffix}', url.options)}"


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
