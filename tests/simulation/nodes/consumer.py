"""Share consumers of simulated nodes: they find nodes as real clients do, and keep a ledger of the answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from shareq.broker.foundation.loop.coroutines import sleep
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import decode_records, read_header
from tests.simulation.nodes.client import ClientConnection, Lost
from tests.simulation.nodes.ledger import Ack, Broken, Delivery, Place

if TYPE_CHECKING:
    from tests.simulation.nodes.world import NodesWorld

R = TypeVar("R", bound=Message)

HEARTBEAT_MS: Final = 2_000
LEAVES: Final = 0.05
"""The share of heartbeats with which a consumer leaves the group before it joins again."""
_AGAIN_MS: Final = 300


class _Sent(NamedTuple):
    acks: Mapping[Place, list[Ack]]


class Consumer:
    """A member of a share group. `live` runs until the world ends; `hurries`: it only accepts from now on."""

    def __init__(self, world: NodesWorld, group: str, number: int) -> None:
        self.group = group
        self.member_id = f"{group}-member-{number}"
        self.hurries = False
        self._world = world
        self._rng = Random(f"{world.seed} {self.member_id}")
        self._timeout_ms = self._rng.choice([8_000, 30_000])
        self._connections: dict[int, ClientConnection] = {}
        self._epoch = 0
        self._heard_ms = -HEARTBEAT_MS
        self._coordinator: int | None = None
        self._assigned: list[Place] = []
        self._leaders: dict[Place, int] = {}
        self._session_epochs: dict[int, int] = {}
        self._in_session: dict[int, set[Place]] = defaultdict(set)
        self._decided: dict[int, list[Ack]] = defaultdict(list)
        """Not sent yet, by the node that handed the records out."""

    async def live(self) -> None:
        world = self._world
        while not world.is_over:
            try:
                await self._go_round()
                pause = 100 if self.hurries else self._rng.choice([5, 20, 100, 400])
            except Lost:
                self._lost()
                pause = _AGAIN_MS
            await sleep(world.clock, pause)

    def _lost(self) -> None:
        """Drop ended connections with their sessions and pending acknowledgements."""
        self._world.happened["connections lost"] += 1
        for node_id in [each for each, connection in self._connections.items() if connection.is_over]:
            del self._connections[node_id]
            self._close_session(node_id)
        self._coordinator = None
        self._leaders.clear()

    def _close_session(self, node_id: int) -> None:
        self._session_epochs.pop(node_id, None)
        self._in_session.pop(node_id, None)
        self._decided.pop(node_id, None)

    # -- who is who

    def _connection(self, node_id: int) -> ClientConnection:
        found = self._connections.get(node_id)
        if found is None or found.is_over:
            node = self._world.nodes.get(node_id)
            found = None if node is None else node.connect(self._timeout_ms)
            if found is None:
                raise Lost
            self._connections[node_id] = found
        return found

    async def _ask(self, node_id: int, request: Message, version: int, response_class: type[R]) -> R:
        connection = self._connection(node_id)
        try:
            return await connection.ask(request, version, response_class)
        except Lost:
            connection.end()
            raise

    def _bootstrap(self) -> int:
        candidates = [each.node_id for each in self._world.nodes.values() if each.listens]
        if not candidates:
            raise Lost
        return self._rng.choice(candidates)

    async def _find_coordinator(self) -> int:
        if self._coordinator is None:
            answer = await self._ask(
                self._bootstrap(), FindCoordinatorRequest("", 0, [self.group]), 6, FindCoordinatorResponse
            )
            found = answer.coordinators[0]
            if found.error_code:
                raise Lost
            self._coordinator = found.node_id
        return self._coordinator

    async def _find_leaders(self) -> None:
        wanted = [MetadataRequestTopic(name=name) for name in self._world.topics]
        answer = await self._ask(
            self._bootstrap(), MetadataRequest(wanted, allow_auto_topic_creation=False), 12, MetadataResponse
        )
        for topic in answer.topics:
            for each in topic.partitions:
                place = Place(topic.topic_id, each.partition_index)
                if each.leader_id >= 0:
                    self._leaders[place] = each.leader_id
                if each.leader_epoch >= 0:
                    self._world.ledger.led(place, each.leader_epoch, each.leader_id)

    async def _heartbeat(self) -> None:
        world = self._world
        if world.clock.now_ms() - self._heard_ms < HEARTBEAT_MS:
            return
        node_id = await self._find_coordinator()
        if self._epoch > 0 and not self.hurries and self._rng.random() < LEAVES:
            await self._ask(node_id, self._goodbye(), 1, ShareGroupHeartbeatResponse)
            self._epoch, self._assigned = 0, []
        topics = list(world.topics) if self._epoch == 0 or self._rng.random() < 0.2 else None
        request = ShareGroupHeartbeatRequest(self.group, self.member_id, self._epoch, None, topics)
        answer = await self._ask(node_id, request, 1, ShareGroupHeartbeatResponse)
        world.happened[f"heartbeats, {ErrorCode(answer.error_code).name}"] += 1
        if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self._epoch = 0
            return
        if answer.error_code:
            self._coordinator = None
            return
        self._epoch = answer.member_epoch
        self._heard_ms = world.clock.now_ms()
        if answer.assignment is not None:
            rows = answer.assignment.topic_partitions
            self._assigned = [Place(row.topic_id, partition) for row in rows for partition in row.partitions]

    def _goodbye(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(self.group, self.member_id, -1)

    # -- records

    async def _go_round(self) -> None:
        await self._heartbeat()
        if any(place not in self._leaders for place in self._assigned):
            await self._find_leaders()
        by_node: dict[int, list[Place]] = defaultdict(list)
        for place in self._assigned:
            if place in self._leaders:
                by_node[self._leaders[place]].append(place)
        for node_id, places in by_node.items():
            await self._fetch(node_id, places)
        for node_id in [each for each in self._decided if self._decided[each] and each not in by_node]:
            await self._acknowledge(node_id)

    async def _fetch(self, node_id: int, places: list[Place]) -> None:
        if self._decided[node_id] and self._rng.random() < 0.5:
            await self._acknowledge(node_id)
        epoch = self._session_epochs.get(node_id, 0)
        if epoch == 0:
            self._in_session[node_id] = set()
            self._decided.pop(node_id, None)  # a new session knows nothing of what the old one handed out
        known = self._in_session[node_id]
        acks = _by_place(self._decided.pop(node_id, []))
        listed = [
            share_fetch.FetchTopic(
                place.topic_id,
                [
                    share_fetch.FetchPartition(
                        place.partition,
                        [share_fetch.AcknowledgementBatch(a.offset, a.offset, [a.kind]) for a in acks.get(place, [])],
                    )
                ],
            )
            for place in dict.fromkeys((*(each for each in places if each not in known), *acks))
        ]
        most = self._rng.choice([1, 5, 50])
        wait_ms = 500 if self.hurries else self._rng.choice([0, 100, 500])
        request = ShareFetchRequest(
            self.group, self.member_id, epoch, wait_ms, 1, 1 << 20, most, most, share_acquire_mode=1, topics=listed
        )
        self._world.ledger.sent(self.group, acks)
        answer = await self._ask(node_id, request, 2, ShareFetchResponse)
        self._world.happened[f"fetches, {ErrorCode(answer.error_code).name}"] += 1
        if answer.error_code:
            self._close_session(node_id)
            if answer.error_code not in (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH):
                self._coordinator = None
                self._leaders.clear()
                raise Lost
            return
        self._session_epochs[node_id] = epoch + 1
        known.update(places)
        for topic in answer.responses:
            for each in topic.partitions:
                self._take(node_id, Place(topic.topic_id, each.partition_index), each, acks)

    def _take(
        self,
        node_id: int,
        place: Place,
        row: share_fetch.PartitionData,
        acks: Mapping[Place, list[Ack]],
    ) -> None:
        world = self._world
        if place in acks:
            self._answered(place, acks[place], row.acknowledge_error_code)
        if row.error_code:
            if row.error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
                raise Broken(f"node {node_id}, {place}: UNKNOWN_SERVER_ERROR")
            world.happened[f"partitions, {ErrorCode(row.error_code).name}"] += 1
            self._leaders.pop(place, None)
            return
        values = _values(bytes(row.records or b""))
        for acquired in row.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                delivery = Delivery(
                    group=self.group,
                    place=place,
                    offset=offset,
                    value=values.get(offset),
                    node_id=node_id,
                    member_id=self.member_id,
                    deliveries=acquired.delivery_count,
                    at_ms=world.clock.now_ms(),
                )
                world.ledger.delivered(delivery)
                self._decide(node_id, delivery)

    def _decide(self, node_id: int, delivery: Delivery) -> None:
        kind = 1 if self.hurries else self._rng.choices([1, 2, 3, 0], [80, 10, 3, 7])[0]
        if kind:
            self._decided[node_id].append(Ack(delivery, kind))

    async def _acknowledge(self, node_id: int) -> None:
        acks = _by_place(self._decided.pop(node_id, []))
        epoch = self._session_epochs.get(node_id, 0)
        if not acks or epoch == 0:
            return
        topics = [
            share_acknowledge.AcknowledgeTopic(
                place.topic_id,
                [
                    share_acknowledge.AcknowledgePartition(
                        place.partition,
                        [share_acknowledge.AcknowledgementBatch(a.offset, a.offset, [a.kind]) for a in rows],
                    )
                ],
            )
            for place, rows in acks.items()
        ]
        request = ShareAcknowledgeRequest(self.group, self.member_id, epoch, False, topics)
        self._world.ledger.sent(self.group, acks)
        answer = await self._ask(node_id, request, 2, ShareAcknowledgeResponse)
        self._world.happened[f"acknowledgements, {ErrorCode(answer.error_code).name}"] += 1
        if answer.error_code:
            self._close_session(node_id)
            return
        self._session_epochs[node_id] = epoch + 1
        for topic in answer.responses:
            for each in topic.partitions:
                place = Place(topic.topic_id, each.partition_index)
                self._answered(place, acks[place], each.error_code)
                if each.error_code:
                    self._leaders.pop(place, None)

    def _answered(self, place: Place, acks: Iterable[Ack], error_code: int) -> None:
        self._world.happened[f"answers, {ErrorCode(error_code).name}"] += 1
        if not error_code:
            self._world.ledger.confirmed(place, acks)


def _by_place(acks: Iterable[Ack]) -> dict[Place, list[Ack]]:
    found: dict[Place, list[Ack]] = {}
    for ack in sorted(acks, key=lambda each: each.offset):
        found.setdefault(ack.delivery.place, []).append(ack)
    return found


def _values(records: bytes) -> dict[int, bytes | None]:
    found: dict[int, bytes | None] = {}
    at = 0
    while at < len(records):
        size = 12 + int.from_bytes(records[at + 8 : at + 12], "big")
        data = records[at : at + size]
        if len(data) == size and not read_header(data).is_control:
            found.update((record.offset, record.value) for record in decode_records(data))
        at += size
    return found
