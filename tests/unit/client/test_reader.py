"""The batches that a reader returns: nothing before its position, no markers, no aborted records."""

from __future__ import annotations

import pytest

from shareq.client.errors import BrokerError, Unintelligible, Unreachable
from shareq.client.reader import Reader
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import build_batch, stamp
from shareq.protocol.records.control import build_end_transaction_marker
from shareq.protocol.records.record_codec import RecordData
from tests.support.fakes.scripted_peer import ScriptedBroker
from tests.support.fakes.scripted_world import ID, World, topic


def batch(offset: int, *values: bytes, producer: int = -1) -> bytes:
    data = build_batch(
        [RecordData(None, value) for value in values],
        timestamp_ms=1,
        base_offset=offset,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
        transactional=producer >= 0,
    )
    return bytes(data)


def marker(offset: int, producer: int, *, commit: bool) -> bytes:
    data = build_end_transaction_marker(
        commit=commit, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp_ms=1
    )
    stamp(data, offset, 0)
    return bytes(data)


def leader(world: World, *rows: PartitionData) -> ScriptedBroker:
    """Return the leader of partition 0 of topic t, which answers each fetch with the next row."""
    broker = world.broker(1)
    world.topics = [topic(1)]
    left = iter(rows)

    def answer(_: Message) -> Message:
        return FetchResponse(responses=[FetchableTopicResponse("", ID, [next(left)])])

    broker.scripts[ApiKey.FETCH] = answer
    return broker


def read(world: World, broker: ScriptedBroker, at: int, *, committed: bool = False) -> tuple[list[bytes | None], int]:
    reader = Reader(world.network(broker), {("t", 0): at}, committed_only=committed)
    values = [found.record.value for found in reader.read(0)]
    return values, reader.positions["t", 0]


def test_a_batch_that_begins_before_the_position_is_cut(world: World) -> None:
    data = batch(0, b"a", b"b", b"c") + batch(3, b"d") + batch(4, b"cut off")[:-3]
    assert read(world, leader(world, PartitionData(records=data)), 1) == ([b"b", b"c", b"d"], 4)


def test_a_round_asks_for_so_many_bytes_of_a_partition(world: World) -> None:
    broker = leader(world, PartitionData(records=batch(0, b"a", b"b", b"c")))
    reader = Reader(world.network(broker), {("t", 0): 1}, partition_bytes=1)
    assert [found.record.value for found in reader.read(0)] == [b"b", b"c"]
    (asked,) = [each for each in broker.requests if isinstance(each, FetchRequest)]
    assert asked.topics[0].partitions[0].partition_max_bytes == 1


@pytest.mark.parametrize(
    ("committed", "values"),
    [(True, [b"plain", b"kept", b"later"]), (False, [b"lost", b"plain", b"lost too", b"kept", b"later"])],
)
def test_what_was_aborted_is_shown_only_on_request(world: World, committed: bool, values: list[bytes]) -> None:
    data = (
        batch(0, b"lost", producer=1)
        + batch(1, b"plain")
        + batch(2, b"lost too", producer=1)
        + batch(3, b"kept", producer=2)
        + marker(4, 1, commit=False)
        + marker(5, 2, commit=True)
        + batch(6, b"later", producer=1)
    )
    row = PartitionData(aborted_transactions=[AbortedTransaction(1, 0)], records=data)
    assert read(world, leader(world, row), 0, committed=committed) == (values, 7)


def test_a_position_that_has_left_the_log_moves_to_its_start(world: World) -> None:
    broker = leader(world, PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    start = [ListOffsetsPartitionResponse(0, offset=8)]
    broker.scripts[ApiKey.LIST_OFFSETS] = lambda _: ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", start)])
    assert read(world, broker, 3) == ([], 8)


def test_a_position_beyond_the_end_is_refused(world: World) -> None:
    broker = leader(world, PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    start = [ListOffsetsPartitionResponse(0, offset=0)]
    broker.scripts[ApiKey.LIST_OFFSETS] = lambda _: ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", start)])
    with pytest.raises(BrokerError, match="OFFSET_OUT_OF_RANGE"):
        read(world, broker, 30)


def towards(world: World, broker: ScriptedBroker, end: int) -> list[bytes | None]:
    reader = Reader(world.network(broker), {("t", 0): 0})
    return [found.record.value for found in reader.read_towards({("t", 0): end}, 0)]


def fetches(world: World, broker: ScriptedBroker, *rows: PartitionData, each_takes_s: float = 0) -> None:
    left = list(rows)

    def answer(_: Message) -> Message:
        world.clock.now += each_takes_s
        return FetchResponse(responses=[FetchableTopicResponse("", ID, [left.pop(0) if len(left) > 1 else left[0]])])

    broker.scripts[ApiKey.FETCH] = answer


def test_an_end_that_nothing_comes_up_to_is_given_up(world: World) -> None:
    broker = leader(world)
    fetches(world, broker, PartitionData(records=batch(0, b"a", b"b")), PartitionData(), each_takes_s=0.5)
    before = world.clock.now
    with pytest.raises(Unreachable, match="t-0: nothing comes at offset 2, and its end is 9; given up after 60000 ms"):
        towards(world, broker, 9)
    assert 60 <= world.clock.now - before < 62


def test_an_end_that_comes_slowly_is_waited_for(world: World) -> None:
    broker = leader(world)
    fetches(world, broker, *(PartitionData(records=batch(n, b"%d" % n)) for n in range(9)), each_takes_s=50)
    assert towards(world, broker, 9) == [b"%d" % n for n in range(9)]


@pytest.mark.parametrize("damaged", [0, 1])
def test_records_that_cannot_be_read_are_named_and_not_asked_for_again(world: World, damaged: int) -> None:
    """One batch is wrongly marked as compressed, and the records of another end too soon."""
    data = bytearray(batch(0, b"a", b"b"))
    if damaged:
        data[57:63] = b"\x7f" * 6  # lengths of records
    else:
        data[22] |= 2  # "it is of snappy"
    broker = leader(world, PartitionData(records=bytes(data)))
    with pytest.raises(Unintelligible, match="t-0 from offset 0 on: records that cannot be read: "):
        read(world, broker, 0)
