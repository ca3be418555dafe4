from __future__ import annotations

import contextlib
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_client_quotas as quotas
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.testing import Broker
from shareq.testing.broker import child_environment

BROKER_RESOURCE = 4
Connect = Callable[[tuple[str, int]], WireClient]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Return a function that opens a working connection; ConnectionClosed if it is refused."""
    with contextlib.ExitStack() as stack:

        def open_one(address: tuple[str, int]) -> WireClient:
            client = stack.enter_context(WireClient(address))
            ask(client)
            return client

        yield open_one


def ask(client: WireClient) -> None:
    client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)


def alter_broker(client: WireClient, configs: Mapping[str, str]) -> None:
    changes = [AlterableConfig(name, 0, value) for name, value in configs.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER_RESOURCE, "", changes)], False)
    (answer,) = client.call(request, 1, IncrementalAlterConfigsResponse).responses
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def test_limits_change_while_it_runs(connect: Connect) -> None:
    with Broker(mode="thread") as broker:
        client = connect(broker.address)
        alter_broker(client, {"max.connections": "1"})
        with pytest.raises(ConnectionClosed):
            connect(broker.address)
        alter_broker(client, {"max.connections": "100", "max.connections.per.ip.overrides": "127.0.0.1:1"})
        with pytest.raises(ConnectionClosed):
            connect(broker.address)
        alter_broker(client, {"max.connections.per.ip.overrides": "", "max.connections.per.ip": "1"})
        with pytest.raises(ConnectionClosed):
            connect(broker.address)
        alter_broker(client, {"max.connections.per.ip": "100"})
        connect(broker.address)


def test_a_listener_has_limits_of_its_own_and_the_broker_those_of_all(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        second = ("127.0.0.1", free.getsockname()[1])
    properties = {
        "listeners": f"PLAINTEXT://127.0.0.1:0,OUTSIDE://127.0.0.1:{second[1]}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "listener.name.outside.max.connections": "1",
        "max.connections": "2",
    }
    with Broker(config=properties, mode="thread") as broker:
        connect(second)
        with pytest.raises(ConnectionClosed):
            connect(second)
        connect(broker.address)
        with pytest.raises(ConnectionClosed):
            connect(broker.address)


def test_an_address_that_connects_too_often_is_refused_after_a_wait(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(mode="thread") as broker:
        client = connect(broker.address)
        entity = [quotas.AlterClientQuotasRequestEntityData("ip", "127.0.0.1")]
        op = quotas.OpData("connection_creation_rate", 1.0, False)
        request = quotas.AlterClientQuotasRequest([quotas.AlterClientQuotasRequestEntryData(entity, [op])], False)
        (answer,) = client.call(request, 1, quotas.AlterClientQuotasResponse).entries
        assert answer.error_code == ErrorCode.NONE
        with contextlib.suppress(ConnectionClosed):  # the window of ten seconds lets ten through
            for _ in range(30):
                connect(broker.address)
        before = time.monotonic()
        with pytest.raises(ConnectionClosed):
            connect(broker.address)
        assert time.monotonic() - before > 0.05
        ask(client)
    assert "refused: connection_creation_rate of 127.0.0.1" in caplog.text


def test_connections_that_come_too_fast_wait_their_turn(connect: Connect) -> None:
    with Broker(config={"max.connection.creation.rate": "5"}, mode="thread") as broker:
        before = time.monotonic()
        for _ in range(55):  # the window of ten seconds lets fifty through
            connect(broker.address)
        assert time.monotonic() - before > 0.5


def serve_with_files(limit: int, data_dir: Path, *, synced: bool = False) -> subprocess.Popen[str]:
    serve = [sys.executable, "-m", "shareq", "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data_dir)]
    if synced:
        serve += ["--set", "log.flush.interval.messages=1"]
    command = f"ulimit -n {limit} && exec {shlex.join(serve)}"
    return subprocess.Popen(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=child_environment()
    )


@pytest.mark.parametrize("limit", [64, 80, 128])
@pytest.mark.parametrize("every_message", [False, True])
def test_few_files_are_shared_by_connections_and_logs(tmp_path: Path, limit: int, every_message: bool) -> None:
    """At the limit the broker once could not accept, write or import anything, with many logs for ever."""
    allowed = (limit - 40) // 2
    with serve_with_files(limit, tmp_path, synced=every_message) as process, contextlib.ExitStack() as stack:
        stack.callback(process.kill)  # harmless when it has ended
        assert process.stdout is not None
        assert process.stderr is not None
        address = ("127.0.0.1", int(process.stdout.readline().split("127.0.0.1:")[1].split(",")[0]))
        clients = [stack.enter_context(WireClient(address)) for _ in range(allowed + 10)]
        for client in clients[:allowed]:
            ask(client)
        assert all(client.is_closed() for client in clients[allowed:])
        create_topic(clients[0], "t", partitions=2 * limit)
        parts = [PartitionProduceData(index, batch(b"x")) for index in range(2 * limit)]
        for _ in range(2):
            answers = [produce(clients[0], "t", batch(b"x"), partition=part.index).error_code for part in parts]
            assert set(answers) == {ErrorCode.NONE}
        create_topic(clients[0], "at-once", partitions=2 * limit)
        for _ in range(2):
            request = ProduceRequest(None, -1, 30_000, [TopicProduceData("at-once", partition_data=parts)])
            (topic,) = clients[0].call(request, 9, ProduceResponse).responses
            assert {part.error_code for part in topic.partition_responses} == {ErrorCode.NONE}
        process.terminate()
        log = process.stderr.read()
        assert log.count(f"refused: {allowed} are open") == 10
        assert "Too many open files" not in log
        assert process.wait(10) == 0


def test_too_few_files_are_one_line_and_code_1(tmp_path: Path) -> None:
    with serve_with_files(63, tmp_path / "data") as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert err == "shareq: only 63 files may be open at a time, and at least 64 are needed (ulimit -n)\n"
    assert not (tmp_path / "data").exists()
