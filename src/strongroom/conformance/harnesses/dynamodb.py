"""A harness for DynamoDB: each store is a table of its own."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

from strongroom.conformance.backdoors.dynamodb import DynamoBackDoor
from strongroom.conformance.harness import Ability
from strongroom.conformance.harnesses.servers import SERVER_FAULTS, THROUGH_PROXY, ServerHarness
from strongroom.conformance.url_harness import NUMBER, with_options
from strongroom.conformance.wires.dynamodb import DynamoWire, Traffic
from strongroom.conformance.wires.wire import Wire
from strongroom.engine import StoreUrl

ENDPOINT: Final = "endpoint"


class DynamoHarness(ServerHarness):
    """As `ServerHarness`, for ``dynamodb://TABLE?region=REGION&endpoint=http://HOST:PORT``.

    Without an endpoint that is reached by plain HTTP no proxy can stand before the service: what takes one, the count
    of flushes too, is not shown then.
    """

    port = 8000
    proxied = THROUGH_PROXY | SERVER_FAULTS | {Ability.FLUSHES}
    sockets = frozenset()

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        self._traffic = Traffic()
        super().__init__(template, seal_key=seal_key)
        self._local = not StoreUrl.parse(self._template).options.get(ENDPOINT, "").startswith("http://")

    @property
    def abilities(self) -> frozenset[Ability]:
        return super().abilities - (self.proxied if self._local else frozenset())

    def _new_wire(self) -> Wire:
        return DynamoWire(self._traffic)

    def _enter(self, url: StoreUrl) -> DynamoBackDoor:
        region, endpoint = url.options.get("region"), url.options.get(ENDPOINT)
        return DynamoBackDoor(region, endpoint, self._store(url), self._traffic)

    def _store(self, url: StoreUrl) -> str:
        return unquote(url.place)

    def _reached(self, url: str, options: dict[str, str] | None = None) -> str:
        parsed = StoreUrl.parse(url)
        all_options = {**parsed.options, **(options or {})}
        if self.wanted & self.proxied and not self._local:
            server = urlsplit(all_options[ENDPOINT]).netloc
            all_options[ENDPOINT] = f"http://{self._through(server)}"
        return f"{parsed.scheme}://{with_options(parsed.place, all_options)}"

    def _numbered(self, url: StoreUrl) -> str:
        return f"{url.scheme}://{with_options(f'{url.place}_{NUMBER}', url.options)}"
