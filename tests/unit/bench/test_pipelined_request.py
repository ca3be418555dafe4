"""The handwritten produce request of the pipelined figure can be read by the codecs."""

from __future__ import annotations

from bench.client.pipelined import produce_request
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.headers import decode_request_header
from shareq.protocol.records.batch import decode_records, validate_batch


def test_a_produce_request_holds_one_valid_record_of_100_bytes() -> None:
    frame = produce_request("bench-1", 3)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header = decode_request_header(frame[4:])
    assert (header.api_key, header.api_version, header.client_id) == (0, 9, "bench")
    request, end = ProduceRequest.decode(frame[4:], 9, header.body_offset)
    assert end == len(frame) - 4
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (request.acks, topic.name, partition.index) == (-1, "bench-1", 3)
    assert partition.records is not None
    assert not isinstance(validate_batch(bytes(partition.records)), ErrorCode)
    assert [record.value for record in decode_records(bytes(partition.records))] == [b"x" * 100]
