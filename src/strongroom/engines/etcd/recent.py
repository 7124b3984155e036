"""What single calls have read a moment ago: whoever updates a row has nearly always just read it.

Nothing is believed of it. A change that relies on it is compared with what stands in etcd when it commits, and made
again with a fresh look where that is not so.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from strongroom.engines.etcd.messages import KeyValue

_MOST: Final = 256
_LARGEST: Final = 4096
"""The most bytes of a row that is worth keeping."""


class Recent:
    """The pairs that were read last, each until it is taken. Threads may share it."""

    def __init__(self) -> None:
        self._pairs: OrderedDict[bytes, KeyValue] = OrderedDict()

    def keep(self, place: bytes, pair: KeyValue) -> None:
        """Remember what was read at a place."""
        if len(pair.value) <= _LARGEST:
            self._pairs[place] = pair
            if len(self._pairs) > _MOST:
                try:
                    self._pairs.popitem(last=False)
                except KeyError:
                    return  # others took them all

    def take(self, place: bytes) -> KeyValue | None:
        """What was last read at a place, once."""
        return self._pairs.pop(place, None)
