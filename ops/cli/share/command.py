"""`shareq share`: share groups, and the records that they deliver."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Annotated, NamedTuple

import click

from shareq.client.admin.calls import Outcome, Partition, only
from shareq.client.core.list_offsets import LATEST
from shareq.client.errors import BrokerError, ClientError
from shareq.client.fetch import OffsetsGone, RangeFetcher
from shareq.client.reader import Reader
from shareq.client.share.range_consumer import AckRange, AcquiredRange, ShareRangeConsumer
from shareq.ops.cli.groups.shared import (
    Described,
    GroupInfo,
    Kind,
    MemberRow,
    Position,
    add_commands,
    assignment,
    described_rows,
    existing,
)
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.records.text import RecordRow, line_of, read_to_end, record_row
from shareq.ops.cli.share.pauses import add_pauses
from shareq.ops.cli.share.record_states import add_records
from shareq.ops.cli.share.windows import draw_windows
from shareq.ops.cli.shared.api import api_options, records_api
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group
from shareq.ops.cli.shared.exits import USAGE, exit_with
from shareq.protocol.names import AUTO_OFFSET_RESET
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.share import AcknowledgeType

command = cluster_group("share")


class ShareKind:
    """Share groups, as the commands see them."""

    word = "share group"
    types: tuple[str, ...] = ("share",)

    def describe(self, session: Session, ids: Iterable[str]) -> Iterator[tuple[str, Outcome[Described]]]:
        for name, each in session.admin.share_groups.describe(ids):
            if isinstance(each, ClientError):
                yield name, each
                continue
            members = [
                MemberRow(
                    group=name,
                    member=one.member_id,
                    client=one.client_id,
                    host=one.host,
                    instance=None,
                    epoch=one.epoch,
                    assignment=assignment(one),
                )
                for one in each.members
            ]
            yield name, Described("share", each.state, each.epoch, each.assignor, tuple(members))

    def positions(
        self, session: Session, ids: Iterable[str], ends: bool
    ) -> Iterator[tuple[str, Outcome[dict[Partition, Outcome[Position]]]]]:
        for name, outcome in session.admin.share_groups.offsets(ids):
            if isinstance(outcome, ClientError):
                yield name, outcome
                continue
            last = session.admin.topics.offsets(dict.fromkeys(outcome, LATEST)) if ends else {}
            rows: dict[Partition, Outcome[Position]] = {}
            for partition, each in outcome.items():
                end = last.get(partition)
                known = None if end is None or isinstance(end, ClientError) else end.offset
                rows[partition] = each if isinstance(each, ClientError) else Position(each.start, known, each.lag)
            yield name, rows

    def paused(self, session: Session, ids: Iterable[str]) -> Mapping[str, bool | None]:
        return session.admin.share_groups.paused(ids)

    def explain(self, session: Session, group: str, positions: Mapping[Partition, Outcome[Position]]) -> None:
        """Explain why a group has no lag in partitions where it has not begun, if it begins at their end."""
        if all(isinstance(each, ClientError) or (each.offset, each.lag) != (None, None) for each in positions.values()):
            return
        for _, outcome in session.admin.configs.describe([("group", group)], [AUTO_OFFSET_RESET]):
            if not isinstance(outcome, ClientError) and any(each.value == "latest" for each in outcome):
                session.notes.append(
                    f"{group} begins at the end of partitions it has not begun, at its first fetch: "
                    f"{AUTO_OFFSET_RESET} is latest; "
                    f"for all records: shareq configs alter group {group} --set {AUTO_OFFSET_RESET}=earliest"
                )

    def alter(self, session: Session, group: str, offsets: Mapping[Partition, int]) -> dict[Partition, Outcome[int]]:
        return session.admin.share_groups.alter_offsets(group, offsets)

    def forget(self, session: Session, group: str, topics: tuple[str, ...]) -> dict[str, Outcome[bool]]:
        return session.admin.share_groups.delete_offsets(group, topics)


_KIND: Kind = ShareKind()
add_commands(command, _KIND, "share")
add_records(command)
add_pauses(command)


@cluster_command(
    command,
    "describe",
    "  shareq share describe packers\n"
    "  shareq share describe packers --plot --api http://127.0.0.1:9465 --api-token-file operator.token",
    row=GroupInfo,
)
@click.argument("groups", metavar="GROUP...", nargs=-1, required=True)
@click.option("--plot", "plots", is_flag=True, help="Also draw the records in flight of each partition.")
@api_options
def describe(
    session: Session, groups: tuple[str, ...], plots: bool, api: str | None, api_token_file: str | None
) -> Iterator[GroupInfo]:
    """Show state, members and lag of share groups, and whether they are paused; with --plot also the records in flight.

    A plot is a strip for each share partition, in which each letter represents the same number of offsets. With
    shareq's records API it shows the leader's state; otherwise, the state stored in __share_group_state.
    """
    if plots and session.as_json:
        exit_with(USAGE, "share describe: --plot is for people; shareq share records --json has the same for programs")
    found = records_api(session, api, api_token_file)
    if not plots:
        return described_rows(session, _KIND, groups)
    rows = list(described_rows(session, _KIND, groups))
    session.afterwards = lambda: draw_windows(session, found, [row.group for row in rows if row.partitions])
    return iter(rows)


class SharedRecordRow(NamedTuple):
    group: Annotated[str, "The share group."]
    delivery: Annotated[int, "How often it was delivered, this time included."]
    outcome: Annotated[str, "accept, release or reject; failed if the broker refused that, or the lock was lost."]
    record: Annotated[RecordRow, "The record."]


_VERDICTS = {
    "accept": AcknowledgeType.ACCEPT,
    "release": AcknowledgeType.RELEASE,
    "reject": AcknowledgeType.REJECT,
}


def _shared_line(row: SharedRecordRow) -> str:
    return line_of(row.record, f"delivery {row.delivery}", row.outcome)


@cluster_command(
    command,
    "consume",
    "  shareq share consume packers --topic orders\n  shareq share consume packers --topic orders -n 1 --then release",
    row=SharedRecordRow,
    shape="stream",
    line=_shared_line,
)
@click.argument("group")
@click.option("--topic", "topics", metavar="TOPIC", multiple=True, required=True, help="The topic to read. Repeatable.")
@click.option("--max-records", "-n", type=click.IntRange(1), help="End after this many records.")
@click.option("--then", "verdict", type=click.Choice(tuple(_VERDICTS)), default="accept", show_default=True)
@click.option(
    "--idle",
    "idle_s",
    metavar="SECONDS",
    type=float,
    default=10.0,
    show_default=True,
    help="End after this time without a record.",
)
def consume(
    session: Session, group: str, topics: tuple[str, ...], max_records: int | None, verdict: str, idle_s: float
) -> Iterator[SharedRecordRow]:
    """Take records as a member of a share group, and accept, release or reject each.

    Each record is acknowledged first and then printed, with the outcome. A new group begins at the end of its topics,
    unless shareq configs alter group NAME --set share.auto.offset.reset=earliest came before.
    """
    session.network.topic_ids(topics)
    fetcher = RangeFetcher(session.config)
    left = max_records
    try:
        taken = 0
        with ShareRangeConsumer(session.config, group, topics) as member, Progress(beside_output=True) as progress:
            while left is None or left > 0:
                acquired = member.poll(
                    max_records=min(500, left or 500), max_wait_ms=round(idle_s * 1000), strict=left is not None
                )
                if not acquired:
                    return
                for one in acquired:
                    progress.show(f"{taken:,} records")
                    count = yield from _of_range(session, member, fetcher, group, one, verdict)
                    taken += count
                    left = None if left is None else left - count
    finally:
        fetcher.close()


def _of_range(
    session: Session,
    member: ShareRangeConsumer,
    fetcher: RangeFetcher,
    group: str,
    acquired: AcquiredRange,
    verdict: str,
) -> Generator[SharedRecordRow, None, int]:
    """Yield the records of a range, each after its acknowledgement. Return their number."""
    topic_id, topic, number, first, last = (
        acquired.topic_id,
        acquired.topic,
        acquired.partition,
        acquired.first,
        acquired.last,
    )
    rows: list[RecordRow] = []
    try:
        for part in fetcher.fetch(topic_id, topic, number, first, last):
            for at, header in batch_headers(part.data):
                if not header.is_control:
                    records = decode_records(part.data[at : at + header.size], first=first, last=last)
                    rows += [record_row(topic, number, each) for each in records]
    except OffsetsGone as error:
        session.failed(error)
    (_, code), *more = member.acknowledge([AckRange(topic_id, number, first, last)], _VERDICTS[verdict])
    failed = next((each for each in (code, *(one for _, one in more)) if each), None)
    if failed is not None:
        session.failed(BrokerError(failed, f"acknowledge {topic}-{number} {first} to {last}"))
    outcome = verdict if failed is None else "failed"
    for row in rows:
        yield SharedRecordRow(group, acquired.delivery_count, outcome, row)
    return len(rows)


class PeekRow(NamedTuple):
    group: Annotated[str, "The share group."]
    record: Annotated[RecordRow, "The record."]


@cluster_command(
    command,
    "peek",
    "  shareq share peek packers\n  shareq share peek packers --topic orders -n 3 --json",
    row=PeekRow,
    shape="stream",
    line=lambda row: line_of(row.record),
)
@click.argument("group")
@click.option("--topic", "topics", metavar="TOPIC", multiple=True, help="Only these topics. Repeatable.")
@click.option(
    "--max-records",
    "-n",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="The number of records of each partition.",
)
def peek(session: Session, group: str, topics: tuple[str, ...], max_records: int) -> Iterator[PeekRow]:
    """Show the next records of a share group, from its start offsets on, without acquiring any.

    Some of it may be done with, or locked by a member: brokers do not say. No delivery is counted.
    """
    if not list(existing(session, _KIND, [group])):
        return
    positions = only(dict(session.admin.share_groups.offsets([group])), group)
    at: dict[Partition, int] = {}
    for partition, each in session.succeeded(sorted(positions.items())):
        if each.start is not None and (not topics or partition[0] in topics):
            at[partition] = each.start
    last = session.admin.topics.offsets(dict.fromkeys(at, LATEST))
    ends = {each: end.offset or 0 for each, end in last.items() if not isinstance(end, ClientError)}
    reader = Reader(session.network, {each: at[each] for each in ends})
    for found in read_to_end(reader, ends, max_records):
        yield PeekRow(group, record_row(*found))
