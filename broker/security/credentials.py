"""The stored credential of a SCRAM user (RFC 5802): never the password, and nothing of it in a log."""

from __future__ import annotations

from typing import Final, NamedTuple

SCRAM_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SCRAM_NUMBERS: Final = dict(enumerate(SCRAM_MECHANISMS, 1))
"""The mechanisms by the numbers that requests have for them (KIP-554)."""
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
SALT_BYTES: Final = 24  # of the salts that are made here


class CredentialKey(NamedTuple):
    """A user has one credential for each mechanism."""

    user: str
    mechanism: str


class ScramCredential(NamedTuple):
    """Salt and keys in bytes."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential([hidden])"
