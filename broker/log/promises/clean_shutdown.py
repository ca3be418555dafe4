"""`clean-shutdown`: the end of each log at a clean stop. Pure.

    2
    <topic> <partition> <log end offset> <base offset of the active segment> <its bytes> <1 if it is plain, or 0>
    ...
    crc32c <8 hex digits over all bytes before this line>

It can be believed even after a reboot of the machine, because everything was synced before it was written. In a data
folder of format 1 the file is empty, and shows only that the stop was clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.broker.foundation.checked_text import content_of, lines_of, with_checksum

CLEAN_SHUTDOWN_FILE: Final = "clean-shutdown"
_VERSION: Final = "2"

TopicPartition = tuple[str, int]


class LogEnd(NamedTuple):
    """The end of a log: its end offset (exclusive), and its active segment's base offset and bytes.

    `plain`: that segment is small and the only one, and the log has no producers, so a start needs only its batches.
    """

    end: int
    active: int
    active_size: int
    plain: bool = False


class CleanStop(NamedTuple):
    """The content of the file. `logs` is None in format 1, in which the file does not name them."""

    logs: Mapping[TopicPartition, LogEnd] | None = None

    def plain_end(self, key: TopicPartition) -> LogEnd | None:
        """Return the end of a plain log; None for any other log."""
        at = self.logs.get(key) if self.logs is not None else None
        return at if at is not None and at.plain else None


def format_clean_stop(logs: Mapping[TopicPartition, LogEnd]) -> bytes:
    """Return the file's content."""
    rows = [
        f"{topic} {partition} {at.end} {at.active} {at.active_size} {at.plain:d}"
        for (topic, partition), at in logs.items()
    ]
    return with_checksum("\n".join([_VERSION, *rows, ""]).encode())


def parse_clean_stop(data: bytes, *, from_format_1: bool = False) -> CleanStop:
    """Return the file's content. Raise ValueError if it is damaged, or of a later format.

    `from_format_1`: the data folder had format 1 until now; otherwise an empty file is damaged.
    """
    if not data:
        if from_format_1:
            return CleanStop()
        raise ValueError("it is empty")
    content = content_of(data)
    if content is None:
        raise ValueError("its checksum is missing")
    version, *rows = lines_of(content.decode())
    if version != _VERSION:
        raise ValueError(f"format {version} is not known")
    logs: dict[TopicPartition, LogEnd] = {}
    for row in rows:
        topic, partition, *numbers = row.split(" ")
        log_end, active, size, plain = map(int, numbers)
        logs[topic, int(partition)] = LogEnd(log_end, active, size, plain == 1)
    return CleanStop(logs)
