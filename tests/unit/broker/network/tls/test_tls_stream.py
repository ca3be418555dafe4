"""TLS between a socket and its connection: failed handshakes, all kinds of ends, and unread answers."""

from __future__ import annotations

import logging
import ssl
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.kafka.certificates import Authority, Signed, why_unavailable
from shareq.broker.network.answers import Reply
from shareq.broker.network.connection_quotas import ConnectionNumbers, ConnectionQuotas
from shareq.broker.network.frames import CloseConnection
from shareq.broker.network.listener import ListenerLimits
from shareq.broker.network.tls.stream import HANDSHAKE_TIMEOUT_MS, SLICE_BYTES, TURN_BYTES, TlsStream
from tests.support.fakes.tls_peer import TlsHost, TlsPeer, trusting_everybody

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))

LARGE = 3 * TURN_BYTES


class Pki:
    def __init__(self, authority: Authority, server: Signed, client: Signed, stranger: Signed) -> None:
        self.authority, self.server, self.client, self.stranger = authority, server, client, stranger
        self.context = authority.server_context(server)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    folder = tmp_path_factory.mktemp("pki")
    authority, other = Authority(folder), Authority(folder, "other")
    return Pki(authority, authority.sign("server", "DNS:localhost"), authority.sign("client"), other.sign("stranger"))


def echo(frame: bytes) -> Reply:
    """Return the frame; the text `large` stands for LARGE bytes, `bad` for a request that closes the connection."""
    if frame == b"bad":
        raise CloseConnection("a bad request")
    body = bytes(LARGE) if frame == b"large" else frame
    return framed(body)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@pytest.fixture
def host(pki: Pki) -> TlsHost:
    return TlsHost(pki.context, echo)


def connected(host: TlsHost, context: ssl.SSLContext | None = None, *, room: int | None = None) -> TlsPeer:
    peer = TlsPeer(host, context, room=room)
    peer.shake_hands()
    return peer


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_requests_and_answers(host: TlsHost, version: ssl.TLSVersion) -> None:
    peer = connected(host, trusting_everybody(minimum_version=version, maximum_version=version))
    for size in (0, 1, 16_384, 16_385, 200_000):
        peer.send(framed(bytes(size)))
        assert peer.read() == framed(bytes(size))
    assert host.listener.bytes_in == sum(4 + size for size in (0, 1, 16_384, 16_385, 200_000))


@settings(max_examples=40, deadline=None)
@given(cuts=st.integers(1, 700), frames=st.lists(st.binary(max_size=50), min_size=1, max_size=8))
def test_however_the_bytes_come(pki: Pki, cuts: int, frames: list[bytes]) -> None:
    frames = [frame for frame in frames if frame not in (b"large", b"bad")]
    peer = connected(TlsHost(pki.context, echo))
    peer.send(b"".join(map(framed, frames)) or framed(b""), at_a_time=cuts)
    assert peer.read() == (b"".join(map(framed, frames)) or framed(b""))


def test_a_handshake_byte_by_byte(host: TlsHost) -> None:
    peer = TlsPeer(host)
    for _ in range(4):
        try:
            peer.tls.do_handshake()
        except ssl.SSLWantReadError:
            for byte in peer._outgoing.read():
                peer.stream.data_received(bytes([byte]))
            peer._incoming.write(peer.socket.take())
        else:
            break
    peer.send(framed(b"x"), at_a_time=1)
    assert peer.read() == framed(b"x")


def one_line(caplog: pytest.LogCaptureFixture) -> str:
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    return record.getMessage()


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff",  # ApiVersions of a client without TLS
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(64),
        b"\xff" * 5000,
    ],
)
def test_a_client_without_tls_is_one_line_in_the_log(
    host: TlsHost, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    peer = TlsPeer(host)
    peer.stream.data_received(data)
    assert peer.socket.closed
    assert one_line(caplog) == (
        "connection 1 from 10.0.0.1 on SECURE: closing: TLS handshake failed: it does not speak TLS; is it a client "
        "with security.protocol=PLAINTEXT or SASL_PLAINTEXT?"
    )
    assert (host.authentications.failed, host.authentications.succeeded) == (1, 0)
    peer.stream.data_received(data)  # the exchange in progress
    peer.stream.connection_lost(None)
    assert len(host.listener) == 0
    assert host.clock.next_timer_ms() is None


@pytest.mark.parametrize("rest", [b"\x03\x01\x00\x05hello", b"\x03\x03\x40\x00" + bytes(0x4000), b"\xff" * 100])
def test_garbage_that_begins_like_a_handshake(host: TlsHost, rest: bytes, caplog: pytest.LogCaptureFixture) -> None:
    peer = TlsPeer(host)
    peer.stream.data_received(b"\x16" + rest)
    assert peer.socket.closed
    assert "on SECURE: closing: TLS handshake failed: " in one_line(caplog)
    assert host.authentications.failed == 1


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=1, max_size=400))
def test_nothing_that_comes_raises(pki: Pki, data: bytes) -> None:
    for start in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03"):
        host = TlsHost(pki.context, echo)
        peer = TlsPeer(host)
        peer.stream.data_received(start + data)
        peer.stream.connection_lost(None)
        assert host.clock.next_timer_ms() is None


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=1, max_size=400))
def test_garbage_behind_the_handshake_ends_the_connection_or_waits(pki: Pki, data: bytes) -> None:
    host = TlsHost(pki.context, echo)
    peer = connected(host)
    peer.stream.data_received(data)
    assert host.listener.bytes_in == 0, "nothing was taken for a request"
    if peer.socket.closed:
        with pytest.raises(ssl.SSLError, match="ALERT"):
            peer.read()


def test_a_client_that_does_not_go_on_is_let_go(host: TlsHost, caplog: pytest.LogCaptureFixture) -> None:
    silent, slow, good = TlsPeer(host), TlsPeer(host), connected(host)
    with pytest.raises(ssl.SSLWantReadError):
        slow.tls.do_handshake()
    hello = slow._outgoing.read()
    slow.stream.data_received(hello[:20])
    host.clock.advance(HANDSHAKE_TIMEOUT_MS - 1)
    slow.stream.data_received(hello[20:21])
    assert not silent.socket.closed
    assert not slow.socket.closed
    host.clock.advance(2)
    assert silent.socket.closed
    assert slow.socket.closed
    assert not good.socket.closed
    lines = [each.getMessage() for each in caplog.records]
    assert len(lines) == 2
    assert all(line.endswith("TLS handshake failed: no handshake within 10000 ms") for line in lines)


def test_limits_hold_before_the_handshake(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    quotas = ConnectionQuotas()
    quotas.configure(ConnectionNumbers(max_per_ip=1))
    host = TlsHost(pki.context, echo, quotas=quotas)
    first, second = TlsPeer(host), TlsPeer(host)
    assert second.socket.aborted
    assert "max.connections.per.ip=1" in one_line(caplog)
    second.stream.connection_lost(None)
    first.shake_hands()
    first.send(framed(b"x"))
    assert first.read() == framed(b"x")
    assert (host.listener.accepted, host.listener.refused) == (1, 1)


def test_the_alert_of_a_client_is_in_the_log(host: TlsHost, caplog: pytest.LogCaptureFixture) -> None:
    peer = TlsPeer(host, ssl.create_default_context())
    with pytest.raises(ssl.SSLCertVerificationError):
        peer.shake_hands()
    peer.exchange()
    assert one_line(caplog).endswith("TLS handshake failed: tlsv1 alert unknown ca")


@pytest.fixture
def asking(pki: Pki) -> Callable[[ssl.VerifyMode], TlsHost]:
    def host(mode: ssl.VerifyMode) -> TlsHost:
        context = pki.authority.server_context(pki.server)
        context.verify_mode = mode
        context.load_verify_locations(pki.authority.certificate)
        return TlsHost(context, echo, lambda shown: "User:nobody" if shown is None else f"User:{len(shown)}")

    return host


Asking = Callable[[ssl.VerifyMode], TlsHost]


def showing(signed: Signed) -> ssl.SSLContext:
    context = trusting_everybody()
    context.load_cert_chain(signed.certificate, signed.key)
    return context


@pytest.mark.parametrize("mode", [ssl.CERT_OPTIONAL, ssl.CERT_REQUIRED])
def test_a_certificate_gives_the_principal(pki: Pki, asking: Asking, mode: ssl.VerifyMode) -> None:
    host = asking(mode)
    peer = connected(host, showing(pki.client))
    peer.send(framed(b"x"))
    assert peer.read() == framed(b"x")
    shown = ssl.PEM_cert_to_DER_cert(pki.client.certificate.read_text())
    assert host.connections[0].principal == f"User:{len(shown)}"
    assert host.authentications.succeeded == 1


def test_without_one_where_it_is_only_requested(asking: Asking) -> None:
    host = asking(ssl.CERT_OPTIONAL)
    connected(host)
    assert host.connections[0].principal == "User:nobody"


def test_a_wrong_certificate_is_refused_with_its_reason(
    pki: Pki, asking: Asking, caplog: pytest.LogCaptureFixture
) -> None:
    host = asking(ssl.CERT_OPTIONAL)
    peer = connected(host, showing(pki.stranger))
    with pytest.raises(ssl.SSLError, match="ALERT_UNKNOWN_CA"):
        peer.read()
    reason = one_line(caplog).partition("TLS handshake failed: ")[2]
    assert reason == "certificate verify failed: unable to get local issuer certificate"
    assert host.connections[0].principal == "User:ANONYMOUS"
    assert host.authentications.failed == 1


def test_a_missing_certificate_is_refused(asking: Asking, caplog: pytest.LogCaptureFixture) -> None:
    peer = connected(asking(ssl.CERT_REQUIRED))
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
        peer.read()
    assert one_line(caplog).endswith("TLS handshake failed: peer did not return a certificate")


def test_a_certificate_that_no_rule_is_for(pki: Pki, caplog: pytest.LogCaptureFixture) -> None:
    def principal_of(_: bytes | None) -> str:
        raise ValueError("no rule is for it")

    host = TlsHost(pki.context, echo, principal_of)
    peer = connected(host)
    assert peer.socket.closed
    assert one_line(caplog).endswith("TLS handshake failed: no rule is for it")
    assert (host.authentications.failed, host.authentications.succeeded) == (1, 0)


def test_close_notify_is_answered_and_answers_go_first(host: TlsHost) -> None:
    peer = connected(host)
    peer.send(framed(b"x"))
    peer.say_goodbye()
    assert peer.socket.closed
    peer = connected(host)
    peer.tls.write(framed(b"last"))
    peer.say_goodbye()  # in one piece with the request
    assert peer.socket.closed
    with pytest.raises(ssl.SSLError, match="APPLICATION_DATA_AFTER_CLOSE_NOTIFY"):  # to OpenSSL, the answer is too late
        peer.tls.unwrap()


def test_a_client_that_sends_no_more_gets_what_was_answered(host: TlsHost) -> None:
    """The answer is sent after TCP's half-close without close_notify."""
    peer = connected(host, room=SLICE_BYTES)
    peer.send(framed(b"large"))
    peer.stream.eof_received()
    got = bytearray()
    for _ in range(1000):
        host.clock.run_until_idle()
        got += peer.read()
        if peer.socket.closed and not peer.socket.sent:
            break
    assert len(got) == 4 + LARGE
    assert peer.ended()


def test_a_bad_request_closes_with_close_notify(host: TlsHost) -> None:
    peer = connected(host)
    peer.send(framed(b"one") + framed(b"bad"))
    assert peer.read() == framed(b"one")
    assert peer.ended()
    assert peer.socket.closed


def test_an_answer_is_encrypted_as_far_as_the_client_takes_it(host: TlsHost) -> None:
    peer = connected(host, room=SLICE_BYTES)
    peer.send(framed(b"large"))
    assert LARGE <= host.budget.held <= LARGE + SLICE_BYTES, "all of it counts"
    assert len(peer.socket.sent) < 3 * SLICE_BYTES, "and little of it is encrypted"
    peer.send(framed(b"next"))
    host.clock.run_until_idle()
    assert host.connections[0].buffered_input == 8, "nothing more is handled meanwhile"
    got = bytearray()
    while len(got) < 4 + LARGE + 8:
        host.clock.run_until_idle()
        more = peer.read()
        assert more
        got += more
    assert got[-8:] == framed(b"next")
    assert host.budget.held == 0


def test_a_large_answer_leaves_turns_to_others(host: TlsHost) -> None:
    """The answer is written in turns even if the socket would accept all of it at once."""
    peer = connected(host)
    before = len(peer.socket.sent)
    peer.send(framed(b"large"))
    first = len(peer.socket.sent) - before
    assert TURN_BYTES <= first < TURN_BYTES + 2 * SLICE_BYTES
    host.clock.run_tick()
    assert len(peer.socket.sent) - before < 2 * TURN_BYTES + 4 * SLICE_BYTES
    host.clock.run_until_idle()
    assert len(peer.read()) == 4 + LARGE


def test_an_end_while_an_answer_waits(host: TlsHost) -> None:
    peer = connected(host, room=SLICE_BYTES)
    peer.send(framed(b"large"))
    peer.stream.connection_lost(ConnectionResetError())
    host.clock.run_until_idle()
    assert host.budget.held == 0
    assert len(host.listener) == 0


def test_an_idle_connection_that_does_not_read_is_cut_off(pki: Pki) -> None:
    host = TlsHost(pki.context, echo, limits=ListenerLimits(max_idle_ms=1000))
    peer = connected(host, room=SLICE_BYTES)
    peer.send(framed(b"large"))
    host.clock.advance(1000)
    host.listener.close_idle()
    host.listener.close_idle()
    assert peer.socket.aborted


def test_a_new_context_is_for_new_connections(pki: Pki, host: TlsHost) -> None:
    peer = connected(host)
    host.port.context = pki.authority.server_context(pki.client)
    again = connected(host)
    for each, signed in ((peer, pki.server), (again, pki.client)):
        each.send(framed(b"x"))
        assert each.read() == framed(b"x")
        shown = each.tls.getpeercert(binary_form=True)
        assert shown == ssl.PEM_cert_to_DER_cert(signed.certificate.read_text())


def test_reading_stops_below_when_it_stops_above(host: TlsHost) -> None:
    peer = connected(host)
    assert isinstance(peer.stream, TlsStream)
    peer.stream.pause_reading()
    assert not peer.socket.reading
    peer.stream.resume_reading()
    assert peer.socket.reading
