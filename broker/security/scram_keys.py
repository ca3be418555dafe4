"""The arithmetic of SCRAM credentials (RFC 5802).

salted password   Hi(password, salt, iterations)
stored key        H(HMAC(salted password, "Client Key"))
server key        HMAC(salted password, "Server Key")
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from shareq.broker.security.credentials import MIN_ITERATIONS, ScramCredential

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def credential_from_salted(mechanism: str, salt: bytes, salted_password: bytes, iterations: int) -> ScramCredential:
    """What is kept of a salted password. KeyError for an unknown mechanism."""
    name = _HASHES[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", name)
    server_key = hmac.digest(salted_password, b"Server Key", name)
    return ScramCredential(salt, hashlib.new(name, client_key).digest(), server_key, iterations)


def credential_from_password(mechanism: str, password: str, salt: bytes, iterations: int) -> ScramCredential:
    """What is kept of a password, taken as its UTF-8 bytes, as Apache Kafka does. KeyError as above."""
    salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)
    return credential_from_salted(mechanism, salt, salted, iterations)


def invented_credential(mechanism: str, user: str, secret: bytes) -> ScramCredential:
    """What a user who does not exist is asked for: always the same, and right for no password that could be known.

    Otherwise the first answer would tell who exists. `secret` is the broker's own.
    """
    name = _HASHES[mechanism]
    salt = hmac.digest(secret, f"salt {mechanism} {user}".encode(), name)[:20]
    keys = [hmac.digest(secret, f"{which} {mechanism} {user}".encode(), name) for which in ("stored", "server")]
    return ScramCredential(salt, keys[0], keys[1], MIN_ITERATIONS)
