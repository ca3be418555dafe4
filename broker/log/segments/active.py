"""The active segment of a log: its buffer, and the rules by which it gets no more batches."""

from __future__ import annotations

from typing import Final

from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.index import MAX_RELATIVE_OFFSET, OFFSET_ENTRY_BYTES
from shareq.broker.log.settings import LogSettings
from shareq.protocol.records.batch import PREFIX_SIZE, BatchHeader, stamped_prefix

BY_REFERENCE_BYTES: Final = 16 * 1024  # larger batches are not copied into the tick's buffer


class ActiveSegment:
    """The last segment of a log (`segment`), with its buffer.

    `position` is where the next batch will begin; bytes from `segment.size` on are buffered, not written.
    """

    __slots__ = (
        "_buffers",
        "_map",
        "_mark",
        "_max_offset",
        "_roll_at_ms",
        "_settings",
        "_since_ms",
        "_size_limit",
        "_tail",
        "position",
        "segment",
    )

    def __init__(self, segment: Segment, settings: LogSettings, since_wall_ms: int) -> None:
        self.segment = segment
        self.position = segment.size
        self._map = segment.map
        self._mark = self._map.mark()
        self._max_offset = segment.base_offset + MAX_RELATIVE_OFFSET
        self._since_ms = since_wall_ms
        self._buffers: list[bytearray | memoryview] = []
        self._tail = bytearray()
        self.apply(settings)

    def apply(self, settings: LogSettings) -> None:
        """Apply settings that limit the size and age of the segment from now on."""
        self._settings = settings
        self._size_limit = settings.segment_bytes
        self._roll_at_ms = self._since_ms + settings.roll_ms

    # -- what it takes

    def is_old(self, now_wall_ms: int) -> bool:
        """Return True if segment.ms, or for compacted logs max.compaction.lag.ms, has passed."""
        return now_wall_ms >= self._roll_at_ms

    def begin_at(self, now_wall_ms: int) -> None:
        """Count the age of the segment, which is still empty, from now on."""
        self._since_ms = now_wall_ms
        self._roll_at_ms = now_wall_ms + self._settings.roll_ms

    def add(
        self,
        batch: bytes | bytearray | memoryview,
        size: int,
        header: BatchHeader,
        base_offset: int,
        leader_epoch: int,
        now_wall_ms: int,
    ) -> bool:
        """Buffer a batch of `size` bytes with this base offset and leader epoch. Return False if it belongs into the
        next segment; the first batch may have any size.

        The bytes of a large batch must not change before it is written.
        """
        position = self.position
        end = position + size
        last_offset = base_offset + header.last_offset_delta
        if end > self._size_limit or now_wall_ms >= self._roll_at_ms or last_offset > self._max_offset:
            if position:
                return False
            self.begin_at(now_wall_ms)
        self._map.add(last_offset, position, size, header.max_timestamp)
        self.position = end
        tail = self._tail
        tail += stamped_prefix(base_offset, header.length, leader_epoch)
        if size < BY_REFERENCE_BYTES:
            tail += batch[PREFIX_SIZE:]
        else:
            self._buffers += (tail, memoryview(batch)[PREFIX_SIZE:])
            self._tail = bytearray()
        return True

    # -- from the buffer to the file

    @property
    def buffered_bytes(self) -> int:
        return self.position - self.segment.size

    def write(self) -> None:
        """Write the buffer. After an OSError, the caller must call `take_back`."""
        self._buffers.append(self._tail)
        self.segment.append(self._buffers, self.buffered_bytes)
        self.drop_buffers()
        self._mark = mark = self._map.mark()
        if mark.entries * OFFSET_ENTRY_BYTES >= self._settings.segment_index_bytes:
            self._size_limit = -1

    def take_back(self, end_offset: int) -> None:
        """Forget the unwritten batches, as if the log had always ended at `end_offset` (exclusive).

        The file may have bytes behind that, so the caller must call `Segment.cut_back`.
        """
        self.drop_buffers()
        self.position = self.segment.size
        self._map.reset(self._mark, end_offset)

    def drop_buffers(self) -> None:
        """Drop the unwritten bytes, because nothing will be written any more."""
        self._buffers = []
        self._tail = bytearray()

    # -- where what is

    @property
    def written_timestamp(self) -> int:
        """The largest timestamp of the written records; -1 if there are none."""
        return self._mark.max_timestamp

    def map_was_wrong(self) -> bool:
        """Rebuild the map from the log if it came from index files.

        Return True if the map was rebuilt, so that a repeated read may succeed. Raise OSError.
        """
        if self.segment.map_proven or self.buffered_bytes:
            return False
        self._map = self.segment.rebuild_map()
        self._mark = self._map.mark()
        return True
