"""etcd's and gRPC's faults in Strongroom's words (E1), and what each one means for a request that met it."""

from __future__ import annotations

from enum import Enum
from typing import Any

import grpc

from strongroom.engine import Rivals
from strongroom.errors import Corrupt, InvalidArgument, StrongroomError, TooLarge, Unavailable


class Verdict(Enum):
    """What is known of a request that met a fault."""

    REFUSED = "refused"
    """It was not carried out, and another try would fare no better."""
    UNSENT = "unsent"
    """It was not carried out; another member, or a later try, may do it."""
    LOST = "lost"
    """It may have been carried out, or may yet be."""
    LOGGED_OUT = "logged out"
    """It was not carried out, because who asks is not logged in any more."""


class Lost(Exception):
    """A request went out, and what became of it is not known."""


class Full(Unavailable):
    """The database has reached its quota. The request that fills it is carried out, and refused all the same."""


class Compacted(Rivals):
    """The revision that a snapshot reads from is compacted: whoever reads begins again with a newer one (T4)."""


def judge(error: grpc.RpcError) -> tuple[Verdict, StrongroomError]:
    """What an error means, and the fault to raise for it, where it is not tried again; the error is to be its cause."""
    call: Any = error  # what a call raises is the call itself, of which the types know nothing
    code = call.code()
    said = " ".join((call.details() or "").split())  # messages have one line
    text = said.removeprefix("etcdserver: ")
    match code:
        case grpc.StatusCode.UNAVAILABLE if "failed to connect" in said:
            return Verdict.UNSENT, Unavailable("etcd: no connection can be made")
        case grpc.StatusCode.UNAUTHENTICATED:
            return Verdict.LOGGED_OUT, InvalidArgument("etcd: the user is not let in")
        case grpc.StatusCode.RESOURCE_EXHAUSTED if "space exceeded" in said:
            return Verdict.REFUSED, Full(
                "etcd: its database has reached its quota and takes no writes; nothing of this call was kept: compact, "
                "defragment, then disarm the alarm (etcdctl alarm disarm)"
            )
        case grpc.StatusCode.RESOURCE_EXHAUSTED if "larger than max" in said:
            return Verdict.REFUSED, TooLarge(f"etcd: a message is over gRPC's limit: {text}")
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            return Verdict.UNSENT, Unavailable(f"etcd: {text}")
        case grpc.StatusCode.INVALID_ARGUMENT if "too many operations" in said or "too large" in said:
            return Verdict.REFUSED, TooLarge(
                f"etcd: {text}: the servers' limit is below the URL's max_txn_ops or max_request_bytes"
            )
        case grpc.StatusCode.INVALID_ARGUMENT if "authentication failed" in said:
            return Verdict.REFUSED, InvalidArgument("etcd: the user or the password is wrong")
        case grpc.StatusCode.INVALID_ARGUMENT if "user name is empty" in said:
            return Verdict.LOGGED_OUT, InvalidArgument(
                "etcd: the servers want a user and a password: put them in the URL"
            )
        case grpc.StatusCode.PERMISSION_DENIED:
            return Verdict.REFUSED, InvalidArgument(
                "etcd: the user may not do this: grant a role that reads and writes all keys under the store's prefix"
            )
        case grpc.StatusCode.FAILED_PRECONDITION if "authentication is not enabled" in said:
            return Verdict.REFUSED, InvalidArgument("etcd: the servers know no users: leave user and password out")
        case grpc.StatusCode.OUT_OF_RANGE if "compacted" in said:
            return Verdict.REFUSED, Compacted("etcd: the snapshot's revision was compacted")
        case grpc.StatusCode.OUT_OF_RANGE:
            return Verdict.UNSENT, Unavailable("etcd: the member has not caught up with the snapshot's revision")
        case grpc.StatusCode.DATA_LOSS:
            return Verdict.REFUSED, Corrupt("etcd: the servers report that their data is corrupt (etcdctl alarm list)")
        case grpc.StatusCode.DEADLINE_EXCEEDED | grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.CANCELLED:
            return Verdict.LOST, Unavailable(f"etcd: no answer: {text}")
        case grpc.StatusCode.UNKNOWN | grpc.StatusCode.INTERNAL | grpc.StatusCode.ABORTED:
            return Verdict.LOST, Unavailable(f"etcd: no answer: {text}")
        case _:
            return Verdict.REFUSED, StrongroomError(f"etcd: {text}")
