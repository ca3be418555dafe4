"""Properties of listeners with TLS, by Apache Kafka's names. Each may stand behind `listener.name.NAME.`, too."""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import ConfigKey, OneOf, UpdateMode
from shareq.protocol.config_def import ConfigType as Type

_PER_BROKER: Final = UpdateMode.PER_BROKER

TLS_KEYS: Final = (
    ConfigKey(
        "ssl.keystore.type",
        Type.STRING,
        "JKS",
        None,
        "PEM, or PKCS12 with the extra shareq[tls]. JKS, Apache Kafka's default, is read if the file is PKCS12.",
        mode=_PER_BROKER,
    ),
    ConfigKey(
        "ssl.keystore.location",
        Type.STRING,
        None,
        None,
        "A file with certificate, chain and private key.",
        mode=_PER_BROKER,
    ),
    ConfigKey("ssl.keystore.password", Type.PASSWORD, None, None, "Of a PKCS12 file.", mode=_PER_BROKER),
    ConfigKey("ssl.key.password", Type.PASSWORD, None, None, "Of an encrypted private key in PEM.", mode=_PER_BROKER),
    ConfigKey(
        "ssl.keystore.certificate.chain",
        Type.PASSWORD,
        None,
        None,
        "Certificate and chain as PEM text, instead of a file.",
        mode=_PER_BROKER,
    ),
    ConfigKey("ssl.keystore.key", Type.PASSWORD, None, None, "The private key as PEM text.", mode=_PER_BROKER),
    ConfigKey("ssl.truststore.type", Type.STRING, "JKS", None, "As `ssl.keystore.type`.", mode=_PER_BROKER),
    ConfigKey(
        "ssl.truststore.location",
        Type.STRING,
        None,
        None,
        "A file with the authorities whose clients are let in.",
        mode=_PER_BROKER,
    ),
    ConfigKey("ssl.truststore.password", Type.PASSWORD, None, None, "Of a PKCS12 file.", mode=_PER_BROKER),
    ConfigKey(
        "ssl.truststore.certificates",
        Type.PASSWORD,
        None,
        None,
        "These authorities as PEM text, instead of a file.",
        mode=_PER_BROKER,
    ),
    ConfigKey(
        "ssl.client.auth",
        Type.STRING,
        "none",
        OneOf("required", "requested", "none"),
        "Whether clients have to show a certificate. Listeners of SASL_SSL heed it only behind `listener.name.NAME.`.",
    ),
    ConfigKey(
        "ssl.principal.mapping.rules",
        Type.STRING,
        "DEFAULT",
        None,
        "From the distinguished name of a client's certificate to its user: RULE:pattern/replacement/[LU] or DEFAULT.",
    ),
    ConfigKey("ssl.enabled.protocols", Type.LIST, ("TLSv1.2", "TLSv1.3"), None, "TLSv1.2, TLSv1.3 or both."),
    ConfigKey(
        "ssl.cipher.suites", Type.LIST, (), None, "Cipher suites that may be used, by Java's names; empty: good ones."
    ),
    ConfigKey(
        "ssl.allow.dn.changes",
        Type.BOOLEAN,
        False,
        None,
        "Whether a certificate that is renewed may have another distinguished name.",
    ),
    ConfigKey(
        "ssl.allow.san.changes",
        Type.BOOLEAN,
        False,
        None,
        "Whether a certificate that is renewed may lack a name (subjectAltName) of the one before.",
    ),
)
"""Stores may change while the broker runs, of one listener at a time: behind `listener.name.NAME.` only."""
