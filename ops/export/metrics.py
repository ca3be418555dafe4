"""The metrics of `shareq export`. Metrics that a broker of shareq has as well have the same names and meanings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

from shareq.ops.export.sample import MANY_DELIVERIES, PartitionSample, Sample

Rows: TypeAlias = Iterable[tuple[tuple[str, ...], float | None]]
"""Values of labels, each with the value of a sample; None for an absent sample."""


class Exported(NamedTuple):
    """A gauge. `samples` reads its values from a sample of the cluster."""

    name: str
    labels: tuple[str, ...]
    text: str
    samples: Callable[[Sample], Rows] = lambda _: ()


def _of_partitions(value: Callable[[PartitionSample], float | None]) -> Callable[[Sample], Rows]:
    return lambda sample: [(place, value(one)) for place, one in _places(sample)]


def _places(sample: Sample) -> Iterable[tuple[tuple[str, ...], PartitionSample]]:
    return (((group, topic, str(number)), one) for (group, topic, number), one in sample.partitions.items())


def _written(sample: Sample) -> Rows:
    return [((*place, state), count) for place, one in _places(sample) for state, count in sorted(one.offsets.items())]


def _retried(sample: Sample) -> Rows:
    counts = range(1, MANY_DELIVERIES + 1)
    return [
        ((*place, str(count)), one.retried.get(count, 0))
        for place, one in _places(sample)
        if one.retried
        for count in counts
    ]


_PLACE: Final = ("group", "topic", "partition")

UP: Final = Exported(
    "shareq_export_up", (), "1 if the last sample was taken; 0 if not: all other metrics are then absent."
)
TAKEN_AT: Final = Exported("shareq_export_sample_timestamp_seconds", (), "The time at which the last sample was taken.")
TOOK: Final = Exported("shareq_export_sample_duration_seconds", (), "The duration of taking the last sample.")
OF_SAMPLES: Final = (
    Exported(
        "shareq_export_has_states",
        (),
        "1 if the log of states is read; 0 if not: offsets by state and by deliveries are absent.",
        lambda sample: [((), sample.has_states)],
    ),
    Exported(
        "shareq_export_left_out_groups",
        (),
        "Groups beyond the limit of 5,000 share partitions.",
        lambda sample: [((), sample.left_out)],
    ),
    Exported(
        "shareq_share_group_members",
        ("group",),
        "Members of a share group.",
        lambda sample: [((group,), count) for group, count in sample.members.items()],
    ),
    Exported(
        "shareq_share_partition_lag",
        _PLACE,
        "Records whose delivery is not finished; absent before the group has begun.",
        _of_partitions(lambda one: one.lag),
    ),
    Exported(
        "shareq_share_partition_start_offset",
        _PLACE,
        "The first offset whose delivery is not finished; absent before the group has begun.",
        _of_partitions(lambda one: one.start),
    ),
    Exported(
        "shareq_share_partition_first_record_timestamp_seconds",
        _PLACE,
        "The time of the record at the start offset; absent without lag.",
        _of_partitions(lambda one: one.first_record_s),
    ),
    Exported(
        "shareq_share_partition_written_offsets",
        (*_PLACE, "state"),
        "Offsets from the start offset on whose state is written, by state.",
        _written,
    ),
    Exported(
        "shareq_share_partition_retried_offsets",
        (*_PLACE, "deliveries"),
        "Unfinished offsets by the deliveries that failed; 5 stands for 5 or more.",
        _retried,
    ),
    Exported(
        "shareq_dead_letter_queue_letters",
        ("queue",),
        "Offsets in the logs of a dead-letter queue.",
        lambda sample: [((queue,), count) for queue, count in sample.letters.items()],
    ),
)
EXPORTED: Final = (UP, TAKEN_AT, TOOK, *OF_SAMPLES)
