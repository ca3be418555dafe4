"""Administration of groups: each operation goes through the group coordinator, the share coordinator, and back.

The two steps at the group coordinator, and why there are two, are in `shareq.coordinator.group.administration`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shareq.broker.internal_topics import ensure
from shareq.broker.pending import Pending, completed, gather
from shareq.broker.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.coordinator.group.administration import AlterOffsetsPlan, Outcome
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.shard import CoordinatorResult
from shareq.coordinator.share.shard import StateResult
from shareq.protocol.errors import ErrorCode, text_of

if TYPE_CHECKING:
    from shareq.broker.broker import Broker

UNKNOWN_PARTITION = StateResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


@dataclass(frozen=True, slots=True)
class AlteredOffsets:
    """An error for the whole request, or what became of each topic name and partition."""

    outcome: Outcome
    partitions: Mapping[tuple[str, int], StateResult] = field(default_factory=dict)


class GroupAdministration:
    """What administrators ask of groups. Answers come when what they tell is durable."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._groups = broker.group_coordinator
        self._states = broker.share_coordinator

    def alter_offsets(self, group_id: str, offsets: Mapping[str, Mapping[int, int]]) -> Pending[AlteredOffsets]:
        """Give share partitions a new start offset, by topic name and partition; what was in flight is forgotten.

        Creates the group if need be. Errors: see `GroupCoordinatorShard.begin_alter_offsets`.
        """
        for topic in (CONSUMER_OFFSETS, SHARE_GROUP_STATE):
            error = ensure(self._broker.metadata, self._broker.config, topic)
            if error:
                return completed(AlteredOffsets(Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)))
        now = self._broker.env.clock.now_ms()
        plan = self._groups.schedule(
            group_id,
            lambda shard: shard.begin_alter_offsets(group_id, offsets, now),
            lambda error: AlterOffsetsPlan(_log_failed(error)),
        )
        return plan.chain(lambda plan: self._initialize(group_id, plan))

    def _initialize(self, group_id: str, plan: AlterOffsetsPlan) -> Pending[AlteredOffsets]:
        unknown = dict.fromkeys(plan.unknown, UNKNOWN_PARTITION)
        if plan.outcome.error is not ErrorCode.NONE or not plan.initialize:
            return completed(AlteredOffsets(plan.outcome, unknown))
        self._broker.share_partitions.state_replaced(each.key for each in plan.initialize)
        results = gather(
            [self._states.initialize(each.key, each.state_epoch, each.start_offset) for each in plan.initialize]
        )

        def finish(results: list[StateResult]) -> Pending[AlteredOffsets]:
            by_key = {each.key: result for each, result in zip(plan.initialize, results, strict=True)}
            failed = {key for key, result in by_key.items() if result.error is not ErrorCode.NONE}
            altered = {(plan.topics[key.topic_id].topic_name, key.partition): by_key[key] for key in by_key}
            return self._finish(group_id, lambda shard: shard.finish_alter_offsets(group_id, plan, failed)).then(
                lambda outcome: AlteredOffsets(outcome, unknown | altered)
            )

        return results.chain(finish)

    def _finish(
        self, group_id: str, operation: Callable[[GroupCoordinatorShard], CoordinatorResult[None]]
    ) -> Pending[Outcome]:
        """A second step that can fail only with the coordinator's log."""
        return self._groups.schedule(
            group_id, lambda shard: CoordinatorResult(Outcome(), operation(shard).records), _log_failed
        )


def _log_failed(error: ErrorCode) -> Outcome:
    return Outcome(error, "The coordinator's log could not be written.")
