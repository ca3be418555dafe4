"""Certificates renewed by `kafka-configs.sh` at run time, and key stores made by keytool."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.kafka.certificates import Signed, why_unavailable
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.registry import CLIENTS
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.tls_broker import TlsBroker, tls_broker
from tests.support.waiting import until

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable())),
]

STORE_PASSWORD = "open sesame"
LOCATION = "listener.name.open.ssl.keystore.location"


@pytest.fixture
def broker(broker_kind: Kind, tmp_path: Path) -> Iterator[TlsBroker]:
    with tls_broker(broker_kind, tmp_path) as broker:
        yield broker


def shown(broker: TlsBroker, listener: str = "OPEN") -> str:
    host, _, port = broker.bootstrap(listener).partition(":")
    return ssl.get_server_certificate((host, int(port)), timeout=10)


def pem(signed: Signed) -> str:
    return ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(signed.certificate.read_text()))


def alter(java: JavaDriver, broker: TlsBroker, config: str) -> str:
    command = ("--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", config)
    return java.tool("kafka.admin.ConfigCommand", "--bootstrap-server", broker.plain, *command).output


def until_shown(broker: TlsBroker, signed: Signed) -> None:
    """Wait for the new certificate: Apache Kafka answers before it changes the listeners, one by one."""
    until(lambda: _shown_or_none(broker) == pem(signed))


def _shown_or_none(broker: TlsBroker) -> str | None:
    try:
        return shown(broker)
    except ConnectionRefusedError:
        return None


def test_kafka_configs_renews_a_certificate(java: JavaDriver, broker: TlsBroker) -> None:
    pki = broker.pki
    assert shown(broker) == pem(pki.server)
    assert "Completed updating config for broker 1." in alter(java, broker, f"{LOCATION}={pki.again.both}")
    until_shown(broker, pki.again)
    assert shown(broker, "LOGIN") == pem(pki.server), "of one listener"
    if broker.broker.kind == "ours":  # Apache Kafka 4.3.1 does not list properties of single listeners
        describe = ("--describe", "--entity-type", "brokers", "--entity-name", "1")
        described = java.tool("kafka.admin.ConfigCommand", "--bootstrap-server", broker.plain, *describe).output
        assert f"{LOCATION}={pki.again.both} sensitive=false" in described
    for config in (
        f"{LOCATION}={pki.guest.both}",
        f"{LOCATION}=/nowhere/key.pem",
        f"ssl.keystore.location={pki.store}",
    ):
        assert "InvalidRequestException" in alter(java, broker, config)
    assert shown(broker) == pem(pki.again)
    broker.broker.restart()
    until_shown(broker, pki.again)


def keytool(*arguments: object) -> None:
    subprocess.run(["keytool", *map(str, arguments), "-noprompt"], check=True, capture_output=True, timeout=60)


def test_stores_of_keytool(broker_kind: Kind, java: JavaDriver, tmp_path: Path) -> None:
    """PKCS12 is read for keys and for trusted authorities; JKS is refused, with a hint how to convert it."""
    if shutil.which("keytool") is None:
        pytest.skip("keytool is not on the PATH")
    with tls_broker(broker_kind, tmp_path) as broker:
        pki, key, trust = broker.pki, tmp_path / "key.p12", tmp_path / "trust.p12"
        both, secret = pki.again.both, f"pass:{STORE_PASSWORD}"
        command = ["openssl", "pkcs12", "-export", "-in", both, "-out", key, "-passout", secret]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        password = ("-storepass", STORE_PASSWORD)
        keytool("-importcert", "-file", pki.authority.certificate, "-keystore", trust, "-alias", "ca", *password)
        stores = {
            "keystore.type": "PKCS12",
            "keystore.location": str(key),
            "keystore.password": STORE_PASSWORD,
            "key.password": STORE_PASSWORD,
            "truststore.type": "PKCS12",
            "truststore.location": str(trust),
            "truststore.password": STORE_PASSWORD,
        }
        configs = ",".join(f"listener.name.mutual.ssl.{name}={text}" for name, text in stores.items())
        assert "Completed updating config for broker 1." in alter(java, broker, configs)
        client = CLIENTS["librdkafka"]()
        place = {"bootstrap": broker.bootstrap("MUTUAL"), "login": None, "tls": pki.tls(pki.client)}
        client.call("create_topic", topic="t", partitions=1, **place)
        client.call("produce", topic="t", values=["x"], **place)
        if broker_kind == "ours":
            jks = tmp_path / "key.jks"
            keytool(
                "-importkeystore", "-srckeystore", key, "-srcstorepass", STORE_PASSWORD, "-destkeystore", jks,
                "-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD,
            )  # fmt: skip
            refused = alter(java, broker, f"listener.name.mutual.ssl.keystore.location={jks}")
            assert "is a Java key store (JKS), which is not read here; convert it with `keytool -importkey" in refused
        assert STORE_PASSWORD not in broker.broker.log
