"""Breakers of share groups: a group with too many dead letters in a time is paused, as an operator would pause it.

The pause is the group's property `shareq.paused`, which is `breaker` then, and what ends one ends this. The count is
this broker's, of the share partitions that it leads, and in memory: a start begins at 0, and so does a group that was
paused. Loaded for groups that have a breaker alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending
from shareq.broker.share.core.effects import DeadLetter
from shareq.broker.share.dlq.recent_letters import RecentLetters
from shareq.broker.share.leader_counters import ShareCounters
from shareq.coordinator.ports import ShareGroupSettingsSource
from shareq.protocol.errors import ApiError

logger = logging.getLogger(__name__)

PauseGroup = Callable[[str], Pending[ApiError]]
"""Pauses a group, by its id. The answer comes when that is durable."""


class Breakers:
    """The groups of which letters are counted."""

    def __init__(
        self, clock: Clock, settings: ShareGroupSettingsSource, pause: PauseGroup, counters: ShareCounters
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._pause = pause
        self._counters = counters
        self._counts: dict[str, RecentLetters] = {}
        self._under_way: set[str] = set()

    def count(self, group_id: str, letters: Sequence[DeadLetter]) -> None:
        """Count letters that are owed now, and pause the group if they are too many, after what is being done."""
        settings = self._settings.share_group(group_id)
        if not settings.breaker.letters or settings.paused:
            self._counts.pop(group_id, None)
            return
        number = sum(each.last_offset - each.first_offset + 1 for each in letters)
        recent = self._counts.setdefault(group_id, RecentLetters())
        found = recent.add(number, self._clock.now_ms(), settings.breaker.window_ms)
        if found >= settings.breaker.letters and group_id not in self._under_way:
            self._under_way.add(group_id)
            self._clock.call_soon(lambda: self._open(group_id, found))

    def _open(self, group_id: str, found: int) -> None:
        self._pause(group_id).on_complete(lambda error: self._opened(group_id, found, error))

    def _opened(self, group_id: str, found: int, error: ApiError) -> None:
        self._under_way.discard(group_id)
        if error:
            logger.warning(
                "share group %s: not paused after %d dead letters, its next one tries again: %s: %s",
                group_id,
                found,
                error.code.name,
                error.message or "",
            )
            return
        self._counts.pop(group_id, None)
        self._counters.breakers[group_id] = self._counters.breakers.get(group_id, 0) + 1
        logger.warning(
            "share group %s: paused by its breaker, %d dead letters within %d ms; `shareq share resume %s` goes on",
            group_id,
            found,
            self._settings.share_group(group_id).breaker.window_ms,
            group_id,
        )

    def config_changed(self, group_id: str | None) -> None:
        """Begin at 0 in a group that is paused now; None: in any."""
        for name in list(self._counts) if group_id is None else (group_id,):
            if name in self._counts and self._settings.share_group(name).paused:
                del self._counts[name]
