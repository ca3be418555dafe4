"""A TLS broker of either kind, with a listener for each way to authenticate and its own certificates."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from devtools.kafka.certificates import Authority, Signed
from devtools.ports import free_port
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.commands import OAUTHBEARER, SCRAM_MODULE
from tests.interop.support.clients.features import MECHANISMS
from tests.interop.support.guarded_broker import PASSWORD
from tests.interop.support.listeners import SCRAM, allow_urls, scram_users, token_settings
from tests.support.clients.access import STANDARD
from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.clients.tokens import SigningKey, jwks

PROTOCOLS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "OPEN": "SSL",
    "MUTUAL": "SSL",
    "LOGIN": "SASL_SSL",
    "CLEAR": "SASL_PLAINTEXT",
    "ELSEWHERE": "SSL",
    "EXPIRED": "SSL",
}
"""The protocol of each listener.

MUTUAL requires certificates of clients; ELSEWHERE's certificate is of another host, and EXPIRED's has expired. The
tests themselves use PLAINTEXT, too.
"""

USER: Final = "alice"
"""The user of SASL, of the certificate `Pki.client` (by `RULES`) and of the token.

It has all rights, as anonymous clients do."""

CLAIMS: Final = {"aud": "kafka", "iss": "https://issuer.example"}
"""The claims that the broker expects of a token."""

RULES: Final = "RULE:^CN=([^,]*)-client,OU=Orders.*$/$1/L,DEFAULT"


class Pki:
    """Key stores and certificates.

    `store` is the broker's: `server`, whose names `again` shares. `client` has rights, `guest` none; `stranger` is from
    another authority. `token` holds a token of `USER`, and `keys` the keys to verify it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.other = Authority(folder), Authority(folder, "other")
        names = ("DNS:localhost", "IP:127.0.0.1")
        self.server = self.authority.sign("server", *names)
        self.elsewhere = self.authority.sign("elsewhere", "DNS:broker.example.com")
        self.expired = self.authority.sign("expired", *names, days=-1)
        self.again = self.authority.sign("again", *names, subject="/CN=server")
        self.client = self.authority.sign("ALICE-client", subject="/O=Example/OU=Orders/CN=ALICE-client")
        self.guest, self.stranger = self.authority.sign("guest"), self.other.sign("stranger")
        self.store = folder / "store.pem"
        shutil.copy(self.server.both, self.store)
        self.token, self.keys, signing = folder / "token.jwt", folder / "keys.json", SigningKey("one")
        self.token.write_text(signing.token(CLAIMS, sub=USER))
        self.keys.write_bytes(jwks(signing))

    def tls(self, client: Signed | None = None, authority: Authority | None = None) -> dict[str, str]:
        found = {"ca": str((authority or self.authority).certificate)}
        if client is not None:
            found |= {"certificate": str(client.certificate), "key": str(client.key)}
        return found


class TlsBroker:
    def __init__(self, broker: BrokerUnderTest, pki: Pki, ports: Mapping[str, int], metrics_port: int) -> None:
        self.broker = broker
        self.pki = pki
        self._ports = ports
        self._metrics = f"http://127.0.0.1:{metrics_port}/metrics"

    def bootstrap(self, listener: str) -> str:
        return f"localhost:{self._ports[listener]}"

    def failed_logins(self, listener: str) -> int:
        """Return our broker's count of failed logins and handshakes; Apache Kafka has it only in JMX."""
        with urlopen(self._metrics, timeout=20) as answer:
            text = answer.read().decode()
        name = "kafka_server_socket_server_metrics_failed_authentication_total"
        found = re.search(rf'^{name}{{[^}}]*listener="{listener}"[^}}]*}} (\d+)', text, re.MULTILINE)
        assert found is not None, text
        return int(found[1])

    @property
    def plain(self) -> str:
        return self.broker.bootstrap


@contextmanager
def tls_broker(kind: Kind, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[TlsBroker]:
    """Run a broker, remove it at the end, and check that no password or key is in its log.

    Java processes started meanwhile may read the token.
    """
    pki = Pki(folder)
    ports = {name: free_port() for name in PROTOCOLS}
    given = {**_common(pki), **_listeners(kind, ports), **(settings or {})}
    users, metrics_port = scram_users([USER], PASSWORD), free_port()
    broker = BrokerUnderTest(kind, given, port=ports["PLAINTEXT"], scram_users=users, metrics_port=metrics_port)
    with pytest.MonkeyPatch.context() as patch:
        allow_urls(patch, pki.keys, pki.token)
        try:
            broker.start()
            yield TlsBroker(broker, pki, ports, metrics_port)
            assert PASSWORD not in broker.log
            assert "PRIVATE KEY" not in broker.log
        finally:
            broker.remove()


def _common(pki: Pki) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pki.store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pki.authority.certificate),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.elsewhere.ssl.keystore.location": str(pki.elsewhere.both),
        "listener.name.expired.ssl.keystore.location": str(pki.expired.both),
        "ssl.principal.mapping.rules": RULES,
        "sasl.enabled.mechanisms": ",".join((*MECHANISMS, OAUTHBEARER)),
        **token_settings(pki.keys, "login", "clear", expected_audience=CLAIMS["aud"], expected_issuer=CLAIMS["iss"]),
        **_jaas("login"),
        **_jaas("clear"),
        "authorizer.class.name": STANDARD,
        "super.users": f"User:{USER};User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }


def _jaas(listener: str) -> dict[str, str]:
    plain = f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";'
    modules = {"PLAIN": plain, **dict.fromkeys(SCRAM, f"{SCRAM_MODULE} required;")}
    return {f"listener.name.{listener}.{name.lower()}.sasl.jaas.config": text for name, text in modules.items()}


def _listeners(kind: Kind, ports: Mapping[str, int]) -> dict[str, str]:
    addresses = ",".join(f"{name}://localhost:{port}" for name, port in ports.items())
    protocols = ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()) + ",CONTROLLER:PLAINTEXT"
    given = {"listeners": addresses, "listener.security.protocol.map": protocols}
    if kind == "apache":
        controller = free_port()
        given |= {
            "listeners": f"{addresses},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": addresses,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
        }
    return given
