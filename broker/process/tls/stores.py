"""Key stores and trust stores, read from files or texts. ConfigErrors name the property, never a secret."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from shareq.broker.security.tls.settings import PEM, KeyStore, Setting, TrustStore
from shareq.protocol.config_def import ConfigError
from shareq.protocol.pem import PemBlock, pem_blocks

HIDDEN: Final = "[hidden]"
_DER_SEQUENCE: Final = 0x30
_JAVA_STORES: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # JKS and JCEKS


class KeyMaterial(NamedTuple):
    """A certificate with its chain, leaf first, and its key, in PEM; `password` is the key's, "" for none.

    `certificate` is the leaf in DER; `source` is the property that names the store, `value` the part of its value
    that may be shown.
    """

    pem: str
    password: str
    certificate: bytes
    source: str
    value: str

    def __repr__(self) -> str:
        return f"KeyMaterial({self.source})"


def read_key_store(store: KeyStore) -> KeyMaterial:
    """Return the content of a key store. Raise ConfigError."""
    if store.key is not None and store.chain is not None:
        certificates = [block for block in _text_blocks(store.chain) if block.is_certificate]
        keys = [block for block in _text_blocks(store.key) if block.is_key]
        return _material(certificates, keys, store, store.chain.name, HIDDEN)
    location = store.location
    assert location is not None, "checked with the configuration"
    data = _read(location)
    if store.kind.text != PEM:
        _check_pkcs12(data, location, store.kind)
        from shareq.broker.process.tls.pkcs12 import key_store_pem  # its library takes longer to import than a start

        certificates, keys = key_store_pem(data, store.kind, location, _text(store.password))
    else:
        blocks = _file_blocks(data, location, store.kind)
        certificates, keys = ([one for one in blocks if one.is_certificate], [one for one in blocks if one.is_key])
    return _material(certificates, keys, store, location.name, location.text)


def read_trust_store(store: TrustStore) -> str:
    """Return the certificates in PEM. Raise ConfigError."""
    if store.certificates is not None:
        name, value, blocks = store.certificates.name, HIDDEN, _text_blocks(store.certificates)
    else:
        location = store.location
        assert location is not None, "checked with the configuration"
        name, value, data = location.name, location.text, _read(location)
        if store.kind.text != PEM:
            _check_pkcs12(data, location, store.kind)
            from shareq.broker.process.tls.pkcs12 import trust_store_pem

            blocks = trust_store_pem(data, store.kind, location, _text(store.password))
        else:
            blocks = _file_blocks(data, location, store.kind)
    certificates = [block.text for block in blocks if block.is_certificate]
    if not certificates:
        raise ConfigError(name, value, "has no certificate")
    return "".join(certificates)


def _material(
    certificates: Iterable[PemBlock], keys: Iterable[PemBlock], store: KeyStore, source: str, value: str
) -> KeyMaterial:
    certificates, keys = list(certificates), list(keys)
    if not certificates:
        raise ConfigError(source, value, "has no certificate")
    if not keys:
        key = store.key
        raise ConfigError(source if key is None else key.name, value if key is None else HIDDEN, "has no private key")
    try:
        leaf = certificates[0].der()
    except ValueError:
        raise ConfigError(source, value, "has a certificate that is not base64") from None
    pem = "".join(block.text for block in (keys[0], *certificates))
    return KeyMaterial(pem, _text(store.key_password) if store.kind.text == PEM else "", leaf, source, value)


def _read(location: Setting) -> bytes:
    try:
        with open(location.text, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = error.strerror if isinstance(error, OSError) else "no name of a file"
        raise ConfigError(location.name, location.text, f"cannot be read: {reason}") from None


def _text_blocks(setting: Setting) -> list[PemBlock]:
    blocks = pem_blocks(setting.text.replace("\\n", "\n"))
    if not blocks:
        raise ConfigError(setting.name, HIDDEN, "is not PEM: it has no -----BEGIN ...----- line")
    return blocks


def _file_blocks(data: bytes, location: Setting, kind: Setting) -> list[PemBlock]:
    blocks = pem_blocks(data.decode("latin-1"))
    if blocks:
        return blocks
    if data.startswith(_JAVA_STORES):
        _refuse_java_store(location)
    if data[:1] == bytes((_DER_SEQUENCE,)):
        raise ConfigError(location.name, location.text, f"looks like PKCS12, which {kind.name}=PKCS12 must say")
    raise ConfigError(location.name, location.text, "is not PEM: it has no -----BEGIN ...----- line")


def _check_pkcs12(data: bytes, location: Setting, kind: Setting) -> None:
    """Raise ConfigError unless the file is PKCS12. As in Java, a PKCS12 file may have type JKS; a real JKS file is
    refused.
    """
    if data.startswith(_JAVA_STORES):
        _refuse_java_store(location)
    if data[:1] != bytes((_DER_SEQUENCE,)):
        what = f"is PEM, which {kind.name}=PEM must say" if pem_blocks(data.decode("latin-1")) else "is not PKCS12"
        raise ConfigError(location.name, location.text, what)


def _refuse_java_store(location: Setting) -> NoReturn:
    convert = f"keytool -importkeystore -srckeystore {location.text} -destkeystore STORE.p12 -deststoretype PKCS12"
    kind = location.name.replace(".location", ".type")
    allowed = f"is a Java key store (JKS), which is not read here; convert it with `{convert}` and set {kind}=PKCS12"
    raise ConfigError(location.name, location.text, allowed)


def _text(setting: Setting | None) -> str:
    return "" if setting is None else setting.text
