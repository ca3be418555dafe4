"""Transactions of flights, some aborted, read by consumer groups and by a reader with a checkpoint of its own.

The checkpoint keeps offsets as that of Spark's Kafka source does. Members of the groups are refused at the cut-over,
leave, and continue at the new side.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

from confluent_kafka import Producer

from devtools.clients.admin import QUIET
from examples.flights_demo import flights
from tests.campaign.moving.command_runs import Command, Ran
from tests.campaign.moving.judge import NEW, OLD, judged, pause_parts_s, pause_s
from tests.campaign.moving.members import Members
from tests.campaign.moving.reader import read_offsets, write_offsets
from tests.campaign.moving.rows import Row
from tests.campaign.moving.scene import PARTITIONS, Round, create_topic, forget
from tests.campaign.moving.share_groups import DRAINS_S, LASTS_S, disturb
from tests.support.clients.shareq_cli import Shell

CLIENTS: Final = ("librdkafka", "kafka-python")
CHECKPOINT: Final = "checkpoint"
TRANSACTION: Final = 250
"""The records of a transaction. Every fourth transaction is aborted."""
SLOW: Final = 100.0


def move(this: Round, victims: Sequence[str] = ()) -> Row:
    """Move a topic, and the progress of two groups and a checkpoint.

    All victims are killed in the copy and in the cut-over.
    """
    topic = f"read-{this.number}"
    old, new = this.scene.old, this.scene.new
    create_topic(old, topic)
    half = this.records // 2
    produce_in_transactions(old.cluster, topic, 0, half)
    groups = {
        client: Members(
            this.folder / client,
            f"readers-{this.number}-{client}",
            topic,
            program=("tests.campaign.moving.reader", client),
            count=1,
        )
        for client in (*CLIENTS, CHECKPOINT)
    }
    checkpoint = this.folder / CHECKPOINT / "offsets"
    write_offsets(checkpoint, dict.fromkeys(range(PARTITIONS), 0))
    moves = _moves(this, topic)
    try:
        for members in groups.values():
            members.start(OLD, old.cluster)
        for members in groups.values():
            members.wait_for_confirmed(half // 2, DRAINS_S)
            members.pace(OLD, min(SLOW, half / LASTS_S / (1 + 2 * len(victims))))  # so that something is left
        produce_in_transactions(old.cluster, topic, half, this.records)
        for command in moves:
            disturb(this, command, topic, victims, ())
            done(command.until_done())
        broken = refused(moves[-1].once("--cut-over"), "has members")
        for members in groups.values():
            members.wait_for_confirmed(len(members.seen().confirmed) + 1, DRAINS_S)  # it goes on at the old side
            members.stop(OLD)
        drained = sum(len(members.seen().confirmed) for members in groups.values())
        _commit(old.cluster, groups[CHECKPOINT].group, topic, read_offsets(checkpoint))
        began = time.monotonic()
        for command in moves:
            disturb(this, command, topic, victims, ("--cut-over",))
            done(command.until_done("--cut-over"))
        moved_at = time.monotonic()
        done(moves[-1].once("--verify-only"))
        write_offsets(checkpoint, _committed(new.cluster, groups[CHECKPOINT].group, topic))
        for members in groups.values():
            members.start(NEW, new.cluster)
        for members in groups.values():
            members.wait_for_confirmed(this.records, DRAINS_S)
    finally:
        for members in groups.values():
            members.end()
    verdicts = {client: judged(members.seen(), this.records, moved_at) for client, members in groups.items()}
    forget(old, topic)
    forget(new, topic)
    counted: Counter[str] = Counter()
    for members in groups.values():
        counted += members.seen().errors
    longest = max((members.seen() for members in groups.values()), key=lambda seen: pause_s(seen) or 0.0)
    return Row(
        records=this.records * len(groups),
        drained=drained,
        lost=sum(len(each.lost) for each in verdicts.values()),
        again=sum(len(each.again) for each in verdicts.values()),
        unknown=sum(each.unknown for each in verdicts.values()),
        twice=sum(each.twice for each in verdicts.values()),
        hung=sum(members.hung for members in groups.values()),
        kills=sum(command.kills for command in moves),
        runs=sum(command.runs for command in moves),
        cut_over_s=sum(command.cut_over_s or 0.0 for command in moves),
        pause_s=pause_s(longest),
        pause_parts_s=pause_parts_s(longest, [], began, moved_at),
        counted=dict(counted),
        broken=[*broken, *(f"{client}: {line}" for client, each in verdicts.items() for line in each.broken[:10])],
    )


def _moves(this: Round, topic: str) -> list[Command]:
    """Return the commands that move a topic; for nodes there are two, by way of the nodes and of their cluster."""
    old, new = this.scene.old, this.scene.new
    of_groups = Command((old.cluster, new.cluster, "--topic", topic, "--group", f"readers-{this.number}-*"))
    if (old.bootstrap, new.bootstrap) == (old.cluster, new.cluster):
        return [of_groups]
    return [Command((old.bootstrap, new.bootstrap, "--topic", topic, "--group", "none")), of_groups]


def produce_in_transactions(bootstrap: str, topic: str, first: int, end: int) -> None:
    """Write flights with their rows' numbers as keys, and aborted transactions between them."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": topic, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({**settings, **QUIET})
    producer.init_transactions(60)
    lines = enumerate(islice(flights.rows(), first, end), first)
    number = 0
    while some := list(islice(lines, TRANSACTION)):
        if number % 3 == 0:
            producer.begin_transaction()
            for _ in range(TRANSACTION // 5):
                producer.produce(topic, b"aborted", b"-1")
            producer.flush(60)
            producer.abort_transaction(60)
        producer.begin_transaction()
        for row, line in some:
            producer.produce(topic, line, b"%d" % row)
        producer.commit_transaction(60)
        number += 1


def done(ran: Ran) -> Ran:
    if ran.code:
        raise RuntimeError(f"the command ended with {ran.code}: {ran.failed or ran.said}")
    return ran


def refused(ran: Ran, why: str) -> list[str]:
    if ran.code == 1 and any(why in line for line in ran.failed):
        return []
    return [f"a cut-over that was to be refused, {why}, ended with {ran.code}: {ran.failed or ran.said}"]


def _commit(bootstrap: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Commit a checkpoint's offsets for a group without members, as docs/spark.md describes."""
    for partition, offset in offsets.items():
        place = "--topic", f"{topic}:{partition}", "--to", str(offset)
        Shell(bootstrap).ok("groups", "reset", group, *place, "--yes")


def _committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    rows = Shell(bootstrap).json("groups", "offsets", group)
    return {row["partition"]: row["offset"] for row in rows if row["topic"] == topic}
