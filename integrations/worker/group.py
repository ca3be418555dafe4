"""The share group as the worker sees it: its configs are set and asked for once, at the start, in a thread."""

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
from shareq.protocol.names import DELAY_ENABLE, DELAY_MAX_MS, DELIVERY_COUNT_LIMIT

logger = logging.getLogger(__name__)

GIVE_BACK_ABOVE: Final = 2
"""The delivery limit above which one delivery may be spent on releasing a record unprocessed."""
BACKOFF: Final = "shareq.redelivery.backoff.ms"
_ASKED: Final = (BACKOFF, DELIVERY_COUNT_LIMIT, DELAY_ENABLE, DELAY_MAX_MS)


class GroupFacts(NamedTuple):
    """The facts about a group. `delays`: the broker can delay released records. `limit`: how often a record is
    delivered at most; None if the group has no such config, and the broker's cannot be read. `window`: see
    `client/share/widest_window.py`. `keeps_ms`: how long the broker can delay a released record, 0 if it cannot.
    """

    delays: bool = False
    limit: int | None = None
    window: int = USUAL
    keeps_ms: int = 0

    @property
    def may_give_back(self) -> bool:
        """True if a record may be released without any work on it."""
        return self.limit is None or self.limit > GIVE_BACK_ABOVE


def prepare(config: ClientConfig, group: str, changes: Mapping[str, str]) -> GroupFacts:
    """Set these configs of the group, including the widest window unless one is given, and ask for the values in
    effect.

    Raises BrokerError if one of them is refused, Unreachable. A group whose configs may not be read has no facts.
    """
    with contextlib.closing(Network(config)) as network, understood():
        admin = Admin(network)
        configure_group(admin, group, changes, required=True)
        window = reach(admin, group)
        try:
            found = dict(admin.configs.describe([("group", group)], _ASKED))["group", group]
        except Unreachable:
            raise
        except ClientError as error:
            found = error
        if isinstance(found, ClientError):
            logger.warning("configs that cannot be read: %s", found)
            return GroupFacts(window=window)
        values = {each.name: each.value for each in found if each.value is not None}
        limit = values.get(DELIVERY_COUNT_LIMIT)
        keeps_ms = int(values.get(DELAY_MAX_MS) or 0) if values.get(DELAY_ENABLE) == "true" else 0
        return GroupFacts(int(values.get(BACKOFF) or 0) > 0, int(limit) if limit else None, window, keeps_ms)
