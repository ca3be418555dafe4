"""`shareq share records`: the state of each record in a share group."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

import click

from shareq.client.admin.calls import NotFound, Partition
from shareq.client.errors import ClientError
from shareq.client.fetch import OffsetsGone, RangeFetcher
from shareq.ops.cli.output.printing import printable
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.records.decoding import FORMS, Decode, decoder
from shareq.ops.cli.records.text import SentBackRow, sent_back_row, sent_back_text
from shareq.ops.cli.share.record_choice import Choice, limited
from shareq.ops.cli.share.windows import NOTE, Window, why_full, windows
from shareq.ops.cli.shared.api import GIVE_API, api_options, records_api
from shareq.ops.cli.shared.command import ClusterGroup, Session, cluster_command
from shareq.ops.cli.shared.exits import USAGE, exit_with, say
from shareq.ops.cli.shared.profile import profile_settings
from shareq.ops.cli.shared.where import duration, iso, topics_and_partitions
from shareq.ops.records_api import RangeRow, RecordsApi
from shareq.ops.state_colours import STATES
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.records.record_codec import Record

MOST_ROWS: Final = 100_000
PARTS: Final = ("key", "value", "headers")
_FETCHED_AT_ONCE: Final = 500
_LONGEST_CELL: Final = 80
_TIMES: Final = ("age_ms", "held_ms", "left_ms", "behind")
_TABLE: Final = ("topic", "partition", "first", "last", "state", "deliveries", "client", "member", *_TIMES)
_RECORDS: Final = ("topic", "partition", "first", "state", "deliveries", "client", *_TIMES)


class TextRow(NamedTuple):
    text: Annotated[str | None, "The bytes as text, in their encoding; null of a null."]
    encoding: Annotated[str | None, "utf-8, base64 (no UTF-8), hex, json, avro or protobuf; null of a null."]


class NamedTextRow(NamedTuple):
    name: Annotated[str, "The header's name; names repeat."]
    text: Annotated[str | None, "Its value as text, in its encoding; null of a null."]
    encoding: Annotated[str | None, "utf-8 or base64; null of a null."]


class RecordStateRow(NamedTuple):
    group: Annotated[str, "The share group."]
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    first: Annotated[int, "The first offset of a range of like ones."]
    last: Annotated[int, "The last one, inclusive."]
    state: Annotated[str, "What they are; unfinished, where the broker does not say: available, or acquired."]
    pending: Annotated[bool, "Whether the state waits until it is written down."]
    deliveries: Annotated[int | None, "How often they were delivered; null where that is not known."]
    member: Annotated[str | None, "The member that has them; null: nobody, or not known."]
    client: Annotated[str | None, "Its client id."]
    host: Annotated[str | None, "Its address."]
    since: Annotated[str | None, "Since when it has them, in UTC."]
    held_ms: Annotated[int | None, "For how long, by the broker's clock."]
    until: Annotated[str | None, "When its lock runs out, or when delayed records may be delivered, in UTC."]
    left_ms: Annotated[int | None, "How long it is until then."]
    age_ms: Annotated[
        int | None, "For how long they have been in flight, however often they were given back; null if not known."
    ]
    behind: Annotated[int | None, "The record of the same key that they wait for."]
    source: Annotated[str, "api: what the leader knows; log: what is written down in __share_group_state."]
    timestamp: Annotated[int | None, "The record's time in milliseconds since the epoch; null without --show."]
    key: Annotated[TextRow | None, "The record's key, with --show key."]
    value: Annotated[TextRow | None, "Its value, with --show value."]
    headers: Annotated[tuple[NamedTextRow, ...] | None, "Its headers, with --show headers."]
    sent_back: Annotated[
        SentBackRow | None, "The letter that a redrive made it of; null of others, and without --show."
    ]


class Shown(NamedTuple):
    """The parts of records that are shown, and their decoder."""

    parts: frozenset[str]
    decode: Decode


def _parts(_context: click.Context, _parameter: click.Parameter, text: str | None) -> frozenset[str]:
    parts = frozenset(each.strip() for each in (text or "").split(",") if each.strip())
    if not parts <= set(PARTS):
        raise click.BadParameter(f"must be of {', '.join(PARTS)}, with commas in between")
    return parts


def add_records(command: ClusterGroup) -> None:
    """Add the command to `shareq share`."""
    decorate = cluster_command(
        command,
        "records",
        "  shareq share records packers\n"
        "  shareq share records --held-for 5m\n"
        "  shareq share records packers --topic orders:0 --show key,value --decode json -n 20\n"
        "  shareq share records packers --api http://127.0.0.1:9465 --api-token-file operator.token --state acquired",
        row=RecordStateRow,
        columns=_TABLE,
        empty="no records are in flight",
    )
    decorate(_records)


class RecordsOptions(NamedTuple):
    """The options of `shareq share records`."""

    groups: tuple[str, ...]
    topics: tuple[str, ...]
    states: tuple[str, ...]
    finished: bool
    member: str | None
    held_for: int | None
    older_than: int | None
    sort: str | None
    first: int
    limit: int
    show: frozenset[str]
    decode: str
    schema_registry: str | None
    api: str | None
    api_token_file: str | None


@click.argument("groups", metavar="[GROUP]...", nargs=-1)
@click.option(
    "--topic", "topics", metavar="TOPIC[:PARTITION]", multiple=True, help="Only this topic or partition. Repeatable."
)
@click.option(
    "--state", "states", type=click.Choice(STATES), multiple=True, help="Only records in this state. Repeatable."
)
@click.option("--all", "finished", is_flag=True, help="Include finished records behind an unfinished one.")
@click.option("--member", metavar="MEMBER", help="Only records that this member has; needs the records API.")
@click.option(
    "--held-for",
    metavar="DURATION",
    callback=duration,
    help="Only records that a member has held for at least this time, such as 5m; needs the records API.",
)
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=duration,
    help="Only records in flight for at least this time, released in between or not; needs the records API.",
)
@click.option(
    "--sort",
    type=click.Choice(("offset", "age")),
    help="The order; age puts the oldest first [default: age with --held-for and --older-than, else offset].",
)
@click.option("--from", "first", metavar="OFFSET", type=click.IntRange(0), default=0, help="The offset to begin at.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, MOST_ROWS),
    default=100,
    show_default=True,
    help="The most ranges, or records, to show.",
)
@click.option("--show", metavar="PART,...", callback=_parts, help="Parts of each record to show: key, value, headers.")
@click.option(
    "--decode", type=click.Choice(FORMS), default="auto", show_default=True, help="The form of keys and values."
)
@click.option(
    "--schema-registry",
    metavar="URL",
    help="The schema registry for --decode avro and protobuf [SHAREQ_SCHEMA_REGISTRY_URL].",
)
@api_options
def _records(session: Session, **given: Any) -> Iterator[RecordStateRow]:
    """Show the records of share groups in flight: ranges of equal offsets, their state, who holds them and for how
    long.

    Without a name, of all groups. With the records API of shareq it is the leader's state. Without, on any cluster, it
    is the state stored in __share_group_state: finished records, and delivery counts of the others. With --show one row
    for each record, read from its log; no delivery is counted.
    """
    options = RecordsOptions(**given)
    held_for, older_than = options.held_for, options.older_than
    found = records_api(session, options.api, options.api_token_file)
    given_of_members = (("--member", options.member), ("--held-for", held_for), ("--older-than", older_than))
    for option, value in given_of_members:
        if value is not None and found is None:
            exit_with(USAGE, f"share records: {option} needs the records API, which no other broker has: {GIVE_API}")
    by_age = options.sort == "age" if options.sort is not None else (held_for, older_than) != (None, None)
    choice = Choice(
        states=options.states,
        finished=options.finished,
        member=options.member,
        first=options.first,
        held_for_ms=held_for,
        older_ms=older_than,
        by_age=by_age,
    )
    registry = options.schema_registry
    shown = Shown(options.show, decoder(options.decode, _registry(session, registry))) if options.show else None
    whole, some = topics_and_partitions(options.topics)
    rows = choice.ordered(_rows(session, found, options.groups, whole, some, choice), options.limit + 1)
    if choice.filters or options.topics:
        session.empty = "nothing that is in flight matches these options"
    if found is None:
        session.afterwards = lambda: None if session.code else say(NOTE)
    columns = _TABLE if shown is None else (*_RECORDS, "sent_back", *(part for part in PARTS if part in options.show))
    session.columns = columns if len(options.groups) == 1 else ("group", *columns)
    if shown is not None:
        rows = _with_records(session, rows, shown, options.limit + 1, table=not session.as_json)
    what = "ranges" if shown is None else "records"
    more = f"these are the first {options.limit:,} {what}, and there are more: --limit N shows up to {MOST_ROWS:,}"
    return limited(rows, options.limit, lambda: session.notes.append(more))


def _registry(session: Session, given: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    profile = profile_settings(session.profile, environment)
    return given or environment.get("SHAREQ_SCHEMA_REGISTRY_URL") or profile.get("schema.registry.url")


def _rows(
    session: Session,
    api: RecordsApi | None,
    groups: Sequence[str],
    topics: Collection[str],
    partitions: Collection[Partition],
    choice: Choice,
) -> Iterator[RecordStateRow]:
    """Yield the rows of the groups in their order; if no groups are named, leave out those that have not begun."""
    asked, source = choice.asked(of_api=api is not None), "log" if api is None else "api"
    hidden = 0
    with Progress() as progress:
        for number, group in enumerate(groups or _all_groups(session), 1):
            progress.show(f"{number:,} share groups looked at")
            try:
                for window in windows(session, api, group, topics, partitions):
                    hidden += window.finished
                    if why := why_full(window):
                        session.notes.append(printable(f"{group} {window.topic}:{window.partition}: {why}"))
                    for each in window.ranges(choice.first, asked, choice.member):
                        yield _row(group, window, each, source)
            except NotFound as error:
                if groups:
                    session.failed(error)
            except ClientError as error:
                if len(groups) == 1:
                    raise
                session.failed(error)
    if hidden and choice.hides_finished:
        session.notes.append(f"{hidden:,} finished offsets beyond the start offset are not shown; --all shows them")


def _all_groups(session: Session) -> list[str]:
    return sorted(each.group_id for each in session.admin.groups.find(("share",)))


def _row(group: str, window: Window, each: RangeRow, source: str) -> RecordStateRow:
    return RecordStateRow(
        group=group,
        topic=window.topic,
        partition=window.partition,
        first=each.first,
        last=each.last,
        state=each.state,
        pending=each.pending,
        deliveries=each.deliveries,
        member=each.member,
        client=each.client_id,
        host=each.host,
        since=iso(each.since_ms),
        held_ms=None if each.since_ms is None else max(0, each.at_ms - each.since_ms),
        until=iso(each.until_ms),
        left_ms=None if each.until_ms is None else max(0, each.until_ms - each.at_ms),
        age_ms=None if each.in_flight_ms is None else max(0, each.at_ms - each.in_flight_ms),
        behind=each.behind,
        source=source,
        timestamp=None,
        key=None,
        value=None,
        headers=None,
        sent_back=None,
    )


# -- the records themselves


def _with_records(
    session: Session, rows: Iterable[RecordStateRow], shown: Shown, limit: int, *, table: bool
) -> Iterator[RecordStateRow]:
    """Yield a row for each record of the ranges; a range without records in the log stays as it is."""
    fetcher = RangeFetcher(session.config)
    left = limit
    try:
        for row in rows:
            if left <= 0:
                return
            some = row._replace(last=min(row.last, row.first + left - 1))
            count = 0
            for record in _read(session, fetcher, (row.topic, row.partition), some.first, some.last):
                count += 1
                yield _shown(row, record, shown, table)
            if not count:
                yield row
            left -= max(count, 1)
    finally:
        fetcher.close()


def _read(session: Session, fetcher: RangeFetcher, partition: Partition, first: int, last: int) -> Iterator[Record]:
    topic, number = partition
    topic_id = session.network.topic_ids({topic})[topic]
    for low in range(first, last + 1, _FETCHED_AT_ONCE):
        high = min(low + _FETCHED_AT_ONCE - 1, last)
        try:
            for part in fetcher.fetch(topic_id, topic, number, low, high):
                for at, header in batch_headers(part.data):
                    if not header.is_control:
                        yield from decode_records(part.data[at : at + header.size], first=low, last=high)
        except OffsetsGone:
            return  # the log has moved on


def _shown(row: RecordStateRow, record: Record, shown: Shown, table: bool) -> RecordStateRow:
    parts, decode = shown
    key = TextRow(*decode(record.key)) if "key" in parts else None
    value = TextRow(*decode(record.value)) if "value" in parts else None
    plain = decoder("auto", None)
    headers = tuple(NamedTextRow(name, *plain(data)) for name, data in record.headers) if "headers" in parts else None
    row = row._replace(
        first=record.offset, last=record.offset, timestamp=record.timestamp, key=key, value=value, headers=headers
    )
    row = row._replace(sent_back=sent_back_row(record))
    return _for_table(row) if table else row


def _for_table(row: RecordStateRow) -> RecordStateRow:
    """Return the row with plain values instead of structured ones."""
    headers = None if row.headers is None else " ".join(f"{each.name}={_cut(each.text)}" for each in row.headers)
    again = None if row.sent_back is None else _cut(sent_back_text(row.sent_back).removeprefix("sent back "))
    cells = {"key": _cell(row.key), "value": _cell(row.value), "headers": headers, "sent_back": again}
    return row._replace(**cells)  # type: ignore[arg-type]  # texts: printed, and nothing else


def _cell(part: TextRow | None) -> str | None:
    return None if part is None else _cut(part.text)


def _cut(text: str | None) -> str | None:
    if text is None:
        return None
    shown = printable(text)
    return shown if len(shown) <= _LONGEST_CELL else f"{shown[: _LONGEST_CELL - 1]}…"
