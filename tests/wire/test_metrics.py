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
from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.requests import batch, create_topic, fetch, fetch_request, produce
from devtools.clients.transactor import Transactor
from devtools.clients.wire import WireClient
from devtools.ports import free_port
from shareq.broker.broker import Broker as RunningBroker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process.serve import new_event_loop
from shareq.broker.process.server import Server
from shareq.broker.process.sockets import ServeError
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from shareq.testing import Broker
from shareq.testing.broker import Mode, child_environment
from tests.support.processes import finished
from tests.support.worlds.metrics import Scraped

LISTENER = "kafka_server_socket_server_metrics"
GROUPS = "kafka_server_group_coordinator_metrics"


def get(url: str | None) -> tuple[str, str]:
    """The content type and the body."""
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


def join_classic_group(client: WireClient, group: str) -> None:
    """Its only member, with an assignment."""
    protocols = [JoinGroupRequestProtocol("range", b"")]
    request = JoinGroupRequest(group, 10_000, 30_000, protocol_type="consumer", protocols=protocols)
    joined = client.call(request, 3, JoinGroupResponse)
    assert joined.error_code == ErrorCode.NONE
    assignments = [SyncGroupRequestAssignment(joined.member_id, b"all")]
    sync = SyncGroupRequest(group, joined.generation_id, joined.member_id, assignments=assignments)
    assert client.call(sync, 3, SyncGroupResponse).error_code == ErrorCode.NONE


def join_consumer_group(client: WireClient, group: str, topic: str) -> None:
    """Its only member."""
    request = ConsumerGroupHeartbeatRequest(
        group, "m", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=[topic], topic_partitions=[]
    )
    assert client.call(request, 1, ConsumerGroupHeartbeatResponse).error_code == ErrorCode.NONE


def test_groups_offsets_and_transactions() -> None:
    config = {"group.initial.rebalance.delay.ms": "0"}
    with Broker(config=config, metrics="127.0.0.1:0") as broker, WireClient(broker.address) as client:
        ids = {"t": create_topic(client, "t")}
        produce(client, "t", batch(b"a", b"b", b"c"))
        join_classic_group(client, "old")
        join_consumer_group(client, "new", "t")
        OffsetsClient(client, ids).committed({("t", 0): 1}, group="job")
        producer = Transactor(client)
        assert producer.init() is ErrorCode.NONE
        for ends in (producer.commit, producer.abort):
            assert producer.write("t", b"x") is ErrorCode.NONE
            assert producer.commit_offsets("job", {("t", 0): 2}) == [ErrorCode.NONE]
            assert ends() is ErrorCode.NONE
        assert producer.write("t", b"open") is ErrorCode.NONE
        reported = scrape(broker)
        while reported.value("shareq_oldest_open_transaction_age_seconds") == 0:  # not yet a millisecond old
            reported = scrape(broker)
    assert reported.value(f"{GROUPS}_group_count", protocol="classic") == 2
    assert reported.value("kafka_coordinator_group_group_metadata_manager_num_groups_stable") == 1
    assert reported.value("kafka_coordinator_group_group_metadata_manager_num_groups_empty") == 1
    assert reported.value(f"{GROUPS}_consumer_group_count", state="stable") == 1
    assert reported.value(f"{GROUPS}_group_completed_rebalance_total") == 1
    assert reported.value(f"{GROUPS}_consumer_group_rebalance_total") == 1
    members = {group: reported.value("shareq_consumer_group_members", group=group) for group in ("old", "new", "job")}
    assert members == {"old": 1, "new": 1, "job": 0}
    place = {"group": "job", "topic": "t", "partition": "0"}
    assert reported.value("shareq_consumer_group_committed_offset", **place) == 2
    end = reported.value("kafka_log_log_log_end_offset", topic="t", partition="0")
    assert end == 3 + 2 * 2 + 1, "markers are records, too"
    assert reported.value("shareq_consumer_group_lag", **place) == end - 2
    assert reported.value("kafka_coordinator_group_group_metadata_manager_num_offsets") == 1
    assert reported.value(f"{GROUPS}_offset_commit_total") == 3
    assert reported.value("shareq_transactional_ids", state="ongoing") == 1
    assert reported.value("shareq_oldest_open_transaction_age_seconds") < 60
    assert reported.value("shareq_transactions_ended_total", result="commit") == 1
    assert reported.value("shareq_transactions_ended_total", result="abort") == 1
    assert reported.value("kafka_cluster_partition_last_stable_offset_lag", topic="t", partition="0") == 1
    assert reported.value("kafka_server_replica_manager_partitions_with_late_transactions_count") == 0


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


def test_connections_over_the_limit() -> None:
    with Broker(config={"max.connections": "1"}, metrics="127.0.0.1:0") as broker, WireClient(broker.address) as client:
        client.call(MetadataRequest(topics=None), 9, MetadataResponse)
        with socket.create_connection(broker.address, timeout=60) as refused:
            assert refused.recv(1) == b""
        assert scrape(broker).value("shareq_connections_refused_total", listener="PLAINTEXT") == 1


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


def test_content_type_health_and_other_paths(broker: Broker) -> None:
    url = broker.metrics_url
    assert url is not None
    assert get(url)[0] == "text/plain; version=0.0.4; charset=utf-8"
    assert get(url.replace("/metrics", "/-/healthy"))[1] == "shareq is up\n"
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(url.replace("/metrics", "/"))
    assert refused.value.code == 404
    refused.value.close()


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
    result = run("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--metrics", address)
    assert result.returncode == 2
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1
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
    """The kernel lets two be bound to it, on all addresses and on one, until both listen."""
    port = free_port()
    options = ["--listen", f"0.0.0.0:{port}", "--insecure", "--data-dir", str(tmp_path)]
    result = run(*options, "--metrics", f"127.0.0.1:{port}")
    assert result.returncode == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("shareq: ")]
    assert line == f"shareq: cannot serve metrics on 127.0.0.1:{port}: the port is in use by another process"
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_two_brokers_that_start_at_once_on_one_port(tmp_path: Path) -> None:
    """Both are bound to it; the first to listen has it, and the other one says so."""

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
