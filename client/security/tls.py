"""The TLS context of a configuration. Reads files; opens no connection."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import Final

from shareq.client.errors import ConfigError
from shareq.client.security.config import CONVERT_KEYSTORE, CONVERT_TRUSTSTORE, Pem, TlsConfig
from shareq.protocol.pem import PemBlock, pem_blocks

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def tls_context(config: TlsConfig) -> ssl.SSLContext:
    """Return the context. Raises ConfigError that names the property with an unusable file or text, never its
    content.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = [_VERSIONS[name] for name in config.versions]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.check_hostname = config.check_host_name
    context.verify_mode = ssl.CERT_REQUIRED if config.verify else ssl.CERT_NONE
    # As in Java: what is named as trusted is trusted, also if another authority has signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if config.trusted is not None:
        _trust(context, config.trusted)
    elif config.verify:
        context.load_default_certs()
    if config.certificate is not None:
        _show(context, config, config.certificate)
    return context


def _trust(context: ssl.SSLContext, trusted: Pem) -> None:
    blocks = [block.text for block in _blocks(trusted, CONVERT_TRUSTSTORE) if block.is_certificate]
    try:
        context.load_verify_locations(cadata="".join(blocks))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"{trusted.name}: no certificates that can be read: {_reason(error)}") from None


def _show(context: ssl.SSLContext, config: TlsConfig, certificate: Pem) -> None:
    blocks = _blocks(certificate, CONVERT_KEYSTORE)
    if config.key is not None:
        blocks += _blocks(config.key, CONVERT_KEYSTORE)
    # OpenSSL takes certificate and key by file alone; no other user can read this one, and it is removed at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write("".join(block.text for block in blocks))
        file.flush()
        try:
            # Without a password of its own, OpenSSL would ask at the terminal for one.
            context.load_cert_chain(file.name, password=lambda: config.key_password or "")
        except (ssl.SSLError, ValueError) as error:
            name = (config.key or certificate).name
            text = f"certificate or key cannot be used, or ssl.key.password is wrong: {_reason(error)}"
            raise ConfigError(f"{name}: {text}") from None


def _blocks(pem: Pem, convert: str) -> list[PemBlock]:
    r"""Return the blocks of a file, or of a text, in which a literal `\n` may also end a line."""
    text = pem.text
    if text is None:
        assert pem.location is not None
        try:
            text = Path(pem.location).read_bytes().decode("latin-1")
        except OSError as error:
            raise ConfigError(f"{pem.name}: {pem.location}: {error.strerror}") from None
    else:
        text = text.replace("\\n", "\n")
    found = pem_blocks(text)
    if not found:
        where = pem.location or "the text"
        raise ConfigError(f"{pem.name}: {where} is not PEM; a Java key store has to be converted: {convert}")
    return found


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or "not valid"
