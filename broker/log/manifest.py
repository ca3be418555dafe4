"""`log-manifest`: what is promised of each log, so that a start can tell damage from a write that was cut off. Pure.

Lines, each with its own checksum; of several lines for one log the last one counts:

    <crc32c of the rest, 8 hex digits> manifest 1
    <crc> boot <id of the machine's start in which what follows was written>
    <crc> log <topic> <partition> <topic id> <start> <active> <synced> <chain>
    <crc> gone <topic> <partition>

`start` is the log start offset; `active` the base offset of the newest segment that has a file, -1 without any; below
`synced` everything is on stable storage; `chain` is the CRC of the base offsets of all segments. A snapshot comes
first, then changes are appended. A line that cannot be believed is left out, which understates what is promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from shareq.broker.checked_text import checked_line, line_body
from shareq.protocol.primitives import uuid_from_text, uuid_to_text
from shareq.protocol.records.checksum import crc32c

__all__ = [
    "NO_SEGMENT",
    "UNKNOWN_CHAIN",
    "LogRow",
    "Manifest",
    "boot_line",
    "chain_of",
    "gone_line",
    "parse_manifest",
    "row_line",
    "snapshot",
]

TopicPartition = tuple[str, int]

NO_SEGMENT: Final = -1
UNKNOWN_CHAIN: Final = -1  # something is missing: to be looked for at every start
_HEADER: Final = "manifest 1"


class LogRow(NamedTuple):
    """What is promised of one log; offsets as in the file."""

    topic_id: bytes
    start: int
    active: int
    synced: int
    chain: int


class Manifest(NamedTuple):
    """A file's content. `is_whole`: no line but perhaps the last one, which was `cut_off` then, is missing."""

    boot_id: str
    rows: Mapping[TopicPartition, LogRow]
    is_whole: bool
    cut_off: bool = False


def chain_of(base_offsets: Iterable[int]) -> int:
    """By what a list of segments is known again."""
    return crc32c(b"".join(base.to_bytes(8, "big") for base in base_offsets))


def row_line(key: TopicPartition, row: LogRow) -> bytes:
    topic, partition = key
    return _line(
        f"log {topic} {partition} {uuid_to_text(row.topic_id)} {row.start} {row.active} {row.synced} {row.chain}"
    )


def gone_line(key: TopicPartition) -> bytes:
    return _line(f"gone {key[0]} {key[1]}")


def boot_line(boot_id: str) -> bytes:
    return _line(f"boot {boot_id}")


def snapshot(boot_id: str, rows: Mapping[TopicPartition, LogRow]) -> bytes:
    """A whole file's content."""
    lines = [_line(_HEADER), boot_line(boot_id), *(row_line(key, row) for key, row in rows.items())]
    return b"".join(lines)


def parse_manifest(data: bytes) -> Manifest | None:
    """What the file says; None when it is none, or of a newer format."""
    lines = data.split(b"\n")
    cut_off = lines.pop()  # empty, unless the last line is not whole
    bodies = [_body(line) for line in lines]
    if not bodies or bodies[0] != _HEADER:
        return None
    boot_id = ""
    rows: dict[TopicPartition, LogRow] = {}
    lost = sum(body is None for body in bodies[:-1])
    for body in bodies[1:]:
        kind, _, rest = (body or "").partition(" ")
        if kind == "boot":
            boot_id = rest
        elif kind == "log":
            topic, partition, topic_id, *numbers = rest.split(" ")
            start, active, synced, chain = map(int, numbers)
            rows[topic, int(partition)] = LogRow(uuid_from_text(topic_id), start, active, synced, chain)
        elif kind == "gone":
            topic, partition = rest.split(" ")
            rows.pop((topic, int(partition)), None)
    is_whole = not lost and not (cut_off and bodies[-1] is None)
    return Manifest(boot_id, rows, is_whole, cut_off != b"" or bodies[-1] is None)


def _line(body: str) -> bytes:
    return checked_line(body.encode())


def _body(line: bytes) -> str | None:
    """A line without its checksum; None when that does not fit."""
    body = line_body(line)
    return None if body is None else body.decode()
