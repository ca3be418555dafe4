"""Every client behind TLS: protocol by mechanism, right and wrong certificates. The same holds at Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devtools.clients.admin import QUIET, create_topic
from devtools.kafka.certificates import why_unavailable
from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed
from shareq.client.network import Network
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import SCRAM_MODULE, Client, Unavailable, librdkafka_security
from tests.interop.support.clients.features import MECHANISMS
from tests.interop.support.clients.registry import CLIENTS
from tests.interop.support.guarded_broker import PASSWORD
from tests.interop.support.tls_broker import USER, TlsBroker, tls_broker
from tests.support.clients.sasl import PLAIN_MODULE

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable())),
]

LOGIN: Final = {"username": USER, "password": PASSWORD}


@pytest.fixture(scope="module")
def broker(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    with tls_broker(broker_kind, tmp_path_factory.mktemp("pki")) as broker:
        create_topic(broker.plain, "t")
        yield broker


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    try:
        client = CLIENTS[request.param]()
    except Unavailable as error:
        pytest.skip(str(error))
    yield request.param, client
    client.close()


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["authority", "missing", "stranger", "password"])
def test_what_is_wrong_is_refused(client: tuple[str, Client], broker: TlsBroker, what: str) -> None:
    """A client that does not trust the broker; no certificate, or one of another authority; a wrong password.

    Some clients try again for half a minute.
    """
    _, program = client
    pki = broker.pki
    tls = pki.tls(pki.stranger if what == "stranger" else None, pki.other if what == "authority" else pki.authority)
    listener = {"authority": "OPEN", "password": "LOGIN"}.get(what, "MUTUAL")
    login = {"mechanism": "PLAIN", "username": USER, "password": "wrong"} if what == "password" else None
    with pytest.raises(Exception):  # noqa: B017, PT011 - of another class with each client
        program.call("fetch", topic="t", count=1, bootstrap=broker.bootstrap(listener), login=login, tls=tls)


def test_the_log_says_who_failed_and_why(broker_kind: Kind, broker: TlsBroker) -> None:
    if broker_kind != "ours":
        pytest.skip("asks our log")
    context = AdminClient(
        {"bootstrap.servers": broker.bootstrap("MUTUAL"), **librdkafka_security(None, broker.pki.tls()), **QUIET}
    )
    with pytest.raises(Exception, match=r"_TRANSPORT|_TIMED_OUT|_SSL|_ALL_BROKERS_DOWN"):
        context.list_topics(timeout=3)
    assert (
        "from 127.0.0.1 on MUTUAL: closing: TLS handshake failed: peer did not return a certificate"
        in broker.broker.log
    )
    assert "Traceback" not in broker.broker.log


def admin(broker: TlsBroker, tls: dict[str, str]) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap("MUTUAL"), **librdkafka_security(None, tls), **QUIET})


def test_the_name_in_the_certificate_has_the_rights(broker: TlsBroker) -> None:
    """`RULES` make a super user of CN=ALICE-client,OU=Orders,...; the guest keeps its distinguished name."""
    alice, guest = admin(broker, broker.pki.tls(broker.pki.client)), admin(broker, broker.pki.tls(broker.pki.guest))
    [made] = alice.create_topics([NewTopic("alices", 1, 1)]).values()
    made.result(20)
    [refused] = guest.create_topics([NewTopic("guests", 1, 1)]).values()
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        refused.result(20)


OURS: Final = ("OPEN", "MUTUAL", *MECHANISMS)


def our_properties(broker: TlsBroker, how: str) -> dict[str, str]:
    """For our own client, and so for the Spark source."""
    listener = how if how in ("OPEN", "MUTUAL") else "LOGIN"
    pki = broker.pki
    given = {
        "bootstrap.servers": broker.bootstrap(listener),
        "security.protocol": "SASL_SSL" if listener == "LOGIN" else "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pki.authority.certificate),
        "default.api.timeout.ms": "20000",
    }
    if how == "MUTUAL":
        given |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pki.client.both)}
    elif listener == "LOGIN":
        module = PLAIN_MODULE if how == "PLAIN" else SCRAM_MODULE
        jaas = f'{module} required username="{USER}" password="{PASSWORD}";'
        given |= {"sasl.mechanism": how, "sasl.jaas.config": jaas}
    return given


@pytest.mark.parametrize(
    ("how", "change", "why"),
    [
        ("OPEN", {"ssl.truststore.location": "other"}, "its certificate is not accepted"),
        ("MUTUAL", {"ssl.keystore.location": "stranger"}, "ended TLS: |closed the connection"),
        ("MUTUAL", {"ssl.keystore.location": ""}, "ended TLS: |closed the connection"),
        ("PLAIN", {"sasl.jaas.config": f'{PLAIN_MODULE} required username="{USER}" password="wrong";'}, "PLAIN: "),
    ],
)
def test_our_own_client_is_refused(broker: TlsBroker, how: str, change: dict[str, str], why: str) -> None:
    files = {"other": str(broker.pki.other.certificate), "stranger": str(broker.pki.stranger.both)}
    given = our_properties(broker, how) | {name: files.get(text, text) for name, text in change.items()}
    if not given.get("ssl.keystore.location"):
        for name in ("ssl.keystore.location", "ssl.keystore.type"):
            given.pop(name, None)
    network = Network(ClientConfig.from_properties(given))
    with pytest.raises(AuthenticationFailed, match=why):
        Admin(network).log_ranges({"t": range(1)})
    network.close()
