"""The widest window of a share group: as far past its oldest unfinished record as its broker allows.

A share partition hands out records from the oldest unfinished one on, `share.partition.max.record.locks` of them
(KIP-932): one slow record stops the others once that many are behind it.
"""

from __future__ import annotations

import logging
from typing import Final

from shareq.client.admin import Admin
from shareq.client.admin.configs import Change, Config, Resource
from shareq.client.errors import ClientError, Unreachable
from shareq.protocol.names import PARTITION_MAX_RECORD_LOCKS

logger = logging.getLogger(__name__)

LARGEST: Final = "group.share.max.partition.max.record.locks"
USUAL_LARGEST: Final = 4_000
"""The number that a broker allows by default, ours and Apache Kafka's."""
USUAL: Final = 2_000
"""The window of a group by default, used if its own cannot be read."""
_ORDER: Final = "shareq.order"


def widen(admin: Admin, group: str) -> int | None:
    """Set a group's window to the widest that its broker allows, unless the group has one. Return the value set.

    Return None, with a line at level INFO, if that is refused, or if brokers do not know this group property. Raise
    Unreachable.
    """
    if any(each.source == "group" for each in _configs(admin, ("group", group), PARTITION_MAX_RECORD_LOCKS)):
        return None
    wanted = str(_largest(admin))
    outcome = admin.configs.alter({("group", group): Change(set={PARTITION_MAX_RECORD_LOCKS: wanted})})["group", group]
    if isinstance(outcome, Unreachable):
        raise outcome
    if isinstance(outcome, ClientError):
        logger.info("share group %s: %s is not set to %s: %s", group, PARTITION_MAX_RECORD_LOCKS, wanted, outcome)
        return None
    return int(wanted)


def reach(admin: Admin, group: str) -> int:
    """Return how far past its oldest unfinished record a group goes; 0 for a group with order by key.

    Such a group's records may not change places. Raise Unreachable.
    """
    if any(each.value == "key" for each in _configs(admin, ("group", group), _ORDER)):
        return 0
    return next(
        (int(each.value) for each in _configs(admin, ("group", group), PARTITION_MAX_RECORD_LOCKS) if each.value), USUAL
    )


def _largest(admin: Admin) -> int:
    """Return the most that a broker allows a group; the usual value if the broker may not be asked."""
    brokers = admin.network.brokers()
    node = admin.network.controller()
    found = _configs(admin, ("broker", str(node if node in brokers else min(brokers))), LARGEST)
    return next((int(each.value) for each in found if each.value), USUAL_LARGEST)


def _configs(admin: Admin, resource: Resource, name: str) -> tuple[Config, ...]:
    """Return the configs; none if they may not be read."""
    found = dict(admin.configs.describe([resource], [name]))[resource]
    if isinstance(found, Unreachable):
        raise found
    return () if isinstance(found, ClientError) else found
