"""The small text files of a data folder, in Apache Kafka's layouts. Pure.

Offsets by partition (`LOG_START_FILE`, `RECOVERY_POINT_FILE`, `CLEANER_FILE`): version 0, number of lines, then topic,
partition and offset:

    0
    2
    orders 0 1500
    orders 1 27
    crc32c 5d0a3f21

The last line is ours: the checksum of those before it. Files without it were written by format 1.

`leader-epoch-checkpoint`: the same with lines of epoch and start offset. `partition.metadata`:

    version: 0
    topic_id: <22 letters of URL-safe base64>
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.foundation.checked_text import content_of, lines_of, with_checksum
from shareq.protocol.primitives import uuid_from_text, uuid_to_text

LOG_START_FILE: Final = "log-start-offset-checkpoint"
RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
CLEANER_FILE: Final = "cleaner-offset-checkpoint"

TopicPartition = tuple[str, int]


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Return an offset checkpoint file's content."""
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in sorted(offsets.items())]
    return with_checksum(f"0\n{len(lines)}\n{''.join(lines)}".encode())


def parse_offsets(data: bytes) -> dict[TopicPartition, int]:
    """Return the offsets in a checkpoint file's content. Raise ValueError if it is not valid."""
    offsets: dict[TopicPartition, int] = {}
    content = content_of(data)
    for number, line in _lines(data if content is None else content):
        try:
            topic, partition, offset = line.split(" ")
            offsets[topic, _number(partition)] = _number(offset)
        except ValueError as error:
            raise ValueError(f"its line {number} is not a topic, a partition and an offset") from error
    return offsets


def format_epochs(epochs: list[tuple[int, int]]) -> bytes:
    """Return a leader epoch file's content, from (epoch, start offset) in order."""
    lines = [f"{epoch} {start}\n" for epoch, start in epochs]
    return f"0\n{len(lines)}\n{''.join(lines)}".encode()


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    """Return the (epoch, start offset) pairs in order. Raise ValueError if `data` is not a leader epoch file's
    content.
    """
    epochs: list[tuple[int, int]] = []
    for number, line in _lines(data):
        try:
            epoch, start = line.split(" ")
            epochs.append((_number(epoch), _number(start)))
        except ValueError as error:
            raise ValueError(f"its line {number} is not an epoch and an offset") from error
    return epochs


def format_partition_metadata(topic_id: bytes) -> bytes:
    """Return a `partition.metadata` file's content."""
    return f"version: 0\ntopic_id: {uuid_to_text(topic_id)}\n".encode()


def parse_partition_metadata(data: bytes) -> bytes:
    """Return the topic id (16 bytes) in a `partition.metadata` file's content. Raise ValueError if it is not valid."""
    fields: dict[str, str] = {}
    for line in lines_of(_text(data)):
        name, separator, value = line.partition(": ")
        if not separator:
            raise ValueError(f"partition.metadata: {line!r}")
        fields[name] = value
    if fields.get("version") != "0" or "topic_id" not in fields:
        raise ValueError("partition.metadata without version 0 and topic_id")
    topic_id = uuid_from_text(fields["topic_id"])
    if uuid_to_text(topic_id) != fields["topic_id"]:  # four bits of the last letter are unused
        raise ValueError(f"partition.metadata: {fields['topic_id']!r} is no id as it is written")
    return topic_id


def _lines(data: bytes) -> list[tuple[int, str]]:
    """Return the lines after the first two, with their numbers in the file."""
    lines = lines_of(_text(data))
    if len(lines) < 2 or lines[0] != "0":
        raise ValueError("checkpoint file without version 0")
    if lines[1] != str(len(lines) - 2):
        raise ValueError(f"checkpoint file with {len(lines) - 2} lines that announces {lines[1]!r}")
    return list(enumerate(lines[2:], start=3))


def _number(text: str) -> int:
    """Return a number written in plain digits. (`int` would also accept spaces, a plus sign and more.)"""
    number = int(text)
    if str(number) != text:
        raise ValueError(f"{text!r} is not a number as it is written here")
    return number


def _text(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no text from byte {error.start} on") from error
