"""Independent brokers combined into a cluster: shared metadata, a map of leaders, RPCs between them.

Nothing in the product talks to another broker. Here a group coordinator and a share-partition leader reach a remote
share coordinator by the state RPCs of KIP-932, over frames, through the port that their own process would serve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.mock_transport import BrokerWorld
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.broker.share.persister import PersistedState
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.leaders import Leader, Node
from shareq.coordinator.share.delays import Delay
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.staged import Staged
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

STATE_TOPIC, GROUP_TOPIC = "__share_group_state", "__consumer_offsets"
SHARDS = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}


class StatesElsewhere:
    """A `ShareStateStore` that asks another broker, one request per share partition, and waits for the answer.

    While `reachable` is false every operation fails as without a connection.
    """

    def __init__(self) -> None:
        self.world: BrokerWorld | None = None
        self.reachable = True
        self.asked: list[str] = []
        """The names of the requests that were sent."""

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Pending[ApiError]:
        module = initialize_share_group_state
        data = module.PartitionData(key.partition, state_epoch, start_offset)
        request = module.InitializeShareGroupStateRequest(
            key.group_id, [module.InitializeStateData(key.topic_id, [data])]
        )
        if (world := self._reach(request)) is None:
            return completed(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        answer = world.connect().call(request, 0, module.InitializeShareGroupStateResponse)
        row = answer.results[0].partitions[0]
        return completed(ApiError(ErrorCode(row.error_code), row.error_message))

    def initialize_once(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        replaced: Callable[[Iterable[SharePartitionKey]], None],
        *,
        again: bool = False,
    ) -> Pending[ApiError]:
        replaced((key,))
        return self.initialize(key, state_epoch, start_offset)

    def delete(self, key: SharePartitionKey) -> Pending[ApiError]:
        module = delete_share_group_state
        data = module.DeleteStateData(key.topic_id, [module.PartitionData(key.partition)])
        request = module.DeleteShareGroupStateRequest(key.group_id, [data])
        if (world := self._reach(request)) is None:
            return completed(ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        row = world.connect().call(request, 0, module.DeleteShareGroupStateResponse).results[0].partitions[0]
        return completed(ApiError(ErrorCode(row.error_code), row.error_message))

    def read_summary(self, key: SharePartitionKey) -> Pending[SummaryResult]:
        module = read_share_group_state_summary
        data = module.ReadStateSummaryData(key.topic_id, [module.PartitionData(key.partition)])
        request = module.ReadShareGroupStateSummaryRequest(key.group_id, [data])
        if (world := self._reach(request)) is None:
            return completed(SummaryResult(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        row = world.connect().call(request, 1, module.ReadShareGroupStateSummaryResponse).results[0].partitions[0]
        return completed(
            SummaryResult(
                ErrorCode(row.error_code),
                row.error_message,
                row.state_epoch,
                row.leader_epoch,
                row.start_offset,
                row.delivery_complete_count,
            )
        )

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> Pending[PersistedState]:
        module = read_share_group_state
        data = module.ReadStateData(key.topic_id, [module.PartitionData(key.partition, leader_epoch)])
        request = module.ReadShareGroupStateRequest(key.group_id, [data])
        if (world := self._reach(request)) is None:
            return completed(PersistedState(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        row = world.connect().call(request, 0, module.ReadShareGroupStateResponse).results[0].partitions[0]
        batches = [
            StateBatch(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
            for one in row.state_batches
        ]
        return completed(PersistedState(ErrorCode(row.error_code), row.state_epoch, row.start_offset, batches))

    def write_state(self, key: SharePartitionKey, write: WriteState) -> Pending[ErrorCode]:
        module = write_share_group_state
        data = module.PartitionData(
            key.partition,
            write.state_epoch,
            write.leader_epoch,
            write.start_offset,
            write.delivery_complete_count,
            [module.StateBatch(*batch) for batch in write.batches],
        )
        request = module.WriteShareGroupStateRequest(key.group_id, [module.WriteStateData(key.topic_id, [data])])
        if (world := self._reach(request)) is None:
            return completed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        row = world.connect().call(request, 1, module.WriteShareGroupStateResponse).results[0].partitions[0]
        return completed(ErrorCode(row.error_code))

    def replace_state(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        start_offset: int,
        batches: Sequence[StateBatch],
        delays: Sequence[Delay] = (),
        staged: Sequence[Staged] = (),
    ) -> Pending[ErrorCode]:
        raise AssertionError("no log is cut here")

    def owes_letters(self, key: SharePartitionKey) -> Pending[bool]:
        return completed(False)  # no group has a queue here

    def _reach(self, request: object) -> BrokerWorld | None:
        self.asked.append(type(request).__name__.removesuffix("Request"))
        return self.world if self.reachable else None


def node_of(world: BrokerWorld) -> Node:
    services = world.services
    return Node(services.started_with.node_id, services.endpoints, services.started_with.broker_rack)


class Cluster:
    """A group coordinator, a share coordinator, and the leader of topic t with its one partition: a broker each.

    Each has two listeners and a rack of its own. The group coordinator is the controller.
    """

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.db = MemoryMetaDb()
        self.groups_to_states, self.leader_to_states = StatesElsewhere(), StatesElsewhere()
        first = BrokerWorld(SHARDS, clock=self.clock, db=self.db)
        self.place = (first.create_topic("t").topic_id, 0)
        keys = FindCoordinatorRequest(coordinator_keys=["g"])
        first.connect().call(keys, 4, FindCoordinatorResponse)  # creates the groups' topic
        states = FindCoordinatorRequest(key_type=2, coordinator_keys=[SharePartitionKey("g", *self.place).text()])
        first.connect().call(states, 6, FindCoordinatorResponse)
        first.broker.close()
        self.groups = self._broker(1, self.groups_to_states)
        self.states = self._broker(2)
        self.leader = self._broker(3, self.leader_to_states)
        self.brokers = (self.groups, self.states, self.leader)
        for world in self.brokers:
            world.leaders.know(*[node_of(other) for other in self.brokers if other is not world])
            world.leaders.controller = None if world is self.groups else node_of(self.groups)
        self.groups_to_states.world = self.leader_to_states.world = self.states
        for topic, world in ((GROUP_TOPIC, self.groups), (STATE_TOPIC, self.states), ("t", self.leader)):
            self.lead(topic, world)

    def lead(self, topic: str, leader: BrokerWorld, epoch: int = 4) -> None:
        """Make this broker the leader of the topic's partition 0, in all brokers' metadata."""
        for world in self.brokers:
            if world is leader:
                world.leaders.move(topic, 0, None, own_epoch=epoch)
            else:
                world.leaders.move(topic, 0, Leader(node_of(leader), epoch))

    def _broker(self, node_id: int, states: StatesElsewhere | None = None) -> BrokerWorld:
        properties = {**SHARDS, "node.id": str(node_id), "broker.rack": f"rack-{node_id}"}
        endpoints = {
            "PLAINTEXT": Endpoint(node_id, "127.0.0.1", 9091 + node_id),
            "INSIDE": Endpoint(node_id, f"node-{node_id}.inside", 19091 + node_id),
        }
        return BrokerWorld(properties, seed=node_id, clock=self.clock, db=self.db, states=states, endpoints=endpoints)
