"""Counting elements before they are read: few at once, more in steps, and none beyond a bound."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator

import pytest

from shareq.protocol.bounded_reading import STEP_ELEMENTS, BoundedReader, TooManyElements
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated import offset_fetch
from shareq.protocol.generated.list_groups import ListGroupsRequest
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from shareq.protocol.primitives import Message, read_numbers, uvarint
from tests.support.each import for_each
from tests.support.kafka.random_messages import MESSAGE_NAMES, RandomMessages, message_versions

MOST = 100_000


def in_steps(cls: type[Message], data: bytes, version: int, most: int = MOST) -> tuple[Message, int]:
    steps = BoundedReader(cls, version).read_in_steps(data, 0, most)
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, pauses
        pauses += 1


@for_each("name", MESSAGE_NAMES)
def test_every_message_is_read_as_by_its_own_decoder(name: str) -> None:
    messages = RandomMessages(f"bounded {name}")
    for known, version in message_versions(name):
        message = messages.message(known, version)
        data = message.encode(version)
        reader = BoundedReader(known.message_class, version)
        assert reader.read_at_once(data, 0, MOST) == message
        assert in_steps(known.message_class, data, version)[0] == message


@for_each("name", MESSAGE_NAMES)
def test_damaged_bytes_are_refused_as_by_its_own_decoder(name: str) -> None:
    rng = random.Random(f"bounded damage {name}")
    messages = RandomMessages(f"bounded damage {name}")
    for known, version in message_versions(name):
        data = messages.message(known, version).encode(version)
        for _ in range(10):
            damaged = bytearray(data or b"\0")
            for at in rng.choices(range(len(damaged)), k=rng.choice((1, 2, 5))):
                damaged[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            try:
                expected: Message | None = known.message_class.decode(bytes(damaged), version)[0]
            except MalformedMessage:
                expected = None
            try:
                found: Message | None = in_steps(known.message_class, bytes(damaged), version)[0]
            except MalformedMessage:
                found = None
            assert found == expected, f"version {version}, {damaged.hex()}"


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (MetadataRequest([MetadataRequestTopic(bytes(16), f"t{i}") for i in range(20_000)]), 12),
        (ListGroupsRequest([f"s{i}" for i in range(9_000)], [f"t{i}" for i in range(9_000)]), 5),
        (
            OffsetCommitRequest(
                "g",
                topics=[
                    OffsetCommitRequestTopic(f"t{i}", b"", [OffsetCommitRequestPartition(j, j) for j in range(size)])
                    for i, size in enumerate((3, 9_000, 0, 300, 1, 6_000))
                ],
            ),
            9,
        ),
        (
            ShareAcknowledgeRequest(
                "g",
                "m",
                1,
                topics=[
                    AcknowledgeTopic(
                        bytes(16),
                        [
                            AcknowledgePartition(
                                part,
                                [AcknowledgementBatch(i, i + 1, [1, 2] if i % 7 else [1]) for i in range(2_000)],
                            )
                            for part in range(10)
                        ],
                    )
                ],
            ),
            1,
        ),
    ],
    ids=["Metadata", "ListGroups", "OffsetCommit", "ShareAcknowledge"],
)
def test_a_long_message_is_read_in_steps_of_counted_elements(message: Message, version: int) -> None:
    if isinstance(message, OffsetCommitRequest):
        for topic in message.topics:
            topic.topic_id = bytes(16)
    data = message.encode(version)
    assert BoundedReader(type(message), version).read_at_once(data, 0, 1_000) is None
    found, pauses = in_steps(type(message), data, version)
    assert found == message
    assert 15_000 / STEP_ELEMENTS <= pauses <= 25_000 / STEP_ELEMENTS


@pytest.mark.parametrize(
    ("cls", "version", "element"),
    [(ListGroupsRequest, 5, b"\2a"), (MetadataRequest, 12, bytes(16) + b"\0\0"), (ListGroupsRequest, 3, b"")],
    ids=["strings", "structs", "tags"],
)
def test_too_many_elements_are_refused_before_memory_is_taken(cls: type[Message], version: int, element: bytes) -> None:
    """In 5 MB every byte or two would become an object."""
    count = 2_000_000
    length = uvarint(count + 1) if element else uvarint(count)
    data = length + (element or b"\0\0") * count + b"\1\0"
    reader = BoundedReader(cls, version)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with pytest.raises(TooManyElements):
            for _ in reader.read_in_steps(data, 0, MOST):
                pass
        assert tracemalloc.get_traced_memory()[1] - before < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sizes", [(800_000,), (16_000,) * 50, (39_999, 2) * 20, (0, 100_000, 0)], ids=str)
def test_many_numbers_are_read_in_steps(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """800,000 numbers once took 20 ms in one step. Numbers read again with their struct count again."""
    now = [0]

    def counted(data: bytes, pos: int, count: int, code: str) -> tuple[list[int], int]:
        now[-1] += count
        return read_numbers(data, pos, count, code)

    monkeypatch.setitem(vars(offset_fetch), "read_numbers", counted)
    topics = [OffsetFetchRequestTopic(f"t{i}", list(range(size))) for i, size in enumerate(sizes)]
    message = OffsetFetchRequest(group_id="g", topics=topics)

    def read() -> Iterator[None]:
        found.append((yield from BoundedReader(OffsetFetchRequest, 7).read_in_steps(message.encode(7), 0, 1_000_000)))

    found: list[OffsetFetchRequest] = []
    for _ in read():
        now += [0]
    assert found == [message]
    assert max(now) <= 2 * 40_000
    with pytest.raises(TooManyElements):
        for _ in BoundedReader(OffsetFetchRequest, 7).read_in_steps(message.encode(7), 0, sum(sizes) // 4 // 2):
            pass


def test_elements_of_nested_arrays_are_counted_together() -> None:
    """Each array is short, but all elements together are too many."""
    topics = [
        OffsetCommitRequestTopic(f"t{i}", bytes(16), [OffsetCommitRequestPartition(j, j) for j in range(100)])
        for i in range(200)
    ]
    data = OffsetCommitRequest("g", topics=topics).encode(9)
    with pytest.raises(TooManyElements):
        in_steps(OffsetCommitRequest, data, 9, 20_000)
    found, pauses = in_steps(OffsetCommitRequest, data, 9, 20_200)
    assert found == OffsetCommitRequest("g", topics=topics)
    assert 15_000 / STEP_ELEMENTS <= pauses <= 30_000 / STEP_ELEMENTS
