"""Long messages written in steps give the same bytes as when written at once."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from shareq.protocol import stepped_writing
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from shareq.protocol.primitives import Gathered, UnencodableMessage
from shareq.protocol.row_writing import RowWriter
from shareq.protocol.stepped_writing import STEP_ELEMENTS, SteppedWriter
from tests.support.each import for_each
from tests.support.kafka.random_messages import MESSAGE_NAMES, RandomMessages, message_versions

START = b"0123"


def run(steps: Generator[None, None, Gathered]) -> tuple[bytes, int]:
    pauses, done = 0, finished(steps)
    while done is None:
        pauses, done = pauses + 1, finished(steps)
    data = b"".join(done.pieces())
    assert len(data) == done.size
    return data, pauses


def finished(steps: Generator[None, None, Gathered]) -> Gathered | None:
    """Take one step; return the written message if it was the last one."""
    try:
        next(steps)
    except StopIteration as end:
        written: Gathered = end.value
        return written
    return None


@pytest.mark.parametrize("gathered_from", [1, 100, 32 * 1024])
@for_each("name", MESSAGE_NAMES)
def test_bytes_are_the_same_however_small_the_steps(
    name: str, gathered_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for constant, value in (("_LONG", 1), ("_PIECE", 1), ("STEP_ELEMENTS", 2), ("GATHERED_FROM", gathered_from)):
        monkeypatch.setattr(stepped_writing, constant, value)
    for known, version in message_versions(name):
        messages = RandomMessages(f"stepped {name} {version}")
        writer = SteppedWriter(known.message_class, version)
        for _ in range(4):
            message = messages.message(known, version)
            assert run(writer.message(START, message))[0] == START + message.encode(version)


def group(topics: int, partitions: int) -> OffsetFetchResponse:
    rows = [
        OffsetFetchResponseTopics(f"t{at}", partitions=[OffsetFetchResponsePartitions(i, i) for i in range(partitions)])
        for at in range(topics)
    ]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", rows)])


@pytest.mark.parametrize(("topics", "partitions"), [(1, 50_000), (50_000, 1), (5, 10_000), (2_000, 20), (300, 300)])
def test_no_step_is_long(topics: int, partitions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and partition numbers are counted where each element is written."""
    response = group(topics, partitions)
    expected = response.encode(9)
    writer = SteppedWriter(OffsetFetchResponse, 9)
    written: list[int] = []

    class Counting(list[OffsetFetchResponsePartitions]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            written[-1] += len(self)
            return super().__iter__()

        def __getitem__(self, at):  # type: ignore[no-untyped-def]
            return Counting(super().__getitem__(at))

    for row in response.groups[0].topics:
        row.partitions = Counting(row.partitions)
    steps = writer.message(b"", response)
    done: Gathered | None = None
    while done is None:
        written.append(0)
        done = finished(steps)
    assert b"".join(done.pieces()) == expected
    assert sum(written) >= topics * partitions
    assert max(written) <= STEP_ELEMENTS + max(200, min(partitions, 400))


def test_rows_of_one_long_row_are_written_in_steps() -> None:
    response = group(1, 30_000)
    expected = response.encode(9)
    writer = RowWriter(OffsetFetchResponse, 9, "groups")
    steps = writer.rows(response)
    pauses, rows = 0, finished(steps)
    while rows is None:
        pauses, rows = pauses + 1, finished(steps)
    assert pauses >= 10
    assert b"".join(writer.whole(b"", response, 1, [rows]).pieces()) == expected


def test_the_same_list_in_two_places_is_written_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    response = group(1, 1_000)
    (row,) = response.groups[0].topics
    response.groups[0].topics = [row, OffsetFetchResponseTopics("other", partitions=row.partitions), row]
    assert run(SteppedWriter(OffsetFetchResponse, 9).message(b"", response))[0] == response.encode(9)


def test_what_cannot_be_written_is_refused_and_the_writer_goes_on() -> None:
    writer, response = SteppedWriter(OffsetFetchResponse, 9), group(3, 1_000)
    response.groups[0].topics[2].name = "x" * 40_000
    with pytest.raises((UnencodableMessage, ValueError)):
        run(writer.message(b"", response))
    response.groups[0].topics[2].name = "x"
    assert run(writer.message(b"", response))[0] == response.encode(9)
