"""Key and trust stores of listeners: reading, refusals in one line, and renewal."""

from __future__ import annotations

import logging
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate

from devtools.in_memory.virtual_clock import VirtualClock
from devtools.kafka.certificates import KEY_PASSWORD, Authority, Signed, why_unavailable
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process.tls import pkcs12 as pkcs12_stores
from shareq.broker.process.tls.listeners import TlsListeners, principal_of_certificate
from shareq.broker.security.tls.mapping_rules import MappingRules
from shareq.protocol.config_def import ConfigError

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))

STORE_PASSWORD = "open sesame"


class Pki:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.other = Authority(folder), Authority(folder, "other")
        self.server = self.authority.sign("server", "DNS:localhost", "DNS:broker.example")
        self.client = self.authority.sign("client")

    def signed_again(self, folder: Path, name: str = "server", *names: str) -> Signed:
        folder.mkdir(exist_ok=True)
        return Authority(folder).sign(name, *(names or ("DNS:localhost", "DNS:broker.example")))

    def p12(self, signed: Signed, password: str = STORE_PASSWORD) -> Path:
        key = load_pem_private_key(signed.key.read_bytes(), None)
        certificate = load_pem_x509_certificate(signed.certificate.read_bytes())
        chain = [load_pem_x509_certificate(self.authority.certificate.read_bytes())]
        path = self.folder / "store.p12"
        encryption = BestAvailableEncryption(password.encode())
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"x", key, certificate, chain, encryption))  # type: ignore[arg-type]
        return path


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


def listeners_of(**given: object) -> tuple[TlsListeners, BrokerConfig]:
    """Return the configuration of one listener, SSL. Underscores stand for dots in names."""
    texts = {name.replace("_", "."): str(text) for name, text in given.items()}
    config = BrokerConfig.load({"listeners": "SSL://127.0.0.1:0", "ssl.keystore.type": "PEM", **texts})
    return TlsListeners(config, VirtualClock()), config


def shown_by(listeners: TlsListeners, *, client: Signed | None = None) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = listeners.port("SSL").context.wrap_bio(incoming, outgoing, server_side=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    peer = context.wrap_bio(outgoing, incoming)
    for _ in range(3):
        for side in (peer, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = peer.getpeercert(binary_form=True)
    assert shown is not None
    return shown


def der(signed: Signed) -> bytes:
    return ssl.PEM_cert_to_DER_cert(signed.certificate.read_text())


def test_pem_in_one_file_in_texts_and_with_a_locked_key(pki: Pki, tmp_path: Path) -> None:
    locked = tmp_path / "locked.pem"
    locked.write_text(pki.server.locked_key.read_text() + pki.server.certificate.read_text())
    chain, key = pki.server.certificate.read_text(), pki.server.key.read_text()
    one_line = {
        "ssl_keystore_certificate_chain": chain.replace("\n", " "),
        "ssl_keystore_key": key.replace("\n", "\\n"),
    }
    for given in (
        {"ssl_keystore_location": pki.server.both},
        {"ssl_keystore_certificate_chain": chain, "ssl_keystore_key": key},
        one_line,
        {"ssl_keystore_location": locked, "ssl_key_password": KEY_PASSWORD},
    ):
        assert shown_by(listeners_of(**given)[0]) == der(pki.server)


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_pkcs12_also_where_the_type_is_the_default(pki: Pki, kind: str) -> None:
    """The file's format decides, as in Java, whichever of the two types is configured."""
    given = {"ssl_keystore_type": kind, "ssl_keystore_location": pki.p12(pki.server)}
    listeners, _ = listeners_of(**given, ssl_keystore_password=STORE_PASSWORD)
    assert shown_by(listeners) == der(pki.server)


def test_pkcs12_of_trusted_authorities(pki: Pki, tmp_path: Path) -> None:
    store = tmp_path / "trust.p12"
    authority = load_pem_x509_certificate(pki.authority.certificate.read_bytes())
    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    store.write_bytes(pkcs12.serialize_key_and_certificates(None, None, None, [authority], encryption))
    listeners, _ = listeners_of(
        ssl_keystore_location=pki.server.both,
        ssl_truststore_type="PKCS12",
        ssl_truststore_location=store,
        ssl_truststore_password=STORE_PASSWORD,
        ssl_client_auth="required",
    )
    context = listeners.port("SSL").context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "ca"),),)]


def test_without_the_library_pkcs12_says_what_is_missing(pki: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pkcs12_stores, "_MISSING", True)
    with pytest.raises(ConfigError, match=r"value PKCS12 for configuration ssl\.keystore\.type: needs `pip install"):
        listeners_of(ssl_keystore_type="PKCS12", ssl_keystore_location=pki.p12(pki.server))


def _text(text: str) -> Callable[[Path, Pki], Path]:
    def make(folder: Path, _: Pki) -> Path:
        path = folder / "store"
        path.write_text(text)
        return path

    return make


def _mixed(folder: Path, pki: Pki) -> Path:
    path = folder / "store"
    path.write_text(pki.client.key.read_text() + pki.server.certificate.read_text())
    return path


def _jks(folder: Path, _: Pki) -> Path:
    path = folder / "store"
    path.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2" + bytes(40))
    return path


BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("kind", "make", "message"),
    [
        ("PEM", lambda folder, _: folder / "none", "cannot be read: No such file or directory"),
        ("PEM", lambda folder, _: folder, "cannot be read: Is a directory"),
        ("PEM", _text("text"), "is not PEM: it has no -----BEGIN ...----- line"),
        ("PEM", _jks, "is a Java key store (JKS), which is not read here; convert it with `keytool -importkeystore"),
        ("JKS", _jks, "is a Java key store (JKS), which is not read here; convert it with `keytool -importkeystore"),
        ("PEM", lambda _, pki: pki.p12(pki.server), "looks like PKCS12, which ssl.keystore.type=PKCS12 must say"),
        ("PKCS12", lambda _, pki: pki.server.both, "is PEM, which ssl.keystore.type=PEM must say"),
        ("PKCS12", _text("text"), "is not PKCS12"),
        ("PKCS12", _text("0\x03abc"), "cannot be read as PKCS12: the password is wrong, or the file is damaged"),
        ("PKCS12", lambda _, pki: pki.p12(pki.server), "cannot be read as PKCS12: the password is wrong"),
        ("PEM", lambda _, pki: pki.server.key, "has no certificate"),
        ("PEM", lambda _, pki: pki.server.certificate, "has no private key"),
        ("PEM", _mixed, "certificate and key cannot be used: key values mismatch"),
        ("PEM", lambda _, pki: pki.folder / "locked", "certificate and key cannot be used: "),
        ("PEM", _text(BROKEN + KEY), "certificate and key cannot be used: "),
    ],
)
def test_what_cannot_be_read_is_one_line(
    pki: Pki, tmp_path: Path, kind: str, make: Callable[[Path, Pki], Path], message: str
) -> None:
    (pki.folder / "locked").write_text(pki.server.locked_key.read_text() + pki.server.certificate.read_text())
    path = make(tmp_path, pki)
    with pytest.raises(ConfigError) as failure:
        listeners_of(ssl_keystore_type=kind, ssl_keystore_location=path)
    assert str(failure.value).startswith(f"Invalid value {path} for configuration ssl.keystore.location: {message}")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder, _: folder / "none", "cannot be read: No such file or directory"),
        (_text("text"), "is not PEM: it has no -----BEGIN ...----- line"),
        (_jks, "is a Java key store (JKS), which is not read here; convert it with `keytool -importkeystore "),
        (lambda _, pki: pki.server.key, "has no certificate"),
        (_text(BROKEN), "has certificates that cannot be used: "),
    ],
)
def test_what_cannot_be_trusted_is_one_line(
    pki: Pki, tmp_path: Path, make: Callable[[Path, Pki], Path], message: str
) -> None:
    path = make(tmp_path, pki)
    trusted = {"ssl_truststore_type": "PEM", "ssl_truststore_location": path, "ssl_client_auth": "required"}
    with pytest.raises(ConfigError) as failure:
        listeners_of(ssl_keystore_location=pki.server.both, **trusted)
    assert str(failure.value).startswith(f"Invalid value {path} for configuration ssl.truststore.location: {message}")


def test_texts_that_cannot_be_read_are_not_shown(pki: Pki) -> None:
    chain = {"ssl_keystore_certificate_chain": pki.server.certificate.read_text()}
    for key, message in (("hunter2", "is not PEM"), (BROKEN, "has no private key")):
        with pytest.raises(ConfigError, match=rf"value \[hidden\] for configuration ssl\.keystore\.key: {message}"):
            listeners_of(ssl_keystore_key=key, **chain)
    with pytest.raises(ConfigError, match=r"ssl\.key\.password is wrong: ") as failure:
        listeners_of(ssl_keystore_key=pki.server.locked_key.read_text(), ssl_key_password="hunter2", **chain)
    assert "hunter2" not in str(failure.value)
    with pytest.raises(ConfigError, match=r"\[hidden\] for configuration ssl\.truststore\.certificates: has cert"):
        listeners_of(
            ssl_keystore_location=pki.server.both,
            ssl_truststore_type="PEM",
            ssl_truststore_certificates=BROKEN,
            ssl_client_auth="required",
        )


def test_a_renewed_file_is_read_again(pki: Pki, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "server.pem"
    shutil.copy(pki.server.both, path)
    listeners, config = listeners_of(ssl_keystore_location=path)
    again = pki.signed_again(tmp_path / "again")
    shutil.copy(again.both, path)
    assert shown_by(listeners) == der(pki.server)
    caplog.set_level(logging.INFO)
    listeners.renew(config)
    assert shown_by(listeners) == der(again)
    assert "listener SSL: certificate renewed: CN=server, until 2" in caplog.text


def ended(folder: Path) -> Signed:
    folder.mkdir(exist_ok=True)
    signed = Authority(folder).sign("server", "DNS:localhost", "DNS:broker.example")
    command = "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days -1 -extfile server.ext -out server.pem"
    subprocess.run(command.split(), check=True, capture_output=True, cwd=folder)
    signed.both.write_text(signed.key.read_text() + signed.certificate.read_text())
    return signed


def test_what_does_not_fit_is_refused_and_the_old_one_stays(
    pki: Pki, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server.pem"
    shutil.copy(pki.server.both, path)
    listeners, config = listeners_of(ssl_keystore_location=path)
    for signed, message in (
        (pki.client, "has a certificate of 'CN=client', and 'CN=server' is in use; ssl.allow.dn.changes=true allows"),
        (pki.signed_again(tmp_path / "fewer", "server", "DNS:localhost"), "without all names (subjectAltName) in use"),
        (ended(tmp_path / "ended"), "has a certificate that ended at 20"),
    ):
        shutil.copy(signed.both, path)
        with pytest.raises(
            ConfigError, match=r"Invalid value .*server\.pem for configuration ssl\.keystore\.location"
        ) as no:
            listeners.prepare(config, ["ssl"])
        assert message in str(no.value)
        listeners.renew(config)
        assert f"listener SSL: the certificate is not renewed: {no.value}" in caplog.text
        assert shown_by(listeners) == der(pki.server)
    path.unlink()
    listeners.renew(config)
    assert "cannot be read: No such file" in caplog.text
    assert shown_by(listeners) == der(pki.server)


def test_changes_of_names_can_be_allowed(pki: Pki, tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    shutil.copy(pki.server.both, path)
    given = {"ssl_allow_dn_changes": "true", "ssl_allow_san_changes": "true"}
    listeners, config = listeners_of(ssl_keystore_location=path, **given)
    shutil.copy(pki.client.both, path)
    listeners.renew(config)
    assert shown_by(listeners) == der(pki.client)


def test_nothing_changes_before_it_is_used(pki: Pki, tmp_path: Path) -> None:
    again = pki.signed_again(tmp_path / "again")
    listeners, config = listeners_of(ssl_keystore_location=pki.server.both)
    use = listeners.prepare(config.with_dynamic({"listener.name.ssl.ssl.keystore.location": str(again.both)}), ["ssl"])
    assert shown_by(listeners) == der(pki.server)
    use()
    assert shown_by(listeners) == der(again)
    assert listeners.certificate_ends_s("SSL") > 0


def test_a_listener_that_has_no_tls_cannot_be_renewed(pki: Pki) -> None:
    listeners, config = listeners_of(ssl_keystore_location=pki.server.both)
    with pytest.raises(ConfigError, match=r"listener\.name\.other: must be a listener with TLS: ssl"):
        listeners.prepare(config, ["other"])


def test_a_certificate_that_has_ended_is_a_warning_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listeners_of(ssl_keystore_location=ended(tmp_path).both)
    assert "listener SSL: its certificate CN=server ended at 20" in caplog.text


def test_principals_of_certificates(pki: Pki) -> None:
    assert principal_of_certificate(MappingRules("DEFAULT"), der(pki.client)) == "User:CN=client"
    assert principal_of_certificate(MappingRules("RULE:^CN=(.*)$/$1/U"), der(pki.client)) == "User:CLIENT"
    assert principal_of_certificate(MappingRules("RULE:^O=.*$/x/"), None) == "User:ANONYMOUS"
    with pytest.raises(ValueError, match=r"no rule of ssl\.principal\.mapping\.rules is for 'CN=client'"):
        principal_of_certificate(MappingRules("RULE:^O=.*$/x/"), der(pki.client))
