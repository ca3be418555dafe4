"""The guard of the console's requests: by host, origin and token. Pure.

Three kinds of strangers are kept out: pages of other sites in a user's browser (the same-origin checks, and a header
that no form can send), names made to point to this machine (the host), and other users (the token).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final, NamedTuple

API: Final = "/api/"
LEAST_TOKEN: Final = 16
"""The least length of a token, so that it cannot be guessed."""

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers of every answer."""


class Rules(NamedTuple):
    """The rules of access. `token`: None makes the console read-only. `token_to_read`: the token is needed for
    everything.

    `loopback`: only this machine reaches the console, by the names of the loopback address.
    """

    token: str | None
    token_to_read: bool
    loopback: bool


class Refusal(NamedTuple):
    """An HTTP status, and a sentence for the user."""

    status: int
    text: str


def refusal(rules: Rules, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
    """Return why a request is refused; None if it is not. Names in `headers` may be in any case."""
    if method not in ("GET", "HEAD", "POST"):
        return Refusal(405, "GET, HEAD or POST")
    host = headers.get("Host", "")
    if rules.loopback and not is_loopback(_name_of(host)):
        return Refusal(421, "the console is at 127.0.0.1, [::1] or localhost")
    if not path.startswith(API):
        return None if method != "POST" else Refusal(405, "GET or HEAD")
    return _from_elsewhere(method, host, headers) or _without_token(rules, method, headers)


def _from_elsewhere(method: str, host: str, headers: Mapping[str, str]) -> Refusal | None:
    site = headers.get("Sec-Fetch-Site")
    if site is not None and site != "same-origin" and (site != "none" or method == "POST"):
        return Refusal(403, "a page of another site asked")
    origin = headers.get("Origin")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        return Refusal(403, "a page of another site asked")
    if method == "POST" and headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        return Refusal(415, "the body must be application/json")
    return None


def _without_token(rules: Rules, method: str, headers: Mapping[str, str]) -> Refusal | None:
    if method == "POST" and rules.token is None:
        return Refusal(403, "this console is read-only: it was started without --token-file")
    if (method == "POST" or rules.token_to_read) and not knows_token(rules, headers):
        return Refusal(401, "the token is missing or wrong")
    return None


def knows_token(rules: Rules, headers: Mapping[str, str]) -> bool:
    """Return True if a request has the token. The comparison takes constant time."""
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    if rules.token is None or scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode(), rules.token.encode())


def _name_of(host: str) -> str:
    """Return the name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_loopback(name: str) -> bool:
    """Return True if a host's name or address is this machine's alone."""
    numbers = name.split(".")
    of_ipv4 = len(numbers) == 4 and numbers[0] == "127" and all(each.isdecimal() for each in numbers)
    return of_ipv4 or name.lower() == "localhost" or name == "::1"


def exposure(loopback: bool, token: str | None, logs_in: bool) -> str | None:
    """Return why a console must not be started with these settings; None if it may.

    `logs_in`: the console shows the data that its own login may see.
    """
    if token is not None:
        return None
    if not loopback:
        return "is open to other machines: listen on 127.0.0.1, or give a token file"
    if logs_in:
        return "would show every user of this machine what its own login may see: give a token file"
    return None
