"""Consumer groups: requests passed to the group coordinator's shards, and their answers (KIP-848)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.groups.coordinator import GroupCoordinatorService
from shareq.broker.topics.ports import CoordinatorTopics
from shareq.coordinator.group.consumer.describe import consumer_group_error_entry
from shareq.coordinator.group.consumer.requests import refusal
from shareq.coordinator.group.groups import Client
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_describe import DescribedGroup
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.names import CONSUMER_OFFSETS

_LOG_FAILED = "The coordinator's log could not be written."


class ConsumerGroupService:
    """Members' and administrators' operations on consumer groups. Answers come once their outcome is durable."""

    def __init__(self, groups: GroupCoordinatorService, internal_topics: CoordinatorTopics, env: Environment) -> None:
        self._groups = groups
        self._internal_topics = internal_topics
        self._env = env

    async def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        version: int,
        client: Client,
        is_visible: Callable[[str], bool],
    ) -> ConsumerGroupHeartbeatResponse:
        """Answer a ConsumerGroupHeartbeat. The internal topic is created if it is missing.

        `is_visible` returns True if the client may know of a topic.
        """
        error = await self._internal_topics.made(CONSUMER_OFFSETS)
        if error:
            return refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message or "")
        if version == 0 and not request.member_id and request.member_epoch == 0:
            request.member_id = urlsafe_b64encode(self._env.random_uuid()).rstrip(b"=").decode()
        now_ms = self._env.clock.now_ms
        return await self._groups.schedule(
            request.group_id,
            lambda shard: shard.consumer.heartbeat(request, version, client, is_visible, now_ms()),
            lambda error: refusal(error, _LOG_FAILED),
        )

    def describe(self, group_id: str) -> Pending[DescribedGroup]:
        """Return the entry of one group for ConsumerGroupDescribe. Errors: INVALID_GROUP_ID, and those of
        `ConsumerGroups.describe`.
        """
        if not group_id:
            return completed(consumer_group_error_entry(group_id, ErrorCode.INVALID_GROUP_ID, "The group id is empty."))
        if not self._groups.partitions.count:
            return completed(
                consumer_group_error_entry(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
            )
        return self._groups.schedule(
            group_id,
            lambda shard: shard.consumer.describe(group_id),
            lambda error: consumer_group_error_entry(group_id, error, _LOG_FAILED),
        )
