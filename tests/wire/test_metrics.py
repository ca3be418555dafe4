"""`serve --metrics` as a process: the start line, a scrape over HTTP, wrong options, stopping."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import shareq
from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.wire import WireClient
from devtools.ports import free_port
from shareq.broker.broker import Broker as RunningBroker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process.serve import new_event_loop
from shareq.broker.process.server import Server
from shareq.broker.process.sockets import ServeError
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from shareq.testing.broker import Mode, child_environment
from tests.support.clients.shareq_cli import Shell
from tests.support.processes import finished
from tests.support.worlds.metrics import Scraped

LISTENER = "kafka_server_socket_server_metrics"


def get(url: str | None) -> tuple[str, str]:
    assert url is not None
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def scrape(broker: Broker) -> Scraped:
    return Scraped(get(broker.metrics_url)[1])


@pytest.fixture(params=["process", "thread"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    mode: Mode = request.param
    with Broker(metrics="127.0.0.1:0", mode=mode) as running:
        yield running


def test_a_scrape(broker: Broker) -> None:
    with WireClient(broker.address) as client:
        create_topic(client, "t")
        for _ in range(3):
            produce(client, "t", batch(b"a", b"b"))
        fetch(client, fetch_request("t"))
        reported = scrape(broker)
        assert reported.value("shareq_build_info", version=shareq.__version__) == 1
        assert reported.value("kafka_server_broker_topic_metrics_messages_in_total", topic="t") == 6
        size = reported.value("kafka_log_log_size_bytes", topic="t", partition="0")
        assert reported.value("kafka_server_broker_topic_metrics_bytes_out_total", topic="t") == size
        assert reported.value("kafka_network_request_metrics_requests_total", request="Produce") == 3
        seconds = reported.value("kafka_network_request_metrics_total_time_seconds_sum", request="Produce")
        assert 0 < seconds < 5
        assert reported.value(f"{LISTENER}_connection_count", listener="PLAINTEXT") == 1
        before = reported.value(f"{LISTENER}_incoming_byte_total", listener="PLAINTEXT")
        sent = reported.value(f"{LISTENER}_outgoing_byte_total", listener="PLAINTEXT")
        client.call(MetadataRequest(topics=None), 9, MetadataResponse)
        reported = scrape(broker)
        assert 0 < reported.value(f"{LISTENER}_incoming_byte_total", listener="PLAINTEXT") - before < 100
        assert 50 < reported.value(f"{LISTENER}_outgoing_byte_total", listener="PLAINTEXT") - sent < 500
    assert reported.value("shareq_uptime_seconds") > 0


def test_connections_come_and_go(broker: Broker) -> None:
    with WireClient(broker.address), WireClient(broker.address) as second:
        second.call(MetadataRequest(topics=None), 9, MetadataResponse)  # so that both were accepted
        reported = scrape(broker)
        assert reported.value(f"{LISTENER}_connection_count", listener="PLAINTEXT") == 2
    while scrape(broker).value(f"{LISTENER}_connection_count", listener="PLAINTEXT"):
        pass
    reported = scrape(broker)
    assert reported.value(f"{LISTENER}_connection_creation_total", listener="PLAINTEXT") == 2
    assert reported.value("shareq_connections_refused_total", listener="PLAINTEXT") == 0


def test_a_restart_keeps_the_address_and_begins_at_zero(broker: Broker) -> None:
    url = broker.metrics_url
    with WireClient(broker.address) as client:
        create_topic(client, "t")
        produce(client, "t", batch(b"a", b"b"))
    broker.restart()
    assert broker.metrics_url == url
    reported = scrape(broker)
    assert reported.value("kafka_server_broker_topic_metrics_messages_in_total", topic="t") == 0
    assert reported.value("kafka_log_log_log_end_offset", topic="t", partition="0") == 2


def test_without_the_option_nothing_is_served() -> None:
    with Broker() as broker:
        assert broker.metrics_url is None


def test_the_process_reports_itself() -> None:
    with Broker(metrics="127.0.0.1:0") as broker:
        reported = scrape(broker)
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"):
        assert reported.value(name) > 0


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shareq", "serve", *arguments]
    return finished(command, env=child_environment(), timeout_s=30)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("9464", "--metrics 9464: must be HOST:PORT, for example 127.0.0.1:9464"),
        ("127.0.0.1:", "must be HOST:PORT"),
        ("127.0.0.1:99999", "--metrics 127.0.0.1:99999: the port must be at most 65535"),
        ("::1:9464", "--metrics ::1:9464: an IPv6 address needs brackets, for example [::1]:9464"),
    ],
)
def test_a_wrong_address_is_one_line_and_code_2(tmp_path: Path, address: str, text: str) -> None:
    words = ("serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--metrics", address)
    result = Shell("unused:1").run(*words)
    assert result.code == 2
    assert text in result.err
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_one_line_and_code_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--metrics", f"127.0.0.1:{port}")
    assert result.returncode == 1
    text = f"shareq: cannot serve metrics on 127.0.0.1:{port}: the port is in use by another process\n"
    assert result.stderr == text
    assert not (tmp_path / "data").exists()


def test_an_unknown_host_is_one_line_and_code_1(tmp_path: Path) -> None:
    result = run("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--metrics", "no.such.host.invalid:9464")
    assert result.returncode == 1
    assert result.stderr.startswith("shareq: cannot serve metrics on no.such.host.invalid:9464: ")
    assert len(result.stderr.splitlines()) == 1


def test_the_address_of_the_broker_itself_is_one_line_and_code_2(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    result = run("--listen", address, "--data-dir", str(tmp_path / "data"), "--metrics", address)
    assert result.returncode == 2
    assert result.stderr == f"shareq: cannot serve metrics on {address}: clients of the broker connect there\n"
    assert not (tmp_path / "data").exists()


def test_a_port_that_only_listening_shows_to_be_taken(tmp_path: Path) -> None:
    """Two sockets can be bound, on all addresses and on one, so the conflict shows only at listen."""
    port = free_port()
    options = ["--listen", f"0.0.0.0:{port}", "--insecure", "--data-dir", str(tmp_path)]
    result = run(*options, "--metrics", f"127.0.0.1:{port}")
    assert result.returncode == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("shareq: ")]
    assert line == f"shareq: cannot serve metrics on 127.0.0.1:{port}: the port is in use by another process"
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_two_brokers_that_start_at_once_on_one_port(tmp_path: Path) -> None:
    """The first to listen has the port; the other reports the conflict."""

    class Late(Server):
        async def _start_broker(self) -> RunningBroker:
            broker = await super()._start_broker()
            first.listen()
            return broker

    async def start(config: BrokerConfig) -> None:
        with pytest.raises(ServeError, match="the port is in use by another process"):
            await Late(config).start()

    with socket.socket() as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        first.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{first.getsockname()[1]}"
        config = BrokerConfig.load(overrides={"listeners": f"PLAINTEXT://{address}", "log.dir": str(tmp_path / "data")})
        loop = new_event_loop()
        loop.run_until_complete(start(config))
        loop.close()


def test_the_start_line_names_the_address(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shareq", "serve", "--listen", "127.0.0.1:0"]
    command += ["--data-dir", str(tmp_path / "data"), "--metrics", "[::1]:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment()) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        assert process.wait(20) == 0
    pattern = rf"shareq {shareq.__version__} listening on 127\.0\.0\.1:\d+, data in {tmp_path}/data, "
    assert re.fullmatch(pattern + r"metrics at http://\[::1\]:\d+/metrics\n", line), line


def test_a_stop_does_not_wait_for_who_scrapes(broker: Broker) -> None:
    assert broker.metrics_url is not None
    parts = urlsplit(broker.metrics_url)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 0), timeout=60) as idle:
        idle.sendall(b"GET /metrics HTTP/1.1\r\n")
        scrape(broker)
        broker.stop()
        assert idle.recv(1) == b""
