"""Fetch, ListOffsets and share groups with read_committed, over frames (KIP-98, KIP-932).

The transactions are appended as by a transaction coordinator.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.clients.requests import TIMESTAMP_MS, fetch_request, only_partition
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.handlers.records.list_offsets import LATEST, MAX_TIMESTAMP
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.fetch import FetchResponse, PartitionData
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from shareq.protocol.records.batch import HEADER_SIZE, Compression, batch_headers, build_batch
from shareq.protocol.records.batch import RecordData as Data
from shareq.protocol.records.checksum import crc32c
from tests.support.clients.share_client import (
    ACCEPT,
    GAP,
    Place,
    ShareClient,
    acquired_of,
    configure,
)
from tests.support.kafka import transactions

SERVED = HANDLERS[ApiKey.FETCH].served

UNCOMMITTED, COMMITTED = 0, 1


class Topic:
    """One partition of a topic, and a read_committed share group `g` that begins at its start."""

    def __init__(self, partitions: int = 1, properties: dict[str, str] | None = None, **configs: str) -> None:
        self.world = BrokerWorld(properties)
        self.id = self.world.create_topic("t", partitions, **configs).topic_id
        configure(self.world, share_auto_offset_reset="earliest", share_isolation_level="read_committed")

    def place(self, partition: int = 0) -> Place:
        return self.id, partition

    def log(self, partition: int = 0) -> PartitionLog:
        return self.world.folder.logs.get("t", partition)

    def add(
        self, *values: bytes, producer: int = -1, partition: int = 0, compression: Compression = Compression.NONE
    ) -> None:
        now = self.world.clock.wall_ms()
        info = transactions.append(self.log(partition), *values, producer=producer, compression=compression, now_ms=now)
        assert isinstance(info, AppendInfo)
        self.world.clock.run_until_idle()

    def end(self, producer: int, *, commit: bool, partition: int = 0) -> None:
        info = transactions.end(self.log(partition), producer, commit=commit, now_ms=self.world.clock.wall_ms())
        assert isinstance(info, AppendInfo)
        self.world.clock.run_until_idle()

    def member(self, member_id: str = "m", *partitions: int) -> ShareClient:
        member = ShareClient(self.world, member_id)
        member.join("t")
        answer = member.fetch(*(self.place(partition) for partition in partitions or (0,)), max_records=0)
        assert answer.error_code == ErrorCode.NONE
        return member


@pytest.fixture
def topic() -> Topic:
    return Topic()


def interleaved(topic: Topic) -> None:
    """Append offset 0 plain, 1-2 of producer 1 (aborted at 5), 3-4 of producer 2 (committed at 7), 6 and 8 plain."""
    topic.add(b"plain0")
    topic.add(b"aborted1", b"aborted2", producer=1)
    topic.add(b"committed3", b"committed4", producer=2)
    topic.end(1, commit=False)
    topic.add(b"plain6")
    topic.end(2, commit=True)
    topic.add(b"plain8")


# -- Fetch and ListOffsets


def fetched(
    client: MockConnection, version: int, isolation_level: int, offset: int = 0, *, max_bytes: int = 1 << 20
) -> PartitionData:
    request = fetch_request("t", offset, isolation_level=isolation_level, partition_max_bytes=max_bytes)
    return only_partition(client.call(request, version, FetchResponse))


def aborted_in(data: PartitionData) -> list[tuple[int, int]] | None:
    listed = data.aborted_transactions
    return None if listed is None else [(one.producer_id, one.first_offset) for one in listed]


@pytest.mark.parametrize("version", range(SERVED.first, 13))
def test_fetch_reports_which_transactions_were_aborted(version: int, topic: Topic) -> None:
    interleaved(topic)
    client = topic.world.connect()
    data = fetched(client, version, COMMITTED)
    assert (data.high_watermark, data.last_stable_offset) == (9, 9)
    assert aborted_in(data) == [(1, 1)]
    plain = fetched(client, version, UNCOMMITTED)
    assert plain.records == data.records  # the consumer leaves out what was aborted
    assert (aborted_in(plain), plain.last_stable_offset) == (None, 9)


def test_fetch_reports_the_part_that_was_read_only(topic: Topic) -> None:
    for producer in (1, 2, 3):
        topic.add(b"x" * 100, producer=producer)
        topic.end(producer, commit=False)
    client = topic.world.connect()
    assert aborted_in(fetched(client, 12, COMMITTED)) == [(1, 0), (2, 2), (3, 4)]
    assert aborted_in(fetched(client, 12, COMMITTED, 2)) == [(2, 2), (3, 4)]
    assert aborted_in(fetched(client, 12, COMMITTED, max_bytes=1)) == [(1, 0)]
    assert aborted_in(fetched(client, 12, COMMITTED, 1, max_bytes=1)) == [(1, 0)]  # its marker
    assert aborted_in(fetched(client, 12, COMMITTED, 6)) == []


def test_fetch_ends_at_the_last_stable_offset(topic: Topic) -> None:
    topic.add(b"plain")
    topic.add(b"open", producer=1)
    topic.add(b"plain")
    client = topic.world.connect()
    data = fetched(client, 12, COMMITTED)
    assert (data.high_watermark, data.last_stable_offset) == (3, 1)
    assert [header.last_offset for _, header in batch_headers(data.records or b"")] == [0]
    assert fetched(client, 12, COMMITTED, 1).records == b""
    assert len(list(batch_headers(fetched(client, 12, UNCOMMITTED).records or b""))) == 3


def test_a_fetch_that_waits_for_committed_records_is_woken_by_the_marker(topic: Topic) -> None:
    topic.add(b"open", producer=1)
    client = topic.world.connect()
    client.send(fetch_request("t", isolation_level=COMMITTED, max_wait_ms=1_000), 12)
    topic.add(b"plain")
    assert not client.frames
    topic.end(1, commit=False)
    data = only_partition(client.receive(FetchResponse))
    assert (data.last_stable_offset, aborted_in(data)) == (3, [(1, 0)])


def listed(topic: Topic, timestamp: int, isolation_level: int) -> int:
    request = ListOffsetsRequest(-1, isolation_level, [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, timestamp)])])
    return topic.world.connect().call(request, 9, ListOffsetsResponse).topics[0].partitions[0].offset


def test_list_offsets_knows_no_offset_from_the_last_stable_one_on(topic: Topic) -> None:
    topic.add(b"plain")
    topic.world.clock.advance(10)
    later = topic.world.clock.wall_ms()
    topic.add(b"open", producer=1)
    for isolation_level, latest, found in ((UNCOMMITTED, 2, 1), (COMMITTED, 1, -1)):
        assert listed(topic, LATEST, isolation_level) == latest
        assert listed(topic, later, isolation_level) == found
        assert listed(topic, MAX_TIMESTAMP, isolation_level) == found
    topic.end(1, commit=False)
    assert listed(topic, LATEST, COMMITTED) == 3


# -- share groups: which records


def test_a_share_group_reads_uncommitted_unless_configured_otherwise(topic: Topic) -> None:
    """Records of aborted and of open transactions are delivered, too."""
    configure(topic.world, share_isolation_level="read_uncommitted")
    interleaved(topic)
    topic.add(b"open", producer=3)
    assert topic.member().acquire() == [(0, 9, 1)]


def test_a_committed_group_gets_committed_records_only(topic: Topic) -> None:
    """The group's property decides; members acquire markers as gaps, and have to acknowledge them."""
    interleaved(topic)
    member = topic.member()
    assert member.acquire() == [(0, 0, 1), (3, 8, 1)]
    acks = [(0, 0, ACCEPT), (3, 4, ACCEPT), (5, 5, GAP), (6, 6, ACCEPT), (7, 7, GAP), (8, 8, ACCEPT)]
    assert member.acknowledge(topic.place(), *acks) is ErrorCode.NONE
    topic.add(b"plain9")
    assert member.acquire() == [(9, 9, 1)]


def test_the_leader_leaves_out_and_the_bytes_stay(topic: Topic) -> None:
    """Whole record batches are sent with aborted ones between, and no list of aborted transactions."""
    interleaved(topic)
    answer = topic.member().fetch()
    assert "aborted" not in " ".join(answer.responses[0].partitions[0].FIELDS)
    [row] = answer.responses[0].partitions
    headers = [header for _, header in batch_headers(row.records or b"")]
    assert [(header.base_offset, header.last_offset) for header in headers] == [
        (0, 0), (1, 2), (3, 4), (5, 5), (6, 6), (7, 7), (8, 8),
    ]  # fmt: skip


def test_an_open_transaction_stops_the_group_until_its_end(topic: Topic) -> None:
    """No record after the open transaction is delivered, whether plain or not. Its marker wakes the waiting fetch."""
    topic.add(b"plain")
    member = topic.member()
    assert member.acquire() == [(0, 0, 1)]
    topic.add(b"open", producer=1)
    topic.add(b"plain")
    member.send_fetch(max_wait_ms=1_000)
    topic.add(b"plain")
    assert not member.connection.frames
    topic.end(1, commit=True)
    assert acquired_of(member.fetch_answer()) == [(1, 4, 1)]


def test_a_plain_record_is_there_at_once_while_no_transaction_is_open(topic: Topic) -> None:
    member = topic.member()
    member.send_fetch(max_wait_ms=1_000)
    topic.add(b"plain")
    assert acquired_of(member.fetch_answer()) == [(0, 0, 1)]


def unreadable(producer: int) -> bytes:
    """Return a transactional batch that falsely claims zstd, so that decompressing it fails."""
    batch = build_batch(
        [Data(None, b"x" * 50)], timestamp_ms=TIMESTAMP_MS, producer_id=producer, producer_epoch=0, base_sequence=0,
        compression=Compression.ZSTD, transactional=True,
    )  # fmt: skip
    batch[HEADER_SIZE:] = b"\xff" * len(batch[HEADER_SIZE:])
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    return bytes(batch)


def test_batches_are_judged_without_being_decompressed(topic: Topic) -> None:
    """Producer and transaction are read from the batch's header."""
    for producer, commit in ((1, False), (2, True)):
        topic.log().append(unreadable(producer), origin=Origin.COORDINATOR, now_wall_ms=TIMESTAMP_MS)
        topic.end(producer, commit=commit)
    assert topic.member().acquire() == [(1, 3, 1)]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_longer_than_the_lock_limit(commit: bool, topic: Topic) -> None:
    """All records of a committed transaction are delivered; after an abort, the records that follow it.

    Apache Kafka 4.3.1 stops after an aborted transaction longer than share.partition.max.record.locks.
    """
    configure(topic.world, share_partition_max_record_locks="100")
    for _ in range(30):
        topic.add(*[b"value"] * 10, producer=1)
    member = topic.member()
    assert member.acquire() == []
    topic.end(1, commit=commit)
    topic.add(b"behind")
    got: list[int] = []
    for _ in range(10):
        acks = [(first, last, ACCEPT) for first, last, _ in member.acquire()]
        if acks:
            got += [offset for first, last, _ in acks for offset in range(first, last + 1)]
            assert member.acknowledge(topic.place(), *acks) is ErrorCode.NONE
    assert got == list(range(302) if commit else range(300, 302))


def test_records_behind_a_long_aborted_transaction_are_found_in_one_fetch(topic: Topic) -> None:
    """A fetch continues at once while it has only skipped records, however many reads that takes."""
    for _ in range(40):
        topic.add(b"x" * 1_000, producer=1)
    topic.end(1, commit=False)
    topic.add(b"behind")
    member = topic.member()
    before = topic.world.clock.now_ms()
    member.send_fetch(max_wait_ms=1_000, max_bytes=2_500)
    topic.world.clock.run_until_idle()
    assert topic.world.clock.now_ms() == before
    assert acquired_of(member.fetch_answer()) == [(40, 41, 1)]  # the marker, too


def test_a_fetch_that_may_not_wait_answers_with_nothing_and_has_got_further(topic: Topic) -> None:
    """The answer is empty, but the next fetch begins further on, as in Apache Kafka after fetches that only skip
    records.
    """
    topic.add(b"aborted", producer=1)
    topic.end(1, commit=False)
    topic.add(b"x" * 100)
    member = topic.member()
    assert acquired_of(member.fetch(max_bytes=1)) == []
    assert acquired_of(member.fetch(max_bytes=1)) == [(1, 1, 1)]
    assert acquired_of(member.fetch(max_bytes=1)) == [(2, 2, 1)]


# -- share groups: how much, and when


def test_min_bytes_count_up_to_the_last_stable_offset(topic: Topic) -> None:
    member = topic.member()
    topic.add(b"plain")
    assert member.acquire() == [(0, 0, 1)]
    topic.add(b"plain")
    member.send_fetch(max_wait_ms=1_000, min_bytes=500)
    topic.add(b"x" * 2_000, producer=1)
    topic.add(b"x" * 2_000)
    assert not member.connection.frames
    topic.end(1, commit=True)
    assert acquired_of(member.fetch_answer()) == [(1, 4, 1)]


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_a_fetch_that_waits_for_bytes_looks_where_they_begin_and_end_once(level: str, topic: Topic) -> None:
    """The fetch remembers how far the log was read: each append wakes it, but nothing is read twice."""
    configure(topic.world, share_isolation_level=level)
    for _ in range(40):
        topic.add(b"x" * 200)
    topic.add(b"open", producer=1)
    member = topic.member()
    member.send_fetch(max_wait_ms=1_000_000, min_bytes=1 << 20, max_bytes=1 << 24)
    for _ in range(2_300):  # of the newest batches, positions are kept anyway
        transactions.append(topic.log(), b"y", now_ms=topic.world.clock.wall_ms())
    topic.world.clock.run_until_idle()
    topic.add(b"y")
    reads = topic.world.fs.reads
    for _ in range(50):
        topic.add(b"y")
    assert topic.world.fs.reads == reads
    assert not member.connection.frames


def test_aborted_records_do_not_count_against_max_records() -> None:
    topic = Topic(2)
    topic.add(*[b"aborted"] * 5, producer=1)
    topic.end(1, commit=False)
    topic.add(*[b"plain"] * 6, partition=1)
    member = topic.member("m", 0, 1)
    got = []
    for _ in range(4):
        answer = member.fetch(max_records=5)
        got.append(sum(last - first + 1 for first, last, _ in acquired_of(answer)))
    assert sum(got) == 7  # the marker and six plain records
    assert max(got) == 5


# -- share groups: what is kept


def persisted(topic: Topic) -> tuple[int, int]:
    wanted = DescribeShareGroupOffsetsRequestTopic("t", [0])
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", [wanted])])
    answer = topic.world.connect().call(request, 1, DescribeShareGroupOffsetsResponse)
    row = answer.groups[0].topics[0].partitions[0]
    assert row.error_code == ErrorCode.NONE
    return row.start_offset, row.lag


@pytest.mark.parametrize("crash", [BrokerWorld.crash, BrokerWorld.restart], ids=["crash", "restart"])
def test_aborted_records_stay_out_after_a_start(crash: Callable[[BrokerWorld], None], topic: Topic) -> None:
    """Aborted records are archived only in memory, so a load has to find them again."""
    interleaved(topic)
    member = topic.member()
    assert member.acquire() == [(0, 0, 1), (3, 8, 1)]
    assert member.acknowledge(topic.place(), (6, 8, ACCEPT)) is ErrorCode.NONE
    assert persisted(topic) == (0, 9 - 5)
    crash(topic.world)
    again = topic.member("again")
    assert again.acquire() == [(0, 0, 1), (3, 5, 1)]
    assert again.acknowledge(topic.place(), (0, 0, ACCEPT), (3, 5, ACCEPT)) is ErrorCode.NONE
    topic.add(b"plain9")
    assert again.acquire() == [(9, 9, 1)]


# -- the isolation level changes


def test_the_level_is_the_one_at_the_beginning_of_each_fetch(topic: Topic) -> None:
    member = topic.member()
    topic.add(b"open", producer=1)
    member.send_fetch(max_wait_ms=1_000)
    topic.world.clock.run_until_idle()
    configure(topic.world, share_isolation_level="read_uncommitted")
    topic.add(b"plain")
    assert not member.connection.frames
    topic.world.clock.advance(1_000)
    assert acquired_of(member.fetch_answer()) == []
    assert member.acquire() == [(0, 1, 1)]
    configure(topic.world, share_isolation_level="read_committed")
    topic.add(b"plain")
    assert member.acquire() == []


def test_aborted_records_that_were_passed_over_do_not_come_back_with_the_level(topic: Topic) -> None:
    interleaved(topic)
    member = topic.member()
    assert member.acquire() == [(0, 0, 1), (3, 8, 1)]
    configure(topic.world, share_isolation_level="read_uncommitted")
    assert member.acquire() == []


# -- where a group begins


def first_fetch(topic: Topic, member: ShareClient) -> ShareFetchResponse:
    """Fetch a share partition for the first time, which waits briefly for its start offset to be persisted."""
    member.send_fetch(topic.place(), max_wait_ms=10)
    topic.world.clock.run_until_idle()
    topic.world.clock.advance(10)
    return member.fetch_answer()


def begin(topic: Topic, reset: str) -> ShareClient:
    """Return a member of a group with that share.auto.offset.reset and an empty session."""
    configure(topic.world, share_auto_offset_reset=reset)
    member = ShareClient(topic.world)
    member.join("t")
    return member


def test_latest_is_the_high_watermark_also_for_a_committed_group(topic: Topic) -> None:
    """The group begins there even within a transaction, whose records are then not delivered."""
    topic.add(b"open", producer=1)
    topic.add(b"plain")
    member = begin(topic, "latest")
    assert acquired_of(first_fetch(topic, member)) == []
    topic.add(b"more", producer=1)
    topic.add(b"plain")
    assert member.acquire() == []
    topic.end(1, commit=True)
    assert member.acquire() == [(2, 4, 1)]


def test_earliest_is_where_the_log_starts(topic: Topic) -> None:
    topic.add(b"a", b"b", b"c")
    topic.world.folder.logs.truncate_prefixes({topic.log(): 1})
    assert acquired_of(first_fetch(topic, begin(topic, "earliest"))) == [(1, 2, 1)]


def test_by_duration_is_the_first_record_of_that_age(topic: Topic) -> None:
    for _ in range(5):
        topic.add(b"x")
        topic.world.clock.advance(60_000)
    assert acquired_of(first_fetch(topic, begin(topic, "by_duration:PT150S"))) == [(3, 4, 1)]


def test_the_start_offset_is_resolved_when_the_share_partition_is_first_fetched(topic: Topic) -> None:
    """A later change of the property counts only for a leader that loads before any acquisition."""
    topic.add(b"a")
    member = begin(topic, "latest")
    first_fetch(topic, member)
    configure(topic.world, share_auto_offset_reset="earliest")
    assert member.acquire() == []
    topic.world.restart()
    member.reconnect()
    member.join("t")
    assert acquired_of(first_fetch(topic, member)) == [(0, 0, 1)]


@pytest.mark.parametrize("reset", ["latest", "earliest", "by_duration:PT0S"])
@pytest.mark.parametrize("crash", [BrokerWorld.crash, BrokerWorld.restart], ids=["crash", "restart"])
def test_the_start_offset_is_kept_from_the_first_acquire_on(
    reset: str, crash: Callable[[BrokerWorld], None], topic: Topic
) -> None:
    """The offset is kept although nothing was acknowledged.

    Resolved again, `latest` would skip new records, `earliest` follow deletions, and a duration move with the clock.
    """
    topic.add(b"before")
    topic.world.clock.advance(1_000)
    member = begin(topic, reset)
    acquired = acquired_of(first_fetch(topic, member))
    topic.add(b"after")
    acquired += member.acquire()
    assert acquired == ([(0, 0, 1), (1, 1, 1)] if reset == "earliest" else [(1, 1, 1)])
    assert persisted(topic)[0] == -1  # shown as Apache Kafka does, which has nothing yet
    topic.add(b"later")
    crash(topic.world)
    configure(topic.world, share_auto_offset_reset="latest")
    member.reconnect()
    member.join("t")
    assert acquired_of(first_fetch(topic, member)) == [(acquired[0][0], 2, 1)]
