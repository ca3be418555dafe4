"""`log-manifest`: the promises about each log. They let a start distinguish damage from an incomplete write. Pure.

Lines, each with its own checksum; the last line for a log counts:

    <crc32c of the rest, 8 hex digits> manifest 1
    <crc> boot <id of the machine's start in which what follows was written>
    <crc> log <topic> <partition> <topic id> <start> <active> <synced> <chain>
    <crc> gone <topic> <partition>
    <crc> synced <bytes of this file, from its beginning, that are on stable storage>

`start` is the log start offset; `active` the base offset of the newest segment that has a file, -1 without any;
below `synced` everything is on stable storage; `chain` is the CRC of the base offsets of all segments. A snapshot
comes first, then changes are appended. A damaged line is left out, which understates the promises. After a reboot,
lines behind the synced ones may have been torn by a power loss. They do not count as missing, because they promised
nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from shareq.broker.foundation.checked_text import checked_line, line_body
from shareq.protocol.primitives import uuid_from_text, uuid_to_text
from shareq.protocol.records.checksum import crc32c

TopicPartition = tuple[str, int]

NO_SEGMENT: Final = -1
UNKNOWN_CHAIN: Final = -1  # a segment is missing, so every start has to look for it
_HEADER: Final = "manifest 1"


class LogRow(NamedTuple):
    """The promise about one log; its offsets are as in the file."""

    topic_id: bytes
    start: int
    active: int
    synced: int
    chain: int


class Manifest(NamedTuple):
    """A file's content. `is_whole`: no line is missing except in an end that was `cut_off`."""

    boot_id: str
    rows: Mapping[TopicPartition, LogRow]
    is_whole: bool
    cut_off: bool = False


def chain_of(base_offsets: Iterable[int]) -> int:
    """Return a checksum that identifies a list of segments by their base offsets."""
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


def synced_line(size: int) -> bytes:
    """Return the line that states that the first `size` bytes of the file are on stable storage; it is written
    behind them.
    """
    return _line(f"synced {size}")


def snapshot(boot_id: str, rows: Mapping[TopicPartition, LogRow]) -> bytes:
    """Return the content of a new file. It may be read as a manifest only once it is on stable storage."""
    lines = [_line(_HEADER), boot_line(boot_id), *(row_line(key, row) for key, row in rows.items())]
    return b"".join([*lines, synced_line(sum(map(len, lines)))])


def parse_manifest(data: bytes, boot_id: str = "") -> Manifest | None:
    """Return the file's content; None if it is no manifest, or of a newer format.

    `boot_id` is the id of the machine's present boot; if it is empty, each line that cannot be believed counts as
    missing.
    """
    lines = data.split(b"\n")
    ending = lines.pop()  # empty, unless the last line is not whole
    bodies = [_body(line) for line in lines]
    if not bodies or bodies[0] != _HEADER:
        return None
    written_in, rows, on_disk = _content(bodies)
    torn_by_power_loss = boot_id != "" and written_in != "" and boot_id != written_in
    unsynced_from = on_disk if torn_by_power_loss and on_disk is not None else len(data)
    missing = [position for position, body in zip(_positions(lines), bodies, strict=False) if body is None]
    cut_off = ending != b"" or bodies[-1] is None
    if missing and not ending and bodies[-1] is None:
        missing.pop()  # the beginning of a line, at the end of the file
    is_whole = all(position >= unsynced_from for position in missing)
    return Manifest(written_in, rows, is_whole, cut_off or (is_whole and missing != []))


def _content(bodies: Iterable[str | None]) -> tuple[str, dict[TopicPartition, LogRow], int | None]:
    """Return the content of the valid lines: the last boot id, the logs, and the number of bytes that were synced."""
    boot_id = ""
    rows: dict[TopicPartition, LogRow] = {}
    on_disk = None
    for body in bodies:
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
        elif kind == "synced":
            on_disk = max(on_disk or 0, int(rest))
    return boot_id, rows, on_disk


def _positions(lines: Iterable[bytes]) -> Iterable[int]:
    """Return the position where each line begins."""
    return accumulate((len(line) + 1 for line in lines), initial=0)


def _line(body: str) -> bytes:
    return checked_line(body.encode())


def _body(line: bytes) -> str | None:
    """Return a line without its checksum; None if the checksum does not match."""
    body = line_body(line)
    return None if body is None else body.decode()
