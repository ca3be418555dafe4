"""Breakers of share groups: a group that gets too many dead letters within a window of time is paused, as an operator
would pause it.

The pause sets the group's property `shareq.paused` to `breaker`, and ends as any pause does. The letters are counted in
memory, for the share partitions that this broker leads; the count begins at 0 when the broker starts and after a pause.
This module is imported only for groups that have a breaker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending
from shareq.broker.share.core.effects import Cause, DeadLetter
from shareq.broker.share.dlq.recent_letters import RecentLetters
from shareq.broker.share.leader_counters import ShareCounters
from shareq.coordinator.ports import ShareGroupSettingsSource
from shareq.protocol.errors import ApiError

logger = logging.getLogger(__name__)

PauseGroup = Callable[[str], Pending[ApiError]]
"""A function that pauses a group, by its id. Its answer comes when the pause is durable."""


class Breakers:
    """The groups whose dead letters are counted."""

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
        """Count dead letters of the group. If they are too many, pause it, after the current operation.

        Those of expired records do not count: no work has failed, and after a long pause there are many.
        """
        settings = self._settings.share_group(group_id)
        if not settings.breaker.letters or settings.paused:
            self._counts.pop(group_id, None)
            return
        failed = [each for each in letters if each.cause is not Cause.EXPIRED]
        if not failed:
            return
        number = sum(each.last_offset - each.first_offset + 1 for each in failed)
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
        """Restart the count at 0 in this group, or in all groups for None, where the group is paused now."""
        for name in list(self._counts) if group_id is None else (group_id,):
            if name in self._counts and self._settings.share_group(name).paused:
                del self._counts[name]
