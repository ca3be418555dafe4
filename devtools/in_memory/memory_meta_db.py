"""Cluster metadata in memory, for simulations and tests: commits can fail, or end in a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shareq.broker.metadata.changes import MetaChange, MetaState


class MemoryMetaDb:
    """A database in memory that outlives the broker object, as a disk outlives a process.

    `before_commit`, if set, is called with the changes first: an OSError from it is a failed commit, any other
    exception the death of the process before it. `after_commit` is called once the commit is durable, with the same
    effect.
    """

    def __init__(self) -> None:
        self._state = MetaState()
        self.commits = 0
        self.before_commit: Callable[[Sequence[MetaChange]], None] | None = None
        self.after_commit: Callable[[Sequence[MetaChange]], None] | None = None

    def load(self) -> MetaState:
        return self._state.copy()

    def commit(self, changes: Sequence[MetaChange]) -> None:
        if self.before_commit is not None:
            self.before_commit(changes)
        for change in changes:
            self._state.apply(change)
        self.commits += 1
        if self.after_commit is not None:
            self.after_commit(changes)

    def clear(self) -> None:
        """Empty the database, as if its file were removed."""
        self._state = MetaState()

    def close(self) -> None:
        pass
