"""`shareq dlq`: dead-letter queues, their letters, and redrives."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, NamedTuple

import click

from shareq.client.admin.redrives import Letter, Queue, Redrive, letter_of
from shareq.client.admin.topics import EARLIEST, LATEST
from shareq.client.cli.command import Session, cluster_command, cluster_group, dry_run_option, yes_option
from shareq.client.cli.exits import REFUSED, USAGE, exit_with
from shareq.client.cli.record_text import RecordRow, line_of, read_to_end, record_row
from shareq.client.cli.topics import TrimRow
from shareq.client.cli.where import FORMS, from_option, iso, moment, offsets_of, partitions_of, place
from shareq.client.errors import ClientError
from shareq.client.reader import Reader
from shareq.protocol.generated.start_redrive import StartRedriveRequest

command = cluster_group("dlq", "Dead letters: queues, letters, redrives.")

LOOK_EVERY_S: Final = 0.5


class QueueRow(NamedTuple):
    queue: Annotated[str, "The topic."]
    enabled: Annotated[bool, "Whether groups may use it: errors.deadletterqueue.group.enable."]
    groups: Annotated[tuple[str, ...], "Share groups that name it as theirs."]
    letters: Annotated[int | None, "Offsets in its logs; null of a topic that does not exist (yet)."]


class LetterRow(NamedTuple):
    queue: Annotated[str, "The queue."]
    source_topic: Annotated[str | None, "Topic of the dead record; null where the headers do not say."]
    source_partition: Annotated[int | None, "Its partition."]
    source_offset: Annotated[int | None, "Its offset."]
    group: Annotated[str | None, "The share group in which it died."]
    deliveries: Annotated[int | None, "How often it was delivered."]
    reason: Annotated[str | None, "Why it died."]
    died_ms: Annotated[int | None, "When, in milliseconds; the letter's time where its headers do not say."]
    record: Annotated[RecordRow, "The letter."]


class RedriveRow(NamedTuple):
    redrive: Annotated[str, "Its name."]
    state: Annotated[str, "RUNNING, DONE, CANCELLED or FAILED; PLANNED with --dry-run."]
    queue: Annotated[str, "Where the letters are."]
    target: Annotated[str, "The topic that they go to, or: their topics."]
    left: Annotated[int | None, "Letters that are to be looked at; null with --dry-run."]
    counts: Annotated[Mapping[str, int], "What became of the others: REDRIVEN, FILTERED, or why one stayed."]
    per_second: Annotated[int, "At most so many records a second."]
    owner: Annotated[str | None, "The user that began it."]
    started: Annotated[str | None, "When, in UTC."]
    trouble: Annotated[str | None, "What it waits for, or why it failed."]


@cluster_command(command, "list", "  shareq dlq list", row=QueueRow, empty="no dead-letter queues")
def list_queues(session: Session) -> Iterator[QueueRow]:
    """List dead-letter queues: topics that are enabled as such, and those that share groups name."""
    for queue in session.admin.redrives.queues():
        yield QueueRow(queue.topic, queue.enabled, queue.groups, _letters(session, queue))


def _letters(session: Session, queue: Queue) -> int | None:
    if not queue.exists:
        return None
    partitions = partitions_of(session, [queue.topic])
    starts = session.admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = session.admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    count = 0
    for each in partitions:
        start, end = starts[each], ends[each]
        if isinstance(start, ClientError) or isinstance(end, ClientError):
            return None
        count += (end.offset or 0) - (start.offset or 0)
    return count


def _letter_line(row: LetterRow) -> str:
    source = f"{row.source_topic}-{row.source_partition}:{row.source_offset}" if row.source_topic else "-"
    cells = (source, row.group or "-", f"{row.deliveries or '-'} deliveries", row.reason or "-")
    return "\t".join((line_of(row.record), *cells))


@cluster_command(
    command,
    "show",
    "  shareq dlq show dlq.orders\n"
    "  shareq dlq show dlq.orders --group packers --reason 'Offset rejected by client.' -n 5 --json",
    row=LetterRow,
    shape="stream",
    line=_letter_line,
)
@click.argument("queue", metavar="QUEUE[:PARTITION]")
@from_option
@click.option("--group", help="Only letters of this share group.")
@click.option("--source-topic", metavar="TOPIC", help="Only of records of this topic.")
@click.option("--reason", help="Only with this message, or this disposition.")
@click.option("--max-records", "-n", type=click.IntRange(1), help="End after so many.")
def show(
    session: Session,
    queue: str,
    begin: str,
    group: str | None,
    source_topic: str | None,
    reason: str | None,
    max_records: int | None,
) -> Iterator[LetterRow]:
    """Show dead letters: the letter, and which record died where, in which group, and why."""
    at = place("--from", begin)
    starts = {
        each: offset
        for each, offset in offsets_of(session.admin, at, partitions_of(session, [queue])).items()
        if not isinstance(offset, ClientError)
    }
    last = session.admin.topics.offsets(dict.fromkeys(starts, LATEST))
    ends = {each: end.offset or 0 for each, end in last.items() if not isinstance(end, ClientError)}
    count = 0
    for found in read_to_end(Reader(session.network, starts), ends):
        letter = letter_of(found.record.headers)
        if _is_wanted(letter, group, source_topic, reason):
            died_ms = found.record.timestamp if letter.died_ms is None else letter.died_ms
            said = (letter.topic, letter.partition, letter.offset, letter.group, letter.deliveries, letter.reason)
            yield LetterRow(found.topic, *said, died_ms, record_row(*found))
            count += 1
            if count == max_records:
                return


def _is_wanted(letter: Letter, group: str | None, source_topic: str | None, reason: str | None) -> bool:
    return (
        (group is None or letter.group == group)
        and (source_topic is None or letter.topic == source_topic)
        and (reason is None or reason in (letter.reason, letter.disposition))
    )


def _row(redrive: Redrive) -> RedriveRow:
    return RedriveRow(
        redrive.name,
        redrive.state,
        redrive.queue,
        redrive.target,
        redrive.left,
        redrive.counts,
        redrive.per_second,
        redrive.owner,
        iso(redrive.started_ms),
        redrive.trouble,
    )


_COLUMNS: Final = ("redrive", "state", "queue", "target", "left", "counts", "trouble")


@cluster_command(
    command,
    "redrive",
    "  shareq dlq redrive monday dlq.orders --dry-run\n"
    "  shareq dlq redrive monday dlq.orders --group packers --yes --wait\n"
    "  shareq dlq redrive one dlq.orders:0 --offset 42 --yes",
    row=RedriveRow,
    columns=_COLUMNS,
)
@click.argument("name")
@click.argument("queue", metavar="QUEUE[:PARTITION]")
@click.option("--offset", type=click.IntRange(0), help="One letter, by its offset in the partition.")
@click.option("--group", help="Only letters of this share group.")
@click.option("--source-topic", metavar="TOPIC", help="Only of records of this topic.")
@click.option("--reason", help="Only with this message, or this disposition.")
@click.option("--died-from", metavar="TIME", help="Only of records that died then or later.")
@click.option("--died-until", metavar="TIME", help="Only of records that died before.")
@click.option("--to-group", is_flag=True, help="To the topic redrive.GROUP, which --group alone reads.")
@click.option(
    "--per-second", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="At most so many."
)
@click.option("--wait", is_flag=True, help="Until it is over.")
@yes_option
@dry_run_option
def redrive(
    session: Session,
    name: str,
    queue: str,
    offset: int | None,
    group: str | None,
    source_topic: str | None,
    reason: str | None,
    died_from: str | None,
    died_until: str | None,
    to_group: bool,
    per_second: int,
    wait: bool,
    yes: bool,
    dry_run: bool,
) -> Iterator[RedriveRow]:
    """Send dead letters back, in the background, each once. Each NAME serves once. Only shareq can do it.

    Letters go to the topics they are from, and stay in the queue. shareq dlq redrives shows how far it is.
    """
    if to_group and group is None:
        exit_with(USAGE, "dlq redrive: --to-group needs --group")
    died_from_ms = -1 if died_from is None else moment("--died-from", died_from)
    died_until_ms = -1 if died_until is None else moment("--died-until", died_until)
    partitions = partitions_of(session, [queue])
    if not partitions:
        return
    if offset is not None and len(partitions) > 1 and ":" not in queue:
        exit_with(USAGE, f"dlq redrive --offset {offset}: name the partition, as {queue}:0")
    topic = partitions[0][0]
    request = StartRedriveRequest(
        name,
        topic,
        partitions[0][1] if ":" in queue or offset is not None else -1,
        first_offset=-1 if offset is None else offset,
        last_offset=-1 if offset is None else offset,
        group_id=group,
        source_topic=source_topic,
        reason=reason,
        died_from_ms=died_from_ms,
        died_until_ms=died_until_ms,
        target=int(to_group),
        records_per_second=per_second,
    )
    target = f"redrive.{group}" if to_group else source_topic or "their topics"
    if dry_run:
        yield RedriveRow(name, "PLANNED", topic, target, None, {}, per_second, None, None, None)
        return
    session.confirm(f"send letters of {queue} to {target}", yes)
    session.admin.redrives.start(request)
    yield _row(_over(session, name) if wait else _now(session, name))


def _now(session: Session, name: str) -> Redrive:
    ((_, outcome),) = session.admin.redrives.find([name])
    if isinstance(outcome, ClientError):
        raise outcome
    return outcome


def _over(session: Session, name: str) -> Redrive:
    while (now := _now(session, name)).state == "RUNNING":
        time.sleep(LOOK_EVERY_S)
    if now.state == "FAILED":
        session.code = REFUSED
    return now


@cluster_command(
    command,
    "redrives",
    "  shareq dlq redrives\n  shareq dlq redrives monday --json",
    row=RedriveRow,
    columns=_COLUMNS,
    empty="no redrives",
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
def redrives(session: Session, names: tuple[str, ...]) -> Iterator[RedriveRow]:
    """Show how far redrives are. Only shareq has them."""
    for _, outcome in session.admin.redrives.find(names or None):
        if isinstance(outcome, ClientError):
            session.failed(outcome)
        else:
            yield _row(outcome)


@cluster_command(command, "cancel", "  shareq dlq cancel monday --yes", row=RedriveRow, columns=_COLUMNS)
@click.argument("name")
@yes_option
def cancel(session: Session, name: str, yes: bool) -> Iterator[RedriveRow]:
    """End a redrive where it is. Only shareq has them."""
    _now(session, name)
    session.confirm(f"end redrive {name}", yes)
    session.admin.redrives.cancel(name)
    yield _row(_now(session, name))


@cluster_command(
    command,
    "drop",
    "  shareq dlq drop dlq.orders --before latest --dry-run\n  shareq dlq drop dlq.orders:0 --before 42 --yes",
    row=TrimRow,
)
@click.argument("queue", metavar="QUEUE[:PARTITION]")
@click.option("--before", metavar="PLACE", required=True, help=f"Drop what is before: {FORMS}.")
@yes_option
@dry_run_option
def drop(session: Session, queue: str, before: str, yes: bool, dry_run: bool) -> Iterator[TrimRow]:
    """Remove the oldest letters of a queue. Nothing else has them."""
    topic = queue.partition(":")[0]
    if all(each.topic != topic for each in session.admin.redrives.queues()):
        exit_with(USAGE, f"dlq drop {topic}: is no dead-letter queue; shareq topics trim removes records of any topic")
    wanted: dict[tuple[str, int], int] = {}
    for partition, outcome in offsets_of(
        session.admin, place("--before", before), partitions_of(session, [queue])
    ).items():
        if isinstance(outcome, ClientError):
            session.failed(outcome)
        else:
            wanted[partition] = outcome
    if dry_run or not wanted:
        yield from (TrimRow(*partition, offset, False) for partition, offset in sorted(wanted.items()))
        return
    session.confirm(f"drop the letters before {before} of {queue}", yes)
    for partition, start in sorted(session.admin.topics.trim(wanted).items()):
        if isinstance(start, ClientError):
            session.failed(start)
        else:
            yield TrimRow(*partition, start, True)
