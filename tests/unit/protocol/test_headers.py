from __future__ import annotations

import pytest

from shareq.protocol.api_keys import ApiKey, codec, flexible_from, versions
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.generated.index import APIS
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest
from shareq.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request,
    request_header_version,
    response_header,
    response_header_version,
)
from shareq.protocol.primitives import GATHERED_FROM, NEVER, UnencodableMessage

# api key, version, correlation id, client id with an int16 length; then, in header 2, the number of tags
HEADER_1 = bytes.fromhex("0011 0001 0000002a 0002 6d65")
HEADER_2 = bytes.fromhex("004f 0001 0000002a 0002 6d65 00")
HEADER_2_NULL_CLIENT_AND_TAG = bytes.fromhex("004f 0002 ffffffff ffff 01 07 02 abcd")


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (HEADER_1, RequestHeader(17, 1, 42, "me", (), 12)),
        (HEADER_2, RequestHeader(79, 1, 42, "me", (), 13)),
        (HEADER_2_NULL_CLIENT_AND_TAG, RequestHeader(79, 2, -1, None, ((7, b"\xab\xcd"),), 15)),
    ],
)
def test_request_headers(frame: bytes, expected: RequestHeader) -> None:
    assert decode_request_header(frame + b"body") == expected
    for length in range(len(frame)):
        with pytest.raises(MalformedMessage):
            decode_request_header(frame[:length])


def test_a_client_writes_the_same_bytes() -> None:
    request = ShareAcknowledgeRequest("g", "m", 1)
    assert encode_request(1, 42, "me", request) == HEADER_2 + request.encode(1)
    handshake = SaslHandshakeRequest("PLAIN")
    assert encode_request(1, 42, "me", handshake) == HEADER_1 + handshake.encode(1)
    assert encode_request(0, 1, None, ApiVersionsRequest()) == bytes.fromhex("0012 0000 00000001 ffff")
    records = [PartitionProduceData(each, bytes([each]) * (GATHERED_FROM + each - 1)) for each in range(3)]
    produce = ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=records)])
    assert encode_request(9, 42, "me", produce) == bytes.fromhex("0000 0009 0000002a 0002 6d65 00") + produce.encode(9)


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [
        (ApiKey.SHARE_ACKNOWLEDGE, 1, "0000002a 00"),
        (ApiKey.SASL_HANDSHAKE, 1, "0000002a"),
        (ApiKey.API_VERSIONS, 0, "0000002a"),
        (ApiKey.API_VERSIONS, 4, "0000002a"),  # flexible, and yet header 0
        (ApiKey.FETCH, 11, "0000002a"),
        (ApiKey.FETCH, 12, "0000002a 00"),
    ],
)
def test_response_headers(key: ApiKey, version: int, expected: str) -> None:
    data = response_header(key, version, 42)
    assert data == bytes.fromhex(expected)
    assert decode_response_header(data + b"body", key, version) == (42, (), len(data))
    with pytest.raises(MalformedMessage):
        decode_response_header(data[:-1], key, version)


def test_a_response_header_may_carry_tags() -> None:
    data = bytes.fromhex("0000002a 01 00 03 616263")
    assert decode_response_header(data, ApiKey.FETCH, 12) == (42, ((0, b"abc"),), len(data))
    for length in range(len(data)):
        with pytest.raises(MalformedMessage):
            decode_response_header(data[:length], ApiKey.FETCH, 12)


def test_api_versions_is_the_only_exception() -> None:
    exceptions = {
        key
        for key in APIS
        for version in range(codec(key).min_version, codec(key).max_version + 1)
        if request_header_version(key, version) - response_header_version(key, version) != 1
    }
    assert exceptions == {ApiKey.API_VERSIONS}


def test_an_unknown_request_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="unknown api key 999"):
        decode_request_header(bytes.fromhex("03e7 0063 00000007 ffff"))


@pytest.mark.parametrize("client_id", ["\ud800", "a" * 40_000], ids=["lone surrogate", "too long"])
def test_a_client_id_that_cannot_be_sent_is_refused(client_id: str) -> None:
    with pytest.raises(UnencodableMessage, match="RequestHeader"):
        encode_request(1, 42, client_id, ApiVersionsRequest())


@pytest.mark.parametrize("client_id", ["fffe 00", "0005 6d65", "0001 ff"])
def test_a_wrong_client_id_is_malformed(client_id: str) -> None:
    with pytest.raises(MalformedMessage):
        decode_request_header(bytes.fromhex("0011 0001 0000002a" + client_id))


def test_codecs_are_found_by_key() -> None:
    found = codec(ApiKey.SHARE_ACKNOWLEDGE)
    assert found.request_class is ShareAcknowledgeRequest
    assert (found.min_version, found.max_version, found.flexible_from) == (1, 2, 0)
    assert found.response_class.API_KEY == 79
    assert codec(79) is found
    assert versions(79) == (1, 2)
    assert versions(4) is None  # LeaderAndIsr was removed
    assert flexible_from(ApiKey.SASL_HANDSHAKE) == NEVER
    with pytest.raises(KeyError):
        codec(4)


def test_every_codec_agrees_with_its_classes() -> None:
    for key in APIS:
        found = codec(key)
        for cls in (found.request_class, found.response_class):
            assert (key, found.flexible_from) == (cls.API_KEY, cls.FLEXIBLE_FROM)
            assert (found.min_version, found.max_version) == (cls.MIN_VERSION, cls.MAX_VERSION)
            assert list(cls.DECODERS) == list(cls.ENCODERS) == list(range(found.min_version, found.max_version + 1))


def test_only_one_api_has_an_unstable_version() -> None:
    assert [key for key in ApiKey if codec(key).latest_version_unstable] == [ApiKey.INIT_PRODUCER_ID]
