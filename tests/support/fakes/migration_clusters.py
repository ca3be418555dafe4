"""Two clusters in memory for a migration, with faults of a run: it is killed, answers are lost, batches arrive late.

Logs are bytes, as brokers store them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from shareq.client.errors import BrokerError, ClientError, Unreachable
from shareq.ops.migrate.batches import Aborted, Fetched
from shareq.ops.migrate.ports import LogRange, Partition, Sample, SentBatch, Topic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_ID,
    BatchHeader,
    batch_headers,
    build_batch,
    decode_records,
    encode_batch,
    read_header,
    stamp,
    validate_batch,
    with_append_time,
)
from shareq.protocol.records.compression import Compression, compress
from shareq.protocol.records.control import build_end_transaction_marker
from shareq.protocol.records.record_codec import Record, RecordData, encode_record

KNOWN_BATCHES: Final = 5
"""The number of a producer's last batches among which a broker recognises duplicates."""


class Killed(Exception):
    """The kill of a run, without any warning."""


class Fate:
    """The faults of a run, decided by seed; none without a seed."""

    def __init__(self, seed: int | None = None, *, kill: float = 0.0, lose: float = 0.0) -> None:
        self._random = Random(seed)
        self.kill, self.lose = kill, lose
        self.late: list[Callable[[], object]] = []
        self.happened: dict[str, int] = {"killed": 0, "lost": 0, "late": 0}

    def at(self) -> None:
        """Pass a point at which the run may be killed."""
        if self._random.random() < self.kill:
            self.happened["killed"] += 1
            raise Killed
        if self.late and self._random.random() < 0.2:
            self.late.pop(0)()

    def loses(self) -> bool:
        lost = self._random.random() < self.lose
        self.happened["lost"] += lost
        return lost

    def delays(self) -> bool:
        """Return whether a request arrives late, after its sender has given up."""
        late = self._random.random() < self.lose / 2
        self.happened["late"] += late
        return late


@dataclass
class Log:
    """A partition's log.

    `producers`: id -> last sequence, and sequences with offsets of its last batches. From `open_from` on a transaction
    is open.
    """

    start: int = 0
    end: int = 0
    batches: list[bytes] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)
    producers: dict[int, tuple[int, list[tuple[int, int]]]] = field(default_factory=dict)
    open_from: int | None = None

    def append(self, batch: bytes | bytearray, length: int | None = None) -> int:
        """Append a batch and assign its offsets; `length`: how many offsets it takes."""
        offset = self.end
        own = bytearray(batch)
        stamp(own, offset, 0)
        self.batches.append(bytes(own))
        self.end += read_header(own).last_offset_delta + 1 if length is None else length
        return offset

    def produce(self, batch: bytes | bytearray) -> int:
        header = validate_batch(batch)
        if isinstance(header, ErrorCode):
            raise BrokerError(header, "Produce")
        assert header.base_offset == 0
        assert not header.is_transactional
        assert not header.is_log_append_time
        if header.producer_id == NO_PRODUCER_ID:
            return self.append(batch)
        known = self.producers.get(header.producer_id)
        if known is not None:
            last, recent = known
            for sequence, offset in recent:
                if sequence == header.base_sequence:
                    return offset
            if header.base_sequence != (last + 1) & MAX_SEQUENCE:
                raise BrokerError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "Produce")
        offset = self.append(batch)
        recent = [*(known[1] if known else []), (header.base_sequence, offset)][-KNOWN_BATCHES:]
        self.producers[header.producer_id] = header.last_sequence, recent
        return offset

    def from_offset(self, offset: int) -> Iterator[bytes]:
        """Return the batches from the one that contains an offset, or the next."""
        for batch in self.batches:
            if read_header(batch).next_offset > offset:
                yield batch

    def records(self) -> list[Record]:
        found: list[Record] = []
        gone = {(one.producer_id, one.first_offset) for one in self.aborted}
        for batch in self.batches:
            header = read_header(batch)
            aborted = header.is_transactional and (header.producer_id, header.base_offset) in gone
            if not header.is_control and not aborted:
                found += decode_records(batch, exact=True, first=self.start)
        return found


class _Sent:
    """A batch that was sent: appended at once, late, or with its answer lost."""

    def __init__(self, log: Log, batch: bytes, fate: Fate) -> None:
        self._outcome: int | ClientError
        if fate.delays():
            fate.late.append(lambda: _taken(log, batch))
            self._outcome = Unreachable("no answer")
            return
        self._outcome = _taken(log, batch)
        if fate.loses():
            self._outcome = Unreachable("no answer")

    def appended(self) -> int | None:
        if isinstance(self._outcome, ClientError):
            raise self._outcome
        return self._outcome


def _taken(log: Log, batch: bytes) -> int | ClientError:
    try:
        return log.produce(batch)
    except BrokerError as error:
        return error


class MemoryCluster:
    """A cluster behind both ports.

    `refuses` are properties that it does not know. `asked` counts its calls, `read` the batches fetched.
    """

    def __init__(self, name: str, fate: Fate, refuses: Collection[str] = ()) -> None:
        self.name = name
        self.fate = fate
        self.known: dict[str, Topic] = {}
        self.logs: dict[Partition, Log] = {}
        self._refuses = refuses
        self._made = 0
        self.asked = 0
        self.read = 0

    def make(self, topic: Topic) -> None:
        self._made += 1
        self.known[topic.name] = topic._replace(topic_id=f"{self.name}{self._made}")
        for number in range(topic.partitions):
            self.logs[topic.name, number] = Log()

    # -- both ports

    def cluster_id(self) -> str:
        return self.name

    def ranges(self, partitions: Collection[Partition]) -> Mapping[Partition, LogRange]:
        self.fate.at()
        self.asked += 1
        logs = {each: self.logs[each] for each in partitions}
        return {
            each: LogRange(log.start, log.end if log.open_from is None else log.open_from) for each, log in logs.items()
        }

    def fetch(self, partition: Partition, offset: int, end: int) -> Iterator[Fetched]:
        log = self.logs[partition]
        position = max(offset, log.start)
        while position < end:
            self.fate.at()
            some: list[bytes] = []
            for batch in log.from_offset(position):
                some.append(batch)
                if len(some) == 3:
                    break
            if not some:
                raise Unreachable("nothing comes")
            self.asked += 1
            self.read += len(some)
            aborted = [one for one in log.aborted if one.first_offset <= read_header(some[-1]).last_offset]
            yield Fetched(b"".join(some), [one for one in aborted if _ends(log, one) >= position])
            position = read_header(some[-1]).next_offset

    # -- the source

    def sample(self, ranges: Mapping[Partition, LogRange]) -> Sample:
        return Sample(2_000_000, 100, 0.5) if ranges else Sample(0, 0, 0.0)

    def undecided(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        self.fate.at()
        found = {each: self.logs[each].open_from for each in partitions}
        return {each: offset for each, offset in found.items() if offset is not None}

    def sizes(self) -> Mapping[Partition, int]:
        return {each: sum(map(len, log.batches)) for each, log in self.logs.items()}

    # -- the target

    def create(self, topic: Topic) -> BrokerError | None:
        self.fate.at()
        if topic.name in self.known:
            return BrokerError(ErrorCode.TOPIC_ALREADY_EXISTS, topic.name)
        assert self.try_configs(topic) is None
        self.make(topic)
        self.fate.at()
        return None

    def try_configs(self, topic: Topic) -> BrokerError | None:
        bad = [name for name in topic.configs if name in self._refuses]
        return (
            BrokerError(ErrorCode.INVALID_CONFIG, topic.name, f"Unknown topic config name: {bad[0]}") if bad else None
        )

    def set_configs(self, changes: Mapping[str, tuple[Mapping[str, str], Collection[str]]]) -> None:
        self.asked += 1
        for topic, (configs, delete) in changes.items():
            self.fate.at()
            left = {name: value for name, value in self.known[topic].configs.items() if name not in delete}
            self.known[topic] = self.known[topic]._replace(configs={**left, **configs})
        self.fate.at()

    def producer(self) -> tuple[int, int]:
        self.fate.at()
        return 1000 + self.fate._random.randrange(1_000_000), 0

    def send(self, partition: Partition, batch: bytes | bytearray) -> SentBatch:
        self.fate.at()
        self.asked += 1
        return _Sent(self.logs[partition], bytes(batch), self.fate)

    def pause(self, error: ClientError) -> None:
        self.fate.at()

    def progressed(self) -> None:
        pass


class MemorySource(MemoryCluster):
    def topics(self, wanted: Callable[[str, bool], bool]) -> Sequence[Topic]:
        return [each for each in self.known.values() if wanted(each.name, each.is_internal)]


class MemoryTarget(MemoryCluster):
    def topics(self, names: Collection[str]) -> Mapping[str, Topic]:
        self.fate.at()
        return {name: self.known[name] for name in names if name in self.known}


def _ends(log: Log, aborted: Aborted) -> int:
    return min(
        header.base_offset
        for batch in log.batches
        for _, header in batch_headers(batch)
        if header.is_control and header.producer_id == aborted.producer_id and header.base_offset > aborted.first_offset
    )


# -- logs of all kinds


def compact(log: Log, random: Random) -> None:
    """Remove records and whole batches, as the cleaner does. Transactions and the last batch stay complete."""
    left: list[bytes] = []
    for batch in log.batches[:-1]:
        header = read_header(batch)
        records = [] if header.is_transactional else decode_records(batch, exact=True)
        kept = [each for each in records if random.random() < 0.4]
        if header.is_transactional or len(kept) == len(records):
            left.append(batch)
        elif kept:
            left.append(_encoded(header, kept))
    log.batches[:-1] = left


def keep_last(log: Log) -> None:
    last = {each.key: each.offset for each in log.records()}
    left: list[bytes] = []
    for batch in log.batches:
        kept = [each for each in decode_records(batch, exact=True) if last[each.key] == each.offset]
        left += [_encoded(read_header(batch), kept)] if kept else []
    log.batches = left


def _encoded(header: BatchHeader, records: Sequence[Record]) -> bytes:
    payload = bytearray()
    for each in records:
        times = each.timestamp - header.base_timestamp
        encode_record(payload, each.offset - header.base_offset, times, each.key, each.value, each.headers)
    codec = Compression(header.compression)
    changed = header._replace(records_count=len(records))
    return bytes(encode_batch(changed, compress(codec, bytes(payload)) if codec else payload))


def fill(log: Log, random: Random, batches: int) -> None:
    for _ in range(batches):
        _KINDS[random.randrange(len(_KINDS))](log, random)


def _records(random: Random) -> list[RecordData]:
    return [
        RecordData(
            random.choice([None, random.randbytes(3)]),
            random.choice([None, random.randbytes(random.randrange(30))]),
            random.choice([(), (("h", b"1"), ("\udcff", None))]),
            random.randrange(1_000_000),
        )
        for _ in range(random.randint(1, 5))
    ]


def _plain(log: Log, random: Random) -> None:
    codec = random.choice([Compression.NONE, Compression.NONE, Compression.GZIP, Compression.ZSTD])
    log.append(build_batch(_records(random), timestamp_ms=0, compression=codec))


def _appended_time(log: Log, random: Random) -> None:
    log.append(with_append_time(build_batch(_records(random), timestamp_ms=0), random.randrange(1_000_000)))


def _compacted(log: Log, random: Random) -> None:
    """Append a batch from which compaction removed some records, or all."""
    payload = bytearray()
    length = random.randint(2, 8)
    left = sorted(random.sample(range(length), random.randrange(length)))
    for delta in left:
        encode_record(payload, delta, delta, b"k%d" % delta, b"v", ())
    codec = random.choice([Compression.NONE, Compression.GZIP]) if left else Compression.NONE
    whole = read_header(build_batch([RecordData(b"k", b"v", (), 7)], timestamp_ms=0))
    header = whole._replace(
        attributes=int(codec), last_offset_delta=length - 1, records_count=len(left), max_timestamp=7 + length
    )
    log.append(encode_batch(header, compress(codec, bytes(payload)) if codec else payload))


def _hole(log: Log, random: Random) -> None:
    """Leave an offset gap where whole batches were; another batch always follows."""
    log.end += random.randint(1, 5)
    _plain(log, random)


def _transaction(log: Log, random: Random) -> None:
    commit = random.random() < 0.5
    producer = random.randrange(100, 200)
    batch = build_batch(
        _records(random), timestamp_ms=0, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True
    )
    first = log.append(batch)
    if not commit:
        log.aborted.append(Aborted(producer, first))
    if random.random() < 0.5:
        _plain(log, random)
    log.append(
        build_end_transaction_marker(
            commit=commit, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp_ms=0
        )
    )


_KINDS: Final = (_plain, _plain, _plain, _appended_time, _compacted, _hole, _transaction)
