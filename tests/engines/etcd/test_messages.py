"""etcd's messages as they are described, typed and sent; and what each of its faults means."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor

from strongroom.engines.etcd import messages
from strongroom.engines.etcd.faults import Compacted, Full, Verdict, judge
from strongroom.engines.etcd.messages import Compare, PutRequest, RangeRequest, RequestOp, TxnRequest
from strongroom.errors import Corrupt, InvalidArgument, StrongroomError, TooLarge, Unavailable

TYPES = {
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_STRING: "str",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_INT32: "int",
    FieldDescriptor.TYPE_INT64: "int",
    FieldDescriptor.TYPE_UINT64: "int",
}


def described(message: Any) -> dict[str, str]:
    """A message's fields and their types, as the module describes them."""
    found = {}
    for field in message.DESCRIPTOR.fields:
        kind = field.message_type.name if field.message_type else TYPES[field.type]
        found[field.name] = f"Sequence[{kind}]" if field.is_repeated else kind
    return found


def typed() -> dict[str, dict[str, str]]:
    """The same of all messages, as the stub types them."""
    stub = ast.parse(Path(messages.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        node.name: {
            line.target.id: ast.unparse(line.annotation)
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        }
        for node in stub.body
        if isinstance(node, ast.ClassDef) and node.name != "Message"
    }


def constructed() -> dict[str, set[str]]:
    """What the stub lets each message be made with, for those that are made here."""
    stub = ast.parse(Path(messages.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        node.name: {argument.arg for argument in line.args.kwonlyargs}
        for node in stub.body
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.FunctionDef) and line.name == "__init__"
    }


def test_every_message_is_typed_as_it_is_described() -> None:
    assert typed() == {name: described(getattr(messages, name)) for name in messages._MESSAGES}  # type: ignore[attr-defined]
    for name, arguments in constructed().items():
        assert arguments == typed()[name].keys(), name


def test_messages_are_sent_as_etcd_reads_them() -> None:
    # Of ``RangeRequest`` in etcd's rpc.proto: key = 1, range_end = 2, limit = 3, revision = 4, serializable = 7.
    request = RangeRequest(key=b"k", range_end=b"l", limit=5, revision=300, serializable=True)
    assert request.SerializeToString() == b"\x0a\x01k\x12\x01l\x18\x05\x20\xac\x02\x38\x01"
    # A comparison with nothing, revision 0, is one all the same; ``range_end`` is number 64.
    absent = Compare(result=0, target=1, key=b"k", create_revision=0, range_end=b"l")
    assert absent.SerializeToString() == b"\x10\x01\x1a\x01k\x28\x00\x82\x04\x01l"
    put = RequestOp(request_put=PutRequest(key=b"k", value=b"v"))
    inner = RequestOp(request_txn=TxnRequest(success=[put]))
    assert inner.SerializeToString() == b"\x22\x0a\x12\x08\x12\x06\x0a\x01k\x12\x01v"
    assert TxnRequest.FromString(TxnRequest(failure=[inner]).SerializeToString()).failure[0] == inner


class Answer(grpc.RpcError):
    """What a call ends with."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__()
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details


CODE = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "details", "verdict", "fault"),
    [
        (CODE.UNAVAILABLE, "failed to connect to all addresses; last error: refused", Verdict.UNSENT, Unavailable),
        (CODE.UNAVAILABLE, "Socket closed", Verdict.LOST, Unavailable),
        (CODE.UNAVAILABLE, "etcdserver: request timed out", Verdict.LOST, Unavailable),
        (CODE.UNAVAILABLE, "etcdserver: leader changed", Verdict.LOST, Unavailable),
        (CODE.DEADLINE_EXCEEDED, "Deadline Exceeded", Verdict.LOST, Unavailable),
        (CODE.CANCELLED, "Channel closed!", Verdict.LOST, Unavailable),
        (CODE.UNKNOWN, "raft: stopped", Verdict.LOST, Unavailable),
        (CODE.INTERNAL, "Received RST_STREAM", Verdict.LOST, Unavailable),
        (CODE.UNAUTHENTICATED, "etcdserver: invalid auth token", Verdict.LOGGED_OUT, InvalidArgument),
        (CODE.INVALID_ARGUMENT, "etcdserver: user name is empty", Verdict.LOGGED_OUT, InvalidArgument),
        (CODE.INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user", Verdict.REFUSED, InvalidArgument),
        (CODE.PERMISSION_DENIED, "etcdserver: permission denied", Verdict.REFUSED, InvalidArgument),
        (CODE.FAILED_PRECONDITION, "etcdserver: authentication is not enabled", Verdict.REFUSED, InvalidArgument),
        (CODE.INVALID_ARGUMENT, "etcdserver: too many operations in txn request", Verdict.REFUSED, TooLarge),
        (CODE.INVALID_ARGUMENT, "etcdserver: request is too large", Verdict.REFUSED, TooLarge),
        (CODE.RESOURCE_EXHAUSTED, "grpc: received message larger than max (3 vs. 2)", Verdict.REFUSED, TooLarge),
        (CODE.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", Verdict.REFUSED, Full),
        (CODE.RESOURCE_EXHAUSTED, "etcdserver: too many requests", Verdict.UNSENT, Unavailable),
        (CODE.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", Verdict.REFUSED, Compacted),
        (CODE.OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision", Verdict.UNSENT, Unavailable),
        (CODE.DATA_LOSS, "etcdserver: corrupt cluster", Verdict.REFUSED, Corrupt),
        (CODE.UNIMPLEMENTED, "unknown method", Verdict.REFUSED, StrongroomError),
    ],
)
def test_what_a_fault_means(
    code: grpc.StatusCode, details: str, verdict: Verdict, fault: type[StrongroomError]
) -> None:
    found, made = judge(Answer(code, f"{details}\n\tand more"))
    assert (found, type(made)) == (verdict, fault)
    assert str(made).isprintable()
