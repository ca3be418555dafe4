"""The client on a broker of ours in a process of its own: requests, logins, restarts of the broker."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed, Unreachable
from shareq.client.network import Network
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.testing import Broker
from tests.support.clients.sasl import PLAIN_MODULE

PASSWORD = "looking-glass"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def network(broker: Broker) -> Iterator[Network]:
    network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
    yield network
    network.close()


def test_a_broker_that_goes_and_comes_back(tmp_path: Path) -> None:
    with Broker() as broker:
        network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
        first = network.connection(1)
        broker.restart()
        answer = network.request(1, MetadataRequest([]))
        assert isinstance(answer, MetadataResponse)
        second = network.connection(1)
        assert second is not first
        broker.kill()
        with pytest.raises(Unreachable, match=r"^broker 1 at 127\.0\.0\.1:\d+ cannot be reached: Connection refused"):
            network.submit(1, MetadataRequest([]))
        broker.start()
        network.request(1, MetadataRequest([]))
        assert network.connection(1) is not second
        network.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("sasl")
    (folder / "password").write_text(PASSWORD + "\n")
    (folder / "server.properties").write_text(
        "listeners=CLIENTS://127.0.0.1:0\n"
        "listener.security.protocol.map=CLIENTS:SASL_PLAINTEXT\n"
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n"
        f'listener.name.clients.plain.sasl.jaas.config={PLAIN_MODULE} required user_carol="{PASSWORD}";\n'
    )
    options = ["--config", str(folder / "server.properties")]
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        options += ["--add-scram", f"{mechanism}=[name=carol,password-file={folder / 'password'}]"]
    with Broker(options=options) as running:
        yield running


def login(broker: Broker, mechanism: str, password: str) -> ClientConfig:
    return ClientConfig.from_properties(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "carol",
            "sasl.password": password,
        }
    )


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_login(guarded: Broker, mechanism: str) -> None:
    network = Network(login(guarded, mechanism, PASSWORD))
    answer = network.request(1, MetadataRequest([]))
    assert isinstance(answer, MetadataResponse)
    network.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_one_clear_error_that_does_not_show_it(
    guarded: Broker, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "through-the-" + PASSWORD
    config = login(guarded, mechanism, wrong)
    network = Network(config)
    with pytest.raises(AuthenticationFailed, match=rf"^127\.0\.0\.1:\d+: {mechanism}: Authentication failed") as caught:
        network.request(None, MetadataRequest([]))
    network.close()
    below = caught.value.with_traceback(caught.tb.tb_next)  # this function knows the password, of course
    trace = "".join(traceback.TracebackException.from_exception(below, capture_locals=True).format())
    assert "_talk" in trace
    for text in (str(caught.value), trace, repr(config), repr(network), caplog.text):
        assert PASSWORD not in text


def test_without_a_login_where_one_is_needed(guarded: Broker) -> None:
    config = {"bootstrap.servers": guarded.bootstrap, "default.api.timeout.ms": "200"}
    network = Network(ClientConfig.from_properties(config))
    with pytest.raises(Unreachable, match="closed the connection"):
        network.request(None, MetadataRequest([]))
    network.close()
