"""What a benchmark needs and this machine does not have."""

from __future__ import annotations


class Missing(Exception):
    """A peer, a driver or a server is not installed; the message says what to do."""
