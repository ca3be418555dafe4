"""An independent reader of the state topics: the batches that count, and their content.

A batch counts if its producer is the one that the last take-over record before it names; see
`cluster/state/fencing.py`, whose code is not used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from struct import pack, unpack_from
from typing import Final, NamedTuple

from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.share_state import ShareState
from shareq.coordinator.share.state_batches import combine
from shareq.protocol.generated.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey
from shareq.protocol.generated.share_update import ShareUpdateKey
from shareq.protocol.records.batch import Record, decode_records
from tests.support.cluster.log import Stored

TAKE_OVER: Final = b"\x7f\xff\x00\x00"
OF_GROUPS_STATES: Final = pack(">h", ShareGroupStatePartitionMetadataKey.API_KEY)
TERMINAL: Final = (2, 4)
"""The states acknowledged and archived, as KIP-932 numbers them."""


class TakenOver(NamedTuple):
    """A take-over record that counts. `wall_ms`: when its node decided to write it, not when the record arrived."""

    node_id: int
    generation: int
    offset: int
    wall_ms: int


@lru_cache(1 << 12)
def _records(data: bytes) -> list[Record]:
    """Decode a batch, cached: every new record makes the whole topic be read again."""
    return decode_records(data)


def counting(batches: Sequence[Stored]) -> Iterator[tuple[TakenOver, list[Record]]]:
    """Yield the records that count, batch by batch, with the slot's owner; first its take-over record."""
    producer: tuple[int, int] | None = None
    owner: TakenOver | None = None
    for header, data in batches:
        if header.is_control or header.producer_id < 0:
            continue
        records = _records(data)
        mine = (header.producer_id, header.producer_epoch)
        first = records[0] if records else None
        if first is not None and first.key is not None and first.key.startswith(TAKE_OVER) and first.value is not None:
            _, generation, node_id, *named = unpack_from(">Biiqh", first.value)
            if tuple(named) != mine or (generation >= 0 and owner is not None and generation != owner.generation):
                continue
            if generation < 0:
                generation = 1 if owner is None else owner.generation + 1
            producer, owner = mine, TakenOver(node_id, generation, header.base_offset, header.max_timestamp)
            yield owner, []
        elif producer == mine and owner is not None:
            yield owner, [record for record in records if record.key is None or not record.key.startswith(b"\x7f\xff")]


def latest(batches: Sequence[Stored]) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for _, records in counting(batches) for record in records}


def forgotten(batches: Sequence[Stored]) -> list[str]:
    """Return share partitions whose state a group knew and lost, although no group is deleted here."""
    known: dict[bytes, set[tuple[bytes, int]]] = {}
    found: list[str] = []
    for _, records in counting(batches):
        for record in records:
            if record.key is None or record.value is None or not record.key.startswith(OF_GROUPS_STATES):
                continue
            (version,) = unpack_from(">h", record.value)
            value, _ = ShareGroupStatePartitionMetadataValue.decode(record.value, version, 2)
            rows = [*value.initialized_topics, *value.initializing_topics]
            now = {(row.topic_id, partition) for row in rows for partition in row.partitions}
            before = known.get(bytes(record.key), set())
            found += [f"{topic_id.hex()} {partition}" for topic_id, partition in before - now]
            known[bytes(record.key)] = now
    return found


class States:
    def __init__(self, batches: Sequence[Stored], metadata: MetadataImage, wall_ms: Callable[[], int]) -> None:
        settings = ShareCoordinatorSettings()
        self.first_starts: dict[SharePartitionKey, int] = {}
        self._shard = shard = ShareCoordinatorShard(metadata, wall_ms, settings)
        for _, records in counting(batches):
            for record in records:
                found = SHARE_STATE_SERDE.decode(bytes(record.key or b""), record.value)
                if found is None or not isinstance(found.key, ShareSnapshotKey | ShareUpdateKey):
                    continue
                shard.replay(found, record.offset)
                key = SharePartitionKey(found.key.group_id, found.key.topic_id, found.key.partition)
                state = shard.state_of(key)
                if key not in self.first_starts and state is not None and state.start_offset >= 0:
                    self.first_starts[key] = state.start_offset

    def all(self) -> dict[SharePartitionKey, ShareState]:
        found = {key: self._shard.state_of(key) for key in self._shard.share_partitions()}
        return {key: state for key, state in found.items() if state is not None}


def is_done(state: ShareState, offset: int) -> bool:
    if offset < state.start_offset:
        return True
    return any(
        batch.first_offset <= offset <= batch.last_offset and batch.delivery_state in TERMINAL
        for batch in combine(state.batches, state.start_offset)
    )
