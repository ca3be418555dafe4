"""The plan of a micro-batch: its ranges become tasks that read them.

Pure: the same offset is planned alike every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Final, NamedTuple

from shareq.spark.offsets import BatchRange, SharePartition

NEAR: Final = 1_000
"""The gap up to which one fetch reads two ranges, and discards the offsets between them."""


class TaskRanges(NamedTuple):
    """The ranges that one task reads: ascending, of one partition. Picklable."""

    key: SharePartition
    ranges: tuple[BatchRange, ...]

    @property
    def records(self) -> int:
        """The number of offsets in the ranges."""
        return sum(last - first + 1 for first, last, _ in self.ranges)


def plan(
    batch: Mapping[SharePartition, Sequence[BatchRange]],
    *,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> list[TaskRanges]:
    """Return one task per partition; more if either limit requires it.

    `max_records_per_partition` bounds the offsets of a task. With `min_partitions` there are that many tasks at least,
    or one for each offset: the partitions are cut in proportion to their offsets.
    """
    whole = [TaskRanges(key, tuple(ranges)) for key, ranges in sorted(batch.items()) if ranges]
    tasks = [part for task in whole for part in _bounded(task, max_records_per_partition)]
    if not tasks or min_partitions is None or len(tasks) >= min_partitions:
        return tasks
    return [
        part for task, parts in zip(tasks, _shares(tasks, min_partitions), strict=True) for part in _cut(task, parts)
    ]


def runs(ranges: Iterable[BatchRange], near: int = NEAR) -> Iterator[tuple[BatchRange, ...]]:
    """Group ascending ranges so that one fetch reads each group: fewer than `near` offsets lie between neighbours."""
    group: list[BatchRange] = []
    for found in ranges:
        if group and found.first - group[-1].last > near:
            yield tuple(group)
            group = []
        group.append(found)
    if group:
        yield tuple(group)


def _bounded(task: TaskRanges, most: int | None) -> Iterator[TaskRanges]:
    return _cut(task, 1 if most is None else -(-task.records // most))


def _shares(tasks: Sequence[TaskRanges], wanted: int) -> list[int]:
    """Return into how many parts to cut each task, so that there are `wanted` parts and the largest is as small as can
    be.
    """
    total = sum(task.records for task in tasks)
    shares = [max(1, task.records * wanted // total) for task in tasks]
    left = wanted - sum(shares)
    largest = [(-task.records / share, at) for at, (task, share) in enumerate(zip(tasks, shares, strict=True))]
    heapify(largest)
    for _ in range(left):
        at = largest[0][1]
        shares[at] += 1
        heapreplace(largest, (-tasks[at].records / shares[at], at))
    return shares


def _cut(task: TaskRanges, parts: int) -> Iterator[TaskRanges]:
    """Cut a task into `parts` (fewer if it has fewer offsets) that differ by one offset at most."""
    total = task.records
    parts = min(parts, total)
    if parts == 1:
        yield task
        return
    rest = list(reversed(task.ranges))
    taken = 0
    for part in range(1, parts + 1):
        wanted = total * part // parts - taken
        taken += wanted
        ranges = []
        while wanted:
            first, last, count = rest.pop()
            end = min(last, first + wanted - 1)
            ranges.append(BatchRange(first, end, count))
            wanted -= end - first + 1
            if end < last:
                rest.append(BatchRange(end + 1, last, count))
        yield TaskRanges(task.key, tuple(ranges))
