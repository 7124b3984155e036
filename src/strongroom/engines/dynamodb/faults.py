"""boto3's faults in Strongroom's words (E1), and what each says of the call that met it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)

from strongroom.errors import InvalidArgument, StrongroomError, TooLarge, Unavailable

FAULTS: Final = (BotoCoreError, ClientError)
"""What the driver may raise."""

CANCELLED: Final = "TransactionCanceledException"

_BUSY: Final = frozenset(
    {
        "ThrottlingException",
        "ThrottlingError",
        "ThrottledException",
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
    }
)
"""The service did nothing, because it was asked for too much."""
_RIVALS: Final = frozenset({"TransactionConflictException", "TransactionConflict"})
"""The service did nothing, because a transaction that is under way has the item."""
_IN_DOUBT: Final = frozenset(
    {"InternalServerError", "InternalFailure", "ServiceUnavailable", "TransactionInProgressException"}
)
_CREDENTIALS: Final = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
_FULL: Final = frozenset({"ItemCollectionSizeLimitExceededException", "LimitExceededException"})
_NOT_SENT: Final = (EndpointConnectionError, ConnectTimeoutError)


def code_of(fault: Exception) -> str:
    """The service's code for what went wrong; empty where the fault is not the service's."""
    return str(fault.response["Error"].get("Code", "")) if isinstance(fault, ClientError) else ""


def reasons_of(fault: Exception) -> list[dict[str, Any]]:
    """Why a transaction was cancelled: one reason for each of its items, in their order."""
    response: Any = fault.response if isinstance(fault, ClientError) else {}
    return list(response.get("CancellationReasons", ()))


def is_refused(reason: dict[str, Any]) -> bool:
    """Whether an item's condition did not hold."""
    return reason.get("Code") == "ConditionalCheckFailed"


def is_conflict(fault: Exception) -> bool:
    """Whether nothing was done because another transaction had one of the items, and no condition failed."""
    if code_of(fault) != CANCELLED:
        return code_of(fault) in _RIVALS
    codes = {reason.get("Code") for reason in reasons_of(fault)}
    return not codes.isdisjoint(_RIVALS) and codes <= {*_RIVALS, *_BUSY, "None", None}


def is_busy(fault: Exception) -> bool:
    """Whether nothing was done because the service was asked for too much, and no condition failed."""
    if code_of(fault) != CANCELLED:
        return code_of(fault) in _BUSY
    codes = {reason.get("Code") for reason in reasons_of(fault)}
    return not codes.isdisjoint(_BUSY) and codes <= {*_BUSY, "None", None}


def is_unreached(fault: Exception) -> bool:
    """Whether the call never reached the service."""
    return isinstance(fault, _NOT_SENT)


def is_in_doubt(fault: Exception) -> bool:
    """Whether the service may have done what it was asked, although no answer came that says so."""
    if isinstance(fault, ClientError):
        status = fault.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return code_of(fault) in _IN_DOUBT or (status >= 500 and code_of(fault) not in _BUSY)
    return isinstance(fault, HTTPClientError) and not is_unreached(fault)


def is_passing(fault: Exception) -> bool:
    """Whether the same call may succeed a moment later."""
    return is_conflict(fault) or is_busy(fault) or is_unreached(fault) or is_in_doubt(fault)


def translate(fault: Exception) -> StrongroomError:
    """The fault to raise for a driver's; the driver's is to be its cause. What the service says may hold values."""
    code = code_of(fault)
    message = " ".join([str(fault), *(str(reason.get("Message")) for reason in reasons_of(fault))])
    if isinstance(fault, NoCredentialsError | PartialCredentialsError):
        return InvalidArgument(
            "DynamoDB: boto3 finds no credentials: give them by its own chain (environment, ~/.aws, the machine's role)"
        )
    if isinstance(fault, SSOError | TokenRetrievalError):
        return InvalidArgument("DynamoDB: boto3's login has ended: log in again")
    if isinstance(fault, CredentialRetrievalError):  # whoever hands them out may do so a moment later
        return Unavailable("DynamoDB: boto3 could not get credentials just now; nothing was kept")
    if code in _CREDENTIALS:
        return InvalidArgument(f"DynamoDB refuses these credentials, or what they are to be used for ({code})")
    if code in _FULL:
        return Unavailable(f"DynamoDB: a limit of the table is reached ({code}); nothing was kept")
    if code == "ResourceNotFoundException":
        return InvalidArgument("DynamoDB: there is no such table; prepare its schema first")
    if code in ("ValidationException", CANCELLED) and ("size" in message or "too large" in message):
        return TooLarge("DynamoDB: an item or a transaction is over the service's size limit")
    if is_conflict(fault) or is_busy(fault):
        return Unavailable(f"DynamoDB: asked for more than it gives just now ({code})")
    if is_unreached(fault) or is_in_doubt(fault):
        return Unavailable(f"DynamoDB can't be reached just now ({code or type(fault).__name__})")
    return StrongroomError(f"DynamoDB: {code or type(fault).__name__}")


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Let no driver's exception out."""
    try:
        yield
    except FAULTS as fault:
        raise translate(fault) from fault
