"""An issuer of OAUTHBEARER tokens: its keys, their JWKS, and tokens that are valid or wrong in one place."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from jwt.algorithms import get_default_algorithms
from jwt.api_jws import PyJWS

MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
VALIDATOR: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_CURVES: Final[dict[str, Any]] = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}


class SigningKey:
    """A named key pair. `algorithm` is its signature algorithm."""

    def __init__(self, kid: str | None, algorithm: str = "RS256", *, bits: int = 2048) -> None:
        self.kid = kid
        self.algorithm = algorithm
        self._bits = bits

    @cached_property
    def private(self) -> PrivateKeyTypes:
        """Make the key on first use: every process that collects tests imports the module."""
        if self.algorithm in _CURVES:
            return ec.generate_private_key(_CURVES[self.algorithm]())
        if self.algorithm == "EdDSA":
            return ed25519.Ed25519PrivateKey.generate()
        return rsa.generate_private_key(65537, self._bits)

    def jwk(self, *, private: bool = False, **more: object) -> dict[str, Any]:
        library: Any = get_default_algorithms()[self.algorithm]
        key: Any = self.private
        row: dict[str, Any] = dict(library.to_jwk(key if private else key.public_key(), as_dict=True))
        row.pop("key_ops", None)
        return {**row, **({} if self.kid is None else {"kid": self.kid}), "use": "sig", **more}

    def sign(self, payload: bytes, *, algorithm: str | None = None, **headers: object) -> str:
        """Sign any payload; the given headers override its own."""
        given = {**({} if self.kid is None else {"kid": self.kid}), **headers}
        key: Any = self.private
        return PyJWS().encode(payload, key, algorithm or self.algorithm, given)

    def token(self, claims: Mapping[str, object] | None = None, **more: object) -> str:
        """Return a token for alice, valid for an hour; `claims` and `more` override, and None removes a claim."""
        given = {**claims_of("alice"), **(claims or {}), **more}
        return self.sign(json.dumps({name: value for name, value in given.items() if value is not None}).encode())


def claims_of(user: str) -> dict[str, object]:
    now = int(time.time())
    return {"sub": user, "iat": now, "exp": now + 3600}


def jwks(*keys: SigningKey | Mapping[str, object]) -> bytes:
    rows = [key.jwk() if isinstance(key, SigningKey) else dict(key) for key in keys]
    return json.dumps({"keys": rows}).encode()


def first_message(token: str, authorization_id: str = "", **extensions: str) -> bytes:
    head = f"a={authorization_id}" if authorization_id else ""
    pairs = "".join(f"{name}={value}\x01" for name, value in extensions.items())
    return f"n,{head},\x01auth=Bearer {token}\x01{pairs}\x01".encode()


def unsecured(claims: Mapping[str, object]) -> str:
    """Return a token without a signature (RFC 7515, appendix A.5)."""
    parts = (json.dumps({"alg": "none"}).encode(), json.dumps(dict(claims)).encode(), b"")
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def oauth_properties(path: Path, listener: str = "SASL_PLAINTEXT", **more: str) -> dict[str, str]:
    """Return an OAUTHBEARER listener with its keys in a file.

    It accepts tokens of any user and issuer, unless `more` restricts them. An underscore stands for a dot, two for an
    underscore.
    """
    names = {name.replace("__", "\0").replace("_", ".").replace("\0", "_"): text for name, text in more.items()}
    return {
        "listeners": f"{listener}://127.0.0.1:0",
        "listener.security.protocol.map": f"{listener}:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": path.as_uri(),
        "sasl.oauthbearer.allow.unverified.audience": "true",
        "sasl.oauthbearer.allow.unverified.issuer": "true",
        **names,
    }
