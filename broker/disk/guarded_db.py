"""The metadata database on a disk that fills up: changes that need more space are refused first, and others may use
the reserve.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

from shareq.broker.disk.policy import DiskState, Use, admits, is_full
from shareq.broker.disk.reserve import Reserve
from shareq.broker.metadata.changes import DropTopic, MetaChange, MetaDb, MetaState, PutTopic


class GuardedMetaDb:
    """A `MetaDb` over another one. `state` is called at each commit."""

    def __init__(self, inner: MetaDb, reserve: Reserve, state: Callable[[], DiskState]) -> None:
        self._inner = inner
        self._reserve = reserve
        self._state = state
        self._partitions: dict[str, int] = {}

    def load(self) -> MetaState:
        state = self._inner.load()
        self._partitions = {name: row.partitions for name, row in state.topics.items()}
        return state

    def commit(self, changes: Sequence[MetaChange]) -> None:
        """Commit to the database. Raise OSError, too, for changes that are refused because the disk is full."""
        if not admits(self._state(), changes, partitions_of=self._partitions):
            raise OSError(errno.ENOSPC, "the disk is nearly full, nothing new is taken")
        try:
            self._inner.commit(changes)
        except OSError as error:
            if not is_full(error) or not self._reserve.give_up(Use.MAKING_ROOM):
                raise
            self._inner.commit(changes)
        for change in changes:
            if isinstance(change, PutTopic):
                self._partitions[change.topic.name] = change.topic.partitions
            elif isinstance(change, DropTopic):
                self._partitions.pop(change.name, None)

    def close(self) -> None:
        self._inner.close()
