"""The types of the messages that `messages.py` describes. A test holds the two together."""

from collections.abc import Iterable, Sequence
from typing import Self

class Message:
    def SerializeToString(self) -> bytes: ...  # noqa: N802
    @classmethod
    def FromString(cls, data: bytes) -> Self: ...  # noqa: N802
    def ByteSize(self) -> int: ...  # noqa: N802
    def WhichOneof(self, name: str) -> str | None: ...  # noqa: N802

class ResponseHeader(Message):
    cluster_id: int
    member_id: int
    revision: int
    raft_term: int

    def __init__(
        self, *, cluster_id: int = ..., member_id: int = ..., revision: int = ..., raft_term: int = ...
    ) -> None: ...

class KeyValue(Message):
    key: bytes
    create_revision: int
    mod_revision: int
    version: int
    value: bytes

    def __init__(
        self,
        *,
        key: bytes = ...,
        create_revision: int = ...,
        mod_revision: int = ...,
        version: int = ...,
        value: bytes = ...,
    ) -> None: ...

class RangeRequest(Message):
    key: bytes
    range_end: bytes
    limit: int
    revision: int
    serializable: bool
    keys_only: bool
    count_only: bool

    def __init__(
        self,
        *,
        key: bytes = ...,
        range_end: bytes | None = ...,
        limit: int = ...,
        revision: int = ...,
        serializable: bool = ...,
        keys_only: bool = ...,
        count_only: bool = ...,
    ) -> None: ...

class RangeResponse(Message):
    header: ResponseHeader
    kvs: Sequence[KeyValue]
    more: bool
    count: int

    def __init__(
        self,
        *,
        header: ResponseHeader = ...,
        kvs: Iterable[KeyValue] = ...,
        more: bool = ...,
        count: int = ...,
    ) -> None: ...

class PutRequest(Message):
    key: bytes
    value: bytes

    def __init__(self, *, key: bytes = ..., value: bytes = ...) -> None: ...

class PutResponse(Message):
    header: ResponseHeader

class DeleteRangeRequest(Message):
    key: bytes
    range_end: bytes

    def __init__(self, *, key: bytes = ..., range_end: bytes = ...) -> None: ...

class DeleteRangeResponse(Message):
    header: ResponseHeader
    deleted: int

class Compare(Message):
    result: int
    target: int
    key: bytes
    create_revision: int
    mod_revision: int
    value: bytes
    range_end: bytes

    def __init__(
        self,
        *,
        result: int = ...,
        target: int = ...,
        key: bytes = ...,
        create_revision: int = ...,
        mod_revision: int = ...,
        value: bytes = ...,
        range_end: bytes = ...,
    ) -> None: ...

class RequestOp(Message):
    request_range: RangeRequest
    request_put: PutRequest
    request_delete_range: DeleteRangeRequest
    request_txn: TxnRequest

    def __init__(
        self,
        *,
        request_range: RangeRequest = ...,
        request_put: PutRequest = ...,
        request_delete_range: DeleteRangeRequest = ...,
        request_txn: TxnRequest = ...,
    ) -> None: ...

class ResponseOp(Message):
    response_range: RangeResponse
    response_put: PutResponse
    response_delete_range: DeleteRangeResponse
    response_txn: TxnResponse

class TxnRequest(Message):
    compare: Sequence[Compare]
    success: Sequence[RequestOp]
    failure: Sequence[RequestOp]

    def __init__(
        self,
        *,
        compare: Iterable[Compare] = ...,
        success: Iterable[RequestOp] = ...,
        failure: Iterable[RequestOp] = ...,
    ) -> None: ...

class TxnResponse(Message):
    header: ResponseHeader
    succeeded: bool
    responses: Sequence[ResponseOp]

class CompactionRequest(Message):
    revision: int
    physical: bool

    def __init__(self, *, revision: int = ..., physical: bool = ...) -> None: ...

class CompactionResponse(Message):
    header: ResponseHeader

class AuthenticateRequest(Message):
    name: str
    password: str

    def __init__(self, *, name: str = ..., password: str = ...) -> None: ...

class AuthenticateResponse(Message):
    header: ResponseHeader
    token: str

class StatusRequest(Message): ...

class StatusResponse(Message):
    header: ResponseHeader
    version: str
    dbSize: int  # noqa: N815 - etcd's own name
    leader: int
    raftIndex: int  # noqa: N815
    raftTerm: int  # noqa: N815
    errors: Sequence[str]
    dbSizeInUse: int  # noqa: N815
    isLearner: bool  # noqa: N815

class DefragmentRequest(Message): ...

class DefragmentResponse(Message):
    header: ResponseHeader
