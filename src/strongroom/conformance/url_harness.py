"""A harness for any engine that a URL opens; for those that come with Strongroom it can also tamper and inflict."""

from __future__ import annotations

import importlib
import itertools
from typing import Final, Self, cast
from urllib.parse import quote

import strongroom
from strongroom.conformance.harness import Harness
from strongroom.engine import Engine, StoreUrl
from strongroom.errors import InvalidArgument, Unsupported

NUMBER: Final = "{n}"

KINDS: Final = {
    "memory": "memory:MemoryHarness",
    "sqlite": "sqlite:SqliteHarness",
    "postgresql": "postgres:PostgresHarness",
    "postgres": "postgres:PostgresHarness",
    "etcd": "etcd:EtcdHarness",
    "dynamodb": "dynamodb:DynamoHarness",
    "mysql": "mysql:MysqlHarness",
    "mariadb": "mysql:MysqlHarness",
}
"""The harnesses that can do more than open, by scheme."""

_numbers = itertools.count(1)
"""No two stores of one process share a number: a named store in memory lives as long as the process."""


class UrlHarness(Harness):
    """Opens stores by URL. Of the engines that come with Strongroom it becomes the harness that can do most.

    Arguments:
        template: the store's URL. Where it holds ``{n}``, each fresh store gets another number in its place. URLs of
            Strongroom's own engines need none: the number goes behind the name in memory, the path's stem, the schema
            of PostgreSQL, the database of MySQL, the prefix of etcd and the table of DynamoDB. What these stores leave
            behind is removed; those of any other engine are left.
        seal_key: the key that seals the stores' rows.

    Raises `InvalidArgument` for a URL without a place for the number, `Unsupported` where a server's driver is missing.
    """

    def __new__(cls, template: str, *, seal_key: bytes | None = None) -> Self:
        scheme = StoreUrl.parse(template).scheme
        if cls is UrlHarness and scheme in KINDS:
            return cast(Self, super().__new__(_kind(scheme)))
        return super().__new__(cls)

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        parsed = StoreUrl.parse(template)
        self.name = parsed.scheme
        self._template = template if NUMBER in template else self._numbered(parsed)
        self._seal_key = seal_key
        self._number = next(_numbers)

    @property
    def url(self) -> str:
        # Another process opens the store by URL alone, which says nothing of a seal key.
        return "" if self._seal_key is not None else self._url()

    def open(self) -> Engine:
        return self._opened(self._url())

    def fresh(self) -> None:
        self._number = next(_numbers)

    def _opened(self, url: str) -> Engine:
        return strongroom.open(url, seal_key=self._seal_key)

    def _url(self) -> str:
        return self._template.replace(NUMBER, str(self._number))

    def _numbered(self, url: StoreUrl) -> str:
        """The template, for one that has no place for the number of the store."""
        raise InvalidArgument(f"{url.shown}: say where each fresh store's number goes, as in ENGINE://PLACE-{NUMBER}")


def _kind(scheme: str) -> type[UrlHarness]:
    module, _, name = KINDS[scheme].partition(":")
    try:
        found: type[UrlHarness] = getattr(importlib.import_module(f"strongroom.conformance.harnesses.{module}"), name)
    except ImportError as missing:
        raise Unsupported(f"the kit can't look into {scheme}:// stores ({missing}): it needs the driver") from missing
    return found


def with_options(place: str, options: dict[str, str]) -> str:
    """What stands behind ``scheme://`` for a place and its options, ``{n}`` in them left as it is."""
    if not options:
        return place
    return place + "?" + "&".join(f"{name}={quote(value, safe='{},:/@[]')}" for name, value in options.items())
