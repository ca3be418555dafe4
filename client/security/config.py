"""The protection of connections: TLS with PEM, SASL with a user and a password or with a token.

Files are named here, not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from shareq.client.properties import Properties, boolean, listed, one_of
from shareq.protocol.jaas import parse_jaas

OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_SASL_NAMES: Final = (
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.jaas.config",
    "sasl.username",
    "sasl.password",
    _TOKEN_URL,
)
_TLS_NAMES: Final = (
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
    "ssl.enabled.protocols",
)
CONVERT_TRUSTSTORE: Final = (
    "convert it with `keytool -list -rfc -keystore FILE > ca.pem` and set ssl.truststore.type=PEM"
)
CONVERT_KEYSTORE: Final = (
    "convert it with `keytool -importkeystore -srckeystore FILE -destkeystore key.p12 -deststoretype PKCS12` and"
    " `openssl pkcs12 -in key.p12 -out key.pem`, and set ssl.keystore.type=PEM"
)


@dataclass(frozen=True, slots=True)
class Pem:
    """Certificates or a key in PEM: in a file, or given as text. `name` is the property it came from."""

    name: str
    location: str | None = None
    text: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """The TLS settings. `versions` are the ones that may be used, in Java's names."""

    trusted: Pem | None = None
    """None: the authorities that this machine trusts."""
    certificate: Pem | None = None
    """Our own, with its chain; None if the broker asks for none."""
    key: Pem | None = None
    """The key of `certificate`; None: it stands in the same file."""
    key_password: str | None = field(default=None, repr=False)
    verify: bool = True
    check_host_name: bool = True
    versions: tuple[str, ...] = _TLS_VERSIONS


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """The login: with a user and a password, or (OAUTHBEARER) with a token, in a file or from a function.

    The token is asked for at each login, so that it may be another one: before it expires, the broker ends the session.
    A config that is pickled needs a function that can be.
    """

    mechanism: str
    user: str = ""
    password: str = field(default="", repr=False)
    token_file: str | None = None
    token: Callable[[], str] | None = field(default=None, repr=False)


def tls_from(given: Properties, protocol: str) -> TlsConfig | None:
    """Read the TLS properties; None if the protocol has no TLS. Raise ConfigError."""
    if not protocol.endswith("SSL"):
        if (name := given.given(_TLS_NAMES)) is not None:
            raise given.error(name, f"has no effect with security.protocol={protocol}; SSL or SASL_SSL is needed")
        return None
    certificate, key = _own_certificate(given)
    password = given.take("ssl.key.password", str, secret=True)
    verify = given.take("enable.ssl.certificate.verification", boolean)
    algorithm = given.take("ssl.endpoint.identification.algorithm", one_of("HTTPS", "NONE", ""))
    versions = given.take("ssl.enabled.protocols", _versions)
    return TlsConfig(
        trusted=_trusted(given),
        certificate=certificate,
        key=key,
        key_password=password,
        verify=verify is not False,
        check_host_name=verify is not False and algorithm in (None, "HTTPS"),
        versions=versions or _TLS_VERSIONS,
    )


def _trusted(given: Properties) -> Pem | None:
    _pem_only(given, "ssl.truststore", CONVERT_TRUSTSTORE)
    return _pem(given, ("ssl.truststore.location", "ssl.ca.location"), ("ssl.truststore.certificates", "ssl.ca.pem"))


def _own_certificate(given: Properties) -> tuple[Pem | None, Pem | None]:
    _pem_only(given, "ssl.keystore", CONVERT_KEYSTORE)
    certificate = _pem(
        given,
        ("ssl.keystore.location", "ssl.certificate.location"),
        ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
    )
    key = _pem(given, ("ssl.key.location",), ("ssl.keystore.key", "ssl.key.pem"))
    if key is not None and certificate is None:
        raise given.error(key.name, "needs a certificate: ssl.keystore.certificate.chain or ssl.certificate.location")
    if certificate is not None and key is None and certificate.text is not None:
        raise given.error(certificate.name, "needs its key: ssl.keystore.key or ssl.key.pem")
    return certificate, key


def _pem_only(given: Properties, store: str, convert: str) -> None:
    kind = given.take(f"{store}.type", str)
    if kind is not None and kind.upper() != "PEM":
        raise given.error(f"{store}.type", f"{kind!r}: only PEM can be read here; {convert}")
    if given.take(f"{store}.password", str, secret=True) is not None:
        raise given.error(f"{store}.password", f"PEM has no store password (ssl.key.password is the key's); {convert}")


def _pem(given: Properties, locations: tuple[str, ...], texts: tuple[str, ...]) -> Pem | None:
    paths = [(name, given.take(name, str)) for name in locations]
    pems = [(name, given.take(name, str, secret=True)) for name in texts]
    found = [Pem(name, location=path) for name, path in paths if path]
    found += [Pem(name, text=text) for name, text in pems if text]
    if len(found) > 1:
        raise given.error(found[1].name, f"{found[0].name} is given already")
    return found[0] if found else None


def _versions(text: str) -> tuple[str, ...]:
    found = tuple(name for name in _TLS_VERSIONS if name in listed(text))
    if not found or len(found) != len(set(listed(text))):
        raise ValueError(f"must be one or several of {', '.join(_TLS_VERSIONS)}")
    return found


def sasl_from(given: Properties, protocol: str) -> SaslConfig | None:
    """Read the SASL properties; None if the protocol has no SASL. Raise ConfigError, which never shows a password."""
    if not protocol.startswith("SASL"):
        if (name := given.given(_SASL_NAMES)) is not None:
            needed = "SASL_PLAINTEXT or SASL_SSL"
            raise given.error(name, f"has no effect with security.protocol={protocol}; {needed} is needed")
        return None
    name = given.given(("sasl.mechanism", "sasl.mechanisms")) or "sasl.mechanism"
    mechanism = given.required(name, one_of(*MECHANISMS))
    if mechanism == OAUTHBEARER:
        return _token_from(given)
    user, password = given.take("sasl.username", str), given.take("sasl.password", str, secret=True)
    entry = given.take("sasl.jaas.config", parse_jaas, secret=True)
    if entry is not None:
        if user is not None or password is not None:
            raise given.error("sasl.jaas.config", "sasl.username and sasl.password are given already")
        if entry.module != _MODULES[mechanism]:
            raise given.error("sasl.jaas.config", f"for {mechanism}, the login module must be {_MODULES[mechanism]}")
        user, password = entry.options.get("username"), entry.options.get("password")
    if not user or not password:
        raise given.error("sasl.jaas.config", "must hold username and password, or set sasl.username and sasl.password")
    return SaslConfig(mechanism, user, password)


def _token_from(given: Properties) -> SaslConfig:
    entry = given.take("sasl.jaas.config", parse_jaas, secret=True)
    if entry is not None and entry.module != _MODULES[OAUTHBEARER]:
        raise given.error("sasl.jaas.config", f"for {OAUTHBEARER}, the login module must be {_MODULES[OAUTHBEARER]}")
    if entry is not None and entry.options:
        raise given.error("sasl.jaas.config", f"may have no options with {OAUTHBEARER}; {_TOKEN_URL} names the token")
    return SaslConfig(OAUTHBEARER, token_file=given.required(_TOKEN_URL, _file_of))


def _file_of(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise ValueError("must be file:///PATH: tokens are not fetched from a server here")
    return unquote(parts.path)
