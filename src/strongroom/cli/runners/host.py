"""`strongroom runners host`: one machine of a fleet, how much it runs and where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.runners.fences import Remaining, split
from strongroom.cli.runners.machine import found_host, made_host, this_machine
from strongroom.cli.runners.place import Fleet, HostId, changing, looking
from strongroom.cli.runners.roots import Moved, place_of_host, set_runtime_root
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.domains.runners import Host
from strongroom.domains.runners.tables import HOSTS

app = typer.Typer(
    name="host",
    help="Show a host, and set how much it runs and where.\n\nExample: strongroom runners host show",
    no_args_is_help=True,
)


@app.command()
def show(
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: HostId = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show a host: what it is, how many attempts it may run, where ephemeral ones lie and how many are not cleaned.

    Nothing in the room is changed. The count of ephemeral attempts is the whole fleet's, as it is what a change of the
    runner root waits for. Exits with 1 if there is no such host.

    Example: strongroom runners host show --host h-1
    """
    with looking(room, fleet, seal_key_file) as store:
        found = found_host(store, host_id, this_machine())
        ephemeral = split(store.uncleaned_ephemeral_attempts())
    if as_json:
        output.emit(host_object(found) | {"ephemeral": _counts(ephemeral)})
        return
    output.say_rows(
        [
            ("host", output.shown(found.id)),
            ("fleet", output.shown(found.fleet)),
            ("name", output.shown(found.display_name)),
            ("system", f"{found.os} {found.architecture}"),
            ("capacity", str(found.host_capacity)),
            ("starts at", found.service_start_mode.value),
            ("refreshes", f"every {found.refresh_interval_secs} s"),
            ("runner root", str(place_of_host(found))),
            ("ephemeral attempts", str(ephemeral)),
            ("made at", output.when(found.created_at)),
        ],
        indent="",
    )


@app.command("set-capacity")
def set_capacity(
    capacity: Annotated[
        int,
        typer.Argument(
            metavar="N", min=1, max=65_535, help="How many attempts may be active at once.", show_default=False
        ),
    ],
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: HostId = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Set how many attempts a host may run at once. A host that is not on record is put there.

    Nothing else of the host changes, whatever others write at the same time. Attempts that run go on.

    Example: strongroom runners host set-capacity 4
    """
    with changing(room, fleet, seal_key_file) as store:
        host, before = made_host(store, host_id, this_machine()), 0

        def change(stored: Host | None) -> Host:
            nonlocal before
            found = stored or host
            before = found.host_capacity
            return found.replace(host_capacity=capacity)

        changed = store.change_host(host.id, change)
    if as_json:
        output.emit(host_object(changed) | {"previous_capacity": before})
    else:
        output.say("host ", (output.shown(host.id), "bold"), f": capacity {capacity}, before {before}")


@app.command("set-runtime-root")
def set_runtime_root_(
    path: Annotated[
        str,
        typer.Option("--path", metavar="PATH", help="An absolute path on the host itself.", show_default=False),
    ],
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: HostId = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Set where ephemeral attempts of a host lie. Run it on the host: it makes the last directory of PATH if need be.

    It is refused, with exit code 3, while ephemeral attempts of the fleet are not cleaned, and says how many are
    active and how many only wait for their cleanup. PATH may not overlap with a persistent workspace on the host.
    Nothing is moved or deleted. A host that is not on record is put there.

    Example: strongroom runners host set-runtime-root --path /srv/runners
    """
    _set_root(path, room, fleet, host_id, seal_key_file, as_json)


@app.command("reset-runtime-root")
def reset_runtime_root(
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: HostId = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Let ephemeral attempts of a host lie wherever its agent has them by default.

    It is refused as set-runtime-root is. Nothing is moved or deleted, and the default is not looked at.

    Example: strongroom runners host reset-runtime-root
    """
    _set_root(None, room, fleet, host_id, seal_key_file, as_json)


def _set_root(
    path: str | None, room: str, fleet: str | None, host_id: str | None, seal_key_file: Path | None, as_json: bool
) -> None:
    machine = this_machine()
    with changing(room, fleet, seal_key_file) as store:
        before = made_host(store, host_id, machine)
        moved = set_runtime_root(store, before, path, machine)
    if as_json:
        output.emit({"fleet": before.fleet, "host": before.id, **moved_object(moved)})
    else:
        say_moved(f"host {output.shown(before.id)}: ephemeral attempts", moved)


def host_object(host: Host) -> dict[str, Any]:
    """A host as JSON answers have it: its columns, and where its ephemeral attempts lie."""
    return operations.shown_record(HOSTS, host) | {"runner_root": place_of_host(host).object()}


def moved_object(moved: Moved) -> dict[str, Any]:
    """A change of places as JSON answers have it."""
    return {
        "changed": moved.retained is not None,
        "previous": moved.previous.object(),
        "current": moved.current.object(),
        "made": moved.made,
        "retained": None if moved.retained is None else moved.retained.path,
    }


def say_moved(subject: str, moved: Moved) -> None:
    """Say a change of places to people: what is now, what was before, and that nothing was touched."""
    if moved.retained is None:
        output.say(f"{subject} are as before in ", (str(moved.current), "bold"))
    else:
        output.say(f"{subject} are in ", (str(moved.current), "bold"), f", before in {moved.previous}")
    if moved.made is not None:
        output.say(f"made {moved.made}")
    if moved.retained is not None:
        output.say(f"nothing was moved or deleted: what is in {moved.retained.path or 'the former place'} stays there")


def _counts(remaining: Remaining) -> dict[str, int]:
    return {"active": remaining.active, "cleanup_blocked": remaining.cleanup_blocked}
