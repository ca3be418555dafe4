"""The connections over which members of share groups heartbeat: their loss is reported to the groups."""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.groups.ports import MemberConnection
from shareq.coordinator.group.groups import Client
from shareq.coordinator.group.shard import GroupCoordinatorShard
from shareq.coordinator.group.share.heartbeat import HeartbeatPlan
from shareq.coordinator.shard import CoordinatorResult, at_once
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest

_Partition = CoordinatorPartition[GroupCoordinatorShard]


class MemberConnections:
    """The partitions of the groups' topic that each connection sent heartbeats to."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._partitions: dict[int, list[_Partition]] = {}
        self._stopping = False

    def heartbeat(
        self, partition: _Partition, request: ShareGroupHeartbeatRequest, client: Client, connection: MemberConnection
    ) -> CoordinatorResult[HeartbeatPlan]:
        """Decide the first phase of a heartbeat, of a member that is lost with the connection from now on."""
        if connection.closed:  # while the heartbeat waited for its turn
            result = partition.shard.share.begin_heartbeat(request, client, self._now_ms(), connection.id)
            at_once(partition.shard.share.connection_lost(connection.id, self._now_ms()))
            return result
        self._watch(connection, partition)
        return partition.shard.share.begin_heartbeat(request, client, self._now_ms(), connection.id)

    def stop(self) -> None:
        """Report no further loss."""
        self._stopping = True

    def _watch(self, connection: MemberConnection, partition: _Partition) -> None:
        partitions = self._partitions.get(connection.id)
        if partitions is None:
            partitions = self._partitions[connection.id] = []
            connection.on_close(lambda: self._lost(connection.id))
        if partition not in partitions:
            partitions.append(partition)

    def _lost(self, connection_id: int) -> None:
        partitions = self._partitions.pop(connection_id)
        if self._stopping:
            return
        for partition in partitions:
            self._report(partition, connection_id)

    def _report(self, partition: _Partition, connection_id: int) -> None:
        partition.schedule(
            lambda: partition.shard.share.connection_lost(connection_id, self._now_ms()), lambda _error: None
        )
