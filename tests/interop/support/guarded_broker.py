"""A broker of either kind whose clients have to log in, with ACLs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from devtools.ports import free_port
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.listeners import one_listener, scram_users
from tests.support.clients.access import STANDARD

PASSWORD: Final = "looking-glass"
"""The password of every user."""


@contextmanager
def guarded_broker(
    kind: Kind,
    *,
    plain: Sequence[str],
    scram: Sequence[str] = (),
    super_users: Sequence[str],
    settings: Mapping[str, str] | None = None,
) -> Iterator[BrokerUnderTest]:
    """Run a broker, remove it at the end, and check that no password is in its log.

    `plain` are users of PLAIN, `scram` those of both SCRAM mechanisms, `super_users` may do everything. Its one
    listener for clients is CLIENTS; Apache Kafka has a second one for itself, where it is ANONYMOUS.
    """
    port = free_port()
    given = {
        **one_listener("apache" if kind == "apache" else "ours", port, "SASL_PLAINTEXT", plain, PASSWORD),
        "authorizer.class.name": STANDARD,
        **(settings or {}),
    }
    known = [*super_users, "ANONYMOUS"] if kind == "apache" else super_users
    given["super.users"] = ";".join(f"User:{user}" for user in known)
    broker = BrokerUnderTest(kind, given, port=port, scram_users=scram_users(scram, PASSWORD))
    try:
        broker.start()
        yield broker
        assert PASSWORD not in broker.log
    finally:
        broker.remove()
