"""The messages of etcd's API (version 3), as far as they are used here: names and numbers are those of etcd's own.

They are described in code, in a pool of their own. Generated code would be bound to one version of protobuf, and would
clash with any other etcd client that the process has loaded. `messages.pyi` gives their types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message as Message
from google.protobuf.message_factory import GetMessageClass

_PACKAGE: Final = "strongroom.etcd"

_MESSAGES: Final = {
    # Of whatever is asked, the answer begins with this.
    "ResponseHeader": "uint64 cluster_id = 1, uint64 member_id = 2, int64 revision = 3, uint64 raft_term = 4",
    "KeyValue": "bytes key = 1, int64 create_revision = 2, int64 mod_revision = 3, int64 version = 4, bytes value = 5",
    # KV: one operation each,
    "RangeRequest": "bytes key = 1, bytes range_end = 2, int64 limit = 3, int64 revision = 4, bool serializable = 7, "
    "bool keys_only = 8, bool count_only = 9",
    "RangeResponse": "ResponseHeader header = 1, KeyValue* kvs = 2, bool more = 3, int64 count = 4",
    "PutRequest": "bytes key = 1, bytes value = 2",
    "PutResponse": "ResponseHeader header = 1",
    "DeleteRangeRequest": "bytes key = 1, bytes range_end = 2",
    "DeleteRangeResponse": "ResponseHeader header = 1, int64 deleted = 2",
    # and many of them at once.
    "Compare": "int32 result = 1, int32 target = 2, bytes key = 3, int64 create_revision | 5, int64 mod_revision | 6, "
    "bytes value | 7, bytes range_end = 64",
    "RequestOp": "RangeRequest request_range | 1, PutRequest request_put | 2, "
    "DeleteRangeRequest request_delete_range | 3, TxnRequest request_txn | 4",
    "ResponseOp": "RangeResponse response_range | 1, PutResponse response_put | 2, "
    "DeleteRangeResponse response_delete_range | 3, TxnResponse response_txn | 4",
    "TxnRequest": "Compare* compare = 1, RequestOp* success = 2, RequestOp* failure = 3",
    "TxnResponse": "ResponseHeader header = 1, bool succeeded = 2, ResponseOp* responses = 3",
    "CompactionRequest": "int64 revision = 1, bool physical = 2",
    "CompactionResponse": "ResponseHeader header = 1",
    # Auth, and Maintenance.
    "AuthenticateRequest": "string name = 1, string password = 2",
    "AuthenticateResponse": "ResponseHeader header = 1, string token = 2",
    "StatusRequest": "",
    "StatusResponse": "ResponseHeader header = 1, string version = 2, int64 dbSize = 3, uint64 leader = 4, "
    "uint64 raftIndex = 5, uint64 raftTerm = 6, string* errors = 8, int64 dbSizeInUse = 9, bool isLearner = 10",
    "DefragmentRequest": "",
    "DefragmentResponse": "ResponseHeader header = 1",
}
"""Each message's fields: ``type name = number``; a star for many, a bar for one of several."""

_FIELD: Final = re.compile(r"(\w+)(\*?) (\w+) ([=|]) (\d+)")


def _fields(declared: str) -> Iterator[FieldDescriptorProto]:
    for kind, many, name, sign, number in _FIELD.findall(declared):
        field = FieldDescriptorProto(name=name, number=int(number))
        field.label = FieldDescriptorProto.LABEL_REPEATED if many else FieldDescriptorProto.LABEL_OPTIONAL
        if kind in _MESSAGES:
            field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
        else:
            # An enumeration is an int32 on the wire.
            field.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
        if sign == "|":
            field.oneof_index = 0
        yield field


def _described() -> FileDescriptorProto:
    file = FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    for name, declared in _MESSAGES.items():
        message = file.message_type.add(name=name, field=_fields(declared))
        if "|" in declared:
            message.oneof_decl.add(name="choice")
    return file


_pool: Final = DescriptorPool()
_pool.Add(_described())  # type: ignore[no-untyped-call]
globals().update({name: GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES})
