"""`strongroom dispatch chain`: the run chain, its proof, and checkpoints of it that others keep."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from strongroom.cli import output
from strongroom.cli.dispatch.place import WorkspaceName, looking
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.domains.dispatch import checkpoint_line, finding_name, read_checkpoints
from strongroom.errors import InvalidArgument
from strongroom.patterns import ChainReport, Checkpoint, Finding
from strongroom.patterns.notes import NoteSigner, NoteUnverified, NoteVerifier
from strongroom.patterns.signed_checkpoint import open_checkpoint, sign_checkpoint

app = typer.Typer(
    name="chain",
    help="Prove what came of completed runs.\n\nExample: strongroom dispatch chain verify --checkpoint held.txt",
    no_args_is_help=True,
)

_MOST_BYTES: Final = 16 * 2**20 + 1
_LONGEST_KEY: Final = 4096

Origin = Annotated[
    str,
    typer.Option(
        "--origin",
        metavar="NAME",
        help="The chain's name in signed checkpoints; by default that of the first key.",
        show_default=False,
    ),
]


@app.command()
def verify(
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Checkpoints that are held elsewhere, signed or not; may be given more than once.",
            show_default=False,
        ),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="KEY|@FILE",
            help="The public key that signed checkpoints are to be signed by; may be given more than once.",
            show_default=False,
        ),
    ] = None,
    origin: Origin = "",
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Name at most so many findings.")] = 100,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Check every line of the run chain, the runs that the lines are about, and the chain against held checkpoints.

    Without a checkpoint that is held elsewhere, a chain that was cut or written anew, with its runs, looks sound.
    Nothing in the room is changed. Exits with 1 if anything is wrong.

    Example: strongroom dispatch chain verify --checkpoint held.txt --key @build.example.pub
    """
    verifiers = [NoteVerifier.from_text(_key(one)) for one in keys or ()]
    try:
        held = [one for path in checkpoints or () for one in _held(path, verifiers, origin)]
    except NoteUnverified as fault:
        output.fail(fault)
        raise typer.Exit(output.FOUND) from fault
    with looking(room, workspace, seal_key_file) as found:
        report = found.chain.verify(checkpoints=held, most=most)
    if as_json:
        output.emit(_object(report))
    else:
        for finding in report.findings:
            output.say((f"{finding_name(finding.kind)}: ", "red"), f"line {finding.sequence}: {finding.detail}")
        if report.total > len(report.findings):
            output.say(f"and {report.total - len(report.findings)} more")
        witnessed = f", {report.matched} of {report.supplied} checkpoints match" if report.supplied else ""
        proven = f", witnessed through line {report.through}" if report.valid and report.through else ""
        state = "all good" if report.valid else f"{report.total} bad"
        output.say(f"{report.lines} lines checked: {state}{witnessed}{proven}")
        if report.valid and not report.supplied:
            output.remark("no checkpoint was given: that nothing was cut or written anew is not shown")
    if not report.valid:
        raise typer.Exit(output.FOUND)


@app.command()
def checkpoint(
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", metavar="KEYFILE", help="Sign it with the key in this file (see keygen).", show_default=False
        ),
    ] = None,
    origin: Origin = "",
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
) -> None:
    """Say where the run chain stands: one line of JSON, or with --sign a signed note. Keep it where others can't write.

    Nothing in the room is changed. Exits with 1 for a chain without lines.

    Example: strongroom dispatch chain checkpoint --sign build.example.key > held.txt
    """
    signer = None if sign is None else NoteSigner.from_text(_read_key(sign))
    if origin and signer is None:
        raise InvalidArgument("only a signed checkpoint has an origin: name the key with --sign")
    with looking(room, workspace, seal_key_file) as found:
        head = found.chain.head()
    if head is None:
        output.remark("the chain has no lines: no run has completed")
        raise typer.Exit(output.FOUND)
    if signer is None:
        sys.stdout.write(checkpoint_line(head).decode() + "\n")
    else:
        sys.stdout.write(sign_checkpoint(head, signer, origin=origin))


@app.command()
def keygen(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The key's name, as build.example.com/main.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where the secret key is written.", show_default=False)
    ],
) -> None:
    """Make a key that signs checkpoints: the secret goes to a file that only you can read, the public key is said.

    Never overwrites a file. Give the public key to those who check.

    Example: strongroom dispatch chain keygen build.example.com --out build.example.key > build.example.pub
    """
    signer = NoteSigner.generate(name)
    try:
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(signer.secret + "\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as fault:
        raise InvalidArgument(f"{out} is there already, and is not overwritten") from fault
    except OSError as fault:
        raise InvalidArgument(f"{out} can't be written: {fault.strerror}") from fault
    output.say(signer.verifier.text)


def _held(path: Path, verifiers: list[NoteVerifier], origin: str) -> list[Checkpoint]:
    """The checkpoints that a file holds: a signed note, or lines of JSON."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError as fault:
        raise InvalidArgument(f"the checkpoint {path} can't be read: {fault.strerror}") from fault
    if data.lstrip().startswith(b"{"):
        if verifiers:
            raise InvalidArgument(f"the checkpoint {path} is not signed, but --key says that it is to be")
        return read_checkpoints(data)
    if not verifiers:
        raise InvalidArgument(f"the checkpoint {path} is signed: name the key that it is to be signed by with --key")
    try:
        note = data.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"the checkpoint {path} is no UTF-8") from None
    return [open_checkpoint(note, *verifiers, origin=origin or verifiers[0].name)]


def _key(given: str) -> str:
    return _read_key(Path(given[1:])) if given.startswith("@") else given


def _read_key(path: Path) -> str:
    """The key that stands in a file. No message shows anything of it."""
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_KEY).decode().strip()
    except OSError as fault:
        raise InvalidArgument(f"the key file {path} can't be read: {fault.strerror}") from fault
    except UnicodeDecodeError:
        raise InvalidArgument(f"the key file {path} holds no key") from None


def _object(report: ChainReport) -> dict[str, Any]:
    def shown(finding: Finding) -> dict[str, Any]:
        return {"kind": finding_name(finding.kind), "line": finding.sequence, "detail": finding.detail}

    return {
        "valid": report.valid,
        "lines": report.lines,
        "findings": [shown(finding) for finding in report.findings],
        "total": report.total,
        "head": None if report.head is None else _checkpoint(report.head),
        "checkpoints": report.supplied,
        "matched": report.matched,
        "through": report.through,
    }


def _checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"trail": checkpoint.trail, "sequence": checkpoint.sequence, "digest": checkpoint.digest}
