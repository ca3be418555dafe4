"""The commands that every client program of the suite understands, in whatever language it is written.

`call(do, bootstrap=..., login=..., tls=..., **arguments)` returns a dictionary; a failure raises. `login` is None or
has `mechanism` with `username` and `password`, or (OAUTHBEARER) with the path `token_file`; `tls` is missing or has the
paths `ca`, and perhaps `certificate` and `key`, of PEM files. What a program is not given it leaves at the client's own
default. Topics have one partition, but where `partitions` says so; Java's `fetch` takes the `partition` that it reads.

| do | arguments | answer |
| --- | --- | --- |
| `produce` | topic, values; headers, compression, idempotent, transaction (an id), abort | |
| `fetch` | topic, count, committed (read_committed); from the first record on | records: offset, value, headers |
| `offsets` | topic | earliest, latest |
| `group` | topic, group, protocol (classic or consumer), count, instance; reads, commits, closes | values |
| `share` | topic, group, count; see below | deliveries: (value, delivery count) |
| `create_topic`, `describe_topic`, `delete_topic` | topic, partitions | describe: partitions, 0 when there is none |
| `configs` | topic | configs: value by name |
| `groups` | group | listed: group ids; state: of that group |
| `delete_records` | topic, before (an offset) | |

`share` releases values that begin with `release` when they come for the first time, rejects those that begin with
`reject`, accepts all others, and ends when `count` records are accepted or rejected, and the broker has confirmed it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.clients.tokens import MODULE as TOKEN_MODULE

SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER: Final = "OAUTHBEARER"


class Client(Protocol):
    def call(self, do: str, **arguments: object) -> dict[str, Any]:  # JSON, of a shape that `do` decides
        ...

    def close(self) -> None: ...


class Unavailable(Exception):
    """An error: this machine lacks something that the client needs."""


def protocol_of(login: Mapping[str, str] | None, tls: Mapping[str, str] | None) -> str:
    return ("PLAINTEXT" if tls is None else "SSL") if login is None else f"SASL_{'PLAINTEXT' if tls is None else 'SSL'}"


def librdkafka_security(login: Mapping[str, str] | None, tls: Mapping[str, str] | None) -> dict[str, str]:
    settings = {"security.protocol": protocol_of(login, tls)}
    if login is not None:
        settings["sasl.mechanism"] = login["mechanism"]
        if login["mechanism"] != OAUTHBEARER:
            settings |= {"sasl.username": login["username"], "sasl.password": login["password"]}
    if tls is not None:
        settings["ssl.ca.location"] = tls["ca"]
        if "certificate" in tls:
            settings |= {"ssl.certificate.location": tls["certificate"], "ssl.key.location": tls["key"]}
    return settings


def java_security(login: Mapping[str, str] | None, tls: Mapping[str, str] | None) -> dict[str, str]:
    """Return `login` and `tls` as properties of Java's clients and of our own, which uses the same names.

    Java's also need `JAVA_TOKENS`.
    """
    settings = {"security.protocol": protocol_of(login, tls)}
    if login is not None and login["mechanism"] == OAUTHBEARER:
        settings |= {"sasl.mechanism": OAUTHBEARER, "sasl.jaas.config": f"{TOKEN_MODULE} required;"}
        settings["sasl.oauthbearer.token.endpoint.url"] = Path(login["token_file"]).as_uri()
    elif login is not None:
        module = PLAIN_MODULE if login["mechanism"] == "PLAIN" else SCRAM_MODULE
        user = f'username="{login["username"]}" password="{login["password"]}"'
        settings |= {"sasl.mechanism": login["mechanism"], "sasl.jaas.config": f"{module} required {user};"}
    if tls is not None:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": tls["ca"]}
        if "certificate" in tls:
            chain, key = (Path(tls[part]).read_text() for part in ("certificate", "key"))
            settings |= {"ssl.keystore.type": "PEM"}
            settings |= {"ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    return settings


JAVA_TOKENS: Final = {
    "sasl.login.callback.handler.class": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
    )
}
"""The properties with which Java's clients read the token from its file."""


def properties_text(properties: Mapping[str, str]) -> str:
    lines = (f"{name}={value}".replace("\\", "\\\\").replace("\n", "\\n") for name, value in properties.items())
    return "".join(f"{line}\n" for line in lines)


def tls_context(tls: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls["ca"])
    if "certificate" in tls:
        context.load_cert_chain(tls["certificate"], tls["key"])
    return context


def python_security(login: Mapping[str, str] | None, tls: Mapping[str, str] | None) -> dict[str, Any]:
    """Return `login` and `tls` as settings of kafka-python and aiokafka; the caller provides a token."""
    settings: dict[str, Any] = {"security_protocol": protocol_of(login, tls)}
    if tls is not None:
        settings["ssl_context"] = tls_context(tls)
    if login is None:
        return settings
    settings["sasl_mechanism"] = login["mechanism"]
    if login["mechanism"] != OAUTHBEARER:
        settings |= {"sasl_plain_username": login["username"], "sasl_plain_password": login["password"]}
    return settings
