"""PKCS12 stores as PEM blocks. This needs the library `cryptography` (the extra shareq[tls]), since Python has no
access to OpenSSL's functions for them.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.security.tls.settings import Setting
from shareq.protocol.config_def import ConfigError
from shareq.protocol.pem import PemBlock, pem_blocks

try:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    _MISSING = False
except ImportError:
    _MISSING = True

_WRONG: Final = "cannot be read as PKCS12: the password is wrong, or the file is damaged"


def key_store_pem(
    data: bytes, kind: Setting, location: Setting, password: str
) -> tuple[list[PemBlock], list[PemBlock]]:
    """Return the certificates, leaf first, and the key. Raise ConfigError."""
    store = _loaded(data, kind, location, password)
    certificates = [each.certificate for each in (store.cert, *store.additional_certs) if each is not None]
    if store.key is None or store.cert is None:
        raise ConfigError(location.name, location.text, "has no private key with its certificate")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return _pem([each.public_bytes(Encoding.PEM) for each in certificates]), pem_blocks(key)


def trust_store_pem(data: bytes, kind: Setting, location: Setting, password: str) -> list[PemBlock]:
    """Return all certificates. Raise ConfigError."""
    store = _loaded(data, kind, location, password)
    found = [each.certificate for each in (store.cert, *store.additional_certs) if each is not None]
    return _pem([each.public_bytes(Encoding.PEM) for each in found])


def _loaded(data: bytes, kind: Setting, location: Setting, password: str) -> pkcs12.PKCS12KeyAndCertificates:
    if _MISSING:
        convert = f"openssl pkcs12 -in {location.text} -noenc -out STORE.pem"
        allowed = f"needs `pip install 'shareq[tls]'`; or convert the file with `{convert}` and set {kind.name}=PEM"
        raise ConfigError(kind.name, kind.text, allowed)
    try:
        return pkcs12.load_pkcs12(data, password.encode())
    except Exception as error:  # whatever the library makes of bytes that are no store
        raise ConfigError(location.name, location.text, _WRONG) from error


def _pem(certificates: list[bytes]) -> list[PemBlock]:
    return pem_blocks(b"".join(certificates).decode())
