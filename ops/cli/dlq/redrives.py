"""`shareq dlq redrive`, `redrives`, `cancel`: sending dead letters back, which only shareq can do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

import click

from shareq.client.admin.calls import Partition, only
from shareq.client.admin.redrives import LetterFilter, Redrive, SentLetters, letter_of
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import ClientError
from shareq.client.reader import Reader
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.records.text import read_to_end
from shareq.ops.cli.shared.command import ClusterGroup, Session, cluster_command, dry_run_option, yes_option
from shareq.ops.cli.shared.exits import REFUSED, USAGE, exit_with
from shareq.ops.cli.shared.where import iso, moment, partitions_of
from shareq.protocol.generated.start_redrive import StartRedriveRequest

LOOK_EVERY_S: Final = 0.5
MOST_RANGES: Final = 16
"""The most ranges of offsets in one call: each is a redrive, and a broker runs only so many at a time."""


class RedriveRow(NamedTuple):
    redrive: Annotated[str, "Its name."]
    state: Annotated[str, "RUNNING, DONE, CANCELLED or FAILED; with --dry-run PLANNED (of dlq cancel as it is)."]
    queue: Annotated[str, "Where the letters are."]
    target: Annotated[str, "The topic that they go to, or: their topics."]
    left: Annotated[int | None, "Letters that are to be looked at."]
    counts: Annotated[
        Mapping[str, int],
        "What became of the others: REDRIVEN, FILTERED, ALREADY_SENT, or why one stayed. With --dry-run, and a filter "
        "or letters sent back: MATCHING, ALREADY_SENT, FILTERED and NOT_A_LETTER, as they would be found now.",
    ]
    per_second: Annotated[int, "At most so many records a second."]
    owner: Annotated[str | None, "The user that began it."]
    started: Annotated[str | None, "When, in UTC."]
    trouble: Annotated[str | None, "What it waits for, or why it failed."]


_COLUMNS: Final = ("redrive", "state", "queue", "target", "left", "counts", "trouble")


def _offsets(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> list[tuple[int, int]]:
    """Read an offset such as 42, or a range such as 0-5, both ends included."""
    return [_first_and_last(text) for text in texts]


def _first_and_last(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not all(each.isdecimal() and each.isascii() and len(each) < 19 for each in (first, last if dash else first)):
        raise click.BadParameter(f"{text}: must be an offset, or a range as 0-5")
    found = int(first), int(last if dash else first)
    if found[1] < found[0]:
        raise click.BadParameter(f"{text}: ends before it begins")
    return found


def ranges_of(given: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges ascending and merged where they touch, so that no letter is in two of them."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(given):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def names_of(name: str, count: int) -> list[str]:
    """Return the names of the `count` redrives of one call: the name itself, or the name with numbers after it."""
    return [name] if count == 1 else [f"{name}.{number}" for number in range(1, count + 1)]


def add_redrives(command: ClusterGroup) -> None:
    """Add the commands to `shareq dlq`."""
    row, columns = RedriveRow, _COLUMNS
    for name, examples, function in (
        (
            "redrive",
            "  shareq dlq redrive monday dlq.orders --dry-run\n"
            "  shareq dlq redrive monday dlq.orders --group packers --yes --wait\n"
            "  shareq dlq redrive some dlq.orders:0 --offset 42 --offset 50-59 --yes",
            _redrive,
        ),
        ("redrives", "  shareq dlq redrives\n  shareq dlq redrives monday --json", _redrives),
        ("cancel", "  shareq dlq cancel monday --dry-run\n  shareq dlq cancel monday --yes", _cancel),
    ):
        empty = "no redrives" if name == "redrives" else None
        cluster_command(command, name, examples, row=row, columns=columns, empty=empty)(function)


class RedriveOptions(NamedTuple):
    """The options of `shareq dlq redrive`."""

    name: str
    queue: str
    offsets: list[tuple[int, int]]
    group: str | None
    source_topic: str | None
    source_offsets: list[tuple[int, int]]
    reason: str | None
    died_from: str | None
    died_until: str | None
    to_group: bool
    per_second: int
    again: bool
    wait: bool
    yes: bool
    dry_run: bool


@click.argument("name")
@click.argument("queue", metavar="QUEUE[:PARTITION]")
@click.option(
    "--offset",
    "offsets",
    metavar="OFFSET[-LAST]",
    callback=_offsets,
    multiple=True,
    help="Only these letters, by offset in the partition: 42, or 0-5. Repeatable.",
)
@click.option("--group", help="Only letters of this share group.")
@click.option("--source-topic", metavar="TOPIC[:PARTITION]", help="Only letters of records from this topic.")
@click.option(
    "--source-offset",
    "source_offsets",
    metavar="OFFSET[-LAST]",
    callback=_offsets,
    multiple=True,
    help="Only letters of records at these offsets of that topic.",
)
@click.option("--reason", help="Only letters with this message or disposition.")
@click.option("--died-from", metavar="TIME", help="Only letters of records that died at this time or later.")
@click.option("--died-until", metavar="TIME", help="Only letters of records that died before this time.")
@click.option("--to-group", is_flag=True, help="Send the letters to the topic redrive.GROUP, which only --group reads.")
@click.option(
    "--per-second",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="The most letters sent back per second.",
)
@click.option("--again", is_flag=True, help="Include letters that were sent back before.")
@click.option("--wait", is_flag=True, help="Wait until the redrive is over.")
@yes_option
@dry_run_option
def _redrive(session: Session, **given: Any) -> Iterator[RedriveRow]:
    """Send dead letters back, in the background, each once. Each NAME serves once. Only shareq can do it.

    Letters go to the topics they are from, and stay in the queue. Letters that a redrive has sent back before are
    skipped (ALREADY_SENT), unless --again is given. shareq dlq redrives shows the progress. Offsets that are not
    neighbours are sent back by a redrive for each range, called NAME.1, NAME.2 and so on.
    """
    options = RedriveOptions(**given)
    if options.to_group and options.group is None:
        exit_with(USAGE, "dlq redrive: --to-group needs --group")
    if len(options.source_offsets) > 1:
        exit_with(USAGE, "dlq redrive: --source-offset takes one range")
    source, source_partition = _source(options.source_topic)
    wanted = LetterFilter(
        options.group,
        source,
        source_partition,
        *(options.source_offsets[0] if options.source_offsets else (-1, -1)),
        options.reason,
        -1 if options.died_from is None else moment("--died-from", options.died_from),
        -1 if options.died_until is None else moment("--died-until", options.died_until),
    )
    ranges = ranges_of(options.offsets) or [(-1, -1)]
    if len(ranges) > MOST_RANGES:
        exit_with(USAGE, f"dlq redrive: --offset names {len(ranges)} ranges; {MOST_RANGES} at most at a time")
    partitions = partitions_of(session, [options.queue])
    if not partitions:
        return
    topic = partitions[0][0]
    _check_queue(session, topic)
    if options.offsets and len(partitions) > 1:
        exit_with(USAGE, f"dlq redrive --offset: name the partition, as {options.queue}:0")
    number = partitions[0][1] if ":" in options.queue or options.offsets else -1
    target = f"redrive.{options.group}" if options.to_group else source or "their topics"
    requests = [
        _request(
            name=each,
            queue=topic,
            partition=number,
            offsets=one,
            wanted=wanted,
            target=int(options.to_group),
            per_second=max(1, options.per_second // len(ranges)),
            again=options.again,
        )
        for each, one in zip(names_of(options.name, len(ranges)), ranges, strict=True)
    ]
    if options.dry_run:
        yield from (_planned(session, each, partitions, wanted, target) for each in requests)
        return
    session.confirm(f"send letters of {options.queue} to {target}", options.yes)
    yield from _start(session, requests, options.wait)


def _source(text: str | None) -> tuple[str | None, int]:
    """Return the topic, and the partition that may follow it after a colon."""
    if text is None:
        return None, -1
    topic, colon, number = text.rpartition(":")
    return (topic, int(number)) if colon and topic and number.isdecimal() else (text, -1)


def _check_queue(session: Session, topic: str) -> None:
    if session.admin.redrives.is_queue(topic) is False:  # where this user may not look, the broker decides
        exit_with(USAGE, f"dlq redrive {topic}: is no dead-letter queue; shareq dlq list shows those there are")


def _request(
    name: str,
    queue: str,
    partition: int,
    offsets: tuple[int, int],
    wanted: LetterFilter,
    target: int,
    per_second: int,
    *,
    again: bool,
) -> StartRedriveRequest:
    return StartRedriveRequest(
        name,
        queue,
        partition,
        first_offset=offsets[0],
        last_offset=offsets[1],
        group_id=wanted.group,
        source_topic=wanted.source_topic,
        source_partition=wanted.source_partition,
        first_source_offset=wanted.first_source_offset,
        last_source_offset=wanted.last_source_offset,
        reason=wanted.reason,
        died_from_ms=wanted.died_from_ms,
        died_until_ms=wanted.died_until_ms,
        target=target,
        records_per_second=per_second,
        again=again,
    )


def _start(session: Session, requests: Sequence[StartRedriveRequest], wait: bool) -> Iterator[RedriveRow]:
    begun: list[str] = []
    for request in requests:
        try:
            session.admin.redrives.start(request)
        except ClientError as error:
            session.failed(error)
        else:
            begun.append(request.name)
    for name in begun:
        yield _row(_over(session, name) if wait else _now(session, name))


# -- what would be done


def _planned(
    session: Session, request: StartRedriveRequest, partitions: Sequence[Partition], wanted: LetterFilter, target: str
) -> RedriveRow:
    starts, ends = _letters(session, request, partitions)
    sent = SentLetters(()) if request.again else session.admin.redrives.sent_back_from(request.queue)
    is_known = wanted.takes_all and not any(sent.upto(number) > start for (_, number), start in starts.items())
    counts = Counter[str]() if is_known else _matching(session, starts, ends, wanted, sent)
    if wanted.takes_all and not counts["ALREADY_SENT"]:
        counts.clear()
    left = sum(ends[each] - start for each, start in starts.items())
    return RedriveRow(
        redrive=request.name,
        state="PLANNED",
        queue=request.queue,
        target=target,
        left=left,
        counts=counts,
        per_second=request.records_per_second,
        owner=None,
        started=None,
        trouble=None,
    )


def _letters(
    session: Session, request: StartRedriveRequest, partitions: Sequence[Partition]
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return where the letters to be examined begin, and where they end, exclusive."""
    starts, ends = dict[Partition, int](), dict[Partition, int]()
    firsts = session.admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    lasts = session.admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    for each in partitions:
        start = max(only(firsts, each).offset or 0, request.first_offset)
        end = only(lasts, each).offset or 0
        if request.last_offset >= 0:
            end = min(end, request.last_offset + 1)
        if start < end:
            starts[each], ends[each] = start, end
    return starts, ends


def _matching(
    session: Session,
    starts: Mapping[Partition, int],
    ends: Mapping[Partition, int],
    wanted: LetterFilter,
    sent: SentLetters,
) -> Counter[str]:
    counts: Counter[str] = Counter()
    with Progress() as progress:
        for number, found in enumerate(read_to_end(Reader(session.network, starts), ends), 1):
            progress.show(f"{number:,} letters read")
            letter = letter_of(found.record.headers)
            if letter.topic is None or letter.group is None or letter.partition is None or letter.offset is None:
                counts["NOT_A_LETTER"] += 1
            elif not wanted.takes(letter, found.record.timestamp):
                counts["FILTERED"] += 1
            else:
                is_sent = sent.has(found.partition, found.record.offset, letter, found.record.timestamp)
                counts["ALREADY_SENT" if is_sent else "MATCHING"] += 1
    return counts


# -- how far it is


def _row(redrive: Redrive) -> RedriveRow:
    return RedriveRow(
        redrive=redrive.name,
        state=redrive.state,
        queue=redrive.queue,
        target=redrive.target,
        left=redrive.left,
        counts=redrive.counts,
        per_second=redrive.per_second,
        owner=redrive.owner,
        started=iso(redrive.started_ms),
        trouble=redrive.trouble,
    )


def _now(session: Session, name: str) -> Redrive:
    return only(dict(session.admin.redrives.find([name])), name)


def _over(session: Session, name: str) -> Redrive:
    with Progress() as progress:
        while (now := _now(session, name)).state == "RUNNING":
            counts = "".join(f", {what} {count:,}" for what, count in now.counts.items())
            trouble = f"; {now.trouble}" if now.trouble else ""
            progress.show(f"redrive {name}: {now.left:,} letters left{counts}{trouble}")
            time.sleep(LOOK_EVERY_S)
    if now.state == "FAILED":
        session.code = REFUSED
    return now


@click.argument("names", metavar="[NAME]...", nargs=-1)
def _redrives(session: Session, names: tuple[str, ...]) -> Iterator[RedriveRow]:
    """Show how far redrives are. Only shareq has them."""
    for _, redrive in session.succeeded(session.admin.redrives.find(names or None)):
        yield _row(redrive)


@click.argument("name")
@yes_option
@dry_run_option
def _cancel(session: Session, name: str, yes: bool, dry_run: bool) -> Iterator[RedriveRow]:
    """Stop a redrive; unsent letters stay. Only shareq has them."""
    now = _now(session, name)
    if dry_run:
        yield _row(now)
        return
    session.confirm(f"end redrive {name}", yes)
    session.admin.redrives.cancel(name)
    yield _row(_now(session, name))
