"""Acknowledgements in transactions (KIP-1289's draft, ADR 23): staging them, and their end with the transaction.

The partition of `__share_group_state` that has a share partition's state is a partition of the transaction. It gets no
marker: the leader of the share partition ends what is staged, by one state write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks, sleep
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.share.acknowledgements import MOST_BATCHES, AckResults, PartitionAcks
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.core.ack_batches import validate_ack_batches
from shareq.broker.share.core.values import Acknowledged
from shareq.broker.share.leader import LeaderState
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.topics.ports import PartitionLogs
from shareq.broker.transactions.admission import Writer
from shareq.broker.transactions.ports import TransactionLog
from shareq.broker.transactions.service import TransactionService
from shareq.coordinator.ports import MetadataImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.transaction.metadata import BUMPING_VERSION, MAX_EPOCH, TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import SHARE_GROUP_STATE

_LOAD_PAUSES_MS: Final = (5, 20, 75)
"""The pauses before looking again at a share partition that is being loaded; then the marker is tried again later."""

_BATCHES_OF_AN_ELEMENT: Final = 10

Refuse = Callable[[str], ErrorCode]
"""A function that returns why the client may not acknowledge records of a topic, or NONE."""


class ShareTransactions:
    """Stages acknowledgements of requests, and ends them. `transactions` returns the service of transactions."""

    def __init__(
        self,
        env: Environment,
        partitions: SharePartitionManager,
        states: ShareCoordinatorService,
        metadata: MetadataImage,
        logs: PartitionLogs[TransactionLog],
        transactions: Callable[[], TransactionService],
    ) -> None:
        self._clock = env.clock
        self._breathe = env.budget.breathe
        self._begin = beginner(env.budget, in_ticks(env.clock.call_soon))
        self._partitions = partitions
        self._states = states
        self._metadata = metadata
        self._logs = logs
        self._transactions = transactions
        self._under_way: dict[tuple[int, int], set[Pending[ErrorCode]]] = {}
        """Stagings that are not durable yet, by partition of `__share_group_state` and producer id."""
        self._unended: dict[tuple[int, int], set[SharePartitionKey]] = {}
        """By the same, the share partitions whose leaders do not know that an end is durable, as it may be after an
        error.
        """

    async def stage(
        self, writer: Writer, group_id: str, member_id: str, acks: Sequence[PartitionAcks], refuse: Refuse
    ) -> AckResults:
        """Stage acknowledgements of a member in the writer's transaction, which begins with them if none is open.
        Return the error of each partition, when all are durable.

        Errors: those of a ShareAcknowledge; those of `TransactionAdmission.admit`; INVALID_REQUEST for a partition that
        is named twice, or an acknowledge type that cannot be staged.
        """
        results: AckResults = {}
        places: dict[SharePartitionKey, TopicPartition] = {}
        wanted: dict[SharePartitionKey, Sequence[Acknowledged]] = {}
        for ack in acks:
            at = (ack.topic_id, ack.partition)
            key = SharePartitionKey(group_id, *at)
            place = self._states.place_of(key)
            error = ErrorCode.INVALID_REQUEST if at in results or key in wanted else self._error(ack, refuse)
            if place is None:
                error = error or ErrorCode.COORDINATOR_NOT_AVAILABLE
            if error or place is None:
                results[at] = error
                wanted.pop(key, None)
            else:
                wanted[key], places[key] = ack.batches, TopicPartition(SHARE_GROUP_STATE, place)
            await self._breathe(1 + len(ack.batches) // _BATCHES_OF_AN_ELEMENT)
        if wanted:
            logs = {places[key]: self._logs.get(*places[key]) for key in wanted}
            refused = await self._transactions().admission.admit(writer, logs)
            answers: list[tuple[SharePartitionKey, Pending[ErrorCode] | ErrorCode]] = []
            for key, batches in wanted.items():
                error = refused.get(places[key], ErrorCode.NONE)
                answers.append((key, error or self._stage(writer, key, places[key], member_id, batches)))
                await self._breathe(1 + len(batches) // _BATCHES_OF_AN_ELEMENT)
            for key, answer in answers:
                results[key.topic_id, key.partition] = await answer if isinstance(answer, Pending) else answer
        return results

    def _error(self, ack: PartitionAcks, refuse: Refuse) -> ErrorCode:
        topic = self._metadata.topic_by_id(ack.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        error = refuse(topic.name)
        if error:
            return error
        if not 0 <= ack.partition < topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not 0 < len(ack.batches) <= MOST_BATCHES:
            return ErrorCode.INVALID_REQUEST
        return validate_ack_batches(ack.batches, renew_request=False, renew_version=False)

    def _stage(
        self,
        writer: Writer,
        key: SharePartitionKey,
        at: TopicPartition,
        member_id: str,
        batches: Sequence[Acknowledged],
    ) -> Pending[ErrorCode] | ErrorCode:
        # Between the admission and now the transaction may have been ended, for instance after its timeout. From here
        # on, its end waits for this staging.
        identity = (writer.transactional_id, *writer.producer)
        error = self._transactions().coordinator.may_write(identity, at)
        if error:
            return ErrorCode.INVALID_PRODUCER_EPOCH if error is ErrorCode.PRODUCER_FENCED else error
        leader = self._partitions.get(key)
        if leader is None or not leader.is_active:  # also after a restart, until the next fetch loads it
            return ErrorCode.INVALID_RECORD_STATE
        staged = self._partitions.stage(leader, member_id, writer.producer, batches)
        if not staged.done:
            place = (at.partition, writer.producer.producer_id)
            self._under_way.setdefault(place, set()).add(staged)
            staged.on_complete(lambda _error: self._staged(place, staged))
        return staged

    def _staged(self, place: tuple[int, int], staged: Pending[ErrorCode]) -> None:
        under_way = self._under_way[place]
        under_way.discard(staged)
        if not under_way:
            del self._under_way[place]

    # -- the end

    def end(self, place: int, marker: TransactionMarker) -> Pending[ErrorCode]:
        """End a producer's transaction in one partition of `__share_group_state`; the answer comes when all is durable.

        Errors: COORDINATOR_NOT_AVAILABLE, CONCURRENT_TRANSACTIONS, and those of state writes. They may pass.
        """
        return self._begin(self._end(place, marker))

    async def _end(self, place: int, marker: TransactionMarker) -> ErrorCode:
        producer = _last_producer(marker)
        where = (place, producer.producer_id)
        for staged in list(self._under_way.get(where, ())):
            await staged
        found = await self._states.staged_by(place, *producer)
        if found is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        answers: dict[SharePartitionKey, Pending[ErrorCode] | ErrorCode] = {}
        for key in {**dict.fromkeys(found), **dict.fromkeys(self._unended.pop(where, ()))}:
            answers[key] = await self._end_in(key, producer, commit=marker.commit)
            await self._breathe(LOOK)
        errors = {key: await each if isinstance(each, Pending) else each for key, each in answers.items()}
        failed = {key for key, error in errors.items() if error}
        if failed:
            self._unended.setdefault(where, set()).update(failed)
        return next((errors[key] for key in failed), ErrorCode.NONE)

    async def _end_in(
        self, key: SharePartitionKey, producer: ProducerEpoch, *, commit: bool
    ) -> Pending[ErrorCode] | ErrorCode:
        topic = self._metadata.topic_by_id(key.topic_id)
        if topic is None:
            return ErrorCode.NONE  # the state is being deleted, and what was staged with it
        leader = self._partitions.get(key) or self._partitions.get_or_load(key, topic.name)
        for pause_ms in _LOAD_PAUSES_MS:
            if leader.state is LeaderState.LOADING:
                await sleep(self._clock, pause_ms)
        if not leader.is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._partitions.end_transaction(leader, producer, commit=commit)


def _last_producer(marker: TransactionMarker) -> ProducerEpoch:
    """Return the producer with the last epoch of the transaction. From transaction version 2 on, markers have the next
    one, in which a later transaction may be open.
    """
    is_next = marker.transaction_version >= BUMPING_VERSION and 0 < marker.producer_epoch < MAX_EPOCH
    return ProducerEpoch(marker.producer_id, marker.producer_epoch - is_next)
