"""The process: command line, start, stop, kill, and the limits of its listeners."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shareq
from devtools.clients.requests import batch, create_topic, fetch_request, only_partition, produce
from devtools.clients.wire import ConnectionClosed, WireClient
from devtools.ports import free_port
from shareq.broker.process.server import ANSWER_IN_FLIGHT_S
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.support.clients.shareq_cli import Shell
from tests.support.processes import finished
from tests.support.waiting import until

NOWHERE = Shell("unused:1")
"""A shell without a cluster, which calls commands in this process; `run` starts a process."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shareq", *arguments]
    return finished(command, env=child_environment(), timeout_s=30)


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"shareq {shareq.__version__}\n")


def test_help_teaches_with_examples() -> None:
    result = run("serve", "--help")
    assert result.returncode == 0
    for text in ("--listen", "--data-dir", "--config", "--set", "--feature", "Examples:", "Exit codes:"):
        assert text in result.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--set", "log.retention.ms"], "KEY=VALUE"),
        (["--set", "log.retention.ms=soon"], "log.retention.ms"),
        (["--set", "group.share.session.timeout.ms=1"], "group.share.session.timeout.ms"),
        (["--listen", "9092"], "HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "65535"),
        (["--metrics", "127.0.0.1:99999"], "65535"),
        (["--data-dir", ""], "--data-dir"),
        (["--listen", "::1:9092"], "[::1]:9092"),
        (["--feature", "share.version"], "NAME=LEVEL"),
        (["--config", "/nowhere/server.properties"], "No such file"),
        (["--feature", "share.version=on"], "whole number"),
        (["--feature", "share.version=9"], "share.version"),
        (["--feature", "no.such.feature=1"], "no.such.feature"),
    ],
)
def test_wrong_options_are_one_line_and_code_2(tmp_path: Path, arguments: list[str], text: str) -> None:
    result = NOWHERE.run("serve", "--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", *arguments)
    assert result.code == 2
    assert text in result.err
    assert len(result.err.splitlines()) == 1


def test_a_port_in_use_is_one_line_and_code_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--data-dir", str(tmp_path / "data"), "--listen", f"127.0.0.1:{port}")
    assert result.returncode == 1
    assert result.stderr == f"shareq: cannot listen on 127.0.0.1:{port}: the port is in use by another process\n"
    assert not (tmp_path / "data").exists()


def test_a_data_folder_that_is_a_file_is_one_line_and_code_1(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    result = run("serve", "--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert str(tmp_path / "data") in result.stderr


@contextlib.contextmanager
def serving(data: Path, redirections: str = "", before: str = "") -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `shareq serve` under a shell's redirections; yield the process once it listens, and its log."""
    port, log = free_port(), data.with_suffix(".log")
    serve = shlex.join([sys.executable, "-m", "shareq", "serve", "--data-dir", str(data)])
    line = f"{before} exec {serve} --listen 127.0.0.1:{port} 2>{shlex.quote(str(log))} {redirections}"
    before_it = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
    process = subprocess.Popen(["/bin/sh", "-c", line], env=child_environment(), stdout=subprocess.DEVNULL)
    signal.signal(signal.SIGHUP, before_it)
    try:
        until(lambda: process.poll() is not None or answers(("127.0.0.1", port)))
        assert process.poll() is None, log.read_text()
        yield process, log
    finally:
        process.kill()
        process.wait()


def answers(address: tuple[str, int]) -> bool:
    try:
        with WireClient(address) as client:
            client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    except ConnectionRefusedError:
        return False
    return True


def stopped_cleanly(process: subprocess.Popen[bytes], data: Path) -> bool:
    return process.wait(timeout=30) == 0 and (data / "clean-shutdown").exists()


@pytest.mark.parametrize("redirections", ["<&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_none_of_the_brokers_files(tmp_path: Path, redirections: str) -> None:
    """The broker's files would get the numbers of the streams, and libuv aborts on closing one of these."""
    with serving(tmp_path / "data", redirections) as (process, _):
        process.terminate()
        assert stopped_cleanly(process, tmp_path / "data")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has /dev/full")
def test_a_broker_whose_first_line_nobody_can_read_serves_all_the_same(tmp_path: Path) -> None:
    with serving(tmp_path / "data", ">/dev/full") as (process, log):
        process.terminate()
        assert stopped_cleanly(process, tmp_path / "data")
    assert "standard output cannot be written: No space left on device" in log.read_text()
    assert "Traceback" not in log.read_text()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["serve", "--help"]])
def test_an_answer_that_cannot_be_written_is_one_line_and_code_1(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "shareq", *arguments]
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, env=child_environment(), check=False
        )
    assert (result.returncode, result.stderr) == (
        1,
        "shareq: standard output cannot be written: No space left on device\n",
    )


def test_a_terminal_that_goes_away_is_a_clean_stop(tmp_path: Path) -> None:
    """SIGHUP stops the broker, as in Apache Kafka."""
    with serving(tmp_path / "data") as (process, log):
        process.send_signal(signal.SIGHUP)
        assert stopped_cleanly(process, tmp_path / "data")
    assert "SIGHUP: stopping" in log.read_text()


def test_under_nohup_a_terminal_that_goes_away_is_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "data", before="trap '' HUP;") as (process, log):
        process.send_signal(signal.SIGHUP)
        process.terminate()
        assert stopped_cleanly(process, tmp_path / "data")
    assert "SIGHUP" not in log.read_text()


def test_two_processes_never_open_one_folder(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as first:
        result = run("serve", "--data-dir", str(first.data_dir), "--listen", "127.0.0.1:0")
        address = first.bootstrap
    assert result.returncode == 1
    assert result.stderr == (
        f"shareq: data folder {tmp_path / 'data'} is in use by another process; the broker that opened it last is at "
        f"{address}\n"
    )


def test_a_property_file_is_read_and_options_win(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "listeners=OTHER://127.0.0.1:1\nadvertised.listeners=OTHER://elsewhere:1\nlog.dirs=/nowhere\n"
        "num.partitions=3\nlistener.security.protocol.map=OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT\nno.such.property=1\n"
    )
    with Broker(data_dir=tmp_path / "data", options=["--config", str(tmp_path / "server.properties")]) as broker:
        with WireClient(broker.address) as client:
            create_topic(client, "t", partitions=-1)
            response = client.call(MetadataRequest(topics=None), 9, MetadataResponse)
        assert [len(topic.partitions) for topic in response.topics] == [3]
        assert [(node.host, node.port) for node in response.brokers] == [broker.address]
        assert "no.such.property" in broker.log
        assert "Property advertised.listeners is ignored but for PLAINTEXT, the listener of --listen" in broker.log


JAAS = "plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_a=b;"


@pytest.mark.parametrize(
    "lines",
    [
        ("listeners=SASL_PLAINTEXT://127.0.0.1:1", f"listener.name.sasl_plaintext.{JAAS}"),
        (
            "listeners=SASL_PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2",
            "controller.listener.names=CONTROLLER",
            f"listener.name.sasl_plaintext.{JAAS}",
        ),
        ("advertised.listeners=SASL_PLAINTEXT://elsewhere:1", f"listener.name.sasl_plaintext.{JAAS}"),
        (f"listener.name.sasl_plaintext.{JAAS}",),
        ("listener.security.protocol.map=clients : SASL_PLAINTEXT", f"listener.name.clients.{JAAS}"),
    ],
)
def test_another_address_leaves_authentication_as_it_is(tmp_path: Path, lines: tuple[str, ...]) -> None:
    """--listen HOST:0 overrides a SASL listener's address."""
    (tmp_path / "server.properties").write_text("\n".join((*lines, "sasl.enabled.mechanisms=PLAIN")))
    options = ["--config", str(tmp_path / "server.properties")]
    with (
        Broker(data_dir=tmp_path / "data", options=options) as broker,
        WireClient(broker.address) as client,
        pytest.raises(ConnectionClosed),
    ):
        client.call(MetadataRequest(topics=None), 9, MetadataResponse)


def test_an_address_for_one_of_several_listeners_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        f"listener.name.a.{JAAS}\nlistener.name.b.{JAAS}\n"
        "sasl.enabled.mechanisms=PLAIN\nlistener.security.protocol.map=A:SASL_PLAINTEXT,B:SASL_PLAINTEXT\n"
    )
    result = run("serve", "--config", str(tmp_path / "server.properties"), "--listen", "127.0.0.1:0")
    assert (result.returncode, result.stderr) == (
        2,
        "shareq: --listen: there are several listeners (A, B); set listeners instead\n",
    )


def test_every_listener_reports_its_own_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        second = free.getsockname()[1]
    listeners = f"PLAINTEXT://127.0.0.1:0,OUTSIDE://127.0.0.1:{second}"
    properties = {
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:0,OUTSIDE://outside.test:{second}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
    }
    with Broker(config=properties, mode="thread") as broker:
        hosts = []
        for address in (broker.address, ("127.0.0.1", second)):
            with WireClient(address) as client:
                (node,) = client.call(MetadataRequest(topics=None), 9, MetadataResponse).brokers
                hosts.append((node.host, node.port))
        assert hosts == [broker.address, ("outside.test", second)]


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_a_restart_keeps_port_and_records(mode: str) -> None:
    with Broker(mode="thread" if mode == "thread" else "process") as broker:
        address = broker.address
        with WireClient(address) as client:
            create_topic(client, "t")
            produce(client, "t", batch(b"kept"))
        broker.restart()
        assert broker.address == address
        with WireClient(address) as client:
            assert produce(client, "t", batch(b"next")).base_offset == 1


def test_a_stop_answers_what_is_in_flight_and_exits_with_0() -> None:
    with Broker() as broker, WireClient(broker.address) as client, WireClient(broker.address) as other:
        create_topic(other, "t")
        client.send(fetch_request("t", max_wait_ms=20_000), 12)
        other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)  # the fetch has arrived before this one's answer
        stopping = threading.Thread(target=broker.stop)
        stopping.start()
        response = client.receive()
        assert isinstance(response, FetchResponse)
        assert only_partition(response).error_code == ErrorCode.NONE
        assert client.is_closed()
        assert other.is_closed()
        stopping.join()
        with pytest.raises(ConnectionRefusedError):
            WireClient(broker.address)


def test_a_client_that_takes_no_answers_does_not_hold_a_second_signal_up() -> None:
    with Broker() as broker, WireClient(broker.address) as client:
        create_topic(client, "t")
        for _ in range(10):
            produce(client, "t", batch(b"x" * 900_000))
        request = fetch_request("t", max_bytes=20_000_000, partition_max_bytes=20_000_000)
        client.send_raw(b"".join(client.requests.frame_of(request, 12) for _ in range(10)))
        with WireClient(broker.address) as other:
            other.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        broker.signal_stop()
        wait_for_log(broker, "stopping")
        before = time.monotonic()
        broker.stop()
        assert time.monotonic() - before < ANSWER_IN_FLIGHT_S / 2


def wait_for_log(broker: Broker, text: str) -> None:
    until(lambda: text in broker.log, text)


def test_a_silent_connection_is_closed() -> None:
    with Broker(config={"connections.max.idle.ms": "200"}) as broker, WireClient(broker.address) as client:
        client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert client.is_closed()
        assert "WARNING" not in broker.log


def test_memory_of_a_fresh_broker(connect: Callable[[], WireClient], broker: Broker) -> None:
    connect().call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    status = Path(f"/proc/{broker.pid}/status").read_text()
    resident_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    assert resident_kb < 60_000
