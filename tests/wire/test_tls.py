"""A broker process with a TLS listener: refused starts, renewed certificates, client authentication."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest

from devtools.clients.wire import ConnectionClosed, WireClient
from devtools.kafka.certificates import KEY_PASSWORD, Authority, Signed, why_unavailable
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.testing import Broker
from tests.support.clients.access import STANDARD
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))

BROKER = 4
SET, DELETE = 0, 1
LOCATION = "listener.name.ssl.ssl.keystore.location"


class Pki:
    """Certificates: `path` is the broker's file; `server` and `again` have the same names."""

    def __init__(self, folder: Path) -> None:
        names = ("DNS:localhost", "IP:127.0.0.1")
        self.folder = folder
        self.authority = Authority(folder)
        self.server, self.client = self.authority.sign("server", *names), self.authority.sign("client")
        self.again_authority = Authority(_made(folder / "again"))
        self.again = self.again_authority.sign("server", *names)
        self.path = folder / "current.pem"
        shutil.copy(self.server.both, self.path)

    def trusting(self, authority: Authority | None = None, client: Signed | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str((authority or self.authority).certificate))
        if client is not None:
            context.load_cert_chain(client.certificate, client.key)
        return context


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(_made(tmp_path / "pki"))


def broker_of(pki: Pki, **more: str) -> Broker:
    """Return a broker with one SSL listener and a data folder beside the certificates; underscores for dots."""
    config = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.type": "PEM", "ssl.keystore.location": str(pki.path)}
    config |= {name.replace("_", "."): text for name, text in more.items()}
    return Broker(config=config, data_dir=pki.folder / "data", metrics="127.0.0.1:0")


@pytest.fixture
def broker(pki: Pki) -> Iterator[Broker]:
    with broker_of(pki) as broker:
        yield broker


def asks(client: WireClient) -> None:
    assert client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


def test_a_renewed_file_is_read_on_sighup(pki: Pki, broker: Broker) -> None:
    with WireClient(broker.address, tls=pki.trusting()) as before:
        asks(before)
        shutil.copy(pki.again.both, pki.path)
        os.kill(broker.pid, signal.SIGHUP)
        until(lambda: "listener SSL: certificate renewed: CN=server" in broker.log, "renewed")
        with WireClient(broker.address, tls=pki.trusting(pki.again_authority)) as after:
            asks(after)
        with pytest.raises(ssl.SSLCertVerificationError):
            WireClient(broker.address, tls=pki.trusting())
        asks(before)
    shutil.copy(pki.client.both, pki.path)
    os.kill(broker.pid, signal.SIGHUP)
    until(lambda: "ERROR" in broker.log, "refused")
    assert (
        f"listener SSL: the certificate is not renewed: Invalid value {pki.path} for configuration "
        "ssl.keystore.location: has a certificate of 'CN=client', and 'CN=server' is in use"
    ) in broker.log
    with WireClient(broker.address, tls=pki.trusting(pki.again_authority)) as after:
        asks(after)


def alter(
    client: WireClient, values: Mapping[str, str], broker: str = "1", operation: int = SET
) -> AlterConfigsResourceResponse:
    configs = [AlterableConfig(name, operation, text) for name, text in values.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, broker, configs)])
    (answer,) = client.call(request, 1, IncrementalAlterConfigsResponse).responses
    return answer


def described(client: WireClient) -> dict[str, DescribeConfigsResourceResult]:
    request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1", None)], include_synonyms=True)
    (answer,) = client.call(request, 4, DescribeConfigsResponse).results
    return {config.name: config for config in answer.configs}


def test_certificates_are_renewed_by_alter_configs(pki: Pki, broker: Broker) -> None:
    """The answer comes once new connections get the new certificate (dynamic listener configuration)."""
    key = {LOCATION: str(pki.again.both)}
    with WireClient(broker.address, tls=pki.trusting()) as admin:
        assert alter(admin, key).error_code == ErrorCode.NONE
        with WireClient(broker.address, tls=pki.trusting(pki.again_authority)) as after:
            asks(after)
        shown = described(admin)
        assert shown[LOCATION].value == str(pki.again.both)
        assert (shown[LOCATION].is_sensitive, shown[LOCATION].read_only, shown[LOCATION].config_source) == (
            False,
            False,
            2,
        )
    broker.restart()
    with WireClient(broker.address, tls=pki.trusting(pki.again_authority)) as admin:
        assert alter(admin, key, operation=DELETE).error_code == ErrorCode.NONE
        with WireClient(broker.address, tls=pki.trusting()) as after:
            asks(after)
        assert LOCATION not in described(admin)


def test_the_same_file_given_again_is_read_again(pki: Pki, broker: Broker) -> None:
    key = {LOCATION: str(pki.path)}
    with WireClient(broker.address, tls=pki.trusting()) as admin:
        assert alter(admin, key).error_code == ErrorCode.NONE
        shutil.copy(pki.again.both, pki.path)
        assert alter(admin, key).error_code == ErrorCode.NONE
        with WireClient(broker.address, tls=pki.trusting(pki.again_authority)) as after:
            asks(after)


def test_keys_as_texts_are_never_shown(pki: Pki) -> None:
    """The listener's whole key store is a text instead of a file."""
    static = {
        "ssl_keystore_location": "",
        "listener_name_ssl_ssl_keystore_certificate_chain": pki.server.certificate.read_text(),
        "listener_name_ssl_ssl_keystore_key": pki.server.locked_key.read_text(),
        "listener_name_ssl_ssl_key_password": KEY_PASSWORD,
    }
    with broker_of(pki, **static) as broker:
        with WireClient(broker.address, tls=pki.trusting()) as admin:
            renewed = {
                "listener.name.ssl.ssl.keystore.certificate.chain": pki.again.certificate.read_text(),
                "listener.name.ssl.ssl.keystore.key": pki.again.locked_key.read_text(),
            }
            assert alter(admin, renewed).error_code == ErrorCode.NONE
            for name, config in described(admin).items():
                texts = [config.value, *(synonym.value for synonym in config.synonyms)]
                if name.endswith((".password", ".key", ".chain")) and "ssl" in name:
                    assert config.is_sensitive, name
                    assert set(texts) <= {None}, name
                assert not any(text and ("BEGIN" in text or KEY_PASSWORD in text) for text in texts), name
        with WireClient(broker.address, tls=pki.trusting(pki.again_authority)) as after:
            asks(after)
        assert "BEGIN" not in broker.log
        assert KEY_PASSWORD not in broker.log


@pytest.mark.parametrize(
    ("name", "value", "broker_name", "message"),
    [
        (
            LOCATION,
            "/nowhere/key.pem",
            "1",
            "Invalid value /nowhere/key.pem for configuration " + LOCATION + ": cannot be",
        ),
        ("listener.name.ssl.ssl.keystore.type", "PKCS12", "1", "is PEM, which listener.name.ssl.ssl.keystore.type=PEM"),
        ("listener.name.other.ssl.keystore.location", "/x", "1", "must be a listener with TLS: ssl"),
        (
            "ssl.keystore.location",
            "/x",
            "1",
            "can be updated only behind listener.name.NAME., of one listener: ssl.key",
        ),
        (
            "listener.name.ssl.ssl.client.auth",
            "none",
            "1",
            "cannot be updated dynamically: listener.name.ssl.ssl.client",
        ),
        (LOCATION, "/x", "", "can be updated only with a broker id: " + LOCATION),
    ],
)
def test_what_cannot_be_used_changes_nothing(
    pki: Pki, broker: Broker, name: str, value: str, broker_name: str, message: str
) -> None:
    with WireClient(broker.address, tls=pki.trusting()) as admin:
        answer = alter(admin, {name: value}, broker_name)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert message in (answer.error_message or "")
        assert name not in described(admin) or described(admin)[name].value != value
    with WireClient(broker.address, tls=pki.trusting()) as after:
        asks(after)


def metric(broker: Broker, name: str) -> float:
    with urlopen(f"http://{broker.metrics}/metrics") as answer:
        found = re.search(rf'^{name}{{listener="SSL"}} (\S+)$', answer.read().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_failures_are_counted_and_one_line_each(pki: Pki, broker: Broker) -> None:
    prefix = "kafka_server_socket_server_metrics"
    with WireClient(broker.address) as plain:
        plain.send(ApiVersionsRequest(), 0)
        with pytest.raises(ConnectionClosed):
            plain.receive()
    with pytest.raises(ssl.SSLCertVerificationError):
        WireClient(broker.address, tls=pki.trusting(pki.again_authority))
    with socket.create_connection(broker.address) as scanner:
        scanner.shutdown(socket.SHUT_RDWR)
    with WireClient(broker.address, tls=pki.trusting()) as good:
        asks(good)
    until(lambda: metric(broker, f"{prefix}_failed_authentication_total") == 2, "both are counted")
    assert metric(broker, f"{prefix}_successful_authentication_total") == 1
    assert metric(broker, "shareq_certificate_end_timestamp_seconds") > time.time()
    failures = [line for line in broker.log.splitlines() if "TLS handshake failed" in line]
    assert len(failures) == 2
    assert "from 127.0.0.1 on SSL: closing: TLS handshake failed: it does not speak TLS" in failures[0]
    assert "tlsv1 alert unknown ca" in failures[1]
    assert "Traceback" not in broker.log


def test_certificates_of_clients_have_rights(pki: Pki) -> None:
    given = {
        "ssl_truststore_type": "PEM",
        "ssl_truststore_location": str(pki.authority.certificate),
        "ssl_client_auth": "requested",
        "authorizer_class_name": STANDARD,
        "super_users": "User:CN=client",
    }
    with broker_of(pki, **given) as broker:
        for client, error in (
            (pki.client, ErrorCode.NONE),
            (pki.server, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            (None, 29),
        ):
            with WireClient(broker.address, tls=pki.trusting(client=client)) as caller:
                request = CreateTopicsRequest([CreatableTopic("t", 1, 1, [], [])], timeout_ms=5000)
                (topic,) = caller.call(request, 5, CreateTopicsResponse).topics
                assert topic.error_code == error
