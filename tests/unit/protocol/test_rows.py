"""Structs that occur many times in a message: tuples may replace them, and a request makes them only on access."""

from __future__ import annotations

from typing import Any

import pytest

from shareq.protocol.errors import UnencodableMessage
from shareq.protocol.generated import (
    read_share_group_state,
    share_acknowledge,
    share_fetch,
    share_snapshot,
    share_update,
)
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchableTopicResponse, ShareFetchResponse
from shareq.protocol.generated.share_update import ShareUpdateValue
from shareq.protocol.primitives import Gathered, MalformedMessage
from shareq.protocol.rows import Rows
from shareq.protocol.stepped_writing import SteppedWriter

WRITERS: list[tuple[Any, Any, tuple[int, ...]]] = [  # Any: a class of a module, and what writes an array of it
    (share_fetch.AcquiredRecords, share_fetch._write_acquired_records_array_1, (3,)),
    (share_update.StateBatch, share_update._write_state_batch_array_0, (2, 3)),
    (share_snapshot.StateBatch, share_snapshot._write_state_batch_array_0, (2, 3)),
    (read_share_group_state.StateBatch, read_share_group_state._write_state_batch_array_0, (2, 3)),
]


@pytest.mark.parametrize(("struct", "write", "rest"), WRITERS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 63, 64, 65, 128, 129, 300])
def test_tuples_are_written_as_the_structs_are(struct: Any, write: Any, rest: tuple[int, ...], count: int) -> None:
    rows = [(1 << 40 | 10 * at, (1 << 40) + 10 * at + at % 7, *rest) for at in range(count)]
    expected, found = bytearray(b"before"), bytearray(b"before")
    write(expected, [struct(*row) for row in rows])
    write(found, rows)
    assert found == expected


def fetched(rows: list[Any]) -> ShareFetchResponse:
    partition = PartitionData(records=b"", acquired_records=rows)
    return ShareFetchResponse(responses=[ShareFetchableTopicResponse(partitions=[partition])])


def test_a_long_array_of_tuples_is_written_in_steps() -> None:
    rows = [(at, at, 1) for at in range(0, 5_000, 2)]
    steps = SteppedWriter(ShareFetchResponse, 2).message(b"0123", fetched(rows))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            out: Gathered = end.value
            break
    assert b"".join(out.pieces()) == b"0123" + fetched([share_fetch.AcquiredRecords(*row) for row in rows]).encode(2)


@pytest.mark.parametrize("bad", [(0, 0, 1 << 15), (0, 1 << 63, 1), (0, None, 1), (0, 0)])
def test_a_tuple_that_cannot_be_written_is_refused_as_a_struct_is(bad: tuple[Any, ...]) -> None:
    out = bytearray(b"before")
    with pytest.raises(UnencodableMessage):
        fetched([(0, 0, 1), bad]).encode_into(out, 2)
    assert out == b"before"


def test_structs_with_tags_are_written_one_by_one() -> None:
    batch = share_update.StateBatch(1, 2, 2, 1, unknown_tags=((9, b"x"),))
    value = ShareUpdateValue(state_batches=[share_update.StateBatch(0, 0, 2, 1), batch])
    assert ShareUpdateValue.decode(value.encode(0), 0)[0].state_batches == value.state_batches


AcknowledgementBatch = share_fetch.AcknowledgementBatch


def acknowledging(batches: list[AcknowledgementBatch]) -> share_fetch.ShareFetchRequest:
    partition = share_fetch.FetchPartition(3, batches)
    return share_fetch.ShareFetchRequest("g", "m", topics=[share_fetch.FetchTopic(bytes(16), [partition])])


def read(request: share_fetch.ShareFetchRequest) -> share_fetch.FetchPartition:
    found = share_fetch.ShareFetchRequest.decode(request.encode(2), 2)[0]
    assert found == request
    assert request == found
    assert repr(found) == repr(request)
    return found.topics[0].partitions[0]


@pytest.mark.parametrize("count", [4, 5, 64, 65, 300])
def test_batches_of_one_type_each_are_read_without_making_them(count: int) -> None:
    batches = [AcknowledgementBatch(10 * at, 2**62 + at, [at % 7 - 2]) for at in range(count)]
    found = read(acknowledging(batches)).acknowledgement_batches
    assert isinstance(found, Rows)
    assert found.numbers() == [each for at in range(count) for each in (10 * at, 2**62 + at, at % 7 - 2)]
    assert len(found) == count
    assert list(found) == batches
    assert (found[0], found[-1], found[1:3]) == (batches[0], batches[-1], batches[1:3])
    assert found == read(acknowledging(batches)).acknowledgement_batches
    assert found != batches[1:]


ODD = [
    AcknowledgementBatch(1, 2, [1, 2]),
    AcknowledgementBatch(1, 2, []),
    AcknowledgementBatch(1, 2, [1], ((0, b"x"),)),
    AcknowledgementBatch(1, 2, [1] * 130),
]


@pytest.mark.parametrize("place", [0, 1, 5, 9])
@pytest.mark.parametrize("odd", ODD)
def test_one_other_batch_and_all_are_read_one_by_one(odd: AcknowledgementBatch, place: int) -> None:
    batches = [AcknowledgementBatch(at, at, [1]) for at in range(9)]
    batches.insert(place, odd)
    assert isinstance(read(acknowledging(batches)).acknowledgement_batches, list)


def test_a_few_batches_are_a_list() -> None:
    assert isinstance(read(acknowledging([AcknowledgementBatch(0, 0, [1])] * 3)).acknowledgement_batches, list)


def test_batches_that_are_cut_short_are_malformed() -> None:
    whole = acknowledging([AcknowledgementBatch(at, at, [1]) for at in range(40)]).encode(2)
    for end in range(len(whole)):
        with pytest.raises(MalformedMessage):
            share_fetch.ShareFetchRequest.decode(whole[:end], 2)


def test_share_acknowledge_reads_the_same() -> None:
    batches = [share_acknowledge.AcknowledgementBatch(at, at, [1]) for at in range(40)]
    partition = share_acknowledge.AcknowledgePartition(0, batches)
    request = share_acknowledge.ShareAcknowledgeRequest(
        topics=[share_acknowledge.AcknowledgeTopic(bytes(16), [partition])]
    )
    found = share_acknowledge.ShareAcknowledgeRequest.decode(request.encode(2), 2)[0]
    assert found == request
    assert isinstance(found.topics[0].partitions[0].acknowledgement_batches, Rows)
