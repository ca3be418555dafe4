"""`shareq produce`, `consume` and `tail`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple

import click

from shareq.client.admin.calls import Partition
from shareq.client.core.list_offsets import LATEST
from shareq.client.errors import BrokerError, ClientError
from shareq.client.producer import Producer
from shareq.client.reader import Reader, ReadRecord
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.records.text import ROUND_MS, RecordRow, line_of, read_to_end, record_row
from shareq.ops.cli.shared.command import Session, cluster_command, now_ms
from shareq.ops.cli.shared.exits import USAGE, exit_with, wrong
from shareq.ops.cli.shared.where import from_option, offsets_of, partitions_of, place
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.record_codec import Headers, RecordData

BATCH_RECORDS: Final = 1000
BATCH_BYTES: Final = 512 << 10
CODECS: Final = {each.name.lower(): each for each in Compression}


class WrittenRow(NamedTuple):
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    offset: Annotated[int | None, "The record's offset; null where the broker only knows that it has the record."]


@cluster_command(
    None,
    "produce",
    "  echo apples | shareq produce orders\n"
    '  shareq produce orders --key customer-7 --value \'{"fruit": "pears"}\' --header source=shell\n'
    "  shareq produce orders --key-separator : < orders.txt",
    row=WrittenRow,
    shape="stream",
    line=lambda row: f"{row.topic}-{row.partition}:{'-' if row.offset is None else row.offset}",
)
@click.argument("topic")
@click.option("--value", help="One record's value, in place of lines of standard input.")
@click.option("--key", help="The key of each record.")
@click.option("--key-separator", metavar="TEXT", help="Lines are KEY TEXT VALUE.")
@click.option("--header", "headers", metavar="NAME=VALUE", multiple=True, help="A header of each record. Repeatable.")
@click.option("--partition", "-p", type=click.IntRange(0), help="The partition to write to [default: chosen by key].")
@click.option("--compression", type=click.Choice(tuple(CODECS)), default="none", show_default=True)
@click.option("--null", "is_null", is_flag=True, help="One record with a null value: it removes its key.")
def produce(
    session: Session,
    topic: str,
    value: str | None,
    key: str | None,
    key_separator: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    compression: str,
    is_null: bool,
) -> Iterator[WrittenRow]:
    """Write records: each line of standard input is one, without its line feed.

    Prints where each record is, once all replicas in sync have it. A record is written once, also when a broker is lost
    on the way.
    """
    if is_null and value is not None:
        exit_with(USAGE, "produce: give either --value or --null")
    producer = Producer(session.network, topic, CODECS[compression])
    shared = tuple(_header(text) for text in headers)
    fixed = None if key is None else key.encode()
    if is_null or value is not None:
        records = iter([RecordData(fixed, None if value is None else value.encode(), shared)])
    else:
        records = _lines(fixed, key_separator, shared)
    done = 0
    try:
        with Progress(beside_output=True) as progress:
            for batch in _batches(records):
                for written in producer.write(batch, now_ms(), partition):
                    yield WrittenRow(topic, *written)
                done += len(batch)
                progress.show(f"{done:,} records written")
    except BrokerError as error:
        if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or error.what != f"topic {topic}":
            raise
        session.failed(error, f" Make it with `shareq topics create {shlex.quote(topic)}`.")


def _header(text: str) -> tuple[str, bytes | None]:
    name, separator, value = text.partition("=")
    if not separator:
        wrong("--header", text, "must be NAME=VALUE")
    return name, value.encode()


def _lines(key: bytes | None, separator: str | None, headers: Headers) -> Iterator[RecordData]:
    for line in sys.stdin.buffer:
        text = line.removesuffix(b"\n")
        if separator is None:
            yield RecordData(key, text, headers)
            continue
        before, found, after = text.partition(separator.encode())
        if not found:
            wrong("--key-separator", separator, f"is not in the line {text[:60]!r}")
        yield RecordData(before, after, headers)


def _batches(records: Iterator[RecordData]) -> Iterator[list[RecordData]]:
    """Yield lists of records of at most the size that brokers accept; a typed line is sent at once."""
    at_once = sys.stdin.isatty()
    batch: list[RecordData] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.key or b"") + len(record.value or b"") + 64
        if at_once or len(batch) == BATCH_RECORDS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_isolation = click.option("--committed", is_flag=True, help="Leave out records of aborted and open transactions.")


@cluster_command(
    None,
    "consume",
    "  shareq consume orders\n"
    "  shareq consume orders:0 --from 1200 -n 10 --json\n"
    "  shareq consume orders --from -1h --follow",
    row=RecordRow,
    shape="stream",
    line=line_of,
)
@click.argument("topics", metavar="TOPIC[:PARTITION]...", nargs=-1, required=True)
@from_option
@click.option("--max-records", "-n", type=click.IntRange(1), help="End after this many records.")
@click.option("--follow", "-f", is_flag=True, help="Wait for new records, until interrupted.")
@_isolation
def consume(
    session: Session, topics: tuple[str, ...], begin: str, max_records: int | None, follow: bool, committed: bool
) -> Iterator[RecordRow]:
    """Print records, from the beginning up to the current end. There is no group: nothing is committed.

    Each line has the place, time, key and value, with tabs in between.
    """
    starts = _found(session, offsets_of(session.admin, place("--from", begin), partitions_of(session, topics)))
    reader = Reader(session.network, starts, committed_only=committed)
    records = _all(reader) if follow else read_to_end(reader, _ends(session, starts, committed))
    with Progress(beside_output=True) as progress:
        for count, found in enumerate(records, 1):
            progress.show(f"{count:,} records")
            yield record_row(*found)
            if count == max_records:
                return


@cluster_command(
    None,
    "tail",
    "  shareq tail orders\n  shareq tail orders:0 -n 3\n  shareq tail orders -n 0 -f",
    row=RecordRow,
    shape="stream",
    line=line_of,
)
@click.argument("topics", metavar="TOPIC[:PARTITION]...", nargs=-1, required=True)
@click.option(
    "--records",
    "-n",
    "count",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="The number of records of each partition.",
)
@click.option("--follow/--no-follow", "-f", default=False, help="Continue with new records, until interrupted.")
@_isolation
def tail(session: Session, topics: tuple[str, ...], count: int, follow: bool, committed: bool) -> Iterator[RecordRow]:
    """Print the last records of each partition, and end, as tail does; with -f continue with new records.

    As kcat -C -o -10 -e, and without -e.
    """
    partitions = partitions_of(session, topics)
    first = _found(session, offsets_of(session.admin, place("--from", "earliest"), partitions))
    ends = _ends(session, first, committed)
    starts = {each: max(first[each], end - count) for each, end in ends.items()}
    reader = Reader(session.network, starts, committed_only=committed)
    for found in read_to_end(reader, ends):
        yield record_row(*found)
    while follow and ends:
        for found in reader.read(ROUND_MS):
            yield record_row(*found)


def _all(reader: Reader) -> Iterator[ReadRecord]:
    while reader.positions:
        yield from reader.read(ROUND_MS)


def _found(session: Session, outcomes: dict[Partition, int | ClientError]) -> dict[Partition, int]:
    return dict(session.succeeded(outcomes.items()))


def _ends(session: Session, partitions: dict[Partition, int], committed: bool) -> dict[Partition, int]:
    times = dict.fromkeys(partitions, LATEST)
    outcomes = session.admin.topics.offsets(times, committed_only=committed)
    plain = {each: one if isinstance(one, ClientError) else one.offset or 0 for each, one in outcomes.items()}
    return _found(session, plain)


commands = {"produce": produce, "consume": consume, "tail": tail}
