from __future__ import annotations

from typing import cast

import pytest

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.promises.manifest import NO_SEGMENT, UNKNOWN_CHAIN, LogRow, chain_of
from shareq.broker.log.promises.new_names import NewNames, names_of, segment_names
from shareq.broker.log.promises.stable_storage import StableStorage
from shareq.broker.log.segments.damage import DamagedRange
from shareq.broker.log.segments.files import FilePool, Segment
from shareq.broker.log.segments.segment_list import SegmentList

FOLDER = "data/orders-0"
TOPIC_ID = bytes(range(16))


class Log:
    """Segments of ten offsets and 100 bytes each, just written."""

    def __init__(self, *bases: int, start: int = 0) -> None:
        self.segments = SegmentList()
        self.stable = StableStorage(FOLDER, self.segments, start)
        for base in bases:
            self.add(base)

    def add(self, base: int) -> Segment:
        segment = Segment(FilePool(cast("Fs", None)), FOLDER, base, 100, 4096)
        segment.exists, segment.synced = True, 0
        if len(self.segments):
            self.segments.all()[-1].end_offset = base
        self.segments.add(segment)
        return segment

    def __getitem__(self, at: int) -> Segment:
        return self.segments.all()[at]


# -- up to where records are on stable storage


def test_nothing_is_synced_of_a_log_that_was_only_written() -> None:
    log = Log(0, 10, start=0)
    assert (log.stable.synced_offset, log.stable.recovery_point) == (0, 0)
    assert not log.stable.has_new_names


def test_a_sync_counts_up_to_what_was_written_when_it_began() -> None:
    log = Log(0)
    log.stable.synced_to(log[0], 4)
    assert log.stable.synced_offset == 4
    log.stable.synced_to(log[0], 9)
    assert log.stable.synced_offset == 9


def test_an_older_sync_that_ends_later_takes_nothing_back() -> None:
    log = Log(0)
    log.stable.synced_to(log[0], 9)
    log.stable.synced_to(log[0], 4)
    assert (log.stable.synced_offset, log[0].synced_end) == (9, 9)


def test_a_later_segment_counts_once_all_before_it_are_synced() -> None:
    log = Log(0, 10, 20)
    log.stable.synced_to(log[2], 25)
    log.stable.synced_to(log[0], 10)
    assert log.stable.synced_offset == 10
    log.stable.synced_to(log[1], 20)
    assert log.stable.synced_offset == 25


def test_offsets_that_no_segment_has_are_passed() -> None:
    log = Log(0, 20)
    log.segments.missing.append(DamagedRange(10, 20, 0, 0, "missing"))
    log.stable.synced_to(log[0], 10)
    assert log.stable.synced_offset == 20
    log.stable.synced_to(log[1], 23)
    assert log.stable.synced_offset == 23


def test_a_log_that_begins_with_missing_offsets() -> None:
    log = Log(20, start=0)
    log.segments.missing.append(DamagedRange(0, 20, 0, 0, "missing"))
    log.stable.synced_to(log[0], 22)
    assert log.stable.synced_offset == 22


# -- names


def test_what_is_in_a_file_counts_once_its_name_is_synced() -> None:
    log = Log(0)
    log.stable.file_made(log[0], names_of(FOLDER))
    log.stable.synced_to(log[0], 5)
    assert log.stable.synced_offset == 0
    assert log.stable.take_new_names() == names_of(FOLDER)
    log.stable.names_synced(log[0])
    log.stable.synced_to(log[0], 5)
    assert log.stable.synced_offset == 5


def test_names_are_taken_once_and_each_path_is_named_once() -> None:
    log = Log(0, 10)
    log.stable.file_made(log[0], names_of(FOLDER))
    log.stable.file_made(log[1], segment_names(FOLDER))
    assert log.stable.has_new_names
    names = log.stable.take_new_names()
    assert names == names_of(FOLDER)
    assert set(segment_names(FOLDER).files) <= set(names.files)
    assert not log.stable.has_new_names
    assert log.stable.take_new_names() is None


def test_names_made_during_a_sync_of_names_are_not_synced_by_it() -> None:
    log = Log(0)
    log.stable.file_made(log[0], NewNames(["a"], [FOLDER]))
    log.stable.take_new_names()
    log.stable.file_made(log.add(10), NewNames(["b"], [FOLDER]))
    log.stable.names_synced(log[0])
    assert (log[0].name_is_synced, log[1].name_is_synced) == (True, False)
    assert log.stable.take_new_names() == NewNames(["b"], [FOLDER])


def test_found_files_are_doubted_together_with_their_folder() -> None:
    log = Log(0, 10)
    log.stable.doubt_names()
    assert not any(segment.name_is_synced for segment in log.segments.all())
    assert log.stable.take_new_names() == names_of(FOLDER)


def test_without_files_there_is_no_name_to_doubt() -> None:
    log = Log()
    log.stable.doubt_names()
    assert not log.stable.has_new_names


# -- what a start need not read again


def test_the_recovery_point_stops_at_the_first_segment_with_unsynced_bytes() -> None:
    log = Log(0, 10, 20, 30)
    for at in (0, 2):
        log[at].synced = log[at].size
    log.stable.move_recovery_point()
    assert log.stable.recovery_point == 10
    log[1].synced = log[1].size
    log.stable.move_recovery_point()
    assert log.stable.recovery_point == 30


def test_the_recovery_point_never_passes_the_last_segment_nor_moves_back() -> None:
    log = Log(0, 10)
    for segment in log.segments.all():
        segment.synced = segment.size
    log.stable.move_recovery_point()
    assert log.stable.recovery_point == 10
    log[0].synced = 0
    log.stable.move_recovery_point()
    assert log.stable.recovery_point == 10


# -- a sync that failed


@pytest.mark.parametrize("high_watermark", [0, 10, 15])
def test_where_every_append_waits_for_its_sync_what_was_synced_is_kept(high_watermark: int) -> None:
    log = Log(10)
    log[0].synced = 40
    assert log.stable.size_after_failed_sync(log[0], high_watermark, every_flush=True) == 40


def test_nothing_is_kept_of_a_file_in_which_nothing_counts() -> None:
    log = Log(10)
    log[0].synced = 40
    assert log.stable.size_after_failed_sync(log[0], 10, every_flush=False) == 0


def test_what_was_answered_for_without_a_sync_is_kept() -> None:
    log = Log(10)
    assert log.stable.size_after_failed_sync(log[0], 11, every_flush=False) is None


# -- the row of the manifest


def test_an_empty_log_promises_its_start() -> None:
    log = Log(start=7)
    assert log.stable.manifest_row(TOPIC_ID, 7) == LogRow(TOPIC_ID, 7, NO_SEGMENT, 7, chain_of([]))


def test_a_segment_without_a_file_is_not_promised() -> None:
    log = Log(0, 10, 20)
    log[2].exists = False
    log.stable.synced_to(log[0], 10)
    assert log.stable.manifest_row(TOPIC_ID, 3) == LogRow(TOPIC_ID, 3, 10, 10, chain_of([0, 10]))


def test_a_log_with_losses_does_not_say_which_segments_it_has() -> None:
    log = Log(0, 10)
    log[0].damaged.append(DamagedRange(3, 5, 30, 50, "CRC does not match"))
    assert log.stable.manifest_row(TOPIC_ID, 0).chain == UNKNOWN_CHAIN
