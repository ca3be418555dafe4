"""The exposure of a broker without authentication, its advertised addresses, and containers' properties."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.broker.process.exposure import is_loopback
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from shareq.testing.broker import child_environment
from tests.support.processes import finished

JAAS: Final = "plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_a=b;"
SASL: Final = f"sasl.enabled.mechanisms=PLAIN\nlistener.name.sasl_plaintext.{JAAS}\n"


def sasl_options(tmp_path: Path) -> list[str]:
    (tmp_path / "sasl.properties").write_text(SASL)
    return ["--config", str(tmp_path / "sasl.properties")]


def refused(tmp_path: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "shareq", "serve", "--data-dir", str(tmp_path / "data"), *arguments]
    done = finished(command, env=child_environment(), timeout_s=30)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()
    return done.stderr


def first_line(tmp_path: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "shareq", "serve", "--data-dir", str(tmp_path / "data"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment()) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        assert process.wait(10) == 0
    return line


@pytest.mark.parametrize(
    ("host", "only_here"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("1.127.0.1", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


@pytest.mark.parametrize("address", ["0.0.0.0:0", ":0", "[::]:0"])
def test_other_machines_without_authentication_are_refused_in_one_line(tmp_path: Path, address: str) -> None:
    line = refused(tmp_path, "--listen", address)
    assert re.fullmatch(
        r"shareq: listener PLAINTEXT on \S+:\d+ is open to other machines without authentication: "
        r"listen on 127\.0\.0\.1, give it SASL, or say --insecure\n",
        line,
    )


def test_one_listener_without_authentication_beside_one_with_it(tmp_path: Path) -> None:
    options = sasl_options(tmp_path)
    listeners = "listeners=SASL_PLAINTEXT://0.0.0.0:0,PLAINTEXT://0.0.0.0:0"
    assert "listener PLAINTEXT on" in refused(tmp_path, "--set", listeners, *options)


def test_with_authentication_on_loopback_or_when_asked_for_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = sasl_options(tmp_path)
    line = first_line(tmp_path, "--set", "listeners=SASL_PLAINTEXT://0.0.0.0:0,PLAINTEXT://127.0.0.1:0", *options)
    assert " listening on 0.0.0.0:" in line
    assert " listening on 0.0.0.0:" in first_line(tmp_path, "--listen", "0.0.0.0:0", "--insecure")
    monkeypatch.setenv("SHAREQ_INSECURE", "true")
    assert " listening on 0.0.0.0:" in first_line(tmp_path, "--listen", "0.0.0.0:0")


def test_it_says_what_clients_connect_to(tmp_path: Path) -> None:
    line = first_line(tmp_path, "--listen", "127.0.0.1:0", "--advertise", "broker.example.com:19092")
    assert re.search(r"listening on 127\.0\.0\.1:\d+, clients connect to broker\.example\.com:19092, data in ", line)
    line = first_line(tmp_path, "--listen", "127.0.0.1:0")
    assert re.search(r"listening on 127\.0\.0\.1:\d+, data in ", line)


def test_the_address_of_advertise_is_the_one_that_clients_get(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("advertised.listeners=PLAINTEXT://elsewhere:1\n")
    options = ["--config", str(tmp_path / "file"), "--advertise", "[::1]:19092"]
    with Broker(data_dir=tmp_path / "data", options=options) as broker, WireClient(broker.address) as client:
        (node,) = client.call(MetadataRequest(topics=None), 9, MetadataResponse).brokers
    assert (node.host, node.port) == ("::1", 19092)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--advertise", "broker"], "--advertise broker: must be HOST:PORT"),
        (["--advertise", ":9092"], "must name a host"),
        (
            ["--advertise", "b:1", "--set", "listeners=PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"],
            "--advertise: there are several listeners (PLAINTEXT, SSL)",
        ),
    ],
)
def test_a_wrong_advertise_is_one_line_and_code_2(tmp_path: Path, arguments: list[str], text: str) -> None:
    assert text in refused(tmp_path, *arguments)


def test_a_container_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("num.partitions=2\ngroup.max.size=2\nlog.dirs=/nowhere\n")
    monkeypatch.setenv("SHAREQ_NUM_PARTITIONS", "3")
    monkeypatch.setenv("SHAREQ_LOG_DIRS", "/nowhere/either")
    monkeypatch.setenv("SHAREQ_LISTENERS", "PLAINTEXT://nowhere.invalid:1")
    monkeypatch.setenv("SHAREQ_ADVERTISED_LISTENERS", "PLAINTEXT://broker.example.com:19092")
    monkeypatch.setenv("SHAREQ_KEEP__OUT", "secret")
    with (
        Broker(data_dir=tmp_path / "data", options=["--config", str(tmp_path / "file")]) as broker,
        WireClient(broker.address) as client,
    ):
        create_topic(client, "t", partitions=-1)
        response = client.call(MetadataRequest(topics=None), 9, MetadataResponse)
        assert [len(topic.partitions) for topic in response.topics] == [3]
        assert [(node.host, node.port) for node in response.brokers] == [("broker.example.com", 19092)]
        assert "stand for no property are ignored: SHAREQ_KEEP__OUT" in broker.log
        assert "secret" not in broker.log
    assert os.path.exists(tmp_path / "data" / "meta.db")
