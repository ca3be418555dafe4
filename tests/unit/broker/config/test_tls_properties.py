"""ssl.* of listeners: the scope of the properties, and errors that stop the start, in one line without secrets."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.protocol.config_def import ConfigError
from tests.support.clients.sasl import PLAIN_MODULE

SECRET = "hunter2"
PLAIN = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.both.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_a="1";',
}
BASE = {
    "listeners": "SSL://127.0.0.1:0,BOTH://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
    "listener.security.protocol.map": "SSL:SSL,BOTH:SASL_SSL,PLAINTEXT:PLAINTEXT",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "/etc/key.pem",
    **PLAIN,
}


def test_a_listeners_own_properties_win() -> None:
    own = {
        "listener.name.both.ssl.keystore.location": "/etc/other.pem",
        "listener.name.both.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.both.ssl.truststore.type": "pem",
        "listener.name.both.ssl.truststore.location": "/etc/ca.pem",
        "listener.name.both.ssl.client.auth": "required",
    }
    config = BrokerConfig.load(BASE | own)
    assert config.warnings == ()
    assert config.security["PLAINTEXT"].tls is None
    ssl, both = config.security["SSL"].tls, config.security["BOTH"].tls
    assert ssl is not None
    assert both is not None
    assert (ssl.keys.location, both.keys.location) != (None, None)
    assert ssl.keys.location is not None
    assert both.keys.location is not None
    assert (ssl.keys.location.name, ssl.keys.location.text) == ("ssl.keystore.location", "/etc/key.pem")
    assert both.keys.location.name == "listener.name.both.ssl.keystore.location"
    assert both.keys.location.text == "/etc/other.pem"
    assert (ssl.versions, both.versions) == (("TLSv1.2", "TLSv1.3"), ("TLSv1.3",))
    assert (ssl.client_auth, both.client_auth) == ("none", "required")
    assert (config.security["SSL"].mechanisms, config.security["BOTH"].mechanisms) == ((), ("PLAIN",))
    assert ssl.rules is not None
    assert both.rules is None, "SASL says who it is"


def test_sasl_listeners_heed_client_auth_of_their_own_alone() -> None:
    """The common ssl.client.auth is ignored, as in Apache Kafka (KIP-684)."""
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/etc/ca.pem", "ssl.client.auth": "required"}
    config = BrokerConfig.load(BASE | trusted)
    ssl, both = config.security["SSL"].tls, config.security["BOTH"].tls
    assert ssl is not None
    assert both is not None
    assert (ssl.client_auth, both.client_auth) == ("required", "none")


OWN = "listener.name.ssl."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ssl.keystore.location": ""}, "value (none) for configuration ssl.keystore.location: must be given"),
        ({"ssl.keystore.type": "BKS"}, "value BKS for configuration ssl.keystore.type: must be PEM or PKCS12"),
        ({OWN + "ssl.keystore.type": "BKS"}, "configuration listener.name.ssl.ssl.keystore.type: must be PEM"),
        ({"ssl.keystore.password": SECRET}, "ssl.keystore.password: must be left out with PEM"),
        ({"ssl.keystore.certificate.chain": SECRET}, "chain: may not stand beside ssl.keystore.location"),
        ({"ssl.keystore.key": SECRET}, "ssl.keystore.key: may not stand beside ssl.keystore.location"),
        (
            {"ssl.keystore.location": "", "ssl.keystore.key": SECRET},
            "ssl.keystore.key: needs its certificate, ssl.keystore.certificate.chain",
        ),
        (
            {"ssl.keystore.location": "", "ssl.keystore.certificate.chain": SECRET},
            "ssl.keystore.certificate.chain: needs its private key, ssl.keystore.key",
        ),
        (
            {"ssl.keystore.location": "", "ssl.keystore.type": "PKCS12", "ssl.keystore.key": SECRET},
            "ssl.keystore.key: is PEM, which ssl.keystore.type=PEM must say",
        ),
        ({"ssl.truststore.password": SECRET}, "ssl.truststore.password: needs a file"),
        ({"ssl.truststore.certificates": SECRET}, "is PEM, which ssl.truststore.type=PEM must say"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth: must be one of required, requested, none"),
        ({OWN + "ssl.client.auth": "maybe"}, "value maybe for configuration listener.name.ssl.ssl.client.auth: must"),
        ({"ssl.client.auth": "required"}, "ssl.client.auth: needs ssl.truststore.location"),
        ({OWN + "ssl.client.auth": "requested"}, "listener.name.ssl.ssl.client.auth: needs ssl.truststore.location"),
        ({"ssl.enabled.protocols": "TLSv1.2,TLSv1"}, "value TLSv1.2,TLSv1 for configuration ssl.enabled.protocols"),
        ({"ssl.enabled.protocols": ""}, "ssl.enabled.protocols: must be one or several of TLSv1.2, TLSv1.3"),
        ({"ssl.cipher.suites": "TLS_NULL"}, "value TLS_NULL for configuration ssl.cipher.suites: TLS_NULL is not"),
        ({"ssl.principal.mapping.rules": "RULE:x"}, "value RULE:x for configuration ssl.principal.mapping.rules"),
        ({"ssl.allow.dn.changes": "perhaps"}, "ssl.allow.dn.changes: must be either true or false"),
    ],
)
def test_what_cannot_be_used_stops_the_start(change: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as failure:
        BrokerConfig.load(BASE | change)
    text = str(failure.value)
    assert message in text
    assert SECRET not in text
    assert "\n" not in text


def test_nothing_of_it_counts_without_a_listener_with_tls() -> None:
    """The properties are ignored, as in Apache Kafka: one file may serve several brokers."""
    config = BrokerConfig.load({"ssl.keystore.location": "/nowhere", "ssl.client.auth": "required"})
    assert config.security["PLAINTEXT"].tls is None


def test_secrets_have_no_text() -> None:
    own = {"ssl.keystore.location": "", "ssl.keystore.key": SECRET, "ssl.keystore.certificate.chain": SECRET}
    config = BrokerConfig.load(BASE | own | {"ssl.key.password": SECRET})
    assert SECRET not in repr(config.security["SSL"].tls)
