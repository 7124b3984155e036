"""What tests of the DynamoDB engine do to its calls: watch them, answer them in the service's place, lose an answer.

No server for tests is ever busy or has another transaction under way, so the answers that say so are made here, at the
last step before a request goes out.
"""

from __future__ import annotations

import io
import json
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from strongroom.engines.dynamodb import DynamoEngine

Answer = Callable[[Any, Callable[[Any], Any]], Any]
"""Called with a request, and with what sends it; answers, or raises, in its place."""


class Calls:
    """The calls of one engine object, from now on: what was asked, and what is to be answered."""

    def __init__(self, engine: DynamoEngine) -> None:
        client = engine._store.service.client
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """The operations and their arguments, in order."""
        self._answers: dict[str, deque[Answer | None]] = {}
        self._really_send = client._endpoint.http_session.send
        client.meta.events.register("provide-client-params.dynamodb", self._note)
        client.meta.events.register("before-send.dynamodb", self._answer)

    @property
    def names(self) -> list[str]:
        """The operations that were asked for, in order."""
        return [name for name, _ in self.asked]

    def of(self, operation: str) -> list[dict[str, Any]]:
        """The arguments of each call of one operation."""
        return [arguments for name, arguments in self.asked if name == operation]

    def forget(self) -> None:
        self.asked.clear()

    def answer_no_more(self) -> None:
        """Let the service answer from now on."""
        self._answers.clear()

    def answer(self, operation: str, *answers: Answer | None) -> None:
        """Answer the next calls of an operation so, one after the other; None lets the service do it."""
        self._answers.setdefault(operation, deque()).extend(answers)

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.asked.append((model.name, params))

    def _answer(self, request: Any, event_name: str, **_: Any) -> Any:
        waiting = self._answers.get(event_name.rpartition(".")[2])
        answer = waiting.popleft() if waiting else None
        return None if answer is None else answer(request, self._really_send)


def refusal(code: str, status: int = 400, **more: Any) -> Answer:
    """The service's answer that it did nothing, and why."""

    def answer(request: Any, _send: Callable[[Any], Any]) -> AWSResponse:
        body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "as the test says", **more}
        return answered(request, body, status)

    return answer


def cancelled(*codes: str) -> Answer:
    """The service's answer that a transaction was cancelled: a code for each item."""
    return refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


def lost(request: Any, send: Callable[[Any], Any]) -> Any:
    """The request arrives and is carried out; its answer does not come back."""
    send(request)
    raise ReadTimeoutError(endpoint_url=request.url)


def never_arrived(request: Any, _send: Callable[[Any], Any]) -> Any:
    """Neither the request arrives nor an answer."""
    raise ReadTimeoutError(endpoint_url=request.url)


def struck(request: Any, send: Callable[[Any], Any]) -> Any:
    """The request is carried out; Ctrl-C strikes before its answer is read."""
    send(request)
    raise KeyboardInterrupt


class _Raw(io.BytesIO):
    def stream(self, *_: object, **__: object) -> Any:
        yield self.read()


def answered(request: Any, body: dict[str, Any], status: int = 200) -> AWSResponse:
    """The service's answer."""
    encoded = json.dumps(body).encode()
    headers = {"x-amz-crc32": str(zlib.crc32(encoded)), "content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, status, headers, _Raw(encoded))
