from __future__ import annotations


class InvariantBroken(AssertionError):
    """An error: the broker did something it must never do."""
