"""The part of one log that is on stable storage, and the promises that follow from it. Pure: syncs are made
elsewhere, and noted here.

A record survives a loss of power when its bytes are on stable storage (`Segment.synced_end`), and the names of its
file and of the folder are, too (`Segment.name_is_synced`). If the names are not, the whole file may be lost.
"""

from __future__ import annotations

from shareq.broker.log.promises.manifest import NO_SEGMENT, UNKNOWN_CHAIN, LogRow, chain_of
from shareq.broker.log.promises.new_names import NewNames, names_of
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.segments.segment_list import SegmentList


class StableStorage:
    """The part of one log that is on stable storage. Owned by the log; `segments` are the log's, `offset` is its
    start offset.

    `synced_offset`: everything below is on stable storage. `recovery_point`: all records below it are in sealed,
    synced segments, so that a start need not read them again. `unsynced_messages`: the number of records written
    since the last sync for which appends waited. `waiting_flushes`: the number of flushes that wait for their sync.
    """

    __slots__ = (
        "_folder",
        "_new_names",
        "_segments",
        "recovery_point",
        "synced_offset",
        "unsynced_messages",
        "waiting_flushes",
    )

    def __init__(self, folder: str, segments: SegmentList, offset: int) -> None:
        self._folder = folder
        self._segments = segments
        self._new_names: NewNames | None = None
        self.recovery_point = offset
        self.synced_offset = offset
        self.unsynced_messages = 0
        self.waiting_flushes = 0

    # -- names of files and folders

    @property
    def has_new_names(self) -> bool:
        """True if names of new files are not on stable storage. Nothing in these files is durable before they are."""
        return self._new_names is not None

    def file_made(self, segment: Segment, names: NewNames) -> None:
        """Note that `segment` got its file; `names` have to be synced before any record in it is durable."""
        segment.name_is_synced = False
        known = self._new_names
        self._new_names = names if known is None else known.and_(names)

    def doubt_names(self) -> None:
        """Note that files found at the start may have names that were never synced, so that the next append has to sync
        them.
        """
        if self._segments.all():
            self._new_names = names_of(self._folder)
            for segment in self._segments.all():
                segment.name_is_synced = False

    def take_new_names(self) -> NewNames | None:
        """Return the names that the caller has to sync, after which it calls `names_synced`; None if there are none."""
        names, self._new_names = self._new_names, None
        return names

    def names_synced(self, upto: Segment) -> None:
        """Note that the names of the folder, and of its segments up to this one (inclusive), are on stable storage."""
        for segment in self._segments.all():
            if segment.base_offset <= upto.base_offset:
                segment.name_is_synced = True

    # -- what segments hold

    def synced_to(self, segment: Segment, end_offset: int) -> None:
        """Note that `segment` is on stable storage below `end_offset` (exclusive)."""
        segment.synced_end = max(segment.synced_end, end_offset)
        self.synced_offset = self._segments.behind_missing(self.synced_offset)
        for each in self._segments.from_offset(self.synced_offset):
            if not each.name_is_synced:
                return
            if each.base_offset <= self.synced_offset < each.synced_end:
                self.synced_offset = self._segments.behind_missing(each.synced_end)

    def move_recovery_point(self) -> None:
        """Move the recovery point to the first segment that may not be on stable storage, at most to the last
        segment.
        """
        segments = self._segments.all()
        for segment in segments:
            if segment.synced < segment.size or segment is segments[-1]:
                self.recovery_point = max(self.recovery_point, segment.base_offset)
                return

    def size_after_failed_sync(self, active: Segment, high_watermark: int, *, every_flush: bool) -> int | None:
        """Return how many bytes of the active segment count after a failed sync; None if all written bytes do.

        The bytes of a failed sync are not on stable storage, and no later sync writes them: Linux reports the
        failure only once. A start would still read them from the page cache. So they do not count if appends were to
        be answered after that sync. That is so with `every_flush`, and in a file whose name was not synced either
        (all of it is above `high_watermark`).
        """
        if every_flush:
            return active.synced
        return 0 if high_watermark <= active.base_offset else None

    # -- what is promised

    def manifest_row(self, topic_id: bytes, log_start_offset: int) -> LogRow:
        """Return the log's present row of the manifest."""
        bases = [segment.base_offset for segment in self._segments.all() if segment.exists]
        return LogRow(
            topic_id,
            log_start_offset,
            bases[-1] if bases else NO_SEGMENT,
            self.synced_offset,
            UNKNOWN_CHAIN if self._segments.any_lost() else chain_of(bases),
        )
