"""OpenSSL's context of one listener, made from its key store and trust store."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from shareq.broker.process.tls.stores import HIDDEN, KeyMaterial, read_key_store, read_trust_store
from shareq.broker.security.tls.certificate import MalformedDer, Subject, subject_of
from shareq.broker.security.tls.settings import CLIENT_AUTH_REQUESTED, CLIENT_AUTH_REQUIRED, TlsSettings, TrustStore
from shareq.protocol.config_def import ConfigError

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY: Final = {CLIENT_AUTH_REQUESTED: ssl.CERT_OPTIONAL, CLIENT_AUTH_REQUIRED: ssl.CERT_REQUIRED}
_DESCRIPTORS: Final = "/proc/self/fd"


class Made(NamedTuple):
    """A context and the facts about its certificate. `source` and `value` are the property from which the
    certificate was read.
    """

    context: ssl.SSLContext
    subject: Subject
    source: str
    value: str


def make_context(settings: TlsSettings) -> Made:
    """Read the stores and make the context.

    Raise ConfigError, which names the property and, unless it is secret, its value.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [_VERSIONS[name] for name in settings.versions]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_RENEGOTIATION  # a client could have the broker do nothing else
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    if settings.ciphers:
        context.set_ciphers(":".join(settings.ciphers))
    material = read_key_store(settings.keys)
    _load_keys(context, material, settings)
    if settings.trusted is not None and settings.client_auth in _VERIFY:
        # As in Java: what is named as trusted is trusted, also if another authority has signed it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_mode = _VERIFY[settings.client_auth]
        _load_trusted(context, settings.trusted)
    try:
        subject = subject_of(material.certificate)
    except MalformedDer as error:
        raise ConfigError(
            material.source, material.value, f"has a certificate that is not understood: {error}"
        ) from None
    return Made(context, subject, material.source, material.value)


def _load_keys(context: ssl.SSLContext, material: KeyMaterial, settings: TlsSettings) -> None:
    with _as_file(material.pem) as path:
        try:
            # Without a password of its own, OpenSSL would ask at the terminal for one.
            context.load_cert_chain(path, password=lambda: material.password)
        except (ssl.SSLError, ValueError, OSError) as error:
            secret = settings.keys.key_password
            which = f" or {secret.name} is wrong" if secret is not None else ""
            allowed = f"certificate and key cannot be used{which}: {_reason(error)}"
            raise ConfigError(material.source, material.value, allowed) from None


def _load_trusted(context: ssl.SSLContext, store: TrustStore) -> None:
    given = store.location or store.certificates
    assert given is not None
    certificates = read_trust_store(store)
    try:
        context.load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError) as error:
        value = HIDDEN if store.location is None else given.text
        raise ConfigError(given.name, value, f"has certificates that cannot be used: {_reason(error)}") from None


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Yield the path of a file with the text, because OpenSSL reads keys only from files.

    The file is in memory if the system has such files.
    """
    if hasattr(os, "memfd_create") and os.path.isdir(_DESCRIPTORS):
        with open(os.memfd_create("shareq-tls"), "w") as memory:
            memory.write(text)
            memory.flush()
            yield f"{_DESCRIPTORS}/{memory.fileno()}"
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # its owner's alone, and removed at once
        file.write(text)
        file.flush()
        yield file.name


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return reason.replace("_", " ").lower() if isinstance(reason, str) else "not valid"
