"""A broker of either kind whose clients have to log in, and may do what ACLs let them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from devtools.kafka.apache_kafka import free_port
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.clients.features import MECHANISMS
from tests.support.clients.access import STANDARD
from tests.support.clients.sasl import PLAIN_MODULE

PASSWORD: Final = "looking-glass"
"""Of every user."""

SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


_SCRAM: Final = MECHANISMS[1:]


@contextmanager
def guarded_broker(
    kind: Kind,
    *,
    plain: Sequence[str],
    scram: Sequence[str] = (),
    super_users: Sequence[str],
    settings: Mapping[str, str] | None = None,
) -> Iterator[BrokerUnderTest]:
    """Started, and removed at the end; no password is in its log then.

    `plain` are users of PLAIN, `scram` those of both SCRAM mechanisms, `super_users` may do all.

    Its one listener for clients is CLIENTS. Apache Kafka has a second one for itself, where it is ANONYMOUS.
    """
    port = free_port()
    users = " ".join(f'user_{user}="{PASSWORD}"' for user in plain)
    given = {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.clients.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        "authorizer.class.name": STANDARD,
        **(_ours() if kind == "ours" else _apaches(port)),
        **(settings or {}),
    }
    known = [*super_users, "ANONYMOUS"] if kind == "apache" else super_users
    given["super.users"] = ";".join(f"User:{user}" for user in known)
    added = [f"{mechanism}=[name={user},password={PASSWORD}]" for mechanism in _SCRAM for user in scram]
    broker = BrokerUnderTest(kind, given, port=port, scram_users=added)
    try:
        broker.start()
        yield broker
        assert PASSWORD not in broker.log
    finally:
        broker.remove()


def _ours() -> dict[str, str]:
    return {
        "listeners": "CLIENTS://127.0.0.1:0",  # the port is an option of the command line
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT",
    }


def _apaches(port: int) -> dict[str, str]:
    internal, controller = free_port(), free_port()
    addresses = f"CLIENTS://127.0.0.1:{port},INTERNAL://127.0.0.1:{internal}"
    return {
        "listeners": f"{addresses},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": addresses,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INTERNAL",
        **{f"listener.name.clients.{name.lower()}.sasl.jaas.config": f"{SCRAM_MODULE} required;" for name in _SCRAM},
    }
