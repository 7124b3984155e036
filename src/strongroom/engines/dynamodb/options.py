"""Which table a store is, and how the service is reached: what a URL says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from strongroom.engine import StoreUrl
from strongroom.errors import InvalidArgument

_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
_REGION: Final = re.compile(r"[a-z0-9-]{1,64}")
_ENDPOINT: Final = re.compile(r"https?://[a-zA-Z0-9.\[\]:-]+/?")


@dataclass(frozen=True, slots=True)
class DynamoOptions:
    """How a store is reached.

    region: the region; None is what boto3's own chain says.
    endpoint: the service's address, if it is not the region's own.
    timeout_ms: for how long a call is tried again while the service can't be reached or is asked for too much.
    connections: how many connections are kept open; more calls at once open more.
    """

    region: str | None = None
    endpoint: str | None = None
    timeout_ms: int = 30_000
    connections: int = 64

    @classmethod
    def parse(cls, url: StoreUrl) -> DynamoOptions:
        """The options of a URL; `InvalidArgument` for one that can't be."""
        url.allow("region", "endpoint", "timeout_ms", "connections")
        region, endpoint = url.options.get("region"), url.options.get("endpoint")
        if region is not None and not _REGION.fullmatch(region):
            raise InvalidArgument("dynamodb URL: region is the name of a region, such as eu-central-1")
        if endpoint is not None and not _ENDPOINT.fullmatch(endpoint):
            raise InvalidArgument("dynamodb URL: endpoint is http://HOST:PORT or https://HOST")
        return cls(
            region=region,
            endpoint=endpoint,
            timeout_ms=url.number("timeout_ms", 30_000, minimum=1),
            connections=url.number("connections", 64, minimum=1),
        )


def table_of(url: StoreUrl) -> str:
    """The name of the DynamoDB table that a URL names; `InvalidArgument` for one that no table can have."""
    table = unquote(url.place)
    if not _NAME.fullmatch(table):
        raise InvalidArgument(
            "a DynamoDB store is named dynamodb://TABLE?region=REGION: the table has 3 to 255 letters, digits, _, . "
            "and -, and credentials come from boto3's own chain, never from the URL"
        )
    return table
