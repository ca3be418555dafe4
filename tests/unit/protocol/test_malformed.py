"""Malformed messages raise only `MalformedMessage`, and allocate no memory on the input's word."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.generated.fetch import FetchRequest
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest
from shareq.protocol.generated.metadata import MetadataRequest
from shareq.protocol.generated.offset_commit import OffsetCommitValue
from shareq.protocol.generated.request_header import RequestHeader
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.primitives import Message
from tests.support.each import for_each
from tests.support.kafka.random_messages import MESSAGE_NAMES, RandomMessages, message_versions


def attempt(cls: type[Message], data: bytes, version: int) -> bool:
    """Return True if the bytes decode; any error but MalformedMessage fails the test."""
    try:
        _, end = cls.decode(data, version)
    except MalformedMessage:
        return False
    assert end <= len(data)
    return True


@for_each("name", MESSAGE_NAMES)
def test_a_message_cut_short_is_malformed(name: str) -> None:
    rng = random.Random(f"cut {name}")
    messages = RandomMessages(f"cut {name}")
    for known, version in message_versions(name):
        data = messages.message(known, version).encode(version)
        for length in {*rng.choices(range(len(data)), k=12), len(data) - 1} if data else ():
            assert not attempt(known.message_class, data[:length], version), f"version {version}, {length} bytes"


@for_each("name", MESSAGE_NAMES)
def test_damaged_bytes_are_read_or_refused(name: str) -> None:
    rng = random.Random(f"damage {name}")
    messages = RandomMessages(f"damage {name}")
    for known, version in message_versions(name):
        data = messages.message(known, version).encode(version)
        for _ in range(15):
            damaged = bytearray(data or b"\0")
            for at in rng.choices(range(len(damaged)), k=rng.choice((1, 1, 2, 5))):
                damaged[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            attempt(known.message_class, bytes(damaged), version)
        attempt(known.message_class, rng.randbytes(rng.randrange(100)), version)


@for_each("name", MESSAGE_NAMES)
def test_a_huge_length_takes_no_memory(name: str) -> None:
    """The bytes at each position are replaced by the largest int32 and the largest compact length."""
    messages = RandomMessages(f"huge {name}")
    known, version = list(message_versions(name))[-1]
    data = messages.message(known, version).encode(version)[:120]
    inputs = [
        data[:at] + huge + data[at + len(huge) :]
        for huge in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\x7f")
        for at in range(0, len(data), 3)
    ]
    attempt(known.message_class, data, version)
    tracemalloc.start()
    try:
        for damaged in inputs:
            attempt(known.message_class, damaged, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000 + 400 * len(data)


@pytest.mark.parametrize(
    ("cls", "version", "data", "reason"),
    [
        (MetadataRequest, 0, b"\xff\xff\xff\xff", "null"),  # topics are nullable from version 1
        (MetadataRequest, 1, b"\xff\xff\xff\xfe", "array of -2"),
        (MetadataRequest, 1, b"\x00\x00\x00\x05\x00\x00", "array of 5"),
        (RequestHeader, 1, b"\x00\x12\x00\x03\x00\x00\x00\x00\xff\xfe", "length -2"),
        (ApiVersionsRequest, 3, b"\x00\x02v\x00", "null"),  # the name may not be null
        (ApiVersionsRequest, 3, b"\x02n\x81\x80\x02" + b"v" * 32768 + b"\x00", "string of 32768 bytes"),
        (ApiVersionsRequest, 3, b"\x02\xff\x02v\x00", "utf-8"),
        (ApiVersionsRequest, 3, b"\x80\x80\x80\x80\x80\x01", "more than 32 bits"),
        (ApiVersionsRequest, 3, b"\xff\xff\xff\xff\x7f", "more than 32 bits"),
        (ApiVersionsRequest, 3, b"\x02n\x02v\x01\x05\x02a", "1 bytes left"),  # a tag longer than the message
        (ApiVersionsRequest, 3, b"\x02n\x02v\x02\x05\x00\x05\x00", "tag 5 of 0 bytes after tag 5"),
        (ApiVersionsRequest, 3, b"\x02n\x02v\x02\x05\x00\x04\x00", "tag 4 of 0 bytes after tag 5"),
        (ApiVersionsRequest, 3, b"\x02n\x02v\xff\xff\xff\xff\x0f", "array of 4294967295"),
        (ApiVersionsRequest, 6, b"\x02n\x02v\x00", "has no version 6"),
        (ShareAcknowledgeRequest, 0, b"", "has no version 0"),
        (FindCoordinatorRequest, 0, b"\xff\xff", "length -1"),
    ],
)
def test_what_is_wrong_is_said(cls: type[Message], version: int, data: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        cls.decode(data, version)
    assert reason in str(caught.value)


def test_a_tag_of_another_version_is_malformed() -> None:
    """FetchRequest's ReplicaState (tag 1) exists only from version 15 on."""
    empty = FetchRequest().encode(14)
    tagged = empty[:-1] + b"\x01\x01\x0d" + bytes(13)
    with pytest.raises(MalformedMessage, match="tag 1 of FetchRequest is not of this version"):
        FetchRequest.decode(tagged, 14)
    version_15 = FetchRequest().encode(15)
    assert FetchRequest.decode(version_15[:-1] + b"\x01\x01\x0d" + bytes(13), 15)[0].replica_state.replica_id == 0


def test_a_tagged_value_must_fill_its_size() -> None:
    empty = FetchRequest().encode(15)
    for size in (12, 14):
        with pytest.raises(MalformedMessage):
            FetchRequest.decode(empty[:-1] + bytes((1, 1, size)) + bytes(size), 15)


def test_records_of_share_fetch_may_not_be_null() -> None:
    """ShareFetchResponse declares null for version 0, but its versions start at 1."""
    null_records = (
        bytes(4)  # throttle time
        + bytes(2)  # error
        + b"\x00"  # message
        + bytes(4)  # lock timeout
        + b"\x02" + bytes(16)  # one topic
        + b"\x02" + bytes(4) + bytes(2) + b"\x00" + bytes(2) + b"\x00" + bytes(8) + b"\x00"  # one partition, its leader
    )  # fmt: skip
    rest = b"\x01\x00\x00\x01\x00"  # no acquired records, tags, no endpoints
    assert ShareFetchResponse.decode(null_records + b"\x01" + rest, 1)[0].responses[0].partitions[0].records == b""
    with pytest.raises(MalformedMessage):
        ShareFetchResponse.decode(null_records + b"\x00" + rest, 1)


def test_an_explicit_default_in_a_tag_is_accepted() -> None:
    """Writers usually omit a default: OffsetCommitValue.topicId is tag 0 from version 4 on."""
    data = OffsetCommitValue(offset=5).encode(4)
    assert data.endswith(b"\x00")
    read, _ = OffsetCommitValue.decode(data[:-1] + b"\x01\x00\x10" + bytes(16), 4)
    assert read == OffsetCommitValue(offset=5)
    assert read.encode(4) == data


def test_many_elements_of_no_size_are_bounded_by_the_bytes() -> None:
    """A count is compared with the remaining bytes before the first element is read."""
    data = ShareFetchRequest(group_id="g", member_id="m").encode(1)
    at = data.index(b"\x01\x01\x00")  # no topics, no forgotten topics, no tags
    with pytest.raises(MalformedMessage, match="array of 127 elements"):
        ShareFetchRequest.decode(data[:at] + b"\x80\x01" + bytes(100), 1)
