"""Ranges become tasks: by partition, split on request, with exactly the same records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shareq.spark.offsets import BatchRange, SharePartition
from shareq.spark.planning import TaskRanges, plan, runs

ID = b"i" * 16


def key(partition: int) -> SharePartition:
    return SharePartition("flights", ID, partition)


def offsets(tasks: list[TaskRanges]) -> list[tuple[int, int, int]]:
    return [
        (task.key.partition, offset, count)
        for task in tasks
        for first, last, count in task.ranges
        for offset in range(first, last + 1)
    ]


def test_one_task_for_each_partition_that_has_records() -> None:
    tasks = plan({key(1): [BatchRange(0, 9, 1)], key(0): [BatchRange(3, 4, 1), BatchRange(9, 9, 2)], key(2): []})
    assert [(task.key.partition, task.records) for task in tasks] == [(0, 3), (1, 10)]


def test_nothing_to_read_needs_no_task() -> None:
    assert plan({}, min_partitions=8, max_records_per_partition=5) == []


def test_max_records_per_partition_cuts_evenly_and_through_ranges() -> None:
    tasks = plan({key(0): [BatchRange(0, 3, 1), BatchRange(10, 15, 2)]}, max_records_per_partition=4)
    assert [task.ranges for task in tasks] == [
        (BatchRange(0, 2, 1),),
        (BatchRange(3, 3, 1), BatchRange(10, 11, 2)),
        (BatchRange(12, 15, 2),),
    ]


def test_min_partitions_cuts_in_proportion() -> None:
    tasks = plan({key(0): [BatchRange(0, 89, 1)], key(1): [BatchRange(0, 9, 1)]}, min_partitions=10)
    assert [(task.key.partition, task.records) for task in tasks] == [(0, 10)] * 9 + [(1, 10)]


def test_min_partitions_leaves_no_part_out_by_rounding() -> None:
    ranges = {key(partition): [BatchRange(0, 59, 1)] for partition in range(3)}
    assert [task.records for task in plan(ranges, min_partitions=4)] == [30, 30, 60, 60]
    assert len(plan(ranges, min_partitions=4, max_records_per_partition=60)) == 4


def test_min_partitions_is_met_already() -> None:
    assert len(plan({key(0): [BatchRange(0, 9, 1)], key(1): [BatchRange(0, 9, 1)]}, min_partitions=2)) == 2


def test_more_partitions_than_records() -> None:
    assert len(plan({key(0): [BatchRange(0, 2, 1)]}, min_partitions=100)) == 3


@given(
    sizes=st.dictionaries(st.integers(0, 3), st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), max_size=4)),
    min_partitions=st.none() | st.integers(1, 30),
    most=st.none() | st.integers(1, 30),
)
def test_whatever_is_asked_for_each_record_is_in_one_task(
    sizes: dict[int, list[tuple[int, int]]], min_partitions: int | None, most: int | None
) -> None:
    batch = {}
    for partition, pairs in sizes.items():
        ranges, first = [], 0
        for count, gap in pairs:
            ranges.append(BatchRange(first, first + count - 1, gap))
            first += count + gap
        batch[key(partition)] = ranges
    tasks = plan(batch, min_partitions=min_partitions, max_records_per_partition=most)
    assert offsets(tasks) == offsets([TaskRanges(found, tuple(ranges)) for found, ranges in sorted(batch.items())])
    assert all(task.ranges for task in tasks)
    assert most is None or all(task.records <= most for task in tasks)
    assert len(tasks) >= min(min_partitions or 0, sum(task.records for task in tasks))
    assert tasks == plan(batch, min_partitions=min_partitions, max_records_per_partition=most)


def test_near_ranges_are_one_fetch_and_far_ones_are_two() -> None:
    ranges = [BatchRange(0, 9, 1), BatchRange(11, 20, 1), BatchRange(500, 501, 1), BatchRange(510, 511, 1)]
    assert list(runs(ranges, near=100)) == [tuple(ranges[:2]), tuple(ranges[2:])]
    assert list(runs([])) == []
