"""A dead letter, and the record made from it to be sent back. Pure.

A redriven record has the letter's key, value and headers, without headers that begin with `__dlq.`, followed by:

    __redrive.name              the redrive
    __redrive.timestamp         when, in milliseconds
    __redrive.count             how often the record was redriven, this time included
    __redrive.queue.topic       from where: the queue,
    __redrive.queue.partition   its partition,
    __redrive.queue.offset      and the letter's offset there
    __redrive.group             the group in which it died
    __redrive.to                "topic" or "group"
    __redrive.source.topic      only with "group": where the record was when it died
    __redrive.source.partition
    __redrive.source.offset

All of them are UTF-8 text, with decimal numbers. Those of an earlier redrive are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from shareq.broker.redrive.progress import PartitionProgress
from shareq.broker.redrive.spec import LetterFilter, RedriveSpec, Target
from shareq.protocol.names import (
    DLQ_DISPOSITION,
    DLQ_GROUP,
    DLQ_MESSAGE,
    DLQ_OFFSET,
    DLQ_PARTITION,
    DLQ_PREFIX,
    DLQ_TIMESTAMP,
    DLQ_TOPIC,
    REDRIVE_COUNT,
    REDRIVE_GROUP,
    REDRIVE_NAME,
    REDRIVE_PREFIX,
    REDRIVE_QUEUE_OFFSET,
    REDRIVE_QUEUE_PARTITION,
    REDRIVE_QUEUE_TOPIC,
    REDRIVE_SOURCE_OFFSET,
    REDRIVE_SOURCE_PARTITION,
    REDRIVE_SOURCE_TOPIC,
    REDRIVE_TIMESTAMP,
    REDRIVE_TO,
)
from shareq.protocol.records.batch import Headers, Record, RecordData

_TARGETS: Final = {Target.TOPIC: b"topic", Target.GROUP: b"group"}
_MOST_DIGITS: Final = 19


class Letter(NamedTuple):
    """A letter and the dead record that it is about. `kept`: its group keeps its dead records, and so the letter has
    their headers.
    """

    record: Record
    topic: str
    partition: int
    offset: int
    group_id: str
    reasons: tuple[bytes | None, bytes | None]
    died_ms: int
    kept: bool

    @property
    def is_bare(self) -> bool:
        """True if it has neither key nor value, because they were not copied, or because the record had none."""
        return self.record.key is None and self.record.value is None


def letter_of(record: Record) -> Letter | None:
    """Return the record as a dead letter; None if it is not one. If the record died several times, its last death is
    used.
    """
    said = dict(record.headers)
    topic, group = said.get(DLQ_TOPIC), said.get(DLQ_GROUP)
    partition, offset = _number(said.get(DLQ_PARTITION)), _number(said.get(DLQ_OFFSET))
    if topic is None or group is None or partition is None or offset is None:
        return None
    try:
        names = topic.decode(), group.decode()
    except UnicodeDecodeError:
        return None
    died_ms = _number(said.get(DLQ_TIMESTAMP))
    reasons = said.get(DLQ_MESSAGE), said.get(DLQ_DISPOSITION)
    when = record.timestamp if died_ms is None else died_ms
    return Letter(
        record=record,
        topic=names[0],
        partition=partition,
        offset=offset,
        group_id=names[1],
        reasons=reasons,
        died_ms=when,
        kept=DLQ_DISPOSITION in said,
    )


def is_meant(wanted: LetterFilter, letter: Letter) -> bool:
    """Return True if the letter matches the filter."""
    return (
        wanted.group_id in (None, letter.group_id)
        and wanted.topic in (None, letter.topic)
        and wanted.partition in (-1, letter.partition)
        and _within(letter.offset, wanted.first_offset, wanted.last_offset)
        and letter.died_ms >= wanted.died_from_ms
        and (wanted.died_until_ms < 0 or letter.died_ms < wanted.died_until_ms)
        and (wanted.reason is None or wanted.reason.encode() in letter.reasons)
    )


def has_sent(spec: RedriveSpec, progress: Iterable[PartitionProgress], partition: int, letter: Letter) -> bool:
    """Return True if the redrive has sent this letter of a partition of its queue back, or is about to."""
    offset = letter.record.offset
    return any(
        each.partition == partition
        and offset >= spec.first_offset
        and each.sent(offset)
        and is_meant(spec.letters, letter)
        for each in progress
    )


def redriven(spec: RedriveSpec, queue_partition: int, letter: Letter, source: Record | None, now_ms: int) -> RecordData:
    """Return the record to send back.

    Its content and headers are those of the letter or, if `source` is given, of the dead record itself. `now_ms` is
    wall-clock time.
    """
    record = letter.record
    content = record if source is None else source
    before = max(_times(record.headers), _times(content.headers))
    own = tuple(header for header in content.headers if not header[0].startswith((REDRIVE_PREFIX, DLQ_PREFIX)))
    done: Headers = (
        (REDRIVE_NAME, spec.name.encode()),
        (REDRIVE_TIMESTAMP, b"%d" % now_ms),
        (REDRIVE_COUNT, b"%d" % (before + 1)),
        (REDRIVE_QUEUE_TOPIC, spec.queue.encode()),
        (REDRIVE_QUEUE_PARTITION, b"%d" % queue_partition),
        (REDRIVE_QUEUE_OFFSET, b"%d" % record.offset),
        (REDRIVE_GROUP, letter.group_id.encode()),
        (REDRIVE_TO, _TARGETS[spec.target]),
    )
    if spec.target is Target.GROUP:
        done = (
            *done,
            (REDRIVE_SOURCE_TOPIC, letter.topic.encode()),
            (REDRIVE_SOURCE_PARTITION, b"%d" % letter.partition),
            (REDRIVE_SOURCE_OFFSET, b"%d" % letter.offset),
        )
    return RecordData(content.key, content.value, (*own, *done), now_ms)


def place_of(record: Record) -> tuple[int, int] | None:
    """Return the queue's partition and offset of the letter from which a redriven record was made; None if the
    record's headers do not have them.
    """
    said = dict(record.headers)
    partition, offset = _number(said.get(REDRIVE_QUEUE_PARTITION)), _number(said.get(REDRIVE_QUEUE_OFFSET))
    return None if partition is None or offset is None else (partition, offset)


def _times(headers: Headers) -> int:
    return _number(dict(headers).get(REDRIVE_COUNT)) or 0


def _number(text: bytes | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) <= _MOST_DIGITS else None


def _within(value: int, first: int, last: int) -> bool:
    return value >= first and (last < 0 or value <= last)
