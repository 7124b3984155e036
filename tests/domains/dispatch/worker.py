"""A dispatcher in a process of its own, for tests: ``python -m tests.domains.dispatch.worker URL JOB LEASE_MS``.

It says one line for each thing that it did, and `serve` goes on until a line comes in.
"""

from __future__ import annotations

import sys
import threading

import strongroom
from strongroom.domains import dispatch
from tests.domains.dispatch.samples import OWNER, WORKSPACE, completed


def say(*words: object) -> None:
    print(*words, flush=True)


def serve(dispatcher: dispatch.Dispatcher) -> None:
    """Claim and finish runs, in pairs, until told to stop and nothing waits."""
    told = threading.Event()

    def listen() -> None:
        sys.stdin.readline()
        told.set()

    threading.Thread(target=listen, daemon=True).start()
    while True:
        last = told.is_set()
        try:
            claims = dispatcher.claim(2)
            for claim, answer in zip(
                claims, dispatcher.finish_many([(claim, completed()) for claim in claims]), strict=True
            ):
                say("finished", claim.run, type(answer).__name__)
        except strongroom.Conflict:
            continue
        if last and not claims:
            return


def hold(dispatcher: dispatch.Dispatcher) -> None:
    """Claim a run, and finish it when told to."""
    (claim,) = dispatcher.claim()
    say("claimed", claim.run, claim.token)
    sys.stdin.readline()
    try:
        dispatcher.finish(claim, completed())
    except dispatch.Conflict:
        say("refused", claim.run, claim.token)
    else:
        say("finished", claim.run, claim.token)


def main(url: str, work: str, lease_ms: str) -> None:
    with strongroom.open(url) as room:
        workspace = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
        dispatcher = workspace.dispatcher("worker", lease_ms=int(lease_ms) or None)
        say("ready")
        {"serve": serve, "hold": hold}[work](dispatcher)


if __name__ == "__main__":
    main(*sys.argv[1:])
