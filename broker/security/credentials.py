"""The stored credential of a SCRAM user (RFC 5802). It does not contain the password, and is never logged."""

from __future__ import annotations

from typing import Final, NamedTuple

SCRAM_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SCRAM_NUMBERS: Final = dict(enumerate(SCRAM_MECHANISMS, 1))
"""The mechanisms by their numbers in requests (KIP-554)."""
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
SALT_BYTES: Final = 24  # of the salts that are made here


class CredentialKey(NamedTuple):
    """The key of a credential: a user has one for each mechanism."""

    user: str
    mechanism: str


class ScramCredential(NamedTuple):
    """A user's credential, with salt and keys in bytes."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential([hidden])"
