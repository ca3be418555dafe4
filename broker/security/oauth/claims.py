"""Claims of a signed token (RFC 7519), checked as by Apache Kafka's BrokerJwtValidator. Pure: time is an argument."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.broker.security.oauth.settings import ClaimRules

_LATEST_S: Final = 2**53  # times beyond are no times
_SHOWN: Final = 100  # characters of a claim in a log line


class TokenRefused(Exception):
    """Error: a token is refused. The text is the reason, for the log: it names claims, and never has the token in
    it.
    """


class Bearer(NamedTuple):
    """The user of a token, and the number of milliseconds for which it is still valid, at least 1."""

    user: str
    lifetime_ms: int


def check_claims(payload: bytes, rules: ClaimRules, now_ms: int) -> Bearer:
    """Check the claims of a token with a valid signature. `now_ms` is since the epoch. Return its bearer; raise
    TokenRefused.
    """
    claims = _object(payload)
    expires_ms = _time_ms(claims, "exp")
    issued_ms = _time_ms(claims, "iat")
    skew_ms = rules.clock_skew_s * 1000
    if now_ms - skew_ms >= expires_ms:
        raise TokenRefused(f"it has expired {(now_ms - expires_ms) / 1000:.0f} s ago")
    if expires_ms < issued_ms:
        raise TokenRefused("it expires before it was issued")
    if "nbf" in claims and now_ms + skew_ms < (begins_ms := _time_ms(claims, "nbf")):
        raise TokenRefused(f"it is not valid before {(begins_ms - now_ms) / 1000:.0f} s from now")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise TokenRefused(f"its issuer is {shown(claims.get('iss'))}")
    _check_audience(claims, rules)
    _check_scopes(claims.get(rules.scope_claim), rules.scope_claim)
    user = claims.get(rules.sub_claim)
    if not isinstance(user, str) or not user.strip():
        raise TokenRefused(f"its claim {rules.sub_claim} names nobody")
    left_ms = expires_ms - now_ms
    # A token that is valid only because of the allowed clock difference is valid until that has passed.
    return Bearer(user.strip(), left_ms if left_ms > 0 else left_ms + skew_ms)


def claimed_subject(token: str, rules: ClaimRules) -> str:
    """Return the subject that a token claims, for the log; the token may be invalid."""
    payload = (token + "..").split(".")[1]
    try:
        claims = _object(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (TokenRefused, ValueError):
        return "not to be seen"
    return shown(claims.get(rules.sub_claim))


def shown(value: object) -> str:
    """Return a claim or header for the log: on one line, and cut if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _object(payload: bytes) -> Mapping[str, object]:
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError):
        raise TokenRefused("its claims are not JSON") from None
    if not isinstance(claims, dict):
        raise TokenRefused("its claims are not a JSON object")
    return claims


def _time_ms(claims: Mapping[str, object], name: str) -> int:
    value = claims.get(name)
    # A comparison with NaN is false, and so refuses it, too.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST_S:
        raise TokenRefused(f"it has no claim {name} that is a time")
    return int(value * 1000)


def _check_audience(claims: Mapping[str, object], rules: ClaimRules) -> None:
    given = claims.get("aud")
    audiences = given if isinstance(given, list) else [given]
    if rules.audiences and not any(each in rules.audiences for each in audiences if isinstance(each, str)):
        raise TokenRefused(f"its audience is {shown(given)}")


def _check_scopes(given: object, name: str) -> None:
    """Check only the form of the scopes. A text is one scope here, as in Apache Kafka."""
    scopes = given if isinstance(given, list) else [given] if isinstance(given, str) else []
    texts = [each.strip() for each in scopes if isinstance(each, str)]
    if len(texts) != len(scopes) or not all(texts) or len(set(texts)) != len(texts):
        raise TokenRefused(f"its claim {name} is not a list of different scopes")
