"""Names with a meaning for access control: principals are texts of the form TYPE:NAME, and `*` stands for all."""

from __future__ import annotations

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a client on a listener without authentication."""

EVERYBODY: Final = "User:*"
WILDCARD: Final = "*"
CLUSTER_NAME: Final = "kafka-cluster"
"""The single name of the resource of kind CLUSTER."""


def user(name: str) -> str:
    """Return the principal of an authenticated user."""
    return f"User:{name}"


def parse_principal(text: str) -> tuple[str, str]:
    """Return type and name of a principal TYPE:NAME. Raise ValueError if it does not have that form."""
    kind, separator, name = text.partition(":")
    if not separator or not kind or not name:
        raise ValueError(f"{text} is no principal: it must be TYPE:NAME, for example User:alice")
    return kind, name
