"""The gate before a connection's handler, without a broker: requests that pass, failures, nonces and expiry."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.network.answers import Buffer, Reply
from shareq.broker.network.connection import Connection
from shareq.broker.network.request_limits import RequestLimits
from shareq.broker.network.sasl_gate import SaslGate, SaslGates
from shareq.broker.security.credentials import ScramCredential
from shareq.broker.security.listener_security import OAUTHBEARER, SASL_PLAINTEXT, ListenerSecurity
from shareq.broker.security.oauth.claims import Bearer, TokenRefused
from shareq.broker.security.oauth.exchange import OauthExchange
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, Exchange
from shareq.broker.security.scram_keys import credential_from_password
from shareq.protocol.framing import frame
from tests.support.clients.tokens import first_message

API_VERSIONS, METADATA, HANDSHAKE, AUTHENTICATE = 18, 3, 17, 36
SHA = "SCRAM-SHA-256"
GOOD, BAD = b"\0alice\0wonderland", b"\0alice\0hunter2"


class Socket:
    def __init__(self) -> None:
        self.written = b""
        self.closed = False

    def write(self, buffers: list[Buffer]) -> None:
        self.written += b"".join(bytes(each) for each in buffers)

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Rig:
    """One connection behind a gate. `handled`: the API keys that passed. The handler answers with `answer`."""

    def __init__(self, *, reauth_ms: int = 0, delay_ms: int = 100, max_receive_bytes: int = 1_000) -> None:
        self.clock = VirtualClock()
        self.handled: list[int] = []
        self.answer: Callable[[], Reply] = lambda: frame(bytes(4) + b"\0\0")
        self.asked: list[tuple[str, str]] = []
        self.secrets: list[int] = []
        security = ListenerSecurity(
            SASL_PLAINTEXT,
            ("PLAIN", SHA, OAUTHBEARER),
            {"alice": "wonderland"},
            {"PLAIN": reauth_ms, OAUTHBEARER: reauth_ms},
            max_receive_bytes,
            delay_ms,
        )
        self.gates = SaslGates(security, self.clock, self._credential, self._secret, begin_oauth=self._oauth)
        self.socket = Socket()
        self.connection = Connection(
            1,
            "127.0.0.1",
            "SASL",
            handler_for=lambda _connection: self._handle,
            call_soon=self.clock.call_soon,
            outlet=self.socket,
            limits=RequestLimits(),
        )
        self.gates.guard(self.connection)
        assert isinstance(self.connection.gate, SaslGate)
        self.gate = self.connection.gate

    def _handle(self, data: bytes) -> Reply:
        self.handled.append(int.from_bytes(data[:2], "big"))
        return self.answer()

    def _credential(self, mechanism: str, user: str) -> ScramCredential:
        self.asked.append((mechanism, user))
        return credential_from_password(mechanism, "looking-glass", b"salt", 4096)

    def _oauth(self, again: bool) -> Exchange:
        return OauthExchange(self._bearer, again=again)

    def _bearer(self, token: str) -> Bearer:
        """Read a token of the form USER.SECONDS, which expires after SECONDS."""
        user, _, left_s = token.partition(".")
        if user == "eve":
            raise TokenRefused("it has expired; its sub is 'eve'")
        return Bearer(user, int(left_s) * 1000)

    def _secret(self, count: int) -> bytes:
        self.secrets.append(count)
        return bytes(range(count))

    def send(self, api_key: int) -> bool:
        return self.receive(struct.pack(">hhi", api_key, 0, 1))

    def receive(self, data: bytes) -> bool:
        self.connection.receive(frame(data))
        self.clock.run_until_idle()
        return not self.socket.closed

    def authenticate(self) -> None:
        assert self.gate.handshake("PLAIN", raw=False)
        self.gate.token(GOOD)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_before_authentication_only_what_leads_there_passes(rig: Rig) -> None:
    assert rig.send(API_VERSIONS)
    assert rig.send(HANDSHAKE)
    assert rig.handled == [API_VERSIONS, HANDSHAKE]
    assert not rig.send(METADATA)
    assert rig.handled == [API_VERSIONS, HANDSHAKE]


def test_api_versions_comes_once_if_it_was_answered_well(rig: Rig) -> None:
    rig.answer = lambda: frame(bytes(4) + b"\0\x23")
    assert rig.send(API_VERSIONS)
    rig.answer = lambda: None
    assert rig.send(API_VERSIONS)
    rig.answer = lambda: bytearray(frame(bytes(4) + b"\0\0"))
    assert rig.send(API_VERSIONS)
    assert not rig.send(API_VERSIONS)
    assert rig.handled == [API_VERSIONS] * 3


def test_a_frame_without_a_header_closes() -> None:
    assert not Rig().receive(b"\0")
    assert Rig().receive(struct.pack(">h", API_VERSIONS))


def test_larger_requests_have_to_wait_for_authentication() -> None:
    rig = Rig(max_receive_bytes=50)
    assert rig.receive(struct.pack(">h", API_VERSIONS) + bytes(48))
    assert not rig.receive(struct.pack(">h", HANDSHAKE) + bytes(49))
    rig = Rig(max_receive_bytes=50)
    rig.authenticate()
    assert rig.receive(struct.pack(">h", METADATA) + bytes(4_000))


def test_a_client_that_is_authenticated_for_ever_has_no_gate_any_more(rig: Rig) -> None:
    assert (rig.gate.mechanisms, rig.gate.expects_token) == (("PLAIN", SHA, OAUTHBEARER), False)
    assert rig.gate.handshake("PLAIN", raw=False)
    assert rig.gate.expects_token
    assert rig.gate.token(GOOD).lifetime_ms == 0
    assert (rig.connection.principal, rig.connection.gate) == ("User:alice", None)
    assert rig.send(METADATA)
    assert rig.handled == [METADATA]


def test_a_session_that_ends_is_watched() -> None:
    rig = Rig(reauth_ms=5_000)
    assert rig.gate.handshake("PLAIN", raw=False)
    assert rig.gate.token(GOOD).lifetime_ms == 5_000
    assert (rig.connection.principal, rig.connection.gate) == ("User:alice", rig.gate)
    rig.clock.advance(5_000)
    assert rig.send(METADATA)
    rig.clock.advance(1)
    assert not rig.send(METADATA)
    assert rig.handled == [METADATA]


def test_authenticating_again_goes_by_the_time_of_the_handshake() -> None:
    rig = Rig(reauth_ms=5_000)
    rig.authenticate()
    rig.clock.advance(4_000)
    rig.authenticate()
    rig.clock.advance(999)
    assert not rig.gate.handshake("PLAIN", raw=False)
    rig.clock.advance(1)
    assert rig.gate.handshake("PLAIN", raw=False)


def test_a_token_that_is_wrong_closes_behind_its_answer(rig: Rig) -> None:
    rig.gate.handshake("PLAIN", raw=False)
    with pytest.raises(AuthenticationFailed):
        rig.gate.token(BAD)
    assert (rig.connection.principal, rig.connection.gate) == ("User:ANONYMOUS", rig.gate)
    assert rig.socket.closed


@pytest.mark.parametrize("delay_ms", [0, 100])
def test_failures_take_their_time(delay_ms: int) -> None:
    rig = Rig(delay_ms=delay_ms)
    answer = rig.gate.after_failure("no")
    if delay_ms:
        rig.clock.advance(delay_ms - 1)
        assert not answer.done
        rig.clock.advance(1)
    assert answer.value == "no"


def test_a_client_that_goes_away_is_not_answered_later(rig: Rig) -> None:
    answer = rig.gate.after_failure("no")
    rig.connection.lost()
    rig.clock.advance(1_000)
    assert not answer.done
    assert rig.clock.next_timer_ms() is None


def test_raw_tokens_have_their_size_in_front_and_no_header(rig: Rig) -> None:
    rig.gate.handshake("PLAIN", raw=True)
    assert rig.receive(GOOD)
    assert rig.socket.written == struct.pack(">i", 0)
    assert (rig.handled, rig.connection.principal) == ([], "User:alice")


def test_a_raw_token_that_is_wrong_is_not_answered(rig: Rig) -> None:
    rig.gate.handshake("PLAIN", raw=True)
    rig.receive(BAD)
    assert not rig.socket.closed
    rig.clock.advance(100)
    assert (rig.socket.written, rig.socket.closed) == (b"", True)


def test_what_comes_behind_a_raw_token_that_is_wrong_is_not_looked_at(rig: Rig) -> None:
    rig.gate.handshake("PLAIN", raw=True)
    rig.connection.receive(frame(BAD) + frame(GOOD) + frame(struct.pack(">hhi", METADATA, 0, 1)))
    rig.clock.advance(100)
    assert (rig.handled, rig.connection.principal, rig.socket.written) == ([], "User:ANONYMOUS", b"")
    assert rig.asked == []


def test_tokens_in_requests_go_to_their_handler(rig: Rig) -> None:
    rig.gate.handshake("PLAIN", raw=False)
    assert rig.send(AUTHENTICATE)
    assert rig.handled == [AUTHENTICATE]
    assert not rig.send(METADATA)


def test_scram_asks_for_the_users_credential_with_a_nonce_of_secret_bytes(rig: Rig) -> None:
    assert rig.gates.new_nonce() == bytes(range(24)).hex()
    rig.gate.handshake(SHA, raw=False)
    challenge = rig.gate.token(b"n,,n=carol,r=mine").token.decode()
    assert challenge.startswith(f"r=mine{bytes(range(24)).hex()},s=")
    assert (rig.asked, rig.secrets) == ([(SHA, "carol")], [24, 24])


def test_a_token_is_refused_in_two_steps_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(delay_ms=0)
    assert rig.gate.handshake(OAUTHBEARER, raw=False)
    assert rig.gate.token(first_message("eve.100")).token == b'{"status":"invalid_token"}'
    assert (rig.gates.authentications.failed, rig.gates.authentications.succeeded) == (1, 0)
    assert rig.connection.principal == "User:ANONYMOUS"
    with pytest.raises(AuthenticationFailed, match="invalid_token"):
        rig.gate.token(b"\x01")
    assert rig.gates.authentications.failed == 1
    assert rig.connection.finishing
    assert [each.getMessage() for each in caplog.records] == [
        "connection 1 from 127.0.0.1 on SASL: authentication failed: OAUTHBEARER: the token is refused: it has "
        "expired; its sub is 'eve'"
    ]
    assert "eve.100" not in caplog.text


def test_a_client_that_leaves_behind_a_refused_token_is_counted_all_the_same(rig: Rig) -> None:
    rig.gate.handshake(OAUTHBEARER, raw=False)
    rig.gate.token(first_message("eve.100"))
    rig.connection.lost()
    assert rig.gates.authentications.failed == 1


@pytest.mark.parametrize("request_key", [METADATA, API_VERSIONS, HANDSHAKE])
def test_a_refused_token_opens_nothing(request_key: int, rig: Rig) -> None:
    rig.gate.handshake(OAUTHBEARER, raw=False)
    rig.gate.token(first_message("eve.100"))
    assert not rig.send(request_key)
    assert rig.handled == []


def test_a_session_ends_with_its_token(rig: Rig) -> None:
    rig.gate.handshake(OAUTHBEARER, raw=False)
    answer = rig.gate.token(first_message("alice.100"))
    assert (answer.lifetime_ms, rig.connection.principal) == (100_000, "User:alice")
    rig.clock.advance(100_000)
    assert rig.send(METADATA)
    rig.clock.advance(1)
    assert not rig.send(METADATA)


@pytest.mark.parametrize(("left_s", "lifetime_ms"), [(100, 60_000), (50, 50_000)])
def test_a_session_ends_with_the_sooner_of_both(left_s: int, lifetime_ms: int) -> None:
    rig = Rig(reauth_ms=60_000)
    rig.gate.handshake(OAUTHBEARER, raw=False)
    assert rig.gate.token(first_message(f"alice.{left_s}")).lifetime_ms == lifetime_ms


def test_a_new_token_makes_the_session_longer(rig: Rig) -> None:
    rig.gate.handshake(OAUTHBEARER, raw=False)
    rig.gate.token(first_message("alice.100"))
    rig.clock.advance(99_000)
    assert rig.gate.handshake(OAUTHBEARER, raw=False)
    assert rig.gate.token(first_message("alice.100")).lifetime_ms == 100_000
    rig.clock.advance(99_000)
    assert rig.send(METADATA)


@pytest.mark.parametrize("token", ["bob.100", "eve.100"])
def test_a_new_token_of_another_user_or_a_wrong_one_ends_it(token: str) -> None:
    rig = Rig(delay_ms=0)
    rig.gate.handshake(OAUTHBEARER, raw=False)
    rig.gate.token(first_message("alice.100"))
    assert rig.gate.handshake(OAUTHBEARER, raw=False)
    with contextlib.suppress(AuthenticationFailed):
        rig.gate.token(first_message(token))
        rig.gate.token(b"\x01")
    assert rig.connection.finishing
    assert rig.gates.authentications.failed == 1
