"""The worker's facts about its share group, and its settings of it: asked once, at the start, in a thread."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.errors import ClientError, Unreachable, understood
from shareq.client.network import Network
from shareq.client.share.provision import configure_group
from shareq.client.share.widest_window import USUAL, reach
from shareq.protocol.names import DELIVERY_COUNT_LIMIT

logger = logging.getLogger(__name__)

BACKOFF: Final = "shareq.redelivery.backoff.ms"


class GroupFacts(NamedTuple):
    """`delays`: the broker keeps records for a while that were released. `limit`: how often a record is delivered at
    most; None where the group has no such config of its own, and cannot be asked for the broker's. `window`: see
    `client/share/widest_window.py`.
    """

    delays: bool = False
    limit: int | None = None
    window: int = USUAL


def prepare(config: ClientConfig, group: str, changes: Mapping[str, str]) -> GroupFacts:
    """Set these configs of the group, and the widest window if there is none among them, and ask what counts now.

    Raises BrokerError for what is refused of them, Unreachable. A group whose configs may not be read has no facts.
    """
    with contextlib.closing(Network(config)) as network, understood():
        admin = Admin(network)
        configure_group(admin, group, changes, required=True)
        window = reach(admin, group)
        try:
            found = dict(admin.configs.describe([("group", group)], [BACKOFF, DELIVERY_COUNT_LIMIT]))["group", group]
        except Unreachable:
            raise
        except ClientError as error:
            found = error
        if isinstance(found, ClientError):
            logger.warning("configs that cannot be read: %s", found)
            return GroupFacts(window=window)
        values = {each.name: each.value for each in found if each.value is not None}
        limit = values.get(DELIVERY_COUNT_LIMIT)
        return GroupFacts(int(values.get(BACKOFF) or 0) > 0, int(limit) if limit else None, window)
