"""`--protocol=SASL_SSL`: all clients of the suite use TLS and a login, configured only in this module.

`BrokerUnderTest` then has one listener, of SASL_SSL, and `secured` its port. A client with such an address and no
protocol of its own gets its library's properties: by `install` in this process, by `program_arguments` and
`tool_arguments` in other processes. Without the option none of this has an effect. A broker with `listeners` or
`advertised.listeners` of its own keeps them, because its tests are about them.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import shutil
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from devtools.clients.wire import WireClient
from devtools.kafka.certificates import Authority
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.interop.support.clients.commands import java_security, librdkafka_security, properties_text, python_security
from tests.interop.support.listeners import one_listener, scram_users

USER: Final = "alice"
PASSWORD: Final = "through-the-looking-glass"
LOGIN: Final = {"mechanism": "SCRAM-SHA-512", "username": USER, "password": PASSWORD}
PLAIN_LOGIN: Final = LOGIN | {"mechanism": "PLAIN"}
"""The login of clients that do not support SCRAM."""

# (module, class), changed by `install`.
_LIBRDKAFKA: Final = (
    ("confluent_kafka", "Producer"),
    ("confluent_kafka", "Consumer"),
    ("confluent_kafka", "ShareConsumer"),
    ("confluent_kafka.admin", "AdminClient"),
)
_PYTHON: Final = (
    ("kafka", "KafkaProducer"),
    ("kafka", "KafkaConsumer"),
    ("kafka.admin", "KafkaAdminClient"),
    ("aiokafka", "AIOKafkaProducer"),
    ("aiokafka", "AIOKafkaConsumer"),
    ("aiokafka.admin", "AIOKafkaAdminClient"),
)


class _Files(NamedTuple):
    authority: Path
    server: Path
    """The certificate and key of every broker."""
    properties: Path
    """The path of the file for `--command-config`."""


_CONFIG_OPTIONS: Final = ("--command-config", "--consumer-config")
_installed = False
_ports: set[int] = set()


@functools.cache
def _files() -> _Files:
    folder = Path(tempfile.mkdtemp(prefix="shareq-interop-pki-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    authority = Authority(folder)
    server = authority.sign("server", "DNS:localhost", "IP:127.0.0.1")
    properties = folder / "client.properties"
    files = _Files(authority.certificate, server.both, properties)
    properties.write_text(properties_text(java_security(LOGIN, {"ca": str(authority.certificate)})))
    return files


# -- brokers


class Listener(NamedTuple):
    """The settings that a broker needs to serve the suite's clients."""

    settings: Mapping[str, str]
    scram_users: Sequence[str]
    tls: ssl.SSLContext
    """The TLS context with which a test checks that the broker answers."""


def listener_for(kind: Literal["ours", "apache"], port: int, given: Mapping[str, str]) -> Listener | None:
    """Return a listener of SASL_SSL at `port`, which is secured from now on.

    None without the option, or if the test has listeners of its own.
    """
    if not _installed or "listeners" in given or "advertised.listeners" in given:
        return None
    _ports.add(port)
    files = _files()
    settings = {
        **one_listener(kind, port, "SASL_SSL", [USER], PASSWORD),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
    }
    return Listener(settings, scram_users([USER], PASSWORD), _context())


def secured(bootstrap: object) -> bool:
    """Return whether HOST:PORT, or a list of one, is a listener of `listener_for`."""
    if isinstance(bootstrap, list):
        return any(map(secured, bootstrap))
    port = str(bootstrap).rpartition(":")[2]
    return port.isdecimal() and int(port) in _ports


# -- clients, library by library


def tls() -> dict[str, str]:
    return {"ca": str(_files().authority)}


def java() -> dict[str, str]:
    """Return the properties of Java's clients, Spark's source and sink (with the prefix `kafka.`), and our client."""
    return java_security(LOGIN, tls())


def properties(bootstrap: str) -> dict[str, str]:
    """Return `java()` for a secured address, otherwise nothing."""
    return java() if secured(bootstrap) else {}


def program_arguments(arguments: Mapping[str, Any], login: Mapping[str, str] = LOGIN) -> dict[str, Any]:
    """Complete a command of a client program (Java, franz-go, node, kcat).

    `login` and `tls` are as client programs take them, `security` as our Java drivers do, besides whole Java
    configurations.
    """
    given = dict(arguments)
    for name in ("config", "consumer"):
        config = given.get(name)
        if isinstance(config, dict) and secured(config.get("bootstrap.servers")) and "security.protocol" not in config:
            given[name] = config | java()
    if secured(given.get("bootstrap")) and given.get("tls") is None:
        given |= {"login": dict(login), "tls": tls(), "security": java()}
    return given


def tool_arguments(arguments: Sequence[str]) -> list[str]:
    """Add `--command-config` to an Apache Kafka tool's arguments, after the address, before any subcommand.

    If the test gives a file, the properties are added to it.
    """
    given = list(arguments)
    at = given.index("--bootstrap-server") + 1 if "--bootstrap-server" in given else len(given)
    if not secured(" ".join(given[at : at + 1])):
        return given
    named = [Path(path) for option, path in pairwise(given) if option in _CONFIG_OPTIONS]
    for file in named:
        if file.exists() and "security.protocol" not in (text := file.read_text()):
            file.write_text(f"{text}\n{_files().properties.read_text()}")
    return given if named else [*given[: at + 1], *_config_option(), *given[at + 1 :]]


def without_config() -> dict[str, str]:
    """Return the arguments that `tool_arguments` adds, as tools print them, to be replaced by nothing."""
    return {" ".join(["", *_config_option()]): ""} if _installed else {}


def _config_option() -> tuple[str, str]:
    return "--command-config", str(_files().properties)


def librdkafka(settings: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(settings)
    if secured(given.get("bootstrap.servers")) and not str(given.get("security.protocol", "")).endswith("SSL"):
        given |= librdkafka_security(LOGIN, tls())
    return given


def python(settings: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(settings)
    if secured(given.get("bootstrap_servers")) and not str(given.get("security_protocol", "")).endswith("SSL"):
        given |= python_security(LOGIN, tls())
    return given


def _context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(_files().authority))


def _log_in(client: WireClient) -> None:
    handshake = client.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
    assert handshake.error_code == 0, handshake
    token = f"\0{USER}\0{PASSWORD}".encode()
    answer = client.call(SaslAuthenticateRequest(token), 2, SaslAuthenticateResponse)
    assert answer.error_code == 0, answer


# -- in this process


def install() -> None:
    """Make the clients' classes aware of secured ports, before any test module is imported."""
    global _installed  # noqa: PLW0603 - the option of a run
    if _installed:
        return
    _installed = True
    for module, name in _LIBRDKAFKA:
        _change(module, name, _with_librdkafka)
    for module, name in _PYTHON:
        _change(module, name, _with_python)
    WireClient.__init__ = _with_wire(WireClient.__init__)  # type: ignore[method-assign]


Initialize = Callable[..., None]


def _change(module: str, name: str, around: Callable[[Initialize], Initialize]) -> None:
    """Change a class in place; a class of C is replaced by a subclass."""
    found = import_module(module)
    base: Any = getattr(found, name)
    changed = functools.wraps(base.__init__)(around(base.__init__))
    if inspect.isfunction(base.__init__):
        base.__init__ = changed
    else:
        setattr(found, name, type(name, (base,), {"__init__": changed}))


def _with_librdkafka(plain: Initialize) -> Initialize:
    def initialize(self: object, settings: Mapping[str, Any], **more: Any) -> None:
        plain(self, librdkafka(settings), **more)

    return initialize


def _with_python(plain: Initialize) -> Initialize:
    def initialize(self: object, *positional: Any, **settings: Any) -> None:
        plain(self, *positional, **python(settings))

    return initialize


def _with_wire(plain: Initialize) -> Initialize:
    def initialize(self: WireClient, address: tuple[str, int], **given: Any) -> None:
        ours = address[1] in _ports and given.get("tls") is None
        plain(self, address, **(given | {"tls": _context()} if ours else given))
        if ours:
            _log_in(self)

    return initialize


# -- what has no such run

_OWN: Final = "has listeners of its own, which are what it is about"
_PROXY: Final = "a proxy between client and broker reads the frames"
_NO_BROKER: Final = "talks to no broker"
CANNOT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("/test_sasl_", "/test_tls_clients.py", "/test_tls_renewal.py", "/test_security_matrix.py"), _OWN),
    **dict.fromkeys(("/test_share_rights.py", "/test_changes_at_work.py", "::test_authentication["), _OWN),
    **dict.fromkeys(("/test_kafka_go.py", "/test_kafka_python_suite.py", "/test_client_cluster.py"), _OWN),
    **dict.fromkeys(("/test_oauth_clients.py", "/test_kafka_share_tests.py"), _OWN),
    **dict.fromkeys(("/test_java_client_settings.py", "/test_java_group_offsets.py"), _PROXY),
    **dict.fromkeys(("/test_java_codecs.py", "/test_java_record_batches.py", "/test_tls_names.py"), _NO_BROKER),
    **dict.fromkeys(("/test_frameworks.py", "/test_ephemeral.py"), "its suites start their brokers themselves"),
    "/test_exactly_once.py": "its jobs are programs of their own, in four languages, which know no security",
    "/test_start_in_java.py::test_the_worker_": "its program is that of a page, which is given an address alone",
    "/test_franz_go_share_suite.py": "its tests are given an address alone",
    "::test_what_is_switched_off": "wants to be ANONYMOUS",
    "[quotas-of-clients]": "lists the users of the broker, of which there is one more",
    "[share-consumer-perf-test]": "prints the metrics of the client, of which TLS has more",
}
"""The reason why a test does not run over SASL_SSL, by a part of the test's id."""


def why_not(node_id: str) -> str | None:
    return next((why for part, why in CANNOT.items() if part in node_id), None)
