"""A producer of the simulation: plain, or idempotent; an idempotent one repeats a batch whose answer was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.simulation.dates import Headers
from tests.simulation.ledger import InvariantBroken
from tests.simulation.topics import Slot

if TYPE_CHECKING:
    from tests.simulation.world import World


# The error for a producer whose last batches are missing, as Apache Kafka's is: it would start over in another epoch.
FORGOTTEN: Final = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


@dataclass
class Batch:
    """The records sent to a slot. `sequence` is the first one's, -1 without idempotence."""

    slot: Slot
    values: list[bytes]
    headers: list[Headers]
    sequence: int
    attempts: int = 0
    under_way: bool = False


class Producer:
    """A producer. With `producer_id` -1 every batch is sent once.

    Otherwise a partition has one batch in flight, which is repeated until it is answered.
    """

    def __init__(self, world: World, producer_id: int) -> None:
        self.world = world
        self.producer_id = producer_id
        self.next_sequence: dict[int, int] = {}
        self.unanswered: dict[int, Batch] = {}
        self.life = 0
        self._given_up: set[int] = set()  # slots in which damage took what the broker knew of this producer

    def act(self) -> None:
        world = self.world
        if not world.fed:
            return
        waiting = [batch.slot for batch in self.unanswered.values() if not batch.under_way]
        slot = world.rng.choice(waiting if waiting and world.rng.random() < 0.5 else world.fed)
        if slot.index in self._given_up:
            return
        batch = self.unanswered.get(slot.index)
        if batch is None:
            batch = self._new_batch(slot)
        if not batch.under_way:
            self._send(batch)

    def finish(self) -> None:
        for batch in list(self.unanswered.values()):
            if not batch.under_way:
                self._send(batch)

    def on_broker_lost(self) -> None:
        self.life += 1
        for batch in self.unanswered.values():
            batch.under_way = False

    def _new_batch(self, slot: Slot) -> Batch:
        world = self.world
        size = world.shares.size_of_batch(world.dates.size_of_batch(world.rng.choice((1, 1, 3, 8))))
        values = [b"%d" % (world.values + index) for index in range(size)]
        dates = [world.dates.headers_for(value, size) for value in values]
        headers = [each + world.expiries.headers_for(value, each) for value, each in zip(values, dates, strict=True)]
        world.values += len(values)
        world.topics.records.sent.update(dict.fromkeys(values, slot.index))
        if self.producer_id < 0:
            return Batch(slot, values, headers, -1)
        sequence = self.next_sequence.get(slot.index, 0)
        self.next_sequence[slot.index] = sequence + len(values)
        batch = self.unanswered[slot.index] = Batch(slot, values, headers, sequence)
        return batch

    def _send(self, batch: Batch) -> None:
        world = self.world
        batch.attempts += 1
        batch.under_way = True
        world.seen["batches sent again"] += batch.attempts > 1
        world.expiries.on_sent(batch.values)
        data = build_batch(
            [
                RecordData(world.key_of(value), value, headers)
                for value, headers in zip(batch.values, batch.headers, strict=True)
            ],
            timestamp_ms=world.clock.wall_ms(),
            producer_id=self.producer_id,
            producer_epoch=0 if self.producer_id >= 0 else -1,
            base_sequence=batch.sequence,
        )
        partition = PartitionProduceData(batch.slot.partition, bytes(data))
        topic = TopicProduceData(batch.slot.topic, partition_data=[partition])
        pending = world.call("produce", ProduceRequest(None, -1, 1_000, [topic]), 9, world.connect())
        life = self.life

        def answered(response: Message) -> None:
            assert isinstance(response, ProduceResponse)
            if life == self.life:
                row = response.responses[0].partition_responses[0]
                self._on_answer(batch, ErrorCode(row.error_code), row.base_offset)

        pending.on_complete(answered)

    def _on_answer(self, batch: Batch, error: ErrorCode, base_offset: int) -> None:
        world = self.world
        batch.under_way = False
        slot = batch.slot.index
        world.note(f"produced {len(batch.values)} to {slot} (try {batch.attempts}): {error.name} at {base_offset}")
        if not world.topics.is_live(slot):
            return
        if error is ErrorCode.NONE:
            world.topics.records.on_produced(slot, base_offset, batch.values)
            self.unanswered.pop(slot, None)
        elif error in FORGOTTEN and batch.sequence > 0 and world.storage.may_be_unreadable(slot):
            self._given_up.add(slot)
            self.unanswered.pop(slot, None)
        elif error is not ErrorCode.KAFKA_STORAGE_ERROR:
            raise InvariantBroken(f"a sound batch was refused with {error.name}")
