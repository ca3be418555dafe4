"""The server's side of OAUTHBEARER (RFC 7628, KIP-255), with the error texts of Apache Kafka. Sans-IO.

client  n,,^Aauth=Bearer TOKEN^A^A
broker  (nothing)                          the token is good
broker  {"status":"invalid_token"}         it is not: the client has to answer
client  ^A
broker  SASL_AUTHENTICATION_FAILED, with the same JSON as its message
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from shareq.broker.security.oauth.claims import Bearer, TokenRefused, shown
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, invalid_credentials

_MECHANISM: Final = "OAUTHBEARER"
_INVALID_TOKEN: Final = '{"status":"invalid_token"}'


class OauthExchange:
    """An exchange of OAUTHBEARER. `check` returns a token's bearer, or raises TokenRefused. `again`: it is a
    re-authentication.
    """

    __slots__ = ("_again", "_check", "claimed", "lifetime_ms", "refusal", "user")

    def __init__(self, check: Callable[[str], Bearer], *, again: bool = False) -> None:
        self._check = check
        self._again = again
        self.user: str | None = None
        self.claimed = ""
        self.lifetime_ms: int | None = None
        self.refusal: str | None = None

    def respond(self, token: bytes) -> bytes:
        if self.refusal is not None:  # whatever comes now, the one try was it
            raise AuthenticationFailed(_INVALID_TOKEN, noted=True)
        try:
            message = parse_first_message(token)
        except ValueError as error:
            text = invalid_credentials(_MECHANISM, again=self._again)
            raise AuthenticationFailed(text, f"OAUTHBEARER: {error}") from None
        try:
            bearer = self._check(message.token)
        except TokenRefused as error:
            self.refusal = f"OAUTHBEARER: the token is refused: {error}"
            return _INVALID_TOKEN.encode()
        self.claimed = bearer.user
        if message.authorization_id not in ("", bearer.user):
            raise AuthenticationFailed(
                f"Authentication failed: Client requested an authorization id ({message.authorization_id}) that is "
                f"different from the token's principal name ({bearer.user})",
                f"OAUTHBEARER: a token of {shown(bearer.user)} with another authorization id",
            )
        self.user = bearer.user
        self.lifetime_ms = bearer.lifetime_ms
        return b""


_SEPARATOR: Final = "\x01"
_SASL_NAME: Final = r"(?:[\x02-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR: Final = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_MESSAGE: Final = re.compile(rf"n,(?:a=({_SASL_NAME}))?,\x01((?:{_PAIR})*)\x01")
_AUTH: Final = re.compile(r"([A-Za-z0-9_]+) +([-_.A-Za-z0-9]+)")


class FirstMessage(NamedTuple):
    """The client's first message. `authorization_id` is "" if the client sends none."""

    authorization_id: str
    token: str

    def __repr__(self) -> str:
        return "FirstMessage([hidden])"


def parse_first_message(data: bytes) -> FirstMessage:
    """Return the parsed message. Raise ValueError, which names the fault without any part of the input."""
    try:
        match = _MESSAGE.fullmatch(data.decode("ascii"))
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise ValueError("not a first message of OAUTHBEARER")
    pairs: dict[str, str] = {}
    for pair in match[2].split(_SEPARATOR)[:-1]:
        name, _, value = pair.partition("=")
        if name in pairs:
            raise ValueError("a key that is given twice")
        pairs[name] = value
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth[1].lower() != "bearer":
        raise ValueError("no `auth` with a bearer token")
    return FirstMessage((match[1] or "").replace("=2C", ",").replace("=3D", "="), auth[2])
