"""The share coordinator's state machine: durable state of share partitions, one partition of `__share_group_state`.

KIP-932, "Managing durable share-partition state", as Apache Kafka 4.4.0 does it. The leader of a share partition stores
the states of its records by `write`, and loads them by `read`; the group coordinator calls the other operations. A
state is a start offset, the state batches from there on, and epochs that fence outdated writers: a negative epoch is
refused, and so is one lower than the stored one; an equal or higher one passes. A start offset never goes back, and
batches below it are dropped, so a delayed write cannot revive an acknowledged record.

One thing differs from 4.4.0: while DeliveryCompleteCount is -1 and there are no batches, a summary has start offset -1.
So until the first acknowledgement no client sees the start offset that the leader resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, Steps
from shareq.coordinator.share.delays import (
    DELAY_BYTES,
    NO_DELAYS,
    Delay,
    combined,
    delays_in,
    in_force,
    rows_of,
    tags_of,
)
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import (
    RECORD_OVERHEAD_BYTES,
    STATE_BATCH_BYTES,
    snapshot_batches,
    tombstone,
    update_batches,
    update_bytes,
)
from shareq.coordinator.share.results import (
    BAD_BATCH,
    BAD_START_OFFSET,
    FENCED_LEADER_EPOCH,
    FENCED_STATE_EPOCH,
    NEGATIVE_LEADER_EPOCH,
    NEGATIVE_PARTITION,
    NEGATIVE_STATE_EPOCH,
    READ_UNINITIALIZED,
    TOO_LARGE,
    UNKNOWN_PARTITION,
    WRITE_UNINITIALIZED,
    ReadResult,
    SummaryResult,
)
from shareq.coordinator.share.share_state import UNSET, ShareState
from shareq.coordinator.share.staged import (
    NONE_STAGED,
    OVERHEAD_BYTES,
    STAGED_BYTES,
    Staged,
    changed,
    is_of,
    is_sound,
    staged_in,
)
from shareq.coordinator.share.staged import tags_of as tags_of_staged
from shareq.coordinator.share.state_batches import (
    Account,
    StateBatch,
    StateBatchLike,
    account_of,
    combine,
    merge_into,
    state_batches,
)
from shareq.protocol.errors import NO_ERROR, ApiError
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from shareq.protocol.generated.share_update import ShareUpdateKey, ShareUpdateValue
from shareq.protocol.primitives import Tags
from shareq.protocol.records.batch import RecordData
from shareq.protocol.share import RecordState

T = TypeVar("T")

_PLAIN_BATCHES: Final = 10_000  # as many as Apache Kafka's widest window can have
MOST_COLD: Final = 500
"""The most snapshots of cold states that are written together: 5 ms, their replay included."""
_NO_BATCHES: Final = Account()
NOTHING: Final = 2**63 - 1
"""An offset beyond every log: no record of the log is needed."""


"""The delivery state of dead records whose dead letters may not be written yet (KIP-1191)."""


@dataclass(frozen=True, slots=True)
class ShareCoordinatorSettings:
    """The settings `share.coordinator.*`, and the limits of the state topic.

    `max_record_bytes` limits a state, which has to fit into one record. `max_batch_bytes` limits records that are
    written together.
    """

    snapshot_update_records_per_snapshot: int = 500
    cold_partition_snapshot_interval_ms: int = 300_000
    max_record_bytes: int = 1_048_588
    max_batch_bytes: int = 1_048_588


class ShareCoordinatorShard:
    """A `CoordinatorShard`: operations decide, `replay` changes. Owned by the runtime of its partition.

    `settings` may be replaced at any time. `wall_ms` returns the time for the timestamps of records.
    """

    def __init__(self, metadata: MetadataImage, wall_ms: Callable[[], int], settings: ShareCoordinatorSettings) -> None:
        self.settings = settings
        self._metadata = metadata
        self._wall_ms = wall_ms
        self._states: dict[SharePartitionKey, ShareState] = {}
        self._of_topic: dict[bytes, dict[SharePartitionKey, None]] = {}  # keys of `_states`
        self._without_snapshot: dict[SharePartitionKey, ShareState] = {}  # only updates were in the log
        self._with_staged: dict[SharePartitionKey, ShareState] = {}
        self._warm = 0
        self._cold_check_due_ms = 0

    def state_of(self, key: SharePartitionKey) -> ShareState | None:
        """Return the replayed state, for reading only; None if there is none."""
        return self._states.get(key)

    def share_partitions(self) -> list[SharePartitionKey]:
        """Return all share partitions that have a state."""
        return list(self._states)

    def share_partitions_of(self, topic_ids: Iterable[bytes]) -> list[SharePartitionKey]:
        """Return the share partitions of these topics that have a state."""
        return list(self._keys_of(topic_ids))

    def _keys_of(self, topic_ids: Iterable[bytes]) -> Iterator[SharePartitionKey]:
        return (key for topic_id in topic_ids for key in self._of_topic.get(topic_id, ()))

    def count_of(self, topic_id: bytes) -> int:
        """Return how many share partitions of the topic have a state."""
        return len(self._of_topic.get(topic_id, ()))

    def needed_from(self) -> int:
        """Return the lowest offset that a load of these states needs; `NOTHING` if there are no states."""
        return min((state.needed_from for state in self._states.values()), default=NOTHING)

    def archiving(self, key: SharePartitionKey) -> list[StateBatch]:
        """Return the batches of the state that are in state ARCHIVING, ascending."""
        state = self._states.get(key)
        return (
            [] if state is None else [batch for batch in state.batches if batch.delivery_state == RecordState.ARCHIVING]
        )

    @property
    def has_staged(self) -> bool:
        """True if a state has acknowledgements that wait for the end of a transaction."""
        return bool(self._with_staged)

    def staged_by(self, producer_id: int, producer_epoch: int) -> list[SharePartitionKey]:
        """Return the share partitions with acknowledgements that the end of the producer's transaction ends."""
        return [
            key
            for key, state in self._with_staged.items()
            if any(is_of(row, producer_id, producer_epoch) for row in state.staged)
        ]

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> CoordinatorResult[ApiError]:
        """Give the share partition a new state without batches, in place of any old one.

        `start_offset` -1: the leader will resolve it. Errors: INVALID_REQUEST, FENCED_STATE_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        if key.partition < 0:
            return _refused(NEGATIVE_PARTITION)
        if state_epoch < 0:
            return _refused(NEGATIVE_STATE_EPOCH)
        if start_offset < UNSET:
            return _refused(BAD_START_OFFSET)
        state = self._states.get(key)
        if state is not None and state_epoch < state.highest_state_epoch:
            return _refused(FENCED_STATE_EPOCH)
        if not self._exists(key):
            return _refused(UNKNOWN_PARTITION)
        now = self._wall_ms()
        value = ShareSnapshotValue(
            snapshot_epoch=0 if state is None else state.snapshot_epoch + 1,
            state_epoch=state_epoch,
            leader_epoch=0,
            start_offset=start_offset,
            delivery_complete_count=UNSET if start_offset == UNSET else 0,
            create_timestamp=now,
            write_timestamp=now,
            state_batches=[],
        )
        return CoordinatorResult(NO_ERROR, (CoordinatorRecord(ShareSnapshotKey(*key), value),))

    def initialize_once(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int = UNSET, *, again: bool = False
    ) -> CoordinatorResult[ApiError]:
        """Initialise a state unless one of this epoch, or of a newer one, exists already.

        With `again`, the caller is known to have asked before, and a state of an older epoch stays, too.

        A group coordinator that could not record the initialisation asks again, in its present epoch. Changes of the
        state since then, and confirmed acknowledgements, must not be wiped. A state of a newer epoch stays, because a
        group whose records were damaged begins again with epoch 2, and its finished records have to stay finished.
        Errors as in `initialize`.
        """
        state = self._states.get(key)
        if state is not None and (again or state.state_epoch >= state_epoch):
            return CoordinatorResult(NO_ERROR)
        return self.initialize(key, state_epoch, start_offset)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> CoordinatorResult[ReadResult]:
        """Return the state for a leader that loads it; a higher leader epoch than the known one is stored.

        Errors: INVALID_REQUEST (also for a share partition that was never initialised), FENCED_LEADER_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        state, refusal = self._find(key, leader_epoch, None, READ_UNINITIALIZED)
        if state is None:
            return CoordinatorResult(ReadResult(refusal.code, refusal.message))
        result = ReadResult(
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            batches=tuple(state.batches),
            delays=in_force(state.delays, state.batches, self._wall_ms()) if state.delays else NO_DELAYS,
            staged=state.staged,
        )
        if leader_epoch == state.highest_leader_epoch:
            return CoordinatorResult(result)
        return self._changed(
            result,
            key,
            state,
            state.start_offset,
            state.delivery_complete_count,
            _NO_BATCHES,
            leader_epoch=leader_epoch,
        )

    def write(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int | None,
        start_offset: int,
        delivery_complete_count: int,
        batches: Iterable[StateBatchLike],
        delays: Sequence[Delay] = NO_DELAYS,
        staged: Sequence[Staged] = NONE_STAGED,
    ) -> CoordinatorResult[ApiError]:
        """Store the changes of records since the last write. `delays` are the times of available records that wait,
        `staged` the changes of acknowledgements in transactions.

        `leader_epoch` None: the present leader's. `start_offset` -1: unchanged. `delivery_complete_count`: the number
        of terminal records from `start_offset` on; negative: unknown. For one start offset it never falls; a count for
        a lower start offset is ignored. `batches` are in any order, their ends inclusive. Epochs higher than the stored
        ones pass and are not stored. Errors: INVALID_REQUEST, FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION, and UNKNOWN_SERVER_ERROR if the state would no longer fit into one record.
        """
        state, refusal = self._find(key, leader_epoch, state_epoch, WRITE_UNINITIALIZED)
        if state is None:
            return CoordinatorResult(refusal)
        if start_offset < UNSET:
            return _refused(BAD_START_OFFSET)
        if delivery_complete_count < UNSET:
            delivery_complete_count = UNSET  # no other can be loaded
        stored_start, stored_count = state.start_offset, state.delivery_complete_count
        if start_offset < stored_start:
            start_offset, delivery_complete_count = stored_start, stored_count
        elif start_offset == stored_start and stored_count > delivery_complete_count:
            delivery_complete_count = stored_count
        written = account_of(batches, start_offset)
        if written is None:
            return _refused(BAD_BATCH)
        if delays:
            delays = combined(delays, start_offset)
        if staged and not all(map(is_sound, staged)):
            return _refused(BAD_BATCH)
        if not self._fits(key, state, written, start_offset, len(staged)):
            return _refused(TOO_LARGE)
        return self._changed(
            response=NO_ERROR,
            key=key,
            state=state,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            written=written,
            delays=delays,
            staged=staged,
        )

    def read_summary(self, key: SharePartitionKey) -> CoordinatorResult[SummaryResult]:
        """Return epochs, start offset and count; start offset and count are -1 for a share partition without state. No
        leader is fenced.

        Errors: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION.
        """
        refusal = self._check_partition(key)
        if refusal is not None:
            return CoordinatorResult(SummaryResult(refusal.code, refusal.message))
        state = self._states.get(key)
        if state is None:
            return CoordinatorResult(SummaryResult())
        count = state.delivery_complete_count
        return CoordinatorResult(
            SummaryResult(
                state_epoch=state.state_epoch,
                leader_epoch=state.leader_epoch,
                # A leader that counts nothing, but has written what became of records, has more to say than its start.
                start_offset=UNSET if count == UNSET and not state.batches else state.start_offset,
                delivery_complete_count=count,
                first_offset=state.start_offset,
            )
        )

    def delete(self, key: SharePartitionKey) -> CoordinatorResult[ApiError]:
        """Delete the state, if there is one. Errors: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION."""
        refusal = self._check_partition(key)
        if refusal is not None:
            return CoordinatorResult(refusal)
        return CoordinatorResult(NO_ERROR, (tombstone(key),) if key in self._states else ())

    def topics_deleted(self, topic_ids: Collection[bytes], most: int | None = None) -> CoordinatorResult[None]:
        """Delete the states of topics that were deleted, at most `most` of them."""
        records = tuple(map(tombstone, islice(self._keys_of(topic_ids), most)))
        return CoordinatorResult(None, records, atomic=False)

    # -- CoordinatorShard

    def replay(self, record: CoordinatorRecord, offset: int) -> None:
        """Apply one record. An update without a state, because its snapshot is missing in the log, becomes the
        state.
        """
        record_key, value = record.key, record.value
        if isinstance(record_key, ShareUpdateKey):
            if isinstance(value, ShareUpdateValue):
                key = SharePartitionKey(record_key.group_id, record_key.topic_id, record_key.partition)
                self._replay_update(key, value, offset)
        elif isinstance(record_key, ShareSnapshotKey):
            key = SharePartitionKey(record_key.group_id, record_key.topic_id, record_key.partition)
            if isinstance(value, ShareSnapshotValue):
                self._replay_snapshot(key, value, offset)
            else:
                self._forget(key)

    def on_loaded(self, now_ms: int) -> Steps[None]:
        for state in self._without_snapshot.values():
            state.settle()
            yield
        self._without_snapshot.clear()
        self._cold_check_due_ms = now_ms + self.settings.cold_partition_snapshot_interval_ms

    def next_deadline_ms(self) -> int | None:
        return self._cold_check_due_ms if self._warm else None

    def on_deadline(self, now_ms: int) -> CoordinatorResult[None]:
        """Write snapshots of states that have had none for an interval, as many as fit into a batch and a turn of the
        loop.

        For the others, the next call is due at once.
        """
        if not self._warm or now_ms < self._cold_check_due_ms:
            return CoordinatorResult(None)
        interval = self.settings.cold_partition_snapshot_interval_ms
        now = self._wall_ms()
        records: list[CoordinatorRecord] = []
        room = self.settings.max_batch_bytes
        for key, state in self._states.items():
            if now - state.write_timestamp_ms < interval:
                continue
            room -= _record_bytes(key, len(state.batches), len(state.staged)) + DELAY_BYTES * len(state.delays)
            if records and (room < 0 or len(records) == MOST_COLD):
                return CoordinatorResult(None, tuple(records), atomic=False)
            records.append(_cold_snapshot(key, state, now, self.settings.max_record_bytes))
        self._cold_check_due_ms = now_ms + interval
        return CoordinatorResult(None, tuple(records), atomic=False)

    # -- deciding

    def _find(
        self, key: SharePartitionKey, leader_epoch: int | None, state_epoch: int | None, uninitialized: ApiError
    ) -> tuple[ShareState | None, ApiError]:
        """Return the state that a leader with these epochs may read and write, or the error of a refusal.

        An epoch that is None is not checked.
        """
        if key.partition < 0:
            return None, NEGATIVE_PARTITION
        if leader_epoch is not None and leader_epoch < 0:
            return None, NEGATIVE_LEADER_EPOCH
        if state_epoch is not None and state_epoch < 0:
            return None, NEGATIVE_STATE_EPOCH
        state = self._states.get(key)
        if state is None:
            return None, uninitialized
        if leader_epoch is not None and leader_epoch < state.highest_leader_epoch:
            return None, FENCED_LEADER_EPOCH
        if state_epoch is not None and state_epoch < state.highest_state_epoch:
            return None, FENCED_STATE_EPOCH
        if not self._exists(key):
            return None, UNKNOWN_PARTITION
        return state, NO_ERROR

    def _check_partition(self, key: SharePartitionKey) -> ApiError | None:
        if key.partition < 0:
            return NEGATIVE_PARTITION
        return None if self._exists(key) else UNKNOWN_PARTITION

    def _exists(self, key: SharePartitionKey) -> bool:
        topic = self._metadata.topic_by_id(key.topic_id)
        return topic is not None and key.partition < topic.partitions

    def _changed(
        self,
        response: T,
        key: SharePartitionKey,
        state: ShareState,
        start_offset: int,
        delivery_complete_count: int,
        written: Account,
        delays: Sequence[Delay] = NO_DELAYS,
        staged: Sequence[Staged] = NONE_STAGED,
        *,
        leader_epoch: int = UNSET,
    ) -> CoordinatorResult[T]:
        """Return the result with an update, or with a snapshot after a number of updates.

        `start_offset` -1 and `leader_epoch` -1 stand for the stored ones.
        """
        if leader_epoch == UNSET:
            leader_epoch = state.leader_epoch
        if self._snapshot_is_due(state):
            snapshot = self._snapshot(
                key=key,
                state=state,
                start_offset=start_offset,
                delivery_complete_count=delivery_complete_count,
                written=written,
                delays=delays,
                staged=staged,
                leader_epoch=leader_epoch,
            )
            return CoordinatorResult(response, (snapshot,))
        update = ShareUpdateValue(
            state.snapshot_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            update_batches(written),
            self._tags(key, len(written), delays, staged) if delays or staged else (),
        )
        encoded = RecordData(state.update_key_bytes, update_bytes(update, written))
        return CoordinatorResult(response, (CoordinatorRecord(state.update_key, update),), encoded=(encoded,))

    def _snapshot(
        self,
        key: SharePartitionKey,
        state: ShareState,
        start_offset: int,
        delivery_complete_count: int,
        written: Sequence[StateBatch],
        delays: Sequence[Delay],
        staged: Sequence[Staged],
        leader_epoch: int,
    ) -> CoordinatorRecord:
        now = self._wall_ms()
        batches = _merged(state, written, start_offset)
        if delays or state.delays:
            delays = in_force(state.delays, batches, now, delays)
        if staged or state.staged:
            staged = changed(state.staged, staged)
        snapshot = ShareSnapshotValue(
            snapshot_epoch=state.snapshot_epoch + 1,
            state_epoch=state.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=state.start_offset if start_offset == UNSET else start_offset,
            delivery_complete_count=delivery_complete_count,
            create_timestamp=now,
            write_timestamp=now,
            state_batches=snapshot_batches(batches),
            unknown_tags=self._tags(key, len(batches), delays, staged) if delays or staged else (),
        )
        return CoordinatorRecord(ShareSnapshotKey(*key), snapshot)

    def _tags(self, key: SharePartitionKey, batches: int, delays: Sequence[Delay], staged: Sequence[Staged]) -> Tags:
        return _tags_in(key, batches, delays, staged, self.settings.max_record_bytes)

    def _snapshot_is_due(self, state: ShareState) -> bool:
        """Return True after a number of updates, or, for a state with many batches, when the updates are as large as a
        snapshot.

        Otherwise snapshots of megabytes would make up nearly all of the log.
        """
        limit = self.settings.snapshot_update_records_per_snapshot
        if state.updates < limit:
            return False
        return state.updated_batches >= limit * (len(state.batches) - _PLAIN_BATCHES) // _PLAIN_BATCHES

    def _fits(
        self,
        key: SharePartitionKey,
        state: ShareState,
        written: Sequence[StateBatch],
        start_offset: int,
        staged: int,
    ) -> bool:
        """Return True if the record, and any later snapshot of the resulting state, fits into a batch of the log."""
        room = self.settings.max_record_bytes
        # A range that replaces a part of another adds itself and the part behind it.
        staged = 2 * staged + len(state.staged)
        # A batch that splits a stored one adds itself and the part behind it.
        if _record_bytes(key, len(state.batches) + 2 * len(written), staged) <= room:
            return True
        if _record_bytes(key, len(written), staged) > room:
            return False
        return _record_bytes(key, len(_merged(state, written, start_offset)), staged) <= room

    # -- replaying

    def _replay_update(self, key: SharePartitionKey, value: ShareUpdateValue, offset: int) -> None:
        written: Sequence[StateBatchLike] = value.state_batches
        if type(written) is not Account:
            written = combine(state_batches(value.state_batches))
        state = self._states.get(key)
        if state is None:
            state = self._without_snapshot[key] = self._new_state(key)
            state.snapshot_epoch = value.snapshot_epoch
            state.needed_from = offset
            self._warm += 1
        if value.start_offset != UNSET:
            state.start_offset = value.start_offset
        if value.leader_epoch != UNSET:
            state.leader_epoch = value.leader_epoch
            if value.leader_epoch > state.highest_leader_epoch:
                state.highest_leader_epoch = value.leader_epoch
        state.delivery_complete_count = value.delivery_complete_count
        merge_into(state.batches, written, state.start_offset)
        if value.unknown_tags or state.delays:
            merge_into(state.delays, rows_of(delays_in(value.unknown_tags)), state.start_offset)
        if value.unknown_tags:
            self._set_staged(key, state, changed(state.staged, staged_in(value.unknown_tags)))
        state.updates += 1
        state.updated_batches += len(written)

    def _replay_snapshot(self, key: SharePartitionKey, value: ShareSnapshotValue, offset: int) -> None:
        state = self._states.get(key)
        if state is None:
            state = self._new_state(key)
        elif not state.is_cold:
            self._warm -= 1
        if self._without_snapshot:
            self._without_snapshot.pop(key, None)
        state.needed_from = offset
        state.snapshot_epoch = value.snapshot_epoch
        state.state_epoch = value.state_epoch
        state.leader_epoch = value.leader_epoch
        state.start_offset = value.start_offset
        state.delivery_complete_count = value.delivery_complete_count
        state.create_timestamp_ms = value.create_timestamp
        state.write_timestamp_ms = value.write_timestamp
        state.batches = combine(state_batches(value.state_batches))
        if value.unknown_tags or state.delays:
            state.delays = rows_of(delays_in(value.unknown_tags))
        if value.unknown_tags or state.staged:
            self._set_staged(key, state, changed((), staged_in(value.unknown_tags)))
        state.highest_leader_epoch = max(state.highest_leader_epoch, value.leader_epoch)
        state.highest_state_epoch = max(state.highest_state_epoch, value.state_epoch)
        if state.updates >= self.settings.snapshot_update_records_per_snapshot:
            state.updates = state.updated_batches = 0
        if not state.is_cold:
            self._warm += 1

    def _set_staged(self, key: SharePartitionKey, state: ShareState, staged: Sequence[Staged]) -> None:
        state.staged = staged or NONE_STAGED
        if staged:
            self._with_staged[key] = state
        else:
            self._with_staged.pop(key, None)

    def _new_state(self, key: SharePartitionKey) -> ShareState:
        state = self._states[key] = ShareState(key)
        self._of_topic.setdefault(key.topic_id, {})[key] = None
        return state

    def _forget(self, key: SharePartitionKey) -> None:
        state = self._states.pop(key, None)
        if state is None:
            return
        self._without_snapshot.pop(key, None)
        self._with_staged.pop(key, None)
        if not state.is_cold:
            self._warm -= 1
        keys = self._of_topic[key.topic_id]
        del keys[key]
        if not keys:
            del self._of_topic[key.topic_id]


def _merged(state: ShareState, written: Sequence[StateBatch], start_offset: int) -> list[StateBatch]:
    """Return the batches of the state as they will be after the replay of the record."""
    merged = state.batches.copy()
    merge_into(merged, written, max(start_offset, state.start_offset))
    return merged


def _record_bytes(key: SharePartitionKey, batches: int, staged: int = 0) -> int:
    # A UTF-16 unit of the group id is at most 3 bytes of UTF-8.
    size = RECORD_OVERHEAD_BYTES + 3 * len(key.group_id) + STATE_BATCH_BYTES * batches
    return size + OVERHEAD_BYTES + STAGED_BYTES * staged if staged else size


def _tags_in(
    key: SharePartitionKey, batches: int, delays: Sequence[Delay], staged: Sequence[Staged], most_bytes: int
) -> Tags:
    """Return the delays and the staged acknowledgements as tags. If there is too little room, delays are left out."""
    tags = tags_of(delays, most_bytes - _record_bytes(key, batches, len(staged))) if delays else ()
    return (*tags, *tags_of_staged(staged)) if staged else tags


def _cold_snapshot(key: SharePartitionKey, state: ShareState, now: int, room: int) -> CoordinatorRecord:
    """Return a snapshot of an unchanged state, in at most `room` bytes.

    It keeps the creation time of the last one, which marks it as cold.
    """
    delays = in_force(state.delays, state.batches, now) if state.delays else NO_DELAYS
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch + 1,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.create_timestamp_ms,
        write_timestamp=now,
        state_batches=snapshot_batches(state.batches),
        unknown_tags=_tags_in(key, len(state.batches), delays, state.staged, room) if delays or state.staged else (),
    )
    return CoordinatorRecord(ShareSnapshotKey(*key), value)


def _refused(result: ApiError) -> CoordinatorResult[ApiError]:
    return CoordinatorResult(result)
