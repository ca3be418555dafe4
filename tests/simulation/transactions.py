"""A transactional producer, appended from inside: records, and in the end a marker that commits or aborts them.

Its decisions are final, as with a transaction coordinator: a marker without an answer is written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.log.partition_log import AppendInfo, Origin
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.control import build_end_transaction_marker
from tests.simulation.ledger import InvariantBroken, Transaction
from tests.simulation.topics import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.world import World

LOST: Final = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class TransactionalProducer:
    def __init__(self, world: World, producer_id: int) -> None:
        self._world = world
        self._producer_id = producer_id
        self._open: dict[int, Transaction] = {}  # by slot
        self._under_way: set[int] = set()  # slots with an append that is not answered yet
        self._life = 0

    def act(self) -> None:
        world, rng = self._world, self._world.rng
        slots = [slot for slot in world.fed if slot.index not in self._under_way]
        if not slots:
            return
        slot = rng.choice(slots)
        transaction = self._open.get(slot.index)
        if transaction is not None and (transaction.commits is not None or rng.random() < 0.5):
            self._end(slot, transaction)
        else:
            self._append_records(slot)

    def finish(self) -> None:
        for index, transaction in list(self._open.items()):
            if self._world.topics.is_live(index) and index not in self._under_way:
                self._end(self._world.topics.slots[index], transaction)

    @property
    def unfinished(self) -> list[int]:
        return [index for index in self._open if self._world.topics.is_live(index)]

    def on_broker_lost(self) -> None:
        self._life += 1
        self._under_way.clear()

    def _append_records(self, slot: Slot) -> None:
        world = self._world
        records = world.topics.records
        transaction = self._open.get(slot.index)
        if transaction is None:
            transaction = self._open[slot.index] = Transaction(slot.index)
            records.transactions.append(transaction)
        values = [b"%d" % (world.values + index) for index in range(world.rng.choice((1, 2, 3)))]
        world.values += len(values)
        records.sent.update(dict.fromkeys(values, slot.index))
        records.transaction_of.update(dict.fromkeys(values, transaction))
        world.expiries.on_sent(values)
        batch = build_batch(
            [RecordData(world.key_of(value), value) for value in values],
            timestamp_ms=world.clock.wall_ms(),
            producer_id=self._producer_id,
            producer_epoch=0,
            transactional=True,
        )

        def answered(base_offset: int) -> None:
            transaction.begins_at(base_offset)
            records.on_produced(slot.index, base_offset, values)

        self._append(slot, batch, f"{len(values)} records in a transaction", answered)

    def _end(self, slot: Slot, transaction: Transaction) -> None:
        world = self._world
        if transaction.commits is None:
            transaction.commits = world.rng.random() < 0.5
        marker = build_end_transaction_marker(
            commit=transaction.commits,
            producer_id=self._producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp_ms=world.clock.wall_ms(),
        )
        what = "transactions committed" if transaction.commits else "transactions aborted"

        def answered(_base_offset: int) -> None:
            world.seen[what] += 1
            del self._open[slot.index]

        self._append(slot, marker, what, answered)

    def _append(self, slot: Slot, batch: bytearray, what: str, answered: Callable[[int], None]) -> None:
        world, life = self._world, self._life

        def on_durable(error: ErrorCode) -> None:
            if life != self._life:
                return
            self._under_way.discard(slot.index)
            world.note(f"{what} in {slot.index}: {error.name} at {base_offset}")
            if not world.topics.is_live(slot.index):
                return
            if error is ErrorCode.NONE:
                answered(base_offset)
            elif error not in LOST:
                raise InvariantBroken(f"{what} in {slot.index}: {error.name}")

        appended = world.log(slot).append(
            batch, origin=Origin.COORDINATOR, now_wall_ms=world.clock.wall_ms(), on_durable=on_durable
        )
        if isinstance(appended, AppendInfo):
            base_offset = appended.base_offset
            self._under_way.add(slot.index)
        elif appended not in LOST:
            raise InvariantBroken(f"{what} in {slot.index} was refused with {appended.name}")
