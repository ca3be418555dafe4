"""`shareq check`: whether a broker answers, as an exit code and one line."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from shareq.broker.process.health import UnhealthyError, check
from shareq.protocol.errors import ErrorCode
from shareq.protocol.framing import frame
from shareq.protocol.generated.api_versions import ApiVersionsResponse
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.support.clients.sasl import sasl_properties
from tests.support.processes import finished

PATIENT_S = 30.0


def run_check(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "shareq", "check", *arguments]
    done = finished(command, env=child_environment(), timeout_s=60)
    return done.returncode, done.stdout, done.stderr


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """Run a server that accepts one connection, waits for a request and then calls `answer`."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(1024)
            answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()
        thread.join(PATIENT_S)


def response(error_code: int = 0, *, correlation_id: int = 1) -> bytes:
    out = bytearray(correlation_id.to_bytes(4, "big"))
    ApiVersionsResponse(error_code=error_code).encode_into(out, 0)
    return frame(bytes(out))


def test_a_running_broker_is_healthy_and_a_stopped_one_is_one_line_and_code_1() -> None:
    with Broker(mode="thread") as broker:
        bootstrap = broker.bootstrap
        assert run_check(bootstrap) == (0, "", "")
        assert run_check(f":{broker.port}", "--timeout", "30") == (0, "", "")
    assert run_check(bootstrap) == (1, "", f"shareq: {bootstrap}: Connection refused\n")


def test_a_listener_with_authentication_answers_before_it() -> None:
    """KIP-152: ApiVersions is served without authentication."""
    with Broker(config=sasl_properties(), mode="thread") as broker:
        check(*broker.address, PATIENT_S)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["9092"], "HOST:PORT"),
        (["127.0.0.1:9092", "--timeout", "0"], "--timeout 0"),
        (["127.0.0.1:9092", "--timeout", "nan"], "--timeout nan"),
    ],
)
def test_wrong_options_are_one_line_and_code_2(arguments: list[str], text: str) -> None:
    code, _, stderr = run_check(*arguments)
    assert (code, len(stderr.splitlines())) == (2, 1)
    assert text in stderr


def test_an_answer_in_pieces_is_put_together() -> None:
    def in_pieces(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in response():
            connection.sendall(bytes([byte]))

    with answering(in_pieces) as address:
        check(*address, PATIENT_S)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", "closed without an answer"),
        (response()[:5], "closed without an answer"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no Kafka broker"),
        (frame(b"\0\0\0\1\0"), "no Kafka broker"),
        (response(correlation_id=2), "no Kafka broker"),
        (response(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), "answered with error 31"),
        (response(12_345), "answered with error 12345"),
    ],
)
def test_a_server_that_does_not_answer_as_a_broker_is_unhealthy(answer: bytes, text: str) -> None:
    with answering(lambda connection: connection.sendall(answer)) as address, pytest.raises(UnhealthyError, match=text):
        check(*address, PATIENT_S)


def test_silence_ends_at_the_timeout() -> None:
    """The port is one that the system accepts connections on but no program serves, like a hanging broker."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(UnhealthyError, match=r"no answer within 0\.2 s"),
    ):
        check("127.0.0.1", silent.getsockname()[1], 0.2)


def test_an_answer_that_trickles_in_ends_at_the_timeout() -> None:
    """The timeout is for the whole answer, not for each piece."""
    unhealthy = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.sendall((1000).to_bytes(4, "big"))
        while not unhealthy.wait(0.02):
            connection.sendall(b"x")

    with answering(trickle) as address:
        with pytest.raises(UnhealthyError, match=r"no answer within 0\.3 s"):
            check(*address, 0.3)
        unhealthy.set()
