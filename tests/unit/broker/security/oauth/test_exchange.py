"""The dialogue of OAUTHBEARER in Apache Kafka's words, none of which contain a token."""

from __future__ import annotations

import pytest

from shareq.broker.security.oauth.claims import Bearer, TokenRefused
from shareq.broker.security.oauth.exchange import OauthExchange
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed
from tests.support.clients.tokens import first_message

SECRET = "aaaa.bbbb.cccc"


def check(token: str) -> Bearer:
    if token == SECRET:
        return Bearer("alice", 7_000)
    raise TokenRefused("it has expired")


def test_a_good_token_is_all_it_takes() -> None:
    exchange = OauthExchange(check)
    assert exchange.respond(first_message(SECRET, traceId="7")) == b""
    assert (exchange.user, exchange.lifetime_ms, exchange.refusal) == ("alice", 7_000, None)


@pytest.mark.parametrize("word", [b"\x01", b"", first_message(SECRET)])
def test_a_refused_token_is_over_after_one_more_word(word: bytes) -> None:
    """A second token is refused even if it is right: each attempt needs a connection."""
    exchange = OauthExchange(check)
    assert exchange.respond(first_message("other")) == b'{"status":"invalid_token"}'
    assert exchange.refusal == "OAUTHBEARER: the token is refused: it has expired"
    with pytest.raises(AuthenticationFailed) as failure:
        exchange.respond(word)
    assert str(failure.value) == '{"status":"invalid_token"}'
    assert failure.value.noted
    assert exchange.user is None


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("message", [b"", b"\x01", b"n,,\x01auth=Bearer " + SECRET.encode(), b"\0alice\0" + b"pw"])
def test_what_is_not_understood(message: bytes, again: bool) -> None:
    with pytest.raises(AuthenticationFailed) as failure:
        OauthExchange(check, again=again).respond(message)
    during = "re-authentication" if again else "authentication"
    text = f"Authentication failed during {during} due to invalid credentials with SASL mechanism OAUTHBEARER"
    assert str(failure.value) == text
    assert failure.value.reason == "OAUTHBEARER: not a first message of OAUTHBEARER"
    assert not failure.value.noted


def test_an_authorization_id_has_to_be_the_user() -> None:
    exchange = OauthExchange(check)
    assert exchange.respond(first_message(SECRET, "alice")) == b""
    with pytest.raises(AuthenticationFailed) as failure:
        OauthExchange(check).respond(first_message(SECRET, "bob"))
    assert str(failure.value) == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)"
    )
    assert SECRET not in failure.value.reason
