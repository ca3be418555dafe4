from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.share.core.partition import SharePartition
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.share.service import ShareService
from tests.simulation.planted_waits import UNSEEN
from tests.support.planting import Fault, replaced

HANDED_OUT: Final = ("were handed out during a pause", "was paused before they were asked for")


def a_paused_group_hands_out() -> AbstractContextManager[object]:
    is_open: Any = property(lambda self: self._active)
    return replaced((SharePartition, "_is_open", is_open))


def a_pause_begins_with_the_next_load() -> AbstractContextManager[object]:
    return replaced((SharePartitionManager, "refresh_settings", lambda _self, _leader: None))


def a_resumption_wakes_nobody() -> AbstractContextManager[object]:
    return replaced((ShareService, "config_changed", lambda _self, _changed: None))


FAULTS: Final[dict[Fault, Sequence[str]]] = {
    a_paused_group_hands_out: HANDED_OUT,
    a_pause_begins_with_the_next_load: HANDED_OUT,
    a_resumption_wakes_nobody: (UNSEEN,),
}
