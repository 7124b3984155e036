"""DynamoDB (boto3): one table of Amazon's service, or of a server that speaks its language.

``dynamodb://TABLE?region=eu-central-1``. Options: ``region``, ``endpoint``, ``timeout_ms=30000``, ``connections=64``.
Credentials come from boto3's own chain (environment, ``~/.aws``, the machine's role), never from the URL.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from strongroom.engine import Engine, StoreUrl
from strongroom.engines.dynamodb.engine import DynamoEngine, DynamoOptions
from strongroom.errors import InvalidArgument

__all__ = ["DynamoEngine", "DynamoOptions", "open_url"]

_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
_REGION: Final = re.compile(r"[a-z0-9-]{1,64}")
_ENDPOINT: Final = re.compile(r"https?://[a-zA-Z0-9.\[\]:-]+/?")


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Engine:
    """The engine for a ``dynamodb:`` URL; raises as `strongroom.open`."""
    url.allow("region", "endpoint", "timeout_ms", "connections")
    table = unquote(url.place)
    if not _NAME.fullmatch(table):
        raise InvalidArgument(
            "a DynamoDB store is named dynamodb://TABLE?region=REGION: the table has 3 to 255 letters, digits, _, . "
            "and -, and credentials come from boto3's own chain, never from the URL"
        )
    region, endpoint = url.options.get("region"), url.options.get("endpoint")
    if region is not None and not _REGION.fullmatch(region):
        raise InvalidArgument("dynamodb URL: region is the name of a region, such as eu-central-1")
    if endpoint is not None and not _ENDPOINT.fullmatch(endpoint):
        raise InvalidArgument("dynamodb URL: endpoint is http://HOST:PORT or https://HOST")
    options = DynamoOptions(
        region=region,
        endpoint=endpoint,
        timeout_ms=url.number("timeout_ms", 30_000, minimum=1),
        connections=url.number("connections", 64, minimum=1),
    )
    return DynamoEngine(table, options, seal_key=seal_key)
