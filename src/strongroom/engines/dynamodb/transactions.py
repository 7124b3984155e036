"""Sending a transaction so that it is carried out once or not at all, and finding out which (T6).

Every transaction leaves a mark, an item under its own random token that must not be there before. Whoever does not
know what came of it puts a fence in the same place: if that succeeds the transaction was not kept and never will be,
however late it arrives; if there is a mark it was. Within a deadline this is rarely needed: the same request is sent
again under the same client request token, which DynamoDB carries out once.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from strongroom.engine import MARK_KEPT_MS, TOKEN_ANSWERED_MS, Rivals
from strongroom.engines.dynamodb.faults import (
    FAULTS,
    code_of,
    is_conflict,
    is_in_doubt,
    is_passing,
    is_refused,
    reasons_of,
    translate,
)
from strongroom.engines.dynamodb.items import size_of
from strongroom.engines.dynamodb.places import PARTITION, key_of, mark_place, place_in
from strongroom.engines.dynamodb.service import MOST_AT_ONCE, PAUSES, Item, Service
from strongroom.errors import CommitUnknown, InvalidArgument, StrongroomError, TooLarge, Unavailable

EXPIRES: Final = "_expires"
"""The attribute with the Unix second after which DynamoDB itself removes an item."""
_KIND: Final = "_kind"
_MARK: Final = "mark"
_FENCE: Final = "fence"

_MOST_BYTES: Final = 4 * 2**20
"""The most bytes of one transaction."""
_MOST_CONFLICTS: Final = 4
"""How often a transaction that met others under way is sent again before its functions run again."""

_TOKEN: Final = re.compile(r"ddb-([0-9a-f]{8})[0-9a-f]{12}")


class Refused(Exception):
    """A condition of a transaction did not hold, and nothing of it was kept: why, for each of its parts."""

    def __init__(self, reasons: Sequence[dict[str, Any]]) -> None:
        super().__init__("a condition did not hold")
        self.parts = [index for index, reason in enumerate(reasons) if is_refused(reason)]


def new_token() -> str:
    """A token for one transaction; it tells the second in which it was made."""
    return f"ddb-{int(time.time()):08x}{secrets.token_hex(6)}"


class Transactions:
    """The transactions of one engine object. Threads may share it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def send(self, parts: Sequence[Item], token: str, kept: Callable[[], None] = lambda: None) -> None:
        """Have all parts carried out, or none.

        `kept` is called where that is found out while an exception (Ctrl-C) is on its way.

        Raises `Refused` where a condition did not hold and `Rivals` where other transactions were always under way;
        `TooLarge` for more than 99 parts or 4 MiB, before anything is sent; `Unavailable`, and `CommitUnknown` where
        the deadline passed before it was known.
        """
        whole = [*parts, self._mark(token)]
        _check(whole)
        try:
            self._send(whole, token)
        except (StrongroomError, Refused):
            raise
        except BaseException as struck:
            if self._was_kept(token, struck):
                kept()
            raise

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept, for certain and for ever.

        Raises `InvalidArgument` for what is no token of this engine's, or older than six days; `Unavailable`.
        """
        form = _TOKEN.fullmatch(token)
        if form is None:
            raise InvalidArgument("DynamoDB: the token is not one of this engine's")
        if (time.time() - int(form[1], 16)) * 1000 > TOKEN_ANSWERED_MS:
            raise InvalidArgument("DynamoDB: the token is older than six days, and its mark may be gone")
        fence = self._mark(token, _FENCE)["Put"]
        try:
            self._service.call("put_item", **fence)
        except StrongroomError as fault:
            cause = fault.__cause__
            if not isinstance(cause, FAULTS) or code_of(cause) != "ConditionalCheckFailedException":
                raise
            return _kind_of(getattr(cause, "response", {})) == _MARK
        return False

    def _send(self, parts: Sequence[Item], token: str) -> None:
        deadline = time.monotonic() + self._service.timeout
        in_doubt = False
        attempt = conflicts = 0
        while True:
            try:
                self._service.once(
                    "transact_write_items", TransactItems=parts, ClientRequestToken=f"{token}-{conflicts}"
                )
            except FAULTS as fault:
                reasons = reasons_of(fault)
                if reasons and is_refused(reasons[-1]) and _kind_of(reasons[-1]) == _MARK:
                    return  # an earlier try was kept
                in_doubt = in_doubt or is_in_doubt(fault)
                conflicts += is_conflict(fault)
                pause = PAUSES.pause(attempt)
                late = time.monotonic() + pause > deadline
                if not is_passing(fault) or late or conflicts > _MOST_CONFLICTS:
                    if in_doubt and self._was_kept(token, fault, ask=not late):
                        return
                    raise _given_up(fault) from fault
            else:
                return
            time.sleep(pause)
            attempt += 1

    def _was_kept(self, token: str, cause: BaseException, *, ask: bool = True) -> bool:
        """Whether an unanswered transaction was kept; `CommitUnknown` where that can't be found out now.

        Ctrl-C on the way to that is put off: others may share the transaction, whose functions must not run again if
        it was kept.
        """
        while ask:
            try:
                return self.resolve(token)
            except StrongroomError:
                break
            except KeyboardInterrupt:
                continue
        raise CommitUnknown("DynamoDB: no answer says whether the transaction was kept", token=token) from cause

    def _mark(self, token: str, kind: str = _MARK) -> Item:
        expires = int(time.time()) + MARK_KEPT_MS // 1000
        return {
            "Put": {
                "TableName": self._service.table,
                "Item": {**key_of(mark_place(token)), _KIND: {"S": kind}, EXPIRES: {"N": str(expires)}},
                "ConditionExpression": "attribute_not_exists(#p)",
                "ExpressionAttributeNames": {"#p": PARTITION},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }


def _kind_of(answer: Item) -> str:
    """Whether a mark or a fence is where one was to be put."""
    return str(answer.get("Item", {}).get(_KIND, {}).get("S", ""))


def _given_up(fault: Exception) -> Exception:
    reasons = reasons_of(fault)
    if reasons and is_refused(reasons[-1]):
        return Unavailable("DynamoDB: the transaction was given up by whoever asked what came of it")
    if any(map(is_refused, reasons)):
        return Refused(reasons)
    if is_conflict(fault):
        return Rivals("DynamoDB: other transactions were under way on the same rows")
    return translate(fault)


def _check(parts: Sequence[Item]) -> None:
    if len(parts) > MOST_AT_ONCE:
        raise TooLarge(
            f"DynamoDB: a transaction has at most {MOST_AT_ONCE} items, those that are only checked, the guards of "
            f"what was walked over and its mark among them; this one has {len(parts)}"
        )
    if sum(size_of(part["Put"]["Item"]) for part in parts if "Put" in part) > _MOST_BYTES:
        raise TooLarge("DynamoDB: a transaction has at most 4 MiB")
    places = {place_in(one.get("Item") or one["Key"]) for part in parts for one in part.values()}
    if len(places) != len(parts):
        raise StrongroomError("DynamoDB: a transaction must not name an item twice")
