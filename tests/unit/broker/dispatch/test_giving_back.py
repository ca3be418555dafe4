from __future__ import annotations

from collections.abc import Iterator

import pytest

from shareq.broker.dispatch.long_requests import arrays_of, give_back
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.turn_budget import PAUSE, PIECE, Breath
from shareq.protocol.api_keys import codec
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from shareq.protocol.generated.fetch import AbortedTransaction, FetchableTopicResponse, FetchResponse, PartitionData
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from shareq.protocol.primitives import Message


def pauses(_elements: int) -> Breath:
    return PAUSE


def given_back(held: list[Message]) -> Iterator[None]:
    giving = give_back(held, pauses)
    while True:
        try:
            giving.send(None)
        except StopIteration:
            return
        yield


def test_a_long_request_is_given_back_in_steps() -> None:
    """190,000 acknowledgement batches, freed at once, held the loop for 20 ms."""
    freed = 0

    class Counted(AcknowledgementBatch):
        def __del__(self) -> None:
            nonlocal freed
            freed += 1

    def batches(count: int) -> list[AcknowledgementBatch]:
        return [Counted(0, 0, [1]) for _ in range(count)]

    kept = batches(10)
    many = [AcknowledgePartition(at, batches(5 * PIECE)) for at in range(3)]
    few = [AcknowledgePartition(at, batches(1)) for at in range(2 * PIECE)]
    shared = AcknowledgePartition(0, kept)
    topic = AcknowledgeTopic(bytes(16), [*many, *few, shared])
    held: list[Message] = [ShareAcknowledgeRequest("g", "m", 1, False, [topic])]
    del many, few, shared, topic
    steps, before = [], 0
    for _ in given_back(held):
        steps.append(freed - before)
        before = freed
    assert not held
    assert freed == 17 * PIECE
    assert max(steps) < 2 * PIECE
    assert len(kept) == 10


def test_what_was_read_without_its_elements_goes_with_what_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [AcknowledgementBatch(at, at, [1]) for at in range(200)]
    topic = AcknowledgeTopic(bytes(16), [AcknowledgePartition(at, batches) for at in range(100)])
    data = ShareAcknowledgeRequest("g", "m", 1, False, [topic]).encode(2)
    held: list[Message] = [ShareAcknowledgeRequest.decode(data, 2)[0]]
    monkeypatch.setattr(AcknowledgementBatch, "__init__", None)  # none is made any more
    assert sum(1 for _ in given_back(held)) == 100
    assert not held


@pytest.mark.parametrize("last", [0, 1])
def test_a_long_request_with_arrays_that_are_null_is_given_back_in_steps(last: int) -> None:
    freed = 0

    class Counted(DescribeShareGroupOffsetsRequestTopic):
        def __del__(self) -> None:
            nonlocal freed
            freed += 1

    def group(at: int) -> DescribeShareGroupOffsetsRequestGroup:
        return DescribeShareGroupOffsetsRequestGroup("g", [Counted("t", [0]) for _ in range(100)] if at % 2 else None)

    held: list[Message] = [DescribeShareGroupOffsetsRequest([group(at + last) for at in range(400)])]
    steps, before = [], 0
    for _ in given_back(held):
        steps.append(freed - before)
        before = freed
    assert not held
    assert freed == 20_000
    assert max(steps) < 2 * PIECE


def test_the_arrays_of_every_request_are_known() -> None:
    assert arrays_of(DescribeShareGroupOffsetsRequestGroup) == ["topics"]
    assert arrays_of(DescribeShareGroupOffsetsRequestTopic) == []
    for key in HANDLERS:
        request = codec(key).request_class()
        arrays = {name for name in request.FIELDS if type(getattr(request, name)) is list}
        numbers = {name for name, of in type(request).__init__.__annotations__.items() if of.startswith("list[int]")}
        assert arrays <= {*arrays_of(type(request)), *numbers}, key


@pytest.mark.parametrize("last", [None, []])
def test_arrays_that_are_null_in_some_elements_are_no_hindrance(last: list[AbortedTransaction] | None) -> None:
    """The aborted transactions of a Fetch are null beside an error, and otherwise a list."""
    rows = [PartitionData(at, aborted_transactions=None if at % 2 else [], records=b"") for at in range(3 * PIECE)]
    rows[-1].aborted_transactions = last
    held: list[Message] = [FetchResponse(responses=[FetchableTopicResponse("t", partitions=rows)])]
    del rows
    assert len(list(given_back(held))) >= 2
    assert not held
