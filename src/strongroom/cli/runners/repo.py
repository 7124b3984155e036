"""`strongroom runners repo`: the policies by which a fleet serves repositories."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from strongroom.cli import output
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.runners.fences import fenced, split, split_by_policy
from strongroom.cli.runners.host import moved_object, say_moved
from strongroom.cli.runners.machine import made_host, this_machine
from strongroom.cli.runners.place import Fleet, HostId, changing, looking
from strongroom.cli.runners.policies import found_policy, new_policy, policy_object, refuse_second, scale, scaled
from strongroom.cli.runners.roots import set_workspace
from strongroom.cli.runners.views import policies_section, say_view
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.domains.runners import CachePolicy, WorkspaceMode

app = typer.Typer(
    name="repo",
    help="List, add, change and remove the policies for repositories.\n\n"
    "Example: strongroom runners repo add acme/api --installation 7 --max 4",
    no_args_is_help=True,
)

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="The repository, as owner/name, or the id of its policy.", show_default=False
    ),
]
OnHost = Annotated[
    str | None,
    typer.Option(
        "--host",
        envvar="STRONGROOM_HOST",
        metavar="ID",
        help="The host whose policy it is, where several serve the repository.",
        show_default=False,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="LABEL",
        help="A label that its runners have beside the host's; may be given more than once.",
        show_default=False,
    ),
]


@app.command("list")
def list_(
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the policies of a fleet, those for organizations too, and how many of their attempts are not cleaned.

    Example: strongroom runners repo list
    """
    with looking(room, fleet, seal_key_file) as store:
        policies = store.policies()
        remaining = split_by_policy(store.uncleaned_attempts())
    if as_json:
        for policy in policies:
            output.emit(policy_object(policy, remaining[policy.id]))
    else:
        say_view([policies_section(policies, remaining)])


@app.command()
def add(
    slug: Annotated[
        str, typer.Argument(metavar="OWNER/NAME", help="The repository that is served.", show_default=False)
    ],
    installation: Annotated[
        int,
        typer.Option(
            "--installation",
            metavar="N",
            min=0,
            help="The forge's number of the app's installation.",
            show_default=False,
        ),
    ],
    max_capacity: Annotated[
        int | None,
        typer.Option(
            "--max",
            metavar="N",
            min=1,
            max=65_535,
            help="The most runners at once; without it the policy only monitors.",
            show_default=False,
        ),
    ] = None,
    min_capacity: Annotated[
        int, typer.Option("--min", metavar="N", min=0, max=65_535, help="The least runners, also without jobs.")
    ] = 0,
    host_label: Annotated[
        str, typer.Option("--host-label", metavar="LABEL", help="The label that sends jobs to the host.")
    ] = "host",
    labels: Labels = None,
    cache: Annotated[
        CachePolicy, typer.Option("--cache", help="What becomes of a downloaded runner package.")
    ] = CachePolicy.RETAIN_RUNNER_PACKAGE,
    id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="The id of the policy; by default a new UUID.", show_default=False),
    ] = None,
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: HostId = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Put a policy on record by which a host serves a repository: pending, until the host's agent activates it.

    A host that is not on record is put there, too. Refused where the host serves the repository already.

    Example: strongroom runners repo add acme/api --installation 7 --max 4 --label gpu
    """
    with changing(room, fleet, seal_key_file) as store:
        # Made first with any host, so that a wrong call puts no host on record.
        new = new_policy(
            store.fleet,
            str(uuid.uuid4()) if id is None else id,
            slug,
            installation_id=installation,
            host_id=host_id or "",
            host_label=host_label,
            labels=labels or (),
            min_capacity=min_capacity,
            max_capacity=max_capacity,
            cache_policy=cache,
        )
        new = new.replace(host_id=made_host(store, host_id, this_machine()).id)
        refuse_second(store.policies(), new)
        store.insert_policy(new)
    if as_json:
        output.emit(policy_object(new, split(())))
    else:
        output.say((new.target_slug, "bold"), f": policy {new.id} of host {output.shown(new.host_id)}, {scale(new)}")


@app.command()
def remove(
    target: Target,
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: OnHost = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Remove a policy, if nobody changes it at the same time. Its attempts stay, and are told.

    Example: strongroom runners repo remove acme/api
    """
    with changing(room, fleet, seal_key_file) as store:
        policy = found_policy(store.policies(), target, host_id)
        with fenced():
            store.remove_policy(policy.id, policy.revision)
        remaining = split(store.uncleaned_attempts_for_policy(policy.id))
    if as_json:
        output.emit(policy_object(policy, remaining))
        return
    output.say((policy.target_slug, "bold"), f": policy {output.shown(policy.id)} is removed")
    if remaining:
        output.remark(("warning: ", "yellow"), f"its attempts that are not cleaned stay: {remaining}")


@app.command("set-scale")
def set_scale(
    target: Target,
    max_capacity: Annotated[
        int,
        typer.Option("--max", metavar="N", min=1, max=65_535, help="The most runners at once.", show_default=False),
    ],
    min_capacity: Annotated[
        int | None,
        typer.Option(
            "--min",
            metavar="N",
            min=0,
            max=65_535,
            help="The least runners, where a policy that only monitors begins to scale.",
            show_default=False,
        ),
    ] = None,
    labels: Labels = None,
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: OnHost = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Set how far a policy scales, and give it labels; one that only monitors begins to scale.

    Attempts that run go on, also those over the new maximum. Refused, with exit code 3, where somebody else changed
    the policy meanwhile.

    Example: strongroom runners repo set-scale acme/api --max 8
    """
    with changing(room, fleet, seal_key_file) as store:
        policy = found_policy(store.policies(), target, host_id)
        changed = scaled(policy, max_capacity, min_capacity, labels or ())
        if changed != policy:
            with fenced():
                store.update_policy(changed, policy.revision)
        remaining = split(store.uncleaned_attempts_for_policy(policy.id))
    if as_json:
        output.emit(policy_object(changed, remaining) | {"changed": changed != policy})
        return
    before = f", before {scale(policy)}" if scale(changed) != scale(policy) else ""
    named = "" if changed.routing_labels is None else f", labels {', '.join(changed.routing_labels.all)}"
    output.say((policy.target_slug, "bold"), f": {scale(changed)}{before}{named}")
    if remaining.active > max_capacity:
        output.remark(("warning: ", "yellow"), f"{remaining.active} attempts are active, and go on to their end")


@app.command("set-workspace")
def set_workspace_(
    target: Target,
    mode: Annotated[
        WorkspaceMode,
        typer.Option("--mode", help="Whether a job's directory is thrown away or kept.", show_default=False),
    ],
    path: Annotated[
        str | None,
        typer.Option(
            "--path",
            metavar="PATH",
            help="Where persistent workspaces lie: an absolute path on the host itself.",
            show_default=False,
        ),
    ] = None,
    room: Room = DEFAULT_ROOM,
    fleet: Fleet = None,
    host_id: HostId = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Set where a policy's jobs run: ephemeral, or persistent under PATH, whose last directory is made if need be.

    It is refused, with exit code 3, while attempts of the policy are not cleaned, and says how many are active and how
    many only wait for their cleanup. PATH may not overlap with another place on the host, and is set on the host
    itself. Nothing is moved or deleted, and nothing written where the policy is so already.

    Example: strongroom runners repo set-workspace acme/api --mode persistent --path /srv/acme-api
    """
    with changing(room, fleet, seal_key_file) as store:
        policy = found_policy(store.policies(), target, host_id)
        policy, moved = set_workspace(store, policy, mode, path, host_id, this_machine())
    if as_json:
        output.emit(
            {
                "fleet": policy.fleet,
                "policy": policy.id,
                "target": policy.target_slug,
                "mode": policy.workspace_mode.value,
                "revision": policy.revision,
                **moved_object(moved),
            }
        )
    else:
        say_moved(f"{policy.target_slug}: {policy.workspace_mode} attempts", moved)
