"""The client's TLS with a real TLS peer: trust, client certificates, and error messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from devtools.kafka.certificates import KEY_PASSWORD, Authority, Signed, why_unavailable
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed, ConfigError, Unreachable
from shareq.client.network import Network
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import ScriptedBroker

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))


class Ask(Protocol):
    def __call__(self, server: Signed | None = None, *, ask_clients: bool = False, **properties: str) -> int:
        """Return the controller named by a broker behind TLS. Underscores stand for dots in names."""


class Pki:
    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.stranger = Authority(folder, "stranger")
        self.server = self.authority.sign("server", "DNS:localhost", "IP:127.0.0.1")
        self.elsewhere = self.authority.sign("elsewhere", "DNS:kafka.example")
        self.client = self.authority.sign("client")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def brokers() -> Iterator[list[ScriptedBroker]]:
    started: list[ScriptedBroker] = []
    yield started
    for broker in started:
        broker.close()


@pytest.fixture
def ask(pki: Pki, brokers: list[ScriptedBroker]) -> Iterator[Ask]:
    networks: list[Network] = []

    def ask(server: Signed | None = None, *, ask_clients: bool = False, **properties: str) -> int:
        context = pki.authority.server_context(server or pki.server, ask_clients=ask_clients)
        broker = ScriptedBroker(tls=context)
        brokers.append(broker)

        def metadata(_: Message) -> Message:
            return MetadataResponse(brokers=[MetadataResponseBroker(1, broker.host, broker.port)], controller_id=7)

        broker.scripts[ApiKey.METADATA] = metadata
        given = {"bootstrap.servers": broker.bootstrap, "security.protocol": "SSL", "default.api.timeout.ms": "5000"}
        given |= {name.replace("_", "."): value for name, value in properties.items()}
        network = Network(ClientConfig.from_properties(given))
        networks.append(network)
        answer = network.request(None, MetadataRequest([]))
        assert isinstance(answer, MetadataResponse)
        assert broker.connections == 1
        return answer.controller_id

    yield ask
    for network in networks:
        network.close()


def test_a_trusted_broker(pki: Pki, ask: Ask) -> None:
    assert ask(ssl_truststore_type="PEM", ssl_truststore_location=str(pki.authority.certificate)) == 7


def test_certificates_as_text_also_on_one_line(pki: Pki, ask: Ask) -> None:
    text = pki.authority.certificate.read_text()
    assert ask(ssl_truststore_certificates=text) == 7
    assert ask(ssl_truststore_certificates=text.replace("\n", " ")) == 7
    assert ask(ssl_truststore_certificates=text.replace("\n", "\\n")) == 7


def test_a_brokers_own_certificate_may_be_what_is_trusted(pki: Pki, ask: Ask) -> None:
    assert ask(ssl_truststore_location=str(pki.server.certificate)) == 7


def test_an_authority_that_is_not_trusted(pki: Pki, ask: Ask) -> None:
    with pytest.raises(AuthenticationFailed, match=r"^127\.0\.0\.1:\d+: its certificate is not accepted: "):
        ask(ssl_truststore_location=str(pki.stranger.certificate))
    with pytest.raises(AuthenticationFailed, match="its certificate is not accepted"):
        ask()


def test_a_certificate_of_another_host(pki: Pki, ask: Ask) -> None:
    trusted = str(pki.authority.certificate)
    with pytest.raises(AuthenticationFailed, match=r"not accepted: IP address mismatch"):
        ask(pki.elsewhere, ssl_truststore_location=trusted)
    assert ask(pki.elsewhere, ssl_truststore_location=trusted, ssl_endpoint_identification_algorithm="") == 7


def test_no_check_at_all_is_possible(ask: Ask) -> None:
    assert ask(enable_ssl_certificate_verification="false") == 7


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_that_wants_to_know_who_asks(pki: Pki, ask: Ask, version: str) -> None:
    trusted = {"ssl_truststore_location": str(pki.authority.certificate), "ssl_enabled_protocols": version}
    assert ask(None, ask_clients=True, ssl_keystore_location=str(pki.client.both), **trusted) == 7
    with pytest.raises(AuthenticationFailed, match=r"ended TLS: .*(certificate required|handshake failure)"):
        ask(None, ask_clients=True, **trusted)


def test_a_key_apart_and_under_a_password(pki: Pki, ask: Ask) -> None:
    trusted = {"ssl_truststore_location": str(pki.authority.certificate)}
    chain, key = pki.client.certificate.read_text(), pki.client.locked_key.read_text()
    given = {"ssl_keystore_certificate_chain": chain, "ssl_keystore_key": key, **trusted}
    assert ask(None, ask_clients=True, ssl_key_password=KEY_PASSWORD, **given) == 7
    files = {"ssl_certificate_location": str(pki.client.certificate), "ssl_key_location": str(pki.client.locked_key)}
    assert ask(None, ask_clients=True, ssl_key_password=KEY_PASSWORD, **files, **trusted) == 7
    for wrong in ({}, {"ssl_key_password": "wrong-secret"}):
        with pytest.raises(ConfigError, match=r"^ssl\.keystore\.key: .*ssl\.key\.password is wrong") as caught:
            ask(None, ask_clients=True, **given, **wrong)
        assert "wrong-secret" not in str(caught.value)


def test_files_that_are_no_pem(pki: Pki, ask: Ask, tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(ConfigError, match=r"trust\.jks is not PEM; a Java key store has to be converted: .*keytool"):
        ask(ssl_truststore_location=str(store))
    with pytest.raises(ConfigError, match=r"^ssl\.truststore\.location: /nowhere: No such file"):
        ask(ssl_truststore_location="/nowhere")
    broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    with pytest.raises(ConfigError, match=r"^ssl\.ca\.pem: no certificates that can be read"):
        ask(ssl_ca_pem=broken)


def test_without_tls_where_there_is_tls(ask: Ask) -> None:
    with pytest.raises(Unreachable, match="is it a listener of PLAINTEXT"):
        ask(security_protocol="PLAINTEXT", default_api_timeout_ms="200")
