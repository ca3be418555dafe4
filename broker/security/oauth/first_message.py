"""The one message of a client that shows a bearer token (RFC 7628, 3.1), as Apache Kafka takes it.

n,[a=AUTHZID],^Aauth=Bearer TOKEN^A[NAME=VALUE^A]...^A          ^A is the byte 1

Only `n` (no channel binding) is taken. The other NAME=VALUE pairs are Kafka's SASL extensions (KIP-342): they are
checked for form, and have no effect.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SEPARATOR: Final = "\x01"
_SASL_NAME: Final = r"(?:[\x02-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR: Final = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_MESSAGE: Final = re.compile(rf"n,(?:a=({_SASL_NAME}))?,\x01((?:{_PAIR})*)\x01")
_AUTH: Final = re.compile(r"([A-Za-z0-9_]+) +([-_.A-Za-z0-9]+)")


class FirstMessage(NamedTuple):
    """`authorization_id` is "" where the client gives none."""

    authorization_id: str
    token: str

    def __repr__(self) -> str:
        return "FirstMessage([hidden])"


def parse_first_message(data: bytes) -> FirstMessage:
    """ValueError says what is wrong, and nothing of what was sent."""
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
