"""The plan: the topics that move, and those that do not, with the reasons; decided before any change. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from shareq.client.errors import BrokerError
from shareq.ops.migrate.journal import Journal
from shareq.ops.migrate.ports import LogRange, Partition, Sample, Topic
from shareq.ops.migrate.report import MigrationRow
from shareq.protocol.errors import ErrorCode

_LONGEST: Final = str(2**63 - 1)
_SLACK_BYTES: Final = 1 << 20
"""The bytes by which a batch may grow when it is encoded again."""
STAGING: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "message.timestamp.after.max.ms": _LONGEST,
    "message.timestamp.before.max.ms": _LONGEST,
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "-1",
}
"""Properties of a topic while it is copied: no record is removed, changed, or refused for its time."""
_LARGEST_BATCH: Final = "max.message.bytes"
_OF_A_CLUSTER: Final = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")
"""Properties that name brokers of the source."""
_OWN: Final = ("shareq-migrate.", "__shareq_")
_INTERNAL: Final = ("__consumer_offsets", "__share_group_state", "__transaction_state", "__cluster_metadata")


class PlannedTopic(NamedTuple):
    """A topic that moves. `configs` are the final ones, `left` are those that the target does not accept."""

    source: Topic
    ranges: tuple[LogRange, ...]
    is_new: bool
    configs: Mapping[str, str]
    left: Mapping[str, str]
    sizes: tuple[int | None, ...]

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def partitions(self) -> list[Partition]:
        return [(self.name, number) for number in range(self.source.partitions)]

    def staged(self) -> Topic:
        """Return the topic as it is created."""
        largest = max(self.source.largest_batch, _SLACK_BYTES) + _SLACK_BYTES
        configs = {**self.configs, **STAGING, _LARGEST_BATCH: str(largest)}
        return self.source._replace(topic_id="", configs=configs)

    def final_change(self) -> tuple[dict[str, str], list[str]]:
        """Return the properties to set after the copy, and those to reset to their defaults."""
        staged = {*STAGING, _LARGEST_BATCH}
        return dict(self.configs), sorted(staged - set(self.configs))


def is_wanted(name: str, patterns: Sequence[str]) -> bool:
    """Return True if a name matches a pattern; without patterns, always."""
    return not patterns or any(fnmatchcase(name, each) for each in patterns)


def moves(name: str, is_internal: bool, patterns: Sequence[str]) -> bool:
    """Return True if a topic can move: internal topics cannot, as clusters create their own."""
    if is_internal or name in _INTERNAL or name.startswith(_OWN):
        return False
    return is_wanted(name, patterns)


def refusal(source: Topic, there: Topic | None, ends: Sequence[int], journal: Journal) -> str | None:
    """Return why a topic cannot be copied in the target's present state; None if it can.

    `ends`: the ends of its logs there.
    """
    known = journal.topics.get(source.name)
    if there is None:
        return "it was moved, and was deleted at the target" if known is not None and known.is_final else None
    if known is None:
        return "the target has a topic of this name that this migration has not made"
    if known.topic_id and known.topic_id != there.topic_id:
        return "this migration has made it at the target, and another one has made it again there"
    if there.partitions != source.partitions:
        return f"it has {there.partitions} partitions at the target, and {source.partitions} at the source"
    if not known.topic_id and any(ends):
        return "the target has a topic of this name with records that this migration has not written"
    return None


def taken(topic: Topic, try_to_make: Callable[[Topic], BrokerError | None]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the properties of a topic that the target accepts, and the reasons for refusing the others.

    `try_to_make` has the target check a topic without creating it. Raises refusals for other reasons.
    """
    wanted = {name: value for name, value in topic.configs.items() if name not in _OF_A_CLUSTER}
    left = {name: "names brokers of the source" for name in topic.configs if name in _OF_A_CLUSTER}
    if wanted and _refused(try_to_make(topic._replace(configs=wanted))) is not None:
        for name, value in list(wanted.items()):
            why = _refused(try_to_make(topic._replace(configs={name: value})))
            if why is not None:
                left[name] = why
                del wanted[name]
    return wanted, left


def _refused(error: BrokerError | None) -> str | None:
    if error is None:
        return None
    if error.code != ErrorCode.INVALID_CONFIG:
        raise error
    return error.message or "the target does not know it"


def planned_rows(topic: PlannedTopic) -> list[MigrationRow]:
    """Return the rows of a topic in the plan."""
    note = "" if topic.is_new else "goes on where it was"
    rows = [MigrationRow("topic", topic.name, None, "planned", note=note), *left_rows(topic)]
    for (_, number), found, size in zip(topic.partitions, topic.ranges, topic.sizes, strict=True):
        rows.append(
            MigrationRow(
                "records", topic.name, number, "planned", *found, bytes=size, note="" if found.end else "empty"
            )
        )
    return rows


def total_row(left: int, size: int | None, read: Sample) -> MigrationRow:
    """Return the row of everything still to be copied: `left` offsets, and bytes if the source reports them. The
    remaining time is estimated from the records just read; the target's speed is unknown before it is used.
    """
    row = MigrationRow("total", "", None, "planned", bytes=size)
    if not left:
        return row._replace(bytes=0, note="nothing is left to copy")
    if not read.records:
        return row._replace(note=f"{left:,} offsets, of which none could be read")
    about = "" if size is not None else "about "
    size = round(left * read.size / read.records) if size is None else size
    rate = read.size / max(read.seconds, 0.001)
    note = (
        f"{about}{size / 1e6:,.1f} MB to copy: {size / rate:,.0f} s at least, by {read.size / 1e6:,.1f} MB that were "
        f"read in {read.seconds:.1f} s at the source just now. The target was not tried: a slower one takes longer, "
        "and what it has is read back. The cut-over copies what has come since the last run"
    )
    return row._replace(bytes=size, note=note)


def left_rows(topic: PlannedTopic) -> list[MigrationRow]:
    """Return a row for each property of a topic that does not move."""
    return [
        MigrationRow("config", topic.name, None, "left", note=f"{name}: {why}")
        for name, why in sorted(topic.left.items())
    ]
