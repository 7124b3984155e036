"""`strongroom mutants`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from strongroom.cli import output
from strongroom.cli.conform import scratch
from strongroom.cli.stores import AsJson

if TYPE_CHECKING:
    from strongroom.conformance.mutants.hunt import Catch, Hunted
    from strongroom.conformance.mutants.registry import Mutant

_Only = Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="Only the mutant of this name.")]
_On = Annotated[
    list[str] | None,
    typer.Option("--on", metavar="URL", help="Hunt on this server, too: postgresql://..., mysql://..."),
]
_List = Annotated[bool, typer.Option("--list", help="Say which mutants there are, and hunt none.")]


def mutants(as_json: AsJson = False, only: _Only = None, on: _On = None, listed: _List = False) -> None:
    """Show what the conformance kit is worth: break each safeguard once, and see that a case notices.

    Every mutant is an engine, or what stands above the engines, with one thing broken that real stores get wrong. The
    kit is run against each until a case fails that the healthy engine passes. Those of engines with a server are
    hunted where the URL of a store on one is given; stores beside it are made, and dropped again. Exits with 1 if a
    mutant survived.

    Example: strongroom mutants --only memory-abandon-commits
    """
    from strongroom.conformance.mutants.grounds import ground_of
    from strongroom.conformance.mutants.hunt import hunt
    from strongroom.conformance.mutants.registry import all_mutants, find

    chosen = [find(name) for name in dict.fromkeys(only or ())] or all_mutants()
    if listed:
        _list(chosen, as_json=as_json)
        return
    servers = {ground_of(url): url for url in on or ()}
    with scratch() as folder, output.progress(as_json=as_json, unit="mutants") as show:

        def watch(catch: Catch) -> None:
            if not as_json:
                _say_catch(catch)

        hunted = hunt(chosen, folder=folder, servers=servers, progress=show, watch=watch)
    if as_json:
        output.emit(asdict(hunted))
    else:
        _say_end(hunted)
    if not hunted.ok:
        raise typer.Exit(output.FOUND)


def _list(mutants: Sequence[Mutant], *, as_json: bool) -> None:
    for mutant in mutants:
        grounds = [ground.value for ground in mutant.grounds]
        if as_json:
            listing = {"mutant": mutant.name, "breaks": mutant.breaks, "clauses": mutant.clauses, "on": grounds}
            output.emit(listing)
        else:
            output.say((mutant.name, "bold"), f" ({', '.join(mutant.clauses)}; {', '.join(grounds)}): {mutant.breaks}")


def _say_catch(catch: Catch) -> None:
    name = f"{catch.mutant} [{catch.ground}]"
    if catch.caught_by:
        output.say(("caught   ", "green"), name, (f" by {catch.clause} {catch.caught_by}", "dim"))
    else:
        output.say(("SURVIVED ", "bold red"), f"{name}: {catch.breaks} ({catch.note})")


def _say_end(hunted: Hunted) -> None:
    for unsound in hunted.unsound:
        output.say(("UNSOUND  ", "bold red"), f"the healthy engine does not pass {unsound}")
    if hunted.not_hunted:
        _say_left(hunted.not_hunted)
    survivors = len(hunted.survivors)
    output.say(
        f"{hunted.caught} of {hunted.mutants} mutants caught, ",
        (f"{survivors} survived", "bold red" if survivors else "bold green"),
    )


def _say_left(names: Sequence[str]) -> None:
    """Say how many mutants were not hunted for want of a server, and how that is done."""
    from strongroom.conformance.mutants.grounds import EXAMPLES
    from strongroom.conformance.mutants.registry import find

    needed = {ground for name in names for ground in find(name).grounds}
    urls = " ".join(f"--on '{url}'" for ground, url in EXAMPLES.items() if ground in needed)
    output.say(f"{len(names)} not hunted, or not everywhere: add {urls}")
