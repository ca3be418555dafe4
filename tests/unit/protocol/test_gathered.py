"""Large records are added to a response without copying them, and the bytes stay the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.protocol.generated.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from shareq.protocol.generated.share_fetch import PartitionData as SharePartitionData
from shareq.protocol.generated.share_fetch import ShareFetchableTopicResponse, ShareFetchResponse
from shareq.protocol.primitives import GATHERED_FROM, Gathered, Message, UnencodableMessage

SIZES = st.sampled_from([0, 1, 100, GATHERED_FROM - 1, GATHERED_FROM, GATHERED_FROM + 1, 3 * GATHERED_FROM])


def fetch_response(topics: list[list[int]]) -> FetchResponse:
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=f"topic-{number}", partitions=[fetched(at, size) for at, size in enumerate(each)]
            )
            for number, each in enumerate(topics)
        ]
    )


def fetched(index: int, size: int) -> PartitionData:
    return PartitionData(index, high_watermark=size, records=memoryview(bytes([index % 251]) * size))


def share_fetch_response(topics: list[list[int]]) -> ShareFetchResponse:
    return ShareFetchResponse(
        responses=[
            ShareFetchableTopicResponse(
                bytes(16), [SharePartitionData(at, records=bytes([at % 251]) * size) for at, size in enumerate(each)]
            )
            for each in topics
        ]
    )


@given(
    st.lists(st.lists(SIZES, max_size=4), max_size=3), st.sampled_from([(4, False), (12, False), (1, True), (2, True)])
)
def test_the_pieces_are_the_message(topics: list[list[int]], kind: tuple[int, bool]) -> None:
    version, share = kind
    response: Message = share_fetch_response(topics) if share else fetch_response(topics)
    gathered = Gathered(b"prefix")
    response.encode_into(gathered, version)
    expected = b"prefix" + response.encode(version)
    assert b"".join(gathered.pieces()) == expected
    assert gathered.size == len(expected)
    assert len(gathered.left) == sum(size >= GATHERED_FROM for each in topics for size in each)


def test_large_records_are_not_copied() -> None:
    records = memoryview(bytes(GATHERED_FROM))
    gathered = Gathered()
    response = ShareFetchResponse(
        responses=[ShareFetchableTopicResponse(bytes(16), [SharePartitionData(0, records=records)])]
    )
    response.encode_into(gathered, 1)
    assert any(piece is records for piece in gathered.pieces())
    assert len(gathered) < 200


def test_a_message_that_cannot_be_written_leaves_nothing_behind() -> None:
    records = bytes(GATHERED_FROM)
    gathered = Gathered(b"prefix")
    bad = SharePartitionData(1, error_code=1 << 20, records=records)
    response = ShareFetchResponse(
        responses=[ShareFetchableTopicResponse(bytes(16), [SharePartitionData(0, records=records), bad])]
    )
    with pytest.raises(UnencodableMessage):
        response.encode_into(gathered, 1)
    assert b"".join(gathered.pieces()) == b"prefix"
