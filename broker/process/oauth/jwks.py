"""An issuer's public keys (JWKS, RFC 7517), and the check that one of them has signed a token (RFC 7515).

Needs the libraries PyJWT and `cryptography` (the extra shareq[oauth]). The allowed algorithms depend on the key,
never on the token, so that a token cannot choose `none`, or have a public key used as a secret one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shareq.broker.security.oauth.claims import TokenRefused, shown

if TYPE_CHECKING:
    from jwt.api_jws import PyJWS

_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_BY_CURVE: Final = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",), "Ed25519": ("EdDSA",)}
_PUBLIC: Final = {"RSA": ("kty", "n", "e"), "EC": ("kty", "crv", "x", "y"), "OKP": ("kty", "crv", "x")}
_LEAST_RSA_BITS: Final = 2048
_MOST_KEYS: Final = 1_000
_MOST_TRIED: Final = 8  # keys that a token without `kid` is tried with


class MissingLibrary(Exception):
    """Error: PyJWT, or the library that it uses for verification, is not installed."""


class UnusableKeys(Exception):
    """Error: a document has no key that can verify a token. The text is the reason, for the log."""


class UnknownKey(TokenRefused):
    """Error: a token is signed with a key that is not in the set, at least not yet."""


class Key(NamedTuple):
    """A public key. `algorithms` are those with which it may have signed; `id` is its `kid`, None if it has none."""

    id: str | None
    algorithms: tuple[str, ...]
    key: Any


def require_library() -> None:
    """Raise MissingLibrary if the library is missing. The first call takes a tenth of a second."""
    try:
        from jwt.algorithms import has_crypto
    except ImportError:
        raise MissingLibrary from None
    if not has_crypto:
        raise MissingLibrary


class KeySet:
    """The keys of one issuer that can verify tokens. `left_out` describes the others, with reasons, for the log."""

    def __init__(self, keys: Sequence[Key], left_out: Sequence[str] = ()) -> None:
        from jwt.api_jws import PyJWS

        self.keys: Final = tuple(keys)
        self.left_out: Final = tuple(left_out)
        algorithms = sorted({each for key in keys for each in key.algorithms})
        self._library: PyJWS = PyJWS(algorithms=algorithms)

    def payload(self, token: str) -> bytes:
        """Return the signed payload.

        Raise TokenRefused, or UnknownKey if a key that is not in the set may have signed it.
        """
        from jwt.exceptions import PyJWTError

        try:
            header = self._library.get_unverified_header(token)
        except (PyJWTError, ValueError, RecursionError):
            raise TokenRefused("it is not a signed JWT") from None
        refusal: TokenRefused | None = None
        algorithm = header.get("alg")
        for key in self._candidates(header.get("kid"), algorithm):
            try:
                return bytes(self._library.decode_complete(token, key.key, [str(algorithm)])["payload"])
            except (PyJWTError, ValueError, TypeError, RecursionError) as error:
                refusal = TokenRefused(f"its signature is not right ({type(error).__name__})")
        raise refusal or UnknownKey(f"no key for it, kid {shown(header.get('kid'))} and alg {shown(algorithm)}")

    def _candidates(self, key_id: object, algorithm: object) -> Iterable[Key]:
        named = [key for key in self.keys if key_id is None or key.id == key_id]
        fitting = [key for key in named if algorithm in key.algorithms]
        if named and not fitting:
            raise TokenRefused(f"its alg {shown(algorithm)} is none that the keys are for")
        return fitting[:_MOST_TRIED]


def read_keys(data: bytes) -> KeySet:
    """Return the keys of a JWKS document. Raise UnusableKeys if none can be used."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise UnusableKeys("it is not JSON") from None
    rows = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(rows, list) or len(rows) > _MOST_KEYS:
        raise UnusableKeys(f"it is no JWKS: no `keys` that is a list of at most {_MOST_KEYS}")
    keys: list[Key] = []
    left_out: list[str] = []
    for row in rows:
        try:
            keys.append(_key(row))
        except ValueError as error:
            left_out.append(f"{shown(row.get('kid')) if isinstance(row, dict) else 'a row'}: {error}")
    if not keys:
        raise UnusableKeys(f"it has no key that can verify tokens ({'; '.join(left_out) or 'it is empty'})")
    return KeySet(keys, left_out)


def _key(row: object) -> Key:
    if not isinstance(row, dict):
        raise ValueError("no object")
    kind, key_id = row.get("kty"), row.get("kid")
    if kind not in _PUBLIC:
        raise ValueError(f"kty {shown(kind)} is none of {', '.join(_PUBLIC)}")  # oct: a shared secret
    if key_id is not None and not isinstance(key_id, str):
        raise ValueError("its kid is no text")
    operations = row.get("key_ops")
    if row.get("use", "sig") != "sig" or (operations is not None and "verify" not in operations):
        raise ValueError("it is not for signatures")
    possible = _RSA if kind == "RSA" else _BY_CURVE.get(str(row.get("crv")), ())
    algorithms = possible if row.get("alg") is None else tuple(each for each in possible if each == row["alg"])
    if not algorithms:
        raise ValueError(f"nothing is known to be signed with crv {shown(row.get('crv'))}, alg {shown(row.get('alg'))}")
    return Key(key_id, algorithms, _public_key({name: row.get(name) for name in _PUBLIC[kind]}, algorithms[0]))


def _public_key(row: Mapping[str, object], algorithm: str) -> Any:
    """Return the public key made from only the public members, so that a published private key is not used.

    Raise ValueError if it is damaged or too short.
    """
    from jwt.algorithms import get_default_algorithms
    from jwt.exceptions import PyJWTError

    try:
        key = get_default_algorithms()[algorithm].from_jwk(dict(row))
    except (PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"it is damaged ({type(error).__name__})") from None
    if row["kty"] == "RSA" and key.key_size < _LEAST_RSA_BITS:
        raise ValueError(f"RSA of {key.key_size} bits; at least {_LEAST_RSA_BITS} are needed")
    return key
