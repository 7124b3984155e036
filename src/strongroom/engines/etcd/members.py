"""The cluster, as one: a request goes to one of its members, and to the next where that one does not answer.

Each request has a deadline of its own, a second at most, so that a member which is paused, cut off or without a leader
costs that second once; from then on the next one is asked.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import grpc

from strongroom.engines.etcd import messages
from strongroom.engines.etcd.faults import Lost, Verdict, judge
from strongroom.engines.etcd.options import Access
from strongroom.errors import Closed, StrongroomError, Unavailable

A = TypeVar("A", bound=messages.Message)

_Token = tuple[tuple[str, str], ...]
"""What a request carries to show who asks."""

REQUEST_SECONDS: Final = 1.0
"""The most that one request to one member may take."""
_LEAST_SECONDS: Final = 0.05
"""The least that a request gets, also where the caller's time is nearly up."""
_PAUSE_SECONDS: Final = 0.05
"""About how long to wait when no member answered, before all are asked again."""

_LOG_IN: Final = "/etcdserverpb.Auth/Authenticate"

_CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),  # a page of large rows is larger than gRPC's own limit
    ("grpc.max_send_message_length", -1),  # the engine has its own, which says more
    ("grpc.enable_retries", 0),  # what is asked again, and when, is decided here
    ("grpc.use_local_subchannel_pool", 1),  # no connection is shared with another engine
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 2_000),
)


class Members:
    """The members that one engine asks. Threads may share it.

    Every call raises `Unavailable` when no member has answered in time, `Closed` after `close`, and the faults that
    the servers' refusals are translated to.
    """

    def __init__(self, access: Access) -> None:
        self.access = access
        self._channels = [_Channel(address, access.tls) for address in access.addresses]
        self._at = 0
        self._token: _Token = ()
        self._login = threading.Lock()
        self._closed = ""

    @property
    def address(self) -> str:
        """The member that is asked at present."""
        return self.access.addresses[self._at]

    def deadline(self) -> float:
        """When to give up on what begins now, by the monotonic clock."""
        return time.monotonic() + self.access.timeout_ms / 1000

    def range(self, request: messages.RangeRequest) -> messages.RangeResponse:
        """Read."""
        return self._ask("/etcdserverpb.KV/Range", request, messages.RangeResponse, self.deadline())

    def repeat(self, request: messages.TxnRequest, deadline: float | None = None) -> messages.TxnResponse:
        """Carry out a transaction that may be carried out more than once."""
        return self._ask("/etcdserverpb.KV/Txn", request, messages.TxnResponse, deadline or self.deadline())

    def once(self, request: messages.TxnRequest, deadline: float) -> messages.TxnResponse:
        """Carry out a transaction at most once. Raises `Lost` where it is not known whether it was."""
        return self._ask("/etcdserverpb.KV/Txn", request, messages.TxnResponse, deadline, once=True)

    def status(self) -> messages.StatusResponse:
        """What the member that is asked at present says of itself."""
        request = messages.StatusRequest()
        return self._ask("/etcdserverpb.Maintenance/Status", request, messages.StatusResponse, self.deadline())

    def close(self, why: str) -> None:
        """Close every connection; whoever waits for an answer gets `Closed`, saying `why`."""
        self._closed = why
        for channel in self._channels:
            channel.close()

    def forsake(self, why: str) -> None:
        """In a forked child: refuse every call, and leave the connections, which are the parent's, as they are."""
        self._closed = why

    def check_open(self) -> None:
        """Raises `Closed`."""
        if self._closed:
            raise Closed(self._closed)

    def _ask(self, path: str, request: messages.Message, answer: type[A], deadline: float, *, once: bool = False) -> A:
        failures = 0
        while True:
            self.check_open()
            at = self._at
            token = () if path == _LOG_IN else self._token  # one that is not good any more keeps even a login out
            left = max(_LEAST_SECONDS, min(REQUEST_SECONDS, deadline - time.monotonic()))
            try:
                reply: A = self._channels[at].call(path, answer)(request, timeout=left, metadata=token)
            except grpc.RpcError as error:
                verdict, fault = self._weigh(error, once=once)
                cause = error
            except ValueError as error:
                if not self._closed:
                    raise
                raise Closed(self._closed) from error
            else:
                return reply
            failures += 1
            if time.monotonic() >= deadline:
                raise Unavailable(
                    f"etcd: no member did this within {self.access.timeout_ms} ms ({fault}): {self._names()}"
                ) from cause
            if verdict is Verdict.LOGGED_OUT:
                self._log_in(token, deadline)
                continue
            if self._at == at:
                self._at = (at + 1) % len(self._channels)
            if failures % len(self._channels) == 0:
                time.sleep(random.uniform(0.5, 1.5) * _PAUSE_SECONDS)

    def _weigh(self, error: grpc.RpcError, *, once: bool) -> tuple[Verdict, StrongroomError]:
        """What is known of a request that may be made again; raises whatever ends it."""
        verdict, fault = judge(error)
        if self._closed:
            raise Closed(self._closed) from error
        if verdict is Verdict.REFUSED or (verdict is Verdict.LOGGED_OUT and not self.access.user):
            raise fault from error
        if verdict is Verdict.LOST and once:
            raise Lost(str(fault)) from error
        return verdict, fault

    def _log_in(self, refused: _Token, deadline: float) -> None:
        """Have the servers tell who asks, unless another thread did so since the token `refused` was in use."""
        with self._login:
            if self._token == refused:
                request = messages.AuthenticateRequest(name=self.access.user, password=self.access.password)
                answer = self._ask(_LOG_IN, request, messages.AuthenticateResponse, deadline)
                self._token = (("token", answer.token),)

    def _names(self) -> str:
        return ", ".join(self.access.addresses)


class _Channel:
    """The connection to one member, made when it is first needed."""

    def __init__(self, address: str, tls: grpc.ChannelCredentials | None) -> None:
        self._address = address
        self._tls = tls
        self._channel: grpc.Channel | None = None
        self._calls: dict[str, Callable[..., Any]] = {}
        self._opening = threading.Lock()
        self._closed = False

    def call(self, path: str, answer: type[messages.Message]) -> Callable[..., Any]:
        found = self._calls.get(path)
        if found is None:
            found = self._calls[path] = self._open().unary_unary(path, _serialize, answer.FromString)
        return found

    def close(self) -> None:
        with self._opening:
            self._closed = True
            if self._channel is not None:
                self._channel.close()

    def _open(self) -> grpc.Channel:
        with self._opening:
            if self._closed:
                raise ValueError("the channel is closed")
            if self._channel is None:
                if self._tls is None:
                    self._channel = grpc.insecure_channel(self._address, _CHANNEL_OPTIONS)
                else:
                    self._channel = grpc.secure_channel(self._address, self._tls, _CHANNEL_OPTIONS)
            return self._channel


def _serialize(request: messages.Message) -> bytes:
    return request.SerializeToString()
