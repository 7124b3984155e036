"""`strongroom conform`."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

import typer

from strongroom.cli import output
from strongroom.cli.stores import AsJson
from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument
from strongroom.routing import RoomsFile

IN_MEMORY: Final = ":memory:"
HOME: Final = "HYPOTHESIS_STORAGE_DIRECTORY"
"""The variable that tells hypothesis where to keep what it remembers."""

_Clauses = Annotated[
    list[str] | None, typer.Option("--clause", metavar="ID", help="Only the cases of this clause, such as W2.")
]
_Cases = Annotated[list[str] | None, typer.Option("--case", metavar="NAME", help="Only the case of this name.")]
_Slow = Annotated[
    bool, typer.Option("--slow/--fast", help="Also run the cases that are slow by nature: kills, long histories.")
]
_List = Annotated[bool, typer.Option("--list", help="Say which cases there are, and run none.")]
_Engine = Annotated[
    str | None,
    typer.Argument(
        metavar="URL", help="Where the engine may make stores, such as sqlite:///conform.db.", show_default=False
    ),
]


def conform(
    url: _Engine = None,
    as_json: AsJson = False,
    clause: _Clauses = None,
    case: _Cases = None,
    slow: _Slow = False,
    listed: _List = False,
) -> None:
    """Hold an engine to the contract.

    Each case of the conformance kit runs on a store of its own, which is made for it: beside the path that URL names
    and removed afterwards for SQLite files; in a schema of the database that URL names, or in a database beside it, and
    dropped afterwards for PostgreSQL and MySQL; in each of its rooms in this way for a router; and with the store's
    number in the place of {n} for any other engine. What exists is never touched: a URL of something that is there
    already is refused. Cases that the engine claims too little for are not asked; those that can't be shown are
    unsupported, not passed. Exits with 1 if a case failed.

    Example: strongroom conform sqlite:///conform.db --clause W2
    """
    clauses, cases = clause or (), case or ()
    if listed:
        _list(clauses, cases, slow=slow, as_json=as_json)
        return
    if url is None:
        raise InvalidArgument(
            "which engine? name a URL, such as sqlite:///conform.db, or ask for the cases with --list"
        )
    from strongroom.conformance import Outcome, run, select
    from strongroom.conformance.runner import introduce

    chosen = select(clauses=clauses, cases=cases, slow=slow)  # before anything is made
    with scratch(), _harness(url) as harness, output.progress(as_json=as_json, unit="cases") as show:

        def watch(done: int, total: int, outcome: Outcome) -> None:
            show(outcome.case, done, total)

        _, claims = introduce(harness)
        report = run(harness, clauses=clauses, cases=cases, slow=slow, progress=watch)
    if as_json:
        output.emit(asdict(report))
    else:
        _say(report, Counter(beyond for one in chosen if (beyond := one.beyond(claims))))
    if not report.ok:
        raise typer.Exit(output.FOUND)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed at the end; what the kit's model-based cases remember goes there, and not here."""
    given = HOME in os.environ
    with tempfile.TemporaryDirectory(prefix="strongroom-") as folder:
        os.environ.setdefault(HOME, folder)
        try:
            yield Path(folder)
        finally:
            if not given:
                del os.environ[HOME]


@contextlib.contextmanager
def _harness(url: str) -> Iterator[Any]:
    """The way into the kit for an engine whose stores are made where nothing is yet."""
    from strongroom.conformance import FlushCountingHarness, UrlHarness
    from strongroom.conformance.url_harness import KINDS

    store = StoreUrl.parse(url)
    if store.scheme == "sqlite" and store.place != IN_MEMORY:
        with _folder_beside(store) as folder:
            options = f"?{urlencode(store.options)}" if store.options else ""
            with FlushCountingHarness(f"sqlite:///{quote(str(folder))}/store.db{options}") as harness:
                yield harness
    elif store.scheme in ("memory", "sqlite"):
        if store.scheme == "memory":
            store = StoreUrl("memory", f"{store.place or 'conform'}-{os.getpid()}", store.options)
        with UrlHarness(f"{store.scheme}://{store.place}") as harness:
            yield harness
    elif store.scheme == "router":
        with _rooms(store) as harness:
            yield harness
    elif store.scheme in KINDS:
        with UrlHarness(url) as harness:
            yield harness
    else:
        with _new_stores(url) as harness:
            yield harness


@contextlib.contextmanager
def _rooms(store: StoreUrl) -> Iterator[Any]:
    """The way in through a router, for stores that are made in each of its rooms as if that were named itself."""
    from strongroom.conformance.harnesses.router import RouterHarness

    file = RoomsFile.read(Path(store.path))
    with contextlib.ExitStack() as rooms:
        harnesses = {name: rooms.enter_context(_harness(url)) for name, url in file.rooms.items()}
        yield rooms.enter_context(RouterHarness(harnesses, file.placement))


@contextlib.contextmanager
def _folder_beside(store: StoreUrl) -> Iterator[Path]:
    """A folder for SQLite files on the disk that the URL's path is on, removed at the end.

    Raises `InvalidArgument` where something stands under that path, or its folder is missing or can't be written.
    """
    if "create" in store.options:
        raise InvalidArgument("conform makes its own stores: leave the option create out")
    path = Path(store.path).absolute()
    if os.path.lexists(path):
        raise InvalidArgument(f"{path} exists: conform writes, and never touches what is there; name a new path")
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{path.name}-conform-", dir=path.parent)
    except OSError as problem:
        raise InvalidArgument(f"no stores can be made in {path.parent}: {problem.strerror}") from None
    with folder as made:
        yield Path(made)


def _new_stores(url: str) -> Any:
    """A harness that goes over to a store only if it has no table."""
    from strongroom.conformance import UrlHarness

    class NewStores(UrlHarness):
        def open(self) -> Any:
            engine = super().open()
            if self._url() not in checked:
                checked.add(self._url())
                if engine.tables():
                    engine.close()
                    shown = StoreUrl.parse(self._url()).shown
                    raise InvalidArgument(f"{shown} holds something: conform never touches what is there")
            return engine

    checked: set[str] = set()
    return NewStores(url)


def _list(clauses: Collection[str], cases: Collection[str], *, slow: bool, as_json: bool) -> None:
    from strongroom.conformance import CLAUSES, select

    chosen = select(clauses=clauses, cases=cases, slow=slow or bool(cases))
    if as_json:
        for one in chosen:
            output.emit({"case": one.name, "clause": one.clause, "slow": one.slow})
        return
    for clause in dict.fromkeys(one.clause for one in chosen):
        output.say((clause, "bold"), f"  {CLAUSES[clause]}")
        for one in chosen:
            if one.clause == clause:
                output.say(f"    {one.name}{' (slow)' if one.slow else ''}")


def _say(report: Any, not_asked: Counter[str]) -> None:
    from strongroom.conformance import CLAUSES

    failed = {failure.clause for failure in report.failed}
    for clause, count in report.clauses.items():
        style = "red" if clause in failed else "green" if count.passed == count.cases else "yellow"
        output.say((f"{clause}  {count.passed:>3} of {count.cases:<3}", style), f" {CLAUSES[clause]}")
    for failure in report.failed:
        output.say(("FAILED ", "bold red"), f"{failure.clause} {failure.case}: {failure.error}")
    for reason, number in Counter(unproved.reason for unproved in report.unsupported).items():
        output.remark((f"unsupported ({number}): ", "dim"), reason)
    for reason, number in not_asked.items():
        output.remark((f"not asked ({number}): ", "dim"), reason)
    passed = f"{report.engine} ({report.strength}): {report.passed} of {report.cases} cases passed, "
    output.say(passed, (f"{len(report.failed)} failed", "bold red" if report.failed else "bold green"))
