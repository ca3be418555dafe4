"""Every client with TLS: wrong certificates and passwords, and the rights of a certificate's name.

test_security_matrix.py tests what works.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET, create_topic
from devtools.kafka.certificates import why_unavailable
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import Client, Unavailable, librdkafka_security
from tests.interop.support.clients.registry import PROGRAMS
from tests.interop.support.share_wire import eventually
from tests.interop.support.tls_broker import USER, TlsBroker, tls_broker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable())),
]


@pytest.fixture(scope="module")
def broker(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    with tls_broker(broker_kind, tmp_path_factory.mktemp("pki")) as broker:
        create_topic(broker.plain, "t")
        yield broker


OFTEN: Final = ("java", "franz-go", "kafka-go", "shareq")
"""The clients that give up at once, which meet all faults in `make interop`. Each language has its own TLS."""


@pytest.fixture(
    scope="module",
    params=[name if name in OFTEN else pytest.param(name, marks=pytest.mark.thorough) for name in PROGRAMS],
)
def client(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    try:
        client = PROGRAMS[request.param]()
    except Unavailable as error:
        pytest.skip(str(error))
    yield request.param, client
    client.close()


class Wrong(NamedTuple):
    """The fault, and our broker's log line about it; `log` is a regular expression."""

    listener: str
    log: str


_ALERT: Final = "TLS handshake failed: (sslv3|tlsv1) alert "
WRONG: Final[Mapping[str, Wrong]] = {
    "authority": Wrong("OPEN", _ALERT + "(unknown ca|bad certificate|certificate unknown)"),
    "name": Wrong("ELSEWHERE", _ALERT + "(bad certificate|certificate unknown)"),
    "expired": Wrong("EXPIRED", _ALERT + "(certificate expired|bad certificate|certificate unknown)"),
    "missing": Wrong("MUTUAL", "TLS handshake failed: peer did not return a certificate"),
    "stranger": Wrong(
        "MUTUAL", "TLS handshake failed: certificate verify failed: unable to get local issuer certificate"
    ),
    "password": Wrong(
        "LOGIN", r"authentication failed: Invalid username or password \(mechanism PLAIN, user 'alice'\)"
    ),
}
"""The wrong settings. The broker's certificate is of an authority that the client does not trust, of another host, or
expired; the client has no certificate, or one of an authority that the broker does not trust; the password is wrong.
"""


_OPENSSL: Final = "certificate verify failed: broker certificate could not be verified"
_PASSWORD: Final = "Authentication failed: Invalid username or password"
_JAVA: Final = "SslAuthenticationException: SSL handshake failed"
_GO: Final = "tls: failed to verify certificate: x509: "
_NO_REASON: Final = "Unable to bootstrap from "  # the reason is in the client's log alone
_KCAT: Final = "Failed to query metadata for topic t: Local: Broker transport failure"
ERRORS: Final[Mapping[str, Mapping[str, str]]] = {
    "java": {
        "authority": f"{_JAVA}.*unable to find valid certification path",
        "name": f"{_JAVA}; No subject alternative DNS name matching localhost",
        "expired": f"{_JAVA}.*NotAfter: ",
        "missing": "SslAuthenticationException: .*Received fatal alert: (certificate_required|bad_certificate)",
        "stranger": "SslAuthenticationException: .*Received fatal alert: (unknown_ca|bad_certificate)",
        "password": f"SaslAuthenticationException: {_PASSWORD}",
    },
    "java-tools": {
        "authority": f"{_JAVA}.*unable to find valid certification path",
        "name": f"{_JAVA}.*No subject alternative DNS name matching localhost",
        "expired": f"{_JAVA}.*CertPathValidatorException: validity check failed",
        "missing": "SslAuthenticationException: .*\n.*Received fatal alert: (certificate_required|bad_certificate)",
        "stranger": "SslAuthenticationException: .*\n.*Received fatal alert: (unknown_ca|bad_certificate)",
        "password": f"SaslAuthenticationException: {_PASSWORD}",
    },
    "librdkafka": {
        **dict.fromkeys(("authority", "name", "expired"), f"_SSL.*{_OPENSSL}"),
        **dict.fromkeys(("missing", "stranger"), "_TRANSPORT|_ALL_BROKERS_DOWN"),
        "password": f"_AUTHENTICATION.*{_PASSWORD}",
    },
    "kafka-python": dict.fromkeys(WRONG, f"KafkaTimeoutError: {_NO_REASON}"),
    "aiokafka": dict.fromkeys(WRONG, f"KafkaConnectionError: {_NO_REASON}"),
    "franz-go": {
        "authority": f"unable to dial: {_GO}certificate signed by unknown authority",
        "name": f"unable to dial: {_GO}certificate is valid for broker.example.com, not localhost",
        "expired": f"unable to dial: {_GO}certificate has expired",
        "missing": "remote error: tls: (certificate required|bad certificate)",
        "stranger": "remote error: tls: (unknown certificate authority|bad certificate)",
        "password": f"SASL_AUTHENTICATION_FAILED: .*{_PASSWORD}",
    },
    "kafka-go": {
        "authority": f"failed to dial: {_GO}certificate signed by unknown authority",
        "name": f"failed to dial: {_GO}certificate is valid for broker.example.com, not localhost",
        "expired": f"failed to dial: {_GO}certificate has expired",
        "missing": "remote error: tls: (certificate required|bad certificate)",
        "stranger": "remote error: tls: (unknown certificate authority|bad certificate)",
        "password": "could not successfully authenticate to .* with SASL: .58. SASL Authentication Failed",
    },
    "kafkajs": {
        "authority": "Connection error: unable to verify the first certificate",
        "name": "Connection error: Hostname/IP does not match certificate's altnames",
        "expired": "Connection error: certificate has expired",
        "missing": "Connection error: .*alert (certificate required|bad certificate)",
        "stranger": "Connection error: .*alert (unknown ca|bad certificate|certificate unknown)",
        "password": f"SASL PLAIN authentication failed: {_PASSWORD}",
    },
    "platformatic": {
        "authority": "Connection to localhost:[0-9]+ failed.; unable to verify the first certificate",
        "name": "Connection to localhost:[0-9]+ failed.; Hostname/IP does not match certificate's altnames",
        "expired": "Connection to localhost:[0-9]+ failed.; certificate has expired",
        **dict.fromkeys(("missing", "stranger"), "Connection closed"),
        "password": "SASL authentication failed.",
    },
    "kcat": dict.fromkeys(WRONG, _KCAT),
    "shareq": {
        "authority": "its certificate is not accepted: unable to get local issuer certificate",
        "name": "its certificate is not accepted: Hostname mismatch, certificate is not valid for 'localhost'",
        "expired": "its certificate is not accepted: certificate has expired",
        "missing": "ended TLS: .*alert (certificate required|bad certificate)|closed the connection",
        "stranger": "ended TLS: .*alert (unknown ca|bad certificate|certificate unknown)|closed the connection",
        "password": f"PLAIN: {_PASSWORD}",
    },
}
"""The error of each client for each fault, a regular expression. Of two alerts the second is Apache Kafka's."""


SILENT: Final = {
    (name, what) for name in ("aiokafka", "kafkajs", "platformatic") for what in ("authority", "name", "expired")
}
"""The clients whose alerts do not show in the broker's log: to the broker their connections just end."""


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused(client: tuple[str, Client], broker: TlsBroker, what: str) -> None:
    """The client shows an error, as far as it has one; our broker logs reason and address, and counts it."""
    name, program = client
    wrong, pki, ours = WRONG[what], broker.pki, broker.broker.kind == "ours" and (name, what) not in SILENT
    tls = pki.tls(pki.stranger if what == "stranger" else None, pki.other if what == "authority" else pki.authority)
    login = {"mechanism": "PLAIN", "username": USER, "password": "guess"} if what == "password" else None
    place = {"bootstrap": broker.bootstrap(wrong.listener), "login": login, "tls": tls}
    logged, failed = len(broker.broker.log), broker.failed_logins(wrong.listener) if ours else 0
    with pytest.raises(Exception, match=f"(?s){ERRORS[name][what]}"):
        program.call("fetch", topic="t", count=1, **place)
    if ours:
        logs = re.compile(rf"from 127\.0\.0\.1 on {wrong.listener}: closing: {wrong.log}$", re.MULTILINE)
        # A client may have its error before the broker has read that it went away.
        eventually(lambda: logs.search(broker.broker.log[logged:]))
        eventually(lambda: broker.failed_logins(wrong.listener) > failed or None)
        assert "guess" not in broker.broker.log


def admin(broker: TlsBroker, tls: dict[str, str]) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap("MUTUAL"), **librdkafka_security(None, tls), **QUIET})


def test_the_name_in_the_certificate_has_the_rights(broker: TlsBroker) -> None:
    """CN=ALICE-client,OU=Orders,... is a super user by `RULES`; the guest keeps its distinguished name."""
    alice, guest = admin(broker, broker.pki.tls(broker.pki.client)), admin(broker, broker.pki.tls(broker.pki.guest))
    [made] = alice.create_topics([NewTopic("alices", 1, 1)]).values()
    made.result(20)
    [refused] = guest.create_topics([NewTopic("guests", 1, 1)]).values()
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        refused.result(20)
