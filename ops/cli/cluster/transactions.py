"""`shareq transactions`: list, describe, abort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

import click

from shareq.client.errors import ClientError
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option, now_ms, yes_option
from shareq.ops.cli.shared.exits import USAGE, exit_with
from shareq.ops.cli.shared.where import iso, partitions_of

command = cluster_group("transactions")


class TransactionRow(NamedTuple):
    transactional_id: Annotated[str, "The id."]
    producer_id: Annotated[int, "Its producer's."]
    state: Annotated[str, "Kafka's name of the state of its last transaction."]


class TransactionInfo(NamedTuple):
    transactional_id: Annotated[str, "The id."]
    producer_id: Annotated[int, "Its producer's."]
    producer_epoch: Annotated[int, "Which of its producers may write."]
    state: Annotated[str, "Kafka's name of the state of its last transaction."]
    timeout_ms: Annotated[int, "After how long the coordinator aborts an open one."]
    started: Annotated[str | None, "Since when one is open, in UTC; null if none is."]
    open_ms: Annotated[int | None, "For how long, by the clock here; null if none is."]
    partitions: Annotated[Mapping[str, tuple[int, ...]], "Partitions of the open transaction, by topic."]


class AbortRow(NamedTuple):
    transactional_id: Annotated[str | None, "The id; null with --topic."]
    topic: Annotated[str | None, "The topic; null with an id."]
    partition: Annotated[int | None, "The partition's number; null with an id."]
    producer_id: Annotated[int | None, "Whose transaction it was; null with an id, if it was aborted."]
    producer_epoch: Annotated[
        int, "With an id the new epoch, which shuts out the producer; else, and with --dry-run, the producer's."
    ]
    done: Annotated[bool, "False with --dry-run."]


@cluster_command(
    command,
    "list",
    "  shareq transactions list\n  shareq transactions list --state Ongoing --open-for 60 --json",
    row=TransactionRow,
    empty="no transactions",
)
@click.option("--state", "states", metavar="STATE", multiple=True, help="Only transactions in this state. Repeatable.")
@click.option(
    "--producer-id", "producers", type=int, multiple=True, help="Only transactions of this producer id. Repeatable."
)
@click.option(
    "--open-for",
    "open_for_s",
    metavar="SECONDS",
    type=click.IntRange(0),
    help="Only transactions open for longer than this.",
)
def list_transactions(
    session: Session, states: tuple[str, ...], producers: tuple[int, ...], open_for_s: int | None
) -> Iterator[TransactionRow]:
    """List transactional ids, and the state of the last transaction of each."""
    open_for_ms = None if open_for_s is None else open_for_s * 1000
    for row in session.admin.transactions.find(states, producers, open_for_ms):
        yield TransactionRow(*row)


@cluster_command(command, "describe", "  shareq transactions describe billing-1", row=TransactionInfo)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def describe(session: Session, ids: tuple[str, ...]) -> Iterator[TransactionInfo]:
    """Show transactional ids: since when a transaction is open, and in which partitions."""
    for _, each in session.succeeded(session.admin.transactions.describe(ids)):
        open_ms = None if each.started_ms is None else max(0, now_ms() - each.started_ms)
        yield TransactionInfo(
            transactional_id=each.transactional_id,
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            state=each.state,
            timeout_ms=each.timeout_ms,
            started=iso(each.started_ms),
            open_ms=open_ms,
            partitions=each.partitions,
        )


@cluster_command(
    command,
    "abort",
    "  shareq transactions abort billing-1 --dry-run\n"
    "  shareq transactions abort billing-1 --yes\n"
    "  shareq transactions abort --topic orders:0 --first-offset 1200 --yes",
    row=AbortRow,
)
@click.argument("transactional_id", metavar="[ID]", required=False)
@click.option("--topic", metavar="TOPIC:PARTITION", help="The partition of a hanging transaction whose id is unknown.")
@click.option("--first-offset", type=click.IntRange(0), help="The hanging transaction's first offset in the partition.")
@yes_option
@dry_run_option
def abort(
    session: Session,
    transactional_id: str | None,
    topic: str | None,
    first_offset: int | None,
    yes: bool,
    dry_run: bool,
) -> Iterator[AbortRow]:
    """Abort an open transaction, by its transactional id: the producer is shut out, and a new one may begin.

    A transaction that its coordinator has forgotten is aborted by its partition and offset. Readers of committed
    records never see aborted ones.
    """
    if (transactional_id is None) == (topic is None) or (topic is None) != (first_offset is None):
        exit_with(USAGE, "transactions abort: give either ID, or --topic and --first-offset")
    if transactional_id is not None:
        for _, known in session.admin.transactions.describe([transactional_id]):
            if isinstance(known, ClientError):
                raise known
            if dry_run:
                if known.started_ms is None:
                    session.notes.append(f"{transactional_id} has no open transaction; its producer would be shut out")
                yield AbortRow(transactional_id, None, None, known.producer_id, known.producer_epoch, False)
                return
        session.confirm(f"abort the transaction of {transactional_id}", yes)
        epoch = session.admin.transactions.fence(transactional_id)
        yield AbortRow(transactional_id, None, None, None, epoch, True)
        return
    assert topic is not None
    assert first_offset is not None
    if ":" not in topic:
        exit_with(USAGE, f"--topic {topic}: must be TOPIC:PARTITION")
    for partition in partitions_of(session, [topic]):
        if dry_run:
            found = session.admin.transactions.hanging(partition, first_offset)
            yield AbortRow(None, *partition, found.producer_id, found.producer_epoch, False)
            continue
        session.confirm(f"abort the transaction from offset {first_offset} on in {topic}", yes)
        producer = session.admin.transactions.abort_hanging(partition, first_offset)
        yield AbortRow(None, *partition, producer.producer_id, producer.producer_epoch, True)
