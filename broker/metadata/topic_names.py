"""Rules for topic names: the legal ones and the internal ones."""

from __future__ import annotations

from typing import Final

from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

INTERNAL_TOPICS: Final = frozenset((CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE))

MAX_LENGTH: Final = 249
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def name_error(name: str) -> str | None:
    """Return why a topic cannot have this name, as a sentence; None if it can.

    Names become folder names, so nothing else may pass: no separators, no `.` or `..`, 249 characters at most.
    """
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: it is {len(name)} characters long, and at most {MAX_LENGTH} are allowed"
    if not _LEGAL.issuperset(name):
        return "Topic name is invalid: it may only have ASCII letters and digits, '.', '_' and '-'"
    return None


def collision_key(name: str) -> str:
    """Return a key that is equal for two names that Apache Kafka regards as colliding, because it replaces '.' by
    '_' in metric names.
    """
    return name.replace(".", "_")
