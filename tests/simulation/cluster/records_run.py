"""Runs of the record feed on a simulated cluster: readers of all kinds, with faults of logs and brokers.

    run(seed)      raises what went wrong; the same seed does the same

During a run every record read must have been in the cluster's log at that offset. At the end all faults are over, and
every reader has the whole log once, from where it began or had to restart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple, TypeVar

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import Ends
from shareq.broker.log.segments.reader import Found, ReadResult
from shareq.broker.share.core.aborted import aborted_ranges
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.records.feed import RecordFeed
from shareq.cluster.records.source import PartitionRecords
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.list_offsets import ListOffsetsRequest
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import BatchHeader, read_header
from tests.simulation.cluster.troubles import Troubles
from tests.support.cluster.cluster import SimulatedCluster
from tests.support.cluster.faults import Direction
from tests.support.cluster.log import ClusterLog
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KAFKA_3_9, KAFKA_4_3
from tests.support.coroutines import begun
from tests.support.stored_batches import batch, marker

BROKERS: Final = (1, 2, 3)
NODE: Final = "node"
SETTLED_MS: Final = 60_000
"""The time by which readers must have reached the ends of the logs after all faults."""

T = TypeVar("T")
Place = tuple[str, int]
_LOST: Final[tuple[type[Message], ...]] = (
    FetchRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    MetadataRequest,
)


class Torn(NamedTuple):
    """A transaction that an unclean election left without its end. Readers may have seen another outcome before the
    election.
    """

    producer_id: int
    first_offset: int
    end_offset: int

    def has(self, header: BatchHeader) -> bool:
        return header.producer_id == self.producer_id and self.first_offset <= header.base_offset < self.end_offset


class Reader:
    """A reader of one partition: a fast one reads on every arrival, a slow one a batch now and then.

    Like a fetch, it waits for missing records.
    """

    def __init__(self, run: RecordsRun, place: Place, *, committed: bool, pause_ms: int, from_end: bool) -> None:
        self._run = run
        self.place = place
        self.committed = committed
        self.source = run.feed.get(*place)
        self.got: dict[int, bytes] = {}
        self.offset = -1
        self.began_at = 0
        self._from_end = from_end
        self._pause_ms = pause_ms
        self._is_fast = pause_ms < 100
        self._is_reading = False
        self._waits = False
        run.clock.call_soon(self._begin)

    @property
    def upto(self) -> int:
        return self.source.last_stable_offset if self.committed else self.source.high_watermark

    def _begin(self) -> None:
        self.source.ends().on_complete(self._ends_known)

    def _ends_known(self, ends: Ends | ErrorCode) -> None:
        if isinstance(ends, ErrorCode):
            assert ends is ErrorCode.NOT_LEADER_OR_FOLLOWER
            self._begin()
            return
        self.offset = self.began_at = ends.high_watermark if self._from_end else ends.log_start_offset
        self._go_on()

    def _go_on(self) -> None:
        self.read_some()
        if not self._run.is_over:
            self._run.clock.call_at(self._run.clock.now_ms() + self._pause_ms, self._go_on)

    def hurry(self) -> None:
        self._pause_ms, self._is_fast = 20, True

    def heard(self, source: PartitionRecords) -> None:
        if source is self.source and (self._is_fast or self._waits):
            self.read_some()

    def cut(self, source: PartitionRecords) -> None:
        if source is self.source and self.offset >= 0:
            end = source.high_watermark
            self.got = {offset: data for offset, data in self.got.items() if read_header(data).last_offset < end}
            self.offset, self.began_at = min(self.offset, end), min(self.began_at, end)

    def read_some(self) -> None:
        if self._is_reading or self.offset < 0:
            return
        self._is_reading = True
        self._waits = False
        for _ in range(20 if self._is_fast else 1):
            if not self._read_once():
                break
        self._is_reading = False

    def _read_once(self) -> bool:
        source, rng, upto = self.source, self._run.rng, self.upto
        if self.offset < source.log_start_offset and source.has_ends:
            assert source.read(self.offset, 1, upto=upto) is ErrorCode.OFFSET_OUT_OF_RANGE
            self._run.happened["readers below a log start"] += 1
            self.offset = self.began_at = source.log_start_offset
            self.got = {}
        if self.offset >= upto:
            return False
        most = rng.choice([1, 300, 2_000, 100_000])
        records = rng.choice([None, 1, 10])
        assert source.available_bytes(self.offset, upto) > 0
        read = source.read(self.offset, most, upto=upto, max_records=records)
        if not isinstance(read, ReadResult):
            assert not isinstance(read, ErrorCode), read
            self._run.happened["reads of what was not there yet"] += 1
            self._waits = True
            return False
        if not read.batches:
            return False
        self._take(read, most, upto)
        return True

    def _take(self, read: ReadResult, most: int, upto: int) -> None:
        assert len(read.records) <= most or len(read.batches) == 1, "no more than was asked for"
        aborted: set[int] = set()
        if self.committed:
            first, end = read.batches[0].base_offset, read.batches[-1].last_offset + 1
            for low, high in aborted_ranges(read.batches, self.source.aborted_transactions(first, end)):
                aborted.update(range(low, high + 1))
        at = 0
        for span in read.batches:
            assert span.position == at, "batches lie back to back"
            data = read.records[at : at + span.size]
            header, at = read_header(data), at + span.size
            assert (header.base_offset, header.last_offset) == (span.base_offset, span.last_offset)
            assert data in self._run.stored[self.place], "the log never had this"
            assert span.last_offset >= self.offset, "nothing comes twice"
            assert span.last_offset < upto, "nothing comes that may not be read yet"
            self._run.happened["batches of aborted transactions"] += span.base_offset in aborted
            self._run.happened["batches"] += 1
            if not header.is_control and span.base_offset not in aborted:
                self.got[span.base_offset] = data
            self.offset = span.last_offset + 1
        assert at == len(read.records)


class RecordsRun:
    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.clock = VirtualClock()
        env = Environment(self.clock, Random(seed + 1), MemFs(self.clock.call_soon))
        settings = ClusterSettings(
            release=rng.choice([KAFKA_3_9, KAFKA_4_3]),
            replication_ms=rng.choice([0, 0, 5]),
            latency_ms=rng.choice([(0, 0), (1, 3), (0, 20)]),
            fetch_session_slots=rng.choice([0, 1, 1_000]),
        )
        self.cluster = SimulatedCluster(env, settings)
        self.troubles = Troubles(self.cluster, rng, NODE, _LOST)
        link = self.cluster.link(NODE, request_timeout_ms=3_000)

        def begin(coroutine: Waiting[T], /) -> Pending[T]:
            return begun(env, coroutine)  # what goes wrong in it ends the run

        self.mirror = TopicMirror(env, link, begin)
        self.budget = rng.choice([6_000, 30_000, 200_000])
        self.places: list[Place] = []
        for name, partitions in (("orders", rng.randint(1, 3)), ("payments", 1)):
            self.cluster.create_topic(name, partitions, replication_factor=3)
            self.places += [(name, partition) for partition in range(partitions)]
        self.stored: dict[Place, set[bytes]] = {place: set() for place in self.places}
        self._made = 0
        self.is_over = False
        self.happened: Counter[str] = Counter()
        self._torn: dict[Place, list[Torn]] = {}
        self.most_held = 0
        for name, _ in dict.fromkeys((name, 0) for name, _ in self.places):
            found = self.mirror.find(name)
            while not found.done:
                self.clock.advance(10)
            assert isinstance(found.value, TopicImage)
        self.feed = RecordFeed(
            env, link, self.mirror, self.mirror, begin, budget=self.budget, led_epoch=lambda topic_id, partition: 3
        )
        for _ in range(rng.randint(0, 60)):
            self._produce()
        self.readers = [self._reader(place) for place in self.places for _ in range(rng.randint(1, 3))]
        self.feed.add_listener(lambda source: self._each(lambda reader: reader.heard(source)))
        self.feed.add_log_start_listener(lambda source: self._each(lambda reader: reader.heard(source)))
        self.feed.add_truncation_listener(lambda source: self._each(lambda reader: reader.cut(source)))

    def _reader(self, place: Place) -> Reader:
        rng = self.rng
        pause_ms = rng.choice([20, 50, 300, 900])
        return Reader(self, place, committed=rng.random() < 0.5, pause_ms=pause_ms, from_end=rng.random() < 0.2)

    def _each(self, call: Callable[[Reader], None]) -> None:
        cache = self.feed.cache
        held = cache.held_bytes + cache.reserved_bytes
        self.most_held = max(self.most_held, held)
        assert held <= self.budget or len(cache.chunks()) == 1, f"{held} bytes are held, of {self.budget}"
        for reader in self.readers:
            call(reader)

    # -- what happens

    def log(self, place: Place) -> ClusterLog:
        return self.cluster.log(*place)

    def run(self) -> None:
        rng = self.rng
        steps = (
            (self._produce, 60),
            (self._open_transaction, 12),
            (self._end_transaction, 14),
            (self._elect, 3),
            (self._elect_uncleanly, 1),
            (self._depose, 1),
            (self._delete_records, 2),
            (self.troubles.lose, 4),
            (self.troubles.cut, 2),
            (self.troubles.heal, 3),
            (self.troubles.delay, 2),
            (self.troubles.hold_news, 1),
            (self.troubles.pause, 1),
            (self.troubles.resume, 3),
        )
        actions, weights = [step for step, _ in steps], [weight for _, weight in steps]
        for _ in range(rng.randint(50, 250)):
            rng.choices(actions, weights)[0]()
            self.clock.advance(rng.choice([0, 0, 1, 5, 30, 200, 1_000]))
        self._settle()
        self._judge()
        self.is_over = True
        self.happened["logs that were cut"] = self.feed.truncations
        self.happened["chunks that gave way"] = self.feed.cache.evicted
        self.feed.close()
        self.mirror.close()

    def _append(self, place: Place, data: bytes) -> None:
        if self.cluster.leader(*place) >= 0:
            self.cluster.append(place[0], data, place[1])
            self.stored[place].add(self.log(place).batches[-1].data)

    def _produce(self) -> None:
        rng = self.rng
        for _ in range(rng.choice([1, 1, 3, 20])):
            self._made += 1
            size = rng.choice([10, 100, 1_500])
            self._append(rng.choice(self.places), batch(0, rng.randint(1, 4), size=size))

    def _open_transaction(self) -> None:
        place, producer = self.rng.choice(self.places), self.rng.choice([7, 8])
        for _ in range(self.rng.randint(1, 3)):
            self._append(place, batch(0, self.rng.randint(1, 3), producer_id=producer))

    def _open_ones(self) -> list[tuple[Place, int]]:
        return [
            (place, producer_id)
            for place in self.places
            for producer_id, known in self.log(place).producers.known.items()
            if known.open_from is not None
        ]

    def _end_transaction(self) -> None:
        open_ones = self._open_ones()
        if open_ones:
            place, producer = self.rng.choice(open_ones)
            self._append(place, marker(0, producer, commit=self.rng.random() < 0.5))

    def _elect(self) -> None:
        place = self.rng.choice(self.places)
        self.cluster.elect(place[0], self.rng.choice(BROKERS), place[1])

    def _elect_uncleanly(self) -> None:
        place = self.rng.choice(self.places)
        self._lose_records(place, self.rng.randint(self.log(place).start, self.log(place).end))

    def _lose_records(self, place: Place, keep_to: int) -> None:
        log = self.log(place)
        leader = self.cluster.leader(*place)  # one that lives has all records, also when it is elected again
        hearing = [broker for broker in BROKERS if broker != leader and self.cluster.brokers[broker].hears]
        if not hearing:
            return
        self.cluster.elect(place[0], self.rng.choice(hearing), place[1], keep_to=keep_to)
        for producer_id, known in log.producers.known.items():
            if known.open_from is not None:
                self._torn.setdefault(place, []).append(Torn(producer_id, known.open_from, log.end))

    def _depose(self) -> None:
        """Delay a leader's last answers, whose records are lost: the node first hears of the leader's successor."""
        place = self.rng.choice(self.places)
        broker, end = self.cluster.leader(*place), self.log(place).end
        if broker < 0 or not all(map(self.cluster.is_running, BROKERS)):
            return
        self.troubles.heal()
        self.cluster.delay(NODE, broker, 400, only=Direction.TO_NODE)
        for _ in range(self.rng.randint(1, 5)):
            self._append(place, batch(0, self.rng.randint(1, 3), size=50))
        self.clock.advance(30)
        self.cluster.hold_news(broker)
        self._lose_records(place, end)
        self.mirror.refresh(self.cluster.topic(place[0]).topic_id)
        self._append(place, batch(0, 1, size=20))

    def _delete_records(self) -> None:
        log = self.log(self.rng.choice(self.places))
        log.delete_before(self.rng.randint(log.start, log.high_watermark))

    # -- the end

    def _settle(self) -> None:
        self.troubles.resume()
        self.troubles.heal()
        self.cluster.faults.losses.clear()
        for place in self.places:
            if self.cluster.leader(*place) < 0:
                self.cluster.elect(place[0], 1, place[1])
        self.clock.advance(1_000)
        for place, producer in self._open_ones():
            self._append(place, marker(0, producer, commit=True))
        self.clock.advance(1_000)
        for reader in self.readers:
            reader.hurry()
        by_ms = self.clock.now_ms() + SETTLED_MS
        while not all(reader.offset >= self._end_of(reader) for reader in self.readers):
            if self.clock.now_ms() > by_ms:
                late = [(r.place, r.offset, self._end_of(r), r.committed) for r in self.readers]
                raise AssertionError(f"readers came no further than this: {late}")
            self.clock.advance(500)

    def _end_of(self, reader: Reader) -> int:
        log = self.log(reader.place)
        assert log.last_stable_offset == log.high_watermark
        return log.high_watermark

    def _judge(self) -> None:
        for reader in self.readers:
            log = self.log(reader.place)
            first = max(reader.began_at, log.start)
            torn = self._torn.get(reader.place, ()) if reader.committed else ()
            rows = [each.data for each in log.batches if self._may_read(reader, each.header)]
            expected, got = (
                {header.base_offset: data for header, data in self._compared(batches, first, torn)}
                for batches in (rows, reader.got.values())
            )
            assert got.keys() == expected.keys(), f"{reader.place}: {sorted(got.keys() ^ expected.keys())}"
            assert got == expected, f"{reader.place}: other records than the log has"
        for place in self.places:
            self._judge_questions(place)

    def _may_read(self, reader: Reader, header: BatchHeader) -> bool:
        aborted = self.log(reader.place).producers.aborted if reader.committed else ()
        return not header.is_control and not any(
            one.producer_id == header.producer_id and one.first_offset <= header.base_offset <= one.last_offset
            for one in aborted
        )

    @staticmethod
    def _compared(batches: Iterable[bytes], first: int, torn: Sequence[Torn]) -> Iterator[tuple[BatchHeader, bytes]]:
        for data in batches:
            header = read_header(data)
            if header.last_offset >= first and not any(one.has(header) for one in torn):
                yield header, data

    def _judge_questions(self, place: Place) -> None:
        log, source = self.log(place), self.feed.get(*place)
        ends, at = source.ends(), self.rng.choice([0, 1_000, 1 << 50])
        found = source.offset_for_timestamp(at)
        self.clock.advance(1_000)
        assert ends.value == Ends(log.start, log.high_watermark)
        expected = log.first_at(at, log.high_watermark)
        assert found.value == (None if expected is None else Found(expected.timestamp, expected.offset))


def run(seed: int) -> Counter[str]:
    one = RecordsRun(seed)
    one.run()
    return one.happened
