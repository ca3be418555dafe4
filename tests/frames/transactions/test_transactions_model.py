"""Producers with random actions, crashes and a failing disk, and the invariants of transactions.

All partitions of a transaction and its group's offsets have the same outcome, the answered one if there was an answer;
and no partition gets a second marker.
"""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

import pytest

from devtools.clients.offsets_client import OffsetsClient, Row
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, LIBRDKAFKA, Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.log.segments.reader import ReadResult
from shareq.coordinator.transaction.metadata import RESTING
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.end_txn import EndTxnRequest
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import decode_records
from shareq.protocol.records.control import ControlType, read_control_record

R = TypeVar("R", bound=Message)
NONE = ErrorCode.NONE
PARTITIONS = (("a", 0), ("a", 1), ("b", 0))
IDS = {"old": LIBRDKAFKA, "tv1": JAVA_TV1, "tv2": JAVA_TV2}
SEEDS = 16
STEPS = 120


@dataclass(slots=True)
class Attempt:
    """One transaction as its producer knows it. `outcome` None: it was not answered."""

    number: int
    written: set[bytes] = field(default_factory=set)
    offset: bool = False
    outcome: bool | None = None
    asked: set[bool] = field(default_factory=set)


@dataclass(slots=True)
class Client:
    """A transactional id, its current producer, and the history of all its producers."""

    producer: Transactor
    attempts: list[Attempt] = field(default_factory=list)
    ready: bool = False

    @property
    def attempt(self) -> Attempt:
        return self.attempts[-1]


class Patient:
    """A connection whose answers may take some time."""

    def __init__(self, world: BrokerWorld) -> None:
        self._world = world
        self._connection = world.connect()

    def call(self, request: Message, version: int, response_class: type[R]) -> R:
        self._connection.send(request, version)
        self._world.clock.advance(200)
        return self._connection.receive(response_class)


class Model:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        # Few internal partitions, so that everything meets in one log.
        self.world = BrokerWorld(
            {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}, seed=seed
        )
        self.ids = {"a": self.world.create_topic("a", 2).topic_id, "b": self.world.create_topic("b", 1).topic_id}
        connection = Patient(self.world)
        self.clients = {name: Client(Transactor(connection, versions, name)) for name, versions in IDS.items()}
        self.numbers = 0
        self.reached: Counter[str] = Counter()

    # -- steps

    def step(self) -> None:
        client = self.rng.choice(list(self.clients.values()))
        if not client.ready:
            self.initialize(client)
            return
        steps = {
            self.write: 40,
            self.commit_offset: 8,
            self.end: 20,
            self.late: 5,
            self.initialize: 3,
            self.end_and_crash: 6,
            self.crash: 2,
            self.restart: 1,
            self.break_disk: 3,
            self.wait: 3,
        }
        chosen = self.rng.choices(list(steps), list(steps.values()))[0]
        self.reached[chosen.__name__] += 1
        chosen(client)

    def initialize(self, client: Client) -> None:
        client.ready = client.producer.init(goes_on=client.ready and self.rng.random() < 0.3) is NONE
        if client.ready:
            self.begin(client)

    def begin(self, client: Client) -> None:
        self.numbers += 1
        client.attempts.append(Attempt(self.numbers))

    def write(self, client: Client) -> None:
        topic, partition = self.rng.choice(PARTITIONS)
        value = f"{client.attempt.number}:{self.rng.getrandbits(40)}".encode()
        producer = client.producer
        if not producer.bumps and producer.add(topic, partition) != [NONE]:
            client.ready = False
            return
        self.send(client, topic, partition, value)

    def send(self, client: Client, topic: str, partition: int, value: bytes) -> None:
        producer = client.producer
        producer.client.call(
            producer.produce_request(topic, value, partition=partition), producer.versions.produce, ProduceResponse
        )
        log = self.world.folder.logs.get(topic, partition)
        if value in self.values(log.topic, log.partition):
            client.attempt.written.add(value)
            at = (topic, partition)
            producer.sequences[at] = producer.sequences.get(at, 0) + 1
        else:
            client.ready = False

    def late(self, client: Client) -> None:
        producer = client.producer
        if client.attempt.written or client.attempt.offset or len(client.attempts) < 2:
            return
        value = f"{client.attempts[-2].number}:late".encode()
        topic, partition = self.rng.choice(PARTITIONS)
        epoch = producer.epoch - 1 if producer.bumps else producer.epoch
        request = producer.produce_request(topic, value, partition=partition, epoch=max(epoch, 0))
        if producer.bumps and epoch < 0:
            return
        producer.client.call(request, producer.versions.produce, ProduceResponse)
        assert value not in self.values(topic, partition)

    def commit_offset(self, client: Client) -> None:
        producer = client.producer
        if not producer.bumps and producer.add_offsets(producer.transactional_id) is not NONE:
            client.ready = False
            return
        if producer.commit_offsets(producer.transactional_id, {("a", 0): client.attempt.number}) == [NONE]:
            client.attempt.offset = True
        else:
            client.ready = False

    def end(self, client: Client) -> None:
        commit = self.rng.random() < 0.6
        attempt = client.attempt
        attempt.asked.add(commit)
        error = client.producer.end(commit=commit)
        if error is NONE:
            attempt.outcome = commit
            self.begin(client)
        else:
            client.ready = False

    def end_and_crash(self, client: Client) -> None:
        commit = self.rng.random() < 0.7
        producer = client.producer
        client.attempt.asked.add(commit)
        connection = self.world.connect()
        request = EndTxnRequest(producer.transactional_id, producer.producer_id, producer.epoch, commit)
        connection.send(request, producer.versions.end)
        for _ in range(self.rng.randrange(10)):
            self.world.clock.run_tick()
        client.ready = False
        self.crash(client)

    def crash(self, client: Client) -> None:
        self.world.fs.fail = None
        self.world.crash()
        self.reconnect()

    def restart(self, client: Client) -> None:
        self.world.fs.fail = None
        self.world.clock.run_until_idle()
        self.world.restart()
        self.reconnect()

    def reconnect(self) -> None:
        connection = Patient(self.world)
        for each in self.clients.values():
            each.producer.client = connection

    def break_disk(self, client: Client) -> None:
        part = self.rng.choice(["/a-0/", "/b-0/", "__transaction_state-0", "__consumer_offsets-"])
        left = self.rng.randrange(1, 3)

        def fail(kind: str, path: str) -> OSError | None:
            nonlocal left
            if kind != "write" or part not in path or not left:
                return None
            left -= 1
            return OSError(errno.EIO, "broken", path)

        self.world.fs.fail = fail

    def wait(self, client: Client) -> None:
        self.world.clock.advance(self.rng.choice([10, 1_000, 20_000, 90_000]))

    # -- the judge: the files, batch by batch

    def values(self, topic: str, partition: int) -> set[bytes]:
        return {value for batch in self.batches(topic, partition) for value in batch[3]}

    def batches(self, topic: str, partition: int) -> list[tuple[int, int, ControlType | None, list[bytes]]]:
        log = self.world.folder.logs.get(topic, partition)
        read = log.read(0, 1 << 24, upto=log.high_watermark)
        if not isinstance(read, ReadResult):
            return []
        found = []
        data = bytes(read.records)
        for span in read.batches:
            batch = data[span.position : span.position + span.size]
            marker = read_control_record(batch).type if span.is_control else None
            values = [] if span.is_control else [record.value or b"" for record in decode_records(batch)]
            producer_id = int.from_bytes(batch[43:51], "big")
            found.append((producer_id, int.from_bytes(batch[51:53], "big"), marker, values))
        return found

    def finish(self) -> None:
        """End the faults: open transactions time out and abort, decided ones complete."""
        self.world.fs.fail = None
        if self.rng.random() < 0.5:
            self.world.crash()
            self.reconnect()
        self.world.clock.advance(200_000)

    def check(self) -> None:
        committed: dict[tuple[str, int], set[bytes]] = {}
        for at in PARTITIONS:
            committed[at] = self._committed(at)
            log = self.world.folder.logs.get(*at)
            assert log.last_stable_offset == log.high_watermark, "nothing hangs"
        everything = set().union(*committed.values())
        for partition in self.world.folder.transactions.coordinator.partitions:
            assert partition.shard.unfinished() == []
            for name in IDS:
                transaction = partition.shard.get(name)
                assert transaction is None or transaction.state in RESTING
        for name, client in self.clients.items():
            self._check_client(name, client, everything)

    def _committed(self, at: tuple[str, int]) -> set[bytes]:
        """Return the committed values; in version 2 a producer id and epoch ends once in each partition."""
        committed: set[bytes] = set()
        open_: dict[int, list[bytes]] = {}
        markers: Counter[tuple[int, int]] = Counter()
        for producer_id, epoch, marker, values in self.batches(*at):
            if marker is None:
                open_.setdefault(producer_id, []).extend(values)
                continue
            markers[producer_id, epoch] += 1
            written = open_.pop(producer_id, [])
            assert len({value.split(b":")[0] for value in written}) <= 1, "one marker ends one transaction"
            if marker is ControlType.COMMIT:
                committed.update(written)
        assert not open_
        tv2 = self.clients["tv2"].producer.producer_id
        assert all(count == 1 for (producer_id, _), count in markers.items() if producer_id == tv2)
        return committed

    def _check_client(self, name: str, client: Client, everything: set[bytes]) -> None:
        offset = -1
        for attempt in client.attempts:
            counts = attempt.written & everything
            assert counts in (set(), attempt.written), f"transaction {attempt.number} is torn"
            if attempt.outcome is not None and attempt.written:
                assert bool(counts) is attempt.outcome, f"transaction {attempt.number} was answered otherwise"
            if attempt.outcome is None and True not in attempt.asked:
                assert not counts, f"nobody committed transaction {attempt.number}"
            committed = attempt.outcome if attempt.outcome is not None or not attempt.written else bool(counts)
            if attempt.offset and committed:
                offset = attempt.number
            elif attempt.offset and committed is None:
                return  # it wrote nothing else, so that its end cannot be known
        offsets = OffsetsClient(self.world.connect(), self.ids)
        rows = offsets.fetch([("a", 0)], group=name, stable=True)[1]
        assert rows == {("a", 0): Row(offset)}, f"the offsets of {name} have another outcome than its records"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_transactions_are_whole(seed: int) -> None:
    model = Model(seed)
    for _ in range(STEPS):
        model.step()
    model.finish()
    model.check()


def test_the_model_gets_everywhere() -> None:
    reached: Counter[str] = Counter()
    outcomes: Counter[bool | None] = Counter()
    for seed in range(5):
        model = Model(1_000 + seed)
        for _ in range(STEPS):
            model.step()
        reached += model.reached
        outcomes.update(
            attempt.outcome for each in model.clients.values() for attempt in each.attempts if attempt.written
        )
    assert min(reached.values()) >= 1
    assert len(reached) == 10
    assert min(outcomes[True], outcomes[False], outcomes[None]) >= 5
