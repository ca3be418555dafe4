"""The objects that workers on share groups need: their topic, and their group with its configs and
the widest window.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from shareq.client.admin import Admin
from shareq.client.admin.calls import only
from shareq.client.admin.configs import Change
from shareq.client.admin.topics import NewTopic
from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.client.share.widest_window import widen
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import PARTITION_MAX_RECORD_LOCKS

logger = logging.getLogger(__name__)


def ensure_topic(admin: Admin, topic: NewTopic) -> None:
    """Create a topic, unless it exists. An existing topic is left unchanged. Raise BrokerError, Unreachable."""
    outcome = admin.topics.create([topic])[topic.name]
    exists = isinstance(outcome, BrokerError) and outcome.code == ErrorCode.TOPIC_ALREADY_EXISTS
    if isinstance(outcome, ClientError) and not exists:
        raise outcome


def configure_group(admin: Admin, group: str, configs: Mapping[str, str], *, required: bool) -> None:
    """Set configs of a share group, including the widest window that its broker allows unless one is given.

    Where the broker refuses the configs, or they name a queue that would get no letters: raises BrokerError if they are
    `required`; else they are the administrator's to set, and the refusal is logged at level WARNING. Raises
    Unreachable.
    """
    if configs:
        try:
            admin.redrives.check_queue(group, configs)
            only(admin.configs.alter({("group", group): Change(set=configs)}), ("group", group))
        except ClientError as outcome:
            if required or isinstance(outcome, Unreachable):
                raise
            logger.warning("share group %s: its configs %s cannot be set: %s", group, dict(configs), outcome)
    if PARTITION_MAX_RECORD_LOCKS not in configs:
        widen(admin, group)
