"""Producers: a plain one, an idempotent one that repeats unanswered batches, and transactional ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from devtools.clients.requests import produce_request
from devtools.clients.transactor import Transactor
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse
from shareq.protocol.records.batch import RecordData, build_batch
from tests.campaign.history.operations import Outcome, Place, Record, Refused, Seek, Transfer
from tests.campaign.storage.fetching import Reader
from tests.campaign.storage.links import Cut, Stopped
from tests.campaign.storage.scene import (
    COMPACTED,
    CYCLED,
    JOB_GROUP,
    PLAIN,
    ROLLING,
    TRANSACTED,
    TRIMMED,
    Process,
    Scene,
    TopicPlan,
)

KEYS: Final = 12
PADDING: Final = b"|" + b"." * 150
LARGE: Final = b"|" + b"." * 9_000
"""The bytes of a large record: more than one page of the disk, so that a loss of power may keep one page and lose
another.
"""
_AGAIN: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
_LOST: Final = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_NO_TOPIC: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


def payload(value: str) -> bytes:
    """Return the bytes of a record's value: its name, then padding, which is large for one name in ten."""
    return value.encode() + (LARGE if value.endswith("7") else PADDING)


def now_ms() -> int:
    """Return the current time, as record timestamps need it: retention goes by them."""
    return time.time_ns() // 1_000_000


def data_of(records: list[Record]) -> list[RecordData]:
    return [RecordData(None if one.key is None else one.key.encode(), payload(one.value)) for one in records]


def numbered(records: list[Record], base: int) -> tuple[Record, ...]:
    return tuple(one._replace(offset=base + number) for number, one in enumerate(records))


class Producer(Process):
    """A producer of batches of up to five records for every kind of topic. It repeats no unanswered batch."""

    TOPICS: tuple[TopicPlan, ...] = (PLAIN, TRIMMED, ROLLING, COMPACTED, CYCLED)

    def step(self) -> None:
        places = self.scene.places(*self.TOPICS)
        place = self.rng.choice(places)
        self.send(place, self.records(place))
        self.pause(0.004)

    def records(self, place: Place) -> list[Record]:
        keyed = self.scene.place(COMPACTED.name, 0) == place
        return [
            Record(place, self.new_value(), None, f"k{self.rng.randrange(KEYS)}" if keyed else None)
            for _ in range(self.rng.randint(1, 5))
        ]

    def send(self, place: Place, records: list[Record]) -> None:
        batch = bytes(build_batch(data_of(records), timestamp_ms=now_ms()))
        invoked = self.now()
        try:
            answer = self.exchange(place, batch)
        except Cut:
            self.scene.recorder.add(self.name, invoked, Outcome.INFO, Transfer(tuple(records)))
            raise
        self.note(invoked, records, answer)

    def exchange(self, place: Place, batch: bytes) -> PartitionProduceResponse:
        response = self.link.call(self.request(place, batch), 13, ProduceResponse)
        return response.responses[0].partition_responses[0]

    @staticmethod
    def request(place: Place, batch: bytes) -> ProduceRequest:
        return produce_request(batch, topic_id=bytes.fromhex(place.topic), partition=place.partition, acks=-1)

    def note(self, invoked: int, records: list[Record], answer: PartitionProduceResponse) -> None:
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.NONE:
            self.scene.recorder.ok(self.name, invoked, Transfer(numbered(records, answer.base_offset)))
            return
        outcome = Outcome.FAIL if error in _NO_TOPIC else Outcome.INFO
        self.scene.recorder.add(self.name, invoked, outcome, Transfer(tuple(records)))
        if error in _LOST:
            self.scene.recorder.ok(self.name, invoked, Refused(f"produce to {records[0].place}: {error.name}"))


class IdempotentProducer(Producer):
    """A producer that repeats a batch with the same sequence numbers until it is answered: the log has it once."""

    TOPICS = (PLAIN, TRIMMED)

    def __init__(self, scene: Scene, name: str) -> None:
        super().__init__(scene, name)
        self._id: tuple[int, int] | None = None
        self._sequences: dict[Place, int] = {}
        self._open: tuple[int, Place, list[Record], bytes] | None = None

    def step(self) -> None:
        if self._id is None:
            response = self.link.call(InitProducerIdRequest(None, 60_000), 4, InitProducerIdResponse)
            if response.error_code:
                self.pause(0.02)
                return
            self._id = (response.producer_id, response.producer_epoch)
            self._sequences.clear()
        if self._open is None:
            self._open = self._next(self._id)
        self._send_open()
        self.pause(0.004)

    def _next(self, producer: tuple[int, int]) -> tuple[int, Place, list[Record], bytes]:
        place = self.rng.choice(self.scene.places(*self.TOPICS))
        records = self.records(place)
        batch = build_batch(
            data_of(records),
            timestamp_ms=now_ms(),
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=self._sequences.get(place, 0),
        )
        return self.now(), place, records, bytes(batch)

    def _send_open(self) -> None:
        assert self._open is not None
        invoked, place, records, batch = self._open
        try:
            if self.rng.random() < 0.05:
                self.link.send_and_hang_up(self.request(place, batch), 13)
            answer = self.exchange(place, batch)
        except Stopped:
            self._give_up(invoked, records)
            raise
        self._open = None
        if answer.error_code:
            self._id = None
        self._sequences[place] = self._sequences.get(place, 0) + len(records)
        if answer.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            answer.error_code = 0
            self.scene.recorder.ok(self.name, invoked, Transfer(tuple(records)))
        else:
            self.note(invoked, records, answer)

    def at_end(self) -> None:
        if self._open is not None:
            invoked, _, records, _ = self._open
            try:
                self._send_open()
            except Cut:
                self._give_up(invoked, records)
                raise

    def _give_up(self, invoked: int, records: list[Record]) -> None:
        """Note that the batch is not sent again, and that its outcome is unknown."""
        self.scene.recorder.add(self.name, invoked, Outcome.INFO, Transfer(tuple(records)))


class TransactionalProducer(Process):
    """Writes records to several places in transactions, and ends most of them with a commit."""

    GROUP: str | None = None

    def __init__(self, scene: Scene, name: str) -> None:
        super().__init__(scene, name)
        self.transactor = Transactor(self.link, transactional_id=name)
        self.begun = False

    def on_cut(self) -> None:
        self.begun = False

    def step(self) -> None:
        if not self.begun:
            error = self.transactor.init()
            if error:
                self.note_error("init", error)
                self.pause(0.02)
                return
            self.begun = True
        self._transaction()
        self.pause(0.006)

    def note_error(self, what: str, error: ErrorCode) -> None:
        if error in _LOST and error is not ErrorCode.PRODUCER_FENCED:
            self.scene.recorder.ok(self.name, self.now(), Refused(f"{what}: {error.name}"))

    def _transaction(self) -> None:
        invoked = self.now()
        sends: list[Record] = []
        reads: list[Record] = []
        writes: dict[str, str | None] = {}
        try:
            sound = self.fill(sends, reads, writes)
            commit = sound and self.rng.random() < 0.8
            done = Transfer(tuple(sends), tuple(reads), writes, transactional=True)
            if not commit:
                self._end(commit=False)
        except Cut:  # nobody has asked for a commit: the next init aborts it
            self._note(invoked, Outcome.FAIL, Transfer(tuple(sends), tuple(reads), writes, transactional=True))
            raise
        if not commit:
            self._note(invoked, Outcome.FAIL, done)
            self.rewind()
            return
        self._commit(invoked, done)

    def _commit(self, invoked: int, done: Transfer) -> None:
        try:
            error = self._end(commit=True)
        except Cut:
            error = self._ask_again()
        outcome = Outcome.OK if error is ErrorCode.NONE else Outcome.INFO
        self._note(invoked, outcome, done)
        if outcome is Outcome.OK:
            self.committed()
        else:
            self.note_error("commit", error)
            self.begun = False
            self.rewind()

    def _ask_again(self) -> ErrorCode:
        """Repeat EndTxn as clients do, once the broker runs again.

        Return NETWORK_EXCEPTION if the outcome stays unknown.
        """
        if self.rng.random() < 0.5:
            return ErrorCode.NETWORK_EXCEPTION
        try:
            error = self._end(commit=True)
        except Cut:
            error = ErrorCode.NETWORK_EXCEPTION
        return ErrorCode.NETWORK_EXCEPTION if error else error

    def _end(self, *, commit: bool) -> ErrorCode:
        error = self.transactor.end(commit=commit)
        while error in _AGAIN:
            self.pause(0.02)
            error = self.transactor.end(commit=commit)
        if error:
            self.begun = False
        return error

    def _note(self, invoked: int, outcome: Outcome, done: Transfer) -> None:
        self.scene.recorder.add(self.name, invoked, outcome, done)

    def fill(self, sends: list[Record], reads: list[Record], writes: dict[str, str | None]) -> bool:
        """Do the transaction's work, and note each part. Return False if the transaction cannot be committed."""
        for _ in range(self.rng.randint(1, 3)):
            keyed = self.rng.random() < 0.2
            plan = COMPACTED if keyed else TRANSACTED
            key = f"k{self.rng.randrange(KEYS)}" if keyed else None
            if not self.send(plan.name, self.rng.randrange(plan.partitions), [self.new_value()], key, sends):
                return False
        return True

    def send(self, topic: str, partition: int, values: list[str], key: str | None, sends: list[Record]) -> bool:
        place = self.scene.place(topic, partition)
        assert place is not None
        records = [Record(place, value, None, key) for value in values]
        start = len(sends)
        sends += records
        transactor = self.transactor
        sequence = transactor.sequences.get((topic, partition), 0)
        batch = build_batch(
            data_of(records),
            timestamp_ms=now_ms(),
            producer_id=transactor.producer_id,
            producer_epoch=transactor.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        request = produce_request(
            bytes(batch), topic=topic, partition=partition, acks=-1, transactional_id=transactor.transactional_id
        )
        response = self.link.call(request, 12, ProduceResponse)
        answer = response.responses[0].partition_responses[0]
        if answer.error_code:
            self.note_error(f"produce to {topic}-{partition}", ErrorCode(answer.error_code))
            return False
        transactor.sequences[topic, partition] = sequence + len(records)
        sends[start:] = numbered(records, answer.base_offset)
        return True

    def committed(self) -> None:
        """Act on a committed transaction."""

    def rewind(self) -> None:
        """Undo the work of a transaction that was not written, or whose outcome is unknown."""


class TransactionalJob(TransactionalProducer):
    """A job that copies one topic to another, and commits its offsets in the same transaction."""

    def __init__(self, scene: Scene, name: str) -> None:
        super().__init__(scene, name)
        self._reader = Reader(scene, self.link, self.rng, read_committed=True)
        self._before: Mapping[Place, int] = {}

    def on_cut(self) -> None:
        super().on_cut()
        self.rewind()

    def fill(self, sends: list[Record], reads: list[Record], writes: dict[str, str | None]) -> bool:
        self._before = dict(self._reader.positions)
        offsets: dict[tuple[str, int], int] = {}
        for partition in range(PLAIN.partitions):
            place = self.scene.place(PLAIN.name, partition)
            assert place is not None
            got = self._reader.read(place, 4096)
            if got is None:
                self.scene.recorder.ok(self.name, self.now(), Seek((place,)))
            elif got.records:
                reads += got.records
                offsets[PLAIN.name, partition] = self._reader.positions[place]
        if not reads:
            return self.send(TRANSACTED.name, 0, [self.new_value()], None, sends)
        target = self.rng.randrange(TRANSACTED.partitions)
        if not self.send(TRANSACTED.name, target, [self.new_value() for _ in reads[:5]], None, sends):
            return False
        for (topic, partition), offset in offsets.items():
            writes[f"offset {JOB_GROUP} {topic}-{partition}"] = str(offset)
        return not any(self.transactor.commit_offsets(JOB_GROUP, offsets))

    def rewind(self) -> None:
        self._reader.positions.clear()
        self._reader.positions.update(self._before)
        self.scene.recorder.ok(self.name, self.now(), Seek(tuple(self.scene.places(PLAIN))))
