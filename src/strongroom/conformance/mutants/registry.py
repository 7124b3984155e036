"""What a mutant is, and the list of all of them."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from strongroom.conformance.clauses import CLAUSES
from strongroom.conformance.mutants.patching import Patches
from strongroom.errors import InvalidArgument

MODULES: Final = (
    "engine_memory",
    "engine_sqlite_rows",
    "engine_sqlite_commits",
    "engine_sqlite_files",
    "kernel_values",
    "kernel_proofs",
    "kernel_calls",
    "kernel_functions",
    "kernel_schemas",
    "buffered",
    "patterns",
    "patterns_chains",
    "patterns_claims",
    "engine_servers",
    "engine_postgres_rows",
    "engine_postgres_commits",
    "engine_mysql_rows",
    "engine_mysql_commits",
    "engine_etcd",
    "engine_dynamodb",
    "router",
)
"""The themes."""

DRIVERS: Final = frozenset({"psycopg", "pymysql", "grpc", "google", "boto3", "botocore"})
"""What the engines of servers need. Where one is not installed, that engine has no mutants."""

VARIABLE: Final = "STRONGROOM_MUTANT"
"""The environment variable that tells the kit's worker processes which mutant they are to be."""


class Ground(Enum):
    """What a mutant is hunted on: an engine, or a test engine in front of the memory engine."""

    MEMORY = "memory"
    SQLITE = "sqlite"
    WATCHED = "sqlite, its flushes counted"
    SINGLE_RECORD = "single-record memory"
    UNRELIABLE = "unreliable memory"
    BUFFERED = "buffered memory"
    ROUTER = "router of memory rooms"
    POSTGRES = "postgresql"
    MYSQL = "mysql"
    GALERA = "galera"
    ETCD = "etcd"
    DYNAMODB = "dynamodb"

    @property
    def needs_server(self) -> bool:
        """Whether it is only there where the URL of a server is given."""
        return self in _SERVERS


_SERVERS: Final = frozenset({Ground.POSTGRES, Ground.MYSQL, Ground.GALERA, Ground.ETCD, Ground.DYNAMODB})


@dataclass(frozen=True)
class Mutant:
    """One broken safeguard."""

    name: str
    breaks: str
    """What is broken, in one sentence."""
    clauses: tuple[str, ...]
    """The clauses whose cases are to notice."""
    grounds: tuple[Ground, ...]
    """Where it must be caught, each by itself. None: it breaks what the kit does not do, and is held to other tests."""
    mutate: Callable[[Patches], None]

    @contextlib.contextmanager
    def loose(self) -> Iterator[Patches]:
        """While the context lasts, this process's engines are the mutant's."""
        with Patches() as patches:
            self.mutate(patches)
            yield patches


_mutants: dict[str, Mutant] = {}


def mutant(
    *clauses: str, on: Ground | tuple[Ground, ...] = ()
) -> Callable[[Callable[[Patches], None]], Callable[[Patches], None]]:
    """Registers the decorated function as a mutant that cases of these clauses notice.

    The function breaks one thing through the `Patches` that it gets. Its name, with hyphens, is the mutant's; its
    docstring says what it breaks.
    """

    def register(mutate: Callable[[Patches], None]) -> Callable[[Patches], None]:
        name = mutate.__name__.replace("_", "-")
        breaks = " ".join((mutate.__doc__ or "").split())
        if not breaks or not clauses or not set(clauses) <= set(CLAUSES) or name in _mutants:
            raise TypeError(f"mutant {name}: a docstring, clauses of the contract, and a name of its own")
        _mutants[name] = Mutant(name, breaks, clauses, on if isinstance(on, tuple) else (on,), mutate)
        return mutate

    return register


def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant, by theme, but those of engines whose driver is not installed."""
    for module in MODULES:
        _load(module)
    return tuple(_mutants.values())


def find(name: str) -> Mutant:
    """The mutant of that name; `InvalidArgument` if there is none."""
    # No more themes are loaded than it takes: each worker process does this, and a driver may take a second.
    likely = f"engine_{name.partition('-')[0]}"
    for module in sorted(MODULES, key=lambda module: not module.startswith(likely)):
        if name in _mutants:
            break
        _load(module)
    if name not in _mutants:
        raise InvalidArgument(f"there is no mutant {name!r}")
    return _mutants[name]


def _load(module: str) -> None:
    try:
        importlib.import_module(f"{__package__}.{module}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in DRIVERS:
            raise


_become: list[str] = []


def become(name: str) -> None:
    """Turn this whole process into the mutant of that name, to its end. `InvalidArgument` if there is none."""
    if not _become:
        find(name).mutate(Patches())
        _become.append(name)
