"""`sasl.oauthbearer.*` of one listener: the prefix `listener.name.NAME.oauthbearer.` overrides
`listener.name.NAME.`, which overrides the broker's.

This module is imported only if a listener has OAUTHBEARER. As in Apache Kafka, `ssl.truststore.*` options of its
`oauthbearer.sasl.jaas.config` name the authorities that certify the server of the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.keys.given import Given
from shareq.broker.config.tls_properties import trust_store
from shareq.broker.security.oauth.settings import ClaimRules, OauthSettings
from shareq.broker.security.tls.settings import Setting, TrustStore
from shareq.protocol.config_def import ConfigError, ConfigValue
from shareq.protocol.jaas import parse_jaas

_MECHANISM: Final = "oauthbearer."
_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_VALIDATORS: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
_JAAS: Final = _MECHANISM + "sasl.jaas.config"
_VALIDATOR: Final = _MECHANISM + "sasl.server.callback.handler.class"
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_AUDIENCE: Final = "sasl.oauthbearer.expected.audience"
_ISSUER: Final = "sasl.oauthbearer.expected.issuer"
_ANY_AUDIENCE: Final = "sasl.oauthbearer.allow.unverified.audience"
_ANY_ISSUER: Final = "sasl.oauthbearer.allow.unverified.issuer"
_HIDDEN: Final = "[hidden]"


def oauth_settings(values: Mapping[str, ConfigValue], prefix: str, own: Mapping[str, str]) -> OauthSettings:
    """Build the OAUTHBEARER settings of one listener from its `prefix` and its `own` properties (names without the
    prefix).

    Raise ConfigError if a value is invalid.
    """
    given = Given(values, prefix, own, _MECHANISM)
    validator = own.get(_VALIDATOR, _VALIDATORS[0])
    if validator not in _VALIDATORS:
        allowed = f"must be {_VALIDATORS[0]}, or left out; tokens without a signature are not taken"
        raise ConfigError(prefix + _VALIDATOR, validator, allowed)
    keys_url = _keys_url(given)
    rules = ClaimRules(
        given.texts(_AUDIENCE),
        str(given.value(_ISSUER) or "").strip() or None,
        _claim(given, "sasl.oauthbearer.scope.claim.name"),
        _claim(given, "sasl.oauthbearer.sub.claim.name"),
        given.number("sasl.oauthbearer.clock.skew.seconds"),
    )
    if not rules.audiences:
        _must_be_allowed(given, _AUDIENCE, _ANY_AUDIENCE)
    if rules.issuer is None:
        _must_be_allowed(given, _ISSUER, _ANY_ISSUER)
    retry = given.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms")
    return OauthSettings(
        keys_url,
        _trusted(prefix, own),
        given.number("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
        retry,
        max(retry, given.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms")),
        rules,
    )


def _must_be_allowed(given: Given, expected: str, allowance: str) -> None:
    """Raise ConfigError if an expected claim is not set, unless its absence is allowed (Apache Kafka 4.4:
    BrokerJwtValidator).
    """
    if given.value(allowance) is not True:
        raise ConfigError(given.name(expected), "(none)", f"must be set, unless {allowance} is true")


def _claim(given: Given, key: str) -> str:
    name = str(given.value(key)).strip()
    if not name:
        raise ConfigError(given.name(key), name, "must name a claim")
    return name


def _keys_url(given: Given) -> Setting:
    url = given.setting(_URL)
    if url is None:
        raise ConfigError(given.name(_URL), "(none)", "must say where the keys are that tokens are signed with")
    try:
        parts = urlsplit(url.text)
        _ = parts.port  # ValueError unless it is one
    except ValueError:
        raise ConfigError(url.name, _HIDDEN, "is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError(url.name, _HIDDEN, "must not hold a user or a password")
    of_file = parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/")
    if not of_file and not (parts.scheme == "https" and parts.hostname):
        raise ConfigError(url.name, url.text, "must be https://HOST/PATH or file:///PATH")
    return url


def _trusted(prefix: str, own: Mapping[str, str]) -> TrustStore | None:
    text = own.get(_JAAS)
    if text is None:
        return None
    try:
        entry = parse_jaas(text)
    except ValueError as error:
        raise ConfigError(prefix + _JAAS, _HIDDEN, str(error)) from None
    if entry.module != _MODULE:
        raise ConfigError(prefix + _JAAS, _HIDDEN, f"must name the login module {_MODULE}")
    for option in entry.options:
        if option.startswith("unsecuredValidator"):
            allowed = f"must not have {option}: tokens without a signature are not taken"
            raise ConfigError(prefix + _JAAS, _HIDDEN, allowed)
    return trust_store(Given(BROKER_KEYS.defaults(), f"{prefix}{_JAAS}: ", entry.options))
