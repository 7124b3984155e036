"""Stores on the run's etcd, each a prefix of its test's own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from servers.etcd import store_url
from servers.server import Address
from strongroom.engines.etcd import EtcdEngine
from tests.engines.etcd.stores import SCHEMA, opened
from tests.engines.leases import SCHEMA as LEASE_SCHEMA

_numbers = itertools.count(1)


@pytest.fixture
def url(etcd: Address) -> Callable[..., str]:
    """Makes URLs of the test's own prefix, with options."""
    prefix = f"own/{os.getpid()}-{next(_numbers)}"
    return lambda **options: store_url([etcd], prefix, **options)


@pytest.fixture
def room(url: Callable[..., str]) -> Iterator[EtcdEngine]:
    with opened(url()) as engine:
        engine.prepare(SCHEMA)
        engine.prepare(LEASE_SCHEMA)
        yield engine


@pytest.fixture
def other(url: Callable[..., str], room: EtcdEngine) -> Iterator[EtcdEngine]:
    """Another engine object on the same store."""
    with opened(url()) as engine:
        yield engine
