"""The arithmetic of SCRAM credentials (RFC 5802).

salted password   Hi(password, salt, iterations)
stored key        H(HMAC(salted password, "Client Key"))
server key        HMAC(salted password, "Server Key")
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from shareq.broker.security.credentials import ScramCredential

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash functions by mechanism."""


def credential_from_salted(mechanism: str, salt: bytes, salted_password: bytes, iterations: int) -> ScramCredential:
    """Return the stored credential derived from a salted password. Raise KeyError for an unknown mechanism."""
    name = HASHES[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", name)
    server_key = hmac.digest(salted_password, b"Server Key", name)
    return ScramCredential(salt, hashlib.new(name, client_key).digest(), server_key, iterations)


def credential_from_password(mechanism: str, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """Return the stored credential derived from a password, encoded in UTF-8 as in Apache Kafka.

    Raise KeyError for an unknown mechanism.
    """
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)
    return credential_from_salted(mechanism, salt, salted, iterations)
