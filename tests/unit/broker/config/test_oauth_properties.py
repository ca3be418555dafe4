"""OAUTHBEARER of a listener: the scope of its properties, and errors that stop the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.security.oauth.settings import OauthSettings
from shareq.protocol.config_def import ConfigError
from tests.support.clients.tokens import MODULE, VALIDATOR, oauth_properties

NAME = "listener.name.login."
URL = "sasl.oauthbearer.jwks.endpoint.url"
FILE = Path("/run/keys.json")


def settings_of(properties: dict[str, str]) -> OauthSettings:
    config = BrokerConfig.load(properties)
    assert config.warnings == ()
    (found,) = [each.oauth for each in config.security.values()]
    assert found is not None
    return found


def test_defaults_are_apache_kafkas() -> None:
    found = settings_of(oauth_properties(FILE))
    assert (found.keys_url.name, found.keys_url.text, found.trusted) == (URL, "file:///run/keys.json", None)
    assert (found.refresh_ms, found.retry_ms, found.retry_max_ms) == (3_600_000, 100, 10_000)
    assert found.rules == ((), None, "scope", "sub", 30)


AUDIENCE, ISSUER = "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer"
ANY_AUDIENCE, ANY_ISSUER = "sasl.oauthbearer.allow.unverified.audience", "sasl.oauthbearer.allow.unverified.issuer"


@pytest.mark.parametrize("prefix", ["", NAME, f"{NAME}oauthbearer."])
def test_what_is_expected_of_tokens_must_be_set_or_that_nothing_is(prefix: str) -> None:
    """The audience is required, then the issuer, not blank, as by BrokerJwtValidator of Apache Kafka 4.4."""
    given = oauth_properties(FILE, "LOGIN")
    del given[ANY_AUDIENCE], given[ANY_ISSUER]
    with pytest.raises(ConfigError, match=rf"{AUDIENCE}: must be set, unless {ANY_AUDIENCE} is true"):
        BrokerConfig.load(given)
    with pytest.raises(ConfigError, match=rf"{ISSUER}: must be set, unless {ANY_ISSUER} is true"):
        BrokerConfig.load({**given, f"{prefix}{AUDIENCE}": "kafka"})
    with pytest.raises(ConfigError, match=rf"{AUDIENCE}: must be set"):
        BrokerConfig.load({**given, f"{prefix}{ISSUER}": "https://issuer.example", ANY_AUDIENCE: "false"})
    with pytest.raises(ConfigError, match=rf"{ISSUER}: must be set"):
        BrokerConfig.load({**given, f"{prefix}{AUDIENCE}": "kafka", f"{prefix}{ISSUER}": " "})
    found = settings_of({**given, f"{prefix}{AUDIENCE}": "kafka", f"{prefix}{ANY_ISSUER}": "true"})
    assert found.rules[:2] == (("kafka",), None)
    found = settings_of({**given, f"{prefix}{ISSUER}": "https://issuer.example", f"{prefix}{ANY_AUDIENCE}": "true"})
    assert found.rules[:2] == ((), "https://issuer.example")


def test_what_is_expected_holds_whatever_is_allowed() -> None:
    given = {**oauth_properties(FILE), AUDIENCE: "kafka", ISSUER: "https://issuer.example"}
    assert settings_of(given).rules[:2] == (("kafka",), "https://issuer.example")


def test_every_property_counts() -> None:
    found = settings_of(
        {
            **oauth_properties(FILE),
            URL: "https://issuer.example:8443/keys?x=1",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms": "5000",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "7",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "70",
            "sasl.oauthbearer.expected.audience": "kafka, queue",
            "sasl.oauthbearer.expected.issuer": "https://issuer.example",
            "sasl.oauthbearer.scope.claim.name": "scp",
            "sasl.oauthbearer.sub.claim.name": "email",
            "sasl.oauthbearer.clock.skew.seconds": "0",
        }
    )
    assert found.keys_url.text == "https://issuer.example:8443/keys?x=1"
    assert (found.refresh_ms, found.retry_ms, found.retry_max_ms) == (5000, 7, 70)
    assert found.rules == (("kafka", "queue"), "https://issuer.example", "scp", "email", 0)


def test_a_mechanisms_own_wins_over_the_listeners_over_the_brokers() -> None:
    key = "sasl.oauthbearer.sub.claim.name"
    given = oauth_properties(FILE, "LOGIN")
    names = [key, f"{NAME}{key}", f"{NAME}oauthbearer.{key}"]
    for at, name in enumerate(names):
        given[name] = f"claim{at}"
        assert settings_of(given).rules.sub_claim == f"claim{at}"
    given[names[1]], given[names[2]] = "x", " "
    with pytest.raises(ConfigError, match=rf"configuration {names[2]}: must name a claim"):
        BrokerConfig.load(given)


def test_it_may_stand_beside_others_and_on_one_listener_alone() -> None:
    config = BrokerConfig.load(
        {
            **oauth_properties(FILE),
            "listeners": "LOGIN://127.0.0.1:0,TOKENS://127.0.0.1:0",
            "listener.security.protocol.map": "LOGIN:SASL_PLAINTEXT,TOKENS:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.tokens.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.tokens.oauthbearer.connections.max.reauth.ms": "60000",
        }
    )
    login, tokens = config.security["LOGIN"], config.security["TOKENS"]
    assert (login.oauth, login.mechanisms) == (None, ("SCRAM-SHA-256",))
    assert tokens.oauth is not None
    assert tokens.max_reauth_ms == {"SCRAM-SHA-512": 0, "OAUTHBEARER": 60_000}


def test_a_configuration_of_apache_kafkas_is_taken() -> None:
    """The file has the login module and the validator's class, which Apache Kafka needs; login options are ignored."""
    found = settings_of(
        {
            **oauth_properties(FILE, "LOGIN"),
            f"{NAME}oauthbearer.sasl.jaas.config": f'{MODULE} required unsecuredLoginStringClaim_sub="x" '
            'ssl.truststore.type="PEM" ssl.truststore.location="/ca.pem";',
            f"{NAME}oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
        }
    )
    assert found.trusted is not None
    assert found.trusted.location is not None
    assert found.trusted.location.text == "/ca.pem"


@pytest.mark.parametrize(
    ("change", "name", "allowed"),
    [
        ({URL: ""}, URL, "must say where the keys are"),
        ({URL: "http://issuer.example/keys"}, URL, "must be https://HOST/PATH or file:///PATH"),
        ({URL: "ftp://issuer.example/keys"}, URL, "must be https://HOST/PATH or file:///PATH"),
        ({URL: "https:///keys"}, URL, "must be https://HOST/PATH or file:///PATH"),
        ({URL: "file:keys.json"}, URL, "must be https://HOST/PATH or file:///PATH"),
        ({URL: "file://elsewhere/keys.json"}, URL, "must be https://HOST/PATH or file:///PATH"),
        ({URL: "/run/keys.json"}, URL, "must be https://HOST/PATH or file:///PATH"),
        ({URL: "https://issuer.example:port/"}, URL, "is no URL"),
        ({URL: "https://[issuer/"}, URL, "is no URL"),
        ({URL: "https://me:hunter2@issuer.example/"}, URL, "must not hold a user or a password"),
        ({f"{NAME}{URL}": "http://x/"}, f"{NAME}{URL}", "must be https:"),
        ({f"{NAME}oauthbearer.{URL}": "http://x/"}, f"{NAME}oauthbearer.{URL}", "must be https:"),
        ({"sasl.oauthbearer.clock.skew.seconds": "-1"}, "sasl.oauthbearer.clock.skew.seconds", "at least 0"),
        (
            {f"{NAME}sasl.oauthbearer.clock.skew.seconds": "soon"},
            f"{NAME}sasl.oauthbearer.clock.skew.seconds",
            "whole number",
        ),
        ({"sasl.oauthbearer.jwks.endpoint.refresh.ms": "0"}, "sasl.oauthbearer.jwks.endpoint.refresh.ms", "at least 1"),
        (
            {f"{NAME}oauthbearer.sasl.server.callback.handler.class": "org.example.Handler"},
            f"{NAME}oauthbearer.sasl.server.callback.handler.class",
            "tokens without a signature are not taken",
        ),
        (
            {f"{NAME}oauthbearer.sasl.jaas.config": f'{MODULE} required unsecuredValidatorAllowableClockSkewMs="1";'},
            f"{NAME}oauthbearer.sasl.jaas.config",
            "tokens without a signature are not taken",
        ),
        (
            {f"{NAME}oauthbearer.sasl.jaas.config": 'org.example.Module required x="hunter2";'},
            f"{NAME}oauthbearer.sasl.jaas.config",
            "must name the login module",
        ),
        (
            {f"{NAME}oauthbearer.sasl.jaas.config": "hunter2"},
            f"{NAME}oauthbearer.sasl.jaas.config",
            "must be MODULE FLAG",
        ),
        (
            {f"{NAME}oauthbearer.sasl.jaas.config": f'{MODULE} required ssl.truststore.password="hunter2";'},
            f"{NAME}oauthbearer.sasl.jaas.config: ssl.truststore.password",
            "needs a file",
        ),
    ],
)
def test_what_cannot_be_used_stops_the_start(change: dict[str, str], name: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as failure:
        BrokerConfig.load({**oauth_properties(FILE, "LOGIN"), **change})
    assert f"configuration {name}: " in str(failure.value)
    assert allowed in str(failure.value)
    assert "hunter2" not in str(failure.value)
