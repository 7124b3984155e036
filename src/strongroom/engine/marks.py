"""How long an engine that leaves a mark with each commit tells what became of one (T6): as long on every engine."""

from __future__ import annotations

from typing import Final

MARK_KEPT_MS: Final = 7 * 24 * 3_600_000
"""Milliseconds for which a mark, or the fence in its place, is kept where nobody has heard the commit's answer."""

TOKEN_ANSWERED_MS: Final = MARK_KEPT_MS - 24 * 3_600_000
"""Milliseconds for which the token of a `CommitUnknown` is answered for: a day less, as machines' clocks differ."""
