"""Authentication over frames: SaslHandshake and SaslAuthenticate in every version, and what closes the connection.

KIP-43, KIP-152, KIP-368.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.metadata.changes import PutScram
from shareq.broker.security.credentials import CredentialKey
from shareq.broker.security.invented_credentials import InventedCredentials
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, PlainExchange, ScramExchange
from shareq.broker.security.scram_keys import credential_from_password
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.support.clients.sasl import SALT, SaslClient, SaslWorld, sasl_properties

SECRETS = ("wonderland", "builder", "looking-glass", "hunter2")


def knows(client: SaslClient, principal: str) -> bool:
    answer = client.connection.call(MetadataRequest(None), 12, MetadataResponse)
    return bool(answer.brokers) and client.connection.side.principal == principal


def closed(client: SaslClient) -> bool:
    client.world.clock.run_until_idle()
    return client.connection.closed


@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain(version: int) -> None:
    client = SaslWorld().stranger()
    answer = client.plain(version=version)
    assert (answer.error_code, bytes(answer.auth_bytes), answer.session_lifetime_ms) == (0, b"", 0)
    assert knows(client, "User:alice")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(mechanism: str) -> None:
    client = SaslWorld().stranger()
    assert client.scram(mechanism).error_code == ErrorCode.NONE
    assert knows(client, "User:carol")


@pytest.mark.parametrize("salt", [b"", b"s", b"salt of 11."])
def test_scram_with_a_short_salt(salt: bytes) -> None:
    """Administrators may set any salt, as in Apache Kafka: a short one weakens only that user."""
    world = SaslWorld()
    key = CredentialKey("dave", "SCRAM-SHA-256")
    world.services.metadata.alter_credentials(
        [PutScram(key, credential_from_password(key.mechanism, "looking-glass", salt, 4096))]
    )
    assert by_hand(world.stranger(), "dave", "hunter2", salt).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    client = world.stranger()
    assert by_hand(client, "dave", "looking-glass", salt).error_code == ErrorCode.NONE
    assert knows(client, "User:dave")


def by_hand(client: SaslClient, user: str, password: str, salt: bytes) -> SaslAuthenticateResponse:
    """Log in with SCRAM-SHA-256 by RFC 5802, without a library's bounds; return the last answer."""
    client.handshake("SCRAM-SHA-256")
    first = f"n={user},r=mine"
    reported = bytes(client.token(f"n,,{first}".encode()).auth_bytes).decode()
    nonce, reported_salt, iterations = (part[2:] for part in reported.split(","))
    assert b64decode(reported_salt) == salt
    final = f"c=biws,r={nonce}"
    client_key = hmac.digest(
        hashlib.pbkdf2_hmac("sha256", password.encode(), salt, int(iterations)), b"Client Key", "sha256"
    )
    signature = hmac.digest(hashlib.sha256(client_key).digest(), f"{first},{reported},{final}".encode(), "sha256")
    proof = bytes(ours ^ theirs for ours, theirs in zip(client_key, signature, strict=True))
    return client.token(f"{final},p={b64encode(proof).decode()}".encode())


def test_api_versions_may_come_once_before() -> None:
    client = SaslWorld().stranger()
    first = client.connection.call(ApiVersionsRequest("c", "1"), 4, ApiVersionsResponse)
    assert {17, 36} <= {each.api_key for each in first.api_keys}
    assert client.plain().error_code == ErrorCode.NONE
    assert client.connection.call(ApiVersionsRequest("c", "1"), 4, ApiVersionsResponse).error_code == ErrorCode.NONE


@pytest.mark.parametrize("stage", ["start", "versions", "handshake"])
def test_anything_else_before_authentication_closes_the_connection(stage: str) -> None:
    client = SaslWorld().stranger()
    if stage == "versions":
        client.connection.call(ApiVersionsRequest("c", "1"), 4, ApiVersionsResponse)
    if stage == "handshake":
        client.handshake("PLAIN")
    client.connection.send(MetadataRequest(None), 12)
    assert closed(client)
    assert not client.connection.frames


def test_a_token_without_a_handshake_closes_the_connection() -> None:
    client = SaslWorld().stranger()
    client.connection.send(SaslAuthenticateRequest(b"\0alice\0wonderland"), 2)
    assert closed(client)
    assert not client.connection.frames


def test_a_mechanism_that_is_not_enabled_is_answered_with_those_that_are() -> None:
    client = SaslWorld().stranger()
    answer = client.handshake("OAUTHBEARER")
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert closed(client)


@pytest.mark.parametrize(
    ("user", "password"), [("alice", "hunter2"), ("nobody", "hunter2"), ("alice", "builder"), ("", "x"), ("alice", "")]
)
def test_a_wrong_password_is_reported_neutrally_and_closes_the_connection(
    user: str, password: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client = SaslWorld().stranger()
        answer = client.plain(user, password)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message is not None
    assert not any(secret in answer.error_message + caplog.text for secret in SECRETS)
    assert "alice" not in answer.error_message
    assert "nobody" not in answer.error_message
    assert closed(client)
    (line,) = (each for each in caplog.messages if "authentication failed" in each)
    assert line.startswith("connection 1 from 127.0.0.1 on ")
    assert line.endswith(f"(mechanism PLAIN, user {user!r})")


def test_a_wrong_scram_password_is_logged_with_the_users_name(caplog: pytest.LogCaptureFixture) -> None:
    client = SaslWorld().stranger()
    with caplog.at_level(logging.DEBUG):
        answer = client.scram("SCRAM-SHA-256", password="hunter2")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert closed(client)
    assert "hunter2" not in caplog.text
    assert "(mechanism SCRAM-SHA-256, user 'carol')" in caplog.text


def test_a_long_name_is_cut_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    client = SaslWorld().stranger()
    client.plain("x" * 10_000, "hunter2")
    assert closed(client)
    assert f"user '{'x' * 200}')" in caplog.text


def test_nobody_learns_which_users_of_plain_there_are() -> None:
    world = SaslWorld()
    answers = {world.stranger().plain(user, "hunter2").error_message for user in ("alice", "nobody")}
    assert answers == {"Authentication failed: Invalid username or password"}


@pytest.mark.parametrize(("user", "password"), [("carol", "hunter2"), ("nobody", "hunter2")])
def test_scram_fails_with_the_last_token_for_every_user(user: str, password: str) -> None:
    """Every login fails late; Apache Kafka 4.3.1 fails at once for a missing user, which reveals who exists."""
    client = SaslWorld().stranger()
    client.handshake("SCRAM-SHA-256")
    scram = ScramClient(["SCRAM-SHA-256"], user, password)
    first = client.token(scram.get_client_first().encode())
    assert first.error_code == ErrorCode.NONE
    scram.set_server_first(bytes(first.auth_bytes).decode())
    final = client.token(scram.get_client_final().encode())
    assert final.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert final.error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )
    assert closed(client)


def test_tokens_of_handshake_0_are_raw() -> None:
    """KIP-43: each token and each answer follows its size, without a header."""
    client = SaslWorld().stranger()
    assert client.handshake("PLAIN", version=0).error_code == ErrorCode.NONE
    client.connection.send_raw(frame(b"\0bob\0builder"))
    client.world.clock.run_until_idle()
    assert client.connection.frames.popleft() == b""
    assert knows(client, "User:bob")


def test_raw_tokens_of_scram() -> None:
    client = SaslWorld().stranger()
    client.handshake("SCRAM-SHA-512", version=0)
    scram = ScramClient(["SCRAM-SHA-512"], "carol", "looking-glass")
    for give, take in (
        (scram.get_client_first, scram.set_server_first),
        (scram.get_client_final, scram.set_server_final),
    ):
        client.connection.send_raw(frame(give().encode()))
        client.world.clock.run_until_idle()
        take(client.connection.frames.popleft().decode())
    assert knows(client, "User:carol")


def test_nobody_authenticates_where_nobody_has_to() -> None:
    client = BrokerWorld().connect()
    handshake = client.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
    assert (handshake.error_code, handshake.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    answer = client.call(SaslAuthenticateRequest(b""), 2, SaslAuthenticateResponse)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"
    assert not client.closed


def test_a_handshake_returns_all_mechanisms() -> None:
    answer = SaslWorld().stranger().handshake("PLAIN")
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.NONE, ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])


def test_nor_a_second_time_without_an_end_of_the_session() -> None:
    client = SaslWorld().stranger()
    client.plain()
    assert client.handshake("PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.token(b"").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert knows(client, "User:alice")


def reauthenticating() -> SaslWorld:
    return SaslWorld({**sasl_properties(), "connections.max.reauth.ms": "60000"})


def test_a_wrong_password_while_authenticating_again_is_logged_as_such() -> None:
    world = reauthenticating()
    client = world.stranger()
    client.scram()
    answer = client.scram(password="hunter2")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == (
        "Authentication failed during re-authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )


def test_while_authenticating_again_nothing_else_may_come() -> None:
    client = reauthenticating().stranger()
    client.plain()
    client.handshake("PLAIN")
    client.connection.send(MetadataRequest(None), 12)
    assert closed(client)


def test_no_connection_becomes_another_principal() -> None:
    client = reauthenticating().stranger()
    client.plain()
    answer = client.plain("bob", "builder")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert closed(client)


def test_a_password_that_was_changed_is_asked_for_from_then_on() -> None:
    world = SaslWorld()
    key = CredentialKey("carol", "SCRAM-SHA-256")
    world.services.metadata.alter_credentials(
        [PutScram(key, credential_from_password(key.mechanism, "hunter2", SALT, 8192))]
    )
    assert world.stranger().scram().error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert world.stranger().scram(password="hunter2").error_code == ErrorCode.NONE
    world.services.metadata.alter_credentials([PutScram(key, None)])
    assert world.stranger().scram(password="hunter2").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert world.stranger().scram("SCRAM-SHA-512").error_code == ErrorCode.NONE


def test_credentials_survive_a_restart() -> None:
    world = SaslWorld()
    world.restart()
    assert world.stranger().scram().error_code == ErrorCode.NONE


@given(st.binary(max_size=60))
def test_no_token_breaks_plain(token: bytes) -> None:
    exchange = PlainExchange({"alice": "wonderland"})
    if token in (b"\0alice\0wonderland", b"alice\0alice\0wonderland"):
        assert exchange.respond(token) == b""
        return
    with pytest.raises(AuthenticationFailed) as failure:
        exchange.respond(token)
    assert "wonderland" not in str(failure.value)


@given(st.lists(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), min_size=1, max_size=3))
def test_no_token_breaks_scram(tokens: list[bytes]) -> None:
    invented = InventedCredentials(b"s")
    exchange = ScramExchange("SCRAM-SHA-256", lambda user: invented.of("SCRAM-SHA-256", user), "nonce")
    failures = 0
    for token in [*tokens, b"", b"", b""]:
        try:
            exchange.respond(token)
        except AuthenticationFailed:
            failures += 1
    assert failures >= 3
    assert exchange.user is None


def test_a_client_that_retries_a_refused_login_has_ten_lines_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    world = SaslWorld()
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            assert world.stranger().plain(password="wrong").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        lines = [each for each in caplog.messages if "user 'alice'" in each]
        assert world.stranger().plain("bob", "wrong").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert [each for each in caplog.messages if "user 'bob'" in each] != []
        world.clock.advance(60_000)
    assert len(lines) == 10
    assert caplog.messages[-1].endswith("user 'alice') (90 such lines were left out, this is the last)")
