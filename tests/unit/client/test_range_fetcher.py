from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError, Unreachable
from shareq.client.fetch import LEAST_BYTES, Fetched, OffsetsGone, RangeFetcher, TopicGone, whole_batches
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.fakes.scripted_peer import HangUp, ScriptedBroker
from tests.support.waiting import until

TOPIC, TOPIC_ID = "t", b"t" * 16


def batch(first: int, records: int, size: int = 1) -> bytes:
    return bytes(build_batch([RecordData(None, b"v" * size)] * records, timestamp_ms=0, base_offset=first))


class Leader:
    """Two brokers, of which node 1 leads until a test changes it. `log`: its batches by first offset.

    `said`: the answers to the first fetches, before those from the log; a string closes the connection.
    """

    def __init__(self) -> None:
        self.brokers = {1: ScriptedBroker(), 2: ScriptedBroker()}
        self.leader = 1
        self.exists = True
        self.log: dict[int, bytes] = {}
        self.start, self.end = 0, 100
        self.said: deque[PartitionData | FetchResponse | str] = deque()
        self._made: list[RangeFetcher] = []
        self.asked: list[tuple[int, int, int]] = []
        for node, broker in self.brokers.items():
            broker.scripts = {
                ApiKey.METADATA: self._metadata,
                ApiKey.LIST_OFFSETS: self._list_offsets,
                ApiKey.FETCH: partial(self._fetch, node),
            }

    def fetcher(self, **properties: str) -> RangeFetcher:
        servers = ",".join(broker.bootstrap for broker in self.brokers.values())
        given = {name.replace("_", "."): value for name, value in properties.items()}
        config = ClientConfig.from_properties({"bootstrap.servers": servers, "retry.backoff.ms": "5", **given})
        self._made.append(RangeFetcher(config))
        return self._made[-1]

    def fetch(self, first: int, last: int, **properties: str) -> list[Fetched]:
        return list(self.fetcher(**properties).fetch(TOPIC_ID, TOPIC, 0, first, last))

    def close(self) -> None:
        for fetcher in self._made:
            fetcher.close()
        for broker in self.brokers.values():
            broker.close()

    def _metadata(self, request: Message) -> Message:
        assert isinstance(request, MetadataRequest)
        rows = [MetadataResponseBroker(node, broker.host, broker.port) for node, broker in self.brokers.items()]
        led = [MetadataResponsePartition(0, 0, self.leader, self.leader)]
        topic = MetadataResponseTopic(0, TOPIC, TOPIC_ID, partitions=led)
        if not self.exists:
            topic = MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, TOPIC_ID)
        return MetadataResponse(brokers=rows, topics=[topic] if request.topics else [])

    def _list_offsets(self, request: Message) -> Message:
        assert isinstance(request, ListOffsetsRequest)
        rows = [
            ListOffsetsPartitionResponse(0, 0, offset=self.start if one.timestamp == -2 else self.end)
            for topic in request.topics
            for one in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(TOPIC, rows)])

    def _fetch(self, node: int, request: Message) -> Message:
        assert isinstance(request, FetchRequest)
        (asked,) = request.topics[0].partitions
        assert (request.topics[0].topic_id, request.session_epoch, request.isolation_level) == (TOPIC_ID, -1, 0)
        self.asked.append((node, asked.fetch_offset, asked.partition_max_bytes))
        if self.said:
            said = self.said.popleft()
            if isinstance(said, str):
                raise HangUp
            return said if isinstance(said, FetchResponse) else answer(said)
        if node != self.leader:
            return answer(PartitionData(0, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        batches = [data for first, data in sorted(self.log.items()) if self._last(first) >= asked.fetch_offset]
        size = max(asked.partition_max_bytes, len(batches[0]))  # the first batch is never cut
        return answer(self.part(b"".join(batches)[:size]))

    def part(self, records: bytes = b"") -> PartitionData:
        return PartitionData(0, 0, self.end, log_start_offset=self.start, records=records)

    def _last(self, first: int) -> int:
        return whole_batches(self.log[first])[1] - 1


def answer(partition: PartitionData) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])])


@pytest.fixture
def leader() -> Iterator[Leader]:
    leader = Leader()
    leader.log = {first: batch(first, 10) for first in range(0, 100, 10)}
    yield leader
    leader.close()


def test_a_cut_batch_is_left_out_and_fetched_again(leader: Leader) -> None:
    two = len(leader.log[0]) + len(leader.log[10])
    fetched = leader.fetch(0, 39, fetch_max_bytes=str(two + 7), receive_message_max_bytes="2000")
    assert [bytes(one.data) for one in fetched] == [leader.log[0] + leader.log[10], leader.log[20] + leader.log[30]]
    assert [(one.log_start_offset, one.high_watermark) for one in fetched] == [(0, 100)] * 2
    assert [offset for _, offset, _ in leader.asked] == [0, 20]


def test_the_next_answer_is_asked_for_before_the_last_is_handed_out(leader: Leader) -> None:
    reading = leader.fetcher(max_partition_fetch_bytes=str(len(leader.log[0]))).fetch(TOPIC_ID, TOPIC, 0, 0, 29)
    next(reading)
    until(lambda: len(leader.asked) >= 2)
    assert [offset for _, offset, _ in leader.asked] == [0, 10]
    assert len(list(reading)) == 2
    assert [offset for _, offset, _ in leader.asked] == [0, 10, 20]  # and nothing beyond the range


def test_no_more_is_asked_for_than_the_range_needs(leader: Leader) -> None:
    """The size is estimated from the partition's records so far."""
    leader.log = {first: batch(first, 10, size=20_000) for first in range(0, 1000, 10)}
    fetcher = leader.fetcher()
    list(fetcher.fetch(TOPIC_ID, TOPIC, 0, 0, 9))
    list(fetcher.fetch(TOPIC_ID, TOPIC, 0, 10, 19))
    list(fetcher.fetch(TOPIC_ID, TOPIC, 0, 100, 999))
    sizes = {offset: most for _, offset, most in leader.asked}
    assert sizes[0] == LEAST_BYTES
    assert 200_000 <= sizes[10] < 250_000
    assert sizes[100] == 4 << 20


def test_a_range_that_compaction_left_nothing_of_ends(leader: Leader) -> None:
    leader.log = {0: batch(0, 10), 50: batch(50, 10)}
    assert [bytes(one.data) for one in leader.fetch(20, 30)] == [leader.log[50]]
    assert [offset for _, offset, _ in leader.asked] == [20]
    assert [bytes(one.data) for one in leader.fetch(5, 30)] == [leader.log[0] + leader.log[50]]


def test_a_new_leader_is_followed(leader: Leader) -> None:
    reading = leader.fetcher(max_partition_fetch_bytes=str(len(leader.log[0]))).fetch(TOPIC_ID, TOPIC, 0, 0, 39)
    data = [next(reading).data]
    leader.leader = 2
    data += [one.data for one in reading]
    assert b"".join(data) == b"".join(leader.log[first] for first in (0, 10, 20, 30))
    assert {node for node, _, _ in leader.asked} == {1, 2}


def test_a_lost_connection_is_made_again(leader: Leader) -> None:
    leader.said.extend(["hang up", "hang up"])
    assert bytes(leader.fetch(0, 9)[0].data).startswith(leader.log[0])
    assert len(leader.asked) == 3


def test_a_high_watermark_that_lags_is_waited_for(leader: Leader) -> None:
    """A new leader may not yet know its followers' offsets."""
    leader.said.extend([leader.part(), leader.part()])
    assert len(leader.fetch(0, 9)) == 1


def test_offsets_beyond_the_end_are_not_passed_over(leader: Leader) -> None:
    """The offsets were acquired once, so a log without them has lost them; OffsetsGone is raised."""
    leader.end = 20
    leader.said.extend([leader.part()] * 1000)
    with pytest.raises(OffsetsGone, match="partition t-0: offset 20 is not in the log, which has 0 to 19"):
        leader.fetch(20, 29, default_api_timeout_ms="100")


def test_offsets_below_the_start_are_gone(leader: Leader) -> None:
    leader.start = 40
    leader.said.append(PartitionData(0, ErrorCode.OFFSET_OUT_OF_RANGE, -1, log_start_offset=-1))
    with pytest.raises(OffsetsGone) as gone:
        leader.fetch(0, 9)
    assert (gone.value.offset, gone.value.log_start, gone.value.log_end) == (0, 40, 100)
    again = pickle.loads(pickle.dumps(gone.value))
    assert (str(again), again.log_start) == (str(gone.value), 40)


@pytest.mark.parametrize("asks", ["fetch", "metadata"])
def test_a_topic_id_that_stays_unknown_is_gone(leader: Leader, asks: str) -> None:
    if asks == "metadata":
        leader.exists = False
    leader.said.extend([PartitionData(0, ErrorCode.UNKNOWN_TOPIC_ID)] * 100)
    with pytest.raises(TopicGone, match="there is no topic with the id dHR0dHR0dHR0dHR0dHR0dA any more"):
        leader.fetch(0, 9)


def test_a_topic_id_that_is_unknown_for_a_moment(leader: Leader) -> None:
    leader.said.extend([PartitionData(0, ErrorCode.UNKNOWN_TOPIC_ID)] * 3)
    assert len(leader.fetch(0, 9)) == 1


def test_a_refusal_names_the_partition(leader: Leader) -> None:
    leader.said.append(FetchResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(BrokerError, match="partition t-0: Fetch: TOPIC_AUTHORIZATION_FAILED"):
        leader.fetch(0, 9)


def test_patience_has_an_end(leader: Leader) -> None:
    leader.said.extend(["hang up"] * 1000)
    with pytest.raises(Unreachable):
        leader.fetch(0, 9, default_api_timeout_ms="100")


@given(st.lists(st.integers(1, 5), max_size=6), st.integers(0, 200))
def test_whole_batches_at_the_start_of_cut_bytes(counts: list[int], cut: int) -> None:
    data, ends = b"", [(0, -1)]
    first = 3
    for records in counts:
        data += batch(first, records)
        first += records
        ends.append((len(data), first))
    data = data[: max(0, len(data) - cut)]
    assert whole_batches(data) == max(end for end in ends if end[0] <= len(data))


def test_bytes_that_are_no_batches_are_refused() -> None:
    with pytest.raises(MalformedMessage, match="record batch of 3 bytes"):
        whole_batches(bytes(8) + b"\0\0\0\3" + bytes(80))
    old = bytearray(batch(0, 1))
    old[16] = 1
    with pytest.raises(MalformedMessage, match="magic 1"):
        whole_batches(bytes(old))
