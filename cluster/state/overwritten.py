"""Keys that a zombie has overwritten in a compacted topic. Its records do not count, but they do harm.

Rule (a) is for readers, but a broker's cleaner does not know it: it keeps the last record of a key, even one that no
reader believes. If a zombie wrote a key after the owner, the owner's record is removed sooner or later, and no valid
record of the key is left. So the next owner first writes the valid records of such keys again, before the cleaner may
touch such young records (`min.compaction.lag.ms`). A key that the owner itself has written again since is left alone.
"""

from __future__ import annotations

import logging
from typing import Final

from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import Record, RecordData, decode_records

logger = logging.getLogger(__name__)

MOST_KEYS: Final = 10_000
MOST_BYTES: Final = 64 << 20
"""The most bytes of values. A zombie writes at most two batches before it notices that it was replaced."""


class Overwritten:
    """The keys of invalid records that follow valid ones. The log is read twice: once for the keys, and once for their
    valid records.
    """

    __slots__ = ("_bytes", "_keys", "_name", "_values")

    def __init__(self, name: str) -> None:
        self._name = name
        self._keys: set[bytes] = set()
        self._values: dict[bytes, RecordData] = {}
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._keys)

    def skipped(self, batch: bytes | memoryview) -> None:
        """Note the keys of a batch that does not count."""
        for record in _records(batch):
            if record.key is not None and record.key not in self._keys:
                if len(self._keys) >= MOST_KEYS:
                    logger.error(
                        "%s: over %d keys were written by no owner; compaction may remove the others",
                        self._name,
                        MOST_KEYS,
                    )
                    return
                self._keys.add(record.key)

    def counted(self, batch: bytes | memoryview) -> None:
        """Forget the keys of a later batch that counts."""
        if self._keys:
            self._keys.difference_update(record.key for record in _records(batch) if record.key is not None)

    def collect(self, batch: bytes | memoryview) -> None:
        """Note the records of these keys in a batch that counts, when the log is read for the second time."""
        for record in _records(batch):
            key = record.key
            if key is None or key not in self._keys:
                continue
            before = self._values.get(key)
            self._bytes += len(record.value or b"") - (len(before.value or b"") if before is not None else 0)
            if self._bytes > MOST_BYTES:
                logger.error("%s: over %d bytes were written over by no owner", self._name, MOST_BYTES)
                self._keys.clear()
                return
            self._values[key] = RecordData(key, record.value, record.headers)

    def to_write(self) -> list[RecordData]:
        """Return the last valid record of each key, tombstones included."""
        return list(self._values.values())


def _records(batch: bytes | memoryview) -> list[Record]:
    try:
        return decode_records(batch)
    except MalformedMessage:
        return []  # no reader of this topic makes anything of it either
