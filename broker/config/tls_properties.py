"""`ssl.*` of one listener: properties with its prefix (`listener.name.NAME.ssl.*`) override the broker's. They are
checked without reading files.

This module is imported only if a listener has TLS. The allowed combinations are those of Apache Kafka's
DefaultSslEngineFactory, except two that cannot work: no key store, and clients' certificates without a trust store.
These prevent the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.config.keys.given import Given
from shareq.broker.security.tls.cipher_suites import Chosen, choose
from shareq.broker.security.tls.mapping_rules import MappingRules
from shareq.broker.security.tls.settings import (
    JKS,
    NO_CLIENT_AUTH,
    PEM,
    PKCS12,
    KeyStore,
    Setting,
    TlsSettings,
    TrustStore,
)
from shareq.protocol.config_def import ConfigError, ConfigValue

_KINDS: Final = (PEM, PKCS12, JKS)
_HIDDEN: Final = "[hidden]"
_NONE: Final = "(none)"


def tls_settings(values: Mapping[str, ConfigValue], prefix: str, own: Mapping[str, str], *, sasl: bool) -> TlsSettings:
    """Build the TLS settings of one listener from its `prefix` and its `own` properties (names without the prefix).

    With `sasl`, clients need no certificate unless the listener's own properties ask for one, and SASL names the user.
    Raise ConfigError if a value is invalid.
    """
    given = Given(values, prefix, own)
    keys, trusted = _key_store(given), trust_store(given)
    client_auth = NO_CLIENT_AUTH
    if not sasl or "ssl.client.auth" in own:
        client_auth = str(given.value("ssl.client.auth"))
    if client_auth != NO_CLIENT_AUTH and trusted is None:
        allowed = "needs ssl.truststore.location or ssl.truststore.certificates: whose clients are let in"
        raise ConfigError(given.name("ssl.client.auth"), client_auth, allowed)
    chosen = _suites(given)
    return TlsSettings(
        keys=keys,
        trusted=trusted,
        client_auth=client_auth,
        versions=chosen.versions,
        ciphers=chosen.ciphers,
        rules=None if sasl else _rules(given),
        allow_dn_changes=given.value("ssl.allow.dn.changes") is True,
        allow_san_changes=given.value("ssl.allow.san.changes") is True,
    )


def _key_store(given: Given) -> KeyStore:
    kind = _kind(given, "ssl.keystore.type")
    location, password = given.setting("ssl.keystore.location"), given.setting("ssl.keystore.password")
    chain, key = given.setting("ssl.keystore.certificate.chain"), given.setting("ssl.keystore.key")
    if key is None and location is None:
        if chain is not None:
            raise ConfigError(chain.name, _HIDDEN, "needs its private key, ssl.keystore.key")
        allowed = "must be given for a listener with TLS, or ssl.keystore.certificate.chain and ssl.keystore.key"
        raise ConfigError(given.name("ssl.keystore.location"), _NONE, allowed)
    if key is not None:
        _check_text(key, kind, location, password)
        if chain is None:
            raise ConfigError(key.name, _HIDDEN, "needs its certificate, ssl.keystore.certificate.chain")
    elif chain is not None:
        raise ConfigError(chain.name, _HIDDEN, "may not stand beside ssl.keystore.location")
    _check_file(kind, location, password)
    return KeyStore(kind, location, password, chain, key, given.setting("ssl.key.password"))


def trust_store(given: Given) -> TrustStore | None:
    """Return the configured trust store, or None. Raise ConfigError if it is invalid."""
    kind = _kind(given, "ssl.truststore.type")
    location, password = given.setting("ssl.truststore.location"), given.setting("ssl.truststore.password")
    certificates = given.setting("ssl.truststore.certificates")
    if certificates is not None:
        _check_text(certificates, kind, location, password)
    _check_file(kind, location, password)
    return TrustStore(kind, location, password, certificates) if location or certificates else None


def _kind(given: Given, key: str) -> Setting:
    text = str(given.value(key)).strip()
    if text.upper() not in _KINDS:
        raise ConfigError(given.name(key), text, f"must be {PEM} or {PKCS12}")
    return Setting(given.name(key), text.upper())


def _check_text(text: Setting, kind: Setting, location: Setting | None, password: Setting | None) -> None:
    if kind.text != PEM:
        raise ConfigError(text.name, _HIDDEN, f"is PEM, which {kind.name}=PEM must say")
    if location is not None:
        raise ConfigError(text.name, _HIDDEN, f"may not stand beside {location.name}")
    if password is not None:
        raise ConfigError(password.name, _HIDDEN, "must be left out with PEM, where ssl.key.password is the key's")


def _check_file(kind: Setting, location: Setting | None, password: Setting | None) -> None:
    if password is not None and location is None:
        raise ConfigError(password.name, _HIDDEN, "needs a file that it is the password of")
    if password is not None and kind.text == PEM:
        raise ConfigError(password.name, _HIDDEN, "must be left out with PEM, where ssl.key.password is the key's")


def _suites(given: Given) -> Chosen:
    versions, suites = given.texts("ssl.enabled.protocols"), given.texts("ssl.cipher.suites")
    try:
        choose(versions, ())
    except ValueError as error:
        raise ConfigError(given.name("ssl.enabled.protocols"), ",".join(versions), str(error)) from None
    try:
        return choose(versions, suites)
    except ValueError as error:
        raise ConfigError(given.name("ssl.cipher.suites"), ",".join(suites), str(error)) from None


def _rules(given: Given) -> MappingRules:
    text = str(given.value("ssl.principal.mapping.rules"))
    try:
        return MappingRules(text)
    except ValueError as error:
        raise ConfigError(given.name("ssl.principal.mapping.rules"), text, str(error)) from None
