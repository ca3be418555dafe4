"""`shareq topics`: list, describe, create, alter, delete, trim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, NamedTuple

import click

from shareq.client.admin.calls import batched, only
from shareq.client.admin.configs import Change
from shareq.client.admin.topics import NewTopic, TopicInfo
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import BrokerError, ClientError
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option, yes_option
from shareq.ops.cli.shared.exits import USAGE, exit_with, pairs
from shareq.ops.cli.shared.where import FORMS, offsets_of, partitions_of, place
from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import uuid_to_text

command = cluster_group("topics")


class TopicRow(NamedTuple):
    topic: Annotated[str, "Its name."]
    topic_id: Annotated[str, "Its id, in URL-safe base64 as Kafka's tools print it."]
    partitions: Annotated[int, "How many it has."]
    replication_factor: Annotated[int, "Replicas of its first partition."]
    internal: Annotated[bool, "Whether it belongs to the brokers."]


class TopicPartitionRow(NamedTuple):
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    leader: Annotated[int | None, "Node id of its leader; null without one."]
    replicas: Annotated[tuple[int, ...], "Node ids of its replicas."]
    in_sync: Annotated[tuple[int, ...], "Node ids of the replicas in sync."]
    start: Annotated[int | None, "The first offset of the log; null where it cannot be had."]
    end: Annotated[int | None, "The high watermark: the offset after the last record that can be read."]


class TopicChangeRow(NamedTuple):
    topic: Annotated[str, "The topic."]
    partitions: Annotated[int | None, "Its partitions; null where the cluster does not say."]
    done: Annotated[bool, "False with --dry-run."]


class TrimRow(NamedTuple):
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    start: Annotated[int, "The first offset that is left."]
    done: Annotated[bool, "False with --dry-run."]


@cluster_command(
    command,
    "list",
    "  shareq topics list\n  shareq topics list 'orders*' --json",
    row=TopicRow,
    columns=("topic", "partitions", "replication_factor", "internal"),
    empty="no topics",
)
@click.argument("patterns", metavar="[NAME]...", nargs=-1)
@click.option("--internal", is_flag=True, help="Include the brokers' internal topics.")
def list_topics(session: Session, patterns: tuple[str, ...], internal: bool) -> Iterator[TopicRow]:
    """List topics, by name; * and ? in a NAME match any text and one character."""
    for topic in session.admin.topics.all():
        if (internal or not topic.internal) and (not patterns or any(fnmatchcase(topic.name, one) for one in patterns)):
            replicas = len(topic.partitions[0].replicas) if topic.partitions else 0
            yield TopicRow(topic.name, uuid_to_text(topic.topic_id), len(topic.partitions), replicas, topic.internal)


@cluster_command(command, "describe", "  shareq topics describe orders", row=TopicPartitionRow)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
def describe(session: Session, topics: tuple[str, ...]) -> Iterator[TopicPartitionRow]:
    """Show the partitions of topics: leaders, replicas, first and last offsets.

    Properties are shown by shareq configs describe topic NAME.
    """
    for _, topic in session.succeeded(session.admin.topics.describe(topics)):
        yield from _partitions(session, topic)


def _partitions(session: Session, topic: TopicInfo) -> Iterator[TopicPartitionRow]:
    led = [(topic.name, each.partition) for each in topic.partitions if each.leader is not None]
    starts = session.admin.topics.offsets(dict.fromkeys(led, EARLIEST))
    ends = session.admin.topics.offsets(dict.fromkeys(led, LATEST))
    for each in topic.partitions:
        start, end = starts.get((topic.name, each.partition)), ends.get((topic.name, each.partition))
        yield TopicPartitionRow(
            topic=topic.name,
            partition=each.partition,
            leader=each.leader,
            replicas=each.replicas,
            in_sync=each.in_sync,
            start=None if start is None or isinstance(start, ClientError) else start.offset,
            end=None if end is None or isinstance(end, ClientError) else end.offset,
        )


@cluster_command(
    command,
    "create",
    "  shareq topics create orders --partitions 3\n  shareq topics create audit --set retention.ms=-1 --if-not-exists",
    row=TopicChangeRow,
)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@click.option("--partitions", "-p", type=click.IntRange(1), help="The number of partitions [default: the broker's].")
@click.option(
    "--replication-factor", "-r", type=click.IntRange(1), help="The number of replicas [default: the broker's]."
)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A property. Repeatable.")
@click.option("--if-not-exists", is_flag=True, help="Do not fail for a topic that exists.")
@dry_run_option
def create(
    session: Session,
    topics: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    settings: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
) -> Iterator[TopicChangeRow]:
    """Create topics."""
    configs = pairs("--set", settings)
    new = [NewTopic(name, partitions or -1, replication_factor or -1, configs) for name in dict.fromkeys(topics)]
    for name, outcome in session.admin.topics.create(new, dry_run=dry_run).items():
        if not isinstance(outcome, ClientError):
            yield TopicChangeRow(name, outcome.partitions if outcome.partitions >= 0 else None, not dry_run)
        elif not (if_not_exists and _exists(outcome)):
            session.failed(outcome)


def _exists(error: ClientError) -> bool:
    return isinstance(error, BrokerError) and error.code == ErrorCode.TOPIC_ALREADY_EXISTS


@cluster_command(
    command,
    "alter",
    "  shareq topics alter orders --partitions 6\n  shareq topics alter orders --set retention.ms=3600000 --dry-run",
    row=TopicChangeRow,
)
@click.argument("topic")
@click.option("--partitions", "-p", type=click.IntRange(1), help="The new total number of partitions.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A property. Repeatable.")
@click.option("--unset", metavar="KEY", multiple=True, help="A property to reset to its default. Repeatable.")
@dry_run_option
def alter(
    session: Session,
    topic: str,
    partitions: int | None,
    settings: tuple[str, ...],
    unset: tuple[str, ...],
    dry_run: bool,
) -> Iterator[TopicChangeRow]:
    """Add partitions to a topic, or change its properties. Partitions cannot be taken away."""
    change = Change(pairs("--set", settings), unset)
    if partitions is None and not settings and not unset:
        exit_with(USAGE, "topics alter: give --partitions, --set or --unset")
    if settings or unset:
        only(session.admin.configs.alter({("topic", topic): change}, dry_run=dry_run), ("topic", topic))
    if partitions is not None:
        only(session.admin.topics.set_partitions({topic: partitions}, dry_run=dry_run), topic)
    yield TopicChangeRow(topic, partitions, not dry_run)


@cluster_command(
    command,
    "delete",
    "  shareq topics delete orders --dry-run\n  shareq topics delete orders returns --yes",
    row=TopicChangeRow,
)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@yes_option
@dry_run_option
def delete(session: Session, topics: tuple[str, ...], yes: bool, dry_run: bool) -> Iterator[TopicChangeRow]:
    """Delete topics with all their records."""
    found = [topic for _, topic in session.succeeded(session.admin.topics.describe(topics))]
    counts = {topic.name: len(topic.partitions) for topic in found}
    if dry_run or not found:
        yield from (TopicChangeRow(name, count, False) for name, count in counts.items())
        return
    session.confirm(f"delete {', '.join(counts)} with all records", yes)
    done = 0
    with Progress() as progress:
        for some in batched(counts):
            for name, _ in session.succeeded(session.admin.topics.delete(some).items()):
                yield TopicChangeRow(name, counts[name], True)
            done += len(some)
            progress.show(f"{done:,} of {len(counts):,} topics")


@cluster_command(
    command,
    "trim",
    "  shareq topics trim orders --before latest --dry-run\n"
    "  shareq topics trim orders:0 --before 1200 --yes\n"
    "  shareq topics trim orders --before -7d --yes",
    row=TrimRow,
)
@click.argument("topics", metavar="TOPIC[:PARTITION]...", nargs=-1, required=True)
@click.option("--before", metavar="PLACE", required=True, help=f"Remove what is before: {FORMS}.")
@yes_option
@dry_run_option
def trim(session: Session, topics: tuple[str, ...], before: str, yes: bool, dry_run: bool) -> Iterator[TrimRow]:
    """Remove the oldest records of topics."""
    yield from trimmed(
        session, topics, before, f"remove the records before {before} of {', '.join(topics)}", yes=yes, dry_run=dry_run
    )


def trimmed(
    session: Session, topics: Sequence[str], before: str, question: str, *, yes: bool, dry_run: bool
) -> Iterator[TrimRow]:
    """Ask `question`, then remove the records before a place. `topics` are names, or partitions written as topic:0."""
    at = place("--before", before)
    wanted = dict(session.succeeded(offsets_of(session.admin, at, partitions_of(session, topics)).items()))
    if dry_run or not wanted:
        yield from (TrimRow(*partition, offset, False) for partition, offset in sorted(wanted.items()))
        return
    session.confirm(question, yes)
    for partition, start in session.succeeded(sorted(session.admin.topics.trim(wanted).items())):
        yield TrimRow(*partition, start, True)
