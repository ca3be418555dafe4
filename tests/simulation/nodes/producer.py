"""A producer of simulated nodes: what was confirmed must be in the log at the end."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from shareq.broker.foundation.loop.coroutines import sleep
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.records.batch import RecordData, build_batch
from tests.simulation.nodes.client import ClientConnection, Lost

if TYPE_CHECKING:
    from tests.simulation.nodes.world import NodesWorld

ALL_REPLICAS: Final = -1


class NodeProducer:
    """A producer without retries. `live` runs until the world ends, or `rests`.

    `confirmed`: offsets by topic, partition and value.
    """

    def __init__(self, world: NodesWorld) -> None:
        self.rests = False
        self.confirmed: dict[tuple[str, int, bytes], int] = {}
        self._world = world
        self._rng = Random(f"{world.seed} producer")
        self._connection: ClientConnection | None = None

    async def live(self) -> None:
        world, number = self._world, 0
        while not world.is_over and not self.rests:
            number += 1
            try:
                await self._produce(b"by a node, %d" % number)
            except Lost:
                self._connection = None
            await sleep(world.clock, self._rng.choice([300, 1_000, 3_000]))

    async def _produce(self, value: bytes) -> None:
        world = self._world
        if self._connection is None or self._connection.is_over:
            nodes = [each for each in world.nodes.values() if each.listens]
            self._connection = self._rng.choice(nodes).connect(8_000) if nodes else None
        connection = self._connection
        if connection is None:
            raise Lost
        name = self._rng.choice(world.topics)
        partition = self._rng.randrange(len(world.cluster.topic(name).partitions))
        data = bytes(build_batch([RecordData(None, value)], timestamp_ms=world.clock.wall_ms()))
        rows = [TopicProduceData(name, partition_data=[PartitionProduceData(partition, data)])]
        answer = await connection.ask(ProduceRequest(None, ALL_REPLICAS, 5_000, rows), 9, ProduceResponse)
        row = answer.responses[0].partition_responses[0]
        world.happened[f"produced by nodes, {ErrorCode(row.error_code).name}"] += 1
        if not row.error_code:
            self.confirmed[name, partition, value] = row.base_offset
