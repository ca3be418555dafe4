"""Properties of listeners with TLS, by Apache Kafka's names. Each may have the prefix `listener.name.NAME.`."""

from __future__ import annotations

from typing import Final

from shareq.protocol.config_def import OneOf, UpdateMode, boolean, password, text, words

_PER_BROKER: Final = UpdateMode.PER_BROKER


class TlsProperties:
    """Properties of listeners with TLS."""

    ssl_keystore_type = text(
        "ssl.keystore.type",
        "JKS",
        "PEM, or PKCS12 with the extra shareq[tls]. JKS, Apache Kafka's default, is read if the file is PKCS12.",
        mode=_PER_BROKER,
    )
    ssl_keystore_location = text(
        "ssl.keystore.location", None, "A file with certificate, chain and private key.", mode=_PER_BROKER
    )
    ssl_keystore_password = password("ssl.keystore.password", None, "The password of a PKCS12 file.", mode=_PER_BROKER)
    ssl_key_password = password(
        "ssl.key.password", None, "The password of an encrypted private key in PEM.", mode=_PER_BROKER
    )
    ssl_keystore_certificate_chain = password(
        "ssl.keystore.certificate.chain",
        None,
        "Certificate and chain as PEM text, instead of a file.",
        mode=_PER_BROKER,
    )
    ssl_keystore_key = password("ssl.keystore.key", None, "The private key as PEM text.", mode=_PER_BROKER)
    ssl_truststore_type = text("ssl.truststore.type", "JKS", "As `ssl.keystore.type`.", mode=_PER_BROKER)
    ssl_truststore_location = text(
        "ssl.truststore.location", None, "A file with the authorities whose clients are let in.", mode=_PER_BROKER
    )
    ssl_truststore_password = password(
        "ssl.truststore.password", None, "The password of a PKCS12 file.", mode=_PER_BROKER
    )
    ssl_truststore_certificates = password(
        "ssl.truststore.certificates", None, "The authorities as PEM text, instead of a file.", mode=_PER_BROKER
    )
    ssl_client_auth = text(
        "ssl.client.auth",
        "none",
        "Whether clients have to show a certificate. Listeners of SASL_SSL heed it only behind `listener.name.NAME.`.",
        valid=OneOf("required", "requested", "none"),
    )
    ssl_principal_mapping_rules = text(
        "ssl.principal.mapping.rules",
        "DEFAULT",
        "From the distinguished name of a client's certificate to its user: RULE:pattern/replacement/[LU] or DEFAULT.",
    )
    ssl_enabled_protocols = words("ssl.enabled.protocols", ("TLSv1.2", "TLSv1.3"), "TLSv1.2, TLSv1.3 or both.")
    ssl_cipher_suites = words(
        "ssl.cipher.suites", (), "Cipher suites that may be used, by Java's names; empty: good ones."
    )
    ssl_allow_dn_changes = boolean(
        "ssl.allow.dn.changes", False, "Whether a certificate that is renewed may have another distinguished name."
    )
    ssl_allow_san_changes = boolean(
        "ssl.allow.san.changes",
        False,
        "Whether a certificate that is renewed may lack a name (subjectAltName) of the one before.",
    )


"""Stores may change while the broker runs, of one listener at a time: behind `listener.name.NAME.` only."""
