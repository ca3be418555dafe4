"""Dead letters owed by share partitions whose state is about to be removed, for instance because offsets are altered or
deleted.

Only the state shows which letters are still to be written (their records are *archiving*), so the letters must be in
the queue before the state is removed: a crash at any moment leaves one of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.leader import LeaderState, SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.share.persister import Persister
from shareq.broker.topics.leaders import Leaders
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.primitives import uuid_to_text

LONGEST_WAIT_MS: Final = 10_000
"""The longest wait for letters. It is shorter than the timeout of clients (30 seconds or more), which try again after
COORDINATOR_NOT_AVAILABLE.
"""

NAMELESS: Final = "its topic was deleted, and its name is not known any more"


class LastLetters:
    """A service that waits for dead letters owed by share partitions. `trouble` returns why they are not written, "" if
    that is not known.
    """

    def __init__(
        self,
        env: Environment,
        partitions: SharePartitionManager,
        states: Persister,
        metadata: MetadataImage,
        other_leaders: Leaders,
        trouble: Callable[[SharePartitionLeader], str],
    ) -> None:
        self._env = env
        self._partitions = partitions
        self._states = states
        self._metadata = metadata
        self._other_leaders = other_leaders
        self._trouble = trouble

    def written(self, key: SharePartitionKey) -> Pending[ApiError]:
        """Wait until all dead letters of the share partition are written. Complete with NO_ERROR in the same turn, at
        once if there are none.

        If letters are owed by a state that no leader has in memory, the state is loaded. Complete with
        COORDINATOR_NOT_AVAILABLE if it cannot be loaded, or if the letters are not written within `LONGEST_WAIT_MS`.
        """
        leader = self._partitions.get(key)
        if leader is not None:
            return completed(NO_ERROR) if leader.is_active and not leader.owes_letters else self._wait(leader)
        return self._states.owes_letters(key).chain(lambda owes: self._load(key) if owes else completed(NO_ERROR))

    def write_orphaned(
        self, owed: Mapping[SharePartitionKey, Sequence[StateBatch]], deleted: Mapping[bytes, str]
    ) -> None:
        """Write the dead letters of states that are removed in this turn, with their topics or with
        `__share_group_state`.

        Where a loaded leader exists, it writes them. `owed` has the archiving batches of the states, `deleted` the
        names of deleted topics by id.

        A crash before letters are written loses them, since no topic is kept for them. Letters of a topic whose name is
        no longer known are logged and counted as lost.
        """
        for key, batches in owed.items():
            leader = self._partitions.get(key)
            if leader is not None and leader.is_active:
                continue
            topic = self._metadata.topic_by_id(key.topic_id)
            name = deleted.get(key.topic_id) if topic is None else topic.name
            if name is None:
                self._partitions.bury_orphans(key, uuid_to_text(key.topic_id), batches, NAMELESS)
            elif topic is None or self._other_leaders.other_leader(name, key.partition) is None:
                self._partitions.bury_orphans(key, name, batches)

    def _load(self, key: SharePartitionKey) -> Pending[ApiError]:
        topic = self._metadata.topic_by_id(key.topic_id)
        if topic is None:  # its states are being deleted
            return completed(NO_ERROR)
        elsewhere = self._other_leaders.other_leader(topic.name, key.partition) is not None
        if elsewhere:
            return completed(_not_written(key, topic.name, "another broker leads the partition"))
        is_new = self._partitions.get(key) is None
        leader = self._partitions.get_or_load(key, topic.name)
        if is_new and leader.state in (LeaderState.LOADING, LeaderState.ACTIVE):
            leader.left = True  # no member asked for it
        return self._wait(leader)

    def _wait(self, leader: SharePartitionLeader) -> Pending[ApiError]:
        answer: Pending[ApiError] = Pending()
        clock = self._env.clock

        def look() -> None:
            if answer.done:
                return
            if leader.state is LeaderState.LOADING or (leader.is_active and leader.owes_letters):
                leader.quiet.append(look)
            elif leader.state is LeaderState.FAILED:
                end(_not_written(leader.key, leader.topic, f"its state cannot be loaded: {leader.error.name}"))
            elif leader.is_active:
                end(NO_ERROR)
            else:  # the leader was dropped: the letters are now owed by the state, or by the next leader
                timer.cancel()
                self.written(leader.key).on_complete(answer.complete)

        def end(error: ApiError) -> None:
            timer.cancel()
            answer.complete(error)

        def too_late() -> None:
            if not answer.done:
                answer.complete(_not_written(leader.key, leader.topic, self._trouble(leader) or "the queue is slow"))

        timer = clock.call_at(clock.now_ms() + LONGEST_WAIT_MS, too_late)
        look()
        return answer


def _not_written(key: SharePartitionKey, topic: str, reason: str) -> ApiError:
    place, why = f"{topic}-{key.partition}", reason.removesuffix(".")
    message = f"Dead letters of group {key.group_id}, {place}, are not written yet: {why}."
    return ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message)
