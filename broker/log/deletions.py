"""The remaining work after a topic's deletion: on its folders, on checkpoints that still name its logs, and on
metadata.

It is done in later ticks, once for all topics deleted in a tick, with at most one sync in each turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.commit_gate import CommitGate
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.folders import KnownTopics, PartitionFolders, TopicPartition

logger = logging.getLogger(__name__)


class Deletions:
    """The remaining work on deleted topics. Owned by the manager of logs.

    `writes` are the functions that write checkpoints in which logs are named; `forget` removes deleted logs from the
    cleaner's checkpoint (OSError). `metadata` returns the known topics, and is called when there is a deleted topic.
    """

    def __init__(
        self,
        clock: Clock,
        folders: PartitionFolders,
        gate: CommitGate,
        metadata: Callable[[], KnownTopics | None],
        writes: Sequence[Callable[[], None]],
        forget: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._clock = clock
        self._folders = folders
        self._gate = gate
        self._metadata = metadata
        self._writes = writes
        self._forget = forget
        self._stopped = False
        self._scheduled = False
        self._stale: list[Callable[[], None]] = []  # of `writes`, those that may still name deleted logs on disk
        self._doomed: list[TopicPartition] = []
        self._renamed: list[bytes] = []  # topics whose folders have all been renamed

    def add(self, topic: str, topic_id: bytes, partitions: Sequence[int]) -> None:
        """Note that the logs of these partitions were deleted, and are closed."""
        if partitions:
            self._stale = list(self._writes)
            self._doomed += ((topic, partition) for partition in partitions)

        def retired(renamed: bool) -> None:
            if renamed:
                self._renamed.append(topic_id)
            self._go_on_soon()

        self._folders.retire([f"{topic}-{partition}" for partition in partitions], retired)
        self._go_on_soon()

    def forget_deleted(self) -> None:
        """Remove deleted logs from all checkpoints. Raise OSError if one cannot be written."""
        while self._stale:
            self._write_next_stale()

    def stop(self) -> None:
        """Stop, and leave the remaining work to the next start."""
        self._stopped = True
        self._folders.stop()

    def _go_on_soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._clock.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._scheduled = False
        if self._stopped:
            return
        renamed, self._renamed = self._renamed, []
        doomed, self._doomed = self._doomed, []
        metadata = self._metadata()
        if renamed and metadata is not None:
            self._folders.forget_soon(metadata, renamed)
        writes: list[Callable[[], None]] = [self._write_next_stale] * len(self._stale)
        writes.append(partial(self._forget, doomed))
        for write in writes:
            self._gate.pass_then(partial(self._rewrite, write))

    def _rewrite(self, write: Callable[[], None]) -> Pending[None]:
        if not self._stopped:
            try:
                write()
            except OSError as error:
                logger.warning("a checkpoint still has deleted logs, the next new log tries again: %s", error)
        return completed(None)

    def _write_next_stale(self) -> None:
        if self._stale:
            self._stale[0]()
            del self._stale[0]
