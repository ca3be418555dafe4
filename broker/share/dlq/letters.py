"""A dead letter as a record: the content that it copies, and its headers (KIP-1191).

    __dlq.errors.topic            source topic
    __dlq.errors.partition        source partition, decimal
    __dlq.errors.offset           source offset, decimal
    __dlq.errors.group            the group in which the record died
    __dlq.errors.delivery.count   deliveries when it died, decimal
    __dlq.errors.message          the cause of death: one of two sentences, or "Record expired.", our own

All are UTF-8 text, in this order. A group that keeps its dead records (`shareq.dlq.keep`) adds three more behind these,
after a draft (KIP-1317), and the source's own headers in front, so the last header of a name is from this death. The
very last is `__dlq.errors.shareq.error`, if a client of ours gave a reason for releasing or rejecting the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from shareq.broker.share.core.effects import Cause, DeadLetter
from shareq.protocol.names import (
    DLQ_DELIVERY_COUNT,
    DLQ_DISPOSITION,
    DLQ_GROUP,
    DLQ_MESSAGE,
    DLQ_OFFSET,
    DLQ_PARTITION,
    DLQ_PREFIX,
    DLQ_REJECTED_BY,
    DLQ_SHAREQ_ERROR,
    DLQ_TIMESTAMP,
    DLQ_TOPIC,
)
from shareq.protocol.records.batch import Headers, Record, RecordData
from shareq.protocol.records.record_codec import header_key

_MESSAGES: Final = {
    Cause.CLIENT_REJECT: b"Offset rejected by client.",
    Cause.DELIVERY_COUNT_EXCEEDED: b"Offset delivery count exceeded the threshold.",
    Cause.EXPIRED: b"Record expired.",
}
_DISPOSITIONS: Final = {
    Cause.CLIENT_REJECT: b"CLIENT_REJECTED",
    Cause.DELIVERY_COUNT_EXCEEDED: b"MAX_DELIVERY_ATTEMPTS_REACHED",
    Cause.EXPIRED: b"EXPIRED",
}
_RECORD_OVERHEAD: Final = 32  # lengths, deltas and counts of a record, rounded up
_HEADER_OVERHEAD: Final = 10  # both lengths of a header, rounded up


class Origin(NamedTuple):
    """The origin of dead records: group, topic and partition."""

    group_id: str
    topic: str
    partition: int


def plain_letter(origin: Origin, letter: DeadLetter, offset: int, source: Record | None, now_ms: int) -> RecordData:
    """Return the dead letter of one offset as Apache Kafka 4.4.0 writes it, with `source`'s key and value if that is
    given.
    """
    headers = _headers(origin, letter, offset)
    if source is None:
        return RecordData(None, None, headers, now_ms)
    return RecordData(source.key, source.value, headers, now_ms)


def kept_letter(
    origin: Origin, letter: DeadLetter, offset: int, source: Record | None, now_ms: int, *, copies: bool
) -> RecordData:
    """Return the dead letter of one offset of a group that keeps its dead records, at the source's time.

    Without `copies` it has neither key nor value, and of the source's headers only those of earlier deaths.
    """
    headers = (*_headers(origin, letter, offset), *_disposition(letter, now_ms))
    if source is None:
        return RecordData(None, None, headers, now_ms)
    earlier = source.headers
    if not copies:
        earlier = tuple(header for header in earlier if header[0].startswith(DLQ_PREFIX))
        return RecordData(None, None, (*earlier, *headers), _time(source, now_ms))
    return RecordData(source.key, source.value, (*earlier, *headers), _time(source, now_ms))


def with_reason(made: RecordData, reason: bytes | None) -> RecordData:
    """Return the letter with the reason that the member gave for returning its record, if there is one, in a last
    header of our own.
    """
    return made if reason is None else made._replace(headers=(*made.headers, (DLQ_SHAREQ_ERROR, reason)))


def died_before_for(source: Record, queue: str) -> bool:
    """Return True if the record's headers show that it has died before, as a record of this queue."""
    name = queue.encode()
    return any(key == DLQ_TOPIC and value == name for key, value in source.headers)


def letter_bytes(record: RecordData | Record) -> int:
    """Return the record's size in a batch without compression, rounded up."""
    return len(record.key or b"") + len(record.value or b"") + _header_bytes(record.headers) + _RECORD_OVERHEAD


def _header_bytes(headers: Iterable[tuple[str, bytes | None]]) -> int:
    return sum(len(header_key(name)) + len(value or b"") + _HEADER_OVERHEAD for name, value in headers)


def _headers(origin: Origin, letter: DeadLetter, offset: int) -> Headers:
    return (
        (DLQ_TOPIC, origin.topic.encode()),
        (DLQ_PARTITION, b"%d" % origin.partition),
        (DLQ_OFFSET, b"%d" % offset),
        (DLQ_GROUP, origin.group_id.encode()),
        (DLQ_DELIVERY_COUNT, b"%d" % letter.delivery_count),
        (DLQ_MESSAGE, _MESSAGES[letter.cause]),
    )


def _disposition(letter: DeadLetter, now_ms: int) -> Headers:
    disposition: Headers = ((DLQ_DISPOSITION, _DISPOSITIONS[letter.cause]), (DLQ_TIMESTAMP, b"%d" % now_ms))
    if letter.cause is Cause.CLIENT_REJECT and letter.member_id:
        return (*disposition, (DLQ_REJECTED_BY, letter.member_id.encode()))
    return disposition


def _time(source: Record, now_ms: int) -> int:
    return source.timestamp if source.timestamp >= 0 else now_ms
