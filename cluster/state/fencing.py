"""Rule (a) decides which batches of a slot's log count. All readers of a slot agree on them, whatever zombies have
written.

A batch counts if its producer id and epoch are those of the last take-over record before it.

The owner of a slot writes a take-over record before it reads the slot, so all valid records behind the ones it has read
are its own. The records of owners, each alone in a batch without compression:

    key    int16 32767, int8 version, int8 kind (0 take-over, 1 alive)
           take-over: int64 producer id, int16 producer epoch
    value  take-over: int8 version, int32 generation, int32 node id, int64 producer id, int16 producer epoch
           alive: int8 version

Later versions may add fields behind these. A take-over record has a unique key, because compaction must never remove
one: its owner's records would no longer count. An alive record is only a sign of life, so its key is always the same.

The *generation* counts the take-overs of the slot. An owner cannot know the number before it has read the slot, so -1
stands for the last one plus one. A record with a number continues that generation: its owner has a new producer id, or
wants the log to begin with this record. It counts only while that generation is the last one, or if the log has none
before it: a zombie's delayed record must not return the slot to the zombie.
"""

from __future__ import annotations

from enum import Enum
from struct import Struct
from struct import error as TooShort
from typing import Final, NamedTuple

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import BatchHeader, RecordData, build_batch, decode_records

NEXT_GENERATION: Final = -1
"""The value in a record that stands for the generation of the take-over record before it plus one."""

MOST_BYTES: Final = 256
"""The most bytes of an owner's own record as a batch; a larger batch has none."""

_VERSION: Final = 0
_TAKE_OVER, _ALIVE = 0, 1
_PREFIX: Final = Struct(">hBB")
_TYPE: Final = b"\x7f\xff"  # no coordinator's records have it
_TAKE_OVER_KEY: Final = Struct(">hBBqh")
_TAKE_OVER_VALUE: Final = Struct(">Biiqh")
_ALIVE_VALUE: Final = bytes((_VERSION,))


class Producer(NamedTuple):
    """The producer id and epoch that identify the batches of an owner. No two owners of a slot have the same."""

    producer_id: int
    epoch: int


class Owner(NamedTuple):
    """An owner as its take-over record names it, and the offset of that record."""

    generation: int
    node_id: int
    producer: Producer
    offset: int


class Verdict(Enum):
    """The meanings that a batch can have for a reader."""

    COUNTS = 0
    OWNERS = 1  # a record that an owner has written for owners: it counts, and no coordinator knows it
    SKIPPED = 2


class _Silent(Enum):
    """An owner's own record without an effect: an alive record, or one of a later release."""

    SAYS_NOTHING = 0


def take_over_batch(
    producer: Producer, *, node_id: int, sequence: int, now_wall_ms: int, generation: int = NEXT_GENERATION
) -> bytearray:
    """Return a batch with an owner's take-over record."""
    key = _TAKE_OVER_KEY.pack(0x7FFF, _VERSION, _TAKE_OVER, *producer)
    value = _TAKE_OVER_VALUE.pack(_VERSION, generation, node_id, *producer)
    return _batch(key, value, producer, sequence, now_wall_ms)


def alive_batch(producer: Producer, *, sequence: int, now_wall_ms: int) -> bytearray:
    """Return a batch with an alive record."""
    return _batch(_PREFIX.pack(0x7FFF, _VERSION, _ALIVE), _ALIVE_VALUE, producer, sequence, now_wall_ms)


def _batch(key: bytes, value: bytes, producer: Producer, sequence: int, now_wall_ms: int) -> bytearray:
    return build_batch(
        [RecordData(key, value)],
        timestamp_ms=now_wall_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
    )


class Counting:
    """Rule (a), applied to the batches of one log in order, from the log's start on.

    `skipped` is the number of batches that did not count.
    """

    __slots__ = ("owner", "skipped")

    def __init__(self) -> None:
        self.owner: Owner | None = None
        self.skipped = 0

    def judge(self, header: BatchHeader, batch: bytes | memoryview) -> Verdict:
        """Return the verdict on the next batch. The caller has checked its CRC."""
        verdict = self._judge(header, batch)
        if verdict is Verdict.SKIPPED:
            self.skipped += 1
        return verdict

    def _judge(self, header: BatchHeader, batch: bytes | memoryview) -> Verdict:
        if header.is_control or header.is_transactional:
            return Verdict.SKIPPED  # no owner writes them
        producer = Producer(header.producer_id, header.producer_epoch)
        if len(batch) <= MOST_BYTES and header.records_count == 1:
            found = _owners_record(batch)
            if isinstance(found, Owner):
                return self._taken_over(found, producer, header.base_offset)
            if found is not None:
                return Verdict.OWNERS if self._is_owners(producer) else Verdict.SKIPPED
        return Verdict.COUNTS if self._is_owners(producer) else Verdict.SKIPPED

    def _is_owners(self, producer: Producer) -> bool:
        return self.owner is not None and self.owner.producer == producer

    def _taken_over(self, found: Owner, producer: Producer, offset: int) -> Verdict:
        if found.producer != producer or producer.producer_id < 0:
            return Verdict.SKIPPED  # its writer is not the owner that it names
        last = self.owner
        generation = found.generation
        if generation < 0:
            generation = 1 if last is None else last.generation + 1
        elif last is not None and generation != last.generation:
            return Verdict.SKIPPED
        self.owner = Owner(generation, found.node_id, producer, offset)
        return Verdict.OWNERS


def _owners_record(batch: bytes | memoryview) -> Owner | _Silent | None:
    """Return the owner that a take-over record names, or `_Silent`; None if the batch is no owner's own record."""
    try:
        record = decode_records(batch, MOST_BYTES)[0]
    except (MalformedMessage, IndexError):
        return None
    key = record.key
    if key is None or not key.startswith(_TYPE) or record.value is None:
        return None
    try:
        _, _, kind = _PREFIX.unpack_from(key)
        if kind != _TAKE_OVER:
            return _Silent.SAYS_NOTHING
        _, generation, node_id, *producer = _TAKE_OVER_VALUE.unpack_from(record.value)
    except TooShort:
        return _Silent.SAYS_NOTHING
    return Owner(generation, node_id, Producer(*producer), record.offset)
