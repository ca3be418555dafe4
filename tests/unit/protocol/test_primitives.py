"""Primitives of the codecs: varints, uuids, errors and equality."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.protocol.errors import NO_ERROR, TEXTS, ApiError, ErrorCode, MalformedMessage, is_retriable, text_of
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.produce import PartitionProduceData, TopicProduceData
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from shareq.protocol.primitives import (
    ZERO_UUID,
    read_uvarint,
    read_zigzag,
    uuid_from_text,
    uuid_to_text,
    uvarint,
    zigzag_varint,
)


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (16_384, "808001"), (2**32 - 1, "ffffffff0f")],
)
def test_unsigned_numbers(value: int, data: str) -> None:
    assert uvarint(value) == bytes.fromhex(data)
    assert read_uvarint(bytes.fromhex(data), 0) == (value, len(data) // 2)


@pytest.mark.parametrize("data", ["ffffffff1f", "808080808000", "8080808080"])
def test_unsigned_numbers_of_more_than_32_bits_are_malformed(data: str) -> None:
    with pytest.raises(MalformedMessage):
        read_uvarint(bytes.fromhex(data), 0)


def test_a_number_may_be_written_longer_than_needed() -> None:
    assert read_uvarint(b"\x80\x00", 0) == (0, 2)


@pytest.mark.parametrize(
    ("value", "data"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (-(2**31), "ffffffff0f")]
)
def test_signed_numbers(value: int, data: str) -> None:
    assert zigzag_varint(value) == bytes.fromhex(data)
    assert read_zigzag(bytes.fromhex(data), 0) == (value, len(data) // 2)


@settings(max_examples=100, derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_signed_numbers_read_back(value: int, before: bytes) -> None:
    data = before + zigzag_varint(value)
    assert read_zigzag(data, len(before), 10) == (value, len(data))
    with pytest.raises(MalformedMessage):
        read_zigzag(data[:-1], len(before), 10)


def test_signed_numbers_are_bounded() -> None:
    with pytest.raises(MalformedMessage):
        read_zigzag(b"\x80" * 5 + b"\0", 0)
    assert read_zigzag(b"\x80" * 5 + b"\0", 0, 10) == (0, 6)


def test_ids_as_text() -> None:
    """Ids are URL-safe base64 without padding, like topic ids in Kafka's tools."""
    uuid = bytes.fromhex("fbefbe00112233445566778899aabbcc")
    assert uuid_to_text(uuid) == "----ABEiM0RVZneImaq7zA"
    assert uuid_from_text("----ABEiM0RVZneImaq7zA") == uuid
    assert uuid_to_text(ZERO_UUID) == "A" * 22
    for wrong in ("", "A" * 21, "A" * 23, "+" * 22, "é" * 22, "A" * 22 + "=="):
        with pytest.raises(ValueError, match="not an id"):
            uuid_from_text(wrong)
    with pytest.raises(ValueError, match="uuid of 3 bytes"):
        uuid_to_text(b"abc")


def test_equality_and_repr() -> None:
    one = HeartbeatRequest("g", 1, "m")
    assert one == HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert one != HeartbeatRequest("g", 2, "m")
    assert one != HeartbeatResponse()
    assert repr(one) == (
        "HeartbeatRequest(group_id='g', generation_id=1, member_id='m', group_instance_id=None, unknown_tags=[])"
    )
    with pytest.raises(TypeError):
        hash(one)
    with pytest.raises(AttributeError):
        one.colour = "red"  # type: ignore[attr-defined]


def test_repr_shows_ids_but_never_records_or_secrets() -> None:
    topic = TopicProduceData("", bytes(16), [PartitionProduceData(0, memoryview(b"a secret"))])
    assert repr(topic) == (
        "TopicProduceData(name='', topic_id=AAAAAAAAAAAAAAAAAAAAAA, partition_data=[PartitionProduceData(index=0, "
        "records=<8 bytes>, unknown_tags=[])], unknown_tags=[])"
    )
    assert repr(SaslAuthenticateRequest(b"0123456789abcdef")).startswith(
        "SaslAuthenticateRequest(auth_bytes=<16 bytes>"
    )


def test_error_codes() -> None:
    assert (ErrorCode.NONE.value, ErrorCode.UNKNOWN_SERVER_ERROR.value) == (0, -1)
    assert ErrorCode(121) is ErrorCode.INVALID_RECORD_STATE
    assert set(TEXTS) == set(ErrorCode)
    assert is_retriable(ErrorCode.NOT_COORDINATOR)
    assert not is_retriable(ErrorCode.INVALID_RECORD_STATE)
    assert not is_retriable(9999)
    assert text_of(9999) == "Error code 9999, unknown to this release."


def test_an_error_is_true_unless_nothing_went_wrong() -> None:
    assert not NO_ERROR
    assert not ApiError(ErrorCode.NONE, "a warning")
    assert ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # -1
