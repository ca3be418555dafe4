"""`shareq dlq`: dead-letter queues, their letters, and redrives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

import click

from shareq.client.admin.calls import Partition
from shareq.client.admin.redrives import Letter, Queue, QueueRules, letter_of
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import ClientError
from shareq.client.reader import Reader
from shareq.ops.cli.dlq.redrives import add_redrives
from shareq.ops.cli.output.printing import printable
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.records.text import RecordRow, line_of, read_to_end, record_row
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option, yes_option
from shareq.ops.cli.shared.exits import USAGE, exit_with
from shareq.ops.cli.shared.where import FORMS, from_option, offsets_of, partitions_of, place
from shareq.ops.cli.topics import TrimRow, trimmed

command = cluster_group("dlq")
add_redrives(command)


class QueueRow(NamedTuple):
    queue: Annotated[str, "The topic."]
    enabled: Annotated[bool, "Whether groups may use it: errors.deadletterqueue.group.enable."]
    groups: Annotated[tuple[str, ...], "Share groups that name it as theirs."]
    letters: Annotated[int | None, "Offsets in its logs; null of a topic that does not exist (yet)."]
    problem: Annotated[str | None, "Why dead letters of these groups are not written to it; null if they are."]
    open: Annotated[int | None, "Those of them that no redrive has sent back."]
    sent_back: Annotated[int | None, "Those that a redrive has sent back; 0 on any other broker than shareq."]


class LetterRow(NamedTuple):
    queue: Annotated[str, "The queue."]
    source_topic: Annotated[str | None, "Topic of the dead record; null where the headers do not say."]
    source_partition: Annotated[int | None, "Its partition."]
    source_offset: Annotated[int | None, "Its offset."]
    group: Annotated[str | None, "The share group in which it died."]
    deliveries: Annotated[int | None, "How often it was delivered."]
    reason: Annotated[str | None, "Why it died."]
    error: Annotated[
        str | None, "What the worker raised that rejected it, or released it last; null where none said so."
    ]
    died_ms: Annotated[int | None, "When, in milliseconds; the letter's time where its headers do not say."]
    record: Annotated[RecordRow, "The letter."]
    sent_back: Annotated[bool, "Whether a redrive has sent it back."]


@cluster_command(command, "list", "  shareq dlq list", row=QueueRow, empty="no dead-letter queues")
def list_queues(session: Session) -> Iterator[QueueRow]:
    """List dead-letter queues: topics enabled as queues, and those that share groups name."""
    queues = session.admin.redrives.queues()
    rules = session.admin.redrives.queue_rules() if queues else QueueRules()
    for queue in queues:
        letters, sent = _letters(session, queue)
        still_open = None if letters is None or sent is None else letters - sent
        yield QueueRow(
            queue=queue.topic,
            enabled=queue.enabled,
            groups=queue.groups,
            letters=letters,
            problem=rules.problem(queue),
            open=still_open,
            sent_back=sent,
        )


def _letters(session: Session, queue: Queue) -> tuple[int | None, int | None]:
    """Return the number of letters, and of those sent back; None if unknown."""
    if not queue.exists:
        return None, None
    partitions = partitions_of(session, [queue.topic])
    starts = session.admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = session.admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    count = 0
    first, last = dict[Partition, int](), dict[Partition, int]()
    for each in partitions:
        start, end = starts[each], ends[each]
        if isinstance(start, ClientError) or isinstance(end, ClientError):
            return None, None
        count += (end.offset or 0) - (start.offset or 0)
        first[each], last[each] = start.offset or 0, end.offset or 0
    return count, _sent_back(session, queue.topic, first, last)


def _sent_back(
    session: Session, queue: str, starts: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> int | None:
    """Return how many letters were sent back; None if this user may not read them.

    Filters depend on the content, so letters that redrives have passed are read.
    """
    sent = session.admin.redrives.sent_back_from(queue)
    passed = {each: min(end, sent.upto(each[1])) for each, end in ends.items()}
    begin = {each: start for each, start in starts.items() if start < passed[each]}
    if not begin:
        return 0
    count = 0
    try:
        for found in read_to_end(Reader(session.network, begin), {each: passed[each] for each in begin}):
            record = found.record
            count += sent.has(found.partition, record.offset, letter_of(record.headers), record.timestamp)
    except ClientError:
        return None
    return count


def _letter_line(row: LetterRow) -> str:
    source = f"{row.source_topic}-{row.source_partition}:{row.source_offset}" if row.source_topic else "-"
    cells = (source, row.group or "-", f"{row.deliveries or '-'} deliveries", row.reason or "-")
    more = () if row.error is None else (printable(row.error),)
    return line_of(row.record, *cells, *more, *(("sent back",) if row.sent_back else ()))


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
@click.option("--source-topic", metavar="TOPIC", help="Only letters of records from this topic.")
@click.option("--reason", help="Only letters with this message or disposition.")
@click.option("--open", "only_open", is_flag=True, help="Only letters that no redrive has sent back.")
@click.option("--max-records", "-n", type=click.IntRange(1), help="End after this many letters.")
def show(
    session: Session,
    queue: str,
    begin: str,
    group: str | None,
    source_topic: str | None,
    reason: str | None,
    only_open: bool,
    max_records: int | None,
) -> Iterator[LetterRow]:
    """Show dead letters: each letter, its original record and place, its group, and why the record died."""
    at = place("--from", begin)
    starts = {
        each: offset
        for each, offset in offsets_of(session.admin, at, partitions_of(session, [queue])).items()
        if not isinstance(offset, ClientError)
    }
    last = session.admin.topics.offsets(dict.fromkeys(starts, LATEST))
    ends = {each: end.offset or 0 for each, end in last.items() if not isinstance(end, ClientError)}
    sent = session.admin.redrives.sent_back_from(queue.partition(":")[0])
    count = 0
    with Progress(beside_output=True) as progress:
        for number, found in enumerate(read_to_end(Reader(session.network, starts), ends), 1):
            progress.show(f"{number:,} letters read, {count:,} shown")
            letter = letter_of(found.record.headers)
            is_sent = sent.has(found.partition, found.record.offset, letter, found.record.timestamp)
            if _is_wanted(letter, group, source_topic, reason) and not (only_open and is_sent):
                died_ms = found.record.timestamp if letter.died_ms is None else letter.died_ms
                said = (
                    letter.topic,
                    letter.partition,
                    letter.offset,
                    letter.group,
                    letter.deliveries,
                    letter.reason,
                    letter.error,
                )
                yield LetterRow(found.topic, *said, died_ms, record_row(*found), is_sent)
                count += 1
                if count == max_records:
                    return


def _is_wanted(letter: Letter, group: str | None, source_topic: str | None, reason: str | None) -> bool:
    return (
        (group is None or letter.group == group)
        and (source_topic is None or letter.topic == source_topic)
        and (reason is None or reason in (letter.reason, letter.disposition))
    )


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
    if not session.admin.redrives.is_queue(topic):
        exit_with(USAGE, f"dlq drop {topic}: is no dead-letter queue; shareq topics trim removes records of any topic")
    question = f"drop the letters before {before} of {queue}"
    yield from trimmed(session, [queue], before, question, yes=yes, dry_run=dry_run)
