"""The client's side of PLAIN and SCRAM, tested with the RFC's example and with another implementation's server."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
from scramp import ScramMechanism

from shareq.client.errors import AuthenticationFailed
from shareq.client.security.config import SaslConfig
from shareq.client.security.sasl import ScramClient, sasl_client

SALT = b"salt of sixteen."


def test_plain_is_one_token() -> None:
    client = sasl_client(SaslConfig("PLAIN", "alice", "wonderland"), "unused")
    assert client.first() == b"\0alice\0wonderland"
    assert client.respond(b"") is None


def test_the_example_of_rfc_7677() -> None:
    client = ScramClient(SaslConfig("SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    final = client.respond(b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert final == b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert client.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


def server(mechanism: str, password: str) -> Any:
    """Return another implementation's server, with the password salted as UTF-8 bytes, as Apache Kafka does."""
    name = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    salted = hashlib.pbkdf2_hmac(name, password.encode(), SALT, 4096)
    stored = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
    key = hmac.digest(salted, b"Server Key", name)
    return ScramMechanism(mechanism).make_server(lambda user: (SALT, stored, key, 4096))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("password", ["looking-glass", "o\N{LATIN SMALL LIGATURE FFI}ce \N{NO-BREAK SPACE}\N{SNOWMAN}"])
def test_scram_with_another_server(mechanism: str, password: str) -> None:
    """SASLprep is skipped, as in Kafka; it would change the second password."""
    client, peer = sasl_client(SaslConfig(mechanism, "ca=ro,l", password), "nonce"), server(mechanism, password)
    peer.set_client_first(client.first().decode())
    final = client.respond(peer.get_server_first().encode())
    assert final is not None
    peer.set_client_final(final.decode())
    assert client.respond(peer.get_server_final().encode()) is None


def started() -> ScramClient:
    client = ScramClient(SaslConfig("SCRAM-SHA-256", "carol", "looking-glass"), "nonce")
    client.first()
    return client


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff",
        b"r=nonceX,s=c2FsdCBvZiBzaXh0ZWVuLg==",
        b"r=nonceX,s=*,i=4096",
        b"r=nonceX,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=many",
        b"r=nonceX,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=4095",
        b"r=nonceX,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=2000000000",
        b"r=otherX,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=4096",
        b"r=nonce,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=4096",
        b"r=nonceX,r=nonceY,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=4096",
    ],
)
def test_a_first_answer_that_is_not_valid_ends_the_login(answer: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match=r"^SCRAM-SHA-256: the broker's answer is not valid: ") as caught:
        started().respond(answer)
    assert "looking-glass" not in str(caught.value)


@pytest.mark.parametrize("answer", [b"v=AAAA", b"e=invalid-proof", b"x=1", b"v=*"])
def test_a_broker_has_to_show_that_it_knows_the_user(answer: bytes) -> None:
    client = started()
    client.respond(b"r=nonceX,s=c2FsdCBvZiBzaXh0ZWVuLg==,i=4096")
    with pytest.raises(AuthenticationFailed):
        client.respond(answer)


def test_a_token_is_one_message() -> None:
    client = sasl_client(SaslConfig("OAUTHBEARER"), "unused", "a.b-_~+/c==")
    assert client.first() == b"n,,\x01auth=Bearer a.b-_~+/c==\x01\x01"
    assert client.respond(b"") is None


def test_the_answer_to_a_refused_token_asks_for_the_end() -> None:
    client = sasl_client(SaslConfig("OAUTHBEARER"), "unused", "a.b.c")
    client.first()
    assert client.respond(b'{"status":"invalid_token"}') == b"\x01"


@pytest.mark.parametrize("token", ["", "a b", "a\x01b", "a.b.c\n", "\u00e4", "a=b", "looking-glass\0"])
def test_what_is_no_token_is_not_sent(token: str) -> None:
    with pytest.raises(AuthenticationFailed, match=r"^OAUTHBEARER: the token is empty, or not one$"):
        sasl_client(SaslConfig("OAUTHBEARER"), "unused", token)


@pytest.mark.parametrize(
    ("iterations", "taken"), [(4095, False), (4096, True), (16_384, True), (16_385, False), (10_000_000, False)]
)
def test_the_work_that_an_answer_may_demand_has_bounds(iterations: int, taken: bool) -> None:
    answer = b"r=nonce2,s=c2FsdA==,i=%d" % iterations
    if taken:
        assert started().respond(answer) is not None
    else:
        with pytest.raises(AuthenticationFailed, match=f"{iterations} iterations; 4096 to 16384 are taken"):
            started().respond(answer)
